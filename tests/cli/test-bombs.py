#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Texts that cost a parser more than they weigh: nested deeply, in long lines, with many siblings, in every language that is
scanned and in every format that is read from files or from others.

The texts are generated from tables of openings, units and lines, so that a new row makes its siblings in every form. Each is
read with a limit on memory and on processor time that the kernel keeps: what needs more dies, and a death is no clear answer.
Elapsed time is not looked at. AISBX_SEED brings random texts back; AISBX_LONG=1 makes more of them, and larger
ones; without it every third is read.

Takes the program from AISBX. Speaks TAP.
"""
import itertools
import json
import os
import resource
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from box import slow
from chance import chance
from clitest import AISBX, Home, Tap

tap = Tap()
LONG = os.environ.get("AISBX_LONG") == "1"
EVERY = 1 if LONG else 3
# Of one process; the scanner has two. A sanitizer's own memory is beyond every limit.
DATA_BYTES, CPU_SECONDS = 256 << 20, 20
# The size at which a gigabyte was needed once, and the most that is scanned.
SMALL, LARGE = 63 << 10, (1 << 20) - 4096

# What opens something: an opening that stays open, and one with its end. Each begins where the one before is open.
NESTED = {
    "py": [("(", ")"), ("[", "]"), ("{", "}"), ("f(", ")"), ("lambda:", ""), ("not ", ""), ("-", ""), ("await ", ""), ("x if x else ", ""),
           ("(yield ", ")"), ("a[", "]"), ("{1:", "}"), ("[x for x in ", "]"), ("f'{", "}'"), ("f\"{", "}\""), ("*", ""), ("a.b(", ")"),
           ("(a:=", ")"), ("if a:", ""), ("a = ", ""), ("@", ""), ("import a as ", ""), ("del (", ")"), ("async ", ""), ("match a:\n case ", "")],
    "js": [("(", ")"), ("[", "]"), ("{", "}"), ("f(", ")"), ("()=>", ""), ("(function(){", "})"), ("`${", "}`"), ("!", ""), ("new ", ""), ("a?", ":b"),
           ("a?b:", ""), ("a=", ""), ("[...", "]"), ("class A{static{", "}}"), ("class A extends ", ""), ("if(a)", ""), ("if(a){}else ", ""), ("for(;;)", ""),
           ("do ", ""), ("try{", "}finally{}"), ("switch(a){case ", ":}"), ("a:", ""), ("async()=>", ""), ("a?.", ""), ("typeof ", ""), ("await ", ""),
           ("yield ", ""), ("({a:", "})"), ("import(", ")"), ("<a>", "</a>"), ("function f(a=", "){}"), ("let{a:", "}=b"), ("/(", ")/"), ("with(a)", "")],
    "sh": [("(", ")"), ("{ ", "; }"), ("$(", ")"), ("$((", "))"), ("${a:-", "}"), ("\"$(", ")\""), ("if ", ""), ("while ", ""), ("until ", ""),
           ("case x in ", " esac"), ("for a in b; do ", "; done"), ("f() { ", "; }"), ("[[ ( ", " ) ]]"), ("! ", ""), ("time ", ""), ("<(", ")"), ("cat <<A\n", "\nA\n"),
           ("a=(", ")"), ("coproc ", ""), ("eval '", "'"), ("a && ", ""), ("`", "`"), ("((", "))"), ("${a[", "]}"), ("sh -c \"", "\""), ("if a; then ", "; fi")],
}
# What stands beside its like: statements, parts of one expression, lines.
REPEATED = {
    "py": ["x\n", "x;", "a,", "1+", "a.", "a.b", "a[0]", "a()", "a|", "x = 1\n", "'s' ", "# c\n", "\\\n", "\n", "\t", "a = b = ", "f(x)\n", "import a\n", "from a import *\n",
           "def f(): pass\n", "class A: pass\n", "if x: pass\n", "try: pass\nexcept: pass\n", "'''", "f''", "@a\n", "a and ", "a < ", "x: int\n", "global a\n", "a if b else ",
           "for x in y:\n", "x = x + x\n", "x = [x, x]\n", "eval(", "os.system(x)\n", "else:\n", "\x0c", "    ", "del a\n", "**", "...", "->", "lambda a: a, "],
    "js": ["x;", "a,", "1+", "a.", "a.b", "a[0]", "a()", "a||", "x=1\n", "'s' ", "//c\n", "/*c*/", "\n", ";", "a=b=", "f(x)\n", "import a from 'a'\n", "function f(){}\n",
           "class A{}\n", "if(x);", "else ", "``", "a=>a,", "let a;", "var a=1;", "case a:", "a?b:c,", "<a/>", "a**", "a??", "x=x+x;", "x=[x,x];", "eval(", "require('fs');", "}", ")", "]",
           "export * from 'a'\n", "get a(){},", "#a;", "label: ", "async ", "/a/", "\\u0061", "${", "...a,"],
    "sh": ["x\n", "x;", "a ", "a|", "a&&", "a||", "x=1\n", "x=1 ", "'s'", "# c\n", "\\\n", "\n", "\t", "$a", "${a}", "$((1))", "$(a)\n", ">a ", "<a ", "<<<a ", "a &\n", "[ a ]\n", "export a\n",
           "f() { a; }\n", "if a; then b; fi\n", "for a in b; do c; done\n", "case a in b) ;; esac\n", "a) ;;\n", "{a,b}", "{1..9}", "~", "*", "?", "[a]", "!", "\"\"", "\"$a\"", "eval a\n", "a=$a$a\n", "set -- $@ $@\n",
           "alias a=b\n", "trap a 1\n", "read a\n", "unset a\n", "2>&1 ", "}", ")", ";;", "fi\n", "done\n", "esac\n", "cat <<E\nx\nE\n", "\"", "$'\\x41'"],
}
# One line, or one word, of any length.
LINES = {
    "py": ["{}", "'{}'", "'''{}'''", "#{}", "x = {}", "import {}", "f'{}'", "b'{}'", "r'{}'", "'{}", "def {}(): pass"],
    "js": ["{}", "'{}'", "`{}`", "//{}", "/*{}*/", "/{}/", "/*{}", "`{}", "'{}", "x={}", "import '{}'", "#!{}", "/[{}"],
    "sh": ["{}", "'{}'", "\"{}\"", "#{}", "x={}", "echo {}", "'{}", "\"{}", "${{{}}}", "$'{}'", "{}() {{ a; }}", "cat <<'{}'\n", "${{a#{}}}", "[[ a =~ {} ]]", "echo {} | sed s/a/{}/g"],
}
FILLERS = ["a", "0", " ", "\\", "\\x41", "\u00e9", "\U0001f600", "/", "{", "$a", "\\\n", "a/", "*", "%s"]


def fill(unit, size):
    return unit * (size // len(unit.encode()))


def in_steps(unit, size):
    """Blocks of a language whose blocks are lines that begin further right each time: the text grows with the square."""
    lines, level, used = [], 0, 0
    while used < size:
        lines.append(" " * level + unit)
        used += len(lines[-1]) + 1
        level += 1
    return "\n".join(lines) + "\n"


def sources(kind, size, random):
    """(name, text) of every form of bomb in a language."""
    for number, (front, back) in enumerate(NESTED[kind]):
        yield f"nested {front!r}", fill(front, size)
        if back:
            count = size // len((front + back).encode())
            yield f"nested whole {front!r}", front * count + "a" + back * count
            yield f"side by side {front!r}", fill(front + "a" + back + "\n", size)
        other = NESTED[kind][(number + 7) % len(NESTED[kind])]
        yield f"nested in turns {front!r} {other[0]!r}", fill(front + other[0], size)
    if kind == "py":
        for unit in ("if a:", "for a in b:", "def f():", "class A:", "try:", "with a:", "while a:", "else:", "match a:", "case a:"):
            yield f"in steps {unit!r}", in_steps(unit, size)
    for unit in REPEATED[kind]:
        yield f"repeated {unit!r}", fill(unit, size)
    for form in LINES[kind]:
        yield f"long {form!r}", form.replace("{}", fill(random.choice(FILLERS), size)).replace("{{", "{").replace("}}", "}")
    tokens = [front for pair in NESTED[kind] for front in pair if front] + REPEATED[kind]
    for number in range(40 if LONG else 6):
        few = random.sample(tokens, random.randint(2, 5)) if number % 2 else tokens
        text = "".join(random.choice(few) for _ in range(size // 2))
        yield f"random {number}", text.encode()[:size].decode(errors="ignore")


def limited():
    """In the child: what the kernel keeps it to."""
    if not slow():
        resource.setrlimit(resource.RLIMIT_DATA, (DATA_BYTES, DATA_BYTES))
    seconds = CPU_SECONDS * (10 if slow() else 1)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def call(home, *words, stdin=None):
    source = {"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}
    return subprocess.run([AISBX, *words], cwd=home.work, env=home.env, capture_output=True, check=False, preexec_fn=limited, **source)


def is_clear(done):
    """One line that begins as all of ours do, and an exit code that a caller can tell from a breakdown."""
    said = done.stderr.decode(errors="replace")
    return 0 < done.returncode < 128 and done.returncode != 70 and said.startswith("aisbx: ") and len(said) < 4000 and "memory" not in said


def is_scanned(done):
    """A whole report: what could not be read to its end is said to be so, and then its risk is high."""
    try:
        found = json.loads(done.stdout)
    except ValueError:
        return False
    if done.returncode not in (0, 1) or "risk" not in found:
        return False
    return found["analysable"] or (found["risk"] in ("high", "critical") and
                                   any(one["rule"].endswith("not-analysable") and one["message"] for one in found["findings"]))


def test_sources(home, kind):
    random = chance(f"bombs.{kind}")
    wrong, count = [], 0
    for size in (SMALL, LARGE) if LONG else (SMALL,):
        for name, text in itertools.islice(sources(kind, size, random), 0, None, EVERY):
            count += 1
            home.put("bomb." + kind, text)
            done = call(home, "scan", "--json", "bomb." + kind)
            if not is_scanned(done):
                wrong.append((name, size, done.returncode, done.stdout[:200], done.stderr[:200]))
    tap.ok(not wrong and count > 100 // EVERY, f"{kind}: {count} texts end within the limits, each with a whole report", "\n".join(map(str, wrong[:10])))


# Of data: brackets of every kind, keys and values, lines, and what only one format knows.
DATA = ["[", "{", "[[", "{\"a\":", "[{\"a\":", "- ", "? ", "a: ", "a: [", "a: {b: ", "&a [", "*a ", "!!a ", "!a ", "%TAG ! !\n", "---\n", "# c\n", "\n", " ", "\t", "\"", "'", "\"\\u0041", "\\", ",", ":",
        "0", "1e", "-", "1.", "a", "a\n", "a: b\n", "- a\n", "a: |\n  b\n", "a: >\n  b\n", "\"a\":1,", "null,", "\u00e9", "\ufeff", "\x85", "[section]\n", "[a \"b\"]\n", "key = value\n", "\tkey\n", "include = x\n",
        "--- a\n+++ b\n", "@@ -1 +1 @@\n", "*", "**/", "!a\n", "[a-", "(", "((a*)*)", "(a|a)*", "a{9}", "a?", "<<: *a\n", "&a a: *a\n", "]", "}", "]]", "}}"]
LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}, *a{i - 1}]\n" for i in range(1, 200))


def data_texts(size, random):
    for unit in DATA:
        yield f"repeated {unit!r}", fill(unit, size)
        yield f"in a list {unit!r}", "[" + fill(unit + ",", size) + "]"
    yield "many keys as JSON", "{" + ",".join(f'"k{i}":1' for i in range(size // 12)) + "}"
    yield "many keys as YAML", "".join(f"k{i}: 1\n" for i in range(size // 10))
    yield "in steps", in_steps("a:", size)
    yield "laughs", LAUGHS
    yield "a long word", fill("a", size)
    yield "a long string", '"' + fill("a", size) + '"'
    for number in range(40 if LONG else 4):
        few = random.sample(DATA, random.randint(2, 6))
        yield f"random {number}", "".join(random.choice(few) for _ in range(size // 2)).encode()[:size].decode(errors="ignore")


def read_as_file(*words):
    """A verb that reads a file called bomb."""
    return lambda home, text: (home.put("bomb", text), call(home, *words))[1]


def read_as_input(*words):
    return lambda home, text: call(home, *words, stdin=text.encode())


def read_as_git(path):
    """A file that git reads, and so do we: what came of a sandbox is compared with it there."""
    def read(home, text):
        home.put(path, text)
        return call(home, "diff", "box")
    return read


# Where bytes of others come in: each with what may come of them beside a clear refusal.
READERS = {
    "a profile": (read_as_file("profile", "check", "bomb"), (0,)),
    "a policy": (read_as_file("scan", "--policy", "bomb", "small.py"), (0,)),
    "a race": (read_as_file("race", "-f", "bomb"), ()),
    "a pipeline": (read_as_file("stage", "run", "box", "-f", "bomb"), ()),
    "a system call filter": (read_as_file("plan", "--seccomp", "bomb", "--", "true"), (0,)),
    "a batch": (read_as_file("run", "--batch=bomb", "--jobs=1"), (0, 1)),
    "a task": (read_as_input("task"), ()),
    "an agent's hook": (read_as_input("hook", "claude-code"), (0,)),
    "an agent's session": (read_as_input("mcp"), (0,)),
    "names that git ignores": (read_as_git(".gitignore"), (0,)),
    "git's configuration": (read_as_git(".git/config"), (0,)),
    "git's packed references": (read_as_git(".git/packed-refs"), (0,)),
}


def test_reader(home, name):
    read, good = READERS[name]
    random = chance(f"bombs.{name}")
    wrong, count = [], 0
    for size in (SMALL, LARGE) if LONG else (SMALL,):
        for what, text in itertools.islice(data_texts(size, random), 0, None, EVERY):
            count += 1
            done = read(home, text)
            if done.returncode not in good and not is_clear(done):
                wrong.append((what, size, done.returncode, done.stdout[:200], done.stderr[:300]))
    tap.ok(not wrong and count > 100 // EVERY, f"{name}: {count} texts end within the limits, each read or refused in a clear line", "\n".join(map(str, wrong[:10])))


def main():
    only = os.environ.get("AISBX_CASES", "").split(",")
    with Home("aisbx-bombs.") as home:
        if not home.can_run(tap, "bombs"):
            return tap.done()
        home.put("small.py", "x = 1\n")
        subprocess.run(["git", "init", "-q"], cwd=home.work, env=home.env, check=True)
        home.call("create", "box")
        home.call("exec", "box", "--", "sh", "-c", "echo a > made; mkdir d; echo b > d/made")
        for kind in NESTED:
            if only == [""] or kind in only:
                tap.attempt(test_sources, home, kind)
        for name in READERS:
            if only == [""] or name in only:
                tap.attempt(test_reader, home, name)
        # What was left of the last text would be git's.
        subprocess.run(["rm", "-rf", home.work + "/.git"], check=True)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
