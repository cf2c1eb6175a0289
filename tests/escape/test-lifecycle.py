#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Terminal, signals, life cycle: nothing is typed for the caller, nothing lives on (A067 to A078, A094, A095)."""
import os
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from aisbxtest import Suite
from box import end, hope, patience, slow
from family import descendants

suite = Suite("terminal, signals, life cycle")
FULL = os.environ.get("AISBX_TIER") == "ci"


def inject_control(t):
    # Kernels before 6.2 do not ask whether it may be.
    switch = "/proc/sys/dev/tty/legacy_tiocsti"
    if os.path.exists(switch):
        with open(switch) as file:
            if file.read().strip() != "1":
                t.skip("this kernel has no keystroke injection any more")
    shown = typed_after(t, [t.suite.attack, "inject", "echo injected-$((40+2))\n"])
    t.ok(b"injected-42" in shown, "outside the keystrokes reach the shell", shown[-400:])


def typed_after(t, argv):
    """A shell on a pty runs ARGV, then reads what is typed: what the command typed for it is executed, and then our `exit`."""
    import pty
    import shlex
    from box import read_all, read_until, take_terminal
    master, slave = pty.openpty()
    if t.caller.uid != os.geteuid():
        os.fchown(slave, t.caller.uid, -1)
    line = " ".join(shlex.quote(word) for word in argv)
    process = subprocess.Popen(["sh", "-c", f"{line}; exec sh"], stdin=slave, stdout=slave, stderr=slave,
                               cwd=t.caller.workspace, env={**t.caller.env, "PS1": "shell$ "}, start_new_session=True,
                               preexec_fn=take_terminal, **t.caller.identity())
    os.close(slave)
    deadline = time.monotonic() + patience(60)
    early = read_until(master, b"shell$ ", deadline)
    os.write(master, b"exit\n")
    return early + read_all(master, process, deadline)


@suite.case("A067", "keystrokes for the caller's shell", inject_control)
def inject(t):
    shown = typed_after(t, t.box.argv(["./attack", "inject", "echo injected-$((40+2))\n"], as_json=False))
    t.ok(b"fd-0\t" in shown, "the attack ran", shown[-400:])
    t.ok(b"injected-42" not in shown, "nothing reaches the caller's shell", shown[-400:])
    for line in shown.decode(errors="replace").splitlines():
        name, tab, answer = line.strip().partition("\t")
        if tab and name.startswith(("fd-", "dev-tty")):
            t.ok(answer in ("EPERM", "ENOTTY", "EIO", "ENXIO"), name, answer)


@suite.case("A067b", "the terminal is as it was afterwards", "a program outside may leave it as it likes")
def terminal_state(t):
    import pty
    import termios
    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)
    if t.caller.uid != os.geteuid():
        os.fchown(slave, t.caller.uid, -1)
    from box import read_all, take_terminal
    keep = os.dup(slave)
    process = subprocess.Popen(t.box.argv(["sh", "-c", "stty raw -echo 2>/dev/null; echo x"], as_json=False), stdin=slave,
                               stdout=slave, stderr=slave, cwd=t.caller.workspace, env=t.caller.env, start_new_session=True,
                               preexec_fn=take_terminal, **t.caller.identity())
    os.close(slave)
    deadline = time.monotonic() + patience(30)
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    after = termios.tcgetattr(keep)
    process.kill()
    process.wait()
    os.close(keep)
    os.close(master)
    t.equal(after, before, "settings of the caller's terminal")


def probes_on_pty(t, *args):
    from box import parse_probes
    code, shown = t.box.on_pty("./attack", *args)
    return parse_probes(shown.decode(errors="replace").replace("\r", ""))


