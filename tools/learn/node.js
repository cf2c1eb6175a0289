// SPDX-License-Identifier: Apache-2.0
// What JavaScript programs do, each once: `tools/learn-profiles` learns the profile node-narrow from it, tests run it under that.
'use strict';
const child_process = require('child_process');
const crypto = require('crypto');
const dgram = require('dgram');
const fs = require('fs');
const http = require('http');
const os = require('os');
const path = require('path');
const zlib = require('zlib');
const { Worker, isMainThread } = require('worker_threads');

function files(top) {
	const one = path.join(top, 'one');

	fs.writeFileSync(one, 'text');
	fs.appendFileSync(one, 'more');
	fs.linkSync(one, one + '.linked');
	fs.symlinkSync('one', one + '.soft');
	fs.chmodSync(one, 0o640);
	fs.chownSync(one, process.getuid(), process.getgid());
	fs.utimesSync(one, 1, 2);
	fs.truncateSync(one, 2);
	fs.copyFileSync(one, one + '.copy');
	fs.mkdirSync(path.join(top, 'deep/er'), { recursive: true });
	fs.renameSync(path.join(top, 'deep'), path.join(top, 'deeper'));
	fs.cpSync(path.join(top, 'deeper'), path.join(top, 'again'), { recursive: true });
	fs.readdirSync(top, { withFileTypes: true });
	fs.mkdtempSync(path.join(top, 'x'));
	const fd = fs.openSync(one, 'r+');
	fs.writevSync(fd, [Buffer.from('a'), Buffer.from('b')], 0);
	fs.readvSync(fd, [Buffer.alloc(1), Buffer.alloc(1)], 0);
	fs.fsyncSync(fd);
	fs.fdatasyncSync(fd);
	fs.closeSync(fd);
	fs.statfsSync?.(top);
	fs.accessSync(one);
	fs.realpathSync(one);
	fs.watch(top).close();
	fs.rmSync(path.join(top, 'again'), { recursive: true });
}

function processes(top) {
	child_process.execFileSync('sh', ['-c', 'ls -la; cp -a one two; mkdir -p d/e; rm -rf two d; git --version || :'], { cwd: top });
	child_process.execSync('cat', { input: 'x'.repeat(200000) });
	const one = child_process.spawn('sleep', ['60'], { detached: true });
	one.kill();
	os.cpus();
	os.loadavg();
	os.networkInterfaces();
	try {
		os.userInfo();
	} catch {
		// A user without an account has none.
	}
	os.getPriority();
	os.setPriority(os.getPriority());
	process.resourceUsage();
	process.getgroups();
	process.chdir(top);
	process.umask(0o22);
	process.kill(process.pid, 0);
	return new Promise((done) => one.on('exit', done));
}

async function network(top) {
	const server = http.createServer((request, response) => response.end('x'));

	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	await new Promise((done) => http.get({ port: server.address().port, host: '127.0.0.1', agent: false }, (answer) => answer.resume().on('end', done)));
	await new Promise((done) => server.close(done));
	const local = http.createServer((request, response) => response.end('x'));
	await new Promise((done) => local.listen(path.join(top, 'socket'), done));
	await new Promise((done) => local.close(done));
	const packets = dgram.createSocket('udp4');
	await new Promise((done) => packets.bind(0, '127.0.0.1', done));
	packets.send('x', packets.address().port, '127.0.0.1');
	await new Promise((done) => packets.on('message', done));
	packets.close();
	await new Promise((done) => require('dns').lookup('localhost', done));
}

async function main() {
	const top = fs.mkdtempSync(path.join(os.tmpdir(), 'learn-'));
	const here = process.cwd();

	files(top);
	await processes(top);
	process.chdir(here);
	await network(top);
	await new Promise((done) => new Worker(__filename).on('exit', done));
	await new Promise((done) => child_process.fork(__filename, ['child']).on('exit', done));
	crypto.pbkdf2Sync('a', 'b', 1000, 32, 'sha256');
	await new Promise((done) => crypto.randomBytes(32, done));
	zlib.gunzipSync(zlib.gzipSync('x'.repeat(100000)));
	await fs.promises.readFile(__filename);
	await WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]));
	process.on('SIGUSR2', () => {});
	process.kill(process.pid, 'SIGUSR2');
	fs.rmSync(top, { recursive: true });
	console.log('done');
}

if (isMainThread && process.argv[2] !== 'child')
	main();
