# SPDX-License-Identifier: Apache-2.0
"""What a run must not leave: processes, control groups, mounts, namespaces, temporary files.

Other suites run at the same time, so everything is told apart by descent: this process is the reaper of all its
orphans, and where it may (root, version 1 groups) it sits in a control group of its own, below which the program
makes its own.
"""
import os
import re
import signal
import time

from box import patience
from family import descendants, of_process, until

PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/run")
# finished mask layers of root callers are kept on purpose, until the next boot
KEPT = {"/run/aisbx-masks", "/dev/shm/aisbx-masks"}

# Scratch directories of other suites and tools, which may run at the same time; the program itself has no Python to name one.
PYTHONS = r"[-.][a-z0-9_]{8}(?![^/ ])"
OTHERS = re.compile("test|build|bench|copy|brief|install|tour|accept|" + PYTHONS)
SCRATCH = re.compile("/(aisbxtest-|aisbx-test|canary-)|/aisbx-[^/ ]*" + PYTHONS)


def mount_table():
    with open("/proc/self/mountinfo") as file:
        return {" ".join(line.split()[3:5]) for line in file}


def unused_groups():
    """Groups that the program made for this user, with nobody in them; other suites' among them."""
    found = []
    for directory, names, files in os.walk("/sys/fs/cgroup"):
        names.sort()
        if not os.path.basename(directory).startswith("aisbx-") or "cgroup.procs" not in files:
            continue
        try:
            if os.stat(directory).st_uid != os.geteuid():
                continue
            with open(os.path.join(directory, "cgroup.procs")) as file:
                if not file.read():
                    found.append(directory)
        except OSError:
            pass
    return found


class Groups:
    """The control group of this suite in each version 1 hierarchy, or nothing."""

    def __init__(self):
        self.mine = []
        self.back = []
        if os.geteuid() != 0:
            return
        with open("/proc/self/cgroup") as file:
            lines = [line.rstrip("\n").split(":", 2) for line in file]
        for number, names, path in lines:
            if number != "0":
                self.enter(names, path)

    def enter(self, names, path):
        """The mount point is named after one of the controllers by convention."""
        for name in [names.removeprefix("name=")] + names.split(","):
            top = f"/sys/fs/cgroup/{name}{path}".rstrip("/")
            mine = f"{top}/suite-{os.getpid()}"
            if not os.path.exists(top + "/cgroup.procs") or names.startswith("cpuset"):
                continue
            self.prune(top)
            try:
                os.mkdir(mine)
                with open(mine + "/cgroup.procs", "w") as file:
                    file.write(str(os.getpid()))
            except OSError:
                continue
            self.mine.append(mine)
            self.back.append(top)
            self.guard(mine)
            return

    def prune(self, top):
        """Suites that were killed could not clear up themselves."""
        for entry in os.scandir(top):
            if entry.name.startswith("suite-") and not os.path.exists(f"/proc/{entry.name[6:]}"):
                try:
                    os.rmdir(entry.path)
                except OSError:
                    pass

    def guard(self, mine):
        """A backstop for the machine, far above what any case may use, should a limit under test not hold."""
        for name, value in (("pids.max", "6000"), ("memory.limit_in_bytes", str(8 << 30))):
            try:
                with open(f"{mine}/{name}", "w") as file:
                    file.write(value)
            except OSError:
                pass

    def left(self):
        return [entry.path for mine in self.mine for entry in os.scandir(mine) if entry.is_dir()]

    def close(self):
        for mine, back in zip(self.mine, self.back):
            with open(back + "/cgroup.procs", "w") as file:
                file.write(str(os.getpid()))
            for entry in [e for e in os.scandir(mine) if e.is_dir()]:
                os.rmdir(entry.path)
            os.rmdir(mine)


class Watch:
    def __init__(self, callers):
        self.callers = callers
        self.groups = Groups()
        self.settle()

    def settle(self):
        """Takes the present state as the one to come back to."""
        self.processes = set(descendants(os.getpid()))
        self.mounts = mount_table()
        self.entries = self.temporary()

    def temporary(self):
        found = set()
        for place in PLACES:
            try:
                names = os.listdir(place)
            except OSError:
                continue
            found |= {f"{place}/{name}" for name in names if "aisbx" in name and not OTHERS.search(name)}
        found = {path for path in found - KEPT if self.is_callers(path)}
        for caller in self.callers:
            found |= {f"{caller.tmp}/{name}" for name in os.listdir(caller.tmp)}
        return found

    def is_callers(self, path):
        """Whether one of our callers owns it: what belongs to others is theirs."""
        about = of_process(os.lstat, path)
        return about is not None and about.st_uid in {caller.uid for caller in self.callers}

    def new_ones(self):
        """{pid: about it} of processes below us that were not there before.

        Orphans that ended come to us: they are not leftovers, only unread.
        """
        found = {pid: info for pid, info in descendants(os.getpid()).items() if pid not in self.processes}
        for pid in [pid for pid, info in found.items() if info[1] == "Z" and info[2] == os.getpid()]:
            del found[pid]
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass
        return found

    def is_ours(self, mount):
        """Whether a line of the mount table can be the program's doing, and not a mount another suite made itself."""
        return "aisbx" in mount and (not SCRATCH.search(mount) or any(caller.dir in mount for caller in self.callers))

    def look(self):
        """What is there and was not: what can only be ours, and what may be of others who run at this moment."""
        own = [f"process left: {pid} {info}" for pid, info in self.new_ones().items()]
        own += [f"control group left: {path}" for path in self.groups.left()]
        shared = {f"mount left: {line}" for line in mount_table() - self.mounts if self.is_ours(line)}
        shared |= {f"temporary entry left: {path}" for path in self.temporary() - self.entries}
        if not self.groups.mine:
            shared |= {f"control group left: {path}" for path in unused_groups()}
        return own, shared

    def problems(self, seconds=20, next_command=None):
        """What is still there after a while: tearing down may go on behind the answer.

        On a busy machine others always have something in use, but never the same for long: what counts was there
        whenever we looked. A caller that was killed before its janitor began leaves a group to NEXT_COMMAND.
        """
        deadline = time.monotonic() + patience(seconds)
        command_due = time.monotonic() + 5
        lasting = None
        while True:
            own, shared = self.look()
            lasting = shared if lasting is None else lasting & shared
            found = own + sorted(lasting)
            if not found or time.monotonic() > deadline:
                break
            if next_command and time.monotonic() > command_due:
                next_command()
                command_due = time.monotonic() + 5
            time.sleep(0.02)
        if found:
            self.clear()
        return found

    def clear(self):
        """Ends what was left, after it was told, so that the next case starts clean."""
        def killed():
            left = self.new_ones()
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
            return not left

        until(killed, 2)
        for path in self.groups.left():
            try:
                os.rmdir(path)
            except OSError:
                pass
        self.settle()

    def close(self):
        self.clear()
        self.groups.close()
