/* The topics of `help TOPIC`: what a user must know that belongs to no single flag. */
#include "ops/rows.h"

#include <stddef.h>

static const char root_text[] =
	"What the clone contains, and what root gets beyond a plain user\n"
	"\n"
	"--root host (the default) shows this whole machine, copy-on-write. Every\n"
	"real mount is part of it, a separate /home too. Inside are the same user\n"
	"name, the same directory and the same tool chains; /proc, /sys, /dev, /run\n"
	"and /tmp are new. Hidden always: credentials, other users' homes, sockets of\n"
	"the host, and aisbx's own store. Of your home only the workspace, tool\n"
	"chains and caches are shown.\n"
	"\n"
	"Started by root, the sandbox's root is mapped to ids that nobody on this\n"
	"machine has: it owns the clone's system files and may change them all (apt\n"
	"install works, on the copy), but the host's uid 0 does not exist inside, and\n"
	"there are no capabilities.\n"
	"\n"
	"Started by a plain user, your own files are copy-on-write; system files can\n"
	"be read and not changed, exactly as outside. No setuid program is needed or\n"
	"used: the kernel must allow user namespaces (aisbx doctor tells).\n"
	"A directory that is renamed is first copied into the writable layer: that\n"
	"counts against --disk, and whoever stands in it or holds it open stays with\n"
	"the emptied old one. Beyond 200000 entries or 20 s its rename fails as one\n"
	"between filesystems does (EXDEV), and mv copies by itself. A root caller's\n"
	"directories are renamed in place, whatever their size.\n"
	"\n"
	"--root project shows the workspace copy-on-write, the system directories\n"
	"read-only, and nothing else. It works where overlays over the whole root are\n"
	"refused, as in some containers.\n";

static const char limits_text[] =
	"Limits and what happens when one is met\n"
	"\n"
	"  --mem 512m       memory and swap; beyond it the kernel kills: status oom, 137\n"
	"  --pids 128       processes and threads; beyond it fork fails\n"
	"  --cpu 1.5        cores; more work waits\n"
	"  --time 30s       wall clock; then everything is killed: status timeout, 124\n"
	"  --cpu-time 30s   CPU seconds used; then killed: status limit\n"
	"  --disk 1g        what may be written; beyond it: no space left on device\n"
	"  --inodes 100000  files that may be made\n"
	"  --fsize 100m     the largest file\n"
	"  --nofile 1024    open files a process\n"
	"  --output 1m      kept of each stream in the result; the rest is counted\n"
	"\n"
	"Sizes are 1024-based: 64k 512m 1g. Times: 500ms 30s 5m 2h. A run tells each\n"
	"limit it met, in words on stderr and as limits_hit in --json. The defaults\n"
	"stand in the profile: aisbx profile show default.\n"
	"\n"
	"Memory, processes and CPU are limited by cgroups (v2 or v1). Where the caller\n"
	"may make none, rlimits and a watchdog that looks ten times a second stand in;\n"
	"the result then says \"degraded\":[\"limits\"], and --require limits refuses\n"
	"instead.\n";

static const char exit_text[] =
	"Exit codes\n"
	"\n"
	"run gives back the command's own code, and:\n"
	"  124    the wall clock limit was reached\n"
	"  125    aisbx itself failed or refused, wrong flags included\n"
	"  126    the command is not executable\n"
	"  127    the command was not found\n"
	"  128+N  ended by signal N (137 also when memory ran out: stderr says so)\n"
	"\n"
	"All other verbs:\n"
	"  0   done\n"
	"  1   the answer is no: a check failed, this machine is not fit\n"
	"  2   wrong flags, or a malformed file\n"
	"  3   conflict with reality\n"
	"  4   refused: policy, or a person must agree first\n"
	"  5   not found\n"
	"  70  internal error\n"
	"\n"
	"With --json a failure is an object on stdout:\n"
	"  {\"ok\":false,\"error\":{\"code\":\"usage\",\"message\":\"...\"}}\n"
	"and run always has a status: success, error (the command exited non-zero),\n"
	"timeout, oom, killed, limit, denied (refused before start) or internal.\n";

static const char profiles_text[] =
	"Profiles: limits and rules under a name\n"
	"\n"
	"A profile is a YAML file whose keys are the flags of run, same names, same\n"
	"values, and: name extends mounts entrypoint tests gates home\n"
	"workspace_secrets. An unknown key is an error with its line.\n"
	"\n"
	"  name: py-strict\n"
	"  extends: default\n"
	"  mem: 256m\n"
	"  time: 300s\n"
	"  mounts:\n"
	"    - {host: ./data, guest: /data, mode: ro}\n"
	"  env: {PYTHONUNBUFFERED: \"1\"}\n"
	"  entrypoint: [\"/usr/bin/python3\", \"main.py\"]\n"
	"\n"
	"--profile NAME looks in ~/.config/aisbx/profiles, then among those built in\n"
	"(default, strict, dev); --profile FILE takes the file. Flags come on top.\n"
	"A file .aisbx.yaml at the top of a workspace is found by itself and only ever\n"
	"narrows: whatever it would widen is ignored with a note, until you say aisbx\n"
	"profile trust FILE. Without a command, run starts the profile's entrypoint.\n";

static const char layers_text[] =
	"Layers: what stands between the command and this machine\n"
	"\n"
	"  user      no capability, no host id 0, whoever the caller is\n"
	"  mount     its own tree of files; the host's mounts cannot be reached\n"
	"  overlay   everything written goes to a layer that is thrown away\n"
	"  masks     credentials, other homes, host sockets are not there\n"
	"  pid       sees and signals its own processes only; all die with the run\n"
	"  net       an empty network with a loopback of its own\n"
	"  ipc uts   own shared memory, semaphores, host name\n"
	"  seccomp   system calls by allow-list\n"
	"  cgroup    own view of control groups         (may be absent)\n"
	"  landlock  a second fence around files        (may be absent)\n"
	"  limits    cgroup limits, else rlimits and a watchdog\n"
	"  disk      an exact quota of what is written  (may be absent)\n"
	"\n"
	"One that must hold and cannot refuses the run (--allow-degraded LAYER is for\n"
	"those, but this version cannot run without any); --require LAYER makes\n"
	"one that may be absent mandatory, and one that is absent stands in degraded.\n"
	"aisbx doctor tries each of them on this machine.\n"
	"What a layer refused stands in denials, with the rule and the way out.\n";

const struct help_topic help_topics[] = {
	{ "root", "what the clone contains, for root and for others", root_text },
	{ "limits", "memory, time, disk, and what happens at each", limits_text },
	{ "exit-codes", "what scripts can rely on", exit_text },
	{ "profiles", "limits and rules under a name", profiles_text },
	{ "layers", "what stands between the command and this machine", layers_text },
	{ NULL, NULL, NULL },
};
