# SPDX-License-Identifier: Apache-2.0
# mypy: no-warn-unused-ignores, allow-subclassing-any, allow-untyped-decorators
"""``pytest --aisbx``: each test file is collected and run in a sandbox of its own, and reported as if it had run here.

Neither test files nor ``conftest.py`` are imported on the host, and nothing is written to its tree: pytest's cache is off. The
pytest inside is the one of this interpreter. It writes pytest's own serialised reports to its stdout, one a line.

The project's pytest configuration is trusted here: it can load plugins before this one. ``aisbx.pytest`` is for other projects.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import pytest  # type: ignore

from . import _program as program
from .errors import SandboxError
from .results import RunResult
from .sandbox import run

# Options of pytest that mean the same inside, by their names in config.option.
_PASSED = {"keyword": "-k", "markexpr": "-m", "tbstyle": "--tb", "maxfail": "--maxfail", "capture": "--capture",
           "importmode": "--import-mode", "inifilename": "-c", "confcutdir": "--confcutdir", "durations": "--durations"}
_REPEATED = {"override_ini": "-o", "pythonwarnings": "-W", "doctestglob": "--doctest-glob"}
_SWITCHES = {"showlocals": "--showlocals", "strict_markers": "--strict-markers", "doctestmodules": "--doctest-modules",
             "runxfail": "--runxfail"}
# Which files pytest takes for tests, and where it looks for them.
SETTINGS = ("testpaths", "python_files", "norecursedirs")
# Those of a report; another name that pytest's class has, too, would stand in for its own.
_FIELDS = ("nodeid", "location", "keywords", "outcome", "longrepr", "when", "user_properties", "sections", "duration", "start", "stop",
           "wasxfail", "$report_type")
_CACHED = {"lf": "--lf", "failedfirst": "--ff", "newfirst": "--nf", "stepwise": "--sw"}

# Runs inside, by the interpreter's -c: the package itself need not be there.
_INSIDE = r"""
import json, os, sys
out = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
os.dup2(2, 1)
try:
    import pytest
except ImportError:
    sys.exit("pytest is not installed for " + sys.executable + " as the sandbox sees it")
def send(row):
    out.write(json.dumps(row) + "\n")
    out.flush()
class Reporter:
    def describe(self, item):
        return {"id": item.nodeid, "place": [item.location[0], item.location[1], item.location[2]]}
    def pytest_collection_finish(self, session):
        send({"items": [self.describe(item) for item in session.items]})
    def pytest_deselected(self, items):
        send({"deselected": [self.describe(item) for item in items]})
    def pytest_collectreport(self, report):
        if report.failed or report.skipped:
            text = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
            send({"broken" if report.failed else "skipped": text})
    def pytest_runtest_logreport(self, report):
        send({"report": config.hook.pytest_report_to_serializable(config=config, report=report)})
    def pytest_configure(self, config):
        globals()["config"] = config
