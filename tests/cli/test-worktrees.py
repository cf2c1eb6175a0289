#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Git directories outside the workspace: linked worktrees, submodules, separate git directories, borrowed objects.

They come along copy-on-write, with their data and nothing that runs or is secret; what a workspace names without being
entitled to it stays hidden, and a sentence says why.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a home of its own.
"""

import os
import shutil
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from clitest import Home, Tap  # noqa: E402

tap = Tap()
PATIENCE = 120
CANARY = "canary-7c1f"
WORK = """set -e
test -z "$(git status --porcelain)"
git log --oneline | grep -q first
echo two >> a.txt
git diff --stat | grep -q a.txt
git commit -q -a -m inside
git log --oneline | grep -q inside
git branch another
git branch | grep -q another
echo all well
"""


def git(home, *words, cwd, check=True):
    done = subprocess.run(["git", "-c", "protocol.file.allow=always", *words], cwd=cwd, env=home.env, capture_output=True,
                          text=True, check=False, timeout=PATIENCE)
    if check and done.returncode != 0:
        raise RuntimeError(f"git {words}: {done.stderr}")
    return done.stdout.strip()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out:
        out.write(text)


def repository(home, path):
    """One commit, and something secret wherever git keeps something that is none of a worktree's business."""
    os.makedirs(path)
    git(home, "init", "-q", "-b", "main", cwd=path)
    write(path + "/a.txt", "one\n")
    git(home, "add", ".", cwd=path)
    git(home, "commit", "-q", "-m", "first", cwd=path)
    return path


def snapshot(path):
    """Everything below PATH on the host, to see that nothing changed."""
    found = {}
    for top, dirs, files in os.walk(path):
        for name in dirs + files:
            whole = os.path.join(top, name)
            about = os.lstat(whole)
            content = None
            if stat.S_ISREG(about.st_mode):
                with open(whole, "rb") as file:
                    content = file.read()
            found[os.path.relpath(whole, path)] = (about.st_mode, content)
    return found


def begin(home):
    names = [row["name"] for row in home.rows("ls", cwd=home.path)]
    if names:
        home.call("rm", *names, cwd=home.path)
    for name in os.listdir(home.path):
        if name not in (".local", ".cache", ".config"):
            path = os.path.join(home.path, name)
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.remove(path)
    write(home.path + "/.gitconfig", '[user]\n\tname = "Ann"\n\temail = ann@example.org\n')
    os.mkdir(home.work)


def worktree(home):
    main = repository(home, home.path + "/main")
    tree = home.path + "/tree"
    git(home, "worktree", "add", "-q", "-b", "side", tree, cwd=main)
    return main, tree


def submodule(home):
    repository(home, home.path + "/lib")
    top = repository(home, home.path + "/super")
    git(home, "submodule", "add", "-q", home.path + "/lib", "sub", cwd=top)
    return top, top + "/sub"


def separate(home):
    tree, outside = home.path + "/tree", home.path + "/stores/one"
    os.makedirs(home.path + "/stores")
    git(home, "init", "-q", "-b", "main", "--separate-git-dir", outside, tree, cwd=home.path)
    write(tree + "/a.txt", "one\n")
    git(home, "add", ".", cwd=tree)
    git(home, "commit", "-q", "-m", "first", cwd=tree)
    git(home, "config", "core.worktree", tree, cwd=tree)
    return outside, tree


def borrowed(home, count=1):
    repository(home, home.path + "/base-0")
    for number in range(count):
        git(home, "clone", "-q", "--shared", f"{home.path}/base-{number}", f"{home.path}/base-{number + 1}", cwd=home.path)
    return home.path + "/base-0", f"{home.path}/base-{count}"


def test_kinds(home):
    kinds = {"a linked worktree": worktree, "a submodule": submodule, "a separate git directory": separate,
             "borrowed objects": borrowed, "objects borrowed four times over": lambda home: borrowed(home, 4)}
    for what, make in kinds.items():
        begin(home)
        outside, tree = make(home)
        before = snapshot(outside)
        done = home.call("run", "--", "sh", "-c", WORK, cwd=tree)
        tap.ok(done.returncode == 0 and "all well" in done.stdout, f"{what}: git works in a run", done)
        done = home.call("try", "-n", "--", "sh", "-c", WORK, cwd=tree)
        tap.ok(done.returncode == 0 and "all well" in done.stdout, f"{what}: git works in a try", done)
        home.call("create", "box", cwd=tree)
        done = home.call("exec", "box", "--", "sh", "-c", WORK, cwd=tree)
        again = home.call("exec", "box", "--", "git", "log", "--oneline", cwd=tree)
        tap.ok("all well" in done.stdout and "inside" in again.stdout, f"{what}: git works in a named sandbox", (done, again))
        home.call("stop", "box", cwd=tree)
        again = home.call("exec", "box", "--", "git", "log", "--oneline", cwd=tree)
        tap.ok("inside" in again.stdout, f"{what}: a commit is still there after a stop", again)
        tap.equal(snapshot(outside), before, f"{what}: the host's git directory is untouched")


def plant(main):
    """Secrets in all that a worktree must not see, and programs in all that git would start."""
    directory = main + "/.git"
    for name in ("hooks/pre-commit", "credentials", "worktrees/other/HEAD", "modules/m/config", "info/notes", "index-old",
                 "lfs/x", "COMMIT_EDITMSG"):
        write(f"{directory}/{name}", CANARY)
    os.chmod(directory + "/hooks/pre-commit", 0o755)
    with open(directory + "/config", "a") as out:
        out.write(f"""[core]
	fsmonitor = /bin/{CANARY}
	hooksPath = {main}/{CANARY}
	sshCommand = {CANARY}
	pager = {CANARY}
	askPass = {CANARY}
[credential]
	helper = !{CANARY}
[credential "https://example.org"]
	username = {CANARY}
[include]
	path = ~/{CANARY}
[includeIf "gitdir:/"]
	path = ~/{CANARY}
[filter "lfs"]
	clean = {CANARY}
[alias]
	st = !{CANARY}
[http]
	extraHeader = Authorization: {CANARY}
[url "https://{CANARY}@example.org/"]
	insteadOf = https://example.org/
[remote "origin"]
	url = https://ann:{CANARY}@example.org/x.git?t={CANARY}
	pushurl = {CANARY}@example.org:x.git
	fetch = +refs/heads/*:refs/remotes/origin/*
	uploadpack = {CANARY}
[remote "ext"]
	url = ext::sh -c {CANARY}
[submodule "m"]
	update = !{CANARY}
[branch "side"]
	remote = origin
	merge = refs/heads/side
[branch "main"]
	remote = https://ann:{CANARY}@example.org/x.git
[remote "https://ann:{CANARY}@example.org/y.git"]
	promisor = true
""")


