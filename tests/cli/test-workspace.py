#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Named sandboxes through the command line: made, entered, saved, rewound, branched, compared, removed.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it; the suite's runner does so as root and as a
plain user.
"""

import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from clitest import AISBX, Home, Tap, refused

BAD_NAMES = ("../x", "a/b", ".", "..", "", "x" * 300, "a\nb", "-rf", "%2e%2e", "A", "a b", "\x1b[31m", "é", ".hid")
tap = Tap()


def sh(home, name, script, **kw):
    return home.call("exec", name, "--", "sh", "-c", script, **kw)


def test_life(home):
    """create, exec, ls, inspect, stop, rm."""
    done = home.call("create", "one")
    tap.ok(done.returncode == 0 and "one" in done.stdout and not done.stderr, "create", done)
    done = home.call("create", "one")
    tap.ok(refused(done, 3, "one"), "a name that is taken", done)
    tap.ok(sh(home, "one", "echo hello > new.txt; rm old.txt").returncode == 0, "exec")
    tap.equal(sh(home, "one", "cat new.txt; ls").stdout, "hello\nkept.txt\nnew.txt\n", "what was written stays")
    tap.equal(sorted(os.listdir(home.work)), ["kept.txt", "old.txt"], "and the host is as it was")
    tap.equal(home.call("exec", "one", "--", "sh", "-c", "exit 7").returncode, 7, "the command's own exit code")
    tap.equal(home.call("exec", "one", "--", "no-such-program").returncode, 127, "not found is 127")
    tap.equal(home.call("exec", "one", "--", "cat", stdin="in").stdout, "in", "stdin passes")
    tap.equal(home.call("exec", "one", "--", "echo", "a  b", "$HOME").stdout, "a  b $HOME\n", "argv is exact")
    os.mkdir(home.work + "/sub")
    tap.equal(home.call("exec", "one", "--", "pwd", cwd=home.work + "/sub").stdout.strip(), home.work + "/sub",
              "in the caller's directory")
    os.rmdir(home.work + "/sub")
    found = home.data("exec", "one", "--", "sh", "-c", "echo out; exit 3") or {}
    done = subprocess.run([AISBX, "exec", "one", "--json", "--", "sh", "-c", "echo out; exit 3"], capture_output=True,
                          text=True, cwd=home.work, env=home.env, check=False)
    found = json.loads(done.stdout or "{}")
    tap.equal([found.get(k) for k in ("status", "exit_code", "stdout", "sandbox")], ["error", 3, "out\n", "one"],
              "exec --json is the result of run")
    row = (home.rows("ls") or [{}])[0]
    tap.ok(all(k in row for k in ("name", "base", "state", "created", "expires", "snapshots", "changes", "disk_bytes")),
           "ls --json has its keys", row)
    tap.equal([row.get("name"), row.get("changes"), row.get("expires"), row.get("snapshots")],
              ["one", {"added": 1, "modified": 0, "deleted": 1}, None, 0], "and says what is so")
    done = home.call("ls")
    tap.ok(done.stdout.startswith("NAME") and "+1 ~0 -1" in done.stdout, "ls", done)
    found = home.data("inspect", "one")
    tap.ok(found.get("workspace") == home.work and found.get("processes") == [], "inspect --json", found)
    tap.ok("workspace  " + home.work in home.call("inspect", "one").stdout, "inspect")
    done = home.call("stop", "one")
    tap.ok(done.returncode == 0, "stop", done)
    tap.equal(sh(home, "one", "cat new.txt").stdout, "hello\n", "files outlive stop")
    done = home.call("rm", "one", "nobody")
    tap.ok(refused(done, 5, "nobody") and "removed one" in done.stdout, "rm removes what exists and exits 5", done)
    tap.equal(home.rows("ls"), [], "gone")
    rows = home.rows("rm", "nobody")
    tap.ok(rows and rows[0]["removed"] is False and rows[0]["error"]["code"] == "not_found", "rm --json", rows)


def test_background(home):
    """Processes that a command leaves behind."""
    home.call("create", "bg")
    sh(home, "bg", "sleep 1000 >/dev/null 2>&1 & echo started > bg.txt")
    found = home.data("inspect", "bg")
    tap.ok(found.get("state") == "running" and any("sleep" in p["command"] for p in found["processes"]),
           "a process left behind is told", found)
    for verb in (["snap", "bg"], ["rollback", "bg"], ["refresh", "bg"], ["fork", "bg", "bg2"], ["promote", "bg"]):
        done = home.call(*verb)
        tap.ok(refused(done, 3, "sleep", "--kill"), f"{verb[0]} with processes alive refuses and names them", done)
    done = home.call("snap", "bg", "--freeze")
    tap.ok(done.returncode == 0, "snap --freeze", done)
    found = home.data("inspect", "bg")
    tap.ok(found.get("state") == "running", "they run on afterwards", found)
    done = home.call("snap", "bg", "--freeze", "--kill")
    tap.ok(refused(done, 2, "contradict"), "--freeze and --kill", done)
    done = home.call("rollback", "bg", "--kill")
    tap.ok(done.returncode == 0 and home.data("inspect", "bg").get("processes") == [], "rollback --kill", done)
    tap.equal(sh(home, "bg", "cat bg.txt").stdout, "started\n", "the frozen snapshot holds what was there")
    sh(home, "bg", "sleep 1000 >/dev/null 2>&1 &")
    done = home.call("stop", "bg")
    tap.ok(done.returncode == 0 and "stopped" in done.stdout and home.data("inspect", "bg").get("state") == "idle",
           "stop ends them", done)
    home.call("rm", "bg")


def test_snapshots(home):
    home.call("create", "s")
    sh(home, "s", "echo 1 > n.txt")
    done = home.call("snap", "s", "-m", "first\n\x1b[31mstep")
    tap.ok(done.returncode == 0 and "s1" in done.stdout, "snap", done)
    sh(home, "s", "echo 2 > n.txt; rm kept.txt")
    tap.equal(home.data("snap", "s", "--name", "second").get("name"), "second", "a name of one's own")
    done = home.call("snap", "s", "--name", "second")
    tap.ok(refused(done, 3, "second"), "a snapshot's name that is taken", done)
    sh(home, "s", "rm -rf *; echo broken > n.txt")
    done = home.call("rollback", "s")
    tap.ok(done.returncode == 0 and "second" in done.stdout and "auto1" in done.stdout,
           "rollback says where it went and what it kept", done)
    tap.equal(sh(home, "s", "cat n.txt; ls").stdout, "2\nn.txt\nold.txt\n", "back at the last one")
    home.call("rollback", "s", "s1")
    tap.equal(sh(home, "s", "cat n.txt; ls").stdout, "1\nkept.txt\nn.txt\nold.txt\n", "back at the first")
    home.call("rollback", "s", "auto1")
    tap.equal(sh(home, "s", "cat n.txt; ls").stdout, "broken\nn.txt\n", "a rollback is undone by another")
    done = home.call("rollback", "s", "secnod")
    tap.ok(refused(done, 5, "second"), "an unknown snapshot: the nearest name", done)
    rows = home.rows("snaps", "s")
    names = [row["name"] for row in rows]
    tap.ok(names[:3] == ["s1", "second", "auto1"] and rows[2]["auto"] and rows[1]["parent"] == "s1"
           and rows[0]["message"] == "first\n\x1b[31mstep", "snaps --json", rows)
    done = home.call("snaps", "s")
    lines = done.stdout.splitlines()
    tap.ok(len(lines) == len(rows) + 1 and "\x1b" not in done.stdout and "`-- auto1" in done.stdout
           and "s1" in lines[1], "snaps is a tree, one line each whatever the message", done)
    done = home.call("fork", "s@s1", "twin")
    tap.ok(done.returncode == 0, "fork of a snapshot", done)
    tap.equal(sh(home, "twin", "cat n.txt").stdout, "1\n", "starts there")
    sh(home, "twin", "echo twin > n.txt")
    home.call("fork", "s", "third")
    tap.equal([sh(home, n, "cat n.txt").stdout for n in ("s", "twin", "third")], ["broken\n", "twin\n", "broken\n"],
              "forks go their own ways")
    done = home.call("fork", "s", "twin")
    tap.ok(refused(done, 3, "twin"), "a fork onto a name that is taken", done)
    tap.ok(refused(home.call("fork", "s@nope", "x"), 5, "nope"), "a fork of an unknown snapshot")
    home.call("rm", "s")
    tap.equal(sh(home, "third", "cat n.txt").stdout, "broken\n", "a fork outlives what it came from")
    home.call("rm", "twin", "third")


def test_ttl(home):
    home.call("create", "later", "--ttl", "1h")
    tap.ok(home.data("inspect", "later").get("expires"), "--ttl is told")
    home.call("create", "soon", "--ttl", "1s")
    time.sleep(1.3)
    names = [row["name"] for row in home.rows("ls")]
    tap.ok("soon" not in names and "later" in names, "it removes itself", names)
    home.call("rm", "later")
    tap.ok(refused(home.call("diff", "soon"), 5, "soon"), "and is not found any more")
    tap.ok(refused(home.call("create", "x", "--ttl", "soonish"), 2, "--ttl"), "a bad time")


def test_names(home):
    """Bad names are refused before any path is made of them."""
    before = home.tree()
    for name in BAD_NAMES:
        for words in (["create", name], ["diff", name], ["rm", name], ["snap", name], ["stop", name],
                      ["fork", "one", name]):
            if name == "-rf":
                words.insert(1, "--")
            done = home.call(*words)
            tap.ok(done.returncode == 2 and "\x1b" not in done.stderr and done.stderr.count("\n") == 1,
                   f"{words[0]} {name[:12]!r} is a usage error", done)
        done = home.call("exec", *(["--"] if name == "-rf" else [name, "--"]), "true")
        tap.equal(done.returncode, 125, f"exec {name[:12]!r} is 125")
    tap.equal(home.tree(), before, "nothing was made")
    home.call("create", "lighthouse")
    for verb in ("diff", "status", "snaps", "inspect", "stop", "refresh", "rollback", "snap", "promote"):
        done = home.call(verb, "lighthuose")
        tap.ok(refused(done, 5, "lighthouse"), f"{verb} of an unknown name says the nearest", done)
    done = home.call("exec", "lighthuose", "--", "true")
    tap.ok(refused(done, 125, "lighthouse"), "exec, too, as 125", done)
    error = home.data("diff", "lighthuose")
    tap.ok(error.get("ok") is False and error["error"]["code"] == "not_found", "as data", error)
    home.call("rm", "lighthouse")


def test_usage(home):
    for words, code, hint in ((["create"], 2, "NAME"), (["exec"], 125, "NAME"), (["exec", "a"], 125, "shell"),
                              (["exec", "a", "--"], 125, "shell"), (["snap"], 2, "NAME"), (["snap", "a", "b"], 2, "b"),
                              (["fork", "a"], 2, "NEW"), (["ls", "x"], 2, "x"), (["undo", "a", "b"], 2, "b"),
                              (["diff", "a", "--stat", "--patch"], 2, "--patch"), (["diff", "a", "-z"], 2, "name-status"),
                              (["promote", "a", "--artifact", "x"], 2, "--to"), (["try", "-y", "-n", "--", "true"], 125, "-n"),
                             
                              (["create", "a", "--memm", "1g"], 2, "--mem"), (["run", "--keep", "../x", "--", "true"], 125, "x")):
        done = home.call(*words)
        tap.ok(refused(done, code, hint), " ".join(words), done)
    done = home.call("shell", "a", "--json")
    tap.ok(done.returncode == 125 and "exec" in done.stdout, "a shell has no data", done)


def test_keep(home):
    done = home.call("run", "--keep", "kept", "--", "sh", "-c", "echo k > k.txt; exit 4")
    tap.equal(done.returncode, 4, "run --keep: the command's own code")
    tap.equal(home.call("exec", "kept", "--", "cat", "k.txt").stdout, "k\n", "the sandbox is there afterwards")
    done = home.call("run", "--keep", "kept", "--", "true")
    tap.ok(refused(done, 125, "kept"), "a name that is taken", done)
    home.call("rm", "kept")


def test_shell(home):
    home.call("create", "sh")
    seen, code = home.on_terminal("shell", "sh", typed=[(b"", b"stty size; tty; echo $((40+2)) > s.txt; exit 9\n")],
                                  SHELL="/bin/sh")
    tap.ok(code == 9 and b"/dev/pts/" in seen, "shell has a terminal, and its exit code comes back", (seen, code))
    tap.equal(sh(home, "sh", "cat s.txt").stdout, "42\n", "what was done there stays")
    done = home.call("shell", "sh", stdin="echo piped; exit 3\n")
    tap.ok(done.returncode == 3 and done.stdout == "piped\n", "shell of a pipe", done)
    home.call("rm", "sh")


def test_cp(home):
    home.put("in put.txt", "data\n", 0o750)
    home.call("create", "cp")
    done = home.call("cp", "in put.txt", "cp:there.txt")
    tap.ok(done.returncode == 0, "a file is copied in", done)
    tap.equal(sh(home, "cp", "cat there.txt; stat -c %a there.txt").stdout, "data\n750\n", "with its mode")
    home.call("cp", "in put.txt", "cp:-x")
    home.call("cp", "in put.txt", "cp:")
    tap.ok("-x" in sh(home, "cp", "ls; cat 'in put.txt'").stdout, "under any name")
    done = home.call("cp", "in put.txt", "cp:no/such/dir")
    tap.ok(refused(done, 2, "no/such/dir"), "into a directory that is not there", done)
    sh(home, "cp", "mkdir o; echo x > o/x")
    done = home.call("cp", "cp:o", home.path + "/o")
    tap.ok(done.returncode == 0 and os.path.exists(home.path + "/o/x") and "aisbx undo" in done.stdout,
           "a directory is copied out, undoably", done)
    done = home.call("undo", re.search(r"undo (\w+)", done.stdout + " undo x").group(1))
    tap.ok(done.returncode == 0 and not os.path.exists(home.path + "/o"), "and taken back", done)
    tap.ok(refused(home.call("cp", "a", "b"), 2, "NAME:SRC"), "neither in a sandbox")
    tap.ok(refused(home.call("cp", "a:b", "c:d"), 2, "NAME:SRC"), "both in one")
    tap.ok(refused(home.call("cp", "cp:nope", home.path + "/n"), 5, "nope"), "out: not there")
    tap.ok(refused(home.call("cp", "nope", "cp:n"), 5, "nope"), "in: not there")
    tap.ok(home.call("cp", home.work, "cp:n").returncode == 0, "in: a directory")
    home.call("rm", "cp")
    os.unlink(home.work + "/in put.txt")


def test_together(home):
    """Several commands at once in one sandbox, and many sandboxes side by side."""
    home.call("create", "many")
    children = [subprocess.Popen([AISBX, "exec", "many", "--", "sh", "-c", f"echo {n} > f{n}"], cwd=home.work,
                                 env=home.env) for n in range(8)]
    tap.equal([child.wait() for child in children], [0] * 8, "eight commands at once")
    tap.equal(sh(home, "many", "cat f?").stdout.split(), [str(n) for n in range(8)], "all of them did it")
    names = [f"many-{n}" for n in range(20)]
    home.call("snap", "many")
    tap.ok(all(home.call("fork", "many@s1", name).returncode == 0 for name in names), "twenty forks")
    tap.ok(all(sh(home, name, "cat f3").stdout == "3\n" for name in names[::5]), "each sees it")
    tap.equal(home.call("rm", "many", *names).returncode, 0, "removed")


def test_diff(home):
    text = "".join(f"line {n}\n" for n in range(40))
    for name in ("edit.txt", "gone.txt", "moved.txt", "mode.sh", "same.txt"):
        home.put(name, name + "\n" + text)
    os.symlink("edit.txt", home.work + "/link")
    home.call("create", "d")
    tap.equal(home.call("diff", "d").stdout, "", "nothing changed, nothing shown")
    tap.equal(home.call("diff", "d", "--exit-code").returncode, 0, "and --exit-code is 0")
    sh(home, "d", "sed -i 's/line 7$/LINE 7/' edit.txt; rm gone.txt; mv moved.txt there.txt; chmod +x mode.sh; "
                  "cp same.txt x; cat x > same.txt; rm x; ln -sfn mode.sh link; printf 'a\\0b' > bin; mkdir sub; "
                  "echo n > sub/new.txt")
    done = home.call("diff", "d", "--name-status")
    got = dict(reversed(line.split("\t", 1)) for line in done.stdout.splitlines())
    want = {"bin": "A", "edit.txt": "M", "gone.txt": "D", "link": "M", "mode.sh": "M", "sub/new.txt": "A"}
    tap.ok(all(got.get(k) == v for k, v in want.items()) and "same.txt" not in got, "--name-status", done.stdout)
    tap.ok(any(k.endswith("there.txt") and v.startswith("R") for k, v in got.items()), "a rename is one", done.stdout)
    done = home.call("diff", "d", "--name-status", "-z", binary=True)
    tap.ok(b"M\0edit.txt\0" in done.stdout and b"\n" not in done.stdout, "-z", done.stdout)
    done = home.call("diff", "d")
    tap.ok("-line 7\n+LINE 7\n" in done.stdout and "\x1b" not in done.stdout, "a unified diff", done.stdout[:600])
    tap.equal(home.call("diff", "d", "--patch").stdout, done.stdout, "--patch says the same")
    tap.equal(home.call("diff", "d", "--exit-code").returncode, 1, "--exit-code is 1")
    done = home.call("diff", "d", "--stat")
    tap.ok("edit.txt" in done.stdout and "changed" in done.stdout.splitlines()[-1], "--stat", done.stdout)
    rows = home.rows("diff", "d")
    edit = next((row for row in rows if row["path"] == "edit.txt"), {})
    tap.ok(edit.get("op") == "modified" and "content" in edit.get("aspects") and edit["type"] == "file"
           and edit["path_b64"] is None and edit["stale"] is False, "--json: one object per change", edit)
    home.call("snap", "d")
    sh(home, "d", "echo later > later.txt; rm bin")
    home.call("snap", "d")
    tap.equal(home.call("diff", "d", "s1..s2", "--name-status").stdout, "D\tbin\nA\tlater.txt\n", "s1..s2")
    tap.equal(home.call("diff", "d@s2", "s1..", "--name-status").stdout, "D\tbin\nA\tlater.txt\n", "@s2 s1..")
    tap.ok("bin" in home.call("diff", "d@s1", "--name-status").stdout, "NAME@SNAP")
    tap.ok(refused(home.call("diff", "d", "s1..s9"), 5, "s9"), "an unknown end")
    tap.ok(refused(home.call("diff", "d@s1", "s1..s2"), 2, "s2"), "two ends at once")
    home.call("rm", "d")


def test_parents(home):
    """Directories above what was written are no change, although a plain user's sandbox has its own."""
    mode = os.stat(home.path).st_mode & 0o7777
    os.chmod(home.path, mode if os.geteuid() == 0 else 0o2755)
    home.call("run", "--keep", "above", "--", "sh", "-c", "echo n > ~/new; mkdir -p ~/.cache/made; echo n > n.txt")
    lines = home.call("diff", "above", "--name-status").stdout.splitlines()
    tap.ok(f"A\t{home.path}/new" in lines and not [line for line in lines if line.startswith("M")],
           "no directory is modified by a file in it", lines)
    os.chmod(home.path, mode)
    home.call("rm", "above")


