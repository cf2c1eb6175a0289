#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Directories renamed, made and removed in every order: promoted as the sandbox shows them, and never at the host's cost.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it; the suite's runner does so as root and as a
plain user. AISBX_ROUNDS sets the number of random rounds, AISBX_SEED repeats one choice of them.

A few orders still end with a needless conflict (renames of renames after a promotion and an undo): safe, but no pass.
"""

import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from chance import chance
from clitest import Home, Tap

tap = Tap()
ROUNDS = int(os.environ.get("AISBX_ROUNDS") or "6")

# One program inside does a list of steps and prints the tree as it then is. What a step cannot do is left out.
INSIDE = r"""
import json, os, shutil, sys
def edit(path, text):
    with open(path, "a") as file:
        file.write(text)
def remove(path):
    shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
def replace(path, text):
    shutil.rmtree(path)
    os.mkdir(path)
    edit(path + "/fresh", text)
DO = {"edit": edit, "remove": remove, "replace": replace, "rename": os.rename, "mkdir": lambda path: os.makedirs(path),
      "chmod": lambda path, mode: os.chmod(path, mode)}
for name, *words in json.loads(sys.argv[1]):
    try:
        DO[name](*words)
    except OSError:
        pass
tree = {}
for top, dirs, files in os.walk("."):
    for name in dirs + files:
        path = os.path.join(top, name)
        about = os.lstat(path)
        tree[path] = [about.st_mode, open(path).read() if name in files else None]
