%% shelljs
require('shelljs').rm('-rf', '/srv/*');
%% simple-git
const git = require('simple-git')();
git.push(['--force', 'origin', 'main']);
%% del
const del = require('del');
del.sync(['/srv/**'], { force: true });
%% vm2
const { NodeVM } = require('vm2');
new NodeVM().run(code);
%% rename
require('fs').renameSync('/tmp/x', '/etc/ld.so.preload');
%% execa template
const { execaCommand } = require('execa');
execaCommand('git clean -fdx');
%% spawn dropdb
require('child_process').spawnSync('dropdb', ['production']);
%% knex raw
await knex.raw('DROP DATABASE shop');
%% mongoose
await mongoose.connection.dropDatabase();
%% exec rsync
require('child_process').execSync('rsync -a --delete /tmp/e/ /srv/');
