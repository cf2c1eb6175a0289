#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""serve e2b: the gate, sandboxes of E2B's API, commands, files and watches of its agent, what an attacker sends, and the end.

Speaks the wire itself; tests/real drives E2B's own libraries. Takes the program from AISBX. Speaks TAP.
"""

import base64
import concurrent.futures
import contextlib
import hashlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import patience  # noqa: E402
from clitest import AISBX, Home, Tap  # noqa: E402
from e2b_wire import LONG, Server, text  # noqa: E402
from family import adopt, ours, until  # noqa: E402

tap = Tap()


def test_gate(server, sandbox):
    for name, status, headers in [
            ("no key", 401, {"X_API_KEY": None}), ("a wrong key", 401, {"X_API_KEY": "e2b_" + "0" * 40}),
            ("half a key", 401, {"X_API_KEY": server.key[:20]}), ("a foreign Host", 421, {"Host": "evil.example"}),
            ("a Host like ours", 421, {"Host": f"127.0.0.1.evil.example:{server.port}"}),
            ("a foreign Origin", 403, {"Origin": "http://evil.example"}), ("the null Origin", 403, {"Origin": "null"}),
            ("another site", 403, {"Sec_Fetch_Site": "cross-site"})]:
        got, _, body = server.ask("GET", "/v2/sandboxes", **headers)
        tap.ok(got == status and body["code"] == status and body["message"], f"{name}: {status}, in E2B's shape", (got, body))
    for name, headers in [("no token", {"X_Access_Token": None}), ("a wrong token", {"X_Access_Token": "0" * 64}),
                          ("the key as a token", {"X_Access_Token": server.key})]:
        for method, path in (("POST", "/process.Process/List"), ("GET", "/files?path=/etc/hostname"), ("POST", "/files?path=/tmp/x"),
                             ("GET", "/health")):
            tap.equal(sandbox.ask(method, path, {} if method == "POST" else None, **headers)[0], 401, f"{name}, {path}: 401")
    other = server.create()
    tap.equal(sandbox.ask("POST", "/process.Process/List", {}, X_Access_Token=other.token)[0], 401,
              "the token of one sandbox does not open another")
    server.ask("DELETE", f"/sandboxes/{other.id}")
    status, _, body = server.ask("POST", "/v3/templates", {})
    tap.ok(status == 501 and "/v3/templates" in body["message"], "what is not served is named", body)
    status, body = sandbox.call("process.Process/Nothing", {})
    tap.ok(status == 501 and body["code"] == "unimplemented", "so is a call of the agent", body)
    for address in ("0.0.0.0:0", "192.168.0.1:1", "[::]:0"):
        tap.equal(subprocess.run([AISBX, "serve", "e2b", "--http", address], capture_output=True, check=False).returncode, 2,
                  f"--http {address} is refused")


def test_api(server, home):
    ones = [server.create(metadata={"k": "v", "a b": "c&d"}), server.create(metadata={"k": "w"}), server.create()]
    path = f"/sandboxes/{ones[0].id}"
    status, _, found = server.ask("GET", path)
    tap.ok(status == 200 and found["metadata"] == {"k": "v", "a b": "c&d"} and found["state"] == "running" and found["memoryMB"] > 0,
           "what is known of one", found)
    quoted = urllib.parse.quote(urllib.parse.urlencode({urllib.parse.quote("a b"): urllib.parse.quote("c&d")}))
    for query, wanted in [("", [2, 1, 0]), ("order=asc", [0, 1, 2]), ("metadata=k%3Dw", [1]), (f"metadata={quoted}", [0]),
                          ("state=paused", []), ("state=paused,running", [2, 1, 0]), ("template=none", []),
                          ("startedAfter=2999-01-01T00:00:00Z", [])]:
        rows = [row["sandboxID"] for row in server.ask("GET", "/v2/sandboxes?" + query)[2]]
        tap.equal([row for row in rows if row in {one.id for one in ones}], [ones[i].id for i in wanted], f"list {query or 'all'}")
    seen, token = [], ""
    while token is not None:
        _, headers, rows = server.ask("GET", f"/v2/sandboxes?limit=2{token and '&nextToken=' + token}")
        seen += [row["sandboxID"] for row in rows]
        token = headers.get("x-next-token")
    tap.ok(len(seen) == len(set(seen)) and {one.id for one in ones} <= set(seen), "pages hold each once", seen)
    tap.equal(server.ask("GET", "/v2/sandboxes?limit=0")[0], 400, "a limit of none is refused")
    tap.equal([server.ask("POST", path + "/timeout", {"timeout": seconds})[0] for seconds in (LONG, -1, 10**6, "x")],
              [204, 400, 400, 400], "timeout")
    status, _, again = server.ask("POST", f"/v2{path}/connect", {"timeout": LONG})
    tap.ok(status == 200 and again["envdAccessToken"] == ones[0].token, "connect", again)
    figures = server.ask("GET", path + "/metrics")[2]
    tap.ok(len(figures) == 1 and figures[0]["memUsed"] >= 0 and figures[0]["memTotal"] > 0, "metrics", figures)
    tap.equal(server.ask("POST", "/v2/sandboxes", {"templateID": "nobody-has-this"})[0], 404, "an unknown template")
    for asked in ({"volumeMounts": [{"name": "a", "path": "/b"}]}, {"metadata": {"a": 1}}, {"timeout": "x"}, {"envVars": "x"}, [1]):
        tap.equal(server.ask("POST", "/v2/sandboxes", asked)[0], 400, f"refused: {asked}")
    names = {row["name"] for row in home.rows("ls")}
    tap.ok({one.id for one in ones} <= names, "they are sandboxes like any other", names)
    for one in ones:
        tap.equal(server.ask("DELETE", f"/sandboxes/{one.id}")[0], 204, "killed")
        tap.equal((server.ask("DELETE", f"/sandboxes/{one.id}")[0], one.ask("GET", "/health")[0]), (404, 502), "and gone")
    tap.ok("was not found" in ones[0].ask("GET", "/files?path=/tmp")[2]["message"], "in the words that its library looks for")
    tap.ok(not {one.id for one in ones} & {row["name"] for row in home.rows("ls")}, "from the host, too")
    short = server.create(timeout=1)
    tap.ok(until(lambda: short.ask("GET", "/health")[0] == 502), "its time ends it")


def test_policy(server, home):
    """A policy's no is not to be asked again."""
    place = home.path + "/.config/aisbx/policy"
    os.makedirs(place, mode=0o755)
    with open(place + "/p.rego", "w", encoding="ascii") as file:
        file.write('package aisbx\ndeny contains "not today" if true\n')
    status, _, body = server.ask("POST", "/v2/sandboxes", {"templateID": "base", "timeout": 60})
    os.unlink(place + "/p.rego")
    os.rmdir(place)
    tap.ok(status == 403 and "policy" in body["message"], "denied by a policy", (status, body))
    flags = [home.call("serve", "e2b", *flag) for flag in (("--secret", "tok"), ("--secret-env", "V=tok"))]
    tap.ok(all(done.returncode == 2 and "secret" in done.stderr for done in flags), "secrets are refused in words", flags)


