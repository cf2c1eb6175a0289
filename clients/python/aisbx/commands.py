"""``sandbox.commands``: running things inside."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Union

from . import _program as program
from ._program import Command, Seconds
from .results import RunResult


class Commands:
    """Commands of one sandbox. They start at the top of its workspace unless ``cwd`` says otherwise."""

    def __init__(self, name: str) -> None:
        self._name = name

    def run(self, cmd: Command, *, envs: Optional[Mapping[str, str]] = None, cwd: Optional[str] = None,
            stdin: Union[str, bytes, None] = None, timeout: Optional[Seconds] = None, output: Optional[str] = None,
            check: bool = True) -> RunResult:
        """Runs a command and waits for it.

        A string is for ``sh -c``, a list is passed exactly. ``timeout`` is in seconds (or "500ms", "2h"), ``output``
        what is kept of each stream ("4m"). Raises CommandExitError when it does not exit with 0, TimeoutError at the
        time limit; with ``check=False`` both come back as results.
        """
        words = ["exec", self._name, "--json", *self._flags(envs, timeout, output), "--", *program.words_of(cmd, cwd)]
        return program.run_command(words, check, stdin, cwd="/")

    @staticmethod
    def _flags(envs: Optional[Mapping[str, str]], timeout: Optional[Seconds], output: Optional[str]) -> Any:
        limit = program.duration(timeout) if timeout else None
        return program.flags_of({"time": limit, "output": output, "env": envs})
