#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ready sandboxes: which run gets one, what the command finds in it, who is refused, and who is killed when.

Moments are random, by a seed (chance.py); what is checked never depends on them. Processes are halted and ended by number, and
each is one of our own.
"""
import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
import types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from aisbxtest import Suite
from box import patience
from chance import chance
from family import command_lines, descendants, halt, kib_of, open_files, read_of, until
from mcpclient import Server
from pool import Daemon

suite = Suite("ready sandboxes", needs_attack=False)
moments = chance("daemon")
ROUNDS = 20
# A call that has waited for so long counts for one priority more (QUEUE_AGE_NS).
AGE_MS = 20000
# Root may be confined by Landlock without a trace, and has no daemon: P08.
PLAIN = ("plain",)


def start_of(result):
    return result.json.get("start")


def first_of_own_plan(t):
    """Where the first run of a new daemon comes from, and how many plans there are behind it."""
    with Daemon(t.caller) as daemon:
        t.ok(until(daemon.is_full), "filled before the first run", daemon.status())
        return start_of(daemon.run(t.box, "true")), daemon.status()["plans"]


@suite.case("P01", "runs from where the daemon began come from the pool, the first of another kind is cold; each has a sandbox of its own", callers=PLAIN)
def used_once(t):
    script = 'test ! -e mine && touch mine && echo "$AISBX_SANDBOX" && hostname && pwd'
    # Where the host changes meanwhile (another suite mounts something), a run has a plan of its own, and is asked for again.
    t.ok(until(lambda: first_of_own_plan(t) == ("pool", 1)), "a run of the daemon's own plan")
    with Daemon(t.caller) as daemon:
        cold = t.box.run("sh", "-c", script, flags=("--pids", "77"))
        t.equal((start_of(cold), cold.code), ("cold", 0), "the first of another kind")
        t.equal(start_of(daemon.run(t.box, "true", flags=("--pids", "77"))), "pool", "the next")
        cold = t.box.run("sh", "-c", script, flags=("--no-daemon",))
        names = {cold.json["sandbox"]}
        for turn in range(6):
            got = daemon.run(t.box, "sh", "-c", script)
            t.equal((start_of(got), got.code), ("pool", 0), f"turn {turn}: {got}")
            name = got.json["sandbox"]
            t.ok(name not in names, "a sandbox is used once", name)
            names.add(name)
            t.equal(got.out.split(), [name, name, t.caller.workspace], "it is the one that the result names")
            for key in ("layers", "degraded", "changes", "isolation"):
                t.equal(got.json[key], cold.json[key], key)
        daemon.warm(t.box)
        t.equal(start_of(t.box.run("true", flags=("--no-daemon",))), "cold", "--no-daemon")
        t.equal(start_of(t.box.run("true", env={"AISBX_DAEMON": "0"})), "cold", "AISBX_DAEMON=0")
        t.equal(t.box.run("no-such-program").code, 127, "a command that is not there")
    t.equal(start_of(t.box.run("true")), "cold", "without a daemon")


@suite.case("P02", "the command sees the host as it is at the call: files, masks, another plan", callers=PLAIN)
def as_it_is(t):
    path = t.caller.put("file", "old")
    with Daemon(t.caller) as daemon:
        for turn in range(20):
            daemon.warm(t.box)
            t.caller.put("file.new", f"new {turn}")
            os.rename(path + ".new", path)
            got = t.box.run("cat", "file")
            t.equal(got.out, f"new {turn}", "a file that was replaced")
            if start_of(got) == "pool":
                break
        t.equal(start_of(got), "pool", "in a ready one")
        daemon.warm(t.box)
        secret = t.caller.put_at(os.path.join(t.caller.home, ".aws", "credentials"), "secret")
        link = os.path.join(t.caller.workspace, "id")
        os.link(secret, link)
        got = t.box.run("cat", secret)
        t.ok(got.code != 0 and "secret" not in got.out, "a credential that has just appeared", got)
        os.unlink(link)
        daemon.warm(t.box)
        got = t.box.run("sh", "-c", "ulimit -f", flags=("--fsize", "1m"))
        t.equal(start_of(got), "cold", "with another limit")
        for flags in (("--ro", "/usr/share:/mnt/x"), ("--allow", "example.com")):
            t.equal(start_of(t.box.run("true", flags=flags)), "cold", flags)


@suite.case("P03", "the caller's limits, variables, streams and directory reach the command", callers=PLAIN)
def inherited(t):
    with Daemon(t.caller) as daemon:
        daemon.warm(t.box)
        here = t.caller.put("below/x", "")
        program = ["sh", "-c", 'ulimit -S -s 3456; ulimit -n 300; exec "$@"', "sh"]
        words = t.box.argv(["sh", "-c", "ulimit -s; ulimit -H -n; pwd; echo $A; cat; echo err >&2; exit 7"], flags=("--env", "A=b"))
        for _ in range(20):
            daemon.warm(t.box)
            got = subprocess.run(program + words, input=b"in", capture_output=True, cwd=os.path.dirname(here), env=t.caller.env,
                                 timeout=patience(60), check=False, **t.caller.identity())
            result = json.loads(got.stdout)
            if result.get("start") == "pool":
                break
        t.equal((result.get("start"), got.returncode), ("pool", 7), f"{result} {got.stderr!r}")
        t.equal(result["stdout"].splitlines(), ["3456", "300", os.path.dirname(here), "b", "in"], "what it found")
        t.equal(result["stderr"], "err\n", "its other stream")


def connect(daemon, message=b""):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
        one.settimeout(patience(5))
        one.connect(daemon.socket)
        try:
            if message:
                one.send(message)
            return one.recv(65536)
        except (OSError, TimeoutError):
            return b""


@suite.case("P04", "who is another user, elsewhere, or more confined gets none", callers=PLAIN)
def refused(t):
    with Daemon(t.caller) as daemon:
        daemon.warm(t.box)
        t.equal(os.stat(daemon.socket).st_mode & 0o777, 0o600, "the mode of the socket")
        confined = ["setpriv", "--no-new-privs"]
        words = t.box.argv(["true"])
        for wrapper in (confined, ["nice", "-n", "3"], ["taskset", "1"]):
            got = subprocess.run(wrapper + words, capture_output=True, cwd=t.caller.workspace, env=t.caller.env,
                                 timeout=patience(60), check=False, **t.caller.identity())
            t.ok(got.stdout, f"{wrapper}: {got}")
            t.equal(json.loads(got.stdout)["start"], "cold", wrapper)
            asked = subprocess.run(wrapper + [t.caller.program, "daemon", "status"], capture_output=True, text=True, env=t.caller.env,
                                   check=False, **t.caller.identity())
            t.ok(asked.returncode != 0 and "refuses" in asked.stderr, wrapper, asked)
        inside = t.box.run("ls", daemon.socket)
        t.ok(inside.code != 0, "no sandbox sees the socket", inside)
        if os.geteuid() == 0:
            probe = ("import socket,sys; s=socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect(sys.argv[1])")
            got = subprocess.run(["/usr/bin/python3", "-c", probe, daemon.socket], capture_output=True, text=True, user=54322, group=54322,
                                 extra_groups=[], check=False)
            t.ok("PermissionError" in got.stderr, "another user does not reach it", got.stderr)
        before = daemon.status()
        for noise in (b"x", b"\0" * 8, bytes(range(256)) * 8, b"{" * 60000):
            connect(daemon, noise)
        t.equal(daemon.status()["pid"], before["pid"], "noise does not end it")
        t.equal(start_of(daemon.run(t.box, "true")), "pool", "and it serves")


@suite.case("P05", "a daemon that hangs is asked once, and then left alone; a dead one is no loss", callers=PLAIN)
def hung(t):
    with Daemon(t.caller) as daemon:
        daemon.warm(t.box)
        os.kill(daemon.process.pid, signal.SIGSTOP)
        t.equal(start_of(t.box.run("true")), "cold", "the first call goes on by itself")
        away = os.path.join(daemon.dir, "daemon.away")
        # The mark holds for ten seconds: on a busy machine the next call may come later, and is no witness then.
        for _ in range(20):
            os.utime(away)
            stamp, began = os.stat(away).st_mtime_ns, time.monotonic()
            t.equal(start_of(t.box.run("true")), "cold", "the next does not wait")
            if time.monotonic() - began < 9:
                break
        t.equal(os.stat(away).st_mtime_ns, stamp, "it has not asked")
        os.kill(daemon.process.pid, signal.SIGCONT)
        daemon.kill()
        t.ok(os.path.exists(daemon.socket), "its socket is still there")
        t.equal(t.box.run("true").code, 0, "a run without it")
    with Daemon(t.caller) as daemon:
        t.equal(start_of(daemon.run(t.box, "true")), "pool", "the next daemon serves")


def history(t, count):
    return [json.loads(line) for line in t.box.call("history", "--count", count, "--json").stdout.splitlines()]


@suite.case("P06", "killed at random moments, daemon or caller: 8 runs under way end well, each is on record, and nothing is left", "a shell's children outlive it", callers=PLAIN)
def killed(t):
    ended = set()
    for turn in range(ROUNDS):
        with Daemon(t.caller) as daemon:
            if turn % 4:
                daemon.warm(t.box)
            calls = [t.box.popen(["sh", "-c", "sleep 0.1; echo done"]) for _ in range(8)]
            time.sleep(moments.random() * 0.4)
            victim = calls.pop() if turn % 2 else None
            if victim:
                victim.kill()
                victim.communicate()
            daemon.kill()
            for call in calls:
                out, err = call.communicate(timeout=patience(60))
                t.ok(out, f"turn {turn}: an answer", (call.returncode, err, daemon.said()))
                result = json.loads(out)
                t.equal((call.returncode, result["stdout"]), (0, "done\n"), f"turn {turn}: {result} {err!r} {daemon.said()!r}")
                ended.add(result["run_id"])
    t.ok(until(lambda: not t.suite.watch.new_ones()), "all processes end")
    t.equal(t.box.run("true").code, 0, "the next run")
    rows = {row["run_id"]: row["status"] for row in history(t, 1000)}
    t.equal([run for run in ended if rows.get(run) != "success"], [], "no run is lost")
    t.ok("running" not in rows.values(), "and none is open", rows)
    t.equal(t.suite.watch.problems(), [], "nothing is left")


@suite.case("P07", "stopped it takes what is ready with it, and says whether there was one", callers=PLAIN)
def stopped(t):
    with Daemon(t.caller, "--pool", "2") as daemon:
        daemon.warm(t.box)
        t.equal(daemon.status()["pool"], 2, "its size")
        second = t.box.call("daemon", "start")
        t.ok(second.returncode != 0 and "already" in second.stderr, "there is one at most", second)
        t.equal(t.box.call("daemon", "stop").stdout, "stopped\n", "stop")
        t.equal(daemon.process.wait(patience(30)), 0, "its end")
    t.equal(t.box.call("daemon", "stop").stdout, "no daemon is running\n", "nothing to stop")
    t.equal(json.loads(t.box.call("daemon", "status", "--json").stdout), {"running": False}, "nor to see")
    t.equal(t.box.call("daemon", "dance").returncode, 2, "another word")
    t.equal(t.suite.watch.problems(), [], "nothing is left")


@suite.case("P17", "where a stop has ended, the next start finds no other daemon", callers=PLAIN)
def stop_and_start(t):
    for turn in range(ROUNDS):
        started, asked = t.box.call("daemon", "start"), []
        t.equal(started.returncode, 0, f"turn {turn}: {started}")

        def stops():
            """Asked in vain for as long as the verb waits, a busy one is asked again."""
            asked.append(t.box.call("daemon", "stop"))
            return asked[-1].returncode == 0
        t.ok(until(stops), f"turn {turn}: it stops", asked)


@suite.case("P20", "what a killed daemon leaves for a moment does not keep the next one from starting", callers=PLAIN)
def lock_of_the_dead(t):
    with Daemon(t.caller) as dead:
        dead.kill()
    with open(os.path.join(dead.dir, "daemon.lock"), "rb") as lock:
        # As a child of the dead one holds it until it has closed what it inherited.
        fcntl.flock(lock, fcntl.LOCK_EX)
        with subprocess.Popen([t.caller.program, "daemon", "start"], cwd=t.caller.workspace, env=t.caller.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, **t.caller.identity()) as start:
            t.ok(until(lambda: lock.name in open_files(start.pid).values() or start.poll() is not None), "it meets the lock")
            fcntl.flock(lock, fcntl.LOCK_UN)
            t.equal((start.wait(patience(60)), start.stderr.read()), (0, b""), "it starts")
    t.equal(t.box.call("daemon", "stop").stdout, "stopped\n", "stop")


@suite.case("P18", "an answer that came too late keeps callers away only until the daemon serves again", callers=PLAIN)
def back_again(t):
    with Daemon(t.caller) as daemon:
        away = os.path.join(daemon.dir, "daemon.away")
        t.ok(until(daemon.is_full), "filled before the first call", daemon.status())
        os.kill(daemon.process.pid, signal.SIGSTOP)
        t.equal(start_of(t.box.run_cold("true")), "cold", "it hangs")
        t.ok(os.path.exists(away), "and is left alone")
        os.kill(daemon.process.pid, signal.SIGCONT)
        t.ok(until(lambda: not os.path.exists(away)), "until it is back")


@suite.case("P08", "root has none, and is told why", callers=("root",))
def root_has_none(t):
    for words in (("daemon",), ("daemon", "start")):
        got = t.box.call(*words)
        t.ok(got.returncode == 4 and "Landlock" in got.stderr, words, got)
    t.equal(start_of(t.box.run_cold("true")), "cold", "a run")


@suite.case("P09", "who has fewer groups than the daemon is refused", callers=PLAIN)
def fewer_groups(t):
    if os.geteuid() != 0:
        t.skip("only root gives a process groups")
    with Daemon(t.caller, extra_groups=[54323]) as daemon:
        asked = t.box.call("daemon", "status")
        t.ok(asked.returncode != 0 and "refuses" in asked.stderr, "by its groups", asked)
        t.equal(start_of(t.box.run_cold("true")), "cold", "a run")
        t.ok(daemon.status().get("running"), "who has them is not")


@suite.case("P11", "a reload makes what is ready anew, and runs under way go on", callers=PLAIN)
def reloaded(t):
    t.equal(t.box.call("daemon", "reload").stdout, "no daemon is running\n", "nothing to reload")
    with Daemon(t.caller, "--pool", "2") as daemon:
        t.ok(until(daemon.is_full), "filled")
        made = daemon.status()["made"]
        with begin(t, daemon) as call:
            t.ok(until(lambda: daemon.status().get("given") and daemon.is_full()), "one runs", daemon.status())
            t.equal(t.box.call("daemon", "reload").stdout, "reloaded\n", "reload")
            t.ok(until(lambda: daemon.status()["made"] >= made + 3), "all are made anew", daemon.status())
            out, _ = call.communicate(b"word", timeout=patience(60))
            t.equal(json.loads(out)["stdout"], "word", "the run under way")
        t.equal(daemon.status()["pid"], daemon.process.pid, "it is the same daemon")
        t.equal(start_of(daemon.run(t.box, "true")), "pool", "and it serves")
    t.equal(t.box.call("daemon", "reload", "--pool", "2").returncode, 2, "a flag of a start")


@suite.case("P20", "with few descriptors it serves and ends as ever, however many callers are silent", callers=PLAIN)
def few_descriptors(t):
    with Daemon(t.caller, "--max-running", "40", "--queue", "40", "--pool", "1", wrapper=["sh", "-c", 'ulimit -n 64; exec "$@"', "sh"]) as daemon:
        t.equal(daemon.status()["max_running"], 31, "half of the descriptors are for calls")
        t.ok(until(daemon.is_full), "and others for ready ones", daemon.status())
        with contextlib.ExitStack() as open_ones:
            for _ in range(100):
                # One that is silent, beyond what the daemon may hold.
                one = open_ones.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
                one.connect(daemon.socket)
            t.equal(daemon.status().get("pid"), daemon.process.pid, "a caller beyond all descriptors is served")
        daemon.process.terminate()
        t.equal(daemon.process.wait(patience(30)), 0, "TERM ends it")


def waits(t, daemon, count):
    """Whether so many calls come to wait."""
    return until(lambda: daemon.status().get("waiting") == count)


def call_until(t, daemon, condition, *args, **kw):
    """A call under way with which the daemon's state is so. One that a busy daemon has not answered in time is made again."""
    away = os.path.join(daemon.dir, "daemon.away")
    for _ in range(20):
        daemon.forgive()
        call = t.box.popen(*args, **kw)
        if until(lambda: condition(daemon.status()) or os.path.exists(away)) and not os.path.exists(away):
            return call
        call.kill()
        call.communicate()
    raise AssertionError("the daemon never answers in time")


