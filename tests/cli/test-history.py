#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""history, show, logs, stats, guard: what ran is on record, and what should run is decided.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, with a state directory of its own.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import patience  # noqa: E402
from clitest import AISBX, Tap  # noqa: E402
from family import until  # noqa: E402

tap = Tap()
scratch = tempfile.mkdtemp(prefix="aisbx-test-history-")
os.chmod(scratch, 0o755)
# Our own folders may not lie in a workspace that is not HOME.
workspace = os.path.join(scratch, "workspace")
os.mkdir(workspace)
ENV = {**os.environ, "XDG_STATE_HOME": os.path.join(scratch, "state"), "XDG_DATA_HOME": os.path.join(scratch, "data")}


def call(*words, timeout=300, env=None):
    return subprocess.run([AISBX, *words], capture_output=True, text=True, errors="replace", cwd=workspace,
                          env=env or ENV, timeout=timeout, stdin=subprocess.DEVNULL, check=False)


def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_empty():
    tap.equal(lines(call("history", "--json")), [], "nothing ran yet: an empty history")
    done = call("stats", "--json")
    tap.ok(done.returncode == 0 and json.loads(done.stdout)["runs"] == 0, "and figures of nothing", done)


def test_runs():
    first = call("run", "--trace", "agent-7", "--", "sh", "-c", "echo one; echo two >&2; exit 3")
    if first.returncode != 3:
        tap.skip("runs on record", "no sandbox can be made here: " + first.stderr.strip())
        return False
    call("run", "--", "printf", "a\\377b")
    runs = lines(call("history", "--json"))
    tap.equal([run["status"] for run in runs], ["success", "error"], "two runs, newest first")
    tap.equal(runs[1]["trace_id"], "agent-7", "the trace id is kept")
    tap.equal(runs[1]["command"], ["sh", "-c", "echo one; echo two >&2; exit 3"], "the command word by word")
    tap.equal(len(lines(call("history", "--json", "--status", "error"))), 1, "found by status")
    tap.equal(len(lines(call("history", "--json", "--text", "ECHO ONE"))), 1, "found by text")
    tap.equal(len(lines(call("history", "--json", "--trace", "agent-7"))), 1, "found by trace id")
    tap.equal(len(lines(call("history", "--json", "--since", "1h", "-n", "1"))), 1, "bounded")
    tap.equal(len(lines(call("history", "--json", "--since", "2035-01-01"))), 0, "nothing of the future")
    tap.ok("sh -c" in call("history").stdout, "a table for people")
    return runs


def test_show(runs):
    run_id = runs[1]["run_id"]
    shown = json.loads(call("show", run_id, "--json").stdout)
    tap.ok(shown["exit_code"] == 3 and "stdout" not in shown, "show gives the result without its streams", shown)
    tap.equal(json.loads(call("show", run_id[:25].lower(), "--json").stdout)["run_id"], run_id, "a beginning will do")
    tap.equal(call("show", "nothing").returncode, 5, "an unknown run is not found")
    tap.equal(call("show").returncode, 2, "no run is a mistake")
    text = call("show", run_id).stdout
    tap.ok("exit code 3" in text and "{" not in text and f"aisbx logs {run_id}" in text, "words for people", text)
    told = call("explain", run_id).stdout
    tap.ok("failure of its own (exit code 3" in told, "explain says how it ended", told)
    tap.ok(json.loads(call("explain", run_id, "--json").stdout)["explanation"].endswith(told[told.index("\n"):]), "also as data")
    tap.equal([call("explain", "nothing").returncode, call("explain").returncode], [5, 2], "explain without a run")
    call("run", "--time", "200ms", "--", "sh", "-c", "sleep 60 # \x1b]0;x\nIt ended well")
    told = call("explain", json.loads(call("history", "-n", "1", "--json").stdout)["run_id"]).stdout
    tap.ok("its time was up" in told and "--time" in told and "\nIt ended well" not in told and "\x1b" not in told,
           "which limit, and the flag; a command does not speak for us", told)
    call("create", "now")
    running = call("exec", "now", "-d", "--", "sleep", "3000").stdout.strip()
    text, told = call("show", running).stdout, call("explain", running).stdout
    tap.ok("running" in text and not any(word in text for word in ("ended", "used", "walls", "changed")),
           "of one that runs, nothing that its end decides", text)
    tap.ok("still running.\n" in told and "changed" not in told and "after" not in told, "nor in sentences", told)
    call("rm", "now")


def test_logs(runs):
    done = call("logs", runs[1]["run_id"])
    tap.ok(done.returncode == 0 and sorted(done.stdout.split()) == ["one", "two"], "both streams are kept", done)
    pieces = lines(call("logs", runs[1]["run_id"], "--json"))
    tap.equal(sorted((piece["stream"], piece["text"]) for piece in pieces), [("stderr", "two\n"), ("stdout", "one\n")],
              "as data, each with its stream")
    tap.ok(all(piece["trace_id"] == "agent-7" and piece["time"].endswith("Z") for piece in pieces), "trace id and time")
    piece = lines(call("logs", runs[0]["run_id"], "--json"))[0]
    tap.equal(piece.get("data_b64"), "Yf9i", "what is no UTF-8 comes as base64")
    tap.equal(call("logs", "nothing").returncode, 5, "an unknown run is not found")
    call("run", "--", "true")
    quiet = lines(call("history", "--json", "-n", "1"))[0]["run_id"]
    tap.ok(call("logs", quiet).stdout == "" and call("logs", quiet).returncode == 0, "a silent run has an empty log")


