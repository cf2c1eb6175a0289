#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Siblings of A096 to A110: messages to the stub, names and addresses that lead astray, other families; against a small internet of
this suite's own (tests/lib/attacknet.py)."""
import os
import socket
import struct
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import attacknet
import internet
from aisbxtest import Suite
from attacknet import A, enter, inside, outside
from internet import EVIL, GOOD, LAN, METADATA

enter()
suite = Suite("network-names", needs_attack=False)


def odd_names(query, who, server):
    """A nameserver that is no friend: first answers that are not to our question, then the one that is."""
    at = query.index(b"\0", 12) + 5
    question, name = query[12:at], query[12:at - 4]
    wrong = socket.inet_aton(EVIL)

    def answer(ident, asked, body, count):
        server.sendto(ident + struct.pack(">HHHHH", 0x8180, 1, count, 0, 0) + asked + body, who)

    def record(owner, kind, data):
        return owner + struct.pack(">HHIH", kind, 1, 30, len(data)) + data

    answer(bytes([query[0] ^ 1, query[1]]), question, record(name, 1, wrong), 1)
    answer(query[:2], internet.wire_name("evil.example") + query[at - 4:at], record(internet.wire_name("evil.example"), 1, wrong), 1)
    answer(query[:2], question[:-3] + b"\x10\0\1", record(name, 1, wrong), 1)
    # The right one, with strangers in it: another name's address, an alias of another name, a class of its own.
    body = record(internet.wire_name("other.example"), 1, wrong) + record(internet.wire_name("other.example"), 5, b"\xc0\x0c") \
        + name + struct.pack(">HHIH", 1, 3, 30, 4) + wrong + record(b"\xc0\x0c", 1, socket.inet_aton(GOOD))
    answer(query[:2], question, body, 4)


def begin():
    internet.NAMES.update({"to-host.example": "198.18.0.1", "to-private.example": "inner.example", "inner.example": LAN,
                           "loop-a.example": "loop-b.example", "loop-b.example": "loop-a.example", "mapped.example": "::ffff:127.0.0.1",
                           "nat64.example": "64:ff9b::7f00:1", "siit.example": "::ffff:0:7f00:1", "zero.example": "0.0.0.0",
                           "all.example": "255.255.255.255", "group.example": "224.0.0.1", "sixtofour.example": "2002:7f00:1::1"})
    plain_answer = internet.answer_name
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def answer_name(query, by_stream):
        return b"" if b"\x03odd\x07example" in query else plain_answer(query, by_stream)

    def serve_odd():
        server.bind((internet.NAMES_AT, 53))
        while True:
            query, who = server.recvfrom(2048)
            if b"\x03odd\x07example" in query:
                odd_names(query, who, server)
            elif b"\x06loop-" in query:
                # Names that lead to each other, and a pointer to itself.
                server.sendto(query[:2] + struct.pack(">HHHHH", 0x8180, 1, 2, 0, 0) + query[12:] + b"\xc0\x0c" + struct.pack(">HHIH", 5, 1, 30, 2)
                              + b"\xc0\x0c" + struct.pack(">BB", 0xc0, len(query) + 14) + struct.pack(">HHIH", 1, 1, 30, 4) + b"\1\2\3\4", who)
            else:
                reply = answer_name(query, False)
                if reply:
                    server.sendto(reply, who)

    internet.serve_names = serve_odd
    attacknet.begin()


RAW = r"""
def raw(*messages, tcp=False, split=0, wait=2):
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM); s.settimeout(wait)
    s.connect(('192.0.2.53', 53))
    try:
        for m in messages:
            m = (struct.pack('>H', len(m)) if tcp else b'') + m
            for at in range(0, len(m), split or len(m)): s.send(m[at:at + (split or len(m))])
        return 'code%d' % (s.recv(600)[5 if tcp else 3] & 15)
    except OSError as e: return type(e).__name__
H = b'\x12\x34\1\0\0\1\0\0\0\0\0\0'
G = b'\4good\7example\0\0\1\0\1'
"""
QUERIES = RAW + r"""
print(raw(H + b'\xc0\x0c\0\1\0\1'), raw(H + b'\4good\xc0\x0c\0\1\0\1'), raw(H[:4] + b'\0\2' + H[6:] + G + b'\4evil\7example\0\0\1\0\1'),
      raw(H[:4] + b'\0\0' + H[6:] + G), raw(H[:2] + b'\x81\x80' + H[4:] + G), raw(H[:2] + b'\x28\0' + H[4:] + G), raw(H + G[:-1] + b'\3'),
      raw(H + b'\4GoOd\7eXaMpLe\0\0\1\0\1', wait=60), raw(H[:10] + b'\0\1' + G + b'\0\0\x29\x10\0\0\0\x80\0\0\x0c\0\x0a\0\x08secret!!'),
      raw(H + G, tcp=True, split=1, wait=60), raw(H + G + b'x' * 900, tcp=True), raw(b'', tcp=True), raw(H + b'\x0bgood.example\0\0\1\0\1'),
      raw(H + b'\4good\7example\4evil\7example\0\0\1\0\1'), raw(H + b'\3odd\7example\0\0\1\0\1'))
"""


