#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""secret: named credentials, encrypted at rest, given to runs by name, and found nowhere else.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a home of its own.
"""
import base64
import json
import os
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import patience  # noqa: E402
from clitest import AISBX, Home, Tap, refused  # noqa: E402

tap = Tap()
# Another one in each process: suites that run at the same time have it in the command lines of their sandboxes.
VALUE = f"CANARY-s3cr3t-Value/42+{os.getpid():07}"


def config(home, name=""):
    return os.path.join(home.path, ".config/aisbx", name)


def store(home, name, value=VALUE, *flags):
    return home.call("secret", "set", name, *flags, stdin=value)


def holds(home, value=VALUE):
    """Files below the home that hold the value in clear."""
    found = subprocess.run(["grep", "-rlasF", "-e", value, home.path], capture_output=True, text=True, check=False)
    return found.stdout.split()


def length(home, name):
    """How long the value is that a run gets: what is stored, without showing it."""
    done = home.call("run", "--secret", name, "--", "sh", "-c", f"wc -c < /run/secrets/{name}")
    return done.stdout.strip() if done.returncode == 0 else done.stderr


def test_verbs(home):
    tap.equal(home.rows("secret", "ls"), [], "none at first, and no file is made")
    tap.ok(not os.path.exists(config(home, "secrets")), "none is made by looking")
    done = store(home, "tok")
    tap.ok(done.returncode == 0 and done.stdout == "set tok\n", "set", done)
    rows = home.rows("secret", "ls")
    tap.ok([(r["name"], r["scopes"], r["last_used"]) for r in rows] == [("tok", [], None)] and rows[0]["set"], "ls as data", rows)
    shown = home.call("secret", "ls").stdout
    tap.ok("tok" in shown and "everywhere" in shown and VALUE not in shown, "ls as a table, without a value", shown)
    for name in ("secrets", "secrets.key"):
        tap.equal(os.stat(config(home, name)).st_mode & 0o7777, 0o600, f"{name} is the user's alone")
    tap.equal(holds(home), [], "it is nowhere in clear")
    for name in ("../x", "", "a b", "1x", "a/b", "x" * 65, "a\nb", "$x", "ä"):
        tap.ok(refused(home.call("secret", "set", name, stdin=VALUE), 2), f"the name {name!r} is refused")
    for value, why in (("", "empty"), ("1234567", "8 bytes"), ("1234567\n\n\n", "8 bytes"), ("x" * 65537, "64 KiB")):
        tap.ok(refused(store(home, "bad", value), 2, why), f"a value of {len(value)} bytes is refused")
    tap.ok(refused(home.call("secret", "set"), 2) and refused(home.call("secret", "frob"), 2, "show-use") and
           refused(home.call("secret", "rm", "none"), 5, "secret ls") and
           refused(home.call("secret", "ls", "--passphrase"), 2, "secret set"), "wrong words")
    tap.ok(store(home, "bytes", "\0" * 8 + "12345678").returncode == 0, "any bytes can be a value")
    tap.ok(refused(home.call("run", "--secret-env", "V=bytes", "--", "true"), 125, "null byte"), "but not a variable")
    tap.equal(home.call("secret", "rm", "bytes").returncode, 0, "rm")
    tap.equal([r["name"] for r in home.rows("secret", "ls")], ["tok"], "and it is gone")


def test_terminal(home):
    seen, code = home.on_terminal("secret", "set", "typed", typed=[(b"not shown", b"typed-VALUEx\x7f1\r")])
    tap.ok(code == 0 and b"VALUE" not in seen, "a value typed on a terminal is not shown", seen)
    tap.equal(length(home, "typed"), "12", "and is what was typed")
    seen, code = home.on_terminal("secret", "set", "typed", typed=[(b"not shown", b"abc\x03")])
    tap.ok(code == 2, "^C ends the question", seen)
    home.call("secret", "rm", "typed")


CODED = "cat F; echo; base64 <F; od -An -tx1 <F | tr -d ' \\n'; echo; rev <F | rev; echo \"var $V\"; echo $V >&2"


def test_given(home):
    script = "wc -c </run/secrets/tok; stat -c %a /run/secrets/tok; " + CODED.replace("F", "/run/secrets/tok")
    done = home.call("run", "--secret", "tok", "--secret-env", "V=tok", "--", "sh", "-c", script)
    tap.ok(done.returncode == 0 and done.stdout.startswith(f"{len(VALUE)}\n400\n"), "a run gets it", done)
    coded = [VALUE, base64.b64encode(VALUE.encode()).decode()[:20], VALUE.encode().hex()]
    tap.ok(not any(c in done.stdout + done.stderr for c in coded) and "var [secret tok]" in done.stdout, "and shows none of it", done)
    run = json.loads(home.call("run", "--json", "--secret", "tok", "--", "cat", "/run/secrets/tok").stdout)
    tap.equal(run.get("stdout"), "[secret tok]", "as data")
    uses = home.rows("secret", "show-use", "tok")
    tap.ok(uses and uses[0]["run_id"] == run["run_id"] and {u["as"] for u in uses} == {"file", "variable"}, "show-use names the runs", uses)
    tap.equal(home.rows("secret", "ls")[0]["last_used"], uses[0]["time"], "ls tells when it was used last")
    home.call("create", "s", "--secret", "tok")
    done = home.call("exec", "s", "--secret-env", "V=tok", "--", "sh", "-c", "wc -c </run/secrets/tok; echo $V; echo ${#V}")
    tap.equal(done.stdout, f"{len(VALUE)}\n[secret tok]\n{len(VALUE)}\n", "a named sandbox has it, and one command more")
    done = home.call("exec", "s", "--", "sh", "-c", "echo ${V-none}; ls /run/secrets")
    tap.equal(done.stdout, "none\ntok\n", "the variable was that command's alone")
    started = json.loads(home.call("exec", "--json", "-d", "s", "--secret-env", "V=tok", "--", "sh", "-c", "echo $V ${#V}").stdout)
    poll = home.data("poll", started.get("exec_id", ""), "--wait", "30s")
    for _ in range(100):
        if poll.get("stdout") or poll.get("status") not in (None, "running"):
            break
        poll = home.data("poll", started.get("exec_id", ""), "--wait", "1s")
    tap.equal(poll.get("stdout"), f"[secret tok] {len(VALUE)}\n", "a background command, too")
    home.call("rm", "s")
    done = home.call("try", "-n", "--secret-env", "V=tok", "--", "sh", "-c", "echo ${#V} > len")
    tap.ok(done.returncode == 0, "try", done)
    race = home.data("race", "--secret", "tok", "-c", "a=test $(wc -c </run/secrets/tok) = %d" % len(VALUE))
    tap.equal(race.get("winner"), "a", "race")
    os.makedirs(config(home, "profiles"), exist_ok=True)
    with open(config(home, "profiles/given.yaml"), "w") as out:
        out.write("name: given\nextends: default\nsecret: [tok]\nsecret_env: {V: tok}\n")
    done = home.call("run", "--profile", "given", "--", "sh", "-c", "echo ${#V} $(wc -c </run/secrets/tok)")
    tap.equal(done.stdout, f"{len(VALUE)} {len(VALUE)}\n", "a profile names it")
    tap.ok(refused(home.call("run", "--secret", "nope", "--", "true"), 125, "nope") and
           refused(home.call("run", "--secret-env", "V=", "--", "true"), 125) and
           refused(home.call("run", "--secret-env", "V=../x", "--", "true"), 125) and
           refused(home.call("create", "t", "--secret", "nope"), 5, "nope"), "what is not there is refused")
    tap.equal(home.rows("ls"), [r for r in home.rows("ls") if r["name"] != "t"], "and nothing was made")
    line = json.dumps({"command": ["true"], "secret": ["tok"]}) + "\n"
    done = home.call("run", "--batch", "-", stdin=line)
    tap.ok(done.returncode == 1 and "narrow" in done.stdout, "a line of a batch does not open one", done)
    plan = home.call("plan", "--json", "--secret", "tok", "--secret-env", "V=tok", "--", "true")
    tap.ok(plan.returncode == 0 and VALUE not in plan.stdout and "tok" in plan.stdout, "a plan has the name only", plan)
    tap.equal(holds(home), [], "no file of the history, the logs or the store has it in clear")


def test_left_behind(home):
    """What one command was given, in files that others print."""
    own = VALUE[::-1]
    path = home.put("../own-secret", own, 0o600)
    home.call("create", "left")
    done = home.call("exec", "left", "--secret", "tok", "--secret", f"own={path}", "--secret-env", "V=tok", "--", "sh", "-c",
                     "cat /run/secrets/tok > a; base64 </run/secrets/own > b; echo $V > c; ls /run/secrets")
    tap.equal(done.stdout, "own\ntok\n", "one command is given three")
    show = ["--", "sh", "-c", "cat a b c; ls /run/secrets"]
    done = home.call("exec", "left", *show)
    tap.equal(done.stdout.replace("\n", ""), "[secret tok][secret own][secret tok]", "the next one shows none of them")
    done = json.loads(home.call("exec", "--json", "left", "--secret", f"own={home.put('../another', 'x' * 20)}", *show).stdout)
    tap.ok(VALUE not in done["stdout"] and base64.b64encode(own.encode()).decode()[:24] not in done["stdout"],
           "nor one that has another of the same name", done)
    home.call("stop", "left")
    tap.ok("[secret own]" in home.call("exec", "left", *show).stdout, "also after a stop")
    home.call("fork", "left", "copied")
    tap.ok(VALUE not in home.call("exec", "copied", *show).stdout, "nor in a fork")
    done = home.call("promote", "left", "b")
    tap.ok(done.returncode != 0 and "own" in done.stderr and not os.path.exists(os.path.join(home.work, "b")), "promotion refuses it", done)
    tap.equal(holds(home, own), [os.path.realpath(path)], "only the words are kept")
    home.call("rm", "left", "copied")


def test_scopes(home):
    other = home.path + "/other"
    os.mkdir(other)
    store(home, "here", VALUE, "--workspace", home.work)
    tap.equal((length(home, "here"), home.call("run", "-C", other, "--secret", "here", "--", "true", cwd=other).returncode),
              (str(len(VALUE)), 125), "a secret of one workspace is not another's")
    store(home, "here", "another-Value-1234")
    tap.equal(home.call("run", "-C", other, "--secret", "here", "--", "true", cwd=other).returncode, 125, "a new value keeps the scopes")
    store(home, "strict", VALUE, "--profile", "strict")
    tap.equal([home.call("run", *p, "--secret", "strict", "--", "true").returncode for p in ((), ("--profile", "strict"))],
              [125, 0], "a secret of one profile is not another's")
    for name, flags in (("loose", ()), ("tight", ("--profile", "strict"))):
        home.call("create", *flags, name)
    calls = [home.call("exec", *how, sandbox, "--", "true") for how in (("--secret", "strict"), ("--secret-env", "V=strict"),
             ("--detach", "--secret", "strict")) for sandbox in ("loose", "tight")]
    tap.equal([done.returncode for done in calls], [125, 0] * 3, "a flag of exec is held to the profile of the sandbox")
    tap.ok("only for the profile strict" in calls[0].stderr, "and names it", calls[0])
    home.call("exec", "loose", "--", "true")
    tap.equal(home.call("exec", "--secret", "strict", "loose", "--", "true").returncode, 125, "in one that runs as well")
    home.call("rm", "--force", "loose", "tight")
    store(home, "hosted", VALUE, "--host", "API.example.org")
    tap.ok(refused(home.call("run", "--secret", "hosted", "--", "true"), 125, "api.example.org"), "one for a host is given to no sandbox")
    tap.ok(refused(store(home, "x", VALUE, "--workspace", "/nonexistent"), 2) and refused(store(home, "x", VALUE, "--host", "a b"), 2),
           "scopes that are none are refused")
    for name in ("here", "strict", "hosted"):
        home.call("secret", "rm", name)


def test_inside(home):
    """A sandbox reads neither the store nor its key, whatever of the home it is shown."""
    control = subprocess.run(["cat", config(home, "secrets.key")], capture_output=True, check=False)
    tap.equal((control.returncode, len(control.stdout)), (0, 45), "control: outside it can be read")
    for flags in ((), ("--home", "full"), ("-C", home.path)):
        done = home.call("run", *flags, "--secret", "tok", "--", "sh", "-c", 'cat "$1"/secrets "$1"/secrets.key; ls -d "$1"/*', "sh", config(home))
        tap.ok("secrets" not in done.stdout and not set(control.stdout.decode().split()) & set(done.stdout.split()),
               f"masked with {flags}", done)
    if os.geteuid() == 0:
        done = subprocess.run(["cat", config(home, "secrets.key"), config(home, "secrets")], capture_output=True, check=False, user=65534, group=65534)
        tap.ok(done.returncode != 0 and not done.stdout, "another user cannot read it", done)
    else:
        tap.skip("another user", "only root can be another one")


# A sanitizer's shadow of the address space, which holds no data, is larger by far.
SHADOW_BYTES = 1 << 30


def mappings(pid):
    """The memory of a process: (bytes, flags) of each mapping that can be read."""
    with open(f"/proc/{pid}/smaps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        span = None
        for line in maps:
            first = line.split()[0]
            if not first.endswith(":"):
                span = [int(x, 16) for x in first.split("-")] if line.split()[1][0] == "r" else None
            elif first == "VmFlags:" and span and span[1] - span[0] < SHADOW_BYTES:
                try:
                    memory.seek(span[0])
                    yield memory.read(span[1] - span[0]), line.split()[1:]
                except (OSError, ValueError, OverflowError):
                    pass


def test_processes(home):
    """While a command has it: no argument list, no environment but the command's own, no memory that a core file would hold."""
    child = subprocess.Popen([AISBX, "run", "--secret", "tok", "--secret-env", "V=tok", "--", "sh", "-c", "echo up; exec sleep 300"],
                             stdout=subprocess.PIPE, text=True, cwd=home.work, env=home.env)
    child.stdout.readline()
    own, found, looked = os.readlink("/proc/self/ns/pid"), [], 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            for name in ("cmdline", "environ"):
                with open(f"/proc/{pid}/{name}", "rb") as file:
                    if VALUE.encode() in file.read() and (name == "cmdline" or os.readlink(f"/proc/{pid}/ns/pid") == own):
                        found.append((pid, name))
            looked += 1
        except OSError:
            pass
    tap.ok(looked > 1 and not found, "no argument list, and no environment outside", found)
    try:
        places = [flags for bytes_, flags in mappings(child.pid) if VALUE.encode() in bytes_]
        tap.ok(places and all("dd" in flags for flags in places), "what the supervisor holds is in no core file", places)
    except PermissionError:
        tap.skip("what the supervisor holds", "this user cannot look into it at all")
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()


