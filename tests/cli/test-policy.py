#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""policy: Rego denies, demands and narrows, never widens, and whatever is wrong with it denies.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a home of its own.
"""

import json
import os
import shutil
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from box import patience  # noqa: E402
from clitest import AISBX, Home, Tap  # noqa: E402
import mcpclient  # noqa: E402

tap = Tap()
HEAD = "package aisbx\nimport rego.v1\n"
NEVER = HEAD + 'deny contains "never" if false\n'
COMPANY = HEAD + '''deny contains msg if {
  input.action == "run"
  some a in input.spec.allow
  not endswith(a, ".corp.example:443")
  msg := sprintf("outside the company: %s", [a])
}
'''


def put(home, text, name="p.rego"):
    """The user's only policy."""
    place = home.path + "/.config/aisbx/policy"
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place, mode=0o755)
    with open(f"{place}/{name}", "w", encoding="utf-8") as file:
        file.write(text)
    return f"{place}/{name}"


def drop(home):
    shutil.rmtree(home.path + "/.config/aisbx/policy", ignore_errors=True)


def denied(done, words, what):
    tap.ok(done.returncode == 125 and words in done.stderr, what, done)


def test_deny(home):
    put(home, COMPANY)
    done = home.call("run", "--allow", "x.corp.example:443", "--", "echo", "ran")
    tap.ok(done.returncode == 0 and done.stdout == "ran\n", "inside the rule it runs", done)
    for words in (["run"], ["run", "--keep", "kept"], ["run", "--write", "workspace"]):
        done = home.call(*words, "--allow", "evil.example:443", "--", "sh", "-c", "echo ran >ran")
        denied(done, "outside the company: evil.example:443", f"{' '.join(words)} is refused with its words")
    tap.ok(not os.path.exists(home.work + "/ran") and not home.rows("ls"), "and nothing ran or stays")
    for action, words in (("try", ["try", "-n"]), ("exec", ["exec", "box"]), ("race", None), ("create", None)):
        drop(home)
        if action == "exec":
            home.call("create", "box")
        put(home, HEAD + f'deny contains "not by {action}" if input.action == "{action}"\n')
        if words:
            denied(home.call(*words, "--", "true"), f"not by {action}", f"{action} is asked about")
    done = home.call("create", "other")
    tap.ok(done.returncode == 4 and "not by create" in done.stderr, "create is asked about, exit 4", done)
    tap.equal(home.call("rm", "box").returncode, 0, "rm is never asked about")
    rows = [json.loads(row["body"]) if isinstance(row.get("body"), str) else row for row in home.rows("events")
            if row.get("event") == "policy" or row.get("kind") == "policy"]
    tap.ok(rows, "decisions are in the history", home.rows("events")[-2:])


def test_demands(home):
    put(home, NEVER + 'limits := {"mem": "64m", "pids": 20}\nrequire_driver contains "wasm" if input.spec.command[0] == "id"\n')
    done = home.call("run", "--mem", "1g", "--", "true")
    denied(done, "--mem is at most 64m", "a flag beyond a limit is refused")
    done = home.call("run", "--json", "--", "true")
    tap.ok(done.returncode == 0 and "policy: mem is at most 64m" in done.stdout, "a default is lowered, with a note", done)
    done = home.call("run", "--mem", "32m", "--", "true")
    tap.equal(done.returncode, 0, "what asks for less has less")
    denied(home.call("run", "--", "id"), "demands the driver wasm", "a weaker driver is refused")
    put(home, NEVER + 'limits := {"mem": "9999g"}\n')
    before = json.loads(home.call("plan", "--json", "--", "true").stdout)["limits"]["mem_bytes"]
    done = home.call("run", "--json", "--", "true")
    tap.ok(before and "at most" not in done.stdout, "a limit beyond what there is widens nothing", done)
    put(home, NEVER + 'limits := {"allow": "x"}\n')
    denied(home.call("run", "--", "true"), "limits has no 'allow'", "what is no limit is refused")


