#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A private authority that the host's variables name works inside, also where its file lies in a home that is empty there.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a home of its own, against a server on the loopback.
"""
import http.server
import os
import shutil
import ssl
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from clitest import Home, Tap

tap = Tap()
LOOK = 'echo "<$SSL_CERT_FILE>"; cat "$SSL_CERT_FILE"'
# Each fetches /hello of the server, by the variable of its own.
CLIENTS = {
    "python3": ("SSL_CERT_FILE", "python3 -c 'import urllib.request as u; print(u.urlopen(\"URL\").read().decode())'"),
    "curl": ("CURL_CA_BUNDLE", "curl -sS --max-time 30 URL"),
    "node": ("NODE_EXTRA_CA_CERTS", "node -e 'fetch(\"URL\").then(a => a.text()).then(console.log)'"),
    "git": ("GIT_SSL_CAINFO", "git ls-remote URL"),
}


class Hello(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        """For git: one reference, as a server without git's own protocol lists it."""
        body = b"0123456789012345678901234567890123456789\trefs/heads/hello\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve(home):
    """An authority that is its own server; the file has the key as well, as some people keep them."""
    key, cert = home.path + "/key.pem", home.path + "/cert.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=private", "-addext",
                    "subjectAltName=DNS:localhost", "-keyout", key, "-out", cert], check=True, capture_output=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hello)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with open(key) as one, open(cert) as other:
        return server, one.read(), other.read()