def begin(t, daemon, **kw):
    """A call that runs until its input ends, and that the daemon counts: one that it answered too late is made once more."""
    for _ in range(20):
        daemon.forgive()
        call = t.box.popen(["cat"], stdin=subprocess.PIPE, **kw)
        if until(lambda: daemon.status().get("busy") == 1, 5):
            return call
        call.communicate(b"", timeout=patience(60))
    raise AssertionError("none runs")


def start_waiting(t, daemon, *command, count=1, **kw):
    """A call that waits, as the one of that number, made once more as above."""
    for _ in range(20):
        daemon.forgive()
        call = t.box.popen(list(command) or ["true"], **kw)
        if until(lambda: daemon.status().get("waiting") == count or call.poll() is not None) and call.poll() is None:
            return call
        call.communicate(timeout=patience(60))
    raise AssertionError("none waits")


def since_ms(t, pid):
    """How long that call has waited, or run, as the daemon shows it."""
    rows = map(json.loads, t.box.call("queue", "--json").stdout.splitlines())
    return next((row["since_ms"] for row in rows if row["pid"] == pid), 0)


@suite.case("P12", "beyond --max-running calls wait, beyond --queue they are refused, and none of that counts against --time", callers=PLAIN)
def queued(t):
    t.equal(t.box.call("queue", "--json").stdout, "", "without a daemon nothing waits")
    with Daemon(t.caller, "--max-running", "1", "--queue", "2") as daemon:
        with begin(t, daemon) as first:
            second = start_waiting(t, daemon, "echo", "second", flags=("--time", "10s"))
            # One that the daemon does not answer in time goes on by itself, and is made once more.
            for _ in range(20):
                daemon.forgive()
                refused = t.box.run_cold("true")
                if refused.code:
                    break
            t.equal((refused.code, refused.json["status"], refused.json.get("error", {}).get("code")), (125, "denied", "busy"), refused)
            t.ok("busy: 1 sandboxes run and 1 calls wait" in refused.json["message"], "a sentence", refused)
            other = start_waiting(t, daemon, "echo", "third", count=2, start_new_session=True, env={"AISBX_PRIORITY": "high"})
            shown = [json.loads(line) for line in t.box.call("queue", "--json").stdout.splitlines()]
            t.equal([row["state"] for row in shown], ["runs", "waits", "waits"], shown)
            high = {row["pid"]: row for row in shown}.get(other.pid, {})
            t.equal((shown[0]["pid"], high.get("priority"), high.get("caller")), (first.pid, "high", other.pid), shown)
            t.equal(t.box.run_cold("true", flags=("--no-daemon",)).code, 0, "--no-daemon waits for nothing")
            wrong = t.box.run_cold("true", env={"AISBX_PRIORITY": "urgent"})
            t.equal((wrong.code, wrong.json["error"]["code"]), (125, "usage"), "another word")
            # By the daemon's own clock it has waited for longer than it may run.
            t.ok(until(lambda: since_ms(t, second.pid) > 10000), "it waits")
            first.communicate(b"", timeout=patience(60))
        results = [json.loads(call.communicate(timeout=patience(60))[0]) for call in (second, other)]
        t.equal([result["stdout"] for result in results], ["second\n", "third\n"], results)
        t.ok(results[0]["queued_ms"] > 10000 and results[1]["queued_ms"] > 0, "what they waited", results)
        # Who has waited for long enough comes before any priority.
        t.ok(results[1]["run_id"] < results[0]["run_id"] or results[0]["queued_ms"] >= 2 * AGE_MS, "the high one was first", results)
        t.ok(until(lambda: daemon.status()["busy"] == 0), "all places are free")


