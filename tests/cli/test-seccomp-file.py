#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A user's own system call filter (`--seccomp FILE`, `seccomp: FILE`): it bites, it only takes away, bad files run nothing.

Takes the program from AISBX. Speaks TAP. As root every case runs for root and for a plain user.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import Tap  # noqa: E402

AISBX = os.path.realpath(os.environ.get("AISBX") or shutil.which("aisbx") or "aisbx")
PLAIN_ID = 54321
tap = Tap()


class Place:
    """A caller with a home and a workspace of its own."""

    def __init__(self, name, uid, base):
        self.name, self.uid = name, uid
        self.home = os.path.join(base, name)
        self.work = os.path.join(self.home, "work")
        os.makedirs(self.work)
        for path in (self.home, self.work):
            os.chown(path, uid, uid)

    def write(self, name, content):
        path = os.path.join(self.work, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        os.chown(path, self.uid, self.uid)
        return path

    def call(self, *words):
        other = {} if self.uid == os.geteuid() else {"user": self.uid, "group": self.uid, "extra_groups": []}
        env = {"HOME": self.home, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        return subprocess.run([AISBX, *words], capture_output=True, text=True, errors="replace", cwd=self.work,
                              env=env, timeout=120, check=False, stdin=subprocess.DEVNULL, **other)

    def run(self, *words):
        return self.call("run", "-C", self.work, *words)


def rule(names, action="SCMP_ACT_ERRNO", **more):
    return {"names": names, "action": action, **more}


def profile(rules, default="SCMP_ACT_ALLOW", **more):
    return {"defaultAction": default, "syscalls": rules, **more}


NO_DIRECTORIES = profile([rule(["mkdir", "mkdirat"], errnoRet=95)])


def check_bites(place):
    name = place.name
    no_directories = place.write("no-directories.json", NO_DIRECTORIES)
    result = place.run("--seccomp", no_directories, "--", "mkdir", "a")
    tap.ok(result.returncode == 1 and "not supported" in result.stderr, f"{name}: a call taken away fails", result)
    result = place.run("--seccomp", "no-directories.json", "--", "sh", "-c", "echo fine; ls > list")
    tap.ok(result.returncode == 0 and result.stdout == "fine\n", f"{name}: a relative path; the rest works", result)
    tap.ok(place.run("--", "mkdir", "a").returncode == 0, f"{name}: without the file the call works")
    place.write("kill.json", profile([rule(["mkdir", "mkdirat"], "SCMP_ACT_KILL_PROCESS")]))
    result = place.run("--seccomp", "kill.json", "--", "mkdir", "a")
    tap.ok(result.returncode == 128 + 31, f"{name}: a profile may kill", result)


def check_takes_away_only(place):
    name = place.name
    place.write("all.json", profile([rule(["mount", "unshare", "bpf", "clone3"], "SCMP_ACT_ALLOW")]))
    script = "import ctypes; c = ctypes.CDLL(None, use_errno=True); print(c.unshare(0x10000000), ctypes.get_errno())"
    result = place.run("--seccomp", "all.json", "--", "python3", "-c", script)
    tap.ok(result.stdout == "-1 1\n", f"{name}: what we refuse stays refused", result)
    result = place.run("--json", "--seccomp", "all.json", "--", "python3", "-c", script)
    denials = json.loads(result.stdout)["denials"]
    tap.ok(any(d["what"] == "unshare(2)" for d in denials), f"{name}: and is still told", denials)


def check_bad_files(place):
    name = place.name
    os.mkfifo(os.path.join(place.work, "fifo"))
    bad = {
        "missing.json": None,
        "garbage.json": "{ not json",
        "list.json": "[]",
        "empty.json": "",
        "key.json": {"defaultAction": "SCMP_ACT_ALLOW", "sycalls": []},
        "action.json": profile([rule(["mkdir"], "SCMP_ACT_EROR")]),
        "call.json": profile([rule(["mkdirr"])]),
        "listener.json": profile([rule(["mkdir"], "SCMP_ACT_NOTIFY")]),
        "arch.json": profile([], architectures=["SCMP_ARCH_RISCV64"]),
        "fifo": None,
        "large.json": " " * ((1 << 20) + 1),
        "": None,
    }
    for file, content in bad.items():
        if content is not None:
            place.write(file, content)
        result = place.run("--seccomp", file, "--", "sh", "-c", "echo ran; echo ran >&2")
        lines = result.stderr.strip().splitlines()
        tap.ok(result.returncode == 125 and len(lines) == 1 and (file or "seccomp") in lines[0] and "ran" not in
           result.stdout + result.stderr, f"{name}: bad file {file!r}: one line, 125, nothing runs", result)
    result = place.run("--json", "--seccomp", "garbage.json", "--", "true")
    tap.ok(result.returncode == 125 and json.loads(result.stdout)["status"] == "denied",
       f"{name}: as an object: denied", result)


def check_profile(place):
    name = place.name
    place.write("no-directories.json", NO_DIRECTORIES)
    place.write("box.yaml", "name: box\nseccomp: no-directories.json\n")
    result = place.call("run", "--profile", os.path.join(place.work, "box.yaml"), "--", "mkdir", "a")
    tap.ok(result.returncode == 1 and "not supported" in result.stderr, f"{name}: named by a profile", result)
    place.write("bad.yaml", "name: bad\nseccomp: nowhere.json\n")
    result = place.run("--profile", "./bad.yaml", "--", "true")
    tap.ok(result.returncode == 125 and "nowhere.json" in result.stderr, f"{name}: a profile naming no file", result)


def check_ends(place):
    """Whatever the filter forbids the launcher at the very end, the outcome is told."""
    name = place.name
    place.write("mute.json", profile([rule(["sendmsg", "sendto", "write", "close"])]))
    tap.ok(place.run("--seccomp", "mute.json", "--", "no-such-program-x").returncode == 127,
       f"{name}: not found is 127 even when the launcher cannot say so")
    place.write("shut.json", profile([], "SCMP_ACT_KILL_PROCESS"))
    tap.ok(place.run("--seccomp", "shut.json", "--", "true").returncode == 128 + 31,
       f"{name}: a filter that permits nothing ends the command")


def main():
    plain = os.geteuid() != 0
    base = tempfile.mkdtemp(prefix="aisbx-test-seccomp-", dir=os.environ["HOME"] if plain else "/home")
    os.chmod(base, 0o755)
    callers = [("plain", os.geteuid())] if plain else [("root", 0), ("plain", PLAIN_ID)]
    try:
        for name, uid in callers:
            place = Place(name, uid, base)
            probe = place.run("--", "true")
            if probe.returncode != 0:
                tap.skip(f"{name}: all", (probe.stderr.strip() or "no sandbox here").replace("#", " "))
                continue
            for check in (check_bites, check_takes_away_only, check_bad_files, check_profile, check_ends):
                check(place)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    return tap.done()


sys.exit(main())
