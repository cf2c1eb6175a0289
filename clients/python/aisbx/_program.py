# SPDX-License-Identifier: Apache-2.0
"""The one way to the program: finds it, calls it with --json, turns what it says into values or exceptions."""

from __future__ import annotations

import contextvars
import ctypes
import errno
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sysconfig
import threading
from typing import Any, Callable, List, Mapping, NamedTuple, Optional, Sequence, Union

from .errors import CommandExitError, ProgramError, TimeoutError, UsageError, error_from
from .results import RunResult

Seconds = Union[int, float, str]
Command = Union[str, Sequence[str]]

_limits = {"call": 600.0, "command": 86400.0}
_END_SECONDS = 5
_PR_SET_PDEATHSIG = 1
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_UNKNOWN = "whether it took effect is not known: look before you do it again"
_STATES = ("success", "error", "timeout", "oom", "killed", "limit", "denied", "internal")


def find_program() -> str:
    """The path in ``AISBX``, else ``aisbx`` on the PATH, else the one that was installed with this package.

    (Inside a sandbox AISBX is just a mark, without a slash.)
    """
    named = os.environ.get("AISBX", "")
    found = named if "/" in named else shutil.which("aisbx") or shutil.which("aisbx", path=sysconfig.get_path("scripts"))
    if not found:
        raise ProgramError("the program aisbx is not on the PATH", "not_found", "install it, or name it in AISBX")
    return found


class Cancel:
    """Ends the call that a thread has under way, or else the next one; what tidies up behind that is left alone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: "Optional[subprocess.Popen[bytes]]" = None
        self._is_due = False

    def begin(self, process: "subprocess.Popen[bytes]") -> None:
        """PROCESS is what is to be ended from now on."""
        with self._lock:
            self._process = process
            if self._is_due:
                self._is_due = False
                process.terminate()

    def end(self) -> None:
        """By TERM: the program ends its command then."""
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                self._process.terminate()
            else:
                self._is_due = True


# Of the call under way in this context; the asynchronous client sets it.
cancel: "contextvars.ContextVar[Optional[Cancel]]" = contextvars.ContextVar("cancel", default=None)


# Whether the program is ended when this process is, even by KILL; for the main thread only, as the kernel looks at the thread.
ends_with_caller: "contextvars.ContextVar[bool]" = contextvars.ContextVar("ends_with_caller", default=False)


class Answer(NamedTuple):
    """What the program printed on stdout, and the status it exited with."""

    stdout: bytes
    status: int


def set_limits(call: Optional[float] = None, command: Optional[float] = None) -> None:
    """Sets how long the program is waited for, in seconds.

    ``call`` is what a call may take beyond the time of a command it runs (600 at first), ``command`` what a command
    may take that has no ``timeout`` of its own (a day at first). A program that takes longer is ended, and
    ProgramError raised with the code "timeout".
    """
    _limits.update({key: float(value) for key, value in (("call", call), ("command", command)) if value is not None})


def call_seconds() -> float:
    """How long a call may take beyond the time of a command."""
    return _limits["call"]


def limit_of(timeout: Optional[Seconds]) -> float:
    """How long a call may take that runs a command with this time limit."""
    return _limits["call"] + (_limits["command"] if not timeout else seconds_of(timeout))


def seconds_of(value: Seconds) -> float:
    """A duration as the program takes it, in seconds; what cannot be read is for the program to refuse."""
    if not isinstance(value, str):
        return float(value)
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)?", value.strip())
    return float(match[1]) * _UNITS[match[2] or "s"] if match else _limits["command"]


def call_program(words: Sequence[str], stdin: Optional[bytes] = None, cwd: Optional[str] = None,
                 envs: Optional[Mapping[str, str]] = None, limit: Optional[float] = None) -> Answer:
    """Runs the program to its end. Interrupted, it ends the program, and that ends the command.

    ENVS are the command's variables. They pass by descriptor: other users can read a command line.
    """
    argv = [find_program(), *words]
    given = _open_variables(envs)
    try:
        if given is not None:
            argv.insert(2, f"--env-fd={given}")
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd,
                                   pass_fds=() if given is None else (given,), preexec_fn=_at_start())
    except (FileNotFoundError, PermissionError) as problem:
        raise ProgramError(f"{argv[0]}: {problem.strerror}", "not_found", "install it, or name it in AISBX") from problem
    except OSError as problem:
        hint = "make the command shorter: what is long goes in a file or by stdin" if problem.errno == errno.E2BIG else None
        raise ProgramError(f"{argv[0]}: {problem.strerror}", "internal", hint) from problem
    except ValueError as problem:
        raise UsageError("the command holds a null byte, or half of a character (a lone surrogate)", "usage", "leave that out") from problem
    finally:
        if given is not None:
            os.close(given)
    with process:
        return _converse(process, words[0], stdin, _limits["call"] if limit is None else limit)


def _at_start() -> Optional[Callable[[], None]]:
    """What the new process does before it becomes the program."""
    if not ends_with_caller.get() or threading.current_thread() is not threading.main_thread():
        return None
    prctl, caller = ctypes.CDLL(None).prctl, os.getpid()

    def wish() -> None:
        prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
        if os.getppid() != caller:
            os._exit(1)
    return wish


def _open_variables(envs: Optional[Mapping[str, str]]) -> Optional[int]:
    """A file in memory with the variables, each ended by a null byte."""
    if not envs:
        return None
    pairs = [os.fsencode(f"{name}={value}") for name, value in envs.items()]
    if any(b"\0" in pair for pair in pairs) or any("=" in name for name in envs):
        raise UsageError("a variable has '=' in its name, or a null byte", "usage", "leave that out")
    with os.fdopen(os.memfd_create("variables"), "w+b") as out:
        out.write(b"".join(pair + b"\0" for pair in pairs))
        out.seek(0)
        # Above the standard ones, which this process may have closed.
        return fcntl.fcntl(out, fcntl.F_DUPFD_CLOEXEC, 3)


def _converse(process: "subprocess.Popen[bytes]", verb: str, stdin: Optional[bytes], limit: float) -> Answer:
    watcher = cancel.get()
    if watcher is not None:
        watcher.begin(process)
    try:
        answer, notes = process.communicate(stdin, timeout=limit)
    except subprocess.TimeoutExpired as late:
        _end(process)
        raise ProgramError(f"aisbx {verb} took longer than {limit:g}s and was ended", "timeout", _UNKNOWN) from late
    except BaseException:
        _end(process)
        raise
    if process.returncode < 0:
        raise ProgramError(f"aisbx {verb} was ended by signal {-process.returncode}", "killed", _UNKNOWN, answer)
    if process.returncode and not answer:
        last = notes.decode("utf-8", "replace").strip().rpartition("\n")[2][:500]
        raise ProgramError(f"aisbx {verb} exited with {process.returncode}" + (f": {last}" if last else ""))
    return Answer(answer, process.returncode)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ends the program: by TERM, so that it can tidy up, then by KILL."""
    process.terminate()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


