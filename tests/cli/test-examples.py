#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Examples of the documentation, run as printed.

Takes the program from AISBX. Speaks TAP. README.md: what it says a command prints is what the command prints. Other
pages and the manuals: every line of their examples ends well, page by page in one directory; those of docs/wasm.md where
set-up has fetched the engine. docs/agents.md has a suite of its own.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))

import wasmtest
from box import patience
from clitest import AISBX, Home, Tap

SOURCE = os.environ.get("AISBX_SOURCE") or os.path.join(HERE, "..", "..")
tap = Tap()

# Exists only inside of a sandbox: whoever is told to remove everything looks for it first.
INSIDE = "/run/aisbx/policy.json"

# What a line tells of the machine it runs on: a plain user's limits, a caller who may change more than is counted.
OF_THE_MACHINE = ("aisbx: not in full force here: ", "aisbx: too much was changed to count all of it",
                  "aisbx: warning: it came to four fifths of its memory")

# Two ways to hold the same limit, one of them the kernel's.
OUT_OF_MEMORY = (re.compile(r"stopped: more memory than (\S+ \S+) was used"),
                 r"out of memory: the kernel ended a process at the limit of \1")

# Lines that are for another program, for the network, for a port or for a run that is somewhere else.
ELSEWHERE = ("claude ", "pip ", "aisbx mcp --http", "aisbx allow 01", "aisbx run --allow @", "aisbx run --profile rust-project")

# What a page says of a line that does not end well: out of fuel.
ENDS = {"--fuel 400m": 137}

# A module whose _start does nothing.
MODULE = bytes.fromhex("0061736d01000000010401600000030201000503010001"
                       "071302066d656d6f72790200065f737461727400000a040102000b")

QUESTION = b"show the [d]iff: "


def read(name):
    with open(os.path.join(SOURCE, name)) as page:
        return page.read()


def blocks(name, language=""):
    """The blocks of a page that are marked with this language."""
    return [text for mark, text in re.findall(r"^```(.*?)\n(.*?)^```$", read(name), re.M | re.S) if mark == language]


def manual_blocks(name):
    text = read(name).replace(r"\-", "-").replace(r"\(aq", "'")
    return re.findall(r"^\.EX\n(.*?)^\.EE", text, re.M | re.S)


def session(block):
    """[command, what it prints] of a block in which commands stand behind "$ "."""
    found = []
    for line in block.rstrip("\n").splitlines():
        if line.startswith("$ "):
            found.append([line[2:], ""])
        elif found:
            found[-1][1] += line + "\n"
    return found


def shell(home, line):
    """LINE as a person would type it, with the program on the PATH and, for Python itself, the package installed."""
    # Not for all of them: a place of packages that the clone shows is a reason to refuse a signed script.
    env = home.env | ({"PYTHONPATH": os.path.join(SOURCE, "clients", "python")} if line.startswith("python3 ") else {})
    return subprocess.run(["sh", "-c", line], cwd=home.work, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=patience(120),
                          check=False)


def typed(home, line):
    """What a person sees who answers the question with yes."""
    seen, status = home.on_terminal(*shlex.split(line)[1:], typed=[(QUESTION, b"y\n")], NO_COLOR="1")
    return seen.decode(errors="replace").replace("\r", ""), status


def as_printed(home, text):
    """TEXT with the places and names of the page instead of this machine's."""
    text = text.replace(home.work, "/home/me/app").replace(home.path, "/home/me")
    text = re.sub(r"\b01[0-9A-Z]{24}\b", "ID", re.sub(*OUT_OF_MEMORY, text))
    # An empty line at the end is not seen.
    return "\n".join(line for line in text.rstrip().splitlines() if not line.startswith(OF_THE_MACHINE))


def prepare_home(home):
    """What the examples find in the project and at home."""
    os.mkdir(home.path + "/bin")
    os.symlink(AISBX, home.path + "/bin/aisbx")
    home.env |= {"PATH": home.path + "/bin:" + home.env.get("PATH", "/usr/bin:/bin"), "AISBX": AISBX,
                 "PYTHONDONTWRITEBYTECODE": "1"}
    home.put("../.ssh/id_ed25519", "the private key\n")
    home.put("../.token", "secret\n", 0o600)
    home.put("thesis.txt", "three years of work\n")
    home.put("README.md", "the colour of it\n")
    home.put("src/main.c", "int main(void) { return 0; }\n")
    home.put("Makefile", "app: src/main.c\n\t$(CC) -o $@ $<\ntest: app\n\t./app\n.PHONY: test\n")
    home.put("data/rows", "1\n")
    for name in ("main.py", "script.py", "tool.py", "untrusted.py"):
        home.put(name, "print(6 * 7)\n")
    for name in ("fetch", "client", "install.sh"):
        home.put(name, "#!/bin/sh\necho done\n", 0o755)


