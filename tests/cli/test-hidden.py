#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is hidden stays hidden, in every view: patterns by place and kind, inside, from outside, and when applied.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a home of its own. The names are chosen at random:
AISBX_SEED repeats a choice, AISBX_ROUNDS makes more of them.
"""

import json
import os
import shutil
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from chance import seed_of  # noqa: E402
from clitest import AISBX, Home, Tap, remove_home  # noqa: E402

tap = Tap()
SEED = seed_of("hidden")
ROUNDS = int(os.environ.get("AISBX_ROUNDS") or 2)
TOGETHER_ROUNDS = 8 * ROUNDS
chance = random.Random(SEED)

# Pattern, what matches, what does not. The first letters sort before and after the star.
PATTERNS = [
    ("*.pem", ["server.pem", "!odd.pem", "a b.pem", "-x.pem"], ["server.pem.txt", "pem"]),
    (".env.*", [".env.local", ".env.*"], [".envrc", "env.x"]),
    ("*_key", ["host_key", "+_key"], ["host_key.pub"]),
    ("id_*", ["id_rsa", "id_"], ["idle"]),
    (".tok*", [".token", ".tok"], [".to"]),
    ("*", ["anything", ".hidden"], []),
]
PLACES = ["", "keys", "deep/er", "[ab]"]
SECRET = "SECRET-of-the-host"


def make_hidden(home, kind, path):
    """Something of that kind at PATH that holds the secret."""
    if kind == "directory":
        home.put(path + "/below", SECRET + "\n")
    elif kind == "link":
        home.put("plain-target", "no secret\n")
        os.makedirs(os.path.dirname(os.path.join(home.work, path)), exist_ok=True)
        os.symlink("/etc/hostname", os.path.join(home.work, path))
    elif kind == "program":
        home.put(path, f"#!/bin/sh\necho {SECRET}\n", 0o755)
    else:
        home.put(path, SECRET + "\n")


def choose(place):
    """One pattern for a place: (pattern, hidden names with their kinds, visible names)."""
    pattern, hidden, seen = chance.choice(PATTERNS[:-1] if place == "" else PATTERNS)
    kinds = [chance.choice(["file", "file", "directory", "program", "link"]) for _ in hidden]
    join = (lambda name: f"{place}/{name}" if place else name)
    return join(pattern), [(kind, join(name)) for kind, name in zip(kinds, hidden)], [join(name) for name in seen]


# Every way for a program to meet a name; prints what it met.
PROBE = """
import json, os, subprocess, sys
for path in sys.argv[1:]:
    met = []
    for how, call in (("stat", lambda: os.lstat(path)), ("open", lambda: open(path).read()),
                      ("link", lambda: os.readlink(path)), ("below", lambda: open(path + "/below").read()),
                      ("exec", lambda: subprocess.run(["./" + path], check=True, capture_output=True))):
        try:
            call()
            met.append(how)
        except (OSError, subprocess.SubprocessError):
            pass
    if os.path.basename(path) in os.listdir(os.path.dirname(path) or "."):
        met.append("readdir")
    print(json.dumps([path, met]))
