#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The store on each filesystem it may lie on, and the disk limit where one counts by projects.

Each filesystem is made in an image of its own and mounted by the test, so this needs root. What the machine cannot
make or mount is skipped, with the reason.
"""

import contextlib
import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from clitest import Home, Tap

tap = Tap()
MEGA = 1 << 20
# Name, how it is made, options of its mount, size of the image.
KINDS = (
    ("ext4", ["mkfs.ext4", "-q", "-F"], "loop", 200 * MEGA),
    ("xfs", ["mkfs.xfs", "-q", "-f"], "loop", 320 * MEGA),
    ("btrfs", ["mkfs.btrfs", "-q", "-f"], "loop", 320 * MEGA),
    ("tmpfs", None, "size=200m", 0),
)
QUOTAS = (
    ("ext4", ["mkfs.ext4", "-q", "-F", "-O", "quota,project", "-E", "quotatype=prjquota"], "loop,prjquota", 200 * MEGA),
    ("xfs", ["mkfs.xfs", "-q", "-f"], "loop,prjquota", 320 * MEGA),
)
# Projects without quotas: what they keep out is kept out.
PROJECTS = (("ext4", ["mkfs.ext4", "-q", "-F", "-O", "quota,project"], "loop", 200 * MEGA), KINDS[1])


class Unavailable(Exception):
    """Why a filesystem cannot be had here."""


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


@contextlib.contextmanager
def mounted(kind, make, options, size):
    """A fresh filesystem, by its path."""
    top = tempfile.mkdtemp(prefix="aisbx-fs.", dir="/var/tmp")
    image, place = top + "/image", top + "/fs"
    os.mkdir(place)
    try:
        if make:
            if not shutil.which(make[0]):
                raise Unavailable(f"no {make[0]}")
            with open(image, "wb") as file:
                file.truncate(size)
            done = run(*make, image)
            if done.returncode:
                raise Unavailable(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else make[0])
        done = run("mount", "-t", kind, "-o", options, image if make else "none", place)
        if done.returncode:
            raise Unavailable(" ".join(done.stderr.split()) or "mount")
        try:
            yield place
        finally:
            # A supervisor that ends, or whoever empties the trash, may hold it for a moment.
            run("umount", "-l", place)
    finally:
        shutil.rmtree(top, ignore_errors=True)


def sh(home, name, script):
    return home.call("exec", name, "--", "sh", "-c", script)


def one_life(home, kind):
    """Made, used, saved, rewound, branched, compared, applied, taken back, removed."""
    home.put("a", "one\n")
    home.put("d/b", "two\n")
    done = home.call("create", "box")
    tap.ok(done.returncode == 0, f"{kind}: create", done)
    done = sh(home, "box", "echo more >> a; mv d e; ln a c; rm e/b; echo x > e/x; truncate -s 150M hole; mkdir -p deep/er")
    # Before 6.3 a tmpfs could not be.
    if "cannot be id-mapped" in done.stderr:
        raise Unavailable(done.stderr.strip())
    tap.ok(done.returncode == 0, f"{kind}: exec", done)
    done = home.call("snap", "box", "--durable")
    tap.ok(done.returncode == 0, f"{kind}: snap", done)
    sh(home, "box", "rm -rf a e; echo later > later")
    before = run("du", "-sk", home.path).stdout.split()[0]
    tap.ok(int(before) < 100000, f"{kind}: holes stay holes", before)
    done = home.call("rollback", "box")
    tap.ok(done.returncode == 0 and sh(home, "box", "cat a e/x; test ! -e later").stdout == "one\nmore\nx\n", f"{kind}: rollback", done)
    done = home.call("fork", "box", "other")
    tap.ok(done.returncode == 0 and sh(home, "other", "cat a").stdout == "one\nmore\n", f"{kind}: fork", done)
    shown = home.call("diff", "box", "--name-status").stdout
    tap.ok("M\ta\n" in shown and "A\tc\n" in shown and "e/x" in shown and "hole" in shown, f"{kind}: diff", shown)
    done = home.call("promote", "box")
    same = os.path.exists(home.work + "/c") and os.stat(home.work + "/a").st_ino == os.stat(home.work + "/c").st_ino
    tap.ok(done.returncode == 0 and home.read("a") == "one\nmore\n" and same and os.stat(home.work + "/hole").st_blocks < 64,
           f"{kind}: promote", done)
    tap.equal(home.rows("diff", "box"), [], f"{kind}: nothing is left")
    done = home.call("undo")
    tap.ok(done.returncode == 0 and home.read("a") == "one\n" and home.read("d/b") == "two\n" and not os.path.exists(home.work + "/c"),
           f"{kind}: undo", done)
    done = home.call("rm", "box", "other")
    tap.ok(done.returncode == 0, f"{kind}: rm", done)


def home_on(place):
    """A home whose store and workspace lie there."""
    home = Home.__new__(Home)
    home.path = place + "/home"
    home.work = home.path + "/project"
    os.makedirs(home.work)
    home.env = {**{k: v for k, v in os.environ.items() if not k.startswith("XDG_")}, "HOME": home.path, "PAGER": "cat"}
    return home


def test_kind(kind, make, options, size):
    with mounted(kind, make, options, size) as place:
        with home_on(place) as home:
            one_life(home, f"{kind}, with the workspace")
        with Home("aisbx-st.") as home:
            home.env["XDG_DATA_HOME"] = place + "/data"
            one_life(home, f"{kind}, away from the workspace")


def result(home, name, script):
    done = home.call("exec", "--json", name, "--", "sh", "-c", script)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"broken": done}


def beside_others(place, kind):
    """A project that comes down from the directory above has bounds that others set."""
    theirs = place + "/theirs"
    os.mkdir(theirs)
    if run("chattr", "-p", "7", "+P", theirs).returncode:
        tap.skip(f"{kind}: a project that others have made", "chattr cannot set one")
        return
    with home_on(theirs) as home:
        home.call("create", "box", "--disk", "16m", "--require", "disk")
        done = sh(home, "box", "echo in")
        tap.ok(done.returncode != 0 and "disk" in done.stderr, f"{kind}: a project that others have made is no quota of ours", done)
        home.call("rm", "box")


def test_quota(kind, make, options, size):
    with mounted(kind, make, options, size) as place, home_on(place) as home:
        made = home.call("create", "box", "--disk", "16m")
        told = result(home, "box", "head -c 12m /dev/zero > fits && echo fits; head -c 12m /dev/zero > more; echo code $?; ls -s fits")
        tap.ok(made.returncode == 0 and told.get("status") == "success" and "code 1" in told.get("stdout", "")
               and "uota" in told.get("stderr", ""), f"{kind}: whoever writes more is told so, and goes on", told)
        tap.ok("disk" in told.get("limits_hit", []) and "disk" not in told.get("degraded", ["disk"]), f"{kind}: it is said", told)
        told = result(home, "box", "rm fits more; head -c 12m /dev/zero > fits && echo fits")
        tap.ok("fits" in told.get("stdout", ""), f"{kind}: what is removed is room again", told)
        home.call("snap", "box")
        told = result(home, "box", "head -c 12m /dev/zero > other && echo fits")
        tap.ok("fits" in told.get("stdout", ""), f"{kind}: what is saved does not count", told)
        # The ways out of a project: a rename cannot, and a process in here may not change it.
        told = result(home, "box", "head -c 12m /dev/zero > again; chattr -p 0 other; chattr -P .; head -c 12m /dev/zero > again; du -sk .")
        tap.ok(int((told.get("stdout") or "99999").split()[0]) < 32000, f"{kind}: nothing leaves the project", told)
        home.call("stop", "box")
        home.call("rm", "box")
        beside_others(place, kind)


def test_killed_start(kind, make, options, size):
    """A start that was killed leaves its top passing the project on: into that nothing of another can be renamed."""
    with mounted(kind, make, options, size) as place, home_on(place) as home:
        home.put("f", "old\n")
        home.call("create", "box")
        sh(home, "box", "echo new > f")
        home.call("stop", "box")
        top = f"{home.path}/.local/share/aisbx/sbx/box/upper"
        outside = os.path.join(place, "outside")
        with open(outside, "w", encoding="utf-8"):
            pass
        if run("chattr", "-p", "1073741900", "+P", top).returncode:
            raise Unavailable("chattr cannot set a project")
        try:
            os.rename(outside, top + "/outside")
            raise Unavailable("its projects do not keep anything out")
        except OSError as problem:
            tap.equal(problem.errno, errno.EXDEV, f"{kind}: nothing is renamed into a top that a killed start left")
        done = home.call("snap", "box")
        tap.ok(done.returncode == 0, f"{kind}: it is saved all the same", done)
        rows = home.rows("diff", "box")
        tap.equal([(row["path"], row["base"]) for row in rows], [("f", "exact")], f"{kind}: with what its changes started from")
        tap.ok(sh(home, "box", "cat f").stdout == "new\n" and home.call("promote", "box", "--kill").returncode == 0,
               f"{kind}: and goes on")
        home.call("rm", "box")


def if_there(test, kind, *how):
    try:
        test(kind, *how)
    except Unavailable as reason:
        tap.skip(f"{kind}{'' if test is test_kind else ' with projects'}", reason)


def main():
    if os.geteuid() != 0:
        print("1..0 # SKIP mounting filesystems needs root")
        return 0
    for test, kinds in ((test_quota, QUOTAS), (test_killed_start, PROJECTS), (test_kind, KINDS)):
        for kind in kinds:
            tap.attempt(if_there, test, *kind)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
