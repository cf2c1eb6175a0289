#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mcp: the handshake of every version, frames and broken frames, limits, cancellation, a client that is gone.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a home of its own.
"""

import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import patience, slow  # noqa: E402
from clitest import AISBX, Home, Tap  # noqa: E402
from family import command_lines, halt, shells_with, until  # noqa: E402
from mcpclient import Server, is_refused, state  # noqa: E402

tap = Tap()
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


def memory_is(server, limit, what):
    """At most LIMIT KiB. A sanitizer keeps what was freed, to catch its use: that is no figure of the server's."""
    if slow():
        tap.skip(what, "an instrumented build holds on to freed memory")
    else:
        tap.ok(server.memory_kib() <= limit, what)


def code_of(response):
    return (response.get("error") or {}).get("code")


def alive(name):
    """Whether a process with that in its command line exists."""
    return any(name in "\0".join(words) and pid != os.getpid() for pid, words in command_lines())


def test_versions(home):
    for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
        with Server(home, version=version) as server:
            hello = server.hello["result"]
            tap.ok(hello["protocolVersion"] == version and hello["serverInfo"]["name"] == "aisbx"
                   and "tools" in hello["capabilities"], f"{version} is spoken", hello)
    for version in ("1999-01-01", "2026-07-28", "2030-01-01"):
        with Server(home, version=version) as server:
            tap.equal(server.hello["result"]["protocolVersion"], "2025-11-25",
                      f"{version} by handshake is answered with the newest that has one")
    with Server(home, handshake=False) as server:
        tap.equal(code_of(server.ask("initialize", capabilities={})), -32602, "a handshake names a version")


def test_before_handshake(home):
    with Server(home, handshake=False) as server:
        tap.equal(code_of(server.ask("no/such")), -32601, "an unknown method before the handshake: -32601")
        tap.equal(server.ask("ping").get("result"), {}, "the connection lives: ping")
        tap.equal(code_of(server.ask("tools/list")), -32600, "others wait for the handshake")
        found = server.result("server/discover", _meta=MODERN)
        tap.ok("2026-07-28" in found["supportedVersions"] and found["resultType"] == "complete"
               and "ttlMs" in found and "cacheScope" in found, "server/discover needs none", found)
        found = server.result("tools/list", _meta=MODERN)
        tap.ok(found["resultType"] == "complete" and found["tools"], "nor does a request that names its version")
        found = server.result("tools/call", name="sandbox_run", arguments={"command": ["true"]}, _meta=MODERN)
        tap.ok(found["resultType"] == "complete" and found["structuredContent"]["status"] == "success",
               "tools work that way", found)
        wrong = {**MODERN, "io.modelcontextprotocol/protocolVersion": "2031-01-01"}
        response = server.ask("tools/list", _meta=wrong)
        tap.ok(code_of(response) == -32022 and "2026-07-28" in response["error"]["data"]["supported"],
               "an unknown version is refused with those we speak", response)


BROKEN = [
    (b'{"jsonrpc":"2.0","id":1,', -32700, "half a message"),
    (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', -32700, "bytes that are not UTF-8"),
    (b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}', -32700, "a lone surrogate"),
    (b'{"jsonrpc":"2.0","id":1,"method":"a\\u0000b"}', -32600, "a NUL, written out"),
    (b'{"jsonrpc":"2.0","id":1,"method":"a\0b"}', -32700, "a NUL"),
    (b"[" * 100000, -32700, "depth 100000"),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":1e400}}', -32700, "a number beyond all"),
    (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700, "the same key twice"),
    (b"[" + b"{}," * 200000 + b"{}]", -32700, "too many values"),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, "id null"),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, "a broken number as id"),
    (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, "an object as id"),
    (b'{"jsonrpc":"2.0","id":99999999999999999999999,"method":"ping"}', -32700, "a huge number as id"),
    (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600, "another JSON-RPC"),
    (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600, "a number as method"),
    (b'{"jsonrpc":"2.0","id":1}', -32600, "no method"),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', -32600, "params that are no object"),
    (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, "a batch"),
    (b"7", -32600, "a number"), (b'"x"', -32600, "a text"), (b"null", -32600, "null"),
]


