# SPDX-License-Identifier: Apache-2.0
"""Named sandboxes: entering, saving, rewinding, branching, comparing, applying, beside copies and git."""

import itertools
import shutil
import subprocess
import time
from statistics import median

from measure import Budget, percentile, table

TITLE = "Named sandboxes"
SIZES = (10, 100_000)
CHANGES = (1_000, 10_000, 100_000)


class Maker:
    """Sandboxes of one caller over a tree, with names that never repeat."""

    def __init__(self, bench, caller):
        self.bench, self.caller, self.numbers = bench, caller, itertools.count()

    def __call__(self, *words, cwd=None):
        """One call of the program; how many milliseconds it took."""
        where = ["-C", cwd] if cwd else []
        return self.timed([self.bench.program, *words[:1], *where, *words[1:]])

    def timed(self, command):
        began = time.monotonic()
        done = self.bench.call(self.caller, command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        took = (time.monotonic() - began) * 1000
        if done.returncode:
            raise SystemExit(f"bench: {' '.join(map(str, command))}: {done.stdout.decode(errors='replace')}")
        return took

    def name(self):
        return f"bench-{next(self.numbers)}"


def make_tree(box, folder, files):
    """A tree of small files that belongs to the caller."""
    script = ("mkdir -p \"$0\"; cd \"$0\"; i=0; while [ $i -lt $1 ]; do d=d$((i / 500)); mkdir -p $d; "
              "seq -f \"$d/f%.0f\" $i $((i + 499 < $1 ? i + 499 : $1 - 1)) | xargs touch; i=$((i + 500)); done")
    box.timed(["sh", "-c", script, folder, str(files)])


def entering(bench, box):
    """create and the first exec against run; exec in a living sandbox against a plain spawn."""
    name = box.name()
    both = f"n={name}-$$; '{bench.program}' create $n && '{bench.program}' exec $n -- /bin/true"
    box("create", name)
    box("exec", name, "--", "/bin/true")
    found = bench.interleave(box.caller, {
        "spawn": ["/bin/true"],
        "run": [bench.program, "run", "--", "/bin/true"],
        "shell": ["/bin/sh", "-c", "/bin/true && /bin/true"],
        "create, first exec": ["/bin/sh", "-c", both],
        "exec": [bench.program, "exec", name, "--", "/bin/true"],
    }, bench.rounds // 2)
    listed = subprocess.run([bench.program, "ls"], env=box.caller.env(), user=box.caller.uid, group=box.caller.gid,
                            stdout=subprocess.PIPE, text=True, check=False).stdout
    box("rm", *[line.split()[0] for line in listed.splitlines()[1:]])
    return {key: percentile(times, 0.5) for key, (_, times) in found.items()}


def pointers(bench, box, files, turns=15):
    """snap, rollback, fork over a tree of that size, net of the program's start."""
    folder = box.caller.work / f"tree-{files}"
    make_tree(box, folder, files)
    name = box.name()
    box("create", name, cwd=folder)
    box("exec", name, "--", "sh", "-c", "echo a > a")
    start = median(box("version") for _ in range(turns))
    found = {"snap": median(box("snap", name) for _ in range(turns)),
             "rollback": median(box("rollback", name) for _ in range(turns))}
    forks = [box.name() for _ in range(turns)]
    found["fork"] = median(box("fork", name, fork) for fork in forks)
    box("rm", name, *forks)
    copy = box.timed(["cp", "-a", "--reflink=auto", folder, str(folder) + "-copy"])
    peers = {"cp -a --reflink=auto": copy}
    if shutil.which("git"):
        box.timed(["sh", "-c", "cd \"$0\" && git init -q && git add . && "
                   "git -c user.name=b -c user.email=b@example.org commit -qm t", folder])
        peers["git worktree add"] = box.timed(["git", "-C", folder, "worktree", "add", "-q", str(folder) + "-tree"])
    for each in ("", "-copy", "-tree"):
        shutil.rmtree(str(folder) + each, ignore_errors=True)
    return {key: took - start for key, took in found.items()}, peers


def comparing(box, changes):
    """diff of that many changed files against a walk of as many."""
    folder = box.caller.work / "changed"
    folder.mkdir()
    shutil.chown(folder, box.caller.uid, box.caller.gid)
    walked = box.caller.work / "walked"
    name = box.name()
    box("create", name, cwd=folder)
    box.timed([box.bench.program, "exec", name, "--", "sh", "-c",
               f"cd '{folder}'; mkdir d; cd d; seq {changes} | split -a 6 -l 1 - f"])
    box.timed(["sh", "-c", f"mkdir -p '{walked}/d'; cd '{walked}/d'; seq {changes} | split -a 6 -l 1 - f"])
    found = box.bench.interleave(box.caller, {
        "start": [box.bench.program, "version"],
        "diff": [box.bench.program, "diff", name, "--name-status"],
        "find": ["find", "/dev/null"],
        "walk": ["find", walked, "-type", "f", "-printf", "%s %T@ %m %U %G %p\\n"],
    }, 9)
    taken = {key: percentile(times, 0.5) for key, (_, times) in found.items()}
    diff, walk = taken["diff"] - taken["start"], max(taken["walk"] - taken["find"], 0.1)
    box("rm", name)
    shutil.rmtree(folder)
    shutil.rmtree(walked)
    return diff, walk


def applying(box, files=1000, turns=5):
    """promote of that many new files against a copy that reached the disk; and undo."""
    times = {"promote": [], "cp -a, sync -f": [], "undo": []}
    for turn in range(turns):
        folder = box.caller.work / f"apply-{turn}"
        folder.mkdir()
        shutil.chown(folder, box.caller.uid, box.caller.gid)
        name = box.name()
        box.timed([box.bench.program, "run", "--keep", name, "-C", folder, "--", "sh", "-c",
                   f"mkdir o; for i in $(seq {files}); do echo $i > o/$i; done"])
        times["promote"].append(box("promote", name))
        times["cp -a, sync -f"].append(box.timed(["sh", "-c", "cp -a \"$0/o\" \"$0/p\" && sync -f \"$0\"", folder]))
        times["undo"].append(box.timed(["sh", "-c", f"cd '{folder}' && '{box.bench.program}' undo"]))
        box("rm", name)
        shutil.rmtree(folder)
    return {key: median(values) for key, values in times.items()}


def run(bench):
    parts = []
    for caller in bench.callers:
        box = Maker(bench, caller)
        found = entering(bench, box)
        rows = [["plain spawn", f"{found['spawn']:.2f}", "1.0"]]
        rows += [[key, f"{found[key]:.2f}", f"{found[key] / found['spawn']:.1f}"] for key in
                 ("exec", "run", "create, first exec")]
        made = found["create, first exec"] - found["shell"] + 2 * found["spawn"]
        bench.budgets += [Budget(f"create and first exec to run ({caller.name})", 1.3, made / found["run"], "×"),
                          Budget(f"exec by the command line to spawn ({caller.name})", 2.2,
                                 found["exec"] / found["spawn"], "×")]
        parts += [f"As {caller.name}; milliseconds, median.", "", table(["", "ms", "× spawn"], rows), ""]
        rows, peers = [], {}
        for files in SIZES if bench.rounds > 50 else SIZES[:1]:
            net, beside = pointers(bench, box, files)
            rows.append([f"{files:,} files", *(f"{net[key]:.2f}" for key in ("snap", "rollback", "fork")),
                         *(f"{beside.get(key, 0):.0f}" for key in ("cp -a --reflink=auto", "git worktree add"))])
            bench.budgets += [Budget(f"{key} over {files:,} files, net of start ({caller.name})", 3, net[key], "ms")
                              for key in net]
        parts += ["Save, rewind, branch, net of the program's start; a copy and a work tree beside them, gross.", "",
                  table(["", "snap ms", "rollback ms", "fork ms", "cp -a ms", "git worktree ms"], rows), ""]
        rows = []
        for changes in CHANGES if bench.rounds > 50 else CHANGES[:2]:
            diff, walk = comparing(box, changes)
            rows.append([f"{changes:,} changes", f"{diff:.1f}", f"{walk:.1f}", f"{diff / walk:.2f}"])
            bench.budgets.append(Budget(f"diff of {changes:,} changes to a walk ({caller.name})", 3, diff / walk, "×"))
        parts += [table(["", "diff ms", "walk ms", "ratio"], rows), ""]
        found = applying(box)
        ratio = found["promote"] / found["cp -a, sync -f"]
        bench.budgets += [Budget(f"promote of 1,000 files to cp -a and sync -f ({caller.name})", 2, ratio, "×"),
                          Budget(f"undo to promote ({caller.name})", 1, found["undo"] / found["promote"], "×")]
        parts += ["1,000 new files:", "", table(["", "ms"], [[key, f"{took:.1f}"] for key, took in found.items()]), ""]
    return "\n".join(parts)
