# SPDX-License-Identifier: Apache-2.0
"""The same client, awaited: ``AsyncSandbox`` and ``run``.

    from aisbx.aio import AsyncSandbox, run

    async with await AsyncSandbox.create() as sandbox:
        await sandbox.commands.run("make test", on_stdout=print)

Each call is a process of the program ``aisbx``, waited for in a thread. A task that is cancelled ends it, and so its command.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, AsyncIterator, Awaitable, Callable, Iterator, List, Literal, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union, overload

from . import _program as program
from . import sandbox as called
from ._program import Command, Seconds
from .background import CommandHandle
from .commands import Commands, Input
from .files import Files
from .results import Change, EntryInfo, Promotion, RunResult, SandboxInfo, Snapshot

T = TypeVar("T")
OnOutput = Callable[[str], Union[Any, Awaitable[Any]]]

# The calls that can be under way at once; each waits for its process and does nothing else.
_threads = ThreadPoolExecutor(max_workers=256, thread_name_prefix="aisbx")


async def _call(function: Callable[..., T], *words: Any, **settings: Any) -> T:
    """FUNCTION in a thread. Cancelled, it ends the program there, and returns once that has ended."""
    cancel = program.Cancel()
    context = contextvars.copy_context()
    context.run(program.cancel.set, cancel)
    future = asyncio.get_running_loop().run_in_executor(_threads, lambda: context.run(function, *words, **settings))
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        cancel.end()
        await asyncio.wait([future])
        made = None if future.cancelled() or future.exception() else future.result()
        if isinstance(made, called.Sandbox) and function != called.Sandbox.connect:
            # It was made before the program could be ended, and its caller never learns its name.
            await _call(made.kill)
        raise


async def run(cmd: Command, *, workspace: Optional[str] = None, profile: Optional[str] = None,
              envs: Optional[Mapping[str, str]] = None, cwd: Optional[str] = None, stdin: Input = None,
              timeout: Optional[Seconds] = None, allow: Optional[Sequence[str]] = None, deny: Optional[Sequence[str]] = None,
              mem: Optional[str] = None, cpu: Optional[float] = None, pids: Optional[int] = None, disk: Optional[str] = None,
              output: Optional[str] = None, flags: Sequence[str] = (), check: bool = True) -> RunResult:
    """As ``aisbx.run``."""
    return await _call(called.run, cmd, workspace=workspace, profile=profile, envs=envs, cwd=cwd, stdin=stdin, timeout=timeout,
                       allow=allow, deny=deny, mem=mem, cpu=cpu, pids=pids, disk=disk, output=output, flags=flags, check=check)


async def undo(promotion: Union[str, Promotion, None] = None) -> List[str]:
    """As ``aisbx.undo``."""
    return await _call(called.undo, promotion)


def _next(pieces: Iterator[Tuple[str, str]]) -> Optional[Tuple[str, str]]:
    return next(pieces, None)


async def _pass(text: str, to: Optional[OnOutput]) -> None:
    answer = to(text) if text and to else None
    if inspect.isawaitable(answer):
        await answer


class AsyncCommandHandle:
    """A command in the background; as ``aisbx.CommandHandle``."""

    def __init__(self, handle: CommandHandle) -> None:
        """Use ``commands.run(..., background=True)`` or ``commands.connect``."""
        self._handle = handle
        self.exec_id = handle.exec_id

    @property
    def pid(self) -> str:
        """The same as ``exec_id``."""
        return self.exec_id

    @property
    def stdout(self) -> str:
        """What it wrote so far, as of the last look."""
        return self._handle.stdout

    @property
    def stderr(self) -> str:
        """What it wrote so far, as of the last look."""
        return self._handle.stderr

    async def poll(self, wait: Optional[Seconds] = None) -> Optional[RunResult]:
        """Looks at it: its result once it has ended, else None."""
        return await _call(self._handle.poll, wait)

    async def wait(self, on_stdout: Optional[OnOutput] = None, on_stderr: Optional[OnOutput] = None) -> RunResult:
        """Waits for its end; the functions may be coroutines."""
        async for out, err in self:
            await _pass(out, on_stdout)
            await _pass(err, on_stderr)
        return await _call(self._handle.wait)

    async def __aiter__(self) -> AsyncIterator[Tuple[str, str]]:
        """Pieces of stdout and stderr as they come, until its end."""
        pieces = iter(self._handle)
        while True:
            piece = await _call(_next, pieces)
            if piece is None:
                return
            yield piece

    async def send_stdin(self, data: Union[str, bytes]) -> None:
        """Writes to its stdin."""
        await _call(self._handle.send_stdin, data)

    async def close_stdin(self) -> None:
        """Ends its stdin."""
        await _call(self._handle.close_stdin)

    async def kill(self, signal: str = "KILL") -> bool:
        """Sends it a signal, and after KILL waits for its end; False when it has ended already."""
        return await _call(self._handle.kill, signal)


class AsyncCommands:
    """Commands of one sandbox; as ``aisbx.Commands``."""

    def __init__(self, name: str) -> None:
        self._commands = Commands(name)

    @overload
    async def run(self, cmd: Command, background: Literal[False] = ..., *, envs: Optional[Mapping[str, str]] = ...,
                  cwd: Optional[str] = ..., stdin: Input = ..., timeout: Optional[Seconds] = ..., output: Optional[str] = ...,
                  on_stdout: Optional[OnOutput] = ..., on_stderr: Optional[OnOutput] = ..., check: bool = ...) -> RunResult: ...

    @overload
    async def run(self, cmd: Command, background: Literal[True], *, envs: Optional[Mapping[str, str]] = ...,
                  cwd: Optional[str] = ..., stdin: Input = ..., timeout: Optional[Seconds] = ..., output: Optional[str] = ...,
                  on_stdout: Optional[OnOutput] = ..., on_stderr: Optional[OnOutput] = ...,
                  check: bool = ...) -> AsyncCommandHandle: ...

    async def run(self, cmd: Command, background: bool = False, *, envs: Optional[Mapping[str, str]] = None,
                  cwd: Optional[str] = None, stdin: Input = None, timeout: Optional[Seconds] = None,
                  output: Optional[str] = None, on_stdout: Optional[OnOutput] = None, on_stderr: Optional[OnOutput] = None,
                  check: bool = True) -> Union[RunResult, AsyncCommandHandle]:
        """Runs a command and waits for it; with ``background=True`` it goes on by itself, and a handle comes back."""
        settings: Any = {"envs": envs, "cwd": cwd, "stdin": stdin, "timeout": timeout, "output": output, "check": check}
        if not background and not on_stdout and not on_stderr:
            return await _call(self._commands.run, cmd, **settings)
        handle = AsyncCommandHandle(await _call(self._commands.run, cmd, True, **settings))
        if background:
            return handle
        try:
            if stdin is None:
                await handle.close_stdin()
            return await handle.wait(on_stdout, on_stderr)
        except BaseException:
            await asyncio.shield(handle.kill())
            raise

    async def connect(self, exec_id: str) -> AsyncCommandHandle:
        """A command in the background that was started before."""
        return AsyncCommandHandle(await _call(self._commands.connect, exec_id))

    async def list(self) -> List[Mapping[str, Any]]:
        """Commands in the background of this sandbox that run."""
        return await _call(self._commands.list)

    async def kill(self, exec_id: str) -> bool:
        """Ends a command in the background; False when it has ended already."""
        return await _call(self._commands.kill, exec_id)


class AsyncFiles:
    """Files of one sandbox; as ``aisbx.Files``."""

    def __init__(self, name: str) -> None:
        self._files = Files(name)

    @overload
    async def read(self, path: str, format: Literal["text"] = ...) -> str: ...

    @overload
    async def read(self, path: str, format: Literal["bytes"]) -> bytes: ...

    async def read(self, path: str, format: Any = "text") -> Union[str, bytes]:
        """The content of a file: as text, or exact with ``format="bytes"``."""
        content: Union[str, bytes] = await _call(self._files.read, path, format)
        return content

    async def write(self, path: str, data: Union[str, bytes]) -> EntryInfo:
        """Writes a file, with the directories that lead to it."""
        return await _call(self._files.write, path, data)

    async def list(self, path: str = ".", depth: int = 1) -> List[EntryInfo]:
        """What lies in a directory, sorted by path."""
        return await _call(self._files.list, path, depth)

    async def get_info(self, path: str) -> EntryInfo:
        """What one path is."""
        return await _call(self._files.get_info, path)

    async def exists(self, path: str) -> bool:
        """Whether there is something."""
        return await _call(self._files.exists, path)

    async def remove(self, path: str) -> None:
        """Removes a file, or a directory with all in it."""
        await _call(self._files.remove, path)

    async def rename(self, old_path: str, new_path: str) -> EntryInfo:
        """Moves something; what was at the new path is replaced."""
        return await _call(self._files.rename, old_path, new_path)

    async def make_dir(self, path: str) -> bool:
        """Makes a directory and those that lead to it; False when it was there already."""
        return await _call(self._files.make_dir, path)


class AsyncSandbox:
    """A sandbox by name; as ``aisbx.Sandbox``. As an asynchronous context manager it is removed at the end."""

    def __init__(self, name: str) -> None:
        """Use ``create`` or ``connect``, which see that it is there."""
        self._sandbox = called.Sandbox(name)
        self.name = self.sandbox_id = name
        self.commands = AsyncCommands(name)
        self.files = AsyncFiles(name)

    @classmethod
    async def create(cls, name: Optional[str] = None, *, workspace: Optional[str] = None, profile: Optional[str] = None,
                     timeout: Optional[Seconds] = None, envs: Optional[Mapping[str, str]] = None,
                     allow: Optional[Sequence[str]] = None, deny: Optional[Sequence[str]] = None, mem: Optional[str] = None,
                     cpu: Optional[float] = None, pids: Optional[int] = None, disk: Optional[str] = None,
                     flags: Sequence[str] = ()) -> "AsyncSandbox":
        """Makes a sandbox over the workspace; ``timeout`` removes it after that many seconds."""
        made = await _call(called.Sandbox.create, name, workspace=workspace, profile=profile, timeout=timeout, envs=envs, allow=allow,
                           deny=deny, mem=mem, cpu=cpu, pids=pids, disk=disk, flags=flags)
        return cls(made.name)

    @classmethod
    async def connect(cls, name: str) -> "AsyncSandbox":
        """A sandbox that is there already."""
        return cls((await _call(called.Sandbox.connect, name)).name)

    @classmethod
    async def list(cls) -> List[SandboxInfo]:
        """All sandboxes of this user."""
        return await _call(called.Sandbox.list)

    async def get_info(self) -> SandboxInfo:
        """State, changes, snapshots, size."""
        return await _call(self._sandbox.get_info)

    async def is_running(self) -> bool:
        """Whether it is there."""
        return await _call(self._sandbox.is_running)

    async def kill(self) -> bool:
        """Ends its processes and removes it with its snapshots; False when it was gone already."""
        return await _call(self._sandbox.kill)

    async def stop(self) -> None:
        """Ends its processes; its files stay."""
        await _call(self._sandbox.stop)

    async def create_snapshot(self, message: Optional[str] = None) -> Snapshot:
        """Saves its state."""
        return await _call(self._sandbox.create_snapshot, message)

    async def list_snapshots(self) -> List[Snapshot]:
        """Its snapshots, oldest first."""
        return await _call(self._sandbox.list_snapshots)

    async def rollback(self, snapshot: Union[str, Snapshot, None] = None) -> str:
        """Goes back to a snapshot (default: the last one); its name."""
        return await _call(self._sandbox.rollback, snapshot)

    async def fork(self, name: Optional[str] = None, *, snapshot: Union[str, Snapshot, None] = None) -> "AsyncSandbox":
        """A new sandbox that begins where this one (or one of its snapshots) is."""
        made: called.Sandbox = await _call(self._sandbox.fork, name, snapshot=snapshot)
        return type(self)(made.name)

    async def diff(self) -> List[Change]:
        """What differs from the host as it was, path by path."""
        return await _call(self._sandbox.diff)

    async def patch(self) -> str:
        """The same as a unified diff that ``git apply`` takes."""
        return await _call(self._sandbox.patch)

    async def promote(self, paths: Optional[Sequence[str]] = None, *, strategy: Optional[str] = None, dry_run: bool = False,
                      allow_paths: Sequence[str] = (), gates: Sequence[str] = (),
                      snapshot: Union[str, Snapshot, None] = None, flags: Sequence[str] = ()) -> Promotion:
        """Applies its changes to the host, all or nothing; raises as ``aisbx.Sandbox.promote`` does."""
        return await _call(self._sandbox.promote, paths, strategy=strategy, dry_run=dry_run, allow_paths=allow_paths, gates=gates,
                           snapshot=snapshot, flags=flags)

    async def refresh(self) -> None:
        """Takes today's host as its base."""
        await _call(self._sandbox.refresh)

    async def __aenter__(self) -> "AsyncSandbox":
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await asyncio.shield(self.kill())

    def __repr__(self) -> str:
        return f"AsyncSandbox({self.name!r})"
