#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Warm caches: kept by runs that ended well, shown to later ones with the same rules, and to nothing else.

Attacks come from inside: what one run plants must not be met by a check, by a run with other network rules or another profile,
nor by the host. Takes the program from AISBX. Speaks TAP. Runs as whoever starts it.
"""
import os
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from clitest import Home, Tap
from family import until
from mcpclient import Server
from registries import GREETING, Registries

tap = Tap()
PIP = "~/.cache/pip"


def sh(home, text, *flags):
    return home.call("run", "--cache", *flags, "--", "sh", "-c", text)


def caches(home):
    place = os.path.join(home.path, ".local/share/aisbx/caches")
    return sorted(os.listdir(place)) if os.path.isdir(place) else []


def start_anew(home):
    home.call("gc", "--caches")
    home.call("rm", "--all", "--yes")


def test_kept(home):
    done = sh(home, f"mkdir -p {PIP} && echo one >{PIP}/a && ln -s a {PIP}/link && echo no >~/beside")
    tap.ok(done.returncode == 0, "a run with a cache", done)
    done = sh(home, f"cat {PIP}/a {PIP}/link; cat ~/beside; echo two >{PIP}/a; rm {PIP}/link")
    tap.ok(done.stdout == "one\none\n", "the next one finds what it left, and nothing beside it", done)
    done = sh(home, f"cat {PIP}/a; ls {PIP}")
    tap.ok(done.stdout == "two\na\n", "changes and removals are kept as well", done)
    done = home.call("run", "--", "sh", "-c", f"ls {PIP}")
    tap.ok(done.returncode != 0, "a run without the flag has none of it", done)
    done = home.call("run", "--cache", "--no-cache", "--", "sh", "-c", f"ls {PIP}")
    tap.ok(done.returncode != 0, "--no-cache leaves it out", done)
    tap.ok(not os.path.exists(os.path.join(home.path, ".cache/pip")), "the host's own cache is as it was")


def test_host_below(home):
    path = os.path.join(home.path, ".cache/pip/of-host")
    os.makedirs(os.path.dirname(path))
    with open(path, "w", encoding="utf-8") as file:
        file.write("host\n")
    done = sh(home, f"cat {PIP}/of-host; echo mine >{PIP}/of-host; echo new >{PIP}/new")
    tap.ok(done.stdout == "host\n", "the host's cache shows below", done)
    done = sh(home, f"cat {PIP}/of-host {PIP}/new")
    with open(path, encoding="utf-8") as file:
        tap.ok(done.stdout == "mine\nnew\n" and file.read() == "host\n", "and is never written to", done)
    subprocess.run(["rm", "-r", os.path.dirname(path)], check=True)


def test_not_folded(home):
    sh(home, f"mkdir -p {PIP}; echo good >{PIP}/a")
    sh(home, f"echo bad >{PIP}/a; exit 3")
    tap.ok(sh(home, f"cat {PIP}/a").stdout == "good\n", "a run that failed changes nothing")
    home.call("run", "--cache", "--time", "300ms", "--", "sh", "-c", f"echo late >{PIP}/a; sleep 60")
    tap.ok(sh(home, f"cat {PIP}/a").stdout == "good\n", "nor one that was ended by its time")
    secret = os.path.join(home.path, "token")
    with open(secret, "w", encoding="utf-8") as file:
        file.write("s3cret-value\n")
    done = sh(home, f"cat {PIP}/a; cat /run/secrets/T >{PIP}/a", "--secret", f"T={secret}")
    tap.ok(done.stdout == "good\n" and sh(home, f"cat {PIP}/a").stdout == "good\n", "nor one with a secret", done)
    child = subprocess.Popen([os.environ["AISBX"], "run", "--cache", "--", "sh", "-c", f"echo torn >{PIP}/a; echo ready; sleep 60"],
                             cwd=home.work, env=home.env, stdout=subprocess.PIPE, text=True)
    child.stdout.readline()
    child.send_signal(signal.SIGKILL)
    child.wait()
    tap.ok(sh(home, f"cat {PIP}/a").stdout == "good\n", "nor one whose supervisor was killed")
    home.call("gc")
    tap.ok(not [name for name in caches(home) if name.startswith("top-")], "whose top gc removes", caches(home))


def test_apart(home):
    """What is planted under one set of rules is met under no other."""
    sh(home, f"mkdir -p {PIP}; echo planted >{PIP}/a")
    for flags in (["--allow", "localhost:9"], ["--net", "all"], ["--profile", "dev"], ["--deny", "example.org"]):
        done = sh(home, f"cat {PIP}/a", *flags)
        tap.ok("planted" not in done.stdout and done.returncode != 0, f"not met by a run with {' '.join(flags)}", done)
    other = os.path.join(home.path, "other")
    os.makedirs(other)
    done = home.call("run", "--cache", "-C", other, "--", "sh", "-c", f"cat {PIP}/a")
    tap.ok(done.returncode != 0, "nor in another workspace", done)


def test_unpromoted(home):
    """Nothing that stays, or decides, stands on a cache: what a run planted is met by no other kind of sandbox."""
    sh(home, f"mkdir -p {PIP}; echo planted >{PIP}/a")
    before = caches(home)
    for flags in (["--keep", "k"], ["--write", "workspace"]):
        done = sh(home, f"! test -e {PIP}/a && mkdir -p {PIP} && echo bad >{PIP}/a", *flags)
        tap.ok(done.returncode == 0 and caches(home) == before, f"nor by one with {flags[0]}, which leaves none", done)
    with open(os.path.join(home.path, "warm.yaml"), "w", encoding="utf-8") as file:
        file.write("cache: true\n")
    warm = ["--profile", os.path.join(home.path, "warm.yaml")]
    done = home.call("run", *warm, "--", "sh", "-c", f"mkdir -p {PIP}; echo planted >{PIP}/a")
    done = home.call("run", *warm, "--", "sh", "-c", f"cat {PIP}/a")
    tap.ok(done.stdout == "planted\n", "control: the profile keeps a cache", done)
    before = caches(home)
    done = home.call("run", *warm, "--write", "workspace", "--", "sh", "-c", f"! test -e {PIP}/a && mkdir -p {PIP} && echo bad >{PIP}/a")
    tap.ok(done.returncode == 0, "a run that writes to the workspace has none of it", done)
    home.call("create", "c", *warm)
    done = home.call("exec", "c", "--", "sh", "-c", f"! test -e {PIP}/a && mkdir -p {PIP} && echo bad >{PIP}/a")
    tap.ok(done.returncode == 0, "nor has a named sandbox", done)
    done = home.call("race", *warm, "-c", f"a=! test -e {PIP}/a && echo y >y.txt", "--check", f"! test -e {PIP}/a && cat y.txt")
    tap.ok(done.returncode == 0, "nor have attempts and checks", done)
    tap.equal(caches(home), before, "and none of them left a cache")
    tap.equal(home.call("run", *warm, "--", "sh", "-c", f"cat {PIP}/a").stdout, "planted\n", "nor changed one")


def test_promoted(home):
    """What sandboxes left is kept once their changes are promoted, and met by sandboxes, attempts, checks and runs."""
    done = home.call("try", "--cache", "-y", "--", "sh", "-c", f"mkdir -p {PIP}; echo one >{PIP}/a; echo 1 >t.txt")
    tap.ok(done.returncode == 0 and len([n for n in caches(home) if n.endswith("p-pip")]) == 1, "try -y keeps a cache", (done, caches(home)))
    home.call("create", "b", "--cache")
    done = home.call("exec", "b", "--", "sh", "-c", f"cat {PIP}/a; echo two >{PIP}/a; echo n >{PIP}/n; echo 2 >t.txt")
    tap.ok(done.stdout == "one\n", "exec finds it", done)
    home.call("create", "c", "--cache")
    tap.equal(home.call("exec", "c", "--", "sh", "-c", f"cat {PIP}/a").stdout, "one\n", "what is not promoted is met by no other")
    home.call("snap", "b")
    home.call("exec", "b", "--", "sh", "-c", f"rm {PIP}/n; echo m >{PIP}/m")
    tap.ok(home.call("promote", "b").returncode == 0, "promote keeps what lies in its snapshots, too")
    home.call("exec", "b", "--", "sh", "-c", f"echo later >{PIP}/m; echo later >{PIP}/a")
    done = home.call("run", "--cache", "--", "sh", "-c", f"cat {PIP}/a {PIP}/m; ls {PIP}")
    tap.ok(done.stdout == "two\nm\na\nm\n", "a run begins with it, as it was then", done)
    home.call("gc")
    tap.equal(home.call("exec", "c", "--", "sh", "-c", f"cat {PIP}/a").stdout, "one\n", "a sandbox keeps the cache it was started with")
    home.call("stop", "c")
    tap.equal(home.call("exec", "c", "--", "sh", "-c", f"cat {PIP}/a").stdout, "two\n", "until its next start")
    tap.equal(home.call("diff", "c", "--name-status").stdout, "", "whose changes it is none of")
    home.call("exec", "b", "--", "sh", "-c", f"echo again >{PIP}/a; echo 3 >t.txt")
    home.call("promote", "b")
    home.call("stop", "c")
    tap.equal(home.call("exec", "c", "--", "sh", "-c", f"cat {PIP}/a").stdout, "again\n", "a second promotion of one sandbox is kept as well")
    done = home.call("race", "--cache", "-c", f"a=cat {PIP}/a >r.txt; echo A >{PIP}/a", "-c", f"b=cat {PIP}/a >r.txt; echo B >{PIP}/a; exit 1",
                     "--check", f"grep -q A {PIP}/a && cat r.txt && echo CHECK >{PIP}/a", "--promote")
    with open(os.path.join(home.work, "r.txt"), encoding="utf-8") as file:
        tap.ok(done.returncode == 0 and file.read() == "again\n", "attempts find it", done)
    tap.equal(home.call("try", "--cache", "-n", "--", "sh", "-c", f"cat {PIP}/a").stdout, "A\n", "of a race only the promoted attempt is kept")
    home.call("try", "--cache", "-y", "--", "sh", "-c", f"echo quiet >{PIP}/a")
    tap.equal(home.call("try", "--cache", "-n", "--", "sh", "-c", f"cat {PIP}/a").stdout, "quiet\n", "a try that changed nothing else is kept with -y")


def test_never_promoted(home):
    """Promotions that keep no cache: in part, elsewhere, commits, with a secret, by themselves."""
    secret = os.path.join(home.path, "token")
    with open(secret, "w", encoding="utf-8") as file:
        file.write("s3cret-value\n")
    plant = f"mkdir -p {PIP}; echo bad >{PIP}/a; mkdir -p d; date +%N >d/1; date +%N >d/2"
    cases = (("in part", [], [], ["promote", "s", "d/1"]), ("as an artifact", [], [], ["promote", "s", "--artifact", "d/1", "--to", "e"]),
             ("on trial", [], [], ["promote", "s", "--dry-run"]), ("into the sandbox", [], [], ["promote", "s", "--into-sandbox"]),
             ("of one with a secret", ["--secret", f"T={secret}"], [], ["promote", "s"]),
             ("of one that had a command with a secret", [], ["--secret", f"T={secret}"], ["promote", "s"]),
             ("by itself", [], ["--write", "workspace"], ["promote", "s", "--dry-run"]))
    for name, made, entered, words in cases:
        home.call("rm", "s")
        home.call("create", "s", "--cache", *made)
        done = home.call("exec", *entered, "s", "--", "sh", "-c", plant)
        tap.ok(done.returncode == 0, f"control: a command, {name}", done)
        home.call(*words)
        tap.equal([n for n in caches(home) if n.endswith("-pip")], [], f"a promotion {name} keeps no cache")
    home.call("create", "s2", "--cache")
    home.call("exec", "--secret", f"T={secret}", "s2", "--", "sh", "-c", plant)
    home.call("stop", "s2")
    home.call("fork", "s2", "s3")
    home.call("exec", "s3", "--", "sh", "-c", "date +%N >d/1")
    done = home.call("promote", "s3")
    tap.ok(done.returncode == 0 and not [n for n in caches(home) if n.endswith("-pip")], "nor does one of a fork of it", done)


def test_rules_changed(home):
    """What was written while other rules held is kept for none, also when they are as they were again."""
    narrow = ["--cache", "--allow", "localhost:9"]
    start = ["exec", "r", "--", "true"]
    wide, back = ["allow", "r", "localhost:10"], ["allow", "r", "localhost:10", "--remove"]
    write = ["exec", "r", "--", "sh", "-c", f"mkdir -p {PIP}; echo wide >{PIP}/a; date +%N >r.txt"]
    fork = ["fork", "r", "r2"]
    ways = {"while it runs": [start, wide, write, back],
            "stopped in between": [start, wide, write, ["stop", "r"], back],
            "from its first start on": [wide, write, back],
            "from its first start to its second": [wide, write, ["stop", "r"], back],
            "in a fork": [start, wide, write, fork, ["allow", "r2", "localhost:10", "--remove"]],
            "in a fork of what ran under them only": [wide, write, fork, ["allow", "r2", "localhost:10", "--remove"]],
            "rolled back and forth": [wide, write, ["rollback", "r"], back, start, ["rollback", "r", "auto1"]]}
    for name, steps in ways.items():
        box = "r2" if fork in steps else "r"
        done = [home.call(*words) for words in (["create", "r", *narrow], *steps, ["exec", box, "--", "true"], ["promote", box], ["create", "n", *narrow])]
        met = home.call("exec", "n", "--", "sh", "-c", f"cat {PIP}/a")
        tap.ok(all(one.returncode == 0 for one in done) and "wide" not in met.stdout, f"{name}: not met under the narrow rules", (done, met))
        start_anew(home)
    for steps in ([], [["snap", "r"], start], [fork, ["exec", "r2", "--", "true"]]):
        box = "r2" if fork in steps else "r"
        done = [home.call(*words) for words in (["create", "r", *narrow], wide, write, *steps, ["promote", box], ["create", "n", *narrow],
                                                ["allow", "n", "localhost:10"])]
        met = home.call("exec", "n", "--", "sh", "-c", f"cat {PIP}/a")
        tap.ok(all(one.returncode == 0 for one in done) and met.stdout == "wide\n", "control: what was written under the same rules is met", (done, met))
        start_anew(home)


def test_run_changed(home):
    """The same for runs, kept or not, that are reached while they run."""
    def sockets():
        return [name for name in os.listdir(home.path + "/.local/state/aisbx/live") if name.count(".") == 2]

    narrow = ["--cache", "--allow", "localhost:9"]
    for keep in ([], ["--keep", "k"]):
        for verb in (None, "allow"):
            with subprocess.Popen([os.environ["AISBX"], "run", *narrow, *keep, "--", "sh", "-c", f"mkdir -p {PIP}; echo ready; read line; echo wide >{PIP}/a; date +%N >r.txt"],
                                  cwd=home.work, env=home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
                child.stdout.readline()
                until(sockets)
                name = sockets()[0].rsplit(".", 1)[1]
                done = [home.call(verb, name, "localhost:10")] if verb else []
                child.communicate("go\n")
            if keep:
                done.append(home.call("promote", "k"))
            met = home.call("create", "n", *narrow) and home.call("exec", "n", "--", "sh", "-c", f"cat {PIP}/a") if keep else sh(home, f"cat {PIP}/a", *narrow[1:])
            tap.ok(all(one.returncode == 0 for one in done) and ("wide" in met.stdout) == (verb is None),
                   f"a run{' that is kept' if keep else ''}, {'changed: not met' if verb else 'not changed: met'}", (done, met))
            start_anew(home)


def test_mcp(home):
    """What a model runs feeds no cache of a person's, nor one of its own."""
    warm = os.path.join(home.path, "warm.yaml")
    with open(warm, "w", encoding="utf-8") as file:
        file.write("cache: true\n")
    home.call("run", "--profile", warm, "--", "sh", "-c", f"mkdir -p {PIP}; echo mine >{PIP}/a")
    with Server(home, "--profile", warm) as server:
        for text in (f"! test -e {PIP}/a && mkdir -p {PIP} && echo bad >{PIP}/a", f"! test -e {PIP}/a"):
            done = server.data("sandbox_run", command=["sh", "-c", text])
            tap.ok(done.get("exit_code") == 0, "a model's run meets no cache", done)
    done = home.call("run", "--profile", warm, "--", "sh", "-c", f"cat {PIP}/a")
    tap.ok(done.stdout == "mine\n", "and leaves a person's as it was", done)
    with Server(home, "--profile", warm, "--cache") as server:
        done = server.data("sandbox_run", command=["sh", "-c", f"cat {PIP}/a && echo model >{PIP}/a"])
        tap.ok(done.get("stdout") == "mine\n", "with mcp --cache it has one", done)
    done = home.call("run", "--profile", warm, "--", "sh", "-c", f"cat {PIP}/a")
    tap.ok(done.stdout == "model\n", "and feeds it", done)


