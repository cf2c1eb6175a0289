#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""serve e2b, by topic: what the documentation of E2B's libraries promises, asked of each of them: Python, called and awaited, JavaScript.

Every topic is a block of its own in each language and prints one value; all three have to be the one wanted. docs/e2b.md lists them.
What the libraries are is fetched by tools/fetch-e2b-clients. Takes the program from AISBX, the tree from AISBX_SOURCE. Speaks TAP.
"""

import json
import os
import subprocess
import sys

SOURCE = os.environ["AISBX_SOURCE"]
FETCHED = os.path.join(SOURCE, "fetched", "e2b")
sys.path.insert(0, os.path.join(SOURCE, "tests", "lib"))
from box import patience  # noqa: E402
from clitest import Home, Tap  # noqa: E402
from e2b_wire import Server  # noqa: E402

tap = Tap()

# Runs with either of the two: `do` waits for what has to be waited for. A topic that fails prints why.
PYTHON = r"""
import asyncio, inspect, json, sys, urllib.error, urllib.request
import e2b
awaited = sys.argv[1] == "awaited"
Sandbox = e2b.AsyncSandbox if awaited else e2b.Sandbox
Template = e2b.AsyncTemplate if awaited else e2b.Template
topics = {}

def topic(function):
    topics[function.__name__.replace("_", " ")] = function

async def do(value):
    return await value if inspect.isawaitable(value) else value

async def fails(call):
    try:
        await do(call())
    except Exception as error:
        return type(error).__name__.replace("Exception", "")
    return None

def fetch(url, data=None):
    kind = {"Content-Type": "application/octet-stream"} if data else {}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data=data, headers=kind)) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code

@topic
async def command_output(box):
    seen = []
    done = await do(box.commands.run("printf 'a\\nb\\n'; echo e >&2", on_stdout=seen.append, on_stderr=lambda text: seen.append("! " + text)))
    return [done.stdout, done.stderr, done.exit_code, sorted("".join(seen).split())]

@topic
async def command_exit(box):
    try:
        await do(box.commands.run("echo why >&2; exit 7"))
    except e2b.CommandExitException as error:
        return [error.exit_code, error.stderr]

@topic
async def command_words(box):
    done = await do(box.commands.run("echo \"$A ü '\\\"\" | tr a-z A-Z; pwd", envs={"A": "x y"}, cwd="/usr"))
    return done.stdout

@topic
async def command_large(box):
    return len((await do(box.commands.run("head -c 3000000 /dev/zero | tr '\\0' x"))).stdout)

@topic
async def command_background(box):
    handle = await do(box.commands.run("echo one; read line; echo $line", background=True, stdin=True))
    pids = [row.pid for row in await do(box.commands.list())]
    await do(box.commands.send_stdin(handle.pid, "two\n"))
    done = await do(handle.wait())
    return [handle.pid in pids, done.stdout, handle.pid in [row.pid for row in await do(box.commands.list())]]

@topic
async def command_close_stdin(box):
    handle = await do(box.commands.run("cat", background=True, stdin=True))
    await do(box.commands.send_stdin(handle.pid, "all"))
    await do(box.commands.close_stdin(handle.pid))
    return (await do(handle.wait())).stdout

@topic
async def command_reconnect(box):
    handle = await do(box.commands.run("read line; echo $line", background=True, stdin=True))
    await do(handle.disconnect())
    again = await do(box.commands.connect(handle.pid))
    await do(box.commands.send_stdin(handle.pid, "back\n"))
    return (await do(again.wait())).stdout

@topic
async def command_kill(box):
    handle = await do(box.commands.run("sleep 4321", background=True))
    killed = await do(handle.kill())
    return [killed, await fails(handle.wait), await do(box.commands.kill(handle.pid))]

@topic
async def command_timeout(box):
    return await fails(lambda: box.commands.run("sleep 4321", timeout=2))

@topic
async def command_unknown(box):
    return await fails(lambda: box.commands.connect(999999))

