"""Work inside against the same work outside: a loop of system calls, and a compilation."""

import os
import shutil
import subprocess
import time

from measure import Budget, percentile, table

TITLE = "Work inside against outside"
FILES, ROUNDS = 24, 9

LOOP = """
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* stat, open, read, close and getpid, as an interpreter that imports modules does them. */
int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 100000;
	char buffer[4096];
	struct stat status;

	for (long i = 0; i < rounds; i++) {
		int fd;

		if (stat("/usr/include/stdio.h", &status) || stat("loop.c", &status))
			return 1;
		fd = open("loop.c", O_RDONLY);
		if (fd < 0 || read(fd, buffer, sizeof(buffer)) < 0 || close(fd))
			return 1;
		syscall(SYS_getpid);
	}
	return 0;
}
"""


def source(number):
    """A file that keeps a compiler busy for some tens of milliseconds."""
    parts = ["#include <stdio.h>", "#include <stdlib.h>", "#include <string.h>"]
    for each in range(60):
        parts.append(f"""
static int step_{each}(int *cells, int count)
{{
	int sum = {each};

	for (int i = 0; i < count; i++) {{
		cells[i] = cells[i] * {each + 3} + sum % {number + 7};
		sum += cells[i] ^ i;
	}}
	return sum;
}}""")
    calls = "\n".join(f"	sum += step_{each}(cells, 64);" for each in range(60))
    parts.append(f"int work_{number}(int *cells)\n{{\n	int sum = 0;\n\n{calls}\n	return sum;\n}}")
    return "\n".join(parts) + "\n"


def prepare(caller):
    (caller.work / "loop.c").write_text(LOOP)
    for number in range(FILES):
        (caller.work / f"part{number}.c").write_text(source(number))
    objects = " ".join(f"part{number}.o" for number in range(FILES))
    (caller.work / "Makefile").write_text(f"all: {objects}\n%.o: %.c\n\t$(CC) -O1 -c -o $@ $<\nclean:\n\trm -f *.o\n")
    for path in caller.work.iterdir():
        os.chown(path, caller.uid, caller.gid)


def seconds(bench, caller, command):
    began = time.monotonic()
    done = bench.call(caller, command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                      text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit {done.returncode}: {done.stderr.strip()[-300:]}")
    return time.monotonic() - began


def compare(bench, caller, command, before=None):
    """(outside, inside, [ratio of each pair]): pairs run back to back, so that drift hits both."""
    outside, inside, ratios = [], [], []
    for _ in range(ROUNDS):
        if before:
            bench.call(caller, before, stdout=subprocess.DEVNULL)
        outside.append(seconds(bench, caller, command))
        if before:
            bench.call(caller, before, stdout=subprocess.DEVNULL)
        inside.append(seconds(bench, caller, [bench.program, "run", "--time", "120s", "--", *command]))
        ratios.append(inside[-1] / outside[-1])
    return sorted(outside), sorted(inside), sorted(ratios)


def run(bench):
    missing = [tool for tool in ("gcc", "make") if not shutil.which(tool)]
    if missing:
        return f"Not measured: {' and '.join(missing)} not installed."
    rows = []
    for caller in bench.callers:
        prepare(caller)
        subprocess.run(["gcc", "-O2", "-o", caller.work / "loop", caller.work / "loop.c"], check=True)
        kinds = {
            "system calls": (["./loop", "250000"], None),
            "compilation": (["make", "-j2", "CC=gcc"], ["make", "clean"]),
        }
        for kind, (command, before) in kinds.items():
            try:
                outside, inside, ratios = compare(bench, caller, command, before)
            except RuntimeError as failure:
                rows.append([f"{kind}, {caller.name}", "", "", f"failed: {str(failure).replace('|', '/')}"])
                continue
            ratio = percentile(ratios, 0.5)
            bench.budgets.append(Budget(f"{kind} inside against outside ({caller.name})", 1.05, ratio, "×"))
            rows.append([f"{kind}, {caller.name}", f"{percentile(outside, 0.5):.3f}", f"{percentile(inside, 0.5):.3f}",
                         f"{ratio:.3f}"])
    return "\n".join([f"Seconds, median of {ROUNDS}, the ratio of neighbouring pairs. *System calls*: stat, open, read,"
                      f" close, getpid in a loop. *Compilation*: {FILES} files with make -j2. A sandbox has a low"
                      " share of the processors by default, so on a busy machine inside is slower on purpose.", "",
                      table(["", "outside", "inside", "ratio"], rows)])
