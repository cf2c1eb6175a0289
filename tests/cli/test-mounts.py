#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mounts that appear on the host over what a sandbox changed: a conflict that names the mount, and nothing is written to it.

Kinds of mounts, places and changes are combined; AISBX_SEED chooses which, AISBX_ROUNDS how many. The mounts are made in
a mount namespace of the test's own. Takes the program from AISBX. Speaks TAP.
"""
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from chance import seed_of
from clitest import AISBX, Home, Tap

tap = Tap()
SEED = seed_of("mounts")
ROUNDS = int(os.environ.get("AISBX_ROUNDS") or 12)
OWN = "AISBX_TEST_OWN_MOUNTS"
# What a command does, and whether it concerns d/f itself.
CHANGES = (("echo y >d/f", True), ("rm d/f", True), ("mv d/f d/g", True), ("chmod 600 d/f", True), ("rm -r d", True),
           ("mv d e", True), ("rm -r d; echo y >d", True), ("rm d/f; mkdir d/f", True), ("ln -sf x d/f", True),
           ("echo y >d/new", False), ("mkdir d/n; echo y >d/n/x", False), ("chmod 700 d", False))
MOUNTS = ("a file on d/f", "a directory on d", "a tmpfs on d", "a tmpfs on the workspace")


def mount(kind, work, other):
    """Mounts; where, as a conflict names it."""
    place, name = {"a file on d/f": ("/d/f", "d/f"), "a directory on d": ("/d", "d"), "a tmpfs on d": ("/d", "d"),
                   "a tmpfs on the workspace": ("", ".")}[kind]
    source = {"a file on d/f": ["--bind", other + "/f"], "a directory on d": ["--bind", other]}.get(kind, ["-t", "tmpfs", "none"])
    subprocess.run(["mount", *source, work + place], check=True)
    return work + place, name


def shape(top):
    """What lies below a directory: {path: (mode, content)}."""
    found = {}
    for above, dirs, files in os.walk(top):
        for name in dirs + files:
            path = os.path.join(above, name)
            mode = os.lstat(path).st_mode
            content = None
            if os.path.isfile(path) and not os.path.islink(path):
                with open(path, "rb") as file:
                    content = file.read()
            found[os.path.relpath(path, top)] = (mode, content)
    return found


def laid(home, number):
    """A workspace, and a directory to mount over a part of it."""
    work, other = f"{home.path}/w{number}", f"{home.path}/o{number}"
    for top in (work + "/d", other):
        os.makedirs(top)
        with open(top + "/f", "w") as file:
            file.write("host\n" if top == other else "x\n")
    return work, other


def test_control(home):
    """Without a mount each of the changes is promoted."""
    for number, (change, _) in enumerate(CHANGES[:3]):
        work, _ = laid(home, f"c{number}")
        home.call("create", "box", cwd=work)
        home.call("exec", "box", "--", "sh", "-c", change)
        done = home.call("promote", "box")
        tap.ok(done.returncode == 0 and home.rows("diff", "box") == [], f"{change}: promoted", done)
        home.call("rm", "box")


def test_earlier(home):
    """A mount that was there before the sandbox is a part of it."""
    work, other = laid(home, "earlier")
    at, _ = mount("a tmpfs on d", work, other)
    try:
        home.call("create", "box", cwd=work)
        home.call("exec", "box", "--", "sh", "-c", "echo y >d/new")
        done = home.call("promote", "box")
        tap.ok(done.returncode == 0 and shape(work).get("d/new", (0, 0))[1] == b"y\n", "a mount of before is promoted to", done)
    finally:
        home.call("rm", "box")
        subprocess.run(["umount", "-l", at], check=True)


def test_case(home, number, kind, change, is_of_file):
    what = f"{change}, then {kind}"
    work, other = laid(home, number)
    home.call("create", "box", cwd=work)
    done = home.call("exec", "box", "--", "sh", "-c", change)
    tap.ok(done.returncode == 0, f"{what}: changed inside", done)
    home.call("stop", "box")
    at, name = mount(kind, work, other)
    try:
        before = shape(work), shape(other)
        expected = 3 if is_of_file or kind != "a file on d/f" else 0
        done = home.call("promote", "box", "--json", cwd="/")
        tap.equal(done.returncode, expected, f"{what}: the exit status")
        tap.ok(not expected or (f'"path":"{name}"' in done.stdout and '"kind":"mount-point"' in done.stdout),
               f"{what}: the mount is named", done)
        tap.ok(not expected or (shape(work), shape(other)) == before, f"{what}: nothing was written", (before, shape(work)))
        tap.equal(shape(other), before[1], f"{what}: least of all to the mount")
        if expected:
            done = home.call("promote", "box", "--strategy", "theirs", cwd="/")
            tap.ok(done.returncode == 3 and (shape(work), shape(other)) == before, f"{what}: no strategy decides about it", done)
    finally:
        subprocess.run(["umount", "-l", at], check=True)
    done = home.call("promote", "box", cwd="/")
    tap.ok(done.returncode == 0, f"{what}: promoted once it is unmounted", done)
    tap.equal(home.rows("diff", "box", cwd="/"), [], f"{what}: and nothing is left to promote")
    home.call("rm", "box")
    shutil.rmtree(work)


def test_spellings(home):
    """However the path is spelled, it is the one that the mount covers."""
    work, other = laid(home, "spelled")
    home.call("create", "box", cwd=work)
    home.call("exec", "box", "--", "sh", "-c", "echo y >d/f")
    home.call("stop", "box")
    at, _ = mount("a file on d/f", work, other)
    try:
        before = shape(work), shape(other)
        for path in ("d/f", "./d/f", "d//f", "d/./f", ".//d/f", "d/f/", "./d/", "./d/*", ".", work + "/./d/f", work + "//d/f", "d/../d/f"):
            done = home.call("promote", "box", path, cwd=work)
            tap.ok(done.returncode in ((4,) if ".." in path else (3,)) and (shape(work), shape(other)) == before,
                   f"promote {path.replace(work, 'W')}: nothing is written through the mount", done)
    finally:
        subprocess.run(["umount", "-l", at], check=True)
    done = home.call("promote", "box", ".//d/./f", cwd=work)
    tap.ok(done.returncode == 0 and shape(work)["d/f"][1] == b"y\n", "without it any spelling selects the file", done)
    home.call("rm", "box")


def orphans(home, **env):
    return [row["path"] for row in home.rows("gc", cwd="/", **env) if row["kind"] == "orphan"]


def test_orphans(home):
    """What a lost store's promotions left at the top of a mount: removed once nobody can need it, else listed."""
    point = home.path + "/orphans"
    lost = {"XDG_DATA_HOME": home.path + "/another-store"}
    os.mkdir(point)
    subprocess.run(["mount", "-t", "tmpfs", "none", point], check=True)
    try:
        os.mkdir(point + "/w")
        home.call("create", "box", cwd=point + "/w")
        home.call("exec", "box", "--", "sh", "-c", "echo y >new")
        done = home.call("promote", "box", cwd=point + "/w")
        found = os.listdir(point + "/.aisbx") if os.path.isdir(point + "/.aisbx") else []
        if not tap.equal((done.returncode, len(found)), (0, 1), "a promotion is staged at the top of the mount"):
            return
        record = f"{point}/.aisbx/{found[0]}"
        tap.ok(record not in orphans(home) and os.path.isdir(record), "the store that knows it calls it no orphan")
        tap.ok(record in orphans(home, **lost) and os.path.isdir(record), "another store lists it and leaves it")
        tap.equal(home.call("undo", cwd=point + "/w").returncode, 0, "so that it still can be undone")
        tap.ok(record in orphans(home, **lost) and not os.path.exists(record), "what was undone goes at once")
        home.call("promote", "box", cwd=point + "/w")
        record = f"{point}/.aisbx/{os.listdir(point + '/.aisbx')[0]}"
        month = time.time() - 31 * 86400
        os.utime(record + "/journal", (month, month))
        tap.ok(record not in orphans(home) and os.path.isdir(record), "an old one stays while its store knows it")
        tap.ok(record in orphans(home, **lost) and os.path.isdir(record),
               "another store lists it, however old: the undo of the first needs it")
        slots = point + "/.aisbx/01ARZ3NDEKTSV4RRFFQ69G5FAV"
        os.makedirs(slots, mode=0o700)
        os.chmod(point + "/.aisbx", 0o700)
        os.utime(slots, (month, month))
        tap.ok(slots in orphans(home, **lost) and os.path.isdir(slots), "what has no journal is listed only")
        os.chmod(point + "/.aisbx", 0o777)
        tap.ok(slots not in orphans(home, **lost), "a directory that others may write to is not believed")
    finally:
        home.call("rm", "box", cwd="/")
        subprocess.run(["umount", "-l", point], check=True)