def test_guarded(home):
    begin(home)
    main, tree = worktree(home)
    plant(main)
    write(main + "/.git/worktrees/tree/config.worktree", f"[core]\n\tfsmonitor = {CANARY}\n\tsparseCheckout = false\n")
    write(main + "/secret.txt", CANARY)
    look = f"cd {main} && find . -type f | xargs grep -l {CANARY}; find .git -name {CANARY}; true"
    control = subprocess.run(["sh", "-c", look], capture_output=True, text=True, check=True)
    tap.ok(len(control.stdout.splitlines()) >= 11, "the secrets are there on the host", control)
    done = home.call("run", "--", "sh", "-c", look, cwd=tree)
    tap.ok(done.returncode == 0 and done.stdout == "", "nothing secret of the git directory or of the main tree is seen", done)
    done = home.call("run", "--", "sh", "-c", "git config -l --local | sort; ls -A " + main, cwd=tree)
    tap.ok("remote.origin.url=https://example.org/x.git\n" in done.stdout and "branch.side.merge=refs/heads/side" in done.stdout
           and "core.repositoryformatversion=0" in done.stdout, "the configuration keeps what a repository needs", done)
    tap.ok("submodule.m.update" not in done.stdout and "remote.ext.url" not in done.stdout and "uploadpack" not in done.stdout
           and done.stdout.endswith("\n.git\n"), "and nothing that runs", done)
    done = home.call("run", "--", "sh", "-c", "ls -A ../main/.git ../main/.git/hooks ../main/.git/worktrees", cwd=tree)
    tap.ok("other" not in done.stdout and "pre-commit" not in done.stdout and "credentials" not in done.stdout,
           "no hooks, other worktrees or unknown files", done)
    # The host makes one while the sandbox lives.
    shutil.rmtree(main + "/.git/hooks")
    home.call("create", "late", cwd=tree)
    home.call("exec", "late", "--", "true", cwd=tree)
    write(main + "/.git/hooks/pre-commit", CANARY)
    done = home.call("exec", "late", "--", "cat", main + "/.git/hooks/pre-commit", cwd=tree)
    tap.ok(CANARY not in done.stdout, "nor hooks that are made later", done)
    with open(main + "/.git/config", "a") as out:
        out.write('[core\n')
    done = home.call("run", "--", "ls", main + "/.git", cwd=tree)
    tap.ok(done.returncode != 0 and "configuration cannot be read" in done.stderr, "a broken configuration is not guessed at", done)


def test_logs(home):
    """Git logs the words of a pull, with the token in them."""
    for log in ("logs/HEAD", "logs/refs/heads/main", "worktrees/tree/logs/HEAD"):
        begin(home)
        main, tree = worktree(home)
        look = f"grep -rl {CANARY} {main}/.git; git reflog main >/dev/null && echo looked"
        with open(f"{main}/.git/{log}", "a") as out:
            out.write(f"{'0' * 40} {'1' * 40} Ann <ann@example.org> 1 +0000\tpull https://ann:{CANARY}@example.org/x.git: Fast-forward\n")
        done = home.call("run", "--", "sh", "-c", look, cwd=tree)
        tap.ok(done.stdout == "looked\n" and "the logs of" in done.stderr, f"{log} with a token in it is not shown, and that is said", done)
        done = home.call("run", "--", "sh", "-c", WORK + "git reflog | grep -q inside && git stash list && echo logged", cwd=tree)
        tap.ok("logged" in done.stdout, "git goes on with logs of its own", done)
    begin(home)
    main, tree = worktree(home)
    done = home.call("run", "--", "cat", f"{main}/.git/logs/HEAD", cwd=tree)
    tap.ok("first" in done.stdout and "the logs of" not in done.stderr, "logs without one are shown", done)


def hostile(home, directory, words, what, *flags, seen=None):
    """A workspace whose .git names DIRECTORY: nothing of it is seen, and one sentence has WORDS."""
    tree = home.path + "/hostile"
    shutil.rmtree(tree, ignore_errors=True)
    os.mkdir(tree)
    write(tree + "/.git", f"gitdir: {directory}\n")
    done = home.call("run", *flags, "--", "ls", "-A", seen or directory, cwd=tree, timeout=PATIENCE)
    tap.ok(done.returncode not in (0, 124, 125) and words in done.stderr and done.stderr.count("not shown") == 1,
           f"{what}: not shown, and said why", done)


