#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Filesystem isolation: nothing of the host's tree changes, nothing hidden shows (A032 to A053, A175)."""
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from aisbxtest import Suite
from box import end, patience
import canary
from family import descendants, open_files, status_of

suite = Suite("filesystem isolation")

STOPPED = {"EPERM", "EACCES", "ENOENT", "EROFS", "EXDEV", "ENXIO", "ENODEV", "ESRCH", "ENOTDIR", "EINVAL", "EBUSY"}


class Target:
    """A scratch tree like the canary, for controls that must be seen to change it."""

    def __init__(self, t):
        self.top = tempfile.mkdtemp(prefix="target-", dir=t.caller.dir)
        canary.fill(self.top, t.caller)
        self.before = canary.tree(self.top)

    def changed(self):
        return "\n".join(canary.differences(self.before, canary.tree(self.top)))


def scribble_control(t):
    target = Target(t)
    t.box.outside("scribble", target.top)
    changed = target.changed()
    for name in "write append truncate open-trunc unlink rename replace chmod utimes setxattr mmap fd-link".split():
        t.ok(f"/{name} " in changed, f"{name} changes a file outside", changed[:300])


def writer_answers(t, result, hard):
    """Inside, an ordinary write works: a clone that refuses everything would prove nothing."""
    t.equal(result.code, 0, f"ran: {result}")
    # Before 6.6 a tmpfs, and so the layer that takes the writes, had no attributes of users.
    if tuple(map(int, os.uname().release.split(".")[:2])) < (6, 6):
        hard = (*hard, "setxattr")
    refused = [f"{n}={a}" for n, a in result.probes if a != "OK" and n not in hard]
    t.ok(not refused, "writes work inside", refused)


@suite.case("A032", "change files of the host", scribble_control)
def scribble(t):
    if not t.canary.visible:
        t.skip("a plain user has no place outside the workspace that is shown inside")
    writer_answers(t, t.box.attack("scribble", t.canary.top), ())


def workspace_tree(t):
    """A tree like the canary in the workspace, for callers that have no other place that shows inside."""
    top = os.path.join(t.caller.workspace, "tree")
    if not os.path.isdir(top):
        os.mkdir(top)
        canary.fill(top, t.caller)
    return top


@suite.case("A032b", "change files of the workspace", scribble_control)
def scribble_workspace(t):
    top = workspace_tree(t)
    before = canary.tree(t.caller.workspace)
    writer_answers(t, t.box.attack("scribble", top), ())
    t.equal(list(canary.differences(before, canary.tree(t.caller.workspace))), [], "the workspace on the host")


@suite.case("A032c", "change twenty paths of the system", "outside they are the machine's own")
def scribble_system(t):
    paths = [p for p in ("/etc/passwd", "/etc/group", "/etc/hostname", "/etc/fstab", "/etc/profile", "/usr/bin/env",
                         "/bin/sh", "/usr/bin/id", "/etc/ld.so.cache", "/etc/hosts", "/etc/resolv.conf",
                         "/usr/lib/os-release", "/etc/nsswitch.conf", "/etc/services", "/etc/bash.bashrc", "/usr/bin/true",
                         "/usr/bin/yes", "/etc/login.defs", "/etc/shells", "/usr/bin/tee") if os.path.isfile(p)]
    before = {p: canary.describe(os.path.realpath(p)) for p in paths}
    result = t.box.attack("write-files", *[x for p in paths for x in (p, "attacked")])
    t.ok(result.probes, "ran", result)
    changed = [p for p in paths if canary.describe(os.path.realpath(p)) != before[p]]
    t.equal(changed, [], "files of the system")


def odd_control(t):
    target = Target(t)
    result = t.box.outside("odd-writers", target.top)
    changed = target.changed()
    for name in "punch direct copy-range sendfile tmpfile exchange pwritev2".split():
        answer = result.probe(name)
        t.ok(answer != "OK" or name in changed, f"{name} changes a file outside", changed[:300])
    t.ok("/punch " in changed and "/pwritev2 " in changed, "odd writers change files outside", changed[:300])


@suite.case("A035", "odd writers on files of the host", odd_control)
def odd_writers(t):
    top = t.canary.top if t.canary.visible else workspace_tree(t)
    before = canary.tree(top)
    result = t.box.attack("odd-writers", top)
    t.equal(result.code, 0, f"ran: {result}")
    t.equal(list(canary.differences(before, canary.tree(top))), [], "the tree on the host")
    t.equal(result.probe("immutable"), "EPERM", "immutable flag")
    t.equal(result.probe("splice"), "EINVAL", "splice")
    t.equal(result.probe("tee"), "EINVAL", "tee")
    t.equal(result.probe("pwritev2"), "OK", "an ordinary write works inside")


