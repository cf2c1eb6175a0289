#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real clients over TLS that is ended outside: the secret arrives, the client has a placeholder, and a server's wrong certificate
is the client's error. Hosts that nothing is injected for keep their own TLS.

Each client is started once for each host, all in one run: one that gets a secret, one with a rule about requests, one beside
them, and some whose certificates are no good.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a network namespace of its own (tests/lib/internet.py).
A client that is not installed is skipped with that reason.
"""
import base64
import http.server
import json
import os
import re
import ssl
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import internet
from authority import certificates, make_authority, make_certificate
from clitest import AISBX, Home, Tap
from git_server import answer_git, make_repository
from internet import build_internet, enter
from registries import GREETING, cargo_registry, go_proxy, maven_repository, npm_registry, python_index
from toolchains import missing, show_rust

tap = Tap()
GOOD = ["api.test", "ruled.test", "free.test"]
# What is wrong with a server, and how the result says it.
BAD = {"expired.test": "expired", "wrong.test": "mismatch", "unknown.test": "issuer"}
ADDRESSES = {**dict.fromkeys(GOOD, "198.51.100.30"), "expired.test": "198.51.100.31", "wrong.test": "198.51.100.32", "unknown.test": "198.51.100.33"}
internet.NAMES.update(ADDRESSES)
# One that the client names by a placeholder, one that it never hears of.
NAMED, SILENT = "CANARY-n4med_Value.42x", "CANARY-s1lent_Value.43y"
FLAGS = ["--allow", ",".join(["api.test", "free.test", *BAD]), "--allow", "http:ruled.test:443/", "--inject-env", "KEY=named@api.test",
         *[word for host in ["api.test", *BAD] for word in ("--inject", f"{host}:X-Silent=silent")]]
OURS, SUITES = "aisbx gateway of this sandbox", "authority of the suite"
seen = []


class Client:
    """A program, what it takes, and what it does with $HOST and $KEY in a directory of its own, which holds FILES. One that starts
    slowly asks only one of the hosts whose certificates are no good."""

    def __init__(self, name, programs, command, files=None, prepare="", names_key=True, says_issuer=False, is_slow=False):
        self.name, self.programs, self.command, self.files, self.prepare = name, programs, command, files or {}, prepare
        self.names_key, self.says_issuer = names_key, says_issuer
        self.bad = {"unknown.test": BAD["unknown.test"]} if is_slow else BAD


FETCH = """
import java.net.URI;
import java.net.http.*;
import java.security.cert.X509Certificate;

public class Fetch {
  public static void main(String[] words) throws Exception {
    HttpRequest request = HttpRequest.newBuilder(URI.create("https://" + words[0] + "/hello")).header("X-Key", System.getenv("KEY")).build();
    HttpResponse<String> answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
    X509Certificate shown = (X509Certificate) answer.sslSession().get().getPeerCertificates()[0];
    System.out.println(answer.body() + " issuer " + shown.getIssuerX500Principal());
  }
}
"""
NODE = """
const tls = require('tls'), host = process.env.HOST;
fetch(`https://${host}/hello`, { headers: { 'X-Key': process.env.KEY } }).then(answer => answer.text()).then(text => {
  const peer = tls.connect(443, host, { servername: host }, () => { console.log(text, 'issuer', peer.getPeerCertificate().issuer.CN); peer.end(); });
}).catch(error => { console.error(error.cause || error); process.exit(1); });
"""
URLLIB = """
import os, socket, ssl, urllib.request
host = os.environ["HOST"]
print(urllib.request.urlopen(urllib.request.Request(f"https://{host}/hello", headers={"X-Key": os.environ["KEY"]})).read().decode())
with ssl.create_default_context().wrap_socket(socket.create_connection((host, 443)), server_hostname=host) as peer:
    print("issuer", dict(pair[0] for pair in peer.getpeercert()["issuer"])["commonName"])