@suite.case("A067c", "the caller's terminal is not among the payload's descriptors", "outside it is all three")
def own_terminal(t):
    rows = dict(probes_on_pty(t, "descriptors", "etc/hostname"))
    t.equal(rows.get("descriptors"), "3", f"descriptors: {rows}")
    for fd in ("fd-0", "fd-1", "fd-2"):
        t.ok(rows.get(fd, "").startswith("/dev/pts/"), f"{fd} is a terminal of its own", rows)
    answers = probes_on_pty(t, "ioctl", "cons")
    t.every([p for p in answers if p[0] != "pty"], {"EPERM"}, "ioctl on a terminal")
    t.every([p for p in probes_on_pty(t, "namespaces")], {"EPERM"}, "nested namespaces on a terminal")


@suite.case("A067d", "mode of the caller's terminal", "outside fchmod changes it")
def terminal_mode(t):
    import pty
    master, slave = pty.openpty()
    if t.caller.uid != os.geteuid():
        os.fchown(slave, t.caller.uid, -1)
    before = os.fstat(slave)
    keep = os.dup(slave)
    from box import take_terminal
    process = subprocess.Popen(t.box.argv(["./attack", "reopen"], as_json=False), stdin=slave, stdout=slave, stderr=slave,
                               cwd=t.caller.workspace, env=t.caller.env, start_new_session=True, preexec_fn=take_terminal,
                               **t.caller.identity())
    os.close(slave)
    process.wait(patience(10))
    after = os.fstat(keep)
    os.close(keep)
    os.close(master)
    t.equal((after.st_mode, after.st_uid, after.st_gid), (before.st_mode, before.st_uid, before.st_gid), "mode and owner")


HOSTILE = ["new\nline", "esc\x1b[31mred", "osc\x1b]52;c;aGk=\x07", "rtl\u202etxt", "tab\tname", "back\\slash", "-rf", "cr\rover",
           "bell\x07", "zero\u200bwidth", "c1\u009b31m", 'quote"name']


@suite.case("A124", "hostile names in what people read", "outside ls shows them as its options say")
def hostile_names(t):
    program = "import os\nfor n in %r: open(n, 'w').close()\nopen(b'bad\\xff\\xfe', 'w').close()" % HOSTILE
    result = t.box.run("python3", "-c", program, flags=["--name-status"], as_json=False)
    if result.code == 125:
        t.skip("--name-status is not part of run")
    t.equal(result.code, 0, f"ran: {result}")
    shown = result.out + result.err
    for bad in ("\x1b", "\x07", "\r", "\u202e", "\u009b"):
        t.ok(bad not in shown, f"no raw {bad!r}", shown)
    listed = [line for line in shown.splitlines() if line.startswith("A\t")]
    t.equal(len(listed), len(HOSTILE) + 1, f"one line an entry: {shown}")
    unknown = t.box.run("no\x1b[31m\nsuch\x07program", as_json=False)
    t.equal(unknown.code, 127, f"unknown program: {unknown}")
    t.ok("\x1b" not in unknown.err and "\x07" not in unknown.err, "its name is escaped", unknown.err)
    as_object = t.box.run("python3", "-c", program + "\nprint('\\x1b[31m', end='')", flags=["--name-status"])
    t.ok(as_object.json, "the object is valid", as_object)


def daemon_control(t):
    before = set(descendants(os.getpid()))
    t.box.outside("daemon")
    time.sleep(0.3)
    left = [pid for pid in descendants(os.getpid()) if pid not in before]
    t.ok(left, "outside the grandchild lives on")
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    t.suite.watch.problems()


@suite.case("A069", "daemonised orphan", daemon_control)
def daemon(t):
    started = time.monotonic()
    result = t.box.attack("daemon")
    t.equal(result.code, 0, f"ran: {result}")
    t.ok(time.monotonic() - started < patience(20), "it came back at once")


def inside_pids(supervisor):
    return descendants(supervisor.pid)


