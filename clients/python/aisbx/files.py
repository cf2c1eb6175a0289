# SPDX-License-Identifier: Apache-2.0
"""``sandbox.files``: reading and writing inside, with the sandbox's own rights."""

from __future__ import annotations

from typing import List, Literal, Optional, Sequence, Union, overload

from . import _program as program
from .errors import NotFoundError, SandboxError
from .results import EntryInfo, RunResult

# The most that one read brings back.
READ_MAX = "1g"

# A pipe would be waited for, a device never ends.
_FILE_ONLY = '[ ! -e "$1" ] || [ -f "$1" ] || { echo "$1: not a regular file" >&2; exit 1; }; '
_READ = _FILE_ONLY + 'exec cat -- "$1"'
_WRITE = _FILE_ONLY + 'mkdir -p -- "${1%/*}/" && exec cat > "$1"'

_TYPES = {"f": "file", "d": "dir", "l": "link"}


class Files:
    """Files of one sandbox. Relative paths start at the top of its workspace."""

    def __init__(self, name: str) -> None:
        self._name = name

    @overload
    def read(self, path: str, format: Literal["text"] = ...) -> str: ...

    @overload
    def read(self, path: str, format: Literal["bytes"]) -> bytes: ...

    def read(self, path: str, format: str = "text") -> Union[str, bytes]:
        """The content of a file: as text (bytes that are not UTF-8 are replaced), or exact with ``format="bytes"``."""
        result = self._do(["/bin/sh", "-c", _READ, "sh", _plain(path)], path, output=READ_MAX)
        if result.truncated:
            raise SandboxError(f"{path} is larger than {READ_MAX}", "input", "copy it out with aisbx cp")
        return result.stdout_data if format == "bytes" else result.stdout

    def write(self, path: str, data: Union[str, bytes]) -> EntryInfo:
        """Writes a file, with the directories that lead to it; what was there is replaced."""
        self._do(["/bin/sh", "-c", _WRITE, "sh", _plain(path)], path, stdin=data)
        return self.get_info(path)

    def list(self, path: str = ".", depth: int = 1) -> List[EntryInfo]:
        """What lies in a directory, DEPTH levels down, sorted by path."""
        form = "%y\\0%s\\0%m\\0%P\\0"
        return self._find(path, ["-mindepth", "1", "-maxdepth", str(depth), "-printf", form])

    def get_info(self, path: str) -> EntryInfo:
        """What one path is; raises NotFoundError where there is nothing."""
        return self._find(path, ["-maxdepth", "0", "-printf", "%y\\0%s\\0%m\\0\\0"])[0]

    def exists(self, path: str) -> bool:
        """Whether there is something; a link that leads nowhere is something."""
        try:
            self.get_info(path)
        except NotFoundError:
            return False
        return True

    def remove(self, path: str) -> None:
        """Removes a file, or a directory with all in it."""
        self.get_info(path)
        self._do(["rm", "-rf", "--", path], path)

    def rename(self, old_path: str, new_path: str) -> EntryInfo:
        """Moves something; what was at the new path is replaced, a directory there is not entered."""
        self._do(["mv", "-fT", "--", old_path, new_path], old_path)
        return self.get_info(new_path)

    def make_dir(self, path: str) -> bool:
        """Makes a directory and those that lead to it; False when it was there already."""
        if self.exists(path):
            self._do(["test", "-d", path], path)
            return False
        self._do(["mkdir", "-p", "--", path], path)
        return True

    def _find(self, path: str, words: Sequence[str]) -> List[EntryInfo]:
        found = self._do(["find", _plain(path), *words], path, output=READ_MAX).stdout_data
        cells = found.decode("utf-8", "surrogateescape").split("\0")[:-1]
        entries = []
        for kind, size, mode, inner in zip(*(iter(cells),) * 4):
            whole = path if not inner else inner if path == "." else f"{path.rstrip('/')}/{inner}"
            entries.append(EntryInfo(whole.rstrip("/").rpartition("/")[2], whole, _TYPES.get(kind, "other"), int(size),
                                     int(mode, 8)))
        return sorted(entries, key=lambda entry: entry.path)

    def _do(self, command: Sequence[str], path: str, stdin: Union[str, bytes, None] = None,
            output: Optional[str] = None) -> RunResult:
        # The words of an error are compared below, so they are asked for in one language.
        seconds = program.call_seconds()
        flags = program.flags_of({"env": "LC_ALL=C", "time": program.duration(seconds), "output": output})
        words = ["exec", "--json", *flags, self._name, "--", *command]
        result = program.run_command(words, False, stdin, "/", timeout=seconds)
        if result.ok:
            return result
        said = result.stderr.strip().rpartition("\n")[2] or f"{path}: failed with exit code {result.exit_code}"
        if "No such file or directory" in said:
            raise NotFoundError(said, "not_found")
        raise SandboxError(said, "denied" if result.status == "error" else result.status)


def _plain(path: str) -> str:
    """A path that looks like an option, or like a word of find's language, is none."""
    return path if path.startswith("/") else f"./{path}"
