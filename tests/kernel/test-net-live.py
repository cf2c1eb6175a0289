#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Network rules that change while a sandbox runs, and those kept for a workspace: `allow`, `deny`, `net`.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a network namespace of its own (tests/lib/internet.py).
"""
import json
import os
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from box import patience
from clitest import AISBX, Home, Tap
from family import until
from internet import EVIL, GOOD, PRELUDE, build_internet, enter, lines, run, start, words_of

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
    for words, why in ((["live", RULE + "good.example:x"], "not a rule"), (["live", "localhost"], "localhost:5432"),
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


def test_words(home):
    """The verb takes the words of the flag, and takes them back; with the last rule the network is none again."""
    home.call("create", "words")
    done = home.call("allow", "words", "good.example,evil.example:80")
    tap.ok(done.returncode == 0 and "good.example:443,good.example:80,evil.example:80" in done.stdout, "several at once",
           done.stdout + done.stderr)
    script = "print(get('good.example'), hello('good.example', 'good.example'), get('evil.example'))"
    r = run(home, script, "words", command="exec")
    tap.ok(lines(r) == [GOOD, "seen", EVIL], "all in force", r.get("stdout"))
    tap.ok(home.call("deny", "words", "https://evil.example/").returncode == 0
           and lines(run(home, script, "words", command="exec"))[2] == "gaierror", "deny without a port: every one")
    done = home.call("deny", "--rm", "words", "evil.example")
    tap.ok(done.returncode == 0 and lines(run(home, script, "words", command="exec"))[2] == EVIL, "taken back", done.stderr)
    done = home.call("allow", "--rm", "words", "evil.example")
    tap.ok(done.returncode == 0 and "evil.example:80 for" in done.stdout, "of several those that are there", done.stdout)
    tap.ok(home.call("allow", "--rm", "words", "evil.example").returncode == 5, "and none twice")
    tap.ok(home.data("net", "words").get("net") == "allow", "a rule is left")
    tap.ok(home.call("allow", "words", "--rm", "good.example").returncode == 0
           and home.data("net", "words").get("net") == "none", "with the last one the network is none", home.data("net", "words"))
    home.call("stop", "words")
    r = run(home, f"print(get('{GOOD}'))", "words", command="exec")
    tap.ok(lines(r) == ["ConnectionRefusedError"], "also after the next start", r.get("stdout"))
    done = home.call("allow", "good.example")
    tap.ok(done.returncode == 0 and lines(run(home, script))[:2] == [GOOD, "seen"], "for the workspace", done.stderr)
    tap.ok(home.call("allow", "--rm", "good.example").returncode == 0 and home.data("net").get("net") == "none", "and back")


def test_later(home):
    """One that runs without a network, because nothing was allowed, gets one at its next start."""
    home.call("create", "later")
    r = run(home, f"print(get('{GOOD}'))", "later", command="exec")
    tap.ok(lines(r) == ["ConnectionRefusedError"], "no network", r.get("stdout"))
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
    tap.ok(lines(r) == ["ConnectionRefusedError"], "--no-net is still none", r.get("stdout"))
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
    tap.ok(r.stdout.strip() == "ConnectionRefusedError", "another workspace has none of it", r.stdout + r.stderr)
    done = home.call("allow", RULE + "good.example:80", "-C", other)
    tap.ok(done.returncode == 0 and len(home.data("net", "-C", other).get("rules", [])) == 1, "named by -C", done.stderr)
    with open(home.path + "/.config/aisbx/network") as file:
        kept = file.read().splitlines()
    tap.ok(f"allow good.example:80 {home.work}" in kept, "kept in the user's own configuration", kept)
    tap.ok(not os.path.exists(home.work + "/.aisbx.yaml"), "never in the workspace")
    race = home.call("race", "--json", "--check", "true", "-c",
                     "one=python3 -c \"import socket; socket.create_connection(('good.example', 80), 60)\"")
    tap.ok('"winner":"one"' in race.stdout.replace(" ", ""), "a race takes them, too", race.stdout[:300] + race.stderr[:300])
    os.chmod(home.path + "/.config/aisbx/network", 0o666)
    done = home.call("run", "--", "true")
    tap.ok(done.returncode == 125 and "network" in done.stderr, "a list that others may write is refused", done.stderr)
    os.chmod(home.path + "/.config/aisbx/network", 0o600)
    for verb, rule in (("allow", "good.example:80"), ("deny", "evil.example:80")):
        tap.ok(home.call(verb, RULE + rule, "--remove").returncode == 0, f"removed: {verb}")
    r = run(home, f"print(get('{GOOD}'))")
    tap.ok(lines(r) == ["ConnectionRefusedError"], "as before", r.get("stdout"))


REACH = "import sys\nprint('up', flush=True)\nfor line in sys.stdin:\n" \
        "  host, port = line.split(); print(get(host, int(port)), flush=True)"


def live_row(home, child):
    """What top tells of the run that CHILD is the supervisor of."""
    end = time.monotonic() + patience(60)
    while time.monotonic() < end:
        for row in map(json.loads, home.call("top", "--json", "-n", "1").stdout.splitlines()):
            sockets = [name for name in os.listdir(home.path + "/.local/state/aisbx/live") if name.endswith("." + row["run_id"])]
            if row["command"][-1].endswith(REACH) and (sockets or "--allow" not in child.args):
                return row
        time.sleep(0.05)
    raise TimeoutError("top never told of it")


def test_run(home):
    """A run that has no name of its own: by its id, or by the name that top shows."""
    child = start(home, REACH, *A)
    child.stdout.readline()
    row = live_row(home, child)

    def reach(host, port):
        child.stdin.write(f"{host} {port}\n".encode())
        child.stdin.flush()
        return child.stdout.readline().decode().strip()

    tap.ok([reach("good.example", 80), reach("good.example", 8080)] == [GOOD, "ConnectionRefusedError"], "the rules of its start")
    done = home.call("allow", row["run_id"], RULE + "good.example:8080")
    tap.ok(done.returncode == 0 and "in force now" in done.stdout and reach("good.example", 8080) == GOOD,
           "one more, by the run's id", done.stdout + done.stderr)
    done = home.call("deny", row["sandbox"], RULE + "good.example:80")
    tap.ok(done.returncode == 0 and reach("good.example", 80) in ("gaierror", "ConnectionResetError"), "one against it, by its name",
           done.stdout + done.stderr)
    shown = home.data("net", row["run_id"])
    tap.ok({(r["action"], r["rule"]) for r in shown.get("rules", [])}
           == {("allow", "good.example:80"), ("allow", "good.example:8080"), ("deny", "good.example:80")}
           and shown["run_id"] == row["run_id"] and shown["connections"] >= 2 and shown["denials"], "net shows both, and what came of them", shown)
    tap.ok("good.example:8080" in home.call("net", row["sandbox"]).stdout, "in words, too")
    done = home.call("deny", row["run_id"], RULE + "good.example:80", "--remove")
    tap.ok(done.returncode == 0 and reach("good.example", 80) == GOOD, "taken back", done.stderr)
    done = home.call("allow", row["run_id"], RULE + "good.example:80", "--remove")
    tap.ok(done.returncode == 5 and "started with" in done.stderr and reach("good.example", 80) == GOOD, "but not a rule of its flags", done.stderr)
    for bad, code in ((RULE + "good.example:", 2), (RULE + "a.example:1000-1300", 2), (RULE + "a.example:53", 2)):
        done = home.call("allow", row["run_id"], bad)
        tap.ok(done.returncode == code and reach("good.example", 80) == GOOD, f"no rule, and nothing has changed: {bad}", done.stderr)
    child.stdin.close()
    child.wait()
    child.stdout.close()
    live = home.path + "/.local/state/aisbx/live"
    tap.ok(until(lambda: not os.listdir(live)), "nothing is left of it", os.listdir(live))
    tap.ok(home.call("net", row["run_id"]).returncode in (2, 5), "who has ended is not there")


def test_run_without(home):
    child = start(home, REACH)
    child.stdout.readline()
    row = live_row(home, child)
    done = home.call("allow", row["run_id"], RULE + "good.example:80")
    tap.ok(done.returncode == 3 and "without a network" in done.stderr, "a run without a network says so", done.stdout + done.stderr)
    child.stdin.close()
    child.wait()
    child.stdout.close()


def test_run_killed(home):
    """Nobody removes the socket of a run whose supervisor was killed; whoever looks next does."""
    child = start(home, REACH, *A)
    child.stdout.readline()
    row = live_row(home, child)
    child.kill()
    child.wait()
    child.stdin.close()
    child.stdout.close()
    tap.ok(home.call("net", row["run_id"]).returncode != 0, "it cannot be reached")
    live = home.path + "/.local/state/aisbx/live"
    # What it had started may still be ending.
    tap.ok(until(lambda: home.call("top", "--json", "-n", "1") and not os.listdir(live)), "and leaves nothing", os.listdir(live))


def test_datagrams(home):
    """A rule to deny ends what is under way: not even answers that are on their way come in any more."""
    script = """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(60)
