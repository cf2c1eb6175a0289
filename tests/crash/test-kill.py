#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promotion, undo and recovery killed, or failing, at every call: the tree is old or new, never a mix; nothing is left."""
import os
import random
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from crash import ERRORS, FULL, SLOW, Bad, Points, World, place, points

PLAIN_ID = 54321

# Name, whether there is a store to stage in, what the filesystem cannot do, whether by a plain user, how.
WAYS = (
    ("in the store", True, "", False, "run"),
    ("at the top of the mount", False, "", False, "run"),
    ("beside the tree", False, "", True, "run"),
    ("without exchange", True, "noexchange", False, "run"),
    ("with slots beside the targets", True, "exdev", False, "run"),
    ("exchanged whole", True, "", False, "swap"),
)
MOST = 2 if SLOW else 10
FAILURES = random.sample(ERRORS, 2) if SLOW else ERRORS


def kill_promotion(world, point):
    world.make()
    where = f"killed at call {point}"
    done = world.run(fault=f"{point}:KILL")
    # Half of them die a second time, while recovering.
    second = f"{random.randint(1, 60)}:KILL" if point % 2 else ""
    word = world.settle(where, second) if done.returncode else "done"
    world.end(word, where)


def kill_undo(world, point):
    world.make()
    where = f"undo killed at call {point}"
    world.run()
    done = world.drive("undo", world.directory, fault=f"{point}:KILL")
    second = f"{random.randint(1, 60)}:KILL" if point % 2 else ""
    word = world.settle(where, second) if done.returncode else "undone"
    world.end(word, where)


def kill_recovery(world, point):
    """Killed in the middle of applying, then at every call of what follows."""
    at, calls = point
    world.make()
    where = f"killed at call {at}, recovery at {calls}"
    world.run(fault=f"{at}:KILL")
    world.end(world.settle(where, f"{calls}:KILL"), where)


def fail_recovery(world, point):
    """Killed in the middle of applying; then a call of the recovery fails, and the next one puts it right."""
    at, call, error = point
    world.make()
    where = f"killed at call {at}, call {call} of recovery fails with {error}"
    world.run(fault=f"{at}:KILL")
    world.end(world.settle(where, f"{call}:{error}"), where)


def fail_promotion(world, point):
    at, error = point
    world.make()
    where = f"call {at} fails with {error}"
    done = world.run(fault=f"{at}:{error}")
    if done.returncode:
        world.must_be("old", f"{where}: {done.stderr}")
        world.must_be_clean(f"{where}: {done.stderr}")
    else:
        world.must_be("new", where)
        world.end("done", where)


def fail_undo(world, point):
    at, error = point
    world.make()
    where = f"undo: call {at} fails with {error}"
    world.run()
    done = world.drive("undo", world.directory, fault=f"{at}:{error}")
    world.must_be("new" if done.returncode else "old", f"{where}: {done.stderr}")
    world.end("done" if done.returncode else "undone", where)


def cut_in_the_middle(world, calls):
    """Killed when the first target is done and another is not; the call it happened at."""
    for point in range(world.middle or calls, 0, -1):
        world.make()
        world.run(fault=f"{point}:KILL")
        now = world.picture()
        if now.get("replace") == world.new["replace"] and "delete" in now:
            world.middle = point
            return point
    raise Bad("no call in the middle")


def edit(world, name):
    path = os.path.join(world.root, name)
    before = os.stat(path)
    with open(path, "ab") as file:
        file.write(b"edited since\n")
    return path, before


def edited_before(world, calls):
    """Somebody changes what was not done yet: the rest is taken back, the change stays."""
    where = f"killed at call {cut_in_the_middle(world, calls)}, then edited"
    path, before = edit(world, "delete")
    word = world.recover()
    with open(path, "rb") as file:
        kept = file.read()
    os.truncate(path, before.st_size)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    if word != "aborted" or not kept.endswith(b"edited since\n"):
        raise Bad(f"{where}: {word}, {kept}")
    world.must_be("old", where)
    world.must_be_clean(where)


def edited_both(world, calls):
    """Something done and something not done are changed: nobody can tell what to do, and nothing is lost."""
    where = f"killed at call {cut_in_the_middle(world, calls)}, then both edited"
    edit(world, "replace")
    path, before = edit(world, "delete")
    word, again = world.recover(), world.drive("run", world.root, world.staging)
    if "both versions are kept" not in word or again.returncode != 3:
        raise Bad(f"{where}: {word}; the next promotion: {again.returncode} {again.stderr}")
    os.truncate(path, before.st_size)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    word = world.recover()
    if word != "done" or os.path.exists(path):
        raise Bad(f"{where}: when one edit was taken back, recovery said {word}")


def edits(tap, world):
    try:
        promote, _ = world.learn()
        world.end("undone", "edits")
    except Bad as problem:
        tap.ok(False, "edits", str(problem))
        return
    tap.loop("what was not done yet is edited", [promote], lambda calls: edited_before(world, calls))
    tap.loop("what was done and what was not are edited", [promote], lambda calls: edited_both(world, calls))


def all_of(tap, name, world):
    try:
        promote, undo = world.learn()
        world.end("undone", name)
    except Bad as problem:
        tap.ok(False, f"{name}: an undisturbed run", str(problem))
        return
    tap.loop(f"{name}: promotion killed at each of {promote} calls", points(promote, MOST),
             lambda p: kill_promotion(world, p))
    tap.loop(f"{name}: undo killed at each of {undo} calls", points(undo, max(1, MOST // 2)),
             lambda p: kill_undo(world, p))
    every = [(at, call) for at in points(promote, 1 if SLOW else 3) for call in ((1, 8, 17, 33) if FULL else (3, 17))]
    tap.loop(f"{name}: recovery killed", every, lambda p: kill_recovery(world, p))
    every = [(at, call, error) for at in range(max(1, promote - 45), promote, 3) for call in (1, 2, 3, 4, 6, 9, 13, 21, 34)
             for error in (ERRORS if FULL else ("EMFILE",))]
    tap.loop(f"{name}: recovery failing at a call", every if FULL else random.sample(every, min(len(every), 9)),
             lambda p: fail_recovery(world, p))
    every = [(at, error) for error in FAILURES for at in points(promote, max(1, MOST // 5))]
    tap.loop(f"{name}: promotion failing at a call", every, lambda p: fail_promotion(world, p))
    every = [(at, error) for error in FAILURES for at in points(undo, max(1, MOST // 8))]
    tap.loop(f"{name}: undo failing at a call", every, lambda p: fail_undo(world, p))


def main():
    tap, base = Points(), place()
    if not base:
        print("1..0 # SKIP no filesystem with user attributes")
        return 0
    try:
        for name, store, fault, plain, verb in WAYS:
            user = PLAIN_ID if plain and os.geteuid() == 0 else None
            if plain or os.geteuid() == 0:
                all_of(tap, name, World(base, store, fault, user, verb))
            else:
                tap.skip(name, "needs root")
        edits(tap, World(base))
    finally:
        shutil.rmtree(base, ignore_errors=True)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
