# SPDX-License-Identifier: Apache-2.0
"""A daemon with a page, and clients of it: well-behaved, and not."""
import http.client
import json
import subprocess
import urllib.parse

from box import patience
from family import until
from pool import Daemon


class Page(Daemon):
    """A daemon that serves a page on a port that the kernel chose."""

    def __init__(self, caller, *flags):
        self.bearer = None
        super().__init__(caller, "--http", "127.0.0.1:0", *flags)
        if not until(lambda: self.ui().returncode == 0):
            self.kill()
            raise AssertionError("the daemon has no page")
        self.port = urllib.parse.urlsplit(json.loads(self.ui().stdout)["url"]).port

    def ask(self, method, path, body=None, headers=(), skip_host=False):
        """Status, headers and body of one request, exactly as given."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=patience(30))
        try:
            connection.putrequest(method, path, skip_host=skip_host or "Host" in dict(headers), skip_accept_encoding=True)
            for name, value in dict(headers).items():
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def ui(self, wrapper=()):
        return subprocess.run([*wrapper, self.caller.program, "ui", "--json"], cwd=self.caller.workspace, env=self.caller.env,
                              capture_output=True, text=True, check=False, timeout=patience(60), **self.identity)

    def ticket(self):
        return json.loads(self.ui().stdout)["url"].split("#")[1]

    def enter(self):
        """The token that calls need, as the page gets it."""
        status, _, body = self.ask("POST", "/api/session", json.dumps({"token": self.ticket()}).encode(),
                                   {"Content-Type": "application/json"})
        assert status == 200, (status, body)
        self.bearer = json.loads(body)["bearer"]
        return self.bearer

    def post(self, verb, *words, headers=(), **flags):
        """Status and body of a call as the page makes it."""
        if not self.bearer:
            self.enter()
        body = json.dumps({"words": list(words), "flags": flags}).encode()
        status, _, answer = self.ask("POST", "/api/" + verb, body, {"Content-Type": "application/json",
                                                                   "Authorization": "Bearer " + self.bearer, **dict(headers)})
        return status, answer

    def call(self, verb, *words, **flags):
        """The lines of a call, and its exit status."""
        status, body = self.post(verb, *words, **flags)
        assert status == 200, (verb, status, body)
        *lines, last = [json.loads(line) for line in body.splitlines()]
        return lines, last["end"]["exit"]
