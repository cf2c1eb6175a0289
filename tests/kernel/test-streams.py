#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Standard streams, terminals, exit codes and limits as a caller sees them."""
import ctypes
import os
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from aisbxtest import Suite
import family
from box import patience

suite = Suite("streams, terminals, codes, limits", needs_attack=False, both_users=False)


@suite.case("S01", "stdin: pipe, /dev/null, closed, socket")
def stdin_kinds(t):
    t.equal(t.box.run("cat", stdin=b"by pipe").out, "by pipe", "a pipe")
    t.equal(t.box.run("cat", stdin=subprocess.DEVNULL).out, "", "/dev/null")
    data = os.urandom(300000).hex().encode()
    t.equal(t.box.run("sh", "-c", "wc -c", stdin=data).out.strip(), str(len(data)), "much by a pipe")
    near, far = socket.socketpair()
    near.send(b"by socket")
    near.close()
    t.equal(t.box.run("cat", stdin=far.fileno()).out, "by socket", "a socket")
    far.close()
    result = t.box.run("sh", "-c", "ls -l /proc/self/fd | wc -l; cat; exit 0", preexec_fn=lambda: os.close(0), stdin=subprocess.DEVNULL)
    t.equal(result.code, 0, f"closed stdin: {result}")


@suite.case("S02", "stdin: a file at an offset, which is written back")
def stdin_file(t):
    path = t.caller.put("input", "0123456789abcdef\n")
    fd = os.open(path, os.O_RDONLY)
    os.lseek(fd, 4, os.SEEK_SET)
    result = t.box.run("dd", "bs=4", "count=1", stdin=fd)
    t.equal(result.out, "4567", f"read from the caller's offset: {result}")
    t.equal(os.lseek(fd, 0, os.SEEK_CUR), 8, "offset after the run")
    t.equal(t.box.run("cat", stdin=fd).out, "89abcdef\n", "the rest")
    os.close(fd)


@suite.case("S03", "stdin is not read ahead")
def no_read_ahead(t):
    reader, writer = os.pipe()
    os.write(writer, b"first\nsecond\n")
    os.close(writer)
    t.equal(t.box.run("sh", "-c", "read line; echo $line", stdin=reader).out, "first\n", "the first line")
    t.equal(os.read(reader, 100), b"second\n", "what is left for the caller")
    os.close(reader)


@suite.case("S04", "output passes as it comes, on both streams")
def output(t):
    process = t.box.popen(["sh", "-c", "echo one; read line; echo two; echo bad >&2"], as_json=False, stdin=subprocess.PIPE)
    first = process.stdout.readline()
    still = process.poll()
    out, err = process.communicate(b"go on\n")
    t.equal((first, still, out), (b"one\n", None, b"two\n"), "the first line came before the end")
    t.ok(b"bad\n" in err, "stderr", err)
    data = os.urandom(1 << 20)
    path = t.caller.put("binary", data)
    process = t.box.popen(["cat", path], as_json=False)
    out, _ = process.communicate()
    t.ok(out == data, "a mebibyte of bytes arrives unchanged", len(out))


@suite.case("S05", "bytes that are not UTF-8, arguments that are not ASCII")
def bytes_kept(t):
    result = t.box.run("printf", "\\377\\376")
    t.equal((result.json["stdout"], result.json["stdout_encoding"]), ("//4=", "base64"), f"not UTF-8: {result}")
    t.equal(t.box.run("printf", "%s|", "a  b", "", "$HOME", "*", "ü\n\"", "-n").out, "a  b||$HOME|*|ü\n\"|-n|", "arguments are exact")
    t.equal(t.box.run("printf", "ü").json["stdout_encoding"], "utf-8", "UTF-8")


@suite.case("S05b", "many and long arguments")
def many_arguments(t):
    words = [f"{number:0100d}" for number in range(5000)]
    result = t.box.run("sh", "-c", "echo $#; shift 4998; echo $1 $2", "sh", *words)
    t.equal(result.out, f"5000\n{words[4998]} {words[4999]}\n", "five thousand arguments")
    long = "y" * 100000
    t.equal(t.box.run("sh", "-c", "printf %s \"$1\" | wc -c", "sh", long).out.strip(), "100000", "one of 100,000 bytes")
    t.equal(t.box.run("sh", "-c", "printf %s \"$LONG\" | wc -c", flags=["--env", f"LONG={long}"]).out.strip(), "100000", "a long variable")


@suite.case("S06", "exit codes")
def codes(t):
    t.caller.put("not-a-program", "text")
    t.caller.put("broken", b"\x7fELF-broken", 0o755)
    for code in (0, 1, 2, 77, 124, 125, 126, 127, 255):
        t.equal(t.box.run("sh", "-c", f"exit {code}").code, code, f"exit {code}")
    t.equal(t.box.run("no-such-program").code, 127, "not found")
    t.equal(t.box.run("./not-a-program").code, 126, "not executable")
    t.ok(t.box.run("./broken").code in (126, 127), "a broken program")
    for number in (1, 2, 3, 6, 9, 10, 11, 13, 14, 15):
        result = t.box.run("sh", "-c", f"kill -{number} $$; sleep 1")
        t.equal(result.code, 128 + number, f"signal {number}: {result}")
    t.equal(t.box.run("sh", "-c", "exit 3").status, "error", "status of a failing command")


