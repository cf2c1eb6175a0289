#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bounds of `aisbx mcp`, each at its limit: messages, calls, questions, what a slow client leaves unread, sessions, streams, connections.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a home of its own.
"""

import http.client
import json
import os
import resource
import select
import socket
import sqlite3
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import patience, slow  # noqa: E402
from clitest import Home, Tap  # noqa: E402
from family import kib_of, until  # noqa: E402
from mcpclient import Server, is_refused  # noqa: E402
from mcpweb import HELLO, MODERN, Stream, Web, messages  # noqa: E402

tap = Tap()
MESSAGE_MAX, DEPTH_MAX, VALUES_MAX, UNREAD_MAX = 4 << 20, 64, 100000, 8 << 20
CONNECTIONS_TRIED, CONNECTIONS_MAX = 1300, 1024
LOGS_MAX = 10000
HARD_NOFILE = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
RUNNING_MAX, WAITING_MAX, QUESTIONS_MAX, SESSIONS_MAX = 32, 256, 32, 256


def ping(number, params):
    """A request as text, its params given as JSON."""
    return b'{"jsonrpc":"2.0","id":%d,"method":"ping","params":%s}' % (number, params)


def said(server, number, params):
    """What a ping with these params is answered with: "result", or a code."""
    server.raw(ping(number, params) + b"\n")
    found = server.read()
    return "result" if "result" in found and found["id"] == number else found["error"]["code"]


def test_messages(home):
    with Server(home) as server:
        room = MESSAGE_MAX - len(ping(1001, b'{"x":""}'))
        tap.equal(said(server, 1001, b'{"x":"%s"}' % (b"y" * room)), "result", "a message of 4 MiB")
        tap.equal(said(server, 1001, b'{"x":"%s"}' % (b"y" * (room + 1))), -32600, "a byte more is too large")
        tap.equal(said(server, 1002, b"{}"), "result", "and the next message is one")
        # The message and its params are two levels.
        for more, want in ((0, "result"), (1, -32700)):
            depth = DEPTH_MAX - 2 + more
            tap.equal(said(server, 1003, b'{"x":%s%s}' % (b"[" * depth, b"]" * depth)), want, f"depth {DEPTH_MAX + more}")
        # Besides the numbers: the message, its four members, the list.
        for more, want in ((0, "result"), (1, -32700)):
            numbers = VALUES_MAX - 6 + more
            tap.equal(said(server, 1004, b'{"x":[%s]}' % b",".join([b"1"] * numbers)), want, f"{VALUES_MAX + more} values")


def test_calls(home):
    """As many calls as may run and wait, and one more."""
    with Server(home) as server:
        server.call("sandbox_create", sandbox="held")
        # One that has answered counts until its end.
        server.settle()
        held = [server.start("tools/call", {"name": "sandbox_run", "arguments": {"script": "exec sleep 3000"}}) for _ in range(RUNNING_MAX)]
        held += [server.start("tools/call", {"name": "sandbox_list", "arguments": {}}) for _ in range(WAITING_MAX)]
        beyond = server.wait(server.start("tools/call", {"name": "sandbox_list", "arguments": {}}))["result"]
        tap.ok(is_refused(beyond, "256 calls wait"), "the call beyond is refused, and told why", beyond)
        beyond = server.ask("resources/read", uri="aisbx://sandboxes")
        tap.ok("too much waits" in beyond["error"]["message"], "so is a resource", beyond)
        tap.equal(server.result("ping"), {}, "what needs no call is answered")
        server.tell("notifications/cancelled", requestId=held[-1])
        more = server.start("tools/call", {"name": "sandbox_list", "arguments": {}})
        for number in held[:RUNNING_MAX]:
            server.tell("notifications/cancelled", requestId=number)
        tap.ok(server.wait(more)["result"].get("isError") is False, "one that was cancelled makes room at once")
        answered = sum("result" in server.wait(number) for number in held[RUNNING_MAX:-1])
        tap.equal(answered, WAITING_MAX - 1, "all that waited have their turn")
        server.call("sandbox_remove", sandbox="held")


def test_questions(home):
    """As many questions as may be open, and one more, which stays a request."""
    asked = []
    with Server(home, capabilities={"elicitation": {}}) as server:
        server.answer_requests = asked.append
        server.call("sandbox_create", sandbox="asks")
        server.call("sandbox_exec", sandbox="asks", script="echo a > asked.txt")
        open_ones = []
        for _ in range(QUESTIONS_MAX):
            open_ones.append(server.start("tools/call", {"name": "promote_request", "arguments": {"sandbox": "asks"}}))
            until(lambda: len(asked) == len(open_ones) or server.wait(server.start("ping")) is None)
        tap.equal(len(asked), QUESTIONS_MAX, "each is put to the client's user")
        found = server.data("promote_request", sandbox="asks")
        tap.ok(found.get("state") == "pending" and len(asked) == QUESTIONS_MAX, "one more waits as a request, and its caller does not", found)
        server.send({"jsonrpc": "2.0", "id": asked[0]["id"], "result": {"action": "decline"}})
        tap.equal(server.wait(open_ones[0])["result"]["structuredContent"]["state"], "rejected", "an answer")
        server.start("tools/call", {"name": "promote_request", "arguments": {"sandbox": "asks"}})
        tap.ok(until(lambda: len(asked) == QUESTIONS_MAX + 1 or server.wait(server.start("ping")) is None), "makes room for a question", len(asked))
        server.call("sandbox_remove", sandbox="asks")


def test_unread_output(home):
    """Short questions with long answers, by somebody who does not listen: they are not read any more, and none is lost."""
    # Where memory says nothing, it is enough that far more is asked for than may wait.
    count = 500 if slow() else 1500
    with Server(home, "--tools", "all") as server:
        size = len(json.dumps(server.result("tools/list")))
        tap.ok(count * size > 2 * UNREAD_MAX, "more than twice what may wait", size)
        frames = b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"tools/list"}\n' % number for number in range(5000, 5000 + count))
        sender = threading.Thread(target=lambda: server.raw(frames))
        sender.start()
        # The first answer comes when all is read that was there to be read.
        select.select([server.process.stdout], [], [])
        found = [server.read()["id"] for _ in range(count)]
        sender.join()
        tap.equal(found, list(range(5000, 5000 + count)), "each has its answer, in order")
        most = kib_of(server.process.pid, "VmHWM")
        tap.ok(slow() or most < 40 << 10, f"{count} answers of {size >> 10} KiB have waited in at most {most} KiB", most)


def test_logs(home):
    """More kept output than an owner may have: the oldest of that owner goes, and nothing of others."""
    state = home.path + "/.local/state/aisbx"
    big = "head -c 1100000 /dev/zero | tr '\\0' x"
    home.call("run", "--", "echo", "a person's")
    home.call("history")
    mine = os.listdir(state + "/logs")
    with Server(home, "--owner", "logs") as server:
        server.data("sandbox_run", script=big)
        home.call("history")
        names = [f"01AAAAAAAAAAAAAAAAAAA{number:05d}" for number in range(LOGS_MAX)]
        with sqlite3.connect(state + "/history.db") as base:
            base.executemany("INSERT INTO runs(run_id, command, status, started_ms, owner) VALUES(?, '[]', 'success', 1, ?)",
                             [(name, "logs" if name > names[0] else "another") for name in names])
        base.close()
        for name in names:
            with open(f"{state}/logs/{name}", "w"):
                pass
        server.data("sandbox_run", script=big)
        left = set(os.listdir(state + "/logs"))
    tap.equal(len(left) - len(mine) - 1, LOGS_MAX, f"{LOGS_MAX} logs of one owner are kept")
    tap.ok(names[1] not in left and names[-1] in left, "the oldest goes first", sorted(left)[:3])
    tap.ok(names[0] in left and left.issuperset(mine), "those of others stay, however old", sorted(left)[:3])
    for name in left.difference(mine):
        os.unlink(f"{state}/logs/{name}")


def stuck_reader(web, body):
    """A connection on which something was asked and nothing will be read."""
    data = json.dumps(body).encode()
    head = "".join(f"{key}: {value}\r\n" for key, value in web.headers(Content_Length=str(len(data))).items())
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    one.connect(("127.0.0.1", web.port))
    one.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + data)
    return one


def test_unread_answers(web):
    """Answers that nobody reads, up to what may wait: then nothing more is begun, until somebody reads or goes."""
    web.hello()
    run = web.ask("tools/call", name="sandbox_run", arguments={"script": "head -c 3900000 /dev/zero | tr '\\0' x"})
    uri = f"aisbx://runs/{run['result']['structuredContent']['run_id']}/log"
    read = {"jsonrpc": "2.0", "method": "resources/read", "params": {"uri": uri}}
    stuck = []

    def is_full():
        if len(stuck) < 40:
            stuck.append(stuck_reader(web, {**read, "id": 7000 + len(stuck)}))
        return web.post({"jsonrpc": "2.0", "id": 1, "method": "ping"})[0] == 503
    tap.ok(until(is_full), f"{len(stuck)} answers of 4 MB that nobody reads: no more is begun", len(stuck))
    tap.ok(len(stuck) >= 16, "not before 64 MiB", len(stuck))
    for one in stuck:
        one.close()
    tap.ok(until(lambda: web.post({"jsonrpc": "2.0", "id": 1, "method": "ping"})[0] == 200), "when they have gone, all is as before")


def test_unread_stream(web):
    """A stream that is not read: what does not fit is left out, event by event, and the rest is whole."""
    web.hello()
    stream = Stream(web, receive_bytes=4096)
    with open("/proc/sys/net/ipv4/tcp_wmem") as file:
        kernel_keeps = int(file.read().split()[2])
    # Each call makes at least one event as large as the token it brings, and answers in JSON alone.
    token = "t" * (1 << 20)
    calls = kernel_keeps // len(token) + 8

    def call(number):
        web.post({"jsonrpc": "2.0", "id": 8000 + number, "method": "tools/call", "params": {
            "name": "sandbox_run", "arguments": {"script": "sleep 5"}, "_meta": {"progressToken": token}}}, Accept="application/json")
    threads = [threading.Thread(target=call, args=(number,)) for number in range(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tap.equal(web.ask("ping").get("result"), {}, "nobody waits for it")
    web.request("DELETE")
    got = []
    while (found := stream.next()) is not None:
        got.append(found)
    tap.ok(got and all(one["params"]["progressToken"] == token for one in got), "what is in it is whole", len(got))
    tap.ok(len(got) < calls, f"{len(got)} events were kept for it, of at least {calls}", len(got))
    stream.connection.close()


def test_sessions(web):
    """As many sessions as are kept, and more: the oldest that nobody uses goes, one that is in use stays."""
    web.session = None
    names = []
    for _ in range(2):
        names.append(web.post(HELLO)[1]["Mcp-Session-Id"])
    with Stream(web, Mcp_Session_Id=names[0]) as stream:
        tap.equal(stream.status, 200, "the oldest has a stream")
        for _ in range(SESSIONS_MAX):
            names.append(web.post(HELLO)[1]["Mcp-Session-Id"])
        status = {name: web.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}, Mcp_Session_Id=name)[0] for name in names}
        tap.equal(status[names[0]], 200, "and outlives all others")
        tap.equal(status[names[1]], 404, "the next one has gone")
        tap.equal([status[name] for name in names[-(SESSIONS_MAX - 2):]], [200] * (SESSIONS_MAX - 2), "the youngest are there")
    found = messages(web.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": MODERN}},
                              MCP_Protocol_Version="2026-07-28", Mcp_Session_Id=None)[2])
    tap.ok("result" in found[0], "who needs none is served", found)


def crowd(web, count, data):
    """COUNT connections, each of which sends DATA and nothing more."""
    found = []
    for _ in range(count):
        one = socket.create_connection(("127.0.0.1", web.port), timeout=patience(60))
        found.append(one)
        try:
            one.sendall(data)
        except OSError:
            pass
    return found


def is_open(one):
    one.setblocking(False)
    try:
        while one.recv(65536):
            pass
        return False
    except BlockingIOError:
        return True
    except OSError:
        return False


def trickle(web, stop):
    """Half a header, a byte at a time; whether the server ends it."""
    one = socket.create_connection(("127.0.0.1", web.port), timeout=patience(60))
    one.sendall(b"POST /mcp HTTP/1.1\r\nX-Slow: ")
    while not stop.wait(0.2):
        try:
            one.sendall(b"x")
        except OSError:
            return True
    return False


def test_idle_connections(web):
    """More connections than the server has, that say nothing, or half a header, or are refused: clients are served."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, HARD_NOFILE), HARD_NOFILE))
    web.hello()
    ended, stop = [], threading.Event()
    slow_one = threading.Thread(target=lambda: ended.append(trickle(web, stop)))
    slow_one.start()
    kept = http.client.HTTPConnection("127.0.0.1", web.port, timeout=240)

    def ask_on_kept():
        kept.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}), web.headers())
        return kept.getresponse().read()
    tap.ok(b"result" in ask_on_kept(), "a client keeps its connection")
    mine = kept.sock
    with Stream(web) as stream:
        for name, data in (("say nothing", b""), ("send half a header", b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half: "),
                           ("have no token", b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\nhalf")):
            idle = crowd(web, CONNECTIONS_TRIED, data)
            tap.equal(web.ask("ping").get("result"), {}, f"{len(idle)} that {name}: a new client has its answer")
            left = sum(map(is_open, idle))
            tap.ok(left <= CONNECTIONS_MAX, f"{name}: at most {CONNECTIONS_MAX} are kept", left)
            for one in idle:
                one.close()
            # Silent for too long, it would be ended for that.
            tap.ok(b"result" in ask_on_kept() and kept.sock is mine, f"{name}: a client that was served before is still connected")
        tap.ok(is_open(stream.connection.sock or stream.response.fp.raw._sock), "and so is an open stream")
    with socket.create_connection(("127.0.0.1", web.port), timeout=120) as silent:
        tap.equal(silent.recv(1), b"", "a connection that says nothing is ended")
    tap.ok(until(lambda: ended), "so is one that sends its header byte by byte")
    stop.set()
    slow_one.join()
    tap.equal(ended, [True], "by the server")
    kept.close()


with Home("mcp-bounds-") as home:
    for test in (test_messages, test_calls, test_questions, test_unread_output, test_logs):
        tap.attempt(test, home)
    with Web(home) as web:
        for test in ((test_unread_answers, web), (test_unread_stream, web), (test_sessions, web),
                     (test_idle_connections, web)):
            tap.attempt(*test)
        tap.equal(web.process.poll(), None, "the server lives")
sys.exit(tap.done())