@suite.case("P13", "exec, race and a batch take a place each; what only starts others holds none", callers=PLAIN)
def others_queued(t):
    t.equal(t.box.call("create", "q1").returncode, 0, "create")
    with Daemon(t.caller, "--max-running", "1", "--queue", "8") as daemon:
        lines = t.caller.put("lines", "".join(json.dumps({"command": ["echo", str(n)]}) + "\n" for n in range(4)))
        got = t.box.call("run", "--jobs", "3", "--batch", lines)
        t.equal([json.loads(line)["stdout"] for line in got.stdout.splitlines()], [f"{n}\n" for n in range(4)], got)
        with begin(t, daemon) as first:
            # On a busy machine an answer may come too late; the call goes on by itself then, and is made once more.
            for _ in range(20):
                daemon.forgive()
                call = subprocess.Popen([t.caller.program, "exec", "--json", "q1", "--", "true"], stdout=subprocess.PIPE,
                                        cwd=t.caller.workspace, env=t.caller.env, **t.caller.identity())
                until(lambda: call.poll() is not None or daemon.status()["waiting"] == 1)
                if call.poll() is None:
                    break
                call.communicate()
            t.ok(call.poll() is None, "exec waits")
            first.communicate(b"", timeout=patience(60))
            result = json.loads(call.communicate(timeout=patience(60))[0])
        t.equal((result["exit_code"], result["queued_ms"] > 0), (0, True), result)
        got = t.box.call("race", "-c", "a=true", "-c", "b=true", "--check", "true", "--jobs", "2", "--json", timeout=120)
        t.equal(got.returncode, 0, got)
    t.equal(t.box.call("rm", "q1").returncode, 0, "rm")


