# SPDX-License-Identifier: Apache-2.0
"""A daemon of a caller's own, and runs that come from its pool."""
import json
import os
import subprocess
import sys
import tempfile

from box import patience
from family import until


class Daemon:
    """In the foreground, as a child of ours; ends with the block, and is waited for."""

    def __init__(self, caller, *flags, wrapper=(), **identity):
        self.caller = caller
        self.identity = {**caller.identity(), **identity}
        self.dir = os.path.join(caller.env["XDG_DATA_HOME"], "aisbx")
        self.socket = os.path.join(self.dir, "daemon.sock")
        self.asked = None
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen([*wrapper, caller.program, "daemon", *flags], cwd=caller.workspace, env=caller.env,
                                        stdin=subprocess.DEVNULL, stderr=self.errors, **self.identity)
        if not until(lambda: self.status().get("running") or self.process.poll() is not None) or self.process.poll() is not None:
            ended = self.process.poll()
            self.kill()
            raise AssertionError(f"the daemon does not answer: ended with {ended}, {self.said()!r}; asked: {self.asked}")

    def __enter__(self):
        return self

    def said(self):
        """What it wrote to stderr, read without moving the place where it writes on."""
        return os.pread(self.errors.fileno(), 8192, 0).decode(errors="replace")

    def __exit__(self, *_):
        try:
            self.end()
        finally:
            sys.stderr.write(self.said())
            self.errors.close()

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(patience(30))
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def kill(self):
        self.process.kill()
        self.process.wait()

    def status(self):
        # Asked in vain for as long as the verb waits, a busy one is asked again.
        for _ in range(5):
            got = subprocess.run([self.caller.program, "daemon", "status", "--json"], cwd=self.caller.workspace, env=self.caller.env,
                                 capture_output=True, text=True, check=False, **self.identity)
            self.asked = got
            if got.returncode == 0:
                return json.loads(got.stdout)
        return {}

    def warm(self, box, flags=(), **kw):
        """Until a run with these flags would come from the pool; false where it never does."""
        for _ in range(20):
            self.forgive()
            got = box.run_cold("true", flags=flags, **kw)
            if got.json.get("start") == "pool":
                return until(self.is_full)
            if not got.json.get("start"):
                return False
            until(self.is_full)
        return False

    def run(self, box, *command, **kw):
        """A run from the pool; on a busy machine a daemon may not answer in time, and then the next one is taken."""
        for _ in range(20):
            self.warm(box, kw.get("flags", ()))
            got = box.run_cold(*command, **kw)
            if got.json.get("start") == "pool":
                break
        return got

    def forgive(self):
        """Callers that waited in vain keep others away for a while."""
        try:
            os.unlink(os.path.join(self.dir, "daemon.away"))
        except FileNotFoundError:
            pass

    def is_full(self):
        """As many as all plans together may have."""
        now = self.status()
        return now.get("plans") and now["ready"] >= now["plans"] * (now["pool"] // now["plans"])