def test_readme(home):
    count = 0
    for block in blocks("README.md"):
        for line, shown in session(block):
            if line.startswith(ELSEWHERE):
                continue
            if line.startswith("aisbx try "):
                seen, status = typed(home, line)
            else:
                # The one difference to what is printed there.
                done = shell(home, line.replace("rm -rf --no-preserve-root /", f"test -e {INSIDE} && rm -rf --no-preserve-root /"))
                seen, status = done.stdout, done.returncode
            if shown.strip():
                tap.equal(as_printed(home, seen), as_printed(home, shown), f"README.md: {line}")
            else:
                tap.ok(status == 0, f"README.md: {line}", seen)
            count += 1
    tap.ok(count > 9, "README.md has examples", count)
    home.call("rm", "fix-1")


def end_well(home, name, lines):
    tap.ok(len(lines) > 1, f"{name} has examples", lines)
    for line in lines:
        if not line.startswith(ELSEWHERE):
            done = shell(home, line)
            end = next((code for part, code in ENDS.items() if part in line), 0)
            tap.ok(done.returncode == end, f"{name}: {line}", done)


def test_workspace(home):
    end_well(home, "docs/workspace.md", [line for block in blocks("docs/workspace.md", "sh") for line, _ in session(block)])


def test_pages(home):
    home.call("create", "fix-1")
    for name in ("docs/mcp.md", "docs/network.md", "docs/scan.md"):
        end_well(home, name, [line for block in blocks(name) for line in block.splitlines() if line.startswith("aisbx ")])
    home.call("rm", "fix-1")


def test_jobs(home):
    """The job that docs/jobs.md shows, and what it says to do with it."""
    with open(home.path + "/tidy.yaml", "w") as out:
        out.write(blocks("docs/jobs.md", "yaml")[0])
    home.put("README.md", "the colour of it  \n")
    lines = [line for block in blocks("docs/jobs.md", "sh") for line in block.splitlines() if line.startswith("aisbx ")]
    end_well(home, "docs/jobs.md", lines)
    tap.equal(home.read("README.md"), "the colour of it\n", "docs/jobs.md: it did what it says")


def test_wasm(home):
    why = wasmtest.install(wasmtest.Caller(home))
    if not why and not os.path.isdir(home.path + "/.local/share/aisbx/wasm/python"):
        why = "set-up has not installed the languages"
    if why:
        tap.skip("docs/wasm.md", why)
        return
    home.put("module.wasm", MODULE)
    end_well(home, "docs/wasm.md", [line for block in blocks("docs/wasm.md") for line in block.splitlines()
                                    if line.startswith("aisbx ")])


def test_manual(home):
    lines = [line.replace("aisbx try --", "aisbx try -y --") for block in manual_blocks("man/aisbx.1")
             for line in block.splitlines() if line.startswith("aisbx ")]
    for line in list(lines):
        missing = [word for word in ("pytest", "jq") if word in line.split() and not shutil.which(word)]
        if missing:
            tap.skip(f"man/aisbx.1: {line}", "not installed: " + ", ".join(missing))
            lines.remove(line)
    end_well(home, "man/aisbx.1", lines)


def test_profiles(home):
    for block in manual_blocks("man/aisbx-profile.5"):
        if block.startswith("aisbx "):
            end_well(home, "man/aisbx-profile.5", block.splitlines())
        elif "extends:" in block:
            home.put("example.yaml", block)
            done = home.call("profile", "check", "./example.yaml")
            tap.ok(done.returncode == 0, "man/aisbx-profile.5: " + block.splitlines()[0], done)


def main():
    with Home("aisbx-doc.") as home:
        prepare_home(home)
        if home.can_run(tap, "examples"):
            for test in (test_wasm, test_readme, test_workspace, test_pages, test_jobs, test_manual, test_profiles):
                tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
