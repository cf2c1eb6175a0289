#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commands in the background of a named sandbox: their output from any byte on, their input, signals, and their end.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it; the suite's runner does so as root and as a plain
user. Ends only processes that it started itself, by their numbers.
"""
import base64
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import family
from box import patience, slow
from chance import chance
from clitest import AISBX, Home, Tap, refused
from family import until

tap = Tap()
PIECE = 1 << 20
# A wait ends with the first output: its length is the end of hope.
WAIT = "60s"
# Undumpable: then /proc shows it to nobody.
HIDES = "import ctypes, time; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); print(\"up\", flush=True); time.sleep(3000)"


def launch(home, name, *command, flags=()):
    """The answer to a command started in the background."""
    done = home.call("exec", "-d", name, "--json", *flags, "--", *command)
    return json.loads(done.stdout or "{}")


def start(home, name, script, *flags):
    """The id of a shell command started in the background."""
    return launch(home, name, "sh", "-c", script, flags=flags).get("exec_id", "none")


def poll(home, exec_id, *flags):
    return home.data("poll", exec_id, *flags, timeout=patience(90))


def piece(found, stream):
    """The bytes of a stream in an answer."""
    text = found.get(stream, "")
    return base64.b64decode(text) if found.get(stream + "_encoding") == "base64" else text.encode()


def follow(home, exec_id, *, wait="10s"):
    """Everything a command wrote, piece by piece until its end: (stdout, stderr, last answer)."""
    out, err, found = b"", b"", {"state": "running"}
    end = time.monotonic() + patience(120)
    while (found["state"] == "running" or found["more"]) and time.monotonic() < end:
        found = poll(home, exec_id, "--offset", str(len(out)), "--stderr-offset", str(len(err)), "--wait", wait)
        if "state" not in found:
            return out, err, found
        out, err = out + piece(found, "stdout"), err + piece(found, "stderr")
        if [found["stdout_offset"], found["stderr_offset"]] != [len(out), len(err)]:
            return out, err, {"state": "offsets do not add up", "answer": found}
    return out, err, found


def wait_up(home, exec_id):
    """Until a command has written something, or ended."""
    until(lambda: poll(home, exec_id, "--wait", WAIT).get("stdout") != "", 120)


def follow_killed(home, exec_id):
    """What came of a command that is ended at once."""
    poll(home, exec_id, "--signal", "KILL")
    return follow(home, exec_id)[2].get("result", {}).get("status")


def ours():
    """{pid: name} of every living process below this one; those that ended are taken first."""
    family.reap()
    return family.ours()


def supervisors():
    return [pid for pid, name in ours().items() if name == "aisbx-exec"]


def execs(home):
    """What lies in the directory of commands in the background."""
    try:
        return sorted(os.listdir(f"{home.path}/.local/state/aisbx/execs"))
    except FileNotFoundError:
        return []


def test_life(home):
    """Started, looked at, ended: what each face says of it."""
    home.call("create", "life")
    done = home.call("exec", "-d", "life", "--", "sh", "-c", "echo one; echo two >&2; read x; echo three; exit 7")
    exec_id = done.stdout.strip()
    tap.ok(done.returncode == 0 and len(exec_id) == 26 and "aisbx poll " + exec_id in done.stderr,
           "exec -d says the id, and how to look at it", done)
    found = poll(home, exec_id, "--wait", WAIT)
    tap.equal([found.get(k) for k in ("exec_id", "sandbox", "state", "result")], [exec_id, "life", "running", None],
              "it runs")
    tap.ok(until(lambda: poll(home, exec_id).get("stderr_offset") == 4), "and wrote to both streams")
    tap.equal([poll(home, exec_id)[k] for k in ("stdout", "stdout_offset", "stderr", "stderr_offset")],
              ["one\n", 4, "two\n", 4], "which are told apart")
    tap.equal([row["execs"] for row in home.rows("ls") if row["name"] == "life"], [1], "ls counts it")
    tap.equal([row["exec_id"] for row in home.data("inspect", "life")["execs"]], [exec_id], "inspect names it")
    tap.ok(exec_id in home.call("inspect", "life").stdout, "also to people")
    tap.equal(home.data("show", exec_id).get("status"), "running", "the history knows it")
    done = home.call("snap", "life")
    tap.ok(refused(done, 3, "running"), "a snapshot is refused while it runs", done)
    out, err, found = follow_input(home, exec_id)
    tap.equal([out, err, found["result"]["status"], found["result"]["exit_code"], found["result"]["stdout_bytes"]],
              [b"one\nthree\n", b"two\n", "error", 7, 10], "its end, with everything it wrote")
    tap.equal(poll(home, exec_id)["result"], home.data("show", exec_id), "the history keeps the same result")
    tap.equal(home.call("logs", exec_id).stdout, "one\ntwo\nthree\n", "and logs the output")
    tap.equal(len([row for row in home.rows("history") if row["run_id"] == exec_id]), 1, "once")
    said = home.call("poll", exec_id)
    tap.ok(said.stdout == "one\nthree\ntwo\n" and "error, exit code 7" in said.stderr, "poll for people", said)
    tap.ok(until(lambda: not supervisors()), "its supervisor is gone", ours())
    tap.equal(execs(home), [exec_id, exec_id + ".result"], "which leaves its card and its result")
    tap.equal(home.data("inspect", "life")["execs"], [], "it is not listed any more")
    home.call("rm", "life")


def follow_input(home, exec_id):
    poll(home, exec_id, "--input", "go\n", "--input-end")
    return follow(home, exec_id)


def test_wrong(home):
    """What cannot be: each with the place and the remedy."""
    home.call("create", "wrong")
    done = home.call("poll", "01JCQ8ZK3V5W7X9Y1A2B3C4D5E")
    tap.ok(refused(done, 5, "history"), "an unknown command", done)
    for word in ("../../../etc/passwd", "x", "", "01jcq8zk3v5w7x9y1a2b3c4d5e", "01JCQ8ZK3V5W7X9Y1A2B3C4D5E.result"):
        tap.ok(refused(home.call("poll", word), 5, "no command"), f"'{word}' is no id", home.call("poll", word))
    tap.ok(refused(home.call("poll"), 2, "EXEC"), "none at all")
    error = home.data("poll", "nobody").get("error", {})
    tap.equal(error.get("code"), "not_found", "the same as data")
    done = home.call("exec", "-d", "nobody", "--", "true")
    tap.ok(refused(done, 125, "nobody"), "a sandbox that is not there", done)
    tap.ok(refused(home.call("exec", "-d", "wrong"), 125, "no command"), "no command")
    done = subprocess.run(["sh", "-c", 'ulimit -f 0 && exec "$@"', "sh", AISBX, "exec", "-d", "wrong", "--", "true"],
                          capture_output=True, text=True, cwd=home.work, env=home.env, check=False)
    tap.ok(refused(done, 125, "File too large"), "files that may not grow", done)
    exec_id = start(home, "wrong", "sleep 1000")
    for flags, word in ((("--offset", "-1"), "--offset"), (("--offset", "x"), "--offset"),
                        (("--wait", "soon"), "--wait"), (("--signal", "NONE"), "TERM"), (("--signal", "9"), "TERM")):
        tap.ok(refused(home.call("poll", exec_id, *flags), 2, word), f"{flags} is refused", home.call("poll", exec_id, *flags))
    tap.equal(poll(home, exec_id)["state"], "running", "and nothing happened to it")
    done = launch(home, "wrong", "/no/such/program")
    out, err, found = follow(home, done["exec_id"])
    tap.equal([found["result"]["status"], found["result"]["exit_code"]], ["error", 127], "a command that is not there")
    tap.ok(not execs_of_others(home, {exec_id, done["exec_id"]}), "refusals leave nothing", execs(home))
    home.call("rm", "wrong")
    tap.equal(follow(home, exec_id)[2]["result"]["status"], "killed", "rm ends what runs in the background")
    tap.ok(until(lambda: not ours()), "nobody is left", ours())


def execs_of_others(home, ids):
    return [name for name in execs(home) if name[:26] not in ids]


def test_output(home):
    """Bytes as they are, from any offset on."""
    home.call("create", "out")
    script = "import os,time\nfor i in range(300): os.write(1, bytes([i % 256]) * 7); os.write(2, b'%d;' % i)\n"
    done = launch(home, "out", "python3", "-c", script)
    want = b"".join(bytes([i % 256]) * 7 for i in range(300))
    other = b"".join(b"%d;" % i for i in range(300))
    out, err, found = follow(home, done["exec_id"])
    tap.ok((out, err) == (want, other), "binary output, whole", (len(out), len(err), found))
    good = True
    for at in (0, 1, 6, 7, 8, 100, 2099, 2100):
        found = poll(home, done["exec_id"], "--offset", str(at), "--stderr-offset", str(len(other)))
        good &= piece(found, "stdout") == want[at:] and found["stdout_offset"] == len(want) and found["stderr"] == ""
    tap.ok(good, "from any byte on", found)
    found = poll(home, done["exec_id"], "--offset", "99999")
    tap.equal([found["stdout"], found["stdout_offset"]], ["", 99999], "beyond the end is nothing")
    exec_id = start(home, "out", "printf 'a\\303'; read x; printf '\\244b'")
    found = poll(home, exec_id, "--wait", WAIT)
    tap.equal([found["stdout"], found["stdout_offset"]], ["a", 1], "half a character waits for its other half")
    found = poll(home, exec_id, "--offset", "1", "--wait", "1s")
    tap.equal([found["stdout"], found["stdout_offset"], found["state"]], ["", 1, "running"], "also when it is all there is")
    out, err, found = follow_input(home, exec_id)
    tap.equal([out.decode(), found["stdout_encoding"]], ["a\u00e4b", "utf-8"], "and is text again")
    exec_id = start(home, "out", "printf '\\377'; read x")
    found = poll(home, exec_id, "--wait", WAIT)
    tap.equal([found["stdout"], found["stdout_encoding"]], ["/w==", "base64"], "a byte that begins no character waits for none")
    follow_input(home, exec_id)
    home.call("rm", "out")


def test_flood(home):
    """More than is kept: bounded on disk, told, and the command goes on."""
    home.call("create", "flood")
    size = 8 if slow() else 96
    exec_id = start(home, "flood", f"head -c {size}M /dev/zero; echo end >&2", "--time", "120s")
    tap.ok(until(lambda: poll(home, exec_id, "--offset", "999999999999", "--wait", "5s")["state"] == "done", 60),
           "a flood ends by itself")
    result = poll(home, exec_id, "--offset", "999999999999")["result"]
    kept = os.stat(f"{home.path}/.local/state/aisbx/logs/{exec_id}").st_size
    want = min(size, 64) << 20
    tap.ok(want <= kept < want + (1 << 20), "64 MiB are kept of it", kept)
    tap.equal([result["stdout_bytes"], result["truncated"], result["limits_hit"], result["exit_code"]],
              [size << 20, size > 64, ["output"] if size > 64 else [], 0], "and the rest is counted")
    found = poll(home, exec_id, "--offset", str(want - 5))
    tap.equal([found["stdout_offset"], len(piece(found, "stdout")), found["more"]], [want, 5, False],
              "the last bytes kept are found")
    found = poll(home, exec_id)
    tap.equal([found["stdout_offset"], found["more"]], [PIECE, True], "one answer is a megabyte, and says that there is more")
    exec_id = start(home, "flood", "head -c 1M /dev/zero", "--output", "10k")
    out, err, found = follow(home, exec_id)
    tap.equal([len(out), found["result"]["truncated"]], [10240, True], "--output bounds what is kept")
    home.call("rm", "flood")


def test_input(home):
    """The command's standard input: in order, ended, refused with words."""
    home.call("create", "in")
    exec_id = start(home, "in", "while read x; do echo \"<$x>\"; done; echo over")
    for word in ("one", "two"):
        found = poll(home, exec_id, "--input", word + "\n", "--wait", WAIT)
        tap.equal(found.get("input_bytes"), 4, f"{word} is taken")
    tap.ok(until(lambda: poll(home, exec_id)["stdout"] == "<one>\n<two>\n"), "and read in order")
    tap.equal(poll(home, exec_id, "--input-end").get("exec_id"), exec_id, "its input is ended")
    out, err, found = follow(home, exec_id)
    tap.ok(out.endswith(b"over\n"), "which the command sees", out)
    done = home.call("poll", exec_id, "--input", "late")
    tap.ok(refused(done, 3, "has ended", "aisbx poll"), "input for a command that has ended", done)
    tap.equal(poll(home, exec_id, "--input-end", "--signal", "TERM")["state"], "done", "an end or a signal for it is nothing new")
    exec_id = start(home, "in", "cat > /dev/null; sleep 1000")
    poll(home, exec_id, "--input-end")
    done = home.call("poll", exec_id, "--input", "late")
    tap.ok(refused(done, 3, "closed", "0 of 4"), "input behind its end", done)
    exec_id = start(home, "in", "exec <&-; echo closed; sleep 1000")
    poll(home, exec_id, "--wait", WAIT)
    # Init and supervisor let go of their copies a moment later.
    tap.ok(until(lambda: refused(home.call("poll", exec_id, "--input", "late"), 3, "closed")),
           "input that the command closed itself")
    exec_id = start(home, "in", "read x; echo $x; sleep 1000")
    done = home.call("poll", exec_id, "--input", "x\n" + "y" * 100000, "--wait", "1s")
    tap.ok(refused(done, 3, "does not read", "of 100002"), "input that is not read", done)
    tap.equal(piece(poll(home, exec_id, "--wait", WAIT), "stdout"), b"x\n", "what was taken arrives")
    text = "".join(f"line {i}\n" for i in range(9000))
    exec_id = start(home, "in", "sleep 0.2; cat")
    for at in range(0, len(text), 50000):
        home.call("poll", exec_id, "--input", text[at:at + 50000], "--wait", WAIT)
    poll(home, exec_id, "--input-end")
    tap.ok(follow(home, exec_id)[0].decode() == text, "more than a pipe holds, piece by piece")
    home.call("rm", "in")
    tap.ok(until(lambda: not ours()), "nobody is left", ours())


