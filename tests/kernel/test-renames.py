#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Renaming directories that the host has: as outside, as root and as a plain user, also under a hostile payload."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from aisbxtest import Suite
from box import hope, slow

suite = Suite("renames", needs_attack=False, both_users=False)
attributes = {}

HEAD = """
import errno, os, signal, sys, threading, time
def call(function, *args, **more):
    try:
        function(*args, **more)
        return "ok"
    except OSError as problem:
        return errno.errorcode[problem.errno]
def tree(top):
    found = []
    for path, dirs, files in os.walk(top):
        found += [os.path.relpath(os.path.join(path, name), top) for name in dirs + files]
    return sorted(found)
def spares():
    return [name for path, dirs, files in os.walk(".") for name in dirs + files if name.startswith(".aisbx-")]
"""


def fill(t, name, files=("a", "sub/b", "sub/deep/c", ".hidden", "sub/.x")):
    """A directory of the host below the workspace, made anew for each case."""
    top = os.path.join(t.caller.workspace, t.case_id, name)
    for file in files:
        t.caller.put_at(os.path.join(top, file), f"content of {file}\n")
    t.caller.own(os.path.join(t.caller.workspace, t.case_id))
    return top


def need_attributes(t):
    """Before Linux 6.6 a tmpfs has none, and a plain user's overlay cannot note that a directory was replaced."""
    if t.caller.name not in attributes:
        script = "import os; os.mkdir('probe'); os.setxattr('probe', 'user.probe', b'')"
        attributes[t.caller.name] = t.caller.uid == 0 or t.box.run("python3", "-c", script).code == 0
    if not attributes[t.caller.name]:
        t.skip("the writable layer has no user attributes on this kernel")


def inside(t, script, *words, flags=("--time", hope(60)), timeout=120):
    directory = os.path.join(t.caller.workspace, t.case_id)
    result = t.box.run("python3", "-c", HEAD + script, *words, flags=flags, cwd=directory, timeout=timeout)
    t.ok(result.code == 0, "the script ends well", result)
    return result


def tree(top):
    found = []
    for path, dirs, files in os.walk(top):
        found += [os.path.relpath(os.path.join(path, name), top) for name in dirs + files]
    return sorted(found)


@suite.case("N01", "a directory is renamed with all that is in it")
def rename(t):
    need_attributes(t)
    top = fill(t, "old")
    os.symlink("a", top + "/link")
    os.chmod(top + "/sub", 0o555)
    os.chmod(top + "/a", 0o751)
    os.utime(top + "/a", (1000000000, 1000000001))
    os.utime(top + "/sub", (1000000002, 1000000003))
    os.lchown(top + "/link", t.caller.uid, t.caller.uid)
    want = tree(top)
    result = inside(t, """
print(call(os.rename, "old", "new"), os.path.exists("old"), tree("new"))
print(open("new/sub/deep/c").read(), oct(os.stat("new/sub").st_mode), oct(os.stat("new/a").st_mode))
print(os.stat("new/a").st_mtime, os.stat("new/sub").st_mtime, os.readlink("new/link"), spares())
print(call(os.rename, "new", "newer"), call(os.rename, "newer", "old"), tree("old") == sorted(%r))
""" % (want,))
    t.equal(result.out, f"ok False {want}\ncontent of sub/deep/c\n 0o40555 0o100751\n"
            "1000000001.0 1000000003.0 a []\nok ok True\n", "as outside")
    t.equal(tree(top), want, "the host's directory stays")
    os.chmod(top + "/sub", 0o755)


@suite.case("N02", "every way to name the two places")
def names(t):
    need_attributes(t)
    for number in range(6):
        fill(t, f"d{number}")
    fill(t, "target")
    os.symlink("target", os.path.join(t.caller.workspace, t.case_id, "way"))
    result = inside(t, """
here = os.getcwd()
print(call(os.rename, here + "/d0", here + "/e0"))
print(call(os.rename, "d1/", "e1/"))
print(call(os.rename, "./d2/../d2", "way/e2"))
fd = os.open("target", os.O_RDONLY)
print(call(os.rename, "d3", "e3", dst_dir_fd=fd))
print(call(os.rename, "e3", "e3b", src_dir_fd=fd, dst_dir_fd=fd))
os.chdir("target")
print(call(os.rename, "../d4", "../e4"), call(os.rename, "sub", "sub2"))
os.chdir("..")
print([name for name in ("e0", "e1", "target/e2", "target/e3b", "e4", "target/sub2") if not os.path.isdir(name)])
print(spares())
""")
    t.equal(result.out, "ok\nok\nok\nok\nok\nok ok\n[]\n[]\n", "all work")


