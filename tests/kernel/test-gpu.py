#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--gpu: the nodes asked for and no other, made of stand-ins everywhere; a real GPU where the machine has one.

Takes the program from AISBX. Speaks TAP. Root lays a /dev of its own with stand-ins in a mount namespace.
"""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from clitest import AISBX, Home, Tap  # noqa: E402

tap = Tap()
PLAIN = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups"]

# Zeros for a GPU, nothing for the control node, "disk full" for the third: each can be told apart by what it answers.
FAKE = """set -e
mkdir "$1"; mount -t tmpfs -o mode=755 tmpfs "$1"; cd "$1"
node() { mknod -m "$4" "$1" c "$2" "$3"; }
node null 1 3 666; node zero 1 5 666; node full 1 7 666; node random 1 8 666; node urandom 1 9 666; node tty 5 0 666
node nvidiactl 1 3 666; node nvidia-uvm 1 7 666; node nvidia0 1 5 666; node nvidia1 1 5 666; node nvidia2 1 5 660
node nvidia-uvm-tools 1 5 666; node nvidia-modeset 1 5 666; ln -s zero nvidia3; : > nvidia4
mkdir pts shm; ln -s pts/ptmx ptmx; ln -s /proc/self/fd fd; mount --bind /dev/pts pts; mount --bind /dev/shm shm
cd "$2"; mount --move "$1" /dev; shift 2
exec "$@"
"""

# The driver's interface, without a header: a context, memory of the GPU, written to and waited for.
CUDA = """import ctypes
c = ctypes.CDLL("libcuda.so.1")
d, x, p = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
print([c.cuInit(0), c.cuDeviceGet(ctypes.byref(d), 0), c.cuCtxCreate_v2(ctypes.byref(x), 0, d), c.cuMemAlloc_v2(ctypes.byref(p), 1 << 20),
       c.cuMemsetD8_v2(p, 7, 1 << 20), c.cuCtxSynchronize()])