def cut_after(journal, last):
    """The records of a journal up to the first of type LAST: what a crash, or a damaged disk, leaves of it."""
    offset = 0
    while offset < len(journal):
        length, _, _, kind = struct.unpack_from("<IIQB", journal, offset)
        offset += 17 + length
        if kind == last:
            return journal[:offset]
    raise AssertionError(f"no record of type {last}")


BEGIN, PREPARED, COMMIT, DONE = 1, 5, 6, 7
JOURNALS = {
    "done": lambda journal: journal,
    "begun": lambda journal: cut_after(journal, BEGIN),
    "prepared": lambda journal: cut_after(journal, PREPARED),
    "committed": lambda journal: cut_after(journal, COMMIT),
    "without one": None,
    "damaged": lambda journal: b"x" + journal[1:],
}


def other_links(text, record, top):
    """What may stand in the place of a store's name, besides the name itself."""
    os.symlink(text.split(":")[1], top + "/way")
    os.makedirs(top + "/stranger/promotions")
    open(top + "/stranger/VERSION", "w").close()
    os.chmod(top + "/stranger", 0o700)
    os.chown(top + "/stranger", 54321, 54321)
    fsid = text.split(":")[0]
    return {"no link": None, "an empty directory": f"{fsid}:{top}", "a link": f"{fsid}:{top}/way",
            "another user's store": f"{fsid}:{top}/stranger", "another file system": "0" * len(fsid) + text[len(fsid):],
            "no path": "x", "a relative path": fsid + ":" + os.path.relpath(text.split(":")[1], "/"), "itself": f"{fsid}:{record}"}


