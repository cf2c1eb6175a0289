#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Services that are halted to be copied: let go on whatever ends the program, and copied as of one instant while others write.

Takes the program from AISBX. Speaks TAP. Started by root, servers and commands are those of a plain user with an account.
"""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from clitest import AISBX, Home, Tap  # noqa: E402
from family import stat_of, until  # noqa: E402
import postgres  # noqa: E402
from services import IS_ROOT, PLAIN, Machine, gave_up, is_halted, start_postgres, start_redis  # noqa: E402

tap = Tap()
ROUNDS = 50 if os.environ.get("AISBX_LONG") == "1" else 10


class Database:
    """A server of two tables whose sum stays, and a count; asked through one client that stays."""

    def __init__(self, machine, name, *words):
        self.machine = machine
        self.port, self.process = start_postgres(machine, name, *words)
        self.ask = [postgres.programs() + "/psql", "-X", "-h", "127.0.0.1", "-p", str(self.port), "-d", "postgres", "-Atq"]
        machine.do(*self.ask, "-c", "create table a(x int); create table b(x int); create table c(n int);"
                                    "insert into a values (1000); insert into b values (0); insert into c values (0)")
        self.client = subprocess.Popen([*PLAIN, *self.ask], cwd=machine.home.work, env=machine.home.env, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)

    def write(self, count):
        """Both tables in one transaction; returns when it is acknowledged."""
        self.client.stdin.write(f"begin; update a set x=x-1; update b set x=x+1; update c set n={count}; commit; select 1;\n")
        self.client.stdin.flush()
        return self.client.stdout.readline() == "1\n"

    def sum(self):
        return self.machine.do(*self.ask, "-c", "select a.x+b.x from a,b").stdout.strip()

    def tree(self):
        """Its own process and its children."""
        found = [int(name) for name in os.listdir("/proc") if name.isdigit() and (stat_of(int(name)) or ("", "", 0))[2] == self.process.pid]
        return [self.process.pid, *found]

    def stands(self):
        return any(is_halted(pid) for pid in self.tree())

    def end(self):
        self.client.stdin.close()
        self.client.wait()
        self.client.stdout.close()


class Cache:
    """A Redis asked through one connection that stays."""

    def __init__(self, machine, name="redis"):
        self.port, self.process = start_redis(machine, name)
        self.ask = ["redis-cli", "-p", str(self.port)]
        self.client = socket.create_connection(("127.0.0.1", self.port))

    def write(self, count):
        self.client.sendall(f"SET n {count}\r\n".encode())
        return self.client.recv(64) == b"+OK\r\n"

    def end(self):
        self.client.close()


class Writer(threading.Thread):
    """Writes one growing count to all of them in turn, each after the one before has acknowledged it."""

    def __init__(self, *servers):
        super().__init__()
        self.servers, self.stopping, self.done = servers, threading.Event(), 0

    def run(self):
        while not self.stopping.is_set() and all(one.write(self.done + 1) for one in self.servers):
            self.done += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.join()


def names_of(machine, *servers):
    """With their ports, as they are listed only while there are several of a kind: another suite may start one at any moment."""
    return ",".join(machine.row_of(one.port)["name"].removesuffix(f"-{one.port}") + f"-{one.port}" for one in servers)


def start_clone(machine, sandbox, names, *words):
    return subprocess.Popen([*PLAIN, AISBX, "create", sandbox, "--with-services", names, "--yes", *words], cwd=machine.home.work,
                            env=machine.home.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                            start_new_session=True)


def kill_while_halted(machine, database, sandbox, whole_group):
    """Whether it was killed while the server stood; some moments later each time."""
    one = start_clone(machine, sandbox, names_of(machine, database))
    while one.poll() is None and not is_halted(database.process.pid):
        pass
    time.sleep(random.uniform(0.0, 0.004))
    stood = one.poll() is None and database.stands()
    (os.killpg if whole_group else os.kill)(one.pid, signal.SIGKILL)
    one.communicate()
    return stood


def check_kills(machine, database):
    """Killed at any instant of a copy by freezing, alone or with all of its process group."""
    random.seed(20)
    caught = 0
    with Writer(database) as writer:
        for i in range(ROUNDS):
            caught += kill_while_halted(machine, database, f"k{i}", i % 2 == 1)
            went_on = until(lambda: not database.stands())
            before = writer.done
            if not (went_on and until(lambda: writer.done > before)):
                tap.ok(False, f"killed in clone {i}, the server goes on", [stat_of(pid) for pid in database.tree()])
                for pid in database.tree():
                    os.kill(pid, signal.SIGCONT)
                return
        for i in range(ROUNDS):
            one = start_clone(machine, f"r{i}", names_of(machine, database))
            time.sleep(random.uniform(0.0, 0.4))
            one.kill()
            one.communicate()
        tap.ok(until(lambda: not database.stands()), f"killed in {2 * ROUNDS} clones, {caught} of them while it stood, the server goes on")
    tap.equal(database.sum(), "1000", "and has lost nothing")
    machine.aisbx("rm", *[letter + str(i) for letter in "kr" for i in range(ROUNDS)])
    place = machine.path + "/.local/share/aisbx/services"
    tap.ok(until(lambda: machine.aisbx("gc").returncode == 0 and (not os.path.isdir(place) or os.listdir(place) == [])), "and no copy stays",
           os.path.isdir(place) and os.listdir(place))


def clone_together(machine, servers):
    """On a busy machine the pause may not do: then the command says so, and another may be luckier."""
    names = names_of(machine, *servers)
    for _ in range(30):
        done = machine.aisbx("create", "t", "--with-services", names, "--services-together", "--yes", "--json")
        if done.returncode == 0 or not gave_up(done.stdout):
            break
    return done


def check_together(machine, servers):
    with Writer(*servers) as writer:
        until(lambda: writer.done > 10)
        before = writer.done
        done = clone_together(machine, servers)
        after = writer.done
    if done.returncode != 0 and gave_up(done.stdout):
        tap.skip("copies of one instant", "this machine is too busy for the pause, and the command said so")
        return
    rows = json.loads(done.stdout)["services"] if done.returncode == 0 else []
    tap.ok([row["level"] for row in rows] == ["together"] * len(servers) and all(row["pause_ms"] <= 250 for row in rows),
           "several services are copied together within the pause", done.stdout + done.stderr)
    counts = []
    for one in servers:
        words = ["get", "n"] if isinstance(one, Cache) else ["-c", "select n from c"]
        counts.append(machine.aisbx("exec", "t", "--", *one.ask, *words).stdout.strip())
    counts = [int(count) if count.isdigit() else -1 for count in counts]
    # Written in this order: at one instant the first is ahead by one at most, and none is ahead of one before it.
    tap.ok(all(0 <= one - other <= 1 for one, other in zip(counts, counts[1:])) and counts[0] - counts[-1] <= 1, "all are of one instant", counts)
    tap.ok(before <= counts[0] <= after + 1, "which lies within the clone, and holds what was acknowledged", [before, counts, after])
    done = machine.aisbx("exec", "t", "--", *servers[-1].ask, "-c", "select a.x+b.x from a,b")
    tap.equal(done.stdout.strip(), "1000", "so are the tables of one")
    machine.aisbx("rm", "t")


def catch_halted(machine, databases, names):
    """A clone that is stopped while all DATABASES stand; None when it was too quick."""
    one = start_clone(machine, "u", names, "--services-together")
    while one.poll() is None and not all(is_halted(each.process.pid) for each in databases):
        pass
    if one.poll() is None:
        one.send_signal(signal.SIGSTOP)
        if until(lambda: is_halted(one.pid)) and all(is_halted(each.process.pid) for each in databases):
            return one
    one.send_signal(signal.SIGCONT)
    one.communicate()
    machine.aisbx("rm", "u")
    return None


def check_given_up(machine, databases, cache):
    names = names_of(machine, *databases, cache)
    one = None
    for _ in range(20):
        one = one or catch_halted(machine, databases, names)
    if not one:
        tap.skip("a pause that does not do", "no clone was caught while the originals stood")
        return
    tap.ok(until(lambda: not any(each.stands() for each in databases)), "a clone that is late itself: all services go on without it")
    one.send_signal(signal.SIGCONT)
    said = one.communicate()[1]
    tap.ok(one.returncode != 0 and gave_up(said), "and it is given up, and says so", f"{one.returncode} {said}")
    tap.equal(machine.aisbx("inspect", "u").returncode, 5, "no sandbox has a part of it")


def check_halted_before(machine, databases):
    """By its user, or a debugger: it is not ours to let go on."""
    pid = databases[0].process.pid
    os.kill(pid, signal.SIGSTOP)
    until(lambda: is_halted(pid))
    done = machine.aisbx("create", "v", "--with-services", names_of(machine, *databases), "--services-together", "--yes")
    tap.ok(done.returncode != 0 and "halted already" in done.stderr, "one that stands already is not copied by halting", done.stderr)
    tap.ok(is_halted(pid) and not is_halted(databases[1].process.pid), "it still stands, and the other does not")
    os.kill(pid, signal.SIGCONT)
    tap.equal(databases[0].sum(), "1000", "until its user lets it go on")


def check_two_in_memory(machine, cache):
    """Each saves itself at an instant of its own."""
    other = Cache(machine, "redis-second")
    done = machine.aisbx("create", "m", "--with-services", names_of(machine, cache, other), "--services-together", "--yes")
    tap.ok(done.returncode != 0 and "only one such service" in done.stderr, "two that save themselves are refused together", done.stderr)
    tap.equal(machine.aisbx("inspect", "m").returncode, 5, "which leaves no sandbox")
    other.end()


def check_databases(machine, cache):
    # One that could save itself by its own means, and one that could not.
    databases = [Database(machine, "first", "-c", "max_wal_senders=0", "-c", "wal_level=minimal"), Database(machine, "second")]
    try:
        check_kills(machine, databases[0])
        check_together(machine, [databases[0], cache, databases[1]])
        check_together(machine, [cache, databases[1]])
        check_given_up(machine, databases, cache)
        check_halted_before(machine, databases)
    finally:
        for one in databases:
            one.end()


def main():
    if not shutil.which("redis-server"):
        tap.skip("services of one instant", "redis-server is not installed")
        return tap.done()
    if IS_ROOT:
        # Its own home is closed to the user that has the servers.
        os.environ["HOME"] = "/home"
    with Home("aisbx-services-instant.") as home:
        machine = Machine(home)
        try:
            cache = Cache(machine)
            if postgres.programs() and (IS_ROOT or postgres.has_account()):
                check_databases(machine, cache)
            else:
                tap.skip("postgres", "no PostgreSQL here, or no account for it")
            check_two_in_memory(machine, cache)
            cache.end()
        finally:
            machine.end()
    return tap.done()


sys.exit(main())
