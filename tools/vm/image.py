# SPDX-License-Identifier: Apache-2.0
"""The guest: Debian's own kernel, an ext4 root image for virtio-blk, an initramfs that only finds that disk."""

import hashlib
import os
import shutil
from pathlib import Path

from debs import Debs, Unavailable, call, unpack

HERE = Path(__file__).resolve().parent
ROOT_PACKAGES = """base-files bash dash coreutils util-linux mount procps grep sed findutils tar gzip libc-bin
    hostname iproute2 git e2fsprogs python3 libyaml-0-2 libjansson4 libsqlite3-0 libarchive13""".split()
# What linking the second program for another architecture needs; headers of the C library come with the compiler.
LIBRARY_PACKAGES = """libyaml-dev libyaml-0-2 libjansson-dev libjansson4 libsqlite3-dev libsqlite3-0 libarchive-dev
    libarchive13 libsodium-dev""".split()
# Loaded before the root disk can be read, and before the suites ask for overlays.
MODULES = "virtio_pci virtio_blk ext4 overlay loop quota_v2".split()
IMAGE_BYTES = 1 << 30

PASSWD = """root:x:0:0:root:/root:/bin/bash
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
tester:x:1000:1000:Tester:/home/tester:/bin/bash
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
"""
GROUP = "root:x:0:\ndaemon:x:1:\ntty:x:5:\ntester:x:1000:\nnogroup:x:65534:\n"


class Guest:
    """Files of one architecture below build/vm; made once and made again when the recipe changes."""

    def __init__(self, folder, arch):
        self.arch, self.folder = arch, Path(folder) / arch
        self.kernel = self.folder / "vmlinuz"
        self.initrd = self.folder / "initrd.gz"
        self.image = self.folder / "root.ext4"
        self.sysroot = self.folder / "sysroot"

    def prepare(self):
        recipe = b"".join(path.read_bytes() for path in (HERE / "image.py", HERE / "debs.py", HERE / "find-root"))
        stamp, wanted = self.folder / "stamp", hashlib.sha256(recipe).hexdigest()
        if stamp.exists() and stamp.read_text() == wanted:
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        debs = Debs(self.folder / "apt", self.arch)
        self.make_kernel(debs)
        self.make_root(debs)
        unpack(debs.fetch(LIBRARY_PACKAGES, follow=False), self.sysroot)
        shutil.rmtree(self.folder / "apt")
        stamp.write_text(wanted)

    def make_kernel(self, debs):
        """Kernel, and an initramfs of busybox and the few modules in the order of their needs."""
        tree, memory = self.folder / "kernel", self.folder / "initramfs"
        unpack(debs.fetch([debs.depends(f"linux-image-cloud-{self.arch}")], follow=False), tree)
        unpack(debs.fetch(["busybox-static"], follow=False), tree)
        shutil.copy(next((tree / "boot").glob("vmlinuz-*")), self.kernel)
        release = next((tree / "lib/modules").iterdir()).name
        call(["depmod", "-b", tree, release], env={**os.environ, "PATH": os.environ["PATH"] + ":/sbin:/usr/sbin"})
        for name in ("bin", "modules", "proc", "dev", "root"):
            (memory / name).mkdir(parents=True)
        shutil.copy(tree / "bin/busybox", memory / "bin/busybox")
        shutil.copy(HERE / "find-root", memory / "init")
        order = module_order(tree / "lib/modules" / release, MODULES)
        for position, path in enumerate(order):
            shutil.copy(path, memory / f"modules/{position:02}-{path.name}")
        call(["sh", "-c", f"find . | cpio -o -H newc -R 0:0 --quiet | gzip -1 >'{self.initrd}'"], cwd=memory)
        shutil.rmtree(tree)
        shutil.rmtree(memory)

    def make_root(self, debs):
        tree = self.folder / "root"
        unpack(debs.fetch(ROOT_PACKAGES), tree)
        for folder in ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info"):
            shutil.rmtree(tree / folder, ignore_errors=True)
        for folder in ("vm", "root", "tmp", "run", "home/tester", "srv", "opt", "mnt", "var/tmp"):
            (tree / folder).mkdir(parents=True, exist_ok=True)
        (tree / "root").chmod(0o700)
        (tree / "tmp").chmod(0o1777)
        (tree / "var/tmp").chmod(0o1777)
        (tree / "etc/passwd").write_text(PASSWD)
        (tree / "etc/group").write_text(GROUP)
        (tree / "etc/hostname").write_text("aisbx-vm\n")
        (tree / "etc/hosts").write_text("127.0.0.1 localhost aisbx-vm\n")
        with open(self.image, "wb") as image:
            image.truncate(IMAGE_BYTES)
        # A plain caller owns these files; seen through a user namespace they are root's, as the guest wants them.
        as_root = [] if os.geteuid() == 0 else ["unshare", "-r"]
        path = os.environ["PATH"] + ":/sbin:/usr/sbin"
        call([*as_root, "mkfs.ext4", "-q", "-F", "-d", tree, self.image], env={**os.environ, "PATH": path})
        shutil.rmtree(tree)


def module_order(folder, wanted):
    """Files of the modules, each behind what it needs; those built into the kernel have none."""
    needs = {}
    for line in (folder / "modules.dep").read_text().splitlines():
        path, _, rest = line.partition(":")
        needs[Path(path).stem] = (path, rest.split())
    built_in = {Path(line).stem for line in (folder / "modules.builtin").read_text().splitlines()}
    order = []
    for name in wanted:
        if name in built_in:
            continue
        if name not in needs:
            raise Unavailable(f"the kernel has no module {name}")
        path, below = needs[name]
        for each in [*reversed(below), path]:
            if folder / each not in order:
                order.append(folder / each)
    return order
