# SPDX-License-Identifier: Apache-2.0
"""What suites of attacks on the network share: root and a plain user in one small internet (internet.py), inside and outside.

Every control runs the same script outside, in that same internet, where nothing stands in its way.
"""
import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile

import internet
from box import patience
from family import until
from internet import EVIL, GOOD, LAN, PRELUDE

# What servers on port 8000 were sent.
SEEN = []
A = ["--allow", "good.example:80"]


class Place:
    """Where the internet keeps its files: read by every caller."""
    path = ""


def enter():
    """In a network of its own, as root; else nothing is done."""
    if os.geteuid() != 0:
        print("1..0 # SKIP needs root, to be root and a plain user in one network")
        sys.exit(0)
    internet.enter()


def keeper_of_requests(peer, address):
    """Keeps every byte it is sent, answers each time."""
    peer.settimeout(120)
    while True:
        part = peer.recv(65536)
        if not part:
            return
        SEEN.append(part)
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nseen")


def begin():
    Place.path = tempfile.mkdtemp(prefix="aisbxtest-internet.", dir="/var/tmp")
    atexit.register(shutil.rmtree, Place.path, ignore_errors=True)
    os.chmod(Place.path, 0o755)
    internet.build_internet(Place)
    for name in ("resolv.conf", "hosts"):
        os.chmod(f"{Place.path}/{name}", 0o644)
    for address in (GOOD, EVIL, LAN):
        internet.listen(address, 8000, keeper_of_requests)


def outside(script):
    """The same script in the same internet, unprotected: it waits for its answers, which all come."""
    script = re.sub(r"settimeout\(\d\)", "settimeout(60)", script)
    return subprocess.run([sys.executable, "-c", PRELUDE + script], capture_output=True, text=True, timeout=patience(30),
                          check=False).stdout.split()


def inside(t, script, *flags, timeout=30):
    """Its result, with what servers saw of it, what was asked of nameservers, its words, and what was told."""
    before = len(internet.hits), len(SEEN), len(internet.asked)
    result = t.box.run("python3", "-c", PRELUDE + script, flags=flags, timeout=timeout)
    result.hits = internet.hits[before[0]:] + SEEN[before[1]:]
    result.asked = internet.asked[before[2]:]
    result.words = result.out.split()
    result.told = [d["what"] for d in result.json.get("denials", [])]
    return result


def is_gone(what):
    return until(lambda: not what())
