#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run --batch: JSON lines in, JSON lines out, in their order; bad lines are answered and the batch goes on.

Takes the program from AISBX. Speaks TAP. Ends only processes that it started itself.
"""
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import family
from box import patience
from clitest import AISBX, Home, Tap, refused
from family import until

tap = Tap()


def batch(home, lines, *flags, **kw):
    """(exit code, answers) of a batch of objects, or of lines as they are."""
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    done = home.call("run", "--batch", "-", *flags, stdin=text, **kw)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def ours():
    """{pid: name} of every living process below this one; those that ended are taken first."""
    family.reap()
    return family.ours()


def test_lines(home):
    os.mkdir(home.work + "/sub")
    code, got = batch(home, [
        {"command": ["printf", "%s|", "a b", "", "c"], "trace_id": "t1"},
        "",
        {"script": "cat; echo $X; echo $Y >&2; exit 3", "env": {"X": "1 2", "Y": "z"}, "stdin": "in\0put\n"},
        {"script": "sleep 60", "time": "300ms"},
        {"script": "pwd; cat", "cwd": "sub"},
        {"command": ["/no/such/program"], "trace_id": None},
        {"script": "echo made > new; ls new"},
        {"script": "ls new"},
    ], "--env", "Y=base")
    tap.equal(code, 0, "every line ran: exit 0, whatever the commands said")
    tap.equal([r["status"] for r in got], ["success", "error", "timeout", "success", "error", "success", "error"],
              "one result a line, in their order; an empty line is none")
    tap.equal([got[0]["stdout"], got[0]["trace_id"], got[0]["command"]],
              ["a b||c|", "t1", ["printf", "%s|", "a b", "", "c"]], "words as they are")
    tap.equal([got[1]["stdout"], got[1]["stderr"], got[1]["exit_code"]], ["in\0put\n1 2\n", "z\n", 3], "input and variables")
    tap.equal(got[3]["stdout"], home.work + "/sub\n", "a directory to start in, and no input of ours")
    tap.equal(got[4]["exit_code"], 127, "a command that is not there has run as far as anybody can tell")
    tap.ok("new" not in got[6]["stdout"] and not os.path.exists(home.work + "/new"), "no run sees another's files")
    rows = home.rows("history")
    tap.equal(sorted(r["run_id"] for r in rows), sorted(r["run_id"] for r in got), "each stands in the history, once")
    home.put("b.jsonl", '{"script":"echo one"}\n{"script":"echo two"}')
    done = home.call("run", "--batch", "b.jsonl", "--json")
    tap.equal([json.loads(line)["stdout"] for line in done.stdout.splitlines()], ["one\n", "two\n"],
              "from a file, whose last line nobody ended")
    tap.equal(home.call("run", "--batch", "-", stdin="").returncode, 0, "no lines, no answers")
    done = home.call("run", "--batch", "/dev/stdin", stdin='{"script": "echo piped"}\n')
    tap.ok(done.returncode == 0 and '"piped\\n"' in done.stdout, "a pipe of the caller's own by its name", done)
    for name in ("/dev/fd/0", "/proc/self/fd/0"):
        done = home.call("run", "--batch", name, stdin='{"script": "echo piped"}\n')
        tap.ok(done.returncode == 0 and '"piped\\n"' in done.stdout, f"also as {name}", done)
    os.mkfifo(home.work + "/fifo")
    for name in ("fifo", ".", "/dev/fd/999", "/dev/fd/x", "/dev/fd/-1", "/dev/fd/0/x", "/dev/null"):
        done = home.call("run", "--batch", name, stdin="")
        tap.ok(done.returncode == 125 and f"--batch {name}" in done.stderr, f"{name} is refused by name", done)


def test_bad(home):
    deep = '{"script":"true","env":' + "[" * 50 + "]" * 50 + "}"
    lines = ["nonsense", "[1]", "{}", '{"script":"a","command":["b"]}', '{"command":[]}', '{"command":"ls"}',
             '{"script":"true","tyme":"3s"}', '{"script":"true","time":"soon"}', '{"script":"true","script":"false"}',
             deep, '{"script":"' + "x" * (1 << 20) + '"}', '{"script":"true","cwd":"nowhere"}', '{"script":"a\\u0000b"}',
             '{"script":"true","stdin":5}', '{"script":"echo fine"}']
    code, got = batch(home, lines)
    tap.equal(code, 1, "a line that cannot be run: exit 1")
    tap.equal(len(got), len(lines), "every line is answered")
    tap.ok(all(r.get("ok") is False and r["line"] == i + 1 and r["error"]["message"].startswith(f"line {i + 1}:")
               for i, r in enumerate(got[:-1])), "each with its number", [r for r in got if r.get("ok") is not False])
    tap.ok("did you mean 'time'" in got[6]["error"]["message"], "and the nearest name", got[6])
    tap.ok("did you mean" in (got[6]["error"]["hint"] or ""), "which is the hint, too", got[6])
    tap.ok("1048576" in got[10]["error"]["message"], "what is too long is said to be", got[10])
    tap.equal(got[-1].get("stdout"), "fine\n", "and the batch goes on")
    code, got = batch(home, ["x" * 3000000, {"script": "echo on"}])
    tap.equal([len(got), got[-1].get("stdout")], [2, "on\n"], "also behind three megabytes without an end")
    for words, say in ((("--batch", "nowhere"), "nowhere"), (("--batch", "-", "--keep", "k"), "--keep"),
                       (("--batch", "-", "--jobs", "0"), "--jobs"), (("--batch", "-", "--jobs", "999"), "--jobs"),
                       (("--batch", "-", "--", "true"), "--batch"), (("--jobs", "2", "--", "true"), "--batch")):
        done = home.call("run", *words)
        tap.ok(refused(done, 125, say), f"{words} is refused", done)


def test_narrow(home):
    """A line sets variables and limits nobody set; it opens nothing that the command line left shut."""
    lines = [{"script": "true", "mem": "1g"}, {"script": "true", "mem": "128m"}, {"script": "true", "net": "allow"},
             {"script": "true", "allow": ["example.org:443"]}, {"script": "true", "pids": 50}, {"script": "true", "time": "2h"},
             {"script": "true", "rw-through": "/etc:/etc"}, {"script": "true", "deny": ["a.example:1"]}]
    code, got = batch(home, lines, "--mem", "256m", "--no-net", "--time", "1h", "--ro", "/usr:/usr")
    ran = ["error" not in r for r in got]
    tap.equal(ran, [False, True, False, False, True, False, False, True], "only narrower")
    tap.ok(all("only narrow" in r["error"]["message"] for r in got if "error" in r), "said in words", got)
    code, got = batch(home, [{"script": "ulimit -v; exit 0", "mem": "64m", "time": "5s", "nofile": 64}, {"script": "ulimit -n", "nofile": 64}])
    tap.equal([code, got[1]["stdout"]], [0, "64\n"], "a silent command line leaves it to the line")
    home.put("token", "hunter2hunter2")
    opening = [{"rw-through": f"{home.work}:/x"}, {"rw": f"{home.work}:/x"}, {"secret": [f"T={home.work}/token"]}, {"net": "allow"},
               {"allow": ["example.org:443"]}, {"publish": ["18080:80"]}, {"home": "full"}, {"root": "project"}, {"driver": "wasm"},
               {"pass-env": ["HOME"]}, {"allow-degraded": ["seccomp"]}]
    code, got = batch(home, [{"script": "echo opened > /x/opened; exit 0", **one} for one in opening])
    for one, answer in zip(opening, got):
        tap.ok("only narrow" in answer.get("error", {}).get("message", ""), f"{list(one)[0]} is not a line's to open", answer)
    tap.ok(not os.path.exists(os.path.join(home.work, "opened")), "nothing was written through")


def test_order(home):
    lines = [{"script": f"sleep 0.{9 - i}; echo {i}"} for i in range(8)]
    code, got = batch(home, lines, "--jobs", "8")
    tap.equal([r["stdout"] for r in got], [f"{i}\n" for i in range(8)], "answers in the order of the lines, whoever ends first")
    code, got = batch(home, [{"script": f"echo {i}"} for i in range(60)], "--jobs", "3")
    tap.equal([r["stdout"] for r in got], [f"{i}\n" for i in range(60)], "also with more lines than jobs")
    process = subprocess.Popen([AISBX, "run", "--batch", "-", "--jobs", "2"], cwd=home.work, env=home.env, text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    heard = []
    for i in range(3):
        process.stdin.write(json.dumps({"script": f"echo {i}"}) + "\n")
        process.stdin.flush()
        heard.append(json.loads(process.stdout.readline())["stdout"])
    process.stdin.close()
    tap.equal([heard, process.wait(timeout=patience(60))], [["0\n", "1\n", "2\n"], 0], "answered line by line while more may come")
    process.stdout.close()


def test_ends(home):
    """Whoever goes away takes the runs along."""
    lines = "".join(json.dumps({"script": "sleep 1000"}) + "\n" for _ in range(5))
    for name, sig in (("TERM", signal.SIGTERM), ("KILL", signal.SIGKILL)):
        process = subprocess.Popen([AISBX, "run", "--batch", "-", "--jobs", "3"], cwd=home.work, env=home.env, text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process.stdin.write(lines)
        process.stdin.flush()
        tap.ok(until(lambda: list(ours().values()).count("sleep") == 3), "three run at once", ours())
        process.send_signal(sig)
        out = process.communicate(timeout=patience(60))[0]
        tap.ok(until(lambda: not ours()), f"after {name} nobody is left", ours())
        got = [json.loads(line)["status"] for line in out.splitlines()]
        tap.equal(got, ["killed"] * (3 if name == "TERM" else 0), "those that ran are told")
    process = subprocess.Popen([AISBX, "run", "--batch", "-"], cwd=home.work, env=home.env, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    process.stdin.write(b'{"script":"echo x"}\n' * 50)
    process.stdin.close()
    process.wait(timeout=patience(60))
    process.stderr.close()
    tap.ok(process.returncode != 0 and until(lambda: not ours()), "when nobody reads, it ends", ours())


def timed_batch(home, limit, scripts):
    """(exit code, answers) of a batch whose input stays open until its time is over."""
    with subprocess.Popen([AISBX, "run", "--batch", "-", "--jobs", "1", "--batch-time", limit], cwd=home.work, env=home.env,
                          text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write("".join(json.dumps({"script": text}) + "\n" for text in scripts))
        process.stdin.flush()
        got = [json.loads(line) for line in process.stdout]
        return process.wait(timeout=patience(60)), got


def test_time(home):
    """Its own time ends what runs, and what waits, also where nothing comes at all."""
    # On a busy machine the first time may be over before anything runs.
    for limit in ("2s", "10s", "60s"):
        code, got = timed_batch(home, limit, ("sleep 1000", "echo 2", "echo 3"))
        if "status" in got[0]:
            break
    tap.equal(code, 124, "a batch whose time is over exits with 124")
    tap.ok(len(got) == 2 and got[0].get("status") not in ("success", None), "what ran was ended, and told", got)
    tap.ok(got[-1].get("line") == 2 and f"--batch-time {limit}" in got[-1].get("error", {}).get("message", ""),
           "the first line that was not run is answered with the reason", got)
    tap.ok(until(lambda: not ours()), "nobody is left", ours())
    process = subprocess.Popen([AISBX, "run", "--batch", "-", "--batch-time", "1s"], cwd=home.work, env=home.env,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    tap.equal([process.stdout.read(), process.wait(timeout=patience(60))], [b"", 124], "nor does it wait for lines any longer")
    process.stdin.close()
    process.stdout.close()
    code, got = batch(home, [{"script": "echo 1"}], "--batch-time", "1h")
    tap.equal([code, got[0]["stdout"]], [0, "1\n"], "one that ends before it is over is as any other")
    done = home.call("run", "--batch-time", "1s", "--", "true")
    tap.ok(done.returncode == 125 and "--batch-time is for --batch" in done.stderr, "it is for batches", done)
    code, got = batch(home, [{"script": "echo 1", "batch-time": "1s"}])
    tap.ok(code == 1 and got[0].get("ok") is False, "and not for a line", got)


def main():
    family.adopt()
    for test in (test_lines, test_bad, test_narrow, test_order, test_ends, test_time):
        with Home("aisbxtest-batch-") as home:
            tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
