/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the server, and elements made of text: nothing here becomes markup. */
let bearer = null;

/** Exchanges the token behind the # for one that this page keeps in its memory. */
export async function enter() {
  const token = location.hash.slice(1);
  if (!/^[0-9a-f]{64}$/.test(token)) return false;
  history.replaceState(null, "", "/");
  const answer = await fetch("/api/session", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token }) });
  if (answer.ok) bearer = (await answer.json()).bearer;
  return answer.ok;
}

/** Calls a verb and gives each line to `take` as it comes; what the verb noted beside them. What failed, was killed or cut is an error. */
export async function stream(verb, words, flags, take, signal) {
  const answer = await fetch("/api/" + verb, { method: "POST", signal, body: JSON.stringify({ words, flags }),
    headers: { "Content-Type": "application/json", Authorization: "Bearer " + bearer } });
  if (answer.status === 401) throw new Error("This page is closed. Open it again with: aisbx ui");
  if (!answer.ok) throw new Error((await answer.json()).error.message);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", end = null;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const row = JSON.parse(line);
      if (row.end) ({ end } = row);
      else if (row.ok === false && row.error) throw new Error(row.error.message + (row.error.hint ? "\n" + row.error.hint : ""));
      else take(row);
    }
  }
  if (!end) throw new Error(`${verb} was cut off: its server has ended.`);
  if (end.cut) throw new Error(`${verb} has more to say than this page takes. Use the command line.`);
  if (end.exit !== 0) throw new Error(`${verb} ended with exit status ${end.exit}.\n${end.notes}`);
  return end.notes;
}

/** The lines of a call, with the verb's `notes`. */
export async function call(verb, words = [], flags = {}, signal = undefined) {
  const rows = [];
  rows.notes = await stream(verb, words, flags, (row) => rows.push(row), signal);
  return rows;
}

/** Text in which what has no shape of its own, or turns the order of what stands beside it, is spelled out; lines and tabs stay. */
const visible = (text) => String(text).replace(/(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Variation_Selector}\u115f\u1160\u2800\u3164\uffa0]/gu,
  (letter) => `\\u{${letter.codePointAt(0).toString(16)}}`);
const oneLine = (text) => visible(text).replaceAll("\n", "\\u{a}");

/** An element with properties, listeners (on...) and children; texts stay texts. */
export function make(name, props = {}, ...children) {
  const svg = ["svg", "polyline", "circle", "rect", "line", "text", "title", "desc"].includes(name);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(props)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : oneLine(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined).map((child) => child instanceof Node ? child : oneLine(child)));
  return made;
}

export const note = (text) => { document.getElementById("note").textContent = visible(text); };
/** A button; what its work cannot do is said. While it works it does no more, and keeps the focus, which a disabled one would lose. */
export function button(text, work) {
  let busy = false;
  return make("button", { type: "button", onclick: async () => {
    if (busy) return;
    busy = true;
    try { note(""); await work(); } catch (error) { note(error.message); }
    busy = false;
  } }, text);
}

export const percent = (n) => Math.round(n) + " %";
export const bytes = (n) => n === null || n === undefined ? "" : n < 1024 ? n + " B" : n < 1 << 20 ? (n / 1024).toFixed(0) + " KiB" : (n / 1048576).toFixed(1) + " MiB";

export function table(titles, rows) {
  return make("div", { class: "scroll" }, make("table", {}, make("thead", {}, make("tr", {}, ...titles.map((title) => title ? make("th", { scope: "col" }, title) : make("td")))),
    make("tbody", {}, ...rows.map((cells) => make("tr", {}, ...cells.map((cell) => make("td", {}, cell)))))));
}

/** A small plot of numbers; its title says the last one and the highest, as `shown` writes them. */
export function spark(values, label, shown) {
  const most = Math.max(1, ...values);
  return make("svg", { width: 80, height: 18, viewBox: "0 0 80 18", role: "img" },
    make("title", {}, `${label}: ${shown(values.at(-1))} now, ${shown(Math.max(...values))} at most`),
    make("polyline", { class: "plot", points: values.map((value, at) => `${at * 80 / 59},${17 - 16 * value / most}`).join(" ") }));
}

/** Text with the colours of a terminal, as spans; every other escape is dropped. */
export function coloured(text, state) {
  const parts = document.createDocumentFragment();
  // eslint-disable-next-line no-control-regex
  for (const [, escape, , plain] of text.matchAll(/(\x1b\[([0-9;?]*)[ -/]*[@-~]|\x1b[^[]|\x1b)|([^\x1b]+)/g)) {
    if (plain) parts.append(make("span", { class: [state.colour, state.bold].filter(Boolean).join(" ") }, document.createTextNode(visible(plain.replace(/\r\n?/g, "\n")))));
    else if (escape.endsWith("m")) for (const code of escape.slice(2, -1).split(";").map(Number)) {
      if (code === 0) state.colour = state.bold = "";
      else if (code === 1) state.bold = "b";
      else if ((code >= 31 && code <= 36) || (code >= 91 && code <= 96)) state.colour = "c" + code % 10;
      else if (code === 39) state.colour = "";
    }
  }
  return parts;
}

/** A list of any length of which only what is seen exists; `more` is called near its end. */
export function lazy(render, more, label) {
  const rows = [], shown = new Map(), space = make("div"), box = make("div", { class: "list", tabindex: 0, role: "region", "aria-label": label }, space);
  const draw = () => {
    const from = Math.max(0, Math.floor(box.scrollTop / 28) - 10), until = Math.min(rows.length, from + Math.ceil(box.clientHeight / 28) + 20);
    space.style.paddingTop = from * 28 + "px";
    space.style.height = rows.length * 28 + "px";
    // What stays is not touched: one of them may have the focus.
    const wanted = new Set(rows.slice(from, until));
    for (const [row, line] of shown) if (!wanted.has(row)) { line.remove(); shown.delete(row); }
    let next = space.firstChild;
    for (const row of wanted) {
      if (shown.has(row)) next = shown.get(row).nextSibling;
      else { shown.set(row, render(row)); space.insertBefore(shown.get(row), next); }
    }
    if (until + 50 > rows.length) more?.();
  };
  box.addEventListener("scroll", draw);
  return { box, add: (new_) => { for (const row of new_) rows.push(row); draw(); }, clear: () => { rows.length = 0; draw(); } };
}
