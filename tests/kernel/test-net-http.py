#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules about plain HTTP requests, and headers added outside: what passes, what is refused, what a server gets to see.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a network namespace of its own (tests/lib/internet.py).
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from clitest import AISBX, Home, Tap
from internet import GOOD, LAN, PRELUDE, build_internet, enter, lines, listen, run

tap = Tap()
seen, raw = [], []
SECRET = "Bearer s3cret-c4nary"


def more(peer):
    part = peer.recv(65536)
    if not part:
        raise OSError("it ends in the middle")
    return part


def server(peer, _):
    """Answers each request with the headers it got; keeps everything it was sent."""
    peer.settimeout(120)
    have = b""
    while True:
        while b"\r\n\r\n" not in have:
            part = peer.recv(65536)
            if not part:
                return
            raw.append(part)
            have += part
        head, _, have = have.partition(b"\r\n\r\n")
        rows = head.decode().split("\r\n")
        fields = {k.lower(): v.strip() for k, _, v in (row.partition(":") for row in rows[1:])}
        body = b""
        if "content-length" in fields:
            while len(have) < int(fields["content-length"]):
                have += more(peer)
            body, have = have[:int(fields["content-length"])], have[int(fields["content-length"]):]
        elif fields.get("transfer-encoding") == "chunked":
            while b"0\r\n\r\n" not in have:
                have += more(peer)
            body, _, have = have.partition(b"0\r\n\r\n")
        seen.append((rows[0], fields, body))
        text = rows[0].split()[1].encode()
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))


TALK = """
def talk(text, host='good.example', port=8000, wait=True):
    '''Sends bytes, reads to the end; the status lines that came.'''
    try:
        with socket.create_connection((host, port), 60) as s:
            s.settimeout(60)
            s.sendall(text if isinstance(text, bytes) else text.encode())
            if wait: s.shutdown(socket.SHUT_WR)
            data = b''
            while True:
                part = s.recv(65536)
                if not part: break
                data += part
    except OSError as e:
        return type(e).__name__
    return '+'.join(part[:3].decode() for part in data.split(b'HTTP/1.1 ')[1:]) or 'nothing'
def req(line, *fields, host='good.example', body=''):
    return '\\r\\n'.join([line + ' HTTP/1.1', 'Host: ' + host, *fields, '', body])
"""
R = ["--allow", "http:GET,HEAD:good.example:8000/api/", "--allow", "http:POST:good.example:8000/in"]


def talk(home, script, *flags):
    return run(home, TALK + script, *flags)


def test_judged(home):
    seen.clear()
    r = talk(home, "print(talk(req('GET /api/x?y')), talk(req('GET /other')), talk(req('DELETE /api/x')), "
             "talk(req('POST /in', 'Content-Length: 5', body='hello')), talk(req('POST /in/put', 'Transfer-Encoding: chunked',"
             "body='5\\r\\nhello\\r\\n0\\r\\n\\r\\n')), talk(req('GET /api/../etc')), talk(req('GET /api%2f..')), "
             "talk(req('GET http://good.example:8000/api/abs')), talk(req('HEAD /api/', host='GOOD.example.:8000')))", *R)
    tap.ok(lines(r) == ["200", "403", "403", "200", "200", "403", "403", "400", "200"], "methods and paths", r.get("stdout"))
    tap.ok([s[0].split()[:2] for s in seen] == [["GET", "/api/x?y"], ["POST", "/in"], ["POST", "/in/put"],
                                                ["HEAD", "/api/"]], "the server saw the permitted ones only",
           [s[0] for s in seen])
    tap.ok(seen[1][2] == b"hello" and seen[2][2] == b"5\r\nhello\r\n", "with their bodies", seen)
    told = {d["what"]: d for d in r.get("denials", [])}
    tap.ok("GET /other of good.example:8000" in told and "DELETE /api/x of good.example:8000" in told
           and not any("?" in what for what in told), "each refusal is told, without queries", list(told))
    r = talk(home, "print(talk(req('GET /api/x')), talk(req('GET /api/x', host='good.example:8000')))", *R,
             "--deny", "http:GET:good.example:8000/api/x")
    tap.ok(lines(r) == ["403", "403"], "a rule to deny wins", r.get("stdout"))
    r = talk(home, "print(talk(req('GET /free')), talk(req('DELETE /free')))", "--allow", "good.example:8000",
             "--deny", "http:DELETE:good.example:8000")
    tap.ok(lines(r) == ["200", "403"], "one method of a host that is allowed", r.get("stdout"))
    r = talk(home, f"print(talk(req('GET /x', host='{LAN}:8000'), '{LAN}'), talk(req('GET /x', host='good.example'), '{LAN}'))",
             "--allow", f"http:{LAN}:8000/x")
    tap.ok(lines(r) == ["200", "400"], "by address", r.get("stdout"))