sys.exit(pytest.main(sys.argv[1:], plugins=[Reporter()]))
"""


def pytest_addoption(parser: Any) -> None:
    """Adds the options of this plugin."""
    group = parser.getgroup("aisbx", "tests in sandboxes")
    group.addoption("--aisbx", action="store_true", help="run each test file in a sandbox of its own")
    group.addoption("--aisbx-flag", action="append", default=[], metavar="FLAG",
                    help="a flag of `aisbx run` for these sandboxes: --aisbx-flag=--mem=1g")
    group.addoption("--aisbx-args", default="", metavar="ARGS",
                    help="further arguments of the pytest inside, such as options that a conftest.py adds")


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: Any, parser: Any) -> Iterator[None]:
    """What a conftest.py does, it does inside."""
    known = early_config.known_args_namespace
    # What loosens a sandbox, or leaves it out, is not for the files that are to be run in it.
    given = parser.parse_known_args([*shlex.split(os.environ.get("PYTEST_ADDOPTS", "")), *early_config.invocation_params.args])
    for name in ("aisbx", "aisbx_flag", "aisbx_args"):
        if getattr(known, name) != getattr(given, name):
            raise pytest.UsageError(f"addopts of {early_config.inipath} changes --{name.replace('_', '-')}, which is taken from the "
                                    "command line and PYTEST_ADDOPTS only: take it out there")
    if known.aisbx:
        if known.pyargs:
            raise pytest.UsageError("--pyargs imports packages on the host, which --aisbx does not: name the files")
        known.noconftest = True
        early_config.pluginmanager.set_blocked("cacheprovider")
        early_config.pluginmanager.set_blocked("stepwise")
        sys.dont_write_bytecode = True
    yield
    if known.aisbx:
        for path in map(str, early_config.getini("pythonpath")):
            if path in sys.path:
                sys.path.remove(path)


def pytest_configure(config: Any) -> None:
    """Selection is done inside, where marks and parameters are known."""
    if not config.option.aisbx:
        return
    for name, flag in _CACHED.items():
        if getattr(config.option, name, False):
            raise pytest.UsageError(f"{flag} needs pytest's cache, which --aisbx does not write to your tree: leave one of them out")
    config.stash[_WORDS] = _words(config)
    config.option.log_file = getattr(config.option, "log_file", None) or os.devnull  # else the project's configuration names a file of the host
    config.option.keyword = config.option.markexpr = ""


_WORDS: Any = pytest.StashKey()


def _words(config: Any) -> List[str]:
    """The arguments that both have in common."""
    option = config.option
    words = ["-p", "no:cacheprovider", f"--rootdir={config.rootpath}"]
    words += [f"{flag}={getattr(option, name)}" if flag.startswith("--") else f"{flag}{getattr(option, name)}"
              for name, flag in _PASSED.items() if getattr(option, name, None) not in (None, "", 0, os.devnull)]
    words += [f"{flag}={value}" if flag.startswith("--") else f"{flag}{value}"
              for name, flag in _REPEATED.items() for value in getattr(option, name, None) or []
              # aisbx.pytest has them from inside.
              if option.inifilename != os.devnull or value.partition("=")[0] not in SETTINGS]
    words += [flag for name, flag in _SWITCHES.items() if getattr(option, name, False)]
    return [*words, *shlex.split(option.aisbx_args)]


@pytest.hookimpl(hookwrapper=True)
def pytest_collect_file(file_path: Path, parent: Any) -> Iterator[None]:
    """In place of what would import or read the file here."""
    outcome = yield
    if parent.config.option.aisbx:
        found = outcome.get_result()  # type: ignore[attr-defined]
        kept = [one for one in found if isinstance(one, pytest.Package)]
        if len(kept) < len(found):
            kept.append(SandboxFile.from_parent(parent, path=file_path))
        outcome.force_result(kept)  # type: ignore[attr-defined]


@pytest.hookimpl(tryfirst=True)
def pytest_make_collect_report(collector: Any) -> Any:
    """Before pytest 8 a package makes the module of its __init__.py by itself."""
    if not collector.config.option.aisbx or not isinstance(collector, pytest.File) or isinstance(collector, (SandboxFile, pytest.Package)):
        return None
    return pytest.CollectReport(collector.nodeid, "failed", f"{collector.path}: would be imported on the host; name files that hold tests", [])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: Any) -> Optional[bool]:
    """Passes on what was reported inside."""
    if not isinstance(item, SandboxItem):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in item.file.reports(item):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_report_header(config: Any) -> Optional[str]:
    """One line for people."""
    return "aisbx: each test file in a sandbox" if config.option.aisbx else None


def call_inside(script: str, words: Sequence[str], flags: Sequence[str], cwd: str) -> Tuple[RunResult, List[Mapping[str, Any]]]:
    """Runs SCRIPT inside by this interpreter; the objects that it wrote, as far as they came."""
    token = program.ends_with_caller.set(True)
    try:
        result = run([sys.executable, "-c", script, *words], check=False, output="256m", flags=flags, cwd=cwd,
                     envs={"PYTHONDONTWRITEBYTECODE": "1"})
    finally:
        program.ends_with_caller.reset(token)
    rows: List[Mapping[str, Any]] = []
    for line in result.stdout.splitlines():
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):  # what runs inside can write to the same stream
            continue
        if isinstance(row, dict):
            rows.append(row)
    return result, rows


def _call(config: Any, words: List[str]) -> Tuple[RunResult, List[Mapping[str, Any]]]:
    """Runs pytest inside; what it reported, as far as it came."""
    result, rows = call_inside(_INSIDE, [*config.stash[_WORDS], *words], config.option.aisbx_flag, str(config.invocation_params.dir))
    if config.option.capture == "no":
        sys.stdout.write(result.stderr)
    return result, rows


class SandboxFile(pytest.File):
    """A test file, of which only the sandbox knows what is in it."""

    def collect(self) -> List[Any]:
        """The tests that the pytest inside finds."""
        try:
            result, rows = _call(self.config, ["--collect-only", "-q", str(self.path)])
        except SandboxError as error:
            raise self.CollectError(_sentence(error)) from None
        broken = [str(row["broken"]) for row in rows if "broken" in row]
        found = [row for row in rows if "items" in row]
        skipped = [str(row["skipped"]) for row in rows if "skipped" in row]
        if broken or not found:
            raise self.CollectError("\n".join(broken) or result.stderr.strip() or _ending(result))
        if skipped and not found[-1]["items"]:
            pytest.skip(skipped[0], allow_module_level=True)
        left = [place for row in rows for place in row.get("deselected", [])]
        self._results: Optional[Dict[str, List[Any]]] = None
        self._ended: Optional[RunResult] = None
        if left:
            self.config.hook.pytest_deselected(items=_leaves(_tree(self, self, left, len(self.nodeid))))
        return _tree(self, self, found[-1]["items"], len(self.nodeid))

    def reports(self, item: "SandboxItem") -> List[Any]:
        """Those of one test; the first call runs all that were selected."""
        if self._results is None:
            self._results = {}
            self._run([one for one in self.session.items if isinstance(one, SandboxItem) and one.file is self])
        found = self._results.get(item.nodeid) or []
        if not found or found[-1].when != "teardown":
            return [*found, self._failure(item, f"this test did not come to its end: {self._why}")]
        if item is self._last and not self._is_explained():
            return [*found, self._failure(item, f"all tests of this file were reported, but {self._why}")]
        return found

    def _is_explained(self) -> bool:
        """Whether the reports say why the pytest inside ended as it did: a hook there can set its exit status."""
        failed = any(report.failed for reports in (self._results or {}).values() for report in reports)
        return self._ended is not None and (self._ended.ok or (failed and self._ended.status == "error" and self._ended.exit_code == 1))

    def _run(self, items: "List[SandboxItem]") -> None:
        wanted = {item.nodeid for item in items}
        self._last = items[-1]
        # In this order, which other plugins may have changed.
        words = [str(self.path) + item.nodeid[len(self.nodeid):] for item in items]
        try:
            self._ended, rows = _call(self.config, words)
        except SandboxError as error:
            self._why = _sentence(error)
            return
        self._why = _ending(self._ended)
        for row in rows:
            report = self._read(row)
            if report is not None and report.nodeid in wanted and self._results is not None:
                self._results.setdefault(report.nodeid, []).append(report)

    def _read(self, row: Mapping[str, Any]) -> Any:
        data = row.get("report")
        if not isinstance(data, dict):
            return None
        data = {key: value for key, value in data.items() if key in _FIELDS or not hasattr(pytest.TestReport, key)}
        try:
            report = self.config.hook.pytest_report_from_serializable(config=self.config, data=data)
            if isinstance(report.longrepr, list):
                report.longrepr = tuple(report.longrepr)  # JSON has no tuples
            if not _is_sound(report):
                return None
        except Exception:  # what runs inside can write to the same stream
            return None
        if report.failed and self._ended and self._ended.denials:
            report.sections.append(("refused by the sandbox of this file", _denials(self._ended)))
        return report

    def _failure(self, item: "SandboxItem", why: str) -> Any:
        return pytest.TestReport(nodeid=item.nodeid, location=item.location, keywords={}, outcome="failed", longrepr=why, when="teardown")


def _is_sound(report: Any) -> bool:
    """Whether pytest's own reporters can do with it; raises, or says no, where one would break."""
    skip = report.longrepr
    pairs = [*report.sections, *report.user_properties]
    return (isinstance(report, pytest.TestReport) and isinstance(report.nodeid, str) and isinstance(report.longreprtext, str) and
            report.outcome in ("passed", "failed", "skipped") and report.when in ("setup", "call", "teardown") and
            isinstance(report.sections, list) and isinstance(report.keywords, dict) and isinstance(report.duration, (int, float)) and
            isinstance(getattr(report, "wasxfail", ""), str) and all(len(pair) == 2 and isinstance(pair[0], str) for pair in pairs) and
            all(isinstance(text, str) for _, text in report.sections) and len(report.location) == 3 and
            isinstance(report.location[0], str) and isinstance(report.location[1], (int, type(None))) and isinstance(report.location[2], str) and
            (report.outcome != "skipped" or hasattr(report, "wasxfail") or
             (isinstance(skip, tuple) and len(skip) == 3 and isinstance(skip[0], str) and isinstance(skip[1], int) and isinstance(skip[2], str))))


