#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Zygotes of the wasm driver: what is reused, what never is, and that nothing of them stays."""
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from aisbxtest import Suite
from batchtest import Batch
from box import slow
from family import descendants, halt, is_running, stat_of, status_of, until
from wasmtest import assemble, hello, program, ready

suite = Suite("zygotes", needs_attack=False, both_users=False)

ZYGOTE = "aisbx-wasm"


def module(t, text, name):
    content = assemble(text)
    if content is None:
        t.skip("wat2wasm is not installed (wabt)")
    path = t.caller.put(name, content)
    # Compiled by a run of its own: a zygote takes what is compiled.
    t.equal(t.box.run(path, flags=("--driver", "wasm", "--fuel", "1m")).json.get("isolation"), "wasm", "a first run")
    return path


def out(t, answer, what):
    t.equal((answer.get("status"), answer.get("stderr")), ("success", ""), f"{what}: {answer}")
    return answer["stdout"]


@suite.case("Z01", "an interpreter that is started is reused, for every line a fork")
def reuse(t):
    ready(t)
    with Batch(t.caller) as batch:
        first = batch.python("print(hash('x'))")
        second = batch.python("print(hash('x'))")
        t.equal(out(t, first, "first"), out(t, second, "second"), "the same interpreter: its hashes are the same")
        t.equal(first["fuel_consumed"], second["fuel_consumed"], "and costs the same, start included")
        t.ok(first["fuel_consumed"] > 100_000_000, "the start counts", first["fuel_consumed"])
        t.equal((len(batch.below(ZYGOTE)), len(batch.below("aisbx-pool"))), (1, 1), "one zygote, one pool")
        t.equal(first["isolation"], "wasm", "isolation")
        t.ok({"seccomp", "pid", "mount", "net", "user", "overlay"} <= set(first["layers"]), "in a sandbox", first["layers"])
        t.ok(first["run_id"] != second["run_id"] and first["sandbox"] != second["sandbox"], "two runs, two names")
        t.equal(out(t, batch.python("import os; print(os.environ['AISBX_SANDBOX'])"), "name").strip()[:2], "s-", "each its own")
        plain = t.box.run("python", "-c", "pass", flags=("--driver", "wasm")).json
        for key in ("start", "queued_ms"):  # how its sandbox came to be, and when: here there was one
            plain.pop(key, None)
        t.equal(sorted(plain), sorted(second), "the result has the keys of a plain run's")
        t.equal(plain["layers"], second["layers"], "and its layers")
        other = batch.python("print(hash('x'))", env=["A=1"])
        t.ok(out(t, other, "other variables") != first["stdout"] and len(batch.below(ZYGOTE)) == 2, "other settings, another zygote")
    t.equal(batch.process.returncode, 0, "its end")


WRITES = """
import builtins, os, random, sys, tempfile, json
builtins.leak = json.leak = sys.leak = 'left'
os.environ['LEAK'] = 'left'
os.mkdir('made'); open('made/leak', 'w').write('left'); open('leak', 'w').write('left')
open('kept', 'w').write('changed'); os.remove('gone'); os.rename('old', 'new')
open('/mnt/project/other', 'w').write('left')
random.seed(1); random.random()
print(len(sys.stdin.read(3)))
"""
LOOKS = """
import builtins, os, sys, json, random
seen = [hasattr(m, 'leak') for m in (builtins, json, sys)]
seen += ['LEAK' in os.environ]
seen += [os.path.exists(p) for p in ('made', 'leak', 'new', '/mnt/project/other')]
seen += [open('kept').read() != 'as it was', not os.path.exists('gone'), not os.path.exists('old')]
seen += [b'left' in bytes(sys.stdin.read(), 'utf-8')]
print(any(seen), seen)
"""


def prepare(t):
    for name in ("kept", "gone", "old"):
        t.caller.put(name, "as it was")


def isolation_control(t):
    """Both in one interpreter, with one view: every one of them is seen."""
    ready(t)
    prepare(t)
    result = t.box.run("python", "-c", WRITES + LOOKS, flags=("--driver", "wasm"), stdin=b"abcleft")
    t.ok(result.out.splitlines()[-1].startswith("True [True, True, True, True, True, True, True, True, True, True, True, True]"),
         "seen where nothing is between them", f"{result}")