@topic
async def file_formats(box):
    await do(box.files.write("f.bin", b"\x00\xff\n"))
    data = await do(box.files.read("f.bin", format="bytes"))
    whole = b""
    stream = await do(box.files.read("f.bin", format="stream"))
    if awaited:
        async for part in stream:
            whole += part
    else:
        for part in stream:
            whole += part
    return [list(data), list(whole)]

@topic
async def file_several(box):
    rows = await do(box.files.write_files([{"path": "many/1", "data": "a"}, {"path": "many/2", "data": "b"}]))
    return [[row.path for row in rows], await do(box.files.read("many/2"))]

@topic
async def file_empty(box):
    await do(box.files.write("empty", ""))
    return await do(box.files.read("empty"))

@topic
async def file_metadata(box):
    made = await do(box.files.write("noted", "x", metadata={"author": "me"}))
    return [made.metadata, (await do(box.files.get_info("noted"))).metadata]

@topic
async def file_gzip(box):
    await do(box.files.write("packed", "x" * 100000, gzip=True))
    return [len(await do(box.files.read("packed"))), len(await do(box.files.read("packed", gzip=True)))]

@topic
async def file_info(box):
    await do(box.files.write("dir/info", "hello"))
    row = await do(box.files.get_info("dir/info"))
    return [row.name, row.type.value, row.path, row.size, row.permissions, row.owner]

@topic
async def file_list(box):
    await do(box.files.write("list/a/b", "1"))
    return [[row.path for row in await do(box.files.list("list", depth=depth))] for depth in (1, 2)]

@topic
async def file_move(box):
    await do(box.files.write("from", "1"))
    row = await do(box.files.rename("from", "new/to"))
    await do(box.files.remove("new"))
    return [row.path, await do(box.files.exists("from")), await do(box.files.exists("new/to"))]

@topic
async def file_directory(box):
    return [await do(box.files.make_dir("d/e")), await do(box.files.make_dir("d/e")), (await do(box.files.get_info("d/e"))).type.value]

@topic
async def file_missing(box):
    return [await fails(lambda: box.files.read("none")), await fails(lambda: box.files.get_info("none")), await fails(lambda: box.files.list("none"))]

@topic
async def file_watch(box):
    await do(box.files.make_dir("watched"))
    seen = []
    done = asyncio.Event()
    def note(event):
        seen.append(event)
        done.set()
    handle = await do(box.files.watch_dir("watched", on_event=note) if awaited else box.files.watch_dir("watched"))
    await do(box.files.write("watched/new", "1"))
    if awaited:
        await asyncio.wait_for(done.wait(), 60)
    else:
        seen = handle.get_new_events()
    await do(handle.stop())
    return [seen[0].name, seen[0].type.value]

@topic
async def file_urls(box):
    await do(box.files.write("signed", "1"))
    stale = box.download_url("signed", use_signature_expiration=-100)
    read, put = box.download_url("signed"), box.upload_url("uploaded")
    answers = [await do(asyncio.to_thread(fetch, url)) for url in (read, stale, read.replace("signed", "other"))]
    await asyncio.to_thread(fetch, put, b"by url")
    return answers + [await do(box.files.read("uploaded"))]

@topic
async def terminal(box):
    size, seen, done = e2b.PtySize(rows=24, cols=80), [], asyncio.Event()
    if awaited:
        handle = await box.pty.create(size, on_data=lambda data: seen.append(data))
    else:
        handle = box.pty.create(size)
    await do(box.pty.resize(handle.pid, e2b.PtySize(rows=30, cols=90)))
    await do(box.pty.send_stdin(handle.pid, b"stty size; exit\n"))
    if awaited:
        await handle.wait()
    else:
        handle.wait(on_pty=seen.append)
    return b"30 90" in b"".join(seen)

@topic
async def box_info(box):
    row = await do(box.get_info())
    return [row.sandbox_id == box.sandbox_id, row.metadata["k"], row.state.value, row.template_id]

@topic
async def box_list(box):
    other = await do(Sandbox.create(metadata={"k": "other"}, timeout=600))
    pages, pager = [], Sandbox.list(limit=1)
    while pager.has_next:
        pages += [row.sandbox_id for row in await do(pager.next_items())]
    found = await do(Sandbox.list(query=e2b.SandboxQuery(metadata={"k": "other"})).next_items())
    await do(other.kill())
    return [{box.sandbox_id, other.sandbox_id} <= set(pages), [row.sandbox_id == other.sandbox_id for row in found]]

