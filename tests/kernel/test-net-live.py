#!/usr/bin/env python3
"""Network rules that change while a sandbox runs, and those kept for a workspace: `allow`, `deny`, `net`.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a network namespace of its own (tests/lib/internet.py).
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from clitest import AISBX, Home, Tap
from internet import EVIL, GOOD, PRELUDE, build_internet, enter, lines, run, words_of

tap = Tap()
A = ["--allow", "good.example:80"]
RULE = "net:egress:"


def test_at_once(home):
    """A program that runs all the time sees each change with its next connection."""
    home.call("create", "live", *A)
    script = "import sys\nfor line in sys.stdin:\n  host, port = line.split(); print(get(host, int(port)), flush=True)"
    child = subprocess.Popen([AISBX, "exec", "live", "--", "python3", "-uc", PRELUDE + script], cwd=home.work,
                             env=home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def reach(host, port):
        child.stdin.write(f"{host} {port}\n")
        child.stdin.flush()
        return child.stdout.readline().strip()

    tap.ok([reach("good.example", 80), reach("good.example", 8080), reach("evil.example", 80)]
           == [GOOD, "ConnectionRefusedError", "gaierror"], "the rules of the start")
    done = home.call("allow", "live", RULE + "good.example:8080")
    tap.ok(done.returncode == 0 and "in force now" in done.stdout, "a rule for a new port", done.stdout + done.stderr)
    tap.ok(reach("good.example", 8080) == GOOD, "is in force at once")
    home.call("allow", "live", RULE + "evil.example:80")
    tap.ok(reach("evil.example", 80) == EVIL, "a new name, on a port that was served")
    home.call("deny", "live", RULE + "good.example:80")
    tap.ok(reach("good.example", 80) in ("gaierror", "ConnectionResetError")
           and reach("good.example", 8080) == GOOD, "deny beats allow at once, and only what it names")
    done = home.call("deny", "live", RULE + "GOOD.example.:80", "--remove")
    tap.ok(done.returncode == 0 and reach("good.example", 80) == GOOD, "removed again, in whatever spelling", done.stderr)
    shown = home.data("net", "live")
    rules = {(r["action"], r["rule"], r["from"]) for r in shown.get("rules", [])}
    tap.ok(rules == {("allow", "good.example:80", "flag"), ("allow", "good.example:8080", "sandbox"),
                     ("allow", "evil.example:80", "sandbox")}, "net shows them, and where they come from", rules)
    tap.ok(shown.get("running") and shown.get("connections", 0) >= 4 and shown.get("received_bytes", 0) > 100
           and shown.get("sent_bytes", 0) > 50, "with counts", shown)
    tap.ok(any("evil.example" in d["what"] and d["time"].endswith("Z") for d in shown.get("denials", [])),
           "and the last denials", shown.get("denials"))
    text = home.call("net", "live").stdout
    tap.ok("good.example:8080" in text and "connections" in text and "denied" in text, "in words, too", text)
    tap.ok(home.call("allow", "live", RULE + "evil.example:80", "--remove").returncode == 0
           and reach("evil.example", 80) in ("gaierror", "ConnectionResetError"), "an allowed name removed again")
    child.stdin.close()
    child.wait()
    child.stdout.close()
    home.call("stop", "live")
    r = run(home, "print(get('good.example', 8080), get('evil.example'))", "live", command="exec")
    tap.ok(lines(r) == [GOOD, "gaierror"], "kept with the sandbox, over its end", r.get("stdout"))
    home.call("fork", "live", "copy")
    r = run(home, "print(get('good.example', 8080))", "copy", command="exec")
    tap.ok(lines(r) == [GOOD], "and taken along by a fork", (r.get("stdout"), r.get("said")))


def test_refused(home):
    for words, why in ((["live", RULE + "good.example"], "HOST:PORT"), (["live", "good.example:80"], "net:egress:"),
                       (["live", RULE + "a.example:53"], "53"), (["live", RULE + "a.example:1000-1300"], "256"),
                       (["live", RULE + "bad\x1bname:80"], "?"), (["live", RULE + "x" * 600 + ":80"], "rule")):
        done = home.call("allow", *words)
        tap.ok(done.returncode == 2 and why in done.stderr and "\x1b" not in done.stderr, f"no rule: {why}", done.stderr)
    tap.ok(home.call("allow", "nobody", RULE + "a.example:80").returncode == 5, "a sandbox that is not there")
    done = home.call("allow", "live", RULE + "never.example:80", "--remove")
    tap.ok(done.returncode == 5, "a rule that is not there", done.stderr)
    done = home.call("allow", "live", RULE + "good.example:80", "--remove")
    tap.ok(done.returncode == 5, "one of its flags is not this verb's", done.stderr)
    before = home.data("net", "live").get("rules")
    child = subprocess.Popen([AISBX, "exec", "live", "--", "python3", "-uc",
                              "import socket, sys; s = socket.create_server(('127.0.0.1', 5005)); print('up'); sys.stdin.read()"],
                             cwd=home.work, env=home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()
    done = home.call("allow", "live", RULE + "good.example:5005")
    tap.ok(done.returncode == 3 and "5005" in done.stderr, "a port that a server inside has", done.stderr)
    tap.ok(home.data("net", "live").get("rules") == before, "and nothing has changed", home.data("net", "live"))
    child.stdin.close()
    child.wait()
    child.stdout.close()
    home.call("create", "shut", "--net", "none")
    done = home.call("allow", "shut", RULE + "good.example:80")
    tap.ok(done.returncode == 4 and "net: none" in done.stderr, "a sandbox that was made without a network", done.stderr)


def test_later(home):
    """One that runs without a network, because nothing was allowed, gets one at its next start."""
    home.call("create", "later")
    r = run(home, f"print(get('{GOOD}'))", "later", command="exec")
    tap.ok(lines(r) == ["OSError"], "no network", r.get("stdout"))
    done = home.call("allow", "later", RULE + "good.example:80")
    tap.ok(done.returncode == 0 and "next start" in done.stderr, "says what to do", done.stdout + done.stderr)
    home.call("stop", "later")
    r = run(home, "print(get('good.example'))", "later", command="exec")
    tap.ok(lines(r) == [GOOD], "and after that it works", r.get("stdout"))


def test_workspace(home):
    done = home.call("allow", RULE + "good.example:80")
    tap.ok(done.returncode == 0, "a rule for the workspace", done.stderr)
    r = run(home, "print(get('good.example'), get('evil.example'))")
    tap.ok(lines(r) == [GOOD, "gaierror"], "holds for runs there", r.get("stdout"))
    r = run(home, "print(get('good.example'), get('evil.example'))", "--allow", "evil.example:80")
    tap.ok(lines(r) == [GOOD, EVIL], "on top of flags", r.get("stdout"))
    r = run(home, f"print(get('{GOOD}'))", "--no-net")
    tap.ok(lines(r) == ["OSError"], "--no-net is still none", r.get("stdout"))
    home.call("deny", RULE + "evil.example:80")
    r = run(home, "print(get('good.example'), get('evil.example'))", "--allow", "evil.example:80")
    tap.ok(lines(r) == [GOOD, "gaierror"] and "resolve evil.example" in words_of(r), "a rule to deny beats flags",
           r.get("stdout"))
    shown = home.data("net")
    tap.ok({(r["action"], r["rule"], r["from"]) for r in shown.get("rules", [])}
           == {("allow", "good.example:80", "workspace"), ("deny", "evil.example:80", "workspace")}, "net lists them", shown)
    other = home.path + "/other"
    os.mkdir(other)
    r = home.call("run", "--", "python3", "-c", PRELUDE + f"print(get('{GOOD}'))", cwd=other)
    tap.ok(r.stdout.strip() == "OSError", "another workspace has none of it", r.stdout + r.stderr)
    done = home.call("allow", RULE + "good.example:80", "-C", other)
    tap.ok(done.returncode == 0 and len(home.data("net", "-C", other).get("rules", [])) == 1, "named by -C", done.stderr)
    with open(home.path + "/.config/aisbx/network") as file:
        kept = file.read().splitlines()
    tap.ok(f"allow good.example:80 {home.work}" in kept, "kept in the user's own configuration", kept)
    tap.ok(not os.path.exists(home.work + "/.aisbx.yaml"), "never in the workspace")
    race = home.call("race", "--json", "--check", "true", "-c",
                     "one=python3 -c \"import socket; socket.create_connection(('good.example', 80), 5)\"")
    tap.ok('"winner":"one"' in race.stdout.replace(" ", ""), "a race takes them, too", race.stdout[:300] + race.stderr[:300])
    os.chmod(home.path + "/.config/aisbx/network", 0o666)
    done = home.call("run", "--", "true")
    tap.ok(done.returncode == 125 and "network" in done.stderr, "a list that others may write is refused", done.stderr)
    os.chmod(home.path + "/.config/aisbx/network", 0o600)
    for verb, rule in (("allow", "good.example:80"), ("deny", "evil.example:80")):
        tap.ok(home.call(verb, RULE + rule, "--remove").returncode == 0, f"removed: {verb}")
    r = run(home, f"print(get('{GOOD}'))")
    tap.ok(lines(r) == ["OSError"], "as before", r.get("stdout"))


def main():
    enter()
    with Home("net-live-") as home:
        build_internet(home)
        for test in (test_at_once, test_refused, test_later, test_workspace):
            tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
