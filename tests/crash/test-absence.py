#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A lookup that fails is not taken for one that found nothing: no promotion, undo or list says less, or asks less, for that.

The host has changed what the sandbox changed, in every way that is a conflict, and the sandbox has left what only a person
agrees to. Whichever system call fails, with whichever error, nothing of the host's is written over, nothing is applied unasked,
and a list is whole or refused. Takes the program from AISBX and the injector from CRASH_INJECT. AISBX_POINTS: at how many calls
each error is tried, spread over all of them; 0 is at every one. AISBX_SEED: which. What decides about git directories comes last;
there two errors are tried at every call.
"""

import glob
import os
import random
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from chance import seed_of  # noqa: E402
from clitest import AISBX, Home, Tap  # noqa: E402
from family import until  # noqa: E402

INJECT = os.environ["CRASH_INJECT"]
LONG = os.environ.get("AISBX_LONG") == "1"
SLOW = os.environ.get("AISBX_SLOW") == "1"
SEED = seed_of("absence")
ERRORS = ("EACCES", "EMFILE", "EIO", "ENOMEM")
POINTS = int(os.environ.get("AISBX_POINTS") or (2 if SLOW else 60 if LONG else 4))
CLOSE_ERRORS = ("EACCES", "ENOMEM")
PART = "this is a part"
tap = Tap()

CONFLICT, CONSENT = 3, 4


def picture(home):
    """The host's tree; what is read over may have other times."""
    return {path: (row[0], row[2]) for path, row in home.tree().items()}


class Case:
    """A sandbox, and a command about it that is refused, or that lists, whatever fails."""

    def __init__(self, home, name, words, code, errors=ERRORS, is_close=False):
        self.home, self.name, self.words, self.code, self.errors, self.is_close = home, name, words, code, errors, is_close
        self.names = ()
        self.count_file = home.path + "/count"

    def run(self, at, word):
        done = subprocess.run([INJECT, f"{at}:{word}", self.count_file, AISBX, *self.words], cwd=self.home.work, env=self.home.env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300)
        return done.returncode, done.stdout, done.stderr

    def begin(self):
        """What it is undisturbed; the number of its calls."""
        self.before = picture(self.home)
        code, listed, said = self.run(0, "EIO")
        if code != self.code or picture(self.home) != self.before or not all(name in listed for name in self.names):
            return 0, (code, said)
        with open(self.count_file, encoding="utf-8") as file:
            return int(file.read()), said

    def judge(self, at, word):
        """What is wrong; "" when nothing is."""
        code, listed, said = self.run(at, word)
        where = f"{' '.join(self.words)}, call {at}: {word}: {code} {said.strip()}"
        if picture(self.home) != self.before:
            return f"{where}: the host is another: {sorted(set(picture(self.home)) ^ set(self.before))[:6]}"
        if code == 0 and self.code != 0:
            return f"{where}: reported as done ({listed.strip()})"
        missing = [name for name in self.names if name not in listed]
        if code == 0 and missing and PART not in said:
            return f"{where}: it lists {listed!r}, without {missing}"
        return ""


def points(case, calls):
    for word in case.errors:
        step = max(1, calls // POINTS) if POINTS else 1
        for at in range(1 + random.randrange(step), calls + 1, step):
            yield at, word
    for word in CLOSE_ERRORS if case.is_close and not SLOW else ():
        for at in range(calls - calls // 6, calls + 1):
            yield at, word


def sweep(case):
    calls, said = case.begin()
    if calls == 0:
        tap.ok(False, f"{case.name}: undisturbed", said)
        return
    wrong, runs = "", 0
    for at, word in points(case, calls):
        runs += 1
        wrong = case.judge(at, word)
        if wrong:
            break
    tap.ok(not wrong, f"{case.name}: {calls} calls ({runs} runs, seed {SEED})", wrong)


def make_conflicts(home):
    """Each a box of its own, so that no conflict hides another."""
    for name, host, inside, later in (
            ("same line", "one\ntwo\n", "echo ONE > f", "zero\ntwo\n"),
            ("removed inside", "one\n", "rm f", "two\n"),
            ("removed outside", "one\n", "echo two > f", None),
            ("added by both", None, "echo one > f", "two\n"),
            ("mode and content", "one\n", "chmod 600 f; echo two > f", "three\n")):
        box = name.replace(" ", "-")
        path = home.work + "/f"
        if host is None and os.path.lexists(path):
            os.unlink(path)
        elif host is not None:
            home.put("f", host)
        home.call("create", box)
        home.call("exec", box, "--", "sh", "-c", inside)
        home.call("stop", box)
        if later is None:
            os.unlink(path)
        else:
            home.put("f", later)
        yield Case(home, f"a conflict, {name}", ("promote", box), CONFLICT)
        home.call("rm", box)


def make_consents(home):
    for name in ("HEAD", "config", "objects/x", "refs/x"):
        home.put("vendor/" + name, "ref: refs/heads/main\n")
    home.put("plain", "plain\n")
    for name, inside in (
            ("a build file", "echo all: > Makefile"),
            ("a git directory's configuration", "echo x > vendor/config"),
            ("a git directory's hook", "mkdir vendor/hooks; echo x > vendor/hooks/post-checkout"),
            ("a mode", "chmod u+s plain"),
            ("a link out of here", "ln -s /etc/hostname vendor/refs/out")):
        home.call("create", "box")
        home.call("exec", "box", "--", "sh", "-c", inside)
        home.call("stop", "box")
        yield Case(home, f"consent, {name}", ("promote", "box"), CONSENT, is_close="git" in name)
        home.call("rm", "box")


def make_lists(home):
    home.put("d/e", "x\n")
    home.call("create", "box")
    home.call("exec", "box", "--", "sh", "-c", "echo two > plain; rm d/e; echo three > new; mv d D; ln -s x l")
    home.call("stop", "box")
    for words in (("diff", "box", "--name-status"), ("diff", "box")):
        # What the host does not let be looked at is nothing for the sandbox, either: EACCES may show another list.
        case = Case(home, f"the list of {' '.join(words)}", words, 0, ERRORS[1:])
        case.names = ("plain", "d/e", "new", "D/", "l")
        yield case
    home.call("rm", "box")


def drafts():
    """Directories for git that are there now."""
    return set(glob.glob("/tmp/aisbx-tmp-*"))


def main():
    random.seed(SEED)
    had = drafts()
    with Home("aisbx-ab.") as home:
        home.put("f", "one\n")
        if home.call("run", "--", "true").returncode != 0:
            tap.skip("failing lookups", "no sandbox here")
            return tap.done()
        for make in (make_conflicts, make_consents, make_lists):
            for case in make(home):
                sweep(case)
    # Those of others go with their processes.
    new = drafts() - had
    tap.ok(until(lambda: not new & drafts()), "no directory stays behind", sorted(new & drafts()))
    return tap.done()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