@suite.case("A035b", "locks held inside do not stop the host", "the lock of another host process does stop it")
def locks(t):
    if not t.canary.visible:
        t.skip("a plain user has no place outside the workspace that is shown inside")
    import fcntl
    process = t.box.popen(["./attack", "lock", t.canary.file("write"), "20"], as_json=False)
    try:
        lines = [process.stdout.readline() for _ in range(4)]
        t.ok(any(b"locked" in line for line in lines), "locked inside", lines)
        os.close(os.open(t.canary.file("write"), os.O_RDWR | os.O_NONBLOCK))
        with open(t.canary.file("write"), "rb+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        end(process)


@suite.case("A032d", "reading inside does not touch access times", "outside the first read changes it")
def access_times(t):
    def lay_out(name):
        paths = [t.caller.put(f"{name}/read", "x" * 5000), t.caller.put(f"{name}/mapped", "x" * 5000)]
        paths.append(t.caller.put(f"{name}/run", "#!/bin/sh\nexit 0\n", 0o755))
        paths.append(os.path.dirname(paths[0]))
        for path in paths:
            os.utime(path, (1000, 2000))
        return paths

    # The other one is read by nothing inside: where its times change, some process of this machine has walked by.
    for _ in range(5):
        paths, others = lay_out("times"), lay_out("unread")
        result = t.box.run("sh", "-c", "cat times/read > /dev/null; grep -c x times/mapped; ./times/run; ls times")
        t.equal(result.code, 0, f"ran: {result}")
        found = {os.path.basename(path): os.stat(path).st_atime for path in paths}
        if all(os.stat(path).st_atime == 1000 for path in others):
            break
    t.equal(found, dict.fromkeys(found, 1000), "access times")


@suite.case("A035c", "private mappings written past their protection", "a patched kernel refuses it outside as well")
def cow_race(t):
    result = t.box.attack("cow-race", t.canary.file("mmap") if t.canary.visible else t.caller.put("mapped", "x" * 8192))
    t.ok(result.probes, "ran", result)


@suite.case("A035d", "calls on a whole filesystem", "outside it would freeze this machine")
def whole_filesystem(t):
    for path in ("/", t.caller.workspace, t.canary.file("write") if t.canary.visible else "/etc", "/tmp", "/proc", "/dev/null"):
        result = t.destructive("filesystem", path)
        t.ok(result.probe("tripwire") is None, "tripwire", result)
        for name, answer in result.probes:
            if name != "open":
                t.ok(answer in ("EPERM", "ENOTTY", "EOPNOTSUPP", "EINVAL", "EACCES", "EROFS"), f"{name} of {path}", answer)


def wreck_control(t):
    """The tripwire itself: outside it must refuse, and on a scratch tree rm does what it says."""
    result = t.box.outside("wreck", *t.tripwire(), "/no-such-directory-at-all")
    t.ok((result.probe("tripwire") or "").startswith("refused"), "the tripwire refuses outside", result)
    target = Target(t)
    subprocess.run(["rm", "-rf", "--no-preserve-root", target.top], check=True)
    t.ok(not os.path.exists(target.top), "rm removes a scratch tree")


# On any machine, and replaced by nobody while a test runs.
STANDING = ("/etc/passwd", "/etc/group", "/bin/sh", "/usr/bin/env", "/usr/bin/rm", sys.executable)


@contextlib.contextmanager
def planted_everywhere(t):
    """Trees of our own all over the machine; others work there as well, and what they change is not for us to judge."""
    tops = [tempfile.mkdtemp(prefix="canary-wreck-", dir=top) for top in
            ("/etc", "/home", "/opt", "/srv", "/usr/bin", "/usr/lib", "/usr/local", "/usr/sbin", "/var/lib", "/var/log", t.caller.home)
            if os.path.isdir(top) and os.access(top, os.W_OK)]
    try:
        for top in tops:
            canary.fill(top, t.caller)
        yield tops
    finally:
        for top in tops:
            shutil.rmtree(top)


def trees(tops):
    return {path: row for top in tops for path, row in canary.tree(top).items()}


@suite.case("A033", "delete everything", wreck_control)
def wreck(t):
    t.suite.need_clone(t)
    standing = [path for path in STANDING if os.path.exists(path)]
    workspace = canary.tree(t.caller.workspace)
    with planted_everywhere(t) as tops:
        before = trees(tops)
        # As long as the machine has files: beside other suites that is minutes.
        result = t.destructive("wreck", "/", flags=["--time", "10m"], timeout=620)
        t.equal(result.probe("tripwire"), "passed", f"the tripwire let it act: {result}")
        t.ok(result.probe("wrecked") is not None, "rm ran", result)
        t.equal(list(canary.differences(before, trees(tops)))[:10], [], "trees all over the machine")
    t.equal([path for path in standing if not os.path.exists(path)], [], "files of the machine")
    t.equal(list(canary.differences(workspace, canary.tree(t.caller.workspace))), [], "the workspace on the host")


def traverse_control(t):
    # a process with another root is what the attack looks for: from a chroot, /proc/1/root leads out
    result = t.box.outside("traverse", t.suite.host_marker)
    t.ok(any(a == "ESCAPED" for n, a in result.probes if n.startswith("host-file")), "the host's file is seen outside")


@suite.case("A036", "ways out of the root", traverse_control)
def traverse(t):
    result = t.box.attack("traverse", t.suite.host_marker.lstrip("/"))
    for name, answer in result.probes:
        t.ok(answer in ("same", "hidden", "EACCES", "EPERM", "ENOENT", "ENOTDIR"), f"way out {name}", answer)


def descriptors_control(t):
    with tempfile.TemporaryFile() as file:
        result = t.box.outside("descriptors", "etc/hostname", pass_fds=[file.fileno()])
        t.ok(int(result.probe("descriptors")) > 3, "a leaked descriptor arrives outside", result)


@suite.case("A037", "leaked descriptors", descriptors_control)
def descriptors(t):
    fds = [os.open("/", os.O_RDONLY), os.open(t.canary.top, os.O_RDONLY), os.open("/proc", os.O_RDONLY)]
    fds += [os.open(t.canary.file("write"), os.O_RDWR) for _ in range(17)]
    fds += [os.dup2(fds[0], 500), os.dup2(fds[1], 1000)]
    try:
        result = t.box.attack("descriptors", "etc/hostname", pass_fds=fds)
    finally:
        for fd in fds:
            os.close(fd)
    t.equal(result.probe("descriptors"), "3", f"descriptors inside: {result}")
    t.ok("ESCAPED" not in result.out, "no way out", result.out)


@suite.case("A037c", "the host's own program, which a command's first exec could still name",
            "outside it is a program like others")
def own_program(t):
    if "landlock" in t.box.run("true").json["degraded"]:
        t.skip("no Landlock here")
    script = t.caller.put("by-script", "#!/proc/self/exe version\n", 0o755)
    for words in (["/proc/self/exe", "version"], [script], ["/proc/thread-self/exe", "version"]):
        result = t.box.run(*words)
        t.equal(result.code, 126, f"not executed: {result}")
    result = t.box.run("sh", "-c", "cp /bin/true . && ./true && exec /proc/self/exe -c 'exit 7'")
    t.equal(result.code, 7, f"what lies inside is: {result}")


def held_inside(supervisor):
    """Who of the sandbox has which path open, by number."""
    found = []
    for pid, info in descendants(supervisor).items():
        inside = len(status_of(pid).get("NSpid", "").split()) > 1
        found += [(info[0], fd, link) for fd, link in open_files(pid).items()
                  if inside and link.startswith("/") and not link.startswith("/dev/")]
    return found


@suite.case("A037b", "init holds no descriptor of the host's tree", "the supervisor itself lies outside")
def init_descriptors(t):
    process = t.box.popen(["./attack", "sleep-files", "20"], as_json=False)
    try:
        process.stdout.readline()
        if os.geteuid() != 0:
            t.skip("only root can look at init's descriptors")
        # Of the command's own proc it lets go when that runs.
        until = time.monotonic() + patience(20)
        while held_inside(process.pid) and time.monotonic() < until:
            time.sleep(0.05)
        t.equal(held_inside(process.pid), [], "nobody inside holds a file that is no device")
    finally:
        end(process)


def reopen_file(t, where):
    path = os.path.join(where, "standard-file")
    t.caller.put_at(path, "keep this line\n" * 10, 0o666)
    return path


def reopen_control(t):
    path = reopen_file(t, t.caller.dir)
    before = canary.describe(path)
    with open(path, "rb") as file:
        t.box.outside("reopen", stdin=file)
    t.ok(canary.describe(path) != before, "outside the file behind stdin is overwritten")


@suite.case("A175", "reopen stdin that is a file", reopen_control)
def reopen_stdin(t):
    for where in (t.caller.dir, t.caller.workspace, t.caller.home):
        path = reopen_file(t, where)
        before = canary.describe(path)
        for mode in ("rb", "rb+"):
            with open(path, mode) as file:
                result = t.box.run("./attack", "reopen", stdin=file)
            t.ok(result.probes, "ran", result)
            t.equal(canary.describe(path), before, f"the file behind stdin, opened {mode}")
        with open(path, "ab") as file:
            t.box.run("./attack", "reopen", stdin=file)
            t.equal(canary.describe(path), before, "the file behind stdin, opened for appending")


@suite.case("A175b", "reopen stdout and stderr that are files", reopen_control)
def reopen_stdout(t):
    path = os.path.join(t.caller.dir, "output-file")
    t.caller.put_at(path, "first\n", 0o640)
    info = os.stat(path)
    with open(path, "ab") as file:
        process = t.box.popen(["./attack", "reopen"], as_json=False, stdout=file, stderr=subprocess.STDOUT)
        process.wait()
    after = os.stat(path)
    with open(path) as file:
        text = file.read()
    t.ok(text.startswith("first\n"), "what stood in the file before is there", text[:80])
    t.ok("stolen!" not in text, "nothing was written past the pipe", text[:80])
    t.equal((after.st_mode, after.st_uid, after.st_ino, os.listxattr(path)), (info.st_mode, info.st_uid, info.st_ino, []),
            "mode, owner, attributes")


@suite.case("A175c", "stdin that is a directory or a block device is refused", "outside a program just gets it")
def odd_stdin(t):
    fd = os.open(t.canary.top, os.O_RDONLY)
    try:
        result = t.box.run("./attack", "descriptors", "write", stdin=fd)
    finally:
        os.close(fd)
    t.ok(result.code == 125 or "canary" not in result.out, "a directory as stdin", result)
    if os.geteuid() == 0 and os.path.exists("/dev/loop0"):
        with open("/dev/loop0", "rb") as file:
            result = t.box.run("true", stdin=file)
        t.equal(result.code, 125, f"a block device as stdin: {result}")


def fifo_control(t):
    path = named_fifo(t)
    before = canary.describe(path)
    fd = os.open(path, os.O_RDWR)
    t.box.outside("reopen", stdin=fd)
    os.close(fd)
    t.ok(canary.describe(path) != before, "outside mode and attributes of the fifo change")
    os.unlink(path)


def named_fifo(t):
    path = os.path.join(t.caller.dir, "named-fifo")
    os.mkfifo(path, 0o600)
    return t.caller.own(path)


@suite.case("A175d", "stdin that is a named fifo", fifo_control)
def fifo_stdin(t):
    path = named_fifo(t)
    fd = os.open(path, os.O_RDWR)
    try:
        os.write(fd, b"through\n")
        before = canary.describe(path)
        result = t.box.run("sh", "-c", "read line; echo $line; exec ./attack reopen", stdin=fd)
        t.ok(result.out.startswith("through\n"), "it can be read", result)
        t.equal(canary.describe(path), before, "the fifo on the host")
        os.set_blocking(fd, False)
        try:
            back = os.read(fd, 100)
        except BlockingIOError:
            back = b""
        t.equal(back, b"", "nothing was written into it")
    finally:
        os.close(fd)
        os.unlink(path)


@suite.case("A038", "workspace through a descriptor", "outside there is no workspace")
def workdir(t):
    fd = os.open("/", os.O_RDONLY)
    try:
        for path in (f"/proc/self/fd/{fd}", "/proc/1/cwd", "/proc/self/root", "/dev/fd/0"):
            result = t.box.run("true", workspace=path, cwd=t.caller.workspace, pass_fds=[fd])
            t.equal(result.code, 125, f"-C {path} is refused: {result}")
    finally:
        os.close(fd)
    for path in ("no-such-directory", "attack", "", "attack/../..", "no-such/../.."):
        result = t.box.run("true", workspace=path or "''", cwd=t.caller.workspace)
        t.equal(result.code, 125, f"-C {path!r} is refused: {result}")


def devices_control(t):
    t.none(t.box.bare("devices", "/tmp").probes, {"EPERM"}, "devices")


@suite.case("A039", "device nodes", devices_control)
def devices(t):
    for where in ("/tmp", t.caller.workspace, "/dev/shm"):
        result = t.box.attack("devices", where)
        for name, answer in result.probes:
            if name == "mkfifo":
                t.equal(answer, "OK", f"a fifo in {where}")
            else:
                t.ok(answer in ("EPERM", "EACCES"), f"{name} in {where}", answer)


def planted_control(t):
    node = os.path.join(t.caller.dir, "node-zero")
    os.mknod(node, 0o020666, os.makedev(1, 5))
    try:
        answer = t.box.outside("open", node).probe(f"r:{node}")
    finally:
        os.unlink(node)
    if answer == "EACCES":
        t.skip("this filesystem is mounted nodev")
    t.equal(answer, "OK", "a planted node opens outside")


@suite.case("A039b", "device node planted on the host", planted_control)
def planted(t):
    if os.geteuid() != 0:
        t.skip("only root can plant a device node")
    node = os.path.join(t.caller.workspace, "node-zero")
    os.mknod(node, 0o020666, os.makedev(1, 5))
    os.chmod(node, 0o666)
    try:
        result = t.box.attack("open", node)
    finally:
        os.unlink(node)
    t.every(result.probes, {"EACCES", "ENOENT", "EPERM"}, "planted node")


def kernel_guards_security():
    """Some kernels (6.1 with its BPF hooks) let everybody set what is named security.*, which no overlay reads."""
    nobody = 65534 if os.geteuid() == 0 else os.geteuid()
    with tempfile.NamedTemporaryFile(dir="/var/tmp") as file:
        os.chown(file.name, nobody, -1)
        child = os.fork()
        if child == 0:
            try:
                os.setresuid(nobody, nobody, nobody)
                os.setxattr(file.fileno(), "security.overlay.redirect", b"y")
                os._exit(1)
            except OSError:
                os._exit(0)
        return os.waitpid(child, 0)[1] == 0


@suite.case("A040", "private attributes of the overlay", "outside they are attributes like others")
def overlay_xattrs(t):
    t.caller.put("xattr-dir/inner", "inner")
    result = t.box.run("sh", "-c", "./attack overlay-xattrs xattr-dir attack; ls xattr-dir; cat xattr-dir/passwd; exit 0")
    t.ok(result.probes, "ran", result)
    private = ("trusted", "security") if kernel_guards_security() else ("trusted",)
    for name, answer in result.probes:
        if name.startswith(private):
            t.ok(answer in ("EPERM", "EOPNOTSUPP", "EINVAL"), name, answer)
    t.ok("root:" not in result.out, "no foreign content appears", result.out)
    again = t.box.run("sh", "-c", "ls xattr-dir")
    t.equal(again.out.split(), ["inner"], "the next run sees the plain directory")


MASKED = (".ssh/id_rsa", ".aws/credentials", ".netrc", ".git-credentials", ".config/gh/hosts.yml", ".bash_history")


def plant_masks(t):
    for name in MASKED:
        t.caller.put_at(os.path.join(t.caller.home, name), "CANARY secret\n", 0o644)


def masks_control(t):
    plant_masks(t)
    home = t.caller.home
    done = subprocess.run(["grep", "-rl", "CANARY secret", home], capture_output=True, text=True, **t.caller.identity())
    t.ok(".ssh/id_rsa" in done.stdout, "the secret is readable outside", done)


RENAMES = """import os, subprocess, sys, threading, time
def tell(name, act):
    try:
        act()
        print(name + "\\tOK")
    except OSError as problem:
        import errno
        print(name + "\\t" + errno.errorcode[problem.errno])
os.makedirs("lower/deep", exist_ok=True)
for source in ("/proc/1", "/proc/self", "/proc/1/fd", "/proc/self/root", "/proc/self/cwd", "/proc/1/task", "/dev/pts", "/sys/kernel", "/run/aisbx",
               "/proc/self/fd", "/", "/etc", "/usr", "/tmp", "/dev/shm", "/home"):
    for target in ("leaked", "/tmp/leaked", "/proc/self/cwd/leaked"):
        tell(source + " " + target, lambda: os.rename(source, target))
os.symlink("/proc/1", "to-init"); os.symlink("/", "to-root")
for source in ("to-init/fd", "to-init/task", "to-root/etc", "to-root/proc/1", "/proc/self/cwd/lower/../../..", "lower/.", "lower/.."):
    tell(source, lambda: os.rename(source, "leaked"))
# the directory is swapped for a way out while it is being moved
over = False
def swap():
    while not over:
        try:
            os.rename("tree", "aside"); os.symlink("/proc/1", "tree"); os.unlink("tree"); os.rename("aside", "tree")
        except OSError:
            pass
thread = threading.Thread(target=swap); thread.start()
end = time.time() + 2
while time.time() < end:
    try:
        os.rename("tree", "moved"); os.rename("moved", "tree")
    except OSError:
        pass
over = True; thread.join()
found = subprocess.run("grep -rls x-CANARY-x . /tmp /run 2>/dev/null; ls -d leaked /tmp/leaked 2>/dev/null", shell=True, capture_output=True, text=True).stdout
print("found\\t" + found.replace("\\n", " "))
"""


@suite.case("A041", "renames that a helper carries out for the payload", "outside the kernel carries them out", callers=("plain",))
def deputy_renames(t):
    workspace_tree(t)
    before = canary.tree(t.caller.workspace)
    result = t.box.run("python3", "-c", RENAMES, env={"HOST_SECRET": "x-CANARY-x"}, timeout=60)
    t.equal(result.code, 0, f"ran: {result}")
    for name, answer in result.probes:
        if name == "found":
            t.equal(answer.strip(), "", "nothing of init or the host came along")
        else:
            t.ok(answer in ("EXDEV", "EBUSY", "EPERM", "EACCES", "ENOENT", "EINVAL", "ENOTEMPTY", "EROFS", "ENOTDIR", "EEXIST"), name, answer)
    t.equal(list(canary.differences(before, canary.tree(t.caller.workspace))), [], "the workspace on the host")


@suite.case("A044", "masks hold against moving, linking, covering", masks_control)
def masks(t):
    plant_masks(t)
    home = t.caller.home
    result = t.box.run("sh", "-c", f"ls -la {home}/.ssh; cat {home}/.ssh/id_rsa; exit 0")
    t.ok("CANARY" not in result.out, "read in place", result.out)
    script = f"""cd /; mv {home} /tmp/moved 2>/dev/null; grep -rl 'CANARY secret' /tmp/moved {home} 2>/dev/null
mkdir -p {home}/.ssh 2>/dev/null; cat {home}/.ssh/id_rsa 2>/dev/null
cp -a {home} /tmp/copied 2>/dev/null; grep -rl 'CANARY secret' /tmp/copied 2>/dev/null
rm -rf {home}/.ssh 2>/dev/null; cat {home}/.ssh/id_rsa 2>/dev/null
mkdir -p {home}/.ssh 2>/dev/null && ls -A {home}/.ssh
ln {home}/.netrc /tmp/linked 2>/dev/null; cat /tmp/linked 2>/dev/null
cat /proc/self/root{home}/.netrc /proc/self/cwd{home}/.netrc /proc/thread-self/root{home}/.netrc {home}/../home/.netrc 2>/dev/null
find / -xdev -name id_rsa -path '*{os.path.basename(home)}*' -exec cat {{}} + 2>/dev/null; exit 0"""
    result = t.box.run("sh", "-c", script, timeout=60)
    t.equal(result.code, 0, f"ran: {result}")
    t.equal(result.out, "", "nothing hidden came up")
    for name in MASKED[:3]:
        result = t.box.attack("remask", os.path.join(home, name), "CANARY")
        t.ok(result.probe("open") in STOPPED and result.probe("open-after") in STOPPED, name, result.probes)


@suite.case("A044b", "hidden names by race with a link", masks_control)
def mask_race(t):
    plant_masks(t)
    t.caller.put("harmless", "harmless\n")
    for target in (os.path.join(t.caller.home, ".netrc"), "/proc/1/root" + t.caller.home + "/.netrc"):
        result = t.box.attack("swap-race", "/tmp/flip", t.caller.workspace + "/harmless", target)
        t.equal(result.probe("escaped"), "0", f"reads through the flipping link: {result}")


# A mount keeps the removal of a kept layer from its end, as a kill would; it is gone before the layer could be used again.
HALF_REMOVED = r"""set -e
mount -t tmpfs none /run
cache=/run/aisbx-masks
for i in $(seq 1 200); do
    "$@" > /dev/null; layer=$(ls $cache | grep -xE '[0-9a-f]{64}' || true)
    [ -z "$layer" ] || break
    sleep 0.1
done
[ -n "$layer" ] || { echo none; exit 0; }
for i in $(seq 1 64); do mkdir $cache/$(printf %064d $i); done
mount -t tmpfs none $cache/$layer/etc
HOME="$OTHER" "$@" > /dev/null
umount $cache/*$layer/etc
ls -d $cache/*$layer/home > /dev/null 2>&1 || echo half
"$@"
"""


@suite.case("A044c", "a kept mask layer that was removed by half", masks_control, callers=("root",))
def half_removed(t):
    plant_masks(t)
    other = tempfile.mkdtemp(prefix="other-", dir=t.caller.dir)
    command = [t.caller.program, "run", "-C", t.caller.workspace, "--", "sh", "-c", f"cat {t.caller.home}/.ssh/id_rsa 2>&1; echo ran"]
    done = subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-c", HALF_REMOVED, "sh", *command], cwd=t.caller.workspace,
                          env={**t.caller.env, "OTHER": other}, capture_output=True, text=True, timeout=patience(120), check=False)
    if done.stdout == "none\n":
        t.skip("no layer is kept here")
    t.ok(done.stdout.startswith("half\n") and done.stdout.endswith("ran\n"), "a layer is half gone, and the next run starts", done)
    t.ok("CANARY" not in done.stdout, "it hides what the whole one hid", done.stdout)


