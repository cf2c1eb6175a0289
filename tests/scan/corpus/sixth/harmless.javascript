%% express app
const express = require("express");
const app = express();
app.use(express.json());

const users = new Map();
let next = 1;

app.get("/users", (req, res) => res.json([...users.values()]));
app.post("/users", (req, res) => {
  const { name } = req.body;
  if (!name) return res.status(400).json({ error: "name is missing" });
  const user = { id: next++, name };
  users.set(user.id, user);
  res.status(201).json(user);
});
app.delete("/users/:id", (req, res) => {
  res.sendStatus(users.delete(Number(req.params.id)) ? 204 : 404);
});

module.exports = app;
%% jest tests
const { add, parse } = require("../src/math");

describe("math", () => {
  beforeEach(() => jest.resetAllMocks());
  test.each([[1, 2, 3], [0, 0, 0]])("adds %i and %i", (a, b, want) => {
    expect(add(a, b)).toBe(want);
  });
  it("throws on nonsense", () => {
    expect(() => parse("x")).toThrow(/not a number/);
  });
});
%% handlers by name
const handlers = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
};
function run(line) {
  const [name, ...args] = line.split(" ");
  const fn = handlers[name];
  if (!fn) throw new Error("unknown " + name);
  return fn(...args.map(Number));
}
console.log(run("add 1 2"));
%% event emitter
class Emitter {
  constructor() { this.listeners = {}; }
  on(name, fn) { (this.listeners[name] ||= []).push(fn); return this; }
  emit(name, ...args) {
    for (const fn of this.listeners[name] || []) fn.apply(this, args);
  }
}
new Emitter().on("x", (v) => console.log(v)).emit("x", 3);
%% webpack config
const path = require("path");
const HtmlWebpackPlugin = require("html-webpack-plugin");

module.exports = (env) => ({
  mode: env.production ? "production" : "development",
  entry: "./src/index.js",
  output: { path: path.resolve(__dirname, "dist"), filename: "[name].[contenthash].js", clean: true },
  module: { rules: [{ test: /\.css$/, use: ["style-loader", "css-loader"] }] },
  plugins: [new HtmlWebpackPlugin({ template: "index.html" })],
});
%% eslint flat config
import js from "@eslint/js";
export default [js.configs.recommended, { rules: { "no-eval": "error", "no-new-func": "error" } }];
%% react component
import { useEffect, useState } from "react";

export function Clock({ tick = 1000 }) {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    const id = setInterval(() => setNow(new Date()), tick);
    return () => clearInterval(id);
  }, [tick]);
  return now.toLocaleTimeString();
}
%% promise helpers
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
async function retry(fn, times = 3) {
  for (let i = 0; ; i++) {
    try {
      return await fn();
    } catch (e) {
      if (i + 1 >= times) throw e;
      await sleep(2 ** i * 10);
    }
  }
}
retry(async () => 7).then(console.log);
%% dynamic property copy
function pick(obj, ...keys) {
  const out = {};
  for (const k of keys) if (Object.prototype.hasOwnProperty.call(obj, k)) out[k] = obj[k];
  return out;
}
const merge = (a, b) => Object.keys(b).reduce((o, k) => ({ ...o, [k]: b[k] }), a);
console.log(pick({ a: 1, b: 2 }, "a"), merge({ a: 1 }, { b: 2 }));
%% template engine
function render(template, data) {
  return template.replace(/\{\{\s*(\w+)\s*\}\}/g, (_, name) => String(data[name] ?? ""));
}
console.log(render("Hello {{ who }}!", { who: "world" }));
%% base64 and hex
const text = Buffer.from("aGVsbG8gd29ybGQ=", "base64").toString("utf8");
console.log(text, Buffer.from(text).toString("hex"), btoa("x"), atob("eA=="));
%% caesar
const rot = (s, n) => s.replace(/[a-z]/g, (c) => String.fromCharCode(((c.charCodeAt(0) - 97 + n) % 26) + 97));
console.log(rot("hello", 13), [..."abc"].reverse().join(""));
%% fs reader
const fs = require("node:fs/promises");
const path = require("node:path");
async function* walk(dir) {
  for (const entry of await fs.readdir(dir, { withFileTypes: true })) {
    const p = path.join(dir, entry.name);
    if (entry.isDirectory()) yield* walk(p);
    else yield p;
  }
}
(async () => { for await (const f of walk("src")) console.log(f); })();
%% class with private state
class Counter {
  #n = 0;
  static from(n) { const c = new this(); c.#n = n; return c; }
  get value() { return this.#n; }
  inc() { this.#n++; return this; }
}
console.log(Counter.from(3).inc().value, new Counter().constructor.name);
%% command line tool
#!/usr/bin/env node
const { parseArgs } = require("node:util");
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { upper: { type: "boolean", short: "u" }, times: { type: "string", default: "1" } },
});
let out = positionals.join(" ");
if (values.upper) out = out.toUpperCase();
for (let i = 0; i < Number(values.times); i++) process.stdout.write(out + "\n");
process.exitCode = positionals.length ? 0 : 1;
%% middleware composition
const compose = (...fns) => (ctx) => {
  const step = (i) => (i < fns.length ? Promise.resolve(fns[i](ctx, () => step(i + 1))) : Promise.resolve());
  return step(0);
};
compose(async (c, next) => { c.n = 1; await next(); }, async (c) => { c.n++; })({}).then(() => console.log("done"));
%% canvas drawing
const canvas = document.querySelector("#c");
const ctx = canvas.getContext("2d");
canvas.addEventListener("click", (e) => {
  ctx.fillStyle = `hsl(${(e.offsetX * 7) % 360} 80% 50%)`;
  ctx.fillRect(e.offsetX, e.offsetY, 5, 5);
});
window["scrollTo"](0, 0);
%% worker pool
const { Worker, isMainThread, parentPort, workerData } = require("worker_threads");
if (isMainThread) {
  const w = new Worker(__filename, { workerData: 20 });
  w.on("message", (v) => console.log("fib", v));
} else {
  const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2));
  parentPort.postMessage(fib(workerData));
}
%% regexp exec loop
const re = /(\w+)=(\d+)/g;
let m;
while ((m = re.exec("a=1 b=2")) !== null) console.log(m[1], m[2]);
%% redux like reducer
const reducers = { inc: (s) => s + 1, set: (_, a) => a.value };
const reduce = (state = 0, action) => (reducers[action.type] ?? ((s) => s))(state, action);
console.log([{ type: "inc" }, { type: "set", value: 9 }].reduce(reduce, 0));
