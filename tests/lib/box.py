# SPDX-License-Identifier: Apache-2.0
"""Running the program and the attack: results, pipes, ptys, timeouts."""
import base64
import errno
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import time

ERRNOS = set(errno.errorcode.values())


def slow():
    """Whether the build under test is an instrumented one; sizes and patience are scaled by it."""
    return os.environ.get("AISBX_SLOW", "") not in ("", "0")


def without_leak_search(env):
    """ENV for an instrumented build where leaks cannot be looked for: it takes a process and the right to trace."""
    return {**env, "ASAN_OPTIONS": env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}


def patience(seconds):
    """A time limit for a busy machine: never a measure, only the end of hope."""
    given = os.environ.get("AISBX_PATIENCE")
    return seconds * (float(given) if given else 12 if slow() else 6)


def hope(seconds):
    """The same as a sandbox's own limit: what is to succeed within it must, on a busy machine as well."""
    return f"{int(patience(seconds))}s"


def find_program():
    program = os.environ.get("AISBX") or shutil.which("aisbx")
    if not program or not os.access(program, os.X_OK):
        print("Bail out! AISBX must name the program")
        raise SystemExit(1)
    return os.path.realpath(program)


def parse_probes(text):
    """The attack's lines as pairs of name and answer, in order; names may repeat."""
    pairs = []
    for line in text.splitlines():
        name, tab, answer = line.partition("\t")
        if tab:
            pairs.append((name, answer))
    return pairs


class Result:
    """What came of one call: exit code, streams, the result object when there is one, the attack's probes."""

    def __init__(self, code, out, err, as_json):
        self.code = code
        self.err = err.decode(errors="replace")
        self.raw = out
        self.json = {}
        self.out = out.decode(errors="replace")
        if as_json:
            try:
                self.json = json.loads(self.out)
            except ValueError:
                self.json = {}
            self.object_text = self.out
            self.out = self.stream("stdout")
            self.err_inside = self.stream("stderr")
        else:
            self.err_inside = self.err
        self.probes = parse_probes(self.out)
        self.status = self.json.get("status")

    def stream(self, name):
        text = self.json.get(name) or ""
        if self.json.get(name + "_encoding") == "base64":
            return base64.b64decode(text).decode(errors="replace")
        return text

    def probe(self, name):
        for key, answer in self.probes:
            if key == name:
                return answer
        return None

    def __str__(self):
        shown = {k: v for k, v in self.json.items() if k not in ("stdout", "stderr")}
        return f"exit {self.code} out {self.out[-600:]!r} err {self.err[-600:]!r} {self.err_inside[-300:]!r} {shown}"


# What a ready sandbox cannot have: such calls are the same with a daemon and without.
NEVER_READY = {"--allow", "--net", "--ro", "--rw", "--rw-through", "--secret"}


