#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that aisbx reads and that others may have put there: fifos, sockets, devices, link loops, directories and endless files
in their place never make a verb wait, and never crash it.

Two generators. Names that verbs look for by themselves, or that are given to them, in the workspace and the home; and every
regular file that a set-up leaves in the folders of aisbx itself. At each, each kind of file is planted, and verbs that read it
have to end. Takes the program from AISBX; AISBX_ROUNDS: how many pairs of name and kind are tried (0: all); AISBX_SEED: which; AISBX_PATIENCE: how
many seconds a verb may take. Speaks TAP.
"""
import json
import os
import shutil
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from chance import chance
from clitest import AISBX, Home, Tap

tap = Tap()
ROUNDS = int(os.environ.get("AISBX_ROUNDS") or 18)
# Far above what any of these verbs takes, also on a loaded machine; a hang has no end.
PATIENCE = int(os.environ.get("AISBX_PATIENCE") or 150)
# What an exit can be: the contract's codes.
ANSWERS = {0, 1, 2, 3, 4, 5, 70, 125, 126, 127}

START = (("run", "--", "true"), ("create", "other"), ("exec", "box", "--", "true"))
CHANGES = (("exec", "box", "--", "sh", "-c", "echo x >>f"), ("diff", "box"), ("promote", "box"), ("status", "box"))

# Names in the workspace or below the home, and verbs that read them; "@" stands for the path.
NAMES = {
    "project/.aisbx.yaml": (*START, ("plan", "--", "true"), ("profile", "check", "@"), ("profile", "trust", "@")),
    "project/.git": (*START, *CHANGES, ("repo", "commit", "box", "-m", "x")),
    "project/.git/HEAD": (*START, *CHANGES, ("repo", "commit", "box", "-m", "x")),
    "project/.git/config": (*START, *CHANGES, ("repo", "commit", "box", "-m", "x")),
    "project/.git/commondir": (*START, *CHANGES),
    "project/.git/index": (*START, *CHANGES, ("repo", "commit", "box", "-m", "x")),
    "project/.git/packed-refs": (*START, *CHANGES),
    "project/.git/logs/HEAD": (*START, *CHANGES),
    "project/.git/info/exclude": CHANGES,
    "project/.gitignore": CHANGES,
    "project/.gitattributes": CHANGES,
    "project/Makefile": (("task", "test"), *CHANGES),
    "project/package.json": (("task", "test"), ("run", "--require-signature", "--", "./s.py")),
    "project/f": CHANGES,
    "project/s.py": (("scan", "@"), ("scan", "."), ("sign", "@"), ("guard", "--", "python3", "@"), ("run", "--scan", "enforce", "--", "python3", "s.py"),
                     ("run", "--require-signature", "--", "./s.py"), ("run", "--", "./s.py"), ("cp", "@", "box:c")),
    "project/s.py.sig": (("run", "--require-signature", "--", "./s.py"), ("sign", "s.py")),
    "project/pipeline.yaml": (("stage", "run", "box"), ("stage", "run", "box", "-f", "@"), ("stage", "status")),
    "project/given": (("run", "--profile", "@", "--", "true"), ("run", "--settings", "@", "--", "true"), ("run", "--batch", "@"),
                      ("run", "--secret", "K=@", "--", "true"), ("run", "--driver", "wasm", "--", "./given"), ("race", "@"),
                      ("task", "@"), ("wasm", "install", "python", "--from", "@"), ("scan", "--policy", "@", "s.py"), ("run", "--ro", "@", "--", "true"),
                      ("run", "--rw", "@", "--", "true")),
    ".gitconfig": (*START, *CHANGES),
    ".config/git/config": (*START, *CHANGES),
    ".config/git/ignore": CHANGES,
    ".config/aisbx/default.yaml": START,
    ".config/aisbx/profiles/default.yaml": (*START, ("profile", "list"), ("profile", "show", "default")),
    ".config/aisbx/pipeline.yaml": (("stage", "run", "box"),),
    ".config/aisbx/scan.yaml": (("scan", "s.py"), ("run", "--scan", "enforce", "--", "python3", "s.py")),
    ".config/aisbx/signing.key": (("sign", "s.py"),),
    ".config/aisbx/trusted-keys": (("run", "--require-signature", "--", "./s.py"),),
    ".config/aisbx/network": (*START, ("net",), ("allow", "net:egress:example.com:443")),
    ".config/aisbx/trust": (*START, ("profile", "untrust", "project/.aisbx.yaml")),
    ".bashrc": START, ".profile": START, ".netrc": START, ".npmrc": START, ".ssh": START, ".cargo": START, ".local/bin": START,
}
# Read the folders of aisbx itself.
OWN = (*START, *CHANGES, ("snap", "box", "again"), ("fork", "box", "twin"), ("rollback", "box"), ("ls",), ("history",), ("logs", "RUN"),
       ("poll", "EXEC"), ("promotions",), ("undo",), ("todo", "box"), ("artifact", "ls"), ("gc",), ("top",))


def plant(home, path, kind):
    """Something of KIND at PATH."""
    beside = home.path + "/planted"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "link to a fifo":
        os.mkfifo(beside)
        os.symlink(beside, path)
    elif kind == "socket":
        # A name of its own first: those of sockets are short.
        with socket.socket(socket.AF_UNIX) as end:
            os.chdir(home.path)
            end.bind("planted")
            os.rename("planted", path)
            os.chdir("/")
    elif kind == "loop":
        os.symlink(os.path.basename(path), path)
    elif kind == "directory":
        os.mkdir(path)
    elif kind == "huge":
        with open(path, "wb") as file:
            os.truncate(file.fileno(), 1 << 30)
    else:
        os.symlink(kind, path)


KINDS = ("fifo", "link to a fifo", "socket", "loop", "directory", "huge", "/dev/zero", "/dev/tty")


class Planted:
    """PATH replaced for a while."""

    def __init__(self, home, path, kind):
        self.home, self.path, self.kind = home, path, kind
        self.kept = home.path + "/kept"

    def __enter__(self):
        if os.path.lexists(self.path):
            os.rename(self.path, self.kept)
        plant(self.home, self.path, self.kind)

    def __exit__(self, *_):
        for path in (self.path, self.home.path + "/planted"):
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path, ignore_errors=True)
            elif os.path.lexists(path):
                os.unlink(path)
        if os.path.lexists(self.kept):
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            os.rename(self.kept, self.path)


def judge(home, words):
    """None, or what is wrong with the answer."""
    try:
        done = subprocess.run([AISBX, *words], cwd=home.work, env=home.env, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return "does not end"
    if done.returncode not in ANSWERS or "Sanitizer" in done.stderr:
        return f"exit {done.returncode}: {done.stderr[-300:]}"
    if done.returncode not in (0, 1) and not (done.stderr + done.stdout).strip():
        return f"exit {done.returncode} without a word"
    return None


def attempt(home, path, kind, verbs, ids=None):
    problems = []
    with Planted(home, path, kind):
        for verb in verbs:
            words = [(ids or {}).get(word, word.replace("@", path)) for word in verb]
            problem = judge(home, words)
            if problem:
                problems.append(f"{' '.join(words)}: {problem}")
    home.call("rm", "other", "twin")
    tap.ok(not problems, f"{kind} at {os.path.relpath(path, home.path)}", "\n".join(problems))


def set_up(home):
    """A project under git, a sandbox that ran, changed, saved, promoted; ids of a run and of a command in the background."""
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com"]
    home.put("f", "one\n")
    home.put("s.py", "#!/usr/bin/env python3\nprint(1)\n", 0o755)
    home.put("Makefile", "test:\n\ttrue\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run(git + words, cwd=home.work, env=home.env, check=False, capture_output=True)
    home.call("create", "box")
    home.call("exec", "box", "--", "sh", "-c", "echo two >>f; echo out")
    home.call("snap", "box", "first")
    home.call("promote", "box")
    home.call("todo", "box", "add", "a step")
    home.call("artifact", "save", "box", "f")
    home.call("run", "--", "echo", "kept")
    started = json.loads(home.call("exec", "box", "-d", "--json", "--", "sh", "-c", "echo behind").stdout or "{}")
    runs = [row.get("run_id") for row in home.rows("history")]
    return {"RUN": runs[0] if runs and runs[0] else "-", "EXEC": started.get("exec_id") or "-"}


def own_files(home):
    """Regular files of aisbx itself: the store but for the content of layers, the state, caches."""
    found = []
    for folder in (".local/share/aisbx", ".local/state/aisbx", ".cache/aisbx", ".config/aisbx"):
        for top, dirs, files in os.walk(os.path.join(home.path, folder)):
            dirs[:] = sorted(d for d in dirs if d not in ("trash", "wasm") and not d.startswith("u-"))
            found += [os.path.join(top, name) for name in sorted(files) if os.path.isfile(os.path.join(top, name))]
    return found


def drawn(draw, pairs, rounds):
    return pairs if not ROUNDS or rounds >= len(pairs) else draw.sample(pairs, rounds)


def test_names(home):
    """Names that are looked for, or given."""
    set_up(home)
    draw = chance("planted-names")
    pairs = [(name, kind) for name in NAMES for kind in KINDS]
    # Those that hung once come first, whatever is drawn.
    always = [("project/given", "fifo"), ("project/s.py", "link to a fifo"), ("project/.git/HEAD", "fifo"), (".gitconfig", "fifo")]
    for name, kind in always + drawn(draw, [pair for pair in pairs if pair not in always], ROUNDS):
        attempt(home, os.path.join(home.path, name), kind, NAMES[name])


def test_own(home):
    """Every file of a store, a state and a cache."""
    draw = chance("planted-own")
    ids = set_up(home)
    files = own_files(home)
    tap.ok(len(files) > 10, "files of aisbx itself are found", files)
    pairs = [(path, kind) for path in files for kind in KINDS]
    for path, kind in drawn(draw, pairs, ROUNDS // 3):
        if os.path.isdir(os.path.dirname(path)):
            attempt(home, path, kind, OWN, ids)


def main():
    for test in (test_names, test_own):
        with Home("aisbxtest-planted-") as home:
            if not home.can_run(tap, "planted files"):
                break
            tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
