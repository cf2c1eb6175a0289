#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Agents told about aisbx in the files they read: what is there stays, what was written is taken back byte by byte.

What is written refuses when aisbx is missing, crashes or is late. Takes the program from AISBX. Speaks TAP.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tomllib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from box import without_leak_search
from clitest import AISBX, Home, Tap, refused

tap = Tap()
AGENTS = ("claude-code", "codex", "cursor", "gemini", "opencode", "goose", "aider")
# File below HOME, what a person has in it, who reads it. Comments, order and odd layouts are theirs.
THEIRS = {
    ".claude.json": ('{"oauth":"secret","mcpServers":{"git":{"command":"uvx","args":["x"]}},"n":1}', "claude-code"),
    ".claude/settings.json": ('{\n  "model": "opus",\n  "hooks": {\n    "PreToolUse": [\n      {"matcher": "Bash", "hooks": []}\n    ]\n  }\n}\n', "claude-code"),
    ".codex/config.toml": ('# mine\nmodel = "o"\n\n[mcp_servers.git]\ncommand = "uvx"', "codex"),
    ".codex/hooks.json": ("{\n}\n", "codex"),
    ".cursor/mcp.json": ("{}", "cursor"),
    ".gemini/settings.json": ('{\n\t// theirs\n\t"theme": "Dracula", /* x */\n\t"mcpServers": { },\n}\n', "gemini"),
    ".config/opencode/opencode.json": ('{"$schema": "https://opencode.ai/config.json"}\n', "opencode"),
    ".config/goose/config.yaml": ("GOOSE_MODEL: x\nextensions:\n    # built in\n    developer:\n        enabled: true\nlast: 1\n", "goose"),
    ".aider.conf.yml": ("# mine\nmodel: sonnet\nread: [a, b]", "aider"),
}


