"""Agents: a tool over an open connection against the command line, and what a server takes while it waits."""

import json
import subprocess
import time

from measure import Budget, percentile, table

TITLE = "Agents over MCP"
CALL = {"jsonrpc": "2.0", "method": "tools/call",
        "params": {"name": "sandbox_run", "arguments": {"command": ["/bin/true"]}}}


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

    def memory_mib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def run(bench):
    words = ["`sandbox_run` of `true` over an open connection, beside `run -- true` less `version` (both p50, in turn), and"
             " the memory of a server that waits.", ""]
    rows = []
    for caller in bench.callers:
        server = Server(bench, caller)
        idle = server.memory_mib()
        tool, command, version = [], [], []
        for _ in range(bench.rounds):
            began = time.perf_counter()
            answer = server.ask(CALL)
            tool.append((time.perf_counter() - began) * 1000)
            if answer["result"]["structuredContent"]["status"] != "success":
                return f"Not measured: {answer}"
            found = bench.interleave(caller, {"run": [bench.program, "run", "--", "/bin/true"],
                                              "version": [bench.program, "version"]}, 1)
            command += found["run"][1]
            version += found["version"][1]
        server.close()
        net = percentile(sorted(command), 0.5) - percentile(sorted(version), 0.5)
        p50 = percentile(sorted(tool), 0.5)
        rows.append([caller.name, f"{p50:.2f}", f"{net:.2f}", f"{p50 / net:.2f}", f"{idle:.1f}"])
        bench.budgets.append(Budget(f"MCP sandbox_run of true against run, {caller.name}", 1.3, p50 / net, ""))
        bench.budgets.append(Budget(f"idle MCP server, {caller.name}", 8, idle, "MiB"))
    return "\n".join(words + [table(["as", "tool p50 ms", "run less version p50 ms", "ratio", "idle MiB"], rows)])
