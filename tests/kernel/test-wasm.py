#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The wasm driver: modules and languages, fuel, what a guest reaches (A169 to A174), the cache, refusals."""
import errno
import hashlib
import hmac
import json
import os
import random
import stat
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import wasmtest
from aisbxtest import Suite
from box import patience, slow
from family import descendants, open_files, read_of
from wasmtest import NOENT, REFUSED, assemble, hello, opens, program

suite = Suite("the wasm driver", needs_attack=False, both_users=False)

LOOP = "(loop $l (br $l))"


def ready(t, languages=False):
    why = wasmtest.install(t.caller)
    if why:
        t.skip(why)
    if languages and not os.path.isdir(os.path.join(t.caller.env["XDG_DATA_HOME"], "aisbx/wasm/python")):
        t.skip("set-up has not installed the languages")


def module(t, text, name="m.wasm"):
    content = text if isinstance(text, bytes) else assemble(text)
    if content is None:
        t.skip("wat2wasm is not installed (wabt)")
    return t.caller.put(name, content)


def wasm(t, *command, flags=(), **kw):
    return t.box.run(*command, flags=("--driver", "wasm", *flags), **kw)


def wasm_text(t, text, *args, **kw):
    ready(t)
    return wasm(t, module(t, text), *args, **kw)


def python(t, code, *args, **kw):
    ready(t, True)
    return wasm(t, "python", "-c", code, *args, **kw)


def folder(t, kind):
    return os.path.join(t.caller.env["XDG_DATA_HOME" if kind == "data" else "XDG_CACHE_HOME"], "aisbx/wasm")


def unconfined(t, text, workspace):
    """The same module with the engine alone and another directory opened: the control of what it would reach."""
    path = module(t, text, "control.wasm")
    runner = os.path.join(os.path.dirname(t.caller.program), "aisbx-wasm")
    told, tell = os.pipe()
    fds = [os.open(runner, os.O_RDONLY), os.open(folder(t, "data") + "/engine/libwasmtime.so", os.O_RDONLY), tell,
           os.open(path, os.O_RDONLY)]
    done = subprocess.run([runner, "compile-and-run", "1000000000", str(1 << 28), "300000", workspace, workspace, "", "--", "m"],
                          env={**t.caller.env, "AISBX_HANDS": ",".join(map(str, fds))}, pass_fds=fds, capture_output=True,
                          timeout=patience(60), check=False, preexec_fn=lambda: os.set_blocking(tell, False), **t.caller.identity())
    for fd in (*fds, told):
        os.close(fd)
    return done.returncode


@suite.case("W01", "a module: arguments, streams, exit status, result")
def basics(t):
    result = wasm_text(t, hello("hello\n"))
    t.equal((result.code, result.out), (0, "hello\n"), f"{result}")
    j = result.json
    t.equal((j["isolation"], j["driver"], j["status"]), ("wasm", "wasm", "success"), "the result's words")
    t.ok(0 < j["fuel_consumed"] < 1000, "fuel was counted", j["fuel_consumed"])
    t.ok({"seccomp", "pid", "mount", "net", "user"} <= set(j["layers"]), "inside the sandbox of a native command", j["layers"])
    for status, want in ((42, 42), (125, 125), (126, 126), (137, 137), (255, 255), (300, 44), (-1, 255)):
        result = wasm_text(t, program(f"(call $proc_exit (i32.const {status}))"))
        t.equal((result.code, result.err_inside, result.json["limits_hit"]), (want, "", []), f"its exit status {status}: {result}")
    echo = program("(drop (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 4)))"
                   "(drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 60)))", ("fd_read", "fd_write"),
                   [(0, bytes([100, 0, 0, 0, 5, 0, 0, 0]))])
    t.equal(wasm_text(t, echo, stdin=b"input").out, "input", "standard input")
    relative = t.box.run("./m.wasm", flags=("--driver", "wasm"), stdin=b"12345")
    t.equal(relative.out, "12345", "a path relative to the directory")


