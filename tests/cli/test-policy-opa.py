#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OPA as the oracle of policies: the same policies and inputs to both evaluators, the same decisions, or a refusal of ours.

The evaluator behind tests/opa is built by tools/fetch-opa; without it the suite is skipped, with the reason. Takes the program from
AISBX, the tree from AISBX_SOURCE; AISBX_SEED repeats a round. Speaks TAP. Runs as whoever starts it, in a home of its own.
"""

import json
import os
import subprocess
import sys

SOURCE = os.environ["AISBX_SOURCE"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "lib"))
from chance import chance  # noqa: E402
from clitest import AISBX, Home, Tap  # noqa: E402

tap = Tap()
FETCHED = SOURCE + "/fetched/opa"
ORACLE = FETCHED + "/opa-oracle"
EVALUATOR = os.path.dirname(AISBX) + "/aisbx-policy"
EXAMPLES = SOURCE + "/examples/policy"
ARGUMENTS = "package aisbx\nimport rego.v1\nx := input.mcp.arguments.x\ny := input.mcp.arguments.y\n"
NEVER = 'deny contains "never" if false\n'
DECISIONS = ("deny", "require_gate", "require_approvals", "require_driver", "limits")

# What arguments of a call can be: of every kind, and the edges of each. Not beyond 64 bits, where aisbx itself rounds (docs/policy.md).
VALUES = (None, True, False, 0, 1, -1, 2, 7, 3.5, -0.25, 1000, 1 << 53, (1 << 53) + 1, (1 << 63) - 1, "", "a", "b", "A", "ä", "日本",
          "a/b", "a.b.c", " a ", "1.2.3", "1.10.0-rc1", "12", "0x1f", "1e3", "x.corp.example:443", "evil.example:443", "10.1.2.3", "10.0.0.0/8",
          "fe80::1", "2026-01-02T03:04:05Z", "90m", "%d", "%%", "^a+$", "[", "*.example", "line\nline", "\t\"\\", [], ["a"], ["a", "b", "a"],
          ["b", "a"], [1, 2, 3], [3, 1, 2.5], [[1], [2]], ["a", 1, None], {}, {"k": "v"}, {"k": {"l": 1}}, {"a": 1, "b": 2})

# Each is one question to the engines: its value, that it has none, or that it is an error.
EXPRESSIONS = """
x == y|x != y|x < y|x >= y|x + y|x - y|x * y|x / y|x % y|-x|x == 1|x in y|x in {"a", "b"}|"k" in x|some k, v in x; k == v
[x, y]|{x, y}|{"k": x}|{x: y}|{x | x in ["a"]}|[i | some i in x]|{i | some i in x}|{k: v | some k, v in x}|x[0]|x.k|x.k.l|x[y]|x[_] == y
not x|not x == y|not x.k|every i in x { i != y }|every k, v in x { k != v }|count(x)|count({i | some i in x})|sum(x)|product(x)|max(x)|min(x)|sort(x)
abs(x)|ceil(x)|floor(x)|round(x)|numbers.range(count(x), 3)|to_number(x)|format_int(x, 16)|is_string(x)|is_number(x)|is_null(x)|is_array(x)|is_object(x)
is_set({x})|type_name(x)|all([x, y])|any([x, y])|array.concat(x, y)|array.reverse(x)|array.slice(x, 0, 2)|object.get(x, "k", "none")
object.get(x, ["k", "l"], y)|object.keys(x)|object.remove(x, ["k"])|object.union(x, y)|object.filter(x, ["k"])|{i | some i in x} & {i | some i in y}
{i | some i in x} \\| {i | some i in y}|{i | some i in x} - {i | some i in y}|union({{x}, {y}})|intersection({{x}, {y}})
concat(",", x)|concat(x, ["a", "b"])|contains(x, y)|startswith(x, y)|endswith(x, y)|indexof(x, "a")|lower(x)|upper(x)|replace(x, "a", y)
split(x, y)|split(x, ".")|split(x, "")|substring(x, 0, 2)|substring(x, 1, -1)|substring(x, -1, 1)|trim(x, "a")|trim_left(x, " ")|trim_right(x, y)
trim_prefix(x, "a")|trim_suffix(x, "b")|trim_space(x)|strings.reverse(x)|strings.any_prefix_match(x, y)|strings.any_suffix_match(x, ["b", "443"])
sprintf("%v", [x])|sprintf("%s", [x])|sprintf("%d", [x])|sprintf("%5d|%-5s|", [x, y])|sprintf("%x", [x])|sprintf("%v %v", [x, y])|sprintf("%s")
sprintf(x, [y])|regex.match("^a+$", x)|regex.match(x, "aa")|regex.is_valid(x)|regex.split("[./]", x)|regex.replace(x, "a", "b")|regex.find_n("[a-z]", x, -1)
glob.match("*.corp.example:443", [], x)|glob.match("*.example", ["."], x)|glob.match(x, ["."], "a.example")|glob.match("a/*", ["/"], x)
net.cidr_contains("10.0.0.0/8", x)|net.cidr_contains(x, "10.1.2.3")|semver.is_valid(x)|semver.compare(x, "1.2.3")|semver.compare(x, y)
time.parse_rfc3339_ns(x)|time.clock(x)|time.weekday(x)|time.date([x, "UTC"])|time.parse_duration_ns(x)|json.marshal(x)|json.unmarshal(x)|json.is_valid(x)
walk(x, [p, v]); v == y|to_number(x) + 1|count(x) > count(y)|x == "a"; y == "b"|bits.and(x, y)|cast_array(x)|http.send({})
opa.runtime()|net.lookup_ip_addr(x)|crypto.sha256(x)|base64.encode(x)|no_such_function(x)|set()|{}|null == x|input.mcp.arguments.z|data.aisbx.x == x
"""

# Whose values differ, which is in docs/policy.md where it is ours: words for a verb of sprintf that does not fit, or for %d below zero, and a member that has no
# value, of which `in` says false. OPA's ceil and floor are one too high below zero. In all of them decisions are still compared.
OTHERWISE = ('sprintf("%s", [x])', "sprintf(x, [y])", 'sprintf("%d", [x])', 'sprintf("%x", [x])', "sprintf(\"%5d|%-5s|\", [x, y])", "format_int(x, 16)", "ceil(x)", "floor(x)",
             "x in y", 'x in {"a", "b"}', '"k" in x')

# Rules of forms that an expression cannot have.
RULES = {
    "a default": "default v := 0\nv := x if x\n",
    "else": 'v := "x" if { x == 1 } else := "y" if { y == 1 } else := "none"\n',
    "two values of one rule": "v := x if x\nv := y if y\n",
    "a function of two heads": 'f(1) := "one"\nf(n) := "string" if is_string(n)\nv := f(x)\n',
    "a function with two results": "f(n) := 1 if n\nf(n) := 2 if is_string(n)\nv := f(x)\n",
    "a partial object": "v[k] := w if some k, w in x\nv.more := y\n",
    "a partial object in conflict": "v.k := x\nv.k := y\n",
    "with": "w if input.mcp.tool == x\nv if w with input.mcp.tool as y\nu if not w with input as {}\n",
    "a rule below": "v.a.b := x\nv.a.c := y\n",
    "negation of what has no value": "w if x.k.l\nv if not w\n",
    "recursion": "v if w\nw if v\n",
    "an unsafe variable": "v if { z == x; not z == y }\n",
    "a set of sets": "v contains {x, y}\nv contains set()\n",
    "a denial": 'deny contains sprintf("%v", [x]) if x\nrequire_approvals := 2 if y\nlimits := {"mem": x} if y\n',
    "a denial that is none": "deny := x\n",
    "a demand": 'require_gate contains "tests" if x == y\nrequire_driver contains x if is_string(x)\n',
    "denials by what is not there": 'deny contains "no x" if not x\ndeny contains "no y" if not y.k\n',
    "a comprehension with a rule in it": "w contains i if some i in x\nv := {i: j | some i in w; some j in y; i != j}\n",
    "many": "v := [p | some p in x; some q in y; p == q]\nu := count(v) if count(v) > 0\n",
}


class Engine:
    """One evaluator; started anew where it ended, as for a question that killed it."""

    def __init__(self, *words):
        self.words, self.process = words, None

    def ask(self, question):
        for fresh in (False, True):
            if fresh or not self.process:
                self.end()
                self.process = subprocess.Popen(self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={})
            try:
                self.process.stdin.write(json.dumps(question).encode() + b"\n")
                self.process.stdin.flush()
            except BrokenPipeError:
                continue
            line = self.process.stdout.readline()
            if line:
                return json.loads(line)
        return {"error": "ended"}

    def ask_patiently(self, question):
        """No question here takes long; where the machine is busy, the limit of 200 ms may be met all the same."""
        for _ in range(50):
            answer = self.ask(question)
            if "time limit" not in answer.get("error", ""):
                break
        return answer

    def end(self):
        if self.process:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
            self.process.stdout.close()
            self.process.wait()


ours, opa = Engine(EVALUATOR), Engine(ORACLE)


def modules(text):
    return [{"name": "user", "modules": [{"path": "p.rego", "text": text}]}]


def rules_of(answer):
    """The rules, or None for an answer that denies whatever it says: an error, or no rule at all."""
    return None if "error" in answer else answer["sets"][0]["rules"]


def exact(value):
    """Truths as themselves, which Python takes for numbers, and fractions to twelve digits: OPA has more than a double has."""
    if isinstance(value, bool):
        return ("truth", value)
    if isinstance(value, float) or isinstance(value, int) and abs(value) > 1 << 53:
        return float(f"{value:.12g}")
    if isinstance(value, list):
        return [exact(one) for one in value]
    if isinstance(value, dict):
        return {key: exact(one) for key, one in value.items()}
    return value


def decided(rules):
    """What is decided, whatever words it has."""
    return rules and {**{name: rules.get(name) for name in DECISIONS}, "deny": "deny" in rules and bool(rules["deny"])}


class Tally:
    """What came of a round: every difference by what it means."""

    def __init__(self):
        self.asked, self.refused, self.wrong = 0, {}, []

    def add(self, what, asked, mine, theirs, has_words=True):
        got, want = rules_of(mine), rules_of(theirs)
        self.asked += 1
        if not has_words or what in OTHERWISE:
            got, want = decided(got), decided(want)
        if got is None and want is not None:
            # Safe, and worth knowing.
            self.refused.setdefault(what, mine["error"])
        elif exact(got) != exact(want):
            self.wrong.append((what, asked, got, theirs))

    def tell(self, what):
        for example in self.wrong[:5]:
            print("#", *(json.dumps(part)[:400] for part in example))
        tap.ok(not self.wrong and self.asked, f"{what}: {self.asked} answers are OPA's, or refusals")
        for text, why in self.refused.items():
            print(f"# refused here, not by OPA: {text!r}: {why!r}")


def compare(tally, what, text, inputs):
    for number, one in enumerate(inputs):
        # Compiling is most of it, and done once.
        whole = {"mode": "decide", "sets": modules(text), "input": one}
        short = {key: value for key, value in whole.items() if key != "sets" or number == 0}
        tally.add(what, one, ours.ask_patiently(whole), opa.ask(short))


def some_arguments(dice, count):
    """Inputs for rules about the arguments of a call, some of which are missing."""
    for _ in range(count):
        arguments = {name: dice.choice(VALUES) for name in ("x", "y") if dice.random() < 0.9}
        yield {"action": "mcp", "kind": "mcp", "mcp": {"tool": dice.choice(("guard", "a", 1)), "arguments": arguments}}


def some_questions(dice, count):
    """Inputs as commands make them; every fifth has a field that is missing, or of another kind."""
    hosts = ("x.corp.example:443", "packages.example:443", "evil.example:443", "evilcorp.example:443", "10.0.0.1:22")
    words = ("/usr/bin/python3", "python3", "sh", "make", "-c", "a.py", "run")
    paths = ("src/a.c", ".git/hooks/pre-commit", "bin/tool", "/etc/passwd", "/home/me/.ssh/id")
    for _ in range(count):
        kind, action = dice.choice((("start", "run"), ("start", "create"), ("promote", "promote"), ("promote", "stage"), ("mcp", "mcp"),
                                    ("allow", "allow"), ("job", "job")))
        asked = {"action": action, "kind": kind, "agent": dice.choice(("", "claude")), "user": {"uid": dice.choice((0, 1000)), "name": "me"},
                 "time": {"utc": "2026-01-02T03:04:05Z", "hour": dice.randrange(24), "minute": dice.randrange(60), "weekday": "monday"}}
        if kind in ("start", "allow"):
            asked["spec"] = {"allow": dice.sample(hosts, dice.randrange(4)), "command": dice.sample(words, dice.randrange(1, 4)),
                             "signed_only": dice.random() < 0.5, "driver": dice.choice(("linux", "wasm")),
                             "binds": [{"from": path, "to": path, "writable": dice.random() < 0.5} for path in dice.sample(paths, dice.randrange(3))]}
        elif kind == "promote":
            asked.update(change={"files": dice.choice((0, 1, 199, 200, 201, 100000)), "paths": dice.sample(paths, dice.randrange(4)),
                                 "target": dice.choice(("/home/me/project", "/srv/production/shop", "")), "git": dice.random() < 0.2,
                                 "consent": [{"path": path, "why": dice.choice(("hook", "set-uid", "executable"))} for path in dice.sample(paths, dice.randrange(3))]},
                         approvals=[{"uid": uid, "user": str(uid)} for uid in range(dice.randrange(3))], gates=[], stage="")
        elif kind == "mcp":
            asked["mcp"] = {"tool": dice.choice(("sandbox_run", "sandbox_remove", "net_allow")), "arguments": {}}
        is_spoilt = dice.random() < 0.2
        if is_spoilt:
            part = dice.choice([one for one in [asked, *asked.values()] if isinstance(one, dict) and one])
            field = dice.choice(list(part))
            part[field] = dice.choice(VALUES)
            if dice.random() < 0.5:
                del part[field]
        yield is_spoilt, asked


def example_files():
    for name in sorted(os.listdir(EXAMPLES)):
        with open(f"{EXAMPLES}/{name}", encoding="utf-8") as file:
            yield {"path": name, "text": file.read()}


def test_examples(dice):
    """The example policies, all of them and each alone."""
    good, spoilt = Tally(), Tally()
    files = [one for one in example_files() if not one["path"].endswith("_test.rego")]
    for some, count in ((files, 300), *(([one], 30) for one in files)):
        for is_spoilt, asked in some_questions(dice, count):
            whole = {"mode": "decide", "sets": [{"name": "user", "modules": some}], "input": asked}
            (spoilt if is_spoilt else good).add(some[0]["path"], asked, ours.ask_patiently(whole), opa.ask(whole), not is_spoilt)
    tap.equal(good.refused, {}, "no example is refused where OPA answers")
    good.tell("examples")
    spoilt.tell("examples and fields of another kind")


def outcomes(engine, more):
    """{test: passed} of the examples' tests, with MORE in one of the examples."""
    files = [{**one, "text": one["text"] + more * (one["path"] == "network.rego")} for one in example_files()]
    answer = engine.ask_patiently({"mode": "test", "sets": [{"name": "user", "modules": files}], "input": {}})
    return {row["test"]: row["passed"] for row in answer["sets"][0]["tests"]}