def test_signals(home):
    """For the process group of the command; KILL for all it started."""
    home.call("create", "sig")
    exec_id = start(home, "sig", "trap 'echo caught; exit 4' TERM; echo up; while :; do sleep 0.05; done")
    wait_up(home, exec_id)
    poll(home, exec_id, "--signal", "TERM")
    out, err, found = follow(home, exec_id)
    tap.equal([out, found["result"]["exit_code"]], [b"up\ncaught\n", 4], "TERM can be caught")
    exec_id = start(home, "sig", "sleep 1000 & echo up; wait")
    wait_up(home, exec_id)
    poll(home, exec_id, "--signal", "SIGTERM")
    out, err, found = follow(home, exec_id)
    tap.equal([found["result"]["status"], found["result"]["exit_code"], found["result"]["signal"]], ["killed", 143, 15],
              "TERM ends the group")
    count = "ps ax -o args | grep -c '^sleep 1000' || true"
    tap.ok(until(lambda: home.call("exec", "sig", "--", "sh", "-c", count).stdout == "0\n"), "all of it")
    exec_id = start(home, "sig", "setsid sleep 2000 & echo up; sleep 2000")
    wait_up(home, exec_id)
    bystander = start(home, "sig", "echo up; sleep 3000")
    wait_up(home, bystander)
    poll(home, exec_id, "--signal", "KILL")
    out, err, found = follow(home, exec_id)
    tap.equal([found["result"]["status"], found["result"]["exit_code"]], ["killed", 137], "KILL cannot be outlived")
    count = "ps ax -o args | grep -c '^sleep [23]000' || true"
    tap.ok(until(lambda: home.call("exec", "sig", "--", "sh", "-c", count).stdout == "1\n"),
           "not by a session of one's own either, and a bystander lives")
    exec_id = start(home, "sig", f"exec python3 -c '{HIDES}'")
    wait_up(home, exec_id)
    poll(home, exec_id, "--signal", "KILL")
    out, err, found = follow(home, exec_id)
    tap.equal([out, found["result"]["status"]], [b"up\n", "killed"], "nor by hiding from /proc")
    ends = [follow_killed(home, start(home, "sig", "sleep 3000")) for _ in range(10)]
    tap.equal(ends, ["killed"] * 10, "nor by being asked too early")
    poll(home, bystander, "--signal", "STOP")
    tap.equal(poll(home, bystander)["state"], "running", "a halted one runs on paper")
    home.call("stop", "sig")
    out, err, found = follow(home, bystander)
    tap.equal(found["result"]["status"], "killed", "stop ends it")
    tap.ok(until(lambda: not supervisors()), "and its supervisor", ours())
    home.call("rm", "sig")


