#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""push, pull, conflicts, key: a sandbox's changes through a remote to another machine, and no work lost on the way.

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
import shutil
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
        names = [row["name"] for row in home.rows("ls")]
        if names:
            home.call("rm", *names)
        shutil.rmtree(home.work)
        os.mkdir(home.work)
        for name, text in {"f": TEXT, "gone": "host's own\n", "run": "r\n", "other": "o\n"}.items():
            home.put(name, text, 0o644)


def inside(home, name, script):
    done = home.call("exec", name, "--", "sh", "-c", script)
    home.call("stop", name)
    return done.stdout


def begin(home, name, change):
    home.call("create", name)
    inside(home, name, change)


def shown(home, name, path="f"):
    """A file as the sandbox shows it."""
    return inside(home, name, f"cat {path}")


def changes(home, name):
    return sorted(home.call("diff", name, "--name-status").stdout.splitlines())


def names(home):
    return sorted(row["name"] for row in home.rows("ls"))


def contents(remote):
    found = []
    for path in glob.glob(f"{remote}/objects/*/*"):
        with open(path, "rb") as source:
            found.append(source.read())
    return found


def trust(a, b):
    a.call("key", "trust", b.data("key")["key"])
    b.call("key", "trust", a.data("key")["key"])


def test_there(a, b, remote):
    """There, merged, promoted; and the way of a key that is not trusted."""
    lay_out(a, b)
    url = "file:" + remote
    begin(a, "fix", CHANGE)
    sent = a.call("push", "fix", url, "--json")
    row = json.loads(sent.stdout or "{}")
    tap.equal((row.get("name"), row.get("sequence"), row.get("files")), ("fix", 1, 6), f"a push has a number {sent.stderr}")
    again = a.data("push", "fix", url)
    tap.equal((again.get("is_new"), again.get("sequence")), (False, 1), "the same once more is no push")
    tap.ok(b"host's own\n" not in contents(remote), "what was deleted does not travel: the host's version stays here")
    refusal = b.call("pull", url, "fix")
    tap.ok(refused(refusal, 4, "a key you do not trust", "aisbx key trust"), "an unknown key is refused", refusal)
    tap.equal(names(b), [], "and nothing was made")
    trust(a, b)
    before = b.tree()
    done = b.call("pull", url)
    tap.ok(done.returncode == 0, "the only one there needs no name", done)
    tap.equal(changes(b, "fix"), changes(a, "fix"), "both machines have the same diff")
    tap.equal(b.tree(), before, "the host is not touched")
    b.put("f", TEXT.replace("six", "SIX"))
    done = b.data("pull", url, "fix", "--as", "fix-2")
    tap.equal((done.get("created"), done.get("sequence")), (True, 1), "a second one over another host")
    tap.equal(shown(b, "fix-2"), TEXT.replace("two", "TWO").replace("six", "SIX"), "merged with what the host has")
    done = b.call("promote", "fix-2")
    tap.equal(done.returncode, 0, f"and can be promoted {done.stderr}")
    tap.ok(b.read("new") == "n\n" and b.read("gone").startswith("<") and os.readlink(b.work + "/d/l") == "../f"
           and os.stat(b.work + "/run").st_mode & 0o777 == 0o755, "all of it")
    tap.equal(names(b), ["fix", "fix-2"], "no draft is left")
    tap.ok(refused(b.call("pull", url, "fix"), 3, "already"), "a sandbox that is there is never changed")
    tap.ok(refused(b.call("pull", url, "fixx"), 5, "nothing was pushed"), "a name that is not there")
    tap.ok(refused(b.call("pull", "s4://x/y", "fix"), 2, "is no remote"), "an unknown kind of remote")
    tap.ok(a.call("push", "fix", a.work).returncode != 0, "a directory with something else in it is no remote")


