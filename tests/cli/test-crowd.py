#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many sandboxes at once: made together, promoted together to one workspace, and no change of any is lost.

Takes the program from AISBX. Speaks TAP. Each sandbox adds a file of its own and edits a line of its own in a file that is
everybody's. Promotions take turns; who finds that the host moved in between is told so, and tries again. AISBX_LONG=1: 200.
"""
import concurrent.futures
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from clitest import Home, Tap  # noqa: E402

SLOW = os.environ.get("AISBX_SLOW", "") not in ("", "0")
COUNT = 200 if os.environ.get("AISBX_LONG") == "1" else 5 if SLOW else 10
# Between two that are edited, lines that nobody touches: else neighbours were conflicts.
LINES = [f"line {number}" for number in range(3 * COUNT)]
CONFLICT = 3
tap = Tap()


def at_once(work):
    with concurrent.futures.ThreadPoolExecutor(COUNT) as pool:
        return list(pool.map(work, range(COUNT)))


def make(home, number):
    script = f"sed -i 's/^line {3 * number}$/edited by {number}/' shared; echo {number} > own{number}; cat shared | wc -l"
    return home.call("run", "--keep", f"b{number}", "--", "sh", "-c", script, timeout=900)


def promote(home, number):
    """Until it is done; the number of times it was told that something was in the way, or what it said instead."""
    for conflicts in range(100 * COUNT):
        done = home.call("promote", f"b{number}", "--strategy", "merge", timeout=900)
        if done.returncode == 0:
            return conflicts
        if done.returncode != CONFLICT:
            return done
    return done


def main():
    with Home("aisbx-cr.") as home:
        if not home.can_run(tap, "many at once"):
            return tap.done()
        home.put("shared", "".join(line + "\n" for line in LINES))
        made = at_once(lambda number: make(home, number))
        tap.ok(all(one.returncode == 0 and one.stdout.strip() == str(len(LINES)) for one in made), f"{COUNT} sandboxes at once",
               [one for one in made if one.returncode][:2])
        tap.equal(home.read("shared").splitlines(), LINES, "the host is as it was")
        tap.equal(len(home.rows("ls")), COUNT, "all are there")
        tried = at_once(lambda number: promote(home, number))
        odd = [one for one in tried if not isinstance(one, int)]
        tap.ok(not odd, f"{COUNT} promotions at once, {sum(one for one in tried if isinstance(one, int))} times something was in the way",
               odd[:2])
        want = [f"edited by {at // 3}" if at % 3 == 0 else line for at, line in enumerate(LINES)]
        tap.equal(home.read("shared").splitlines(), want, "everybody's edit of the one file is there")
        tap.ok(all(home.read(f"own{number}") == f"{number}\n" for number in range(COUNT)), "and everybody's own file")
        rows = home.rows("promotions")
        tap.ok(all(row["state"] in ("live", "kept") for row in rows), "each is told", [row["state"] for row in rows])
        gone = random.sample(range(COUNT), COUNT // 2)
        with concurrent.futures.ThreadPoolExecutor(COUNT) as pool:
            codes = list(pool.map(lambda number: home.call("rm", f"b{number}").returncode, gone))
        tap.ok(not any(codes) and len(home.rows("ls")) == COUNT - len(gone), "half of them are removed at once", codes)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
