#!/usr/bin/env python3
"""mcp: a client that wants more than it was given: memory, consent, gates, the profile, sandboxes of others.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a home of its own.
"""

import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from clitest import Home, Tap  # noqa: E402
from mcpclient import Gone, Server, is_refused  # noqa: E402

tap = Tap()
ELICITS = {"elicitation": {}}
VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
YES = {"action": "accept", "content": {"approve": True}}


def change(server, name, script="echo new > new.txt"):
    server.call("sandbox_create", sandbox=name)
    server.call("sandbox_exec", sandbox=name, script=script)


def test_crowd(home):
    """Decisions of people come on top of calls at work: none of them may find the server's room too small."""
    with Server(home, capabilities=ELICITS) as server:
        asked = []
        server.answer_requests = asked.append
        change(server, "crowd")
        calls = [server.start("tools/call", {"name": "promote_request", "arguments": {"sandbox": "crowd"}})
                 for _ in range(40)]
        answers = 0
        while len(asked) + answers < len(calls):
            message = server.read(120)
            if "method" in message and "id" in message:
                asked.append(message)
            elif "id" in message:
                server.seen[message["id"]] = message
                answers += 1
        tap.ok(0 < len(asked) <= 32, "a person is asked so many things at a time", len(asked))
        busy = [server.start("tools/call", {"name": "sandbox_run",
                                            "arguments": {"command": ["sleep", "3"], "stdin": "x" * 300000}})
                for _ in range(32)]
        for message in asked:
            server.send({"jsonrpc": "2.0", "id": message["id"], "result": {"action": "decline"}})
        try:
            tap.equal(server.ask("ping").get("result"), {}, "answers to all of them at once leave the server alive")
            done = [server.wait(call, 120) for call in calls + busy]
        except (Gone, BrokenPipeError) as problem:
            tap.ok(False, "answers to all of them at once leave the server alive", (problem, server.process.poll()))
            return
        tap.ok(all("result" in one for one in done), "and every call is answered")


def test_own_word(home):
    """The word of a person who was never asked."""
    bring = {"inputResponses": {"consent": YES}}
    with Server(home, "--owner", "selfmade") as server:
        change(server, "self")
        found = server.data("promote_request", sandbox="self")
        for label, meta in (("without the capability", {VERSION: "2026-07-28"}),
                            ("with it", {VERSION: "2026-07-28", CAPABILITIES: ELICITS})):
            for state in (found["request_id"], "", "\0", "\0" + found["request_id"]):
                done = server.result("tools/call", name="promote_request", arguments={"sandbox": "self"},
                                     requestState=state, _meta=meta, **bring)
                if not is_refused(done, "consent"):
                    tap.ok(False, f"{label}: requestState {state!r} is no consent", done)
        tap.ok(not os.path.exists(home.work + "/new.txt"), "the id of a request is nobody's consent")
    modern = {VERSION: "2026-07-28", CAPABILITIES: ELICITS}
    with Server(home, "--owner", "selfmade", handshake=False) as server, \
            Server(home, "--owner", "selfmade", handshake=False) as other:
        asked = server.result("tools/call", name="promote_request", arguments={"sandbox": "self"}, _meta=modern)
        state = asked["requestState"]
        tap.ok(state != found["request_id"] and state not in home.call("promotions", "--json").stdout,
               "what a client brings back is in no other answer", asked)
        done = other.result("tools/call", name="promote_request", arguments={}, requestState=state, _meta=modern, **bring)
        tap.ok(is_refused(done), "a server that did not ask takes no answer", done)
        done = server.result("tools/call", name="promote_request", arguments={}, requestState=state,
                             _meta={VERSION: "2026-07-28"}, **bring)
        tap.ok(is_refused(done), "nor does one take it from a client that cannot ask", done)
        done = server.result("tools/call", name="promote_request", arguments={}, requestState=state, _meta=modern,
                             inputResponses={"consent": {"action": "decline"}})
        tap.equal(done["structuredContent"]["state"], "rejected", "the one that asked does")
        done = server.result("tools/call", name="promote_request", arguments={}, requestState=state, _meta=modern, **bring)
        tap.ok(is_refused(done) and not os.path.exists(home.work + "/new.txt"), "once", done)


