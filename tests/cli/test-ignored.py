#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What git ignores stays in the sandbox: by the host's rules, whatever the sandbox does to rules, names and directories.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a home of its own.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from clitest import Home, Tap  # noqa: E402

tap = Tap()


def check(good, what, *details):
    tap.ok(good, what, "\n".join(str(detail) for detail in details))


def git(home, *words, cwd=None):
    done = subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c",
                           "protocol.file.allow=always", *words], cwd=cwd or home.work, env=home.env,
                          capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return done.stdout


def begin(home, rules="build/\n*.log\n", **files):
    """A repository with one commit and these rules; sandboxes and stray files of earlier tests are gone."""
    names = [row["name"] for row in home.rows("ls")]
    if names:
        home.call("rm", *names)
    shutil.rmtree(home.work)
    os.mkdir(home.work)
    home.put(".gitignore", rules)
    home.put("src/a.c", "one\n")
    home.put("README", "read me\n")
    git(home, "init", "-q", "-b", "main")
    for name, content in files.items():
        home.put(name, content)
    git(home, "add", ".")
    git(home, "commit", "-q", "-m", "first")


def change(home, name, script, *flags):
    home.call("create", name, *flags)
    done = home.call("exec", name, "--", "sh", "-c", "set -e\n" + script)
    home.call("stop", name)
    if done.returncode != 0:
        raise RuntimeError(f"{name}: {done.stderr}")


def promote(home, name, *words):
    """The object and the exit status."""
    done = home.call("promote", name, "--json", *words)
    try:
        return json.loads(done.stdout), done.returncode
    except ValueError:
        return {"stderr": done.stderr}, done.returncode


def files(home):
    found = set()
    for top, _, names in os.walk(home.work):
        if ".git" not in os.path.relpath(top, home.work).split("/"):
            found |= {os.path.relpath(os.path.join(top, name), home.work) for name in names}
    return found


def test_plain(home):
    begin(home)
    change(home, "s1", "mkdir -p build/deep; echo x > build/deep/o.o; echo l > run.log; echo two > src/a.c; echo n > new.c")
    before = home.tree()
    changed = home.data("inspect", "s1")["changes"]
    names = home.call("diff", "s1", "--name-status").stdout
    check("build/deep/o.o" in names and "run.log" in names and changed["added"] == 3, "diff and changes count everything",
           names, changed)
    answer, code = promote(home, "s1", "--dry-run")
    check(code == 0 and answer["ignored"] == 4 and answer["ignored_at"] == ["build/", "run.log"], "a dry run says how many",
           answer)
    done = home.call("promote", "s1")
    lines = [line for line in done.stdout.splitlines() if "git ignores" in line]
    check(done.returncode == 0 and lines == ["left out 4 changes that git ignores (build/, run.log): aisbx promote "
                                              "s1 --ignored applies them"], "said in one line", done)
    check(files(home) == {".gitignore", "src/a.c", "README", "new.c"} and home.read("src/a.c") == "two\n",
           "what git ignores is not applied", files(home))
    names = home.call("diff", "s1", "--name-status").stdout
    check("build/deep/o.o" in names and "new.c" not in names, "it stays in the sandbox", names)
    answer, code = promote(home, "s1", "--ignored")
    check(code == 0 and home.read("build/deep/o.o") == "x\n" and home.read("run.log") == "l\n" and answer["ignored"] == 0,
           "--ignored applies it later", answer)
    home.call("undo")
    check(not os.path.exists(home.work + "/build") and home.read("new.c") == "n\n", "undo takes that back")
    home.call("undo")
    check({k: v[2] for k, v in home.tree().items() if not k.startswith(b".git/")} ==
           {k: v[2] for k, v in before.items() if not k.startswith(b".git/")}, "and the first promotion, too", files(home))
    answer, code = promote(home, "s1", "build/deep/o.o")
    check(code == 0 and home.read("build/deep/o.o") == "x\n" and not os.path.exists(home.work + "/run.log") and
           answer["ignored"] == 0, "a path that is named is applied", answer)


def test_nothing_else(home):
    begin(home)
    change(home, "s1", "mkdir build; echo x > build/o")
    done = home.call("promote", "s1")
    check(done.returncode == 0 and "nothing to promote" in done.stdout and "left out 2 changes" in done.stdout and
           files(home) == {".gitignore", "src/a.c", "README"}, "nothing but ignored files: nothing is applied", done)


