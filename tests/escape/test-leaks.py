#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Information leaks: what of the host, its users and its secrets must not show inside (A054 to A066, A096 to A098)."""
import contextlib
import errno
import fcntl
import os
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from aisbxtest import Suite

suite = Suite("information leaks")

HIDDEN = {"ENOENT", "EACCES", "EPERM"}

# security.md 2.4 as data: what a home may hold that nobody inside may read
HOME_SECRETS = """.ssh/id_ed25519 .gnupg/secring.gpg .pki/nssdb/key4.db .cert/me.pem .aws/credentials .azure/token.json
.boto .s3cfg .s3cmd/x .passwd-s3fs .config/gcloud/credentials.db .config/gh/hosts.yml .config/hub .config/glab-cli/config.yml
.config/doctl/config.yaml .config/op/config .config/rclone/rclone.conf .config/containers/auth.json .config/helm/x
.config/sops/age/keys.txt .config/age/key.txt .config/keybase/x .config/git/credentials .config/github-copilot/hosts.json
.config/Code/User/x .config/Cursor/x .config/JetBrains/x .config/chromium/Default/Cookies .config/google-chrome/Default/Cookies
.config/BraveSoftware/x .config/discord/x .config/Slack/x .config/Signal/x .kube/config .docker/config.json .podman/x .helm/x
.terraform.d/credentials.tfrc.json .terraformrc .vault-token .oci/config .fly/config.yml .railway/config.json .netrc
.git-credentials .git-credential-cache/x .npmrc .yarnrc.yml .pypirc .cargo/credentials .cargo/credentials.toml
.gem/credentials .m2/settings.xml .m2/settings-security.xml .gradle/gradle.properties .composer/auth.json .nuget/NuGet/NuGet.Config
.pgpass .my.cnf .mylogin.cnf .dbshell .smbcredentials .davfs2/secrets .msmtprc .fetchmailrc .muttrc .mutt/x .mozilla/firefox/x
.thunderbird/x .local/share/keyrings/login.keyring .local/share/kwalletd/x .local/share/gnome-keyring/x
.local/share/password-store/x .local/share/Trash/files/x .local/share/TelegramDesktop/x .password-store/x.gpg .vaults/x
.ecryptfs/x .fscrypt/x .wallet/x .bitcoin/wallet.dat .ethereum/keystore/x .electrum/wallets/x passwords.kdbx old.kdb
.bash_history .zsh_history .psql_history .mysql_history .histfile .viminfo .lesshst .python_history .node_repl_history
.Xauthority .ICEauthority .claude/x .claude.json .codex/auth.json .gemini/x .cursor/x .aider.conf.yml .continue/x .anthropic/key
.openai/key .ollama/id_ed25519 .huggingface/token .cache/huggingface/token .config/aisbx/key .local/share/aisbx/x
.newtoken-of-tomorrow .config/new-service/token Documents/letter.txt .bashrc-private .env-of-home .thing/deep/deeper/secret""".split()

SYSTEM_SECRETS = """/etc/shadow /etc/gshadow /etc/shadow- /etc/gshadow- /etc/passwd- /etc/sudoers /etc/sudoers.d/x
/etc/ssh/ssh_host_ed25519_key /etc/ssh/ssh_host_rsa_key /etc/ssl/private/x /etc/krb5.keytab /etc/NetworkManager/system-connections/x
/etc/wpa_supplicant/x /etc/wireguard/wg0.conf /etc/openvpn/x /etc/ppp/chap-secrets /etc/docker/x /etc/kubernetes/x /etc/rancher/x
/etc/cni/x /etc/letsencrypt/x /etc/boto.cfg /etc/davfs2/secrets /etc/machine-id /var/log/syslog /var/log/dpkg.log /var/lib/docker/x
/var/lib/systemd/random-seed /var/backups/x /var/mail/root /var/cache/debconf/passwords.dat /var/cache/apt/pkgcache.bin
/root/.bashrc /root/.profile /root/.ssh/id_rsa""".split()


def environment_control(t):
    done = subprocess.run(["sh", "-c", "env"], capture_output=True, text=True, env={**t.caller.env, "CANARY_KEY": "x-CANARY-x"})
    t.ok("x-CANARY-x" in done.stdout, "the variable is inherited outside")