def test_broken(home):
    with Server(home) as server:
        for line, code, name in BROKEN:
            server.raw(line + b"\n")
            response = server.read()
            alive_after = server.ask("ping").get("result") == {}
            tap.ok(code_of(response) == code and alive_after, f"{name}: {code}, and the next request works", response)
        tap.equal(code_of(server.ask("tools/call", name="no_such")), -32602, "an unknown tool: -32602")
        tap.equal(code_of(server.ask("tools/call")), -32602, "a call without a name: -32602")
        tap.equal(code_of(server.ask("tools/list", cursor="x")), -32602, "a foreign cursor: -32602")
        server.tell("notifications/unknown", x=1)
        server.tell("notifications/cancelled", requestId=12345)
        server.send({"jsonrpc": "2.0", "id": 77, "result": {}})
        server.raw(b"\n\r\n\n")
        tap.equal(server.ask("ping").get("result"), {}, "notifications, stray answers and empty lines say nothing")
        server.raw(b'{"jsonrpc":"2.0","id":"half","meth')
        time.sleep(0.1)
        server.raw(b'od":"ping"}\n')
        tap.equal(server.wait("half").get("result"), {}, "a message may come in parts")


def test_huge(home):
    with Server(home) as server:
        before = server.memory_kib()
        for _ in range(256):
            server.raw(b"x" * (1 << 20))
        response = server.read()
        server.raw(b"\n")
        tap.equal(code_of(response), -32600, "256 MiB without a newline: one error")
        tap.equal(server.ask("ping").get("result"), {}, "and the next request works")
        memory_is(server, 64 * 1024, f"memory stays: {before} KiB, then {server.memory_kib()} KiB")
        tap.equal(code_of(server.wait(server.start("ping", {"x": "y" * (5 << 20)}) and None)), -32600,
                  "one that is a little too large: the same")


def test_ids(home):
    with Server(home) as server:
        call = {"name": "sandbox_run", "arguments": {"script": "sleep 0.5; echo first"}}
        # Both at once: the second comes while the first runs, however slow we are.
        server.raw(2 * (json.dumps({"jsonrpc": "2.0", "id": "same", "method": "tools/call", "params": call}).encode() + b"\n"))
        answers = [server.wait("same"), server.wait("same")]
        tap.ok(code_of(answers[0]) == -32600 and answers[1]["result"]["structuredContent"]["stdout"] == "first\n",
               "an id that is in use is refused, and its first request answered", answers[0])
        server.send({"jsonrpc": "2.0", "id": "same", "method": "ping"})
        tap.equal(server.wait("same").get("result"), {}, "afterwards it may be used again")
        for number in ("9007199254740993", "9223372036854775807", "-9223372036854775808", "0", '""', '"a\\u0000b"'):
            server.raw(f'{{"jsonrpc":"2.0","id":{number},"method":"ping"}}\n'.encode())
            answer = server.read()
            tap.ok(answer.get("result") == {} and answer["id"] == json.loads(number), f"id {number} comes back as it is", answer)
        for number in ("9223372036854775808", "1" * 400, "1.5", "1e400", "null", "true", "[1]", "{}"):
            server.raw(f'{{"jsonrpc":"2.0","id":{number},"method":"ping"}}\n'.encode())
            answer = server.read()
            tap.ok(code_of(answer) in (-32600, -32700) and answer["id"] is None, f"id {number[:20]} is none", answer)
        call = {"name": "sandbox_run", "arguments": {"script": "sleep 1"}}
        both = {"id": "long", "method": "tools/call", "params": call}, {"id": "short", "method": "ping"}
        server.raw(b"".join(json.dumps({"jsonrpc": "2.0", **one}).encode() + b"\n" for one in both))
        tap.equal(server.read()["id"], "short", "a long call keeps nobody waiting")
        server.wait("long")