@suite.case("P21", "a command in the background has a place as long as it runs, also without its caller, or is refused", callers=PLAIN)
def background_queued(t):
    t.equal(t.box.call("create", "q2").returncode, 0, "create")
    with Daemon(t.caller, "--max-running", "1", "--queue", "1") as daemon:
        ids = []

        def holds():
            """Asked in vain, a busy daemon does not count it: it is ended, and started once more."""
            daemon.forgive()
            for one in ids:
                t.box.call("poll", one, "--signal", "KILL")
            ids[:] = [t.box.call("exec", "-d", "q2", "--", "sleep", "600").stdout.strip()]
            return daemon.status().get("busy") == 1
        t.ok(until(holds), "it has a place, though its caller is gone", daemon.status())
        waiting = start_waiting(t, daemon, "echo", "second")

        def busy():
            daemon.forgive()
            got = t.box.call("exec", "-d", "--json", "q2", "--", "touch", "never")
            return got if got.returncode else None
        refused = next(filter(None, (busy() for _ in range(20))), None)
        t.ok(refused and refused.returncode == 125 and json.loads(refused.stdout)["error"]["code"] == "busy", "another is refused", refused)
        t.equal(t.box.call("exec", "-d", "--no-daemon", "q2", "--", "true").returncode, 0, "--no-daemon waits for nothing")
        t.equal(t.box.call("poll", ids[0], "--signal", "KILL").returncode, 0, "it ends")
        t.equal(json.loads(waiting.communicate(timeout=patience(60))[0])["stdout"], "second\n", "and the next one runs")
        t.ok(until(lambda: daemon.status().get("busy") == 0), "all places are free", daemon.status())
    t.equal(t.box.call("rm", "q2").returncode, 0, "rm")


