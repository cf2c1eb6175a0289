#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The suites themselves under test: with every protection off, cases that have no control of their own must fail.

Only cases whose attacks are harmless on a read-only host are listed; destructive ones are kept back by the tripwire.
What succeeds here succeeds as root: so each suite, with the stand-in below it, lives in a network, host name, IPC and
mount namespace of its own, and the machine is compared with what it was before.
"""
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

CASES = {
    "kernel-surface": "A001 A001b A002 A004 A005 A006 A007 A008 A009 A011 A012 A013 A015b A016 A018 A020 A022 A023 A023b A026 A027 "
                      "A028 A029 A030 A030b",
    "files": "A037 A047 A048 A049 A175 A175c",
    "leaks": "A054 A055 A057 A057b A058 A058b A058d A058e A058f A060 A061 A061b A061c A061d A064 A064b A065 A065b A096b A097",
    "lifecycle": "A067c A069",
    "resources": "A079c A089 A091 A093",
    "network": "A096 A097 A098 A099 A100 A102 A105 A106 A108 A109 A110 A111 A113",
}

# the suite plays the host, in namespaces in which nothing is the machine's; bare-run looks for the name
APART = ["unshare", "--net", "--uts", "--ipc", "--mount", "--propagation", "private", "sh", "-c",
         "ip link set lo up && hostname aisbx-teeth && exec \"$@\"", "sh"]

# what a run under the stand-in may take; a case that hangs without protection has failed as it should
SECONDS = 120


def outcomes(suite, cases):
    """{case: failed} of one suite, run against the stand-in as root only."""
    env = {**os.environ, "AISBX": os.path.join(HERE, "bare-run"), "AISBX_CASES": ",".join(cases), "AISBX_CALLER": "root",
           "AISBX_PATIENCE": "0.2"}
    done = subprocess.run(APART + [sys.executable, os.path.join(HERE, f"test-{suite}.py")], env=env, capture_output=True, text=True,
                          timeout=SECONDS, check=False)
    rows = re.findall(r"^(not )?ok \d+ - (A\w+) (?!control)", done.stdout, re.M)
    return {case: bool(failed) for failed, case in rows}, done


def machine():
    """What a root process without protection could have changed: names, addresses, routes, links, mounts."""
    facts = [os.uname().nodename]
    with open("/proc/sys/kernel/domainname") as file:
        facts.append(file.read())
    for what in (["addr"], ["route", "show", "table", "all"], ["-6", "route", "show", "table", "all"]):
        text = subprocess.run(["ip", "-o", *what], capture_output=True, text=True, check=False).stdout
        # lifetimes and expiries count down by themselves
        facts.append(sorted(re.sub(r"(valid_lft|preferred_lft|expires) \S+", "", line) for line in text.splitlines()))
    with open("/proc/sys/kernel/core_pattern") as file:
        facts.append(file.read())
    return facts


def main():
    if os.geteuid() != 0 or not shutil.which("bwrap") or not shutil.which("ip"):
        print("1..0 # SKIP needs root, bwrap and ip")
        return 0
    number = bad = 0
    before = machine()
    for suite, names in CASES.items():
        cases = names.split()
        seen, done = outcomes(suite, cases)
        for case in cases:
            number += 1
            good = seen.get(case) is True
            bad += not good
            print(f"{'' if good else 'not '}ok {number} - {case} fails without protection", flush=True)
            if case not in seen:
                print(f"# {case} did not run: {done.stderr[-300:]}")
    number += 1
    after = machine()
    bad += after != before
    print(f"{'' if after == before else 'not '}ok {number} - the machine is as it was")
    if after != before:
        print(f"# before {before}\n# after  {after}")
    print(f"1..{number}")
    return 1 if bad else 0


sys.exit(main())