@suite.case("A054", "environment of the host", environment_control)
def environment(t):
    secret = {name: "x-CANARY-x" for name in (
        "CANARY_KEY LD_PRELOAD_X LD_LIBRARY_PATH GITHUB_TOKEN AWS_ACCESS_KEY_ID AZURE_X GOOGLE_X KUBECONFIG DOCKER_HOST "
        "SSH_AUTH_SOCK GPG_AGENT_INFO DBUS_SESSION_BUS_ADDRESS XDG_RUNTIME_DIR_X DISPLAY WAYLAND_DISPLAY XAUTHORITY HTTP_PROXY "
        "https_proxy MY_PASSWORD SOME_SECRET API_KEY BASH_ENV ENV PROMPT_COMMAND PYTHONSTARTUP NODE_OPTIONS GIT_ASKPASS").split()}
    result = t.box.run("sh", "-c", "env; cat /proc/*/environ /proc/self/environ 2>/dev/null | tr '\\0' '\\n'; exit 0", env=secret)
    t.equal(result.code, 0, f"ran: {result}")
    t.ok("x-CANARY-x" not in result.out, "no canary inside", result.out)
    t.ok("AISBX=1" in result.out, "AISBX=1 is set", result.out)
    result = t.box.run("sh", "-c", "echo $A $CANARY_KEY", env=secret, flags=["--env", "A=given", "--pass-env", "CANARY_KEY"])
    t.equal(result.out, "given x-CANARY-x\n", "what is named one by one is passed")


def processes_control(t):
    result = t.box.outside("signal-host", t.canary.process.pid)
    t.every(result.probes, {"OK"}, "a process of the same user is reachable outside")


@suite.case("A055", "processes of the host", processes_control)
def processes(t):
    pids = [t.canary.process.pid, os.getpid(), os.getppid()]
    result = t.box.attack("signal-host", *pids)
    t.every(result.probes, {"ESRCH", "EPERM", "EINVAL"}, "processes of the host")
    result = t.box.run("sh", "-c", "ls /proc | grep -c '^[0-9]'; ps aux 2>/dev/null | wc -l; cat /proc/*/cmdline 2>/dev/null | tr '\\0' ' '")
    t.ok(int(result.out.split()[0]) < 12, "few processes in /proc", result.out)
    t.ok("100000" not in result.out, "the host's canary is not among them", result.out)


def kernel_control(t):
    done = subprocess.run(["sh", "-c", "cat /proc/kallsyms /proc/keys /proc/interrupts /proc/iomem 2>/dev/null | wc -c"],
                          capture_output=True, text=True)
    t.ok(int(done.stdout) > 100, "the files say something outside")


@suite.case("A057", "kernel log and memory", kernel_control)
def kernel_files(t):
    names = """acpi asound config.gz interrupts iomem ioports kallsyms kcore key-users keys kmsg kpagecgroup kpagecount
kpageflags latency_stats modules mtrr pagetypeinfo sched_debug schedstat scsi slabinfo softirqs timer_list timer_stats vmallocinfo
vmcore""".split()
    script = "".join(f"echo {n} $(timeout 2 head -c 4096 /proc/{n} 2>/dev/null | wc -c) $(ls -A /proc/{n}/ 2>/dev/null | wc -w);" for n in names)
    result = t.box.run("sh", "-c", script)
    rows = [line.split() for line in result.out.splitlines()]
    t.equal([row[0] for row in rows if len(row) == 3], names, f"all were looked at: {result}")
    shown = [row for row in rows if row[1] != "0" or os.path.isdir("/proc/" + row[0]) and row[2] != "0"]
    t.equal(shown, [], "masked files of /proc are empty")
    result = t.box.run("sh", "-c", "dmesg >/dev/null 2>&1 && echo read; exit 0")
    t.equal(result.out, "", "dmesg")


@suite.case("A057b", "what stands in /sys", "outside all of it stands there")
def sys_files(t):
    result = t.box.run("sh", "-c", "ls -A /sys; echo; ls -A /sys/kernel /sys/devices /sys/fs /sys/devices/system 2>/dev/null")
    top = result.out.split("\n\n")[0].split()
    t.ok(set(top) <= {"devices", "kernel", "fs"}, "only the allow-list stands in /sys", top)
    for name in ("block", "class", "module", "firmware", "power", "bus", "kernel/security", "kernel/debug", "fs/bpf", "class/dmi/id/product_uuid"):
        result = t.box.attack("open", f"/sys/{name}")
        t.every(result.probes, {"ENOENT"}, name)


def secrets_control(t):
    plant_home(t)
    path = os.path.join(t.caller.home, HOME_SECRETS[0])
    done = subprocess.run(["cat", path], capture_output=True, text=True, **t.caller.identity())
    t.ok("CANARY" in done.stdout, "the caller can read it outside", done)


def plant_home(t):
    for name in HOME_SECRETS:
        path = os.path.join(t.caller.home, name)
        if not os.path.exists(path):
            t.caller.put_at(path, f"CANARY of {name}\n", 0o644)


