#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Line diffs and merges held against git merge-file, git apply, patch and diff3, on random texts.

Takes the program that answers for us from TEXT_BATCH. Speaks TAP. The seed is printed; SEED in the environment
repeats a run.
"""

import concurrent.futures
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from chance import seed_of  # noqa: E402
from tap import Tap  # noqa: E402

BATCH = os.environ["TEXT_BATCH"]
SLOW = os.environ.get("AISBX_SLOW", "") not in ("", "0")
SEED = seed_of("texts")
LONG = os.environ.get("AISBX_LONG") == "1"
TRIPLES = 10000 if LONG else 1500 if SLOW else 2000
# Nothing of the machine's configuration changes what git does here.
CLEAN = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "LC_ALL": "C",
         "GIT_CEILING_DIRECTORIES": tempfile.gettempdir()}

tap = Tap()


def run(*words, cwd=None, stdin=None):
    return subprocess.run(words, input=stdin, capture_output=True, cwd=cwd, env=CLEAN, check=False)


def batch(verb, records, count):
    """Asks our program about all records at once: per record COUNT numbers, then a text."""
    texts = [text for record in records for text in record]
    answer = run(BATCH, verb, stdin=b"".join(struct.pack("=Q", len(t)) + t for t in texts))
    if answer.returncode != 0:
        raise RuntimeError(answer.stderr.decode(errors="replace"))
    found, at = [], 0
    for _ in records:
        *numbers, length = struct.unpack_from("=" + "Q" * (count + 1), answer.stdout, at)
        at += 8 * (count + 1)
        found.append((*numbers, answer.stdout[at:at + length]))
        at += length
    return found


def alphabet(rand):
    """Lines to choose from: few and often repeated, or many, with the empty and the braces every program has."""
    if rand.random() < 0.4:
        return [f"line {n}" for n in range(200)] + ["", "", "}", "\t}"]
    few = [chr(97 + n) * rand.randrange(1, 3) for n in range(rand.choice([2, 4, 8, 20]))]
    return few + rand.choice([[], ["", "}", "{"]])


def edited(rand, lines, letters):
    lines = list(lines)
    for _ in range(rand.choice([0, 1, 1, 2, 3, 5, 8])):
        kind, at = rand.random(), rand.randrange(len(lines) + 1)
        if kind < 0.3:
            lines[at:at] = rand.choices(letters, k=rand.randrange(1, 4))
        elif kind < 0.6:
            del lines[at:at + rand.randrange(1, 4)]
        elif kind < 0.9:
            lines[at:at + rand.randrange(1, 3)] = rand.choices(letters, k=rand.randrange(1, 3))
        else:
            start = rand.randrange(len(lines) + 1)
            lines[at:at] = lines[start:start + 5]
    return lines


def joined(rand, lines, end):
    """The bytes; one in five lacks the last line's end."""
    text = b"".join(line.encode() + end for line in lines)
    return text[:-len(end)] if text and rand.random() < 0.2 else text


def triple(rand, lengths=(0, 1, 3, 8, 20, 60, 100)):
    letters, end = alphabet(rand), b"\r\n" if rand.random() < 0.1 else b"\n"
    base = rand.choices(letters, k=rand.choice(lengths))
    ours = edited(rand, base, letters)
    theirs = edited(rand, base if rand.random() < 0.9 else ours, letters)
    return tuple(joined(rand, lines, end) for lines in (base, ours, theirs))


def large_triple(rand):
    """Texts so different that the search takes its shortcuts."""
    letters = [f"line {n}" for n in range(rand.choice([8, 300, 100000]))]
    base = rand.choices(letters, k=rand.choice([500, 3000, 6000]))
    sides = []
    for _ in range(2):
        lines = list(base)
        for _ in range(rand.choice([20, 400, 1500])):
            at = rand.randrange(len(lines) + 1)
            lines[at:at + rand.randrange(4)] = rand.choices(letters, k=rand.choice([0, 1, 2, 40]))
        sides.append(lines)
    return tuple(joined(rand, lines, b"\n") for lines in (base, *sides))


def write_texts(directory, texts):
    for name, text in texts.items():
        with open(os.path.join(directory, name), "wb") as out:
            out.write(text)


def git_merges(triples):
    """What git makes of them, one process each, as many at a time as there are processors."""
    def shard(number):
        found = {}
        with tempfile.TemporaryDirectory() as place:
            for at in range(number, len(triples), workers):
                write_texts(place, dict(zip(("base", "ours", "theirs"), triples[at])))
                done = run("git", "merge-file", "-p", "-L", "ours", "-L", "base", "-L", "theirs",
                           "ours", "base", "theirs", cwd=place)
                found[at] = (done.returncode, done.stdout)
        return found
    workers = min(os.cpu_count() or 1, 8)
    merged = {}
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for found in pool.map(shard, range(workers)):
            merged.update(found)
    return [merged[at] for at in range(len(triples))]