@suite.case("A046", "setuid file reached through a living sandbox", "outside a setuid file is simply executed")
def setuid_reach(t):
    if os.geteuid() != 0:
        t.skip("needs a second identity")
    script = "cp attack /tmp/suid; chmod 4755 /tmp/suid; cp attack suid; chmod 4755 suid; echo ready; sleep 20"
    process = t.box.popen(["sh", "-c", script], as_json=False)
    try:
        t.equal(process.stdout.readline(), b"ready\n", "started")
        pids = [pid for pid, info in descendants(process.pid).items() if info[0] in ("sleep", "sh")]
        t.ok(pids, "the payload is in sight")
        for pid in pids:
            for path in (f"/proc/{pid}/root/tmp/suid", f"/proc/{pid}/cwd/suid"):
                done = subprocess.run(["sh", "-c", f"exec {path} ids"], capture_output=True, text=True, user=54322,
                                      group=54322, extra_groups=[])
                t.ok("euid" not in done.stdout, f"another user runs {path}", done)
    finally:
        end(process)


def mount_rows(result):
    for name, line in result.probes:
        if name == "mount":
            left, _, right = line.partition(" - ")
            fields, tail = left.split(), right.split()
            yield fields[4], set(fields[5].split(",")), tail[0], tail[2] if len(tail) > 2 else ""


