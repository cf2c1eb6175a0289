#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mcp: every tool does what its verb does, answers as its schema says, and none reaches beyond the server's ceiling.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a home of its own.
"""

import base64
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from clitest import AISBX, Home, Tap  # noqa: E402
from hostedits import SETUP, WAYS, shell  # noqa: E402
from mcpclient import Server, is_refused  # noqa: E402

tap = Tap()
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool,
         "null": type(None)}


class Checked(Server):
    """A server whose answers are held against their schemas, and whose uncalled tools are known."""

    def __init__(self, home, *flags, **kw):
        super().__init__(home, "--tools", "all", *flags, **kw)
        self.tools = {tool["name"]: tool for tool in self.result("tools/list")["tools"]}
        self.called = set()

    def call(self, tool, **arguments):
        self.called.add(tool)
        result = super().call(tool, **arguments)
        problem = mismatch(self.tools[tool]["outputSchema"], result.get("structuredContent"))
        if problem:
            tap.ok(False, f"{tool} answers as its schema says", problem)
        return result


def mismatch(schema, value):
    """Why a value is not what a schema says, as far as ours go; None when it is."""
    if not isinstance(value, dict):
        return f"not an object: {value!r}"
    for key, about in schema["properties"].items():
        kinds = about["type"] if isinstance(about["type"], list) else [about["type"]]
        if key in value and not isinstance(value[key], tuple(t for k in kinds for t in as_tuple(TYPES[k]))):
            return f"{key} is {value[key]!r}, not {kinds}"
    return None


def as_tuple(kind):
    return kind if isinstance(kind, tuple) else (kind,)


def test_table(server):
    for name, tool in server.tools.items():
        schema, answer = tool["inputSchema"], tool["outputSchema"]
        good = (schema["type"] == "object" and schema["additionalProperties"] is False
                and all(about.get("description") for about in schema["properties"].values())
                and answer["type"] == "object" and "required" not in answer
                and {"ok", "error"} <= set(answer["properties"]) and tool["description"] and tool["title"]
                and tool["annotations"]["openWorldHint"] is False
                and ("readOnlyHint" in tool["annotations"]) <= ("destructiveHint" not in tool["annotations"]))
        tap.ok(good, f"{name} is described", tool)
    wanted = """sandbox_run sandbox_create sandbox_exec sandbox_list sandbox_inspect sandbox_remove sandbox_snapshot
        sandbox_rollback sandbox_fork sandbox_diff sandbox_status sandbox_files_read sandbox_files_write
        sandbox_files_list sandbox_files_edit race gate_check artifact_save repo_commit history logs guard refresh
        stage_run stage_status task sandbox_exec_start sandbox_poll sandbox_write_stdin sandbox_kill plan_create
        promote_request""".split()
    tap.equal(set(wanted) - set(server.tools), set(), "the names agents know are there")


CORE = """sandbox_run sandbox_create sandbox_exec sandbox_files_read sandbox_files_edit sandbox_diff sandbox_snapshot
    sandbox_rollback promote_request tools_more""".split()


def test_core(server, home):
    """Ten tools are shown, in 12 KB; the others are named by one of them, and can be called all the same."""
    every = set(server.tools)
    with Server(home) as core:
        listed = core.result("tools/list")
        tap.equal({tool["name"] for tool in listed["tools"]}, set(CORE), "ten tools are shown")
        size = len(json.dumps(listed, separators=(",", ":")))
        tap.ok(size <= 12000, "in 12 KB at most", size)
        rest = core.data("tools_more")["tools"]
        tap.equal({tool["name"] for tool in rest}, every - set(CORE), "tools_more names the others")
        tap.ok(all(set(tool) == {"name", "description"} for tool in rest), "in a line each", rest[0])
        tap.equal(core.data("sandbox_list")["sandboxes"], [], "which can be called without having been asked about")
        found = core.data("tools_more", names=["sandbox_fork", "race"])["tools"]
        tap.equal({tool["name"]: tool["inputSchema"] for tool in found},
                  {name: server.tools[name]["inputSchema"] for name in ("sandbox_fork", "race")}, "with their schemas on request")
        tap.equal([note["method"] for note in core.notes], ["notifications/tools/list_changed"], "the list has changed")
        shown = {tool["name"] for tool in core.result("tools/list")["tools"]}
        tap.equal(shown, {*CORE, "sandbox_fork", "race"}, "and shows them from now on")
        core.data("tools_more", names="race")
        tap.equal(len(core.notes), 1, "asked about twice is told once")
        for names, words in ((["no-such"], "not_found"), ([5], "not_found"), (5, "list of strings"), ({"a": 1}, "list of strings")):
            tap.ok(is_refused(core.call("tools_more", names=names), words), f"names {names!r} are refused")
    with Server(home) as other:
        tap.equal(len(other.result("tools/list")["tools"]), 10, "another session has its own list")
    tap.equal(home.call("mcp", "--tools", "most").returncode, 2, "there is no other set of tools")


def test_words(server):
    """What models write: one text for a shell, name for sandbox, nulls for what they leave out."""
    tap.equal(server.data("sandbox_run", command="echo $((6*7)); echo 'a  b' | cat")["stdout"], "42\na  b\n", "a command as a text")
    tap.equal(server.data("sandbox_run", command=["echo", "$HOME;"], script=None)["stdout"], "$HOME;\n", "a list has no shell")
    tap.equal(server.data("sandbox_create", name="named")["name"], "named", "name is understood for sandbox")
    tap.equal(server.data("sandbox_exec", name="named", sandbox=None, command="echo in")["stdout"], "in\n", "in every tool")
    tap.ok(is_refused(server.call("sandbox_exec", name="named", sandbox="other", command="true"), "usage", "not both"),
           "two names are one too many")
    tap.ok(is_refused(server.call("sandbox_exec", name="../named", command="true")), "and it is held to the same rules")
    tap.equal(server.data("task", command="echo task | grep -q task")["verdict"], "pass", "a task's command as a text")
    found = server.data("race", attempts=[{"name": "a", "command": "test 1 = 1"}, {"name": "b", "command": ["false"]}])
    tap.equal(found["winner"], "a", "an attempt's command as a text")
    tap.ok(is_refused(server.call("race", attempts=[{"name": "a", "script": "true\0false"}]), "NUL"), "never with NULs")
    for script, signal in (("trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done", None),
                           ("trap '' TERM; echo up; while :; do sleep 0.05; done", 9)):
        started = server.data("sandbox_exec_start", sandbox="named", command=script)["exec_id"]
        while "up" not in server.data("sandbox_poll", exec_id=started, wait_ms=20000)["stdout"]:
            pass
        ended = server.data("sandbox_kill", exec_id=started)
        tap.ok(ended["state"] == "done" and ended["result"]["signal"] == signal
               and ("bye" in ended["stdout"]) == (signal is None), "sandbox_kill ends it: TERM, then KILL", ended)
    tap.equal(server.data("sandbox_kill", exec_id=started)["state"], "done", "twice is the same")
    server.data("sandbox_remove", name="named")


def test_small(server):
    """Answers have what a model decides by, and big output once, in head and tail, with a reference."""
    result = server.call("sandbox_run", command="echo hi")
    tap.ok(set(result["structuredContent"]) <= {"run_id", "sandbox", "status", "exit_code", "stdout", "stderr", "stdout_bytes",
                                                "stderr_bytes", "truncated", "duration_ms", "start", "changes", "isolation", "degraded"}
           and len(json.dumps(result)) < 700, "a small run has a small answer", result)
    result = server.call("sandbox_run", command="seq 1 100000; seq 1 100000 >&2")
    found = result["structuredContent"]
    tap.ok(found["truncated"] and found["log"] == f"aisbx://runs/{found['run_id']}/log" and found["stdout"].startswith("1\n2\n")
           and found["stdout"].endswith("\n100000\n") and len(json.dumps(result)) < 48000, "a big one is cut", len(json.dumps(result)))
    tap.ok("100000" in server.result("resources/read", uri=found["log"])["contents"][0]["text"], "and the rest can be read")
    result = server.call("sandbox_run", command="getent hosts no.example.org")
    tap.ok(result["structuredContent"]["denials"][0]["what"] and "--allow" not in json.dumps(result),
           "refusals name the rule, not a flag of the command line", result)


def test_runs(server, home):
    found = server.data("sandbox_run", command=["sh", "-c", "echo out; echo err >&2; exit 3"])
    tap.equal((found["status"], found["exit_code"], found["stdout"], found["stderr"]), ("error", 3, "out\n", "err\n"),
              "sandbox_run: a command's own failure")
    tap.equal(server.call("sandbox_run", command=["false"])["isError"], False, "is no error of the tool")
    found = server.data("sandbox_run", script="cat; echo $WORD; pwd", stdin="given", env={"WORD": "said"}, cwd="/usr",
                        trace_id="t-1", time="200s", mem="256m", cpu=0.5, pids=50)
    tap.equal((found["stdout"], found["trace_id"]), ("givensaid\n/usr\n", "t-1"), "stdin, env, cwd, limits, trace_id")
    found = server.data("sandbox_run", script="cat | wc -c", stdin="x" * 1000000)
    tap.equal(found["stdout"].strip(), "1000000", "a megabyte of input")
    found = server.data("sandbox_run", script="sleep 60", time="300ms")
    tap.equal((found["status"], found["exit_code"]), ("timeout", 124), "a limit of time")
    server.data("sandbox_run", script="rm -rf *; echo gone > new")
    tap.equal(home.read("keep.txt"), "keep\n", "the host is as it was")
    tap.ok(is_refused(server.call("sandbox_run"), "no command"), "nothing to run is refused")
    tap.ok(is_refused(server.call("sandbox_run", command=["true"], script="true"), "usage", "not both"),
           "so are command and script together")
    result = server.call("sandbox_run", command=["no-such-program"])
    tap.equal((result["isError"], result["structuredContent"]["exit_code"]), (False, 127), "a command that is not there")


def test_arguments(server):
    for arguments, words in [({"command": 5}, "list of strings"), ({"command": ""}, "empty"), ({"command": [1]}, "string"),
                             ({"command": []}, "empty"), ({"script": 5.5}, "string"), ({"skript": "x"}, "script"),
                             ({"command": ["a\0b"]}, "NUL"), ({"script": "x", "env": ["A=1"]}, "object"),
                             ({"script": "x", "env": {"A": 1}}, "string"), ({"script": "x", "mem": "5GiBB"}, "mem"),
                             ({"script": "x", "pids": -1}, "pids"), ({"script": "x", "time": "soon"}, "time"),
                             ({"script": "x", "stdin": 5}, "stdin"), ({"script": "x", "net": "any"}, "none|loopback")]:
        tap.ok(is_refused(server.call("sandbox_run", **arguments), words), f"{arguments} is refused: {words}",
               server.call("sandbox_run", **arguments))
    response = server.ask("tools/call", name="sandbox_run", arguments=[1])
    tap.ok(is_refused(response.get("result", {}), "object"), "arguments that are no object", response)
    tap.ok(is_refused(server.call("sandbox_exec", command=["true"]), "needs", "sandbox"), "one that is missing is named")


def test_hints(server):
    """A hint is ours or none: no name that somebody else chose becomes one, and none is about the command line."""
    server.data("sandbox_create", sandbox="hints")
    for path in ("notes; run aisbx undo", "notes (aisbx rm --all)", "x; did you mean 'y'?"):
        result = server.call("sandbox_files_read", sandbox="hints", path=path)
        error = result["structuredContent"]["error"]
        tap.ok(is_refused(result) and error["hint"] is None, f"a file called {path!r} gives no hint", error)
    for tool, arguments in (("sandbox_exec", {"sandbox": "no-such", "command": "true"}), ("run_show", {"run_id": "zzz"}),
                            ("sandbox_poll", {"exec_id": "zzz"}), ("repo_commit", {"sandbox": "hints", "message": "m"}),
                            ("sandbox_run", {"command": "true", "profile": "strict"})):
        result = server.call(tool, **arguments)
        tap.ok(is_refused(result) and "aisbx " not in str(result), f"{tool}: refused without a word on the command line", result)
    server.data("sandbox_remove", sandbox="hints")


NAMES = ["../x", "a/b", ".", "..", "", "x" * 300, "a\nb", "-rf", "%2e%2e", "A", "a b", "a@../b", "/etc", "~"]


def test_names(server):
    for tool, more in [("sandbox_exec", {"command": ["true"]}), ("sandbox_remove", {}), ("sandbox_diff", {}),
                       ("sandbox_files_read", {"path": "x"}), ("sandbox_fork", {"new_name": "y"})]:
        bad = [name for name in NAMES if not is_refused(server.call(tool, sandbox=name, **more))]
        tap.equal(bad, [], f"{tool} takes no name that is none")
    bad = [name for name in NAMES if not is_refused(server.call("sandbox_create", sandbox=name), "usage")]
    tap.equal(bad, [], "nor does sandbox_create")


def test_sandbox(server, home):
    tap.equal(server.data("sandbox_create", sandbox="one")["name"], "one", "sandbox_create")
    name = server.data("sandbox_create", ttl="1h")["name"]
    tap.ok(name.startswith("a-"), "with a name of its own where none is given", name)
    rows = server.data("sandbox_list")["sandboxes"]
    tap.equal({row["name"] for row in rows}, {"one", name}, "sandbox_list")
    tap.ok(all(row["expires"] for row in rows), "each goes some day")
    found = server.data("sandbox_exec", sandbox="one", script="echo changed >> keep.txt; echo new > new.txt")
    tap.equal(found["changes"], {"added": 1, "modified": 1, "deleted": 0}, "sandbox_exec")
    tap.equal(server.data("sandbox_exec", sandbox="one", command=["cat", "new.txt"])["stdout"], "new\n", "stays")
    tap.equal(server.data("sandbox_inspect", sandbox="one")["workspace"], home.work, "sandbox_inspect")
    result = server.call("sandbox_diff", sandbox="one")
    tap.ok("+changed" in result["content"][0]["text"] and len(result["structuredContent"]["files"]) == 2,
           "sandbox_diff", result)
    tap.equal(server.data("sandbox_status", sandbox="one")["stale"], 0, "sandbox_status")
    tap.equal(server.data("sandbox_snapshot", sandbox="one", message="first")["name"], "s1", "sandbox_snapshot")
    server.data("sandbox_exec", sandbox="one", script="rm new.txt")
    tap.equal(server.data("sandbox_rollback", sandbox="one", snapshot="s1")["snapshot"], "s1", "sandbox_rollback")
    tap.equal(server.data("sandbox_exec", sandbox="one", script="cat new.txt")["stdout"], "new\n", "brings it back")
    tap.equal(len(server.data("sandbox_snapshots", sandbox="one")["snapshots"]), 2, "sandbox_snapshots")
    found = server.data("sandbox_fork", sandbox="one", snapshot="s1", new_name="two")
    tap.equal((found["name"], found["from"], found["snapshot"]), ("two", "one", "s1"), "sandbox_fork")
    tap.ok(server.data("sandbox_inspect", sandbox="two")["expires"], "a fork goes some day, too")
    tap.equal(server.data("refresh", sandbox="two")["sandbox"], "two", "refresh")
    tap.equal(server.data("sandbox_stop", sandbox="one")["name"], "one", "sandbox_stop")
    found = server.data("sandbox_run", script="echo kept > kept.txt", keep="three")
    tap.equal(server.data("sandbox_exec", sandbox="three", script="cat kept.txt")["stdout"], "kept\n", "keep")
    for gone in ("two", "three", name):
        tap.equal(server.data("sandbox_remove", sandbox=gone)["removed"][0]["removed"], True, f"sandbox_remove {gone}")
    tap.ok(is_refused(server.call("sandbox_exec", sandbox="two", command=["true"]), "not_found"), "gone is gone")


def test_fresh(server, home):
    """A sandbox shows what the host has now, and says so where something alive inside keeps it from that."""
    server.data("sandbox_create", sandbox="fresh")
    for way, edit in WAYS.items():
        wanted = "" if way == "rm" else "new\n"
        shell(SETUP, home.work)
        tap.equal(server.data("sandbox_exec", sandbox="fresh", command="cat f")["stdout"], "old\n", f"{way}: before")
        shell(edit, home.work)
        tap.equal(server.data("sandbox_exec", sandbox="fresh", command="cat f 2>/dev/null; :")["stdout"], wanted,
                  f"{way}: the next command sees it")
        shell(SETUP, home.work)
        found = server.call("sandbox_files_read", sandbox="fresh", path="f")
        tap.equal(found.get("structuredContent", {}).get("content"), "old\n", f"{way}: files_read, before")
        shell(edit, home.work)
        found = server.call("sandbox_files_read", sandbox="fresh", path="f")
        tap.ok(is_refused(found) if way == "rm" else found["structuredContent"]["content"] == wanted,
               f"{way}: files_read sees it", found)
    shell(SETUP, home.work)
    started = server.data("sandbox_exec_start", sandbox="fresh", command="exec 3<f; echo up; sleep 1000")["exec_id"]
    while "up" not in server.data("sandbox_poll", exec_id=started, wait_ms=20000)["stdout"]:
        pass
    shell(WAYS["mv"], home.work)
    found = server.data("sandbox_exec", sandbox="fresh", command="cat f")
    tap.ok("f" in json.dumps(found.get("notes", [])) and "aisbx" not in json.dumps(found.get("notes", [])),
           "with something alive that holds it, a note names the file and no command line", found)
    server.data("refresh", sandbox="fresh", kill=True)
    tap.equal(server.data("sandbox_exec", sandbox="fresh", command="cat f")["stdout"], "new\n", "refresh mends it")
    server.data("sandbox_remove", sandbox="fresh")


def test_branch(server, home):
    """A branch per sandbox, and its commits asked for as such; what git ignores by its own word."""
    def git(*words):
        return subprocess.run(["git", *words], cwd=home.work, env=home.env, capture_output=True, text=True, check=True).stdout.strip()
    shell(SETUP, home.work)
    tap.equal(server.data("sandbox_create", sandbox="br", worktree="fix/1").get("worktree"), "fix/1", "sandbox_create worktree")
    tap.equal(server.data("sandbox_exec", sandbox="br", command="git branch --show-current")["stdout"], "fix/1\n", "is on it")
    for branch in ("-x", "a..b", ""):
        tap.ok(is_refused(server.call("sandbox_create", sandbox="br2", worktree=branch)), f"worktree {branch!r} is refused")
    tap.ok("br2" not in [row["name"] for row in server.data("sandbox_list")["sandboxes"]], "and leaves nothing")
    server.data("sandbox_exec", sandbox="br", command="echo more > f; git -c user.name=a -c user.email=b commit -qam inside; echo other > f")
    tap.ok(is_refused(server.call("promote_request", sandbox="br", commits=True), "conflict"), "while a file is not committed, they are refused")
    server.data("sandbox_exec", sandbox="br", command="git checkout -q f")
    tap.ok(is_refused(server.call("promote_request", sandbox="br", commits=True, paths=["f"]), "usage"), "commits have no paths")
    found = server.data("promote_request", sandbox="br", commits=True)
    tap.ok(found["state"] == "pending" and "refs/heads/fix/1" in found["paths"], "promote_request commits", found)
    listed = home.call("promotions").stdout
    tap.ok(found["request_id"] in listed, "a person finds it", listed)
    done = home.call("promotions", "approve", found["request_id"], "--yes")
    tap.equal((done.returncode, git("log", "-1", "--format=%s", "fix/1"), git("branch", "--show-current")), (0, "inside", "main"),
              "approved, the branch is the host's, which stays where it is")
    home.put(".gitignore", "*.o\n")
    server.data("sandbox_exec", sandbox="br", command="echo o > x.o; echo n > n.txt")
    found = server.data("promote_request", sandbox="br", paths=[])
    tap.ok("x.o" not in found["paths"] and "n.txt" in found["paths"], "what git ignores is left out", found)
    found = server.data("promote_request", sandbox="br", ignored=True)
    tap.ok("x.o" in found["paths"], "unless it is asked for", found)
    server.data("sandbox_remove", sandbox="br")


def test_files(server, home):
    text = "first line\nsecond line\nthird ☃ line\n"
    server.data("sandbox_files_write", sandbox="one", path="deep/er/file.txt", content=text)
    tap.equal(server.data("sandbox_files_read", sandbox="one", path="deep/er/file.txt")["content"], text, "write, read")
    tap.ok(not os.path.exists(home.work + "/deep"), "the host has none of it")
    found = server.data("sandbox_files_read", sandbox="one", path="deep/er/file.txt", offset=6, limit=4)
    tap.equal((found["content"], found["size"], found["truncated"]), ("line", len(text.encode()), True), "a part")
    server.data("sandbox_files_write", sandbox="one", path="nul", content="a\0b")
    tap.equal(server.data("sandbox_files_read", sandbox="one", path="nul")["size"], 3, "a NUL is content like any other")
    raw = bytes(range(256)) * 10
    server.data("sandbox_files_write", sandbox="one", path="raw", content=base64.b64encode(raw).decode(),
                encoding="base64")
    found = server.data("sandbox_files_read", sandbox="one", path="raw")
    tap.equal((found["encoding"], base64.b64decode(found["content"])), ("base64", raw), "bytes, both ways")
    found = server.data("sandbox_files_edit", sandbox="one", path="deep/er/file.txt", old="second", new="2nd")
    tap.equal(found["replaced"], 1, "edit")
    tap.ok(is_refused(server.call("sandbox_files_edit", sandbox="one", path="deep/er/file.txt", old="line", new="x"),
                      "conflict", "3 times"), "what is there more than once is asked about")
    found = server.data("sandbox_files_edit", sandbox="one", path="deep/er/file.txt", old="line", new="LINE", all=True)
    tap.equal(found["replaced"], 3, "all of them")
    tap.ok(is_refused(server.call("sandbox_files_edit", sandbox="one", path="deep/er/file.txt", old="nope", new="x"),
                      "not_found"), "what is not there")
    rows = server.data("sandbox_files_list", sandbox="one", path="deep")["entries"]
    tap.equal([(row["name"], row["type"]) for row in rows], [("er", "directory")], "list")
    for path, word in [("nowhere", "does not exist"), ("deep", "is a directory"), ("/dev/zero", "not a regular")]:
        tap.ok(is_refused(server.call("sandbox_files_read", sandbox="one", path=path), word), f"{path}: {word}")
    tap.ok(is_refused(server.call("sandbox_files_write", sandbox="one", path="deep", content="x"), "directory"),
           "a directory is not written")


def test_files_at_once(server, home):
    """Edits at the same time: none is lost, and nobody sees what a killed one left."""
    server.call("sandbox_create", sandbox="busy")
    server.call("sandbox_files_write", sandbox="busy", path="list.txt", content="".join(f"<{i}>\n" for i in range(12)))
    waiting = [server.start("tools/call", {"name": "sandbox_files_edit", "arguments": {
        "sandbox": "busy", "path": "list.txt", "old": f"<{i}>", "new": f"done {i}"}}) for i in range(12)]
    results = [server.wait(one, 200)["result"] for one in waiting]
    tap.equal([result.get("isError") for result in results], [False] * 12, "12 edits at once succeed")
    tap.equal(server.data("sandbox_files_read", sandbox="busy", path="list.txt")["content"],
              "".join(f"done {i}\n" for i in range(12)), "and none is lost")
    waiting = [server.start("tools/call", {"name": "sandbox_files_edit", "arguments": {
        "sandbox": "busy", "path": "list.txt", "old": "done 0\n", "new": f"won {i}\n"}}) for i in range(4)]
    results = [server.wait(one, 200)["result"] for one in waiting]
    tap.equal(sorted(bool(result.get("isError")) for result in results), [False, True, True, True],
              "of four that replace the same, one wins and three are told")
    home.call("exec", "busy", "--", "sh", "-c", "mkdir sub; echo x > sub/f; mkfifo sub/slow")
    writer = subprocess.Popen([AISBX, "files", "write", "busy", "sub/f"], cwd=home.work, env=home.env, stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    writer.stdin.write(b"y" * (40 << 20))
    writer.stdin.close()
    deadline = time.monotonic() + 60
    while writer.poll() is None and time.monotonic() < deadline:
        found = home.call("exec", "busy", "--", "sh", "-c", "ls sub/.aisbx-* 2>/dev/null").stdout
        if found:
            writer.kill()
    writer.wait()
    left = home.call("exec", "busy", "--", "sh", "-c", "ls sub/.aisbx-* 2>/dev/null").stdout
    server.call("sandbox_files_write", sandbox="busy", path="other.txt", content="o")
    names = [row["name"] for row in server.data("sandbox_files_list", sandbox="busy", path="sub")["entries"]]
    tap.ok(not any(name.startswith(".aisbx-") for name in names), "the next write clears up after a killed one", (left, names))
    tap.ok(server.data("sandbox_files_read", sandbox="busy", path="sub/f", limit=4)["content"] in ("x\n", "yyyy"),
           "and the file is whole")
    server.call("sandbox_remove", sandbox="busy")


def test_files_stay_inside(server, home):
    secret = home.path + "/.ssh"
    os.makedirs(secret, exist_ok=True)
    with open(secret + "/id_rsa", "w") as file:
        file.write("the secret key")
    os.symlink(secret + "/id_rsa", home.work + "/link")
    for path in ("link", secret + "/id_rsa", "../.ssh/id_rsa", "/proc/1/root" + secret + "/id_rsa"):
        result = server.call("sandbox_files_read", sandbox="one", path=path)
        tap.ok("the secret key" not in str(result), f"{os.path.basename(path)}: a credential is not read", result)
    found = server.call("sandbox_files_read", sandbox="one", path="/proc/self/environ")
    tap.ok("MCP_CANARY" not in str(found), "nor the server's environment", found)
    server.call("sandbox_files_write", sandbox="one", path="/etc/aisbx-canary", content="x")
    server.call("sandbox_files_write", sandbox="one", path="../../../../etc/aisbx-canary", content="x")
    tap.ok(not os.path.exists("/etc/aisbx-canary"), "nothing is written outside")
    os.unlink(home.work + "/link")


def test_more(server, home):
    found = server.data("race", attempts=[{"name": "good", "script": "echo 1 > r"},
                                          {"name": "bad", "command": ["sh", "-c", "exit 1"]},
                                          {"name": "quoted", "command": ["sh", "-c", "echo \"it's $0\" > q", "a b"]}],
                        check="test -f r", prefer="small", time="200s")
    tap.equal(found["winner"], "good", "race")
    sandbox = next(one["sandbox"] for one in found["attempts"] if one["name"] == "quoted")
    tap.equal(server.data("sandbox_files_read", sandbox=sandbox, path="q")["content"], "it's a b\n",
              "words of a command arrive as they are")
    tap.equal(server.data("race", attempts=[{"name": "x", "script": "false"}])["winner"], None, "a race nobody wins")
    found = server.data("race", attempts=[{"name": "x", "script": "test -f raw"}], sandbox="one")
    tap.equal(found["winner"], "x", "a race from a sandbox")
    found = server.data("gate_check", sandbox="one", gates=["diff.files<=0"])
    tap.equal((found["verdict"], found["gates"][0]["holds"]), ("fail", False), "gate_check")
    found = server.data("task", script="echo t > t", tests=["test -f t"], gates=["diff.files<=1"])
    tap.equal((found["verdict"], found["tests"][0]["status"]), ("pass", "success"), "task")
    home.put("Makefile", "test:\n\t@echo tested\n")
    tap.equal(server.data("task", intent="test")["run"]["stdout"], "tested\n", "task: what the project says")
    tap.ok(server.data("guard", command=["ls", "-l"])["decision"] in ("direct", "sandbox"), "guard: on a busy machine a sandbox")
    if not is_refused(server.call("scan", content="1", lang="python")):
        tap.equal(server.data("scan", content="import os; os.system('rm -rf /')", lang="python")["analysable"], True, "scan")
        for path in ("/etc/passwd", "../..", home.path + "/.ssh", "nowhere"):
            tap.ok(is_refused(server.call("scan", path=path), "not in the workspace"), f"scan {path}: not in the workspace")
        tap.ok("risk" in server.data("scan", path="Makefile"), "a file of the workspace")
    found = server.data("artifact_save", sandbox="one", paths=["raw"])
    tap.equal(found["artifacts"][0]["path"], "raw", "artifact_save")
    run = server.data("sandbox_run", script="echo logged; echo also >&2", trace_id="find-me")["run_id"]
    rows = server.data("history", trace_id="find-me")["runs"]
    tap.equal([row["run_id"] for row in rows], [run], "history")
    tap.ok(run in [row["run_id"] for row in server.data("search", words="logged also")["found"]], "search")
    tap.equal(server.data("run_show", run_id=run)["run_id"], run, "run_show")
    text = "".join(piece["text"] for piece in server.data("logs", run_id=run)["pieces"])
    tap.ok("logged\n" in text and "also\n" in text, "logs", text)
    tap.equal(server.data("stage_status")["bundles"], [], "stage_status")
    tap.ok(is_refused(server.call("stage_run", sandbox="one")), "stage_run without a pipeline says so")
    tap.ok(is_refused(server.call("repo_commit", sandbox="one", message="m")), "repo_commit of nothing says so")


def test_background(server):
    found = server.data("sandbox_exec_start", sandbox="one",
                        script="echo ready; read line; echo got $line; echo bad >&2; sleep 600")
    run = found["exec_id"]
    tap.ok(len(run) == 26, "sandbox_exec_start", found)
    found = server.data("sandbox_poll", exec_id=run, wait_ms=20000)
    tap.equal((found["state"], found["stdout"], found["stdout_offset"]), ("running", "ready\n", 6), "sandbox_poll")
    found = server.data("sandbox_write_stdin", exec_id=run, content="word\n", offset=6, wait_ms=20000)
    tap.equal((found["stdout"], found["input_bytes"]), ("got word\n", 5), "sandbox_write_stdin")
    found = server.data("sandbox_kill", exec_id=run, signal="KILL", wait_ms=20000, offset=15)
    while found["state"] != "done":
        found = server.data("sandbox_poll", exec_id=run, wait_ms=20000, offset=found["stdout_offset"],
                            stderr_offset=found["stderr_offset"])
    tap.equal((found["state"], found["result"]["status"]), ("done", "killed"), "sandbox_kill")
    for bad in ("nope", "../../etc/passwd", "", run[:-1] + ("1" if run[-1] == "0" else "0")):
        tap.ok(is_refused(server.call("sandbox_poll", exec_id=bad)), f"no command {bad!r}")
    with Server(server.home, "--owner", "stranger") as other:
        for tool, more in (("sandbox_poll", {}), ("sandbox_write_stdin", {"content": "x"}), ("sandbox_kill", {"signal": "TERM"})):
            tap.ok(is_refused(other.call(tool, exec_id=run, **more), "not_found"), f"{tool}: not for another owner")


def test_steps(server):
    found = server.data("plan_create", sandbox="one", steps=["reproduce it", "fix it"])
    tap.equal([step["text"] for step in found["steps"]], ["reproduce it", "fix it"], "plan_create")
    found = server.data("plan_update", sandbox="one", done=[1], add=["tell"])
    tap.equal([step["done"] for step in found["steps"]], [True, False, False], "plan_update")
    tap.ok(is_refused(server.call("plan_update", sandbox="one", done=["x"])), "a step that is no number is refused")


def test_ceiling(server, home):
    for more in [{"mem": "900g"}, {"allow": ["example.org:443"]}, {"net": "allow"}, {"pids": 100000}, {"time": "9h"},
                 {"disk": "900g"}, {"profile": "open"}, {"profile": "/etc/passwd"}, {"cpu": 4000}]:
        if "cpu" not in more:
            tap.ok(is_refused(server.call("sandbox_run", script="true", **more), "denied"), f"sandbox_run {more}: refused",
                   server.call("sandbox_run", script="true", **more))
        for tool, rest in [("sandbox_create", {"sandbox": "wide"}), ("task", {"script": "true"}),
                           ("race", {"attempts": [{"name": "x", "script": "true"}]})]:
            if "cpu" in more:
                continue
            result = server.call(tool, **rest, **more)
            refused = is_refused(result, "denied") or (
                tool == "race" and "profile allows" in str(result["structuredContent"]["attempts"]))
            tap.ok(refused, f"{tool} {more}: refused", result)
    for more in [{"ro": "/:/host"}, {"rw": "/:/host"}, {"mounts": []}, {"driver": "chroot"}, {"workspace": "/"},
                 {"rw_through": "/:/h"}, {"secret": "a=/etc/passwd"}, {"pass_env": "HOME"}, {"network": "any"},
                 {"settings": "x"}, {"batch": "-"}, {"allow_degraded": "seccomp"}, {"home": "full"}, {"json": False}]:
        for tool, rest in [("sandbox_run", {"script": "true"}), ("sandbox_create", {"sandbox": "wide"}),
                           ("task", {"script": "true"}), ("race", {"attempts": [{"name": "x", "script": "true"}]})]:
            if not is_refused(server.call(tool, **rest, **more), "no argument"):
                tap.ok(False, f"{tool} has no argument {list(more)[0]}")
    tap.ok(True, "no tool takes mounts, drivers, secrets, another workspace or weaker walls")
    tap.ok(is_refused(server.call("sandbox_exec", sandbox="wide", command=["true"]), "not_found"), "nothing was made")
    found = server.data("sandbox_exec", sandbox="one", script="sleep 0.1", time="9h")
    tap.equal(found["status"], "success", "a longer time for exec changes nothing")


def test_owners(home):
    home.call("create", "mine")
    gates = ("--promote-policy", "gates", "--owner")
    with Checked(home, *gates, "first") as first, Checked(home, *gates, "second") as second:
        first.call("sandbox_create", sandbox="ours")
        tap.equal([row["name"] for row in second.data("sandbox_list")["sandboxes"]], [], "a server sees its owner's only")
        for name in ("ours", "mine"):
            for tool, more in [("sandbox_exec", {"command": ["true"]}), ("sandbox_remove", {}), ("sandbox_inspect", {}),
                               ("sandbox_diff", {}), ("sandbox_fork", {"new_name": "stolen"}), ("sandbox_stop", {}),
                               ("sandbox_files_read", {"path": "x"}), ("gate_check", {"gates": ["cmd:true"]}),
                               ("artifact_save", {"paths": ["x"]}), ("repo_commit", {"message": "m"}),
                               ("stage_run", {}), ("sandbox_snapshot", {}), ("sandbox_rollback", {}),
                               ("race", {"attempts": [{"name": "x", "script": "true"}]})]:
                result = second.call(tool, sandbox=name, **more)
                tap.ok(is_refused(result, "not_found"), f"{tool}: {name} is not there for another owner", result)
        run = first.data("sandbox_run", script="echo private")["run_id"]
        home.call("run", "--", "echo", "personal")
        mine = home.rows("history", "-n", "1")[0]["run_id"]
        for one in (run, mine):
            for tool in ("logs", "run_show"):
                tap.ok(is_refused(second.call(tool, run_id=one), "not_found"), f"{tool}: another's run is not there")
        tap.equal(second.data("history")["runs"], [], "history: nor is it listed")
        tap.ok(run not in [row["run_id"] for row in second.data("search", words="echo true sh exit")["found"]], "search: nor is it found")
        tap.equal([row["run_id"] for row in first.data("history", count=1)["runs"]], [run], "its owner sees it")
        with Checked(home, "--owner", "first") as again:
            tap.equal(again.data("sandbox_inspect", sandbox="ours")["name"], "ours", "its owner finds it again")
        with Checked(home, "--all") as everything:
            seen = {row["name"] for row in everything.data("sandbox_list")["sandboxes"]}
            tap.ok({"mine", "ours"} <= seen, "--all sees everybody's", seen)
        first.call("sandbox_remove", sandbox="ours")
    home.call("rm", "mine")


def test_count(home):
    with Server(home, "--owner", "many") as server:
        for i in range(100):
            server.data("sandbox_create", sandbox=f"n{i}")
        tap.ok(is_refused(server.call("sandbox_create", sandbox="n100"), "denied", "100"), "an owner has at most 100")
        tap.ok(is_refused(server.call("sandbox_fork", sandbox="n1", new_name="n100"), "denied", "100"), "forks as well")
        home.call("rm", *[f"n{i}" for i in range(100)])
        tap.equal(server.data("sandbox_create", sandbox="n100")["name"], "n100", "and may make others then")
        server.call("sandbox_remove", sandbox="n100")


def test_profile(home):
    strict = home.path + "/mine.yaml"
    with open(strict, "w") as file:
        file.write("name: mine\nextends: default\nnet: allow\nallow: [\"example.org:443\"]\nmem: 300m\n")
    with Checked(home, "--profile", strict, "--profile", "strict") as server:
        choices = server.tools["sandbox_run"]["inputSchema"]["properties"]["profile"]["enum"]
        tap.equal(choices, [strict, "strict"], "the profiles of the server are offered")
        tap.ok(is_refused(server.call("sandbox_run", script="true", mem="400m"), "denied", "mem"), "its limits hold")
        tap.ok(is_refused(server.call("sandbox_run", script="true", allow=["example.net:443"]), "denied"), "its rules hold")
        tap.equal(server.data("sandbox_run", script="true", allow=["example.org:443"])["status"], "success",
                  "what it allows may be said")
        tap.equal(server.data("sandbox_run", script="true", net="none", mem="200m")["status"], "success", "less as well")
        tap.equal(server.data("sandbox_run", script="true", profile="strict")["status"], "success", "and chosen")
        server.data("sandbox_create", sandbox="narrow", mem="200m")
        done = subprocess.run(["sh", "-c", f"sed -i 's/mem: 300m/mem: 100m/' {strict}"], check=False)
        tap.ok(done.returncode == 0 and is_refused(server.call("sandbox_exec", sandbox="narrow", script="true"),
                                                   "changed since"), "the profile is the one of the server's start")
    with Checked(home, "--all", "--profile", strict) as server:
        tap.ok(is_refused(server.call("sandbox_exec", sandbox="narrow", script="true"), "mem"),
               "a kept sandbox is held to the profile at each start")
        server.call("sandbox_remove", sandbox="narrow")


with Home("mcp-tools-") as home:
    home.env["MCP_CANARY"] = "of the server"
    home.put("keep.txt", "keep\n")
    with Checked(home) as server:
        test_table(server)
        test_core(server, home)
        test_runs(server, home)
        test_arguments(server)
        test_names(server)
        test_sandbox(server, home)
        test_files(server, home)
        test_files_at_once(server, home)
        test_files_stay_inside(server, home)
        test_more(server, home)
        test_background(server)
        test_steps(server)
        test_words(server)
        test_small(server)
        test_hints(server)
        server.call("promote_request", sandbox="one", paths=["no-such"])
        server.call("promotion_list")
        test_ceiling(server, home)
        tap.equal(set(server.tools) - server.called, set(), "every tool was called")
    test_owners(home)
    test_count(home)
    test_profile(home)
    with Checked(home) as server:
        test_fresh(server, home)
        test_branch(server, home)
sys.exit(tap.done())