def test_frames_only(home):
    noise = '{"jsonrpc":"2.0","id":999,"result":{}}'
    script = f"echo '{noise}'; echo '{noise}' >&2; printf '\\n\\n{noise}\\n' > /dev/stdout; ls -l /proc/self/fd"
    with Server(home) as server:
        found = server.data("sandbox_run", script=script)
        tap.ok(found["stdout"].startswith(noise + "\n") and found["stderr"] == noise + "\n",
               "what a command prints arrives as data", found)
        tap.equal((server.seen, server.buffer), ({}, b""), "and nothing of it as a frame")
        found = server.data("sandbox_run", script="printf '\\377\\000\\033[2J'")
        tap.equal((found["stdout_encoding"], found["stdout"]), ("base64", "/wAbWzJK"), "bytes come as base64")


def test_caps(home):
    with Server(home) as server:
        result = server.call("sandbox_run", script="seq 1 100000")
        data, kinds = result["structuredContent"], [block["type"] for block in result["content"]]
        tap.ok(data["truncated"] and len(data["stdout"]) < 40000 and data["stdout"].startswith("1\n2\n")
               and data["stdout"].endswith("99999\n100000\n"), "long output: head and tail", data["stdout"][:50])
        tap.ok(kinds == ["text", "resource_link"] and data["run_id"] in result["content"][1]["uri"]
               and len(result["content"][0]["text"]) < 12000, "and a link to the rest", kinds)
        result = server.call("sandbox_run", script="yes | head -c 30000000")
        tap.ok(result["structuredContent"]["stdout_bytes"] == 30000000 and server.memory_kib() < 64 * 1024,
               "30 MB of output are counted, not held")
    with Server(home, version="2025-03-26") as server:
        kinds = [block["type"] for block in server.call("sandbox_run", script="seq 1 100000")["content"]]
        tap.equal(kinds, ["text"], "clients that know no links get none")


def test_progress_and_cancel(home):
    with Server(home) as server:
        params = {"name": "sandbox_run", "arguments": {"script": "sleep 5"}, "_meta": {"progressToken": "tok"}}
        server.wait(server.start("tools/call", params))
        steps = [note["params"]["progress"] for note in server.notes
                 if note["method"] == "notifications/progress" and note["params"]["progressToken"] == "tok"]
        tap.ok(len(steps) >= 1 and steps == sorted(steps), "progress is told, and rises", steps)
        params = {"name": "race", "arguments": {"attempts": [{"name": "a", "script": "true"}]},
                  "_meta": {"progressToken": 7}}
        server.wait(server.start("tools/call", params))
        tap.ok(any("attempts" in note["params"].get("message", "") for note in server.notes
                   if note["params"]["progressToken"] == 7), "in words, where the operation has some", server.notes)
        mark = f"sleep 98765.{os.getpid()}"
        running = server.start("tools/call", {"name": "sandbox_run", "arguments": {"script": mark + " & wait"}})
        until(lambda: alive(mark))
        server.tell("notifications/cancelled", requestId=running, reason="enough")
        tap.ok(until(lambda: not alive(mark)), "a cancelled call ends, with everything it started")
        tap.equal(server.ask("ping").get("result"), {}, "the server goes on")
        tap.ok(running not in server.seen, "nothing is answered to it")
        tap.equal(server.settle(), [], "no child is left")
        for _ in range(30):
            one = server.start("tools/call", {"name": "sandbox_run", "arguments": {"command": ["true"]}})
            server.tell("notifications/cancelled", requestId=one)
        tap.equal(server.data("sandbox_run", script="echo fine")["stdout"], "fine\n", "cancelling at once harms nobody")


def test_levels(home):
    with Server(home) as server:
        tap.equal(server.ask("logging/setLevel", level="debug").get("result"), {}, "logging/setLevel")
        tap.equal(code_of(server.ask("logging/setLevel", level="loud")), -32602, "a level nobody knows: -32602")


DENIED = "python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 443), 1)' || true"


