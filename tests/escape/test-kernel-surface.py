#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernel surface: system calls, sockets, options and ids that a payload must not get (A001 to A031)."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from aisbxtest import Suite
from box import end
from family import descendants, read_of, status_of

suite = Suite("kernel surface")


def by_number(case_id, title, attack, allowed, args=(), except_for=()):
    """A case whose probes are single calls: each answer ALLOWED inside, none of them in bare namespaces."""
    def control(t):
        t.none(t.box.bare(attack, *args).probes, allowed, attack, except_for)

    @suite.case(case_id, title, control)
    def run(t):
        result = t.box.attack(attack, *args)
        t.equal(result.code, 0, f"{attack} ran: {result}")
        t.every(result.probes, allowed, attack)
    return run


by_number("A001", "nested namespaces by unshare", "namespaces", {"EPERM"})
by_number("A004", "setns on own namespaces and a pidfd", "setns", {"EPERM"})
by_number("A005", "old mount calls", "mount-old", {"EPERM"}, ["/tmp"])
by_number("A006", "new mount calls", "mount-new", {"EPERM"})
by_number("A007", "io_uring", "uring", {"ENOSYS"})
by_number("A009", "keys", "keys", {"EPERM"})
by_number("A011", "modules and kexec", "modules", {"EPERM"})
by_number("A026", "state of the system", "state", {"EPERM"})
by_number("A027", "snooping calls", "snoop", {"EPERM"})
# listns is newer than most kernels: the control may find it missing there too
by_number("A028", "page-cache oracle and other optional calls", "optional", {"ENOSYS"},
          except_for=("listns", "memfd_secret", "file_getattr", "file_setattr", "cachestat", "statmount", "listmount",
                      "lsm_get_self_attr", "lsm_set_self_attr", "lsm_list_modules"))
by_number("A029", "personality", "personality", {"EPERM"})


@suite.case("A001b", "the kernel's own counters say no as well",
            "the counters are those of a user namespace that only exists inside")
def counters(t):
    result = t.box.attack("limits-namespaces")
    for kind in "user mnt net pid ipc uts cgroup time".split():
        t.equal(result.probe(f"max_{kind}_namespaces"), "0", f"max_{kind}_namespaces")
    t.equal(result.probe("max_inotify_instances"), "64", "max_inotify_instances")
    t.equal(result.probe("max_inotify_watches"), "65536", "max_inotify_watches")
    t.ok(result.probe("max_fanotify_groups") in ("0", "ENOENT"), "max_fanotify_groups", result.probe("max_fanotify_groups"))


def clone_answer(name):
    return {"ENOSYS"} if name.startswith("clone3") else {"EPERM"}


def clone_control(t):
    t.none(t.box.bare("clone").probes, {"EPERM", "ENOSYS"}, "clone")


@suite.case("A002", "namespaces by clone and clone3", clone_control)
def clone(t):
    t.every(t.box.attack("clone").probes, clone_answer, "clone")


def bpf_control(t):
    t.none(t.box.bare("bpf").probes, {"EPERM"}, "bpf", except_for=("dev-userfaultfd",))


@suite.case("A008", "bpf, perf, userfaultfd", bpf_control)
def bpf(t):
    t.every(t.box.attack("bpf").probes, lambda n: {"ENOENT"} if n.startswith("dev") else {"EPERM"}, "bpf")


def handles_control(t):
    result = t.box.bare("handles")
    t.equal(result.probe("name_to_handle_at"), "OK", "name_to_handle_at")
    t.ok(result.probe("handle-2") != "EPERM", "inode 2 by its handle", result.probe("handle-2"))


@suite.case("A012", "walk by file handles", handles_control)
def handles(t):
    t.every(t.box.attack("handles").probes, {"EPERM"}, "handles")


def peek_control(t):
    pid = t.canary.process.pid
    result = t.box.outside("peek", pid)
    good = {name for name, answer in result.probes if answer == "OK"}
    t.ok({"vm_readv", "proc-mem", "proc-environ", "proc-root", "seize", "attach"} <= good, "peek", result.probes)


