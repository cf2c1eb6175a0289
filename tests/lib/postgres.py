# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL server of a suite's own: a cluster in a directory, reached by a socket in it, ended with the suite."""
import contextlib
import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile

from box import patience
from family import of_process, until

NOBODY = 65534


def programs():
    """The directory of the newest installed server; None when there is none."""
    found = glob.glob("/usr/lib/postgresql/*/bin/postgres")
    return os.path.dirname(max(found, key=lambda path: float(path.split("/")[4]))) if found else None


def has_account():
    try:
        return bool(pwd.getpwuid(os.geteuid()))
    except KeyError:
        return False


class Server:
    """The role `owner` may do everything, without a password. The server refuses root, and a user without an account: then it
    runs as nobody, or in a user namespace in which that user is nobody."""

    def __init__(self):
        self.bin = programs()
        self.dir = tempfile.mkdtemp(prefix="aisbx-pg.", dir="/var/tmp")
        os.chmod(self.dir, 0o755)
        self.as_plain = []
        if os.geteuid() == 0:
            os.chown(self.dir, NOBODY, NOBODY)
            self.as_plain = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        elif not has_account():
            self.as_plain = ["unshare", "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}"]
        self.env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        self.process = None
        subprocess.run([*self.as_plain, self.bin + "/initdb", "-D", self.dir + "/data", "-U", "owner", "-A", "trust", "-E", "UTF8", "-N"],
                       check=True, capture_output=True, env=self.env, cwd="/")

    def url(self, role="owner", database="postgres"):
        return f"postgres://{role}@/{database}?host={self.dir}"

    def start(self):
        """What a killed server leaves behind is for the next one to mend; one that finds it still in use ends, and another is started."""
        # The role is given: a user without an account has no name to be asked for.
        asks = [self.bin + "/pg_isready", "-q", "-h", self.dir, "-U", "owner"]

        def is_ready():
            if not self.process or self.process.poll() is not None:
                self.spawn()
            return subprocess.run(asks, check=False, env=self.env).returncode == 0

        if not until(is_ready):
            with open(self.dir + "/log", encoding="utf-8", errors="replace") as file:
                raise RuntimeError("the server does not start; it says:\n" + file.read()[-4000:])

    def spawn(self):
        with open(self.dir + "/log", "ab") as log:
            self.process = subprocess.Popen([*self.as_plain, self.bin + "/postgres", "-D", self.dir + "/data", "-k", self.dir, "-h", "", "-F"],
                                            env=self.env, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def stop(self, number=signal.SIGINT):
        """SIGINT ends its sessions and it; SIGKILL is a crash: the sessions' processes notice, and end by themselves."""
        if not self.process:
            return
        self.process.send_signal(number)
        self.process.wait(timeout=patience(60))
        self.process = None
        until(lambda: number != signal.SIGKILL or not self.is_held())

    def is_held(self):
        """Whether a process is left that has the cluster's directory as its own."""
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(PermissionError):
                if of_process(os.readlink, f"/proc/{name}/cwd") == self.dir + "/data":
                    return True
        return False

    def sql(self, text, role="owner", check=True):
        done = subprocess.run([self.bin + "/psql", "-X", "-At", "-v", "ON_ERROR_STOP=1", "-d", self.url(role), "-c", text], check=False,
                              capture_output=True, text=True, env=self.env, cwd="/", timeout=120)
        if check and done.returncode != 0:
            raise RuntimeError(done.stderr)
        return done.stdout.strip() if check else done

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.dir, ignore_errors=True)
