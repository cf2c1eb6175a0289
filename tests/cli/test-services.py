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
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from clitest import AISBX, Home, Tap  # noqa: E402
import postgres  # noqa: E402

tap = Tap()
ROUNDS = 50 if os.environ.get("AISBX_LONG") == "1" else 10
IS_ROOT = os.geteuid() == 0
NOBODY = postgres.NOBODY
PLAIN = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if IS_ROOT else []


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Machine:
    """A home with servers in it, and commands run as the user that has them."""

    def __init__(self, home):
        self.home, self.servers = home, []
        self.path = home.path
        if IS_ROOT:
            os.chmod(home.path, 0o755)
            for name in (home.path, home.work):
                os.chown(name, NOBODY, NOBODY)

    def do(self, *words, timeout=120):
        return subprocess.run([*PLAIN, *words], cwd=self.home.work, env=self.home.env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=timeout, check=False)

    def aisbx(self, *words):
        return self.do(AISBX, *words)

    def serve(self, *words):
        self.servers.append(subprocess.Popen([*PLAIN, *words], cwd=self.home.work, env=self.home.env, stdin=subprocess.DEVNULL,
                                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        return self.servers[-1]

    def await_done(self, *words):
        for _ in range(600):
            if self.do(*words).returncode == 0:
                return True
            time.sleep(0.05)
        return False

    def end(self):
        for one in self.servers:
            one.terminate()
            one.wait(30)


def start_redis(machine):
    port, state = free_port(), machine.path + "/redis"
    os.mkdir(state)
    if IS_ROOT:
        os.chown(state, NOBODY, NOBODY)
    process = machine.serve("redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", state, "--appendonly", "yes")
    machine.await_done("redis-cli", "-p", str(port), "ping")
    return port, process


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


def check_consent(machine, name, port):
    done = machine.aisbx("create", "s", "--with-services", name)
    tap.ok(done.returncode == 4 and "services trust" in done.stderr, "without agreement no clone", done.stderr)
    done = machine.aisbx("create", "s", "--with-services", name, "--yes", "--allow", "example.org:443")
    tap.ok(done.returncode == 4 and "--services-with-network" in done.stderr, "a network needs a second word", done.stderr)
    tap.ok(machine.aisbx("inspect", "s").returncode == 5, "what was refused left no sandbox")
    tap.ok(machine.aisbx("create", "s", "--with-services", "none-such", "--yes").returncode == 5, "an unknown service is not found")
    tap.ok(machine.aisbx("services", "trust", name).returncode == 0, "a person agrees once")
    done = machine.aisbx("create", "s", "--with-services", name)
    tap.ok(done.returncode == 0, "then it is cloned", done.stderr)
    done = machine.aisbx("exec", "s", "--", "redis-cli", "-p", str(port), "get", "k")
    tap.ok(done.stdout.strip() == "original", "the clone answers on the same port", done.stdout + done.stderr)


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
    tap.ok(machine.aisbx("diff", "s", "--name-status").stdout == "", "their data is no change of the sandbox")
    tap.ok(machine.aisbx("logs", "s", "--service", name).returncode == 0, "what a service writes is kept")
    tap.ok(machine.do("redis-cli", "-p", str(port), "get", "k").stdout.strip() == "original", "the original is as it was")
    done = machine.aisbx("run", "--with-services", name, "--", "redis-cli", "-p", str(port), "get", "k")
    tap.ok(done.returncode == 0 and done.stdout.strip() == "original", "run brings services along", done.stdout + done.stderr)
    machine.aisbx("rm", "s", "t")
    place = machine.path + "/.local/share/aisbx/services"
    tap.ok(not os.path.isdir(place) or os.listdir(place) == [], "a removed sandbox leaves no copy")


def is_halted(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0] in "Tt"


def check_kills(machine, name, port, process):
    """Killed at any instant of a clone, the original runs on and nothing stays that the next sandbox would not sweep up."""
    random.seed(20)
    for i in range(ROUNDS):
        one = subprocess.Popen([*PLAIN, AISBX, "create", f"k{i}", "--with-services", name, "--yes"], cwd=machine.home.work,
                               env=machine.home.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(random.uniform(0.0, 0.4))
        one.kill()
        one.wait()
    tap.ok(machine.do("redis-cli", "-p", str(port), "get", "k").stdout.strip() == "original" and not is_halted(process.pid),
           f"killed in {ROUNDS} clones, the original runs on")
    machine.aisbx("rm", *[f"k{i}" for i in range(ROUNDS)])
    machine.aisbx("gc")
    place = machine.path + "/.local/share/aisbx/services"
    tap.ok(not os.path.isdir(place) or os.listdir(place) == [], "and no copy stays", os.path.isdir(place) and os.listdir(place))


def start_postgres(machine):
    port, state, programs = free_port(), machine.path + "/pg", postgres.programs()
    done = machine.do(programs + "/initdb", "-D", state, "-A", "trust", "-N")
    tap.ok(done.returncode == 0, "a cluster is made", done.stderr)
    process = machine.serve(programs + "/postgres", "-D", state, "-p", str(port), "-k", machine.path, "-h", "127.0.0.1", "-F")
    machine.await_done(programs + "/pg_isready", "-q", "-h", machine.path, "-p", str(port))
    return port, process


def check_postgres(machine):
    """Money moves between two tables while the copy is made: their sum is the same at every instant."""
    port, process = start_postgres(machine)
    ask = [postgres.programs() + "/psql", "-X", "-h", "127.0.0.1", "-p", str(port), "-d", "postgres", "-Atqc"]
    machine.do(*ask, "create table a(x int); create table b(x int); insert into a values (1000000); insert into b values (0)")
    stop = threading.Event()

    def move():
        while not stop.is_set():
            machine.do(*ask, "begin; update a set x=x-1; update b set x=x+1; commit")

    mover = threading.Thread(target=move)
    mover.start()
    done = machine.aisbx("create", "p", "--with-services", "postgres", "--yes")
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
    if IS_ROOT:
        done = subprocess.run([AISBX, "create", "r", "--with-services", f"postgres-{port}", "--yes"], cwd="/", capture_output=True,
                              text=True, env={**machine.home.env, "HOME": "/root"}, check=False)
        done = done if done.returncode != 5 else subprocess.run(
            [AISBX, "create", "r", "--with-services", "postgres", "--yes"], cwd="/", capture_output=True, text=True,
            env={**machine.home.env, "HOME": "/root"}, check=False)
        tap.ok(done.returncode != 0 and "another id" in done.stderr, "root is refused what cannot be started inside", done.stderr)
    process.send_signal(signal.SIGINT)


def main():
    if not shutil.which("redis-server"):
        tap.skip("services", "redis-server is not installed")
        return tap.done()
    with Home("aisbx-services.") as home:
        machine = Machine(home)
        try:
            port, process = start_redis(machine)
            machine.do("redis-cli", "-p", str(port), "set", "k", "original")
            name = check_list(machine, port)
            check_consent(machine, name, port)
            check_life(machine, name, port)
            check_kills(machine, name, port, process)
            if postgres.programs() and (IS_ROOT or postgres.has_account()):
                check_postgres(machine)
            else:
                tap.skip("postgres", "no PostgreSQL here, or no account for it")
        finally:
            machine.end()
            machine.aisbx("rm", "--all", "--yes")
            if IS_ROOT:
                subprocess.run(["chown", "-R", "0:0", machine.path], check=False)
    return tap.done()


sys.exit(main())
