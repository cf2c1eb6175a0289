#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--net all: every place but this machine's own and private addresses, and by the user's own word alone.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a network namespace of its own (tests/lib/internet.py).
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from clitest import Home, Tap, refused
from internet import GOOD, GOOD6, LAN, LOOPBACK, METADATA, NAMES, build_internet, enter, lines, listen, run, web

tap = Tap()
EVERY = "every port"  # of the note, where one listener gets them all
# An address of the internet that this machine has itself; in the test's own namespace.
OWN = "9.9.9.9"
# One that a single name leads to.
LONE = "198.51.100.30"
# One network twice on this machine: the kernel sends to the second address from the first. And a whole network of its own.
FIRST, SECOND, ROUTED, FIRST6, SECOND6 = "44.1.1.5", "44.1.1.6", "44.2.9.9", "2a0e::5", "2a0e::6"


def test_places(home):
    script = "".join(f"print(get({host!r}, {port}))\n" for host, port in (
        ("good.example", 80), ("evil.example", 80), (GOOD, 80), (LAN, 80), (METADATA, 80), (OWN, 80), ("own.example", 80),
        ("lan.example", 80), ("rebind.example", 80), ("host.local", 80), ("127.0.0.1", 80), (GOOD, 7999)))
    shut = lines(run(home, script))
    tap.ok(len(shut) == 12 and not any("GET" in line or "web" in line for line in shut[:3]), "(without it, nothing)", shut)
    result = run(home, script, "--net", "all")
    out = lines(result)
    want = lines(run(home, "print(get('good.example', 80))\nprint(get('evil.example', 80))", "--allow", "good.example:80,evil.example:80"))
    tap.equal(out[:2], want, "names that no rule lists are reached")
    tap.equal(out[2], want[0], "and addresses")
    for line, what in zip(out[3:], ("a private address", "metadata", "an own address", "a name for an own address", "a name for a private one",
                                    "a name for the loopback", "host.local", "the loopback", "a port without a server")):
        tap.ok(line.endswith(("Error", "gaierror", "nothing")), f"not {what}", line)
    tap.ok(any("net all" in note and ("443" in note or EVERY in note) for note in result["notes"]), "the result notes it, with the ports", result["notes"])
    exact = lines(run(home, f"print(get({OWN!r}))", "--allow", f"{OWN}:80"))
    tap.ok(exact and not exact[0].endswith("Error"), "(the own address is there, for a rule of its own)", exact)
    result = run(home, f"import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.settimeout(1)\n"
                 f"s.connect(({GOOD!r}, 443))\ntry:\n    s.send(b'x'); s.recv(9); print('heard')\nexcept OSError as e:\n    print('no')", "--net", "all")
    tap.equal(result["stdout"], "no\n", "UDP by rule only")


INSIDE = """
import threading
server = socket.create_server(("0.0.0.0", 8080))
def serve():
    peer = server.accept()[0]
    peer.recv(4096)
    peer.sendall(b"HTTP/1.1 200 OK\\r\\n\\r\\ninside")
    peer.close()
threading.Thread(target=serve, daemon=True).start()
print(get("127.0.0.1", 8080))
print(get({good!r}, 8080))
try:
    print("heard", len(socket.create_connection(({good!r}, 53), 1).recv(9)))
except OSError as error:
    print(type(error).__name__)
for place in (({lan!r}, 7171), ({own!r}, 7171), ("::1", 7171), ("127.0.0.1", 7171), ("host.local", 7171)):
    print(get(*place))
"""