def logged(server):
    """What was logged since the last look: (level, event)."""
    found = [(note["params"]["level"], note["params"]["data"]["event"]) for note in server.notes
             if note["method"] == "notifications/message"]
    server.notes.clear()
    return found


def test_messages(home):
    with Server(home) as server:
        server.call("sandbox_run", script=DENIED)
        server.call("sandbox_exec", sandbox="nobody", script="true")
        tap.equal(logged(server), [], "nobody is told what nobody asked for")
        server.ask("logging/setLevel", level="notice")
        server.call("sandbox_run", script="true")
        tap.equal(logged(server), [], "a run that went well is no news")
        result = server.data("sandbox_run", script=DENIED)
        notes = list(server.notes)
        tap.equal(logged(server)[:1], [("warning", "denied")], "a denial is")
        data = notes[0]["params"]["data"] if notes else {}
        tap.ok(notes and notes[0]["params"]["logger"] == "aisbx" and data["run_id"] == result["run_id"]
               and "192.0.2.1" in data["what"] and data["hint"], "with run, rule and remedy", notes)
        server.call("sandbox_run", script="sleep 60", time="1s")
        tap.equal(logged(server), [("warning", "limit hit")], "so is a limit")
        server.call("sandbox_exec", sandbox="nobody", script="true")
        tap.equal(logged(server), [("warning", "refused")], "and a refusal")
        server.call("sandbox_create", sandbox="told")
        server.call("sandbox_exec", sandbox="told", script="echo new > told.txt")
        server.call("promote_request", sandbox="told")
        tap.equal(logged(server), [("notice", "promotion request")], "and what a person has to decide")
        server.ask("logging/setLevel", level="error")
        server.call("sandbox_run", script=DENIED)
        server.call("promote_request", sandbox="told")
        tap.equal(logged(server), [], "but not below the level")
        server.ask("logging/setLevel", level="debug")
        server.call("sandbox_run", script="for i in $(seq 1 60); do " + DENIED.replace("443", "$i").replace("'", '"')
                    .replace('"192.0.2.1"', "'192.0.2.1'") + "; done 2>/dev/null", time="50s")
        tap.ok(len(logged(server)) <= 20, "and never more than 20 of one call")
        server.call("sandbox_remove", sandbox="told")
    with Server(home, handshake=False) as server:
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
        call = {"name": "sandbox_exec", "arguments": {"sandbox": "nobody", "script": "true"}}
        server.result("tools/call", **call, _meta=meta)
        tap.equal(logged(server), [], "2026-07-28: a request without a level is told nothing")
        result = server.result("tools/call", **call, _meta={**meta, "io.modelcontextprotocol/logLevel": "warning"})
        tap.equal(logged(server), [("warning", "refused")], "one with a level is")
        tap.equal(result.get("resultType"), "complete", "before its answer")
        tap.equal(code_of(server.ask("logging/setLevel", level="debug", _meta=meta)), -32601, "and there is no setLevel")


