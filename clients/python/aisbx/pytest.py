# SPDX-License-Identifier: Apache-2.0
# mypy: no-warn-unused-ignores
"""``aisbx-pytest``: as ``pytest --aisbx``, for projects whose pytest configuration is not trusted either.

The host's pytest reads no configuration and loads no plugin that was not named. What it needs to find the test files, the pytest of
a sandbox reads and says.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from typing import Any, Dict, List

import pytest  # type: ignore

from . import pytest_plugin
from .errors import SandboxError

_ASK = r"""
import json, os, sys
out = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
os.dup2(2, 1)
import pytest
class Asked:
    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config):
        settings = {name: [str(one) for one in config.getini(name)] for name in %r}
        out.write(json.dumps({"root": str(config.rootpath), "settings": settings}) + "\n")
        return 0
sys.exit(pytest.main(sys.argv[1:], plugins=[Asked()]))
""" % (pytest_plugin.SETTINGS,)


def main() -> int:
    """Runs pytest with the arguments of this process; its exit status."""
    try:
        words = _words([*shlex.split(os.environ.pop("PYTEST_ADDOPTS", "")), *sys.argv[1:]])
    except (SandboxError, ValueError) as error:
        print(f"aisbx-pytest: {error}", file=sys.stderr)
        return int(pytest.ExitCode.USAGE_ERROR)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # a plugin may read the project as it likes
    return int(pytest.main(words, plugins=[pytest_plugin]))


def _words(given: List[str]) -> List[str]:
    """The arguments of the host's pytest; of two that are the same the last one holds."""
    if any(os.path.realpath(place) == os.path.realpath(".") for place in sys.path):
        raise ValueError("Python takes modules from this directory: start it as aisbx-pytest, or by `python3 -I -m aisbx.pytest`")
    if "--" in given:
        raise ValueError("an argument -- would hide those that make the sandboxes: leave it out")
    parser = argparse.ArgumentParser(prog="aisbx-pytest", add_help=False, allow_abbrev=False)
    parser.add_argument("-c", "--config-file", dest="config")
    parser.add_argument("--aisbx-flag", action="append", default=[])
    parser.add_argument("--aisbx-args", default="")
    known, rest = parser.parse_known_args([word for word in given if word != "--aisbx"])
    inner = [*shlex.split(known.aisbx_args), *(["-c", known.config] if known.config else [])]
    answer = _ask([*rest, *inner], known.aisbx_flag)
    settings = [f"{name}={shlex.join(map(str, answer['settings'].get(name) or []))}" for name in pytest_plugin.SETTINGS]
    return [*rest, *(f"--aisbx-flag={flag}" for flag in known.aisbx_flag), f"--aisbx-args={shlex.join(inner)}",
            *(f"--override-ini={one}" for one in settings), f"--rootdir={answer['root']}", "-c", os.devnull,
            "--aisbx"]


def _ask(words: List[str], flags: List[str]) -> Dict[str, Any]:
    """What the project's configuration says, read inside."""
    result, rows = pytest_plugin.call_inside(_ASK, ["-p", "no:cacheprovider", *words], flags, os.getcwd())
    found = [row for row in rows if isinstance(row.get("root"), str) and isinstance(row.get("settings"), dict)]
    if not found:
        raise ValueError(f"pytest's configuration could not be read inside (exit {result.exit_code}): {result.stderr.strip()}")
    return dict(found[-1])


if __name__ == "__main__":
    sys.exit(main())
