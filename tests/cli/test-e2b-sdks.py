#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""serve e2b, driven by E2B's own libraries, unmodified: Python, called and awaited, and JavaScript.

What they are is fetched by tools/fetch-e2b-clients; without them everything is skipped, with the reason. Takes the program from
AISBX, the tree from AISBX_SOURCE. Speaks TAP.
"""

import json
import os
import re
import subprocess
import sys

SOURCE = os.environ["AISBX_SOURCE"]
FETCHED = os.path.join(SOURCE, "fetched", "e2b")
sys.path.insert(0, os.path.join(SOURCE, "tests", "lib"))
from box import patience  # noqa: E402
from clitest import AISBX, Home, Tap  # noqa: E402

tap = Tap()

# Each prints one object; all have to be the same.
CALLED = r"""
import json
from e2b import CommandExitException, TimeoutException
from e2b_code_interpreter import Sandbox
out, box = {}, Sandbox.create(timeout=3600, metadata={"k": "v"}, envs={"MAKER": "yes"})
done = box.commands.run("echo out; echo err >&2; echo $MAKER")
out["run"] = [done.stdout, done.stderr, done.exit_code]
try:
    box.commands.run("exit 3")
except CommandExitException as error:
    out["exit"] = error.exit_code
box.files.write("a/b.txt", "hello")
out["files"] = [box.files.read("a/b.txt"), [entry.name for entry in box.files.list("a")], box.files.exists("none")]
cat = box.commands.run("cat", background=True, stdin=True)
box.commands.send_stdin(cat.pid, "x\n")
out["listed"] = any(row.pid == cat.pid for row in box.commands.list())
out["killed"] = cat.kill()
out["info"] = box.get_info().metadata
out["again"] = Sandbox.connect(box.sandbox_id).files.read("a/b.txt")
seen = []
done = box.run_code("x = 20\nprint('hi')\nx + 1", on_stdout=lambda line: seen.append(line.line), on_result=lambda row: seen.append(row.text))
out["code"] = [seen, done.text, done.logs.stdout]
out["state"] = box.run_code("x").text
error = box.run_code("1/0").error
out["error"] = [error.name, error.value]
mine = box.create_code_context(cwd="/usr")
out["context"] = box.run_code("import os; print(os.getcwd())", context=mine).logs.stdout
box.run_code("y = 1", context=mine)
box.restart_code_context(mine)
out["restarted"] = box.run_code("y", context=mine).error.name
box.remove_code_context(mine)
out["removed"] = mine.id not in [row.id for row in box.list_code_contexts()]
try:
    box.run_code("import time; time.sleep(300)", timeout=3)
except TimeoutException:
    out["timeout"] = box.run_code("x").text
out["bash"] = box.run_code("echo $((1 + 1))", language="bash").logs.stdout
box.kill()
out["running"] = box.is_running()
print(json.dumps(out))
"""

SCRIPT = r"""
import { Sandbox, TimeoutError } from '@e2b/code-interpreter'
const out = {}, box = await Sandbox.create({ timeoutMs: 3600000, metadata: { k: 'v' }, envs: { MAKER: 'yes' } })
let done = await box.commands.run('echo out; echo err >&2; echo $MAKER')
out.run = [done.stdout, done.stderr, done.exitCode]
try { await box.commands.run('exit 3') } catch (error) { out.exit = error.exitCode }
await box.files.write('a/b.txt', 'hello')
out.files = [await box.files.read('a/b.txt'), (await box.files.list('a')).map((entry) => entry.name), await box.files.exists('none')]
const cat = await box.commands.run('cat', { background: true, stdin: true })
await box.commands.sendStdin(cat.pid, 'x\n')
out.listed = (await box.commands.list()).some((row) => row.pid === cat.pid)
out.killed = await cat.kill()
cat.wait().catch(() => {})
out.info = (await box.getInfo()).metadata
out.again = await (await Sandbox.connect(box.sandboxId)).files.read('a/b.txt')
const seen = []
done = await box.runCode("x = 20\nprint('hi')\nx + 1", { onStdout: (line) => { seen.push(line.line) }, onResult: (row) => { seen.push(row.text) } })
out.code = [seen, done.text, done.logs.stdout]
out.state = (await box.runCode('x')).text
const { error } = await box.runCode('1/0')
out.error = [error.name, error.value]
const mine = await box.createCodeContext({ cwd: '/usr' })
out.context = (await box.runCode('import os; print(os.getcwd())', { context: mine })).logs.stdout
await box.runCode('y = 1', { context: mine })
await box.restartCodeContext(mine)
out.restarted = (await box.runCode('y', { context: mine })).error.name
await box.removeCodeContext(mine)
out.removed = !(await box.listCodeContexts()).some((row) => row.id === mine.id)
try { await box.runCode('import time; time.sleep(300)', { timeoutMs: 3000 }) } catch (late) { out.timeout = (await box.runCode('x')).text }
out.bash = (await box.runCode('echo $((1 + 1))', { language: 'bash' })).logs.stdout
await box.kill()
out.running = await box.isRunning()
console.log(JSON.stringify(out))
process.exit(0)
"""

WANTED = {"run": ["out\nyes\n", "err\n", 0], "exit": 3, "files": ["hello", ["b.txt"], False], "listed": True, "killed": True,
          "info": {"k": "v"}, "again": "hello", "code": [["hi\n", "21"], "21", ["hi\n"]], "state": "20",
          "error": ["ZeroDivisionError", "division by zero"], "context": ["/usr\n"], "restarted": "NameError", "removed": True,
          "timeout": "20", "bash": ["2\n"], "running": False}

FIGURE = r"""
import json
from e2b_code_interpreter import Sandbox
with Sandbox.create(timeout=3600) as box:
    row = box.run_code("import matplotlib.pyplot as plt\nplt.bar(['a', 'b'], [1, 2], label='g')\nplt.xlabel('X (s)')\nplt.show()").results[0]
    print(json.dumps([bool(row.png), row.chart.type, row.chart.x_unit, [[bar.label, bar.group, bar.value] for bar in row.chart.elements]]))
