#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The contract of the command line: exit codes, statuses, result objects, one line for every mistake, help.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it; the suite's runner does so as root and as a
plain user. Cases that need a real sandbox are skipped, with the reason, where a first run is refused.
"""

import base64
import json
import os
import pty
import re
import resource
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import without_leak_search  # noqa: E402
from tap import Tap  # noqa: E402

AISBX = os.environ.get("AISBX") or shutil.which("aisbx") or "aisbx"
FIELDS = ("run_id trace_id sandbox command status exit_code signal stdout stderr stdout_bytes stderr_bytes truncated "
          "started duration_ms cpu_ms peak_memory_bytes isolation layers degraded limits_hit denials fuel_consumed "
          "changes driver").split()

tap = Tap()


def call(*words, cwd=None, stdin="", env=None, timeout=300):
    """Runs the program with these words."""
    return subprocess.run([AISBX, *words], input=stdin, capture_output=True, text=True, errors="replace",
                          cwd=cwd or scratch, env={**os.environ, **(env or {})}, timeout=timeout, check=False)


def run(*words, **kw):
    return call("run", "-C", kw.pop("dir", scratch), *words, **kw)


def result(*words, **kw):
    done = run("--json", *words, **kw)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"not JSON": done.stdout, "stderr": done.stderr, "code": done.returncode}


def one_line(text):
    return text.endswith("\n") and text.count("\n") == 1 and text.startswith("aisbx: ")


def test_help():
    done = call("help")
    tap.ok(done.returncode == 0 and not done.stderr, "help exits 0", done)
    verbs = [json.loads(line) for line in call("help", "--json").stdout.splitlines()]
    tap.ok({"run", "plan", "doctor", "profile", "bench", "version", "help"} <= {v["name"] for v in verbs},
           "help --json lists the verbs, one object a line", verbs)
    for verb in verbs:
        text = call("help", verb["name"]).stdout
        tap.ok(all("--" + flag["name"] in text for flag in verb["flags"]), f"help {verb['name']} names every flag")
        tap.equal(call(verb["name"], "--help").stdout, text, f"{verb['name']} --help says the same")
    for topic in ("root", "limits", "exit-codes", "profiles", "layers"):
        done = call("help", topic)
        tap.ok(done.returncode == 0 and len(done.stdout) > 300, f"help {topic}", done)
    done = call("help", "limit")
    tap.ok(done.returncode == 2 and one_line(done.stderr) and "limits" in done.stderr, "help of a misspelt topic", done)
    tap.equal(call("--help").stdout, call("help").stdout, "--help")
    tap.equal(call("-h").stdout, call("help").stdout, "-h")
    tap.ok(call().returncode == 2, "no verb is a usage error")
    widest = max(len(line) for verb in verbs for line in call("help", verb["name"]).stdout.splitlines())
    tap.ok(widest <= 80, "help fits 80 columns", widest)


def test_version():
    tap.ok(re.fullmatch(r"aisbx \d+\.\d+\.\d+\n", call("version").stdout), "version")
    tap.equal(call("--version").stdout, call("version").stdout, "--version")
    tap.ok("version" in json.loads(call("version", "--json").stdout), "version --json")


def test_mistakes():
    for words, nearest in ((["--memm", "1g"], "--mem"), (["--no-nett"], "--no-net"), (["--profil=x"], "--profile"),
                           (["--nope"], ""), (["-Z"], ""), (["--mem"], "--mem"), (["--mem", "1e30"], "--mem"),
                           (["--mem", "-1"], "--mem"), (["--mem", "5GiBB"], "--mem"), (["--mem="], "--mem"),
                           (["--cpu", "zero"], "--cpu"), (["--time", "1parsec"], "--time"), (["--pids", "0"], "--pids"),
                           (["--net", "some"], "--net"), (["--require", "moat"], "moat"), (["--env", "=x"], "--env"),
                           (["--driver", "warp"], "warp"), (["--no-net", "--allow", "a.example:443"], "--allow"),
                           (["--profile", "no-such"], "no-such"), (["--profile", "/no/such.yaml"], "/no/such.yaml")):
        done = run(*words, "--", "true")
        tap.ok(done.returncode == 125 and one_line(done.stderr) and nearest in done.stderr and not done.stdout,
               f"run {' '.join(words)}: 125 and one line", done)
        told = run("--json", *words, "--", "true")
        data = json.loads(told.stdout or "null")
        tap.ok(told.returncode == 125 and data and data.get("status") in ("denied", "internal") and not told.stderr,
               f"run --json {' '.join(words)}: an object with a status", told)
    for words in (["--require-signature"],):
        done = run(*words, "--", "true")
        tap.ok(done.returncode == 125 and one_line(done.stderr) and "is not signed" in done.stderr,
               f"run {words[0]} refuses what is not signed", done)


def test_usage():
    done = run("printf", "%s", "-l")
    tap.ok(done.returncode == 0 and done.stdout == "-l", "a command without --", done)
    done = run()
    tap.ok(done.returncode == 125 and one_line(done.stderr), "no command at all", done)
    done = run("--", "true", dir=scratch + "/not-there")
    tap.ok(done.returncode == 125 and one_line(done.stderr) and "not-there" in done.stderr, "no such workspace", done)
    done = call("plan", "--memm", "1", "--", "true")
    tap.ok(done.returncode == 2 and one_line(done.stderr), "usage errors of other verbs are 2", done)
    done = call("rnu")
    tap.ok(done.returncode == 2 and one_line(done.stderr) and "run" in done.stderr, "an unknown verb", done)
    for word in ("", "x" * 50000):
        done = call(word)
        tap.ok(done.returncode == 2 and one_line(done.stderr) and "aisbx help" in done.stderr and len(done.stderr) < 200,
               f"a verb of {len(word)} letters: the way out is still said", done.stderr[:300])
    done = run("--" + "x" * 50000, "--", "true")
    tap.ok(done.returncode == 125 and "aisbx help run" in done.stderr and len(done.stderr) < 200, "so it is with a long flag", done.stderr[:300])
    for verb in ("history", "top", "stats", "doctor", "bench", "gc", "version", "ls"):
        done = call(verb, "stray")
        tap.ok(done.returncode == 2 and one_line(done.stderr) and "stray" in done.stderr and not done.stdout,
               f"{verb} takes no words, and drops none in silence", done)
    done = call("rm", "nobody")
    tap.ok(done.returncode == 5 and one_line(done.stderr) and not done.stdout, "what was not removed is a note, no data", done)
    done = run("--", "")
    told = json.loads(run("--json", "--", "").stdout)
    tap.ok(done.returncode == 125 and "empty" in done.stderr and told["status"] == "denied", "a command of no letters", (done, told))
    done = call("mcp", "--owner", "X")
    tap.ok(done.returncode == 2 and "--owner" in done.stderr and one_line(done.stderr), "an owner that is no name", done)
    error = json.loads(call("rnu", "--json").stdout)
    tap.ok(error["ok"] is False and error["error"]["code"] == "usage" and error["error"]["message"],
           "errors as data", error)
    done = call("help", "a\x1b[31m\nb")
    tap.ok("\x1b" not in done.stderr and done.stderr.count("\n") == 1, "hostile words are quoted in errors", done)


def test_profiles():
    path = scratch + "/bad.yaml"
    with open(path, "w") as file:
        file.write("name: x\nmemm: 64m\n")
    done = run("--profile", path, "--", "true")
    tap.ok(done.returncode == 125 and "2" in done.stderr and "mem" in done.stderr and one_line(done.stderr),
           "a profile's mistake has its line and the nearest key", done)
    done = call("profile", "check", path)
    tap.ok(done.returncode in (1, 2) and "memm" in done.stdout + done.stderr, "profile check tells it", done)
    done = call("profile", "ls", "--json")
    names = [json.loads(line)["name"] for line in done.stdout.splitlines()]
    tap.ok(done.returncode == 0 and {"default", "strict", "dev"} <= set(names), "profile ls", done)
    done = call("profile", "show", "strict")
    tap.ok(done.returncode == 0 and "mem" in done.stdout, "profile show", done)
    done = call("profile", "show", "no-such")
    tap.ok(done.returncode == 5 and one_line(done.stderr), "a profile that is not there is 5", done)
    done = call("profile", "frobnicate")
    tap.ok(done.returncode == 2 and one_line(done.stderr), "an unknown word of profile", done)


def test_readers():
    """Verbs that only look."""
    done = call("doctor", "--json")
    tap.ok(done.returncode in (0, 1) and isinstance(json.loads(done.stdout.splitlines()[0]), dict), "doctor --json", done)
    done = call("doctor")
    tap.ok(done.returncode in (0, 1) and "seccomp" in done.stdout, "doctor", done)
    done = call("plan", "-C", scratch, "--json", "--mem", "64m", "--", "true", "a  b")
    plan = json.loads(done.stdout or "null")
    tap.ok(done.returncode == 0 and isinstance(plan, dict) and plan["command"] == ["true", "a  b"], "plan --json", done)
    done = call("plan", "-C", scratch, "--", "true")
    tap.ok(done.returncode == 0 and scratch in done.stdout, "plan", done)
    done = call("gc", "--json")
    tap.ok(done.returncode == 0, "gc", done)


def test_fake():
    """Outcomes at will, without privileges, through everything above the driver."""
    rows = [json.loads(line) for line in call("drivers", "--json").stdout.splitlines()]
    tap.ok(all(row["name"] and row["summary"] and row["cannot_enforce"] and row["strength"] for row in rows)
           and rows[0]["name"] == "linux" and rows[0]["available"], "drivers --json: one object a line", rows)
    table = call("drivers")
    tap.ok(all(row["name"] in table.stdout for row in rows), "drivers: a table", table)
    tap.equal(call("drivers", "x").returncode, 2, "drivers takes no words")
    tap.ok(all(row["start_ms"] is None and row["measured"] is None for row in rows), "drivers: nothing was measured", rows)
    if "fake" not in [row["name"] for row in rows]:
        tap.skip("the fake driver", "not in an installed program")
        return
    fake = lambda *words, **kw: run("--driver", "fake", *words, **kw)
    data = lambda *words: result("--driver", "fake", *words)
    tap.equal(fake("--", "print", "a  b", "exit", "3").stdout, "a  b\n", "fake: output passes")
    for code in (0, 3, 125):
        tap.equal(fake("--", "exit", str(code)).returncode, code, f"fake: exit {code}")
    tap.equal(fake("--", "signal", "15").returncode, 143, "fake: signal 15 is 143")
    tap.equal(fake("--", "no-such-step").returncode, 127, "fake: not found is 127")
    found = data("--", "print", "x", "error", "y", "exit", "5")
    tap.ok(all(key in found for key in FIELDS), "fake: every field of the result", found)
    tap.equal([found.get(k) for k in ("status", "exit_code", "stdout", "stderr", "isolation", "driver")],
              ["error", 5, "x\n", "y\n", "none", "fake"], "fake: values")
    started = time.monotonic()
    found = data("--time", "300ms", "--", "hang")
    tap.ok(found.get("status") == "timeout" and found.get("exit_code") == 124 and "time" in found["limits_hit"]
           and time.monotonic() - started < 100, "fake: timeout", found)
    done = fake("--time", "300ms", "--", "hang")
    tap.ok(done.returncode == 124 and "--time" in done.stderr, "fake: the limit is told in words", done)
    found = data("--", "oom")
    tap.ok(found.get("status") == "oom" and found.get("exit_code") == 137, "fake: oom", found)
    done = fake("--", "oom")
    tap.ok(done.returncode == 137 and "memory" in done.stderr, "fake: oom in words", done)
    found = data("--output", "1k", "--", "flood", "100000")
    tap.ok(found.get("truncated") is True and found.get("stdout_bytes") == 100000 and len(found["stdout"]) <= 1024,
           "fake: the output cap", {k: v for k, v in found.items() if k != "stdout"})
    steps = [word for n in range(5) for word in ("deny", "net", f"connect 192.0.2.{n}:80")]
    found = data("--", *steps)
    tap.ok(len(found.get("denials", [])) == 5 and found["denials"][0]["layer"] == "net", "fake: denials", found)
    done = fake("--", *steps)
    tap.ok(done.stderr.count("denied by net") == 3 and "2 more" in done.stderr, "fake: three denials in words", done)
    found = data("--trace", "t-1", "--", "fail", "no room")
    tap.ok(found.get("status") == "denied" and "no room" in str(found.get("message")) and found["trace_id"] == "t-1",
           "fake: a refused start", found)
    tap.equal(found.get("error", {}).get("code"), "denied", "fake: with the error of any other verb")
    tap.equal(fake("--", "fail", "no room").returncode, 125, "fake: a refused start is 125")
    done = fake("--require", "seccomp", "--", "exit", "0")
    tap.ok(done.returncode == 125 and "seccomp" in done.stderr, "fake: a required layer is refused", done)


def test_codes():
    tap.equal(run("--", "echo", "a  b", "$HOME").stdout, "a  b $HOME\n", "argv is exact")
    for code in (0, 3, 77, 125):
        done = run("--", "sh", "-c", f"exit {code}")
        tap.ok(done.returncode == code, f"exit {code}", done)
    done = run("--", "no-such-program-x")
    tap.ok(done.returncode == 127 and one_line(done.stderr.splitlines(True)[0]), "not found is 127", done)
    path = scratch + "/plain.txt"
    with open(path, "w") as file:
        file.write("one\n")
    tap.equal(run("--", path).returncode, 126, "not executable is 126")
    tap.equal(run("--", "sh", "-c", "kill -TERM $$").returncode, 143, "128 + signal")
    tap.equal(run("--time", "1s", "--", "sleep", "20").returncode, 124, "time is 124")
    for name, want in (("no-such-program-x", 127), (path, 126)):
        found = result("--", name)
        tap.ok(found.get("exit_code") == want and found.get("status"), f"{want} as data", found)
    done = run("--", "no-\x1b[31m\raisbx: all is well\naisbx: really")
    first = done.stderr.split("\n")[0]
    tap.ok("\x1b" not in done.stderr and "\r" not in done.stderr and "\\x0aaisbx: really" in first,
           "a command's name steers no terminal and says nothing in our name", done)
    tap.ok("\x1b[31m" in (result("--", "no-\x1b[31m").get("message") or ""), "as data it is what it is")


def test_result():
    found = result("--trace", "mine", "--", "sh", "-c", "echo out; echo err >&2; echo n > new.txt; exit 5")
    for key in FIELDS:
        tap.ok(key in found, f"field {key}")
    tap.equal([found.get(k) for k in ("status", "exit_code", "signal", "stdout", "stderr", "isolation", "trace_id")],
              ["error", 5, None, "out\n", "err\n", "namespaces", "mine"], "values")
    tap.equal(found.get("changes"), {"added": 1, "modified": 0, "deleted": 0}, "changes")
    tap.ok(not os.path.exists(scratch + "/new.txt"), "the host is untouched")
    tap.ok(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", found.get("started", "")), "started", found.get("started"))
    found = result("--", "sh", "-c", "kill -9 $$")
    tap.equal([found.get("status"), found.get("exit_code"), found.get("signal")], ["killed", 137, 9], "a signal as data")
    found = result("--", "printf", r"\377\000x")
    tap.ok(found.get("stdout_encoding") == "base64" and base64.b64decode(found["stdout"]) == b"\xff\x00x",
           "bytes that are not text", found)
    done = run("--json", "--", "sh", "-c", "echo noise >&2")
    tap.ok(not done.stderr and done.stdout.count("\n") == 1, "--json prints one object and nothing else", done)


def from_nowhere(*words):
    """A call from a directory that was removed."""
    script = 'mkdir "$1/gone" && cd "$1/gone" && rmdir "$1/gone" && shift && exec "$@"'
    return subprocess.run(["sh", "-c", script, "sh", scratch, AISBX, *words], capture_output=True, text=True, check=False)


def test_nowhere():
    """Who looks after sandboxes may stand in a directory that is gone; who runs something is told."""
    for words in (["ls"], ["history"], ["doctor"], ["version"], ["promotions"], ["profile", "ls"]):
        done = from_nowhere(*words)
        tap.equal(done.returncode, 0, f"{' '.join(words)}: {done.stderr.strip()}")
    done = from_nowhere("rm", "no-such-sandbox")
    tap.equal(done.returncode, 5, "rm looks for what it is to remove")
    call("run", "--keep", "nowhere", "-C", scratch, "--", "sh", "-c", "echo made > made.txt")
    for words, code in ((["run", "--", "true"], 125), (["create", "x"], 70), (["plan", "--", "true"], 70), (["undo"], 70),
                        (["promote", "nowhere", "--artifact", "made.txt", "--to", "aisbx-test-goal/x"], 70),
                        (["cp", "nowhere:made.txt", "aisbx-test-goal"], 70)):
        done = from_nowhere(*words)
        tap.ok(done.returncode == code and one_line(done.stderr) and "was removed" in done.stderr, f"{words[0]} is refused", done)
    tap.ok(not os.path.exists("/aisbx-test-goal"), "and / is not taken for what is gone")
    call("rm", "nowhere")


def test_descriptors():
    """Started with so many descriptors that its own do not fit: it works, or says which limit that is, and nothing odd."""
    told, odd = 0, []
    for count in range(24, 62):
        def crowd(count=count):
            for number in range(3, 3 + count):
                os.dup2(0, number)
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        done = subprocess.run([AISBX, "run", "-C", scratch, "--", "true"], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, close_fds=False, preexec_fn=crowd, check=False)
        # Those that are under way between processes count for the user, with what others of the same user send.
        is_told = done.returncode == 125 and re.search("Too many (open files|references).*; raise ulimit -n", done.stderr)
        told += bool(is_told)
        # One that is linked with libraries, as for a sanitizer, does not even begin without a descriptor.
        if done.returncode != 0 and not is_told and "shared libraries" not in done.stderr:
            odd.append((count, done.returncode, done.stderr))
    tap.ok(told > 0 and not odd, "descriptors that are used up are told as that", odd)


def test_processes():
    """Root's are not counted. How many others of this user run besides is not known here."""
    if os.geteuid() == 0:
        tap.skip("processes that are used up", "root may have any number")
        return
    told, odd = 0, []
    env = without_leak_search(os.environ)
    for count in range(1, 6):
        done = subprocess.run([AISBX, "run", "-C", scratch, "--", "true"], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=env,
                              preexec_fn=lambda count=count: resource.setrlimit(resource.RLIMIT_NPROC, (count, count)), check=False)
        is_told = done.returncode == 125 and "no further process (ulimit -u" in done.stderr
        told += is_told
        if done.returncode != 0 and not is_told:
            odd.append((count, done.returncode, done.stderr))
    tap.ok(told > 0 and not odd, "processes that are used up are told as that", odd)


