# SPDX-License-Identifier: Apache-2.0
"""Debian packages of any architecture, fetched by name through a private apt state and unpacked, never installed."""

import os
import subprocess
from pathlib import Path


class Unavailable(Exception):
    """What a machine without packages, network or tools cannot have: the caller skips and says why."""


def call(command, **options):
    """Runs a tool quietly; its last words become the reason when it fails."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    except FileNotFoundError:
        raise Unavailable(f"{command[0]} is not installed") from None
    if done.returncode:
        last = (done.stdout.strip().splitlines() or ["no words"])[-1]
        raise Unavailable(f"{Path(command[0]).name}: {last}")
    return done.stdout


class Debs:
    """One architecture's packages. The machine's own apt sources are used, its package state is not touched."""

    def __init__(self, folder, arch):
        self.folder, self.arch = Path(folder), arch
        self.archives = self.folder / "cache/archives"
        self.updated = False
        for part in ("state/lists/partial", "cache/archives/partial"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        (self.folder / "status").touch()

    def apt(self, *words, cwd=None):
        options = {
            "Dir::State": self.folder / "state",
            "Dir::State::status": self.folder / "status",
            "Dir::Cache": self.folder / "cache",
            "APT::Architecture": self.arch,
            "APT::Architectures": self.arch,
            "APT::Keep-Downloaded-Packages": "true",
            "Acquire::Languages": "none",
            "Debug::NoLocking": "true",
        }
        if os.geteuid() == 0:
            options["APT::Sandbox::User"] = "root"
        flags = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
        return call([words[0], *flags, *words[1:]], cwd=cwd)

    def update(self):
        if not self.updated:
            self.apt("apt-get", "update", "-qq")
            self.updated = True

    def depends(self, package):
        """The first dependency: what a package that only names the current kernel stands for."""
        self.update()
        for line in self.apt("apt-cache", "depends", package).splitlines():
            if "Depends:" in line:
                return line.split()[-1]
        raise Unavailable(f"no package {package} for {self.arch}")

    def fetch(self, packages, follow=True):
        """Files of the packages, with all they depend on unless told otherwise."""
        self.update()
        if not follow:
            for package in packages:
                self.apt("apt-get", "download", "-qq", package, cwd=self.archives)
            return [self.named(package) for package in packages]
        plan = self.apt("apt-get", "install", "-qq", "--print-uris", "--no-install-recommends", "-y", *packages)
        self.apt("apt-get", "install", "-qq", "--download-only", "--no-install-recommends", "-y", *packages)
        names = [line.split()[1] for line in plan.splitlines() if line.startswith("'")]
        return [self.archives / name for name in names] or [self.named(package) for package in packages]

    def named(self, package):
        found = sorted(self.archives.glob(f"{package}_*.deb"), key=lambda path: path.stat().st_mtime)
        if not found:
            raise Unavailable(f"package {package} for {self.arch} did not arrive")
        return found[-1]


def unpack(files, target):
    """Lays the packages' files over each other; /bin and its like are links into /usr, as on an installed system."""
    target.mkdir(parents=True, exist_ok=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (target / "usr" / name).mkdir(parents=True, exist_ok=True)
        if not (target / name).is_symlink():
            (target / name).symlink_to(f"usr/{name}")
    for file in files:
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", file], stdout=subprocess.PIPE) as package:
            call(["tar", "-x", "--keep-directory-symlink", "-C", target], stdin=package.stdout)