def test_empty_directories(home):
    begin(home, "*.o\n")
    change(home, "s1", "mkdir -p out/deep some empty; echo x > out/deep/a.o; echo x > some/b.o; echo x > some/b.c")
    answer, code = promote(home, "s1")
    check(code == 0 and not os.path.exists(home.work + "/out") and os.path.isdir(home.work + "/empty") and
          home.read("some/b.c") == "x\n" and answer["ignored"] == 4, "directories of ignored files alone are left out", answer)
    begin(home)
    for flags in (["-n"], ["-y"], []):
        done = home.call("try", *flags, "--", "sh", "-c", "echo x > x.log")
        name, = [row["name"] for row in home.rows("ls")]
        check(f"promote {name} --ignored applies it" in done.stderr, f"try {flags} of ignored files alone names --ignored", done)
        home.call("rm", name)
    done = home.call("try", "-n", "--", "sh", "-c", "echo x > x.log; echo x > x.c")
    check("--ignored" not in done.stderr, "and only then", done)


def test_many_renames(home):
    """Root only: another user's overlay renames no directories."""
    if os.geteuid() != 0:
        tap.skip("many renamed directories", "needs root")
        return
    begin(home)
    for i in range(1001):
        home.put(f"d/{i}/f", "x\n")
    git(home, "add", ".")
    home.put("keep.log", "precious\n")
    change(home, "s1", "rm keep.log; cd d; for i in *; do mv $i n$i; done")
    for words in ([], ["keep.log"]):
        done = home.call("promote", "s1", *words)
        check(done.returncode == 4 and "--ignored" in done.stderr and home.read("keep.log") == "precious\n" and
              os.path.exists(home.work + "/d/0/f"), f"too many renames to promote a part {words}: nothing is", done)
    done = home.call("promote", "s1", "--ignored")
    check(done.returncode == 0 and not os.path.exists(home.work + "/keep.log") and os.path.exists(home.work + "/d/n0/f"),
          "all can be promoted", done)


def test_edited_rules(home):
    begin(home)
    change(home, "s1", "echo '*' > .gitignore; echo '/*' > .git/info/exclude; echo two > src/a.c; echo n > new.c; "
           "mkdir sub; echo '*' > sub/.gitignore; echo m > sub/more.c; git config core.excludesFile /etc/passwd")
    answer, code = promote(home, "s1", "--allow-path", ".git")
    check(code == 0 and home.read("src/a.c") == "two\n" and home.read("new.c") == "n\n" and
           home.read("sub/more.c") == "m\n" and answer["ignored"] == 0, "rules written in the sandbox hide nothing", answer)
    begin(home)
    change(home, "s1", "echo > .gitignore; rm -f .git/info/exclude; mkdir build; echo x > build/o; echo '!*' > build/.gitignore; "
           "echo l > a.log")
    answer, code = promote(home, "s1", "--allow-path", ".git")
    check(code == 0 and home.read(".gitignore") == "\n" and not os.path.exists(home.work + "/build") and
           not os.path.exists(home.work + "/a.log") and answer["ignored"] == 4, "and reveal nothing", answer)
    begin(home)
    change(home, "s1", "git add -f .; mkdir build; echo x > build/o; git add -f build/o")
    answer, code = promote(home, "s1", "--allow-path", ".git")
    check(not os.path.exists(home.work + "/build"), "nor does an index written in the sandbox", answer)


def test_rules_of_the_host(home):
    begin(home, "*.o\n!keep.o\nout/*\n!out/keep\n")
    home.put("lib/.gitignore", "gen-*\n!gen-c\n")
    git(home, "add", ".")
    with open(home.work + "/.git/info/exclude", "a") as out:
        out.write("private\n")
    with open(home.path + "/.gitconfig", "w") as out:
        out.write("[core]\n\texcludesFile = ~/every\n")
    with open(home.path + "/every", "w") as out:
        out.write("*.swp\n")
    change(home, "s1", "mkdir out lib/deep; for f in a.o keep.o out/x out/keep lib/gen-a lib/gen-c lib/deep/gen-b gen-top private "
           "x.swp ':(glob)x' '*.c' 'a b.o'; do echo 1 > \"$f\"; done")
    answer, code = promote(home, "s1")
    os.unlink(home.path + "/.gitconfig")
    os.unlink(home.path + "/every")
    there = files(home) - {".gitignore", "src/a.c", "README", "lib/.gitignore"}
    check(code == 0 and there == {"keep.o", "out/keep", "lib/gen-c", "gen-top", ":(glob)x", "*.c"},
           "negations, nested rules, info/exclude and core.excludesFile count as git has them", there, answer)


