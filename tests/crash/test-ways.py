#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The other ways out of a sandbox, failing or killed at any system call, also twice in one command.

Commits of a branch, files written while a command runs, stages of a pipeline, artifacts kept and got back: whatever happens,
the host is as before or as after, what was reported as done is done, and the next command goes on as if nothing had been. Plain
promotions have test-whole.py. Takes the program from AISBX and the injector from CRASH_INJECT. AISBX_POINTS: at how many calls
each error is tried, spread over all of them; 0 is at every one. AISBX_SEED: which. AISBX_CASES: which ways.
"""
import os
import random
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from chance import seed_of  # noqa: E402
from clitest import AISBX, Home, Tap  # noqa: E402

INJECT = os.environ["CRASH_INJECT"]
LONG = os.environ.get("AISBX_LONG") == "1"
SEED = seed_of("ways")
ERRORS = ("ENOSPC", "EIO", "EDQUOT", "EMFILE", "KILL")
RENAMES = 3  # as many as a run of one stage makes: an object, the branch, its log
POINTS = int(os.environ.get("AISBX_POINTS") or (40 if LONG else 1))
OLD, NEW = {"a": "one\n", "sub/b": "two\n", "gone": "three\n"}, {"a": "ONE\n", "sub/b": "TWO\n", "made": "four\n"}
CHANGE = "echo ONE > a; echo TWO > sub/b; rm gone; echo four > made"
tap = Tap()


class Bad(AssertionError):
    """What a run should not have done."""


def lay_out(top, content):
    shutil.rmtree(top, ignore_errors=True)
    for path, text in content.items():
        os.makedirs(os.path.dirname(os.path.join(top, path)), exist_ok=True)
        with open(os.path.join(top, path), "w", encoding="utf-8") as out:
            out.write(text)


def files_of(top):
    """{path: content} of the files below TOP, git's own left out; links by where they lead."""
    found = {}
    for folder, dirs, files in os.walk(top):
        dirs[:] = [name for name in dirs if name != ".git"]
        for name in files:
            path = os.path.join(folder, name)
            if name == ".git":
                continue
            if os.path.islink(path):
                found[os.path.relpath(path, top)] = "-> " + os.readlink(path)
                continue
            with open(path, encoding="utf-8") as file:
                found[os.path.relpath(path, top)] = file.read()
    return found


class Way:
    """A command that changes the host, what the host may look like after it, and the way back."""

    def __init__(self, home):
        self.home, self.kept = home, set()
        # The injector waits for all that was started; a supervisor has to live until its caller has written.
        home.env["AISBX_KEEPER_IDLE_MS"] = "500"

    def must(self, *words, codes=(0,)):
        done = self.home.call(*words, cwd=self.cwd())
        if done.returncode not in codes:
            raise Bad(f"{words}: {done}")
        return done

    def cwd(self):
        return self.home.work

    def fault(self, faults):
        done = subprocess.run([INJECT, ",".join(f"{at}:{word}" for at, word in faults), self.home.path + "/count", AISBX, *self.words()],
                              cwd=self.cwd(), env=self.home.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=600)
        return done.returncode, done.stderr + done.stdout

    def count(self):
        code, said = self.fault([(0, "EIO")])
        if code:
            raise Bad(f"an undisturbed run: {code} {said}")
        with open(self.home.path + "/count", encoding="utf-8") as file:
            return int(file.read())

    def settle(self):
        """The next command puts right what is left."""
        self.must("promotions")

    def take_back(self):
        """Undoes what is live, latest first."""
        for row in self.home.rows("promotions", cwd=self.cwd()):
            if row["state"] == "live" and row["promotion_id"] not in self.kept:
                self.must("undo", row["promotion_id"])

    def sure_points(self):
        """Calls that it is always killed at."""
        return []

    def no_litter(self, top):
        left = [name for name in os.listdir(top) if name.startswith(".aisbx")]
        if left:
            raise Bad(f"left behind: {left}")


