#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pytest --aisbx: files collected and run inside, reported as pytest's own, and nothing on the host.

Takes the program from AISBX, the package from AISBX_SOURCE/clients/python, pytest from an interpreter that has it. Speaks TAP.
"""

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from box import patience  # noqa: E402
from clitest import AISBX, Home, Tap  # noqa: E402

SOURCE = os.environ.get("AISBX_SOURCE") or os.path.join(HERE, "..", "..")
tap = Tap()

# Each would leave a mark on the host; the mark that they look for first exists only inside.
FILES = {
    "conftest.py": """
import os, pytest
assert os.environ.get("AISBX"), "imported on the host"
def pytest_addoption(parser): parser.addoption("--mine", default="none")
@pytest.fixture
def three(): return 3
""",
    "test_many.py": """
import os, pytest
assert os.environ.get("AISBX"), "imported on the host"
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


def find_python(home):
    for name in (sys.executable, "/usr/bin/python3", shutil.which("python3")):
        if name and subprocess.run([name, "-c", "import pytest"], capture_output=True, check=False).returncode == 0:
            # The sandbox has to have it, too.
            if home.call("run", "--", name, "-c", "import pytest").returncode == 0:
                return name
    return None


def call(home, python, *words):
    env = {**home.env, "AISBX": AISBX, "PYTHONPATH": os.path.join(SOURCE, "clients", "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([python, "-m", "pytest", "-p", "aisbx.pytest_plugin", "--aisbx", *words], cwd=home.work, env=env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=patience(300))


def tree(home):
    return sorted(os.path.join(place, name) for place, _, names in os.walk(home.work) for name in names if "/.git/" not in place + "/")


def main():
    with Home("aisbx-test-pytest-") as home:
        if not home.can_run(tap, "pytest"):
            return
        python = find_python(home)
        if not python:
            tap.skip("pytest --aisbx", "no python3 here has pytest that a sandbox has, too (python3-pytest)")
            return
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
        for words, status, text in [(["test_many.py::TestGroup"], 0, "2 passed"), (["test_many.py", "-k", "fixture"], 0, "1 passed, 7 deselected"),
                                    (["test_many.py", "-k", "nothing_of_this"], 5, "8 deselected"), (["test_many.py", "-x"], 1, "1 failed, 2 passed"),
                                    (["test_many.py", "-k", "option", "--aisbx-args=--mine=given"], 0, "1 passed"),
                                    (["test_many.py", "--lf"], 4, "leave one of them out"),
                                    (["test_other.py", "--aisbx-flag=--no-such-flag"], 2, "no-such-flag")]:
            done = call(home, python, "-q", *words)
            tap.ok(done.returncode == status and text in done.stdout + done.stderr, f"{' '.join(words)}: {text}", done)
        tap.equal(tree(home), before, "the tree is as it was")


main()
sys.exit(tap.done())
