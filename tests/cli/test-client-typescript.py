#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The TypeScript client: its README as printed, its methods and errors, how it installs, its types.

Takes the program from AISBX, the package from AISBX_SOURCE/clients/typescript. Speaks TAP. Needs node; npm and tsc for
what is about them.
"""

import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))

from clitest import AISBX, Home, Tap
from hostedits import SETUP, WAYS

SOURCE = os.environ.get("AISBX_SOURCE") or os.path.join(HERE, "..", "..")
PACKAGE = os.path.realpath(os.path.join(SOURCE, "clients", "typescript"))
tap = Tap()


def call(home, *words, cwd=None, timeout=200):
    return subprocess.run(words, cwd=cwd or home.work, env={**home.env, "AISBX": AISBX, "npm_config_cache": home.path + "/npm",
                                                      "HOST_EDITS": json.dumps({"setup": SETUP, "ways": WAYS})},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, check=False)


def link(home):
    """What npm would put there."""
    os.makedirs(home.work + "/node_modules", exist_ok=True)
    if not os.path.lexists(home.work + "/node_modules/aisbx"):
        os.symlink(PACKAGE, home.work + "/node_modules/aisbx")


def test_install(home):
    if not shutil.which("npm"):
        tap.skip("npm installs it", "there is no npm here")
        return
    app = home.path + "/app"
    os.mkdir(app)
    with open(app + "/package.json", "w") as out:
        out.write('{"name": "app", "private": true}')
    done = call(home, "npm", "install", "--offline", "--no-audit", "--no-fund", PACKAGE, cwd=app)
    tap.ok(done.returncode == 0, "npm installs it without a network", done)
    script = "import { run } from 'aisbx'; console.log((await run('echo $((6*7))')).stdout.trim())"
    seen = call(home, "node", "--input-type=module", "-e", script, cwd=app)
    tap.equal(seen.stdout, "42\n", "and it works from there")
    packed = call(home, "npm", "pack", "--dry-run", "--json", cwd=PACKAGE)
    tap.ok(all(name in packed.stdout for name in ("index.js", "index.d.ts", "lib/sandbox.js", "README.md")),
           "a package of it is whole", packed)


def test_readme(home):
    """Every block in order; what stands behind a console.log as a comment is what it prints."""
    with open(PACKAGE + "/README.md") as page:
        code = "\n".join(re.findall(r"^```js\n(.*?)^```", page.read(), re.M | re.S))
    wanted = re.findall(r"^\s*console\.log\(.*\) +// (.*)$", code, re.M)
    with open(home.work + "/readme.mjs", "w") as out:
        out.write(code)
    done = call(home, "node", "readme.mjs")
    printed = [line for line in done.stdout.splitlines() if line]
    tap.ok(done.returncode == 0 and len(wanted) > 6, "README runs", done)
    tap.equal(printed, wanted, "README: as printed")
    os.unlink(home.work + "/readme.mjs")


def test_methods(home):
    shutil.copy(os.path.join(HERE, "client-typescript.mjs"), home.work + "/methods.mjs")
    done = call(home, "node", "methods.mjs")
    cases = re.findall(r"^(not ok|ok) \d+ - (.*)$", done.stdout, re.M)
    for verdict, what in cases:
        tap.ok(verdict == "ok", what, done.stdout)
    tap.ok(done.returncode == 0 and f"1..{len(cases)}" in done.stdout, "the methods come to their end", done)
    os.unlink(home.work + "/methods.mjs")


def test_types(home):
    tsc = shutil.which("tsc")
    if not tsc:
        tap.skip("types hold", "there is no tsc here")
        return
    shutil.copy(os.path.join(HERE, "client-typescript-types.ts"), home.work + "/types.ts")
    # Node's own types are a package of their own; what is used of them is said in one line.
    with open(home.work + "/node.d.ts", "w") as out:
        out.write("interface Buffer extends Uint8Array {}\n")
    done = call(home, tsc, "--strict", "--noEmit", "--target", "es2022", "--module", "nodenext", "--moduleResolution",
                "nodenext", "types.ts", "node.d.ts")
    tap.ok(done.returncode == 0, "types hold", done.stdout)


def main():
    if not shutil.which("node"):
        tap.skip("the TypeScript client", "there is no node here")
        return tap.done()
    with Home("aisbx-ts.") as home:
        first = home.call("run", "--", "true")
        if first.returncode != 0:
            tap.skip("the TypeScript client", "a first run is refused here: " + first.stderr.strip())
            return tap.done()
        link(home)
        for test in (test_readme, test_methods, test_types, test_install):
            tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