"""
# The copy that pip brings does as well as one that is installed.
REQUESTS = """
import os
try: import requests
except ImportError: from pip._vendor import requests
print(requests.get(f"https://{os.environ['HOST']}/hello", headers={"X-Key": os.environ["KEY"]}).text)
"""
HTTPX = "import httpx, os; print(httpx.get(f\"https://{os.environ['HOST']}/hello\", headers={'X-Key': os.environ['KEY']}).text)\n"
PACKAGE = {"package.json": '{"name":"app","version":"1.0.0","private":true,"dependencies":{"greet":"1.0.0"}}\n',
           ".npmrc": "registry=https://${HOST}/npm/\n//${HOST}/npm/:_authToken=${KEY}\nalways-auth=true\n"}
POM = """<project><modelVersion>4.0.0</modelVersion><parent><groupId>org.example</groupId><artifactId>greet</artifactId>
<version>1.0</version><relativePath/></parent><artifactId>app</artifactId><repositories><repository><id>stand-in</id>
<url>https://HOST/maven</url></repository></repositories></project>
"""
CLIENTS = [
    Client("curl", ["curl"], 'curl -sSv --max-time 60 "https://$HOST/hello" -H "X-Key: $KEY"', says_issuer=True),
    Client("python urllib", ["/usr/bin/python3"], "/usr/bin/python3 fetch.py", {"fetch.py": URLLIB}, says_issuer=True),
    Client("python requests", ["/usr/bin/python3"], "/usr/bin/python3 fetch.py", {"fetch.py": REQUESTS}),
    Client("python httpx", ["/usr/bin/python3", "httpx"], "/usr/bin/python3 fetch.py", {"fetch.py": HTTPX}),
    Client("node fetch", ["node"], "node fetch.js", {"fetch.js": NODE}, says_issuer=True),
    Client("java HttpClient", ["java", "javac"], 'java -Xmx128m Fetch "$HOST"', {"Fetch.java": FETCH}, "javac Fetch.java", says_issuer=True),
    Client("git", ["git"], 'git -c http.extraHeader="X-Key: $KEY" clone -q "https://$HOST/git/open.git" copy && cat copy/README'),
    Client("pip", ["/usr/bin/python3"], "/usr/bin/python3 -m pip --disable-pip-version-check --retries 0 install --no-cache-dir "
           '--target deps --index-url "https://me:$KEY@$HOST/simple" greet && cat deps/greet.py', is_slow=True),
    Client("uv", ["uv", "/usr/bin/python3"], "UV_HTTP_RETRIES=0 uv pip install -q --no-cache --no-config --python /usr/bin/python3 --target deps "
           '--index-url "https://me:$KEY@$HOST/simple" greet && cat deps/greet.py', is_slow=True),
    Client("npm", ["node", "npm"], "npm install --no-audit --no-fund --no-update-notifier --fetch-retries 0 --cache .cache && cat node_modules/greet/index.js",
           PACKAGE, is_slow=True),
    Client("go", ["go"], 'GOPROXY="https://me:$KEY@$HOST/go" GOSUMDB=off GOTOOLCHAIN=local GOFLAGS=-modcacherw GOCACHE=$PWD/.cache GOMODCACHE=$PWD/.mod '
           "go mod download && cat .mod/example.org/greet@v1.0.0/greet.go",
           {"go.mod": "module example.org/app\n\ngo 1.18\n\nrequire example.org/greet v1.0.0\n"}, is_slow=True),
    Client("cargo", ["cargo"], "CARGO_HOME=$PWD/.home CARGO_NET_RETRY=0 cargo -q --config 'source.crates-io.replace-with=\"stand-in\"' "
           '--config "source.stand-in.registry=\\"sparse+https://$HOST/cargo/\\"" fetch && cat .home/registry/src/*/greet-1.0.0/src/lib.rs',
           {"Cargo.toml": '[package]\nname = "app"\nversion = "1.0.0"\nedition = "2021"\n\n[dependencies]\ngreet = "1.0.0"\n', "src/main.rs": "fn main() {}\n"},
           names_key=False, is_slow=True),
    Client("maven", ["mvn"], "sed -i s/HOST/$HOST/ pom.xml && mvn -q -B -Dmaven.repo.local=$PWD/.m2 validate && cat .m2/org/example/greet/1.0/greet-1.0.pom",
           {"pom.xml": POM}, names_key=False, is_slow=True),
]


def files_of(host):
    """What a host's server has, by path; registries name themselves in what they answer."""
    found = {"/hello": GREETING.encode()}
    for make in (python_index, npm_registry, go_proxy, cargo_registry, maven_repository):
        found.update(make("https://" + host))
    return found