def test_limits(home):
    home.call("create", "lim")
    exec_id = start(home, "lim", "sleep 1000", "--time", "1s")
    out, err, found = follow(home, exec_id)
    tap.equal([found["result"]["status"], found["result"]["limits_hit"]], ["timeout", ["time"]], "a time limit of its own")
    home.call("create", "--time", "1s", "short")
    exec_id = start(home, "short", "sleep 1000", "--time", "1h")
    out, err, found = follow(home, exec_id)
    tap.equal(found["result"]["status"], "timeout", "the sandbox's limit cannot be raised")
    # On a busy machine the shorter ones are over before the command begins.
    for number, ttl in enumerate(("6s", "30s", "120s")):
        home.call("create", "--ttl", ttl, f"brief{number}")
        exec_id = start(home, f"brief{number}", "sleep 1000")
        if exec_id != "none":
            break
    tap.ok(until(lambda: poll(home, exec_id, "--wait", "5s")["state"] == "done"), "a sandbox's time to live ends it")
    done = launch(home, "lim", "sh", "-c", "echo $A; pwd", flags=("--env", "A=b", "--trace", "t1"))
    out, err, found = follow(home, done["exec_id"])
    tap.ok(out.startswith(b"b\n") and found["result"]["trace_id"] == "t1", "flags of exec hold", (out, found))
    tap.equal(out.decode().split()[-1], home.work, "it starts where its caller is")
    home.call("rm", "lim", "short")
    tap.ok(until(lambda: not ours()), "nobody is left", ours())


