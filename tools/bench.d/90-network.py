# SPDX-License-Identifier: Apache-2.0
"""The way through the gateway: bytes a second, connect and first byte, many connections, what it costs to start."""

import contextlib
import ctypes
import json
import math
import os
import shutil
import statistics
import subprocess
import time
from pathlib import Path

from measure import HERE, Budget, table

TITLE = "The network's gateway"
PORT, IPERF_PORT = 5299, 5298
BYTES = 1 << 30
SECONDS, ROUNDS = "1", 3
# What connects from slirp4netns' side to the host's loopback.
SLIRP_HOST = "10.0.2.2"
CLONE_NEWNET = 0x40000000
WAYS = ("native loopback", "gateway", "slirp4netns")


@contextlib.contextmanager
def undisturbed():
    """Before all others of this machine, where that is permitted: what is compared takes turns, and shares it."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(5))
        yield True
    except PermissionError:
        yield False
    finally:
        os.sched_setscheduler(0, *before)


@contextlib.contextmanager
def own_network():
    """A descriptor of a network namespace in which only we are; None where none can be made."""
    holder = subprocess.Popen(["unshare", "-n", "sh", "-c", "ip link set lo up && echo up && read end"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    fd = os.open(f"/proc/{holder.pid}/ns/net", os.O_RDONLY) if holder.stdout.readline() else None
    try:
        yield fd
    finally:
        holder.communicate()
        if fd is not None:
            os.close(fd)


class Place:
    """Where commands are started: as whom, and in which network."""

    def __init__(self, bench, caller, pump, network):
        self.bench, self.caller, self.network = bench, caller, network
        # A copy in the caller's workspace, which is all of /tmp that is seen inside.
        self.pump = caller.work / "pump"
        shutil.copy(pump, self.pump)
        self.pump.chmod(0o755)

    def options(self):
        def become():
            if self.network is not None and ctypes.CDLL(None).setns(self.network, CLONE_NEWNET) != 0:
                os._exit(126)
            if os.geteuid() == 0 and self.caller.uid:
                os.setgroups([])
                os.setgid(self.caller.gid)
                os.setuid(self.caller.uid)
        return {"cwd": self.caller.work, "env": self.caller.env(), "preexec_fn": become}

    def start(self, command, **more):
        return subprocess.Popen([str(word) for word in command], text=True, **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE},
                                **self.options(), **more)

    def output(self, command):
        with self.start(command, stderr=subprocess.DEVNULL) as child:
            out = child.communicate()[0]
        return out if child.returncode == 0 else ""

    def inside(self, *words, extra=()):
        return [self.bench.program, "run", "--allow", f"127.0.0.1:{IPERF_PORT}-{PORT}", *extra, "--", *words]

    def through_slirp(self, words):
        """What a command says in a network whose packets slirp4netns carries; "" where that is not installed, or may not be used."""
        if not shutil.which("slirp4netns"):
            return ""
        with self.start(["unshare", "-Urn", "sh", "-c", "echo $$; read go; exec \"$@\"", "sh", *words]) as child:
            pid = child.stdout.readline().strip()
            read_fd, write_fd = os.pipe()
            with self.start(["slirp4netns", "--configure", "--mtu=65520", f"--ready-fd={write_fd}", pid, "tap0"], pass_fds=[write_fd],
                            stderr=subprocess.DEVNULL) as slirp:
                os.close(write_fd)
                ready = os.read(read_fd, 1)
                os.close(read_fd)
                out = child.communicate("go\n")[0] if ready else ""
                child.kill()
                slirp.terminate()
        return out

    def by(self, way, words):
        """A command by one of WAYS; HOST in it is where the server is from there."""
        host = SLIRP_HOST if way == "slirp4netns" else "127.0.0.1"
        words = [host if word == "HOST" else str(word) for word in words]
        if way == "slirp4netns":
            return self.through_slirp(words)
        return self.output(self.inside(*words) if way == "gateway" else words)


def in_turn(place, command, read):
    """{way: the middle of what READ makes of each output}, the ways in turn; None where there was nothing."""
    found = {way: [] for way in WAYS}
    for _ in range(ROUNDS):
        for way in WAYS:
            found[way] += read(place.by(way, command))
    return {way: statistics.median(values) if values else None for way, values in found.items()}


def iperf_rate(out):
    """GB/s that the receiver counted."""
    try:
        return [json.loads(out)["end"]["sum_received"]["bits_per_second"] / 8e9]
    except (ValueError, KeyError):
        return []


def speeds(place):
    """What was sent with, and {direction: {way: GB/s}}."""
    if shutil.which("iperf3"):
        words = ["iperf3", "-c", "HOST", "-p", IPERF_PORT, "-t", SECONDS, "-J"]
        return "iperf3", {"out": in_turn(place, words, iperf_rate), "in": in_turn(place, [*words, "-R"], iperf_rate)}
    words = [place.pump, "fetch", "HOST", PORT, BYTES // 4, 1]
    return "pump.c", {"in": in_turn(place, words, lambda out: [BYTES // 4 / int(word) for word in out.split()])}


def gateway_of(supervisor):
    for pid in Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split():
        if Path(f"/proc/{pid}/comm").read_text().strip() == "aisbx-net":
            return int(pid)
    return 0


def status_of(pid, key):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1])
    return 0


def resident_mib(pid):
    return status_of(pid, "VmRSS") / 1024


def descriptors(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def hold(place, count):
    """(gateway, supervisor) in MiB with so many connections at a time; endless where they could not be held."""
    with place.start(place.inside(place.pump, "hold", "127.0.0.1", PORT, count, extra=["--nofile", "4096"])) as child:
        held = child.stdout.readline().strip() == "held"
        sizes = (resident_mib(gateway_of(child.pid)), resident_mib(child.pid)) if held else (math.inf, math.inf)
        child.stdin.close()
    return sizes


def leak(place, count):
    """MiB and descriptors by which the gateway grew over so many short connections."""
    fetch = f"{place.pump} fetch 127.0.0.1 {PORT} 1"
    words = place.inside("sh", "-c", f"{fetch} 200 >/dev/null && echo warm && read go && {fetch} {count} >/dev/null && echo done && read go")
    with place.start(words) as child:
        child.stdout.readline()
        pid = gateway_of(child.pid)
        before = resident_mib(pid), descriptors(pid)
        child.stdin.write("\n")
        child.stdin.flush()
        done = child.stdout.readline().strip() == "done"
        end = time.monotonic() + 5
        while descriptors(pid) > before[1] and time.monotonic() < end:
            time.sleep(0.05)
        grown = (resident_mib(pid) - before[0], descriptors(pid) - before[1]) if done else (math.inf, math.inf)
        child.stdin.write("\n")
        child.stdin.close()
    return grown


def starts(bench, caller):
    commands = {"none": [bench.program, "run", "--", "true"], "allow": [bench.program, "run", "--allow", f"127.0.0.1:{PORT}", "--", "true"]}
    found = bench.interleave(caller, commands, max(20, bench.rounds))
    return {name: statistics.median(times) for name, (_, times) in found.items()}


def promise(bench, what, limit, measured, unit, at_least=False):
    if measured is not None:
        bench.budgets.append(Budget(what, limit, measured, unit, at_least))


def against(found, other):
    """The gateway's figure against another way's, the worst of all directions; None where one is missing."""
    ratios = [row["gateway"] / row[other] for row in found if row["gateway"] and row[other]]
    return min(ratios, default=None)


def measure(bench, place):
    """Rows of the table, and a note; adds the budgets."""
    name = place.caller.name
    tool, speed = speeds(place)
    first = in_turn(place, [place.pump, "fetch", "HOST", PORT, 1, 300], lambda out: [int(word) / 1000 for word in out.split()])
    promise(bench, f"gateway, {tool}, against native ({name})", 0.4, against(speed.values(), "native loopback"), "x", True)
    promise(bench, f"gateway, {tool}, against slirp4netns ({name})", 5, against(speed.values(), "slirp4netns"), "x", True)
    promise(bench, f"gateway, connect and first byte against native ({name})", 3, against([first], "native loopback"), "x")
    gateway, supervisor = hold(place, 1000)
    promise(bench, f"gateway with 1,000 connections ({name})", 16, gateway, "MiB")
    promise(bench, f"its supervisor ({name})", 2, supervisor, "MiB")
    grown = leak(place, 10000)
    promise(bench, f"gateway's growth over 10,000 connections ({name})", 1, grown[0], "MiB")
    promise(bench, f"descriptors it kept of them ({name})", 0, grown[1], "")
    begun = starts(bench, place.caller)
    promise(bench, f"start with a rule, over none ({name})", 1, begun["allow"] - begun["none"], "ms")
    rows = [[f"{name}: {way}", *(f"{row[way]:.2f}" if row[way] else "not measured" for row in speed.values()),
             f"{first[way]:.0f}" if first[way] else "-"] for way in WAYS]
    note = f"{name}: start {begun['none']:.2f} ms without, {begun['allow']:.2f} ms with a rule."
    ceiling = [row["native loopback"] / row["slirp4netns"] for row in speed.values() if row["slirp4netns"] and row["native loopback"]]
    if ceiling:
        note += f" Native loopback is {min(ceiling):.1f} x slirp4netns here: no gateway can be faster than that."
    return tool, list(speed), rows, note


def run(bench):
    pump = bench.scratch / "pump"
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-pthread", "-o", pump, HERE / "pump.c"], check=True)
    rows, notes = [], []
    with undisturbed() as is_first, own_network() as network:
        servers = []
        for caller in bench.callers[:1]:
            place = Place(bench, caller, pump, network)
            servers.append(place.start([pump, "serve", PORT]))
            servers[0].stdout.readline()
            if shutil.which("iperf3"):
                servers.append(place.start(["iperf3", "-s", "-p", IPERF_PORT, "--forceflush"]))
                servers[1].stdout.readline()
                servers[1].stdout.readline()
        for caller in bench.callers:
            tool, directions, more, note = measure(bench, Place(bench, caller, pump, network))
            rows += more
            notes.append(note)
        for server in servers:
            server.kill()
            server.communicate()
    how = "in the real-time class, before all others" if is_first else "beside whatever else runs"
    return "\n".join([f"One connection on a loopback of its own, {how}; by {tool}, each way in turn, the middle of {ROUNDS}; {300 * ROUNDS} "
                      "connections for the first byte.", "",
                      table(["", *(f"GB/s {direction}" for direction in directions), "connect and first byte, µs"], rows), "", *notes])
