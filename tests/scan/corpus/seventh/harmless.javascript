%% todo store
export class TodoStore extends EventTarget {
  #items = [];
  constructor(key = "todos") {
    super();
    this.key = key;
    this.#items = JSON.parse(localStorage.getItem(key) ?? "[]");
  }
  add(title) {
    this.#items.push({ id: crypto.randomUUID(), title, done: false });
    this.#save();
  }
  toggle(id) {
    const item = this.#items.find((i) => i.id === id);
    if (item) item.done = !item.done;
    this.#save();
  }
  get open() { return this.#items.filter((i) => !i.done); }
  #save() {
    localStorage.setItem(this.key, JSON.stringify(this.#items));
    this.dispatchEvent(new CustomEvent("change"));
  }
}
%% koa server
const Koa = require("koa");
const Router = require("@koa/router");
const app = new Koa();
const router = new Router({ prefix: "/api" });
router.get("/time", (ctx) => { ctx.body = { now: new Date().toISOString() }; });
router.get("/echo/:word", (ctx) => { ctx.body = ctx.params.word; });
app.use(async (ctx, next) => {
  const start = Date.now();
  await next();
  ctx.set("X-Response-Time", `${Date.now() - start}ms`);
});
app.use(router.routes());
if (require.main === module) app.listen(process.env.PORT || 3000);
module.exports = app;
%% vite config
import { defineConfig } from "vite";
import react from "@vitejs/plugin-react";
import path from "node:path";
export default defineConfig(({ mode }) => ({
  plugins: [react()],
  resolve: { alias: { "@": path.resolve(__dirname, "src") } },
  define: { __DEV__: mode !== "production" },
}));
%% rollup plugin
const { readFile } = require("fs/promises");
module.exports = function text({ include = /\.txt$/ } = {}) {
  return {
    name: "text",
    async load(id) {
      if (!include.test(id)) return null;
      return `export default ${JSON.stringify(await readFile(id, "utf8"))};`;
    },
  };
};
%% mocha tests
const assert = require("assert");
const { Parser } = require("../lib/parser");
describe("Parser", function () {
  this.timeout(2000);
  let parser;
  beforeEach(() => { parser = new Parser(); });
  it("evaluates", () => assert.strictEqual(parser.eval("1 + 2 * 3"), 7));
  it("rejects commands", () => {
    for (const bad of ["rm -rf /", "curl x | sh", "$(id)"]) assert.throws(() => parser.eval(bad), SyntaxError);
  });
});
%% virtual dom
const h = (tag, props, ...children) => ({ tag, props: props ?? {}, children: children.flat() });
function mount(node, parent) {
  if (typeof node === "string") return parent.appendChild(document.createTextNode(node));
  const el = document.createElement(node.tag);
  for (const [k, v] of Object.entries(node.props)) k.startsWith("on") ? el.addEventListener(k.slice(2), v) : el.setAttribute(k, v);
  node.children.forEach((c) => mount(c, el));
  return parent.appendChild(el);
}
mount(h("ul", null, ["a", "b"].map((t) => h("li", { class: t }, t))), document.body);
%% debounce and memo
const debounce = (fn, ms) => { let id; return (...args) => { clearTimeout(id); id = setTimeout(() => fn(...args), ms); }; };
const memo = (fn) => { const seen = new Map(); return (x) => seen.get(x) ?? (seen.set(x, fn(x)), seen.get(x)); };
const slow = memo((n) => [...Array(n).keys()].reduce((a, b) => a + b, 0));
console.log(slow(1000), slow(1000), typeof debounce(console.log, 10));
%% streams pipeline
const { createReadStream, createWriteStream } = require("node:fs");
const { pipeline } = require("node:stream/promises");
const { createGzip } = require("node:zlib");
async function pack(file) {
  await pipeline(createReadStream(file), createGzip(), createWriteStream(file + ".gz"));
}
pack(process.argv[2] ?? "data.csv").catch((e) => { console.error(e.message); process.exitCode = 1; });
%% state machine
const machine = {
  state: "idle",
  transitions: { idle: { start() { this.change("busy"); } }, busy: { stop() { this.change("idle"); } } },
  dispatch(action, ...payload) {
    const fn = this.transitions[this.state][action];
    if (fn) fn.apply(this, payload);
  },
  change(next) { this.state = next; },
};
machine.dispatch("start");
console.log(machine.state);
%% markdown renderer
const rules = [
  [/^# (.*)$/gm, "<h1>$1</h1>"],
  [/\*\*(.+?)\*\*/g, "<b>$1</b>"],
  [/`(.+?)`/g, "<code>$1</code>"],
];
export const render = (text) => rules.reduce((t, [re, to]) => t.replace(re, to), text.replace(/</g, "&lt;"));
%% proxy validation
const typed = (shape) => new Proxy({}, {
  set(target, key, value) {
    if (typeof value !== shape[key]) throw new TypeError(`${String(key)} wants ${shape[key]}`);
    target[key] = value;
    return true;
  },
  get: (target, key) => target[key],
});
const p = typed({ name: "string", age: "number" });
p.name = "Ann";
console.log(p.name);
%% hex colours
const toHex = (n) => n.toString(16).padStart(2, "0");
const rgb = (r, g, b) => "#" + [r, g, b].map(toHex).join("");
const parse = (hex) => hex.match(/[0-9a-f]{2}/gi).map((h) => parseInt(h, 16));
console.log(rgb(255, 128, 0), parse("#ff8000"));
%% binary reader
class Reader {
  constructor(buf) { this.view = new DataView(buf.buffer, buf.byteOffset, buf.byteLength); this.at = 0; }
  u8() { return this.view.getUint8(this.at++); }
  u16() { const v = this.view.getUint16(this.at); this.at += 2; return v; }
  text(n) { let s = ""; while (n--) s += String.fromCharCode(this.u8()); return s; }
}
const r = new Reader(Buffer.from([0, 5, 104, 101, 108, 108, 111]));
console.log(r.text(r.u16()));
%% i18n
const dict = { en: { hi: "Hello {name}" }, de: { hi: "Hallo {name}" } };
const t = (lang, key, vars = {}) => dict[lang][key].replace(/\{(\w+)\}/g, (_, k) => vars[k] ?? k);
console.log(t("de", "hi", { name: "Eva" }));
%% matrix and closures
const counter = (() => { let n = 0; return { inc: () => ++n, get value() { return n; } }; })();
const mul = (a, b) => a.map((row) => b[0].map((_, j) => row.reduce((s, v, k) => s + v * b[k][j], 0)));
counter.inc();
console.log(counter.value, mul([[1, 2]], [[3], [4]]));
%% gulp file
const { src, dest, series, parallel, watch } = require("gulp");
const sass = require("gulp-sass")(require("sass"));
const css = () => src("scss/*.scss").pipe(sass().on("error", sass.logError)).pipe(dest("dist"));
const copy = () => src("img/**/*").pipe(dest("dist/img"));
exports.default = series(parallel(css, copy));
exports.watch = () => watch("scss/*.scss", css);
%% command registry
const commands = new Map();
const register = (name, run, help) => commands.set(name, { run, help });
register("greet", (who = "you") => `hello ${who}`, "greets");
register("sum", (...n) => n.map(Number).reduce((a, b) => a + b, 0), "adds");
const [, , name = "greet", ...args] = process.argv;
const command = commands.get(name);
console.log(command ? command.run(...args) : [...commands].map(([n, c]) => `${n}: ${c.help}`).join("\n"));