def test_tracked(home):
    begin(home)
    home.put("build/kept.txt", "one\n")
    home.put("old.log", "one\n")
    home.put("build/junk", "junk\n")
    git(home, "add", "-f", "build/kept.txt", "old.log")
    change(home, "s1", "echo two > build/kept.txt; rm old.log; echo n > build/new; echo x > build/junk")
    answer, code = promote(home, "s1")
    check(code == 0 and home.read("build/kept.txt") == "two\n" and not os.path.exists(home.work + "/old.log") and
           home.read("build/junk") == "junk\n" and not os.path.exists(home.work + "/build/new") and answer["ignored"] == 2,
           "tracked files are never ignored, their neighbours are", answer)
    begin(home)
    home.put("build/kept.txt", "one\n")
    git(home, "add", "-f", "build/kept.txt")
    shutil.rmtree(home.work + "/build")
    change(home, "s1", "mkdir build; echo two > build/kept.txt; echo n > build/new")
    answer, code = promote(home, "s1")
    check(code == 0 and home.read("build/kept.txt") == "two\n" and not os.path.exists(home.work + "/build/new"),
           "a tracked file comes back with its directory", answer)


def test_deletions(home):
    begin(home, out="")
    os.unlink(home.work + "/out")
    home.put("out/tracked.c", "t\n")
    git(home, "add", ".")
    home.put("out/data.log", "precious\n")
    home.put("build/big", "precious\n")
    home.put("top.log", "precious\n")
    change(home, "s1", "rm -rf out build top.log src")
    answer, code = promote(home, "s1")
    check(code == 0 and home.read("out/data.log") == "precious\n" and home.read("build/big") == "precious\n" and
           home.read("top.log") == "precious\n", "ignored files of the host are not deleted", answer, files(home))
    check(not os.path.exists(home.work + "/out/tracked.c") and not os.path.exists(home.work + "/src"),
           "what is not ignored is", files(home))
    home.call("undo")
    check(home.read("out/tracked.c") == "t\n" and home.read("src/a.c") == "one\n", "and comes back")
    promote(home, "s1", "--ignored")
    check(files(home) == {".gitignore", "README"} and not os.path.exists(home.work + "/out"), "asked for, all of it goes",
           files(home))
    begin(home)
    home.put("gen/data.log", "precious\n")
    home.put("build/big", "precious\n")
    change(home, "s1", "rm -rf gen build; echo file > gen; ln -s /etc build; echo n > new.c")
    answer, code = promote(home, "s1")
    check(code == 0 and home.read("gen/data.log") == "precious\n" and home.read("build/big") == "precious\n" and
           home.read("new.c") == "n\n", "nor replaced by something in the place of their directory", answer)


def test_renames(home):
    begin(home)
    home.put("secret.log", "precious\n")
    change(home, "s1", "mv README readme.log; mv secret.log shown.txt; mkdir build; mv src/a.c build/a.c")
    answer, code = promote(home, "s1")
    check(code == 0 and not os.path.exists(home.work + "/readme.log") and not os.path.exists(home.work + "/build") and
           not os.path.exists(home.work + "/README"), "a file renamed to an ignored name is gone, its new name is left out",
           answer)
    check(home.read("shown.txt") == "precious\n" and home.read("secret.log") == "precious\n",
           "an ignored file renamed to another name is added, and stays", files(home))
    inside = home.call("exec", "s1", "--", "cat", "readme.log", "build/a.c")
    check(inside.stdout == "read me\none\n", "the sandbox still has them", inside)
    home.call("stop", "s1")
    answer, code = promote(home, "s1", "--ignored")
    check(code == 0 and home.read("readme.log") == "read me\n" and home.read("build/a.c") == "one\n" and
           not os.path.exists(home.work + "/secret.log"), "which can be promoted later", answer, code)
    home.call("undo")
    home.call("undo")
    check(home.read("README") == "read me\n" and home.read("src/a.c") == "one\n" and home.read("secret.log") == "precious\n" and
           not os.path.exists(home.work + "/shown.txt"), "undo holds", files(home))