def test_branches(home):
    """Snapshots of which neither comes from the other."""
    home.put("f.txt", "base\n")
    home.call("create", "br")
    sh(home, "br", "echo one > f.txt; echo common > c.txt")
    home.call("snap", "br")
    sh(home, "br", "echo left > f.txt; echo l > l.txt; echo same > alike.txt")
    home.call("snap", "br")
    home.call("rollback", "br", "s1")
    sh(home, "br", "echo right > f.txt; echo r > r.txt; echo same > alike.txt; rm c.txt")
    home.call("snap", "br")
    status = lambda *words: home.call("diff", "br", *words, "--name-status").stdout
    tap.equal(status("s2..s3"), "D\tc.txt\nM\tf.txt\nD\tl.txt\nA\tr.txt\n", "two branches")
    tap.equal(status("s3..s2"), "A\tc.txt\nM\tf.txt\nA\tl.txt\nD\tr.txt\n", "the other way")
    tap.equal(status("s2..s1"), "D\talike.txt\nM\tf.txt\nD\tl.txt\n", "back to an ancestor")
    tap.equal(status("s2..s2"), "", "one with itself")
    done = home.call("diff", "br", "s2..s3")
    tap.ok("-left\n+right\n" in done.stdout and "-l\n" in done.stdout and "+r\n" in done.stdout, "as a patch", done)
    tap.ok(status("base..s3") == status("..s3"), "from the base", (status("base..s3"), status("..s3")))
    home.call("rm", "br")
    os.unlink(home.work + "/f.txt")


