%% comment words
// eval(code) and require('child_process').exec('rm -rf /') are forbidden here
export const add = (a, b) => a + b;
%% regex exec
const m = /(\d+)-(\d+)/.exec('10-20');
console.log(m[1], m[2]);
%% regexp in loop
const re = new RegExp('a+', 'g');
let r;
while ((r = re.exec('aaa baa')) !== null) console.log(r.index);
%% class with exec
class Db { exec(sql) { return sql.length; } remove(k) { return k; } }
console.log(new Db().exec('select 1'));
%% express handler
export function handler(req, res) {
  const { id } = req.params;
  res.status(200).json({ id, ok: true });
}
%% array ops
const xs = [3, 1, 2];
console.log(xs.toSorted?.((a, b) => a - b), xs.map((x) => x ** 2).reduce((a, b) => a + b, 0));
%% timers
const t = setInterval(() => { console.log('tick'); clearInterval(t); }, 100);
%% template
const name = 'eval';
console.log(`the word ${name}() is harmless here, so is $(rm -rf /)`);
%% fs read
const fs = require('fs');
const lines = fs.readFileSync('notes.txt', 'utf8').split('\n');
console.log(lines.length);
%% write json
import { writeFile } from 'node:fs/promises';
await writeFile('out.json', JSON.stringify({ a: 1 }));
%% path
const path = require('path');
console.log(path.join(__dirname, '..', 'x'));
%% map delete
const m = new Map([['a', 1]]);
m.delete('a');
delete ({ a: 1 }).a;
%% react
function App({ items }) {
  const [n, setN] = useState(0);
  return items.filter((i) => i.on).map((i) => ({ key: i.id, onClick: () => setN(n + 1) }));
}
%% constructor
class A { constructor(x) { this.x = x; } }
class B extends A { constructor() { super(1); console.log(this.constructor.name); } }
new B();
%% bracket access
const table = { add: (a, b) => a + b, sub: (a, b) => a - b };
for (const op of Object.keys(table)) console.log(table[op](3, 2));
%% promise all
const wait = (ms) => new Promise((r) => setTimeout(r, ms));
await Promise.all([1, 2, 3].map(wait));
%% events
const { EventEmitter } = require('events');
const e = new EventEmitter();
e.on('exec', (x) => console.log(x));
e.emit('exec', 1);
%% crypto hash
const crypto = require('crypto');
console.log(crypto.createHash('sha256').update('x').digest('hex'));
%% test
import test from 'node:test';
import assert from 'node:assert';
test('adds', () => { assert.strictEqual(1 + 1, 2); });
%% process argv
const [, , file = 'a.txt'] = process.argv;
if (process.env.NODE_ENV === 'production') console.log(file);
%% proxy
const p = new Proxy({}, { get: (t, k) => `no ${String(k)}` });
console.log(p.foo, Reflect.ownKeys(p));
%% generator
function* ids() { let i = 0; while (true) yield i++; }
const g = ids();
console.log(g.next().value);
%% dom
document.querySelector('#a').addEventListener('click', (ev) => { ev.target.remove(); });
%% switch
function name(op) {
  switch (op) { case 'exec': return 1; case 'spawn': return 2; default: return 0; }
}
console.log(name('exec'));
%% destructuring
const { a, ...rest } = { a: 1, b: 2, c: 3 };
const [x = a, , y] = [1, 2, 3];
console.log(rest, x, y);
%% base64 text
const b = Buffer.from('hello').toString('base64');
console.log(atob(b));
%% dynamic import of own file
const { default: cfg } = await import('./config.js');
console.log(cfg);
%% html string
const s = '<script>eval("1")</script>';
console.log(s.replace(/</g, '&lt;'));
%% strings
const help = 'use eval or new Function("x") at your own risk; child_process.exec too';
console.log(help.length);
%% mongoose like
const user = await User.findOne({ name: 'x' }).exec();
await user.remove();
%% lodash
import _ from 'lodash';
console.log(_.groupBy([1, 2, 3], (n) => n % 2));
%% node stream
import { createReadStream } from 'fs';
import { createInterface } from 'readline';
for await (const line of createInterface({ input: createReadStream('a.txt') })) console.log(line);
%% own eval method
class Interp { eval(node) { return node.value; } }
console.log(new Interp().eval({ value: 3 }));
%% own function named exec
function exec(cmd) { return cmd.toUpperCase(); }
console.log(exec('abc'));
%% set timeout arrow
setTimeout(() => console.log('later'), 5);
setTimeout(console.log, 5, 'later');
%% typescript like jsdoc
/**
 * @param {string} cmd eg. "rm -rf /"
 * @returns {Promise<void>}
 */
export async function run(cmd) { console.log(cmd); }
%% command pattern
const commands = { spawn: (x) => x + 1, fork: (x) => [x, x] };
console.log(commands.spawn(1), commands.fork(2));
%% date
console.log(new Date(0).toISOString(), Intl.DateTimeFormat().resolvedOptions().timeZone);
%% webpack config
const path = require('path');
module.exports = { mode: 'development', devtool: 'source-map', entry: './src/index.js', output: { path: path.resolve(__dirname, 'dist') } };
%% jest mock
describe('x', () => {
  beforeEach(() => jest.resetModules());
  it('runs', () => { expect([1, 2].includes(2)).toBe(true); });
});
%% bit ops
const hex = (n) => n.toString(16).padStart(2, '0');
console.log([...new TextEncoder().encode('é')].map(hex).join(''));
%% symbol iterator
class R { constructor(n) { this.n = n; } *[Symbol.iterator]() { for (let i = 0; i < this.n; i++) yield i; } }
console.log([...new R(3)]);
%% weakmap cache
const cache = new WeakMap();
const get = (o) => cache.get(o) ?? (cache.set(o, Object.keys(o).length), cache.get(o));
console.log(get({}));
%% custom event
window.addEventListener('load', () => { localStorage.setItem('seen', '1'); });
%% clipboard word
const text = 'password';
const input = { type: text, name: 'secret', placeholder: 'token' };
console.log(input);
%% os info
const os = require('os');
console.log(os.cpus().length, os.platform(), os.EOL === '\n');
%% assert throws
const assert = require('assert');
assert.throws(() => { throw new TypeError('eval is evil'); }, TypeError);
%% number format
console.log((1234.5).toLocaleString('en-US'), Number.parseInt('ff', 16), String.fromCharCode(65));
%% apply math
console.log(Math.max.apply(null, [1, 2, 3]), Math.min.call(null, 1, 2));
%% bind method
const b = { x: 1, f() { return this.x; } };
const g = b.f.bind(b);
console.log(g());
%% object constructor
console.log({}.constructor === Object, [].constructor.name);
%% delete file name only
const actions = ['unlink', 'rmdir', 'rm'];
console.log(actions.join(','));
%% svg data
const icon = 'data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHdpZHRoPSIxIiBoZWlnaHQ9IjEiLz4=';
document.querySelector('img').src = icon;
%% minified style
!function(e,t){"use strict";var n=e.length;for(var r=0;r<n;r++)t(e[r])}([1,2],console.log);
%% retry
async function retry(f, n = 3) { try { return await f(); } catch (e) { if (n <= 1) throw e; return retry(f, n - 1); } }
await retry(async () => 1);
%% getter
const o = { get exec() { return 1; }, set exec(v) { this._v = v; } };
o.exec = 2;
console.log(o.exec);