@suite.case("A169", "an endless loop ends at its fuel, to the instruction, and at its time")
def endless(t):
    for budget in ("1m", "1000003"):
        runs = [wasm_text(t, program(LOOP), flags=("--fuel", budget)).json for _ in range(2)]
        want = {"1m": 1000000}.get(budget) or int(budget)
        for j in runs:
            t.equal((j["status"], j["exit_code"], j["limits_hit"], j["fuel_consumed"]), ("limit", 137, ["fuel"], want), f"{j}")
        t.ok("--fuel" in " ".join(runs[0]["notes"]), "with the way out", runs[0]["notes"])
    start = program("", more=f"(func $s {LOOP}) (start $s)")
    j = wasm_text(t, start, flags=("--fuel", "1m")).json
    t.equal((j["status"], j["fuel_consumed"]), ("limit", 1000000), f"in the start function {j}")
    j = wasm_text(t, program(LOOP), flags=("--time", "300ms", "--fuel", "900g")).json
    t.equal((j["status"], j["exit_code"], j["limits_hit"]), ("timeout", 124, ["time"]), f"by the clock {j}")
    counted = program("(loop $l (local.set $i (i32.add (local.get $i) (i32.const 1))) (br_if $l (i32.lt_u (local.get $i) (i32.const 5000))))")
    used = {wasm_text(t, counted).json["fuel_consumed"] for _ in range(3)}
    t.equal(len(used), 1, f"the same every time: {used}")
    t.equal(wasm_text(t, counted, flags=("--fuel", str(used.pop()))).json["status"], "success", "just enough is enough")


@suite.case("A170", "memory and tables grow to their limits, and no further")
def growth(t):
    grow = program("(call $proc_exit (i32.eq (memory.grow (i32.const {})) (i32.const -1)))")
    t.equal(wasm_text(t, grow.format(16)).code, 0, "control: a mebibyte")
    t.equal(wasm_text(t, grow.format(65000), flags=("--mem", "256m")).code, 1, "four gibibytes")
    steps = program("(loop $l (br_if $l (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) "
                    "(call $proc_exit (memory.size))", ())
    j = wasm_text(t, steps, flags=("--mem", "256m")).json
    t.ok(j["status"] in ("success", "error") and not j["limits_hit"], "step by step until refused", j)
    table = program("(call $proc_exit (i32.eq (table.grow $t (ref.null func) (i32.const {})) (i32.const -1)))", more="(table $t 1 funcref)")
    t.equal(wasm_text(t, table.format(1000)).code, 0, "control: a table that grows a little")
    t.equal(wasm_text(t, table.format(2000000000)).code, 1, "a table of two thousand million")
    huge = program("", memory='(memory (export "memory") 65536)')
    result = wasm_text(t, huge, flags=("--mem", "256m"))
    t.equal(result.code, 126, f"memory it begins with: {result}")


@suite.case("A171", "paths out of the directories that were opened")
def escape(t):
    ready(t)
    outside = tempfile.mkdtemp(prefix="outside-", dir=t.caller.home)
    t.caller.own(outside)
    secret = t.caller.put_at(os.path.join(outside, "key"), "secret")
    t.caller.put("inside", "x")
    name = os.path.basename(outside)
    t.equal(wasm_text(t, opens("inside")).code, 0, "control: what is inside opens")
    for fd in (3, 4, 5):
        for path in (f"../{name}/key", f"sub/../../{name}/key", f"./../{name}/key", "..", "../..", "/etc/passwd", secret,
                     f"inside/../../{name}/key", "/proc/self/environ", "/"):
            code = wasm_text(t, opens(path, fd)).code
            t.ok(code in (*REFUSED, NOENT, 54), f"{fd} {path}", code)
    t.ok(wasm_text(t, opens("inside", 6)).code == 8, "there are three directories, and no fourth")
    t.equal(unconfined(t, opens(f"{name}/key"), t.caller.home), 0, "control: with the parent opened it is reached")
    os.symlink(secret, os.path.join(t.caller.workspace, "planted"))
    os.symlink(outside, os.path.join(t.caller.workspace, "planted-dir"))
    for path in ("planted", "planted-dir/key", "planted-dir/new"):
        for create in (False, True):
            code = wasm_text(t, opens(path, create=create)).code
            t.ok(code in REFUSED, f"a link that lies there: {path}, {create}", code)
    t.ok(not os.path.exists(outside + "/new"), "and nothing was made behind it")
    os.unlink(os.path.join(t.caller.workspace, "planted"))
    os.unlink(os.path.join(t.caller.workspace, "planted-dir"))


