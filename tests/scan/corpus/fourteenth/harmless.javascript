%% shelljs
require('shelljs').cp('-r', 'src', 'dist');
%% simple-git
const git = require('simple-git')();
git.status().then(console.log);
%% del
const del = require('del');
del.sync(['dist/**']);
%% rename
require('fs').renameSync('a.tmp', 'a.txt');
%% execa
const { execa } = require('execa');
await execa('npm', ['test']);
%% spawn
require('child_process').spawn('git', ['diff', '--stat'], { stdio: 'inherit' });
%% knex
const rows = await knex.raw('SELECT 1');
%% exec
require('child_process').execSync('npm run build');