def test_promoted(home):
    """What holds a secret stays in the sandbox, whatever the way out, and all else goes."""
    coded = [VALUE, base64.b64encode(VALUE.encode()).decode(), VALUE.encode().hex(), "".join(f"\\x{b:02x}" for b in VALUE.encode())]
    home.put("kept", "old\n")
    home.call("create", "p")
    for i, text in enumerate(coded):
        home.call("exec", "p", "--", "sh", "-c", f"echo clean > clean{i}; printf '%s\\n' \"$(cat)\" > kept", stdin="x" * 300000 + "\nkey=" + text)
        done = home.call("promote", "p")
        tap.ok(refused(done, 4, "kept", "tok") and home.read("kept") == "old\n" and VALUE not in done.stderr, f"coding {i} is not promoted", done)
    tap.ok(refused(home.call("promote", "p", "--dry-run"), 4, "tok"), "nor tried")
    done = home.call("promote", "p", "clean0")
    tap.ok(done.returncode == 0 and home.read("clean0") == "clean\n", "what is clean is promoted", done)
    gate = home.data("gate", "check", "p", "no-secrets")
    tap.ok(gate.get("verdict") == "fail" and "tok" in gate["gates"][0]["evidence"] and VALUE not in str(gate), "the gate says so", gate)
    tap.ok(refused(home.call("artifact", "save", "p", "kept"), 4, "tok") and refused(home.call("artifact", "save", "p", "."), 4, "tok"), "no artifact")
    tap.equal(home.rows("artifact", "ls"), [], "is kept")
    with open(config(home, "pipeline.yaml"), "w") as out:
        out.write("stages:\n  - {name: dev, target: .}\n")
    staged = home.call("stage", "run", "p", "-f", config(home, "pipeline.yaml"))
    tap.ok(staged.returncode != 0 and "tok" in staged.stderr, "no bundle is staged", staged)
    tap.equal(holds(home, "key=" + coded[1]), [], "nothing of it came into the store of contents")
    home.call("exec", "p", "--", "sh", "-c", "rm kept; ln -s \"$(cat)\" kept", stdin=VALUE)
    tap.ok(refused(home.call("promote", "p", "--allow-path", "kept"), 4, "tok"), "a link's target counts")
    home.call("exec", "p", "--", "sh", "-c", "rm kept; echo fine > kept; touch \"$(cat | tr / _)\"", stdin=VALUE)
    home.call("secret", "set", "named", stdin=VALUE.replace("/", "_"))
    done = home.call("promote", "p")
    tap.ok(refused(done, 4, "the name of a file", "named") and "_42" not in done.stderr, "a name counts, and is not shown", done)
    home.call("secret", "rm", "named")
    done = home.call("promote", "p", "--gate", "no-secrets")
    tap.ok(done.returncode == 0 and home.read("kept") == "fine\n", "without it all is promoted, the gate too", done)
    home.call("rm", "p")
    done = home.call("try", "-y", "--secret", "tok", "--", "sh", "-c", "echo once >> count; cp /run/secrets/tok leaked")
    tap.ok(done.returncode != 0 and not os.path.exists(home.work + "/leaked"), "try applies nothing", done)
    done = home.call("run", "--write", "workspace", "--secret", "tok", "--", "sh", "-c", "cat /run/secrets/tok > leaked; sleep 1")
    tap.ok(not os.path.exists(home.work + "/leaked"), "--write writes nothing", done)
    runs = [r for r in home.rows("history") if "cat /run/secrets/tok > leaked" in str(r["command"])]
    tap.equal(len(runs), 1, "and the command ran once")
    own = home.put("own-key", "a file of mine, 42 bytes\n", 0o600)
    home.call("create", "f", "--secret", f"MINE={own}")
    home.call("exec", "f", "--", "sh", "-c", "cat /run/secrets/MINE > copied")
    tap.ok(refused(home.call("promote", "f"), 4, "MINE"), "a secret that is a file counts as well")
    home.call("rm", "f")


