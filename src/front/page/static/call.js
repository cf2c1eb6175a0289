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

/** Calls a verb and gives each line to `take` as it comes; its exit status. */
export async function stream(verb, words, flags, take, signal) {
  const answer = await fetch("/api/" + verb, { method: "POST", signal, body: JSON.stringify({ words, flags }),
    headers: { "Content-Type": "application/json", Authorization: "Bearer " + bearer } });
  if (answer.status === 401) throw new Error("This page is closed. Open it again with: aisbx ui");
  if (!answer.ok) throw new Error((await answer.json()).error.message);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", exit = null;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return exit;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const row = JSON.parse(line);
      if (row.end) exit = row.end.exit;
      else if (row.ok === false && row.error) throw new Error(row.error.message + (row.error.hint ? "\n" + row.error.hint : ""));
      else take(row);
    }
  }
}

export async function call(verb, words = [], flags = {}, signal = undefined) {
  const rows = [];
  await stream(verb, words, flags, (row) => rows.push(row), signal);
  return rows;
}

/** An element with properties, listeners (on...) and children; texts stay texts. */
export function make(name, props = {}, ...children) {
  const svg = ["svg", "polyline", "circle", "title"].includes(name);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(props)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined).map((child) => child instanceof Node ? child : String(child)));
  return made;
}

export const note = (text) => { document.getElementById("note").textContent = text; };
/** A button; what its work cannot do is said. */
export const button = (text, work) => make("button", { type: "button", onclick: async (event) => {
  event.target.disabled = true;
  try { note(""); await work(); } catch (error) { note(error.message); }
  event.target.disabled = false;
} }, text);

export const bytes = (n) => n === null || n === undefined ? "" : n < 1024 ? n + " B" : n < 1 << 20 ? (n / 1024).toFixed(0) + " KiB" : (n / 1048576).toFixed(1) + " MiB";

export function table(titles, rows) {
  return make("div", { class: "scroll" }, make("table", {}, make("thead", {}, make("tr", {}, ...titles.map((title) => make("th", { scope: "col" }, title)))),
    make("tbody", {}, ...rows.map((cells) => make("tr", {}, ...cells.map((cell) => make("td", {}, cell)))))));
}

/** A small plot of numbers. */
export function spark(values, label) {
  const most = Math.max(1, ...values);
  return make("svg", { width: 80, height: 18, viewBox: "0 0 80 18", role: "img", "aria-label": label },
    make("polyline", { class: "plot", points: values.map((value, at) => `${at * 80 / 59},${17 - 16 * value / most}`).join(" ") }));
}

/** Text with the colours of a terminal, as spans; every other escape is dropped. */
export function coloured(text, state) {
  const parts = document.createDocumentFragment();
  // eslint-disable-next-line no-control-regex
  for (const [, escape, , plain] of text.matchAll(/(\x1b\[([0-9;?]*)[ -/]*[@-~]|\x1b[^[]|\x1b)|([^\x1b]+)/g)) {
    if (plain) parts.append(make("span", { class: [state.colour, state.bold].filter(Boolean).join(" ") }, plain));
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
  const rows = [], space = make("div"), box = make("div", { class: "list", tabindex: 0, role: "region", "aria-label": label }, space);
  const draw = () => {
    const from = Math.max(0, Math.floor(box.scrollTop / 28) - 10), until = Math.min(rows.length, from + Math.ceil(box.clientHeight / 28) + 20);
    space.style.paddingTop = from * 28 + "px";
    space.style.height = rows.length * 28 + "px";
    space.replaceChildren(...rows.slice(from, until).map(render));
    if (until + 50 > rows.length) more?.();
  };
  box.addEventListener("scroll", draw);
  return { box, add: (new_) => { rows.push(...new_); draw(); }, clear: () => { rows.length = 0; draw(); } };
}
