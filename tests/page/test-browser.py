#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser: each flow by mouse or keyboard, its effect seen on the host, and how it looks.

The browser is Debian's, driven by what tools/fetch-page-clients fetches. With CI set nothing is skipped for want of either.
"""
import base64
import contextlib
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from aisbxtest import Failure, Skip, Suite
from box import end, patience
from family import until
from page import Page

suite = Suite("the page in a browser", needs_attack=False)
# Root has no daemon, and so no page.
PLAIN = ("plain",)
CLIENTS = os.path.join(os.environ.get("AISBX_SOURCE") or os.path.realpath(os.path.join(HERE, "..", "..")), "fetched", "page")
HOSTILE = [b"<img src=x onerror=alert(1)>", b"\x1b[31mred\x1b]0;title\x07", "a\u202egpj.exe".encode(), b"bad\xff\xfename", b"two\nlines",
           b"'\"&amp;<script>alert(2)<&#47;script>", "\u2066\u200b\u2069".encode()]


class Browser:
    """A browser of the caller's own that ends with the block; nothing may have gone wrong in it by then."""

    def __init__(self, t):
        programs = [shutil.which(name, path=t.caller.env["PATH"]) for name in ("node", "chromium")]
        if not all(programs) or not os.path.exists(os.path.join(CLIENTS, "complete")):
            raise (Failure if os.environ.get("CI") else Skip)("no node, chromium or fetched/page here: tools/setup ci")
        self.profile = os.path.join(t.caller.tmp, "profile")
        self.process = subprocess.Popen([programs[0], os.path.join(HERE, "drive.mjs"), CLIENTS, programs[1], self.profile, str(int(patience(10)))],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=t.caller.home, env=t.caller.env,
                                        **t.caller.identity())

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            left = self.ask("faults") if kind is None else None
        finally:
            # The driver ends the browser when there is no more to do.
            self.process.stdin.close()
            try:
                self.process.wait(patience(60))
            finally:
                end(self.process)
                shutil.rmtree(self.profile, ignore_errors=True)
        assert kind or left == {"faults": [], "foreign": []}, left

    def ask(self, *words):
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "the browser's driver has ended"
        answer = json.loads(line)
        if "error" in answer:
            raise Failure(f"{words}: {answer['error']}")
        return answer["value"]

    def open(self, page):
        self.ask("open", json.loads(page.ui().stdout)["url"])
        self.shows("Sandboxes (")

    def visit(self, address, text):
        self.ask("get", f"void (location.hash = {json.dumps(address)})")
        self.shows(text)

    def shows(self, text):
        self.ask("until", f"document.body.innerText.includes({json.dumps(text)})")

    def click(self, text, within="document"):
        self.ask("click", named(text, within))

    def reach(self, text):
        self.ask("reach", named(text))


def named(text, within="document"):
    """The control with that name, as an expression in the page."""
    return (f'[...{within}.querySelectorAll("button,a,summary,input")]'
            f".find((one) => (one.ariaLabel ?? one.textContent) === {json.dumps(text)})")


def holding(selector, text):
    """The smallest element that a selector finds and that has this text."""
    return f"[...document.querySelectorAll({json.dumps(selector)})].filter((one) => one.textContent.includes({json.dumps(text)})).at(-1)"


def cli(t, *words):
    got = t.box.call(*words)
    t.equal(got.returncode, 0, f"{words}: {got.stdout}{got.stderr}")
    return got.stdout


@contextlib.contextmanager
def scene(t):
    """A page, a browser, and no sandbox or request left behind."""
    with Page(t.caller) as page:
        try:
            with Browser(t) as browser:
                yield page, browser
        finally:
            t.box.call("promotions", "reject", "--all")
            t.box.call("rm", "--all", "--yes")


def content(t, name):
    with open(os.path.join(t.caller.workspace, name), encoding="ascii") as file:
        return file.read()


