#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a clone is: same files, same ids, same place, own kernel directories; and what becomes of changes."""
import ctypes
import errno
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import time
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from aisbxtest import Suite
import canary
from box import patience
from family import descendants

suite = Suite("behaviour of run", needs_attack=False, both_users=False)


def sh(t, script, **kw):
    return t.box.run("sh", "-c", script, **kw)


@suite.case("R01", "the clone holds the same files")
def same_files(t):
    result = sh(t, "cat /etc/os-release; ls /usr/bin | wc -l; md5sum < /bin/sh; cat /etc/passwd | md5sum; ls -d /*")
    host = subprocess.run(["sh", "-c", "cat /etc/os-release; ls /usr/bin | wc -l; md5sum < /bin/sh; cat /etc/passwd | md5sum"],
                          capture_output=True, text=True).stdout
    t.ok(result.out.startswith(host), "files of the system", result)
    for name in ("usr", "etc", "var", "tmp", "proc", "dev", "bin"):
        t.ok(f"/{name}" in result.out.split(), f"/{name} is there", result.out)


@suite.case("R02", "same ids, same owners")
def same_ids(t):
    t.caller.put("mine", "x")
    result = sh(t, "id -u; id -g; stat -c %u mine; stat -c %u /etc/passwd; stat -c %a mine")
    uid = str(t.caller.uid)
    lines = result.out.split()
    t.equal(lines[:3], [uid, str(os.getegid()), uid], f"ids: {result}")
    if t.caller.uid == 0:
        t.equal(lines[3], "0", "owner of a system file")


@suite.case("R03", "same directory")
def same_directory(t):
    inner = os.path.dirname(t.caller.put("a/b/file", "x"))
    t.equal(sh(t, "pwd", cwd=inner).out.strip(), inner, "started in a directory of the workspace")
    t.equal(sh(t, "pwd", cwd="/").out.strip(), t.caller.workspace, "started elsewhere")
    link = os.path.join(t.caller.dir, "link-to-workspace")
    if not os.path.islink(link):
        os.symlink(t.caller.workspace, link)
    t.equal(sh(t, "pwd; ls a/b", workspace=link).out.split(), [t.caller.workspace, "file"], "workspace by a link")


@suite.case("R04", "environment by allow-list")
def environment(t):
    extra = {"LC_ALL": "C", "TZ": "UTC", "CI": "true", "SECRET_THING": "no", "LD_DEBUG_OUTPUT": "no", "VIRTUAL_ENV": "/usr",
             "GOPATH": t.caller.home + "/Documents"}
    result = sh(t, "env", env=extra)
    env = dict(line.split("=", 1) for line in result.out.splitlines() if "=" in line)
    for key in ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "CI", "AISBX", "AISBX_SANDBOX"):
        t.ok(key in env, f"{key} is kept", sorted(env))
    t.equal(env["VIRTUAL_ENV"], "/usr", "a place of tools that is visible")
    for key in ("SECRET_THING", "LD_DEBUG_OUTPUT", "GOPATH", "XDG_STATE_HOME", "TMPDIR"):
        t.ok(key not in env, f"{key} is not kept", env.get(key))
    t.equal(env["HOME"], t.caller.home, "HOME")


@suite.case("R05", "fresh /tmp, /run, /dev, /proc; policy readable")
def fresh_places(t):
    result = sh(t, "ls -A /tmp; stat -c %a /tmp; echo x > /tmp/y && cat /tmp/y; cat /proc/1/comm 2>/dev/null; "
                   "echo x > /dev/null && head -c 4 /dev/zero | wc -c; head -c 4 /dev/urandom | wc -c; echo x > /dev/full || echo full")
    t.ok(result.out.startswith("1777\nx\n"), "/tmp is empty and writable", result)
    t.ok("4\n4\nfull" in result.out, "devices work", result)
    policy = sh(t, "cat /run/aisbx/policy.json")
    t.ok(isinstance(json.loads(policy.out), dict), "the policy is one object", policy)
    shm = sh(t, "echo x > /dev/shm/y && cat /dev/shm/y; ls -l /dev/fd /dev/stdin | wc -l")
    t.ok(shm.out.startswith("x\n"), "/dev/shm is writable", shm)


