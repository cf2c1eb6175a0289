#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a promotion brings into git directories: kinds of files by places, what refs come to name, what git's configuration
names; and git itself, started by us in a directory that was tampered with.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a home of its own.
"""

import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from clitest import Home, Tap, refused  # noqa: E402

tap = Tap()
# Makes a difference only if it is looked for: nothing waits this long when all is well.
PATIENCE = 120


def git(home, *words, check=True, cwd=None):
    done = subprocess.run(["git", *words], cwd=cwd or home.work, env=home.env, capture_output=True, text=True, check=False,
                          timeout=PATIENCE)
    if check and done.returncode != 0:
        raise RuntimeError(done.stderr)
    return done.stdout.strip()


def begin(home):
    """A repository with one commit; sandboxes of earlier tests are gone."""
    names = [row["name"] for row in home.rows("ls")]
    if names:
        home.call("rm", *names)
    shutil.rmtree(home.work)
    os.mkdir(home.work)
    home.put("Makefile", "all:\n\ttrue\n")
    home.put("src/a.c", "one\n")
    git(home, "init", "-q", "-b", "main")
    git(home, "add", ".")
    git(home, "commit", "-q", "-m", "first")


def change(home, name, script):
    """What a sandbox does; its own git is the machine's."""
    home.call("create", name)
    done = home.call("exec", name, "--", "sh", "-c", "set -e\n" + script)
    home.call("stop", name)
    if done.returncode != 0:
        raise RuntimeError(f"{name}: {done.stderr}")


def consents(home, name, *flags):
    """{path: [why]} of what a promotion asks about; None when it fails for another reason."""
    done = home.call("promote", name, "--dry-run", "--json", *flags, timeout=PATIENCE)
    if done.returncode not in (0, 4):
        print(f"# {name}: {done.returncode} {done.stderr}", flush=True)
        return None
    import json
    found = {}
    for row in json.loads(done.stdout.splitlines()[0])["consent"]:
        found.setdefault(row["path"], []).append(row["why"])
    return found


PLACES = {
    ".git": ("COMMIT_EDITMSG", "MERGE_MSG", "description", "gc.log", "logs/HEAD-{}", "refs/heads/{}", "objects/aa/{}",
             "lfs/objects/{}", "lfs/tmp/{}"),
    "store": ("COMMIT_EDITMSG", "SQUASH_MSG", "refs/notes/{}", "objects/pack/{}", "logs/refs/{}"),
    "vendor/x.git": ("MERGE_MSG", "refs/tags/{}", "objects/{}"),
    ".git/modules/sub": ("COMMIT_EDITMSG", "logs/{}", "refs/heads/{}", "objects/bb/{}"),
}
KINDS = {
    "link": "ln -s config {0}",
    "link-far": "ln -s /etc/hostname {0}",
    "link-up": "ln -s ../../src/a.c {0}",
    "hard": "ln src/a.c {0}",
    "fifo": "mkfifo {0}",
}


def make_repositories(home):
    git(home, "init", "-q", "--bare", "store")
    git(home, "init", "-q", "--bare", "vendor/x.git")
    os.makedirs(home.work + "/.git/modules")
    git(home, "init", "-q", "--bare", ".git/modules/sub")


def test_kinds(home):
    begin(home)
    make_repositories(home)
    script, paths, number = [], [], 0
    for directory, names in PLACES.items():
        for name in names:
            for kind, command in KINDS.items():
                if "{}" not in name and kind != list(KINDS)[number % len(KINDS)]:
                    continue
                path = f"{directory}/{name.format(kind)}"
                script.append(f"mkdir -p $(dirname {path}); rm -f {path}; " + command.format(path))
                paths.append(path)
            number += 1
    change(home, "kinds", "\n".join(script))
    found = consents(home, "kinds") or {}
    missing = [path for path in paths if "link or special file in a git directory" not in found.get(path, [])]
    tap.equal(missing, [], f"{len(paths)} links and fifos in git directories are asked about")
    plain = [f"{directory}/{name.format('plain')}" for directory, names in PLACES.items() for name in names
             if "refs/" not in name and "pack" not in name]
    change(home, "plain", "\n".join(f"mkdir -p $(dirname {path}); rm -f {path}; echo text > {path}" for path in plain))
    tap.equal(consents(home, "plain"), {}, f"{len(plain)} regular files there are data")
    change(home, "into", "ln -s .git/config notes; mkdir d; ln -s ../store/hooks d/h; ln -s src/a.c fine; ln -s .git g")
    tap.equal(sorted(consents(home, "into") or {}), ["d/h", "g", "notes"], "so are links into them")


