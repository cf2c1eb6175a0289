#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--hide, and srt's settings files: what they forbid is tried, with and without them.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it; the suite's runner does so as root and as a
plain user.
"""

import json
import os
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from clitest import Home, Tap, refused

tap = Tap()

# Every way a program could look for a file that is not to be seen: by name, by link, through proc, as a directory entry.
LOOK = ('for p in "$1" ./link "/proc/self/root$1" "/proc/self/cwd/$2" "/proc/1/root$1"; do cat -- "$p" 2>/dev/null; done; '
        'ls -la "$(dirname "$1")" | grep -c -- "$(basename "$1")"; mv "$(dirname "$1")" ./moved 2>/dev/null; '
        'cat "moved/$(basename "$1")" 2>/dev/null; exit 0')


def settings(home, network=None, filesystem=None, name="srt.json", **more):
    """A settings file; returns its path."""
    content = {"network": {"allowedDomains": [], "deniedDomains": [], **(network or {})},
               "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": [], **(filesystem or {})}, **more}
    path = f"{home.path}/{name}"
    with open(path, "w") as out:
        json.dump(content, out)
    return path


def look(home, path, *flags):
    relative = os.path.relpath(path, home.work)
    return home.call("run", *flags, "--", "sh", "-c", LOOK, "sh", path, relative)


def test_hide(home):
    secret = home.put("conf/secret.txt", "SECRET\n")
    os.symlink("conf/secret.txt", home.work + "/link")
    found = look(home, secret)
    tap.ok(found.stdout.count("SECRET") >= 4, "without --hide it is found every way", found)
    for words in (["--hide", "conf/secret.txt"], ["--hide", secret], ["--hide", "conf/*.txt"], ["--hide", "conf"],
                  ["--hide", "link"]):
        found = look(home, secret, *words)
        tap.ok("SECRET" not in found.stdout and found.returncode == 0, f"{' '.join(words)}: it is not found", found)
    tap.equal(home.read("conf/secret.txt"), "SECRET\n", "the host has it")
    done = home.call("run", "--hide", "conf/secret.txt", "--", "sh", "-c", "echo mine > conf/secret.txt; cat conf/secret.txt")
    tap.equal(done.stdout, "mine\n", "the name can be used for a file of the sandbox's own")
    done = home.call("run", "--hide", ".", "--", "true")
    tap.ok(refused(done, 125, "--hide", "workspace"), "the workspace cannot be hidden", done)
    done = home.call("run", "--hide", "/proc/version", "--", "true")
    tap.ok(refused(done, 125, "/proc"), "nor what is the sandbox's own", done)
    os.unlink(home.work + "/link")


def test_hide_kept(home):
    home.put("conf/secret.txt", "SECRET\n")
    home.call("create", "hides", "--hide", "conf")
    tap.equal(home.call("exec", "hides", "--", "ls", "conf").stdout, "", "a named sandbox keeps hiding")
    home.call("fork", "hides", "hides-2")
    tap.equal(home.call("exec", "hides-2", "--", "ls", "conf").stdout, "", "so does its fork")
    tap.equal(home.call("diff", "hides", "--name-status").stdout, "", "what is hidden is no change")
    home.call("rm", "hides", "hides-2")
    home.put(".aisbx.yaml", "hide: [conf]\n")
    done = home.call("run", "--", "ls", "conf")
    tap.equal((done.stdout, done.returncode), ("", 0), "a workspace's own profile may hide")
    os.unlink(home.work + "/.aisbx.yaml")


def test_read(home):
    secret = home.put("conf/secret.txt", "SECRET\n")
    os.symlink("conf/secret.txt", home.work + "/link")
    for denied in ("./conf/secret.txt", secret, "conf/**", "conf/*.txt", {"path": secret, "literal": True}, "link"):
        found = look(home, secret, "--settings", settings(home, filesystem={"denyRead": [denied]}))
        tap.ok("SECRET" not in found.stdout and found.returncode == 0, f"denyRead {denied}", found)
    file = settings(home, credentials={"files": [{"path": secret, "mode": "deny"}]})
    tap.ok("SECRET" not in look(home, secret, "--settings", file).stdout, "credentials, denied")
    os.unlink(home.work + "/link")


def test_write(home):
    home.put("a.txt", "a\n")
    file = settings(home, filesystem={"allowWrite": ["."], "denyWrite": ["a.txt"]})
    before = home.tree()
    done = home.call("run", "--settings", file, "--", "sh", "-c", "echo x > a.txt; echo x > new; rm -rf conf")
    tap.ok("goes into the sandbox" in done.stderr, "allowWrite: where writes go is said", done)
    tap.equal(home.tree(), before, "the host is as before")


def test_kept_writes(home):
    """What is kept can be applied: what the file says of writing is asked about then."""
    home.put("src/a.txt", "a\n")
    home.put("src/fixed.txt", "a\n")
    file = settings(home, filesystem={"allowWrite": ["src", "*.log"], "denyWrite": ["src/fixed.txt", "**/.env"]})
    script = "echo x > src/a.txt; echo x > src/fixed.txt; echo x > src/.env; echo x > one.log; echo x > other"
    for words in (["run", "--keep", "kept", "--settings", file, "--", "sh", "-c", script], ["create", "kept", "--settings", file]):
        done = home.call(*words)
        if words[0] == "create":
            home.call("exec", "kept", "--", "sh", "-c", script)
        # Whoever changes the file now changes nothing.
        os.truncate(file, 0)
        asked = home.data("promote", "kept", "--kill")
        paths = sorted(row["path"] for row in asked.get("consent", []) if "settings file" in row["why"])
        tap.equal(paths, ["other", "src/.env", "src/fixed.txt"], f"{words[0]}: what may not be written is asked about")
        shown = [line for line in home.call("diff", "kept").stdout.splitlines() if "settings file" in line]
        tap.equal([line.split()[1].rstrip(":") for line in shown], paths, "diff says so, and why")
        refusal = home.call("promote", "kept", "--kill")
        agree = next((line for line in (refusal.stdout + refusal.stderr).splitlines() if line.startswith("agree:")), "")
        tap.equal([agree.count(f"--allow-path {path}") for path in paths], [1, 1, 1], "one line agrees to each of them, once")
        tap.equal((home.read("src/a.txt"), os.path.exists(home.work + "/one.log")), ("a\n", False), "nothing is applied")
        done = home.call("promote", "kept", "src/a.txt", "one.log", "--kill")
        tap.ok(done.returncode == 0 and home.read("src/a.txt") == "x\n", "what may be is", done)
        done = home.call("promote", "kept", "src/fixed.txt", "--allow-path", "src/fixed.txt", "--kill")
        tap.ok(done.returncode == 0 and home.read("src/fixed.txt") == "x\n", "and what a person says", done)
        home.call("undo")
        home.call("undo")
        home.call("rm", "kept")
        file = settings(home, filesystem={"allowWrite": ["src", "*.log"], "denyWrite": ["src/fixed.txt", "**/.env"]})
    file = settings(home, filesystem={"allowWrite": ["."], "denyWrite": ["src/fixed.txt", "**/.env", "away/**/a.txt"]})
    home.call("run", "--keep", "kept", "--settings", file, "--", "sh", "-c", "echo x > .env; mv src away")
    paths = sorted(row["path"] for row in home.data("promote", "kept").get("consent", []) if "settings file" in row["why"])
    tap.equal(paths, [".env", "away/a.txt", "src/fixed.txt"], "with no directory between, and in one that is renamed")
    home.call("rm", "kept")
    done = home.call("create", "kept", "--settings", settings(home, filesystem={"denyWrite": ["../up"]}))
    tap.ok(refused(done, 4, "../up") and home.call("inspect", "kept").returncode == 5, "what cannot be enforced is refused", done)


def test_kept_verbs(home):
    """try, create and race take the file, and hold to it at each start."""
    home.put("conf/secret.txt", "SECRET\n")
    file = settings(home, filesystem={"denyRead": ["conf"], "allowWrite": ["."]})
    done = home.call("try", "-n", "--settings", file, "--", "cat", "conf/secret.txt")
    tap.ok("SECRET" not in done.stdout and done.returncode == 1, "try", done)
    name = done.stderr.split()[-1]
    home.call("create", "kept", "--settings", file)
    os.unlink(file)
    for sandbox in (name, "kept"):
        done = home.call("exec", sandbox, "--", "cat", "conf/secret.txt")
        tap.ok("SECRET" not in done.stdout and done.returncode == 1, f"exec in {sandbox[:4]}", done)
        home.call("rm", sandbox)
    file = settings(home, filesystem={"denyRead": ["conf"], "allowWrite": ["."]})
    done = home.call("race", "--settings", file, "-c", "a=cat conf/secret.txt > found")
    tap.equal(done.returncode, 1, "race")
    done = home.call("race", "-c", "a=cat conf/secret.txt > found")
    tap.equal(done.returncode, 0, "which finds it without")
    for row in home.rows("ls"):
        home.call("rm", row["name"])


def test_network(home):
    """A server on this machine, reached through the gateway where the rules let it."""
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]
    script = f"exec 3<>/dev/tcp/{{}}/{port} && echo reached"
    file = settings(home)
    done = home.call("run", "--settings", file, "--", "bash", "-c", script.format("127.0.0.1"))
    tap.ok("reached" not in done.stdout, "no domain, no network", done)
    home.put(".aisbx.yaml", f"net: allow\nallow: ['host.local:{port}']\n")
    profile = home.path + "/wide.yaml"
    os.rename(home.work + "/.aisbx.yaml", profile)
    words = ["run", "--profile", profile]
    done = home.call(*words, "--", "bash", "-c", script.format("host.local"))
    tap.ok("reached" in done.stdout, "a profile that opens a door", done)
    done = home.call(*words, "--settings", file, "--", "bash", "-c", script.format("host.local"))
    tap.ok("reached" not in done.stdout, "the file shuts it", done)
    done = home.call("run", "--settings", file, "--allow", f"host.local:{port}", "--", "bash", "-c",
                     script.format("host.local"))
    tap.ok("reached" in done.stdout, "a flag is the user's own word", done)
    file = settings(home, {"allowedDomains": [f"host.local:{port}"]})
    done = home.call("run", "--settings", file, "--", "bash", "-c", script.format("host.local"))
    tap.ok("reached" in done.stdout, "an allowed domain", done)
    file = settings(home, {"allowedDomains": [f"host.local:{port}"], "deniedDomains": ["host.local"]})
    done = home.call("run", "--settings", file, "--", "bash", "-c", script.format("host.local"))
    tap.ok("reached" not in done.stdout, "denied beats allowed", done)
    file = settings(home, {"allowedDomains": ["example.org"]})
    kept = home.call("allow", f"net:egress:host.local:{port}")
    done = home.call("run", "--", "bash", "-c", script.format("host.local"))
    tap.ok("reached" in done.stdout, "a rule kept for the workspace", (kept, done))
    done = home.call("run", "--settings", file, "--", "bash", "-c", script.format("host.local"))
    tap.ok("reached" not in done.stdout, "does not widen the file", done)
    file = settings(home)
    home.call("create", "shut", "--profile", profile, "--settings", file)
    done = home.call("exec", "shut", "--", "bash", "-c", script.format("host.local"))
    tap.ok("reached" not in done.stdout, "a sandbox that is kept: neither profile nor kept rule widens it", done)
    home.call("create", "own", "--settings", file, "--allow", f"host.local:{port}")
    done = home.call("exec", "own", "--", "bash", "-c", script.format("host.local"))
    tap.ok("reached" in done.stdout, "a flag does", done)
    home.call("rm", "shut", "own")
    server.close()


def test_refused(home):
    ran = home.work + "/ran"
    for network, filesystem, more, word in (
            ({"mitmProxy": {"socketPath": "/x"}}, {}, {}, "network.mitmProxy"),
            ({"allowedDomains": ["*"]}, {}, {}, "name the domains"),
            ({}, {"denyRead": ["**/.env"]}, {}, "pattern"),
            ({}, {"denyRead": [home.path]}, {}, "allowRead"),
            ({}, {}, {"credentials": {"envVars": [{"name": "T", "mode": "mask"}]}}, "credentials.envVars"),
            ({"allowedDomainz": []}, {}, {}, "allowedDomains")):
        done = home.call("run", "--settings", settings(home, network, filesystem, **more), "--rw-through",
                         f"{home.work}:{home.work}", "--", "touch", ran)
        tap.ok(refused(done, 125, "srt.json", word) and not os.path.exists(ran), f"refused: {word}", done)
    for content, word in (("", "srt.json"), ("{", "srt.json"), ("{}", "network"), ("[" * 100, "srt.json")):
        with open(home.path + "/srt.json", "w") as out:
            out.write(content)
        done = home.call("run", "--settings", home.path + "/srt.json", "--", "true")
        tap.ok(refused(done, 125, word), f"not such a file: {content[:5]!r}", done)
    done = home.call("run", "--settings", home.path + "/absent.json", "--", "true")
    tap.ok(refused(done, 125, "absent.json"), "a file that is not there is no default", done)
    done = home.call("plan", "--json", "--settings", settings(home, {"allowedDomains": ["example.org"]}), "--", "true")
    tap.ok("example.org:443" in done.stdout, "plan shows what it comes to", done)


def main():
    with Home("aisbx-settings.") as home:
        subprocess.run(["git", "init", "-q", home.work], check=False)
        first = home.call("run", "--", "true")
        if first.returncode != 0:
            tap.skip("settings", "a first run is refused here: " + first.stderr.strip())
            return tap.done()
        for test in (test_hide, test_hide_kept, test_read, test_write, test_kept_writes, test_kept_verbs,
                     test_network, test_refused):
            tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