@suite.case("A058", "every hidden path of the home", secrets_control)
def home_secrets(t):
    plant_home(t)
    home = t.caller.home
    seen = t.box.attack("open", *[os.path.join(home, name) for name in HOME_SECRETS])
    t.every([p for p in seen.probes if p[0].startswith("r:")], HIDDEN | {"ENOTDIR"}, "secrets of the home")
    result = t.box.run("sh", "-c", f"grep -rs 'CANARY of' {home} /root /home 2>/dev/null; exit 0")
    t.equal(result.out, "", "no canary anywhere in the home")


@suite.case("A058b", "hidden names under home: full", secrets_control)
def home_full(t):
    plant_home(t)
    profile = t.caller.put_at(os.path.join(t.caller.dir, "full.yaml"), "name: full-home\nhome: full\n")
    result = t.box.run("sh", "-c", f"grep -rs 'CANARY of' {t.caller.home} 2>/dev/null; exit 0", flags=["--profile", profile], timeout=60)
    if result.code == 125:
        t.skip(f"home: full is refused: {(result.err or str(result.json))[:120]}")
    leaked = sorted({line.split("CANARY of ")[1] for line in result.out.splitlines()})
    allowed = {".newtoken-of-tomorrow", ".config/new-service/token", "Documents/letter.txt", ".bashrc-private", ".env-of-home",
               ".thing/deep/deeper/secret"}
    t.equal([name for name in leaked if name not in allowed], [], "always masked, even with home: full")


@suite.case("A058c", "allow-listed parts of the home are visible, without credentials in them", secrets_control)
def home_allowed(t):
    kept = (".cargo/bin/tool", ".cargo/registry/index", ".rustup/x", ".pyenv/version", ".nvm/x", "go/pkg/x", ".local/bin/tool",
            ".local/lib/x", ".m2/repository/x", ".npm/_cacache/x", ".cache/pip/x", ".cache/go-build/x", ".gradle/caches/x")
    for name in kept:
        t.caller.put_at(os.path.join(t.caller.home, name), "tool\n")
    plant_home(t)
    result = t.box.attack("open", *[os.path.join(t.caller.home, name) for name in kept])
    t.every([p for p in result.probes if p[0].startswith("r:")], {"OK"}, "tool chains of the home")


@suite.case("A058d", "a hard link to a secret elsewhere is not shown in the home", "documented: an alias elsewhere stays")
def home_alias(t):
    plant_home(t)
    alias = os.path.join(t.caller.home, "alias-of-key")
    if not os.path.exists(alias):
        os.link(os.path.join(t.caller.home, ".ssh/id_ed25519"), alias)
    link = os.path.join(t.caller.workspace, "link-to-key")
    if not os.path.islink(link):
        os.symlink(os.path.join(t.caller.home, ".ssh/id_ed25519"), link)
    result = t.box.attack("open", alias, link, "/proc/self/cwd/link-to-key")
    t.every([p for p in result.probes if p[0].startswith("r:")], HIDDEN, "aliases")
    os.unlink(link)


@suite.case("A058e", "hidden paths of the system", "root reads them outside")
def system_secrets(t):
    result = t.box.attack("open", *SYSTEM_SECRETS)
    t.every([p for p in result.probes if p[0].startswith("r:")], HIDDEN | {"ENOTDIR"}, "secrets of the system")
    for place in "/boot /mnt /media /srv /lost+found /var/log /var/spool /var/backups /var/cache/apt /run /run/secrets /var/tmp".split():
        # Those of /run are the sandbox's own.
        result = t.box.run("sh", "-c", f"ls -A {place} 2>/dev/null | grep -v -e '^aisbx$' -e '^lock$' -e '^shm$' -e '^secrets$'; exit 0")
        t.equal(result.out, "", f"{place} is empty")


@contextlib.contextmanager
def open_directory(path):
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield fd
    finally:
        os.close(fd)


@suite.case("A058g", "a secret that appears between two runs", secrets_control)
def late_secret(t):
    profile = t.caller.put_at(os.path.join(t.caller.dir, "full.yaml"), "name: full-home\nhome: full\n")
    late = [os.path.join(t.caller.home, ".late", "x"), os.path.join(t.caller.home, ".netrc"), os.path.join(t.caller.home, "late.kdbx")]
    if os.geteuid() == 0 and not os.path.exists("/etc/boto.cfg"):
        late.append("/etc/boto.cfg")
    for path in late:
        if os.path.exists(path):
            os.unlink(path)
    for flags in ([], ["--profile", profile]):
        for _ in range(3):
            t.equal(t.box.run("true", flags=flags).code, 0, "a run before")
            time.sleep(0.06)
        # bwrap refuses to start when a file goes that its plan hides: a suite that runs it (kernel/drivers) shares this lock.
        with open_directory("/etc") as etc:
            fcntl.flock(etc, fcntl.LOCK_EX)
            try:
                for path in late:
                    t.caller.put_at(path, "CANARY late\n")
                result = t.box.attack("open", *late[0 if not flags else 1:], flags=flags)
                t.every([p for p in result.probes if p[0].startswith("r:")], HIDDEN, f"late secrets {flags}")
            finally:
                for path in late:
                    os.unlink(path)


