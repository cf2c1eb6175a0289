# SPDX-License-Identifier: Apache-2.0
"""Run commands in throw-away copies of this machine: the Python client of the program ``aisbx``.

    from aisbx import Sandbox, run

    print(run("rm -rf --no-preserve-root / ; echo still here").stdout)
    with Sandbox.create() as sandbox:
        sandbox.commands.run("make test")
        print(sandbox.diff())
"""

from ._program import set_limits
from .background import CommandHandle
from .commands import Commands
from .errors import (
    CommandExitError,
    ConflictError,
    ConsentError,
    DeniedError,
    NotFoundError,
    ProgramError,
    SandboxError,
    TimeoutError,
    UsageError,
)
from .files import Files
from .results import Change, Changes, Denial, EntryInfo, Promotion, RunResult, SandboxInfo, Snapshot
from .sandbox import Sandbox, run, undo

__version__ = "0.2.0"

# The names these have in E2B's package.
SandboxException = SandboxError
NotFoundException = NotFoundError
TimeoutException = TimeoutError
CommandExitException = CommandExitError
CommandResult = RunResult

__all__ = [
    "Change", "Changes", "CommandExitError", "CommandExitException", "CommandHandle", "CommandResult", "Commands",
    "ConflictError", "ConsentError", "Denial", "DeniedError", "EntryInfo", "Files", "NotFoundError",
    "NotFoundException", "ProgramError", "Promotion", "RunResult", "Sandbox", "SandboxError", "SandboxException",
    "SandboxInfo", "Snapshot", "TimeoutError", "TimeoutException", "UsageError", "run", "set_limits", "undo",
]
