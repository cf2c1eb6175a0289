#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The evaluator of policies that servers keep: files that change, an end, a hang and a limit between two questions never allow.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a home of its own; ends only processes that it started itself.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import patience  # noqa: E402
from clitest import AISBX, Home, Tap  # noqa: E402
from family import halt, until  # noqa: E402
import mcpclient  # noqa: E402

tap = Tap()
EVALUATOR = os.path.dirname(AISBX) + "/aisbx-policy"
HEAD = "package aisbx\nimport rego.v1\n"
ANY = HEAD + 'deny contains "%s" if input.mcp.tool == "%s"\n'
# What `guard` is asked about says how much work the question is.
WORK = HEAD + '''word := input.mcp.arguments.command[0]
deny contains "loop" if { word == "loop"; some i in numbers.range(1, 3000); some j in numbers.range(1, 3000)
  some k in numbers.range(1, 3000); i + j + k == 0 }
deny contains "bomb" if { word == "bomb"; count(numbers.range(1, 1000000000)) > 0 }
deny contains "error" if { word == "error"; to_number("x") > 0 }
deny contains "never" if word == "never"
'''


def put(home, text):
    """The user's only policy, by the way of a rename, as editors do."""
    place = home.path + "/.config/aisbx/policy"
    os.makedirs(place, mode=0o755, exist_ok=True)
    with open(place + "/new", "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(place + "/new", place + "/p.rego")
    return place + "/p.rego"


def evaluators(server):
    return [int(pid) for pid in server.processes() if mcpclient.comm(pid) == "aisbx-policy"]


def guard(server, word):
    return server.call("guard", command=[word])


def test_changes(home):
    """What was parsed before is used while the files are the same, byte for byte, and no longer."""
    path = put(home, ANY % ("no", "guard"))
    stamp = os.stat(path)
    with mcpclient.Server(home) as server:
        tap.ok(mcpclient.is_refused(guard(server, "ls"), "no (the user's policy)"), "a call is denied")
        kept = evaluators(server)
        tap.equal(len(kept), 1, "by an evaluator that is kept")
        tap.ok(not server.call("sandbox_list").get("isError"), "another call is not")
        tap.ok(mcpclient.is_refused(guard(server, "ls"), "no (the user's policy)"), "the first still is")
        tap.equal(evaluators(server), kept, "all by the same one")
        # As long, and as old, as the one before.
        put(home, ANY % ("nu", "guard"))
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        tap.ok(mcpclient.is_refused(guard(server, "ls"), "nu (the user's policy)"), "a changed file is seen at the next question")
        put(home, ANY % ("no", "other"))
        tap.ok(not guard(server, "ls").get("isError"), "a rule that is gone denies no longer")
        put(home, ANY % ("no", "guard"))
        tap.ok(mcpclient.is_refused(guard(server, "ls"), "no (the user's policy)"), "and one that is back does")
        put(home, "package aisbx\nthis is not rego\n")
        tap.ok(mcpclient.is_refused(guard(server, "ls"), "p.rego:2"), "a file that cannot be parsed denies")
        put(home, ANY % ("no", "other"))
        tap.ok(not guard(server, "ls").get("isError"), "until it can")
        tap.equal(evaluators(server), kept, "still by the same one")
        shutil.rmtree(home.path + "/.config/aisbx/policy")
        tap.ok(not guard(server, "ls").get("isError"), "without a policy nothing is asked")
    tap.ok(until(lambda: not os.path.exists(f"/proc/{kept[0]}")), "it ends with the server")


def test_ends(home):
    """Killed or halted between two questions, it allows nothing."""
    put(home, ANY % ("no", "guard"))
    with mcpclient.Server(home) as server:
        tap.ok(mcpclient.is_refused(guard(server, "ls"), "no"), "a call is denied")
        first = evaluators(server)[0]
        os.kill(first, signal.SIGKILL)
        tap.ok(mcpclient.is_refused(guard(server, "ls"), "no (the user's policy)"), "one that was killed between two questions allows nothing")
        tap.ok(not server.call("sandbox_list").get("isError"), "and keeps nothing from its answer")
        second = evaluators(server)
        tap.ok(len(second) == 1 and second[0] != first, "another takes its place", second)
        halt(second)
        result = server.call("sandbox_list")
        tap.ok(mcpclient.is_refused(result, "gives no answer"), "one that hangs refuses", result)
        tap.ok(not server.call("sandbox_list").get("isError") and mcpclient.is_refused(guard(server, "ls"), "no (the user's policy)"),
               "and is replaced")
        tap.ok(second[0] not in evaluators(server), "for good")


def test_limits(home):
    """A question that meets its limit is refused, and the next is as if it had not been."""
    put(home, WORK)
    with mcpclient.Server(home) as server:
        tap.ok(not guard(server, "ls").get("isError"), "a question without much work")
        kept = evaluators(server)
        for word, why in (("loop", "time limit"), ("error", "p.rego:"), ("bomb", "memory")):
            # Too much memory at once is its end.
            tap.ok(evaluators(server) == kept, f"the same evaluator is asked to {word}", evaluators(server))
            result = guard(server, word)
            tap.ok(mcpclient.is_refused(result, "denied by policy", why), f"{word}: refused", result)
            tap.ok(not guard(server, "ls").get("isError"), f"the next one after {word} is answered")
            tap.ok(mcpclient.is_refused(guard(server, "never"), "never (the user's policy)"), f"and a denial after {word} is one")


def ask(door, question):
    """What a kept evaluator answers through a stream of its own; None when it ended without a word."""
    near, far = socket.socketpair()
    with near, far:
        near.settimeout(patience(30))
        try:
            socket.send_fds(door, [b"\0"], [far.fileno()])
            far.close()
            near.sendall(json.dumps(question).encode() + b"\n")
            with near.makefile("rb") as answers:
                line = answers.readline()
        except (BrokenPipeError, ConnectionResetError):
            return None
        return json.loads(line) if line else None


def test_processor(home):
    """One that has used enough of the processor ends behind an answer, before the limit would end it in the midst of one."""
    del home
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with subprocess.Popen([EVALUATOR, "keep"], stdin=its, stdout=subprocess.DEVNULL, env={}) as evaluator, ours:
        its.close()
        work = HEAD + 'deny contains "x" if { some i in numbers.range(1, 3000); i == input.n }\n'
        whole = {"mode": "decide", "digest": "a", "sets": [{"name": "user", "modules": [{"path": "p.rego", "text": work}]}]}
        tap.equal(ask(ours, {**whole, "sets": None, "digest": "b", "input": {}}).keys(), {"error"}, "what is no list of sets is an error")
        tap.equal(ask(ours, {"mode": "decide", "digest": "a", "input": {}}), {"unknown": True}, "policies that never came are unknown")
        tap.equal(ask(ours, {**whole, "input": {"n": 5}})["sets"][0]["rules"]["deny"], ["x"], "with them it decides")
        tap.equal(ask(ours, {"mode": "decide", "digest": "b", "input": {}}), {"unknown": True}, "another digest is unknown")
        tap.equal(ask(ours, {"mode": "decide", "digest": "a", "input": {"n": 5}}), {"unknown": True}, "and what was kept is gone")
        ask(ours, {**whole, "input": {"n": 5}})
        count = 0
        while (got := ask(ours, {"mode": "decide", "digest": "a", "input": {"n": -count}})) is not None:
            if got["sets"][0]["rules"]["deny"]:
                break
            count += 1
        tap.ok(got is None and count > 50, f"{count} questions were answered")
        tap.equal(evaluator.wait(patience(30)), 0, "and it ended by itself")


def test_batch(home):
    """Lines of a batch are asked about by their own commands, whichever process has them."""
    if not home.can_run(tap, "a batch"):
        return
    put(home, HEAD + 'deny contains "not this" if input.spec.command[0] == "id"\n')
    lines = [{"command": ["id" if number % 3 == 0 else "true"]} for number in range(9)]
    done = home.call("run", "--batch", "-", stdin="".join(json.dumps(line) + "\n" for line in lines), timeout=patience(120))
    got = [json.loads(line)["status"] for line in done.stdout.splitlines()]
    tap.equal(got, ["denied" if number % 3 == 0 else "success" for number in range(9)], "each line has its own answer")


def test_background(home):
    """A command in the background has closed what its server keeps, and is judged all the same."""
    if not home.can_run(tap, "a command in the background"):
        return
    put(home, HEAD + 'deny contains "not this" if input.spec.command[0] == "id"\n')
    with mcpclient.Server(home) as server:
        tap.ok(not server.call("sandbox_create", sandbox="back").get("isError"), "a sandbox")
        result = server.call("sandbox_exec_start", sandbox="back", command=["id"], time="60s")
        tap.ok(mcpclient.is_refused(result, "not this (the user's policy)"), "a command in the background is denied", result)
        result = server.call("sandbox_exec_start", sandbox="back", command=["true"], time="60s")
        tap.ok(result.get("structuredContent", {}).get("exec_id"), "another is not", result)
        tap.equal(len(evaluators(server)), 1, "the evaluator of the others is still there")
        server.call("sandbox_remove", sandbox="back", force=True)


def test_race(home):
    """One evaluator for all attempts; what each is refused for is its own."""
    if not home.can_run(tap, "a race"):
        return
    bin_dir = home.path + "/bin"
    os.mkdir(bin_dir)
    for name in ("aisbx", "aisbx-full"):
        shutil.copy(os.path.dirname(AISBX) + "/" + name, f"{bin_dir}/{name}")
    with open(bin_dir + "/aisbx-policy", "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\necho started >>'{home.path}/starts'\nexec '{os.path.abspath(EVALUATOR)}' \"$@\"\n")
    os.chmod(bin_dir + "/aisbx-policy", 0o755)
    put(home, HEAD + 'deny contains "not this" if "no" in input.spec.command\n')
    done = subprocess.run([bin_dir + "/aisbx", "race", "--json", "-c", "a=true", "-c", "b=true", "-c", "c=true"], cwd=home.work, env=home.env,
                          capture_output=True, text=True, timeout=patience(120), check=False, stdin=subprocess.DEVNULL)
    rows = [row["status"] for row in json.loads(done.stdout or '{"attempts": []}')["attempts"]]
    tap.equal(rows, ["success"] * 3, f"a race of three {done.stderr}")
    with open(home.path + "/starts", encoding="ascii") as file:
        tap.equal(file.read(), "started\n", "has one evaluator")


def main():
    if not os.access(EVALUATOR, os.X_OK):
        tap.skip("kept evaluators", "aisbx-policy is not built: it needs cargo and rustc 1.85")
        return tap.done()
    for part in (test_changes, test_ends, test_limits, test_processor, test_batch, test_background, test_race):
        with Home("policy-") as home:
            home.put("README", "x\n")
            part(home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