@suite.case("A058j", "credentials kept elsewhere and linked to", secrets_control)
def linked_secrets(t):
    home, kept = t.caller.home, t.caller.workspace + "/dotfiles"
    links = {".netrc": "netrc", ".config/gh": "gh", ".config/git/credentials": "git-credentials", ".cargo/credentials.toml": "cargo.toml",
             ".local/share/keyrings": "keyrings", ".aws": "aws"}
    moved = {}
    for name, target in links.items():
        inner = target if "." in target or target in ("netrc", "git-credentials") else target + "/token"
        t.caller.put_at(f"{kept}/{inner}", "CANARY linked\n")
        path = f"{home}/{name}"
        if os.path.lexists(path):
            moved[path] = path + ".before"
            os.rename(path, moved[path])
        t.caller.put_at(path + ".beside", "")
        os.symlink(f"{kept}/{target}", path)
    try:
        result = t.box.run("sh", "-c", "find dotfiles -type f; grep -r CANARY dotfiles .; exit 0")
        t.equal((result.code, result.out), (0, ""), f"what links lead to is hidden under its own name: {result}")
    finally:
        for name in links:
            os.unlink(f"{home}/{name}")
            os.unlink(f"{home}/{name}.beside")
        for path, before in moved.items():
            os.rename(before, path)
        subprocess.run(["rm", "-rf", kept], check=True)


@suite.case("A058h", "secrets in a workspace that holds them", secrets_control)
def wide_workspace(t):
    plant_home(t)
    home = t.caller.home
    masked = [name for name in HOME_SECRETS if name.startswith((".ssh", ".aws", ".netrc", ".gnupg", ".kube", ".bash_history", ".docker", ".npmrc"))]
    for workspace in (home, os.path.dirname(home), "/home", "/etc", "/", "/root"):
        result = t.box.run(os.path.join(t.caller.workspace, "attack"), "open", *[os.path.join(home, name) for name in masked], "/etc/shadow",
                           "/etc/gshadow", "/etc/sudoers", workspace=workspace, cwd=t.caller.dir)
        if result.code == 125 or result.code == 127:
            continue  # refused, or nothing of the home is shown at all
        t.every([p for p in result.probes if p[0].startswith("r:")], HIDDEN, f"-C {workspace}")


@suite.case("A058i", "secrets in a volume that holds them", secrets_control)
def wide_volume(t):
    plant_home(t)
    home = t.caller.home
    names = ".ssh/id_ed25519 .aws/credentials .netrc .gnupg/secring.gpg .kube/config .config/gh/hosts.yml .local/share/aisbx/x".split()
    for source, below in ((home, ""), (os.path.dirname(home), "/home"), ("/", home), (os.path.join(home, ".aws"), None)):
        for flag in ("--ro", "--rw"):
            paths = [f"/mnt/v{below}/{name}" for name in names] if below is not None else []
            paths += ["/mnt/v/etc/shadow", "/mnt/v/etc/gshadow"]
            result = t.box.attack("open", *paths, flags=[flag, f"{source}:/mnt/v"])
            if result.code != 125:
                t.every([p for p in result.probes if p[0].startswith("r:")], HIDDEN, f"{flag} {source}")
    if t.caller.name == "root":
        for flag in ("--ro", "--rw"):
            result = t.box.attack("open", "/mnt/v/shadow", "/mnt/v/gshadow", "/mnt/v/sudoers", flags=[flag, "/etc:/mnt/v"])
            t.ok(result.code == 125 or all(a in HIDDEN for n, a in result.probes if n.startswith("r:")), f"{flag} /etc", result.probes)


@suite.case("A058f", "directories of the program itself", "outside the caller reads them")
def own_directories(t):
    for key in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        path = t.caller.put_at(os.path.join(t.caller.env[key], "aisbx", "canary"), "CANARY own\n")
        result = t.box.attack("open", path)
        t.every(result.probes, HIDDEN, key)
        os.unlink(path)
    # the same with a symbolic link on the way
    real = os.path.join(t.caller.dir, "moved-state")
    link = os.path.join(t.caller.dir, "state-link")
    if not os.path.isdir(real):
        os.mkdir(real)
        t.caller.own(real)
        os.symlink(real, link)
    t.caller.put_at(os.path.join(real, "aisbx", "canary"), "CANARY own\n")
    result = t.box.attack("open", os.path.join(real, "aisbx", "canary"), os.path.join(link, "aisbx", "canary"),
                          env={"XDG_STATE_HOME": link})
    t.every(result.probes, HIDDEN, "resolved path of the state directory")