"""


def faked(home, *words, user=()):
    """The result of a command over the stand-ins."""
    mount = os.path.join(home.path, "dev")
    line = ["unshare", "-m", "--propagation", "private", "sh", "-c", FAKE, "sh", mount, home.work, *user, AISBX, *words]
    done = subprocess.run(line, env=home.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    os.rmdir(mount)
    return done


def test_nodes(home, user):
    who = "plain user" if user else "root"
    look = ["--", "sh", "-c", "cd /dev; ls -d nvidia*; head -c 2 nvidia1 | od -An -c"]
    done = faked(home, "run", "--gpu=1", *look, user=user)
    tap.equal(sorted(done.stdout.split()), ["\\0", "\\0", "nvidia-uvm", "nvidia1", "nvidiactl"], f"{who}: one GPU and what belongs to all")
    done = faked(home, "run", "--gpu=0,1", *look, user=user)
    tap.equal(sorted(done.stdout.split())[2:], ["nvidia-uvm", "nvidia0", "nvidia1", "nvidiactl"], f"{who}: two of them")
    done = faked(home, "run", "--", "sh", "-c", "ls -d /dev/nvidia*", user=user)
    tap.equal(done.stdout, "", f"{who}: none unless asked for")
    done = faked(home, "run", "--gpu=1", "--", "sh", "-c", "cd /dev; touch nvidia1; chmod 600 nvidia1; mv nvidia1 x; rm nvidia1; mknod y c 1 5; echo $CUDA_CACHE_PATH",
                 user=user)
    tap.ok(done.stdout == "/tmp/.nv-cache\n" and len(done.stderr.splitlines()) >= 5, f"{who}: the nodes stay as they are", done)
    for value, words in (("all", "closed to other"), ("2", "closed to other"), ("3", "no such GPU"), ("4", "no such GPU"), ("9", "no such GPU"),
                         ("GPU-1-2", "no such GPU"), ("0/1/0", "no such GPU"), ("0/../1", "GPU/INSTANCE"), ("../sda", "GPU/INSTANCE"),
                         ("ctl", "no such GPU"), ("-uvm", "no such GPU")):
        done = faked(home, "run", f"--gpu={value}", "--", "true", user=user)
        tap.ok(done.returncode == 125 and words in done.stderr, f"{who}: --gpu={value} is refused", done)


def test_named(home):
    script = f"{AISBX} create g --gpu=0 && {AISBX} exec g -- ls /dev && {AISBX} exec g -- sh -c 'head -c 1 /dev/nvidia0 | od -An -c'"
    mount = os.path.join(home.path, "dev")
    done = subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-c", FAKE, "sh", mount, home.work, "sh", "-c", script + f"; {AISBX} rm g"],
                          env=home.env, capture_output=True, text=True, check=False)
    os.rmdir(mount)
    tap.ok("nvidia0" in done.stdout and "nvidia1" not in done.stdout and "\\0" in done.stdout, "a sandbox that stays has it in every command", done)


def test_refused(home):
    if not os.path.exists("/dev/nvidiactl"):
        for words in (["--gpu"], ["--gpu=0"], ["--gpu=all"]):
            done = home.call("run", *words, "--", "true")
            tap.ok(done.returncode == 125 and "no such GPU" in done.stderr, f"{words[0]}: without a GPU a clear word", done)
    tap.equal(home.call("run", "--gpu=none", "--", "echo", "ran").stdout, "ran\n", "none is none")
    home.put(".aisbx.yaml", "gpu: all\n")
    done = home.call("run", "--", "echo", "ran")
    tap.ok(done.stdout == "ran\n" and "gpu" in done.stderr, "a workspace cannot ask for it", done)
    os.unlink(home.work + "/.aisbx.yaml")
    home.put("race.yaml", "attempts:\n  - {name: a, command: [touch, made], gpu: all}\n")
    done = home.call("race", "--file", "race.yaml")
    tap.ok(done.returncode != 0 and "'gpu' is not taken from a file like this" in done.stderr, "nor can a race file", done)


def test_real(home):
    if not os.path.exists("/dev/nvidiactl"):
        tap.skip("a real GPU", "this machine has none")
        return
    done = home.call("run", "--gpu", "--json", "--", "python3", "-c", CUDA)
    tap.equal(json.loads(done.stdout)["stdout"].strip(), "[0, 0, 0, 0, 0, 0]", "a context, memory, a kernel of the driver's")
    done = home.call("run", "--gpu", "--", "nvidia-smi", "-L")
    tap.ok(done.returncode == 0 and done.stdout.startswith("GPU 0:"), "nvidia-smi lists it", done)
    uuid = done.stdout.split("UUID: ")[1].split(")")[0] if "UUID: " in done.stdout else "none"
    tap.equal(home.call("run", f"--gpu={uuid}", "--", "ls", "-d", "/dev/nvidia0").stdout, "/dev/nvidia0\n", "by its UUID")
    done = home.call("run", "--", "python3", "-c", CUDA)
    tap.ok("[0," not in done.stdout, "without the flag there is none", done)


def main():
    with Home("aisbx-test-gpu-") as home:
        if not home.can_run(tap, "gpu"):
            return tap.done()
        test_refused(home)
        test_real(home)
        if os.geteuid() != 0:
            tap.skip("stand-ins for a GPU", "only root can make device nodes")
            return tap.done()
        test_nodes(home, ())
        test_named(home)
    os.environ["HOME"] = "/var/tmp"  # root's own is closed to others
    with Home("aisbx-test-gpu-") as home:
        os.chmod(home.path, 0o755)
        for path, dirs, files in os.walk(home.path):
            for name in (path, *(os.path.join(path, one) for one in (*dirs, *files))):
                os.chown(name, 54321, 54321, follow_symlinks=False)
        test_nodes(home, PLAIN)
        subprocess.run(["chown", "-R", "0:0", home.path], check=False)
    return tap.done()


sys.exit(main())