class Box:
    """Calls made as one caller."""

    def __init__(self, caller, attack):
        self.caller = caller
        self.attack_path = attack

    def enter(self, command, flags, as_json, workspace):
        """The same by `exec` in a sandbox of its own, made with these flags; it ends by itself, its supervisor too."""
        self.caller.env["AISBX_KEEPER_IDLE_MS"] = "1"
        self.caller.sandboxes = getattr(self.caller, "sandboxes", 0) + 1
        name = f"x{os.getpid()}-{self.caller.sandboxes}"
        made = subprocess.run([self.caller.program, "create", "-C", workspace or self.caller.workspace,
                               *map(str, flags), name], capture_output=True, cwd=workspace or self.caller.workspace,
                              env=self.caller.env, check=False, **self.caller.identity())
        if made.returncode != 0:
            raise AssertionError(f"create {flags}: {made.stderr.decode(errors='replace')}")
        return [self.caller.program, "exec"] + (["--json"] if as_json else []) + [name, "--"] + [str(c) for c in command]

    def argv(self, command, flags=(), as_json=True, workspace=None):
        if os.environ.get("AISBX_VIA") == "exec":
            return self.enter(command, flags, as_json, workspace)
        head = [self.caller.program, "run"] + (["--json"] if as_json else [])
        return head + ["-C", workspace or self.caller.workspace] + [str(f) for f in flags] + ["--"] + [str(c) for c in command]

    def popen(self, command, flags=(), as_json=True, cwd=None, env=None, workspace=None, **kw):
        kw.setdefault("stdin", subprocess.DEVNULL)
        kw.setdefault("stdout", subprocess.PIPE)
        kw.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen(self.argv(command, flags, as_json, workspace), cwd=cwd or workspace or self.caller.workspace,
                                env={**self.caller.env, **(env or {})}, **self.caller.identity(), **kw)

    def run(self, *command, flags=(), as_json=True, **kw):
        """One `run`, waited for; with AISBX_VIA=pool in a sandbox that a daemon had ready, and in no other where there can be one."""
        if os.environ.get("AISBX_VIA") != "pool" or self.caller.uid == 0 or NEVER_READY & set(map(str, flags)):
            return self.run_cold(*command, flags=flags, as_json=as_json, **kw)
        import pool  # these two need this module
        from aisbxtest import Skip

        with pool.Daemon(self.caller) as daemon:
            around = {key: kw[key] for key in ("workspace", "cwd", "env") if key in kw}
            # On a busy machine the daemon may not answer in time: then the call is made once more. One that is refused has no start.
            for _ in range(5):
                daemon.warm(self, flags, **around)
                result = self.run_cold(*command, flags=flags, as_json=as_json, **kw)
                if result.json.get("start") != "cold":
                    return result
        # What ran cold says nothing about the pool. A suite of which nothing came from it has skipped everything, and fails.
        raise Skip("the daemon was too busy to hand over a sandbox, five times")

    def run_cold(self, *command, flags=(), as_json=True, timeout=120, stdin=None, **kw):
        """One `run` as it comes."""
        if isinstance(stdin, bytes):
            kw["stdin"] = subprocess.PIPE
        elif stdin is not None:
            kw["stdin"] = stdin
        process = self.popen(command, flags, as_json, **kw)
        try:
            out, err = process.communicate(stdin if isinstance(stdin, bytes) else None, timeout=patience(timeout))
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise
        return Result(process.returncode, out or b"", err or b"", as_json)

    def attack(self, *args, flags=(), **kw):
        """One attack inside."""
        return self.run("./attack", *args, flags=flags, **kw)

    def call(self, *words, timeout=60):
        """Any verb of the program as this caller, waited for."""
        return subprocess.run([self.caller.program, *map(str, words)], cwd=self.caller.workspace, env=self.caller.env, capture_output=True,
                              text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=patience(timeout), check=False, **self.caller.identity())

    def outside(self, *args, timeout=120, **kw):
        """The same attack as this caller on the host itself: only against scratch targets."""
        return self.bare_call([self.attack_path, *map(str, args)], timeout, self.caller.identity(), **kw)

    def bare(self, *args, timeout=120, **kw):
        """The same attack as root in bare namespaces: the control of what the kernel itself would let pass."""
        return self.bare_call([self.attack_path, "bare", *map(str, args)], timeout, {}, **kw)

    def bare_call(self, argv, timeout, identity, **kw):
        kw.setdefault("stdin", subprocess.DEVNULL)
        kw.setdefault("cwd", self.caller.dir)
        done = subprocess.run(argv, capture_output=True, timeout=patience(timeout), env=self.caller.env, **identity, **kw)
        return Result(done.returncode, done.stdout, done.stderr, False)

    def on_pty(self, *command, flags=(), timeout=120, send=b"", send_after=None, size=None, argv=None, env=None):
        """A call with a terminal of its own on all three descriptors; returns exit code and all that was shown.

        SEND is typed at once, or when SEND_AFTER was shown.
        """
        argv = argv or self.argv(command, flags, as_json=False)
        master, slave = pty.openpty()
        if self.caller.uid != os.geteuid():
            os.fchown(slave, self.caller.uid, -1)
        if size:
            import fcntl
            import struct
            import termios
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[0], size[1], 0, 0))
        process = subprocess.Popen(argv, stdin=slave, stdout=slave, stderr=slave, cwd=self.caller.workspace,
                                   env={**self.caller.env, "TERM": "dumb", **(env or {})}, start_new_session=True,
                                   preexec_fn=take_terminal, **self.caller.identity())
        os.close(slave)
        deadline = time.monotonic() + patience(timeout)
        early = read_until(master, send_after, deadline) if send_after else b""
        if send:
            os.write(master, send)
        shown = early + read_all(master, process, deadline)
        return process.returncode, shown


# Calls that were killed since the last look.
killed = []


def end(process):
    """Ends a call that is not waited for; whoever else holds its pipes is not waited for either."""
    killed.append(process.pid)
    process.kill()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            stream.close()
    process.wait()


def take_terminal():
    """In the child, after setsid: the pty becomes the controlling terminal."""
    import fcntl
    import termios
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def read_until(master, mark, deadline):
    shown = b""
    while mark not in shown and time.monotonic() < deadline:
        if select.select([master], [], [], 0.2)[0]:
            try:
                shown += os.read(master, 65536)
            except OSError:
                break
    return shown


def read_all(master, process, deadline):
    shown = b""
    while True:
        ready, _, _ = select.select([master], [], [], 0.2)
        if ready:
            try:
                data = os.read(master, 65536)
            except OSError:
                data = b""
            if not data:
                break
            shown += data
        elif process.poll() is not None:
            break
        if time.monotonic() > deadline:
            process.send_signal(signal.SIGKILL)
            break
    process.wait()
    os.close(master)
    return shown
