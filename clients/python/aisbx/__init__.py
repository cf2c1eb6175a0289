"""Run commands in throw-away copies of this machine: the Python client of the program ``aisbx``.

    from aisbx import Sandbox, run

    print(run("rm -rf --no-preserve-root / ; echo still here").stdout)
    with Sandbox.create() as sandbox:
        sandbox.commands.run("make test")
        print(sandbox.diff())
"""

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

__version__ = "0.1.0"

__all__ = [
    "Change", "Changes", "CommandExitError", "CommandHandle", "Commands", "ConflictError", "ConsentError", "Denial", "DeniedError",
    "EntryInfo", "Files", "NotFoundError", "ProgramError", "Promotion", "RunResult", "Sandbox", "SandboxError",
    "SandboxInfo", "Snapshot", "TimeoutError", "UsageError", "run", "undo",
]