@suite.case("N03", "what cannot be renamed is refused as outside")
def refusals(t):
    need_attributes(t)
    fill(t, "old")
    fill(t, "full")
    fill(t, "file", ("x",))
    os.mkdir(os.path.join(t.caller.workspace, t.case_id, "empty"))
    t.caller.own(os.path.join(t.caller.workspace, t.case_id, "empty"))
    result = inside(t, """
before = tree(".")
print(call(os.rename, "old", "full"), call(os.rename, "old", "file/x"), call(os.rename, "old", "old/sub/in"))
print(call(os.rename, "old", "nowhere/x"), call(os.rename, "gone", "x"), call(os.rename, "old/.", "x"))
print(call(os.rename, "old", "/tmp/elsewhere"))
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(libc.renameat2(-100, b"old", -100, b"empty", 1), errno.errorcode[ctypes.get_errno()])
print(libc.renameat2(-100, ctypes.c_void_p(8), -100, ctypes.c_void_p(16), 0), errno.errorcode[ctypes.get_errno()])
print(tree(".") == before, spares())
print(call(os.rename, "old", "empty"), tree("empty"))
""")
    # A plain user's kernel looks at the source first.
    lines = result.out.replace("EXDEV ENOTDIR", "ENOTEMPTY ENOTDIR").splitlines()
    want = ["ENOTEMPTY ENOTDIR EINVAL", "ENOENT ENOENT EBUSY", "EXDEV", "-1 EEXIST", "-1 EFAULT", "True []",
            f"ok {['.hidden', 'a', 'sub', 'sub/.x', 'sub/b', 'sub/deep', 'sub/deep/c']}"]
    t.equal(lines, want, "the same errors")


@suite.case("N04", "mv and git mv of a directory")
def tools(t):
    need_attributes(t)
    if not any(os.access(os.path.join(path, "git"), os.X_OK) for path in t.caller.env["PATH"].split(":")):
        t.skip("git is not installed")
    fill(t, "lib")
    result = t.box.run("sh", "-ec", """
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
mv lib lib2; mv lib2 lib; rm -rf .git; git init -q .; git add lib; git commit -qm one; git mv lib src; git commit -qm two
git status --short; git ls-files; ls -A
""", cwd=os.path.join(t.caller.workspace, t.case_id), flags=("--time", hope(60)))
    t.equal((result.code, result.out.splitlines()),
            (0, ["src/.hidden", "src/a", "src/sub/.x", "src/sub/b", "src/sub/deep/c", ".git", "src"]), f"works: {result}")


@suite.case("N05", "a whole repository of the host")
def repository(t):
    need_attributes(t)
    size = 280 if slow() else 2800
    fill(t, "big", [f"d{i % 40}/e{i % 7}/f{i}" for i in range(size)])
    result = inside(t, """
start = time.monotonic()
print(call(os.rename, "big", "moved"), len(tree("moved")), spares())
print("%.3f s" % (time.monotonic() - start), file=sys.stderr)
""")
    t.equal(result.out, f"ok {size + 320} []\n", "all of it")
    t.equal(result.json["changes"], {"added": size, "modified": 0, "deleted": size}, "counted by file")


@suite.case("N06", "many at once")
def at_once(t):
    need_attributes(t)
    for number in range(40):
        fill(t, f"d{number}", ("a", "s/b"))
    result = inside(t, """
answers = []
def move(number):
    answers.append(call(os.rename, f"d{number}", f"e{number}"))
threads = [threading.Thread(target=move, args=(n,)) for n in range(40)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(answers.count("ok") + answers.count("EXDEV"), answers.count("ok") >= 30, spares())
print(all(tree(f"e{n}" if os.path.exists(f"e{n}") else f"d{n}") == ["a", "s", "s/b"] for n in range(40)))
""")
    t.equal(result.out, "40 True []\nTrue\n", "each gets its answer, nothing is lost")