def test_hard_links(home):
    """Agreed to, a name in a git directory still is no second name of anything."""
    begin(home)
    change(home, "hard", "ln src/a.c .git/COMMIT_EDITMSG-2; echo x > new; ln new .git/description-2; ln new other")
    done = home.call("promote", "hard", "--allow-path", ".git/*")
    inodes = {name: os.stat(f"{home.work}/{name}").st_ino if os.path.exists(f"{home.work}/{name}") else None
              for name in ("src/a.c", ".git/COMMIT_EDITMSG-2", "new", ".git/description-2", "other")}
    tap.ok(done.returncode == 0 and inodes["src/a.c"] != inodes[".git/COMMIT_EDITMSG-2"]
           and inodes["new"] != inodes[".git/description-2"] and inodes["new"] == inodes["other"],
           "nothing is linked into a git directory", (done, inodes))


def test_piecewise(home):
    begin(home)
    home.put("notes/HEAD", "the author's own\n")
    change(home, "one", "printf '[core]\\n\\tfsmonitor = false\\n' > notes/config; mkdir parts; echo x > parts/config")
    tap.equal(consents(home, "one"), {}, "a config in a plain directory is plain")
    home.call("promote", "one")
    for name, script in (("two", "mkdir -p notes/objects notes/refs"), ("three", "echo ../x > notes/commondir"),
                         ("four", "mkdir tmp; mkdir tmp/objects; mv notes/HEAD tmp/HEAD"),
                         ("five", "mkdir -p Notes; echo 'ref: refs/heads/x' > parts/HEAD; mkdir parts/OBJECTS")):
        change(home, name, script)
        tap.ok(consents(home, name), f"what makes it a git directory asks ({name})", consents(home, name))
    change(home, "six", "mkdir -p notes/objects; echo evil > notes/config")
    tap.ok("notes/config" in (consents(home, "six") or {}), "so does what comes with it")


