#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules about requests at port 443: each request inside TLS is judged like a plain one, and other hosts stay end to end.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a network namespace of its own (tests/lib/internet.py).
"""
import gzip
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import internet
from authority import behind_tls, certificates
from clitest import AISBX, Home, Tap
from internet import PRELUDE, build_internet, enter, lines, listen, run

tap = Tap()
API, BAD, LONE = "198.51.100.30", "198.51.100.31", "198.51.100.32"
internet.NAMES.update({"api.test": API, "other.test": API, "bad.test": BAD, "lone.test": LONE})
seen, raw = [], []


def body_of(peer, fields, have):
    if "content-length" in fields:
        while len(have) < int(fields["content-length"]):
            have += peer.recv(65536)
        return have[:int(fields["content-length"])], have[int(fields["content-length"]):]
    if fields.get("transfer-encoding") == "chunked":
        while b"0\r\n\r\n" not in have:
            have += peer.recv(65536)
        body, _, have = have.partition(b"0\r\n\r\n")
        return body, have
    return b"", have


def server(peer, _):
    """Answers each request with its target; keeps everything it was sent."""
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
        body, have = body_of(peer, fields, have)
        seen.append((rows[0], fields, body))
        if fields.get("upgrade", "").lower() == "websocket":
            peer.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
            return
        text, more = rows[0].split()[1].encode(), b""
        if fields.get("accept-encoding") == "gzip":
            text, more = gzip.compress(text, mtime=0), b"Content-Encoding: gzip\r\n"
        peer.sendall(b"HTTP/1.1 200 OK\r\n%bContent-Length: %d\r\n\r\n%b" % (more, len(text), text))
        if fields.get("connection") == "close":
            return


TALK = """
import os
trusting = ssl.create_default_context()
def dial(host='api.test', name=None, alpn=None, at=None):
    context = ssl.create_default_context() if alpn else trusting
    if alpn: context.set_alpn_protocols(alpn)
    s = context.wrap_socket(socket.create_connection((at or host, 443), 60), server_hostname=name or host)
    s.settimeout(60)
    return s
def talk(text, **how):
    '''Sends bytes, reads to the end; the status codes that came.'''
    try:
        with dial(**how) as s:
            s.sendall(text if isinstance(text, bytes) else text.encode())
            data = b''
            while True:
                part = s.recv(65536)
                if not part: break
                data += part
    except (OSError, ssl.SSLError) as e:
        return type(e).__name__
    return '+'.join(part[:3].decode() for part in data.split(b'HTTP/1.1 ')[1:]) or 'nothing'
def req(line, *fields, host='api.test', body='', end=True):
    return '\\r\\n'.join([line + ' HTTP/1.1', 'Host: ' + host, *(['Connection: close'] if end else []), *fields, '', body])
def issuer(**how):
    with dial(**how) as s: return dict(pair[0] for pair in s.getpeercert()['issuer'])['commonName'].replace(' ', '_')