@suite.case("R06", "changes stay inside and are counted")
def changes(t):
    t.caller.put("kept", "one\n")
    t.caller.put("gone", "one\n")
    t.caller.put("sub/inner", "one\n")
    before = canary.tree(t.caller.workspace)
    result = sh(t, "echo two >> kept; rm gone; echo new > added; mkdir d; echo new > d/added; echo x > /tmp/outside")
    t.equal(result.code, 0, f"ran: {result}")
    counts = result.json["changes"]
    t.equal((counts["modified"], counts["deleted"]), (1, 1), f"counts {counts}")
    t.ok(counts["added"] in (2, 3), "added", counts)
    t.equal(list(canary.differences(before, canary.tree(t.caller.workspace))), [], "the workspace on the host")
    t.equal(sh(t, "true").json["changes"], {"added": 0, "modified": 0, "deleted": 0}, "a run that changes nothing")


@suite.case("R07", "directories can be renamed, links kept, special files copied")
def lower_shapes(t):
    t.caller.put("old/one", "1\n")
    t.caller.put("old/deep/two", "2\n")
    t.caller.put("hard-a", "linked\n")
    if not os.path.exists(t.caller.workspace + "/hard-b"):
        os.link(t.caller.workspace + "/hard-a", t.caller.workspace + "/hard-b")
        os.symlink("hard-a", t.caller.workspace + "/soft")
        os.mkfifo(t.caller.workspace + "/fifo")
        t.caller.own(t.caller.workspace + "/fifo")
        here = os.getcwd()
        os.chdir(t.caller.workspace)
        one = socket.socket(socket.AF_UNIX)
        one.bind("sock")
        one.close()
        os.chdir(here)
    before = canary.tree(t.caller.workspace)
    result = sh(t, "mv old new && cat new/one new/deep/two && rmdir old 2>/dev/null; mv new/deep new/deeper && cat new/deeper/two; "
                   "cat soft; echo more >> hard-a; cat hard-b; test -p fifo && test -S sock && echo special; "
                   "(echo through > fifo &) ; cat fifo; ln hard-a hard-c && cat hard-c; rm -r new; ls -d old new 2>/dev/null; exit 0")
    t.ok(result.out.startswith("1\n2\n2\nlinked\n"), "renamed directories read on", result)
    t.ok("special\nthrough\n" in result.out, "fifo and socket", result)
    t.ok("new" not in result.out.split("more")[-1], "removed at the end", result)
    t.equal(list(canary.differences(before, canary.tree(t.caller.workspace))), [], "the workspace on the host")


def du(path):
    return subprocess.run(["du", "-sx", "--apparent-size", "--block-size=1", path], capture_output=True, text=True)


@suite.case("R08", "du -x sees the same tree")
def same_usage(t):
    for number in range(40):
        t.caller.put(f"tree/d{number % 7}/f{number}", "x" * (number * 100))
    script = "find {0} -xdev | wc -l; find {0} -xdev -type f -printf '%s\\n' | awk '{{s+=$1}} END {{print s}}'; du -ax {0} | wc -l"
    for path in [t.caller.workspace + "/tree", "/usr/share/doc/base-files", "/usr/include/linux"]:
        if not os.path.isdir(path):
            continue
        host = subprocess.run(["sh", "-c", script.format(path)], capture_output=True, text=True).stdout
        t.equal(sh(t, script.format(path)).out, host, f"names and bytes below {path}")
    devices = sh(t, f"stat -c %d {t.caller.workspace} {t.caller.workspace}/tree/d1 {t.caller.workspace}/tree/d1/f1").out.split()
    t.equal(len(set(devices)), 1, f"one device number for files and directories {devices}")