@suite.case("A110b", "messages to the stub that are none", lambda t: t.equal(
    outside(RAW.replace("192.0.2.53", internet.NAMES_AT) + "print(raw(H + b'\\4evil\\7example\\0\\0\\1\\0\\1', wait=60))"), ["code0"], "evil has an answer outside"))
def odd_queries(t):
    result = inside(t, QUERIES, *A)
    t.ok({row[:2] for row in result.asked} <= {("good.example", 1)}, "nothing but the listed name is asked", result.asked)
    t.ok(not any("secret" in str(row) for row in result.asked), "what came with it stays here", result.asked)
    t.ok(result.words[7] == "code0" and result.words[9] == "code0", "mixed case and single bytes are answered", result.words)
    t.ok(all(word in ("code1", "code3", "code4", "TimeoutError", "ConnectionResetError", "IndexError", "code0") for word in result.words)
         and len(result.words) == 15, "each ends", result.words)


# As labels of DNS messages, which take any byte. The last two can stand in a rule.
ODD_NAMES = ["`id`.x", "$(id).x", "a b.x", "a;id.x", "a'b.x", 'a"b.x', "-x.y", "--allow.y", "a\\b.x", "a|b.x", "a&.x", "a>b.x", "*.x", "~.x",
             "a\nb.x", "a\033[2Jb.x", "a\u202eb.x", "#a.x", "{a,b}.x", "a,b.x", "127.1", "fine.x", "a_b-c.x"]
ASK_ODD = f"""
for name in {ODD_NAMES!r}:
    raw(H + b''.join(bytes([len(part.encode())]) + part.encode() for part in name.split('.')) + b'\\0\\0\\1\\0\\1')
"""


@suite.case("A110c", "names that a shell would obey, in what the user is advised to paste", "there is no advice outside")
def advised(t):
    result = inside(t, RAW + ASK_ODD, *A, timeout=120)
    denials = result.json.get("denials", [])
    hints = [denial["hint"] for denial in denials if denial.get("hint")]
    t.ok(len(denials) > len(hints), "some are refused without advice", denials)
    t.equal(sorted(hints), ["--allow a_b-c.x", "--allow fine.x"], "advice only for what can be a rule")
    for hint in hints:
        read = subprocess.run(["sh", "-c", f"printf '%s\\0' {hint}"], capture_output=True, text=True, check=False).stdout.split("\0")[:-1]
        t.equal(read, ["--allow", hint[len("--allow "):]], "a shell reads two words")


UNSEEN = r"""
u, t = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket()
u.sendto(b'exfil', ('192.0.2.61', 53)); t.connect(('192.0.2.62', 53)); t.send(b'exfil')
"""


@suite.case("A110d", "what is no lookup, sent to where lookups are refused", "there is nothing to be seen by outside")
def unseen(t):
    result = inside(t, UNSEEN)
    told = " ".join(denial["what"] for denial in result.json.get("denials", []))
    t.ok("192.0.2.61:53" in told and "192.0.2.62:53" in told and not result.hits and not result.asked, "each is a denial", (told, result))


LEADS = ("to-host", "to-private", "loop-a", "mapped", "nat64", "siit", "zero", "all", "group", "sixtofour")


@suite.case("A105b", "names that lead where no name may", lambda t: t.equal(
    outside("print(get('zero.example'), get('to-private.example'))"), ["127.0.0.1", LAN], "outside they lead there"))
def leading(t):
    flags = [word for name in LEADS for word in ("--allow", f"{name}.example:80")]
    script = "print(*[get(name + '.example') for name in (" + "".join(f"'{name}', " for name in LEADS) + ")])"
    result = inside(t, script, *flags, timeout=60)
    t.ok(not result.hits and all(word.endswith("rror") for word in result.words) and len(result.words) == len(LEADS), "none is followed", result)
    result = inside(t, "print(get('odd.example'))", "--allow", "odd.example:80")
    t.ok(result.words == [GOOD] and EVIL not in result.hits, "an answer to another question, or about another name, is none", result)


WIDE = ["--allow", "0.0.0.0/0:80", "--allow", "[::/0]:80", "--allow", "udp:0.0.0.0/0:9000", "--allow", "udp:[::/0]:9000"]
PLACES = ("0.0.0.0", "127.0.0.1", "127.255.255.254", LAN, METADATA, "198.18.0.1", "100.64.0.1", "192.168.1.1", "224.0.0.1", "255.255.255.255",
          "::", "::1", "::ffff:10.9.8.7", "::10.9.8.7", "::ffff:0:10.9.8.7", "64:ff9b::10.9.8.7", "64:ff9b:1::10.9.8.7", "2002:a09:807::1",
          "fe80::1%lo", "fec0::1", "fc00::1", "ff02::1%lo", "2001::1", "100::1")
