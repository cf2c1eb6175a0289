# SPDX-License-Identifier: Apache-2.0
"""WebAssembly: a small module and Python, beside a native command and beside the engine on its own."""

import os
import shutil
import sys

from measure import ROOT, Budget, percentile, table

sys.path.insert(0, str(ROOT / "tests/lib"))
from wasmtest import seal_anew

TITLE = "WebAssembly"

# Prints nothing: (module (func (export "_start"))).
MODULE = bytes.fromhex("0061736d01000000" "010401600000" "03020100" "070a01065f73746172740000" "0a040102000b")
ROUNDS = 30


def install(caller):
    """What set-up made ready, as the caller's own."""
    ready = ROOT / "fetched/wasm/ready"
    if not (ready / "data/engine").is_dir():
        return False
    for name, place in (("data", ".local/share"), ("cache", ".cache")):
        to = caller.home / place / "aisbx/wasm"
        if not to.exists():
            shutil.copytree(ready / name, to)
    for directory, _, files in os.walk(caller.home):
        for path in (directory, *(os.path.join(directory, file) for file in files)):
            os.chown(path, caller.uid, caller.gid)
            os.chmod(path, 0o700 if path == directory else 0o644)
    seal_anew(caller.home / ".local/share/aisbx/wasm", caller.home / ".cache/aisbx/wasm",
              own=lambda path: os.chown(path, caller.uid, caller.gid))
    return True


def alone(bench, caller):
    """The engine outside of any sandbox, on the same compiled Python."""
    compiled = max((caller.home / ".cache/aisbx/wasm").glob("*.compiled"), key=lambda path: path.stat().st_size
                   if path.stat().st_size < 100 << 20 else 0)
    runner = bench.program.parent / "aisbx-wasm"
    engine = caller.home / ".local/share/aisbx/wasm/engine/libwasmtime.so"
    line = (f"exec 4<'{runner}' 5<'{engine}' 6>/dev/null 7<'{compiled}'; "
            f"AISBX_HANDS=4,5,6,7 exec '{runner}' run 20000000000 400000000 30000 \"$PWD\" \"$PWD\" '' -- python -c 'print(1)'")
    return ["/bin/sh", "-c", line]


def run(bench):
    if not (bench.program.parent / "aisbx-wasm").exists():
        return "Not measured: the runner is not beside the program."
    words = ["A command each, from a cold start to its end, p50, started in turn. *Engine alone* is the runner on the same compiled"
             " Python without any sandbox: what CPython itself takes to start is in both.", ""]
    for caller in bench.callers:
        if not install(caller):
            return "Not measured: set-up has not fetched the engine (tools/setup-wasm)."
        module = caller.work / "small.wasm"
        module.write_bytes(MODULE)
        wasm = [bench.program, "run", "--driver", "wasm", "--"]
        commands = {
            "native true": [bench.program, "run", "--", "/bin/true"],
            "small module": [*wasm, module],
            "javascript -e 0": [*wasm, "javascript", "-e", "0"],
            "python print(1)": [*wasm, "python", "-c", "print(1)"],
            "python, engine alone": alone(bench, caller),
        }
        # The first start compiles, and compares seals with content.
        bench.interleave(caller, commands, 1)
        found = bench.interleave(caller, commands, min(bench.rounds, ROUNDS))
        p50 = {name: percentile(times, 0.5) for name, (_, times) in found.items()}
        wrong = [name for name, (status, _) in found.items() if status]
        if wrong:
            print(f"bench: wasm: {wrong} failed", file=sys.stderr)
        title = f"As {'a ' if ' ' in caller.name else ''}{caller.name}"
        rows = [[name, f"{p50[name]:.1f}", f"{percentile(found[name][1], 0.95):.1f}"] for name in commands]
        words += [f"### {title}", "", table(["command", "p50 ms", "p95 ms"], rows), ""]
        bench.budgets += [
            Budget(f"small module over a native start, {caller.name}", 4, p50["small module"] - p50["native true"], "ms"),
            Budget(f"python print(1) against the engine alone, {caller.name}", 1.05, p50["python print(1)"] / p50["python, engine alone"], "×"),
        ]
    return "\n".join(words)