def test_hostile(home):
    begin(home)
    victim = repository(home, home.path + "/victim") + "/.git"
    hostile(home, victim, "does not name this work tree", "a repository that does not link back")
    git(home, "worktree", "add", "-q", home.path + "/linked", cwd=home.path + "/victim")
    hostile(home, victim + "/worktrees/linked", "worktree of another directory", "another directory's worktree")
    write(victim + "/worktrees/linked/gitdir", home.path + "/hostile/.git/../.git\n")
    hostile(home, victim + "/worktrees/linked", "worktree of another directory", "a link back by another spelling")
    fake = home.path + "/fake"
    write(fake + "/HEAD", "ref: refs/heads/main\n")
    write(fake + "/commondir", victim + "\n")
    write(fake + "/gitdir", home.path + "/hostile/.git\n")
    hostile(home, fake, "no worktree of the directory", "a made-up worktree that shares a repository", seen=victim)
    write(home.path + "/.ssh/id_ed25519", CANARY)
    hostile(home, home.path + "/.ssh", "no git directory", "~/.ssh")
    git(home, "init", "-q", "--bare", home.path + "/.ssh/x", cwd=home.path)
    git(home, "--git-dir", home.path + "/.ssh/x", "config", "core.worktree", home.path + "/hostile", cwd=home.path)
    hostile(home, home.path + "/.ssh/x", "where files are hidden", "a repository in ~/.ssh that links back")
    plain = home.path + "/documents"
    write(plain + "/HEAD", CANARY)
    write(plain + "/config", f"[core]\n\tworktree = {home.path}/hostile\n")
    hostile(home, plain, "no git directory", "a directory that is no git directory")
    hostile(home, home.path + "/nothing", "No such file", "a directory that is not there")
    good = home.path + "/good"
    git(home, "init", "-q", "--bare", good, cwd=home.path)
    git(home, "--git-dir", good, "config", "core.worktree", home.path + "/hostile", cwd=home.path)
    done = home.call("run", "--", "ls", good, cwd=home.path + "/hostile")
    hostile(home, good, "where files are hidden", "a hidden path", "--hide", good)
    hostile(home, good, "where files are hidden", "one below a hidden path", "--hide", "~/g*")
    os.symlink(good, home.path + "/link")
    hostile(home, home.path + "/link", "a link is on the way", "a link to a repository that links back", seen=good)
    write(home.path + "/hostile/.git", f"gitdir: {good}\n")
    done = home.call("run", "--", "ls", good, cwd=home.path + "/hostile")
    tap.ok(done.returncode == 0 and "objects" in done.stdout and "not shown" not in done.stderr,
           "the same repository without a link, for comparison: shown", done)
    os.remove(home.path + "/hostile/.git")
    os.symlink(good, home.path + "/hostile/.git")
    done = home.call("run", "--", "ls", good, cwd=home.path + "/hostile")
    tap.ok(done.returncode != 0 and "it is a link" in done.stderr, "a .git that is a link out of the workspace: not shown", done)


def test_foreign(home):
    """What belongs to another account: root has to make one, a plain user finds one or has none to attack."""
    begin(home)
    tree = home.path + "/hostile"
    if os.geteuid() == 0:
        foreign = home.path + "/foreign"
        git(home, "init", "-q", "--bare", foreign, cwd=home.path)
        git(home, "--git-dir", foreign, "config", "core.worktree", tree, cwd=home.path)
        os.chown(foreign, 54322, 54322)
        hostile(home, foreign, "another account", "another account's repository")
        return
    hostile(home, "/etc", "another account", "/etc", seen="/etc/no-such-entry")
    hostile(home, "/root", "", "another account's home", seen="/root/no-such-entry")


def test_fifos(home):
    """Git would wait for them; a start does not."""
    for name in (".git", "HEAD", "commondir", "gitdir", "config", "packed-refs", "objects/info/alternates"):
        begin(home)
        main, tree = worktree(home)
        own = main + "/.git/worktrees/tree/"
        place = tree + "/.git" if name == ".git" else (own if name in ("commondir", "gitdir") else main + "/.git/") + name
        if os.path.exists(place):
            os.remove(place)
        os.mkfifo(place)
        done = home.call("run", "--", "echo", "started", cwd=tree, timeout=PATIENCE)
        tap.ok("started" in done.stdout, f"a fifo in the place of {name} does not hang a start", done)


def test_alternates(home):
    def name(*stores):
        tree = home.path + "/hostile"
        shutil.rmtree(tree, ignore_errors=True)
        os.mkdir(tree)
        git(home, "init", "-q", cwd=tree)
        write(tree + "/.git/objects/info/alternates", "".join(f"{store}\n" for store in stores))
        return tree

    begin(home)
    main = repository(home, home.path + "/main")
    write(main + "/.git/objects/notes", CANARY)
    tree = name(main + "/.git/objects")
    done = home.call("run", "--", "sh", "-c", f"ls -A {main} {main}/.git {main}/.git/objects", cwd=tree)
    tap.ok(done.returncode == 0 and "HEAD" not in done.stdout and "config" not in done.stdout and "pack" in done.stdout and
           "notes" not in done.stdout and "a.txt" not in done.stdout, "of a store that is borrowed from, objects alone are seen", done)
    tap.ok(f"{main}/.git/objects is readable inside" in done.stderr, "and each run names it", done)
    write(home.path + "/.ssh/objects/pack/x", CANARY)
    write(home.path + "/letters/pack/x", CANARY)
    git(home, "init", "-q", "--bare", home.path + "/.aws/x", cwd=home.path)
    cases = {home.path + "/.ssh/objects": "no object store", home.path + "/letters": "no object store", main: "no object store",
             home.path + "/.aws/x/objects": "where files are hidden", home.path: "the workspace lies in it",
             home.path + "/nothing": "No such file"}
    for store, words in cases.items():
        done = home.call("run", "--", "ls", store, cwd=name(store), timeout=PATIENCE)
        tap.ok(words in done.stderr and (done.returncode != 0 or store == home.path) and "letters" not in done.stdout,
               f"alternates that name {store.removeprefix(home.path) or 'HOME'}: not shown, and said why", done)
    os.symlink(main + "/.git", home.path + "/link")
    done = home.call("run", "--", "ls", main + "/.git", cwd=name(home.path + "/link/objects"))
    tap.ok(done.returncode != 0 and "a link is on the way" in done.stderr, "alternates behind a link: not shown", done)
    begin(home)
    _, tree = borrowed(home, 6)
    done = home.call("run", "--", "git", "log", cwd=tree)
    tap.ok("too often" in done.stderr and done.stderr.count("not shown") == 1, "the sixth store in a row is not shown", done)
    begin(home)
    main = repository(home, home.path + "/main")
    write(main + "/.git/objects/info/alternates", main + "/.git/objects\n")
    done = home.call("run", "--", "echo", "started", cwd=name(main + "/.git/objects"), timeout=PATIENCE)
    tap.ok("started" in done.stdout, "stores that borrow from themselves do not hang a start", done)


