#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `run` must do on this kernel too: whole clone, limits by cgroup v2, directories that come and go."""

import json
import os
import subprocess
import sys
import tempfile
import time

if not os.environ.get("VM_GUEST"):
    print("1..0 # SKIP only in the guest of tools/test-vm")
    sys.exit(0)

AISBX = os.environ["AISBX"]
CASES = 0
FAILED = 0


def case(good, name, detail=""):
    global CASES, FAILED
    CASES += 1
    FAILED += not good
    print(f"{'' if good else 'not '}ok {CASES} - {name}", flush=True)
    if not good:
        print(f"# {detail}", flush=True)


def run(*command, flags=()):
    done = subprocess.run([AISBX, "run", "--json", *flags, "--", *command], check=False, capture_output=True, text=True,
                          cwd=WORK)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"status": "none", "exit_code": done.returncode, "stderr": done.stderr, "stdout": done.stdout}


def sh(script, flags=()):
    return run("sh", "-c", script, flags=flags)


HOME = tempfile.mkdtemp(prefix="vm-run-", dir="/home" if os.getuid() == 0 else os.environ["HOME"])
WORK = os.path.join(HOME, "work")
for folder in ("old/below", "moved/below"):
    os.makedirs(os.path.join(WORK, folder))
    with open(os.path.join(WORK, folder, "file"), "w", encoding="ascii") as file:
        file.write("kept\n")

doctor = subprocess.run([AISBX, "doctor"], check=False, capture_output=True, text=True)
case(doctor.returncode == 0, "doctor finds every mandatory layer", doctor.stdout + doctor.stderr)
if doctor.returncode == 0:
    print("# " + doctor.stdout.replace("\n", "\n# "), flush=True)

result = run("true")
case(result["status"] == "success", "a run", result)
# A plain user's layers are on disk where tmpfs has no attributes of users (before 6.6): no size of their own.
allowed = [] if os.getuid() == 0 else ["disk"]
case(result.get("degraded") == allowed, f"degraded: {allowed}", result.get("degraded"))
result = sh("cat /etc/os-release | grep -q Debian && test -x /usr/bin/python3 && id -u")
case(result["status"] == "success" and result["stdout"].strip() == str(os.getuid()), "the machine as it is", result)
result = sh("rm -r old && mkdir old && ls old && test ! -e old/below")
case(result["status"] == "success", "a directory deleted and made again is empty", result)
result = sh("mv moved elsewhere && cat elsewhere/below/file && test ! -e moved")
case(result["status"] == "success", "a directory can be renamed", result)
case(os.path.exists(os.path.join(WORK, "moved/below/file")), "the workspace outside is as it was")
result = sh("head -c 300000000 /dev/zero | tail -c 250000000 >/dev/null", ("--mem", "64m"))
case(result["status"] == "oom" or "mem" in result.get("limits_hit", []), "memory is bounded", result)
result = sh("for i in 1 2 3 4 5 6 7 8; do head -c 16000000 /dev/zero >big$i || exit 9; done; sleep 5", ("--disk", "24m"))
case(result["status"] in ("error", "limit") and "disk" in result.get("limits_hit", []), "what is written is bounded", result)
result = sh("i=0; while [ $i -lt 400 ]; do : >f$i || exit 9; i=$((i+1)); done; sleep 5", ("--inodes", "200"))
case(result["status"] in ("error", "limit") and "inodes" in result.get("limits_hit", []), "files are bounded", result)
result = sh("i=0; while [ $i -lt 60 ]; do sleep 2 & i=$((i+1)); done; wait", ("--pids", "24"))
case("pids" in result.get("limits_hit", []), "processes are bounded", result)
result = sh("while :; do :; done", ("--cpu-time", "1s", "--time", "60s"))
case("cpu-time" in result.get("limits_hit", []), "CPU time is bounded", result)
result = run("sleep", "60", flags=("--time", "1s"))
case(result["status"] == "timeout", "time is bounded", result)
store = os.path.join(os.environ["HOME"], ".local/state/aisbx/layers")
for _ in range(50):
    if not os.path.isdir(store) or not os.listdir(store):
        break
    time.sleep(0.1)
case(not os.path.isdir(store) or not os.listdir(store), "no layers are left")
left = [folder for folder, _, _ in os.walk("/sys/fs/cgroup") if "aisbx" in os.path.basename(folder)]
case(not left, "no control group is left", left)
subprocess.run(["rm", "-rf", HOME], check=False)
print(f"1..{CASES}")
sys.exit(1 if FAILED else 0)
