#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""push, pull, conflicts, key: a sandbox's changes through a remote to another machine; hostile remotes; kills.

Takes the program from AISBX. Speaks TAP. Two homes stand for two machines. AISBX_KILL_ROUNDS: how often a push and a pull are
killed (3; 20 with AISBX_LONG).
"""

import base64
import ctypes
import ctypes.util
import glob
import hashlib
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from clitest import AISBX, Home, Tap, refused  # noqa: E402

tap = Tap()
ROUNDS = int(os.environ.get("AISBX_KILL_ROUNDS") or (20 if os.environ.get("AISBX_LONG") else 3))
TEXT = "one\ntwo\nthree\nfour\nfive\nsix\n"
CHANGE = "sed -i s/two/TWO/ f; echo n > new; rm gone; mkdir d; ln -s ../f d/l; chmod 755 run"


def lay_out(*homes):
    """The same project on each machine."""
    for home in homes:
        home.call("rm", *[row["name"] for row in home.rows("ls")])
        for name, text in {"f": TEXT, "gone": "x\n", "run": "r\n", "other": "o\n"}.items():
            home.put(name, text, 0o644)


def begin(home, name, change):
    home.call("create", name)
    home.call("exec", name, "--", "sh", "-c", change)
    home.call("stop", name)


def inside(home, name, path="f"):
    """A file as the sandbox shows it."""
    done = home.call("exec", name, "--", "cat", path)
    home.call("stop", name)
    return done.stdout


def names(home):
    return sorted(row["name"] for row in home.rows("ls"))


def test_there(a, b, remote):
    lay_out(a, b)
    begin(a, "fix", CHANGE)
    sent = a.data("push", "fix", remote)
    tap.equal((sent.get("name"), sent.get("sequence"), sent.get("files")), ("fix", 1, 6), "a push has a number")
    tap.equal(a.data("push", "fix", remote).get("sent"), 0, "once more sends no content")
    refusal = b.call("pull", remote, "fix")
    tap.ok(refused(refusal, 4, "a key you do not trust", "aisbx key trust"), "an unknown key is refused", refusal)
    tap.equal(names(b), [], "and nothing was made")
    b.call("key", "trust", a.data("key")["key"])
    b.put("f", TEXT.replace("six", "SIX"))
    done = b.data("pull", remote, "fix")
    tap.equal((done.get("created"), done.get("sequence")), (True, [2]), "the newest push of that machine is taken")
    tap.equal(inside(b, "fix"), TEXT.replace("two", "TWO").replace("six", "SIX"), "merged with what the host has")
    tap.equal(b.call("promote", "fix").returncode, 0, "and can be promoted")
    tap.ok(b.read("new") == "n\n" and b.read("gone").startswith("<") and os.readlink(b.work + "/d/l") == "../f"
           and os.stat(b.work + "/run").st_mode & 0o777 == 0o755, "all of it")
    tap.equal(b.data("pull", remote, "fix").get("sequence"), [], "again there is nothing new")
    tap.equal(names(b), ["fix"], "no draft is left")
    tap.ok(refused(b.call("pull", remote, "fixx"), 5, "nothing was pushed"), "a name that is not there")
    tap.ok(refused(b.call("pull", "s4://x/y", "fix"), 2, "is no remote"), "an unknown kind of remote")
    tap.ok(refused(a.call("push", "fix", a.work), 2, "no remote") or
           a.call("push", "fix", a.work).returncode != 0, "a directory with something else in it is no remote")


def test_conflict(a, b, remote):
    """Two machines that edited one base offline."""
    lay_out(a, b)
    begin(a, "both", "sed -i s/one/A/ f; echo a > other; echo a > onlya")
    begin(b, "both", "sed -i s/six/B/ f; echo b > other; echo b > onlyb")
    a.call("push", "both", remote)
    refusal = b.call("pull", remote, "both")
    tap.ok(refused(refusal, 3, "nothing was pulled"), "what does not merge stops it: exit 3", refusal)
    tap.equal((inside(b, "both", "other"), inside(b, "both", "onlya")), ("b\n", ""), "all of it: nothing is mixed")
    waiting = b.rows("conflicts")
    tap.equal([row["path"] for row in waiting], ["other"], "the conflict waits; the text was merged")
    if not waiting:
        return
    one = waiting[0]["id"]
    tap.ok(any(one in json.dumps(row) for row in b.rows("events")), "and is an event on record")
    tap.equal([b.call("conflicts", "show", one, "--" + side).stdout for side in ("base", "ours", "theirs")],
              ["o\n", "b\n", "a\n"], "each side can be seen")
    b.call("gc")
    tap.equal(b.call("conflicts", "show", one, "--theirs").stdout, "a\n", "gc keeps it")
    b.call("pull", remote, "both")
    tap.equal([row["id"] for row in b.rows("conflicts")], [one], "asking again is the same question")
    tap.ok(refused(b.call("conflicts", "resolve", one), 2), "an answer is needed")
    tap.ok(refused(b.call("conflicts", "resolve", "0" * 16, "--ours"), 5), "an unknown one is not found")
    done = b.call("conflicts", "resolve", one, "--ours", AISBX_SANDBOX="x")
    tap.ok(done.returncode == 4, "what runs in a sandbox resolves nothing", done)
    b.call("conflicts", "resolve", one, b.put("../mine", "mine\n"))
    done = b.call("pull", remote, "both")
    tap.ok(done.returncode == 0, "then it goes through", done)
    tap.equal((inside(b, "both", "other"), inside(b, "both", "onlya"), inside(b, "both", "onlyb")),
              ("mine\n", "a\n", "b\n"), "with the person's answer")
    tap.equal(inside(b, "both"), TEXT.replace("one", "A").replace("six", "B"), "and the text of both")
    tap.equal(b.rows("conflicts"), [], "nothing waits any more")
    sent = b.data("push", "both", remote)
    a.call("key", "trust", b.data("key")["key"])
    done = a.data("pull", remote, "both")
    tap.equal(done.get("sequence"), [sent.get("sequence")], "the other machine takes the merged push alone")
    tap.equal(inside(a, "both", "other"), "mine\n", "and has the same")


def test_lww(a, b, remote):
    """By the order of the remote, whatever the clocks say."""
    lay_out(a, b)
    begin(a, "late", "echo a > other; touch -d 2030-01-01 other")
    begin(b, "late", "echo b > other; touch -d 2001-01-01 other")
    a.call("push", "late", remote)
    b.call("push", "late", remote)
    tap.equal(a.call("pull", remote, "late", "-s", "lww").returncode, 0, "lww decides")
    b.call("pull", remote, "late", "-s", "lww")
    tap.equal((inside(a, "late", "other"), inside(b, "late", "other")), ("b\n", "b\n"), "both have the later push")
    done = b.data("pull", remote, "late", "--as", "fresh", "-s", "lww")
    tap.equal((len(done.get("sequence", [])), inside(b, "fresh", "other")), (2, "b\n"), "as has a new sandbox")


def put_head(remote, home, name, lines, over):
    """A push that only the owner of the key could have made, and would not."""
    text = b"aisbx-stage-bundle 1\n" + b"".join(lines)
    digest = hashlib.sha256(text).hexdigest()
    write(f"{remote}/bundles/{digest}", text)
    with open(remote + "/sequence") as source:
        number = int(source.read()) + 1
    write(remote + "/sequence", b"%020d\n" % number)
    head = {"name": name, "sequence": number, "bundle": digest, "bytes": 1 << 20, "after": []} | over
    body = json.dumps(head).encode() + b"\n"
    with open(home.path + "/.config/aisbx/signing.key") as source:
        secret = base64.b64decode(source.read())
    sodium = ctypes.CDLL(ctypes.util.find_library("sodium") or "libsodium.so.23")
    signature, message = ctypes.create_string_buffer(64), b"aisbx push 1\n" + body
    sodium.crypto_sign_ed25519_detached(signature, None, message, ctypes.c_ulonglong(len(message)), secret)
    write(f"{remote}/names/{name}/{number:020}", body + b"key " + base64.b64encode(secret[32:]) + b"\nsignature "
          + base64.b64encode(signature.raw) + b"\n")


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path) and not path.endswith("sequence"):
        os.unlink(path)
    with open(path, "wb") as out:
        out.write(content)


def line(path, kind="f", mode=0o644, content=b"x", link=None):
    digest = hashlib.sha256(content).hexdigest() if kind == "f" else "-"
    where = base64.b64encode(link).decode() if link else "-"
    return f"{kind} {mode:o} 1 {digest} {where} - 0 0 - - {base64.b64encode(path).decode()}\n".encode()


def test_hostile(a, b, remote):
    lay_out(a, b)
    begin(a, "h", "echo unheard > x")
    a.call("push", "h", remote)
    content = hashlib.sha256(b"x").hexdigest()
    write(f"{remote}/objects/{content[:2]}/{content}", b"x")
    before = b.tree()
    cases = {
        "a path that leads out": ([line(b"../up")], {}, "damaged"),
        "an absolute path": ([line(b"/etc/up")], {}, "damaged"),
        "a device": ([line(b"dev", "c")], {}, "damaged"),
        "setuid": ([line(b"su", mode=0o4755)], {}, "setuid"),
        "a link that leads out": ([line(b"l", "l", link=b"../../etc")], {}, "leads out"),
        "a link that climbs by way of another":
            ([line(b"a", "l", link=b"."), line(b"b", "l", link=b"a/a/a/../../../etc/hostname")], {}, "leads out"),
        "an absolute link": ([line(b"l", "l", link=b"/etc/hostname")], {}, "leads out"),
        "a file below a link": ([line(b"l", "l", link=b"."), line(b"l/f")], {}, "below a link"),
        "a path twice": ([line(b"p"), line(b"p")], {}, "not in order"),
        "a content that is not there": ([line(b"p", content=b"no")], {}, "there is no objects/"),
        "more bytes than were signed": ([line(b"p")], {"bytes": 0}, "larger"),
        "bytes without a bound": ([line(b"p")], {"bytes": 1 << 60}, "do not travel"),
        "a head of another name": ([line(b"p")], {"name": "other"}, "another place"),
    }
    for number, (what, (lines, over, words)) in enumerate(cases.items()):
        put_head(remote, a, f"h{number}", lines, over)
        done = b.call("pull", remote, f"h{number}")
        tap.ok(done.returncode not in (0, 70, 139) and words in done.stderr, f"refused: {what}", done)
    test_damaged(a, b, remote)
    tap.equal((names(b), b.tree() == before), ([], True), "nothing was made, nothing was touched")


def test_damaged(a, b, remote):
    head = sorted(glob.glob(f"{remote}/names/h/*"))[-1]
    with open(head) as source:
        text = source.read()
    for what, new, words in (
            ("a signature of something else", text.replace('"bytes":', '"bytes": '), "does not hold"),
            ("no signature", text.split("\n")[0] + "\n", "is not signed"), ("nothing", "", "is not signed")):
        write(head, new.encode())
        tap.ok(refused(b.call("pull", remote, "h"), None, words) or words in b.call("pull", remote, "h").stderr,
               f"refused: {what}")
    write(head, text.encode())
    bundle = f"{remote}/bundles/{json.loads(text.split(chr(10))[0])['bundle']}"
    with open(bundle, "rb") as source:
        kept = source.read()
    write(bundle, kept + b"\n")
    tap.ok("not what was signed" in b.call("pull", remote, "h").stderr, "refused: a list that was changed")
    write(bundle, kept)
    content = hashlib.sha256(b"unheard\n").hexdigest()
    write(f"{remote}/objects/{content[:2]}/{content}", b"y\n")
    tap.ok("not what was signed" in b.call("pull", remote, "h").stderr, "refused: a content that was changed")
    os.unlink(f"{remote}/objects/{content[:2]}/{content}")
    os.mkfifo(f"{remote}/objects/{content[:2]}/{content}")
    tap.ok(b.call("pull", remote, "h").returncode != 0, "refused: a fifo in its place, without waiting")


def test_ssh(a, b, remote):
    """ssh by a stand-in that runs the words as the other side's shell would."""
    lay_out(a, b)
    tools = a.path + "/tools"
    os.makedirs(tools, exist_ok=True)
    with open(tools + "/ssh", "w") as out:
        out.write(f'#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\n[ "$2" = me@there ] || exit 255\n'
                  f'PATH={shlex.quote(tools)}:$PATH exec sh -c "$3"\n')
    os.chmod(tools + "/ssh", 0o755)
    if not os.path.exists(tools + "/aisbx"):
        os.symlink(AISBX, tools + "/aisbx")
    path = {"PATH": tools + ":" + os.environ["PATH"]}
    url = f"ssh://me@there:22{remote}-ssh"
    begin(a, "far", CHANGE)
    done = a.call("push", "far", url, **path)
    tap.ok(done.returncode == 0, "a push by ssh", done)
    done = b.call("pull", url, "far", **path)
    tap.ok(done.returncode == 0 and inside(b, "far", "new") == "n\n", "and the pull", done)
    tap.ok(refused(b.call("pull", "ssh://nobody/x", "far", **path), None, "went away")
           or b.call("pull", "ssh://nobody/x", "far", **path).returncode != 0, "a host that refuses")
    tap.ok(refused(b.call("pull", "ssh://me:pw@there/x", "far", **path), 2, "without a password"), "no password in a URL")
    asked = b"open read\nget ../../etc/passwd 99\nput /tmp/x 0\nlist ..\nsay hi\nget names/far 9\n"
    served = subprocess.run([AISBX, "push", "--serve", remote + "-ssh"], input=asked, capture_output=True, env=a.env,
                            timeout=60, check=False)
    answers = served.stdout.decode().splitlines()
    tap.ok(len(answers) == 6 and answers[0].startswith("ok ") and all(one.startswith("no ") for one in answers[1:]),
           "the serving side serves files of the remote and nothing else", answers)