def test_line(a, b, remote):
    """Pushes of two machines stand in one line: whoever has not seen the last one pulls first."""
    lay_out(a, b)
    url = "file:" + remote
    begin(a, "w", "sed -i s/one/A/ f; echo a > only-a")
    a.call("push", "w", url)
    b.call("pull", url, "w")
    inside(b, "w", "sed -i s/six/B/ f; echo b > only-b")
    tap.equal(b.data("push", "w", url).get("sequence"), 2, "who has the last push adds to it")
    inside(a, "w", "sed -i s/three/A3/ f; echo more >> only-a")
    refusal = a.call("push", "w", url)
    tap.ok(refused(refusal, 3, "has not seen", "--onto w"), "who has not, pulls first", refusal)
    done = a.call("pull", url, "w", "--onto", "w", "--as", "w2")
    tap.ok(done.returncode == 0, "onto the sandbox's own work", done)
    want = TEXT.replace("one", "A").replace("three", "A3").replace("six", "B")
    tap.equal((shown(a, "w2"), shown(a, "w2", "only-a"), shown(a, "w2", "only-b")), (want, "a\nmore\n", "b\n"),
              "the new one has the work of both")
    tap.equal(shown(a, "w"), TEXT.replace("one", "A").replace("three", "A3"), "and the old one is as it was")
    done = a.data("push", "w2", url)
    tap.equal((done.get("name"), done.get("sequence")), ("w", 3), "it is pushed as the line's next")
    tap.ok(a.call("pull", url, "w", "--onto", "w2", "--as", "w3").returncode == 0 and "w3" not in names(a),
           "who has all of it gets nothing new")
    tap.ok(b.call("pull", url, "w", "--onto", "w", "--as", "w2").returncode == 0, "the other machine follows")
    tap.equal((shown(b, "w2"), shown(b, "w2", "only-a")), (want, "a\nmore\n"), "and has the same")
    a.call("fork", "w2", "side")
    refusal = a.call("push", "side", url, "--as", "w")
    tap.ok(refused(refusal, 3, "has not seen"), "a fork has seen nothing: its sibling's push is not replaced", refusal)


def test_bound(a, b, remote):
    """What a sandbox has seen is bound to its snapshot; promotions, rollbacks and edits of the host take no work back."""
    lay_out(a, b)
    url = "file:" + remote
    begin(a, "p", "sed -i s/one/A/ f; echo 1 > n1")
    a.call("push", "p", url)
    inside(a, "p", "sed -i s/two/A2/ f; echo 2 > n2")
    tap.equal(a.call("promote", "p").returncode, 0, "a promotion between two pushes")
    inside(a, "p", "echo 3 > n3")
    tap.equal(a.data("push", "p", url).get("sequence"), 2, "the second push")
    b.call("pull", url, "p")
    tap.equal((shown(b, "p"), shown(b, "p", "n1"), shown(b, "p", "n3")),
              (TEXT.replace("one", "A").replace("two", "A2"), "1\n", "3\n"), "has what was promoted meanwhile")
    inside(a, "p", "rm n1; echo 4 > n4")
    tap.equal(a.data("push", "p", url).get("sequence"), 3, "what the sandbox deletes")
    b.call("pull", url, "p", "--onto", "p", "--as", "p2")
    tap.equal((shown(b, "p2", "n1 2>/dev/null"), shown(b, "p2", "n4")), ("", "4\n"), "is deleted elsewhere, too")
    snaps = [row["name"] for row in a.rows("snaps", "p") if row["name"].startswith("push")]
    tap.equal(len(snaps), 3, "each push is a snapshot")
    a.call("rollback", "p", snaps[0])
    inside(a, "p", "echo 5 > n5")
    refusal = a.call("push", "p", url)
    tap.ok(refused(refusal, 3, "has not seen"), "a rollback takes back what was seen with it", refusal)
    lay_out(a, b)
    begin(a, "s", "sed -i s/one/A/ f; cat other >> other; sed -i 2d other")
    a.put("f", TEXT.replace("six", "HOST"))
    a.put("other", "host\n")
    tap.equal(a.call("push", "s", url).returncode, 0, "the host moved on since")
    b.put("f", TEXT.replace("six", "HOST"))
    b.put("other", "host\n")
    b.call("pull", url, "s")
    tap.equal(shown(b, "s"), TEXT.replace("one", "A").replace("six", "HOST"),
              "the base is what the change was made from: the host's edit is not reverted")
    tap.equal(shown(b, "s", "other"), "host\n", "nor by a file that the sandbox only wrote anew")