def test_nested(home):
    """A worktree with a submodule of its own, and one of a bare repository."""
    begin(home)
    repository(home, home.path + "/lib")
    main = repository(home, home.path + "/main")
    git(home, "submodule", "add", "-q", home.path + "/lib", "deep/sub", cwd=main)
    git(home, "commit", "-q", "-m", "sub", cwd=main)
    tree = home.path + "/tree"
    git(home, "worktree", "add", "-q", "-b", "side", tree, cwd=main)
    git(home, "submodule", "update", "-q", "--init", cwd=tree)
    own = main + "/.git/worktrees/tree/modules/deep/sub"
    write(own + "/hooks/pre-commit", CANARY)
    git(home, "config", "remote.origin.url", f"https://u:{CANARY}@example.org/", cwd=tree + "/deep/sub")
    done = home.call("run", "--", "sh", "-c", f"git status --porcelain && git -C deep/sub log --oneline && ! grep -r {CANARY} {own}",
                     cwd=tree)
    tap.ok(done.returncode == 0 and "first" in done.stdout, "a worktree's submodules work, guarded as it is", done)
    begin(home)
    repository(home, home.path + "/main")
    git(home, "clone", "-q", "--bare", home.path + "/main", home.path + "/store.git", cwd=home.path)
    git(home, "worktree", "add", "-q", "-b", "side", tree, cwd=home.path + "/store.git")
    done = home.call("run", "--", "sh", "-c", WORK, cwd=tree)
    tap.ok(done.returncode == 0, "a worktree of a bare repository works", done)


def inside(home, tree, script):
    """A sandbox of TREE in which SCRIPT ran."""
    home.call("create", "box", cwd=tree)
    done = home.call("exec", "box", "--", "sh", "-c", "set -e\n" + script, cwd=tree)
    home.call("stop", "box", cwd=tree)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)


def without_objects(directory):
    return {path: about for path, about in snapshot(directory).items() if not path.startswith("objects/")}


def test_undo_keeps_objects(home):
    """Another branch may stand on them by the time the promotion is taken back."""
    begin(home)
    main, tree = worktree(home)
    inside(home, tree, "echo two >> a.txt; git commit -q -a -m inside")
    known = len(home.rows("promotions", cwd=tree))
    done = home.call("promote", "box", "--commits", cwd=tree)
    git(home, "merge", "-q", "--ff-only", "side", cwd=main)
    git(home, "commit", "-q", "--allow-empty", "-m", "more", cwd=main)
    undone = home.call("undo", done.stdout.split()[-1], cwd=tree)
    tap.ok(undone.returncode == 0 and git(home, "log", "--format=%s", "main", cwd=main, check=False).split() == ["more", "inside", "first"],
           "undo leaves other branches whole", (done, undone))
    tap.equal(git(home, "log", "-1", "--format=%s", "side", cwd=main), "first", "and takes its own back")
    tap.equal(len(home.rows("promotions", cwd=tree)), known + 1, "as one promotion")


def test_commits(home):
    """Commits become commits of the host: objects and this worktree's branch, and nothing else of the directory."""
    for what, make in {"a linked worktree": worktree, "a submodule": submodule, "a separate git directory": separate}.items():
        begin(home)
        outside, tree = make(home)
        directory = git(home, "rev-parse", "--path-format=absolute", "--git-common-dir", cwd=tree)
        before, branch = snapshot(directory), git(home, "branch", "--show-current", cwd=tree)
        inside(home, tree, f"""
            echo two >> a.txt; git commit -q -a -m inside; git branch another; git tag mark
            git update-ref refs/heads/stolen HEAD; git config core.fsmonitor {CANARY}; git config remote.x.url {CANARY}
            mkdir -p {directory}/hooks {directory}/info; echo {CANARY} > {directory}/hooks/pre-commit
            echo '* filter=x' > {directory}/info/attributes; echo {directory} > {directory}/objects/info/alternates
            git worktree add -q -b elsewhere ../elsewhere
            git pack-refs --no-prune --all""")
        done = home.call("promote", "box", "--json", cwd=tree)
        tap.ok(done.returncode == 0 and '"commits_waiting":true' in done.stdout.replace(" ", ""),
               f"{what}: files are promoted, and commits are said to wait", done)
        tap.equal(snapshot(directory), before, f"{what}: no commit is promoted by accident")
        way = home.call("promote", "box", cwd=tree)
        tap.ok("-- git bundle create refs.bundle --all && aisbx cp box:refs.bundle ." in way.stdout, f"{what}: the way out for other refs is named", way)
        home.call("exec", "box", "--", "git", "bundle", "create", "refs.bundle", "--all", cwd=tree)
        home.call("cp", "box:refs.bundle", home.path + "/refs.bundle", cwd=tree)
        heads = git(home, "bundle", "list-heads", home.path + "/refs.bundle", cwd=tree)
        tap.ok("refs/heads/another" in heads and "refs/tags/mark" in heads, f"{what}: and is one", heads)
        home.call("exec", "box", "--", "rm", "refs.bundle", cwd=tree)
        os.unlink(home.path + "/refs.bundle")
        done = home.call("promote", "box", "--commits", "--dry-run", cwd=tree)
        tap.ok(done.returncode == 0 and snapshot(directory) == before, f"{what}: a dry run writes nothing", done)
        done = home.call("promote", "box", "--commits", cwd=tree)
        tap.ok(done.returncode == 0 and "take it back" in done.stdout, f"{what}: commits are promoted", done)
        after = snapshot(directory)
        own = os.path.relpath(git(home, "rev-parse", "--absolute-git-dir", cwd=tree), directory)
        own = "" if own == "." else own + "/"
        mine = {f"refs/heads/{branch}", f"logs/refs/heads/{branch}", own + "HEAD", own + "index", own + "logs/HEAD"}
        other = [path for path in set(before) | set(after)
                 if before.get(path) != after.get(path) and path not in mine and not path.startswith("objects/")]
        tap.equal(other, [], f"{what}: nothing else of the git directory was written")
        tap.ok("objects/info/alternates" not in after, f"{what}: nor borrowed objects")
        undone = home.call("undo", done.stdout.split()[-1], cwd=tree)
        tap.ok(undone.returncode == 0 and without_objects(directory) == {path: about for path, about in before.items()
                                                                         if not path.startswith("objects/")},
               f"{what}: undo brings the git directory back, but for objects", undone)
        home.call("promote", "box", "--commits", cwd=tree)
        tap.equal(git(home, "log", "-1", "--format=%s", cwd=tree), "inside", f"{what}: the host has the commit")
        tap.equal(git(home, "status", "--porcelain", cwd=tree), "", f"{what}: and its tree is that of the commit")
        tap.equal(git(home, "fsck", "--no-dangling", cwd=tree, check=False), "", f"{what}: and the repository is whole")