def words_of(fields):
    """All that the headers of a request say, basic authentication decoded."""
    out = [f"{name}: {value}" for name, value in fields.items()]
    for value in fields.get_all("Authorization", []):
        if value.startswith("Basic "):
            out.append(base64.b64decode(value[6:]).decode())
    return "\n".join(out)


class Site(http.server.BaseHTTPRequestHandler):
    """All hosts in one; it remembers who was asked, for what, with which headers."""
    protocol_version = "HTTP/1.1"
    files = {host: files_of(host) for host in GOOD}
    repositories = ""

    def respond(self):
        host = self.headers.get("Host", "").partition(":")[0]
        path = self.path.partition("?")[0]
        words = words_of(self.headers)
        seen.append((host, self.command + " " + path, words))
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if path.startswith("/git/"):
            return answer_git(self, self.repositories, body, may_push=f"git:{NAMED}" in words)
        found = self.files.get(host, {}).get(path)
        self.send_response(404 if found is None else 200)
        kind = "text/html" if path.startswith("/simple/") else "application/json" if path.startswith("/npm/") else "application/octet-stream"
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(found or b"")))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(found or b"")
        return None

    do_GET = do_HEAD = do_POST = respond  # noqa: N815 - the library's names

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    """One that takes a handshake which fails as the client's business."""
    daemon_threads = True

    def handle_error(self, *_):
        pass


def serve(at, name, address):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{at}/{name}.pem", f"{at}/{name}.key")
    server = Server((address, 443), Site)
    # The handshake is the thread's of that connection.
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def lacks(home, client, shown):
    if "httpx" in client.programs and subprocess.run(["/usr/bin/python3", "-c", "import httpx"], capture_output=True, check=False).returncode:
        return "/usr/bin/python3 has no httpx"
    return missing(home, [program for program in client.programs if program != "httpx"], shown)


def start_all(home, client, shown):
    """One run in which the client asks each host; the result object, and {host: (exit status, what was printed)}."""
    subprocess.run(["find", home.work, "-mindepth", "1", "-delete"], check=True)
    for name, text in {**client.files, "KEEP": ""}.items():
        home.put("files/" + name, text)
    script = (f"cd files; {client.prepare}\ncd ..; echo \"key <$KEY>\"\n"
              f"for HOST in {' '.join([*GOOD, *client.bad])}; do export HOST; cp -r files $HOST; echo \"<$HOST>\"; (cd $HOST; {client.command}); "
              'printf "\\n<exit %s>\\n" $?; done 2>&1')
    done = home.call("run", "--json", "--time", "5m", *FLAGS, *shown, "--", "sh", "-c", script)
    try:
        result = json.loads(done.stdout)
    except ValueError:
        result = {"stdout": "", "said": done.stdout + done.stderr}
    found = re.findall(r"^<([a-z.]+)>\n(.*?)^<exit (\d+)>$", result.get("stdout", ""), re.M | re.S)
    return result, {host: (int(code), text) for host, text, code in found}


def test_client(home, client, shown):
    seen.clear()
    name = client.name
    result, ends = start_all(home, client, shown)
    told = ({name: text[-600:] for name, (_, text) in ends.items()}, seen, result)
    key = (re.findall("key <(.*)>", result.get("stdout", "")) or [""])[0]
    tap.ok(len(ends) == len(GOOD) + len(client.bad) and all(ends[host][0] == 0 and GREETING in ends[host][1] for host in GOOD),
           f"{name}: reaches each host whose certificate is good", told)
    mine = [words for host, _, words in seen if host == "api.test"]
    tap.ok(mine and all(SILENT in words for words in mine), f"{name}: each request to the host has the secret", told)
    if client.names_key:
        tap.ok(any(NAMED in words for words in mine), f"{name}: where the client puts a placeholder the server reads the secret", told)
        tap.ok(key and any(host == "free.test" and key in words for host, _, words in seen), f"{name}: elsewhere it is sent as it is", told)
    tap.ok(len(key) == len(NAMED) and NAMED not in str(result) and SILENT not in str(result), f"{name}: the client has the placeholder alone", told)
    tap.ok(not any(NAMED in words or SILENT in words for host, _, words in seen if host != "api.test"), f"{name}: no other host gets a secret", told)
    if client.says_issuer:
        tap.ok(all(OURS in ends[host][1] and SUITES not in ends[host][1] for host in ("api.test", "ruled.test") if host in ends) and
               SUITES in ends.get("free.test", (0, ""))[1], f"{name}: a host without such a rule shows its own certificate", told)
    for host, why in client.bad.items():
        code, text = ends.get(host, (0, ""))
        tap.ok(code != 0 and re.search("certificate|ssl|tls|fatal alert", text, re.I) and not any(row[0] == host for row in seen) and
               any(host in row["what"] and why in row["rule"] for row in result.get("denials", [])),
               f"{name}: {host} is the client's error, and the result says why", told)