EVIL = "echo evil >> Makefile; git commit -qam evil; git checkout -q HEAD~1 -- Makefile; git reset -q Makefile"
# What is done inside, and which of the changed paths must ask.
MOVES = {
    "branch": (EVIL, ".git/refs/heads/main"),
    "workflow": ("mkdir -p .github/workflows; echo x > .github/workflows/x.yml; git add -A; git commit -qm x; "
                 "git rm -rq --cached .github; rm -r .github", ".git/refs/heads/main"),
    "new branch": ("git checkout -qb side; echo evil >> Makefile; git commit -qam e; git checkout -q main", ".git/refs/heads/side"),
    "tag": ("git checkout -q --detach; echo evil >> Makefile; git commit -qam e; git tag t; git checkout -q main",
            ".git/refs/tags/t"),
    "detached": ("git checkout -q --detach; echo evil >> Makefile; git commit -qam e; git show HEAD~1:Makefile > Makefile",
                 ".git/HEAD"),
    "other branch checked out": ("git checkout -qb side; echo evil >> Makefile; git commit -qam e; git show main:Makefile > Makefile",
                                 ".git/HEAD"),
    "packed": (EVIL + "; git pack-refs --all", ".git/packed-refs"),
    "stash": ("echo evil >> Makefile; git stash -q", ".git/refs/stash"),
    "notes": ("git checkout -q --orphan o; git commit -qm o --allow-empty; git update-ref refs/notes/x $(git commit-tree -m n "
              "$(git write-tree)); echo evil > Makefile; git add Makefile; git update-ref refs/notes/y "
              "$(git commit-tree -m n $(git write-tree)); git checkout -qf main", ".git/refs/notes/y"),
    "staged only": ("cp Makefile m; echo evil >> Makefile; git add Makefile; cat m > Makefile; rm m", ".git/index"),
    "merge head": ("git checkout -qb side; echo evil >> Makefile; git commit -qam e; git checkout -q main; "
                   "git rev-parse side > .git/MERGE_HEAD; git branch -qD side", ".git/MERGE_HEAD"),
    "head elsewhere": ("git tag t; echo 'ref: refs/tags/t' > .git/HEAD", ".git/HEAD"),
    "head out": ("echo 'ref: refs/heads/../../config' > .git/HEAD", ".git/HEAD"),
    "symbolic branch": ("echo 'ref: refs/heads/main' > .git/refs/heads/other", ".git/refs/heads/other"),
    "no id": ("echo '[core]' > .git/refs/heads/other", ".git/refs/heads/other"),
    "id and more": ("(git rev-parse HEAD; echo '[core]') > .git/refs/heads/other", ".git/refs/heads/other"),
    "missing objects": ("echo 1234567890123456789012345678901234567890 > .git/refs/heads/other", ".git/refs/heads/other"),
    "a link": ("ln -s .git/config notes; git add notes; git commit -qm l; git rm -q --cached notes; rm notes", ".git/refs/heads/main"),
    "objects in capitals": ("mkdir -p .git/Objects/info; echo /tmp > .git/Objects/info/x", ".git/Objects/info/x"),
    "replace": ("b=$(echo evil | git hash-object -w --stdin); git replace $(git rev-parse HEAD:Makefile) $b",
                ".git/refs/replace/@"),
    "alternates": ("mkdir -p .git/objects/info; echo /tmp > .git/objects/info/alternates", ".git/objects/info/alternates"),
    "packed replace": ("echo \"$(git rev-parse HEAD) refs/replace/$(git rev-parse HEAD:)\" > .git/packed-refs", ".git/packed-refs"),
    "commit graph": ("git commit-graph write -q --reachable 2>/dev/null || git commit-graph write --reachable",
                     ".git/objects/info/commit-graph"),
    "object replaced": ("b=$(git rev-parse HEAD:Makefile); f=.git/objects/$(echo $b | cut -c1-2)/$(echo $b | cut -c3-); chmod u+w $f; "
                        "e=$(echo evil | git hash-object -w --stdin); "
                        "cat .git/objects/$(echo $e | cut -c1-2)/$(echo $e | cut -c3-) > $f", ".git/objects/@"),
    "lying pack": ("git repack -qa; f=$(ls .git/objects/pack/*.idx); chmod u+w $f; printf 'garbage' | "
                   "dd of=$f bs=1 seek=1100 conv=notrunc 2>/dev/null", ".git/objects/pack/@.idx"),
    "pack of another name": ("git repack -qa; f=$(ls .git/objects/pack/*.idx); cp $f '.git/objects/pack/x y.idx'",
                             ".git/objects/pack/x y.idx"),
}
QUIET = {
    "a plain commit": "echo two >> src/a.c; git commit -qam two",
    "a new branch": "git checkout -qb side; echo two >> src/a.c; git commit -qam two; git checkout -q main",
    "checked out": "git checkout -qb side; echo two >> src/b.c; git add .; git commit -qm two",
    "a tag and packed refs": "git tag v1; git pack-refs --all",
    "a stash": "echo two >> src/a.c; git stash -q",
    "repacked": "echo two >> src/a.c; git commit -qam two; git -c repack.writeBitmaps=false repack -qa",
    "staged": "echo two >> src/a.c; git add src/a.c",
    "committed, then packed": "echo two >> src/a.c; git commit -qam two; git pack-refs --all",
    "an orphan": "git checkout -q --orphan new",
    "amended": "git commit -q --amend -m other",
    "a stash that came and went": "echo two >> src/a.c; git stash -q; git stash pop -q",
    "a remote's head": "mkdir -p .git/refs/remotes/o; git rev-parse HEAD > .git/refs/remotes/o/main; "
                       "echo 'ref: refs/remotes/o/main' > .git/refs/remotes/o/HEAD",
}
QUIET_LOGS = {
    "a commit": "echo two >> src/a.c; git commit -qam three",
    "an amended commit": "git commit -q --amend --allow-empty -m other",
    "a stash on another": "echo two >> src/a.c; git stash push -q",
    "a rebased branch": "git checkout -qb side HEAD~1; echo two >> src/b.c; git add .; git commit -qm side; git rebase -q main; "
                        "git checkout -q main; git merge -q side",
    "a branch, packed": "git branch new; git commit -q --allow-empty -m three; git pack-refs --all",
    "a reset": "git reset -q --hard HEAD~1",
}


