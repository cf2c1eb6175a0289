#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mcp: nothing reaches the real files without the consent that the server's policy asks for.

Takes the program from AISBX. Speaks TAP. Runs as whoever starts it, in a home of its own.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from clitest import Home, Tap  # noqa: E402
from mcpclient import Server, is_refused  # noqa: E402

tap = Tap()
ELICITS = {"elicitation": {}}
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientCapabilities": ELICITS}
YES = {"action": "accept", "content": {"approve": True}}


def change(server, name, script="echo new > new.txt"):
    server.call("sandbox_create", sandbox=name)
    server.call("sandbox_exec", sandbox=name, script=script)


def answering(server, result, asked):
    """Lets the client's user answer RESULT to every question; the questions are kept in ASKED."""
    def answer(message):
        asked.append(message)
        server.send({"jsonrpc": "2.0", "id": message["id"], "result": result})
    server.answer_requests = answer


def test_pending(home):
    with Server(home) as server:
        change(server, "p1")
        found = server.data("promote_request", sandbox="p1", reason="it\nworks")
        tap.ok(found["state"] == "pending" and found["files"] == 1 and found["paths"] == ["new.txt"]
               and len(found["bundle"]) == 64 and found["promotion_id"] is None, "a request stays", found)
        tap.ok(not os.path.exists(home.work + "/new.txt"), "and nothing is applied")
        rows = home.rows("promotions")
        tap.equal([(row.get("request_id"), row["state"]) for row in rows], [(found["request_id"], "pending")],
                  "promotions lists it")
        shown = home.call("promotions").stdout
        tap.ok("it\\x0aworks" in shown and f"approve {found['request_id']}" in shown, "with its reason, on one line", shown)
        done = home.call("promotions", "approve", found["request_id"])
        tap.ok(done.returncode == 4 and "--yes" in done.stderr, "without a terminal it takes --yes", done)
        done = home.call("promotions", "approve", found["request_id"], "--yes", AISBX_SANDBOX="x")
        tap.ok(done.returncode == 4 and "sandbox" in done.stderr, "and is refused in a sandbox", done)
        done = home.data("promotions", "approve", found["request_id"], "--yes")
        tap.ok(done.get("state") == "approved" and home.read("new.txt") == "new\n", "approved, it is applied", done)
        rows = server.data("promotion_list")["promotions"]
        tap.equal([row["state"] for row in rows if row.get("request_id") == found["request_id"]], ["approved"],
                  "whoever asked finds out")
        tap.equal(home.call("promotions", "approve", found["request_id"], "--yes").returncode, 3, "once is enough")
        home.call("undo", done["promotion_id"])
        found = server.data("promote_request", sandbox="p1")
        tap.equal(home.call("promotions", "reject", found["request_id"]).returncode, 0, "another is rejected")
        tap.equal(home.call("promotions", "approve", found["request_id"], "--yes").returncode, 3, "for good")
        tap.ok(is_refused(server.call("promote_request", sandbox="p1", paths=["nothing.txt"])), "nothing to promote is said")
        for word in ("zzz", "../../etc/passwd", ""):
            tap.ok(home.call("promotions", "approve", word, "--yes").returncode in (2, 5), f"approve {word!r} is not found")
    return None


def test_binding(home):
    with Server(home) as server:
        change(server, "b1")
        found = server.data("promote_request", sandbox="b1")
        server.call("sandbox_exec", sandbox="b1", script="echo other > new.txt")
        done = home.call("promotions", "approve", found["request_id"], "--yes")
        tap.ok(done.returncode == 0 and home.read("new.txt") == "new\n",
               "what changed after it was asked about is not applied, but what was shown", done)
        home.call("undo")
        change(server, "b2", "echo sandbox >> keep.txt")
        found = server.data("promote_request", sandbox="b2")
        home.put("keep.txt", "the host moved\n")
        done = home.call("promotions", "approve", found["request_id"], "--yes")
        tap.ok(done.returncode == 3 and home.read("keep.txt") == "the host moved\n", "nor where the host moved", done)