def others_control(t):
    done = subprocess.run(["ls", "/root"], capture_output=True)
    t.equal(done.returncode, 0, "root lists /root outside")


@suite.case("A060", "other users", others_control)
def other_users(t):
    other = os.path.join("/home", f"aisbxtest-other-{os.getpid()}")
    if os.geteuid() == 0:
        os.mkdir(other, 0o755)
        with open(other + "/file", "w") as file:
            file.write("CANARY other")
    try:
        result = t.box.attack("open", other + "/file", "/root/.bashrc", "/root/.config")
        t.every(result.probes, HIDDEN, "other users")
        result = t.box.run("sh", "-c", "ls -A /home /root 2>/dev/null; exit 0")
        t.ok("aisbxtest-other" not in result.out and ".bashrc" not in result.out, "their names do not show", result.out)
    finally:
        if os.geteuid() == 0:
            os.unlink(other + "/file")
            os.rmdir(other)


class Listener:
    """A unix socket of the host, or several."""

    def __init__(self, paths):
        self.sockets = []
        for path in paths:
            one = socket.socket(socket.AF_UNIX)
            one.bind(path)
            one.listen(5)
            if not path.startswith("\0"):
                os.chmod(path, 0o777)
            self.sockets.append(one)

    def visitors(self):
        count = 0
        for one in self.sockets:
            one.setblocking(False)
            try:
                one.accept()
                count += 1
            except BlockingIOError:
                pass
        return count

    def close(self):
        for one in self.sockets:
            one.close()


def socket_paths(t):
    paths = [os.path.join(t.caller.workspace, "host.sock"), os.path.join(t.canary.top, "..", "host.sock")]
    paths[1] = os.path.join(t.caller.dir, "beside.sock")
    if os.geteuid() == 0:
        paths += [f"/run/host-{os.getpid()}.sock", f"/tmp/host-{os.getpid()}.sock", f"/opt/host-{os.getpid()}.sock",
                  f"/var/tmp/host-{os.getpid()}.sock", f"/dev/shm/host-{os.getpid()}.sock"]
    return paths


def sockets_control(t):
    paths = socket_paths(t)
    listener = Listener(paths)
    try:
        result = t.box.outside("sockets", *paths)
        t.every([p for p in result.probes if p[0].startswith("stream")], {"OK"}, "host sockets answer outside")
    finally:
        listener.close()
        for path in paths:
            os.unlink(path)


@suite.case("A061", "sockets of the host's services", sockets_control)
def service_sockets(t):
    known = """/var/run/docker.sock /run/docker.sock /run/podman/podman.sock /run/containerd/containerd.sock /run/dbus/system_bus_socket
/run/user/0/bus /tmp/.X11-unix/X0 /run/user/0/wayland-0 /run/user/0/pulse/native /run/snapd.socket /run/libvirt/libvirt-sock
/run/mysqld/mysqld.sock /run/postgresql/.s.PGSQL.5432 /run/systemd/private /run/systemd/notify""".split()
    paths = socket_paths(t)
    listener = Listener(paths)
    try:
        result = t.box.attack("sockets", *known, *paths, env={"SSH_AUTH_SOCK": paths[1]})
        t.every(result.probes, {"ENOENT", "ECONNREFUSED", "EACCES", "EPERM", "ENOTDIR"}, "host sockets")
        t.equal(listener.visitors(), 0, "connections seen by the host")
    finally:
        listener.close()
        for path in paths:
            os.unlink(path)


def abstract_control(t):
    name = f"host-abstract-{os.getpid()}"
    listener = Listener(["\0" + name])
    try:
        t.equal(t.box.outside("abstract", name).probe(name), "OK", "an abstract name answers outside")
    finally:
        listener.close()


@suite.case("A061b", "abstract sockets of the host", abstract_control)
def abstract_sockets(t):
    name = f"host-abstract-{os.getpid()}"
    listener = Listener(["\0" + name])
    try:
        t.every(t.box.attack("abstract", name).probes, {"ECONNREFUSED", "EPERM"}, "abstract name")
        t.equal(listener.visitors(), 0, "connections seen by the host")
    finally:
        listener.close()