@suite.case("B01", "the token behind the # opens the page once, leaves no trace, and nothing goes elsewhere", callers=PLAIN)
def opened(t):
    with scene(t) as (page, browser):
        here = f"http://127.0.0.1:{page.port}/"
        browser.ask("open", here)
        browser.shows("Open this page with the address")
        url = json.loads(page.ui().stdout)["url"]
        browser.ask("open", url)
        browser.shows("Sandboxes (0)")
        t.equal(browser.ask("get", "location.href"), here, "the token is not in the address any more")
        t.equal(browser.ask("get", "[document.cookie, localStorage.length, sessionStorage.length]"), ["", 0, 0], "nor kept")
        t.equal(browser.ask("faults"), {"faults": [], "foreign": []}, "so far")
        browser.ask("reload")
        browser.shows("Open this page with the address")
        browser.ask("open", url)
        browser.shows("Open this page with the address")
        t.ok("401" in str(browser.ask("faults")["faults"]), "a token that was used is refused")
        refused = browser.ask("get", f"fetch('http://127.0.0.1:{page.port - 1}/').then(() => 'sent', (error) => error.name)")
        t.equal((refused, "Content Security Policy" in str(browser.ask("faults")["faults"])), ("TypeError", True), "the policy stops what goes elsewhere")
        t.equal(browser.ask("stray", "http://127.0.0.1:1/"), "stopped", "and this suite would see it")
        t.equal(browser.ask("faults")["foreign"], ["http://127.0.0.1:1/"], "as it does")


@suite.case("B02", "what waits is shown with its evidence; approve, undo and refuse do what they say", callers=PLAIN)
def decided(t):
    t.caller.put("a", "old\n")
    with scene(t) as (page, browser):
        cli(t, "create", "one")
        cli(t, "exec", "one", "--", "sh", "-c", "echo new >a; echo more >b; mkdir .github; echo x >.github/x.yml")
        browser.open(page)
        browser.click("one")
        browser.shows("Changes (4)")
        browser.click("a", 'document.querySelector(".list")')
        browser.ask("until", 'document.querySelector(".add")?.textContent === "new" && document.querySelector(".del").textContent === "old"')
        browser.click("Ask to promote what is ticked")
        browser.shows("Tick the files first.")
        browser.click("Promote a")
        browser.click("Promote .github/x.yml")
        browser.click("Reason")
        browser.ask("type", "because <b>it</b> works")
        browser.click("Ask to promote what is ticked")
        browser.shows("because <b>it</b> works")
        shown = browser.ask("get", "document.querySelector('section').innerText")
        ask = json.loads(cli(t, "promotions", "--json").splitlines()[0])
        t.ok(ask["bundle"] in shown and t.caller.workspace in shown and ".github/x.yml:" in shown, "digest, target and trigger", shown)
        t.equal(content(t, "a"), "old\n", "nothing yet")
        browser.click("3 files")
        browser.ask("until", "document.querySelectorAll('section details[open] li').length === 3")
        browser.click("Look at it")
        browser.click("Approve")
        browser.shows("nothing waits for a decision")
        t.equal((content(t, "a"), os.path.exists(os.path.join(t.caller.workspace, "b"))), ("new\n", False), "what was ticked, and no more")
        browser.click("Undo")
        browser.ask("until", f"!{named('Undo')}")
        t.equal(content(t, "a"), "old\n", "taken back")
        cli(t, "promotions", "request", "one", "b")
        browser.visit("#history", "sh -c")
        browser.visit("#decisions", "no reason given")
        browser.click("Refuse")
        browser.shows("nothing waits for a decision")
        t.ok(not os.path.exists(os.path.join(t.caller.workspace, "b")), "refused")


@suite.case("B03", "a click in the tree of snapshots rolls back", callers=PLAIN)
def rolled_back(t):
    with scene(t) as (page, browser):
        cli(t, "create", "one")
        for number in ("1", "2"):
            cli(t, "exec", "one", "--", "sh", "-c", f"echo {number} >v")
            cli(t, "snap", "one", "-m", "state <i>" + number)
        browser.open(page)
        browser.click("one")
        browser.shows("state <i>2")
        t.equal(browser.ask("get", "document.querySelectorAll('.tree .tree').length"), 1, "the second below the first")
        browser.click("Roll back", holding(".row", "state <i>1"))
        browser.ask("until", f"{holding('.row', 'state <i>1')}?.textContent.includes('(here)')")
        t.equal(cli(t, "exec", "one", "--", "cat", "v"), "1\n", "it is as it was")
        browser.click("Fork", holding(".row", "state <i>1"))
        browser.ask("until", "location.hash.startsWith('#sandbox/one-s1-') && document.querySelector('#view h2').textContent.startsWith('one-s1-')")
        other = browser.ask("get", "document.querySelector('#view h2').textContent")
        t.equal(cli(t, "exec", other, "--", "cat", "v"), "1\n", "so is the fork")