def test_commits_refused(home):
    begin(home)
    main, tree = worktree(home)
    before = snapshot(main)
    inside(home, tree, "printf 'all:\n' > Makefile; git add .; git commit -q -m make; git rm -q Makefile --cached; rm Makefile")
    done = home.call("promote", "box", "--commits", cwd=tree)
    tap.ok(done.returncode == 4 and "Makefile" in done.stdout + done.stderr and snapshot(main) == before,
           "a commit that brings a build file needs consent, also when it is not in the tree", done)
    begin(home)
    main, tree = worktree(home)
    inside(home, tree, "git switch -q main 2>/dev/null || git switch -q --ignore-other-worktrees main; "
                       "echo two >> a.txt; git commit -q -a -m onto-main")
    before = snapshot(main)
    done = home.call("promote", "box", "--commits", cwd=tree)
    tap.ok(done.returncode == 4 and "checked out in another worktree" in done.stderr and snapshot(main) == before,
           "a branch that is checked out elsewhere is not moved", done)
    begin(home)
    main, tree = worktree(home)
    inside(home, tree, "echo two >> a.txt; git commit -q -a -m inside")
    git(home, "commit", "-q", "--allow-empty", "-m", "outside", cwd=tree)
    before = snapshot(main)
    done = home.call("promote", "box", "--commits", cwd=tree)
    tap.ok(done.returncode == 3 and snapshot(main) == before, "a branch that moved on the host is a conflict", done)
    done = home.call("promote", "box", "--commits", "--strategy", "theirs", cwd=tree)
    tap.ok(done.returncode == 2 and snapshot(main) == before, "which no strategy decides", done)
    for head in ("ref: refs/heads/../../config", "ref: refs/heads/a b"):
        begin(home)
        main, tree = worktree(home)
        inside(home, tree, f"echo '{head}' > {main}/.git/worktrees/tree/HEAD")
        before = snapshot(main)
        done = home.call("promote", "box", "--commits", cwd=tree)
        tap.ok(done.returncode == 4 and "no proper branch" in done.stderr and snapshot(main) == before,
               f"HEAD as '{head}' is refused", done)
    begin(home)
    os.makedirs(home.path + "/plain")
    home.call("create", "box", cwd=home.path + "/plain")
    done = home.call("promote", "box", "--commits", cwd=home.path + "/plain")
    tap.ok(done.returncode == 5 and "no git repository" in done.stderr, "without a repository, that is said", done)


def test_branches(home):
    """create --worktree: a branch for each sandbox, which the host sees at promotion; its HEAD, index and files stay."""
    begin(home)
    tree = repository(home, home.path + "/plain")
    git(home, "branch", "old", cwd=tree)
    before = snapshot(tree)
    for name, branch in (("one", "feat/one"), ("two", "two"), ("three", "old")):
        done = home.call("create", name, "--worktree", branch, cwd=tree)
        tap.ok(done.returncode == 0 and branch in done.stdout, f"create --worktree {branch}", done)
        done = home.call("exec", name, "--", "sh", "-c", f"git branch --show-current; echo {name} >> a.txt; git commit -qam {name}", cwd=tree)
        tap.equal(done.stdout, branch + "\n", "which is checked out inside")
    tap.equal(snapshot(tree), before, "the host has none of it")
    for branch in ("a b", "-c", "", "a..b"):
        done = home.call("create", "bad", "--worktree", branch, cwd=tree)
        tap.ok(done.returncode == 2 and len(home.rows("ls", cwd=tree)) == 3, f"no branch, and no sandbox left: '{branch}'", done)
    done = home.call("create", "bad", "--worktree", "feat", cwd=tree)
    tap.ok(done.returncode == 0, "a name that begins that of a branch of another sandbox", done)
    home.call("rm", "bad", cwd=tree)
    done = home.call("promote", "one", "--commits", cwd=tree)
    second = home.call("promote", "two", "--commits", cwd=tree)
    tap.ok(done.returncode == 0 and second.returncode == 0, "one after the other", (done, second))
    after = snapshot(tree)
    kept = {path for path in before if after.get(path) != before[path]}
    tap.equal([kept, git(home, "branch", "--show-current", cwd=tree), git(home, "status", "--porcelain", cwd=tree)],
              [set(), "main", ""], "nothing that the host had changed")
    tap.equal([git(home, "log", "-1", "--format=%s", branch, cwd=tree) for branch in ("feat/one", "two")], ["one", "two"], "both branches are there")
    git(home, "fsck", "--strict", cwd=tree)
    done = home.call("create", "bad", "--worktree", "feat", cwd=tree)
    tap.ok(done.returncode == 2 and "--worktree feat: git cannot have it beside the branch feat/one\n" in done.stderr and len(home.rows("ls", cwd=tree)) == 3,
           "a name that begins that of a branch of the host is refused", done)
    before = snapshot(tree)
    done = home.call("promote", "three", "--commits", cwd=tree)
    tap.ok(done.returncode == 4 and "refs/heads/old" in done.stdout and snapshot(tree) == before,
           "a branch that the host has already needs consent", done)
    done = home.call("promote", "three", "--commits", "--allow-path", "refs/heads/old", cwd=tree)
    tap.equal([done.returncode, git(home, "log", "-1", "--format=%s", "old", cwd=tree)], [0, "three"], "and moves with it")
    done = home.call("undo", home.rows("promotions", cwd=tree)[0]["promotion_id"], cwd=tree)
    tap.equal([done.returncode, git(home, "log", "-1", "--format=%s", "old", cwd=tree)], [0, "first"], "taken back")


