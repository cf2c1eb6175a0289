# SPDX-License-Identifier: Apache-2.0
"""A small client of the Model Context Protocol over standard input and output, for the suites of `aisbx mcp`."""
import json
import os
import select
import subprocess
import time

from clitest import AISBX
from family import kib_of, read_of, stat_of


class Gone(Exception):
    """The server closed its output, or said nothing in time."""


class Server:
    """One `aisbx mcp`, with what it says read line by line: every line must be a frame."""

    def __init__(self, home, *flags, version="2025-11-25", capabilities=None, cwd=None, handshake=True, **popen):
        self.home = home
        self.process = subprocess.Popen([AISBX, "mcp", *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, cwd=cwd or home.work, env=home.env, **popen)
        self.last_id, self.buffer, self.seen, self.notes = 0, b"", {}, []
        self.answer_requests = None
        if handshake:
            self.hello = self.ask("initialize", protocolVersion=version, capabilities=capabilities or {},
                                  clientInfo={"name": "test", "version": "1"})
            self.tell("notifications/initialized")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self, timeout=120):
        """Hangs up; the exit status."""
        if self.process.poll() is None:
            try:
                self.process.stdin.close()
            except OSError:
                pass
            try:
                self.process.wait(timeout)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            stream.close()
        return self.process.returncode

    def raw(self, data):
        os.write(self.process.stdin.fileno(), data) if len(data) < 4096 else self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        self.raw(json.dumps(message).encode() + b"\n")

    def tell(self, method, **params):
        self.send({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})

    def start(self, method, params=None):
        """Sends a request and does not wait; its id."""
        self.last_id += 1
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, **({"params": params} if params else {})})
        return self.last_id

    def read(self, timeout=240):
        """The next frame."""
        until = time.monotonic() + timeout
        while b"\n" not in self.buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise Gone("no answer in time")
            part = os.read(self.process.stdout.fileno(), 1 << 20)
            if not part:
                raise Gone("the server is gone")
            self.buffer += part
        line, self.buffer = self.buffer.split(b"\n", 1)
        message = json.loads(line)
        if message.get("jsonrpc") != "2.0":
            raise AssertionError(f"not a frame: {line[:200]}")
        return message

    def wait(self, wanted, timeout=240):
        """The answer to the request with that id; notifications are kept in `notes`, other answers for later."""
        until = time.monotonic() + timeout
        while wanted not in self.seen:
            message = self.read(max(0.01, until - time.monotonic()))
            if "method" in message and "id" in message:
                self.answer_requests(message)
            elif "method" in message:
                self.notes.append(message)
            else:
                self.seen[message.get("id")] = message
        return self.seen.pop(wanted)

    def ask(self, method, **params):
        """The whole response to a request."""
        return self.wait(self.start(method, params))

    def result(self, method, **params):
        return self.ask(method, **params)["result"]

    def call(self, tool, **arguments):
        """The result of a tool."""
        return self.wait(self.start("tools/call", {"name": tool, "arguments": arguments})).get("result", {})

    def data(self, tool, **arguments):
        """The object a tool answers with."""
        return self.call(tool, **arguments).get("structuredContent", {})

    def memory_kib(self):
        return kib_of(self.process.pid)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def spare(self):
        """The numbers of children that wait for a call."""
        return [pid for pid in self.processes() if comm(pid) == "aisbx-spare"]

    def children(self):
        """Those that perform one."""
        return [pid for pid in self.processes() if comm(pid) != "aisbx-spare"]

    def processes(self):
        return (read_of(self.process.pid, f"task/{self.process.pid}/children") or "").split()

    def settle(self, timeout=120):
        """Waits until no call has a child any more; what is left then."""
        until = time.monotonic() + timeout
        while self.children() and time.monotonic() < until:
            time.sleep(0.02)
        return self.children()


def comm(pid):
    """The name of a process; empty when it is gone."""
    return (read_of(pid, "comm") or "").strip()


def state(pid):
    """The letter of a process' state; empty when it is gone."""
    return (stat_of(pid) or ("", ""))[1]


def is_refused(result, *words):
    """Whether a tool refused as it should: isError, and an error object with these words."""
    error = result.get("structuredContent", {}).get("error") or {}
    return (result.get("isError") is True and result["structuredContent"].get("ok") is False
            and all(word in f"{error.get('code')}: {error.get('message')}; {error.get('hint')}" for word in words))