@suite.case("A070", "fork storm at the end", "outside it would be an attack on this machine")
def fork_storm(t):
    t.suite.need_clone(t)
    line = "touch /tmp/inside-marker && exec ./attack \"$@\""
    process = t.box.popen(["sh", "-c", line, "sh", "storm-forks", *t.tripwire()], as_json=False, flags=["--pids", "200"])
    try:
        t.ok(b"started" in process.stdout.readline(), "started")
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(patience(20))
        except subprocess.TimeoutExpired:
            t.ok(False, "SIGTERM to the supervisor ends it")
    finally:
        end(process)
    t.equal(t.suite.watch.problems(), [], "all are gone")


@suite.case("A071", "signals to init", "outside pid 1 is the machine's")
def attack_init(t):
    for how in ("stop", "kill", "term", "all", "group"):
        result = t.box.run("sh", "-c", f"./attack init {how}; exit 7", flags=["--time", hope(60)], timeout=80)
        t.ok(result.json, f"{how}: a result came", result)
        t.ok(result.status in ("error", "killed"), f"{how}: status", result)
        t.ok(result.code in (7, 137), f"{how}: exit", result)


@suite.case("A071b", "signals to the supervisor are passed or end the run", "outside there is no supervisor")
def supervisor_signals(t):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        process = t.box.popen(["sh", "-c", "echo ready; sleep 600"], as_json=False)
        t.equal(process.stdout.readline(), b"ready\n", "started")
        process.send_signal(number)
        try:
            code = process.wait(patience(20))
        except subprocess.TimeoutExpired:
            code = None
            end(process)
        t.ok(code is not None and code != 0, f"{number.name} ends the run", code)


@suite.case("A071c", "the supervisor stopped and continued", "outside there is no supervisor")
def supervisor_stopped(t):
    process = t.box.popen(["sh", "-c", "echo ready; sleep 1; exit 5"], as_json=False)
    process.stdout.readline()
    process.send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    process.send_signal(signal.SIGCONT)
    process.communicate(timeout=patience(10))
    t.equal(process.returncode, 5, "the exit code")


def stale_control(t):
    victim = subprocess.Popen(["sleep", "1000"], **t.caller.identity())
    subprocess.run(["sh", "-c", f"echo {victim.pid} 1 > stale; kill -9 $(cut -d' ' -f1 stale); rm stale"], cwd=t.caller.workspace, check=False)
    t.equal(victim.wait(patience(10)), -9, "who believes the file kills another process")


@suite.case("A074", "a stale pid in the state", stale_control)
def stale_pid(t):
    name, pid = f"stale{os.getpid()}", t.canary.process.pid
    for left in ("nothing", "a stopped one"):
        t.equal(t.box.call("create", name).returncode, 0, "created")
        t.equal(t.box.call("exec", name, "--", "true").returncode, 0, "entered")
        folder = f"{t.caller.home}/.local/share/aisbx/sbx/{name}"
        holders = [file for file in os.listdir(folder) if os.path.isfile(f"{folder}/{file}") and is_pid_file(f"{folder}/{file}")]
        t.ok(holders, "some file names the keeper", os.listdir(folder))
        for file in holders:
            with open(f"{folder}/{file}", "r+") as out:
                supervisor, ticks = out.read().split()
                if left == "nothing":
                    os.kill(int(supervisor), signal.SIGKILL)
                else:
                    os.kill(int(supervisor), signal.SIGSTOP)
                out.seek(0)
                out.truncate()
                out.write(f"{pid} {ticks}\n")
        stopped = t.box.call("stop", name)
        t.equal(t.canary.changes(), [], f"behind {left}: stop ({stopped})")
        if left != "nothing":
            os.kill(int(supervisor), signal.SIGKILL)
        removed = t.box.call("rm", name)
        t.equal(removed.returncode, 0, f"it can be removed: {removed}")


def is_pid_file(path):
    """Whether a file says "PID TICKS" and no more."""
    with open(path, "rb") as file:
        words = file.read(100).split()
    return len(words) == 2 and all(word.isdigit() for word in words)