def test_promote(home):
    home.put("f", "a\n")
    drop(home)
    home.call("create", "s")
    home.call("exec", "s", "--", "sh", "-c", "echo b >f")
    put(home, HEAD + 'deny contains "two people" if { input.action == "promote"; count(input.approvals) < 2 }\n')
    done = home.call("promote", "s")
    tap.ok(done.returncode == 4 and "two people" in done.stderr and open(home.work + "/f").read() == "a\n",
           "a promotion is refused, exit 4, and the host is as it was", done)
    tap.equal(home.call("promote", "s", "--dry-run").returncode, 0, "a dry run changes nothing and is not asked about")
    put(home, NEVER + "require_approvals := 1\n")
    done = home.call("promote", "s")
    tap.ok(done.returncode == 4 and "1 accounts have to approve" in done.stderr, "approvals are demanded", done)
    put(home, NEVER + 'require_gate contains "diff.files<=0"\n')
    done = home.call("promote", "s")
    tap.ok(done.returncode == 4 and "diff.files<=0" in done.stderr, "a gate is demanded", done)
    put(home, NEVER + 'require_gate contains "diff.files<=9"\n')
    done = home.call("promote", "s")
    tap.ok(done.returncode == 0 and open(home.work + "/f").read() == "b\n", "with the gate it is applied", done)
    put(home, HEAD + 'deny contains "x"\n')
    tap.equal(home.call("undo").returncode, 0, "undo is never asked about")
    tap.equal(home.call("stop", "s").returncode, 0, "nor is stop")
    home.call("rm", "s")


def test_allow(home):
    put(home, HEAD + 'deny contains "no" if { input.action == "allow"; "evil.example:443" in input.spec.allow }\n')
    done = home.call("allow", "evil.example:443")
    tap.ok(done.returncode == 4 and "no (the user's policy)" in done.stderr, "allow is asked about", done)
    tap.equal(home.call("allow", "good.example:443").returncode, 0, "another rule is kept")
    home.call("allow", "good.example:443", "--rm")


def test_others(home):
    """Calls of agents, jobs and stages are asked about by their own names."""
    put(home, HEAD + 'deny contains "not this tool" if input.mcp.tool == "sandbox_run"\n')
    with mcpclient.Server(home) as server:
        result = server.call("sandbox_run", command=["true"])
        tap.ok(mcpclient.is_refused(result, "not this tool"), "a call over MCP is denied", result)
        result = server.call("sandbox_list")
        tap.ok(not result.get("isError"), "another tool is not", result)
    drop(home)
    with open(home.path + "/j.yaml", "w", encoding="ascii") as out:
        out.write("every: 1h\nscript: \"true\"\n")
    home.call("profile", "trust", home.path + "/j.yaml")
    done = home.call("job", "add", home.path + "/j.yaml")
    tap.equal(done.returncode, 0, f"a job {done.stderr}")
    put(home, HEAD + 'deny contains "not this job" if input.job.name == "j"\n')
    done = home.call("job", "run", "j", "--json")
    tap.ok(done.returncode != 0 and "not this job" in done.stdout + done.stderr, "a job is denied", done)
    drop(home)
    home.call("job", "rm", "j")
    home.put("f", "a\n")
    home.call("create", "s")
    home.call("exec", "s", "--", "sh", "-c", "echo b >f")
    with open(home.path + "/p.yaml", "w", encoding="ascii") as out:
        out.write("stages:\n  - {name: dev, target: .}\n")
    put(home, HEAD + 'deny contains "not this stage" if input.stage == "dev"\n')
    done = home.call("stage", "run", "s", "-f", home.path + "/p.yaml")
    tap.ok(done.returncode != 0 and "not this stage" in done.stdout + done.stderr and open(home.work + "/f").read() == "a\n",
           "a stage is denied, and the target is as it was", done)
    drop(home)
    done = home.call("stage", "run", "s", "-f", home.path + "/p.yaml")
    tap.ok(done.returncode == 0 and open(home.work + "/f").read() == "b\n", "without the policy it is entered", done)
    home.call("rm", "s")