print(json.dumps(tree, sort_keys=True))
"""


def clean(home, *names):
    """Removes sandboxes and what lies in the workspace."""
    home.call("rm", *names)
    subprocess.run(["find", home.work, "-mindepth", "1", "-delete"], check=True)


def host_tree(home):
    done = subprocess.run([sys.executable, "-c", INSIDE, "[]"], cwd=home.work, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def inside(home, name, steps):
    done = home.call("exec", name, "--", "python3", "-c", INSIDE, json.dumps(steps))
    if done.returncode != 0:
        raise RuntimeError(done)
    return json.loads(done.stdout)


class Round:
    """One sandbox over one random tree; the host is changed by promotions and undos alone."""

    def __init__(self, home, random):
        self.home, self.random, self.log, self.texts = home, random, [], 0
        self.undoable = []

    def text(self):
        self.texts += 1
        return f"text {self.texts}\n"

    def fill(self):
        names = ["a", "a/b", "a/b/c", "d", "d/e", "g"]
        for name in names:
            for file in self.random.sample(["x", "y", "z"], 2):
                self.home.put(f"{name}/{file}", "".join(self.text() for _ in range(self.random.randint(1, 4))))
        self.tree = host_tree(self.home)

    def pick(self, is_dir):
        found = [path for path, (_, text) in sorted(self.tree.items()) if (text is None) == is_dir]
        return self.random.choice(found) if found else "./new"

    def place(self):
        """A name that may or may not be there, in a directory that is."""
        top = self.random.choice([".", self.pick(True)])
        return top + "/" + self.random.choice(["a", "b", "d", "k", "m", "x", "y"])

    def step(self):
        kind = self.random.choice(["edit", "edit", "rename", "rename", "rename", "file", "mkdir", "remove", "replace", "chmod"])
        if kind == "edit":
            return ["edit", self.random.choice([self.pick(False), self.place()]), self.text()]
        if kind == "rename":
            return ["rename", self.pick(True), self.place()]
        if kind == "file":
            return ["rename", self.pick(False), self.place()]
        if kind == "replace":
            return ["replace", self.pick(True), self.text()]
        if kind == "chmod":
            return ["chmod", self.pick(False), self.random.choice([0o600, 0o644])]
        return [kind, self.place() if kind == "mkdir" else self.pick(self.random.random() < 0.5)]

    def change(self):
        steps = []
        for _ in range(self.random.randint(1, 4)):
            steps.append(self.step())
            # The next step is chosen among what is there now.
            self.log.append(steps[-1])
        self.tree = inside(self.home, "walk", steps)

    def promote(self):
        self.tree = inside(self.home, "walk", [])
        before = host_tree(self.home)
        done = self.home.call("promote", "walk")
        after = host_tree(self.home)
        if done.returncode != 0 or after != self.tree:
            wrong = {path: (after.get(path), self.tree.get(path)) for path in {*after, *self.tree}
                     if after.get(path) != self.tree.get(path)}
            return f"{done}\nhost, sandbox: {wrong}"
        if after != before:
            self.undoable.append(before)
        self.log.append("promote")
        return None

    def undo(self):
        if not self.undoable:
            return None
        before = self.undoable.pop()
        done = self.home.call("undo")
        self.log.append("undo")
        if done.returncode != 0 or host_tree(self.home) != before:
            return f"{done}\nnot as before: {host_tree(self.home)} {before}"
        return None

    def run(self):
        """What went wrong, or None."""
        self.fill()
        self.home.call("create", "walk")
        for _ in range(self.random.randint(2, 5)):
            self.change()
            what = self.random.choice(["promote", "promote", "undo", "snap", "more"])
            problem = None
            if what in ("promote", "undo"):
                problem = self.promote()
            if what == "undo" and not problem:
                problem = self.undo()
            if what == "snap":
                self.home.call("snap", "walk")
                self.log.append("snap")
            if problem:
                return problem
        return self.promote()


def test_untouched(home):
    """Whatever was renamed, promoted and taken back: where the host is as the sandbox left it, nothing conflicts."""
    os.environ.setdefault("AISBX_SEED", "1")
    random = chance("directories")
    for number in range(ROUNDS):
        walk = Round(home, random)
        problem = walk.run()
        clean(home, "walk")
        if not tap.ok(not problem, f"round {number}: promoted as the sandbox shows it", f"{walk.log}\n{problem}"):
            return


def test_known(home):
    """Orders that once conflicted with a host that nothing else had touched."""
    rows = {
        "renamed in a renamed directory": [[["rename", "a", "z"], ["rename", "z/b", "z/bb"], ["edit", "z/bb/f", "e\n"]]],
        "renamed after an undo": [[["edit", "d/x", "e\n"]], "promote", "undo", [["rename", "d", "D"]]],
        "renamed twice after an undo": [[["edit", "a/b/f", "e\n"]], "promote", "undo", [["rename", "a", "k"]],
                                        [["rename", "k/b", "k/m"]]],
        "renamed over a sealed directory": [[["mkdir", "y"]], "snap", [["rename", "a", "y"]], "promote", [["edit", "y/g", "e\n"]]],
        "renamed over the seal of one that went": [[["remove", "d"]], "snap", [["rename", "a", "d"]], "promote", "promote",
                                                   [["edit", "d/b/f", "e\n"]]],
        "renamed over it, sealed, and gone": [[["mkdir", "y"]], "snap", [["rename", "a", "y"]], "snap", [["remove", "y/g"]],
                                              "promote", [["rename", "y", "k"]]],
        "renamed, sealed and replaced": [[["rename", "d", "a/d"]], "snap", [["replace", "a/d", "e\n"]]],
        "renamed, promoted, and again in part, sealed": [[["rename", "a", "m"]], "promote", [["edit", "m/new", "e\n"]], "promote",
                                                         [["remove", "m/b/f"], ["rename", "m/b", "k"]], "snap"],
        "renamed and back": [[["rename", "a", "z"], ["edit", "z/b/f", "e\n"]], [["rename", "z", "a"]]],
    }
    for what, row in rows.items():
        for name in ("a/b/f", "a/b/i", "a/g", "d/x", "d/y"):
            home.put(name, f"content of {name}\n")
        home.call("create", "walk")
        for step in row:
            if isinstance(step, str):
                home.call(*([step] if step == "undo" else [step, "walk"]))
            else:
                tree = inside(home, "walk", step)
        done = home.call("promote", "walk")
        tap.ok(done.returncode == 0 and host_tree(home) == tree, what, (done, host_tree(home), tree))
        clean(home, "walk")


def test_known_changed(home):
    """What the host did to such a directory since is no less a change."""
    def replace(path):
        os.rename(home.work + "/" + path, home.path + "/aside")
        home.put("other/i", "the host's\n")
        os.rename(home.work + "/other", home.work + "/" + path)

    def move_in(path):
        os.rename(home.work + "/d", home.work + f"/{path}/d")

    for what, change, where in (("edited", lambda path: home.put(path + "/i", "the host's\n"), "m/b"), ("replaced", replace, "m/b"),
                                ("replaced above", replace, "m"), ("moved into", move_in, "m/b")):
        for is_before in (True, False):
            for name in ("a/b/f", "a/b/i", "a/g", "d/x", "d/y"):
                home.put(name, f"content of {name}\n")
            home.call("create", "walk")
            inside(home, "walk", [["rename", "a", "m"]])
            if is_before:
                home.call("stop", "walk")
                change(where.replace("m", "a", 1))
            home.call("promote", "walk")
            if not is_before:
                change(where)
            before = {path: text for path, (_, text) in host_tree(home).items() if text}
            inside(home, "walk", [["remove", "m/b/f"], ["rename", "m/b", "k"]])
            home.call("snap", "walk")
            done = home.call("promote", "walk")
            kept = {text for _, text in host_tree(home).values()}
            lost = [path for path, text in before.items() if text not in kept and path != "./m/b/f"]
            tap.ok(not lost, f"{what} {'before' if is_before else 'after'}: nothing of the host's is gone", (lost, done, host_tree(home)))
            shutil.rmtree(home.path + "/aside", ignore_errors=True)
            clean(home, "walk")


def test_unseen(home):
    """What the host puts into a directory that the sandbox made, and that was promoted, is not seen inside: it is neither removed nor written over."""
    made = {"made": [["mkdir", "m/b"], ["edit", "m/b/f", "f\n"]],
            "made in the host's": [["mkdir", "a/m/b"], ["edit", "a/m/b/f", "f\n"], ["rename", "a/m", "m"]],
            "renamed into place": [["mkdir", "k/b"], ["edit", "k/b/f", "f\n"], ["rename", "k", "m"]]}
    then = {"removed": [["remove", "m/b"]], "removed with what is above": [["remove", "m"]], "renamed": [["rename", "m/b", "z"]],
            "replaced": [["replace", "m/b", "fresh\n"]], "written over": [["edit", "m/b/n", "the sandbox's\n"]]}
    for how, first in made.items():
        for what, last in then.items():
            for seals in ((), (1,), (2,)):
                for name in ("a/g", "d/x"):
                    home.put(name, f"content of {name}\n")
                home.call("create", "walk")
                inside(home, "walk", first)
                home.call("promote", "walk")
                home.put("m/b/n", "the host's\n")
                os.rename(home.work + "/d", home.work + "/m/b/d")
                for number, steps in enumerate(([], last), 1):
                    inside(home, "walk", steps)
                    if number in seals:
                        home.call("snap", "walk")
                done = home.call("promote", "walk")
                kept = home.read("m/b/n"), home.read("m/b/d/x")
                tap.ok(kept == ("the host's\n", "content of d/x\n"), f"{how}, promoted, {what}{', sealed' if seals else ''}", (done, host_tree(home)))
                clean(home, "walk")
    home.put("a/f", "f\n")
    home.call("create", "walk")
    inside(home, "walk", [["replace", "a", "fresh\n"]])
    home.call("promote", "walk")
    home.put("a/n", "the host's\n")
    inside(home, "walk", [["edit", "a/n", "the sandbox's\n"]])
    done = home.call("promote", "walk")
    tap.ok(done.returncode == 3 and home.read("a/n") == "the host's\n", "nor in one that was made anew", done)
    clean(home, "walk")


def test_hidden_since(home):
    """What the host puts into a directory that does not show inside any more is not seen there, however often the sandbox looks anew."""
    new = [["mkdir", "a/b"], ["edit", "a/b/f", "f\n"]]
    first = {"removed": [["remove", "a/b"]], "removed with what is above": [["remove", "a"]],
             "made anew": [["remove", "a/b"], *new], "made anew, empty": [["remove", "a/b"], ["mkdir", "a/b"]],
             "made anew from above": [["remove", "a"], *new], "renamed into place": [["remove", "a/b"], ["mkdir", "k"], ["rename", "k", "a/b"]],
             "a file in its place": [["remove", "a/b"], ["edit", "a/b", "file\n"]]}
    then = {"nothing": [], "removed": [["remove", "a/b"]], "made": new, "renamed": [["rename", "a/b", "z"]], "replaced": [["replace", "a/b", "fresh\n"]],
            "a file": [["remove", "a/b"], ["edit", "a/b", "file\n"]]}
    for how, steps in first.items():
        for what, last in then.items():
            for is_empty, is_promoted, seals in ((False, False, ()), (True, False, ()), (False, True, ()), (False, False, (1,)), (True, True, (2,))):
                for name in ("a/g", "d/x", *(() if is_empty else ("a/b/i",))):
                    home.put(name, f"content of {name}\n")
                os.makedirs(home.work + "/a/b", exist_ok=True)
                home.call("create", "walk")
                inside(home, "walk", steps)
                if is_promoted:
                    home.call("promote", "walk")
                if os.path.isfile(home.work + "/a/b"):
                    os.remove(home.work + "/a/b")
                home.put("a/b/n", "the host's\n")
                for number, more in enumerate(([], last), 1):
                    inside(home, "walk", more)
                    if number in seals:
                        home.call("snap", "walk")
                done = home.call("promote", "walk")
                tap.ok(home.read("a/b/n") == "the host's\n",
                       f"{how}{', empty' * is_empty}{', promoted' * is_promoted}, then {what}{', sealed' if seals else ''}", (done, host_tree(home)))
                clean(home, "walk")


def layer_names(home):
    return set(os.listdir(home.path + "/.local/share/aisbx/layers"))


def layers(home, others=()):
    """What the trees of sealed layers hold, and when it was last changed; without OTHERS, of sandboxes that were removed before."""
    top = home.path + "/.local/share/aisbx/layers"
    found = {}
    for where, dirs, files in os.walk(top):
        # The overlay's scratch, w-HASH, is removed in the background, as are layers that nobody needs any more.
        dirs[:] = [name for name in dirs if not name.startswith("w-") and (where != top or name not in others)]
        for name in dirs + files:
            path = os.path.join(where, name)
            if "/u-" in path:
                about = os.lstat(path)
                found[os.path.relpath(path, top)] = (about.st_mode, about.st_ino, about.st_mtime_ns, about.st_ctime_ns)
    return found


def test_sealed(home):
    """A layer that a fork stands on is not written to, whatever is promoted; the plain user's overlay copies instead of renaming."""
    is_root = os.geteuid() == 0
    for words in (("walk@s2",), ("walk@s2", "-n"), ("walk",), ("walk", "-n")):
        for name in ("a/b/f", "a/g"):
            home.put(name, f"content of {name}\n")
        others = layer_names(home)
        home.call("create", "walk")
        inside(home, "walk", [["mkdir", "y"]])
        home.call("snap", "walk")
        inside(home, "walk", [["rename", "a", "y"]])
        home.call("snap", "walk")
        home.call("fork", "walk@s2", "other")
        shown, before = inside(home, "other", []), layers(home, others)
        done = home.call("promote", *words)
        why = "a snapshot cannot be changed" if "@" in words[0] else "the sandbox other stands on that"
        tap.ok(done.returncode == (4 if is_root else 0) and (not is_root or why in done.stderr), f"{words}: refused where a layer would have to be written to", done)
        tap.equal((layers(home, others) == before, inside(home, "other", []) == shown), (True, True), f"{words}: the layers and the fork are as they were")
        home.call("rm", "other")
        done = home.call("promote", "walk")
        tap.ok(done.returncode == 0 and host_tree(home) == shown == inside(home, "walk", []), f"{words}: without the fork it is promoted as shown", done)
        clean(home, "walk")


