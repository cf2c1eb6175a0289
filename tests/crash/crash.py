# SPDX-License-Identifier: Apache-2.0
"""Support for the crash suites: a tree, the driver that changes it, pictures of what is there, and TAP.

A run is judged by three questions. Is the tree as before or as after, and never a mix? Does anything lie about that
the journal does not answer for? Does a second recovery find nothing to do?
"""
import atexit
import ctypes
import os
import random
import shutil
import stat
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from chance import seed_of  # noqa: E402
from tap import Tap  # noqa: E402

DRIVER = os.environ.get("CRASH_DRIVER") or sys.exit("CRASH_DRIVER is not set")
FULL = os.environ.get("AISBX_LONG") == "1"
SLOW = os.environ.get("AISBX_SLOW") == "1"
# Suites of several flavours run beside each other, and some share the top of a mount.
ID = f"crash{os.getpid()}"
ERRORS = ("ENOSPC", "EIO", "EDQUOT", "EMFILE", "EINTR", "SHORT")
SEED = seed_of("crash")
print(f"# AISBX_SEED={SEED}", flush=True)
random.seed(SEED)


class Bad(AssertionError):
    """What a run should not have done."""


# Files of the tree that get another name: as long as a transaction is kept, its slot may be one.
SHARED = {"stay/untouched", "untouched-too", "pair", "pair-other", "pair-again"}


def picture(top, links=True):
    """Everything below TOP that somebody could notice, as a dictionary; LINKS: the number of names, too."""
    seen = {}
    for path, dirs, files in os.walk(top):
        for name in dirs + files:
            full = os.path.join(path, name)
            st, below = os.lstat(full), os.path.relpath(full, top)
            entry = [st.st_mode, st.st_uid, st.st_gid]
            if stat.S_ISREG(st.st_mode):
                with open(full, "rb") as file:
                    entry += [file.read(), st.st_mtime_ns, st.st_nlink if links and below not in SHARED else 0]
            if stat.S_ISLNK(st.st_mode):
                entry.append(os.readlink(full))
            entry.append({n: os.getxattr(full, n, follow_symlinks=False)
                          for n in os.listxattr(full, follow_symlinks=False) if n.startswith("user.")})
            seen[below] = entry
    return seen


def inodes(top, names):
    return {name: os.lstat(os.path.join(top, name)).st_ino for name in names}


class World:
    """A directory with a tree, and with a store beside it unless STORE is False."""

    def __init__(self, base, store=True, fault="", user=None, verb="run"):
        self.base, self.fault, self.user, self.driver = base, fault, user, DRIVER
        self.verb = verb
        self.root, self.store = os.path.join(base, "tree"), os.path.join(base, "store")
        self.staging = self.store if store else ""
        self.old = self.new = self.old_inodes = None
        self.directory = ""
        self.middle = 0

    def make(self):
        """The old tree, anew."""
        for path in (self.root, self.store):
            shutil.rmtree(path, ignore_errors=True)
        os.mkdir(self.store, 0o700)
        if self.user:
            # The driver, where everybody may go.
            self.driver = os.path.join(self.base, "driver")
            shutil.copy2(DRIVER, self.driver)
            os.chmod(self.driver, 0o755)
            for path in (self.base, self.store):
                os.chown(path, self.user, self.user)
        self.drive("make", self.root)
        if self.old is None:
            self.old = self.picture()
        self.old_inodes = inodes(self.root, self.old)
        self.directory = ""

    def drive(self, *words, fault="", count=None, more=None):
        faults = ",".join(filter(None, (self.fault, fault)))
        env = {"AISBX_FAULT": faults, "CRASH_ID": ID, "PATH": os.environ.get("PATH", "")} | (more or {})
        if count:
            env["AISBX_FAULT_COUNT"] = count
        for key in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
            if key in os.environ:
                env[key] = os.environ[key]
        who = {"user": self.user, "group": self.user, "extra_groups": []} if self.user else {}
        return subprocess.run([self.driver, *words], env=env, capture_output=True, text=True, check=False, **who)

    def run(self, **how):
        """Promotes; remembers the directory as the caller would."""
        done = self.drive(self.verb, self.root, self.staging, **how)
        lines = done.stdout.split()
        self.directory = lines[-1] if lines else ""
        return done

    def calls(self, *words):
        """How many calls an undisturbed run makes."""
        path = os.path.join(self.base, "count")
        with open(path, "w"):
            os.chmod(path, 0o666)
        done = self.run(count=path) if words[0] == "run" else self.drive(*words, count=path)
        if done.returncode:
            raise Bad(f"{words}: {done.stderr}")
        with open(path) as file:
            return int(file.read())

    def learn(self):
        """What the tree looks like afterwards, and the number of calls of promotion and undo."""
        self.make()
        promote = self.calls("run")
        self.new = self.picture()
        undo = self.calls("undo", self.directory)
        self.must_be("old", "undo")
        return promote, undo

    def recover(self, fault=""):
        done = self.drive("recover", self.directory, fault=fault)
        return done.stdout.strip() if done.returncode == 0 else f"failed: {done.stderr}"

    def state(self):
        now = self.picture()
        return "old" if now == self.old else "new" if now == self.new else "mix"

    def picture(self):
        """The tree. Slots beside their targets are part of the undo record; so are the links of an exchanged tree."""
        seen = picture(self.root, self.verb != "swap")
        return {k: v for k, v in seen.items() if not any(p.startswith(".aisbx-") for p in k.split("/"))}

    def must_be(self, want, where):
        now = self.state()
        if now not in want.split("|"):
            have, should = self.picture(), self.old if want == "old" else self.new
            odd = {k for k in have.keys() | should.keys() if have.get(k) != should.get(k)}
            raise Bad(f"{where}: {now} instead of {want}: {sorted(odd)}")
        if now == "old" and inodes(self.root, self.old) != self.old_inodes:
            raise Bad(f"{where}: the old tree, but not the old inodes")
        return now

    def must_be_clean(self, where):
        """Nothing of ours is left anywhere."""
        left = os.listdir(self.store) + [n for n in os.listdir(self.base) if n not in ("tree", "store", "count", "driver", "lost+found")]
        left += [k for k in picture(self.root) if ".aisbx" in k]
        if left or is_left(os.path.join(mount_top(self.root), ".aisbx")):
            raise Bad(f"{where}: left behind: {left or '.aisbx at the top of the mount'}")

    def settle(self, where, second=""):
        """Recovers as the next command would; the state it ends in. SECOND: a fault for the first attempt."""
        if not self.directory:
            # Killed before anybody was told of it: the next promotion finds it.
            self.must_be("old", where)
            if self.run().returncode:
                raise Bad(f"{where}: the next promotion failed")
            self.must_be("new", where)
            return "done"
        if second:
            self.recover(second)
        word = self.recover()
        want = {"none": "old", "aborted": "old", "undone": "old", "done": "new"}.get(word)
        if not want:
            raise Bad(f"{where}: recovery said {word}")
        self.must_be(want, where)
        before = picture(self.base)
        if os.path.exists(self.directory):
            again = self.recover()
            if again != word or picture(self.base) != before:
                raise Bad(f"{where}: a second recovery made {again} of {word}")
        return word

    def end(self, word, where):
        """Takes back what is there, forgets it, and looks for leftovers."""
        if word == "done" and self.drive("undo", self.directory).returncode:
            raise Bad(f"{where}: cannot be undone")
        self.must_be("old", where)
        if os.path.exists(self.directory) and self.drive("forget", self.directory).returncode:
            raise Bad(f"{where}: cannot be forgotten")
        self.must_be_clean(where)


