#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`profile learn` and the `syscalls:` of a profile: what was used works again, what was not is refused and named, nothing widens.

Takes the program from AISBX. Speaks TAP. Runs as its caller, in a home of its own.
"""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from clitest import AISBX, Home, Tap, refused  # noqa: E402

tap = Tap()
WORK = "mkdir a && mv a b && echo x >f && mv f g && ls | sort && rmdir b"
# A call by number: no C library stands between. ptrace(PTRACE_TRACEME), unshare(CLONE_NEWNS).
PTRACE, UNSHARE = {"x86_64": (101, 272), "aarch64": (117, 97)}.get(os.uname().machine, (None, None))
BY_NUMBER = "import ctypes; c = ctypes.CDLL(None, use_errno=True); print(c.syscall(%d, %d, 0, 0, 0), ctypes.get_errno())"


def profile(home, name):
    return os.path.join(home.path, ".config/aisbx/profiles", name + ".yaml")


def write(home, name, text):
    os.makedirs(os.path.dirname(profile(home, name)), exist_ok=True)
    with open(profile(home, name), "w", encoding="utf-8") as out:
        out.write(text)


def data(home, verb, *words):
    """As home.data, for verbs whose last words are a command."""
    return json.loads(home.call(verb, "--json", *words).stdout or "{}")


def denied(result):
    return [one["what"] for one in result.get("denials", []) if one["layer"] == "seccomp"]


def check_learns(home):
    done = home.call("profile", "learn", "work", "--", "sh", "-c", WORK)
    tap.ok(done.returncode == 0 and done.stdout == "b\ng\n" and "learned" in done.stderr,
           "a command runs as ever, and a profile is written", done)
    done = home.call("profile", "check", profile(home, "work"))
    tap.ok(done.returncode == 0, "which holds", done)
    done = home.call("run", "--profile", "work", "--", "sh", "-c", WORK)
    tap.ok(done.returncode == 0 and done.stdout == "b\ng\n" and not done.stderr.count("denied"), "and lets the same run", done)
    result = data(home, "run", "--profile", "work", "--", "ln", "-s", "x", "y")
    one = (result.get("denials") or [{}])[0]
    tap.ok(result.get("exit_code") == 1 and one.get("layer") == "seccomp" and one.get("what", "").startswith("symlink")
           and "syscalls" in one.get("rule", "") and "profile learn" in one.get("hint", ""),
           "another call is refused, named, with the way out", result)
    done = home.call("profile", "learn", "work", "--", "ln", "-s", "x", "y")
    result = data(home, "run", "--profile", "work", "--", "sh", "-c", WORK + " && ln -s x y")
    tap.ok(done.returncode == 0 and result.get("status") == "success" and not denied(result),
           "learning again adds to what was known", result)
    shown = home.data("profile", "show", "work").get("effective", {})
    tap.ok("renameat2" in shown.get("syscalls", []) and "mkdirat" in shown["syscalls"] and "mem" in shown,
           "its list has what stands for a call elsewhere, and it has a limit of memory", shown)


def check_answer(home):
    answer = data(home, "profile", "learn", "data", "--", "sh", "-c", "echo out; ls >list")
    tap.ok(answer.get("path") == profile(home, "data") and "getdents64" in answer.get("syscalls", [])
           and answer.get("extends") == "default" and "connect" not in answer["syscalls"], "as data: one object", answer)
    done = home.call("profile", "learn", "--", "ls")
    tap.ok(done.returncode == 0 and os.path.exists(profile(home, "ls")), "without a name, that of the command", done)
    done = home.call("profile", "learn", "under", "--profile", "strict", "--", "true")
    shown = home.data("profile", "show", "under").get("effective", {})
    tap.ok(done.returncode == 0 and shown.get("pids") == "64", "it extends the profile it was learned under", shown)


def check_refusals(home):
    write(home, "mine", "# by hand\nname: mine\n")
    for words, code, what in (
            (("learn", "mine", "--", "true"), 3, "a profile that was not learned is not replaced"),
            (("learn", "python", "--", "true"), 3, "nor is one that is built in hidden"),
            (("learn", "../x", "--", "true"), 2, "a name is no path"),
            (("learn",), 2, "there must be a command"),
            (("learn", "n", "--profile", "work", "--", "true"), 4, "a list is not learned from a list"),
            (("learn", "n", "--", "false"), 4, "a command that fails teaches nothing"),
            (("ls", "--profile", "x"), 2, "its flags are for it alone")):
        done = home.call("profile", *words)
        tap.ok(refused(done, code), what, done)
    tap.ok(not os.path.exists(profile(home, "n")) and not os.path.exists(os.path.join(home.path, ".config/aisbx/x.yaml")),
           "and nothing is written")
    with open(profile(home, "mine"), encoding="utf-8") as file:
        tap.ok(file.read() == "# by hand\nname: mine\n", "the one by hand is as it was")
    os.unlink(profile(home, "ls"))
    os.mkfifo(profile(home, "ls"))
    done = home.call("profile", "learn", "--", "ls")
    tap.ok(done.returncode not in (0, 124), "a fifo in its place is an error and no wait", done)
    os.unlink(profile(home, "ls"))


def check_hostile_name(home):
    """A command's name goes into no profile unless it could be a profile's: YAML has more line breaks than one."""
    for mark in ("\u2028", "\u0085", "\n"):
        name = f"x{mark}allow: ['*']{mark}"
        home.put(name, "#!/bin/sh\ntrue\n", 0o755)
        done = home.call("profile", "learn", "hostile", "--", "./" + name)
        shown = home.data("profile", "show", "hostile").get("effective", {"allow": True})
        tap.ok(done.returncode == 0 and "allow" not in shown, f"a command whose name has {mark!r} opens nothing", shown)
        os.unlink(profile(home, "hostile"))
        os.unlink(os.path.join(home.work, name))


def check_lists(home):
    write(home, "typo", "name: typo\nsyscalls: [mkdirr]\n")
    for words in (("run", "--profile", "typo", "--", "true"), ("profile", "check", profile(home, "typo"))):
        done = home.call(*words)
        tap.ok(done.returncode in (2, 125) and done.stderr.count("mkdir") == 2,
               f"{words[0]}: an unknown name is an error with the nearest one", done)
    write(home, "many", "name: many\nsyscalls: [" + ", ".join(["mkdir"] * 3000) + "]\n")
    tap.ok(home.call("run", "--profile", "many", "--", "mkdir", "x").returncode == 0, "a list that repeats itself works")
    write(home, "wide", "name: wide\nsyscalls: [getdents64, mount, unshare, bpf, ptrace, clone, clone3, wait4]\n")
    result = data(home, "run", "--profile", "wide", "--", "python3", "-c", BY_NUMBER % (UNSHARE, 0x20000))
    tap.ok(result.get("stdout") == "-1 1\n" and "unshare(2)" in denied(result),
           "what no sandbox may do is refused though the list has it", result)
    write(home, "less", "name: less\nsyscalls: [getdents64]\n")
    result = data(home, "run", "--profile", "less", "--", "python3", "-c", BY_NUMBER % (PTRACE, 0))
    tap.ok(result.get("stdout") == "-1 1\n" and "ptrace(2)" in denied(result), "a call by number is refused, too", result)
    result = data(home, "run", "--", "python3", "-c", BY_NUMBER % (PTRACE, 0))
    tap.ok(result.get("stdout") == "0 0\n", "which works without the list", result)
    done = home.call("run", "--profile", "less", "--driver", "landlock", "--", "true")
    tap.ok(refused(done, 125, "syscalls"), "a driver that cannot hold it refuses", done)


def check_empty(home):
    """A list without entries permits nothing more; it must not come to no list, which permits all."""
    done = home.call("profile", "learn", "little", "--", "true")
    result = data(home, "run", "--profile", "little", "--", "mkdir", "x")
    tap.ok(done.returncode == 0 and result.get("exit_code") == 1 and any("mkdir" in one for one in denied(result)),
           "learned from a command that needs nothing more, all else is refused", result)
    done = home.call("profile", "learn", "little", "--", "mkdir", "x")
    result = data(home, "run", "--profile", "little", "--", "mkdir", "x")
    tap.ok(done.returncode == 0 and result.get("status") == "success", "and it learns on", result)
    write(home, "none", "name: none\nsyscalls: []\n")
    done = home.call("run", "--profile", "none", "--", "true")
    tap.ok(refused(done, 125, "exit_group"), "an empty list by hand is an error with the way out", done)
    home.put(".aisbx.yaml", "name: project\nsyscalls: []\n")
    done = home.call("run", "--", "true")
    tap.ok(refused(done, 125, "exit_group"), "in a workspace, too", done)
    os.unlink(os.path.join(home.work, ".aisbx.yaml"))


def check_memory(home):
    """What was learned where there was more memory gives none to a profile that has less."""
    write(home, "small", "name: small\nextends: default\nmem: 100m\n")
    write(home, "grown", "# Learned by aisbx profile learn from x\nname: grown\nextends: default\nmem: 160m\nsyscalls: [mkdir]\n")
    done = home.call("profile", "learn", "grown", "--profile", "small", "--", "true")
    shown = home.data("profile", "show", "grown").get("effective", {})
    tap.ok(done.returncode == 0 and shown.get("mem") == "100m", "no more memory than what it extends has", shown)


def check_workspace(home):
    """A list in the workspace may take away; it gives nothing back."""
    home.put(".aisbx.yaml", "name: project\nsyscalls: [getdents64]\n")
    result = data(home, "run", "--", "mkdir", "x")
    tap.ok("mkdir(2)" in denied(result) or "mkdirat(2)" in denied(result), "a list of the workspace narrows", result)
    home.put(".aisbx.yaml", "name: project\nsyscalls: [mkdir, mkdirat, getdents64]\n")
    result = data(home, "run", "--profile", "less", "--", "mkdir", "x")
    tap.ok(denied(result) and any("syscalls" in note for note in result.get("notes", [])),
           "and widens no list of the user's", result)
    os.unlink(os.path.join(home.work, ".aisbx.yaml"))


def check_kept(home):
    tap.ok(home.call("create", "--profile", "work", "box").returncode == 0, "a named sandbox has it, too")
    done = home.call("exec", "box", "--", "sh", "-c", WORK)
    tap.ok(done.returncode == 0 and done.stdout == "b\ng\n", "where the same runs", done)
    result = data(home, "exec", "box", "--", "python3", "-c", BY_NUMBER % (PTRACE, 0))
    tap.ok(result.get("stdout") == "-1 1\n" and "ptrace(2)" in denied(result), "and what was not seen is refused and named", result)
    home.call("rm", "box")


def check_other_library(home):
    """The same program with another C library: learned with one, run with the other."""
    if not shutil.which("musl-gcc") or not shutil.which("gcc"):
        tap.skip("another C library", "no musl-gcc here")
        return
    home.put("p.c", "#include <stdio.h>\n#include <stdlib.h>\n#include <dirent.h>\n#include <sys/stat.h>\n#include <unistd.h>\n"
             "#include <pthread.h>\n#include <poll.h>\nstatic void *t(void *p) { return p; }\nint main(void) { pthread_t th;"
             "int e[2]; struct pollfd f; mkdir(\"d\", 0700); rename(\"d\", \"e\"); closedir(opendir(\"e\")); rmdir(\"e\");"
             "pthread_create(&th, 0, t, 0); pthread_join(th, 0); pipe(e); f.fd = e[0]; f.events = POLLIN; poll(&f, 1, 0);"
             "printf(\"%d\\n\", system(\"exit 0\")); return 0; }\n")
    for compiler, name in (("gcc", "glibc"), ("musl-gcc", "musl")):
        subprocess.run([compiler, "-w", "-static", "-o", name, "p.c", "-lpthread"], cwd=home.work, check=True, timeout=120)
    for one, other in (("glibc", "musl"), ("musl", "glibc")):
        done = home.call("profile", "learn", "of-" + one, "--", "./" + one)
        result = data(home, "run", "--profile", "of-" + one, "--", "./" + other)
        tap.ok(done.returncode == 0 and result.get("stdout") == "0\n" and not denied(result),
               f"learned with {one}, run with {other}", result)


def check_shipped(home):
    """The profiles built in, by the programs they were learned from and by others: all runs, and nothing is refused."""
    tools = os.path.join(os.environ["AISBX_SOURCE"], "tools/learn")
    home.put("Makefile", "all:\n\tmkdir -p out && cp Makefile out/ && ls out | wc -l\n")
    home.put("package.json", '{"name": "x", "version": "1.0.0", "scripts": {"test": "node -e 1"}}\n')
    for name, program, script, others in (
            ("python-narrow", "python3", "python.py", (["python3", "-m", "compileall", "-q", "."],)),
            ("node-narrow", "node", "node.js", (["npm", "test"],)),
            ("shell-narrow", "sh", "shell.sh", (["make"], ["git", "init", "-q", "r"], ["busybox", "sh", "-c", "ls | wc -l"]))):
        if not shutil.which(program):
            tap.skip(name, f"no {program} here")
            continue
        shutil.copy(os.path.join(tools, script), os.path.join(home.work, script))
        for words in ([program, script], *others):
            if not shutil.which(words[0]):
                tap.skip(f"{name}: {words[0]}", "not installed")
                continue
            result = data(home, "run", "--profile", name, "--", *words)
            done = script not in words or result.get("stdout", "").endswith("done\n")
            tap.ok(result.get("status") == "success" and done and not denied(result), f"{name}: {' '.join(words[:2])}", result)
        result = data(home, "run", "--profile", name, "--", "python3", "-c", BY_NUMBER % (PTRACE, 0))
        tap.ok(result.get("stdout") == "-1 1\n" and "ptrace(2)" in denied(result), f"{name}: no call that was not learned", result)
    done = home.call("create", "--profile", "shell-narrow", "kept")
    tap.ok(done.returncode == 0, "one built in for a named sandbox", done)
    result = data(home, "exec", "kept", "--", "sh", "shell.sh")
    tap.ok(result.get("stdout", "").endswith("done\n") and not denied(result), "which runs the same", result)
    home.call("rm", "kept")


def check_at_once(home):
    """Two lessons at the same time both count."""
    words = (("mkdir", "m"), ("ln", "-s", "x", "y"), ("mkfifo", "p"))
    all_of = [subprocess.Popen([AISBX, "profile", "learn", "both", "--", *one], cwd=home.work, env=home.env,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for one in words]
    codes = [one.wait(timeout=120) for one in all_of]
    with open(profile(home, "both"), encoding="utf-8") as file:
        text = file.read()
    tap.ok(codes == [0, 0, 0] and all(name in text for name in ("mkdirat", "symlinkat", "mknodat")),
           "lessons at the same time all count", (codes, text))


def main():
    with Home("aisbx-test-learn-") as home:
        if PTRACE is None or not home.can_run(tap, "all"):
            tap.done()
            return
        for check in (check_learns, check_answer, check_refusals, check_hostile_name, check_lists, check_empty, check_memory,
                      check_workspace, check_kept, check_other_library, check_shipped, check_at_once):
            check(home)
    tap.done()


main()
