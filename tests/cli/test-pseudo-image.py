#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pseudo-images: put together by hand, imported, run on with what they permit, and given away again.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a home of its own.
"""
import filecmp
import hashlib
import io
import json
import os
import shutil
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from clitest import Home, Tap, refused  # noqa: E402

tap = Tap()
BUSYBOX = shutil.which("busybox")
NOTHING = {"names": [], "layers": [], "drafts": []}
POLICY = {"limits": {"mem": "64m", "pids": 40, "cpu": 0.5, "time": "30s"}, "network": {"net": "none"}}


def left(home):
    """What the store holds of images: names, layers, drafts."""
    place = home.path + "/.local/share/aisbx/images"
    return {name: sorted(os.listdir(f"{place}/{name}")) if os.path.isdir(f"{place}/{name}") else [] for name in NOTHING}


def layer(place, files):
    """A layer of these files, under its digest."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.mode, info.size = 0o755, len(data)
            tar.addfile(info, io.BytesIO(data))
    digest = hashlib.sha256(out.getvalue()).hexdigest()
    os.makedirs(place + "/layers", exist_ok=True)
    with open(f"{place}/layers/{digest}.tar", "wb") as file:
        file.write(out.getvalue())
    return "sha256:" + digest


def busybox():
    with open(BUSYBOX, "rb") as file:
        shell = file.read()
    return {name: shell for name in ("bin/sh", "bin/cat", "bin/ls")}


def build(home, name, yaml=None, policy=None, layers=({"etc/one": b"1\n"},)):
    """A directory with a pseudo-image; YAML are keys beside its layers."""
    place = os.path.join(home.path, name)
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place + "/layers")
    what = {"layers": [layer(place, files) for files in layers], **(yaml or {})}
    with open(place + "/image.yaml", "w") as file:
        file.write("".join(f"{key}: {json.dumps(value)}\n" for key, value in what.items() if value is not None))
    if policy is not None:
        with open(place + "/policy.json", "w") as file:
            file.write(policy if isinstance(policy, str) else json.dumps(policy))
    return place


def same(one, other):
    found = filecmp.dircmp(one, other)
    names = sorted(os.listdir(one + "/layers"))
    return (not found.left_only and not found.right_only and not found.diff_files
            and filecmp.cmpfiles(one + "/layers", other + "/layers", names, shallow=False) == (names, [], []))


def test_way(home):
    place = build(home, "Mine.d", {"name": "mine", "version": "1.10", "env": ["GREETING=hi \"there\"\n"], "entrypoint": ["cat", "/etc/one"]},
                  POLICY, [{"etc/one": b"1\n", "etc/two": b"2\n"}, {"etc/.wh.two": b"", "etc/one": b"new\n"}])
    row = home.data("image", "import", place)
    tap.equal((row.get("name"), row.get("version"), len(row.get("layers", [])), row.get("entrypoint"), row.get("env")),
              ("mine", "1.10", 2, ["cat", "/etc/one"], ["GREETING=hi \"there\"\n"]), "a directory is imported, by the name it says")
    tap.equal(sorted(row.get("policy", [])), ["cpu=0.5", "mem=64m", "net=none", "pids=40", "time=30s"], "with its policy")
    shown = home.call("image", "show", "mine").stdout
    tap.ok("version     1.10\n" in shown and "net=none" in shown, "show has them", shown)
    digests = [home.data("image", "export", "mine", "--dir", f"{home.path}/{name}").get("digest") for name in ("a", "b")]
    tap.ok(digests[0] and digests[0] == digests[1] and same(home.path + "/a", home.path + "/b"), "twice the same bytes go out", digests)
    home.call("image", "rm", "mine")
    with tarfile.open(home.path + "/packed.tar", "w") as tar:
        tar.add(home.path + "/a", arcname=".")
    row = home.data("image", "import", home.path + "/packed.tar")
    tap.equal((row.get("name"), row.get("version"), row.get("entrypoint"), sorted(row.get("policy", []))[1:3]),
              ("mine", "1.10", ["cat", "/etc/one"], ["mem=64m", "net=none"]), "they come in again, from an archive")
    tap.equal(home.data("image", "export", "mine", "--dir", home.path + "/c").get("digest"), digests[0], "and go out as they were")
    tap.ok(refused(home.call("image", "export", "mine", "--dir", home.path + "/c"), 2), "over nothing that is there")
    tap.ok(refused(home.call("image", "export", "mine", "--dir", home.path + "/d", "--oci", home.path + "/e"), 2), "one form at a time")
    done = home.data("image", "import", build(home, "other", {"name": "mine"}), "--name", "named")
    tap.equal(done.get("name"), "named", "--name is the caller's word")
    row = home.data("image", "import", build(home, "child", {"base": "mine@sha256:" + home.data("image", "show", "mine")["id"], "env": ["MORE=1"]},
                                             {"limits": {"mem": "1g", "pids": 20}}, [{"etc/three": b"3\n"}]))
    tap.ok((len(row["layers"]), row["env"][1:], row["entrypoint"]) == (3, ["MORE=1"], ["cat", "/etc/one"])
           and {"mem=64m", "pids=20", "net=none"} <= set(row["policy"]), "a base comes first; its policy is only narrowed", row)
    home.call("image", "rm", "mine", "named", "child")
    tap.equal(left(home), NOTHING, "nothing is left of all that")


