# SPDX-License-Identifier: Apache-2.0
"""Tool chains of the machine, as suites find them and show them inside."""
import os
import pwd
import shutil
import subprocess


def show_rust(home):
    """A tool chain that rustup keeps in another home is shown as a user would: mounted, and in front of PATH."""
    if not shutil.which("rustc"):
        return []
    own = {**os.environ, "HOME": pwd.getpwuid(os.getuid()).pw_dir} if os.getuid() == 0 else os.environ
    found = subprocess.run(["rustc", "--print", "sysroot"], env=own, capture_output=True, text=True, check=False)
    if found.returncode != 0:
        return []
    home.env["PATH"] = f"{found.stdout.strip()}/bin:{home.env['PATH']}"
    return ["--ro", found.stdout.strip()]


def missing(home, programs, shown):
    """A program that this caller does not have, inside or at all; None when all are there."""
    for program in programs:
        if not shutil.which(program, path=home.env["PATH"]):
            return f"{program} is not installed for this user"
        if home.call("run", *shown, "--", "sh", "-c", f"{program} --version || {program} version").returncode != 0:
            return f"{program} is hidden inside: it is installed in another home"
    return None
