#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mcp: a server keeps zygotes for its runs, its own and nobody else's, and takes them along when it ends.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a home of its own.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import wasmtest  # noqa: E402
from clitest import Home, Tap  # noqa: E402
from family import descendants, is_running, until  # noqa: E402
from mcpclient import Server  # noqa: E402

tap = Tap()
HASH = ["python", "-c", "print(hash('x'))"]


def below(server, name):
    return [pid for pid, info in descendants(server.process.pid).items() if info[0] == name and info[1] != "Z"]


def run(server, *command, **arguments):
    return server.data("sandbox_run", command=list(command), **arguments)


def test_reuse(home, profile):
    with Server(home, "--profile", profile) as server:
        first, second = run(server, *HASH), run(server, *HASH)
        tap.equal((first.get("status"), first.get("isolation"), second.get("stdout")), ("success", "wasm", first.get("stdout")),
                  "a started interpreter is reused")
        tap.equal((len(below(server, "aisbx-pool")), len(below(server, "aisbx-wasm"))), (1, 1), "one of each")
        run(server, "python", "-c", "import os, builtins; builtins.leak = 1; open('leak', 'w').write('x')")
        text = run(server, "python", "-c", "import os, builtins; print(hasattr(builtins, 'leak'), os.path.exists('leak'))")
        tap.equal(text.get("stdout"), "False False\n", "what one leaves the next does not see")
        tap.equal(run(server, "python", "-c", "import sys; print(sys.stdin.read())", stdin="in").get("stdout"), "in\n", "standard input")
        short = run(server, "python", "-c", "while True: pass", time="1s")
        tap.equal((short.get("status"), short.get("exit_code")), ("timeout", 124), "a time of its own")
        pids = descendants(server.process.pid)
    tap.ok(until(lambda: not alive(pids)), "they end with the server", alive(pids))


def alive(pids):
    return [pid for pid in pids if is_running(pid)]


def test_owners(home, profile):
    with Server(home, "--profile", profile, "--owner", "one") as one, Server(home, "--profile", profile, "--owner", "two") as two:
        first, second = run(one, *HASH), run(two, *HASH)
        tap.ok(first.get("stdout") and first["stdout"] != second.get("stdout"), "two owners never share one", (first, second))
        tap.ok(set(below(one, "aisbx-wasm")).isdisjoint(below(two, "aisbx-wasm")), "each has its own")


def test_cancelled(home, profile):
    with Server(home, "--profile", profile) as server:
        run(server, *HASH)
        call = server.start("tools/call", {"name": "sandbox_run", "arguments": {"command": ["python", "-c", "import time; time.sleep(1000)"]}})
        until(lambda: len(below(server, "aisbx-wasm")) == 2)
        server.tell("notifications/cancelled", requestId=call)
        tap.ok(until(lambda: len(below(server, "aisbx-wasm")) <= 1), "a call that is cancelled ends its run")
        tap.equal(run(server, "python", "-c", "print(1)").get("stdout"), "1\n", "and the next one runs")


def test_killed(home, profile):
    server = Server(home, "--profile", profile)
    run(server, *HASH)
    pids = descendants(server.process.pid)
    tap.ok(len(below(server, "aisbx-wasm")) == 1, "there is a zygote", pids)
    server.process.kill()
    server.process.wait()
    tap.ok(until(lambda: not alive(pids)), "killed without a word, the server takes them along", alive(pids))
    server.close()


def main():
    with Home("aisbx-test-mcp-wasm.") as home:
        why = wasmtest.install(wasmtest.Caller(home))
        if why or not os.path.isdir(home.path + "/.local/share/aisbx/wasm/python"):
            tap.skip("zygotes of a server", why or "set-up has not installed the languages")
            return tap.done()
        profile = os.path.join(home.path, "wasm.yaml")
        with open(profile, "w") as file:
            file.write("driver: wasm\n")
        for test in (test_reuse, test_owners, test_cancelled, test_killed):
            tap.attempt(test, home, profile)
        return tap.done()


sys.exit(main())