@suite.case("Z02", "no snippet sees what another left: files, memory, variables, input", isolation_control)
def isolation(t):
    ready(t)
    prepare(t)
    plain = t.box.run("python", "-c", WRITES, flags=("--driver", "wasm"), stdin=b"abcleft")
    with Batch(t.caller) as batch:
        batch.python("pass")
        for _ in range(2):
            answer = batch.python(WRITES, stdin="abcleft")
            t.equal(out(t, answer, "the one that writes"), "3\n", "its input")
            t.equal(answer["changes"], plain.json["changes"], "its changes are counted")
            text = out(t, batch.python(LOOKS), "the one that looks")
            t.ok(text.startswith("False"), "nothing is seen", text)
        t.equal(len(batch.below(ZYGOTE)), 1, "by one zygote")
        code = "import os, random, uuid; print(os.urandom(8), random.random(), uuid.uuid4())"
        first, second = (out(t, batch.python(code), "randomness").split() for _ in range(2))
        t.ok(all(a != b for a, b in zip(first, second)), "random to each other", (first, second))
    for name in ("made", "leak", "new", "other"):
        t.ok(not os.path.exists(os.path.join(t.caller.workspace, name)), f"{name} is not on the host")


@suite.case("Z03", "each sees the workspace as it is when it begins")
def fresh(t):
    ready(t)
    with Batch(t.caller) as batch:
        t.equal(out(t, batch.python("import os; print(os.path.exists('late'), sorted(os.listdir('d')) if os.path.exists('d') else [])"), "before"),
                "False []\n", "not there yet")
        t.caller.put("late", "one")
        t.caller.put("d/a")
        t.equal(out(t, batch.python("import os; print(open('late').read(), sorted(os.listdir('d')))"), "new"), "one ['a']\n", "new")
        t.caller.put("late", "two")
        t.caller.put("d/b")
        t.equal(out(t, batch.python("import os; print(open('late').read(), sorted(os.listdir('d')))"), "changed"),
                "two ['a', 'b']\n", "changed")
        shutil.rmtree(os.path.join(t.caller.workspace, "d"))
        os.unlink(os.path.join(t.caller.workspace, "late"))
        t.equal(out(t, batch.python("import os; print(os.path.exists('late'), os.path.exists('d'))"), "gone"), "False False\n", "gone")
        t.equal(len(batch.below(ZYGOTE)), 1, "by one zygote")


@suite.case("Z04", "fuel to the instruction, time, memory, output and disk: for each snippet anew")
def limits(t):
    ready(t)
    loop = module(t, program("(loop $l (br $l))"), "loop.wasm")
    with Batch(t.caller) as batch:
        for budget in (1000003, 1000003, 2000000):
            j = batch.run(loop, fuel=str(budget))
            t.equal((j["status"], j["exit_code"], j["limits_hit"], j["fuel_consumed"]), ("limit", 137, ["fuel"], budget), f"a module {j}")
        for _ in range(2):
            j = batch.python("while True: pass", fuel="400m")
            t.equal((j["status"], j["limits_hit"], j["fuel_consumed"]), ("limit", ["fuel"], 400_000_000), f"python {j}")
        t.equal(batch.python("pass", fuel="1m")["status"], "limit", "less than its start takes")
        t.equal(len(batch.below(ZYGOTE)), 2, "whatever the budget: one for the module, one for Python")
        j = batch.python("while True: pass", fuel="900g", **{"cpu-time": "1s"})
        t.equal((j["status"], j["limits_hit"]), ("limit", ["cpu-time"]), f"processor time {j}")
        for code in ("while True: pass", "import time; time.sleep(1000)"):
            j = batch.python(code, time="2s", fuel="900g")
            t.equal((j["status"], j["exit_code"], j["limits_hit"]), ("timeout", 124, ["time"]), f"by the clock: {code} {j}")
        t.equal(out(t, batch.python("print(1)", time="100s", fuel="900g"), "behind it"), "1\n", "and the next one runs")
        j = batch.python("x = bytearray(1 << 30)")
        t.ok(j["status"] == "error" and "MemoryError" in j["stderr"], "memory", j)
        j = batch.python("print('x' * 5000000)", output="1000")
        t.ok(j["truncated"] and j["stdout_bytes"] == 5000001, "output", {**j, "stdout": ""})
        j = batch.python("f = open('big', 'wb')\nwhile True: f.write(bytes(1 << 20))", disk="8m")
        t.ok("disk" in j["limits_hit"] and j["exit_code"] == 1, "disk", j)
        t.equal(out(t, batch.python("open('big', 'wb').write(bytes(4 << 20)); print(1)", disk="8m"), "then"), "1\n", "the next has it whole")