def spec(home, image, *flags):
    done = home.call("plan", "--json", *(["--root", image] if image else []), *flags, "--", "true")
    return json.loads(done.stdout) if done.returncode == 0 else done


def test_policy(home):
    home.call("image", "import", build(home, "tight", None, {**POLICY, "seccomp": {"syscalls": ["read", "write"]}}))
    home.call("image", "import", build(home, "quiet", None, {"network": {"deny": ["example.org:443"]}}))
    home.call("image", "import", build(home, "wide", None, {"limits": {"mem": "900t"}}))
    plain, given = spec(home, "tight"), spec(home, "tight", "--mem", "128m", "--pids", "39", "--allow", "example.org", "--net", "allow")
    tap.ok(plain["limits"]["mem_bytes"] == given["limits"]["mem_bytes"] == 64 << 20 and plain["limits"]["pids"] == 40
           and given["limits"]["pids"] == 39, "a flag asks for less, not for more", (plain["limits"], given["limits"]))
    tap.ok(given["net"] == "none" and not given["allow"], "and for no network", given["net"])
    tap.ok("net" in plain and plain["syscalls"] == ["read", "write"], "calls are those of the policy", plain.get("syscalls"))
    quiet = spec(home, "quiet", "--allow", "example.org", "--publish", "8080:80")
    tap.ok(quiet["net"] == "allow" and "example.org:443" in quiet["deny"], "what it denies is denied", quiet)
    tap.ok(spec(home, "tight", "--publish", "8080:80")["net"] == "none", "a published port brings no network")
    host = spec(home, None)["limits"]["mem_bytes"]
    tap.ok(spec(home, "wide")["limits"]["mem_bytes"] <= host, "a limit above the default lifts nothing")
    home.call("image", "rm", "tight", "quiet", "wide")