def test_elicitation(home):
    for name, answer, applied in [("e-yes", YES, True), ("e-no", {"action": "decline"}, False),
                                  ("e-cancel", {"action": "cancel"}, False),
                                  ("e-empty", {"action": "accept", "content": {}}, False),
                                  ("e-false", {"action": "accept", "content": {"approve": False}}, False),
                                  ("e-text", {"action": "accept", "content": {"approve": "true"}}, False),
                                  ("e-odd", [1], False)]:
        with Server(home, capabilities=ELICITS) as server:
            asked = []
            answering(server, answer, asked)
            change(server, name, f"echo new > {name}.txt")
            found = server.data("promote_request", sandbox=name)
            message = asked[0]["params"]["message"] if asked else ""
            tap.ok(len(asked) == 1 and asked[0]["method"] == "elicitation/create" and "1 files" in message
                   and name in message, f"{name}: the client's user is asked", asked)
            tap.equal((found["state"], os.path.exists(home.work + f"/{name}.txt")),
                      ("approved" if applied else "rejected", applied), f"{name}: and what is said counts")
    with Server(home, capabilities=ELICITS) as server:
        asked = []

        def swap(message):
            asked.append(message)
            home.call("exec", "e-swap", "--", "sh", "-c", "echo evil > swap.txt")
            server.send({"jsonrpc": "2.0", "id": message["id"], "result": YES})
        server.answer_requests = swap
        change(server, "e-swap", "echo good > swap.txt")
        result = server.call("promote_request", sandbox="e-swap")
        tap.ok(home.read("swap.txt") == "good\n", "the answer holds for what was shown only", result)
        home.call("undo")
        server.answer_requests = asked.append
        waiting = server.start("tools/call", {"name": "promote_request", "arguments": {"sandbox": "e-swap"}})
        while len(asked) < 2:
            message = server.read()
            if "id" in message and "method" in message:
                asked.append(message)
        tap.equal(server.ask("ping").get("result"), {}, "a person who thinks keeps nobody waiting")
        server.tell("notifications/cancelled", requestId=waiting)
        server.send({"jsonrpc": "2.0", "id": asked[-1]["id"], "result": YES})
        server.ask("ping")
        server.settle()
        tap.ok(not os.path.exists(home.work + "/swap.txt"), "an answer to a cancelled question is none")


def test_modern(home):
    with Server(home, handshake=False) as server:
        def call(name, arguments, **more):
            return server.result("tools/call", name=name, arguments=arguments, _meta=MODERN, **more)
        call("sandbox_create", {"sandbox": "m1"})
        call("sandbox_exec", {"sandbox": "m1", "script": "echo new > modern.txt"})
        result = call("promote_request", {"sandbox": "m1"})
        tap.ok(result["resultType"] == "input_required"
               and result["inputRequests"]["consent"]["method"] == "elicitation/create" and result["requestState"],
               "2026-07-28: the question is the answer", result)
        done = call("promote_request", {"sandbox": "m1"}, requestState=result["requestState"],
                    inputResponses={"consent": YES})
        tap.ok(done["resultType"] == "complete" and done["structuredContent"]["state"] == "approved"
               and home.read("modern.txt") == "new\n", "and the next call brings what was said", done)
        call("sandbox_exec", {"sandbox": "m1", "script": "echo newer > modern.txt"})
        result = call("promote_request", {"sandbox": "m1"})
        done = call("promote_request", {"sandbox": "m1"}, requestState=result["requestState"],
                    inputResponses={"consent": {"action": "decline"}})
        tap.equal(done["structuredContent"]["state"], "rejected", "no is no")
        with Server(home, "--owner", "elsewhere") as other:
            change(other, "m2", "echo mine > foreign.txt")
            foreign = other.data("promote_request", sandbox="m2")
        done = call("promote_request", {"sandbox": "m1"}, requestState=foreign["request_id"],
                    inputResponses={"consent": YES})
        tap.ok(done["isError"] and not os.path.exists(home.work + "/foreign.txt"),
               "another owner's request cannot be answered", done)


def test_lines(home):
    """The dialogue says of each file how many lines came and went."""
    home.put("counted.txt", "a\nb\nc\n")
    with Server(home, capabilities=ELICITS) as server:
        asked = []
        answering(server, {"action": "decline"}, asked)
        change(server, "lines", "sed -i s/b/B/ counted.txt; seq 3 > 'new; run aisbx undo'; printf '\\0' > bin; echo all: > Makefile")
        server.data("promote_request", sandbox="lines")
        message = asked[0]["params"]["message"]
        for line in ("counted.txt  +1 \u22121\n", "new; run aisbx undo  +3 \u22120", "bin  binary\n", "Makefile  +1 \u22120 (build file)"):
            tap.ok(line in message + "\n", f"{line.strip()!r} stands in it", message)
        found = server.call("sandbox_diff", sandbox="lines")["structuredContent"]
        tap.ok({row["path"]: (row["added"], row["removed"]) for row in found["files"]}
               == {"counted.txt": (1, 1), "new; run aisbx undo": (3, 0), "bin": (None, None), "Makefile": (1, 0)}
               and "+B\n" in found["patch"], "sandbox_diff has lines and patch", found)