@suite.case("B04", "a run is seen live and stopped", callers=PLAIN)
def stopped(t):
    with scene(t) as (page, browser):
        cli(t, "create", "one")
        run = subprocess.Popen([t.caller.program, "exec", "one", "--", "sh", "-c", "printf 'begun \\033[31mred\\033[0m\\n'; exec sleep 600"],
                               cwd=t.caller.workspace, env=t.caller.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **t.caller.identity())
        try:
            t.ok(run.stdout.readline(), "it runs")
            browser.open(page)
            live = holding("#view table", "sleep 600")
            browser.ask("until", f"!!{live}")
            # The table is drawn anew while it is read: the focus stays.
            browser.ask("get", f"({named('one', live)}.focus(), globalThis.seen = {live}, null)")
            browser.ask("until", f"{live} !== seen || {live}.querySelector('polyline').getAttribute('points').includes(' ')")
            t.equal(browser.ask("get", "document.activeElement.textContent"), "one", "the focus stays on its link")
            browser.visit("#history", "sleep 600")
            browser.ask("click", "document.querySelector('.line a')")
            browser.ask("until", "document.querySelector('pre .c1')?.textContent === 'red'")
            browser.visit("#sandboxes", "sleep 600")
            browser.click("one", live)
            browser.click("Stop")
            t.ok(until(lambda: run.poll() is not None), "it ends")
            browser.ask("until", "document.querySelector('#view p')?.textContent.startsWith('idle')")
        finally:
            end(run)


@suite.case("B05", "a hostile name is read as text, and nothing in it is hidden", callers=PLAIN)
def hostile(t):
    with scene(t) as (page, browser):
        cli(t, "create", "one")
        script = ("import base64,os,sys\nfor name in sys.argv[1:]:\n open(base64.b64decode(name), 'wb')"
                  ".write(b'<b>x</b>\\x1b[2J\\xe2\\x80\\xae\\n')")
        cli(t, "exec", "one", "--", "/usr/bin/python3", "-c", script, *(base64.b64encode(name).decode() for name in HOSTILE))
        cli(t, "promotions", "request", "one", "--reason", "\u202etxt <img src=x onerror=alert(3)>")
        browser.open(page)
        browser.click("one")
        browser.shows(f"Changes ({len(HOSTILE)})")
        names = browser.ask("get", "[...document.querySelectorAll('.list a')].map((one) => one.textContent)")
        t.equal(sorted(names), sorted(["<img src=x onerror=alert(1)>", "\\u{1b}[31mred\\u{1b}]0;title\\u{7}", "a\\u{202e}gpj.exe", '"bad\\377\\376name"',
                                       "two\\u{a}lines", "'\"&amp;<script>alert(2)<&#47;script>", "\\u{2066}\\u{200b}\\u{2069}"]), "as they are")
        for number, name in enumerate(names):
            browser.ask("click", f"document.querySelectorAll('.list a')[{number}]")
            browser.ask("until", f"document.querySelector('.sides')?.previousSibling.textContent === {json.dumps(name)}")
            t.equal(browser.ask("get", "[...document.querySelectorAll('.add')].map((one) => one.textContent)"), ["<b>x</b>\\u{1b}[2J\\u{202e}"], name)
        browser.visit("#decisions", "\\u{202e}txt <img src=x onerror=alert(3)>")
        browser.click(f"{len(HOSTILE)} files")
        listed = browser.ask("get", "[...document.querySelectorAll('section details li')].map((one) => one.textContent)")
        t.equal(sorted(listed), sorted("bad\\xff\\xfename" if "377" in name else name for name in names), "in what waits, too")
        t.equal(browser.ask("get", "document.querySelectorAll('img, script:not([src]), iframe').length"), 0, "no markup came of it")


@suite.case("B06", "by the keyboard alone: open, tick, ask, approve", callers=PLAIN)
def keyboard(t):
    with scene(t) as (page, browser):
        cli(t, "create", "one")
        cli(t, "exec", "one", "--", "sh", "-c", "for n in $(seq 100 139); do echo $n >f$n; done")
        browser.open(page)
        browser.reach("one")
        browser.ask("press", "Enter")
        browser.shows("Changes (40)")
        # Far enough for the list to scroll: rows come and go, and the focus stays.
        browser.reach("Promote f125")
        browser.ask("press", "Space")
        browser.reach("Reason")
        browser.ask("type", "by keys")
        browser.ask("press", "Tab", "Enter")
        browser.shows("by keys")
        t.equal(browser.ask("get", "document.activeElement.id"), "view", "the focus is where the new view begins")
        browser.reach("Look at it")
        browser.ask("press", "Enter")
        browser.ask("until", f"!!{named('Approve')}")
        browser.reach("Approve")
        browser.ask("press", "Space")
        browser.shows("nothing waits for a decision")
        t.equal(content(t, "f125"), "125\n", "promoted")
        t.equal(sorted(name for name in os.listdir(t.caller.workspace) if name.startswith("f1")), ["f125"], "that one alone")
        browser.reach("Undo")
        browser.ask("press", "Enter")
        browser.ask("until", f"!{named('Undo')}")