def test_in_a_row(home):
    seen.clear()
    r = talk(home, "print(talk(req('GET /api/1') + req('GET /api/2') + req('POST /in', 'Content-Length: 2', body='ab') + req('GET /api/3')),"
             "talk(req('GET /api/4') + req('GET /etc/5') + req('GET /api/6')))", *R)
    tap.ok(lines(r) == ["200+200+200+200", "200"], "one after the other on one connection, each is judged", r.get("stdout"))
    tap.ok([s[0].split()[1] for s in seen] == ["/api/1", "/api/2", "/in", "/api/3", "/api/4"], "behind a refused one nothing goes on",
           [s[0] for s in seen])
    script = """
import http.client, time
c = http.client.HTTPConnection('good.example', 8000, timeout=60)
out = []
for path in ('/api/a', '/api/b', '/api/c'):
    c.request('GET', path); out.append(c.getresponse().read().decode())
c.request('POST', '/in', body='x' * 300000); out.append(str(c.getresponse().status))
s = socket.create_connection(('good.example', 8000), 60)
for byte in req('GET /api/slow').encode(): s.send(bytes([byte])); time.sleep(.002)
out.append(s.recv(100).split()[1].decode())
print(*out)
"""
    r = talk(home, script, *R)
    tap.ok(lines(r) == ["/api/a", "/api/b", "/api/c", "200", "200"], "kept alive, with a large body, byte by byte",
           r.get("stdout") + r.get("stderr", ""))


SMUGGLED = {
    "both lengths": "req('POST /in', 'Content-Length: 4', 'Transfer-Encoding: chunked', body='0\\r\\n\\r\\n')",
    "two lengths": "req('POST /in', 'Content-Length: 4', 'Content-Length: 5', body='abcde')",
    "a length with a sign": "req('POST /in', 'Content-Length: +4', body='abcd')",
    "another coding": "req('POST /in', 'Transfer-Encoding: xchunked', body='0\\r\\n\\r\\n')",
    "a hidden coding": "req('POST /in', 'Transfer-Encoding:\\x0bchunked', body='0\\r\\n\\r\\n')",
    "a blank before the colon": "req('GET /api/x', 'Content-Length : 4')",
    "folded lines": "req('GET /api/x', 'X: a', '  b')",
    "bare line feeds": "req('GET /api/x').replace('\\r\\n', '\\n')",
    "a bare carriage return": "req('GET /api/x', 'X: a\\rHost: evil.example')",
    "two Hosts": "req('GET /api/x', 'Host: good.example')",
    "no Host": "'GET /api/x HTTP/1.1\\r\\n\\r\\n'",
    "another Host": "req('GET /api/x', host='evil.example')",
    "another port": "req('GET /api/x', host='good.example:81')",
    "another absolute host": "req('GET http://evil.example/api/x')",
    "control bytes": "req('GET /api/x', 'X: \\x00')",
    "a chunk with an extension": "req('POST /in', 'Transfer-Encoding: chunked', body='5;a=b\\r\\nhello\\r\\n0\\r\\n\\r\\n')",
    "a chunk that lies": "req('POST /in', 'Transfer-Encoding: chunked', body='2\\r\\nhello\\r\\n0\\r\\n\\r\\n')",
    "trailers": "req('POST /in', 'Transfer-Encoding: chunked', body='0\\r\\nX: y\\r\\n\\r\\n')",
    "HTTP/2": "'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n'",
    "no HTTP at all": "'\\x16\\x03\\x01\\x00\\x05hello'",
    "a head that ends in the middle": "'GET /api/x HT'",
}


