#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Any of what was not synced is lost: renames in whatever order, the end of the journal. Then the tree is old or new all the same.

Disks and filesystems may write what they were not asked to sync in any order, or not at all; ext4 and XFS, which the power
is cut from in test-power.py, show few of the orders. Here the driver is killed on a filesystem that loses nothing, its
log says what it renamed and synced, and of what no sync covers a part is taken back by hand. The negative control does the
same without syncs, and must fail. Where there is no exchange, files are linked and unlinked as well: that is not taken back here.
"""
import ctypes
import os
import random
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from crash import FULL, SLOW, Bad, Points, World, place, points  # noqa: E402
from chance import seed_of  # noqa: E402

EXCHANGE = 2
AT_FDCWD = -100
SEED = seed_of("lost")
# How often each call is the last one, each time with another part lost.
TURNS = 1 if SLOW else 2
MOST = 5 if SLOW else 20
libc = ctypes.CDLL(None, use_errno=True)


class Log:
    """What the driver did, in order: ("rename", flags, from, to) and ("sync" or "syncfs", size, path)."""

    def __init__(self, path):
        self.done = []
        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                lines = file.read().splitlines()
        except FileNotFoundError:
            lines = []
        for line in lines:
            head, *paths = line.split("\t")
            what, number = head.split(" ")
            self.done.append((what, int(number), *paths))

    def is_synced(self, at, path):
        """Whether the directory that PATH is in reached the disk after step AT."""
        return any(step[0] == "syncfs" or (step[0] == "sync" and step[2] == os.path.dirname(path)) for step in self.done[at + 1:])

    def unsynced(self):
        """Renames that the disk may not have."""
        return [step for at, step in enumerate(self.done) if step[0] == "rename" and
                not all(self.is_synced(at, path) for path in step[2:])]

    def synced_size(self, path):
        """How much of a file has reached the disk for sure."""
        sizes = [0]
        for what, size, *paths in self.done:
            if what == "sync" and paths[0] == path:
                sizes.append(size)
        return sizes[-1]


def take_back(step):
    """As if it had never reached the disk."""
    _, flags, source, target = step
    if flags == EXCHANGE:
        libc.renameat2(AT_FDCWD, os.fsencode(source), AT_FDCWD, os.fsencode(target), EXCHANGE)
    elif os.path.lexists(target) and not os.path.lexists(source) and os.path.isdir(os.path.dirname(source)):
        os.rename(target, source)


def lose_tail(log, path):
    """Of what was appended since the last sync some is there, some not, and some is not what was written."""
    if not os.path.exists(path):
        return
    synced, size = log.synced_size(path), os.path.getsize(path)
    kept = random.randint(min(synced, size), size)
    with open(path, "r+b") as file:
        if random.random() < 0.3 and kept < size:
            file.seek(kept)
            file.write(os.urandom(size - kept))
        else:
            file.truncate(kept)


def is_below(step, others):
    """Whether one of the others went on in a directory that STEP had put in its place: without it that cannot have been."""
    return any(path.startswith(step[3] + "/") for other in others for path in other[2:])


def lose(world):
    log, there = Log(world.log), []
    for step in reversed(log.unsynced()):
        if random.random() < 0.5 or is_below(step, there):
            there.append(step)
        else:
            take_back(step)
    if world.directory:
        lose_tail(log, os.path.join(world.directory, "journal"))


def start(world):
    world.make()
    if os.path.exists(world.log):
        os.unlink(world.log)
    return {"AISBX_FAULT_LOG": world.log}


def lose_in_promotion(world, point):
    where = f"killed at call {point}"
    done = world.run(fault=f"{point}:KILL", more=start(world))
    if done.returncode:
        lose(world)
    world.end(world.settle(where) if done.returncode else "done", where)


def lose_in_undo(world, point):
    where = f"undo killed at call {point}"
    more = start(world)
    world.run(more=more)
    done = world.drive("undo", world.directory, fault=f"{point}:KILL", more=more)
    if done.returncode:
        lose(world)
    world.end(world.settle(where) if done.returncode else "undone", where)


def control(world, calls):
    """The first call found that leaves something wrong when nothing is synced; None: of a hundred tries none did."""
    for _ in range(100):
        point = random.randint(1, calls)
        try:
            lose_in_promotion(world, point)
        except Bad:
            return point
    return None


class LosingWorld(World):
    """One whose driver says what it does."""

    def __init__(self, base, **how):
        super().__init__(base, **how)
        self.log = os.path.join(base, "count")


def main():
    tap, base = Points(), place()
    random.seed(SEED)
    if not base:
        print("1..0 # SKIP no filesystem with user attributes")
        return 0
    try:
        for name, how in (("in the store", {}), ("exchanged whole", {"verb": "swap"})):
            world = LosingWorld(base, **how)
            promote, undo = world.learn()
            world.end("undone", name)
            turns = TURNS * (4 if FULL else 1)
            tap.loop(f"{name}: promotion, seed {SEED}", points(promote, MOST) * turns, lambda p, w=world: lose_in_promotion(w, p))
            tap.loop(f"{name}: undo", points(undo, MOST) * turns, lambda p, w=world: lose_in_undo(w, p))
        world = LosingWorld(base)
        promote, _ = world.learn()
        world.end("undone", "control")
        world.fault = "nosync"
        bad = control(world, promote)
        tap.ok(bad, f"without syncs it fails, at call {bad}: the suite has teeth")
    finally:
        shutil.rmtree(base, ignore_errors=True)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
