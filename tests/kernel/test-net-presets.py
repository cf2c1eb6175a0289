#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Presets: registries as they are configured for the user, and attempts of a workspace to have a say in them.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a network namespace of its own (tests/lib/internet.py),
with stand-ins for registries on its addresses.
"""
import http.server
import json
import os
import shutil
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from clitest import Home, Tap, refused
from internet import GOOD, build_internet, enter, lines, run

tap = Tap()
# Tokens as people have them in every configuration; none may be seen anywhere.
TOKEN = "CANARY-7d1f"
# No client of this machine's: what is found comes from files of the test.
BARE = {"PATH": "/usr/bin:/bin", "CARGO_HOME": ""}
PAGE = ('<a href="http://api.good.example:8800/a.whl"><a href="http://127.0.0.1:80/b.whl"><a href="http://10.9.8.7/c.whl">'
        '<a href="http://host.local:80/d.whl"><a href="http://localhost:80/e.whl"><a href="f.whl">')


class Index(http.server.BaseHTTPRequestHandler):
    seen = []

    def do_GET(self):
        Index.seen.append((self.path, self.headers.get("Authorization")))
        body = (PAGE if self.path == "/simple/pip/" else "x" * (3 << 20) if self.path.startswith("/big") else "index").encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass

    def log_message(self, *_):
        pass


def write(path, text, mode=0o600):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.lexists(path):
        os.unlink(path)
    with open(path, "w") as out:
        out.write(text)
    os.chmod(path, mode)
    return path


def rules(home, *presets, **env):
    """The rules a run with these presets would have; None when it is refused."""
    done = home.call("plan", "--json", "--allow", ",".join(presets), "--", "true", **{**BARE, **env})
    try:
        return sorted(json.loads(done.stdout)["allow"])
    except (ValueError, KeyError):
        return None


def shown(home, name, *words, **env):
    for row in home.rows("net", "presets", *words, **{**BARE, **env}):
        if row["preset"] == name:
            return row
    return None


def test_reach(home):
    write(home.path + "/.config/pip/pip.conf", f"[global]\nindex-url = http://user:{TOKEN}@good.example:8800/simple\n")
    result = run(home, "print(get('good.example', 8800)); print(get('evil.example', 80)); print(get('good.example', 80))",
                 "--allow", "@pypi")
    out = lines(result)
    tap.ok(len(out) == 3 and "index" in out[0] and "index" not in out[1], "@pypi reaches the index and nothing else", result)
    tap.ok(any("evil.example" in d["what"] for d in result["denials"]), "the rest is refused by name", result["denials"])
    tap.equal(rules(home, "@pypi"), ["good.example:8800"], "one rule: what is configured hides what is built in")
    tap.equal(rules(home, "@pypi", PIP_INDEX_URL="https://mirror.example/simple", PIP_EXTRA_INDEX_URL=f"https://u:{TOKEN}@b.example/x"),
              ["b.example:443", "mirror.example:443"], "variables come before files")


def test_forms(home):
    top = home.path
    write(top + "/.npmrc", f"registry=https://n.example/\n@corp:registry=https://c.example:8443/npm\n//n.example/:_authToken={TOKEN}\n")
    tap.equal(rules(home, "@npm"), ["c.example:8443", "n.example:443"], "npm: registry and scopes")
    write(top + "/.cargo/config.toml", '[source.crates-io]\nreplace-with = "m"\n[source.m]\nregistry = "sparse+https://m.example/i/"\n'
          f'[registries.corp]\nindex = "https://r.example/git"\ntoken = "{TOKEN}"\n')
    os.makedirs(top + "/.cargo/registry/index/m.example-0123456789abcdef", exist_ok=True)
    write(top + "/.cargo/registry/index/m.example-0123456789abcdef/config.json", '{"dl":"https://dl.example/x"}')
    os.makedirs(top + "/.cargo/registry/index/old.example-0123456789abcdef", exist_ok=True)
    write(top + "/.cargo/registry/index/old.example-0123456789abcdef/config.json", '{"dl":"https://olddl.example/x"}')
    tap.equal(rules(home, "@crates"), ["dl.example:443", "m.example:443", "r.example:443"],
              "cargo: the source in use, its files, other registries; not an index of the past")
    write(top + "/.config/go/env", f"GOPROXY=https://u:{TOKEN}@g.example,https://h.example|direct\nGOSUMDB=sum.example+ab12+Zz\n")
    tap.equal(rules(home, "@go"), ["g.example:443", "h.example:443", "sum.example:443"], "go: proxies and sums")
    write(top + "/.m2/settings.xml", "<settings><servers><server><password>" + TOKEN + "</password></server></servers><mirrors><!--"
          "<mirror><url>https://no.example</url></mirror>--><mirror><url>https://v.example/m</url></mirror></mirrors></settings>")
    tap.equal(rules(home, "@maven"), ["v.example:443"], "maven: a mirror hides what is built in")
    tap.equal(rules(home, "@npm", "x.example:1"), ["c.example:8443", "n.example:443", "x.example:1"], "beside other rules")
    tap.equal(rules(home, "@npm", NPM_CONFIG_REGISTRY="http://127.0.0.1:4873/"), ["c.example:8443", "localhost:4873"],
              "one on this machine is reached as localhost")
    told = home.call("net", "presets", **BARE)
    tap.ok(TOKEN not in told.stdout + told.stderr and "v.example:443" in told.stdout, "no token is shown", told)
    tap.ok(".npmrc" in shown(home, "npm")["hosts"][0]["how"], "how it is known", shown(home, "npm"))


def test_tokens(home):
    """Registries come along as variables, tokens of no configuration do."""
    presets, inside = "@pypi,@npm,@crates,@go,@maven", {"PIP_EXTRA_INDEX_URL": f"https://u:{TOKEN}@b.example/x", "NPM_CONFIG__AUTH": TOKEN,
                                                        "UV_INDEX_URL": f"https://x.example/?t={TOKEN}", "CARGO_REGISTRY_TOKEN": TOKEN}
    script = ('env; for f in .npmrc .config/pip/pip.conf .cargo/config.toml .config/go/env .m2/settings.xml; do '
              'cat "$HOME/$f" "/proc/1/root$HOME/$f"; done 2>/dev/null; cat /proc/*/environ | tr "\\0" "\\n"; cat /run/aisbx/*')
    done = home.call("run", "--json", "--allow", presets, "--", "sh", "-c", script, **BARE, **inside)
    result = json.loads(done.stdout)
    tap.ok(TOKEN not in done.stdout + done.stderr and "AISBX=1" in result["stdout"], "no token inside, nor in the result", result)
    for pair in ("PIP_INDEX_URL=http://good.example:8800/simple", "PIP_EXTRA_INDEX_URL=https://b.example/x",
                 "NPM_CONFIG_REGISTRY=https://n.example/", "GOPROXY=https://g.example,https://h.example|direct"):
        tap.ok(pair in result["stdout"].splitlines(), f"inside: {pair}", result["stdout"][:1000])
    tap.ok("PIP_INDEX_URL" in str(result["notes"]) and "UV_INDEX_URL" in str(result["notes"]), "that is said", result["notes"])
    done = home.call("run", "--pass-env", "PIP_EXTRA_INDEX_URL", "--", "env", **BARE, **inside)
    tap.ok(TOKEN in done.stdout, "(passed as it is, the token would be seen)")
    done = home.call("run", "--allow", "@npm", "--env", "NPM_CONFIG_REGISTRY=mine", "--", "sh", "-c", "echo $NPM_CONFIG_REGISTRY", **BARE)
    tap.equal(done.stdout, "mine\n", "what the user says for inside comes first")


def test_own(home):
    write(home.path + "/.config/aisbx/presets", "# mine\ncompany pkgs.example,files.example:8443\nnpm more.example\n")
    tap.equal(rules(home, "@company"), ["files.example:8443", "pkgs.example:443", "pkgs.example:80"], "a preset of the user's own")
    tap.ok("more.example:443" in rules(home, "@npm"), "and more for one there is")
    os.chmod(home.path + "/.config/aisbx/presets", 0o666)
    tap.equal(rules(home, "@company"), None, "not from a list that others may write")
    os.unlink(home.path + "/.config/aisbx/presets")
    done = home.call("run", "--allow", "@company", "--", "true", **BARE)
    tap.ok(refused(done, 125, "@company", "net presets"), "an unknown name is refused", done)
    done = home.call("run", "--deny", "@npm", "--", "true", **BARE)
    tap.ok(refused(done, 125, "@npm"), "deny takes hosts", done)
    done = home.call("run", "--allow", "@../x", "--", "true", **BARE)
    tap.ok(refused(done, 125, "@NAME"), "a path is no name", done)


def test_nothing(home):
    shutil.rmtree(home.path + "/.cargo")
    done = home.call("run", "--allow", "@crates", "--", "true", **BARE)
    tap.ok(refused(done, 125, "@crates", "unknown here", "--allow HOST"), "nothing found: refused, with the flag for hosts", done)
    done = home.call("run", "--profile", "rust-project", "--", "true", **BARE)
    tap.ok(refused(done, 125, "@crates", "unknown here"), "the same by a profile", done)
    done = home.call("run", "--profile", "rust-project", "--no-net", "--", "true", **BARE)
    tap.equal(done.returncode, 0, "not without a network")


def test_workspace(home):
    """Files of the workspace never add a host, by whatever way they come to be read."""
    rc, npmrc = home.path + "/.npmrc", "registry=http://evil.example/\n"
    write(home.work + "/.npmrc", npmrc)
    write(home.work + "/pip.conf", "[global]\nindex-url = http://evil.example/simple\n")
    write(home.work + "/.cargo/config.toml", '[registries.e]\nindex = "http://evil.example/"\n')
    write(home.work + "/.m2/settings.xml", "<mirrors><mirror><url>http://evil.example/</url></mirror></mirrors>")
    os.unlink(rc)
    write(rc, "registry=http://good.example:8800/\n")
    for preset in ("@npm", "@pypi", "@go", "@maven"):
        tap.ok("evil" not in str(rules(home, preset)), f"{preset}: not from the workspace's own files")
    result = run(home, "print(get('evil.example'))", "--allow", "@npm")
    tap.ok(any("evil.example" in d["what"] and "--allow evil.example" in (d["hint"] or "") for d in result["denials"]),
           "a registry that only the project names is refused by name, with the line that allows it", result["denials"])
    for name, value in (("NPM_CONFIG_USERCONFIG", home.work + "/.npmrc"), ("PIP_CONFIG_FILE", home.work + "/pip.conf"),
                        ("CARGO_HOME", home.work + "/.cargo"), ("VIRTUAL_ENV", home.work)):
        found = str([rules(home, preset, **{name: value}) for preset in ("@npm", "@pypi", "@crates")])
        tap.ok("evil" not in found, f"{name} that leads into the workspace adds nothing", found)
    os.unlink(rc)
    os.symlink(home.work + "/.npmrc", rc)
    row = shown(home, "npm")
    tap.ok("evil" not in str(row["hosts"]) and "workspace" in str(row["notes"]), "nor does a link into it; that is said", row)
    os.unlink(rc)
    os.mkdir(home.path + "/bin")
    os.symlink(home.work, home.path + "/bin/w")
    os.symlink(home.path + "/bin/w/.npmrc", rc)
    tap.ok("evil" not in str(shown(home, "npm")["hosts"]), "nor a link over a link")
    os.unlink(rc)
    shutil.copy(home.work + "/.npmrc", rc)
    tap.ok("evil.example:80" in str(shown(home, "npm")["hosts"]), "(the same file in the home does)")
    os.unlink(rc)


def test_hostile(home):
    rc = home.path + "/.npmrc"
    cases = {"fifo": lambda: os.mkfifo(rc, 0o600), "directory": lambda: os.mkdir(rc),
             "too large": lambda: write(rc, "registry=http://evil.example/\n" + "#" * (2 << 20)),
             "writable by others": lambda: write(rc, "registry=http://evil.example/\n", 0o666),
             "device": lambda: os.symlink("/dev/zero", rc), "loop": lambda: os.symlink(rc, rc)}
    for what, make in cases.items():
        make()
        row = shown(home, "npm")
        tap.ok(row is not None and "evil" not in str(row["hosts"]), f"{what}: nothing is read, and nothing waits", row)
        os.rmdir(rc) if os.path.isdir(rc) else os.unlink(rc)
    for url in ("https://good.example\\@evil.example/", "https://u:p/w@evil.example/", "https://*.evil.example/", "https://0.0.0.0/",
                "https://evil.example/?t=1", "file:///evil.example", "https://evil.example:99999/", "https://${X}.evil.example/"):
        write(rc, f"registry={url}\n")
        row = shown(home, "npm")
        tap.ok("evil" not in str(row["hosts"]) and "0.0.0.0" not in str(row["hosts"]), f"no host in {url}", row)
    write(rc, "".join(f"@s{i}:registry=https://h{i}.example/\n" for i in range(500)))
    tap.ok(len(shown(home, "npm")["hosts"]) <= 64, "at most 64 hosts")
    os.unlink(rc)


def test_ask(home):
    """A client without a file is asked: one outside the workspace, apart from everything."""
    fake = '#!/bin/sh\nls >&2\necho "`https://{}.example/config.json`"\n{}\n'
    write(home.path + "/.local/bin/cargo", fake.replace("`", "\\`").format("asked", f"cat {home.work}/secret; touch {home.work}/touched"), 0o755)
    write(home.work + "/bin/cargo", fake.replace("`", "\\`").format("evil", f"touch {home.work}/ran"), 0o755)
    write(home.work + "/secret", "`https://secret.example/config.json`\n")
    path = f"{home.path}/.local/bin:/usr/bin:/bin"
    tap.equal(rules(home, "@crates", PATH=path), ["asked.example:443"], "the client is asked, in a sandbox over an empty workspace")
    tap.ok(not os.path.exists(home.work + "/touched"), "what it writes is gone")
    tap.equal(rules(home, "@crates", PATH=f"{home.work}/bin:bin:.:{path}"), ["asked.example:443"], "never one of the workspace's")
    os.symlink(home.work + "/bin/cargo", home.path + "/.local/bin/cargo2")
    os.rename(home.path + "/.local/bin/cargo2", home.path + "/.local/bin/cargo")
    tap.equal(rules(home, "@crates", PATH=path), None, "nor by a link")
    write(home.path + "/.local/bin/cargo", "#!/bin/sh\nsleep 100\n", 0o755)
    tap.equal(rules(home, "@crates", PATH=path), None, "one that does not answer is given up")
    os.unlink(home.path + "/.local/bin/cargo")


def test_refresh(home):
    if not shutil.which("curl"):
        tap.skip("net presets --refresh", "curl is not installed")
        return
    write(home.path + "/.netrc", f"machine good.example login u password {TOKEN}\n")
    row = shown(home, "pypi")
    tap.equal([h["rule"] for h in row["hosts"]], ["good.example:8800"], "before the look")
    row = shown(home, "pypi", "--refresh")
    tap.equal(sorted(h["rule"] for h in row["hosts"]), ["api.good.example:8800", "good.example:8800"],
              "one look: another host that files come from, and neither addresses nor this machine")
    tap.ok(all(not word for _, word in Index.seen) and TOKEN not in str(Index.seen), "no token is sent", Index.seen)
    count = len(Index.seen)
    tap.equal(rules(home, "@pypi"), ["api.good.example:8800", "good.example:8800"], "what was found is kept")
    tap.equal(len(Index.seen), count, "and nobody asks again")
    result = run(home, "print(get('api.good.example', 8800))", "--allow", "@pypi")
    tap.ok("index" in result["stdout"], "it is reached", result)
    tap.equal(rules(home, "@pypi", PIP_INDEX_URL="http://other.example/simple"), ["other.example:80"], "for that index alone")
    write(home.path + "/.config/pip/pip.conf", "[global]\nindex-url = http://good.example:8800/big\n")
    row = shown(home, "pypi", "--refresh")
    tap.ok(row is not None and len(row["hosts"]) <= 2, "an endless answer is cut", row)
    write(home.path + "/.config/pip/pip.conf", "[global]\nindex-url = http://good.example:8800/simple\n")


def test_verbs(home):
    done = home.call("create", "p1", "--allow", "@pypi", **BARE)
    tap.equal(done.returncode, 0, "create takes a preset")
    done = home.call("exec", "p1", "--", "python3", "-c",
                     "import urllib.request as u; print(u.urlopen('http://good.example:8800/x', timeout=60).read())", **BARE)
    tap.ok("index" in done.stdout, "a named sandbox reaches it", done)
    done = home.call("allow", "p1", "@npm", NPM_CONFIG_REGISTRY="http://evil.example:80/", **BARE)
    tap.ok(done.returncode == 0 and "evil.example:80" in done.stdout, "allow takes one, and keeps its hosts", done)
    done = home.call("allow", "@npm", NPM_CONFIG_REGISTRY="http://n.example:81/", **BARE)
    tap.ok("n.example:81" in str(home.rows("net")), "for the workspace, too", done)
    home.call("allow", "--rm", "n.example:81")
    home.call("rm", "p1")
    done = home.call("plan", "--json", "--profile", "python-project", "--", "true", **BARE)
    tap.equal(json.loads(done.stdout)["allow"], ["good.example:8800"], "python-project has its registry")
    done = home.call("plan", "--json", "--profile", "python", "--", "true", **BARE)
    tap.equal(json.loads(done.stdout)["net"], "none", "python stays without a network")


def main():
    enter()
    with Home("presets-") as home:
        for name in [k for k in home.env if k.upper().startswith(("PIP_", "NPM_CONFIG_", "CARGO", "GO", "UV_", "MAVEN"))]:
            del home.env[name]
        build_internet(home)
        server = http.server.ThreadingHTTPServer((GOOD, 8800), Index)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        if home.can_run(tap, "presets"):
            for test in (test_reach, test_forms, test_tokens, test_own, test_nothing, test_workspace, test_hostile, test_ask, test_refresh, test_verbs):
                tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
