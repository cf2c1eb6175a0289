#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Owners that are killed, at any moment: whoever was started for them ends, and nothing of it stays.

Moments are random, by a seed (chance.py); what is checked never depends on them. Processes are halted and ended by number,
and each is one of our own descendants.
"""
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import leftovers
from aisbxtest import Suite
from batchtest import Batch, until
from box import patience, slow
from chance import chance
from family import halt, of_process, open_files, read_of
from leftovers import descendants
from wasmtest import assemble, hello, ready

suite = Suite("owners that are killed", needs_attack=False)
moments = chance("orphans")

FULL = os.environ.get("AISBX_TIER") == "ci"
POOL, KEEPER, ZYGOTE = "aisbx-pool", "aisbx-zygotes", "aisbx-wasm"
SLEEP = "import time; time.sleep(1000)"


def send(pid, number):
    """To one of our own, or nobody."""
    if pid in descendants(os.getpid()):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def named(top, *names):
    return [pid for pid, info in descendants(top).items() if info[0] in names]


def drop(process):
    """Kills an owner and lets go of it."""
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            stream.close()


def nothing_left(t, what):
    t.equal(t.suite.watch.problems(), [], what)


def nothing_stays(t, what):
    """Who is killed while it starts has nobody yet to clear up behind it: its processes end, and the next run does the rest."""
    until(lambda: not t.suite.watch.new_ones())
    t.equal(t.box.run("true").code, 0, "the next run")
    nothing_left(t, what)


def halt_all(pids):
    for pid in pids:
        send(pid, signal.SIGSTOP)
    return pids


def go_on(pids):
    """A process that is halted between its fork and its wish to end with its parent hears of nothing until it goes on."""
    for pid in pids:
        send(pid, signal.SIGCONT)


@suite.case("O01", "a batch, at random moments; also together with its pool, or with halted keepers",
            "a shell's children outlive it")
def batches(t):
    ready(t)
    longest = 3 if slow() else 0.7
    for turn in range(40 if FULL else 12):
        batch = Batch(t.caller, jobs=2)
        for number in range(2):
            batch.say("python", "-c", SLEEP if moments.random() < 0.3 else "print(1)", env=[f"A={number}"])
        time.sleep(moments.random() * longest)
        halted = []
        if turn % 4 in (1, 2):
            halted = halt_all(named(batch.process.pid, KEEPER if turn % 4 == 1 else POOL))
        batch.process.send_signal(signal.SIGKILL)
        if turn % 4 == 3:
            for pid in named(os.getpid(), POOL):
                send(pid, signal.SIGKILL)
        drop(batch.process)
        go_on(halted)
    nothing_stays(t, "nobody is left of any")
    for who in (KEEPER, POOL, "aisbx-view"):
        batch = Batch(t.caller)
        t.equal(batch.python("print(1)").get("stdout"), "1\n", "all have started")
        t.ok(halt(named(batch.process.pid, who)), f"halted: {who}")
        drop(batch.process)
        nothing_left(t, f"halted for good, {who} ends with the others")


@suite.case("O02", "a pool or a supervisor alone, at random moments: the batch goes on, and leaves nothing")
def inner(t):
    ready(t)
    with Batch(t.caller, jobs=2) as batch:
        batch.python("print(1)")
        for _ in range(30 if FULL else 8):
            batch.say("python", "-c", "print(1)")
            time.sleep(moments.random() * (0.5 if slow() else 0.1))
            victims = named(batch.process.pid, POOL, KEEPER, ZYGOTE, "aisbx-view")
            if victims:
                send(moments.choice(victims), signal.SIGKILL)
            answer = batch.hear()
            t.ok(answer.get("status") in ("success", "killed", "internal") or answer.get("ok") is False, "an answer", answer)
        t.equal(batch.python("print(2)").get("stdout"), "2\n", "the next line runs")
    t.ok(batch.process.returncode in (0, 1), "its end", batch.process.returncode)


@suite.case("O03", "a halted supervisor is in nobody's way: it is given no run, and ended when its place is needed")
def halted(t):
    ready(t)
    content = assemble(hello("hello\n"))
    if content is None:
        t.skip("wat2wasm is not installed (wabt)")
    path = t.caller.put("hello.wasm", content)
    t.box.run(path, flags=("--driver", "wasm"))
    with Batch(t.caller) as batch:
        for number in range(20):
            t.equal(batch.run(path, env=[f"A={number}"]).get("stdout"), "hello\n", f"with zygote {number}")
            if number == 0:
                pids = named(batch.process.pid, KEEPER)
                for pid in pids:
                    send(pid, signal.SIGSTOP)
                t.ok(until(lambda: {descendants(os.getpid())[pid][1] for pid in pids} == {"T"}), "it is halted")
                t.equal(batch.run(path, env=["A=0"]).get("stdout"), "hello\n", "the same again, with another")
        t.ok(until(lambda: len(named(batch.process.pid, ZYGOTE)) <= 16), "sixteen at most")


# A program that uses the library: it starts a batch, asks for one run, and waits for the answer.
HOST = """
import subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
child.stdin.write(sys.stdin.buffer.readline())
child.stdin.flush()
print("asked", flush=True)
child.stdout.readline()
"""
LINES = (b'{"command": ["python", "-c", "import time; time.sleep(1000)"]}\n', b'{"command": ["sleep", "1000"]}\n')


@suite.case("O04", "a program with an open session: its runs end with it", "a shell's children outlive it")
def sessions(t):
    ready(t)
    python = shutil.which("python3", path=t.caller.env["PATH"])
    for driver, line in zip(("wasm", "linux"), LINES):
        for _ in range(6 if FULL else 2):
            host = subprocess.Popen([python, "-c", HOST, t.caller.program, "run", "--driver", driver, "--jobs=1", "--batch=-"],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=t.caller.workspace, env=t.caller.env,
                                    **t.caller.identity())
            host.stdin.write(line)
            host.stdin.flush()
            t.equal(host.stdout.readline(), b"asked\n", "it has asked")
            time.sleep(moments.random() * (2 if slow() else 0.5))
            drop(host)
        nothing_left(t, f"nobody runs for a dead program, {driver}")


PROFILE = "driver: wasm\n"
HELLO = (b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
         b'"clientInfo":{"name":"test","version":"1"}}}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
CALL = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"sandbox_run","arguments":{"command":["python","-c","%s"]}}}\n'


@suite.case("O05", "a server for agents, at random moments", "a shell's children outlive it")
def servers(t):
    ready(t)
    profile = t.caller.put_at(os.path.join(t.caller.home, "wasm.yaml"), PROFILE)
    for turn in range(16 if FULL else 4):
        server = subprocess.Popen([t.caller.program, "mcp", "--profile", profile], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, cwd=t.caller.workspace, env=t.caller.env, **t.caller.identity())
        server.stdin.write(HELLO + CALL % (2, b"print(1)") + CALL % (3, SLEEP.encode()))
        server.stdin.flush()
        t.ok(b'"id":1' in server.stdout.readline().replace(b" ", b""), "it serves")
        time.sleep(moments.random() * (3 if slow() else 0.7))
        halted = halt_all(named(server.pid, KEEPER)) if turn % 2 else []
        drop(server)
        go_on(halted)
    nothing_stays(t, "nobody is left of any")


def keeper_of(t, name):
    """Its number; 0 where there is none yet."""
    try:
        with open(f"{t.caller.env['XDG_DATA_HOME']}/aisbx/sbx/{name}/keeper") as file:
            return int((file.read().split() or [0])[0])
    except FileNotFoundError:
        return 0


def exec_of(t, name, script, **env):
    return subprocess.Popen([t.caller.program, "exec", name, "--", "sh", "-c", script], stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=t.caller.workspace,
                            env={**t.caller.env, **env}, **t.caller.identity())


@suite.case("O06", "the first exec of a sandbox, at random moments: its supervisor lives, and ends when it is idle",
            "a shell's children outlive it")
def supervisors(t):
    names = [f"o6-{turn}" for turn in range(16 if FULL else 6)]
    for name in names:
        t.equal(t.box.call("create", name).returncode, 0, "created")
        process = exec_of(t, name, "sleep 1000", AISBX_KEEPER_IDLE_MS="300")
        time.sleep(moments.random() * (0.5 if slow() else 0.08))
        drop(process)
    nothing_left(t, "keepers end by themselves")
    for name in names:
        t.equal(t.box.call("exec", name, "--", "true").returncode, 0, f"{name} can be entered")
        removed = t.box.call("rm", name)
        t.equal(removed.returncode, 0, f"and removed: {removed}")


@suite.case("O07", "a halted supervisor cannot keep its sandbox beyond its time", "no other supervisor has one to watch it")
def late(t):
    # On a busy machine the shorter ones are over before the command runs.
    for name, ttl in (("late6", "6s"), ("late30", "30s"), ("late120", "120s")):
        t.equal(t.box.call("create", "--ttl", ttl, name).returncode, 0, "created")
        process = exec_of(t, name, "sleep 1000")
        until(lambda: named(keeper_of(t, name) or -1, "sleep") or process.poll() is not None)
        if process.poll() is None:
            break
    try:
        t.ok(named(keeper_of(t, name) or -1, "sleep"), "it runs")
        send(keeper_of(t, name), signal.SIGSTOP)
        t.equal(process.wait(patience(30)), 137, "whoever is inside ends")
    finally:
        drop(process)
    nothing_left(t, "and all that held it")
    t.ok("late" not in t.box.call("ls", "--json").stdout, "the next command removes it")


DENIALS = """
import ctypes, os, time
libc = ctypes.CDLL(None)
open("up", "w").close()
while not os.path.exists("go"): time.sleep(0.01)
for _ in range(3000): libc.mount(None, None, None, 0, None)
open("done", "w").close()
time.sleep(1000)
"""


@suite.case("O08", "a client that is halted keeps nobody from the supervisor, whatever its command does")
def deaf(t):
    t.equal(t.box.call("create", "deaf").returncode, 0, "created")
    process = subprocess.Popen([t.caller.program, "exec", "--json", "deaf", "--", "python3", "-c", DENIALS], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=t.caller.workspace, env=t.caller.env,
                               **t.caller.identity())
    try:
        t.ok(until(lambda: t.box.call("exec", "deaf", "--", "test", "-e", "up").returncode == 0), "it runs")
        process.send_signal(signal.SIGSTOP)
        t.equal(t.box.call("exec", "deaf", "--", "touch", "go").returncode, 0, "it may begin")
        t.ok(until(lambda: t.box.call("exec", "deaf", "--", "test", "-e", "done").returncode == 0), "others are served, and it goes on")
        process.send_signal(signal.SIGCONT)
        t.equal(t.box.call("stop", "deaf").returncode, 0, "stopped")
        out, _ = process.communicate(timeout=patience(30))
    finally:
        drop(process)
        t.box.call("rm", "deaf")
    t.ok(b'"mount(2)"' in out, "what it heard it tells", out[-500:])


def name_of(pid, run):
    """What things are called that this process has made for a run."""
    return f"aisbx-{os.stat('/proc/self/ns/pid').st_ino}-{pid}-{run.json['run_id']}"


def name_of_dead(run):
    """The same, for a supervisor that is no more."""
    with subprocess.Popen(["true"]) as dead:
        dead.wait()
    return name_of(dead.pid, run)


@suite.case("O09", "a run that was killed while it made a mask for all: the next one to make one removes what it had",
            "what is left is made by hand", callers=("root",))
def drafts(t):
    first = t.box.run("true")
    places = [place for place in leftovers.KEPT if os.path.isdir(place)]
    if not places:
        t.skip("no masks are kept here")
    name = name_of_dead(first)
    for place in places:
        os.makedirs(f"{place}/{name}/etc")
    os.mkdir(os.path.join(t.caller.workspace, "fresh"))

    def is_gone():
        # None is made of what has changed within the last two seconds.
        t.equal(t.box.run("true", workspace=os.path.join(t.caller.workspace, "fresh")).code, 0, "a run")
        return not all(os.path.exists(f"{place}/{name}") for place in places)

    try:
        t.ok(until(is_gone), "it is gone", os.listdir(places[0]))
    finally:
        for place in places:
            shutil.rmtree(f"{place}/{name}", ignore_errors=True)


@suite.case("O11", "a control group of a run that was killed while it started: the next run removes it, also where it has none itself",
            "what is left is made by hand", callers=("root",))
def groups(t):
    mine = t.suite.watch.groups.mine
    if not mine:
        t.skip("no control groups of version 1 here")
    name = name_of_dead(t.box.run("true"))
    for place in mine:
        if place.split("/")[4] in ("memory", "pids", "cpu", "cpuacct"):
            os.mkdir(f"{place}/{name}")
    t.equal(t.box.run("true").code, 0, "a run")
    nothing_left(t, "it is gone everywhere")


def janitors(place):
    """Those among the processes of a control group."""
    with open(f"{place}/cgroup.procs") as file:
        return [pid for pid in file.read().split() if read_of(pid, "comm") == "aisbx-janitor\n"]


def holds_nothing(pid):
    return of_process(os.readlink, f"/proc/{pid}/cwd") == "/" and not [
        link for link in open_files(pid).values() if link.startswith("/") and not link.startswith("/sys/fs/cgroup/")]


@suite.case("O11b", "the same while its last process is still ending: whoever removes it waits for that",
            "what is left is made by hand", callers=("root",))
def groups_in_use(t):
    places = [place for place in t.suite.watch.groups.mine if place.split("/")[4] in ("memory", "pids")]
    if not places:
        t.skip("no control groups of version 1 here")
    name = name_of_dead(t.box.run("true"))
    with subprocess.Popen(["sleep", "1000"]) as last:
        for place in places:
            os.mkdir(f"{place}/{name}")
            with open(f"{place}/{name}/cgroup.procs", "w") as file:
                file.write(str(last.pid))
        t.equal(t.box.run("true").code, 0, "a run")
        time.sleep(0.3)
        stays = all(os.path.isdir(f"{place}/{name}") for place in places)
        holds_none = until(lambda: any(holds_nothing(pid) for pid in janitors(places[0])))
        last.kill()
    t.ok(stays, "what is in use stays")
    t.ok(holds_none, "who waits for it holds no directory and no layer of its own")
    nothing_left(t, "then it is gone everywhere")


@suite.case("O11c", "the same, and gc: it waits, too", "what is left is made by hand", callers=("root",))
def groups_collected(t):
    places = [place for place in t.suite.watch.groups.mine if place.split("/")[4] in ("memory", "pids")]
    if not places:
        t.skip("no control groups of version 1 here")
    name = name_of_dead(t.box.run("true"))
    with subprocess.Popen(["sleep", "1000"]) as last:
        for place in places:
            os.mkdir(f"{place}/{name}")
            with open(f"{place}/{name}/cgroup.procs", "w") as file:
                file.write(str(last.pid))
        with subprocess.Popen([t.caller.program, "gc", "--json"], stdout=subprocess.DEVNULL, cwd=t.caller.workspace,
                              env=t.caller.env) as collector:
            time.sleep(0.3)
            last.kill()
            collector.wait()
    t.equal([place for place in places if os.path.isdir(f"{place}/{name}")], [], "it is gone when gc ends")


def groups_in(place):
    return [entry.name for entry in os.scandir(place) if entry.is_dir()]


@suite.case("O11d", "groups of a run that died below another caller's: gc finds them", "what is left is made by hand", callers=("root",))
def groups_of_others(t):
    places = [f"{place}/aisbxtest-session/inner" for place in t.suite.watch.groups.mine if place.split("/")[4] in ("memory", "pids", "cpu")]
    if not places:
        t.skip("no control groups of version 1 here")
    run = t.box.run("true")
    dead, alive = name_of_dead(run), name_of(os.getpid(), run)
    try:
        for place in places:
            for name in (dead, f"aisbx-owner-x/{dead}", alive):
                os.makedirs(f"{place}/{name}")
        t.equal(subprocess.run([t.caller.program, "gc"], stdout=subprocess.DEVNULL, cwd=t.caller.workspace, env=t.caller.env).returncode, 0, "gc")
        t.equal([groups_in(place) for place in places], [[alive]] * len(places), "what is dead is gone, an owner's with it, and no more")
    finally:
        for place in places:
            for path, _, _ in os.walk(os.path.dirname(place), topdown=False):
                os.rmdir(path)


@suite.case("O10", "connections that nobody closes: whoever finds no more room is told so", callers=("root",))
def crowded(t):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4096:
        t.skip("too few descriptors are permitted")
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, hard))
    t.equal(t.box.call("create", "crowded").returncode, 0, "created")
    t.equal(t.box.call("exec", "crowded", "--", "true").returncode, 0, "entered")
    clients = []
    try:
        for _ in range(1024):
            clients.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            clients[-1].connect(f"{t.caller.env['XDG_DATA_HOME']}/aisbx/sbx/crowded/socket")
        done = t.box.call("exec", "crowded", "--", "true")
        t.ok(done.returncode == 125 and "1024 others use the sandbox" in done.stderr, "told", done)
    finally:
        for client in clients:
            client.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        again = until(lambda: t.box.call("exec", "crowded", "--", "true").returncode == 0)
        t.box.call("rm", "crowded")
    t.ok(again, "with the others gone it is entered again")


suite.main()
