#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A random model of several writers: nobody's line is ever missing after a promotion or an undo that said 0.

The host saves files in every way that editors and tools do; two sandboxes and their forks edit, remove and rename what
they see, whole directories too, also in the middle of the host's saves and with processes left alive; they are saved, rolled back, refreshed,
stopped; promoted whole and in part; promotions are undone. Every line is written once and is known by its number. After
an exit 0 a line may be missing only if its remover had seen it. A conflict (exit 3) is always a right answer, so at the end
there is a count of what was promoted, and cases that must not be conflicts have tests of their own.

AISBX_ROUNDS=N runs so many (20; 400 from a fresh seed with AISBX_LONG, five times by `make soak`); AISBX_SEED=TEXT begins with that seed, and with AISBX_ROUNDS=1 runs that one alone.
Takes the program from AISBX. Speaks TAP.
"""
import os
import random
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from box import patience
from clitest import AISBX, Home, Tap

tap = Tap()
PATHS = ["a", "b", "d/a", "d/b", "d/e/a", "new", "d/new", "d/e/new"]
LONG = os.environ.get("AISBX_LONG") == "1"
ROUNDS = int(os.environ.get("AISBX_ROUNDS") or (400 if LONG else 20))
STEPS = 16


class Lost(Exception):
    pass


def lines_of(text):
    return text.split("\n")[:-1] if text else []


class Host:
    """The caller's own tree, and the ways in which it is written to."""

    def __init__(self, top, chance):
        self.top, self.chance, self.gone = top, chance, set()
        self.renamed = set()  # new names

    def at(self, path):
        return os.path.join(self.top, path)

    def read(self, path):
        try:
            with open(self.at(path)) as file:
                return lines_of(file.read())
        except OSError:
            return None

    def all(self):
        return {path: self.read(path) for path in PATHS}

    def put(self, name, lines, flags=os.O_TRUNC):
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | flags, 0o644)
        os.write(fd, "".join(line + "\n" for line in lines).encode())
        os.close(fd)

    def save(self, path, lines):
        """One of the ways in which a new version takes the place of the old one."""
        name, chance = self.at(path), self.chance
        os.makedirs(os.path.dirname(name), exist_ok=True)
        way = chance.choice(["in place", "rename", "unlink", "backup", "link", "exchange", "sed"])
        if way == "in place":
            self.put(name, lines)
        elif way == "rename":
            self.put(name + ".tmp", lines)
            os.replace(name + ".tmp", name)
        elif way == "unlink":  # as git checkout does
            if os.path.exists(name):
                os.unlink(name)
            self.put(name, lines, os.O_EXCL)
        elif way == "backup":
            if os.path.exists(name + "~"):  # perhaps another name of the same file, and then a rename does nothing
                os.unlink(name + "~")
            if os.path.exists(name):
                os.rename(name, name + "~")
            self.put(name, lines, os.O_EXCL)
        elif way == "link":  # and it stays a file with two names
            self.put(name + ".new", lines)
            if os.path.exists(name):
                os.unlink(name)
            os.link(name + ".new", name)
        elif way == "exchange":  # its directory is another one afterwards
            above = os.path.dirname(name)
            if above == self.top:
                self.put(name, lines)
                return way
            shutil.copytree(above, above + ".other", symlinks=True)
            self.put(os.path.join(above + ".other", os.path.basename(name)), lines)
            os.rename(above, above + ".old")
            os.rename(above + ".other", above)
            shutil.rmtree(above + ".old")
        elif not os.path.exists(name):
            self.put(name, lines)
        else:
            self.put(name + ".sed", lines)
            subprocess.run(["sed", "-i", "-e", f"1r {name}.sed", "-e", "d", name], check=True)
            os.unlink(name + ".sed")
            if self.read(path) != lines:  # of an empty file sed makes nothing
                self.put(name, lines)
        return way

    def edit(self, path, line):
        """A new line, or one less, or a mode, or no file; which of them."""
        lines, chance = self.read(path), self.chance
        kind = chance.choice(["add"] * 6 + ["append", "append", "remove", "unlink", "chmod", "rename"])
        if kind == "add" or lines is None:
            new = list(lines or [])
            new.insert(chance.randint(0, len(new)), line)
            return "add by " + self.save(path, new)
        if kind == "append":
            with open(self.at(path), "a") as file:
                file.write(line + "\n")
        elif kind == "remove" and lines:
            new = list(lines)
            self.gone.add(new.pop(chance.randrange(len(new))))
            return "remove by " + self.save(path, new)
        elif kind == "unlink":
            self.gone.update(lines)
            os.unlink(self.at(path))
        elif kind == "rename":  # the same inode under another name, written to there
            other = chance.choice([one for one in PATHS if one != path])
            os.makedirs(os.path.dirname(self.at(other)), exist_ok=True)
            self.gone.update(self.read(other) or [])
            os.rename(self.at(path), self.at(other))
            self.renamed.add(other)
            with open(self.at(other), "a") as file:
                file.write(line + "\n")
            return f"rename to {other}"
        elif kind == "chmod":
            os.chmod(self.at(path), os.stat(self.at(path)).st_mode ^ 0o100)
        return kind


