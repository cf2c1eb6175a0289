# SPDX-License-Identifier: Apache-2.0
"""Running guests: what their consoles say is told to the programs it is about, and the next guest takes what one left."""

import ctypes
import os
import re
import signal
import subprocess
import threading
import time

QEMU = {
    "amd64": ["qemu-system-x86_64", "-M", "q35", "-cpu", "max", "-append", "console=ttyS0"],
    "arm64": ["qemu-system-aarch64", "-M", "virt,gic-version=3", "-cpu", "cortex-a72", "-append", "console=ttyAMA0"],
}
# Of what an emulated processor executes in a moment of the guest's: four nanoseconds each. Sleepers are woken at once.
BY_INSTRUCTIONS = ["-icount", "shift=2,sleep=off", "-rtc", "clock=vm"]
CASE = re.compile(r"^(not )?ok\b(?:[^#]|#(?! *SKIP))*(# *SKIP)?", re.I)
PLAN = re.compile(r"^1\.\.(\d+)\s*(# *SKIP)?", re.I)
FIRMWARE = re.compile("\x1b(?:c|\\[[0-9;?=]*[A-Za-z])")  # it clears a screen that is not there
PR_SET_PDEATHSIG = 1


class Counts:
    """Passed, failed and skipped cases."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


class Part(Counts):
    """One program as one caller: its cases, and how far it came."""

    def __init__(self, job):
        super().__init__()
        self.name = f"{job['name']} as {job['who']}"
        self.state = "not reached"
        self.planned = None
        self.seen = 0
        self.seconds = 0.0

    def line(self, text):
        case, plan = CASE.match(text), PLAN.match(text)
        if case:
            self.seen += 1
            self.failed += bool(case.group(1))
            self.skipped += bool(case.group(2) and not case.group(1))
            self.passed += not case.group(1) and not case.group(2)
        elif plan:
            self.planned = int(plan.group(1))
            self.skipped += not self.planned
        elif text.startswith("Bail out!"):
            self.failed += 1
            self.planned = self.seen

    def end(self, code):
        """Returns what is wrong beyond the cases that said so themselves."""
        self.state = "ended"
        if self.planned != self.seen:
            self.failed += 1
            return f"{self.seen} cases seen, {self.planned} planned, exit {code}"
        if code not in (0, 77) and not self.failed:
            self.failed += 1
            return f"exit {code}"
        return None

    def cut(self, is_late):
        """The guest was stopped under it, or died. Whose time was over has not failed by that alone."""
        self.state = "no time" if is_late else "no end"
        self.failed += not is_late

    def is_missed(self):
        return self.state in ("not reached", "no time")

    def __str__(self):
        if self.state == "not reached":
            return f"{self.name}: not reached"
        end = "" if self.state == "ended" else f", {self.state}"
        return f"{self.name}: {super().__str__()}{end} ({self.seconds:.0f} s)"


def processors(arch):
    """How they are emulated: side by side in real time, or in turn by a clock of their own."""
    if os.environ.get("VM_CLOCK") != "instructions":
        return ["-accel", "tcg,thread=multi", "-smp", "2"]
    # The second one of a PC does not come up by such a clock.
    return ["-accel", "tcg,thread=single", "-smp", "1" if arch == "amd64" else "2", *BY_INSTRUCTIONS]


def command(guest, disk, jobs):
    program, *machine = QEMU[guest.arch]
    machine[-1] += f" quiet loglevel=1 panic=-1 rdinit=/init vm_jobs={','.join(map(str, jobs))}"
    return [program, *machine, *processors(guest.arch), "-m", "1536", "-nographic", "-nodefaults",
            "-no-reboot", "-serial", "stdio", "-kernel", guest.kernel, "-initrd", guest.initrd,
            "-drive", f"file={guest.image},format=raw,if=virtio,snapshot=on",
            "-drive", f"file={disk},format=raw,if=virtio,readonly=on"]


def die_with_parent():
    """Made in the child: nobody who stops this program shall have to look for its guests."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


class Console:
    """One guest from power-on to power-off. A program that takes longer than the limit takes the guest with it."""

    def __init__(self, vm, parts, limits, say):
        self.vm, self.parts, self.say = vm, parts, say
        self.deadline, self.limit = limits
        self.part = self.began = self.alarm = None
        self.arm()

    def arm(self):
        if self.alarm:
            self.alarm.cancel()
        self.alarm = threading.Timer(max(0, min(self.limit, self.deadline - time.monotonic())), self.vm.kill)
        self.alarm.daemon = True
        self.alarm.start()

    def take(self, text):
        word, *rest = text.split() or [""]
        if word == "VM-BEGIN":
            self.part, self.began = self.parts[int(rest[0])], time.monotonic()
            self.say(f"# {self.part.name}")
            self.arm()
        elif word == "VM-DONE" and self.part:
            wrong = self.part.end(int(rest[0]))
            self.leave("not ok - " + f"{self.part.name}: {wrong}" if wrong else None)
        elif text:
            self.say(text)
            if self.part:
                self.part.line(text)

    def leave(self, words):
        self.part.seconds = time.monotonic() - self.began
        if words:
            self.say(words)
        self.say(f"# {self.part}")
        self.part = None

    def close(self):
        self.alarm.cancel()
        if self.part:
            is_late = time.monotonic() >= self.deadline
            self.part.cut(is_late)
            self.leave(None if is_late else f"not ok - {self.part.name}: no end, or that of the guest")


def boot(guest, disk, parts, jobs, limits, say):
    """Runs the jobs in a new guest as far as it gets. Returns whether it began any of them."""
    with subprocess.Popen(command(guest, disk, jobs), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, preexec_fn=die_with_parent) as vm:
        console = Console(vm, parts, limits, say)
        for raw in vm.stdout:
            console.take(FIRMWARE.sub("", raw.decode(errors="replace")).rstrip("\r\n"))
        console.close()
    return any(parts[job].state != "not reached" for job in jobs)


def see_through(guest, disk, parts, jobs, limits, say):
    """Boots until every job was begun, the time is over, or a guest does not come so far as to begin one."""
    while jobs and time.monotonic() < limits[0]:
        if not boot(guest, disk, parts, jobs, limits, say):
            break
        jobs = [job for job in jobs if parts[job].state == "not reached"]


def run(guest, disk, parts, seconds, limit, guests):
    """All parts in so many guests side by side, which share an image and never write to it."""
    limits = (time.monotonic() + seconds, limit)
    lock = threading.Lock()

    def speaker(number):
        def say(text):
            with lock:
                print(f"{number}| {text}" if guests > 1 else text, flush=True)
        return say

    threads = [threading.Thread(target=see_through, args=(guest, disk, parts, list(range(len(parts)))[number::guests],
                                                          limits, speaker(number))) for number in range(guests)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