def test_every_port(home):
    """Where the kernel redirects: one listener for all, in the way of no server inside. Own and private addresses stay refused."""
    note = next((note for note in run(home, "pass", "--net", "all")["notes"] if "net all" in note), "")
    if EVERY not in note:
        tap.skip("every port", "no nf_tables with tproxy for this user")
        return
    for address in (GOOD, GOOD6, LAN, OWN, LOOPBACK, "::1"):
        listen(address, 7171, web)
    out = lines(run(home, f"print(get('good.example', 7171))\nprint(get({GOOD!r}, 7171))\nprint(get({GOOD6!r}, 7171))", "--net", "all"))
    tap.ok(len(out) == 3 and not any(line.endswith("rror") for line in out), "names and addresses at any port, both families", out)
    result = run(home, "import socket\n" + INSIDE.format(good=GOOD, lan=LAN, own=OWN), "--net", "all")
    out = lines(result)
    tap.ok(len(out) == 8 and out[0] == "inside" and out[1] not in ("inside", "") and not out[1].endswith("rror"),
           "a server inside and one outside on the same port", result)
    tap.ok(out[2] != "heard 9", "port 53 is the stub's", out)
    tap.ok(all(line.endswith(("rror", "nothing")) for line in out[3:]), "neither private, own nor loopback addresses at other ports", out)
    what = [denial["what"] for denial in result["denials"]]
    tap.ok(f"connect {LAN}:7171" in what and f"connect {OWN}:7171" in what, "each is a denial with its port", what)
    out = lines(run(home, f"print(get({LAN!r}, 7171))\nprint(get({OWN!r}, 7171))", "--net", "all", "--allow", f"{LAN}:7171,{OWN}:7171"))
    tap.ok(len(out) == 2 and not any(line.endswith("rror") for line in out), "(both are there, for rules of their own)", out)
    out = lines(run(home, f"print(get('good.example', 7171))\nprint(get({GOOD!r}, 7171))\nprint(get('good.example', 80))", "--net", "all",
                    "--deny", "198.51.100.0/24:7000-7999"))
    tap.ok(len(out) == 3 and all(line.endswith("rror") for line in out[:2]) and not out[2].endswith("rror"), "deny of some ports holds", out)


def test_own(home):
    """Each address this machine has, however it came by it."""
    places = [FIRST, SECOND, f"::ffff:{SECOND}", ROUTED, FIRST6, SECOND6]
    script = "".join(f"print(get({place!r}, 80))\n" for place in places)
    exact = [word for place in (FIRST, SECOND, ROUTED, f"[{FIRST6}]", f"[{SECOND6}]") for word in ("--allow", f"{place}:80")]
    out = lines(run(home, script, *exact))
    tap.ok(len(out) == len(places) and not any(line.endswith("rror") for line in out), "(all are there, each for a rule of its own)", out)
    for flags in (("--net", "all"), ("--allow", "44.0.0.0/8:80,[2a0e::/16]:80"), ("--allow", "second.example:80")):
        out = lines(run(home, "get('second.example')\n" + script, *flags))
        tap.ok(len(out) == len(places) and all(line.endswith("rror") for line in out), f"{' '.join(flags)} reaches none of them", out)
    out = lines(run(home, "print(get('second.example'))", "--allow", "second.example:80"))
    tap.ok(out and out[0].endswith(("rror", "nothing")), "nor by a name", out)


FAR, NEAR = "44.3.0.2", "44.3.0.1"
FAR_SERVER = f"""
import socket, subprocess, sys
print("ready", flush=True)
sys.stdin.readline()
subprocess.run(["ip", "addr", "add", "{FAR}/24", "dev", "far"], check=True)
subprocess.run(["ip", "link", "set", "far", "up"], check=True)
with socket.create_server(("{FAR}", 80)) as server:
    print("ready", flush=True)
    while True:
        with server.accept()[0] as peer:
            peer.recv(4096)
            peer.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 3\\r\\nConnection: close\\r\\n\\r\\nfar")
"""