@suite.case("Z05", "whoever is killed is replaced; who keeps them takes them along")
def killed(t):
    ready(t)
    batch = Batch(t.caller)
    seed = batch.python("print(hash('x'))")["stdout"]
    t.equal(batch.kill(ZYGOTE), 1, "there is one zygote")
    t.ok(out(t, batch.python("print(hash('x'))"), "behind a dead zygote") != seed, "another one")
    batch.say("python", "-c", "import time; time.sleep(1000)")
    until(lambda: len(batch.below(ZYGOTE)) == 2)
    batch.kill(ZYGOTE)
    j = batch.hear()
    t.equal((j["status"], j["exit_code"]), ("killed", 137), f"with the zygote under it {j}")
    t.equal(out(t, batch.python("print(1)"), "behind that"), "1\n", "the next one runs")
    t.equal(batch.kill("aisbx-pool"), 1, "there is one pool")
    until(lambda: not batch.below(ZYGOTE))
    t.equal(batch.below(ZYGOTE), [], "its zygotes go with it")
    t.equal(out(t, batch.python("print(2)"), "without a pool"), "2\n", "there is another")
    pids = descendants(batch.process.pid)
    t.ok(len(pids) >= 3, "it has children", pids)
    batch.process.kill()
    batch.process.wait()
    for stream in (batch.process.stdin, batch.process.stdout):
        stream.close()

    def left():
        return [pid for pid in pids if is_running(pid)]

    t.ok(until(lambda: not left()), "nothing outlives a batch that was killed", left())


REACH = """
import os
def tried(what, *args):
    try:
        what(*args)
        return 'reached'
    except OSError as error:
        return error.errno
os.symlink('../../../../../../etc', 'up') if not os.path.islink('up') else None
os.symlink('../outside', 'beside') if not os.path.islink('beside') else None
fd = os.open('.', os.O_RDONLY)
print([tried(*one) for one in (
    (os.open, '../outside', os.O_RDONLY), (os.open, 'x/../../outside', os.O_RDONLY), (os.open, 'up/passwd', os.O_RDONLY),
    (os.open, 'beside', os.O_RDONLY), (os.open, '../made', os.O_RDWR | os.O_CREAT), (os.stat, '../outside'),
    (os.listdir, '..'), (os.mkdir, '../made'), (os.rename, 'inside', '../made'), (os.link, '../outside', 'linked'),
    (os.unlink, '../outside'), (os.symlink, '/etc', 'absolute'), (os.open, '/etc/passwd', os.O_RDONLY), (os.utime, '../outside'))])
"""


def reach_control(t):
    """The same script outside: everything in it reaches what it names."""
    top = os.path.join(t.caller.home, "reach")
    os.makedirs(os.path.join(top, "work", "x"))
    for name in ("outside", "work/inside"):
        with open(os.path.join(top, name), "w"):
            pass
    code = REACH.replace("'../../../../../../etc'", "'/etc'").replace("(os.mkdir, '../made')", "(os.mkdir, '../made2')").replace(
        "(os.rename, 'inside', '../made')", "(os.rename, 'inside', '../made3')").replace(
        "(os.unlink, '../outside'), (os.symlink, '/etc', 'absolute')", "(os.symlink, '/etc', 'absolute')")
    done = subprocess.run([sys.executable, "-c", code], cwd=os.path.join(top, "work"), capture_output=True, text=True, check=False)
    shutil.rmtree(top)
    t.equal(set(eval(done.stdout)), {"reached"}, f"{done.stdout} {done.stderr}")


@suite.case("Z06", "no path leads out of what was opened (A171), also through links made inside", reach_control)
def reach(t):
    ready(t)
    t.caller.put("inside")
    t.caller.put("x/y")
    t.caller.put_at(os.path.join(t.caller.home, "outside"), "secret")
    with Batch(t.caller) as batch:
        for _ in range(2):
            answers = eval(out(t, batch.python(REACH), "the attack"))
            t.ok("reached" not in answers and len(answers) == 14, "refused", answers)
        plain = eval(t.box.run("python", "-c", REACH, flags=("--driver", "wasm")).out)
        t.equal(plain, answers, "and alike in a run of its own, which has the same WASI")
        text = out(t, batch.python("import os; os.rename('x', 'z'); print(os.listdir('z')); os.makedirs('a/b/c'); "
                                   "os.rename('a/b', 'b'); print(os.listdir('b'), os.path.realpath('b'))"), "renames")
        t.equal(text.splitlines()[0], "['y']", "directories can be renamed")
    t.ok(not os.path.exists(os.path.join(t.caller.home, "made")), "nothing was made")


