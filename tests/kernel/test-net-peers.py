#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Peers that are slow, silent, flood or reset, on both sides of the gateway; hosts without IPv6; inside a container.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a network namespace of its own (tests/lib/internet.py).
"""
import os
import resource
import select
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from box import patience, slow
from clitest import AISBX, Home, Tap
from family import open_files
from internet import GOOD, PRELUDE, build_internet, enter, gateways, lines, listen, run, start

tap = Tap()
# What each server that never reads was told about its connection: a reset, or nothing.
told = []
PORTS = ["--allow", "good.example:7100-7105", "--allow", "good.example:80", "--allow", "udp:good.example:9000"]


def silent(peer, _):
    """Takes the connection and says nothing until the other side goes."""
    peer.settimeout(120)
    while peer.recv(1 << 16):
        pass


def deaf(peer, _):
    """Never reads; only a reset makes it go."""
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    poll = select.poll()
    poll.register(peer, 0)
    told.append(bool(poll.poll(1000 * patience(60))))


def flood(peer, _):
    peer.settimeout(patience(20))
    while True:
        peer.sendall(b"x" * 65536)


def drip(peer, _):
    for byte in b"slowly":
        peer.sendall(bytes([byte]))
        time.sleep(0.05)


def slam_later(peer, _):
    """A reset in the middle of what it sends."""
    peer.sendall(b"y" * 300000)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def mine(child):
    """(pid, resident KiB) of the gateway of a run."""
    for pid, (size, text) in gateways().items():
        if int(text["PPid"]) == child.pid:
            return pid, size
    return 0, 0


def descriptors(pid):
    """How many the gateway has open; None where that cannot be seen."""
    try:
        return len(open_files(pid)) or None
    except PermissionError:
        return None


def sockets(pid):
    """How many of them are sockets; None where that cannot be seen."""
    try:
        return sum(link.startswith("socket:") for link in open_files(pid).values())
    except PermissionError:
        return None


def settle(read, wanted):
    """Waits until READ() is WANTED, or hope ends; what it is then."""
    end = time.monotonic() + patience(10)
    while read() != wanted and time.monotonic() < end:
        time.sleep(0.05)
    return read()


SCRIPT = """
HOST = socket.gethostbyname('good.example')
def many(port, count=40):
    return [socket.create_connection((HOST, port), 60) for _ in range(count)]
def reset(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0)); s.close()
def said(word):
    print(word, flush=True); sys.stdin.readline()
get(HOST); said('begun')
held = many(7100); said('silent servers')
for s in held: s.close()
held = many(7101)
for s in held:
    s.setblocking(False)
    try:
        while True: s.send(b'z' * 65536)
    except BlockingIOError: pass
said('deaf servers')
for s in held: reset(s)
held = many(7102); import time; time.sleep(1); said('floods that nobody reads')
for s in held: reset(s)
s = socket.create_connection((HOST, 7103)); data = b''
while part := s.recv(100): data += part
said(data.decode()); s.close()
ends = []
for _ in range(40):
    try:
        with socket.create_connection((HOST, 7104), 60) as s:
            while part := s.recv(65536): pass
        ends.append('end')
    # Also while connecting: the server may be that quick.
    except ConnectionResetError: ends.append('reset')
said('-'.join(sorted(set(ends))))
for s in many(7100): reset(s)
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(3000): u.sendto(b'x' * 1000, (HOST, 9000))
u.close(); said('datagrams')
said(get(HOST))
"""


def test_peers(home):
    child = start(home, SCRIPT, *PORTS, "--nofile", "4096")

    def word():
        return child.stdout.readline().decode().strip()

    def go_on():
        child.stdin.write(b"\n")
        child.stdin.flush()

    tap.ok(word() == "begun", "begun")
    pid, _ = mine(child)
    before = settle(lambda: descriptors(pid), descriptors(pid))
    for want in ("silent servers", "deaf servers", "floods that nobody reads", "slowly", "reset", "datagrams", GOOD):
        go_on()
        got = word()
        size = mine(child)[1]
        tap.ok(got == want and (size <= 16384 or slow()), f"{want}: passed on, in {size} KiB", (got, size))
    # Each in the middle of what its client had to say: the gateway waits for the server alone.
    settle(lambda: len(told), 40)
    tap.equal(told, [True] * 40, "a reset reaches a server that does not read")
    if before is None:
        tap.skip("descriptors of the gateway", "a process that cannot be looked into")
    else:
        # The one of datagrams stays for two minutes, and a few pipes are kept.
        left = settle(lambda: (descriptors(pid) or 0) <= before + 1 + 2 * 32, True)
        tap.ok(left, "no descriptor is stuck", (before, descriptors(pid)))
    go_on()
    child.stdin.close()
    child.wait()
    child.stdout.close()


def test_killed_client(home):
    """Who dies in the middle takes connections along, also those that its children held."""
    script = "import os, time\nheld = [socket.create_connection(('good.example', 7100), 60) for _ in range(20)]\n" \
             "if os.fork() == 0: time.sleep(1000)\nprint('held', flush=True)\nos.kill(os.getpid(), 9)"
    r = run(home, script, *PORTS)
    tap.ok(lines(r) == ["held"] and r.get("signal"), "a client that is killed", r.get("status"))
    end = time.monotonic() + patience(10)
    count = subprocess.run(["ss", "-Htn", "state", "established", "dst", GOOD, "dport", "=", "7100"], capture_output=True, text=True, check=False)
    while count.returncode == 0 and count.stdout.strip() and time.monotonic() < end:
        time.sleep(0.05)
        count = subprocess.run(["ss", "-Htn", "state", "established", "dst", GOOD, "dport", "=", "7100"], capture_output=True, text=True,
                               check=False)
    tap.ok(not count.stdout.strip(), "nothing of it is left outside", count.stdout)


def shout(peer, _):
    """An urgent byte in the middle of what it says."""
    peer.sendall(b"before")
    peer.send(b"U", socket.MSG_OOB)
    peer.sendall(b"after")
    peer.recv(1)


def heed(peer, _):
    """Says what it heard, urgent bytes in their place."""
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
    peer.settimeout(patience(20))
    heard = b""
    while b"after" not in heard and (part := peer.recv(100)):
        heard += part
    peer.sendall(b"heard " + heard)


def test_urgent(home):
    """Splicing stops in front of an urgent byte; nothing else does."""
    script = """