DIAL_ALL = f"""
for host in {PLACES!r}:
    print(get(host))
    for family, kind, _, _, to in socket.getaddrinfo(host, 9000, type=socket.SOCK_DGRAM)[:1]:
        u = socket.socket(family, kind); u.settimeout(.2); u.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        try: u.sendto(b'x', to); print(u.recv(10))
        except OSError as e: print(type(e).__name__)
"""


@suite.case("A105c", "special addresses, where all others are allowed", lambda t: t.equal(
    outside(f"print(get('0.0.0.0'), get('{LAN}'), get('::ffff:{LAN}'))"), ["127.0.0.1", LAN, LAN], "outside they are reached"))
def special(t):
    result = inside(t, DIAL_ALL, *WIDE, timeout=60)
    t.ok(not result.hits and len(result.words) == 2 * len(PLACES) and all(word.endswith("rror") for word in result.words), "none is reached", result)
    t.equal(inside(t, f"print(get('{GOOD}'))", *WIDE).words, [GOOD], "others are")


FAMILIES = r"""
import errno
def make(*how):
    try: socket.socket(*how).close(); return 'open'
    except OSError as e: return errno.errorcode.get(e.errno, str(e.errno))
print(make(17, 3, 3), make(17, 2, 0x300), make(40, 1, 0), make(2, 3, 1), make(2, 3, 255), make(10, 3, 58), make(16, 3, 9), make(16, 3, 12), make(2, 1, 262), make(2, 5, 132))
s = socket.socket(16, 3, 0); s.bind((0, 0)); s.settimeout(60)
def talk(kind, body, flags=5):
    s.send(struct.pack('=IHHII', 16 + len(body), kind, flags, 1, 0) + body)
    return struct.unpack('=i', s.recv(4096)[16:20])[0]
# A route away from the gateway, an address, a link, a rule.
print(talk(24, struct.pack('=BBBBBBBBI', 2, 0, 0, 0, 254, 3, 0, 1, 0) + struct.pack('=HHI', 8, 4, 1), 0x605),
      talk(20, struct.pack('=BBBBI', 2, 32, 0, 0, 1) + struct.pack('=HH4s', 8, 2, bytes([10, 9, 8, 7])), 0x605),
      talk(16, struct.pack('=BxHiII', 0, 0, 1, 0, 1)), talk(32, struct.pack('=BBBBBBBBI', 2, 0, 0, 0, 254, 0, 0, 1, 0), 0x605))
for option, value in ((19, b'\1\0\0\0'), (25, b'lo\0'), (36, b'\1\0\0\0')):
    t = socket.socket()
    try: t.setsockopt(0 if option == 19 else 1, option, value); print('set')
    except OSError as e: print(errno.errorcode.get(e.errno))
"""


@suite.case("A016b", "other families, routes and marks, with a network", "the kernel's own doors; A016 and A018 have the controls")
def families(t):
    words = inside(t, FAMILIES, *A).words
    t.ok("open" not in words[:10] and len(words) == 17, "no other family, no raw socket", words)
    t.ok(all(int(word) < 0 for word in words[10:14]), "nothing of the network can be changed", words)
    t.ok(words[14] == "EPERM" and words[16] == "EPERM", "nor be passed by", words)


ECHO = f"""
def attempt(what):
    try: return what()
    except OSError as e: return type(e).__name__
def ping(family, kind, protocol, to):
    with socket.socket(family, kind, protocol) as s:
        s.settimeout(3); s.sendto(bytes([8 if protocol == 1 else 128, 0]) + (b'\\xf7\\xfe' if protocol == 1 else b'\\0\\0') + b'\\0\\1\\0\\0', (to, 0)); s.recv(100)
        return 'answered'
def fast(to):
    with socket.socket() as s:
        s.sendto(b'GET / HTTP/1.0\\r\\n\\r\\n', 0x20000000, (to, 80)); s.settimeout(5); return s.recv(100).decode()[:8] or 'nothing'
def message(to):
    with socket.socket() as s:
        s.sendmsg([b'GET / HTTP/1.0\\r\\n\\r\\n'], [], 0x20000000, (to, 80)); s.settimeout(5); return s.recv(100).decode()[:8] or 'nothing'
print(*[attempt(lambda: ping(2, kind, 1, '{GOOD}')) for kind in (3, 2)], *[attempt(lambda: ping(10, kind, 58, '2001:db8::10')) for kind in (3, 2)],
      attempt(lambda: fast('{EVIL}')), attempt(lambda: message('{EVIL}')), attempt(lambda: fast('{METADATA}')))
"""


@suite.case("A096b", "echo requests, and data with the first packet", lambda t: t.ok(
    outside(ECHO)[0] == "answered" and outside(ECHO)[4:] == ["HTTP/1.1"] * 3, "outside they are answered", outside(ECHO)))
def echo(t):
    for flags in ([], A):
        result = inside(t, ECHO, *flags)
        t.ok(len(result.words) == 7 and all(word.endswith("rror") for word in result.words) and not result.hits, f"none is: {flags}", result)


threading.excepthook = lambda *_: None
begin()
suite.main()
