#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The first hour with a real project: install, build, test, try, race, promote, undo, with each language's own tools.

Every tool starts cold: an empty cache and an empty home, a registry that is a stand-in on the loopback. Tokens that a user
keeps for registries lie in that home; nothing inside may read one, and no request may carry one.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it; the suite's runner does so as root and as a plain user.
"""

import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from clitest import Home, Tap
from registries import GREETING, Registries
from toolchains import missing, show_rust

tap = Tap()
TOKEN = "canary-4f1d9b"
# Where clients keep what they authenticate with.
CREDENTIALS = {
    ".npmrc": f"//localhost/:_authToken={TOKEN}\n",
    ".config/pip/pip.conf": f"[global]\nextra-index-url = http://me:{TOKEN}@127.0.0.1:9/simple\n",
    ".pypirc": f"[pypi]\npassword = {TOKEN}\n",
    ".netrc": f"machine localhost login me password {TOKEN}\n",
    ".cargo/credentials.toml": f'[registry]\ntoken = "{TOKEN}"\n',
    ".m2/settings.xml": f"<settings><servers><server><id>stand-in</id><password>{TOKEN}</password></server></servers></settings>\n",
    ".git-credentials": f"http://me:{TOKEN}@localhost\n",
}

# What tools make, and a project's .gitignore names.
MADE = ["deps", "node_modules", "package-lock.json", "pnpm-lock.yaml", "yarn.lock", ".cache", ".mod", "vendor", "go.sum", ".home", "target", "Cargo.lock", ".m2", "app",
        "greet.h", "__pycache__"]


class Project:
    """Files, how dependencies come in, how it is tested, and a source whose edit breaks the test."""

    def __init__(self, name, programs, files, install, test, source):
        self.name, self.programs, self.files = name, programs, files
        self.install, self.test, self.source = install, test, source


def projects(url):
    """One for each language and client. Each test prints the greeting that only the installed library has."""
    python = {"app.py": "import greet\n\ndef main():\n    return greet.hello()\n",
              "test_app.py": "import unittest, app\nclass T(unittest.TestCase):\n    def test_hello(self):\n"
                             f"        self.assertEqual(app.main(), '{GREETING}')\n        print(app.main())\n"}
    node = {"package.json": '{"name":"app","version":"1.0.0","private":true,"dependencies":{"greet":"1.0.0"},'
                            '"scripts":{"test":"node test.js"}}\n',
            "app.js": "module.exports = () => require('greet')();\n",
            "test.js": f"const said = require('./app.js')();\nrequire('assert').equal(said, '{GREETING}');\nconsole.log(said);\n"}
    unittest = "PYTHONPATH=deps /usr/bin/python3 -B -m unittest -q 2>&1"
    pip = "/usr/bin/python3 -m pip --disable-pip-version-check -q install --no-cache-dir --target deps"
    pom = ("<project><modelVersion>4.0.0</modelVersion><parent><groupId>org.example</groupId><artifactId>greet</artifactId>"
           "<version>1.0</version><relativePath/></parent><artifactId>app</artifactId><repositories><repository><id>stand-in</id>"
           f"<url>{url}/maven</url></repository></repositories></project>\n")
    return [
        Project("python", ["/usr/bin/python3"], python, f"{pip} --index-url {url}/simple greet", unittest, "app.py"),
        Project("uv", ["uv", "/usr/bin/python3"], python,
                f"uv pip install -q --no-cache --no-config --python /usr/bin/python3 --target deps --index-url {url}/simple greet", unittest, "app.py"),
        Project("pnpm", ["node", "pnpm"], node,
                f"pnpm install --silent --registry {url}/npm/ --store-dir $PWD/.cache/store --cache-dir $PWD/.cache/pnpm", "node test.js", "app.js"),
        Project("yarn", ["node", "yarn"], node,
                f"yarn install --silent --non-interactive --registry {url}/npm --cache-folder $PWD/.cache", "node test.js", "app.js"),
        Project("javascript", ["node", "npm"], node,
                f"npm install --silent --no-audit --no-fund --no-update-notifier --registry {url}/npm/", "npm test --silent", "app.js"),
        Project("go", ["go"],
                {"go.mod": "module example.org/app\n\ngo 1.18\n\nrequire example.org/greet v1.0.0\n",
                 "main.go": 'package main\n\nimport "example.org/greet"\n\nfunc main() {\n\tprint(greet.Hello(), "\\n")\n}\n'},
                f"GOPROXY={url}/go GOSUMDB=off GOFLAGS=-mod=mod GOTOOLCHAIN=local GOCACHE=$PWD/.cache GOMODCACHE=$PWD/.mod "
                "sh -c 'go mod tidy && go mod vendor'",
                "GOPROXY=off GOFLAGS=-mod=vendor GOTOOLCHAIN=local GOCACHE=$PWD/.cache GOMODCACHE=$PWD/.mod go run . 2>&1", "main.go"),
        Project("rust", ["cargo"],
                {"Cargo.toml": '[package]\nname = "app"\nversion = "1.0.0"\nedition = "2021"\n\n[dependencies]\ngreet = "1.0.0"\n',
                 ".cargo/config.toml": f'[source.crates-io]\nreplace-with = "stand-in"\n[source.stand-in]\nregistry = "sparse+{url}/cargo/"\n',
                 "src/main.rs": 'fn main() {\n    println!("{}", greet::hello());\n}\n'},
                "CARGO_HOME=$PWD/.home cargo -q fetch", "CARGO_HOME=$PWD/.home cargo -q run --offline", "src/main.rs"),
        Project("java", ["mvn", "javac"],
                {"pom.xml": pom,
                 "App.java": "public class App {\n  public static void main(String[] words) throws Exception {\n"
                             '    String pom = java.nio.file.Files.readString(java.nio.file.Path.of(".m2/org/example/greet/1.0/greet-1.0.pom"));\n'
                             '    System.out.println(pom.replaceAll("(?s).*<greeting>|</greeting>.*", ""));\n  }\n}\n'},
                "mvn -q -B -Dmaven.repo.local=$PWD/.m2 validate", "java -Xmx128m App.java", "App.java"),
        Project("c", ["gcc", "make"],
                {"Makefile": "app: app.c greet.h\n\t$(CC) -o app app.c\n",
                 "app.c": '#include <stdio.h>\n#include "greet.h"\n\nint main(void)\n{\n\tputs(GREETING);\n\treturn 0;\n}\n'},
                f"printf '#define GREETING \"{GREETING}\"\\n' >greet.h", "make -s && ./app", "app.c"),
    ]


def start_anew(home, project):
    """The project as it is cloned: its files, committed, and nothing that its tools make."""
    subprocess.run(["find", home.work, "-mindepth", "1", "-delete"], check=True)
    for name, text in {**project.files, ".gitignore": "\n".join(MADE) + "\n"}.items():
        home.put(name, text)
    git = ["git", "-C", home.work, "-c", "user.name=t", "-c", "user.email=t@localhost"]
    for words in (["init", "-q"], ["add", "--all"], ["commit", "-q", "-m", "one"]):
        subprocess.run([*git, *words], check=True, env=home.env)


def flags(server, shown):
    return ["--allow", f"localhost:{server.port}", "--time", "5m", *shown]


def run_outside(home, project):
    """The project's test on the host, in a copy, so that what it makes is not taken for the user's."""
    with tempfile.TemporaryDirectory(dir=home.path) as copy:
        subprocess.run(["cp", "-a", home.work + "/.", copy], check=True)
        return subprocess.run(["sh", "-ec", project.test], cwd=copy, env=home.env, capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL)


def test_run(home, project, server, shown):
    """One throw-away run: from nothing to a passing test, and nothing of it stays."""
    before = home.tree()
    done = home.call("run", *flags(server, shown), "--", "sh", "-ec", f"{project.install}; {project.test}")
    tap.ok(done.returncode == 0 and GREETING in done.stdout, f"{project.name}: installs and passes its test in one run", done)
    tap.equal(home.tree(), before, f"{project.name}: the host has none of it")


def test_named(home, project, server, shown):
    """A named sandbox: install, test without the network, promote, test on the host, undo."""
    name, before = project.name, home.tree()
    home.call("create", name, *flags(server, shown))
    done = home.call("exec", name, "--", "sh", "-ec", project.install)
    tap.ok(done.returncode == 0, f"{name}: installs in a named sandbox", done)
    done = home.call("exec", name, "--", "sh", "-ec", project.test)
    tap.ok(done.returncode == 0 and GREETING in done.stdout, f"{name}: the next command finds what was installed", done)
    done = home.call("promote", name, "--ignored", "--allow-path", "*")
    tap.ok(done.returncode == 0, f"{name}: all of it is promoted when asked for", done)
    done = run_outside(home, project)
    tap.ok(done.returncode == 0 and GREETING in done.stdout, f"{name}: works on the host as it did inside", done)
    done = home.call("undo")
    tap.ok(done.returncode == 0 and home.tree() == before, f"{name}: undone, the host is as it was", done)
    home.call("rm", name)


def test_race(home, project, server, shown):
    """Two attempts, one of which breaks the source: the other wins, and its source alone is promoted."""
    before = home.read(project.source)
    bad = f"{project.install}; echo '<<< broken' >{project.source}"
    good = f"{project.install}; printf '\\n' >>{project.source}"
    done = home.call("race", *flags(server, shown), "-c", f"bad={bad}", "-c", f"good={good}", "--check", project.test, "--promote")
    tap.ok(done.returncode == 0 and home.read(project.source) == before + "\n", f"{project.name}: the attempt that passes wins the race", done)
    made = [name for name in MADE if os.path.exists(os.path.join(home.work, name))]
    tap.equal(made, [], f"{project.name}: what its tools made stays in the sandbox")


def test_tokens(home):
    """What the user authenticates with is neither readable inside nor sent."""
    for name, text in CREDENTIALS.items():
        path = os.path.join(home.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    found = subprocess.run(["grep", "-rl", TOKEN, home.path], capture_output=True, text=True, check=False).stdout.split()
    tap.equal(len(found), len(CREDENTIALS), "control: the host's user has a token for each registry")
    done = home.call("run", "--", "grep", "-rl", TOKEN, home.path)
    tap.ok(done.returncode == 1 and not done.stdout, "none of them is readable inside", done)


def main():
    with Home("aisbx-pr.") as home, Registries() as server:
        if not home.can_run(tap, "projects"):
            return tap.done()
        # Where it is installed by hand, as its own instructions have it.
        home.env["PATH"] += ":/usr/local/go/bin:" + os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../fetched/clients/bin")
        tap.attempt(test_tokens, home)
        for project in projects(server.url):
            shown = show_rust(home) if project.name == "rust" else []
            lack = missing(home, project.programs, shown)
            if lack:
                tap.skip(f"{project.name}: a project of its own", lack)
                continue
            for test in (test_run, test_named, test_race):
                start_anew(home, project)
                tap.attempt(test, home, project, server, shown)
        tap.ok(server.seen, "control: registries were asked", server.seen)
        tap.ok(TOKEN not in " ".join(server.headers), "and no request carried a token", server.headers)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
