#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The WASI of a zygote, attacked call by call: modules written as text, run where only Python runs otherwise."""
import collections
import os
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import wasmtest
from aisbxtest import Suite
from box import patience
from wasmtest import NOENT, assemble

suite = Suite("the zygote's own WASI", needs_attack=False, both_users=False)

# As the interface has them: i is a word of 32 bits, I one of 64.
CALLS = {
    "args_get": "ii", "args_sizes_get": "ii", "environ_get": "ii", "environ_sizes_get": "ii",
    "clock_res_get": "ii", "clock_time_get": "iIi", "random_get": "ii", "sched_yield": "", "poll_oneoff": "iiii",
    "fd_advise": "iIIi", "fd_allocate": "iII", "fd_close": "i", "fd_datasync": "i", "fd_fdstat_get": "ii",
    "fd_fdstat_set_flags": "ii", "fd_filestat_get": "ii", "fd_filestat_set_size": "iI", "fd_filestat_set_times": "iIIi",
    "fd_pread": "iiiIi", "fd_prestat_dir_name": "iii", "fd_prestat_get": "ii", "fd_pwrite": "iiiIi", "fd_read": "iiii",
    "fd_readdir": "iiiIi", "fd_renumber": "ii", "fd_seek": "iIii", "fd_sync": "i", "fd_tell": "ii", "fd_write": "iiii",
    "path_create_directory": "iii", "path_filestat_get": "iiiii", "path_filestat_set_times": "iiiiIIi", "path_link": "iiiiiii",
    "path_open": "iiiiiIIii", "path_readlink": "iiiiii", "path_remove_directory": "iii", "path_rename": "iiiiii",
    "path_symlink": "iiiii", "path_unlink_file": "iii", "sock_accept": "iii", "sock_recv": "iiiiii", "sock_send": "iiiii",
    "sock_shutdown": "ii", "proc_raise": "i",
}
BADF, EXIST, FAULT, INVAL, ISDIR, LOOP, NAMETOOLONG, NOTDIR, NOTSOCK, NOTSUP, NOTCAPABLE = 8, 20, 21, 28, 31, 32, 37, 54, 57, 58, 76
EXITED, TRAPPED, OUT_OF_FUEL, OUT_OF_TIME = range(4)

PAGE = 65536
END = 2 * PAGE
# Where the answers go, one word each; and three words for reading what the run is told.
ANSWERS, BOOT = 120000, 119000
HUGE = 2**32 - 1
READ, WRITE = 1 << 1, 1 << 6

Outcome = collections.namedtuple("Outcome", "answers dumps outcome status signal fuel err")


def line(name, words):
    constants = " ".join(f"({'i64' if kind == 'I' else 'i32'}.const {word})" for kind, word in zip(CALLS[name], words, strict=True))
    return f"(call ${name} {constants})"


def write(at, length, fd=1):
    return (f"(i32.store (i32.const {BOOT}) (i32.const {at})) (i32.store (i32.const {BOOT + 4}) (i32.const {length})) "
            f"(drop (call $fd_write (i32.const {fd}) (i32.const {BOOT}) (i32.const 1) (i32.const {BOOT + 8})))")


def guest(calls, data=(), dumps=(), before="", out=1):
    """A module that hears of its run, makes the calls, writes their answers and then what lies at DUMPS."""
    lines = ["(module"]
    for name, kinds in CALLS.items():
        parameters = " ".join("i64" if kind == "I" else "i32" for kind in kinds)
        lines.append(f'(import "wasi_snapshot_preview1" "{name}" (func ${name} (param {parameters}) (result i32)))')
    lines.append('(import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32))) (memory (export "memory") 2)')
    for offset, content in data:
        lines.append(f'(data (i32.const {offset}) "{"".join(f"{chr(92)}{byte:02x}" for byte in content)}")')
    lines.append('(func $deep (call $deep) (call $deep)) (func (export "_start") (local $i i32)')
    lines.append(f"(i32.store (i32.const {BOOT}) (i32.const {BOOT + 16})) (i32.store (i32.const {BOOT + 4}) (i32.const 64))")
    lines.append(f"(loop $l (drop {line('fd_read', (0, BOOT, 1, BOOT + 8))}) (br_if $l (i32.load (i32.const {BOOT + 8}))))")
    lines.append(before)
    lines += [f"(i32.store (i32.const {ANSWERS + 4 * i}) {line(name, words)})" for i, (name, *words) in enumerate(calls)]
    lines.append(write(ANSWERS, 4 * len(calls), out))
    lines += [write(at, length, out) for at, length in dumps]
    lines.append("))")
    return "\n".join(lines)