@suite.case("A013", "ptrace and memory of init", peek_control)
def peek(t):
    t.every(t.box.attack("peek", 1).probes, {"EPERM", "EACCES", "ENOENT", "ESRCH"}, "peek")


@suite.case("A013b", "ptrace works between the payload's own processes",
            "this is the other half: debuggers and leak checkers need it")
def own_ptrace(t):
    # the tracer in swap-number gets as far as the filter's answer only when attaching works
    t.equal(t.box.attack("swap-number").probe("swap"), "EPERM", "a traced child")


@suite.case("A015", "unknown numbers", "outside they are unknown as well")
def unknown(t):
    t.every(t.box.attack("unknown").probes, {"ENOSYS"}, "unknown")


def foreign_control(t):
    answer = t.box.bare("foreign-abi").probe("int80-getpid")
    if answer in ("absent", "SIGSEGV"):
        t.skip("no 32-bit calls on this machine")
    t.equal(answer, "OK", "getpid by the 32-bit table")


@suite.case("A015b", "calls by the 32-bit table", foreign_control)
def foreign(t):
    t.every(t.box.attack("foreign-abi").probes, {"SIGSYS", "SIGSEGV", "SIGKILL", "absent"}, "foreign-abi")


def family_answer(name):
    if name.startswith(("family", "pair")):
        return {"EAFNOSUPPORT"}
    if name.startswith("raw"):
        return {"EPERM"}
    if name.startswith("packet"):
        return {"EPERM", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "EAFNOSUPPORT"}
    return {"EPROTONOSUPPORT", "ESOCKTNOSUPPORT"}


def families_control(t):
    result = t.box.bare("families")
    good = {name for name, answer in result.probes if answer == "OK"}
    t.ok({"family-17-2", "raw-2-1", "raw-2-high", "raw-10-1", "packet-2"} <= good, "families", sorted(good))


@suite.case("A016", "socket families, raw sockets, odd protocols", families_control)
def families(t):
    t.every(t.box.attack("families").probes, family_answer, "families")


def netlink_control(t):
    result = t.box.bare("netlink")
    for name in ("newlink", "newaddr", "newroute"):
        t.equal(result.probe(name), "OK", name)
    t.ok(any(a == "OK" for n, a in result.probes if n.startswith("protocol")), "some netlink protocol")


@suite.case("A018", "netlink protocols and changes", netlink_control)
def netlink(t):
    t.every(t.box.attack("netlink").probes,
            lambda n: {"EPERM"} if n.startswith("new") else {"EAFNOSUPPORT", "EPROTONOSUPPORT"}, "netlink")


def netconfig_control(t):
    t.every(t.box.bare("netconfig").probes, {"OK"}, "netconfig")


@suite.case("A018b", "interfaces by ioctl", netconfig_control)
def netconfig(t):
    t.every(t.box.attack("netconfig").probes, {"EPERM"}, "netconfig")


def ioctl_control(t):
    probes = t.box.bare("ioctl").probes
    t.none(probes, {"EPERM"}, "ioctl")
    switch = "/proc/sys/dev/tty/legacy_tiocsti"
    legacy = True
    if os.path.exists(switch):  # before 6.2 there was nothing to switch
        with open(switch) as file:
            legacy = file.read().strip() == "1"
    if legacy:
        t.equal(dict(probes)["sti"], "OK", "TIOCSTI on a pty of one's own")


@suite.case("A020", "keystroke injection and line disciplines", ioctl_control)
def ioctl(t):
    t.every(t.box.attack("ioctl", "cons").probes, lambda n: {"OK"} if n == "pty" else {"EPERM"}, "ioctl")


def setsockopt_control(t):
    probes = t.box.bare("setsockopt").probes
    t.none(probes, {"EPERM"}, "setsockopt")
    t.none([p for p in probes if p[0].startswith("ulp")], {"ENOPROTOOPT"}, "ulp")