class Commits(Way):
    """promote --commits in a linked worktree: a branch, its index and its files."""

    def __init__(self, home):
        super().__init__(home)
        self.main, self.tree = home.path + "/main", home.path + "/side"
        os.makedirs(self.main)
        lay_out(self.main, OLD)
        home.env.update({f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")})
        # A look at the status would write the index anew.
        home.env["GIT_OPTIONAL_LOCKS"] = "0"
        for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-q", "-m", "first"),
                      ("worktree", "add", "-q", "-b", "side", self.tree)):
            self.git(*words, cwd=self.main)
        self.must("create", "box")
        self.must("exec", "box", "--", "sh", "-ec", CHANGE + "; git config user.name a; git config user.email a@b; git add -A; git commit -q -m inside")
        self.must("stop", "box")
        # Files come first, by a promotion of their own, which stays.
        self.must("promote", "box")
        self.kept = {row["promotion_id"] for row in home.rows("promotions", cwd=self.tree)}
        self.old, self.new = self.seen(), ("inside", "", NEW)

    def git(self, *words, cwd=None):
        done = subprocess.run(["git", *words], cwd=cwd or self.tree, env=self.home.env, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Bad(f"git {words}: {done.stderr}")
        return done.stdout.strip()

    def cwd(self):
        return self.tree

    def words(self):
        return "promote", "box", "--commits"

    def seen(self):
        return self.git("log", "-1", "--format=%s", "side"), self.git("status", "--porcelain"), files_of(self.tree)

    def state(self):
        whole = subprocess.run(["git", "fsck", "--no-dangling", "--connectivity-only"], cwd=self.tree, env=self.home.env, capture_output=True,
                               text=True, check=False)
        left = [os.path.join(top, name) for top, _, names in os.walk(self.main + "/.git") for name in names if name.endswith(".lock")]
        if whole.returncode or left:
            return f"fsck {whole.returncode} {whole.stderr}, locks {left}"
        seen = self.seen()
        return "old" if seen == self.old else "new" if seen == self.new else f"a mix: {seen}"

    def judge(self, code):
        self.settle()
        now = self.state()
        if now not in ("old", "new") or (code == 0 and now != "new"):
            raise Bad(f"it is {now}")
        self.no_litter(self.tree)
        if now == "old":
            self.must(*self.words())
            if self.state() != "new":
                raise Bad(f"promoted once more it is {self.state()}")
        self.take_back()
        if self.state() != "old":
            raise Bad(f"taken back it is {self.state()}")


class Written(Way):
    """exec --write workspace: files that the host has when the command ends."""

    def __init__(self, home):
        super().__init__(home)
        self.fresh()

    def fresh(self):
        for name in os.listdir(self.home.work):
            path = os.path.join(self.home.work, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        for path, text in OLD.items():
            self.home.put(path, text)
        self.home.call("rm", "box")
        self.must("create", "box")

    def words(self):
        return "exec", "box", "--write", "workspace", "--", "sh", "-ec", CHANGE

    def judge(self, code):
        self.settle()
        now = files_of(self.home.work)
        for path in set(now) | set(OLD) | set(NEW):
            if now.get(path) not in (OLD.get(path), NEW.get(path)):
                raise Bad(f"{path} is {now.get(path)!r}")
        if now != NEW and now != OLD and code == 137:
            # What was quiet while the command ran may have been written before: whole files all the same.
            self.home.call("promote", "box")
        elif now not in (OLD, NEW):
            raise Bad(f"a mix: {now}")
        if code == 0 and now != NEW:
            raise Bad(f"reported as written: {now}")
        self.no_litter(self.home.work)
        self.must("stop", "box")
        self.must("exec", "box", "--write", "workspace", "--", "sh", "-ec", "rm -f gone; " + CHANGE.replace("rm gone; ", ""))
        if files_of(self.home.work) != NEW:
            raise Bad(f"the next command leaves {files_of(self.home.work)}")
        self.take_back()
        if files_of(self.home.work) != OLD:
            raise Bad(f"taken back it is {files_of(self.home.work)}")
        self.fresh()


class Stages(Way):
    """stage run: two directories, one exchanged as a whole."""

    def __init__(self, home):
        super().__init__(home)
        self.there, self.file = home.path + "/there", home.path + "/pipeline.yaml"
        lay_out(home.work, OLD)
        lay_out(self.there, OLD)
        with open(self.file, "w", encoding="utf-8") as out:
            out.write("stages:\n  - {name: here, target: ., post: ['cmd:grep -q ONE a']}\n"
                      f"  - {{name: there, target: {self.there}, mode: swap, post: ['cmd:test -e made']}}\n")
        self.turn = 0
        self.fresh()

    def fresh(self):
        """Another bundle each time: one that was there before is not carried on again."""
        self.turn += 1
        self.home.call("rm", "box")
        self.must("create", "box")
        self.must("exec", "box", "--", "sh", "-ec", f"{CHANGE}; echo {self.turn} > turn")
        self.must("stop", "box")

    def words(self):
        return "stage", "run", "box", "-f", self.file

    def state(self, top):
        now = files_of(top)
        return "old" if now == OLD else "new" if now == {**NEW, "turn": f"{self.turn}\n"} else f"a mix: {now}"

    def judge(self, code):
        self.settle()
        seen = [self.state(self.home.work), self.state(self.there)]
        if any(one not in ("old", "new") for one in seen) or seen == ["old", "new"] or (code == 0 and seen != ["new", "new"]):
            raise Bad(f"stages are {seen}")
        self.must(*self.words())
        seen = [self.state(self.home.work), self.state(self.there)]
        if seen != ["new", "new"]:
            raise Bad(f"the next run leaves {seen}")
        self.no_litter(self.home.work)
        # A copy for checks that could not be removed is listed, and can be removed.
        others = [row["name"] for row in self.home.rows("ls") if row["name"] != "box"]
        if others and (code == 0 or not all(name.startswith("box.") for name in others)):
            raise Bad(f"sandboxes left: {others}")
        if others:
            self.must("rm", *others)
        self.take_back()
        seen = [self.state(self.home.work), self.state(self.there)]
        if seen != ["old", "old"]:
            raise Bad(f"taken back it is {seen}")
        self.fresh()


class CommitStages(Way):
    """stage run --commits: the branch of a worktree, which its post check asks for."""

    def __init__(self, home):
        super().__init__(home)
        self.file = home.path + "/pipeline.yaml"
        lay_out(home.work, OLD)
        home.env.update({f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")})
        for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-q", "-m", "first")):
            self.git(*words)
        with open(self.file, "w", encoding="utf-8") as out:
            out.write("stages:\n  - {name: branch, target: ., post: ['cmd:git rev-parse -q --verify refs/heads/side']}\n")
        self.turn = 0
        self.fresh()

    def git(self, *words):
        return subprocess.run(["git", *words], cwd=self.home.work, env=self.home.env, capture_output=True, text=True, check=False).stdout.strip()

    def fresh(self):
        """Another bundle each time: one that was there before is not carried on again."""
        self.turn += 1
        self.home.call("rm", "box")
        self.must("create", "box", "--worktree", "side")
        self.must("exec", "box", "--", "sh", "-ec", f"{CHANGE}; git config user.name a; git config user.email a@b; git add -A; git commit -q -m {self.turn}")
        self.must("stop", "box")

    def words(self):
        return "stage", "run", "box", "--commits", "-f", self.file

    def sure_points(self):
        """At every rename: what is noted of a promotion is noted by one."""
        return [f"renameat2/{at}" for at in range(1, RENAMES + 1)]

    def state(self):
        found = self.git("log", "-1", "--format=%s", "refs/heads/side", "--")
        return "old" if not found else "new" if found == str(self.turn) else f"commit {found}"

    def judge(self, code):
        self.settle()
        if self.state() not in ("old", "new") or (code == 0 and self.state() != "new"):
            raise Bad(f"the branch is {self.state()}")
        live = [row for row in self.home.rows("promotions") if row["state"] == "live" and row["promotion_id"] not in self.kept]
        if len(live) != (self.state() == "new"):
            raise Bad(f"the branch is {self.state()}, and promoted are {live}")
        self.must(*self.words())
        if self.state() != "new":
            raise Bad(f"the next run leaves it {self.state()}")
        self.take_back()
        if self.state() != "old" or files_of(self.home.work) != OLD:
            raise Bad(f"taken back it is {self.state()}, with {files_of(self.home.work)}")
        self.fresh()


class Artifacts(Way):
    """artifact save: what is listed is whole."""

    def __init__(self, home):
        super().__init__(home)
        lay_out(home.work, OLD)
        self.must("create", "box")
        self.must("exec", "box", "--", "sh", "-ec", CHANGE + "; mkdir out; seq 5000 > out/numbers; ln -s numbers out/link")
        self.must("stop", "box")
        self.numbers = "".join(f"{i}\n" for i in range(1, 5001))

    def words(self):
        return "artifact", "save", "box", "out", "a"

    def rows(self):
        return self.home.rows("artifact", "ls")

    def got(self, row):
        """Whether that artifact comes back whole."""
        to = self.home.path + "/got"
        os.makedirs(to, exist_ok=True)
        done = self.must("artifact", "get", row["artifact_id"], to + "/it")
        found = files_of(to)
        self.must("undo", done.stdout.split()[-1])
        return found == ({"it/numbers": self.numbers, "it/link": "-> numbers"} if row["path"].endswith("out") else {"it": "ONE\n"})

    def judge(self, code):
        self.settle()
        rows = self.rows()
        if code == 0 and len(rows) != 2:
            raise Bad(f"reported as kept: {rows}")
        # The next save clears up behind one that was killed.
        self.must(*self.words())
        for row in self.rows():
            if not self.got(row):
                raise Bad(f"{row} is not whole")
            self.must("artifact", "rm", row["artifact_id"])
        self.must("gc")
        if self.rows():
            raise Bad(f"removed, and still listed: {self.rows()}")
        left = os.listdir(self.home.path + "/.local/share/aisbx/artifacts")
        if [name for name in left if name != "lock"]:
            raise Bad(f"left in the store: {left}")
        if files_of(self.home.work) != OLD:
            raise Bad(f"the host is {files_of(self.home.work)}")


class Got(Artifacts):
    """artifact get: a promotion to another place."""

    def __init__(self, home):
        super().__init__(home)
        self.must(*super().words())
        self.row = next(row for row in self.rows() if row["path"].endswith("out"))

    def words(self):
        return "artifact", "get", self.row["artifact_id"], self.home.work + "/there"

    def judge(self, code):
        self.settle()
        now = files_of(self.home.work)
        new = {**OLD, "there/numbers": self.numbers, "there/link": "-> numbers"}
        if now not in (OLD, new) or (code == 0 and now != new):
            raise Bad(f"it is {sorted(now)}")
        if now == OLD:
            self.must(*self.words())
        self.no_litter(self.home.work)
        self.take_back()
        if files_of(self.home.work) != OLD:
            raise Bad(f"taken back it is {sorted(files_of(self.home.work))}")
        if os.path.isdir(self.home.work + "/there"):
            raise Bad("an empty directory is left")
        if len(self.rows()) != 2 or not all(self.got(row) for row in self.rows()):
            raise Bad(f"kept are {self.rows()}")


def faults_of(way, count):
    for at in way.sure_points():
        yield ((at, "KILL"),)
    for word in ERRORS:
        step = max(1, count // POINTS) if POINTS else 1
        for at in range(1 + random.randrange(step), count + 1, step):
            yield ((at, word),)
            yield (at, word), (at + random.choice((1, 2, 3, 5, 8, 13, 21, 34, 55)), random.choice(ERRORS))


def test_way(kind):
    with Home("aisbx-wy.") as home:
        if home.call("run", "--", "true").returncode != 0:
            tap.skip(kind.__doc__, "no sandbox here")
            return
        way, bad, runs = kind(home), [], 0
        count = way.count()
        way.judge(0)
        for faults in faults_of(way, count):
            runs += 1
            code, said = way.fault(faults)
            try:
                way.judge(code)
            except Bad as problem:
                bad.append(f"{faults}: exit {code} {said.strip()[:500]}: {problem}")
                try:
                    way.judge(1)
                except Bad as stuck:
                    bad.append(f"and then: {stuck}")
                    tap.ok(False, f"{kind.__doc__} ({runs} runs, AISBX_SEED={SEED})", "\n".join(bad))
                    return
        tap.ok(not bad, f"{kind.__doc__} {count} calls ({runs} runs, AISBX_SEED={SEED})", "\n".join(bad[:8]))


def main():
    random.seed(SEED)
    only = os.environ.get("AISBX_CASES", "").split(",")
    for kind in (Commits, Written, Stages, CommitStages, Artifacts, Got):
        if only == [""] or kind.__name__ in only:
            tap.attempt(test_way, kind)
    return tap.done()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