def test_pause(server):
    one = server.create(envVars={"FROM_MAKER": "yes"})
    tap.equal(one.run("echo $FROM_MAKER $HOME; pwd")[0], b"yes /home/user\n/home/user\n", "variables of all commands, the home")
    with one.stream("process.Process/Start", {"process": {"cmd": "/bin/sh", "args": ["-c", "cat"]}}) as events:
        pid = next(events)["event"]["start"]["pid"]
    tap.equal([server.ask("POST", f"/sandboxes/{one.id}/pause", {})[0] for _ in range(2)], [204, 409], "pause, once")
    tap.equal(server.ask("GET", f"/sandboxes/{one.id}")[2]["state"], "paused", "which is shown")
    tap.equal(one.ask("GET", "/health")[0], 502, "and nothing in it answers")
    tap.equal(server.ask("POST", f"/v2/sandboxes/{one.id}/connect", {"timeout": LONG})[0], 201, "connect resumes it")
    status, found = one.call("process.Process/List", {})
    tap.ok(status == 200 and [row["pid"] for row in found["processes"]] == [pid], "with its processes", found)
    auto = server.create(timeout=1, autoPause=True)
    tap.ok(until(lambda: server.ask("GET", f"/sandboxes/{auto.id}")[2].get("state") == "paused"), "autoPause: its time pauses it")
    for each in (one, auto):
        tap.equal(server.ask("DELETE", f"/sandboxes/{each.id}")[0], 204, "a paused one can be killed")


