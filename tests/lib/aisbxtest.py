# SPDX-License-Identifier: Apache-2.0
"""Support for the suites that run the real program: callers, scratch places, canaries, leftovers, TAP.

A suite is a list of cases. Each case has an attack (a function that must see it fail inside, once per caller) and
a control (a function that must see it succeed unprotected, or the reason why there is none). After every case the
common oracle looks at the canaries, at the processes this suite is an ancestor of, and at cgroups, mounts and
temporary files.
"""
import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import canary
import family
import leftovers
from box import Box, find_program, killed, slow

PLAIN_ID = 54321


class Skip(Exception):
    """Raised by a case that cannot be run here; the text is the reason."""


class Failure(AssertionError):
    """Raised by a check that does not hold."""


def scratch_base():
    """A directory that both callers can reach; below /home or HOME, so that nothing fresh inside covers it."""
    under = "/home" if os.geteuid() == 0 and os.path.isdir("/home") else os.environ.get("HOME")
    if not under or not os.access(under, os.W_OK):
        under = None
    base = tempfile.mkdtemp(prefix="aisbxtest-", dir=under)
    os.chmod(base, 0o755)
    atexit.register(shutil.rmtree, base, True)
    return base


class Caller:
    """Who calls the program: an identity with a home, a workspace and directories of its own."""

    def __init__(self, name, uid, base, program):
        self.name = name
        self.uid = uid
        self.dir = os.path.join(base, name)
        self.home = os.path.join(self.dir, "home")
        self.workspace = os.path.join(self.home, "project")
        self.tmp = os.path.join(self.dir, "tmp")
        for path in (self.dir, self.home, self.workspace, self.tmp):
            os.mkdir(path, 0o755)
            os.chown(path, uid, uid if uid else 0)
        self.program = program
        self.env = {
            "HOME": self.home,
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "USER": name, "LOGNAME": name, "SHELL": "/bin/sh", "LANG": "C.UTF-8", "TMPDIR": self.tmp,
            "XDG_DATA_HOME": os.path.join(self.home, ".local/share"),
            "XDG_STATE_HOME": os.path.join(self.home, ".local/state"),
            "XDG_CACHE_HOME": os.path.join(self.home, ".cache"),
            "XDG_CONFIG_HOME": os.path.join(self.home, ".config"),
        }
        for key in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
            if key in os.environ:
                self.env[key] = os.environ[key]

    def identity(self):
        """Arguments of Popen that make the child this caller."""
        if self.uid == os.geteuid():
            return {}
        return {"user": self.uid, "group": self.uid, "extra_groups": []}

    def own(self, path):
        """Gives PATH (a tree) to this caller."""
        if self.uid == os.geteuid():
            return path
        os.chown(path, self.uid, self.uid, follow_symlinks=False)
        if os.path.isdir(path) and not os.path.islink(path):
            for entry in os.scandir(path):
                self.own(entry.path)
        return path

    def put(self, relative, content="", mode=0o644):
        """A file in the workspace; returns its path."""
        return self.put_at(os.path.join(self.workspace, relative), content, mode)

    def put_at(self, path, content="", mode=0o644):
        made = []
        parent = os.path.dirname(path)
        while not os.path.isdir(parent):
            made.append(parent)
            parent = os.path.dirname(parent)
        for directory in reversed(made):
            os.mkdir(directory)
            self.own(directory)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        os.chmod(path, mode)
        return self.own(path)


def plain_copy(base, program):
    """The program, copied to where the plain caller can run it, in the layout of an installation."""
    bindir = os.path.join(base, "prefix", "bin")
    libexec = os.path.join(base, "prefix", "libexec", "aisbx")
    os.makedirs(bindir)
    os.makedirs(libexec)
    shutil.copy2(program, os.path.join(bindir, "aisbx"))
    here = os.path.dirname(program)
    for name in ("aisbx-full", "aisbx-http", "aisbx-wasm"):
        for candidate in (os.path.join(here, name), os.path.join(here, "..", "libexec", "aisbx", name)):
            if os.path.exists(candidate):
                shutil.copy2(candidate, libexec)
                shutil.copy2(candidate, bindir)
                break
    for path in (bindir, libexec):
        for entry in os.scandir(path):
            os.chmod(entry.path, 0o755)
    return os.path.join(bindir, "aisbx")


