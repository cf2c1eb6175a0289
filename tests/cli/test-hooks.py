#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hooks of coding agents, driven with the JSON they document and with what a hostile one could send.

A tool is either done in the session's sandbox or refused; the host's files never change. Takes the program from AISBX.
Speaks TAP.
"""
import concurrent.futures
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from clitest import AISBX, Home, Tap

tap = Tap()
AISBX_MCP = [AISBX, "mcp", "--profile", "dev", "--owner"]
AGENTS = {"claude-code": "SessionEnd", "codex": "Stop"}


def message(home, tool, given, session="abc123", **more):
    """What an agent sends before it uses a tool, with the fields its documentation lists."""
    return {"session_id": session, "transcript_path": "/tmp/session.jsonl", "cwd": home.work, "permission_mode": "default",
            "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": given, "tool_use_id": "toolu_01ABC", **more}


def hook(home, sent, agent="claude-code", *words, **kw):
    text = sent if isinstance(sent, (str, bytes)) else json.dumps(sent)
    return home.call("hook", agent, *words, stdin=text, binary=isinstance(sent, bytes), **kw)


def decision(done):
    try:
        return json.loads(done.stdout)["hookSpecificOutput"]
    except (ValueError, KeyError):
        return {}


def denied(done, say="", blocked=False):
    """Refused in words the agent reads; where something was wrong, by the exit status as well."""
    said = decision(done)
    return said.get("permissionDecision") == "deny" and say in said.get("permissionDecisionReason", "") and \
        "updatedInput" not in said and done.returncode == (2 if blocked else 0) and (not blocked or say in done.stderr)


def run(home, command, agent="claude-code", session="abc123", cwd=None):
    """The command as the agent would run it: rewritten by the hook, by a shell."""
    line = decision(hook(home, message(home, "Bash", {"command": command}, session), agent))["updatedInput"]["command"]
    return subprocess.run(["bash", "-c", line], cwd=cwd or home.work, env=home.env, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120, check=False)


def sandboxes(home):
    return [row["name"] for row in home.rows("ls")]


def test_commands(home):
    for agent in AGENTS:
        before = home.tree()
        given = {"command": "echo made > new.txt", "description": "make it", "timeout": 120000}
        said = decision(hook(home, message(home, "Bash", given, turn_id="t1", model="m"), agent))
        got = said.get("updatedInput", {})
        tap.ok(said.get("permissionDecision") == "allow" and said.get("hookEventName") == "PreToolUse",
               f"{agent}: a command is allowed, rewritten", said)
        tap.equal({**got, "command": 0}, {**given, "command": 0}, f"{agent}: its other arguments are kept")
        tap.ok(" exec " in got.get("command", "") and got["command"].startswith("/"), f"{agent}: it is an exec", got)
        tap.equal(run(home, "echo made > new.txt; cat new.txt", agent).stdout, "made\n", f"{agent}: it runs")
        tap.equal(run(home, "cat new.txt", agent).stdout, "made\n", f"{agent}: the next one sees what it did")
        tap.equal(run(home, "cat new.txt", agent, "other").returncode, 1, f"{agent}: another session has its own")
        tap.equal(home.tree(), before, f"{agent}: the host's files are as they were")
    for text in ("printf '%s' \"it's\"", "echo $HOME `id -u` $(id -g)", "a=(1 2); echo ${a[1]}", "cat <<X\n$((1+1))\nX",
                 "printf '\\\\n%s' \"!x\"", "exit 7", "false; echo '; rm -rf /tmp/none'", "echo ü\t\x7f"):
        plain = subprocess.run(["bash", "-c", text.replace("$HOME `id -u` $(id -g)", "x")], capture_output=True, text=True, check=False)
        got = run(home, text.replace("$HOME `id -u` $(id -g)", "x"))
        tap.equal((got.stdout, got.returncode), (plain.stdout, plain.returncode), f"{text!r} means what it means outside")
    tap.equal(run(home, "-rf 2>/dev/null; echo on").stdout, "on\n", "a text that begins with a dash is no option")
    home.put("sub/here.txt", "x")
    tap.equal(run(home, "ls", cwd=home.work + "/sub").stdout, "here.txt\n", "it runs where the agent stands")


def test_session(home):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda n: hook(home, message(home, "Bash", {"command": f"echo {n}"}, "many")), range(8)))
    tap.ok(all(decision(d).get("permissionDecision") == "allow" for d in done), "eight first calls at once", done)
    tap.equal(len(sandboxes(home)), 1, "make one sandbox")
    name, = sandboxes(home)
    tap.equal(home.data("inspect", name).get("workspace"), home.work, "in the session's directory")
    home.call("rm", name)
    done = hook(home, message(home, "Bash", {"command": "true"}, "many"))
    tap.ok(denied(done, "was removed", True), "one that was removed is missed, not made anew", done)
    done = hook(home, message(home, "Bash", {"command": "true"}, "fresh", cwd=home.path + "/none"))
    tap.ok(denied(done, "directory", True), "a directory that is not there", done)
    taken = json.dumps(message(home, "Bash", {"command": "true"}, "taken"))
    hook(home, taken)
    name, = sandboxes(home)
    home.call("rm", name)
    home.call("create", name)
    tap.ok(denied(hook(home, taken), "was not made by this hook", True), "a sandbox of somebody else's is not entered")


def test_files(home):
    home.put("a.txt", "one\ntwo\nthree\n")
    before = home.tree()
    path = home.work + "/a.txt"
    done = hook(home, message(home, "Edit", {"file_path": path, "old_string": "two", "new_string": "2"}))
    tap.ok(denied(done, "did it in the sandbox"), "an edit is done inside, and that is the answer", done)
    done = hook(home, message(home, "Read", {"file_path": path, "offset": 2, "limit": 1}))
    tap.ok(denied(done, "     2\t2\n") and "three" not in done.stdout, "lines are read from there", done)
    done = hook(home, message(home, "Write", {"file_path": home.work + "/d/b.txt", "content": "new ü\n"}))
    tap.ok(denied(done, "wrote"), "a file is written there", done)
    tap.equal(run(home, "cat a.txt d/b.txt").stdout, "one\n2\nthree\nnew ü\n", "where commands see it")
    tap.equal(home.tree(), before, "and the host's files are as they were")
    for tool, given, say in (("Edit", {"file_path": path, "old_string": "absent", "new_string": ""}, "not in the file"),
                             ("Read", {"file_path": home.work + "/none"}, "does not exist"),
                             ("Write", {"file_path": home.work, "content": ""}, "directory"),
                             ("Read", {"file_path": "a.txt"}, "absolute"), ("Write", {"file_path": path}, "no text"),
                             ("Edit", {"file_path": path, "old_string": "", "new_string": "x"}, "old_string")):
        tap.ok(denied(hook(home, message(home, tool, given)), say, True), f"{tool} {given}: {say}")
    for agent, tools in (("claude-code", ("MultiEdit", "NotebookEdit", "Glob", "Grep")), ("codex", ("apply_patch", "Write"))):
        for tool in tools:
            done = hook(home, message(home, tool, {"command": "*** Begin Patch"}), agent)
            tap.ok(denied(done, "sandbox_files_edit"), f"{agent}: {tool} is refused, naming ours", done)
    lines = [{"jsonrpc": "2.0", "id": 1, "method": "initialize",
              "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
             {"jsonrpc": "2.0", "method": "notifications/initialized"},
             {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
              "params": {"name": "sandbox_files_read", "arguments": {"sandbox": next(n for n in sandboxes(home)), "path": "a.txt"}}}]
    for owner, seen in (("claude-code", True), ("cursor", False)):
        child = subprocess.Popen([*AISBX_MCP, owner], cwd=home.work, env=home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        child.stdin.write("".join(json.dumps(line) + "\n" for line in lines))
        child.stdin.flush()
        answer = next((line for line in child.stdout if '"id":2' in line), "")
        child.communicate(timeout=300)
        tap.equal("three" in answer, seen, f"the MCP server of {owner} {'reaches' if seen else 'does not reach'} the session's sandbox")
    # A link to a file of the host that the sandbox hides leads nowhere, by either way.
    os.makedirs(home.path + "/.ssh", exist_ok=True)
    with open(home.path + "/.ssh/id_canary", "w") as out:
        out.write("canary-7f3a")
    run(home, f"ln -s {home.path}/.ssh/id_canary link")
    for place in (home.work + "/link", home.path + "/.ssh/id_canary"):
        done = hook(home, message(home, "Read", {"file_path": place}))
        tap.ok("canary-7f3a" not in done.stdout + done.stderr and denied(done, "", True), "what is hidden stays so", done)
    run(home, f"ln -s {home.path}/outside.txt out")
    hook(home, message(home, "Write", {"file_path": home.work + "/out", "content": "x"}))
    tap.ok(not os.path.exists(home.path + "/outside.txt"), "a planted link does not lead a write to the host")


def test_others(home):
    for tool in ("TodoWrite", "WebSearch", "mcp__aisbx__sandbox_exec", "mcp__memory__create"):
        done = hook(home, message(home, tool, {}))
        tap.equal((done.stdout, done.returncode), ("{}\n", 0), f"{tool} is none of ours")
    done = hook(home, message(home, "Teleport", {"to": "/"}))
    tap.ok(denied(done, "--pass-tool", True), "an unknown tool is refused", done)
    done = hook(home, message(home, "Teleport", {"to": "/"}), "claude-code", "--pass-tool", "Teleport")
    tap.equal(done.stdout, "{}\n", "unless the user lets it through")
    tap.equal(sandboxes(home), [], "no sandbox was needed for that")


def test_hostile(home):
    good = message(home, "Bash", {"command": "touch broken-out"})
    before = home.tree()
    without = [{k: v for k, v in good.items() if k != gone} for gone in ("session_id", "cwd", "hook_event_name", "tool_name", "tool_input")]
    wrong = [{**good, key: value} for key in ("session_id", "cwd", "hook_event_name", "tool_name", "tool_input")
             for value in (None, 7, [], "", {"a": 1}, "x" * 5000)]
    text = json.dumps(good)
    sent = [*without, *wrong, "", " ", "null", "[]", "7", '"x"', "{}", text + text, text[:-1] + ',"session_id":"b"}', text.encode() + b"\xff",
            text.replace("touch", "to\\u0000uch"), "[" * 100000, '{"a":' * 100000, {**good, "pad": "x" * (9 << 20)},
            {**good, "tool_input": {"command": "x" * (65 << 10)}}, {**good, "tool_input": {"command": ["touch", "x"]}},
            {**good, "tool_input": {"command": 7}}, {**good, "tool_input": {}}, {**good, "hook_event_name": "PostToolUse"},
            {**good, "cwd": "relative"}, {**good, "list": [0] * 30000}, b"\0" * 100]
    sent += [text[:n] for n in range(1, len(text), 9)]
    for agent in AGENTS:
        for one in sent:
            done = hook(home, one, agent)
            said = done.stdout.decode() if isinstance(done.stdout, bytes) else done.stdout
            reason = json.loads(said)["hookSpecificOutput"] if said else {}
            if not (done.returncode == 2 and reason.get("permissionDecision") == "deny" and reason["permissionDecisionReason"]
                    and done.stderr.count(b"\n" if isinstance(one, bytes) else "\n") == 1):
                tap.ok(False, f"{agent}: refused with a sentence", (str(one)[:200], done))
                break
        else:
            tap.ok(True, f"{agent}: {len(sent)} hostile, truncated and oversized messages are refused, each with a sentence")
    tap.equal(sandboxes(home), [], "and make no sandbox")
    done = hook(home, {**good, "session_id": "../../x; touch y $(id)"})
    name, = sandboxes(home)
    tap.ok(decision(done)["updatedInput"]["command"].count(name) == 1 and "../" not in name, "a session's name is only ever hashed", name)
    tap.equal(home.tree(), before, "the host's files are as they were")
    for words, code in ((("hook",), 2), (("hook", "nobody"), 2), (("hook", "claude-code", "more"), 2)):
        tap.equal(home.call(*words, stdin=text).returncode, code, f"{words} is refused")
    done = hook(home, good, XDG_DATA_HOME=home.work + "/data")
    tap.ok(denied(done, "", True), "a store that is refused refuses the tool", done)


def test_end(home):
    for agent, event in AGENTS.items():
        def end(session="s1", agent=agent, event=event):
            said = hook(home, {"session_id": session, "transcript_path": None, "cwd": home.work, "hook_event_name": event,
                               "reason": "prompt_input_exit", "stop_hook_active": False}, agent)
            return json.loads(said.stdout)["systemMessage"] + "\n" if agent == "codex" else said.stdout
        tap.ok("no sandbox" in end() and end().count("\n") == 1, f"{agent}: a session that ran nothing")
        run(home, "true", agent, "s1")
        tap.ok("nothing to promote" in end(), f"{agent}: one that changed nothing")
        run(home, f"echo 1 > from-{agent}", agent, "s1")
        first = end()
        run(home, f"echo 2 > from-{agent}", agent, "s1")
        line = end()
        tap.ok("promotions approve" in line and line.count("\n") == 1, f"{agent}: the end asks, in one line", line)
        asks = [r for r in home.rows("promotions") if r.get("request_id") and r["state"] == "pending" and r["owner"] == agent]
        tap.equal(len(asks), 1, f"{agent}: the later request stands for the earlier", )
        tap.ok(asks[0]["request_id"] in line and asks[0]["request_id"] not in first, f"{agent}: it is the one named", line)
        tap.ok(not os.path.exists(f"{home.work}/from-{agent}"), f"{agent}: nothing was applied by that")
        home.call("promotions", "approve", asks[0]["request_id"], "--yes")
        tap.equal(home.read(f"from-{agent}"), "2\n", f"{agent}: a person's word applies it")


def test_prefix(home):
    home.put("here.txt", "x")
    done = home.call("hook", "claude-code", "--", "ls; echo made > new.txt", CLAUDE_CODE_SESSION_ID="p1")
    tap.equal(done.stdout, "here.txt\n", "CLAUDE_CODE_SHELL_PREFIX: the command runs")
    done = home.call("hook", "claude-code", "--", "cat new.txt; exit 3", CLAUDE_CODE_SESSION_ID="p1")
    tap.equal((done.stdout, done.returncode), ("made\n", 3), "in the session's sandbox, with its exit code")
    tap.ok(not os.path.exists(home.work + "/new.txt"), "and nowhere else")
    tap.equal(run(home, "cat new.txt", session="p1").stdout, "made\n", "which is the one of the other way")
    tap.equal(home.call("hook", "claude-code", "--", "touch", "x").returncode, 2, "it is one word")


with Home("hooks-") as probe:
    if probe.can_run(tap, "hooks"):
        for test in (test_commands, test_session, test_files, test_others, test_hostile, test_end, test_prefix):
            with Home("hooks-") as home:
                test(home)
sys.exit(tap.done())