def test_patch_applies(home):
    """What diff prints is what git takes, and gives the same tree."""
    for n in range(3):
        home.put(f"p{n}.txt", "".join(f"{k}\n" for k in range(30)))
    home.call("create", "p")
    sh(home, "p", "sed -i 's/^3$/three/' p0.txt; rm p1.txt; printf 'no newline' > p2.txt; printf x > 'sp ace'; chmod +x p0.txt")
    copy = home.path + "/copy"
    subprocess.run(["cp", "-a", home.work, copy], check=True)
    patch = home.call("diff", "p", "--patch", binary=True).stdout
    done = subprocess.run(["git", "apply", "-"], input=patch, cwd=copy, capture_output=True, check=False)
    tap.ok(done.returncode == 0, "git apply takes the patch", done)
    inside = sh(home, "p", "head -c 99 p0.txt p2.txt 'sp ace'; ls -l p0.txt | cut -c1-10; ls p1.txt").stdout
    outside = subprocess.run(["sh", "-c", "head -c 99 p0.txt p2.txt 'sp ace'; ls -l p0.txt | cut -c1-10; ls p1.txt"],
                             cwd=copy, capture_output=True, text=True, check=False).stdout
    tap.equal(outside, inside, "and makes of it what the sandbox has")
    home.call("rm", "p")


