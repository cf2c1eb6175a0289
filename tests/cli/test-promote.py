#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Promotion through the command line: applied, refused, merged, taken back; and `try`.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it; the suite's runner does so as root and as a
plain user.
"""

import json
import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from clitest import AISBX, Home, Tap, refused

tap = Tap()
LINES = "".join(f"line {n}\n" for n in range(40))
# Inside a sandbox security.md A121 lists; each must ask.
TRIGGERS = (".git/hooks/pre-commit .git/config .gitattributes .gitmodules .envrc .vscode/tasks.json .idea/w.xml "
            ".husky/pre-push .devcontainer/devcontainer.json Makefile package.json conftest.py build.rs .bashrc .profile "
            ".github/workflows/ci.yml .gitlab-ci.yml CLAUDE.md AGENTS.md .mcp.json .claude/settings.json .codex/config "
            ".cursor/rules .gemini/settings.json").split()


def sh(home, name, script, **kw):
    return home.call("exec", name, "--", "sh", "-c", script, **kw)


def fresh(home, name, script):
    """A sandbox NAME in which SCRIPT ran."""
    done = home.call("run", "--keep", name, "--", "sh", "-c", script)
    if done.returncode != 0:
        tap.ok(False, f"run --keep {name}", done)


def clean(home, *names):
    """Removes sandboxes and what lies in the workspace."""
    if names:
        home.call("rm", *names)
    subprocess.run(["find", home.work, "-mindepth", "1", "-delete"], check=True)


def test_staging_hidden(home):
    """Where promotions are prepared and kept for an undo, no sandbox looks, whichever directory it works in."""
    elsewhere = tempfile.mkdtemp(prefix="aisbx-store.", dir="/dev/shm")
    if os.stat(elsewhere).st_dev == os.stat(home.work).st_dev:
        tap.skip("staging outside the store", "one filesystem for all")
        os.rmdir(elsewhere)
        return
    home.env["XDG_DATA_HOME"] = elsewhere
    try:
        home.put("par/ws/f.txt", "TOP-SECRET-OLD\n")
        inner = home.work + "/par/ws"
        home.call("create", "live", "-C", home.work + "/par")
        sh(home, "live", "true")
        home.call("run", "--keep", "one", "-C", inner, "--", "sh", "-c", "echo new > f.txt")
        done = home.call("promote", "one")
        tap.ok(done.returncode == 0 and home.read("par/ws/f.txt") == "new\n", "promoted from a store elsewhere", done)
        places = subprocess.run(["find", "/.aisbx", home.path, "-name", ".aisbx*"], capture_output=True, text=True, check=False).stdout.split()
        tap.ok(places, "staged outside the store", places)
        look = (f"for d in {' '.join(places)}; do ls -A $d 2>/dev/null; done; grep -rlas TOP-SECRET-OLD /.aisbx {home.path} 2>/dev/null; true")
        for words in (["run", "-C", inner], ["run", "-C", home.work + "/par"], ["run", "-C", home.work], ["exec", "live"]):
            done = home.call(*words, "--", "sh", "-c", look)
            tap.ok(done.returncode == 0 and done.stdout == "", f"{words[0]} {words[-1][len(home.work):]} sees none of it", done)
        undo = home.call("undo", cwd=inner)
        tap.ok(undo.returncode == 0 and home.read("par/ws/f.txt") == "TOP-SECRET-OLD\n", "which is there all the same", undo)
        home.call("rm", "live", "one")
    finally:
        # What an undone promotion had brought is kept; its store goes now. Other suites have theirs in the same place.
        home.drop_kept()
        del home.env["XDG_DATA_HOME"]
        # what was removed is emptied behind us
        for _ in range(50):
            subprocess.run(["chmod", "-R", "u+rwx", elsewhere], capture_output=True, check=False)
            subprocess.run(["rm", "-rf", elsewhere, home.work + "/par"], capture_output=True, check=False)
            if not os.path.exists(elsewhere):
                break
            time.sleep(0.1)


def test_apply(home):
    home.put("src/edit.txt", LINES)
    home.put("gone.txt", "gone\n")
    home.put("from.txt", LINES + "more\n")
    home.put("mode.sh", "echo\n", 0o644)
    home.put("other.txt", "untouched\n")
    before = home.tree()
    fresh(home, "p", "echo new > new.txt; sed -i 's/line 3$/LINE 3/' src/edit.txt; rm gone.txt; mv from.txt src/to.txt; "
                     "chmod 755 mode.sh; mkdir -p deep/er; echo d > deep/er/d.txt; ln -s new.txt lnk")
    done = home.call("promote", "p", "--dry-run")
    tap.ok(done.returncode == 0 and "would promote" in done.stdout and "new.txt" in done.stdout, "--dry-run", done)
    tap.equal(home.tree(), before, "changes nothing")
    done = home.call("promote", "p")
    undo = re.search(r"aisbx undo (\w+)", done.stdout)
    tap.ok(done.returncode == 0 and undo and "new.txt" in done.stdout, "promote says what it did and how to undo it", done)
    tap.equal([home.read("new.txt"), home.read("src/to.txt"), home.read("deep/er/d.txt"), os.readlink(home.work + "/lnk")],
              ["new\n", LINES + "more\n", "d\n", "new.txt"], "what was made is there")
    tap.ok("LINE 3\n" in home.read("src/edit.txt") and not os.path.exists(home.work + "/gone.txt")
           and not os.path.exists(home.work + "/from.txt"), "what was changed and deleted, too")
    tap.ok(os.stat(home.work + "/mode.sh").st_mode & 0o777 == 0o755, "and the mode")
    about = os.stat(home.work + "/new.txt")
    tap.equal([about.st_uid, about.st_gid], [os.geteuid(), os.getegid()], "files are the caller's")
    tap.equal(os.stat(home.work + "/other.txt").st_ino, before[b"other.txt"][1], "what was not touched is the same inode")
    tap.equal(home.call("diff", "p", "--name-status").stdout, "", "diff after promote is empty")
    rows = home.rows("promotions")
    tap.ok(rows and rows[0]["state"] == "live" and rows[0]["sandbox"] == "p" and rows[0]["target"] == home.work,
           "promotions --json", rows)
    tap.ok("live" in home.call("promotions").stdout, "promotions")
    done = home.call("undo", cwd=home.work + "/src")
    tap.ok(done.returncode == 0 and "gone.txt" in done.stdout, "undo from within the workspace", done)
    tap.equal(home.tree(), before, "everything is as before, inodes included")
    done = home.call("undo", undo.group(1) if undo else "x")
    tap.ok(refused(done, 3, "undone") or refused(done, 3, "taken back"), "undo of an undone one", done)
    done = home.call("undo")
    tap.ok(refused(done, 5, "promotions"), "nothing left to undo here", done)
    done = home.call("undo", "01J0000000000000000000000X")
    tap.ok(refused(done, 5), "undo of an unknown one", done)
    clean(home, "p")


def test_select(home):
    home.put("a.txt", "a\n")
    home.put("d/b.txt", "b\n")
    fresh(home, "s", "echo A > a.txt; echo B > d/b.txt; echo C > c.txt; mkdir x; echo y > x/y")
    done = home.call("promote", "s", "d/b.txt", "c.txt")
    tap.ok(done.returncode == 0 and home.read("d/b.txt") == "B\n" and home.read("c.txt") == "C\n"
           and home.read("a.txt") == "a\n", "only the paths named", done)
    tap.equal(home.call("diff", "s", "--name-status").stdout, "M\ta.txt\nA\tx/\nA\tx/y\n", "the rest is still to do")
    done = home.call("promote", "s", "nope.txt")
    tap.ok(done.returncode == 5 and "nope.txt" in done.stderr, "a path that did not change", done)
    done = home.call("promote", "s", "x")
    tap.ok(done.returncode == 0 and home.read("x/y") == "y\n", "a directory", done)
    done = home.call("promote", "s")
    tap.ok(done.returncode == 0 and home.read("a.txt") == "A\n", "the rest", done)
    done = home.call("promote", "s")
    tap.ok(done.returncode == 0 and "nothing" in done.stdout, "nothing is left", done)
    clean(home, "s")


def test_snapshot(home):
    home.put("a.txt", "a\n")
    home.call("create", "v")
    sh(home, "v", "echo one > a.txt")
    home.call("snap", "v")
    sh(home, "v", "echo two > a.txt")
    tap.ok(home.call("promote", "v", "--snap", "s9").returncode == 5, "an unknown snapshot")
    done = home.call("promote", "v@s1")
    tap.ok(done.returncode == 0 and home.read("a.txt") == "one\n", "promote of a snapshot", done)
    clean(home, "v")


def test_own_renamed(home):
    """What a sandbox made, saved and renamed never came from the host, whatever else the host does in that directory."""
    home.put("renamed-here", "theirs\n")
    fresh(home, "own", "echo 1 > made; mv renamed-here moved")
    home.call("snap", "own")
    home.put("unrelated", "somebody else's\n")
    sh(home, "own", "mv made better; mv moved further")
    home.call("stop", "own")
    home.put("unrelated too", "somebody else's\n")
    done = home.call("promote", "own")
    tap.ok(done.returncode == 0 and home.read("better") == "1\n" and home.read("further") == "theirs\n",
           "a file of its own, renamed after a snapshot", done)
    tap.ok(not os.path.exists(home.work + "/renamed-here"), "and one of the host's, renamed twice")
    home.call("undo")
    clean(home, "own")


def test_conflicts(home):
    for name in ("both.txt", "apart.txt", "mode.txt", "gone.txt", "kept.txt"):
        home.put(name, LINES)
    fresh(home, "c", "sed -i 's/line 3$/THEIRS/' both.txt; sed -i 's/line 3$/THEIRS/' apart.txt; chmod +x mode.txt; "
                     "rm gone.txt; echo add > add.txt")
    home.put("both.txt", LINES.replace("line 3\n", "OURS\n"))
    home.put("apart.txt", LINES.replace("line 30\n", "OURS\n"))
    home.put("mode.txt", LINES + "more\n")
    home.put("gone.txt", LINES + "more\n")
    home.put("add.txt", "another\n")
    home.put("kept.txt", "moved\n")
    before = home.tree()
    done = home.call("status", "c")
    tap.ok(done.returncode == 0 and re.match(r"\d files you changed were also changed on the host, oldest .* ago|\d files "
                                             r"you changed were also changed on the host", done.stdout)
           and "both.txt" in done.stdout and "1 other moved" in done.stdout, "status", done)
    found = home.data("status", "c")
    tap.ok(found.get("stale", 0) >= 4 and found.get("drift") == 1 and "both.txt" in [f["path"] for f in found["files"]],
           "status --json", found)
    done = home.call("promote", "c")
    tap.ok(done.returncode == 3 and done.stderr.startswith("aisbx: ") and "both.txt" in done.stdout, "conflicts are 3", done)
    tap.equal(home.tree(), before, "nothing changed")
    for name in ("both.txt", "apart.txt", "gone.txt", "add.txt"):
        tap.ok(name + ":" in done.stdout, f"{name} is told", done.stdout)
    tap.ok("mode.txt:" not in done.stdout, "mode here and text there is none", done.stdout)
    tap.ok(len(set(re.findall(r"sha256 ([0-9a-f]{16})", done.stdout))) >= 4 and "--strategy theirs" in done.stdout,
           "both hashes and the commands that decide", done.stdout)
    found = home.data("promote", "c")
    events = {event["path"]: event for event in found.get("conflicts", [])}
    tap.ok(found.get("ok") is False and found["error"]["code"] == "conflict" and found["promotion_id"] is None,
           "as data", found)
    tap.equal({p: e["kind"] for p, e in events.items() if p in ("both.txt", "gone.txt", "add.txt")},
              {"both.txt": "content", "gone.txt": "delete/modify", "add.txt": "add/add"}, "kinds")
    both = events.get("both.txt", {})
    tap.ok(all(k in both for k in ("event", "id", "sandbox", "snapshot", "kind", "base", "ours", "theirs", "hunks", "choices"))
           and both["ours"]["sha256"] != both["theirs"]["sha256"] and both["base"]["quality"] != "lost", "an event", both)
    done = home.call("promote", "c", "--strategy", "merge")
    tap.ok(done.returncode == 3 and home.tree() == before, "merge: what overlaps still fails, and nothing changed", done)
    events = {e["path"]: e for e in home.data("promote", "c", "--strategy", "merge").get("conflicts", [])}
    tap.ok("apart.txt" not in {p for p, e in events.items() if not e["resolution"]}
           and events.get("both.txt", {}).get("hunks"), "and only what overlaps", events)
    done = home.call("promote", "c", "apart.txt", "mode.txt", "--strategy", "merge")
    tap.ok(done.returncode == 0 and "THEIRS" in home.read("apart.txt") and "OURS" in home.read("apart.txt")
           and os.access(home.work + "/mode.txt", os.X_OK) and home.read("mode.txt") == LINES + "more\n",
           "merged by lines and by aspect", done)
    done = home.call("promote", "c", "both.txt", "--strategy", "ours")
    tap.ok(done.returncode == 0 and "OURS" in home.read("both.txt"), "ours keeps the host's", done)
    kept = re.search(r"the other version is kept as (\S+)", done.stdout)
    tap.ok(kept and "THEIRS" in home.read(kept.group(1)), "and says where the sandbox's can be read", done.stdout)
    done = home.call("promote", "c", "--strategy", "theirs")
    tap.ok(done.returncode == 0 and home.read("add.txt") == "add\n" and not os.path.exists(home.work + "/gone.txt"),
           "theirs takes the sandbox's", done)
    done = home.call("promote", "c", "--strategy", "teirs")
    tap.ok(refused(done, 2, "theirs"), "a misspelt strategy", done)
    clean(home, "c")


def merged(home, name, base, *, quality):
    """Whether what changed at both ends of file F comes together, its base being known by QUALITY."""
    rows = {row["path"]: row for row in home.rows("diff", name)}
    done = home.call("promote", name, "--strategy", "merge", "--json")
    text = home.read("f")
    tap.ok(done.returncode == 0 and text == "host\n" + base + "sandbox\n", f"merged with a base from {quality}",
           (done, rows.get("f", {}).get("base"), text[:40], text[-40:]))
    return done


def test_repeated_elsewhere(home):
    """The commands that are offered promote to where the promotion was to go, not to the workspace."""
    other = home.path + "/another place"
    home.put("both.txt", LINES)
    fresh(home, "c", "echo theirs > both.txt; echo 'all:' > Makefile")
    home.call("snap", "c", "--name", "seen")
    os.mkdir(other)
    for more in (), ("--snap", "seen"):
        home.put(other + "/both.txt", "another\n")
        done = home.call("promote", "c", "both.txt", "--target", other, *more)
        told = re.findall(r"the sandbox's: aisbx (.*)", done.stdout)
        tap.ok(done.returncode == 3 and len(told) == 1, "a conflict elsewhere", done)
        words = shlex.split(told[0])
        tap.ok(set(more) <= set(words), "the snapshot is named", words)
        done = home.call(*words)
        with open(other + "/both.txt") as source:
            tap.ok(done.returncode == 0 and source.read() == "theirs\n" and home.read("both.txt") == LINES,
                   "the command decides it there", done)
    shutil.rmtree(other)
    clean(home, "c")


def test_base_pinned(home):
    """Replaced on the host before anybody wrote down what it was: the sandbox's root still holds the old file."""
    if os.geteuid() != 0:
        tap.skip("a base by its inode", "needs root")
        return
    base = home.put("f", LINES)
    home.call("create", "pin")
    child = subprocess.Popen([AISBX, "exec", "pin", "--", "sh", "-c", "echo sandbox >> f; echo told; read word"],
                             cwd=home.work, env=home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    told = child.stdout.readline()
    with open(base + ".new", "w") as file:
        file.write("host\n" + LINES)
    os.rename(base + ".new", base)
    child.communicate("go\n")
    tap.equal(told, "told\n", "a command that appends, and waits")
    rows = {row["path"]: row for row in home.rows("diff", "pin")}
    tap.equal(rows["f"]["base"], "pinned", "the base is read from the file that the host replaced")
    merged(home, "pin", LINES, quality="the old inode")
    clean(home, "pin")


GIT = ["-c", "user.name=t", "-c", "user.email=t@localhost"]


def make_repository(home, *names):
    """Commits the files; those that git saw in the moment they were made are not noted exactly: as a person would, come back later."""
    git = ["git", "-C", home.work, *GIT]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", *names], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "one"], check=True)
    for name in names:
        os.utime(f"{home.work}/{name}", (1700000000, 1700000000))
    subprocess.run([*git, "update-index", "--refresh"], check=False, capture_output=True)


def test_bases_git(home):
    """Several at once, of which git has not all, and whose names are no plain words."""
    if subprocess.run(["git", "--version"], capture_output=True, check=False).returncode != 0:
        tap.skip("bases of git's", "no git here")
        return
    lines = "".join(f"line {n}\n" for n in range(200000))
    names = ("f", " a\tb\nc", "dir/a b", "dir/other", "unknown")
    for name in names:
        home.put(name, lines)
    make_repository(home, *names[:4])
    subprocess.run(["git", "-C", home.work, "rm", "-q", "--cached", "dir/other"], check=True)
    fresh(home, "all", "for file in * dir/*; do [ -d \"$file\" ] || echo sandbox >> \"$file\"; done")
    for name in names:
        home.put(name, "host\n" + lines)
    done = home.call("promote", "all", "--strategy", "merge", "--json")
    lost = sorted(row["path"] for row in json.loads(done.stdout)["conflicts"] if row["kind"] == "base-lost")
    tap.ok(done.returncode == 3 and lost == ["dir/other", "unknown"], "only what git has not is lost", done)
    done = home.call("promote", "all", "--strategy", "merge", *names[:3])
    tap.ok(done.returncode == 0 and all(home.read(name) == "host\n" + lines + "sandbox\n" for name in names[:3]),
           "the others are merged with bases from git", done)
    clean(home, "all")


def test_base_git(home):
    """Too large to be kept, but git has it."""
    lines = "".join(f"line {n}\n" for n in range(200000))
    git = ["git", "-C", home.work, *GIT]
    if subprocess.run(["git", "--version"], capture_output=True, check=False).returncode != 0:
        tap.skip("a base of git's", "no git here")
        return
    home.put("f", lines)
    make_repository(home, "f")
    for name in ("big", "other"):
        fresh(home, name, "echo sandbox >> f")
    home.put("f", "host\n" + lines)
    subprocess.run([*git, "commit", "-q", "-a", "-m", "two"], check=True)
    merged(home, "big", lines, quality="git")
    home.call("undo")
    subprocess.run("rm -rf .git", shell=True, cwd=home.work, check=True)
    done = home.call("promote", "other", "--strategy", "merge")
    tap.ok(refused(done, 3, "base-lost"), "without git it is lost, and nothing is guessed", done)
    clean(home, "big", "other")


def test_merge_favours(home):
    home.put("f.txt", LINES)
    for strategy, wanted in (("merge+ours", "OURS"), ("merge+theirs", "THEIRS")):
        home.put("f.txt", LINES)
        fresh(home, "m", "sed -i 's/line 3$/THEIRS/; s/line 20$/CLEAN/' f.txt")
        home.put("f.txt", LINES.replace("line 3\n", "OURS\n"))
        done = home.call("promote", "m", "--strategy", strategy)
        text = home.read("f.txt")
        tap.ok(done.returncode == 0 and wanted in text and "CLEAN" in text and "<<<<" not in text, strategy, (done, text))
        home.call("rm", "m")
    clean(home)


def test_into_sandbox(home):
    home.put("f.txt", LINES)
    fresh(home, "i", "sed -i 's/line 3$/THEIRS/' f.txt")
    home.put("f.txt", LINES.replace("line 3\n", "OURS\n"))
    before = home.tree()
    done = home.call("promote", "i", "--strategy", "merge", "--into-sandbox")
    tap.equal(home.tree(), before, "--into-sandbox leaves the host alone")
    tap.ok("promoted" not in done.stdout and "into the sandbox i" in done.stdout, "and says so", done)
    text = sh(home, "i", "cat f.txt").stdout
    tap.ok("<<<<<<<" in text and "OURS" in text and "THEIRS" in text, "the markers are in the sandbox", (done, text))
    sh(home, "i", "sed -i '/^<<<<<<<\\|^=======\\|^>>>>>>>\\|^OURS/d' f.txt")
    done = home.call("promote", "i")
    tap.ok(done.returncode == 0 and "THEIRS" in home.read("f.txt") and "<<<" not in home.read("f.txt"),
           "resolved there, it is promoted", (done, home.read("f.txt")))
    clean(home, "i")


def test_consent(home):
    for existing in (True, False):
        if existing:
            for name in TRIGGERS:
                home.put(name, "before\n")
        fresh(home, "t", " ".join(f"mkdir -p {os.path.dirname(n) or '.'}; echo evil > {n};" for n in TRIGGERS))
        before = home.tree()
        done = home.call("promote", "t")
        what = "changed" if existing else "new"
        tap.ok(done.returncode == 4 and home.tree() == before, f"{what} triggers need consent (4), nothing applied", done)
        for name in TRIGGERS:
            tap.ok(name in done.stdout, f"{what}: {name} is listed", done.stdout)
        clean(home, "t")
    fresh(home, "t", "mkdir -p .git/hooks; echo hook > .git/hooks/pre-commit; echo m > Makefile; echo x > x.txt")
    found = home.data("promote", "t")
    tap.ok(found.get("error", {}).get("code") == "consent" and {c["path"] for c in found["consent"]} ==
           {".git/hooks/pre-commit", "Makefile"} and all(c["flag"] == "--allow-path" and c["why"] for c in found["consent"]),
           "as data: path, why, flag", found)
    first = home.call("diff", "t", "--name-status").stdout.splitlines()
    tap.ok({line.split("\t")[1] for line in first[:2]} == {".git/hooks/pre-commit", "Makefile"}, "first in the diff", first)
    done = home.call("promote", "t", "--allow-path", "Makefile")
    tap.ok(done.returncode == 4 and not os.path.exists(home.work + "/Makefile"), "one word is not two", done)
    done = home.call("promote", "t", "x.txt")
    tap.ok(done.returncode == 0 and home.read("x.txt") == "x\n", "the rest needs none", done)
    told = home.call("promote", "t").stdout
    command = re.search(r"aisbx (promote t .*)", told)
    done = subprocess.run(["sh", "-c", f'"$0" {command.group(1) if command else ""}', AISBX], cwd=home.work, env=home.env,
                          capture_output=True, text=True, check=False)
    tap.ok(done.returncode == 0 and home.read(".git/hooks/pre-commit") == "hook\n", "the command it prints agrees", (told, done))
    clean(home, "t")


def test_consent_exact(home):
    """A file whose name is a pattern: a word for it, or its selection, is not one for what the pattern would match."""
    home.call("create", "exact")
    home.call("exec", "exact", "--", "sh", "-c", "echo x >'*.mk'; echo y >a.mk; mkdir '[ab]'; echo z >'[ab]/c.mk'; mkdir a; echo w >a/c.mk")
    done = home.call("promote", "exact", "*.mk", "--allow-path", "*.mk")
    tap.ok(done.returncode == 0 and home.read("*.mk") == "x\n" and not os.path.exists(home.work + "/a.mk"), "named exactly", done)
    home.call("undo")
    done = home.call("promote", "exact", "--allow-path", "*.mk", "--allow-path", "[ab]")
    tap.ok(done.returncode == 4 and "a/c.mk" in done.stdout and "[ab]/c.mk" not in done.stdout, "others stay asked about", done)
    done = home.call("promote", "exact", "--allow-path", "*.m?", "--allow-path", "*/c.mk")
    tap.equal((done.returncode, home.read("a.mk"), home.read("a/c.mk")), (0, "y\n", "w\n"), "control: a pattern that no file is called")
    home.call("undo")
    home.call("rm", "exact")


def test_consent_before_conflict(home):
    home.put("a.txt", LINES)
    fresh(home, "b", "echo t > a.txt; echo x > Makefile")
    home.put("a.txt", "ours\n")
    tap.equal(home.call("promote", "b").returncode, 4, "consent is checked before conflict")
    clean(home, "b")


def test_consent_carried(home):
    """A directory that goes by one rename takes along what its new, or old, place makes run."""
    # What a plain user renames is copied, and told entry by entry in any case.
    told = [] if os.geteuid() == 0 else ["lib/Makefile", "lib2/Makefile"]
    for old, new, asked in (("plain/tasks.json", ".vscode/tasks.json", [".vscode/tasks.json"]),
                            (".husky/pre-push", "off/pre-push", [".husky/pre-push"]),
                            ("lib/a.txt", "lib2/a.txt", []), ("lib/Makefile", "lib2/Makefile", told)):
        home.put(old, "x\n")
        fresh(home, "c", f"mv {os.path.dirname(old)} {os.path.dirname(new)}")
        found = home.data("promote", "c")
        tap.equal([row["path"] for row in found.get("consent", [])], asked, f"{old} renamed to {new} with its directory")
        done = home.call("promote", "c", "--allow-path", ".") if asked else None
        tap.ok(home.read(new) == "x\n" and not os.path.exists(home.work + "/" + old), "and applied with a word, or without", done)
        done = home.call("undo")
        tap.ok(home.read(old) == "x\n" and not os.path.exists(home.work + "/" + new), "and taken back", done)
        clean(home, "c")
    home.put("v/bin/activate", "x\n")
    fresh(home, "c", "mv v .venv")
    found = home.data("promote", "c")
    tap.equal(sorted(row["path"] for row in found.get("consent", [])), [".venv/bin/activate", "v/bin/activate"],
              "an environment renamed to where tools look for one")
    clean(home, "c")
    home.put("a/b/f", "x\n")
    os.symlink("../../f", home.work + "/a/b/link")
    fresh(home, "c", "mv a/b b")
    found = home.data("promote", "c")
    tap.equal([row["path"] for row in found.get("consent", [])], ["b/link"], "a link that leads out from its new place")
    clean(home, "c")


def test_links(home):
    """A115, A116: links never lead a promotion out of the workspace."""
    outside = home.path + "/outside"
    os.mkdir(outside)
    with open(outside + "/target", "w") as file:
        file.write("mine\n")
    fresh(home, "l", f"ln -s {outside}/target out; ln -s {outside} d; echo fine > fine.txt")
    done = home.call("promote", "l")
    tap.ok(done.returncode == 4 and "out" in done.stdout and not os.path.lexists(home.work + "/out"), "links out need consent", done)
    home.call("rm", "l")
    os.mkdir(home.work + "/d")
    home.put("d/f", "f\n")
    fresh(home, "l", "echo evil > d/f; echo evil > d/target")
    subprocess.run(["rm", "-r", home.work + "/d"], check=True)
    os.symlink(outside, home.work + "/d")
    done = home.call("promote", "l", "--strategy", "theirs")
    with open(outside + "/target") as file:
        tap.ok(file.read() == "mine\n" and not os.path.exists(outside + "/f"), "a parent swapped for a link is not followed", done)
    subprocess.run(["rm", "-r", home.work + "/d", outside], check=True)
    clean(home, "l")
    # A116 as it is written: through a link inside, to where the keys of the host are
    keys = home.path + "/.ssh"
    os.mkdir(keys, 0o700)
    with open(keys + "/authorized_keys", "w") as file:
        file.write("mine\n")
    fresh(home, "l", f"mkdir -p {keys}; ln -s {keys} d; echo evil > d/authorized_keys; echo fine > fine.txt; test -L d")
    for flags in ((), ("--allow-path", "d")):
        done = home.call("promote", "l", *flags)
        with open(keys + "/authorized_keys") as file:
            tap.ok(file.read() == "mine\n" and done.returncode == (0 if flags else 4),
                   f"keys behind a link are never written, {'also when the link is agreed to' if flags else 'and the link asks'}", done)
    subprocess.run(["rm", "-r", keys], check=True)
    clean(home, "l")


def test_hardlink(home):
    """A119."""
    path = home.put("one", "old\n")
    os.link(path, home.work + "/two")
    fresh(home, "h", "echo new > one")
    done = home.call("promote", "h")
    tap.ok(done.returncode == 0 and home.read("one") == "new\n" and home.read("two") == "old\n",
           "the other name of a hard link keeps its content", done)
    clean(home, "h")


def test_names(home):
    """Names made inside for one file are names of one file outside, and the diff says so."""
    for name in ("kept", "moved", "replaced"):
        home.put(name, name + "\n")
    before = os.stat(home.work + "/kept").st_ino
    fresh(home, "h", "ln kept again; ln -f kept replaced; mv moved here; ln here there; mkdir d; echo x > d/x; ln d/x y")
    shown = home.call("diff", "h").stdout
    tap.ok("# again: hard link to kept\n" in shown and "# y: hard link to d/x\n" in shown, "diff tells of second names", shown)
    rows = {row["path"]: row for row in home.rows("diff", "h")}
    tap.ok(rows["again"]["hardlink"] == "kept" and rows["d/x"]["hardlink"] is None and "kept" not in rows, "also as JSON", rows)
    done = home.call("promote", "h")

    def one(*names):
        return len({os.stat(home.work + "/" + name).st_ino for name in names}) == 1

    tap.ok(done.returncode == 0 and one("kept", "again", "replaced") and os.stat(home.work + "/kept").st_ino == before,
           "other names of a file that did not change", done)
    tap.ok(one("here", "there") and one("d/x", "y") and not os.path.exists(home.work + "/moved"),
           "of one that was renamed, and of a new one", os.listdir(home.work))
    tap.equal(home.rows("diff", "h"), [], "nothing is left")
    done = home.call("undo")
    tap.ok(done.returncode == 0 and os.stat(home.work + "/kept").st_nlink == 1 and home.read("replaced") == "replaced\n"
           and home.read("moved") == "moved\n" and not os.path.exists(home.work + "/again"), "undone, no name is left", done)
    home.put("kept", "edited meanwhile\n")
    done = home.call("promote", "h")
    tap.ok(done.returncode == 0 and home.read("again") == "kept\n" and home.read("kept") == "edited meanwhile\n"
           and not one("kept", "again"), "a file that moved on keeps to itself", done)
    clean(home, "h")


def test_untouched_copy(home):
    """Copied up without being changed: when the host edits it, that is no conflict."""
    home.put("same", "one\n")
    fresh(home, "s", "touch same; echo x > new")
    home.put("same", "edited\n")
    done = home.call("promote", "s")
    tap.ok(done.returncode == 0 and home.read("same") == "edited\n" and home.read("new") == "x\n",
           "what was only opened is no change", done)
    clean(home, "s")


def test_closed(home):
    """A directory that may not be read keeps back what it may hold, and nothing else."""
    if os.geteuid() == 0:
        tap.skip("directories that may not be read", "root may read all")
        return
    home.put("d/e", "same\n")
    fresh(home, "c", "echo y > y; cp d/e twin; mkdir p q; echo x > p/x; echo x > q/x; chmod 000 p d")
    for words in ([], ["p"], ["d/e"], ["*"], ["twin"]):
        done = home.call("promote", "c", *words)
        tap.ok(words == ["twin"] or refused(done, 4, "may not be read", "name other paths"), f"promote {words} is concerned", done)
        tap.equal(home.read("d/e"), "same\n", "what cannot be seen is not taken for gone")
    done = home.call("promote", "c", "y", "q")
    tap.ok(done.returncode == 0 and home.read("y") == "y\n" and home.read("q/x") == "x\n", "other paths are not", done)
    sh(home, "c", "chmod 755 p d")
    home.call("stop", "c")
    clean(home, "c")


def test_unsearchable(home):
    """A directory that may be listed and not searched has all of its files: what cannot be looked at is not taken for gone."""
    if os.geteuid() == 0:
        tap.skip("directories that may not be searched", "root may search all")
        return
    for name in ("list/e", "list/f", "up/in/e", "read/e", "snap/e"):
        home.put(name, "same\n")
    before = home.tree()
    for number, (inside, closed) in enumerate((
            ("echo y > list/e; chmod 400 list", "list"),
            ("echo y > list/e; echo y > list/new; chmod 600 list", "list"),
            ("echo y > up/in/e; chmod 400 up", "up"),
            ("echo y > up/in/e; chmod 600 up/in; chmod 400 up", "up"),
            ("rm list/f; chmod 400 list", "list"))):
        name = f"closed{number}"
        fresh(home, name, inside)
        listed = home.call("diff", name, "--name-status")
        tap.ok("D\t" not in listed.stdout and "part" in listed.stderr, f"{inside}: diff lists nothing as gone", listed)
        told = f"directory '{closed}' of the sandbox may not be read"
        tap.ok(told in listed.stderr and "too much" not in listed.stderr, f"{inside}: and says why it is a part", listed.stderr)
        for form in ("--stat", "--patch"):
            listed = home.call("diff", name, form)
            tap.ok(told in listed.stdout and "more changes" not in listed.stdout, f"{inside}: so does diff {form}", listed)
        done = home.call("gate", "check", name, "diff.files<=9")
        tap.ok(told in done.stderr and "too much" not in done.stderr, f"{inside}: a gate names it, too", done)
        for words in ([], [closed]):
            done = home.call("promote", name, *words)
            tap.ok(refused(done, 4, f"/{closed}' of the sandbox may not be read"), f"{inside}: promote {words} is refused", done)
        tap.ok(home.tree() == before, f"{inside}: and the host is as it was", sorted(set(home.tree()) ^ set(before)))
        home.call("exec", name, "--", "chmod", "-R", "u+rwX", "list", "up")
        home.call("stop", name)
        tap.equal(home.call("promote", name).returncode, 0, f"{inside}: opened up again, it is promoted")
        home.call("undo")
        home.call("rm", name)
    fresh(home, "snap", "echo y > snap/e; chmod 400 snap")
    tap.equal(home.call("snap", "snap", "--name", "one").returncode, 0, "a snapshot of one")
    sh(home, "snap", "chmod 755 snap; echo z > read/e")
    home.call("stop", "snap")
    done = home.call("diff", "snap", "--name-status")
    tap.ok("D\t" not in done.stdout, "nor from below a snapshot", done)
    home.call("promote", "snap")
    tap.ok(home.read("snap/e") in ("same\n", "y\n"), "and no file is lost by that", sorted(home.tree()))
    home.call("undo")
    home.call("rm", "snap")


def test_xattrs(home):
    """Attributes that both sides changed: combined unless it was the same one."""
    path = home.put("x", "text\n")
    try:
        for name in (b"a", b"b", b"c"):
            os.setxattr(path, b"user." + name, b"old")
    except OSError:
        tap.skip("extended attributes", "none on this filesystem")
        return
    set_inside = "python3 -c \"import os, sys; os.setxattr('x', 'user.'+sys.argv[1], b'theirs'); os.removexattr('x', 'user.c')\" "

    def found():
        return {name: os.getxattr(path, name).decode() for name in sorted(os.listxattr(path)) if name.startswith("user.")}

    fresh(home, "x1", set_inside + "a")
    os.setxattr(path, b"user.b", b"ours")
    os.setxattr(path, b"user.d", b"ours")
    done = home.call("promote", "x1")
    tap.ok(done.returncode == 0, "different ones do not conflict", done)
    tap.equal(found(), {"user.a": "theirs", "user.b": "ours", "user.d": "ours"}, "and are combined")
    home.call("undo")
    tap.equal(found(), {"user.a": "old", "user.b": "ours", "user.c": "old", "user.d": "ours"}, "until they are taken back")
    home.call("refresh", "x1", "--kill")
    home.call("rm", "x1")
    fresh(home, "x2", set_inside + "a")
    os.setxattr(path, b"user.a", b"ours")
    done = home.call("promote", "x2")
    tap.ok(done.returncode == 3 and "xattr" in done.stdout and found()["user.a"] == "ours", "the same one does", done)
    clean(home, "x2")


def test_modes(home):
    """A120: privileges, fifos and devices are refused, sockets left out."""
    fresh(home, "m", "echo x > suid; chmod 4755 suid; mkfifo pipe; echo y > plain")
    done = home.call("promote", "m")
    tap.ok(done.returncode == 4 and "suid" in done.stdout and "--allow-privilege" in done.stdout, "setuid needs consent", done)
    done = home.call("promote", "m", "--allow-privilege")
    tap.ok(done.returncode == 4 and "pipe" in done.stdout and "--allow-special" in done.stdout and not os.path.lexists(home.work + "/pipe"),
           "so does a fifo, for which programs of the host would wait", done)
    done = home.call("promote", "m", "--allow-privilege", "--allow-special")
    tap.ok(done.returncode == 0 and os.stat(home.work + "/suid").st_mode & 0o7777 == 0o4755, "both are agreed to", done)
    tap.ok(stat.S_ISFIFO(os.stat(home.work + "/pipe").st_mode), "a fifo is one")
    clean(home, "m")
    script = ("import os, socket; s = socket.socket(socket.AF_UNIX); s.bind('sock'); os.mkdir('g'); os.chmod('g', 0o2755)\n"
              "open('sgid', 'w').close(); os.chmod('sgid', 0o2755); open('sticky', 'w').close(); os.chmod('sticky', 0o1644)\n"
              "open('noted', 'w').close(); os.setxattr('noted', 'user.note', b'kept'); os.mkdir('d'); os.chmod('d', 0o1755)\n"
              "try: os.mknod('dev', 0o20666, os.makedev(1, 3)); print('DEVICE')\n"
              "except OSError: pass\n")
    done = home.call("run", "--keep", "m", "--", "python3", "-c", script)
    tap.ok(done.returncode == 0 and "DEVICE" not in done.stdout, "nobody inside makes a device", done)
    told = home.data("promote", "m")
    asked = {(row["path"], row["flag"]) for row in told.get("consent", [])}
    tap.ok(("sgid", "--allow-privilege") in asked and not os.path.exists(home.work + "/sgid"), "setgid needs consent", told)
    done = home.call("promote", "m", "sticky", "noted", "d", "sock")
    tap.ok(done.returncode == 0 and not os.path.lexists(home.work + "/sock"), "a socket is left out, and that is no failure", done)
    tap.equal((os.stat(home.work + "/sticky").st_mode & 0o7000, os.stat(home.work + "/d").st_mode & 0o7000), (0, 0o1000),
              "sticky means something for directories only")
    tap.equal(os.getxattr(home.work + "/noted", "user.note"), b"kept", "attributes of the user's go along")
    clean(home, "m")


def test_outside(home):
    """A126: what lies outside the workspace is listed, never applied."""
    target = home.path + "/.cache/outside.txt"
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "w") as file:
        file.write("mine\n")
    gone = home.path + "/.cache/gone.txt"
    with open(gone, "w") as file:
        file.write("mine\n")
    with open("/etc/passwd", "rb") as file:
        passwd = file.read()
    fresh(home, "o", f"echo in > in.txt; echo changed > {target} || true; rm -f {gone}; echo evil:x:0:0::/:/bin/sh >> /etc/passwd; "
                     f"rm -f /etc/hostname; true")
    listed = home.call("diff", "o", "--name-status").stdout
    done = home.call("promote", "o")
    with open(target) as file:
        tap.equal(file.read(), "mine\n", "nothing outside is applied")
    with open("/etc/passwd", "rb") as file:
        tap.ok(file.read() == passwd and os.path.exists(gone), "no deletion either, nor an edit of /etc")
    os.unlink(gone)
    tap.ok(done.returncode == 0 and home.read("in.txt") == "in\n", "what is inside is", done)
    tap.ok(target in listed or "outside" not in listed, "listed by its absolute path", listed)
    os.unlink(target)
    clean(home, "o")