def test_renamed_directories(home):
    begin(home)
    home.put("build/big", "precious\n")
    home.put("lib/b.c", "b\n")
    home.put("lib/x.log", "log\n")
    git(home, "add", ".")
    change(home, "s1", "mv build build2; mv src dist; mv lib libs")
    answer, code = promote(home, "s1")
    kept = [name for name in ("build/big", "build2/big") if home.read(name) == "precious\n"]
    logs = [name for name in ("lib/x.log", "libs/x.log") if home.read(name) == "log\n"]
    check(code == 0 and kept and logs and home.read("dist/a.c") == "one\n" and home.read("libs/b.c") == "b\n",
           "renamed directories: nothing is lost", answer, files(home))
    inside = home.call("exec", "s1", "--", "cat", "build2/big", "dist/a.c", "libs/b.c", "libs/x.log")
    check(inside.stdout == "precious\none\nb\nlog\n", "on neither side", inside)
    begin(home)
    change(home, "s1", "mv src build")
    answer, code = promote(home, "s1")
    inside = home.call("exec", "s1", "--", "cat", "build/a.c")
    check(code == 0 and inside.stdout == "one\n", "to an ignored name: the sandbox keeps it", answer, inside)
    home.call("stop", "s1")
    home.call("undo")
    check(home.read("src/a.c") == "one\n" and not os.path.exists(home.work + "/build"), "and undo the host", files(home))


def test_carried(home):
    """What a command did to ignored files in a directory that it renamed reaches the host by a person's word only."""
    for what, script in (("made", "echo P > libs/new.log"), ("made deeper", "mkdir libs/s; echo P > libs/s/new.log"), ("edited", "echo P > libs/x.log"),
                         ("deleted", "rm libs/x.log"), ("a link", "ln -s /etc/passwd libs/new.log"), ("moved in", "mv README libs/new.log; echo P >> libs/new.log"),
                         ("renamed twice", "mv libs l2; echo P > l2/new.log"), ("before", "mv libs lib; echo P > lib/x.log; mv lib libs")):
        begin(home)
        home.put("lib/b.c", "b\n")
        home.put("lib/x.log", "log\n")
        git(home, "add", "lib/b.c", "README")
        before = home.tree()
        change(home, "s1", f"mv lib libs; {script}")
        answer, code = promote(home, "s1")
        if os.geteuid() == 0:
            asked = [row["path"] for row in answer["consent"] if row["why"].startswith("git ignores it")]
            check(code == 4 and len(asked) == 1 and home.tree() == before, f"an ignored file, {what}, beside a rename: asked", answer)
            answer, code = promote(home, "s1", "--allow-path", *asked)
            check(code == 0 and os.path.isdir(home.work + ("/l2" if "l2" in script else "/libs")), f"{what}: agreed to", answer)
        else:
            check(code == 0 and home.read("lib/x.log") == "log\n" and "P\n" not in [about[2] for about in home.tree().values()],
                  f"an ignored file, {what}, beside a directory that was copied: left out", answer)
        home.call("rm", "s1")


def test_agreement(home):
    """The line that agrees is the promotion that was asked about: with its paths and flags, and nothing more."""
    flags = (["--ignored"], ["--strategy", "theirs"], ["--allow-path", "src/Makefile"], ["--kill"])
    for words in [[], ["a b.txt", "x.log"]] :
        for count in range(len(flags) + 1):
            given = [word for flag in flags[:count] for word in flag]
            begin(home)
            change(home, "s1", "echo all: > src/Makefile; echo x > .envrc; echo 1 > 'a b.txt'; echo 2 > x.log; echo 3 > other.txt")
            paths = [*words, ".envrc"] if words else []
            done = home.call("promote", "s1", *paths, *given)
            line = next(line for line in done.stdout.splitlines() if line.startswith("agree:"))
            again = shlex.split(line[6:])
            check(done.returncode == 4 and again[:3] == ["aisbx", "promote", "s1"] and again[3:3 + len(paths)] == paths and
                  not [word for word in given if word not in again], f"agree to {paths} {given}", line)
            done = home.call(*again[1:])
            wanted = {"x.log": bool(words) or "--ignored" in given, "other.txt": not words, "a b.txt": True, ".envrc": True}
            check(done.returncode == 0 and {name: os.path.exists(f"{home.work}/{name}") for name in wanted} == wanted,
                  "applies just that", done, files(home))


