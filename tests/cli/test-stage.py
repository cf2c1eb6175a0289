#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stage: one bundle through the stages of a pipeline; checked, applied, taken back, resumed after a kill.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a home of its own. AISBX_KILL_ROUNDS: how often a
run is killed (4; 12 with AISBX_LONG).
"""

import itertools
import json
import os
import pwd
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from clitest import AISBX, Home, Tap, refused  # noqa: E402

tap = Tap()
ROUNDS = int(os.environ.get("AISBX_KILL_ROUNDS") or (12 if os.environ.get("AISBX_LONG") else 4))
OLD = {"app": "one\ntwo\nthree\n", "conf": "a\nb\nc\nv\ne\n", "lib/part": "part\n", "old/gone": "x\n"}
CHANGE = ("printf 'one\\nTWO\\nthree\\n' > app; mkdir new; echo n > new/f; ln -s f new/l; rm -r old; "
          "chmod 755 lib/part; printf 'a\\nB\\nc\\nv\\ne\\n' > conf")


def lay_out(home, *names):
    """Directories of the home as they are at first; the workspace is one of them."""
    for name in names:
        top = os.path.join(home.path, name)
        shutil.rmtree(top, ignore_errors=True)
        for path, text in OLD.items():
            os.makedirs(os.path.dirname(os.path.join(top, path)), exist_ok=True)
            with open(os.path.join(top, path), "w") as out:
                out.write(text)


def put(home, path, text):
    with open(os.path.join(home.path, path), "w") as out:
        out.write(text)


def look(home, name, without=None):
    """{path: content or link} below a directory of the home."""
    found = {}
    for top, inside, files in os.walk(os.path.join(home.path, name)):
        inside[:] = [one for one in inside if one != without]
        for file in files:
            path = os.path.join(top, file)
            if os.path.islink(path):
                found[os.path.relpath(path, os.path.join(home.path, name))] = os.readlink(path)
                continue
            with open(path) as source:
                found[os.path.relpath(path, os.path.join(home.path, name))] = source.read()
    return found


NEW = {"app": "one\nTWO\nthree\n", "conf": "a\nB\nc\nv\ne\n", "lib/part": "part\n", "new/f": "n\n", "new/l": "f"}


# A bundle knows times to the second: the same change, made twice within one, is one bundle, with the fate it had before.
begun = itertools.count(1000000000)


def begin(home, pipeline, change=CHANGE, where="pipeline.yaml"):
    """A sandbox with the change in it, and a pipeline outside the workspace, which is the user's word."""
    change += f"; [ ! -L new/l ] || touch -h -d @{next(begun)} new/l"
    lay_out(home, "project", "staging", "prod")
    home.call("rm", "fix")
    home.call("create", "fix")
    home.call("exec", "fix", "--", "sh", "-c", change)
    home.call("stop", "fix")
    put(home, where, pipeline.replace("HOME", home.path))
    return home.path + "/" + where


def stage(home, file, *words):
    return home.call("stage", "run", "fix", "-f", file, *words)


def states(home, bundle=None):
    rows = home.rows("stage", "status", *([bundle] if bundle else []))
    return {one["name"]: one["state"] for one in rows[0]["stages"]} if rows else {}


ALL = ("stages:\n  - {name: dev, target: ., pre: ['cmd:test -e new/f', 'diff.files<=9'], post: ['cmd:grep -q TWO app']}\n"
       "  - {name: staging, target: HOME/staging, mode: swap, pre: ['cmd:grep -q TWO app'], post: ['cmd:test -e new/l']}\n"
       "  - {name: production, target: HOME/prod, post: ['cmd:test ! -e old']}\n")


