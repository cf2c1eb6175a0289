#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page's server: who gets in, what it does for the one who is in, and what it does when processes die.

Every refusal stands beside the same request with one thing right, which is answered.
"""
import json
import os
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from aisbxtest import Suite
from box import patience
from family import command_lines, is_running, kib_of, until
from page import Page
from pool import Daemon

suite = Suite("the page", needs_attack=False)
# Root has no daemon, and so no page.
PLAIN = ("plain",)
JSON = {"Content-Type": "application/json"}


def cli(t, *words, code=0):
    got = subprocess.run([t.caller.program, *words], cwd=t.caller.workspace, env=t.caller.env, capture_output=True, text=True,
                         stdin=subprocess.DEVNULL, check=False, timeout=patience(120), **t.caller.identity())
    t.equal(got.returncode, code, f"{words}: {got.stdout}{got.stderr}")
    return got.stdout


@suite.case("W01", "a name that leads here, another page and a visitor without a token are refused", callers=PLAIN)
def gate(t):
    with Page(t.caller) as page:
        here = f"127.0.0.1:{page.port}"
        ok = {**JSON, "Authorization": "Bearer " + page.enter()}
        t.equal(page.ask("POST", "/api/ls", b"{}", ok)[0], 200, "the page itself")
        t.equal(page.ask("POST", "/api/ls", b"{}", {**ok, "Host": here, "Origin": "http://" + here})[0], 200, "with its own Origin")
        for headers, want in (({"Host": "evil.example"}, 421), ({"Host": f"evil.example:{page.port}"}, 421), ({"Host": "127.0.0.1"}, 421),
                              ({"Host": here + ".evil.example"}, 421), ({"Host": f"127.0.0.1:{page.port - 1}"}, 421),
                              ({"Origin": "http://evil.example"}, 403), ({"Origin": "null"}, 403), ({"Origin": "https://" + here}, 403),
                              ({"Origin": f"http://localhost:{page.port}"}, 403), ({"Origin": f"http://127.0.0.1:{page.port - 1}"}, 403),
                              ({"Sec-Fetch-Site": "cross-site"}, 403), ({"Sec-Fetch-Site": "same-site"}, 403),
                              ({"Authorization": "Bearer x"}, 401), ({"Authorization": "Bearer "}, 401), ({"Authorization": "Basic eDp4"}, 401),
                              ({"Content-Type": "text/plain"}, 415), ({"Content-Type": "application/x-www-form-urlencoded"}, 415)):
            t.equal(page.ask("POST", "/api/ls", b"{}", {**ok, **headers})[0], want, headers)
        t.equal(page.ask("POST", "/api/ls", b"{}", JSON)[0], 401, "without a token")
        t.equal(page.ask("GET", "/api/sandboxes")[0], 401, "whatever is asked for")
        t.equal(page.ask("GET", "/api/ls", headers=ok)[0], 405, "nothing by GET")
        t.equal(page.ask("POST", "/api/ls", b"{}", {**JSON, "Cookie": "bearer=" + page.bearer})[0], 401, "no cookie counts")
        for path in ("/", "/main.js", "/call.js", "/page.css", "/icon.svg", "/api/ls", "/nothing"):
            _, headers, content = page.ask("GET", path)
            for word in (b"innerHTML", b"outerHTML", b"insertAdjacentHTML", b"document.write", b"eval(", b"<script>", b"//cdn"):
                t.ok(word not in content, f"{path}: texts stay texts", word)
            policy = headers["Content-Security-Policy"]
            t.ok("default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy, path, policy)
            t.equal((headers["X-Content-Type-Options"], headers["Referrer-Policy"], headers["X-Frame-Options"]),
                    ("nosniff", "no-referrer", "DENY"), path)
            t.ok("Set-Cookie" not in headers and "Access-Control-Allow-Origin" not in headers, path, headers)
        t.equal(page.ask("GET", "/", headers={"Host": "evil.example"})[0], 421, "static files neither")
        t.equal(page.ask("OPTIONS", "/api/ls", headers={"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"})[0], 403,
                "what a browser asks before a call of another page")


@suite.case("W02", "a token opens the page once; what is asked wrongly is refused and ends nothing", callers=PLAIN)
def tickets(t):
    with Page(t.caller) as page:
        ticket = page.ticket()
        body = json.dumps({"token": ticket}).encode()
        t.equal(page.ask("POST", "/api/ls", b"{}", {**JSON, "Authorization": "Bearer " + ticket})[0], 401, "it is no bearer itself")
        t.equal(page.ask("POST", "/api/session", body, {**JSON, "Origin": "http://evil.example"})[0], 403, "not for another page")
        t.equal(page.ask("POST", "/api/session", body, {"Content-Type": "text/plain"})[0], 415, "nor for its form")
        t.equal(page.ask("POST", "/api/session", body, JSON)[0], 200, "once")
        t.equal(page.ask("POST", "/api/session", body, JSON)[0], 401, "not twice")
        for wrong in (b'{"token":""}', b'{"token":null}', b"{}", json.dumps({"token": "0" * 64}).encode()):
            t.equal(page.ask("POST", "/api/session", wrong, JSON)[0], 401, wrong)
        ticket = page.ticket()
        for path, method in (("/api/session", "POST"), ("/", "GET")):
            t.equal(page.ask(method, path, json.dumps({"token": ticket, "x": "x" * 256}).encode(), JSON)[0], 413, "a stranger's is short")
        t.equal(page.ask("POST", "/api/session", json.dumps({"token": ticket}).encode(), JSON)[0], 200, "and long enough")
        old = page.ticket()
        for _ in range(40):
            page.ticket()
        t.equal(page.ask("POST", "/api/session", json.dumps({"token": old}).encode(), JSON)[0], 401, "the oldest gives way")
        page.enter()
        ok = {**JSON, "Authorization": "Bearer " + page.bearer}
        for wrong in (b"", b"[]", b"{", b"\xff", b"[" * 100, b'{"words":"x"}', b'{"flags":[]}', b'{"words":[1]}', b'{"words":["a\\u0000b"]}'):
            t.equal(page.ask("POST", "/api/ls", wrong, ok)[0], 400, wrong)
        t.equal(page.ask("POST", "/api/ls", b" " * (2 << 20), ok)[0], 413, "too long")
        for verb in ("run", "exec", "try", "mcp", "rm", "promote", "files", "cp", "shell", "daemon/../ls", "", "ui", "gc", "secret"):
            t.equal(page.post(verb)[0], 404, verb)
        for verb, words, flags in (("ls", ["x"], {}), ("ls", [], {"owner": "x"}), ("promotions", ["x"], {}), ("race", [], {}),
                                   ("promotions", ["approve", "x"], {"yes": True}), ("undo", ["x"], {}), ("undo", ["x"], {"digest": True}),
                                   ("allow", ["x", "y"], {}), ("history", [], {"count=1 --json": "x"}), ("daemon", ["stop"], {}),
                                   ("history", [], {"count": True}), ("snap", ["x"], {"message": True}), ("logs", ["x"], {"follow": "x"}),
                                   ("allow", ["x", "y"], {"digest": "x", "digest! --workspace": "y"}),
                                   ("daemon", [], {"pool": "4"}), ("promotions", ["reject"], {"all": True}),
                                   ("race", ["ls"], {"attempt": ["a=true"]}), ("job", [], {}), ("job", ["run", "x"], {}), ("job", ["add", "/x"], {}),
                                   ("job", ["rm", "x"], {}), ("job", ["ls"], {"force": True})):
            t.equal(page.post(verb, *words, **flags)[0], 400, (verb, words, flags))
        lines, code = page.call("inspect", "--help")
        t.ok(code != 0 and not lines[0]["ok"], "a word is never a flag", lines)
        t.equal(page.call("ls")[1], 0, "and it serves")


@suite.case("W03", "a sandbox, a confined process and another user are not let in", callers=PLAIN)
def not_in(t):
    with Page(t.caller) as page:
        door = os.path.join(page.dir, "page.sock")
        t.equal(os.stat(door).st_mode & 0o777, 0o600, "the mode of the door")
        t.equal(page.ui().returncode, 0, "a process like the daemon")
        refused = page.ui(("setpriv", "--no-new-privs"))
        t.ok(refused.returncode != 0 and "refuses" in refused.stdout, "a confined process", refused)
        t.ok(t.box.run("ls", door).code != 0, "no sandbox sees the door")
        reach = ("import socket; s=socket.create_connection(('127.0.0.1',%d),30); "
                 "s.sendall(b'POST /api/ls HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\nContent-Length: 2\\r\\n\\r\\n{}'); "
                 "print(s.recv(99))") % (page.port, page.port)
        outside = subprocess.run(["/usr/bin/python3", "-c", reach], capture_output=True, text=True, check=False)
        t.ok("401" in outside.stdout, "outside, the port answers: no token", outside)
        for flags in ((), ("--net", "loopback"), ("--net", "all")):
            got = t.box.run("/usr/bin/python3", "-c", reach, flags=flags)
            t.ok(got.code != 0, f"no sandbox reaches the port {flags}", got)
        if os.geteuid() == 0:
            probe = "import socket,sys; s=socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect(sys.argv[1])"
            got = subprocess.run(["/usr/bin/python3", "-c", probe, door], capture_output=True, text=True, user=54322, group=54322,
                                 extra_groups=[], check=False)
            t.ok("PermissionError" in got.stderr, "another user does not reach the door", got.stderr)


@suite.case("W08", "a crowd without a token takes no memory", callers=PLAIN)
def crowd(t):
    size, crowd = 1 << 20, []
    with Page(t.caller) as page:
        page.enter()
        pid = next(row["pid"] for row in page.status()["helpers"] if row["name"] == "page")
        for number in range(100):
            one = socket.create_connection(("127.0.0.1", page.port), timeout=patience(30))
            crowd.append(one)
            first = b"POST /api/session" if number % 2 else b"GET /"
            one.sendall(b"%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                        % (first, page.port, size) + b" " * (size - 1))
        t.equal(page.call("ls")[1], 0, "it serves beside them")
        t.ok(kib_of(pid) < 50 << 10, "their bodies are not kept", f"{kib_of(pid)} KiB")
        for one in crowd:
            one.close()
    t.ok(not os.path.exists(os.path.join(page.dir, "page.sock")), "the name goes with the daemon")


@suite.case("W04", "only the loopback is served, only when asked, by one daemon", callers=PLAIN)
def only_loopback(t):
    for address in ("0.0.0.0:0", "[::]:0", "192.0.2.1:80", "127.0.0.2:0", "localhost", "127.0.0.1:99999", "evil.example:80"):
        got = subprocess.run([t.caller.program, "daemon", "--http", address], env=t.caller.env, capture_output=True, text=True,
                             check=False, timeout=patience(60), **t.caller.identity())
        t.ok(got.returncode == 2 and "127.0.0.1:PORT" in got.stderr, address, got)
    with Daemon(t.caller):
        t.ok("no page" in cli(t, "ui", "--json", code=5), "no page unless asked")
    with Page(t.caller) as page:
        other = subprocess.run([t.caller.program, "daemon", "--http", "127.0.0.1:0"], env=t.caller.env, capture_output=True,
                               text=True, check=False, timeout=patience(60), **t.caller.identity())
        t.ok(other.returncode != 0 and "running already" in other.stderr, "a second daemon", other)
        t.equal(page.ui().returncode, 0, "which takes nothing from the first")


@suite.case("W05", "what is decided names what was shown: approve, undo and allow", callers=PLAIN)
def decided(t):
    t.caller.put("a", "old\n")
    with Page(t.caller) as page:
        cli(t, "create", "one")
        cli(t, "exec", "one", "--", "sh", "-c", "echo new >a; touch '<img src=x onerror=alert(1)>'")
        names = {row["path"] for row in page.call("diff", "one", stat=True)[0]}
        t.equal(names, {"a", "<img src=x onerror=alert(1)>"}, "the list of changes")
        (one,), _ = page.call("diff", "one", patch=True, path="a")
        t.ok("-old\n+new\n" in one["patch"] and "img" not in one["patch"], "one file's patch", one)
        (ask,), code = page.call("promotions", "request", "one", "a", reason="why")
        t.equal(code, 0, ask)
        name = ask["request_id"]
        (bad,), code = page.call("promotions", "approve", name, yes=True, digest="0" * 64)
        t.ok(code == 3 and bad["error"]["code"] == "conflict", "another digest", bad)
        t.equal(open(os.path.join(t.caller.workspace, "a"), encoding="ascii").read(), "old\n", "nothing was applied")
        (done,), code = page.call("promotions", "approve", name, yes=True, digest=ask["bundle"])
        t.equal((code, done["state"]), (0, "approved"), done)
        t.equal(open(os.path.join(t.caller.workspace, "a"), encoding="ascii").read(), "new\n", "it was applied")
        (bad,), code = page.call("undo", done["promotion_id"], digest="0" * 64)
        t.equal((code, bad["error"]["code"]), (3, "conflict"), bad)
        t.equal(page.call("undo", done["promotion_id"], digest=done["bundle"])[1], 0, "taken back")
        t.equal(open(os.path.join(t.caller.workspace, "a"), encoding="ascii").read(), "old\n", "it is as before")
        (net,), _ = page.call("net", "one")
        (bad,), code = page.call("allow", "one", "example.org:443", digest="0" * 64)
        t.equal(code, 3, bad)
        t.equal(page.call("allow", "one", "example.org:443", digest=net["digest"])[1], 0, "allowed")
        t.equal(page.call("allow", "one", "example.net:443", digest=net["digest"])[1], 3, "on rules that are no more")
        page.call("snap", "one", message="here")
        (snap,), _ = page.call("snaps", "one")
        t.equal(page.call("rollback", "one", snap["name"])[1], 0, "rolled back")
        t.equal(page.call("fork", "one@" + snap["name"], "two")[1], 0, "forked")
        t.equal(page.call("stop", "two")[1], 0, "stopped")
        cli(t, "rm", "one", "two")


@suite.case("W09", "a request is looked at in its snapshot, file by file, with what diff notes", callers=PLAIN)
def looked_at(t):
    t.caller.put("a", "old\n")
    odd, plain = os.fsdecode(b"n\xff"), "n\\xff"
    with Page(t.caller) as page:
        cli(t, "create", "one")
        cli(t, "exec", "one", "--", "sh", "-c", 'echo bad >a; mkdir d; echo x >d/e; echo harm >"$1"; echo good >"$2"; ln -s / l', "sh", odd, plain)
        (ask,), code = page.call("promotions", "request", "one")
        t.equal((code, ask["kind"], ask["files"], len(ask["paths"])), (0, "promotion", 6, 6), ask)
        t.ok("@" in ask["sandbox"], "it is about a snapshot", ask)
        cli(t, "exec", "one", "--", "sh", "-c", "echo fine >a; rm -r d")
        key = lambda row: row if isinstance(row, str) else row.get("path_b64") or row["path"]
        rows, _ = page.call("diff", ask["sandbox"], stat=True)
        t.equal(sorted(map(key, rows)), sorted(map(key, ask["paths"])), "each of its files is a difference of the snapshot, by its bytes")
        (one,), _ = page.call("diff", ask["sandbox"], patch=True, path="a")
        t.ok("+bad\n" in one["patch"], "what approving applies", one)
        (one,), _ = page.call("diff", "one", patch=True, path="a")
        t.ok("+fine\n" in one["patch"], "the sandbox's present is something else", one)
        (one,), _ = page.call("diff", ask["sandbox"], patch=True, path='"n\\377"')
        t.ok("+harm\n" in one["patch"], "the file whose name is not UTF-8", one)
        (one,), _ = page.call("diff", ask["sandbox"], patch=True, path='"n\\\\xff"')
        t.ok("+good\n" in one["patch"], "and the one that is called as that is shown", one)
        t.caller.put("a", "other\n")
        (one,), _ = page.call("diff", ask["sandbox"], patch=True, path="a")
        t.ok("changed on the host since" in one["note"], "what diff notes", one)
        page.call("promotions", "reject", ask["request_id"])
        cli(t, "rm", "one")


@suite.case("W06", "history comes by pages, output as it is written; who leaves leaves no process", callers=PLAIN)
def streams(t):
    with Page(t.caller) as page:
        for number in range(5):
            t.box.run("echo", str(number))
        seen, before = [], {}
        while True:
            rows, _ = page.call("history", count="2", **before)
            if not rows:
                break
            seen += [row["command"][-1] for row in rows]
            before = {"before": rows[-1]["run_id"]}
        t.equal(seen[:5], ["4", "3", "2", "1", "0"], "page by page, each once")
        run = t.box.popen(["sh", "-c", "echo begun; exec sleep 600"], as_json=False)
        try:
            def listed():
                return [row for row in page.call("history", status="running")[0] if row["command"][-1].endswith("sleep 600")]

            t.ok(until(listed), "the run is listed as running")
            row, = listed()
            with socket.create_connection(("127.0.0.1", page.port), timeout=patience(30)) as one:
                body = json.dumps({"words": [row["run_id"]], "flags": {"follow": True}}).encode()
                one.sendall(b"POST /api/logs HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"
                            b"Content-Length: %d\r\n\r\n%s" % (page.port, page.bearer.encode(), len(body), body))
                got = b""
                while b"begun" not in got:
                    part = one.recv(65536)
                    t.ok(part, "the stream goes on", got)
                    got += part
                t.ok(until(lambda: followers(row["run_id"])), "a process follows")
            t.ok(until(lambda: not followers(row["run_id"])), "it ends with its reader")
        finally:
            run.terminate()
            run.wait()


def followers(run_id):
    """Processes whose command line names the run, by their numbers."""
    return [pid for pid, words in command_lines() if any(run_id in word for word in words)]


@suite.case("W07", "killed, the page comes back on its port with new tokens; without the daemon there is none", callers=PLAIN)
def killed(t):
    with Page(t.caller) as page:
        page.enter()
        pid = next(row["pid"] for row in page.status()["helpers"] if row["name"] == "page")
        os.kill(pid, signal.SIGKILL)
        t.equal(page.ask("GET", "/")[0], 200, "a visitor waits until it is back")
        t.equal(page.post("ls")[0], 401, "what opened the dead one opens nothing")
        page.enter()
        t.equal(page.call("ls")[1], 0, "a new token does")
        pid = next(row["pid"] for row in page.status()["helpers"] if row["name"] == "page")
        os.kill(pid, signal.SIGTERM)
        t.ok(until(lambda: not is_running(pid)), "asked to, it ends")
        page.enter()
        t.equal(page.call("ls")[1], 0, "and ui reaches the one that comes next")
        idle = [socket.create_connection(("127.0.0.1", page.port)) for _ in range(200)]
        idle[0].sendall(b"POST /api/ls HTTP/1.1\r\nHost: ")
        t.equal(page.call("ls")[1], 0, "beside idle and half-sent ones")
        for one in idle:
            one.close()
        pid = next(row["pid"] for row in page.status()["helpers"] if row["name"] == "page")
        page.process.kill()
        page.process.wait()
        t.ok(until(lambda: not is_running(pid)), "it ends with the daemon")
        t.ok("no page" in cli(t, "ui", "--json", code=5), "and ui says so")
    with Page(t.caller) as page:
        t.equal(page.ui().returncode, 0, "the next daemon has one")


suite.main()