def test_small_files():
    """A caller whose files may not grow is told so; nobody dies of it without a word."""
    done = subprocess.run(["sh", "-c", 'ulimit -f 0 && exec "$@"', "sh", AISBX, "run", "-C", scratch, "--", "true"],
                          capture_output=True, text=True, check=False)
    tap.ok(done.returncode == 125 and one_line(done.stderr) and "File too large" in done.stderr, "run says why", done)


def test_streams():
    tap.equal(run("--", "cat", stdin="hello").stdout, "hello", "stdin passes")
    tap.equal(run("--", "true", stdin="x" * 200000).returncode, 0, "unread stdin is no harm")
    done = run("--name-status", "--", "sh", "-c", "echo x > made.txt")
    tap.ok("A\tmade.txt\n" in done.stdout, "--name-status lists changes", done)
    done = call("run", "--", "pwd", cwd=scratch)
    tap.equal(done.stdout.strip(), scratch, "the caller's directory")
    done = call("run", "-C", "/", "--", "pwd", cwd="/tmp")
    tap.equal((done.stdout, done.returncode), ("/\n", 0), "a directory that is the sandbox's own: the top of the workspace")
    with open("/dev/full", "w") as full:
        done = subprocess.run([AISBX, "help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    tap.ok(done.returncode != 0 and "stdout" in done.stderr, "a full disk is not success", done)
    for script, code in (("echo lost", 125), ("echo lost; exit 3", 3)):
        with open("/dev/full", "w") as full:
            done = subprocess.run([AISBX, "run", "-C", scratch, "--", "sh", "-c", script], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        tap.ok(done.returncode == code and "stdout: No space left" in done.stderr, f"nor is it for a command's output: {script}", done)
    # A file that fails as a broken disk does: nothing is mapped at its beginning.
    with open("/proc/self/mem", "r+b", buffering=0) as broken:
        done = subprocess.run([AISBX, "run", "-C", scratch, "--", "echo", "lost"], stdout=broken, stderr=subprocess.PIPE, text=True, check=False)
    tap.ok(done.returncode == 125 and "stdout: Input/output error" in done.stderr, "nor is a broken one", done)
    done = subprocess.run(["sh", "-c", '"$0" run -- seq 100000 | head -n 1', AISBX], cwd=scratch, capture_output=True, text=True, check=False)
    tap.ok(done.stdout == "1\n" and "arrived" not in done.stderr, "who has read enough has lost nothing", done)
    done = subprocess.run(["sh", "-c", '"$0" version >&- 2>/dev/null; "$0" run -- true <&- >&- 2>&-', AISBX],
                          cwd=scratch, check=False)
    tap.equal(done.returncode, 0, "closed descriptors")


def on_terminal(*words):
    """What a person would see."""
    leader, follower = pty.openpty()
    child = subprocess.Popen([AISBX, *words], stdin=follower, stdout=follower, stderr=follower, cwd=scratch)
    os.close(follower)
    seen = b""
    while select.select([leader], [], [], 240)[0]:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        seen += part
    os.close(leader)
    child.wait()
    return seen


def test_terminal():
    seen = on_terminal("help", "x\x1b]0;title\x07\u202ey")
    tap.ok(b"\x1b]0" not in seen and b"\\x1b]0;title\\x07\\u{202e}y" in seen, "a terminal is not steered", seen)
    tap.ok(b"\x1b[31m" in seen, "errors have colour on a terminal")
    os.environ["NO_COLOR"] = "1"
    tap.ok(b"\x1b" not in on_terminal("help", "x"), "not with NO_COLOR")
    del os.environ["NO_COLOR"]
    tap.ok(b"hi\r\n" in on_terminal("run", "--driver", "fake", "--", "print", "hi"), "output on a terminal")


def test_handover():
    """The hot program starts its other half, from wherever both lie, and says so when it is missing."""
    lonely = tempfile.mkdtemp(dir=scratch)
    shutil.copy2(AISBX, lonely + "/aisbx")
    if subprocess.run([lonely + "/aisbx", "profile", "ls"], capture_output=True, check=False).returncode == 0:
        tap.skip("a missing aisbx-full is told", "one is installed where this program looks")
        return
    done = subprocess.run([lonely + "/aisbx", "profile", "ls"], capture_output=True, text=True, check=False)
    tap.ok(done.returncode == 70 and one_line(done.stderr) and "aisbx-full" in done.stderr,
           "a missing aisbx-full is told", done)
    done = subprocess.run([lonely + "/aisbx", "run", "--profile", "./x.yaml", "--", "true"], capture_output=True,
                          text=True, check=False)
    tap.ok(done.returncode == 125 and one_line(done.stderr), "for run, as 125", done)


def sealed_part(program):
    """From where to where the program may be written to only before main (PT_GNU_RELRO), and whether it has a place of its own."""
    with open(program, "rb") as file:
        head = file.read(4096)
    kind, start, size, count = (struct.unpack_from(form, head, at)[0] for form, at in (("<H", 16), ("<Q", 32), ("<H", 54), ("<H", 56)))
    for at in range(start, start + size * count, size):
        if struct.unpack_from("<I", head, at)[0] == 0x6474E552:
            begin, length = struct.unpack_from("<Q", head, at + 16)[0], struct.unpack_from("<Q", head, at + 40)[0]
            return begin // 4096 * 4096, (begin + length) // 4096 * 4096, kind == 2
    return None


def test_sealed():
    """The supervisor holds addresses in memory that nobody can write to any more, whatever C library started it."""
    part = sealed_part(AISBX)
    tap.ok(part and part[1] > part[0], "there is a part to be sealed", part)
    with subprocess.Popen([AISBX, "run", "-C", scratch, "--", "sh", "-c", "echo up; read x"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as child:
        child.stdout.readline()
        try:
            with open(f"/proc/{child.pid}/maps") as file:
                rows = [line.split() for line in file if line.rstrip().endswith("/" + os.path.basename(AISBX))]
        except PermissionError:
            rows = None
        child.communicate("end\n", timeout=300)
    if not rows:
        return tap.skip("the supervisor's memory", "nobody may look at it")
    places = [tuple(int(end, 16) for end in row[0].split("-")) + (row[1],) for row in rows]
    origin = 0 if part[2] else min(place[0] for place in places)
    inside = [place for place in places if place[0] < origin + part[1] and place[1] > origin + part[0]]
    tap.ok(inside and not any("w" in place[2] for place in inside), "and in a running supervisor it is", rows)


def main():
    test_help()
    test_version()
    test_mistakes()
    test_usage()
    test_profiles()
    test_readers()
    test_fake()
    test_terminal()
    test_handover()
    first = run("--", "true")
    if first.returncode == 0:
        test_codes()
        test_nowhere()
        test_descriptors()
        test_processes()
        test_small_files()
        test_result()
        test_streams()
        test_sealed()
    elif subprocess.run(["unshare", "-Ur", "true"], capture_output=True, check=False).returncode != 0:
        tap.skip("real sandboxes", "no user namespaces for this user here")
    else:
        tap.ok(False, "a first real run", first)
    return tap.done()


if __name__ == "__main__":
    scratch = tempfile.mkdtemp(prefix="aisbx-cli.", dir=os.environ.get("HOME") or "/var/tmp")
    try:
        sys.exit(main())
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