def test_commands(sandbox):
    out, err, end, last = sandbox.run("echo out; echo err >&2; exit 3")
    tap.ok((out, err, end["exitCode"], last) == (b"out\n", b"err\n", 3, {}), "streams and the exit code", (out, err, end, last))
    tap.equal(sandbox.run("kill -9 $$")[2]["status"], "signal: killed", "a signal")
    tap.equal(sandbox.run("echo $A; pwd", envs={"A": "b"}, cwd="/usr")[0], b"b\n/usr\n", "variables and directory")
    tap.equal(sandbox.run("true", cwd="/none")[3]["error"]["code"], "invalid_argument", "no such directory")
    out = sandbox.run("head -c 3000000 /dev/zero; head -c 100 /dev/zero >&2")
    tap.equal((len(out[0]), len(out[1])), (3000000, 100), "more output than any window")
    with sandbox.stream("process.Process/Start", {"process": {"cmd": "/bin/none"}}) as events:
        tap.equal(next(events)["end"]["error"]["code"], "not_found", "no such program")
    with sandbox.stream("process.Process/Start", {"process": {"cmd": "/bin/cat"}, "tag": "mine"}) as events:
        pid = next(events)["event"]["start"]["pid"]
        selector = {"process": {"pid": pid}}
        tap.equal(sandbox.call("process.Process/SendInput", {**selector, "input": {"stdin": text(b"hi\n")}})[0], 200, "input")
        tap.equal(next(events)["event"]["data"], {"stdout": text(b"hi\n")}, "comes back")
        with sandbox.stream("process.Process/Connect", {"process": {"tag": "mine"}}) as second:
            tap.equal(next(second)["event"]["start"]["pid"], pid, "a second listener, by its tag")
        tap.equal(sandbox.call("process.Process/List", {})[1]["processes"][0]["config"]["cmd"], "/bin/cat", "listed")
        tap.equal(sandbox.call("process.Process/CloseStdin", selector)[0], 200, "the end of its input")
        tap.ok("end" in next(events)["event"] and next(events) == {"end": {}}, "is its end")
    with sandbox.stream("process.Process/Connect", selector) as events:
        kinds = [next(iter(event.get("event", event))) for event in events]
        tap.equal(kinds, ["start", "end", "end"], "what has ended can be asked for")
    with sandbox.stream("process.Process/Start", {"process": {"cmd": "/bin/sh", "args": ["-c", "sleep 300"]}}) as events:
        pid = next(events)["event"]["start"]["pid"]
    status, found = sandbox.call("process.Process/List", {})
    tap.ok(pid in [row["pid"] for row in found["processes"]], "a client that leaves ends nothing", found)
    tap.equal(sandbox.call("process.Process/SendSignal", {"process": {"pid": pid}, "signal": "SIGNAL_SIGKILL"})[0], 200, "kill")
    tap.ok(until(lambda: not sandbox.call("process.Process/List", {})[1]["processes"]), "ends it")
    last = sandbox.run("sleep 300", headers={"Connect-Timeout-Ms": "300"})[3]
    tap.equal(last["error"]["code"], "deadline_exceeded", "a deadline")
    tap.ok(until(lambda: not sandbox.call("process.Process/List", {})[1]["processes"]), "ends its command")
    for target in (1, os.getpid(), -1, 0, 2**31):
        tap.equal(sandbox.call("process.Process/SendSignal", {"process": {"pid": target}, "signal": "SIGNAL_SIGKILL"})[1]["code"],
                  "not_found", f"pid {target} was not started by a client")
    with sandbox.stream("process.Process/Start", {"process": {"cmd": "/bin/sh", "args": ["-i"]}, "pty": {"size": {"cols": 91, "rows": 33}}}) as events:
        selector = {"process": {"pid": next(events)["event"]["start"]["pid"]}}
        sandbox.call("process.Process/Update", {**selector, "pty": {"size": {"cols": 71, "rows": 13}}})
        sandbox.call("process.Process/SendInput", {**selector, "input": {"pty": text(b"stty size; exit\n")}})
        seen = b"".join(base64.b64decode(event["event"].get("data", {}).get("pty", "")) for event in events if "event" in event)
        tap.ok(b"13 71" in seen, "a terminal of that size", seen)
    status, body = sandbox.call("process.Process/List", {}, Authorization="Basic " + text(b"nobody-here:"))
    tap.equal(status, 200, "List has no account")
    last = sandbox.run("true", headers={"Authorization": "Basic " + text(b"stranger:")})[3]
    tap.equal(last["error"]["code"], "unauthenticated", "an account that is not there")


def form(*files, boundary="b0undary"):
    parts = [f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode() + content + b"\r\n"
             for name, content in files]
    return b"".join(parts) + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


