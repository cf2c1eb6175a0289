#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""job: unattended work is run in a sandbox, verified, promoted only as it may be; once for each time, whoever is killed.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a home of its own. Processes are ended by their number.
"""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import patience  # noqa: E402
from chance import chance  # noqa: E402
from clitest import AISBX, Home, Tap, refused  # noqa: E402
from family import open_files, read_of, until  # noqa: E402

tap = Tap()
moments = chance("job")


def git(home, *words):
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", *identity, *words], cwd=home.work, env=home.env, capture_output=True, text=True, check=False)


def write(home, name, text, in_workspace=False):
    path = os.path.join(home.work if in_workspace else home.path, name)
    with open(path, "w") as out:
        out.write(text)
    return path


def replace(home, name, text):
    """Another content in one step: a look in between finds the old one or the new one, and never an empty file."""
    os.rename(write(home, "replacing", text), os.path.join(home.work, name))


def trust(home, path):
    tap.equal(home.call("profile", "trust", path).returncode, 0, f"trust {os.path.basename(path)}")
    return path


def add(home, name, text):
    done = home.call("job", "add", trust(home, write(home, f"{name}.yaml", text)))
    tap.ok(done.returncode == 0, f"add {name}", done)


def runs(home, name):
    return home.data("job", "show", name).get("runs", [])


def record(home, name):
    return os.path.join(home.path, ".local/state/aisbx/jobs", f"{name}.json")


def change_record(home, name, **more):
    with open(record(home, name)) as file:
        state = json.load(file)
    state.update(more)
    with open(record(home, name), "w") as out:
        json.dump(state, out)
    return state


def within(period, look):
    """What LOOK gives when the PERIOD that the clock is in does not turn meanwhile."""
    while True:
        before = period()
        seen = look(before)
        if period() == before:
            return seen


def state_of(home, name):
    return {row["name"]: row["state"] for row in home.rows("job", "ls")}[name]


def sandboxes(home):
    return [row["name"] for row in home.rows("ls")]


class Watch:
    """A scheduler of ours, in the foreground."""

    def __init__(self, home):
        self.process = subprocess.Popen([AISBX, "job", "watch"], cwd="/", env=home.env, stdin=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def test_verbs(home):
    add(home, "fix", "every: 1h\nscript: \"tr a b < text > t && mv t text\"\npromote: gates\ngates: [\"cmd:grep -q b text\"]\n"
                     "mem: 256m\ntime: 60s\n")
    row = home.rows("job", "ls")[0]
    tap.equal((row["name"], row["when"], row["state"], row["workspace"]), ("fix", "every 1h", "waiting", os.path.realpath(home.work)), "ls")
    done = home.data("job", "run", "fix")
    tap.equal((done.get("result"), home.read("text")), ("promoted", "b\n"), "what passes its gates is promoted")
    tap.equal(sandboxes(home), [], "its sandbox is gone")
    tap.equal(home.data("job", "run", "fix").get("result"), "unchanged", "what it did itself is no new work")
    tap.equal(home.data("job", "run", "fix", "--force").get("result"), "pass", "unless it is forced, and then there is nothing to promote")
    mine = [one for one in home.rows("history") if one.get("owner") == "job fix"]
    tap.ok(len(mine) >= 4, "its runs are in the history, with their reason", mine)
    asked = [one for one in home.rows("promotions") if one.get("request_id")]
    tap.equal([one["reason"] for one in asked], ["job fix: aisbx job run"], "and so is the promotion")
    tap.equal((home.call("undo", done["promotion_id"]).returncode, home.read("text")), (0, "a\n"), "it can be undone")
    tap.equal(home.data("job", "run", "fix").get("result"), "promoted", "what somebody changed is worked on again")
    home.put("text", "a\n")
    tap.ok(home.call("job", "pause", "fix").returncode == 0 and home.rows("job", "ls")[0]["state"] == "paused", "pause")
    tap.ok(home.call("job", "resume", "fix").returncode == 0 and home.rows("job", "ls")[0]["state"] == "waiting", "resume")
    tap.ok(refused(home.call("job", "add", os.path.join(home.path, "fix.yaml")), 3, "already", "job rm fix"), "a name is given once")
    tap.equal(home.call("job", "rm", "fix").returncode, 0, "rm")
    tap.ok(home.rows("job", "ls") == [] and not os.path.exists(record(home, "fix")), "nothing of it is left")
    for words in (("show", "fix"), ("run", "fix"), ("rm", "fix"), ("pause", "../fix"), ("show", ".new"), ("rm", "x" * 300)):
        tap.equal(home.call("job", *words).returncode, 5, f"{words[0]} {words[1][:10]}: there is none")
    for words in (("bake",), ("run",), ("add",), ("ls", "x"), ("ls", "--force")):
        tap.equal(home.call("job", *words).returncode, 2, f"job {' '.join(words)}: usage")


def test_failure(home):
    add(home, "bad", "script: \"echo x > text; exit 3\"\npromote: gates\ngates: [\"exit_code==0\"]\non_failure: [keep, pause]\n")
    done = home.call("job", "run", "bad", "--json")
    row = json.loads(done.stdout)
    tap.equal((done.returncode, row["result"], row["status"], home.read("text")), (1, "fail", "error", "a\n"), "a command that fails")
    tap.equal(sandboxes(home), [row["sandbox"]], "keep: for a look")
    tap.equal(home.rows("job", "ls")[0]["state"], "paused", "pause")
    tap.equal(home.data("job", "run", "bad").get("result"), "unchanged", "the same is not tried again")
    home.put("text", "c\n")
    tap.ok(home.data("job", "run", "bad")["sandbox"] != row["sandbox"] and len(sandboxes(home)) == 1, "the next one replaces what was kept")
    kept = sandboxes(home)[0]
    home.call("fork", kept, "mine")
    home.call("job", "run", "bad", "--force")
    tap.ok("mine" in sandboxes(home) and kept not in sandboxes(home), "but not what a person made of it", sandboxes(home))
    tap.equal({row["name"]: row.get("expires") for row in home.rows("ls")}.get("mine", "gone"), None, "which stays")
    home.call("job", "rm", "bad")
    home.call("rm", *sandboxes(home))
    add(home, "again", "script: \"echo x > text\"\ngates: [\"cmd:false\"]\npromote: ask\non_failure: retry\n")
    tap.equal([home.data("job", "run", "again").get("result") for _ in range(2)], ["fail", "fail"], "retry: it is; a gate that fails is a failure")
    tap.equal((home.read("text"), sandboxes(home), home.call("job", "rm", "again").returncode), ("c\n", [], 0), "nothing was promoted or asked")
    home.put("text", "a\n")
    there = os.path.join(home.path, "there")
    add(home, "later", f"script: \"true\"\nseccomp: \"{there}\"\n")
    row = home.data("job", "run", "later")
    tap.ok(row.get("result") == "fail" and row.get("error"), "what cannot be started says why", row)
    write(home, "there", json.dumps({"defaultAction": "SCMP_ACT_ALLOW"}))
    tap.equal(home.data("job", "run", "later").get("result"), "pass", "and is tried again")
    home.call("job", "rm", "later")


def test_asks(home):
    add(home, "ask", "script: \"date +%N > stamp\"\npromote: ask\n")
    first = home.data("job", "run", "ask", "--force")
    second = home.data("job", "run", "ask", "--force")
    states = {one["request_id"]: one["state"] for one in home.rows("promotions") if one.get("request_id")}
    tap.equal((first["result"], states[first["request_id"]], states[second["request_id"]]), ("asked", "rejected", "pending"),
              "a new request takes the place of the one before")
    tap.equal(sandboxes(home), [second["sandbox"]], "the sandbox waits for the answer")
    tap.ok(not os.path.exists(home.work + "/stamp"), "and nothing is applied")
    done = home.call("promotions", "approve", second["request_id"], "--yes")
    tap.ok(done.returncode == 0 and os.path.exists(home.work + "/stamp"), "until a person says so", done)
    os.unlink(home.work + "/stamp")
    home.call("job", "rm", "ask")
    home.call("rm", *sandboxes(home))


def test_gates_never(home):
    """Gates never decide about what could make something run, or what lies in a git directory."""
    for name, what in (("makefile", "printf 'all:\\n\\ttrue\\n' > Makefile"), ("hook", "mkdir -p .git/hooks; echo x > .git/hooks/pre-commit; chmod 755 .git/hooks/pre-commit"),
                       ("config", "git config core.pager evil"), ("envrc", "echo evil > .envrc")):
        before = home.tree()
        add(home, name, f"script: \"{what}\"\npromote: gates\ngates: [\"exit_code==0\"]\n".replace("\\n", "\\\\n").replace("\\t", "\\\\t"))
        row = home.data("job", "run", name)
        tap.ok(row.get("result") in ("asked", "pass", "fail") and not row.get("promotion_id"), f"{name}: not by gates", row)
        tap.ok(home.tree() == before, f"{name}: the host is as it was")
        home.call("job", "rm", name)
    home.call("promotions", "reject", "--all")
    home.call("rm", *sandboxes(home))


def test_trust_elsewhere(home):
    """What a file says does not decide whether it needs trust."""
    down = os.path.join(home.path, "downloads")
    os.makedirs(os.path.join(down, "repo"))
    path = os.path.join(down, "away.yaml")
    with open(path, "w") as out:
        out.write(f"script: \"echo evil > out\"\npromote: gates\ngates: [\"exit_code==0\"]\nworkspace: {home.work}\n")
    tap.ok(refused(home.call("job", "add", path, cwd=down), 4, "not trusted"), "nor one that names another place to work in")
    with open(os.path.join(down, "repo", "task.json"), "w") as out:
        json.dump({"script": "true", "workspace": home.work}, out)
    task = write(home, "by.yaml", "task: downloads/repo/task.json\n")
    tap.ok(refused(home.call("job", "add", trust(home, task)), 4, "task.json is not trusted"), "nor a task beside a job that is trusted")
    own = os.path.join(home.path, ".config/aisbx/mine.yaml")
    with open(own, "w") as out:
        out.write("script: \"true\"\n")
    tap.equal(home.call("job", "add", own).returncode, 0, "what lies in the configuration is the user's own")
    home.call("job", "rm", "mine")
    os.unlink(own)


def test_through(home):
    """No file of a job shows the host or a secret: only flags and profiles do."""
    out = os.path.join(home.path, "host")
    os.mkdir(out)
    token = write(home, "token", "hunter2hunter2\n")
    for key, value in (("rw-through", f"{out}:/mnt/t"), ("rw", f"{out}:/mnt/t"), ("ro", f"{out}:/mnt/t"), ("secret", f"T={token}"),
                       ("secret-header", f"example.org:T={token}")):
        text = f"{key}: \"{value}\"\n"
        path = trust(home, write(home, "th.yaml", f"script: \"echo x > /mnt/t/x\"\n{text}"))
        tap.ok(refused(home.call("job", "add", path), 4, f"'{key}'"), f"a job has no {key}")
        task = json.dumps({"script": "echo x > /mnt/t/x", key: value})
        tap.ok(refused(home.call("task", "-", stdin=task), 4, f"'{key}'"), f"nor has a task {key}")
        for text in (f"attempts:\n  - {{name: a, script: \"echo x > /mnt/t/x\", {key}: \"{value}\"}}\n",
                     f"{key}: \"{value}\"\nattempts:\n  - {{name: a, script: \"echo x > /mnt/t/x\"}}\n"):
            tap.ok(refused(home.call("race", "-f", write(home, "through.yaml", text)), 4, f"'{key}'"), f"nor a race {key}")
    tap.equal((os.listdir(out), home.rows("job", "ls")), ([], []), "nothing was written there")


def test_trust(home):
    text = "script: \"echo 1 > out\"\npromote: ask\n"
    path = write(home, "job-of-workspace.yaml", text, in_workspace=True)
    tap.ok(refused(home.call("job", "add", path), 4, "not trusted", "profile trust"), "a job of a workspace is not obeyed")
    tap.equal(home.rows("job", "ls"), [], "and not added")
    tap.equal(home.call("profile", "trust", path).returncode, 0, "it can be trusted")
    # A sandbox changes it, and a person promotes that without a look.
    home.call("run", "--keep", "evil", "--", "sh", "-c", f"echo 'script: \"echo evil > out\"' > {path}")
    home.call("promote", "evil")
    home.call("rm", "evil")
    tap.ok("evil" in open(path).read(), "the file was changed")
    tap.ok(refused(home.call("job", "add", path), 4, "not trusted"), "one changed byte ends the trust")
    write(home, "job-of-workspace.yaml", text, in_workspace=True)
    tap.equal(home.call("job", "add", path).returncode, 0, "as it was trusted it can be added")
    write(home, "job-of-workspace.yaml", "script: \"echo evil > out\"\npromote: ask\n", in_workspace=True)
    shown = home.data("job", "show", "job-of-workspace")
    tap.equal(shown.get("text"), text, "what is done is what was added, whatever becomes of the file")
    home.call("job", "rm", "job-of-workspace")
    test_trust_elsewhere(home)
    race = write(home, "race.yaml", "attempts:\n  - {name: a, script: \"true\"}\n", in_workspace=True)
    tap.ok(refused(home.call("job", "add", trust(home, write(home, "r.yaml", f"race: {race}\n"))), 4, race, "not trusted"),
           "nor is a race of a workspace")
    tap.equal(home.call("profile", "trust", race).returncode, 0, "a race can be trusted, too")
    tap.equal(home.call("job", "add", os.path.join(home.path, "r.yaml")).returncode, 0, "and then be added")
    home.call("job", "rm", "r")
    tap.ok(refused(home.call("job", "add", write(home, "p.yaml", "script: x\nprofile: ./wide.yaml\n")), 4, "by its name"),
           "a profile is one of the user's own")
    for name in ("job-of-workspace.yaml", "race.yaml"):
        os.unlink(os.path.join(home.work, name))


def test_hostile_files(home):
    os.mkfifo(os.path.join(home.path, "fifo.yaml"))
    os.mkdir(os.path.join(home.path, "dir.yaml"))
    write(home, "huge.yaml", "# " + "x" * (1 << 20) + "\nscript: x\n")
    write(home, "deep.yaml", "script: x\ninputs: " + "[" * 100 + "]" * 100 + "\n")
    write(home, "key.yaml", "script: x\nevry: 1h\n")
    write(home, "gate.yaml", "script: x\ngates: [\"tests==maybe\"]\n")
    write(home, "limit.yaml", "script: x\nmem: much\n")
    write(home, "B A D.yaml", "script: x\n")
    write(home, "norace.yaml", "race: missing.yaml\n")
    for name in ("key", "gate", "limit", "norace"):
        home.call("profile", "trust", os.path.join(home.path, f"{name}.yaml"))
    for name in ("fifo", "dir", "huge", "deep", "key", "gate", "limit", "B A D", "norace", "missing"):
        done = home.call("job", "add", os.path.join(home.path, f"{name}.yaml"), timeout=patience(60))
        tap.ok(done.returncode not in (0, 70) and done.stderr.count("\n") == 1, f"{name}: refused", done)
    tap.equal(home.rows("job", "ls"), [], "none was added")


def test_damage(home):
    add(home, "d", "script: \"true\"\n")
    for text in ("", "{", "[]", "{\"added_ms\":-1}", "\0" * 10, "x" * (2 << 20),
                 '{"added_ms":1,"slots":[]}', '{"added_ms":1,"slots":{"every":1}}', '{"added_ms":1,"runs":[1]}', '{"added_ms":1,"running":"x"}'):
        with open(record(home, "d"), "w") as out:
            out.write(text)
        done = home.call("job", "run", "d")
        tap.ok(done.returncode not in (0, 1) and "record" in done.stderr, f"a damaged record ({text[:8]!r}) runs nothing", done)
    tap.ok("record" in home.rows("job", "ls")[0]["state"], "ls says so")
    jobs = os.path.join(home.path, ".config/aisbx/jobs")
    os.chmod(os.path.join(jobs, "d", "job.yaml"), 0o666)
    tap.ok(home.call("job", "run", "d").returncode not in (0, 1), "nor does a file that others may write")
    tap.equal(home.call("job", "rm", "d").returncode, 0, "it can be removed all the same")
    os.chmod(jobs, 0o777)
    tap.ok(refused(home.call("job", "ls"), 4, "others may write"), "nor a directory")
    os.chmod(jobs, 0o700)


def test_race_and_task(home):
    trust(home, write(home, "ways.yaml", "check: \"grep -q good text\"\nattempts:\n  - {name: bad, script: \"echo bad > text\"}\n"
                                         "  - {name: good, script: \"echo good > text\"}\n"))
    add(home, "ways-job", "race: ways.yaml\npromote: gates\ngates: [\"diff.files<=1\"]\n")
    row = home.data("job", "run", "ways-job")
    tap.equal((row.get("result"), home.read("text"), sandboxes(home)), ("promoted", "good\n", []), "the winner of a race; nothing of the others is left")
    home.call("job", "rm", "ways-job")
    trust(home, write(home, "t.json", json.dumps({"script": "echo task > text", "tests": ["grep -q task text"], "gates": ["tests==pass"]})))
    add(home, "t-job", "task: t.json\npromote: gates\n")
    tap.equal((home.data("job", "run", "t-job").get("result"), home.read("text")), ("promoted", "task\n"), "a task")
    home.call("job", "rm", "t-job")
    home.put("text", "a\n")


def test_watch(home):
    home.put("src/x", "1\n")
    add(home, "change", "on_change: src/**\ninputs: [src/**]\nscript: \"cat src/x\"\n")
    add(home, "commit", "on_commit: main\nscript: \"true\"\non_failure: retry\n")
    add(home, "failed", "on_run_failed: true\ninputs: [nothing]\non_failure: retry\nscript: \"exit 1\"\n")
    add(home, "tick", "every: 1s\nscript: \"true\"\nbudget: {runs_per_hour: 1}\n")
    with Watch(home):
        tap.ok(until(lambda: runs(home, "tick")), "a period passes")
        home.put("src/deep/er/y", "2\n")
        home.put("src/x", "2\n")
        tap.ok(until(lambda: runs(home, "change")), "a file changes")
        git(home, "add", "-A")
        git(home, "commit", "-qm", "second")
        tap.ok(until(lambda: runs(home, "commit")), "a commit is made")
        home.call("run", "--", "false")
        tap.ok(until(lambda: runs(home, "failed"), 90), "a run fails")
        home.put("src/x", "3\n")
        tap.ok(until(lambda: len(runs(home, "change")) >= 2), "a file changes again")
    tap.equal((runs(home, "tick")[0]["why"].split(" ")[0], runs(home, "commit")[0]["why"], runs(home, "failed")[0]["why"]),
              ("every", "on_commit main", "on_run_failed"), "each with its reason")
    until(lambda: state_of(home, "tick") != "running")
    tap.equal(change_record(home, "tick")["hour_runs"], 1, "the budget holds")

    def in_hour(hour):
        change_record(home, "tick", hour=hour, hour_runs=1)
        return state_of(home, "tick")
    tap.equal(within(lambda: int(time.time()) // 3600, in_hour), "runs_per_hour", "and ls says so")
    for name in ("change", "commit", "failed", "tick"):
        until(lambda name=name: home.call("job", "rm", name).returncode != 3)
    tap.equal(home.rows("job", "ls"), [], "all removed")


def slot(home, name):
    with open(record(home, name)) as file:
        return json.load(file)["slots"]


def test_missed(home):
    # With the next hour its budget begins anew.
    until(lambda: time.time() % 3600 < 3500)
    add(home, "m", "every: 1s\nscript: \"true\"\nbudget: {runs_per_hour: 1}\n")
    # As after a reboot: it was added long ago.
    with open(record(home, "m")) as file:
        state = json.load(file)
    state["added_ms"] -= 3600 * 1000
    with open(record(home, "m"), "w") as out:
        json.dump(state, out)
    with Watch(home):
        tap.ok(until(lambda: runs(home, "m")), "missed times are made up for")
    # The run goes on without its scheduler, and writes the record once more when its sandbox is removed.
    until(lambda: state_of(home, "m") != "running")
    tap.equal(len(runs(home, "m")), 1, "once")
    tap.ok("missed" in runs(home, "m")[0]["why"], "and it is said", runs(home, "m"))
    # A clock that was wrong by years does not stop the job for as long.
    with open(record(home, "m")) as file:
        state = json.load(file)
    state["slots"]["every"] = "2000000000000000000"
    state["hour_runs"] = 0
    with open(record(home, "m"), "w") as out:
        json.dump(state, out)
    home.put("text", "changed\n")
    with Watch(home):
        tap.ok(until(lambda: len(runs(home, "m")) == 2), "a record of a wrong clock begins anew", slot(home, "m"))
    until(lambda: home.call("job", "rm", "m").returncode == 0)
    home.put("text", "a\n")


def test_twice(home):
    """Several schedulers: each slot is worked on once."""
    home.put("src/n", "0\n")
    add(home, "one", "on_change: src/**\ninputs: [src/**]\nscript: \"cat src/n\"\n")
    watches = [Watch(home) for _ in range(3)]
    for turn in range(1, 4):
        count = len(runs(home, "one"))
        replace(home, "src/n", f"{turn}\n")
        tap.ok(until(lambda count=count: len(runs(home, "one")) > count), f"change {turn} is seen")
    for watch in watches:
        watch.__exit__()
    until(lambda: home.rows("job", "ls")[0]["state"] != "running")
    tap.equal([row["result"] for row in runs(home, "one")], ["pass"] * 3, "and worked on once")
    home.call("job", "rm", "one")
    add(home, "long", "script: \"while test ! -e end; do sleep 0.05; done\"\ninputs: [nothing]\n")
    first = subprocess.Popen([AISBX, "job", "run", "long"], cwd=home.work, env=home.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    tap.ok(until(lambda: home.rows("job", "ls")[0]["state"] == "running" and sandboxes(home)), "ls shows that it runs")
    for word in ("run", "rm"):
        tap.ok(refused(home.call("job", word, "long"), 3, "is running", "job stop long"), f"meanwhile no other may {word} it")
    tap.equal(home.data("job", "show", "long").get("pid"), first.pid, "show has its process")
    first.terminate()
    first.wait()
    tap.ok("pid" not in home.data("job", "show", "long"), "and no longer when that has ended")
    tap.ok(until(lambda: home.call("job", "rm", "long").returncode == 0), "it can be ended, and then be removed")
    tap.ok(until(lambda: not sandboxes(home)), "nothing of it is left", sandboxes(home))


def has_open(pid, path):
    with contextlib.suppress(PermissionError):
        return path in open_files(pid).values()
    return False


def run_while_looked_at(home, place):
    """A run that begins while a look has the lock, which is over before the run tries again."""
    look = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(look, fcntl.LOCK_SH)
    run = subprocess.Popen([AISBX, "job", "run", "l"], cwd=home.work, env=home.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
    while run.poll() is None and not has_open(run.pid, place):
        pass
    run.send_signal(signal.SIGSTOP)
    os.close(look)
    run.send_signal(signal.SIGCONT)
    return run.wait() == 0


def test_looked_at(home):
    """A look at a job is no reason for another caller to find it running."""
    add(home, "l", "script: \"true\"\ninputs: [nothing]\n")
    place = os.path.realpath(os.path.join(home.path, ".config/aisbx/jobs/l"))
    # The run gives up after a while: a machine that is busy may need another turn to see it in between.
    tap.ok(any(run_while_looked_at(home, place) for _ in range(10)), "it can be run while others look at it")
    home.call("job", "rm", "l")


def watched(pid):
    """The inodes that a process watches."""
    found = set()
    for fd in open_files(pid):
        about = read_of(pid, f"fdinfo/{fd}") or ""
        found |= {int(line.split("ino:")[1].split()[0], 16) for line in about.splitlines() if line.startswith("inotify")}
    return found


def test_unreadable(home):
    """One directory that cannot be watched ends the watch of no other."""
    if os.geteuid() == 0:
        tap.skip("an unreadable directory", "root reads every directory")
        return
    for name in "abcdefgh":
        home.put(f"open/{name}/file", "1\n")
    closed = os.path.join(home.work, "open", "d")
    os.chmod(closed, 0)
    add(home, "u", "on_change: open/**\ninputs: [nothing]\nscript: \"true\"\n")
    others = {os.stat(os.path.join(home.work, "open", name)).st_ino for name in "abcefgh"}
    with Watch(home) as watch:
        tap.ok(until(lambda: others <= watched(watch.process.pid)), "all others are watched", (others, watched(watch.process.pid)))
    os.chmod(closed, 0o755)
    home.call("job", "rm", "u")


def test_ended(home):
    """A run of the scheduler ends by a signal to its process; what came of it is in the record, also when its sandbox stays."""
    add(home, "e", "every: 1s\nscript: \"while test ! -e end; do sleep 0.05; done\"\ninputs: [nothing]\n")
    with Watch(home):
        tap.ok(until(lambda: home.data("job", "show", "e").get("pid") and sandboxes(home)), "it runs")
        home.call("job", "pause", "e")
        os.kill(home.data("job", "show", "e")["pid"], signal.SIGTERM)
        tap.ok(until(lambda: "pid" not in home.data("job", "show", "e") and runs(home, "e")), "it is ended by its process")
        # What came of it is on record before its sandbox is removed: until then nobody else may run it.
        until(lambda: state_of(home, "e") != "running")
    asks = os.path.join(home.path, ".local/state/aisbx/asks")
    first = subprocess.Popen([AISBX, "job", "run", "e", "--force"], cwd=home.work, env=home.env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    tap.ok(until(lambda: home.data("job", "show", "e").get("pid") == first.pid and sandboxes(home)), "it runs again")
    count = len(runs(home, "e"))
    os.rename(asks, asks + ".away")
    with open(asks, "w"):
        pass
    first.terminate()
    first.wait()
    os.unlink(asks)
    os.rename(asks + ".away", asks)
    tap.equal([row["result"] for row in runs(home, "e")][:-count], ["fail"], "what came of it is known though its sandbox was not removed")
    tap.ok(until(lambda: home.call("job", "rm", "e").returncode == 0), "it is removed")
    tap.ok(until(lambda: not sandboxes(home)), "with its sandbox", sandboxes(home))


def begin(home, name, **how):
    """A run by hand that has its sandbox."""
    run = subprocess.Popen([AISBX, "job", "run", name, "--json"], cwd=home.work, env=home.env, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **how)
    tap.ok(until(lambda: home.data("job", "show", name).get("pid") == run.pid and sandboxes(home)), f"{name} runs")
    return run


def test_stopped(home):
    """A run ends by `job stop`: the record says so, nothing of it is promoted, and no other process is meant."""
    for words, code in ((("nobody",), 5), ((), 2), (("../x",), 5)):
        tap.equal(home.call("job", "stop", *words).returncode, code, f"stop {words}")
    add(home, "s", "script: \"trap 'exit 0' TERM; echo x > made; while test ! -e end; do sleep 0.05; done\"\ninputs: [nothing]\npromote: gates\n"
                   "gates: [\"diff.files>=1\"]\non_failure: [keep, pause]\n")
    tap.ok(refused(home.call("job", "stop", "s"), 3, "not running", "job pause s"), "one that does not run")
    run = begin(home, "s")
    done = home.call("job", "stop", "s")
    out, _ = run.communicate(timeout=patience(60))
    tap.ok(done.returncode == 0 and done.stdout.startswith("stopped"), "stop waits for its end", done)
    tap.equal((json.loads(out)["result"], run.returncode), ("stopped", 1), "the run's own caller sees it")
    row = home.rows("job", "ls")[0]
    tap.equal((row["result"], row["state"], home.read("made")), ("stopped", "waiting", "<No such file or directory>"),
              "neither a failure nor promoted")
    tap.ok(until(lambda: not sandboxes(home)), "its sandbox is gone", sandboxes(home))
    # Halted, it heeds no signal but the last.
    run = begin(home, "s")
    run.send_signal(signal.SIGSTOP)
    tap.equal(home.data("job", "stop", "s").get("result"), "stopped", "one that does not end by itself")
    tap.equal((run.wait(patience(60)), [one["result"] for one in runs(home, "s")]), (-signal.SIGKILL, ["stopped", "stopped"]), "is killed")
    tap.ok(until(lambda: not sandboxes(home)), "and leaves no sandbox", sandboxes(home))
    home.put("end")
    tap.equal(home.data("job", "run", "s").get("result"), "promoted", "the next run is not meant")
    os.unlink(home.work + "/end")
    os.unlink(home.work + "/made")
    place = os.path.realpath(os.path.join(home.path, ".config/aisbx/jobs/s"))
    with subprocess.Popen(["sleep", "600"]) as other:
        change_record(home, "s", running={"started": "2026-01-01T00:00:00.000Z", "why": "x", "started_ms": 1, "pid": other.pid, "began": 1})
        held = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(held, fcntl.LOCK_EX)
        stop = subprocess.Popen([AISBX, "job", "stop", "s"], cwd=home.work, env=home.env, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # It has looked, and waits between looks.
        until(lambda: stop.poll() is not None or int((read_of(stop.pid, "status") or "0").split()[-3]) > 30)
        os.close(held)
        tap.equal((stop.wait(patience(60)), other.poll()), (3, None), "a process that has the number of a dead run is let alone")
        other.kill()
    until(lambda: home.call("job", "rm", "s").returncode == 0)
    add(home, "e", "every: 1s\nscript: \"while :; do sleep 0.05; done\"\ninputs: [nothing]\n")
    with Watch(home):
        tap.ok(until(lambda: home.data("job", "show", "e").get("pid") and sandboxes(home)), "the scheduler runs one")
        home.call("job", "pause", "e")
        tap.equal(home.data("job", "stop", "e").get("result"), "stopped", "which is stopped like any other")
    until(lambda: home.call("job", "rm", "e").returncode == 0)


def test_stopped_late(home):
    """A promotion is not ended halfway: whenever the stop comes, the record says what the workspace has."""
    add(home, "late", "script: \"mkdir big; i=0; while [ $i -lt 2000 ]; do echo $i > big/$i; i=$((i+1)); done\"\ninputs: [nothing]\n"
                      "promote: gates\ngates: [\"diff.files>=1\"]\n")
    big, found = os.path.join(home.work, "big"), []
    for _ in range(5):
        run = subprocess.Popen([AISBX, "job", "run", "late", "--force"], cwd=home.work, env=home.env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while run.poll() is None and not os.path.isdir(big):
            time.sleep(0.001)
        done = home.call("job", "stop", "late")
        run.wait(patience(60))
        row = runs(home, "late")[0]
        found.append((done.returncode, row["result"], "promotion_id" in row, len(os.listdir(big)) if os.path.isdir(big) else 0))
        shutil.rmtree(big, ignore_errors=True)
        if done.returncode == 0:
            break
    tap.ok(all(one[1:] in (("promoted", True, 2000), ("stopped", False, 0)) and one[0] in (0, 3) for one in found),
           "a stop while it promotes waits for that", found)
    tap.ok(until(lambda: home.call("job", "rm", "late").returncode == 0), "it is removed")


def test_bounds(home):
    add(home, "b", "every: 1s\nscript: \"i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done\"\nbudget: {cpu_minutes_per_day: 1}\n")
    home.call("job", "run", "b")
    with open(record(home, "b")) as file:
        state = json.load(file)
    tap.ok(state["day_cpu_ms"] >= 100, "what a run takes of the processor is counted", state)

    def in_day(_):
        # A run notes the day that it ends on.
        home.call("job", "run", "b", "--force")
        change_record(home, "b", day_cpu_ms=60000)
        return state_of(home, "b")
    tap.equal(within(lambda: time.localtime()[:3], in_day), "cpu_minutes_per_day", "and bounded")
    home.call("job", "rm", "b")
    add(home, "q", "every: 1s\nscript: \"true\"\nquiet: \"00:00-23:59\"\n")
    add(home, "z", "every: 1s\nscript: \"true\"\ninputs: [nothing]\n")
    with Watch(home):
        tap.ok(until(lambda: runs(home, "z")), "another job is run")
    state = {row["name"]: row for row in home.rows("job", "ls")}["q"]
    tap.ok(state["last"] is None or state["state"] != "quiet hours", "none is in quiet hours", state)
    for name in ("q", "z"):
        until(lambda name=name: home.call("job", "rm", name).returncode == 0)


def test_daemon(home):
    """The daemon keeps a scheduler; killed at any moment, it neither loses a job nor runs one twice for a change."""
    if os.geteuid() == 0:
        tap.skip("the daemon runs jobs", "root has no daemon")
        return
    home.put("src/n", "0\n")
    add(home, "one", "on_change: src/**\ninputs: [src/**]\nscript: \"sleep 0.1; cat src/n\"\n")
    for turn in range(1, 6):
        daemon = subprocess.Popen([AISBX, "daemon", "--pool", "1"], cwd=home.work, env=home.env, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: any(row["name"] == "jobs" and row.get("pid") for row in home.data("daemon", "status").get("helpers", [])))
        count = len(runs(home, "one"))
        replace(home, "src/n", f"{turn}\n")
        if turn % 2:
            tap.ok(until(lambda count=count: len(runs(home, "one")) > count), f"turn {turn}: the daemon runs it")
        else:
            until(lambda: False, moments.random())
        daemon.kill()
        daemon.wait()
    tap.ok(until(lambda: home.data("job", "run", "one").get("result") == "unchanged"), "the last change was not lost", runs(home, "one"))
    tap.ok(len(runs(home, "one")) <= 5, "no change is worked on twice", runs(home, "one"))
    tap.ok(until(lambda: not sandboxes(home)), "no sandbox is left")
    until(lambda: home.call("job", "rm", "one").returncode == 0)


def test_killed(home):
    """A run that is killed at any moment: it is in the record, leaves nothing, and its slot is not taken again."""
    add(home, "k", "script: \"sleep 0.2; date +%N > stamp\"\npromote: gates\ngates: [\"exit_code==0\"]\n")
    for turn in range(10 if os.environ.get("AISBX_LONG") != "1" else 100):
        child = subprocess.Popen([AISBX, "job", "run", "k", "--force"], cwd=home.work, env=home.env, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            child.wait(timeout=moments.random() * 0.6)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
            child.wait()
        done = None

        def settled():
            nonlocal done
            done = home.call("job", "run", "k", "--force")
            return done.returncode == 0
        if not until(settled):
            tap.ok(False, f"turn {turn}: the next run goes on", done)
    tap.equal({row["result"] for row in runs(home, "k")} - {"killed", "promoted", "pass"}, set(), "each run has its result")
    tap.ok(until(lambda: not sandboxes(home)), "no sandbox is left", sandboxes(home))
    tap.equal([one["request_id"] for one in home.rows("promotions") if one.get("state") == "pending"], [], "no request waits")
    home.call("job", "rm", "k")
    os.unlink(home.work + "/stamp")


def main():
    with Home(prefix="aisbx-job-") as home:
        if not home.can_run(tap, "jobs"):
            return tap.done()
        home.put("text", "a\n")
        git(home, "init", "-q", "-b", "main")
        git(home, "add", "-A")
        git(home, "commit", "-qm", "first")
        for test in (test_verbs, test_failure, test_asks, test_gates_never, test_trust, test_through, test_hostile_files, test_damage,
                     test_race_and_task, test_watch, test_missed, test_twice, test_looked_at, test_unreadable, test_ended, test_stopped,
                     test_stopped_late, test_bounds, test_daemon, test_killed):
            test(home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