def test_target(home):
    """The policy sees the place that is written to, not the words for it."""
    drop(home)
    home.put("f", "a\n")
    home.call("create", "t")
    home.call("exec", "t", "--", "sh", "-c", "echo b >f")
    held = os.path.realpath(home.path) + "/held"
    os.makedirs(held)
    with open(held + "/f", "w", encoding="ascii") as file:
        file.write("a\n")
    os.symlink(held, home.path + "/link")
    put(home, HEAD + f'deny contains "held" if startswith(input.change.target, "{held}")\n')
    for target in (held, os.path.relpath(held, home.work), home.path + "/link", held + "/../held/."):
        done = home.call("promote", "t", "--target", target)
        tap.ok(done.returncode == 4 and "held (the user's policy)" in done.stderr, "a target is judged by its real path", done)
    tap.equal(open(held + "/f").read(), "a\n", "and nothing was written there")
    tap.equal(home.call("promote", "t", "--target", home.path + "/nowhere").returncode, 5, "no target is not found")
    home.call("rm", "t")


def test_artifact(home):
    """What an artifact needs consent for is shown to the policy, also when it was given."""
    drop(home)
    home.call("create", "a")
    home.call("exec", "a", "--", "sh", "-c", "echo x >hook; echo y >plain")
    rows = {name: home.data("artifact", "save", "a", name)["artifact_id"] for name in ("hook", "plain")}
    subprocess.run(["git", "init", "-q", home.work + "/repo"], check=True, env=home.env)
    os.makedirs(home.work + "/repo/.git/hooks", exist_ok=True)
    put(home, HEAD + 'deny contains sprintf("asks: %s", [c.why]) if some c in input.change.consent\n')
    goal = home.work + "/repo/.git/hooks/pre-commit"
    done = home.call("artifact", "get", rows["hook"], goal, "--allow-path", goal)
    tap.ok(done.returncode == 4 and "asks: " in done.stderr and not os.path.exists(goal),
           "a consent that was given is judged as well", done)
    tap.equal(home.call("artifact", "get", rows["plain"], home.work + "/out").returncode, 0, "what needs none is written")
    home.call("rm", "a")


def test_background(home):
    drop(home)
    home.call("create", "d")
    put(home, NEVER + 'limits := {"time": "60s"}\n')
    done = home.call("exec", "-d", "d", "--", "true")
    tap.equal(done.returncode, 0, "the background's own limit is lowered, not refused")
    done = home.call("exec", "-d", "d", "--time", "2h", "--", "true")
    tap.ok(done.returncode == 125 and "--time is at most 60s" in done.stderr, "one that was asked for is refused", done)
    home.call("rm", "-f", "d")


def test_race(home):
    put(home, HEAD + 'deny contains "no racing" if input.action == "race"\n')
    answer = json.loads(home.call("race", "--json", "-c", "a=true", "-c", "b=true").stdout)
    rows = [row["status"] for row in answer["attempts"]]
    tap.equal(rows, ["denied", "denied"], "attempts that a policy refuses are denied")
    done = home.call("race", "-c", "a=true")
    tap.ok("no racing (the user's policy)" in done.stdout + done.stderr, "and the reason is shown", done)