def test_conflict(a, b, remote):
    """Two machines that edited one base offline."""
    lay_out(a, b)
    url = "file:" + remote
    begin(a, "both", "sed -i s/one/A/ f; echo a > other; echo a > onlya")
    begin(b, "both", "sed -i s/six/B/ f; echo b > other; echo b > onlyb")
    a.call("push", "both", url)
    pull = ("pull", url, "both", "--onto", "both", "--as", "new")
    refusal = b.call(*pull)
    tap.ok(refused(refusal, 3, "no sandbox was made") or refusal.returncode == 3, "what does not merge stops it: exit 3", refusal)
    tap.equal((names(b), shown(b, "both", "other")), (["both"], "b\n"), "all of it: nothing is mixed")
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
    b.call(*pull)
    tap.equal([row["id"] for row in b.rows("conflicts")], [one], "asking again is the same question")
    tap.ok(refused(b.call("conflicts", "resolve", one), 2), "an answer is needed")
    tap.ok(refused(b.call("conflicts", "resolve", "0" * 16, "--ours"), 5), "an unknown one is not found")
    done = b.call("conflicts", "resolve", one, "--ours", AISBX_SANDBOX="x")
    tap.ok(done.returncode == 4, "what runs in a sandbox resolves nothing", done)
    b.call("conflicts", "resolve", one, b.put("../mine", "mine\n"))
    done = b.call(*pull)
    tap.ok(done.returncode == 0, "then it goes through", done)
    tap.equal((shown(b, "new", "other"), shown(b, "new", "onlya"), shown(b, "new", "onlyb")), ("mine\n", "a\n", "b\n"),
              "with the person's answer")
    tap.equal(shown(b, "new"), TEXT.replace("one", "A").replace("six", "B"), "and the text of both")
    tap.equal(b.rows("conflicts"), [], "nothing waits any more")
    inside(b, "both", "touch -d 2035-01-01 other")
    done = b.data("pull", url, "both", "--onto", "both", "--as", "last", "-s", "lww")
    tap.equal((done.get("created"), shown(b, "last", "other"), shown(b, "both", "other")), (True, "a\n", "b\n"),
              "lww goes by the remote's order, not by clocks; the other side's is still there")


def test_walls(a, b, remote):
    """Mounts that write through, secrets, hidden files and links: not into a bundle, and not out of one."""
    lay_out(a, b)
    url = "file:" + remote
    a.put("shared/x", "on the host\n")
    a.call("create", "m", "--rw", a.work + "/shared")
    inside(a, "m", "echo through > shared/y; echo new > new")
    a.call("push", "m", url)
    tap.ok(b"through\n" not in contents(remote) and b"new\n" in contents(remote), "what lies in a mount is not pushed")
    begin(a, "into", "mkdir -p shared; echo pulled > shared/x; echo pulled > shared/z")
    a.call("push", "into", url)
    b.put("shared/x", "on the host\n")
    b.put("../.config/aisbx/profiles/through.yaml", f"name: through\nextends: default\nmounts:\n"
          f"  - {{host: {b.work}/shared, guest: {b.work}/shared, mode: rw}}\n")
    before = b.tree()
    done = b.call("pull", url, "into", "--profile", "through")
    tap.ok(done.returncode == 4 and "shared" in done.stderr and "mounted" in done.stderr,
           "nothing is pulled through a mount", done)
    tap.equal((b.tree(), names(b)), (before, []), "the host's files are as they were")
    os.symlink("shared", b.work + "/d")
    begin(a, "d", "mkdir d; echo x > d/f")
    a.call("push", "d", url)
    done = b.call("pull", url, "d")
    tap.ok(done.returncode in (3, 4) and b.read("shared/f").startswith("<"), "nothing is pulled through a link of the host", done)
    a.call("secret", "set", "tok", stdin="hunter2-hunter2")
    begin(a, "leak", "echo hunter2-hunter2 > leaked")
    done = a.call("push", "leak", url)
    tap.ok(done.returncode == 4 and "tok" in done.stderr, "what holds a secret is not pushed", done)
    tap.ok(not any(b"hunter2" in text for text in contents(remote)), "nor any of it")
    a.call("secret", "rm", "tok")
    a.put("concealed", "of the host alone\n")
    profile = a.put("../hides.yaml", "name: hides\nextends: default\nhide: [concealed]\n")
    a.call("create", "hides", "--profile", profile)
    inside(a, "hides", "echo the sandbox has its own > concealed")
    done = a.call("push", "hides", url)
    tap.ok(done.returncode == 0 and b"the sandbox has its own\n" in contents(remote), "a file of its own where one is hidden", done)
    tap.ok(b"of the host alone\n" not in contents(remote), "is pushed, and the hidden one is not, not even as its base")
    begin(a, "deep", "mkdir -p " + "/".join(["d"] * 140))
    done = a.call("push", "deep", url)
    tap.ok(done.returncode == 4 and "too deep" in done.stderr, "what no pull would take is not pushed", done)