def test_whole(home):
    file = begin(home, ALL)
    done = stage(home, file)
    if not tap.ok(done.returncode == 0, "a change goes through three stages", done):
        return
    for name in ("project", "staging", "prod"):
        tap.equal(look(home, name), NEW, f"{name} has all of it")
        tap.equal(os.stat(f"{home.path}/{name}/lib/part").st_mode & 0o777, 0o755, "with its permissions")
    tap.equal(states(home), {"dev": "live", "staging": "live", "production": "live"}, "and status says so")
    tap.equal([row["name"] for row in home.rows("ls")], ["fix"], "no clone is left")
    tap.equal(stage(home, file).returncode, 0, "once more does nothing")
    rows = home.rows("stage", "status")[0]
    tap.equal(len({one["promotion_id"] for one in rows["stages"]}), 3, "each stage is a promotion of its own")
    tap.equal(home.call(*rows["stages"][2]["undo"].split()[1:]).returncode, 0, "which can be taken back")
    tap.equal(look(home, "prod"), OLD, "by itself")
    done = stage(home, file)
    tap.ok(done.returncode == 0 and look(home, "prod") == NEW, "and entered again", done)


def test_to(home):
    # A change of its own: the same bundle may have been in production before.
    file = begin(home, ALL, CHANGE + "; echo to > to")
    answer = home.data("stage", "run", "fix", "-f", file, "--to", "staging")
    tap.equal([one["name"] for one in answer.get("stages", [])], ["dev", "staging"], "--to goes no further")
    tap.equal(answer.get("outcome"), "live", "and that is a success")
    tap.equal(look(home, "prod"), OLD, "production is as it was")
    tap.equal([gate["when"] for gate in answer.get("gates", [])], ["pre", "pre", "post", "pre", "post"],
              "what was checked is told")
    tap.ok(refused(home.call("stage", "run", "fix", "-f", file, "--to", "stagin"), 5, "did you mean 'staging'"),
           "an unknown stage is not found")


def test_rollback(home):
    file = begin(home, ALL.replace("test -e new/l", "false"))
    done = stage(home, file)
    tap.ok(done.returncode == 1 and "rolled-back" in done.stdout, "a failing check after a stage: exit 1", done)
    tap.equal(look(home, "staging"), OLD, "and the stage is taken back")
    tap.equal(look(home, "project"), NEW, "the one before stays")
    tap.equal(look(home, "prod"), OLD, "the one behind was never touched")
    tap.equal(states(home), {"dev": "live", "staging": "rolled-back"}, "status")
    put(home, "pipeline.yaml", ALL.replace("HOME", home.path))
    tap.ok(stage(home, file).returncode == 0 and look(home, "prod") == NEW, "once the check is right, it goes on")


def test_refused(home):
    file = begin(home, ALL.replace("'cmd:grep -q TWO app'], post: ['cmd:test -e new/l']",
                                   "'cmd:exit 3'], post: ['cmd:true']"))
    done = stage(home, file)
    tap.ok(done.returncode == 4 and "cmd:exit 3" in done.stderr, "a failing check before a stage: exit 4", done)
    tap.equal(look(home, "staging"), OLD, "and nothing happened to its target")
    tap.equal(states(home)["staging"], "refused", "status says refused")


def test_timeout(home):
    file = begin(home, "stages:\n  - {name: dev, target: ., post: ['cmd:sleep 600'], timeout: 2s}\n")
    began = time.time()
    done = stage(home, file)
    tap.ok(done.returncode == 1 and time.time() - began < 500, "a check that never ends is a failed check", done)
    tap.equal(look(home, "project"), OLD, "and taken back")


