# SPDX-License-Identifier: Apache-2.0
"""`aisbx serve e2b` as its clients see it: the server, a sandbox, their calls."""

import base64
import contextlib
import http.client
import json
import re
import struct
import subprocess

from box import patience
from clitest import AISBX

# Seconds that a sandbox lives where its end is not asked about.
LONG = 3600


class Server:
    """`aisbx serve e2b`, which ends with the block."""

    def __init__(self, home, *flags):
        self.process = subprocess.Popen([AISBX, "serve", "e2b", "--http", "127.0.0.1:0", *flags], cwd=home.work, env=home.env,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.env = {}
        while "E2B_SANDBOX_URL" not in self.env:
            line = self.process.stdout.readline()
            found = re.fullmatch(r"export (E2B_[A-Z_]+)=(\S+)\n", line)
            assert found, line
            self.env[found.group(1)] = found.group(2)
        self.key, self.port = self.env["E2B_API_KEY"], int(self.env["E2B_API_URL"].rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(patience(60))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def ask(self, method, path, body=None, **headers):
        """Status, headers and body of an answer; _ in a header's name is a -, None leaves one out."""
        all_headers = {"X-API-KEY": self.key, "Host": f"127.0.0.1:{self.port}"}
        if isinstance(body, (dict, list)):
            body, all_headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        all_headers.update({name.replace("_", "-"): value for name, value in headers.items()})
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=patience(60))
        try:
            link.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            if body is not None and "Transfer-Encoding" not in all_headers:
                all_headers.setdefault("Content-Length", str(len(body)))
            for name, value in all_headers.items():
                if value is not None:
                    link.putheader(name, value)
            link.endheaders(body if "Transfer-Encoding" not in all_headers else None)
            answer = link.getresponse()
            data = answer.read()
            kind = answer.headers.get("Content-Type") or ""
            return answer.status, answer.headers, json.loads(data) if kind == "application/json" and data else data
        finally:
            link.close()

    def create(self, **asked):
        status, _, made = self.ask("POST", "/v2/sandboxes", {"templateID": "base", "timeout": LONG, **asked})
        assert status == 201, (status, made)
        return Sandbox(self, made)


class Sandbox:
    """One sandbox of the server's, and its agent."""

    def __init__(self, server, made):
        self.server, self.id, self.token = server, made["sandboxID"], made["envdAccessToken"]

    def ask(self, method, path, body=None, **headers):
        own = {"X_API_KEY": None, "E2b_Sandbox_Id": self.id, "E2b_Sandbox_Port": "49983", "X_Access_Token": self.token}
        return self.server.ask(method, path, body, **{**own, **headers})

    def call(self, method, message, **headers):
        return self.ask("POST", "/" + method, message, **headers)[::2]

    @contextlib.contextmanager
    def stream(self, method, message, **headers):
        """The messages of a stream as they come; the last one is the end's, as {"end": ...}."""
        body = json.dumps(message).encode()
        link = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=patience(60))
        link.request("POST", "/" + method, struct.pack(">BI", 0, len(body)) + body,
                     {"Content-Type": "application/connect+json", "E2b-Sandbox-Id": self.id, "X-Access-Token": self.token,
                      **headers})
        answer = link.getresponse()

        def events():
            assert answer.status == 200 and answer.headers["Content-Type"] == "application/connect+json", answer.status
            while True:
                head = answer.read(5)
                if len(head) < 5:
                    return
                flags, length = struct.unpack(">BI", head)
                part = json.loads(answer.read(length))
                yield {"end": part} if flags & 2 else part
                if flags & 2:
                    return
        try:
            yield events()
        finally:
            link.close()

    def run(self, script, headers=None, **wish):
        """Stdout, stderr, the end event and the end of the stream of a command."""
        out = {"stdout": b"", "stderr": b"", "pty": b""}
        end = last = None
        with self.stream("process.Process/Start", {"process": {"cmd": "/bin/sh", "args": ["-c", script], **wish}},
                         **(headers or {})) as events:
            for event in events:
                for name, text in event.get("event", {}).get("data", {}).items():
                    out[name] += base64.b64decode(text)
                end = event.get("event", {}).get("end", end)
                last = event.get("end", last)
        return out["stdout"], out["stderr"], end, last


def text(value):
    return base64.b64encode(value).decode()
