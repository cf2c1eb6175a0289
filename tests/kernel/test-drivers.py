#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same cases against every driver that is here; what one cannot do is declared in its row, and asserted from it.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it; the suite's runner does so as root and as a plain user.
The attacks run once without a sandbox, against things made for that, and have to succeed there. Ends only processes that it
started itself, by their numbers.
"""
import contextlib
import ctypes
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import family
from box import patience
from clitest import AISBX, Home, Tap
from family import until

tap = Tap()
PYTHON = "/usr/bin/python3"
SHM_KEY = 0x41000000 | os.getpid()
IPC_CREAT, IPC_EXCL, IPC_RMID = 0o1000, 0o2000, 0

# Each prints its name where it gets through. HOME_DIR and VICTIM are filled in.
ATTACKS = {
    "a socket by its path": "s = socket.socket(socket.AF_UNIX); s.connect(D + '/bus'); s.send(b'x')",
    "a datagram from a pair": "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.sendto(b'x', D + '/datagrams')",
    "a datagram from a raw pair": "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW); a.sendto(b'x', D + '/datagrams')",
    "an abstract socket": "s = socket.socket(socket.AF_UNIX); s.connect('\\0' + 'walls' + str(V)); s.send(b'x')",
    "a truncated file": "os.truncate(D + '/file', 1)",
    "another mode": "os.chmod(D + '/file', 0o640)",
    "another mode by a descriptor": "f = os.open(D + '/file', os.O_RDONLY); os.fchmod(f, 0o604)",
    "another time": "os.utime(D + '/file', (1, 1))",
    "an attribute": "os.setxattr(D + '/file', 'user.walls', b'x')",
    "a mode through a link": "os.symlink(D + '/file', 'link'); os.chmod('link', 0o600)",
    "a mode beyond the copy": "os.chmod('../' * 40 + D[1:] + '/file', 0o606)",
    "a new file": "open(D + '/new', 'w').write('x')",
    "a file removed": "os.remove(D + '/remove')",
    "a file that is hidden": "open(D + '/.ssh/id_rsa').read()",
    "a signal": "os.kill(V, signal.SIGUSR1)",
    "a trace": "import ctypes; assert ctypes.CDLL(None).ptrace(16, V, 0, 0) == 0; os.waitpid(V, 0x40000000); "
               "ctypes.CDLL(None).ptrace(17, V, 0, 0)",
    "the victim's variables": "assert b'SECRET_OF_VICTIM' in open(f'/proc/{V}/environ', 'rb').read()",
    "the victim's memory": "open(f'/proc/{V}/mem', 'rb').close()",
    "the victim's limits": "import resource; resource.prlimit(V, resource.RLIMIT_NOFILE, (77, 77))",
    "the victim's priority": "os.setpriority(os.PRIO_PROCESS, V, 19)",
    "shared memory by key": f"import ctypes; assert ctypes.CDLL(None).shmget({SHM_KEY}, 4096, 0o666) >= 0",
    "a connection": "s = socket.create_connection(('127.0.0.1', P), 2); s.send(b'x')",
}


def rows():
    done = subprocess.run([AISBX, "drivers", "--json"], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@contextlib.contextmanager
def hidden_files_stay():
    """bwrap does not start when a file goes meanwhile that the plan hides: the suite that removes one of /etc (escape/leaks) waits."""
    fd = os.open("/etc", os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH)
        yield
    finally:
        os.close(fd)


def wants(home, driver):
    """Functions that run with DRIVER: the finished process, and its result."""
    run = lambda *words, **kw: home.call("run", "--driver", driver, *words, **kw)
    data = lambda *words, **kw: json.loads(run("--json", *words, **kw).stdout or "{}")
    return run, data


def basics(home, row):
    run, data = wants(home, row["name"])
    name = row["name"]
    found = data("--", "sh", "-c", "cat; echo out; echo err >&2; exit 3", stdin="in\n")
    tap.equal([found.get(k) for k in ("status", "exit_code", "stdout", "stderr")], ["error", 3, "in\nout\n", "err\n"],
              f"{name}: streams, stdin and exit code")
    tap.equal([found.get("driver"), found.get("isolation")], [name, row["isolation"]], f"{name}: says what it is")
    tap.ok(set(row["degraded"]) <= set(found.get("degraded", [])), f"{name}: what its row lacks is degraded", found)
    if name != "linux":
        tap.equal(found.get("workspace"), "copied", f"{name}: says that the workspace is a copy")
    for layer in row["degraded"][:1]:
        refused = run("--require", layer, "--", "true")
        tap.ok(refused.returncode == 125 and layer in refused.stderr, f"{name}: --require {layer} is refused", refused)
    tap.equal(run("--", "no-such-program").returncode, 127, f"{name}: not found is 127")
    tap.equal(run("--", "sh", "-c", "kill -TERM $$").returncode, 143, f"{name}: a signal is 128 and its number")
    found = data("--", "sh", "-c", 'pwd; echo "$AISBX_WORKSPACE"; echo "${SECRET_OF_CALLER-none}"; : > "${TMPDIR:-/tmp}/t" && echo t')
    lines = found.get("stdout", "").split("\n")
    tap.ok(lines[2:4] == ["none", "t"], f"{name}: variables are cleared, temporary files work", found)
    if name != "linux":
        tap.equal(lines[1], home.work, f"{name}: AISBX_WORKSPACE names the real path")


def limits(home, row):
    run, data = wants(home, row["name"])
    name = row["name"]
    found = data("--time", "1s", "--", "sleep", "600")
    tap.equal([found.get("status"), found.get("exit_code")], ["timeout", 124], f"{name}: time")
    found = data("--mem", "64m", "--", "tail", "/dev/zero")
    tap.ok(found.get("status") == "oom", f"{name}: memory", found.get("status"))
    found = data("--fsize", "1m", "--", "sh", "-c", "head -c 2m /dev/zero > big")
    tap.ok(found.get("exit_code") != 0, f"{name}: size of a file", found)
    for flags in (["--allow", "example.org:443"],):
        if name != "linux":
            refused = run(*flags, "--", "true")
            tap.ok(refused.returncode == 125 and "network" in refused.stderr, f"{name}: rules of a network are refused", refused)


def ends(home, row):
    """Nothing is left: after the command, after a signal, after the death of the supervisor."""
    name = row["name"]
    mark = f"{os.getpid()}.{name}.walls"
    script = f"setsid sh -c 'setsid sleep 600.{os.getpid()} & exec sleep 600.{os.getpid()}' & sleep 0.2; echo up"
    alive = lambda: [p for p in family.descendants(1) if f"600.{os.getpid()}" in command_of(p)]
    run, _ = wants(home, name)
    tap.equal(run("--", "sh", "-c", script).stdout, "up\n", f"{name}: a command that leaves processes behind")
    tap.ok(until(lambda: not alive(), patience(20)), f"{name}: they are ended", mark)
    for number, what in ((signal.SIGTERM, "TERM"), (signal.SIGKILL, "KILL")):
        child = subprocess.Popen([AISBX, "run", "--driver", name, "-C", home.work, "--", "sh", "-c",
                                  f"echo up; setsid sleep 600.{os.getpid()} & exec sleep 600.{os.getpid()}"],
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=home.env, cwd=home.work, text=True)
        tap.equal(child.stdout.readline(), "up\n", f"{name}: one to be ended by {what}")
        child.send_signal(number)
        child.wait(timeout=patience(60))
        child.stdout.close()
        tap.ok(until(lambda: not alive(), patience(20)), f"{name}: nothing is left after {what}")
    tops = lambda: [one for one in os.listdir(caches) if one.startswith("top-")] if os.path.isdir(caches) else []
    caches = home.path + "/.local/share/aisbx/caches"
    tap.equal(len(tops()), int(name != "linux"), f"{name}: the copy of a killed run is there")
    tap.ok(until(lambda: home.call("ls").returncode == 0 and not tops(), patience(20)), f"{name}: the next command removes it", tops())


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def changes(home, row):
    """diff, promote, delete, modes and links through the layer."""
    name, box = row["name"], f"kept-{row['name']}"
    for path, text in (("same", "same\n"), ("edit", "old\n"), ("gone", "x\n"), ("d/inner", "x\n"), ("swap/a", "a\n"), ("kind", "f\n")):
        os.makedirs(os.path.dirname(f"{home.work}/{path}"), exist_ok=True)
        with open(f"{home.work}/{path}", "w") as file:
            file.write(text)
    done = home.call("run", "--driver", name, "--keep", box, "--", "sh", "-c",
                     "echo new > edit; rm gone; rm -r d; mkdir d; echo y > d/other; mkdir -p deep/er; echo z > deep/er/f; "
                     "mv swap moved; rm kind; ln -s same kind; chmod 700 same")
    tap.equal(done.returncode, 0, f"{name}: a run that is kept")
    diff = home.call("diff", box, "--name-status")
    lines = set(line.split("\t")[-1] for line in diff.stdout.splitlines())
    tap.ok({"edit", "gone", "d/inner", "d/other", "deep/er/f", "kind", "same"} <= lines and lines & {"moved/a", "moved/"},
           f"{name}: diff", diff)
    tap.ok(open(f"{home.work}/edit").read() == "old\n" and os.path.exists(f"{home.work}/gone"), f"{name}: the host is as it was")
    done = home.call("promote", box)
    tap.equal(done.returncode, 0, f"{name}: promote", )
    look = lambda path: open(f"{home.work}/{path}").read() if os.path.exists(f"{home.work}/{path}") else None
    tap.equal([look("edit"), look("gone"), look("d/inner"), look("d/other"), look("deep/er/f"), look("moved/a"), look("swap/a"),
               os.path.islink(f"{home.work}/kind"), os.stat(f"{home.work}/same").st_mode & 0o777],
              ["new\n", None, None, "y\n", "z\n", "a\n", None, True, 0o700], f"{name}: all of it is on the host")
    owners = {os.stat(f"{home.work}/{path}").st_uid for path in ("edit", "d", "d/other", "deep", "deep/er/f", "moved/a")}
    tap.equal(owners, {os.geteuid()}, f"{name}: the caller owns it")
    with open(f"{home.work}/edit", "w") as file:
        file.write("base\n")
    home.call("run", "--driver", name, "--keep", box + "2", "--", "sh", "-c", "echo theirs > edit")
    with open(f"{home.work}/edit", "w") as file:
        file.write("host moved\n")
    done = home.call("promote", box + "2")
    tap.ok(done.returncode == 3 and look("edit") == "host moved\n", f"{name}: the host's change is a conflict", done)


def unseen(home, row):
    """What the copy leaves out is neither removed with its directory nor replaced."""
    name = row["name"]
    if name == "linux":
        return
    is_plain = os.geteuid() != 0  # root reads all files, and sees them
    for number, script in enumerate(("rm -rf up", "rm -rf up; mkdir -p up/d", "mv up away")):
        base = f"{home.work}/u{number}"
        os.makedirs(f"{base}/up/d")
        for path in ("up/d/private", "up/seen"):
            with open(f"{base}/{path}", "w") as file:
                file.write("host's\n")
        os.chmod(f"{base}/up/d/private", 0)
        made = socket.socket(socket.AF_UNIX)
        made.bind(f"{base}/up/d/bus")
        made.close()
        done = home.call("run", "--driver", name, "--write", "workspace", "--", "sh", "-c", f"cd u{number} && {script}")
        tap.ok(done.returncode == 0 and os.path.exists(f"{base}/up/d/private") == is_plain and os.path.exists(f"{base}/up/d/bus")
               and not os.path.exists(f"{base}/up/seen"), f"{name}: {script}: what it could not see stays", done)
        home.call("run", "--driver", name, "--keep", f"u{number}", "--", "sh", "-c", f"cd u{number} && {script}")
        done = home.call("promote", f"u{number}")
        tap.ok(os.path.exists(f"{base}/up/d/bus"), f"{name}: {script}: nor is it gone after promote", done)
    for script in ("rm -rf u0/up; echo x > u0/up", "rm -f u0/up/d/bus; echo x > u0/up/d/bus"):
        done = home.call("run", "--driver", name, "--write", "workspace", "--", "sh", "-c", script)
        tap.ok(done.returncode != 0 and "its copy is left in" in done.stderr and os.path.exists(f"{home.work}/u0/up/d/bus"),
               f"{name}: {script}: is refused", done)


def shut(home, row):
    """Directories that the command, or the host, has shut: what was written is kept, and the area stays open."""
    name = row["name"]
    if name == "linux":
        return
    for number, script in enumerate(("chmod 555 sub", "chmod 0 sub/in", "chmod 555 .", "rm -r sub/in; chmod 500 sub", "true")):
        top = f"{home.work}/s{number}"
        os.makedirs(f"{top}/sub/in")
        for path in ("a", "in/b"):
            with open(f"{top}/sub/{path}", "w") as file:
                file.write("old\n")
        if script == "true":
            os.chmod(f"{top}/sub", 0o555)
            script = "chmod 755 sub; echo more > sub/c; chmod 555 sub"
        done = home.call("run", "--driver", name, "--keep", f"s{number}", "-C", top, "--", "sh", "-c",
                         f"echo new > sub/a; echo new > sub/in/b; {script}")
        shown = home.call("diff", f"s{number}", "--name-status")
        tap.ok(done.returncode == 0 and "sub/a" in shown.stdout, f"{name}: {script}: is kept", (done, shown))
    done = home.call("run", "--driver", name, "--", "sh", "-c", 'chmod 0 "$HOME/.." "$TMPDIR/.."; echo x > made')
    tap.equal(done.returncode, 0, f"{name}: the area cannot be shut")
    caches = [at for at, _, _ in os.walk(home.path) if "/caches/top-" in at]
    tap.equal(caches, [], f"{name}: no copy is left")


def stays(home, row):
    """Snapshots and races over the layer; a command that enters only where the row says so."""
    name = row["name"]
    with open(f"{home.work}/f", "w") as file:
        file.write("one\n")
    home.call("run", "--driver", name, "--keep", "s", "--", "sh", "-c", "echo two > f; echo x > n")
    tap.equal(home.call("snap", "s").returncode, 0, f"{name}: snap")
    done = home.call("fork", "s", "t")
    tap.equal(done.returncode, 0, f"{name}: fork")
    tap.ok("two" in home.call("diff", "t").stdout, f"{name}: the fork has the changes")
    done = home.call("exec", "s", "--", "cat", "f")
    tap.ok((done.stdout == "two\n") if row["exec"] else (done.returncode == 125 and name in done.stderr),
           f"{name}: exec works, or is refused with a reason", done)
    done = home.call("race", "--driver", name, "--check", "grep -q right f", "-c", "wrong=echo wrong > f",
                     "-c", "right=echo right > f", "--json")
    found = json.loads(done.stdout.splitlines()[-1] if done.stdout else "{}")
    tap.equal(found.get("winner"), "right", f"{name}: race")


def weaker(home):
    """`auto` takes landlock by the user's word alone, where nothing else can run, and says so."""
    bare = ["unshare", "-Ur", "sh", "-c", 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', "sh"]
    config, words = home.path + "/.config/aisbx/config.yaml", [AISBX, "run", "--driver", "auto", "--json", "--", "echo", "ran"]
    if os.geteuid() == 0 or subprocess.run([*bare, "true"], capture_output=True).returncode != 0:
        tap.skip("a weaker driver", "only a plain user's namespace can be kept from having others")
        return
    call = lambda argv: subprocess.run(argv, capture_output=True, text=True, env=home.env, cwd=home.work)
    result = lambda done: json.loads(done.stdout or "{}")
    os.makedirs(os.path.dirname(config), exist_ok=True)
    for text, driver in (("", None), ("allow_weaker: chroot\n", None), ("allow_weaker: landlock\n", "landlock")):
        with open(config, "w") as file:
            file.write(text)
        done = call([*bare, *words])
        found = result(done)
        if not driver:
            tap.ok(done.returncode == 125 and "ran" not in found.get("stdout", ""), f"auto: {text!r} allows nothing weaker", done)
            continue
        tap.equal([found.get("driver"), found.get("stdout")], [driver, "ran\n"], "auto: landlock where the user allows it")
        tap.ok("allow_weaker" in str(found.get("notes")) and "user" in found.get("degraded", []), "auto: and the result says so", found)
    tap.equal(result(call(words)).get("driver"), "linux", "auto: linux where that runs")


def bare_root():
    """Root as a container has it by default: no driver is there, and each says what to do."""
    bare = ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin", AISBX]
    if os.geteuid() != 0 or subprocess.run([*bare[:-1], "true"], capture_output=True).returncode != 0:
        tap.skip("root without CAP_SYS_ADMIN", "only root can give it up")
        return
    found = [json.loads(line) for line in subprocess.run([*bare, "drivers", "--json"], capture_output=True, text=True).stdout.splitlines()]
    tap.ok(found and all(not row["available"] and "CAP_SYS_ADMIN" in row["why"] for row in found), "a bare root has no driver", found)
    done = subprocess.run([*bare, "run", "--driver", "landlock", "--", "true"], capture_output=True, text=True)
    tap.ok(done.returncode == 125 and "plain user" in done.stderr and done.stderr.count("\n") == 1, "and one sentence says what to do", done)


class Victims:
    """What attacks are aimed at: files, sockets, a process. Made anew for each turn."""

    def __init__(self, home, port):
        self.dir = home.path
        self.port = port
        os.makedirs(self.dir + "/.ssh", exist_ok=True)
        for path in ("file", "remove", ".ssh/id_rsa"):
            with open(f"{self.dir}/{path}", "w") as file:
                file.write("host's\n")
        os.chmod(self.dir + "/file", 0o644)
        os.utime(self.dir + "/file", (10**9, 10**9))
        self.process = subprocess.Popen(["sleep", "600"], env={"SECRET_OF_VICTIM": "1", "PATH": os.environ["PATH"]})
        self.sockets = []
        for kind, place in ((socket.SOCK_STREAM, self.dir + "/bus"), (socket.SOCK_DGRAM, self.dir + "/datagrams"),
                            (socket.SOCK_STREAM, f"\0walls{self.process.pid}")):
            made = socket.socket(socket.AF_UNIX, kind)
            made.bind(place)
            if kind == socket.SOCK_STREAM:
                made.listen(8)
            self.sockets.append(made)

    def script(self, body):
        return (f"import os, signal, socket\nD = {self.dir!r}; V = {self.process.pid}; P = {self.port}\n"
                f"try:\n    exec({body!r})\n    print('through')\nexcept BaseException as e:\n    print('held', repr(e))\n")

    def close(self):
        self.process.kill()
        self.process.wait()
        for made in self.sockets:
            made.close()
        for path in ("bus", "datagrams", "new"):
            if os.path.exists(f"{self.dir}/{path}"):
                os.remove(f"{self.dir}/{path}")

    def untouched(self):
        st = os.stat(self.dir + "/file")
        return (st.st_mode & 0o777, st.st_mtime, st.st_size, os.path.exists(self.dir + "/remove"), self.process.poll()) == \
            (0o644, 10**9, 7, True, None)


def shared_memory():
    """A segment that the attack by key finds: its own, so that the one that is there is never another program's."""
    made = ctypes.CDLL(None, use_errno=True).shmget(SHM_KEY, 4096, IPC_CREAT | IPC_EXCL | 0o666)
    tap.ok(made >= 0, "a segment to be found by its key", os.strerror(ctypes.get_errno()))
    return made


def attacks(home, drivers):
    """Each gets through without a sandbox, and through none of the drivers."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    segment = shared_memory()
    try:
        for what, body in ATTACKS.items():
            with hidden_files_stay():
                attack(home, drivers, what, body, listener.getsockname()[1])
    finally:
        ctypes.CDLL(None).shmctl(segment, IPC_RMID, None)
        listener.close()


def attack(home, drivers, what, body, port):
    """One of them: without a sandbox first."""
    victims = Victims(home, port)
    bare = subprocess.run([PYTHON, "-c", victims.script(body)], capture_output=True, text=True, cwd=home.path)
    victims.close()
    tap.ok(bare.stdout.startswith("through"), f"without a sandbox: {what}", bare)
    for link in ("link",):
        if os.path.islink(f"{home.path}/{link}"):
            os.remove(f"{home.path}/{link}")
    for row in drivers:
        if what == "shared memory by key" and row["name"] in ("linux", "chroot", "bwrap"):
            continue  # of its own, not the host's
        victims = Victims(home, port)
        done = home.call("run", "--driver", row["name"], "--", PYTHON, "-c", victims.script(body))
        shown = "through" in done.stdout and victims.untouched() and row["name"] in ("linux", "bwrap", "chroot") and \
            what in ("a new file", "a file removed", "a mode beyond the copy", "a mode through a link", "another mode",
                     "another mode by a descriptor", "another time", "a truncated file", "an attribute", "the victim's priority",
                     "the victim's limits")
        # A tree of its own, or another process of that number, may be changed: the host's is not.
        tap.ok(victims.untouched() and (shown or done.stdout.startswith("held")), f"{row['name']}: {what}", done)
        victims.close()


def devices(home, row):
    """The host's nodes keep their times; they stay devices."""
    name = row["name"]
    run, _ = wants(home, name)
    if name == "bwrap" and os.geteuid() != 0:
        tap.ok("touch device nodes" in row["cannot_enforce"], f"{name}: says that device nodes can be touched")
        return
    nodes = ("/dev/zero", "/dev/full", "/dev/urandom")
    times = lambda: [(os.stat(node).st_mtime_ns, os.stat(node).st_ctime_ns) for node in nodes]
    before = times()
    done = run("--", "sh", "-c", f"for f in {' '.join(nodes)}; do touch $f; done; echo x > /dev/null && head -c 1 /dev/zero | wc -c")
    tap.equal([times(), done.stdout.strip()], [before, "1"], f"{name}: the host's device nodes keep their times, and work")


def closed_home(home, row):
    """A HOME that other accounts cannot enter, as root's is, with tools in it: shown where it can be, and no hindrance elsewhere."""
    name = row["name"]
    run, _ = wants(home, name)
    for path in (".cargo/bin/tool", ".cache/ccache/x"):
        home.put(f"{home.path}/{path}", "x\n")
    os.chmod(home.path, 0o700)
    done = run("-C", home.work, "--", "echo", "ran")
    tap.equal([done.returncode, done.stdout], [0, "ran\n"], f"{name}: a closed HOME with tools in it")


def fifos(home, row):
    """A fifo of the host, which a read-only mount does not protect; root makes one where a sandbox sees it."""
    name = row["name"]
    if os.geteuid() != 0:
        tap.skip(f"{name}: a fifo of the host", "needs a place that is shown, which root has")
        return
    run, _ = wants(home, name)
    with tempfile.TemporaryDirectory(dir="/opt", prefix="drivers-") as place:
        os.chmod(place, 0o755)
        os.mkfifo(place + "/fifo")
        os.chmod(place + "/fifo", 0o666)
        reader = os.open(place + "/fifo", os.O_RDONLY | os.O_NONBLOCK)
        writing = f"import os; os.write(os.open({place + '/fifo'!r}, os.O_WRONLY | os.O_NONBLOCK), b'x')"
        bare = subprocess.run([PYTHON, "-c", writing], check=False)
        tap.equal([bare.returncode, os.read(reader, 9)], [0, b"x"], f"{name}: a fifo is written to without a sandbox")
        done = run("--", PYTHON, "-c", writing)
        if "written to" in (row["cannot_enforce"] or ""):
            tap.equal(name, "bwrap", f"{name}: alone says that fifos can be written to")
        else:
            tap.ok(done.returncode == 1 and os.read(reader, 9) == b"", f"{name}: a fifo of the host is not written to", done)
        os.close(reader)
        own = run("--", "sh", "-c", "mkfifo own && (echo x > own & cat own) && t=${TMPDIR:-/tmp}/f && echo y > $t && cat $t && "
                  "mkdir d e && echo z > d/f && mv d/f e/ && : > e/f")
        tap.equal([own.returncode, own.stdout], [0, "x\ny\n"], f"{name}: its own fifos and directories can be written to")


def measured(home, drivers):
    """Start times are shown once they were measured, from a file of the caller's own."""
    times = lambda: {row["name"]: (row["start_ms"], row["measured"]) for row in home.rows("drivers")}
    tap.equal(set(times().values()), {(None, None)}, "no start times before they are measured")
    done = home.call("drivers", "--measure")
    first = times()
    tap.ok(done.returncode == 0 and all(first[row["name"]][0] > 0 and first[row["name"]][1].endswith("Z") for row in drivers),
           "start times of every driver that is here, with their date", (done, first))
    tap.ok(f"starts in {first['linux'][0]:.1f} ms" in home.call("drivers").stdout, "drivers: the table shows them")
    tap.equal(home.rows("history"), [], "what was started to measure is not in the history")
    kept = home.path + "/.cache/aisbx/driver-starts"
    for name, text in (("strange", "linux x y\nlinux\nlandlock -5 1\n\0\n"), ("empty", "")):
        with open(kept, "w", encoding="utf-8") as file:
            file.write(text)
        tap.equal(set(times().values()), {(None, None)}, f"a file with {name} lines says nothing")
    with open(kept, "w", encoding="utf-8") as file:
        file.write("linux 1 1\n")
    os.chmod(kept, 0o666)
    tap.equal(times()["linux"], (None, None), "a file that others can write to is not believed")
    os.remove(kept)
    os.mkfifo(kept)
    tap.equal(times()["linux"], (None, None), "a fifo in its place is not waited for")


def place_of(pid):
    """The directory that a measuring process works in, once it has one."""
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            found = os.readlink(f"/proc/{pid}/fd/{fd}")
            if found.startswith("/var/tmp/aisbx-tmp-") and os.path.exists(found + "/work"):
                return found
    return None


def works_in(place):
    """Whether a process is left that was started there."""
    for pid in filter(str.isdigit, os.listdir("/proc") if place else ()):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
            if os.fsencode(place) in file.read():
                return True
    return False


def measured_killed(home):
    """The directory goes after the last of those that write to it."""
    for number in (signal.SIGKILL, signal.SIGINT, signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
        child = subprocess.Popen([AISBX, "drivers", "--measure"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=home.env,
                                 cwd=home.work)
        until(lambda: works_in(place_of(child.pid)), patience(30))
        place = place_of(child.pid)
        child.send_signal(number)
        child.wait(timeout=patience(60))
        tap.ok(place and until(lambda: not works_in(place), patience(60)) and until(lambda: not os.path.exists(place), patience(30)),
               f"measuring ended by signal {int(number)} leaves nothing", place)


def main():
    os.environ["SECRET_OF_CALLER"] = "1"
    here = rows()
    tap.equal([row["name"] for row in here][:4], ["linux", "landlock", "bwrap", "chroot"], "the table's order")
    drivers = [row for row in here if row["available"] and row["name"] not in ("wasm", "fake")]
    for row in here:
        if not row["available"]:
            tap.skip(row["name"], row["why"])
            with Home("drivers-") as home:
                done = home.call("run", "--driver", row["name"], "--", "true")
                tap.equal(done.returncode, 125, f"{row['name']}: refused with its reason")
    for row in drivers:
        for test in (basics, limits, ends, changes, unseen, shut, stays, devices, closed_home, fifos):
            with Home("drivers-") as home, hidden_files_stay():
                tap.attempt(test, home, row)
    tap.attempt(bare_root)
    if any(row["name"] == "landlock" for row in drivers):
        with Home("drivers-") as home:
            tap.attempt(weaker, home)
    with Home("aisbx-test-drivers-") as home, hidden_files_stay():
        tap.attempt(measured, home, drivers)
        tap.attempt(measured_killed, home)
    with Home("drivers-") as home:
        os.chmod(home.path, 0o755)
        tap.attempt(attacks, home, drivers)
    tap.done()


main()