def test_shown(home):
    """What is agreed to is what was shown: every file that would run by itself, or no dialogue."""
    for count, is_asked in ((11, True), (50, True), (51, False)):
        with Server(home, capabilities=ELICITS) as server:
            asked = []
            answering(server, YES, asked)
            name = f"shown-{count}"
            change(server, name, f"for i in $(seq {count}); do echo all: > $i-{count}.mk; done")
            found = server.data("promote_request", sandbox=name)
            message = asked[0]["params"]["message"] if asked else ""
            made = [os.path.exists(f"{home.work}/{i}-{count}.mk") for i in range(1, count + 1)]
            if is_asked:
                tap.ok(all(f"{i}-{count}.mk  +1 \u22120 (" in message for i in range(1, count + 1)), f"{count}: each is shown", message)
                tap.ok(found["state"] == "approved" and all(made), f"{count}: and applied", found)
            else:
                tap.ok(not asked and found["state"] == "pending" and not any(made), f"{count}: a request instead of a dialogue", found)


def test_triggers(home):
    script = "echo 'all:' > Makefile; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit"
    profile = home.path + "/gated.yaml"
    with open(profile, "w") as file:
        file.write("name: gated\nextends: default\ngates: [\"diff.files<=5\"]\n")
    with Server(home, "--promote-policy", "gates", "--profile", profile) as server:
        change(server, "g1", "echo plain > plain.txt")
        found = server.data("promote_request", sandbox="g1")
        tap.ok(found["state"] == "approved" and home.read("plain.txt") == "plain\n", "gates that hold are consent", found)
        change(server, "g2", script)
        found = server.data("promote_request", sandbox="g2")
        tap.ok(found["state"] == "pending" and found["triggers"], "but never for what could make something run", found)
        tap.ok(not os.path.exists(home.work + "/.git/hooks/pre-commit"), "which is not applied")
        for name, script in (("g5", "mkdir -p .git; echo x > .git/description"), ("g6", "mkdir -p .git/objects/aa; echo x > .git/objects/aa/bb")):
            change(server, name, script)
            found = server.data("promote_request", sandbox=name)
            tap.ok(found["state"] == "pending" and not found["triggers"], "nor for anything in a git directory", found)
        change(server, "g3", "for i in 1 2 3 4 5 6 7; do echo $i > many-$i; done")
        tap.equal(server.data("promote_request", sandbox="g3")["state"], "pending", "gates that do not hold are none")
    with Server(home, "--promote-policy", "gates") as server:
        change(server, "g4", "echo bare > bare.txt")
        tap.equal(server.data("promote_request", sandbox="g4")["state"], "pending", "a profile without gates vouches for nothing")
    with Server(home, "--promote-policy", "never", capabilities=ELICITS) as server:
        change(server, "n1")
        tap.ok(is_refused(server.call("promote_request", sandbox="n1"), "denied", "never"), "never is never")
        tap.ok(is_refused(server.call("stage_run", sandbox="n1"), "denied", "never"), "for stages as well")
    tap.equal(home.call("mcp", "--promote-policy", "always").returncode, 2, "there is no other policy")


def snapshots(home, sandbox):
    return [row["name"] for row in home.rows("snaps", sandbox)]


def test_snapshots(home):
    """What a question was asked about goes with the answer."""
    with Server(home) as server:
        change(server, "k1", "echo k > kept.txt")
        home.call("snap", "k1", "--name", "mine")
        found = server.data("promote_request", sandbox="k1")
        tap.equal(len(snapshots(home, "k1")), 2, "a question holds a snapshot")
        server.call("sandbox_exec", sandbox="k1", script="echo more > more.txt")
        home.call("promotions", "reject", found["request_id"])
        tap.equal(snapshots(home, "k1"), ["mine"], "which goes when it is rejected")
        found = server.data("promote_request", sandbox="k1", paths=["kept.txt"])
        home.call("snap", "k1", "--name", "later")
        home.call("promotions", "approve", found["request_id"], "--yes")
        rows = home.rows("snaps", "k1")
        tap.equal([(row["name"], row["parent"]) for row in rows], [("mine", None), ("later", "mine")],
                  "or approved, and what was made on it stands on what it stood on")
        tap.ok(home.read("kept.txt") == "k\n" and server.data("sandbox_files_read", sandbox="k1", path="more.txt")
               .get("content") == "more\n", "nothing else is lost")
        tap.equal(server.data("sandbox_rollback", sandbox="k1", snapshot="mine").get("snapshot"), "mine", "and rewinding works")
        tap.ok(is_refused(server.call("promote_request", sandbox="k1", paths=["none.txt"])), "nothing to ask about")
        tap.ok(all(name == "mine" or name == "later" or name.startswith("auto") for name in snapshots(home, "k1")),
               "leaves nothing either", snapshots(home, "k1"))