@suite.case("A061c", "a fifo of the host carries nothing out", "outside a fifo joins both ends")
def host_fifo(t):
    path = os.path.join(t.caller.workspace, "host-fifo")
    if not os.path.exists(path):
        os.mkfifo(path)
        t.caller.own(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        t.box.run("sh", "-c", "timeout 1 sh -c 'echo CANARY 1<> host-fifo'; exit 0")
        try:
            data = os.read(reader, 100)
        except BlockingIOError:
            data = b""
        t.equal(data, b"", "bytes that came out")
    finally:
        os.close(reader)


@suite.case("A061d", "tables of the host's network", "outside they list the host's sockets")
def network_tables(t):
    name = f"host-abstract-{os.getpid()}"
    listener = Listener(["\0" + name])
    server = Server(socket.AF_INET, "127.0.0.1")
    try:
        result = t.box.run("sh", "-c", "cat /proc/net/unix /proc/net/tcp /proc/net/arp /proc/net/route /proc/net/fib_trie 2>/dev/null; exit 0")
        t.ok(name not in result.out, "abstract names", result.out)
        t.ok(f":{server.port:04X}" not in result.out, "listening ports", result.out)
    finally:
        listener.close()
        server.close()


@suite.case("A064", "identity of the machine", "the host's own values are the host's")
def identity(t):
    result = t.box.run("sh", "-c", "hostname; cat /proc/sys/kernel/hostname; cat /etc/machine-id 2>/dev/null; echo -; "
                                   "cat /proc/self/cgroup; cat /sys/class/dmi/id/* 2>/dev/null; exit 0")
    host = os.uname().nodename
    lines = result.out.splitlines()
    t.ok(lines and lines[0] != host and lines[1] != host, "hostname", lines[:2])
    machine = open("/etc/machine-id").read().strip() if os.path.exists("/etc/machine-id") else "no-machine-id"
    t.ok(not machine or machine not in result.out, "machine-id")
    groups = [line.split(":", 2)[2] for line in lines[lines.index("-") + 1:] if line.count(":") >= 2]
    if "cgroup" in result.json.get("layers", []):
        t.ok(all(g == "/" for g in groups), "paths of control groups", groups)
    t.ok(not any("suite-" in g for g in groups), "the host's groups do not show", groups)


@suite.case("A064b", "boot id and uptime of containers", "the kernel has one boot id")
def boot_id(t):
    result = t.box.run("cat", "/proc/sys/kernel/random/boot_id")
    with open("/proc/sys/kernel/random/boot_id") as file:
        host = file.read()
    t.ok(result.out != host, "boot_id", result.out)


def shared_control(t):
    key, name = plant_shared()
    try:
        result = t.box.bare_call([t.suite.attack, "sysv", str(key), name], 30, {})
        t.equal(result.probe("shmget"), "OK", "SysV memory is seen outside")
        t.equal(result.probe("shm_open"), "OK", "POSIX memory is seen outside")
    finally:
        unplant_shared(key, name)


def plant_shared():
    """Objects of the host: SysV by ipcmk's key, POSIX by name."""
    done = subprocess.run(["ipcmk", "-M", "4096", "-p", "0666"], capture_output=True, text=True)
    ident = int(done.stdout.split(":")[1])
    with open("/proc/sysvipc/shm") as file:
        key = next(int(line.split()[0]) for line in file if line.split()[1] == str(ident))
    name = f"host-shm-{os.getpid()}"
    with open(f"/dev/shm/{name}", "w") as file:
        file.write("CANARY shm")
    os.chmod(f"/dev/shm/{name}", 0o666)
    return key, "/" + name


def unplant_shared(key, name):
    subprocess.run(["ipcrm", "-M", str(key)], check=False)
    os.unlink("/dev/shm" + name)


@suite.case("A065", "shared memory and temporary files", shared_control)
def shared_memory(t):
    key, name = plant_shared()
    fd, temporary = tempfile.mkstemp(prefix="host-tmp-")
    os.write(fd, b"CANARY tmp")
    os.close(fd)
    os.chmod(temporary, 0o644)
    try:
        result = t.box.attack("sysv", key, name)
        t.every(result.probes, {"ENOENT"}, "shared objects")
        t.every(t.box.attack("open", temporary).probes, {"ENOENT"}, "temporary file")
        result = t.box.run("sh", "-c", "ls -A /tmp /var/tmp /dev/shm; cat /proc/sysvipc/shm | wc -l")
        t.ok("host-tmp" not in result.out and "host-shm" not in result.out, "names", result.out)
    finally:
        unplant_shared(key, name)
        os.unlink(temporary)


def keyring_control(t):
    result = t.box.bare_call([t.suite.attack, "keyring", "plant", t.suite.attack, "keyring", "read"], 30, t.caller.identity())
    if not any(answer == "OK" for _, answer in result.probes):
        t.skip(f"no keyrings on this kernel: {result}")


@suite.case("A065b", "session keyring of the caller", keyring_control)
def keyring(t):
    argv = [t.suite.attack, "keyring", "plant"] + t.box.argv(["./attack", "keyring", "read"], as_json=False)
    result = t.box.bare_call(argv, 30, t.caller.identity(), cwd=t.caller.workspace)
    t.every(result.probes, {"EPERM"}, "keys of the host's session")


@suite.case("A066b", "nothing stays for the next sandbox of the same name", "outside everything stays")
def reuse_of_name(t):
    mark, name = f"CANARY-{time.time()}", f"again{os.getpid()}"
    places = f"/tmp/m /var/tmp/m /dev/shm/m {t.caller.home}/m ./m /run/m"
    secret = t.caller.dir + "/secret-of-before"
    t.caller.put_at(secret, mark + "-secret\n", 0o600)
    store = t.caller.home + "/.local/share/aisbx"
    if os.path.isdir(store):
        os.chmod(store, 0o700)  # another case made it, as a place to hide
    for turn in range(2):
        flags = ["--secret", f"TOKEN={secret}"] if turn == 0 else []
        made = t.box.call("create", name, *flags)
        t.equal(made.returncode, 0, f"created: {made}")
        try:
            seen = t.box.call("exec", name, "--", "sh", "-c", f"cat {places} /run/secrets/* 2>/dev/null; "
                              f"for f in {places}; do echo {mark} > $f 2>/dev/null; done; (sleep 777 &) ; echo done")
            t.ok("done" in seen.stdout, "ran", seen)
            if turn == 0:
                t.ok(t.box.call("snap", "--kill", name).returncode == 0, "and was kept as a snapshot")
            else:
                t.equal(seen.stdout, "done\n", "nothing of the one before")
        finally:
            t.box.call("rm", name)
    os.unlink(secret)


@suite.case("A066", "nothing stays for the next run", "outside everything stays")
def reuse(t):
    mark = f"CANARY-{time.time()}"
    home = t.caller.home
    script = f"for f in /tmp/m /var/tmp/m /dev/shm/m {home}/m ./m /run/m /etc/m /usr/local/m; do echo {mark} > $f 2>/dev/null; done; echo done"
    t.ok("done" in t.box.run("sh", "-c", script).out, "wrote")
    result = t.box.run("sh", "-c", f"for f in /tmp/m /var/tmp/m /dev/shm/m {home}/m ./m /run/m /etc/m /usr/local/m; do cat $f 2>/dev/null; done; exit 0")
    t.equal(result.out, "", "marks of the run before")
    for directory, _, names in os.walk(t.caller.dir):
        for name in names:
            path = os.path.join(directory, name)
            if os.path.isfile(path) and "state" not in path:
                with open(path, "rb") as file:
                    t.ok(mark.encode() not in file.read(), "mark left on the host", path)


def addresses():
    return ["192.0.2.1", "80", "10.0.0.1", "22", "169.254.169.254", "80", "1.1.1.1", "53", "8.8.8.8", "853", "2001:db8::1", "443",
            "fe80::1", "80", "224.0.0.1", "5353", "255.255.255.255", "67", "100.64.0.1", "80"]


@suite.case("A096", "no network", "a test sends nothing to real addresses; the control of A097 shows the attack at work")
def no_network(t):
    result = t.box.attack("connect", *addresses(), timeout=60)
    # Every address is the sandbox's own, where a socket of ours refuses names: what is sent stays, and nobody is connected to.
    stays = {"udp": {"OK"}, "tfo": {"EINPROGRESS"}}
    t.every([p for p in result.probes if p[0] != "tcp-1.1.1.1-53"], lambda name: {
        "ECONNREFUSED", "ENETUNREACH", "EADDRNOTAVAIL", "EACCES", "EPERM", "EHOSTUNREACH", "EAFNOSUPPORT", "EINVAL", "ENETDOWN",
        "EPROTONOSUPPORT"} | stays.get(name[:3], set()), "no network")
    devices = t.box.run("sh", "-c", "tail -n +3 /proc/net/dev; tail -n +2 /proc/net/route")
    t.ok(all(line.split()[0] in ("lo:", "lo") for line in devices.out.splitlines()), "no interface but lo", devices.out)
    what = str(result.json.get("denials"))
    t.ok("192.0.2.1" in what or "1.1.1.1" in what or "net" not in result.json.get("layers", ["net"]), "denials are told", what)


class Server:
    """A TCP and a UDP listener of the host on one port of a loopback address."""

    def __init__(self, family, address):
        while not self.open(family, address):
            pass
        for one in (self.tcp, self.udp):
            one.setblocking(False)

    def open(self, family, address):
        """Whether the port that TCP got was free for UDP, too: others use ports at the same time."""
        self.tcp = socket.socket(family)
        self.tcp.bind((address, 0))
        self.tcp.listen(5)
        self.port = self.tcp.getsockname()[1]
        self.udp = socket.socket(family, socket.SOCK_DGRAM)
        try:
            self.udp.bind((address, self.port))
        except OSError as problem:
            if problem.errno != errno.EADDRINUSE:
                raise
            self.tcp.close()
            self.udp.close()
            return False
        return True

    def seen(self):
        found = []
        for name, act in (("tcp", self.tcp.accept), ("udp", lambda: self.udp.recv(100))):
            try:
                act()
                found.append(name)
            except BlockingIOError:
                pass
        return found

    def close(self):
        self.tcp.close()
        self.udp.close()


def loopback_control(t):
    server = Server(socket.AF_INET, "127.0.0.1")
    try:
        t.equal(t.box.outside("connect", "127.0.0.1", server.port).probe(f"tcp-127.0.0.1-{server.port}"), "OK", "outside")
        t.equal(server.seen(), ["tcp", "udp"], "the host sees both")
    finally:
        server.close()


@suite.case("A097", "loopback of the host", loopback_control)
def host_loopback(t):
    servers = [Server(socket.AF_INET, "127.0.0.1")]
    try:
        servers.append(Server(socket.AF_INET6, "::1"))
    except OSError:
        pass
    try:
        ports = [str(server.port) for server in servers]
        result = t.box.attack("connect", "127.0.0.1", ports[0], "127.1.2.3", ports[0], "0.0.0.0", ports[0], "::1", ports[-1],
                              "::ffff:127.0.0.1", ports[0], "::", ports[-1])
        for name, answer in result.probes:
            t.ok(answer != "OK" or name.startswith(("udp", "ping")), f"{name} is not accepted", answer)
        for server in servers:
            t.equal(server.seen(), [], "the host's listener sees nothing")
    finally:
        for server in servers:
            server.close()


class Connected:
    """A socket of the host's network, as a super-server would hand it over, and a second listener it must not reach."""

    def __init__(self, kind):
        self.first = Server(socket.AF_INET, "127.0.0.1")
        self.other = Server(socket.AF_INET, "127.0.0.1")
        self.near = socket.socket(socket.AF_INET, kind)
        self.near.connect(("127.0.0.1", self.first.port))

    def close(self):
        for one in (self.first, self.other, self.near):
            one.close()


def reuse_control(t):
    seen = []
    for _ in range(5):  # a port may be taken just then
        pair = Connected(socket.SOCK_STREAM)
        try:
            t.box.outside("reuse-socket", "127.0.0.1", pair.other.port, stdin=pair.near.fileno())
            seen = seen or pair.other.seen()
        finally:
            pair.close()
    t.equal(seen, ["tcp"], "outside the socket is connected anew")


@suite.case("A096b", "a socket on stdin is not a way into the host's network", reuse_control)
def reuse_socket(t):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        pair = Connected(kind)
        try:
            result = t.box.run("./attack", "reuse-socket", "127.0.0.1", str(pair.other.port), stdin=pair.near.fileno())
            if kind == socket.SOCK_DGRAM:
                t.box.run("sh", "-c", "echo CANARY >&0; exit 0", stdin=pair.near.fileno())
            t.equal(pair.other.seen(), [], f"connections of the host's second listener: {result}")
        finally:
            pair.close()


@suite.case("A097b", "a server on the payload's own loopback works", "this is the other half: test suites need it")
def own_loopback(t):
    script = ("import socket,threading\ns=socket.socket();s.bind(('127.0.0.1',0));s.listen()\n"
              "c=socket.create_connection(s.getsockname(),5);a,_=s.accept();c.send(b'hi');print(a.recv(2).decode())\n")
    result = t.box.run("python3", "-c", script)
    t.equal(result.out, "hi\n", f"own loopback: {result}")


@suite.case("A098", "name service out", "outside it depends on the machine's network")
def name_service(t):
    script = ("import socket\nfor host in ('example.org','localhost.evil.test'):\n  try:\n    print('ANSWER', socket.getaddrinfo(host, 80))\n"
              "  except socket.gaierror as e:\n    print('refused', e.errno)\n")
    result = t.box.run("python3", "-c", script, timeout=60)
    t.ok("ANSWER" not in result.out and result.out.count("refused") == 2, "getaddrinfo", result)
    script = ("import socket, struct\nq = b'\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\7example\\3org\\0\\0\\1\\0\\1'\n"
              "for host in ('127.0.0.53', '127.0.0.1', '8.8.8.8'):\n  s = socket.create_connection((host, 53), 20)\n"
              "  s.sendall(struct.pack('>H', len(q)) + q); a = s.recv(600)\n  print(a[5] & 15, *a[8:14])\n")
    result = t.box.run("python3", "-c", script, timeout=60)
    t.equal(result.out, "5 0 0 0 0 0 0\n" * 3, f"DNS by TCP is refused, without any record: {result}")
    result = t.box.attack("connect", "9.9.9.9", "853")
    t.ok(not [p for p in result.probes if p[0].startswith("tcp") and p[1] == "OK"], "nor is there DNS by TLS", result.probes)


suite.main()
