#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The log of what serves: text, JSON, the journal; by level, one object a line, and without arguments or secrets.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, with a home of its own. The journal is a stand-in in a mount
namespace of its own.
"""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import patience  # noqa: E402
from clitest import AISBX, Home, Tap, refused  # noqa: E402
from family import until  # noqa: E402

tap = Tap()
SECRET = "CANARY-b5d1"
LEVELS = ("error", "warning", "notice", "info", "debug")


class Served:
    """A process that serves, with its stderr in a file."""

    def __init__(self, home, *words, **env):
        self.path = os.path.join(home.path, "stderr")
        with open(self.path, "wb") as errors:
            self.process = subprocess.Popen([AISBX, *words], cwd=home.work, env={**home.env, **env}, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=errors)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.communicate(timeout=patience(60))

    def text(self):
        with open(self.path, errors="surrogateescape") as file:
            return file.read()

    def rows(self):
        """All whole lines: each is one object."""
        return [json.loads(line) for line in self.text().splitlines(keepends=True) if line.endswith("\n")]

    def ask(self, method, **params):
        """One request over stdio, and its answer."""
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def speak(mcp):
    mcp.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "test", "version": "1"})
    mcp.ask("tools/call", name="sandbox_run", arguments={"command": ["echo", SECRET], "env": {"TOKEN": SECRET}, "stdin": SECRET})
    mcp.ask("tools/call", name="sandbox_exec", arguments={"sandbox": "no-" + SECRET.lower(), "command": ["true"]})
    mcp.process.stdin.close()
    mcp.process.stdin = None
    mcp.process.wait(patience(60))


def test_words(home):
    for verb in (("daemon",), ("mcp",), ("serve", "e2b")):
        tap.ok(refused(home.call(*verb, "--log-format", "xml"), 2, "text and json"), f"{verb[0]}: another format is refused")
        tap.ok(refused(home.call(*verb, "--log-level", "loud"), 2, "debug"), f"{verb[0]}: and another level")
    for verb in (("daemon", "start"), ("serve", "e2b", "--detach")):
        tap.ok(refused(home.call(*verb, "--log-format", "json"), 2, "background"), f"{verb[0]}: there is no log in the background")
    tap.equal(home.call("daemon", "status", "--log-format", "json").returncode, 2, "it is for a start")


def test_mcp(home):
    with Served(home, "mcp") as mcp:
        speak(mcp)
        tap.equal(mcp.text(), "", "by default nothing is logged about calls")
    with Served(home, "mcp", "--log-level", "info") as mcp:
        speak(mcp)
        lines = mcp.text().splitlines()
    # Written behind the answer, the second one's may be there first.
    tap.ok(any(re.fullmatch(r"aisbx: a call ended tool=sandbox_run outcome=answered ms=\d+", line) for line in lines), "as text", lines)
    with Served(home, "mcp", "--log-level", "info", "--log-format", "json") as mcp:
        speak(mcp)
        rows, text = mcp.rows(), mcp.text()
    tap.equal(sorted((row["level"], row["message"], row["tool"], row["outcome"]) for row in rows),
              [("info", "a call ended", "sandbox_exec", "refused"), ("info", "a call ended", "sandbox_run", "answered")], "as JSON")
    tap.ok(all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", row["time"]) and isinstance(row["ms"], int) for row in rows),
           "with its time and what it took", rows)
    tap.ok(SECRET not in text and SECRET.lower() not in text, "no argument, no variable, no input, no name that was asked for", text)


def test_http(home):
    with Served(home, "mcp", "--http", "127.0.0.1:0", "--log-format", "json") as mcp:
        tap.ok(until(lambda: mcp.rows() or mcp.process.poll() is not None), "the address is logged", mcp.text())
        row = mcp.rows()[0]
        tap.ok(row["level"] == "notice" and "token in" in row["message"], "as a message", row)
        path = row["message"].split("token in ")[1]
        with open(path) as file:
            tap.ok(file.read().strip() not in mcp.text(), "without the token")
    with Served(home, "mcp", "--http", "127.0.0.1:0") as mcp:
        tap.ok(until(lambda: "\n" in mcp.text() or mcp.process.poll() is not None), "and as text")
        tap.ok(re.fullmatch(r"aisbx: http://127\.0\.0\.1:\d+/mcp, token in \S+\n", mcp.text()), "as ever", mcp.text())


def test_e2b(home):
    with Served(home, "serve", "e2b", "--log-format", "json", "--log-level", "info") as server:
        lines = [server.process.stdout.readline().decode().strip() for _ in range(3)]
        given = dict(line.removeprefix("export ").split("=", 1) for line in lines)
        ask = urllib.request.Request(given["E2B_API_URL"] + "/sandboxes", method="POST", data=b'{"templateID":"base"}',
                                     headers={"X-API-KEY": given["E2B_API_KEY"], "Content-Type": "application/json"})
        with urllib.request.urlopen(ask, timeout=patience(120)) as answer:
            made = json.load(answer)
        server.process.terminate()
        server.process.wait(patience(120))
        rows, text = server.rows(), server.text()
    tap.equal([(row["message"], row["sandbox"]) for row in rows],
              [("a sandbox was made", made["sandboxID"]), ("a sandbox ends", made["sandboxID"])], "a sandbox, from its beginning to its end")
    tap.ok(given["E2B_API_KEY"] not in text and made["envdAccessToken"] not in text, "neither key nor token", text)


def test_daemon(home):
    if os.geteuid() == 0:
        tap.skip("the daemon's log", "root has no daemon")
        return
    job = os.path.join(home.path, ".config/aisbx/tidy.yaml")
    os.makedirs(os.path.dirname(job))
    with open(job, "w") as out:
        out.write(f"every: 1s\nscript: 'echo {SECRET}; exit 3'\non_failure: retry\n")
    home.call("job", "add", job)
    with Served(home, "daemon", "--pool", "1", "--log-format", "json", "--log-level", "debug") as daemon:
        def helper(message):
            return [row for row in daemon.rows() if row["message"] == message and row.get("helper") == "jobs"]
        tap.ok(until(lambda: helper("helper started")), "a helper that starts", daemon.text())
        tap.ok(until(lambda: helper("job tidy: fail")), "what a helper writes is a message of its own", daemon.text())
        os.kill(helper("helper started")[0]["pid"], signal.SIGKILL)
        tap.ok(until(lambda: helper("helper ended")), "one that ends", daemon.text())
        tap.equal(helper("helper ended")[0]["level"], "warning", "is a warning")
        tap.ok(until(lambda: len(helper("helper started")) > 1), "and is started again", daemon.text())
        tap.equal(home.call("daemon", "reload").returncode, 0, "reload")
        tap.equal(home.call("daemon", "stop").returncode, 0, "stop")
        daemon.process.wait(patience(60))
        rows, text = daemon.rows(), daemon.text()
    said = [row["message"] for row in rows]
    tap.ok(said[0] == "the daemon serves" and rows[0]["pool"] == 1 and "reloaded: what was ready is made anew" in said, "its life", said)
    tap.equal(said[-1], "the daemon ends", "to its end")
    tap.ok(all(row["level"] in LEVELS for row in rows) and SECRET not in text, "no command, no output", text)
    home.call("job", "rm", "tidy")


# Binds the journal's socket, starts the program with a stderr that counts as the journal's, and prints the datagrams.
STAND_IN = r"""
import os, socket, subprocess, sys
os.makedirs("/run/systemd/journal")
journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
journal.bind("/run/systemd/journal/socket")
journal.settimeout(120)
errors = open(sys.argv[1], "wb")
st = os.fstat(errors.fileno())
process = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors,
                           env={**os.environ, "JOURNAL_STREAM": f"{st.st_dev}:{st.st_ino}"})
