#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mcp --http: the gate (token, Host, Origin), sessions, streams, clients that go away, broken requests.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a home of its own.
"""

import http.client
import json
import os
import socket
import stat
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import patience  # noqa: E402
from clitest import Home, Tap  # noqa: E402
from family import kib_of, shells_with, until  # noqa: E402
from mcpweb import HELLO, MODERN, Stream, Web, messages  # noqa: E402

tap = Tap()


def test_gate(web, home):
    tap.equal(stat.S_IMODE(os.stat(web.token_path).st_mode), 0o600, "the token's file is its owner's")
    tap.ok(web.token not in web.line and len(web.token) == 64, "the token itself is printed nowhere")
    with open(f"/proc/{web.process.pid}/cmdline") as file:
        tap.ok(web.token not in file.read(), "nor among the processes")
    for name, status, headers in [
            ("no token", 401, {"Authorization": None}), ("a wrong token", 401, {"Authorization": "Bearer " + "0" * 64}),
            ("half a token", 401, {"Authorization": "Bearer " + web.token[:32]}),
            ("another scheme", 401, {"Authorization": "Basic " + web.token}),
            ("a foreign Host", 403, {"Host": "evil.example"}), ("a Host like ours", 403, {"Host": "127.0.0.1.evil.example"}),
            ("no Host", 400, {"Host": None}), ("a foreign Origin", 403, {"Origin": "http://evil.example"}),
            ("the null Origin", 403, {"Origin": "null"}), ("an https Origin", 403, {"Origin": "https://localhost"}),
            ("a form", 415, {"Content_Type": "application/x-www-form-urlencoded"}), ("text", 415, {"Content_Type": "text/plain"}),
            ("no type", 415, {"Content_Type": None})]:
        got = web.post(HELLO, **headers)[0]
        tap.ok(got == status or (name == "no Host" and got in (400, 403)), f"{name}: {status}", got)
    for headers in ({"Origin": f"http://localhost:{web.port}"}, {"Origin": "http://127.0.0.1"},
                    {"Host": f"localhost:{web.port}"}, {"Host": f"[::1]:{web.port}"}):
        tap.equal(web.post(HELLO, **headers)[0], 200, f"{headers} is ours")
    tap.equal(web.request("GET", Accept="application/json")[0], 405, "GET is for streams")
    tap.equal([web.request(method)[0] for method in ("PUT", "PATCH", "OPTIONS")], [405] * 3, "nor do others")
    tap.equal(web.request("POST", HELLO, path="/")[0], 404, "one place only")
    for address in ("0.0.0.0:0", "example.org:80", "127.0.0.1", "127.0.0.1:99999", "192.168.0.1:1", "[::]:0"):
        done = home.call("mcp", "--http", address)
        tap.ok(done.returncode == 2 and "127.0.0.1:PORT" in done.stderr, f"--http {address}: refused", done)


def test_sessions(web):
    tap.equal(web.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})[0], 400, "without a session: 400")
    tap.equal(web.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}, Mcp_Session_Id="0" * 64)[0], 404, "an unknown one: 404")
    web.hello()
    tap.ok(web.ask("tools/list")["result"]["tools"], "with one, all is as elsewhere")
    tap.equal(web.post({"jsonrpc": "2.0", "method": "notifications/initialized"})[0], 202, "a notification: 202")
    tap.equal(web.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}, MCP_Protocol_Version="1999-01-01")[0], 400,
              "an unknown version in the header: 400")
    tap.equal(web.ask("tools/call", name="sandbox_run", arguments={"script": "echo hi"})
              ["result"]["structuredContent"]["stdout"], "hi\n", "a tool")
    status, headers, text = web.post({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {
        "name": "sandbox_run", "arguments": {"script": "sleep 3"}, "_meta": {"progressToken": "t"}}})
    found = messages(text)
    tap.ok(status == 200 and headers["Content-Type"] == "text/event-stream" and len(found) > 1
           and found[0]["method"] == "notifications/progress" and found[-1]["id"] == 9, "with progress it is a stream", text)
    status, headers, text = web.post({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {
        "name": "sandbox_run", "arguments": {"script": "true"}}}, Accept="application/json")
    tap.ok(status == 200 and headers["Content-Type"] == "application/json", "who wants none gets none")
    status, _, text = web.post({"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": {"_meta": MODERN}},
                               Mcp_Session_Id=None, MCP_Protocol_Version="2026-07-28")
    tap.ok(status == 200 and messages(text)[0]["result"]["resultType"] == "complete", "2026-07-28 needs no session", text)
    old = web.session
    tap.equal(web.request("DELETE")[0], 204, "a session is ended")
    tap.equal(web.post({"jsonrpc": "2.0", "id": 1, "method": "ping"})[0], 404, "and gone")
    web.session = None
    web.hello()
    tap.ok(web.session != old, "the next one is another")


def test_elicitation(web, home):
    web.ask("tools/call", name="sandbox_create", arguments={"sandbox": "h1"})
    web.ask("tools/call", name="sandbox_exec", arguments={"sandbox": "h1", "script": "echo web > web.txt"})
    connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=240)
    connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
        "name": "promote_request", "arguments": {"sandbox": "h1"}}}), web.headers())
    response = connection.getresponse()
    while True:
        line = response.readline().decode()
        if line.startswith("data: "):
            break
    question = json.loads(line[6:])
    tap.equal(question["method"], "elicitation/create", "a question comes on the stream of its request")
    tap.equal(web.post({"jsonrpc": "2.0", "id": question["id"],
                        "result": {"action": "accept", "content": {"approve": True}}})[0], 202, "its answer by itself")
    rest = response.read().decode()
    connection.close()
    tap.ok('"approved"' in rest and home.read("web.txt") == "web\n", "and then it is done", rest)


def test_gone(web):
    mark = f"mark-{os.getpid()}-"
    plain = socket.create_connection(("127.0.0.1", web.port))
    body = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
        "name": "sandbox_run", "arguments": {"script": f": {mark}; sleep 999"}}})
    head = "".join(f"{key}: {value}\r\n" for key, value in web.headers().items())
    plain.sendall(f"POST /mcp HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
    until(lambda: shells_with(mark))
    plain.close()
    tap.ok(until(lambda: web.ask("ping") and not shells_with(mark)), "who goes away has cancelled")


def test_broken(web):
    for name, data in [("no HTTP", b"\x00\xff" * 100 + b"\r\n\r\n"), ("a huge line", b"GET /" + b"a" * (1 << 20) + b" HTTP/1.1\r\n\r\n"),
                       ("many headers", b"POST /mcp HTTP/1.1\r\n" + b"".join(b"x%d: y\r\n" % i for i in range(10000)) + b"\r\n"),
                       ("a negative length", b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n"),
                       ("two lengths", b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef"),
                       ("a chunk overflow", b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n"),
                       ("a path outside", b"GET /%2e%2e//etc/passwd HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")]:
        plain = socket.create_connection(("127.0.0.1", web.port), timeout=patience(60))
        got = b""
        try:
            plain.sendall(data)
            got = plain.recv(4096)
        except OSError:
            pass
        plain.close()
        tap.ok(b" 200 " not in got[:40] and web.ask("ping").get("result") == {}, f"{name}: refused, and it goes on", got[:80])
    status = web.post(b"x" * (5 << 20))[0]
    tap.equal(status, 413, "a body that is too large: 413")
    tap.equal(messages(web.post(b"{half")[2])[0]["error"]["code"], -32700, "broken JSON: -32700")


def test_crowd(web):
    idle = []
    for _ in range(800):
        try:
            idle.append(socket.create_connection(("127.0.0.1", web.port), timeout=patience(60)))
        except OSError:
            break
    began = time.monotonic()
    tap.equal(web.ask("ping").get("result"), {}, f"{len(idle)} who say nothing keep nobody waiting")
    print(f"# answered after {time.monotonic() - began:.3f} s")
    for one in idle:
        one.close()
    found, threads = {}, []

    def run(number):
        found[number] = web.ask("tools/call", name="sandbox_run", arguments={"script": f"echo {number}"})
    for number in range(32):
        threads.append(threading.Thread(target=run, args=(number,)))
        threads[-1].start()
    for thread in threads:
        thread.join()
    tap.equal([found[i]["result"]["structuredContent"]["stdout"] for i in range(32)], [f"{i}\n" for i in range(32)],
              "32 at once each get their own")


def json_only(web, number, tool, arguments, **meta):
    return web.post({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {
        "name": tool, "arguments": arguments, **({"_meta": meta} if meta else {})}}, Accept="application/json")


def test_streams(web, home):
    web.session = None
    tap.equal(web.request("GET")[0], 400, "a stream without a session: 400")
    tap.equal(web.request("GET", Mcp_Session_Id="0" * 64)[0], 404, "of an unknown one: 404")
    web.hello()
    tap.equal(web.request("GET", Authorization=None)[0], 401, "without the token: 401")
    tap.equal(web.request("GET", MCP_Protocol_Version="2026-07-28")[0], 405, "2026-07-28 has none: 405")
    web.ask("logging/setLevel", level="warning")
    with Stream(web) as stream:
        tap.equal((stream.status, stream.response.getheader("Content-Type")), (200, "text/event-stream"), "a stream opens")
        status, headers, text = json_only(web, 900, "sandbox_run", {"script": "sleep 3"}, progressToken="t")
        tap.ok(status == 200 and headers["Content-Type"] == "application/json" and messages(text)[0]["id"] == 900,
               "who takes no stream gets one object", text)
        found = stream.next()
        tap.ok(found["method"] == "notifications/progress" and found["params"]["progressToken"] == "t",
               "and progress by the session's stream", found)
        json_only(web, 901, "sandbox_run", {"script": "true", "mem": "900g"})
        json_only(web, 902, "sandbox_exec", {"sandbox": "nobody", "script": "true"})
        while found and found["method"] != "notifications/message":
            found = stream.next()
        tap.ok(found and found["params"]["level"] == "warning" and found["params"]["data"]["event"] == "refused",
               "so do log messages", found)
        json_only(web, 903, "sandbox_create", {"sandbox": "streamed"})
        json_only(web, 904, "sandbox_exec", {"sandbox": "streamed", "script": "echo s > streamed.txt"})
        answers = []
        asking = threading.Thread(target=lambda: answers.append(json_only(web, 905, "promote_request", {"sandbox": "streamed"})))
        asking.start()
        while found and found["method"] != "elicitation/create":
            found = stream.next()
        web.post({"jsonrpc": "2.0", "id": found["id"], "result": {"action": "accept", "content": {"approve": True}}})
        asking.join(120)
        tap.ok(answers and messages(answers[0][2])[0]["result"]["structuredContent"]["state"] == "approved"
               and home.read("streamed.txt") == "s\n", "and questions to the client's user", answers)
        more = [Stream(web) for _ in range(8)]
        tap.equal([one.status for one in more], [200] * 7 + [409], "eight streams are enough for one session")
        tap.equal(web.ask("ping").get("result"), {}, "and keep nobody from being served")
        tap.equal(web.request("DELETE")[0], 204, "the session's end")
        tap.equal([one.next() for one in (stream, *more[:7])], [None] * 8, "is the end of its streams")
        for one in more:
            one.connection.close()
    web.hello()
    status, _, text = json_only(web, 906, "promote_request", {"sandbox": "streamed"})
    tap.ok(status == 200 and "result" in messages(text)[0], "without any stream nobody waits for an answer that cannot come", text)
    for _ in range(3):
        with Stream(web) as stream:
            tap.equal(stream.status, 200, "a stream that was left makes room")
    web.ask("tools/call", name="sandbox_remove", arguments={"sandbox": "streamed"})


def test_many_requests(web):
    """Requests without a handshake come and go, and take no session from those who have one."""
    web.hello()
    modern = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": MODERN}}
    for _ in range(300):
        web.post(modern, Mcp_Session_Id=None, MCP_Protocol_Version="2026-07-28")
    tap.equal(web.ask("ping").get("result"), {}, "a session outlives 300 requests that need none")
    tap.equal(web.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}, Mcp_Session_Id="")[0], 404, "a session without a name is none")


def test_slow_reader(web):
    """Somebody who asks and does not read costs a bounded amount, and nobody else anything."""
    web.hello()
    body = json.dumps({"jsonrpc": "2.0", "id": 5, "method": "tools/list"}).encode()
    head = "".join(f"{key}: {value}\r\n" for key, value in web.headers(Content_Length=str(len(body))).items())
    idle = []
    for _ in range(100):
        one = socket.create_connection(("127.0.0.1", web.port))
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body)
        idle.append(one)
    tap.equal(web.ask("ping").get("result"), {}, "100 who do not read keep nobody from being served")
    resident = kib_of(web.process.pid)
    tap.ok(os.environ.get("AISBX_SLOW") or resident < 64 << 10, "and cost less than 64 MiB", f"{resident} KiB")
    for one in idle:
        one.close()


with Home("mcp-http-") as home:
    with Web(home) as web:
        first = web.token
        test_gate(web, home)
        test_sessions(web)
        for test in ((test_elicitation, web, home), (test_gone, web), (test_broken, web), (test_crowd, web),
                     (test_streams, web, home), (test_many_requests, web), (test_slow_reader, web)):
            tap.attempt(*test)
        tap.equal(web.process.poll(), None, "the server lives")
        path = web.token_path
    tap.ok(not os.path.exists(path), "at the end the token is gone")
    with Web(home) as web:
        tap.ok(web.token != first, "and the next one is another")
sys.exit(tap.done())