# What costs the host a part of its history, and where that is asked.
LOST = {
    "objects": ("rm -rf .git/objects", ".git/objects"),
    "some objects": ("rm -rf .git/objects/??", ".git/objects/@"),
    "objects moved": ("mv .git/objects/?? src", ".git/objects/@"),
    "objects shut": ("chmod 0 .git/objects/??/*", ".git/objects/@"),
    "collected": ("git gc -q --prune=now", ".git/objects/@"),
    "packs": ("rm -f .git/objects/pack/*", ".git/objects/pack/@"),
    "a pack's index": ("rm -f .git/objects/pack/*.idx", ".git/objects/pack/@.idx"),
    "refs": ("rm -rf .git/refs", ".git/refs"),
    "refs moved": ("mv .git/refs/heads src/heads", ".git/refs/heads"),
    "a branch": ("git branch -qD side", ".git/refs/heads/side"),
    "an empty branch": (": > .git/refs/heads/side", ".git/refs/heads/side"),
    "a tag that is packed": ("git tag -d packed", ".git/packed-refs"),
    "packed refs": ("rm .git/packed-refs", ".git/packed-refs"),
    "packed refs shut": ("chmod 0 .git/packed-refs", ".git/packed-refs"),
    "a branch shut": ("chmod 0 .git/refs/heads/side", ".git/refs/heads/side"),
    "a directory for a branch that was packed": ("rm .git/refs/heads/stale; mkdir .git/refs/heads/stale", ".git/refs/heads/stale"),
    "back to what was packed": ("rm .git/refs/heads/stale", ".git/refs/heads/stale"),
    "logs": ("rm -rf .git/logs", ".git/logs"),
    "one log": ("rm .git/logs/HEAD", ".git/logs/HEAD"),
    "a log cut short": ("echo > .git/logs/HEAD", ".git/logs/HEAD"),
    "a log written over": ("n=$(stat -c %s .git/logs/HEAD); head -c $n /dev/zero | tr '\\0' x > .git/logs/HEAD", ".git/logs/HEAD"),
    "a branch's log, longer": ("l=.git/logs/refs/heads/main; (sed 1s/^./f/ $l; cat $l) > l; cat l > $l; rm l", ".git/logs/refs/heads/main"),
    "a worktree's log": ("l=.git/worktrees/linked/logs/HEAD; (cat $l | tr 0 1; cat $l) > l; cat l > $l; rm l", ".git/worktrees/linked/logs/HEAD"),
    "a stash for another": ("git stash drop -q; echo two >> src/a.c; git stash push -qm 'words that are longer than those before'",
                            ".git/logs/refs/stash"),
    "a long log's end": ("sed -i '$ s/last/lost/' .git/logs/refs/heads/long", ".git/logs/refs/heads/long"),
    "HEAD": ("rm .git/HEAD", ".git/HEAD"),
    "HEAD a directory": ("rm .git/HEAD; mkdir .git/HEAD", ".git/HEAD"),
    "an empty HEAD": (": > .git/HEAD", ".git/HEAD"),
    "the index": ("rm .git/index", ".git/index"),
    "alternates": ("rm .git/objects/info/alternates", ".git/objects/info/alternates"),
    "all of it": ("rm -rf .git", ".git/objects"),
    "all of it, elsewhere": ("mkdir y; mv .git y", ".git@"),
    "lfs": ("rm -rf .git/lfs", ".git/lfs"),
    "a bare one": ("rm -rf store/objects/pack store/packed-refs store/HEAD", "store/HEAD"),
    "a module's": ("rm -rf .git/modules/sub", ".git/modules/sub/HEAD"),
}


def test_lost(home):
    """No promotion costs the host a part of a repository's history without a word, by whatever way out."""
    begin(home)
    make_repositories(home)
    for words in (("tag", "packed"), ("branch", "stale"), ("pack-refs", "--all"), ("commit", "-q", "--allow-empty", "-m", "two"),
                  ("branch", "-f", "stale"), ("branch", "side"), ("repack", "-q"), ("commit", "-q", "--allow-empty", "-m", "three")):
        git(home, *words)
    home.put(".git/lfs/objects/aa/x", "large\n")
    home.put("src/a.c", "stashed\n")
    git(home, "stash", "push", "-q", "-m", "s")
    git(home, "worktree", "add", "-q", home.path + "/linked")
    git(home, "branch", "long")
    with open(home.work + "/.git/logs/refs/heads/long", "a") as out:
        line = f"{git(home, 'rev-parse', 'HEAD')} {git(home, 'rev-parse', 'HEAD')} A <a@example.org> 1 +0000\t"
        out.write(f"{line}again\n" * 100 + f"{line}last\n")
    home.put(".git/objects/info/alternates", "/nowhere\n")
    for number, (what, (script, path)) in enumerate(LOST.items()):
        name = f"l{number}"
        change(home, name, script)
        found = consents(home, name) or {}
        tap.ok(any(matches(path, one) for one in found), f"{what}: {path} asks", found)
        if number % 9 == 0:
            before = home.tree()
            done = home.call("try", "-y", "--", "sh", "-c", script)
            tap.ok(home.tree() == before, f"{what}: so does try -y", done)
        home.call("rm", name)
    change(home, "agreed", "git branch -qD side")
    done = home.call("promote", "agreed", "--allow-path", ".git/refs/heads/side", "--allow-path", ".git/logs/refs/heads/side")
    tap.ok(done.returncode == 0 and git(home, "branch", "--list", "side") == "", "it can be agreed to", done)
    git(home, "worktree", "remove", "--force", home.path + "/linked")