def test_shut(home):
    """Modes of directories that only lead to a cache are not kept."""
    os.makedirs(os.path.join(home.path, ".cache"), exist_ok=True)
    for text in ("chmod 000 /", "chmod 000 ~", "chmod 500 ~ ~/.cache", f"chmod 000 {PIP}", "chmod 000 ~/.cache", f"chmod 500 {PIP}"):
        home.call("gc", "--caches")
        done = sh(home, f"mkdir -p {PIP}; echo one >{PIP}/a; {text}")
        tap.ok(done.returncode == 0, f"a run that does '{text}'", done)
        done = sh(home, f"mkdir -p {PIP} && stat -c %a / ~ ~/.cache && echo two >{PIP}/b && echo n >~/new && ls {PIP}")
        modes = [f"{os.stat(path).st_mode & 0o7777:o}" for path in ("/", home.path, os.path.join(home.path, ".cache"))]
        tap.ok(done.returncode == 0 and done.stdout.split()[:3] == modes and "b" in done.stdout.split(), "the next one works", (done, modes))


def test_inside(home):
    """A workspace in a tool's directory: what a run changes there is thrown away."""
    place = os.path.join(home.path, ".cache/pip/proj")
    os.makedirs(place)
    with open(os.path.join(place, "f"), "w", encoding="utf-8") as file:
        file.write("host\n")
    for text in ("echo changed >f; echo new >g; rm -f h", "true"):
        done = home.call("run", "--cache", "-C", place, "--", "sh", "-c", f"cat f; ls; {text}")
        tap.ok(done.stdout == "host\nf\n", "a workspace in a cache is as the host has it", done)
    subprocess.run(["rm", "-r", os.path.join(home.path, ".cache/pip")], check=True)