BAD = {
    "not Rego": ("package aisbx\nthis is not rego\n", "p.rego:2"),
    "no deny": (HEAD + "x := 1\n", "defines no set"),
    "an undefined deny": (HEAD + 'deny := {"a"} if input.action == "other"\n', "defines no set"),
    "deny as a truth": (HEAD + "deny := false\n", "no set of texts"),
    "deny of numbers": (HEAD + "deny contains 1\n", "no set of texts"),
    "another package": ("package other\nimport rego.v1\n" + 'deny contains "x" if false\n', "package"),
    "a decision below the package": ("package aisbx.x\nimport rego.v1\n" + 'deny contains "x"\n', "aisbx.x.deny would decide nothing"),
    "a missing function": (HEAD + 'deny contains "x" if http.send({"url": "http://127.0.0.1/"})\n', "http.send"),
    "an error in a function": (HEAD + 'deny contains "x" if to_number("a") > 1\n', "p.rego:3"),
    "a missing field": (HEAD + 'deny contains "x" if input.spec.mounts\n', "p.rego:3: no input has a field 'mounts'"),
    "a loop": (HEAD + 'deny contains "x" if { some i in numbers.range(1, 3000); some j in numbers.range(1, 3000); '
               'some k in numbers.range(1, 3000); i + j + k == 0 }\n', "time"),
    "a bomb of memory": (HEAD + 'deny contains "x" if count(numbers.range(1, 1000000000)) > 0\n', "policy"),
    "endless recursion": (HEAD + 'f(x) := f(x + 1)\ndeny contains "x" if f(1)\n', "policy"),
    "deep brackets": (HEAD + "deny contains x if { x := " + "[" * 5000 + "]" * 5000 + " }\n", "policy"),
    "a NUL": ("package aisbx\0\n", "policy"),
    "huge": (NEVER + "#" * (300 << 10) + "\n", "p.rego"),
}


def test_closed(home):
    for what, (text, words) in BAD.items():
        put(home, text)
        done = home.call("run", "--", "true", timeout=patience(60))
        tap.ok(done.returncode == 125 and words in done.stderr and "denied by policy" in done.stderr, f"{what} denies", done)
    place = os.path.dirname(put(home, NEVER))
    tap.equal(home.call("run", "--", "true").returncode, 0, "a policy that never denies lets it run")
    path = place + "/p.rego"
    for mode in (0o666, 0o664):
        os.chmod(path, mode)
        denied(home.call("run", "--", "true"), "can be written to by other accounts", f"one of mode {mode:o} denies")
    os.rename(path, home.path + "/elsewhere")
    os.symlink(home.path + "/elsewhere", path)
    denied(home.call("run", "--", "true"), "is a link", "a link denies")
    os.unlink(path)
    os.mkfifo(path)
    denied(home.call("run", "--", "true", timeout=patience(30)), "p.rego", "a fifo denies")
    os.unlink(path)
    with open(path, "wb") as file:
        file.write(NEVER.encode() + b"# \xff\n")
    denied(home.call("run", "--", "true"), "not UTF-8", "what is not UTF-8 denies")
    if os.geteuid() == 0:
        os.chown(path, 54321, 54321)
        denied(home.call("run", "--", "true"), "belongs to another account", "another account's denies")
        tap.skip("a directory that cannot be read denies", "root reads everything")
    else:
        put(home, NEVER)
        os.chmod(place, 0)
        denied(home.call("run", "--", "true"), "Permission denied", "a directory that cannot be read denies")
        os.chmod(place, 0o755)
    shutil.rmtree(place)
    os.symlink(home.path + "/nowhere", place)
    denied(home.call("run", "--", "true"), "policy", "a directory that is a link to nowhere denies")
    os.unlink(place)
    tap.equal(home.call("run", "--", "true").returncode, 0, "without a policy it runs")


