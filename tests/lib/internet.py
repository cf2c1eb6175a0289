# SPDX-License-Identifier: Apache-2.0
"""A small internet of a test's own: names, allowed and forbidden hosts, rebinding, in a network namespace that the test
makes for itself. No packet leaves the machine.

A suite calls enter() first, then build_internet(home).
"""
import hashlib
import json
import os
import socket
import struct
import subprocess
import sys
import threading

from box import patience
from clitest import AISBX
from family import status_of

GOOD, EVIL, NAMES_AT = "198.51.100.10", "198.51.100.20", "198.51.100.53"
METADATA, LAN, LOOPBACK, GOOD6 = "169.254.169.254", "10.9.8.7", "127.0.0.1", "2001:db8::10"
NAMES = {"good.example": GOOD, "api.good.example": GOOD, "evil.example": EVIL, "rebind.example": LOOPBACK,
         "meta.example": METADATA, "lan.example": LAN, "mixed.example": f"{GOOD} {LAN}", "six.example": GOOD6,
         "alias.example": "good.example", "big.example": f"{GOOD} " + " ".join(f"203.0.113.{i}" for i in range(1, 61)),
         "drip.example": GOOD, "stall.example": GOOD}
# Too long for a datagram, and never answered.
CUT, SILENT = {"big.example", "drip.example", "stall.example"}, {"silent.example"}
asked, hits, swallowed = [], [], {}


def enter():
    """Starts this program again in a network and a mount namespace of its own."""
    if "--inside" in sys.argv:
        if os.readlink("/proc/self/ns/net") == sys.argv[-1]:
            print("Bail out! still in the network of the host")
            sys.exit(1)
        return
    how = ["unshare", "-nm", "--propagation", "private"] if os.geteuid() == 0 else ["unshare", "-rnm"]
    probe = subprocess.run([*how, "ip", "link", "set", "lo", "up"], capture_output=True, text=True, check=False)
    if probe.returncode:
        print("1..0 # SKIP no network namespace for the test: " + probe.stderr.strip()[:100])
        sys.exit(0)
    os.execvp(how[0], [*how, sys.executable, os.path.abspath(sys.argv[0]), "--inside", os.readlink("/proc/self/ns/net")])


def wire_name(name):
    return b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0"


def records(name, kind):
    """The answer section for a name, and how many records it has."""
    value = NAMES.get(name, "")
    if value in NAMES:
        data = wire_name(value)
        inner, count = records(value, kind)
        return wire_name(name) + struct.pack(">HHIH", 5, 1, 30, len(data)) + data + inner, count + 1
    out, count = b"", 0
    for text in value.split():
        family = socket.AF_INET6 if ":" in text else socket.AF_INET
        if kind == {socket.AF_INET: 1, socket.AF_INET6: 28}[family]:
            data = socket.inet_pton(family, text)
            out += wire_name(name) + struct.pack(">HHIH", kind, 1, 30, len(data)) + data
            count += 1
    return out, count


def answer_name(query, by_stream):
    """The answer to a query; b"" where the server stays silent."""
    at, labels = 12, []
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode("latin1"))
        at += 1 + query[at]
    name, kind = ".".join(labels).lower(), struct.unpack(">H", query[at + 1:at + 3])[0]
    asked.append((name, kind) if not by_stream else (name, kind, "tcp"))
    if name in SILENT:
        return b""
    body, count = records(name, kind)
    code = 0x8180 if name in NAMES else 0x8183
    if name in CUT and not by_stream:
        body, count, code = b"", 0, code | 0x0200
    return query[:2] + struct.pack(">HHHHH", code, 1, count, 0, 0) + query[12:at + 5] + body


def serve_names():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((NAMES_AT, 53))
    while True:
        query, who = server.recvfrom(2048)
        answer = answer_name(query, False)
        if answer:
            server.sendto(answer, who)


def serve_name_stream(peer, _):
    """A name that was cut: whole, in pieces, or never to the end."""
    peer.settimeout(120)
    query = peer.recv(2048)[2:]
    answer = answer_name(query, True)
    answer = struct.pack(">H", len(answer)) + answer
    if b"stall" in query:
        peer.sendall(answer[:20])
        peer.recv(1)
        return
    step = 7 if b"drip" in query else len(answer)
    for at in range(0, len(answer), step):
        peer.sendall(answer[at:at + step])
    peer.recv(1)


def listen(address, port, handler):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    server = socket.socket(family)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((address, port))
    server.listen(512)

    def one(peer):
        try:
            with peer:
                handler(peer, address)
        except OSError:
            pass

    def loop():
        while True:
            threading.Thread(target=one, args=(server.accept()[0],), daemon=True).start()

    threading.Thread(target=loop, daemon=True).start()


def web(peer, address):
    peer.settimeout(120)
    if peer.recv(65536):
        hits.append(address)
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(address), address.encode()))


def sink(peer, address):
    """Keeps what it is sent, and says how much that was."""
    peer.settimeout(120)
    got = peer.recv(65536)
    swallowed[address] = swallowed.get(address, b"") + got
    if got:
        peer.sendall(b"seen")


