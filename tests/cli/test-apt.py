#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""apt inside: a root caller installs into the copy, from a repository of the test's own; a plain user cannot, as outside.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it.
"""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from box import patience
from clitest import Home, Tap
from family import until

tap = Tap()
CONTROL = "Package: {name}\nVersion: 1.0\nArchitecture: all\nMaintainer: a <a@example.org>\nDescription: a test\n"
# Only in the copy: the host's sources are not asked.
INSTALL = ("test -e mark && printf 'deb [trusted=yes] file:/mnt/repo ./\\n' >/etc/apt/sources.list && rm -f /etc/apt/sources.list.d/* && "
           "apt-get update && apt-get install -y {name} && {name}")


def package(repo, name, owner):
    """A package with one program; OWNER is an option of dpkg-deb's tar."""
    top = os.path.join(repo, "tree-" + name)
    os.makedirs(os.path.join(top, "DEBIAN"))
    os.makedirs(os.path.join(top, "usr/bin"))
    with open(os.path.join(top, "DEBIAN/control"), "w", encoding="utf-8") as file:
        file.write(CONTROL.format(name=name))
    program = os.path.join(top, "usr/bin", name)
    with open(program, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\necho hello from apt\n")
    os.chmod(program, 0o755)
    if owner:
        os.chown(program, owner, owner)
    subprocess.run(["dpkg-deb", *([] if owner else ["--root-owner-group"]), "-b", top, repo], check=True, capture_output=True)
    shutil.rmtree(top)


def make_repository(repo):
    package(repo, "aisbx-hello", 0)
    if os.getuid() == 0:
        package(repo, "aisbx-foreign", 4242)
    with open(os.path.join(repo, "Packages"), "w", encoding="utf-8") as file:
        subprocess.run(["dpkg-scanpackages", "."], cwd=repo, stdout=file, stderr=subprocess.DEVNULL, check=True)


def is_dpkg_at_rest():
    """Whether no package is being installed on the host: the copy would begin in the middle of it."""
    return not os.listdir("/var/lib/dpkg/updates")


def install(home, repo, name):
    """An installation inside; again where somebody has installed something on the host meanwhile."""
    for _ in range(5):
        until(is_dpkg_at_rest, patience(60))
        done = home.call("run", "--ro", f"{repo}:/mnt/repo", "--", "sh", "-c", INSTALL.format(name=name))
        if "dpkg was interrupted" not in done.stderr:
            break
    return done


def test_root(home, repo):
    done = install(home, repo, "aisbx-hello")
    tap.ok(done.returncode == 0 and done.stdout.endswith("hello from apt\n"), "root installs a package into the copy", done)
    tap.ok(not os.path.exists("/usr/bin/aisbx-hello"), "the host has none of it")
    lists = "ls -A /var/lib/apt/lists | grep -v -e '^partial$' -e '^auxfiles$'"
    outside = subprocess.run(["sh", "-c", lists], capture_output=True, text=True, check=False).stdout
    done = home.call("run", "--", "sh", "-c", lists)
    tap.equal(done.stdout, outside, "the host's lists are there, without what only _apt can write to")
    known = subprocess.run(["apt-cache", "policy"], capture_output=True, text=True, check=False).stdout
    done = home.call("run", "--", "apt-cache", "policy")
    tap.equal(done.stdout, known, "so that apt knows the same packages before it has fetched anything")
    done = install(home, repo, "aisbx-foreign")
    tap.ok(done.returncode != 0 and "error setting ownership" in done.stdout + done.stderr, "a package with files of another user fails, and says so", done)
    done = home.call("run", "--", "sh", "-c", "grep CapEff /proc/self/status")
    tap.ok(done.stdout.split() == ["CapEff:", "0" * 16], "no capability is there for it", done)


def test_plain(home, repo):
    done = home.call("run", "--ro", f"{repo}:/mnt/repo", "--", "apt-get", "install", "-y", "aisbx-hello")
    tap.ok(done.returncode != 0 and "are you root" in done.stderr.lower(), "a plain user is not root inside either, and apt says so", done)


def main():
    lack = [name for name in ("apt-get", "dpkg-deb", "dpkg-scanpackages") if not shutil.which(name)]
    with Home("aisbx-apt.") as home:
        if lack or not home.can_run(tap, "apt"):
            if lack:
                tap.skip("apt inside", f"{lack[0]} is not installed")
            return tap.done()
        repo = os.path.join(home.path, "repo")
        os.makedirs(repo)
        make_repository(repo)
        home.put("mark", "")
        tap.attempt(test_root if os.getuid() == 0 else test_plain, home, repo)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
