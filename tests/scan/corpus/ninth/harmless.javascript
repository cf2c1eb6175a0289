%% computed members
const key = "name";
const o = { [key]: 1, [`${key}2`]: 2 };
console.log(o[key], o[`${key}2`]);
%% Reflect on own object
const o = { a: 1 };
console.log(Reflect.get(o, "a"), Reflect.ownKeys(o));
%% proxy with default
const p = new Proxy({}, { get: (t, k) => (k in t ? t[k] : 0) });
console.log(p.x);
%% destructuring defaults
function f({ a = 1, b = 2 } = {}) { return a + b; }
console.log(f());
%% small server
const http = require("http");
const server = http.createServer((req, res) => {
  if (req.url === "/health") { res.end("ok"); return; }
  res.statusCode = 404;
  res.end();
});
server.listen(8080);
%% express app
const express = require("express");
const app = express();
app.use(express.json());
app.get("/users/:id", (req, res) => res.json({ id: req.params.id }));
app.listen(3000, () => console.log("ready"));
%% promises
Promise.all([1, 2, 3].map(async x => x * 2)).then(console.log);
%% reading a config
const fs = require("fs");
const path = require("path");
const config = JSON.parse(fs.readFileSync(path.join(__dirname, "config.json"), "utf8"));
console.log(config.name);
%% dynamic import of own module
import("./plugin.js").then(m => m.default());
%% char codes
const s = String.fromCharCode(72, 105);
console.log(s, [..."abc"].map(c => c.charCodeAt(0)));
%% reverse a text
console.log("hello".split("").reverse().join(""));
%% base64
console.log(Buffer.from("hello").toString("base64"), atob("aGVsbG8="));
%% map of handlers
const handlers = new Map([["add", (a, b) => a + b]]);
console.log(handlers.get("add")(1, 2));
%% event emitter
const { EventEmitter } = require("events");
const e = new EventEmitter();
e.on("x", v => console.log(v));
e.emit("x", 1);
%% class with static
class Counter {
  static #count = 0;
  static next() { return ++Counter.#count; }
}
console.log(Counter.next());
%% generators
function* range(n) { for (let i = 0; i < n; i++) yield i; }
console.log([...range(3)]);
%% reduce
console.log([1, 2, 3].reduce((a, b) => a + b, 0));
%% timers
const t = setTimeout(() => console.log("late"), 10);
clearTimeout(t);
%% regular expression exec
const m = /(\d+)/.exec("a1");
console.log(m[1]);
%% test file
const assert = require("assert");
const { test } = require("node:test");
test("adds", () => assert.strictEqual(1 + 1, 2));
%% package script
const pkg = require("./package.json");
const [major, minor] = pkg.version.split(".").map(Number);
console.log(major, minor + 1);
%% webpack config
const path = require("path");
module.exports = {
  entry: "./src/index.js",
  output: { path: path.resolve(__dirname, "dist"), filename: "[name].js" },
  module: { rules: [{ test: /\.jsx?$/, use: "babel-loader", exclude: /node_modules/ }] },
};
%% clean dist
const fs = require("fs");
fs.rmSync("dist", { recursive: true, force: true });
fs.mkdirSync("dist");
%% streams
const fs = require("fs");
const zlib = require("zlib");
fs.createReadStream("a.txt").pipe(zlib.createGzip()).pipe(fs.createWriteStream("a.txt.gz"));
%% word in text
console.log("child_process.exec('rm -rf /') is dangerous");
%% getters
const o = { get x() { return 1; } };
Object.defineProperty(o, "y", { get: () => 2 });
console.log(o.x + o.y);
%% tagged template
const html = (s, ...v) => s.reduce((a, t, i) => a + t + (v[i] ?? ""), "");
console.log(html`<p>${1}</p>`);
%% react component
const React = require("react");
function List({ items = [] }) {
  return React.createElement("ul", null, items.map(i => React.createElement("li", { key: i }, i)));
}
module.exports = List;
%% call and apply on own function
function hello(name) { return this.greeting + name; }
console.log(hello.call({ greeting: "hi " }, "x"), hello.apply({ greeting: "yo " }, ["y"]));
%% command line arguments
const [, , name = "world"] = process.argv;
process.stdout.write(`hello ${name}\n`);
%% sorting with a collator
const c = new Intl.Collator("de");
console.log(["ö", "o"].sort(c.compare));
%% worker from a file
const { Worker, isMainThread } = require("worker_threads");
if (isMainThread) new Worker("./worker.js");
%% memoize
const memo = f => { const m = {}; return x => m[x] ?? (m[x] = f(x)); };
console.log(memo(x => x * x)(4));
%% query string
const u = new URL("https://example.com/?a=1");
console.log(u.searchParams.get("a"), decodeURIComponent("%41"));
