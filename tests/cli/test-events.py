#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""events: what happens, from the record alone; resumed from any id, followed as it comes.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, with a home of its own.
"""

import json
import os
import select
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import patience  # noqa: E402
from clitest import AISBX, Home, Tap  # noqa: E402

tap = Tap()


def events(home, *words):
    done = home.call("events", "--json", *words)
    return [json.loads(line) for line in done.stdout.splitlines()]


def kinds(rows, **wanted):
    return [row["event"] for row in rows if all(row.get(key) == value for key, value in wanted.items())]


def follow(home, *words):
    return subprocess.Popen([AISBX, "events", "--follow", "--json", *words], cwd=home.work, env=home.env, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)


def take(reader, event):
    """Reads on until one of that name."""
    for line in reader.stdout:
        row = json.loads(line)
        if row["event"] == event:
            return row
    return None


def test_empty(home):
    done = home.call("events")
    tap.equal((done.returncode, done.stdout), (0, ""), "nothing happened yet")
    tap.equal(home.call("events", "--since", "1").returncode, 5, "an id beyond the end is not found")
    for wrong in ("x", "-1", "1.", "1.x", "", "9" * 40):
        tap.equal(home.call("events", "--since", wrong).returncode, 2, f"'{wrong[:5]}' is no id")
    tap.equal(home.call("events", "now").returncode, 2, "it takes no words")


def test_kinds(home):
    if home.call("run", "--", "true").returncode != 0:
        return False
    home.call("run", "--", "sh", "-c", "mount -t tmpfs x /mnt; cd /sys && umount /proc; exit 3")
    home.call("run", "--time", "200ms", "--trace", "agent-1", "--", "sleep", "600")
    home.call("create", "box")
    home.call("exec", "box", "--", "touch", "made")
    home.call("snap", "box")
    home.call("promote", "box")
    home.call("undo")
    rows = events(home)
    tap.equal(kinds(rows)[:2], ["started", "ended"], "a run starts and ends")
    refused = [row for row in rows if row["event"] == "denied"]
    tap.ok(refused and all(row["layer"] and row["what"] and row["run_id"] for row in refused), "what was refused", rows)
    tap.equal(kinds(rows, trace_id="agent-1"), ["started", "limit", "ended"], "a limit that was met, with the trace")
    tap.equal([row["status"] for row in rows if row["event"] == "ended"], ["success", "error", "timeout", "success"], "how they ended")
    tap.equal(kinds(rows, sandbox="box"), ["created", "started", "ended", "snapshot", "promoted"], "a named one's life")
    tap.ok("undo" in kinds(rows), "and what was taken back", rows)
    text = home.call("events").stdout
    tap.equal(len(text.splitlines()), len(rows), "one line each for people")
    return True


def test_resume(home):
    rows = events(home)
    ids = [row["id"] for row in rows]
    tap.equal(len(set(ids)), len(ids), "every event has an id of its own")
    tap.ok(all(events(home, "--since", ids[at]) == rows[at + 1:] for at in range(len(ids))), "resumed behind every one")
    tap.equal(events(home, "--since", "0"), rows, "0 is the beginning")


def test_follow(home):
    last = events(home)[-1]["id"]
    reader = follow(home, "--since", last)
    home.call("run", "--", "true")
    seen = [take(reader, "started"), take(reader, "ended")]
    tap.equal(seen, events(home, "--since", last), "followed without a daemon, the same as read later")
    run = subprocess.Popen([AISBX, "run", "--", "sleep", "600"], cwd=home.work, env=home.env, stdin=subprocess.DEVNULL)
    started = take(reader, "started")
    run.kill()
    run.wait()
    ended = take(reader, "ended")
    tap.equal((ended["run_id"], ended["status"]), (started["run_id"], "killed"), "a killed supervisor's run ends, too")
    reader.stdout.close()
    tap.equal(reader.wait(timeout=patience(60)), 0, "whose reader is gone ends, though nothing happens")
    reader = follow(home)
    # From now on is from when it has opened the record: some run finds it ready.
    while not select.select([reader.stdout], [], [], 0)[0]:
        home.call("run", "--trace", "new", "--", "true")
    tap.equal(json.loads(reader.stdout.readline())["trace_id"], "new", "followed from now on")
    reader.kill()
    reader.communicate()


def test_hostile(home):
    """A record is text of strangers: it stays on its line, and damage costs no more than itself."""
    nasty = "\x1b]0;x\x07\r\n9 ended \u202e" + "x" * 300000
    home.call("run", "--", "true", nasty[:100000], "\n17 promoted box")
    text = home.call("events").stdout
    tap.ok("\x1b" not in text and "\n17 promoted" not in text and "\r" not in text, "control characters are shown, not sent")
    before = len(events(home))
    spool = home.path + "/.local/state/aisbx/spool"
    with open(spool, "ab") as out:
        out.write(b"\xffaisbx\xfe\n\x03\0\0\0\xff\xff\0\0garbage" + os.urandom(5000) + b"\xffaisbx\xfe\n")
    home.call("run", "--", "true")
    tap.equal(len(events(home)), before + 2, "behind damage the next run is found")
    reader = follow(home, "--since", events(home)[-1]["id"])
    home.call("run", "--", "true")
    tap.ok(take(reader, "ended"), "by a follower as well")
    reader.kill()
    reader.communicate()


def test_upgrade(home):
    """A history of an earlier version has its events, too."""
    before = [(row["event"], row.get("run_id")) for row in events(home) if row["event"] not in ("limit",)]
    with sqlite3.connect(home.path + "/.local/state/aisbx/history.db") as db:
        db.executescript("DROP TABLE journal; DELETE FROM sqlite_sequence; PRAGMA user_version=2;" + "".join(
            f"ALTER TABLE runs DROP COLUMN {name};" for name in ("start", "queued_ms", "limits")))
    after = [(row["event"], row.get("run_id")) for row in events(home)]
    tap.equal(sorted(after, key=str), sorted(before, key=str), "an earlier history is taken over")
    home.call("run", "--", "true")
    tap.equal(kinds(events(home))[-1], "ended", "and goes on")
    before = {row["run_id"] for row in home.rows("history")}
    done = home.call("gc", "--age", "1ms")
    # Runs of a sandbox that was promoted stay.
    kept = {row["run_id"] for row in home.rows("history")}
    ended = {row["run_id"] for row in events(home) if row["event"] == "ended"}
    tap.ok(done.returncode == 0 and kept < before and ended <= kept, "what gc removes is gone from the events", (done, kept, ended))
    last = events(home, "--since", "0")[-1]["id"]
    home.call("run", "--", "true")
    tap.equal(kinds(events(home, "--since", last)), ["started", "ended"], "and no id is given twice")


with Home("aisbx-test-events-") as own:
    test_empty(own)
    if test_kinds(own):
        test_resume(own)
        test_follow(own)
        test_hostile(own)
        test_upgrade(own)
    else:
        tap.skip("events of runs", "no sandbox can be made here")
sys.exit(tap.done())
