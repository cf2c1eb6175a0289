#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Protected write-through: what needs nobody's word is on the host when a command ends, the rest waits in the sandbox.

Takes the program from AISBX. Speaks TAP.
"""
import json
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from box import patience
from clitest import AISBX, Home, Tap, refused
from family import until

tap = Tap()


def names(home):
    return {row["name"] for row in home.rows("ls")}


def test_run(home):
    home.put("old.txt", "old\n")
    home.put("gone.txt", "x")
    done = home.call("run", "--write", "workspace", "--", "sh", "-c", "echo out; echo new > old.txt; rm gone.txt; mkdir -p d/e; echo 1 > d/e/f; exit 3")
    tap.equal((done.stdout, done.returncode), ("out\n", 3), "the command's own output and exit code")
    tap.equal((home.read("old.txt"), home.read("d/e/f"), os.path.exists(home.work + "/gone.txt")), ("new\n", "1\n", False), "is on the host")
    tap.equal(names(home), set(), "nothing waits, no sandbox stays")
    tap.ok("aisbx undo" in done.stderr, "the way back is said", done)
    home.call("undo")
    tap.equal((home.read("old.txt"), home.read("gone.txt"), os.path.exists(home.work + "/d")), ("old\n", "x", False), "and leads back")
    done = home.call("run", "--write", "workspace", "--", "true")
    tap.ok("undo" not in done.stderr and "waits" not in done.stderr and not names(home), "nothing changed, nothing said of it", done)
    data = json.loads(home.call("run", "--json", "--write", "workspace", "--", "sh", "-c", "echo 2 > two.txt").stdout)
    tap.ok(data.get("written", {}).get("applied") == ["two.txt"] and data["status"] == "success", "as data", data)


def write_slowly(home, words):
    """A command that changes one file after the other, each when the host has the one before; what it reports."""
    # What is in the layer already is written to at once: however busy the disk, no look finds one of the two without the other.
    script = ": >> all.txt; for i in 1 2 3; do echo $i >> all.txt; echo $i > $i.txt; read line; done"
    with subprocess.Popen([AISBX, *words, "sh", "-c", script], cwd=home.work, env=home.env, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        for number in (1, 2):
            until(lambda number=number: os.path.exists(f"{home.work}/{number}.txt") or child.poll() is not None)
            child.stdin.write("\n")
            child.stdin.flush()
        return child.communicate("\n", timeout=patience(60))


def test_all_promotions(home):
    """What was written while a command ran is reported with what was written at its end, and all of it leads back."""
    home.put("all.txt", "0\n")
    home.call("create", "other")
    home.call("exec", "other", "--write", "workspace", "--", "sh", "-c", "echo o > other.txt")
    for words in (["run", "--write", "workspace", "--"], ["exec", "other", "--write", "workspace", "--"]):
        _, err = write_slowly(home, words)
        line, = [line for line in err.splitlines() if line.startswith("aisbx: wrote ") or line.startswith("wrote ")]
        undo = line.split("back with: ")[1]
        tap.ok(undo.count("aisbx undo ") == 3 and "wrote 6 changes" in line, f"{words[0]}: three promotions are named", err)
        subprocess.run(undo.replace("aisbx", AISBX), shell=True, cwd=home.work, env=home.env, check=False, capture_output=True)
        tap.equal((home.read("all.txt"), sorted(os.listdir(home.work))), ("0\n", ["all.txt", "other.txt"]), f"{words[0]}: and undone together")
    data = json.loads(write_slowly(home, ["run", "--json", "--write", "workspace", "--"])[0])
    tap.equal([row["paths"] for row in data["written"]["promotions"]], [[f"{number}.txt", "all.txt"] for number in (3, 2, 1)], "as data, too")
    home.call("rm", "other")


def test_scanned(home):
    """A run that aisbx-full takes over leaves the sandbox of neither program behind."""
    for scan in ("warn", "enforce"):
        for script, is_run in (("echo 1 > a.txt", True), (": || rm -rf /", scan == "warn"), ("exit 3", True)):
            done = home.call("run", "--write", "workspace", "--scan", scan, "--", "sh", "-c", script)
            tap.ok((done.returncode != 125) == is_run and not names(home), f"--scan {scan}, {script}: no sandbox stays", (done, names(home)))


def test_waits(home):
    home.put("src/a.c", "int a;\n")
    before = home.tree()
    script = ("echo 'int b;' > src/a.c; echo 'all:; touch pwned' > src/Makefile; mkdir -p .git/hooks src/sub; echo x > .git/hooks/pre-commit;"
              "chmod +x .git/hooks/pre-commit; echo 'touch pwned' > .envrc; echo fine > src/sub/fine; echo out > $HOME/.bashrc; echo o > /tmp/o")
    done = home.call("run", "--write", "workspace", "--", "sh", "-c", script)
    tap.equal((home.read("src/a.c"), home.read("src/sub/fine")), ("int b;\n", "fine\n"), "what needs nobody's word is written")
    for path in ("src/Makefile", ".envrc", ".git/hooks/pre-commit"):
        tap.ok(not os.path.exists(f"{home.work}/{path}"), f"{path}, which makes something run, is not", done)
    tap.ok("src/Makefile (" in done.stderr and ".envrc (" in done.stderr, "but listed", done)
    tap.ok(not os.path.exists(home.path + "/.bashrc"), "nothing outside the workspace is ever written")
    name, = names(home)
    tap.ok(name in done.stderr, "the sandbox that holds it is named", done)
    home.call("promote", name, "src/Makefile", "--allow-path", "src/Makefile")
    tap.ok("pwned" in home.read("src/Makefile"), "a person's word lets it through")
    home.call("rm", name)
    tap.ok(len(before) < len(home.tree()), "the control: the host did change")


def test_conflict(home):
    home.put("a.txt", "base\n")
    home.call("create", "box")
    home.call("exec", "box", "--", "sh", "-c", "echo inside > a.txt")
    home.put("a.txt", "outside\n")
    done = home.call("exec", "box", "--write", "workspace", "--", "sh", "-c", "echo b > b.txt")
    tap.equal((home.read("a.txt"), home.read("b.txt")), ("outside\n", "b\n"), "what the host changed too is never overwritten")
    tap.ok("a.txt (changed on the host, too)" in done.stderr and done.returncode == 0, "but told", done)
    tap.equal(home.call("exec", "box", "--", "cat", "a.txt").stdout, "inside\n", "and stays in the sandbox")


def test_ignored(home):
    subprocess.run(["git", "init", "-q", "."], cwd=home.work, env=home.env, check=True)
    home.put(".gitignore", "node_modules\n*.o\n")
    done = home.call("run", "--write", "workspace", "--", "sh", "-c",
                     "mkdir -p node_modules/x src; echo 1 > node_modules/x/i.js; echo 1 > src/a.o; echo 1 > src/a.c; echo all: > src/Makefile")
    tap.equal((home.read("src/a.c"), sorted(os.listdir(home.work + "/src")), os.path.exists(home.work + "/node_modules")), ("1\n", ["a.c"], False),
              f"what git ignores is left out, also beside what waits ({done.stderr.strip()})")


def repository(home):
    subprocess.run(["git", "init", "-q", "."], cwd=home.work, env=home.env, check=True)
    home.put(".gitignore", "*.o\n*.log\n*.gz\n")
    home.put("d/t", "tracked\n")
    home.put("d/keep.log", "keep\n")
    subprocess.run(["git", "add", "."], cwd=home.work, env=home.env, check=True)


def test_ignored_stays(home):
    """Nothing that a command does to an ignored file reaches the host, by whatever change beside it."""
    repository(home)
    done = home.call("run", "--write", "workspace", "--", "sh", "-c", "chmod 700 d; rm d/keep.log; mkdir e; echo x > e/x.o")
    tap.equal((home.read("d/keep.log"), os.path.exists(home.work + "/e/x.o")), ("keep\n", False), "an ignored file is neither deleted nor made")
    tap.equal(os.stat(home.work + "/d").st_mode & 0o777, 0o700, "the directory beside it is changed: the control")
    tap.ok("left out 3 changes that git ignores" in done.stderr, "they are named, with the directory of one alone", done)
    home.call("run", "--write", "workspace", "--", "mv", "d/keep.log", "d/keep.txt")
    tap.equal((home.read("d/keep.log"), home.read("d/keep.txt")), ("keep\n", "keep\n"), "renamed to another name it stays, too")
    home.call("run", "--write", "workspace", "--", "rm", "-r", "d")
    tap.equal(os.listdir(home.work + "/d"), ["keep.log"], "and where its directory goes")


def test_own_rules(home):
    """What git ignores is the host's to say: an edit of the rules waits, and counts in no later round."""
    repository(home)
    home.call("create", "box")
    done = home.call("exec", "box", "--write", "workspace", "--", "sh", "-c", "echo '*.o' > .gitignore; echo '*.c' > d/.gitignore; echo x > new.log; echo 1 > a.c")
    tap.equal((home.read(".gitignore"), home.read("a.c"), os.path.exists(home.work + "/d/.gitignore")), ("*.o\n*.log\n*.gz\n", "1\n", False), "rules are not written by themselves")
    tap.ok(".gitignore (decides what git ignores)" in done.stderr, "but told", done)
    home.call("exec", "box", "--write", "workspace", "--", "sh", "-c", "echo 2 > b.c")
    tap.equal((os.path.exists(home.work + "/new.log"), home.read("b.c")), (False, "2\n"), "and reveal nothing later")
    home.call("promote", "box", ".gitignore")
    tap.equal(home.read(".gitignore"), "*.o\n", "until a person promotes them")


