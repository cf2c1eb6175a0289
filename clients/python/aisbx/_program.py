"""The one way to the program: finds it, calls it with --json, turns what it says into values or exceptions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from .errors import CommandExitError, ProgramError, TimeoutError, error_from
from .results import RunResult

Seconds = Union[int, float, str]
Command = Union[str, Sequence[str]]


def find_program() -> str:
    """The path in ``AISBX``, else ``aisbx`` on the PATH. (Inside a sandbox AISBX is just a mark, without a slash.)"""
    named = os.environ.get("AISBX", "")
    found = named if "/" in named else shutil.which("aisbx")
    if not found:
        raise ProgramError("the program aisbx is not on the PATH", "not_found", "install it, or name it in AISBX")
    return found


def call_bytes(words: Sequence[str], stdin: Optional[bytes] = None, cwd: Optional[str] = None) -> bytes:
    """What the program prints on stdout. Interrupted, it ends the program, and that ends the command."""
    argv = [find_program(), *words]
    source: Dict[str, Any] = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd, check=False, **source)
    except OSError as problem:
        raise ProgramError(f"{argv[0]}: {problem.strerror}", "not_found", "install it, or name it in AISBX") from problem
    return bytes(done.stdout)


def call(*words: str, stdin: Optional[bytes] = None, cwd: Optional[str] = None) -> List[Mapping[str, Any]]:
    """The objects the program answers with, one a line. WORDS have --json among them."""
    answer = call_bytes(words, stdin, cwd)
    try:
        rows = [json.loads(line) for line in answer.splitlines() if line.strip()]
    except ValueError:
        rows = [None]
    if not all(isinstance(row, dict) for row in rows):
        raise ProgramError(f"aisbx {words[0]} gave no answer that can be read")
    return rows


def ask(*words: str, stdin: Optional[bytes] = None) -> List[Mapping[str, Any]]:
    """As call, but what the program refuses is raised."""
    rows = call(*words, stdin=stdin)
    for row in rows:
        if isinstance(row.get("error"), dict):
            raise error_from(row["error"])
    return rows


def ask_one(*words: str, stdin: Optional[bytes] = None) -> Mapping[str, Any]:
    """As ask, for verbs that answer with one object."""
    rows = ask(*words, stdin=stdin)
    if len(rows) != 1:
        raise ProgramError(f"aisbx {words[0]} gave {len(rows)} answers where one was expected")
    return rows[0]


def run_command(words: Sequence[str], check: bool, stdin: Union[str, bytes, None], cwd: Optional[str] = None) -> RunResult:
    """``run`` or ``exec`` with its flags and command in WORDS; raises unless it ran (CHECK: and succeeded)."""
    rows = call(*words, stdin=stdin.encode() if isinstance(stdin, str) else stdin, cwd=cwd)
    if len(rows) != 1 or "status" not in rows[0]:
        raise ProgramError(f"aisbx {words[0]} gave no result")
    return judge(rows[0], check)


def judge(raw: Mapping[str, Any], check: bool) -> RunResult:
    """The result in RAW; raises what was refused, and with CHECK what did not succeed."""
    if isinstance(raw.get("error"), dict):
        raise error_from(raw["error"])
    result = RunResult.read(raw)
    if result.status in ("denied", "internal"):
        raise error_from({"code": result.status, "message": result.error})
    if not check or result.ok:
        return result
    kind = TimeoutError if result.status == "timeout" else CommandExitError
    raise kind(result, _why(result), result.denials[0].hint if result.denials else None)


def _why(result: RunResult) -> str:
    """One sentence: how it ended, and the last thing it said."""
    notes = result.raw.get("notes") or []
    if result.status == "error":
        text = f"the command exited with {result.exit_code}"
    else:
        text = str(notes[0]) if notes else f"the command ended with status {result.status}"
    last = (result.error or result.stderr.strip().rpartition("\n")[2])[:500]
    return f"{text}: {last}" if last else text


def words_of(command: Command, cwd: Optional[str] = None) -> List[str]:
    """The command as argv: a string is for ``sh -c``, a list is passed exactly; CWD is entered inside."""
    argv = ["/bin/sh", "-c", command] if isinstance(command, str) else [str(word) for word in command]
    if cwd is not None:
        return ["/bin/sh", "-c", 'cd -- "$1" && shift && exec "$@"', "sh", cwd, *argv]
    return argv


def duration(value: Seconds) -> str:
    """A number is seconds; text is as the program takes it ("500ms", "2h")."""
    return value if isinstance(value, str) else f"{max(1, round(value * 1000))}ms"


def flags_of(settings: Mapping[str, Any]) -> List[str]:
    """Settings as flags: None is left out, True is a switch, lists and maps repeat."""
    flags: List[str] = []
    for key, value in settings.items():
        name = "--" + key.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            flags.append(name)
        elif isinstance(value, Mapping):
            flags += [f"{name}={inner}={content}" for inner, content in value.items()]
        elif isinstance(value, (list, tuple)):
            flags += [f"{name}={item}" for item in value]
        else:
            flags.append(f"{name}={value}")
    return flags
