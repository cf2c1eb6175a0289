#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`exec --user`: a command under another id of the sandbox has every wall of the others, and one more between the two.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it.
"""
import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from box import patience
from clitest import Home, Tap
from family import until

tap = Tap()
# No account of a Debian system has these; the first gets one inside.
OTHER, UNKNOWN = 54401, 54402

# Each line: what was tried, and the error it met, or "done".
ATTACK = """
import ctypes, errno, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
def say(name, call):
    try:
        got = call()
        print(name, "done", got, flush=True)
    except OSError as problem:
        print(name, errno.errorcode[problem.errno], flush=True)
def raw(flags):
    if libc.unshare(flags) < 0:
        raise OSError(ctypes.get_errno(), "")
def write(path, text):
    with open(path, "w") as file:
        file.write(text)
def trace(pid):
    if libc.ptrace(16, pid, None, None) < 0:
        raise OSError(ctypes.get_errno(), "")
    os.kill(pid, signal.SIGKILL)
other = int(sys.argv[1])
say("setuid", lambda: os.setuid(other))
say("setreuid", lambda: os.setreuid(other, other))
say("setresuid", lambda: os.setresuid(-1, other, -1))
say("setgid", lambda: os.setgid(other))
say("setgroups", lambda: os.setgroups([other]))
say("uid_map", lambda: write("/proc/self/uid_map", f"0 {other} 1"))
say("gid_map", lambda: write("/proc/self/gid_map", f"0 {other} 1"))
say("setgroups-file", lambda: write("/proc/self/setgroups", "allow"))
say("unshare", lambda: raw(0x10000000))
say("kill-init", lambda: os.kill(1, 9))
say("kill-neighbour", lambda: os.kill(int(sys.argv[2]), 9))
say("trace-init", lambda: trace(1))
say("trace-neighbour", lambda: trace(int(sys.argv[2])))
say("read-init", lambda: open("/proc/1/status").read())
say("read-neighbour", lambda: open(f"/proc/{sys.argv[2]}/environ").read())
say("limits-of-neighbour", lambda: __import__("resource").prlimit(int(sys.argv[2]), 7, (1, 1)))
say("read-secret", lambda: open("/var/tmp/box-secret").read())
say("write-secret", lambda: write("/var/tmp/box-secret", "x"))
say("list-secret", lambda: os.listdir("/var/tmp/box-dir"))
say("chown", lambda: os.chown(sys.argv[3], other, other))
say("own-set-id", lambda: os.execv("/var/tmp/box-id", ["id", "-u"]) if len(sys.argv) > 4 else None)
"""


def as_user(home, user, *command, name="box", **how):
    return home.call("exec", name, "--user", str(user), "--", *command, **how)


def fields(text):
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


def who(home):
    home.call("exec", "box", "--", "sh", "-c",
              f"echo 'boxer:x:{OTHER}:{OTHER + 7}:a user:/var/tmp/boxer:/bin/sh' >>/etc/passwd;"
              f"echo 'boxers:x:{OTHER + 9}:' >>/etc/group")
    show = 'printf "%s\\n" "$(id -u):$(id -g):$(id -G) $HOME $USER $LOGNAME"'
    for user, expected in ((OTHER, f"{OTHER}:{OTHER + 7}:{OTHER + 7} /var/tmp/boxer boxer boxer"),
                           ("boxer", f"{OTHER}:{OTHER + 7}:{OTHER + 7} /var/tmp/boxer boxer boxer"),
                           ("boxer:boxers", f"{OTHER}:{OTHER + 9}:{OTHER + 9} /var/tmp/boxer boxer boxer"),
                           (f"{OTHER}:3", f"{OTHER}:3:3 /var/tmp/boxer boxer boxer"),
                           (UNKNOWN, f"{UNKNOWN}:{UNKNOWN}:{UNKNOWN} / {UNKNOWN} {UNKNOWN}"),
                           (0, "0:0:0 /root root root"),
                           (65534, None)):
        done = as_user(home, user, "sh", "-c", show)
        good = done.stdout.strip() == expected if expected else done.stdout.startswith("65534:")
        tap.ok(done.returncode == 0 and good, f"--user {user}", done)
    done = home.call("exec", "box", "--user", "boxer", "--env", "HOME=/var/tmp", "--", "sh", "-c", show)
    tap.ok(" /var/tmp boxer boxer" in done.stdout, "a variable that is given wins", done)
    done = home.call("exec", "box", "--", "sh", "-c", show)
    tap.ok(done.stdout.startswith("0:0:0 ") and "boxer" not in done.stdout, "the next command is the sandbox's user again", done)


def refused(home):
    for user in ("65535", "65536", "70000", "4294967294", "4294967295", "4294967296", "9999999999", "0:65536", "0:4294967295",
                 "nosuchname", "boxer:nosuchgroup"):
        done = as_user(home, user, "id")
        tap.ok(done.returncode == 125 and "--user" in done.stderr and not done.stdout, f"--user {user} is refused", done)
    for user in ("-1", "a;id", "$(id)", "`id`", "a b", "a\nb", "../root", "a/b", "*", "0x0", "boxer:", ":0", "1:2:3", "a" * 33):
        done = home.call("exec", "box", f"--user={user}", "--", "id")
        tap.ok(done.returncode == 125 and "neither a number nor a name" in done.stderr and not done.stdout,
               f"--user {user!r} is no word for a user", done)
    home.put("given", "a-secret-of-this-test")
    done = home.call("exec", "box", "--user", "1", "--secret", "s=given", "--", "true")
    tap.ok(done.returncode == 125 and "--secret-env" in done.stderr, "a secret's file is for the sandbox's user", done)


def run_once(home):
    before = home.rows("ls")
    done = home.call("run", "--user", f"{OTHER}:3", "--", "sh", "-c", 'echo "$(id -u):$(id -g):$(id -G)"; exit 7')
    tap.ok(done.stdout == f"{OTHER}:3:3\n" and done.returncode == 7, "run --user: one command under another id", done)
    tap.equal([row["name"] for row in home.rows("ls")], [row["name"] for row in before], "which leaves no sandbox")
    for words in (("--write", "workspace"), ("--batch", "-")):
        done = home.call("run", "--user", "1", *words, *(("--", "id") if words[0] == "--write" else ()))
        tap.ok(done.returncode == 125 and "--user" in done.stderr, f"run --user {words[0]} is refused", done)


def planted(home):
    """What the sandbox itself writes to its files: never more than an error, and never a wait."""
    for what, how in (("an id beyond the range", "echo evil:x:4294967295:0::/:/bin/sh >/etc/passwd"),
                      ("a group beyond the range", "echo evil:x:1:65536::/:/bin/sh >/etc/passwd"),
                      ("minus one", "echo evil:x:-1:-1::/:/bin/sh >/etc/passwd"),
                      ("a fifo", "rm /etc/passwd; mkfifo /etc/passwd"),
                      ("a directory", "rm /etc/passwd; mkdir /etc/passwd"),
                      ("a device", "rmdir /etc/passwd; ln -s /dev/zero /etc/passwd"),
                      ("a file of the kernel", "rm /etc/passwd; ln -s /proc/self/mem /etc/passwd"),
                      ("much", "rm /etc/passwd; yes evil:x:1 | head -c 3000000 >/etc/passwd"),
                      ("one long line", "head -c 900000 /dev/zero | tr '\\0' : >/etc/passwd"),
                      ("nothing", "rm /etc/passwd")):
        made = home.call("exec", "other", "--", "sh", "-c", how)
        done = as_user(home, "evil", "id", name="other", timeout=patience(60))
        tap.ok(made.returncode == 0 and done.returncode == 125 and not done.stdout and "--user" in done.stderr,
               f"passwd is {what}", [made, done])
    done = as_user(home, UNKNOWN, "id", "-u", name="other")
    tap.ok(done.stdout == f"{UNKNOWN}\n", "a number is good without it", done)


def walls(home):
    names = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Seccomp_filters", "SigBlk")
    own, other = (fields(done.stdout) for done in (home.call("exec", "box", "--", "cat", "/proc/self/status"),
                                                   as_user(home, OTHER, "cat", "/proc/self/status")))
    tap.ok(other.get("Uid") == "\t".join([str(OTHER)] * 4), "all four ids are the other one", other.get("Uid"))
    tap.ok(own and all(own.get(key) == other.get(key) for key in names), "capabilities and filters are those of any command", [own, other])
    tap.ok(re.fullmatch("0+", other.get("CapPrm", "")) and other.get("NoNewPrivs") == "1", "which are none", other)
    own, other = (home.call("exec", "box", *user, "--", "sh", "-c", "ulimit -aH; ulimit -a; cat /proc/self/mountinfo /proc/self/cgroup; umask")
                  for user in ((), ("--user", str(OTHER))))
    tap.ok(own.stdout and own.stdout == other.stdout, "limits, mounts and groups are those of any command", [own, other])


def attack(home):
    home.call("exec", "box", "--", "sh", "-c",
              "echo secret >/var/tmp/box-secret; mkdir -m 700 /var/tmp/box-dir; chmod 600 /var/tmp/box-secret;"
              "cp /usr/bin/id /var/tmp/box-id; chmod 6755 /var/tmp/box-id; touch /var/tmp/box-mine")
    as_user(home, OTHER, "touch", "/var/tmp/box-yours")
    started = home.call("exec", "-d", "box", "--", "sh", "-c", "echo $$; exec sleep 1000").stdout.strip()
    served = home.call("exec", "-d", "box", "--user", str(OTHER), "--", "sh", "-c", "echo $$; exec sleep 1000").stdout.strip()
    pids = {}
    for key, exec_id in (("own", started), ("other", served)):
        until(lambda: home.data("poll", exec_id).get("stdout", "").strip())
        pids[key] = home.data("poll", exec_id).get("stdout", "").strip()
    expected = {"kill-init": ("EPERM",), "kill-neighbour": ("EPERM",), "trace-init": ("EPERM",), "trace-neighbour": ("EPERM",),
                "read-init": ("ENOENT", "EACCES"), "read-neighbour": ("ENOENT", "EACCES"), "limits-of-neighbour": ("EPERM",),
                "uid_map": ("EPERM", "EACCES"), "gid_map": ("EPERM", "EACCES"), "setgroups-file": ("EPERM", "EACCES"), "unshare": ("EPERM",),
                "read-secret": ("EACCES",), "write-secret": ("EACCES",), "list-secret": ("EACCES",)}
    command = ("python3", "-c", ATTACK)
    done = as_user(home, OTHER, *command, "0", pids["own"], "/var/tmp/box-yours", "id")
    got = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    for name in ("setuid", "setreuid", "setresuid", "setgid", "setgroups", "chown", *expected):
        tap.ok(got.get(name) in expected.get(name, ("EPERM",)), f"to the sandbox's user: {name}: {got.get(name)}", done)
    tap.ok(done.stdout.splitlines()[-1:] == [str(OTHER)], "a set-id program gives nothing", done)
    done = home.call("exec", "box", "--", *command, str(OTHER), pids["other"], "/var/tmp/box-mine")
    got = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    for name in ("setuid", "setgid", "setgroups", "chown", "kill-neighbour", "trace-neighbour", "read-neighbour", "limits-of-neighbour"):
        tap.ok(got.get(name) in expected.get(name, ("EPERM",)), f"from the sandbox's user: {name}: {got.get(name)}", done)
    for exec_id in (started, served):
        tap.ok(home.data("poll", exec_id).get("state") == "running", "both live", home.call("poll", exec_id, "--json"))
    for exec_id in (started, served):
        home.call("poll", exec_id, "--signal", "TERM")
        tap.ok(until(lambda: home.data("poll", exec_id).get("state") != "running"), "a signal from outside ends it")


def init_of(namespace):
    """Pid 1 of that namespace, on the host."""
    for path in glob.glob("/proc/[0-9]*"):
        try:
            with open(path + "/status") as file:
                status = fields(file.read())
            if os.readlink(path + "/ns/pid") == namespace and status["NSpid"].split()[-1] == "1":
                return path, status
        except (OSError, KeyError):
            continue
    return None, {}


def processes_of(namespace):
    found = set()
    for path in glob.glob("/proc/[0-9]*"):
        try:
            if os.readlink(path + "/ns/pid") == namespace:
                found.add(path)
        except OSError:
            continue
    return found


def ends(home):
    namespace = home.call("exec", "box", "--", "readlink", "/proc/self/ns/pid").stdout.strip()
    init, status = init_of(namespace)
    kept = 1 << 5 | 1 << 6 | 1 << 7  # to signal, and to become another group and user
    tap.ok(init and int(status["CapPrm"], 16) == kept and int(status["CapEff"], 16) == kept and int(status["CapInh"], 16) == 0
           and int(status["CapBnd"], 16) == 0 and int(status["CapAmb"], 16) == 0 and status["NoNewPrivs"] == "1",
           "init keeps three capabilities of the sandbox and no others", status)
    # Sessions of their own, deaf to what can be ignored.
    tree = "trap '' TERM HUP INT; setsid sleep 1000 & setsid sh -c 'setsid sleep 1000 & sleep 1000' & sleep 1000"
    done = home.call("exec", "box", "--user", str(OTHER), "--time", "1s", "--", "sh", "-c", tree)
    tap.ok(done.returncode == 124, "out of time", done)
    tap.ok(until(lambda: processes_of(namespace) == {init}), "nothing of the command is left", processes_of(namespace))
    tap.ok(init_of(namespace)[0] == init, "init lives")
    home.call("exec", "-d", "box", "--user", str(OTHER), "--", "sh", "-c", tree)
    until(lambda: len(processes_of(namespace)) > 4)
    done = home.call("stop", "box")
    tap.ok(done.returncode == 0 and until(lambda: not processes_of(namespace)), "stop ends all of them", done)


def crowd(home):
    """The bound on processes holds for all ids together where a group counts, and for each where none does."""
    fork = ("import os, time\ncount = 0\ntry:\n    while count < 500:\n        pid = os.fork()\n        if pid == 0: time.sleep(1000)\n"
            "        count += 1\nexcept OSError: pass\nprint(count, flush=True)\nos.kill(0, 9)")
    home.call("create", "crowd", "--pids", "40")
    held = home.call("exec", "-d", "crowd", "--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1000 & done; wait").stdout.strip()
    until(lambda: home.data("poll", held).get("state") == "running")
    done = home.call("exec", "crowd", "--json", "--user", str(OTHER), "--", "python3", "-c", fork)
    found = re.search(r'"stdout": ?"(\d+)', done.stdout)
    tap.ok(found and 0 < int(found.group(1)) <= 40, "another id forks no further", done)
    home.call("rm", "crowd")


def promoted(home):
    """What another id made has its owner on the host only where a person agrees."""
    os.chmod(home.work, 0o777)
    home.call("create", "works")
    done = as_user(home, OTHER, "sh", "-c", "echo made >made; mkdir dir; echo in >dir/in", name="works")
    tap.ok(done.returncode == 0, "it works in the workspace", done)
    done = home.call("promote", "works")
    tap.ok(done.returncode == 4 and "given to another account" in done.stdout + done.stderr and not os.path.exists(home.work + "/made"),
           "its files wait for consent", done)
    done = home.call("promote", "works", "--allow-privilege")
    owners = {os.stat(os.path.join(home.work, name)).st_uid for name in ("made", "dir", "dir/in")}
    tap.ok(done.returncode == 0 and owners == {OTHER}, "with it they have the same owner outside", [owners, done])
    home.call("undo", *re.findall(r"aisbx undo (\w+)", done.stdout + done.stderr))
    tap.ok(not os.path.exists(home.work + "/made"), "and can be taken back")


def foreign(home):
    """A directory whose owner is not in the sandbox: said when it is made, and not by each command in it."""
    foreign = home.path + "/foreign"
    os.mkdir(foreign)
    os.chown(foreign, UNKNOWN, UNKNOWN)
    for flag in ("--rw", "--ro", "--rw-through"):
        done = home.call("create", "mounts", flag, foreign)
        tap.ok(done.returncode == 4 and "belongs to another user" in done.stderr and "mounts" not in [row["name"] for row in home.rows("ls")],
               f"create {flag} of another one's directory is refused", done)
    os.chown(foreign, 0, 0)
    done = home.call("create", "mounts", "--rw", foreign)
    tap.ok(done.returncode == 0 and home.call("exec", "mounts", "--", "ls", foreign).returncode == 0, "of the own one it is not", done)


def terminal(home):
    shown, status = home.on_terminal("exec", "box", "--user", str(OTHER), "--", "sh", "-c", 'test "$(stat -c %u "$(tty)")" = "$(id -u)" && echo mine-$((40+2))')
    tap.ok(status == 0 and b"mine-42" in shown, "its terminal is its own", shown)


def filtered(home):
    """A filter of the user's own holds for init, too: it starts commands as ever, and changes no ids."""
    home.put("none.json", '{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["capset", "setresuid"], "action": "SCMP_ACT_ERRNO"}]}')
    for number, words in enumerate((("--profile", "python-narrow"), ("--seccomp", home.work + "/none.json"))):
        name = f"filtered{number}"
        done = home.call("create", name, *words)
        tap.ok(done.returncode == 0, f"a sandbox with {words[0]}", done)
        done = home.call("exec", name, "--", "/usr/bin/python3", "-c", "import os; print(os.getuid())")
        tap.ok(done.stdout.strip() == "0", "its commands start", done)
        done = as_user(home, OTHER, "id", name=name)
        tap.ok(done.returncode == 125 and not done.stdout and "without that filter" in done.stderr, "under its own id only", done)
        home.call("rm", name)


def of_plain(home):
    own = f"{os.getuid()}:{os.getgid()}"
    done = as_user(home, own, "id", "-u")
    tap.ok(done.stdout.strip() == str(os.getuid()), "the own id may be said", done)
    for user in ("7", "0:7", "54401", "65534", "4294967295", f"{os.getuid()}:7"):
        done = as_user(home, user, "id")
        tap.ok(done.returncode == 125 and not done.stdout and "let root create the sandbox" in done.stderr, f"--user {user} is refused", done)
    done = home.call("run", "--user", "7", "--", "id")
    tap.ok(done.returncode == 125 and not done.stdout and "root" in done.stderr, "run --user 7, too", done)
    tap.equal([row["name"] for row in home.rows("ls")], ["box"], "and leaves no sandbox")


def main():
    with Home("user-") as home:
        if home.can_run(tap, "commands under another id"):
            home.call("create", "box")
            # Root of a container may have no range of ids either.
            if home.call("exec", "box", "--", "cat", "/proc/self/uid_map").stdout.split()[2:] == ["1"]:
                of_plain(home)
            else:
                home.call("create", "other")
                for test in (who, refused, run_once, planted, walls, attack, ends, crowd, promoted, foreign, terminal, filtered):
                    test(home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
