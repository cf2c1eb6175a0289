#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole program failing, or killed, at any system call of promote, undo and recovery, through whichever part it was made.

The suite beside it (test-kill.py) stops the transaction at each of its own calls. Here the program is the one that is
installed, and every call counts: lists, records, the store, the journal. Whatever happens, the tree is as before or as
after; what was said to be done is done; and the next call goes on as if nothing had been. Takes the program from AISBX and
the injector from CRASH_INJECT. AISBX_POINTS: at how many calls each error is tried, spread over all of them; 0 is at every one.
"""
import os
import random
import signal
import stat
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from chance import seed_of  # noqa: E402
from clitest import AISBX, Home, Tap  # noqa: E402

INJECT = os.environ["CRASH_INJECT"]
LONG = os.environ.get("AISBX_LONG") == "1"
SLOW = os.environ.get("AISBX_SLOW") == "1"
SEED = seed_of("whole")
ERRORS = ("ENOSPC", "EIO", "EDQUOT", "EMFILE", "KILL")
POINTS = int(os.environ.get("AISBX_POINTS") or (2 if SLOW else 60 if LONG else 5))
KEPT = 20
REST = 2.5
SEARCHES = 20
RENAMES_MAX = 60
BEHIND_MAX = 14
MARKS_MAX = 6
WORK = ("echo new > changed; rm gone; mkdir dir; echo in > dir/file; mv moved there; ln -s changed link; chmod 600 closed;"
        "echo more >> sub/deep; mv tree wood")
tap = Tap()


class Bad(AssertionError):
    """What a run should not have done."""


def picture(top):
    seen = {}
    for path, dirs, files in os.walk(top):
        for name in dirs + files:
            full = os.path.join(path, name)
            mode = os.lstat(full).st_mode
            content = os.readlink(full) if stat.S_ISLNK(mode) else None
            if stat.S_ISREG(mode):
                with open(full, encoding="utf-8") as file:
                    content = file.read()
            seen[os.path.relpath(full, top)] = (mode, content)
    return seen


class World:
    """A workspace with one sandbox that changed it in every way."""

    def __init__(self, home):
        self.home, self.count_file = home, os.path.join(home.path, "count")
        for name in ("changed", "gone", "moved", "closed", "sub/deep", "same", "tree/leaf", "tree/twig/leaf"):
            home.put(name, f"{name}\n")
        done = home.call("run", "--keep", "box", "--", "sh", "-c", WORK)
        if done.returncode:
            raise Bad(f"run: {done}")
        self.old = picture(home.work)
        self.shown = {"old": self.changes()}
        self.must(0, "promote", "box")
        self.new = picture(home.work)
        self.shown["new"] = self.changes()
        self.must(0, "undo")
        if picture(home.work) != self.old or self.new == self.old:
            raise Bad("an undisturbed promotion and its undo")
        self.middle = 0
        # as many as are kept: from then on every promotion makes as many calls as the one before
        for _ in range(KEPT):
            self.must(0, "promote", "box")
            self.must(0, "undo")

    def must(self, code, *words):
        done = self.home.call(*words)
        if done.returncode != code:
            raise Bad(f"{words}: {done}")
        return done

    def changes(self):
        """What the sandbox has that the host has not, without the kinds: what was promoted once is judged by other rules."""
        return sorted({path for line in self.must(0, "diff", "box", "--name-status").stdout.splitlines() for path in line.split("\t")[1:]})

    def state(self):
        now = picture(self.home.work)
        return "old" if now == self.old else "new" if now == self.new else f"a mix: {self.odd(now)}"

    def odd(self, now):
        want = self.new if len(set(now.items()) & set(self.new.items())) > len(set(now.items()) & set(self.old.items())) else self.old
        return sorted(set(now.items()) ^ set(want.items()))[:6]

    def fault(self, at, word, *words, then=()):
        """The program with that fault, and others THEN (pairs of call and word); (its exit code, what it printed)."""
        faults = ",".join(f"{n}:{what}" for n, what in ((at, word), *then))
        done = subprocess.run([INJECT, faults, self.count_file, AISBX, *words], cwd=self.home.work, env=self.home.env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300)
        return done.returncode, done.stderr + done.stdout

    def count(self, *words):
        code, said = self.fault(0, "EIO", *words)
        if code:
            raise Bad(f"{words}: {code} {said}")
        with open(self.count_file, encoding="utf-8") as file:
            return int(file.read())

    def settle(self, where):
        """The next command puts right what is left; the state that makes."""
        self.must(0, "promotions")
        now = self.state()
        if now not in ("old", "new"):
            raise Bad(f"{where}: {now}")
        rows = self.home.rows("promotions")
        live = [row for row in rows if row["state"] != "undone"]
        if (now == "new") != bool(live) or any(row["state"] != "live" for row in live):
            raise Bad(f"{where}: the tree is {now}, the list says {[row['state'] for row in rows]}")
        # A sandbox that shows less than it did would have the rest removed by its next promotion.
        shown = self.changes()
        if shown != self.shown[now]:
            raise Bad(f"{where}: the tree is {now}, and the sandbox's changes are {shown}, not {self.shown[now]}")
        left = [name for name in os.listdir(self.home.work) if name.startswith(".aisbx")]
        if left:
            raise Bad(f"{where}: left behind: {left}")
        return now

    def back(self, now, where):
        """To the beginning."""
        said = self.must(0, "undo").stdout if now == "new" else ""
        if self.state() != "old":
            raise Bad(f"{where}: it was {now}, and then {self.state()} ({said})")


def judge(world, where, code, said, done, other):
    """DONE is the state it was asked for. Who says that it did it has; who says that it did not, has nothing half done."""
    at_once = world.state()
    now = world.settle(where)
    if code == 0 and (at_once != done or now != done):
        raise Bad(f"{where}: said to be done, but it is {at_once}, then {now}")
    if code not in (0, 137) and at_once not in (other, done):
        # only a death may leave something for the next command
        raise Bad(f"{where}: exit {code}, and it is {at_once} ({said})")
    return now


def fail_promote(world, at, word):
    # What lies there for a while is judged by other calls than what was made this moment.
    if LONG or at % 6 == 0:
        time.sleep(REST)
    code, said = world.fault(at, word, "promote", "box")
    where = f"promote, call {at}: {word}: {code} {said}"
    world.back(judge(world, where, code, said, "new", "old"), where)


def fail_undo(world, at, word):
    world.must(0, "promote", "box")
    code, said = world.fault(at, word, "undo")
    where = f"undo, call {at}: {word}: {code} {said}"
    world.back(judge(world, where, code, said, "old", "new"), where)


def fail_twice(world, at, word):
    """A second fault while the first is dealt with may leave a mix; the next command puts it right all the same."""
    second = second_fault(at)
    code, said = world.fault(at, word, "promote", "box", then=(second,))
    where = f"promote, call {at}: {word}, call {second[0]}: {second[1]}: {code} {said}"
    at_once, now = world.state(), world.settle(where)
    if code == 0 and (at_once != "new" or now != "new"):
        raise Bad(f"{where}: reported as done, but it is {at_once}, then {now}")
    world.back(now, f"{where}: {at_once}")


def second_fault(at):
    """Another fault, some calls later: while the first is dealt with, as often as not."""
    return at + random.choice((1, 2, 3, 5, 8, 13, 21, 34, 55)), random.choice(ERRORS)


def fail_undo_twice(world, at, word):
    """The same for an undo."""
    world.must(0, "promote", "box")
    second = second_fault(at)
    code, said = world.fault(at, word, "undo", then=(second,))
    where = f"undo, call {at}: {word}, call {second[0]}: {second[1]}: {code} {said}"
    at_once, now = world.state(), world.settle(where)
    if code == 0 and (at_once != "old" or now != "old"):
        raise Bad(f"{where}: reported as done, but it is {at_once}, then {now}")
    world.back(now, f"{where}: {at_once}")


def fail_recovery_twice(world, at, word):
    """Killed between the first change of the tree and the last; then what puts that right meets two faults, and the next does it."""
    world.fault(world.middle, "KILL", "promote", "box")
    was, second = world.state(), second_fault(at)
    code, said = world.fault(at, word, "promotions", then=(second,))
    where = f"promote killed at {world.middle} ({was}), recovery, call {at}: {word}, call {second[0]}: {second[1]}: {code} {said}"
    world.back(world.settle(where), where)


def few_descriptors(world, limit):
    """Recovery that runs out of descriptors: nothing, or all of it, and the next command does the rest."""
    world.fault(world.middle, "KILL", "promote", "box")
    was = world.state()
    done = subprocess.run(["prlimit", f"--nofile={limit}", AISBX, "promotions"], cwd=world.home.work, env=world.home.env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300)
    now = world.state()
    if now not in (was, "old", "new"):
        raise Bad(f"recovery with {limit} descriptors: {was} became {now} ({done.stderr})")
    where = f"recovery with {limit} descriptors: {was}, then {now} ({done.stderr})"
    world.back(world.settle(where), where)
    return done.returncode


def test_few_descriptors(world):
    bad, codes = [], set()
    limits = range(3, 30) if LONG or not POINTS else sorted({3, 4, *random.sample(range(5, 24), 5)})
    for limit in limits:
        try:
            codes.add(few_descriptors(world, limit))
        except Bad as problem:
            bad.append(str(problem))
    tap.ok(not bad, f"recovery out of descriptors (limits {list(limits)}, exits {sorted(codes)}, seed {SEED})", "\n".join(bad))
    tap.ok(codes - {0}, "some of them were too few", codes)


def fail_recovery(world, at, word):
    """Killed between the first change of the tree and the last; then whoever puts that right fails, too."""
    world.fault(world.middle, "KILL", "promote", "box")
    was = world.state()
    code, said = world.fault(at, word, "promotions")
    where = f"promote killed at {world.middle} ({was}), recovery, call {at}: {word}: {code} {said}"
    world.back(judge(world, where, 137 if code else code, said, world.state(), "old"), where)


def last_rename(world):
    """Which of its renames is the last that a promotion changes the tree by; 0 when it cannot be found."""
    for at in range(1, RENAMES_MAX):
        world.fault(f"renameat2/{at}~1", "KILL", "promote", "box")
        now = world.state()
        world.back(world.settle(f"killed behind rename {at}"), f"killed behind rename {at}: {now}")
        if now == "new":
            return at
    return 0


def test_behind_renames(world):
    """
    Everything is in place, the checks behind that fail, and so does the look at what is to be taken back: it must not be
    taken for what was never there.
    """
    last, bad = last_rename(world), []
    for at in range(1, BEHIND_MAX):
        for second in range(at + 1, at + 5):
            code, said = world.fault(f"renameat2/{last}~{at}", "EDQUOT", "promote", "box", then=((f"renameat2/{last}~{second}", "ENOSPC"),))
            where = f"rename {last}, calls {at} and {second} behind it: {code} {said}"
            try:
                world.back(world.settle(where), where)
            except Bad as problem:
                bad.append(str(problem))
                break
    tap.ok(last and not bad, f"two faults behind the last of {last} renames", "\n".join(bad))


def test_marks(world):
    """The mark of a renamed directory that cannot be turned: the sandbox shows what it showed, now or after the next command."""
    bad = []
    for at in range(1, MARKS_MAX):
        for words in (("promote", "box"), ("undo",)):
            code, said = world.fault(f"fsetxattr/{at}", "EIO", *words)
            where = f"{words}, fsetxattr {at}: {code} {said}"
            try:
                now = world.settle(where)
                if now == "old" and words[0] == "promote":
                    world.must(0, *words)
            except Bad as problem:
                bad.append(str(problem))
        world.back(world.state(), f"fsetxattr {at}")
    tap.ok(not bad, "marks of renamed directories that cannot be turned", "\n".join(bad))


def killed_at(world, at):
    """The state that a promotion killed at that call leaves; then back."""
    world.fault(at, "KILL", "promote", "box")
    now = world.state()
    world.back(world.settle(f"killed at {at}"), f"killed at {at}: {now}")
    return now


def find_middle(world, calls):
    """A call at which being killed leaves the tree changed, though not all of it; 0 when there is none."""
    # Each death leaves the next promotion a few calls more to make: what is looked for moves on, and can be missed.
    for _ in range(SEARCHES):
        low, high = 1, 2 * calls
        while low <= high:
            at = (low + high) // 2
            now = killed_at(world, at)
            if now not in ("old", "new"):
                return at
            low, high = (at + 1, high) if now == "old" else (low, at - 1)
    return 0


def points(count, times):
    """Of each error, calls to fail at: all of them, or some that are spread over the whole."""
    for word in ERRORS:
        step = max(1, count // (POINTS * times)) if POINTS else 1
        for at in range(1 + random.randrange(step), count + 1, step):
            yield at, word


def loop(world, name, count, one, times=1):
    bad, runs = [], 0
    for at, word in points(count, times):
        runs += 1
        try:
            one(world, at, word)
        except Bad as problem:
            bad.append(str(problem))
            try:
                world.back(world.settle("after that"), "after that")
            except Bad as stuck:
                bad.append(f"and then: {stuck}")
                break
        if len(bad) > 8:
            break
    tap.ok(not bad, f"{name}: {count} calls ({runs} runs, seed {SEED})", "\n".join(bad))


def main():
    random.seed(SEED)
    with Home("aisbx-wh.") as home:
        if home.call("run", "--", "true").returncode != 0:
            tap.skip("the whole program failing", "no sandbox here")
            return tap.done()
        try:
            world = World(home)
            world.back(world.settle("the beginning"), "the beginning")
            promote = world.count("promote", "box")
            undo = world.count("undo")
            world.middle = find_middle(world, promote)
        except Bad as problem:
            tap.ok(False, "an undisturbed run", str(problem))
            return tap.done()
        test_behind_renames(world)
        test_marks(world)
        loop(world, "promote", promote, fail_promote)
        loop(world, "promote, two faults", promote, fail_twice)
        # An undo takes little time, and what it fails to note shows only in the promotion behind it.
        loop(world, "undo", undo, fail_undo, times=2)
        loop(world, "undo, two faults", undo, fail_undo_twice)
        tap.ok(world.middle, "a death in the middle leaves something to put right")
        if world.middle:
            world.fault(world.middle, "KILL", "promote", "box")
            recovery = world.count("promotions")
            world.back(world.settle("recovery"), "recovery")
            loop(world, "recovery", recovery, fail_recovery)
            loop(world, "recovery, two faults", recovery, fail_recovery_twice)
            test_few_descriptors(world)
        home.call("rm", "box")
    return tap.done()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