def test_files(sandbox):
    content = os.urandom(5_000_000)
    body, kind = form(("big", content))
    status, _, made = sandbox.ask("POST", "/files?path=deep/er/big", body, Content_Type=kind)
    tap.ok(status == 200 and made == [{"name": "big", "type": "file", "path": "/home/user/deep/er/big"}], "a form of one file", made)
    tap.ok(sandbox.ask("GET", "/files?path=~/deep/er/big")[2] == content, "comes back byte by byte")
    body, kind = form(("/tmp/one", b"1\r\n--b0undar\r\n"), ("/tmp/two", b""))
    tap.equal(sandbox.ask("POST", "/files", body, Content_Type=kind)[0], 200, "a form of two")
    tap.equal([sandbox.ask("GET", f"/files?path=/tmp/{name}")[2] for name in ("one", "two")], [b"1\r\n--b0undar\r\n", b""],
              "each as it was, an empty one too")
    tap.equal(sandbox.ask("POST", "/files?path=/tmp/raw", b"raw", Content_Type="application/octet-stream")[0], 200, "plain bytes")
    for path, status in (("/none", 404), ("/tmp", 400), ("~other/x", 400), ("/dev/null", 400)):
        got, _, body = sandbox.ask("GET", "/files?path=" + path)
        tap.ok(got == status and body["code"] == status, f"{path}: {status}", (got, body))
    for broken in (b"--b0undary\r\n", b"no form", b"--b0undary\r\nContent-Disposition: x\r\n\r\nno name\r\n--b0undary--"):
        tap.equal(sandbox.ask("POST", "/files", broken, Content_Type="multipart/form-data; boundary=b0undary")[0], 400, f"broken: {broken[:24]}")
    digest = hashlib.sha256(f"/tmp/raw:read::{sandbox.token}".encode()).digest()
    signature = urllib.parse.quote("v1_" + base64.b64encode(digest).decode().rstrip("="))
    plain = {"X_Access_Token": None, "E2b_Sandbox_Id": None, "E2b_Sandbox_Port": None}
    tap.equal(sandbox.ask("GET", f"/files?path=/tmp/raw&signature={signature}", **plain)[2], b"raw", "a signed URL")
    for query in (f"path=/tmp/one&signature={signature}", f"path=/tmp/raw&signature={signature}&signature_expiration=1", "path=/tmp/raw"):
        tap.equal(sandbox.ask("GET", "/files?" + query, **plain)[0], 401, "another path, an old one, none: 401")
    listing = sandbox.call("filesystem.Filesystem/ListDir", {"path": "", "depth": 3})[1]["entries"]
    tap.equal([(row["path"], row["type"]) for row in listing],
              [("/home/user/deep", "FILE_TYPE_DIRECTORY"), ("/home/user/deep/er", "FILE_TYPE_DIRECTORY"),
               ("/home/user/deep/er/big", "FILE_TYPE_FILE")], "a list three deep")
    call = sandbox.call
    tap.equal(call("filesystem.Filesystem/Stat", {"path": "/tmp/raw"})[1]["entry"]["size"], "3", "stat")
    tap.equal(call("filesystem.Filesystem/Stat", {"path": "/tmp/none"})[1]["code"], "not_found", "stat of nothing")
    tap.equal([call("filesystem.Filesystem/MakeDir", {"path": "a/b"})[0] for _ in range(2)], [200, 409], "a directory, once")
    tap.equal(call("filesystem.Filesystem/Move", {"source": "a", "destination": "/dev/shm/c/a"})[0], 200, "moved to another file system")
    tap.equal(call("filesystem.Filesystem/Stat", {"path": "/dev/shm/c/a/b"})[0], 200, "and there")
    tap.equal([call("filesystem.Filesystem/Remove", {"path": "/dev/shm/c"})[0] for _ in range(2)], [200, 200], "removed, gone or not")
    tap.equal(call("filesystem.Filesystem/Remove", {"path": "/tmp/../.."})[1]["code"], "invalid_argument", "not all of it")
    sandbox.run("ln -s /etc /tmp/link; ln -s /none /tmp/dangling; mkfifo /tmp/fifo")
    tap.equal(call("filesystem.Filesystem/Stat", {"path": "/tmp/link"})[1]["entry"]["symlinkTarget"], "/etc", "a link")
    tap.equal(call("filesystem.Filesystem/Stat", {"path": "/tmp/dangling"})[0], 200, "one to nowhere")
    tap.equal([sandbox.ask("GET", "/files?path=/tmp/fifo")[0], sandbox.ask("POST", "/files?path=/tmp/fifo", b"x", Content_Type="application/octet-stream")[0]],
              [400, 400], "a fifo keeps nobody waiting")


def test_watch(sandbox):
    call = sandbox.call
    call("filesystem.Filesystem/MakeDir", {"path": "/tmp/seen/below"})
    watcher = call("filesystem.Filesystem/CreateWatcher", {"path": "/tmp/seen", "recursive": True})[1]
    with sandbox.stream("filesystem.Filesystem/WatchDir", {"path": "/tmp/seen"}) as events:
        tap.equal(next(events), {"start": {}}, "a watch begins")
        sandbox.run("echo x > /tmp/seen/new; echo y > /tmp/seen/below/deep; rm /tmp/seen/new")
        first = next(events)["filesystem"]
        tap.equal((first["name"], first["type"]), ("new", "EVENT_TYPE_CREATE"), "and shows what happens")
    found = {(row["name"], row["type"]) for row in call("filesystem.Filesystem/GetWatcherEvents", watcher)[1]["events"]}
    tap.ok({("new", "EVENT_TYPE_CREATE"), ("new", "EVENT_TYPE_REMOVE"), ("below/deep", "EVENT_TYPE_WRITE")} <= found, "asked for, below, too", found)
    tap.equal([call("filesystem.Filesystem/RemoveWatcher", watcher)[0] for _ in range(2)], [200, 404], "and ended")
    tap.equal(call("filesystem.Filesystem/CreateWatcher", {"path": "/tmp/none"})[1]["code"], "not_found", "nothing to watch")


class Interpreter:
    """The code interpreter of a sandbox."""

    def __init__(self, sandbox):
        self.sandbox = sandbox

    def ask(self, method, path, body=None, **headers):
        return self.sandbox.ask(method, path, body, **{"E2b_Sandbox_Port": "49999", **headers})[::2]

    def run(self, code, **wish):
        """Stdout, stderr, results and the error of an execution."""
        status, lines = self.ask("POST", "/execute", {"code": code, **wish})
        assert status == 200, (status, lines)
        events = [json.loads(line) for line in lines.splitlines()]
        assert events[0]["type"] == "number_of_executions" and events[-1]["type"] == "end_of_execution", events
        text = {name: "".join(event["text"] for event in events if event["type"] == name) for name in ("stdout", "stderr")}
        return (text["stdout"], text["stderr"], [event for event in events if event["type"] == "result"],
                next((event for event in events if event["type"] == "error"), None))

    @contextlib.contextmanager
    def begun(self, code, **wish):
        """An execution whose first event has come; the client leaves with the block."""
        link = http.client.HTTPConnection("127.0.0.1", self.sandbox.server.port, timeout=patience(60))
        link.request("POST", "/execute", json.dumps({"code": code, **wish}),
                     {"E2b-Sandbox-Id": self.sandbox.id, "X-Access-Token": self.sandbox.token, "E2b-Sandbox-Port": "49999"})
        answer = link.getresponse()
        answer.readline()
        try:
            yield answer
        finally:
            link.close()