def put_push(remote, home, name, lines, over):
    """A push that only the owner of the key could have made, and would not."""
    text = b"aisbx-stage-bundle 1\n" + b"".join(lines)
    digest = hashlib.sha256(text).hexdigest()
    write(f"{remote}/bundles/{digest}", text)
    with open(remote + "/aisbx-remote") as source:
        place = source.read().split()[2]
    head = {"remote": place, "name": name, "sequence": 1, "parent": None, "bundle": digest, "largest": 1 << 20} | over
    body = json.dumps(head).encode() + b"\n"
    with open(home.path + "/.config/aisbx/signing.key") as source:
        secret = base64.b64decode(source.read())
    sodium = ctypes.CDLL(ctypes.util.find_library("sodium") or "libsodium.so.23")
    signature, message = ctypes.create_string_buffer(64), b"aisbx push 2\n" + body
    sodium.crypto_sign_ed25519_detached(signature, None, message, ctypes.c_ulonglong(len(message)), secret)
    write(f"{remote}/names/{name}/{1:020}", body + b"key " + base64.b64encode(secret[32:]) + b"\nsignature "
          + base64.b64encode(signature.raw) + b"\n")


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path):
        os.unlink(path)
    with open(path, "wb") as out:
        out.write(content)


def line(path, kind="f", mode=0o644, content=b"x", link=None):
    digest = hashlib.sha256(content).hexdigest() if kind == "f" else "-"
    where = base64.b64encode(link).decode() if link else "-"
    return f"{kind} {mode:o} 1 {digest} {where} - 0 0 - - {base64.b64encode(path).decode()}\n".encode()


