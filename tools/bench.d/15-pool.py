# SPDX-License-Identifier: Apache-2.0
"""Starts from the daemon's pool: with rest between them, as a burst, and without end."""

import json
import subprocess
import time

from measure import Budget, percentile, table

TITLE = "Starting from the pool"
CALLS, PAUSE_MS, BURSTS, SIZE = 200, 20, 10, 4
TRACE = """Where the time of such a start goes, from a trace of the scheduler's switches (ms since the caller's exec; 2 cores, in the real-time class):
0.2 the program is loaded and connected; 0.6 its plan is made (480 system calls: what the digest is of has to be looked at in this
call) while the daemon looks at its peer; 0.15 the daemon looks once more, and gives; 0.35 the waiting process takes limits,
directory, streams and Landlock, and executes; 0.35 `true` itself runs, which is what a plain spawn takes behind its exec; 0.1 its end
is reported; 0.2 the layers are looked at, and the record is kept. None of it waits for all processors (RCU) any more: the overlays'
refresh did, once each at the hand-over, and so did the end of the payload's proc; and the next sandbox is made when the command had
4 ms for itself."""


def status(bench, caller):
    got = bench.call(caller, [bench.program, "daemon", "status", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return json.loads(got.stdout) if got.returncode == 0 else {}


def wait_full(bench, caller):
    for _ in range(200):
        if status(bench, caller).get("ready", 0) >= SIZE:
            return True
        time.sleep(0.02)
    return False


def bursts(bench, caller, command):
    """The p50 of a start among as many as the pool holds, one right behind the other."""
    times = []
    for _ in range(BURSTS):
        wait_full(bench, caller)
        times += bench.interleave(caller, {"pool": command}, SIZE)["pool"][1]
    return percentile(sorted(times), 0.5)


def measure_one(bench, caller):
    run = [bench.program, "run", "--", "/bin/true"]
    cold = [bench.program, "run", "--no-daemon", "--", "/bin/true"]
    bench.call(caller, run)
    if not wait_full(bench, caller):
        return None
    found = bench.interleave(caller, {"spawn": ["/bin/true"], "pool": run, "cold": cold}, CALLS, PAUSE_MS)
    p50 = {name: percentile(times, 0.5) for name, (_, times) in found.items()}
    burst = bursts(bench, caller, run)
    endless = {name: sum(bench.interleave(caller, {name: command}, CALLS)[name][1]) / CALLS
               for name, command in (("pool", run), ("cold", cold))}
    return p50, percentile(found["pool"][1], 0.95), burst, endless


def run(bench):
    caller = next(each for each in bench.callers if each.uid != 0)
    ids = {"user": caller.uid, "group": caller.gid, "extra_groups": []} if bench.callers[0].uid == 0 else {}
    daemon = subprocess.Popen([str(bench.program), "daemon", "--pool", str(SIZE)], cwd=caller.work, env=caller.env(), stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, **ids)
    try:
        for _ in range(100):
            if status(bench, caller).get("running"):
                break
            time.sleep(0.05)
        found = measure_one(bench, caller)
    finally:
        daemon.terminate()
        daemon.wait()
    if not found:
        return "Not measured: the pool was never full."
    p50, p95, burst, endless = found
    bench.budgets += [Budget("start from the pool to spawn", 2.2, p50["pool"] / p50["spawn"], "×"),
                      Budget("start from the pool, p95 to p50", 2, p95 / p50["pool"], "×"),
                      Budget("cold start to one of a burst from the pool", 2, p50["cold"] / burst, "×", at_least=True),
                      Budget("cold starts to those with a daemon, without end", 1, endless["cold"] / endless["pool"], "×", at_least=True)]
    rows = [["spawn", f"{p50['spawn']:.2f}", ""], ["pool", f"{p50['pool']:.2f}", f"{endless['pool']:.2f}"],
            ["cold", f"{p50['cold']:.2f}", f"{endless['cold']:.2f}"], ["pool, a burst", f"{burst:.2f}", ""]]
    return "\n".join([f"As a plain user, {CALLS} calls {PAUSE_MS} ms apart, p50 in ms; and on average when each follows the one before.", "",
                      table(["", f"{PAUSE_MS} ms apart", "without end"], rows), "", TRACE])
