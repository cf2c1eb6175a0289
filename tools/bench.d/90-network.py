"""The way through the gateway: bytes a second, connect and first byte, many connections, what it costs to start."""

import math
import os
import shutil
import statistics
import subprocess
import time
from pathlib import Path

from measure import HERE, Budget, table

TITLE = "The network's gateway"
PORT = 5299
BYTES = 1 << 30
# What connects from slirp4netns' side to the host's loopback.
SLIRP_HOST = "10.0.2.2"


def build(bench):
    pump = bench.scratch / "pump"
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-pthread", "-o", pump, HERE / "pump.c"], check=True)
    pump.chmod(0o755)
    return pump


def place(pump, caller):
    """A copy in the caller's workspace, which is all of /tmp that is seen inside."""
    mine = caller.work / "pump"
    shutil.copy(pump, mine)
    mine.chmod(0o755)
    return mine


def as_caller(caller):
    def become():
        os.setgroups([])
        os.setgid(caller.gid)
        os.setuid(caller.uid)
    return {"cwd": caller.work, "env": caller.env(), "preexec_fn": become if os.geteuid() == 0 and caller.uid else None}


def nanoseconds(command, caller):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, check=False, stdin=subprocess.DEVNULL,
                          **as_caller(caller))
    return [int(line) for line in done.stdout.split()] if done.returncode == 0 else []


def inside(bench, *words, extra=()):
    return [bench.program, "run", "--allow", f"127.0.0.1:{PORT}", *extra, "--", *words]


def through_slirp(pump, caller, *words):
    """The same in a network whose packets slirp4netns carries; [] where it is not installed, or may not be used."""
    if not shutil.which("slirp4netns"):
        return []
    script = "echo $$; read go; exec \"$@\""
    with subprocess.Popen(["unshare", "-Urn", "sh", "-c", script, "sh", pump, *map(str, words)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True, **as_caller(caller)) as child:
        pid = child.stdout.readline().strip()
        read_fd, write_fd = os.pipe()
        with subprocess.Popen(["slirp4netns", "--configure", "--mtu=65520", f"--ready-fd={write_fd}", pid, "tap0"], pass_fds=[write_fd],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **as_caller(caller)) as slirp:
            os.close(write_fd)
            ready = os.read(read_fd, 1)
            os.close(read_fd)
            out = child.communicate("go\n")[0] if ready else ""
            child.kill()
            slirp.terminate()
    return [int(word) for word in out.split()]


def middle(values, scale):
    return statistics.median(values) / scale if values else None


def gateway_of(supervisor):
    for pid in Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split():
        if Path(f"/proc/{pid}/comm").read_text().strip() == "aisbx-net":
            return int(pid)
    return 0


def resident_mib(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def hold(bench, pump, caller, count):
    """(gateway, supervisor) in MiB with so many connections at a time; endless where they could not be held."""
    with subprocess.Popen(list(map(str, inside(bench, pump, "hold", "127.0.0.1", PORT, count, extra=["--nofile", "4096"]))),
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **as_caller(caller)) as child:
        held = child.stdout.readline().strip() == "held"
        sizes = (resident_mib(gateway_of(child.pid)), resident_mib(child.pid)) if held else (math.inf, math.inf)
        child.stdin.close()
    return sizes


def leak(bench, pump, caller, count):
    """MiB by which the gateway grew over so many short connections."""
    words = inside(bench, "sh", "-c", f"{pump} fetch 127.0.0.1 {PORT} 1 200 >/dev/null && echo warm && read go && "
                   f"{pump} fetch 127.0.0.1 {PORT} 1 {count} >/dev/null && echo done && read go")
    with subprocess.Popen(list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **as_caller(caller)) as child:
        child.stdout.readline()
        pid = gateway_of(child.pid)
        before = resident_mib(pid)
        child.stdin.write("\n")
        child.stdin.flush()
        done = child.stdout.readline().strip() == "done"
        time.sleep(0.5)
        grown = resident_mib(pid) - before if done else math.inf
        child.stdin.write("\n")
        child.stdin.close()
    return grown


def measure(bench, pump, caller):
    size, rounds = str(BYTES), 3
    native = ["fetch", "127.0.0.1", PORT]
    rates = {"native loopback": nanoseconds([pump, *native, size, rounds], caller),
             "gateway": nanoseconds(inside(bench, pump, *native, size, rounds), caller),
             "slirp4netns": through_slirp(pump, caller, "fetch", SLIRP_HOST, PORT, BYTES // 8, rounds)}
    scale = {"slirp4netns": BYTES // 8}
    speed = {name: scale.get(name, BYTES) / statistics.median(times) if times else None for name, times in rates.items()}
    first = {"native loopback": middle(nanoseconds([pump, *native, 1, 500], caller), 1000),
             "gateway": middle(nanoseconds(inside(bench, pump, *native, 1, 500), caller), 1000),
             "slirp4netns": middle(through_slirp(pump, caller, "fetch", SLIRP_HOST, PORT, 1, 500), 1000)}
    return speed, first


def promise(bench, caller, speed, first):
    if speed["gateway"] and speed["native loopback"]:
        bench.budgets.append(Budget(f"gateway, bytes a second against native ({caller.name})", 0.4,
                                    speed["gateway"] / speed["native loopback"], "x", at_least=True))
    if speed["gateway"] and speed["slirp4netns"]:
        bench.budgets.append(Budget(f"gateway, bytes a second against slirp4netns ({caller.name})", 5,
                                    speed["gateway"] / speed["slirp4netns"], "x", at_least=True))
    if first["gateway"] and first["native loopback"]:
        bench.budgets.append(Budget(f"gateway, connect and first byte against native ({caller.name})", 3,
                                    first["gateway"] / first["native loopback"], "x"))


def starts(bench, caller):
    commands = {"none": [bench.program, "run", "--", "true"], "allow": inside(bench, "true")}
    found = bench.interleave(caller, commands, max(20, bench.rounds))
    return {name: statistics.median(times) for name, (_, times) in found.items()}


def run(bench):
    built = build(bench)
    rows, notes = [], []
    with subprocess.Popen([built, "serve", str(PORT)], stdout=subprocess.PIPE, text=True) as server:
        server.stdout.readline()
        for caller in bench.callers:
            pump = place(built, caller)
            speed, first = measure(bench, pump, caller)
            promise(bench, caller, speed, first)
            rows += [[f"{caller.name}: {name}", f"{speed[name]:.2f}" if speed[name] else "not measured",
                      f"{first[name]:.0f}" if first[name] else "-"] for name in speed]
            gateway, supervisor = hold(bench, pump, caller, 1000)
            bench.budgets.append(Budget(f"gateway with 1,000 connections ({caller.name})", 16, gateway, "MiB"))
            bench.budgets.append(Budget(f"its supervisor ({caller.name})", 2, supervisor, "MiB"))
            bench.budgets.append(Budget(f"gateway's growth over 10,000 connections ({caller.name})", 1, leak(bench, pump, caller, 10000), "MiB"))
            begun = starts(bench, caller)
            bench.budgets.append(Budget(f"start with a rule, over none ({caller.name})", 1, begun["allow"] - begun["none"], "ms"))
            notes.append(f"{caller.name}: start {begun['none']:.2f} ms without, {begun['allow']:.2f} ms with a rule.")
        server.kill()
    return "\n".join(["One connection on this machine's loopback, the middle of three; 500 connections for the first byte.", "",
                      table(["", "GB/s", "connect and first byte, µs"], rows), "", *notes])
