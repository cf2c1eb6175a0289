#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pytest --aisbx: files collected and run inside, reported as pytest's own, and nothing on the host.

Takes the program from AISBX, the package from AISBX_SOURCE/clients/python, pytest from an interpreter that has it. Speaks TAP.
"""

import concurrent.futures
import os
import select
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from box import patience  # noqa: E402
from clitest import AISBX, Home, Tap  # noqa: E402
from family import read_of, stat_of, until  # noqa: E402

SOURCE = os.environ.get("AISBX_SOURCE") or os.path.join(HERE, "..", "..")
tap = Tap()

# Each would leave a mark on the host; the mark that they look for first exists only inside.
FILES = {
    "conftest.py": """
import os, pytest
assert "/" not in os.environ.get("AISBX", "/"), "imported on the host"
def pytest_addoption(parser): parser.addoption("--mine", default="none")
@pytest.fixture
def three(): return 3
""",
    "test_many.py": """
import os, pytest
assert "/" not in os.environ.get("AISBX", "/"), "imported on the host"
open("written", "w").write("x")
class TestGroup:
    @pytest.mark.parametrize("value", ["a::b", "c"])
    def test_each(self, value): assert value
def test_fails():
    print("printed by it")
    numbers = [1, 2]
    assert numbers == [1, 3]
@pytest.mark.skip(reason="not now")
def test_skipped(): pass
@pytest.mark.xfail
def test_expected(): assert 0
def test_fixture(three): assert three == 3
def test_option(request): assert request.config.getoption("--mine") in ("none", "given")
def test_alone(): assert not os.path.exists("of-another")
""",
    "test_other.py": """
def test_writes(): open("of-another", "w").write("x")
""",
    "test_zdies.py": """
import os
def test_before(): pass
def test_dies(): os._exit(7)
def test_after(): pass
""",
    "test_znet.py": """
import socket
def test_connects(): socket.create_connection(("192.0.2.1", 443), 5)
""",
    "sub/test_broken.py": "import there_is_no_such_module\n",
}

# For the project that is not trusted; MARK and VICTIM are files of the host. Inside, AISBX has no slash.
STAIN = """
import os
class Warned(Warning): pass
if "/" in os.environ.get("AISBX", "/"): open("MARK", "a").write(__name__ + " ")
"""
UNTRUSTED = {
    "pytest.ini": """[pytest]
addopts = -p no:aisbx -p no:aisbx.pytest_plugin -p stain --aisbx-flag=--rw-through=VICTIM:VICTIM --junitxml=VICTIM
pythonpath = .
log_file = VICTIM
filterwarnings = ignore::stain.Warned
required_plugins =
python_files = check_*.py
""",
    "loose.ini": "[pytest]\naddopts = --aisbx-flag=--rw-through=VICTIM:VICTIM\n",
    "plain.ini": "[pytest]\n",
    "hidden.ini": "[pytest]\naddopts = --\n",
    "stain.py": STAIN, "code.py": STAIN, "package/__init__.py": STAIN, "package/check_in.py": "def test_in(): pass\n",
    "conftest.py": STAIN + """
def pytest_addoption(parser):
    parser.addoption("--aisbx-flag", action="append")
""",
    "check_all.py": STAIN + """
def test_overwrites():
    try: open("VICTIM", "w").write("lost")
    except OSError: pass
""",
}
ONLY, HERE = "command line and PYTEST_ADDOPTS only", {"under": "untrusted"}
ODD = {
    "pytest.ini": "[pytest]\npythonpath = .\nlog_file = VICTIM\npython_files = *test_*.py __init__.py\n",
    "code.py": STAIN, "package/__init__.py": STAIN,
    "conftest.py": """
def pytest_sessionfinish(session):
    if "test_nine" in str(session.config.args): session.exitstatus = 9
""",
    "test_flood.py": """
