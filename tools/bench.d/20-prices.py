# SPDX-License-Identifier: Apache-2.0
"""The price of each layer: the same start with one layer left out, which only the bench's own build can do."""

import re

from measure import ROOT, percentile, table

TITLE = "Price of each layer"


def layers():
    """Names the launching code can leave out, read from where it asks."""
    names = set()
    for path in (ROOT / "src").rglob("*.c"):
        names.update(re.findall(r'bench_skip\("([a-z0-9-]+)"\)', path.read_text(encoding="utf-8")))
    return sorted(names)


def run(bench):
    names = layers()
    if not bench.price_program or not names:
        return "Not measured: no build that can leave layers out."
    words = ["What a start gets cheaper by when one layer is left out (p50, started in turn). Layers that are set up while"
             " something else is under way cost nothing visible, and the parts do not add up to the whole. Only the build"
             " flavour of the benchmark can leave a layer out; the installed program has no such switch.", ""]
    for caller in bench.callers:
        command = [bench.price_program, "run", "--", "/bin/true"]
        commands = {"nothing": command}
        for name in names:
            commands[name] = ["env", f"AISBX_PRICE_WITHOUT={name}", *command]
        # Both sides pay for env, which is not what is measured.
        commands["nothing"] = ["env", "AISBX_PRICE_WITHOUT=", *command]
        found = bench.interleave(caller, commands, bench.rounds)
        whole = percentile(found["nothing"][1], 0.5)
        rows = []
        for name, (status, times) in found.items():
            p50 = percentile(times, 0.5)
            price = "" if name == "nothing" else f"{whole - p50:.2f}"
            rows.append([name, f"{p50:.2f}", price if not status else f"does not start (exit {status})"])
        rows[1:] = sorted(rows[1:], key=lambda row: row[1])
        title = f"As {'a ' if ' ' in caller.name else ''}{caller.name}"
        words += [f"### {title}", "", table(["left out", "p50 ms", "price ms"], rows), ""]
    return "\n".join(words)