@suite.case("A171b", "links made inside, and what is created through them")
def links(t):
    ready(t)
    made = "(drop (call $path_symlink (i32.const 1000) (i32.const {len}) (i32.const 3) (i32.const 1017) (i32.const 4)))"
    for length, target in ((4, "/etc"), (16, "/etc/passwd")):
        path = "link/passwd" if length == 4 else "link"
        code = wasm_text(t, opens(path, before=made.format(len=length))).code
        t.ok(code in (*REFUSED, NOENT), f"a link to {target}, made inside", code)
        symlink = made.format(len=length).replace("(drop ", "(local.set $i ", 1)
        code = wasm_text(t, opens(path, create=True, before=symlink + "(if (local.get $i) (then (call $proc_exit (local.get $i))))")).code
        t.ok(code in (*REFUSED, NOENT), f"creating through a link to {target}", code)
    made = "(drop (call $path_symlink (i32.const 1022) (i32.const 10) (i32.const 3) (i32.const 1017) (i32.const 4)))"
    code = wasm_text(t, opens("link/new", create=True, before=made)).code
    t.ok(code in (*REFUSED, NOENT), "a relative link out", code)
    moved = program("(call $proc_exit (call $path_rename (i32.const 3) (i32.const 100) (i32.const 6) (i32.const 3) (i32.const 1022) (i32.const 10)))",
                    ("path_rename",), [(100, b"inside"), (1000, b"/etc\0/etc/passwd\0link\0../outside")])
    t.caller.put("inside", "x")
    t.ok(wasm_text(t, moved).code in REFUSED, "a rename out")
    hard = program("(call $proc_exit (call $path_link (i32.const 3) (i32.const 0) (i32.const 100) (i32.const 16) (i32.const 3) (i32.const 200) (i32.const 4)))",
                   ("path_link",), [(100, b"../../etc/passwd"), (200, b"hard")])
    t.ok(wasm_text(t, hard).code in (*REFUSED, NOENT), "a hard link to what is outside")


def vary(good, seed):
    chance = random.Random(seed)
    bytes_ = bytearray(good)
    for _ in range(chance.randint(1, 4)):
        bytes_[chance.randrange(8, len(bytes_))] = chance.randrange(256)
    return bytes(bytes_[:chance.randint(9, len(bytes_))] if chance.random() < 0.3 else bytes_)


def leb(number):
    out = b""
    while True:
        number, low = number >> 7, number & 0x7f
        out += bytes([low | (0x80 if number else 0)])
        if not number:
            return out


def section(kind, content):
    return bytes([kind]) + leb(len(content)) + content


HEAD = b"\0asm\1\0\0\0"
TYPES = section(1, b"\1\x60\0\0")
FUNCTIONS = section(3, b"\1\0")
EXPORT = section(7, b"\1\6_start\0\0")


def with_code(body):
    return HEAD + TYPES + FUNCTIONS + EXPORT + section(10, b"\1" + leb(len(body)) + body)