def test_caller(home):
    """It outlives its caller, and holds nothing of it."""
    home.call("create", "call")
    read_fd, write_fd = os.pipe()
    with subprocess.Popen([AISBX, "exec", "-d", "call", "--", "sleep", "1000"], cwd=home.work, env=home.env,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[write_fd],
                          start_new_session=True) as process:
        os.close(write_fd)
        out = process.communicate(timeout=patience(30))[0]
        os.killpg(process.pid, signal.SIGHUP) if family.stat_of(process.pid) else None
    tap.equal(os.read(read_fd, 1), b"", "it keeps no descriptor of its caller's")
    os.close(read_fd)
    exec_id = out.decode().strip()
    tap.equal(poll(home, exec_id)["state"], "running", "and lives on")
    found = supervisors()
    tap.equal(len(found), 1, "with one supervisor")
    tap.equal(os.getsid(found[0]), found[0], "in a session of its own")
    if os.geteuid() == 0:
        tap.equal(os.readlink(f"/proc/{found[0]}/cwd"), "/", "that keeps no directory busy")
    with open(f"{home.path}/.local/share/aisbx/lock") as lock:
        # What has just started may still look into it.
        tap.ok(until(lambda: is_free(lock)), "nor the store")
    home.call("rm", "call")
    tap.ok(until(lambda: not ours()), "nobody is left", ours())


