#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""doctor --fix and --undo: settings shown, asked about, changed, put back.

Takes the program from AISBX. Speaks TAP. Runs itself again in a user and mount namespace, where /etc is a directory of the
test's own, the kernel's settings are read-only, and those that are to change have a file each bound over them. The limit on
user namespaces is that namespace's own, and really changed.
"""
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from clitest import AISBX, Home, Tap, refused  # noqa: E402

INSIDE = "AISBX_TEST_DOCTOR_INSIDE"
LINKS, KPTR, SPACES = "fs.protected_symlinks", "kernel.kptr_restrict", "user.max_user_namespaces"
WEAK = {LINKS: "0\n", KPTR: "0\n"}
# The others that doctor warns of are as they should be.
SOUND = {"fs.protected_hardlinks": 1, "fs.protected_fifos": 1, "fs.protected_regular": 1, "kernel.dmesg_restrict": 1,
         "kernel.unprivileged_bpf_disabled": 2, "dev.tty.legacy_tiocsti": 0, "vm.unprivileged_userfaultfd": 0,
         "kernel.perf_event_paranoid": 2}

tap = Tap()


def live(name):
    return "/proc/sys/" + name.replace(".", "/")


def kept(name):
    return f"/etc/sysctl.d/90-aisbx-{name}.conf"


def mount(*words):
    subprocess.run(["mount", *words], check=True)


def read(path):
    try:
        with open(path, errors="surrogateescape") as file:
            return file.read()
    except OSError as problem:
        return f"<{problem.strerror}>"


def write(path, text):
    with open(path, "w") as out:
        out.write(text)


def state():
    """All that a fix may change."""
    found = {name: read(live(name)) for name in (*WEAK, SPACES)}
    for top, dirs, files in os.walk("/etc"):
        found.update({os.path.join(top, name): None for name in dirs})
        found.update({os.path.join(top, name): read(os.path.join(top, name)) for name in files})
    return found


def build(home):
    """The machine that is changed; the real one is out of reach."""
    place = os.path.join(home.path, "machine")
    os.mkdir(place)
    os.mkdir(place + "/etc")
    for name in ("passwd", "group", "nsswitch.conf", "ld.so.cache"):
        if os.path.exists("/etc/" + name):
            shutil.copy("/etc/" + name, place + "/etc/" + name)
    mount("--bind", place + "/etc", "/etc")
    os.mkdir(place + "/user")
    mount("--bind", "/proc/sys/user", place + "/user")
    mount("--bind", "/proc/sys", "/proc/sys")
    mount("-o", "remount,bind,ro", "/proc/sys")
    mount("--bind", place + "/user", "/proc/sys/user")
    for name, value in {**WEAK, **{name: f"{value}\n" for name, value in SOUND.items()}}.items():
        if os.path.exists(live(name)):
            write(os.path.join(place, name), value)
            mount("--bind", os.path.join(place, name), live(name))
    return bool(os.statvfs("/proc/sys/kernel").f_flag & os.ST_RDONLY) and read("/etc/shadow").startswith("<")


def names(home):
    return [fix["name"] for fix in home.data("doctor").get("fixes", [])]


def test_consent(home):
    before = state()
    tap.equal(names(home), [LINKS, KPTR], "doctor names what a setting would mend")
    shown = home.call("doctor").stdout
    tap.ok("doctor --fix shows what would mend 2 of these" in shown, "and says how", shown)
    done = home.call("doctor", "--fix")
    tap.ok(done.returncode == 4 and f"tee {live(LINKS)}" in done.stdout and "--yes" in done.stderr,
           "without a terminal the commands are shown", done)
    rows = home.rows("doctor", "--fix")
    tap.ok([row["state"] for row in rows] == ["open"] * 2 and len(rows[0]["commands"]) == 3, "as data, too", rows)
    seen, code = home.on_terminal("doctor", "--fix", typed=[(b"[n]o:", b"n\n"), (b"[n]o:", b"n\n")])
    tap.ok(code == 4 and b"mkdir -p /etc/sysctl.d" in seen and b"done" not in seen, "a no is a no", seen)
    tap.equal(home.call("doctor", "--undo").stdout, "Nothing is on record that could be taken back.\n", "no record is made")
    for words, code in ((("--fix", "--undo"), 2), (("--yes",), 2), (("word",), 2), (("--fix", "no.such"), 5),
                        (("--undo", LINKS), 5)):
        tap.ok(refused(home.call("doctor", *words), code), f"doctor {' '.join(words)}")
    tap.ok(refused(home.call("doctor", "--fix", "-y", AISBX_SANDBOX="1"), 4, "sandbox"), "nor from a sandbox")
    done = home.call("doctor", "--fix", "-y", XDG_STATE_HOME="/proc/none")
    tap.ok(refused(done, 70, "no record can be kept"), "nor where no record can be kept", done)
    tap.equal(state(), before, "and nothing was changed by any of it")


def test_there_and_back(home):
    before = state()
    commands = home.rows("doctor", "--fix", LINKS)[0]["commands"]
    seen, code = home.on_terminal("doctor", "--fix", typed=[(b"[n]o:", b"y\n"), (b"[n]o:", b"n\n")])
    after = state()
    changed = {path for path in {**before, **after} if before.get(path, 0) != after.get(path, 0)}
    tap.ok(code == 0 and changed == {LINKS, "/etc/sysctl.d", kept(LINKS)}, "a yes for one changes that one", (seen, changed))
    tap.ok(after[LINKS] == "1\n" and after[kept(LINKS)] == f"{LINKS} = 1\n", "now and for later starts", after)
    tap.equal(names(home), [KPTR], "doctor finds it mended")
    tap.equal(os.stat(kept(LINKS)).st_mode & 0o777, 0o644, "everybody may read the file")
    seen, code = home.on_terminal("doctor", "--undo", typed=[(b"[n]o:", b"n\n")])
    tap.ok(code == 4 and state() == after and f"rm {kept(LINKS)}".encode() in seen, "--undo asks as well", seen)
    tap.equal(home.call("doctor", "--undo").returncode, 4, "or does nothing")
    done = home.call("doctor", "--undo", "-y")
    tap.ok(done.returncode == 0 and state() == before, "and puts everything back", done)
    for command in commands:
        subprocess.run(["/bin/sh", "-c", command], check=True)
    tap.equal(state(), after, "the commands that are shown do the same by hand")
    tap.equal(home.rows("doctor", "--undo", "-y"), [], "which is nobody's to take back")
    write(live(LINKS), "0\n")
    write(kept(LINKS), "# mine\n")
    before = state()
    home.call("doctor", "--fix", "-y")
    tap.equal((names(home), read(kept(LINKS))), ([], f"{LINKS} = 1\n"), "--fix -y mends all; a file that was there is replaced")
    rows = home.rows("doctor", "--undo", "-y", LINKS)
    tap.ok([row["state"] for row in rows] == ["undone"] and read(kept(LINKS)) == "# mine\n", "and comes back, one by name", rows)
    home.call("doctor", "--undo", "-y")
    tap.equal(state(), before, "then the other")
    shutil.rmtree("/etc/sysctl.d")


def test_others(home):
    """What somebody else changed since is not ours."""
    before = state()
    home.call("doctor", "--fix", "-y")
    write(live(LINKS), "2\n")
    write(kept(KPTR), f"{KPTR} = 2\n")
    done = home.call("doctor", "--undo", "-y")
    tap.ok(done.returncode == 0 and f"{live(LINKS)} was changed since" in done.stdout and f"{kept(KPTR)} was changed since" in done.stdout
           and read(live(LINKS)) == "2\n" and read(kept(KPTR)) == f"{KPTR} = 2\n", "stays, and is told", done)
    tap.equal((read(live(KPTR)), os.listdir("/etc/sysctl.d")), ("0\n", [os.path.basename(kept(KPTR))]), "the rest is put back")
    write(live(LINKS), "0\n")
    shutil.rmtree("/etc/sysctl.d")
    tap.equal(state(), before, "as it was")
    home.call("doctor", "--fix", "-y")
    shutil.rmtree("/etc/sysctl.d")
    rows = home.rows("doctor", "--undo", "-y")
    tap.ok([row["state"] for row in rows] == ["undone"] * 2 and state() == before, "what others removed is not missed", rows)
    tap.equal(home.rows("doctor", "--undo", "-y"), [], "and stays on no record")


def test_failure(home):
    before = state()
    write("/etc/sysctl.d", "no directory\n")
    done = home.call("doctor", "--fix", "-y", LINKS)
    tap.ok(done.returncode == 70 and "Not a directory" in done.stderr and "--undo" in done.stderr and read(live(LINKS)) == "1\n",
           "a step that fails is told, and what was done stays", done)
    tap.equal([row["state"] for row in home.rows("doctor", "--undo", "-y")], ["undone"], "on record")
    os.remove("/etc/sysctl.d")
    tap.equal(state(), before, "to be taken back")
    mount("-o", "remount,bind,ro", live(LINKS))
    rows = home.rows("doctor", "--fix", "-y")
    tap.ok([row["state"] for row in rows] == ["failed", "done"] and "Read-only" in rows[0]["error"], "one that fails is not all", rows)
    tap.equal([row["name"] for row in home.rows("doctor", "--undo", "-y")], [KPTR], "what failed at once is not on record")
    mount("-o", "remount,bind,rw", live(LINKS))
    record = os.path.join(home.path, ".local/state/aisbx/doctor")
    for text, mode in (("{", 0o600), ("{}", 0o600), ("[]", 0o622)):
        write(record, text)
        os.chmod(record, mode)
        done = home.call("doctor", "--fix", "-y")
        tap.ok(done.returncode in (2, 70) and home.call("doctor", "--undo", "-y").returncode == done.returncode,
               f"nothing is done with a record that is {text!r}, {mode:o}", done)
    os.remove(record)
    tap.equal(state(), before, "nothing was changed")


def killed(home, moment, name):
    """Has the program killed where it is about to write NAME, has written half of it, or has just written all."""
    start = {"before": "", "half": 'printf "%.9s" "$text" >"$1"', "after": 'printf "%s\\n" "$text" >"$1"'}[moment]
    tee = shutil.which("tee", path="/usr/bin:/bin")
    script, told = os.path.join(home.path, "tee"), os.path.join(home.path, "told")
    write(script, f'#!/bin/sh\ntext=$(cat)\nif [ "$1" = {name} ]; then {start or ":"}; echo >{told}; exec sleep 1000; fi\n'
                  'printf "%s\\n" "$text" >"$1"\n')
    os.chmod(script, 0o755)
    os.mkfifo(told)
    mount("--bind", script, tee)
    child = subprocess.Popen([AISBX, "doctor", "--fix", "-y", LINKS], env=home.env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, start_new_session=True)
    with open(told) as fifo:
        fifo.read()
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    subprocess.run(["umount", "-l", tee], check=True)
    os.remove(told)


def test_killed(home):
    before = state()
    for name in (live(LINKS), kept(LINKS)):
        for moment in ("before", "after") if name == live(LINKS) else ("before", "half", "after"):
            killed(home, moment, name)
            rows = home.rows("doctor", "--undo", "-y")
            tap.ok(all(row["state"] == "undone" and not row["left"] for row in rows) and state() == before,
                   f"killed {moment} {name} was written, all comes back", (rows, state()))


def test_real(home):
    """Namespaces are really refused here, and really allowed again."""
    limit = read(live(SPACES))
    write(live(SPACES), "0\n")
    found = home.data("doctor")
    tap.ok(not found["fit"] and found["fixes"][0]["name"] == SPACES, "without user namespaces doctor knows the setting", found)
    done = home.call("doctor", "--fix", "-y", SPACES)
    layers = {row["layer"]: row["state"] for row in home.data("doctor")["layers"]}
    tap.ok(done.returncode == 0 and layers["user"] == "works", "and with it they are there", (done, layers))
    home.call("doctor", "--undo", "-y")
    tap.equal(read(live(SPACES)), "0\n", "--undo takes them away again")
    write(live(SPACES), limit)


def main():
    if INSIDE not in os.environ:
        if subprocess.run(["unshare", "-Urm", "true"], capture_output=True, check=False).returncode == 0:
            os.execvpe("unshare", ["unshare", "-Urm", sys.executable, *sys.argv], {**os.environ, INSIDE: "1"})
        tap.skip("doctor --fix", "no user namespaces for this user here")
        return tap.done()
    with Home("aisbx-doctor-") as home:
        # Nothing below is to run on a machine whose settings can be reached.
        if not tap.ok(build(home), "the machine's own settings are out of reach"):
            return tap.done()
        for test in (test_consent, test_there_and_back, test_others, test_failure, test_killed, test_real):
            tap.attempt(test, home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
