#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The list of steps kept with a sandbox: changed all at once, bounded, kept over snapshots, copied by a fork.

Takes the program from AISBX. Speaks TAP.
"""
import concurrent.futures
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from clitest import Home, Tap, refused

tap = Tap()


def steps(home, *words):
    """The list as (text, done) pairs."""
    return [(s["text"], s["done"]) for s in home.data("todo", *words).get("steps", [{"text": None, "done": None}])]


def test_list(home):
    home.call("create", "box")
    tap.equal(home.data("todo", "box"), {"sandbox": "box", "steps": []}, "a new sandbox has no steps")
    tap.ok("--add" in home.call("todo", "box").stdout, "which is said, with the way on")
    tap.equal(steps(home, "box", "--add", "one", "--add", "two"), [("one", False), ("two", False)], "steps are added")
    tap.equal(home.data("todo", "box", "--done", "2")["steps"],
              [{"n": 1, "text": "one", "done": False}, {"n": 2, "text": "two", "done": True}], "done, with its number")
    tap.equal(home.call("todo", "box").stdout, "  1 [ ] one\n  2 [x] two\n", "for people")
    tap.equal(steps(home, "box", "--undone", "2", "--add", "three", "--done", "3"),
              [("one", False), ("two", False), ("three", True)], "several changes at once, in their order")
    tap.equal(steps(home, "box", "--set", "a", "b"), [("a", False), ("b", False)], "another list")
    tap.equal(steps(home, "box", "--clear", "--add", "c"), [("c", False)], "cleared, and begun anew")
    home.call("todo", "box", "--set", "--", "--add", "$(reboot)", "'; rm -rf /")
    tap.equal(steps(home, "box"),
              [("--add", False), ("$(reboot)", False), ("'; rm -rf /", False)], "words are data")
    seen, code = home.on_terminal("todo", "box", "--add", "right \u202e left")
    tap.ok(code == 0 and b"\\u{202e}" in seen and "\u202e".encode() not in seen, "deceptive characters are shown as what they are", seen)


def test_refusals(home):
    home.call("create", "box")
    home.call("todo", "box", "--set", "keep")
    for words, code, say in ((("box", "--add", "x", "--done", "5"), 5, "no step 5"), (("box", "--done", "0"), 2, "--done"),
                             (("box", "--done", "x"), 2, "--done"), (("box", "--add", "a\nb"), 2, "one line"),
                             (("box", "--add", "a\x1b[2J"), 2, "one line"), (("box", "--add", "y" * 501), 2, "501"),
                             (("box", "--set"), 2, "--clear"), (("box", "stray"), 2, ""), ((), 2, ""),
                             (("nobody",), 5, "nobody"), (("../box",), 2, ""),
                             (("box", "--set", *["s"] * 101), 2, "100")):
        done = home.call("todo", *words)
        tap.ok(refused(done, code, say), f"{words[:4]} is refused", done)
        tap.equal(steps(home, "box"), [("keep", False)], "and nothing changed")
    tap.equal(len(steps(home, "box", "--set", *["s" * 500] * 100)), 100, "a hundred long ones are kept")
    with open(f"{home.path}/.local/share/aisbx/sbx/box/todo", "w") as file:
        file.write("nonsense")
    tap.ok(refused(home.call("todo", "box"), 2, "--clear"), "a damaged list is told, with the way out")
    tap.equal(steps(home, "box", "--set", "new"), [("new", False)], "which works")


def test_kept(home):
    home.call("create", "box")
    home.call("todo", "box", "--set", "one", "two", "--done", "1")
    home.call("exec", "box", "--", "sh", "-c", "echo x > f")
    home.call("snap", "box", "--name", "s1")
    home.call("todo", "box", "--add", "three")
    home.call("rollback", "box", "s1")
    want = [("one", True), ("two", False), ("three", False)]
    tap.equal(steps(home, "box"), want, "snap and rollback leave it alone")
    home.call("fork", "box", "twin")
    home.call("fork", "box@s1", "old")
    tap.equal([steps(home, "twin"), steps(home, "old")], [want, want], "a fork begins with a copy")
    tap.equal(steps(home, "twin", "--clear"), [], "of its own")
    tap.equal(steps(home, "box"), want, "which is not the other's")
    done = home.call("exec", "box", "--", "sh", "-c", f"cat {home.path}/.local/share/aisbx/sbx/box/todo; echo three >> {home.path}/.local/share/aisbx/sbx/box/todo")
    tap.ok("two" not in done.stdout and steps(home, "box") == want, "nobody inside reads or writes it", done)


def test_together(home):
    home.call("create", "box")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: home.call("todo", "box", "--add", str(i)), range(24)))
    tap.equal(sorted(int(text) for text, _ in steps(home, "box")), list(range(24)), "of those who write at once nobody loses")


def main():
    for test in (test_list, test_refusals, test_kept, test_together):
        with Home("aisbxtest-todo-") as home:
            tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
