# SPDX-License-Identifier: Apache-2.0
"""The scanner: 1,000 lines of each language, and what the worst text takes of memory."""

import re
import subprocess

from measure import ROOT, Budget, percentile, table

TITLE = "Scanning 1,000 lines"

ENDINGS = {"python": "py", "javascript": "js", "shell": "sh"}
LOTS = ("sixth", "seventh", "fourth", "fifth", ".")
LINES = 1000
# What a parser may be made to hold: many parts, deep ones, long ones.
WORST = {"parts.js": "[1,2,3,4,5,6,7,8,9],\n" * 20000, "deep.js": "[" * 20000, "names.py": "a = b.c(d)\n" * 60000,
         "words.sh": "a b c d e f g\n" * 60000}


def thousand(language):
    """1,000 lines of the harmless programs that the scanner is tried with; modules of JavaScript left out, they cannot be mixed."""
    lines = []
    for lot in LOTS:
        text = (ROOT / "tests/scan/corpus" / lot / f"harmless.{language}").read_text()
        for program in re.split(r"^%% .*\n", text, flags=re.M)[1:]:
            if language != "javascript" or not re.search(r"\bimport\b|\bexport\b|#!", program):
                lines += program.rstrip("\n").split("\n")
    while len(lines) < LINES:
        lines += lines
    return "\n".join(lines[:LINES]) + "\n"


def resident(bench, caller, name):
    """MiB, at most, of the program or its parser, whichever took more."""
    code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL); "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    done = bench.call(caller, ["python3", "-c", code, bench.program, "scan", name], stdout=subprocess.PIPE, text=True)
    return int(done.stdout) / 1024


def run(bench):
    words = ["A command each, p50, started in turn; *net* is without what the same command takes for an empty text. The texts are the"
             " harmless programs of the scanner's own tests, one behind the other.", ""]
    for caller in bench.callers:
        (caller.work / "empty.py").write_text("")
        commands = {"empty": [bench.program, "scan", "empty.py"]}
        for language, ending in ENDINGS.items():
            (caller.work / f"big.{ending}").write_text(thousand(language))
            commands[language] = [bench.program, "scan", "--fail-on", "critical", f"big.{ending}"]
        found = bench.interleave(caller, commands, bench.rounds)
        p50 = {name: percentile(times, 0.5) for name, (_, times) in found.items()}
        size = {language: (caller.work / f"big.{ending}").stat().st_size for language, ending in ENDINGS.items()}
        rows = [[name, str(size.get(name, 0) // 1024), f"{p50[name]:.1f}", f"{percentile(found[name][1], 0.95):.1f}",
                 f"{p50[name] - p50['empty']:.1f}"] for name in commands]
        most = 0
        for name, text in WORST.items():
            (caller.work / name).write_text(text)
            most = max(most, resident(bench, caller, name))
        title = f"As {'a ' if ' ' in caller.name else ''}{caller.name}"
        words += [f"### {title}", "", table(["text", "KiB", "p50 ms", "p95 ms", "net ms"], rows), ""]
        bench.budgets += [Budget(f"scan of 1,000 lines of {language}, net of start, {caller.name}", 10,
                                 p50[language] - p50["empty"], "ms") for language in ENDINGS]
        bench.budgets.append(Budget(f"scan of the worst texts, resident, {caller.name}", 64, most, "MiB"))
    return "\n".join(words)