@topic
async def box_timeout(box):
    before = (await do(box.get_info())).end_at
    await do(box.set_timeout(7200))
    return (await do(box.get_info())).end_at > before

@topic
async def box_connect(box):
    again = await do(Sandbox.connect(box.sandbox_id))
    return [again.sandbox_id == box.sandbox_id, (await do(again.commands.run("echo on"))).stdout]

@topic
async def box_pause(box):
    one = await do(Sandbox.create(timeout=600))
    handle = await do(one.commands.run("sleep 4321", background=True))
    await do(one.pause())
    halted = await do(one.is_running())
    await do(one.connect())
    kept = handle.pid in [row.pid for row in await do(one.commands.list())]
    await do(one.kill())
    return [halted, kept]

@topic
async def box_pause_cold(box):
    one = await do(Sandbox.create(timeout=600))
    await do(one.files.write("kept", "1"))
    await do(one.commands.run("sleep 4321", background=True))
    await do(one.pause(keep_memory=False))
    await do(one.connect())
    answer = [await do(one.files.read("kept")), len(await do(one.commands.list()))]
    await do(one.kill())
    return answer

@topic
async def box_snapshot(box):
    one = await do(Sandbox.create(timeout=600))
    await do(one.files.write("kept", "1"))
    saved = await do(one.create_snapshot(name="topic"))
    await do(one.kill())
    two = await do(Sandbox.create(saved.snapshot_id, timeout=600))
    kept = await do(two.files.read("kept"))
    listed = [row.snapshot_id == saved.snapshot_id for row in await do(Sandbox.list_snapshots(name="topic").next_items())]
    await do(two.kill())
    return [kept, listed, [await do(Sandbox.delete_snapshot(saved.snapshot_id)) for _ in range(2)]]

@topic
async def box_fork(box):
    one = await do(Sandbox.create(timeout=600))
    await do(one.files.write("state", "1"))
    forks = await do(one.fork(count=2))
    await do(forks[0].files.write("state", "2"))
    answer = [await do(each.files.read("state")) for each in (one, *forks)]
    for each in (one, *forks):
        await do(each.kill())
    return answer

@topic
async def box_metrics(box):
    row = (await do(box.get_metrics()))[0]
    return [row.mem_used > 0, row.mem_total > row.mem_used, row.cpu_count > 0]

@topic
async def box_kill(box):
    one = await do(Sandbox.create(timeout=600))
    return [await do(one.kill()), await do(one.kill()), await do(one.is_running()), await fails(lambda: one.get_info())]

@topic
async def box_templates(box):
    return [await do(Template.exists("base")), await do(Template.exists("nobody-has-this")), await fails(lambda: Sandbox.create("nobody-has-this"))]

@topic
async def box_key(box):
    return await fails(lambda: Sandbox.create(api_key="e2b_" + "0" * 40))

async def main():
    box = await do(Sandbox.create(timeout=3600, metadata={"k": "v"}))
    for name, function in topics.items():
        try:
            answer = await asyncio.wait_for(function(box), 120)
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        print(json.dumps([name, answer]), flush=True)
    await do(box.kill())