@suite.case("A173", "modules that are none")
def bad_modules(t):
    ready(t)
    t.equal(wasm(t, module(t, with_code(b"\0\x0b"))).code, 0, "control: the smallest good one")
    rows = {
        "truncated number": HEAD + b"\1\xff\xff",
        "endless number": HEAD + b"\1" + b"\x80" * 40,
        "section of four gibibytes": HEAD + b"\1\xff\xff\xff\xff\x0f",
        "a million locals": with_code(b"\1" + leb(1000000) + b"\x7f\x0b"),
        "locals beyond counting": with_code(b"\2" + leb(2**32 - 1) + b"\x7f" + leb(2**32 - 1) + b"\x7f\x0b"),
        "deep blocks": with_code(b"\0" + b"\2\x40" * 200000 + b"\x0b" * 200001),
        "a huge br_table": with_code(b"\0\x41\0\x0e" + leb(3000000) + b"\0" * 3000001 + b"\x0b"),
        "sections out of order": HEAD + FUNCTIONS + TYPES,
        "a section twice": HEAD + TYPES + TYPES,
        "an unknown section": HEAD + section(99, b"x"),
        "code without functions": HEAD + section(10, b"\1\2\0\x0b"),
        "random bytes": HEAD + random.Random(1).randbytes(5000),
        "no module": b"#!/bin/sh\necho no\n",
        "a component": b"\0asm\x0d\0\1\0",
        "empty": b"",
    }
    for name, content in rows.items():
        result = wasm(t, module(t, content, "bad.wasm"), flags=("--time", "200s"), timeout=60)
        t.ok(result.code == 126 or (name in ("deep blocks", "a huge br_table") and result.code in (0, 134)), f"{name}: {result}")
        if result.code == 126:
            t.ok(result.json.get("message"), f"{name}: with a reason", result)
    good = module(t, hello("x"))
    with open(good, "rb") as file:
        content = file.read()
    for seed in range(40):
        result = wasm(t, module(t, vary(content, seed), "varied.wasm"), flags=("--time", "200s"), timeout=60)
        t.ok(result.code in (0, 126, 134, 137) and not result.json["signal"], f"variation {seed}: {result}")


@suite.case("A174", "what traps, traps, and is no crash")
def traps(t):
    rows = {
        "memory access out of bounds": program("(drop (i32.load offset=4294967295 (i32.const -1)))"),
        "memory access": program("(i32.store (i32.const 131072) (i32.const 1))"),
        "unreachable": program("unreachable"),
        "division by zero": program("(drop (i32.div_u (i32.const 1) (local.get $i)))"),
        "another type": program("(call_indirect (type $t) (i32.const 1) (i32.const 0))",
                                more="(type $t (func (param i32))) (table 1 funcref) (func $f) (elem (i32.const 0) $f)"),
        "stack": program("(call $r)", more="(func $r (call $r) (call $r))"),
    }
    for words, text in rows.items():
        result = wasm_text(t, text)
        t.equal((result.code, result.status, result.json["signal"]), (134, "error", None), f"{words}: {result}")
        t.ok(words.split()[0] in result.err_inside, f"{words}: in words", result.err_inside)


@suite.case("W02", "Python and JavaScript, their files and what they change")
def languages(t):
    t.caller.put("data.txt", "42\n")
    result = python(t, "import sys; print(1 + 1, sys.argv[1:], open('data.txt').read(), open('/mnt/project/data.txt').read())", "a b", "")
    t.equal(result.out, "2 ['a b', ''] 42\n 42\n\n", f"{result}")
    result = python(t, f"open({t.caller.workspace!r} + '/new', 'w').write('x'); open('data.txt', 'a').write('y')")
    t.equal(result.json["changes"], {"added": 1, "modified": 1, "deleted": 0}, f"{result}")
    t.ok(not os.path.exists(t.caller.workspace + "/new"), "and nothing of it outside")
    for path in ("/etc/passwd", "/proc/self/environ", "/mnt/project/../../etc/passwd", folder(t, "data") + "/engine/libwasmtime.so", "/run/aisbx/policy.json"):
        result = python(t, f"open({path!r})")
        t.equal((result.code, result.status), (1, "error"), f"{path}: {result}")
    t.equal(python(t, "import socket; socket.socket()").code, 1, "no sockets")
    t.equal(python(t, "import os; os.fork()").code, 1, "no processes")
    result = wasm(t, "javascript", "-e", "console.log([1,2].map(x=>x*2).join())")
    t.equal(result.out, "2,4\n", f"{result}")
    env = python(t, "import os; print(os.environ['GIVEN'], os.environ['AISBX'])", flags=("--env", "GIVEN=yes"))
    t.equal(env.out, "yes 1\n", f"{env}")