def compare_with_git(triples, what):
    ours, gits = batch("merge", triples, 1), git_merges(triples)
    wrong = [at for at, ((conflicts, text), (code, git_text)) in enumerate(zip(ours, gits))
             if text != git_text or min(conflicts, 127) != code]
    clean = sum(code == 0 for code, _ in gits)
    first = wrong and (wrong[0], triples[wrong[0]], "git", gits[wrong[0]], "we", ours[wrong[0]])
    tap.ok(not wrong, f"{what}: {len(triples)} merges as git's, {clean} of them clean", first)
    return clean


def test_git_merge(rand):
    if not shutil.which("git"):
        tap.skip("merges as git's", "git is not installed")
        return
    clean = compare_with_git([triple(rand) for _ in range(TRIPLES)], "small texts")
    tap.ok(TRIPLES // 5 < clean < TRIPLES * 4 // 5, "both outcomes are frequent", clean)
    compare_with_git([large_triple(rand) for _ in range(100 if LONG else 20)], "large texts")


def test_diff3(rand):
    """diff3 chooses other scripts where lines repeat; where none does, clean merges must be the same."""
    if not shutil.which("diff3"):
        tap.skip("merges as diff3's", "diff3 is not installed")
        return
    triples, wrong, both = [], [], 0
    for _ in range(300):
        fresh = iter(range(100000))
        base = [f"b{next(fresh)}" for _ in range(rand.randrange(40))]
        sides = []
        for _ in range(2):
            lines = [line for line in base if rand.random() > 0.05]
            for _ in range(rand.randrange(3)):
                at = rand.randrange(len(lines) + 1)
                lines[at:at + rand.randrange(2)] = [f"n{next(fresh)}"]
            sides.append(lines)
        triples.append(tuple(b"".join(line.encode() + b"\n" for line in lines) for lines in (base, *sides)))
    with tempfile.TemporaryDirectory() as place:
        for texts, (conflicts, text) in zip(triples, batch("merge", triples, 1)):
            write_texts(place, dict(zip(("base", "ours", "theirs"), texts)))
            done = run("diff3", "-m", "ours", "base", "theirs", cwd=place)
            both += done.returncode == 0 and conflicts == 0
            if done.returncode == 0 and conflicts == 0 and done.stdout != text:
                wrong.append((texts, done.stdout, text))
    tap.ok(not wrong, f"{both} merges that both find clean are diff3's", wrong[:1])
    tap.ok(both > 50, "enough of them to tell", both)


def test_properties(rand):
    triples = [triple(rand) for _ in range(TRIPLES // 5)]
    same = batch("merge", [(b, o, o) for b, o, _ in triples], 1)
    tap.ok(all(n == 0 and text == o for (n, text), (_, o, _) in zip(same, triples)), "merge(b, o, o) is o")
    same = batch("merge", [(b, b, t) for b, _, t in triples], 1)
    tap.ok(all(n == 0 and text == t for (n, text), (_, _, t) in zip(same, triples)), "merge(b, b, t) is t")
    there = batch("merge", triples, 1)
    back = batch("merge", [(b, t, o) for b, o, t in triples], 1)
    tap.ok(all((n == 0) == (m == 0) and (n or x == y) for (n, x), (m, y) in zip(there, back)),
           "merge(b, o, t) is merge(b, t, o)")


def patch_of(pairs):
    """One patch that changes file N from the first to the second of pair N."""
    bodies = batch("diff", pairs, 0)
    return b"".join(b"diff --git a/%d b/%d\n--- a/%d\n+++ b/%d\n" % (n, n, n, n) + body
                    for n, (body,) in enumerate(bodies) if body)


def test_apply(rand, words, what):
    """Files that exist on both sides and differ: adding and deleting is the patch writer's."""
    if not shutil.which(words[0]):
        tap.skip(what, f"{words[0]} is not installed")
        return
    pairs = [(base, ours) for base, ours, _ in (triple(rand) for _ in range(1000))]
    pairs += [(b"x\n" + base, b"x\n" + ours) for base, ours, _ in (large_triple(rand) for _ in range(10))]
    pairs = [pair for pair in pairs if all(pair) and pair[0] != pair[1]]
    with tempfile.TemporaryDirectory() as place:
        write_texts(place, {str(n): old for n, (old, _) in enumerate(pairs)})
        done = run(*words, cwd=place, stdin=patch_of(pairs))
        wrong = []
        for n, (old, new) in enumerate(pairs):
            with open(os.path.join(place, str(n)), "rb") as file:
                if file.read() != new:
                    wrong.append((old, new))
    tap.ok(done.returncode == 0 and not wrong, f"{what}: {len(pairs)} files become the new ones",
           (done.stderr[:1000], wrong[:1]))


def main():
    rand = random.Random(SEED)
    print(f"# SEED={SEED}")
    test_git_merge(rand)
    test_diff3(rand)
    test_properties(rand)
    test_apply(rand, ("git", "apply", "--whitespace=nowarn"), "git apply")
    test_apply(rand, ("patch", "-s", "-p1", "--binary", "-F0"), "patch")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
