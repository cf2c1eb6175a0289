#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The record sent to a real PostgreSQL: each run once, whatever is killed; copies noticed; roles that can only add.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, with a home of its own.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import patience  # noqa: E402
from clitest import AISBX, Home, Tap, refused  # noqa: E402
import postgres  # noqa: E402

tap = Tap()
SECRET = "tripwire-7f3a-c0ffee"
ROUNDS = 200 if os.environ.get("AISBX_LONG") == "1" else 20
ROLES = """
create role aisbx_edge nologin; grant usage on schema aisbx to aisbx_edge; grant insert on aisbx.inbox to aisbx_edge;
grant execute on function aisbx.about(), aisbx.hello(uuid,text,text,text), aisbx.merge(uuid,text,bigint) to aisbx_edge;
create role aisbx_reader nologin; grant usage on schema aisbx to aisbx_reader; grant execute on function aisbx.about() to aisbx_reader;
grant select on aisbx.runs, aisbx.events, aisbx.denials to aisbx_reader;
create role laptop login in role aisbx_edge; create role thief login in role aisbx_edge; create role reader login in role aisbx_reader;
"""


def state(home):
    return home.path + "/.local/state/aisbx"


def database(home):
    return contextlib.closing(sqlite3.connect(state(home) + "/history.db", timeout=60, isolation_level=None))


def make_records(home, count, begin=0):
    """Runs as a fold would have left them; the program folds nothing that is not in the spool."""
    home.call("history")
    with database(home) as db:
        db.execute("BEGIN IMMEDIATE")
        for i in range(begin, begin + count):
            run_id = f"01K{os.path.basename(home.path)[-4:].upper()}{i:019d}"[:26]
            body = json.dumps({"run_id": run_id, "command": ["make", f"target-{i}"], "status": "success", "layers": ["user", "mount"],
                               "denials": [], "note": "tab\tnew\nline \\ backslash \u00e9 \U0001f600"})
            db.execute("INSERT INTO runs(run_id,command,workspace,driver,status,exit_code,started_ms,duration_ms,denials) VALUES(?,?,?,?,?,?,?,?,0)",
                       (run_id, json.dumps(["make", f"target-{i}"]), "/w", "linux", "success", 0, 1790000000000 + i, 1.5))
            db.execute("INSERT INTO results VALUES(?,?)", (run_id, body))
            db.execute("INSERT INTO journal(kind,key) VALUES(2,?)", (run_id,))
        db.execute("COMMIT")


def runs_there(home, url):
    return home.data("stats", "--from", url).get("runs")


def test_once(server):
    with Home("sync-cli.") as one, Home("sync-cli.") as two:
        if not one.can_run(tap, "runs to be synced"):
            return
        for code in range(4):
            one.call("run", "--", "sh", "-c", f"exit {code}")
        two.call("run", "--", "true")
        first = one.data("sync", "--to", server.url())
        tap.ok(first.get("sent") == first.get("added") == 5, "all runs are sent", first)
        tap.equal(one.data("sync", "--to", server.url()).get("sent"), 0, "and not again")
        with database(one) as db:
            db.execute("UPDATE edges SET acked=0")
        server.sql("update aisbx.edges set acked=0")
        again = one.data("sync", "--to", server.url())
        tap.equal((again.get("sent"), again.get("added")), (5, 0), "what is sent again adds nothing")
        two.call("sync", "--to", server.url())
        tap.equal(runs_there(one, server.url()), 6, "two machines, one record")
        rows = two.rows("history", "--from", server.url(), "--status", "error")
        tap.ok(len(rows) == 3 and {r["exit_code"] for r in rows} == {1, 2, 3} and all(r["host"] and r["edge"] for r in rows),
               "the history of all is asked from anywhere", rows)
        text = two.call("history", "--from", server.url(), "-n", "2")
        tap.ok(text.returncode == 0 and "HOST" in text.stdout and text.stdout.count("\n") == 3, "as a table", text)
        tap.equal(two.data("stats", "--from", server.url()).get("edges"), 2, "figures of all")
        one.call("create", "box")
        one.call("exec", "box", "--", "sh", "-c", "echo 1 > made")
        one.call("promote", "box")
        one.call("sync", "--to", server.url())
        events = server.sql("select string_agg(event, ' ' order by at_ms) from aisbx.events").split()
        tap.ok("create" in events and "promote" in events, "events come along", events)