"""


def allowed(kind):
    """A hidden directory is an empty one."""
    return {"stat", "readdir"} if kind == "directory" else set()


def look_inside(home, name, hidden, seen, what):
    done = home.call("exec", name, "--", "python3", "-c", PROBE, *[path for _, path in hidden], *seen)
    met = {path: set(how) for path, how in map(json.loads, done.stdout.splitlines())}
    wrong = {path: sorted(met.get(path, {"nothing"})) for kind, path in hidden if met.get(path, {"?"}) - allowed(kind)}
    tap.ok(not wrong, f"{what}: nothing hidden is met inside", wrong or done)
    tap.ok(all("open" in met.get(path, ()) for path in seen), f"{what}: what no pattern names is seen", (met, done.stderr))


def look_from_outside(home, name, hidden, what):
    """Each hidden path by every verb that reads for a caller outside."""
    leaks = []
    for kind, path in hidden:
        for target in [path] + ([path + "/below"] if kind == "directory" else []):
            for words in (["artifact", "save", name, target], ["files", "read", name, target]):
                done = home.call(*words, "--json")
                if done.returncode == 0 or SECRET in done.stdout:
                    leaks.append((words, done.stdout))
            copy = os.path.join(home.path, "copied")
            done = home.call("cp", f"{name}:{target}", copy)
            if os.path.isfile(copy) and SECRET in home.read(copy):
                leaks.append(("cp", target))
    tap.ok(not leaks, f"{what}: no verb reads what is hidden", leaks)


def host_has_all(home, hidden):
    missing = [path for _, path in hidden if not os.path.lexists(os.path.join(home.work, path))]
    return missing + [path for kind, path in hidden if kind == "directory" and SECRET not in home.read(path + "/below")]


def test_round(number):
    with Home("aisbx-hidden-") as home:
        places = chance.sample(PLACES, 3)
        chosen = [choose(place) for place in places]
        hidden = [one for _, some, _ in chosen for one in some]
        seen = [name for _, _, some in chosen for name in some]
        flags = [word for pattern, _, _ in chosen for word in ("--hide", pattern)]
        what = f"{number}: " + " ".join(pattern for pattern, _, _ in chosen)
        for kind, path in hidden:
            make_hidden(home, kind, path)
        for path in seen:
            home.put(path, "seen\n")
        tap.equal(home.call("create", "h", *flags).returncode, 0, f"{what}: created")
        spec = json.loads(home.call("plan", "--json", *flags, "--", "true").stdout or "{}")
        tap.ok(all(any(mask["kind"] == "glob" and mask["path"].endswith("/" + pattern) for mask in spec.get("masks", []))
                   for pattern, _, _ in chosen), f"{what}: plan lists the patterns", spec.get("masks"))
        tap.ok(all(any(f"/{pattern}: " in note for note in spec.get("notes", [])) for pattern, _, _ in chosen),
               f"{what}: and the gap they leave", spec.get("notes"))
        look_inside(home, "h", hidden, seen, what)
        look_from_outside(home, "h", hidden, what)
        # The sandbox removes what it sees of each place, and writes a file of its own where something is hidden.
        for place in places:
            home.call("exec", "h", "--", "sh", "-c", 'rm -rf -- "$1"/* "$1"/.[!.]*; [ "$1" = . ] || rm -rf -- "$1"', "sh",
                      place or ".")
        diff = home.call("diff", "h")
        listed = [row.get("path") for row in home.rows("diff", "h")]
        names = [path for _, path in hidden] + [path + "/below" for kind, path in hidden if kind == "directory"]
        tap.ok(SECRET not in diff.stdout and not set(names) & set(listed),
               f"{what}: diff shows nothing hidden as removed", (diff.stdout, listed))
        agreed = [word for path in listed for word in ("--allow-path", path)]
        done = home.call("promote", "h", *agreed)
        tap.ok(not host_has_all(home, hidden), f"{what}: a promotion removes nothing hidden", (host_has_all(home, hidden), done))
        home.call("promote", "h", *agreed, "--strategy", "theirs")
        tap.ok(not host_has_all(home, hidden), f"{what}: whatever the strategy", host_has_all(home, hidden))
        tap.ok(not any(os.path.lexists(os.path.join(home.work, path)) for path in seen)
               or done.returncode != 0, f"{what}: what was seen and removed goes, or is told", done)


def test_own_file(home):
    """The sandbox's own file under a hidden name is no change of the hidden one, and never replaces it unasked."""
    home.put("keys/x.pem", SECRET + "\n")
    home.call("create", "own", "--hide", "keys/*.pem")
    home.call("exec", "own", "--", "sh", "-c", "mkdir -p keys; echo mine > keys/x.pem")
    diff = home.call("diff", "own", "--patch")
    tap.ok(SECRET not in diff.stdout + diff.stderr, "a file of its own under a hidden name: no content of the host's", diff)
    tap.equal(home.call("promote", "own", "--allow-path", "keys/x.pem").returncode, 3, "promoting it is a conflict")
    tap.equal(home.read("keys/x.pem"), SECRET + "\n", "and the hidden file stays")


def test_later(home):
    """What the host makes under a hidden name while a sandbox lives is hidden from the next command."""
    flags = ["--hide", "*.pem", "--hide", "sub/*.key", "--hide", "none/yet/*"]
    look = "cat new.pem sub/new.key none/yet/x kept/x.pem; ls -A . sub; echo done"
    home.put("sub/seen", "x\n")
    home.put("kept/x.pem", "seen\n")
    home.call("create", "later", *flags)
    home.call("exec", "later", "--", "true")
    for name in ("new.pem", "sub/new.key", "none/yet/x"):
        home.put(name, SECRET + "\n")
        done = home.call("exec", "later", "--", "sh", "-c", look)
        listed = done.stdout.split("\n")
        tap.ok(SECRET not in done.stdout and listed[-2:-1] == ["done"] and os.path.basename(name) not in listed
               and "seen" in listed, f"{name}, made later, is hidden from the next command", done)
    home.call("exec", "later", "--", "touch", "/dev/shm/mark")
    done = home.call("exec", "later", "--", "test", "-e", "/dev/shm/mark")
    tap.equal(done.returncode, 0, "with nothing new the sandbox lives on")
    home.call("exec", "-d", "later", "--", "sleep", "300")
    home.put("second.pem", SECRET + "\n")
    done = home.call("exec", "later", "--", "echo", "runs")
    tap.ok(done.stdout == "runs\n" and "was made after" in done.stderr and "aisbx stop later" in done.stderr,
           "with processes alive, which see it, the command runs, and what hides the file is named", done)
    home.call("stop", "later")
    done = home.call("exec", "later", "--", "sh", "-c", "cat second.pem; echo done")
    tap.equal(done.stdout, "done\n", "and then it runs, without the file")
    # Root's mask layers are kept between runs; time enough for that to happen.
    for name in ("third.pem", "fourth.pem"):
        time.sleep(2.1)
        home.call("run", "--hide", "*.pem", "--", "true")
        home.put(name, SECRET + "\n")
        done = home.call("run", "--hide", "*.pem", "--", "sh", "-c", f"cat {name}; echo done")
        tap.equal(done.stdout, "done\n", f"{name}, made between two runs, is hidden from the second")


