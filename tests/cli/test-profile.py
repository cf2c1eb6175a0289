#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles through the command line: every form that runs, hostile ones, the workspace's own, and trust.

Takes the program from AISBX. Speaks TAP. Cases that need a real sandbox are skipped, with the reason, where a first
run is refused.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import slow  # noqa: E402
from tap import Tap  # noqa: E402

AISBX = os.environ.get("AISBX") or shutil.which("aisbx") or "aisbx"
MIB = 1 << 20

tap = Tap()


def call(*words, cwd=None, **env):
    """Runs the program with these words, in a home of its own."""
    return subprocess.run([AISBX, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                          cwd=cwd or work, env={**os.environ, "HOME": home, **env}, timeout=300, check=False)


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    mode = "wb" if isinstance(text, bytes) else "w"
    with open(path, mode) as out:
        out.write(text)
    return path


def limits(*words, **kw):
    """The limits of the plan, and what was said beside it."""
    done = call("plan", "--json", "-C", kw.pop("dir", work), *words, "--", "true", **kw)
    try:
        plan = json.loads(done.stdout)
    except ValueError:
        return {"not JSON": done.stdout}, done
    return plan["limits"], plan


def test_forms(runs):
    write(work + "/a.txt", "one\n")
    path = write(work + "/q.yaml", 'name: py-dev-strict\ncpu: "1"\nmem: "256m"\nnet: "none"\ncaps: []\n'
                 'lifetime: "300s"\nmounts:\n  - host: ./a.txt\n    guest: /mnt/a.txt\n    mode: ro\n'
                 'env:\n  - GREETING=salaam\n'
                 'entrypoint: ["/bin/sh", "-c", "cat /mnt/a.txt; echo $GREETING"]\n')
    got, plan = limits("--profile", path)
    tap.ok(got.get("mem_bytes") == 256 * MIB and got.get("time_ms") == 300000 and got.get("cpu_milli") == 1000,
           "numbers in quotes, lifetime", plan)
    got, plan = limits("--profile", path, "--mem", "64m")
    tap.ok(got.get("mem_bytes") == 64 * MIB, "a flag comes on top", plan)
    got, plan = limits("--profile", "strict")
    tap.ok(got.get("pids") == 64 and got.get("mem_bytes") == 512 * MIB, "a built-in profile", plan)
    if not runs:
        tap.skip("a profile runs by its entrypoint", runs_not)
        return
    done = call("run", "--profile", path)
    tap.ok(done.stdout == "one\nsalaam\n" and done.returncode == 0, "a profile runs by its entrypoint", done)
    done = call("run", "--profile", "q.yaml", "--", "sh", "-c", "echo $GREETING; touch /mnt/a.txt")
    tap.ok(done.stdout == "salaam\n" and done.returncode != 0, "a command of one's own; ro is ro", done)


def test_own(runs):
    """The user's profiles stand before the built-in ones and may extend them."""
    folder = home + "/.config/aisbx/profiles/"
    write(folder + "mine.yaml", "# My own\nextends: strict\npids: 33\n")
    write(folder + "default.yaml", "extends: default\npids: 44\n")
    got, plan = limits("--profile", "mine")
    tap.ok(got.get("pids") == 33 and got.get("mem_bytes") == 512 * MIB, "the user's own, extending", plan)
    got, plan = limits()
    tap.ok(got.get("pids") == 44, "the user's own default", plan)
    rows = [json.loads(line) for line in call("profile", "ls", "--json").stdout.splitlines()]
    tap.ok({"name": "mine", "origin": "user", "summary": "My own", "path": folder + "mine.yaml"} in rows, "profile ls",
           rows)
    tap.ok([r["origin"] for r in rows if r["name"] == "default"] == ["user"], "listed in place of the built-in", rows)
    shown = call("profile", "show", "mine").stdout
    tap.ok("# My own\n" in shown and "#   pids: 33\n" in shown and "#   mem: 512m\n" in shown, "profile show", shown)
    again = write(work + "/again.yaml", shown)
    tap.ok(call("profile", "check", again).stdout == again + ": ok\n", "what show prints is a profile")
    shown = json.loads(call("profile", "show", "mine", "--json").stdout)
    tap.ok(shown["effective"]["pids"] == "33" and shown["origin"] == "user", "profile show --json", shown)
    os.unlink(folder + "default.yaml")


def test_mistakes(runs):
    for text, want in (("name: x\nmemm: 64m\n", ":2: unknown key 'memm'; did you mean 'mem'?"),
                       ("newtork: none\n", ":1: unknown key 'newtork'; did you mean 'net'?"),
                       ("memory: 1e30\n", ":1: unknown key 'memory'; did you mean 'mem'?"),
                       ("version: 99\n", ":1: unknown key 'version'"),
                       ("mem: 1e30\n", ":1: mem: "), ("mem: -1\n", ":1: mem: "), ("mem: 0x\n", ":1: mem: "),
                       ("pids: 4294967297\n", ":1: pids: "), ("mem: 5GiBB\n", ":1: mem: "),
                       ("caps: [SYS_ADMIN]\n", "a sandbox has no capabilities"),
                       ("extends: self.yaml\n", "extends itself"), ("extends: nobody\n", "no profile 'nobody'"),
                       ("mounts: [{host: ../.., guest: /x}]\n", ".."), ("- a\n", "a profile is a map")):
        path = write(work + "/self.yaml", text)
        done = call("run", "--profile", path, "--", "true")
        tap.ok(done.returncode == 125 and want in done.stderr and done.stderr.count("\n") == 1 and not done.stdout,
               f"run refuses {text.strip()!r}", done)
        done = call("profile", "check", path)
        tap.ok(done.returncode in (2, 5) and want in done.stderr and not done.stdout, "and so does check", done)
    path = write(work + "/esc.yaml", '"\\e]0;owned\\a": 1\n')
    done = call("profile", "check", path)
    tap.ok(done.returncode == 2 and "\x1b" not in done.stderr, "escape sequences are not passed on", done)
    for words in (["show"], ["show", "a", "b"], ["check"], ["trust"], ["untrust"], ["ls", "x"], ["chekc"]):
        done = call("profile", *words)
        tap.ok(done.returncode == 2 and done.stderr.count("\n") == 1, f"profile {' '.join(words)}: usage", done)
    done = call("profile", "check", "strict", work + "/esc.yaml", "dev")
    tap.ok(done.returncode == 2 and "strict: ok\n" in done.stdout and "dev: ok\n" in done.stdout, "check of several",
           done)


def bomb(name, text, times=1):
    """The answer to a bomb: time and memory of the whole program. The kernel counts what this process ever held
    as the child's, so large files are written in pieces."""
    path = write(work + "/bomb.yaml", text)
    with open(path, "a", encoding="ascii") as more:
        for _ in range(times - 1):
            more.write(text)
    start = time.monotonic()
    pid = os.posix_spawn(AISBX, [AISBX, "profile", "check", path], {**os.environ, "HOME": home},
                         file_actions=[(os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0)])
    status, usage = os.wait4(pid, 0)[1:]
    took = (time.monotonic() - start) * 1000
    cpu = (usage.ru_utime + usage.ru_stime) * 1000
    tap.ok(os.waitstatus_to_exitcode(status) == 2, f"{name}: refused")
    if slow():
        tap.skip(f"{name}: time and memory", "a sanitizer takes its own")
        return
    # Half a second of processor time: what grows with its square takes many; 100 ms on a quiet machine.
    tap.ok(cpu < 500 and usage.ru_maxrss < 32 * 1024, f"{name}: within bounds of time and 32 MiB",
           f"{took:.0f} ms, {cpu:.0f} ms of CPU, {usage.ru_maxrss} KiB")


def test_bombs(runs):
    aliases = "a: &a [x, x, x, x, x, x, x, x, x]\n"
    for at, before in zip("bcdefghi", "abcdefgh"):
        aliases += f"{at}: &{at} [" + ", ".join(["*" + before] * 9) + "]\n"
    bomb("a billion laughs", aliases)
    bomb("depth of 100,000", "a: " + "[" * 100000 + "]" * 100000)
    bomb("a scalar of 100 MB", "x" * 1_000_000, times=100)
    bomb("repeated keys", "".join(f"k{i}: 1\n" for i in range(4000)) + "k0: 1\n")
    bomb("a tag", "name: !!python/object/apply:os.system [id]\n")
    bomb("a merge key", "a: {b: 1}\n<<: {c: 2}\n")
    bomb("directives", "".join(f"%TAG !{i}! x\n" for i in range(50000)))
    bomb("bytes that are not text", b"\xff\xfe\x00" * 1000)
    os.unlink(work + "/bomb.yaml")


def test_widening(runs):
    """A142: a checked-in profile widens nothing, and every attempt is told."""
    repo = work + "/repo"
    write(repo + "/.aisbx.yaml", 'net: allow\nallow: ["*.example.org:443"]\nseccomp: off\nmem: 64m\npids: 100000\n'
          'time: 10h\nenv: {LD_PRELOAD: /evil.so}\nmounts: [{host: /, guest: /host, mode: rw}]\n')
    got, plan = limits(dir=repo)
    tap.ok(got.get("mem_bytes") == 64 * MIB, "what narrows is taken", plan)
    tap.ok(got.get("pids") == 512 and got.get("time_ms") == 600000, "what widens is not", plan)
    tap.ok(plan.get("net") in ("none", 0) and not plan.get("binds") and not plan.get("seccomp"), "no network, no mount",
           plan)
    notes = "\n".join(plan.get("notes", []))
    for key in ("net", "allow", "seccomp", "pids", "time", "env", "mounts"):
        tap.ok(f"'{key}" in notes and "only narrow" in notes, f"{key} is told", notes)
    if runs:
        done = call("run", "-C", repo, "--", "sh", "-c", "ls /host; env; echo end")
        tap.ok(done.stdout.endswith("end\n") and "evil" not in done.stdout and "mounts" in done.stderr,
               "the same when it runs", done)
    else:
        tap.skip("the same when it runs", runs_not)
    write(repo + "/.aisbx.yaml", "newtork: none\n")
    done = call("run", "-C", repo, "--", "true")
    tap.ok(done.returncode == 125 and ".aisbx.yaml:1: unknown key 'newtork'" in done.stderr, "a typo is an error", done)
    os.unlink(repo + "/.aisbx.yaml")
    os.mkfifo(repo + "/.aisbx.yaml")
    done = call("run", "-C", repo, "--", "true")
    tap.ok(done.returncode == 125 and "regular file" in done.stderr, "a fifo does not hang us", done)
    os.unlink(repo + "/.aisbx.yaml")
    os.symlink(home + "/.bashrc", repo + "/.aisbx.yaml")
    done = call("run", "-C", repo, "--", "true")
    tap.ok(done.returncode == 125 and "symbolic link" in done.stderr, "a link is not followed", done)
    os.unlink(repo + "/.aisbx.yaml")


def test_trust(runs):
    repo = work + "/repo"
    text = "mem: 8g\ntime: 2h\n"
    path = write(repo + "/.aisbx.yaml", text)
    tap.ok(limits(dir=repo)[0].get("time_ms") == 600000, "not trusted at first")
    done = call("profile", "trust", ".aisbx.yaml", cwd=repo)
    tap.ok(done.returncode == 0 and hashlib.sha256(text.encode()).hexdigest() in done.stdout, "profile trust", done)
    got, plan = limits(dir=repo)
    tap.ok(got.get("time_ms") == 7200000 and got.get("mem_bytes") == 8 << 30 and not plan.get("notes"), "then it counts",
           plan)
    with open(home + "/.config/aisbx/trust", encoding="ascii") as lines:
        tap.ok(lines.read() == f"{hashlib.sha256(text.encode()).hexdigest()} {path}\n", "kept as sha256 and path")
    tap.ok(os.stat(home + "/.config/aisbx/trust").st_mode & 0o777 == 0o600, "readable by nobody else")
    write(path, text + "\n")
    tap.ok(limits(dir=repo)[0].get("time_ms") == 600000, "one more byte ends it")
    write(path, text)
    shutil.copytree(repo, work + "/copy")
    tap.ok(limits(dir=work + "/copy")[0].get("time_ms") == 600000, "a copy elsewhere is not trusted")
    done = call("profile", "untrust", path)
    tap.ok(done.returncode == 0 and limits(dir=repo)[0].get("time_ms") == 600000, "profile untrust", done)
    done = call("profile", "untrust", path)
    tap.ok(done.returncode == 5 and done.stderr.count("\n") == 1, "what is not trusted cannot be untrusted", done)
    write(path, "memm: 1\n")
    tap.ok(call("profile", "trust", path).returncode == 2, "a malformed file cannot be trusted")
    tap.ok(call("profile", "trust", repo + "/no.yaml").returncode == 5, "a missing one neither")
    os.unlink(path)


def test_named(works):
    """A named sandbox keeps the profile it was made with, whatever becomes of the file."""
    if not works:
        tap.skip("profiles of named sandboxes", runs_not)
        return
    repo = work + "/named"
    own = home + "/.config/aisbx/profiles/"
    for name in ("secret", "second", "third"):
        write(f"{repo}/{name}", "seen\n")
    write(own + "common.yaml", "extends: default\nhide: [second]\n")
    write(own + "default.yaml", "extends: default\nhide: [secret]\npids: 77\n")
    write(own + "mine.yaml", "extends: common\nhide: [secret, third]\npids: 77\n")
    path = write(work + "/by-file.yaml", "extends: default\nhide: [secret]\n")

    def seen(name):
        return call("exec", name, "--", "sh", "-c", "cat secret", cwd=repo)

    for name, words in (("plain", []), ("mine", ["--profile", "mine"]), ("file", ["--profile", path])):
        done = call("create", name, *words, cwd=repo)
        tap.ok(done.returncode == 0 and "seen" not in seen(name).stdout, f"{name}: exec obeys the user's own profile", done)
        done = call("diff", name, cwd=repo)
        tap.ok(done.returncode == 0, f"{name}: later verbs find it", done)
        about = json.loads(call("inspect", name, "--json", cwd=repo).stdout or "{}")
        tap.ok((about.get("profile") or "").endswith(".yaml") and len(about.get("profile_sha256") or "") == 64,
               f"{name}: inspect has its path and digest", about)
    done = call("run", "--keep", "kept", "--", "true", cwd=repo)
    tap.ok(done.returncode == 0 and "seen" not in seen("kept").stdout, "run --keep obeys it, and so does exec then", done)
    call("fork", "mine", "twin", cwd=repo)
    # Changed, gone, or only now there: what was kept counts.
    write(own + "default.yaml", "extends: default\n")
    os.unlink(own + "mine.yaml")
    os.unlink(own + "common.yaml")
    os.unlink(path)
    for name in ("plain", "mine", "file", "kept", "twin"):
        call("stop", name, cwd=repo)
        done = seen(name)
        tap.ok("seen" not in done.stdout and "No such file" in done.stderr, f"{name}: with the file changed or gone as well", done)
    os.unlink(own + "default.yaml")
    call("create", "built-in", cwd=repo)
    write(own + "default.yaml", "extends: default\nhide: [secret]\n")
    tap.ok(seen("built-in").stdout.startswith("seen"), "one made with a built-in profile keeps that")
    done = call("create", "none", "--profile", "mine", cwd=repo)
    tap.ok(done.returncode == 5 and "profile" in done.stderr, "a missing profile is an error when a sandbox is made", done)
    call("rm", "plain", "mine", "file", "kept", "twin", "built-in", cwd=repo)
    os.unlink(own + "default.yaml")


top = tempfile.mkdtemp(prefix="aisbx-test-profile-")
os.chmod(top, 0o755)
home, work = os.path.realpath(top) + "/home", os.path.realpath(top) + "/work"
os.mkdir(home)
os.mkdir(work)
first = call("run", "--", "true")
works, runs_not = first.returncode == 0, (first.stderr.strip() or "runs are refused here")[:100]
try:
    for test in (test_forms, test_own, test_mistakes, test_bombs, test_widening, test_trust, test_named):
        test(works)
finally:
    # What empties the store's trash, or ends with a sandbox, may still be at it.
    for _ in range(100):
        shutil.rmtree(top, ignore_errors=True)
        if not os.path.exists(top):
            break
        time.sleep(0.1)
sys.exit(tap.done())
