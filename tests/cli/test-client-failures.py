#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The clients over a program that is killed, hangs, says half of something or nothing: every call is an error then.

No sandbox is made: tests/cli/fake-aisbx stands in. Speaks TAP. Needs node for the TypeScript client.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))

from tap import Tap

SOURCE = os.environ.get("AISBX_SOURCE") or os.path.join(HERE, "..", "..")
CLIENTS = os.path.realpath(os.path.join(SOURCE, "clients"))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(CLIENTS, "python"))

import aisbx

tap = Tap()

# Every way the program can fail. After those of the second list, an empty list of rows is a true answer.
FAILURES = ("killed", "killed-behind-its-answer", "aborted-within-a-list", "hangs", "hangs-with-its-answer-out",
            "hangs-with-its-streams-closed", "half", "half-of-a-list", "no-object", "null", "no-json",
            "fails-without-a-word", "says-nothing")
OF_ONE_ROW = ("says-success-and-fails", "fails-behind-rows")
LISTS = ("list", "list_snapshots", "diff", "commands.list")

box = aisbx.Sandbox("x")
CALLS = {
    "run": lambda: aisbx.run("true"),
    "run, check=False": lambda: aisbx.run("true", check=False),
    "create": aisbx.Sandbox.create,
    "connect": lambda: aisbx.Sandbox.connect("x"),
    "list": aisbx.Sandbox.list,
    "get_info": box.get_info,
    "is_running": box.is_running,
    "kill": box.kill,
    "stop": box.stop,
    "create_snapshot": box.create_snapshot,
    "list_snapshots": box.list_snapshots,
    "rollback": box.rollback,
    "fork": box.fork,
    "diff": box.diff,
    "patch": box.patch,
    "promote": box.promote,
    "promote, paths": lambda: box.promote(["a"]),
    "promote, dry_run": lambda: box.promote(dry_run=True),
    "refresh": box.refresh,
    "undo": aisbx.undo,
    "undo, by id": lambda: aisbx.undo("01J"),
    "commands.run": lambda: box.commands.run("true"),
    "commands.run, told": lambda: box.commands.run("true", on_stdout=print),
    "commands.run, background": lambda: box.commands.run("true", background=True),
    "commands.list": box.commands.list,
    "commands.connect": lambda: box.commands.connect("01J"),
    "commands.kill": lambda: box.commands.kill("01J"),
    "files.read": lambda: box.files.read("a"),
    "files.write": lambda: box.files.write("a", "b"),
    "files.list": box.files.list,
    "files.exists": lambda: box.files.exists("a"),
    "files.remove": lambda: box.files.remove("a"),
    "files.rename": lambda: box.files.rename("a", "b"),
    "files.make_dir": lambda: box.files.make_dir("a"),
}


def fake(mode, log):
    shutil.rmtree(log, ignore_errors=True)
    os.makedirs(log)
    os.environ.update(AISBX=os.path.join(HERE, "fake-aisbx"), FAKE=mode, FAKE_LOG=log,
                      FAKE_POLL=os.path.join(HERE, "fake-poll"))


def calls(log):
    """[words, variables, input] of every call."""
    with open(log + "/calls") as lines:
        return [line.rstrip("\n").split("|") for line in lines]


def outcome(call):
    """The class of the error, or what came back."""
    try:
        return f"came back with {call()!r}"
    except aisbx.ProgramError:
        return "ProgramError"
    except Exception as error:  # whatever it is, it is told
        return f"{type(error).__name__}: {error}"


def test_failures(log):
    for mode in (*FAILURES, *OF_ONE_ROW):
        fake(mode, log)
        aisbx.set_limits(call=0.05 if mode.startswith("hangs") else 600, command=0.02 if mode.startswith("hangs") else 86400)
        wrong = {}
        for name, call in CALLS.items():
            found = outcome(call)
            is_list = name in LISTS and mode == "says-nothing"
            if found != ("came back with []" if is_list and name != "commands.list" else "ProgramError"):
                wrong[name] = found
        tap.equal(wrong, {}, f"python: {mode}")
    aisbx.set_limits(call=600, command=86400)


