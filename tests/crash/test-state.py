#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A supervisor killed at any of its calls: the next command that makes such an entry, or gc, removes what it left in the state folder.

Kills a run that keeps output, lives long enough to be listed by top, and has a gateway. Takes the program from AISBX and the
injector from CRASH_INJECT. AISBX_POINTS: at how many calls it is killed (0: at each); AISBX_SEED: which.
"""
import os
import random
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from chance import seed_of  # noqa: E402
from clitest import AISBX, Home, Tap  # noqa: E402

INJECT = os.environ["CRASH_INJECT"]
SEED = seed_of("state")
POINTS = int(os.environ.get("AISBX_POINTS") or 10)
WORDS = ("run", "--allow", "example.com:443", "--", "sh", "-c", "echo out; sleep 0.7")
PATIENCE = 120
tap = Tap()


class State:
    """The state folder of a home."""

    def __init__(self, home):
        self.home, self.path = home, home.path + "/.local/state/aisbx"

    def names(self, *folders):
        found = set()
        for folder in folders:
            at = os.path.join(self.path, folder)
            found |= {f"{folder}/{name}" for name in (os.listdir(at) if os.path.isdir(at) else [])}
        return found

    def all(self):
        """Every name but kept output of runs that the history knows, which is kept on purpose."""
        found = {os.path.relpath(os.path.join(top, name), self.path)
                 for top, dirs, files in os.walk(self.path) for name in dirs + files}
        return {name for name in found if not self.is_known_log(name)}

    def is_known_log(self, name):
        return name.startswith("logs/") and self.home.call("show", name[5:]).returncode == 0

    def kill_at(self, at):
        subprocess.run([INJECT, f"{at}:KILL", self.home.path + "/count", AISBX, *WORDS], cwd=self.home.work, env=self.home.env,
                       stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=300)

    def count(self):
        self.kill_at(0)
        with open(self.home.path + "/count", encoding="utf-8") as file:
            return int(file.read())


def until(holds):
    """Whether it comes to hold; what a killed run started may still be at it."""
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def live_one(state):
    """A run that is listed, and has removed what others left: what is there beside it."""
    before = state.names("live")
    process = subprocess.Popen([AISBX, "run", "--", "sleep", "300"], cwd=state.home.work, env=state.home.env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: state.names("live") - before)
    until(lambda: len(state.names("live")) <= 1)
    left = state.names("live")
    process.send_signal(signal.SIGTERM)
    process.wait()
    return left


def test_killed(home):
    """At calls all over a run."""
    state = State(home)
    calls = state.count()
    home.call("gc")
    before = state.all()
    random.seed(SEED)
    # The second half is where the command runs and what it has is removed.
    points = range(1, calls + 1) if not int(os.environ.get("AISBX_POINTS") or 1) else \
        sorted(random.sample(range(1, calls // 2), POINTS // 3) + random.sample(range(calls // 2, calls + 1), POINTS - POINTS // 3))
    bad, found = [], 0
    for at in points:
        state.kill_at(at)
        found += bool(state.names("live"))

        def is_clean():
            home.call("gc")
            return state.all() <= before

        if not until(is_clean):
            bad.append(f"call {at}: {sorted(state.all() - before)}")
            before |= state.all()
    tap.ok(not bad, f"gc leaves nothing of runs killed at {len(points)} of {calls} calls ({found} left something, seed {SEED})",
           "\n".join(bad))


def test_next_run(home):
    """What lies in live/: files of dead runs, their sockets, and sockets whose file is gone."""
    state = State(home)
    os.makedirs(state.path + "/live", mode=0o700, exist_ok=True)
    os.chdir(state.path + "/live")
    for name in (".box.01M7MKG5SW3SRQN01E7GMV88BY", ".01M7MKG5SW3SRQN01E7GMV88BZ", ".dead.01M7MKG5SW3SRQN01E7GMV88BX"):
        with socket.socket(socket.AF_UNIX) as end:
            end.bind(name)
    with open("01M7MKG5SW3SRQN01E7GMV88BX", "w", encoding="utf-8") as file:
        file.write("{}\n")
    os.chdir("/")
    tap.equal(len(state.names("live")), 4, "what killed runs leave")
    left = live_one(state)
    tap.ok(len(left) == 1 and not any("G5SW3" in name for name in left), "the next run that is listed removes it", left)
    tap.ok(until(lambda: not state.names("live")), "and itself", state.names("live"))


def main():
    with Home("aisbx-st.") as home:
        if not home.can_run(tap, "state of killed runs"):
            return tap.done()
        for test in (test_next_run, test_killed):
            tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
