#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figures as OpenTelemetry's metrics: sent to a collector that checks every field against what OTLP's JSON form asks for, and the
same as in Prometheus' text.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, with a home of its own; root has no daemon.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import patience  # noqa: E402
from clitest import AISBX, Home, Tap, free_port  # noqa: E402
from collector import Collector, is_attribute  # noqa: E402
from family import until  # noqa: E402

tap = Tap()
SECRET = "tripwire-7f3a"
# What changes by itself from one look to the next.
RESTLESS = "aisbx_(store|pool|queued|queue_refused|running_max)"
COUNT = lambda v: isinstance(v, str) and re.fullmatch("0|[1-9][0-9]*", v) and int(v) < 2 ** 63  # noqa: E731
TIME = lambda v: COUNT(v) and 10 ** 18 < int(v) < 10 ** 19  # noqa: E731
NUMBER = lambda v: type(v) in (int, float)  # noqa: E731
# opentelemetry-proto, metrics/v1: the fields of what is sent and their form in JSON. 64-bit numbers are text, enums numbers.
POINT = {"attributes": lambda v: all(is_attribute(one) for one in v) and len({one["key"] for one in v}) == len(v), "timeUnixNano": TIME}
GROWS = {**POINT, "startTimeUnixNano": TIME}
POINTS = {"gauge": {**POINT, "asInt": COUNT}, "sum": {**GROWS, "asInt": COUNT},
          "histogram": {**GROWS, "count": COUNT, "sum": NUMBER, "bucketCounts": lambda v: all(COUNT(one) for one in v),
                        "explicitBounds": lambda v: all(NUMBER(one) for one in v) and v == sorted(set(v))}}
BESIDE = {"gauge": {}, "sum": {"aggregationTemporality": 2, "isMonotonic": True}, "histogram": {"aggregationTemporality": 2}}


def points_of(body):
    """[(name, kind, point)] of one message; anything that the schema does not have, or that it asks for in vain, is an error."""
    message = json.loads(body)
    assert set(message) == {"resourceMetrics"}
    found = []
    for resource in message["resourceMetrics"]:
        assert set(resource) == {"resource", "scopeMetrics"} and all(is_attribute(one) for one in resource["resource"]["attributes"])
        for scope in resource["scopeMetrics"]:
            assert set(scope) == {"scope", "metrics"} and scope["scope"] == {"name": "aisbx"}
            for metric in scope["metrics"]:
                kind, = set(metric) & set(POINTS)
                assert set(metric) - {kind, "unit"} == {"name", "description"} and all(isinstance(metric[key], str) for key in metric if key != kind)
                assert {key: value for key, value in metric[kind].items() if key != "dataPoints"} == BESIDE[kind], metric
                assert metric[kind]["dataPoints"], metric
                for point in metric[kind]["dataPoints"]:
                    assert set(point) == set(POINTS[kind]) and all(POINTS[kind][key](value) for key, value in point.items()), point
                    assert int(point.get("startTimeUnixNano", 0)) <= int(point["timeUnixNano"]), point
                    found.append((metric["name"], kind, point))
    names = [(name, json.dumps(point["attributes"])) for name, _, point in found]
    assert len(set(names)) == len(names), names
    return found


def as_text(body):
    """A message as lines of Prometheus' text form."""
    lines = []
    for name, kind, point in points_of(body):
        labels = [f'{one["key"]}="{one["value"]["stringValue"]}"' for one in point["attributes"]]
        named = lambda suffix, *more: name + suffix + ("{" + ",".join([*labels, *more]) + "}" if labels or more else "")  # noqa: B023, E731
        if kind != "histogram":
            lines.append(f"{named('')} {point['asInt']}")
            continue
        counts = [int(one) for one in point["bucketCounts"]]
        assert len(counts) == len(point["explicitBounds"]) + 1 and sum(counts) == int(point["count"]), point
        for at, bound in enumerate([*(f"{one:g}" for one in point["explicitBounds"]), "+Inf"]):
            le = f'le="{bound}"'
            lines.append(f"{named('_bucket', le)} {sum(counts[:at + 1])}")
        lines += [f"{named('_sum')} {point['sum']:.6f}", f"{named('_count')} {point['count']}"]
    return lines


def of_record(lines):
    return [line for line in lines if not line.startswith("#") and not re.match(RESTLESS, line)]


def printed(home):
    return home.call("stats", "--prometheus").stdout.splitlines()


def send(home, collector, *words, **env):
    done = home.call("stats", "--otlp", collector.url, *words, **env)
    return done, collector.take_all()