def test_lost_unread(home):
    """Packed refs that are more than is read, or that may not be read, are not none."""
    begin(home)
    packed, head = home.work + "/.git/packed-refs", git(home, "rev-parse", "HEAD")
    with open(packed, "w") as out:
        out.write("# pack-refs with: peeled fully-peeled sorted \n")
        out.writelines(f"{head} refs/tags/{number:0200}\n" for number in range(70000))
    tap.ok(os.path.getsize(packed) > 16 << 20, "there are very many packed refs: the control")
    for number, script in enumerate(("rm .git/packed-refs", ": > .git/packed-refs", "sed -i '$ d' .git/packed-refs", "sed -i 5,70000d .git/packed-refs")):
        change(home, f"u{number}", script)
        found = consents(home, f"u{number}") or {}
        tap.ok("git history that the host has, and would lose" in found.get(".git/packed-refs", []), f"{script}: asks", found)
        home.call("rm", f"u{number}")
    change(home, "quiet", "echo two >> src/a.c; git commit -qam two")
    tap.equal(consents(home, "quiet"), {}, "a commit beside them asks nobody")
    change(home, "hides", "git rev-parse HEAD > .git/refs/tags/1")
    found = consents(home, "hides") or {}
    tap.ok("git history that the host has, and would lose" in found.get(".git/refs/tags/1", []), "a ref that may hide one of them asks", found)


# What moves a ref whose old value no log of the host's names, and where that is asked. Before each, the host has no logs but logged's.
MOVED = {
    "a branch, back": ("git branch -qf side HEAD~1", ".git/refs/heads/side"),
    "a branch, to another history": ("git branch -qf side $(git commit-tree -m x HEAD^{tree})", ".git/refs/heads/side"),
    "the branch checked out, back": ("git reset -q --hard HEAD~1", ".git/refs/heads/main"),
    "an amended commit": ("git commit -q --amend --allow-empty -m other", ".git/refs/heads/main"),
    "a branch without a new log": ("git rev-parse HEAD~1 > .git/refs/heads/side", ".git/refs/heads/side"),
    "a branch that has a log, without a word in it": ("git rev-parse HEAD~1 > .git/refs/heads/logged", ".git/refs/heads/logged"),
    "a branch with words in its log that are not of it": (
        "git rev-parse HEAD~1 > .git/refs/heads/logged; sed -n '$ p' .git/logs/refs/heads/logged | tr 0-9 1 >> .git/logs/refs/heads/logged",
        ".git/refs/heads/logged"),
    "a packed branch, back": ("git branch -qf packed HEAD~1", ".git/refs/heads/packed"),
    "a packed branch, back where it is packed": ("sed -i \"s,.* refs/heads/packed,$(git rev-parse HEAD~1) refs/heads/packed,\" .git/packed-refs",
                                                 ".git/packed-refs"),
    "a branch, back, then packed": ("git branch -qf side HEAD~1; git pack-refs --all", ".git/refs/heads/side"),
    "a packed branch, back, then packed": ("git branch -qf packed HEAD~1; git pack-refs --all", ".git/packed-refs"),
    "a tag, back": ("git tag -f v1 HEAD~1", ".git/refs/tags/v1"),
    "a tag, forward": ("git tag -f v0 HEAD", ".git/refs/tags/v0"),
    "a packed tag": ("git tag -f packed HEAD~1", ".git/refs/tags/packed"),
    "a tag with words": ("git tag -f -m other words HEAD", ".git/refs/tags/words"),
    "a remote's branch": ("git update-ref refs/remotes/o/main HEAD~1", ".git/refs/remotes/o/main"),
    "notes": ("git update-ref refs/notes/commits $(git commit-tree -m n HEAD^{tree})", ".git/refs/notes/commits"),
    "a stash": ("git rev-parse HEAD > .git/refs/stash", ".git/refs/stash"),
    "a ref of another kind": ("git update-ref refs/mine/kept HEAD~1", ".git/refs/mine/kept"),
    "a worktree's HEAD": ("git rev-parse HEAD > .git/worktrees/linked/HEAD", ".git/worktrees/linked/HEAD"),
    "a worktree's HEAD, to a branch": ("echo ref: refs/heads/main > .git/worktrees/linked/HEAD", ".git/worktrees/linked/HEAD"),
    "a bare one's branch": ("git -C store update-ref refs/heads/main $(git -C store rev-parse main~1)", "store/refs/heads/main"),
}
QUIET_MOVED = {
    "a commit": "echo two >> src/a.c; git commit -qam four",
    "a commit, packed": "echo two >> src/a.c; git commit -qam four; git pack-refs --all",
    "a branch, forward": "git commit -q --allow-empty -m four; git branch -qf side",
    "a packed branch, forward": "git checkout -q packed; git commit -q --allow-empty -m four",
    "packed": "git pack-refs --all",
    "a logged branch, back": "git branch -qf logged HEAD~1",
    "another branch checked out": "git checkout -q side",
    "a detached HEAD": "git checkout -q --detach HEAD~1",
    "a new branch in the past": "git branch new HEAD~2",
}