def test_sealed_asked(home):
    """Nor is any layer, sealed or not, before a person has agreed."""
    for is_sealed in (True, False):
        home.put("a/Makefile", "all:\n")
        home.put("a/g", "g\n")
        others = layer_names(home)
        home.call("create", "walk")
        inside(home, "walk", [["mkdir", "y"]])
        home.call("snap", "walk")
        tree = inside(home, "walk", [["rename", "a", "y"], ["edit", ".envrc", "x\n"]])
        if is_sealed:
            home.call("snap", "walk")
        before, host = layers(home, others), host_tree(home)
        done = home.call("promote", "walk")
        tap.ok(done.returncode == 4 and host_tree(home) == host and before and layers(home, others) == before, "asked, and nothing written", done)
        done = home.call("promote", "walk", "--allow-path", ".envrc", "--allow-path", "*/Makefile")
        tap.ok(done.returncode == 0 and host_tree(home) == tree == inside(home, "walk", []), "agreed, and promoted as shown", (done, host_tree(home), tree))
        done = home.call("undo")
        tap.ok(done.returncode == 0 and host_tree(home) == host and inside(home, "walk", []) == tree, "taken back, the sandbox shows what it did", done)
        clean(home, "walk")


# What the sandbox does before and after the host makes a directory of the same name.
BOTH = {
    "made": ([["mkdir", "d"], ["edit", "d/s", "s\n"]], []),
    "made deep": ([["mkdir", "d/sub/deep"], ["edit", "d/sub/deep/s", "s\n"]], []),
    "made, and edited afterwards": ([["mkdir", "d/sub"], ["edit", "d/s", "s\n"]], [["edit", "d/s", "more\n"]]),
    "made, sealed, edited": ([["mkdir", "d"], ["edit", "d/s", "s\n"]], "snap", [["edit", "d/t", "t\n"]]),
    "made, sealed, removed": ([["mkdir", "d/sub"], ["edit", "d/s", "s\n"]], "snap", [["remove", "d"]]),
    "made with the same content": ([["mkdir", "d"], ["edit", "d/s", "host d/h\n"]], []),
    "renamed into place": ([["mkdir", "k"], ["edit", "k/s", "s\n"], ["rename", "k", "d"]], []),
}
HOSTS = ["d/h", "d/sub/h", "d/sub/deep/h", "d/other/h"]


