#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One limit of memory around all sandboxes of an MCP server's owner: it holds, it is the owner's alone, and it leaves nothing behind.

Takes the program from AISBX. Speaks TAP. Where no control group can be made, the results have to say so.
"""

import hashlib
import json
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from clitest import Home, Tap  # noqa: E402
from family import adopt, ours, until  # noqa: E402
from mcpclient import Server  # noqa: E402

tap = Tap()
# The kernel ends the largest process, which is the one that comes later.
STAYS = "x = b'x' * (60 << 20); print('held', flush=True); import time; time.sleep(3000)"
MORE = ["python3", "-c", "x = b'x' * (110 << 20)"]
FLAGS = ("--owner-mem", "150m")
PREFIX = "aisbx-owner-"
OWNERS = ("one", "two", "killed", "crowd", "trials")


def groups(home):
    """Groups of this test's owners, wherever control groups are: other stores have owners of their own at the same time."""
    wanted = [hashlib.sha256(f"{home.path}/.local/share/aisbx {owner}".encode()).hexdigest() for owner in OWNERS]
    return {os.path.join(top, name) for top, names, _ in os.walk("/sys/fs/cgroup") for name in names
            if name.startswith(PREFIX) and any(one.startswith(name[len(PREFIX):]) for one in wanted)}


def hold(server, sandbox):
    """Starts a command that keeps memory; whether it has it."""
    command = server.data("sandbox_exec_start", sandbox=sandbox, command=["python3", "-c", STAYS])["exec_id"]
    return until(lambda: "held" in server.data("sandbox_poll", exec_id=command).get("stdout", ""))


def test_shared(home):
    """60 and 110 MB within 150 MB: one is too many, in a named sandbox and in a run."""
    with Server(home, *FLAGS, "--owner", "one") as server, Server(home, *FLAGS, "--owner", "two") as other:
        for name in ("first", "second"):
            server.call("sandbox_create", sandbox=name)
        tap.ok(hold(server, "first"), "the first has what it wants")
        tap.ok(len(groups(home)) == 1, "its owner has a group", groups(home))
        for name, found in (("another sandbox", server.data("sandbox_exec", sandbox="second", command=MORE)),
                            ("a run", server.data("sandbox_run", command=MORE))):
            tap.ok(found.get("status") == "oom" and "mem" in found.get("limits_hit", []), f"{name} of the owner meets the common limit", found)
            tap.ok(any("mcp --owner-mem" in note for note in found.get("notes", [])), "the result names it", found.get("notes"))
        found = other.data("sandbox_run", command=MORE)
        tap.equal(found.get("status"), "success", "another owner has its own")
        found = json.loads(home.call("run", "--json", "--", *MORE).stdout)
        tap.equal(found.get("status"), "success", "a person has none")
        home.call("stop", "first")
        found = server.data("sandbox_run", command=MORE)
        tap.equal(found.get("status"), "success", "once it is free, the next gets it")
        home.call("stop", "second")
        tap.ok(until(lambda: not groups(home)), "with the last sandbox the group goes", groups(home))
        home.call("exec", "first", "--", "true")
        tap.ok(len(groups(home)) == 1, "a person's command in a sandbox of the owner counts for the owner", groups(home))
        home.call("rm", "first", "second")
    tap.ok(until(lambda: not groups(home)), "nothing is left", groups(home))


def test_trials(home):
    """What tries and judges work runs in sandboxes of its own: they are the owner's as well."""
    large = "exec python3 -c 'x = b\"x\" * (250 << 20)'"
    with Server(home, *FLAGS, "--owner", "trials") as server:
        found = server.data("race", attempts=[{"name": "a", "script": large}], mem="1g")["attempts"][0]
        tap.equal(found.get("status"), "oom", "an attempt of a race meets the limit")
        found = server.data("race", attempts=[{"name": "a", "script": "true"}], check=large, mem="1g")["attempts"][0]
        tap.ok(found.get("status") == "success" and found.get("check", {}).get("status") == "oom", "its check does", found)
        server.call("sandbox_create", sandbox="judged")
        found = server.data("gate_check", sandbox="judged", gates=["cmd:" + large])["gates"][0]
        tap.ok(not found["holds"] and "oom" in found["evidence"], "a gate's command does", found)
        found = server.data("task", command=["true"], tests=[large], gates=["cmd:" + large], mem="1g")
        tap.ok(found["tests"][0]["status"] == "oom" and "oom" in found["gates"][0]["evidence"], "a task's tests and gates do", found)
        os.makedirs(home.path + "/.config/aisbx", exist_ok=True)
        with open(home.path + "/.config/aisbx/pipeline.yaml", "w") as file:
            json.dump({"stages": [{"name": "dev", "target": ".", "pre": ["cmd:" + large]}]}, file)
        with Server(home, *FLAGS, "--owner", "trials", "--promote-policy", "gates") as staging:
            staging.call("sandbox_exec", sandbox="judged", command=["touch", "new"])
            found = staging.call("stage_run", sandbox="judged")
            tap.ok("oom" in json.dumps(found), "a stage's gates do", found)
        for row in server.data("sandbox_list")["sandboxes"]:
            server.call("sandbox_remove", sandbox=row["name"])
    tap.ok(until(lambda: not groups(home)), "nothing is left", groups(home))


def test_kills(home):
    """The server, and then every process of ours at once, killed in a run: the next command clears up."""
    for everything in (False, True):
        server = Server(home, "--owner", "killed")
        server.start("tools/call", {"name": "sandbox_run", "arguments": {"command": ["sleep", "3000"]}})
        tap.ok(until(lambda: groups(home) and "aisbx-janitor" in ours().values()), "a run has its group")
        for pid in list(ours()) if everything else [server.process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        server.close()

        def is_clear(everything=everything):
            if everything:
                home.call("gc")
            return not groups(home)
        tap.ok(until(is_clear), "after the kill of " + ("everything" if everything else "the server") + " none is left", groups(home))


def test_crowd(home):
    """Runs that begin and end at once: a group that is removed while another run is about to use it is made again."""
    with Server(home, "--owner", "crowd") as server:
        for _ in range(8):
            calls = [server.start("tools/call", {"name": "sandbox_run", "arguments": {"command": ["true"]}}) for _ in range(8)]
            found = [server.wait(call)["result"]["structuredContent"] for call in calls]
            if any(one.get("degraded") or one["status"] != "success" for one in found):
                break
    tap.equal([(one.get("degraded", []), one["status"]) for one in found], [([], "success")] * 8, "each has its limits")
    tap.ok(until(lambda: not groups(home)), "nothing is left", groups(home))


adopt()
with Home("mcp-owner-memory-") as home:
    with Server(home) as server:
        first = server.data("sandbox_run", command=["true"])
    if os.getuid() and not os.access("/sys/fs/cgroup/cgroup.procs", os.W_OK):
        tap.equal(first.get("degraded"), ["limits"], "without control groups the result says what does not hold")
    else:
        for test in (test_shared, test_trials, test_kills, test_crowd):
            tap.attempt(test, home)
sys.exit(tap.done())