def test_helper(home):
    """The evaluator replaced beside a copy of the programs."""
    bin_dir = home.path + "/bin"
    os.mkdir(bin_dir)
    source = os.path.dirname(AISBX)
    for name in ("aisbx", "aisbx-full"):
        shutil.copy(f"{source}/{name}", f"{bin_dir}/{name}")
    good = '{"sets":[{"name":"user","rules":{"deny":[]}}]}'
    fakes = {
        "missing": None, "dead at once": "exit 1", "killed": "kill -9 $$", "silent": "read -r l", "hanging": "exec sleep 60",
        "nonsense": "read -r l; echo nonsense", "an empty object": "read -r l; echo '{}'",
        "another set": "read -r l; echo '" + good.replace("user", "machine") + "'",
        "more sets": "read -r l; echo '" + good.replace("[{", '[{"name":"user","rules":{"deny":[]}},{', 1) + "'",
        "no rules": "read -r l; echo '" + good.replace("rules", "rule") + "'",
        "an endless line": "read -r l; exec head -c 9000000 /dev/zero",
        "half an answer": "read -r l; printf '%s' '" + good[:-4] + "'",
    }
    put(home, NEVER)
    env = {**home.env, "PATH": home.env.get("PATH", "/usr/bin:/bin")}

    def run():
        return subprocess.run([bin_dir + "/aisbx", "run", "--", "true"], capture_output=True, text=True, cwd=home.work,
                              env=env, timeout=patience(60), check=False, stdin=subprocess.DEVNULL)
    for what, script in fakes.items():
        path = bin_dir + "/aisbx-policy"
        if os.path.lexists(path):
            os.unlink(path)
        if script:
            with open(path, "w", encoding="ascii") as file:
                file.write("#!/bin/sh\n" + script + "\n")
            os.chmod(path, 0o755)
        done = run()
        words = "not installed" if not script else "policy"
        tap.ok(done.returncode == 125 and words in done.stderr, f"an evaluator that is {what} denies", done)
    with open(bin_dir + "/aisbx-policy", "w", encoding="ascii") as file:
        file.write("#!/bin/sh\nread -r l; echo '" + good + "'\n")
    tap.equal(run().returncode, 0, "one that answers well lets it run")


MACHINE = """set -e
mount -t tmpfs none /mnt; mkdir /mnt/up /mnt/work
mount -t overlay -o lowerdir=/etc,upperdir=/mnt/up,workdir=/mnt/work none /etc
mkdir -p -m 755 /etc/aisbx/policy.d
printf '%s' "$1" >/etc/aisbx/policy.d/m.rego
chmod "$2" /etc/aisbx/policy.d/m.rego
shift 2
exec "$@"
"""


def test_machine(home):
    what = "the machine's policy"
    if os.geteuid() != 0:
        tap.skip(what, "only root can lay one over /etc, in a mount namespace")
        return
    machine = HEAD + 'deny contains "machine" if not fine\nfine if input.spec.command[0] == "true"\n'

    def call(*words, mode="644", text=machine):
        return subprocess.run(["unshare", "-m", "sh", "-c", MACHINE, "sh", text, mode, AISBX, *words], capture_output=True,
                              text=True, cwd=home.work, env=home.env, timeout=patience(60), check=False)
    drop(home)
    if subprocess.run(["unshare", "-m", "sh", "-c", MACHINE, "sh", "", "644", "true"], capture_output=True,
                      check=False).returncode != 0:
        tap.skip(what, "no overlay over /etc here")
        return
    denied(call("run", "--", "id"), "machine (the machine's policy)", "the machine's policy denies")
    tap.equal(call("run", "--", "true").returncode, 0, "and lets the rest run")
    put(home, NEVER + "fine := true\n")
    denied(call("run", "--", "id"), "machine (the machine's policy)", "a rule of the user's does not reach into it")
    put(home, HEAD + 'deny contains "user"\n')
    denied(call("run", "--", "true"), "user (the user's policy)", "a denial of the user's denies as well")
    drop(home)
    denied(call("run", "--", "true", mode="666"), "can be written to by other accounts", "one that users can write to denies")
    done = call("run", "--", "true", text="")
    tap.equal(done.returncode, 125, "an empty file denies")


