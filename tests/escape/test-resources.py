#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Resources: every kind of hunger is bounded and told, and the host does not feel it (A079 to A093)."""
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from aisbxtest import Suite
from box import end, hope, patience, slow
from family import kib_of, until

suite = Suite("resources")
FULL = os.environ.get("AISBX_TIER") == "ci"


def host_is_well(t):
    """The host can still fork, write and answer."""
    done = subprocess.run(["sh", "-c", "echo well"], capture_output=True, text=True, timeout=patience(10), **t.caller.identity())
    t.equal(done.stdout, "well\n", "the host forks")


def has_cgroup(result):
    return "limits" not in result.json.get("degraded", [])


def is_only_watched(result):
    """Whether the writable layer has no size of its own: a plain user's before 6.6. It refuses nothing."""
    return "disk" in result.json.get("degraded", [])


def watched(t, command, flags=(), as_json=True, timeout=120, **kw):
    """A run whose supervisor's memory is looked at until it ends; returns exit code, streams' sizes, peak."""
    process = t.box.popen(command, flags, as_json, **kw)
    peak = [0]
    over = threading.Event()

    def look():
        while not over.is_set():
            peak[0] = max(peak[0], (kib_of(process.pid, "VmHWM") or 0) << 10)
            time.sleep(0.02)
    thread = threading.Thread(target=look)
    thread.start()
    try:
        out, err = process.communicate(timeout=patience(timeout))
    finally:
        over.set()
        thread.join()
        if process.poll() is None:
            process.kill()
            process.communicate()
    from box import Result
    return Result(process.returncode, out or b"", err or b"", as_json), peak[0]


@suite.case("A079", "fork bomb", "outside it would be an attack on this machine")
def fork_bomb(t):
    result = t.destructive("fork-bomb", 1, flags=["--pids", "64", "--time", "120s"], timeout=40)
    t.ok(("fork", "EAGAIN") in result.probes, "fork says EAGAIN", result)
    t.ok("pids" in result.json.get("limits_hit", []), "told in limits_hit", result)
    host_is_well(t)


@suite.case("A079b", "fork bomb of the shell", "outside it would be an attack on this machine")
def shell_bomb(t):
    t.suite.need_clone(t)
    script = 'test "$AISBX" = 1 && test ! -e "$1" && test -e /run/aisbx/policy.json || exit 3; b() { b | b & }; b; sleep 2'
    result = t.box.run("sh", "-c", script, "sh", t.suite.host_marker, flags=["--pids", "64", "--time", "6s"], timeout=40)
    t.ok(result.json, "a result came", result)
    t.ok(result.code != 3, "the guard of the script let it act", result)
    # shells give up at once when they cannot fork: a look now and then may miss the moment
    t.ok("pids" in result.json.get("limits_hit", []) or not has_cgroup(result), "told in limits_hit", result)
    host_is_well(t)


def threads_control(t):
    result = t.box.outside("thread-bomb", 100)
    t.equal((result.probe("thread"), result.probe("threads")), ("OK", "100"), "a hundred threads outside")


@suite.case("A079c", "thread bomb", threads_control)
def thread_bomb(t):
    result = t.box.attack("thread-bomb", 400, flags=["--pids", "50", "--time", "120s"])
    t.equal(result.probe("thread"), "EAGAIN", f"threads: {result}")
    t.ok(int(result.probe("threads")) < 50, "as many as the limit", result.probe("threads"))
    t.ok("pids" in result.json.get("limits_hit", []), "told in limits_hit", result)


def memory_control(t):
    for kind in ("anon", "memfd", "sysv", "children", "headless"):
        result = t.box.bare("memory", kind, 96)
        t.equal(result.probe("took"), "96", f"{kind} outside: {result}")


@suite.case("A080", "memory of each kind", memory_control)
def memory(t):
    for kind in ("anon", "memfd", "tmpfs", "shm", "sysv", "children", "headless"):
        # What is only sampled, on a busy machine seldom, is kept until it was seen; kinds that no sample shows are not.
        keep = () if kind in ("memfd", "sysv") else (int(patience(30)),)
        result = t.box.attack("memory", kind, 512, *keep, flags=["--mem", "96m", "--time", hope(60)], timeout=90)
        if not has_cgroup(result) and kind in ("memfd", "sysv"):
            continue  # the watchdog sees what is resident in processes: the degradation is named
        if kind in ("tmpfs", "shm") and result.code == 0 and int(result.probe("took") or 999) < 512:
            continue  # its own size limit came first
        t.equal((result.code, result.status), (137, "oom"), f"{kind}: {result}")
        t.ok("mem" in result.json.get("limits_hit", []), f"{kind} told in limits_hit", result)
    host_is_well(t)