def looked_at(browser, address):
    """What is wrong with a view on a phone and a screen, in both schemes."""
    return [f"{address} {width} {scheme}: {one}" for width in (360, 1280) for scheme in ("light", "dark") for one in browser.ask("look", width, scheme)]


@suite.case("B07", "each view fits a phone and a screen, light and dark, and is accessible", callers=PLAIN)
def looks(t):
    t.caller.put("a", "old\n")
    with scene(t) as (page, browser):
        long_name = "a-name-that-is-longer-than-any-phone-is-wide-" * 4
        cli(t, "create", "one")
        cli(t, "exec", "one", "--", "sh", "-c", "echo new >a; echo x >\"$0\"", long_name)
        cli(t, "snap", "one", "-m", "first")
        cli(t, "snap", "one", "-m", long_name)
        cli(t, "promotions", "request", "one", "a")
        cli(t, "promotions", "approve", json.loads(cli(t, "promotions", "--json").splitlines()[0])["request_id"], "--yes")
        cli(t, "promotions", "request", "one", "--reason", long_name)
        t.box.run("sh", "-c", "for c in 1 31 32 33 34 35 36; do printf '\\033[%smcolour\\033[0m ' $c; done; exit 3")
        run = json.loads(cli(t, "history", "--json", "--count", "1"))["run_id"]
        browser.open(page)
        wrong = []
        for address, text in (("#sandboxes", "Running now"), ("#sandbox/one", "Changes (1)"), ("#decisions", long_name), ("#history", "exit 3"),
                              ("#run/" + run, "colour")):
            browser.visit(address, text)
            if address == "#sandbox/one":
                browser.click(long_name, 'document.querySelector(".list")')
                browser.ask("until", 'document.querySelector(".add")?.textContent === "x"')
            if address.startswith("#run/"):
                browser.ask("until", "!!document.querySelector('pre .c6')")
            wrong += looked_at(browser, address)
        t.ok(not wrong, "views", "\n".join(wrong))
        # What this looks for it finds.
        browser.ask("get", "(document.querySelector('h1').style.cssText = 'flex: none; width: 2000px; margin-bottom: -30px', "
                           "document.querySelector('#view p').style.cssText = 'color: #999; background: #888', null)")
        found = "\n".join(browser.ask("look", 360, "light"))
        t.ok(all(word in found for word in ("wide, the window", "outside: h1", "lies over", "color-contrast")), "the control", found)


@suite.case("B08", "a request is approved below what it applies, not what its sandbox shows by now; what is not shown whole is not", callers=PLAIN)
def whole(t):
    t.caller.put("a", "-- old\n")
    added = '[...document.querySelectorAll(".add")].map((one) => one.textContent)'
    with scene(t) as (page, browser):
        cli(t, "create", "one")
        cli(t, "exec", "one", "--", "sh", "-c", "echo '++ bait' >a; echo x >b")
        cli(t, "promotions", "request", "one", "a", "--strategy", "theirs")
        cli(t, "exec", "one", "--", "sh", "-c", "echo harmless >a; for n in $(seq 20001); do echo $n; done >many; mkdir d; cd d; seq 1001 | xargs touch")
        browser.open(page)
        browser.visit("#decisions", "strategy: theirs")
        t.ok(not browser.ask("get", f"!!{named('Approve')}"), "not from the list")
        browser.click("Look at it")
        browser.ask("until", f"!!{named('Approve')}")
        t.equal(browser.ask("get", added), ["++ bait"], "what it would apply, and no other file")
        t.equal(browser.ask("get", 'document.querySelector(".del").textContent'), "-- old", "no line is taken for a header")
        browser.click("Approve")
        browser.shows("nothing waits for a decision")
        t.equal(content(t, "a"), "++ bait\n", "as it was shown")
        for words, why in ((("one", "many"), "1 more files are not shown"), (("one", "d"), "Only 1000 of its 1002 files are recorded")):
            cli(t, "promotions", "request", *words)
            name = json.loads(cli(t, "promotions", "--json").splitlines()[0])["request_id"]
            browser.visit("#request/" + name, why)
            browser.shows("aisbx promotions approve " + name)
            t.ok(not browser.ask("get", f"!!{named('Approve')}"), why)
            browser.click("Refuse")
            browser.shows("nothing waits for a decision")