class Sandbox:
    """What the model knows of one: its versions of what it touched, and the lines that it saw and removed."""

    def __init__(self, name):
        self.name, self.views, self.removed, self.snaps = name, {}, set(), {}
        self.renamed = set()  # from, to
        self.is_alive = self.is_blind = False

    def copy_to(self, other):
        other.views, other.removed, other.is_blind = dict(self.views), set(self.removed), self.is_blind
        other.renamed = set(self.renamed)
        return other


SHOW = """
[ -d d/e ] || { echo "made d/e"; mkdir -p d/e; }
show() {
  for i in %s; do
    if [ -f $i ]; then echo "@ $i"; cat $i; else echo "! $i"; fi
  done
  echo =
}
""" % " ".join(PATHS)


def parse_show(text):
    """What the two calls of show printed: the state before and the one after."""
    states, now, path = [], {}, None
    for line in text.split("\n"):
        if line == "=":
            states.append(now)
            now = {}
        elif line.startswith("! "):
            now[line[2:]] = None
        elif line.startswith("@ "):
            path = line[2:]
            now[path] = []
        elif line and path:
            now[path].append(line)
    return states


def sandbox_edit(chance, path, other, line):
    """A command's text, and the paths that it writes to."""
    at = chance.randint(1, 12)
    top = os.path.dirname(other) or "d/e"
    below = [name for name in PATHS if name.startswith(top + "/")]
    return chance.choice([
        (f"echo {line} >>{path}", [path]),
        (f"echo {line} >>{path}", [path]),
        (f"{{ cat {path}; echo {line}; }} >t 2>/dev/null; mv t {path}", [path]),
        (f"[ -s {path} ] && sed -i '{at}i {line}' {path} || echo {line} >>{path}", [path]),
        (f"sed -i 1d {path} 2>/dev/null; true", [path]),
        (f"chmod u+x {path}; true", [path]),
        (f"rm -f {path}", [path]),
        (f"cat {path} >t 2>/dev/null; rm -f {path}; {{ cat t; echo {line}; }} >{path}; rm t", [path]),
        (f"mv {path} {other} 2>/dev/null; true", [path, other]),
        (f"cp -p {path} t 2>/dev/null && mv t {path} && echo {line} >>{path}; true", [path]),
        (f"rm -rf {top}", below),
        (f"rm -rf {top}; mkdir -p d/e; echo {line} >{below[0]}", below),
        (f"true {line}", []),
    ])