@suite.case("R09", "records of the run")
def records(t):
    result = sh(t, "exit 3", flags=["--trace", "trace-0815"])
    t.equal((result.code, result.json["trace_id"]), (3, "trace-0815"), f"trace: {result}")
    spool = os.path.join(t.caller.env["XDG_STATE_HOME"], "aisbx", "spool")
    with open(spool, "rb") as file:
        data = file.read()
    t.equal(data.count(result.json["run_id"].encode()), 2, "START and END carry the run's id")
    t.equal(os.stat(spool).st_mode & 0o77, 0, "nobody else reads the spool")
    t.equal(os.stat(os.path.dirname(spool)).st_mode & 0o77, 0, "nobody else enters the state directory")


@suite.case("R10", "a state directory that cannot be used is one clear line")
def bad_state(t):
    path = t.caller.put_at(os.path.join(t.caller.dir, "a-file"), "x")
    result = t.box.run("true", env={"XDG_STATE_HOME": path}, as_json=False)
    t.equal(result.code, 125, f"refused: {result}")
    t.ok(0 < len(result.err.strip().splitlines()) <= 3, "said in a line or two", result.err)
    if t.caller.uid != 0:
        closed = os.path.join(t.caller.dir, "closed")
        os.mkdir(closed, 0o500)
        result = t.box.run("true", env={"XDG_STATE_HOME": closed}, as_json=False)
        t.equal(result.code, 125, f"refused: {result}")
        t.ok(closed in result.err, "the directory is named", result.err)