def test_verbs(home):
    put(home, COMPANY)
    done = home.call("policy", "check")
    tap.ok(done.returncode == 0 and "p.rego: good" in done.stdout, "check reads and tries all of it", done)
    put(home, HEAD + 'deny contains "x" if { input.action == "job"; http.send({}) }\n')
    done = home.call("policy", "check")
    tap.ok(done.returncode == 2 and "http.send" in done.stderr, "check finds what only one action would call", done)
    below = put(home, NEVER).replace("p.rego", "q.rego")
    for rule in ("deny contains \"x\" if input.action == \"other\"", "limits := {} if false", "require_approvals := 1"):
        with open(below, "w", encoding="utf-8") as file:
            file.write("package aisbx.x.y\nimport rego.v1\n" + rule + "\n")
        done = home.call("policy", "check")
        tap.ok(done.returncode == 2 and "would decide nothing" in done.stderr, "check refuses a decision below the package", done)
        denied(home.call("run", "--", "true"), "would decide nothing", "and so does a start")
    with open(below, "w", encoding="utf-8") as file:
        file.write("package aisbx.x.y\nimport rego.v1\nhelp := 1\n")
    tap.equal(home.call("policy", "check").returncode, 0, "other rules may lie there")
    put(home, HEAD + "x := object.get(input, \"job\", \"1g\")\ndeny contains \"x\" if units.parse_bytes(x) > 5\n")
    done = home.call("policy", "check")
    tap.ok(done.returncode == 2 and "p.rego:4: units.parse" in done.stderr, "a function without a value for what is an error is refused", done)
    denied(home.call("run", "--", "true"), "units.parse", "and so is a start")
    put(home, HEAD + "# units.parse\nwords := \"units.parse\"\nmy_units.parse := 1\n" + "deny contains words if false\n")
    tap.equal(home.call("policy", "check").returncode, 0, "its name in a text is none")
    for text in ('regex.match("^a+$", "aa")', 'glob.match("*.example", ["."], "a.example")', 'time.weekday(0) != ""', 'semver.compare("1.0.0", "1.2.0") < 0',
                 'net.cidr_contains("10.0.0.0/8", "10.1.2.3")'):
        put(home, HEAD + f"deny contains \"found\" if {text}\n")
        denied(home.call("run", "--", "true"), "found (the user's policy)", f"{text} is evaluated")
    put(home, COMPANY)
    for allowed, code, word in (["x.corp.example:443"], 0, "allow"), (["evil.example:443"], 4, "deny: outside the company"):
        done = home.call("policy", "eval", "-", stdin=json.dumps({"action": "run", "spec": {"allow": allowed}}))
        tap.ok(done.returncode == code and done.stdout.startswith(word), f"eval: {word}", done)
    done = home.call("policy", "explain", "-", stdin='{"action":"run","spec":{"allow":["a"]}}')
    tap.ok("evaluated lines" in done.stdout and '"deny"' in done.stdout, "explain shows rules and lines", done)
    tap.equal(home.call("policy", "eval").returncode, 2, "eval needs an input")
    tap.equal(home.call("policy", "what").returncode, 2, "another word is refused")
    examples = os.environ.get("AISBX_SOURCE", "") + "/examples/policy"
    copy = home.path + "/examples"
    shutil.copytree(examples, copy)
    for name in os.listdir(copy):
        os.chmod(f"{copy}/{name}", stat.S_IRUSR | stat.S_IWUSR)
    done = home.call("policy", "test", "--dir", copy)
    tap.ok(done.returncode == 0 and done.stdout.count("pass ") >= 15 and "FAIL" not in done.stdout,
           "the examples pass their tests", done)
    done = home.call("policy", "check", "--dir", copy)
    tap.equal(done.returncode, 0, "and are good")
    with open(copy + "/network.rego", "a", encoding="utf-8") as file:
        file.write('deny contains "more"\n')
    done = home.call("policy", "test", "--dir", copy)
    tap.ok(done.returncode == 1 and "FAIL aisbx_test.test_network_inside" in done.stdout, "a test that fails is named, exit 1", done)


def main():
    if not os.access(os.path.dirname(AISBX) + "/aisbx-policy", os.X_OK):
        tap.skip("policies", "aisbx-policy is not built: it needs cargo and rustc 1.85")
        return tap.done()
    for part in (test_deny, test_demands, test_promote, test_target, test_artifact, test_background, test_race,
                 test_allow, test_others, test_closed, test_helper, test_machine, test_verbs):
        with Home("policy-") as home:
            home.put("README", "x\n")
            if part is test_deny and not home.can_run(tap, "policies"):
                return tap.done()
            part(home)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
