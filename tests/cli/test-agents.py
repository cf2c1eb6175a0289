#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/agents.md: configurations start a server that answers, examples run as printed.

Takes the program from AISBX, the tree from AISBX_SOURCE. Speaks TAP.
"""

import doctest
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))

from clitest import AISBX, Home, Tap

SOURCE = os.environ.get("AISBX_SOURCE") or os.path.join(HERE, "..", "..")
PAGE = os.path.join(SOURCE, "docs", "agents.md")
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, "clients", "python"))
tap = Tap()

HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
         "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "page", "version": "1"}}}


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.M | re.S)


def command_lines(page):
    """The words each configuration starts the server with."""
    for text in blocks(page, "json"):
        for servers in json.loads(text).values():
            server = servers["aisbx"]
            command = server["command"]
            yield command if isinstance(command, list) else [command, *server["args"]]
    for text in blocks(page, "toml"):
        fields = dict(re.findall(r"^(\w+) = (.*)$", text, re.M))
        yield [json.loads(fields["command"]), *json.loads(fields["args"])]
    for words in re.findall(r"^claude mcp add aisbx -- (.*)$", page, re.M):
        yield words.split()


def test_servers(home, page):
    lines = list(command_lines(page))
    tap.ok(len(lines) >= 6, "configurations are there", lines)
    for words in lines:
        done = subprocess.run(words, input=json.dumps(HELLO) + "\n", cwd=home.work, env=home.env, capture_output=True,
                              text=True, timeout=300, check=False)
        tap.ok('"serverInfo"' in done.stdout and done.returncode == 0, " ".join(words), done)


def test_profile(home, page):
    text, = blocks(page, "yaml")
    os.makedirs(home.path + "/.config/aisbx/profiles")
    with open(home.path + "/.config/aisbx/profiles/agent.yaml", "w") as out:
        out.write(text)
    done = home.call("profile", "show", "agent")
    tap.ok(done.returncode == 0 and "2g" in done.stdout, "the profile is one", done)
    os.unlink(home.path + "/.config/aisbx/profiles/agent.yaml")


def test_lines(home, page):
    lines = [line[2:] for text in blocks(page, "sh") for line in text.splitlines() if line.startswith("$ ")]
    tap.ok(len(lines) > 10, "lines for a shell are there", lines)
    for line in lines:
        done = subprocess.run(["sh", "-c", line], cwd=home.work, env=home.env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120, check=False)
        tap.ok(done.returncode == 0, line, done)


def test_python(home, page):
    os.environ.clear()
    os.environ.update(home.env)
    os.chdir(home.work)
    text = "\n".join(blocks(page, "python"))
    test = doctest.DocTestParser().get_doctest(text, {}, "agents.md", PAGE, 0)
    done = doctest.DocTestRunner(verbose=False).run(test)
    tap.ok(done.attempted > 2 and done.failed == 0, "Python as printed", done)
    os.chdir("/")


def main():
    with Home("aisbx-agents.") as home, open(PAGE) as file:
        page = file.read()
        os.mkdir(home.path + "/bin")
        os.symlink(AISBX, home.path + "/bin/aisbx")
        home.env["PATH"] = home.path + "/bin:" + home.env.get("PATH", "/usr/bin:/bin")
        home.env["AISBX"] = AISBX
        first = home.call("run", "--", "python3", "-c", "1")
        if first.returncode != 0:
            tap.skip("docs/agents.md", "a first run is refused here: " + first.stderr.strip())
            return tap.done()
        for test in (test_servers, test_profile, test_lines, test_python):
            tap.attempt(test, home, page)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
