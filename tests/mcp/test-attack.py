#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mcp: a client that wants more than it was given: memory, consent, gates, the profile, sandboxes of others.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a home of its own.
"""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from clitest import Home, Tap  # noqa: E402
from family import command_lines, until  # noqa: E402
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
        tap.ok(any(re.search(r"\.git/hooks/pre-commit .*\(", line) for line in lines[1:-1])
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


def test_binding(home):
    """A consent that is taken elsewhere than it was given for."""
    other = home.path + "/elsewhere"
    os.mkdir(other)
    with Server(home, "--owner", "binder") as here, Server(home, "--owner", "binder", cwd=other) as there:
        change(here, "swap", "echo P > payload")
        asked = here.data("promote_request", sandbox="swap")
        here.call("sandbox_remove", sandbox="swap")
        change(there, "swap", "echo P > payload")
        there.call("sandbox_snapshot", sandbox="swap", snapshot="s1")
        done = home.call("promotions", "approve", asked["request_id"], "--yes")
        tap.ok(done.returncode != 0 and not os.path.exists(other + "/payload")
               and not os.path.exists(home.work + "/payload"), "another sandbox of that name is not the one asked about", done)
        states = [row["state"] for row in home.rows("promotions") if row.get("request_id") == asked["request_id"]]
        tap.ok(states in (["ended"], []), "and the question ended with its sandbox", states)
        change(here, "late", "mkdir -p hooks; echo x > hooks/pre-commit; echo 'all:' > Makefile")
        asked = here.data("promote_request", sandbox="late")
        shown = [row["path"] for row in asked["triggers"]]
        path = os.path.join(home.path, ".local/state/aisbx/asks", asked["request_id"])
        with open(path) as file:
            kept = json.load(file)
        kept["triggers"] = [row for row in kept["triggers"] if row["path"] != "Makefile"]
        with open(path, "w") as file:
            json.dump(kept, file)
        done = home.call("promotions", "approve", asked["request_id"], "--yes")
        tap.ok("Makefile" in shown and done.returncode == 4 and not os.path.exists(home.work + "/Makefile"),
               "a word holds for exactly what was listed", (shown, done))
        change(here, "listed", "echo 'all:' > Makefile; chmod 4755 Makefile; ln -s /etc/passwd out; "
               "echo x > \"$(printf '.envrc.\\377')\"; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit")
        asked = here.data("promote_request", sandbox="listed")
        done = home.call("promotions", "approve", asked["request_id"], "--yes")
        tap.ok(len(asked["triggers"]) >= 4 and done.returncode == 0 and os.path.exists(home.work + "/Makefile")
               and os.path.islink(home.work + "/out"), "and for all of that", (asked["triggers"], done))
        home.call("undo")


def test_flood(home):
    """One owner's requests in everybody's way."""
    with Server(home, "--owner", "flood") as flood, Server(home, "--owner", "calm") as calm:
        change(flood, "flood")
        change(calm, "calm")
        for _ in range(50):
            last = flood.call("promote_request", sandbox="flood")
        tap.ok(not last.get("isError"), "so many requests of one owner wait", last)
        tap.ok(is_refused(flood.call("promote_request", sandbox="flood"), "denied", "wait for a person"), "and no more")
        tap.equal(calm.data("promote_request", sandbox="calm").get("state"), "pending", "others still ask")
        done = home.call("promotions", "reject", "--all", "--owner", "flood")
        tap.ok("rejected 50 requests" in done.stdout, "a person ends all of them with one word", done)
        states = {row["state"] for row in calm.data("promotion_list")["promotions"]}
        tap.equal(states, {"pending"}, "and nobody else's")
        for _ in range(50):
            flood.call("promote_request", sandbox="flood")
        tap.ok(is_refused(flood.call("promote_request", sandbox="flood"), "denied"), "then as many again")
        flood.call("sandbox_remove", sandbox="flood")
        change(flood, "flood2")
        tap.equal(flood.data("promote_request", sandbox="flood2").get("state"), "pending",
                  "those about a sandbox that is gone are no more")


def write_profile(path, *lines):
    with open(path, "w") as file:
        file.write("\n".join(("name: p", "extends: default", *lines)) + "\n")


def test_profile(home):
    """A ceiling that the client lifts."""
    write_profile(home.work + "/p.yaml", 'gates: ["diff.files<=100"]')
    for word in ("p.yaml", "./p.yaml", home.work + "/p.yaml", "../project/p.yaml"):
        done = home.call("mcp", "--profile", word, stdin="")
        tap.ok(done.returncode != 0 and "lies in the workspace" in done.stderr, f"{word} is no ceiling", done)
    os.symlink(home.work + "/p.yaml", home.path + "/link.yaml")
    tap.ok(home.call("mcp", "--profile", home.path + "/link.yaml", stdin="").returncode != 0, "nor is a link to it")
    write_profile(home.path + "/outer.yaml")
    with open(home.path + "/outer.yaml", "w") as file:
        file.write("name: outer\nextends: ./project/p.yaml\n")
    tap.ok(home.call("mcp", "--profile", home.path + "/outer.yaml", stdin="").returncode != 0, "nor what extends it")
    tap.ok(home.call("mcp", "--profile", "no-such", stdin="").returncode != 0, "one that is not there is said at the start")
    os.unlink(home.work + "/p.yaml")
    write_profile(home.path + "/kept.yaml")
    secret = home.path + "/secret.txt"
    with open(secret, "w") as file:
        file.write("top-secret-value\n")
    with Server(home, "--profile", home.path + "/kept.yaml") as server:
        change(server, "kept")
        write_profile(home.path + "/kept.yaml", f'secret: ["T={secret}"]')
        for tool, arguments in (("sandbox_run", {"script": "cat /run/secrets/T | base64"}),
                                ("sandbox_exec", {"sandbox": "kept", "script": "cat /run/secrets/T | base64"}),
                                ("task", {"script": "cat /run/secrets/T | base64"})):
            done = server.call(tool, **arguments)
            tap.ok(is_refused(done, "denied", "started again"), f"{tool}: a profile counts as it was at the start", done)
    with open(home.work + "/.aisbx.yaml", "w") as file:
        file.write('name: w\ngates: ["diff.files<=100"]\n')
    with Server(home, "--promote-policy", "gates") as server:
        change(server, "vouch")
        tap.equal(server.data("promote_request", sandbox="vouch").get("state"), "pending",
                  "gates of the workspace alone do not vouch for it")
    os.unlink(home.work + "/.aisbx.yaml")


def test_wider(home):
    """Sandboxes that may do more than the server that enters them."""
    through = home.path + "/through"
    os.mkdir(through)
    secret = home.path + "/secret2.txt"
    with open(secret, "w") as file:
        file.write("top-secret-value\n")
    write_profile(home.path + "/wide.yaml", f'secret: ["T={secret}"]')
    home.call("create", "mine", "--rw-through", f"{through}:/x")
    home.call("create", "plain")
    with Server(home, "--owner", "shared", "--profile", home.path + "/wide.yaml") as wide:
        wide.call("sandbox_create", sandbox="wide")
        done = wide.call("sandbox_exec", sandbox="wide", script="test -s /run/secrets/T")
        tap.ok(not done.get("isError") and done["structuredContent"].get("exit_code") == 0, "who made it enters it", done)
        command = wide.data("sandbox_exec_start", sandbox="wide", script="exec sh").get("exec_id")
    with Server(home, "--owner", "shared") as strict:
        for tool, more in (("sandbox_poll", {}), ("sandbox_write_stdin", {"content": "base64 /run/secrets/T\n"}),
                           ("sandbox_kill", {"signal": "TERM"})):
            done = strict.call(tool, exec_id=command, **more)
            tap.ok(is_refused(done, "denied", "more than this server's profile"), f"{tool}: nor its commands", done)
    for flags, name in ((("--owner", "shared"), "wide"), (("--all",), "mine"), (("--all",), "wide")):
        with Server(home, *flags) as strict:
            for tool, more in (("sandbox_exec", {"script": "echo pwned > /x/pwned; base64 /run/secrets/T"}),
                               ("sandbox_exec_start", {"script": "echo pwned > /x/pwned"}),
                               ("sandbox_files_read", {"path": "/run/secrets/T"}),
                               ("sandbox_fork", {"new_name": f"{name}-fork"}),
                               ("gate_check", {"gates": ["cmd:echo pwned > /x/pwned"]})):
                done = strict.call(tool, sandbox=name, **more)
                if not is_refused(done, "denied", "more than this server's profile"):
                    tap.ok(False, f"{flags} {name}: {tool}", done)
            tap.ok(not os.path.exists(through + "/pwned"), f"{flags} {name}: what may do more is not entered")
    with Server(home, "--all") as server:
        done = server.call("sandbox_exec", sandbox="plain", script="true")
        tap.ok(not done.get("isError"), "what may not is", done)


def test_files(home):
    """Files that come out of their tools other than they went in."""
    short, long = home.path + "/short.txt", home.path + "/long.txt"
    for path, text in ((short, "hunter2x"), (long, "a-rather-long-value-of-a-secret")):
        with open(path, "w") as file:
            file.write(text)
    write_profile(home.path + "/holds.yaml", f'secret: ["T={short}", "LONGER={long}"]')
    with Server(home, "--profile", home.path + "/holds.yaml") as server:
        change(server, "files", "true")

        def count(text, path="conf"):
            return server.data("sandbox_exec", sandbox="files", script=f"grep -c -- '{text}' {path}").get("exit_code")
        text = "user=x\npass=hunter2x\nkey=a-rather-long-value-of-a-secret\n"
        server.call("sandbox_files_write", sandbox="files", path="conf", content=text)
        done = server.call("sandbox_files_edit", sandbox="files", path="conf", old="user=x", new="user=y")
        tap.ok(not done.get("isError") and count("user=y") == 0 and count("hunter2x") == 0
               and count("a-rather-long-value") == 0, "an edit leaves the rest of the file alone, secrets as well", done)
        server.call("sandbox_exec", sandbox="files", script="base64 /run/secrets/LONGER > coded; od -tx1 /run/secrets/LONGER >> coded")
        done = server.call("sandbox_files_edit", sandbox="files", path="coded", old="0000000 ", new="offset: ")
        tap.equal(server.data("sandbox_exec", sandbox="files",
                              script="head -1 coded | base64 -d | cmp - /run/secrets/LONGER").get("exit_code"), 0,
                  "in its encodings, too")
        script = "base64 /run/secrets/LONGER; (base64 -w9 | tr '\\n' ' ') < /run/secrets/LONGER; od -tx1 /run/secrets/LONGER >&2"
        started = server.data("sandbox_exec_start", sandbox="files", script=script).get("exec_id")
        polled = {"state": "running"}
        while polled.get("state") == "running":
            polled = server.data("sandbox_poll", exec_id=started, wait_ms=20000)
        for what, shown in (("sandbox_run", server.data("sandbox_run", script=script)), ("sandbox_poll", polled),
                            ("sandbox_exec", server.data("sandbox_exec", sandbox="files", script=script))):
            tap.ok(shown.get("stdout", "").count("[secret LONGER]") == 2 and "[secret LONGER]" in shown.get("stderr", "")
                   and "YS1yYXRo" not in str(shown) and "61 2d 72" not in str(shown), f"{what} hides its encodings", shown)
        for path in ("/run/secrets/T", "/run/../run/secrets/T", "/proc/self/root/run/secrets/T", "link"):
            server.call("sandbox_exec", sandbox="files", script="ln -sf /run/secrets/T link")
            for more in ({"offset": 1}, {"limit": 4}, {}):
                done = server.call("sandbox_files_read", sandbox="files", path=path, **more)
                if not is_refused(done, "secrets"):
                    tap.ok(False, f"{path} {more} is not read in part", done)
        tap.ok(is_refused(server.call("sandbox_files_read", sandbox="files", path="/run/secrets/T", offset=1), "secrets"),
               "secrets are not read in part")
        server.call("sandbox_exec", sandbox="files", script="chmod 751 conf; mkfifo fifo; ln -s conf to-conf; ln -s new to-new")
        done = server.call("sandbox_files_write", sandbox="files", path="conf", content="%%%not base64", encoding="base64")
        tap.ok(is_refused(done, "base64") and count("user=y") == 0, "what is not base64 destroys nothing", done)
        for tool, more in (("sandbox_files_write", {"content": "x"}), ("sandbox_files_edit", {"old": "a", "new": "b"}),
                           ("sandbox_files_read", {})):
            tap.ok(is_refused(server.call(tool, sandbox="files", path="fifo", **more), "regular"), f"{tool}: no fifo")
        server.call("sandbox_files_write", sandbox="files", path="to-conf", content="whole\n")
        server.call("sandbox_files_write", sandbox="files", path="to-new", content="new\n")
        server.call("sandbox_files_write", sandbox="files", path="odd name\n", content="odd")
        done = server.data("sandbox_exec", sandbox="files",
                           script="stat -c %a conf new; test -L to-conf && cat conf new; ls -A; cat 'odd name\n'")
        lines = done.get("stdout", "").split("\n")
        tap.ok(lines[:4] == ["751", "644", "whole", "new"] and lines[-1] == "odd"
               and not any(".aisbx" in line for line in lines),
               "links lead where they lead, the mode stays, nothing is left beside it", done)
        big = "0123456789abcdef" * 45000
        server.call("sandbox_files_write", sandbox="files", path="big", content=big)
        done = server.data("sandbox_files_edit", sandbox="files", path="big", old="f0", new="F0", all=True)
        tap.equal(done.get("replaced"), 44999, "a large file is edited whole")


def test_own_rules(home):
    """Files that say what sandboxes and stages may do, promoted without a word."""
    write_profile(home.work + "/own.yaml")
    home.call("create", "own", "--profile", "./own.yaml")
    home.call("exec", "own", "--", "sh", "-c", "echo 'net: allow' >> own.yaml")
    done = home.call("promote", "own")
    tap.ok(done.returncode == 4 and "own.yaml" in done.stdout + done.stderr, "the profile it was made with", done)
    home.call("create", "pipe")
    home.call("exec", "pipe", "--", "sh", "-c", "echo 'stages: []' > pipeline.yaml")
    done = home.call("promote", "pipe")
    tap.ok(done.returncode == 4 and "pipeline.yaml" in done.stdout + done.stderr, "the pipeline of the workspace", done)
    home.call("rm", "own", "pipe")
    os.unlink(home.work + "/own.yaml")


def test_commit(home):
    """Commits are changes of the real repository."""
    run = dict(cwd=home.work, check=True, capture_output=True, env={**home.env, "GIT_CONFIG_NOSYSTEM": "1"})
    subprocess.run(["git", "init", "-q"], **run)
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "first", "--allow-empty"], **run)
    before = subprocess.run(["git", "rev-parse", "HEAD"], **run).stdout
    for policy in ("never", "ask"):
        with Server(home, "--promote-policy", policy) as server:
            change(server, "commit-" + policy, f"echo {policy} > committed.txt")
            home.call("promote", "commit-" + policy)
            done = server.call("repo_commit", sandbox="commit-" + policy, message="by the agent")
            tap.ok(is_refused(done, "denied") if policy == "never" else done["structuredContent"]["state"] == "pending",
                   f"{policy}: an agent commits nothing", done)
    tap.equal(subprocess.run(["git", "rev-parse", "HEAD"], **run).stdout, before, "the branch is where it was")
    shutil.rmtree(home.work + "/.git")


def test_others(home):
    """Runs and commands of other owners."""
    with Server(home, "--owner", "first") as first, Server(home, "--owner", "second") as second:
        change(first, "shared-name", "true")
        run = first.data("sandbox_exec", sandbox="shared-name", script="echo mine")["run_id"]
        command = first.data("sandbox_exec_start", sandbox="shared-name", script="echo mine; sleep 1")["exec_id"]
        for tool in ("run_show", "logs"):
            done = second.call(tool, run_id=run[:20])
            tap.ok(done.get("isError") and run not in json.dumps(done), f"{tool} completes nobody's id", done)
        first.call("sandbox_remove", sandbox="shared-name")
        second.call("sandbox_create", sandbox="shared-name")
        done = second.call("sandbox_poll", exec_id=command)
        tap.ok(is_refused(done, "not_found") and "mine" not in json.dumps(done), "a name taken over brings no commands", done)


def test_odd(home):
    """Arguments and messages that are not quite what they should be."""
    with Server(home) as server:
        change(server, "odd", "true")
        done = server.call("sandbox_exec", sandbox="odd", command=["pwd"], cwd=5)
        tap.ok(done["structuredContent"].get("exit_code") != 0, "a directory that is a number is not passed over", done)
        done = server.call("race", attempts=[{"name": "x=y", "script": "true"}])
        tap.ok(is_refused(done, "usage"), "a name with = in it is none", done)
        tap.ok("error" in server.ask("tools/call", name="sandbox_list\0x", arguments={}), "nor is a tool's with NUL")
        for more in ({"offset": 0}, {"limit": 0}):
            done = server.call("sandbox_files_read", sandbox="odd", path="keep.txt", **more)
            tap.ok(not done.get("isError"), f"{more} is a number", done)
        server.call("sandbox_remove", sandbox="odd")
        done = server.call("sandbox_remove", sandbox="odd")
        tap.ok(done.get("isError"), "removing nothing is an error", done)
        change(server, "long", "true")
        done = server.call("sandbox_exec_start", sandbox="long", script="true", time="9999h")
        tap.ok(is_refused(done, "denied", "day"), "in the background time has an end, too", done)
        server.send({"jsonrpc": "2.0", "id": {"a": [1]}, "method": "ping", "result": 1})
        message = server.read()
        tap.ok(message.get("error", {}).get("code") == -32600 and message.get("id") is None, "an id is looked at", message)


def sleepers(seconds):
    """Processes of `sleep SECONDS`, wherever they run."""
    return [pid for pid, words in command_lines() if words[:2] == ["sleep", str(seconds)]]


def test_killed(home):
    """A server that was killed without a word."""
    base = 600000 + os.getpid() % 10000 * 10
    for i, (tool, arguments) in enumerate((
            ("sandbox_run", {"script": "exec sleep %d", "keep": "dead-run"}), ("task", {"script": "exec sleep %d"}),
            ("race", {"attempts": [{"name": "a", "script": "exec sleep %d"}]}),
            ("gate_check", {"sandbox": "dead", "gates": ["cmd:exec sleep %d"]}),
            ("sandbox_exec", {"sandbox": "dead", "script": "exec sleep %d"}),
            ("sandbox_run", {"script": "exec sleep %d"}))):
        server = Server(home, "--owner", "dying")
        server.call("sandbox_create", sandbox="dead")
        server.start("tools/call", {"name": tool, "arguments": json.loads(json.dumps(arguments).replace("%d", str(base + i)))})
        started = until(lambda: sleepers(base + i))
        server.process.kill()
        ended = until(lambda: not sleepers(base + i))
        tap.ok(started and ended, f"{tool} {arguments.get('keep', '')}: what it ran ends with it", (started, ended))
        for pid in sleepers(base + i):
            os.kill(pid, 9)
        server.close()


with Home("mcp-attack-") as home:
    home.put("keep.txt", "keep\n")
    for test in (test_crowd, test_own_word, test_dialogue, test_gates, test_binding, test_flood,
                 test_profile, test_wider, test_files, test_own_rules, test_commit, test_others, test_odd, test_killed):
        tap.attempt(test, home)
tap.done()
