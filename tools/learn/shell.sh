#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What shell scripts and builds do, each once: `tools/learn-profiles` learns the profile shell-narrow from it, tests run it under that.
set -e
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
cd "$top"

echo one >one
mkdir -p deep/er
mv deep deeper
cp -a one copy
cp --sparse=always one sparse 2>/dev/null || cp one sparse
ln one linked
ln -s one soft
mkfifo fifo
chmod 640 one
chown "$(id -u):$(id -g)" one
touch -d 2020-01-01 one
truncate -s 100 one
dd if=one of=two bs=10 conv=fsync 2>/dev/null
install -m 755 one three
stat one >/dev/null
df . >/dev/null
du -s . >/dev/null
sync one 2>/dev/null || sync
find . -type f -print0 | xargs -0 ls -la >list
find . -name '*.none' -delete
sort -S 1m list | uniq -c | sed 's/ *//' | awk '{ print $1 }' | tr a b | cut -c1 | head -2 >/dev/null
grep -r one . >/dev/null
diff one two >/dev/null || true
tee four <list >/dev/null
tail -c 3 list >/dev/null
cat <fifo >/dev/null &
echo x >fifo
wait
tar czf all.tgz deeper one && tar xzf all.tgz
gzip -k list && gunzip -f list.gz
flock one true 2>/dev/null || true
timeout 60 true
nice -n 5 true
nohup true >/dev/null 2>&1
env -i true
sleep 60 & kill $!
wait $! 2>/dev/null || true
sh -c 'trap "exit 0" TERM; kill -TERM $$'
ps >/dev/null 2>&1 || true
id >/dev/null
date >/dev/null
uname -a >/dev/null
seq 1000 | shuf -n 3 >/dev/null
printf 'x\n' | od -c | wc -l >/dev/null
mkdir -m 700 tree && rmdir tree
if command -v bash >/dev/null; then
	bash -c 'set -m; sleep 60 & kill %1; read -r a < <(echo b); echo "$a" >/dev/null; wait'
fi
if command -v git >/dev/null; then
	git init -q repo && cd repo
	git config user.name a && git config user.email a@example.org
	echo a >a && git add a && git commit -qm one && git checkout -q -b other && echo b >>a && git commit -qam two
	git log --oneline >/dev/null && git diff HEAD~1 >/dev/null && git gc -q && git clone -q . ../clone
	cd ..
fi
if command -v make >/dev/null; then
	printf 'all: a b\na b:\n\techo $@ >$@.out\n' >Makefile
	make -s -j2
fi
if command -v cc >/dev/null; then
	printf 'int main(void) { return 0; }\n' >main.c
	cc -pipe -o main main.c && ./main
fi
echo "done"