def test_rules_moved(home):
    """Nor are they taken away: a directory goes with its rules when a person says so, and until then they hold."""
    file, nested = "sub/.gitignore", "sub/.git/info/exclude"
    for rules, script in ((file, "mv sub sub2"), (file, "rm -r sub"), (file, "mkdir up; mv sub up"), (file, "mv sub/.gitignore moved"),
                          (nested, "mv sub sub2"), (nested, "rm -r sub"), (nested, "mv sub/.git moved"), (nested, "mv sub/.git/info moved"),
                          (nested, "rm -r sub/.git"), (nested, "rm sub/.git/info/exclude"), (nested, "echo x > sub/.git/info/exclude")):
        repository(home)
        subprocess.run(["git", "init", "-q", "sub"] if rules == nested else ["true"], cwd=home.work, env=home.env, check=True)
        home.put(rules, "*.env\n")
        home.put("sub/a.txt", "a\n")
        home.call("create", "box")
        child = subprocess.Popen([AISBX, "exec", "box", "--write", "workspace", "--", "sh", "-c",
                                  f"{script}; echo 1 > mark.txt; read line; mkdir -p sub; echo PLANTED > sub/x.env; echo 2 > mark.txt"],
                                 cwd=home.work, env=home.env, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        until(lambda: os.path.exists(home.work + "/mark.txt") or child.poll() is not None)
        child.communicate("\n", timeout=patience(60))
        tap.equal((home.read(rules), os.path.exists(home.work + "/sub/x.env"), home.read("mark.txt")), ("*.env\n", False, "2\n"),
                  f"{script}: the host's {rules} holds, and nothing it names is written")
        home.call("rm", "box")
        subprocess.run(["find", home.work, "-mindepth", "1", "-delete"], check=True)


ROUNDS = int(os.environ.get("AISBX_ROUNDS") or 10)
# What makes a directory a repository, and what can be done to it.
NEEDED = ("HEAD", "objects", "refs", "info", "config", "info/exclude", "")
DONE_TO = {"removed": "rm -r {0}", "a file": "rm -r {0}; echo garbage > {0}", "a directory": "rm -r {0}; mkdir {0}",
           "a link": "rm -r {0}; ln -s /nowhere {0}", "a fifo": "rm -r {0}; mkfifo {0}", "shut": "chmod u-rwx {0}", "moved": "mv {0} sub/away"}


def git_data(home):
    """What git needs to read a repository, as the host has it: commands may delete objects and refs."""
    return {path: (about[0], about[2]) for path, about in home.tree().items()
            if path.startswith(b"sub/.git/") and path[9:] in (b"HEAD", b"config", b"info", b"info/exclude", b"objects", b"refs")}


def test_repository_stays(home):
    """Nothing a command does to a nested repository ends its rules on the host, in this round or the next."""
    seed = int(os.environ.get("AISBX_SEED") or random.randrange(1 << 30))
    cases = [(name, what) for name in NEEDED for what in DONE_TO]
    print(f"# AISBX_SEED={seed}", flush=True)
    subprocess.run(["git", "init", "-q", "."], cwd=home.work, env=home.env, check=True)
    for name, what in [("HEAD", "a directory")] + random.Random(seed).sample(cases, ROUNDS):
        subprocess.run(["git", "init", "-q", "sub"], cwd=home.work, env=home.env, check=True)
        home.put("sub/.git/info/exclude", "*.one\n")
        home.put("sub/.gitignore", "*.two\n")
        before = git_data(home)
        home.call("create", "box")
        for number in (1, 2):
            act = DONE_TO[what].format(f"sub/.git/{name}".rstrip("/")) if number == 1 else "true"
            home.call("exec", "box", "--write", "workspace", "--", "sh", "-c",
                      f"{act}; for end in one two txt; do echo PLANTED > sub/{number}.$end; done")
        found = [path for path in os.listdir(home.work + "/sub") if path.endswith((".one", ".two"))]
        tap.ok(not found and git_data(home) == before, f".git/{name}, {what}: the host's rules hold, its repository stays", found)
        home.call("rm", "box")
        subprocess.run(["rm", "-r", home.work + "/sub"], check=True)


OBJECTS_SPOILED = {"removed": "rm -rf .git/objects/??", "cut": "chmod u+w .git/objects/??/*; for f in .git/objects/??/*; do : > $f; done",
                   "moved": "for d in .git/objects/??; do mv $d .git/objects/away-${d##*/}; done", "without refs": "rm -rf .git/refs/*",
                   "without logs": "rm -rf .git/logs", "without HEAD": "rm .git/HEAD", "without an index": "rm .git/index",
                   "packed": "git gc -q --prune=now"}


def test_objects_stay(home):
    """No command costs the host its history without a person's word; commits made inside arrive all the same."""
    repository(home)
    env = home.env | {"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "a",
                      "GIT_CONFIG_KEY_1": "user.email", "GIT_CONFIG_VALUE_1": "a@example.org"}
    home.put("a.txt", "1\n")
    for words in (["add", "."], ["commit", "-qm", "one"]):
        subprocess.run(["git", *words], cwd=home.work, env=env, check=True)
    before = {path: about for path, about in home.tree().items() if path.startswith(b".git/") and
              os.path.isfile(os.path.join(os.fsencode(home.work), path))}
    for what, script in OBJECTS_SPOILED.items():
        done = home.call("run", "--write", "workspace", "--", "sh", "-c", f"{script}; echo {what} > mark.txt")
        found = subprocess.run(["git", "fsck", "--full", "--strict"], cwd=home.work, env=env, capture_output=True, text=True, check=False)
        tap.ok(found.returncode == 0 and home.read("mark.txt") == what + "\n", f"objects {what}: the host's repository is whole", found)
        tap.ok("waits for your word: .git/" in done.stderr, f"objects {what}: which is said", done)
        now = home.tree()
        gone = [path for path in before if path not in now or now[path][0] != before[path][0]]
        # Refs that are packed are no more files of their own.
        tap.ok(not gone or what == "packed", f"objects {what}: nothing of git's is gone", gone)
        home.call("rm", *names(home))
    home.call("run", "--write", "workspace", "--", "sh", "-c", "git -c user.name=a -c user.email=a@b commit -qm two --allow-empty")
    tap.equal(subprocess.run(["git", "log", "--format=%s"], cwd=home.work, env=env, capture_output=True, text=True, check=False).stdout.split()[:2],
              ["two", "one"], "a new commit is written")
    home.call("run", "--write", "workspace", "--", "sh", "-c", "for l in .git/logs/HEAD .git/logs/refs/heads/*; do n=$(stat -c %s $l); "
              "head -c $n /dev/zero | tr '\\0' x > $l; done; git update-ref HEAD HEAD~1")
    for words in (["HEAD"], ["--branches"]):
        found = subprocess.run(["git", "reflog", "--format=%s", *words], cwd=home.work, env=env, capture_output=True, text=True, check=False)
        tap.ok("two" in found.stdout.split(), f"a log that is written over waits, and still names the commit ({words[0]})", found)


def test_undone(home):
    """What a person took back is not written again by itself."""
    home.call("create", "box")
    home.call("exec", "box", "--write", "workspace", "--", "sh", "-c", "echo 1 > a.txt")
    home.call("undo")
    done = home.call("exec", "box", "--write", "workspace", "--", "sh", "-c", "echo 2 >> a.txt; echo b > b.txt")
    tap.equal((os.path.exists(home.work + "/a.txt"), home.read("b.txt")), (False, "b\n"), "an undo holds for the commands behind it")
    tap.ok("a.txt (was taken back)" in done.stderr, "which name what waits", done)
    home.call("promote", "box", "a.txt", "--strategy", "theirs")
    tap.equal(home.read("a.txt"), "1\n2\n", "until a person promotes it")


def test_ignored_moved(home):
    """A renamed directory is written whole or not at all: not where something ignored in it changed, too."""
    repository(home)
    before = home.tree()
    for script in ("mv d e; rm e/keep.log", "mv d e; echo x > e/keep.log"):
        done = home.call("run", "--write", "workspace", "--", "sh", "-c", script)
        tap.equal((home.read("d/keep.log"), os.path.exists(home.work + "/e/keep.log")), ("keep\n", False), f"{script}: an ignored file is as it was")
        tap.ok("that git ignores" in done.stderr and len(names(home)) == 1, f"{script}: and said to be left", done)
        home.call("rm", *names(home))
        home.call("undo")
        tap.equal(home.tree(), before, f"{script}: as before")


def test_ignored_kept(home):
    """What is in the sandbox only is there as long as it is not decided about."""
    repository(home)
    home.put("notes.txt", "notes\n")
    done = home.call("run", "--write", "workspace", "--", "gzip", "notes.txt")
    tap.ok("notes.txt.gz" in done.stderr and "--ignored" in done.stderr, "what git ignores is named, with the way to get it", done)
    name, = names(home) or {""}
    tap.ok(name and name in done.stderr, "the sandbox that has it stays", done)
    home.call("promote", name, "--ignored")
    tap.equal(subprocess.run(["gzip", "-dc", "notes.txt.gz"], cwd=home.work, capture_output=True, check=False).stdout, b"notes\n", "and gives it")
    home.call("rm", name)
    data = json.loads(home.call("run", "--json", "--write", "workspace", "--", "sh", "-c", "echo 1 > a.o; echo 1 > a.c").stdout)["written"]
    tap.equal((data["ignored"], data["ignored_at"], data["applied"], {data["sandbox"]}), (1, ["a.o"], ["a.c"], names(home)), "as data")


def test_whole(home):
    """Directories that go leave nothing behind; a name that looks like a pattern is a name."""
    home.put("dd/ee/f", "x")
    home.put("dd/g", "x")
    home.put("*", "star")
    home.put("dd.txt", "stays")
    home.call("run", "--write", "workspace", "--", "sh", "-c", "rm -r dd; rm './*'; echo all: > Makefile")
    tap.equal(sorted(os.listdir(home.work)), ["dd.txt"], "all that went is gone, and nothing else")
    home.put("b/Makefile", "all:\n")
    home.put("a", "a\n")
    home.put("c/f", "c\n")
    before = home.tree()
    home.call("run", "--write", "workspace", "--", "sh", "-c", "mv a .envrc; rm -r c; ln -s /etc/passwd c; ln .envrc twin")
    tap.equal(home.tree(), before, "what a waiting change replaces, or is another name of, waits with it")
    home.call("run", "--write", "workspace", "--", "sh", "-c", "mv b m; echo evil: > m/Makefile; echo 1 > one")
    tap.equal((home.read("b/Makefile"), os.path.exists(home.work + "/m/Makefile"), home.read("one")), ("all:\n", False, "1\n"),
              "a renamed directory with something that waits in it")


def test_earlier(home):
    """What waits from an earlier command goes on waiting, whatever a later one writes."""
    home.put("a.txt", "a\n")
    home.call("create", "box")
    home.call("exec", "box", "--", "sh", "-c", "echo all: > Makefile; echo e > early.txt")
    for number in (1, 2):
        done = home.call("exec", "box", "--write", "workspace", "--", "sh", "-c", f"echo {number} > a.txt")
        tap.equal((home.read("a.txt"), home.read("early.txt"), os.path.exists(home.work + "/Makefile")), (f"{number}\n", "e\n", False),
                  f"only what needs no consent is written ({number})")
        tap.ok("Makefile (" in done.stderr, f"the other is named again ({number})", done)
    home.call("promote", "box", "--allow-path", "Makefile")
    tap.equal(home.read("Makefile"), "all:\n", "a person's word lets it through")


def test_names(home):
    """Names that are no UTF-8, begin with a dash, hold a newline or only begin alike."""
    script = "printf x > \"$(printf 'a\\377b')\"; printf x > ./-n; printf x > \"$(printf 'two\\nlines')\"; mkdir d d.x; printf x > d.x/f; printf x > d/f; echo all: > d/Makefile"
    home.call("run", "--write", "workspace", "--", "sh", "-c", script)
    found = sorted(os.path.relpath(os.path.join(top, name), os.fsencode(home.work)) for top, _, files in os.walk(os.fsencode(home.work)) for name in files)
    tap.equal(found, sorted([b"a\xffb", b"-n", b"two\nlines", b"d.x/f", b"d/f"]), "all but the one that waits")


def test_while(home):
    """What a command wrote is on the host before it ends, once its files are quiet."""
    for words in (("exec", "box", "--write", "workspace"), ("run", "--write", "workspace")):
        home.call("create", "box")
        name = words[0] + ".txt"
        child = subprocess.Popen([AISBX, *words, "--", "sh", "-c", f"echo first > {name}; read line; echo $line > {name}"], cwd=home.work,
                                 env=home.env, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        until(lambda: os.path.exists(f"{home.work}/{name}") or child.poll() is not None)
        tap.equal((home.read(name), child.poll()), ("first\n", None), f"{words[0]}: written while it runs")
        child.communicate("second\n", timeout=patience(60))
        tap.equal((home.read(name), child.returncode), ("second\n", 0), f"{words[0]}: and what came later at its end")
        home.call("rm", "box")


def test_never_bound(home):
    """Whatever is mounted inside, it is not the host's tree: writing there is seen by nobody before the promotion."""
    home.put("a.txt", "host\n")
    def look(*flags):
        return home.call("run", *flags, "--", "sh", "-c", "stat -c %d:%i a.txt; grep -c . /proc/self/mountinfo; echo in > a.txt; echo in > a.txt").stdout
    home.call("exec", "none", "--", "true")
    plain, written = look().split("\n"), look("--write", "workspace").split("\n")
    tap.equal(written[1], plain[1], "as many mounts as without --write")
    host = os.stat(home.work + "/a.txt")
    tap.ok(written[0] != f"{host.st_dev}:{host.st_ino}", "and not the host's file", (written, plain))
    home.call("undo")
    child = subprocess.Popen([AISBX, "run", "--write", "workspace", "--", "sh", "-c", "echo in > a.txt; echo ready; read x; echo host > a.txt"],
                             cwd=home.work, env=home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    child.stdout.readline()
    tap.equal(home.read("a.txt"), "host\n", "a write is not on the host when it is made")
    child.communicate("\n", timeout=patience(60))


def test_refusals(home):
    home.call("create", "box")
    for words, code in ((("run", "--write", "host", "--", "true"), 125), (("exec", "box", "--write", "all", "--", "true"), 125),
                        (("exec", "box", "-d", "--write", "workspace", "--", "true"), 125),
                        (("run", "--write", "workspace", "--batch", "-"), 125), (("exec", "none", "--write", "workspace", "--", "true"), 125)):
        done = home.call(*words)
        tap.ok(refused(done, code, ""), f"{words} is refused", done)


def test_hook(home):
    home.put("a.txt", "one\n")
    def hook(tool, given):
        sent = {"session_id": "w", "cwd": home.work, "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": given}
        return json.loads(home.call("hook", "claude-code", "--write", "workspace", stdin=json.dumps(sent)).stdout)["hookSpecificOutput"]
    line = hook("Bash", {"command": "echo two > a.txt; echo all: > Makefile"})["updatedInput"]["command"]
    done = subprocess.run(["bash", "-c", line], cwd=home.work, env=home.env, capture_output=True, text=True, check=False)
    tap.equal((home.read("a.txt"), os.path.exists(home.work + "/Makefile")), ("two\n", False), "a session's commands write through")
    tap.ok("Makefile" in done.stderr, "and the agent reads what waits", done)
    hook("Write", {"file_path": home.work + "/b.txt", "content": "b\n"})
    tap.equal(home.read("b.txt"), "b\n", "so do its files")


with Home("write-") as probe:
    if probe.can_run(tap, "write"):
        for test in (test_run, test_all_promotions, test_scanned, test_repository_stays, test_objects_stay, test_waits, test_conflict, test_ignored, test_ignored_stays, test_ignored_moved, test_ignored_kept, test_own_rules, test_rules_moved, test_undone, test_whole, test_earlier,
                     test_names, test_while, test_never_bound, test_refusals, test_hook):
            with Home("write-") as home:
                test(home)
sys.exit(tap.done())