def test_carried_unchanged(home):
    """Of many ignored files in a renamed directory only the changed ones are asked about."""
    begin(home, "node_modules/\n")
    home.put("pkg/b.c", "b\n")
    for i in range(30):
        home.put(f"pkg/node_modules/{i}", f"{i}\n")
    git(home, "add", "pkg/b.c")
    change(home, "s1", "mv pkg lib; rm lib/node_modules/7; echo P >> lib/node_modules/8")
    answer, code = promote(home, "s1")
    if os.geteuid() == 0:
        asked = {row["path"] for row in answer["consent"]}
        check(code == 4 and asked == {"pkg/node_modules/7", "lib/node_modules/8", "pkg/node_modules/8"}, "the unchanged ones are not asked about", answer)
    else:
        check(code == 0 and home.read("pkg/node_modules/7") == "7\n", "copied, they are left out", answer)
    home.call("rm", "s1")


def test_links(home):
    begin(home, "hidden/\n*.log\n")
    os.symlink("/etc", home.work + "/way")
    os.symlink("src", home.work + "/hidden")
    change(home, "s1", "rm way hidden; mkdir way hidden; echo x > way/passwd; echo y > hidden/z; ln src/a.c same.log; "
           "ln src/a.c same.c; echo two > src/a.c")
    answer, code = promote(home, "s1")
    check(code == 0 and home.read("way/passwd") == "x\n" and home.read("src/a.c") == "two\n" and
           home.read("same.c") == "two\n" and not os.path.exists(home.work + "/same.log"),
           "links of the host where the sandbox has directories, and hard links to ignored names", answer, files(home))


def test_nested(home):
    begin(home, "vendor/\n*.log\n")
    other = home.path + "/other"
    shutil.rmtree(other, ignore_errors=True)
    os.mkdir(other)
    git(home, "init", "-q", "-b", "main", cwd=other)
    for name in ("t.log", "f.c"):
        with open(f"{other}/{name}", "w") as out:
            out.write("one\n")
    with open(f"{other}/.gitignore", "w") as out:
        out.write("*.tmp\n")
    git(home, "add", ".", cwd=other)
    git(home, "commit", "-q", "-m", "x", cwd=other)
    git(home, "submodule", "add", "-q", other, "module")
    git(home, "clone", "-q", other, "vendor/clone")
    git(home, "worktree", "add", "-q", "-b", "side", home.path + "/side")
    change(home, "s1", "for d in module vendor/clone; do echo two > $d/t.log; echo n > $d/n.c; echo n > $d/n.tmp; done; "
           "echo n > vendor/n.c")
    answer, code = promote(home, "s1")
    check(code == 0 and home.read("module/t.log") == "two\n" and home.read("vendor/clone/t.log") == "two\n" and
           home.read("module/n.c") == "n\n" and not os.path.exists(home.work + "/module/n.tmp") and
           not os.path.exists(home.work + "/vendor/clone/n.tmp") and not os.path.exists(home.work + "/vendor/n.c"),
           "a submodule and a nested clone go by their own rules and files", answer, files(home))
    side = home.path + "/side"
    home.call("create", "s2", "-C", side)
    home.call("exec", "s2", "--", "sh", "-c", "cd " + side + "; echo n > n.c; echo n > n.log; echo two > README")
    home.call("stop", "s2")
    answer, code = promote(home, "s2")
    check(code == 0 and answer.get("ignored") == 1 and os.path.exists(side + "/n.c") and not os.path.exists(side + "/n.log"),
           "a linked worktree, whose .git is a file", answer)
    shutil.rmtree(side)
    shutil.rmtree(other)
    begin(home)
    change(home, "s1", "mkdir build build/.git; git init -q build/in; echo x > build/in/f; echo y > src/b.log")
    answer, code = promote(home, "s1")
    check(code == 0 and not os.path.exists(home.work + "/build") and not os.path.exists(home.work + "/src/b.log"),
           "a repository made in the sandbox decides nothing", answer)