class Check:
    """What a case gets: its caller, ways to run things, and checks that raise."""

    def __init__(self, suite, caller, case_id):
        self.suite = suite
        self.caller = caller
        self.case_id = case_id
        self.box = Box(caller, suite.attack)
        self.canary = suite.canaries[caller.name]

    def ok(self, condition, what, detail=""):
        if not condition:
            raise Failure(f"{what}: {detail}" if detail != "" else what)

    def equal(self, got, want, what):
        self.ok(got == want, what, f"got {got!r}, want {want!r}")

    def every(self, probes, allowed, what=""):
        """Each probe's answer is one of ALLOWED (a set, or a function of the probe's name that gives one)."""
        self.ok(probes, f"{what} no probe answered")
        wrong = []
        for name, answer in probes:
            fine = allowed(name) if callable(allowed) else allowed
            if answer not in fine:
                wrong.append(f"{name}={answer}")
        self.ok(not wrong, what or "answers", " ".join(wrong[:40]))

    def none(self, probes, stopped, what="", except_for=()):
        """No probe's answer is one of STOPPED: the control has seen each reach the kernel."""
        self.ok(probes, f"{what} no probe answered")
        wrong = [f"{n}={a}" for n, a in probes if a in stopped and n not in except_for]
        self.ok(not wrong, what or "control answers", " ".join(wrong[:40]))

    def skip(self, reason):
        raise Skip(reason)

    def tripwire(self):
        """The four arguments of the tripwire: marker inside (made by the command line), marker of the host, ns."""
        return ["/tmp/inside-marker", self.suite.host_marker, os.readlink("/proc/self/ns/pid"),
                os.readlink("/proc/self/ns/mnt")]

    def destructive(self, attack, *args, flags=(), **kw):
        """Runs a payload that would hurt the host; only after this suite has seen the clone hold."""
        self.suite.need_clone(self)
        line = "touch /tmp/inside-marker && exec ./attack \"$@\""
        return self.box.run("sh", "-c", line, "sh", attack, *self.tripwire(), *map(str, args), flags=flags, **kw)


