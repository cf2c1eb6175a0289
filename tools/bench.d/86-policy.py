# SPDX-License-Identifier: Apache-2.0
"""Policies: a question about 200 rules to the evaluator, one that is kept and one that is started for it."""

import json
import socket
import subprocess
import time

from measure import Budget, percentile, table

TITLE = "Asking policies"

RULES = 200
SHAPES = (
    '''deny contains msg if {{
  input.action == "run"
  some a in input.spec.allow
  not endswith(a, ".corp{i}.example:443")
  startswith(a, "evil{i}")
  msg := sprintf("outside {i}: %s", [a])
}}''',
    'deny contains "night {i}" if {{ input.kind == "promote"; input.time.hour < 6; count(input.approvals) < 2 }}',
    'deny contains sprintf("big {i}: %d", [input.change.files]) if {{ input.kind == "promote"; input.change.files > 1{i} }}',
    'deny contains sprintf("tool {i}: %s", [input.mcp.tool]) if {{ input.kind == "mcp"; input.mcp.tool == "tool{i}" }}',
)
INPUT = {"action": "run", "kind": "start", "agent": "", "spec": {"allow": ["a.corp1.example:443", "b.example:443"], "command": ["make"]},
         "user": {"uid": 0, "name": "root"}, "time": {"hour": 3, "minute": 1, "weekday": "monday"}}
HEAP = {"MIMALLOC_ARENA_RESERVE": "32MiB", "MIMALLOC_ALLOW_THP": "0"}


def question(number, policy=None):
    sets = {"sets": [{"name": "user", "modules": [{"path": "p.rego", "text": policy}]}]} if policy else {}
    return json.dumps({"mode": "decide", "digest": "d", **sets, "input": {**INPUT, "n": number}}).encode() + b"\n"


def ask(door, text):
    near, far = socket.socketpair()
    with near:
        socket.send_fds(door, [b"\0"], [far.fileno()])
        far.close()
        near.sendall(text)
        with near.makefile("rb") as answer:
            return answer.readline()


def start(program, *words, **streams):
    return subprocess.Popen([program, *words], env=HEAP, **streams)


class Kept:
    """One that is kept, and replaced when it has had enough."""

    def __init__(self, program, policy):
        self.program, self.policy, self.process, self.door = program, policy, None, None

    def ask(self, number):
        try:
            line = ask(self.door, question(number)) if self.door else b""
        except OSError:
            line = b""
        if b'"sets"' in line:
            return
        self.end()
        self.door, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process = start(self.program, "keep", stdin=its, stdout=subprocess.DEVNULL)
        its.close()
        assert b'"sets"' in ask(self.door, question(number, self.policy))

    def end(self):
        if self.process:
            self.door.close()
            self.process.wait()


def run(bench):
    program = str(bench.program) + "-policy"
    policy = "package aisbx\nimport rego.v1\n" + "\n".join(SHAPES[i % len(SHAPES)].format(i=i) for i in range(RULES)) + "\n"
    kept = Kept(program, policy)

    def new(number):
        answer = subprocess.run([program], input=question(number, policy), stdout=subprocess.PIPE, check=False, env=HEAP).stdout
        assert b'"sets"' in answer
    ways = {"`/bin/true`, started": lambda _: subprocess.run(["/bin/true"], check=False),
            "started for the question": new, "kept": kept.ask}
    times = {way: [] for way in ways}
    for number in range(bench.rounds):
        for way, once in ways.items():
            begin = time.perf_counter()
            once(number)
            times[way].append((time.perf_counter() - begin) * 1000)
    kept.end()
    rows = []
    for way, found in times.items():
        found.sort()
        rows.append([way, f"{found[0]:.2f}", f"{percentile(found, 0.5):.2f}", f"{percentile(found, 0.95):.2f}"])
    bench.budgets.append(Budget(f"question about {RULES} rules, kept evaluator", 2, percentile(times["kept"], 0.5), "ms"))
    return "\n".join([f"One question about {RULES} rules ({len(policy) // 1024} KiB), in turn. The time of one that is started has its start, the parsing of"
                      " the policies and its end; the kept one is replaced each time it used a second of the processor.", "",
                      table(["evaluator", "best ms", "p50 ms", "p95 ms"], rows)])
