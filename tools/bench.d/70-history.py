# SPDX-License-Identifier: Apache-2.0
"""The record of what ran: folding it, asking it when it is large; and races of many attempts."""

import json
import os
import sqlite3
import struct
import subprocess
import time
from statistics import median

from measure import Budget, table

TITLE = "History and races"
FOLDED = 100_000
ROWS = 1_000_000
ATTEMPTS = 100
MARK = b"\xffaisbx\xfe\n"
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def crc_table():
    rows = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        rows.append(byte)
    return rows


CRC = crc_table()


def crc32c(data, crc=0):
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc = CRC[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


class Spool:
    """Writes records that differ in their id only: the checksum of what follows is shifted, not computed anew."""

    def __init__(self, kind, tail):
        self.kind, self.tail = kind, tail.encode()
        zero = bytes(len(self.tail))
        self.rest = crc32c(self.tail)
        # What a bit of the first part's checksum becomes when the tail's length follows it.
        base = crc32c(zero)
        self.shifted = [crc32c(zero, 1 << bit) ^ base for bit in range(32)]

    def record(self, run_id):
        head = b'{"run_id":"' + run_id.encode() + b'"'
        begin = struct.pack("<II", self.kind, len(head) + len(self.tail))
        crc, total = crc32c(begin + head), self.rest
        for bit in range(32):
            if crc >> bit & 1:
                total ^= self.shifted[bit]
        return MARK + begin + struct.pack("<I", total) + head + self.tail


def identifier(number):
    """Sorts as it counts."""
    text = ""
    for _ in range(26):
        text = ALPHABET[number % 32] + text
        number //= 32
    return text


def result_tail(status="success"):
    body = {"trace_id": None, "sandbox": "s-7f3a91", "command": ["pytest", "-q", "tests/test_parser.py"], "status": status,
            "exit_code": 0, "signal": None, "stdout_bytes": 120, "stderr_bytes": 0, "truncated": False,
            "started": "2026-11-15T00:00:00.000Z", "duration_ms": 41.2, "cpu_ms": 38.0, "peak_memory_bytes": 31457280,
            "isolation": "namespaces", "layers": ["user", "mount", "pid", "net"], "degraded": [], "limits_hit": [],
            "denials": [], "fuel_consumed": None, "changes": {"added": 1, "modified": 2, "deleted": 0},
            "driver": "linux", "start_ms": 3.1, "message": None, "warnings": [], "samples": [], "notes": []}
    return "," + json.dumps(body, separators=(",", ":"))[1:]


def timed(bench, caller, *words):
    began = time.monotonic()
    done = bench.call(caller, [bench.program, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    took = (time.monotonic() - began) * 1000
    if done.returncode:
        raise SystemExit(f"bench: aisbx {' '.join(words)}: {done.stdout.decode(errors='replace')}")
    return took


def count_runs(state):
    with sqlite3.connect(state / "history.db") as db:
        return db.execute("SELECT count(*) FROM runs").fetchone()[0]


def fold(bench, caller, state):
    """100,000 records, half of them starts."""
    timed(bench, caller, "history", "-n", "1")
    before = count_runs(state)
    start, end = Spool(1, result_tail("none")), Spool(2, result_tail())
    with open(state / "spool", "ab") as spool:
        for number in range(FOLDED // 2):
            run_id = identifier(number + 1)
            spool.write(start.record(run_id) + end.record(run_id))
    took = timed(bench, caller, "history", "-n", "1") / 1000
    if count_runs(state) != before + FOLDED // 2:
        raise SystemExit(f"bench: {count_runs(state) - before} runs were folded out of {FOLDED // 2}")
    return took


def fill(state):
    """A million runs, straight into the tables."""
    with sqlite3.connect(state / "history.db") as db:
        have = db.execute("SELECT count(*) FROM runs").fetchone()[0]
        db.executemany(
            "INSERT INTO runs(run_id,sandbox,command,driver,status,exit_code,started_ms,duration_ms,start_ms,denials)"
            " VALUES(?,?,?,'linux',?,0,?,41.2,3.1,0)",
            ((identifier(FOLDED + number), f"s-{number % 5000}", '["pytest","-q"]',
              "error" if number % 50 == 0 else "success", 1790000000000 + number) for number in range(ROWS - have)))


def questions(bench, caller):
    asked = {"newest 100": [], "of one sandbox": ["--sandbox", "s-42"], "failed ones": ["--status", "error"],
             "by a word of the command": ["--text", "pytest"], "by a word that is nowhere": ["--text", "nowhere"]}
    return {what: median(timed(bench, caller, "history", "--json", *words) for _ in range(5))
            for what, words in asked.items()}


def race(bench, caller):
    """A hundred trivial attempts against a hundred runs spread over the processors."""
    words = [word for number in range(ATTEMPTS) for word in ("-c", f"n{number}=true")]
    took = timed(bench, caller, "race", *words) / 1000
    began = time.monotonic()
    script = f"seq {ATTEMPTS} | xargs -P{os.cpu_count()} -I% '{bench.program}' run -- true"
    bench.call(caller, ["sh", "-c", script])
    return took, time.monotonic() - began


def run(bench):
    caller = bench.callers[0]
    state = caller.home / ".local/state/aisbx"
    took, runs = race(bench, caller)
    folded = fold(bench, caller, state)
    fill(state)
    asked = questions(bench, caller)
    bench.budgets += [
        Budget(f"race of {ATTEMPTS} attempts against as many runs", 1.5, took / runs, "x"),
        Budget(f"folding {FOLDED:,} records", 5, folded, "s"),
        Budget(f"history over {ROWS:,} runs", 100, max(value for what, value in asked.items() if "nowhere" not in what),
               "ms"),
    ]
    rows = [[what, f"{value:.1f} ms"] for what, value in asked.items()]
    return "\n\n".join([
        f"A race of {ATTEMPTS} attempts that do nothing: {took:.2f} s; as many runs over all processors: {runs:.2f} s.",
        f"Folding {FOLDED:,} records of the usual size into the database: {folded:.2f} s.",
        f"`history` over {ROWS:,} runs, the program's start included:",
        table(["question", "time"], rows)])
