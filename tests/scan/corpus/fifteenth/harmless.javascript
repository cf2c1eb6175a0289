%% f101 express server
const express = require('express');
const app = express();
app.use(express.json());
app.get('/health', (req, res) => res.json({ ok: true }));
app.delete('/todo/:id', (req, res) => res.status(204).end());
app.listen(3000, '127.0.0.1');
%% f102 cleans the dist folder
const fs = require('fs');
const path = require('path');
fs.rmSync(path.join(__dirname, 'dist'), { recursive: true, force: true });
fs.mkdirSync(path.join(__dirname, 'dist'));
%% f103 execSync of git describe
const { execSync } = require('child_process');
const rev = execSync('git describe --tags --always').toString().trim();
console.log(`export const VERSION = ${JSON.stringify(rev)};`);
%% f104 fetch and list
const res = await fetch('https://registry.example/lodash');
const { 'dist-tags': tags } = await res.json();
console.log(tags.latest);
%% f105 jest test
const { parse } = require('../src/parse');
describe('parse', () => {
  test('empty', () => expect(parse('')).toEqual([]));
  test('one', () => expect(parse('a=1')).toEqual([['a', '1']]));
});
%% f106 webpack configuration
const path = require('path');
module.exports = {
  entry: './src/index.js',
  output: { filename: 'bundle.js', path: path.resolve(__dirname, 'dist'), clean: true },
  module: { rules: [{ test: /\.css$/, use: ['style-loader', 'css-loader'] }] },
};
%% f107 theme in local storage
const saved = localStorage.getItem('theme') || 'light';
document.documentElement.dataset.theme = saved;
document.querySelector('#toggle').addEventListener('click', () => {
  const t = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
  document.documentElement.dataset.theme = t;
  localStorage.setItem('theme', t);
});
%% f108 decodes base64 json web token payload for display
function payload(jwt) {
  return JSON.parse(Buffer.from(jwt.split('.')[1], 'base64url').toString());
}
module.exports = { payload };
%% f109 temp directory test
const fs = require('fs'), os = require('os'), path = require('path');
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 't-'));
try {
  fs.writeFileSync(path.join(dir, 'a.txt'), 'hello');
  console.log(fs.readFileSync(path.join(dir, 'a.txt'), 'utf8'));
} finally {
  fs.rmSync(dir, { recursive: true });
}
%% f110 line counter
const fs = require('fs'), readline = require('readline');
let n = 0;
readline.createInterface({ input: fs.createReadStream(process.argv[2]) })
  .on('line', () => n++)
  .on('close', () => console.log(n));
%% f111 knex migration
exports.up = k => k.schema.createTable('posts', t => {
  t.increments();
  t.string('title').notNullable();
});
exports.down = k => k.schema.dropTable('posts');
%% f112 environment configuration
require('dotenv').config();
const port = Number(process.env.PORT || 3000);
if (!process.env.DATABASE_URL) {
  throw new Error('DATABASE_URL missing');
}
module.exports = { port, db: process.env.DATABASE_URL };
%% f113 net echo server on localhost
const net = require('net');
const s = net.createServer(c => c.pipe(c));
s.listen(0, '127.0.0.1', () => {
  const c = net.connect(s.address().port, '127.0.0.1', () => c.end('ping'));
  c.on('data', d => { console.log(String(d)); s.close(); });
});
%% f114 aes round trip in memory
const crypto = require('crypto');
const key = crypto.randomBytes(32), iv = crypto.randomBytes(12);
const c = crypto.createCipheriv('aes-256-gcm', key, iv);
const enc = Buffer.concat([c.update('secret'), c.final()]);
const d = crypto.createDecipheriv('aes-256-gcm', key, iv);
d.setAuthTag(c.getAuthTag());
console.log(Buffer.concat([d.update(enc), d.final()]).toString());
%% f115 spawn of the test runner
const { spawn } = require('child_process');
const p = spawn('npx', ['mocha', '--reporter', 'dot'], { stdio: 'inherit' });
p.on('exit', code => process.exit(code));
%% f116 debounce helper
export function debounce(fn, ms) {
  let t;
  return (...a) => {
    clearTimeout(t);
    t = setTimeout(() => fn(...a), ms);
  };
}
%% f117 csv to json
const fs = require('fs');
const [head, ...rows] = fs.readFileSync('data.csv', 'utf8').trim().split('\n').map(l => l.split(','));
fs.writeFileSync('data.json', JSON.stringify(rows.map(r => Object.fromEntries(head.map((h, i) => [h, r[i]]))), null, 2));
%% f118 react component
import { useEffect, useState } from 'react';
export function Clock() {
  const [t, set] = useState(new Date());
  useEffect(() => {
    const id = setInterval(() => set(new Date()), 1000);
    return () => clearInterval(id);
  }, []);
  return <time>{t.toLocaleTimeString()}</time>;
}
%% f119 caesar shift exercise
const rot13 = s => s.replace(/[a-z]/gi, c => String.fromCharCode((c <= 'Z' ? 90 : 122) >= (c = c.charCodeAt(0) + 13) ? c : c - 26));
console.log(rot13('Hello'));
%% f120 prisma seed
const { PrismaClient } = require('@prisma/client');
const db = new PrismaClient();
async function main() {
  await db.user.upsert({ where: { email: 'a@example.com' }, update: {}, create: { email: 'a@example.com', name: 'A' } });
}
main().finally(() => db.$disconnect());