def test_interpreter(server):
    one = Interpreter(server.create(envVars={"FROM_MAKER": "yes"}))
    one.sandbox.run("for name in uuid json signal ast traceback; do echo 'raise SystemExit(1)' > $name.py; done; echo A = 5 > mine.py")
    tap.equal(one.run("import mine; mine.A")[2][0]["text"], "5", "modules beside the code are the code's, and not the interpreter's")
    one.sandbox.run("rm *.py")
    out, err, results, error = one.run("import sys, os\nprint('a')\nos.system('echo b')\nprint('c', file=sys.stderr)\nx = 6\nx * 7")
    tap.ok((out, err, error) == ("a\nb\n", "c\n", None), "output, of children too, in its order", (out, err, error))
    tap.ok([(row["text"], row["is_main_result"]) for row in results] == [("42", True)], "the last expression is the result", results)
    tap.equal(one.run("x")[2][0]["text"], "6", "the state stays")
    tap.equal(one.run("!echo shell")[0], "shell\n", "a line for the shell")
    tap.equal(one.run("  y = 1\n  await __import__('asyncio').sleep(0, y + 1)")[2][0]["text"], "2", "indented as a whole, awaiting")
    error = one.run("def f():\n    return 1 / 0\nf()")[3]
    tap.ok(error["name"] == "ZeroDivisionError" and error["value"] == "division by zero" and "return 1 / 0" in error["traceback"] and
           "<interpreter>" not in error["traceback"], "an error, with the code's own frames", error)
    tap.ok(one.run("def")[3]["name"] == "SyntaxError" and one.run("x")[2], "what is no code harms nothing")
    code = "print(os.environ.get('ONCE'), os.environ['FROM_MAKER'])"
    tap.equal([one.run(code, env_vars={"ONCE": "now"})[0], one.run(code)[0]], ["now yes\n", "None yes\n"], "variables of one execution")
    shown = one.run("class C:\n    def _repr_html_(self): return '<b>'\n    def _repr_png_(self): return b'png'\ndisplay(C())\nC()")[2]
    tap.ok([(row["html"], row["png"], row.get("is_main_result", False)) for row in shown] ==
           [("<b>", text(b"png"), False), ("<b>", text(b"png"), True)], "formats of a value, shown and as the result", shown)
    out = one.run("print('x' * 3000000)")[0]
    tap.equal(len(out), 3000001, "more output than any window")
    tap.equal(one.run("float('nan'), 'é'")[2][0]["text"], "(nan, 'é')", "what JSON has no number for")
    test_contexts(one)
    test_kernels(one)
    test_interrupts(one)
    status, body = one.ask("POST", "/execute", {"code": "1", "language": "cobol"})
    tap.ok(status == 400 and "cobol" in body["message"], "a language that is not there is named", body)
    tap.equal([one.ask("POST", "/execute", bad)[0] for bad in (b"{", b"[]", b'{"env_vars": {"A=B": "c"}}', b'{"env_vars": 5}')], [400] * 4,
              "bodies that are none")
    tap.equal(one.ask("POST", "/execute", {"code": "x" * (9 << 20)})[0], 413, "a huge one")
    tap.equal([one.ask("GET", "/contexts", X_Access_Token=None)[0],
               one.ask("GET", "/contexts", X_Access_Token=None, E2B_Traffic_Access_Token="0" * 64)[0],
               one.ask("GET", "/contexts", X_Access_Token=None, E2B_Traffic_Access_Token=one.sandbox.token)[0],
               one.sandbox.ask("GET", "/contexts", X_Access_Token=None, E2B_Traffic_Access_Token=one.sandbox.token)[0]],
              [401, 401, 200, 401], "the traffic token opens the interpreter's port, and no other")
    test_shells(one)
    server.ask("DELETE", f"/sandboxes/{one.sandbox.id}")


def test_contexts(one):
    status, made = one.ask("POST", "/contexts", {"cwd": "/usr"})
    tap.ok(status == 200 and made["language"] == "python" and made["cwd"] == "/usr", "a context of its own", made)
    tap.equal(one.run("import os; print(os.getcwd(), 'x' in globals())", context_id=made["id"])[0], "/usr False\n", "directory and names")
    one.run("x = 1", context_id=made["id"])
    tap.equal(one.ask("POST", f"/contexts/{made['id']}/restart")[0], 200, "restarted")
    tap.equal(one.run("x", context_id=made["id"])[3]["name"], "NameError", "it has forgotten")
    tap.equal(one.run("x")[2][0]["text"], "6", "and the other one has not")
    tap.ok(made in one.ask("GET", "/contexts")[1], "listed")
    tap.equal([one.ask("DELETE", f"/contexts/{made['id']}")[0] for _ in range(2)], [204, 404], "removed, once")
    tap.ok(made not in one.ask("GET", "/contexts")[1], "and listed no more")
    tap.equal([one.ask("POST", "/execute", {"code": "1", "context_id": "none"})[0], one.ask("POST", "/contexts", {"cwd": "/none"})[0]],
              [404, 400], "no such context, no such directory")


