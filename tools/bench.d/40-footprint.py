# SPDX-License-Identifier: Apache-2.0
"""Memory of the processes that stand around a sandbox while its command sleeps."""

import os
import subprocess
import time
from pathlib import Path

from measure import Budget, table

TITLE = "Memory of the processes around a sandbox"


def children(pid):
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def figures(pid):
    """(name, resident KiB, private KiB) or None when it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        status = dict(line.split(":", 1) for line in lines if ":" in line)
        return status["Name"].strip(), int(status["VmRSS"].split()[0]), int(status["RssAnon"].split()[0])
    except (OSError, KeyError):
        return None


def run(bench):
    rows = []
    for caller in bench.callers:
        def become(caller=caller):
            os.setgroups([])
            os.setgid(caller.gid)
            os.setuid(caller.uid)
        with subprocess.Popen([bench.program, "run", "--", "sleep", "2"], cwd=caller.work, env=caller.env(),
                              stdin=subprocess.DEVNULL, preexec_fn=become if os.geteuid() == 0 else None) as supervisor:
            time.sleep(1)
            tree = [(supervisor.pid, "supervisor")]
            for pid, role in tree:
                below = "below the supervisor" if role == "supervisor" else "inside"
                tree += [(child, below) for child in children(pid)]
            for pid, role in tree:
                found = figures(pid)
                if found:
                    rows.append([f"{caller.name}: {role} ({found[0]})", str(found[1]), str(found[2])])
                if found and role == "supervisor":
                    bench.budgets.append(Budget(f"supervisor resident ({caller.name})", 2, found[1] / 1024, "MiB"))
    return "\n".join(["KiB one second into `aisbx run -- sleep 2`.", "",
                      table(["", "resident", "of it private"], rows)])
