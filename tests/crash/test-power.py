#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The power fails at a call: a filesystem on a loop device is shut down, mounted again, and recovered.

Both ways a disk can be left are tried: with the filesystem's log as it was on the disk, and with the log written out
but file contents not. The negative control runs the same without syncs and must fail, or the suite has no teeth.
"""
import fcntl
import os
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from crash import SLOW, Bad, Points, World, points

IOC_SHUTDOWN = 0x8004587D
WAYS = {"SHUTDOWN": 2, "SHUTDOWN_FLUSHED": 1}
FILESYSTEMS = {
    "ext4": (64, ["mkfs.ext4", "-q", "-F"]),
    "xfs": (320, ["mkfs.xfs", "-q", "-f"]),
}
MOST = 3 if SLOW else 7


def sh(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")


class Disk:
    """A filesystem in a file, on a loop device."""

    def __init__(self, kind, base):
        size, make = FILESYSTEMS[kind]
        self.image, self.point = os.path.join(base, kind + ".img"), os.path.join(base, kind)
        os.mkdir(self.point)
        with open(self.image, "wb") as file:
            file.truncate(size << 20)
        sh(*make, self.image)
        sh("mount", "-o", "loop", self.image, self.point)
        # Held, so that no suite beside us takes its number meanwhile: the disk that comes back is the same one.
        number = os.stat(self.point).st_dev
        link = os.path.realpath(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
        self.device = "/dev/" + os.path.basename(link)
        self.held = os.open(self.device, os.O_RDONLY)

    def remount(self):
        """As after the power came back."""
        sh("umount", self.point)
        sh("mount", self.device, self.point)

    def shut_down(self, how):
        fd = os.open(self.point, os.O_RDONLY)
        fcntl.ioctl(fd, IOC_SHUTDOWN, struct.pack("I", how))
        os.close(fd)

    def sync(self):
        sh("sync", "-f", self.point)

    def remove(self):
        subprocess.run(["umount", self.point], stderr=subprocess.DEVNULL, check=False)
        os.close(self.held)
        os.unlink(self.image)


def after_cut(world, where, answered):
    """Recovers; ANSWERED is the state that was promised to be on the disk, if any was."""
    if not world.directory:
        world.end(world.settle(where), where)
        return
    word = world.recover() if os.path.exists(world.directory) else "none"
    want = {"none": "old", "aborted": "old", "undone": "old", "done": "new"}.get(word)
    if not want:
        raise Bad(f"{where}: recovery said {word}")
    world.must_be(answered or want, where)
    if answered and want != answered:
        raise Bad(f"{where}: {answered} was promised, {word} is recorded")
    world.end(word, where)


def cut_promotion(disk, world, at, how):
    world.make()
    disk.sync()
    done = world.run(fault=f"{at}:{how}", more={"AISBX_FAULT_TARGET": disk.point})
    if not done.returncode:
        disk.shut_down(WAYS[how])
    disk.remount()
    after_cut(world, f"{how} at call {at}", "" if done.returncode else "new")


def cut_undo(disk, world, at, how):
    world.make()
    world.run()
    disk.sync()
    done = world.drive("undo", world.directory, fault=f"{at}:{how}", more={"AISBX_FAULT_TARGET": disk.point})
    if not done.returncode:
        disk.shut_down(WAYS[how])
    disk.remount()
    after_cut(world, f"undo, {how} at call {at}", "" if done.returncode else "old")


def has_teeth(disk, world, calls):
    """Without syncs at least one of these must be seen to fail."""
    seen = []
    for how in WAYS:
        for at in (calls + 1, calls // 2, calls * 4 // 5):
            try:
                cut_promotion(disk, world, at, how)
            except (Bad, OSError, FileNotFoundError) as problem:
                seen.append(str(problem))
    return seen


def all_of(tap, kind, base):
    disk = Disk(kind, base)
    try:
        world = World(disk.point)
        promote, undo = world.learn()
        world.end("undone", kind)
        for how in WAYS:
            tap.loop(f"{kind}: {how} in a promotion of {promote} calls", points(promote, MOST),
                     lambda at, h=how: cut_promotion(disk, world, at, h))
            tap.loop(f"{kind}: {how} in an undo of {undo} calls", points(undo, MOST // 2),
                     lambda at, h=how: cut_undo(disk, world, at, h))
        careless = World(disk.point, fault="nosync")
        careless.old, careless.new = world.old, world.new
        seen = has_teeth(disk, careless, promote)
        tap.ok(seen, f"{kind}: without syncs it is seen to fail", "\n".join(seen) if not seen else "")
    finally:
        disk.remove()


def main():
    if os.geteuid() != 0 or not os.path.exists("/dev/loop-control"):
        print("1..0 # SKIP needs root and loop devices")
        return 0
    if "--inside" not in sys.argv:
        # Mounts of our own, which go when we go.
        os.execvp("unshare", ["unshare", "-m", "--propagation", "private", sys.executable, __file__, "--inside"])
    tap, base = Points(), tempfile.mkdtemp(prefix="aisbx-test-power.")
    try:
        for kind, (_, make) in FILESYSTEMS.items():
            if not shutil.which(make[0]):
                tap.skip(kind, f"no {make[0]}")
                continue
            try:
                all_of(tap, kind, base)
            except (OSError, Bad) as problem:
                if "mount:" in str(problem) and "unknown filesystem" in str(problem):
                    tap.skip(kind, "this kernel does not know it")
                else:
                    tap.ok(False, kind, str(problem))
    finally:
        shutil.rmtree(base, ignore_errors=True)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