HOSTILE = ["new\nline", "esc\x1b]52;c;eA==\x07", "rtl\u202eo", "tab\there", "-dash", "back\\slash", "q\"uote", "n" * 255,
           "zero\u200bwidth", b"not\xff\xfeutf8"]


def test_hostile_names(home):
    home.call("create", "h")
    script = "".join(f"printf x > ./{shell_bytes(name)};" for name in HOSTILE)
    done = home.call("exec", "h", "--", "sh", "-c", os.fsdecode(script) if isinstance(script, bytes) else script)
    tap.ok(done.returncode == 0, "hostile names are made", done)
    done = home.call("diff", "h", "--name-status", binary=True)
    lines = done.stdout.splitlines()
    tap.ok(len(lines) == len(HOSTILE) and all(re.fullmatch(rb"[\x20-\x7e\t]+", line) for line in lines),
           "one line each, nothing but plain bytes", done.stdout)
    done = home.call("diff", "h", "--name-status", "-z", binary=True)
    wanted = {n if isinstance(n, bytes) else n.encode() for n in HOSTILE}
    tap.equal(set(done.stdout.split(b"\0")[1::2]), wanted, "exact with -z")
    rows = home.rows("diff", "h")
    tap.ok(len(rows) == len(HOSTILE) and any(row["path_b64"] for row in rows), "--json: one object each", rows)
    seen, _ = home.on_terminal("diff", "h")
    bare = re.sub(rb"\x1b\[[0-9;]*m", b"", seen)
    tap.ok(b"\x1b" not in bare and b"\x07" not in bare and "\u202e".encode() not in bare, "a terminal is not steered", seen)
    lines = home.call("diff", "h", "--name-status").stdout.splitlines()
    done = home.call("promote", "h", "--", *[line.split("\t", 1)[1] for line in lines])
    tap.ok(done.returncode == 0, "promote takes them as printed", done)
    tap.ok(wanted <= set(os.listdir(os.fsencode(home.work))), "bytes exact on disk", os.listdir(home.work))
    home.call("rm", "h")
    for name in wanted:
        os.unlink(os.path.join(os.fsencode(home.work), name))


