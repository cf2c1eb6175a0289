#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every verb several times at the same moment, above all as the first calls ever: the same answers and the same state as one by one.

Takes the program from AISBX. Speaks TAP. The verbs are those of `aisbx help --json`: each has calls in the table below. Each call
is made by several processes that start together, in a home where aisbx never was and in one with a sandbox and a promotion, and
by as many one after another in homes made alike. What came out (ids, times and sizes aside), what is on record afterwards and
the user's own lists must be the same in both, and no draft of a file is left. AISBX_LONG=1: more processes, more rounds, and the calls that take long.
"""
import difflib
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import patience  # noqa: E402
from clitest import AISBX, Home, Tap  # noqa: E402
from family import adopt, ours, reap, until  # noqa: E402

LONG = os.environ.get("AISBX_LONG") == "1"
COUNT = 6 if LONG else 4
ROUNDS = 5 if LONG else 1
tap = Tap()

FILES = {
    "text": "one\n",
    "tool.py": "print(1)\n",
    "value": "correct horse battery\n",
    "task": json.dumps({"intent": "run", "command": ["true"]}),
    "code": "import os\nos.system('true')\n",
    "ask": json.dumps({"action": "run", "spec": {"allow": []}}),
    "hook": json.dumps({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "true"}}),
    ".aisbx.yaml": "mem: 256m\n",
    **{f"add{number}.yaml": f"name: add{number}\nevery: 1h\ncommand: [\"true\"]\n" for number in range(6)},
    **{f"p{number}.yaml": "mem: 128m\n" for number in range(6)},
}

# What a used home has had done in it.
USED = (*(("profile", "trust", f"add{number}.yaml") for number in range(COUNT)), ("create", "box"),
        ("exec", "box", "--", "sh", "-c", "echo two > new; echo three > text; mkdir -p out; echo 4 > out/a"),
        ("snap", "box", "-m", "first"), ("promote", "box", "new"), ("exec", "box", "--", "true"),
        ("todo", "box", "--add", "step"), ("artifact", "save", "box", "out/a"), ("create", "old"), ("sign", "tool.py"))


class Call:
    """WORDS, in which # is the number of the process and HOME the home; STATE: what is asked afterwards; LOOSE: its output depends on what others
    did by then, and only exit statuses are compared. MAY: the exit statuses of those that came too late, and nothing else is
    compared. LATER: only in the long form. STDIN names a file of the workspace. SPOILS: the next call needs other homes. AFTER:
    what is called once in the end."""

    def __init__(self, *words, state=(), stdin=None, loose=False, may=(), later=False, spoils=False, after=()):
        self.words, self.state, self.stdin, self.loose, self.later = words, state, stdin, loose, later
        self.may, self.spoils, self.after = set(may), spoils or bool(may), after

    def each(self):
        """What the processes do: the same."""
        return [self] * COUNT

    def __str__(self):
        return " ".join(self.words)


class Mixed(Call):
    """Different calls at the same moment."""

    def __init__(self, *calls):
        super().__init__("all", "of", "these:", *(call.words[0] for call in calls), state=("history",), loose=True, spoils=True)
        self.calls = calls

    def each(self):
        return self.calls


RUNS, SANDBOXES = ("history",), ("ls",)
VERBS = {
    "run": [Call("run", "--", "true", state=RUNS), Call("run", "--keep", "kept", "--", "true", state=SANDBOXES),
            Call("run", "--json", "--", "cat", "text", state=RUNS), Call("run", "--cache", "--", "true", state=RUNS)],
    "try": [Call("try", "-y", "--", "sh", "-c", "echo # > made#", state=("promotions",))],
    "plan": [Call("plan", "--", "true")],
    "create": [Call("create", "one", state=SANDBOXES), Call("create", "own#", state=SANDBOXES)],
    "exec": [Call("exec", "box", "--", "true", state=RUNS), Call("exec", "-d", "box", "--", "true", loose=True, later=True, spoils=True)],
    "shell": [Call("shell", "box", stdin="text")],
    "poll": [Call("poll", "nothing")],
    "ls": [Call("ls", state=SANDBOXES, loose=True), Call("ls", "--json", loose=True)],
    "inspect": [Call("inspect", "box", loose=True)],
    "stop": [Call("stop", "box", state=SANDBOXES, loose=True)],
    "rm": [Call("rm", "box", state=SANDBOXES, loose=True, spoils=True), Call("rm", "--all", state=SANDBOXES, loose=True, spoils=True)],
    "cp": [Call("cp", "text", "box:copy#", state=("diff", "box", "--name-status")), Call("cp", "box:text", "out#")],
    "todo": [Call("todo", "box", "--add", "step #", state=("todo", "box"), loose=True)],
    "snap": [Call("snap", "box", state=("snaps", "box"), loose=True)],
    "snaps": [Call("snaps", "box")],
    "rollback": [Call("rollback", "box", loose=True)],
    "fork": [Call("fork", "box", "new", state=SANDBOXES), Call("fork", "box", "new#", state=SANDBOXES)],
    "refresh": [Call("refresh", "box", loose=True)],
    "diff": [Call("diff", "box"), Call("diff", "box", "--name-status")],
    "status": [Call("status", "box")],
    "promote": [Call("promote", "box", "text", state=("promotions",), loose=True)],
    "undo": [Call("undo", may={3})],
    "promotions": [Call("promotions"), Call("promotions", "request", "box", "out/a", loose=True)],
    "race": [Call("race", "-c", "a=true", "-c", "b=true", state=RUNS, loose=True, later=True)],
    "gate": [Call("gate", "check", "box", "tests==pass")],
    "task": [Call("task", "-", stdin="task", state=RUNS)],
    "job": [Call("job", "add", "add#.yaml", state=("job", "ls")), Call("job", "add", "add0.yaml", state=("job", "ls")), Call("job", "ls")],
    "stage": [Call("stage", "status")],
    "artifact": [Call("artifact", "save", "box", "out/a", state=("artifact", "ls")), Call("artifact", "ls")],
    "repo": [Call("repo", "commit", "box", "-m", "text")],
    "history": [Call("history"), Call("history", "--json")],
    "show": [Call("show", "0")],
    "explain": [Call("explain", "0")],
    "logs": [Call("logs", "0")],
    "top": [Call("top", "-n", "1", loose=True)],
    "events": [Call("events")],
    "search": [Call("search", "true", loose=True)],
    "stats": [Call("stats", loose=True), Call("stats", "--prometheus", loose=True)],
    # What only reads goes into a sandbox while the machine is busy; this does always.
    "guard": [Call("guard", "--", "python3", "tool.py", state=("events",)), Call("guard", "--run", "--", "python3", "tool.py", state=("events",))],
    "scan": [Call("scan", "-", "--lang", "python", stdin="code")],
    "sign": [Call("sign", "tool.py", state=("run", "--require-signature", "--", "python3", "tool.py"))],
    "secret": [Call("secret", "set", "name#", stdin="value", state=("secret", "ls")),
               Call("secret", "set", "same", stdin="value", state=("secret", "ls")), Call("secret", "ls")],
    "agent": [Call("agent", "--", "true", state=RUNS, loose=True)],
    "allow": [Call("allow", "host#.example", state=("net",))],
    "deny": [Call("deny", "host#.example", state=("net",))],
    "net": [Call("net"), Call("net", "presets", loose=True, later=True)],
    "mount": [Call("mount", "--ro", ".:/mnt/m#", state=("mount",))],
    "profile": [Call("profile", "ls"), Call("profile", "trust", "p#.yaml", state=("profile", "ls")),
                Call("profile", "trust", ".aisbx.yaml")],
    "policy": [Call("policy", "check"), Call("policy", "eval", "ask", loose=True)],
    "files": [Call("files", "write", "box", "w#", stdin="text", state=("diff", "box", "--name-status")), Call("files", "ls", "box")],
    "mcp": [Call("mcp")],
    "daemon": [Call("daemon", "start", after=("daemon", "stop"), loose=True), Call("daemon", "status"), Call("daemon", "stop")],
    "queue": [Call("queue")],
    "ui": [Call("ui")],
    "serve": [Call("serve", "e2b", "--nothing")],
    "setup": [Call("setup", "claude-code", state=("setup", "claude-code", "--dry-run")),
              Call("setup", "codex", state=("setup", "codex", "--dry-run")), Call("setup", "--remove", loose=True)],
    "hook": [Call("hook", "claude-code", stdin="hook", state=SANDBOXES)],
    "image": [Call("image", "ls"), Call("image", "import", "root.tar", "--name", "tiny", state=("image", "ls")),
              Call("image", "import", "root.tar", "--name", "tiny#", state=("image", "ls"))],
    "init": [Call("init", "-C", "fresh", loose=True)],
    "wasm": [Call("wasm", "ls")],
    "doctor": [Call("doctor", loose=True, later=True)],
    "services": [Call("services", loose=True), Call("services", "trust", "redis", loose=True)],
    "drivers": [Call("drivers", loose=True)],
    "bench": [Call("bench", "--quick", loose=True, later=True)],
    "gc": [Call("gc", loose=True), Call("gc", "--caches", loose=True)],
    "push": [Call("push", "box", "file:HOME/remote", "--as", "name#"),
             Call("push", "box", "file:HOME/remote", loose=True, may={3})],
    "pull": [Call("pull", "file:HOME/remote", "name0", "--as", "pulled#", state=SANDBOXES, loose=True)],
    "conflicts": [Call("conflicts")],
    "key": [Call("key")],
    "archive": [Call("archive", "ls", "--from", "file:HOME/archive")],
    "sync": [Call("sync", "--to", "postgres://127.0.0.1:1/none", loose=True)],
    "tour": [Call("tour", loose=True, later=True)],
    "version": [Call("version")],
    "help": [Call("help")],
}

# A snapshot of the one that a command runs in would be refused.
BESIDE = Mixed(Call("gc"), Call("run", "--", "true"), Call("create", "mixed"), Call("secret", "set", "mixed", stdin="value"),
               Call("gc", "--caches"), Call("image", "import", "root.tar", "--name", "mixed"), Call("history"), Call("search", "true"), Call("snap", "old"),
               Call("exec", "box", "--", "true"), Call("run", "--cache", "--", "true"), Call("job", "ls"), Call("artifact", "ls"), Call("gc"))

IDS = re.compile(r"\b[0-9A-HJKMNP-TV-Z]{8,26}\b|\b[0-9a-f]{7,64}\b|\b[a-z]+-[0-9a-f]{6}\b|[A-Za-z0-9+/]{43}=")
NUMBERS = re.compile(r"just now|-?\d[\d.,:TZ-]*( ?(ns|us|ms|s|min|m|h|d|B|KiB|MiB|GiB|bytes|seconds?|minutes?|hours?))?\b( ago)?")
# Told by the first, and by all that were on their way then.
ONCE = re.compile("aisbx: not in full force here.*\n")
# What is written before it gets its name, of every part that does so; a number is that of a process.
DRAFT = re.compile(r"\.new\b|-new\b|\.draft|aisbx-tmp|/\.[^/]+\.0$")
# Encrypted, or random.
SEALED = {"secrets", "secrets.key", "signing.key"}


class Place(Home):
    """A home with the files of the table."""

    def __init__(self, used):
        super().__init__("aisbx-test-once.")
        for name, content in FILES.items():
            self.put(name, content)
        shutil.copyfile(ROOT_TAR, self.work + "/root.tar")
        for words in USED if used else ():
            done = self.call(*words)
            if done.returncode:
                tap.ok(False, f"a used home: {words}", done)

    def plain(self, text):
        """The lines of TEXT in no order, without what differs from call to call."""
        text = NUMBERS.sub("0", IDS.sub("ID", ONCE.sub("", text.replace(self.path, "HOME"))))
        return sorted(re.sub(r"[ \t]+", " ", text).replace("},{", "},\n{").splitlines())

    def start(self, call, number, gate):
        """One of several, which goes when the gate is closed on the other side."""
        words = [word.replace("#", str(number)).replace("HOME", self.path) for word in call.words]
        script = 'read _; exec "$@" <"$0"'
        return subprocess.Popen(["sh", "-c", script, call.stdin or "/dev/null", AISBX, *words], stdin=gate, cwd=self.work, env=self.env,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")

    def finish(self, process):
        out, err = process.communicate(timeout=patience(120))
        return process.returncode, self.plain(out), self.plain(err)

    def several(self, call, at_once):
        """What each of them answered."""
        if at_once:
            gate, other = os.pipe()
            started = [self.start(one, number, gate) for number, one in enumerate(call.each())]
            os.close(gate)
            os.close(other)
            return [self.finish(process) for process in started]
        with open("/dev/null") as gate:
            return [self.finish(self.start(one, number, gate)) for number, one in enumerate(call.each())]

    def drafts(self):
        """What should be gone by now; the sandboxes' own files may have any name."""
        found = [os.path.join(top, name) for top, dirs, files in os.walk(self.path) for name in dirs + files]
        return [name for name in self.plain("\n".join(found)) if DRAFT.search(name) and not re.search("/(upper|layers)/", name)]

    def state(self, call):
        """What is on record afterwards, and what the user's own lists have."""
        lists = []
        for top, _, files in os.walk(self.path + "/.config/aisbx"):
            for name in sorted(files):
                if name not in SEALED:
                    with open(os.path.join(top, name), errors="replace") as file:
                        lists.append([name, self.plain(file.read())])
        if not call.state:
            return [lists]
        done = self.call(call.state[0], "--json", *call.state[1:])
        # Whether a sandbox is idle yet, and the figures of a run, are matters of time.
        if call.state == SANDBOXES:
            return [lists, done.returncode, self.plain("\n".join(json.loads(line)["name"] for line in done.stdout.splitlines()))]
        return [lists, done.returncode] + ([self.plain(done.stdout), self.plain(done.stderr)] if call.state[0] != "run" else [])


