"""``sandbox.commands``: running things inside."""

from __future__ import annotations

from typing import Any, List, Literal, Mapping, Optional, Union, overload

from . import _program as program
from ._program import Command, Seconds
from .background import CommandHandle, OnOutput
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
        flags = self._flags(envs, timeout, output)
        argv = program.words_of(cmd, cwd)
        if not background and not on_stdout and not on_stderr:
            return program.run_command(["exec", self._name, "--json", *flags, "--", *argv], check, stdin, cwd="/")
        handle = self._start(flags, argv, check)
        if stdin is not None:
            handle.send_stdin(stdin if isinstance(stdin, str) else stdin.decode("utf-8", "surrogateescape"))
        if stdin is not None or not background:
            handle.close_stdin()
        return handle if background else handle.wait(on_stdout, on_stderr)

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

    def _start(self, flags: "List[str]", argv: "List[str]", check: bool) -> CommandHandle:
        rows = program.call("exec", "-d", self._name, "--json", *flags, "--", *argv, cwd="/")
        if len(rows) != 1 or "exec_id" not in rows[0]:
            program.judge(rows[0] if rows else {"status": "internal", "message": "aisbx exec -d gave no answer"}, True)
        return CommandHandle(str(rows[0]["exec_id"]), check)

    @staticmethod
    def _flags(envs: Optional[Mapping[str, str]], timeout: Optional[Seconds], output: Optional[str]) -> "List[str]":
        limit = program.duration(timeout) if timeout else None
        return program.flags_of({"time": limit, "output": output, "env": envs})