def test_kernels(one):
    """What code does to its own process, or a request to the interpreter, reaches no other context."""
    error = one.run("import socket\na, b = socket.socketpair()\nb.close()\na.send(b'x')")[3]
    tap.equal(error["name"], "BrokenPipeError", "a closed socket is an error")
    status, body = one.ask("POST", "/execute", b"[" * 200000)
    tap.ok(status == 400 and body["message"], "a body nested too deeply is refused", (status, body))
    for junk in ("junk", "[[1]]", '{"result": 5}'):
        made = one.ask("POST", "/contexts", {})[1]["id"]
        one.run(f"import os\nos.write(4, {junk.encode() + bytes([10])!r})", context_id=made)
        tap.equal(one.run("x")[2][0]["text"], "6", f"a context that reports {junk} ends no other")
        tap.equal(one.ask("DELETE", f"/contexts/{made}")[0], 204, "and can be removed")


    tap.equal([one.ask("POST", "/execute", {"code": "echo \ud800", "language": name})[0] for name in ("bash", "python")], [400, 400],
              "half a character in the code is refused")
    tap.equal(one.ask("POST", "/execute", {"code": "1", "env_vars": {"A": "\ud800"}})[0], 400, "and in a variable")
    error = one.run("class E(Exception):\n    def __str__(self): raise E\nraise E()")[3]
    tap.ok(error["name"] == "E" and "raise E()" in error["traceback"], "an error without a text", error)
    tap.equal(one.run("import sys\nkept, sys.stdout = sys.stdout, object()\nx")[2][0]["text"], "6", "a stdout that is none")
    one.run("sys.stdout = kept")
    code = "import os, sys\nif os.fork() == 0:\n    display(1)\n    sys.exit(3)\ncode = os.wait()[1] >> 8\nprint('on')\ncode"
    out, _, results, _ = one.run(code)
    tap.equal((out, [row["text"] for row in results]), ("on\n", ["3"]), "a forked child ends alone, and reports nothing")
    out, err, results, _ = one.run("if os.fork() == 0: 1 / 0\nos.wait()[1] >> 8")
    tap.ok("ZeroDivisionError" in err and results[0]["text"] == "1", "its error is printed", (err, results))
    made = one.ask("POST", "/contexts", {})[1]["id"]
    code = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(600)\nos.kill(os.getpid(), 9)"
    tap.equal(one.run(code, context_id=made)[3]["name"], "KernelDied", "a child that stays does not hide the end of its parent")
    tap.equal(len(one.run("'x' * (10 << 20)")[2][0]["text"]), 10 << 20, "a large result")
    tap.equal(one.run("'x' * (40 << 20)")[3]["name"], "ResultTooLong", "one that is too large is refused")
    tap.equal(one.run("x")[2][0]["text"], "6", "and harms nothing")
    status, lines = one.ask("POST", "/execute", {"code": "import time\ntime.sleep(1.5)\nx"}, Connect_Timeout_Ms="100",
                            Keepalive_Ping_Interval="1")
    events = [json.loads(line)["type"] for line in lines.splitlines()]
    tap.equal((status, events), (200, ["number_of_executions", "result", "end_of_execution"]), "the headers of Connect are not for it")


def test_shells(one):
    def run(code, **wish):
        out, _, _, error = one.run(code, language="bash", **wish)
        return out, error and error["value"]
    tap.equal([run("z=3; declare -A map=([a]=b)"), run("echo $z ${map[a]}"), run("false")], [("", None), ("3 b\n", None), ("", "1")],
              "a shell keeps state, too, and reports its status")
    tap.equal([run("echo $A; continue", env_vars={"A": "it's"}), run("read() { :; }; printf() { :; }; echo a; break"), run("echo $z ${A-none}")],
              [("it's\n", None), ("a\n", None), ("3 none\n", None)], "a shell's continue and break end its code, and no more")
    if not shutil.which("node"):
        return
    one.run("const a = 4", language="js")
    tap.equal([row["text"] for row in one.run("await Promise.resolve(a * 2)", language="javascript")[2]], ["8"], "javascript")
    tap.equal(one.run("nothing", language="js")[3]["name"], "ReferenceError", "and its errors")
    one.run("const fs = require('fs'), send = 1, post = 2, show = 3\nfunction run() { return 7 }", language="js")
    tap.equal(one.run("[send, run()].join()", language="js")[2][0]["text"], "1,7", "all names are its own")