def shorten(call, answers):
    return sorted(code for code, *_ in answers) if call.loose else sorted(answers)


def difference(want, got):
    lines = [json.dumps(one_by_one, indent=0).splitlines() for one_by_one in (want, got)]
    return "\n".join(line for line in difflib.unified_diff(*lines, "one by one", "at once", lineterm="", n=0))


def compare(call, kind, one_by_one, at_once):
    """Whether several at once answered and left what several one by one did."""
    what = f"{call}, {kind}"
    want, got = one_by_one.several(call, False), at_once.several(call, True)
    for place in (one_by_one, at_once):
        if call.after:
            place.call(*call.after)
    if call.may:
        codes = [code for code, *_ in got]
        return tap.ok(min(code for code, *_ in want) == min(codes) and set(codes) <= {code for code, *_ in want} | call.may, what, got)
    for title, first, second in (("answers", shorten(call, want), shorten(call, got)),
                                 ("state", one_by_one.state(call), at_once.state(call))):
        if first != second:
            return tap.ok(False, f"{what}: {title}", f"{difference(first, second)}\n{got}")
    return tap.ok(until(lambda: not at_once.drafts()), what, at_once.drafts())


def try_fresh(call):
    with Place(False) as one_by_one, Place(False) as at_once:
        compare(call, "the first ones ever", one_by_one, at_once)


