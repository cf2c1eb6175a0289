#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""artifact: build outputs kept, listed and got back; they outlive their sandbox and the garbage collector.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a home of its own.
"""

import base64
import glob
import hashlib
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from clitest import Home, Tap, refused  # noqa: E402

tap = Tap()
BUILD = "mkdir -p dist/sub; echo built > dist/app; chmod 755 dist/app; ln -s app dist/link; echo deep > dist/sub/x"


def test_file(home):
    home.call("create", "b")
    home.call("exec", "b", "--", "sh", "-c", BUILD)
    row = home.data("artifact", "save", "b", "dist/app")
    tap.equal((row.get("path"), row.get("kind"), row.get("size"), row.get("mode"), row.get("sandbox")),
              ("dist/app", "file", 6, 0o755, "b"), "a file is saved with what is known of it")
    tap.equal(row.get("sha256"), hashlib.sha256(b"built\n").hexdigest(), "its sha256")
    tap.ok(row.get("run_id") and home.call("show", row["run_id"]).returncode == 0, "and the run it came from", row)
    home.call("exec", "b", "--", "sh", "-c", "echo newer > dist/app")
    done = home.call("artifact", "get", row["artifact_id"][:20], "out")
    tap.ok(done.returncode == 0 and home.read("out") == "built\n", "it is got back as it was", done)
    tap.equal(os.stat(home.work + "/out").st_mode & 0o777, 0o755, "with its permissions")
    tap.ok(refused(home.call("artifact", "get", row["artifact_id"], "out"), 3, "--force"), "what is there stays")
    home.put("victim", "safe\n")
    os.unlink(home.work + "/out")
    os.symlink("victim", home.work + "/out")
    tap.equal(home.call("artifact", "get", row["artifact_id"], "out").returncode, 3, "a link, too")
    done = home.call("artifact", "get", row["artifact_id"], "out", "--force")
    tap.ok(done.returncode == 0 and home.read("victim") == "safe\n" and not os.path.islink(home.work + "/out"),
           "--force replaces the link, not what it leads to", done)
    os.mkdir(home.work + "/into")
    tap.equal((home.call("artifact", "get", row["artifact_id"], "into").returncode, home.read("into/app")),
              (0, "built\n"), "a directory takes it under its own name")
    return row


def test_directory(home):
    row = home.data("artifact", "save", "b", "dist/")
    tap.equal((row.get("kind"), len(row.get("entries", []))), ("directory", 3), "a directory with all that was made in it")
    done = home.call("artifact", "get", row["artifact_id"], "copy")
    tap.ok(done.returncode == 0 and home.read("copy/sub/x") == "deep\n", "got back as a directory", done)
    tap.equal(os.readlink(home.work + "/copy/link"), "app", "links as links")
    tap.equal(home.call("artifact", "get", row["artifact_id"], "copy/none/x").returncode, 5, "not to nowhere")
    rows = home.rows("artifact", "ls")
    tap.equal([one["path"] for one in rows], ["dist", "dist/app"], "ls is newest first")


def test_left_out(home):
    """What has no content to save is left out, and that is told."""
    home.call("exec", "b", "--", "sh", "-c", "mkdir pipes; mkfifo pipes/one pipes/two; mkdir only; mkfifo only/one; echo x > pipes/x")
    done = home.call("artifact", "save", "b", "pipes")
    tap.ok(done.returncode == 0 and "2 sockets, pipes or devices were left out" in done.stderr, "pipes in a directory", done)
    row = home.data("artifact", "save", "b", "pipes")
    tap.equal((row.get("left_out"), [one["path"] for one in row.get("entries", [])]), (2, ["x"]), "as data")
    tap.ok(refused(home.call("artifact", "save", "b", "only"), 5, "nothing in it but sockets, pipes or devices"), "where there is nothing else")
    for row in home.rows("artifact", "ls"):
        if row["path"] == "pipes":
            home.call("artifact", "rm", row["artifact_id"])
    home.call("exec", "b", "--", "rm", "-r", "pipes", "only")


def test_show(home):
    """What was saved is read without being written anywhere; text as text, the rest as base64."""
    raw = b"\0\xff\x1b[2Jraw\n"
    home.call("exec", "b", "--", "sh", "-c", "mkdir -p show/sub; printf 'caf\\303\\251\\n' > show/text; : > show/none; "
              "printf '\\000\\377\\033[2Jraw\\n' > 'show/sub/a b'; truncate -s 5M show/large; ln -s ../elsewhere show/link")
    rows = {row["path"]: row["artifact_id"] for row in home.rows("artifact", "save", "b", "show/text", "show")}
    text, tree = rows["show/text"], rows["show"]
    done = home.call("artifact", "show", text, binary=True)
    tap.ok(done.returncode == 0 and done.stdout == "caf\xe9\n".encode(), "show prints a file as it is", done)
    shown = home.data("artifact", "show", text[:20])
    tap.equal((shown.get("content"), shown.get("encoding"), shown.get("artifact_id"), shown.get("path")),
              ("caf\xe9\n", "utf-8", text, "show/text"), "--json has it beside what is known of it")
    shown = home.data("artifact", "show", tree)
    tap.ok(sorted(row["path"] for row in shown.get("entries", [])) == ["large", "link", "none", "sub/a b", "text"]
           and "content" not in shown, "of a directory the list", shown)
    listed = json.loads(home.call("artifact", "show", tree).stdout)
    tap.equal(listed.get("entries"), shown.get("entries"), "for people, too")
    done = home.call("artifact", "show", tree, "sub/a b", binary=True)
    tap.ok(done.returncode == 0 and done.stdout == raw, "a file in it by its name, every byte", done)
    for words in (("artifact", "show", tree, "sub/a b"), ("files", "read", "b", "show/sub/a b")):
        seen, code = home.on_terminal(*words)
        tap.ok(code == 0 and b"\\x1b[2Jraw" in seen and b"\x1b[2J" not in seen,
               f"{words[0]}: a terminal gets escapes to read, not to obey", seen)
    # By code point: C1 controls, marks and overrides of direction, what is invisible, the end of a line by another name.
    steering = [0x85, 0x9b, 0x9d, 0x200e, 0x200f, 0x202a, 0x202e, 0x2066, 0x2069, 0x200b, 0x2028, 0xfeff, 0xe0041]
    text_of = "".join(f"a{chr(point)}b\n" for point in steering)
    home.call("exec", "b", "--", "sh", "-c", "cat > show/steering", stdin=text_of)
    home.call("exec", "b", "--", "sh", "-c", "mkdir 'show/d\u202e\u009b'; echo x > 'show/d\u202e\u009b/x'")
    saved = {row["path"]: row["artifact_id"] for row in home.rows("artifact", "save", "b", "show/steering", "show/d\u202e\u009b")}
    for words in (("artifact", "show", saved["show/steering"]), ("files", "read", "b", "show/steering"), ("artifact", "ls"),
                  ("files", "ls", "b", "show"), ("artifact", "show", saved["show/steering"], "--json"), ("diff", "b"), ("diff", "b", "--json")):
        seen, code = home.on_terminal(*words)
        obeyed = [f"{point:x}" for point in steering if chr(point).encode() in seen or (0x80 <= point < 0xa0 and b"a%cb" % point in seen)]
        tap.ok(code == 0 and not obeyed and (b"202e" in seen or b"\\342\\200\\256" in seen), f"{' '.join(words[:2] + words[3:])}: nothing steers the terminal", (obeyed, seen))
    whole = home.call("artifact", "show", saved["show/steering"], binary=True).stdout
    tap.equal(whole, text_of.encode(), "a pipe gets every byte of it")
    tap.equal(home.data("artifact", "show", saved["show/steering"]).get("content"), text_of, "and JSON has the same text")
    home.call("artifact", "rm", *saved.values())
    home.call("exec", "b", "--", "rm", "-r", "show/steering", "show/d\u202e\u009b")
    shown = home.data("artifact", "show", tree, "sub/a b")
    tap.ok(base64.b64decode(shown.get("content", "")) == raw and shown.get("encoding") == "base64"
           and "entries" not in shown, "which is no text, and said to be base64", shown)
    tap.equal([home.data("artifact", "show", tree, "none").get(key) for key in ("content", "encoding")], ["", "utf-8"],
              "an empty one is empty")
    tap.equal(home.call("artifact", "show", tree, "link").stdout, "a symbolic link to ../elsewhere\n", "of a link, where it leads")
    shown = home.data("artifact", "show", tree, "link")
    tap.ok(shown.get("link") == "../elsewhere" and "content" not in shown, "--json, too", shown)
    tap.ok(refused(home.call("artifact", "show", tree, "large"), 4, "artifact get"), "what is large is for artifact get")
    for words, code in ((("0123456",), 5), ((tree, "nothing"), 5), ((tree, "sub"), 5), ((tree, "../text"), 5),
                        ((text, "text"), 5), ((), 2), ((tree, "text", "more"), 2)):
        done = home.call("artifact", "show", *words)
        tap.ok(refused(done, code), f"show {' '.join(words[1:]) or words}: exit {code}", done)
    tap.equal(home.call("artifact", "rm", text).returncode + home.call("artifact", "rm", tree).returncode, 0, "both are forgotten")


def test_kept(home, row):
    home.call("rm", "b")
    store = home.path + "/.local/share/aisbx/cas"
    before = time.time() - 4000
    for path in glob.glob(store + "/*/*"):
        os.utime(path, (before, before))
    home.call("gc")
    done = home.call("artifact", "get", row["artifact_id"], "after-gc")
    tap.ok(done.returncode == 0 and home.read("after-gc") == "built\n", "it outlives its sandbox and gc", done)
    digest = row["sha256"]
    kept = f"{store}/{digest[:2]}/{digest[2:]}"
    os.chmod(kept, 0o600)
    with open(kept, "w") as out:
        out.write("forged\n")
    done = home.call("artifact", "get", row["artifact_id"], "forged")
    tap.ok(done.returncode != 0 and not os.path.exists(home.work + "/forged"), "a content that changed is refused", done)
    tap.equal([name for name in os.listdir(home.work) if name.startswith(".aisbx")], [], "and leaves no draft")
    tap.equal(home.call("artifact", "rm", row["artifact_id"]).returncode, 0, "rm forgets one")
    tap.equal(home.call("artifact", "get", row["artifact_id"], "x").returncode, 5, "which is not found then")


def test_consent(home):
    """The same rule as for every way out: hooks, settings of editors and links that lead out are asked about."""
    home.call("create", "w")
    home.call("exec", "w", "--", "sh", "-c", "mkdir -p d/.vscode; echo '{}' >d/.vscode/tasks.json; ln -s /etc/passwd d/out; "
              "echo y >d/plain; echo x >hook; chmod 777 hook")
    rows = {row["path"]: row["artifact_id"] for row in home.rows("artifact", "save", "w", "d", "hook")}
    done = home.call("artifact", "get", rows["d"], "got")
    tap.ok(done.returncode == 4 and "got/.vscode/tasks.json" in done.stdout and "got/out" in done.stdout, "they need a word", done)
    tap.ok(not os.path.lexists(home.work + "/got"), "and nothing is written before")
    found = home.data("artifact", "get", rows["d"], "got")
    tap.equal(sorted(one["path"] for one in found.get("consent", [])), ["got/.vscode/tasks.json", "got/out"], "--json, too")
    done = home.call("artifact", "get", rows["d"], "got", "--allow-path", "got/out")
    tap.ok(done.returncode == 4 and not os.path.lexists(home.work + "/got"), "one word is not for the others", done)
    done = home.call("artifact", "get", rows["d"], "got", "--allow-path", "got/out", "--allow-path", "got/.vscode/tasks.json")
    tap.ok(done.returncode == 0 and home.read("got/plain") == "y\n" and "aisbx undo" in done.stdout, "agreed to", done)
    tap.ok(home.call("undo").returncode == 0 and not os.path.lexists(home.work + "/got"), "and taken back")
    os.makedirs(home.work + "/.git/hooks")
    done = home.call("artifact", "get", rows["hook"], ".git/hooks/pre-commit")
    tap.ok(done.returncode == 4 and not os.listdir(home.work + "/.git/hooks"), "a hook by its place", done)
    done = home.call("cp", "w:hook", ".git/hooks/pre-commit")
    tap.ok(done.returncode == 4 and "promote w --artifact hook --to .git/hooks/pre-commit" in done.stdout, "as cp asks", done)
    before = os.umask(0o027)
    home.call("artifact", "get", rows["hook"], "narrow")
    os.umask(before)
    tap.equal(os.stat(home.work + "/narrow").st_mode & 0o777, 0o750, "the caller's umask holds")
    tap.equal([name for name in os.listdir(home.path + "/.local/share/aisbx/artifacts") if name.startswith(".")], [],
              "no draft stays in the store")


def test_mistakes(home):
    home.call("create", "c")
    for words, code in ((("save", "c", "nothing-there"), 5), (("save", "nobody", "x"), 5), (("save", "c", "../../x"), 2),
                        (("save", "c"), 2), (("get", "0123"), 2), (("get", "0123456", "x"), 5), ((), 2),
                        (("save", "c", "/dev/null"), 5)):
        done = home.call("artifact", *words)
        tap.ok(refused(done, code), f"artifact {' '.join(words)}: exit {code}", done)


def test_room(home):
    """What an owner may keep is bounded by bytes and by number; what another owner has does not count."""
    store = home.path + "/.local/share/aisbx/artifacts"
    home.call("create", "r")
    home.call("exec", "r", "--", "sh", "-c", "mkdir many; for i in 1 2 3; do head -c 4000 /dev/zero >many/$i; done; echo small >small")
    model = home.data("artifact", "save", "r", "small")

    def forge(number, size, owner):
        """A record as `save` would have left it."""
        name = f"01AAAAAAAAAAAAAAAAAAAA{number:04d}"
        with open(f"{store}/{name}", "w") as out:
            json.dump({**model, "artifact_id": name, "size": size, "allocated": size, "owner": owner}, out)
        return f"{store}/{name}"
    others = forge(1, 1 << 40, "program")
    tap.equal(home.call("artifact", "save", "r", "small").returncode, 0, "what another owner keeps takes no room")
    large = forge(2, 10 << 30, None)
    for words in (("small",), ("many",), ("many/1",)):
        done = home.call("artifact", "save", "r", *words)
        tap.ok(refused(done, 4, "aisbx artifact rm"), f"10 GiB are kept: {words[0]} is refused, with the way out", done)
    tap.equal(home.call("artifact", "save", "r", "small", "--max", "11g").returncode, 0, "--max gives more room")
    tap.equal(home.call("artifact", "rm", os.path.basename(large)).returncode, 0, "one is forgotten")
    tap.equal(home.call("artifact", "save", "r", "many").returncode, 0, "and there is room again")
    tap.ok(refused(home.call("artifact", "save", "r", "many", "--max", "10k"), 4, "at most 4096 with 10k"), "a smaller bound holds, too")
    forged = [forge(number, 0, None) for number in range(10, 10 + 4096)]
    done = home.call("artifact", "save", "r", "small")
    tap.ok(refused(done, 4, "at most 4096"), "4,096 are enough, however small", done)
    for path in [others, *forged]:
        os.unlink(path)
    tap.equal(home.call("artifact", "save", "r", "small").returncode, 0, "without them all is as before")


def main():
    with Home(prefix="aisbx-artifact-") as home:
        first = home.call("run", "--", "true")
        if first.returncode != 0:
            tap.skip("artifacts", "no sandbox can be made here: " + first.stderr.strip())
            return tap.done()
        row = test_file(home)
        tap.attempt(test_directory, home)
        tap.attempt(test_left_out, home)
        tap.attempt(test_show, home)
        tap.attempt(test_kept, home, row)
        tap.attempt(test_consent, home)
        tap.attempt(test_mistakes, home)
        tap.attempt(test_room, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
