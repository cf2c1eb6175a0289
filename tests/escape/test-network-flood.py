#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attacks on the gateway by shape and by number, siblings of A106 to A112: encrypted hellos, names in pieces, ports asked for at once,
connections that never come about, and traffic that costs more than its sender may; against a small internet of this suite's own
(tests/lib/attacknet.py)."""
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import attacknet
import internet
from aisbxtest import Suite
from attacknet import SEEN, A, enter, inside, outside
from box import patience, slow
from family import kib_of, read_of
from internet import EVIL, GOOD, NAMES_AT, PRELUDE

enter()
suite = Suite("network-flood", needs_attack=False)
FULL_PORT, SHOUT_PORT = 7200, 9100

# A ClientHello of our own making: extensions in any order, with any content.
HELLO = r"""
def part(size, data): return len(data).to_bytes(size, 'big') + data
def extension(kind, data=b''): return kind.to_bytes(2, 'big') + part(2, data)
def named(name): return extension(0, part(2, b'\0' + part(2, name)))
def encrypted(inner): return extension(0xfe0d, b'\0\0\1\0\1\7' + part(2, b'k' * 32) + part(2, inner))
GREASE = extension(0x0a0a), extension(0xfafa, b'\0'), extension(0x5a5a, named(b'evil.example'))
def hello_of(*extensions):
    body = b'\3\3' + b'r' * 32 + part(1, b's' * 32) + part(2, b'\x1a\x1a\x13\1') + part(1, b'\0') + part(2, b''.join(extensions))
    return b'\x16\3\1' + part(2, b'\1' + part(3, body))
def say(hello):
    try:
        with socket.create_connection(('good.example', 443), 60) as s:
            s.settimeout(60); s.sendall(hello); return s.recv(100).decode() or 'nothing'
    except OSError as e: return type(e).__name__
EVIL, GOOD = named(b'evil.example'), named(b'good.example')
INNER = hello_of(EVIL)
"""
FOREIGN = HELLO + r"""
print(say(hello_of(EVIL, encrypted(INNER))), say(hello_of(encrypted(INNER))), say(hello_of(encrypted(GOOD + INNER))), say(hello_of(*GREASE, EVIL)),
      say(hello_of(GREASE[0], *GREASE[2:])), say(hello_of(GOOD, GREASE[0], EVIL)), say(hello_of(EVIL, *GREASE, GOOD)),
      say(hello_of(extension(0x5a5a, GOOD), encrypted(GOOD), EVIL)))
"""


def encrypted_control(t):
    internet.swallowed.clear()
    words = outside(FOREIGN)
    t.ok(words == ["seen"] * 8 and b"evil.example" in internet.swallowed[GOOD], "outside a server gets every one", words)


@suite.case("A106c", "an encrypted ClientHello, and extensions that mean nothing", encrypted_control)
def encrypted(t):
    internet.swallowed.clear()
    flags = ["--allow", "good.example:443"]
    result = inside(t, FOREIGN, *flags)
    t.equal(result.words, ["ConnectionResetError"] * 8, f"what does not ask for the name in plain text is reset: {result}")
    t.ok(not internet.swallowed.get(GOOD), "and nothing of it has reached the server", internet.swallowed)
    result = inside(t, HELLO + "print(say(hello_of(*GREASE, GOOD)), say(hello_of(GOOD, encrypted(INNER))), say(hello_of(GREASE[1], encrypted(b'x'), GOOD, GREASE[0])))",
                    *flags)
    t.equal(result.words, ["seen"] * 3, f"browsers, which send such extensions with every hello, are served: {result}")


# Questions by TCP, as pieces that fit none of them: cut anywhere, several in one piece, with lengths that are not theirs.
PIECES = r"""
H = b'\x12\x34\1\0\0\1\0\0\0\0\0\0'
def question(name): return H + b''.join(bytes([len(p)]) + p for p in name.split(b'.')) + b'\0\0\1\0\1'
def framed(message, length=None): return (len(message) if length is None else length).to_bytes(2, 'big') + message
def ask_in(pieces, answers, wait=60):
    'Codes of so many answers, which come in any order.'
    s = socket.socket(); s.settimeout(wait); s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1); s.connect(('SERVER', 53))
    got, codes = b'', []
    try:
        for piece in pieces: s.sendall(piece)
        while len(codes) < answers:
            more = s.recv(4096)
            if not more: break
            got += more
            while len(got) >= 2 and len(got) >= 2 + int.from_bytes(got[:2], 'big'):
                codes.append(got[5] & 15); got = got[2 + int.from_bytes(got[:2], 'big'):]
    except OSError: pass
    s.close()
    return '-'.join(map(str, sorted(codes))) or 'none'