def test_deaf(log):
    fake("deaf", log)
    aisbx.set_limits(call=0.2, command=0.1)
    tap.equal(outcome(lambda: aisbx.run("true")), "ProgramError", "python: a program that does not mind TERM is killed")
    aisbx.set_limits(call=600, command=86400)


def test_nothing(log):
    """What names nothing does nothing."""
    fake("answers", log)
    done = box.promote([])
    tap.ok(done.applied == [] and done.promotion_id is None and not os.path.exists(log + "/calls"),
           "python: promote([]) applies nothing and asks nothing", done)
    for what, call in (("a promotion without an id", lambda: aisbx.undo(done)), ("an empty id", lambda: aisbx.undo("")),
                       ("promote of a text", lambda: box.promote("a.txt")), ("an empty path", lambda: box.promote([""]))):
        found = outcome(call)
        tap.ok(found.startswith("UsageError") and not os.path.exists(log + "/calls"), f"python: {what} is refused", found)
    box.promote()
    box.promote(("a", "b"))
    aisbx.undo()
    tap.equal([words for words, _, _ in calls(log)], ["promote --json -- x", "promote --json -- x a b", "undo --json --"],
              "python: and what names something is passed on")


def test_private(log):
    """Neither variables nor input stand on a command line."""
    fake("takes-input", log)
    secret, binary = "s3cret value\nof two lines", bytes([0, 255, 128, 10, 13, 0])
    box.commands.run("true", background=True, envs={"A": secret, "B": ""}, stdin=binary)
    everything = open(log + "/calls").read()
    tap.ok(f"A={secret};B=;" in everything and "00ff800a0d00" in everything, "python: variables and bytes arrive", everything)
    fake("answers", log)
    aisbx.run("true", envs={"A": secret}, stdin=secret)
    aisbx.Sandbox.create("x", envs={"A": secret})
    box.commands.run("true", envs={"A": secret}, stdin=secret)
    words = [line.partition("|")[0] for line in open(log + "/calls").read().splitlines()]
    tap.ok(words and not any("s3cret" in line for line in words), "python: no command line holds them", words)
    found = outcome(lambda: aisbx.run("true", envs={"A": "a\0B=b"}))
    tap.ok(found.startswith("UsageError"), "python: a null byte in a variable is refused", found)


def test_ended(log):
    """An error behind exec -d ends what it started."""
    for mode in ("loses-the-id", "kills-the-id"):
        fake(mode, log)
        found = outcome(lambda: box.commands.run("true", background=True))
        tap.ok(found == "ProgramError" and ended(log), f"python: exec -d that {mode}", open(log + "/calls").read())
    fake("refuses-input", log)
    found = outcome(lambda: box.commands.run("true", background=True, stdin="x"))
    tap.ok(found.startswith("ConflictError") and ended(log), "python: input that is not taken", found)
    fake("takes-input", log)
    whole_wait = aisbx.CommandHandle.wait
    aisbx.CommandHandle.wait = interrupted
    try:
        box.commands.run("true", on_stdout=print, stdin="x")
        tap.ok(False, "python: an interrupt passes")
    except KeyboardInterrupt:
        tap.ok(ended(log), "python: an interrupt ends the command")
    aisbx.CommandHandle.wait = whole_wait


def interrupted(*_):
    raise KeyboardInterrupt


def ended(log):
    return any(words.startswith("poll") and "--signal=KILL" in words for words, *_ in calls(log))


def test_typescript(log):
    if not shutil.which("node"):
        tap.skip("the TypeScript client over failures", "there is no node here")
        return
    fake("answers", log)
    done = subprocess.run(["node", os.path.join(HERE, "client-failures.js"), CLIENTS + "/typescript", HERE, log],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=500, check=False)
    cases = re.findall(r"^(not ok|ok) \d+ - (.*)$", done.stdout, re.M)
    for verdict, what in cases:
        tap.ok(verdict == "ok", what, done.stdout)
    tap.ok(done.returncode == 0 and f"1..{len(cases)}" in done.stdout and len(cases) > 15, "typescript: to its end", done)


def main():
    with tempfile.TemporaryDirectory(prefix="aisbx-fake.") as folder:
        for test in (test_failures, test_deaf, test_nothing, test_private, test_ended, test_typescript):
            tap.attempt(test, folder + "/log")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
