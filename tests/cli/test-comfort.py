#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What makes the command line easy to begin with: no -- needed, short help, a tour, sweeping up, quiet, tails of failed checks.

Takes the program from AISBX. Speaks TAP. Ends only processes that it started itself.
"""
import glob
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from clitest import AISBX, Home, Tap, refused
from family import until

tap = Tap()


def test_dashes(home):
    """The command begins at the first word that is no flag, and all behind it is the command's."""
    home.call("create", "box")
    for words in (["run"], ["exec", "box"], ["try", "-n"]):
        done = home.call(*words, "printf", "%s|", "--json", "-q", "--", "-h")
        tap.ok(done.stdout.startswith("--json|-q|--|-h|"), f"{words}: flags behind the command are its own", done)
    done = home.call("run", "--env", "A=1", "sh", "-c", "echo $A $1", "sh", "--time")
    tap.equal(done.stdout, "1 --time\n", "flags in front are ours")
    done = home.call("exec", "box", "--env", "A=2", "sh", "-c", "echo $A")
    tap.equal(done.stdout, "2\n", "also between the name and the command")
    done = home.call("run", "--", "printf", "%s|", "--", "x")
    tap.equal(done.stdout, "--|x|", "-- still ends ours, once")
    tap.equal([home.call("run", "--no-such-flag", "true").returncode, home.call("exec", "box").returncode], [125, 125],
              "an unknown flag in front and no command at all are refused")
    tap.equal(json.loads(home.call("guard", "--json", "rm", "-rf", "/").stdout)["decision"] != "direct", True, "guard takes a command as it is")


def test_help(home):
    text = home.call("help").stdout
    shown = [line.split()[0] for line in text.splitlines() if line.startswith("  ") and not line.startswith("   ")]
    every = [verb["name"] for verb in home.rows("help")]
    tap.ok(len(shown) == 10 and set(shown) <= set(every), "ten verbs to begin with", shown)
    tap.ok(text.splitlines()[-1].endswith("aisbx tour"), "the last line names the tour", text)
    bare = home.call()
    tap.equal([bare.returncode, bare.stdout], [2, text], "without a word the same, which is no success")
    whole = home.call("help", "--all").stdout
    tap.ok(all(f"\n  {name} " in whole for name in every), "help --all has every verb")


def test_tour(home):
    before = set(glob.glob("/var/tmp/aisbx-tour.*"))
    done = home.call("tour")
    tap.ok(done.returncode == 0 and "three years of work" in done.stdout and "think wins" in done.stdout, "the tour works", done)
    tap.ok("tour: expected" not in done.stderr, "and comes out as it says", done.stderr)
    # Others may be on a tour beside us, which ends as well.
    left = set(glob.glob("/var/tmp/aisbx-tour.*")) - before
    tap.ok(until(lambda: not any(map(os.path.exists, left))) and home.rows("promotions") == [], "nothing of it stays", left)
    tap.equal(home.data("tour"), {"ok": True}, "as data")
    with Home("comfort.") as own:
        with open(own.work + "/thesis.txt", "w", encoding="utf-8") as file:
            file.write("three years of work\n")
        tap.equal(as_printed(own, done.stdout), [0] * 6, "what it prints runs as printed")


def as_printed(home, text):
    """How the commands that a tour shows end, each typed into a shell that finds the program."""
    os.makedirs(home.path + "/bin", exist_ok=True)
    if not os.path.lexists(home.path + "/bin/aisbx"):
        os.symlink(AISBX, home.path + "/bin/aisbx")
    env = {**home.env, "PATH": home.path + "/bin:" + home.env["PATH"]}
    lines = [line[2:] for line in text.splitlines() if line.startswith("$ ")]
    return [subprocess.run(["sh", "-c", line], cwd=home.work, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           check=False).returncode for line in lines]