def make_pipeline(home, *extra):
    """Two stages of the user's own: the workspace, and a directory beside it. Its place."""
    beside = home.path + "/staging"
    os.makedirs(beside, exist_ok=True)
    os.makedirs(home.path + "/.config/aisbx", exist_ok=True)
    with open(home.path + "/.config/aisbx/pipeline.yaml", "w") as file:
        file.write("stages:\n  - {name: dev, target: .}\n" + f"  - {{name: staging, target: {beside}}}\n" + "".join(extra))
    return beside


def test_stages(home):
    beside = make_pipeline(home)
    with Server(home) as server:
        change(server, "st1", "echo staged > staged.txt")
        found = server.data("stage_run", sandbox="st1")
        tap.ok(found.get("state") == "pending" and [row["name"] for row in found["stages"]] == ["dev", "staging"]
               and not os.path.exists(home.work + "/staged.txt"), "stages are asked about", found)
        done = home.data("promotions", "approve", found["request_id"], "--yes")
        tap.ok(done.get("outcome") == "live" and home.read("staged.txt") == "staged\n"
               and os.path.exists(beside + "/staged.txt"), "and entered when a person says so", done)
        change(server, "st2", "echo moved > moved.txt")
        found = server.data("stage_run", sandbox="st2", to="dev")
        server.call("sandbox_exec", sandbox="st2", script="echo other > moved.txt")
        done = home.call("promotions", "approve", found["request_id"], "--yes")
        tap.ok(done.returncode == 3 and not os.path.exists(home.work + "/moved.txt"), "what changed since is not", done)
        found = server.data("stage_run", sandbox="st2")
        make_pipeline(home, f"  - {{name: third, target: {home.path}/staging}}\n")
        done = home.call("promotions", "approve", found["request_id"], "--yes")
        tap.ok(done.returncode in (2, 3) and not os.path.exists(home.work + "/moved.txt"), "nor by another pipeline", done)
        make_pipeline(home)
        tap.ok(is_refused(server.call("stage_run", sandbox="st2", to="nowhere")), "a stage that is none is refused")
    with Server(home, capabilities=ELICITS) as server:
        asked = []
        answering(server, YES, asked)
        change(server, "st3", "echo all: > Makefile")
        found = server.data("stage_run", sandbox="st3", to="dev")
        message = asked[0]["params"]["message"] if asked else ""
        tap.ok("dev" in message and "Makefile" in message and "make something run" in message,
               "a client's user sees the way, and what could run", asked)
        tap.ok(found.get("outcome") == "live" and home.read("Makefile") == "all:\n", "yes is enough for just that", found)
        answering(server, {"action": "decline"}, asked)
        change(server, "st4", "echo no > no.txt")
        found = server.data("stage_run", sandbox="st4")
        tap.ok(found.get("state") == "rejected" and not os.path.exists(home.work + "/no.txt"), "no is no", found)
        tap.equal(snapshots(home, "st4"), [], "and what was sealed to be asked about goes with it")
    with Server(home, "--promote-policy", "gates") as server:
        change(server, "st5", "echo gates > gates.txt")
        found = server.data("stage_run", sandbox="st5")
        tap.ok(found.get("outcome") == "live" and os.path.exists(beside + "/gates.txt"),
               "under gates the pipeline's own checks decide", found)


def test_stages_held(home):
    """What was sealed for a question stays as long as anybody may still need it."""
    make_pipeline(home)
    with Server(home) as server:
        change(server, "h1", "echo held > held.txt")
        home.call("snap", "h1", "--name", "mine")
        first, second = (server.data("stage_run", sandbox="h1") for _ in range(2))
        tap.ok(first["bundle"] == second["bundle"] and len(snapshots(home, "h1")) == 2, "two questions, one bundle", (first, second))
        home.call("promotions", "reject", first["request_id"])
        tap.equal(len(snapshots(home, "h1")), 2, "the other question still holds it")
        home.call("promotions", "reject", second["request_id"])
        tap.equal(snapshots(home, "h1"), ["mine"], "the last no lets it go")
        found = server.data("stage_run", sandbox="h1", to="dev")
        done = home.data("promotions", "approve", found["request_id"], "--yes")
        tap.ok(done.get("outcome") == "live" and home.read("held.txt") == "held\n", "asked anew, it is sealed anew", done)
        kept = snapshots(home, "h1")
        found = server.data("stage_run", sandbox="h1")
        home.call("promotions", "reject", found["request_id"])
        tap.equal(snapshots(home, "h1"), kept, "what a stage was entered with stays")


