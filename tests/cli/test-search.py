#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The record searched by words: meanings, filters, an index that keeps up and survives damage.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, with a home of its own.
"""

import contextlib
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import patience  # noqa: E402
from clitest import AISBX, Home, Tap, refused  # noqa: E402

tap = Tap()


def found(home, *words):
    return [row["command"][-1] if row["command"] else row["kind"] for row in home.rows("search", *words)]


def shell(home, text):
    home.call("run", "--", "sh", "-c", text)


def test_meanings(home):
    shell(home, "echo 'bind: Address already in use' >&2; exit 98")
    shell(home, "echo 'write: No space left on device' >&2; exit 1")
    shell(home, "echo quiet; true")
    tap.ok("exit 98" in found(home, "port already taken")[0], "an error by what it means")
    tap.ok("No space" in found(home, "disk", "full")[0], "in several words")
    tap.ok("No space" in found(home, "which runs failed because the disk was full?")[0], "in a question")
    row = home.rows("search", "port taken")[0]
    tap.ok(row["exit_code"] == 98 and row["status"] == "error" and row["line"] == "bind: Address already in use" and row["kind"] == "run",
           "with its figures and the line", row)
    text = home.call("search", "port", "taken")
    tap.ok(text.returncode == 0 and "| bind: Address already in use" in text.stdout and row["run_id"] in text.stdout, "for people", text)


def test_filters(home):
    tap.ok(all("quiet" not in one for one in found(home, "quiet", "disk", "--failed")), "only what failed")
    tap.equal(len(found(home, "exit", "-n", "2")), 2, "so many")
    tap.equal(found(home, "disk", "-C", "/"), [], "elsewhere nothing ran")
    tap.ok(found(home, "disk", "-C", home.work), "here something did")
    tap.equal(found(home, "disk", "--since", "2099-01-01"), [], "nothing after that")
    home.call("create", "box")
    home.call("snap", "box", "-m", "before the zebra upgrade")
    tap.equal(found(home, "zebra", "--kind", "snapshot"), ["snapshot"], "a note of a snapshot")
    tap.equal(found(home, "zebra", "--kind", "run"), [], "which is no run")


def test_keeps_up(home):
    path = home.path + "/.local/state/aisbx/search.db"
    shell(home, "echo walrus")
    tap.equal(len(found(home, "walrus")), 1, "a run of a moment ago")
    tap.equal(os.stat(path).st_mode & 0o777, 0o600, "the index is for its user alone")
    for bytes_there in (b"", b"no database" * 999):
        with open(path, "wb") as out:
            out.write(bytes_there)
        tap.equal(len(found(home, "walrus")), 1, "an index that was damaged is made anew")
    said = [answer for _ in range(5) for answer in searched_at_once(home, path, 8)]
    tap.ok(all(len(one.splitlines()) == 1 for one in said), "eight at once make one index", said)


def searched_at_once(home, path, count):
    """What so many searches say that begin without an index."""
    for end in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + end)
    many = [subprocess.Popen([AISBX, "search", "walrus", "--json"], env=home.env, cwd=home.work, stdout=subprocess.PIPE, text=True) for _ in range(count)]
    return [one.communicate(timeout=patience(60))[0] for one in many]


def test_hostile(home):
    shell(home, "printf 'esc\\033[31m walnut\\007 \\377\\376 end\\n'; exit 3")
    text = home.call("search", "walnut")
    tap.ok("walnut" in text.stdout and "\x1b" not in text.stdout and "\x07" not in text.stdout, "output that would steer a terminal", text)
    tap.ok(json.loads(home.call("search", "walnut", "--json").stdout)["exit_code"] == 3, "and is no UTF-8")
    for words in ('"', "a OR NEAR(", "x* AND", "command:sh", "-- '; DROP TABLE runs", "\u00e9\u4e2d", "a" * 5000, " ".join(map(str, range(500)))):
        done = home.call("search", "--", words)
        tap.ok(done.returncode in (0, 2) and done.stderr.count("\n") <= 1, f"words such as {words[:20]!r}", done)
    tap.ok(refused(home.call("search", "--", "..."), 2, "word"), "none at all")
    tap.ok(refused(home.call("search", "x", "-n", "0"), 2, "--limit"), "no results asked for")


def main():
    with Home("search-cli.") as home:
        if home.can_run(tap, "runs to be searched"):
            for test in (test_meanings, test_filters, test_keeps_up, test_hostile):
                tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