def test_tools_later():
    """A credential of a tool that appears between two commands, however its directory came to be, is hidden from the next one."""
    def write(home, name):
        home.put(f"{home.path}/.pyenv/versions/{name}", SECRET + "\n")

    def swap(home):
        """Another directory under the name of one that was looked into."""
        write(home, "../fresh/pip.conf")
        os.rename(home.path + "/.pyenv/versions/two", home.path + "/.pyenv/old")
        os.rename(home.path + "/.pyenv/fresh", home.path + "/.pyenv/versions/two")

    for what, act in (("in a directory that is there", lambda home: write(home, "one/pip.conf")),
                      ("two new directories deep", lambda home: write(home, "one/envs/e/pip.conf")),
                      ("in a new directory beside it", lambda home: write(home, "three/.condarc")),
                      ("in a directory that is replaced", swap),
                      ("behind a link to nowhere", lambda home: write(home, "../away/pip.conf"))):
        with Home("aisbx-hidden-") as home:
            for name in ("one", "two"):
                home.put(f"{home.path}/.pyenv/versions/{name}/seen", "seen\n")
            os.symlink("../away", home.path + "/.pyenv/versions/linked")
            home.call("create", "a")
            home.call("exec", "a", "--", "true")
            # Behind the moment of the start the note alone decides, not the doubt about equal stamps.
            time.sleep(0.1)
            home.call("exec", "a", "--", "touch", "/dev/shm/mark")
            tap.equal(home.call("exec", "a", "--", "test", "-e", "/dev/shm/mark").returncode, 0, f"{what}: nothing came, it lives on")
            act(home)
            done = home.call("exec", "a", "--", "sh", "-c", "cd ~/.pyenv; cat versions/one/seen; cat versions/*/pip.conf"
                             " versions/*/.condarc versions/*/envs/*/pip.conf")
            tap.equal(done.stdout, "seen\n", f"{what}: it is hidden from the next command")


def test_tools_coarse():
    """The same on a filesystem that counts in seconds, all within one of them."""
    what = "on a filesystem that counts in seconds"
    with Home("aisbx-hidden-") as home:
        image, top = home.path + "/image", home.path + "/.pyenv"
        os.makedirs(top)
        with open(image, "wb") as out:
            out.truncate(8 << 20)
        made = os.geteuid() == 0 and shutil.which("mkfs.ext4") and all(
            subprocess.run(words, capture_output=True, check=False).returncode == 0
            for words in (["mkfs.ext4", "-q", "-I", "128", image], ["mount", "-o", "loop", image, top]))
        if not made:
            tap.skip(what, "needs root, mkfs.ext4 and loop devices")
            return
        try:
            where = top + "/versions/one"
            os.makedirs(where)
            for number in range(20):
                time.sleep(1 - time.time() % 1)
                began = int(time.time())
                home.put(where + "/seen", "seen\n")
                home.call("create", f"c{number}")
                home.call("exec", f"c{number}", "--", "true")
                home.put(where + "/pip.conf", SECRET + "\n")
                if int(os.stat(where).st_ctime) == began and int(time.time()) == began:
                    break
                os.unlink(where + "/pip.conf")
                os.unlink(where + "/seen")
            else:
                tap.skip(what, "this machine was too busy to start a sandbox within a second")
                return
            time.sleep(1.5)
            done = home.call("exec", f"c{number}", "--", "sh", "-c", "cd ~/.pyenv/versions/one; cat seen pip.conf")
            tap.equal(done.stdout, "seen\n", f"{what}: it is hidden from the next command")
        finally:
            home.call("rm", "--all", "--yes")
            subprocess.run(["umount", "-l", top], check=False)


