#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Running services in a sandbox: real servers of the suite's own, copied under load, consent, restarts, kills in between.

Takes the program from AISBX. Speaks TAP. Started by root, servers and commands are those of a plain user with an account.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from clitest import AISBX, Home, Tap, free_port  # noqa: E402
from family import until  # noqa: E402
import postgres  # noqa: E402
from services import IS_ROOT, NOBODY, PLAIN, Machine, gave_up, is_halted, start_postgres, start_redis  # noqa: E402

tap = Tap()
ROUNDS = 50 if os.environ.get("AISBX_LONG") == "1" else 10


def check_list(machine, port):
    began = os.listdir(machine.path + "/redis")
    done = machine.aisbx("services", "--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    row = next((one for one in rows if one["port"] == port), {})
    tap.ok(row.get("name", "").startswith("redis") and row.get("level") == "native" and row.get("yours") is True,
           "a service is listed with its port and the way it would be cloned", done.stdout + done.stderr)
    tap.ok(all("=" not in name for one in rows for name in one["variables"]), "variables are listed by name alone")
    tap.ok(began == os.listdir(machine.path + "/redis"), "listing changes nothing")
    return row.get("name", "redis")


def check_hidden(machine):
    """The trap: a program inside over the live state would read a mix of two times."""
    state = machine.path + "/project/db"
    os.mkdir(state)
    if IS_ROOT:
        os.chown(state, NOBODY, NOBODY)
    port = free_port()
    process = machine.serve("redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", state, "--appendonly", "yes")
    machine.await_done("redis-cli", "-p", str(port), "ping")
    look = ["run", "--", "sh", "-c", "test -s db/appendonlydir/appendonly.aof.manifest && echo shown; true"]
    kept = machine.path + "/.local/state/aisbx/service-places"
    os.unlink(kept)
    tap.ok(machine.aisbx(*look).stdout.strip() == "shown", "before it was looked for, the state of a service is seen")
    machine.aisbx("services")
    done = machine.aisbx(*look)
    tap.ok(done.returncode == 0 and done.stdout == "", "afterwards it is hidden", done.stdout + done.stderr)
    done = machine.aisbx("plan", "--", "true")
    tap.ok(f"{state}/dump.rdb is hidden" in done.stdout + done.stderr and "--with-services" in done.stdout + done.stderr,
           "and the plan says so", done.stdout + done.stderr)
    with open(kept, "wb") as file:
        file.write(b"/\0/usr\0../x\0relative\0" + b"/opt/x\0" * 1000 + machine.home.work.encode() + b"\0" + os.urandom(4096))
    done = machine.aisbx("run", "--", "sh", "-c", "test -e /usr/bin && test -d db && echo good")
    tap.ok(done.stdout.strip() == "good", "a damaged list takes nothing away that is needed", done.stderr)
    process.terminate()
    process.wait()
    machine.aisbx("services")
    tap.ok(machine.aisbx(*look).stdout.strip() == "shown", "what does not run any more is seen again")
    shutil.rmtree(state)


def check_consent(machine, name, port):
    done = machine.aisbx("create", "s", "--with-services", name)
    tap.ok(done.returncode == 4 and "services trust" in done.stderr, "without agreement no clone", done.stderr)
    done = machine.aisbx("create", "s", "--with-services", name, "--yes", "--allow", "example.org:443")
    tap.ok(done.returncode == 4 and "--services-with-network" in done.stderr, "a network needs a second word", done.stderr)
    tap.ok(machine.aisbx("inspect", "s").returncode == 5, "what was refused left no sandbox")
    tap.ok(machine.aisbx("create", "s", "--with-services", "none-such", "--yes").returncode == 5, "an unknown service is not found")
    tap.ok(machine.aisbx("services", "trust", name).returncode == 0, "a person agrees once")
    done = machine.aisbx("create", "s", "--with-services", name)
    tap.ok(done.returncode == 0 and f"{name} runs in it on port {port}: native copy" in done.stdout,
           "then it is cloned, and how is said", done.stdout + done.stderr)
    done = machine.aisbx("exec", "s", "--", "redis-cli", "-p", str(port), "get", "k")
    tap.ok(done.stdout.strip() == "original", "the clone answers on the same port", done.stdout + done.stderr)


def check_second_word(machine, port):
    """Rules that come later let the data out as those of the beginning would."""
    done = machine.aisbx("allow", "s", "example.org:443")
    tap.ok(done.returncode == 4 and "--services-with-network" in done.stderr, "a rule that comes later needs the second word", done.stderr)
    tap.ok(machine.aisbx("deny", "s", "example.org").returncode == 0, "one that denies does not")
    machine.aisbx("deny", "s", "example.org", "--rm")
    # A rule of the workspace, which says nothing of services.
    machine.aisbx("allow", "example.org:443")
    machine.aisbx("stop", "s")
    done = machine.aisbx("exec", "s", "--", "true")
    reached = json.loads(machine.aisbx("net", "s", "--json").stdout.splitlines()[0])["net"]
    tap.ok((done.returncode != 0 and "--services-with-network" in done.stderr) or (done.returncode == 0 and reached == "none"),
           "nor does one of the workspace let it start with a network", done.stderr)
    machine.aisbx("allow", "example.org:443", "--rm")
    tap.ok(machine.aisbx("allow", "example.org:443", "--services-with-network").returncode == 2, "the word is for a sandbox")
    done = machine.aisbx("allow", "s", "example.org:443", "--services-with-network")
    tap.ok(done.returncode == 0, "with the word it is kept", done.stderr)
    machine.aisbx("stop", "s")
    done = machine.aisbx("exec", "s", "--", "redis-cli", "-p", str(port), "get", "k")
    tap.ok(done.stdout.strip() == "original", "and the sandbox starts with it", done.stderr)
    machine.aisbx("fork", "s", "w")
    done = machine.aisbx("exec", "w", "--", "redis-cli", "-p", str(port), "get", "k")
    tap.ok(done.stdout.strip() == "original", "so does its fork", done.stderr)
    machine.aisbx("rm", "w")
    machine.aisbx("allow", "s", "example.org:443", "--rm")
    machine.aisbx("stop", "s")


def check_life(machine, name, port):
    cli = ["exec", "s", "--", "redis-cli", "-p", str(port)]
    machine.aisbx(*cli, "set", "k", "saved")
    done = machine.aisbx("snap", "s")
    tap.ok(done.returncode == 0, "a snapshot is taken while services run", done.stderr)
    machine.aisbx(*cli, "set", "k", "later")
    done = machine.aisbx("rollback", "s")
    got = machine.aisbx(*cli, "get", "k")
    tap.ok(done.returncode == 0 and got.stdout.strip() == "saved", "a rollback brings the data back", done.stderr + got.stdout + got.stderr)
    machine.aisbx(*cli, "set", "k", "kept")
    machine.aisbx("stop", "s")
    tap.ok(machine.aisbx(*cli, "get", "k").stdout.strip() == "kept", "what was written outlives a stop")
    machine.aisbx("fork", "s", "t")
    cli[1] = "t"
    tap.ok(machine.aisbx(*cli, "get", "k").stdout.strip() == "kept", "a fork has a service of its own")
    machine.aisbx(*cli, "set", "k", "fork")
    cli[1] = "s"
    tap.ok(machine.aisbx(*cli, "get", "k").stdout.strip() == "kept", "which does not share its data")
    rows = [json.loads(line) for line in machine.aisbx("services", "s", "--json").stdout.splitlines()]
    tap.ok([one["status"] for one in rows] == ["ready"], "services of a sandbox are listed", rows)
    tap.ok(all(one["level"] == "native" and one["age_ms"] > 0 and one["disk_bytes"] > 0 for one in rows), "with age and size of their copies", rows)
    said = machine.aisbx("services", "s").stdout
    tap.ok(" ready " in said and "native, copied " in said and said.endswith("iB\n"), "which is said, too", said)
    tap.ok(machine.aisbx("diff", "s", "--name-status").stdout == "", "their data is no change of the sandbox")
    tap.ok(machine.aisbx("logs", "s", "--service", name).returncode == 0, "what a service writes is kept")
    tap.ok(machine.do("redis-cli", "-p", str(port), "get", "k").stdout.strip() == "original", "the original is as it was")
    done = machine.aisbx("run", "--with-services", name, "--", "redis-cli", "-p", str(port), "get", "k")
    tap.ok(done.returncode == 0 and done.stdout.strip() == "original", "run brings services along", done.stdout + done.stderr)
    machine.aisbx("rm", "s", "t")
    place = machine.path + "/.local/share/aisbx/services"
    tap.ok(not os.path.isdir(place) or os.listdir(place) == [], "a removed sandbox leaves no copy")


def check_kept(machine, name, port):
    """One copy for several sandboxes, as long as it is young enough."""
    made = []
    for sandbox, words in (("k1", ("--services-max-age", "1h")), ("k2", ("--services-max-age", "1h")), ("k3", ())):
        done = machine.aisbx("create", sandbox, "--with-services", name, "--json", *words)
        made.append(json.loads(done.stdout)["services"][0]["made"] if done.returncode == 0 else done.stdout)
    tap.ok(made[0] == made[1] != made[2], "a kept copy is taken where that is said", made)
    machine.aisbx("exec", "k1", "--", "redis-cli", "-p", str(port), "set", "k", "first")
    done = machine.aisbx("exec", "k2", "--", "redis-cli", "-p", str(port), "get", "k")
    tap.equal(done.stdout.strip(), "original", "and each writes to its own")
    machine.aisbx("rm", "k1", "k2", "k3")
    done = machine.aisbx("create", "k4", "--with-services", name, "--json", "--services-max-age", "1ms")
    rows = json.loads(done.stdout)["services"] if done.returncode == 0 else [{"made": done.stdout}]
    tap.ok(rows[0]["made"] not in made, "one that is older is not", rows)
    machine.aisbx("rm", "k4")
    shutil.rmtree(machine.path + "/.local/share/aisbx/services", ignore_errors=True)


def check_kills(machine, name, port, process):
    """Killed at any instant of a clone, the original runs on and nothing stays that the next sandbox would not sweep up."""
    random.seed(20)
    for i in range(ROUNDS):
        one = subprocess.Popen([*PLAIN, AISBX, "create", f"k{i}", "--with-services", name, "--yes"], cwd=machine.home.work,
                               env=machine.home.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(random.uniform(0.0, 0.4))
        one.kill()
        one.wait()
    tap.ok(machine.do("redis-cli", "-p", str(port), "get", "k").stdout.strip() == "original" and until(lambda: not is_halted(process.pid)),
           f"killed in {ROUNDS} clones, the original runs on")
    machine.aisbx("rm", *[f"k{i}" for i in range(ROUNDS)])
    place = machine.path + "/.local/share/aisbx/services"
    # What was killed may still be about to end: what it holds goes with a later look.
    tap.ok(until(lambda: machine.aisbx("gc").returncode == 0 and (not os.path.isdir(place) or os.listdir(place) == [])), "and no copy stays",
           os.path.isdir(place) and os.listdir(place))


def check_postgres(machine):
    """Money moves between two tables while the copy is made: their sum is the same at every instant."""
    port, _ = start_postgres(machine)
    ask = [postgres.programs() + "/psql", "-X", "-h", "127.0.0.1", "-p", str(port), "-d", "postgres", "-Atqc"]
    machine.do(*ask, "create table a(x int); create table b(x int); insert into a values (1000000); insert into b values (0)")
    stop = threading.Event()

    def move():
        while not stop.is_set():
            machine.do(*ask, "begin; update a set x=x-1; update b set x=x+1; commit")

    name = machine.row_of(port)["name"]
    mover = threading.Thread(target=move)
    mover.start()
    try:
        done = machine.aisbx("create", "p", "--with-services", name, "--yes")
    finally:
        stop.set()
        mover.join()
    tap.ok(done.returncode == 0, "postgres is cloned under load", done.stderr)
    done = machine.aisbx("exec", "p", "--", *ask, "select a.x+b.x from a,b")
    tap.ok(done.stdout.strip() == "1000000", "both tables are of one instant", done.stdout + done.stderr)
    machine.aisbx("snap", "p")
    machine.aisbx("exec", "p", "--", *ask, "drop table a")
    machine.aisbx("rollback", "p")
    done = machine.aisbx("exec", "p", "--", *ask, "select a.x+b.x from a,b")
    tap.ok(done.stdout.strip() == "1000000", "a dropped table comes back", done.stdout + done.stderr)
    tap.ok(machine.do(*ask, "select a.x+b.x from a,b").stdout.strip() == "1000000", "the original is as it was")
    done = machine.aisbx("exec", "p", "--", *ask, "show archive_mode")
    tap.ok(done.stdout.strip() == "off", "archiving is off in the clone", done.stdout + done.stderr)
    machine.aisbx("rm", "p")


def check_schema(machine, redis_name):
    """Users, databases and tables come along, and nothing of what the tables hold."""
    port, _ = start_postgres(machine, "pg-schema")
    ask = [postgres.programs() + "/psql", "-X", "-h", "127.0.0.1", "-p", str(port), "-Atqc"]
    for database, text in (("postgres", "create role reader login password 'word'"), ("postgres", "create database shop"),
                           ("shop", "create table t(id serial primary key, x text); insert into t(x) values ('a-secret-row');"
                                    "create function f() returns int language sql as 'select 7;'; grant select on t to reader")):
        machine.do(*ask, text, "-d", database)
    machine.do(*ask, "checkpoint", "-d", "postgres")
    name = machine.row_of(port)["name"]
    done = machine.aisbx("create", "o", "--with-services", name, "--schema-only", "--yes", "--json")
    rows = json.loads(done.stdout)["services"] if done.returncode == 0 else []
    tap.ok([row["level"] for row in rows] == ["schema"], "a schema is cloned", done.stdout + done.stderr)
    done = machine.aisbx("exec", "o", "--", *ask, "select f(), count(*), has_table_privilege('reader', 't', 'select') from t", "-d", "shop")
    tap.ok(done.stdout.strip() == "7|0|t", "its tables, functions and rights are there, empty", done.stdout + done.stderr)
    hashed = "select rolpassword from pg_authid where rolname='reader'"
    said = machine.aisbx("exec", "o", "--", *ask, hashed, "-d", "postgres").stdout
    tap.ok(said == machine.do(*ask, hashed, "-d", "postgres").stdout != "", "a user logs in as ever", said)
    found = machine.aisbx("exec", "o", "--", "grep", "-rc", "a-secret-row", machine.path + "/pg-schema")
    tap.ok(":0" in found.stdout and all(line.endswith(":0") for line in found.stdout.splitlines()), "no file of the copy holds a row",
           [line for line in found.stdout.splitlines() if not line.endswith(":0")])
    machine.aisbx("rm", "o")
    done = machine.aisbx("create", "o", "--with-services", redis_name, "--schema-only", "--yes")
    tap.ok(done.returncode != 0 and "no schema" in done.stderr, "what has none is refused", done.stderr)
    tap.equal(machine.do(*ask, "select x from t", "-d", "shop").stdout.strip(), "a-secret-row", "the original is as it was")


def catch_frozen(machine, name, process):
    """A clone of NAME, stopped while the original is halted; None when it was too quick."""
    one = subprocess.Popen([*PLAIN, AISBX, "create", "f", "--with-services", name, "--yes"], cwd=machine.home.work,
                           env=machine.home.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while one.poll() is None and not is_halted(process.pid):
        pass
    if one.poll() is None:
        one.send_signal(signal.SIGSTOP)
        if until(lambda: is_halted(one.pid)) and is_halted(process.pid):
            return one
    one.send_signal(signal.SIGCONT)
    one.communicate()
    machine.aisbx("rm", "f")
    return None


def check_stale(machine, first_port):
    """After a rollback, the number in a server's own lock files is that of another process, and the server starts all the same."""
    port, _ = start_postgres(machine, "pg-locks")
    ask = [postgres.programs() + "/psql", "-X", "-h", "127.0.0.1", "-p", str(port), "-d", "postgres", "-Atqc"]
    names = ",".join(machine.row_of(one)["name"] for one in (first_port, port))
    done = machine.aisbx("create", "l", "--with-services", names, "--yes")
    tap.ok(done.returncode == 0, "two services are cloned", done.stderr)
    # What is started first has the same number each time.
    write = "for f; do sed -i 1s/.*/$(pgrep -o redis)/ $f; head -n 1 $f; done"
    locks = (f"{machine.path}/pg-locks/postmaster.pid", f"{machine.path}/.s.PGSQL.{port}.lock")
    done = machine.aisbx("exec", "l", "--", "sh", "-c", write, "sh", *locks)
    tap.ok(len(done.stdout.split()) == 2, "their locks name the other one", done.stdout + done.stderr)
    machine.aisbx("snap", "l")
    machine.aisbx("exec", "l", "--", *ask, "create table later(x int)")
    done = machine.aisbx("rollback", "l")
    again = machine.aisbx("exec", "l", "--", *ask, "select count(*) from pg_tables where tablename='later'")
    tap.ok(again.stdout.strip() == "0", "a rollback starts both", done.stderr + again.stdout + again.stderr)
    machine.aisbx("exec", "l", "--", "rm", f"{machine.path}/pg-locks/PG_VERSION")
    machine.aisbx("stop", "l")
    done = machine.aisbx("exec", "l", "--", "true")
    tap.ok(done.returncode == 125 and "postgres" in done.stderr, "one that cannot start ends the command", done)
    left = json.loads(machine.aisbx("inspect", "l", "--json").stdout)["processes"]
    tap.equal(left, [], "and the one before it does not stay")
    done = machine.aisbx("rollback", "l")
    tap.ok(done.returncode == 0 and machine.aisbx("exec", "l", "--", *ask, "select 1").stdout.strip() == "1", "a rollback mends it", done)
    machine.aisbx("rm", "l")


def check_frozen(machine):
    """A server that does not save itself is halted, copied, and goes on, whatever becomes of the command that halted it."""
    port, process = start_postgres(machine, "frozen", "-c", "max_wal_senders=0", "-c", "wal_level=minimal")
    name = machine.row_of(port)["name"]
    ask = [postgres.programs() + "/psql", "-X", "-h", "127.0.0.1", "-p", str(port), "-d", "postgres", "-Atqc"]
    machine.do(*ask, "create table a(x int); create table b(x int); insert into a values (1000); insert into b values (0)")
    stop = threading.Event()

    def move():
        while not stop.is_set():
            machine.do(*ask, "begin; update a set x=x-1; update b set x=x+1; commit")

    mover = threading.Thread(target=move)
    mover.start()
    try:
        # On a busy machine the budget may not do: then it says so, and the server runs on.
        for _ in range(30):
            done = machine.aisbx("create", "f", "--with-services", name, "--yes", "--json")
            if done.returncode == 0 or not gave_up(done.stdout):
                break
    finally:
        stop.set()
        mover.join()
    if done.returncode != 0 and gave_up(done.stdout):
        tap.skip("a clone by freezing", "this machine is too busy for the budget, and the command said so")
    else:
        rows = json.loads(done.stdout)["services"] if done.returncode == 0 else []
        tap.ok([row["level"] for row in rows] == ["frozen"] and 0 < rows[0]["pause_ms"] <= 250, "a clone by freezing keeps the budget",
               done.stdout + done.stderr)
        done = machine.aisbx("exec", "f", "--", *ask, "select a.x+b.x from a,b")
        tap.ok(done.stdout.strip() == "1000", "and is of one instant", done.stdout + done.stderr)
        machine.aisbx("rm", "f")
    for number, what in ((signal.SIGKILL, "killed"), (signal.SIGCONT, "halted for longer than the budget")):
        one = None
        for _ in range(20):
            one = one or catch_frozen(machine, name, process)
        if not one:
            tap.skip(what, "no clone was caught while the original was halted")
            continue
        if number == signal.SIGKILL:
            one.kill()
        tap.ok(until(lambda: not is_halted(process.pid)), f"{what} while the original stands: that goes on")
        one.send_signal(number)
        said = one.communicate()[1]
        tap.ok(one.returncode == -signal.SIGKILL or gave_up(said),
               "and no copy is made that may be of two instants", f"{one.returncode} {said}")
        tap.ok(machine.do(*ask, "select a.x+b.x from a,b").stdout.strip() == "1000", "it answers")
    tap.ok(machine.aisbx("inspect", "f").returncode == 5, "nothing is left of those")


def main():
    if not shutil.which("redis-server"):
        tap.skip("services", "redis-server is not installed")
        return tap.done()
    if IS_ROOT:
        # Its own home is closed to the user that has the servers.
        os.environ["HOME"] = "/home"
    with Home("aisbx-services.") as home:
        machine = Machine(home)
        try:
            port, process = start_redis(machine)
            machine.do("redis-cli", "-p", str(port), "set", "k", "original")
            name = check_list(machine, port)
            check_hidden(machine)
            check_consent(machine, name, port)
            check_second_word(machine, port)
            check_life(machine, name, port)
            check_kept(machine, name, port)
            check_kills(machine, name, port, process)
            if postgres.programs() and (IS_ROOT or postgres.has_account()):
                check_postgres(machine)
                check_stale(machine, port)
                check_schema(machine, machine.row_of(port)["name"])
                check_frozen(machine)
            else:
                tap.skip("postgres", "no PostgreSQL here, or no account for it")
        finally:
            machine.end()
    return tap.done()


sys.exit(main())
