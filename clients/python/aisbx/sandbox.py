# SPDX-License-Identifier: Apache-2.0
"""``Sandbox``: a named copy of this machine that keeps what happens in it; and ``run`` for one that does not."""

from __future__ import annotations

import os
import secrets
from types import TracebackType
from typing import Any, Dict, List, Mapping, Optional, Sequence, Type, Union, overload

from . import _program as program
from ._program import Command, Seconds
from .commands import Commands
from .errors import ConflictError, ConsentError, NotFoundError, ProgramError, UsageError, error_from
from .files import Files
from .results import Change, Promotion, RunResult, SandboxInfo, Snapshot


def _settings(workspace: Optional[str], settings: Dict[str, Any], flags: Sequence[str]) -> List[str]:
    where = os.path.abspath(workspace) if workspace is not None else None
    return [*program.flags_of({"workspace": where, **settings}), *flags]


def run(cmd: Command, *, workspace: Optional[str] = None, profile: Optional[str] = None,
        envs: Optional[Mapping[str, str]] = None, cwd: Optional[str] = None, stdin: Union[str, bytes, None] = None,
        timeout: Optional[Seconds] = None, allow: Optional[Sequence[str]] = None, deny: Optional[Sequence[str]] = None,
        mem: Optional[str] = None, cpu: Optional[float] = None, pids: Optional[int] = None, disk: Optional[str] = None,
        output: Optional[str] = None, flags: Sequence[str] = (), check: bool = True) -> RunResult:
    """Runs a command in a throw-away copy of this machine: ``aisbx run``.

    A string is for ``sh -c``, a list is passed exactly. ``allow`` and ``deny`` are network rules ("api.example.org:443");
    without ``allow`` there is no network. ``flags`` are further flags as on the command line. Raises as
    ``Sandbox.commands.run`` does.
    """
    settings: Dict[str, Any] = {"profile": profile, "time": program.duration(timeout) if timeout else None, "allow": allow,
                                "deny": deny, "mem": mem, "cpu": cpu, "pids": pids, "disk": disk, "output": output}
    words = ["run", "--json", *_settings(workspace, settings, flags), "--", *program.words_of(cmd, cwd)]
    return program.run_command(words, check, stdin, None, envs, timeout)


