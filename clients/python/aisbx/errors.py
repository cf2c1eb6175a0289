# SPDX-License-Identifier: Apache-2.0
"""What can go wrong: every error carries a code, a message and, where there is one, the way out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Type

if TYPE_CHECKING:
    from .results import Promotion, RunResult


class SandboxError(Exception):
    """Base of all errors here.

    ``code`` is stable ("not_found", "usage", "denied"), ``message`` is one sentence for people, ``hint`` the way out
    or None.
    """

    def __init__(self, message: str, code: str = "internal", hint: Optional[str] = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.hint = hint


class ProgramError(SandboxError):
    """The program ``aisbx`` is not there, was killed, took too long, or gave no answer that can be read.

    ``answer`` is what it printed until then.
    """

    def __init__(self, message: str, code: str = "internal", hint: Optional[str] = None, answer: bytes = b"") -> None:
        super().__init__(message, code, hint)
        self.answer = answer


class UsageError(SandboxError):
    """A name, a flag or a value makes no sense."""


class NotFoundError(SandboxError):
    """There is no such sandbox, snapshot or file."""


class DeniedError(SandboxError):
    """Policy, a gate, or a layer of protection that is missing here refuses it."""


class ConflictError(SandboxError):
    """The host moved, or the name is taken. After ``promote``, ``promotion`` says where the two disagree."""

    promotion: Optional["Promotion"] = None


class ConsentError(SandboxError):
    """A person must agree first. After ``promote``, ``promotion.consent`` says to what."""

    promotion: Optional["Promotion"] = None


class CommandExitError(SandboxError):
    """The command ran and did not succeed; ``result`` has what it wrote."""

    def __init__(self, result: "RunResult", message: str, hint: Optional[str] = None) -> None:
        super().__init__(message, result.status, hint)
        self.result = result

    @property
    def exit_code(self) -> int:
        """The code a shell would see."""
        return self.result.exit_code

    @property
    def stdout(self) -> str:
        """What it wrote to stdout."""
        return self.result.stdout

    @property
    def stderr(self) -> str:
        """What it wrote to stderr."""
        return self.result.stderr


class TimeoutError(CommandExitError):  # noqa: A001 - the name its users know
    """The command was ended at its time limit; ``result`` has what it wrote until then."""


_CLASSES: Dict[str, Type[SandboxError]] = {
    "usage": UsageError,
    "input": UsageError,
    "not_found": NotFoundError,
    "denied": DeniedError,
    "conflict": ConflictError,
    "consent": ConsentError,
}


def error_from(error: Mapping[str, Any]) -> SandboxError:
    """The exception for an error object of the program."""
    code = str(error.get("code") or "internal")
    hint = error.get("hint")
    return _CLASSES.get(code, SandboxError)(str(error.get("message") or code), code, hint)
