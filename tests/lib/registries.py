# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for package registries on the loopback: one small library called greet, as each client's protocol has it."""
import base64
import hashlib
import http.server
import io
import json
import tarfile
import threading
import zipfile

GREETING = "hello from the registry"


def zipped(files):
    """A zip archive of {name: text}."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


def tarred(files):
    """A compressed tar archive of {name: text}."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def python_index(url):
    """The simple index of pip, and a wheel."""
    wheel = zipped({
        "greet.py": f"def hello():\n    return '{GREETING}'\n",
        "greet-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: greet\nVersion: 1.0\n",
        "greet-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "greet-1.0.dist-info/RECORD": "greet.py,,\n",
    })
    name = "greet-1.0-py3-none-any.whl"
    digest = hashlib.sha256(wheel).hexdigest()
    return {"/simple/greet/": f'<!DOCTYPE html><a href="{url}/wheels/{name}#sha256={digest}">{name}</a>'.encode(),
            f"/wheels/{name}": wheel}


def npm_registry(url):
    """The document of one package, and its archive."""
    archive = tarred({"package/package.json": '{"name":"greet","version":"1.0.0","main":"index.js"}',
                      "package/index.js": f"module.exports = () => '{GREETING}';\n"})
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(archive).digest()).decode()
    version = {"name": "greet", "version": "1.0.0", "main": "index.js",
               "dist": {"tarball": f"{url}/npm/greet/-/greet-1.0.0.tgz", "integrity": integrity}}
    return {"/npm/greet": json.dumps({"name": "greet", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}).encode(),
            "/npm/greet/-/greet-1.0.0.tgz": archive}


def go_proxy(_url):
    """One module with one version."""
    top = "/go/example.org/greet/@v"
    module = "module example.org/greet\n\ngo 1.18\n"
    prefix = "example.org/greet@v1.0.0/"
    return {f"{top}/list": b"v1.0.0\n", f"{top}/v1.0.0.info": b'{"Version":"v1.0.0","Time":"2024-01-01T00:00:00Z"}',
            f"{top}/v1.0.0.mod": module.encode(),
            f"{top}/v1.0.0.zip": zipped({prefix + "go.mod": module,
                                         prefix + "greet.go": f'package greet\n\nfunc Hello() string {{ return "{GREETING}" }}\n'})}


def cargo_registry(url):
    """A sparse index, and one crate."""
    crate = tarred({"greet-1.0.0/Cargo.toml": '[package]\nname = "greet"\nversion = "1.0.0"\nedition = "2021"\n',
                    "greet-1.0.0/src/lib.rs": f'pub fn hello() -> &\'static str {{ "{GREETING}" }}\n'})
    row = {"name": "greet", "vers": "1.0.0", "deps": [], "cksum": hashlib.sha256(crate).hexdigest(), "features": {}, "yanked": False}
    return {"/cargo/config.json": json.dumps({"dl": f"{url}/crates"}).encode(), "/cargo/gr/ee/greet": json.dumps(row).encode() + b"\n",
            "/crates/greet/1.0.0/download": crate}


def maven_repository(_url):
    """A parent that a project inherits its settings from."""
    pom = ('<project><modelVersion>4.0.0</modelVersion><groupId>org.example</groupId><artifactId>greet</artifactId>'
           f'<version>1.0</version><packaging>pom</packaging><properties><greeting>{GREETING}</greeting></properties></project>')
    place = "/maven/org/example/greet/1.0/greet-1.0.pom"
    return {place: pom.encode(), place + ".sha1": hashlib.sha1(pom.encode()).hexdigest().encode()}


class Registries:
    """All of them in one server, which remembers what was asked for, and with which headers."""

    def __init__(self):
        self.seen, self.headers = [], []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):  # noqa: N802 - the library's name
                path = self.path.split("?")[0]
                outer.seen.append(path)
                outer.headers += [f"{key}: {value}" for key, value in self.headers.items()]
                body = outer.files.get(path)
                self.send_response(200 if body is not None else 404)
                if path.startswith("/npm/") and not path.endswith(".tgz"):
                    self.send_header("Content-Type", "application/json")
                elif path.startswith("/simple/"):
                    self.send_header("Content-Type", "text/html")
                elif path.endswith(".whl"):
                    self.send_header("Cache-Control", "max-age=31536000, immutable")
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body or b"")

            do_HEAD = do_GET  # noqa: N815 - uv asks how large a wheel is

            def do_POST(self):  # noqa: N802 - npm asks for advisories
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.send_response(404)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://localhost:{self.port}"
        self.files = {}
        for make in (python_index, npm_registry, go_proxy, cargo_registry, maven_repository):
            self.files.update(make(self.url))
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
