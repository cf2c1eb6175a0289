#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Signals without a terminal: the command is asked to end, has its grace, and is killed then; nothing of it stays.

Takes the program from AISBX. Speaks TAP. Ends only processes that it started itself.
"""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import family
from box import patience
from clitest import AISBX, Home, Tap
from family import until

tap = Tap()

# Behind every mark: the same suite may run for another user beside this one.
OWN = f"-{os.getpid()}"
# As a time to sleep: a number that no other process has.
NAP = f"7{os.getpid()}"

# A grace that no test waits for: what ends within it was ended by something else.
LONG = "300s"
# A grace that is waited for; on a busy machine a command may not come to its handler in the first.
GRACES = ("300ms", "3s", "30s")
POLITE = "trap 'echo heard $0; exit 7' {0}; echo up; while :; do sleep 0.05; done"
DEAF = "trap 'echo heard' TERM INT HUP; echo up; while :; do sleep 0.05; done"


def living(mark):
    """Numbers of processes that have MARK among their words, whoever started them, but for aisbx itself."""
    return [pid for pid, words in family.command_lines()
            if any(mark in word for word in words) and os.path.basename(words[0]) in ("sh", "sleep")]


@contextlib.contextmanager
def started(home, *words, **kw):
    process = subprocess.Popen([AISBX, *words], cwd=home.work, env=home.env, text=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def ways(home):
    """(name, words in front of the command): each way a command can be started."""
    home.call("create", "box")
    return (("run", ["run", "--"]), ("exec", ["exec", "box", "--"]), ("try", ["try", "-n", "--"]))


def with_flags(words, *flags):
    return [*words[:-1], *flags, words[-1]]


def test_polite(home):
    for name, words in ways(home):
        for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            script = POLITE.format(sig.name[3:])
            with started(home, *with_flags(words, "--grace", LONG), "sh", "-c", script, "mark-polite" + OWN) as process:
                first = process.stdout.readline()
                process.send_signal(sig)
                out, err = process.communicate(timeout=patience(60))
            tap.ok([first, out.splitlines()[:1], process.returncode] == ["up\n", ["heard mark-polite" + OWN], 7],
                   f"{name}: {sig.name} reaches the command, whose words and exit code come out", (first, out, err, process.returncode))
    tap.ok(until(lambda: not living("mark-polite" + OWN)), "nobody is left", living("mark-polite" + OWN))


def test_ended(home):
    for name, words in ways(home):
        with started(home, *with_flags(words, "--json", "--grace", LONG), "sh", "-c",
                     f"sleep {NAP} & exec sleep {NAP}") as process:
            tap.ok(until(lambda: home.rows("history", "--status", "running")), "it runs")
            until(lambda: len(living(NAP)) >= 2)
            process.send_signal(signal.SIGTERM)
            out, _ = process.communicate(timeout=patience(60))
        result = json.loads(out)
        result = result.get("run", result)
        tap.equal([process.returncode, result["status"], result["exit_code"], result["signal"]], [143, "killed", 143, 15],
                  f"{name}: ended by the signal is 128+N")


def test_success_is_none(home):
    """A command that ends well because it was interrupted has not done its work: nothing is applied."""
    script = "trap 'exit 0' TERM; echo new > made; echo up; while :; do sleep 0.05; done"
    with started(home, "try", "-y", "--grace", LONG, "--", "sh", "-c", script) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=patience(60))
    tap.equal([process.returncode, os.path.exists(home.work + "/made")], [0, False], "its exit code is its own, its changes stay out")


def asked_to_end(home, words, *flags):
    """What comes of a deaf command that is sent SIGTERM once it is up: exit code, what it printed, what aisbx printed."""
    with started(home, *with_flags(words, *flags), "sh", "-c", DEAF, "mark-deaf" + OWN) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=patience(60))
    return process.returncode, out, err


def test_deaf(home):
    for name, words in ways(home):
        for grace in GRACES:
            code, out, err = asked_to_end(home, words, "--grace", grace)
            if "heard" in out:
                break
        tap.ok(code == 137 and "heard" in out and "--grace" in err, f"{name}: deaf, killed behind its grace", (code, out, err))
        code, out, err = asked_to_end(home, words, "--grace", "0")
        tap.equal([code, "heard" in out], [143, False], f"{name}: without a grace, killed at once")
    tap.ok(until(lambda: not living("mark-deaf" + OWN)), "nobody is left", living("mark-deaf" + OWN))


def test_second(home):
    for name, words in ways(home):
        for again in (signal.SIGTERM, signal.SIGINT):
            with started(home, *with_flags(words, "--grace", LONG), "sh", "-c", DEAF, "mark-second" + OWN) as process:
                process.stdout.readline()
                process.send_signal(signal.SIGTERM)
                heard = process.stdout.readline()
                process.send_signal(again)
                _, err = process.communicate(timeout=patience(60))
            tap.ok(heard == "heard\n" and process.returncode == 137 and "second signal" in err,
                   f"{name}: {again.name} behind TERM kills at once", (heard, process.returncode, err))
    tap.ok(until(lambda: not living("mark-second" + OWN)), "nobody is left", living("mark-second" + OWN))


def test_timeout(home):
    """timeout(1) sends its signal twice, and SIGCONT behind it; that is one wish."""
    tool = shutil.which("timeout")
    if not tool:
        tap.skip("timeout(1)", "not installed")
        return
    for name, words in ways(home):
        script = "trap 'sleep 0.5; echo bye; exit 7' TERM; echo up; while :; do sleep 0.05; done"
        for flags in ([], ["--grace", LONG]):
            # What timeout(1) is sent itself it passes on just so, and that can wait until the command is ready for it.
            with subprocess.Popen([tool, "--preserve-status", "1000", AISBX, *with_flags(words, *flags), "sh", "-c", script],
                                  cwd=home.work, env=home.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  stdin=subprocess.DEVNULL, start_new_session=True) as process:
                first = process.stdout.readline()
                process.send_signal(signal.SIGTERM)
                out, err = process.communicate(timeout=patience(100))
            tap.ok([process.returncode, first, out.splitlines()[:1]] == [7, "up\n", ["bye"]], f"{name}: ends politely under timeout {flags}",
                   (process.returncode, first, out, err))


def timed(home, words, script, *flags):
    """A command that its time limit ends, once it was ready for that: on a busy machine a second may not do."""
    for seconds in ("1s", "10s", "60s"):
        done = home.call(*with_flags(words, "--time", seconds, *flags), "sh", "-c", script, "mark-time" + OWN)
        if "up" in done.stdout:
            break
    return done


def test_time(home):
    for name, words in ways(home):
        done = timed(home, words, POLITE.format("TERM"))
        tap.equal([done.returncode, "heard" in done.stdout], [124, False], f"{name}: --time kills at once")
        done = timed(home, words, POLITE.format("TERM"), "--grace", LONG)
        tap.equal([done.returncode, "heard" in done.stdout], [124, True], f"{name}: with --grace it asks first")
        for grace in GRACES:
            done = timed(home, words, DEAF, "--grace", grace)
            if "heard" in done.stdout:
                break
        tap.equal([done.returncode, "heard" in done.stdout], [124, True], f"{name}: and kills then")
    tap.ok(until(lambda: not living("mark-time" + OWN)), "nobody is left", living("mark-time" + OWN))


def test_session_goes(home):
    """What a command of a named sandbox leaves in its session goes along when it was asked to end."""
    script = "trap 'exit 7' TERM; sh -c \"trap '' TERM; while :; do sleep 0.05; done\" mark-left" + OWN + " & echo up; while :; do sleep 0.05; done"
    with started(home, "exec", "box", "--grace", LONG, "--", "sh", "-c", script) as process:
        process.stdout.readline()
        until(lambda: living("mark-left" + OWN))
        process.send_signal(signal.SIGTERM)
        until(lambda: process.poll() is not None)
        tap.equal(process.returncode, 7, "the command ended as it wanted to")
        tap.ok(until(lambda: not living("mark-left" + OWN)), "its deaf child went, too", living("mark-left" + OWN))
    done = home.call("exec", "box", "--", "sh", "-c", f"setsid sleep {NAP} & echo stays")
    tap.ok(done.returncode == 0 and until(lambda: living(NAP)), "without a signal, what a command leaves stays")
    home.call("stop", "box")


def test_not_from_inside(home):
    """The command cannot make init pass signals on: it ignores what comes from inside."""
    done = home.call("run", "--", "sh", "-c", "trap 'echo passed' TERM HUP INT; kill -TERM 1; kill -HUP 1; sleep 0.2; echo end")
    tap.equal([done.returncode, done.stdout], [0, "end\n"], "signals to init from inside stay there")


def ended_batch(home, grace, loop):
    """How a deaf command and a polite one end in a batch that is sent SIGTERM, twice where the grace is long."""
    scripts = f"trap 'echo heard' TERM; {loop}", f"trap 'exit 7' TERM; {loop}"
    process = subprocess.Popen([AISBX, "run", "--batch", "-", "--jobs", "2", "--grace", grace], cwd=home.work, env=home.env,
                               text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write("".join(json.dumps({"script": script}) + "\n" for script in scripts))
    process.stdin.close()
    tap.ok(until(lambda: len(living(NAP)) >= 4), "both run", living(NAP))
    process.send_signal(signal.SIGTERM)
    if grace == LONG:
        tap.ok(until(lambda: len(living(NAP)) == 2), "one has ended", living(NAP))
        # Twins come within a tenth of a second of each other; one that insists comes later.
        until(lambda: process.poll() is not None, 0.3)
        process.send_signal(signal.SIGTERM)
    got = [json.loads(text) for text in process.stdout]
    process.stdout.close()
    process.wait(timeout=patience(60))
    return [(one["status"], one["exit_code"]) for one in got]


def test_several(home):
    """Batches and races hand the wish on, and the second one, too."""
    loop = f"while :; do sleep {NAP} & wait $!; done"
    for graces, name in ((GRACES, "each command has its grace"), ([LONG], "a second signal kills")):
        for grace in graces:
            ends = ended_batch(home, grace, loop)
            if ends[-1:] == [("killed", 7)]:
                break
        tap.equal(ends, [("killed", 137), ("killed", 7)], f"a batch: {name}")
    with started(home, "race", "--first", "--grace", LONG, "-c", "good=true", "-c", f"deaf=trap : TERM INT; {loop}") as process:
        process.communicate(timeout=patience(60))
        tap.equal(process.returncode, 0, "a race: losers have no grace")
    tap.ok(until(lambda: not living(NAP)), "nobody is left", living(NAP))


def main():
    with Home(prefix="aisbx-signals-") as home:
        if home.can_run(tap, "signals"):
            for test in (test_polite, test_ended, test_success_is_none, test_deaf, test_second, test_timeout, test_time,
                         test_session_goes, test_not_from_inside, test_several):
                test(home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