@suite.case("A080b", "kernel memory by buffers and tables", "outside it is charged to the caller")
def kernel_memory(t):
    for kind in ("pipes", "sockets", "tables", "mqueue"):
        result = t.box.attack("memory", kind, 512, flags=["--mem", "96m", "--time", "200s"], timeout=60)
        took = int(result.probe("took") or 0)
        t.ok(result.json, f"{kind}: a result came", result)
        if has_cgroup(result):
            t.ok(result.status == "oom" or result.code == 137 or took <= 128, f"{kind} within the limit", result)
    host_is_well(t)


@suite.case("A080c", "oom is said in words", "outside nobody says anything")
def oom_words(t):
    result = t.box.run("./attack", "memory", "anon", "400", str(int(patience(30))), flags=["--mem", "64m"], as_json=False)
    t.equal(result.code, 137, f"exit: {result}")
    t.ok("memory" in result.err, "the word memory stands on stderr", result.err)


@suite.case("A082", "flood of the page cache", "outside the kernel reclaims as well")
def page_cache(t):
    big = t.caller.put("big-file", b"x" * (64 << 20))
    result = t.box.attack("pagecache", 640, big, flags=["--mem", "64m", "--time", hope(60)], timeout=80)
    os.unlink(big)
    t.equal((result.code, result.status), (0, "success"), f"no kill: {result}")


def disk_control(t):
    where = os.path.join(t.caller.dir, "fill")
    os.makedirs(where, exist_ok=True)
    t.caller.own(where)
    result = t.box.outside("disk", where, 24)
    for name in os.listdir(where):
        os.unlink(os.path.join(where, name))
    t.equal(result.probe("filled"), "24", f"24 MiB outside: {result}")


@suite.case("A083", "disk fill", disk_control)
def disk_fill(t):
    for where in (".", t.caller.home):
        result = t.box.attack("disk", where, 400, flags=["--disk", "16m", "--mem", "1g", "--time", hope(60)], timeout=80)
        if is_only_watched(result) and result.probe("write") != "ENOENT":
            t.equal((result.status, result.json["limits_hit"]), ("limit", ["disk"]), f"{where}: ended")
            continue
        answer = result.probe("write")
        t.ok(answer in ("ENOSPC", "EDQUOT", "EFBIG", "ENOENT"), f"{where}: {answer}", result)
        t.ok(int(result.probe("filled")) <= 20, f"{where}: filled", result)
        if where == ".":
            t.ok("disk" in result.json.get("limits_hit", []), "told in limits_hit", result)
    host_is_well(t)


@suite.case("A083d", "temporary files have a limit of their own", disk_control, tier="ci")
def tmp_fill(t):
    for where in ("/tmp", "/var/tmp", "/dev/shm", "/run"):
        result = t.box.attack("disk", where, 4000, flags=["--mem", "3g", "--time", hope(60)], timeout=80)
        t.ok(result.probe("write") in ("ENOSPC", "EACCES", "ENOENT"), where, result)
        t.ok(int(result.probe("filled")) <= 1400, f"{where}: filled", result)


@suite.case("A083b", "copy-up of a file that is larger than the limit", disk_control)
def disk_copy_up(t):
    big = t.caller.put("big-file", b"x" * (32 << 20))
    result = t.box.run("sh", "-c", "echo more >> big-file || exit 9", flags=["--disk", "8m"])
    os.unlink(big)
    if is_only_watched(result):
        t.equal(result.json["limits_hit"], ["disk"], "told")
        return
    t.equal(result.code, 9, f"refused: {result}")


@suite.case("A083c", "one large file", "outside the disk is the limit")
def file_size(t):
    result = t.box.run("sh", "-c", "head -c 3000000 /dev/zero > f; echo $?; ls -l f | awk '{print $5}'", flags=["--fsize", "1m"])
    sizes = result.out.split()
    t.ok(sizes and int(sizes[-1]) <= 1 << 20, "size of the file", result)
    t.ok(result.code != 0 or sizes[0] != "0", "the writer was told", result)


def inodes_control(t):
    where = os.path.join(t.caller.dir, "inodes")
    os.mkdir(where)
    t.caller.own(where)
    t.equal(t.box.outside("inodes", where, 500).probe("made"), "500", "500 files outside")


