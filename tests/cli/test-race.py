#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""race: attempts side by side, checked in copies, ranked, promoted; hung and killed ones keep nobody waiting.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a home of its own.
"""

import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from clitest import AISBX, Home, Tap, refused  # noqa: E402
from family import until  # noqa: E402

tap = Tap()
CALC = "def mean(xs):\n    return sum(xs) / (len(xs) + 1)\n"
CHECK = "grep -q 'len(xs))' calc.py && ! grep -q '+ 1' calc.py"


def attempts(answer):
    return {one["name"]: one for one in answer.get("attempts", [])}


def test_winner(home):
    home.put("calc.py", CALC)
    began = time.time()
    answer = home.data("race", "--time", "25s", "--check", CHECK, "-c", "wrong=sed -i 's/+ 1/+ 2/' calc.py", "-c",
                       "right=sed -i 's/ + 1//' calc.py", "-c", "hangs=sleep 600", "-c", "breaks=exit 9",
                       "--jobs", "4")
    by_name = attempts(answer)
    if not tap.equal(answer.get("winner"), "right", "the attempt that passes wins"):
        print("#", answer)
        return None
    tap.ok(time.time() - began < 500, "one that hangs keeps nobody waiting")
    tap.equal({name: one["status"] for name, one in by_name.items()},
              {"wrong": "success", "right": "success", "hangs": "timeout", "breaks": "error"}, "each has its status")
    tap.equal(by_name["wrong"]["check"]["status"], "error", "a failed check is told")
    tap.equal(by_name["hangs"]["check"], None, "what failed is not checked")
    tap.equal(by_name["right"]["changes"], {"added": 0, "modified": 1, "deleted": 0}, "changes are counted")
    tap.equal(by_name["right"]["score"], 1.0, "who passes has a score")
    tap.equal(home.read("calc.py"), CALC, "the host is as it was")
    return answer


def test_durations(home):
    """However soon a command ends, its duration is its own."""
    answer = home.data("race", "-c", "short=true", "-c", "long=sleep 3; sleep 3", "--prefer", "fast")
    by_name = attempts(answer)
    tap.ok(by_name["long"]["duration_ms"] >= 6000, "no duration begins late", by_name["long"]["duration_ms"])
    tap.ok(0.02 < by_name["short"]["duration_ms"] < by_name["long"]["duration_ms"], "nor is a short one none", by_name["short"]["duration_ms"])
    tap.equal(answer["winner"], "short", "who is faster wins")
    home.call("rm", *[row["name"] for row in home.rows("ls")])


def test_bad_scores(home):
    """What is no number on descriptor 3 is told, and ranks behind every number."""
    check = 'case $(cat kind) in nan) echo nan >&3;; inf) echo inf >&3;; nul) printf "3\\0\\n9" >&3;; low) echo -5 >&3;; esac'
    answer = home.data("race", "--check", check, *[w for kind in ("nan", "inf", "nul", "low") for w in ("-c", f"{kind}=echo {kind} > kind")])
    by_name = attempts(answer)
    tap.equal(answer["winner"], "low", "a number, however small, is better than none")
    for kind in ("nan", "inf", "nul"):
        tap.ok(by_name[kind]["score"] is None and "decimal" in by_name[kind].get("score_error", ""), f"{kind} is told", by_name[kind])
    home.call("rm", *[row["name"] for row in home.rows("ls")])


def test_after(home, answer):
    race = answer["race_id"]
    names = [row["name"] for row in home.rows("ls")]
    tap.equal(sorted(names), sorted(f"{race}.{name}" for name in ("wrong", "right", "hangs", "breaks")),
              "attempts stay, the copies of the checks do not")
    listed = [row for row in home.rows("race", "ls") if row["race_id"] == race]
    tap.equal([(row["winner"], row["attempts"]) for row in listed], [(answer["winner"], answer["attempts"])], "race ls has what it answered")
    tap.ok(race in home.call("race", "ls").stdout and home.call("race", "ls", race).returncode == 2, "and a line for it")
    done = home.call("race", "diff", race, "wrong", "right")
    tap.ok(done.returncode == 0 and "-    return sum(xs) / (len(xs) + 2)" in done.stdout
           and "+    return sum(xs) / (len(xs))" in done.stdout, "race diff shows how two differ", done)
    done = home.call("race", "diff", race, "right", "right")
    tap.ok(done.returncode == 0 and "same" in done.stdout, "or that they do not", done)
    tap.equal(home.call("race", "diff", race, "right", "nobody").returncode, 5, "an unknown attempt is not found")
    home.call("rm", *names)


def test_promote(home):
    done = home.call("race", "--check", CHECK, "--promote", "-c", "right=sed -i 's/ + 1//' calc.py", "-c", "none=true")
    tap.ok(done.returncode == 0 and "len(xs))" in home.read("calc.py"), "--promote applies the winner", done)
    tap.ok("aisbx undo" in done.stdout, "and says how to take it back", done)
    tap.equal((home.call("undo").returncode, home.read("calc.py")), (0, CALC), "which works")
    done = home.call("race", "--promote", "-c", "hook=mkdir -p .git/hooks; echo x > .git/hooks/pre-commit")
    tap.ok(done.returncode == 4 and not os.path.exists(home.work + "/.git"), "consent is asked for here, too", done)


def test_losers(home):
    done = home.call("race", "--check", "false", "-c", "a=true", "-c", "b=true")
    tap.ok(done.returncode == 1 and "no attempt passed" in done.stdout, "no attempt passed: exit 1", done)


def test_check_does_not_count(home):
    answer = home.data("race", "--check", "touch written-by-check; test -e written", "-c", "a=touch written")
    name = f"{answer['race_id']}.a"
    tap.equal(answer["winner"], "a", "the check sees what the attempt wrote")
    status = home.call("diff", name, "--name-status").stdout
    tap.equal(status, "A\twritten\n", "what the check writes neither counts nor stays")


def test_score(home):
    answer = home.data("race", "--check", "cat n >&3", "-c", "one=echo 1 > n", "-c", "ten=echo 10 > n", "-c",
                       "odd=echo ten > n")
    tap.equal(answer["winner"], "ten", "a number on descriptor 3 is the score")
    tap.equal(attempts(answer)["odd"]["score"], None, "what is no number is none")
    done = home.call("run", "--", "sh", "-c", "test ! -e /proc/self/fd/3")
    tap.equal(done.returncode, 0, "only a check has descriptor 3")


def test_prefer(home):
    answer = home.data("race", "--prefer", "small", "-c", "two=touch a b", "-c", "one=touch c")
    tap.equal(answer["winner"], "one", "--prefer small")
    answer = home.data("race", "--prefer", "fast", "-c", "slow=sleep 4", "-c", "quick=true")
    tap.equal(answer["winner"], "quick", "--prefer fast")


def test_first(home):
    began = time.time()
    answer = home.data("race", "--first", "--jobs", "2", "-c", "slow=sleep 600", "-c", "quick=true", "-c", "never=true")
    tap.ok(answer["winner"] == "quick" and time.time() - began < 500, "--first does not wait for the others", answer)
    tap.equal(attempts(answer)["slow"]["status"], "killed", "who was ended is told so")


def test_base(home):
    home.call("create", "base")
    home.call("exec", "base", "--", "sh", "-c", "echo prepared > state")
    answer = home.data("race", "--base", "base", "-c", "a=grep -q prepared state && test $AISBX_ATTEMPT = a")
    tap.equal(answer.get("winner"), "a", "--base: attempts begin where a sandbox is")
    home.call("rm", "base")


def test_file(home):
    home.put("race.yaml", "check: test -e made\nattempts:\n  - {name: one, command: [touch, made], mem: 256m}\n"
             "  - {name: two, script: \"test $X = 1 && touch made\", env: {X: \"1\"}, setup: \"touch ready\"}\n")
    answer = home.data("race", "-f", "race.yaml")
    tap.ok(answer.get("winner") and all(one["status"] == "success" for one in answer["attempts"]), "a race file", answer)
    for text, where in (("attempts:\n  - {name: a}\n", "bad.yaml:2"), ("attempts: 1\n", "bad.yaml:1"),
                        ("chek: x\n", "bad.yaml:1")):
        home.put("bad.yaml", text)
        done = home.call("race", "-f", "bad.yaml")
        tap.ok(done.returncode == 2 and where in done.stderr, f"a bad file says where: {done.stderr.strip()}", done)
    os.unlink(home.work + "/race.yaml")
    os.unlink(home.work + "/bad.yaml")


def test_gates(home):
    home.call("run", "--keep", "gated", "--", "sh", "-c", "seq 3 > one; seq 2 > two; exit 0")
    for expr, code in (("diff.files<=2", 0), ("diff.files<2", 1), ("diff.lines==5", 0), ("exit_code==0", 0),
                       ("duration<1h", 0), ("peak_memory>1t", 1), ("no-network-violations", 0), ("cmd:test -e one", 0),
                       ("cmd:test -e three", 1), ("diff.files<=<", 2), ("tests==pass", 2)):
        done = home.call("gate", "check", "gated", expr)
        tap.ok(done.returncode == code, f"gate {expr}: exit {code}", done)
    answer = home.data("gate", "check", "gated", "diff.files<=2", "cmd:exit 3")
    tap.equal(answer.get("verdict"), "fail", "the verdict over several")
    tap.equal([gate["holds"] for gate in answer.get("gates", [])], [True, False], "and each of them")
    tap.ok("2 files" in answer["gates"][0]["evidence"], "with its evidence", answer)
    home.call("gate", "check", "gated", "cmd:touch by-gate")
    tap.ok("by-gate" not in home.call("diff", "gated", "--name-status").stdout, "what a gate writes does not stay")
    tap.equal([row["name"] for row in home.rows("ls") if row["name"].startswith("gate")], ["gated"], "nor its copy")
    tap.equal(home.call("gate", "check", "nobody", "diff.files<=2").returncode, 5, "an unknown sandbox is not found")
    for words in (["gate", "check", "nobody", "diff.files=<2"], ["promote", "nobody", "--gate", "diff.files=<2"]):
        done = home.call(*words)
        tap.ok(refused(done, 2, "=<2"), f"{words[0]}: what is no condition is told first", done)
    done = home.call("promote", "gated", "--gate", "diff.files<=1")
    tap.ok(done.returncode == 4 and not os.path.exists(home.work + "/one"), "promote refuses when a gate does", done)
    done = home.call("promote", "gated", "--gate", "diff.files<=2", "--gate", "cmd:test -e two")
    tap.ok(done.returncode == 0 and home.read("two") == "1\n2\n", "and goes on when all hold", done)
    home.call("undo")
    home.call("rm", "gated")


def test_profile_gates(home):
    home.put("strict.yaml", "name: strict\ngates: ['tests==pass', 'diff.files<=1']\ntests: ['test -e good']\n")
    home.call("run", "--keep", "p", "--profile", "strict.yaml", "--", "touch", "bad")
    done = home.call("promote", "p")
    tap.ok(done.returncode == 4 and "test -e good" in done.stderr and not os.path.exists(home.work + "/bad"),
           "gates and tests of the profile hold for promote", done)
    home.call("exec", "p", "--", "sh", "-c", "mv bad good")
    home.call("stop", "p")
    tap.equal(home.call("gate", "check", "p").returncode, 0, "and for gate check")
    tap.equal(home.call("promote", "p").returncode, 0, "which lets it pass then")
    home.call("undo")
    home.call("rm", "p")
    os.unlink(home.work + "/strict.yaml")


def task(home, text):
    return home.call("task", "-", "--json", stdin=text)


def test_task(home):
    done = task(home, json.dumps({"intent": "run", "script": "echo 1 > made", "tests": ["test -e made", "true"],
                                  "gates": ["tests==pass", "no-network-violations", "diff.files<=1"], "mem": "256m"}))
    answer = json.loads(done.stdout)
    tap.ok(done.returncode == 0 and answer.get("verdict") == "pass", "a task passes", done)
    tap.equal([test["status"] for test in answer.get("tests", [])], ["success", "success"], "with its tests")
    tap.equal([gate["holds"] for gate in answer.get("gates", [])], [True, True, True], "and its gates")
    tap.equal(answer["run"]["command"], ["sh", "-c", "echo 1 > made"], "and its run")
    done = task(home, '{"command":["true"],"tests":["false"],"gates":["tests==pass"]}')
    tap.ok(done.returncode == 1 and json.loads(done.stdout)["verdict"] == "fail", "or fails", done)
    home.put("Makefile", "test:\n\techo tested > /dev/null\n")
    done = task(home, '{"intent":"test"}')
    tap.equal(json.loads(done.stdout)["run"]["command"], ["make", "test"], "an intent is the project's own command")
    os.unlink(home.work + "/Makefile")
    for text, word in (('{"intent":"tset","script":1}', "script"), ('{"intent":"tset"}', "did you mean 'test'"),
                       ('{"intent":"test"}', "nothing in"), ("[]", "JSON object"), ("{", "line"),
                       ('{"comand":["x"]}', "did you mean 'command'"), ('{"command":["x"],"mem":"1e30"}', "mem"),
                       ('{"command":["x"],"script":"y"}', "not both"), ("{}", "neither")):
        done = home.call("task", "-", stdin=text)
        tap.ok(done.returncode in (2, 5) and word in done.stderr, f"a bad task: {done.stderr.strip()}", done)


def test_mistakes(home):
    for words in (["-c", "x"], ["-c", "../x=true"], ["-c", "a=true", "-c", "a=true"], [], ["--prefer", "best", "-c",
                  "a=true"], ["--jobs", "0", "-c", "a=true"], ["run"]):
        done = home.call("race", *words)
        tap.ok(done.returncode == 2 and done.stderr.count("\n") == 1, f"race {' '.join(words)}: one clear line",
               done)


    tap.equal(home.call("race", "-f", "nowhere.yaml").returncode, 5, "a race file that is not there is not found")


def test_interrupted(home):
    before = {row["name"] for row in home.rows("ls")}
    race = subprocess.Popen([AISBX, "race", "--jobs", "3", "-c", "a=sleep 600", "-c", "b=sleep 600", "-c", "c=sleep 600"],
                            cwd=home.work, env=home.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)
    for _ in range(2000):
        if len(home.rows("history", "--status", "running")) == 3:
            break
        time.sleep(0.05)
    race.send_signal(signal.SIGINT)
    race.wait(timeout=200)
    tap.equal({row["name"] for row in home.rows("ls")}, before, "Ctrl-C leaves no sandbox")
    tap.ok(until(lambda: not home.rows("history", "--status", "running")), "and nobody running")


def test_many(home):
    words = [word for i in range(100) for word in ("-c", f"n{i}=echo {i} > out")]
    answer = home.data("race", "--check", "true", *words, timeout=240)
    tap.ok(answer.get("winner") == "n0" or answer.get("winner"), "a hundred attempts", answer)
    tap.equal({one["status"] for one in answer.get("attempts", [])}, {"success"}, "all of them run")


def main():
    with Home(prefix="aisbx-race-") as home:
        first = home.call("run", "--", "true")
        if first.returncode != 0:
            tap.skip("races", "no sandbox can be made here: " + first.stderr.strip())
            return tap.done()
        answer = test_winner(home)
        if answer:
            test_after(home, answer)
            for test in (test_promote, test_durations, test_bad_scores, test_losers, test_check_does_not_count, test_score, test_prefer, test_first,
                         test_base, test_file, test_gates, test_profile_gates, test_task, test_mistakes, test_interrupted, test_many):
                test(home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
