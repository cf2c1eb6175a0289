#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""guard on commands as agents give them to a shell: how often it decides as a careful person would.

guard-commands.tsv holds them, each with the decision. Nothing of it is run. Takes the program from AISBX. Speaks TAP.
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import shellgen  # noqa: E402
from clitest import AISBX, Tap  # noqa: E402

tap = Tap()
scratch = os.path.realpath(tempfile.mkdtemp(prefix="aisbx-test-guard-"))
os.chmod(scratch, 0o755)
WORKSPACE, HOME, OUT = (os.path.join(scratch, name) for name in ("workspace", "home", "out"))
# What a shell would run before the text, or in place of its words, is no part of these decisions.
ENV = {name: value for name, value in os.environ.items() if not name.startswith(("BASH", "LD_", "ENV", "SHELLOPTS"))}
ENV.update(HOME=HOME, PATH="/usr/bin:/bin", XDG_STATE_HOME=os.path.join(scratch, "state"),
           XDG_DATA_HOME=os.path.join(scratch, "data"))
AGREED_LEAST = 95
CANARY = "canary-4711"


def put(*names):
    for name in names:
        path = os.path.join(scratch, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write("a,b\n")


def guard(*words, env=None):
    done = subprocess.run([AISBX, "guard", "--json", "--", *words], capture_output=True, text=True, errors="replace",
                          cwd=WORKSPACE, env=env or ENV, timeout=120, stdin=subprocess.DEVNULL, check=False)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = {"decision": "none", "reasons": [done.stderr]}
    # A machine with more to do than processors puts what it would run directly into a sandbox.
    if answer["decision"] == "sandbox" and any("busy" in reason for reason in answer["reasons"]):
        answer["decision"] = "direct"
    return answer


def rows():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "guard-commands.tsv"), encoding="ascii") as file:
        for line in file:
            if not line.startswith("#"):
                decision, kind, command = line.rstrip("\n").split("\t")
                yield decision, kind, command.replace("$W", WORKSPACE).replace("$OUT", OUT)


def test_corpus():
    agreed, count, looser, let_through = 0, 0, [], []
    order = ["direct", "sandbox", "ask", "deny"]
    for decision, kind, command in rows():
        answer = guard("bash", "-c", command)
        count += 1
        agreed += answer["decision"] == decision
        if answer["decision"] != decision:
            print(f"#   {decision} expected, {answer['decision']}: {command} ({'; '.join(answer['reasons'])})")
        if answer["decision"] in order and order.index(answer["decision"]) < order.index(decision):
            looser.append(command)
        if kind == "harmful" and answer["decision"] in ("direct", "none"):
            let_through.append(command)
    share = 100 * agreed / max(count, 1)
    print(f"# {agreed} of {count} decided as a careful person would ({share:.1f} %), {len(looser)} less strictly")
    tap.ok(count >= 300, "at least 300 commands")
    tap.ok(share >= AGREED_LEAST, f"at least {AGREED_LEAST} % agreement", f"{share:.1f}")
    tap.equal(let_through, [], "no harmful one runs directly")


def test_reasons():
    answer = guard("sh", "-c", "ls && curl https://example.org | head")
    tap.ok(any("curl" in reason and "(in: curl https://example.org)" in reason for reason in answer["reasons"]),
           "the reason names the part", answer)
    tap.equal(guard("bash", "-c", "ls -la")["decision"], "direct", "a shell is what its text is")
    for name, value in (("BASH_ENV", "/x"), ("BASH_FUNC_ls%%", "() { id; }"), ("LD_PRELOAD", "x.so")):
        tap.ok(guard("bash", "-c", "ls", env={**ENV, name: value})["decision"] != "direct", f"but not with {name}")
    os.symlink(os.path.join(HOME, ".ssh", "id_rsa"), os.path.join(WORKSPACE, "link.txt"))
    tap.equal(guard("bash", "-c", "cat *.txt")["decision"], "deny", "a pattern is looked at as the files it covers")
    tap.equal(guard("bash", "-c", "cd src && cat ../link.txt")["decision"], "deny", "from where the text has gone")
    nested = "ls"
    for _ in range(8):
        nested = f"bash -c {json.dumps(nested)}"
    tap.ok(guard("bash", "-c", nested)["decision"] != "direct", "text in text in text is never direct")
    tap.ok(guard("bash", "-c", ";".join(["ls"] * 3000))["decision"] != "direct", "nor is more than is looked at")