def test_tour_here(home):
    with Home("comfort.") as own:
        note = own.work + "/aisbx-tour-note"
        for name in ("setup.py", "notes"):
            with open(own.work + "/" + name, "w", encoding="utf-8") as file:
                file.write(name)
        done = own.call("tour", "--here")
        tap.ok(done.returncode == 0 and own.work in done.stdout and "A\taisbx-tour-note" in done.stdout, "a tour of the caller's directory", done)
        tap.ok("Next: aisbx try python3 -m pytest" in done.stdout, "ends with a command for that project", done.stdout)
        tap.equal([sorted(os.listdir(own.work)), own.rows("ls"), len(own.rows("history"))], [["notes", "setup.py"], [], 3],
                  "which is as it was; the runs are on record")
        tap.equal([code == 0 for code in as_printed(own, done.stdout)], [True, True, False, True, True], "what it prints runs as printed")
        with open(note, "w", encoding="utf-8") as file:
            file.write("mine")
        done = own.call("tour", "--here")
        with open(note, encoding="utf-8") as file:
            tap.ok(done.returncode == 1 and "there already" in done.stderr and file.read() == "mine", "a file of that name is left alone", done)
    tap.equal(home.call("tour", "there").returncode, 2, "it takes no words")


def test_mount(home):
    """What is kept for a workspace is shown to its sandboxes, read-only, and is never followed elsewhere."""
    data, other = home.path + "/data set", home.path + "/other-place"
    for path in (data, other):
        os.makedirs(path)
        with open(path + "/f", "w") as out:
            out.write("shown\n")
    with open(other + "/f", "w") as out:
        out.write("SECRET\n")
    tap.equal(home.call("mount").stdout.startswith("no mounts"), True, "none to begin with")
    done = home.call("mount", "--ro", "../data set:/mnt/ds")
    tap.ok(done.returncode == 0 and "/mnt/ds" in done.stdout, "mount as written", done)
    home.call("create", "later")
    tap.equal(home.rows("mount"), [{"host": os.path.realpath(data), "guest": "/mnt/ds", "mode": "ro", "workspace": os.path.realpath(home.work)}], "listed")
    for words in (["run", "--"], ["exec", "later", "--"]):
        tap.equal(home.call(*words, "cat", "/mnt/ds/f").stdout, "shown\n", f"seen by {words[0]}")
    done = home.call("run", "--", "sh", "-c", "echo x > /mnt/ds/f")
    tap.ok(done.returncode != 0 and home.read("../data set/f") == "shown\n", "not to be written", done)
    tap.equal(home.call("run", "-C", other, "--", "cat", "/mnt/ds/f").returncode, 1, "another workspace does not see it")
    for words, code in ((["--ro", "/no/such:/x"], 5), (["--ro", "../data set:/proc/x"], 4), (["--ro", "here"], 2),
                        (["--ro", home.path + "/.local:/x"], 4), (["--rm", "/mnt/no"], 5), (["what"], 2)):
        done = home.call("mount", *words)
        tap.ok(done.returncode == code and len(home.rows("mount")) == 1, f"refused: {words}", done)
    home.put("../.ssh/id_rsa", "secret\n")
    for source, hides in (("/etc/shadow", True), ("/etc", True), (home.path + "/.ssh/id_rsa", True), (home.path + "/.ssh", True),
                          (data, False), ("/etc/hostname", False)):
        done = home.call("mount", "--ro", source + ":/mnt/other")
        tap.ok(done.returncode == 0 and ("hidden from sandboxes otherwise" in done.stderr) == hides, f"a word on {source}: {hides}", done)
        home.call("mount", "--rm", "/mnt/other")
    os.rename(data, data + "2")
    done = home.call("run", "--", "true")
    tap.ok(refused(done, 125, "mount --rm /mnt/ds"), "a source that is gone is named with its remedy", done)
    os.symlink(other, data)
    done = home.call("run", "--", "cat", "/mnt/ds/f")
    tap.ok(refused(done, 125, "leads elsewhere") and "SECRET" not in done.stdout, "a link in its place is not followed", done)
    tap.equal([home.call("mount", "--rm", "/mnt/ds").returncode, home.rows("mount")], [0, []], "taken back, also then")
    tap.equal(home.call("run", "--", "true").returncode, 0, "and all is as before")
    os.chmod(home.path + "/.config/aisbx/mounts", 0o666)
    tap.ok(refused(home.call("run", "--", "true"), 125, "chmod go-w"), "a list that others may write is not believed")
    os.unlink(home.path + "/.config/aisbx/mounts")


def test_times(home):
    home.call("create", "week", "--ttl", "7d")
    tap.ok("(7 d left)" in home.call("ls").stdout and "7 d left" in home.call("inspect", "week").stdout, "listings say what is left")