def cut(data, at): return [data[i:i + at] for i in range(0, len(data), at)]
good, evil = question(b'good.example'), question(b'evil.example')
"""
ASTRAY = PIECES + r"""
print(ask_in(cut(framed(evil), 1), 1), ask_in(cut(framed(good) + framed(evil), 3), 2), ask_in([framed(good) + framed(evil) + framed(good)], 3),
      ask_in([framed(good + evil)], 1, 5), ask_in([framed(good, len(good) + 2 + len(evil)) + framed(evil)], 1, 5), ask_in([framed(evil, len(evil) - 4)], 1, 5),
      ask_in([framed(b'') * 200 + framed(evil)], 1, 5), ask_in([framed(good)[:1], framed(good)[1:] + framed(evil)[:1], framed(evil)[1:]], 2),
      ask_in([framed(evil, 513)] + [b'x' * 600], 1, 5), ask_in([framed(good)] * 40 + [framed(evil)], 41))
"""


def serve_questions(peer, _):
    """A nameserver that reads one question after the other."""
    peer.settimeout(120)
    data = b""
    while part := peer.recv(4096):
        data += part
        while len(data) >= 2 and len(data) >= 2 + int.from_bytes(data[:2], "big"):
            size = int.from_bytes(data[:2], "big")
            if size > 12:
                reply = internet.answer_name(data[2:2 + size], True)
                peer.sendall(len(reply).to_bytes(2, "big") + reply)
            data = data[2 + size:]


def pieces_control(t):
    before = len(internet.asked)
    words = outside(ASTRAY.replace("SERVER", NAMES_AT))
    asked = [row[0] for row in internet.asked[before:]]
    t.ok(asked.count("evil.example") >= 6 and words[:3] == ["0", "0-0", "0-0-0"], "outside the name is asked for and answered", (words, asked))


@suite.case("A110c", "names asked for by TCP, in pieces", pieces_control)
def pieces(t):
    result = inside(t, ASTRAY.replace("SERVER", "192.0.2.53"), *A, timeout=60)
    t.ok({row[0] for row in result.asked} <= {"good.example"}, "nobody is asked about another name, however it is cut", result.asked)
    t.equal(result.words[:3], ["3", "0-3", "0-0-3"], f"each question has its answer: {result}")
    t.ok(len(result.words) == 10 and result.words[7] == "0-3" and result.words[9].split("-").count("0") == 40, "and life goes on behind", result.words)
    t.ok(any("evil.example" in what for what in result.told), "it is told", result.told)


@suite.case("A112d", "one port, asked for by many at once", "two listeners on one port need an option that is not set")
def asked_at_once(t):
    flags = ["--publish", "18113:5000"]
    children = [t.box.popen(["sh", "-c", "echo ran; exec cat"], flags=flags, as_json=False, stdin=subprocess.PIPE) for _ in range(8)]
    ends, winners = [], []
    try:
        # Who has lost ends by itself; who has won waits for its input.
        for child in children:
            line = child.stdout.readline()
            (winners if line == b"ran\n" else ends).append(child)
        lost = [(child.wait(timeout=patience(30)), child.stderr.read().decode()) for child in ends]
        t.equal(len(winners), 1, f"one has it: {lost}")
        t.ok(all(code == 125 and "18113" in said for code, said in lost), "the others have run nothing, and say which port", lost)
    finally:
        for child in children:
            child.communicate(b"" if child in winners else None)
    again = t.box.run("true", flags=flags)
    t.equal(again.code, 0, f"behind them it is free again: {again}")


HALF = f"""
import resource, time
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
address = socket.gethostbyname('good.example')
held = []
def many(count):
    for i in range(count):
        s = socket.socket(); s.setblocking(False); held.append(s)
        try: s.connect((address, {FULL_PORT}))
        except OSError: pass
