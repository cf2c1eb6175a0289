%% removes dist
const fs = require('fs');
fs.rmSync('dist', { recursive: true, force: true });
%% rimraf dist
const rimraf = require('rimraf');
rimraf.sync('dist');
%% writes file
const fs = require('fs');
fs.writeFileSync('out.json', JSON.stringify({ a: 1 }, null, 2));
%% reads file
import { readFile } from 'node:fs/promises';
console.log(await readFile('README.md', 'utf8'));
%% git revision
const { execSync } = require('child_process');
const rev = execSync('git rev-parse HEAD').toString().trim();
console.log(rev);
%% spawn tsc
const { spawn } = require('child_process');
spawn('npx', ['tsc', '--noEmit'], { stdio: 'inherit' });
%% express
const express = require('express');
const app = express();
app.get('/', (req, res) => res.send('hi'));
app.listen(3000);
%% delete route
app.delete('/items/:id', async (req, res) => {
  await Item.findByIdAndDelete(req.params.id);
  res.sendStatus(204);
});
%% map delete
const m = new Map([['a', 1]]);
m.delete('a');
m.clear();
%% object delete
const o = { a: 1 };
delete o.a;
%% dom remove
document.querySelector('#old').remove();
%% fetch
const r = await fetch('https://api.example.org/items');
console.log(await r.json());
%% regexp exec
const m = /(\d+)-(\d+)/.exec('10-20');
console.log(m[1]);
%% mongoose query
const users = await User.find({ active: true }).exec();
%% react
import React, { useState } from 'react';
export function Counter() {
  const [n, setN] = useState(0);
  return <button onClick={() => setN(n + 1)}>{n}</button>;
}
%% timer
setTimeout(() => console.log('done'), 100);
%% promise
const sleep = ms => new Promise(r => setTimeout(r, ms));
await sleep(10);
%% class
class Stack {
  #items = [];
  push(x) { this.#items.push(x); }
  pop() { return this.#items.pop(); }
}
%% streams
const { pipeline } = require('stream/promises');
const fs = require('fs'), zlib = require('zlib');
await pipeline(fs.createReadStream('a.txt'), zlib.createGzip(), fs.createWriteStream('a.txt.gz'));
%% path
const path = require('path');
console.log(path.join(__dirname, 'views'));
%% test
test('adds', () => {
  expect(1 + 1).toBe(2);
});
%% yaml
const yaml = require('js-yaml');
console.log(yaml.load(require('fs').readFileSync('c.yml', 'utf8')));
%% webpack
module.exports = { entry: './src/index.js', output: { path: __dirname + '/dist', clean: true } };
%% events
const { EventEmitter } = require('events');
const e = new EventEmitter();
e.on('x', () => console.log('x'));
e.emit('x');
%% worker file
const { Worker } = require('worker_threads');
new Worker('./worker.js', { workerData: { n: 10 } });
%% crypto
const crypto = require('crypto');
console.log(crypto.createHash('sha256').update('a').digest('hex'));
%% mkdir
require('fs').mkdirSync('build/assets', { recursive: true });
%% copy
require('fs').cpSync('static', 'build/static', { recursive: true });
%% glob
import { glob } from 'glob';
for (const f of await glob('src/**/*.ts')) console.log(f);
%% readline
const rl = require('readline').createInterface({ input: process.stdin });
rl.on('line', l => console.log(l.toUpperCase()));
%% pg select
const { rows } = await client.query('SELECT * FROM users WHERE id = $1', [id]);
%% deno read
const text = await Deno.readTextFile('deno.json');
console.log(text);
%% unlink temp
import { unlink } from 'fs/promises';
await unlink('tmp/upload-123.png');
%% shelljs
const shell = require('shelljs');
shell.mkdir('-p', 'out');
shell.cp('-R', 'src/*', 'out/');
%% zx
import { $ } from 'zx';
await $`npm run build`;
%% docs
// never run rm -rf / from here
console.log('rm -rf is dangerous');
