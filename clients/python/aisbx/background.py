# SPDX-License-Identifier: Apache-2.0
"""Commands that go on by themselves: ``exec -d`` and ``poll``."""

from __future__ import annotations

import base64
import codecs
import time
from typing import Any, Callable, Iterator, Mapping, Optional, Tuple, Union

from . import _program as program
from .errors import ConflictError, NotFoundError, ProgramError
from .results import RunResult

OnOutput = Callable[[str], Any]

# The most that one call of poll writes to the command's stdin.
_INPUT_MAX = 1024 * 1024


class CommandHandle:
    """A command in the background; it lives on when this object, or this program, is gone."""

    def __init__(self, exec_id: str, check: bool = True) -> None:
        """Use ``commands.run(..., background=True)`` or ``commands.connect``."""
        self.exec_id = exec_id
        self._check = check
        self._data = {"stdout": bytearray(), "stderr": bytearray()}
        self._result: Optional[Mapping[str, Any]] = None

    @property
    def pid(self) -> str:
        """The same as ``exec_id``."""
        return self.exec_id

    @property
    def stdout(self) -> str:
        """What it wrote so far, as of the last look."""
        return self._data["stdout"].decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        """What it wrote so far, as of the last look."""
        return self._data["stderr"].decode("utf-8", "replace")

    def poll(self, wait: Union[int, float, str, None] = None) -> Optional[RunResult]:
        """Looks at it: its result once it has ended, else None. ``wait`` is how long to wait for something new."""
        self._look(program.duration(wait) if wait else None)
        return self._finish(False) if self._result else None

    def wait(self, on_stdout: Optional[OnOutput] = None, on_stderr: Optional[OnOutput] = None) -> RunResult:
        """Waits for its end; raises as ``commands.run`` does. What it writes meanwhile goes to the functions given."""
        for out, err in self:
            if out and on_stdout:
                on_stdout(out)
            if err and on_stderr:
                on_stderr(err)
        return self._finish(self._check)

    def __iter__(self) -> Iterator[Tuple[str, str]]:
        """Pieces of stdout and stderr as they come, until its end; never half a character."""
        decoders = {key: codecs.getincrementaldecoder("utf-8")("replace") for key in self._data}
        seen = {key: 0 for key in self._data}
        ended = False
        until = time.monotonic() + program.limit_of(None)
        while not ended:
            self._must_end(until, "end it with kill")
            self._look("30s")
            ended = self._result is not None
            pieces = []
            for key, data in self._data.items():
                pieces.append(decoders[key].decode(bytes(data[seen[key]:]), ended))
                seen[key] = len(data)
            if any(pieces):
                yield pieces[0], pieces[1]

    def send_stdin(self, data: Union[str, bytes]) -> None:
        """Writes to its stdin, bytes as they are; raises ConflictError when that is closed."""
        rest = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else bytes(data)
        while rest:
            answer = self._ask(["--input-fd=0"], stdin=rest[:_INPUT_MAX])
            taken = int(answer.get("input_bytes") or 0)
            if taken <= 0:
                raise ConflictError("the command does not read its stdin", "conflict", "try again when it does")
            rest = rest[taken:]

    def close_stdin(self) -> None:
        """Ends its stdin."""
        self._ask(["--input-end"])

    def kill(self, signal: str = "KILL") -> bool:
        """Sends it a signal, and after KILL waits for its end; False when it has ended already."""
        try:
            if self.poll() is not None:
                return False
            self._ask(["--signal=" + signal])
            until = time.monotonic() + program.call_seconds()
            while signal == "KILL" and self.poll(wait=10) is None:
                self._must_end(until, "aisbx stop ends its sandbox")
        except NotFoundError:
            return False
        return True

    def _must_end(self, until: float, hint: str) -> None:
        if time.monotonic() > until:
            raise ProgramError(f"the command {self.exec_id} does not end", "timeout", hint)

    def _ask(self, flags: "list[str]", stdin: Optional[bytes] = None) -> Mapping[str, Any]:
        offsets = [f"--offset={len(self._data['stdout'])}", f"--stderr-offset={len(self._data['stderr'])}"]
        return program.ask_one("poll", "--json", *offsets, *flags, "--", self.exec_id, stdin=stdin)

    def _look(self, wait: Optional[str]) -> None:
        """Takes what is new, all of it."""
        more = self._result is None
        while more:
            answer = self._ask(program.flags_of({"wait": wait}))
            for key, data in self._data.items():
                text = str(answer.get(key) or "")
                coded = answer.get(key + "_encoding") == "base64"
                data += base64.b64decode(text) if coded else text.encode("utf-8", "surrogatepass")
            if answer.get("state") not in ("running", "done") or (answer.get("more") and not self._grew(answer)):
                raise ProgramError("aisbx poll gave no answer that can be used")
            more = bool(answer.get("more"))
            self._result = None if more else answer.get("result")
            wait = None

    @staticmethod
    def _grew(answer: Mapping[str, Any]) -> bool:
        return bool(answer.get("stdout") or answer.get("stderr"))

    def _finish(self, check: bool) -> RunResult:
        streams = {}
        for key, data in self._data.items():
            streams[key] = base64.b64encode(data).decode()
            streams[key + "_encoding"] = "base64"
        return program.judge({**(self._result or {}), **streams}, check)
