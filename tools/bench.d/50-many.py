# SPDX-License-Identifier: Apache-2.0
"""Many runs: how many a second, and what a thousand of them leave behind."""

import os
import subprocess
import time
from pathlib import Path

from measure import Budget, table

TITLE = "Many runs"
RUNS = 1000


def processes(bench):
    """Programs of this benchmark that are running; others on this machine may run theirs."""
    found = 0
    for entry in Path("/proc").iterdir():
        try:
            found += entry.name.isdigit() and os.readlink(entry / "exe").startswith(str(bench.scratch))
        except OSError:
            continue
    return found


def groups():
    """Control groups made for sandboxes that nobody is in any more."""
    found = 0
    for folder, _, _ in os.walk("/sys/fs/cgroup"):
        try:
            found += "aisbx" in Path(folder).name and not (Path(folder) / "cgroup.procs").read_text()
        except OSError:
            continue
    return found


def named(folder):
    """Entries of a shared folder that carry our name."""
    return sum(1 for name in os.listdir(folder) if "aisbx" in name)


def traces(bench, caller):
    """What there is to see of sandboxes from outside."""
    state = sum(1 for _, folders, _ in os.walk(caller.home) for _ in folders)
    mounts = len(Path("/proc/self/mountinfo").read_text().splitlines())
    return {"processes": processes(bench), "control groups": groups(), "mounts": mounts,
            "entries in /tmp": named("/tmp"), "entries in /dev/shm": named("/dev/shm"),
            "entries in /run": named("/run"), "folders of the caller": state}


def settle(bench, caller, before):
    """Teardown goes on behind the answer; it gets two seconds."""
    for _ in range(20):
        after = traces(bench, caller)
        if all(after[key] <= before[key] for key in before):
            return after
        time.sleep(0.1)
    return after


def run(bench):
    rows, left = [], []
    for caller in bench.callers:
        # The first run may make what is kept on purpose: folders of the store.
        bench.call(caller, [bench.program, "run", "--", "/bin/true"], stderr=subprocess.DEVNULL)
        before = traces(bench, caller)
        for workers in (1, 2):
            count = RUNS if workers == 2 else RUNS // 4
            line = f"seq {count} | xargs -P{workers} -I@ '{bench.program}' run -- /bin/true"
            began = time.monotonic()
            done = bench.call(caller, ["sh", "-c", line], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            took = time.monotonic() - began
            rows.append([f"{caller.name}, {workers} at a time", str(count), f"{count / took:.0f}",
                         "all ended well" if not done.returncode else f"xargs ended with {done.returncode}"])
        after = settle(bench, caller, before)
        more = {key: after[key] - before[key] for key in before if after[key] > before[key]}
        left.append(f"After the runs of {caller.name}: " + (
            ", ".join(f"{count} more {key}" for key, count in more.items()) if more else "nothing left behind") + ".")
        what = f"left behind by {RUNS} runs, 2 at a time ({caller.name})"
        bench.budgets.append(Budget(what, 0, sum(more.values()), ""))
    return "\n".join([table(["", "runs", "runs a second", "outcome"], rows), "", *left])