def serve_mcp(t, *flags, enter=None, **env):
    home = types.SimpleNamespace(work=t.caller.workspace, env={**t.caller.env, **env})
    return Server(home, *flags, preexec_fn=enter, **t.caller.identity())


def call_pooled(daemon, server, script):
    """What a tool answers from the pool; a busy daemon may not answer in time, and then the next one is taken."""
    for _ in range(20):
        daemon.forgive()
        got = server.data("sandbox_run", command=["sh", "-c", script])
        if got.get("start") == "pool":
            break
        until(daemon.is_full)
    return got


WALLS = ("grep -E '^(Seccomp|Seccomp_filters|NoNewPrivs|Cap[A-Z][a-z]+|Groups|Uid):' /proc/self/status; id; ls / /tmp /dev /run /run/aisbx; "
         "cat /proc/net/dev | wc -l; ls /proc | grep -c '^[0-9]'; mount -t tmpfs x /mnt; unshare -Ur true; echo x > /etc/passwd; "
         "cat /proc/sys/kernel/hostname > /dev/null; ulimit -a; cat /proc/self/mountinfo | cut -d' ' -f5 | sort")


@suite.case("P22", "runs over MCP come from the pool, with the walls of a cold one, and each owner has sandboxes of its own", callers=PLAIN)
def over_mcp(t):
    path = t.caller.put("file", "old")
    with Daemon(t.caller) as daemon, serve_mcp(t) as server:
        t.equal(server.data("sandbox_run", command=["true"]).get("start"), "cold", "the first of a server's own")
        got = call_pooled(daemon, server, "echo $AISBX_SANDBOX; touch mine; id -u; pwd; sleep 0.01")
        t.equal((got.get("start"), got.get("status")), ("pool", "success"), got)
        names = {got["stdout"].split()[0]}
        again = call_pooled(daemon, server, "test ! -e mine && echo $AISBX_SANDBOX")
        t.ok(again.get("start") == "pool" and again["stdout"].split()[0] not in names, "each is used once", again)
        with serve_mcp(t, AISBX_DAEMON="0") as cold:
            # Until the host shows the same before and behind it: other suites make directories and mounts.
            for _ in range(20):
                without = cold.data("sandbox_run", command=["sh", "-c", WALLS])
                pooled = call_pooled(daemon, server, WALLS)
                if cold.data("sandbox_run", command=["sh", "-c", WALLS])["stdout"] == without["stdout"]:
                    break
        t.equal((pooled.get("start"), without.get("start")), ("pool", "cold"), "AISBX_DAEMON=0")
        for key in ("stdout", "stderr", "exit_code", "degraded", "isolation", "changes"):
            t.equal(pooled.get(key), without.get(key), f"the same walls: {key}")
        for turn in range(20):
            t.caller.put("file.new", f"new {turn}")
            os.rename(path + ".new", path)
            got = call_pooled(daemon, server, "cat file")
            t.equal(got.get("stdout"), f"new {turn}", "a file that was replaced")
            if got.get("start") == "pool":
                break
        t.equal(got.get("start"), "pool", "in a ready one")
        until(daemon.is_full)
        secret = t.caller.put_at(os.path.join(t.caller.home, ".aws", "credentials"), "CANARY")
        for _ in range(3):
            got = server.data("sandbox_run", command=["cat", secret])
            t.ok(got.get("exit_code") and "CANARY" not in json.dumps(got), "a credential that has just appeared", got)
        t.ok("CANARY" not in call_pooled(daemon, server, f"cat {secret} /proc/*/environ /proc/1/root{secret}").get("stdout", ""),
             "nor in the next that is ready")
        with serve_mcp(t) as other:
            t.equal(other.data("sandbox_run", command=["true"]).get("start"), "cold", "another server's are not its own")
        made = daemon.status()["given"]
        for name, more in (("mem", {"mem": "64m"}), ("pids", {"pids": 9}), ("time", {"time": "5s"})):
            got = server.data("sandbox_run", command=["true"], **more)
            t.equal((name, got.get("status")), (name, "success"), got)
        t.ok(daemon.status()["given"] >= made, "it serves")
        os.kill(daemon.process.pid, signal.SIGSTOP)
        got = [server.data("sandbox_run", command=["true"]) for _ in range(3)]
        os.kill(daemon.process.pid, signal.SIGCONT)
        t.equal([(one.get("start"), one.get("status")) for one in got], [("cold", "success")] * 3, "one that hangs is left alone")
        daemon.kill()
        t.equal(server.data("sandbox_run", command=["true"]).get("start"), "cold", "a dead one is no loss")