def test_below(home):
    begin(home, "/part/gen\n*.log\n")
    home.put("part/f", "one\n")
    home.call("create", "s1", "-C", home.work + "/part")
    home.call("exec", "s1", "--", "sh", "-c", f"cd {home.work}/part; echo n > gen; echo n > a.log; echo n > f2")
    home.call("stop", "s1")
    answer, code = promote(home, "s1")
    check(code == 0 and answer.get("ignored") == 2 and home.read("part/f2") == "n\n" and
           not os.path.exists(home.work + "/part/gen"), "a workspace below the top of its repository", answer)


def test_no_git(home):
    begin(home)
    shutil.rmtree(home.work + "/.git")
    change(home, "s1", "mkdir build; echo x > build/o")
    answer, code = promote(home, "s1")
    check(code == 0 and answer["ignored"] == 0 and home.read("build/o") == "x\n", "without git nothing is ignored", answer)
    begin(home)
    shutil.rmtree(home.work + "/.git")
    os.mkdir(home.work + "/.git")
    change(home, "s1", "mkdir build; echo x > build/o")
    answer, code = promote(home, "s1")
    check(code == 0 and answer["ignored"] == 0 and home.read("build/o") == "x\n", "nor in a folder that is only called .git",
           answer)
    begin(home)
    change(home, "s1", "mkdir build; echo x > build/o")
    done = home.call("promote", "s1", "--json", PATH="/nowhere")
    check(done.returncode == 0 and json.loads(done.stdout)["ignored"] == 0, "nor where no git is installed", done)


def test_hostile_repository(home):
    """The tripwire is a file that only a program named by the configuration makes."""
    begin(home)
    mark = home.path + "/ran"
    program = home.path + "/program"
    with open(program, "w") as out:
        out.write(f"#!/bin/sh\necho ran >> {mark}\nexit 1\n")
    os.chmod(program, 0o755)
    for key in ("core.fsmonitor", "core.hooksPath", "core.pager", "filter.x.clean", "core.sshCommand", "diff.external",
                "core.alternateRefsCommand", "alias.check-ignore", "alias.ls-files"):
        git(home, "config", key, ("!" if key.startswith("alias") else "") + program)
    git(home, "config", "filter.x.process", program)
    with open(home.work + "/.git/info/attributes", "w") as out:
        out.write("* filter=x\n")
    change(home, "s1", "echo n > n.c; echo n > n.log")
    if os.path.exists(mark):
        os.unlink(mark)
    answer, code = promote(home, "s1")
    check(code == 0 and answer["ignored"] == 1 and not os.path.exists(mark), "nothing that a configuration names is run",
           answer)
    os.unlink(program)
    begin(home)
    change(home, "s1", "echo n > n.c; echo n > n.log")
    os.unlink(home.work + "/.gitignore")
    os.mkfifo(home.work + "/.gitignore")
    done = home.call("promote", "s1", timeout=300)
    check(done.returncode == 70 and "--ignored" in done.stderr and not os.path.exists(home.work + "/n.c"),
          "rules that never end: nothing is promoted, and the way out is named", done)
    done = home.call("promote", "s1", "--ignored")
    check(done.returncode == 0 and home.read("n.log") == "n\n", "which works", done)