def test_disk(home):
    """A bound that was asked for stays a hard one."""
    done = sh(home, f"mkdir -p {PIP}; head -c 50000000 /dev/zero >{PIP}/big", "--disk", "5m")
    tap.ok(done.returncode != 0 and "no warm cache" in done.stderr and "No space left" in done.stderr, "--disk is a hard bound, without a cache", done)
    tap.equal([name for name in caches(home) if "-" in name], [], "which keeps nothing")


def test_moved(home):
    """A directory of the host under another name cannot be kept, and the note says which."""
    os.makedirs(os.path.join(home.path, ".cache/pip/of-host"))
    with open(os.path.join(home.path, ".cache/pip/of-host/f"), "w", encoding="utf-8") as file:
        file.write("host\n")
    done = sh(home, f"mv {PIP}/of-host {PIP}/moved && echo new >{PIP}/new")
    again = sh(home, f"cat {PIP}/new {PIP}/moved/f")
    tap.ok(done.returncode == 0 and (again.stdout == "new\nhost\n" or
                                     ("pip/moved' is a directory of the host" in done.stderr and again.returncode != 0)),
           "a directory moved within a cache is kept, or named", (done, again))
    subprocess.run(["rm", "-r", os.path.join(home.path, ".cache/pip")], check=True)