def test_moved(home):
    """A ref is not moved off commits that nothing on the host would name any more."""
    begin(home)
    for message in ("two", "three"):
        git(home, "commit", "-q", "--allow-empty", "-m", message)
    home.put("src/a.c", "stashed\n")
    for words in (("stash", "push", "-q"), ("branch", "packed"), ("tag", "packed"), ("pack-refs", "--all"), ("branch", "side"), ("tag", "v1"),
                  ("tag", "v0", "HEAD~1"), ("tag", "-m", "words", "words"), ("update-ref", "refs/remotes/o/main", "HEAD"),
                  ("update-ref", "refs/mine/kept", "HEAD"), ("notes", "add", "-m", "note"), ("clone", "-q", "--bare", ".", "store"),
                  ("worktree", "add", "-q", "--detach", home.path + "/linked")):
        git(home, *words)
    git(home, "commit", "-q", "--allow-empty", "-m", "alone", cwd=home.path + "/linked")
    shutil.rmtree(home.work + "/.git/logs")
    shutil.rmtree(home.work + "/.git/worktrees/linked/logs")
    git(home, "branch", "logged")
    shutil.rmtree(home.work + "/.git/logs/refs/heads/main", ignore_errors=True)
    for number, (what, (script, path)) in enumerate(MOVED.items()):
        change(home, f"v{number}", script)
        found = consents(home, f"v{number}") or {}
        tap.ok("git history that the host has, and would lose" in found.get(path, []), f"{what}: {path} asks", found)
        home.call("rm", f"v{number}")
    for number, (what, script) in enumerate(QUIET_MOVED.items()):
        change(home, f"w{number}", script)
        tap.equal(consents(home, f"w{number}"), {}, f"{what} asks nobody where no log names the refs")
        home.call("rm", f"w{number}")
    git(home, "checkout", "-q", "--detach")
    git(home, "commit", "-q", "--allow-empty", "-m", "alone")
    shutil.rmtree(home.work + "/.git/logs")
    change(home, "head", "git checkout -q main")
    found = consents(home, "head") or {}
    tap.ok(".git/HEAD" in found, "a detached HEAD, to a branch: .git/HEAD asks", found)
    done = home.call("promote", "head", "--allow-path", ".git/HEAD")
    tap.ok(done.returncode == 0 and home.read(".git/HEAD") == "ref: refs/heads/main\n", "it can be agreed to", done)
    git(home, "worktree", "remove", "--force", home.path + "/linked")


def matches(pattern, path):
    start, star, end = pattern.partition("@")
    return path.startswith(start) and path.endswith(end) if star else path == pattern


def test_moves(home):
    begin(home)
    for number, (what, (script, path)) in enumerate(MOVES.items()):
        name = f"m{number}"
        try:
            change(home, name, script)
        except RuntimeError as problem:
            tap.ok(False, what, problem)
            continue
        found = consents(home, name)
        tap.ok(found and any(matches(path, one) for one in found), f"{what}: {path} asks", found)
        home.call("rm", name)
    change(home, "words", EVIL)
    found = consents(home, "words") or {}
    tap.equal(found.get(".git/refs/heads/main"), ["brings Makefile (build file)"], "the file that it brings is named")
    done = home.call("promote", "words", "--allow-path", ".git/refs/heads/main", "--allow-path", ".git/index")
    tap.ok(done.returncode == 0 and git(home, "log", "-1", "--format=%s") == "evil", "and can be agreed to", done)