def test_smuggled(home):
    """A second request hidden in the first would be seen by the server."""
    seen.clear()
    evil = "req('GET /secret', host='good.example')"
    script = "".join(f"print(talk(({text}) + {evil}))\n" for text in SMUGGLED.values())
    r = talk(home, script, *R)
    for name, got in zip(SMUGGLED, lines(r) + [""] * len(SMUGGLED)):
        # Where the fault lies in the body, the head was permitted and has gone on: then there is no answer of ours.
        tap.ok(got in ("400", "403") or got in ("nothing", "200") and ("chunk" in name or name == "trailers"), f"refused: {name}", got)
    tap.ok(not any("secret" in s[0] for s in seen) and not any(b"secret" in part for part in raw),
           "nothing of what was hidden has reached the server", [s[0] for s in seen])
    r = talk(home, "print(talk(req('CONNECT good.example:8000')), talk(req('CONNECT localhost:22', host='localhost')),"
             "talk(req('GET http://127.0.0.1:80/', host='127.0.0.1')), talk(req('TRACE /api/x')),"
             "talk('GET /' + 'a' * 20000 + ' HTTP/1.1\\r\\n\\r\\n'), talk(req('GET /api/', *['X: y'] * 200)))", *R)
    tap.ok(lines(r) == ["403", "400", "400", "403", "431", "431"], "no proxy, no trace, no endless heads", r.get("stdout"))


def test_secret(home):
    seen.clear()
    token = home.put("token", SECRET + "\n", 0o600)
    flags = ["--allow", "good.example:8000", "--secret-header", f"good.example:Authorization={token}"]
    script = f"""
import os, subprocess
print(talk(req('GET /a')), talk(req('GET /b', 'authorization: mine', 'AUTHORIZATION: mine too')), talk(req('TRACE /c')))
print(os.path.exists('{token}'), subprocess.run('cat {token}; grep -r c4""nary /proc/*/environ /proc/*/cmdline /run/aisbx . 2>/dev/null',
      shell=True, capture_output=True).stdout)
"""
    r = talk(home, script, *flags)
    tap.ok(lines(r)[:3] == ["200", "200", "403"], "requests pass, TRACE does not", r.get("stdout"))
    tap.ok([s[1].get("authorization") for s in seen] == [SECRET] * 2, "the server gets the secret, and only that", seen)
    tap.ok(lines(r)[3:] == ["False", "b''"], "inside there is nothing of it", r.get("stdout"))
    everything = subprocess.run(["grep", "-rl", "c4nary", home.path, "--exclude=token"], capture_output=True, text=True,
                                check=False).stdout
    tap.ok(everything == "" and "c4nary" not in str(r), "nor in any record", everything)
    seen.clear()
    r = talk(home, f"print(talk(req('GET /a', host='{GOOD}'), '{GOOD}'), talk(req('GET /a'), '{GOOD}'))",
             "--allow", f"{GOOD}:8000", *flags)
    tap.ok(not any(SECRET in str(s) for s in seen if "good.example" not in s[1]["host"]), "only where it was meant to go", seen)
    r = talk(home, "print(talk(req('GET /a')))", "--allow", "alias.example:8000", *flags)
    home.call("create", "hdr", "--allow", "good.example:8000", "--secret-header", "good.example:X-Key=token")
    seen.clear()
    r = run(home, TALK + "print(talk(req('GET /kept')))", "hdr", command="exec")
    tap.ok(lines(r) == ["200"] and seen[0][1].get("x-key") == SECRET, "a named sandbox, with a path as it was written", r)
    os.symlink(token, home.path + "/link")
    home.put("two", "a\nb\n")
    home.put("none", "")
    for allow, header, why in (("good.example:443", f"good.example:A={token}", "443"),
                               ("evil.example:80", f"good.example:A={token}", "--allow good.example:80"),
                               ("good.example:80", f"good.example:Host={token}", "cannot be added"),
                               ("good.example:80", f"good.example:A={home.path}/absent", "absent"),
                               ("good.example:80", f"good.example:A={home.path}/link", "symbolic link"),
                               ("good.example:80", "good.example:A=two", "one line"),
                               ("good.example:80", "good.example:A=none", "one line"),
                               ("good.example:80", "good.example:A b=two", "header")):
        done = home.call("run", "--allow", allow, "--secret-header", header, "--", "true")
        tap.ok(done.returncode == 125 and why in done.stderr and "c4nary" not in done.stderr, f"refused: {why}", done.stderr)


