#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libaisbx as it is built: exactly the header's names, one version, and the example programs with the real program.

Takes the program from AISBX, the tree from AISBX_SOURCE, the build from AISBX_BUILD. Speaks TAP.
"""

import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))

import wasmtest
from clitest import AISBX, Home, Tap

SOURCE = os.environ.get("AISBX_SOURCE") or os.path.join(HERE, "..", "..")
BUILD = os.environ.get("AISBX_BUILD") or os.path.join(SOURCE, "build", "dev")
SHARED = os.path.join(BUILD, "src", "lib", "libaisbx.so")
STATIC = os.path.join(BUILD, "src", "lib", "libaisbx.a")
tap = Tap()


def text_of(*path):
    with open(os.path.join(*path)) as file:
        return file.read()


def names_in(library, *flags):
    """Symbols that others can link to."""
    listing = subprocess.run(["nm", *flags, "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return sorted({line.split()[2] for line in listing.splitlines() if re.match(r"\w+ [TDBRVW] ", line)})


def test_names():
    header = text_of(SOURCE, "include", "aisbx.h")
    code = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    declared = sorted(set(re.findall(r"\b(aisbx_\w+)\(", code)))
    tap.ok(len(declared) > 30, "the header declares functions", declared)
    if not shutil.which("nm"):
        tap.skip("symbols", "there is no nm here")
    else:
        tap.equal([name for name in names_in(SHARED, "-D") if not name.startswith("__")], declared,
                  "the shared library has these names and no others")
        if os.path.exists(STATIC):
            tap.equal(names_in(STATIC, "-g"), declared, "so has the static one")
        else:
            tap.skip("the static library", "not made with a sanitizer")
    bare = [name for name in declared if not re.search(r"\*/\n(?:AISBX_API[^;]*;\n)*AISBX_API[^;]*\b" + name + r"\(", header)]
    tap.ok(not bare, "every call has its sentence", bare)


def test_version():
    header = text_of(SOURCE, "include", "aisbx.h")
    parts = [re.search(rf"AISBX_VERSION_{part} (\d+)", header).group(1) for part in ("MAJOR", "MINOR", "PATCH")]
    wanted = re.search(r"version: '([\d.]+)'", text_of(SOURCE, "meson.build")).group(1)
    tap.equal(".".join(parts), wanted, "header and build have one version")
    if shutil.which("readelf"):
        dynamic = subprocess.run(["readelf", "-d", SHARED], capture_output=True, text=True, check=True).stdout
        tap.ok(f"[libaisbx.so.{parts[0]}]" in dynamic, "the shared library is named by its major number", dynamic)


def test_examples(home):
    environment = {**home.env, "AISBX": AISBX, "LD_LIBRARY_PATH": os.path.dirname(SHARED)}

    def example(name, *words):
        return subprocess.run([os.path.join(BUILD, "tests", "cli", name), *words], cwd=home.work, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)

    done = example("run-snippet", "print(6 * 7)")
    tap.ok(done.returncode == 0 and done.stdout == "42\n", "run-snippet", done)
    home.put("README.md", "the colour of it\n")
    done = example("try-a-change", "sed", "-i", "s/colour/color/g", "README.md")
    tap.ok(done.returncode == 0 and "modified README.md\ntake it back with: aisbx undo" in done.stdout, "try-a-change", done)
    tap.equal(home.read("README.md"), "the color of it\n", "applied what succeeded")
    done = example("try-a-change", "sh", "-c", "echo broken > README.md; exit 1")
    tap.ok(done.returncode == 1 and home.read("README.md") == "the color of it\n", "and nothing else", done)
    tap.equal(home.rows("ls"), [], "no sandbox is left")
    why = wasmtest.install(wasmtest.Caller(home))
    if why or not os.path.isdir(home.path + "/.local/share/aisbx/wasm/python"):
        tap.skip("many-snippets", why or "set-up has not installed the languages")
        return
    done = example("many-snippets", "x = 1; print(hash('x'))", "print(hash('x'))", "print(x)", "import sys; sys.exit(3)", "print(2)")
    lines = done.stdout.splitlines()
    tap.ok(len(lines) == 3 and lines[0] == lines[1] and lines[2] == "2", "many-snippets: one interpreter, started once", done)
    tap.ok("NameError: name 'x' is not defined" in done.stderr, "and none sees another", done)


def main():
    with Home("aisbx-library.") as home:
        tap.attempt(test_names)
        tap.attempt(test_version)
        first = home.call("run", "--", "python3", "-c", "1")
        if first.returncode != 0:
            tap.skip("examples", "a first run is refused here: " + first.stderr.strip())
        else:
            tap.attempt(test_examples, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
