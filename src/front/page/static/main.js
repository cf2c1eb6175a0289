/* SPDX-License-Identifier: Apache-2.0 */
/* The page: one function for each view, by the word behind the #. */
import { bytes, button, call, coloured, enter, lazy, make, note, percent, spark, stream, table } from "./call.js";
import { kindOf, scatter, sizeOf, strip } from "./plots.js";

const view = document.getElementById("view");
/** Of differences, in one view. */
const LINES_MAX = 20000;
let leave = new AbortController();
const link = (text, ...words) => make("a", { href: "#" + words.map(encodeURIComponent).join("/") }, text);
/** Fills a place anew; the focus goes to the link that leads where the focused one led, or to the view. */
const fill = (place, ...parts) => {
  const at = place.contains(document.activeElement) ? document.activeElement : null;
  place.replaceChildren(...parts);
  if (at) ([...place.querySelectorAll("a")].find((one) => one.href === at.href && place !== view) ?? view).focus();
};
const show = (...parts) => fill(view, ...parts);
const counts = (changes) => changes ? `+${changes.added} ~${changes.modified} -${changes.deleted}` : "";
const status = (text) => make("span", { class: text === "success" ? "good" : text === "running" ? "" : "bad" }, text);
const when = (time) => time?.slice(0, 19).replace("T", " ") ?? "";
const command = (words) => (words ?? []).join(" ");
/** A path as verbs take it, whatever bytes it has. */
const quoted = (row) => {
  const raw = row.path_b64 ? atob(row.path_b64) : null;
  if (!raw && !/["\\\x00-\x1f]/.test(row.path)) return row.path;
  return '"' + Array.from(raw ?? new TextDecoder("latin1").decode(new TextEncoder().encode(row.path)),
    (letter) => /[A-Za-z0-9./ _-]/.test(letter) ? letter : "\\" + letter.charCodeAt(0).toString(8).padStart(3, "0")).join("") + '"';
};

async function sandboxes(signal) {
  const used = new Map(), plots = new Map();
  const rows = await call("ls", [], {}, signal);
  const list = lazy((row) => {
    const plot = make("span");
    plots.set(row.name, plot);
    return make("span", { class: "line" }, link(row.name, "sandbox", row.name), ` ${row.state} `, plot, ` ${counts(row.changes)} `, make("span", { class: "wide" }, `${bytes(row.disk_bytes)} ${row.base}`));
  }, null, "Sandboxes");
  const live = make("div");
  show(make("h2", {}, `Sandboxes (${rows.length})`), list.box, make("h2", {}, "Running now"), live);
  list.add(rows);
  const draw = () => {
    fill(live, used.size === 0 ? "nothing" : table(["Sandbox", "Processor", "Memory", "Command"], [...used.values()].map((one) =>
      [link(one.row.sandbox, "sandbox", one.row.sandbox), make("span", {}, spark(one.cpu, "processor", percent), " " + percent(one.row.cpu_percent)),
        make("span", {}, spark(one.memory, "memory", bytes), " " + bytes(one.row.memory_bytes)), command(one.row.command)])));
  };
  draw();
  for (;;) {
    const seen = new Set();
    for (const row of await call("top", [], {}, signal)) {
      const one = used.get(row.sandbox) ?? { cpu: [], memory: [] };
      seen.add(row.sandbox);
      one.row = row;
      one.cpu = [...one.cpu, row.cpu_percent ?? 0].slice(-60);
      one.memory = [...one.memory, row.memory_bytes ?? 0].slice(-60);
      used.set(row.sandbox, one);
      plots.get(row.sandbox)?.replaceChildren(spark(one.cpu, "processor", percent), spark(one.memory, "memory", bytes));
    }
    for (const name of used.keys()) if (!seen.has(name)) used.delete(name);
    draw();
    await new Promise((resolve) => { setTimeout(resolve, 1500); });
    if (signal.aborted) return;
  }
}

function snapshots(name, rows) {
  const below = (parent) => {
    const some = rows.filter((row) => (row.parent ?? null) === parent);
    return some.length === 0 ? null : make("ul", { class: "tree" }, ...some.map((row) => make("li", {},
      make("div", { class: "row" }, make("strong", {}, row.name), row.current ? "(here)" : null, row.message ?? "", row.auto ? "automatic" : null,
        button("Roll back", async () => { await call("rollback", [name, row.name]); go(); }),
        button("Fork", async () => { const other = `${name}-${row.name}-${Date.now() % 10000}`; await call("fork", [`${name}@${row.name}`, other]); location.hash = "#sandbox/" + other; })),
      below(row.name))));
  };
  return below(null) ?? "none yet";
}

/** What a verb noted beside its answer. */
const notes = (rows) => {
  const text = (rows[0]?.note ?? rows.notes).trim().replaceAll("\n", " ");
  return text ? make("p", { class: "bad" }, text) : "";
};

/** A unified diff side by side. Behind the first @@ of a file every line is content, however it begins. */
function sides(patch) {
  const parts = [], old = [], new_ = [], lines = patch.split("\n");
  let inside = false;
  const flush = () => {
    for (let at = 0; at < Math.max(old.length, new_.length); at++) parts.push(make("div", { class: at < old.length ? "del mono" : "mono" }, old[at] ?? ""), make("div", { class: at < new_.length ? "add mono" : "mono" }, new_[at] ?? ""));
    old.length = new_.length = 0;
  };
  for (const line of lines.slice(0, LINES_MAX)) {
    if (inside && line.startsWith("-")) old.push(line.slice(1));
    else if (inside && line.startsWith("+")) new_.push(line.slice(1));
    else {
      flush();
      if (line.startsWith("@@ ")) inside = true;
      else if (line.startsWith("diff ")) inside = false;
      if (inside && line.startsWith(" ")) parts.push(make("div", { class: "mono" }, line.slice(1)), make("div", { class: "mono" }, line.slice(1)));
      else if (line) parts.push(make("div", { class: "hunk mono" }, line));
    }
  }
  flush();
  if (lines.length > LINES_MAX) parts.push(make("div", { class: "hunk bad" }, `${lines.length - LINES_MAX} more lines are not shown here`));
  return make("div", { class: "sides" }, ...parts);
}

async function sandbox(signal, name) {
  const [one] = await call("inspect", [name], {}, signal);
  const [snaps, files, [net]] = await Promise.all([call("snaps", [name], {}, signal), call("diff", [name], { stat: true }, signal), call("net", [name], {}, signal)]);
  const ticked = new Set(), file = make("div"), reason = make("input", { "aria-label": "Reason", placeholder: "Reason" });
  const list = lazy((row) => {
    const tick = make("input", { type: "checkbox", "aria-label": "Promote " + row.path, onchange: (event) => ticked[event.target.checked ? "add" : "delete"](row) });
    tick.checked = ticked.has(row);
    return make("span", { class: "line" }, tick, " ", row.asks ? make("span", { class: "bad" }, "needs your word: ") : null, make("a", { href: "#", onclick: async (event) => {
      event.preventDefault();
      try {
        const got = await call("diff", [name], { patch: true, path: quoted(row) });
        file.replaceChildren(make("h2", {}, row.path), sides(got[0].patch), notes(got));
      } catch (error) { note(error.message); }
    } }, row.path), ` ${row.op} +${row.added ?? "?"} -${row.removed ?? "?"}`);
  }, null, "Changed files");
  show(make("h2", {}, name), make("p", {}, `${one.state}, ${bytes(one.memory_bytes)} of memory, ${bytes(one.disk_bytes)} on disk, ${one.workspace}`),
    make("div", { class: "row" }, button("Stop", async () => { await call("stop", [name]); go(); }), button("Save", async () => { await call("snap", [name]); go(); })),
    make("h2", {}, "Snapshots"), snapshots(name, snaps), make("h2", {}, `Changes (${files.length})`), notes(files), list.box,
    make("div", { class: "row" }, reason, button("Ask to promote what is ticked", async () => {
      if (ticked.size === 0) throw new Error("Tick the files first.");
      await call("promotions", ["request", name, ...[...ticked].map(quoted)], reason.value ? { reason: reason.value } : {});
      location.hash = "#decisions";
    })), file, make("h2", {}, `Network: ${net.net}`),
    table(["Action", "Rule", "From"], net.rules.map((rule) => [rule.action, rule.rule, rule.from])),
    table(["Denied", "Remedy", ""], net.denials.map((denial) => [denial.what, denial.hint ?? "", allow(denial, [name], {}, net.digest)])));
  list.add(files);
}

/** A button that allows what DENIAL was about; nothing where its remedy, which is written for a shell, is no rule. */
function allow(denial, words, flags, digest) {
  const rule = /--allow(?:=| )('?)([^ ']+)\1$/.exec(denial.hint ?? "")?.[2];
  return rule ? button("Allow " + rule, async () => { await call("allow", [...words, rule], { ...flags, digest }); go(); }) : "";
}

/** The files of a request or a promotion, as far as they are recorded. */
function paths(row) {
  const known = row.paths ?? [], more = (row.files ?? known.length) - known.length;
  return make("details", {}, make("summary", {}, `${row.files ?? "?"} files`), make("ul", {}, ...known.map((path) => make("li", { class: "mono" }, path.path ?? path)),
    more > 0 ? make("li", { class: "bad" }, `${more} more`) : null));
}

/** What a request would do. */
function about(row) {
  const facts = { kind: row.kind ?? "promotion", target: row.target, stages: row.stages?.map((stage) => `${stage.name} (${stage.target ?? ""})`).join(", "), strategy: row.strategy,
    branch: row.branch, message: row.message, "of promotion": row.promotion_id, "only": row.only?.join(", "), digest: row.bundle };
  return [make("h3", {}, row.sandbox), make("p", {}, row.reason ?? "no reason given"),
    make("ul", {}, ...Object.entries(facts).filter(([, text]) => text).map(([name, text]) => make("li", {}, name + ": ", make("code", {}, text))),
      row.with_ignored ? make("li", { class: "bad" }, "with what git ignores") : null, row.is_commits ? make("li", { class: "bad" }, "as commits of its branch, not as files") : null),
    paths(row), make("ul", {}, ...(row.triggers ?? []).map((trigger) => make("li", { class: "bad" }, make("span", {}, trigger.path), `: ${trigger.why}`)))];
}

/** Why a request cannot be shown whole, which one must see to approve it; null where it can. */
function hidden(row) {
  if ((row.kind ?? "promotion") !== "promotion" || row.is_commits || !row.bundle) return `This page has no view of ${row.is_commits ? "commits" : "a request of the kind " + row.kind}.`;
  if (!row.sandbox.includes("@")) return "It names no snapshot, and its sandbox may have changed since.";
  return row.paths?.length === row.files ? null : `Only ${row.paths?.length ?? 0} of its ${row.files} files are recorded.`;
}
const elsewhere = (row, why) => make("p", {}, `${why} Decide it on a terminal: `, make("code", {}, `aisbx diff ${row.sandbox}; aisbx promotions approve ${row.request_id}`));
const refuse = (row) => button("Refuse", async () => { await call("promotions", ["reject", row.request_id]); await leaveFor("#decisions"); });
const leaveFor = async (address) => { if (location.hash === address) await go(); else location.hash = address; };

/** Adds the difference of each file of a request, in the snapshot that it is about; why that is not all, or null. */
async function review(row, place, signal) {
  const key = (path) => path.path_b64 ? "64 " + path.path_b64 : "8 " + (path.path ?? path);
  const files = await call("diff", [row.sandbox], { stat: true }, signal);
  const by = new Map(files.map((file) => [key(file), file]));
  let left = LINES_MAX, shown = 0;
  place.append(notes(files));
  for (const path of row.paths) {
    const file = by.get(key(path)), name = path.path ?? path;
    if (!file) return `${name} is not among the differences from the host.`;
    const got = await call("diff", [row.sandbox], { patch: true, path: quoted(file) }, signal), { patch } = got[0];
    left -= patch.split("\n").length;
    if (left < 0) return `${row.paths.length - shown} more files are not shown: these are more than ${LINES_MAX} lines.`;
    place.append(make("h3", {}, name), make("p", {}, file.op), sides(patch), notes(got));
    shown++;
  }
  return null;
}

/** A request with everything that it would apply; what was seen whole can be approved, below it. */
async function request(signal, id) {
  const row = (await call("promotions", [], {}, signal)).find((one) => one.request_id === id && one.state === "pending");
  if (!row) { show(make("p", {}, "This does not wait for a decision any more.")); return; }
  const place = make("div"), answer = make("div", { class: "row" }, "One moment: not all of it is shown yet.");
  show(make("h2", {}, "Waiting"), ...about(row), place, answer);
  const why = hidden(row) ?? await review(row, place, signal);
  answer.replaceChildren(why ? elsewhere(row, why) : button("Approve", async () => {
    await call("promotions", ["approve", row.request_id], { yes: true, digest: row.bundle });
    await leaveFor("#decisions");
  }), refuse(row));
}

async function decisions(signal) {
  const rows = await call("promotions", [], {}, signal);
  const waiting = rows.filter((row) => row.request_id && row.state === "pending");
  show(make("h2", {}, "Waiting"), waiting.length === 0 ? "nothing waits for a decision" : make("div", {}, ...waiting.map((row) => make("section", { "aria-label": row.request_id }, ...about(row),
    hidden(row) ? elsewhere(row, hidden(row)) : null, make("div", { class: "row" }, hidden(row) ? null : link("Look at it", "request", row.request_id), refuse(row))))),
  make("h2", {}, "Promoted"), table(["When", "Sandbox", "State", "Files", ""], rows.filter((row) => !row.request_id).map((row) => [row.made, row.sandbox ?? "", row.state, paths(row),
    row.state === "live" ? button("Undo", async () => { await call("undo", [row.promotion_id], { digest: row.bundle }); go(); }) : ""])));
}

async function past(signal) {
  const text = make("input", { type: "search", "aria-label": "Search commands", placeholder: "Search commands" });
  let last = null, busy = false, ended = false, turn = 0;
  const more = async () => {
    if (busy || ended) return;
    busy = true;
    const mine = turn;
    try {
      const rows = await call("history", [], { count: "200", ...(last ? { before: last } : {}), ...(text.value ? { text: text.value } : {}) }, signal);
      if (mine === turn) {
        ended = rows.length < 200;
        last = rows.at(-1)?.run_id ?? last;
        list.add(rows);
      }
    } catch (error) { if (!signal.aborted) note(error.message); }
    busy = false;
  };
  const list = lazy((row) => make("span", { class: "line" }, link(row.started.slice(0, 19).replace("T", " "), "run", row.run_id), " ", status(row.status), ` ${row.duration_ms === null ? "" : Math.round(row.duration_ms) + " ms"} `,
    make("code", {}, command(row.command)), row.denials ? make("span", { class: "bad" }, ` ${row.denials} refused`) : null), () => { void more(); }, "History");
  text.addEventListener("change", () => { turn++; last = null; ended = busy = false; list.clear(); });
  show(make("h2", {}, "History"), text, list.box);
  await more();
}

async function run(signal, id) {
  const [one] = await call("show", [id], {}, signal);
  const [why] = await call("explain", [id], {}, signal);
  const [net] = one.workspace && one.denials?.length ? await call("net", [], { workspace: one.workspace }, signal) : [null];
  const output = make("pre", { tabindex: 0, role: "region", "aria-label": "Output" }), states = { stdout: {}, stderr: {} };
  show(make("h2", {}, command(one.command)), make("p", {}, status(one.status ?? "running"), ` exit ${one.exit_code ?? "-"}, ${Math.round(one.duration_ms ?? 0)} ms, ${bytes(one.peak_memory_bytes)} at most`),
    make("p", {}, [why?.explanation ?? ""].flat().join(" ")), (one.limits_hit ?? []).length ? make("p", { class: "bad" }, "Limits hit: " + one.limits_hit.map((limit) => limit.name ?? limit).join(", ")) : "",
    table(["Refused", "Remedy", ""], (one.denials ?? []).map((denial) => [denial.what, denial.hint ?? "", net ? allow(denial, [], { workspace: one.workspace }, net.digest) : ""])),
    make("h2", {}, "Output"), output);
  let kept = 0;
  await stream("logs", [id], { follow: true }, (row) => {
    const text = row.text ?? new TextDecoder().decode(Uint8Array.from(atob(row.data_b64), (letter) => letter.charCodeAt(0)));
    output.append(coloured(text, states[row.stream]));
    for (kept += text.length; kept > 4e6 && output.childNodes.length > 1;) { kept -= output.firstChild.textContent.length; output.firstChild.remove(); }
  }, signal);
}

async function races(signal) {
  const rows = await call("race", ["ls"], {}, signal);
  show(make("h2", {}, `Races (${rows.length})`), rows.length === 0 ? "none is on record" : table(["Ended", "Race", "Attempts", "Winner"],
    rows.map((row) => [when(row.time), link(row.race_id, "race", row.race_id), String(row.attempts?.length ?? 0), row.winner ?? "none"])));
}

async function race(signal, id) {
  const row = (await call("race", ["ls"], {}, signal)).find((one) => one.race_id === id);
  if (!row) { show(make("p", {}, "This race is not among the last ones.")); return; }
  const attempts = row.attempts ?? [];
  show(make("h2", {}, row.race_id), make("p", {}, `${when(row.time)}, `, row.winner ? make("strong", {}, row.winner) : "no attempt", " won"), scatter(attempts),
    table(["Number", "Attempt", "Result", "Check", "Score", "Time", "Memory", "Files", "Run"], attempts.map((one, at) => [String(at + 1), one.sandbox ? link(one.name, "sandbox", one.sandbox) : one.name,
      status(one.status), one.check ? status(one.check.status) : "", one.score === null ? "" : String(one.score), `${Math.round(one.duration_ms)} ms`, bytes(one.peak_memory_bytes),
      make("span", {}, `${sizeOf(one)} `, counts(one.changes)), one.run_id ? link("output", "run", one.run_id) : ""])));
}

async function jobs(signal) {
  const rows = await call("job", ["ls"], {}, signal), places = rows.map(() => make("div"));
  show(make("h2", {}, `Jobs (${rows.length})`), ...rows.length === 0 ? ["none was added"] : rows.map((row, at) => make("section", { "aria-label": row.name }, make("h3", {}, row.name),
    make("p", {}, [row.state, row.when, row.next ? "next " + when(row.next) : null].filter(Boolean).join(", ")), places[at])));
  for (const [at, row] of rows.entries()) {
    try {
      const [{ runs }] = await call("job", ["show", row.name], {}, signal);
      places[at].append(strip(row.name, runs), make("details", {}, make("summary", {}, `${runs.length} runs of ${row.name}`), table(["When", "Why", "Result", "Run"],
        runs.map((run) => [when(run.started), run.why ?? "", make("span", { class: kindOf(run.result) }, run.result), run.run_id ? link("output", "run", run.run_id) : ""]))));
    } catch (error) {
      // One whose file cannot be read hides no other.
      if (signal.aborted) return;
      places[at].append(make("p", { class: "bad" }, error.message));
    }
  }
}

const views = { sandboxes, sandbox, decisions, races, race, jobs, request, history: past, run };

/** Shows what the address names, anew. */
async function go() {
  const [name, ...words] = (location.hash.slice(1) || "sandboxes").split("/").map(decodeURIComponent);
  leave.abort();
  leave = new AbortController();
  const { signal } = leave;
  for (const at of document.querySelectorAll("nav a")) at.toggleAttribute("aria-current", at.hash === "#" + name);
  try { await (views[name] ?? sandboxes)(signal, ...words); } catch (error) { if (!signal.aborted) note(error.message); }
}

if (await enter()) {
  addEventListener("hashchange", () => { note(""); void go(); });
  await go();
} else {
  note("Open this page with the address that `aisbx ui` prints; it opens it once.");
}