class Suite:
    def __init__(self, name, needs_attack=True, both_users=True):
        """BOTH_USERS: started by root, each case runs as root and as a plain user; else only as who started it."""
        self.name = name
        self.both_users = both_users
        self.cases = []
        self.number = self.failed = self.passed = self.skipped = 0
        self.needs_attack = needs_attack
        self.clone_seen = {}

    def case(self, case_id, title, control=None, callers=("root", "plain"), tier="test"):
        """Registers the decorated attack; CONTROL is a function or the reason why there is none."""
        def register(attack):
            self.cases.append((case_id, title, attack, control, callers, tier))
            return attack
        return register

    def line(self, good, text, skip=None):
        self.number += 1
        text = text.replace("#", "No.")
        if skip is not None:
            self.skipped += 1
            print(f"ok {self.number} - {text} # SKIP {skip}", flush=True)
        elif good:
            self.passed += 1
            print(f"ok {self.number} - {text}", flush=True)
        else:
            self.failed += 1
            print(f"not ok {self.number} - {text}", flush=True)

    def note(self, text):
        for row in str(text).splitlines()[:30]:
            print(f"# {row[:1500]}", flush=True)

    def prepare(self):
        family.adopt()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, lambda *_: sys.exit(1))
        program = find_program()
        self.base = scratch_base()
        self.attack = os.environ.get("ATTACK")
        if self.needs_attack and not (self.attack and os.access(self.attack, os.X_OK)):
            raise Failure("ATTACK must name the attack program")
        self.host_marker = os.path.join(tempfile.gettempdir(), f"aisbxtest-host-{os.getpid()}")
        with open(self.host_marker, "w"):
            pass
        atexit.register(lambda: os.path.exists(self.host_marker) and os.unlink(self.host_marker))
        if os.geteuid() == 0 and not self.both_users:
            self.callers = [Caller("root", 0, self.base, program)]
        elif os.geteuid() == 0:
            self.callers = [Caller("root", 0, self.base, program),
                            Caller("plain", PLAIN_ID, self.base, plain_copy(self.base, program))]
        else:
            self.callers = [Caller("plain", os.geteuid(), self.base, program)]
        only = os.environ.get("AISBX_CALLER")
        if only:
            self.callers = [caller for caller in self.callers if caller.name == only]
        self.canaries = {}
        for caller in self.callers:
            self.canaries[caller.name] = canary.Canary(caller, self.base)
            atexit.register(self.canaries[caller.name].close)
            if self.attack:
                shutil.copy2(self.attack, caller.workspace + "/attack")
                os.chmod(caller.workspace + "/attack", 0o755)
                caller.own(caller.workspace + "/attack")
        self.watch = leftovers.Watch(self.callers)
        atexit.register(self.watch.close)

    def need_clone(self, check):
        """Before anything destructive: writes in the clone must have stayed there, for this caller."""
        name = check.caller.name
        if name not in self.clone_seen:
            target = check.canary.file("write")
            check.caller.put("clone-probe", "untouched")
            result = check.box.run("sh", "-c", f"echo gone > clone-probe; echo gone > '{target}'; rm -f '{target}'; exit 0")
            with open(os.path.join(check.caller.workspace, "clone-probe")) as file:
                kept = file.read() == "untouched"
            changes = check.canary.changes()
            held = result.code == 0 and kept and not changes
            self.clone_seen[name] = "" if held else f"workspace kept: {kept}, {changes}, {result}"
        check.ok(not self.clone_seen[name], "the clone does not hold: destructive cases are not started",
                 self.clone_seen[name])

    def oracle(self, caller):
        """What must be true after every case; returns the list of what is not."""
        problems = self.canaries[caller.name].changes()
        next_command = (lambda: Box(caller, self.attack).run("true")) if killed else None
        killed.clear()
        problems += self.watch.problems(next_command=next_command)
        return problems

    def run_one(self, case, caller):
        case_id, title, attack, _, _, _ = case
        check = Check(self, caller, case_id)
        label = f"{case_id} {title}, {caller.name}"
        started = time.monotonic()
        problems = []
        try:
            attack(check)
        except Skip as reason:
            self.line(True, label, skip=str(reason))
            return
        except (Failure, subprocess.TimeoutExpired) as problem:
            problems.append(str(problem))
        except Exception:
            problems.append(traceback.format_exc())
        problems += self.oracle(caller)
        self.line(not problems, label)
        for problem in problems:
            self.note(problem)
        if os.environ.get("AISBX_TIMES"):
            self.note(f"{time.monotonic() - started:.2f} s")

    def run_control(self, case):
        case_id, title, _, control, _, _ = case
        if control is None:
            return
        if isinstance(control, str):
            self.note(f"{case_id} has no control: {control}")
            return
        if os.geteuid() != 0:
            self.note(f"{case_id} control needs root")
            return
        check = Check(self, self.callers[-1], case_id)
        check.root = self.callers[0]
        try:
            control(check)
        except Skip as reason:
            self.note(f"{case_id} has no control here: {reason}")
            return
        except Exception as problem:
            self.line(False, f"{case_id} control: {title} succeeds unprotected")
            self.note(problem if isinstance(problem, Failure) else traceback.format_exc())
            return
        self.line(True, f"{case_id} control: {title} succeeds unprotected")

    def selected(self):
        only = set(filter(None, os.environ.get("AISBX_CASES", "").split(",")))
        tier = os.environ.get("AISBX_TIER", "test")
        for case in self.cases:
            if only and case[0] not in only:
                continue
            if case[5] == "ci" and tier != "ci" and not only:
                continue
            yield case

    def main(self):
        try:
            self.prepare()
        except Failure as problem:
            print(f"Bail out! {problem}")
            sys.exit(1)
        self.note(f"{self.name}: {', '.join(c.name for c in self.callers)}; {'slow build' if slow() else 'plain build'}")
        for caller in list(self.callers):
            self.preflight(caller)
        for case in self.selected():
            self.run_control(case)
            for caller in self.callers:
                if caller.name in case[4]:
                    self.run_one(case, caller)
        if self.passed + self.failed == 0:
            self.line(False, "every case was skipped: that proves nothing")
        print(f"1..{self.number}")
        self.note(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        sys.exit(1 if self.failed else 0)

    def preflight(self, caller):
        """A caller for whom nothing runs is one plain failure, or a skip where the kernel forbids the means."""
        result = Box(caller, self.attack).run("true")
        if result.code == 0:
            self.line(True, f"a first run, {caller.name}")
            self.watch.settle()
            return
        probe = subprocess.run(["unshare", "-Ur", "true"], capture_output=True, **caller.identity())
        if probe.returncode != 0:
            self.line(True, f"a first run, {caller.name}", skip="no user namespaces for this caller here")
        else:
            self.line(False, f"a first run, {caller.name}")
            self.note(f"exit {result.code}: {result.err} {result.json}")
        self.callers.remove(caller)