def test_approval(home):
    file = begin(home, ALL.replace("{name: production,", "{name: production, approvals: 1,"))
    done = stage(home, file)
    tap.ok(done.returncode == 4 and "stage approve" in done.stderr, "a stage waits for an approval: exit 4", done)
    tap.equal((look(home, "staging"), look(home, "prod")), (NEW, OLD), "those before it are live")
    bundle = home.rows("stage", "status")[0]["bundle"]
    tap.equal(states(home)["production"], "waiting", "status says waiting")
    tap.ok(refused(home.call("stage", "approve", bundle[:10], "prodution"), 5, "did you mean 'production'"),
           "an unknown stage cannot be approved")
    tap.ok(refused(home.call("stage", "approve", "0123456789", "production"), 5), "nor an unknown bundle")
    answer = home.data("stage", "approve", bundle[:10], "production")
    tap.equal((answer.get("uid"), answer.get("bundle")), (os.getuid(), bundle), "an approval names uid and bundle")
    tap.ok(stage(home, file).returncode == 0 and look(home, "prod") == NEW, "and opens the stage")
    home.call("exec", "fix", "--", "sh", "-c", "echo more >> app")
    home.call("stop", "fix")
    tap.equal(stage(home, file).returncode, 4, "it does not hold for another bundle")
    tap.equal(look(home, "prod"), NEW, "which therefore is not there")
    tap.equal(look(home, "staging")["app"], NEW["app"] + "more\n", "but where none is needed")


def leave(path, uid, text, mode=0o644):
    """A file of another account."""
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            os.write(fd, text.encode())
            os.fchmod(fd, mode)
            os._exit(0)
        except OSError:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def test_approvals(home):
    """Two accounts must agree: one that says it twice is one, and nobody speaks for another."""
    drop = tempfile.mkdtemp(prefix="aisbx-test-approvals.", dir="/var/tmp")
    os.rmdir(drop)
    home.env["AISBX_APPROVALS"] = drop
    try:
        file = begin(home, ALL.replace("{name: production,", "{name: production, approvals: 2,"))
        done = stage(home, file)
        tap.ok(done.returncode == 4 and "(0 of 2" in done.stderr, "a stage waits for two", done)
        bundle = home.rows("stage", "status")[0]["bundle"]
        for turn in ("once", "twice"):
            home.call("stage", "approve", bundle, "production")
            done = stage(home, file)
            tap.ok(done.returncode == 4 and "(1 of 2" in done.stderr and bundle in done.stderr, f"one account, {turn}", done)
        other = "0" * 63 + "1"
        done = home.call("stage", "approve", other, "production")
        words = f"aisbx approval\nbundle {other}\nstage production\n"
        with open(f"{drop}/{other}-production-{os.getuid()}") as source:
            tap.ok(done.returncode == 0 and source.read() == words, "somebody else's bundle: the word is left for its owner", done)
        if os.geteuid() != 0:
            tap.skip("a second account", "needs root")
            return
        right = words.replace(other, bundle)
        name = f"{drop}/{bundle}-production-"
        nobody = pwd.getpwnam("nobody").pw_uid
        forged = {"its owner's own under another's name": (0, right, 0o644), "other words": (nobody, words, 0o644),
                  "one that others may write to": (nobody, right, 0o666), "no account": (54399, right, 0o644)}
        for what, (uid, text, mode) in forged.items():
            tap.ok(leave(name + str(nobody), uid, text, mode), f"left: {what}")
            done = stage(home, file)
            tap.ok(done.returncode == 4 and "(1 of 2" in done.stderr, f"does not count: {what}", done)
            os.unlink(name + str(nobody))
        leave(name + str(nobody), nobody, right)
        os.link(name + str(nobody), drop + "/second-name")
        tap.ok(stage(home, file).returncode == 4, "does not count: one with a second name")
        os.unlink(drop + "/second-name")
        done = stage(home, file)
        tap.ok(done.returncode == 0 and look(home, "prod") == NEW, "with both it goes on", done)
        rows = {one["name"]: one for one in home.rows("stage", "status")[0]["stages"]}
        tap.equal(sorted(rows["production"]["approved_by"]), [0, nobody], "and who agreed is told")
    finally:
        del home.env["AISBX_APPROVALS"]
        shutil.rmtree(drop, ignore_errors=True)


