#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Services that run under accounts of their own, cloned by root: they are started under the same ids inside, behind the same walls.

Takes the program from AISBX. Speaks TAP. Only for root, whose sandboxes have other ids. The servers are the suite's own.
"""
import contextlib
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import patience  # noqa: E402
from clitest import Home, Tap, free_port  # noqa: E402
from family import until  # noqa: E402
import postgres  # noqa: E402
from services import gave_up  # noqa: E402

tap = Tap()
BEYOND = 70000

# Run by the service itself. Each line: what was tried, and the error it met, or "done".
ATTACK = """
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def say(name, call):
    try:
        call()
        print(name, "done", flush=True)
    except OSError as problem:
        print(name, errno.errorcode[problem.errno], flush=True)
def unshare():
    if libc.unshare(0x10000000) < 0:
        raise OSError(ctypes.get_errno(), "")
def write(path, text):
    with open(path, "w") as file:
        file.write(text)
print("who", ":".join(map(str, os.getresuid() + os.getresgid())), os.getgroups())
say("setuid", lambda: os.setuid(0))
say("setresuid", lambda: os.setresuid(-1, 0, -1))
say("setgid", lambda: os.setgid(0))
say("setgroups", lambda: os.setgroups([0]))
say("unshare", unshare)
say("kill-init", lambda: os.kill(1, 9))
say("read-theirs", lambda: open(sys.argv[1]).read())
say("write-theirs", lambda: write(sys.argv[1], "x"))
say("shadow", lambda: write("/etc/shadow", "x"))
say("run", lambda: os.mkdir("/run/attack"))
say("secrets", lambda: os.listdir("/run/secrets"))
say("chown", lambda: os.chown(sys.argv[2], 0, 0))
"""


def account(*names):
    """The first of these accounts that is here; nobody's is everywhere."""
    for name in names:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    return pwd.getpwuid(postgres.NOBODY)


