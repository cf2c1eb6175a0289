#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cp of directories, in and out: modes, links as links, nothing followed out of the sandbox, within its limits.

Takes the program from AISBX. Speaks TAP.
"""
import os
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from clitest import Home, Tap, refused

tap = Tap()
LONG = "n" * 180


def sh(home, script, name="box"):
    return home.call("exec", name, "--", "sh", "-c", script)


def outside(home, name):
    """A directory of the host's that is not in the workspace."""
    path = os.path.join(home.path, name)
    os.makedirs(path)
    return path


def write(path, content=b"", mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    os.chmod(path, mode)


def listing(home, place, name="box"):
    """What is below a place in the sandbox: {path: (mode, kind, link)}."""
    done = home.call("exec", name, "--", "find", place, "-mindepth", "1", "-printf", "%P\\0%m\\0%y\\0%l\\0")
    words = done.stdout.split("\0")[:-1]
    return {words[i]: tuple(words[i + 1:i + 4]) for i in range(0, len(words), 4)}


def make_tree(home):
    top = outside(home, "tree")
    write(top + "/plain", b"hello\0\n" * 3)
    write(top + "/tool", b"#!/bin/sh\necho ran\n", 0o755)
    write(top + "/shut/inner", b"x", 0o400)
    write(f"{top}/{LONG}/{LONG}/deep", b"long")
    write(top + "/-dash and space\n", b"odd")
    os.mkdir(top + "/empty", 0o711)
    os.chmod(top + "/empty", 0o711)
    os.symlink("plain", top + "/link")
    os.symlink("/etc/passwd", top + "/absolute")
    os.symlink("../../nowhere/" + LONG, top + "/dangling")
    os.mkfifo(top + "/pipe")
    with socket.socket(socket.AF_UNIX) as door:
        os.chdir(top)
        door.bind("door")
        os.chdir("/")
    os.chmod(top + "/shut", 0o555)
    return top


def test_in(home):
    home.call("create", "box")
    top = make_tree(home)
    found = home.data("cp", top, "box:")
    tap.equal([found.get(k) for k in ("files", "directories", "links", "left_out")], [5, 5, 3, 2], "a directory is copied in")
    got = listing(home, "tree")
    tap.equal([got.get(k) for k in ("plain", "tool", "shut", "shut/inner", "empty")],
              [("644", "f", ""), ("755", "f", ""), ("555", "d", ""), ("400", "f", ""), ("711", "d", "")], "with its modes")
    tap.equal([got.get(k, ("", "", ""))[1:] for k in ("link", "absolute", "dangling")],
              [("l", "plain"), ("l", "/etc/passwd"), ("l", "../../nowhere/" + LONG)], "and links as links")
    tap.ok(f"{LONG}/{LONG}/deep" in got and "-dash and space\n" in got, "whatever the names are", got)
    tap.ok("pipe" not in got and "door" not in got, "pipes and sockets are left out")
    tap.equal(sh(home, "cat tree/plain | od -c | head -1; ./tree/tool").stdout.split()[-1], "ran", "contents too")
    said = home.call("cp", top, "box:other")
    tap.ok(said.returncode == 0 and "5 files" in said.stdout and "left out" in said.stderr, "said to people", said)
    tap.equal(set(listing(home, "other")), set(got), "a new place becomes the copy")
    tap.equal(home.call("cp", top + "/", "box:other").returncode, 0, "a place that is there")
    tap.ok("tree/plain" in listing(home, "other"), "gets it inside")
    home.call("exec", "box", "--", "mkdir", "third")
    tap.equal([home.call("cp", top + "/.", "box:third").returncode, set(listing(home, "third"))], [0, set(got)],
              "DIR/. is what is in it")
    tap.equal(home.call("cp", top, "box:a/b/c").returncode, 0, "directories above are made")
    tap.ok(not [n for n in os.listdir(home.work) if n != "f"], "the host sees nothing of it", os.listdir(home.work))
    diff = home.call("diff", "box", "--name-status").stdout
    tap.ok("tree/plain" in diff, "the sandbox does", diff)
    os.chmod(top + "/shut", 0o755)


def test_refused(home):
    home.call("create", "box")
    top = outside(home, "tree")
    write(top + "/sub/fine", b"x")
    done = home.call("cp", top, "nobody:x")
    tap.ok(refused(done, 5, "nobody"), "a sandbox that is not there", done)
    done = home.call("cp", top + "/none", "box:x")
    tap.ok(refused(done, 5, "none"), "a directory that is not there", done)
    sh(home, "echo x > file")
    done = home.call("cp", top, "box:file")
    tap.ok(refused(done, 2, "file"), "a file in the way", done)
    if os.geteuid() != 0:
        write(top + "/sub/secret", b"x", 0)
        done = home.call("cp", top, "box:in")
        tap.ok(refused(done, 2, "sub/secret"), "what cannot be read is named", done)
        tap.equal(sh(home, "test -e in").returncode, 1, "and nothing is written")
        os.chmod(top + "/sub/secret", 0o644)
    else:
        tap.skip("what cannot be read is named", "root reads everything")
        tap.skip("and nothing is written", "root reads everything")
    deep = outside(home, "deep")
    os.chdir(deep)
    for _ in range(300):
        os.mkdir("d")
        os.chdir("d")
    os.chdir("/")
    done = home.call("cp", deep, "box:")
    tap.ok(refused(done, 2, "200"), "more levels than we walk", done)
    tap.equal(sh(home, "test -e deep").returncode, 1, "and nothing is written")


def test_planted(home):
    """A link that somebody inside planted leads nowhere outside, in neither direction."""
    home.call("create", "box")
    top, host = outside(home, "tree"), home.path + "/canary"
    write(top + "/plain", b"new")
    write(top + "/sub/plain", b"new")
    write(host + "/plain", b"old")
    os.symlink(host, home.path + "/planted")
    subprocess.run(["cp", "-r", top + "/.", home.path + "/planted/"], check=True)
    with open(host + "/plain", "rb") as file:
        tap.equal(file.read(), b"new", "control: a copy through a planted link reaches its target on the host")
    write(host + "/plain", b"old")
    write(host + "/sub/plain", b"old")
    sh(home, f"mkdir -p tree; ln -s {host} tree/sub; ln -s {host} dst; ln -s {host}/plain tree/plain")
    for place in ("box:dst", "box:", "box:dst/."):
        home.call("cp", top, place)
        home.call("cp", top + "/.", place)
    kept = []
    for name in ("/plain", "/sub/plain"):
        with open(host + name, "rb") as file:
            kept.append(file.read())
    tap.equal([kept, sorted(os.listdir(host))], [[b"old", b"old"], ["plain", "sub"]], "into a sandbox it does not")
    sh(home, f"rm -rf out; mkdir out; echo x > out/f; ln -s {host}/plain out/steal; ln -s f out/link")
    done = home.call("cp", "box:out", home.work + "/taken")
    tap.ok(done.returncode == 4 and "steal" in done.stdout + done.stderr, "a link that leads out needs a word", done)
    tap.ok(not os.path.lexists(home.work + "/taken"), "and nothing is written", os.listdir(home.work))


def test_out(home):
    home.call("create", "box")
    sh(home, "mkdir -p d/e/f; echo one > d/one; chmod 640 d/one; echo two > d/e/two; chmod 750 d/e; ln -s one d/link; ln -s e/two d/deep; mkdir -m 711 d/empty")
    done = home.call("cp", "box:d", home.work + "/d")
    tap.equal(done.returncode, 0, "a directory is copied out")
    got = {os.path.relpath(os.path.join(t, n), home.work + "/d"): os.lstat(os.path.join(t, n)).st_mode
           for t, ds, fs in os.walk(home.work + "/d") for n in ds + fs}
    tap.equal([got.get(k, 0) & 0o777 for k in ("one", "e", "empty")], [0o640, 0o750, 0o711], "with its modes")
    tap.equal([os.readlink(f"{home.work}/d/{n}") for n in ("link", "deep")], ["one", "e/two"], "and links as links")
    tap.equal(home.read("d/e/two"), "two\n", "and contents")
    home.call("undo")
    tap.ok(not os.path.lexists(home.work + "/d"), "which can be undone")
    back = outside(home, "back")
    home.call("cp", "box:d", back + "/d")
    home.call("create", "twin")
    home.call("cp", back + "/d", "twin:")
    tap.equal(listing(home, "d", "twin"), listing(home, "d"), "there and back again is the same")


def test_limit(home):
    """The sandbox's disk limit holds for what is copied in."""
    home.call("create", "--disk", "24m", "box")
    top = outside(home, "big")
    for i in range(40):
        write(f"{top}/{i}", os.urandom(1 << 20) * 4)
    done = home.call("cp", top, "box:")
    tap.ok(refused(done, 4, "disk space", "--disk"), "more than the disk limit is refused in words", done)
    tap.equal(sh(home, "rm -rf big; echo again > f; cat f").stdout, "again\n", "and the sandbox can be used again")


def main():
    for test in (test_in, test_refused, test_planted, test_out, test_limit):
        with Home("aisbxtest-cp-") as home:
            tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