def test_slow(home):
    """A head that does not come is not waited for, and holds nobody else up."""
    script = """
import time
s = socket.create_connection(('good.example', 8000), 60); s.settimeout(60)
s.sendall(b'GET /api/x HT')
print(talk(req('GET /api/y')), s.recv(100).split()[1].decode())
"""
    r = talk(home, script, *R)
    tap.ok(lines(r) == ["200", "408"], "too slow a head", r.get("stdout"))


def test_live(home):
    home.call("create", "httplive", "--allow", "http:GET:good.example:8000/api/")
    script = TALK + "import sys\nfor line in sys.stdin: print(talk(req(line.strip())), flush=True)"
    child = subprocess.Popen([AISBX, "exec", "httplive", "--", "python3", "-uc", PRELUDE + script], cwd=home.work,
                             env=home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)

    def ask(line):
        child.stdin.write(line + "\n")
        child.stdin.flush()
        return child.stdout.readline().strip()

    tap.ok(ask("PUT /api/x") == "403", "a method that no rule permits")
    home.call("allow", "httplive", "net:egress:http:PUT:good.example:8000/api/x")
    tap.ok(ask("PUT /api/x") == "200" and ask("PUT /api/y") == "403", "until one does")
    child.stdin.close()
    child.wait()
    child.stdout.close()


def test_shared(home):
    """Two names of one address, of which rules about requests name one: the other is no way around them."""
    seen.clear()
    flags = ["--allow", "http:GET:good.example:8000/api/", "--allow", "api.good.example:8000"]
    script = """
print(talk(req('DELETE /private'), host='api.good.example'))
s = socket.create_connection(('api.good.example', 8000), 60); s.settimeout(60)
socket.getaddrinfo('good.example', 8000)
s.sendall(req('DELETE /private').encode()); print(s.recv(100).split()[1].decode())
print(talk(req('DELETE /private'), host='api.good.example'), talk(req('DELETE /free', host='api.good.example'), host='api.good.example'),
      talk(req('GET /api/x')), talk(req('GET /x', host='evil.example'), host='api.good.example'))
"""
    r = talk(home, script, *flags)
    tap.ok(lines(r) == ["400", "403", "403", "200", "200", "400"], "a name that shares its address", r.get("stdout"))
    tap.ok([s[0].split()[1] for s in seen] == ["/free", "/api/x"], "what the server saw of it", [s[0] for s in seen])
    r = talk(home, "print(talk(req('DELETE /private'), host='api.good.example'), talk(req('DELETE /private')), talk(req('GET /x')))",
             "--allow", "good.example:8000", "--allow", "api.good.example:8000", "--deny", "http:DELETE:good.example:8000/")
    tap.ok(lines(r) == ["400", "403", "200"], "nor around one to deny", r.get("stdout"))
    r = talk(home, f"print(talk(req('DELETE /private'), '{GOOD}'), talk(req('GET /x', host='other.example'), '{LAN}'),"
             f"talk(req('GET /x', host='{LAN}'), '{LAN}'))",
             "--allow", "http:GET:good.example:8000/api/", "--allow", f"{GOOD}:8000", "--allow", f"{LAN}:8000")
    tap.ok(lines(r) == ["400", "200", "200"], "nor by address; other addresses keep their own Hosts", r.get("stdout"))
    token = home.put("shared-token", SECRET + "\n", 0o600)
    seen.clear()
    r = talk(home, "print(talk(req('GET /own', 'Authorization: mine'), host='api.good.example'))", "--allow", "good.example:8000",
             "--allow", "api.good.example:8000", "--secret-header", f"good.example:Authorization={token}")
    tap.ok(lines(r) == ["400"] and not seen, "nor to the host of a secret with another one", (r.get("stdout"), seen))


