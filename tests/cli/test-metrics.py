#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figures for Prometheus: printed by stats, served by the daemon, read by a real Prometheus.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, with a home of its own; root has no daemon. With the word
"real" as argument it runs only what needs Prometheus itself.
"""

import contextlib
import http.client
import json
import os
import re
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import patience  # noqa: E402
from clitest import AISBX, Home, Tap, free_port  # noqa: E402

tap = Tap()
SOURCE = os.environ["AISBX_SOURCE"]
SECRET = "tripwire-7f3a"


def figures(text):
    """{name{labels}: value} of a text in Prometheus' form; every line of it has to be understood."""
    found = {}
    for line in text.splitlines():
        if not re.match(r"# (HELP|TYPE) aisbx_[a-z_]+ ", line):
            name, labels, value = re.fullmatch(r'(aisbx_[a-z_]+)(\{[a-z]+="[^"\\\n]*"(?:,[a-z]+="[^"\\\n]*")*\})? ([0-9.]+)', line).groups()
            found[name + (labels or "")] = float(value)
    return found


def printed(home):
    return figures(home.call("stats", "--prometheus").stdout)


def database(home):
    return contextlib.closing(sqlite3.connect(home.path + "/.local/state/aisbx/history.db", isolation_level=None))


class Daemon:
    """A daemon that serves figures, in the foreground; where they are is the first thing it says."""

    def __init__(self, home, *flags):
        self.home = home
        self.process = subprocess.Popen([AISBX, "daemon", "--pool", "1", "--metrics", "127.0.0.1:0", *flags], cwd=home.work,
                                        env=home.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = self.process.stderr.readline()
        self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)/metrics", said)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate(timeout=patience(60))

    def get(self, path="/metrics", method="GET", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def counts(self):
        return figures(self.get()[1])

    def status(self):
        return self.home.data("daemon", "status")


def make_some(home):
    """A run of each kind, with words in every place that must not be shown."""
    home.call("run", "--trace", SECRET, "--", "true", SECRET)
    home.call("run", "--trace", SECRET, "--", "sh", "-c", f"mount -t tmpfs {SECRET} /mnt; exit 3")
    home.call("run", "--time", "200ms", "--", "sleep", "600")
    home.call("create", SECRET)
    home.call("exec", SECRET, "--", "touch", SECRET)
    home.call("promote", SECRET)
    home.put("made", "host\n")
    home.call("undo")


def test_printed(home):
    make_some(home)
    found = printed(home)
    tap.equal([found.get(f'aisbx_runs_total{{status="{status}"}}') for status in ("success", "error", "timeout")], [2, 1, 1],
              "runs by how they ended")
    tap.equal(found.get('aisbx_start_seconds_count{start="cold"}'), 3, "starts in a histogram")
    tap.equal(found.get('aisbx_start_seconds_bucket{start="cold",le="+Inf"}'), 3, "whose last bucket has all")
    tap.equal(found.get('aisbx_limits_total{limit="time"}'), 1, "limits by kind")
    tap.ok(found.get('aisbx_denials_total{layer="seccomp"}', 0) >= 1, "refusals by layer", found)
    tap.equal((found.get('aisbx_promotions_total{outcome="applied"}'), found.get('aisbx_promotions_total{outcome="undone"}')), (1, 1),
              "promotions")
    tap.equal((found.get('aisbx_agent_runs_total{steps="1",outcome="success"}'),
               found.get('aisbx_agent_runs_total{steps="2-3",outcome="failure"}')), (1, 1), "an agent's steps")
    tap.ok(found.get("aisbx_store_bytes", 0) > 0 and found.get("aisbx_running") == 0, "the store's room, and what runs", found)
    text = home.call("stats", "--prometheus").stdout
    tap.ok(SECRET not in text and home.path not in text, "no argument, name, trace or path", text)
    for words in (("--prometheus", "--json"), ("--prometheus", "--since", "1h"), ("--serve",)):
        done = home.call("stats", *words)
        tap.equal(done.returncode, 2, f"stats {' '.join(words)} is a mistake")


def test_missing(home):
    """A daemon that lies alone: what it cannot serve is refused, and not tried for ever."""
    shutil.copy(os.path.join(os.path.dirname(os.path.realpath(AISBX)), "aisbx-full"), home.path + "/aisbx-full")
    for flag in ("--metrics", "--http"):
        done = subprocess.run([home.path + "/aisbx-full", "daemon", flag, "127.0.0.1:0"], cwd=home.work, env=home.env, timeout=120,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        tap.ok(done.returncode not in (0, 2) and f"{flag} needs aisbx-http" in done.stderr, f"{flag} without aisbx-http is refused", done)
    os.unlink(home.path + "/aisbx-full")


def test_hostile(home):
    """A record that holds other words than ours: they come into no label, and many of them into one."""
    with database(home) as db:
        for number, status in enumerate(['x"} 1\nevil 2', "x" * 400, "\x1b[31m", "", *(f"word{n}" for n in range(100))]):
            db.execute("INSERT INTO runs(run_id,command,started_ms,status,duration_ms,start_ms,limits,trace_id)"
                       " VALUES(?,'[]',1,?,-5,'x','{bad','one')",
                       (f"02{number:024d}", status))
            db.execute("INSERT INTO journal(kind,key) VALUES(2,?)", (f"02{number:024d}",))
    text = home.call("stats", "--prometheus").stdout
    found = figures(text)
    labels = [name for name in found if name.startswith("aisbx_runs_total")]
    tap.ok(found['aisbx_runs_total{status="other"}'] >= 4 and len(labels) <= 33 and "evil" not in text, "strange words are one", text[:500])
    tap.equal(sum(found[name] for name in labels), 4 + 104, "and nothing is lost")


def test_served(home):
    with Daemon(home) as daemon:
        before = daemon.counts()
        tap.equal({key: value for key, value in before.items() if key.startswith("aisbx_runs")},
                  {key: value for key, value in printed(home).items() if key.startswith("aisbx_runs")}, "the same as printed")
        home.call("run", "--", "true", "--no-such-thing")
        key = 'aisbx_runs_total{status="success"}'
        end = time.monotonic() + patience(60)
        while (after := daemon.counts())[key] <= before[key] and time.monotonic() < end:
            time.sleep(0.1)
        tap.equal(after[key], before[key] + 1, "a run that came since is counted")
        # A call that the daemon does not answer in time goes on by itself, and is neither.
        while (after := daemon.counts())["aisbx_pool_hits_total"] + after["aisbx_pool_misses_total"] < 1 and time.monotonic() < end:
            home.call("run", "--", "true")
        tap.ok(after["aisbx_pool_size"] == 1 and after["aisbx_pool_hits_total"] + after["aisbx_pool_misses_total"] >= 1,
               "with the daemon's own figures", after)
        tap.equal([daemon.get("/")[0], daemon.get("/metrics/x")[0], daemon.get(method="POST")[0]], [404, 404, 405], "nothing else is served")
        tap.equal([daemon.get(Host="evil.example:80")[0], daemon.get(Host="127.0.0.1.evil.example")[0],
                   daemon.get(Origin="http://evil.example")[0], daemon.get(Host="localhost")[0]], [403, 403, 403, 200],
                  "no other name leads here, and no page")
        tap.ok(SECRET not in daemon.get()[1], "counts only")
        test_crowd(daemon)
        helper = next(row for row in daemon.status()["helpers"] if row["name"] == "metrics")
        os.kill(helper["pid"], signal.SIGKILL)
        tap.equal(daemon.get()[0], 200, "killed, it is started anew, and the next caller is served")
        record = home.path + "/.local/state/aisbx/history.db"
        for name in (record, record + "-wal", record + "-shm"):
            with contextlib.suppress(OSError):
                os.rename(name, name + ".kept")
        with open(record, "w") as out:
            out.write("no database\n" * 1000)
        os.kill(next(row for row in daemon.status()["helpers"] if row["name"] == "metrics")["pid"], signal.SIGKILL)
        tap.equal(daemon.get(), (503, ""), "a record that cannot be read: no figures, no reason, no waiting")
        os.unlink(record)
        os.rename(record + ".kept", record)
        tap.equal(daemon.get()[0], 200, "and figures again once it can")
        pid = next(row for row in daemon.status()["helpers"] if row["name"] == "metrics")["pid"]
        helper = os.pidfd_open(pid)
    tap.ok(select.select([helper], [], [], 60)[0], "and it ends with the daemon")
    os.close(helper)
    for address in ("0.0.0.0:9", "192.0.2.1:9", "9464", "127.0.0.1:99999", "evil.example:80"):
        tap.equal(home.call("daemon", "--metrics", address).returncode, 2, f"{address} is refused")


def test_crowd(daemon):
    """Silent ones, half a request, and ones that never read: the next is served all the same."""
    crowd = []
    for number in range(1000):
        with contextlib.suppress(OSError):
            one = socket.create_connection(("127.0.0.1", daemon.port), timeout=patience(60))
            one.sendall((b"", b"GET /metr", b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")[number % 3])
            crowd.append(one)
    tap.equal(daemon.get()[0], 200, f"served beside {len(crowd)} others")
    for one in crowd:
        one.close()


def test_many(home):
    """With 100,000 runs on record a scrape reads what is new."""
    with database(home) as db:
        db.execute("BEGIN")
        db.executemany("INSERT INTO runs(run_id,command,started_ms,status,duration_ms,start_ms,start) VALUES(?,'[]',1,'success',1.5,4,'cold')",
                       ((f"03{number:024d}",) for number in range(100000)))
        db.executemany("INSERT INTO journal(kind,key) VALUES(2,?)", ((f"03{number:024d}",) for number in range(100000)))
        db.execute("COMMIT")
    with Daemon(home) as daemon:
        began = time.monotonic()
        first = daemon.counts()
        middle = time.monotonic()
        time.sleep(1.1)  # longer than an answer is kept
        again = time.monotonic()
        daemon.get()
        print(f"# first scrape {middle - began:.2f} s, the next {time.monotonic() - again:.3f} s")
        tap.ok(first['aisbx_runs_total{status="success"}'] >= 100000, "100,000 runs are counted")
        tap.ok(first.get("aisbx_store_bytes", 0) > 0, "and however long that takes, the store is measured", first)


def test_dashboard(home):
    """Each figure that the dashboard names is one that there is."""
    with open(SOURCE + "/contrib/grafana/aisbx.json") as file:
        board = json.load(file)
    named = set(re.findall(r"aisbx_[a-z_]+", " ".join(target["expr"] for panel in board["panels"] for target in panel["targets"])))
    text = home.call("stats", "--prometheus").stdout
    with open(SOURCE + "/src/app/pool/metrics.c") as file:
        known = set(re.findall(r'"(aisbx_[a-z_]+)"', file.read())) | set(re.findall(r"^# TYPE (\S+)", text, re.M))
    tap.equal({re.sub("_(bucket|sum|count)$", "", name) for name in named} - known, set(), f"{len(named)} figures of the dashboard exist")
    tap.ok(len(named) > 12 and len({panel["id"] for panel in board["panels"]}) == len(board["panels"]), "and it shows them")


def test_promtool(home):
    done = subprocess.run(["promtool", "check", "metrics"], input=home.call("stats", "--prometheus").stdout, capture_output=True,
                          text=True, check=False)
    tap.ok(done.returncode == 0 and not done.stderr, "promtool has no objection", done)


def ask(port, query):
    with contextlib.suppress(OSError, ValueError):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?query={query}", timeout=patience(10)) as answer:
            return json.load(answer)["data"]["result"]
    return []


def test_prometheus(home):
    """A real one scrapes the daemon."""
    port = free_port()
    with Daemon(home) as daemon:
        with open(home.path + "/prometheus.yml", "w") as out:
            out.write("global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: aisbx\n  static_configs:\n"
                      f"  - targets: ['127.0.0.1:{daemon.port}']\n")
        server = subprocess.Popen(["prometheus", f"--config.file={home.path}/prometheus.yml", f"--storage.tsdb.path={home.path}/tsdb",
                                   f"--web.listen-address=127.0.0.1:{port}"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, cwd=home.path)
        try:
            until = time.monotonic() + patience(60)
            while not (got := ask(port, "sum(aisbx_runs_total)")) and time.monotonic() < until and server.poll() is None:
                select.select([], [], [], 0.5)
            tap.ok(got and float(got[0]["value"][1]) >= 4, "a real Prometheus has scraped it", got or server.poll())
            tap.ok(ask(port, 'up{job="aisbx"}')[0]["value"][1] == "1", "and calls it up")
        finally:
            server.terminate()
            server.communicate(timeout=patience(60))


def main():
    is_real = "real" in sys.argv[1:]
    with Home("aisbx-test-metrics-") as home:
        if not home.can_run(tap, "figures of runs"):
            return tap.done()
        home.call("gc", "--age", "1ms")
        if is_real:
            make_some(home)
            if not shutil.which("promtool") or not shutil.which("prometheus"):
                tap.skip("a real Prometheus", "the package prometheus is not installed: tools/setup ci")
                return tap.done()
            tap.attempt(test_promtool, home)
        else:
            tap.attempt(test_printed, home)
            tap.attempt(test_hostile, home)
            tap.attempt(test_missing, home)
            tap.attempt(test_dashboard, home)
        if os.geteuid() == 0:
            tap.equal(home.call("daemon", "--metrics", "127.0.0.1:0").returncode, home.call("daemon").returncode,
                      "root has no daemon, nor figures of one")
            return tap.done()
        for test in [test_prometheus] if is_real else [test_served, test_many]:
            tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
