# SPDX-License-Identifier: Apache-2.0
"""``sandbox.commands``: running things inside."""

from __future__ import annotations

import secrets
from typing import Any, List, Literal, Mapping, Optional, Union, overload

from . import _program as program
from ._program import Command, Seconds
from .background import CommandHandle, OnOutput
from .errors import ProgramError, SandboxError
from .results import RunResult

Input = Union[str, bytes, None]


class Commands:
    """Commands of one sandbox. They start at the top of its workspace unless ``cwd`` says otherwise."""

    def __init__(self, name: str) -> None:
        self._name = name

    @overload
    def run(self, cmd: Command, background: Literal[False] = ..., *, envs: Optional[Mapping[str, str]] = ...,
            cwd: Optional[str] = ..., stdin: Input = ..., timeout: Optional[Seconds] = ..., output: Optional[str] = ...,
            on_stdout: Optional[OnOutput] = ..., on_stderr: Optional[OnOutput] = ..., check: bool = ...) -> RunResult: ...

    @overload
    def run(self, cmd: Command, background: Literal[True], *, envs: Optional[Mapping[str, str]] = ...,
            cwd: Optional[str] = ..., stdin: Input = ..., timeout: Optional[Seconds] = ..., output: Optional[str] = ...,
            on_stdout: Optional[OnOutput] = ..., on_stderr: Optional[OnOutput] = ...,
            check: bool = ...) -> CommandHandle: ...

    def run(self, cmd: Command, background: bool = False, *, envs: Optional[Mapping[str, str]] = None,
            cwd: Optional[str] = None, stdin: Input = None, timeout: Optional[Seconds] = None,
            output: Optional[str] = None, on_stdout: Optional[OnOutput] = None, on_stderr: Optional[OnOutput] = None,
            check: bool = True) -> Union[RunResult, CommandHandle]:
        """Runs a command and waits for it; with ``background=True`` it goes on by itself, and a handle comes back.

        A string is for ``sh -c``, a list is passed exactly. ``timeout`` is in seconds (or "500ms", "2h"), ``output``
        what is kept of each stream ("4m"). ``on_stdout`` and ``on_stderr`` get what it writes while it runs. Raises
        CommandExitError when it does not exit with 0, TimeoutError at the time limit; with ``check=False`` both come
        back as results. The stdin of a command in the background stays open unless ``stdin`` is given.
        """
        flags = program.flags_of({"time": program.duration(timeout) if timeout else None, "output": output})
        argv = program.words_of(cmd, cwd)
        if not background and not on_stdout and not on_stderr:
            words = ["exec", "--json", *flags, self._name, "--", *argv]
            return program.run_command(words, check, stdin, "/", envs, timeout)
        handle = self._start(flags, argv, envs, check)
        try:
            if stdin is not None:
                handle.send_stdin(stdin)
            if stdin is not None or not background:
                handle.close_stdin()
            return handle if background else handle.wait(on_stdout, on_stderr)
        except BaseException:
            _end(handle)
            raise

    def connect(self, exec_id: str) -> CommandHandle:
        """A command in the background that was started before, by whomever."""
        handle = CommandHandle(exec_id)
        handle.poll()
        return handle

    def list(self) -> List[Mapping[str, Any]]:
        """Commands in the background of this sandbox that run."""
        return list(program.ask_one("inspect", "--json", "--", self._name).get("execs") or [])

    def kill(self, exec_id: str) -> bool:
        """Ends a command in the background; False when it has ended already."""
        return CommandHandle(exec_id).kill()

    def _start(self, flags: "List[str]", argv: "List[str]", envs: Optional[Mapping[str, str]],
               check: bool) -> CommandHandle:
        # By its trace a command is found again whose id was lost on the way.
        trace = f"client-{secrets.token_hex(16)}"
        words = ["exec", "--json", "-d", f"--trace={trace}", *flags, self._name, "--", *argv]
        try:
            rows = program.read_rows(program.call_program(words, cwd="/", envs=envs), "exec")
            if len(rows) == 1 and "exec_id" in rows[0]:
                return CommandHandle(str(rows[0]["exec_id"]), check)
            if rows:
                program.judge(rows[0], True)
            raise ProgramError("aisbx exec -d gave no answer")
        except ProgramError:
            _end_traced(trace)
            raise


def _end(handle: CommandHandle) -> None:
    """Ends a command that the caller gets no handle of; the error that led here is what is told."""
    try:
        handle.kill()
    except SandboxError:
        pass


def _end_traced(trace: str) -> None:
    try:
        for row in program.ask("history", "--json", f"--trace={trace}"):
            _end(CommandHandle(str(row.get("run_id"))))
    except SandboxError:
        pass