def test_running(server):
    """What is under way is there as such, and its end replaces that."""
    with Home("sync-cli.") as home:
        fifo = home.work + "/fifo"
        os.mkfifo(fifo)
        child = subprocess.Popen([AISBX, "run", "--rw-through", f"{home.work}:{home.work}", "--", "sh", "-c", "echo on; read x"], cwd=home.work,
                                 env=home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        child.stdout.readline()
        home.call("sync", "--to", server.url())
        status = [r["status"] for r in home.rows("history", "--from", server.url())]
        child.communicate("\n", timeout=patience(60))
        if child.returncode == 125:
            tap.skip("a run under way", "no sandbox of that kind for this user")
            return
        tap.equal(status, ["running"], "a run that is under way")
        home.call("sync", "--to", server.url())
        tap.equal([r["status"] for r in home.rows("history", "--from", server.url())], ["success"], "and the same when it has ended")


def test_words(server):
    with Home("sync-cli.") as home:
        for url in ("postgres://me:hunter2@localhost/db", "postgres://localhost/db?password=hunter2", "host=localhost password=hunter2",
                    "postgres://localhost/db?sslpassword=hunter2", "http://localhost/"):
            for words in (("sync", "--to"), ("history", "--from"), ("stats", "--from"), ("sync", "--every", "1s", "--to")):
                done = home.call(*words, url)
                tap.ok(refused(done, 2, "password") and "hunter2" not in done.stderr + done.stdout, f"{words[0]} refuses {url}", done)
        tap.ok(refused(home.call("sync"), 2, "--to"), "without an address", home.call("sync"))
        gone = home.call("sync", "--to", f"postgres://owner@/postgres?host={server.dir}/nowhere")
        tap.ok(refused(gone, 70, "cannot connect"), "a server that is not there", gone)
        tap.ok(refused(home.call("stats", "--from", server.url()), 5, "aisbx sync"), "a database without a record")
        server.sql("create schema aisbx; create table aisbx.meta(version int, server uuid)")
        tap.ok(home.call("sync", "--to", server.url()).returncode == 70, "a schema of that name that is not ours")
        tap.equal(server.sql("select count(*) from aisbx.meta"), "0", "which is left as it is")


def test_newer(server):
    with Home("sync-cli.") as home:
        home.call("sync", "--to", server.url())
        server.sql("update aisbx.meta set version=99")
        for words in (("sync", "--to"), ("history", "--from"), ("stats", "--from")):
            done = home.call(*words, server.url())
            tap.ok(refused(done, 2, "newer"), f"{words[0]}: a record of a newer program", done)


def test_secret(server):
    """A secret may be in names of files; what is recorded has it taken out, and so has what leaves."""
    with Home("sync-cli.") as home:
        with open(home.path + "/token", "w") as out:
            out.write(SECRET)
        done = home.call("run", "--json", "--secret", f"tok={home.path}/token", "--", "sh", "-c",
                         'cat /run/secrets/tok > got; touch "x-$(cat got)"; echo "said $(cat got)"; cat got >&2; echo beside')
        tap.ok("said [secret tok]" in done.stdout, "a run that has a secret", done)
        home.call("sync", "--to", server.url())
        dump = subprocess.run([server.bin + "/pg_dump", "-d", server.url()], env=server.env, cwd="/", capture_output=True, text=True, check=True).stdout
        tap.ok(SECRET not in dump and "beside" in dump, "is not in what was sent", dump[-2000:])


def test_clone(server):
    with Home("sync-cli.") as home:
        make_records(home, 10)
        home.call("sync", "--to", server.url())
        make_records(home, 5, 10)
        kept = state(home) + ".copy"
        shutil.copytree(state(home), kept)
        make_records(home, 5, 15)
        home.call("sync", "--to", server.url())
        shutil.rmtree(state(home))
        os.rename(kept, state(home))
        make_records(home, 7, 100)
        done = home.call("sync", "--to", server.url())
        tap.ok(refused(done, 3, "copy", "--new-edge"), "a copy of the state directory is noticed", done)
        tap.equal(runs_there(home, server.url()), 20, "and adds nothing")
        done = home.data("sync", "--new-edge", "--to", server.url())
        tap.equal((done.get("sent"), done.get("added")), (22, 7), "as an edge of its own it adds what is new")
        tap.equal(runs_there(home, server.url()), 27, "each run once")
        tap.equal(home.data("sync", "--to", server.url()).get("sent"), 0, "and stays that edge")


def test_roles(server):
    with Home("sync-cli.") as home, Home("sync-cli.") as other:
        make_records(home, 3)
        make_records(other, 2)
        done = home.call("sync", "--to", server.url("laptop"))
        tap.ok(done.returncode != 0, "a role that is not there", done)
        home.call("sync", "--to", server.url())
        server.sql(ROLES)
        done = other.data("sync", "--to", server.url("laptop"))
        tap.equal(done.get("added"), 2, "an edge that can only add syncs")
        tap.equal(runs_there(other, server.url("reader")), 5, "a reader reads")
        for sql in ("select * from aisbx.records", "select * from aisbx.runs", "select * from aisbx.edges", "select * from aisbx.inbox",
                    "update aisbx.records set status='x'", "delete from aisbx.records", "delete from aisbx.inbox", "truncate aisbx.inbox",
                    "insert into aisbx.records select * from aisbx.records", "update aisbx.meta set version=0",
                    "create table aisbx.mine(x int)", "drop schema aisbx cascade"):
            done = server.sql(sql, "laptop", check=False)
            tap.ok(done.returncode != 0 and ("permission denied" in done.stderr or "must be owner" in done.stderr), f"which cannot: {sql}", done)
        edge, token = server.sql("select edge, token from aisbx.edges where owner='laptop'").split("|")
        row = f"insert into aisbx.inbox(edge,seq,kind,key,started_ms,status) values('{edge}',9999,2,'01FORGED',1,'success')"
        done = server.sql(f"begin; {row}; select aisbx.merge('{edge}','{token}',9999); commit", "thief", check=False)
        tap.ok(done.returncode != 0 and "another role" in done.stderr, "another role cannot write for it, even with its token", done)
        server.sql(row, "thief")
        make_records(other, 1, 50)
        other.call("sync", "--to", server.url("laptop"))
        tap.equal(server.sql("select count(*) from aisbx.records where key='01FORGED'"), "0", "nor leave something for it to take along")
        done = home.call("sync", "--to", server.url("laptop"))
        tap.ok(refused(done, 125 if done.returncode == 125 else done.returncode, "another role") and done.returncode != 0, "an edge keeps its role", done)
        for sql in ("insert into aisbx.inbox(edge,seq,kind,key,started_ms) values(gen_random_uuid(),1,2,'x',1)", "delete from aisbx.records"):
            tap.ok(server.sql(sql, "reader", check=False).returncode != 0, f"a reader cannot: {sql[:20]}")


def test_kills(server):
    """Edges and server are killed at random; in the end each record is there once."""
    chance = random.Random(7)
    with Home("sync-cli.") as one, Home("sync-cli.") as two:
        make_records(one, 100)
        one.call("sync", "--to", server.url())
        homes = {one: 100, two: 0}
        for number in range(ROUNDS):
            for home in homes:
                make_records(home, 1500, homes[home])
                homes[home] += 1500
            syncs = [subprocess.Popen([AISBX, "sync", "--to", server.url()], env=home.env, cwd=home.work, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for home in homes]
            time.sleep(chance.uniform(0, 0.25))
            if number % 3 == 0:
                server.stop(signal.SIGKILL)
            else:
                chance.choice(syncs).kill()
            for sync in syncs:
                sync.wait(timeout=patience(60))
            if number % 3 == 0:
                server.start()
        for home in homes:
            done = home.call("sync", "--to", server.url())
            tap.ok(done.returncode == 0, f"a last sync after {ROUNDS} kills", done)
        wanted = sum(homes.values())
        tap.equal(server.sql("select count(*), count(distinct key), count(distinct (edge, seq)) from aisbx.records"),
                  f"{wanted}|{wanted}|{wanted}", "each record is there once")
        tap.equal(server.sql("select count(*) from aisbx.inbox"), "0", "and nothing is left on the way")


def test_together(server):
    """Many at once on an empty database: one makes the tables, none is refused."""
    with contextlib.ExitStack() as stack:
        homes = [stack.enter_context(Home("sync-cli.")) for _ in range(4)]
        for home in homes:
            make_records(home, 500)
        syncs = [subprocess.Popen([AISBX, "sync", "--json", "--to", server.url()], env=home.env, cwd=home.work, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for home in homes]
        ended = [(sync.communicate(timeout=patience(60)), sync.returncode) for sync in syncs]
        tap.ok(all(code == 0 for _, code in ended), "four edges at once, on an empty database", ended)
        tap.equal(runs_there(homes[0], server.url()), 2000, "and all of theirs is there")


def test_daemon(server):
    """`sync: 1s` in the configuration: the daemon keeps a process for it."""
    if os.geteuid() == 0:
        tap.skip("the daemon syncs", "root has no daemon")
        return
    with Home("sync-cli.") as home:
        make_records(home, 5)
        os.makedirs(home.path + "/.config/aisbx")
        config = home.path + "/.config/aisbx/config.yaml"
        with open(config, "w") as out:
            out.write(f"sync: 200ms\nsync_to: postgres://me:hunter2@localhost/x\n")
        done = home.call("daemon", "start")
        tap.ok(done.returncode == 2 and "hunter2" not in done.stderr, "a password in its address is refused", done)
        with open(config, "w") as out:
            out.write(f"sync: 200ms\nsync_to: {server.url()}\n")
        home.call("daemon", "start", "--pool", "1")
        try:
            for _ in range(300):
                if runs_there(home, server.url()) == 5:
                    break
                time.sleep(0.1)
            tap.equal(runs_there(home, server.url()), 5, "the daemon syncs")
            make_records(home, 5, 5)
            for _ in range(300):
                if runs_there(home, server.url()) == 10:
                    break
                time.sleep(0.1)
            tap.equal(runs_there(home, server.url()), 10, "and goes on")
        finally:
            home.call("daemon", "stop")


class Stranger:
    """Listens where a PostgreSQL would, and answers a client with these bytes."""

    def __init__(self, answers, path):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path + "/.s.PGSQL.5432")
        self.listener.listen(8)
        self.answers = answers
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with client, contextlib.suppress(OSError):
                for answer in self.answers:
                    client.recv(65536)
                    client.sendall(answer)
                client.recv(65536)


def message(kind, body):
    return kind + (len(body) + 4).to_bytes(4, "big") + body


READY = message(b"R", bytes(4)) + message(b"S", b"server_version\x0015.0\x00") + message(b"Z", b"I")
SET = message(b"C", b"SET\x00") + message(b"Z", b"I")
SERVERS = {
    "closes at once": [b""],
    "garbage": [bytes((i * 73 + 11) % 256 for i in range(300))],
    "half a message": [READY[:7]],
    "ready, then nothing": [READY],
    "an error with escapes": [message(b"E", b"SFATAL\x00C28000\x00M\x1b[31mred\x07\n\x00\x00")],
    "a length beyond all bounds": [READY, b"T\x7f\xff\xff\xff" + bytes(1000)],
    "rows that nobody asked for": [READY, SET, message(b"D", b"\x00\x01\x00\x00\x00\x01x") * 1000 + message(b"Z", b"I")],
    "asks for data": [READY, SET, message(b"G", b"\x00\x00\x00")],
    "sends data": [READY, SET, message(b"H", b"\x00\x00\x00") + message(b"d", b"x" * 1000)],
    "a negative count": [READY, SET, message(b"T", b"\xff\xff") + message(b"Z", b"I")],
}


def test_strangers():
    with Home("sync-cli.") as home:
        make_records(home, 2)
        for name, answers in SERVERS.items():
            path = f"{home.path}/s{len(name)}{name[:1]}"
            os.mkdir(path)
            stranger = Stranger(answers, path)
            for words in (("sync", "--to"), ("stats", "--from")):
                done = home.call(*words, f"postgres://x@/y?host={path}&connect_timeout=3", timeout=120)
                tap.ok(done.returncode in (2, 5, 70) and done.stderr.count("\n") == 1 and "\x1b" not in done.stderr and "\x07" not in done.stderr,
                       f"a server that {name}: {words[0]} says so", done)
            stranger.listener.close()


# In a network of its own: a server at an address that is not this machine's loopback, which claims to have no TLS and asks
# for the password in clear text. Prints what it was sent after that.
NO_TLS = """
import socket, subprocess, sys
subprocess.run("ip link set lo up; ip address add 10.9.9.9/32 dev lo", shell=True, check=True)
listener = socket.create_server(("10.9.9.9", 5432))
child = subprocess.Popen(sys.argv[1:])
listener.settimeout(30)
client = listener.accept()[0]
client.recv(8)
client.sendall(b"N")
if client.recv(1000):
    client.sendall(b"R" + (8).to_bytes(4, "big") + (3).to_bytes(4, "big"))
    print(client.recv(1000))
client.close()
listener.close()
sys.exit(child.wait())
"""


def test_password():
    with Home("sync-cli.") as home:
        make_records(home, 1)
        home.env["PGPASSWORD"] = "pass-in-clear"
        for more, is_sent in (("", False), ("?sslmode=prefer", True)):
            done = subprocess.run(["unshare", "--user", "--map-root-user", "--net", sys.executable, "-c", NO_TLS, AISBX, "sync", "--to",
                                   "postgres://x@10.9.9.9/y" + more], env=home.env, cwd=home.work, capture_output=True, text=True,
                                  timeout=patience(120), check=False)
            tap.ok(done.returncode not in (0, 1) and ("pass-in-clear" in done.stdout) == is_sent,
                   "the password is sent in clear text " + ("where that was chosen" if is_sent else "to no server elsewhere"), done)


def main():
    if not postgres.programs():
        tap.skip("sync with PostgreSQL", "it is not installed")
        return tap.done()
    for test in (test_once, test_running, test_words, test_newer, test_secret, test_clone, test_roles, test_together, test_daemon, test_kills):
        with postgres.Server() as server:
            tap.attempt(test, server)
    tap.attempt(test_strangers)
    tap.attempt(test_password)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