def put(home, name, text, mode=0o640):
    path = os.path.join(home.path, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out:
        out.write(text)
    os.chmod(path, mode)
    return path


def get(home, name):
    try:
        with open(os.path.join(home.path, name)) as file:
            return file.read()
    except FileNotFoundError:
        return None


def test_round(home, with_files):
    for name, (text, _) in THEIRS.items():
        if with_files:
            put(home, name, text)
    kept = {name: get(home, name) for name in THEIRS}
    for agent in AGENTS:
        done = home.call("setup", agent, "--dry-run")
        tap.ok(done.returncode == 0 and "\n+" in done.stdout and "aisbx" in done.stdout + done.stderr, f"{agent}: a diff is shown", done)
    tap.equal({name: get(home, name) for name in THEIRS}, kept, "a dry run changes nothing")
    for agent in AGENTS:
        done = home.call("setup", agent)
        tap.ok(done.returncode == 0 and "covered" in done.stderr, f"{agent}: set up, and what is covered is said", done)
    for name, (text, agent) in THEIRS.items():
        now = get(home, name) or ""
        tap.ok(now != text and AISBX in now or agent == "aider", f"{name} has the entry", now)
        if with_files:
            tap.ok(all(line in now for line in text.replace("{", "\n").splitlines() if len(line) > 8), f"{name} has what it had", now)
            tap.equal(os.stat(os.path.join(home.path, name)).st_mode & 0o777, 0o640, f"{name} has its mode")
    once = {name: get(home, name) for name in THEIRS}
    for agent in AGENTS:
        home.call("setup", agent)
    tap.equal({name: get(home, name) for name in THEIRS}, once, "a second time changes nothing")
    tap.equal(home.call("setup", "--remove", "cursor").returncode, 0, "one is taken back")
    tap.equal(get(home, ".cursor/mcp.json"), kept[".cursor/mcp.json"], "and only that one")
    tap.ok(AISBX in get(home, ".gemini/settings.json"), "the others stay")
    done = home.call("setup", "--remove")
    tap.equal({name: get(home, name) for name in THEIRS}, kept, f"all are taken back, byte by byte ({done.stderr.strip()})")
    tap.ok("nothing" in home.call("setup", "--remove").stdout, "and there is nothing more to take back")


def test_content(home):
    """The entries, as the agents' own readers see them."""
    for agent in AGENTS:
        home.call("setup", agent)
    server = json.loads(get(home, ".claude.json"))["mcpServers"]["aisbx"]
    tap.equal([server["command"], *server["args"]][:2], [AISBX, "mcp"], "Claude Code's server")
    hooks = json.loads(get(home, ".claude/settings.json"))["hooks"]
    tap.ok(hooks["PreToolUse"][0]["matcher"] == "*" and hooks["SessionEnd"], "its hooks, for every tool", hooks)
    server = tomllib.loads(get(home, ".codex/config.toml"))["mcp_servers"]["aisbx"]
    tap.equal([server["command"], server["args"][0]], [AISBX, "mcp"], "Codex's server")
    tap.ok("Stop" in json.loads(get(home, ".codex/hooks.json"))["hooks"], "its hooks")
    for name, key in ((".cursor/mcp.json", "mcpServers"), (".gemini/settings.json", "mcpServers"), (".config/opencode/opencode.json", "mcp")):
        tap.ok("aisbx" in json.loads(get(home, name))[key], name)
    tap.ok("extensions:\n  aisbx:\n    enabled: true\n" in get(home, ".config/goose/config.yaml"), "goose's extension")
    tap.equal(get(home, ".aider.conf.yml"), "suggest-shell-commands: false\n", "aider's setting")
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
             "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}
    done = subprocess.run([server["command"], *server["args"]], input=json.dumps(hello) + "\n", cwd=home.work, env=home.env,
                          capture_output=True, text=True, timeout=300, check=False)
    tap.ok('"serverInfo"' in done.stdout, "the server answers as it is written there", done)
    home.call("setup", "--remove")
    home.call("setup", "claude-code", CLAUDE_CONFIG_DIR=home.path + "/elsewhere")
    tap.ok(get(home, "elsewhere/settings.json") and get(home, "elsewhere/.claude.json") and not get(home, ".claude.json"),
           "where a variable says that the agent reads elsewhere, there")


def test_closed(home):
    """What stands in the agent's file, run as the agent runs it, with each way in which aisbx can fail."""
    sent = json.dumps({"session_id": "s", "cwd": home.work, "hook_event_name": "PreToolUse", "tool_name": "Bash",
                       "tool_input": {"command": "true"}})
    home.call("setup", "claude-code", "--hook")
    home.call("setup", "codex", "--hook")
    for name in (".claude/settings.json", ".codex/hooks.json"):
        line = json.loads(get(home, name))["hooks"]["PreToolUse"][0]["hooks"][0]["command"]

        def run(program=AISBX, line=line, **env):
            return subprocess.run(["/bin/sh", "-c", line.replace(AISBX, program)], input=sent, cwd=home.work, env={**home.env, **env},
                                  capture_output=True, text=True, timeout=300, check=False)
        done = run()
        tap.ok(done.returncode == 0 and '"allow"' in done.stdout, f"{name}: the control: it answers", done)
        stubs = {"missing": None, "crashes": "kill -SEGV $$", "fails": "exit 1", "says nothing": "exit 0",
                 "is late": "exec sleep 1000", "crashes after an answer": 'echo "{}"; kill -9 $$', "not executable": ""}
        for how, body in stubs.items():
            stub = home.path + "/stub"
            if body is not None:
                with open(stub, "w") as out:
                    out.write(f"#!/bin/sh\n{body}\n")
                os.chmod(stub, 0o644 if how == "not executable" else 0o755)
            done = run(stub)
            # Without the line around it, an agent would take the same for consent.
            bare = subprocess.run(["/bin/sh", "-c", f"timeout 1 {stub}"], capture_output=True, check=False).returncode
            tap.ok(bare != 2, f"{name}: aisbx {how}: by itself that blocks nothing ({bare})")
            tap.ok(done.returncode == 2 and done.stdout == "" and "refused" in done.stderr, f"{name}: aisbx {how}: the tool is refused", done)
            if body is not None:
                os.unlink(stub)
        tap.equal(run(PATH="/nonexistent").returncode, 2, f"{name}: without timeout(1), too")


def test_refusals(home):
    put(home, ".cursor/mcp.json", '{"mcpServers": {"aisbx": {"command": "mine"}}}')
    done = home.call("setup", "cursor")
    tap.ok(refused(done, 3, "did not write"), "an entry of somebody else's is left alone", done)
    for name, text, agent, code, say in (
            (".gemini/settings.json", '{"mcpServers": ', "gemini", 2, "JSON"), (".gemini/settings.json", '{"mcpServers": []}', "gemini", 2, "mcpServers"),
            (".gemini/settings.json", "[1]", "gemini", 2, "mcpServers"), (".gemini/settings.json", "{} trailing", "gemini", 2, "JSON"),
            (".gemini/settings.json", "[" * 1000, "gemini", 2, "JSON"), (".gemini/settings.json", "{}\0", "gemini", 2, "text"),
            (".codex/config.toml", "mcp_servers = {}\n", "codex", 3, "mcp_servers"), (".config/goose/config.yaml", "extensions: {a: {b: c}}\n", "goose", 2, "lines"),
            (".config/goose/config.yaml", "a: [\n", "goose", 2, ""), (".aider.conf.yml", "suggest-shell-commands: true\n", "aider", 3, "did not write")):
        put(home, name, text)
        done = home.call("setup", agent)
        tap.ok(refused(done, code, say) and get(home, name) == text, f"{name} {text[:30]!r} is refused and stays", done)
    for words, code in ((("setup",), 2), (("setup", "nobody"), 2), (("setup", "cursor", "--hook"), 2), (("setup", "goose", "--project"), 2)):
        tap.equal(home.call(*words).returncode, code, f"{words} is refused")
    put(home, ".cursor/mcp.json", "{}")
    home.call("setup", "cursor")
    put(home, ".cursor/mcp.json", get(home, ".cursor/mcp.json").replace('"dev"', '"strict"'))
    done = home.call("setup", "--remove", "cursor")
    tap.ok(refused(done, 3, "by hand"), "an entry that was changed since is not taken out by guess", done)
    put(home, ".cursor/mcp.json", "{}")
    tap.equal(home.call("setup", "--remove", "cursor").returncode, 0, "taken out by hand, it is done with")


def test_shared(home):
    """The agent rewrites its file; another program adds to what setup made."""
    home.call("setup", "claude-code")
    for name in (".claude.json", ".claude/settings.json"):
        data = json.loads(get(home, name))
        if "hooks" in data:
            data["hooks"]["PreToolUse"].append({"matcher": "Edit", "hooks": []})
            data["hooks"]["Stop"] = []
        data["later"] = 1
        put(home, name, json.dumps(data, indent=2))
    done = home.call("setup", "--remove")
    tap.equal(done.returncode, 0, "what others added to is taken back all the same")
    tap.equal(json.loads(get(home, ".claude/settings.json")), {"hooks": {"PreToolUse": [{"matcher": "Edit", "hooks": []}], "Stop": []}, "later": 1},
              "and what they added stays")
    tap.equal(json.loads(get(home, ".claude.json")), {"later": 1}, "in either file")
    os.symlink(home.path + "/dot/gemini.json", put(home, ".gemini/x", "")[:-1] + "settings.json")
    put(home, "dot/gemini.json", "{}")
    home.call("setup", "gemini")
    tap.ok(os.path.islink(home.path + "/.gemini/settings.json") and AISBX in get(home, "dot/gemini.json"), "a link of the user's stays one")


def test_project(home):
    outside = put(home, "victim.json", "{}")
    os.symlink(outside, home.work + "/.mcp.json")
    done = home.call("setup", "claude-code", "--mcp", "--project")
    tap.ok(refused(done, 4, "link") or "link" in done.stderr, "a link in a project is not followed", done)
    tap.equal(get(home, "victim.json"), "{}", "and what it leads to stays")
    os.unlink(home.work + "/.mcp.json")
    os.mkdir(home.path + "/victim")
    os.symlink(home.path + "/victim", home.work + "/.cursor")
    home.call("setup", "cursor", "--project")
    tap.equal(os.listdir(home.path + "/victim"), [], "nor is one on the way")
    home.call("setup", "claude-code", "--project")
    tap.ok("aisbx" in json.loads(home.read(".mcp.json"))["mcpServers"] and "hooks" in json.loads(home.read(".claude/settings.local.json")),
           "a project's own files")
    tap.equal(get(home, ".claude.json"), None, "and not the user's")
    home.call("setup", "--remove")
    tap.ok(not os.path.exists(home.work + "/.mcp.json"), "are taken back")


def test_link_later(home):
    """A project changes between setup and --remove: what its links lead to is not the project's."""
    for agent, name, link in (("claude-code", ".claude/settings.local.json", ".claude/settings.local.json"), ("cursor", ".cursor/mcp.json", ".cursor")):
        home.call("setup", agent, "--project", *(("--hook",) if agent == "claude-code" else ()))
        entry = home.read(name)
        victim = put(home, f"elsewhere/{os.path.basename(name)}", entry)
        path = os.path.join(home.work, link)
        os.rename(path, path + ".away")
        os.symlink(victim if link == name else os.path.dirname(victim), path)
        for text in ("{}", entry):
            put(home, os.path.relpath(victim, home.path), text)
            done = home.call("setup", "--remove", agent)
            tap.ok(refused(done, 4, "link"), f"{link}: a link that came later is not followed", done)
            tap.equal(get(home, os.path.relpath(victim, home.path)), text, "and what it leads to stays")
        os.unlink(path)
        tap.equal(home.call("setup", "--remove", agent).returncode, 0, "without the link it is done with")


def test_meanwhile(home):
    """Another program writes the file while setup has its own draft on its way to the disk."""
    strace = shutil.which("strace")
    trial = strace and subprocess.run([strace, "-o", "/dev/null", "true"], capture_output=True, check=False)
    if not strace or trial.returncode != 0:
        tap.skip("a file written meanwhile", "strace cannot trace here")
        return
    put(home, ".claude.json", '{"a": 1}')
    env = without_leak_search(home.env)
    for words, name in ((("setup", "claude-code", "--mcp"), ".claude.json"), (("setup", "gemini"), ".gemini/settings.json")):
        path = os.path.join(home.path, name)
        draft = path + ".aisbx-new"
        # Every fsync stops the process; strace says so, and which one it is.
        out, back = os.pipe()
        tracer = subprocess.Popen([strace, "-f", "-o", f"/dev/fd/{back}", "-e", "trace=fsync", "-e", "inject=fsync:signal=STOP", AISBX, *words],
                                  cwd=home.work, env=env, pass_fds=[back], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        os.close(back)
        seen = False
        with open(out) as lines:
            for line in lines:
                if "stopped by SIGSTOP" not in line:
                    continue
                if os.path.exists(draft) and not seen:
                    put(home, name + ".theirs", '{"theirs": 1}')
                    os.rename(path + ".theirs", path)
                    seen = True
                os.kill(int(line.split()[0]), signal.SIGCONT)
        _, said = tracer.communicate()
        tap.ok(seen and tracer.returncode == 3 and "meanwhile" in said, f"{name}: what was written meanwhile is seen", (tracer.returncode, said))
        tap.equal(get(home, name), '{"theirs": 1}', "and stays")
        tap.ok(not os.path.exists(draft), "without a draft beside it")
        tap.equal(home.call(*words).returncode, 0, "the next call succeeds")
        tap.ok(AISBX in get(home, name) and "theirs" in get(home, name), "with both in the file")


def test_unfinished(home):
    """A call that ends between its record and its files; a directory in the draft's place ends it there."""
    text = '{"note": "aisbx is nice"}'
    put(home, ".claude/settings.json", text)
    put(home, ".claude.json", text)
    tap.equal(home.call("setup", "claude-code").returncode, 0, "set up")
    for way in (("setup", "claude-code", "--hook", "--write", "workspace"), ("setup", "--remove")):
        draft = home.path + "/.claude/settings.json.aisbx-new"
        os.mkdir(draft)
        tap.ok(home.call(*way).returncode not in (0, 3), f"{way} ends early")
        tap.ok(home.call(*way).returncode not in (0, 3), "and again")
        os.rmdir(draft)
        put(home, ".claude/settings.json.aisbx-new", "half of")
        done = home.call(*way)
        tap.equal(done.returncode, 0, f"then it can be repeated ({done.stderr.strip()})")
        tap.ok(not os.path.exists(draft), "and what was left behind is gone")
    tap.equal([get(home, ".claude/settings.json"), get(home, ".claude.json")], [text, text], "all is taken back, byte by byte")
    home.call("setup", "claude-code")
    put(home, ".claude/settings.json", text)
    put(home, ".claude.json", text)
    done = home.call("setup", "--remove")
    tap.ok(done.returncode == 0 and get(home, ".claude.json") == text, "a text with our name is not ours", done)


def test_line_ends(home):
    """A file without a newline at its end, to which lines are added after setup's."""
    for agent, name in (("codex", ".codex/config.toml"), ("aider", ".aider.conf.yml")):
        text, added = THEIRS[name][0], "[added]\nx = 1\n" if agent == "codex" else "added: 1\n"
        put(home, name, text)
        home.call("setup", agent)
        put(home, name, get(home, name) + added)
        tap.equal(home.call("setup", "--remove", agent).returncode, 0, f"{name}: taken back")
        tap.equal(get(home, name), text + "\n" + added, "and the last line of before still ends")


with Home("setup-") as first:
    test_round(first, True)
with Home("setup-") as second:
    test_round(second, False)
for test in (test_content, test_closed, test_refusals, test_shared, test_project, test_link_later, test_meanwhile, test_unfinished, test_line_ends):
    with Home("setup-") as one:
        test(one)
sys.exit(tap.done())