def say(port, *parts):
    with socket.create_connection(('good.example', port), 60) as s:
        s.settimeout(60)
        got = b''
        try:
            for part in parts: s.send(part[1:], socket.MSG_OOB) if part[:1] == b'!' else s.sendall(part)
            while b'after' not in got and b'HTTP' not in got and (more := s.recv(200)): got += more
        except OSError as e: return type(e).__name__
    return got.decode().replace(' ', '-').split('\\r')[0]
print(say(7105, b'before', b'!U', b'after'), say(7106), say(8080, b'GET / HT', b'!U', b'TP/1.1\\r\\nHost: good.example\\r\\n\\r\\n'),
      say(443, b'\\x16\\3\\1\\2\\0\\1', b'!U', b'x' * 600),
      say(7107, b'POST / HTTP/1.1\\r\\nHost: good.example\\r\\nContent-Length: 7\\r\\n\\r\\nab', b'!U', b'after'))
"""
    r = run(home, script, "--allow", "good.example:7105-7106", "--allow", "http:good.example:8080", "--allow", "good.example:443",
            "--allow", "http:good.example:7107")
    tap.ok(lines(r)[:2] == ["heard-beforeUafter", "beforeafter"], "urgent bytes go both ways, and what is behind them", r.get("stdout"))
    tap.ok(lines(r)[2:4] == ["HTTP/1.1-400-Bad-Request", "ConnectionResetError"] or lines(r)[2:4] == ["HTTP/1.1-200-OK", "ConnectionResetError"],
           "where bytes are looked at they bar the way, or are none of them", (r.get("stdout"), r.get("denials")))
    tap.ok(lines(r)[4:] == ["ConnectionResetError"], "a body that is counted has none", (r.get("stdout"), r.get("denials")))


def test_no_descriptor(home):
    """With none left whoever comes is turned away, and does not wait for ever."""
    script = f"print('up', flush=True)\nfor line in sys.stdin: print(get('{GOOD}'), flush=True)"
    child = start(home, script, "--allow", f"{GOOD}:80")
    child.stdout.readline()
    pid, _ = mine(child)
    before_any = sockets(pid)

    def reach():
        child.stdin.write(b"\n")
        child.stdin.flush()
        return child.stdout.readline().decode().strip()

    tap.ok(reach() == GOOD, "one that works")

    def settled():
        """What it holds once the first connection is closed on both sides: no more sockets, and the same for a second."""
        settle(lambda: sockets(pid), before_any)
        used, since = None, time.monotonic()
        while time.monotonic() < since + 1:
            now = {int(name) for name in open_files(pid)}
            if now != used:
                used, since = now, time.monotonic()
            time.sleep(0.05)
        return used

    try:
        used = settled()
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        none = min(set(range(len(used) + 1)) - used)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (none, before[1]))
    except OSError:
        tap.skip("no descriptor left", "a process that cannot be looked into")
    else:
        answers = [reach(), reach()]
        tap.ok(answers == ["ConnectionResetError"] * 2, "no descriptor left: turned away", (answers, none, sorted(used)))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        tap.ok(reach() == GOOD, "and one that works again")
    child.stdin.close()
    child.wait()
    child.stdout.close()


def test_without_six(home):
    try:
        with open("/proc/sys/net/ipv6/conf/all/disable_ipv6", "w") as out:
            out.write("1")
    except OSError as problem:
        tap.skip("a host without IPv6", problem.strerror)
        return
    r = run(home, "print(get('good.example'), get('six.example'), ask(28, b'six.example'), ask(1, b'good.example'))",
            "--allow", "good.example:80", "--allow", "six.example:80")
    tap.ok(lines(r)[:2] == [GOOD, "gaierror"] and r["stdout"].endswith("(0, 0) (0, 1)\n"), "a host without IPv6", r.get("stdout"))
    r = run(home, "print(get('good.example'))", "--allow", "[2001:db8::/32]:80", "--allow", "good.example:80")
    tap.ok(lines(r) == [GOOD], "rules about it change nothing there", r.get("stdout"))
    r = run(home, "print(get('2001:db8::10'), get('::1'), get('::ffff:10.9.8.7'), get('fe80::1%lo'))", "--allow", "[2001:db8::/32]:80",
            "--allow", "good.example:80")
    tap.ok(len(lines(r)) == 4 and all(word.endswith("rror") for word in lines(r)), "addresses of it lead nowhere", r.get("stdout"))
    r = run(home, "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(60); s.sendto(b'x', (socket.gethostbyname('good.example'), 9000));"
            "print(s.recv(100).decode(), get('host.local'))", "--allow", "udp:good.example:9000", "--allow", "host.local:80")
    tap.ok(lines(r) == ["echo", "x", "127.0.0.1"], "datagrams and the host's loopback", r.get("stdout"))
    home.call("create", "nosix", "--allow", "good.example:80")
    home.call("exec", "nosix", "--", "true")
    home.call("allow", "nosix", "net:egress:good.example:8080")
    r = run(home, "print(get('good.example', 8080))", "nosix", command="exec")
    tap.ok(lines(r) == [GOOD], "a port that is opened later", r.get("stdout"))
    home.call("rm", "nosix")
    with open("/proc/sys/net/ipv6/conf/all/disable_ipv6", "w") as out:
        out.write("0")


def test_in_container(home):
    """A user namespace with one id stands in for a container without privileges."""
    words = [AISBX, "run", "--allow", "good.example:80", "--", "python3", "-c", PRELUDE + "print(get('good.example'), get('evil.example'))"]
    done = subprocess.run(["unshare", "-Ur", *words], cwd=home.work, env={**home.env, "HOME": home.path}, capture_output=True, text=True,
                          timeout=patience(60), check=False)
    if done.returncode == 125 and "userns" not in done.stderr and "gateway" not in done.stderr:
        tap.skip("inside a container", done.stderr.strip()[-150:].replace("\n", " "))
        return
    tap.ok(done.stdout.split() == [GOOD, "gaierror"], "inside a container", done.stdout + done.stderr)


def test_in_own_container(home):
    """The same with a network and mounts of its own, as containers have: one address, a server, names in a file."""
    script = f"""
