#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A proxy that the host's environment names: dialled by the gateway for permitted names, opened to no sandbox, its password in no
record.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a network namespace of its own (tests/lib/internet.py).
"""
import base64
import os
import socket
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from clitest import AISBX, Home, Tap
from internet import EVIL, GOOD, LAN, LOOPBACK, NAMES, NAMES_AT, SILENT, build_internet, enter, hits, lines, listen, run, start, web

tap = Tap()
PASSWORD = "p@ss-7391w0rd"
USER = base64.b64encode(f"me:{PASSWORD}".encode()).decode()
URL = "http://me:p%40ss-7391w0rd@"
# Known to the proxy alone.
FAR = {"far.example": GOOD, "good.example": GOOD, "proxy.example": LOOPBACK}
# An address of this machine that stands for itself, as those for documentation do not.
OWN = "11.22.33.44"
heads = []


def read_head(peer):
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        part = peer.recv(1)
        if not part:
            break
        head += part
    heads.append(head.decode("latin1"))
    return heads[-1].split(" ")[1].split(":") if head.startswith(b"CONNECT ") else ("", "0")


def pump(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def proxy(peer, _):
    """A proxy that wants a password."""
    with peer:
        host, port = read_head(peer)
        if f"Proxy-Authorization: Basic {USER}\r\n" not in heads[-1]:
            peer.sendall(b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n")
            return
        if host == "tail.example":
            # What the server sends first comes with the head.
            peer.sendall(b"HTTP/1.1 200 OK\r\nVia: a\r\n\r\nHTTP/1.1 200 OK\r\n\r\ntail")
            peer.recv(4096)
            return
        if host not in FAR:
            peer.sendall(b"HTTP/1.1 502 No such host\r\n\r\n")
            return
        with socket.create_connection((FAR[host], int(port))) as server:
            peer.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=pump, args=(server, peer))
            back.start()
            pump(peer, server)
            back.join()


def repeat(peer, _):
    while data := peer.recv(9):
        peer.sendall(data)


def garbage(peer, _):
    with peer:
        read_head(peer)
        peer.sendall(b"\x00\x01\x02 what?\r\n\r\n")


def endless(peer, _):
    with peer:
        read_head(peer)
        try:
            while True:
                peer.sendall(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100)
        except OSError:
            pass


def through(home, value, script, *flags, no_proxy=None, name="HTTPS_PROXY", **words):
    """Runs with a proxy in the environment."""
    heads.clear()
    kept = home.env
    home.env = {**kept, name: value, **({"NO_PROXY": no_proxy} if no_proxy else {})}
    try:
        return run(home, script, *flags, **words)
    finally:
        home.env = kept


def got(line):
    return line and not line.endswith(("rror", "nothing"))


def test_names(home):
    script = "print(get('good.example'))\nprint(get('far.example'))\nprint(get('evil.example'))"
    out = lines(run(home, script, "--allow", "good.example:80,far.example:80"))
    tap.ok(len(out) == 3 and got(out[0]) and not got(out[1]), "(without a proxy, a name that only it knows is not reached)", out)
    for name in ("HTTPS_PROXY", "http_proxy", "ALL_PROXY"):
        result = through(home, URL + LOOPBACK + ":3128", script, "--allow", "good.example:80,far.example:80", name=name)
        out = lines(result)
        tap.ok(len(out) == 3 and got(out[0]) and got(out[1]) and not got(out[2]), f"{name}: permitted names, and no other", result)
        tap.equal(sorted(head.split(" ")[1] for head in heads), ["far.example:80", "good.example:80"], "each asked for by its name")
    out = lines(through(home, URL + "proxy.example:3128", "print(get('far.example'))", "--allow", "far.example:80"))
    tap.ok(len(out) == 1 and got(out[0]), "a proxy by its name", out)
    out = lines(through(home, URL.upper().replace("ME:P%40SS-7391W0RD", "me:p%40ss-7391w0rd") + LOOPBACK + ":3128", "print(get('far.example'))",
                        "--allow", "far.example:80"))
    tap.ok(len(out) == 1 and got(out[0]), "a proxy whose scheme is in capitals", out)
    out = lines(through(home, URL + LOOPBACK + ":3128", "print(get('tail.example'))", "--allow", "tail.example:80"))
    tap.equal(out, ["tail"], "what comes with the proxy's answer is the server's")
    out = lines(through(home, URL + LOOPBACK + ":3128", "import threading\nall = []\n"
                        "t = [threading.Thread(target=lambda: all.append(get('far.example'))) for _ in range(50)]\n"
                        "[x.start() for x in t]; [x.join() for x in t]\nprint(len(set(all)), len(all))", "--allow", "far.example:80"))
    tap.equal(out, ["1", "50"], "fifty at a time")


def test_exempt(home):
    script = "print(get('good.example'))"
    for words in ("good.example", ".example", "x.test, *.example:80", "*"):
        out = lines(through(home, URL + LOOPBACK + ":3128", script, "--allow", "good.example:80", no_proxy=words))
        tap.ok(len(out) == 1 and got(out[0]) and not heads, f"NO_PROXY={words}: directly", (out, heads))
    for words in ("ood.example", "sub.good.example", "198.51.100.0/24"):
        out = lines(through(home, URL + LOOPBACK + ":3128", script, "--allow", "good.example:80", no_proxy=words))
        tap.ok(len(out) == 1 and got(out[0]) and len(heads) == 1, f"NO_PROXY={words}: through it", (out, heads))
    out = lines(through(home, URL + LOOPBACK + ":3128", f"print(get({GOOD!r}))", "--allow", f"{GOOD}:80"))
    tap.ok(len(out) == 1 and got(out[0]) and not heads, "addresses are dialled directly", (out, heads))


def test_walls(home):
    """Nothing is reached by way of the proxy that is not reached without one; not the proxy itself either."""
    FAR.update({"lan.example": LAN, "rebind.example": LOOPBACK, "evil.example": EVIL})
    for flags in (("--allow", "lan.example:80,rebind.example:80,evil.example:8080"), ("--net", "all", "--deny", "evil.example")):
        out = lines(through(home, URL + LOOPBACK + ":3128", "for name in 'lan', 'rebind', 'evil': print(get(name + '.example'))", *flags))
        tap.ok(len(out) == 3 and not any(map(got, out)) and not heads, f"{flags[0]}: private and denied names are not asked for", (out, heads))
    script = ("import socket\nfor host in {}:\n"
              "    try:\n        s = socket.create_connection((host, 3128), WAIT); s.sendall(b'CONNECT far.example:80 HTTP/1.1\\r\\n\\r\\n'); print(len(s.recv(9)))\n"
              "    except OSError: print(0)\n")
    here, there = ("127.0.0.1", "host.local", "localhost"), ("proxy.example", "198.19.0.1", NAMES_AT)
    rules = f"localhost:3128,127.0.0.1:3128,proxy.example:3128,{NAMES_AT}:3128"
    # 198.19.0.1 stands for nothing and leads nowhere; the others answer.
    out = lines(run(home, script.format(here + there).replace("WAIT", "30"), "--allow", rules))
    tap.equal(out, ["9", "9", "9", "9", "0", "9"], "(servers at that port are reached when they are no proxy)")
    for flags in (("--allow", rules), ("--net", "all")):
        for host, places in ((LOOPBACK, here), ("localhost", here), ("proxy.example", there)):
            out = lines(through(home, f"{URL}{host}:3128", script.format(places).replace("WAIT", "5"), *flags))
            tap.ok(out == ["0"] * 3 and not heads, f"{flags[0]}: {host} is not opened", (out, heads))
    out = lines(through(home, URL + LOOPBACK + ":3128", "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(1)\n"
                        "try:\n    s.connect(('far.example', 7000)); s.send(b'x'); s.recv(9); print('heard')\nexcept OSError: print('no')",
                        "--allow", "far.example:80,udp:far.example:7000"))
    tap.equal(out, ["no"], "no datagrams by way of it")
    FAR.pop("lan.example"), FAR.pop("rebind.example"), FAR.pop("evil.example")


STAND_IN = "198.19.0.1"
# Asks for the name's address of IPv4 by itself, and dials what stands for it.
BY_QUERY = f"for name in {{}}: print(*ask(1, name.encode()))\nprint(get({STAND_IN!r}))"


def test_known_here(home):
    """A name is judged by where it is known to lead, of both families, before the proxy is asked."""
    NAMES.update({"six-dns.example": "::1", "half.example": f"{GOOD} ::1", "six-good.example": "2001:db8::10"})
    names = ("six-hosts.example", "six-dns.example", "half.example", "mixed.example", "some.localhost", "localhost.localdomain", socket.gethostname())
    FAR.update({name: LOOPBACK for name in names} | {"six-good.example": GOOD})
    for name in names:
        out = lines(through(home, URL + LOOPBACK + ":3128", BY_QUERY.format((name,)), "--net", "all"))
        tap.ok(len(out) == 3 and out[1] == "0" and not got(out[2]) and not heads, f"{name} is not left to the proxy", (out, heads))
    out = lines(through(home, URL + LOOPBACK + ":3128", "print(get('six-good.example'))", "--net", "all"))
    tap.ok(len(out) == 1 and got(out[0]), "a name with a permitted address of IPv6 alone is", out)
    for name in (*names, "six-good.example"):
        FAR.pop(name)


def test_denied_address(home):
    """Rules about addresses, and the wall around this machine's own, hold for names behind a proxy."""
    NAMES["own.example"] = OWN
    FAR.update({"own.example": OWN, "evil.example": EVIL})
    for flags, script in ((("--deny", EVIL + "/32"), "print(get('evil.example'))"), ((), "print(get('own.example'))")):
        result = through(home, URL + LOOPBACK + ":3128", script, "--net", "all", *flags)
        out = lines(result)
        tap.ok(len(out) == 1 and not got(out[0]) and not heads, f"{flags or OWN}: not by way of the proxy", (result, heads))
    out = lines(through(home, URL + LOOPBACK + ":3128", "print(get('own.example'))", "--allow", f"own.example:80,{OWN}:80"))
    tap.ok(len(out) == 1 and got(out[0]), "an address of its own that a rule names is reached", out)
    kept = home.env
    home.env = {**kept, "HTTPS_PROXY": URL + LOOPBACK + ":3128"}
    made = home.call("create", "live", "--net", "all")
    script = ("import socket\ns = socket.create_connection(('evil.example', 7100), 60); s.sendall(b'1'); print(s.recv(9), flush=True); input()\n"
              "try: s.sendall(b'2'); print('kept' if s.recv(9) else 'ended')\nexcept OSError: print('ended')")
    with subprocess.Popen([AISBX, "exec", "live", "--", "python3", "-c", script], cwd=home.work, env=home.env, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as inside:
        first = inside.stdout.readline()
        denied = home.call("deny", "live", f"net:egress:{EVIL}/32:7100")
        rest = inside.communicate("\n")[0]
    tap.ok(first == "b'1'\n" and rest == "ended\n", "a rule that comes later ends what goes there by way of the proxy", (made, first, denied, rest))
    home.call("rm", "live")
    home.env = kept
    FAR.pop("own.example"), FAR.pop("evil.example")


def test_proxy_itself(home):
    """By no other name, nor through itself."""
    FAR["alias.example"] = NAMES_AT
    script = ("import socket\ntry:\n    s = socket.create_connection(({!r}, {}), 5); s.sendall({!r}); print(len(s.recv(9)))\n"
              "except OSError: print(0)\n")
    inner = b"CONNECT far.example:80 HTTP/1.1\r\n\r\n"
    for url, name in (("proxy.example", "alias.example"), (NAMES_AT, "alias.example"), ("Proxy.Example.", "proxy.example")):
        for flags in (("--net", "all"), ("--allow", f"{name}:3128")):
            out = lines(through(home, f"{URL}{url}:3128", BY_QUERY.format((name,)) + "\n" + script.format(STAND_IN, 3128, inner) +
                                script.format(NAMES_AT, 3128, inner), *flags))
            tap.ok(out[-2:] == ["0", "0"] and ":3128" not in str(heads), f"{flags[0]}: {url} is not opened as {name}", (out, heads))
    FAR.pop("alias.example")
    hits.clear()
    for request in (b"CONNECT x.example:3128\r\n\r\n", b" CONNECT x.example:3128 HTTP/1.1\r\n\r\n", b"CONNECT x.example:3128 HTTP/1.0\r\n\r\n", b"\0\1"):
        through(home, URL + LOOPBACK + ":3128", script.format("far.example", 80, request), "--allow", "far.example:80")
        tap.ok(not hits, f"{request!r} does not reach a server", hits)


def test_stand_in(home):
    """An address that stands for no name is an address as any other."""
    out = lines(through(home, URL + LOOPBACK + ":3128", "print(get('198.19.7.7', 443))\nprint(get('good.example'))",
                        "--allow", "198.19.0.0/16:443,good.example:80"))
    tap.ok(len(out) == 2 and not got(out[0]) and got(out[1]) and "null" not in str(heads), "it is not asked for at the proxy", (out, heads))


def test_outage(home):
    """Nameservers that come back: so does the proxy."""
    SILENT.add("proxy.example")
    kept = home.env
    home.env = {**kept, "HTTPS_PROXY": URL + "proxy.example:3128"}
    # A connection to its address, which is not known for the proxy's yet.
    script = ("early = socket.create_connection((%r, 3128), 20)\nprint(get('far.example'))\ninput()\nprint(get('far.example'))\n"
              "try: print('ended' if early.recv(9) == b'' else 'open')\nexcept TimeoutError: print('open')\nexcept OSError: print('ended')" % NAMES_AT)
    with start(home, script, "--allow", f"far.example:80,{NAMES_AT}:3128") as inside:
        first = inside.stdout.readline().decode().strip()
        SILENT.remove("proxy.example")
        rest = inside.communicate(b"\n")[0].decode().split()
    home.env = kept
    tap.ok(not got(first) and len(rest) == 2 and got(rest[0]), "a proxy whose name was not known at first", (first, rest))
    tap.equal(rest[-1:], ["ended"], "what had been connected to it before ends when it is known")


def test_secret(home):
    """Neither inside nor in any file or word of ours."""
    script = ("import os\nprint(sorted(k for k in os.environ if k.lower().endswith('_proxy')))\nprint(open('/proc/self/environ').read())\n"
              "print(get('good.example'))")
    for url in (URL + LOOPBACK + ":3128", URL + LOOPBACK + ":3999", URL + LOOPBACK + ":3130", "socks5://me:p%40ss-7391w0rd@" + LOOPBACK):
        result = through(home, url, script, "--allow", "good.example:80")
        tap.ok(lines(result)[:1] == ["[]"], "proxy variables do not come in", result)
        tap.ok(not any(word in str(result) for word in (PASSWORD, "p%40ss", USER)), "nor does the password, in words or base64")
    home.env["HTTPS_PROXY"] = URL + LOOPBACK + ":3128"
    for words in (("create", "kept", "--allow", "good.example:80"), ("exec", "kept", "--", "true"), ("plan", "--json", "--allow", "good.example", "--", "true"),
                  ("rm", "kept")):
        done = home.call(*words)
        tap.ok(done.returncode == 0 and not any(word in done.stdout + done.stderr for word in (PASSWORD, "p%40ss", USER)), f"nor in {words[0]}", done)
    del home.env["HTTPS_PROXY"]
    found = subprocess.run(["grep", "-rlaE", f"ss-7391w0rd|{USER}", home.path], capture_output=True, text=True, check=False)
    # A file that goes while grep looks (trash is emptied in the background) is no find.
    others = [line for line in found.stderr.splitlines() if "No such file" not in line]
    tap.ok(not found.stdout and not others, "nor in any file", found)


def test_errors(home):
    """Each names the proxy and what to do."""
    for url, words in ((f"http://{LOOPBACK}:3999", (f"{LOOPBACK}:3999", "refused")), (f"http://me:wrong@{LOOPBACK}:3128", ("407",)),
                       (f"http://{LOOPBACK}:3130", ("does not speak HTTP",)), (f"http://{LOOPBACK}:3131", ("sound answer",)),
                       ("socks5://127.0.0.1:1080", ("http://HOST:PORT",)), (f"https://{LOOPBACK}:3128", ("http://HOST:PORT",)),
                       ("http://nowhere.example:3128", ("nowhere.example:3128", "nameserver"))):
        result = through(home, url, "print(get('good.example'))", "--allow", "good.example:80")
        denials = [denial for denial in result["denials"] if denial["layer"] == "upstream"]
        tap.ok(not got(lines(result)[0]) and len(denials) == 1 and all(word in denials[0]["rule"] for word in ("proxy", "HTTPS_PROXY", *words)) and
               "NO_PROXY" in denials[0]["hint"], f"{url}: {words[0]}", result["denials"])
    result = through(home, URL + LOOPBACK + ":3128", "print(get('other.example'))", "--allow", "other.example:80")
    tap.ok(any("502" in denial["rule"] for denial in result["denials"]), "a name that the proxy does not reach", result["denials"])


def main():
    enter()
    NAMES["proxy.example"] = NAMES_AT
    with Home("net-proxy-") as home:
        build_internet(home)
        for address in (LOOPBACK, NAMES_AT):
            listen(address, 3128, proxy)
        subprocess.run(["ip", "addr", "add", OWN + "/32", "dev", "lo"], check=True)
        listen(OWN, 80, web)
        listen(EVIL, 7100, repeat)
        with open(home.path + "/hosts", "a") as hosts:
            hosts.write(f"::1 six-hosts.example\n{NAMES_AT} alias.example\n")
        listen(LOOPBACK, 3130, garbage)
        listen(LOOPBACK, 3131, endless)
        if home.can_run(tap, "a proxy"):
            for test in (test_names, test_exempt, test_walls, test_known_here, test_denied_address, test_proxy_itself, test_stand_in, test_outage,
                         test_secret, test_errors):
                tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