@suite.case("B09", "races and jobs are seen as plots, with the same in tables; what they say is text", callers=PLAIN)
def plotted(t):
    result, why = "<img src=x onerror=alert(1)>", "\u202ewhy <b>"
    with scene(t) as (page, browser):
        race = json.loads(cli(t, "race", "--json", "--check", "cat f >&3; test -s f", "-c", "good=echo 7 >f", "-c", "better=echo 9 >f; echo x >g", "-c", "none=true"))
        far = [json.loads(cli(t, "race", "--json", "--check", "cat f >&3", *words)) for words in
               (("-c", "most=echo 1e308 >f", "-c", "least=echo -1e308 >f"), ("-c", "lone=echo -20000000 >f"), ("-c", "naught=echo 0 >f"))]
        job = os.path.join(t.caller.tmp, "tidy.yaml")
        t.caller.put("tidy.yaml", "script: 'true'\n")
        os.replace(os.path.join(t.caller.workspace, "tidy.yaml"), job)
        cli(t, "profile", "trust", job)
        cli(t, "job", "add", job)
        try:
            cli(t, "job", "run", "tidy")
            state = os.path.join(t.caller.home, ".local/state/aisbx/jobs/tidy.json")
            with open(state, encoding="utf-8") as file:
                kept = json.load(file)
            began = kept["runs"][0]["started"]
            kept["runs"] += [{"started": began, "why": why, "result": one} for one in (result, "fail", "unchanged", *["pass"] * 9)]
            kept["runs"] += [{"started": "2001-01-01T00:00:00.000Z", "why": "old", "result": "pass"}, {"started": "never", "result": "pass"}]
            with open(state, "w", encoding="utf-8") as file:
                json.dump(kept, file)
            browser.open(page)
            wrong = []
            browser.visit("#races", race["race_id"])
            wrong += looked_at(browser, "#races")
            browser.click(race["race_id"])
            browser.ask("until", "document.querySelectorAll('svg.chart circle').length === 3")
            t.equal(browser.ask("get", "document.querySelectorAll('svg.chart .ring').length"), 1, "one has no score")
            high = browser.ask("get", "[...document.querySelectorAll('svg.chart circle')].map((one) => [one.getAttribute('cy'), one.getAttribute('r')].map(Number))")
            t.ok(high[1][0] < high[0][0] < high[2][0] and high[1][1] > high[0][1] > high[2][1], "the better is higher, the larger larger", high)
            t.ok("2, better: score 9" in browser.ask("get", "document.querySelector('svg.chart desc').textContent"), "and described")
            t.equal(browser.ask("get", "[...document.querySelectorAll('#view tbody tr')].map((one) => [one.children[1].textContent, one.children[4].textContent])"),
                    [["good", "7"], ["better", "9"], ["none", ""]], "the same in a table")
            wrong += looked_at(browser, "#race")
            for one in far:
                browser.visit("#race/" + one["race_id"], one["race_id"])
                browser.ask("until", f"document.querySelectorAll('svg.chart circle').length === {len(one['attempts'])}")
                heights = browser.ask("get", "[...document.querySelectorAll('svg.chart circle')].map((one) => one.getAttribute('cy'))")
                t.ok(all(0 < float(height) < 180 for height in heights), "marks of any score lie in the plot", heights)
            browser.visit("#jobs", "15 runs of tidy")
            t.equal(browser.ask("get", "['.day', '.mark, .ring'].map((one) => document.querySelectorAll('svg.chart ' + one).length)"), [14, 6],
                    "a column for each of two weeks, and the last runs of a day")
            t.ok(browser.ask("get", "[...document.querySelectorAll('svg.chart text')].some((one) => one.textContent === '+7')"), "and how many more there were")
            browser.click("15 runs of tidy")
            browser.shows(result)
            browser.shows("\\u{202e}why <b>")
            t.equal(browser.ask("get", "document.querySelectorAll('#view img, #view b').length"), 0, "no markup came of it")
            wrong += looked_at(browser, "#jobs")
            t.ok(not wrong, "views", "\n".join(wrong))
        finally:
            cli(t, "job", "rm", "tidy")
            os.unlink(job)


suite.main()