def test_branches_asked(home):
    """Commits as a request, and of a race's winner, with the same consent."""
    begin(home)
    tree = repository(home, home.path + "/plain")
    write(tree + "/.git/info/exclude", "*.log\n")
    home.call("create", "box", "--worktree", "asked", cwd=tree)
    home.call("exec", "box", "--", "sh", "-c", "echo run > Makefile; git add .; git commit -qm asked; echo x > run.log", cwd=tree)
    before = snapshot(tree)
    asked = home.data("promotions", "request", "box", "--commits", cwd=tree)
    tap.ok(any("Makefile" in one["why"] for one in asked.get("triggers", [])) and snapshot(tree) == before, "a request shows what it brings", asked)
    for words in (["src"], ["--strategy", "theirs"], ["--stages"]):
        tap.equal(home.call("promotions", "request", "box", "--commits", *words, cwd=tree).returncode, 2, f"no {words} with it")
    home.call("exec", "box", "--", "sh", "-c", "echo evil > .envrc; git add .; git commit -qm later", cwd=tree)
    done = home.call("promotions", "approve", asked.get("request_id", ""), "--yes", cwd=tree)
    tap.equal([done.returncode, git(home, "log", "-1", "--format=%s", "asked", cwd=tree), git(home, "status", "--porcelain", cwd=tree)],
              [0, "asked", ""], "approve applies what was shown, and nothing later")
    begin(home)
    tree = repository(home, home.path + "/plain")
    write(tree + "/.git/info/exclude", "*.log\n")
    home.call("create", "box", cwd=tree)
    home.call("exec", "box", "--", "sh", "-c", "echo x > run.log", cwd=tree)
    tap.equal(home.call("promotions", "request", "box", cwd=tree).returncode, 2, "without --ignored there is nothing to ask for")
    asked = home.data("promotions", "request", "box", "--ignored", cwd=tree)
    done = home.call("promotions", "approve", asked.get("request_id", ""), "--yes", cwd=tree)
    tap.ok(done.returncode == 0 and os.path.exists(tree + "/run.log"), "with it, it is applied", (asked, done))
    begin(home)
    tree = repository(home, home.path + "/plain")
    commit = "git switch -q -c {0}; echo {0} > {1}; git add .; git commit -qm {0}"
    done = home.call("race", "--promote", "--commits", "-c", "one=" + commit.format("won", "x"), "-c", "two=false", cwd=tree)
    tap.ok(done.returncode == 0 and git(home, "log", "-1", "--format=%s", "won", cwd=tree) == "won" and not os.path.exists(tree + "/x"),
           "the winner's branch", done)
    before = snapshot(tree)
    done = home.call("race", "--promote", "--commits", "-c", "one=" + commit.format("evil", "Makefile"), cwd=tree)
    tap.ok(done.returncode == 4 and snapshot(tree) == before, "with the same consent", done)
    done = home.call("race", "--promote", "--commits", "--strategy", "theirs", "-c", "one=true", cwd=tree)
    tap.equal(done.returncode, 2, "and no strategy")


def test_branches_checked(home):
    """What gates and people look at is what the commits bring."""
    begin(home)
    tree = repository(home, home.path + "/plain")
    home.call("create", "box", "--worktree", "side", cwd=tree)
    home.call("exec", "box", "--", "sh", "-c", "echo BAD > judged; git add .; git commit -qm bad; echo good > judged; echo x > untracked", cwd=tree)
    home.call("snap", "box", "--name", "dirty", cwd=tree)
    gate = ("--commits", "--gate", "cmd:grep -q good judged")
    for words in (("promote", "box", *gate), ("promote", "box@dirty", *gate), ("promotions", "request", "box", "--commits"),
                  ("race", "--promote", "--commits", "-c", "one=git switch -qc side; echo BAD > judged; git add .; git commit -qm x; echo good > judged")):
        done = home.call(*words, cwd=tree)
        tap.ok(done.returncode == 3 and "judged" in done.stderr and "commit or stash" in done.stderr and
               git(home, "branch", "--list", "side", cwd=tree) == "", f"{' '.join(words[:3])}: files that are not committed are refused", done)
    home.call("exec", "box", "--", "sh", "-c", "git commit -qam good", cwd=tree)
    done = home.call("promote", "box", "--snap", "dirty", "--commits", "--gate", "cmd:true", cwd=tree)
    tap.ok(done.returncode == 3 and git(home, "branch", "--list", "side", cwd=tree) == "", "so are those of a snapshot", done)
    done = home.call("promote", "box", *gate, cwd=tree)
    tap.ok(done.returncode == 0 and git(home, "show", "side:judged", cwd=tree) == "good", "committed, they are promoted", done)


def test_branches_hostile(home):
    """Of the workspace's own git directory, too, nothing goes but new objects and the branch."""
    begin(home)
    tree = repository(home, home.path + "/plain")
    git(home, "branch", "release", cwd=tree)
    before = snapshot(tree)
    home.call("create", "box", "--worktree", "mine", cwd=tree)
    script = ("echo x >> a.txt; git commit -qam x; git config core.fsmonitor 'touch /tmp/bad'; echo 'touch /tmp/bad' > .git/hooks/post-checkout; "
              "chmod +x .git/hooks/post-checkout; git update-ref refs/heads/release HEAD; echo /etc > .git/objects/info/alternates; git tag t")
    home.call("exec", "box", "--", "sh", "-c", script, cwd=tree)
    done = home.call("promote", "box", "--commits", cwd=tree)
    after = snapshot(tree)
    new = {path for path in after if path not in before and not path.startswith(".git/objects/")}
    tap.ok(done.returncode == 0 and {path for path in before if after.get(path) != before[path]} == set() and
           new == {".git/refs/heads/mine", ".git/logs/refs/heads/mine"} and ".git/objects/info/alternates" not in after,
           "no configuration, hook, tag, alternate or other branch", (done, new))
    for head, why in (("refs/heads/main", "checked out on the host"), ("refs/heads/../../config", "no proper branch"),
                      *((f"refs/heads/{name}", "no proper branch") for name in ("HEAD", "@", "a" * 40, "F" * 64))):
        before = snapshot(tree)
        home.call("exec", "box", "--", "sh", "-c", f"echo 'ref: {head}' > .git/HEAD; mkdir -p .git/refs/heads; git rev-parse mine > .git/refs/heads/main; cp .git/refs/heads/main .git/{head}", cwd=tree)
        done = home.call("promote", "box", "--commits", cwd=tree)
        tap.ok(done.returncode == 4 and why in done.stderr and snapshot(tree) == before, f"HEAD as {head} is refused", done)
    os.rename(tree + "/.git", home.path + "/elsewhere")
    os.symlink(home.path + "/elsewhere", tree + "/.git")
    done = home.call("promote", "box", "--commits", cwd=tree)
    tap.ok(done.returncode == 5, "a link in the place of the git directory is not followed", done)


