#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Spans of runs: sent to a collector that checks every field against what OTLP's JSON form asks for.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, with a home of its own.
"""

import contextlib
import json
import os
import re
import select
import shutil
import signal
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import patience  # noqa: E402
from clitest import AISBX, Home, Tap  # noqa: E402
from collector import Collector, is_attribute  # noqa: E402
from family import until  # noqa: E402

tap = Tap()
SECRET = "tripwire-7f3a"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
PARTS = ["queue", "plan", "start", "command", "teardown"]
# opentelemetry-proto, trace/v1: the fields of a span and their form in JSON. Ids are hex, 64-bit numbers text, enums numbers.
SPAN = {
    "traceId": lambda v: re.fullmatch("[0-9a-f]{32}", v) and v != "0" * 32,
    "spanId": lambda v: re.fullmatch("[0-9a-f]{16}", v) and v != "0" * 16,
    "parentSpanId": lambda v: re.fullmatch("[0-9a-f]{16}", v),
    "name": lambda v: isinstance(v, str) and v,
    "kind": lambda v: type(v) is int and 0 <= v <= 5,
    "startTimeUnixNano": lambda v: isinstance(v, str) and 10 ** 18 < int(v) < 10 ** 19,
    "endTimeUnixNano": lambda v: isinstance(v, str) and 10 ** 18 < int(v) < 10 ** 19,
    "attributes": lambda v: all(is_attribute(one) for one in v),
    "status": lambda v: set(v) <= {"code", "message"} and v["code"] in (0, 1, 2),
}


def spans_of(body):
    """The spans of one message; anything that the schema does not have is an error."""
    message = json.loads(body)
    assert set(message) == {"resourceSpans"}
    found = []
    for resource in message["resourceSpans"]:
        assert set(resource) == {"resource", "scopeSpans"} and all(is_attribute(one) for one in resource["resource"]["attributes"])
        for scope in resource["scopeSpans"]:
            assert set(scope) == {"scope", "spans"} and scope["scope"] == {"name": "aisbx"}
            for span in scope["spans"]:
                assert set(span) <= set(SPAN) and {"traceId", "spanId", "name", "startTimeUnixNano", "endTimeUnixNano"} <= set(span)
                assert all(SPAN[key](value) for key, value in span.items()), span
                assert int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]), span
                found.append(span)
    return found


def send_all(home, collector, *words, **env):
    done = home.call("events", "--otlp", collector.url, *words, **env)
    return done, collector.take_all()


def test_spans(home, collector):
    home.call("run", "--trace", "agent", "--", "true", SECRET)
    home.call("run", "--trace", "agent", "--", "sh", "-c", "exit 3")
    home.call("run", "--", "true", AISBX_TRACEPARENT=PARENT)
    home.call("run", "--", "true", AISBX_TRACEPARENT="00-" + "0" * 32 + "-b7ad6b7169203331-01")
    done, messages = send_all(home, collector, OTEL_EXPORTER_OTLP_HEADERS="Authorization=Basic%20QWxh%22%2c, x-two =\t2 ,, x-none=",
                              OTEL_SERVICE_NAME="night\"shift", OTEL_RESOURCE_ATTRIBUTES=" deployment.environment = te%20st%C3%A9%2")
    tap.ok(done.returncode == 0 and done.stdout == "" and messages, "sent, and nothing printed", done)
    path, headers, body = messages[0]
    tap.equal((path, headers["Content-Type"], headers.get("Authorization"), headers.get("x-two"), headers.get("x-none")),
              ("/v1/traces", "application/json", "Basic QWxh\",", "2", ""), "as the variables say")
    spans = spans_of(body)
    roots = [span for span in spans if span["name"] == "run"]
    tap.ok(len(roots) == 4, "a span a run, by the schema", body)
    for root in roots:
        parts = [span for span in spans if span.get("parentSpanId") == root["spanId"]]
        tap.equal([span["name"] for span in parts], PARTS, "its parts below it")
        tap.ok(all(span["traceId"] == root["traceId"] for span in parts)
               and root["startTimeUnixNano"] == parts[0]["startTimeUnixNano"]
               and all(a["endTimeUnixNano"] == b["startTimeUnixNano"] for a, b in zip(parts, parts[1:])), "one behind the other", parts)
    tap.equal([root["status"]["code"] for root in roots], [1, 2, 1, 1], "ended well, or not")
    tap.ok(roots[0]["traceId"] == roots[1]["traceId"] != roots[3]["traceId"], "runs of one trace id are one trace")
    tap.equal((roots[2]["traceId"], roots[2]["parentSpanId"]), tuple(PARENT.split("-")[1:3]), "a traceparent is continued")
    tap.ok("parentSpanId" not in roots[3], "one that is none is not")
    tap.ok(SECRET not in body and home.path not in body, "no argument and no path")
    attributes = {one["key"]: one["value"]["stringValue"] for one in json.loads(body)["resourceSpans"][0]["resource"]["attributes"]}
    tap.equal(attributes, {"service.name": "night\"shift", "deployment.environment": "te sté%2"}, "who sends it")
    _, again = send_all(home, collector)
    tap.equal([span["spanId"] for span in spans_of(again[0][2])], [span["spanId"] for span in spans], "sent twice it is the same")


def test_mcp(home, collector):
    """A client's traceparent goes on."""
    last = home.rows("events")[-1]["id"]
    lines = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "sandbox_run", "arguments": {"command": ["true"]}, "_meta": {"traceparent": PARENT}}}]
    server = subprocess.Popen([AISBX, "mcp"], cwd=home.work, env=home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    server.stdin.write("".join(json.dumps(line) + "\n" for line in lines))
    server.stdin.flush()
    for line in server.stdout:
        if json.loads(line).get("id") == 2:
            break
    server.communicate()
    _, messages = send_all(home, collector, "--since", last)
    roots = [span for span in spans_of(messages[0][2]) if span["name"] == "run"]
    tap.equal([(root["traceId"], root["parentSpanId"]) for root in roots], [tuple(PARENT.split("-")[1:3])], "from MCP, too")


def test_refused(home, collector):
    for url in ("http://192.0.2.1:4318", "http://evil.example", "ftp://127.0.0.1", "https://u:p@host", "file:///etc/passwd", "",
                "http://127.0.0.1:1/\n-o x", "http://localhost@192.0.2.1/", "env"):
        tap.equal(home.call("events", "--otlp", url).returncode, 2, f"{url[:30]!r} is refused")
    for number, wrong in enumerate(("bad", "=x", "a b=x", "a=\n", "a=%0d%0aEvil: 1", "a=%00", "a%0a=1", "@/etc/hostname=", "a=\x7f")):
        name = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_RESOURCE_ATTRIBUTES")[number % 3]
        done, messages = send_all(home, collector, **{name: f"k={SECRET}," + wrong})
        tap.ok(done.returncode == 2 and name in done.stderr and "part 2" in done.stderr and SECRET not in done.stderr and not messages,
               f"{wrong!r} among the pairs is refused", done)
    last = home.rows("events")[-3]["id"]
    collector.answers = [503, 200]
    done, messages = send_all(home, collector, "--since", last)
    tap.ok(len(messages) == 2 and not done.stderr, "what was not taken is sent again", done)
    lead = lambda request: (request.send_response(307), request.send_header("Location", collector.url + "/other"), request.end_headers())  # noqa: E731
    collector.answers = [500, 500, 500, lead]
    done, messages = send_all(home, collector, "--since", last)
    tap.ok(len(messages) == 4 and "did not take" in done.stderr and done.returncode == 0, "and given up, with a word", done)
    tap.ok({message[0] for message in messages} == {"/v1/traces"} and "307" in done.stderr, "nor has one taken them that says to send elsewhere", done)


def ids_of(messages):
    return {one["value"]["stringValue"] for message in messages for span in spans_of(message[2]) if span["name"] == "run"
            for one in span["attributes"] if one["key"] == "aisbx.run_id"}


def run_one(home):
    home.call("run", "--", "true")
    return [row["run_id"] for row in home.rows("events") if row["event"] == "ended"][-1]


def test_large(home, collector):
    """A message is as long as its runs make it."""
    last = home.rows("events")[-1]["id"]
    with contextlib.closing(sqlite3.connect(home.path + "/.local/state/aisbx/history.db")) as db, db:
        body = json.loads(db.execute("SELECT body FROM results ORDER BY run_id DESC").fetchone()[0])
        for number in range(600):
            body["sandbox"] = "s" * 1000
            body["run_id"] = f"04{number:024d}"
            db.execute("INSERT INTO runs(run_id,command,started_ms,status) VALUES(?,'[]',1,'success')", (body["run_id"],))
            db.execute("INSERT INTO results(run_id,body) VALUES(?,?)", (body["run_id"], json.dumps(body)))
            db.execute("INSERT INTO journal(kind,key) VALUES(2,?)", (body["run_id"],))
    done, messages = send_all(home, collector, "--since", last)
    longest = max(len(message[2]) for message in messages)
    tap.ok(longest > 150000, "one message is longer than a line of curl's configuration", (longest, done))
    tap.equal(len(ids_of(messages)), 600, "and all of them arrive")


def test_sent(home, collector):
    """Each run once, from one call to the next."""
    known = {row["run_id"] for row in home.rows("events") if row["event"] == "ended"}
    done, messages = send_all(home, collector, "--since", "sent")
    tap.ok(done.returncode == 0 and ids_of(messages) == known, "a new collector has all", done)
    _, messages = send_all(home, collector, "--since", "sent")
    tap.equal(messages, [], "nothing twice")
    home.call("run", "--", "true")
    _, messages = send_all(home, collector, "--since", "sent")
    tap.equal(len(ids_of(messages)), 1, "and what came since")
    tap.equal(home.call("events", "--since", "sent").returncode, 2, "only a collector was sent something")


def test_daemon(home, collector):
    daemon = subprocess.Popen([AISBX, "daemon", "--pool", "1", "--otlp", "env"], cwd=home.work, stdin=subprocess.DEVNULL,
                              env={**home.env, "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url + "/", "OTEL_METRICS_EXPORTER": "none"})

    def helpers():
        """Asked in vain for as long as the verb waits, a busy daemon is asked again."""
        found = {}
        until(lambda: found.update(home.data("daemon", "status")) or found)
        return {row["name"]: row["pid"] for row in found.get("helpers", ())}

    try:
        # It begins with what comes once it follows: some run finds it ready.
        while collector.got.empty() and daemon.poll() is None:
            home.call("run", "--", "true")
        tap.ok(spans_of(collector.take()[2]), "the daemon sends what ends")
        before = helpers()
        home.call("daemon", "reload")
        tap.equal(helpers(), before, "a reload ends no helper")
        # All that came before it is sent when this one is.
        mark = run_one(home)
        while mark not in ids_of([collector.take()]):
            pass
        sender = os.pidfd_open(before["otlp"])
        os.kill(before["otlp"], signal.SIGSTOP)
        lost = {run_one(home) for _ in range(3)}
        signal.pidfd_send_signal(sender, signal.SIGKILL)
        select.select([sender], [], [], patience(60))
        os.close(sender)
        while lost and daemon.poll() is None:
            lost -= ids_of([collector.take()])
        tap.equal(lost, set(), "what ended while the sender was dead is sent by the next")
    finally:
        daemon.terminate()
        daemon.wait(patience(60))


def main():
    with Home("aisbx-test-otlp-") as home:
        if not shutil.which("curl"):
            tap.skip("spans", "curl is not installed")
        elif home.can_run(tap, "spans of runs"):
            home.call("gc", "--age", "1ms")
            collector = Collector()
            for test in (test_spans, test_mcp, test_refused, test_large, test_sent, *([test_daemon] if os.geteuid() else [])):
                tap.attempt(test, home, collector)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
