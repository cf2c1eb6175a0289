# SPDX-License-Identifier: Apache-2.0
"""A batch that is talked to line by line, and the zygotes beneath it."""
import contextlib
import json
import os
import select
import signal
import subprocess

from box import patience
from family import descendants, until


class Batch:
    """`run --batch -` of a caller; one line, one answer."""

    def __init__(self, caller, *flags, jobs=1, cwd=None):
        self.heard = b""
        self.process = subprocess.Popen([caller.program, "run", "--driver", "wasm", "--jobs", str(jobs), *flags, "--batch", "-"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        cwd=cwd or caller.workspace, env=caller.env, **caller.identity())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def say(self, *command, **line):
        self.process.stdin.write(json.dumps({"command": command, **line}).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self):
        while b"\n" not in self.heard:
            if not select.select([self.process.stdout], [], [], patience(30))[0]:
                raise AssertionError("no answer")
            more = os.read(self.process.stdout.fileno(), 1 << 20)
            if not more:
                raise AssertionError("the batch has ended")
            self.heard += more
        line, self.heard = self.heard.split(b"\n", 1)
        return json.loads(line)

    def run(self, *command, **line):
        self.say(*command, **line)
        return self.hear()

    def python(self, code, *args, **line):
        return self.run("python", "-c", code, *args, **line)

    def below(self, name):
        """Living processes of this batch by name."""
        return [pid for pid, info in descendants(self.process.pid).items() if info[0] == name and info[1] != "Z"]

    def kill(self, name):
        """Ends every process of this batch that is called so; each is one of our own descendants."""
        pids = self.below(name)
        for pid in pids:
            # One may go along with another.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        until(lambda: not set(pids) & set(self.below(name)))
        return len(pids)

    def end(self):
        self.process.stdin.close()
        code = self.process.wait(patience(30))
        self.process.stdout.close()
        return code