def test_hostile(home):
    """Links, devices and names that lead elsewhere."""
    done = sh(home, f"mkdir -p ~/.cache; ln -s /etc {PIP}")
    tap.ok(done.returncode == 0 and not [n for n in caches(home) if n.endswith("-pip")], "a link in the place of a cache is not followed", done)
    done = sh(home, f"mkdir -p {PIP}/d; mkfifo {PIP}/f; mkdir -p ~/.cache/huggingface; echo t >~/.cache/huggingface/token; "
                    f"echo x >~/.cache/huggingface/x; chmod 4755 ~/.cache/huggingface/x; echo a >{PIP}/d/a; chmod 000 {PIP}/d/a")
    tap.ok(done.returncode == 0, "a fifo, a credential and a shut file", done)
    done = sh(home, f"ls {PIP} ~/.cache/huggingface {PIP}/d")
    tap.ok(" ".join(done.stdout.split("\n")).count("token") == 0 and "x" in done.stdout.split() and "f" not in done.stdout.split(),
           "credentials and what is no data stay out", done)
    done = sh(home, f"mv src {PIP}/moved; rm -rf ~/.cache; mkdir -p ~/.cache/pip; echo z >{PIP}/z")
    tap.ok(done.returncode == 0, "a directory of the workspace moved, and all removed", done)
    tap.ok(os.path.exists(os.path.join(home.work, "src")), "the host's is where it was")
    done = sh(home, "ls src")
    tap.ok(done.stdout == "f\n", "and where it was for later runs", done)