def test_hostile(a, b, remote):
    lay_out(a, b)
    url = "file:" + remote
    begin(a, "h", "echo unheard > x")
    a.call("push", "h", url)
    content = hashlib.sha256(b"x").hexdigest()
    write(f"{remote}/objects/{content[:2]}/{content}", b"x")
    before = b.tree()
    cases = {
        "a path that leads out": ([line(b"../up")], {}, "damaged"),
        "an absolute path": ([line(b"/etc/up")], {}, "damaged"),
        "a device": ([line(b"dev", "c")], {}, "damaged"),
        "setuid": ([line(b"su", mode=0o4755)], {}, "setuid"),
        "a path too deep": ([line(b"/".join([b"d"] * 200))], {}, "too deep"),
        "a name too long": ([line(b"n" * 300)], {}, "too long"),
        "a link that leads out": ([line(b"l", "l", link=b"../../etc")], {}, "leads out"),
        "a link that climbs by way of another":
            ([line(b"a", "l", link=b"."), line(b"b", "l", link=b"a/a/a/../../../etc/hostname")], {}, "leads out"),
        "an absolute link": ([line(b"l", "l", link=b"/etc/hostname")], {}, "leads out"),
        "a file below a link": ([line(b"l", "l", link=b"."), line(b"l/f")], {}, "below a link"),
        "a path twice": ([line(b"p"), line(b"p")], {}, "not in order"),
        "a content that is not there": ([line(b"p", content=b"no")], {}, "there is no objects/"),
        "a content larger than was signed": ([line(b"p")], {"largest": 0}, "larger"),
        "a head of another name": ([line(b"p")], {"name": "other"}, "another place"),
        "a head of another remote": ([line(b"p")], {"remote": "0" * 26}, "another place"),
        "a head of another number": ([line(b"p")], {"sequence": 2}, "another place"),
    }
    for number, (what, (lines, over, words)) in enumerate(cases.items()):
        put_push(remote, a, f"h{number}", lines, over)
        done = b.call("pull", url, f"h{number}")
        tap.ok(done.returncode not in (0, 70, 139) and words in done.stderr, f"refused: {what}", done)
    test_damaged(a, b, remote)
    tap.equal((names(b), b.tree() == before), ([], True), "nothing was made, nothing was touched")


def test_damaged(a, b, remote):
    url, head = "file:" + remote, f"{remote}/names/h/{1:020}"
    with open(head) as source:
        text = source.read()
    for what, new, words in (
            ("a signature of something else", text.replace('"bundle":', '"bundle": '), "does not hold"),
            ("no signature", text.split("\n")[0] + "\n", "is not signed"), ("nothing", "", "is not signed")):
        write(head, new.encode())
        done = b.call("pull", url, "h")
        tap.ok(done.returncode not in (0, 70) and words in done.stderr, f"refused: {what}", done)
    write(head, text.encode())
    bundle = f"{remote}/bundles/{json.loads(text.split(chr(10))[0])['bundle']}"
    with open(bundle, "rb") as source:
        kept = source.read()
    write(bundle, kept + b"\n")
    tap.ok("not what was signed" in b.call("pull", url, "h").stderr, "refused: a list that was changed")
    write(bundle, kept)
    content = hashlib.sha256(b"unheard\n").hexdigest()
    write(f"{remote}/objects/{content[:2]}/{content}", b"y\n")
    tap.ok("not what was signed" in b.call("pull", url, "h").stderr, "refused: a content that was changed")
    os.unlink(f"{remote}/objects/{content[:2]}/{content}")
    os.mkfifo(f"{remote}/objects/{content[:2]}/{content}")
    tap.ok(b.call("pull", url, "h").returncode != 0, "refused: a fifo in its place, without waiting")
    os.unlink(f"{remote}/objects/{content[:2]}/{content}")
    write(f"{remote}/objects/{content[:2]}/{content}", b"unheard\n")
    inside(a, "h", "echo more > y")
    a.call("push", "h", url)
    tap.equal(b.data("pull", url, "h", "--as", "seen").get("sequence"), 2, "the second push was seen here")
    b.call("rm", "seen")
    second = f"{remote}/names/h/{2:020}"
    os.rename(second, remote + "/aside")
    tap.ok(refused(b.call("pull", url, "h"), 3, "older"), "refused: an older state of the remote, shown again")
    tap.ok(refused(a.call("push", "h", url), 3, "older"), "and no push replaces what is missing")
    first, third = f"{remote}/names/h", f"{remote}/names/aside"
    os.rename(first, third)
    begin(a, "another", "echo another > z")
    tap.ok(refused(a.call("push", "another", url, "--as", "h"), 3, "older"), "nor does one of a sandbox that knows of none")
    os.rename(third, first)
    os.rename(remote + "/aside", second)
    content = hashlib.sha256(b"another\n").hexdigest()
    write(f"{remote}/objects/{content[:2]}/{content}", b"")
    done = a.call("push", "another", url)
    tap.ok(done.returncode != 0 and "damaged" in done.stderr and not os.path.exists(remote + "/names/another"),
           "no push relies on a content that is damaged there", done)
    os.mkdir(remote + "-empty")
    tap.ok(refused(b.call("pull", f"{url}-empty", "h"), 5, "nothing was pushed"), "an empty directory has nothing")


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
    tap.ok(done.returncode == 0 and shown(b, "far", "new") == "n\n", "and the pull", done)
    inside(b, "far", "echo b > b")
    tap.equal(b.data("push", "far", url, **path).get("sequence"), 2, "and a push on top of it")
    inside(a, "far", "echo a > a")
    tap.ok(refused(a.call("push", "far", url, **path), 3, "has not seen"), "in one line, as without ssh")
    done = b.call("pull", "ssh://nobody/x", "far", **path)
    tap.ok(done.returncode != 0 and "went away" in done.stderr, "a host that refuses", done)
    tap.ok(refused(b.call("pull", "ssh://me:pw@there/x", "far", **path), 2, "without a password"), "no password in a URL")
    tap.ok(refused(b.call("pull", "ssh://-oProxyCommand=x/y", "far", **path), 2), "no option in a URL")
    os.makedirs(a.path + "/liar", exist_ok=True)
    with open(a.path + "/liar/ssh", "w") as out:
        out.write('#!/bin/sh\nread -r line\necho "ok ../../../planted"\nwhile read -r verb rest; do\n'
                  'case $verb in list) echo "ok 0" ;; *) exit 0 ;; esac\ndone\n')
    os.chmod(a.path + "/liar/ssh", 0o755)
    done = a.call("push", "far", url, PATH=f"{a.path}/liar:{os.environ['PATH']}")
    tap.ok(done.returncode != 0 and "answers something else" in done.stderr, "a remote whose id is a path is refused", done)
    asked = b"open read\nget ../../etc/passwd 99\nput /tmp/x 0\nlist ..\nsay hi\nget names/far 9\n"
    served = subprocess.run([AISBX, "push", "--serve", remote + "-ssh"], input=asked, capture_output=True, env=a.env,
                            timeout=300, check=False)
    answers = served.stdout.decode().splitlines()
    tap.ok(len(answers) == 6 and answers[0].startswith("ok ") and all(one.startswith("no ") for one in answers[1:]),
           "the serving side serves files of the remote and nothing else", answers)