def echo_all(peer, _):
    """Reads to the end, then answers with the digest and everything: both directions close on their own."""
    parts = []
    while True:
        part = peer.recv(1 << 16)
        if not part:
            break
        parts.append(part)
    data = b"".join(parts)
    peer.sendall(hashlib.sha256(data).hexdigest().encode() + data)


def greet(peer, _):
    """Speaks first, as SSH and SMTP do."""
    peer.sendall(b"hello\n")
    peer.sendall(b"you said " + peer.recv(100))


def slam(peer, _):
    peer.recv(1)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def serve_datagrams():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((GOOD, 9000))
    while True:
        data, who = server.recvfrom(65536)
        server.sendto(b"echo " + data, who)


def build_internet(home):
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for address in (GOOD, EVIL, NAMES_AT, METADATA, LAN):
        subprocess.run(["ip", "addr", "add", address + "/32", "dev", "lo"], check=True)
    six = subprocess.run("ip addr add 2001:db8::10/128 dev lo nodad && ip -6 route add local 2000::/3 dev lo", shell=True,
                         capture_output=True, check=False).returncode == 0
    threading.Thread(target=serve_names, daemon=True).start()
    threading.Thread(target=serve_datagrams, daemon=True).start()
    listen(NAMES_AT, 53, serve_name_stream)
    for address in (GOOD, EVIL, METADATA, LAN, LOOPBACK, *([GOOD6] if six else [])):
        listen(address, 80, web)
        listen(address, 443, sink)
    listen(GOOD, 8080, web)
    for port, handler in ((7000, echo_all), (7002, greet), (7003, slam)):
        listen(GOOD, port, handler)
    with open(home.path + "/resolv.conf", "w") as out:
        out.write(f"nameserver {NAMES_AT}\noptions timeout:1 attempts:2\n")
    with open("/etc/hosts") as hosts, open(home.path + "/hosts", "w") as out:
        out.write(hosts.read() + f"\n{GOOD} listed.example\n{EVIL} unlisted.example\n{LAN} printer.example\n")
    for name in ("resolv.conf", "hosts"):
        subprocess.run(["mount", "--bind", f"{home.path}/{name}", os.path.realpath(f"/etc/{name}")], check=True)
    return six


def run(home, script, *flags, command="run"):
    """A Python script inside; its result object."""
    words = [command, "--json", "--time", f"{int(patience(20))}s", *flags, "--", "python3", "-c", PRELUDE + script]
    done = home.call(*words, timeout=patience(60))
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"status": "none", "stdout": "", "denials": [], "said": done.stdout + done.stderr}


PRELUDE = """
import socket, sys, hashlib, ssl, struct, threading
def get(host, port=80):
    try:
        with socket.create_connection((host, port), 60) as s:
            s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')
            data = b''
            while True:
                part = s.recv(65536)
                if not part: break
                data += part
            return data.rpartition(b'\\n')[2].decode() or 'nothing'
    except OSError as e:
        return type(e).__name__
def ask(kind, name, port=53, tcp=False, server='192.0.2.53'):
    q = b'\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0' + b''.join(bytes([len(p)]) + p for p in name.split(b'.')) + b'\\0' + struct.pack('>HH', kind, 1)
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM)
    s.settimeout(60)
    s.connect((server, port))
    s.send((struct.pack('>H', len(q)) if tcp else b'') + q)
    a = s.recv(600)[2 if tcp else 0:]
    return a[3] & 15, struct.unpack('>H', a[6:8])[0]
def hello(host, name, port=443, pieces=1):
    context = ssl._create_unverified_context()
    into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    try: context.wrap_bio(into, out, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError: pass
    first = out.read()
    try:
        with socket.create_connection((host, port), 60) as s:
            step = len(first) // pieces
            for at in range(0, len(first), step):
                s.sendall(first[at:at + step])
                if pieces > 1: __import__('time').sleep(.02)
            return s.recv(100).decode() or 'nothing'
    except OSError as e:
        return type(e).__name__
"""


def words_of(result):
    """What the network denied, in its words."""
    return [d["what"] for d in result.get("denials", []) if d["layer"] == "net"]


def lines(result):
    return result.get("stdout", "").split()


def start(home, script, *flags, **more):
    """A Python script inside, left running; its input and output are pipes."""
    return subprocess.Popen([AISBX, "run", *flags, "--", "python3", "-uc", PRELUDE + script], cwd=home.work,
                            env=home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **more)


def gateways():
    """{pid: (resident KiB, status)} of all gateways there are; others may have theirs."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        text = status_of(pid)
        if text.get("Name") == "aisbx-net":
            found[int(pid)] = (int(text.get("VmRSS", "0 kB").split()[0]), text)
    return found


def gateway_of(supervisor):
    """The pid of the gateway of a run; 0 when there is none."""
    return next((pid for pid, (_, about) in gateways().items() if int(about["PPid"]) == supervisor), 0)


def listeners():
    with open("/proc/net/tcp") as file:
        return sorted(line.split()[1] for line in file if line.split()[3] == "0A")