def test_damaged(home):
    sh(home, f"mkdir -p {PIP}; echo one >{PIP}/a")
    place = os.path.join(home.path, ".local/share/aisbx")
    name = [n for n in caches(home) if n.endswith("-pip")][0]
    for text in ("", "aisbx-cache 1\nlayer ../../../etc\nend\n", "aisbx-cache 1\nlayer 01ARZ3NDEKTSV4RRFFQ69G5FAV\nend\n", "x" * 100000):
        with open(os.path.join(place, "caches", name), "w", encoding="utf-8") as file:
            file.write(text)
        done = sh(home, f"test ! -e {PIP}/a")
        tap.ok(done.returncode == 0, f"a damaged pointer ({len(text)} bytes) is a cold cache", done)
    sh(home, f"mkdir -p {PIP}; echo two >{PIP}/a")
    tap.ok(sh(home, f"cat {PIP}/a").stdout == "two\n", "which the next run warms")
    layer = subprocess.run(["sed", "-n", "s/^layer //p", os.path.join(place, "caches", name)], capture_output=True, text=True,
                           check=True).stdout.strip()
    meta = os.path.join(place, "layers", layer, "meta")
    with open(meta, encoding="utf-8") as file:
        text = file.read()
    with open(meta, "w", encoding="utf-8") as file:
        file.write("".join("boot 00000000-0000-0000-0000-000000000000\n" if line.startswith("boot ") else
                           "synced 0\n" if line.startswith("synced ") else line for line in text.splitlines(True)))
    tap.ok(sh(home, f"test ! -e {PIP}/a").returncode == 0, "a layer that a crash may have torn is not used")