def try_used(calls):
    """One after another in the same pair of homes, until one spoils it."""
    while calls:
        with Place(True) as one_by_one, Place(True) as at_once:
            while calls:
                call = calls.pop(0)
                for place in (one_by_one, at_once):
                    place.call("exec", "box", "--", "true")
                if not compare(call, "later ones", one_by_one, at_once) or call.spoils:
                    break


ROOT_TAR = ""


def main():
    global ROOT_TAR
    adopt()
    ROOT_TAR = os.path.join(os.environ.get("HOME") or "/var/tmp", f"aisbx-test-root.{os.getpid()}.tar")
    subprocess.run(["tar", "-cf", ROOT_TAR, "-C", "/etc", "hostname"], check=True)
    table = subprocess.run([AISBX, "help", "--json"], capture_output=True, text=True, check=True).stdout
    rows = [json.loads(line)["name"] for line in table.splitlines()]
    tap.equal(sorted(VERBS), sorted(rows), "every verb is in the table")
    asked = sys.argv[1:]
    calls = [call for verb, several in VERBS.items() for call in several if (not asked or verb in asked) and (LONG or not call.later)]
    if not asked or "gc" in asked:
        calls.append(BESIDE)
    for _ in range(ROUNDS):
        for call in calls:
            try_fresh(call)
        try_used(list(calls))
    os.unlink(ROOT_TAR)
    tap.ok(until(lambda: reap() or not ours()), "no process is left", ours())
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
