#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""serve e2b: commands and code of clients are on record, asked about, bounded in time, and leave nothing behind.

Takes the program from AISBX. Speaks TAP.
"""

import json
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from clitest import Home, Tap  # noqa: E402
from e2b_wire import Server, text  # noqa: E402
from family import until  # noqa: E402

tap = Tap()


def code(sandbox, text, **wish):
    """The lines of what a piece of code answers."""
    status, _, body = sandbox.ask("POST", "/execute", {"code": text, **wish}, E2b_Sandbox_Port="49999")
    return [json.loads(line) for line in body.splitlines()] if status == 200 else (status, body)


def kept(home, sandbox, *words):
    """The last run of a sandbox whose command ends in WORDS, once it is over."""
    found = []

    def look():
        found[:] = [row for row in home.rows("history", "-n", "500") if row["sandbox"] == sandbox.id and
                    row["command"][-len(words):] == list(words) and row.get("status") not in (None, "running")]
        return found
    until(look)
    return found[0] if found else {}


def test_record(server, home):
    """Commands and code are runs like any other."""
    one = server.create()
    one.run("echo kept-line; echo bad >&2; exit 3")
    row = kept(home, one, "echo kept-line; echo bad >&2; exit 3")
    tap.ok(row.get("status") == "error" and row.get("exit_code") == 3, "a command is a run on record", row)
    done = home.call("logs", row.get("run_id", "none"))
    tap.ok("kept-line" in done.stdout + done.stderr and "bad" in done.stdout + done.stderr, "with what it wrote", done)
    one.run("head -c 400000 /dev/zero | tr '\\0' x; echo the-end")
    row = kept(home, one, "head -c 400000 /dev/zero | tr '\\0' x; echo the-end")
    done = home.call("logs", row.get("run_id", "none"))
    tap.ok(done.stdout.endswith("the-end\n") and len(done.stdout) < 40000, "of much only the last", len(done.stdout))
    with one.stream("process.Process/Start", {"process": {"cmd": "/bin/sh", "args": ["-c", "read line; exit 4"]}}) as events:
        pid = next(events)["event"]["start"]["pid"]
    home.rows("history")  # which moves the record of its start to the database
    one.call("process.Process/SendInput", {"process": {"pid": pid}, "input": {"stdin": text(b"x\n")}})
    tap.equal(kept(home, one, "read line; exit 4").get("exit_code"), 4, "also when its client has left")
    with one.stream("process.Process/Start", {"process": {"cmd": "/bin/none", "args": ["x"]}}) as events:
        list(events)
    tap.equal(kept(home, one, "/bin/none", "x").get("exit_code"), 127, "and when there is no such program")
    code(one, "print('of code')\n1/0")
    row = kept(home, one, "python3", "-c", "print('of code')\n1/0")
    done = home.call("logs", row.get("run_id", "none"))
    tap.ok(row.get("status") == "error" and "of code" in done.stdout and "ZeroDivisionError" in done.stdout + done.stderr, "code as well", (row, done))
    with one.stream("process.Process/Start", {"process": {"cmd": "/bin/sleep", "args": ["301"]}}) as events:
        next(events)
        server.ask("DELETE", f"/sandboxes/{one.id}")
    tap.equal(kept(home, one, "/bin/sleep", "301").get("status"), "killed", "what ends with its sandbox is on record as killed")


def test_judged(server, home):
    """A policy that is written while a sandbox lives is asked about its next command."""
    one = server.create()
    rows = [one.ask("POST", "/contexts", {"language": name}, E2b_Sandbox_Port="49999")[2] for name in ("sh", "python")]
    rows += one.ask("GET", "/contexts", E2b_Sandbox_Port="49999")[2]
    contexts, python = [row["id"] for row in rows if row["language"] != "python"], rows[1]["id"]
    place = home.path + "/.config/aisbx/policy"
    os.makedirs(place, mode=0o755)
    with open(place + "/p.rego", "w", encoding="ascii") as file:
        file.write('package aisbx\ndeny contains "no forbidden words" if { some word in input.spec.command; contains(word, "forbidden") }\n')
    out = one.run("echo forbidden > mark")
    tap.ok(out[2] is None and out[3]["error"]["code"] == "permission_denied" and "forbidden words" in out[3]["error"]["message"],
           "a policy denies a command", out)
    tap.equal(one.run("cat mark 2>/dev/null; echo none")[0], b"none\n", "which has not run; another one does")
    status, body = code(one, "open('mark', 'w').write('forbidden')")
    tap.ok(status == 403 and "forbidden words" in body["message"], "so with code", (status, body))
    body = json.dumps({"process": {"cmd": "/bin/true"}}).encode()
    evil = json.dumps({"process": {"cmd": "/bin/sh", "args": ["-c", "echo forbidden > mark"]}}).encode()
    both = b"".join(struct.pack(">BI", 0, len(part)) + part for part in (body, evil))
    for sent in (both, b"".join((both[len(body) + 5:], both[:len(body) + 5]))):
        one.ask("POST", "/process.Process/Start", sent, Content_Type="application/connect+json")
    tap.equal(one.run("cat mark 2>/dev/null; echo none")[0], b"none\n", "nor behind another message")
    with open(place + "/p.rego", "w", encoding="ascii") as file:
        file.write('package aisbx\ndeny contains "no such language" if { input.spec.command[0] in {"bash", "node"} }\n')
    for asked in ({"language": "bash"}, *({"context_id": name, **more} for name in contexts for more in ({}, {"language": "python"}))):
        answer = code(one, "echo > mark", **asked)
        tap.ok(answer[0] == 403, f"the language that runs is what is judged: {sorted(asked)}", answer)
    tap.equal(one.run("cat mark 2>/dev/null; echo none")[0], b"none\n", "none of which has run")
    tap.ok([line for line in code(one, "6 * 7", context_id=python, language="bash") if line.get("text") == "42"], "and the other way round")
    os.unlink(place + "/p.rego")
    os.rmdir(place)
    code(one, "echo of bash", context_id=contexts[0])
    tap.equal(kept(home, one, "echo of bash").get("command"), ["bash", "-c", "echo of bash"], "as it is what is on record")
    server.ask("DELETE", f"/sandboxes/{one.id}")


def test_limits(home):
    """--time of the server ends commands and code, and a sandbox that does not end them."""
    with Server(home, "--time", "2s") as server:
        one = server.create()
        out = one.run("echo begun; sleep 300")
        tap.ok(out[2]["status"] == "signal: killed", "--time ends a command", out)
        tap.equal(kept(home, one, "echo begun; sleep 300").get("status"), "timeout", "which its record says")
        lines = code(one, "print('begun', flush=True)\nimport time\ntime.sleep(300)")
        tap.ok(lines[-1] == {"type": "end_of_execution"} and lines[-2]["name"] == "TimeLimit", "and code", lines)
        tap.ok(until(lambda: [line for line in code(one, "6 * 7") if line.get("text") == "42"]), "after which its context goes on")
        with one.stream("process.Process/Start", {"process": {"cmd": "/bin/sh", "args": ["-c", "exec setsid sleep 300 & exec sleep 300"]}}) as events:
            next(events)
        tap.ok(until(lambda: one.ask("GET", "/health")[0] == 502), "what its group does not hold ends with the sandbox")


def test_kernel_children(server):
    """The interpreter is killed by its own code: what that has started goes, too."""
    one = server.create()
    code(one, "import subprocess\nsubprocess.Popen(['sleep', '4321'], start_new_session=True)")
    tap.equal(one.run("pgrep -c -f '^sleep 4321'")[0].strip(), b"1", "a child of a kernel")
    code(one, "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nwhile True: pass")
    tap.ok(until(lambda: one.run("pgrep -c -f '^sleep 4321'")[0].strip() == b"0"), "ends with the interpreter")
    tap.ok([line for line in code(one, "6 * 7") if line.get("text") == "42"], "and the next code has another one")
    server.ask("DELETE", f"/sandboxes/{one.id}")


def main():
    with Home("aisbx-e2b-runs-") as home:
        if not home.can_run(tap, "serve e2b"):
            return
        with Server(home) as server:
            test_record(server, home)
            test_judged(server, home)
            test_kernel_children(server)
        test_limits(home)


main()
sys.exit(tap.done())
