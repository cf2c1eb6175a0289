# SPDX-License-Identifier: Apache-2.0
"""What the program answers, as typed values; ``raw`` always holds the whole object."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional

Raw = Mapping[str, Any]


def _path(item: Any, key: str = "path") -> str:
    """A path is text; one that is not UTF-8 comes as base64 and is decoded as Python decodes file names."""
    if not isinstance(item, Mapping):
        return str(item)
    coded = item.get(key + "_b64")
    if coded:
        return base64.b64decode(coded).decode("utf-8", "surrogateescape")
    return str(item.get(key) or "")


@dataclass(frozen=True)
class Changes:
    """How many files were added, modified and deleted."""

    added: int = 0
    modified: int = 0
    deleted: int = 0

    @classmethod
    def read(cls, raw: Optional[Raw]) -> "Changes":
        """From the program's object."""
        return cls(*(int((raw or {}).get(key) or 0) for key in ("added", "modified", "deleted")))


@dataclass(frozen=True)
class Denial:
    """Something the command tried and was not allowed: which layer, what, by which rule, and the way out."""

    layer: str
    what: str
    rule: Optional[str]
    hint: Optional[str]
    count: int


@dataclass(frozen=True)
class RunResult:
    """What came of a command.

    ``status`` is success, error, timeout, oom, killed or limit. ``stdout`` and ``stderr`` are text; bytes that are not
    UTF-8 are replaced there and exact in ``stdout_data`` and ``stderr_data``.
    """

    status: str
    exit_code: int
    stdout: str
    stderr: str
    stdout_data: bytes = field(repr=False)
    stderr_data: bytes = field(repr=False)
    truncated: bool
    signal: Optional[int]
    run_id: Optional[str]
    sandbox: Optional[str]
    command: List[str]
    duration_ms: float
    cpu_ms: float
    peak_memory_bytes: Optional[int]
    limits_hit: List[str]
    degraded: List[str]
    denials: List[Denial]
    changes: Changes
    error: Optional[str]
    raw: Raw = field(repr=False)

    @property
    def ok(self) -> bool:
        """Whether it exited with 0."""
        return self.status == "success"

    @classmethod
    def read(cls, raw: Raw) -> "RunResult":
        """From the object of ``run --json``."""
        out, err = _stream(raw, "stdout"), _stream(raw, "stderr")
        denials = [Denial(d.get("layer") or "", d.get("what") or "", d.get("rule"), d.get("hint"), int(d.get("count") or 1))
                   for d in raw.get("denials") or []]
        return cls(
            status=str(raw.get("status")), exit_code=int(raw.get("exit_code") or (0 if raw.get("status") == "success" else 125)),
            stdout=out.decode("utf-8", "replace"), stderr=err.decode("utf-8", "replace"),
            stdout_data=out, stderr_data=err, truncated=bool(raw.get("truncated")), signal=raw.get("signal"),
            run_id=raw.get("run_id"), sandbox=raw.get("sandbox"), command=list(raw.get("command") or []),
            duration_ms=float(raw.get("duration_ms") or 0), cpu_ms=float(raw.get("cpu_ms") or 0),
            peak_memory_bytes=raw.get("peak_memory_bytes"), limits_hit=list(raw.get("limits_hit") or []),
            degraded=list(raw.get("degraded") or []), denials=denials, changes=Changes.read(raw.get("changes")),
            error=raw.get("message"), raw=raw)


def _stream(raw: Raw, key: str) -> bytes:
    text = raw.get(key) or ""
    if raw.get(key + "_encoding") == "base64":
        return base64.b64decode(text)
    return str(text).encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class SandboxInfo:
    """One sandbox as ``aisbx ls`` knows it."""

    name: str
    base: Optional[str]
    state: str
    created: Optional[str]
    expires: Optional[str]
    snapshots: int
    changes: Changes
    disk_bytes: int
    raw: Raw = field(repr=False)

    @classmethod
    def read(cls, raw: Raw) -> "SandboxInfo":
        """From the object of ``ls`` or ``inspect``."""
        return cls(str(raw["name"]), raw.get("base"), str(raw.get("state")), raw.get("created"), raw.get("expires"),
                   int(raw.get("snapshots") or 0), Changes.read(raw.get("changes")), int(raw.get("disk_bytes") or 0), raw)


@dataclass(frozen=True)
class Snapshot:
    """A saved state; ``current`` is the one the sandbox stands on, ``auto`` one that a rollback saved by itself."""

    name: str
    parent: Optional[str]
    message: Optional[str]
    made: Optional[str]
    auto: bool
    current: bool

    @classmethod
    def read(cls, raw: Raw) -> "Snapshot":
        """From the object of ``snap`` or ``snaps``."""
        return cls(str(raw["name"]), raw.get("parent"), raw.get("message"), raw.get("made"), bool(raw.get("auto")),
                   bool(raw.get("current")))


@dataclass(frozen=True)
class Change:
    """One path that differs from the host: ``op`` is added, modified, deleted, renamed or the like."""

    op: str
    path: str
    type: str
    old_path: Optional[str]
    raw: Raw = field(repr=False)

    @classmethod
    def read(cls, raw: Raw) -> "Change":
        """From the object of ``diff --json``."""
        return cls(str(raw.get("op")), _path(raw), str(raw.get("type")), _path(raw, "from") or None, raw)


@dataclass(frozen=True)
class Promotion:
    """What a promotion did, or with ``dry_run`` would do.

    ``conflicts`` are the places where the host moved, ``consent`` what a person has to agree to: each as the program
    tells it. ``promotion_id`` is what ``undo`` takes; None when nothing was applied.
    """

    promotion_id: Optional[str]
    applied: List[str]
    merged: List[str]
    skipped: List[str]
    conflicts: List[Dict[str, Any]]
    consent: List[Dict[str, Any]]
    dry_run: bool
    raw: Raw = field(repr=False)

    @classmethod
    def read(cls, raw: Raw) -> "Promotion":
        """From the object of ``promote --json``."""
        def paths(key: str) -> List[str]:
            return [_path(item) for item in raw.get(key) or []]
        return cls(raw.get("promotion_id"), paths("applied"), paths("merged"), paths("skipped"),
                   list(raw.get("conflicts") or []), list(raw.get("consent") or []), bool(raw.get("dry_run")), raw)


@dataclass(frozen=True)
class EntryInfo:
    """One entry of a directory in a sandbox; ``type`` is file, dir, link or other."""

    name: str
    path: str
    type: str
    size: int
    mode: int