@suite.case("R11", "many at once do not see each other")
def concurrent(t):
    t.caller.put("shared", "start\n")
    outs = [None] * 12

    def one(number):
        outs[number] = sh(t, f"echo {number} > shared; echo {number} > /tmp/x; sleep 0.3; cat shared /tmp/x; exit {number}")
    threads = [threading.Thread(target=one, args=(n,)) for n in range(len(outs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, result in enumerate(outs):
        t.equal((result.code, result.out), (number, f"{number}\n{number}\n"), f"run {number}: {result}")
    t.equal(len({r.json["run_id"] for r in outs}), len(outs), "every run has an id of its own")
    t.equal(len({r.json["sandbox"] for r in outs}), len(outs), "every sandbox has a name of its own")


@suite.case("R12", "layers, degradation, isolation")
def layers(t):
    result = sh(t, "true")
    for layer in "user mount pid net ipc uts seccomp overlay".split():
        t.ok(layer in result.json["layers"], f"{layer} holds", result.json["layers"])
    t.equal((result.json["isolation"], result.json["driver"]), ("namespaces", "linux"), "isolation")
    t.ok(not set(result.json["layers"]) & set(result.json["degraded"]), "a layer holds or is degraded", result.json)
    for layer in result.json["degraded"]:
        refused = sh(t, "true", flags=["--require", layer])
        t.equal(refused.code, 125, f"--require {layer} refuses: {refused}")
    plain = t.box.run("true", as_json=False)
    for layer in result.json["degraded"]:
        t.ok(layer in plain.err, f"{layer} is named on stderr", plain.err)


@suite.case("R13", "other roots and profiles")
def other_roots(t):
    t.caller.put("file", "content\n")
    result = sh(t, "cat file; echo x > new; cat new", flags=["--root", "project"])
    t.equal((result.code, result.out), (0, "content\nx\n"), f"--root project: {result}")
    t.ok(not os.path.exists(t.caller.workspace + "/new"), "the host is untouched")
    mode = os.stat(t.caller.home).st_mode & 0o7777
    os.chmod(t.caller.home, 0o700)
    try:
        result = sh(t, "cat file", flags=["--root", "project"])
    finally:
        os.chmod(t.caller.home, mode)
    t.equal((result.code, result.out), (0, "content\n"), f"below a closed home: {result}")
    t.caller.put("closed", "mine\n", mode=0o600)
    result = sh(t, "stat -c '%u %g %a' closed . / /usr; cat closed; echo more >> closed && cat closed; "
                "mkdir d && echo in > d/f && mv d e && cat e/f", flags=["--root", "project"])
    owner = f"{t.caller.uid} {os.getegid()}"
    lines = result.out.splitlines()
    t.equal((result.code, lines[:2]), (0, [f"{owner} 600", f"{owner} {os.stat(t.caller.workspace).st_mode & 0o7777:o}"]), f"owners: {result}")
    t.ok(t.caller.uid or lines[2:4] == ["0 0 755", "0 0 755"], "root sees root's system", lines)
    t.equal(lines[4:], ["mine", "mine", "more", "in"], f"closed files and renames: {result}")


@suite.case("R23", "the caller's umask does not show inside")
def umask_is_the_callers(t):
    t.caller.put("file", "content\n")
    for root in ("host", "project"):
        seen = []
        for mask in (0, 0o077):
            # What is hidden differs, so that no layer of an earlier run is used.
            flags = ["--root", root, "--hide", f"/opt/none-{mask}"]
            result = t.box.run("stat", "-c", "%a %n", "/", "/etc", "/usr", ".", flags=flags, umask=mask)
            seen.append((result.code, result.out))
        t.ok(seen[0] == seen[1] and seen[0][0] == 0, f"--root {root}", seen)


@suite.case("R24", "the workspace's own time is today's also with a layer of an earlier run")
def workspace_time(t):
    t.caller.put(".env", "secret\n")
    told = []
    # What depends on changes of the last two seconds is not kept.
    time.sleep(2.2)
    for number in range(3):
        os.utime(t.caller.workspace, (1700000000 + number, 1700000000 + number))
        result = sh(t, "stat -c %Y .", flags=["--workspace-secrets", "mask"])
        told.append((result.code, result.out.strip()))
    t.equal(told, [(0, str(1700000000 + number)) for number in range(3)], "three runs")
    for profile in ("default", "strict", "dev"):
        result = sh(t, "cat file", flags=["--profile", profile])
        t.equal((result.code, result.out), (0, "content\n"), f"--profile {profile}: {result}")


@suite.case("R14", "files of the system: root's own in the clone, read-only for others")
def system_files(t):
    result = sh(t, "echo '# mine' >> /etc/hosts && tail -1 /etc/hosts; : > /usr/bin/new-program && ls /usr/bin/new-program; exit 0")
    if t.caller.uid == 0:
        t.equal(result.out, "# mine\n/usr/bin/new-program\n", f"root edits its copy: {result}")
    else:
        t.equal(result.out, "", f"others do not: {result}")
    t.ok(not os.path.exists("/usr/bin/new-program"), "the host's is untouched")
    with open("/etc/hosts") as file:
        t.ok("# mine" not in file.read(), "the host's /etc/hosts")


def mounted(t, setup, command):
    """Runs COMMAND (of aisbx) in a mount namespace of our own in which SETUP was done."""
    script = f"set -e; {setup}; exec \"$@\""
    done = subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh"] + t.box.argv(command), cwd=t.caller.workspace,
                          env=t.caller.env, capture_output=True, timeout=patience(60))
    from box import Result
    return Result(done.returncode, done.stdout, done.stderr, True)


def need_mapped_tmpfs(t):
    """Before 6.3 a tmpfs cannot be shown with other ids, so a root caller's clone has it for reading at most."""
    if tuple(map(int, os.uname().release.split(".")[:2])) < (6, 3):
        t.skip("this kernel cannot map the ids of a tmpfs")


@suite.case("R15", "separate mounts are part of the clone")
def separate_mounts(t):
    if os.geteuid() != 0:
        t.skip("mounting needs root")
    need_mapped_tmpfs(t)
    point = os.path.join(t.caller.workspace, "mounted")
    os.makedirs(point, exist_ok=True)
    other = os.path.join("/opt", f"aisbxtest-mount-{os.getpid()}")
    os.makedirs(other, exist_ok=True)
    try:
        for place in (point, other):
            result = mounted(t, f"mount -t tmpfs none {place}; echo inner > {place}/file",
                             ["sh", "-c", f"cat {place}/file; echo more >> {place}/file; cat {place}/file; mkdir {place}/made; rm {place}/file; ls {place}"])
            t.equal((result.code, result.out), (0, "inner\ninner\nmore\nmade\n"), f"tmpfs on {place}: {result}")
            result = mounted(t, f"mount -t tmpfs none {place}; echo inner > {place}/file; mount -o remount,ro {place}",
                             ["sh", "-c", f"cat {place}/file; echo x >> {place}/file || echo kept"])
            t.ok(result.out.startswith("inner\n"), f"read-only tmpfs on {place}", result)
    finally:
        os.rmdir(other)


@suite.case("R15b", "a loop-mounted filesystem is part of the clone")
def loop_mount(t):
    if os.geteuid() != 0 or not shutil.which("mkfs.ext4") or not os.path.exists("/dev/loop-control"):
        t.skip("needs root, mkfs.ext4 and loop devices")
    image = os.path.join(t.caller.dir, "image")
    point = os.path.join("/opt", f"aisbxtest-loop-{os.getpid()}")
    os.makedirs(point, exist_ok=True)
    subprocess.run(["truncate", "-s", "8M", image], check=True)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    try:
        result = mounted(t, f"mount -o loop {image} {point}; echo inner > {point}/file; mkdir {point}/dir",
                         ["sh", "-c", f"cat {point}/file; echo x > {point}/file; rm -r {point}/dir; mv {point}/file {point}/g; cat {point}/g; rm -rf {point}/*"])
        t.equal((result.code, result.out), (0, "inner\nx\n"), f"ext4 on a loop device: {result}")
        # the sandbox's mounts go behind the answer, and until then the device is busy
        for _ in range(600):
            check = subprocess.run(["unshare", "-m", "sh", "-c", f"mount -o loop,ro {image} {point} && cat {point}/file && ls -d {point}/dir"],
                                   capture_output=True, text=True)
            if check.returncode != 32:
                break
            time.sleep(0.1)
        t.equal(check.stdout.splitlines()[:1], ["inner"], f"the filesystem on the host: {check}")
    finally:
        os.rmdir(point)
        os.unlink(image)


@suite.case("R16", "a workspace below a fresh directory shows, its neighbours do not")
def workspace_in_tmp(t):
    import tempfile
    if t.caller.uid == 0 and os.path.ismount("/tmp"):
        need_mapped_tmpfs(t)
    top = tempfile.mkdtemp(prefix="aisbxtest-ws-", dir="/tmp")
    try:
        os.chmod(top, 0o755)
        inner = os.path.join(top, "ws")
        os.mkdir(inner)
        t.caller.put_at(os.path.join(inner, "file"), "content\n")
        t.caller.put_at(os.path.join(top, "beside"), "hidden\n")
        t.caller.own(top)
        result = t.box.run("sh", "-c", "cat file; cat ../beside; ls -A ..; ls -A /tmp", workspace=inner)
        t.ok(result.out.startswith("content\n") and "hidden" not in result.out and "beside" not in result.out, "view", result)
    finally:
        shutil.rmtree(top)


@suite.case("R17", "a sandbox in a sandbox is refused, not a hang")
def nested(t):
    program = t.caller.workspace + "/aisbx-copy"
    shutil.copy2(t.caller.program, program)
    result = t.box.run("./aisbx-copy", "run", "--", "true", timeout=20)
    advice = t.box.run("./aisbx-copy", "doctor", timeout=20)
    os.unlink(program)
    t.equal(result.code, 125, f"refused: {result}")
    t.ok("this is a sandbox already" in result.err_inside, "says why", result)
    t.ok("sandbox of aisbx already" in advice.out and "sysctl -w user.max" not in advice.out, "and what to do", advice.out)


@suite.case("R18", "the home's tool chains are visible, the rest is not")
def home_view(t):
    t.caller.put_at(t.caller.home + "/.pyenv/version", "3.12\n")
    t.caller.put_at(t.caller.home + "/.cargo/bin/cargo", "#!/bin/sh\necho cargo\n", 0o755)
    t.caller.put_at(t.caller.home + "/.cargo/credentials.toml", "CANARY\n")
    t.caller.put_at(t.caller.home + "/notes.txt", "CANARY\n")
    t.caller.put_at(t.caller.home + "/.gitconfig", "[user]\n\tname = A Name\n\temail = a@example.org\n[credential]\n\thelper = CANARY\n")
    result = sh(t, "cat ~/.pyenv/version; ~/.cargo/bin/cargo; cat ~/.gitconfig; cat ~/notes.txt ~/.cargo/credentials.toml; "
                   "echo mine > ~/new && cat ~/new; mkdir -p ~/.ssh && ls -A ~/.ssh; exit 0")
    t.ok(result.out.startswith("3.12\ncargo\n"), "tool chains", result)
    t.ok("CANARY" not in result.out, "nothing else", result)
    t.ok("A Name" in result.out and "a@example.org" in result.out, "who commits is known", result)
    t.ok("mine\n" in result.out, "the home is writable", result)
    t.ok(not os.path.exists(t.caller.home + "/new"), "the host's home is untouched")


@suite.case("R22", "names that mount options would stumble over")
def odd_names(t):
    for name in ("a,b", "c:d", "e\\f", "g h", "new\nline", "ü-ö", "-C", "upperdir=x,lowerdir=y", "x" * 200, "%s%n", "[glob]*?"):
        where = os.path.join(t.caller.workspace, name)
        os.makedirs(os.path.join(where, "inner"), exist_ok=True)
        t.caller.put_at(os.path.join(where, "inner", "file"), "content\n")
        t.caller.own(where)
        before = canary.tree(where)
        result = t.box.run("sh", "-c", "cat inner/file; echo more >> inner/file; cat inner/file; mv inner moved && cat moved/file; pwd",
                           workspace=where)
        t.equal((result.code, result.out), (0, "content\ncontent\nmore\ncontent\nmore\n" + where + "\n"), f"workspace {name!r}: {result}")
        t.equal(list(canary.differences(before, canary.tree(where))), [], f"{name!r} on the host")
        shutil.rmtree(where)


def around(t, argv, command, flags=()):
    """A call of the program by way of ARGV, a program that changes its surroundings first."""
    from box import Result
    done = subprocess.run(argv + t.box.argv(command, flags), cwd=t.caller.workspace, env=t.caller.env, capture_output=True,
                          timeout=patience(60), stdin=subprocess.DEVNULL)
    return Result(done.returncode, done.stdout, done.stderr, True)


@suite.case("R19", "without user namespaces nothing runs")
def no_user_namespaces(t):
    script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\""
    result = around(t, ["unshare", "-Ur", "sh", "-c", script, "sh"], ["sh", "-c", "echo RAN; echo RAN >&2"])
    t.equal(result.code, 125, f"refused: {result}")
    t.ok("RAN" not in result.out and "RAN" not in result.err and "RAN" not in result.err_inside, "the command did not run", result)
    t.ok("namespace" in result.err + result.object_text, "it says what is missing", result)
    plain = subprocess.run(["unshare", "-Ur", "sh", "-c", script, "sh", t.caller.program, "run", "-C", t.caller.workspace, "--", "true"],
                           capture_output=True, text=True, env=t.caller.env, cwd=t.caller.workspace)
    t.ok(plain.returncode == 125 and 0 < len(plain.stderr.strip().splitlines()) <= 4, "in a line or two", plain)


def without_namespaces(*kinds):
    """A surrounding whose kernel refuses namespaces of these kinds."""
    script = "".join(f"echo 0 > /proc/sys/user/max_{kind}_namespaces && " for kind in kinds)
    return ["unshare", "-Ur", "sh", "-c", script + 'exec "$@"', "sh"]


@suite.case("R26", "a namespace that its owner would do without is tried, and named where the kernel has none")
def waived_namespaces(t):
    if os.geteuid() == 0:
        t.skip("root's bounds are those of the whole machine")
    waivers = {"ipc": ["--allow-degraded", "ipc"], "uts": ["--allow-degraded", "uts"]}
    for kinds in (["ipc"], ["uts"], ["ipc", "uts"]):
        argv, flags = without_namespaces(*kinds), [word for kind in kinds for word in waivers[kind]]
        refused = around(t, argv, ["echo", "RAN"], flags[2:])
        t.ok(refused.code == 125 and "RAN" not in refused.out, f"{kinds}: not without leave for all", refused)
        result = around(t, argv, ["sh", "-c", "readlink /proc/self/ns/ipc /proc/self/ns/uts"], flags)
        t.equal(result.code, 0, f"{kinds}: it runs: {result}")
        t.equal(set(kinds) - set(result.json["degraded"]), set(), f"{kinds}: named as degraded")
        t.equal(set(kinds) & set(result.json["layers"]), set(), f"{kinds}: not among the layers")
        own = {kind for kind, seen in zip(waivers, result.out.split()) if seen != os.readlink(f"/proc/self/ns/{kind}")}
        t.equal(own, set(waivers) - set(kinds), f"{kinds}: the others are its own")
    given = t.box.run("readlink", "/proc/self/ns/ipc", flags=waivers["ipc"] + waivers["uts"])
    t.ok(given.code == 0 and given.out.strip() != os.readlink("/proc/self/ns/ipc"), "where there is one, it has one", given)
    t.equal({"ipc", "uts"} & set(given.json["degraded"]), set(), "and nothing is degraded")
    for kind in ("net", "pid", "mount", "user"):
        result = around(t, without_namespaces("ipc"), ["echo", "RAN"], ["--allow-degraded", kind])
        t.ok(result.code == 125 and "RAN" not in result.out, f"{kind} cannot be waived", result)
    t.caller.put(".aisbx.yaml", "allow-degraded: [ipc]\n")
    result = around(t, without_namespaces("ipc"), ["echo", "RAN"])
    t.ok(result.code == 125 and "RAN" not in result.out, "nor does a workspace's own profile", result)
    os.unlink(os.path.join(t.caller.workspace, ".aisbx.yaml"))


@suite.case("R20", "without control groups the limits are degraded by name")
def no_control_groups(t):
    if os.geteuid() != 0:
        t.skip("a plain user has none to lose")
    argv = ["unshare", "-m", "--propagation", "private", "sh", "-c", "mount -t tmpfs none /sys/fs/cgroup && exec \"$@\"", "sh"]
    result = around(t, argv, ["echo", "ran"])
    t.equal((result.code, result.out), (0, "ran\n"), f"it runs: {result}")
    t.ok("limits" in result.json["degraded"], "limits is degraded", result)
    t.equal(around(t, argv, ["echo", "ran"], ["--require", "limits"]).code, 125, "--require limits")
    oom = around(t, argv, ["python3", "-c", "x = bytearray(600 << 20); import time; time.sleep(1000)"], ["--mem", "64m", "--time", "300s"])
    t.ok("mem" in oom.json.get("limits_hit", []), "the watchdog holds the memory limit", oom)


@suite.case("R21", "inside an unprivileged container it runs or says why")
def in_container(t):
    if not shutil.which("bwrap"):
        t.skip("bwrap is not installed")
    argv = ["bwrap", "--unshare-user", "--unshare-pid", "--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc"]
    probe = subprocess.run(argv + ["true"], capture_output=True, text=True)
    if probe.returncode != 0:
        t.skip(f"bwrap does not work here: {probe.stderr.strip()[:100]}")
    t.caller.put("file", "content\n")
    result = around(t, argv, ["cat", "file"])
    if result.code == 125:
        t.ok(result.err.strip() or result.json.get("message") or result.json.get("error"), "says why", result)
        project = around(t, argv, ["cat", "file"], ["--root", "project"])
        t.ok(project.code in (0, 125), "--root project", project)
    else:
        t.equal((result.code, result.out), (0, "content\n"), f"runs: {result}")


@suite.case("R27", "a start that was begun before its plan goes on with that, or is gone")
def begun_ahead(t):
    def left_over():
        """Who was given to us when a call ended: an init that still ends itself, behind a run that answered."""
        return {(pid, name) for pid, (name, _, parent) in descendants(os.getpid()).items()
                if parent == os.getpid() and not name.startswith("aisbx-")}

    long = {f"LONG_{i}": str(i) * 120000 for i in range(4)}
    flags = [word for name in long for word in ("--pass-env", name)]
    result = sh(t, "echo ${#LONG_0} ${#LONG_1} ${#LONG_2} ${#LONG_3} ${LONG_3%%33*}", env=long, flags=flags)
    t.equal((result.code, result.out), (0, "120000 120000 120000 120000\n"), f"a plan that is longer than its place: {result.code} {result.err[:300]}")
    short = {"SHORT": "x" * 50000}
    result = sh(t, "echo ${#SHORT}; cat; echo to-stderr >&2; exit 7", env=short, flags=["--pass-env", "SHORT"], stdin=b"fed\n")
    t.equal((result.code, result.out, result.json["stderr"]), (7, "50000\nfed\n", "to-stderr\n"), "one that fits, with its streams")
    before = left_over()
    for flags, why in ((["--root", "no-such-image"], "no-such-image"), (["--ro", "/no/such/place:/x"], "/no/such/place"),
                       (["-C", "/no/such/workspace"], "/no/such/workspace")):
        refused = t.box.run("echo", "RAN", flags=flags)
        t.ok(refused.code == 125 and "RAN" not in refused.out, f"{flags}: refused", refused)
        t.ok(why in refused.err or why in str(refused.json), f"{flags}: by name", refused)
    t.equal(left_over() - before, set(), "and nobody is left of any")
    for fds in ("0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"):
        argv = ["sh", "-c", f"exec \"$@\" {fds}", "sh"]
        closed = around(t, argv, ["sh", "-c", "test -e /proc/self/fd/0 && test -e /proc/self/fd/1 && test -e /proc/self/fd/2"])
        t.equal(closed.code, 0, f"{fds}: a caller without a descriptor: {closed}")


@suite.case("R25", "a command that cannot be released is refused, and nobody waits for it")
def never_released(t):
    number = {"x86_64": 44, "aarch64": 206}.get(os.uname().machine)
    if number is None:
        return t.skip("send has another number here")

    def without_send():
        """As with no memory left for it. Nothing of a run without a network sends this way but the release."""
        lines = struct.pack("=" + "HBBI" * 4, 0x20, 0, 0, 0, 0x15, 0, 1, number, 0x06, 0, 0, 0x50000 | errno.ENOMEM, 0x06, 0, 0, 0x7FFF0000)
        keep = ctypes.create_string_buffer(lines)
        program = ctypes.create_string_buffer(struct.pack("@HP", 4, ctypes.addressof(keep)))
        libc = ctypes.CDLL(None)
        if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
            raise OSError("no filter")

    result = t.box.run("echo", "RAN", preexec_fn=without_send)
    t.ok(result.code == 125 and "RAN" not in result.out, "refused", result)
    t.ok("release" in str(result.json), "with the reason", result)


suite.main()