HELLO = """
import ssl
def hello(name):
    '''The first bytes of TLS that asks for a name.'''
    out, context = ssl.MemoryBIO(), ssl.create_default_context()
    try: context.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError: pass
    return out.read()
def tls(host, name, before='', wait=5):
    '''What a server that speaks no TLS makes of it: an answer, if it gets there.'''
    try:
        with socket.create_connection((host, 8001), 60) as s:
            if before: socket.getaddrinfo(before, 8001)
            s.settimeout(wait); s.sendall(hello(name)); return s.recv(4).decode() or 'nothing'
    except OSError as e: return type(e).__name__
"""


def test_tls_beside(home):
    """TLS to those whom no rule about requests is about passes as on any other port, and to nobody else."""
    script = HELLO + """
print(tls('api.good.example', 'api.good.example', wait=60), tls('api.good.example', 'good.example', 'good.example'), tls('good.example', 'good.example'))
"""
    r = talk(home, script, "--allow", "http:GET:good.example:8001/api/", "--allow", "api.good.example:8001")
    tap.ok(lines(r)[:1] == ["here"] and len(lines(r)) == 3 and "here" not in lines(r)[1:], "TLS to the other name only", r)


def test_odd_paths(home):
    paths = ["%252e%252e/x", "%c0%ae%c0%ae/x", "..%c0%af", "..%09/x", "%u002e%u002e", "..%20/x", "%0d%0aX", "..%ef%bc%8fx", "%e0%80%ae"]
    seen.clear()
    r = talk(home, f"print(*[talk(req('GET /api/' + path)) for path in {paths!r}], talk(req('GET /api/a%20b?c=%252e')))", *R)
    tap.ok(lines(r) == ["403"] * len(paths) + ["200"] and len(seen) == 1, "escapes that some servers read twice", r.get("stdout"))


LIVE = TALK + """
import sys
socks = {}
for line in sys.stdin:
    key, host, path = line.split()
    try:
        s = socks.get(key) or socket.create_connection((host, 8000), 60)
        socks[key] = s; s.settimeout(60)
        s.sendall(req('GET ' + path, host=host).encode()); print(s.recv(4096)[9:12].decode() or 'end', flush=True)
    except OSError as e: print(type(e).__name__, flush=True)
"""


def live(home, name):
    child = subprocess.Popen([AISBX, "exec", name, "--", "python3", "-uc", PRELUDE + LIVE], cwd=home.work, env=home.env,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)

    def ask(line):
        child.stdin.write(line + "\n")
        child.stdin.flush()
        return child.stdout.readline().strip()

    def end():
        child.stdin.close()
        child.wait()
        child.stdout.close()

    return ask, end


def test_open_ones(home):
    """A connection that is open when its permission goes, goes with it."""
    home.call("create", "openones", "--allow", "good.example:8000", "--allow", f"{LAN}:8000")
    ask, end = live(home, "openones")
    tap.ok(ask("a good.example /1") == "200" and ask(f"b {LAN} /1") == "200", "two connections are open")
    seen.clear()
    home.call("deny", "openones", "net:egress:good.example:8000")
    tap.ok(ask("a good.example /2") not in ("200", "") and not seen, "one whose name is denied ends", seen)
    tap.ok(ask(f"b {LAN} /2") == "200", "the other goes on")
    home.call("deny", "openones", f"net:egress:{LAN}:8000")
    tap.ok(ask(f"b {LAN} /3") not in ("200", ""), "until its address is denied")
    end()
    home.call("create", "opentwo", "--allow", "good.example:8000")
    ask, end = live(home, "opentwo")
    seen.clear()
    tap.ok(ask("a good.example /1") == "200", "a connection without rules about requests")
    home.call("deny", "opentwo", "net:egress:http:GET:good.example:8000/secret")
    ask("a good.example /secret")
    tap.ok(len(seen) == 1 and ask("b good.example /secret") == "403" and ask("c good.example /free") == "200",
           "is not the way around a rule made later", seen)
    end()


def main():
    enter()
    with Home("net-http-") as home:
        build_internet(home)
        for address in (GOOD, LAN):
            listen(address, 8000, server)
        listen(GOOD, 8001, lambda peer, _: peer.recv(4096) and peer.sendall(b"here"))
        for test in (test_judged, test_in_a_row, test_smuggled, test_secret, test_slow, test_live, test_shared, test_tls_beside,
                     test_odd_paths, test_open_ones):
            tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