def test_directories(home):
    """Directories that came or went are listed and counted where promotion applies them, with the modes they get."""
    home.put("keep.txt", "x\n")
    os.mkdir(home.work + "/old")
    fresh(home, "g", "umask 0; mkdir -p e1/e2; mkdir -m 1777 open; rmdir old; echo x > ww")
    listed = home.call("diff", "g", "--name-status").stdout
    tap.equal(listed, "A\te1/\nA\te1/e2/\nD\told/\nA\topen/\nA\tww\n", "all of them are listed")
    tap.ok("# open/: mode 1777, promoted as 1755" in home.call("diff", "g").stdout, "with their modes")
    counts = json.loads(home.call("ls", "--json").stdout.splitlines()[0])["changes"]
    tap.equal((counts["added"], counts["deleted"]), (3, 1), "empty ones count")
    done = home.call("promote", "g")
    modes = [os.stat(home.work + "/" + name).st_mode & 0o7777 for name in ("e1", "open", "ww")]
    tap.ok(done.returncode == 0 and modes == [0o755, 0o1755, 0o644] and not os.path.exists(home.work + "/old"),
           "and are as the caller makes such things", done)
    tap.equal(home.call("diff", "g", "--exit-code").returncode, 0, "nothing is left")
    clean(home, "g")
    home.put("shared/f", "x\n", 0o664)
    fresh(home, "g2", "mv shared moved; chmod 700 moved .; echo new > moved/n")
    done = home.call("promote", "g2")
    # Without redirects mv is a copy, and what is copied is new.
    want = 0o664 if os.geteuid() == 0 else 0o644
    tap.ok(done.returncode == 0 and os.stat(home.work + "/moved/f").st_mode & 0o7777 in (0o664, want),
           "what the host had keeps its mode under another name", done)
    tap.ok(os.geteuid() != 0 or "left as the host has it: .\n" in done.stdout, "the workspace's own mode is left", done)
    clean(home, "g2")
    done = home.call("try", "-y", "--", "mkdir", "alone")
    tap.ok(done.returncode == 0 and os.path.isdir(home.work + "/alone"), "try takes an empty directory, too", done)
    clean(home)