import json, os
def test_floods():
    rows = [{"report": {"$report_type": "TestReport", "nodeid": []}}, {"report": {"$report_type": "CollectReport"}},
            {"report": {"$report_type": "TestReport", "nodeid": "test_flood.py::test_floods", "location": 3, "keywords": 1, "outcome": "skipped",
                        "longrepr": 5, "when": "call", "toterminal": 1, "sections": 7}}]
    for name in os.listdir("/proc/self/fd"):
        try: is_pipe = os.readlink("/proc/self/fd/" + name).startswith("pipe:")
        except OSError: continue
        if is_pipe: os.write(int(name), b"\\n" + b"[" * 200000 + b"\\n" + b"".join(json.dumps(row).encode() + b"\\n" for row in rows))
""",
    "test_nine.py": "def test_well(): pass\n",
    "test_zlast.py": "def test_last(): pass\n",
}


def find_python(home):
    for name in (sys.executable, "/usr/bin/python3", shutil.which("python3")):
        if name and subprocess.run([name, "-c", "import pytest"], capture_output=True, check=False).returncode == 0:
            # The sandbox has to have it, too.
            if home.call("run", "--", name, "-c", "import pytest").returncode == 0:
                return name
    return None


PLUGIN = ["-c", "import sys, pytest; del sys.path[0]; sys.exit(pytest.main())", "-p", "aisbx.pytest_plugin", "--aisbx"]  # as bin/pytest
LAUNCHER = ["-c", "import sys; del sys.path[0]; from aisbx.pytest import main; sys.exit(main())"]  # as bin/aisbx-pytest


def environment(home):
    return {**home.env, "AISBX": AISBX, "PYTHONPATH": os.path.join(SOURCE, "clients", "python"), "PYTHONDONTWRITEBYTECODE": "1"}


def call(home, python, *words, under="", start=PLUGIN):
    return subprocess.run([python, *start, *words], cwd=os.path.join(home.work, under), env=environment(home), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, timeout=patience(300))


def tree(home):
    return sorted(os.path.join(place, name) for place, _, names in os.walk(home.work) for name in names if "/.git/" not in place + "/")


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None


def check_host(home, python):
    """What a project does to get out of its sandbox."""
    mark, victim = os.path.join(home.path, "mark"), os.path.join(home.path, "victim")
    for under, files in (("untrusted", UNTRUSTED), ("odd", ODD)):
        for name, text in files.items():
            home.put(os.path.join(under, name), text.replace("MARK", mark).replace("VICTIM", victim))
    with open(victim, "w", encoding="utf-8") as file:
        file.write("mine")
    done = call(home, python, "-q", under="untrusted", start=LAUNCHER)
    tap.ok(done.returncode == 0 and "2 passed" in done.stdout, "the launcher finds what the project's configuration names", done)
    rows = [(["-c", "loose.ini"], 4, ONLY, HERE), (["-c", "hidden.ini"], 4, ONLY, HERE),
            (["-c", "plain.ini", "--pyargs", "package.check_in"], 4, "name the files", HERE),
            (["--", "check_all.py"], 4, "leave it out", {**HERE, "start": LAUNCHER}), ([], 4, "aisbx-pytest", {"start": ["-m", "aisbx.pytest"]})]
    for (words, status, text, _), done in call_all(home, python, rows):
        tap.ok(done.returncode == status and text in done.stderr, f"{' '.join(words)}: {text}", done)
    done = call(home, python, "-rA", "--continue-on-collection-errors", "test_flood.py", "test_nine.py", "test_zlast.py", "package",
                under="odd")
    for wanted in ("all tests of this file were reported, but the pytest inside ended with status error, exit 9", "PASSED test_zlast.py::test_last",
                   "PASSED test_flood.py::test_floods"):
        tap.ok(done.returncode in (1, 2) and wanted in done.stdout, f"a file that breaks its reports: {wanted}", done)
    tap.equal((read(mark), read(victim)), (None, "mine"), "no code of the project ran on the host, and no file there was written")


def check_kill(home, python):
    """The sandbox of a pytest that is killed ends, too."""
    home.put("slow/test_slow.py", "import time\ntime.sleep(3600)\n")
    with subprocess.Popen([python, *PLUGIN, "slow"], cwd=home.work, env=environment(home), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        found = []
        until(lambda: found.append(find_run(process.pid)) or found[-1], patience(60))
        child = found[-1]
        ended = select.poll()
        with os.fdopen(os.pidfd_open(child), "rb", 0) as watch:
            process.kill()
            ended.register(watch, select.POLLIN)
            tap.ok(ended.poll(patience(60) * 1000), "a pytest that is killed leaves no sandbox", child)
            if not ended.poll(0):
                signal.pidfd_send_signal(watch.fileno(), signal.SIGTERM)


def find_run(parent):
    for name in filter(str.isdigit, os.listdir("/proc")):
        about = stat_of(name)
        if about and about[2] == parent and (read_of(name, "cmdline") or "").split("\0")[1:2] == ["run"]:
            return int(name)
    return None


def call_all(home, python, rows):
    """The rows with what came of each, two at a time."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(zip(rows, pool.map(lambda row: call(home, python, "-q", *row[0], **row[3]), rows)))