"""
RULES = ["--allow", "http:GET,HEAD:api.test:443/api/", "--allow", "http:POST:api.test:443/in"]


def talk(home, script, *flags):
    result = run(home, TALK + script, *flags)
    # Scripts are long, and stand in the command.
    return {key: value for key, value in result.items() if key in ("stdout", "stderr", "denials", "said", "error", "status")}


def test_judged(home):
    seen.clear()
    r = talk(home, "print(talk(req('GET /api/x?y')), talk(req('GET /other')), talk(req('DELETE /api/x')), "
             "talk(req('POST /in', 'Content-Length: 5', body='hello')), talk(req('POST /in/put', 'Transfer-Encoding: chunked',"
             "body='5\\r\\nhello\\r\\n0\\r\\n\\r\\n')), talk(req('PUT /in')), talk(req('get /api/x')), talk(req('HEAD /api/', host='API.test.:443')))",
             *RULES)
    tap.ok(lines(r) == ["200", "403", "403", "200", "200", "403", "403", "200"], "methods and paths", r)
    tap.ok([s[0].split()[:2] for s in seen] == [["GET", "/api/x?y"], ["POST", "/in"], ["POST", "/in/put"], ["HEAD", "/api/"]],
           "the server saw the permitted ones only", seen)
    told = {d["what"]: d for d in r.get("denials", [])}
    tap.ok("GET /other of api.test:443" in told and "DELETE /api/x of api.test:443" in told and not any("?" in what for what in told) and
           told["GET /other of api.test:443"]["hint"] == "--allow api.test:443", "each refusal is told, without queries", told)
    r = talk(home, "print(talk(req('GET /free')), talk(req('DELETE /free')), talk(req('delete /free')))", "--allow", "api.test",
             "--deny", "http:DELETE:api.test:443")
    tap.ok(lines(r) == ["200", "403", "403"] and any("http:DELETE" in d["rule"] for d in r["denials"]), "one method of a host that is allowed", r)
    r = talk(home, "print(talk(req('GET /free')), talk(req('GET /Admin;x/y')))", "--net", "all", "--deny", "http:api.test:443/admin")
    tap.ok(lines(r) == ["200", "403"], "one path, where everything else is open", r)
    r = talk(home, "s = socket.create_connection(('api.test', 443), 60); s.sendall(req('DELETE /api/x').encode()); print(s.recv(99)[9:12].decode())",
             *RULES)
    tap.ok(lines(r) == ["403"], "a plain request at that port", r)


PATHS = ["/api/../etc", "/api%2f..", "/api/%2e%2e/etc", "/api/%252e%252e/x", "/api/..%2fetc", "//api/x", "/api//x", "/%61pi/../x", "/API/x", "/apix",
         "/api/..;/x", "/api/%c0%ae%c0%ae/x", "/api\\\\..\\\\x", "/api/x/%00"]


def test_paths(home):
    seen.clear()
    r = talk(home, f"print(*[talk(req('GET ' + path)) for path in {PATHS!r}], talk(req('GET /%61pi/a%20b')))", *RULES)
    tap.ok(lines(r) == ["403"] * len(PATHS) + ["200"] and len(seen) == 1, "paths by encodings", (r, seen))
    seen.clear()
    odd = ["/admin", "/%61dmin", "/x/../admin", "/x/%2e%2e/admin", "//admin", "/admin%2fx", "/admin;a", "/ADMIN/", "/admin%20"]
    r = talk(home, f"print(*[talk(req('GET ' + path)) for path in {odd!r}], talk(req('GET /x')))", "--allow", "api.test", "--deny", "http:api.test:443/admin")
    tap.ok(lines(r) == ["403"] * len(odd) + ["200"] and len(seen) == 1, "nor around a rule to deny", (r, seen))
    r = talk(home, "print(talk(req('GET /api/x', 'X-HTTP-Method-Override: DELETE')), talk(req('GET /api/x', 'X-Original-URL: /etc')), "
             "talk(req('GET /api/x?_method=DELETE')))", *RULES)
    tap.ok(lines(r) == ["403"] * 3 and len(seen) == 1, "headers and parameters for another method or path", r)


SMUGGLED = {
    "another Host": "req('GET /api/x', host='other.test')",
    "another port": "req('GET /api/x', host='api.test:444')",
    "two Hosts": "req('GET /api/x', 'Host: other.test')",
    "no Host": "'GET /api/x HTTP/1.1\\r\\n\\r\\n'",
    "no Host, HTTP/1.0": "'GET /api/x HTTP/1.0\\r\\n\\r\\n'",
    "an absolute target": "req('GET http://other.test/api/x')",
    "an absolute target of TLS": "req('GET https://other.test/api/x')",
    "both lengths": "req('POST /in', 'Content-Length: 4', 'Transfer-Encoding: chunked', body='0\\r\\n\\r\\n')",
    "another coding": "req('POST /in', 'Transfer-Encoding: xchunked', body='0\\r\\n\\r\\n')",
    "folded lines": "req('GET /api/x', 'X: a', '  b')",
    "bare line feeds": "req('GET /api/x').replace('\\r\\n', '\\n')",
    "a chunk with an extension": "req('POST /in', 'Transfer-Encoding: chunked', body='5;a=b\\r\\nhello\\r\\n0\\r\\n\\r\\n')",
    "HTTP/2": "'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n'",
    "TLS in TLS": "'\\x16\\x03\\x01\\x00\\x05hello'",
}


def test_smuggled(home):
    seen.clear()
    raw.clear()
    script = "".join(f"print(talk(({text}) + req('GET /secret')))\n" for text in SMUGGLED.values())
    r = talk(home, script, *RULES, "--allow", "other.test")
    for name, got in zip(SMUGGLED, lines(r) + [""] * len(SMUGGLED)):
        tap.ok(got == "400" or ("chunk" in name and got == "ConnectionResetError"), f"refused: {name}", got)
    tap.ok(not any(b"secret" in part for part in raw), "nothing of what was hidden has reached the server", raw)
    seen.clear()
    r = talk(home, "print(talk(req('GET http://api.test/api/abs')), talk(req('GET http://api.test/etc')), talk(req('CONNECT api.test:443')), "
             "talk('GET /' + 'a' * 20000 + ' HTTP/1.1\\r\\n\\r\\n'))", *RULES)
    tap.ok(lines(r) == ["200", "403", "403", "431"] and seen[0][0].startswith("GET /api/abs "),
           "absolute targets of the host itself, a proxy's method, an endless head", (r, seen))


def test_in_a_row(home):
    seen.clear()
    script = """
