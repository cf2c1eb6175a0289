#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Named sandboxes and the processes in them: who starts, shares, outlives and ends whom.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it; the suite's runner does so as root and as a plain
user. Ends only processes that it started itself, by their numbers.
"""
import concurrent.futures
import json
import os
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from box import patience, slow, without_leak_search
from chance import chance
from clitest import AISBX, Home, Tap
from family import adopt, descendants, halt, of_process, open_files, ours, reap, stat_of, until

tap = Tap()


def sh(home, name, script, *flags, **kw):
    return home.call("exec", *flags, name, "--", "sh", "-c", script, **kw)


def spawn(home, name, script, **kw):
    """An exec that is not waited for."""
    kw.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen([AISBX, "exec", name, "--", "sh", "-c", script], cwd=home.work, env=home.env,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kw)


def supervisors(home, name):
    """Numbers of living supervisors that hold the sandbox's lock."""
    path = f"{home.path}/.local/share/aisbx/sbx/{name}/keeper"
    found = []
    for pid, comm in ours().items():
        try:
            links = open_files(pid).values()
        except PermissionError:
            links = []
        if comm == "aisbx-sandbox" and path in links and (stat_of(pid) or [0, 0, 0])[2] != 0:
            found.append(pid)
    # Without a right to look at descriptors (not dumpable): those whose child is an init of the same name.
    return found or [p for p, c in ours().items() if c == "aisbx-sandbox" and is_keeper(p)]


def is_keeper(pid):
    info = stat_of(pid)
    parent = stat_of(info[2]) if info else None
    return bool(info) and not (parent and parent[0] == "aisbx-sandbox")


def test_sharing(home):
    """Execs of one sandbox are one machine."""
    home.call("create", "share")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda i: sh(home, "share", f"echo {i} > f{i}; echo $$"), range(8)))
    tap.ok(all(d.returncode == 0 for d in done), "eight first execs at once", done)
    # Those that found the place taken may still be ending.
    tap.ok(until(lambda: len(supervisors(home, "share")) == 1), "make one keeper", ours())
    tap.equal(sh(home, "share", "ls").stdout.split(), [f"f{i}" for i in range(8)], "and all wrote to the same place")
    sh(home, "share", "mkfifo p; (cat p > got) & sleep 100 & echo $! > pid")
    sh(home, "share", "echo through > p")
    tap.ok(until(lambda: sh(home, "share", "cat got").stdout == "through\n"),
           "what an exec leaves in the background lives on, and others reach it")
    done = sh(home, "share", "kill -0 $(cat pid) && kill $(cat pid)")
    tap.ok(done.returncode == 0, "also by signals", done)
    found = home.data("inspect", "share")
    tap.ok(isinstance(found.get("processes"), list), "inspect lists who is there", found)
    done = home.call("stop", "share")
    tap.ok(done.returncode == 0 and until(lambda: not supervisors(home, "share")), "stop ends all of it", done)
    tap.equal(sh(home, "share", "cat f3").stdout, "3\n", "and the next exec finds what was written")
    home.call("rm", "share")


def test_ends(home):
    """Who ends with whom."""
    home.call("create", "ends")
    bystander = spawn(home, "ends", "echo up > b; sleep 1000")
    victim = spawn(home, "ends", "echo up > v; setsid sleep 2000 & sleep 3000")
    tap.ok(until(lambda: sh(home, "ends", "test -e b -a -e v").returncode == 0), "two run side by side")
    victim.kill()
    victim.communicate()
    count = "ps ax -o args | grep -c '^sleep [23]000' || true"
    tap.ok(until(lambda: sh(home, "ends", count).stdout == "0\n"), "a client's death ends what it started",
           sh(home, "ends", "ps ax"))
    # Its shell becomes that program a moment after it has written its mark.
    tap.ok(until(lambda: sh(home, "ends", "ps ax -o args | grep -c '^sleep 1000'").stdout == "1\n"), "and nobody else")
    done = sh(home, "ends", "sleep 4000 & sleep 5000", "--time", "1s")
    tap.equal(done.returncode, 124, "a time limit of one exec")
    tap.equal(sh(home, "ends", "ps ax -o args | grep -c '^sleep [45]000' || true").stdout, "0\n", "ends its processes")
    tap.equal(sh(home, "ends", "ps ax -o args | grep -c '^sleep 1000'").stdout, "1\n", "and nobody else's")
    supervisor = supervisors(home, "ends")
    tap.equal(len(supervisor), 1, "one keeper")
    os.kill(supervisor[0], signal.SIGKILL)
    out = bystander.communicate(timeout=patience(30))
    tap.equal(bystander.returncode, 137, "a killed supervisor takes everybody along")
    tap.ok(not out[0], "nothing was said meanwhile", out)
    done = sh(home, "ends", "cat b v; ps ax -o args | grep -c '^sleep' || true")
    tap.equal(done.stdout, "up\nup\n0\n", "the next exec starts anew, with all that was written")
    home.call("rm", "ends")
    tap.ok(until(lambda: reap() or not ours()), "nobody is left", ours())