def test_refused(home):
    cases = {
        "an unknown key": ({"digest": "x"}, None, "digest"), "a name that is none": ({"name": "../up"}, None, ""),
        "a digest that climbs": ({"layers": ["sha256:../../../../etc/passwd"]}, None, "digest"),
        "a layer that is not there": ({"layers": ["sha256:" + "0" * 64]}, None, "layer 1"),
        "neither layers nor base": ({"layers": None, "version": "1"}, None, "base"), "five hundred layers": ({"layers": ["sha256:" + "0" * 64] * 500}, None, "layers"),
        "a hundred thousand variables": ({"env": ["A=1"] * 100000}, None, ""), "a variable without a name": ({"env": ["=1"]}, None, "NAME=VALUE"),
        "an entry point that is a number": ({"entrypoint": 7}, None, "entrypoint"),
        "a policy that is named and not there": ({"policy": "sha256:" + "0" * 64}, None, "policy.json"),
        "another policy than is named": ({"policy": "sha256:" + "0" * 64}, {}, "digest"),
        "net: allow": (None, {"network": {"net": "allow"}}, "network.net"), "rules to allow": (None, {"network": {"allow": ["a.b"]}}, "network.allow"),
        "a mount": (None, {"mounts": [{"host": "/", "guest": "/h"}]}, "mounts"), "a limit that is a rule": (None, {"limits": {"allow": "a.b"}}, "allow"),
        "a variable as limit": (None, {"limits": {"env": "A=1"}}, "env"), "net as limit": (None, {"limits": {"net": "all"}}, "limits.net"),
        "a driver": (None, {"limits": {"driver": "landlock"}}, "driver"), "a filter's file": (None, {"seccomp": {"profile": "/x"}}, "seccomp.profile"),
        "no calls": (None, {"seccomp": {"syscalls": []}}, "syscalls"), "a limit that is a list": (None, {"limits": {"mem": ["1g"]}}, "limits.mem"),
        "memory that is none": (None, {"limits": {"mem": "much"}}, "mem"), "half a policy": (None, '{"limits": {', "policy.json"),
        "the same twice": (None, '{"limits": {}, "limits": {}}', "policy.json"), "a policy that is a list": (None, "[]", "policy.json"),
        "a deep policy": (None, '{"limits":' * 100000 + "1" + "}" * 100000, "policy.json"),
    }
    for what, (yaml, policy, word) in cases.items():
        done = home.call("image", "import", build(home, "bad", yaml, policy))
        tap.ok(done.returncode == 2 and word in done.stdout + done.stderr and left(home) == NOTHING, f"{what} is refused, and named", (done, left(home)))
    done = home.call("image", "import", build(home, "bad", {"base": "none"}))
    tap.ok(refused(done, 5, "none") and left(home) == NOTHING, "a base that is not there", done)
    place = build(home, "bad")
    name = f"{place}/layers/" + os.listdir(place + "/layers")[0]
    with open(name, "r+b") as file:
        file.seek(600)
        file.write(b"!")
    tap.ok(refused(home.call("image", "import", place), 2, "digest") and left(home) == NOTHING, "a flipped byte is refused")
    os.unlink(name)
    os.symlink(home.path + "/other.tar", name)
    tap.ok(refused(home.call("image", "import", place), 2) and left(home) == NOTHING, "a link out of it is not followed")
    place = build(home, "bad")
    os.remove(place + "/image.yaml")
    os.mkfifo(place + "/image.yaml")
    tap.ok(refused(home.call("image", "import", place), 2), "a fifo is not waited for")
    for what, text in (("an alias", "a: &x [1]\nlayers: *x\n"), ("noise", "\0\1\2"), ("a deep file", "layers: " + "[" * 5000), ("nothing", "")):
        os.remove(place + "/image.yaml")
        with open(place + "/image.yaml", "w") as file:
            file.write(text)
        done = home.call("image", "import", place)
        tap.ok(refused(done, 2, "image.yaml") and left(home) == NOTHING, f"{what} as image.yaml is refused", done)
    home.call("image", "import", build(home, "low"))
    done = home.call("image", "import", build(home, "bad", {"base": "low@sha256:" + "0" * 64}))
    tap.ok(refused(done, 3, "another"), "a base that is another one", done)
    home.call("image", "rm", "low")


def test_runs(home):
    if not BUSYBOX:
        tap.skip("runs on pseudo-images", "busybox is not installed")
        return
    home.call("image", "import", build(home, "run", {"env": ["GREETING=hi"], "entrypoint": ["sh", "-c", "echo $GREETING; cat /etc/one"]},
                                       {"limits": {"nofile": 32}, "network": {"net": "none"}}, [{**busybox(), "etc/one": b"1\n"}]))
    tap.equal(home.call("run", "--root", "run").stdout, "hi\n1\n", "a run has its files, variables and entry point")
    done = home.call("run", "--root", "run", "--nofile", "1000", "--", "sh", "-c", "ulimit -n; ulimit -Hn")
    tap.equal(done.stdout.split(), ["32", "32"], "and no more than its policy permits")
    home.call("create", "box", "--root", "run")
    tap.equal(home.call("exec", "box", "--", "sh", "-c", "ulimit -n").stdout, "32\n", "nor has a named sandbox")
    done = home.call("allow", "box", "net:egress:example.org:443")
    tap.ok(refused(done, 4, "net: none") and home.data("net", "box")["net"] == "none", "a rule given later opens nothing", done)
    home.call("exec", "box", "--", "sh", "-c", "echo 2 >/etc/two")
    home.call("stop", "box")
    row = home.data("image", "pack", "box", "--name", "packed")
    tap.ok("nofile=32" in row.get("policy", []), "what is packed of it keeps the policy", row)
    digests = [home.data("image", "export", "packed", "--dir", f"{home.path}/{name}").get("digest") for name in ("p", "q")]
    tap.ok(digests[0] and digests[0] == digests[1], "and goes out the same every time", digests)


def main():
    with Home("aisbx-pseudo-") as home:
        for test in (test_refused, test_way, test_policy):
            tap.attempt(test, home)
        if home.can_run(tap, "runs on pseudo-images"):
            tap.attempt(test_runs, home)
    return tap.done()


sys.exit(main())