ip link set lo up && ip addr add {GOOD}/32 dev lo && ip addr add 10.9.8.7/32 dev lo || exit 77
printf '{GOOD} good.example\n10.9.8.7 lan.example\n' > {home.path}/hosts.own
mount --bind {home.path}/hosts.own /etc/hosts || exit 77
python3 -c '
import socket, threading
for address in ("{GOOD}", "10.9.8.7"):
    s = socket.create_server((address, 80))
    threading.Thread(target=lambda s=s, a=address: [(k := s.accept()[0]).sendall(b"HTTP/1.0 200 OK\\r\\n\\r\\n" + a.encode()) or k.shutdown(1) or k.recv(9) for _ in iter(int, 1)]).start()
print("up", flush=True)' > {home.path}/up &
server=$!
while ! grep -q up {home.path}/up 2>/dev/null; do sleep 0.05; done
"$@" --allow good.example:80 --allow lan.example:80 -- python3 -c '{PRELUDE.replace("'", '"')}
print(get("good.example"), get("lan.example"), get("evil.example"), get("10.9.8.7"))'
code=$?
"$@" --publish 18099:5000 -- true || code=$?
kill -9 $server
exit $code
"""
    done = subprocess.run(["unshare", "-Urnm", "sh", "-c", script, "sh", AISBX, "run"], cwd=home.work, env={**home.env, "HOME": home.path},
                          capture_output=True, text=True, timeout=patience(60), check=False)
    if done.returncode == 77 or "machine's root" in done.stderr:
        tap.skip("inside a container with a network of its own", done.stderr.strip()[-150:].replace("\n", " "))
        return
    tap.ok(done.stdout.split() == [GOOD, "ConnectionResetError", "gaierror", "ConnectionResetError"] and done.returncode == 0,
           "inside a container with a network of its own", (done.returncode, done.stdout + done.stderr))


def main():
    enter()
    with Home("net-peers-") as home:
        build_internet(home)
        for port, handler in ((7100, silent), (7101, deaf), (7102, flood), (7103, drip), (7104, slam_later), (7105, heed), (7106, shout),
                              (7107, heed)):
            listen(GOOD, port, handler)
        for test in (test_peers, test_killed_client, test_urgent, test_no_descriptor, test_without_six, test_in_container, test_in_own_container):
            tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
