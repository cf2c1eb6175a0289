# SPDX-License-Identifier: Apache-2.0
"""Zygotes: snippets through a running server, and many small modules through a batch."""

import importlib.util
import json
import os
import subprocess
import time
from pathlib import Path

from measure import HERE, Budget, percentile, table

TITLE = "WebAssembly, started once"
MANY = 2000
SNIPPETS = 100
PYTHON = ["python", "-c", "print(1)"]
NUMPY = ["python-sci", "-c", "import numpy; print(numpy.arange(10).sum())"]


def section(name):
    spec = importlib.util.spec_from_file_location(name, HERE / f"80-{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def identity(caller):
    return {} if caller.uid == os.geteuid() else {"user": caller.uid, "group": caller.gid, "extra_groups": []}


class Server:
    """One `aisbx mcp` under the wasm driver, and its only client."""

    def __init__(self, bench, caller, env):
        profile = bench.scratch / "wasm.yaml"
        profile.write_text("driver: wasm\n")
        profile.chmod(0o644)
        self.process = subprocess.Popen([str(bench.program), "mcp", "--profile", str(profile)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, cwd=caller.work, env=env, **identity(caller))
        self.number = 0
        self.ask("initialize", {"protocolVersion": "2025-11-25"})

    def ask(self, method, params):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def times(self, command, rounds, pause=0.0):
        """Milliseconds of each call, sorted; the first two, which start the zygote, are left out."""
        found = []
        for _ in range(rounds + 2):
            time.sleep(pause)
            began = time.perf_counter()
            answer = self.ask("tools/call", {"name": "sandbox_run", "arguments": {"command": command}})
            found.append((time.perf_counter() - began) * 1000)
            if answer.get("result", {}).get("structuredContent", {}).get("status") != "success":
                raise ValueError(answer)
        return sorted(found[2:])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def per_second(bench, caller, module):
    """Small modules a second through one batch, its start and end included."""
    lines = "".join(json.dumps({"command": [str(module)]}) + "\n" for _ in range(MANY))
    began = time.perf_counter()
    done = subprocess.run([str(bench.program), "run", "--driver", "wasm", "--batch", "-"], input=lines.encode(), env=caller.env(),
                          cwd=caller.work, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, **identity(caller))
    took = time.perf_counter() - began
    if done.stdout.count(b'"status":"success"') != MANY:
        raise ValueError(done.stdout[:500])
    return MANY / took


def has_numpy():
    return (Path(os.environ.get("HOME", "/")) / ".local/share/aisbx/wasm/python-sci/module.wasm").exists()


def measure_caller(bench, caller, wasm):
    module = caller.work / "small.wasm"
    module.write_bytes(wasm.MODULE)
    alone = bench.interleave(caller, {"alone": wasm.alone(bench, caller)}, min(bench.rounds, wasm.ROUNDS))["alone"][1]
    server = Server(bench, caller, caller.env())
    python = server.times(PYTHON, SNIPPETS)
    paused = server.times(PYTHON, SNIPPETS // 4, pause=0.05)
    server.close()
    bench.call(caller, [bench.program, "run", "--driver", "wasm", "--", module])
    rate = per_second(bench, caller, module)
    engine = percentile(alone, 0.5)
    bench.budgets += [
        Budget(f"python print(1) through a server against the engine alone, {caller.name}", 0.15, percentile(python, 0.5) / engine, "×"),
        Budget(f"small modules through a batch, {caller.name}", 1000, rate, "a second", at_least=True),
    ]
    return [caller.name, f"{engine:.1f}", f"{percentile(python, 0.5):.1f}", f"{percentile(python, 0.95):.1f}",
            f"{percentile(paused, 0.5):.1f}", f"{rate:.0f}"]


def run(bench):
    wasm = section("wasm")
    if not (bench.program.parent / "aisbx-wasm").exists():
        return "Not measured: the runner is not beside the program."
    rows = []
    for caller in bench.callers:
        if not wasm.install(caller):
            return "Not measured: set-up has not fetched the engine (tools/setup-wasm)."
        rows.append(measure_caller(bench, caller, wasm))
    words = ["Python's `print(1)` as a call of `sandbox_run` over an open connection, in a row and with pauses of 50 ms; and an empty"
             f" module {MANY} times through one `run --batch`. *Engine alone* as above.", "",
             table(["caller", "engine alone p50 ms", "call p50 ms", "p95", "paused p50", "modules a second"], rows), ""]
    if not has_numpy():
        return "\n".join(words + ["`python-sci` is not installed here."])
    caller = bench.callers[0]
    server = Server(bench, caller, {**caller.env(), "HOME": os.environ["HOME"]})
    numpy = percentile(server.times(NUMPY, SNIPPETS), 0.5)
    server.close()
    bench.budgets.append(Budget("numpy arange(10).sum() through a server", 50, numpy, "ms"))
    return "\n".join(words + [f"`{NUMPY[2]}` with `python-sci`, as {caller.name}: {numpy:.1f} ms."])
