#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tools in the home: shown from one table, without the credentials in them; made from that table row by row."""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from aisbxtest import Suite

suite = Suite("tools in the home", needs_attack=False, both_users=False)

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/plan/home_tools.tsv")


def rows():
    for line in open(TABLE, encoding="utf-8"):
        if line.strip() and not line.startswith("#"):
            tool, shown, hidden, _ = line.rstrip("\n").split("\t")
            yield tool, [n for n in shown.split() if n != "-"], [n for n in hidden.split() if n != "-"]


SHOWN = [name for _, shown, _ in rows() for name in shown]
HIDDEN = [name for _, _, hidden in rows() for name in hidden]


def is_in(name, directory):
    return name == directory or name.startswith(directory + "/")


def instance(name):
    """What the pattern of a row could be on a disk."""
    return name.replace("*", "some-1")


def clean(t):
    for name in {name.split("/")[0] for name in SHOWN + [instance(name) for name in HIDDEN]}:
        path = os.path.join(t.caller.home, name)
        if os.path.islink(path) or os.path.isfile(path):
            os.unlink(path)
        else:
            shutil.rmtree(path, ignore_errors=True)


def plant(t, as_directory):
    """A canary at each credential and a file beside it; the paths of both kinds."""
    secrets, tools = [], []
    for name in SHOWN:
        tools.append(f"{name}/bin/tool-file")
    for name in map(instance, HIDDEN):
        leads_on = name.endswith("/aisbx") or any(other != name and is_in(other, name) for other in SHOWN + list(map(instance, HIDDEN)))
        secrets.append(name + "/token" if as_directory or leads_on else name)
        if any(is_in(name, shown) and name != shown for shown in SHOWN):
            tools.append(os.path.dirname(name) + "/tool-beside")
    # What lies in a hidden directory is not beside anything.
    tools = [name for name in tools if not any(is_in(name, instance(hidden)) for hidden in HIDDEN if instance(hidden) != ".nuget")]
    for name in secrets:
        t.caller.put_at(os.path.join(t.caller.home, name), f"CANARY {name}\n")
    for name in tools:
        t.caller.put_at(os.path.join(t.caller.home, name), "tool\n")
    return secrets, tools


def read_all(t, names, **kw):
    """The names that can be read inside."""
    listed = t.caller.put("names", "".join(name + "\n" for name in names))
    result = t.box.run("sh", "-c", f"while read -r n; do cat \"$HOME/$n\" >/dev/null 2>&1 && echo \"$n\"; done < {listed}; exit 0", **kw)
    t.equal(result.code, 0, f"ran: {result}")
    return result.out.splitlines()


def check_table(t, as_directory):
    clean(t)
    secrets, tools = plant(t, as_directory)
    try:
        for name in secrets:
            t.ok(open(os.path.join(t.caller.home, name), encoding="utf-8").read(), f"outside {name} can be read")
        t.equal(read_all(t, secrets), [], "credentials")
        t.equal(read_all(t, tools), tools, "tools")
        t.equal(read_all(t, secrets, flags=["--home", "full"]), [], "credentials, with home: full")
        result = t.box.run("sh", "-c", "grep -rl CANARY ~ 2>/dev/null; exit 0")
        t.equal(result.out, "", f"no canary by any name: {result}")
    finally:
        clean(t)


@suite.case("H01", "every row: the tool is read, its credentials are not")
def table_of_files(t):
    check_table(t, False)


@suite.case("H02", "every row, with directories in the places of credentials")
def table_of_directories(t):
    check_table(t, True)


@suite.case("H03", "tools are copied on write")
def copied(t):
    t.caller.put_at(t.caller.home + "/.rustup/settings", "host\n")
    result = t.box.run("sh", "-c", "echo inside > ~/.rustup/settings; cat ~/.rustup/settings; rm -r ~/.rustup; exit 0")
    t.equal(result.out, "inside\n", f"written inside: {result}")
    t.equal(open(t.caller.home + "/.rustup/settings", encoding="utf-8").read(), "host\n", "the host's is as it was")
    clean(t)