@suite.case("A047", "mount flags", "the host's own mounts are not so")
def mount_flags(t):
    result = t.box.attack("mounts")
    rows = list(mount_rows(result))
    t.ok(len(rows) > 4, "the mount table is readable", result)
    for point, flags, kind, options in rows:
        t.ok("nosuid" in flags, f"{point} ({kind}) is nosuid", flags)
        if not point.startswith("/dev/") or point in ("/dev/shm", "/dev/mqueue"):
            if point != "/dev":
                t.ok("nodev" in flags, f"{point} ({kind}) is nodev", flags)
        for word in ("upperdir=", "workdir="):
            if word in options:
                place = options.split(word, 1)[1].split(",")[0]
                t.ok(not os.path.exists(place) or place in ("/", "."), f"{point} names {word} {place}", options)
        if point.startswith(("/sys", "/proc/sys", "/proc/irq", "/proc/bus", "/proc/fs")) or point == "/proc/sysrq-trigger":
            t.ok("ro" in flags, f"{point} is read-only", flags)
        if point == "/dev":
            t.ok("ro" in flags, "/dev is read-only", flags)
        if point == "/proc":
            t.ok("noexec" in flags, "/proc is noexec", flags)
    text = str(result.probes)
    t.ok(t.caller.env["XDG_DATA_HOME"] + "/aisbx" not in text, "the store's path is not told")