asyncio.run(main())
"""

SCRIPT = r"""
import { Sandbox, Template, CommandExitError } from 'e2b'
const topics = {}
const fails = async (call) => { try { await call(); return null } catch (error) { return error.constructor.name.replace('Error', '') } }
const fetched = async (url, body) => {
  const answer = await fetch(url, body ? { method: 'POST', body, headers: { 'Content-Type': 'application/octet-stream' } } : {})
  return answer.ok ? await answer.text() : answer.status
}
topics['command output'] = async (box) => {
  const seen = []
  const done = await box.commands.run("printf 'a\\nb\\n'; echo e >&2", { onStdout: (text) => { seen.push(text) }, onStderr: (text) => { seen.push('! ' + text) } })
  return [done.stdout, done.stderr, done.exitCode, seen.join('').split(/\s+/).filter(Boolean).sort()]
}
topics['command exit'] = async (box) => {
  try { await box.commands.run('echo why >&2; exit 7') } catch (error) { if (error instanceof CommandExitError) return [error.exitCode, error.stderr] }
}
topics['command words'] = async (box) => (await box.commands.run("echo \"$A ü '\\\"\" | tr a-z A-Z; pwd", { envs: { A: 'x y' }, cwd: '/usr' })).stdout
topics['command large'] = async (box) => (await box.commands.run("head -c 3000000 /dev/zero | tr '\\0' x")).stdout.length
topics['command background'] = async (box) => {
  const handle = await box.commands.run('echo one; read line; echo $line', { background: true, stdin: true })
  const pids = (await box.commands.list()).map((row) => row.pid)
  await box.commands.sendStdin(handle.pid, 'two\n')
  const done = await handle.wait()
  return [pids.includes(handle.pid), done.stdout, (await box.commands.list()).some((row) => row.pid === handle.pid)]
}
topics['command close stdin'] = async (box) => {
  const handle = await box.commands.run('cat', { background: true, stdin: true })
  await box.commands.sendStdin(handle.pid, 'all')
  await box.commands.closeStdin(handle.pid)
  return (await handle.wait()).stdout
}
topics['command reconnect'] = async (box) => {
  const handle = await box.commands.run('read line; echo $line', { background: true, stdin: true })
  await handle.disconnect()
  const again = await box.commands.connect(handle.pid)
  await box.commands.sendStdin(handle.pid, 'back\n')
  return (await again.wait()).stdout
}
topics['command kill'] = async (box) => {
  const handle = await box.commands.run('sleep 4321', { background: true })
  const ended = fails(() => handle.wait())
  return [await handle.kill(), await ended, await box.commands.kill(handle.pid)]
}
topics['command timeout'] = async (box) => await fails(() => box.commands.run('sleep 4321', { timeoutMs: 2000 }))
topics['command unknown'] = async (box) => await fails(() => box.commands.connect(999999))
topics['file formats'] = async (box) => {
  await box.files.write('f.bin', new Uint8Array([0, 255, 10]).buffer)
  const whole = []
  for await (const part of await box.files.read('f.bin', { format: 'stream' })) whole.push(...part)
  return [[...(await box.files.read('f.bin', { format: 'bytes' }))], whole]
}
topics['file several'] = async (box) => {
  const rows = await box.files.write([{ path: 'many/1', data: 'a' }, { path: 'many/2', data: 'b' }])
  return [rows.map((row) => row.path), await box.files.read('many/2')]
}
topics['file empty'] = async (box) => { await box.files.write('empty', ''); return await box.files.read('empty') }
topics['file metadata'] = async (box) => {
  const made = await box.files.write('noted', 'x', { metadata: { author: 'me' } })
  return [made.metadata, (await box.files.getInfo('noted')).metadata]
}
topics['file gzip'] = async (box) => {
  await box.files.write('packed', 'x'.repeat(100000), { gzip: true })
  return [(await box.files.read('packed')).length, (await box.files.read('packed', { gzip: true })).length]
}
topics['file info'] = async (box) => {
  await box.files.write('dir/info', 'hello')
  const row = await box.files.getInfo('dir/info')
  return [row.name, row.type, row.path, row.size, row.permissions, row.owner]
}
topics['file list'] = async (box) => {
  await box.files.write('list/a/b', '1')
  const paths = async (depth) => (await box.files.list('list', { depth })).map((row) => row.path)
  return [await paths(1), await paths(2)]
}
topics['file move'] = async (box) => {
  await box.files.write('from', '1')
  const row = await box.files.rename('from', 'new/to')
  await box.files.remove('new')
  return [row.path, await box.files.exists('from'), await box.files.exists('new/to')]
}
topics['file directory'] = async (box) => [await box.files.makeDir('d/e'), await box.files.makeDir('d/e'), (await box.files.getInfo('d/e')).type]
topics['file missing'] = async (box) => [await fails(() => box.files.read('none')), await fails(() => box.files.getInfo('none')), await fails(() => box.files.list('none'))]
topics['file watch'] = async (box) => {
  await box.files.makeDir('watched')
  let note
  const first = new Promise((resolve) => { note = resolve })
  const handle = await box.files.watchDir('watched', note)
  await box.files.write('watched/new', '1')
  const event = await first
  await handle.stop()
  return [event.name, event.type]
}
topics['file urls'] = async (box) => {
  await box.files.write('signed', '1')
  const stale = await box.downloadUrl('signed', { useSignatureExpiration: -100 })
  const read = await box.downloadUrl('signed'), put = await box.uploadUrl('uploaded')
  const answers = [await fetched(read), await fetched(stale), await fetched(read.replace('signed', 'other'))]
  await fetched(put, 'by url')
  return [...answers, await box.files.read('uploaded')]
}
topics['terminal'] = async (box) => {
  const seen = []
  const handle = await box.pty.create({ rows: 24, cols: 80, onData: (data) => { seen.push(Buffer.from(data).toString()) } })
  await box.pty.resize(handle.pid, { rows: 30, cols: 90 })
  await box.pty.sendInput(handle.pid, new TextEncoder().encode('stty size; exit\n'))
  await handle.wait()
  return seen.join('').includes('30 90')
}
topics['box info'] = async (box) => {
  const row = await box.getInfo()
  return [row.sandboxId === box.sandboxId, row.metadata.k, row.state, row.templateId]
}
topics['box list'] = async (box) => {
  const other = await Sandbox.create({ metadata: { k: 'other' }, timeoutMs: 600000 })
  const pages = [], pager = Sandbox.list({ limit: 1 })
  while (pager.hasNext) pages.push(...(await pager.nextItems()).map((row) => row.sandboxId))
  const found = await Sandbox.list({ query: { metadata: { k: 'other' } } }).nextItems()
  await other.kill()
  return [pages.includes(box.sandboxId) && pages.includes(other.sandboxId), found.map((row) => row.sandboxId === other.sandboxId)]
}
topics['box timeout'] = async (box) => {
  const before = (await box.getInfo()).endAt
  await box.setTimeout(7200000)
  return (await box.getInfo()).endAt > before
}
topics['box connect'] = async (box) => {
  const again = await Sandbox.connect(box.sandboxId)
  return [again.sandboxId === box.sandboxId, (await again.commands.run('echo on')).stdout]
}
topics['box pause'] = async () => {
  const one = await Sandbox.create({ timeoutMs: 600000 })
  const handle = await one.commands.run('sleep 4321', { background: true })
  handle.wait().catch(() => {})
  await one.pause()
  const halted = await one.isRunning()
  await one.connect()
  const kept = (await one.commands.list()).some((row) => row.pid === handle.pid)
  await one.kill()
  return [halted, kept]
}
topics['box pause cold'] = async () => {
  const one = await Sandbox.create({ timeoutMs: 600000 })
  await one.files.write('kept', '1')
  const handle = await one.commands.run('sleep 4321', { background: true })
  handle.wait().catch(() => {})
  await one.pause({ keepMemory: false })
  await one.connect()
  const answer = [await one.files.read('kept'), (await one.commands.list()).length]
  await one.kill()
  return answer
}
topics['box snapshot'] = async () => {
  const one = await Sandbox.create({ timeoutMs: 600000 })
  await one.files.write('kept', '1')
  const saved = await one.createSnapshot({ name: 'topic' })
  await one.kill()
  const two = await Sandbox.create(saved.snapshotId, { timeoutMs: 600000 })
  const kept = await two.files.read('kept')
  const listed = (await Sandbox.listSnapshots({ name: 'topic' }).nextItems()).map((row) => row.snapshotId === saved.snapshotId)
  await two.kill()
  return [kept, listed, [await Sandbox.deleteSnapshot(saved.snapshotId), await Sandbox.deleteSnapshot(saved.snapshotId)]]
}
topics['box fork'] = async () => {
  const one = await Sandbox.create({ timeoutMs: 600000 })
  await one.files.write('state', '1')
  const forks = await one.fork({ count: 2 })
  await forks[0].files.write('state', '2')
  const answer = []
  for (const each of [one, ...forks]) { answer.push(await each.files.read('state')); await each.kill() }
  return answer
}
topics['box metrics'] = async (box) => {
  const row = (await box.getMetrics())[0]
  return [row.memUsed > 0, row.memTotal > row.memUsed, row.cpuCount > 0]
}
topics['box kill'] = async () => {
  const one = await Sandbox.create({ timeoutMs: 600000 })
  return [await one.kill(), await one.kill(), await one.isRunning(), await fails(() => one.getInfo())]
}
topics['box templates'] = async () => [await Template.exists('base'), await Template.exists('nobody-has-this'), await fails(() => Sandbox.create('nobody-has-this'))]
topics['box key'] = async () => await fails(() => Sandbox.create({ apiKey: 'e2b_' + '0'.repeat(40) }))
const box = await Sandbox.create({ timeoutMs: 3600000, metadata: { k: 'v' } })
for (const [name, run] of Object.entries(topics)) {
  let answer
  try { answer = await run(box) } catch (error) { answer = String(error) }
  console.log(JSON.stringify([name, answer]))
}
await box.kill()
process.exit(0)
"""

WANTED = {
    "command output": ["a\nb\n", "e\n", 0, ["!", "a", "b", "e"]],
    "command exit": [7, "why\n"],
    "command words": "X Y ü '\"\n/usr\n",
    "command large": 3000000,
    "command background": [True, "one\ntwo\n", False],
    "command close stdin": "all",
    "command reconnect": "back\n",
    "command kill": [True, "CommandExit", False],
    "command timeout": "Timeout",
    "command unknown": "NotFound",
    "file formats": [[0, 255, 10], [0, 255, 10]],
    "file several": [["/home/user/many/1", "/home/user/many/2"], "b"],
    "file empty": "",
    "file metadata": [{"author": "me"}, {"author": "me"}],
    "file gzip": [100000, 100000],
    "file info": ["info", "file", "/home/user/dir/info", 5, "-rw-r--r--", "user"],
    "file list": [["/home/user/list/a"], ["/home/user/list/a", "/home/user/list/a/b"]],
    "file move": ["/home/user/new/to", False, False],
    "file directory": [True, False, "dir"],
    "file missing": ["FileNotFound", "FileNotFound", "FileNotFound"],
    "file watch": ["new", "create"],
    "file urls": ["1", 401, 401, "by url"],
    "terminal": True,
    "box info": [True, "v", "running", "base"],
    "box list": [True, [True]],
    "box timeout": True,
    "box connect": [True, "on\n"],
    "box pause": [False, True],
    "box pause cold": ["1", 0],
    "box snapshot": ["1", [True], [True, False]],
    "box fork": ["1", "2", "1"],
    "box metrics": [True, True, True],
    "box kill": [True, False, False, "SandboxNotFound"],
    "box templates": [True, False, "Sandbox"],
    "box key": "Authentication",
}


def compare(name, command, env):
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=patience(400))
    got = dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith("["))
    for topic, wanted in WANTED.items():
        tap.ok(got.get(topic) == wanted, f"{name}: {topic}", (got.get(topic), wanted, None if topic in got else done.stderr[-1000:]))


def main():
    if not os.path.exists(FETCHED + "/complete"):
        tap.skip("E2B's libraries", "tools/fetch-e2b-clients has not had them")
        return
    with Home("aisbx-e2b-topics-") as home:
        if not home.can_run(tap, "serve e2b"):
            return
        with Server(home) as server:
            env = {**home.env, **server.env}
            for how in ("called", "awaited"):
                compare(f"Python, {how}", [sys.executable, "-c", PYTHON, how], {**env, "PYTHONPATH": FETCHED + "/py"})
            os.symlink(FETCHED + "/npm/node_modules", os.path.join(home.path, "node_modules"))
            script = home.put("drive.mjs", SCRIPT)
            compare("JavaScript", ["node", "--preserve-symlinks", "--preserve-symlinks-main", script], env)


main()
sys.exit(tap.done())
