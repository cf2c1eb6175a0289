# SPDX-License-Identifier: Apache-2.0
"""Running services of a suite's own, and commands run as the plain user that has them."""
import json
import os
import signal
import subprocess

from box import patience
from clitest import AISBX, free_port
from family import stat_of, until
import postgres

IS_ROOT = os.geteuid() == 0
NOBODY = postgres.NOBODY
PLAIN = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if IS_ROOT else []


class Machine:
    """A home with servers in it, and commands run as the user that has them."""

    def __init__(self, home):
        self.home, self.servers = home, []
        self.path = home.path
        if IS_ROOT:
            os.chmod(home.path, 0o755)
            for name in (home.path, home.work):
                os.chown(name, NOBODY, NOBODY)

    def do(self, *words):
        return subprocess.run([*PLAIN, *words], cwd=self.home.work, env=self.home.env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=patience(60), check=False)

    def aisbx(self, *words):
        return self.do(AISBX, *words)

    def serve(self, *words):
        self.servers.append(subprocess.Popen([*PLAIN, *words], cwd=self.home.work, env=self.home.env, stdin=subprocess.DEVNULL,
                                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        return self.servers[-1]

    def await_done(self, *words):
        return until(lambda: self.do(*words).returncode == 0)

    def end(self):
        """Sandboxes first: what runs in them is not ours to wait for. A server that was left halted hears of its end when it goes on."""
        rows = [json.loads(line) for line in self.aisbx("ls", "--json").stdout.splitlines()]
        if rows:
            self.aisbx("rm", *[row["name"] for row in rows if "name" in row])
        for one in self.servers:
            one.send_signal(signal.SIGCONT)
            one.send_signal(signal.SIGINT)
            try:
                one.wait(patience(30))
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait()
        if IS_ROOT:
            # What empties the trash may still be at it.
            subprocess.run(["chown", "-R", "0:0", self.path], check=False, stderr=subprocess.DEVNULL)

    def row_of(self, port):
        """What is listed of the service at PORT: other suites have servers, too."""
        rows = [json.loads(line) for line in self.aisbx("services", "--json").stdout.splitlines()]
        return next((row for row in rows if row["port"] == port), {"name": "none-such"})


def start_redis(machine, name="redis"):
    port, state = free_port(), f"{machine.path}/{name}"
    os.mkdir(state)
    if IS_ROOT:
        os.chown(state, NOBODY, NOBODY)
    # As a distribution's: settings in a file, and no password.
    with open(state + ".conf", "w") as file:
        file.write(f"port {port}\nbind 127.0.0.1\ndir {state}\nappendonly yes\n")
    process = machine.serve("redis-server", state + ".conf")
    machine.await_done("redis-cli", "-p", str(port), "ping")
    return port, process


def start_postgres(machine, name="pg", *words):
    port, state, programs = free_port(), f"{machine.path}/{name}", postgres.programs()
    done = machine.do(programs + "/initdb", "-D", state, "-A", "trust", "-N")
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    process = machine.serve(programs + "/postgres", "-D", state, "-p", str(port), "-k", machine.path, "-h", "127.0.0.1", "-F", *words)
    machine.await_done(programs + "/pg_isready", "-q", "-h", machine.path, "-p", str(port))
    return port, process


def is_halted(pid):
    return (stat_of(pid) or ("", "gone"))[1] in ("T", "t")


def gave_up(said):
    """Whether the budget of a pause did not do, to halt all processes or for the copy."""
    return "given up" in said or "halted in time" in said