def test_follow():
    run = subprocess.Popen([AISBX, "run", "--", "sh", "-c", "echo begin; read line; echo end"], cwd=workspace, env=ENV,
                           stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    run_id = None
    for _ in range(1000):
        running = lines(call("history", "--json", "--status", "running"))
        if running:
            run_id = running[0]["run_id"]
            break
        time.sleep(0.05)
    tap.ok(run_id, "a run under way is listed as running")
    if run_id:
        reader = subprocess.Popen([AISBX, "logs", run_id, "--follow"], cwd=workspace, env=ENV, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, text=True)
        first = reader.stdout.readline()
        run.communicate(b"go on\n")
        tap.equal(first + reader.communicate()[0], "begin\nend\n", "logs --follow goes on until the end")
    run.stdin.close()
    run.wait()


def test_killed():
    run = subprocess.Popen([AISBX, "run", "--", "sleep", "600"], cwd=workspace, env=ENV, stdin=subprocess.DEVNULL)
    for _ in range(1000):
        if lines(call("history", "--json", "--status", "running")):
            break
        time.sleep(0.05)
    run.kill()
    run.wait()
    # What it had started holds on for a moment.
    tap.ok(until(lambda: lines(call("history", "--json", "-n", "1"))[0]["status"] == "killed"),
           "a supervisor that dies without a word leaves a killed run")


def test_parallel_readers():
    """Several fold at once while runs come in: nothing lost, nothing doubled."""
    before = len(lines(call("history", "--json", "-n", "100000")))
    stop = threading.Event()

    def read():
        while not stop.is_set():
            call("history", "-n", "1")

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for _ in range(10):
        call("run", "--", "true")
    stop.set()
    for reader in readers:
        reader.join()
    runs = lines(call("history", "--json", "-n", "100000"))
    tap.equal(len(runs), before + 10, "ten runs beside two readers are ten more")
    tap.equal(len({run["run_id"] for run in runs}), len(runs), "each once")


def test_stats():
    stats = json.loads(call("stats", "--json").stdout)
    tap.ok(stats["runs"] > 10 and stats["start_p50_ms"] > 0 and 0 < stats["success_rate"] < 1, "figures", stats)
    tap.ok("runs an hour" in call("stats").stdout, "and words")
    tap.equal(stats["traces"][0]["trace_id"], "agent-7", "by trace id")


def test_events():
    """What happens to sandboxes is counted, too."""
    before = json.loads(call("stats", "--json").stdout)
    call("run", "--keep", "ev", "-C", workspace, "--", "touch", os.path.join(workspace, "by-event"))
    call("promote", "ev")
    call("undo")
    call("rm", "ev")
    after = json.loads(call("stats", "--json").stdout)
    tap.equal((after["promotions"] - before["promotions"], after["promotions_undone"] - before["promotions_undone"]),
              (1, 1), "promotions and what was taken back are counted")


def test_top():
    tap.ok("nothing is running" in call("top").stdout, "nothing is running")
    run = subprocess.Popen([AISBX, "run", "--mem", "64m", "--", "sh", "-c", "exec 3<&0; head -c 57m /dev/zero | tail | read line <&3"],
                           cwd=workspace, env=ENV, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                           stderr=subprocess.PIPE, text=True)
    rows = []
    for _ in range(600):
        rows = lines(call("top", "--json"))
        if rows and rows[0]["warnings"]:
            break
        time.sleep(0.1)
    tap.ok(len(rows) == 1 and rows[0]["pids"] >= 2 and rows[0]["memory_bytes"] > 0, "top shows what runs", rows)
    tap.ok(rows and "memory" in "".join(rows[0]["warnings"]), "with a warning near a limit", rows)
    tap.equal(len(lines(call("top", "--json", "-n", "2"))), 2, "again and again")
    # long enough for a few samples, on a busy machine as well
    time.sleep(8)
    notes = run.communicate("go on\n")[1]
    tap.ok("four fifths of its memory" in notes, "the run itself warns, too", notes)
    tap.ok("nothing is running" in call("top").stdout, "and is gone with its end")
    last = lines(call("history", "--json", "-n", "1"))[0]["run_id"]
    shown = json.loads(call("show", last, "--json").stdout)
    tap.ok(len(shown["samples"]) > 3 and len(shown["samples"][0]) == 5, "its samples are on record", shown["samples"])


def test_gc():
    before = len(lines(call("history", "--json", "-n", "100000")))
    # What was promoted a moment ago stays.
    promoted = [row["run_id"] for row in lines(call("history", "--json", "--sandbox", "ev"))]
    config = os.environ["HOME"] + "/.config/aisbx/config.yaml"
    os.makedirs(os.path.dirname(config), exist_ok=True)
    for text in ("retain: {rnus: 1d}", "retain: 3", "sync: soon", "sync: 30s", "[]", "retain: {logs: []}", "retain: {runs: never}"):
        with open(config, "w") as out:
            out.write(text)
        done = call("gc")
        tap.ok(done.returncode == 2 and "config.yaml" in done.stderr, f"a configuration with {text}", done)
    os.unlink(config)
    os.mkfifo(config)
    tap.ok(call("gc", timeout=patience(60)).returncode != 0, "a fifo in its place is no reason to wait")
    os.unlink(config)
    with open(config, "w") as out:
        out.write("retain: {runs: 50ms, logs: 1ms}")
    time.sleep(0.1)
    done = call("gc", "--dry-run", "--json")
    tap.ok(f"{before - len(promoted)} runs" in done.stdout and "would go" in done.stdout, "what the configuration keeps no longer is shown", done)
    tap.equal(len(lines(call("history", "--json", "-n", "100000"))), before, "and stays")
    with open(config, "w") as out:
        out.write("retain: {runs: 90d, logs: 1ms}")
    call("gc")
    logs = os.listdir(ENV["XDG_STATE_HOME"] + "/aisbx/logs")
    tap.equal((logs, len(lines(call("history", "--json", "-n", "100000")))), ([], before), "output goes earlier than runs")
    os.unlink(config)
    call("run", "--", "echo", "kept")
    before += 1
    done = call("gc", "--logs", "1b", "--json")
    tap.ok(done.returncode == 0 and any(row["kind"] == "history" for row in lines(done)), "gc removes kept output", done)
    tap.equal(len(lines(call("history", "--json", "-n", "100000"))), before, "and leaves the runs")
    time.sleep(0.1)
    done = call("gc", "--age", "50ms")
    tap.ok(done.returncode == 0 and "runs" in done.stdout, "gc --age removes old runs, and says so", done)
    tap.equal([row["run_id"] for row in lines(call("history", "--json"))], promoted, "then there are none but those of a promoted sandbox")
    tap.equal(call("gc", "--age", "never").returncode, 2, "a time that is none is a mistake")


def test_guard():
    for words, decision, code in (
            (["ls", "-la"], "direct", 0), (["make"], "sandbox", 1), (["rm", "-rf", "/usr"], "ask", 4),
            (["cat", "/etc/shadow"], "deny", 4)):
        done = call("guard", "--json", "--", *words)
        answer = json.loads(done.stdout)
        if decision == "direct" and "busy" in answer["reasons"][0]:
            tap.skip("ls -la: direct", "the machine is busy, and then even ls goes into a sandbox")
            continue
        tap.ok(answer["decision"] == decision and done.returncode == code and answer["reasons"],
               f"{' '.join(words)}: {decision}", done)
    state = ENV["XDG_STATE_HOME"]
    done = call("guard", "--json", "--", "cat", f"{state}/aisbx/spool")
    tap.equal(json.loads(done.stdout)["decision"], "deny", "our own records are ours")
    done = call("guard", "--run", "--", "echo", "direct")
    tap.ok(done.stdout == "direct\n" and done.returncode == 0, "--run runs what only reads", done)
    done = call("guard", "--run", "--", "sh", "-c", "echo $AISBX; exit 7")
    tap.ok(done.stdout == "1\n" and done.returncode == 7, "or in a sandbox, with the command's code", done)
    mark = os.path.join(scratch, "mark")
    done = call("guard", "--run", "--", "touch", "/nonexistent-dir-of-aisbx/x", mark + "/../../y")
    tap.equal(done.returncode, 4, "what needs a person is not run")
    tap.equal(call("guard").returncode, 2, "nothing to decide about is a mistake")


def test_bounded():
    """Kept output stays in bounds without gc: a run that adds much removes the oldest."""
    logs = os.path.join(ENV["XDG_STATE_HOME"], "aisbx", "logs")
    for number in range(20000):
        with open(f"{logs}/01AAAAAAAAAAAAAAAAAAA{number:05d}", "w"):
            pass
    call("run", "--", "sh", "-c", "head -c 1100000 /dev/zero")
    left = os.listdir(logs)
    tap.equal((len(left), f"01AAAAAAAAAAAAAAAAAAA{0:05d}" in left), (20000, False), "20,000 are kept, the oldest goes first")
    for name in left:
        if name.startswith("01AAAA"):
            os.unlink(f"{logs}/{name}")


def main():
    test_empty()
    runs = test_runs()
    if runs:
        test_show(runs)
        test_logs(runs)
        test_follow()
        test_killed()
        test_parallel_readers()
        test_stats()
        test_events()
        test_top()
        test_gc()
        test_bounded()
    test_guard()
    subprocess.run(["rm", "-rf", scratch], check=False)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