@suite.case("W02a", "Python at a terminal, and without one")
def terminal(t):
    ready(t, True)
    code = "import os; print([os.isatty(fd) for fd in (0, 1, 2)], input())"
    status, shown = t.box.on_pty("python", "-c", code, flags=("--driver", "wasm"), send=b"typed\n")
    t.ok(status == 0 and b"[True, True, True] typed" in shown, "a terminal", (status, shown))
    t.equal(python(t, code, stdin=b"piped\n").out, "[False, False, False] piped\n", "pipes")


@suite.case("W02c", "Python: a slash behind a name means a directory")
def slash(t):
    ready(t)
    code = ("import os\nopen('f', 'w').close(); os.symlink('f', 'l'); os.mkdir('d')\n"
            "for act in (lambda: os.unlink('f/'), lambda: os.unlink('l/'), lambda: os.rename('f/', 'g')):\n"
            "    try:\n        act(); print('done')\n    except NotADirectoryError:\n        print('refused')\n"
            "os.rename('d/', 'e/'); os.rmdir('e/'); print([n for n in 'fled' if os.path.lexists(n)])")
    t.equal(python(t, code).out, "refused\nrefused\nrefused\n['f', 'l']\n", "a file stays")


@suite.case("W02b", "scientific Python, where somebody installed it")
def scientific(t):
    ready(t)
    if not os.path.isdir(folder(t, "data") + "/python-sci"):
        t.skip("python-sci is not installed: it is by request")
    t.caller.put("data.txt", "42\n")
    result = wasm(t, "python-sci", "-c", "import numpy; print(numpy.arange(10).sum(), open('data.txt').read(), open('/mnt/project/data.txt').read())")
    t.equal(result.out, "45 42\n 42\n\n", f"{result}")
    for path in ("/etc/passwd", "/usr/local/lib/../../../etc/passwd", "/mnt/project/../../etc/passwd"):
        t.equal(wasm(t, "python-sci", "-c", f"open({path!r})").code, 1, path)
    t.equal(wasm(t, "python-sci", "-c", "open('/usr/local/lib/new', 'w')").code, 1, "its library cannot be written to")
    t.equal(wasm(t, "python-sci", "-c", "import sys; sys.exit(7)").code, 7, "its exit status")


@suite.case("W03", "variables steer the guest, not what runs it")
def variables(t):
    flags = ("--env", "LD_PRELOAD=/nothing.so", "--env", "AISBX_HANDS=0,0,0,0")
    result = python(t, "import os; print(os.environ['LD_PRELOAD'])", flags=flags)
    t.equal((result.out, result.err_inside), ("/nothing.so\n", ""), f"{result}")
    native = t.box.run("/bin/true", flags=flags)
    t.ok("nothing.so" in native.err_inside, "control: a native program's loader looks for it", native)


def runner_of(supervisor):
    """The runner below a supervisor that we started, once it runs its guest; None when it cannot be looked at."""
    for _ in range(3000):
        for entry in descendants(supervisor):
            try:
                if read_of(entry, "comm") == "aisbx-wasm\n" and len(open_files(entry)) > 6:
                    return entry
            except PermissionError:
                return None
        time.sleep(0.002)
    return None