def test_sent(home, collector):
    home.call("run", "--trace", SECRET, "--", "true", SECRET)
    home.call("run", "--trace", SECRET, "--", "sh", "-c", f"mount -t tmpfs {SECRET} /mnt; exit 3")
    home.call("run", "--time", "200ms", "--", "sleep", "600")
    home.call("create", SECRET)
    home.call("exec", SECRET, "--", "touch", SECRET)
    home.call("promote", SECRET)
    done, messages = send(home, collector, OTEL_SERVICE_NAME="night", OTEL_EXPORTER_OTLP_HEADERS="x-both=1",
                          OTEL_EXPORTER_OTLP_METRICS_HEADERS="x-mine=2", OTEL_EXPORTER_OTLP_TRACES_HEADERS="x-spans=3")
    tap.ok(done.returncode == 0 and done.stdout == done.stderr == "" and len(messages) == 1, "sent, and nothing printed", done)
    path, headers, body = messages[0]
    tap.equal((path, headers["Content-Type"], headers.get("x-mine"), headers.get("x-both"), headers.get("x-spans")),
              ("/v1/metrics", "application/json", "2", None, None), "as the variables say")
    tap.equal(of_record(as_text(body)), of_record(printed(home)), "by the schema, and the same as in Prometheus' text")
    tap.ok(SECRET not in body and home.path not in body, "no argument, name, trace or path", body)
    kinds = {name: kind for name, kind, _ in points_of(body)}
    tap.equal([kinds.get("aisbx_" + name) for name in ("runs_total", "run_seconds", "running", "store_bytes")],
              ["sum", "histogram", "gauge", "gauge"], "sums, histograms and gauges")
    starts = {point["startTimeUnixNano"] for _, kind, point in points_of(body) if kind != "gauge"}
    tap.equal(len(starts), 1, "all that is counted begins with the record")
    _, again = send(home, collector)
    tap.equal({point["startTimeUnixNano"] for _, kind, point in points_of(again[0][2]) if kind != "gauge"}, starts,
              "and so it does for the next process: no count begins anew")


