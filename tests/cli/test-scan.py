#!/usr/bin/env python3
"""scan: findings, risk, formats, exit codes, policies; what cannot be read is never clean.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a home of its own.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from clitest import Home, Tap  # noqa: E402

tap = Tap()

ALIASES = """import os as o
from subprocess import run as r
# eval("1"), os.system("x")
print("eval(1)", 'os.system("rm -rf /")')
getattr(o, "sys" + "tem")("id")
r(["ls"])
"""
HARMLESS = """import json
\"\"\"exec("x") is never called; os.system neither.\"\"\"
# subprocess.run("rm -rf /", shell=True)
print(json.dumps({"eval": "os.system"}))
"""


def rules(answer):
    return {(one["line"], one["rule"]) for one in answer.get("findings", [])}


def test_object(home):
    home.put("a.py", ALIASES)
    answer = home.data("scan", "a.py")
    tap.equal((answer.get("risk"), answer.get("analysable")), ("high", True), "risk is the highest severity found")
    tap.ok({(5, "python.dynamic-name"), (5, "python.subprocess"), (6, "python.subprocess")} <= rules(answer),
           "aliases and names put together are followed", answer)
    tap.ok(not [one for one in answer["findings"] if one["line"] in (3, 4)], "comments and texts raise nothing")
    tap.equal(sorted(answer["findings"][0]), ["column", "file", "hint", "line", "message", "rule", "severity"],
              "a finding has its keys")
    tap.equal(answer["imports"], ["os", "subprocess"], "imports are listed")
    done = home.call("scan", "a.py")
    tap.ok(done.returncode == 1 and "a.py:5:1: high:" in done.stdout and "risk: high" in done.stdout,
           "text names the place, exit 1", done)
    home.put("b.py", HARMLESS)
    done = home.call("scan", "b.py")
    tap.ok(done.returncode == 0 and done.stdout == "risk: none\n", "what only speaks of evil is clean", done)


def main():
    with Home("aisbx-scan.") as home:
        done = home.call("scan", "--lang", "python", "-", stdin="1\n")
        if "no scanner" in done.stderr:
            tap.skip("scan", "this build has no scanner")
            return tap.done()
        test_object(home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