def test_commit(home):
    def git(*words):
        return subprocess.run(["git", "-C", home.work, *words], env=home.env, capture_output=True, text=True, check=False).stdout
    git("init", "-q", "-b", "main")
    git("config", "--global", "user.name", "Tester")
    git("config", "--global", "user.email", "tester@example.org")
    with Server(home) as server:
        change(server, "c1", "echo one > one.txt")
        tap.ok(is_refused(server.call("repo_commit", sandbox="c1", message="m"), "not_found"),
               "nothing promoted is nothing to commit")
        home.call("promotions", "approve", server.data("promote_request", sandbox="c1")["request_id"], "--yes")
        found = server.data("repo_commit", sandbox="c1", message="add one")
        tap.ok(found.get("state") == "pending" and found.get("branch") == "main" and not git("log", "--format=%s"),
               "a commit is asked for", found)
        done = home.data("promotions", "approve", found["request_id"], "--yes")
        tap.ok(done.get("commit") and git("log", "--format=%s").strip() == "add one", "and made when a person says so", done)
        tap.ok(is_refused(server.call("repo_commit", sandbox="c1", message="  ")), "a commit needs a message")
        change(server, "many", "for i in $(seq 1200); do echo $i > many-$i; done")
        home.call("promotions", "approve", server.data("promote_request", sandbox="many")["request_id"], "--yes")
        found = server.data("repo_commit", sandbox="many", message="add many")
        tap.equal((found.get("files"), len(found.get("paths", []))), (1200, 1000), "of many files the first are shown, all are counted")
        home.call("promotions", "approve", found["request_id"], "--yes")
        tap.equal(len(git("ls-files", "many-*").split()), 1200, "and all are committed")
    with Server(home, "--owner", "who", capabilities=ELICITS) as server:
        answering(server, YES, [])
        change(server, "c2", "echo two > two.txt")
        server.call("promote_request", sandbox="c2")
        found = server.data("repo_commit", sandbox="c2", message="add two")
        tap.ok(found.get("commit", "").startswith(git("rev-parse", "HEAD").strip()[:12])
               and git("log", "-1", "--format=%s").strip() == "add two", "by the client's user as well", found)
        server.call("sandbox_exec", sandbox="c2", script="echo three > three.txt")
        asked = []
        server.answer_requests = asked.append
        waiting = server.start("tools/call", {"name": "promote_request", "arguments": {"sandbox": "c2"}})
        answering(server, YES, asked)
        server.wait(waiting)
        git("checkout", "-q", "-b", "other")
        server.answer_requests = lambda message: (git("checkout", "-q", "main"), server.send(
            {"jsonrpc": "2.0", "id": message["id"], "result": YES}))
        result = server.call("repo_commit", sandbox="c2", message="on other")
        tap.ok(is_refused(result, "conflict") and "on other" not in git("log", "--all", "--format=%s"),
               "another branch than what was shown gets nothing", result)
    with Server(home, "--promote-policy", "gates", "--owner", "who") as server:
        found = server.data("repo_commit", sandbox="c2", message="by policy")
        tap.ok(found.get("commit") and git("log", "-1", "--format=%s").strip() == "by policy", "gates let it pass", found)


def test_no_other_way(home):
    with Server(home) as server:
        change(server, "w1", "echo w > way.txt")
        for tool in ("approve", "reject", "promote", "undo", "promotions", "tool_approve", "stage_approve", "trust"):
            response = server.ask("tools/call", name=tool, arguments={"request_id": "x"})
            if response.get("error", {}).get("code") != -32602:
                tap.ok(False, f"{tool} is no tool", response)
        tap.ok(is_refused(server.call("race", attempts=[{"name": "a", "script": "echo w > way.txt"}], promote=True),
                          "no argument"), "no tool promotes by the way")
        tap.ok(not os.path.exists(home.work + "/way.txt"), "the host is as it was")


with Home("mcp-consent-") as home:
    home.put("keep.txt", "keep\n")
    for test in (test_pending, test_binding, test_elicitation, test_modern, test_lines, test_shown, test_triggers, test_snapshots, test_stages,
                 test_stages_held, test_commit, test_no_other_way):
        tap.attempt(test, home)
sys.exit(tap.done())