def readonly_control(t):
    target = Target(t)
    result = t.box.outside("readonly", target.top, "write", t.caller.dir)
    good = {n for n, a in result.probes if a == "OK"}
    t.ok({"write", "chmod", "truncate", "unlink"} <= good, "a writable directory is written outside", result.probes)


@suite.case("A048", "read-only volume", readonly_control)
def readonly_volume(t):
    volume = os.path.join(t.caller.dir, "volume")
    if not os.path.isdir(volume):
        os.mkdir(volume)
        canary.fill(volume, t.caller)
        t.caller.own(volume)
    before = canary.tree(volume)
    result = t.box.attack("readonly", "/mnt/volume", "write", "/tmp", flags=["--ro", f"{volume}:/mnt/volume"])
    t.equal(result.code, 0, f"ran: {result}")
    t.every(result.probes, {"EROFS", "EPERM", "EXDEV", "EACCES"}, "read-only volume")
    t.equal(list(canary.differences(before, canary.tree(volume))), [], "the volume on the host")
    result = t.box.run("cat", "/mnt/volume/write", flags=["--ro", f"{volume}:/mnt/volume"])
    t.ok("CANARY" in result.out, "it can be read", result)


@suite.case("A048b", "writable volume is copy-on-write", readonly_control)
def writable_volume(t):
    volume = os.path.join(t.caller.dir, "volume-rw")
    if not os.path.isdir(volume):
        os.mkdir(volume)
        canary.fill(volume, t.caller)
    before = canary.tree(volume)
    result = t.box.attack("scribble", "/mnt/volume", flags=["--rw", f"{volume}:/mnt/volume"])
    t.equal(result.code, 0, f"ran: {result}")
    t.equal(result.probe("write"), "OK", "writes work inside")
    t.equal(list(canary.differences(before, canary.tree(volume))), [], "the volume on the host")