def shell_bytes(name):
    """NAME as a word of sh that holds plain characters only."""
    raw = name if isinstance(name, bytes) else name.encode()
    return '"$(printf \'' + "".join(f"\\{byte:03o}" for byte in raw) + "_')\"" if raw.endswith(b"\n") else \
        "\"$(printf '" + "".join(f"\\{byte:03o}" for byte in raw) + "')\""


def test_hostile_content(home):
    home.put("c.txt", "fine\n")
    home.call("create", "c")
    evil = "ok\rbad \x1b]8;;http://x\x07link\x1b]8;;\x07 \x1b]52;c;eA==\x07 \u202ertl \u200bzero \x07bell\n"
    home.call("exec", "c", "--", "sh", "-c", "cat > c.txt", stdin=evil)
    piped = home.call("diff", "c", binary=True).stdout
    tap.ok(evil.encode() in piped, "in a pipe the bytes are what they are", piped)
    seen, _ = home.on_terminal("diff", "c")
    bare = re.sub(rb"\x1b\[[0-9;]*m", b"", seen.replace(b"\r\n", b"\n"))
    tap.ok(not re.search(rb"[\x1b\x07\r]", bare) and "\u202e".encode() not in bare and "\u200b".encode() not in bare,
           "on a terminal nothing steers it", seen)
    tap.ok(b"\\x1b]52" in bare and b"\\x0d" in bare and b"\\u{202e}" in bare, "and the escapes are visible", seen)
    tap.ok(b"\x1b[" in seen, "with colour")
    seen, _ = home.on_terminal("diff", "c", NO_COLOR="1")
    tap.ok(b"\x1b" not in seen, "without, with NO_COLOR", seen)
    seen, _ = home.on_terminal("diff", "c", "--raw")
    tap.ok(b"\x1b]52;c;eA==\x07" in seen, "raw only with --raw", seen)
    home.call("rm", "c")


