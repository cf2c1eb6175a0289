#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a change started from, where nobody could write it down in time: git's older version, and the host watched.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it; the suite's runner does so as root and as a
plain user.
"""

import ctypes
import json
import os
import select
import signal
import struct
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from box import patience
from clitest import AISBX, Home, Tap, refused

tap = Tap()
LINES = "".join(f"line {n}\n" for n in range(40))


def clean(home, *names):
    """Removes sandboxes and what lies in the workspace."""
    home.call("rm", *names)
    subprocess.run(["find", home.work, "-mindepth", "1", "-delete"], check=True)


def test_base_approx_many(home):
    """More of them than one call of git is asked for, whatever they end in."""
    if subprocess.run(["git", "--version"], capture_output=True, check=False).returncode != 0:
        tap.skip("bases by approximation", "no git here")
        return
    git = ["git", "-C", home.work, "-c", "user.name=t", "-c", "user.email=t@localhost"]
    texts = {f"n{n}": f"{n}\n" + LINES + "\n" * (n % 4) + ("x" if n % 3 == 0 else "") for n in range(150)}
    for name, text in texts.items():
        home.put(name, text)
    subprocess.run([*git, "init", "-q"], check=True)
    # one that git does not have stands between those it has
    subprocess.run([*git, "add", "--all", ".", ":!n77"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "one"], check=True, env={**home.env, "GIT_COMMITTER_DATE": "1700000000 +0000"})
    home.call("create", "lost")
    child = subprocess.Popen([AISBX, "exec", "lost", "--", "sh", "-c", "for file in n*; do "
                              "printf 'sandbox ' | cat - $file > /tmp/t; cat /tmp/t > $file; done; echo told; read word"],
                             cwd=home.work, env=home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    child.stdout.readline()
    for name, text in texts.items():
        with open(os.path.join(home.work, name), "r+") as file:
            file.write(text + "host\n")
    child.communicate("go\n")
    found = {row["path"]: row["base"]["quality"] for row in home.data("promote", "lost", "--kill").get("conflicts", [])}
    tap.equal(sorted(name for name in texts if found.get(name) != "approx"), ["n77"], "git's older versions are found")
    names = [name for name in texts if name != "n77"]
    done = home.call("promote", "lost", *names, "--strategy", "merge", "--approx-base", "--kill")
    wrong = [name for name in names if home.read(name) != "sandbox " + texts[name] + "host\n"]
    # an edit behind a line without an end touches that line: it is a conflict only where the sandbox changed it, too
    tap.ok(done.returncode == 0 and not wrong, "each is merged from its own", (done, wrong[:5]))
    clean(home, "lost")


def test_base_approx(home):
    """Edited in place before anybody wrote down what it was: git's older version serves, by order only."""
    if subprocess.run(["git", "--version"], capture_output=True, check=False).returncode != 0:
        tap.skip("a base by approximation", "no git here")
        return
    git = ["git", "-C", home.work, "-c", "user.name=t", "-c", "user.email=t@localhost"]
    home.put("f", LINES)
    home.put("mode", LINES)
    # for git this is the f at the top, unless it is told otherwise
    os.mkdir(os.path.join(home.work, ":"))
    other = LINES.replace("line", "word")
    home.put(":/f", other)
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "--all", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "one"], check=True, env={**home.env, "GIT_COMMITTER_DATE": "1700000000 +0000"})
    home.call("create", "lost")
    child = subprocess.Popen([AISBX, "exec", "lost", "--", "sh", "-c",
                              "for file in f mode :/f; do echo sandbox >> $file; done; chmod 755 mode; echo told; read word"],
                             cwd=home.work, env=home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    told = child.stdout.readline()
    for name, text in (("f", LINES), ("mode", LINES), (":/f", other)):
        # in place: no old inode is left to be read
        with open(os.path.join(home.work, name), "r+") as file:
            file.write("host\n" + text)
    # what git has by now is no ancestor: a merge from it would lose the host's edit
    subprocess.run([*git, "commit", "-q", "-a", "-m", "two"], check=True)
    child.communicate("go\n")
    tap.equal(told, "told\n", "a command that appends, and waits")
    before = home.read("f")
    done = home.call("promote", "lost", "f", "--json")
    conflicts = json.loads(done.stdout)["conflicts"]
    tap.ok(done.returncode == 3 and [(c["kind"], c["base"]["quality"]) for c in conflicts] == [("base-lost", "approx")]
           and "approx-base" in conflicts[0]["choices"], "git's older version is told, and nothing is done with it", done)
    tap.equal({r["path"]: r["base"] for r in home.rows("diff", "lost")}["f"], "approx", "diff says so from then on")
    done = home.call("promote", "lost", "f", "--strategy", "merge")
    tap.ok(done.returncode == 3 and "--approx-base" in done.stdout and home.read("f") == before,
           "merge does not take it for the base, and says how", done)
    done = home.call("promote", "lost", "f", "--strategy", "theirs", "--approx-base")
    tap.ok(refused(done, 2, "--strategy merge"), "without a merge there is no use for it", done)
    done = home.call("promote", "lost", "mode", "--strategy", "merge", "--approx-base")
    tap.ok(refused(done, 3, "mode"), "git knows no modes: a difference stays a conflict", done)
    done = home.call("promote", "lost", "f", "--strategy", "merge", "--approx-base")
    tap.ok(done.returncode == 0 and home.read("f") == "host\n" + LINES + "sandbox\n", "by order it is merged from that", done)
    done = home.call("promote", "lost", ":/f", "--strategy", "merge", "--approx-base")
    tap.ok(done.returncode == 0 and home.read(":/f") == "host\n" + other + "sandbox\n", "and from that file, whatever its name", done)
    subprocess.run("rm -rf .git", shell=True, cwd=home.work, check=True)
    clean(home, "lost")


def start(home, name, script):
    """A command in the sandbox that says a word when SCRIPT is done, and waits for one."""
    child = subprocess.Popen([AISBX, "exec", name, "--", "sh", "-c", script + "; echo told; read word"], cwd=home.work,
                             env=home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    child.stdout.readline()
    return child


def in_place(home, name, text):
    with open(os.path.join(home.work, name), "r+") as file:
        file.write(text)


def test_base_lost(home):
    """A base that could not be kept in time is lost, and that is said: nothing is guessed."""
    home.put("f", LINES)
    home.call("create", "open")
    child = start(home, "open", "echo sandbox >> f")
    in_place(home, "f", "host\n" + LINES)
    child.communicate("go\n")
    done = home.call("promote", "open", "--strategy", "merge")
    tap.ok(refused(done, 3, "base-lost"), "an edit beside a running command loses the base", done)
    clean(home, "open")
    large = "".join(f"line {n}\n" for n in range(200000))
    home.put("large", large)
    home.call("create", "open")
    home.call("exec", "open", "--", "sh", "-c", "echo sandbox >> large")
    in_place(home, "large", "host\n" + large)
    done = home.call("promote", "open", "--kill", "--strategy", "merge")
    tap.ok(refused(done, 3, "base-lost"), "a later edit of a large file loses its base", done)
    clean(home, "open")


class Reads:
    """Has DEED done when PATH is about to be read for the NTH time; who reads waits for it. Root only."""

    def __init__(self, path, deed, nth=1):
        class_content, mark_add, access_perm = 0x4, 0x1, 0x20000
        libc = ctypes.CDLL(None, use_errno=True)
        self.deed, self.nth, self.is_done = deed, nth, False
        self.group = libc.fanotify_init(class_content | 1, os.O_RDONLY)
        self.is_asked = self.group >= 0 and libc.fanotify_mark(
            self.group, mark_add, ctypes.c_uint64(access_perm), -100, os.fsencode(path)) == 0
        self.end = os.pipe()
        self.thread = threading.Thread(target=self.answer, daemon=True)
        if self.is_asked:
            self.thread.start()

    def answer(self):
        allow = 1
        while self.group in select.select([self.group, self.end[0]], [], [])[0]:
            # one at a time: no more fits
            fd = struct.unpack_from("=IBBHQii", os.read(self.group, 24))[5]
            self.nth -= 1
            if self.nth == 0:
                self.deed()
                self.is_done = True
            os.write(self.group, struct.pack("=iI", fd, allow))
            os.close(fd)

    def close(self):
        os.close(self.end[1])
        if self.is_asked:
            self.thread.join(patience(30))
        # whoever is asked still goes on
        for fd in (self.end[0], self.group):
            if fd >= 0:
                os.close(fd)


def test_base_changed_while_read(home):
    """The host edits a file in the very moment its content is kept as a base: that edit must not pass for the base."""
    if os.geteuid() != 0:
        tap.skip("a base that changes while it is read", "only root can have a reader wait")
        return
    edited = LINES.replace("line", "LINE", 1)
    home.put("f", LINES)
    home.call("create", "late")
    child = start(home, "late", "echo sandbox >> f")
    reads = Reads(os.path.join(home.work, "f"), lambda: in_place(home, "f", "LINE"))
    child.communicate("go\n")
    reads.close()
    if not reads.is_asked:
        tap.skip("a base that changes while it is read", "this kernel does not ask")
        clean(home, "late")
        return
    tap.equal(home.read("f"), edited, "control: the host was edited while its content was read")
    done = home.call("promote", "late")
    tap.ok(refused(done, 3, "base-lost") and home.read("f") == edited, "the edit is seen, and stays", done)
    clean(home, "late")


def test_host_moves_into_sandbox(home):
    """The host edits a file while its conflict is taken into the sandbox: the sandbox's version goes only for one with a base."""
    if os.geteuid() != 0:
        tap.skip("the host moves while a conflict is taken in", "only root can have a reader wait")
        return
    seen, wrong = [], []
    for nth in range(1, 8):
        home.put("f", LINES)
        home.call("run", "--keep", "in", "--", "sed", "-i", "s/line 3$/sandbox/", "f")
        in_place(home, "f", LINES.replace("line 3\n", "real 3\n"))
        reads = Reads(os.path.join(home.work, "f"), lambda: in_place(home, "f", "LINE"), nth)
        done = home.call("promote", "in", "--strategy", "merge", "--into-sandbox")
        reads.close()
        has = home.call("exec", "in", "--", "cat", "f").stdout
        if reads.is_done:
            seen.append(nth)
            if "this moment" in done.stderr and has != LINES.replace("line 3\n", "sandbox\n"):
                wrong.append((nth, done, has))
        clean(home, "in")
    if not reads.is_asked:
        tap.skip("the host moves while a conflict is taken in", "this kernel does not ask")
        return
    tap.ok(len(seen) > 2, "control: the host was edited at one read after the other", seen)
    tap.equal(wrong, [], "whenever that is, the sandbox's version stays where it is not taken in")


def main():
    with Home("aisbx-ba.") as home:
        if not home.can_run(tap, "bases"):
            return tap.done()
        for test in (test_base_approx, test_base_approx_many, test_base_changed_while_read, test_host_moves_into_sandbox,
                     test_base_lost):
            tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