def run(t, text, workspace=None, fuel=10**9, mem=1 << 26, time=60000, count=0, sizes=(), stdin=b""):
    why = wasmtest.install(t.caller, languages=False)
    if why:
        t.skip(why)
    content = assemble(text)
    if content is None:
        t.skip("wat2wasm is not installed (wabt)")
    module = t.caller.put_at(os.path.join(t.caller.home, "raw.wasm"), content)
    engine = os.path.join(t.caller.env["XDG_DATA_HOME"], "aisbx/wasm/engine/libwasmtime.so")
    runner = os.path.join(os.path.dirname(t.caller.program), "aisbx-wasm")
    words = [os.environ["RAW_GUEST"], runner, engine, module, workspace or t.caller.workspace, *map(str, (fuel, mem, time))]
    done = subprocess.run(words, env=t.caller.env, input=stdin, capture_output=True, timeout=patience(120), check=False, **t.caller.identity())
    t.equal(done.returncode, 0, f"{done.stderr.decode(errors='replace')}")
    body, _, last = done.stdout[:-1].rpartition(b"\n")
    answers = list(struct.unpack(f"<{count}I", body[:4 * count])) if len(body) >= 4 * count else None
    at, dumps = 4 * count, []
    for size in sizes:
        dumps.append(body[at:at + size])
        at += size
    return Outcome(answers, dumps, *map(int, last.split()), done.stderr.decode(errors="replace"))


def calls(t, *rows, data=(), dumps=(), **kw):
    """The answers of the calls, of a guest that has come to its end."""
    done = run(t, guest(rows, data, dumps, before=kw.pop("before", ""), out=kw.pop("out", 1)), count=len(rows),
               sizes=[length for _, length in dumps], **kw)
    t.equal((done.outcome, done.status, done.signal), (EXITED, 0, 0), f"it comes to its end: {done}")
    return done


def ranges(*rows):
    return b"".join(struct.pack("<II", at, length) for at, length in rows)


# At 100 a range of ten bytes at 200; at 300 "file", at 400 "link".
WORDS = ((100, ranges((200, 10))), (300, b"file"), (400, b"link"), (500, b"dir"))
OPEN = ("path_open", 3, 1, 300, 4, 0, READ | WRITE, 0, 0, 600)


def prepare(t):
    """The workspace as every case begins with it: guests work in it as it is."""
    for entry in os.scandir(t.caller.workspace):
        shutil.rmtree(entry.path) if entry.is_dir(follow_symlinks=False) else os.unlink(entry.path)
    t.caller.put("file", "0123456789")
    t.caller.put("dir/inner", "inner")


@suite.case("R01", "pointers at the end of memory, and behind it")
def pointers(t):
    prepare(t)
    last = lambda size: END - size
    fits = [("fd_fdstat_get", 6, last(24)), ("fd_filestat_get", 6, last(64)), ("fd_tell", 6, last(8)), ("fd_seek", 6, 0, 1, last(8)),
            ("fd_prestat_get", 3, last(8)), ("fd_prestat_dir_name", 3, last(1), 1), ("clock_res_get", 0, last(8)),
            ("clock_time_get", 0, 0, last(8)), ("random_get", last(5), 5), ("random_get", END, 0), ("fd_pread", 6, 100, 1, 0, last(4)),
            ("fd_pwrite", 6, 100, 1, 0, last(4)), ("fd_readdir", 3, last(100), 100, 0, 600), ("fd_readdir", 3, 700, 100, 0, last(4)),
            ("path_filestat_get", 3, 1, 300, 4, last(64)), ("args_sizes_get", last(4), last(8)), ("environ_sizes_get", last(8), last(4))]
    done = calls(t, OPEN, *fits, data=WORDS)
    t.equal(done.answers, [0] * (1 + len(fits)), "what fits to the byte")
    for by in (1, 5000):
        beyond = [("fd_fdstat_get", 6, last(24 - by)), ("fd_filestat_get", 6, last(64 - by)), ("fd_tell", 6, last(8 - by)),
                  ("fd_seek", 6, 0, 1, last(8 - by)), ("fd_prestat_get", 3, last(8 - by)), ("fd_prestat_dir_name", 3, last(0), by),
                  ("clock_res_get", 0, last(8 - by)), ("clock_time_get", 0, 0, last(8 - by)), ("random_get", last(5), 5 + by),
                  ("fd_read", 6, last(7), by, 600), ("fd_write", 6, last(7), by, 600), ("fd_pread", 6, 100, 1, 0, last(4 - by)),
                  ("fd_pwrite", 6, last(7), by, 0, 600), ("fd_readdir", 3, last(99), 99 + by, 0, 600), ("fd_readdir", 3, 700, 100, 0, last(4 - by)),
                  ("path_filestat_get", 3, 1, 300, 4, last(64 - by)), ("path_filestat_get", 3, 1, last(3), 3 + by, 700),
                  ("path_open", 3, 1, last(3), 3 + by, 0, READ, 0, 0, 600), ("path_open", 3, 1, 300, 4, 0, READ, 0, 0, last(4 - by)),
                  ("path_readlink", 3, 300, 4, last(9), 9 + by, 600), ("path_symlink", last(3), 3 + by, 3, 400, 4),
                  ("path_symlink", 300, 4, 3, last(3), 3 + by), ("path_rename", 3, last(3), 3 + by, 3, 400, 4),
                  ("path_rename", 3, 300, 4, 3, last(3), 3 + by), ("path_link", 3, 0, last(3), 3 + by, 3, 400, 4),
                  ("path_unlink_file", 3, last(3), 3 + by), ("path_remove_directory", 3, last(3), 3 + by),
                  ("path_create_directory", 3, last(3), 3 + by), ("poll_oneoff", last(47), 700, 1, 600), ("poll_oneoff", 700, last(31), 1, 600),
                  ("args_get", last(4 - by), 700), ("args_get", 700, last(4)), ("environ_get", 700, last(3)), ("args_sizes_get", last(4 - by), 600)]
        done = calls(t, OPEN, *beyond, ("fd_tell", 6, 600), data=WORDS)
        t.equal(done.answers, [0] + [FAULT] * len(beyond) + [0], f"{by} beyond")
    wild = [("fd_read", 6, HUGE, 1, 600), ("fd_read", 6, HUGE - 7, 1, 600), ("random_get", HUGE, HUGE), ("random_get", 1, HUGE),
            ("fd_prestat_dir_name", 3, HUGE, HUGE), ("fd_readdir", 3, 1, HUGE, 0, 600), ("path_open", 3, 1, HUGE, HUGE, 0, READ, 0, 0, 600),
            ("path_readlink", 3, 300, 4, 16, HUGE, 600), ("args_get", HUGE, HUGE), ("environ_get", HUGE - 3, HUGE - 3)]
    done = calls(t, OPEN, *wild, ("fd_tell", 6, 600), data=WORDS)
    t.equal(done.answers, [0] + [FAULT] * len(wild) + [0], "all over the place")
    # A descriptor that nobody was told of would stay open.
    done = calls(t, *[("path_open", 3, 1, 300, 4, 0, READ, 0, 0, END)] * 50, OPEN, data=WORDS, dumps=((600, 4),))
    t.equal((done.answers, done.dumps), ([FAULT] * 50 + [0], [struct.pack("<I", 6)]), "and nothing is left open")