def test_branches_in_way(home):
    """Git keeps one of the branches fix and fix/sub only: a second one would make the host's unusable."""
    for has, wants in (("fix", "fix/sub"), ("fix/sub", "fix"), ("fix/a", "fix/a/b/c")):
        for is_packed in (True, False):
            begin(home)
            tree = repository(home, home.path + "/plain")
            git(home, "branch", has, cwd=tree)
            if is_packed:
                git(home, "pack-refs", "--all", cwd=tree)
            home.call("create", "box", cwd=tree)
            gone = f"git rev-parse HEAD > .git/keep; rm -rf .git/packed-refs .git/refs/heads/fix .git/logs/refs/heads/fix; mkdir -p .git/refs/heads/{os.path.dirname(wants)}; "
            done = home.call("exec", "box", "--", "sh", "-c", f"{gone} mv .git/keep .git/refs/heads/{wants}; echo 'ref: refs/heads/{wants}' > .git/HEAD; "
                             "git commit -q --allow-empty -m inside && echo made", cwd=tree)
            before = snapshot(tree)
            refused = home.call("promote", "box", "--commits", cwd=tree)
            tap.ok("made" in done.stdout and refused.returncode == 4 and "cannot be there together" in refused.stderr and snapshot(tree) == before,
                   f"{wants} beside the host's {has}{' (packed)' if is_packed else ''} is refused", (done, refused))
            tap.equal(git(home, "log", "-1", "--format=%s", has, "--", cwd=tree, check=False), "first", "which is as it was")
    begin(home)
    tree = repository(home, home.path + "/plain")
    for branch in ("fix", "fixed/sub", "f/a"):
        git(home, "branch", branch, cwd=tree)
    git(home, "pack-refs", "--all", cwd=tree)
    os.makedirs(tree + "/.git/refs/heads/fi/empty", exist_ok=True)
    for branch in ("fix-2/sub", "f/b", "fi/x"):
        home.call("create", "box", "--worktree", branch, cwd=tree)
        home.call("exec", "box", "--", "git", "commit", "-q", "--allow-empty", "-m", "inside", cwd=tree)
        done = home.call("promote", "box", "--commits", cwd=tree)
        tap.ok(done.returncode == 0 and git(home, "log", "-1", "--format=%s", branch, "--", cwd=tree, check=False) == "inside", f"{branch}, which only begins alike, is promoted", done)
        home.call("rm", "box", cwd=tree)


def test_undo_newest(home):
    """The newest promotion of a directory is its newest, whether it brought files or commits."""
    begin(home)
    tree = repository(home, home.path + "/plain")
    home.call("create", "b1", cwd=tree)
    home.call("exec", "b1", "--", "sh", "-c", "echo 1 > one.txt", cwd=tree)
    home.call("promote", "b1", cwd=tree)
    home.call("create", "b2", "--worktree", "topic", cwd=tree)
    home.call("exec", "b2", "--", "sh", "-c", "echo x >> a.txt; git commit -qam x", cwd=tree)
    home.call("promote", "b2", "--commits", cwd=tree)
    tap.equal(git(home, "branch", "--list", "topic", cwd=tree), "topic", "files and a branch were promoted: the control")
    home.call("undo", cwd=tree)
    tap.equal((git(home, "branch", "--list", "topic", cwd=tree), os.path.exists(tree + "/one.txt")), ("", True), "undo takes the branch back, which came last")
    home.call("undo", cwd=tree)
    tap.equal(os.path.exists(tree + "/one.txt"), False, "and then the files")
    begin(home)
    main, tree = worktree(home)
    inside(home, tree, "echo two >> a.txt; git commit -q -a -m inside")
    home.call("promote", "box", "--commits", cwd=tree)
    done = home.call("undo", cwd=main)
    tap.ok(done.returncode != 0 and git(home, "log", "-1", "--format=%s", "side", cwd=main) == "inside", "commits of a worktree are none of another directory's", done)
    done = home.call("undo", cwd=tree)
    tap.ok(done.returncode == 0 and git(home, "log", "-1", "--format=%s", cwd=tree) == "first", "but its own", done)


def test_packed_refs(home):
    """A branch may lie in packed-refs on either side."""
    begin(home)
    main, tree = worktree(home)
    git(home, "config", "core.logAllRefUpdates", "false", cwd=main)
    git(home, "pack-refs", "--all", cwd=main)
    inside(home, tree, "echo two >> a.txt; git commit -q -a -m inside")
    git(home, "commit", "-q", "--allow-empty", "-m", "outside", cwd=tree)
    git(home, "pack-refs", "--all", cwd=main)
    before = snapshot(main)
    done = home.call("promote", "box", "--commits", cwd=tree)
    tap.ok(done.returncode == 3 and "rebase" in done.stderr and snapshot(main) == before,
           "a packed branch that moved on the host is a conflict", done)
    begin(home)
    main, tree = worktree(home)
    inside(home, tree, "echo two >> a.txt; git commit -q -a -m inside; git gc -q")
    done = home.call("promote", "box", "--commits", cwd=tree)
    tap.ok(done.returncode == 4 and "was packed in the sandbox" in done.stderr, "a branch that was packed inside is not overlooked", done)
    unpack = 'b=$(git branch --show-current); git branch -m "$b-" && git branch -m "$b"'
    tap.ok(unpack in done.stderr, "and the way to unpack it is named", done)
    home.call("exec", "box", "--", "sh", "-c", unpack, cwd=tree)
    home.call("stop", "box", cwd=tree)
    done = home.call("promote", "box", "--commits", cwd=tree)
    tap.ok(done.returncode == 0 and git(home, "log", "-1", "--format=%s", cwd=tree) == "inside", "which works", done)


