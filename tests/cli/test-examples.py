#!/usr/bin/env python3
"""Examples of the documentation, run as printed.

Takes the program from AISBX. Speaks TAP. docs/workspace.md: every line behind "$ " of its shell blocks, in order, in
one directory. The manual: the blocks about named sandboxes.
"""

import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))

from clitest import AISBX, Home, Tap

SOURCE = os.environ.get("AISBX_SOURCE") or os.path.join(HERE, "..", "..")
tap = Tap()


def shell(home, line):
    """LINE as a person would type it, with the program on the PATH."""
    return subprocess.run(["sh", "-c", line], cwd=home.work, env=home.env, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, errors="replace", timeout=120, check=False)


def page_lines():
    with open(os.path.join(SOURCE, "docs", "workspace.md")) as page:
        for block in re.findall(r"^```sh\n(.*?)^```", page.read(), re.M | re.S):
            yield from (line[2:] for line in block.splitlines() if line.startswith("$ "))


def manual_lines():
    with open(os.path.join(SOURCE, "man", "aisbx.1")) as page:
        text = page.read().replace(r"\-", "-").replace(r"\(aq", "'")
    for block in re.findall(r"^\.EX\n(.*?)^\.EE", text, re.M | re.S):
        if block.startswith(("aisbx create", "aisbx try")):
            yield from (line.replace("aisbx try --", "aisbx try -y --") for line in block.splitlines())


def main():
    with Home("aisbx-doc.") as home:
        os.mkdir(home.path + "/bin")
        os.symlink(AISBX, home.path + "/bin/aisbx")
        home.env["PATH"] = home.path + "/bin:" + home.env.get("PATH", "/usr/bin:/bin")
        home.put("README.md", "the colour of it\n")
        first = home.call("run", "--", "true")
        if first.returncode != 0:
            tap.skip("examples", "a first run is refused here: " + first.stderr.strip())
            return tap.done()
        for where, lines in (("docs/workspace.md", list(page_lines())), ("man/aisbx.1", list(manual_lines()))):
            tap.ok(len(lines) > 5, f"{where} has examples", lines)
            for line in lines:
                done = shell(home, line)
                tap.ok(done.returncode == 0, f"{where}: {line}", done)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