def test_lost_stores(home):
    """The state of a journal x its age x what became of the store that it names: only what that store disowns is removed."""
    point, stores = home.path + "/lost", home.path + "/stores"
    data, month = stores + "/data", time.time() - 31 * 86400
    env = {"XDG_DATA_HOME": data}
    other = {"XDG_DATA_HOME": home.path + "/third-store"}
    for path in (point, stores, data):
        os.mkdir(path)
    subprocess.run(["mount", "-t", "tmpfs", "none", point], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", data], check=True)
    try:
        os.mkdir(point + "/w")
        for words in (["create", "box"], ["exec", "box", "--", "sh", "-c", "echo y >new"], ["promote", "box"], ["stop", "box"]):
            home.call(*words, cwd=point + "/w", **env)
        found = os.listdir(point + "/.aisbx")
        record, kept = f"{point}/.aisbx/{found[0]}", point + "/kept"
        shutil.copytree(record, kept, symlinks=True)
        with open(record + "/journal", "rb") as file:
            journal = file.read()
        name = os.readlink(record + "/store")
        tap.equal(name.split(":")[1], data + "/aisbx", "the record names its store")

        def plant(kind, is_old=True, link=name):
            shutil.rmtree(record, ignore_errors=True)
            os.makedirs(point + "/.aisbx", mode=0o700, exist_ok=True)
            shutil.copytree(kept, record, symlinks=True)
            os.unlink(record + "/store")
            if link:
                os.symlink(link, record + "/store")
            os.unlink(record + "/journal")
            if JOURNALS[kind]:
                with open(record + "/journal", "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                    file.write(JOURNALS[kind](journal))
            for path in (record, record + "/journal"):
                if is_old and os.path.exists(path):
                    os.utime(path, (month, month))

        def judged(case, is_removed, **where):
            rows = [row for row in home.rows("gc", cwd="/", **where) if row["path"] == record]
            tap.ok(len(rows) == 1 and rows[0]["kind"] == "orphan" and os.path.exists(record) != is_removed, f"{case}: "
                   + ("removed" if is_removed else "left and listed"), rows)
            tap.equal(os.path.exists(point + "/w/new"), True, f"{case}: nothing is replayed")

        for kind in JOURNALS:
            plant(kind)
            judged(f"{kind}, its store is there and knows it", False, **other)
        shutil.move(f"{data}/aisbx/promotions/{found[0]}", stores + "/record")
        for kind in JOURNALS:
            plant(kind, False)
            judged(f"{kind}, disowned, new", False, **other)
            for where in (env, other):
                plant(kind)
                judged(f"{kind}, disowned, old", kind != "damaged", **where)
        for case, link in other_links(name, record, stores).items():
            plant("done", link=link)
            judged(f"a store named by {case}", False, **other)
        os.rename(data + "/aisbx", data + "/moved")
        home.rows("gc", cwd="/", **env)
        plant("done")
        judged("a new store has the path of its own", False, **env)
        for words in (["create", "box"], ["exec", "box", "--", "sh", "-c", "echo z >newer"], ["promote", "box"], ["rm", "box"]):
            home.call(*words, cwd=point + "/w", **env)
        tap.equal((os.path.exists(point + "/w/newer"), os.path.lexists(data + "/aisbx/id")), (True, True), "the new store is in use")
        judged("another store in use has the path of its own", False, **env)
        os.rename(data + "/aisbx", data + "/newer")
        os.rename(data + "/moved", data + "/aisbx")
        os.rename(data + "/aisbx/promotions", data + "/aisbx/away")
        plant("done")
        judged("its store is damaged", False, **other)
        subprocess.run(["umount", "-l", data], check=True)
        judged("its store is not mounted", False, **other)
        home.rows("gc", cwd="/", **env)
        judged("another store was made where it was mounted", False, **env)
    finally:
        subprocess.run(["umount", "-ql", data], check=False)
        subprocess.run(["umount", "-l", point], check=True)


def test_plain_user():
    """A plain user's overlay covers no mounts: the error names the directory and what to do."""
    top = tempfile.mkdtemp(prefix="aisbx-mounts-", dir="/var/tmp")
    os.makedirs(top + "/w/m")
    for path in (top, top + "/w", top + "/w/m"):
        os.chown(path, 54321, 54321)
    words = ["setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups", AISBX, "run", "--", "true"]
    env = {"PATH": os.environ["PATH"], "HOME": top}

    def call():
        return subprocess.run(words, env=env, cwd=top + "/w", capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    try:
        if call().returncode != 0:
            tap.skip("a plain user's workspace with a mount", "a plain user cannot run the program here")
            return
        for what, at in (("at its top", "m"), ("deep in it", "a/b/c"), ("over a file", "file"), ("with an odd name", "x\n[31m y")):
            path = f"{top}/w/{at}"
            is_file = at == "file"
            if is_file:
                open(path, "w").close()
            else:
                os.makedirs(path, exist_ok=True)
            subprocess.run(["mount", *(["--bind", "/etc/passwd"] if is_file else ["-t", "tmpfs", "none"]), path], check=True)
            done = call()
            subprocess.run(["umount", "-l", path], check=True)
            named = "mounted below it" in done.stderr if "\n" in at else f"{path} is mounted below it" in done.stderr
            tap.ok(done.returncode == 125 and top + "/w cannot be shown" in done.stderr and named and "-C DIR" in done.stderr
                   and done.stderr.count("\n") <= 2, f"a plain user's workspace with a mount {what} is refused by name, with the remedy",
                   done)
        tap.equal(call().returncode, 0, "and starts again without the mount")
    finally:
        shutil.rmtree(top)


def main():
    if os.geteuid() == 0 and not os.environ.get(OWN):
        os.environ[OWN] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, os.path.abspath(__file__)])
    print(f"# AISBX_SEED={SEED} AISBX_ROUNDS={ROUNDS}", flush=True)
    with Home("aisbx-mounts.") as home:
        if not home.can_run(tap, "mounts"):
            return tap.done()
        tap.attempt(test_control, home)
        if os.geteuid() != 0:
            tap.skip("mounts over changed paths", "needs root")
            return tap.done()
        tap.attempt(test_earlier, home)
        tap.attempt(test_spellings, home)
        tap.attempt(test_orphans, home)
        tap.attempt(test_lost_stores, home)
        tap.attempt(test_plain_user)
        cases = [(kind, *change) for kind in MOUNTS for change in CHANGES]
        dice = random.Random(SEED)
        for number, case in enumerate(dice.sample(cases, min(ROUNDS, len(cases)))):
            tap.attempt(test_case, home, number, *case)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
