%% own constructor call
class Base { static create() { return new this(); } clone() { return new this.constructor(); } }
class Sub extends Base {}
console.log(Sub.create().clone());
%% function property
const f = function named() {};
console.log(f.name, f.length, typeof f);
%% exec of regex variable
const pattern = /x(\d)/g;
let found;
while ((found = pattern.exec('x1x2'))) console.log(found[1]);
%% redux
const reducer = (state = { n: 0 }, action) => {
  switch (action.type) { case 'inc': return { ...state, n: state.n + 1 }; default: return state; }
};
console.log(reducer(undefined, { type: 'inc' }));
%% iife module
const counter = (function () { let n = 0; return { inc: () => ++n, get: () => n }; })();
counter.inc();
%% iife with console
(function (log) { log('ready'); })(console.log);
%% image source
const img = new Image();
img.src = '/static/logo.png';
img.onload = () => document.body.appendChild(img);
%% link href
document.querySelector('a').href = '/home?tab=' + encodeURIComponent('x');
%% own worker
const { Worker } = require('worker_threads');
const w = new Worker('./worker.js', { workerData: { n: 1 } });
w.on('message', console.log);
%% script text element
const el = document.createElement('div');
el.textContent = '<script>eval(1)</script>';
document.body.append(el);
%% object prototypes
console.log(Object.getPrototypeOf([]) === Array.prototype, Reflect.has({ a: 1 }, 'a'));
%% destructured options
function open({ path = '.', mode = 'r', ...rest } = {}) { return [path, mode, rest]; }
console.log(open({ path: 'x', exec: true }));
%% path join read
const fs = require('fs'), path = require('path');
console.log(fs.existsSync(path.join(__dirname, 'package.json')));
%% delete own temp
const fs = require('fs');
fs.unlinkSync('build/output.tmp');
%% stdin
process.stdin.setEncoding('utf8');
let text = '';
process.stdin.on('data', (d) => (text += d));
process.stdin.on('end', () => console.log(text.length));
%% env check
if (!process.env.API_URL) { console.error('set API_URL'); process.exit(1); }
%% async iterator
async function* pages() { for (let i = 0; i < 3; i++) yield i; }
for await (const p of pages()) console.log(p);
%% tagged template
const sql = (s, ...v) => ({ text: s.join('?'), values: v });
console.log(sql`select * from t where id = ${1}`);
%% sort
console.log(['b', 'a'].sort((x, y) => x.localeCompare(y)), [...'abc'].reverse().join(''));
%% uint8
const b = new Uint8Array([104, 105]);
console.log(new TextDecoder().decode(b));
%% vue component
export default { name: 'X', data: () => ({ n: 0 }), methods: { run() { this.n++; }, remove(i) { this.items.splice(i, 1); } } };
%% bundler output
module.exports = { plugins: [require('autoprefixer'), require('cssnano')({ preset: 'default' })] };
%% entries
for (const [k, v] of Object.entries({ a: 1 })) console.log(k, v);
%% getter
const o = { get size() { return 2; } };
console.log(o.size);
%% at
console.log([1, 2, 3].at(-1));
%% static
class C { static make = () => new C(); }
C.make();
%% nullish
const cfg = globalThis.cfg ?? { debug: false };
console.log(cfg);
%% split join
console.log('a-b-c'.split('-').join('/'));
%% decode uri
console.log(decodeURIComponent('%E2%9C%93'));
%% write element
const p = document.createElement('p');
p.innerHTML = '<b>bold</b>';
document.body.append(p);
%% script local
const s = document.createElement('script');
s.src = 'main.js';
document.head.append(s);
%% arrow return function
const adder = (a) => (b) => a + b;
console.log(adder(1)(2));
%% class method named exec
class Task { constructor(fn) { this.fn = fn; } exec() { return this.fn(); } }
new Task(() => 1).exec();
%% kill timer
const t = setTimeout(() => {}, 1000);
clearTimeout(t);
%% json file
const data = require('./data.json');
console.log(data.length);
%% import lazily
const mod = await import('./feature.mjs');
mod.start();
%% fs watch
const fs = require('fs');
fs.mkdirSync('out', { recursive: true });
fs.writeFileSync('out/a.txt', 'x');
%% http server
const http = require('http');
http.createServer((req, res) => res.end('ok')).listen(8080);
%% zod
import { z } from 'zod';
const User = z.object({ id: z.number() });
console.log(User.safeParse({ id: 1 }).success);
%% debounce
const debounce = (f, ms) => { let t; return (...a) => { clearTimeout(t); t = setTimeout(() => f(...a), ms); }; };
debounce(console.log, 10)('x');
%% bigints
console.log(2n ** 64n, BigInt.asUintN(8, 257n));
%% label loop
outer: for (const a of [1, 2]) { for (const b of [3]) { if (a + b > 4) break outer; } }
%% proxy log
const p = new Proxy({}, { set(o, k, v) { o[k] = v; return true; } });
p.a = 1;
%% try finally
let n = 0; try { n = 1; } finally { console.log(n); }
%% template tag
const up = (s) => s[0].toUpperCase();
console.log(up`abc`);
%% extends
class A {} class B extends A { run() { return super.toString(); } }
console.log(new B().run());
%% reduce
console.log(['a', 'b'].reduce((x, y) => x + y));
%% radix
console.log((255).toString(16), parseInt('z', 36));
%% optional call
const o = {}; console.log(o.go?.(), o?.a?.b);
%% async iife
(async () => { await null; console.log('done'); })();
%% callbacks param
function run(f, x) { return f(x); }
console.log(run(String, 5));
%% Reflect construct
console.log(Reflect.construct(Date, [0]).getTime());
%% apply
console.log(Math.max.apply(null, [1, 5, 2]));
%% keydown
document.addEventListener('keydown', (e) => { if (e.key === 'Escape') close(); });
%% location
if (location.pathname === '/old') location.href = '/new';
%% own files
require('fs').readFile('config.json', 'utf8', (e, d) => console.log(JSON.parse(d)));
%% chmod script
require('fs').chmodSync('bin/cli.js', 0o755);
%% os tmpdir
console.log(require('path').join(require('os').tmpdir(), 'x'));
%% array destructure
const [a, [b, c]] = [1, [2, 3]];
console.log(a + b + c);
%% flat
console.log([[1, [2]], 3].flat(Infinity));
%% date fns
import { format } from 'date-fns';
console.log(format(new Date(), 'yyyy'));
%% css in js
const style = { background: 'url(/a.png)', onerror: null };
console.log(style);
%% promise chain
Promise.resolve(1).then((x) => x + 1).then(console.log);
%% on exit
process.on('exit', (c) => console.log('bye', c));
%% json parse
const { m } = JSON.parse('{"m":"hello"}');
console.log(m);
%% slice
console.log('xxhello'.slice(2), 'abc'.substring(0, 1));
%% spread
console.log({ ...{ a: 1 }, b: 2 });
%% generator
function* g() { yield 1; }
console.log(g().next().value);
%% export default
export default { run: (c) => c + 1 };
%% constructor name
const { constructor } = class A {};
console.log(constructor.name);
%% read directory
import { readdir } from 'fs/promises';
console.log(await readdir('.'));
%% get json
const r = await fetch('https://api.example.com/items');
console.log(await r.json());
%% local storage
localStorage.setItem('theme', 'dark');
document.title = localStorage.getItem('theme');
%% streams
const { pipeline } = require('stream/promises');
await pipeline(process.stdin, process.stdout);
%% url
console.log(new URL('https://example.com/a?b=1').searchParams.get('b'));
%% intl
console.log(new Intl.NumberFormat('de').format(1234.5));
%% set ops
const s = new Set([1, 2]); s.delete(1); console.log(s.size);