def test_moves(home):
    """Which branch moves, and where to, is not the sandbox's choice alone."""
    begin(home)
    main, tree = worktree(home)
    git(home, "branch", "release", cwd=main)
    inside(home, tree, "git symbolic-ref HEAD refs/heads/release; echo two >> a.txt; git commit -q -a -m inside")
    before = snapshot(main)
    done = home.call("promote", "box", "--commits", cwd=tree)
    tap.ok(done.returncode == 4 and "'release'" in done.stderr and snapshot(main) == before,
           "another branch of the host is not moved", done)
    begin(home)
    main, tree = worktree(home)
    git(home, "commit", "-q", "--allow-empty", "-m", "kept", cwd=tree)
    inside(home, tree, "git reset -q --hard HEAD~1; echo two >> a.txt; git commit -q -a -m inside")
    before = snapshot(main)
    done = home.call("promote", "box", "--commits", cwd=tree)
    tap.ok(done.returncode == 4 and "no fast-forward" in done.stdout + done.stderr and snapshot(main) == before,
           "a branch that drops commits of the host's needs consent", done)
    done = home.call("promote", "box", "--commits", "--allow-path", "refs/heads/side", cwd=tree)
    tap.ok(done.returncode == 0 and git(home, "log", "-1", "--format=%s", cwd=tree) == "inside", "and moves with it", done)


def test_poisoned(home):
    """An object under the name of another content would become that content wherever it is made later."""
    begin(home)
    main, tree = worktree(home)
    write(home.path + "/future", "harmless\n")
    name = git(home, "hash-object", home.path + "/future", cwd=main)
    inside(home, tree, f"""
        echo two >> a.txt; git commit -q -a -m inside
        bad=$(echo poison | git hash-object -w --stdin); cd {main}/.git/objects; mkdir -p {name[:2]}
        cp $(echo $bad | sed 's,^..,&/,') {name[:2]}/{name[2:]}""")
    before = snapshot(main)
    done = home.call("promote", "box", "--commits", cwd=tree)
    tap.ok(done.returncode == 4 and "not what their names say" in done.stderr and snapshot(main) == before,
           "an object that is not what its name says is refused", done)


def test_rebased(home):
    """The remedy that a conflict names works."""
    begin(home)
    main, tree = worktree(home)
    inside(home, tree, "echo two >> a.txt; git commit -q -a -m inside")
    git(home, "commit", "-q", "--allow-empty", "-m", "outside", cwd=tree)
    done = home.call("promote", "box", "--commits", cwd=tree)
    tap.ok(done.returncode == 3 and "git rebase" in done.stdout and "--strategy" not in done.stdout,
           "a conflict of commits says to rebase", done)
    home.call("exec", "box", "--", "git", "rebase", "-q", git(home, "rev-parse", "HEAD", cwd=tree), cwd=tree)
    home.call("stop", "box", cwd=tree)
    done = home.call("promote", "box", "--commits", cwd=tree)
    tap.ok(done.returncode == 0 and git(home, "log", "--format=%s", cwd=tree).split() == ["inside", "outside", "first"],
           "and then they are promoted", done)


def test_try(home):
    begin(home)
    main, tree = worktree(home)
    done = home.call("try", "-y", "--", "sh", "-c", WORK, cwd=tree)
    names = [row["name"] for row in home.rows("ls", cwd=tree)]
    tap.ok(done.returncode == 0 and len(names) == 1 and "--commits" in done.stdout + done.stderr,
           "try -y keeps a sandbox whose commits wait", (done, names))
    done = home.call("promote", *names, "--commits", cwd=tree)
    tap.ok(done.returncode == 0 and git(home, "log", "-1", "--format=%s", cwd=tree) == "inside", "and they can be had", done)


def test_try_keeps(home):
    """Whatever only the sandbox knows keeps it from being removed."""
    cases = {"a commit on a branch that was left again": "git switch -q -c other; echo x >> a.txt; git commit -q -a -m x; git switch -q side",
             "a commit on a branch that was packed": "echo x >> a.txt; git commit -q -a -m x; git gc -q",
             "a stash": "echo x >> a.txt; git stash -q"}
    for what, script in cases.items():
        begin(home)
        _, tree = worktree(home)
        done = home.call("try", "-y", "--", "sh", "-c", f"set -e; {script}; echo new > b.txt", cwd=tree)
        tap.ok(done.returncode == 0 and os.path.exists(tree + "/b.txt") and len(home.rows("ls", cwd=tree)) == 1,
               f"try -y keeps a sandbox with {what}", done)
    begin(home)
    _, tree = worktree(home)
    done = home.call("try", "-y", "--", "sh", "-c", "git status; git log; echo new > b.txt", cwd=tree)
    tap.ok(done.returncode == 0 and home.rows("ls", cwd=tree) == [], "and removes one that changed no ref", done)


def main():
    with Home("aisbx-worktrees-") as home:
        if not shutil.which("git"):
            tap.skip("worktrees", "no git here")
        elif home.can_run(tap, "worktrees"):
            for test in (test_kinds, test_guarded, test_logs, test_hostile, test_foreign, test_fifos, test_alternates, test_nested,
                         test_commits, test_undo_keeps_objects, test_commits_refused, test_branches, test_branches_asked, test_branches_checked, test_branches_hostile, test_branches_in_way, test_undo_newest, test_packed_refs, test_moves,
                         test_poisoned, test_rebased, test_try, test_try_keeps):
                tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