class Round:
    def __init__(self, home, seed):
        self.home, self.seed = home, seed
        self.chance = random.Random(seed)
        self.top = home.work
        self.host = Host(self.top, self.chance)
        self.boxes, self.count, self.log, self.promotions = [], 0, [], []
        self.undone = []  # sandbox, lines that an undo took back
        self.promoted = self.conflicts = 0
        for path in PATHS[:5]:
            os.makedirs(os.path.dirname(self.host.at(path)), exist_ok=True)
            self.host.put(self.host.at(path), [self.line("h") for _ in range(10)])
        for name in ("one", "two"):
            self.call("create", name)
            self.boxes.append(Sandbox(name))

    def line(self, who):
        self.count += 1
        return f"{who}{self.count}"

    def note(self, *words):
        self.log.append(" ".join(map(str, words)))

    def call(self, *words, ok=(0,)):
        done = self.home.call(*words)
        self.note("aisbx", *words, "->", done.returncode, done.stderr.strip()[:200])
        if done.returncode not in ok:
            raise Lost(f"{words}: exit {done.returncode}: {done.stdout} {done.stderr}")
        return done

    def host_edit(self):
        path = self.chance.choice(PATHS)
        self.note("host", path, self.host.edit(path, self.line("h")))

    def exec(self, box):
        """A command that looks, waits perhaps until the host has written something, and writes."""
        chance = self.chance
        path, other = chance.sample(PATHS, 2)
        text, written = sandbox_edit(chance, path, other, self.line("s"))
        waits = chance.random() < 0.4
        stays = not box.is_alive and chance.random() < 0.1
        script = (SHOW + "show\n" + ("echo go\nread x\nshow\n" if waits else "") + text +
                  "\nshow\n" + (f"(exec <{chance.choice(PATHS)} sleep 1000) >/dev/null 2>&1 &\n" if stays else ""))
        before = self.host.all()
        child = subprocess.Popen([AISBX, "exec", box.name, "--", "sh", "-c", script], cwd=self.top, env=self.home.env,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        seen = ""
        if waits:
            for got in child.stdout:
                if got == "go\n":
                    break
                seen += got
            for _ in range(chance.randint(1, 3)):
                self.host_edit()
        rest, errors = child.communicate("\n", timeout=patience(120))
        self.note("exec", box.name, text, "waits" if waits else "", "stays" if stays else "", "->", child.returncode)
        if child.returncode != 0:
            raise Lost(f"exec failed: {rest} {errors}")
        states = parse_show(seen + rest)
        # What the host puts into a directory that it made or removed is hidden.
        box.is_blind = box.is_blind or "made d/e" in seen + rest or "rm -rf" in text
        if not box.is_alive and not box.is_blind:
            # Of a file that it has changed a root caller's sandbox may show its own version also under the host's new name.
            for at in PATHS if os.geteuid() else set(PATHS) - self.host.renamed:
                if at not in box.views and states[0][at] != before[at]:
                    raise Lost(f"{box.name} is shown an old {at}: {states[0][at]}, not {before[at]}")
        box.is_alive = box.is_alive or stays
        self.learn(box, states[-2], states[-1], written)

    def learn(self, box, old, new, written):
        for at in written:
            # A command that found nothing to do has touched nothing.
            if at not in box.views and old[at] == new[at] and new[at] is None:
                continue
            box.removed |= set(old[at] or []) - set(new[at] or [])
            box.views[at] = new[at]
        if len(written) == 2:
            box.renamed.add(tuple(written))

    def settle(self, box):
        if box.is_alive:
            self.call("stop", box.name)
            box.is_alive = False

    def check(self, before, allowed, what, renamed=()):
        after = self.host.all()
        for path in PATHS:
            lost = set(before[path] or []) - set(after[path] or []) - allowed
            # What the host wrote to a file that the sandbox renamed goes along.
            ways = {path}
            for _ in renamed:
                ways |= {to for at, to in renamed if at in ways}
            lost -= {line for to in ways for line in after[to] or []}
            if lost:
                raise Lost(f"{what} lost {sorted(lost)} of {path}: it was {before[path]} and is {after[path]}")
        return after

    def promote(self, box):
        chance = self.chance
        self.settle(box)
        picked = [p for p in box.views if chance.random() < 0.5] if chance.random() < 0.4 else []
        words = ["--strategy", "merge"] if chance.random() < 0.6 else []
        before = self.host.all()
        done = self.call("promote", box.name, *picked, *words, "--json", ok=(0, 3, 5) if picked else (0, 3))
        if done.returncode != 0:
            self.conflicts += done.returncode == 3
            if self.host.all() != before:
                raise Lost(f"a promotion that said {done.returncode} changed {before} to {self.host.all()}")
            return
        after = self.check(before, box.removed, f"the promotion of {box.name} {picked}", box.renamed)
        gone = self.host.gone.union(*(other.removed for other in self.boxes))
        # Another sandbox's lines, which this one saw and which were taken back since, are the host's to drop.
        gone = gone.union(*(lines for name, lines in self.undone if name != box.name))
        # Under its own name, or under that which another sandbox's promotion gave the file since.
        there = {line for lines in after.values() for line in lines or []}
        for path in picked or box.views:
            own = {line for line in box.views[path] or [] if line[0] == "s"} - gone
            if not own <= there:
                raise Lost(f"the promotion of {box.name} left {own - there} of {path} behind: {after[path]}")
        if after != before:
            self.promoted += 1
            self.promotions.append((done.stdout.split('"promotion_id":"')[1].split('"')[0], before, after, box.name))

    def undo(self):
        if not self.promotions:
            return
        which = self.chance.choice([-1, -1, self.chance.randrange(len(self.promotions))])
        number, before, after, name = self.promotions[which]
        now = self.host.all()
        done = self.call("undo", number, ok=(0, 3))
        if done.returncode != 0:
            return
        del self.promotions[which]
        added = set()
        for path in PATHS:
            added |= set(after[path] or []) - set(before[path] or [])
        self.undone.append((name, added))
        self.check(now, added, "the undo")

    def step(self):
        chance = self.chance
        box = chance.choice(self.boxes)
        kind = chance.choice(["host"] * 6 + ["exec"] * 9 + ["promote"] * 4 +
                             ["undo", "snap", "rollback", "fork", "refresh", "stop", "try", "kill"])
        if kind == "host":
            self.host_edit()
        elif kind == "exec":
            self.exec(box)
        elif kind == "promote":
            self.promote(box)
        elif kind == "undo":
            self.undo()
        elif kind == "try":
            self.try_out()
        elif kind == "kill":
            self.kill(box)
        elif kind == "stop":
            self.call("stop", box.name)
            box.is_alive = False
        else:
            self.settle(box)
            self.move(kind, box)

    def kill(self, box):
        """The caller of a command dies in the middle of it, and nothing is recorded of what it did."""
        path = self.chance.choice(PATHS)
        text, written = sandbox_edit(self.chance, path, self.chance.choice([p for p in PATHS if p != path]), self.line("s"))
        script = SHOW + f"show\n{text}\nshow\necho go\nread x\n"
        child = subprocess.Popen([AISBX, "exec", box.name, "--", "sh", "-c", script], cwd=self.top, env=self.home.env,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        seen = ""
        for got in child.stdout:
            if got == "go\n":
                break
            seen += got
        child.kill()
        child.communicate()
        self.note("killed exec", box.name, text)
        # Its end may take a moment longer.
        box.is_alive = True
        box.is_blind = box.is_blind or "made d/e" in seen or "rm -rf" in text
        states = parse_show(seen)
        self.learn(box, states[0], states[1], written)

    def try_out(self):
        path = self.chance.choice(PATHS)
        line = self.line("s")
        before = self.host.all()
        done = self.call("try", "-y", "--", "sh", "-c", f"mkdir -p d/e; echo {line} >>{path}", ok=(0, 3))
        if done.returncode == 0:
            after = self.check(before, set(), "try -y")
            if line not in (after[path] or []):
                raise Lost(f"try -y said 0, and {line} is not in {path}")

    def move(self, kind, box):
        if kind == "snap":
            name = f"m{len(box.snaps)}x{self.count}"
            self.call("snap", box.name, "--name", name)
            box.snaps[name] = box.copy_to(Sandbox(name))
        elif kind == "rollback" and box.snaps:
            name = self.chance.choice(sorted(box.snaps))
            self.call("rollback", box.name, name)
            box.snaps[name].copy_to(box)
        elif kind == "refresh":
            self.call("refresh", box.name)
        elif kind == "fork" and len(self.boxes) < 4:
            name = f"f{len(self.boxes)}x{self.count}"
            self.call("fork", box.name, name)
            self.boxes.append(box.copy_to(Sandbox(name)))

    def end(self):
        self.call("rm", *[box.name for box in self.boxes])
        for number, *_ in self.promotions:
            shutil.rmtree(f"/.aisbx/{number}", ignore_errors=True)
        shutil.rmtree(self.top)
        os.mkdir(self.top)


def run_round(home, seed):
    """What was promoted, and what was a conflict; None when something was lost."""
    round_ = None
    try:
        round_ = Round(home, seed)
        for _ in range(STEPS):
            round_.step()
        for box in list(round_.boxes):
            round_.promote(box)
    except Lost as problem:
        tap.ok(False, f"AISBX_SEED={seed}", f"{problem}\n" + "\n".join(round_.log if round_ else []))
        return None
    round_.end()
    return round_.promoted, round_.conflicts


def replace(path, text):
    with open(path + ".tmp", "w") as file:
        file.write(text)
    os.replace(path + ".tmp", path)


def in_directory(home, change):
    """A copy of directory d with a change takes d's place."""
    shutil.copytree(f"{home.work}/d", f"{home.work}/d.other")
    change(f"{home.work}/d.other")
    os.rename(f"{home.work}/d", f"{home.work}/d.old")
    os.rename(f"{home.work}/d.other", f"{home.work}/d")
    shutil.rmtree(f"{home.work}/d.old")


def promoted_by_another(home):
    home.call("create", "other")
    home.call("exec", "other", "--", "sed", "-i", "s/1/HOST/", "f")
    return home.call("promote", "other")


def undone_by_another(home):
    promoted_by_another(home)
    home.call("exec", "box", "--", "cat", "f")
    home.call("exec", "other", "--", "sh", "-c", "sed -i s/HOST/1/ f; sed -i s/2/HOST/ f")
    home.call("promote", "other")
    home.call("exec", "box", "--", "cat", "f")
    return home.call("undo")


# What the host does behind a sandbox that has seen all of it, and what its files are then.
HOST_WAYS = {
    "mv": (lambda home: replace(f"{home.work}/f", "HOST\n2\n3\n"), {"f": "HOST\n2\n3\n"}),
    "sed -i": (lambda home: subprocess.run(["sed", "-i", "s/1/HOST/", f"{home.work}/f"], check=True),
               {"f": "HOST\n2\n3\n"}),
    "git checkout": (lambda home: subprocess.run(
        "git init -q . && git add f && git -c user.name=a -c user.email=b commit -qm a && sed -i s/1/HOST/ f &&"
        " git -c user.name=a -c user.email=b commit -qam b && git checkout -q HEAD~ f && git checkout -q HEAD f; rm -rf .git",
        shell=True, cwd=home.work, check=True), {"f": "HOST\n2\n3\n"}),
    "a save with a backup": (lambda home: (os.rename(f"{home.work}/f", f"{home.work}/f~"), home.put("f", "HOST\n2\n3\n")),
                             {"f": "HOST\n2\n3\n"}),
    "a file that was absent": (lambda home: (os.unlink(f"{home.work}/f"), home.put("new", "HOST\n")), {"new": "HOST\n"}),
    "another file of the directory's name": (lambda home: in_directory(home, lambda top: replace(top + "/g", "HOST\n2\n3\n")),
                                             {"d/g": "HOST\n2\n3\n"}),
    "a second name": (lambda home: (os.unlink(f"{home.work}/f"), home.put("f2", "HOST\n2\n3\n"),
                                    os.link(f"{home.work}/f2", f"{home.work}/f")), {"f": "HOST\n2\n3\n"}),
    "another sandbox's promotion": (promoted_by_another, {"f": "HOST\n2\n3\n"}),
    "another sandbox's undo": (undone_by_another, {"f": "HOST\n2\n3\n"}),
}
# What the sandbox does to the file then, and what becomes of it.
BOX_WAYS = {
    "appends": ("echo s >>{0}", lambda text: text + "s\n"),
    "rewrites": ("{{ cat {0}; echo s; }} >t; mv t {0}", lambda text: text + "s\n"),
    "changes the mode of": ("chmod 600 {0}", lambda text: text),
    "removes": ("rm {0}", lambda text: None),
}


def content(path):
    try:
        with open(path) as file:
            return file.read()
    except FileNotFoundError:
        return None


def begin_case(home):
    for name in ("f", "d/g"):
        home.put(name, "1\n2\n3\n")
    home.call("create", "box")


def end_case(home):
    home.drop_kept()
    home.call("rm", *[row["name"] for row in home.rows("ls")])
    shutil.rmtree(home.work)
    os.mkdir(home.work)


LOOK = "cat f d/g new >/dev/null 2>&1; ls -R . >/dev/null"


def test_between(home, way):
    """The host writes between two commands: the second one works on what the host wrote."""
    change, files = HOST_WAYS[way]
    (name, text), = files.items()
    for how, (command, result) in BOX_WAYS.items():
        begin_case(home)
        home.call("exec", "box", "--", "sh", "-c", LOOK)
        change(home)
        done = home.call("exec", "box", "--", "sh", "-c", f"cat {name}; " + command.format(name))
        promoted = home.call("promote", "box")
        tap.ok(done.stdout == text and promoted.returncode == 0 and content(f"{home.work}/{name}") == result(text),
               f"{way}; the sandbox sees it, {how} it, and both are kept", [done, promoted, content(f"{home.work}/{name}")])
        end_case(home)


def test_during(home, way):
    """The host writes while a command runs that has seen what was there: what the host wrote is not lost."""
    change, files = HOST_WAYS[way]
    (name, text), = files.items()
    for how, (command, _) in BOX_WAYS.items():
        begin_case(home)
        child = subprocess.Popen([AISBX, "exec", "box", "--", "sh", "-c", f"{LOOK}; echo go; read x; " + command.format(name)],
                                 cwd=home.work, env=home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                 text=True)
        child.stdout.readline()
        change(home)
        child.communicate("\n", timeout=patience(120))
        promoted = home.call("promote", "box")
        now = content(f"{home.work}/{name}") or ""
        # Where it is a file with the mark of what it was copied from, there is proof; then both are kept.
        tap.ok(promoted.returncode == 3 and now == text or promoted.returncode == 0 and "HOST" in now,
               f"{way} during a command that {how} it: nothing is lost", [promoted, now])
        end_case(home)


# What a sandbox does to a file of its own and to one that has its inode on the host.
OF_BOTH = ["echo t >>b; rm f", "mv f e; echo t >>b", "chmod +x b; rm f", "echo t >>b; cat b >n; mv n b; rm f", "rm f; echo t >>b"]


def test_renamed(home):
    """
    The host renames a file that the sandbox has changed, and writes to it: under its new name it is the host's. A root caller's
    sandbox may show its own version there, which the kernel knows the host's inode by; what it makes of that is a conflict.
    """
    for command in OF_BOTH:
        begin_case(home)
        home.call("exec", "box", "--", "sh", "-c", "echo s >>f")
        os.rename(f"{home.work}/f", f"{home.work}/b")
        with open(f"{home.work}/b", "a") as file:
            file.write("HOST\n")
        # The sandbox's own is looked up first: only then the kernel knows the host's inode by it.
        done = home.call("exec", "box", "--", "sh", "-c", f"cat f >/dev/null; cat b; {command}")
        promoted = home.call("promote", "box", "b")
        now = content(f"{home.work}/b") or ""
        is_own = done.stdout == "1\n2\n3\ns\n"
        tap.ok((done.stdout == "1\n2\n3\nHOST\n" or (is_own and os.geteuid() == 0)) and promoted.returncode in ((3, 5) if is_own else (0, 3))
               and "HOST" in now, f"renamed by the host: {command!r} loses nothing", [done, promoted, now])
        end_case(home)
        # The same within one command, where the kernel goes by what it has looked up: then it is a conflict at least.
        begin_case(home)
        child = subprocess.Popen([AISBX, "exec", "box", "--", "sh", "-c", f"echo s >>f; echo go; read x; cat b >/dev/null; {command}"],
                                 cwd=home.work, env=home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                 text=True)
        child.stdout.readline()
        os.rename(f"{home.work}/f", f"{home.work}/b")
        with open(f"{home.work}/b", "a") as file:
            file.write("HOST\n")
        child.communicate("\n", timeout=patience(120))
        promoted = home.call("promote", "box", "b")
        home.call("exec", "box", "--", "true")
        later = home.call("promote", "box", "b")
        now = content(f"{home.work}/b") or ""
        tap.ok("HOST" in now, f"renamed during a command, {command!r} loses nothing", [promoted, later, now])
        end_case(home)


def edit_during(home, path, change):
    """A command that changes PATH, and what the host does before it ends."""
    child = subprocess.Popen([AISBX, "exec", "box", "--", "sh", "-c", f"echo s >>{path}; echo go; read x"], cwd=home.work, env=home.env,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    child.stdout.readline()
    change()
    child.communicate("\n", timeout=patience(120))


def add_to(path, line="HOST\n"):
    with open(path, "a") as file:
        file.write(line)


# How the sandbox gets a copy of a file, f of the workspace's or of a directory beside it, whose inode the host then has as b.
COPIES = {
    "renamed while it was changed": ("f", lambda home, f, b: edit_during(home, "f", lambda: os.rename(f, b))),
    "changed on both sides": ("f", lambda home, f, b: (edit_during(home, "f", lambda: add_to(f, "h\n")), os.rename(f, b))),
    "renamed twice": ("f", lambda home, f, b: (edit_during(home, "f", lambda: os.rename(f, b + "c")), os.rename(b + "c", b))),
    "opened only": ("f", lambda home, f, b: (home.call("exec", "box", "--", "sh", "-c", ": >>f"), os.rename(f, b))),
    "renamed inside": ("g", lambda home, f, b: (edit_during(home, "f; mv f g", lambda: add_to(f, "h\n")), os.rename(f, b))),
    "outside the workspace": ("../beside/f", lambda home, f, b: (home.call("exec", "box", "--", "sh", "-c", "echo s >>../beside/f"),
                                                              os.rename(home.work + "/../beside/f", b))),
    "brought in from outside": ("g", lambda home, f, b: (home.call("exec", "box", "--", "sh", "-c", "echo s >>../beside/f; mv ../beside/f g"),
                                                         os.rename(home.work + "/../beside/f", b))),
    "put in another's place": ("d/g", lambda home, f, b: (home.call("exec", "box", "--", "sh", "-c", "echo s >>../beside/f; mv ../beside/f d/g"),
                                                          os.rename(home.work + "/../beside/f", b))),
}


def test_copies(home):
    """Whatever the copy is called, and whatever is recorded of that name, the host's new name of the inode is not believed."""
    beside = os.path.join(os.path.dirname(home.work), "beside")
    for how, (own, give) in COPIES.items():
        for command in ("echo t >>b; rm {0}", "rm b; rm {0}", "rm {0} b", "cat b >n; mv n b; rm {0}", "rm {0}; echo t >>b"):
            os.makedirs(beside, exist_ok=True)
            with open(beside + "/f", "w") as file:
                file.write("1\n2\n3\n")
            begin_case(home)
            give(home, home.work + "/f", home.work + "/b")
            add_to(home.work + "/b")
            done = home.call("exec", "box", "--", "sh", "-c", f"cat {own} >/dev/null; cat b; " + command.format(own))
            promoted = home.call("promote", "box", "b")
            now = content(f"{home.work}/b") or ""
            # What has seen the host's line may do with it what it likes.
            tap.ok("HOST" in now or "HOST" in done.stdout, f"{how}: {command!r} loses nothing", [done, promoted, now])
            end_case(home)
    shutil.rmtree(beside)


def test_no_needless(home):
    """Saves of the host and of the sandbox, in place and with another inode, to files of which nothing is a conflict."""
    begin_case(home)
    home.call("exec", "box", "--", "sh", "-c", "echo s >>f; cp d/g t; echo s >>t; mv t d/g")
    home.put("b", "HOST\n")
    replace(f"{home.work}/c", "HOST\n")
    done = home.call("exec", "box", "--", "sh", "-c", "echo t >>b; cp c t; echo t >>t; mv t c; echo t >>f; echo t >>d/g")
    promoted = home.call("promote", "box")
    found = [promoted.returncode] + [home.read(name) for name in ("f", "d/g", "b", "c")]
    tap.ok(found == [0, "1\n2\n3\ns\nt\n", "1\n2\n3\ns\nt\n", "HOST\nt\n", "HOST\nt\n"], "ordinary saves of both are no conflict",
           [done, promoted, found])
    end_case(home)
    begin_case(home)
    home.call("exec", "box", "--", "sh", "-c", "echo s >>f")
    os.rename(home.work + "/f", home.work + "/b")
    add_to(home.work + "/b")
    home.call("refresh", "box")
    done = home.call("exec", "box", "--", "sh", "-c", "cat f >/dev/null; echo t >>b")
    promoted = home.call("promote", "box", "b")
    tap.ok(promoted.returncode == 0 and home.read("b") == "1\n2\n3\nHOST\nt\n", "nor is what the host renamed before a refresh",
           [done, promoted])
    end_case(home)


def test_both_removed(home):
    """Removed by the host and by a command that still saw it; what the host makes there later was never the sandbox's."""
    for what, path in (("a file", "d/g"), ("a directory", "d")):
        begin_case(home)
        child = subprocess.Popen([AISBX, "exec", "box", "--", "sh", "-c", f"{LOOK}; echo go; read x; rm -r {path}; echo s >>f"],
                                 cwd=home.work, env=home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, text=True)
        child.stdout.readline()
        subprocess.run(["rm", "-r", f"{home.work}/{path}"], check=True)
        child.communicate("\n", timeout=patience(120))
        home.put("d/g", "HOST\n")
        home.call("exec", "box", "--", "sh", "-c", "echo t >>f")
        promoted = home.call("promote", "box")
        tap.equal([promoted.returncode, content(f"{home.work}/d/g")], [0, "HOST\n"],
                  f"{what} removed on both sides and made anew on the host is kept")
        end_case(home)


def test_forks(home):
    begin_case(home)
    home.call("exec", "box", "--", "sh", "-c", LOOK + "; echo s >mine")
    home.call("fork", "box", "second")
    home.call("exec", "second", "--", "sh", "-c", LOOK)
    replace(f"{home.work}/f", "HOST\n2\n3\n")
    home.call("exec", "second", "--", "sh", "-c", "echo s >>f")
    promoted = home.call("promote", "second")
    tap.equal([promoted.returncode, home.read("f")], [0, "HOST\n2\n3\ns\n"], "a fork looks anew, too")
    end_case(home)


def test_unrecorded(home):
    """A command whose caller was killed, then a refresh and a fork: nothing tells what its edit was made from."""
    begin_case(home)
    child = subprocess.Popen([AISBX, "exec", "box", "--", "sh", "-c", "{ cat f; echo s; } >t; mv t f; echo go; read x"],
                             cwd=home.work, env=home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True)
    child.stdout.readline()
    child.kill()
    child.communicate()
    replace(f"{home.work}/f", "HOST\n2\n3\n")
    home.call("stop", "box")
    home.call("refresh", "box")
    home.call("fork", "box", "second")
    promoted = home.call("promote", "second")
    tap.equal([promoted.returncode, home.read("f")], [3, "HOST\n2\n3\n"], "an edit without a record, after a refresh: a conflict")
    end_case(home)


def test_beside(home):
    """Names made beside a file and beside its workspace while a command runs: the file itself has not changed."""
    begin_case(home)
    child = subprocess.Popen([AISBX, "exec", "box", "--", "sh", "-c", "echo go; read x; echo s >>f"], cwd=home.work,
                             env=home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    child.stdout.readline()
    home.put("beside", "x\n")
    above = f"{os.path.dirname(home.work)}/beside"
    os.mkdir(above)
    os.rmdir(above)
    child.communicate("\n")
    promoted = home.call("promote", "box")
    tap.equal([promoted.returncode, home.read("f")], [0, "1\n2\n3\ns\n"], "other names beside it are no conflict")
    end_case(home)


def test_alive(home):
    begin_case(home)
    home.call("exec", "box", "--", "sh", "-c", LOOK + "; (exec <f sleep 1000) >/dev/null 2>&1 &")
    done = home.call("exec", "box", "--", "true")
    # The search for older files has 5 ms of processor time, after which the note names none or only some.
    tap.ok("older" not in done.stderr or "files may be older" in done.stderr,
           "processes alive inside, and nothing has changed: no file is named", done)
    replace(f"{home.work}/f", "HOST\n2\n3\n")
    replace(f"{home.work}/d/g", "HOST\n2\n3\n")
    done = home.call("exec", "box", "--", "cat", "d/g")
    tap.ok(done.stdout == "HOST\n2\n3\n" and "aisbx refresh box" in done.stderr
           and re.search("(f, d/g|f and others|files) may be older", done.stderr),
           "names that they do not hold are shown as they are, and the others named with what to do", done)
    home.call("exec", "box", "--", "sh", "-c", "echo s >>f")
    promoted = home.call("promote", "box", "--kill")
    tap.ok(promoted.returncode == 3 and home.read("f") == "HOST\n2\n3\n", "an edit of an old one is a conflict", promoted)
    home.call("refresh", "box", "--kill")
    home.call("rollback", "box", "--kill")
    tap.equal(home.call("exec", "box", "--", "cat", "f").stdout, "HOST\n2\n3\n", "refresh and rollback show it")
    end_case(home)


# In a mount namespace of its own, whose /usr/local the test may replace.
SYSTEM = """set -e
mount -t tmpfs none /usr/local
mkdir /usr/local/bin
echo old >/usr/local/bin/file
sleep 0.1
for i in 1 2 3; do "$0" exec box -- cat /usr/local/bin/file; done
sleep 0.5  # until the supervisor most likely holds them: what is replaced before that shows nothing
mkdir /usr/local/other
echo new >/usr/local/other/file
mv /usr/local/bin /usr/local/former
mv /usr/local/other /usr/local/bin
"$0" exec box -- cat /usr/local/bin/file
"$0" exec box -- sh -c 'rm -r /usr/local/bin; mkdir /usr/local/bin; echo own >/usr/local/bin/file'
"$0" exec box -- cat /usr/local/bin/file
"$0" stop box >/dev/null
"""


def test_system(home):
    """Directories of the system that the supervisor holds between commands: replaced on the host, and inside."""
    what = "a directory of the system that was replaced is shown as it is"
    if os.geteuid() != 0:
        tap.skip(what, "needs a mount of its own")
        return
    begin_case(home)
    done = subprocess.run(["unshare", "-m", "sh", "-c", SYSTEM, AISBX], cwd=home.work, env=home.env, capture_output=True,
                          text=True, timeout=patience(120), check=False)
    tap.equal([done.stdout.split(), done.returncode], [["old"] * 3 + ["new", "own"], 0], what)
    end_case(home)


def test_other_source(home):
    """A directory of the system that is another one inside: what is compared is what is shown."""
    begin_case(home)
    home.call("rm", "box")
    home.put("tools/bin/f", "old\n")
    home.call("create", "box", "--rw", home.work + "/tools:/usr/local")
    seen = [home.call("exec", "box", "--", "cat", "/usr/local/bin/f").stdout]
    home.put("tools/next/f", "new\n")
    os.rename(home.work + "/tools/bin", home.work + "/tools/old")
    os.rename(home.work + "/tools/next", home.work + "/tools/bin")
    seen.append(home.call("exec", "box", "--", "cat", "/usr/local/bin/f").stdout)
    tap.equal(seen, ["old\n", "new\n"], "a directory behind a mount of the caller's own is shown as it is")
    end_case(home)


def test_workspace(home):
    begin_case(home)
    home.call("exec", "box", "--", "sh", "-c", LOOK)
    shutil.copytree(home.work, home.work + ".other")
    os.rename(home.work, home.work + ".old")
    os.rename(home.work + ".other", home.work)
    home.put("f", "HOST\n2\n3\n")
    done = home.call("exec", "box", "--", "cat", "f")
    tap.ok(done.stdout == "HOST\n2\n3\n" and "started anew" in done.stderr,
           "a workspace that was replaced as a whole is shown, and that it took a new start is said", done)
    shutil.rmtree(home.work + ".old")
    end_case(home)


def test_cases(home):
    for way in HOST_WAYS:
        tap.attempt(test_between, home, way)
        tap.attempt(test_during, home, way)
    for test in (test_renamed, test_copies, test_no_needless, test_both_removed, test_forks, test_unrecorded, test_beside, test_alive, test_system, test_other_source, test_workspace):
        tap.attempt(test, home)


def main():
    first = os.environ.get("AISBX_SEED") or (f"long-{time.time_ns()}" if LONG else "lost-update")
    seeds = [first] + [f"{first}/{i}" for i in range(1, ROUNDS)]
    print(f"# AISBX_SEED={first}, {ROUNDS} rounds", flush=True)
    promoted = conflicts = 0
    with Home("aisbx-lost-") as home:
        if home.can_run(tap, "nobody's line is lost"):
            if not os.environ.get("AISBX_SEED"):
                test_cases(home)
            for seed in seeds:
                found = run_round(home, seed)
                if not found:
                    break
                promoted, conflicts = promoted + found[0], conflicts + found[1]
            else:
                tap.ok(True, f"no line was lost in {ROUNDS} rounds of {STEPS} steps")
                tap.ok(promoted > 0, "and some of what was written was promoted")
                print(f"# {promoted} promotions, {conflicts} conflicts")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