def test_where(home, collector):
    """Addresses in variables."""
    tap.equal(home.call("stats", "--otlp", "env").returncode, 2, "env without an address is refused")
    tap.equal(home.call("stats", "--otlp", "env", OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=collector.url).returncode, 2, "and with that of spans")
    for env, path in (({"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url + "/base/"}, "/base/v1/metrics"),
                      ({"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url + "/{a,b}"}, "/{a,b}/v1/metrics"),
                      ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": collector.url + "/[1-3]"}, "/[1-3]"),
                      ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": collector.url + "/mine"}, "/mine")):
        home.call("stats", "--otlp", "env", **env)
        tap.equal([message[0] for message in collector.take_all()], [path], "sent to " + path)
    for words in (("--follow",), ("--otlp", collector.url, "--prometheus"), ("--otlp", collector.url, "--json"),
                  ("--otlp", collector.url, "--since", "1h"), ("--otlp", "http://192.0.2.1:4318"), ("--otlp", "file:///etc/passwd")):
        tap.equal(home.call("stats", *words).returncode, 2, f"stats {' '.join(words)[:40]} is a mistake")
    done, messages = send(home, collector, OTEL_EXPORTER_OTLP_METRICS_HEADERS=f"k={SECRET},bad")
    tap.ok(done.returncode == 2 and "OTEL_EXPORTER_OTLP_METRICS_HEADERS" in done.stderr and SECRET not in done.stderr and not messages,
           "what is no pair is refused", done)


def test_hostile(home, collector):
    """A record that holds other words than ours, and numbers that are none in JSON."""
    with contextlib.closing(sqlite3.connect(home.path + "/.local/state/aisbx/history.db", isolation_level=None)) as db:
        for number, (status, value) in enumerate([('"}],"evil":1', 1), ("x" * 400, 9e999), ("\x1b[31m", -9e999), ("ok", 1e300), ("ok", 0.5)]):
            db.execute("INSERT INTO runs(run_id,command,started_ms,status,duration_ms,queued_ms) VALUES(?,'[]',1,?,?,?)",
                       (f"02{number:024d}", status, value, value))
            db.execute("INSERT INTO journal(kind,key) VALUES(2,?)", (f"02{number:024d}",))
    _, messages = send(home, collector)
    tap.equal(of_record(as_text(messages[0][2])), of_record(printed(home)), "strange words are one, and numbers are numbers")
    tap.ok("evil" not in messages[0][2], "no word of the record is sent", messages)


def endless(request):
    request.send_response(200)
    request.end_headers()
    with contextlib.suppress(OSError):
        while True:
            request.wfile.write(b"x" * 65536)


def test_refused(home, _):
    """What is not taken is reported, after one attempt of bounded time; the next message has it all."""
    silent, elsewhere = threading.Event(), Collector()
    lead = lambda code: lambda request: (request.send_response(code), request.send_header("Location", elsewhere.url),  # noqa: E731
                                         request.end_headers())
    answers = {"a fault": (503, "503"), "a redirect": (lead(302), "302"), "one that keeps the method": (lead(308), "308"),
               "a redirect to nowhere": (300, "300"),
               "no HTTP": (lambda request: request.wfile.write(b"\0\xff nonsense\r\n\r\n"), "curl ended with")}
    for name, (answer, word) in answers.items():
        collector = Collector()
        collector.answers = [answer]
        done, messages = send(home, collector)
        tap.ok(done.returncode == 70 and "did not take figures" in done.stderr and word in done.stderr and len(messages) == 1,
               f"{name}: not taken, said, not tried again", done)
    for name, answer in (("an endless answer", endless), ("no answer", lambda _: silent.wait())):
        collector = Collector()
        collector.answers = [answer]
        done, _ = send(home, collector, OTEL_EXPORTER_OTLP_TIMEOUT="9999", OTEL_EXPORTER_OTLP_METRICS_TIMEOUT="500")
        tap.ok(done.returncode == 70 and "curl ended with 28" in done.stderr, f"{name}: given up", done)
    silent.set()
    done = home.call("stats", "--otlp", f"http://127.0.0.1:{free_port()}")
    tap.ok(done.returncode == 70 and "curl ended with 7" in done.stderr, "nobody there: said", done)
    tap.equal(elsewhere.take_all(), [], "and nothing was sent elsewhere")


def test_followed(home, collector):
    """Sent again and again; a collector that is slow keeps nothing waiting, and the end sends all once more."""
    silent = threading.Event()
    collector.answers = [200, lambda _: silent.wait()]
    sender = subprocess.Popen([AISBX, "stats", "--otlp", collector.url, "--follow"], cwd=home.work, stdin=subprocess.DEVNULL,
                              env={**home.env, "OTEL_METRIC_EXPORT_INTERVAL": "1"}, stderr=subprocess.PIPE, text=True)
    try:
        first = points_of(collector.take()[2])
        home.call("run", "--", "true")
        later = points_of(collector.take()[2])
        tap.ok(first and len(later) >= len(first), "sent twice", later)
        sender.terminate()
        last = collector.take()[2]
        said = sender.communicate(timeout=patience(60))[1]
        tap.equal((sender.returncode, said.count("\n")), (0, 1), "told to end while an answer is missing it ends")
        tap.equal(of_record(as_text(last)), of_record(printed(home)), "and its last message has everything")
    finally:
        silent.set()
        sender.kill()
        sender.communicate()


@contextlib.contextmanager
def daemon_with(home, **env):
    """A daemon that sends; its helpers."""
    daemon = subprocess.Popen([AISBX, "daemon", "--pool", "1", "--otlp", "env"], cwd=home.work, stdin=subprocess.DEVNULL,
                              env={**home.env, **env}, stderr=subprocess.DEVNULL)
    found = {}
    try:
        until(lambda: found.update(home.data("daemon", "status")) or found.get("running"))
        yield daemon, {row["name"] for row in found.get("helpers", ())}
    finally:
        daemon.terminate()
        daemon.wait(patience(60))


def test_daemon(home, collector):
    base = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
    mine = {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": collector.url}
    for env, senders in ((base, {"otlp", "otlp-metrics"}), (mine, {"otlp-metrics"}), ({**base, "OTEL_TRACES_EXPORTER": "none"}, {"otlp-metrics"}),
                         ({**base, "OTEL_METRICS_EXPORTER": "none"}, {"otlp"}), ({**base, "OTEL_METRICS_EXPORTER": "console, otlp"}, {"otlp", "otlp-metrics"})):
        with daemon_with(home, **env) as (_, helpers):
            tap.equal({name for name in helpers if name.startswith("otlp")}, senders, f"with {env} it starts {senders}")
    collector = Collector()
    with daemon_with(home, OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=collector.url, OTEL_METRIC_EXPORT_INTERVAL="1000"):
        home.call("run", "--no-daemon", "--", "true")
        wanted = of_record(printed(home))
        # One in which the daemon has answered: it may be busy.
        found = next((body for body in (collector.take()[2] for _ in range(1000))
                      if of_record(as_text(body)) == wanted and "aisbx_pool_size" in body), "")
    sizes = [point["asInt"] for name, _, point in points_of(found) if name == "aisbx_pool_size"]
    tap.equal(sizes, ["1"], "what the daemon sends has everything, and figures of its own")
    starts = {name: int(point["startTimeUnixNano"]) for name, kind, point in points_of(found) if kind != "gauge"}
    tap.ok(starts["aisbx_pool_hits_total"] > starts["aisbx_runs_total"], "which count from its start", starts)


class Deaf:
    """A port that takes connections into its queue and reads nothing."""

    def __enter__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        return f"http://127.0.0.1:{self.socket.getsockname()[1]}"

    def __exit__(self, *_):
        self.socket.close()


def test_deaf(home, _):
    """A daemon beside a collector that reads nothing does its work, and ends."""
    with Deaf() as url, daemon_with(home, OTEL_EXPORTER_OTLP_ENDPOINT=url, OTEL_METRIC_EXPORT_INTERVAL="1000") as (daemon, _):
        done = home.call("run", "--", "true")
        tap.ok(done.returncode == 0 and daemon.poll() is None, "runs go on", done)
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(patience(60))
        tap.ok(daemon.returncode is not None, "and it ends")


def main():
    with Home("aisbx-test-otlp-metrics-") as home:
        if not shutil.which("curl"):
            tap.skip("metrics", "curl is not installed")
        elif home.can_run(tap, "figures of runs"):
            home.call("gc", "--age", "1ms")
            collector = Collector()
            for test in (test_sent, test_where, test_followed, test_refused, test_hostile, *([test_daemon, test_deaf] if os.geteuid() else [])):
                tap.attempt(test, home, collector)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