def test_from_outside(home):
    """What the sandbox could not read is not shown or promoted because a directory was renamed around it."""
    if os.geteuid() != 0:
        tap.skip("a directory from outside", "needs root to rename what is not the caller's")
        return
    outside = tempfile.mkdtemp(prefix="aisbx-test-out.", dir="/opt")
    os.chmod(outside, 0o755)
    os.mkdir(outside + "/dir")
    with open(outside + "/dir/sec", "w") as file:
        file.write("s3cr3t\n")
    os.chown(outside + "/dir/sec", 1000, 1000)
    os.chmod(outside + "/dir/sec", 0o600)
    fresh(home, "mv", f"mv {outside}/dir taken")
    shown = home.call("diff", "mv").stdout
    tap.ok("taken/sec" in shown and "s3cr3t" not in shown, "its content is not shown", shown)
    done = home.call("promote", "mv")
    tap.ok(done.returncode == 4 and "taken from outside" in done.stdout and not os.path.exists(home.work + "/taken"),
           "and it needs consent", done)
    clean(home, "mv")
    subprocess.run(["rm", "-r", outside], check=True)


def test_types(home):
    """A129: kinds that change are told and applied as one entry each; undo brings the old kind back."""
    home.put("f2d", "file\n")
    home.put("d2f/inner.txt", "inner\n")
    home.put("d2l/inner.txt", "inner\n")
    home.put("f2l", "file\n")
    before = home.tree()
    fresh(home, "k", "rm f2d; mkdir f2d; echo x > f2d/x; rm -r d2f; echo file > d2f; rm -r d2l; ln -s f2d d2l; "
                     "rm f2l; ln -s d2f f2l")
    listed = home.call("diff", "k", "--name-status").stdout
    tap.ok(all(name in listed for name in ("f2d", "d2f", "d2l", "f2l")), "each kind that changed is listed", listed)
    done = home.call("promote", "k")
    tap.ok(done.returncode == 0 and os.path.isdir(home.work + "/f2d") and os.path.isfile(home.work + "/d2f")
           and os.path.islink(home.work + "/d2l") and os.path.islink(home.work + "/f2l"), "kinds change", done)
    home.call("undo")
    tap.equal(home.tree(), before, "and back")
    home.put("d3/new.txt", "x\n")
    fresh(home, "k2", "rm -r d3")
    home.put("d3/other.txt", "the host put this here\n")
    done = home.call("promote", "k2")
    tap.ok(done.returncode == 3 and "other.txt" in done.stdout and home.read("d3/other.txt"),
           "no silent recursive delete: dir-delete names the entries", done)
    clean(home, "k", "k2")