def main():
    with Home("aisbx-test-pytest-") as home:
        if not home.can_run(tap, "pytest"):
            return
        python = find_python(home)
        if not python:
            tap.skip("pytest --aisbx", "no python3 here has pytest that a sandbox has, too (python3-pytest)")
            return
        check_host(home, python)
        check_kill(home, python)
        for name, text in FILES.items():
            home.put(name, text)
        before, report = tree(home), os.path.join(home.path, "report.xml")
        done = call(home, python, "--junitxml=" + report, "-ra", "test_many.py", "test_other.py", "test_zdies.py", "test_znet.py")
        tap.ok(done.returncode == 1 and "4 failed" not in done.stdout, "failures are pytest's exit status", done)
        for wanted in ("E       assert [1, 2] == [1, 3]", "printed by it", "SKIPPED", "XFAIL", "test_many.py:11: AssertionError"):
            tap.ok(wanted in done.stdout, f"as pytest says it: {wanted}", done.stdout[-3000:])
        tap.ok("--aisbx-flag=--allow=192.0.2.1:443" in done.stdout, "what the sandbox refused, and the way out", done.stdout[-2000:])
        tap.ok("did not come to its end" in done.stdout and "exit 7" in done.stdout, "a file whose process ends is no success", done.stdout[-2000:])
        cases = {(case.get("classname"), case.get("name")): case for case in xml.etree.ElementTree.parse(report).iter("testcase")}
        tap.ok(cases.get(("test_many.TestGroup", "test_each[a::b]")) is not None and
               cases[("test_many", "test_fails")].find("failure") is not None and
               cases[("test_many", "test_skipped")].find("skipped") is not None and
               len(cases[("test_many", "test_alone")]) == 0, "junit has them all", list(cases))
        done = call(home, python, "-q", "sub")
        tap.ok(done.returncode == 2 and "there_is_no_such_module" in done.stdout, "a file that cannot be collected", done)
        rows = [(["test_many.py::TestGroup"], 0, "2 passed", {}), (["test_many.py", "-k", "fixture"], 0, "1 passed, 7 deselected", {}),
                (["test_many.py", "-k", "nothing_of_this"], 5, "8 deselected", {}), (["test_many.py", "-x"], 1, "1 failed, 2 passed", {}),
                (["test_many.py", "-k", "option", "--aisbx-args=--mine=given"], 0, "1 passed", {}),
                (["test_many.py", "--lf"], 4, "leave one of them out", {}),
                (["test_other.py", "--aisbx-flag=--no-such-flag"], 2, "no-such-flag", {})]
        for (words, status, text, _), done in call_all(home, python, rows):
            tap.ok(done.returncode == status and text in done.stdout + done.stderr, f"{' '.join(words)}: {text}", done)
        tap.equal(tree(home), before, "the tree is as it was")


main()
sys.exit(tap.done())
