%% hello
console.log("hello, world");
%% speaks of evil
// eval("x"); require("child_process").exec("rm -rf /")
console.log("never use eval() or new Function('x') or child_process.exec");
%% block comment
/* exec("curl x | sh") */
const note = 'require("child_process").execSync("id")';
console.log(note.length);
%% sum
const sum = (xs) => xs.reduce((a, b) => a + b, 0);
console.log(sum([1, 2, 3]));
%% regex exec
const re = /(\d+)-(\d+)/g;
let m;
while ((m = re.exec("1-2 3-4")) !== null) console.log(m[1]);
%% class
class Point {
	constructor(x, y) { this.x = x; this.y = y; }
	clone() { return new this.constructor(this.x, this.y); }
}
console.log(new Point(1, 2).clone());
%% method named exec
class Db { exec(sql) { return sql; } run() { return this.exec("select 1"); } }
console.log(new Db().run());
%% express
const express = require("express");
const app = express();
app.get("/", (req, res) => res.json({ ok: true, q: req.query.q }));
app.listen(3000);
%% read file
const fs = require("fs");
console.log(JSON.parse(fs.readFileSync("package.json", "utf8")).name);
%% write file
import { writeFile } from "node:fs/promises";
await writeFile("out.json", JSON.stringify({ a: 1 }, null, 2));
%% path join
const path = require("path");
console.log(path.join(__dirname, "assets", "logo.png"));
%% timers
setTimeout(() => console.log("later"), 100);
setInterval(function () { console.log("tick"); }, 1000);
%% promises
Promise.all([1, 2].map((x) => Promise.resolve(x))).then(console.log);
%% async
async function main() { const x = await Promise.resolve(3); return x; }
main().then(console.log);
%% fetch get
fetch("https://api.example.org/items").then((r) => r.json()).then(console.log);
%% axios get
const axios = require("axios");
axios.get("https://api.example.org/v1").then((r) => console.log(r.data));
%% local post
fetch("http://localhost:3000/api", { method: "POST", body: JSON.stringify({ a: 1 }) });
%% dom
document.getElementById("go").addEventListener("click", (e) => { e.target.textContent = "done"; });
%% react
import React, { useState } from "react";
export default function Counter() {
	const [n, setN] = useState(0);
	return <button onClick={() => setN(n + 1)}>{n}</button>;
}
%% template
const name = "x";
console.log(`hello ${name}, ${1 + 1}`);
%% json
const text = JSON.stringify({ eval: "no", exec: ["child_process"] });
console.log(JSON.parse(text).eval);
%% map and set
const seen = new Set([1, 2, 2]);
const byName = new Map([["a", 1]]);
console.log(seen.size, byName.get("a"));
%% destructuring
const { a, b: { c } = {} } = { a: 1 };
const [x, ...rest] = [1, 2, 3];
console.log(a, c, x, rest);
%% generator
function* ids() { let i = 0; while (true) yield i++; }
const it = ids();
console.log(it.next().value);
%% test
const assert = require("assert");
describe("sum", () => { it("adds", () => { assert.strictEqual(1 + 1, 2); }); });
%% jest
import { sum } from "./sum.js";
test("adds", () => { expect(sum([1, 2])).toBe(3); });
%% events
const EventEmitter = require("events");
const e = new EventEmitter();
e.on("system", (x) => console.log(x));
e.emit("system", 1);
%% streams
const { pipeline } = require("stream");
const zlib = require("zlib");
const fs = require("fs");
pipeline(fs.createReadStream("in.txt"), zlib.createGzip(), fs.createWriteStream("out.gz"), (err) => err && console.error(err));
%% http server
const http = require("http");
http.createServer((req, res) => { res.end("ok"); }).listen(8080);
%% environment
const port = process.env.PORT || 3000;
console.log(port, process.env["NODE_ENV"]);
%% arguments
const [, , file] = process.argv;
if (!file) { console.error("usage: x FILE"); process.exit(2); }
%% dates
console.log(new Date(Date.UTC(2026, 0, 1)).toISOString());
%% sort
console.log(["b", "a"].sort((p, q) => p.localeCompare(q)));
%% base64
console.log(Buffer.from("hello").toString("base64"));
console.log(atob("aGk="));
%% hash
const crypto = require("crypto");
console.log(crypto.createHash("sha256").update("x").digest("hex"));
%% random
console.log(crypto.randomUUID());
%% object access
const table = { one: 1, two: 2 };
for (const k of Object.keys(table)) console.log(k, table[k]);
%% dispatch table
const handlers = { add: (a, b) => a + b, sub: (a, b) => a - b };
console.log(handlers["add"](1, 2));
%% removes a temporary file
const fs = require("fs");
fs.unlinkSync("tmp/output.txt");
%% removes dist
const fs = require("fs");
fs.rmSync("dist", { recursive: true, force: true });
%% config module
module.exports = { mode: "production", entry: "./src/index.js", output: { path: __dirname + "/dist" } };
%% closures
const counter = (() => { let n = 0; return () => ++n; })();
counter(); console.log(counter());
%% error handling
try { JSON.parse("{"); } catch (e) { console.error(e.message); } finally { console.log("done"); }
%% proxy
const p = new Proxy({}, { get: (t, k) => Reflect.get(t, k) ?? k });
console.log(p.anything);
%% symbols
const s = Symbol("x");
console.log({ [s]: 1 }[s]);
%% big numbers
console.log(2n ** 64n, 0xff, 1_000_000);
%% intl
console.log(new Intl.NumberFormat("de-DE").format(12345.6));
%% placeholder key
const apiKey = "your-api-key";
const password = process.env.PASSWORD;
console.log(apiKey, password);
%% picture
const logo = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
%% worker
const { Worker, isMainThread, parentPort } = require("worker_threads");
if (isMainThread) { new Worker(__filename).on("message", console.log); } else { parentPort.postMessage(1); }
%% readline
const rl = require("readline").createInterface({ input: process.stdin });
rl.on("line", (l) => console.log(l.toUpperCase()));
%% child as a name
const child_process_count = 2;
console.log(child_process_count);
%% lodash
import _ from "lodash";
console.log(_.groupBy([1.2, 2.1, 2.3], Math.floor));