def test_odd_names(home):
    """Names that are no text are printed as diff prints them, and taken so."""
    fresh(home, "n", "printf b > \"$(printf 'bad\\377')\"; echo q > '\"q\"'")
    names = [line.split("\t")[1] for line in home.call("diff", "n", "--name-status").stdout.splitlines()]
    for verb in (["promote", "n", "--dry-run"], ["promote", "n"], ["undo"]):
        done = home.call(*verb)
        tap.equal(sorted(line[2:] for line in done.stdout.splitlines() if line.startswith("  ")), sorted(names), f"{verb[0]} {verb[-1]}")
    for name in names:
        done = home.call("promote", "n", name, "--dry-run")
        tap.ok(done.returncode == 0 and f"\n  {name}\n" in done.stdout, f"{name} is taken as printed", done)
    clean(home, "n")


def test_artifact(home):
    fresh(home, "a", "mkdir -p build/sub; echo bin > build/app; chmod 755 build/app; echo s > build/sub/s")
    done = home.call("promote", "a", "--artifact", "build/app", "--to", home.path + "/out/bin/")
    tap.ok(done.returncode == 0 and os.access(home.path + "/out/bin/app", os.X_OK), "a file into a directory", done)
    tap.ok(not os.path.exists(home.work + "/build"), "and nothing else")
    done = home.call("promote", "a", "--artifact", "build", "--to", home.path + "/out/all")
    tap.ok(done.returncode == 0 and os.path.exists(home.path + "/out/all/sub/s"), "a directory under another name", done)
    done = home.call("promote", "a", "--artifact", "build/app", "--to", "here/", "--dry-run")
    tap.ok(done.stdout.startswith(f"would promote 2 changes to {home.work}/here/app:"), "a relative place is told in full", done)
    os.symlink(home.path + "/out", home.work + "/lnk")
    for flags in (["--dry-run"], []):
        done = home.call("promote", "a", "--artifact", "build/app", "--to", "lnk/x", *flags)
        tap.ok(refused(done, 3, "symbolic link", "--to") and not os.path.lexists(home.path + "/out/x"), f"not through a link {flags}", done)
    os.unlink(home.work + "/lnk")
    tap.ok(home.call("promote", "a", "--artifact", "nope", "--to", home.path + "/out/").returncode == 5, "one that is not there")
    subprocess.run(["rm", "-rf", home.path + "/out"], check=True)
    clean(home, "a")