def test_conflict(home):
    file = begin(home, ALL)
    put(home, "staging/app", "other\n")
    done = stage(home, file)
    tap.ok(done.returncode == 3 and "app" in done.stderr, "a target that went another way: exit 3", done)
    tap.equal(look(home, "staging"), {**OLD, "app": "other\n"}, "and stays as it is")
    put(home, "pipeline.yaml", ALL.replace("HOME", home.path).replace("mode: swap", "mode: swap, strategy: theirs"))
    tap.ok(stage(home, file).returncode == 0 and look(home, "staging") == NEW, "strategy theirs takes the bundle's")


def test_merge(home):
    file = begin(home, ALL.replace("mode: swap", "mode: swap, strategy: merge"))
    put(home, "staging/conf", "a\nb\nc\nv\nE\n")
    put(home, "staging/own", "its own\n")
    done = stage(home, file)
    tap.ok(done.returncode == 0, "strategy merge", done)
    tap.equal(look(home, "staging"), {**NEW, "conf": "a\nB\nc\nv\nE\n", "own": "its own\n"}, "has both changes")
    tap.equal(look(home, "prod"), NEW, "and the next stage gets the bundle, not the merge")


HOSTS = OLD["conf"].replace("a\n", "HOST\n")


def edit_in_place(path):
    with open(path, "r+") as out:
        out.write(HOSTS)
        out.truncate()


def edit_and_rename(path):
    with open(path + ".new", "w") as out:
        out.write(HOSTS)
    os.rename(path + ".new", path)


def test_host_moved(home):
    """The workspace's file changes after the sandbox changed it, and so does the target's: a merge starts from neither."""
    for way, edit in (("in place", edit_in_place), ("by renaming", edit_and_rename)):
        for act, strategy, code, left in (
                ("echo s >> conf", "merge", 0, HOSTS + "s\n"), ("echo s >> conf", "fail", 3, HOSTS),
                ("echo s >> conf", "ours", 0, HOSTS), ("echo s >> conf", "theirs", 0, OLD["conf"] + "s\n"),
                ("sed -i s/a/S/ conf", "merge", 3, HOSTS), ("rm conf", "merge", 3, HOSTS), ("rm conf", "fail", 3, HOSTS),
                ("chmod 755 conf", "merge", 0, HOSTS)):
            for target in "target", "project":
                begin(home, f"stages:\n  - {{name: one, target: {home.path}/{target}, strategy: {strategy}}}\n", act)
                edit(home.work + "/conf")
                os.makedirs(home.path + "/target", exist_ok=True)
                shutil.copy(home.work + "/conf", home.path + "/target/conf")
                done = stage(home, home.path + "/pipeline.yaml")
                with open(f"{home.path}/{target}/conf") as source:
                    found = source.read()
                tap.ok(done.returncode == code and found == left, f"{way}, {act}, {strategy}, {target}: exit {code}",
                       (done, found))
    # What is larger than a capture keeps, and is replaced: nothing has the version that the sandbox found.
    begin(home, f"stages:\n  - {{name: one, target: {home.path}/target, strategy: merge}}\n", "true")
    home.put("large", "line\n" * 400000)
    home.call("exec", "fix", "--", "sh", "-c", "echo s >> large")
    home.call("stop", "fix")
    home.put("large.new", "HOST\n" + "line\n" * 400000)
    os.rename(home.work + "/large.new", home.work + "/large")
    shutil.copy(home.work + "/large", home.path + "/target/large")
    done = stage(home, home.path + "/pipeline.yaml")
    with open(home.path + "/target/large") as source:
        tap.ok(done.returncode == 3 and "is not known" in done.stderr and source.readline() == "HOST\n",
               "a base that is lost: a conflict that says so", done)
    shutil.rmtree(home.path + "/target")


