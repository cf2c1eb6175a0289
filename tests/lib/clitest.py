# SPDX-License-Identifier: Apache-2.0
"""Support for suites of the command line that need a store of their own: a home, the program, a terminal."""
import contextlib
import json
import os
import pty
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from tap import Tap  # noqa: F401 - suites take it from here, with the rest

AISBX = os.path.realpath(os.environ.get("AISBX") or shutil.which("aisbx") or "aisbx")


def remove_home(path):
    """What empties the trash, or ends with a sandbox, may still be at it."""
    for _ in range(50):
        shutil.rmtree(path, ignore_errors=True)
        if not os.path.exists(path):
            break
        time.sleep(0.1)


class Home:
    """A home with a store and a workspace of its own, removed at the end with every sandbox in it."""

    def __init__(self, prefix):
        self.path = tempfile.mkdtemp(prefix=prefix, dir=os.environ.get("HOME") or "/var/tmp")
        self.work = self.path + "/project"
        os.mkdir(self.work)
        env = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
        self.env = {**env, "HOME": self.path, "PAGER": "cat"}
        for key in [k for k in self.env if k.startswith("XDG_") or k == "NO_COLOR"]:
            del self.env[key]

    def __enter__(self):
        # Told to stop, a suite still ends its sandboxes and removes what it made.
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, lambda *_: sys.exit(1))
        return self

    def drop_kept(self):
        """What root's promotions keep at the top of the filesystem: with the store goes whoever knows of it."""
        for row in self.rows("promotions"):
            if re.fullmatch("[0-9A-Z]{26}", row.get("promotion_id") or ""):
                shutil.rmtree(f"/.aisbx/{row['promotion_id']}", ignore_errors=True)
        with contextlib.suppress(OSError):
            os.rmdir("/.aisbx")

    def __exit__(self, *_):
        self.drop_kept()
        names = [row["name"] for row in self.rows("ls")]
        if names:
            self.call("rm", *names)
        remove_home(self.path)

    def call(self, *words, cwd=None, stdin=None, timeout=300, binary=False, **env):
        """Runs the program with these words, from the workspace unless CWD says otherwise."""
        how = {} if binary else {"text": True, "errors": "surrogateescape"}
        source = {"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}
        return subprocess.run([AISBX, *words], capture_output=True, cwd=cwd or self.work, env={**self.env, **env},
                              timeout=timeout, check=False, **source, **how)

    def can_run(self, tap, what):
        """Whether sandboxes can be had here. If not, that is said: the kernel's refusal is no fault of ours, any other is."""
        first = self.call("run", "--", "true")
        if first.returncode == 0:
            return True
        if subprocess.run(["unshare", "-Ur", "true"], capture_output=True, check=False).returncode != 0:
            tap.skip(what, "no user namespaces for this user here")
        else:
            tap.ok(False, "a first run", first)
        return False

    def rows(self, *words, **kw):
        """The objects a verb prints with --json; [] when it prints none."""
        done = self.call(*words, "--json", **kw)
        try:
            return [json.loads(line) for line in done.stdout.splitlines()]
        except ValueError:
            return []

    def data(self, *words, **kw):
        """The one object a verb prints with --json; {} when it prints none."""
        found = self.rows(*words, **kw)
        return found[0] if len(found) == 1 else {}

    def put(self, name, content="", mode=None):
        path = os.path.join(self.work, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb" if isinstance(content, bytes) else "w") as out:
            out.write(content)
        if mode is not None:
            os.chmod(path, mode)
        return path

    def read(self, name):
        try:
            with open(os.path.join(self.work, name), errors="surrogateescape") as file:
                return file.read()
        except OSError as problem:
            return f"<{problem.strerror}>"

    def tree(self):
        """What the workspace holds: {path: content, mode or link}, to see that nothing changed."""
        found = {}
        for top, dirs, files in os.walk(os.fsencode(self.work)):
            for name in dirs + files:
                path = os.path.join(top, name)
                about = os.lstat(path)
                what = os.readlink(path) if os.path.islink(path) else None
                if os.path.isfile(path) and not os.path.islink(path):
                    with open(path, "rb") as file:
                        what = file.read()
                found[os.path.relpath(path, os.fsencode(self.work))] = (about.st_mode, about.st_ino, what)
        return found

    def on_terminal(self, *words, typed=(), cwd=None, **env):
        """What a person would see, and the exit status. TYPED: pairs of what to wait for and what to type then, or
        what is called for that."""
        leader, follower = pty.openpty()
        child = subprocess.Popen([AISBX, *words], stdin=follower, stdout=follower, stderr=follower,
                                 cwd=cwd or self.work, env={**self.env, "TERM": "xterm", **env}, start_new_session=True)
        os.close(follower)
        seen, heard, waiting = b"", 0, list(typed)
        while select.select([leader], [], [], 240)[0]:
            try:
                part = os.read(leader, 65536)
            except OSError:
                break
            if not part:
                break
            seen += part
            # What was answered already is no question any more.
            if waiting and waiting[0][0] in seen[heard:]:
                heard = len(seen)
                text = waiting.pop(0)[1]
                os.write(leader, text() if callable(text) else text)
        os.close(leader)
        try:
            child.wait(timeout=120)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        return seen, child.returncode


def refused(done, code, *words):
    """Whether a call was refused as it should be: its exit code, one line on stderr, these words in it."""
    line = done.stderr
    return (done.returncode == code and line.count("\n") == 1 and line.startswith("aisbx: ") and "\x1b" not in line
            and all(word in line for word in words))


def free_port():
    """One below those that the kernel gives to connections and to whoever asks for any: it is still free when its server starts."""
    while True:
        port = random.SystemRandom().randrange(10000, 32768)
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port