def crc32c(data):
    """Bit by bit: a few hundred bytes are all it is for."""
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def test_torn(home):
    """What a crash of the machine may have cut short is there to be read, never promoted."""
    fresh(home, "torn", "echo half > half.txt")
    head = home.path + "/.local/share/aisbx/sbx/torn/head"
    with open(head, "rb") as file:
        text = re.sub(rb"(upper-boot )[0-9a-f-]{36}", rb"\g<1>01234567-89ab-cdef-0123-456789abcdef", file.read())
    text = text[:text.rindex(b"check ")]
    with open(head, "wb") as file:
        file.write(text + b"check %08x\nend\n" % crc32c(text))
    tap.equal((home.rows("ls") or [{}])[0].get("state"), "torn", "a top of another boot is torn")
    tap.ok("half.txt" in home.call("diff", "torn").stdout, "it can be looked at")
    done = home.call("promote", "torn")
    tap.ok(done.returncode in (3, 4) and "half" not in os.listdir(home.work) and done.stderr.startswith("aisbx: "),
           "and is not promoted", done)
    clean(home, "torn")


def test_ownership(home):
    """A131: what is promoted is the caller's, whatever the umask."""
    fresh(home, "own", "umask 0; mkdir d; echo x > d/x; umask 077; echo y > y")
    done = subprocess.run(["sh", "-c", 'umask 027; exec "$0" promote own', AISBX], cwd=home.work, env=home.env,
                          capture_output=True, text=True, check=False)
    about = [os.stat(os.path.join(home.work, name)) for name in ("d", "d/x", "y")]
    tap.ok(done.returncode == 0 and {(a.st_uid, a.st_gid) for a in about} == {(os.geteuid(), os.getegid())},
           "what is promoted is the caller's", (done, about))
    tap.equal([a.st_mode & 0o777 for a in about], [0o750, 0o640, 0o600], "less what the caller's umask takes away")
    clean(home, "own")