def mcp_diff(home, script):
    """What a server of the profile that names it answers about the changes of a command."""
    calls = [("sandbox_create", {}), ("sandbox_exec", {"command": ["sh", "-c", script]}), ("sandbox_diff", {})]
    lines = [("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})]
    lines += [("tools/call", {"name": tool, "arguments": {"sandbox": "m", **more}}) for tool, more in calls]
    server = subprocess.Popen([AISBX, "mcp", "--profile", "given"], cwd=home.work, env=home.env, text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    answers = []
    for i, (method, params) in enumerate(lines):
        server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": i, "method": method, "params": params}) + "\n")
        server.stdin.flush()
        answers.append(server.stdout.readline())
    server.communicate()
    return answers


def test_shown(home):
    """Diffs and lists of changes show contents and names without it."""
    name = VALUE.replace("/", "_")
    before = set(holds(home, name))  # test_promoted promoted it; some of that is on its way out
    store(home, "named", name)
    script = 'cd . && cat /run/secrets/tok > content && base64 -w0 /run/secrets/tok > coded && touch "$(cat /run/secrets/named).txt"'
    flags = ("--secret", "tok", "--secret", "named")
    for extra in ((), ("--json",)):
        done = home.call("run", *extra, "--name-status", *flags, "--", "sh", "-c", script)
        tap.ok(done.returncode == 0 and name not in done.stdout + done.stderr and "[secret named].txt" in done.stdout + done.stderr,
               f"a run's list of changes {extra}", done)
    tap.equal(set(holds(home, name)) - before, set(), "and the record of it")
    home.call("create", "d", *flags)
    home.call("exec", "d", "--", "sh", "-c", script)
    coded = base64.b64encode(VALUE.encode()).decode()
    for form in ((), ("--json",), ("--patch", "--json"), ("--name-status",), ("--name-status", "-z"), ("--stat",), ("--stat", "--json")):
        done = home.call("diff", "d", *form)
        tap.ok(done.returncode == 0 and "[secret named].txt" in done.stdout and not any(v in done.stdout for v in (VALUE, name, coded)),
               f"diff {form}", done)
    shown = home.call("diff", "d").stdout
    tap.ok("+[secret tok]" in shown, "contents", shown)
    answers = mcp_diff(home, 'cat /run/secrets/tok > content; touch "$(tr / _ </run/secrets/tok).txt"')
    tap.ok("+[secret tok]" in answers[3] and "[secret named].txt" in answers[3] and not any(v in str(answers) for v in (VALUE, name)),
           "sandbox_diff", answers)
    home.call("secret", "rm", "named")
    done = home.call("diff", "d")
    tap.ok(done.returncode == 0 and "[secret tok]" in done.stdout, "without one of them a diff is still to be had", done)
    for call in (("exec", "d", "--", "true"), ("promote", "d")):
        done = home.call(*call)
        tap.ok(done.returncode != 0 and "set again" in done.stderr and "aisbx rm" in done.stderr, f"{call[0]} names the way out", done)
    store(home, "named", name)
    tap.equal(home.call("exec", "d", "--", "true").returncode, 0, "which is one")
    home.call("secret", "rm", "named")
    tap.equal(home.call("rm", "d").returncode, 0, "as is the other")


def test_damage(home):
    path = config(home, "secrets")
    with open(path, "rb") as file:
        whole = file.read()
    cuts = [whole[:n] for n in (0, 1, 15, 16, 32, 33, 72, 73, len(whole) - 1)] + [whole + b"x"]
    flips = [bytes(b ^ (1 << (i % 8)) if i == at else b for i, b in enumerate(whole)) for at in (0, 16, 17, 33, 60, 80, len(whole) - 1)]
    for i, bad in enumerate(cuts + flips):
        with open(path, "wb") as file:
            file.write(bad)
        done = [home.call("secret", "ls"), store(home, "new"), home.call("run", "--secret", "tok", "--", "true")]
        with open(path, "rb") as file:
            after = file.read()
        tap.ok(all(d.returncode not in (0, 70) and "secrets" in d.stderr for d in done) and after == bad,
               f"damage {i} is refused by name, and nothing is written over it", done)
    with open(path, "wb") as file:
        file.write(whole)
    for name, change in (("secrets.key", lambda p: os.chmod(p, 0o644)), ("secrets", lambda p: os.chmod(p, 0o640)),
                         ("secrets.key", os.unlink), ("secrets.key", lambda p: (os.unlink(p), os.mkfifo(p, 0o600))),
                         ("secrets", lambda p: (os.unlink(p), os.mkfifo(p, 0o600))),
                         ("secrets", lambda p: (os.rename(p, p + "-kept"), os.symlink(p + "-kept", p))),
                         ("secrets.key", lambda p: (os.rename(p, p + "-kept"), os.symlink(p + "-kept", p))),
                         ("secrets", lambda p: (os.unlink(p), os.mkdir(p))),
                         ("secrets.key", lambda p: open(p, "w").write("A" * 44 + "\n"))):
        at = config(home, name)
        with open(at, "rb") as file:
            kept = file.read()
        change(at)
        done = [home.call("secret", "ls", timeout=patience(60)), store(home, "new"), home.call("run", "--secret", "tok", "--", "true", timeout=patience(60))]
        tap.ok(all(d.returncode not in (0, 70) and "secrets" in d.stderr for d in done), f"{name} that is not ours as it should be", done)
        subprocess.run(["rm", "-rf", at, at + "-kept"], check=True)
        with open(os.open(at, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(kept)
    os.symlink(home.work + "/victim", config(home, "secrets.new"))
    tap.ok(store(home, "tok").returncode == 0 and not os.path.exists(home.work + "/victim"), "a link planted for the new file is not written through")
    tap.equal(length(home, "tok"), str(len(VALUE)), "and all works again")


def test_crowd(home):
    """Several at once lose nothing; one killed at any moment leaves the old value or the new one."""
    crowd = [subprocess.Popen([AISBX, "secret", "set", f"n{i}"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              cwd=home.work, env=home.env) for i in range(8)]
    tap.ok(all(one.communicate(VALUE.encode())[1] == b"" and one.returncode == 0 for one in crowd), "eight at once")
    tap.equal({r["name"] for r in home.rows("secret", "ls")}, {"tok"} | {f"n{i}" for i in range(8)}, "all are there")
    chance, bad = random.Random(7), []
    for _ in range(25):
        child = subprocess.Popen([AISBX, "secret", "set", "n0"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd=home.work, env=home.env)
        child.stdin.write(b"y" * 40)
        child.stdin.close()
        time.sleep(chance.uniform(0, 0.03))
        child.kill()
        child.wait()
        if len(home.rows("secret", "ls")) != 9:
            bad.append("lost")
    tap.ok(not bad and length(home, "n0") in ("40", str(len(VALUE))), "killed at any moment: old or new", bad)
    for i in range(8):
        home.call("secret", "rm", f"n{i}")


def test_passphrase(home):
    tap.ok(refused(store(home, "tok", VALUE, "--passphrase"), 2, "terminal"), "a passphrase needs a terminal")
    typed = [(b"not shown", VALUE.encode() + b"\r"), (b"new passphrase", b"correct horse\r"), (b"again", b"correct horse\r")]
    seen, code = home.on_terminal("secret", "set", "tok", "--passphrase", typed=typed)
    tap.ok(code == 0 and b"horse" not in seen and not os.path.exists(config(home, "secrets.key")), "all secrets by a passphrase", seen)
    tap.equal(holds(home, "correct horse"), [], "which is kept nowhere")
    shown = home.data("doctor")
    row = [r for r in shown.get("extras", []) if r["name"] == "secrets"]
    tap.ok(row and "passphrase" in row[0]["detail"], "doctor says so", row)
    locked = home.call("run", "--secret", "tok", "--", "true")
    cached = locked.returncode == 0
    tap.ok(cached or refused(locked, 125, "secret ls"), "a run finds the key in the keyring, or is refused with the way out", locked)
    if not cached:
        seen, code = home.on_terminal("secret", "ls", typed=[(b"passphrase", b"wrong horse\r")])
        tap.ok(code != 0 and b"another one" in seen, "a wrong one is refused", seen)
        seen, code = home.on_terminal("secret", "ls", typed=[(b"passphrase", b"correct horse\r")])
        tap.ok(code == 0 and b"tok" in seen, "the right one opens it", seen)


def main():
    with Home("secret-") as home:
        if home.can_run(tap, "secrets"):
            for test in (test_verbs, test_terminal, test_given, test_left_behind, test_scopes, test_inside, test_processes, test_promoted, test_shown, test_damage, test_crowd,
                         test_passphrase):
                test(home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