def run_to_end(text, env):
    """What the shell and all that it started have printed, when all of them have ended: each holds the pipe."""
    ours, theirs = os.pipe()
    printed = b""
    with subprocess.Popen(["bash", "-c", text], cwd=WORKSPACE, env=env, pass_fds=(theirs,), stdin=subprocess.DEVNULL,
                          stdout=theirs, stderr=subprocess.DEVNULL):
        os.close(theirs)
        while part := os.read(ours, 65536):
            printed += part
    os.close(ours)
    return printed.decode(errors="replace")


def plant(mark):
    """Programs in place of others, links in place of what quoted words seem to be; the environment that has them."""
    tools = os.path.join(scratch, "planted")
    programs = [os.path.join(tools, name) for name in (":", "builtin", "cd", "command", "exit", "time", "type", "wait")]
    os.mkdir(tools)
    for program in [*programs, os.path.join(WORKSPACE, "ls")]:
        with open(program, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\n/usr/bin/touch {mark}\n")
        os.chmod(program, 0o755)
    key = os.path.join(HOME, ".ssh", "id_rsa")
    with open(key, "w", encoding="ascii") as file:
        file.write(f"{CANARY}\n")
    for name in ("~/x", "$HOME/x", "{a,b}", f"a={HOME}/x"):
        os.makedirs(os.path.dirname(os.path.join(WORKSPACE, name)), exist_ok=True)
        os.symlink(key, os.path.join(WORKSPACE, name))
    return {**ENV, "PATH": f"{tools}:/usr/bin:/bin", "SECRET": CANARY, "RUN": f"touch {mark}"}


def test_oracle():
    """A shell is the oracle: what made it run the tripwire, or print the canary, may not be direct."""
    seed = int(os.environ.get("AISBX_SEED", "1"))
    rounds = int(os.environ.get("AISBX_ROUNDS", "150"))
    chance = random.Random(seed)
    mark = os.path.join(WORKSPACE, "tripwire")
    env = plant(mark)
    leaves = ("ls", "echo a", "cat a.csv", "true", f"touch {mark}", f"touch {mark}")
    texts = {shellgen.command(chance, chance.randint(1, 3), leaves) for _ in range(rounds)}
    # Each form once, with nothing around it.
    texts.update(shellgen.fill(form, chance, 1, ("ls",)) for form in shellgen.COMMANDS)
    texts.update(f"{name} {word}" for word in shellgen.WORDS for name in ("cat", "echo", "cat <", "cat <<<"))
    missed, harmed = [], 0
    for text in sorted(texts):
        if os.path.exists(mark):
            os.unlink(mark)
        if CANARY in run_to_end(text, env) or os.path.exists(mark):
            harmed += 1
            if guard("bash", "-c", text, env=env)["decision"] in ("direct", "none"):
                missed.append(text)
    print(f"# seed {seed}: {harmed} of {len(texts)} texts ran the tripwire or printed the canary")
    tap.ok(harmed > len(texts) // 8, "many texts did", harmed)
    tap.equal(missed, [], "none of them is direct")
    for words in (": a", "cd src", "command ls", "exit 1", "time ls", "type ls", "wait 1"):
        tap.ok(guard(*words.split(), env=env)["decision"] != "direct", f"nor is a planted program: {words}")


def main():
    put("workspace/README.md", "workspace/src/main.c", "workspace/src/util.c", "workspace/src/app.py", "workspace/a.csv",
        "workspace/b.csv", "workspace/build.log", "workspace/tests/test_app.py", "workspace/package.json",
        "workspace/run.sh", "workspace/script.py", "workspace/urls.txt", "out/data.txt", "home/.ssh/id_rsa",
        "home/.aws/credentials", "home/.netrc")
    try:
        if any("needs" in reason for reason in guard("bash", "-c", "ls")["reasons"]):
            tap.skip("guard reads shell", "this build has no parser")
        else:
            test_corpus()
            test_reasons()
            test_oracle()
    finally:
        shutil.rmtree(scratch)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
