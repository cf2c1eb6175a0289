# SPDX-License-Identifier: Apache-2.0
"""Work inside against the same work outside: loops of system calls, and a compilation."""

import json
import os
import resource
import shutil
import subprocess
import time

from measure import Budget, percentile, table

TITLE = "Work inside against outside"
FILES, ROUNDS = 24, 9

LOOP = """
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What programs ask of the kernel once their files are open: pages in, pages through a pipe. */
static int plain_calls(int in, const int *through)
{
	char buffer[4096];
	struct stat status;

	return pread(in, buffer, sizeof(buffer), 0) < 0 || write(through[1], buffer, sizeof(buffer)) < 0 ||
	       read(through[0], buffer, sizeof(buffer)) < 0 || fstat(in, &status) || syscall(SYS_getppid) < 0;
}

/* What an interpreter does that imports modules: every path goes through the copy-on-write view. */
static int path_calls(void)
{
	char buffer[512];
	struct stat status;
	int fd;

	if (stat("/usr/include/stdio.h", &status) || stat("loop.c", &status) || !stat("missing", &status))
		return 1;
	fd = open("loop.c", O_RDONLY);
	return fd < 0 || read(fd, buffer, sizeof(buffer)) < 0 || close(fd);
}

/* What any filter costs, here one that permits everything: no sandbox with one can be faster. */
static int take_filter(void)
{
	struct sock_filter permit = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &permit };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	long rounds = argc > 2 ? atol(argv[2]) : 1000;
	int in = open("part0.c", O_RDONLY), through[2];

	if (in < 0 || pipe(through) || (argc > 3 && take_filter()))
		return 1;
	for (long i = 0; i < rounds; i++) {
		if (strcmp(argv[1], "plain") == 0 ? plain_calls(in, through) : path_calls())
			return 1;
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


def outside_once(bench, caller, command):
    """(wall seconds, processor seconds)"""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = bench.call(caller, command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                      text=True)
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()[-300:]}")
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def inside_once(bench, caller, command):
    began = time.monotonic()
    done = bench.call(caller, [bench.program, "run", "--json", "--time", "120s", "--", *command],
                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    wall, result = time.monotonic() - began, json.loads(done.stdout)
    if result["status"] != "success":
        raise RuntimeError(f"{' '.join(command)}: {result['status']}: {result['stderr'].strip()[-300:]}")
    return wall, result["cpu_ms"] / 1000


def compare(bench, caller, contestants, before=None):
    """Pairs run back to back, so that drift hits both: ((wall, cpu) of one, (wall, cpu) of the other, cpu ratio)."""
    pairs = []
    for _ in range(ROUNDS):
        sides = []
        for once, command in contestants:
            if before:
                bench.call(caller, before, stdout=subprocess.DEVNULL)
            sides.append(once(bench, caller, command))
        pairs.append(sides)
    middle = [[percentile(sorted(pair[side][kind] for pair in pairs), 0.5) for kind in (0, 1)] for side in (0, 1)]
    return middle[0], middle[1], percentile(sorted(inside[1] / outside[1] for outside, inside in pairs), 0.5)


def filtered(bench, caller):
    """The row that says what a filter alone costs."""
    loop = ["./loop", "plain", "300000"]
    outside, inside, ratio = compare(bench, caller, [(outside_once, loop), (outside_once, [*loop, "filter"])])
    return row(f"system calls, outside with an empty filter, {caller.name}", outside, inside, ratio)


def row(title, outside, inside, ratio):
    return [title, f"{outside[0]:.3f}", f"{inside[0]:.3f}", f"{outside[1]:.3f}", f"{inside[1]:.3f}", f"{ratio:.3f}"]


def run(bench):
    missing = [tool for tool in ("gcc", "make") if not shutil.which(tool)]
    if missing:
        return f"Not measured: {' and '.join(missing)} not installed."
    rows = []
    for caller in bench.callers:
        prepare(caller)
        subprocess.run(["gcc", "-O2", "-o", caller.work / "loop", caller.work / "loop.c"], check=True)
        kinds = {
            "system calls": (["./loop", "plain", "300000"], None),
            "calls with paths": (["./loop", "paths", "150000"], None),
            "compilation": (["make", "-j2", "CC=gcc"], ["make", "clean"]),
        }
        for kind, (command, before) in kinds.items():
            try:
                outside, inside, ratio = compare(bench, caller, [(outside_once, command), (inside_once, command)],
                                                 before)
            except RuntimeError as failure:
                rows.append([f"{kind}, {caller.name}", "", "", "", "", f"failed: {str(failure).replace('|', '/')}"])
                continue
            bench.budgets.append(Budget(f"{kind} inside against outside ({caller.name})", 1.05, ratio, "×"))
            rows.append(row(f"{kind}, {caller.name}", outside, inside, ratio))
        rows.append(filtered(bench, caller))
    return "\n".join([f"Seconds, median of {ROUNDS} neighbouring pairs; the ratio is that of processor time, since a sandbox"
                      " has a low share of a busy machine by default. *System calls*: read, write, fstat, getppid on open"
                      " files and pipes, 4 KiB each. *Calls with paths*: stat, open, read, close through the copy-on-write view, where the"
                      f" kernel opens every file twice. *Compilation*: {FILES} files with make -j2.", "",
                      table(["", "outside", "inside", "outside, cpu", "inside, cpu", "ratio"], rows)])
