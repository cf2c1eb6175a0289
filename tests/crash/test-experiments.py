#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Experiments killed at random moments: races, the fold of the history, gc. No record lost or doubled, nothing left.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in homes of its own. AISBX_KILL_ROUNDS: how often each is
killed (6; 30 with AISBX_LONG; 200 in `make ci` where there is time). The moments are spread over the time that an undisturbed call took; the seed is printed. Stages
have such a test of their own (tests/cli/test-stage.py).
"""

import datetime
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from chance import seed_of  # noqa: E402
from clitest import AISBX, Home, Tap  # noqa: E402
from family import adopt, descendants, reap, until  # noqa: E402

tap = Tap()
ROUNDS = int(os.environ.get("AISBX_KILL_ROUNDS") or (30 if os.environ.get("AISBX_LONG") else 6))
SEED = seed_of("experiments")


def took(call):
    began = time.monotonic()
    call()
    return time.monotonic() - began


PACE = {}


def killed(home, seconds, *words):
    """Starts the program and kills it at a moment of its life; whether that was before its end."""
    # the machine may be busier than when it was measured, or less
    seconds = PACE.setdefault(words[0], seconds)
    child = subprocess.Popen([AISBX, *words], cwd=home.work, env=home.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    try:
        # half of them late, where things are made to last
        child.wait(timeout=seconds * (random.uniform(0, 1.1) if random.random() < 0.5 else random.uniform(0.7, 1.1)))
        PACE[words[0]] = seconds * 0.9
        return False
    except subprocess.TimeoutExpired:
        PACE[words[0]] = seconds * 1.03
        child.send_signal(signal.SIGKILL)
        child.wait()
        return True


def alone():
    """Whether nobody is left of what was killed; supervisors and janitors need a moment."""
    return until(lambda: reap() or not descendants(os.getpid()))


def recorded(home):
    """{run id: its row} of the history; None when one stands twice."""
    rows = home.rows("history", "-n", "100000")
    ids = [row["run_id"] for row in rows]
    return {row["run_id"]: row for row in rows} if len(set(ids)) == len(ids) else None


def stray(home):
    """What lies about in the store and beside the workspace that no command would leave."""
    store = home.path + "/.local/share/aisbx"
    found = [n for n in os.listdir(home.work) if n.startswith(".aisbx")]
    for place in ("staging", "promotions/pending"):
        found += os.listdir(f"{store}/{place}") if os.path.isdir(f"{store}/{place}") else []
    # what a promotion replaced is kept for its undo
    known = {row.get("promotion_id") or row.get("id") for row in home.rows("promotions")} if found else set()
    return [name for name in found if name not in known]


ONE, TWO = {"f.txt": "old\n", "keep.txt": "kept\n"}, {"f.txt": "new\n", "keep.txt": "kept\n", "added.txt": "a\n"}


def content(home):
    return {name: home.read(name) for name in sorted(os.listdir(home.work)) if not name.startswith(".aisbx")}


def is_check(home, name):
    """Whether it is the fork that a check ran in: nobody is left to remove it at once, so its time is short."""
    about = home.data("inspect", name)
    begin, end = (datetime.datetime.fromisoformat(about.get(key) or "1970-01-01T00:00:00Z") for key in ("created", "expires"))
    return bool(re.match(r"r-[0-9a-f]+[.][0-9]+-check$", name)) and begin < end <= begin + datetime.timedelta(hours=1, seconds=1)


def test_race(home):
    """With --promote: the winner is applied whole or not at all, and the history knows every attempt once."""
    words = ["race", "--promote", "--check", "grep -q new f.txt", "-c", "good=echo new > f.txt; echo a > added.txt",
             "-c", "bad=echo worse > f.txt", "-c", "worse=exit 3"]
    outcomes, torn, doubled, half, left = {"before": 0, "after": 0}, 0, 0, 0, []

    def fresh():
        for name in os.listdir(home.work):
            os.unlink(os.path.join(home.work, name))
        for name, text in ONE.items():
            home.put(name, text)

    fresh()
    seconds = took(lambda: home.call(*words))
    tap.equal(content(home), TWO, "a race that is left alone")
    known = recorded(home)
    stopped = 0
    for _ in range(ROUNDS):
        fresh()
        stopped += killed(home, seconds, *words)
        if not alone():
            left.append(descendants(os.getpid()))
        home.call("ls")
        now = content(home)
        torn += now not in (ONE, TWO)
        outcomes["after" if now == TWO else "before"] += 1
        rows = recorded(home)
        doubled += rows is None or not set(known) <= set(rows)
        known = rows or known
        # who died without a word is told as killed, and nobody runs any more
        half += any(row["status"] not in ("success", "error", "killed") for row in known.values())
        left += stray(home)
    note = f"{stopped} of {ROUNDS} killed in time, {outcomes}, a race takes {seconds * 1000:.0f} ms, {len(known)} runs recorded"
    tap.equal(torn, 0, f"a killed race promotes its winner or nothing ({note})")
    tap.equal((doubled, half), (0, 0), "no record is lost, doubled or without an end")
    tap.equal(left[:3], [], "nobody and nothing is left of it")
    names = [row["name"] for row in home.rows("ls")]
    shown = [name for name in names if not re.match(r"r-[0-9a-f]+[.](good|bad|worse)$", name) and not is_check(home, name)]
    odd = [name for name in names if home.call("inspect", name).returncode != 0]
    tap.equal((shown[:3], odd[:3]), ([], []), "sandboxes that stay are attempts, each of them whole")


def test_fold(home):
    """The spool is folded into the database once and only once, whoever is killed over it."""
    state = home.path + "/.local/state/aisbx"
    for _ in range(4):
        home.call("run", "--", "true")
    home.call("history")
    seconds, expected, wrong, stopped = 0.0, len(recorded(home) or ()), 0, 0
    for turn in range(ROUNDS):
        for _ in range(2):
            expected += home.call("run", "--", "true").returncode == 0
        if turn == 0:
            copy = home.path + "/copy"
            shutil.copytree(state, copy)
            seconds = took(lambda: home.call("history", XDG_STATE_HOME=home.path + "/unused"))
            shutil.rmtree(copy)
        stopped += killed(home, max(seconds, 0.01), "history", "--json")
        if turn % 3 == 0:
            killed(home, max(seconds, 0.01), "stats")
        rows = recorded(home)
        wrong += rows is None or len(rows) != expected
    rows = recorded(home)
    tap.equal((wrong, len(rows or ())), (0, expected),
              f"killed {stopped} of {ROUNDS} times while it folds: {expected} runs, each of them once")
    bad = [row for row in (rows or {}).values() if row["status"] != "success"]
    tap.equal(bad[:2], [], "and each with its end")


def test_gc(home):
    """gc removes what is over, and only that, whoever kills it."""
    home.put("keep.txt", "kept\n")
    home.call("create", "stays")
    home.call("exec", "stays", "--", "sh", "-c", "echo one > one; mkdir -p d; echo two > d/two")
    home.call("stop", "stays")
    home.call("snap", "stays")
    home.call("artifact", "save", "stays", "one")
    artifacts = home.rows("artifact", "ls")
    lost, failed, stopped, seconds = 0, 0, 0, 0.0
    for turn in range(ROUNDS):
        name = f"gone{turn}"
        home.call("run", "--keep", name, "--", "sh", "-c", "for i in $(seq 50); do echo $i > n$i; done")
        home.call("rm", name)
        home.call("create", "--ttl", "1s", f"short{turn}")
        if turn == 0:
            seconds = took(lambda: home.call("gc"))
        stopped += killed(home, max(seconds, 0.01), "gc")
        done = home.call("exec", "stays", "--", "cat", "one", "d/two") if turn % 10 == 0 else None
        lost += done is not None and done.stdout != "one\ntwo\n"
        lost += home.rows("artifact", "ls") != artifacts or home.read("keep.txt") != "kept\n"
        failed += turn % 10 == 0 and home.call("gc").returncode != 0
    home.call("stop", "stays")
    time.sleep(1.1)
    done = home.call("gc")
    tap.ok(done.returncode == 0 and failed == 0, f"killed {stopped} of {ROUNDS} times, the next gc does its work", done)
    tap.equal(lost, 0, "nothing that is in use is lost")
    tap.equal([row["name"] for row in home.rows("ls")], ["stays"], "what was over is gone")
    trash = home.path + "/.local/share/aisbx/trash"
    tap.ok(until(lambda: not os.path.isdir(trash) or not os.listdir(trash)), "and so is what it was moved aside to")
    tap.ok(alone(), "nobody is left of it")


def main():
    adopt()
    random.seed(SEED)
    print(f"# seed {SEED}, {ROUNDS} rounds each")
    only = os.environ.get("AISBX_CASES", "").split(",")
    for test in (test_race, test_fold, test_gc):
        if only != [""] and test.__name__ not in only:
            continue
        with Home("aisbxtest-kill-") as home:
            first = home.call("run", "--", "true")
            if first.returncode != 0:
                tap.skip(test.__name__, "nothing runs here")
                continue
            tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
