#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trees that a hostile or thoughtless payload leaves, through the command line: wide, deep, sparse; and large ones below.

Usual sizes keep the suite short; AISBX_LONG=1 takes those of the manual: 10,000 entries, 100,000 nested directories, a
terabyte of nothing, a tree of 1,000,000 files. What took how long is told; only that it ends, with bounded memory, is tested.
"""

import os
import resource
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from clitest import AISBX, Home, Tap

tap = Tap()
LONG = os.environ.get("AISBX_LONG") == "1"
WIDE, DEEP, FILES = (10000, 100000, 1000000) if LONG else (3000, 1500, 20000)
# Without a group of its own, a plain user's file may not be larger than the memory.
HOLE = "200M" if os.geteuid() else "1T" if LONG else "20G"
MEMORY_MAX = 600 << 20
NEST = "import os\nfor i in range(%d):\n os.mkdir('d')\n os.chdir('d')\nopen('leaf', 'w').write('x')"


def timed(home, *words, what):
    """Runs a verb in bounded memory; how it ended and what it printed."""
    return measured(home, *words, what=what)[:2]


def measured(home, *words, what):
    """As timed, and the processor time that it took."""
    began = time.monotonic()
    child = subprocess.Popen([AISBX, *words], cwd=home.work, env=home.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
    out = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    print(f"# {what}: {words[0]} {time.monotonic() - began:.2f} s, {usage.ru_maxrss >> 10} MiB", flush=True)
    tap.ok(usage.ru_maxrss * 1024 < MEMORY_MAX, f"{what}: {words[0]} in bounded memory", usage.ru_maxrss)
    return child.returncode, out, usage.ru_utime + usage.ru_stime


def made(home, name, *words):
    done = home.call("run", "--keep", name, "--fsize", "4t", "--inodes", "400000", "--time", "600", "--", *words, timeout=900)
    tap.ok(done.returncode == 0, f"{name}: made", done)
    return done.returncode == 0


def test_wide(home):
    home.put("w/keep", "x")
    made(home, "wide", "sh", "-c", f"cd w && seq {WIDE} | xargs touch && rm keep")
    code, out = timed(home, "diff", "wide", "--name-status", what=f"{WIDE} entries")
    tap.ok(code == 0 and out.count(b"\n") == WIDE + 1, "each entry is told", (code, out[:200]))
    code, out = timed(home, "promote", "wide", what=f"{WIDE} entries")
    tap.ok(code == 0 and len(os.listdir(home.work + "/w")) == WIDE, "and promoted", (code, out[:200]))
    code, out = timed(home, "undo", what=f"{WIDE} entries")
    tap.ok(code == 0 and os.listdir(home.work + "/w") == ["keep"], "and taken back", (code, out[:200]))
    home.call("rm", "wide")


def test_deep(home):
    if not made(home, "deep", "python3", "-c", NEST % DEEP):
        return
    code, out = timed(home, "diff", "deep", "--stat", what=f"{DEEP} nested directories")
    tap.ok(code == 0, "a diff ends", (code, out[:200]))
    code, out = timed(home, "promote", "deep", what=f"{DEEP} nested directories")
    tap.ok(code == 4 and (b"deep" in out or b"incomplete" in out), "a promotion is refused, in words", (code, out[-300:]))
    tap.equal(os.listdir(home.work), ["w"], "and nothing happened")
    code, out = timed(home, "rm", "deep", what=f"{DEEP} nested directories")
    tap.ok(code == 0, "it is removed", (code, out[:200]))


def nest(top, depth, names):
    """Directories in each other, with files in each of them."""
    here = os.open(top, os.O_RDONLY)
    for _ in range(depth):
        for name in names:
            os.close(os.open(name, os.O_CREAT | os.O_WRONLY, dir_fd=here))
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def test_deep_removed(home):
    """What removing a deep tree costs does not grow with the cube of its depth."""
    spent = {}
    for names in ((), ("a", "z")):
        for depth in (60, 480):
            what = f"{depth} nested directories with {len(names)} files each, removed"
            place = f"r{depth}{len(names)}"
            os.mkdir(f"{home.work}/{place}")
            nest(f"{home.work}/{place}", depth, names)
            home.call("create", place)
            code, out, entered = measured(home, "exec", place, "--", "rm", "-r", place, what=what)
            tap.equal(code, 0, f"{what}: inside")
            code, out, promoted = measured(home, "promote", place, what=what)
            tap.ok(code == 0 and not os.path.exists(f"{home.work}/{place}"), f"{what}: promoted", (code, out[-300:]))
            code, out, undone = measured(home, "undo", what=what)
            tap.ok(code == 0 and os.path.isdir(f"{home.work}/{place}/d/d"), f"{what}: and taken back", (code, out[-300:]))
            home.call("rm", place)
            spent[depth] = (entered, promoted, undone)
        # Eight times as deep: 512 times as long with the cube of the depth, which took 20 s and more.
        for verb, few, many in zip(("exec", "promote", "undo"), spent[60], spent[480]):
            tap.ok(many < 100 * few + 1.5, f"{verb} of 480 levels costs little more than that of 60", (few, many))


def test_sparse(home):
    made(home, "sparse", "sh", "-c", f"truncate -s {HOLE} hole; echo x | dd of=hole bs=1 seek=1M conv=notrunc status=none")
    for words in (["diff", "sparse"], ["diff", "sparse", "--json"], ["promote", "sparse"]):
        code, out = timed(home, *words, what=f"{HOLE} of nothing")
        tap.ok(code == 0, f"{words[0]} ends", (code, out[:200]))
    st = os.stat(home.work + "/hole")
    tap.ok(st.st_blocks * 512 < 1 << 20 and st.st_size >= 200 << 20, "it is still a hole", st)
    tap.equal(home.rows("diff", "sparse"), [], "and the same as in the sandbox")
    tap.equal(home.call("undo").returncode, 0, "taken back")
    home.call("rm", "sparse")


def test_large(home):
    """A sandbox of many files is made as fast as one of few."""
    turns = {10: [], FILES: []}
    top = home.path + "/trees"
    many, few = top + "/many", top + "/few"
    os.mkdir(top)
    is_mounted = os.geteuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "none", top], check=False).returncode == 0
    try:
        for place, count in ((few, 10), (many, FILES)):
            for n in range(0, count, 1000):
                os.makedirs(f"{place}/{n}")
                for i in range(n, min(n + 1000, count)):
                    os.close(os.open(f"{place}/{n}/{i}", os.O_CREAT | os.O_WRONLY))

        def is_alike():
            return min(turns[FILES]) < 3 * min(turns[10]) + 0.2

        # The best of several each, in turn: a walk of the tree would be far beyond, a busy machine is not for ever.
        for turn in range(60):
            for place, count in ((few, 10), (many, FILES)):
                began = time.monotonic()
                done = home.call("create", f"t{turn}", "-C", place)
                ran = home.call("exec", f"t{turn}", "--", "true")
                turns[count].append(time.monotonic() - began)
                if done.returncode or ran.returncode:
                    tap.ok(False, f"a sandbox of {count} files", (done, ran))
                home.call("rm", f"t{turn}")
            if turn >= 4 and is_alike():
                break
        print(f"# made and entered: {min(turns[10]) * 1e3:.1f} ms with 10 files, {min(turns[FILES]) * 1e3:.1f} ms with {FILES}", flush=True)
        tap.ok(is_alike(), "what the tree holds costs nothing", turns)
    finally:
        if is_mounted:
            subprocess.run(["umount", "-l", top], check=False)


def main():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with Home("aisbx-ex.") as home:
        if home.call("run", "--", "true").returncode != 0:
            tap.skip("extremes", "no sandboxes for this user here")
            return tap.done()
        for test in (test_wide, test_deep, test_deep_removed, test_sparse, test_large):
            tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
