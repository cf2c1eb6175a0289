#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Somebody writes to a target while promotion or undo stands still at a call: the write is never lost.

Either it is a conflict, and everything is as before but for what was written; or the write comes after the promotion.
"""
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from crash import ID, SLOW, Bad, Points, World, place, points

TOKEN = b"written meanwhile\n"
# A file that is replaced; one below a directory that moves; a tree that goes, changed inside; a name that is to be free.
TARGETS = ("replace", "move-dir/inner", "gone-dir/sub/y", "added")
MOST = 3 if SLOW else 6
# Fewer than a transaction keeps for other things, so that none is left for leases.
FEW = 600


def write_later(path):
    """A writer that may have to wait for a lease, in a process of its own."""
    return subprocess.Popen(["sh", "-c", 'printf "written meanwhile\\n" > "$1"', "sh", path],
                            stderr=subprocess.DEVNULL)


def stop_at(world, words, point, by=()):
    """Starts the driver and waits until it stands still at a call, or has ended."""
    env = {"AISBX_FAULT": f"{point}:PAUSE", "CRASH_ID": ID, "PATH": os.environ["PATH"]}
    child = subprocess.Popen([*by, world.driver, *words], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    _, status = os.waitpid(child.pid, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        child.returncode = os.waitstatus_to_exitcode(status)
    return child


def go_on(child):
    if child.returncode is None:
        os.kill(child.pid, signal.SIGCONT)
    out, err = child.communicate(timeout=600)
    return child.returncode, out, err


def written(world):
    """Where in the tree the token is."""
    return [name for name, entry in world.picture().items() if len(entry) > 4 and entry[3] == TOKEN]


def others(world, seen, names):
    """What is there beside the target, which may have moved."""
    return {k: v for k, v in seen.items() if k not in names and os.path.basename(k) not in
            [os.path.basename(n) for n in names]}


def judge(world, where, code, err, before, after):
    """BEFORE and AFTER: the pictures without and with what was asked for."""
    found = written(world)
    if not found:
        raise Bad(f"{where}: the write is lost ({code}: {err})")
    if code not in (0, 3):
        raise Bad(f"{where}: {code}: {err}")
    want = after if code == 0 else before
    # Directories above the write count as well, unless the write itself made or kept them.
    names = found + ["gone-dir", "sub", "x", "inner", "replace", "added", "y"]
    if others(world, world.picture(), names) != others(world, want, names):
        raise Bad(f"{where}: a mix ({code}: {err})")


def write_in(world, point, target, undo):
    world.make()
    words = ["run", world.root, world.staging]
    if undo:
        world.run()
        words = ["undo", world.directory]
    target = {"move-dir/inner": "moved-dir/inner", "gone-dir/sub/y": "added-tree/deep/two"}.get(target, target) \
        if undo else target
    where = f"{target} written at call {point}"
    child = stop_at(world, words, point)
    path = os.path.join(world.root, target)
    there = os.path.isdir(os.path.dirname(path))
    writer = write_later(path) if there else None
    time.sleep(0.01)
    code, out, err = go_on(child)
    if not undo and out.split():
        world.directory = out.split()[-1]
    if writer and writer.wait(timeout=600) == 0:
        judge(world, where, code, err, world.new if undo else world.old, world.old if undo else world.new)


def write_unleased(world, point, undo, holds):
    """
    Too few descriptors for leases, as for the late ones of very many files: a writer opens the target while the driver stands still.
    It writes at once and closes; or it holds the file open, and writes when the driver has ended.
    """
    world.make()
    words = ["run", world.root, world.staging]
    if undo:
        world.run()
        words = ["undo", world.directory]
    child = stop_at(world, words, point, ("prlimit", f"--nofile={FEW}:{FEW}"))
    try:
        fd = os.open(os.path.join(world.root, "replace"), os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK)
    except OSError:
        fd = -1
    if fd >= 0 and not holds:
        os.write(fd, TOKEN)
        os.close(fd)
    code, _, err = go_on(child)
    if fd < 0:
        return
    if holds:
        os.write(fd, TOKEN)
        os.close(fd)
    found = [name for name, entry in world.picture().items() if len(entry) > 4 and isinstance(entry[3], bytes) and TOKEN in entry[3]]
    if not found:
        raise Bad(f"{'held open' if holds else 'written'} at call {point}: what was written is lost ({code}: {err})")


def main():
    tap, base = Points(), place()
    if not base:
        print("1..0 # SKIP no filesystem with user attributes")
        return 0
    try:
        world = World(base)
        promote, undo = world.learn()
        for target in TARGETS:
            tap.loop(f"promotion: {target}", points(promote, MOST), lambda p, t=target: write_in(world, p, t, False))
        for target in TARGETS:
            tap.loop(f"undo: {target}", points(undo, MOST), lambda p, t=target: write_in(world, p, t, True))
        for what, step, holds in (("held open", 1, True), ("written", 3, False)):
            tap.loop(f"promotion: {what}, no lease", range(1, promote + 1, step), lambda p, h=holds: write_unleased(world, p, False, h))
            tap.loop(f"undo: {what}, no lease", range(1, undo + 1, step), lambda p, h=holds: write_unleased(world, p, True, h))
    finally:
        shutil.rmtree(base, ignore_errors=True)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
