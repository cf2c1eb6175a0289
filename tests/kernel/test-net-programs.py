#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real programs inside, as they are: what is allowed works unmodified, the rest fails, and the run says why.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a network namespace of its own (tests/lib/internet.py).
A program that is not installed is skipped with that reason.
"""
import http.server
import io
import os
import shutil
import subprocess
import sys
import tarfile
import threading
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from box import patience
from clitest import Home, Tap
from internet import EVIL, GOOD, build_internet, enter, listen

tap = Tap()
A = ["--allow", "good.example:80", "--allow", "good.example:8800"]


class Index(http.server.SimpleHTTPRequestHandler):
    """Files of a directory, for any host; no words about it."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass


def serve(home):
    """A directory with a page, a git repository, an index for pip and one for npm, on two addresses."""
    site = home.path + "/site"
    os.mkdir(site)
    with open(site + "/page.txt", "w") as out:
        out.write("a page\n")
    make_wheel(site)
    make_package(site)
    make_repository(home, site)
    for address in (GOOD, EVIL):
        server = http.server.ThreadingHTTPServer((address, 8800), lambda *words: Index(*words, directory=site))
        threading.Thread(target=server.serve_forever, daemon=True).start()


def make_wheel(site):
    os.makedirs(site + "/simple/tiny")
    name = "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(f"{site}/{name}", "w") as wheel:
        wheel.writestr("tiny.py", "WORD = 'from the index'\n")
        wheel.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        wheel.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("tiny-1.0.dist-info/RECORD", "")
    with open(site + "/simple/tiny/index.html", "w") as out:
        out.write(f'<html><body><a href="/{name}">{name}</a></body></html>')


def make_package(site):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in (("package.json", '{"name":"tiny","version":"1.0.0","main":"index.js"}'), ("index.js", "module.exports='from npm'")):
            about = tarfile.TarInfo("package/" + name)
            about.size = len(text)
            archive.addfile(about, io.BytesIO(text.encode()))
    with open(site + "/tiny-1.0.0.tgz", "wb") as out:
        out.write(packed.getvalue())
    os.makedirs(site + "/npm")
    with open(site + "/npm/tiny", "w") as out:
        out.write('{"name":"tiny","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"tiny","version":"1.0.0",'
                  '"dist":{"tarball":"http://good.example:8800/tiny-1.0.0.tgz"}}}}')


def make_repository(home, site):
    if not shutil.which("git"):
        return
    work = home.path + "/repository"
    env = {**home.env, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.org",
           "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@example.org"}
    for words in (["init", "-q", "-b", "main", work], ["-C", work, "commit", "-q", "--allow-empty", "-m", "first"],
                  ["clone", "-q", "--bare", work, site + "/repo.git"], ["-C", site + "/repo.git", "update-server-info"]):
        subprocess.run(["git", *words], env=env, check=True, capture_output=True)


def call(home, script, *flags):
    return home.call("run", "--time", f"{int(patience(40))}s", *flags, "--", "sh", "-c", script, timeout=patience(60))


def check(home, program, good, bad, want="a page", flags=()):
    """GOOD works and prints WANT; BAD fails, and the reason is on standard error."""
    if not shutil.which(program, path="/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin"):
        tap.skip(program, "not installed")
        return
    done = call(home, good, *A, *flags)
    tap.ok(done.returncode == 0 and want in done.stdout, f"{program}: what is allowed works", (done.stdout[-300:], done.stderr[-600:]))
    done = call(home, bad, *A, *flags)
    tap.ok(done.returncode != 0 and "denied by net" in done.stderr and "evil.example" in done.stderr,
           f"{program}: the rest fails, in words", (done.returncode, done.stdout[-200:], done.stderr[-600:]))


PAGE = "http://{}.example:8800/page.txt"


def pair(template):
    return template.replace("@", PAGE.format("good")), template.replace("@", PAGE.format("evil"))


def test_fetch(home):
    check(home, "curl", *pair("curl -sS -f @"))
    check(home, "wget", *pair("wget -q -O - @"))
    check(home, "git", "git clone -q http://good.example:8800/repo.git copy && git -C copy log --format=%s",
          "git clone -q http://evil.example:8800/repo.git copy", "first")


