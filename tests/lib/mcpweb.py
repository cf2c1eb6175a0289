# SPDX-License-Identifier: Apache-2.0
"""A client of `aisbx mcp --http`: requests, and streams that stay open."""
import http.client
import json
import re
import signal
import socket
import subprocess

from clitest import AISBX

HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
         "params": {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
                    "clientInfo": {"name": "t", "version": "1"}}}
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


class Web:
    """One `aisbx mcp --http`, and requests to it."""

    def __init__(self, home, *flags):
        self.process = subprocess.Popen([AISBX, "mcp", "--http", "127.0.0.1:0", *flags], cwd=home.work, env=home.env,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.line = self.process.stderr.readline()
        found = re.match(r"aisbx: http://127\.0\.0\.1:(\d+)/mcp, token in (.*)\n", self.line)
        if not found:
            raise SystemExit(f"1..0 # SKIP no HTTP here: {self.line.strip()}")
        self.port, self.token_path = int(found[1]), found[2]
        with open(self.token_path) as file:
            self.token = file.read()
        self.session, self.last_id = None, 100

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(120)
        self.process.stdout.close()
        self.process.stderr.close()

    def headers(self, **more):
        base = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream", "Host": f"127.0.0.1:{self.port}"}
        if self.session:
            base["Mcp-Session-Id"] = self.session
        base.update({key.replace("_", "-"): value for key, value in more.items()})
        return {key: value for key, value in base.items() if value is not None}

    def request(self, method, body=None, path="/mcp", **headers):
        """Status, headers and body of one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=240)
        data = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for key, value in self.headers(**headers).items():
            connection.putheader(key, value)
        connection.putheader("Content-Length", str(len(data or b"")))
        connection.endheaders(data)
        response = connection.getresponse()
        text = response.read().decode(errors="replace")
        connection.close()
        return response.status, dict(response.getheaders()), text

    def post(self, body, **headers):
        return self.request("POST", body, **headers)

    def ask(self, method, **params):
        """The answer to a request, from JSON or the end of a stream."""
        self.last_id += 1
        status, _, text = self.post({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        return messages(text)[-1] if status == 200 else {"status": status}

    def hello(self):
        _, headers, _ = self.post(HELLO)
        self.session = headers["Mcp-Session-Id"]
        return self


def messages(text):
    if text.startswith("{"):
        return [json.loads(text)]
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]


class Stream:
    """A GET that stays open: what the server says without being asked."""

    def __init__(self, web, receive_bytes=None, **headers):
        """RECEIVE_BYTES: how much the kernel keeps for one who does not read."""
        self.connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=120)
        if receive_bytes:
            self.connection.sock = socket.socket()
            self.connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
            self.connection.sock.connect(("127.0.0.1", web.port))
        self.connection.request("GET", "/mcp", headers=web.headers(**{"Accept": "text/event-stream", "Content_Type": None, **headers}))
        self.response = self.connection.getresponse()
        self.status = self.response.status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def next(self):
        """The next message; None at the end of the stream."""
        for line in iter(self.response.readline, b""):
            if line.startswith(b"data: "):
                return json.loads(line[6:])
        return None