@suite.case("R02", "lists of ranges: absurd counts, ranges behind the memory, many that are empty")
def lists(t):
    prepare(t)
    rows = [(name, 6, 100, count, *([0] if name[3] == "p" else []), 600) for name in ("fd_read", "fd_write", "fd_pread", "fd_pwrite")
            for count in (HUGE, 2**31, 2**29, 2**29 + 1, END // 8, END)]
    done = calls(t, OPEN, *rows, ("fd_filestat_get", 6, 700), data=WORDS, dumps=((700, 64),))
    t.equal(done.answers, [0] + [FAULT] * len(rows) + [0], "counts")
    t.equal(struct.unpack("<8Q", done.dumps[0])[4], 10, "the file is as it was")
    for bad in ((END, 1), (END - 9, 10), (0, HUGE), (HUGE, HUGE), (200, END)):
        done = calls(t, OPEN, ("fd_read", 6, 1000, 2, 600), ("fd_pwrite", 6, 1000, 2, 0, 600), ("fd_tell", 6, 600),
                     data=(*WORDS, (1000, ranges((200, 1), bad))), dumps=((600, 8),))
        t.equal((done.answers, done.dumps), ([0, FAULT, FAULT, 0], [bytes(8)]), f"a range {bad}: nothing is moved")
    many = ranges(*[(0, 0)] * 500, (200, 4), *[(END, 0)] * 500, (204, 6))
    done = calls(t, OPEN, ("fd_read", 6, 1000, 1002, 600), ("fd_read", 6, 100, 0, 604), data=((1000, many), *WORDS), dumps=((600, 8), (200, 10)))
    t.equal((done.answers, done.dumps), ([0, 0, 0], [struct.pack("<II", 10, 0), b"0123456789"]), "empty ones are no end of the file")
    full = ranges(*[(2000 + i, 1) for i in range(100)])
    t.caller.put("file", "x" * 100)
    done = calls(t, OPEN, ("fd_read", 6, 1000, 100, 600), data=((1000, full), *WORDS), dumps=((600, 4),))
    t.ok(0 < struct.unpack("<I", done.dumps[0])[0] <= 100, "more than we take at once are left for later", done)


@suite.case("R03", "buffers that overlap each other, their list and their count")
def overlaps(t):
    prepare(t)
    done = calls(t, OPEN, ("fd_read", 6, 100, 1, 104), data=((100, ranges((100, 10))), *WORDS[1:]), dumps=((100, 10),))
    t.equal((done.answers, done.dumps), ([0, 0], [b"0123" + struct.pack("<I", 10) + b"89"]), "a list that is read over; its count in the bytes")
    done = calls(t, OPEN, ("fd_pread", 6, 100, 2, 0, 600), ("fd_pwrite", 6, 100, 2, 0, 604),
                 data=((100, ranges((1000, 6), (1003, 4))), *WORDS[1:]), dumps=((1000, 7),))
    t.equal((done.answers, done.dumps), ([0, 0, 0], [b"0126789"]), "two ranges over each other")
    t.equal(open(os.path.join(t.caller.workspace, "file")).read(), "0126786789", "written as they lie")
    done = calls(t, ("fd_readdir", 3, 1000, 200, 0, 1010), ("path_open", 3, 1, 300, 4, 0, READ, 0, 0, 302), ("fd_close", 6),
                 ("random_get", 0, 100000), ("clock_time_get", 0, 0, 4), data=WORDS)
    t.equal(done.answers, [0] * 5, "a count in what was listed, a number in its own name")
    clock = struct.pack("<QB7xIxxxxQQH6x", 7, 0, 1, 0, 0, 0)
    done = calls(t, ("poll_oneoff", 1000, 1000, 3, 1000), data=((1000, clock * 3),), dumps=((1000, 4),))
    t.equal((done.answers, done.dumps), ([0], [struct.pack("<I", 3)]), "events over their subscriptions")


OUTWARDS = ("..", "../outside/key", "dir/../../outside/key", "./../outside/key", "dir/./../../outside/key", "up/outside/key",
            "up", "chain", "abs", "root/etc/passwd", "/etc/passwd", "/", "//", "/proc/self/environ", "fd", "chain/..", "up/project/file")


def plant(t):
    """Links that lie in the workspace, each leading out."""
    prepare(t)
    t.caller.put_at(os.path.join(t.caller.home, "outside/key"), "secret")
    for name, target in (("up", ".."), ("chain", "up/outside/key"), ("abs", os.path.join(t.caller.home, "outside/key")), ("root", "/"),
                         ("fd", "/proc/self/fd/0"), ("loop", "loop")):
        os.symlink(target, os.path.join(t.caller.workspace, name))


def outward_calls(path, fd=3):
    """Every call that takes a path, on PATH at 2000; and whether a plain name of the last part would make it harmless."""
    size = len(path.encode())
    return [("path_open", fd, 1, 2000, size, 0, READ, 0, 0, 600), ("path_open", fd, 1, 2000, size, 1, READ | WRITE, 0, 0, 600),
            ("path_open", fd, 1, 2000, size, 9, WRITE, 0, 0, 600), ("path_open", fd, 1, 2000, size, 2, READ, HUGE, 0, 600),
            ("path_filestat_get", fd, 1, 2000, size, 700), ("path_filestat_set_times", fd, 1, 2000, size, 1, 1, 5)]


def outward_control(t):
    """With the directory above it opened, the same names reach."""
    plant(t)
    rows = outward_calls("outside/key")
    done = calls(t, *rows[:1], rows[4], data=((2000, b"outside/key"),), workspace=t.caller.home)
    t.equal(done.answers, [0, 0], "the file is reached")


@suite.case("R04", "no path leads out: dots, absolute ones, links that lie there, whatever is asked for (A171)", outward_control)
def outwards(t):
    plant(t)
    secret = os.path.join(t.caller.home, "outside/key")
    before = os.stat(secret)
    for path in OUTWARDS:
        for fd in (3, 4, 5):
            rows = outward_calls(path, fd)
            done = calls(t, *rows, data=((2000, path.encode()),))
            t.equal(done.answers, [NOTCAPABLE] * len(rows), f"{path} below {fd}")
    after = os.stat(secret)
    t.equal((after.st_mtime_ns, after.st_size, open(secret).read()), (before.st_mtime_ns, before.st_size, "secret"), "it is as it was")
    rows = [("path_create_directory", 3, 2000, 7), ("path_remove_directory", 3, 2000, 7), ("path_unlink_file", 3, 2000, 7),
            ("path_symlink", 300, 4, 3, 2000, 7), ("path_rename", 3, 300, 4, 3, 2000, 7), ("path_rename", 3, 2000, 7, 3, 400, 4),
            ("path_link", 3, 0, 300, 4, 3, 2000, 7), ("path_link", 3, 0, 2000, 7, 3, 400, 4), ("path_readlink", 3, 2000, 7, 700, 100, 600)]
    for path in (b"../made", b"up/made", b"/tmp/md", b"dir/../", b"..//../", b"up/../x", b"root/md"):
        want = INVAL if path == b"dir/../" else NOTCAPABLE
        done = calls(t, *rows, data=(*WORDS, (2000, path)))
        t.ok(set(done.answers) <= {NOTCAPABLE, want}, f"{path}", done.answers)
    t.equal(sorted(os.listdir(t.caller.home + "/outside")), ["key"], "nothing was made")
    t.ok(not os.path.lexists(t.caller.home + "/made"), "nothing was made above")
    done = calls(t, ("path_open", 3, 1, 2000, 4, 0, READ, 0, 0, 600), ("path_open", 3, 0, 2000, 4, 0, READ, 0, 0, 600),
                 ("path_filestat_get", 3, 0, 2000, 4, 700), data=((2000, b"loop"),))
    t.equal(done.answers, [LOOP, LOOP, 0], "a link to itself")
    done = calls(t, ("path_open", 3, 1, 2000, 0, 0, READ, 0, 0, 600), ("path_open", 3, 1, 2000, 5000, 0, READ, 0, 0, 600),
                 ("path_open", 3, 1, 10000, 9, 0, READ, 0, 0, 600), ("path_unlink_file", 3, 2000, 0), ("path_unlink_file", 3, 2000, 4096),
                 data=((2000, b"x" * 5000), (10000, b"file\0/etc")))
    t.equal(done.answers, [NOENT, NAMETOOLONG, INVAL, NOENT, NAMETOOLONG], "no name, too long a one, one with a NUL")


@suite.case("R05", "links made inside lead nowhere else, nor do names that were moved (A171)")
def made_inside(t):
    plant(t)
    data = ((2000, b"/etc"), (2100, b"../outside"), (2200, b"new/key"), (2300, b"new"), (2400, b"dir/new"), (2500, b"../../outside"),
            (2600, b"dir/new/key"), (2700, b"high"), (2800, b"high/key"), *WORDS)
    done = calls(t, ("path_symlink", 2000, 4, 3, 2300, 3), ("path_symlink", 2100, 10, 3, 2300, 3),
                 ("path_open", 3, 1, 2200, 7, 1, READ | WRITE, 0, 0, 600), ("path_open", 3, 1, 2300, 3, 2, READ, 0, 0, 600),
                 ("path_symlink", 2500, 13, 3, 2400, 7), ("path_open", 3, 1, 2600, 11, 0, READ, 0, 0, 600),
                 # One that led in, moved up so that it leads out.
                 ("path_rename", 3, 2400, 7, 3, 2700, 4), ("path_open", 3, 1, 2800, 8, 0, READ, 0, 0, 600),
                 # A link to what is outside made by its own name: the link, not what it leads to.
                 ("path_link", 3, 0, 2300, 3, 3, 400, 4), ("path_open", 3, 1, 400, 4, 0, READ, 0, 0, 600),
                 ("path_link", 3, 1, 2300, 3, 3, 500, 3), data=data)
    t.equal(done.answers, [NOTCAPABLE, 0, NOTCAPABLE, NOTCAPABLE, 0, NOTCAPABLE, 0, NOTCAPABLE, 0, NOTCAPABLE, INVAL], "each")
    # A directory that was open stays a directory to start at, also where it has been moved.
    data = ((2000, b"dir"), (2100, b"a"), (2200, b"a/b"), (2300, b"dir/moved"), (2400, b"../file"), (2500, b"../../../outside/key"), *WORDS)
    done = calls(t, ("path_create_directory", 3, 2100, 1), ("path_create_directory", 3, 2200, 3), ("path_open", 3, 0, 2200, 3, 2, READ, 0, 0, 600),
                 ("path_rename", 3, 2200, 3, 3, 2300, 9), ("path_open", 6, 1, 2400, 7, 0, READ, 0, 0, 600),
                 ("path_open", 6, 1, 2500, 20, 0, READ, 0, 0, 600), data=data)
    t.equal(done.answers, [0, 0, 0, 0, NOTCAPABLE, NOTCAPABLE], "below a directory that was moved")


@suite.case("R06", "renames and hard links between the directories that were opened")
def across(t):
    prepare(t)
    data = ((2000, b"dir/moved"), (2100, b"dir/inner"), (2200, b"../file"), *WORDS)
    done = calls(t, ("path_rename", 3, 300, 4, 4, 2000, 9), ("path_link", 5, 0, 2000, 9, 3, 400, 4), ("path_rename", 4, 400, 4, 5, 300, 4),
                 ("path_rename", 3, 300, 4, 4, 2200, 7), ("path_link", 3, 0, 300, 4, 4, 2200, 7), ("path_rename", 3, 300, 4, 0, 400, 4),
                 ("path_rename", 3, 300, 4, 1, 400, 4), ("path_link", 0, 0, 300, 4, 3, 400, 4), ("path_rename", 3, 300, 4, HUGE, 400, 4),
                 ("path_rename", 3, 500, 3, 3, 2000, 9), data=data)
    t.equal(done.answers[:5], [0, 0, 0, NOTCAPABLE, NOTCAPABLE], "from one to the other")
    t.equal(done.answers[5:9], [NOTDIR, NOTDIR, NOTDIR, BADF], "to what is no directory")
    t.ok(done.answers[9] in (INVAL, NOTDIR), "a directory into itself", done.answers)
    t.equal(sorted(os.listdir(t.caller.workspace + "/dir")), ["inner", "moved"], "what came of it")


@suite.case("R07", "numbers that are closed, were never given, or are none")
def numbers(t):
    prepare(t)
    with_fd = [name for name in CALLS if name.startswith(("fd_", "sock_"))]
    below = [name for name in CALLS if name.startswith("path_") and name != "path_symlink"]
    for fd in (6, 1023, 1024, 1025, 2**31 - 1, 2**31, HUGE):
        rows = []
        for name in with_fd:
            words = [fd] + [0] * (len(CALLS[name]) - 1)
            if name in ("fd_readdir", "fd_read", "fd_write", "fd_pread", "fd_pwrite"):
                words[1:3] = [100, 1]
            rows.append((name, *words))
        for name in below:
            at = 1 + (name not in ("path_create_directory", "path_remove_directory", "path_unlink_file", "path_rename", "path_readlink"))
            words = [fd] + [0] * (len(CALLS[name]) - 1)
            words[at:at + 2] = [300, 4]
            if name in ("path_rename", "path_link"):
                words[at + 2:at + 5] = [3, 400, 4]
            if name == "path_readlink":
                words[3:5] = [700, 50]
            rows.append((name, *words))
        rows.append(("path_symlink", 300, 4, fd, 400, 4))
        # Once closed; the second time there is nothing.
        first = [OPEN, ("fd_close", 6)] if fd == 6 else []
        done = calls(t, *first, *rows, data=WORDS)
        wrong = {row[0]: answer for row, answer in zip(rows, done.answers[len(first):]) if answer != BADF and row[0] != "fd_fdstat_set_rights"}
        t.equal(wrong, {}, f"{fd}: no such descriptor")
    done = calls(t, OPEN, *[OPEN] * 1030, data=WORDS, dumps=((600, 4),))
    opened = done.answers.count(0)
    t.ok(100 < opened <= 1018 and set(done.answers) == {0, 33}, "as many as there are numbers, and no more", (opened, set(done.answers)))
    done = calls(t, *[row for _ in range(400) for row in (OPEN, ("fd_close", 6))], data=WORDS)
    t.equal(set(done.answers), {0}, "given again and again")


@suite.case("R08", "fd_renumber onto directories, streams and itself")
def renumber(t):
    prepare(t)
    done = calls(t, OPEN, ("fd_renumber", 6, 6), ("fd_renumber", 6, 3), ("fd_prestat_get", 3, 700), ("path_open", 3, 1, 300, 4, 0, READ, 0, 0, 600),
                 ("fd_read", 3, 100, 1, 600), ("fd_read", 6, 100, 1, 600), ("fd_renumber", 4, 7), ("fd_renumber", 9, 4), ("fd_renumber", HUGE, 4),
                 ("fd_renumber", 4, HUGE), ("fd_renumber", 4, 3), ("fd_prestat_get", 3, 700), ("path_open", 3, 1, 300, 4, 0, READ, 0, 0, 600),
                 ("path_open", 4, 1, 300, 4, 0, READ, 0, 0, 600), data=WORDS, dumps=((200, 10), (600, 4)))
    t.equal(done.answers, [0, 0, 0, BADF, NOTDIR, 0, BADF, BADF, BADF, BADF, BADF, 0, 0, 0, NOTDIR], "a file in a directory's place, and back")
    t.equal(done.dumps, [b"0123456789", struct.pack("<I", 4)], "what it was")
    t.equal(calls(t, OPEN, ("fd_renumber", 6, 0), ("fd_read", 0, 100, 1, 600), data=WORDS, dumps=((200, 10),), stdin=b"of the stream").dumps,
            [b"0123456789"], "a file as standard input")
    done = calls(t, ("fd_fdstat_set_flags", 1, 4), ("fd_renumber", 1, 4), ("fd_fdstat_set_flags", 4, 4), ("fd_write", 1, 100, 1, 600),
                 ("fd_close", 0), ("fd_close", 0), OPEN, ("fd_read", 0, 100, 1, 600), data=WORDS, dumps=((600, 4),), out=4)
    t.equal(done.answers, [NOTSUP, 0, NOTSUP, BADF, 0, BADF, 0, 0], "streams are shared with others: their flags stay, whatever their number")
    done = calls(t, ("fd_close", 3), ("fd_close", 4), ("fd_close", 5), ("path_open", 3, 1, 300, 4, 0, READ, 0, 0, 600), ("fd_prestat_get", 3, 700), data=WORDS)
    t.equal(done.answers, [0, 0, 0, BADF, BADF], "without directories there are no files")


LATE = {
    "closed and opened anew": [("fd_close", 2), OPEN],
    "a file in its place": [OPEN, ("fd_renumber", 6, 2), OPEN],
    "moved, closed, opened": [("fd_renumber", 2, 1), ("fd_close", 1), OPEN, OPEN],
    "every number closed": [*[("fd_close", fd) for fd in (0, 1, 2, 4, 5)], *[OPEN] * 8],
}


@suite.case("R16", "what the runner says at the end reaches standard error, whatever became of its number")
def late_words(t):
    for name, rows in LATE.items():
        prepare(t)
        file = os.path.join(t.caller.workspace, "file")
        before = "".join(f"(drop {line(call, words)})" for call, *words in rows) + "(unreachable)"
        done = run(t, guest([], WORDS, before=before))
        with open(file, "rb") as content:
            kept = content.read()
        t.equal((done.outcome, kept), (TRAPPED, b"0123456789"), f"{name}: nothing is written to the guest's files")
        t.ok("unreachable code" in done.err, f"{name}: it is told", done.err)


def entries(content):
    found, at = [], 0
    while at + 24 <= len(content):
        following, _, length, kind = struct.unpack_from("<QQIB", content, at)
        if length == 0 or at + 24 + length > len(content):
            break
        found.append((content[at + 24:at + 24 + length].decode(), kind, following))
        at += 24 + length
    return found


@suite.case("R09", "reading directories: cookies that nobody gave out, buffers too small, no directory")
def directories(t):
    prepare(t)
    names = [f"entry-{i:03}" for i in range(100)]
    for name in names:
        t.caller.put("many/" + name)
    data = (*WORDS, (2000, b"many"))
    many = ("path_open", 3, 1, 2000, 4, 2, READ, 0, 0, 604)
    done = calls(t, many, ("fd_readdir", 6, 10000, 8000, 0, 600), data=data, dumps=((10000, 8000),))
    found = entries(done.dumps[0])
    t.equal(sorted(name for name, _, _ in found), sorted([".", "..", *names]), "all of them")
    rows = [("fd_readdir", 6, 10000 + 100 * i, 90, cookie, 600) for i, (_, _, cookie) in enumerate(found[:50])]
    done = calls(t, many, *rows, data=data, dumps=[(10000 + 100 * i, 90) for i in range(50)])
    t.equal([entries(part)[0][0] for part in done.dumps], [name for name, _, _ in found[1:51]], "each cookie leads to the next")
    odd = [("fd_readdir", 6, 10000, 4000, cookie, 600) for cookie in (1, 2**31, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 12345678901234)]
    odd += [("fd_readdir", 6, 10000, size, 0, 600) for size in (0, 1, 23, 24, 25)]
    done = calls(t, many, *odd, ("fd_readdir", 6, 20000, 8000, 0, 600), data=data, dumps=((20000, 8000),))
    t.ok(set(done.answers) <= {0, INVAL}, "cookies of nobody's", done.answers)
    t.equal(len(entries(done.dumps[0])), 102, "and all of them again")
    done = calls(t, OPEN, ("fd_read", 6, 108, 1, 600), ("fd_readdir", 6, 10000, 4000, 0, 600), ("fd_readdir", 0, 10000, 4000, 0, 600), ("fd_tell", 6, 700),
                 data=(*WORDS, (108, ranges((200, 4)))), dumps=((700, 8),))
    t.equal((done.answers, done.dumps), ([0, 0, NOTDIR, NOTDIR, 0], [struct.pack("<Q", 4)]), "a file is no directory, and stays where it is")


def subscription(tag, what, timeout=0, flags=0):
    return struct.pack("<QB7xIxxxxQQH6x", 7, tag, what, timeout, 0, flags)


@suite.case("R10", "waiting: absurd counts, clocks and descriptors that are none, for ever")
def waiting(t):
    rows = [("poll_oneoff", 1000, 3000, count, 600) for count in (0, 65, 1000, 2**32 // 48 + 1, 2**31, HUGE)]
    done = calls(t, *rows, data=((1000, subscription(0, 1)),))
    t.equal(done.answers, [INVAL] * len(rows), "counts")
    wrong = [subscription(0, 9), subscription(1, 77), subscription(2, HUGE), subscription(0, HUGE, 2**64 - 1, 1), subscription(0, 1, 0)]
    done = calls(t, ("poll_oneoff", 1000, 3000, 5, 600), data=((1000, b"".join(wrong)),), dumps=((600, 4), (3000, 160)))
    told = [struct.unpack_from("<QHB", done.dumps[1], 32 * i) for i in range(5)]
    t.equal((done.answers, done.dumps[0], told), ([0], struct.pack("<I", 5), [(7, INVAL, 0), (7, BADF, 1), (7, BADF, 2), (7, INVAL, 0), (7, 0, 0)]),
            "what is wrong is told, each for itself")
    t.equal(calls(t, ("poll_oneoff", 1000, 3000, 1, 600), data=((1000, subscription(3, 1)),)).answers, [INVAL], "a kind that is none")
    done = calls(t, ("poll_oneoff", 1000, 3000, 64, 600), data=((1000, subscription(0, 1, 1) * 64),), dumps=((600, 4),))
    t.equal((done.answers, done.dumps), ([0], [struct.pack("<I", 64)]), "as many as may be")
    for timeout, flags in ((2**64 - 1, 0), (2**64 - 1, 1), (2**63, 0), (10**18, 0)):
        # Interrupted, it would go on until it is looked at again.
        wait = f"(loop $w (drop {line('poll_oneoff', (1000, 3000, 1, 600))}) (br $w))"
        done = run(t, guest([], ((1000, subscription(0, 1, timeout, flags)),), before=wait), time=300)
        t.equal((done.outcome, done.status), (OUT_OF_TIME, 124), f"for ever, {timeout}: {done}")


@suite.case("R11", "clocks and randomness: those there are, and sizes of any kind")
def clocks(t):
    rows = [(name, clock, *([0] if name == "clock_time_get" else []), 700) for name in ("clock_res_get", "clock_time_get")
            for clock in (0, 1, 2, 3, 4, 7, 11, 2**31 - 1, 2**31, HUGE, HUGE - 1, HUGE - 7)]
    t.equal(calls(t, *rows).answers, ([0] * 4 + [INVAL] * 8) * 2, "clocks")
    done = calls(t, ("random_get", 0, ANSWERS - 2000), ("random_get", END, 0), ("random_get", END, 1), ("random_get", 0, HUGE), ("random_get", 0, END + 1),
                 dumps=((0, 64), (ANSWERS - 3000, 64)))
    t.equal(done.answers, [0, 0, FAULT, FAULT, FAULT], "sizes")
    t.ok(all(any(part) for part in done.dumps) and done.dumps[0] != done.dumps[1], "random from beginning to end", done.dumps)


@suite.case("R12", "how a guest ends: exit codes, traps, recursion without end, for each fork")
def ends(t):
    for code, want in ((0, 0), (1, 1), (125, 125), (126, 126), (137, 137), (255, 255), (256, 0), (300, 44), (HUGE, 255), (2**31, 0)):
        done = run(t, guest([], before=f"(call $proc_exit (i32.const {code}))"))
        t.equal((done.outcome, done.status, done.signal), (EXITED, want, 0), f"proc_exit({code}): {done}")
    for what, body, words in (("recursion", "(call $deep)", "stack is exhausted"), ("a trap", "unreachable", "unreachable"),
                              ("a store", f"(i32.store (i32.const {END}) (i32.const 1))", "out of bounds"),
                              ("a load far out", "(drop (i32.load offset=4294967295 (i32.const -1)))", "out of bounds")):
        done = run(t, guest([], before=body))
        t.equal((done.outcome, done.status, done.signal), (TRAPPED, 134, 0), f"{what}: {done}")
        t.ok(words in done.err, f"{what}: in words", done.err)


@suite.case("R13", "memory that grows in a started guest: to its limit, with its new end")
def growth(t):
    prepare(t)
    done = calls(t, ("random_get", END, 10), ("random_get", END + PAGE - 10, 10), ("random_get", END + PAGE - 9, 10), ("fd_filestat_get", 3, END + PAGE - 64),
                 ("fd_filestat_get", 3, END + PAGE - 63), before="(drop (memory.grow (i32.const 1)))")
    t.equal(done.answers, [0, 0, FAULT, 0, FAULT], "its end is the new one")
    for before in ("(drop (memory.grow (i32.const 65000)))", "(loop $g (br_if $g (i32.ne (memory.grow (i32.const 64)) (i32.const -1))))"):
        done = calls(t, ("sched_yield",), before=before + "(i32.store (i32.const 3000) (memory.size))", dumps=((3000, 4),), mem=1 << 24)
        pages, = struct.unpack("<I", done.dumps[0])
        t.ok(2 <= pages <= 256, "as much as is permitted", pages)


@suite.case("R14", "fuel ends at exactly its limit, every time, the start included")
def fuel(t):
    prepare(t)
    loop = guest([OPEN], WORDS, before="(local.set $i (i32.const 5000)) (loop $n (br_if $n (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))")
    whole = {run(t, loop).fuel for _ in range(3)}
    t.equal(len(whole), 1, f"the same every time: {whole}")
    # The engine looks at what is left where code begins and where it repeats: the last look is the one that decides.
    enough, short = whole.pop(), 0
    while enough - short > 1:
        between = (enough + short) // 2
        if run(t, loop, fuel=between).outcome == EXITED:
            enough = between
        else:
            short = between
    for _ in range(3):
        done = run(t, loop, fuel=enough)
        t.equal((done.outcome, done.status, done.fuel), (EXITED, 0, enough), f"just enough {done}")
        done = run(t, loop, fuel=short)
        t.equal((done.outcome, done.status, done.fuel), (OUT_OF_FUEL, 137, short), f"one too few {done}")
        done = run(t, guest([], before="(loop $e (br $e))"), fuel=1000003)
        t.equal((done.outcome, done.fuel), (OUT_OF_FUEL, 1000003), f"without end {done}")
    done = run(t, loop, fuel=1)
    t.equal((done.outcome, done.fuel), (OUT_OF_FUEL, 1), f"less than its start took {done}")


@suite.case("R15", "sizes and times that no file can have")
def sizes(t):
    prepare(t)
    rows = [("fd_filestat_set_size", 6, 2**64 - 1), ("fd_filestat_set_size", 6, 2**63), ("fd_allocate", 6, 0, 2**64 - 1), ("fd_allocate", 6, 2**63 - 1, 2**63 - 1),
            ("fd_allocate", 6, 0, 0), ("fd_seek", 6, 2**63, 0, 600), ("fd_seek", 6, -1, 0, 600), ("fd_seek", 6, 0, 3, 600), ("fd_seek", 6, 0, HUGE, 600),
            ("fd_pread", 6, 100, 1, 2**63, 600), ("fd_pwrite", 6, 100, 1, 2**64 - 1, 600), ("fd_filestat_set_times", 6, 0, 0, 3),
            ("fd_filestat_set_times", 6, 0, 0, 12), ("path_filestat_set_times", 3, 0, 300, 4, 0, 0, 15)]
    done = calls(t, OPEN, *rows, ("fd_filestat_get", 6, 700), data=WORDS, dumps=((700, 64),))
    t.ok(0 not in done.answers[1:-1] and done.answers[-1] == 0, "each is refused", list(zip(rows, done.answers[1:])))
    t.equal(struct.unpack("<8Q", done.dumps[0])[4], 10, "the file is as it was")
    done = calls(t, *[("sock_accept", 3, 0, 600), ("sock_recv", 0, 100, 1, 0, 600, 604), ("sock_send", 1, 100, 1, 0, 600), ("sock_shutdown", 1, 3), ("proc_raise", 9)], data=WORDS)
    t.equal(done.answers, [NOTSOCK] * 4 + [NOTSUP], "no sockets, no signals")
    rows = [("path_open", 3, 1, 500, 3, 8, READ | WRITE, 0, 0, 600), ("path_open", 3, 1, 500, 3, 0, WRITE, 0, 0, 600), ("path_open", 3, 1, 300, 4, 2, READ, 0, 0, 600),
            ("path_open", 3, 1, 300, 4, 5, READ, 0, 0, 600)]
    t.equal(calls(t, *rows, data=WORDS).answers, [ISDIR, ISDIR, NOTDIR, EXIST], "what a name is not")


suite.main()