@suite.case("A048c", "volume that writes through", readonly_control)
def through_volume(t):
    volume = os.path.join(t.caller.dir, "volume-through")
    if not os.path.isdir(volume):
        os.mkdir(volume)
        t.caller.put_at(os.path.join(volume, "file"), "before\n")
        t.caller.own(volume)
    flags = ["--rw-through", f"{volume}:/mnt/volume"]
    script = ("echo after > /mnt/volume/file; cp attack /mnt/volume/suid; chmod 4755 /mnt/volume/suid; chmod 2755 /mnt/volume/suid; "
              "mkdir /mnt/volume/dir; chmod 2777 /mnt/volume/dir; mknod /mnt/volume/node c 1 3; cp /mnt/volume/suid /tmp/; "
              "python3 -c 'import os; fd = os.open(\"/mnt/volume/born\", os.O_CREAT | os.O_WRONLY, 0o4755)'; cat /mnt/volume/../volume/../../etc/shadow; exit 0")
    result = t.box.run("sh", "-c", script, flags=flags)
    if result.code == 125:
        t.skip(f"not here: {(result.err or result.json.get('message') or '')[:100]}")
    with open(os.path.join(volume, "file")) as file:
        t.equal(file.read(), "after\n", f"it writes through: {result}")
    for name in os.listdir(volume):
        info = os.lstat(os.path.join(volume, name))
        t.equal(info.st_mode & 0o6000, 0, f"{name} has no set-id bit on the host")
        t.equal(info.st_uid, t.caller.uid, f"owner of {name}")
        t.ok(not (info.st_mode & 0o170000) in (0o020000, 0o060000), f"{name} is no device", oct(info.st_mode))