@suite.case("P19", "a race and a batch never refuse their own; refused, all of them is", callers=PLAIN)
def refused_as_one(t):
    lines = t.caller.put("lines", "".join(json.dumps({"command": ["sh", "-c", f"sleep 0.1; echo {n}"]}) + "\n" for n in range(4)))
    race = ("race", "-c", "a=true", "-c", "b=true", "-c", "c=true", "--check", "true", "--jobs", "3", "--json")
    with Daemon(t.caller, "--max-running", "1", "--queue", "1") as daemon:
        t.ok(until(daemon.is_full), "filled")
        got = t.box.call("run", "--jobs", "4", "--batch", lines, timeout=120)
        t.equal([json.loads(line).get("stdout") for line in got.stdout.splitlines()], [f"{n}\n" for n in range(4)], got)
        got = t.box.call(*race, timeout=120)
        t.equal([row["status"] for row in json.loads(got.stdout).get("attempts", ())], ["success"] * 3, got)
        with begin(t, daemon) as first:
            second = start_waiting(t, daemon)
            for code, words in ((70, race), (125, ("run", "--jobs", "4", "--batch", lines))):
                # On a busy machine an answer may come too late; the call goes on by itself then.
                for _ in range(20):
                    daemon.forgive()
                    got = t.box.call(*words, timeout=120)
                    if got.returncode:
                        break
                t.ok(got.returncode == code and "busy: 1 sandboxes run and " in got.stdout + got.stderr, words, got)
            first.communicate(b"", timeout=patience(60))
            second.communicate(timeout=patience(60))


@suite.case("P14", "those that wait go on by themselves when the daemon ends, is killed or hangs", callers=PLAIN)
def orphaned(t):
    for end in ("stop", "kill", "halt"):
        with Daemon(t.caller, "--max-running", "1") as daemon:
            with begin(t, daemon) as first:
                second = start_waiting(t, daemon, "echo", "word")
                if end == "stop":
                    t.equal(t.box.call("daemon", "stop").stdout, "stopped\n", "stop")
                elif end == "kill":
                    daemon.kill()
                else:
                    os.kill(daemon.process.pid, signal.SIGSTOP)
                result = json.loads(second.communicate(timeout=patience(60))[0])
                t.equal((result["stdout"], result["start"]), ("word\n", "cold"), f"{end}: {result}")
                first.communicate(b"", timeout=patience(60))
            if end == "halt":
                os.kill(daemon.process.pid, signal.SIGCONT)