def test_notices(home):
    """What does not change from run to run is said once a day; results have it always."""
    # More hidden files than a sandbox notes the links of: one layer is not in full force.
    for number in range(1100):
        home.put(f"vault/{number}")
    home.call("create", "many", "--hide", "vault")
    said = lambda: "not in full force" in home.call("exec", "many", "--", "true").stderr
    tap.equal([said(), said()], [True, False], "a notice is said once")
    tap.ok(json.loads(home.call("exec", "--json", "many", "--", "true").stdout)["degraded"], "the result has it all the same")
    path = home.path + "/.local/state/aisbx/notices"
    with open(path) as file:
        moment, words = file.read().splitlines()[-1].split(" ", 1)
    for text in (f"{int(moment) - 24 * 3600 * 1000} {words}\n", f"{int(moment) + 3600 * 1000} {words}\n", "no list at all"):
        with open(path, "w") as out:
            out.write(text)
        tap.equal(said(), True, f"and again: {text[:30]}")
    shutil.rmtree(home.work + "/vault")


def test_folded(home):
    """What a person looks at before saying yes fits a screen."""
    script = "mkdir -p lib out; for i in $(seq 40); do echo > lib/$i; echo > out/$i; done; echo > one; echo all: > Makefile; printf x > \"$(printf 'out/new\\nline')\""
    done = home.call("try", "-n", "--", "sh", "-c", script)
    name = done.stderr.splitlines()[-1]
    tap.ok("  lib/  41 changes\n" in done.stderr and "  one\n" in done.stderr and "lib/7" not in done.stderr and "files changed" in done.stderr and
           "Promotion asks" in done.stderr and "Makefile: build file" in done.stderr,
           "try folds a long list", done)
    done = home.call("diff", name, "--stat")
    tap.ok("  out/  42 changes\n" in done.stdout and "out/7" not in done.stdout and done.stdout.endswith("insertions(+)\n"), "and so does diff --stat", done)
    done = home.call("diff", name, "--stat", "--all")
    tap.ok(" out/7 " in done.stdout and len(done.stdout.splitlines()) > 80, "--all lists each", done)
    tap.equal([len(home.rows("diff", name, "--stat")), len(home.call("diff", name, "--name-status").stdout.splitlines()),
               home.call("diff", name, "--stat", "--exit-code").returncode], [85, 85, 1], "data, names and exit codes are whole")
    home.call("rm", name)


def test_rm(home):
    other = home.path + "/other"
    os.makedirs(other, exist_ok=True)
    names = lambda: sorted(row["name"] for row in home.rows("ls"))
    home.call("rm", "--all", "--yes")
    for name in ("a-1", "a-2", "b-1"):
        home.call("create", name)
    home.call("create", "else", "-C", other)
    for pattern in ("*", "a-*"):
        done = home.call("rm", pattern)
        tap.ok(refused(done, 2, "--yes") and names() == ["a-1", "a-2", "b-1", "else"], f"{pattern} needs --yes where nobody is asked", done)
    seen, code = home.on_terminal("rm", "*", typed=[(b"[n]o", b"n\n")])
    tap.ok(code != 0 and len(names()) == 4, "and asks a person", (seen, code))
    done = home.call("rm", "a-*", "--yes")
    tap.equal([done.returncode, names()], [0, ["b-1", "else"]], "a pattern")
    done = home.call("rm", "z-*")
    tap.ok(refused(done, 5, "no sandbox matches 'z-*'"), "a pattern that covers nothing", done)
    home.call("create", "a-1")
    done = home.call("rm", "z-*", "a-1", "--yes")
    tap.ok(done.returncode == 5 and names() == ["b-1", "else"], "those that are there go all the same", done)
    done = home.call("rm", "--all")
    tap.ok(done.returncode == 2 and "--yes" in done.stderr and names() == ["b-1", "else"], "--all needs --yes where nobody is asked", done)
    done = home.call("rm", "--all", "b-1", "--yes")
    tap.equal([done.returncode, names()], [2, ["b-1", "else"]], "--all and names contradict")
    home.call("rm", "--workspace", "--yes")
    tap.equal(names(), ["else"], "--workspace: those of this one")
    home.call("create", "c-1")
    seen, code = home.on_terminal("rm", "--all", typed=[(b"[n]o", b"n\n")])
    tap.ok(names() == ["c-1", "else"] and code != 0, "a person who says no", (seen, code))
    seen, code = home.on_terminal("rm", "--all", typed=[(b"[n]o", b"y\n")])
    tap.ok(names() == [] and code == 0, "and one who says yes", (seen, code))
    tap.equal(home.call("rm", "--all", "--yes").returncode, 0, "nothing there is no failure")