s.sendto(b'one', (socket.gethostbyname('good.example'), 9100)); print(s.recv(100).decode(), flush=True)
sys.stdin.readline()
s.settimeout(WAIT)
try: print(s.recv(100).decode(), flush=True)
except TimeoutError: print('silence', flush=True)
"""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((GOOD, 9100))
    server.settimeout(patience(30))
    for deny, expected in ((None, "two"), ("udp:good.example:9100", "silence"), (f"udp:{GOOD}:9100", "silence")):
        home.call("create", "flow", "--allow", "udp:good.example:9100")
        # Silence is believed after a while; what is to come is waited for.
        wait = "1.5" if deny else "60"
        child = subprocess.Popen([AISBX, "exec", "flow", "--", "python3", "-uc", PRELUDE + script.replace("WAIT", wait)], cwd=home.work, env=home.env,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        peer = server.recvfrom(100)[1]
        server.sendto(b"first", peer)
        child.stdout.readline()
        if deny:
            home.call("deny", "flow", RULE + deny)
        try:
            server.sendto(b"two", peer)
        except OSError:
            pass
        said = child.communicate("\n")[0].strip()
        tap.ok(said == expected, f"datagrams from outside, with a rule to deny {deny}", said)
        if deny:
            told = [d["what"] for d in home.data("net", "flow").get("denials", [])]
            tap.ok(any("stay connected to udp:" in what for what in told), "told", told)
        home.call("rm", "flow")
    server.close()


def main():
    enter()
    with Home("net-live-") as home:
        build_internet(home)
        for test in (test_at_once, test_refused, test_words, test_later, test_workspace, test_run, test_run_without, test_run_killed, test_datagrams):
            tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
