# SPDX-License-Identifier: Apache-2.0
"""Start times of /bin/true: plain, and through each way of isolating it that this machine has."""

import json
import shutil
import subprocess

from measure import Budget, percentile, table

TITLE = "Starting `/bin/true`"
SLOW_MS, SLOW_ROUNDS = 40, 20
BWRAP = "bwrap --unshare-all --ro-bind / / --proc /proc --dev /dev --tmpfs /tmp /bin/true".split()
KINDS = ("pid", "network", "ipc", "uts", "mount", "user")


def crun_bundle(bench, caller):
    """The machine's own root, read-only, in every namespace: as near to the others as crun comes."""
    bundle = bench.scratch / caller.name.split()[0] / "bundle"
    if not bundle.exists():
        bundle.mkdir()
        ids = [{"containerID": 0, "hostID": caller.uid, "size": 1}]
        mounts = [{"destination": "/proc", "type": "proc", "source": "proc"},
                  {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"},
                  {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs"}]
        linux = {"namespaces": [{"type": kind} for kind in KINDS], "uidMappings": ids,
                 "gidMappings": [{**ids[0], "hostID": caller.gid}]}
        process = {"args": ["/bin/true"], "cwd": "/", "user": {"uid": 0, "gid": 0}, "noNewPrivileges": True,
                   "env": ["PATH=/usr/bin:/bin"], "capabilities": {}}
        config = {"ociVersion": "1.0.0", "root": {"path": "/", "readonly": True}, "process": process,
                  "mounts": mounts, "linux": linux}
        (bundle / "config.json").write_text(json.dumps(config))
    state = caller.home / "crun"
    return ["crun", "--root", state, "--cgroup-manager=disabled", "run", "--bundle", bundle, "bench"]


def docker_command():
    """Only with a daemon that answers and an image that is already here: nothing is fetched."""
    listed = subprocess.run(["docker", "images", "-q"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                            check=False, timeout=10)
    if listed.returncode:
        return None, "no daemon answers"
    images = listed.stdout.split()
    return (["docker", "run", "--rm", "--network=none", images[0], "true"], "") if images else (None, "no image here")


def contestants(bench, caller):
    """({name: command}, {name: why it does not take part})."""
    commands, absent = {"spawn": ["/bin/true"]}, {}
    wanted = {
        "unshare": "unshare --user --map-root-user --mount --pid --fork --net --ipc --uts --cgroup /bin/true".split(),
        "bwrap": BWRAP,
        "crun": crun_bundle(bench, caller),
        "firejail": "firejail --quiet --noprofile --net=none --seccomp --caps.drop=all /bin/true".split(),
        "runsc": "runsc --network=none do /bin/true".split(),
    }
    if caller.uid != 0:
        wanted["runsc"][1:1] = ["--rootless", f"--root={caller.home}/runsc"]
    for name, command in wanted.items():
        if shutil.which(command[0]):
            commands[name] = command
        else:
            absent[name] = "not installed"
    if shutil.which("docker"):
        commands["docker"], absent["docker"] = docker_command()
        if not commands["docker"]:
            del commands["docker"]
    else:
        absent["docker"] = "not installed"
    commands["aisbx"] = [bench.program, "run", "--", "/bin/true"]
    return commands, {name: reason for name, reason in absent.items() if reason}


def calibrate(bench, caller, commands, absent):
    """Sorts out who fails and who is too slow for the full number of rounds."""
    fast, slow = {}, {}
    for name, command in commands.items():
        status, times = bench.interleave(caller, {name: command}, 3)[name]
        if status:
            said = bench.call(caller, command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True).stderr
            absent[name] = f"fails here: {(said.strip().splitlines() or [f'exit {status}'])[-1]}".replace("|", "/")
        elif percentile(times, 0.5) > SLOW_MS:
            slow[name] = command
        else:
            fast[name] = command
    return fast, slow


def rows_of(found):
    """Net of plain spawn, and that against bwrap's."""
    floor = percentile(found["spawn"][1], 0.5)
    yard = percentile(found["bwrap"][1], 0.5) - floor if "bwrap" in found else None
    rows, ratio = [], None
    for name, (_, times) in sorted(found.items(), key=lambda item: percentile(item[1][1], 0.5)):
        p50, p95 = percentile(times, 0.5), percentile(times, 0.95)
        share = (p50 - floor) / yard if yard else None
        ratio = share if name == "aisbx" else ratio
        bold = "**" if name == "aisbx" else ""
        rows.append([f"{bold}{name}{bold}", f"{times[0]:.2f}", f"{p50:.2f}", f"{p95:.2f}", f"{p50 - floor:.2f}",
                     f"{share:.2f}" if share is not None else "", str(len(times))])
    return rows, ratio


def run(bench):
    words = ["Milliseconds from spawn to reap, commands started in turn. *Net* is p50 less that of a plain spawn; *ratio*"
             " is net against bwrap's net.", ""]
    head = ["", "best", "p50", "p95", "net", "ratio to bwrap", "starts"]
    for caller in bench.callers:
        commands, absent = contestants(bench, caller)
        fast, slow = calibrate(bench, caller, commands, absent)
        for pause in (0, 50):
            found = bench.interleave(caller, fast, bench.rounds, pause)
            if slow and not pause:
                found.update(bench.interleave(caller, slow, SLOW_ROUNDS))
            rows, ratio = rows_of(found)
            title = f"As {'a ' if ' ' in caller.name else ''}{caller.name}, " + \
                ("one right after the other" if not pause else f"with {pause} ms of rest before each start")
            words += [f"### {title}", "", table(head, rows), ""]
            if ratio is not None:
                pace = f"{caller.name}, {'no rest' if not pause else f'{pause} ms rest'}"
                bench.budgets.append(Budget(f"start, net, against bwrap ({pace}); goal 0.5", 0.8, ratio, "×"))
        if absent:
            words += ["Not measured: " + "; ".join(f"{name} ({reason})" for name, reason in absent.items()) + ".", ""]
    return "\n".join(words)