@suite.case("H04", "a link in the place of a tool is followed to what is shown, and nowhere else")
def links(t):
    home = t.caller.home
    clean(t)
    t.caller.put_at(home + "/.pyenv/bun/install/global/.npmrc", "CANARY\n")
    t.caller.put_at(home + "/.pyenv/bun/bin/bun", "tool\n")
    t.caller.put_at(home + "/elsewhere/bin/volta", "CANARY\n")
    t.caller.put_at(home + "/go/pkg/kept-token", "CANARY\n")
    t.caller.put_at(home + "/.cache/huggingface/hub/model", "tool\n")
    t.caller.put_at(home + "/.local/share/uv/tools/x/bin/x", "tool\n")
    for name, target in ((".bun", home + "/.pyenv/bun"), (".volta", home + "/elsewhere"), (".sdkman", "/usr/share"),
                         (".elan", "elsewhere"), (".asdf", "/"), (".nvm", home), (".cache/huggingface/token", home + "/go/pkg/kept-token"),
                         (".local/share/uv/credentials", home + "/elsewhere")):
        os.symlink(target, os.path.join(home, name))
    os.makedirs(home + "/.local/bin", exist_ok=True)
    os.symlink("../share/uv/tools/x/bin/x", home + "/.local/bin/x")
    t.caller.own(home)
    try:
        shown = [".bun/bin/bun", ".cache/huggingface/hub/model", ".local/bin/x", ".pyenv/bun/bin/bun"]
        hidden = [".bun/install/global/.npmrc", ".pyenv/bun/install/global/.npmrc", ".volta/bin/volta", ".elan/bin/volta", "elsewhere/bin/volta",
                  ".cache/huggingface/token", "go/pkg/kept-token", ".asdf" + home + "/elsewhere/bin/volta", ".nvm/elsewhere/bin/volta",
                  ".local/share/uv/credentials/bin/volta"]
        t.equal(read_all(t, shown), shown, "links to what is shown")
        t.equal(read_all(t, hidden), [], "what is hidden stays so behind links")
        result = t.box.run("sh", "-c", "ls -d ~/.sdkman/doc; ls -d ~/.volta ~/.elan ~/.asdf ~/.nvm 2>/dev/null; grep -rl CANARY ~; exit 0")
        t.equal(result.out, home + "/.sdkman/doc\n", f"a link to the system is seen, others are not there: {result}")
        t.equal(open(home + "/.pyenv/bun/install/global/.npmrc", encoding="utf-8").read(), "CANARY\n", "nothing is made behind a link")
    finally:
        shutil.rmtree(home + "/elsewhere")
        clean(t)


@suite.case("H05", "home_tools: in the user's profile, and never from the workspace")
def user_rows(t):
    home = t.caller.home
    t.caller.put_at(home + "/.foo/bin/x", "tool\n")
    t.caller.put_at(home + "/.config/nvim/init.lua", "tool\n")
    t.caller.put_at(home + "/.config/gh/hosts.yml", "CANARY\n")
    t.caller.put_at(home + "/.ssh/id_rsa", "CANARY\n")
    profile = t.caller.put_at(t.caller.dir + "/more.yaml", "home_tools: [~/.foo, .config]\n")
    names = [".foo/bin/x", ".config/nvim/init.lua", ".config/gh/hosts.yml", ".ssh/id_rsa"]
    try:
        t.equal(read_all(t, names), [], "not by default")
        t.equal(read_all(t, names, flags=["--profile", t.caller.dir + "/more.yaml"]), names[:2], "by a profile, without credentials")
        t.equal(read_all(t, names, flags=["--home-tools", ".foo"]), names[:1], "by a flag")
        t.caller.put(".aisbx.yaml", "home_tools: [.foo]\n")
        t.equal(read_all(t, names), [], "not by a profile that came with the workspace")
        os.unlink(os.path.join(t.caller.workspace, ".aisbx.yaml"))
        for bad in (".ssh", "/etc", "../x", "~", ".config/gh"):
            result = t.box.run("true", flags=["--home-tools", bad])
            t.ok(result.code == 125 and "home_tools" in str(result.json), f"refused: {bad}", result)
    finally:
        for name in (".foo", ".config", ".ssh"):
            shutil.rmtree(os.path.join(home, name))