def init_of(parent, word):
    """The child of PARENT that has a process with this word in its command below it."""
    with_word = {pid for pid, words in command_lines() if word in words}
    for pid, (_, _, above) in descendants(parent).items():
        if above == parent and with_word & descendants(pid).keys():
            return pid
    return None


def kill_running(t, daemon, flags):
    """The result of a call whose sandbox is killed while the command runs."""
    with t.box.popen(["sleep", "98765"], flags=flags) as call:
        t.ok(until(lambda: init_of(daemon.process.pid, "98765") or init_of(call.pid, "98765")), "it runs")
        os.kill(init_of(daemon.process.pid, "98765") or init_of(call.pid, "98765"), signal.SIGKILL)
        return json.loads(call.stdout.read())


def kill_given(t, daemon, flags):
    """The same, killed when it was given and before the command begins: all that are ready are halted."""
    given, below = daemon.status()["given"], descendants(daemon.process.pid)
    payloads = halt([pid for pid, (_, _, above) in below.items() if above in below])
    with t.box.popen(["true"], flags=flags) as call:
        until(lambda: daemon.status()["given"] > given or call.poll() is not None)
        for init in {below[pid][2] for pid in payloads}:
            os.kill(init, signal.SIGKILL)
        return json.loads(call.stdout.read())


@suite.case("P15", "a sandbox that is killed behind its start is told as killed, 125, and so is its record", callers=PLAIN)
def init_killed(t):
    with Daemon(t.caller) as daemon:
        for start, kill, flags in (("pool", kill_running, ()), ("cold", kill_running, ("--no-daemon",)), ("pool", kill_given, ())):
            # A daemon that was too busy to answer in time is asked again.
            for _ in range(20):
                t.ok(daemon.warm(t.box), "ready")
                result = kill(t, daemon, flags)
                if result["start"] == start:
                    break
            t.equal((result["start"], result["status"], result["exit_code"]), (start, "killed", 125), result)
            t.ok("init was killed" in result["message"], "a sentence", result)
            (row,) = [row for row in history(t, 10) if row["run_id"] == result["run_id"]]
            t.equal((row["status"], row["exit_code"]), ("killed", 125), row)
        t.equal(start_of(daemon.run(t.box, "true")), "pool", "and the daemon serves")


# 1,000 callers of one session, of each kind as many: silent, half-sent, with an answer that is never read, and with a place or in
# the queue. Reports the last that was let wait; keeps what it has until its input ends.
CROWD = """
import socket, struct, sys
def connect():
    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    one.connect(sys.argv[1])
    return one
def ask(kind):
    return struct.pack("<4I130s2x", int(sys.argv[2]), kind, 0, 0, b"")
kept = []
for message in (b"", ask(1)[:7], ask(3)):
    for _ in range(250):
        kept.append(connect())
        if message:
            kept[-1].send(message)
waiting = [connect() for _ in range(250)]
for one in waiting:
    one.send(ask(1))
print(*sorted({struct.unpack("<5I", one.recv(64))[1] for one in waiting}), flush=True)
sys.stdin.read()
"""
POOL_VERSION, WAIT, RUN = 4, 7, 8


def held(daemon):
    now = daemon.status()
    return now.get("busy", 0) + now.get("waiting", 0)


