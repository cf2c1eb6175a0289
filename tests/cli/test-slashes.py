#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Paths with more slashes than they need, in arguments and in links: they mean what they mean without.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it; the suite's runner does so as root and as a
plain user.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from clitest import Home, Tap, refused

tap = Tap()

# Two in front are a case of their own: POSIX lets a system mean something else by them, and C libraries may keep them.
FRONTS = ("", "/", "//", "///")


def link(home, target):
    """A link in the workspace; returns its path."""
    path = home.work + "/link"
    if os.path.islink(path):
        os.unlink(path)
    os.symlink(target, path)
    return path


def spellings(home, path):
    """The path with one slash to four in front, as an argument and behind a link."""
    for front in FRONTS:
        yield front + path, front + path
        yield link(home, front + path), "a link to " + front + path


def decision(home, *words):
    return json.loads(home.call("guard", "--json", "--", *words).stdout)["decision"]


def test_guard(home):
    key = home.path + "/.ssh/id_rsa"
    os.makedirs(os.path.dirname(key))
    with open(key, "w") as file:
        file.write("KEY\n")
    for secret in ("/etc/shadow", key):
        for path, what in spellings(home, secret):
            tap.equal(decision(home, "cat", path), "deny", f"guard: cat {what}")
    for path, what in spellings(home, "/usr"):
        tap.equal(decision(home, "rm", "-rf", path), "ask", f"guard: rm -rf {what}")
    for path, what in spellings(home, "/aisbx-not-there"):
        tap.equal(decision(home, "touch", path), decision(home, "touch", "/aisbx-not-there"), f"guard: touch {what}")


def test_directory(home):
    inner = home.work + "/inner"
    os.makedirs(inner, exist_ok=True)
    for path, what in spellings(home, inner):
        done = home.call("plan", "--json", "-C", path, "--", "true")
        tap.equal(json.loads(done.stdout or "{}").get("workspace"), inner, f"-C {what}")
    for front in FRONTS:
        done = home.call("run", "-C", front + "/proc/self/cwd", "--", "true")
        tap.ok(refused(done, 125, "name the directory itself"), f"-C {front}/proc/self/cwd", done)
    done = home.call("run", "-C", "/" + inner, "--", "sh", "-c", "pwd; echo made > file")
    tap.ok(done.stdout == inner + "\n" and not os.path.exists(inner + "/file"), "it is the workspace inside", done)


def test_binds(home):
    """--ro and --rw: the source may be spelled as it likes; what is ours, or secret, is it by every spelling."""
    volume = home.path + "/volume"
    os.makedirs(volume, exist_ok=True)
    with open(volume + "/file", "w") as file:
        file.write("CONTENT\n")
    for front in FRONTS:
        done = home.call("run", "--ro", f"{front}{volume}:/mnt/volume", "--", "sh", "-c",
                         "cat /mnt/volume/file; echo x > /mnt/volume/file")
        tap.ok(done.stdout == "CONTENT\n" and done.returncode not in (0, 125), f"--ro {front}{volume}", done)
        done = home.call("run", "--rw", f"{front}{volume}:{front}/mnt/volume", "--", "cat", "/mnt/volume/file")
        tap.equal(done.stdout, "CONTENT\n", f"--rw {front}{volume}")
    for flag in ("--ro", "--rw"):
        plain = home.call("run", flag, home.path + "/.local/state/aisbx:/mnt/volume", "--", "true")
        for path, what in spellings(home, home.path + "/.local/state/aisbx"):
            done = home.call("run", flag, path + ":/mnt/volume", "--", "true")
            tap.ok(plain.returncode != 0 and done.returncode == plain.returncode, f"{flag} {what} is refused as ever", (plain, done))


def test_masks(home):
    """What is hidden stays hidden behind a link in the home that has more slashes."""
    for number, front in enumerate(FRONTS):
        place = f"{home.path}/elsewhere-{number}"
        os.makedirs(place)
        with open(place + "/credentials", "w") as file:
            file.write("SECRET\n")
        aws = home.path + "/.aws"
        if os.path.islink(aws):
            os.unlink(aws)
        os.symlink(front + place, aws)
        script = f"cat {aws}/credentials {place}/credentials; echo end"
        done = home.call("run", "--", "sh", "-c", script)
        tap.ok("SECRET" not in done.stdout and "end" in done.stdout, f"masked behind a link to {front}{place}", done)
        os.unlink(aws)
    secret = home.put("conf/secret.txt", "SECRET\n")
    for path, what in spellings(home, secret):
        done = home.call("run", "--hide", path, "--", "sh", "-c", f"cat {secret} /{secret}; echo end")
        tap.ok("SECRET" not in done.stdout and "end" in done.stdout, f"--hide {what}", done)


def asked_for(home, target):
    done = home.call("promote", "goes", "--json", "--dry-run", "--target", target)
    return [(row["path"], row["why"]) for row in json.loads(done.stdout)["consent"]]


def test_target(home):
    """promote --target: the workspace is itself by every spelling, and what needs consent elsewhere needs it."""
    home.call("run", "--keep", "goes", "--", "sh", "-c", "echo new > new.txt; mkdir -p .config/autostart cron.d; "
              "echo x > .config/autostart/x.desktop; echo x > cron.d/x; echo x > .bashrc")
    goals = [home.work, home.path] + (["/etc"] if os.geteuid() == 0 else [])
    for goal in goals:
        plain = asked_for(home, goal)
        tap.ok(plain, f"promote --target {goal} asks", plain)
        for path, what in spellings(home, goal):
            tap.equal(asked_for(home, path), plain, f"promote --target {what} asks for the same")
    home.call("rm", "goes")


def main():
    with Home("aisbx-slashes-") as home:
        if home.can_run(tap, "paths with more slashes"):
            test_guard(home)
            test_directory(home)
            test_binds(home)
            test_masks(home)
            test_target(home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
