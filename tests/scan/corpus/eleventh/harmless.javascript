%% package version read
const fs = require('fs');
const { version } = JSON.parse(fs.readFileSync('package.json', 'utf8'));
console.log(version);
%% build folder emptied
import { rm, mkdir } from 'node:fs/promises';
await rm('dist', { recursive: true, force: true });
await mkdir('dist', { recursive: true });
%% assets copied
const fs = require('fs');
const path = require('path');
for (const f of fs.readdirSync('src/assets')) {
  fs.copyFileSync(path.join('src/assets', f), path.join('dist/assets', f));
}
%% temporary folder made and removed
const { mkdtempSync, rmSync } = require('fs');
const { tmpdir } = require('os');
const { join } = require('path');
const dir = mkdtempSync(join(tmpdir(), 'build-'));
try {
  console.log(dir);
} finally {
  rmSync(dir, { recursive: true });
}
%% lines of a file counted
import { createReadStream } from 'fs';
import readline from 'readline';
let n = 0;
for await (const _ of readline.createInterface({ input: createReadStream('data.csv') })) n++;
console.log(n);
%% markdown turned to pages
const fs = require('fs');
const path = require('path');
const marked = require('marked');
fs.readdirSync('docs').filter((f) => f.endsWith('.md')).forEach((f) => {
  const html = marked.parse(fs.readFileSync(path.join('docs', f), 'utf8'));
  fs.writeFileSync(path.join('site', f.replace(/\.md$/, '.html')), html);
});
%% checksum of a file
const crypto = require('crypto');
const fs = require('fs');
const h = crypto.createHash('sha256');
fs.createReadStream('release.tgz').on('data', (d) => h.update(d)).on('end', () => console.log(h.digest('hex')));
%% json fetched and shown
const r = await fetch('https://api.github.com/repos/nodejs/node/releases/latest');
const { tag_name } = await r.json();
console.log(tag_name);
%% small server
const http = require('http');
http.createServer((req, res) => {
  res.setHeader('content-type', 'text/plain');
  res.end('hello');
}).listen(process.env.PORT || 3000);
%% express routes
const express = require('express');
const app = express();
app.use(express.json());
app.get('/users/:id', (req, res) => res.json({ id: req.params.id }));
app.delete('/users/:id', async (req, res) => {
  await db.users.delete(req.params.id);
  res.sendStatus(204);
});
app.listen(8080);
%% least recently used cache
class Lru {
  constructor(max) { this.max = max; this.map = new Map(); }
  get(k) {
    if (!this.map.has(k)) return undefined;
    const v = this.map.get(k);
    this.map.delete(k);
    this.map.set(k, v);
    return v;
  }
  set(k, v) {
    this.map.delete(k);
    this.map.set(k, v);
    if (this.map.size > this.max) this.map.delete(this.map.keys().next().value);
  }
}
%% regular expression executed
const re = /(\d{4})-(\d\d)-(\d\d)/g;
let m;
while ((m = re.exec(text)) !== null) console.log(m[1]);
%% a word about eval in a text
// never call eval() or child_process.exec with what a user typed
const help = 'use "rm -rf /" at your own risk; eval("1") is forbidden';
console.log(help);
%% react component
import React, { useState, useEffect } from 'react';
export function Clock() {
  const [now, setNow] = useState(new Date());
  useEffect(() => {
    const t = setInterval(() => setNow(new Date()), 1000);
    return () => clearInterval(t);
  }, []);
  return React.createElement('time', null, now.toISOString());
}
%% form posted
document.querySelector('form').addEventListener('submit', async (e) => {
  e.preventDefault();
  await fetch('/api/comments', { method: 'POST', body: new FormData(e.target) });
});
%% picture as base64
const fs = require('fs');
const data = fs.readFileSync('logo.png').toString('base64');
fs.writeFileSync('logo.css', `.logo { background: url(data:image/png;base64,${data}) }`);
%% settings from the environment
const config = {
  host: process.env.DB_HOST ?? 'localhost',
  port: Number(process.env.DB_PORT ?? 5432),
  debug: process.env.NODE_ENV !== 'production',
};
module.exports = config;
%% settings file under the home folder read
const fs = require('fs');
const path = require('path');
const os = require('os');
const file = path.join(os.homedir(), '.config', 'mytool', 'config.json');
const config = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : {};
console.log(config.theme);
%% log appended
const { appendFile } = require('fs/promises');
async function log(line) {
  await appendFile('logs/app.log', `${new Date().toISOString()} ${line}\n`);
}
log('started');
%% watcher
const fs = require('fs');
fs.watch('src', { recursive: true }, (kind, name) => console.log(kind, name));
%% largest files found
const fs = require('fs');
const path = require('path');
function* files(d) {
  for (const e of fs.readdirSync(d, { withFileTypes: true })) {
    if (e.name === 'node_modules') continue;
    const p = path.join(d, e.name);
    if (e.isDirectory()) yield* files(p);
    else yield [p, fs.statSync(p).size];
  }
}
console.log([...files('.')].sort((a, b) => b[1] - a[1]).slice(0, 10));
%% test with fixtures
import test from 'node:test';
import assert from 'node:assert/strict';
import { writeFileSync, unlinkSync } from 'node:fs';
test('reads back', () => {
  writeFileSync('tmp.json', '{"a":1}');
  assert.equal(load('tmp.json').a, 1);
  unlinkSync('tmp.json');
});
%% codes to letters
const caesar = (s, k) => s.replace(/[a-z]/g, (c) => String.fromCharCode((c.charCodeAt(0) - 97 + k) % 26 + 97));
console.log(caesar('hello', 3));
%% palindromes
const isPalindrome = (s) => s === s.split('').reverse().join('');
console.log(['level', 'noon', 'word'].filter(isPalindrome));
%% queue with concurrency
async function pool(tasks, n) {
  const out = [];
  let i = 0;
  const worker = async () => {
    while (i < tasks.length) {
      const k = i++;
      out[k] = await tasks[k]();
    }
  };
  await Promise.all(Array.from({ length: n }, worker));
  return out;
}
%% argument parser
const { parseArgs } = require('node:util');
const { values } = parseArgs({ options: { out: { type: 'string' }, force: { type: 'boolean' } } });
require('fs').writeFileSync(values.out, 'ok');
%% renaming photographs
const fs = require('fs');
const path = require('path');
fs.readdirSync('photos').forEach((n, i) => {
  fs.renameSync(path.join('photos', n), path.join('photos', `holiday-${String(i).padStart(3, '0')}${path.extname(n)}`));
});
%% old logs removed
const fs = require('fs');
const path = require('path');
const week = 7 * 24 * 3600 * 1000;
for (const n of fs.readdirSync('logs')) {
  const f = path.join('logs', n);
  if (Date.now() - fs.statSync(f).mtimeMs > week) fs.unlinkSync(f);
}
%% gzip of a file
const { createGzip } = require('zlib');
const { pipeline } = require('stream/promises');
const fs = require('fs');
pipeline(fs.createReadStream('a.txt'), createGzip(), fs.createWriteStream('a.txt.gz')).then(() => console.log('done'));
%% password hashed
const { scryptSync, randomBytes, timingSafeEqual } = require('crypto');
function hash(pw) {
  const salt = randomBytes(16);
  return salt.toString('hex') + ':' + scryptSync(pw, salt, 64).toString('hex');
}
%% git revision into a file
const fs = require('fs');
const head = fs.readFileSync('.git/HEAD', 'utf8').trim();
const rev = head.startsWith('ref: ') ? fs.readFileSync('.git/' + head.slice(5), 'utf8').trim() : head;
fs.writeFileSync('src/version.js', `export const rev = '${rev}';\n`);
%% spell check over a word list
const fs = require('fs');
const words = new Set(fs.readFileSync('/usr/share/dict/words', 'utf8').split('\n'));
console.log(process.argv.slice(2).filter((w) => !words.has(w)));
%% os release shown
const fs = require('fs');
const info = Object.fromEntries(fs.readFileSync('/etc/os-release', 'utf8').trim().split('\n').map((l) => l.split('=')));
console.log(info.NAME);
%% memory shown
const fs = require('fs');
const line = fs.readFileSync('/proc/meminfo', 'utf8').split('\n')[0];
console.log(line, process.memoryUsage().rss);
%% sorting table
const rows = [{ n: 'b', v: 2 }, { n: 'a', v: 1 }];
const by = (key) => (x, y) => (x[key] > y[key] ? 1 : -1);
console.table(rows.sort(by('n')));
%% event emitter with bind
const EventEmitter = require('events');
class Job extends EventEmitter {
  start() { setTimeout(this.emit.bind(this, 'done', 42), 10); }
}
new Job().on('done', console.log).start();
%% reflect in a proxy
const seen = [];
const p = new Proxy({ a: 1 }, { get(t, k, r) { seen.push(k); return Reflect.get(t, k, r); } });
console.log(p.a, seen);
%% lodash template of methods
const ops = { add: (a, b) => a + b, sub: (a, b) => a - b };
const name = process.argv[2] ?? 'add';
console.log(ops[name](4, 2));
%% download into the project
import { createWriteStream } from 'fs';
import { Readable } from 'stream';
const res = await fetch('https://example.com/data.json');
Readable.fromWeb(res.body).pipe(createWriteStream('data/data.json'));
%% cache folder of a tool
const { join } = require('path');
const { mkdirSync, writeFileSync } = require('fs');
const cache = join(require('os').homedir(), '.cache', 'mytool');
mkdirSync(cache, { recursive: true });
writeFileSync(join(cache, 'last-run'), String(Date.now()));
%% worker from a file
const { Worker } = require('worker_threads');
const w = new Worker('./sum-worker.js', { workerData: [1, 2, 3] });
w.on('message', (m) => console.log(m));
%% csv to json
const fs = require('fs');
const [head, ...rows] = fs.readFileSync(process.argv[2], 'utf8').trim().split('\n').map((l) => l.split(','));
fs.writeFileSync('out.json', JSON.stringify(rows.map((r) => Object.fromEntries(r.map((c, i) => [head[i], c])))));
%% graph walk
function topo(g) {
  const done = new Set(), out = [];
  const visit = (n) => {
    if (done.has(n)) return;
    done.add(n);
    (g[n] || []).forEach(visit);
    out.push(n);
  };
  Object.keys(g).forEach(visit);
  return out.reverse();
}
%% own children stopped on exit
const timers = [];
process.on('SIGINT', () => {
  timers.forEach(clearInterval);
  process.exit(0);
});
%% deno reads a file
const text = await Deno.readTextFile('./notes.txt');
console.log(text.length);
%% symbolic link to the newest build
const fs = require('fs');
try { fs.unlinkSync('builds/latest'); } catch {}
fs.symlinkSync(`build-${Date.now()}`, 'builds/latest');