@suite.case("P16", "1,000 callers at once, silent and half-sent ones among them: others are served, in a bounded memory", callers=PLAIN)
def crowded(t):
    few = ["sh", "-c", 'ulimit -S -n 256; exec "$@"', "sh"]
    with Daemon(t.caller, "--max-running", "8", "--queue", "1000", wrapper=few) as daemon:
        daemon.warm(t.box)
        before = kib_of(daemon.process.pid)
        with subprocess.Popen(["sh", "-c", 'ulimit -S -n 2000; exec "$@"', "sh", "/usr/bin/python3", "-c", CROWD, daemon.socket, str(POOL_VERSION)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True, **t.caller.identity()) as crowd:
            t.equal(crowd.stdout.readline().split(), [str(WAIT), str(RUN)], "250 run or wait")
            t.ok(until(lambda: held(daemon) == 250), "those that run or wait are all there", daemon.status())
            other = call_until(t, daemon, lambda now: now.get("busy", 0) + now.get("waiting", 0) == 251, ["echo", "word"],
                               start_new_session=True, env={"AISBX_PRIORITY": "high"})
            grown = kib_of(daemon.process.pid) - before
            t.ok(grown < 4096, "bounded", grown)
            crowd.stdin.close()
        result = json.loads(other.communicate(timeout=patience(60))[0])
        t.equal((result["stdout"], result["queued_ms"] > 0), ("word\n", True), result)
        t.ok(until(lambda: daemon.status()["busy"] == 0), "all places are free")
        t.equal(start_of(daemon.run(t.box, "true")), "pool", "and it serves")


def entering(groups):
    """Words in front of a command: in these groups."""
    return ["sh", "-c", "".join(f"echo $$ >{group}/cgroup.procs && " for group in groups) + 'exec "$@"', "sh"]


def delegated(t, *controllers):
    """A group of the caller's own in each of these hierarchies."""
    made = []
    for mine in t.suite.watch.groups.mine:
        if mine.split("/")[4] not in controllers:
            continue
        made.append(f"{mine}/delegated")
        os.makedirs(made[-1], exist_ok=True)
        for path in (made[-1], f"{made[-1]}/cgroup.procs"):
            os.chown(path, t.caller.uid, t.caller.uid)
    if len(made) != len(controllers):
        t.skip("no groups of version 1 here")
    return made


def group_with(groups, word):
    """The group below those that has a process with this word in its command."""
    for entry in [entry for group in groups for entry in os.scandir(group) if entry.is_dir()]:
        # Groups and processes come and go meanwhile.
        with contextlib.suppress(OSError), open(f"{entry.path}/cgroup.procs") as file:
            if any(word in (read_of(pid, "cmdline") or "").split("\0") for pid in file.read().split()):
                return entry.path
    return None


def janitors_of(pid):
    return [child for child, (name, _, above) in descendants(pid).items() if above == pid and name == "aisbx-janitor"]


@suite.case("P10", "a command is held by all groups of its caller, and its own go with a caller that is killed", callers=PLAIN)
def groups(t):
    def run(groups, *command):
        got = subprocess.run(entering(groups) + t.box.argv(command), capture_output=True, cwd=t.caller.workspace, env=t.caller.env,
                             timeout=patience(60), check=False, **t.caller.identity())
        return json.loads(got.stdout)

    def start_in(groups):
        # A daemon that was too busy to answer in time is asked again.
        daemon.forgive()
        return run(groups, "true")["start"]

    own, frozen = delegated(t, "memory", "pids"), delegated(t, "freezer")
    with Daemon(t.caller, wrapper=entering(own)) as daemon:
        t.ok(until(lambda: start_in(own) == "pool"), "in the daemon's groups")
        t.ok(until(daemon.is_full), "filled")
        t.equal(start_in(own + frozen), "cold", "in one more")
        t.equal(start_in([]), "cold", "in others")
        t.ok(until(lambda: start_in(own) == "pool"), "as before")
        t.ok(until(daemon.is_full), "filled again")
        daemon.forgive()
        with subprocess.Popen(entering(own) + t.box.argv(["sleep", "9876"]), stdout=subprocess.DEVNULL, cwd=t.caller.workspace,
                              env=t.caller.env, **t.caller.identity()) as call:
            t.ok(until(lambda: group_with(own, "9876")), "it runs")
            left = group_with(own, "9876")
            # Of the caller nothing outlives it, and something in the group ends late: it can be removed only behind that.
            t.ok(until(lambda: janitors_of(call.pid)), "it has a janitor")
            for pid in janitors_of(call.pid):
                os.kill(pid, signal.SIGKILL)
            with subprocess.Popen(["sleep", "1000"]) as late:
                with open(f"{left}/cgroup.procs", "w") as file:
                    file.write(str(late.pid))
                call.kill()
                call.wait()
                t.ok(until(lambda: open(f"{left}/cgroup.procs").read().split() == [str(late.pid)]), "the others end")
                time.sleep(0.3)
                late.kill()
        t.ok(until(lambda: not os.path.exists(left)), "its group goes", left)
        daemon.kill()
        t.ok(until(lambda: not [entry for group in own for entry in os.scandir(group) if entry.is_dir()]), "and all with the daemon")
    for group in own + frozen:
        t.ok(until(lambda: not os.path.exists(group) or not open(f"{group}/cgroup.procs").read()), "empty", group)
        os.rmdir(group)


@suite.case("P23", "a ready sandbox of an owner's is held by the owner's limit, and leaves no group when the daemon is killed", callers=PLAIN)
def owner_groups(t):
    own = delegated(t, "memory", "pids")

    def enter():
        for group in own:
            with open(f"{group}/cgroup.procs", "w") as file:
                file.write("0")

    def below(group):
        return [entry.path for entry in os.scandir(group) if entry.is_dir()]
    memory, = (group for group in own if group.split("/")[4] == "memory")
    with Daemon(t.caller, wrapper=entering(own)) as daemon:
        with serve_mcp(t, "--owner", "one", "--owner-mem", "150m", enter=enter) as server:
            got = call_pooled(daemon, server, "exec python3 -c 'x = b\"x\" * (250 << 20)'")
            t.equal((got.get("start"), got.get("status"), got.get("limits_hit")), ("pool", "oom", ["mem"]), got)
            t.ok(until(lambda: daemon.is_full() and [one for group in below(memory) if "-owner-" in group for one in below(group)]), "filled")
        ready = [one for group in below(memory) if "-owner-" in group for one in below(group)]
        # Something in the owner's group ends late, when all other groups are gone: it is waited for as well.
        with subprocess.Popen(["sleep", "1000"]) as late:
            with open(f"{ready[0]}/cgroup.procs", "w") as file:
                file.write(str(late.pid))
            daemon.kill()
            t.ok(until(lambda: not [one for group in own if group != memory for one in below(group)]), "the others go")
            late.kill()
        t.ok(until(lambda: not below(memory)), "nothing is left", below(memory))
    for group in own:
        t.ok(until(lambda: not open(f"{group}/cgroup.procs").read()), "empty", group)
        os.rmdir(group)


suite.main()