import http.client
c = http.client.HTTPSConnection('api.test', timeout=60, context=ssl.create_default_context())
out = []
for method, path in (('GET', '/api/1'), ('POST', '/in'), ('GET', '/api/2'), ('DELETE', '/api/3')):
    c.request(method, path, body=b'x' * 300000 if method == 'POST' else None)
    a = c.getresponse(); a.read(); out.append(str(a.status))
try: c.sock and c.sock.sendall(req('GET /api/4').encode()); out.append(str(len(c.sock.recv(99))) if c.sock else '0')
except OSError: out.append('0')
print(*out, talk(req('GET /api/5', end=False) + req('GET /api/6', end=False) + req('GET /etc/7', end=False) + req('GET /api/8')))
"""
    r = talk(home, script, *RULES)
    tap.ok(lines(r) == ["200", "200", "200", "403", "0", "200+200+403"], "each request of a kept connection", r)
    tap.ok([s[0].split()[1] for s in seen] == ["/api/1", "/in", "/api/2", "/api/5", "/api/6"], "behind a refused one nothing goes on", seen)


def test_protocols(home):
    """HTTP/2 by ALPN falls back, an upgrade is left out, what is compressed stays so."""
    seen.clear()
    script = """
with dial(alpn=['h2', 'http/1.1']) as s:
    print(s.selected_alpn_protocol()); s.sendall(req('GET /api/h').encode()); print(s.recv(99)[9:12].decode())
