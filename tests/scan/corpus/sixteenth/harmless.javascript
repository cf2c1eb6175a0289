%% live reload
const ws = new WebSocket('wss://live.example.org/feed');
ws.onopen = () => ws.send(JSON.stringify({ type: 'subscribe', topic: 'news' }));
ws.onmessage = e => console.log(e.data);
%% cleans the build
const fs = require('fs'), path = require('path');
fs.rmSync(path.join(__dirname, 'build'), { recursive: true, force: true });
%% lists processes
const { execSync } = require('child_process');
console.log(execSync('ps aux | head -5').toString());
%% one worker for each processor
const cluster = require('cluster'), os = require('os');
if (cluster.isPrimary) {
  for (let i = 0; i < os.cpus().length; i++) cluster.fork();
} else {
  require('./server');
}
