#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random work in a sandbox and in a plain copy of the same tree; git applies the sandbox's patch to a second copy.

Both copies must end alike in all that git knows: names, contents, the executable bit, links. Takes the program from
AISBX. Speaks TAP. The seed is printed; SEED in the environment repeats a run.
"""

import os
import random
import shutil
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from clitest import Home, Tap

# Every day the same; the long form takes another each time. Where a directory with an empty one in it becomes a file, git
# has no word for the empty one and refuses the patch: a seed that meets this says so.
LONG = os.environ.get("AISBX_LONG", "") not in ("", "0")
SEED = int(os.environ.get("SEED") or (random.SystemRandom().randrange(1 << 32) if LONG else 7))
ROUNDS = 3 if os.environ.get("AISBX_SLOW", "") not in ("", "0") else int(os.environ.get("ROUNDS") or 8)
# One that a sandbox shows, too: an interpreter in somebody's home may be hidden there.
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
tap = Tap()

# Runs inside and outside with the same seed. Only what it made or was given is touched: it works below ".".
WORK = r"""
import os, random, shutil, sys
rand = random.Random(int(sys.argv[1]))
def entries(want):
    found = []
    for top, dirs, files in os.walk("."):
        dirs.sort()
        names = files if want == "file" else dirs
        found += [os.path.join(top, n) for n in sorted(names) if not os.path.islink(os.path.join(top, n))]
    return found
def name():
    return rand.choice(["a", "b", "c d", "ta\tb", "n\nl", "\u00e9", "x"]) + str(rand.randrange(30))
def lines(most):
    text = "".join(rand.choice(["one", "two", "", "{", "}", "more"]) + "\n" for _ in range(rand.randrange(most)))
    return text[:-1] if text and rand.random() < 0.2 else text
def put(path, text):
    with open(path, "w") as out:
        out.write(text)
def free():
    path = os.path.join(rand.choice(["."] + entries("dir")), name())
    return None if os.path.lexists(path) else path
def step():
    kind, files, dirs, new = rand.randrange(9), entries("file"), entries("dir"), free()
    file, where = rand.choice(files or [None]), rand.choice(dirs or [None])
    if kind <= 1 and new:
        put(new, lines(20))
    elif kind == 2 and file:
        with open(file) as old:
            text = old.read().split("\n")
        text[rand.randrange(len(text)):][:2] = ["changed"]
        text.insert(rand.randrange(len(text) + 1), "inserted")
        put(file, "\n".join(text))
    elif kind == 3 and file:
        os.unlink(file)
    elif kind == 4 and file and new:
        os.rename(file, new)
    elif kind == 5 and where and new and not new.startswith(where + "/"):
        shutil.move(where, new)
    elif kind == 6 and new:
        os.mkdir(new)
        put(new + "/inside", lines(5))
    elif kind == 7 and file:
        os.chmod(file, 0o755 if rand.random() < 0.5 else 0o644)
    elif kind == 8 and where and rand.random() < 0.3:
        shutil.rmtree(where)
        put(where, "was a directory\n")
    elif new:
        os.symlink(rand.choice(["a", "../up", "no such"]), new)
for _ in range(int(sys.argv[2])):
    step()
"""


def known_to_git(root):
    """{path: (kind, content)}; directories as such are unknown to it."""
    found = {}
    for top, dirs, files in os.walk(root):
        for name in dirs + files:
            path = os.path.join(top, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                found[os.path.relpath(path, root)] = ("link", os.readlink(path))
            elif stat.S_ISREG(mode):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, root)] = (bool(mode & 0o100), file.read())
    return found


def differing(a, b):
    return {path: (a.get(path), b.get(path)) for path in sorted(set(a) | set(b)) if a.get(path) != b.get(path)}


def work(seed, steps, cwd):
    return subprocess.run([PYTHON, "-c", WORK, str(seed), str(steps)], cwd=cwd, capture_output=True, text=True,
                          check=False)


def git_apply(patch, cwd):
    env = {**os.environ, "GIT_CEILING_DIRECTORIES": os.path.dirname(cwd), "GIT_CONFIG_GLOBAL": "/dev/null"}
    return subprocess.run(["git", "apply", "--whitespace=nowarn"], input=patch, cwd=cwd, env=env, capture_output=True,
                          check=False)


def one_round(home, seed, top):
    copy, patched = os.path.join(top, "copy"), os.path.join(top, "patched")
    for name in os.listdir(home.work):
        path = os.path.join(home.work, name)
        shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
    work(seed, 40, home.work)
    for place in (copy, patched):
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(home.work, place, symlinks=True)
    home.call("create", "r")
    inside = home.call("exec", "r", "--", PYTHON, "-c", WORK, str(seed + 1), "25")
    outside = work(seed + 1, 25, copy)
    if inside.returncode != 0 or outside.returncode != 0:
        tap.ok(False, f"seed {seed}: the work is done on both sides", (inside.stderr, outside.stderr))
        return
    patch = home.call("diff", "r", "--patch", binary=True).stdout
    done = git_apply(patch, patched)
    wrong = differing(known_to_git(copy), known_to_git(patched))
    tap.ok(done.returncode == 0 and not wrong, f"seed {seed}: git makes of the patch what the sandbox has",
           (done.stderr.decode(errors="replace"), wrong, patch.decode(errors="replace")))
    home.call("rm", "r")


def main():
    print(f"# SEED={SEED}")
    if not shutil.which("git"):
        print("1..0 # SKIP git is not installed")
        return 0
    with Home("aisbx-apply-") as home, tempfile.TemporaryDirectory() as top:
        probe = home.call("create", "probe")
        if probe.returncode != 0:
            print(f"1..0 # SKIP no sandbox can be made here: {probe.stderr.strip()[:200]}")
            return 0
        home.call("rm", "probe")
        for number in range(ROUNDS):
            tap.attempt(one_round, home, SEED + 1000 * number, top)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
