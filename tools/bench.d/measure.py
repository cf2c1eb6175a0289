# SPDX-License-Identifier: Apache-2.0
"""What every section of the benchmark shares: callers, timing in turn, percentiles, tables, budgets."""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NOBODY = 65534


@dataclass
class Caller:
    """As whom commands are started."""

    name: str
    uid: int
    gid: int
    home: Path
    work: Path

    def env(self):
        kept = {key: os.environ[key] for key in ("PATH", "LANG", "TERM") if key in os.environ}
        return {**kept, "HOME": str(self.home), "USER": self.name}


@dataclass
class Budget:
    """A promise and what came of it."""

    what: str
    limit: float
    measured: float
    unit: str
    at_least: bool = False

    def met(self):
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit

    def row(self):
        sign = "≥" if self.at_least else "≤"
        return [self.what, f"{sign} {self.limit:g} {self.unit}".strip(), f"{self.measured:.2f} {self.unit}".strip(),
                "met" if self.met() else "**missed**"]


@dataclass
class Bench:
    """The run as a whole: where the program is, who calls it, what was found."""

    program: Path
    price_program: Path
    rounds: int
    scratch: Path
    callers: list
    budgets: list = field(default_factory=list)
    timer: Path = None

    def build_timer(self):
        self.timer = self.scratch / "interleave"
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-o", self.timer, HERE / "interleave.c"], check=True)

    def interleave(self, caller, commands, rounds, pause_ms=0, env=None):
        """{name: (exit status, sorted milliseconds)} of commands started in turn."""
        words = [str(self.timer), str(rounds), str(pause_ms), str(caller.uid), str(caller.gid)]
        for command in commands.values():
            words += [*map(str, command), "---"]
        done = subprocess.run(words, cwd=caller.work, env={**caller.env(), **(env or {})}, stdout=subprocess.PIPE,
                              text=True, check=True)
        found = {}
        for name, line in zip(commands, done.stdout.splitlines()):
            status, *times = line.split()
            found[name] = int(status), sorted(float(each) / 1000 for each in times)
        return found

    def call(self, caller, command, **options):
        """One command as the caller, waited for."""
        def become():
            os.setgroups([])
            os.setgid(caller.gid)
            os.setuid(caller.uid)
        return subprocess.run([str(word) for word in command], cwd=caller.work, env=caller.env(), check=False,
                              preexec_fn=become if os.geteuid() == 0 else None, **options)


def percentile(ordered, share):
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def table(head, rows):
    """Markdown; numbers are right-aligned, the first column is not."""
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def make_callers(scratch):
    """Root and a plain user when started by root, else only the user there is."""
    callers = []
    ids = [("root", 0, 0), ("plain user", NOBODY, NOBODY)] if os.geteuid() == 0 else \
        [("plain user", os.getuid(), os.getgid())]
    for name, uid, gid in ids:
        base = scratch / name.split()[0]
        home, work = base / "home", base / "work"
        for folder in (home, work):
            folder.mkdir(parents=True)
            if os.geteuid() == 0:
                os.chown(folder, uid, gid)
        if os.geteuid() == 0:
            os.chown(base, uid, gid)
        callers.append(Caller(name, uid, gid, home, work))
    return callers


def make_bench(program, price_program, rounds):
    """Copies the programs where every caller can start them."""
    scratch = Path(tempfile.mkdtemp(prefix="aisbx-bench-"))
    scratch.chmod(0o755)
    copies = []
    for name, source in (("aisbx", program), ("aisbx-price", price_program)):
        target = scratch / name
        if source and Path(source).exists():
            shutil.copy(source, target)
            target.chmod(0o755)
        copies.append(target if target.exists() else None)
    # Its companions lie beside the built one, or where an installed one looks for it.
    for more in (*Path(program).parent.glob("../libexec/aisbx/aisbx-*"), *Path(program).parent.glob("aisbx-*")):
        if more.is_file():
            shutil.copy(more, scratch / more.name)
    # A build folder of before a companion was renamed would stop in the middle, at the first verb that needs it.
    probe = subprocess.run([copies[0], "profile", "ls"], capture_output=True, text=True, check=False)
    if probe.returncode:
        shutil.rmtree(scratch)
        sys.exit(f"bench: {program} is not whole: {probe.stderr.strip()}; make FLAVOUR=release build")
    bench = Bench(copies[0], copies[1], rounds, scratch, make_callers(scratch))
    bench.build_timer()
    return bench