def test_tests():
    """The tests of the examples, as they are and with a rule that breaks some."""
    for what, more in (("as they are", ""), ("with a rule too many", 'deny contains "more"\n')):
        mine, theirs = outcomes(ours, more), outcomes(opa, more)
        tap.ok(len(mine) >= 15 and mine == theirs and all(mine.values()) == (not more), f"the examples' own tests {what}", (mine, theirs))
    # Whatever a test looks at, all of the package is evaluated here.
    mine, theirs = (outcomes(engine, "deny contains to_number(input.agent)\n") for engine in (ours, opa))
    tap.ok(mine.keys() == theirs.keys() and not any(mine[test] and not theirs[test] for test in mine), "none passes here alone", (mine, theirs))


def test_expressions(dice):
    tally = Tally()
    for line in EXPRESSIONS.strip().splitlines():
        for text in line.replace("\\|", "\0").split("|"):
            text = text.replace("\0", "|")
            rule = f"v if {{ {text} }}\n" if ";" in text or text.startswith(("every", "not")) else f"v := {text}\n"
            compare(tally, text, ARGUMENTS + NEVER + rule, some_arguments(dice, 12))
    tally.tell("expressions")


def test_rules(dice):
    tally = Tally()
    for what, text in RULES.items():
        compare(tally, what, ARGUMENTS + ("" if text.startswith("deny :=") else NEVER) + text, some_arguments(dice, 25))
    tally.tell("rules")


