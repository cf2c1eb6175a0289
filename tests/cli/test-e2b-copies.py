#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""serve e2b: what sandboxes are made of: images, snapshots, forks; a pause without processes; what is noted at files.

Takes the program from AISBX. Speaks TAP.
"""

import gzip
import io
import os
import shutil
import sys
import tarfile
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from clitest import AISBX, Home, Tap  # noqa: E402
from e2b_wire import LONG, Sandbox, Server  # noqa: E402
from family import until  # noqa: E402

tap = Tap()


def put(sandbox, path, data, **headers):
    quoted = urllib.parse.quote(path)
    return sandbox.ask("POST", f"/files?path={quoted}", data, Content_Type="application/octet-stream", **headers)


def get(sandbox, path):
    status, _, body = sandbox.ask("GET", "/files?path=" + urllib.parse.quote(path))
    return body if status == 200 else status


def snapshot(server, sandbox, **asked):
    status, _, made = server.ask("POST", f"/sandboxes/{sandbox.id}/snapshots", asked)
    assert status == 201, (status, made)
    return made["snapshotID"]


def listed(server, query=""):
    return [row["snapshotID"] for row in server.ask("GET", "/snapshots" + query)[2]]


def test_home(sandbox):
    tap.equal(sandbox.run("pwd; echo $HOME; cd /; ls -A ~")[0], b"/home/user\n/home/user\n", "commands begin in an empty /home/user")
    put(sandbox, "/home/user/a", b"1")
    tap.equal((get(sandbox, "a"), get(sandbox, "~/a")), (b"1", b"1"), "which is what relative paths mean")
    entry = sandbox.call("filesystem.Filesystem/Stat", {"path": "a"})[1]["entry"]
    tap.equal((entry["owner"], entry["group"]), ("user", "user"), "its account is called user")


def test_notes(sandbox):
    """Metadata of uploads, and compressed ones."""
    noted = {"X_Metadata_Author": "me", "X_Metadata_Why": "a test"}
    status, _, made = put(sandbox, "noted", b"x", **noted)
    entry = sandbox.call("filesystem.Filesystem/Stat", {"path": "noted"})[1]["entry"]
    if "metadata" not in entry and sandbox.run("python3 -c 'import os; os.setxattr(\"noted\", \"user.e2b.x\", b\"y\")'")[2].get("exitCode"):
        tap.skip("metadata of uploads", "this file system takes no attributes of users")
    else:
        tap.equal((status, made[0].get("metadata")), (200, {"author": "me", "why": "a test"}), "metadata of an upload")
        tap.equal(entry.get("metadata"), {"author": "me", "why": "a test"}, "is there when the file is looked at")
        rows = sandbox.call("filesystem.Filesystem/ListDir", {"path": "."})[1]["entries"]
        tap.equal([row["metadata"] for row in rows if row["name"] == "noted"], [{"author": "me", "why": "a test"}], "and listed")
        put(sandbox, "noted", b"x", X_Metadata_Other="one")
        entry = sandbox.call("filesystem.Filesystem/Stat", {"path": "noted"})[1]["entry"]
        tap.equal(entry.get("metadata"), {"other": "one"}, "another upload's takes its place")
        put(sandbox, "noted", b"x")
        tap.ok("metadata" not in sandbox.call("filesystem.Filesystem/Stat", {"path": "noted"})[1]["entry"], "so does none")
    data = os.urandom(200000) + b"0" * 2000000
    tap.equal((put(sandbox, "packed", gzip.compress(data), Content_Encoding="gzip")[0], get(sandbox, "packed") == data), (200, True),
              "a compressed upload is unpacked")
    tap.equal(put(sandbox, "packed", gzip.compress(data)[:-100], Content_Encoding="gzip")[0], 400, "one that ends too early is refused")
    tap.equal(put(sandbox, "packed", b"no gzip", Content_Encoding="gzip")[0], 400, "one that is none, too")
    tap.equal(put(sandbox, "packed", data, Content_Encoding="br")[0], 415, "what is compressed otherwise is refused by name")
    tap.equal(sandbox.run("echo on")[0], b"on\n", "the agent goes on")


def test_times(server, sandbox):
    path = f"/sandboxes/{sandbox.id}"
    started = server.ask("GET", path)[2]["startedAt"]

    def after(text):
        rows = server.ask("GET", "/v2/sandboxes?startedAfter=" + urllib.parse.quote(text))[2]
        return sandbox.id in {row["sandboxID"] for row in rows}
    tap.equal([after(started), after(started.replace("Z", "+00:00")), after(started.replace("Z", "+02:00")), after("2999-01-01T00:00:00-01:00")],
              [True, True, True, False], "startedAfter in any zone")
    tap.equal([len(server.ask("GET", path + "/metrics" + query)[2]) for query in ("", "?start=1", "?start=1&end=2", "?start=99999999999")],
              [1, 1, 0, 0], "figures are of now: another time has none")


def test_snapshots(server):
    one = server.create(envVars={"FROM_MAKER": "yes"})
    put(one, "/home/user/kept", b"before")
    put(one, "/opt/kept", b"everywhere")
    saved = snapshot(server, one, name="mine")
    put(one, "/home/user/kept", b"after")
    two = server.create(templateID=saved)
    tap.equal((get(two, "kept"), get(two, "/opt/kept"), get(one, "kept")), (b"before", b"everywhere", b"after"),
              "a sandbox of a snapshot has its files, and its source goes on")
    tap.equal(two.run("echo $FROM_MAKER")[0], b"yes\n", "and its variables")
    put(two, "kept", b"two")
    tap.equal((get(server.create(templateID="mine"), "kept"), get(one, "kept")), (b"before", b"after"), "another one, by name, is another")
    other = snapshot(server, two)
    tap.equal([listed(server), listed(server, f"?sandboxID={one.id}"), listed(server, "?name=mine"), listed(server, "?name=none")],
              [[other, saved], [saved], [saved], []], "they are listed, and found")
    status, headers, page = server.ask("GET", "/snapshots?limit=1")
    tap.equal((status, [row["snapshotID"] for row in page], listed(server, f"?limit=1&nextToken={headers['X-Next-Token']}")),
              (200, [other], [saved]), "page by page")
    with one.stream("process.Process/Start", {"process": {"cmd": "/bin/sleep", "args": ["4321"]}}) as events:
        next(events)
        for what in ("snapshots", "fork"):
            status, _, body = server.ask("POST", f"/sandboxes/{one.id}/{what}", {})
            tap.ok(status == 409 and "process" in body["message"], f"{what}: what runs would be lost, and is not", (status, body))
        tap.equal(get(server.create(templateID=snapshot(server, one, memory=False)), "kept"), b"after", "files alone, where those are asked for")
    tap.equal(server.ask("DELETE", f"/sandboxes/{one.id}")[0], 204, "its source is killed")
    tap.equal(get(server.create(templateID=saved), "kept"), b"before", "and the snapshot stays")
    tap.equal([server.ask("DELETE", f"/templates/{saved}")[0] for _ in range(2)], [204, 404], "deleted, once")
    tap.equal(server.ask("POST", "/v2/sandboxes", {"templateID": saved})[0], 404, "and gone")
    tap.equal(get(two, "kept"), b"two", "what was made of it is there")


def test_forks(server, home):
    one = server.create(metadata={"k": "v"})
    put(one, "state", b"1")
    status, _, rows = server.ask("POST", f"/sandboxes/{one.id}/fork", {"count": 3, "timeout": LONG})
    forks = [Sandbox(server, row["sandbox"]) for row in rows]
    tap.equal((status, len({fork.id for fork in forks} | {one.id})), (201, 4), "three forks")
    put(forks[0], "state", b"2")
    tap.equal([get(each, "state") for each in (one, *forks)], [b"1", b"2", b"1", b"1"], "each on its own")
    tap.equal(server.ask("GET", f"/sandboxes/{forks[1].id}")[2]["metadata"], {"k": "v"}, "with its source's metadata")
    tap.equal(forks[0].ask("GET", "/files?path=state", X_Access_Token=one.token)[0], 401, "and a token of its own")
    for asked, wanted in (({"count": 0}, 400), ({"count": 21}, 400)):
        tap.equal(server.ask("POST", f"/sandboxes/{one.id}/fork", asked)[0], wanted, f"refused: {asked}")
    for each in forks:
        tap.equal(server.ask("DELETE", f"/sandboxes/{each.id}")[0], 204, "killed")
    tap.equal(server.ask("POST", f"/sandboxes/{forks[0].id}/fork", {})[0], 404, "what is gone has no fork")
    tap.ok(not {fork.id for fork in forks} & {row["name"] for row in home.rows("ls")}, "from the host, too")


def test_cold(server):
    """A pause that keeps files alone."""
    one = server.create(envVars={"FROM_MAKER": "yes"})
    path = f"/sandboxes/{one.id}"
    put(one, "kept", b"1")
    one.run("sleep 4321 >/dev/null 2>&1 &")
    tap.equal([server.ask("POST", path + "/pause", {"memory": False})[0] for _ in range(2)], [204, 409], "paused, once")
    tap.equal((server.ask("GET", path)[2]["state"], one.ask("GET", "/health")[0]), ("paused", 502), "it is")
    tap.equal(get(server.create(templateID=snapshot(server, one)), "kept"), b"1", "a snapshot of it is whole")
    status, _, again = server.ask("POST", f"/v2{path}/connect", {"timeout": LONG})
    tap.equal((status, again["envdAccessToken"] == one.token), (201, True), "connect starts it anew")
    tap.equal((get(one, "kept"), one.run("pgrep -c -f '^sleep 4321'; echo $FROM_MAKER")[0]), (b"1", b"0\nyes\n"), "with its files, without its processes")
    auto = server.create(timeout=1, autoPause=True, autoPauseMemory=False)
    put(auto, "kept", b"1")
    tap.ok(until(lambda: server.ask("GET", f"/sandboxes/{auto.id}")[2].get("state") == "paused"), "its time pauses one so")
    tap.equal(server.ask("POST", f"/sandboxes/{auto.id}/connect", {"timeout": LONG})[0], 201, "which goes on")
    tap.equal(server.ask("DELETE", path)[0], 204, "and can be killed")


def import_image(home):
    with tarfile.open(home.path + "/tiny.tar", "w") as out:
        for name in ("bin", "etc", "tmp"):
            info = tarfile.TarInfo(name)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            out.addfile(info)
        info = tarfile.TarInfo("bin/busybox")
        busybox = shutil.which("busybox")
        info.size, info.mode = os.path.getsize(busybox), 0o755
        with open(busybox, "rb") as file:
            out.addfile(info, file)
        info = tarfile.TarInfo("bin/sh")
        info.type, info.linkname = tarfile.SYMTYPE, "busybox"
        out.addfile(info)
        info = tarfile.TarInfo("etc/here")
        info.size = len(b"other\n")
        out.addfile(info, io.BytesIO(b"other\n"))
    return home.call("image", "import", home.path + "/tiny.tar")


def needs_libraries(program):
    """Whether it names the program that loads them."""
    with open(program, "rb") as file:
        return b"/ld-linux" in file.read(4096)


def test_templates(server, home):
    rows = server.ask("GET", "/templates")[2]
    tap.equal(sorted(row["templateID"] for row in rows), ["base", "code-interpreter-v1", "python"], "templates are what serve was given")
    tap.equal([server.ask("GET", f"/templates/aliases/{name}")[0] for name in ("base", "python", "shell", "tiny")], [200, 200, 404, 404],
              "and are found by name")
    tap.equal(server.ask("DELETE", "/templates/base")[0], 404, "none of them can be deleted")
    if not shutil.which("busybox"):
        tap.skip("images", "busybox is not installed")
        return
    done = import_image(home)
    tap.ok(done.returncode == 0, "an image is imported while it serves", done)
    tap.ok("tiny" in [row["templateID"] for row in server.ask("GET", "/v2/templates")[2]], "it is a template")
    if needs_libraries(os.path.join(os.path.dirname(AISBX), "aisbx-envd")):
        tap.skip("a sandbox of an image", "built with sanitizers, the program that serves it needs libraries that the image has not")
        return
    one = server.create(templateID="tiny")
    tap.equal((get(one, "/etc/here"), one.run("cat /etc/here; pwd")[0]), (b"other\n", b"other\n/home/user\n"), "a sandbox of it has its files")
    tap.equal((get(one, "/etc/hostname"), get(one, "/usr/bin/env")), (404, 404), "and none of this machine's")
    put(one, "x", b"1")
    two = server.create(templateID=snapshot(server, one))
    tap.equal((get(two, "x"), get(two, "/etc/here")), (b"1", b"other\n"), "a snapshot of one is one")
    tap.equal(home.call("run", "--root", "tiny", "--", "/bin/sh", "-c", "cat /etc/here").stdout, "other\n", "a run on it, too")
    # From a directory that is no workspace.
    done = home.call("run", "--root", "tiny", "--", "/bin/sh", "-c", "cat /etc/here; touch x", cwd="/")
    tap.equal((done.returncode, done.stdout), (0, "other\n"), "with an empty workspace")


def main():
    with Home("aisbx-e2b-copies-") as home:
        if not home.can_run(tap, "serve e2b"):
            return
        with Server(home, "--profile", "python") as server:
            test_templates(server, home)
        with Server(home) as server:
            one = server.create()
            test_home(one)
            test_notes(one)
            test_times(server, one)
            test_snapshots(server)
            test_forks(server, home)
            test_cold(server)
        tap.equal([row["name"] for row in home.rows("ls")], [], "nothing is left of any of it")


main()
sys.exit(tap.done())