def test_quiet(home):
    begin(home)
    for number, (what, script) in enumerate(QUIET.items()):
        change(home, f"q{number}", script)
        tap.equal(consents(home, f"q{number}"), {}, f"{what} asks nobody")
        home.call("rm", f"q{number}")
    home.put("src/a.c", "stashed\n")
    git(home, "stash", "push", "-q")
    git(home, "commit", "-q", "--allow-empty", "-m", "two")
    for number, (what, script) in enumerate(QUIET_LOGS.items()):
        change(home, f"r{number}", script)
        tap.equal(consents(home, f"r{number}"), {}, f"{what} asks nobody where the host has logs of it")
        home.call("rm", f"r{number}")
    git(home, "worktree", "add", "-q", home.path + "/linked")
    change(home, "linked", "echo two >> src/a.c; git commit -qam two")
    tap.equal(consents(home, "linked"), {}, "nor does a commit beside a linked work tree")
    git(home, "worktree", "remove", "--force", home.path + "/linked")


def test_words(home):
    """What git makes by itself is called what it is, when it asks and when it is in the way."""
    begin(home)
    change(home, "gc", "git commit-graph write --reachable")
    why = (consents(home, "gc") or {}).get(".git/objects/info/commit-graph", [])
    tap.ok(len(why) == 1 and why[0].startswith("git cache of other objects"), "a commit graph is no configuration", why)
    change(home, "index", "echo two >> src/a.c; git commit -qam two")
    done = home.call("promote", "index")
    tap.equal(done.returncode, 0, "a commit is promoted")
    # What git does by itself where times differ.
    os.utime(home.work + "/Makefile", (1, 1))
    git(home, "update-index", "--refresh")
    done = home.call("undo")
    tap.ok(done.returncode == 3 and ".git/index" in done.stderr and "git reset --keep HEAD~1" in done.stderr,
           "an index that git wrote since is named, with the way back", done)
    git(home, "reset", "-q", "--keep", "HEAD~1")
    tap.ok(home.read("src/a.c") == "one\n" and git(home, "status", "--porcelain") == "", "which is one", git(home, "status"))


def test_named(home):
    begin(home)
    for name in ("scripts/h/pre-commit", "scripts/clean", "conf/extra", "scripts/free", "scripts/global/x"):
        home.put(name, "#!/bin/sh\n", 0o755)
    script = "for f in scripts/h/pre-commit scripts/clean conf/extra scripts/free scripts/global/x; do echo evil >> $f; done"
    change(home, "named", script)
    tap.equal(consents(home, "named"), {}, "plain files of a project")
    git(home, "config", "core.hooksPath", "scripts/h")
    git(home, "config", "filter.tidy.clean", "./scripts/clean %f")
    git(home, "config", "include.path", "../conf/extra")
    home.put("conf/extra", "[alias]\n\tgo = !true\n")
    change(home, "named2", script)
    tap.equal(sorted(consents(home, "named2") or {}), ["conf/extra", "scripts/clean", "scripts/h/pre-commit"],
              "what the repository's configuration names asks")
    git(home, "config", "--global", "core.fsmonitor", home.work + "/scripts/global")
    git(home, "config", "--unset", "core.hooksPath")
    found = sorted(consents(home, "named2") or {})
    git(home, "config", "--global", "--unset", "core.fsmonitor")
    tap.equal(found, ["conf/extra", "scripts/clean", "scripts/global/x"], "and what the user's does, as it is now")
    listed = home.call("diff", "named2", "--json").stdout
    tap.ok('"scripts/clean"' in listed and home.call("diff", "named2", "--name-status").stdout.splitlines()[0].endswith("conf/extra"),
           "diff says so, too", listed)


def test_own_git(home):
    """repo commit in a git directory that was tampered with."""
    for what, plant, word in (
            ("a linked log", lambda: (os.unlink(log(home)), os.symlink("../../Makefile", log(home))), "link"),
            ("a log with another name", lambda: (os.unlink(log(home)), os.link(home.work + "/Makefile", log(home))), "link"),
            ("a linked folder of logs", lambda: (os.rename(home.work + "/.git/logs/refs", home.path + "/refs"),
                                                 os.symlink(home.path + "/refs", home.work + "/.git/logs/refs")), "link"),
            ("a fifo as HEAD", lambda: fifo(home, "HEAD"), "regular"),
            ("a fifo as index", lambda: fifo(home, "index"), "regular"),
            ("a fifo as packed-refs", lambda: fifo(home, "packed-refs"), "regular"),
            ("a fifo as alternates", lambda: fifo(home, "objects/info/alternates"), "regular")):
        begin(home)
        change(home, "own", "echo two > src/a.c")
        home.call("promote", "own")
        plant()
        before = home.read("Makefile")
        done = home.call("repo", "commit", "own", "-m", "x", timeout=PATIENCE)
        tap.ok(refused(done, done.returncode, word) and done.returncode != 0 and home.read("Makefile") == before,
               f"{what} stops it, and nothing is written", done)
        shutil.rmtree(home.path + "/refs", ignore_errors=True)


