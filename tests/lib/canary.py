# SPDX-License-Identifier: Apache-2.0
"""Things outside the workspace that must not change: a tree of files and a process, looked at before and after."""
import array
import errno
import fcntl
import hashlib
import mmap
import os
import shutil
import signal
import stat
import subprocess
import tempfile

import family

FS_IOC_GETFLAGS = 0x80086601

# one file for each writer of the attack program, so that each has a target of its own
WRITERS = ("write append truncate open-trunc unlink rename replace chmod chown utimes setxattr link mmap fd-link punch "
           "direct flags immutable copy-range sendfile clone tmpfile exchange whiteout pwritev2 splice tee").split()


def read_direct(path):
    """The content as it is on the disk, past the page cache; None where the filesystem cannot."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    except OSError:
        return None
    try:
        size = (os.fstat(fd).st_size + 4095) // 4096 * 4096 or 4096
        buffer = mmap.mmap(-1, size)
        count = os.readv(fd, [buffer])
        return bytes(buffer[:count])
    except OSError:
        return None
    finally:
        os.close(fd)


def file_flags(path):
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        value = array.array("L", [0])
        fcntl.ioctl(fd, FS_IOC_GETFLAGS, value)
        return value[0]
    except OSError:
        return None
    finally:
        os.close(fd)


def xattrs(path):
    try:
        return sorted((name, os.getxattr(path, name, follow_symlinks=False))
                      for name in os.listxattr(path, follow_symlinks=False))
    except OSError as problem:
        return errno.errorcode.get(problem.errno)


def describe(path):
    """Everything about one name that a program could change, as a comparable value."""
    info = os.lstat(path)
    row = [info.st_mode, info.st_uid, info.st_gid, info.st_nlink, info.st_ino, info.st_size, info.st_mtime_ns,
           info.st_ctime_ns, xattrs(path)]
    if stat.S_ISREG(info.st_mode):
        with open(path, "rb") as file:
            row.append(hashlib.sha256(file.read()).hexdigest())
        direct = read_direct(path)
        row.append(hashlib.sha256(direct).hexdigest() if direct is not None else None)
        row.append(file_flags(path))
    elif stat.S_ISLNK(info.st_mode):
        row.append(os.readlink(path))
    return row


def tree(top):
    """{path: description} of everything at and below TOP."""
    rows = {top: describe(top)}
    for directory, names, files in os.walk(top):
        for name in names + files:
            path = os.path.join(directory, name)
            rows[path] = describe(path)
    return rows


def differences(before, after):
    for path in sorted(set(before) | set(after)):
        if path not in after:
            yield f"{path} is gone"
        elif path not in before:
            yield f"{path} is new"
        elif before[path] != after[path]:
            yield f"{path} changed: {before[path]} to {after[path]}"


def fill(top, caller):
    """The tree itself: a file per writer, a directory, links, a fifo, a second name."""
    for name in WRITERS:
        with open(os.path.join(top, name), "wb") as file:
            file.write((f"canary {name} ".encode() * 400)[:4096] + b"CANARY")
    os.mkdir(os.path.join(top, "dir"))
    with open(os.path.join(top, "dir", "inner"), "w") as file:
        file.write("inner")
    os.symlink("write", os.path.join(top, "symlink"))
    os.mkfifo(os.path.join(top, "fifo"))
    os.link(os.path.join(top, "write"), os.path.join(top, "second-name"))
    try:
        os.setxattr(os.path.join(top, "chmod"), "user.kept", b"kept")
    except OSError:
        pass
    caller.own(top)


class Canary:
    def __init__(self, caller, base):
        under = next((d for d in ("/opt", "/usr/local", "/var/lib") if os.path.isdir(d)), base) \
            if os.geteuid() == 0 else base
        self.top = tempfile.mkdtemp(prefix=f"canary-{caller.name}-", dir=under)
        self.visible = under != base
        fill(self.top, caller)
        os.chmod(self.top, 0o755)
        # on the disk now, so that reads past the page cache see it
        fd = os.open(self.top, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)
        for name in WRITERS:
            with open(os.path.join(self.top, name), "rb") as file:
                os.fsync(file.fileno())
        self.before = tree(self.top)
        self.process = subprocess.Popen(["sleep", "100000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, **caller.identity())

    def file(self, name):
        return os.path.join(self.top, name)

    def changes(self):
        found = list(differences(self.before, tree(self.top)))
        # Asked first: a canary of ours that was not reaped is there, dead or not.
        state = family.stat_of(self.process.pid)
        if self.process.poll() is not None:
            found.append("the host's canary process is dead")
        elif state[1] in "Tt":
            found.append("the host's canary process was stopped")
        return found

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        shutil.rmtree(self.top, ignore_errors=True)