def while_running(home, script, act, *words, argv=()):
    """What SCRIPT prints after ACT was done on the host while it ran: it prints a line, and waits for one."""
    line = [*argv, AISBX, *words, "--", "sh", "-c", "echo ready; read go; " + script]
    with subprocess.Popen(line, cwd=home.work, env=home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as child:
        ready = child.stdout.readline()
        act()
        rest, _ = child.communicate("go\n", timeout=300)
        return ready + rest


def test_lists():
    """Where a pattern applies in HOME, later entries do not appear; what was there is seen and can be changed."""
    # A plain user's directories in HOME are mounts: what they hold can be changed, their names cannot.
    move = "mv docs d" if os.geteuid() == 0 else "mkdir d; mv docs/x d/x"
    for words, start in ((["run", "--home", "full"], None), (["exec", "l"], ["create", "l", "--home", "full"])):
        with Home("aisbx-hidden-") as home:
            at = (lambda name, home=home: os.path.join(home.path, name))
            for name in (".bashrc", ".claude.json", "docs/x", ".m2/settings.xml", ".m2/seen"):
                home.put(at(name), "old\n")
            os.symlink("docs", at("link"))
            if start:
                home.call(*start)
                home.call("exec", "l", "--", "true")

            def act(home=home, at=at):
                for name in (".claude-new.json", "later", ".m2/settings-new.xml", ".m2/later"):
                    home.put(at(name), SECRET + "\n")
                home.put(at("docs/new"), "new\n")

            out = while_running(home, "cd; cat .bashrc docs/x docs/new link/x .m2/seen; cat .claude* later .m2/*; ls -A . .m2; "
                                f"echo mine >> .bashrc; mv .bashrc b; cat b; {move}; cat d/x; echo done", act, *words)
            lines = out.split("\n")
            tap.ok(SECRET not in out and not {".claude-new.json", "later", "settings-new.xml", ".claude.json"} & set(lines),
                   f"{words[0]}: what the host makes later in a listed directory does not appear", out)
            tap.ok(lines[:6] == ["ready", "old", "old", "new", "old", "old"]
                   and lines[-5:] == ["old", "mine", "old", "done", ""],
                   f"{words[0]}: what was there is seen, live below its directories, and can be changed", out)
            if start:
                done = home.call("exec", "l", "--", "sh", "-c", "cd; cat later; cat .claude* .m2/settings*; ls .m2")
                tap.equal(done.stdout, f"{SECRET}\nlater\nseen\n", "the next command sees the list of then")
                home.call("exec", "-d", "l", "--", "sleep", "300")
                home.put(at(".claude.json.backup"), SECRET + "\n")
                done = home.call("exec", "l", "--", "sh", "-c", "cd; cat .claude*; echo runs")
                tap.ok(done.stdout == "runs\n" and "claude" not in done.stderr.replace(".claude*", ""),
                       "with a process alive it runs, and sees no more", done)
                home.put(at("newest"), "newest\n")
                done = home.call("exec", "l", "--", "sh", "-c", "cd; cat newest 2> /dev/null; echo runs")
                tap.ok(done.stdout == "runs\n" and f"{home.path} has changed" in done.stderr and "aisbx stop l" in done.stderr,
                       "nor a file that is no secret: the directory and what shows its files as they are is named", done)
                home.call("stop", "l")
                done = home.call("exec", "l", "--", "sh", "-c", "cd; cat newest")
                tap.ok(done.stdout == "newest\n" and "has changed" not in done.stderr, "and then it is seen, without a note", done)


KINDS = {"file": "echo {0} > {1}", "directory": "mkdir {1} && echo {0} > {1}/f", "link": "ln -s {0} {1}"}


def test_list_names():
    """Where HOME is a list: a name that both the sandbox and the host made, as any kinds, stays the sandbox's, however large HOME gets."""
    pairs = [(mine, yours) for mine in KINDS for yours in KINDS]
    with Home("aisbx-hidden-") as home:
        os.mkdir(home.path + "/shut", 0)
        home.call("create", "n", "--home", "full")
        inside = [KINDS[mine].format("mine", f"made-{mine}-{yours}") for mine, yours in pairs]
        home.call("exec", "n", "--", "sh", "-c", f"cd; {'; '.join(inside)}; echo work > {home.work}/work")
        outside = [KINDS[yours].format("yours", f"made-{mine}-{yours}") for mine, yours in pairs]
        subprocess.run(["sh", "-c", "; ".join(outside)], cwd=home.path, check=True)
        look = "cd; for f in made-*; do echo $f $(readlink $f || cat $f/f 2> /dev/null || cat $f); done"
        wanted = "".join(sorted(f"made-{mine}-{yours} mine\n" for mine, yours in pairs))
        for what in ("at once", "after a stop", "after a snapshot", "when HOME is large"):
            if what == "when HOME is large":
                for number in range(320):
                    os.mkdir(f"{home.path}/large-{number}")
            home.call(*{"after a snapshot": ["snap", "n"]}.get(what, ["stop", "n"]))
            done = home.call("exec", "n", "--", "sh", "-c", f"export LC_ALL=C; {look}; cat {home.work}/work")
            tap.equal("".join(sorted(done.stdout.splitlines(True)[:-1])) + done.stdout.splitlines(True)[-1:][0]
                      if done.stdout else done.stderr, wanted + "work\n", f"what a sandbox made in HOME stays, {what}")
        done = home.call("promote", "n")
        tap.ok(done.returncode == 0 and home.read("work") == "work\n", "beside a directory that is shut, it is promoted", done)


def test_list_changes():
    """Where HOME is a list: what a sandbox changed stays, however large the host's file gets, and where the host has the directory no longer."""
    with Home("aisbx-hidden-") as home:
        at = (lambda name: os.path.join(home.path, name))
        for name in ("grown.db", "docs/old", "untouched/x", ".m2/sub/old"):
            home.put(at(name), "old\n")
        home.call("create", "n", "--home", "full")
        home.call("exec", "n", "--", "sh", "-c", "cd; echo mine > own.db; echo mine > grown.db; echo mine > docs/work; echo mine > .m2/sub/work")
        for name in ("own.db", "grown.db", "new.db"):
            home.put(at(name), "x" * (3 << 19))
        os.rename(at("docs"), at("documents"))
        os.rename(at(".m2"), at(".m3"))
        subprocess.run(["rm", "-r", at("untouched")], check=True)
        for what in ("stop", "snap", "stop"):
            home.call(what, "n")
            done = home.call("exec", "n", "--", "sh", "-c", "cd; cat own.db grown.db docs/work .m2/sub/work documents/old; wc -c < new.db; ls docs; "
                             "ls -d docs/old untouched; echo more >> own.db; echo more >> docs/work; tail -n 1 own.db docs/work; echo mine > own.db; echo mine > docs/work")
            tap.equal(done.stdout.replace("==> own.db <==", "").replace("==> docs/work <==", "").split(),
                      "mine mine mine mine old 1572864 work more more".split(), f"what a sandbox changed in HOME stays, after {what}")
        for make in (lambda: os.symlink("documents", at("docs")), lambda: home.put(at("docs"), "a file\n")):
            make()
            home.call("stop", "n")
            done = home.call("exec", "n", "--", "sh", "-c", "cd; cat docs/work; ls docs")
            tap.equal(done.stdout, "mine\nwork\n", "whatever else the host has there")
            os.unlink(at("docs"))
        os.mkdir(at("docs"))
        home.put(at("docs/again"), "again\n")
        home.call("stop", "n")
        done = home.call("exec", "n", "--", "sh", "-c", "cd; cat docs/work docs/again")
        tap.equal(done.stdout, "mine\nagain\n", "beside what the host makes there again")


# A copy of /etc in a mount namespace of its own, a command that waits, and a key that is made meanwhile.
ETC = """
set -e
mount -t tmpfs none /mnt
cp -r --no-preserve=ownership /etc /mnt/etc 2> /dev/null || true
mkdir -p /mnt/etc/ssh/sub.d
echo public > /mnt/etc/ssh/x_key.pub; echo below > /mnt/etc/ssh/sub.d/x; echo old > /mnt/etc/ssh/old_key
mount --bind /mnt/etc /etc
mkfifo /mnt/go
: > /mnt/out
"$1" run -- sh -c 'echo ready; read go; cd /etc/ssh; cat x_key.pub sub.d/x; cat *_key; ls -A; echo done' < /mnt/go > /mnt/out &
exec 9> /mnt/go
while ! grep -q ready /mnt/out; do kill -0 $!; sleep 0.1; done
echo SECRET > /etc/ssh/new_key; echo x > /etc/ssh/later
echo go >&9
wait $!
cat /mnt/out
"""


def test_etc_list(home):
    """A directory of /etc with a pattern: host keys made while a command runs do not appear."""
    apart = ["unshare", "-m" if os.geteuid() == 0 else "-Urm", "--propagation", "private"]
    done = subprocess.run([*apart, "sh", "-c", ETC, "sh", AISBX], cwd=home.work, env=home.env, capture_output=True, text=True,
                          check=False, timeout=300)
    lines = done.stdout.split("\n")
    tap.ok(lines[:3] == ["ready", "public", "below"] and lines[-2:] == ["done", ""]
           and not {"SECRET", "new_key", "later", "old_key"} & set(lines) and {"x_key.pub", "sub.d"} <= set(lines),
           "/etc/ssh: a key made while a command runs does not appear, and what was there does", done)


def test_carried():
    """A renamed directory takes nothing hidden along: neither a promotion nor the next command shows it."""
    for what, real, rename, flags, after in (
            ("a file that is named", "a/secret/key", "mv a b", ["--hide", "a/secret/key"], "b/secret/key"),
            ("one that a pattern names", "keys/x.pem", "mv keys k", ["--hide", "keys/*.pem"], "k/x.pem"),
            ("a directory", "a/vault/x", "mv a b", ["--hide", "a/vault"], "b/vault/x"),
            ("a second name of one", "other/alias", "mv other b", ["--hide", "secret"], "b/alias")):
        with Home("aisbx-hidden-") as home:
            home.put(real, SECRET + "\n")
            if "secret" in flags:
                os.link(os.path.join(home.work, real), os.path.join(home.work, "secret"))
            home.put(os.path.dirname(rename.split()[1] + "/x") + "/seen", "seen\n")
            home.call("create", "c", *flags)
            home.call("exec", "c", "--", *rename.split())
            for strategy in ([], ["--strategy", "theirs"]):
                done = home.call("promote", "c", *strategy)
                tap.equal(done.returncode, 3, f"{what}: a promotion of its directory is a conflict {strategy}")
            for words in (["stop", "c"], ["promote", "c", "--strategy", "ours"], ["exec", "c", "--", "true"]):
                home.call(*words)
                done = home.call("exec", "c", "--", "sh", "-c", f"cat {after}; find . -name {os.path.basename(after)}; echo done")
                tap.equal(done.stdout, "done\n", f"{what}: not shown by the next command, after {words[0]}")
            tap.equal(home.read(real), SECRET + "\n", f"{what}: and the host's stays")


def test_tokens():
    """The token of an HTTP server is in HOME: no sandbox sees it, however much of HOME it sees."""
    for what, flags, runtime in (("home: full", ["--home", "full"], None), ("HOME as workspace", ["-C", "HOME"], None),
                                 ("a runtime directory in the workspace", [], "run")):
        with Home("aisbx-hidden-") as home:
            base = os.path.join(home.work, runtime) if runtime else home.path
            env = {"XDG_RUNTIME_DIR": base} if runtime else {}
            os.makedirs(base, exist_ok=True)
            flags = [home.path if word == "HOME" else word for word in flags]
            home.call("create", "before", *flags, **env)
            home.call("exec", "before", "--", "true", **env)
            home.put(os.path.join(base, ".aisbx-mcp/1.token"), SECRET + "\n")
            look = ["sh", "-c", f"cat {base}/.aisbx-mcp/1.token; ls {base}/.aisbx-mcp; echo done"]
            for words in (["run", *flags, "--"], ["exec", "before", "--"]):
                done = home.call(*words, *look, **env)
                tap.equal(done.stdout, "done\n", f"{what}: {words[0]} sees no token")


def test_other_accounts(home):
    """As root: files of other accounts, which the sandbox cannot read, are not read for it."""
    if os.geteuid() != 0:
        tap.skip("files of other accounts", "only root can make them")
        return
    for path, mode in (("shut/other", 0o600), ("closed/other", 0o644), ("moved/other", 0o600)):
        home.put(path, SECRET + "\n", mode)
        os.chown(os.path.join(home.work, path), 54321, 54321)
    os.chown(os.path.join(home.work, "closed"), 54321, 54321)
    os.chmod(os.path.join(home.work, "closed"), 0o700)
    home.put("mine", "mine\n", 0o600)
    home.call("create", "other")
    home.call("exec", "other", "--", "mv", "moved/other", "moved/away")
    for path in ("shut/other", "closed/other", "moved/away"):
        inside = home.call("exec", "other", "--", "cat", path)
        saved = home.call("artifact", "save", "other", path)
        tap.ok(inside.returncode != 0 and saved.returncode != 0 and not saved.stdout,
               f"{path}: neither read inside nor saved", (inside, saved))
    saved = home.call("artifact", "save", "other", "moved")
    tap.ok(saved.returncode != 0, "nor with the directory that it was moved in", saved)
    tap.equal(home.call("artifact", "save", "other", "mine").returncode, 0, "its own file of the same mode is saved")
    home.call("exec", "other", "--", "rm", "-rf", "shut")
    shown = home.call("diff", "other")
    tap.ok(SECRET not in shown.stdout + shown.stderr and "shut/other" in shown.stdout,
           "diff names what was removed and does not show it", shown)


def test_aliases():
    """A second name of a hidden file is hidden, too, wherever it is shown."""
    for what, real, flags in (("a file that is named", "project/secret", ["--hide", "secret"]),
                              ("one that a pattern names", "project/keys/a.pem", ["--hide", "keys/*.pem"]),
                              ("one of a hidden directory", "project/vault/x", ["--hide", "vault"]),
                              ("a credential of HOME", ".netrc", []), ("one of its directories", ".ssh/id_rsa", []),
                              ("one of a directory that a pattern names", ".claude/.credentials.json", []),
                              ("with home: full", ".npmrc", ["--home", "full"])):
        with Home("aisbx-hidden-") as home:
            home.put(os.path.join(home.path, real), SECRET + "\n")
            places = [chance.choice(["alias", "some/where/deep/alias", "odd [name]*"]), "../.cargo/bin/tool"]
            for place in places:
                path = os.path.normpath(os.path.join(home.work, place))
                os.makedirs(os.path.dirname(path), exist_ok=True)
                os.link(os.path.join(home.path, real), path)
            home.put("neighbour", "seen\n")
            home.call("create", "a", *flags)
            for words in (["run", *flags, "--"], ["exec", "a", "--"]):
                done = home.call(*words, "cat", *places, "neighbour")
                tap.equal(done.stdout, "seen\n", f"{what}: {words[0]} sees no second name of it")
            saved = home.call("artifact", "save", "a", places[0])
            tap.ok(saved.returncode != 0, f"{what}: nor does artifact save", saved)


def test_aliases_later():
    """A second name that the host makes between two commands is hidden from the next one."""
    for what, real, made, flags in (("a file that is named", "secret", False, ["--hide", "secret"]),
                                    ("one of a hidden directory", "vault/x", False, ["--hide", "vault"]),
                                    ("one that is made there", "vault/new", True, ["--hide", "vault"]),
                                    ("one that a pattern names", "keys/a.pem", False, ["--hide", "keys/*.pem"]),
                                    ("a credential of HOME", "../.netrc", False, [])):
        with Home("aisbx-hidden-") as home:
            path = os.path.normpath(os.path.join(home.work, real))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if not made:
                home.put(path, SECRET + "\n")
            home.put("neighbour", "seen\n")
            home.call("create", "a", *flags)
            home.call("exec", "a", "--", "true")
            home.put(path, SECRET + "\n")
            os.link(path, home.work + "/alias")
            for _ in range(2):
                done = home.call("exec", "a", "--", "cat", "alias", "neighbour")
                tap.equal(done.stdout, "seen\n", f"{what}: exec sees no name that it was given between two commands")
            home.call("exec", "a", "--", "touch", "/dev/shm/mark")
            tap.equal(home.call("exec", "a", "--", "test", "-e", "/dev/shm/mark").returncode, 0,
                      f"{what}: with nothing new the sandbox lives on")


def test_aliases_many():
    """More hidden files than a sandbox notes: its results say so, and the directories are noted all the same."""
    with Home("aisbx-hidden-") as home:
        for number in range(1100):
            home.put(f"vault/{number}", SECRET + "\n")
        os.makedirs(home.work + "/zone")
        home.call("create", "few", "--hide", "zone")
        home.call("create", "many", "--hide", "vault", "--hide", "zone")
        for name in ("few", "many"):
            degraded = json.loads(home.call("exec", "--json", name, "--", "true").stdout).get("degraded", [])
            tap.equal("aliases" in degraded, name == "many", f"{name} hidden files: whether all their links are known is told")
        home.put("zone/new", SECRET + "\n")
        os.link(home.work + "/zone/new", home.work + "/alias")
        done = home.call("exec", "many", "--", "sh", "-c", "cat alias 2> /dev/null; echo done")
        tap.equal(done.stdout, "done\n", "a link to a new file of a hidden directory is hidden, however many files others have")


def test_aliases_meanwhile():
    """A link that is made at any time while a sandbox is started is hidden from the next command."""
    with Home("aisbx-hidden-") as home:
        home.put("secret", SECRET + "\n")
        home.call("create", "m", "--hide", "secret")
        for number in range(4 * ROUNDS):
            home.call("stop", "m")
            with subprocess.Popen([AISBX, "exec", "m", "--", "true"], cwd=home.work, env=home.env, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
                time.sleep(chance.uniform(0, 0.04))
                os.link(home.work + "/secret", home.work + "/alias")
            done = home.call("exec", "m", "--", "sh", "-c", "cat alias 2> /dev/null; echo done")
            tap.equal(done.stdout, "done\n", f"{number}: a link made during a start is hidden from the next command")
            os.unlink(home.work + "/alias")


def test_together():
    """Commands that come at the same time after a change of the host: one starts the sandbox anew, and each of them runs."""
    with Home("aisbx-hidden-") as home:
        home.call("create", "t", "--hide", "*.pem")
        home.call("exec", "t", "--", "true")
        wrong = []
        for number in range(TOGETHER_ROUNDS):
            home.put(f"{number}.pem", SECRET + "\n")
            line = [AISBX, "exec", "t", "--", "sh", "-c", f"cat {number}.pem 2> /dev/null; echo done"]
            running = [subprocess.Popen(line, cwd=home.work, env=home.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True) for _ in range(3)]
            for child in running:
                out, told = child.communicate(timeout=300)
                if (child.returncode, out) != (0, "done\n") or "was made after" in told:
                    wrong.append((number, child.returncode, out, told))
        tap.ok(not wrong, "commands that come together after a change run, and without a note", wrong)


def test_aliases_cut():
    """More names than are looked through: the result says so."""
    with Home("aisbx-hidden-") as home:
        home.put("secret", SECRET + "\n")
        os.link(os.path.join(home.work, "secret"), os.path.join(home.path, "elsewhere"))
        for number in range(60):
            for name in range(1000):
                home.put(f"many/{number}/{name}")
        done = home.call("run", "--json", "--hide", "secret", "--", "true")
        tap.ok("aliases" in json.loads(done.stdout).get("degraded", []), "a search that was cut short is told", done)
        done = home.call("run", "--json", "--", "true")
        tap.ok("aliases" not in json.loads(done.stdout).get("degraded", []), "without hidden links there is none", done)


def test_home_elsewhere(home):
    """A home below a directory that is not the caller's: what is written to it is no change of that one."""
    other = tempfile.mkdtemp(prefix="aisbx-hidden-", dir="/var/tmp")
    try:
        os.mkdir(other + "/work")
        call = lambda *words: home.call(*words, cwd=other + "/work", HOME=other)
        done = call("run", "--keep", "h", "--", "sh", "-c", "echo x > ~/f; echo y > g")
        tap.equal((done.returncode, call("diff", "h", "--name-status").stdout), (0, "A\tg\n"), "only the workspace's file is a change")
        call("run", "--keep", "i", "--", "sh", "-c", "echo x > ~/f; chmod 711 /var/tmp")
        tap.equal(call("diff", "i", "--name-status").stdout, "M\t/var/tmp/\n", "another mode of the directory above is one")
        call("rm", "h", "i")
    finally:
        remove_home(other)


def test_made_over(home):
    """A directory that is made where the host has a hidden one deletes nothing."""
    hidden = os.path.join(home.env["HOME"], ".cache")
    os.makedirs(hidden, exist_ok=True)
    with open(hidden + "/other", "w", encoding="ascii") as file:
        file.write("x")
    done = home.call("run", "--name-status", "--", "sh", "-c", "mkdir -p ~/.cache/mine; echo x > ~/.cache/mine/x; echo y > g")
    tap.ok("A\tg\n" in done.stdout and "D\t" not in done.stdout, "a directory made over a hidden one: nothing counts as deleted", done)


def test_mount_points(home):
    """A mount that lies where a pattern hides, and one made of a file that a pattern hides."""
    if os.geteuid() != 0:
        tap.skip("mount points", "only root can mount")
        return
    for name in ("disk.pem", "other"):
        os.makedirs(os.path.join(home.work, name))
    home.put("real.pem", SECRET + "\n")
    home.put("file.pem", "x\n")
    home.put("alias", "x\n")
    mounts = ("mount -t tmpfs none disk.pem && echo " + SECRET + " > disk.pem/x && "
              "mount --bind alias file.pem && mount --bind real.pem alias && ")
    for flags in ("", "--root project "):
        line = (f"{mounts} exec {AISBX} run {flags}--hide '*.pem' -- sh -c 'cat disk.pem/x file.pem alias; "
                "ls -a disk.pem; echo done'")
        done = subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-c", line], cwd=home.work, env=home.env,
                              capture_output=True, text=True, check=False, timeout=300)
        tap.ok(SECRET not in done.stdout and done.stdout.endswith("done\n"), f"mount points {flags}: hidden as names are", done)


def test_home_below():
    """HOME lies in the workspace, which is shown: what is hidden in HOME stays so, inside, from outside and when applied."""
    names = (".ssh/id_rsa", ".aws/credentials", ".netrc", ".claude.json", "vault.kdbx")
    with Home("aisbx-hidden-") as home:
        for name in (*names, "docs/x"):
            home.put("me/" + name, SECRET + "\n")
        own = {"HOME": home.work + "/me"}
        for flags, shown in (((), []), (("--home", "full"), ["me/docs/x"])):
            words = " ".join(flags) or "by default"
            home.call("create", "box", *flags, **own)
            found = home.call("exec", "box", "--", "sh", "-c", f"grep -rl {SECRET} . || true", **own).stdout.split()
            tap.equal([one[2:] for one in found], shown, f"HOME below the workspace, {words}: inside nothing hidden is read")
            home.put("me/.claude-later", SECRET + "\n")
            done = home.call("exec", "box", "--", "cat", "me/.claude-later", **own)
            tap.ok(SECRET not in done.stdout, f"{words}: nor is what came since", done)
            home.call("exec", "box", "--", "sh", "-c", "rm -rf me/.aws me/*.kdbx; mkdir -p me/.aws; echo x > me/.aws/credentials; echo x > me/vault.kdbx", **own)
            seen = home.call("diff", "box", **own).stdout + "".join(
                home.call(*verb, "box", "me/" + name, **own).stdout for name in names for verb in (("files", "read"), ("artifact", "save")))
            tap.ok(SECRET not in seen, f"{words}: no view from outside shows it", seen)
            done = home.call("promote", "box", "--allow-path", "me", **own)
            tap.ok(done.returncode == 3 and all(home.read("me/" + name) == SECRET + "\n" for name in names), f"{words}: and without a word about conflicts no promotion takes its place", done)
            home.call("rm", "box", **own)
            os.unlink(home.work + "/me/.claude-later")


def main():
    print(f"# AISBX_SEED={SEED}")
    with Home("aisbx-hidden-") as home:
        if not home.can_run(tap, "hidden"):
            return tap.done()
        test_own_file(home)
        test_mount_points(home)
        test_etc_list(home)
        test_home_elsewhere(home)
        test_made_over(home)
    test_home_below()
    test_lists()
    test_list_names()
    test_list_changes()
    test_carried()
    with Home("aisbx-hidden-") as home:
        test_later(home)
    test_tools_later()
    test_tools_coarse()
    with Home("aisbx-hidden-") as home:
        test_other_accounts(home)
    test_tokens()
    test_aliases()
    test_aliases_later()
    test_aliases_many()
    test_aliases_meanwhile()
    test_together()
    test_aliases_cut()
    for number in range(ROUNDS):
        test_round(number)
    return tap.done()


sys.exit(main())