def test_pager(home):
    home.put("long.txt", "")
    home.call("create", "pg")
    sh(home, "pg", "seq 5000 > long.txt")
    seen, _ = home.on_terminal("diff", "pg", PAGER="sed s/^/PAGED:/")
    tap.ok(b"PAGED:" in seen and b"5000" in seen, "long answers are paged on a terminal", seen[:300])
    done = home.call("diff", "pg", PAGER="sed s/^/PAGED:/")
    tap.ok("PAGED:" not in done.stdout, "never in a pipe")
    home.call("rm", "pg")


def test_planted_git(home):
    """A132: nothing that a tree says about git makes any verb run anything."""
    mark = home.path + "/ran"
    evil = home.put("evil.sh", f"#!/bin/sh\ntouch {mark}\ncat\n", 0o755)
    subprocess.run(["git", "init", "-q", home.work], check=True, env=home.env)
    with open(home.work + "/.git/config", "a") as out:
        out.write(f"[core]\n\tfsmonitor = {evil}\n\tpager = {evil}\n\thooksPath = {home.work}\n\teditor = {evil}\n"
                  f"[diff]\n\texternal = {evil}\n[diff \"x\"]\n\ttextconv = {evil}\n"
                  f"[filter \"x\"]\n\tclean = {evil}\n\tsmudge = {evil}\n[merge \"x\"]\n\tdriver = {evil}\n")
    home.put(".gitattributes", "* diff=x filter=x merge=x\n")
    home.put("t.txt", "a\nb\nc\n")
    for words in (["create", "g"], ["exec", "g", "--", "sh", "-c", "echo x >> t.txt"], ["snap", "g"], ["diff", "g"],
                  ["diff", "g", "--stat"], ["status", "g"], ["snaps", "g"], ["ls"], ["inspect", "g"], ["refresh", "g"],
                  ["fork", "g", "g2"], ["promote", "g", "--dry-run", "--strategy", "merge"],
                  ["promote", "g", "t.txt", "--strategy", "merge"], ["promotions"], ["undo"], ["rollback", "g"],
                  ["try", "-n", "--", "true"], ["stop", "g"]):
        done = home.call(*words)
        tap.ok(not os.path.exists(mark), f"{' '.join(words[:3])} runs nothing planted", done)
    home.on_terminal("diff", "g2")
    tap.ok(not os.path.exists(mark), "nor does a diff on a terminal")
    home.call("rm", "g", "g2")
    subprocess.run(["rm", "-rf", home.work + "/.git", home.work + "/.gitattributes", evil], check=True)


def test_store_hidden(home):
    """A sandbox sees neither the store nor other sandboxes' files."""
    home.call("create", "a1")
    home.call("create", "a2")
    sh(home, "a1", "echo secret-of-a1 > own.txt")
    done = sh(home, "a2", f"ls -A {home.path}/.local/share/aisbx 2>/dev/null; grep -rs secret-of-a1 {home.path}; true")
    tap.equal(done.stdout, "", "nothing of another sandbox is seen")
    home.call("rm", "a1", "a2")


def main():
    with Home("aisbx-ws.") as home:
        home.put("kept.txt", "kept\n")
        home.put("old.txt", "old\n")
        test_usage(home)
        test_names(home)
        if not home.can_run(tap, "named sandboxes"):
            return tap.done()
        for test in (test_life, test_background, test_snapshots, test_ttl, test_keep, test_shell, test_cp,
                     test_together, test_diff, test_parents, test_branches, test_patch_applies, test_hostile_names,
                     test_hostile_content, test_pager, test_planted_git, test_store_hidden):
            tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