@suite.case("A022", "socket options that load code or protocols", setsockopt_control)
def setsockopt(t):
    t.every(t.box.attack("setsockopt").probes,
            lambda n: {"ENOPROTOOPT"} if n.startswith(("ulp", "udp")) else {"EPERM"}, "setsockopt")


def check_status(t, probes):
    pids = {name.split(".")[0] for name, _ in probes if "." in name}
    t.ok(pids, "some process is in sight")
    for name, answer in probes:
        key = name.partition(".")[2]
        if key.startswith("Cap"):
            t.equal(answer, "0000000000000000", name)
        elif key == "NoNewPrivs":
            t.equal(answer, "1", name)
        elif key == "Seccomp":
            t.equal(answer, "2", name)


def status_control(t):
    probes = t.box.bare("status").probes
    t.ok(any(n.endswith("CapEff") and a != "0" * 16 for n, a in probes), "a root process has capabilities")
    t.ok(any(n.endswith("Seccomp") and a == "0" for n, a in probes), "a plain process has no filter")


@suite.case("A023", "status of every process, seen from inside", status_control)
def status(t):
    result = t.box.attack("status")
    check_status(t, result.probes)
    bits = int(result.probe("securebits"), 16)
    t.equal(bits & 0x3, 0x3, "SECBIT_NOROOT is set and locked")


# CAP_KILL, CAP_SETGID and CAP_SETUID of the sandbox's own user namespace.
IDS = 1 << 5 | 1 << 6 | 1 << 7


def starts_others(t, row):
    """Whether it is the init of a sandbox with a range of ids, of which the commands it starts may have another one."""
    return os.environ.get("AISBX_VIA") == "exec" and t.caller.uid == 0 and row["NSpid"].split()[-1] == "1"


@suite.case("A023b", "status of every process, seen from the host", "the host's own processes show the contrary")
def status_from_host(t):
    process = t.box.popen(["./attack", "sleep-files", "20"], as_json=False)
    try:
        process.stdout.readline()
        inside = {}
        for pid in descendants(process.pid):
            row = status_of(pid)
            if len(row.get("NSpid", "").split()) > 1:
                inside[pid] = row
        t.ok(len(inside) >= 2, "payload and init are below the supervisor", inside.keys())
        for pid, row in inside.items():
            for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
                kept = IDS if starts_others(t, row) and key in ("CapPrm", "CapEff") else 0
                t.equal(row[key], f"{kept:016x}", f"{row['Name']} {key}")
            t.equal(row["NoNewPrivs"], "1", f"{row['Name']} NoNewPrivs")
            t.equal(row["Seccomp"], "2", f"{row['Name']} Seccomp")
            uids = row["Uid"].split() + row["Gid"].split()
            t.ok("0" not in uids, f"{row['Name']} holds no id of host root", uids)
            t.equal(row["Groups"].strip(), "", f"{row['Name']} groups")
            for line in (read_of(pid, "uid_map") or "").splitlines():
                t.ok(line.split()[1] != "0", "host uid 0 is not in the map", line)
    finally:
        end(process)


def setuid_control(t):
    plant = os.path.join(t.caller.dir, "setuid-root")
    copy_with_mode(t, plant, 0o4755)
    try:
        result = t.box.bare_call([plant, "ids"], 30, t.caller.identity())
        if result.probe("euid") != "0":
            t.skip("this filesystem is mounted nosuid")
    finally:
        os.unlink(plant)


def copy_with_mode(t, path, mode):
    with open(t.suite.attack, "rb") as source, open(path, "wb") as target:
        target.write(source.read())
    os.chmod(path, mode)