def test_trust(home):
    begin(home, ALL)
    home.put("pipeline.yaml", ALL.replace("HOME", home.path))
    done = home.call("stage", "run", "fix")
    tap.ok(refused(done, 4, "profile trust"), "a pipeline of the workspace needs trust", done)
    tap.equal(home.call("profile", "trust", "pipeline.yaml").returncode, 0, "profile trust takes pipelines")
    tap.equal(home.call("stage", "run", "fix").returncode, 0, "and then it runs")
    home.put("pipeline.yaml", ALL.replace("HOME", home.path) + "\n")
    tap.equal(home.call("stage", "run", "fix").returncode, 4, "one byte ends that")
    home.call("profile", "trust", "pipeline.yaml")
    home.call("exec", "fix", "--", "sh", "-c", "echo '#' >> pipeline.yaml")
    home.call("stop", "fix")
    done = home.call("stage", "run", "fix")
    tap.ok(refused(done, 4, "pipeline.yaml"), "a bundle that changes its own pipeline is refused", done)
    home.call("rm", "fix")
    home.call("create", "fix")
    home.call("exec", "fix", "--", "sh", "-c", "mkdir -p .git/hooks; echo x > .git/hooks/pre-commit; chmod +x .git/hooks/*")
    home.call("stop", "fix")
    done = home.call("stage", "run", "fix")
    tap.ok(done.returncode == 4 and "hook" in done.stderr + done.stdout, "consent is asked for here, too", done)
    tap.ok(not os.path.exists(home.work + "/.git"), "and nothing was applied")


def test_host(home):
    """The user's own pipeline is found by itself, and may check on the host."""
    os.makedirs(home.path + "/.config/aisbx", exist_ok=True)
    own = ".config/aisbx/pipeline.yaml"
    line = "stages:\n  - {name: prod, target: HOME/prod, where: host, timeout: %ds, post: ['cmd:%s', 'diff.files==0']}\n"
    for command, seconds, code, words in ((f"test -e new/f && touch {home.path}/on-host", 60, 0, "live"),
                                          ("echo broken; exit 7", 60, 1, "exit 7, on the host: broken"),
                                          ("sleep 100", 2, 1, "timeout, on the host")):
        begin(home, line % (seconds, command), where=own)
        done = home.call("stage", "run", "fix")
        tap.ok(done.returncode == code and words in done.stdout, f"where: host, {command}: exit {code}", done)
        tap.equal(look(home, "prod"), OLD if code else NEW, "and the target is what it should be")
    tap.ok(os.path.exists(home.path + "/on-host"), "it ran on the host")
    os.unlink(home.path + "/" + own)


def test_keep(home):
    file = begin(home, "stages:\n  - {name: prod, target: HOME/prod, keep: 1}\n")
    stage(home, file)
    home.call("exec", "fix", "--", "sh", "-c", "echo more >> app")
    home.call("stop", "fix")
    put(home, "prod/app", OLD["app"])
    stage(home, file)
    rows = [row for row in home.rows("promotions") if row["target"] == home.path + "/prod"]
    tap.equal([row["state"] for row in rows][:2], ["live", "kept"], "keep: 1 lets only the last one be taken back")


def test_mistakes(home):
    file = begin(home, ALL)
    for text, words, code in (("stages:\n- {name: a, target: HOME/nowhere}\n", (":2:", "make the directory"), 5),
                              ("stages:\n- {name: a, target: .}\n- {name: b, target: HOME/project}\n", (":3", "one target"), 2),
                              ("stages:\n- {name: a, target: ., where: host}\n", (":2", "host"), 4),
                              ("stages:\n- {name: a, target: /}\n", (":2", "no directory"), 2),
                              ("stages:\n- {name: a, after: b, target: .}\n", (":2", "after"), 2)):
        put(home, "pipeline.yaml", text.replace("HOME", home.path))
        tap.ok(refused(stage(home, file), code, *words), f"refused: {text!r}", stage(home, file))
    tap.equal(stage(home, home.path + "/none.yaml").returncode, 5, "a pipeline that is not there is not found")
    tap.equal(home.call("stage", "run", "nobody", "-f", file).returncode, 5, "nor is a sandbox")
    tap.equal(home.call("stage", "run").returncode, 2, "words are missing")
    tap.equal(home.call("stage", "status", "ffffff").returncode, 5, "nor is a bundle")
    put(home, "pipeline.yaml", ALL.replace("HOME", home.path))
    home.call("rm", "fix")
    home.call("create", "fix")
    tap.ok(refused(stage(home, file), 5, "changed nothing"), "a sandbox without changes")