def test_resources(home):
    with Server(home) as server:
        tap.equal({row["uri"] for row in server.result("resources/list")["resources"]},
                  {"aisbx://policy", "aisbx://sandboxes", "aisbx://artifacts"}, "resources/list")
        rows = server.result("resources/templates/list")["resourceTemplates"]
        tap.ok("aisbx://runs/{run_id}/log" in {row["uriTemplate"] for row in rows}, "resources/templates/list", rows)
        server.call("sandbox_create", sandbox="seen")
        run = server.data("sandbox_exec", sandbox="seen", script="echo said; echo new > seen.txt")["run_id"]
        server.call("sandbox_exec", sandbox="seen", script="mkdir d; printf '\\0\\377' > d/bin; echo in > 'd/a b'; head -c 5m /dev/zero > big")
        saved = server.data("artifact_save", sandbox="seen", paths=["seen.txt", "d", "big"])["artifacts"]
        kept = {row["path"]: row["artifact_id"] for row in saved}

        def read(name, who=server):
            response = who.ask("resources/read", uri="aisbx://" + name)
            return response["result"]["contents"][0]["text"] if "result" in response else code_of(response)
        tap.equal(read(f"runs/{run}/log"), "said\n", "a log")
        tap.ok("+new" in read("sandboxes/seen/diff"), "a diff")
        tap.equal(json.loads(read("policy"))["driver"], "linux", "the effective policy")
        tap.equal([row["name"] for row in json.loads(read("sandboxes"))["sandboxes"]], ["seen"], "sandboxes")
        tap.equal(json.loads(read("sandboxes/seen"))["name"], "seen", "one of them")
        tap.equal(json.loads(read(f"runs/{run}"))["run_id"], run, "a run")
        tap.equal(sorted(row["path"] for row in json.loads(read("artifacts"))["artifacts"]), ["big", "d", "seen.txt"], "artifacts")
        tap.equal(read(f"artifacts/{kept['seen.txt']}"), "new\n", "one of them is its content")
        tap.equal(sorted(row["path"] for row in json.loads(read(f"artifacts/{kept['d']}"))["entries"]), ["a b", "bin"],
                  "a directory is a list")
        tap.equal(read(f"artifacts/{kept['d']}/a%20b"), "in\n", "and its files have their own names")
        item = server.result("resources/read", uri=f"aisbx://artifacts/{kept['d']}/bin")["contents"][0]
        tap.equal((item.get("blob"), item["mimeType"]), ("AP8=", "application/octet-stream"), "bytes come as a blob")
        response = server.ask("resources/read", uri=f"aisbx://artifacts/{kept['big']}")
        tap.ok(code_of(response) == -32002 and "artifact get" in response["error"]["message"], "what is large is not sent", response)
        for name in (f"{kept['d']}/nope", f"{kept['d']}/../seen.txt", f"{kept['d']}/%00", f"{kept['d']}/%zz", "0" * 26, "../x"):
            tap.equal(read("artifacts/" + name), -32002, f"no artifact {name[-12:]!r}")
        for name in ("nope", "sandboxes/../etc", "sandboxes/%2e%2e", "sandboxes/nosuch/diff", "runs//log", "runs/zz", ""):
            tap.equal(read(name), -32002, f"no resource {name!r}")
        tap.equal(code_of(server.ask("resources/read")), -32602, "a read without a name")
        with Server(home, "--owner", "other") as other:
            for name in ("sandboxes/seen", "sandboxes/seen/diff", f"runs/{run}", f"runs/{run}/log",
                         f"artifacts/{kept['seen.txt']}", f"artifacts/{kept['d']}/bin"):
                tap.equal(read(name, other), -32002, f"{name.split('/')[0]}: another owner's is not there")
            tap.equal(json.loads(read("artifacts", other))["artifacts"], [], "nor are artifacts")
        result = server.call("sandbox_run", script="seq 1 100000")
        link = result["content"][1]["uri"]
        tap.ok(read(link[len("aisbx://"):]).endswith("\n100000\n"), "what a link points to can be read")
        server.call("sandbox_remove", sandbox="seen")
        names = [row["name"] for row in server.result("prompts/list")["prompts"]]
        tap.ok("safe_change" in names, "prompts/list", names)
        found = server.result("prompts/get", name="safe_change", arguments={"task": "100% %s"})
        tap.ok("Task: 100% %s\n" in found["messages"][0]["content"]["text"], "prompts/get", found)
        tap.equal([code_of(server.ask("prompts/get", **words)) for words in ({}, {"name": "x"}, {"name": "safe_change"})],
                  [-32602] * 3, "unknown prompts, and those without their argument")