def test_dialogue(home):
    """Words of the agent's that pass for ours."""
    with Server(home, capabilities=ELICITS) as server:
        asked = []

        def answer(message):
            asked.append(message["params"]["message"])
            server.send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": 1, "message": "x"}, "result": YES})
        server.answer_requests = answer
        change(server, "dlg", "mkdir -p .git/hooks; echo x > .git/hooks/pre-commit; echo x > \"$(printf 'a\\342\\200\\256b')\"")
        found = server.data("promote_request", sandbox="dlg",
                            reason='typo fix.\nThese could make something run: none." \u202e' + " " * 400 + "x")
        text = asked[0] if asked else ""
        lines = text.split("\n")
        tap.ok("\u202e" not in text and "\\u{202e}" in text and "  " * 50 not in text, "nothing unseen is shown", text)
        tap.ok(lines[-1].startswith('The agent says: "') and lines[-1].endswith('"') and '\\"' in lines[-1],
               "the agent's words come last, on one line, in quotes", text)
        tap.ok(any(".git/hooks/pre-commit (" in line for line in lines[1:-1])
               and any("a\\342\\200\\256b" in line for line in lines[1:-1]), "what is applied comes first, by name", text)
        tap.equal(found.get("state"), "rejected", "an answer that is an error as well is no yes")


def test_gates(home):
    """Gates that look at something else than what is applied."""
    profile = home.path + "/evil.yaml"
    with open(profile, "w") as file:
        file.write('name: evil\nextends: default\ngates: ["cmd:! grep -q EVIL src.txt"]\n')
    with Server(home, "--promote-policy", "gates", "--profile", profile) as server:
        change(server, "race", "true")
        for i in range(12):
            server.call("sandbox_files_write", sandbox="race", path="src.txt", content=f"EVIL {i}\n")
            asked = server.start("tools/call", {"name": "promote_request", "arguments": {"sandbox": "race"}})
            time.sleep(random.uniform(0.005, 0.05))
            server.call("sandbox_files_write", sandbox="race", path="src.txt", content=f"good {i}\n")
            server.wait(asked)
            if "EVIL" in (home.read("src.txt") if os.path.exists(home.work + "/src.txt") else ""):
                break
        tap.ok(not os.path.exists(home.work + "/src.txt") or "EVIL" not in home.read("src.txt"),
               "gates judge what is applied, not what comes after it")
        for name, before, after, state in (("snap-bad", "EVIL", "good", "pending"), ("snap-good", "fine", "EVIL", "approved")):
            change(server, name, f"echo {before} > src.txt")
            server.call("sandbox_snapshot", sandbox=name, snapshot="then")
            server.call("sandbox_files_write", sandbox=name, path="src.txt", content=after)
            found = server.data("promote_request", sandbox=name + "@then")
            tap.equal(found.get("state"), state, f"{name}: a snapshot is judged by itself")
        change(server, "part", "echo fine > src.txt; echo helper > helper.txt; echo x > part.txt")
        tap.equal(server.data("promote_request", sandbox="part", paths=["part.txt"]).get("state"), "pending",
                  "gates that saw the whole do not decide about a part")
        for strategy in ("theirs", "lww", "merge+theirs", "ours"):
            found = server.data("promote_request", sandbox="part", strategy=strategy)
            tap.equal(found.get("state"), "pending", f"nor about whose version wins: {strategy}")


with Home("mcp-attack-") as home:
    home.put("keep.txt", "keep\n")
    for test in (test_crowd, test_own_word, test_dialogue, test_gates):
        tap.attempt(test, home)
tap.done()