def one_of(found):
    return found in (OLD, NEW)


def test_killed(home):
    file = begin(home, ALL)
    began = time.time()
    first = stage(home, file)
    length = time.time() - began
    good = tap.ok(first.returncode == 0, "a run to measure", first)
    torn = lost = 0
    for i in range(ROUNDS if good else 0):
        file = begin(home, ALL)
        run = subprocess.Popen([AISBX, "stage", "run", "fix", "-f", file], cwd=home.work, env=home.env,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(random.Random(i).uniform(0, length))
        run.send_signal(signal.SIGKILL)
        run.wait()
        home.call("promotions")
        torn += not all(one_of(look(home, name)) for name in ("project", "staging", "prod"))
        done = stage(home, file)
        lost += done.returncode != 0 or not all(look(home, name) == NEW for name in ("project", "staging", "prod"))
        if lost:
            tap.ok(False, f"round {i} resumes", done)
            break
    tap.ok(good and torn == 0, f"killed {ROUNDS} times: no stage is half applied", torn)
    tap.ok(good and lost == 0, "and the next run goes on to the end", lost)
    tap.equal([row["name"] for row in home.rows("ls")], ["fix"], "leaving no clone")
    file = begin(home, ALL.replace("test ! -e old", "sleep 3; false"))
    run = subprocess.Popen([AISBX, "stage", "run", "fix", "-f", file], cwd=home.work, env=home.env,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(400):
        if states(home).get("production") == "postchecking":
            break
        time.sleep(0.05)
    run.send_signal(signal.SIGKILL)
    run.wait()
    done = stage(home, file)
    tap.ok(done.returncode == 1 and look(home, "prod") == OLD, "killed while it was checked, it is checked again", done)


COMMITS = ("stages:\n  - {name: branch, target: ., pre: ['cmd:grep -q TWO app'], post: ['cmd:POST']}\n"
           "  - {name: staging, target: HOME/staging, pre: ['cmd:test ! -e .git']}\n")


PLAIN = CHANGE.replace("ln -s f new/l; ", "")
PLAIN_NEW = {path: text for path, text in NEW.items() if path != "new/l"}


def begin_commits(home, post="git rev-parse -q --verify refs/heads/side", change=PLAIN):
    """A repository, a sandbox on a branch of its own, and a commit of the change on it."""
    def git(*words, check=True):
        return subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=b", *words], cwd=home.work, env=home.env,
                              capture_output=True, text=True, check=check).stdout.strip()
    lay_out(home, "project", "staging")
    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    home.call("rm", "fix")
    home.call("create", "fix", "--worktree", "side")
    home.call("exec", "fix", "--", "sh", "-ec", change + "; git add -A; git -c user.name=a -c user.email=b commit -q -m inside -m " +
              str(next(begun)))
    home.call("stop", "fix")
    put(home, "pipeline.yaml", COMMITS.replace("HOME", home.path).replace("POST", post))
    return home.path + "/pipeline.yaml", git


def test_commits(home):
    file, git = begin_commits(home, "false")
    done = stage(home, file, "--commits")
    tap.ok(done.returncode == 1 and git("branch", "--list", "side") == "", "commits whose check fails are taken back", done)
    file, git = begin_commits(home)
    done = stage(home, file, "--commits")
    tap.ok(done.returncode == 0 and git("log", "-1", "--format=%s", "side") == "inside", "the stage that is the workspace gets commits", done)
    tap.equal((git("branch", "--show-current"), git("status", "--porcelain"), look(home, "project", ".git")), ("main", "", OLD),
              "whose branch, index and files stay")
    tap.equal(look(home, "staging"), PLAIN_NEW, "other stages get files, and nothing of git")
    rows = home.rows("stage", "status")[0]["stages"]
    tap.equal(home.call(*rows[0]["undo"].split()[1:]).returncode, 0, "commits are taken back by themselves")
    tap.equal(git("branch", "--list", "side"), "", "with their branch")
    for line, words in (("mode: swap", "about files"), ("strategy: theirs", "about files"), ("approvals: 1", "about files"),
                        ("target: HOME/prod", "no stage on the way")):
        lay_out(home, "prod")
        old = "target: .," if line.startswith("target") else ""
        put(home, "pipeline.yaml", COMMITS.replace(old or "name: branch,", f"{'' if old else 'name: branch, '}{line},", 1)
            .replace("HOME", home.path).replace("POST", "true"))
        done = stage(home, file, "--commits")
        tap.ok(refused(done, 2, words), f"{line} and --commits are two things", done)
    begin_commits(home)
    git("checkout", "-q", "-b", "side")
    done = stage(home, file, "--commits")
    tap.ok(done.returncode == 4 and git("log", "-1", "--format=%s", "side") == "first", "a branch that the host has checked out is refused", done)
    file, git = begin_commits(home, change=CHANGE)
    done = stage(home, file, "--commits")
    tap.ok(done.returncode == 4 and "brings new/l" in done.stderr and git("branch", "--list", "side") == "",
           "what they bring needs the same consent", done)
    file, git = begin_commits(home, "true", change=PLAIN + "; echo BAD > app")
    hide = "echo TWO > app; git update-index --assume-unchanged app"
    home.call("exec", "fix", "--", "sh", "-ec", hide)
    home.call("stop", "fix")
    done = stage(home, file, "--commits", "--to", "branch")
    tap.ok(done.returncode == 3 and "changes of app" in done.stderr and "commit or stash" in done.stderr and git("branch", "--list", "side") == "",
           "files that are checked and not committed are refused", done)
    home.call("exec", "fix", "--", "sh", "-ec", "git update-index --no-assume-unchanged app; git -c user.name=a -c user.email=b commit -qam good")
    home.call("stop", "fix")
    done = stage(home, file, "--commits", "--to", "branch")
    tap.ok(done.returncode == 0 and git("show", "side:app") == "TWO", "until they are committed", done)
    lost = []
    for i in range(ROUNDS):
        file, git = begin_commits(home)
        run = subprocess.Popen([AISBX, "stage", "run", "fix", "--commits", "--to", "branch", "-f", file], cwd=home.work, env=home.env,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wanted = ("prechecking", "applying", "postchecking", "applying")[i % 4]
        while run.poll() is None and states(home).get("branch") != wanted:
            pass
        run.send_signal(signal.SIGKILL)
        run.wait()
        done = stage(home, file, "--commits", "--to", "branch")
        entry = home.rows("stage", "status")[0]["stages"][0]
        if done.returncode != 0 or git("log", "-1", "--format=%s", "side") != "inside" or not entry["promotion_id"]:
            lost.append((wanted, done, entry))
    tap.equal(lost, [], f"killed {ROUNDS} times, it goes on to the end and can be taken back")


def test_history(home):
    found = json.dumps(home.rows("history", "-n", "500"))
    tap.ok("xargs" in found or "tar" in found, "what ran for stages is in the history")


def main():
    with Home(prefix="aisbx-stage-") as home:
        first = home.call("run", "--", "true")
        if first.returncode != 0:
            tap.skip("stages", "no sandbox can be made here: " + first.stderr.strip())
            return tap.done()
        for test in (test_whole, test_to, test_rollback, test_refused, test_timeout, test_approval, test_approvals, test_conflict,
                     test_merge, test_host_moved, test_trust, test_host, test_keep, test_mistakes, test_killed, test_commits, test_history):
            tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