def kill_some(home, *words):
    """Runs it, killed at some moment of its life; whether it ended before that."""
    running = subprocess.Popen([AISBX, *words], cwd=home.work, env=home.env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(random.random() * 0.15)
    running.send_signal(signal.SIGKILL)
    return running.wait() == 0


def test_kill(a, b, remote):
    """Whole or not there."""
    lay_out(a, b)
    begin(a, "k", "for i in $(seq 50); do echo $i > k$i; done")
    wrong = []
    for _ in range(ROUNDS):
        kill_some(a, "push", "k", remote)
        done = b.call("pull", remote, "k", "--as", "look")
        if done.returncode == 0 and inside(b, "look", "k50") != "50\n" or done.returncode not in (0, 5):
            wrong.append(done)
        b.call("rm", "look")
    tap.equal(wrong, [], f"{ROUNDS} pushes killed: whole or not there")
    tap.equal(a.call("push", "k", remote).returncode, 0, "a push afterwards is whole")
    for number in range(ROUNDS):
        kill_some(b, "pull", remote, "k", "--as", f"p{number}")
        there = [name for name in names(b) if name.startswith("p") and not name.startswith("pull-")]
        if f"p{number}" in there and len(b.call("diff", f"p{number}", "--name-status").stdout.split("\n")) != 51:
            wrong.append(number)
    tap.equal(wrong, [], f"{ROUNDS} pulls killed: whole or not there")


def main():
    with Home("aisbx-test-travel-a-") as a, Home("aisbx-test-travel-b-") as b:
        if a.can_run(tap, "sandboxes that travel"):
            for number, test in enumerate((test_there, test_conflict, test_lww, test_hostile, test_ssh, test_kill)):
                test(a, b, f"{a.path}/remote{number}")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