def kill_some(home, *words):
    """Runs it, killed at some moment of its life."""
    running = subprocess.Popen([AISBX, *words], cwd=home.work, env=home.env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(random.random() * 0.15)
    running.kill()
    running.wait()


def test_kill(a, b, remote):
    """Whole or not there; and a push that was killed stands in the way of none."""
    lay_out(a, b)
    url = "file:" + remote
    begin(a, "k", "for i in $(seq 50); do echo $i > k$i; done")
    wrong, last = [], 0
    for number in range(ROUNDS):
        inside(a, "k", f"echo {number} > round")
        kill_some(a, "push", "k", url)
        done = b.call("pull", url, "k", "--as", "look", "--json")
        if done.returncode == 0 and shown(b, "look", "k50") != "50\n" or done.returncode not in (0, 5):
            wrong.append(done)
        b.call("rm", "look")
        done = a.data("push", "k", url)
        if done.get("sequence", 0) < max(last, 1):
            wrong.append(done)
        last = done.get("sequence", 0)
    tap.equal(wrong, [], f"{ROUNDS} pushes killed: whole or not there, and the next one goes through")
    for number in range(ROUNDS):
        kill_some(b, "pull", url, "k", "--as", f"p{number}")
        if f"p{number}" in names(b) and len(changes(b, f"p{number}")) != 51:
            wrong.append(number)
    tap.equal(wrong, [], f"{ROUNDS} pulls killed: whole or not there")


def main():
    with Home("aisbx-test-travel-a-") as a, Home("aisbx-test-travel-b-") as b:
        if a.can_run(tap, "sandboxes that travel"):
            for number, test in enumerate((test_there, test_line, test_bound, test_conflict, test_walls, test_hostile, test_ssh,
                                           test_kill)):
                test(a, b, f"{a.path}/remote{number}")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
