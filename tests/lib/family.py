# SPDX-License-Identifier: Apache-2.0
"""Processes told apart by descent: who becomes the reaper of its orphans finds everything it ever started below itself."""
import ctypes
import os
import signal
import time
from pathlib import Path

from box import patience

PR_SET_CHILD_SUBREAPER = 36


def adopt():
    """From now on orphans below this process come to it."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def of_process(look, *words):
    """LOOK(*WORDS), or None when the process or descriptor asked about is gone: listed a moment ago, it may be at any time."""
    try:
        return look(*words)
    except (FileNotFoundError, ProcessLookupError):
        return None


def read_of(pid, name):
    """The text of /proc/PID/NAME, or None when the process is gone; a refusal is raised."""
    return of_process(Path(f"/proc/{pid}/{name}").read_text, "utf-8", "replace")


def status_of(pid):
    """{field: value} of its status; empty when it is gone."""
    return dict(line.split(":\t", 1) for line in (read_of(pid, "status") or "").splitlines() if ":\t" in line)


def kib_of(pid, field="VmRSS"):
    """A size of its memory in KiB, or None when it has none any more."""
    size = status_of(pid).get(field)
    return size and int(size.split()[0])


def open_files(pid):
    """{number: where it leads} of its descriptors, as far as they stay open meanwhile; empty when it is gone."""
    links = {fd: of_process(os.readlink, f"/proc/{pid}/fd/{fd}") for fd in of_process(os.listdir, f"/proc/{pid}/fd") or ()}
    return {fd: link for fd, link in links.items() if link is not None}


def stat_of(pid):
    """(name, state, parent), or None when it is gone."""
    text = read_of(pid, "stat")
    if text is None:
        return None
    name, rest = text[text.index("(") + 1:].rsplit(")", 1)
    fields = rest.split()
    return name, fields[0], int(fields[1])


def is_running(pid):
    """Whether it is there, and no zombie that waits to be reaped."""
    return (stat_of(pid) or ("", "Z"))[1] != "Z"


def descendants(top):
    """{pid: (name, state, parent)} of every process below TOP."""
    children, everybody = {}, {}
    for entry in os.listdir("/proc"):
        info = stat_of(entry) if entry.isdigit() else None
        if info:
            everybody[int(entry)] = info
            children.setdefault(info[2], []).append(int(entry))
    found, next_ones = {}, children.get(top, [])
    while next_ones:
        found.update((pid, everybody[pid]) for pid in next_ones)
        next_ones = [child for pid in next_ones for child in children.get(pid, []) if child not in found]
    return found


def ours():
    """{pid: name} of every living process below this one."""
    return {pid: info[0] for pid, info in descendants(os.getpid()).items() if info[1] != "Z"}


def command_lines():
    """(pid, words) of every process there is, of others too."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        text = read_of(pid, "cmdline")
        if text is not None:
            yield int(pid), text.split("\0")


def shells_with(mark):
    """How many shells run a script that has MARK in it."""
    return sum(words[0] == "sh" and any(mark in word for word in words) for _, words in command_lines())


def reap():
    """Takes every child that has ended, orphans among them; for suites that wait for no child by other means then."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def until(condition, seconds=30):
    """Waits for CONDITION; whether it came true. Never a measure, only the end of hope."""
    deadline = time.monotonic() + patience(seconds)
    while not (good := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(good)


def halt(pids):
    """Stops processes of our own, and waits until they are; the same numbers."""
    for pid in pids:
        os.kill(int(pid), signal.SIGSTOP)
        until(lambda pid=pid: (stat_of(pid) or "gone")[1] == "T")
    return pids