@suite.case("W04", "what the runner is handed can be reopened by nobody for writing")
def hands(t):
    ready(t)
    path = module(t, hello("guest\n", then=LOOP))
    wasm(t, path, flags=("--fuel", "1m"))
    process = t.box.popen([path], flags=("--driver", "wasm", "--time", "300s", "--fuel", "900g"), as_json=False)
    try:
        # Before its guest runs, the runner opens and closes files of its own: what it starts with is judged when the guest has spoken.
        t.equal(process.stdout.readline(), b"guest\n", "the guest runs")
        pid = runner_of(process.pid)
        if not pid:
            t.skip("a plain user cannot look at the runner's descriptors from outside")
        ours = {os.stat(p).st_ino for p in (folder(t, "data") + "/engine/libwasmtime.so",
                                            os.path.join(os.path.dirname(t.caller.program), "aisbx-wasm"))}
        seen, files = set(), 0
        for fd in os.listdir(f"/proc/{pid}/fd"):
            name = f"/proc/{pid}/fd/{fd}"
            st = os.stat(name)
            if not stat.S_ISREG(st.st_mode):
                continue
            files += 1
            seen.add(st.st_ino)
            try:
                os.close(os.open(name, os.O_RDWR))
                t.ok(False, f"{name} can be written to")
            except OSError as error:
                t.ok(error.errno in (errno.EROFS, errno.ETXTBSY) or st.st_uid != os.geteuid(), name, error)
            try:
                os.chmod(name, 0o666)
                t.ok(False, f"the mode of {name} can be changed")
            except OSError as error:
                t.ok(error.errno == errno.EROFS or st.st_uid != os.geteuid(), f"mode of {name}", error)
        t.ok(ours <= seen and files >= 3, "runner, engine and module were looked at", (seen, files))
        os.close(os.open(folder(t, "data") + "/engine/libwasmtime.so", os.O_RDWR))
    finally:
        process.kill()
        process.communicate()
    # On a busy machine the supervisor may not have got to the end of its start: then the next run clears up behind it.
    t.equal(t.box.run("true").code, 0, "the next run")


