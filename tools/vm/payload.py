# SPDX-License-Identifier: Apache-2.0
"""What a guest runs: the program and the suites of one build, with the paths they will have in there."""

import json
import os
import platform
import shutil
import subprocess
import tarfile
from pathlib import Path

from debs import Unavailable, call

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
INSIDE = Path("/opt/aisbx")  # the source tree in the guest; the build folder is build/ below it
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


def configure(guest):
    """Sets a build for the guest's architecture up and returns its folder."""
    folder = guest.folder / "build"
    machine = MACHINES[guest.arch]
    cross = []
    if platform.machine() != machine:
        where = guest.folder / "sysroot.cross"
        where.write_text(f"[constants]\nsysroot = '{guest.sysroot}'\n")
        cross = ["--cross-file", where, "--cross-file", HERE / f"{machine}.cross"]
    if not (folder / "build.ninja").exists():
        shutil.rmtree(folder, ignore_errors=True)
        call(["meson", "setup", folder, "-Dprefix=/usr/local", "-Dlibexecdir=libexec", *cross], cwd=SOURCE)
    return folder


def build(guest, folder, jobs):
    """What is installed, and what the jobs name: most programs of the build are tests that no guest runs."""
    targets = json.loads(call(["meson", "introspect", "--targets", folder]))
    wanted = [os.path.relpath(file, folder) for target in targets if target["installed"] for file in target["filename"]]
    made = str(INSIDE / "build") + "/"
    wanted += {word[len(made):] for word in named(jobs) if word.startswith(made)}
    built = subprocess.run(["ninja", "-C", folder, *wanted], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           check=False)
    if built.returncode:
        raise SystemExit(built.stdout[-4000:] + f"\ntest-vm: the build for {guest.arch} failed")


def inside(word, folder):
    """A word of a test's command or environment as it reads in the guest."""
    if word.startswith("/"):
        word = os.path.normpath(word)
    word = word.replace(str(folder), str(INSIDE / "build")).replace(str(SOURCE), str(INSIDE))
    # Interpreters are the guest's own, wherever this machine keeps its.
    if word.startswith("/") and not word.startswith(str(INSIDE)):
        return Path(word).name
    return word


def suites(folder, wanted, chosen):
    """Programs of the wanted suites as [{name, command, env, timeout, who}], one for each caller; CHOSEN words narrow
    them by name. What the suites start first because it takes long comes last here, where time may be short."""
    found = []
    for test in sorted(json.loads(call(["meson", "introspect", "--tests", folder])), key=lambda row: row["priority"]):
        suite = next((each for each in (name.split(":")[-1] for name in test["suite"]) if each in wanted), None)
        name = f"{suite}/{test['name']}"
        if not suite or chosen and not any(word in name for word in chosen):
            continue
        # Attacks change to a plain caller by themselves.
        for who in os.environ.get("VM_WHO", "root" if suite == "escape" else "root user").split():
            found.append({
                "name": name,
                "command": [inside(str(word), folder) for word in test["cmd"]],
                "env": {key: inside(value, folder) for key, value in test["env"].items()
                        if key not in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "MSAN_OPTIONS", "MALLOC_PERTURB_")},
                "timeout": test["timeout"],
                "who": who,
            })
    return found


def named(jobs):
    """Every word that may be a file of theirs."""
    return {word for job in jobs for word in [*job["command"], *job["env"].values()]}


def is_needed(path):
    """Leaves objects and logs of the build at home."""
    return path.suffix not in (".o", ".a", ".log", ".ninja", ".d") and not path.name.startswith((".ninja", "compile_"))


def is_named(folder, jobs):
    """Leaves those programs of the build's tests at home that none of the chosen ones names: most of its bytes."""
    words = named(jobs)
    return lambda path: folder / "tests" not in path.parents or inside(str(path), folder) in words


def add_tree(tar, source, name, wanted=lambda path: True):
    for folder, folders, files in os.walk(source):
        folders[:] = [each for each in folders if each not in (".git", "meson-private", "meson-logs", "meson-info")]
        for each in files:
            path = Path(folder) / each
            if is_needed(path) and wanted(path) and not path.is_symlink():
                tar.add(path, f"{name}/{path.relative_to(source)}", filter=owned_by_root)


def owned_by_root(member):
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    member.mode |= 0o444 | (0o111 if member.mode & 0o100 else 0)
    return member


def pack(guest, folder, jobs):
    """The payload as a tar on a disk of its own: no image to build for a run. The caller removes it."""
    if not jobs:
        raise Unavailable("nothing to run")
    install = guest.folder / "install"
    shutil.rmtree(install, ignore_errors=True)
    call(["meson", "install", "-C", folder, "--no-rebuild"], env={**os.environ, "DESTDIR": str(install)})
    plan = guest.folder / "tests.json"
    plan.write_text(json.dumps(jobs))
    for old in guest.folder.glob("payload-*.tar"):
        if not Path("/proc", old.stem.partition("-")[2]).exists():
            old.unlink()
    payload = guest.folder / f"payload-{os.getpid()}.tar"
    with tarfile.open(payload, "w", format=tarfile.GNU_FORMAT) as tar:
        add_tree(tar, install, ".")
        for name in ("tests", "profiles", "include", "tools", "examples"):
            add_tree(tar, SOURCE / name, f"./{INSIDE.relative_to('/')}/{name}")
        add_tree(tar, folder, f"./{INSIDE.relative_to('/')}/build", is_named(folder, jobs))
        for name in ("guest-init", "guest-suites"):
            tar.add(HERE / name, f"./vm/{name}", filter=owned_by_root)
        tar.add(plan, "./vm/tests.json", filter=owned_by_root)
    return payload