def test_kills(home):
    """Kills at random moments: the sandbox is always entered again, and nothing stays."""
    home.call("create", "kills")
    source = chance("keeper")
    for _ in range(6 if slow() else 25):
        process = spawn(home, "kills", "echo x >> log; sleep 0.05")
        time.sleep(source.random() * 0.08)
        victims = [process.pid] + list(ours())
        try:
            os.kill(source.choice(victims), signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.communicate(timeout=patience(60))
    # Who meets one that is just ending is told so: nobody knows whether his command began, so it is not tried again.
    tap.ok(until(lambda: sh(home, "kills", "echo alive").stdout == "alive\n"), "entered after kills at random moments",
           sh(home, "kills", "echo alive"))
    home.call("rm", "kills")
    tap.ok(until(lambda: reap() or not ours()), "nobody is left", ours())


def test_idle(home):
    home.call("create", "idle")
    sh(home, "idle", "true", AISBX_KEEPER_IDLE_MS="300")
    tap.ok(until(lambda: reap() or not ours()), "a supervisor ends by itself when nobody is inside", ours())
    sh(home, "idle", "(while test ! -e leave; do sleep 0.1; done) & exit 0", AISBX_KEEPER_IDLE_MS="300")
    time.sleep(1)
    tap.equal(len(supervisors(home, "idle")), 1, "but not while somebody is")
    sh(home, "idle", "touch leave")
    tap.ok(until(lambda: reap() or not ours()), "and then it does", ours())
    home.call("create", "--ttl", "1s", "brief")
    sh(home, "brief", "sleep 1000 & exit 0")
    tap.ok(until(lambda: reap() or not ours()), "a time to live ends whoever is inside", ours())
    home.call("rm", "idle")


def test_socket(home):
    """A154: only its owner reaches a sandbox."""
    home.call("create", "door")
    sh(home, "door", "true")
    place = f"{home.path}/.local/share/aisbx/sbx/door"
    tap.equal(stat.S_IMODE(os.stat(place + "/socket").st_mode), 0o600, "the socket's mode")
    tap.equal(stat.S_IMODE(os.stat(place).st_mode), 0o700, "and its directory's")
    if os.geteuid() != 0:
        tap.skip("another user is refused", "needs root")
        home.call("rm", "door")
        return
    os.chmod(place, 0o755)
    os.chmod(place + "/socket", 0o777)
    tap.equal(ask(place, 65534), "hung up", "another user is hung up on, whatever the modes are")
    tap.equal(ask(place, 0), "answered", "its owner is answered the same question")
    home.call("rm", "door")


def ask(place, uid):
    """Whether the supervisor answers that user: asked by a child that stands in its directory already."""
    child = os.fork()
    if child == 0:
        os.chdir(place)
        if uid:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        code = 2
        try:
            door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            door.settimeout(patience(10))
            door.connect("socket")
            door.send((6).to_bytes(16, sys.byteorder))  # ATTACH_LOOK
            code = 0 if door.recv(4096) else 1
        except ConnectionError:
            code = 1
        except OSError:
            pass
        os._exit(code)
    return ("answered", "hung up", "failed")[os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]


def test_layers(home):
    """As many layers as there may be, above the host."""
    home.put("base", "base\n")
    home.put("dir/a", "a\n")
    home.call("create", "deep")
    depth = 10 if slow() else 49
    for i in range(depth):
        script = f"echo {i} > n{i}; echo {i} >> base; mkdir -p dir/d{i}; test {i} -eq 5 && rm n2; test {i} -eq 7 && mv dir moved; "
        sh(home, "deep", script + f"test {i} -gt 7 && echo {i} > moved/m{i}; exit 0")
        done = home.call("snap", "deep")
        if done.returncode != 0:
            tap.ok(False, f"snapshot {i}", done)
            break
    names = [f"n{i}" for i in range(depth) if i != 2]
    tap.equal(sorted(sh(home, "deep", "ls -d n*").stdout.split()), sorted(names), f"{depth} layers show every file")
    tap.equal(sh(home, "deep", "cat base").stdout.split(), ["base"] + [str(i) for i in range(depth)], "in its last form")
    tap.equal(sh(home, "deep", "cat moved/a; ls -d moved/d* | wc -l; ls dir | wc -l; ls moved/m* | wc -l").stdout.split(),
              ["a", "8", str(depth - 8), str(depth - 8)], "a moved directory is where it was moved to")
    inode = sh(home, "deep", "stat -c %d . base n0 moved moved/a | sort -u | wc -l").stdout.strip()
    tap.equal(inode, "1", "all on one device, as tools that stay on one expect")
    home.call("rm", "deep")


def test_many(home):
    count = 20 if slow() else 100
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda i: home.call("create", f"m{i}").returncode, range(count)))
        ran = list(pool.map(lambda i: sh(home, f"m{i}", f"echo {i} > me; sleep 1000 & cat me").stdout, range(count)))
    tap.equal(made.count(0), count, f"{count} sandboxes")
    tap.equal(ran, [f"{i}\n" for i in range(count)], "each with its own state, all alive at once")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        again = list(pool.map(lambda i: sh(home, f"m{i}", "cat me").stdout, range(count)))
    tap.equal(again, ran, "and again")
    home.call("rm", *[f"m{i}" for i in range(count)], timeout=600)
    tap.ok(until(lambda: reap() or not ours(), 60), "nobody is left", ours())


def test_denials(home):
    """Each exec is told its own."""
    home.call("create", "deny")
    command = "import ctypes,time; time.sleep(0.3); ctypes.CDLL(None).mount(b'x', b'/tmp', b'tmpfs', 0, None); time.sleep(0.3)"
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        quiet = pool.submit(home.call, "exec", "--json", "deny", "--", "sleep", "1")
        loud = pool.submit(home.call, "exec", "--json", "deny", "--", "python3", "-c", command)
    told = [json.loads(one.result().stdout or "{}").get("denials") for one in (quiet, loud)]
    tap.ok(told[0] == [] and [d["what"] for d in told[1] or []] == ["mount(2)"], "denials go to whom they belong", told)
    # Over before the supervisor's loop comes to the datagram; each, not most.
    quick = [json.loads(home.call("exec", "--json", "deny", "--", "bash", "-c", "exec 3<>/dev/udp/192.0.2.1/53; printf x >&3").stdout)
             for _ in range(8)]
    tap.ok(all(any("192.0.2.1:53" in denial["what"] for denial in result["denials"]) for result in quick),
           "a command that ends at once is told what port 53 refused", [result["denials"] for result in quick])
    # What refuses lookups gets no processor: figures that were asked for while the command ran come before the last denial.
    (refuser,) = halt([pid for pid, (name, _, above) in descendants(keeper_of(home, "deny")).items()
                       if name == "aisbx-net" and above == keeper_of(home, "deny")])
    late = json.loads(home.call("exec", "--json", "deny", "--", "bash", "-c", "sleep 0.3; exec 3<>/dev/udp/192.0.2.1/53; printf x >&3").stdout)
    os.kill(refuser, signal.SIGCONT)
    tap.ok(any("192.0.2.1:53" in denial["what"] for denial in late["denials"]), "so is one that nobody could refuse in time", late)
    home.call("rm", "deny")