def test_both(home):
    """A directory that both sides make: the host's files in it were never there for the sandbox, and are no deletions."""
    for what, row in BOTH.items():
        # What the sandbox removes after it was promoted, it removes on the host.
        for is_promoted in (False,) if "removed" in what else (False, True):
            home.put("unrelated", "u\n")
            home.call("create", "walk")
            inside(home, "walk", row[0])
            if is_promoted:
                home.call("promote", "walk")
            for name in HOSTS:
                home.put(name, f"host {name}\n")
            for step in row[1:]:
                if step == "snap":
                    home.call("snap", "walk")
                else:
                    inside(home, "walk", step)
            shown = home.call("diff", "walk", "--name-status").stdout
            done = home.call("promote", "walk", "--strategy", "theirs")
            kept = [name for name in HOSTS if home.read(name) == f"host {name}\n"]
            tap.ok(done.returncode == 0 and kept == HOSTS and "/h" not in shown,
                   f"{what}{', promoted before' if is_promoted else ''}", (done, kept, shown))
            clean(home, "walk")


def test_replaced(home):
    """A directory that the sandbox did see, and made anew: what was in it is deleted."""
    home.put("d/old", "o\n")
    home.put("d/sub/old", "o\n")
    home.call("create", "walk")
    inside(home, "walk", [["replace", "d", "fresh\n"]])
    done = home.call("promote", "walk")
    tap.ok(done.returncode == 0 and sorted(host_tree(home)) == ["./d", "./d/fresh"], "deleted on the host, too",
           (done, host_tree(home)))
    inside(home, "walk", [["remove", "d/fresh"], ["edit", "d/last", "l\n"]])
    done = home.call("promote", "walk")
    tap.ok(done.returncode == 0 and sorted(host_tree(home)) == ["./d", "./d/last"], "what was promoted, likewise",
           (done, host_tree(home)))
    clean(home, "walk")


def main():
    with Home("aisbx-directories-") as home:
        if home.can_run(tap, "directories on both sides"):
            for test in (test_both, test_replaced, test_known, test_known_changed, test_unseen, test_hidden_since, test_sealed, test_sealed_asked, test_untouched):
                tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