def test_interrupts(one):
    with one.begun("import time\ntime.sleep(300)"):
        pass
    tap.equal(one.run("x")[2][0]["text"], "6", "a client that leaves interrupts its code, and the state stays")
    made = one.ask("POST", "/contexts", {})[1]["id"]
    with one.begun("while True: print('y')", context_id=made):
        pass
    tap.equal(one.run("1", context_id=made)[2][0]["text"], "1", "so does one that leaves before the code has begun")
    error = one.run("import os\nos._exit(3)")[3]
    tap.ok(error["name"] == "KernelDied", "a context whose process ends says so", error)
    tap.equal(one.run("x = 6; x")[2][0]["text"], "6", "and begins anew")
    with one.begun("import os\nprint(os.getpid())\nwhile True: pass", context_id=one.ask("POST", "/contexts", {})[1]["id"]) as busy:
        pid = int(json.loads(busy.readline())["text"])
        error = one.run("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)")[3]
        tap.ok(error["name"] == "InterpreterDied", "code that ends the interpreter is answered", error)
        tap.ok(until(lambda: one.sandbox.run(f"grep -s '^State:.*[RSD] ' /proc/{pid}/status")[0] == b""), "no kernel outlives it")
    tap.equal(one.run("x = 6; x")[2][0]["text"], "6", "and the next one has another")
    with one.begun("while True: print('y' * 1000)"):
        tap.equal(one.run("1", context_id=one.ask("POST", "/contexts", {})[1]["id"])[2][0]["text"], "1",
                  "a client that does not read keeps no other context waiting")


def test_host_untouched(sandbox, home):
    """Every path is one of the sandbox: none leads to the host's files, by whatever name."""
    marked = home.put("marked", "of the host")
    tap.ok(sandbox.ask("GET", "/files?path=" + marked)[2] != b"of the host", "the caller's workspace is not inside")
    for path in ("/etc/e2b-was-here", "../../../../etc/e2b-was-here", f"{home.path}/e2b-was-here", "/tmp/e2b-was-here",
                 "/proc/self/root/tmp/e2b-was-here", "/proc/1/root/tmp/e2b-was-here", "%2e%2e%2f%2e%2e%2fe2b-was-here"):
        sandbox.ask("POST", "/files?path=" + path, b"x", Content_Type="application/octet-stream")
    body, kind = form(("../../../var/tmp/e2b-was-here", b"x"), ("a\\\"b", b"x"))
    sandbox.ask("POST", "/files", body, Content_Type=kind)
    found = [path for path in ("/etc", home.path, home.work, "/tmp", "/var/tmp", "/") if os.path.exists(path + "/e2b-was-here")]
    tap.equal(found, [], "no path leads out")
    with open(marked) as file:
        tap.equal(file.read(), "of the host", "and the workspace is as it was")
    tap.equal(sandbox.run("getent hosts example.org || echo none")[0], b"none\n", "no network")


def half_spoken(port, sandbox):
    heads = [b"GET /v2/sandboxes HT", b"POST /v2/sandboxes HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX-API-KEY: " % port,
             b"POST /process.Process/Start HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nE2b-Sandbox-Id: %s\r\nX-Access-Token: %s\r\n"
             b"Content-Type: application/connect+json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n\0\0\0" %
             (port, sandbox.id.encode(), sandbox.token.encode())]
    links = []
    for head in heads * 20:
        links.append(socket.create_connection(("127.0.0.1", port)))
        links[-1].sendall(head)
    return links


def test_attacks(server, sandbox):
    links = half_spoken(server.port, sandbox)
    tap.equal(sandbox.run("echo here")[0], b"here\n", "half-spoken requests keep nobody waiting")
    for link in links:
        link.close()
    tap.equal(server.ask("POST", "/v2/sandboxes", b"x" * (2 << 20), Content_Type="application/json")[0], 413, "a huge body of the API")
    status, body = sandbox.call("process.Process/List", {"x": "y" * (9 << 20)})
    tap.ok(status == 429 and body["code"] == "resource_exhausted", "a huge message", (status, body))
    for bad in (b"{", b"[]", b'{"a":' * 100, b"\xff", b"null"):
        tap.equal(sandbox.ask("POST", "/process.Process/List", bad, Content_Type="application/json")[0], 400, f"no message: {bad[:8]}")
    with sandbox.stream("process.Process/Start", {"process": {"cmd": "/bin/sh", "args": ["-c", "yes"]}}) as events:
        next(events)
        tap.equal(sandbox.run("echo here")[0], b"here\n", "a client that does not read keeps nobody waiting")
    # Its stream is cut, or never begins.
    with contextlib.suppress(AssertionError, http.client.IncompleteRead, ConnectionError):
        sandbox.run("kill -9 -1")
    tap.ok(until(lambda: sandbox.ask("GET", "/health")[0] == 502), "a sandbox that ends its agent is over")
    loud = server.create()
    with contextlib.suppress(AssertionError, http.client.IncompleteRead, ConnectionError):
        loud.run("for f in /proc/$PPID/fd/*; do timeout 2 sh -c 'printf DDDDDDDDDDDDDDDDDDDDDDDDDDDDDD > $0' $f; done 2>/dev/null")
    tap.equal(loud.run("echo here")[0], b"here\n", "no command can speak for the agent that started it")
    tries = ("open('/proc/%d/mem' % P, 'r+b')", "os.listdir('/proc/%d/fd' % P)", "open('/proc/%d/environ' % P).read(1)",
             "L.ptrace(16, P, 0, 0) and 1/0")
    for attempt in tries:
        for target, want in (("int(os.environ[\"A\"])", b"refused\n"), ("C.pid", b"through\n")):
            done = loud.run(f"""A=$PPID python3 -c '
import ctypes, os, subprocess
L, C = ctypes.CDLL(None), subprocess.Popen(["sleep", "300"])
P = {target}
try:
    {attempt.replace("'", chr(34))}
    print("through")
except (OSError, ZeroDivisionError):
    print("refused")
C.kill()'""")
            tap.equal(done[0], want, f"a command and {'its agent' if 'A' in target else 'its own child'}: {attempt}")
    other = server.create()
    tap.equal(other.run("echo here")[0], b"here\n", "and harms no other")
    for each in (loud, other):
        server.ask("DELETE", f"/sandboxes/{each.id}")


