#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What shells offer: `help --complete` itself, and the scripts for bash, zsh and fish that ask it.

Takes the program from AISBX, the scripts from AISBX_SOURCE. Speaks TAP. A shell that is not installed is skipped; so are
cases that need a real sandbox, where a first run is refused.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from clitest import AISBX, Home, Tap  # noqa: E402

SCRIPTS = Path(os.environ.get("AISBX_SOURCE") or Path(__file__).resolve().parents[2]) / "completion"

tap = Tap()


def lines(*words):
    return home.call("help", "--complete", "--", *words).stdout.splitlines()


def offered(*words):
    return [line.split("\t")[0] for line in lines(*words)]


def printed(*words):
    """What a shell's script prints; the program is found by its name."""
    env = {**home.env, "PATH": home.path + "/bin:" + os.environ["PATH"]}
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=home.work, env=env,
                          timeout=120, check=False).stdout


def check_table():
    tap.ok({"run", "rm", "race"} <= set(offered("r")) and "exec" not in offered("r"), "verbs", offered("r"))
    tap.ok(any(line.startswith("undo\ttake a promotion back") for line in lines("")), "with what they do")
    tap.ok(offered("run", "--net", "n") == ["none"], "a flag's choices", offered("run", "--net", "n"))
    tap.ok("--mem" in offered("run", "--m") and "--net" not in offered("run", "--m"), "flags")
    tap.ok(offered("run", "-C", "x") == [":directories"], "directories", offered("run", "-C", "x"))
    tap.ok("default" in offered("run", "--profile", "") and ":files" in offered("run", "--profile", ""), "profiles")
    tap.ok(offered("run", "--", "l") == [":command 3"], "a command's own words", offered("run", "--", "l"))
    tap.ok("exit-codes" in offered("help", "exit"), "topics of the help")
    tap.ok(offered("no-such-verb", "x") == [], "nothing for an unknown verb")
    refused = home.call("help", "--complete")
    tap.ok(refused.returncode == 2 and "behind --" in refused.stderr, "no words at all are refused", refused)


def check_names():
    if home.call("create", "first").returncode != 0 or home.call("exec", "first", "--", "touch", "x").returncode != 0:
        tap.skip("names of what is there", "no sandbox can be made here")
        return
    # A message is free text: nothing in it ends a line or reaches a terminal as it is.
    home.call("snap", "first", "-m", "one\ntwo\033[31m")
    tap.ok(offered("exec", "fi") == ["first"], "sandboxes", offered("exec", "fi"))
    tap.ok(offered("rollback", "first", "") == ["s1"], "snapshots", lines("rollback", "first", ""))
    tap.ok(offered("diff", "first@") == ["first@s1"], "snapshots behind an @", offered("diff", "first@"))
    tap.ok("\033" not in "".join(lines("rollback", "first", "")), "no escape in what is said of them")
    home.call("promote", "first")
    tap.ok(len(offered("undo", "")) == 1, "promotions", offered("undo", ""))
    tap.ok(home.call("undo").returncode == 0 and offered("undo", "") == [], "not those that were taken back", offered("undo", ""))


def in_bash(line):
    """What bash would offer behind LINE."""
    script = f'''. "{SCRIPTS}/aisbx.bash"
COMP_LINE={line!r} COMP_POINT={len(line)}
read -ra COMP_WORDS <<<"${{COMP_LINE//@/ @ }}"
[[ $COMP_LINE == *" " || $COMP_LINE == *@ ]] && COMP_WORDS+=("")
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_aisbx aisbx
printf '%s\\n' "${{COMPREPLY[@]}}"'''
    return printed("bash", "-c", script).split()


def in_zsh(line):
    words = line.split(" ")
    quoted = " ".join(f"'{word}'" for word in words)
    script = f'''_describe() {{ print -l -- "${{(@)${{(P)argv[-1]}}%%:*}}" }}; _files() {{ print FILES $1 }}; _normal() {{ print NORMAL $words[1] }}
words=({quoted}) CURRENT={len(words)}
. "{SCRIPTS}/_aisbx"'''
    return printed("zsh", "-fc", script).split()


def in_fish(line):
    script = f'source "{SCRIPTS}/aisbx.fish"; complete -C {line!r}'
    return [found.split("\t")[0] for found in printed("fish", "--no-config", "-c", script).splitlines()]


def check_shell(name, ask):
    if not shutil.which(name):
        tap.skip(f"{name}: completion", f"no {name} here")
        return
    tap.ok(ask("aisbx prom") == ["promote", "promotions"], f"{name}: verbs", ask("aisbx prom"))
    tap.ok(ask("aisbx run --net l") == ["loopback"], f"{name}: choices", ask("aisbx run --net l"))
    files = ask("aisbx cp some-f")
    tap.ok(files in (["some-file"], ["FILES"]), f"{name}: files", files)


def main():
    global home
    with Home("aisbx-completion.") as home:
        Path(home.work, "some-file").touch()
        os.mkdir(home.path + "/bin")
        os.symlink(AISBX, home.path + "/bin/aisbx")
        check_table()
        check_names()
        for name, ask in (("bash", in_bash), ("zsh", in_zsh), ("fish", in_fish)):
            check_shell(name, ask)
        if home.call("inspect", "first").returncode == 0:
            tap.ok(in_bash("aisbx diff first@") == ["s1"], "bash: a snapshot behind an @", in_bash("aisbx diff first@"))
    return tap.done()


sys.exit(main())