# More than there is room for, of those that never come about; then ever new ones, left at once.
many(4600)
print(get(address), flush=True)
for i in range(20000):
    s = socket.socket(); s.setblocking(False)
    try: s.connect((address, {FULL_PORT} if i % 2 else 80))
    except OSError: pass
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0)); s.close()
for s in held: s.close()
end = time.monotonic() + {int(patience(60))}
while (last := get(address)) != '{GOOD}' and time.monotonic() < end: time.sleep(.2)
print(last)
"""


@suite.case("A111d", "connections that never come about, thousands at a time", "bounds of ours, not of the kernel's")
def half_open(t):
    child = t.box.popen(["python3", "-c", PRELUDE + HALF], flags=[*A, "--allow", f"good.example:{FULL_PORT}", "--nofile", "8192", "--time",
                                                                   f"{int(patience(150))}s"])
    largest = 0
    while child.poll() is None:
        largest = max(largest, kib_of(internet.gateway_of(child.pid)) or 0)
        time.sleep(0.05)
    told = json.loads(child.communicate()[0])
    t.ok(told["stdout"].split()[1:] == [GOOD], "life goes on behind them", (told["stdout"], told["stderr"][-300:], told["status"]))
    t.ok(largest <= (64 << 10 if slow() else 24 << 10), f"in bounded memory: {largest} KiB", largest)
    t.ok(any("too many connections" in (one["rule"] or "") for one in told["denials"]) and len(told["denials"]) <= 101, "what there was no room for is told",
         told["denials"][:5])


# One datagram, answered by as many as its peer can send: who asked for them need not even read.
SUBSCRIBE = f"""
import time
address = socket.gethostbyname('good.example')
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.sendto(b'go', (address, {SHOUT_PORT})); u.recv(10)
print('begun', flush=True)
time.sleep(SECONDS)
u.sendto(b'stop', (address, {SHOUT_PORT}))
"""


def serve_shouts():
    """Answers a first datagram with large ones, until there is another."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((GOOD, SHOUT_PORT))
    while True:
        server.setblocking(True)
        who = server.recvfrom(100)[1]
        server.setblocking(False)
        while True:
            try:
                server.sendto(b"x" * 60000, who)
            except OSError:
                pass
            try:
                server.recv(100)
                break
            except BlockingIOError:
                pass
            except OSError:
                break


def cpu_seconds(pid):
    fields = (read_of(pid, "stat") or ")" + " 0" * 13).rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@suite.case("A079d", "traffic that costs the host more than its sender may use", "seen without a share of the gateway's own: a third of a core on a busy machine, for a program that slept")
def costly(t):
    if "limits" in (t.box.run("true").json.get("degraded") or []):
        t.skip("no groups for this caller: the CPU of a run has no limit either")
    share, seconds = 0.05, 4
    child = t.box.popen(["python3", "-c", PRELUDE + SUBSCRIBE.replace("SECONDS", str(seconds))], as_json=False,
                        flags=["--allow", f"udp:good.example:{SHOUT_PORT}", "--cpu", str(share)])
    try:
        t.equal(child.stdout.readline(), b"begun\n", "it begins")
        gateway = internet.gateway_of(child.pid)
        began, before, used = time.monotonic(), cpu_seconds(gateway), 0.0
        groups = read_of(gateway, "cgroup") or ""
        while child.poll() is None:
            # In this order: whatever keeps us from going on in between is time it had.
            used = cpu_seconds(gateway) - before or used
            elapsed = time.monotonic() - began
            # What a period may run over its end, and the coarseness of the figures.
            t.ok(used <= share * elapsed + 0.2, f"it takes no more than its share: {used:.2f} s in {elapsed:.2f} s", groups)
            time.sleep(0.1)
    finally:
        child.kill()
        child.communicate()
    t.ok(re.search(r"aisbx-\d+-\d+-", groups), "in a group of its own", groups)


threading.excepthook = lambda *_: None


def begin():
    internet.serve_name_stream = serve_questions
    attacknet.begin()
    threading.Thread(target=serve_shouts, daemon=True).start()
    # Nobody takes what waits here: beyond one or two, connections stay half made.
    full = socket.socket()
    full.bind((GOOD, FULL_PORT))
    full.listen(0)
    begin.full = full
    for _ in range(4):
        begin.filler = getattr(begin, "filler", []) + [socket.socket()]
        begin.filler[-1].setblocking(False)
        begin.filler[-1].connect_ex((GOOD, FULL_PORT))


begin()
suite.main()
