%% recursive copy with a filter
import { cp } from 'node:fs/promises';
await cp('template', 'out', { recursive: true, filter: (s) => !s.includes('node_modules') });
%% environment shown by name
for (const k of ['NODE_ENV', 'CI', 'PORT']) console.log(k, process.env[k] ?? '(unset)');
%% settings written back
const fs = require('fs');
const cfg = JSON.parse(fs.readFileSync('config.json', 'utf8'));
cfg.updated = new Date().toISOString();
fs.writeFileSync('config.json', JSON.stringify(cfg, null, 2));
%% version bump
const fs = require('fs');
const p = JSON.parse(fs.readFileSync('package.json', 'utf8'));
const [a, b, c] = p.version.split('.').map(Number);
p.version = [a, b, c + 1].join('.');
fs.writeFileSync('package.json', JSON.stringify(p, null, 2) + '\n');
%% wasm from a file
const fs = require('fs');
const { instance } = await WebAssembly.instantiate(fs.readFileSync('add.wasm'));
console.log(instance.exports.add(1, 2));
%% command line question
const rl = require('readline').createInterface({ input: process.stdin, output: process.stdout });
rl.question('name? ', (n) => { console.log(`hello ${n}`); rl.close(); });
%% apply with a list
const nums = [3, 1, 2];
console.log(Math.max.apply(null, nums), Array.prototype.slice.call(nums, 1));
%% json to a local service
await fetch('http://localhost:3000/items', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ a: 1 }) });
%% query of an api of its own
const body = new URLSearchParams({ q: 'x' });
const res = await fetch('/search', { method: 'POST', body });
console.log(await res.json());
%% loop that reads until the end
const fs = require('fs');
const fd = fs.openSync('big.bin', 'r');
const buf = Buffer.alloc(65536);
for (;;) {
  const n = fs.readSync(fd, buf);
  if (n === 0) break;
  process.stdout.write(buf.subarray(0, n));
}
%% many folders made
const fs = require('fs');
for (const d of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l']) {
  fs.rmSync(`build/${d}`, { recursive: true, force: true });
  fs.mkdirSync(`build/${d}`, { recursive: true });
}
%% bitcoin price
const r = await fetch('https://api.coindesk.com/v1/bpi/currentprice.json');
console.log('the price of one bitcoin is', (await r.json()).bpi.USD.rate);
%% rename with a counter
const { readdirSync, renameSync } = require('fs');
readdirSync('img').forEach((f, i) => renameSync(`img/${f}`, `img/${i}.png`));
%% tool cache removed
const { rmSync } = require('fs');
rmSync(require('path').join(require('os').homedir(), '.cache', 'mytool'), { recursive: true, force: true });