@suite.case("A024", "gain by setuid files and id calls", setuid_control)
def setuid(t):
    before = t.box.attack("ids")
    t.caller.put("own-copy", b"", 0o755)
    copy_with_mode(t, t.caller.workspace + "/own-copy", 0o755)
    result = t.box.run("sh", "-c", "./attack setuid ./own-copy; ./own-copy ids")
    for name in ("file-caps", "file-caps-v2"):
        t.ok(result.probe(name) in ("EPERM", "EOPNOTSUPP", "EINVAL"), name, result.probe(name))
    for name in ("capset", "ambient", "setfsuid"):
        t.equal(result.probe(name), "EPERM", name)
    t.equal(result.probe("drop-nnp"), "EINVAL", "no_new_privs cannot be taken back")
    t.equal(result.probe("securebits"), "EPERM", "securebits")
    if t.caller.name == "plain":
        for name in ("setuid", "setgroups"):
            t.ok(result.probe(name) in ("EPERM", "EINVAL"), name, result.probe(name))
    t.equal(result.probe("euid"), before.probe("euid"), "effective uid after a setuid copy")
    t.equal(result.probe("egid"), before.probe("egid"), "effective gid after a setuid copy")


@suite.case("A024b", "setuid programs of the host", setuid_control)
def setuid_host(t):
    before = t.box.attack("ids").probe("euid")
    plant = t.caller.workspace + "/planted"
    copy_with_mode(t, plant, 0o4755 if os.geteuid() == 0 else 0o755)
    result = t.box.run("./planted", "ids")
    os.unlink(plant)
    t.equal(result.probe("euid"), before, "effective uid of a file that is setuid root on the host")
    for program in ("su", "sudo", "mount", "newgrp", "passwd"):
        result = t.box.run("sh", "-c", f"command -v {program} >/dev/null || exit 0; {program} -c id </dev/null 2>/dev/null; exit 0")
        t.ok(t.caller.name == "root" or "euid=0" not in result.out and "uid=0" not in result.out, program, result.out)


def filter_control(t):
    result = t.box.bare("filter")
    t.equal(result.probe("allow"), "OK", "mount after a filter that allows")
    t.equal(result.probe("notify"), "OK", "mount continued by a listener")


@suite.case("A030", "own filters on top", filter_control)
def own_filter(t):
    result = t.box.attack("filter")
    t.equal(result.probe("allow"), "EPERM", "allow")
    t.ok(result.probe("notify") in ("EPERM", "EBUSY"), "notify", result.probe("notify"))
    t.ok(result.probe("trace") in ("EPERM", "ENOSYS"), "trace", result.probe("trace"))


def swap_control(t):
    t.equal(t.box.bare("swap-number").probe("swap"), "OK", "getppid turned into mount")


@suite.case("A030b", "number swapped by a tracer", swap_control)
def swap(t):
    t.equal(t.box.attack("swap-number").probe("swap"), "EPERM", "swap")


@suite.case("A031", "storm of random calls", "outside it would be an attack on this machine")
def storm(t):
    full = os.environ.get("AISBX_TIER") == "ci"
    calls, seconds = (1000000, 60) if full else (100000, 5)
    result = t.destructive("storm", calls, seconds, flags=["--time", "5m", "--mem", "512m"], timeout=320)
    t.ok(result.probe("tripwire") is None, "tripwire", result)
    t.ok(result.json, "the run ended with a result", result)
    t.ok(int(result.probe("storm") or 0) > 1000, "calls were made", result)
    t.ok(result.status in ("success", "error", "killed", "limit", "timeout", "oom"), "status", result)
    t.equal(t.box.run("true").code, 0, "the next run works")


@suite.case("A034", "denied calls are told", "nothing is denied outside")
def denials(t):
    result = t.box.attack("mount-old", "/tmp")
    if not any(d.get("layer") == "seccomp" for d in result.json.get("denials", [])):
        t.ok("notify" in str(result.json.get("degraded")) or result.json.get("denials") == [], "denials", result)
        t.skip("no listener here: denials of the filter are not told")
    names = " ".join(d.get("what", "") for d in result.json["denials"])
    for call in ("mount", "umount2", "pivot_root", "chroot"):
        t.ok(call in names, f"{call} is among the denials", names)


suite.main()