def is_free(lock):
    """Whether nobody holds the lock; given back at once."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(lock, fcntl.LOCK_UN)
        return True
    except BlockingIOError:
        return False


def test_door(home):
    """Only its owner talks to it."""
    home.call("create", "door")
    exec_id = start(home, "door", "sleep 1000")
    place = f"{home.path}/.local/state/aisbx/execs/{exec_id}.socket"
    tap.equal(os.stat(place).st_mode & 0o777, 0o600, "the socket's mode")
    tap.equal(os.stat(os.path.dirname(place)).st_mode & 0o777, 0o700, "and its directory's")
    if os.geteuid() == 0:
        open_path(place)
        tap.equal(ask(place, 65534), "hung up", "another user is hung up on, whatever the modes are")
        tap.equal(ask(place, 0), "answered", "its owner is answered the same question")
    else:
        tap.skip("another user is hung up on", "needs root")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        os.chdir(os.path.dirname(place))
        door.connect(os.path.basename(place))
        os.chdir("/")
        door.send(b"nonsense")
        tap.equal(door.recv(100), b"", "nonsense is hung up on")
    tap.equal(poll(home, exec_id)["state"], "running", "and changes nothing")
    done = home.call("exec", "door", "--", "sh", "-c", f"ls {os.path.dirname(place)} | wc -l")
    tap.ok(done.stdout.strip() == "0", "nobody inside sees the place", done)
    home.call("rm", "door")


def open_path(place):
    os.chmod(place, 0o777)
    path = os.path.dirname(place)
    while os.stat(path).st_mode & 0o777 == 0o700:
        os.chmod(path, 0o755)
        path = os.path.dirname(path)


def ask(place, uid):
    """What a user hears who ends the input of the command (kind 4)."""
    script = ("import os,socket,sys\n"
              "os.chdir(os.path.dirname(sys.argv[1])); os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[2]))\n"
              "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect(os.path.basename(sys.argv[1]))\n"
              "try: s.send((4).to_bytes(4, 'little') + bytes(20)); print('answered' if s.recv(100) else 'hung up')\n"
              "except OSError: print('hung up')\n")
    return subprocess.run([sys.executable, "-c", script, place, str(uid)], capture_output=True, text=True,
                          check=False).stdout.strip()


def test_lost(home):
    """A killed supervisor takes its command along, and is told as killed, once."""
    home.call("create", "lost")
    exec_id = start(home, "lost", "echo said; setsid sleep 1000 & sleep 1000")
    poll(home, exec_id, "--wait", WAIT)
    for pid in supervisors():
        os.kill(pid, signal.SIGKILL)
    tap.ok(until(lambda: poll(home, exec_id)["state"] == "done"), "it is over")
    found = poll(home, exec_id)
    tap.equal([found["stdout"], found["result"]["status"], found["result"]["exit_code"], found["result"]["run_id"]],
              ["said\n", "killed", 137, exec_id], "killed, and what it wrote is there")
    tap.ok("exec -d" in found["result"]["message"], "with the remedy", found)
    count = "ps ax -o args | grep -c '^sleep 1000' || true"
    tap.ok(until(lambda: home.call("exec", "lost", "--", "sh", "-c", count).stdout == "0\n"), "its processes are gone")
    done = home.call("poll", exec_id, "--input", "x")
    tap.ok(refused(done, 3, "has ended"), "it takes no input", done)
    tap.equal([row["status"] for row in home.rows("history") if row["run_id"] == exec_id], ["killed"], "in the history too")
    home.data("inspect", "lost")
    tap.equal(execs(home), [exec_id], "its socket is swept up, its card is kept")
    os.utime(f"{home.path}/.local/state/aisbx/execs/{exec_id}", (1, 1))
    removed = [row["path"] for row in home.rows("gc") if row["kind"] == "exec"]
    tap.equal([removed, execs(home)], [[exec_id], []], "for a day, then gc takes it")
    tap.ok(refused(home.call("poll", exec_id), 5, "history"), "then it is unknown")
    home.call("rm", "lost")
    tap.ok(until(lambda: not ours()), "nobody is left", ours())


def test_kills(home):
    """Kills at random moments: whatever is hit, nothing is left, and every run stands in the history once."""
    home.call("create", "kills")
    source = chance("background")
    script = "echo x; sleep 0.05; echo y"
    began = time.monotonic()
    follow(home, start(home, "kills", script))
    whole = time.monotonic() - began
    told, turns = set(), 0
    # On a busy machine all may be hit before they have begun: then some more are tried.
    while turns < (6 if slow() else 30) or (not told and turns < 200):
        turns += 1
        process = subprocess.Popen([AISBX, "exec", "-d", "kills", "--", "sh", "-c", script],
                                   cwd=home.work, env=home.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        time.sleep(source.random() * whole)
        victims = supervisors() or [process.pid]
        try:
            os.kill(source.choice(victims), signal.SIGKILL)
        except ProcessLookupError:
            pass
        told |= set(process.communicate(timeout=patience(60))[0].split())
    tap.ok(told, "some were told their id")
    tap.ok(until(lambda: not supervisors()), "every supervisor ends", ours())
    states = {exec_id: poll(home, exec_id) for exec_id in told}
    tap.ok(all(s.get("state") == "done" and s["result"]["status"] in ("success", "killed") for s in states.values()),
           "each is told as done or killed", states)
    tap.ok(all(s["stdout"] in ("", "x\n", "x\ny\n") for s in states.values()), "with what it wrote", states)
    rows = home.rows("history")
    tap.equal(sorted(row["run_id"] for row in rows), sorted({row["run_id"] for row in rows}), "each stands in the history once")
    wrong = [e for e, s in states.items() if [r["status"] for r in rows if r["run_id"] == e] != [s["result"]["status"]]]
    tap.ok(not wrong, "as poll says it", wrong)
    count = "ps ax -o args | grep -c '^sleep' || true"
    tap.ok(until(lambda: home.call("exec", "kills", "--", "sh", "-c", count).stdout == "0\n"),
           "no process of theirs is left")
    home.data("inspect", "kills")
    tap.ok(not [n for n in execs(home) if n.endswith(".socket")], "nor a socket", execs(home))
    home.call("rm", "kills")
    tap.ok(until(lambda: not ours()), "nobody is left", ours())


def test_many(home):
    """Several at once, in one sandbox, and several who look at one."""
    home.call("create", "many")
    ids = [start(home, "many", f"echo {i}; read x; echo $x") for i in range(12)]
    tap.equal(len(set(ids)), 12, "twelve at once")
    tap.equal(home.data("inspect", "many")["execs"] and len(home.data("inspect", "many")["execs"]), 12, "inspect lists them")
    waiting = [subprocess.Popen([AISBX, "poll", ids[0], "--offset", "2", "--wait", "60s", "--json"], env=home.env,
                                cwd=home.work, stdout=subprocess.PIPE) for _ in range(8)]
    good = all(poll(home, e, "--input", f"{i}{i}\n")["input_bytes"] for i, e in enumerate(ids))
    tap.ok(good, "each takes its own input")
    tap.ok(all(follow(home, e)[0] == f"{i}\n{i}{i}\n".encode() for i, e in enumerate(ids)), "and answers it")
    heard = [json.loads(w.communicate(timeout=patience(60))[0]) for w in waiting]
    tap.ok(all(h["stdout"] in ("00\n", "") for h in heard), "those who waited were woken", heard)
    home.call("rm", "many")
    tap.ok(until(lambda: not ours()), "nobody is left", ours())


def main():
    family.adopt()
    tests = (test_life, test_wrong, test_output, test_flood, test_input, test_signals, test_limits, test_caller,
             test_door, test_lost, test_kills, test_many)
    only = os.environ.get("AISBX_CASES", "").split(",")
    for test in tests:
        if only == [""] or test.__name__ in only:
            with Home("aisbxtest-background-") as home:
                tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