class SandboxGroup(pytest.Collector):
    """A class in a test file."""

    members: List[Any]
    inner: List[Any]

    def collect(self) -> List[Any]:
        """What was found in it."""
        return self.members


class SandboxItem(pytest.Item):
    """A test that runs inside."""

    file: SandboxFile
    place: Tuple[Any, Optional[int], str]

    def runtest(self) -> None:
        """Never called: the protocol passes reports on."""
        raise AssertionError("this test runs in a sandbox")

    def reportinfo(self) -> Tuple[Any, Optional[int], str]:
        """Where it is."""
        return self.place


def _tree(file: SandboxFile, parent: Any, rows: List[Any], skip: int) -> List[Any]:
    """Tests by their ids, in groups as their ids say: FILE::Class::test[a::b]."""
    nodes: List[Any] = []
    groups: Dict[str, List[Any]] = {}
    for row in rows:
        rest = str(row["id"])[skip + 2:]
        head, colons, tail = rest.partition("[")[0].partition("::")
        if colons and tail:
            if head not in groups:
                groups[head] = []
                group = SandboxGroup.from_parent(parent, name=head)
                group.inner = groups[head]
                nodes.append(group)
            groups[head].append(row)
            continue
        item = SandboxItem.from_parent(parent, name=rest)
        item.file = file
        item.place = (os.path.join(file.config.rootpath, str(row["place"][0])), row["place"][1], str(row["place"][2]))
        nodes.append(item)
    for node in nodes:
        if isinstance(node, SandboxGroup):
            node.members = _tree(file, node, node.inner, len(node.nodeid))
    return nodes


def _leaves(nodes: List[Any]) -> List[Any]:
    return [leaf for node in nodes for leaf in (_leaves(node.members) if isinstance(node, SandboxGroup) else [node])]


def _ending(result: RunResult) -> str:
    notes = [str(note) for note in result.raw.get("notes") or []]
    last = result.stderr.strip().rpartition("\n")[2]
    return "; ".join([f"the pytest inside ended with status {result.status}, exit {result.exit_code}", *notes, *([last] if last else [])])


def _denials(result: RunResult) -> str:
    return "\n".join(f"{one.layer}: {one.what}" + (f"; to allow it: --aisbx-flag={one.hint.replace(' ', '=', 1)}" if one.hint else "") for one in result.denials)


def _sentence(error: SandboxError) -> str:
    return f"aisbx: {error.message}" + (f"; {error.hint}" if error.hint else "")
