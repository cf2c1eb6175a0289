#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""image: other roots imported, run on, given away and removed; hostile archives leave nothing.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a home of its own.
"""

import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import patience  # noqa: E402
from clitest import AISBX, Home, Tap, refused  # noqa: E402

tap = Tap()
BUSYBOX = shutil.which("busybox")
ROOT = os.geteuid() == 0


def entry(name, data=b"", kind=tarfile.REGTYPE, link="", mode=0o644, **more):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode, info.size = kind, link, mode, len(data)
    for key, value in more.items():
        setattr(info, key, value)
    return info, data


def pack(path, entries, how="w"):
    with tarfile.open(path, how, format=tarfile.PAX_FORMAT) as out:
        for info, data in entries:
            out.addfile(info, io.BytesIO(data))
    return path


def root_entries():
    with open(BUSYBOX, "rb") as file:
        shell = file.read()
    return [entry("./", kind=tarfile.DIRTYPE, mode=0o755), entry("bin", kind=tarfile.DIRTYPE, mode=0o755),
            entry("bin/busybox", shell, mode=0o4755), entry("bin/sh", kind=tarfile.SYMTYPE, link="busybox"),
            entry("bin/ls", kind=tarfile.LNKTYPE, link="bin/busybox"), entry("bin/cat", kind=tarfile.SYMTYPE, link="busybox"),
            entry("etc/here", b"other\n"), entry("dev/null", kind=tarfile.CHRTYPE, devmajor=1, devminor=3),
            entry("etc/caf\u00e9\nx", b"odd\n"), entry("etc/old", b"old\n"), entry("opt/a/file", b"a\n"),
            entry("home", kind=tarfile.SYMTYPE, link="/etc"), entry("tmp", kind=tarfile.SYMTYPE, link="/etc")]


def blob(layout, data):
    digest = hashlib.sha256(data).hexdigest()
    os.makedirs(layout + "/blobs/sha256", exist_ok=True)
    with open(f"{layout}/blobs/sha256/{digest}", "wb") as out:
        out.write(data)
    return {"digest": "sha256:" + digest, "size": len(data)}


def layout_of(path, layers, config=None, twist=None):
    """An OCI layout of these archives; TWIST may change the manifest and the index."""
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    parts = []
    for layer in layers:
        with open(layer, "rb") as file:
            parts.append({"mediaType": "application/vnd.oci.image.layer.v1.tar", **blob(path, file.read())})
    whole = {"os": "linux", "config": config or {}, "rootfs": {"type": "layers", "diff_ids": []}}
    manifest = {"schemaVersion": 2, "layers": parts,
                "config": {"mediaType": "application/vnd.oci.image.config.v1+json", **blob(path, json.dumps(whole).encode())}}
    index = {"schemaVersion": 2, "manifests": []}
    if twist:
        twist(manifest, index)
    index["manifests"].append({"mediaType": "application/vnd.oci.image.manifest.v1+json",
                               **blob(path, json.dumps(manifest).encode())})
    with open(path + "/index.json", "w") as out:
        json.dump(index, out)
    with open(path + "/oci-layout", "w") as out:
        out.write('{"imageLayoutVersion":"1.0.0"}')
    return path


def left(home):
    """What the store holds of images: names, layers, drafts."""
    place = home.path + "/.local/share/aisbx/images"
    return {name: sorted(os.listdir(f"{place}/{name}")) if os.path.isdir(f"{place}/{name}") else []
            for name in ("names", "layers", "drafts")}


NOTHING = {"names": [], "layers": [], "drafts": []}


def run(home, image, script, *flags):
    return home.call("run", "--root", image, *flags, "--", "sh", "-c", script)


def test_root(home):
    archive = pack(home.path + "/tiny.tar.gz", root_entries(), "w:gz")
    row = home.data("image", "import", archive)
    tap.equal((row.get("name"), len(row.get("layers", [])), row.get("set_ids_dropped"), row.get("devices_left_out"), row.get("owners")),
              ("tiny", 1, 1, 1, "kept" if ROOT else "caller"), "a root is imported, and what was left out is counted")
    done = home.call("image", "show", "tiny")
    tap.ok("1 lost their set-id bit" in done.stdout and "1 were left out" in done.stdout and ("yours" in done.stdout) != ROOT,
           "show says so", done)
    tap.equal([one["name"] for one in home.rows("image", "ls")], ["tiny"], "ls has it")
    tap.equal(home.data("image", "import", archive).get("was_there"), True, "once more is no error")
    done = run(home, "tiny", "cat /etc/here; ls /")
    tap.equal((done.returncode, done.stdout.split()[0]), (0, "other"), "a run has its files")
    tap.ok(not {"usr", "var/lib", "boot", "root"} & set(done.stdout.split()[1:]) or "root" in home.path,
           "and none of this machine's root", done)
    home.put("mine", "1\n")
    done = run(home, "tiny", f"cat mine; cat /proc/self/comm >/dev/null && echo proc; test -c /dev/null && echo dev; echo x >/tmp/x && echo tmp; "
               f"test -e {AISBX} || echo unseen; pwd; echo $PATH; test -u /bin/busybox || echo plain; cat '/etc/caf\u00e9\nx'")
    tap.equal(done.stdout.split("\n")[:4], ["1", "proc", "dev", "tmp"], "workspace, /proc, /dev and /tmp are as always")
    tap.ok("unseen" in done.stdout and home.work in done.stdout and "plain" in done.stdout and "odd" in done.stdout,
           "nothing else of the host is", done)
    done = run(home, "tiny", "echo new >/etc/here; echo new >made; cat /etc/here")
    tap.equal((done.stdout, home.read("made"), run(home, "tiny", "cat /etc/here").stdout), ("new\n", "<No such file or directory>", "other\n"),
              "what it writes is thrown away")
    for driver in ("landlock", "bwrap", "chroot", "wasm"):
        done = run(home, "tiny", "cat /etc/here /etc/passwd", "--driver", driver)
        tap.ok(refused(done, 125, "--driver linux") and not done.stdout, f"{driver}: not on an image, and nothing of this machine instead", done)
    os.makedirs(home.path + "/.config/aisbx/profiles", exist_ok=True)
    with open(home.path + "/.config/aisbx/profiles/walled.yaml", "w") as out:
        out.write("root: tiny\ndriver: landlock\n")
    done = home.call("run", "--profile", "walled", "--", "cat", "/etc/passwd")
    tap.ok(refused(done, 125, "--driver linux") and not done.stdout, "nor where a profile says both", done)
    tap.ok(refused(home.call("run", "--root", "tinny", "--", "true"), 125, "tiny"), "a name that is none suggests one")


def test_sandbox(home):
    home.call("create", "box", "--root", "tiny")
    home.call("exec", "box", "--", "sh", "-c", "echo kept >/etc/kept; echo w >w")
    tap.equal(home.call("exec", "box", "--", "sh", "-c", "cat /etc/kept /etc/here").stdout, "kept\nother\n", "a named sandbox keeps its changes")
    tap.equal(home.call("diff", "box", "--name-status").stdout, "A\tw\n", "of the image's files none is a change of the host's")
    home.call("promote", "box")
    tap.ok(home.read("w") == "w\n" and not os.path.exists("/etc/kept"), "and none is promoted")
    home.call("snap", "box")
    home.call("exec", "box", "--", "sh", "-c", "echo later >/etc/kept; busybox rm /etc/old; busybox rm -r /opt/a; busybox mkdir -p /opt/a; echo z >/opt/a/z; echo s >secret")
    tap.ok(refused(home.call("image", "pack", "box", "--name", "packed"), 3, "stop"), "not while it runs")
    home.call("stop", "box")
    rows = [home.data("image", "pack", "box", "--name", name) for name in ("packed", "same")]
    tap.ok(rows[0].get("id") and rows[0]["id"] == rows[1].get("id") and len(rows[0]["layers"]) == 2, "a sandbox is packed, the same every time", rows)
    done = run(home, "packed", "cat /etc/kept /etc/here; ls /opt/a; ls /etc; test -e secret && echo leaked")
    tap.ok(done.stdout.startswith("later\nother\nz\n") and "old" not in done.stdout.split() and "leaked" not in done.stdout,
           "the image has what it changed, and nothing of its workspace", done)
    home.call("image", "rm", "packed", "same")
    home.call("rollback", "box", "s1")
    tap.equal(home.call("exec", "box", "--", "sh", "-c", "cat /etc/kept /etc/old").stdout, "kept\nold\n", "a rollback is of the image's files, too")
    home.call("create", "plain")
    tap.ok(refused(home.call("image", "pack", "plain", "--name", "no"), 2, "--root"), "a sandbox on this machine's root is not packed")
    home.call("rm", "plain")
    done = home.call("image", "rm", "tiny")
    tap.ok(refused(done, 4, "box"), "an image is not removed while a sandbox runs on it", done)
    home.call("rm", "box")


def test_layers(home):
    low = pack(home.path + "/low.tar", root_entries())
    high = pack(home.path + "/high.tar", [entry("etc/.wh.old"), entry("opt/a/.wh..wh..opq"), entry("opt/a/new", b"n\n"),
                                          entry(".wh.home"), entry("home/inner", b"i\n")])
    config = {"Env": ["PATH=/bin", "GREETING=hi there"], "Entrypoint": ["sh", "-c"], "Cmd": ["echo entry $GREETING"],
              "WorkingDir": "/proc/self/fd/7", "User": "0"}
    layout = layout_of(home.path + "/layout", [low, high], config)
    done = home.call("image", "import", layout, "--name", "two", "--json")
    row = json.loads(done.stdout or "{}")
    tap.ok(len(row.get("layers", [])) == 2, "an OCI layout", done)
    done = run(home, "two", "ls /etc; ls /opt/a; cat /home/inner; echo $PATH $GREETING")
    tap.ok("old" not in done.stdout.split() and "file" not in done.stdout.split() and "new" in done.stdout and done.stdout.endswith("/bin hi there\n")
           and "i\n" in done.stdout, "both kinds of deletion marks hold, and the variables are set", done)
    tap.equal(home.call("run", "--root", "two").stdout, "entry hi there\n", "without a command its own is run")
    digests = []
    for name in ("one", "other"):
        digests.append(home.data("image", "export", "two", "--oci", home.path + "/out-" + name).get("digest"))
    tap.ok(digests[0] and digests[0] == digests[1], "an export has the same digest every time", digests)
    tap.equal(len(home.data("image", "import", home.path + "/out-one", "--name", "again").get("layers", [])), 2, "and is imported again")
    tap.equal(home.data("image", "export", "again", "--oci", home.path + "/out-again").get("digest"), digests[0], "with the same digest")
    home.call("image", "export", "two", "--tar", home.path + "/flat.tar")
    with tarfile.open(home.path + "/flat.tar") as flat:
        names = flat.getnames()
    tap.ok("opt/a/new" in names and "opt/a/file" not in names and "etc/old" not in names and not any(".wh." in n for n in names),
           "as one archive the layers are merged", names)
    tap.ok(refused(home.call("image", "export", "two", "--tar", home.path + "/flat.tar"), 2, "flat.tar"), "over nothing that is there")
    bundle = home.path + "/docker.tar"
    with tarfile.open(bundle, "w") as out:
        for name in (low, high):
            out.add(name, os.path.basename(name))
        for name, data in (("c.json", json.dumps({"config": config}).encode()),
                           ("manifest.json", json.dumps([{"Config": "c.json", "Layers": ["low.tar", "high.tar"]}]).encode())):
            out.addfile(*[(info, io.BytesIO(data)) for info, data in [entry(name, data)]][0])
    tap.equal(home.data("image", "import", bundle, "--name", "docker").get("layers"), row["layers"], "a Docker archive shares the layers")
    tap.equal({one["state"] for one in home.rows("image", "verify")}, {"whole"}, "verify finds them whole")
    place = home.path + "/.local/share/aisbx/images/layers/" + row["layers"][0] + "/fs/etc/here"
    with open(place, "w") as file:
        file.write("forged\n")
    done = home.call("image", "verify", "two")
    tap.ok(done.returncode == 1 and "changed" in done.stdout, "and says when one was changed", done)
    tap.ok(refused(home.call("image", "export", "two", "--oci", home.path + "/forged"), 2, "changed") and not os.path.exists(home.path + "/forged"),
           "which is not given away")
    home.call("image", "rm", "two", "again", "docker", "tiny")
    tap.equal(left(home), NOTHING, "without images there are no layers")


HOSTILE = {
    "an absolute name": [entry("/etc/x", b"x")],
    "a name that climbs": [entry("a/../../x", b"x")],
    "a name that is only dots": [entry("..", kind=tarfile.DIRTYPE)],
    "a file through a link": [entry("l", kind=tarfile.SYMTYPE, link="@OUT@"), entry("l/x", b"x")],
    "a file through a link to a link": [entry("m", kind=tarfile.SYMTYPE, link="@OUT@"), entry("l", kind=tarfile.SYMTYPE, link="m"), entry("l/x", b"x")],
    "a hard link outward": [entry("h", kind=tarfile.LNKTYPE, link="../../../../../../../../../etc/passwd")],
    "a hard link by an absolute name": [entry("h", kind=tarfile.LNKTYPE, link="/etc/passwd")],
    "a hard link through a link": [entry("l", kind=tarfile.SYMTYPE, link="@OUT@"), entry("h", kind=tarfile.LNKTYPE, link="l/canary")],
    "a mark without a name": [entry("a/.wh.", b"")],
    "a mark that climbs": [entry("a/.wh...", b"")],
    "a directory over a file's child": [entry("f", b"x"), entry("f/x", b"x")],
    "a file in the place of a directory": [entry("d/x", b"x"), entry("d", b"x")],
    "too deep a tree": [entry("d/" * 200 + "x", b"x")],
    "a long part of a name": [entry("n" * 300, b"x")],
    "nothing": [],
}


def test_hostile(home):
    out = home.path + "/out"
    os.mkdir(out)
    home.put("../out/canary", "safe\n")
    for what, entries in HOSTILE.items():
        for info, _ in entries:
            info.linkname = info.linkname.replace("@OUT@", out)
        done = home.call("image", "import", pack(home.path + "/bad.tar", entries), "--name", "bad")
        tap.ok(refused(done, 2) and os.listdir(out) == ["canary"] and left(home) == NOTHING, f"{what}: refused, and nothing is left",
               (done, left(home)))
    archive = pack(home.path + "/twice.tar", [entry("etc/x", b"one"), entry("etc/x", kind=tarfile.SYMTYPE, link=out + "/canary"),
                                              entry("etc/x", b"two"), entry("etc/x", b"three")])
    row = home.data("image", "import", archive, "--name", "twice")
    place = home.path + "/.local/share/aisbx/images/layers/" + row["layers"][0] + "/fs/etc/x"
    with open(place) as file:
        tap.equal((file.read(), home.read("../out/canary")), ("three", "safe\n"), "of an entry that comes again the last one counts")
    home.call("image", "rm", "twice")
    for name, data in (("a text", b"no archive\n"), ("noise", os.urandom(4096)), ("half an archive", open(archive, "rb").read()[:1500])):
        with open(home.path + "/bad.tar", "wb") as file:
            file.write(data)
        done = home.call("image", "import", home.path + "/bad.tar", "--name", "bad")
        tap.ok(refused(done, 2) and left(home) == NOTHING, f"{name} is refused", (done, left(home)))
    os.mkfifo(home.path + "/fifo")
    tap.ok(refused(home.call("image", "import", home.path + "/fifo", "--name", "bad", timeout=patience(60)), 2), "a fifo is not waited for")
    huge = entry("huge", b"")[0]
    huge.pax_headers = {"GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.size": str(1 << 50), "GNU.sparse.map": "0,0"}
    done = home.call("image", "import", pack(home.path + "/bad.tar", [(huge, b"")]), "--name", "bad")
    tap.ok(refused(done, 2) and left(home) == NOTHING, "a file of a petabyte of nothing", done)


def test_bomb(home):
    """Half a gigabyte of zeros in half a megabyte."""
    path = home.path + "/bomb.tar.gz"
    maker = subprocess.run(["sh", "-c", 'mkdir "$1" && truncate -s 600M "$1/zeros" && tar -C "$1" -c zeros | gzip >"$2"; rm -r "$1"',
                            "sh", home.path + "/zeros", path], check=False)
    if maker.returncode != 0:
        tap.skip("a bomb", "tar or gzip cannot make one here")
        return
    done = home.call("image", "import", path, "--name", "bad")
    tap.ok(refused(done, 2, "bomb") and left(home) == NOTHING, "a bomb is refused, and nothing is left", done)


def test_wrong(home):
    low = pack(home.path + "/low.tar", root_entries())

    def layer(key, value):
        return lambda manifest, _: manifest["layers"][0].__setitem__(key, value)

    def as_index(manifest, _):
        manifest["manifests"] = manifest.pop("layers")

    cases = {
        "another size": layer("size", 5), "another digest": layer("digest", "sha256:" + "0" * 64),
        "another hash": layer("digest", "sha512:" + "0" * 128), "a digest that climbs": layer("digest", "sha256:../../../../etc/passwd"),
        "a kind that is not known": layer("mediaType", "text/plain"), "an index as manifest": as_index,
        "no layers": lambda manifest, _: manifest.__setitem__("layers", []),
        "ten thousand layers": lambda manifest, _: manifest.__setitem__("layers", manifest["layers"] * 10000),
        "two images": lambda _, index: index["manifests"].append({"mediaType": "application/vnd.oci.image.manifest.v1+json",
                                                                 "digest": "sha256:" + "1" * 64, "size": 3}),
    }
    for what, twist in cases.items():
        done = home.call("image", "import", layout_of(home.path + "/layout", [low], twist=twist), "--name", "bad")
        tap.ok(refused(done, 2) and left(home) == NOTHING, f"{what} is refused", (done, left(home)))
    for what, config in (("a hundred thousand variables", {"Env": ["A=1"] * 100000}), ("a variable without a name", {"Env": ["=x"]}),
                         ("an entry point that is a number", {"Entrypoint": 7})):
        done = home.call("image", "import", layout_of(home.path + "/layout", [low], config), "--name", "bad")
        tap.ok(refused(done, 2) and left(home) == NOTHING, f"{what} is refused", (done, left(home)))
    layout = layout_of(home.path + "/layout", [low])
    name = max(os.listdir(layout + "/blobs/sha256"), key=lambda one: os.path.getsize(f"{layout}/blobs/sha256/{one}"))
    with open(f"{layout}/blobs/sha256/{name}", "r+b") as file:
        file.seek(5000)
        file.write(b"!")
    tap.ok(refused(home.call("image", "import", layout, "--name", "bad"), 2, "digest") and left(home) == NOTHING, "a flipped byte is refused")
    os.unlink(f"{layout}/blobs/sha256/{name}")
    os.symlink(low, f"{layout}/blobs/sha256/{name}")
    tap.ok(refused(home.call("image", "import", layout, "--name", "bad"), 2), "a link out of the layout is not followed")


def test_init(home):
    low = pack(home.path + "/low.tar", root_entries())
    tap.equal(home.data("init", "--rootfs", low, "--name", "by-init").get("name"), "by-init", "init --rootfs imports")
    home.call("image", "rm", "by-init")
    done = home.call("init")
    tap.ok(done.returncode == 0 and home.call("profile", "check", ".aisbx.yaml").returncode == 0, "init alone writes a profile that holds", done)
    for name, wanted in (("go.mod", ["go-project", "go test ./...", "@go"]), ("package.json", ["javascript-project", "npm test", "@npm"]),
                         ("pyproject.toml", ["python-project", "pytest", "@pypi"])):
        os.unlink(home.work + "/.aisbx.yaml")
        home.put(name, "name: hostile\n")
        home.call("init")
        text = home.read(".aisbx.yaml")
        tap.ok(all(word in text for word in wanted) and "hostile" not in text, f"fitted to {name}", text)
        home.put(".aisbx.yaml", text.replace("# tests", "tests").replace("# allow", "allow"))
        tap.equal(home.call("profile", "check", ".aisbx.yaml").returncode, 0, "what it suggests can be taken")
        os.unlink(home.work + "/" + name)
    home.put(".aisbx.yaml", "mine\n")
    tap.ok(refused(home.call("init"), 3) and home.read(".aisbx.yaml") == "mine\n", "over nothing that is there")
    os.unlink(home.work + "/.aisbx.yaml")


def test_names(home):
    low = pack(home.path + "/low.tar", root_entries())
    for name in ("host", "project", "../x", "a/b", "-x", ""):
        tap.equal(home.call("image", "import", low, f"--name={name}").returncode, 2, f"'{name}' is no name")
    home.call("image", "import", low, "--name", "one")
    other = pack(home.path + "/other.tar", [entry("bin/x", b"x")])
    tap.ok(refused(home.call("image", "import", other, "--name", "one"), 3, "image rm"), "a name stands for one content")
    tap.equal([len(left(home)[key]) for key in ("names", "layers", "drafts")], [1, 1, 0] if home.rows("image", "ls") else [], "and the other one is not kept")
    home.call("image", "rm", "one")


def test_at_once(home):
    low = pack(home.path + "/low.tar", root_entries())
    both = [subprocess.Popen([AISBX, "image", "import", low, "--name", "one"], cwd=home.work, env=home.env, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL) for _ in range(4)]
    tap.equal([one.wait(timeout=300) for one in both], [0] * 4, "four imports of one image at once")
    tap.equal([len(left(home)[key]) for key in ("names", "layers", "drafts")], [1, 1, 0], "make one image")
    home.call("image", "rm", "one")


def test_killed(home):
    """Killed while it waits for the rest of an archive that never comes: a draft goes with its maker."""
    archive = pack(home.path + "/big.tar", [entry(f"f{i}", os.urandom(100000)) for i in range(200)])
    for number in (signal.SIGKILL, signal.SIGTERM):
        child = subprocess.Popen([AISBX, "image", "import", archive, "--name", "gone"], cwd=home.work, env=home.env,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while child.poll() is None and not left(home)["drafts"]:
            pass
        child.send_signal(number)
        child.wait(timeout=patience(60))
        while left(home)["drafts"]:
            pass
        rows = home.rows("image", "ls")
        tap.ok(left(home) == NOTHING or rows, f"an import that signal {number} ends leaves nothing", (rows, left(home)))
        home.call("image", "rm", "gone")


def test_synced(home):
    """A loss of power: what a name stands for was synced before, and an import that cannot sync leaves no name."""
    archive, strace, log = pack(home.path + "/low.tar", root_entries()), shutil.which("strace"), home.path + "/calls"
    if not strace or subprocess.run([strace, "-o", "/dev/null", "true"], check=False, capture_output=True).returncode != 0:
        tap.skip("what is synced", "strace cannot trace here")
        return
    for failing in ("syncfs", "fsync", None):
        inject = ["-e", f"inject={failing}:error=EIO"] if failing else []
        done = subprocess.run([strace, "-f", "-o", log, "-e", "trace=syncfs,fsync,renameat2", *inject, AISBX, "image", "import", archive,
                               "--name", "synced"], cwd=home.work, env=home.env, capture_output=True, text=True, timeout=300, check=False)
        if failing:
            tap.ok(done.returncode not in (0, 2) and "sync" in done.stderr and left(home) == NOTHING, f"without {failing} nothing is imported",
                   (done, left(home)))
    with open(log) as file:
        calls = ["name" if "names/" in line else line.split("(")[0].split()[-1] for line in file if "(" in line]
    tap.equal(calls, ["syncfs", "renameat2", "fsync", "name"], "contents are synced, then layers placed and synced, then named")
    home.call("image", "rm", "synced")


def test_full(home):
    """A disk that is full: the error is the machine's, and nothing is left."""
    place = home.path + "/.local/share/aisbx"
    if not ROOT or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", place], check=False, capture_output=True).returncode != 0:
        tap.skip("a full disk", "a small file system can be mounted by root only")
        return
    try:
        os.chmod(place, 0o700)
        archive = pack(home.path + "/big.tar", [entry(f"f{i}", os.urandom(100000)) for i in range(50)])
        done = home.call("image", "import", archive, "--name", "full")
        tap.ok(done.returncode not in (0, 2) and "space" in done.stderr and left(home) == NOTHING, "a full disk leaves nothing", (done, left(home)))
    finally:
        subprocess.run(["umount", "-l", place], check=False)


def main():
    if not BUSYBOX:
        tap.skip("images", "busybox is not installed")
        return tap.done()
    with Home("aisbx-image-") as home:
        home.call("image", "ls")
        test_hostile(home)
        test_wrong(home)
        test_bomb(home)
        test_names(home)
        test_init(home)
        test_at_once(home)
        test_killed(home)
        test_synced(home)
        test_full(home)
        if home.can_run(tap, "runs on images"):
            test_root(home)
            test_sandbox(home)
            test_layers(home)
    return tap.done()


sys.exit(main())