class Server:
    """A directory and servers that belong to one account; what is asked of them from outside is asked by it, too."""

    def __init__(self, home, name, who, above="/var/lib", run="aisbx-"):
        self.home, self.who, self.processes = home, who, []
        # As on a machine: outside of what a sandbox shows to be changed, and of its own places.
        self.dir = tempfile.mkdtemp(prefix=f"aisbx-{name}.", dir=above if os.path.isdir(above) else "/var/lib")
        self.run = tempfile.mkdtemp(prefix=f"{run}{name}-", dir="/run")
        for path, mode in ((self.dir, 0o755), (self.run, 0o2775)):
            os.chown(path, who.pw_uid, who.pw_gid)
            os.chmod(path, mode)
        self.port = free_port()

    def words(self, *words):
        return ["setpriv", f"--reuid={self.who.pw_uid}", f"--regid={self.who.pw_gid}", "--clear-groups", *words]

    def do(self, *words):
        return subprocess.run(self.words(*words), cwd="/", env=self.home.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=patience(60), check=False)

    def serve(self, *words):
        self.processes.append(subprocess.Popen(self.words(*words), cwd="/", env=self.home.env, stdin=subprocess.DEVNULL,
                                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def name(self):
        """What it is called in the list: other suites have servers, too."""
        return self.row()["name"]

    def row(self):
        return next((row for row in self.home.rows("services") if row["port"] == self.port), {"name": "none-such"})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for one in self.processes:
            one.send_signal(signal.SIGINT)
            try:
                one.wait(patience(30))
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait()
        for path in (self.dir, self.run):
            shutil.rmtree(path, ignore_errors=True)


def start_postgres(home, name="pg", *words):
    # The usual place is hidden from sandboxes: a copy is shown in it all the same.
    server = Server(home, name, account("postgres"), "/var/lib/postgresql")
    server.bin = postgres.programs()
    server.data = server.dir + "/data"
    done = server.do(server.bin + "/initdb", "-D", server.data, "-A", "trust", "-N")
    tap.ok(done.returncode == 0, "a cluster is made", done.stderr)
    server.serve(server.bin + "/postgres", "-D", server.data, "-p", str(server.port), "-k", server.run, "-h", "127.0.0.1", "-F", *words)
    server.ask = [server.bin + "/psql", "-X", "-h", server.run, "-p", str(server.port), "-U", server.who.pw_name, "-d", "postgres", "-Atqc"]
    until(lambda: server.do(*server.ask, "select 1").returncode == 0)
    server.do(*server.ask, "create table t(x text); insert into t values ('original')")
    return server


def cloned(home, server):
    uid = server.who.pw_uid
    row = server.row()
    tap.ok(row.get("level") == "native" and row.get("uid") == uid and row.get("yours") is False,
           "another account's service is one that can be cloned", row)
    done = home.call("create", "s", "--with-services", row["name"])
    tap.ok(done.returncode == 4 and "services trust" in done.stderr, "not without agreement", done)
    done = home.call("create", "s", "--with-services", row["name"], "--yes", "--json")
    level = [one["level"] for one in json.loads(done.stdout or "{}").get("services", [])]
    tap.ok(done.returncode == 0 and level == ["native"], "with it a copy is made by its own means", done)
    done = home.call("services", "s")
    tap.ok(f"runs as uid {uid}" in done.stdout and " ready " in done.stdout, "it runs, and as whom is said", done)
    tap.ok([one.get("uid") for one in home.rows("services", "s")] == [uid], "in the object, too")
    done = home.call("exec", "s", "--", *server.ask, "select x from t")
    tap.ok(done.stdout == "original\n", "it answers on the same socket", done)


def identity(home, server):
    """Who the processes are, and whose the places that they use."""
    uid, gid = server.who.pw_uid, server.who.pw_gid
    look = "for f in /proc/[0-9]*; do sed -n '/^Name:/p;/^Uid:/p;/^Gid:/p;/^CapPrm:/p;/^NoNewPrivs:/p' $f/status | tr -s '\\n\\t' '  '; echo; done"
    done = home.call("exec", "s", "--user", f"{uid}:{gid}", "--", "sh", "-c", look)
    lines = [line for line in done.stdout.splitlines() if line.startswith("Name: postgres ")]
    same = f"Uid: {' '.join([str(uid)] * 4)} Gid: {' '.join([str(gid)] * 4)} CapPrm: {'0' * 16} NoNewPrivs: 1"
    tap.ok(len(lines) > 2 and all(same in line for line in lines), "all of its processes are its account's, without capabilities", done)
    done = home.call("exec", "s", "--", "sh", "-c", look)
    tap.ok(done.returncode == 0 and "postgres" not in done.stdout, "the sandbox's user does not see them", done)
    done = home.call("exec", "s", "--", "stat", "-c", "%u:%g %a", server.run, server.data)
    tap.ok(done.stdout.splitlines() == [f"{uid}:{gid} 2775", f"{uid}:{gid} 700"], "its places have its account as owner", done)
    for path in (server.data, server.data + "/PG_VERSION"):
        done = home.call("exec", "s", "--", "cat" if path.endswith("N") else "ls", path)
        tap.ok(done.returncode != 0 and "ermission denied" in done.stderr, "which keeps the sandbox's user out", done)


def attack(home, server):
    """The service turns on its sandbox: it gets neither the user's files nor the user back."""
    theirs, own = "/var/tmp/theirs", f"{server.run}/own"
    done = home.call("exec", "s", "--", "sh", "-c", f"umask 077; echo secret >{theirs}")
    tap.ok(done.returncode == 0, "the sandbox's user has a file", done)
    script = ATTACK.replace("'", "''")
    home.call("exec", "s", "--", *server.ask, "copy (select 1) to program 'touch " + own + "'")
    done = home.call("exec", "s", "--", *server.ask,
                     f"create table said(x text); copy said from program $$python3 -c '{script}' {theirs} {own}$$; select x from said")
    got = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    ids = [str(server.who.pw_uid)] * 3 + [str(server.who.pw_gid)] * 3
    tap.ok(got.get("who") == ":".join(ids) + " []", "its commands are its account's", done)
    for name in ("setuid", "setresuid", "setgid", "setgroups", "unshare", "kill-init", "read-theirs", "write-theirs", "shadow", "run",
                 "secrets", "chown"):
        tap.ok(got.get(name) in ("EPERM", "EACCES"), f"by the service: {name}: {got.get(name)}", done)
    done = home.call("exec", "s", "--", "cat", theirs)
    tap.ok(done.stdout == "secret\n", "the file is as it was", done)
    # What would come of it without an id of its own.
    done = home.call("run", "--", "sh", "-c", 'umask 077; echo >"$2"; exec python3 -c "$1" "$2" "$2"', "sh", ATTACK, theirs)
    got = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    for name in ("setuid", "read-theirs", "write-theirs", "run", "secrets"):
        tap.ok(got.get(name) == "done", f"by the sandbox's user: {name}: {got.get(name)}", done)
    done = home.call("exec", "s", "--", *server.ask, "drop table said")


def life(home, server):
    def ask(text, name="s"):
        return home.call("exec", name, "--", *server.ask, text)

    def content(name="s"):
        return ask("select x from t", name).stdout.strip()

    ask("update t set x='saved'")
    done = home.call("snap", "s")
    tap.ok(done.returncode == 0, "a snapshot is taken while it runs", done)
    ask("drop table t")
    done = home.call("rollback", "s")
    tap.ok(done.returncode == 0 and content() == "saved", "a rollback brings a dropped table back", done)
    ask("update t set x='later'")
    home.call("stop", "s")
    tap.ok(content() == "later", "what was written outlives a stop")
    done = home.call("fork", "s", "f")
    ask("update t set x='fork'", "f")
    tap.ok(content("f") == "fork" and content() == "later", "a fork has one of its own", done)
    tap.ok(home.call("diff", "s", "--name-status").stdout == "", "its data is no change of the sandbox")
    done = home.call("run", "--with-services", server.name(), "--yes", "--", *server.ask, "select x from t")
    tap.ok(done.stdout == "original\n", "run brings it along", done)
    tap.ok(server.do(*server.ask, "select x from t").stdout == "original\n", "the original is as it was")
    owners = {os.lstat(os.path.join(top, name)).st_uid for top, dirs, files in os.walk(server.data) for name in dirs + files}
    tap.equal(owners, {server.who.pw_uid}, "and so are its owners")
    home.call("rm", "s", "f")
    place = home.path + "/.local/share/aisbx/services"
    tap.ok(not os.path.isdir(place) or os.listdir(place) == [], "a removed sandbox leaves no copy")


def filtered(home, server):
    home.put("none.json", '{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": []}')
    for words in (("--profile", "python-narrow"), ("--seccomp", home.work + "/none.json")):
        done = home.call("create", "x", "--with-services", server.name(), "--yes", *words)
        tap.ok(done.returncode == 4 and "leave out the filter" in done.stderr, f"{words[0]}: refused with the way out", done)
    tap.ok(home.call("inspect", "x").returncode == 5, "which leaves no sandbox")


def frozen(home):
    with start_postgres(home, "halted", "-c", "max_wal_senders=0", "-c", "wal_level=minimal") as server:
        # On a busy machine the budget may not do: then it says so, and the server runs on.
        for _ in range(30):
            done = home.call("create", "h", "--with-services", server.name(), "--yes")
            if done.returncode == 0 or not gave_up(done.stderr):
                break
        if gave_up(done.stderr):
            tap.skip("a copy by freezing", "this machine is too busy for the budget, and the command said so")
        else:
            tap.ok("frozen copy" in done.stdout, "one that does not save itself is halted", done)
            done = home.call("exec", "h", "--", *server.ask, "select x from t")
            tap.ok(done.stdout == "original\n", "and starts from its copy", done)
            home.call("rm", "h")
        tap.ok(server.do(*server.ask, "select x from t").stdout == "original\n", "it answers")


def start_redis(server):
    """Its socket."""
    socket = server.run + "/server.sock"
    with open(server.dir + "/redis.conf", "w") as file:
        file.write(f"port {server.port}\nbind 127.0.0.1\ndir {server.dir}\nunixsocket \"{socket}\"\nunixsocketperm 777\n")
    server.serve("redis-server", server.dir + "/redis.conf")
    until(lambda: server.do("redis-cli", "-p", str(server.port), "set", "k", "original").returncode == 0)
    return socket


def schema(home, server):
    done = home.call("create", "o", "--with-services", server.name(), "--schema-only", "--yes")
    tap.ok(done.returncode == 0 and "schema copy" in done.stdout, "a schema is made anew by the account", done)
    done = home.call("exec", "o", "--", *server.ask, "select count(*) from t")
    tap.ok(done.stdout == "0\n", "its table is empty", done)
    owners = home.call("exec", "o", "--user", str(server.who.pw_uid), "--", "find", server.data, "!", "-user", str(server.who.pw_uid)).stdout
    tap.equal(owners, "", "its files are the account's")
    home.call("rm", "o")


def together(home, server):
    """Halted by root, copied each by a process of its own account."""
    with Server(home, "redis-together", account("redis")) as other:
        start_redis(other)
        for _ in range(30):
            done = home.call("create", "g", "--with-services", f"{server.name()},{other.name()}", "--services-together", "--yes")
            if done.returncode == 0 or not gave_up(done.stderr):
                break
        if gave_up(done.stderr):
            tap.skip("copies of one instant", "this machine is too busy for the pause, and the command said so")
            return
        tap.ok(done.stdout.count("together copy") == 2, "services of several accounts are copied together", done)
        tap.ok(home.call("exec", "g", "--", *server.ask, "select x from t").stdout == "original\n", "one of them answers")
        tap.ok(home.call("exec", "g", "--", "redis-cli", "-p", str(other.port), "get", "k").stdout == "original\n", "and the other")
        home.call("rm", "g")


def redis(home):
    with Server(home, "redis", account("redis"), run="aisbx.") as server:
        socket = start_redis(server)
        done = home.call("create", "r", "--with-services", server.name(), "--yes")
        tap.ok(done.returncode == 0 and "native copy" in done.stdout, "redis of another account is cloned", done)
        uid = server.who.pw_uid
        for way in (("-p", str(server.port)), ("-s", socket)):
            done = home.call("exec", "r", "--", "redis-cli", *way, "get", "k")
            tap.ok(done.stdout == "original\n", f"it answers to {way[0]}", done)
        done = home.call("exec", "r", "--user", str(uid), "--", "pgrep", "-u", str(uid), "redis-server")
        tap.ok(done.returncode == 0 and done.stdout.strip(), "and runs as its account", done)
        home.call("exec", "r", "--", "redis-cli", "-p", str(server.port), "set", "k", "changed")
        tap.ok(server.do("redis-cli", "-p", str(server.port), "get", "k").stdout == "original\n", "the original is as it was")
        home.call("rm", "r")
    with Server(home, "redis", account("redis"), run="aisbx and ") as server:
        start_redis(server)
        done = home.call("create", "r", "--with-services", server.name(), "--yes")
        tap.ok("ended inside" in done.stderr and "ocket" in done.stderr, "of a directory with a name that no plan has it says itself", done)


def listed(home):
    """What cannot be started inside, and what only looks like a service."""
    wait = "import os, socket, sys; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); os.chdir(sys.argv[2]);" \
           "open('/proc/self/comm', 'w').write('postgres'); print(flush=True); sys.stdin.read()"
    for uid, where, why in ((BEYOND, "/", "beyond 65534"), (postgres.NOBODY, "/etc", "belongs to another user")):
        port = free_port()
        one = subprocess.Popen(["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", sys.executable, "-c", wait, str(port), where],
                               cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            if not one.stdout.readline():
                tap.skip(why, "no process of that id can be had here")
                continue
            row = next((row for row in home.rows("services") if row["port"] == port), {})
            tap.ok(row.get("level") == "refused" and why in (row.get("why") or ""), f"refused: {why}", row)
        finally:
            one.communicate()


def main():
    with Home("aisbx-service-users.") as home:
        if os.geteuid() != 0:
            found = home.rows("services")
            tap.ok(all(row["yours"] or row["level"] == "refused" for row in found), "to a plain user services of others are refused", found)
            tap.skip("services of other accounts", "only root's sandboxes have other ids")
            return tap.done()
        if not home.can_run(tap, "services of other accounts"):
            return tap.done()
        listed(home)
        if shutil.which("redis-server"):
            redis(home)
        else:
            tap.skip("redis", "redis-server is not installed")
        if not postgres.programs():
            tap.skip("postgres", "PostgreSQL is not installed")
            return tap.done()
        with start_postgres(home) as server:
            for test in (cloned, identity, attack, life, filtered, schema):
                test(home, server)
            if shutil.which("redis-server"):
                together(home, server)
        frozen(home)
    return tap.done()


sys.exit(main())