class Sandbox:
    """A sandbox by name. ``create`` makes one, ``connect`` takes one that is there.

    As a context manager it is removed at the end. Nothing in it reaches the host until ``promote``.
    """

    def __init__(self, name: str) -> None:
        """Use ``create`` or ``connect``, which see that it is there."""
        self.name = name
        self.commands = Commands(name)
        self.files = Files(name)

    @property
    def sandbox_id(self) -> str:
        """The same as ``name``."""
        return self.name

    @classmethod
    def create(cls, name: Optional[str] = None, *, workspace: Optional[str] = None, profile: Optional[str] = None,
               timeout: Optional[Seconds] = None, envs: Optional[Mapping[str, str]] = None,
               allow: Optional[Sequence[str]] = None, deny: Optional[Sequence[str]] = None, mem: Optional[str] = None,
               cpu: Optional[float] = None, pids: Optional[int] = None, disk: Optional[str] = None,
               flags: Sequence[str] = ()) -> "Sandbox":
        """Makes a sandbox over the workspace (default: the enclosing git root or the current directory).

        ``timeout`` removes it after that many seconds; without it, it stays until ``kill``. ``flags`` are further flags
        of ``aisbx create``.
        """
        settings: Dict[str, Any] = {"profile": profile, "ttl": program.duration(timeout) if timeout else None,
                                    "allow": allow, "deny": deny, "mem": mem, "cpu": cpu, "pids": pids,
                                    "disk": disk}
        chosen = name if name is not None else f"sbx-{secrets.token_hex(4)}"
        program.ask_one("create", "--json", *_settings(workspace, settings, flags), "--", chosen, envs=envs)
        return cls(chosen)

    @classmethod
    def connect(cls, name: str) -> "Sandbox":
        """A sandbox that is there already; raises NotFoundError where there is none of that name."""
        program.ask_one("inspect", "--json", "--", name)
        return cls(name)

    @classmethod
    def list(cls) -> List[SandboxInfo]:
        """All sandboxes of this user."""
        return [SandboxInfo.read(row) for row in program.ask("ls", "--json")]

    def get_info(self) -> SandboxInfo:
        """State, changes, snapshots, size."""
        return SandboxInfo.read(program.ask_one("inspect", "--json", "--", self.name))

    def is_running(self) -> bool:
        """Whether it is there. (One without a process is there as well: the next command starts it.)"""
        try:
            self.get_info()
        except NotFoundError:
            return False
        return True

    def kill(self) -> bool:
        """Ends its processes and removes it with its snapshots; False when it was gone already."""
        try:
            program.ask_one("rm", "--json", "--", self.name)
        except NotFoundError:
            return False
        return True

    def stop(self) -> None:
        """Ends its processes; its files stay."""
        program.ask_one("stop", "--json", "--", self.name)

    def create_snapshot(self, message: Optional[str] = None) -> Snapshot:
        """Saves its state; ``rollback`` and ``fork`` take the snapshot's name."""
        return Snapshot.read(program.ask_one("snap", "--json", *program.flags_of({"message": message}), "--", self.name))

    def list_snapshots(self) -> List[Snapshot]:
        """Its snapshots, oldest first."""
        return [Snapshot.read(row) for row in program.ask("snaps", "--json", "--", self.name)]

    def rollback(self, snapshot: Union[str, Snapshot, None] = None) -> str:
        """Goes back to a snapshot (default: the last one); its name. What is left behind is saved first."""
        words = [self.name] if snapshot is None else [self.name, _name_of(snapshot)]
        return str(program.ask_one("rollback", "--json", "--", *words)["snapshot"])

    @overload
    def fork(self, name: Optional[str] = ..., *, snapshot: Union[str, Snapshot, None] = ...) -> "Sandbox": ...

    @overload
    def fork(self, name: int, *, snapshot: Union[str, Snapshot, None] = ...) -> "List[Sandbox]": ...

    def fork(self, name: Union[str, int, None] = None, *,
             snapshot: Union[str, Snapshot, None] = None) -> "Union[Sandbox, List[Sandbox]]":
        """A new sandbox that begins where this one (or one of its snapshots) is; with a number, a list of that many."""
        if isinstance(name, int):
            return [self.fork(snapshot=snapshot) for _ in range(name)]
        source = self.name if snapshot is None else f"{self.name}@{_name_of(snapshot)}"
        chosen = name if name is not None else f"sbx-{secrets.token_hex(4)}"
        program.ask_one("fork", "--json", "--", source, chosen)
        return type(self)(chosen)

    def diff(self) -> List[Change]:
        """What differs from the host as it was, path by path."""
        return [Change.read(row) for row in program.ask("diff", "--json", "--", self.name)]

    def patch(self) -> str:
        """The same as a unified diff that ``git apply`` takes."""
        self.get_info()
        answer = program.call_program(["diff", "--patch", "--", self.name])
        if answer.status:
            raise ProgramError(f"aisbx diff exited with {answer.status}")
        return answer.stdout.decode("utf-8", "surrogateescape")

    def promote(self, paths: Optional[Sequence[str]] = None, *, strategy: Optional[str] = None, dry_run: bool = False,
                allow_paths: Sequence[str] = (), gates: Sequence[str] = (),
                snapshot: Union[str, Snapshot, None] = None, flags: Sequence[str] = ()) -> Promotion:
        """Applies its changes (or those at PATHS alone) to the host, all or nothing; ``undo`` takes them back.

        Without PATHS all changes are applied; an empty list applies none.

        Raises ConflictError where the host moved (``strategy`` decides: merge, ours, theirs, lww), ConsentError where a
        person has to agree (``allow_paths``), DeniedError where a gate does not hold. With ``dry_run`` nothing is
        applied, and conflicts and consents stand in the answer instead. ``flags`` are further flags of
        ``aisbx promote``, such as --kill for processes that still run.
        """
        more = program.flags_of({"strategy": strategy, "dry_run": dry_run, "allow_path": list(allow_paths),
                                 "gate": list(gates), "snap": _name_of(snapshot) if snapshot is not None else None})
        chosen = [] if paths is None else _paths_of(paths)
        if paths is not None and not chosen:
            return Promotion.read({"promotion_id": None, "dry_run": dry_run})
        words = ["promote", "--json", *more, *flags, "--", self.name, *chosen]
        rows = program.read_rows(program.call_program(words), "promote")
        if len(rows) != 1 or not ("applied" in rows[0] or "error" in rows[0]):
            raise ProgramError("aisbx promote gave no answer that says what was applied", hint="look with promotions")
        raw = rows[0]
        promotion = Promotion.read(raw)
        known = "conflicts" in raw
        if isinstance(raw.get("error"), dict) and not (dry_run and known):
            error = error_from(raw["error"])
            if known and isinstance(error, (ConflictError, ConsentError)):
                error.promotion = promotion
            raise error
        return promotion

    def refresh(self) -> None:
        """Takes today's host as its base."""
        program.ask_one("refresh", "--json", "--", self.name)

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.kill()

    def __repr__(self) -> str:
        return f"Sandbox({self.name!r})"


def undo(promotion: Union[str, Promotion, None] = None) -> List[str]:
    """Takes a promotion back (default: the last one of this directory's workspace); the paths that are as before."""
    chosen = promotion.promotion_id if isinstance(promotion, Promotion) else promotion
    if promotion is not None and not chosen:
        raise UsageError("this promotion applied nothing: there is nothing to take back", "usage",
                         "undo() without one takes back the last")
    answer = program.ask_one("undo", "--json", "--", *([chosen] if chosen else []))
    return [str(path) for path in answer.get("paths") or []]


def _paths_of(paths: Sequence[str]) -> List[str]:
    if isinstance(paths, (str, bytes)) or not all(paths):
        raise UsageError("paths is a list of paths, none of them empty", "usage", 'promote(["a.txt"])')
    return [os.fspath(path) for path in paths]


def _name_of(snapshot: Union[str, Snapshot]) -> str:
    return snapshot if isinstance(snapshot, str) else snapshot.name
