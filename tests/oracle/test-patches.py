#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Patches, histograms and lists of names of whole trees, held against what git makes of the same trees.

Takes the program that answers for us from PATCH_TREES. Speaks TAP.
"""

import base64
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import Tap  # noqa: E402

PATCH_TREES = os.environ["PATCH_TREES"]
CLEAN = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "LC_ALL": "C",
         "GIT_CEILING_DIRECTORIES": tempfile.gettempdir()}
OUTSIDE = 1 << 5
ODD_NAMES = [b"with space", b"tab\there", b"new\nline", b"quote\"d", b"back\\slash", "Grüße".encode(), b"\xff\xfe",
             b"bell\x07", b"esc\x1b[31m", b"-leading", b" edge ", b"a b c/d e", b"\x7f", "rtl\u202e".encode(), b"x" * 255]

tap = Tap()


def run(*words, cwd=None, stdin=None):
    return subprocess.run(words, input=stdin, capture_output=True, cwd=cwd, env=CLEAN, check=False)


class Link(bytes):
    """A symbolic link to this target."""


class Program(bytes):
    """A file with this content and the executable bit."""


def make(root, tree):
    """A tree out of {path: content}."""
    for path, content in tree.items():
        path = os.path.join(root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if isinstance(content, Link):
            os.symlink(bytes(content), path)
            continue
        with open(path, "wb") as out:
            out.write(content)
        os.chmod(path, 0o755 if isinstance(content, Program) else 0o644)


def read(root):
    """{path: (git's kind of file, content)} of a tree; directories as such do not count."""
    found = {}
    for place, dirs, files in os.walk(root):
        for name in files + [d for d in dirs if os.path.islink(os.path.join(place, d))]:
            path = os.path.join(place, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                found[os.path.relpath(path, root)] = ("link", os.readlink(path))
            else:
                with open(path, "rb") as file:
                    found[os.path.relpath(path, root)] = (bool(mode & 0o100), file.read())
    return found


class Trees:
    """Two trees on disk, and what our program says about them."""

    def __init__(self, old, new):
        self.top = tempfile.mkdtemp().encode()
        self.old, self.new = os.path.join(self.top, b"old"), os.path.join(self.top, b"new")
        for root, tree in ((self.old, old), (self.new, new)):
            os.mkdir(root)
            make(root, tree)

    def show(self, form, *words):
        done = run(PATCH_TREES, form, self.old, self.new, *words)
        if done.returncode != 0:
            raise RuntimeError(done)
        return done.stdout

    def applied(self, patch, *command):
        """The old tree after COMMAND got the patch; None when it refused, and what it said."""
        work = os.path.join(self.top, b"work")
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(self.old, work, symlinks=True)
        done = run(*command, cwd=work, stdin=patch)
        return (read(work) if done.returncode == 0 else None), done.stderr

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        shutil.rmtree(self.top)


def check_apply(what, old, new, *words):
    with Trees(old, new) as trees:
        patch = trees.show("patch", *words)
        found, said = trees.applied(patch, "git", "apply", "--whitespace=nowarn")
        tap.ok(found == read(trees.new), f"git apply: {what}", (said, patch, found))


def test_apply():
    check_apply("an edit", {b"a": b"1\n2\n3\n"}, {b"a": b"1\n2\nthree\n"})
    check_apply("added and deleted", {b"gone": b"x\ny\n", b"stays": b"1"}, {b"d/e/f": b"new\n", b"stays": b"1"})
    check_apply("empty files", {b"gone": b"", b"filled": b""}, {b"new": b"", b"filled": b"x\n"})
    check_apply("emptied", {b"a": b"x\ny\n"}, {b"a": b""})
    check_apply("no end at the end", {b"a": b"x", b"b": b"x\n", b"c": b"p\nq"}, {b"a": b"x\n", b"b": b"x", b"c": b"o\nq"})
    check_apply("modes", {b"a": b"1\n", b"b": Program(b"2\n")}, {b"a": Program(b"1\n"), b"b": b"2\nmore\n"})
    check_apply("a new program", {}, {b"run": Program(b"#!/bin/sh\n")})
    check_apply("links", {b"old": Link(b"x"), b"moved": Link(b"y")}, {b"new": Link(b"../z"), b"moved": Link(b"yy")})
    check_apply("a link of two lines", {}, {b"l": Link(b"a\nb")})
    check_apply("file to link and back", {b"a": b"x\n", b"b": Link(b"t")}, {b"a": Link(b"x"), b"b": b"t\n"})
    check_apply("file to directory", {b"a": b"x\n"}, {b"a/b": b"x\n"})
    check_apply("directory to file", {b"a/b": b"x\n"}, {b"a": b"x\n"})
    check_apply("renamed", {b"a/old": b"same\n"}, {b"b/new": b"same\n"}, "rename=a/old=b/new")
    check_apply("renamed and edited", {b"one two": b"1\n2\n3\n4\n"}, {b"2": Program(b"1\n2\n3\nfour\n")}, "rename=one two=2")
    check_apply("line ends of another system", {b"a": b"1\r\n2\r\n"}, {b"a": b"1\r\n2\n"})
    check_apply("what looks like a patch", {b"a": b"-- x\n"}, {b"a": b"++ y\n--- a\n+++ b\n@@ -1 +1 @@\n"})
    odd = {name: b"1\n2\n" for name in ODD_NAMES}
    check_apply("odd names added", {b"x": b""}, {b"x": b"", **odd})
    check_apply("odd names edited", odd, {name: b"1\ntwo\n" for name in odd})
    check_apply("odd names deleted", odd, {})
    for name in ODD_NAMES:
        check_apply(f"renamed to {name[:20]!r}", {b"from": b"1\n"}, {name: b"1\n2\n"}, b"rename=from=" + name)


def test_patch_program():
    if not shutil.which("patch"):
        print("# patch is not installed: git alone judges")
        return
    with Trees({b"a b": b"1\n2\n", b"gone": b"x\n"}, {b"a b": b"1\ntwo", b"d/new": b"n\n"}) as trees:
        found, said = trees.applied(trees.show("patch"), "patch", "-s", "-p1")
        tap.ok(found == read(trees.new), "patch takes it too", said)


def test_marks():
    old, new = {b"a": b"1\n", b"z": b"1\n"}, {b"a": b"2\n", b"z": b"2\n", b"Makefile": b"all:\n"}
    with Trees(old, new) as trees:
        patch = trees.show("patch", f"flag=a={OUTSIDE}").decode()
        lines = patch.splitlines()
        tap.ok(lines[0].startswith("# Promotion asks") and lines[1].startswith("#   Makefile: build"),
               "what promotion asks about is said first", patch)
        heads = [line for line in lines if line.startswith("diff --git")]
        tap.ok(heads == ["diff --git a/Makefile b/Makefile", "diff --git a/z b/z"], "and comes first", patch)
        tap.ok("# Outside the workspace" in patch and "# -1\n# +2\n" in patch, "what lies outside is shown", patch)
        found, said = trees.applied(patch.encode(), "git", "apply")
        tap.ok(found and found[b"a"] == (False, b"1\n") and found[b"z"] == (False, b"2\n"), "but never applied", said)
        names = trees.show("names").decode()
        tap.ok(names == "A\tMakefile\nM\ta\nM\tz\n", "also among names", names)


def test_no_text():
    with Trees({b"bin": b"a\0b", b"big": b"x\n"}, {b"bin": b"a\0c", b"big": b"y\n" * (9 << 20)}) as trees:
        patch = trees.show("patch")
        tap.ok(b"Binary files a/bin and b/bin differ\n" in patch and len(patch) < 1000, "binary is one line", patch[:500])
        tap.ok(b"# big: too large to show, 18874368 bytes\n" in patch, "and so is what is too large", patch[:500])
        found, said = trees.applied(patch, "git", "apply")
        tap.ok(found is None, "git apply refuses a patch without the content", said)


def git_repository(trees):
    """The old tree committed, the new one in the work tree; git's answers come from here."""
    place = os.path.join(trees.top, b"git")
    shutil.copytree(trees.old, place, symlinks=True)
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@x", "-c", "core.fileMode=true"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "old"]):
        run(*git, *words, cwd=place)
    for name in os.listdir(place):
        path = os.path.join(place, name)
        if name != b".git":
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
    shutil.copytree(trees.new, place, symlinks=True, dirs_exist_ok=True)
    run(*git, "add", "-A", cwd=place)
    return place


def test_against_git():
    old = {b"a/long/path/to/a/file/that/needs/room": b"1\n" * 400, b"b": b"x\n" * 30, b"c d": b"1\n", b"gone": b"1\n2\n",
           b"bin": b"\0" * 100, b"same": b"s\n", b"mode": b"m\n"}
    new = {b"a/long/path/to/a/file/that/needs/room": b"2\n" * 300, b"b": b"x\n" * 29 + b"y\n", b"c d": b"2\n" * 40,
           b"bin": b"\0" * 5000, b"same": b"s\n", b"mode": Program(b"m\n"), b"new\ttab": b"n\n", b"l": Link(b"t"), b"e": b""}
    with Trees(old, new) as trees:
        place = git_repository(trees)
        for columns in (40, 80, 132):
            want = run("git", "diff", "--cached", "--no-renames", f"--stat={columns}", "HEAD", cwd=place).stdout
            got = trees.show("stat", f"columns={columns}")
            tap.ok(got == want, f"the histogram of {columns} columns is git's", (want.decode(), got.decode()))
        want = run("git", "diff", "--cached", "--no-renames", "--name-status", "HEAD", cwd=place).stdout
        tap.ok(trees.show("names") == want, "names are git's", (want, trees.show("names")))
        want = run("git", "diff", "--cached", "--no-renames", "--name-status", "-z", "HEAD", cwd=place).stdout
        tap.ok(trees.show("names-z") == want, "with NULs, too", (want, trees.show("names-z")))
        keep = lambda text: [line for line in text.split(b"\n") if not line.startswith((b"index ", b"@@"))]
        want = run("git", "diff", "--cached", "--no-renames", "--no-indent-heuristic", "HEAD", cwd=place).stdout
        tap.ok(keep(trees.show("patch")) == keep(want), "and so is the patch, its index lines left out",
               (want.decode(), trees.show("patch").decode()))


def test_rename_stat():
    pairs = {"old => new": ("old", "new"), "d/{old => new}": ("d/old", "d/new"), "{a => b}/c": ("a/c", "b/c"),
             "a/{b => }/c": ("a/b/c", "a/c"), "a => x/a": ("a", "x/a"), "a/{ => b}/c": ("a/c", "a/b/c")}
    for want, (source, target) in pairs.items():
        with Trees({source.encode(): b"1\n" * 9}, {target.encode(): b"1\n" * 9}) as trees:
            place = git_repository(trees)
            git = run("git", "diff", "--cached", "-M", "--stat", "HEAD", cwd=place).stdout.decode()
            got = trees.show("stat", f"rename={source}={target}").decode()
            tap.ok(got == git and want in git, f"a rename reads {want}", (git, got))


def test_json():
    with Trees({b"a": b"1\n"}, {b"a": Program(b"2\n"), b"\xff\n": b"", b"l": Link(b"\xfe")}) as trees:
        lines = trees.show("json").splitlines()
        rows = {(base64.b64decode(row["path_b64"]) if row["path_b64"] else row["path"].encode()): row
                for row in map(json.loads, lines)}
        tap.ok(len(lines) == 3 and set(rows) == {b"a", b"\xff\n", b"l"}, "one object per line, any name", lines)
        row = rows[b"a"]
        tap.ok(row["op"] == "modified" and row["aspects"] == ["content", "mode"] and row["new"]["mode"] == "0755" and
               row["old"]["size"] == 2 and len(row["new"]["sha256"]) == 64 and row["from"] is None, "what changed", row)
        tap.ok(rows[b"\xff\n"]["path"] == r'"\377\n"' and rows[b"\xff\n"]["old"] is None, "a name for people beside it", lines)
        tap.ok(base64.b64decode(rows[b"l"]["new"]["link_b64"]) == b"\xfe", "targets of links likewise", lines)


def main():
    if not shutil.which("git"):
        print("1..0 # SKIP git is not installed")
        return 0
    test_apply()
    test_patch_program()
    test_marks()
    test_no_text()
    test_against_git()
    test_rename_stat()
    test_json()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
