#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promotions cut short whose target, disk or record is not as it was when the next command comes.

Whatever is in the way, a promotion that is half applied stays known until it is finished or reversed; it is in the way of its
own target, and of no other. Takes the program from AISBX and the injector from CRASH_INJECT. AISBX_POINTS: at how many calls
of one kind a fault is tried; AISBX_SEED: which.
"""
import os
import random
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from chance import seed_of  # noqa: E402
import clitest  # noqa: E402
from clitest import AISBX, Home, Tap  # noqa: E402

INJECT = os.environ["CRASH_INJECT"]
SEED = seed_of("recover")
POINTS = int(os.environ.get("AISBX_POINTS") or 15)
FILES = 12
# Mounts of its own for a process; a plain user keeps the rights for them, and gives them up before the program starts.
OWN_MOUNTS = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-U", "--map-current-user", "--keep-caps", "-m"]
WITHOUT_RIGHTS = '#!/bin/sh\nexec setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all "{}" "$@"\n'
tap = Tap()


class Project:
    """A directory with files and a sandbox that changed all of them."""

    def __init__(self, home, name):
        self.home, self.name, self.path = home, name, os.path.join(home.path, name)
        os.makedirs(self.path, exist_ok=True)
        self.write("old")
        done = home.call("run", "--keep", name, "-C", self.path, "--", "sh", "-c",
                         f"for n in $(seq {FILES}); do echo new > f$n; done")
        if done.returncode:
            raise AssertionError(f"run: {done}")

    def write(self, word):
        for n in range(1, FILES + 1):
            with open(f"{self.path}/f{n}", "w", encoding="utf-8") as file:
                file.write(f"{word}\n")

    def state(self, path=None):
        """"old", "new", or both for a mix."""
        seen = set()
        for n in range(1, FILES + 1):
            with open(f"{path or self.path}/f{n}", encoding="utf-8") as file:
                seen.add(file.read().strip())
        left = [name for name in os.listdir(path or self.path) if name.startswith(".aisbx-") and name != ".aisbx-txn"]
        return " ".join(sorted(seen) + left)

    def fault(self, faults, *words):
        return subprocess.run([INJECT, faults, self.home.path + "/count", AISBX, *words], cwd=self.home.path,
                              env=self.home.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              timeout=300)

    def cut_short(self):
        """Kills promotions until one is half applied; whether that came about."""
        for at in range(1, 60):
            if self.fault(f"renameat2/{at}:KILL", "promote", self.name).returncode != 137:
                return False
            if self.state() == "new old":
                return True
            # Killed behind the commit, but before the first rename, it is finished now.
            if self.row()["state"] == "live":
                self.home.call("undo", cwd=self.path)
        return False

    def row(self):
        rows = [row for row in self.home.rows("promotions") if row["target"] == self.path and row["state"] != "undone"]
        return rows[0] if rows else {"state": "none"}

    def settled(self, what):
        """That the next command has made the tree and the list agree."""
        row, state = self.row(), self.state()
        tap.ok((state, row["state"]) in (("old", "none"), ("new", "live")), what, f"{state}: {row}")
        if state == "new":
            tap.ok(self.home.call("undo", cwd=self.path).returncode == 0 and self.state() == "old", f"{what}: and back")


def test_away(home):
    """The target is renamed for some commands."""
    one, other = Project(home, "away"), Project(home, "other")
    tap.ok(one.cut_short(), "a promotion is half applied")
    os.rename(one.path, one.path + ".moved")
    listed = home.call("promotions")
    row = one.row()
    tap.ok(listed.returncode == 0 and row["state"] == "pending" and one.path in row.get("note", "") and "unfinished" in listed.stderr,
           "its target is away: it stays pending, and the list says why", (listed, row))
    done = home.call("undo", row.get("promotion_id", "?"))
    tap.ok(done.returncode != 0 and "unfinished" in done.stderr, "undo of it says so, too", done)
    done = home.call("promote", "other")
    tap.ok(done.returncode == 0 and other.state() == "new", "another project is promoted", done)
    done = home.call("undo", cwd=other.path)
    tap.ok(done.returncode == 0 and other.state() == "old", "and taken back", done)
    os.rename(one.path + ".moved", one.path)
    one.settled("the target is back: finished or reversed")
    home.call("rm", "away", "other")


def test_replaced(home):
    """Another directory stands in its place."""
    one, other = Project(home, "replaced"), Project(home, "beside")
    done = home.call("promote", "beside")
    tap.ok(one.cut_short() and done.returncode == 0, "a promotion is half applied", done)
    os.rename(one.path, one.path + ".moved")
    os.mkdir(one.path)
    one.write("old")
    row = one.row()
    tap.ok(row["state"] == "pending" and "not the directory" in row.get("note", ""), "another directory in its place", row)
    done = home.call("undo", cwd=other.path)
    tap.ok(done.returncode == 0 and other.state() == "old", "undo elsewhere", done)
    done = home.call("promote", "replaced")
    tap.ok(done.returncode != 0 and one.state() == "old" and "unfinished" in done.stderr, "promote to it is refused", done)
    with open(one.path + "/f1", "w", encoding="utf-8") as file:
        file.write("mine\n")
    done = home.call("promote", "replaced", "--strategy", "ours")
    tap.ok(done.returncode != 0 and "unfinished" in done.stderr and not done.stdout,
           "in words, also where a strategy decided about a file", done)
    one.write("old")
    os.symlink(one.path, one.path + ".link")
    os.mkdir(one.path + "/below")
    for target in (".link", "/below/..", "/below"):
        done = home.call("promote", "replaced", "--target", one.path + target, "--strategy", "theirs")
        tap.ok(done.returncode != 0 and one.state() == "old" and not os.listdir(one.path + "/below")
               and "unfinished" in done.stderr, f"and to {target}", done)
    os.rmdir(one.path + "/below")
    os.unlink(one.path + ".link")
    done = home.call("undo", cwd=one.path)
    tap.ok(done.returncode != 0 and one.state() == "old" and "unfinished" in done.stderr, "and undo", done)
    shutil.rmtree(one.path)
    os.rename(one.path + ".moved", one.path)
    one.settled("the directory is back")
    home.call("rm", "replaced", "beside")


def test_given_up(home):
    """The target is gone for good: what the note names is removed."""
    one = Project(home, "lost")
    tap.ok(one.cut_short(), "a promotion is half applied")
    shutil.rmtree(one.path)
    os.mkdir(one.path)
    one.write("old")
    note = one.row().get("note", "")
    directory = note.rsplit("remove '", 1)[-1].split("'")[0]
    tap.ok(os.path.isdir(directory), "the note names what to remove", note)
    if os.path.isdir(directory):
        shutil.rmtree(directory)
    done = home.call("promotions")
    tap.ok(done.returncode == 0 and one.row()["state"] == "none", "then it is forgotten", done)
    home.call("rm", "lost")


def test_stuck(home):
    """A disk that refuses every rename from the middle on, and then works again."""
    one = Project(home, "stuck")
    found = False
    for at in range(1, 60):
        done = one.fault(f"renameat2/{at}+:EROFS", "promote", "stuck")
        if done.returncode == 0:
            break
        if one.state() == "new old":
            found = True
            break
        one.settled(f"refused from rename {at} on")
    tap.ok(found and "unfinished" in done.stderr, "a promotion that can neither be finished nor reversed says so", done)
    one.settled("the disk works again: finished or reversed")
    home.call("promote", "stuck")
    found = False
    for at in range(1, 60):
        done = one.fault(f"renameat2/{at}+:EROFS", "undo", one.row().get("promotion_id", "?"))
        if done.returncode == 0:
            break
        if one.state() == "new old":
            found = True
            break
    tap.ok(found and "unfinished" in done.stderr, "an undo that can neither be finished nor reversed says so", done)
    one.settled("and that is finished, too")
    home.call("rm", "stuck")


def test_lock(home):
    """Recovery that cannot lock what it works on does not work on it."""
    one = Project(home, "lock")
    tap.ok(one.cut_short(), "a promotion is half applied")
    for word in ("EMFILE", "EIO", "EINTR"):
        one.fault(f"flock/1+:{word}", "promotions")
        tap.ok(one.state() == "new old", f"no lock ({word}): nothing is done", one.state())
    one.settled("with its lock it is finished or reversed")
    home.call("rm", "lock")


def test_one_look_fails(home):
    """One failing look at a file or a mount is an error: never another mount, never slots in the tree."""
    one = Project(home, "look")
    random.seed(SEED)
    tap.ok(one.fault("statx/1000000:EIO", "promote", "look").returncode == 0, "undisturbed")
    home.call("undo", cwd=one.path)
    bad, runs = [], 0
    for at in sorted(random.sample(range(1, 90), POINTS)):
        word = random.choice(("EIO", "ENOSPC", "EMFILE", "ENOMEM"))
        done = one.fault(f"statx/{at}:{word}", "promote", "look")
        runs += 1
        state, row = one.state(), one.row()
        if (state, row["state"]) != (("new", "live") if done.returncode == 0 else ("old", "none")):
            bad.append(f"statx {at} {word}: exit {done.returncode}, {state}, {row['state']}: {done.stderr}")
        if state == "new":
            home.call("undo", cwd=one.path)
    tap.ok(not bad, f"one failing look ({runs} runs, seed {SEED})", "\n".join(bad))
    home.call("rm", "look")


def test_mounted(home):
    """The project is a mount of its own, which goes and comes."""
    again = [*OWN_MOUNTS, sys.executable, os.path.abspath(__file__), "mounted"]
    if subprocess.run([*OWN_MOUNTS, "mount", "--bind", home.path, home.path], capture_output=True, check=False).returncode:
        tap.skip("a project that is a mount of its own", "no mounts for this user here")
        return
    done = subprocess.run(again, env=home.env, capture_output=True, text=True, check=False, timeout=300)
    tap.ok(done.returncode == 0, "a project that is a mount of its own", done.stdout + done.stderr)


def mount(what, where):
    subprocess.run(["mount", "--bind", what, where], check=True)


def own_mount(home):
    """Inside of OWN_MOUNTS: staging lies in one directory at the top of the mount, and is looked for there only."""
    disk, path = home.path + "/disk", home.path + "/mounted"
    os.mkdir(disk)
    os.mkdir(path)
    mount(disk, path)
    one = Project(home, "mounted")
    done = home.call("promote", "mounted")
    tap.ok(done.returncode == 0 and one.state() == "new", "promoted, and no slot in the tree", (done, os.listdir(path)))
    tap.ok(os.stat(path + "/.aisbx-txn").st_mode & 0o777 == 0o700, "staged in a directory of its own", os.listdir(path))
    inside = home.call("run", "-C", path, "--", "sh", "-c", "ls -A .aisbx-txn; cat .aisbx-txn/*/journal")
    tap.ok(inside.stdout == "", "which no sandbox sees", inside)
    tap.ok("aisbx-txn" not in home.call("diff", "mounted", "--name-status").stdout, "and no diff lists")
    done = home.call("undo", cwd=path)
    tap.ok(done.returncode == 0 and one.state() == "old", "taken back", done)
    tap.ok(one.cut_short(), "a promotion is half applied")
    subprocess.run(["umount", path], check=True)
    row = one.row()
    tap.ok(row["state"] == "pending" and "note" in row, "the mount is away: it stays pending", row)
    mount(disk, path)
    one.settled("the mount is back")
    shutil.rmtree(path + "/.aisbx-txn")
    os.symlink(home.path, path + "/.aisbx-txn")
    done = home.call("promote", "mounted")
    tap.ok(done.returncode != 0 and ".aisbx-txn" in done.stderr and one.state() == "old", "refused where it is not ours", done)
    os.unlink(path + "/.aisbx-txn")
    home.call("rm", "mounted")
    subprocess.run(["umount", path], check=True)


def main_mounted():
    """The part that has mounts of its own. The program is started without the rights that these took."""
    global AISBX  # noqa: PLW0603 - the program, behind a script
    with Home("aisbx-rm.") as home:
        if os.geteuid() != 0:
            script = home.path + "/aisbx"
            with open(script, "w", encoding="utf-8") as file:
                file.write(WITHOUT_RIGHTS.format(AISBX))
            os.chmod(script, 0o755)
            AISBX = clitest.AISBX = script
        tap.attempt(own_mount, home)
    return tap.done()


def main():
    with Home("aisbx-rc.") as home:
        if not home.can_run(tap, "recovery"):
            return tap.done()
        for test in (test_away, test_replaced, test_given_up, test_stuck, test_lock, test_one_look_fails, test_mounted):
            tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main_mounted() if sys.argv[1:] == ["mounted"] else main())