@suite.case("H06", "more repositories than can be looked at: hidden as a whole")
def many(t):
    clean(t)
    for i in range(300):
        t.caller.put_at(f"{t.caller.home}/.cargo/git/db/repo-{i}/config", "CANARY\n")
    try:
        result = t.box.run("sh", "-c", "grep -rl CANARY ~/.cargo; exit 0")
        t.equal(result.out, "", "no configuration is read")
    finally:
        clean(t)


@suite.case("H07", "a program or file that is hidden here says so, and how to show it")
def said(t):
    home = t.caller.home
    t.caller.put_at(home + "/.foo/bin/frob", "#!/bin/sh\necho frobbed\n", 0o755)
    t.caller.put_at(home + "/.ssh/id_rsa", "CANARY\n")
    t.caller.put_at(home + "/notes.txt", "text\n")
    t.caller.put_at(home + "/.local/bin/placeholder", "")
    os.symlink(home + "/.foo/bin/frob", home + "/.local/bin/frob-link")
    env = {"PATH": f"{home}/.foo/bin:{home}/.local/bin:/usr/bin:/bin"}
    words = "~/.foo/bin/frob exists on the host and is hidden here; show it with --home-tools .foo"
    try:
        for command, code in ((["frob"], 127), ([home + "/.foo/bin/frob"], 127), (["sh", "-c", "true; frob x"], 127),
                              (["sh", "-c", "~/.foo/bin/frob"], 127), (["frob-link"], 127), (["cat", home + "/.foo/bin/frob"], 1)):
            result = t.box.run(*command, env=env)
            t.equal(result.code, code, f"fails as ever: {result}")
            t.ok(words in str(result.json), f"{command[-1]}: the sentence", result)
        result = t.box.run("frob", env=env, flags=["--home-tools", ".foo"])
        t.equal(result.out, "frobbed\n", f"the way out works: {result}")
        result = t.box.run("cat", home + "/notes.txt")
        t.ok(f"--ro {home}/notes.txt:{home}/notes.txt" in str(result.json), "a file of the home itself", result)
        result = t.box.run("cat", home + "/notes.txt", flags=["--ro", f"{home}/notes.txt:{home}/notes.txt"])
        t.equal(result.out, "text\n", f"that way works, too: {result}")
        t.box.call("create", "hidden-1", "-C", t.caller.workspace)
        done = t.box.call("exec", "hidden-1", "--", home + "/.foo/bin/frob")
        t.ok(done.returncode == 127 and words in done.stderr, "the same by exec", done)
        t.box.call("rm", "hidden-1")
        for quiet in (["cat", home + "/.ssh/id_rsa"], ["cat", "/etc/shadow"], ["no-such-program"], ["cat", home + "/.none"],
                      ["sh", "-c", "exit 127"], ["ls", "/usr/none"]):
            result = t.box.run(*quiet, env=env)
            t.ok("exists on the host" not in str(result.json), f"nothing is said of {quiet[-1]}", result)
    finally:
        os.unlink(home + "/.local/bin/frob-link")
        for name in (".foo", ".ssh"):
            shutil.rmtree(os.path.join(home, name))
        os.unlink(home + "/notes.txt")


@suite.case("H08", "a credential that a tool of the host makes later is hidden from the next exec")
def later(t):
    home = t.caller.home
    clean(t)
    old, new = ".cargo/git/db/old/config", [".cargo/git/db/new/config", "miniconda3/envs/new/pip.conf", ".asdf/installs/ruby/3/lib/ruby/gems/3/bundler/gems/new/.git/config"]
    t.caller.put_at(os.path.join(home, old), "CANARY\n")
    for name in ("miniconda3", ".asdf"):
        t.caller.put_at(f"{home}/{name}/bin/tool-file", "tool\n")
    try:
        t.box.call("create", "later-1", "-C", t.caller.workspace)
        for name in [old] + new:
            t.caller.put_at(os.path.join(home, name), "CANARY\n")
            t.caller.put_at(os.path.join(home, os.path.dirname(name), "tool-beside"), "tool\n")
            done = t.box.call("exec", "later-1", "--", "sh", "-c", f"cat ~/{os.path.dirname(name)}/tool-beside; cat ~/{name}; exit 0")
            t.ok(done.returncode == 0 and done.stdout == "tool\n", f"hidden, and what is beside it is not: {name}", done)
    finally:
        t.box.call("rm", "later-1")
        clean(t)


suite.main()
