#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The guest is what the suites need it to be: ext4 on virtio-blk, cgroup v2 with controllers, namespaces, overlays."""

import os
import subprocess
import sys

if not os.environ.get("VM_GUEST"):
    print("1..0 # SKIP only in the guest of tools/test-vm")
    sys.exit(0)

CASES = 0
FAILED = 0


def case(good, name):
    global CASES, FAILED
    CASES += 1
    FAILED += not good
    print(f"{'' if good else 'not '}ok {CASES} - {name}", flush=True)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def succeeds(*command):
    return subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == 0


root = [line.split() for line in read("/proc/self/mounts").splitlines() if line.split()[1] == "/"][-1]
case(root[0] == "/dev/vda" or root[0] == "/dev/root", f"the root is a virtio disk ({root[0]})")
case(root[2] == "ext4", f"the root is ext4 ({root[2]})")
case(os.uname().release.startswith("6.1."), f"the kernel is Debian 12's own ({os.uname().release})")
case(read("/proc/self/cgroup").startswith("0::/"), "cgroup v2 alone")
own = read("/proc/self/cgroup").strip().split("::")[1]
controllers = read("/sys/fs/cgroup" + own + "/cgroup.controllers").split()
for name in ("cpu", "memory", "pids"):
    case(name in controllers, f"controller {name} reaches this group")
case("overlay" in read("/proc/filesystems"), "the overlay filesystem is there")
case(succeeds("unshare", "-r", "-m", "-p", "-n", "-i", "-u", "-C", "--fork", "true"),
     f"uid {os.getuid()} can make every namespace")
print(f"1..{CASES}")
sys.exit(1 if FAILED else 0)