def test_crowd(home):
    with Server(home) as server:
        began = [server.start("tools/call", {"name": "sandbox_run", "arguments": {"script": f"sleep 0.2; echo {i}"}})
                 for i in range(64)]
        found = [server.wait(one)["result"]["structuredContent"]["stdout"] for one in began]
        tap.equal(found, [f"{i}\n" for i in range(64)], "64 calls at once: each gets its own answer")
        for i in range(400):
            server.start("tools/call", {"name": "sandbox_run", "arguments": {"command": ["sleep", "1000"]}})
        refused = 0
        while True:
            message = server.read()
            if message.get("result", {}).get("isError"):
                refused += is_refused(message["result"], "denied", "turn")
            if refused >= 100:
                break
        tap.ok(refused >= 100, "more than can wait are refused, not held")
        tap.equal(server.process.poll(), None, "the server lives")


def rest(server):
    """Until somebody waits for the next call. Such a child is seen before the server has closed its ends: it answers then."""
    until(server.spare)
    server.ask("ping")


def test_no_leak(home):
    with Server(home) as server:
        for _ in range(20):
            server.data("sandbox_run", command=["true"])
        server.settle()
        rest(server)
        memory, descriptors = server.memory_kib(), server.descriptors()
        for _ in range(100):
            server.data("sandbox_run", command=["true"])
        tap.equal(server.settle(), [], "no children")
        rest(server)
        tap.equal(server.descriptors(), descriptors, "100 calls later, as many descriptors")
        memory_is(server, memory + 256, f"and as much memory: {memory} KiB, then {server.memory_kib()} KiB")
        tap.ok(memory <= 8 * 1024 or "ASAN_OPTIONS" in os.environ, f"which is at most 8 MiB: {memory} KiB")


def test_spare(home):
    """A child that waits for the next call: it may take it, be too small for it, or be gone."""
    with Server(home) as server:
        tap.equal(server.spare(), [], "no call, nobody who waits for one")
        server.data("sandbox_create", sandbox="spare")
        tap.ok(until(server.spare), "after a call somebody waits for the next")
        first = server.spare()
        text = server.data("sandbox_exec", sandbox="spare", command=["printf", "%s", "\u00fc \t'\""], env={"A": "1"})
        tap.equal(text.get("stdout"), "\u00fc \t'\"", "who takes it hears every word")
        tap.ok(until(lambda: set(server.spare()) - set(first)), "and another one waits")
        wide = server.data("sandbox_exec", sandbox="spare", command=["printf", "%s", "x" * 50000])
        tap.equal(wide.get("stdout_bytes"), 50000, "a long request is none for it")
        again = server.call("sandbox_exec", sandbox="spare", command=[])
        tap.ok(again.get("isError") is True, "nor is a wrong one", again)
        for pid in server.spare():
            os.kill(int(pid), signal.SIGKILL)
            until(lambda pid=pid: state(pid) in ("Z", ""))
        tap.equal(server.data("sandbox_exec", sandbox="spare", command=["true"]).get("status"), "success", "killed, it is not missed")
        until(server.spare)
        halted = halt(server.spare())
        tap.equal(server.data("sandbox_exec", sandbox="spare", command=["true"]).get("status"), "success", "halted, it is not waited for")
        tap.ok(halted and until(lambda: not any(map(state, halted))), "and put away", halted)
        server.data("sandbox_remove", sandbox="spare")
        until(server.spare)
        last = halt(server.spare())
    tap.ok(last and until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in last)), "it ends with its server, halted or not", last)