def test_together(home):
    """Two at once: one of them is kept, whole; a run goes on over a cache that was replaced and collected meanwhile."""
    sh(home, f"mkdir -p {PIP}; echo base >{PIP}/base")
    child = subprocess.Popen([os.environ["AISBX"], "run", "--cache", "--", "sh", "-c",
                              f"echo ready; read line; cat {PIP}/base; echo late >{PIP}/late"],
                             cwd=home.work, env=home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    child.stdout.readline()
    sh(home, f"rm {PIP}/base; echo new >{PIP}/new")
    home.call("gc")
    out, _ = child.communicate("go\n")
    tap.ok(out == "base\n" and child.returncode == 0, "a run keeps the cache it began with", out)
    tap.ok(sh(home, f"ls {PIP}").stdout == "new\n", "and does not replace a newer one")
    threads = [threading.Thread(target=sh, args=(home, f"for i in 1 2 3; do echo {k} >{PIP}/$i; done")) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done = sh(home, f"cat {PIP}/1 {PIP}/2 {PIP}/3")
    tap.ok(len(set(done.stdout.split())) == 1, "of several at once one is kept whole", done)


def test_workspace(home):
    home.put(".gitignore", "/target\n")
    sh(home, "mkdir -p target build; echo t >target/t; echo b >build/b")
    tap.ok(sh(home, "cat target/t; ls build").stdout == "t\n", "an ignored target is kept, other directories are not")
    home.call("create", "w")
    home.call("exec", "w", "--", "sh", "-c", "mkdir target; echo u >target/u; echo 1 >w.txt")
    done = home.call("promote", "w", "--ignored")
    target = os.path.join(home.work, "target")
    tap.ok(done.returncode == 0 and os.listdir(target) == ["u"], "promote --ignored gives the sandbox's own, whole", done)
    subprocess.run(["rm", "-r", target], check=True)
    home.put("target/host", "h\n")
    tap.ok(sh(home, "ls target").stdout == "host\n", "a target of the host's own counts alone")
    subprocess.run(["rm", "-r", os.path.join(home.work, "target")], check=True)
    home.put(".gitignore", "")
    home.call("gc", "--caches")
    sh(home, "mkdir -p target; echo t >target/t")
    tap.ok(sh(home, "ls target").returncode != 0, "one that git does not ignore is the project's")


def test_listed(home):
    sh(home, f"mkdir -p {PIP}; echo one >{PIP}/a")
    rows = [row for row in home.rows("gc") if row["kind"] == "cache"]
    tap.ok(len(rows) == 1 and rows[0]["path"].startswith("pip of ") and "1 files" in rows[0]["detail"], "gc lists what is kept", rows)
    name = os.path.join(home.path, ".local/share/aisbx/caches", [n for n in caches(home) if n.endswith("-pip")][0])
    os.utime(name, (1, 1))
    home.call("gc")
    tap.ok(not os.path.exists(name) and sh(home, f"ls {PIP}").returncode != 0, "what was not used for a month goes")
    layers = os.path.join(home.path, ".local/share/aisbx/layers")
    # Those of the run just now go behind its answer.
    tap.ok(until(lambda: not os.listdir(layers)), "with its layer", os.listdir(layers))


def test_pip(home):
    """A real client: the second install is fed by the first one's cache."""
    with Registries() as server:
        install = (f"/usr/bin/python3 -m pip --disable-pip-version-check -q install --target deps --trusted-host localhost --index-url {server.url}/simple greet && "
                   "PYTHONPATH=deps /usr/bin/python3 -c 'import greet; print(greet.hello())'")
        flags = ["--allow", f"localhost:{server.port}"]
        done = sh(home, install, *flags)
        if "No module named pip" in done.stderr:
            tap.skip("pip installs from its warm cache", "pip is not installed")
            return
        first = [path for path in server.seen if path.endswith(".whl")]
        again = sh(home, install, *flags)
        wheels = [path for path in server.seen if path.endswith(".whl")]
        tap.ok(GREETING in done.stdout and GREETING in again.stdout and len(first) == 1 and wheels == first,
               "pip installs from its warm cache", (done, again, server.seen))


def main():
    with Home("aisbx-ca.") as home:
        if not home.can_run(tap, "caches"):
            return tap.done()
        subprocess.run(["git", "init", "-q", home.work], check=True, env=home.env)
        home.put("src/f", "f\n")
        for test in (test_kept, test_host_below, test_not_folded, test_apart, test_unpromoted, test_promoted, test_never_promoted, test_rules_changed, test_run_changed, test_mcp, test_shut,
                     test_inside, test_disk, test_moved, test_hostile, test_damaged, test_together, test_workspace, test_listed, test_pip):
            start_anew(home)
            tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