SAME = (
    "print('a', end='')", "import sys; print(sys.argv, __name__, sys.orig_argv[1:])", "raise ValueError('x')", "import sys; sys.exit(7)",
    "import sys; sys.exit('words')", "raise SystemExit", "1 +", "def f(): g()\ndef g(): 1/0\nf()", "print(open('kept').read())",
    "f = open('late', 'w'); f.write('x'); print('not closed')", "import atexit; atexit.register(print, 'bye'); print('hello')",
    "print(input()); print(input())", "import sys; print(repr(sys.stdin.read()))", "print(sorted(globals()))",
    "import os; print(os.getcwd(), os.listdir('.') == os.listdir('/mnt/project'), sorted(os.environ))",
    "class A:\n def __del__(self): print('let go')\na = A()", "import time; t = time.monotonic(); time.sleep(0.05); print(time.monotonic() - t >= 0.05)",
    "import sys; sys.stderr.write('e'); sys.stdout.write('o')", "print(1)\nraise KeyError('\\u00e9')", "import no_such_thing",
    "import os\ntry: os.open('nope', 0)\nexcept OSError as e: print(e)", "import select; print(select.select([0], [], [], 5)[0])",
    "import json, re, collections; print(json.dumps({'a': re.sub('x', 'y', 'xx')}))", "import os; os._exit(3)",
    "import os; print(os.stat('kept').st_size, sorted(e.name for e in os.scandir('.')))", "print('\\udc80'.encode('utf-8', 'surrogateescape'))",
    "import tempfile, os; d = tempfile.mkdtemp(dir='.'); open(d + '/a', 'w').write('1'); print(os.listdir(d))", "",
)


@suite.case("Z07", "a snippet cannot tell: output, words of errors and exit codes are those of a plain run")
def same(t):
    ready(t)
    prepare(t)
    t.caller.put("script.py", "import sys\nprint(sys.argv, sys.path[0], __file__, __name__)\nraise RuntimeError('here')\n")
    commands = [("python", "-c", code, "one", "t\u00e9o") for code in SAME]
    commands += [("python", "script.py", "a"), ("python", "missing.py"), ("python", "-I", "-c", "print(1)")]
    with Batch(t.caller) as batch:
        for command in commands[:4] if slow() else commands:
            j = batch.run(*command, stdin="first\nsecond\n")
            plain = t.box.run(*command, flags=("--driver", "wasm"), stdin=b"first\nsecond\n")
            for key in ("status", "exit_code", "stdout", "stderr", "limits_hit", "changes"):
                t.equal(j[key], plain.json[key], f"{key} of {command}")


@suite.case("Z08", "modules: several at once, each its own words, none left")
def modules(t):
    ready(t)
    path = module(t, hello("hello\n"), "hello.wasm")
    batch = Batch(t.caller, jobs=4)
    for _ in range(40):
        batch.say(path)
    answers = [batch.hear() for _ in range(40)]
    t.equal({(a["stdout"], a["status"], a["fuel_consumed"]) for a in answers}, {("hello\n", "success", answers[0]["fuel_consumed"])}, "all alike")
    t.ok(1 <= len(batch.below(ZYGOTE)) <= 5, "no more zygotes than jobs", batch.below(ZYGOTE))
    t.equal(batch.end(), 0, "its end")


PLANT = "import builtins\nbuiltins.planted = open('/mnt/project/channel', 'w+')\n"
WRITE_PLANTED = "import builtins; f = builtins.planted; f.write('of another run'); f.flush(); print(True)"
READ_PLANTED = "import builtins; f = builtins.planted; f.seek(0); print(repr(f.read()))"


def planted_control(t):
    """Twice in one interpreter: what one wrote to a file that was open before both, the other reads."""
    ready(t)
    t.caller.put("sitecustomize.py", PLANT)
    result = t.box.run("python", "-c", WRITE_PLANTED + "\n" + READ_PLANTED, flags=("--driver", "wasm", "--env", "PYTHONPATH=/mnt/project"))
    t.ok("of another run" in result.out, "read", f"{result}")