def put(home, name, text):
    path = os.path.join(home.path, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out:
        out.write(text)
    return path


def test_clients(home, server, bundle):
    path = put(home, "corp/certs/ca.pem", bundle)
    port = server.server_address[1]
    for client, (variable, script) in CLIENTS.items():
        if not shutil.which(client, path=home.env["PATH"]):
            tap.skip(f"{client}: {variable}", f"there is no {client} here")
            continue
        words = ["run", "--allow", f"localhost:{port}", "--", "sh", "-c", script.replace("URL", f"https://localhost:{port}/hello")]
        tap.ok("hello" not in home.call(*words).stdout, f"{client}: without the authority there is no trust")
        done = home.call(*words, **{variable: path})
        tap.ok("refs/heads/hello" in done.stdout, f"{client}: {variable}", done)
    home.call("create", "box", SSL_CERT_FILE=path)
    done = home.call("exec", "box", "--", "sh", "-c", LOOK, SSL_CERT_FILE=path)
    tap.ok(f"<{path}>" in done.stdout and "BEGIN CERTIFICATE" in done.stdout, "in a named sandbox as well", done)
    home.call("rm", "box")


def test_shown(home, key, cert):
    path = put(home, "corp/ca.pem", key + cert + "-----BEGIN CERTIFICATE-----\nno: base64\n-----END CERTIFICATE-----\n" + cert)
    done = home.call("run", "--", "sh", "-c", LOOK, SSL_CERT_FILE=path)
    tap.equal(done.stdout, f"<{path}>\n" + cert + cert, "certificates are shown, and nothing else of the file")
    os.chmod(path, 0o600)
    done = home.call("run", "--", "sh", "-c", "echo x >> $SSL_CERT_FILE; ls " + os.path.dirname(path), SSL_CERT_FILE=path)
    tap.equal(done.stdout, "ca.pem\n", "and nothing else of its directory")
    with open(path) as file:
        tap.ok("x\n" not in file.read()[-3:], "the host's stays as it is")


# Files in which a user names an authority, the flags with which they count, and the variable that says the same inside.
NAMED = {
    "pip": (".config/pip/pip.conf", "[global]\nindex-url = https://localhost:PORT/simple\ncert = PATH\n", "@pypi", "PIP_CERT"),
    "npm": (".npmrc", "registry=https://localhost:PORT/\n//localhost:PORT/:_authToken=TOKEN\ncafile=PATH\n", "@npm", "NPM_CONFIG_CAFILE"),
    "cargo": (".cargo/config.toml", '[registries.own]\nindex = "sparse+https://localhost:PORT/"\n[http]\ncainfo = "PATH"\n', "@crates", "CARGO_HTTP_CAINFO"),
    "git": (".gitconfig", "[user]\n\tname = a\n[http]\n\tsslCAInfo = PATH\n", "localhost:PORT", "GIT_SSL_CAINFO"),
}


def test_named(home, server, key, cert):
    """An authority that only a configuration file of the client names, which is itself hidden inside."""
    port = str(server.server_address[1])
    path = put(home, "corp/named.pem", key + cert)
    tilde = "~" + path[len(home.path):]
    for _, _, _, variable in NAMED.values():
        home.env.pop(variable, None)
    for client, (name, text, rule, variable) in NAMED.items():
        look = ["--allow", rule.replace("PORT", port), "--", "sh", "-c", f'echo "<${variable}>"; cat "${variable}" ~/{name}']
        for said in (path, tilde):
            file = put(home, name, text.replace("PORT", port).replace("PATH", said))
            done = home.call("run", *look)
            tap.ok(done.stdout.startswith(f"<{path}>\n{cert}") and "PRIVATE KEY" not in done.stdout and "TOKEN" not in done.stdout,
                   f"{client}: {said[:2]}: the certificates of the file are shown, nothing else of it", done)
        done = home.call("run", "--net", "none", *look[2:])
        tap.ok(done.stdout.startswith("<>"), f"{client}: not without a network", done)
        own = put(home, "corp/own.pem", cert)
        done = home.call("run", *look, **{variable: own})
        tap.ok(done.stdout.startswith(f"<{own}>\n"), f"{client}: what the variable says is stronger", done)
        done = home.call("run", "--hide", path, *look)
        tap.ok(done.stdout.startswith("<>\n"), f"{client}: what --hide hides stays hidden", done)
        put(home, name, text.replace("PORT", port).replace("PATH", put(home, ".ssh/named.pem", cert)))
        done = home.call("run", *look)
        tap.ok(done.stdout.startswith("<>\n") and "CERTIFICATE" not in done.stdout, f"{client}: so does a place of credentials", done)
        put(home, name, text.replace("PORT", port).replace("PATH", path))
        home.call("create", "box", *look[:2])
        done = home.call("exec", "box", *look[2:])
        tap.ok(done.stdout.startswith(f"<{path}>\n{cert}"), f"{client}: in a named sandbox as well", done)
        home.call("rm", "box")
        os.unlink(file)
    if not shutil.which("git", path=home.env["PATH"]):
        tap.skip("git trusts that server", "there is no git here")
        return
    put(home, ".gitconfig", NAMED["git"][1].replace("PATH", path))
    done = home.call("run", "--allow", f"localhost:{port}", "--", "git", "ls-remote", f"https://localhost:{port}/hello")
    tap.ok("refs/heads/hello" in done.stdout, "git trusts that server", done)
    other = put(home, "corp/other.pem", key)
    place = f"https://localhost:{port}/"
    words = ["run", "--allow", f"localhost:{port}", "--", "sh", "-c", f"git ls-remote {place}hello; cat ~/.gitconfig; cat {other}"]
    for general in ("", f"[http]\n\tsslCAInfo = {other}\n"):
        put(home, ".gitconfig", f'{general}[http "https://me:TOKEN@localhost:{port}/"]\n\tsslCAInfo = {tilde}\n\textraHeader = TOKEN\n')
        done = home.call(*words)
        tap.ok("refs/heads/hello" in done.stdout and place in done.stdout and "TOKEN" not in done.stdout and "PRIVATE" not in done.stdout,
               "git trusts an authority for one address, without what stands beside it", done)
    put(home, ".gitconfig", f'[http "https://elsewhere.example.org/"]\n\tsslCAInfo = {path}\n')
    tap.ok("refs/heads/hello" not in home.call(*words).stdout, "and for no other address")
    done = home.call("run", "--", "cat", path)
    tap.ok(done.returncode != 0, "without a network it is not shown", done)
    link = os.path.join(home.path, "corp/leads.pem")
    os.symlink(put(home, ".ssh/of-git.pem", cert), link)
    config = f'[user]\n\tname = a\n[http "{place}"]\n\tsslCAInfo = %s\n[http "https://b.example/"]\n\tsslCAInfo = {path}\n'
    for what, file, *flags in (("in a place of credentials", home.path + "/.ssh/of-git.pem"), ("hidden by --hide", other, "--hide", other),
                               ("a link to one", link), ("without certificates", put(home, "corp/key.pem", key))):
        put(home, ".gitconfig", config % file)
        done = home.call("run", *flags, "--allow", f"localhost:{port}", "--", "cat", home.path + "/.gitconfig")
        tap.ok("name = \"a\"" in done.stdout and path in done.stdout and place not in done.stdout and "sslCAInfo for" in done.stderr,
               f"an authority {what} is left out, the other is not, and that is said", done)


def test_hidden(home, key, cert):
    secret = put(home, ".ssh/ca.pem", cert)
    link = os.path.join(home.path, "link.pem")
    os.symlink(secret, link)
    fifo = os.path.join(home.path, "fifo.pem")
    os.mkfifo(fifo)
    asked = put(home, "hidden/ca.pem", cert)
    cases = {"a place of credentials": (secret,), "a link to one": (link,), "a fifo": (fifo,), "a directory": (os.path.dirname(asked),),
             "a file without any": (put(home, "only-key.pem", key),), "what --hide hides": (asked, "--hide", asked),
             "a directory that --hide hides": (asked, "--hide", os.path.dirname(asked)),
             "what a pattern of --hide hides": (asked, "--hide", os.path.dirname(asked) + "/*.pem"),
             "a directory that a pattern of --hide hides": (asked, "--hide", "~/hid*"),
             "what is too large": (put(home, "large.pem", cert + "x" * (2 << 20)),),
             "a name with steps up": (os.path.dirname(asked) + "/../hidden/ca.pem",)}
    for what, (path, *flags) in cases.items():
        done = home.call("run", *flags, "--", "sh", "-c", 'echo "<$SSL_CERT_FILE>"', SSL_CERT_FILE=path)
        tap.ok(done.stdout == "<>\n" and "SSL_CERT_FILE left out" in done.stderr, f"{what} is left out, and that is said", done)


def main():
    with Home("aisbx-certs.") as home:
        if not shutil.which("openssl"):
            tap.skip("certificates", "there is no openssl here")
            return tap.done()
        if not home.can_run(tap, "certificates"):
            return tap.done()
        server, key, cert = serve(home)
        tap.attempt(test_clients, home, server, key + cert)
        tap.attempt(test_shown, home, key, cert)
        tap.attempt(test_named, home, server, key, cert)
        tap.attempt(test_hidden, home, key, cert)
        server.shutdown()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
