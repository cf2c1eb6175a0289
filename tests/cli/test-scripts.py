#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The scripts in examples/ run as they are, say what they promise, and leave nothing.

Takes the program from AISBX, the tree from AISBX_SOURCE. Speaks TAP. Runs as whoever starts it, in a home of its own.
"""

import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from clitest import AISBX, Home, Tap  # noqa: E402

SOURCE = os.environ.get("AISBX_SOURCE") or os.path.join(HERE, "..", "..")
tap = Tap()
EXAMPLES = {
    "race-a-bug": ("* longer-end", "longer-end wins and is promoted", "took back", "as it was"),
    "pipeline": ("production  waiting", "production  rolled-back", "catalogue, version 1", "production  live"),
}


def run(home, name):
    return subprocess.run([os.path.join(SOURCE, "examples", name, "run")], cwd=home.work, env=home.env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200, check=False)


def main():
    with Home(prefix="aisbx-scripts-") as home:
        os.mkdir(home.path + "/bin")
        os.symlink(AISBX, home.path + "/bin/aisbx")
        # Where a sandbox finds programs as well; an interpreter in somebody's home is hidden there.
        home.env["PATH"] = home.path + "/bin:/usr/local/bin:/usr/bin:/bin"
        home.env["TMPDIR"] = home.path
        first = home.call("run", "--", "sh", "-c", "python3 -c 1 && git --version")
        if first.returncode != 0 or not shutil.which("git"):
            tap.skip("examples", "no sandbox with python3 and git here: " + first.stderr.strip())
            return tap.done()
        for name, words in EXAMPLES.items():
            done = run(home, name)
            tap.ok(done.returncode == 0, f"examples/{name}/run ends well", done)
            for word in words:
                tap.ok(word in done.stdout, f"examples/{name}/run shows: {word}", done.stdout)
        tap.equal([row["name"] for row in home.rows("ls")], [], "no sandbox is left")
        tap.equal([name for name in os.listdir(home.path) if name.startswith("tmp.")], [], "no directory is left")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
