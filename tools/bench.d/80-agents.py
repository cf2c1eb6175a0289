# SPDX-License-Identifier: Apache-2.0
"""Agents: a tool over an open connection against the command line, and what a server takes while it waits."""

import json
import subprocess
import time

from measure import Budget, percentile, table

TITLE = "Agents over MCP"
BOX = "bench"


def call(tool, **arguments):
    return {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


RUN = call("sandbox_run", command=["/bin/true"])
EXEC = call("sandbox_exec", sandbox=BOX, command=["/bin/true"])


class Server:
    """One `aisbx mcp` and its only client."""

    def __init__(self, bench, caller):
        ids = {} if caller.uid == 0 else {"user": caller.uid, "group": caller.gid, "extra_groups": []}
        self.process = subprocess.Popen([str(bench.program), "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        cwd=caller.work, env=caller.env(), **ids)
        self.number = 0
        self.ask({"jsonrpc": "2.0", "method": "initialize", "params": {"protocolVersion": "2025-11-25"}})

    def ask(self, message):
        self.number += 1
        self.process.stdin.write(json.dumps({**message, "id": self.number}).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def timed(self, message, times):
        """Asks, and adds the milliseconds it took; whether it went well."""
        began = time.perf_counter()
        answer = self.ask(message)
        times.append((time.perf_counter() - began) * 1000)
        return answer["result"].get("structuredContent", {}).get("status") == "success"

    def memory_mib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def measure_one(bench, caller):
    """{what: p50 in milliseconds}, and the memory of a server that waits; None when something failed."""
    server = Server(bench, caller)
    idle = server.memory_mib()
    server.ask(call("sandbox_create", sandbox=BOX))
    times = {key: [] for key in ("tool run", "tool exec", "run", "version", "spawn")}
    is_well = server.timed(EXEC, [])
    # What a run leaves is still being cleared away when it has answered: an exec behind it would pay for that, a spawn not.
    beside = {"tool exec": (EXEC, {"spawn": ["/bin/true"]}),
              "tool run": (RUN, {"run": [bench.program, "run", "--", "/bin/true"], "version": [bench.program, "version"]})}
    for key, (tool, commands) in beside.items():
        for _ in range(bench.rounds):
            is_well = is_well and server.timed(tool, times[key])
            for name, (_, taken) in bench.interleave(caller, commands, 1).items():
                times[name] += taken
    bench.call(caller, [bench.program, "rm", BOX], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    server.close()
    return ({key: percentile(sorted(taken), 0.5) for key, taken in times.items()}, idle) if is_well else None


def run(bench):
    words = ["`sandbox_run` of `true` over an open connection, beside `run -- true` less `version`; `sandbox_exec` of `true` in a"
             " sandbox that is there, beside a plain spawn (all p50, each pair in turn); and the memory of a server that waits.", ""]
    rows = []
    for caller in bench.callers:
        found = measure_one(bench, caller)
        if not found:
            return "Not measured: a tool failed."
        p50, idle = found
        net = p50["run"] - p50["version"]
        ratios = p50["tool run"] / net, p50["tool exec"] / p50["spawn"]
        rows.append([caller.name, f"{p50['tool run']:.2f}", f"{net:.2f}", f"{ratios[0]:.2f}", f"{p50['tool exec']:.2f}",
                     f"{p50['spawn']:.2f}", f"{ratios[1]:.2f}", f"{idle:.1f}"])
        bench.budgets += [Budget(f"MCP sandbox_run of true against run, {caller.name}", 1.3, ratios[0], ""),
                          Budget(f"MCP sandbox_exec of true against a spawn, {caller.name}", 1.5, ratios[1], ""),
                          Budget(f"idle MCP server, {caller.name}", 8, idle, "MiB")]
    return "\n".join(words + [table(["as", "run ms", "run less version ms", "ratio", "exec ms", "spawn ms", "ratio", "idle MiB"],
                                    rows)])
