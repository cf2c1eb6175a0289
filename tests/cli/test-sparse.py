#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files with holes cost what their data costs, and stay files with holes on every way in and out of a sandbox.

AISBX_SEED chooses where the data lies. Takes the program from AISBX. Speaks TAP.
"""
import hashlib
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from chance import seed_of
from clitest import AISBX, Home, Tap

tap = Tap()
SEED = seed_of("sparse")
# Without a control group, a plain user's file may not be larger than the memory limit.
APPARENT = (3 << 30) if os.geteuid() == 0 else (200 << 20)
SIZES = ((64 << 20) + 1, (70 << 20) + 12345)
ALLOCATED_MAX = 1 << 20
# Hashing as much as APPARENT says, twice, takes several times that long without special instructions of the processor.
SECONDS_MAX = 2
MAKE = """
import sys
name, size, *places = sys.argv[1:]
with open(name, "wb") as file:
    file.truncate(int(size))
    for at in places:
        file.seek(int(at))
        file.write(b"data at " + at.encode())
    file.truncate(int(size))
"""


def places(dice, size):
    """Where the data lies: at the beginning, within, at the end, or nowhere at all."""
    choice = [0, dice.randrange(size), dice.randrange(size), size - 40]
    return sorted(dice.sample(choice, dice.randrange(len(choice) + 1)))


def expected(size, at):
    """The pieces that are not zero."""
    return {place: b"data at %d" % place for place in at}, size


def is_same(path, pieces, size):
    """Whether the file at PATH is as it should be, in content and in holes."""
    st = os.stat(path)
    if st.st_size != size or st.st_blocks * 512 > ALLOCATED_MAX:
        return False
    with open(path, "rb") as file:
        for place, text in pieces.items():
            file.seek(place)
            if file.read(len(text)) != text[:max(0, size - place)]:
                return False
    return True


def check(path, want, what):
    st = os.stat(path) if os.path.exists(path) else None
    tap.ok(st and is_same(path, *want), what, st)


def seconds(home, *words):
    """Runs a verb; its exit status and the processor time it took, children included."""
    child = subprocess.Popen([AISBX, *words], cwd=home.work, env=home.env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, usage.ru_utime + usage.ru_stime


def make(home, name, size, at):
    done = home.call("exec", "box", "--", "python3", "-c", MAKE, name, str(size), *map(str, at))
    tap.ok(done.returncode == 0, f"{name}: made inside", done)


def test_cost(home):
    """What promoting a large hole costs beside promoting a byte."""
    make(home, "small", 100, [0])
    code, base = seconds(home, "promote", "box")
    tap.equal(code, 0, "a small file is promoted")
    make(home, "large", APPARENT, [1 << 20])
    code, spent = seconds(home, "promote", "box")
    print(f"# a small file: {base:.3f} s, {APPARENT >> 20} MiB of nothing: {spent:.3f} s of processor time", flush=True)
    tap.ok(code == 0 and spent < 4 * base + SECONDS_MAX, "a large hole costs no more than its data", (code, spent, base))
    check(home.work + "/large", expected(APPARENT, [1 << 20]), "and is one on the host")
    make(home, "large", APPARENT, [2 << 20])
    code, spent = seconds(home, "promote", "box")
    tap.ok(code == 0 and spent < 4 * base + SECONDS_MAX, "nor does the next version", (code, spent, base))
    code, spent = seconds(home, "undo")
    tap.ok(code == 0 and spent < 4 * base + SECONDS_MAX, "nor to take it back", (code, spent, base))
    check(home.work + "/large", expected(APPARENT, [1 << 20]), "which brings the first version back, as it was")


def test_artifact(home):
    """A large hole as an artifact: neither hashed, nor counted, nor written as long as it says it is."""
    make(home, "kept", APPARENT, [3 << 20])
    home.call("exec", "box", "--", "sh", "-c", "mkdir d && cp --sparse=always kept d/kept && head -c 70000000 /dev/zero | tr '\\0' y > d/dense")
    code, base = seconds(home, "artifact", "ls")
    # How fast what is dense is digested, the machine says.
    code, dense = seconds(home, "artifact", "save", "box", "d/dense")
    tap.equal(code, 0, "dense data are saved")
    for path, data in (("kept", 0), ("d", dense)):
        code, saved = seconds(home, "artifact", "save", "box", path)
        tap.ok(code == 0 and saved < 4 * base + 2 * data + SECONDS_MAX, f"{path}: saved in the time its data takes", (code, saved, data, base))
        row = home.rows("artifact", "ls")[0]
        tap.ok(row["size"] >= APPARENT and row["allocated"] <= ALLOCATED_MAX + (70000000 if path == "d" else 0), f"{path}: counted as what it takes", row)
        code, spent = seconds(home, "artifact", "get", row["artifact_id"], f"{home.path}/got-{path}")
        # It is digested three times on that way.
        tap.ok(code == 0 and spent < 4 * base + 6 * data + SECONDS_MAX, f"{path}: fetched in that time, too", (code, spent, data, base))
    check(home.path + "/got-kept", expected(APPARENT, [3 << 20]), "a file comes back with its holes")
    check(home.path + "/got-d/kept", expected(APPARENT, [3 << 20]), "and so in a directory")
    largest = max((os.path.join(top, name) for top, _, names in os.walk(home.path + "/.local/share/aisbx/cas") for name in names), key=lambda path: os.stat(path).st_blocks)
    tap.ok(os.stat(largest).st_blocks * 512 < 80 << 20, "the store holds the data alone", largest)
    os.chmod(largest, 0o600)
    with open(largest, "r+b") as file:
        file.seek(12345)
        file.write(b"damage")
    done = home.call("artifact", "get", row["artifact_id"], home.path + "/damaged")
    tap.ok(done.returncode != 0 and "not what was saved" in done.stderr, "what was damaged in the store is refused", done)
    home.call("exec", "box", "--", "rm", "-r", "kept", "d")


def test_earlier(home):
    """A large artifact of an earlier version is known by the digest of its whole content, and is still given out."""
    make(home, "earlier", SIZES[0], [5 << 20])
    tap.equal(home.call("artifact", "save", "box", "earlier").returncode, 0, "an artifact beyond 64 MiB")
    row = home.rows("artifact", "ls")[0]
    tap.equal(row.get("sha256_of"), "parts", "is known by its parts")
    store = home.path + "/.local/share/aisbx"
    tap.equal(home.call("artifact", "get", row["artifact_id"], home.path + "/got-now").returncode, 0, "and given out")
    with open(home.path + "/got-now", "rb") as file:
        whole = hashlib.file_digest(file, "sha256").hexdigest()
    record = next(os.path.join(top, name) for top, _, names in os.walk(store) for name in names if row["artifact_id"] in name)
    with open(record, encoding="utf-8") as file:
        text = file.read()
    with open(record, "w", encoding="utf-8") as file:
        file.write(text.replace(row["sha256"], whole).replace('"sha256_of":"parts",', "").replace(',"sha256_of":"parts"', ""))
    os.makedirs(f"{store}/cas/{whole[:2]}", exist_ok=True)
    os.rename(f"{store}/cas/{row['sha256'][:2]}/{row['sha256'][2:]}", f"{store}/cas/{whole[:2]}/{whole[2:]}")
    done = home.call("artifact", "get", row["artifact_id"], home.path + "/got-earlier")
    tap.ok(done.returncode == 0, "so is one that is known by its whole", done)
    check(home.path + "/got-earlier", expected(SIZES[0], [5 << 20]), "and it is what it was")
    home.call("exec", "box", "--", "rm", "earlier")


def test_directory_in(home, dice):
    """A directory copied in keeps the holes of each file, wherever its data lies and whatever its name is."""
    names = ["whole-hole", "begins", "ends", "both", "many", "line\nbreak", "l" * 150, "dense", "empty"]
    source = home.path + "/source/" + "deep" * 30
    os.makedirs(source)
    size = (20 << 20) + dice.randrange(5000)
    at = {"begins": [0], "ends": [size - 9], "both": [0, size - 9], "many": range(0, size - 20, 1 << 14)}
    for name in names:
        with open(f"{source}/{name}", "wb") as file:
            file.truncate(0 if name in ("empty", "dense") else size)
            for place in at.get(name, [dice.randrange(size)] if len(name) > 10 and name != "whole-hole" else []):
                file.seek(place)
                file.write(b"data")
            if name == "dense":
                file.write(dice.randbytes(100001))
            file.truncate(max(file.tell(), 0 if name in ("empty", "dense") else size))
    done = home.call("cp", home.path + "/source", "box:in")
    tap.ok(done.returncode == 0, "a directory of files with holes is copied in", done)
    done = home.call("cp", "box:in", home.path + "/back")
    same = subprocess.run(["diff", "-r", home.path + "/source", home.path + "/back"], capture_output=True, text=True, check=False)
    tap.ok(same.returncode == 0, "and is the same", (done, same))
    done = home.call("exec", "box", "--", "sh", "-c", "cd in/* && stat -c '%b %n' whole-hole begins ends both l*")
    blocks = [int(line.split()[0]) * 512 for line in done.stdout.splitlines() if line[:1].isdigit()]
    tap.ok(len(blocks) >= 5 and max(blocks) <= ALLOCATED_MAX, "with its holes", done)
    home.call("exec", "box", "--", "rm", "-r", "in")


def round_trips(home, dice, size):
    """One file with holes by every way there is."""
    at = places(dice, size)
    want = expected(size, at)
    name = f"f{size}"
    what = f"{size} bytes, data at {at}"
    make(home, name, size, at)
    tap.equal(home.call("snap", "box", "-m", "s").returncode, 0, f"{what}: saved")
    tap.equal(home.call("fork", "box", "twin").returncode, 0, f"{what}: forked")
    for box in ("box", "twin"):
        out = f"{home.path}/out-{box}"
        done = home.call("cp", f"{box}:{name}", out)
        tap.ok(done.returncode == 0, f"{what}: copied out of {box}", done)
        check(out, want, f"{what}: as it was in {box}")
    done = home.call("cp", home.path + "/out-box", f"twin:in-{name}")
    tap.ok(done.returncode == 0, f"{what}: copied in", done)
    done = home.call("exec", "twin", "--", "sh", "-c", f"cmp {name} in-{name} && stat -c %b in-{name}")
    tap.ok(done.returncode == 0 and int(done.stdout) * 512 <= ALLOCATED_MAX, f"{what}: the same inside, with its holes", done)
    saved = home.data("artifact", "save", "box", name)
    got = home.path + "/got"
    done = home.call("artifact", "get", saved.get("artifact_id") or saved.get("id") or "none", got)
    tap.ok(done.returncode == 0, f"{what}: kept as an artifact and fetched", (saved, done))
    check(got, want, f"{what}: as it was saved")
    done = home.call("promote", "box")
    tap.ok(done.returncode == 0, f"{what}: promoted", done)
    check(f"{home.work}/{name}", want, f"{what}: as it was inside")
    tap.equal(home.rows("diff", "box"), [], f"{what}: and no difference")
    home.call("rm", "twin")
    for path in (home.path + "/out-box", home.path + "/out-twin", got):
        os.unlink(path)


def main():
    print(f"# AISBX_SEED={SEED}", flush=True)
    with Home("aisbx-sparse.") as home:
        if not home.can_run(tap, "sparse files"):
            return tap.done()
        home.call("create", "box", "--fsize", "4g")
        tap.attempt(test_cost, home)
        tap.attempt(test_artifact, home)
        tap.attempt(test_earlier, home)
        dice = random.Random(SEED)
        tap.attempt(test_directory_in, home, dice)
        for size in SIZES:
            tap.attempt(round_trips, home, dice, size)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