@suite.case("N07", "a payload that changes everything meanwhile")
def hostile(t):
    for number in range(12):
        fill(t, f"d{number}", [f"s{i}/f{j}" for i in range(6) for j in range(6)])
    result = inside(t, """
stop = False
def churn(seed):
    count = 0
    while not stop:
        count += 1
        n = (seed + count) % 12
        for base in (f"d{n}", f"e{n}"):
            call(os.rename, base + "/s1", base + "/t1")
            call(os.symlink, "/etc", base + "/s2x")
            call(os.rename, base + "/s2x", base + "/s3/f1")
            call(os.mkdir, base + "/s4/new")
            call(os.rmdir, base + "/s4/new")
        for name in os.listdir("."):
            if name.startswith(".aisbx-"):
                call(os.rmdir, name + "/x")
                call(os.rename, name + "/s0", "stolen")
threads = [threading.Thread(target=churn, args=(n,)) for n in range(4)]
[thread.start() for thread in threads]
end = time.monotonic() + 4
while time.monotonic() < end:
    for n in range(12):
        call(os.rename, f"d{n}", f"e{n}")
        call(os.rename, f"e{n}", f"d{n}")
stop = True
[thread.join() for thread in threads]
print("done")
""")
    t.equal(result.out, "done\n", "it ends, and so do we")
    t.ok(len(tree(os.path.join(t.caller.workspace, t.case_id))) == 12 * 43, "the host's files are all there")


@suite.case("N08", "whoever waits for a rename can be killed, and so can the sandbox")
def killed(t):
    fill(t, "big", [f"d{i % 30}/f{i}" for i in range(3000)])
    result = inside(t, """
for pause in (0, 0.001, 0.005, 0.02, 0.05):
    pid = os.fork()
    if pid == 0:
        call(os.rename, "big", "moved")
        os._exit(0)
    time.sleep(pause)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
print(call(os.rename, "big", "last") in ("ok", "ENOENT", "EXDEV"))
""")
    t.equal(result.out, "True\n", "the next one still gets its answer")
    script = HEAD + "threading.Thread(target=os.rename, args=('big', 'x')).start()\ntime.sleep(0.004)\nos._exit(7)\n"
    result = t.box.run("python3", "-c", script, cwd=os.path.join(t.caller.workspace, t.case_id))
    t.equal(result.code, 7, "the command may end before its rename does")


@suite.case("N10", "what was renamed is counted where it went")
def counted(t):
    need_attributes(t)
    fill(t, "old")
    fill(t, "other", ("keep", "sub/b"))
    result = t.box.run("sh", "-ec", """
mkdir new; mv old new/first; mv new/first/sub new/first/sub2; echo changed > new/first/sub2/b; rm new/first/a
mv new/first/sub2/deep deep; mv other tmp; mv new/first other; mv tmp last
""", cwd=os.path.join(t.caller.workspace, t.case_id), flags=("--name-status",))
    t.equal(result.code, 0, f"the renames work: {result}")
    prefix = t.case_id + "/"
    got = sorted(line.replace(prefix, "") for line in result.json["changed"])
    want = ["A\tdeep/c", "A\tlast/keep", "A\tlast/sub/b", "A\tnew/", "A\tother/.hidden", "A\tother/sub2/.x", "A\tother/sub2/b",
            "D\told/.hidden", "D\told/a", "D\told/sub/.x", "D\told/sub/b", "D\told/sub/deep/c", "D\tother/keep",
            "D\tother/sub/b"]
    t.equal(got, want, "file by file")


@suite.case("N09", "renames of files cost little")
def files(t):
    fill(t, "d")
    result = inside(t, """
open("a", "w").close()
times = []
for n in range(2000):
    start = time.perf_counter()
    os.rename("a", "b")
    os.rename("b", "a")
    times.append((time.perf_counter() - start) / 2e-6)
print("%.1f" % sorted(times)[1000])
""")
    suite.note(f"a rename of a file takes {result.out.strip()} us, {t.caller.name}")


suite.main()