def test_included(home):
    """A configuration that names a fifo, by every way of naming one: nothing waits for it."""
    os.mkfifo(home.path + "/fifo")
    for what, text in (
            ("an include", "[include]\n\tpath = {fifo}\n"),
            ("a relative one", "[include]\n\tpath = ../../fifo\n"),
            ("one of HOME", "[include]\n\tpath = ~/fifo\n"),
            ("one on the line of its condition", '[includeIf "gitdir:a=b/"]path = /none\n[includeIf "onbranch:x=**"]PATH={fifo}\n'),
            ("one in quotes, over two lines", '[include]\n\tpath = "{half}\\\n{rest}" ; why\n'),
            ("one of an included file", "[include]\n\tpath = {home}/more\n"),
            ("a file of patterns", "[core]\n\texcludesFile = {fifo}\n"),
            ("one of the work tree", "[core]\n\tattributesFile = pipe\n"),
            ("a NUL before it", "[a]\n\tb = c\0\n[include]\n\tpath = {fifo}\n"),
            ("a file without end", "[include]\n\tpath = /dev/zero\n"),
            ("files that include themselves", "[include]\n\tpath = {home}/again\n"),
            ("more than is read", "#" * (2 << 20) + "\n[include]\n\tpath = {fifo}\n"),
            ("a flood of values", "=" * 100000 + "\n[include]\n\tpath = {fifo}\n")):
        begin(home)
        change(home, "included", "echo two > src/a.c")
        with open(home.path + "/more", "w") as out:
            out.write(f"[include]\n\tpath = {home.path}/fifo\n")
        with open(home.path + "/again", "w") as out:
            out.write(f"[include]\n\tpath = {home.path}/again\n" * 9)
        if not os.path.lexists(home.work + "/pipe"):
            os.mkfifo(home.work + "/pipe")
        half = len(home.path) // 2
        with open(home.work + "/.git/config", "a") as out:
            out.write(text.replace("{fifo}", home.path + "/fifo").replace("{home}", home.path)
                      .replace("{half}", home.path[:half]).replace("{rest}", home.path[half:] + "/fifo"))
        try:
            done = home.call("promote", "included", "--dry-run", timeout=PATIENCE)
            tap.ok("git is not started" in done.stderr, f"{what}: refused by name", done)
        except subprocess.TimeoutExpired as late:
            tap.ok(False, f"{what}: nothing waits", late)
        os.unlink(home.work + "/pipe")
    begin(home)
    with open(home.path + "/more", "w") as out:
        out.write("[core]\n\texcludesFile = /dev/null\n\thooksPath = ../hooks\n")
    with open(home.work + "/.git/config", "a") as out:
        out.write(f"[include]\n\tpath = {home.path}/more\n\tpath = {home.path}/absent\n")
    change(home, "included", "echo two > src/a.c")
    done = home.call("promote", "included", timeout=PATIENCE)
    tap.ok(done.returncode == 0, "regular files, absent ones and /dev/null are no hindrance", done)


def log(home):
    return home.work + "/.git/logs/refs/heads/main"


def fifo(home, name):
    path = f"{home.work}/.git/{name}"
    if os.path.exists(path):
        os.unlink(path)
    os.mkfifo(path)


def main():
    if not shutil.which("git"):
        tap.skip("git data", "no git here")
        return tap.done()
    with Home(prefix="aisbx-gitdata-") as home:
        home.env.update({"GIT_CONFIG_NOSYSTEM": "1"})
        for key in [k for k in home.env if k.startswith(("GIT_AUTHOR", "GIT_COMMITTER"))]:
            del home.env[key]
        with open(home.path + "/.gitconfig", "w") as out:
            out.write("[user]\n\tname = A User\n\temail = user@example.org\n")
        if not home.can_run(tap, "git data"):
            return tap.done()
        for test in (test_kinds, test_hard_links, test_piecewise, test_moves, test_lost, test_lost_unread, test_moved, test_quiet, test_words, test_named, test_own_git, test_included):
            tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