@suite.case("W05", "a compiled module that was tampered with is made anew")
def tampering(t):
    ready(t)
    path = module(t, hello("tampered?\n"), "kept.wasm")
    cache = folder(t, "cache")
    before = set(os.listdir(cache)) if os.path.isdir(cache) else set()
    t.equal(wasm(t, path).out, "tampered?\n", "the first run compiles")
    made = [n for n in set(os.listdir(cache)) - before if n.endswith(".compiled")]
    t.equal(len(made), 1, f"and keeps: {made}")
    compiled = os.path.join(cache, made[0])
    with open(compiled, "rb") as file:
        good = file.read()
    for change in ("content", "seal", "no seal", "another's seal", "forged 1", "forged 2", "mode"):
        if change == "content":
            with open(compiled, "r+b") as file:
                file.seek(os.path.getsize(compiled) // 2)
                file.write(b"\xcc" * 64)
        elif change == "seal":
            with open(compiled + ".seal", "r+b") as file:
                file.write(b"x")
        elif change == "no seal":
            os.unlink(compiled + ".seal")
        elif change == "another's seal":
            with open(compiled + ".seal", "w") as file:
                file.write("aisbx-seal 2 " + "cd" * 32 + " " + "ab" * 32 + " 1 2 3 4 5\n")
            t.caller.own(compiled + ".seal")
        elif change.startswith("forged"):
            # Right in every respect, but made without the secret of the data folder.
            with open(compiled, "r+b") as file:
                file.seek(os.path.getsize(compiled) // 2)
                file.write(b"\xcc" * 64)
            with open(compiled, "rb") as file:
                digest = hashlib.sha256(file.read()).hexdigest()
            about = os.stat(compiled)
            text = f"{digest} {about.st_dev} {about.st_ino} {about.st_size} {about.st_mtime_ns} {about.st_ctime_ns}\n"
            code = hmac.new(b"", f"{made[0]} {text}".encode(), "sha256").hexdigest() + " " if change == "forged 2" else ""
            with open(compiled + ".seal", "w") as file:
                file.write(f"aisbx-seal {change[-1]} {code}{text}")
            t.caller.own(compiled + ".seal")
        else:
            os.chmod(compiled, 0o666)
        result = wasm(t, path)
        t.equal((result.code, result.out), (0, "tampered?\n"), f"{change}: {result}")
        t.ok(any("compiled anew" in note for note in result.json["notes"]), f"{change}: it is said", result.json["notes"])
        with open(compiled, "rb") as file:
            t.ok(file.read() == good, f"{change}: what is kept is as it was at first")
    os.chmod(cache, 0o777)
    result = wasm(t, path)
    os.chmod(cache, 0o700)
    t.equal(result.code, 125, f"a cache that others may write: {result}")


@suite.case("W06", "refusals: what is missing, unknown or changed")
def refusals(t):
    ready(t)
    for word, code, words in (("ruby", 127, "python"), ("./none.wasm", 127, "none.wasm"), ("/etc/passwd", 126, "not a WebAssembly"),
                              ("/tmp", 126, "not a file"), ("engine", 127, "python")):
        result = wasm(t, word)
        t.equal(result.code, code, f"{word}: {result}")
        t.ok(words in result.json["message"], f"{word}: {result.json['message']}")
    result = wasm(t, module(t, hello("x")), flags=("--allow", "example.org:443"))
    t.equal(result.code, 125, f"with a network: {result}")
    library = module(t, "(module (func (export \"add\")))", "library.wasm")
    t.equal(wasm(t, library).code, 126, "a module without _start")
    unknown = module(t, "(module (import \"env\" \"f\" (func)) (func (export \"_start\")))", "unknown.wasm")
    result = wasm(t, unknown)
    t.ok(result.code == 126 and "env" in result.json["message"], f"an import nobody has: {result}")
    result = t.box.run("true", flags=("--fuel", "1m"))
    t.ok(result.code == 125 and "--driver wasm" in result.json["message"], f"fuel for a native command: {result}")
    engine = folder(t, "data") + "/engine/libwasmtime.so"
    with open(engine, "r+b") as file:
        file.seek(1000)
        was = file.read(1)
        file.seek(1000)
        file.write(bytes([was[0] ^ 1]))
    result = wasm(t, library)
    with open(engine, "r+b") as file:
        file.seek(1000)
        file.write(was)
    t.ok(result.code == 125 and "aisbx wasm install engine" in result.json["message"], f"an engine that was changed: {result}")
    result = wasm(t, library, env={"XDG_DATA_HOME": t.caller.home + "/nowhere"})
    t.ok(result.code == 125 and "aisbx wasm install" in result.json["message"], f"no engine: {result}")
    done = subprocess.run([t.caller.program, "create", "--driver", "wasm", "w1"], env=t.caller.env, cwd=t.caller.workspace,
                          capture_output=True, text=True, check=False, **t.caller.identity())
    t.ok(done.returncode != 0 and "wasm" in done.stderr, "no sandbox stays", done)


@suite.case("W07", "installing from a file, and the list")
def installing(t):
    def call(*words):
        return subprocess.run([t.caller.program, "wasm", *words], env={**t.caller.env, "XDG_DATA_HOME": t.caller.home + "/other"},
                              cwd=t.caller.workspace, capture_output=True, text=True, timeout=120, check=False, **t.caller.identity())
    wheels = [n for n in os.listdir(wasmtest.fetched()) if n.startswith("wasmtime-")] if os.path.isdir(wasmtest.fetched()) else []
    if not wheels:
        t.skip("set-up has not fetched the engine (tools/setup-wasm)")
    wrong = t.caller.put("wrong.whl", "PK nothing")
    done = call("install", "engine", "--from", wrong)
    t.ok(done.returncode != 0 and "sha256" in done.stderr, "another file", done)
    done = call("install", "python", "--from", wrong)
    t.ok(done.returncode != 0 and "engine comes first" in done.stderr, "a language before its engine", done)
    wheel = t.caller.put("engine.whl", open(os.path.join(wasmtest.fetched(), wheels[0]), "rb").read())
    done = call("install", "engine", "--from", wheel)
    t.equal((done.returncode, done.stdout), (0, "engine is installed\n"), f"{done}")
    t.equal(call("install", "engine", "--from", wheel).stdout, "engine was there\n", "once more")
    rows = {row["name"]: row["state"] for row in map(json.loads, call("ls", "--json").stdout.splitlines())}
    t.equal((rows["engine"], rows["python"]), ("ready", "absent"), f"{rows}")
    t.equal(call("install", "cobol").returncode, 5, "an unknown name")
    t.equal(call("install").returncode, 2, "no name")
    t.ok(not [n for n in os.listdir(t.caller.home + "/other/aisbx/wasm") if n.startswith(".")], "no draft stays")


@suite.case("W08", "--driver auto: which, and why")
def automatic(t):
    ready(t, True)
    t.caller.put("script.py", "import json\nprint(json.dumps([1]))\n")
    rows = (
        (("python3", "-c", "import json, re; print(1)"), "wasm", "imports"),
        (("python", "script.py"), "wasm", "imports"),
        (("python3", "-c", "print('a/b'.split('/'), '~')"), "wasm", "imports"),
        (("python3", "-c", f"print(open({t.caller.workspace + '/script.py'!r}).read())"), "wasm", "imports"),
        (("python3", "-c", "print(open('/etc/hostname').read())"), "linux", "outside of the workspace"),
        (("python3", "-c", "import os; os.makedirs('/tmp/made')"), "linux", "outside of the workspace"),
        (("python3", "-c", "import tempfile; tempfile.mkdtemp()"), "linux", "tempfile"),
        (("python3", "-c", "import os; print(os.getuid())"), "linux", "os.getuid"),
        (("python3", "-c", "import numpy"), "linux", "numpy"),
        (("python3", "-c", "import subprocess"), "linux", ""),
        (("python3", "-c", "import os; os.system('true')"), "linux", "line 1"),
        (("python3", "-c", "__import__('so' + 'cket')"), "linux", ""),
        (("python3", "-c", "def ("), "linux", ""),
        (("python3", "-m", "json.tool"), "linux", "only code"),
        (("true",), "linux", "native"),
        ((module(t, hello("x")),), "wasm", "module"),
    )
    for command, driver, why in rows:
        j = t.box.run(*command, flags=("--driver", "auto"), stdin=b"1").json
        note = " ".join(j["notes"])
        if "its imports cannot be told" in note:
            t.skip("this build has no scanner")
        t.ok(j["driver"] == driver and f"driver {driver}, because" in note and why in note, f"{command}", (j["driver"], note))
    j = t.box.run("python3", "-c", "print(1)", flags=("--driver", "auto", "--allow", "example.org:443")).json
    t.equal(j["driver"], "linux", "what may use the network is native")
    profile = t.caller.put("net.yaml", "allow: [example.org:443]\n")
    j = t.box.run("python3", "-c", "print(1)", flags=("--driver", "auto", "--profile", profile)).json
    t.ok(j["driver"] == "linux" and "no network" in " ".join(j["notes"]), "also where a profile says so", j)


@suite.case("W09", "a language whose compiled form is gone is compiled first, and that is said")
def compiled_first(t):
    if slow():
        t.skip("compiling takes long in an instrumented build")
    ready(t, True)
    cache = folder(t, "cache")
    before = {name: os.path.getsize(os.path.join(cache, name)) for name in os.listdir(cache) if name.endswith(".compiled")}
    lost = min((n for n in before if before[n] > 1 << 20), key=before.get)
    os.unlink(os.path.join(cache, lost))
    result = wasm(t, "javascript", "-e", "console.log(1)", timeout=120)
    t.equal((result.code, result.out), (0, "1\n"), f"{result}")
    t.ok(any("compiled for this machine first" in note for note in result.json["notes"]), "said", result.json["notes"])
    t.ok(os.path.exists(os.path.join(cache, lost)), "and kept")
    t.equal(wasm(t, "javascript", "-e", "0").json["notes"], [], "once")


suite.main()