@suite.case("A075", "orphans are reaped", "outside init of the machine reaps them")
def zombies(t):
    count = 10000 if FULL else 1000
    result = t.box.attack("zombies", count, flags=["--pids", "64"], timeout=60)
    t.equal(result.probe("orphans"), str(count), f"orphans with a limit of 64 processes: {result}")


def hold_control(t):
    started = time.monotonic()
    subprocess.run([t.suite.attack, "hold", "2"], capture_output=True)
    t.ok(time.monotonic() - started >= 1.5, "outside the reader waits for the child")


@suite.case("A076", "held pipes", hold_control)
def held_pipes(t):
    for as_json in (True, False):
        started = time.monotonic()
        result = t.box.run("./attack", "hold", "600", as_json=as_json)
        t.equal(result.code, 0, f"ran: {result}")
        t.ok(time.monotonic() - started < patience(20), "it returns at once", time.monotonic() - started)


@suite.case("A076b", "the reader of our output goes away", "outside a program gets SIGPIPE")
def broken_pipe(t):
    process = t.box.popen(["sh", "-c", "while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done"], as_json=False)
    process.stdout.read(1000)
    process.stdout.close()
    try:
        process.wait(patience(10))
    except subprocess.TimeoutExpired:
        process.kill()
        t.ok(False, "a run whose output nobody reads ends")
    finally:
        process.stderr.close()


@suite.case("A077", "forged status", "outside the status is the kernel's as well")
def forged(t):
    result = t.box.attack("forge")
    t.equal((result.code, result.status, result.json.get("exit_code")), (23, "error", 23), f"status: {result}")
    t.ok('"exit_code":0' in result.out.replace(" ", ""), "the lie arrives as data", result.out)
    t.equal(result.probe("opened"), "0", "descriptors beyond the three")
    t.equal(result.object_text.count("\n"), 1, "one object on one line")


@suite.case("A078", "core dumps", "the control would leave a core on this machine")
def cores(t):
    before = set(os.listdir(t.caller.workspace))
    result = t.box.attack("crash")
    t.equal(result.json.get("signal") in (6, "SIGABRT", "ABRT"), True, f"ended by its signal: {result}")
    t.equal(result.code, 134, "exit code")
    t.equal(result.probe("rlimit"), "1", "RLIMIT_CORE stays 1")
    t.ok(result.probe("filter") in ("OK", "EACCES", "EPERM", "EROFS", "ENOENT"), "coredump_filter", result.probe("filter"))
    t.equal(set(os.listdir(t.caller.workspace)) - before, set(), "files left in the workspace")


@suite.case("A094", "wall limit", "outside it spins for ever")
def wall_limit(t):
    started = time.monotonic()
    result = t.box.attack("deaf", flags=["--time", "1s"])
    t.equal((result.code, result.status), (124, "timeout"), f"timeout: {result}")
    t.ok("time" in result.json.get("limits_hit", []), "told in limits_hit", result)
    t.ok(result.json.get("duration_ms", 1e9) < 1000 * patience(20), "not much later than the limit", result)
    t.ok(time.monotonic() - started < patience(20), "it returned")


@suite.case("A094b", "wall limit with children that hide", daemon_control)
def wall_limit_children(t):
    result = t.box.run("sh", "-c", "./attack daemon; ./attack hold 600; ./attack deaf", flags=["--time", "1s"])
    t.equal((result.code, result.status), (124, "timeout"), f"timeout: {result}")


@suite.case("A094c", "wall limit when nobody reads the output", "outside the writer waits for ever")
def wall_limit_unread(t):
    process = t.box.popen(["sh", "-c", "while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done"], as_json=False,
                          flags=["--time", "1s"])
    began = time.monotonic()
    deadline = began + patience(20)
    while any(info[0] == "sh" for info in descendants(process.pid).values()) or time.monotonic() < began + 1:
        if time.monotonic() > deadline:
            process.kill()
            t.ok(False, "the payload is gone although nobody reads")
        time.sleep(0.05)
    process.communicate(timeout=patience(30))
    t.equal(process.returncode, 124, "exit once it was read")