@suite.case("S06c", "what is sent to the caller's group reaches nobody of the sandbox")
def own_group(t):
    with t.box.popen(["sh", "-c", "echo up; read line; echo $line"], as_json=False, stdin=subprocess.PIPE) as run:
        up = run.stdout.readline()
        below = family.descendants(run.pid)
        groups = {pid: os.getpgid(pid) for pid in {info[2] for info in below.values()} - {run.pid}}
        out, err = run.communicate(b"heard\n", timeout=patience(60))
    t.equal(up + out, b"up\nheard\n", f"the command runs: {err}")
    t.ok(groups or "AISBX_VIA" in os.environ, "it has an init", below)
    for init, group in groups.items():
        t.equal(group, init, "which leads a group of its own")


@suite.case("S06b", "signals that the caller ignores do their work inside")
def ignored_signals(t):
    def ignore():
        for number in range(1, signal.NSIG):
            if number not in (signal.SIGKILL, signal.SIGSTOP, 32, 33):
                signal.signal(number, signal.SIG_IGN)
        # the two that the C library keeps to itself: of the kernel
        sigaction = {"x86_64": 13, "aarch64": 134}.get(os.uname().machine)
        for number in (32, 33) if sigaction else ():
            ctypes.CDLL(None).syscall(sigaction, number, (1).to_bytes(8, sys.byteorder) + bytes(24), None, 8)
    result = t.box.run("grep", "SigIgn", "/proc/self/status", preexec_fn=ignore)
    t.equal(result.out.split(), ["SigIgn:", "0" * 16], f"nothing is ignored: {result}")
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE):
        result = t.box.run("sh", "-c", f"kill -{number:d} $$; echo survived", preexec_fn=ignore)
        t.equal((result.code, result.out), (128 + number, ""), f"signal {number:d}")
    t.equal(t.box.run("sh", "-c", "(exit 4)", preexec_fn=ignore).code, 4, "children are waited for")


@suite.case("S07", "a terminal: window size, isatty, own device")
def terminal(t):
    code, shown = t.box.on_pty("sh", "-c", "test -t 0 && test -t 1 && test -t 2 && echo all; stty size; tty; exit 6", size=(33, 101))
    text = shown.decode()
    t.equal(code, 6, f"exit: {text}")
    t.ok("all" in text, "all three are terminals", text)
    t.ok("33 101" in text, "window size", text)
    t.ok("/dev/pts/" in text or "/dev/console" in text or "/dev/tty" in text, "its name", text)
    code, shown = t.box.on_pty("sh", "-c", "read line; echo got $line", send=b"typed\n")
    t.ok(b"got typed" in shown, "typing arrives", shown)


@suite.case("S08", "no terminal in a pipe")
def no_terminal(t):
    result = t.box.run("sh", "-c", "test -t 0 || test -t 1 || test -t 2 || echo none; (: < /dev/tty) 2>/dev/null || echo no-tty")
    t.equal(result.out, "none\nno-tty\n", f"a pipe: {result}")


@suite.case("S09", "an interrupt typed on the terminal reaches the command")
def interrupt(t):
    code, shown = t.box.on_pty("sh", "-c", "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.2; done",
                               send=b"\x03", send_after=b"ready")
    t.equal(code, 9, f"exit: {shown}")
    t.ok(b"caught" in shown, "the command caught it", shown)


@suite.case("S10", "each limit that is hit is told")
def limits(t):
    # Where layers are on disk, their filler is ended: by the watch, or because one file would be as large as all may be.
    cases = [
        (["--time", "1s"], ["sleep", "30"], "time", ("timeout",), (124,)),
        (["--mem", "64m"], ["python3", "-c", "x = bytearray(400 << 20)"], "mem", ("oom", "error"), (137, 1)),
        (["--disk", "8m"], ["sh", "-c", "dd if=/dev/zero of=big bs=1M count=100 2>/dev/null"], "disk", ("error", "limit"), (1, 137, 153)),
        (["--output", "1k"], ["sh", "-c", "yes | head -c 100000"], "output", ("success",), (0,)),
        (["--cpu-time", "1s", "--time", "100s"], ["sh", "-c", "while :; do :; done"], "cpu-time", ("limit",), (137, 152)),
    ]
    for flags, command, name, statuses, exits in cases:
        result = t.box.run(*command, flags=flags, timeout=40)
        t.ok(name in result.json.get("limits_hit", []), f"{name} is told", result)
        t.ok(result.status in statuses, f"{name}: status", result)
        t.ok(result.code in exits, f"{name}: exit", result)
    words = t.box.run("sleep", "30", flags=["--time", "1s"], as_json=False)
    t.ok("time" in words.err, "in words on stderr", words.err)


@suite.case("S11", "figures of the kernel")
def figures(t):
    result = t.box.run("python3", "-c", "import time\nx = bytearray(50 << 20)\ne = time.process_time() + 0.3\nwhile time.process_time() < e: pass")
    t.ok(result.json["cpu_ms"] >= 250, "processor time", result)
    t.ok(result.json["peak_memory_bytes"] >= 50 << 20, "peak of memory", result)
    t.ok(result.json["duration_ms"] >= 250, "duration", result)


@suite.case("S12", "bad requests are one clear line and exit 125")
def bad_requests(t):
    for flags in (["--mem", "1e30"], ["--mem", "-1"], ["--pids", "0"], ["--time", "1parsec"], ["--no-such-flag"],
                  ["--profile", "no-such"], ["--cpu", "zero"], ["--net", "maybe"], ["--disk", "0x"], ["--env", "=x"]):
        result = t.box.run("true", flags=flags, as_json=False)
        t.equal(result.code, 125, f"{flags}: {result}")
        t.ok(0 < len(result.err.strip().splitlines()) <= 4, f"{flags}: a line or two", result.err)
        result = t.box.run("true", flags=flags)
        t.ok(result.json.get("ok") is False or result.status in ("denied", "internal"), f"{flags} as an object", result)


suite.main()