@suite.case("A084", "inode fill", inodes_control)
def inode_fill(t):
    most = 1200000 if FULL else 6000 if slow() else 60000
    result = t.box.attack("inodes", ".", most, flags=["--disk", "8m", "--mem", "2g", "--time", hope(120)], timeout=150)
    made = int(result.probe("made") or -1)
    if FULL:
        t.ok(result.probe("inode") in ("ENOSPC", "EDQUOT"), "refused", result)
    t.ok(0 < made <= 1100000, "bounded", result)
    t.ok(result.json, "a result came", result)
    host_is_well(t)


@suite.case("A086", "deep and wide trees", "outside rm -r has to cope as well")
def deep_tree(t):
    depth, width = (100000, 300000) if FULL else (5000, 20000)
    result, peak = watched(t, ["./attack", "deep", ".", depth, width], flags=["--time", hope(100), "--mem", "2g", "--disk", "2g"])
    t.equal(result.code, 0, f"ran: {result}")
    t.ok(int(result.probe("deep")) > 900, "deep", result)
    t.ok(peak < 256 << 20, "memory of the supervisor", peak)
    t.ok(result.json.get("changes", {}).get("added", 0) > width // 2, "changes were counted", result.json.get("changes"))


def weighed(t, *words):
    """A verb of the program: exit code, what it said, and the most memory it had."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen([t.caller.program, *words], cwd=t.caller.workspace, env=t.caller.env, stdin=subprocess.DEVNULL,
                                   stdout=out, stderr=subprocess.STDOUT, **t.caller.identity())
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        return process.returncode, out.read(300), usage.ru_maxrss << 10


@suite.case("A086c", "deep and wide trees: diff, snapshot, destroy", "outside rm -r has to cope as well")
def deep_sandbox(t):
    depth, width = (20000, 100000) if FULL else (1500, 5000)
    name = f"deep{os.getpid()}"
    t.equal(t.box.call("create", name, "--disk", "2g").returncode, 0, "created")
    try:
        made = t.box.call("exec", name, "--", "./attack", "deep", ".", depth, width, timeout=120)
        t.ok(made.returncode == 0 and int(made.stdout.split()[-1]) > 900, "made", made)
        for words in (("diff", "--name-status", name), ("snap", name), ("status", name), ("rollback", name), ("rm", name)):
            code, said, peak = weighed(t, *words)
            t.equal(code, 0, f"{words}: {said}")
            t.ok(slow() or peak < 256 << 20, f"memory of {words}", peak)
    finally:
        t.box.call("rm", name)
    # What was removed is taken apart behind the answer.
    t.equal(t.suite.watch.problems(patience(60)), [], "nothing is left")


# Every directory made in place of a link to "." is one more way to the same large file of the host.
COUNT_BOMB = """
import os
def fill(where, left):
    for name in "ab" if left else "":
        path = where + "/" + name
        if left == DEPTH:
            os.unlink(path)
        os.mkdir(path)
        with open(path + "/zero", "w") as file:
            file.truncate(64 << 20)
        fill(path, left - 1)
DEPTH = 6
fill(".", DEPTH)
os.unlink("out")
os.mkdir("out")
open("out/new", "w").close()
"""


@suite.case("A086b", "changes are not counted behind the host's links", "outside nobody counts")
def counting_bomb(t):
    where = os.path.join(t.caller.workspace, "linked")
    os.mkdir(where)
    for name, target in (("a", "."), ("b", "."), ("out", "/usr")):
        os.symlink(target, os.path.join(where, name))
    with open(os.path.join(where, "zero"), "w") as file:
        file.truncate(64 << 20)
    os.chown(where, t.caller.uid, -1)
    started = time.monotonic()
    result = t.box.run("python3", "-c", COUNT_BOMB, workspace=where)
    t.ok(time.monotonic() - started < patience(20), "it does not take long", time.monotonic() - started)
    t.equal(result.json.get("changes"), {"added": 127, "modified": 0, "deleted": 3}, f"counted: {result}")


def scale():
    """20 GB of output in the long tier; the same path with less in the short one."""
    if slow():
        return 64
    return 10240 if FULL else 512


@suite.case("A087", "flood of output, kept", "outside nothing keeps it")
def flood_kept(t):
    size = min(scale(), 2048)
    result, peak = watched(t, ["./attack", "flood", size], timeout=300)
    t.ok(result.json.get("truncated") is True, "truncation is noted", result)
    t.equal((result.json.get("stdout_bytes"), result.json.get("stderr_bytes")), (size << 20, size << 20), "bytes counted")
    t.ok(len(result.out) <= 1 << 20 and len(result.err_inside) <= 1 << 20, "what is kept", (len(result.out), len(result.err_inside)))
    t.ok(slow() or peak < 64 << 20, "memory of the supervisor", peak)


def size_of(path):
    """Layers on disk are being removed while somebody looks."""
    try:
        return os.path.getsize(path)
    except FileNotFoundError:
        return 0


@suite.case("A087b", "flood of output, passed on", "outside it passes as well")
def flood_passed(t):
    result, peak = watched(t, ["./attack", "flood", scale()], as_json=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           timeout=300)
    t.equal(result.code, 0, f"ran: {result}")
    t.ok(slow() or peak < 64 << 20, "memory of the supervisor", peak)
    total = sum(size_of(os.path.join(d, f)) for d, _, fs in os.walk(t.caller.env["XDG_STATE_HOME"]) for f in fs)
    t.ok(total < 200 << 20, "what is kept on disk", total)


@suite.case("A087c", "a slow reader", "outside the writer waits as well")
def slow_reader(t):
    process = t.box.popen(["./attack", "flood", 16], as_json=False, stderr=subprocess.DEVNULL)
    total = 0
    while True:
        data = process.stdout.read1(1 << 16)
        if not data:
            break
        total += len(data)
        if total < 1 << 20:
            time.sleep(0.01)
    process.communicate()
    t.equal((process.returncode, total), (0, 16 << 20), "every byte arrived")


def files_control(t):
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    result = t.box.outside("open-files")
    t.equal(result.probe("open"), "EMFILE", "outside the caller's own limit holds")
    t.ok(int(result.probe("opened")) <= limit, "as many as allowed")


@suite.case("A089", "descriptors", files_control)
def open_files(t):
    result = t.box.attack("open-files", flags=["--nofile", "256"])
    t.equal(result.probe("open"), "EMFILE", f"open: {result}")
    t.ok(int(result.probe("opened")) <= 256, "as many as allowed", result)
    result = t.box.attack("open-files")
    t.equal(result.probe("open"), "EMFILE", f"open: {result}")
    t.ok(int(result.probe("opened")) <= 65536, "as many as the default allows", result)


@suite.case("A089b", "descriptors in flight", "outside the caller's own quota is used")
def files_in_flight(t):
    result = t.box.attack("pass-files", flags=["--nofile", "256"], timeout=60)
    t.ok(result.json, "a result came", result)
    host_is_well(t)
    probe = subprocess.run([sys.executable, "-c", "import socket,array\na,b=socket.socketpair()\n"
                            "a.sendmsg([b'x'],[(socket.SOL_SOCKET,socket.SCM_RIGHTS,array.array('i',[0]))])"], **t.caller.identity(),
                           capture_output=True) if os.access(sys.executable, os.X_OK) and t.caller.uid == os.geteuid() else None
    t.ok(probe is None or probe.returncode == 0, "the host still passes descriptors", probe)


@suite.case("A090", "inotify instances of the host's user", "outside they are the user's own")
def inotify(t):
    process = t.box.popen(["./attack", "inotify", "10"], as_json=False)
    try:
        lines = [process.stdout.readline().decode().split("\t") for _ in range(2)]
        got = dict((n, a.strip()) for n, a in lines)
        t.ok(int(got["instances"]) <= 64, "instances inside", got)
        outside = t.box.outside("inotify")
        t.ok(int(outside.probe("instances")) >= 1, "the host's user has some left", outside.probes)
    finally:
        end(process)


@suite.case("A090b", "pipe pages of the host's user", "outside they are the user's own")
def pipe_pages(t):
    process = t.box.popen(["./attack", "pipes", "10"], as_json=False)
    try:
        process.stdout.readline()
        outside = t.box.bare_call(["sh", "-c", "echo through | cat"], 10, t.caller.identity())
        t.equal(outside.out, "through\n", "the host's user makes pipes")
    finally:
        end(process)


def large_pipes_control(t):
    t.ok(int(t.box.outside("pipes").probe("pipes")) > 0, "outside a pipe can be made larger")


@suite.case("A090c", "pipes larger than every pipe is", large_pipes_control)
def large_pipes(t):
    result = t.box.attack("pipes")
    t.equal(result.probe("pipes"), "0", f"none gets larger: {result}")


@suite.case("A089c", "descriptors of all processes, without a control group", "outside the caller's own limits hold")
def descriptors_of_all(t):
    result = t.box.run("sh", "-c", "ulimit -Hn", flags=["--pids", "40"])
    if has_cgroup(result):
        t.ok("descriptors_limit" not in result.json, "a control group counts what they hold", result)
        return
    hard = int(result.out or 0)
    t.ok(0 < hard <= 4096, "no process gets more than it starts with", result)
    t.equal(result.json.get("descriptors_limit"), 40 * 4096, f"the product is in the result: {result}")
    result = t.box.run("sh", "-c", "ulimit -Hn", flags=["--pids", "40", "--nofile", "128"])
    t.equal((result.out, result.json.get("descriptors_limit")), ("128\n", 40 * 128), f"with another limit: {result}")


def aio_now():
    with open("/proc/sys/fs/aio-nr") as file:
        return int(file.read())


def aio_control(t):
    t.ok(t.box.bare("aio").probe("io_setup") in ("OK", "EAGAIN"), "io_setup outside")


@suite.case("A091", "aio quota", aio_control)
def aio(t):
    before = aio_now()
    t.equal(t.box.attack("aio").probe("io_setup"), "ENOSYS", "io_setup")
    # The whole machine's: what others have at this moment goes again.
    t.ok(until(lambda: aio_now() <= before), "fs.aio-nr", aio_now())


@suite.case("A092", "processor time", "outside all cores are used")
def processor(t):
    result = t.box.attack("spin", 4, 3, flags=["--cpu", "0.5", "--time", "120s"], timeout=40)
    if not has_cgroup(result):
        t.skip("no control group for this caller: --cpu is degraded")
    share = result.json["cpu_ms"] / result.json["duration_ms"]
    t.ok(share < 0.75, "half a core is not exceeded", f"{share:.2f} {result}")


@suite.case("A092b", "limit of processor time", "outside it spins on")
def cpu_time(t):
    result = t.box.attack("spin", 2, 100, flags=["--cpu-time", "1s", "--time", "100s"], timeout=120)
    t.ok("cpu-time" in result.json.get("limits_hit", []), "told in limits_hit", result)
    t.equal(result.status, "limit", f"status: {result}")


def dirty_sync_control(t):
    done = subprocess.run(["sync", "-f", t.caller.dir], capture_output=True)
    t.equal(done.returncode, 0, "sync of one filesystem outside")


@suite.case("A092c", "sync does nothing", dirty_sync_control)
def sync_storm(t):
    started = time.monotonic()
    result = t.box.run("sh", "-c", "for i in $(seq 200); do sync; done")
    t.equal(result.code, 0, f"ran: {result}")
    t.ok(time.monotonic() - started < patience(30), "two hundred syncs", time.monotonic() - started)


def raise_control(t):
    result = t.box.bare("raise")
    t.ok(result.probe("nice") == "OK" and result.probe("ioprio") == "OK", "root raises its priority outside", result.probes)


@suite.case("A093", "raising limits", raise_control)
def raising(t):
    result = t.box.attack("raise")
    for name, answer in result.probes:
        if name.startswith("rlimit"):
            t.ok(answer == "EPERM" or answer == "unlimited" and name in ("rlimit-nproc", "rlimit-nice"), name, answer)
        elif name != "limit":
            t.ok(answer in ("EPERM", "EACCES", "ENOMEM", "EAGAIN"), name, answer)


def starve_control(t):
    victim = subprocess.Popen(["sleep", "1000"], start_new_session=True, **t.caller.identity())
    try:
        t.every(t.box.outside("starve", victim.pid).probes, {"OK"}, "a process of the same user")
    finally:
        end(victim)


@suite.case("A093c", "init's share taken away", starve_control)
def starve_init(t):
    t.every(t.box.attack("starve", 1, "all").probes, {"EPERM", "EACCES"}, "starve")
    result = t.box.run("sh", "-c", "./attack starve 1 all >/dev/null; for i in 1 2 3; do (sleep 0.1 &) ; done; mkdir d && mv d e && exit 7")
    t.equal(result.code, 7, f"init does its work: {result}")


@suite.case("A093b", "limits of a root caller and a plain one are the same", "outside they are the caller's")
def limits_told(t):
    result = t.box.run("sh", "-c", "ulimit -n; ulimit -Hn; ulimit -c; ulimit -f; ulimit -l")
    lines = result.out.split()
    t.ok(len(lines) == 5 and int(lines[0]) <= 4096 and int(lines[1]) <= 65536, "files", result)


suite.main()
