#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""repo commit: a promoted change as a git commit; nothing that the repository or a sandbox brought is run.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a home of its own.
"""

import os
import shutil
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from clitest import Home, Tap, refused  # noqa: E402

tap = Tap()


def git(home, *words, check=True):
    done = subprocess.run(["git", *words], cwd=home.work, env=home.env, capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise RuntimeError(done.stderr)
    return done.stdout.strip()


def begin(home, change, setup=lambda: None):
    """A repository with one commit, and a sandbox whose change is promoted."""
    shutil.rmtree(home.work)
    os.mkdir(home.work)
    home.put("a", "one\n")
    home.put("b", "two\n")
    home.put("old/c", "three\n")
    home.put(".gitignore", "*.o\n")
    git(home, "init", "-q", "-b", "main")
    git(home, "add", ".")
    git(home, "commit", "-q", "-m", "first")
    setup()
    home.call("rm", "fix")
    home.call("create", "fix")
    home.call("exec", "fix", "--", "sh", "-c", change)
    home.call("stop", "fix")
    return home.call("promote", "fix", "--ignored")


def test_commit(home):
    begin(home, "echo ONE > a; rm -r old; mkdir old2; echo n > old2/n; chmod +x b; ln -s a link; echo o > x.o")
    home.put("staged", "mine\n")
    git(home, "add", "staged")
    done = home.call("repo", "commit", "fix", "-m", "Change it\n\nBecause.")
    if not tap.ok(done.returncode == 0, "a promoted change is committed", done):
        return
    tap.equal(git(home, "show", "--name-status", "--format=%an <%ae>%n%s", "HEAD").split("\n"),
              ["A User <user@example.org>", "Change it", "", "M\ta", "M\tb", "A\tlink", "D\told/c", "A\told2/n"],
              "exactly its paths, by the user, with the message")
    body = git(home, "show", "-s", "--format=%(trailers)", "HEAD")
    promotion = home.rows("promotions")[0]["promotion_id"]
    tap.ok(f"Aisbx-Promotion: {promotion}" in body and "Aisbx-Run: " in body, "trailers name promotion and run", body)
    tap.equal(git(home, "status", "--porcelain"), "A  staged", "what was staged stays staged, all else is clean")
    tap.ok("ignored" in done.stderr and "x.o" not in git(home, "ls-files"), "what git ignores stays out", done)
    tap.equal(git(home, "ls-files", "-s", "link").split()[0], "120000", "links are links")
    tap.equal(git(home, "fsck", "--strict", check=False), "", "the repository is sound")
    done = home.call("repo", "commit", "fix", "-m", "again")
    tap.ok(refused(done, 3, "nothing to commit"), "a second time there is nothing", done)


def test_traps(home):
    """A132: whatever a configuration or an attribute names as a program is not run."""
    mark = home.path + "/ran"

    def plant():
        trap = home.put("../trap", f"#!/bin/sh\necho $0 $* >> {mark}\ncat\n", 0o755)
        for hook in ("pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change",
                     "prepare-commit-msg", "post-rewrite", "fsmonitor-watchman"):
            home.put(f".git/hooks/{hook}", f"#!/bin/sh\necho {hook} >> {mark}\n", 0o755)
        for key, value in (("core.fsmonitor", trap), ("core.pager", trap), ("diff.external", trap),
                           ("filter.evil.clean", trap), ("filter.evil.smudge", trap), ("filter.evil.process", trap),
                           ("filter.evil.required", "true"), ("core.editor", trap), ("gpg.program", trap),
                           ("commit.gpgSign", "true"), ("core.sshCommand", trap), ("core.askPass", trap),
                           ("credential.helper", "!" + trap), ("alias.commit-tree", "!" + trap),
                           ("core.hooksPath", home.work + "/.git/hooks"), ("core.alternateRefsCommand", trap)):
            with open(home.work + "/.git/config", "a") as out:
                section, _, name = key.rpartition(".")
                first, _, rest = section.partition(".")
                head = f'[{first} "{rest}"]' if rest else f"[{first}]"
                out.write(f'{head}\n\t{name} = "{value}"\n')
        home.put(".gitattributes", "* filter=evil diff=evil\n")
        home.put("bin/git", f"#!/bin/sh\necho planted-git >> {mark}\nexec /usr/bin/git \"$@\"\n", 0o755)

    begin(home, "echo TRAPPED > a", plant)
    path = home.env.get("PATH", "/usr/bin:/bin")
    if os.path.exists(mark):
        os.unlink(mark)
    done = home.call("repo", "commit", "fix", "-m", "trapped", PATH=f"{home.work}/bin:{path}")
    ran = open(mark).read() if os.path.exists(mark) else ""
    tap.equal(ran, "", "no hook, filter, monitor, pager, signer or git of the repository's own is run")
    tap.ok(done.returncode == 0, "and the commit is made", done)
    raw = subprocess.run(["git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "cat-file", "blob", "HEAD:a"],
                         cwd=home.work, env=home.env, capture_output=True, text=True, check=False)
    tap.equal(raw.stdout, "TRAPPED\n", "with the content as it is, unfiltered")
    tap.ok(stat.S_IMODE(os.stat(home.work + "/bin/git").st_mode) == 0o755, "the traps were armed")


def test_edges(home):
    tap.ok(refused(home.call("repo", "commit", "fix"), 2, "-m"), "a message is needed")
    tap.equal(home.call("repo", "commit", "nobody", "-m", "x").returncode, 5, "an unknown sandbox has no promotion")
    begin(home, "echo x > a")
    home.call("undo")
    tap.equal(home.call("repo", "commit", "fix", "-m", "x").returncode, 5, "what was undone is not committed")
    begin(home, "echo x > a")
    git(home, "checkout", "-q", "--detach")
    tap.equal(home.call("repo", "commit", "fix", "-m", "x").returncode, 0, "a detached head moves")
    begin(home, "echo x > a")
    home.put(".git/index.lock", "")
    done = home.call("repo", "commit", "fix", "-m", "x")
    tap.ok(done.returncode == 0 and "index" in done.stderr, "an index that is held is told of", done)
    begin(home, "echo x > a", lambda: shutil.rmtree(home.work + "/.git"))
    done = home.call("repo", "commit", "fix", "-m", "x")
    tap.ok(refused(done, 5), "no repository", done)
    begin(home, "echo x > a", lambda: (shutil.rmtree(home.work + "/.git"), git(home, "init", "-q", "-b", "fresh")))
    done = home.call("repo", "commit", "fix", "-m", "x")
    tap.ok(done.returncode == 0 and git(home, "log", "--format=%s") == "x", "the first commit of a branch", done)
    begin(home, "echo x > sub/d", lambda: (home.put("sub/d", "1\n"), os.chdir("/")))
    tap.equal((home.call("repo", "commit", "fix", "-m", "x").returncode, git(home, "show", "HEAD:sub/d")), (0, "x"),
              "files below")


def main():
    if not shutil.which("git"):
        tap.skip("repo commit", "no git here")
        return tap.done()
    with Home(prefix="aisbx-repo-") as home:
        home.env.update({"GIT_CONFIG_NOSYSTEM": "1"})
        for key in [k for k in home.env if k.startswith(("GIT_AUTHOR", "GIT_COMMITTER"))]:
            del home.env[key]
        with open(home.path + "/.gitconfig", "w") as out:
            out.write("[user]\n\tname = A User\n\temail = user@example.org\n")
        first = home.call("run", "--", "true")
        if first.returncode != 0:
            tap.skip("repo commit", "no sandbox can be made here: " + first.stderr.strip())
            return tap.done()
        for test in (test_commit, test_traps, test_edges):
            tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