def test_rm_leaves_owned(home):
    """A program's sandboxes are its own: sweeping does not touch them."""
    server = subprocess.Popen([AISBX, "mcp", "--owner", "robot"], cwd=home.work, env=home.env, text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for number, (method, params) in enumerate((
            ("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}),
            ("tools/call", {"name": "sandbox_create", "arguments": {"sandbox": "robots"}}))):
        server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
        server.stdin.flush()
        server.stdout.readline()
    server.stdin.close()
    server.stdout.close()
    server.wait(timeout=300)
    owned = [row["name"] for row in home.rows("ls") if row.get("owner") == "robot"]
    home.call("create", "mine")
    home.call("rm", "--all", "--yes")
    home.call("rm", "*", "--yes")
    tap.ok(owned and [row["name"] for row in home.rows("ls")] == owned, "rm --all leaves a program's sandboxes", (owned, home.rows("ls")))
    home.call("rm", *owned)


def test_quiet(home):
    loud, quiet = home.call("run", "--time", "1s", "sleep", "60"), home.call("run", "-q", "--time", "1s", "sleep", "60")
    tap.ok("time limit" in loud.stderr and quiet.stderr == "" and quiet.returncode == 124, "-q leaves out notes", (loud, quiet))
    tap.ok(home.call("run", "-q", "--no-such-flag", "true").stderr, "but not errors")
    tap.ok("behind the verb" in home.call("-q", "run", "true").stderr, "and before the verb the error says where it stands")


def test_race(home):
    done = home.call("race", "--check", "seq 1 9 >&2; test -e good", "-c", "bad=true", "-c", "well=touch good")
    tap.ok("bad: its check failed (exit 1)" in done.stdout and "\n  9\n" in done.stdout and "\n  4\n" not in done.stdout
           and "aisbx logs " in done.stdout, "a failed check shows its last lines and where all are", done.stdout)
    data = home.data("race", "--check", "seq 1 9; test -e good", "-c", "bad=true", "-c", "well=touch good")
    tails = [one["check"].get("tail") for one in data["attempts"]]
    tap.equal(tails, ["5\n6\n7\n8\n9\n", None], "as data, too")


def test_ties(home):
    done = home.call("race", "--prefer", "small", "-c", "one=echo 1 > x", "-c", "two=echo 2 > x", "-c", "three=false")
    tap.ok("\ntwo is as good" in done.stdout and "\none wins" in done.stdout, "a tie is said, and the first one given wins", done)
    tap.equal(home.data("race", "--prefer", "small", "-c", "one=echo 1 > x", "-c", "two=echo > x; echo > y")["tied"], [], "none is none")


def test_artifact(home):
    home.call("create", "maker")
    home.call("exec", "maker", "sh", "-c", "mkdir -p build && echo binary >build/mybin")
    os.makedirs(home.path + "/repo/bin", exist_ok=True)
    done = home.call("promote", "maker", "--artifact", "build/mybin", "--to", "../repo/bin/", "--allow-path", home.path + "/repo/bin/mybin")
    tap.ok(done.returncode == 0 and os.path.exists(home.path + "/repo/bin/mybin"), "--to ../repo/bin/ is the caller's", done)
    done = home.call("promote", "maker", "--artifact", "build/mybin", "--to", "sub/../../repo/x")
    tap.ok(done.returncode == 2 and ".." in done.stderr, "a .. behind a name is refused", done)


def test_rules(home):
    net = lambda: json.loads(home.call("plan", "--json", "true").stdout).get("net")
    tap.equal(net(), "none", "no network at first")
    home.call("allow", "one.example,two.example")
    tap.equal(net(), "allow", "a rule opens it")
    home.call("allow", "--rm", "one.example")
    tap.equal(net(), "allow", "while one is left")
    done = home.call("allow", "--rm", "two.example")
    tap.ok(net() == "none" and done.returncode == 0, "without any it is none again", done)


def main():
    with Home(prefix="aisbx-comfort-") as home:
        if home.can_run(tap, "comfort"):
            for test in (test_dashes, test_help, test_tour, test_tour_here, test_mount, test_times, test_notices, test_folded, test_rm, test_rm_leaves_owned, test_quiet, test_race, test_ties, test_artifact,
                         test_rules):
                test(home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
