#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python client: its README as printed, its methods and errors, how it installs, its types.

Takes the program from AISBX, the package from AISBX_SOURCE/clients/python. Speaks TAP.
"""

import doctest
import glob
import importlib
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))

from clitest import AISBX, Home, Tap
from hostedits import SETUP, WAYS, shell

SOURCE = os.environ.get("AISBX_SOURCE") or os.path.join(HERE, "..", "..")
PACKAGE = os.path.realpath(os.path.join(SOURCE, "clients", "python"))
sys.dont_write_bytecode = True
sys.path.insert(0, PACKAGE)

import aisbx

tap = Tap()


def raised(kind, call, *words, **kw):
    """The error CALL raises, when it is of that very KIND; else None."""
    try:
        call(*words, **kw)
    except aisbx.SandboxError as error:
        return error if type(error) is kind else None
    return None


def test_readme():
    done = doctest.testfile(os.path.join(PACKAGE, "README.md"), module_relative=False, verbose=False)
    tap.ok(done.attempted > 20 and done.failed == 0, f"README: {done.attempted} lines as printed", done)


def test_run(home):
    home.put("sub/x.txt", "x\n")
    result = aisbx.run("cat; echo $A; pwd", stdin="in\n", envs={"A": "a b"}, cwd="sub")
    tap.equal(result.stdout, f"in\na b\n{home.work}/sub\n", "stdin, environment, directory")
    result = aisbx.run(["printf", "%s|", "a  b", "", "--json", "$HOME"])
    tap.equal(result.stdout, "a  b||--json|$HOME|", "a list is passed exactly")
    result = aisbx.run(["printf", "\\377\\000x"])
    tap.ok(result.stdout_data == b"\xff\x00x" and result.stdout == "\ufffd\x00x", "bytes that are not UTF-8", result)
    result = aisbx.run("head -c 5000 /dev/zero | tr '\\0' x", output="1k")
    tap.ok(result.truncated and len(result.stdout) == 1024, "what is not kept is said", result)
    result = aisbx.run("rm -r sub; echo > new", workspace=home.work)
    tap.ok(result.changes.added == 1 and os.path.exists(home.work + "/sub/x.txt"), "changes are counted and gone", result)
    error = raised(aisbx.CommandExitError, aisbx.run, "kill -9 $$")
    tap.ok(error and error.exit_code == 137 and error.code == "killed", "ended by a signal", error)
    error = raised(aisbx.CommandExitError, aisbx.run, ["no-such-program"])
    tap.ok(error and error.exit_code == 127 and "no-such-program" in error.message, "a program that is not there", error)
    error = raised(aisbx.UsageError, aisbx.run, "true", mem="3x")
    tap.ok(error and error.code == "usage" and error.hint == "use 512m, 1g", "a bad value, with its hint", error)
    tap.ok(raised(aisbx.UsageError, aisbx.run, "true", flags=["--no-such"]), "an unknown flag")


def test_sandbox(home):
    sandbox = aisbx.Sandbox.create("py-1", envs={"B": "b"})
    tap.ok(raised(aisbx.ConflictError, aisbx.Sandbox.create, "py-1"), "a name that is taken")
    tap.ok(raised(aisbx.UsageError, aisbx.Sandbox.create, "Not a name"), "a name that is none")
    tap.ok(raised(aisbx.UsageError, aisbx.Sandbox.create, "--json"), "a name that looks like a flag")
    tap.equal(aisbx.Sandbox.connect("py-1").commands.run("echo $B").stdout, "b\n", "connect, and its environment")
    tap.ok("py-1" in [info.name for info in aisbx.Sandbox.list()] and sandbox.is_running(), "list")
    tap.equal(sandbox.commands.run("pwd", envs={"PWD": ""}).stdout, home.work + "\n", "starts at the workspace's top")
    for seconds in (3, 30, 120):  # on a busy machine the first may be over before the command has begun
        error = raised(aisbx.TimeoutError, sandbox.commands.run, "echo so far; sleep 600", timeout=seconds)
        if error and error.stdout:
            break
    tap.ok(error and error.stdout == "so far\n", "a time limit, with what it wrote", error)
    tap.equal(sandbox.commands.run("exit 4", check=False).exit_code, 4, "check=False")
    error = raised(aisbx.NotFoundError, aisbx.Sandbox("no-such").commands.run, "true")
    tap.ok(error and error.code == "not_found", "a command in a sandbox that is not there", error)
    sandbox.stop()
    names = [one.name for one in sandbox.fork(2)]
    tap.ok(len(set(names)) == 2 and all(aisbx.Sandbox(name).kill() for name in names), "fork(2)")
    tap.ok(sandbox.kill() and not sandbox.kill() and not sandbox.is_running(), "kill, once")


def test_awaited(home):
    import asyncio
    from aisbx.aio import AsyncSandbox, run

    async def main():
        seen = []

        async def note(text):
            seen.append(text)

        async with await AsyncSandbox.create("py-aio") as sandbox:
            await asyncio.gather(*(sandbox.files.write(f"d/{i}", str(i)) for i in range(5)))
            names = [entry.name for entry in await sandbox.files.list("d")]
            tap.equal(names, list("01234"), "aio: calls at once")
            result = await sandbox.commands.run("cat; echo out; echo err >&2", stdin="in\n", on_stdout=note, on_stderr=seen.append)
            tap.ok(result.stdout == "in\nout\n" and sorted("".join(seen)) == sorted("in\nout\nerr\n"), "aio: callbacks, awaited or not", seen)
            handle = await sandbox.commands.run("read line; echo got $line; exit 3", background=True)
            await handle.send_stdin("x\n")
            try:
                await handle.wait()
            except aisbx.CommandExitError as error:
                tap.equal((error.exit_code, error.stdout), (3, "got x\n"), "aio: a command in the background")
            other = await sandbox.fork()
            tap.ok(await other.kill() and not await other.kill(), "aio: fork, kill")
            await sandbox.commands.run("mkfifo begun")
            task = asyncio.ensure_future(sandbox.commands.run("echo > begun; exec sleep 600"))
            await sandbox.commands.run("cat begun")
            task.cancel()
            try:
                await task
                tap.ok(False, "aio: a cancelled call is cancelled")
            except asyncio.CancelledError:
                left = await sandbox.commands.run("pgrep -x sleep", check=False)
                tap.equal(left.stdout, "", "aio: cancelled, it ends its command")
        tap.ok(not await sandbox.is_running(), "aio: the block removes it")
        try:
            await AsyncSandbox.connect("no-such")
        except aisbx.NotFoundError as error:
            tap.equal(error.code, "not_found", "aio: errors are the same")
        tap.equal((await run("echo $A", envs={"A": "b"})).stdout, "b\n", "aio: run")

    asyncio.run(main())


def test_cancelled_making(home):
    """The program may have made a sandbox by the time it is ended: here it makes one after that."""
    import asyncio
    from aisbx.aio import AsyncSandbox
    real = os.environ["AISBX"]
    home.put("aisbx", f"#!/bin/sh\ntrap '' TERM\n[ $1 != create ] || {{ : > begun; read line < go; }}\n'{real}' \"$@\"\n", 0o755)
    os.mkfifo(home.work + "/go")

    async def main():
        making = asyncio.ensure_future(AsyncSandbox.create("py-late"))
        while not os.path.exists(home.work + "/begun") and not making.done():
            await asyncio.sleep(0.01)
        making.cancel()
        await asyncio.sleep(0)
        with open(home.work + "/go", "r+b", buffering=0) as go:
            go.write(b"\n")
            try:
                await making
                tap.ok(False, "aio: cancelled, create is cancelled")
            except asyncio.CancelledError:
                tap.ok("py-late" not in [one.name for one in await AsyncSandbox.list()], "aio: cancelled, create leaves no sandbox")

    os.environ["AISBX"] = home.work + "/aisbx"
    try:
        asyncio.run(main())
    finally:
        os.environ["AISBX"] = real
        for name in ("aisbx", "begun", "go"):
            os.unlink(f"{home.work}/{name}")


def test_background(home):
    with aisbx.Sandbox.create() as sandbox:
        run = sandbox.commands.run
        handle = run("echo out; echo err >&2; cat; exit 3", background=True)
        tap.ok(handle.exec_id in str(sandbox.commands.list()), "a command in the background is listed")
        other = sandbox.commands.connect(handle.exec_id)
        text = "äöü\n" * 30000
        handle.send_stdin(text)
        handle.close_stdin()
        error = raised(aisbx.CommandExitError, handle.wait)
        tap.ok(error and error.exit_code == 3 and error.stdout == "out\n" + text and error.stderr == "err\n",
               "its input, output and end", error and (error.exit_code, error.stdout[:20], error.stderr))
        tap.ok(raised(aisbx.CommandExitError, other.wait) and other.stdout == handle.stdout, "seen by two")
        tap.ok(not handle.kill(), "nothing is left to end")
        binary = bytes(range(256)) * 9000
        handle = run("cat", background=True, stdin=binary, envs={"A": "a\nb"})
        tap.ok(handle.wait().stdout_data == binary, "bytes of every kind as input")
        tap.equal(run("echo \"$A\"", envs={"A": "a\nb=c"}, on_stdout=print).stdout, "a\nb=c\n", "variables, any text")
        before = sandbox.commands.list()

        def stumble(_):
            raise ValueError

        try:
            run("echo x; exec sleep 600", on_stdout=stumble)
            tap.ok(False, "an error of the caller's is passed on")
        except ValueError:
            # It is killed, which the record of commands learns a moment later.
            until = time.monotonic() + 60
            while sandbox.commands.list() != before and time.monotonic() < until:
                time.sleep(0.05)
            tap.equal(sandbox.commands.list(), before, "an error of the caller's ends the command")
        seen = []
        result = run("for i in 1 2 3; do echo $i; sleep 0.2; done; echo no >&2", on_stdout=seen.append,
                     on_stderr=seen.append)
        tap.ok("".join(seen) == result.stdout + result.stderr == "1\n2\n3\nno\n", "told while it runs", seen)
        tap.equal(run("cat", stdin="in", on_stdout=seen.append).stdout, "in", "with input")
        handle = run("sleep 60", background=True)
        ends = [handle.poll(), handle.kill(), raised(aisbx.CommandExitError, handle.wait)]
        tap.ok(ends[:2] == [None, True] and ends[2] and ends[2].code == "killed", "kill", ends)
        handle = run(["sleep", "60"], background=True, timeout=0.3)
        tap.ok(raised(aisbx.TimeoutError, handle.wait), "its time limit")
        tap.ok(raised(aisbx.NotFoundError, aisbx.Sandbox("no-such").commands.run, "true", background=True)
               and raised(aisbx.NotFoundError, sandbox.commands.connect, "no-such"), "what is not there")


def test_files(home):
    with aisbx.Sandbox.create() as sandbox:
        files = sandbox.files
        everything = bytes(range(256)) * 4096
        files.write("deep/er/all.bin", everything)
        tap.ok(files.read("deep/er/all.bin", format="bytes") == everything, "a megabyte of every byte there and back")
        tap.ok(not os.path.exists(home.work + "/deep"), "the host has none of it")
        for name in ("-rf", "a b", "quo'te\"s", "new\nline", "$(touch pwned)", "*", "-name", "!", "("):
            files.write(name, name)
            tap.ok(files.read(name) == name and files.get_info(name).size == len(name), f"a file called {name!r}")
        tap.ok(not files.exists("pwned"), "no name is a command")
        found = files.list()
        tap.ok("new\nline" in [entry.name for entry in found] and found == sorted(found, key=lambda e: e.path), "list", found)
        tap.equal([e.path for e in files.list("deep", depth=2)], ["deep/er", "deep/er/all.bin"], "list, two levels")
        files.remove("-rf")
        tap.ok(not files.exists("-rf") and files.exists("*"), "remove takes one file")
        tap.ok(files.make_dir("m/n") and not files.make_dir("m/n") and files.get_info("m/n").type == "dir", "make_dir")
        tap.equal(files.rename("a b", "m/c").path, "m/c", "rename")
        for call in (files.read, files.remove, files.list, files.get_info):
            tap.ok(raised(aisbx.NotFoundError, call, "nowhere/x"), f"{call.__name__} of what is not there")
        tap.ok(raised(aisbx.SandboxError, files.read, "m"), "read of a directory")
        sandbox.commands.run("mkfifo pipe")
        for call in (lambda: files.read("pipe"), lambda: files.write("pipe", "x")):
            error = raised(aisbx.SandboxError, call)
            tap.ok(error and "not a regular file" in error.message, "a pipe is neither read nor written", error)
        tap.ok(raised(aisbx.SandboxError, files.write, "/proc/version", "x"), "write where nobody may")


def test_promote(home):
    home.put("a.txt", "a\n")
    with aisbx.Sandbox.create() as sandbox:
        sandbox.commands.run("echo inside > a.txt; echo b > b.txt")
        tap.ok("+inside" in sandbox.patch() and len(sandbox.diff()) == 2, "patch and diff")
        home.put("a.txt", "outside\n")
        error = raised(aisbx.ConflictError, sandbox.promote)
        tap.ok(error and [c["path"] for c in error.promotion.conflicts] == ["a.txt"], "a conflict, with its place", error)
        found = sandbox.promote(dry_run=True)
        tap.ok(found.dry_run and len(found.conflicts) == 1 and not os.path.exists(home.work + "/b.txt"),
               "a dry run tells conflicts and applies nothing", found)
        nothing = sandbox.promote([])
        tap.ok(nothing.applied == [] and not os.path.exists(home.work + "/b.txt"), "no path, no promotion", nothing)
        tap.equal(sandbox.promote(["b.txt"]).applied, ["b.txt"], "the path named")
        done = sandbox.promote(strategy="theirs")
        tap.equal(home.read("a.txt"), "inside\n", "a strategy")
        aisbx.undo(done)
        tap.equal(home.read("a.txt"), "outside\n", "undo")
        sandbox.files.write("Makefile", "all:\n\techo\n")
        error = raised(aisbx.ConsentError, sandbox.promote, ["Makefile"])
        tap.ok(error and error.promotion.consent[0]["path"] == "Makefile", "what needs a person's word", error)
        tap.equal(sandbox.promote(["Makefile"], allow_paths=["Makefile"]).applied, ["Makefile"], "and gets it")
        sandbox.files.write("c.txt", "c\n")
        tap.ok(raised(aisbx.DeniedError, sandbox.promote, gates=["diff.files<1"]), "a gate")
        tap.ok(raised(aisbx.NotFoundError, sandbox.promote, ["nowhere"]), "a path that did not change")


def test_fresh(home):
    """What changes on the host is seen by the next command and the next read."""
    sandbox = aisbx.Sandbox.create("py-fresh")
    for way, edit in WAYS.items():
        shell(SETUP, home.work)
        tap.equal(sandbox.commands.run("cat f").stdout, "old\n", f"{way}: before")
        shell(edit, home.work)
        tap.equal(sandbox.commands.run("cat f 2>/dev/null; :").stdout, "" if way == "rm" else "new\n", f"{way}: a command sees it")
        tap.ok(raised(aisbx.NotFoundError, sandbox.files.read, "f") if way == "rm" else sandbox.files.read("f") == "new\n",
               f"{way}: and so does a read")
    shell(SETUP, home.work)
    sandbox.commands.run("mkfifo /tmp/up")
    handle = sandbox.commands.run("exec 3<f; echo up > /tmp/up; sleep 1000", background=True)
    sandbox.commands.run("cat /tmp/up")
    shell(WAYS["mv"], home.work)
    found = sandbox.commands.run("cat f")
    tap.ok("f may be older" in str(found.raw.get("notes")), "with something alive that holds it, a note says so", found)
    handle.kill()
    sandbox.kill()


def test_program(home):
    kept = os.environ.pop("AISBX")
    path = os.environ["PATH"]
    try:
        os.environ["PATH"] = home.path
        tap.ok(raised(aisbx.ProgramError, aisbx.run, "true"), "no program")
        os.environ["AISBX"] = "/nonexistent/aisbx"
        tap.ok(raised(aisbx.ProgramError, aisbx.run, "true"), "a path that leads nowhere")
        home.put("aisbx", "#!/bin/sh\necho '[1'\n", 0o755)
        os.environ["AISBX"] = home.work + "/aisbx"
        tap.ok(raised(aisbx.ProgramError, aisbx.run, "true") and raised(aisbx.ProgramError, aisbx.Sandbox.list),
               "an answer that is none")
        os.unlink(home.work + "/aisbx")
        os.environ["AISBX"] = "1"
        os.environ["PATH"] = os.path.dirname(kept) + ":" + path
        tap.ok(aisbx.run("true").ok, "AISBX=1, as inside a sandbox, is no path")
    finally:
        os.environ.update(AISBX=kept, PATH=path)


def test_install(home):
    pip = [sys.executable, "-m", "pip"]
    if subprocess.run([*pip, "--version"], capture_output=True, check=False).returncode != 0:
        tap.skip("pip installs it", "there is no pip here")
        return
    target = home.path + "/site"
    done = subprocess.run([*pip, "install", "--no-index", "--no-cache-dir", "--quiet", "--target", target, PACKAGE],
                          env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}, capture_output=True, text=True,
                          check=False)
    files = sorted(os.path.basename(name) for name in glob.glob(target + "/aisbx/*.*"))
    tap.ok(done.returncode == 0 and "py.typed" in files, "pip installs it without a network", done)
    seen = subprocess.run([sys.executable, "-c", "import aisbx; print(aisbx.run('echo $((6*7))').stdout, aisbx.__file__)"],
                          env={**os.environ, "PYTHONPATH": target}, capture_output=True, text=True, cwd=home.work,
                          check=False)
    tap.ok(seen.stdout.startswith("42\n") and target in seen.stdout, "and it works from there", seen)
    version = importlib.import_module("build_package").VERSION
    tap.equal(aisbx.__version__, version, "one version")


def test_types():
    mypy = shutil.which("mypy")
    if not mypy:
        tap.skip("types hold", "there is no mypy here")
        return
    done = subprocess.run([mypy, "--strict", "--no-incremental", "--cache-dir=/dev/null", PACKAGE + "/aisbx"],
                          capture_output=True, text=True, check=False)
    tap.ok(done.returncode == 0, "types hold", done.stdout)


def main():
    with Home("aisbx-py.") as home:
        os.environ.clear()
        os.environ.update(home.env, AISBX=AISBX)
        os.chdir(home.work)
        first = home.call("run", "--", "true")
        if first.returncode != 0:
            tap.skip("the Python client", "a first run is refused here: " + first.stderr.strip())
            return tap.done()
        tap.attempt(test_readme)
        for test in (test_run, test_sandbox, test_background, test_awaited, test_cancelled_making, test_files, test_promote, test_fresh, test_program, test_install):
            tap.attempt(test, home)
        tap.attempt(test_types)
        os.chdir("/")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