def test_packages(home):
    pip = "python3 -m pip install -q --disable-pip-version-check --no-cache-dir --retries 0 --target lib --index-url " \
          "http://{0}.example:8800/simple --trusted-host {0}.example tiny && PYTHONPATH=lib python3 -c 'import tiny; print(tiny.WORD)'"
    if subprocess.run(["/usr/bin/python3", "-m", "pip", "--version"], capture_output=True, check=False).returncode:
        tap.skip("pip", "not installed")
    else:
        check(home, "python3", pip.format("good"), pip.format("evil"), "from the index")
    npm = "mkdir -p p && cd p && npm install --silent --no-audit --no-fund --no-update-notifier --fetch-retries=0 --cache ./cache " \
          "--registry http://{0}.example:8800/npm tiny && node -p \"require('tiny')\""
    check(home, "npm", npm.format("good"), npm.format("evil"), "from npm")


def test_languages(home):
    home.put("client.py", """
import asyncio, sys
async def main():
    r, w = await asyncio.open_connection(sys.argv[1], 8800)
    w.write(b'GET /page.txt HTTP/1.0\\r\\nHost: %s:8800\\r\\n\\r\\n' % sys.argv[1].encode()); print((await r.read()).decode())
asyncio.run(main())
""")
    check(home, "python3", "python3 client.py good.example", "python3 client.py evil.example")
    check(home, "node", *pair("node -e \"fetch('@').then(r => r.text()).then(console.log)\""))
    # Go's own resolver and calls; its HTTP client would be the compiler's work of half a minute and adds nothing here.
    home.put("client.go", """package main
import ("fmt"; "io"; "net"; "os")
func main() {
	c, err := net.Dial("tcp", os.Args[1]+":8800")
	if err != nil { fmt.Println(err); os.Exit(1) }
	fmt.Fprintf(c, "GET /page.txt HTTP/1.0\\r\\nHost: %s\\r\\n\\r\\n", os.Args[1])
	b, _ := io.ReadAll(c); fmt.Print(string(b))
}
""")
    path = "PATH=$PATH:/usr/local/go/bin GOCACHE=$PWD/.gocache GO111MODULE=off CGO_ENABLED=0 "
    built = None
    if shutil.which("go", path="/usr/local/go/bin:/usr/bin"):
        built = subprocess.run(["sh", "-c", path + "go build -gcflags='all=-N -l' -o client-go client.go"], cwd=home.work, env=home.env, capture_output=True,
                               text=True, timeout=patience(120), check=False)
    if built and built.returncode == 0:
        check(home, "sh", "./client-go good.example", "./client-go evil.example")
    else:
        tap.skip("go", built.stderr[-100:].replace("\n", " ") if built else "not installed")
    home.put("Client.java", """
import java.net.*; import java.net.http.*;
public class Client { public static void main(String[] a) throws Exception {
    System.out.print(HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create(a[0])).build(), HttpResponse.BodyHandlers.ofString()).body()); } }
""")
    if not shutil.which("javac"):
        tap.skip("java", "no compiler installed")
        return
    built = subprocess.run(["javac", "Client.java"], cwd=home.work, env=home.env, capture_output=True, text=True, timeout=patience(120),
                           check=False)
    if built.returncode:
        tap.skip("java", built.stderr[-100:].replace("\n", " "))
        return
    check(home, "java", *pair("java -XX:TieredStopAtLevel=1 Client @"), flags=["--mem", "1g"])
    # Java asks for HTTP/2 by an upgrade, which rules about requests leave out.
    done = call(home, "java -XX:TieredStopAtLevel=1 Client " + PAGE.format("good"), "--mem", "1g", "--allow", "http:GET:good.example:8800")
    tap.ok("a page" in done.stdout, "java: with rules about requests, too", done.stderr[-400:])


def test_ssh(home):
    """The client's side of the handshake with a server that only greets."""
    if not shutil.which("ssh"):
        tap.skip("ssh", "not installed")
        return
    heard = []

    def greet(peer, _):
        peer.sendall(b"SSH-2.0-test\r\n")
        heard.append(peer.recv(200))

    listen(GOOD, 2222, greet)
    words = "ssh -o StrictHostKeyChecking=no -o BatchMode=yes -o ConnectTimeout=10 -p 2222 user@{}.example true"
    done = call(home, words.format("good"), "--allow", "good.example:2222")
    tap.ok(heard and heard[0].startswith(b"SSH-2.0-"), "ssh: speaks to a server on an allowed port", (heard, done.stderr[-300:]))
    done = call(home, words.format("evil"), "--allow", "good.example:2222")
    tap.ok(done.returncode and "denied by net" in done.stderr and len(heard) == 1, "ssh: to no other", done.stderr[-300:])


def main():
    enter()
    with Home("net-programs-") as home:
        build_internet(home)
        serve(home)
        for test in (test_fetch, test_packages, test_languages, test_ssh):
            tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