def decision(answer):
    """What a command makes of rules: 4 to refuse it, or 0."""
    deny = (rules_of(answer) or {}).get("deny")
    return 0 if deny == [] else 4


def test_whole(home, dice):
    """The same decisions by `policy eval`, which is what every command asks, as OPA's rules mean."""
    place, differ, count = home.path + "/policies", [], {0: 0, 4: 0}
    os.mkdir(place)
    for _ in range(60):
        what = dice.choice(list(RULES))
        text = ARGUMENTS + ("" if what == "a denial that is none" else NEVER) + RULES[what]
        with open(place + "/p.rego", "w", encoding="utf-8") as file:
            file.write(text)
        asked = next(some_arguments(dice, 1))
        want = decision(opa.ask({"mode": "decide", "sets": modules(text), "input": asked}))
        done = home.call("policy", "eval", "--dir", place, "-", stdin=json.dumps(asked))
        count[want] += 1
        if done.returncode != want and not (want == 0 and done.returncode == 4 and "p.rego:" in done.stdout + done.stderr):
            differ.append((what, asked, want, done.returncode, done.stdout, done.stderr))
    tap.ok(not differ and all(count.values()), f"{count[0]} are allowed and {count[4]} denied by both", differ[:3])


def main():
    if not os.access(EVALUATOR, os.X_OK):
        tap.skip("policies", "aisbx-policy is not built: it needs cargo and rustc 1.85")
        return tap.done()
    if not os.access(ORACLE, os.X_OK):
        with open(FETCHED + "/why-not", encoding="utf-8") if os.path.exists(FETCHED + "/why-not") else open(os.devnull, encoding="utf-8") as file:
            tap.skip("OPA", file.read().strip() or "tools/fetch-opa has not built its evaluator")
        return tap.done()
    dice = chance("policy-opa")
    test_examples(dice)
    test_tests()
    test_expressions(dice)
    test_rules(dice)
    with Home("policy-") as home:
        test_whole(home, dice)
    ours.end()
    opa.end()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