def is_left(top):
    """Whether something of ours is in TOP, or TOP itself is left with nothing in it, for longer than a moment."""
    for _ in range(500):
        try:
            names = os.listdir(top)
        except FileNotFoundError:
            return False
        if ID in names:
            return True
        if names:
            return False
        time.sleep(0.02)
    return True


def mount_top(path):
    path = os.path.realpath(path)
    while not os.path.ismount(path):
        path = os.path.dirname(path)
    return path


def own_mount():
    """Memory that nobody else sees: journals lie at the top of a mount, where others' are met. None without root."""
    libc = ctypes.CDLL(None, use_errno=True)
    new_mounts, recursive, private = 0x20000, 0x4000, 0x40000
    if os.geteuid() != 0 or libc.unshare(new_mounts) < 0 or libc.mount(None, b"/", None, recursive | private, None) < 0:
        return None
    point = tempfile.mkdtemp(prefix="aisbx-test-crash.")
    # With the process its mounts are gone, and the place for this one with its owner.
    atexit.register(os.rmdir, point)
    if libc.mount(b"aisbx-test", point.encode(), b"tmpfs", 0, b"mode=0755") < 0:
        return None
    atexit.register(libc.umount2, point.encode(), 2)
    return point


def place():
    """A directory on a filesystem that knows what is asked of it; memory when it does, for speed."""
    for parent in filter(None, (own_mount(), "/dev/shm", os.environ.get("TMPDIR", "/tmp"))):
        try:
            base = tempfile.mkdtemp(prefix="aisbx-test-crash.", dir=parent)
        except OSError:
            continue
        try:
            os.setxattr(base, "user.aisbx-test", b"x")
            os.removexattr(base, "user.aisbx-test")
            return base
        except OSError:
            os.rmdir(base)
    return None


def points(count, most):
    """Calls to stop at: all of them, or a sample that always has the first and the last."""
    every = list(range(1, count + 2))
    if FULL or len(every) <= most:
        return every
    step = len(every) / most
    offset = random.random() * step
    return sorted({1, count + 1} | {every[min(int(offset + i * step), count)] for i in range(most)})


class Points(Tap):
    """Cases that stand for many runs each."""

    def loop(self, name, every, one):
        """One case for all points of a loop: ONE(point) raises Bad. Says how many there were."""
        bad, runs = [], 0
        for point in every:
            runs += 1
            try:
                one(point)
            except Bad as problem:
                bad.append(f"{point}: {problem}")
            if len(bad) > 5:
                break
        self.ok(not bad, f"{name} ({runs} runs)", "\n".join(bad))