@suite.case("A049", "source of a volume", "outside nothing is mounted")
def volume_source(t):
    where = t.caller.dir
    os.mkfifo(os.path.join(where, "fifo"))
    os.symlink("/", os.path.join(where, "to-root"))
    os.symlink(t.caller.home, os.path.join(where, "to-home"))
    plant_masks(t)
    bad = [f"{where}/missing:/mnt/x", f"{where}/fifo:/mnt/x", f"{where}/to-root:/mnt/x", f"{where}/to-home:/mnt/x",
           "relative-missing:/mnt/x", f"{where}/volume/../..:/mnt/x", "/proc/self/fd/0:/mnt/x", f"{t.canary.top}:/proc",
           f"{t.canary.top}:/dev/shm", f"{t.canary.top}:/", f"{t.canary.top}:relative", ":", "", "/etc:/mnt/../../x"]
    for flag in ("--ro", "--rw"):
        for value in bad:
            result = t.box.run("sh", "-c", "cat /mnt/x/.netrc /mnt/x/etc/shadow 2>/dev/null; exit 0", flags=[flag, value])
            t.ok(result.code == 125, f"{flag} {value} is refused", result)
    for name in ("fifo", "to-root", "to-home"):
        os.unlink(os.path.join(where, name))


def helpers_control(t):
    if not os.access("/proc/sys/kernel/core_pattern", os.W_OK):
        t.skip("this root may not write it either")
    result = t.box.bare("helpers")
    t.equal(result.probe("/proc/sys/kernel/core_pattern"), "OK", "core_pattern can be written by root (its own value)")