@suite.case("A094d", "wall limit while the filter is asked without end", "outside nobody is asked")
def wall_limit_asked(t):
    script = ("import socket\nwhile True:\n  s = socket.socket()\n  try: s.connect(('192.0.2.1', 9))\n  except OSError: pass\n  s.close()\n")
    result = t.box.run("python3", "-c", script, flags=["--time", "1s"])
    t.equal((result.code, result.status), (124, "timeout"), f"timeout: {result}")
    t.ok(len(result.json.get("denials", [])) <= 100, "denials are bounded", len(result.json.get("denials", [])))


def kill_round(t, rnd, longest):
    process = t.box.popen(["sh", "-c", "echo started; sleep 30 & echo x > f; sleep 30"], as_json=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(rnd.random() * longest)
    process.send_signal(signal.SIGKILL)
    process.wait()


@suite.case("A095", "supervisor killed at random moments", "outside nothing hangs on a supervisor")
def random_kills(t):
    rnd = random.Random(11)
    rounds = 200 if FULL else 40
    longest = 0.2 if slow() else 0.03
    for _ in range(rounds):
        kill_round(t, rnd, longest)
    t.equal(t.box.run("true").code, 0, "the next command works")
    t.equal(t.suite.watch.problems(), [], f"nothing is left after {rounds} kills")


@suite.case("A095b", "init and payload killed from the host at random moments", "outside there is no init")
def random_inner_kills(t):
    rnd = random.Random(13)
    for _ in range(60 if FULL else 12):
        process = t.box.popen(["sh", "-c", "sleep 30 & sleep 30"], as_json=False, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
        time.sleep(rnd.random() * 0.05)
        inner = list(descendants(process.pid))
        if inner:
            try:
                os.kill(rnd.choice(inner), signal.SIGKILL)
            except OSError:
                pass
        try:
            process.wait(0.2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    t.equal(t.box.run("true").code, 0, "the next command works")
    t.equal(t.suite.watch.problems(), [], "nothing is left")


@suite.case("A095c", "a crowd at once, half of it killed", "outside there is no crowd")
def crowd(t):
    count = 200 if FULL else 24
    rnd = random.Random(17)
    processes = [t.box.popen(["sh", "-c", "sleep 1; exit 4"], as_json=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                 for _ in range(count)]
    codes = []
    for process in processes:
        if rnd.random() < 0.5:
            process.send_signal(signal.SIGKILL)
    for process in processes:
        try:
            _, err = process.communicate(timeout=patience(60))
        except subprocess.TimeoutExpired:
            process.kill()
            _, err = process.communicate()
        codes.append(process.returncode)
        t.ok(process.returncode in (4, -9, 125), "a clean end", (process.returncode, err))
        t.ok(process.returncode != 125 or err, "a refusal says why", err)
    t.ok(4 in codes, "some ran to their end", codes)
    t.equal(t.box.run("true").code, 0, "the next command works")
    t.equal(t.suite.watch.problems(15), [], "nothing is left")


def in_pairs(t, count):
    """COUNT runs, two at a time; returns the exit status of xargs and what they said beside the degraded layers."""
    script = f'seq {count} | xargs -P2 -I{{}} "$0" run -C . -- /bin/true'
    done = subprocess.run(["sh", "-c", script, t.caller.program], cwd=t.caller.workspace, env=t.caller.env, capture_output=True,
                          text=True, timeout=patience(count // 6 + 20), **t.caller.identity())
    said = [line for line in done.stderr.splitlines() if "not in full force" not in line]
    t.equal((done.returncode, said), (0, []), f"{count} runs")


@suite.case("A095d", "many runs two at a time leave nothing", "outside nothing is left either", tier="ci")
def many_runs(t):
    in_pairs(t, 1000)


@suite.case("A095e", "a hundred runs two at a time leave nothing", "outside nothing is left either")
def hundred_runs(t):
    in_pairs(t, 100)


suite.main()