def test_unreadable(home):
    """Where git cannot read the repository, what it ignores is unknown, not nothing."""
    def broken(what, damage, asks=True):
        begin(home)
        home.put("keep.log", "precious\n")
        change(home, "s1", "rm keep.log; echo x > x.log; echo n > n.c")
        damage(home.work + "/.git")
        done = home.call("promote", "s1")
        check(done.returncode == 70 and "--ignored" in done.stderr and home.read("keep.log") == "precious\n" and
              not os.path.exists(home.work + "/n.c"), f"{what}: nothing is promoted, and the way out is named", done)
        # Its configuration may name any of them: a folder of hooks, a filter.
        done = home.call("promote", "s1", "--ignored")
        check(not asks or (done.returncode == 4 and "git's configuration" in done.stderr and not os.path.exists(home.work + "/n.c")),
              f"{what}: then every file is asked about", done)
        done = home.call("promote", "s1", "--ignored", *[f"--allow-path={name}" for name in ("keep.log", "x.log", "n.c") if asks])
        check(done.returncode == 0 and not os.path.exists(home.work + "/keep.log"), f"{what}: which works", done)

    def spoil_config(dot_git):
        with open(dot_git + "/config", "a") as out:
            out.write("[core\n")
    broken("a damaged configuration", spoil_config)
    broken("no refs", lambda dot_git: shutil.rmtree(dot_git + "/refs"))
    broken("no HEAD", lambda dot_git: os.unlink(dot_git + "/HEAD"))
    git(home, "init", "-q", "-b", "main", cwd=home.path)
    broken("no refs, below another repository", lambda dot_git: shutil.rmtree(dot_git + "/refs"))

    def spoil_head(dot_git):
        with open(dot_git + "/HEAD", "w") as out:
            out.write("nothing\n")
    broken("a HEAD that is none, below another repository", spoil_head, asks=False)
    shutil.rmtree(home.path + "/.git")
    for name in ("refs", "objects"):
        begin(home)
        change(home, "s1", f"rm -rf .git/{name}")
        answer, code = promote(home, "s1")
        check(code == 4 and f".git/{name}" in [row["path"] for row in answer.get("consent", [])] and
              os.path.isdir(home.work + "/.git/" + name), f"a sandbox that removes .git/{name} needs consent", answer)
    begin(home)
    git(home, "config", "core.bare", "true")
    change(home, "s1", "echo n > n.log")
    answer, code = promote(home, "s1")
    check(code == 0 and answer["ignored"] == 0 and home.read("n.log") == "n\n", "a bare repository ignores nothing", answer)


def test_other_verbs(home):
    begin(home)
    done = home.call("try", "-y", "--", "sh", "-c", "mkdir build; echo x > build/o; echo n > n.c")
    names = [row["name"] for row in home.rows("ls")]
    check(done.returncode == 0 and home.read("n.c") == "n\n" and not os.path.exists(home.work + "/build") and
           len(names) == 1 and f"promote {names[0]} --ignored" in done.stdout + done.stderr,
           "try leaves them out and keeps the sandbox", done)
    answer, code = promote(home, names[0], "--ignored")
    check(code == 0 and home.read("build/o") == "x\n", "from which they can be had", answer)
    begin(home)
    done = home.call("try", "-y", "--ignored", "--", "sh", "-c", "mkdir build; echo x > build/o")
    check(done.returncode == 0 and home.read("build/o") == "x\n" and not home.rows("ls"), "try --ignored applies all", done)
    begin(home)
    answer = home.data("race", "--promote", "-c", "a=mkdir build; echo x > build/o; echo n > n.c")
    check(home.read("n.c") == "n\n" and not os.path.exists(home.work + "/build") and
           answer.get("promotion", {}).get("ignored") == 2, "race, too", answer)
    begin(home)
    answer = home.data("race", "--promote", "--ignored", "-c", "a=mkdir build; echo x > build/o; echo n > n.c")
    check(home.read("build/o") == "x\n", "race --ignored", answer)


def test_stages(home):
    begin(home)
    target = home.path + "/live"
    shutil.rmtree(target, ignore_errors=True)
    os.mkdir(target)
    own = home.path + "/pipeline.yaml"
    with open(own, "w") as out:
        out.write(f"stages:\n  - name: here\n    target: {home.work}\n  - name: live\n    target: {target}\n")
    change(home, "s1", "mkdir build; echo x > build/o; echo n > n.c")
    done = home.call("stage", "run", "s1", "-f", own, "--json")
    check(done.returncode == 0 and home.read("n.c") == "n\n" and os.path.exists(target + "/n.c") and
           not os.path.exists(home.work + "/build") and not os.path.exists(target + "/build"),
           "stages leave out what the workspace's git ignores", done)
    check([s.get("ignored") for s in json.loads(done.stdout)["stages"]] == [2, 2], "and say so", done.stdout)
    shutil.rmtree(target)


def main():
    if not shutil.which("git"):
        tap.skip("what git ignores", "no git here")
        return tap.done()
    with Home("aisbx-ignored-") as home:
        home.env.update({"GIT_CONFIG_NOSYSTEM": "1"})
        if not home.can_run(tap, "what git ignores"):
            return tap.done()
        for test in (test_plain, test_nothing_else, test_empty_directories, test_many_renames, test_edited_rules, test_rules_of_the_host, test_tracked, test_deletions,
                     test_renames, test_renamed_directories, test_carried, test_carried_unchanged, test_agreement, test_links, test_nested, test_below, test_no_git,
                     test_hostile_repository, test_unreadable, test_other_verbs, test_stages):
            tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