def read_rows(answer: Answer, verb: str) -> List[Mapping[str, Any]]:
    """The objects of an answer, one a line; one that does not say why the program failed is none."""
    try:
        rows = [json.loads(line) for line in answer.stdout.splitlines() if line.strip()]
    except ValueError:
        rows = [None]
    if not all(isinstance(row, dict) for row in rows):
        raise ProgramError(f"aisbx {verb} gave no answer that can be read", answer=answer.stdout)
    is_run = verb in ("run", "exec")
    if answer.status and not any(isinstance(row.get("error"), dict) or (is_run and "status" in row) for row in rows):
        raise ProgramError(f"aisbx {verb} exited with {answer.status} and gave no reason", answer=answer.stdout)
    return rows


def ask(*words: str, stdin: Optional[bytes] = None, envs: Optional[Mapping[str, str]] = None,
        limit: Optional[float] = None) -> List[Mapping[str, Any]]:
    """The objects the program answers with; what it refuses is raised. WORDS have --json among them."""
    rows = read_rows(call_program(words, stdin, envs=envs, limit=limit), words[0])
    for row in rows:
        if isinstance(row.get("error"), dict):
            raise error_from(row["error"])
    return rows


def ask_one(*words: str, stdin: Optional[bytes] = None, envs: Optional[Mapping[str, str]] = None,
            limit: Optional[float] = None) -> Mapping[str, Any]:
    """As ask, for verbs that answer with one object."""
    rows = ask(*words, stdin=stdin, envs=envs, limit=limit)
    if len(rows) != 1:
        raise ProgramError(f"aisbx {words[0]} gave {len(rows)} answers where one was expected")
    return rows[0]


def run_command(words: Sequence[str], check: bool, stdin: Union[str, bytes, None], cwd: Optional[str] = None,
                envs: Optional[Mapping[str, str]] = None, timeout: Optional[Seconds] = None) -> RunResult:
    """``run`` or ``exec`` with its flags and command in WORDS; raises unless it ran (CHECK: and succeeded)."""
    answer = call_program(words, stdin.encode() if isinstance(stdin, str) else stdin, cwd, envs, limit_of(timeout))
    rows = read_rows(answer, words[0])
    if len(rows) != 1 or ("status" not in rows[0] and "error" not in rows[0]):
        raise ProgramError(f"aisbx {words[0]} gave no result")
    if (answer.status == 0) != (rows[0].get("status") == "success"):
        raise ProgramError(f"aisbx {words[0]} exited with {answer.status}, which its result denies")
    return judge(rows[0], check)


def judge(raw: Mapping[str, Any], check: bool) -> RunResult:
    """The result in RAW; raises what was refused, and with CHECK what did not succeed."""
    if isinstance(raw.get("error"), dict):
        raise error_from(raw["error"])
    if raw.get("status") not in _STATES:
        raise ProgramError("aisbx gave a result without a status")
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