def test_far(home):
    """Another machine, at the end of a wire, with an address of the internet."""
    with subprocess.Popen(["unshare", "-n", sys.executable, "-c", FAR_SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as far:
        try:
            far.stdout.readline()
            for words in (["link", "add", "near", "type", "veth", "peer", "name", "far", "netns", str(far.pid)],
                          ["addr", "add", NEAR + "/24", "dev", "near"], ["link", "set", "near", "up"]):
                subprocess.run(["ip", *words], check=True)
            far.stdin.write("\n")
            far.stdin.flush()
            far.stdout.readline()
            out = lines(run(home, f"print(get({FAR!r}))\nprint(get({NEAR!r}))", "--net", "all"))
            tap.ok(len(out) == 2 and out[0] == "far" and out[1].endswith("rror"), "another machine is reached, this end of the wire is not", out)
        finally:
            far.kill()


def test_deny(home):
    script = f"print(get('evil.example'))\nprint(get('good.example'))\nprint(get('good.example', 8080))\nprint(get({GOOD!r}))"
    out = lines(run(home, script, "--net", "all", "--allow", "good.example:8080", "--deny", "evil.example"))
    tap.ok(len(out) == 4 and out[0].endswith("rror") and not out[1].endswith("rror") and not out[2].endswith("rror"),
           "deny holds, and rules for further ports add", out)
    script = f"print(get('lone.example'))\nprint(get({LONE!r}))\nprint(get('lone.example', 443))"
    out = lines(run(home, script, "--net", "all"))
    tap.equal(out[:2], [LONE, LONE], "(a name with an address of its own)")
    out = lines(run(home, script, "--net", "all", "--deny", "lone.example:80"))
    tap.ok(len(out) == 3 and LONE not in out[:2], "denied on one port, it is not reached there by its address either", out)


def test_word(home):
    """By flag or the user's own profile; not by a workspace's, trusted or not."""
    def net(*words):
        done = home.call("plan", "--json", *words, "--", "true")
        return json.loads(done.stdout) if done.returncode == 0 else {"net": None, "allow": [], "notes": [done.stderr]}

    os.makedirs(home.path + "/.config/aisbx/profiles", exist_ok=True)
    with open(home.path + "/.config/aisbx/profiles/open.yaml", "w") as out:
        out.write("net: all\n")
    tap.ok({"*:443", "*:1-65535"} & set(net("--profile", "open")["allow"]), "a profile of the user's own opens")
    with open(home.work + "/.aisbx.yaml", "w") as out:
        out.write("net: all\n")
    tap.equal(net()["net"], "none", "a workspace's does not")
    tap.equal(home.call("profile", "trust", ".aisbx.yaml").returncode, 0, "trusted")
    plan = net()
    tap.ok(plan["net"] == "none" and "net: all" in str(plan["notes"]), "nor when it is trusted; that is said", plan)
    with open(home.work + "/.aisbx.yaml", "w") as out:
        out.write("allow: ['https://*']\n")
    home.call("profile", "trust", ".aisbx.yaml")
    tap.ok(not any(rule.startswith("*:") for rule in net()["allow"]), "nor does a URL with every host in it", net())
    os.unlink(home.work + "/.aisbx.yaml")
    for words in (("--allow", "*"), ("--allow", "*:443"), ("--allow", "udp:*:53"), ("--allow", "http:*:80/"), ("--allow", "https://*"),
                  ("--allow", "http://*:80"), ("--allow", "*:1-65535"), ("--allow", "http:GET:*:80/")):
        done = home.call("run", *words, "--", "true")
        tap.ok(refused(done, 125, "*"), f"{' '.join(words)} is refused", done)
    done = home.call("run", "--net", "all", "--no-net", "--", "true")
    tap.ok(refused(done, 125, "contradict"), "--no-net contradicts", done)
    with open(home.path + "/srt.json", "w") as out:
        json.dump({"network": {"allowedDomains": ["*:443"], "deniedDomains": []}, "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": []}}, out)
    done = home.call("run", "--settings", home.path + "/srt.json", "--", "true")
    tap.equal(done.returncode, 125, "a settings file does not open everything")


def main():
    enter()
    NAMES.update({"own.example": OWN, "lone.example": LONE, "second.example": SECOND})
    with Home("net-all-") as home:
        build_internet(home)
        for address in (OWN, LONE):
            subprocess.run(["ip", "addr", "add", address + "/32", "dev", "lo"], check=True)
            listen(address, 80, web)
        for words in (["addr", "add", FIRST + "/24"], ["addr", "add", SECOND + "/24"], ["route", "add", "local", "44.2.0.0/16"],
                      ["addr", "add", FIRST6 + "/64", "nodad"], ["addr", "add", SECOND6 + "/64", "nodad"]):
            subprocess.run(["ip", *words, "dev", "lo"], check=True)
        for address in (FIRST, SECOND, ROUTED, FIRST6, SECOND6):
            listen(address, 80, web)
        if home.can_run(tap, "--net all"):
            for test in (test_places, test_every_port, test_own, test_far, test_deny, test_word):
                tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