"""


def awaited(script):
    """The same calls, awaited."""
    script = script.replace("import Sandbox", "import AsyncSandbox as Sandbox")
    script = re.sub(r"(?<!\w)(Sandbox\.create\(|box\.(?!sandbox_id)[\w.]*\(|cat\.kill\()", r"await \1", script)
    script = script.replace("Sandbox.connect(box.sandbox_id).files", "(await Sandbox.connect(box.sandbox_id)).files")
    script = script.replace('out["again"] = (await', 'out["again"] = await (await')
    for call in re.findall(r"await box\.run_code\([^\n]*?\)\.(?:text|error|logs)", script):
        script = script.replace(call, re.sub(r"^(.*)\.(text|error|logs)$", r"(\1).\2", call))
    script = script.replace("await box.get_info().metadata", "(await box.get_info()).metadata")
    body = "".join(f"    {line}\n" for line in script.splitlines())
    return f"import asyncio\nasync def main():\n{body}\nasyncio.run(main())\n"


def ask(command, script, env):
    done = subprocess.run([*command, script], env=env, capture_output=True, text=True, check=False, timeout=patience(100))
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return {"failed": done.stderr[-2000:]}


def compare(name, got):
    for key, wanted in WANTED.items():
        tap.ok(got.get(key) == wanted, f"{name}: {key}", (got.get(key), wanted, got.get("failed")))


def drive(home, env):
    python = {**env, "PYTHONPATH": FETCHED + "/py"}
    compare("Python, called", ask([sys.executable, "-c"], CALLED, python))
    compare("Python, awaited", ask([sys.executable, "-c"], awaited(CALLED), python))
    if subprocess.run(["python3", "-c", "import matplotlib"], env=home.env, capture_output=True, check=False).returncode:
        tap.skip("a figure of matplotlib", "matplotlib is not installed for the python3 of sandboxes")
    else:
        tap.equal(ask([sys.executable, "-c"], FIGURE, python), [True, "bar", "s", [["a", "g", 1.0], ["b", "g", 2.0]]], "a figure of matplotlib")
    link = os.path.join(home.path, "node_modules")
    os.symlink(FETCHED + "/npm/node_modules", link)
    script = home.put("drive.mjs", SCRIPT)
    compare("JavaScript", ask(["node", "--preserve-symlinks", "--preserve-symlinks-main"], script, env))


def main():
    if not os.path.exists(FETCHED + "/complete"):
        reason = "tools/fetch-e2b-clients has not run"
        if os.path.exists(FETCHED + "/why-not"):
            with open(FETCHED + "/why-not", encoding="utf-8") as file:
                reason = file.read().strip()
        tap.skip("E2B's libraries", reason)
        return
    with Home("aisbx-test-e2b-sdks-") as home:
        if not home.can_run(tap, "serve e2b"):
            return
        server = subprocess.Popen([AISBX, "serve", "e2b"], cwd=home.work, env=home.env, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, text=True)
        try:
            lines = [server.stdout.readline() for _ in range(3)]
            env = {**home.env, **dict(re.fullmatch(r"export (E2B_[A-Z_]+)=(\S+)\n", line).groups() for line in lines)}
            drive(home, env)
        finally:
            server.terminate()
            server.wait(patience(60))
            server.stdout.close()


main()
sys.exit(tap.done())