def test_gone_workspace(home):
    """A sandbox whose workspace is gone can still be listed and removed, and says what is wrong."""
    place = home.path + "/gone"
    os.mkdir(place)
    home.call("create", "lost", "-C", place)
    os.rmdir(place)
    tap.ok("lost" in home.call("ls").stdout, "it is listed")
    tap.ok(refused(home.call("diff", "lost"), 2, place) or refused(home.call("diff", "lost"), 5, place), "diff says why not")
    tap.equal(home.call("rm", "lost").returncode, 0, "and it can be removed")


def test_undo_conflict(home):
    home.put("a.txt", "a\n")
    fresh(home, "u", "echo b > a.txt; echo n > n.txt")
    home.call("promote", "u")
    home.put("a.txt", "edited since\n")
    done = home.call("undo")
    tap.ok(refused(done, 3, "a.txt") and home.read("a.txt") == "edited since\n" and home.read("n.txt") == "n\n",
           "undo of what was edited since is a conflict, and nothing is taken back", done)
    clean(home, "u")


def edit_unseen(path, change):
    """CHANGE(path) on a promoted object, with the mtime it had."""
    before = os.stat(path)
    change(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def overwrite(path):
    with open(path, "r+", encoding="utf-8") as file:
        file.write("HOST")


def test_undo_unseen(home):
    """Edits of the host that keep size and mtime are edits: undo does not take them away."""
    edits = {"content": ("f", overwrite), "content of what was merged": ("m", overwrite), "content below a new directory": ("d/in", overwrite)}
    try:
        os.setxattr(home.put("probe"), "user.aisbx", b"x")
        edits |= {f"an attribute of {name}": (name, lambda path: os.setxattr(path, "user.host", b"mine")) for name in ("f", "d", "d/in")}
    except OSError as problem:
        tap.skip("attributes of what was promoted", problem.strerror)
    for what, (name, change) in edits.items():
        clean(home)
        home.put("f", "old text\n")
        home.put("m", LINES)
        home.call("create", "un")
        sh(home, "un", "printf 'new text\\n' > f; sed -i 's/line 30$/LINE 30/' m; mkdir d; echo some > d/in")
        home.put("m", LINES.replace("line 3\n", "LINE 3\n"))
        done = home.call("promote", "un", "--strategy", "merge")
        edit_unseen(os.path.join(home.work, name), change)
        before = home.tree()
        undo = home.call("undo")
        tap.ok(done.returncode == 0 and undo.returncode == 3 and name in undo.stderr and home.tree() == before,
               f"undo refuses: {what} was edited unseen", (done, undo))
        home.call("rm", "un")
    clean(home)


def test_undo_moved_times(home):
    """What only moved the ctime is no edit: another name, a later promotion that was undone."""
    home.put("f", "old\n")
    home.put("d/g", "old\n")
    before = home.tree()
    fresh(home, "first", "echo first > f; mkdir new; echo first > new/h")
    first = home.call("promote", "first")
    fresh(home, "second", "echo second > f; echo second > new/h")
    second = home.call("promote", "second")
    tap.ok(first.returncode == second.returncode == 0 and home.read("new/h") == "second\n", "two promotions", (first, second))
    os.link(home.work + "/f", home.path + "/elsewhere")
    one, other = home.call("undo"), home.call("undo")
    tap.ok(one.returncode == other.returncode == 0, "both are taken back", (one, other))
    tap.equal(home.tree(), before, "and all is as before")
    os.unlink(home.path + "/elsewhere")
    clean(home, "first", "second")


def test_undo_unreadable(home):
    home.put("a.txt", "a\n")
    home.put("b.txt", "b\n")
    fresh(home, "u", "echo 1 > a.txt")
    older = json.loads(home.call("promote", "u", "--json").stdout)["promotion_id"]
    home.call("exec", "u", "--", "sh", "-c", "echo 2 > b.txt")
    newer = json.loads(home.call("promote", "u", "--json").stdout)["promotion_id"]
    record = os.path.join(home.path, ".local/share/aisbx/promotions", newer, "record")
    with open(record, "rb") as file:
        content = file.read()
    with open(record, "wb") as file:
        file.write(b"nonsense\n")
    done = home.call("undo")
    tap.ok(refused(done, 70, newer) and (home.read("a.txt"), home.read("b.txt")) == ("1\n", "2\n"),
           "where the newest cannot be read, undo does not take back the one before it", done)
    rows = {row["promotion_id"]: row for row in home.rows("promotions")}
    tap.equal((rows[newer]["state"], rows[older]["state"]), ("unreadable", "live"), "the list has both")
    tap.equal([rows[newer].get(key, "absent") for key in ("made", "files", "paths", "sandbox", "target", "bundle")], [None] * 6,
              "and says nothing of what it could not read")
    line = [line.split() for line in home.call("promotions").stdout.splitlines() if newer in line]
    tap.equal(line, [[newer, "unknown", "unreadable", "unknown"]], "to people neither")
    with open(record, "wb") as file:
        file.write(content)
    home.call("undo")
    home.call("undo")
    tap.equal((home.read("a.txt"), home.read("b.txt")), ("a\n", "b\n"), "read again, both are taken back in turn")
    clean(home, "u")


def test_try_modes(home):
    """A mode of a directory is a change: applied with a word about it and taken back by undo, or not applied."""
    home.put("modes/f", "x\n")
    path = home.work + "/modes"
    os.chmod(path, 0o755)
    for words, mode, kept in ((["-y"], 0o700, 0), ([], 0o755, 1), (["-y", "--cache"], 0o711, 0), (["-y", "--cache"], 0o755, 1)):
        inside = f"chmod {mode:o} modes" if not kept else "chmod 750 modes" + ("; exit 6" if "-y" in words else "")
        done = home.call("try", *words, "--", "sh", "-c", inside)
        tap.ok("nothing changed" not in done.stderr and os.stat(path).st_mode & 0o7777 == mode and ("aisbx undo" in done.stderr) == (not kept)
               and len(home.rows("ls")) == kept, f"try {' '.join(words)}: {inside}", done)
        home.call("rm", done.stderr.splitlines()[-1]) if kept else home.call("undo")
        tap.equal(os.stat(path).st_mode & 0o7777, 0o755, "and the mode is as it was again")
    done = home.call("try", "-y", "--json", "--", "chmod", "711", "modes")
    found = json.loads(done.stdout or "{}")
    tap.ok(os.stat(path).st_mode & 0o7777 == 0o711 and (found.get("promotion") or {}).get("applied") == ["modes"], "try --json names it, too", found)
    home.call("undo")


def test_try(home):
    home.put("a.txt", "a\n")
    done = home.call("try", "-n", "--", "sh", "-c", "echo said; echo b > a.txt")
    name = done.stderr.splitlines()[-1]
    tap.ok(done.returncode == 0 and re.fullmatch(r"try-[0-9a-f]{6}", name) and "M\ta.txt" in done.stderr
           and home.read("a.txt") == "a\n" and done.stdout == "said\n", "try -n: stdout is the command's", done)
    tap.equal(home.call("exec", name, "--", "cat", "a.txt").stdout, "b\n", "it is kept")
    home.call("rm", name)
    done = home.call("try", "--", "sh", "-c", "echo b > a.txt")
    tap.ok(home.read("a.txt") == "a\n" and re.search(r"^try-[0-9a-f]{6}\n\Z", done.stderr, re.M), "without a terminal, too", done)
    home.call("rm", done.stderr.splitlines()[-1])
    done = home.call("try", "-y", "--", "sh", "-c", "echo b > a.txt; rm -f nothing")
    tap.ok(done.returncode == 0 and home.read("a.txt") == "b\n" and "aisbx undo" in done.stderr and not done.stdout and home.rows("ls") == [],
           "try -y applies and cleans up", done)
    done = home.call("try", "-y", "--", "sh", "-c", "echo c > a.txt; exit 6")
    tap.ok(done.returncode == 6 and home.read("a.txt") == "b\n", "a command that failed is not applied", done)
    home.call("rm", done.stderr.splitlines()[-1])
    done = home.call("try", "-y", "--", "sh", "-c", "echo c > Makefile")
    tap.ok(done.returncode == 4 and not os.path.exists(home.work + "/Makefile"), "try -y of a trigger is 4", done)
    home.call("rm", done.stderr.splitlines()[-1])
    done = home.call("try", "-y", "--", "true")
    tap.ok(done.returncode == 0 and "nothing changed" in done.stderr and home.rows("ls") == [], "nothing changed", done)
    test_try_modes(home)
    done = home.call("try", "-y", "--json", "--", "sh", "-c", "echo d > a.txt; echo out")
    found = json.loads(done.stdout or "{}")
    tap.ok(found.get("stdout") == "out\n" and found["promotion"]["applied"] == ["a.txt"] and found["kept"] is None,
           "try --json: the run and the promotion", found)
    done = home.call("try", "-n", "--json", "--", "sh", "-c", "echo e > a.txt")
    kept = json.loads(done.stdout or "{}").get("kept")
    tap.ok([row["name"] for row in home.rows("ls")] == [kept], "try -n --json names what it kept", done)
    tap.equal(home.call("try", "--", "no-such-program").returncode, 127, "not found is 127")
    for row in home.rows("ls"):
        home.call("rm", row["name"])
    clean(home)


def test_long_lists(home):
    """Lists fold by directory; what is installed as a whole is one question."""
    fresh(home, "long", "mkdir -p many node_modules/.bin node_modules/p env/bin; for i in $(seq 60); do echo 1 > many/f$i; done; "
                        "echo 1 > single; for f in a b; do echo > node_modules/.bin/$f; done; "
                        "echo '{}' > node_modules/p/package.json; echo > env/bin/activate; echo > env/bin/activate.fish; "
                        "echo > env/pyvenv.cfg")
    done = home.call("promote", "long")
    rows = [line.split()[0] for line in done.stdout.splitlines() if line.endswith("--allow-path")]
    tap.ok(done.returncode == 4 and rows == ["env/", "node_modules/"] and "node_modules/.bin/b" in done.stdout and
           done.stdout.endswith("aisbx promote long --allow-path env --allow-path node_modules\n"),
           "one question for each directory, with what is in it", done)
    words = ["promote", "long", "--allow-path", "env", "--allow-path", "node_modules"]
    done = home.call(*words)
    lines = done.stdout.splitlines()
    tap.ok(done.returncode == 0 and "  many/  61 changes, 120 B" in lines and "  single" in lines and len(lines) <= 33,
           "a long list is folded, with counts and sizes", done)
    home.call("undo")
    done = home.call(*words, "--all")
    tap.ok("  many/f60" in done.stdout.splitlines(), "--all lists each", done)
    home.call("undo")
    clean(home, "long")
    home.put("app/main.c", "x\n")
    fresh(home, "long", "mkdir -p app/bin app/sub new/bin; for f in app/bin/activate app/pyvenv.cfg app/Makefile app/sub/.envrc; do "
                        "echo > $f; done; echo > new/bin/activate; echo > new/Makefile")
    done = home.call("promote", "long")
    rows = {line.split()[0] for line in done.stdout.splitlines() if line.endswith("--allow-path")}
    tap.equal(rows, {"app/bin/activate", "app/pyvenv.cfg", "app/Makefile", "app/sub/.envrc", "new/bin/activate", "new/Makefile"},
              "one file makes no environment of a source tree")
    clean(home, "long")
    fresh(home, "long", "mkdir -p node_modules/.bin node_modules/z; for i in $(seq 60); do echo > node_modules/.bin/f$i; done; "
                        "echo > node_modules/z/.envrc")
    done = home.call("promote", "long")
    tap.ok("node_modules/z/.envrc" in done.stdout and "--all lists them" in done.stdout and len(done.stdout.splitlines()) < 12,
           "of many, one of each kind is shown", done)
    done = home.call("promote", "long", "--all")
    tap.ok(all(f"node_modules/.bin/f{i} " in done.stdout for i in range(1, 61)), "and each with --all", done)
    clean(home, "long")


def test_generated(home):
    """What a build leaves is one question, where no directory of the host's own bears the name."""
    made = "for d in target/debug sub/build/x dist vendor/a .tox/py; do mkdir -p $d; echo all: > $d/Makefile; echo > $d/.envrc; echo > $d/data; done"
    fresh(home, "gen", made)
    done = home.call("promote", "gen")
    rows = [line.split()[0] for line in done.stdout.splitlines() if line.endswith("--allow-path")]
    tap.equal((done.returncode, rows), (4, [".tox/", "dist/", "sub/build/", "target/", "vendor/"]), "one question for each directory that a tool made")
    tap.ok("vendor/a/Makefile" in done.stdout and "2 that could run by themselves" in done.stdout, "with what in it runs by itself", done)
    done = home.call("promote", "gen", *(word for row in rows for word in ("--allow-path", row.rstrip("/"))))
    tap.ok(done.returncode == 0 and home.read("dist/data") == "\n", "which these words answer", done)
    clean(home, "gen")
    home.put("build/own.c", "x\n")
    for name in (".nox", "target"):
        home.put(name + "/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n")
    fresh(home, "gen", "echo > build/CACHEDIR.TAG; echo all: > build/Makefile; mkdir .nox/x; echo all: > .nox/x/Makefile; mkdir own; echo > own/CACHEDIR.TAG; echo > own/Makefile")
    done = home.call("promote", "gen")
    rows = [line.split()[0] for line in done.stdout.splitlines() if line.endswith("--allow-path")]
    tap.equal(rows, [".nox/", "build/Makefile", "own/Makefile"], "a mark made inside turns no directory of the host into a generated one")
    home.call("rm", "gen")
    fresh(home, "gen", "echo > build/CACHEDIR.TAG")
    done = home.call("promote", "gen")
    tap.ok(done.returncode == 0, "a mark is promoted", done)
    home.call("rm", "gen")
    fresh(home, "gen", "echo all: > build/Makefile; echo all: > .nox/Makefile; echo all: > target/Makefile")
    done = home.call("promote", "gen")
    rows = [line.split()[0] for line in done.stdout.splitlines() if line.endswith("--allow-path")]
    tap.equal(rows, [".nox/", "build/Makefile", "target/Makefile"], "and counts for no later promotion, nor does any in a directory that one brought")
    home.call("rm", "gen")
    for script in ("mkdir -p up/x; echo > up/x/CACHEDIR.TAG", "mv up/x dist", "mkdir vendor; mv up vendor/build; echo > vendor/build/CACHEDIR.TAG"):
        fresh(home, "gen", script)
        done = home.call("promote", "gen")
        tap.ok(done.returncode == 0, f"{script}: promoted", done)
        home.call("rm", "gen")
    fresh(home, "gen", "echo all: > dist/Makefile; echo all: > vendor/build/Makefile")
    done = home.call("promote", "gen")
    rows = [line.split()[0] for line in done.stdout.splitlines() if line.endswith("--allow-path")]
    tap.equal(rows, ["dist/Makefile", "vendor/build/Makefile"], "nor does one that came with a renamed directory")
    clean(home, "gen")


def test_try_agreed(home):
    """What comes while a person thinks was not agreed to."""
    def meanwhile(script):
        name, = [row["name"] for row in home.rows("ls")]
        done = home.call("exec", name, "--", "sh", "-c", script)
        home.call("stop", name)
        tap.equal(done.returncode, 0, "another process changes the sandbox")
        return b"y\n"

    home.call("rm", *[row["name"] for row in home.rows("ls")])
    words = ["try", "--", "sh", "-c", "mkdir -p .git/hooks; echo b > Makefile"]
    seen, code = home.on_terminal(*words, typed=[(b"Apply this", b"y\n"), (b"these too", lambda: meanwhile(
        "echo > .git/hooks/pre-commit; echo > .envrc"))])
    tap.ok(code != 0 and b"no longer what was reviewed" in seen and b"is kept" in seen and len(home.rows("ls")) == 1 and
           not os.path.exists(home.work + "/Makefile") and not os.path.exists(home.work + "/.envrc"),
           "a yes to some triggers is none to others", (seen, code))
    home.call("rm", *[row["name"] for row in home.rows("ls")])
    words = ["try", "--", "sh", "-c", "echo b > b.txt"]
    seen, code = home.on_terminal(*words, typed=[(b"Apply this", lambda: meanwhile("echo c > b.txt; echo c > c.txt"))])
    tap.ok(code != 0 and b"no longer what was reviewed" in seen and len(home.rows("ls")) == 1 and
           not os.path.exists(home.work + "/b.txt"), "nor is a yes to the changes", (seen, code))
    home.call("rm", *[row["name"] for row in home.rows("ls")])
    clean(home)


def test_try_asks(home):
    home.put("a.txt", "a\n")
    words = ["try", "--", "sh", "-c", "echo b > a.txt"]
    seen, code = home.on_terminal(*words, typed=[(b"Apply this", b"n\n")])
    tap.ok(code == 0 and home.read("a.txt") == "a\n" and home.rows("ls") == [], "no forgets it", (seen, code))
    seen, code = home.on_terminal(*words, typed=[(b"Apply this", b"d\n"), (b"Apply this", b"what\n"), (b"Apply this", b"k\n")])
    tap.ok(home.read("a.txt") == "a\n" and len(home.rows("ls")) == 1 and b"+b" in seen, "diff shows it, keep keeps it", seen)
    home.call("rm", *[row["name"] for row in home.rows("ls")])
    seen, code = home.on_terminal(*words, typed=[(b"Apply this", b"y\n")])
    tap.ok(code == 0 and home.read("a.txt") == "b\n" and b"aisbx undo" in seen, "yes applies it", (seen, code))
    words = ["try", "--", "sh", "-c", "echo b > Makefile"]
    seen, code = home.on_terminal(*words, typed=[(b"Apply this", b"y\n"), (b"these too", b"n\n")])
    tap.ok(code == 4 and not os.path.exists(home.work + "/Makefile"), "a trigger is asked for again", (seen, code))
    home.call("rm", *[row["name"] for row in home.rows("ls")])
    many = ["try", "--", "sh", "-c", "mkdir -p node_modules/.bin; for i in $(seq 51); do echo >node_modules/.bin/f$i; done"]
    seen, code = home.on_terminal(*many, typed=[(b"Apply this", b"y\n"), (b"these too", b"y\n")])
    tap.ok(code == 4 and b"these too" not in seen and not os.path.exists(home.work + "/node_modules"),
           "more than a question can show are not agreed to by one", seen)
    seen, code = home.on_terminal(*words, typed=[(b"Apply this", b"y\n"), (b"these too", b"y\n")])
    tap.ok(code == 0 and home.read("Makefile") == "b\n", "and applied on a second yes", (seen, code))
    clean(home)


def test_kill(home):
    """A130, coarsely: killed at some instants, the next command finds all old or all new."""
    outcomes = set()
    for turn in range(6):
        for n in range(20):
            home.put(f"k{n}", "old\n")
        fresh(home, "kill", "for n in $(seq 0 19); do echo new > k$n; done; echo new > only-new")
        child = subprocess.Popen([AISBX, "promote", "kill"], cwd=home.work, env=home.env, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        time.sleep(0.004 * turn)
        child.kill()
        child.wait()
        home.call("promotions" if turn % 2 else "ls")
        seen = {home.read(f"k{n}") for n in range(20)} | {"new\n" if os.path.exists(home.work + "/only-new") else "old\n"}
        tap.ok(len(seen) == 1, f"killed after {4 * turn} ms: all old or all new", seen)
        outcomes |= seen
        stray = [n for n in os.listdir(home.work) if n.startswith(".aisbx")]
        tap.equal(stray, [], "no stray file")
        clean(home, "kill")


def main():
    with Home("aisbx-pr.") as home:
        if not home.can_run(tap, "promotion"):
            return tap.done()
        for test in (test_staging_hidden, test_apply, test_select, test_snapshot, test_own_renamed, test_conflicts,
                     test_repeated_elsewhere,
                     test_merge_favours, test_base_pinned, test_base_git, test_bases_git, test_into_sandbox,
                     test_consent, test_consent_exact, test_consent_before_conflict, test_consent_carried, test_links, test_hardlink,
                     test_names, test_untouched_copy, test_closed, test_unsearchable, test_xattrs, test_modes, test_outside,
                     test_directories, test_from_outside,
                     test_types, test_odd_names, test_artifact, test_torn, test_ownership, test_gone_workspace, test_undo_conflict,
                     test_undo_unseen, test_undo_moved_times,
                     test_undo_unreadable, test_try, test_long_lists, test_generated, test_try_asks, test_try_agreed, test_kill):
            tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