def test_stopped_client(home):
    """A client that is stopped (^Z) reads nothing: what its command is refused meanwhile keeps no other waiting."""
    home.call("create", "still")
    lookups = ("import os, socket, time\nopen('ready', 'w')\nwhile not os.path.exists('go'): time.sleep(0.01)\n"
               "for i in range(4000):\n    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
               "    one.connect(('192.0.2.1', 53))\n    one.send(b'x')\n    one.close()\nopen('done', 'w')")
    client = subprocess.Popen([AISBX, "exec", "still", "--", "python3", "-c", lookups], cwd=home.work, env=home.env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    tap.equal(sh(home, "still", "until test -e ready; do sleep 0.01; done").returncode, 0, "a command waits")
    os.kill(client.pid, signal.SIGSTOP)
    try:
        done = sh(home, "still", "touch go; until test -e done; do sleep 0.01; done; echo other", timeout=patience(20))
        tap.equal(done.stdout, "other\n", "a stopped client keeps no other waiting")
        tap.equal(sh(home, "still", "echo next", timeout=patience(10)).stdout, "next\n", "nor the next")
    except subprocess.TimeoutExpired as late:
        tap.ok(False, "a stopped client keeps no other waiting", late)
    os.kill(client.pid, signal.SIGCONT)
    tap.equal(client.wait(patience(20)), 0, "continued it ends as its command did")
    home.call("rm", "still")


def test_init(home):
    """Pid 1 starts what others ask for: nobody inside may hurt it."""
    home.call("create", "init")
    attack = """
import ctypes, os, resource, signal
libc = ctypes.CDLL(None, use_errno=True)
def call(what, function, *args):
    try:
        print(what, function(*args))
    except OSError as problem:
        print(what, problem.errno)
for number in range(1, 65):
    try: os.kill(1, number)
    except OSError: pass
call("nofile", resource.prlimit, 1, resource.RLIMIT_NOFILE, (1, 1))
call("nice", os.setpriority, os.PRIO_PROCESS, 1, 19)
call("group", os.setpriority, os.PRIO_PGRP, 1, 19)
call("user", os.setpriority, os.PRIO_USER, 0, 19)
call("cpus", os.sched_setaffinity, 1, {0})
call("idle", os.sched_setscheduler, 1, os.SCHED_IDLE, os.sched_param(0))
call("io", lambda: 0 if libc.syscall(251 if os.uname().machine == "x86_64" else 30, 1, 1, 3 << 13) == 0 else ctypes.get_errno())
call("trace", lambda: 0 if libc.ptrace(16, 1, 0, 0) == 0 else ctypes.get_errno())
call("memory", os.open, "/proc/1/mem", os.O_RDWR)
call("files", os.listdir, "/proc/1/fd")
call("environ", lambda: open("/proc/1/environ").read())
call("order", lambda: open("/proc/1/oom_score_adj", "w").write("1000"))
"""
    done = home.call("exec", "init", "--", "python3", "-c", attack)
    lines = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    tap.ok(len(lines) == 12 and all(v in ("1", "2", "13") for v in lines.values()), "refused, one and all", done)
    tap.equal(sh(home, "init", "echo alive").stdout, "alive\n", "and it serves the next one")
    # the kernel drops what pid 1 does not handle; SIGCHLD it does, so ends are forged for a command that goes on
    victim = spawn(home, "init", "sleep 2; exit 7")
    flood = """
import ctypes, os, signal, struct
libc = ctypes.CDLL(None)
number = 129 if os.uname().machine == "x86_64" else 138
others = [int(p) for p in os.listdir("/proc") if p.isdigit()]
for turn in range(20000):
    info = struct.pack("iiiiiiQQ", signal.SIGCHLD, 0, -1, 0, others[turn % len(others)], 0, 9, 0) + bytes(88)
    libc.syscall(number, 1, signal.SIGCHLD, info)
    try: os.kill(1, signal.SIGRTMIN + turn % 30)
    except OSError: pass
print("sent")
"""
    done = home.call("exec", "init", "--", "python3", "-c", flood)
    tap.equal((done.returncode, done.stdout), (0, "sent\n"), "40,000 signals to it")
    victim.communicate(timeout=patience(60))
    tap.equal(victim.returncode, 7, "and nobody's end is told before it comes")
    home.call("rm", "init")


def test_terminal(home):
    home.call("create", "tty")
    seen, code = home.on_terminal("exec", "tty", "--", "sh", "-c", "tty; stty size; read x; echo got $x",
                                  typed=[(b"/dev/pts", b"word\n")])
    tap.ok(code == 0 and b"/dev/pts/" in seen and b"got word" in seen, "a terminal of its own", (code, seen))
    prompt = b"# " if os.geteuid() == 0 else b"$ "
    seen, code = home.on_terminal("shell", "tty", SHELL="/bin/sh",
                                  typed=[(prompt, b"sleep 100 & jobs; echo jo''bs\n"), (b"jobs\r\n", b"exit 4\n")])
    tap.ok(code == 4, "a shell", (code, seen))
    home.call("rm", "tty")


def test_long_path():
    """A store whose path is longer than a socket's address."""
    with Home("aisbxtest-keeper-") as home:
        deep = home.path + "/" + "x" * 120
        os.mkdir(deep)
        os.mkdir(deep + "/w")
        home.env["HOME"] = deep
        home.call("create", "far", cwd=deep + "/w")
        tap.equal(sh(home, "far", "echo here", cwd=deep + "/w").stdout, "here\n", "a store far away")
        home.call("rm", "far")
        home.env["HOME"] = home.path


def test_freeze(home):
    """A live snapshot halts everybody, and lets them go again, whatever happens to who asked."""
    home.call("create", "live")
    sh(home, "live", "(while :; do echo x >> log; sleep 0.01; done) & exit 0")

    def is_growing():
        before = sh(home, "live", "wc -l < log").stdout
        return until(lambda: sh(home, "live", "wc -l < log").stdout != before)

    done = home.call("snap", "live")
    tap.equal(done.returncode, 3, "a snapshot refuses while somebody writes")
    done = home.call("snap", "live", "--freeze")
    tap.ok(done.returncode == 0 and is_growing(), "halted for a snapshot, they go on afterwards", done)
    source = chance("freeze")
    for _ in range(8):
        asker = subprocess.Popen([AISBX, "snap", "live", "--freeze"], cwd=home.work, env=home.env,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(source.random() * 0.01)
        asker.kill()
        asker.wait()
    tap.ok(is_growing(), "also when who asked was killed")
    done = home.call("snap", "live", "--kill")
    tap.ok(done.returncode == 0 and until(lambda: reap() or not ours()), "or they are ended first", (done, ours()))
    home.call("rm", "live")


def held_at(home, call, *words):
    """Starts aisbx, which stops itself at CALL; (strace, its pid) once it has."""
    log = f"{home.path}/calls-{words[0]}-{words[1]}"
    tracer = subprocess.Popen(["strace", "-f", "-o", log, "-e", f"trace={call}", "-e", f"inject={call}:signal=STOP:when=1", AISBX, *words],
                              cwd=home.work, env=without_leak_search(home.env), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def stopped():
        if not os.path.exists(log):
            return None
        with open(log) as file:
            return next((int(line.split()[0]) for line in file if "stopped by SIGSTOP" in line), None)

    until(lambda: stopped() or tracer.poll() is not None)
    return tracer, stopped()


def go_on(tracer, pid):
    """What it says, and its exit status."""
    if pid:
        os.kill(pid, signal.SIGCONT)
    said = tracer.communicate(timeout=300)[0]
    return tracer.returncode, said


def can_trace(what):
    """Whether strace works here; if not, that is said."""
    if shutil.which("strace") and subprocess.run(["strace", "-o", "/dev/null", "true"], check=False, capture_output=True).returncode == 0:
        return True
    tap.skip(what, "strace cannot trace here")
    return False


def starter_held_at(home, call, *words):
    """The same for a command that starts a supervisor, which is not traced: strace would stay with it."""
    log = f"{home.path}/start-{call}"
    child = subprocess.Popen(["strace", "-D", "-o", log, "-e", f"trace={call}", "-e", f"inject={call}:signal=STOP:when=1", AISBX, *words],
                             cwd=home.work, env=without_leak_search(home.env), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    until(lambda: child.poll() is not None or os.path.exists(log) and "stopped by SIGSTOP" in Path(log).read_text())
    return child


def test_late(home):
    """What happens on the host while a supervisor is being started reaches it all the same."""
    if not can_trace("a supervisor that is being started"):
        return
    home.put(home.path + "/.pyenv/versions/one/seen", "seen\n")
    home.call("create", "late", "--allow", "example.org:443")
    # The plan is made by then, and what it hides is noted next.
    starter = starter_held_at(home, "renameat", "exec", "late", "--", "true")
    home.put(home.path + "/.pyenv/versions/one/pip.conf", "password\n")
    code, said = go_on(starter, starter.pid)
    done = sh(home, "late", "cd ~/.pyenv/versions/one; cat seen pip.conf")
    tap.ok(code == 0 and done.stdout == "seen\n", "a credential that comes after the plan is hidden from the next command", (said, done))
    home.call("exec", "late", "--", "touch", "/dev/shm/mark")
    tap.equal(home.call("exec", "late", "--", "test", "-e", "/dev/shm/mark").returncode, 0, "which starts it anew once, and not each time")
    home.call("stop", "late")
    starter = starter_held_at(home, "bind", "exec", "late", "--", "true")
    rule = subprocess.Popen([AISBX, "deny", "late", "example.org:443"], cwd=home.work, env=home.env, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    until(lambda: rule.poll() is not None or any(path.endswith("/keeper") for path in open_files(rule.pid).values()))
    code, said = go_on(starter, starter.pid)
    said += rule.communicate(timeout=300)[0]
    tap.ok(code == rule.returncode == 0 and "in force now" in said, "a rule that comes after the plan is in force", said)
    home.call("stop", "late")
    home.call("rm", "late")


def test_frozen(home):
    """Two callers halt a sandbox: the first to let go wakes no process, and no command enters meanwhile."""
    freeze, thaw, done = (struct.pack("IIQ", kind, 0, 0) for kind in (3, 4, 14))
    home.call("create", "cold")
    sh(home, "cold", "sleep 1000 >/dev/null 2>&1 & until grep -q sleep /proc/$!/comm; do :; done")
    callers = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2)]
    place = os.open(home.path + "/.local/share/aisbx/sbx/cold", os.O_PATH)

    def ask(caller, what):
        caller.send(what)
        return caller.recv(4096)[:4] == done[:4]

    def states():
        return [stat_of(pid)[1] for pid, name in ours().items() if name == "sleep" and stat_of(pid)]

    for caller in callers:
        caller.connect(f"/proc/self/fd/{place}/socket")
    tap.ok(all(ask(caller, freeze) for caller in callers) and states() == ["T"], "halted twice", states())
    look = "grep -h State /proc/[0-9]*/status; touch entered"
    commands = [spawn(home, "cold", look), spawn(home, "cold", "touch left"), spawn(home, "cold", "touch left")]
    until(lambda: all(child.poll() is not None or stat_of(child.pid)[1] == "S" for child in commands))
    commands[1].kill()
    commands[1].communicate()
    commands[2].send_signal(signal.SIGINT)
    commands[2].communicate(timeout=patience(60))
    tap.ok(commands[2].returncode in (130, -signal.SIGINT), "one that waits can be interrupted", commands[2].returncode)
    tap.ok(ask(callers[0], thaw) and states() == ["T"], "let go once: it stays halted", states())
    callers[1].close()
    said = commands[0].communicate(timeout=patience(60))[0]
    tap.ok(commands[0].returncode == 0 and "State" in said and "stopped" not in said, "a command enters when the last one lets go", said)
    tap.ok(ask(callers[0], freeze) and home.call("stop", "cold").returncode == 0, "what is halted can be ended")
    callers[0].close()
    os.close(place)
    tap.equal(sh(home, "cold", "ls").stdout, "entered\n", "and one whose caller left never ran")
    home.call("rm", "cold")


# Starts a process with the flags given that stays what its parent is and never ends; the parent waits for its exec.
VFORK = """import ctypes, sys
libc = ctypes.CDLL(None)
stack = ctypes.create_string_buffer(65536)
top = (ctypes.addressof(stack) + 65536) & ~15
libc.clone(ctypes.cast(libc.pause, ctypes.c_void_p), ctypes.c_void_p(top), int(sys.argv[1], 16), None)
"""


def test_halting(home):
    """The answer to a freeze is that no process runs any more, not that each has its signal."""
    home.call("create", "crowd")
    sh(home, "crowd", "for i in $(seq 4); do (while :; do :; done) >/dev/null 2>&1 & done")
    place = os.open(home.path + "/.local/share/aisbx/sbx/crowd", os.O_PATH)
    states = []
    for _ in range(3):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as caller:
            caller.connect(f"/proc/self/fd/{place}/socket")
            caller.send(struct.pack("IIQ", 3, 0, 0))
            answer = caller.recv(4096)[:4]
            states += [stat_of(pid)[1] for pid, name in ours().items() if name == "sh" and stat_of(pid)]
    tap.ok(answer == struct.pack("I", 14) and states == ["T"] * 12, "none of four that never wait runs on", (answer, states))
    os.close(place)
    home.call("rm", "crowd", "--kill")


def test_deep(home):
    """Processes in a sleep that no signal ends."""
    home.call("create", "deep")
    home.put("vfork.py", VFORK)
    # CLONE_VM, CLONE_VFORK, SIGCHLD; the second also CLONE_PARENT: nothing shows what it waits for.
    for flags, can_stop in (("4111", True), ("c111", False)):
        sh(home, "deep", f"sleep 1000 >/dev/null 2>&1 & (exec python3 vfork.py {flags}) >/dev/null 2>&1 & "
                         "until grep -q '^State:.D' /proc/$!/status; do :; done")
        done = home.call("snap", "deep", "--freeze")
        if can_stop:
            tap.ok(done.returncode == 0, "one that waits for the exec of a child, which has stopped, is as good as stopped", done)
        else:
            tap.ok(done.returncode == 3 and "python3) inside cannot be stopped now" in done.stderr, "any other is named, and nothing is copied", done)
        tap.equal(sh(home, "deep", "grep -h '^State' $(grep -l '^sleep$' /proc/[0-9]*/comm | sed s/comm/status/)").stdout,
                  "State:\tS (sleeping)\n", "and the others go on")
        home.call("stop", "deep")
    tap.equal(len(home.rows("snaps", "deep")), 1, "one snapshot was made")
    home.call("rm", "deep")


def test_replaced(home):
    """While a caller works with one supervisor, others end that and start the next."""
    if not can_trace("a supervisor that is replaced"):
        return
    home.call("create", "torn")
    sh(home, "torn", "for i in $(seq 50); do echo old > f$i; done; ln f1 g1; sleep 1000 > /dev/null 2>&1 &")
    tracer, pid = held_at(home, "linkat", "snap", "torn", "--freeze")
    tap.ok(pid and home.call("stop", "torn").returncode == 0, "stopped in the middle of a copy")
    sh(home, "torn", "for i in $(seq 50); do echo new > f$i; done")
    code, said = go_on(tracer, pid)
    tap.ok(code == 3 and "was stopped while it was copied" in said and home.rows("snaps", "torn") == [], "a mix is no snapshot", (code, said))
    home.call("rm", "torn", "--kill")

    home.call("create", "ruled", "--allow", "example.org:443")
    sh(home, "ruled", "true")
    tracer, pid = held_at(home, "connect", "deny", "ruled", "example.org:443")
    tap.ok(pid and home.call("snap", "ruled").returncode == 0 and home.call("exec", "-d", "ruled", "--", "sleep", "1000").returncode == 0,
           "ended and started again under a rule on its way")
    code, said = go_on(tracer, pid)
    shown = home.data("net", "ruled")
    tap.ok(code == 0 and shown.get("running") and ("deny", "example.org:443") in {(r["action"], r["rule"]) for r in shown["rules"]},
           "the rule is in force in the one that runs", (code, said, shown))
    home.call("stop", "ruled")
    home.call("rm", "ruled")

    home.call("create", "idle")
    sh(home, "idle", "true")
    tracer, pid = held_at(home, "recvmsg", "snap", "idle")
    tap.ok(pid and home.call("exec", "-d", "idle", "--", "sleep", "1000").returncode == 0, "seen as idle, and then a command comes")
    code, said = go_on(tracer, pid)
    tap.ok(code == 3 and "processes are running" in said, "the command is not ended for a snapshot", (code, said))
    tap.equal([row["command"] for row in home.data("inspect", "idle")["processes"]], ["sleep 1000"], "and runs on")
    home.call("rm", "idle", "--kill")


def test_places(home):
    """What the sandbox removed stays removed, also when the host mounts something there."""
    if os.geteuid() != 0:
        tap.skip("a place to mount on that is gone", "needs root")
        return
    os.mkdir(home.work + "/place")
    home.call("create", "places")
    sh(home, "places", "rmdir place; ln -s /etc place; echo ok > f")
    home.call("stop", "places")
    script = 'mount -t tmpfs none place && touch place/new && exec "$0" exec places -- sh -c "cat f; readlink place"'
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, AISBX], cwd=home.work, env=home.env, capture_output=True,
                          text=True, stdin=subprocess.DEVNULL, check=False)
    tap.equal(done.stdout, "ok\n/etc\n", "a place to mount on that is gone")
    home.call("rm", "places")


def test_disk(home):
    """A top on disk has no size of its own: who fills it is stopped."""
    home.call("create", "--disk", "24m", "disk")
    fill = "i=0; while :; do dd if=/dev/zero of=big$i bs=1M count=4 2>/dev/null; sync big$i; i=$((i+1)); sleep 0.02; done"
    done = home.call("exec", "--json", "--time", "300s", "disk", "--", "sh", "-c", fill)
    found = json.loads(done.stdout or "{}")
    tap.equal([found.get("status"), found.get("limits_hit"), "disk" in found.get("degraded", [])], ["limit", ["disk"], True],
              "whoever fills the top is stopped")
    tap.equal(sh(home, "disk", "rm big*; ls").stdout, "", "and what was written can be removed")
    tap.equal(sh(home, "disk", "echo again").stdout, "again\n", "and then used again")
    done = home.call("run", "--json", "--disk", "24m", "--time", "300s", "--keep", "disk2", "--", "sh", "-c", fill)
    found = json.loads(done.stdout or "{}")
    tap.equal([found.get("status"), found.get("limits_hit")], ["limit", ["disk"]], "the same by run --keep")
    hidden = "mkdir -p hid && chmod 300 hid && cd hid && " + fill
    done = home.call("exec", "--json", "--time", "300s", "disk", "--", "sh", "-c", hidden)
    found = json.loads(done.stdout) if done.stdout else {}
    tap.equal([found.get("status"), found.get("limits_hit")], ["limit", ["disk"]], "what is written to a directory nobody may list counts")
    tap.equal(sh(home, "disk", "stat -c %a hid").stdout, "300\n", "and its mode is left alone")
    home.call("rm", "disk", "disk2")


def test_files(home):
    """As many files as permitted: told as that, and told to the next command, too."""
    many = "i=0; while :; do :>q$i; i=$((i+1)); [ $((i % 100)) != 0 ] || sleep 0.05; done"
    home.call("create", "--disk", "64m", "--inodes", "500", "files")
    done = home.call("exec", "--json", "--time", "300s", "files", "--", "sh", "-c", many)
    found = json.loads(done.stdout or "{}")
    tap.ok(found.get("status") == "limit" and found.get("limits_hit") == ["inodes"] and "--inodes" in str(found.get("notes")),
           "whoever makes too many files is stopped", found)
    done = home.call("exec", "--json", "--time", "300s", "files", "--", "sh", "-c", f"rm -f q*; {many}")
    found = json.loads(done.stdout or "{}")
    tap.ok(found.get("status") == "limit" and found.get("limits_hit") == ["inodes"], "and told so the second time", found)
    done = home.call("exec", "files", "--", "sh", "-c", "rm -f q*; sleep 0.4; echo gone")
    tap.equal((done.returncode, done.stdout), (0, "gone\n"), "who makes room is left alone")
    burst = "dd if=/dev/zero of=burst bs=1M count=120 2>/dev/null; sync burst; sleep 0.1"
    found = json.loads(home.call("exec", "--json", "files", "--", "sh", "-c", burst).stdout or "{}")
    tap.equal(found.get("limits_hit"), ["disk"], "a burst that ends before anybody looks is told")
    home.call("rm", "files")


def test_scratch(home):
    """What bounds the disk bounds /tmp and its like, too."""
    # around the workspace /tmp is no scratch, but the top
    places = " ".join(d for d in ("/tmp", "/var/tmp", "/dev/shm") if not home.path.startswith(d + "/"))
    fill = f"for d in {places}; do dd if=/dev/zero of=$d/big bs=1M count=60 2>/dev/null && echo $d; rm -f $d/big; done; exit 0"
    home.call("create", "--disk", "20m", "scratch")
    tap.equal(sh(home, "scratch", fill).stdout, "", "of a named sandbox")
    tap.equal(home.call("run", "--disk", "20m", "--", "sh", "-c", fill).stdout, "", "of a run")
    tap.equal(sh(home, "scratch", "dd if=/dev/zero of=/dev/shm/some bs=1M count=10 2>/dev/null && echo fits").stdout, "fits\n", "less is fine")
    home.call("rm", "scratch")


def keeper_of(home, name):
    """The number of the supervisor, as it says itself."""
    with open(f"{home.path}/.local/share/aisbx/sbx/{name}/keeper") as file:
        return int(file.read().split()[0])


def sleeps(home, name):
    """Whether the command is there; what ended before it may still be listed."""
    return any("sleep" in str(row) for row in home.data("inspect", name).get("processes") or [])


def test_dead_keeper(home):
    """A supervisor that is killed takes everybody along, and that is told."""
    home.call("create", "dead")
    sh(home, "dead", "true")
    child = subprocess.Popen([AISBX, "exec", "dead", "--", "sleep", "60"], cwd=home.work, env=home.env, text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    tap.ok(until(lambda: sleeps(home, "dead")), "a command is under way")
    os.kill(keeper_of(home, "dead"), signal.SIGKILL)
    _, err = child.communicate(timeout=patience(60))
    tap.ok(child.returncode == 137 and "supervisor died" in err and "next exec" in err, "the caller is told", (child.returncode, err))
    done = sh(home, "dead", "echo again")
    tap.ok(done.returncode == 0 and done.stdout == "again\n", "the next exec works", done)
    child = subprocess.Popen([AISBX, "exec", "dead", "--", "sleep", "60"], cwd=home.work, env=home.env, text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    tap.ok(until(lambda: sleeps(home, "dead")), "another command is under way")
    home.call("stop", "dead")
    _, err = child.communicate(timeout=patience(60))
    tap.ok(child.returncode == 137 and "was stopped" in err, "one that is stopped hears that", (child.returncode, err))
    home.call("rm", "dead")


def test_halted_keeper(home):
    """A supervisor that was stopped cannot answer: exec says so, stop and rm end it, and nobody else."""
    home.call("create", "silent")
    sh(home, "silent", "true")
    os.kill(keeper_of(home, "silent"), signal.SIGSTOP)
    # the shell tells the code: whoever reaps below may be quicker than we are
    waiting = subprocess.Popen(["sh", "-c", '"$0" exec silent -- true; echo "code $?"', AISBX], cwd=home.work, env=home.env,
                               text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for verb in ("stop", "rm"):
        home.call("create", "halted")
        sh(home, "halted", "true")
        pid = keeper_of(home, "halted")
        os.kill(pid, signal.SIGSTOP)
        done = home.call(verb, "halted", timeout=patience(60))
        tap.ok(done.returncode == 0 and until(lambda: reap() or not os.path.exists(f"/proc/{pid}")), f"{verb} ends it", done)
        if verb == "stop":
            tap.equal(sh(home, "halted", "echo again").stdout, "again\n", "and the next exec works")
            home.call("rm", "halted")
    out, err = waiting.communicate(timeout=patience(120))
    tap.ok(out == "code 125\n" and "aisbx stop silent" in err, "exec does not wait for ever", (out, err))
    home.call("stop", "silent")
    tap.equal(sh(home, "silent", "echo again").stdout, "again\n", "as it says, stop helps")
    home.call("rm", "silent")


STRANGER = """
import fcntl, os, socket, sys
os.chdir(sys.argv[1])
ours = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
ours.bind("socket")
ours.listen()
ticks = open("/proc/self/stat").read().rpartition(")")[2].split()[19]
lock = open("keeper", "w")
fcntl.flock(lock, fcntl.LOCK_EX)
print(os.getpid(), ticks, file=lock, flush=True)
print("ready", flush=True)
while True:
    ours.accept()[0].close()
"""


# The same, but it starts the command, and then tells its end in more bytes than anybody expects, and waits.
CHATTERER = STRANGER.replace("    ours.accept()[0].close()", """    client = ours.accept()[0]
    client.recv(1 << 16)
    client.send((10).to_bytes(4, sys.byteorder) + bytes(12))
    client.send((12).to_bytes(4, sys.byteorder) + bytes(300))
    client.recv(1 << 16)
""")


def place_of(home, name):
    """Makes a sandbox that was entered once, and has no supervisor any more; gives its directory."""
    place = f"{home.path}/.local/share/aisbx/sbx/{name}"
    home.call("create", name)
    sh(home, name, "true")
    with open(f"{place}/card", "rb") as file:
        card = file.read()
    home.call("stop", name)
    with open(f"{place}/card", "wb") as file:
        file.write(card)
    if os.path.exists(f"{place}/socket"):
        os.unlink(f"{place}/socket")
    return place


def test_other_words(home):
    """A supervisor, or a client, that speaks as another version does: both sides say so, and nobody waits for ever."""
    place = place_of(home, "words")
    with subprocess.Popen([sys.executable, "-c", CHATTERER, place], stdout=subprocess.PIPE) as stranger:
        stranger.stdout.readline()
        done = sh(home, "words", "true", timeout=patience(60))
        tap.ok(done.returncode == 125 and "another version" in done.stderr and "aisbx stop" in done.stderr,
               "a packet of the wrong size ends the waiting", done)
        done = home.call("stop", "words", timeout=patience(60))
        tap.ok(done.returncode == 0 and stranger.wait(patience(30)) == -signal.SIGKILL, "it can be stopped", done)
    tap.equal(sh(home, "words", "echo again").stdout, "again\n", "and the next exec is understood")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        door = os.open(place, os.O_PATH)
        client.connect(f"/proc/self/fd/{door}/socket")
        os.close(door)
        client.settimeout(patience(60))
        client.send((1).to_bytes(4, sys.byteorder) + bytes(60))
        tap.ok(b"another version" in client.recv(1 << 16), "an old client hears it from the keeper")
        tap.equal(client.recv(1 << 16), b"", "which hangs up then")
    tap.equal(sh(home, "words", "echo still").stdout, "still\n", "and stays for the others")
    home.call("rm", "words")


def test_other_version(home):
    """A supervisor that hangs up on what it does not know is ended all the same, and only then said to be."""
    place = place_of(home, "old")
    with subprocess.Popen([sys.executable, "-c", STRANGER, place], stdout=subprocess.PIPE) as stranger:
        stranger.stdout.readline()
        done = sh(home, "old", "true", timeout=patience(60))
        tap.ok(done.returncode == 125 and "another version" in done.stderr and "aisbx stop old" in done.stderr, "exec says what may be", done)
        done = home.call("stop", "old", timeout=patience(60))
        tap.ok(done.returncode == 0 and stranger.wait(patience(30)) == -signal.SIGKILL, "one of another version is ended", done)
    tap.equal(sh(home, "old", "echo again").stdout, "again\n", "and the next exec works")
    home.call("rm", "old")


HEIR = """
import os, signal, socket, sys
os.chdir(sys.argv[1])
def keep():
    ours = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.bind("socket")
    ours.listen()
    ticks = open("/proc/self/stat").read().rpartition(")")[2].split()[19]
    open("keeper", "w").write(f"{os.getpid()} {ticks}\\n")
    return ours
ours = keep()
print("ready", flush=True)
client = ours.accept()[0]
client.recv(65536)
os.unlink("socket")
if os.fork() == 0:
    client.close()
    ours.close()
    ours = keep()
    print(os.getpid(), flush=True)
    signal.pause()
signal.pause()
"""


def test_heir(home):
    """Stop ends the supervisor it saw; one that a command has started by then goes on."""
    home.call("create", "heir")
    place = f"{home.path}/.local/share/aisbx/sbx/heir"
    with subprocess.Popen([sys.executable, "-c", HEIR, place], stdout=subprocess.PIPE, text=True) as first:
        first.stdout.readline()
        with subprocess.Popen([AISBX, "stop", "heir"], env=home.env, stdout=subprocess.PIPE, text=True) as stop:
            heir = int(first.stdout.readline())
            first.kill()
            out, _ = stop.communicate(timeout=patience(60))
        tap.ok(stop.returncode == 0 and out == "stopped heir\n", "it has ended", (stop.returncode, out))
        until(lambda: (stat_of(heir) or "gZ")[1] in "SZ")
        tap.ok((stat_of(heir) or "gZ")[1] == "S", "and the next one lives", stat_of(heir))
        os.kill(heir, signal.SIGKILL)
        until(lambda: (stat_of(heir) or "gZ")[1] == "Z")
    tap.equal(sh(home, "heir", "echo again").stdout, "again\n", "which is found dead by whoever comes then")
    home.call("rm", "heir")


CROWD = """
import os, sys, time
for i in range(60):
    if os.fork() == 0:
        held = b"x" * (1 << 20)
        while True:
            held += b"x" * 50000
            time.sleep(0.01)
time.sleep(1000)
"""


def test_crowd_memory(home):
    """Many small processes: the kernel ends them and not init, who would take the sandbox along."""
    home.call("create", "--mem", "48m", "small")
    sh(home, "small", "true")
    done = home.call("exec", "--json", "--time", "300s", "small", "--", "python3", "-c", CROWD)
    found = json.loads(done.stdout or "{}")
    tap.ok("mem" in found.get("limits_hit", []), "memory ran out", {**found, "stderr": ""})
    # those who are left of the crowd go on eating, and who comes meanwhile may be the next to be ended
    tap.ok(until(lambda: sh(home, "small", "cat /proc/self/oom_score_adj").stdout == "500\n", 60), "commands go first")
    if os.geteuid() == 0 and "limits" not in found.get("degraded", []):
        # the worst case by force: whatever the kernel chooses, it was memory
        supervisor = keeper_of(home, "small")
        init = [pid for pid, info in ((p, stat_of(p)) for p in ours()) if info and info[2] == supervisor]
        # only once it runs: init takes its own place in the kernel's order again whenever it has started somebody
        child = spawn(home, "small", "echo up; read go; exec python3 -c \"b=[]\nwhile True: b.append(b'x' * 400000)\"", stdin=subprocess.PIPE)
        child.stdout.readline()
        for pid in init:
            of_process(Path(f"/proc/{pid}/oom_score_adj").write_text, "1000")
        _, err = child.communicate("go\n", timeout=patience(60))
        tap.ok(child.returncode == 137 and "out of memory" in err, "when init is ended for want of memory, that is told", (child.returncode, err))
        again = sh(home, "small", "echo again")
        tap.ok(again.stdout == "again\n", "and the sandbox can be entered again", again)
    home.call("rm", "small")


def test_memory(home):
    home.call("create", "--mem", "64m", "mem")
    done = home.call("exec", "--json", "--time", "300s", "mem", "--", "python3", "-c",
                     "import time\nb=[]\nwhile True: b.append(b'x' * 4000000); time.sleep(0.02)")
    found = json.loads(done.stdout or "{}")
    tap.ok(found.get("limits_hit") == ["mem"], "a limit on memory", {**found, "stderr": ""})
    tap.equal(sh(home, "mem", "echo again").stdout, "again\n", "the sandbox goes on")
    done = home.call("exec", "--json", "--cpu-time", "1s", "mem", "--", "sh", "-c", "while :; do :; done")
    found = json.loads(done.stdout or "{}")
    tap.equal([found.get("status"), found.get("limits_hit")], ["limit", ["cpu-time"]], "a limit on CPU time of one exec")
    home.call("rm", "mem")


def test_words(home):
    """Long commands and environments, and flags of one exec."""
    home.call("create", "words")
    long = "y" * 100000
    tap.equal(home.call("exec", "words", "--", "printf", "%s", long).stdout, long, "a command of 100,000 bytes")
    many = home.call("exec", "words", "--", "sh", "-c", "echo $#", "sh", *["w"] * 20000)
    tap.equal(many.stdout, "20000\n", "and one of 20,000 words")
    tap.equal(sh(home, "words", "echo $A-$SECRET", "--env", "A=b", SECRET="x").stdout, "b-\n",
              "variables: those named, not the caller's")
    home.call("rm", "words")


def main():
    adopt()
    tests = (test_sharing, test_ends, test_kills, test_idle, test_socket, test_layers, test_many, test_denials,
             test_stopped_client, test_init, test_terminal, test_freeze, test_frozen, test_halting, test_deep, test_late, test_replaced, test_places, test_disk, test_files, test_scratch, test_dead_keeper,
             test_halted_keeper, test_other_version, test_other_words, test_heir, test_crowd_memory, test_memory, test_words)
    only = os.environ.get("AISBX_CASES", "").split(",")
    for test in tests:
        if only == [""] or test.__name__ in only:
            with Home("aisbxtest-keeper-") as home:
                tap.attempt(test, home)
    if only == [""] or "test_long_path" in only:
        tap.attempt(test_long_path)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