@suite.case("Z09", "no code of the workspace runs before the fork: what it opened all snippets would share", planted_control)
def planted(t):
    ready(t)
    t.caller.put("sitecustomize.py", PLANT)
    with Batch(t.caller) as batch:
        for _ in range(2):
            t.equal(out(t, batch.python(WRITE_PLANTED, env=["PYTHONPATH=/mnt/project"]), "writes"), "True\n", "it has run, as it does plainly")
            t.equal(out(t, batch.python(READ_PLANTED, env=["PYTHONPATH=/mnt/project"]), "reads"), "''\n", "in each run anew")
        t.caller.put("lib/python3.12/os.py", "raise SystemExit('of the workspace')\n")
        t.caller.put("pyvenv.cfg", "home = /mnt/project/bin\n")
        first, second = (out(t, batch.python("import os; print(hash('x'), os.__file__)"), "beside a library") for _ in range(2))
        t.equal(first, second, "one interpreter, which has started")
        t.ok("/usr/local/lib/" in first, "with its own library", first)


@suite.case("Z10", "processor time of one snippet is charged to no other, also of one that keeps the supervisor busy")
def processor_time(t):
    ready(t)
    t.caller.put("low/file")
    with Batch(t.caller) as batch:
        for _ in range(2):
            j = batch.python("import os\nwhile True:\n  os.rename('low', 'high'); os.rename('high', 'low')", fuel="900g",
                             time="100s", **{"cpu-time": "1s"})
            t.equal((j["status"], j["limits_hit"]), ("limit", ["cpu-time"]), f"it is stopped {j}")
            j = batch.python("import time\nwhile time.process_time() < 0.4: pass", fuel="900g", **{"cpu-time": "1s"})
            t.equal((j["status"], j["limits_hit"]), ("success", []), f"the next has all of its own {j}")
        t.equal(len(batch.below(ZYGOTE)), 1, "by one zygote")


def supervisors(batch):
    """Those who do the lines; of all our descendants only they are called as we are."""
    return {pid for pid in batch.below("aisbx-full") if pid != batch.process.pid}


def sleeps(pid):
    """How often it has waited for something."""
    return int(status_of(pid)["voluntary_ctxt_switches"])


@suite.case("Z11", "a zygote is of the module it was asked for, not of what lies there when it starts")
def swapped(t):
    ready(t)
    one, other = (module(t, hello(word), name) for word, name in (("one\n", "one.wasm"), ("other\n", "other.wasm")))
    path = t.caller.put("swapped.wasm", open(one, "rb").read())
    with Batch(t.caller) as batch:
        batch.python("pass")
        pool, = batch.below("aisbx-pool")
        worker, = supervisors(batch)
        until(lambda: stat_of(worker)[1] == "S")
        before = sleeps(worker)
        os.kill(pool, signal.SIGSTOP)
        batch.say(path)
        quiet = [0]

        def has_asked():
            # Who has woken and sleeps on waits for an answer. Should it still not have asked, nothing is proved.
            quiet[0] = quiet[0] + 1 if sleeps(worker) > before and stat_of(worker)[1] == "S" else 0
            return quiet[0] > 20

        t.ok(until(has_asked), "who does the line has asked", stat_of(worker))
        shutil.copyfile(other, path)
        os.kill(pool, signal.SIGCONT)
        answer = batch.hear()
        t.ok(answer["stdout"] in ("one\n", "other\n"), "it ran", answer)
        t.equal(out(t, batch.run(path), "the other"), "other\n", "what lies there now")
        shutil.copyfile(one, path)
        for _ in range(2):
            t.equal(out(t, batch.run(path), "the one"), "one\n", "and what lies there then")


@suite.case("Z12", "recursion and memory without end are one snippet's trouble, also where the kernel ends it")
def endless_growth(t):
    ready(t)
    with Batch(t.caller) as batch:
        seed = out(t, batch.python("print(hash('x'))", mem="192m", disk="300m"), "before")
        rows = (("import sys; sys.setrecursionlimit(10**5)\ndef f(): f()\nf()", "RecursionError"),
                ("x = None\nfor i in range(10**5): x = [x]\nrepr(x)", "RecursionError"),
                ("x = []\nwhile True: x.append(bytearray(1 << 20))", "MemoryError"))
        for code, word in rows:
            j = batch.python(code, mem="192m", disk="300m", fuel="900g")
            t.ok(j["exit_code"] in (1, 134) and j["signal"] is None, f"{word} {j}")
            t.ok(word in j["stderr"] or j["exit_code"] == 134, f"in words {j}")
        # Files are memory, too: with what its own limit lets it have they are more than the sandbox may.
        j = batch.python("x = bytearray(100 << 20)\nf = open('big', 'wb')\nwhile True: f.write(bytes(1 << 20))", mem="192m", disk="300m")
        t.ok(j["limits_hit"] in (["mem"], ["fsize"], ["disk"]) or "MemoryError" in j["stderr"], f"it is ended, by whichever limit there is {j}")
        t.equal(out(t, batch.python("print(hash('x'))", mem="192m", disk="300m"), "behind them"), seed, "the zygote is the one it was")
        t.equal(len(batch.below(ZYGOTE)), 1, "by one zygote")