def test_push(home):
    """Credentials of git that it never has, for the remotes that were listed."""
    seen.clear()
    rules = ["--allow", "http:api.test:443/git/listed.git", "--allow", "free.test", "--inject", "api.test:basic/git=named"]
    script = """
git clone -q https://api.test/git/listed.git copy && cd copy && echo more >>README && git commit -qam more || exit 1
for remote in api.test/git/listed.git api.test/git/open.git free.test/git/listed.git evil.example/git/listed.git; do
    git push -q https://$remote HEAD:refs/heads/new 2>&1; echo "<$?>"
done
"""
    who = ["GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@localhost", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@localhost", "GIT_TERMINAL_PROMPT=0"]
    done = home.call("run", *rules, *[word for pair in who for word in ("--env", pair)], "--", "sh", "-c", script)
    ends = re.findall("<([0-9]+)>", done.stdout)
    heads = {name: subprocess.run(["git", "-C", f"{Site.repositories}/{name}", "rev-list", "--count", "--all"], capture_output=True, text=True,
                                  check=False).stdout.strip() for name in ("listed.git", "open.git")}
    told = (done, heads, seen)
    tap.ok(len(ends) == 4 and ends[0] == "0" and heads["listed.git"] == "2", "git pushes with credentials that it does not have", told)
    tap.ok(len(ends) == 4 and "0" not in ends[1:] and heads["open.git"] == "1", "to no other remote", told)
    tap.ok(not any(path.startswith("GET /git/open") for host, path, _ in seen if host == "api.test"), "one that no rule lists is not even asked", told)
    tap.ok(any(host == "free.test" for host, _, _ in seen) and not any(NAMED in words for host, _, words in seen if host != "api.test"),
           "another host is asked without them", told)
    tap.ok(NAMED not in done.stdout + done.stderr, "git has not seen them", told)


def main():
    enter()
    with Home("aisbx-clients.") as home:
        build_internet(home)
        at = certificates(home, {"good": GOOD, "wrong": ["another.test"]})
        make_certificate(at, "expired", ["expired.test"], days=-1)
        make_authority(at, "stranger", "authority of nobody")
        make_certificate(at, "unknown", ["unknown.test"], authority="stranger")
        for name, address in (("good", ADDRESSES["api.test"]), *((host.partition(".")[0], ADDRESSES[host]) for host in BAD)):
            subprocess.run(["ip", "addr", "add", address + "/32", "dev", "lo"], check=True)
            serve(at, name, address)
        Site.repositories = home.path + "/git"
        for name in ("open.git", "listed.git"):
            make_repository(home, f"{Site.repositories}/{name}", GREETING)
        home.call("secret", "set", "named", stdin=NAMED)
        home.call("secret", "set", "silent", stdin=SILENT)
        home.env["PATH"] += ":/usr/local/go/bin:" + os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../fetched/clients/bin")
        if not os.path.exists(os.path.join(os.path.dirname(AISBX), "aisbx-gateway")):
            tap.skip("clients over TLS", "built without OpenSSL")
            return tap.done()
        if not home.can_run(tap, "clients over TLS"):
            return tap.done()
        for client in CLIENTS:
            shown = show_rust(home) if client.name == "cargo" else []
            lack = lacks(home, client, shown)
            if lack:
                tap.skip(client.name, lack)
                continue
            tap.attempt(test_client, home, client, shown)
        tap.attempt(test_push, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