def test_kill_while_running(server):
    one = server.create()
    with one.stream("process.Process/Start", {"process": {"cmd": "/bin/sleep", "args": ["300"]}}) as events:
        next(events)
        threading.Timer(0.1, server.ask, ("DELETE", f"/sandboxes/{one.id}")).start()
        try:
            rest = list(events)
        except (http.client.IncompleteRead, ConnectionError):
            rest = []
        tap.equal(rest, [], "the stream of a killed sandbox is cut, without an end")


def test_crowd(server, home):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        crowd = list(pool.map(lambda _: server.create(), range(52)))
        outs = list(pool.map(lambda one: one.run("cat mine; echo $0 > mine")[0], crowd))
    tap.ok(outs == [b""] * 52 and len({one.id for one in crowd}) == 52, "52 sandboxes, each its own", outs)
    return {one.id for one in crowd}


def sandboxes_of(home):
    return {row["name"] for row in home.rows("ls")}


def agents():
    """Processes of ours that are agents in sandboxes."""
    return {pid for pid, name in ours().items() if name == "aisbx-envd"}


def main():
    adopt()
    with Home("aisbx-e2b-") as home:
        if not home.can_run(tap, "serve e2b"):
            return
        with Server(home) as server:
            sandbox = server.create()
            test_gate(server, sandbox)
            test_api(server, home)
            test_policy(server, home)
            test_pause(server)
            test_commands(sandbox)
            test_files(sandbox)
            test_watch(sandbox)
            test_interpreter(server)
            test_host_untouched(sandbox, home)
            test_kill_while_running(server)
            test_attacks(server, sandbox)
        tap.equal(sandboxes_of(home), set(), "the end of the server is theirs")
        with Server(home) as one, Server(home) as two:
            mine = one.create()
            tap.equal([two.ask("GET", "/v2/sandboxes")[2], two.ask("GET", f"/sandboxes/{mine.id}")[0],
                       two.ask("GET", "/v2/sandboxes", X_API_KEY=one.key)[0]], [[], 404, 401], "one owner never sees another's")
        with Server(home) as server:
            test_crowd(server, home)
            tap.ok(len(agents()) >= 52, "each with an agent", agents())
            os.kill(server.process.pid, signal.SIGKILL)
            server.process.wait()
            tap.ok(until(lambda: not sandboxes_of(home)), "a server that is killed leaves no sandbox")
            tap.ok(until(lambda: not agents()), "and no process")
        done = home.call("serve", "e2b", "--detach")
        tap.ok(done.returncode == 0 and done.stdout.startswith("export E2B_API_KEY=e2b_"), "--detach prints and returns", done)
        port = re.search(r"API_URL=http://127.0.0.1:(\d+)", done.stdout).group(1)
        with open("/proc/net/tcp") as file:
            inode = next((line.split()[9] for line in file if f":{int(port):04X} 00000000:0000 0A" in line), None)
        # The guard lets go of it when it has begun.
        tap.ok(until(lambda: len(holders(inode)) == 1), "one process listens then", holders(inode))
        for pid in holders(inode):
            os.kill(int(pid), signal.SIGTERM)
        test_both_killed(home)
        tap.equal([home.call("serve").returncode, home.call("serve", "nothing").returncode], [2, 2], "serve needs a word it knows")


def holders(inode):
    return [pid for pid in filter(str.isdigit, os.listdir("/proc")) if holds(pid, f"socket:[{inode}]")]


def guard_of(pid):
    for task in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{task}/status") as file:
            text = file.read()
            if f"PPid:\t{pid}\n" in text and "Name:\taisbx-e2b-guard\n" in text:
                return int(task)
    return None


def test_both_killed(home):
    """The server and its guard: what they leave goes with the next gc, and what another server has stays."""
    with Server(home) as other, Server(home) as server:
        kept, left = other.create(), server.create()
        until(lambda: guard_of(server.process.pid))
        os.kill(guard_of(server.process.pid), signal.SIGKILL)
        os.kill(server.process.pid, signal.SIGKILL)
        server.process.wait()
        tap.ok(left.id in sandboxes_of(home), "a server killed with its guard leaves a sandbox")
        done = home.call("gc", "--json")
        tap.ok(left.id in done.stdout and kept.id not in done.stdout, "gc removes it", done)
        tap.equal(sandboxes_of(home), {kept.id}, "and nothing of a server that lives")
        tap.equal(kept.run("echo on")[0], b"on\n", "which goes on")
        tap.ok(left.id not in home.call("gc", "--json").stdout, "once")


def holds(pid, target):
    with contextlib.suppress(OSError):
        return any(os.readlink(f"/proc/{pid}/fd/{fd}") == target for fd in os.listdir(f"/proc/{pid}/fd"))
    return False


main()
sys.exit(tap.done())