process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}\n')
process.stdin.write(b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"sandbox_exec","arguments":{"sandbox":"none","command":["true"]}}}\n')
process.stdin.flush()
sys.stdout.write(journal.recv(65536).hex())
process.stdin.close()
process.wait()
"""


def entries(datagram):
    """The journal's own form: a name, a newline, the length, the value."""
    found = {}
    while datagram:
        name, rest = datagram.split(b"\n", 1)
        size = int.from_bytes(rest[:8], "little")
        found[name.decode()] = rest[8:8 + size].decode()
        if rest[8 + size:9 + size] != b"\n":
            raise AssertionError(datagram)
        datagram = rest[9 + size:]
    return found


def test_journal(home):
    words = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "sh", "-c",
             'mount -t tmpfs none /run && exec "$@"', "sh", sys.executable, "-c", STAND_IN]
    errors = os.path.join(home.path, "stderr")
    for form in ("text", "json"):
        done = subprocess.run([*words, errors, AISBX, "mcp", "--log-level", "info", "--log-format", form], cwd=home.work, env=home.env,
                              capture_output=True, text=True, check=False, timeout=patience(240))
        got = entries(bytes.fromhex(done.stdout))
        tap.equal({name: got.get(name) for name in ("MESSAGE", "PRIORITY", "SYSLOG_IDENTIFIER", "AISBX_TOOL", "AISBX_OUTCOME")},
                  {"MESSAGE": "a call ended", "PRIORITY": "6", "SYSLOG_IDENTIFIER": "aisbx", "AISBX_TOOL": "sandbox_exec",
                   "AISBX_OUTCOME": "refused"}, f"{form}: fields in the journal; {done.stderr}")
        with open(errors) as file:
            tap.equal(file.read(), "", f"{form}: and nothing twice")
    with open(errors, "wb") as out:
        st = os.fstat(out.fileno())
    with Served(home, "mcp", "--log-level", "info", JOURNAL_STREAM=f"{st.st_dev}:{st.st_ino + 1}") as mcp:
        speak(mcp)
        tap.ok("a call ended" in mcp.text(), "another file than the journal's is written to", mcp.text())


with Home("aisbx-test-log-") as owner:
    test_words(owner)
    if owner.can_run(tap, "the log of what serves"):
        for part in (test_mcp, test_http, test_e2b, test_daemon, test_journal):
            part(owner)
sys.exit(tap.done())