@suite.case("A051", "helpers of the kernel", helpers_control)
def helpers(t):
    result = t.box.attack("helpers")
    t.every(result.probes, {"EROFS", "EACCES", "ENOENT", "EPERM"}, "helpers")


@suite.case("A052", "control groups from inside", "outside root writes them")
def cgroup_inside(t):
    script = """for d in /sys/fs/cgroup /sys/fs/cgroup/*/; do
  [ -d "$d" ] || continue
  mkdir "$d/x" 2>/dev/null && echo "made $d/x"
  for f in "$d"/cgroup.procs "$d"/tasks "$d"/memory.max "$d"/memory.limit_in_bytes "$d"/pids.max; do
    [ -e "$f" ] && (echo 0 > "$f") 2>/dev/null && echo "wrote $f"
  done
done; exit 0"""
    result = t.box.run("sh", "-c", script)
    t.equal((result.code, result.out), (0, ""), f"nothing was written: {result}")


@suite.case("A053", "special devices", "whether they exist is the machine's matter")
def special_devices(t):
    names = ("fuse loop-control loop0 kvm net/tun mem port kmsg dri dri/card0 input mapper/control vda sda nvme0n1 "
             "userfaultfd vhost-net vsock hwrng rtc0 cpu/0/msr uinput snapshot autofs btrfs-control ppp").split()
    result = t.box.attack("open", *[f"/dev/{name}" for name in names])
    t.every(result.probes, {"ENOENT"}, "special devices")
    result = t.box.run("ls", "/dev")
    allowed = set("null zero full random urandom tty pts ptmx shm mqueue fd stdin stdout stderr console core".split())
    t.ok(set(result.out.split()) <= allowed, "nothing else stands in /dev", result.out)


@suite.case("A053c", "metadata of the device nodes", "outside root changes them")
def device_metadata(t):
    names = ("null", "zero", "full", "random", "urandom", "tty")
    look = lambda: {name: os.stat("/dev/" + name) for name in names}
    # Another program of this machine may touch them at the same time, but not always: what the attack can do, it does each time.
    for _ in range(5):
        before = look()
        result = t.box.attack("device-metadata")
        t.every(result.probes, {"EPERM", "EROFS", "EBUSY", "EACCES", "ENXIO"}, "device nodes")
        after = look()
        t.equal([(st.st_mode, st.st_uid, st.st_ino) for st in after.values()], [(st.st_mode, st.st_uid, st.st_ino) for st in before.values()], "nodes")
        t.ok(all(st.st_mtime > 1000 for st in after.values()), "times", after)
        if all(after[name].st_ctime_ns == before[name].st_ctime_ns for name in names):
            return
    t.ok(False, "times", (before, after))


@suite.case("A053b", "the device directory cannot be changed", "outside root makes nodes")
def device_directory(t):
    result = t.box.run("sh", "-c", "rm -f /dev/null /dev/zero; mkdir /dev/x; ln -sf /etc/passwd /dev/null; (: > /dev/y); ls /dev; exit 0")
    t.ok("null" in result.out.split() and "x" not in result.out.split() and "y" not in result.out.split(), "/dev", result.out)


suite.main()
