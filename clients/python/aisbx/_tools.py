# SPDX-License-Identifier: Apache-2.0
"""What the adapters for agent frameworks share: two tools, each a function from text to text."""

from __future__ import annotations

from typing import Any, Callable, List, NamedTuple, Optional

from ._program import Command
from .errors import SandboxError
from .results import RunResult
from .sandbox import Sandbox, run

# A model reads all of it: the beginning and the end say most.
_TEXT_MAX = 16384


class Tool(NamedTuple):
    """One tool: what a model reads of it, and what it does."""

    name: str
    description: str
    call: Callable[[str], str]


def tools_of(sandbox: Optional[Sandbox], settings: Any) -> List[Tool]:
    """The tools, in SANDBOX, which keeps what they do, or each call in a throw-away one with SETTINGS of ``run``."""
    if sandbox is not None and set(settings) - {"timeout"}:
        raise TypeError("with a sandbox, its own settings hold: only timeout can be given")
    kept = "Files stay between calls." if sandbox is not None else "Nothing is kept between calls."

    def call(command: Command) -> str:
        try:
            if sandbox is not None:
                return text_of(sandbox.commands.run(command, check=False, **settings))
            return text_of(run(command, check=False, **settings))
        except SandboxError as error:
            return f"aisbx: {error.message}" + (f"\nremedy: {error.hint}" if error.hint else "")

    return [
        Tool("sandbox_shell", f"Runs a shell command in a sandbox: a copy of this machine from which nothing reaches it. {kept}", call),
        Tool("sandbox_python", f"Runs a Python program in a sandbox: a copy of this machine from which nothing reaches it. Print what you want to see. {kept}",
             lambda code: call(["python3", "-c", code])),
    ]


def text_of(result: RunResult) -> str:
    """A result as a model reads it: output, how it ended if not well, what was refused and how to allow that."""
    parts = [_cut(result.stdout)]
    if result.stderr:
        parts.append(f"stderr:\n{_cut(result.stderr)}")
    if not result.ok:
        parts.append(f"status: {result.status}, exit code {result.exit_code}")
    parts += [f"refused: {one.what}" + (f" (allowed by {one.hint})" if one.hint else "") for one in result.denials]
    return "\n".join(part.rstrip("\n") for part in parts if part) or "(no output)"


def _cut(text: str) -> str:
    if len(text) <= _TEXT_MAX:
        return text
    half = _TEXT_MAX // 2
    return f"{text[:half]}\n[{len(text) - _TEXT_MAX} characters left out]\n{text[-half:]}"


def missing(package: str) -> ImportError:
    """The error of an adapter whose framework is not installed, with the remedy."""
    return ImportError(f"this adapter needs {package}, which is not installed: pip install {package}", name=package)