try: print(dial(alpn=['h2']).selected_alpn_protocol())
except (OSError, ssl.SSLError) as e: print('refused')
print(talk(req('GET /api/ws', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13')), talk(req('GET /api/h2c', 'Upgrade: h2c', 'HTTP2-Settings: AAA')))
import gzip
with dial() as s:
    s.sendall(req('GET /api/z', 'Accept-Encoding: gzip').encode()); data = b''
    while True:
        part = s.recv(9999)
        if not part: break
        data += part
print(gzip.decompress(data.partition(b'\\r\\n\\r\\n')[2]).decode())
"""
    r = talk(home, script, *RULES)
    tap.ok(lines(r) == ["http/1.1", "200", "refused", "200", "200", "/api/z"], "HTTP/1.1 and nothing else", r)
    tap.ok(all("upgrade" not in s[1] and "http2-settings" not in s[1] for s in seen) and len(seen) == 4, "no wish for another protocol reaches the server",
           seen)


def test_end_to_end(home):
    """Hosts that no such rule is about keep the TLS of their server; without one there is no authority at all."""
    seen.clear()
    r = talk(home, "print(issuer(), issuer(host='other.test'), talk(req('DELETE /x', host='other.test'), host='other.test'), "
             "os.environ['SSL_CERT_FILE'])", *RULES, "--allow", "other.test")
    tap.ok(lines(r) == ["aisbx_gateway_of_this_sandbox", "authority_of_the_suite", "200", "/run/aisbx/ca.pem"], "another host is end to end", r)
    r = talk(home, "print(issuer(), os.environ.get('SSL_CERT_FILE') == '/run/aisbx/ca.pem', os.path.exists('/run/aisbx/ca.pem'))", "--allow", "api.test",
             "--allow", "http:GET:other.test:440-442/x")
    tap.ok(lines(r) == ["authority_of_the_suite", "False", "False"], "a rule about another port ends no TLS", r)
    r = talk(home, """
for name in ('other.test', 'lone.test', None):
    context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
    try:
        context.wrap_socket(socket.create_connection(('api.test', 443), 60), server_hostname=name).close(); print('through')
    except (OSError, ssl.SSLError): print('refused')
""", *RULES)
    tap.ok(lines(r) == ["refused"] * 3, "at an address of the host, TLS for another name or for none", r)


def test_by_address(home):
    """An address that is allowed, or everything: the host is not reached by it without its rules."""
    ask = f"print(talk(req('DELETE /x'), at='{LONE}', host='lone.test'), talk(req('DELETE /x', host='unknown.test'), at='{LONE}', name='api.test'))"
    for flags in (["--net", "all", "--deny", "http:DELETE:lone.test:443"], ["--allow", f"{LONE}:443", "--allow", "http:GET:lone.test:443/x"]):
        seen.clear()
        r = talk(home, ask, *flags)
        tap.ok(lines(r)[:1] == ["ConnectionResetError"] and not any("lone" in s[1]["host"] for s in seen) and
               any("another name" in d["rule"] for d in r["denials"]), f"by address, asking for the host: {flags[-1]}", (r, seen))
        seen.clear()
        r = talk(home, f"socket.getaddrinfo('lone.test', 443)\nprint(talk(req('DELETE /x', host='lone.test'), at='{LONE}', host='lone.test'), "
                 f"talk(req('GET /x', host='lone.test'), at='{LONE}', host='lone.test'))", *flags)
        tap.ok(lines(r) == ["403", "200"] and len(seen) == 1, f"by address, once the name was looked up: {flags[-1]}", (r, seen))
    script = f"""
context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
for name in ('free.test', None):
    with context.wrap_socket(socket.create_connection(('{LONE}', 443), 60), server_hostname=name) as s:
        s.sendall(req('GET /x', host='free.test').encode()); print(s.recv(99)[9:12].decode())
"""
    r = talk(home, script, "--allow", f"{LONE}:443", *RULES)
    tap.ok(lines(r) == ["200", "200"], "an address without such rules is reached as ever", r)


def test_certificate(home):
    seen.clear()
    r = talk(home, "print(talk(req('GET /x', host='bad.test'), host='bad.test'))", "--allow", "http:GET:bad.test:443/x")
    tap.ok(lines(r) in (["SSLError"], ["SSLCertVerificationError"]) and not seen and any("mismatch" in d.get("rule", "") for d in r["denials"]),
           "a server's wrong certificate is an error inside, and says why", (r, seen))
    script = "s = ssl.create_default_context(cadata=open('/etc/ssl/certs/ca-certificates.crt').read())\n" \
        "try: s.wrap_socket(socket.create_connection(('api.test', 443), 60), server_hostname='api.test')\nexcept ssl.SSLError as e: print('refused')"
    r = talk(home, "del os.environ['SSL_CERT_FILE']\n" + script, *RULES)
    tap.ok(lines(r) == ["refused"] and any("does not accept" in d["rule"] and "/run/aisbx/ca.pem" in d["hint"] for d in r["denials"]),
           "a client with a list of its own is told what it needs", r)


LIVE = TALK + """
import sys
socks = {}
for line in sys.stdin:
    key, method, path = line.split()
    try:
        s = socks.get(key) or dial()
        socks[key] = s
        s.sendall(req(method + ' ' + path, end=False).encode()); print(s.recv(4096)[9:12].decode() or 'end', flush=True)
    except (OSError, ssl.SSLError) as e: print(type(e).__name__, flush=True)
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


def test_live(home):
    """Rules that change while the sandbox runs."""
    home.call("create", "judged", "--allow", "http:GET:api.test:443/api/")
    ask, end = live(home, "judged")
    tap.ok(ask("a GET /api/x") == "200" and ask("b PUT /api/x") == "403", "the rules of the start")
    home.call("allow", "judged", "net:egress:http:PUT:api.test:443/api/x")
    tap.ok(ask("c PUT /api/x") == "200" and ask("d PUT /api/y") == "403", "one more")
    home.call("deny", "judged", "net:egress:http:GET:api.test:443/api/x")
    seen.clear()
    tap.ok(ask("a GET /api/x") != "200" and ask("e GET /api/x") == "403" and not seen, "one to deny, for an open connection as well", seen)
    end()
    home.call("create", "late", "--allow", "api.test")
    ask, end = live(home, "late")
    tap.equal(ask("a DELETE /x"), "200", "a host without rules about requests")
    home.call("deny", "late", "net:egress:http:DELETE:api.test:443")
    seen.clear()
    got = [ask("a DELETE /x"), ask("b DELETE /x")]
    tap.ok("200" not in got and not seen, "a rule that came later is not passed by", (got, seen))
    end()
    home.call("stop", "late")
    ask, end = live(home, "late")
    tap.ok(ask("a GET /x") == "200" and ask("b DELETE /x") == "403", "and is judged from the next start on")
    end()
    home.call("rm", "judged", "late")


def test_refused(home):
    for rule in ("http:GET:*.test:443/x", f"http:GET:{API}:443", "http:[2001:db8::]:1-500"):
        done = home.call("run", "--allow", rule, "--", "true")
        tap.ok(done.returncode == 125 and "one host" in done.stderr, f"refused: {rule}", done)


def main():
    enter()
    with Home("aisbx-test-tls.") as home:
        build_internet(home)
        for address in (API, BAD, LONE):
            subprocess.run(["ip", "addr", "add", address + "/32", "dev", "lo"], check=True)
        if not os.path.exists(os.path.join(os.path.dirname(AISBX), "aisbx-gateway")):
            tap.skip("requests inside TLS", "built without OpenSSL")
        elif home.can_run(tap, "requests inside TLS"):
            at = certificates(home, {"api": ["api.test", "other.test", "lone.test", "free.test"], "bad": ["another.test"]})
            for address, name in ((API, "api"), (LONE, "api"), (BAD, "bad")):
                listen(address, 443, behind_tls(at, name, server, ["h2", "http/1.1"]))
            for test in (test_judged, test_paths, test_smuggled, test_in_a_row, test_protocols, test_end_to_end, test_by_address,
                         test_certificate, test_live, test_refused):
                tap.attempt(test, home)
    tap.done()


main()