@suite.case("Z13", "a started interpreter ends at exactly its fuel, as often as one likes")
def exact_fuel(t):
    ready(t)
    code = "x = 1\nfor i in range(1000): x += i\nprint(x)"
    with Batch(t.caller) as batch:
        used = {batch.python(code)["fuel_consumed"] for _ in range(3)}
        t.equal(len(used), 1, f"the same every time: {used}")
        need = used.pop()
        for _ in range(2):
            j = batch.python(code, fuel=str(need))
            t.equal((j["status"], j["stdout"], j["fuel_consumed"]), ("success", "499501\n", need), f"just enough {j}")
            for less in (1000, 100000, need // 2):
                j = batch.python(code, fuel=str(need - less))
                t.equal((j["status"], j["limits_hit"], j["fuel_consumed"]), ("limit", ["fuel"], need - less), f"{less} too few {j}")


@suite.case("Z15", "one process supervises line after line: nothing of one is there in the next, and one that is killed or halted is replaced")
def workers(t):
    ready(t)
    t.caller.put("below/here", "")
    looks = "import os, sys; print(sys.stdin.read(), sorted(os.listdir('.')), os.environ.get('A'))"
    with Batch(t.caller) as batch:
        alone = out(t, batch.python(looks), "first")
        first = supervisors(batch)
        out(t, batch.python(looks, stdin="x" * 100_000, cwd="below", env=["A=1"]), "with input, a directory and a variable")
        t.equal(out(t, batch.python(looks), "third"), alone, "none of these are left")
        for bad in (b"{", b"[]", b'{"command": 3}', b'{"nonsense": 1}', b'"' + b"x" * 900_000, b"[" * 1000):
            batch.process.stdin.write(bad + b"\n")
            batch.process.stdin.flush()
            t.equal(batch.hear().get("ok"), False, f"refused: {bad[:20]!r}")
        t.equal((out(t, batch.python(looks), "behind bad lines"), supervisors(batch)), (alone, first), "by the same process")
        t.equal(len(out(t, batch.python("print('y' * 900_000)"), "a long answer")), 900_001, "whole")
        t.equal(out(t, batch.python(looks), "behind a long answer"), alone, "and no more than that")
        t.ok(len(first) == 1, "one supervisor for all of them", first)
        for pid in first:
            os.kill(pid, signal.SIGKILL)
        until(lambda: not first & supervisors(batch))
        t.equal(out(t, batch.python(looks), "after its end"), alone, "another one")
        t.ok(supervisors(batch) and not first & supervisors(batch), "took over", supervisors(batch))
        second = halt(supervisors(batch))
        t.equal(out(t, batch.python(looks), "beside a halted one"), alone, "another one")
        t.ok(not second & supervisors(batch), "which nobody waits for", second)
        # Nor at the end, which is here.
        halt(supervisors(batch))
    t.equal(batch.process.returncode, 1, "some lines were not run")


@suite.case("Z14", "two who keep zygotes have none in common, not even for the same work")
def owners(t):
    ready(t)
    with Batch(t.caller) as one, Batch(t.caller) as other:
        seeds = [out(t, batch.python("print(hash('x'))"), "a seed") for batch in (one, other, one, other)]
        t.ok(seeds[0] == seeds[2] and seeds[1] == seeds[3] and seeds[0] != seeds[1], "each its own interpreter", seeds)
        t.equal([len(batch.below(ZYGOTE)) for batch in (one, other)], [1, 1], "one each")
        one.say("python", "-c", "import time; time.sleep(1000)")
        until(lambda: len(one.below(ZYGOTE)) == 2)
        t.equal(out(t, other.python("print(2)"), "beside one that is busy"), "2\n", "nobody waits for the other's")
        t.equal(one.kill(ZYGOTE), 2, "its zygote and its run are ended")
        t.equal(one.hear()["status"], "killed", "it is told so")
        t.equal(out(t, other.python("print(hash('x'))"), "the other's"), seeds[1], "the other's is untouched")


suite.main()