def test_used(home):
    """A child whose call left nothing behind performs the next one, and nothing of the one before is in that."""
    with Server(home) as server:
        def run(script, **more):
            return server.data("sandbox_exec", sandbox="used", script=script, **more)

        server.data("sandbox_create", sandbox="used")
        run("echo one > kept")
        until(server.spare)
        run("true")
        tap.ok(until(lambda: len(server.spare()) == 2), "one that performed a call waits beside a fresh one", server.spare())
        both = set(server.spare())
        tap.equal([run("echo $WORD", env={"WORD": str(i)}).get("stdout") for i in range(5)], [f"{i}\n" for i in range(5)],
                  "call after call is answered")
        # It waits again a moment after its answer.
        tap.ok(until(lambda: set(server.spare()) == both), "by the same child", (both, server.spare()))
        plain = run("ls /proc/self/fd; echo \"<$WORD>\"")
        tap.equal(plain.get("stdout"), "0\n1\n2\n3\n<>\n", "without a word or a descriptor of the one before")
        tap.equal(run("read word; echo \"<$word>\"").get("stdout"), "<>\n", "and with nothing to read")
        server.data("sandbox_stop", sandbox="used")
        tap.equal(run("cat kept").get("stdout"), "one\n", "stopped in between, the sandbox is started anew")
        server.data("sandbox_remove", sandbox="used")
        tap.ok(server.call("sandbox_exec", sandbox="used", command=["true"]).get("isError"), "removed, it is gone")
        server.data("sandbox_create", sandbox="used")
        tap.equal(run("cat kept || echo none").get("stdout"), "none\n", "another of that name is another")
        until(server.spare)
        run("true")
        until(lambda: len(server.spare()) == 2)
        began = server.start("tools/call", {"name": "sandbox_exec", "arguments": {"sandbox": "used", "script": "sleep 9997"}})
        busy = until(server.children) and server.children()
        server.tell("notifications/cancelled", requestId=began)
        tap.ok(busy and until(lambda: not any(state(pid) for pid in busy)), "one whose call is cancelled takes no other", busy)
        tap.equal(run("echo again").get("stdout"), "again\n", "and the next call has another")
        halted = halt(server.spare())
        tap.equal(run("echo again").get("stdout"), "again\n", "halted, they are not waited for")
        tap.ok(halted and until(lambda: not any(map(state, halted))), "and put away", halted)
        server.data("sandbox_remove", sandbox="used")


def test_client_gone(home):
    for how in ("eof", "pipe", "term", "kill"):
        mark = f"sleep 87654.{os.getpid()}.{len(how)}{how}"
        server = Server(home)
        server.call("sandbox_create", sandbox=f"gone-{how}")
        server.start("tools/call", {"name": "sandbox_run", "arguments": {"script": f": {mark}; sleep 9999"}})
        server.start("tools/call", {"name": "sandbox_exec", "arguments": {"sandbox": f"gone-{how}",
                                                                       "script": f": {mark}; sleep 9998"}})
        until(lambda: shells_with(mark) == 2)
        if how == "eof":
            server.process.stdin.close()
        elif how == "pipe":
            server.process.stdout.close()
            server.raw(b'{"jsonrpc":"2.0","id":5,"method":"ping"}\n')
        else:
            server.process.send_signal(signal.SIGTERM if how == "term" else signal.SIGKILL)
        try:
            server.process.wait(patience(60))
        except subprocess.TimeoutExpired:
            server.process.kill()
            tap.ok(False, f"{how}: the server ends")
        tap.ok(until(lambda: not alive(mark)), f"{how}: what ran is ended with the client")
        server.close()
    home.call("rm", *[f"gone-{how}" for how in ("eof", "pipe", "term", "kill")])


def test_one_shot(home):
    lines = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}},
             {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
              "params": {"name": "sandbox_run", "arguments": {"command": ["echo", "hi"]}}}]
    done = home.call("mcp", stdin="".join(json.dumps(line) + "\n" for line in lines))
    tap.ok('"stdout":"hi\\n"' in done.stdout and done.returncode == 0, "a script that hangs up at once gets its answer",
           done)
    done = home.call("mcp", "extra")
    tap.equal(done.returncode, 2, "words are refused")
    done = subprocess.run([AISBX, "mcp", "-C", "/nowhere"], env=home.env, capture_output=True, text=True, check=False)
    tap.ok(done.returncode == 2 and "/nowhere" in done.stderr, "so is a workspace that is not there", done)


with Home("mcp-protocol-") as home:
    for test in (test_versions, test_before_handshake, test_broken, test_huge, test_ids, test_frames_only, test_caps,
                 test_progress_and_cancel, test_levels, test_messages, test_resources, test_crowd, test_no_leak, test_spare,
                 test_used, test_client_gone, test_one_shot):
        test(home)
sys.exit(tap.done())
