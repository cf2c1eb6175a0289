/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of JavaScript that the scanner knows; "new X" is X. */
#include "scan/follow/functions.h"

#include "base/str.h"

#include <stdio.h>
#include <string.h>

/* Longer names no function that is known has. */
#define FUNCTION_MAX 64u

const struct function_row javascript_functions[] = {
	{ "eval", RULE_EXEC, SEVERITY_HIGH, USE_CODE, 0 },
	{ "Function", RULE_EXEC, SEVERITY_HIGH, USE_CODE, 0 },
	{ "GeneratorFunction", RULE_EXEC, SEVERITY_HIGH, USE_CODE, 0 },
	{ "AsyncFunction", RULE_EXEC, SEVERITY_HIGH, USE_CODE, 0 },
	{ "execScript", RULE_EXEC, SEVERITY_HIGH, USE_CODE, 0 },
	{ "setTimeout", RULE_EXEC, SEVERITY_MEDIUM, USE_TIMER, 0 },
	{ "setInterval", RULE_EXEC, SEVERITY_MEDIUM, USE_TIMER, 0 },
	{ "vm.run*", RULE_EXEC, SEVERITY_HIGH, USE_CODE, 0 },
	{ "vm.compileFunction", RULE_EXEC, SEVERITY_HIGH, USE_CODE, 0 },
	{ "vm.Script", RULE_EXEC, SEVERITY_HIGH, USE_CODE, 0 },
	{ "worker_threads.Worker", RULE_EXEC, SEVERITY_HIGH, USE_WORKER, 0 },
	{ "document.write*", RULE_EXEC, SEVERITY_LOW, USE_PAGE, 0 },
	{ "importScripts", RULE_DYNAMIC_IMPORT, SEVERITY_MEDIUM, USE_PLAIN, 0 },
	{ "require", RULE_DYNAMIC_IMPORT, SEVERITY_NONE, USE_MODULE, 0 },
	{ "import", RULE_DYNAMIC_IMPORT, SEVERITY_NONE, USE_MODULE, 0 },
	{ "module.require", RULE_DYNAMIC_IMPORT, SEVERITY_MEDIUM, USE_MODULE, 0 },
	{ "process.mainModule.require", RULE_INTROSPECTION, SEVERITY_HIGH, USE_MODULE, 0 },
	{ "process.getBuiltinModule", RULE_DYNAMIC_IMPORT, SEVERITY_MEDIUM, USE_MODULE, 0 },
	{ "process.binding", RULE_INTROSPECTION, SEVERITY_HIGH, USE_PLAIN, 0 },
	{ "process._linkedBinding", RULE_INTROSPECTION, SEVERITY_HIGH, USE_PLAIN, 0 },
	{ "process.dlopen", RULE_NATIVE, SEVERITY_HIGH, USE_PLAIN, 0 },
	{ "require.main.require", RULE_DYNAMIC_IMPORT, SEVERITY_MEDIUM, USE_MODULE, 0 },
	{ "module.parent.require", RULE_INTROSPECTION, SEVERITY_HIGH, USE_MODULE, 0 },
	{ "module._load", RULE_INTROSPECTION, SEVERITY_HIGH, USE_MODULE, 0 },
	{ "Module._load", RULE_INTROSPECTION, SEVERITY_HIGH, USE_MODULE, 0 },
	{ "module.constructor.*", RULE_INTROSPECTION, SEVERITY_HIGH, USE_PLAIN, 0 },
	{ "Reflect.get", RULE_DYNAMIC_NAME, SEVERITY_NONE, USE_MEMBER, 0 },
	{ "child_process.exec", RULE_SUBPROCESS, SEVERITY_HIGH, USE_SHELL, TRAIT_SHELL },
	{ "child_process.execSync", RULE_SUBPROCESS, SEVERITY_HIGH, USE_SHELL, TRAIT_SHELL },
	{ "child_process.*", RULE_SUBPROCESS, SEVERITY_MEDIUM, USE_WORDS, TRAIT_SHELL },
	{ "zx.$", RULE_SUBPROCESS, SEVERITY_HIGH, USE_SHELL, TRAIT_SHELL },
	{ "bun.$", RULE_SUBPROCESS, SEVERITY_HIGH, USE_SHELL, TRAIT_SHELL },
	{ "Bun.$", RULE_SUBPROCESS, SEVERITY_HIGH, USE_SHELL, TRAIT_SHELL },
	{ "node-pty.spawn", RULE_SUBPROCESS, SEVERITY_MEDIUM, USE_WORDS, TRAIT_SHELL },
	{ "ssh2.Client().exec", RULE_SUBPROCESS, SEVERITY_MEDIUM, USE_SHELL, TRAIT_SHELL },
	{ "vm2.VM().run*", RULE_EXEC, SEVERITY_MEDIUM, USE_CODE, 0 },
	{ "vm2.NodeVM().run*", RULE_EXEC, SEVERITY_MEDIUM, USE_CODE, 0 },
	{ "isolated-vm.*", RULE_EXEC, SEVERITY_MEDIUM, USE_PLAIN, 0 },
	{ "simple-git().clean", RULE_DELETE, SEVERITY_MEDIUM, USE_PLAIN, 0 },
	{ "simple-git().*", RULE_SUBPROCESS, SEVERITY_LOW, USE_NAMED, 0 },
	{ "del.delete*", RULE_DELETE, SEVERITY_MEDIUM, USE_TREE, 0 },
	{ "del.sync", RULE_DELETE, SEVERITY_MEDIUM, USE_TREE, 0 },
	{ "del", RULE_DELETE, SEVERITY_MEDIUM, USE_TREE, 0 },
	{ "trash", RULE_DELETE, SEVERITY_LOW, USE_TREE, 0 },
	{ "shelljs.exec", RULE_SUBPROCESS, SEVERITY_HIGH, USE_SHELL, TRAIT_SHELL },
	{ "shelljs.*", RULE_SUBPROCESS, SEVERITY_LOW, USE_NAMED, 0 },
	{ "execa.execaCommand*", RULE_SUBPROCESS, SEVERITY_MEDIUM, USE_SHELL, TRAIT_SHELL },
	{ "execa*", RULE_SUBPROCESS, SEVERITY_MEDIUM, USE_WORDS, TRAIT_SHELL },
	{ "cross-spawn*", RULE_SUBPROCESS, SEVERITY_MEDIUM, USE_WORDS, TRAIT_SHELL },
	{ "Deno.run", RULE_SUBPROCESS, SEVERITY_MEDIUM, USE_WORDS, TRAIT_SHELL },
	{ "Deno.Command", RULE_SUBPROCESS, SEVERITY_MEDIUM, USE_WORDS, TRAIT_SHELL },
	{ "Bun.spawn*", RULE_SUBPROCESS, SEVERITY_MEDIUM, USE_WORDS, TRAIT_SHELL },
	{ "Deno.dlopen", RULE_NATIVE, SEVERITY_HIGH, USE_PLAIN, 0 },
	{ "Deno.kill", RULE_EXHAUSTION, SEVERITY_LOW, USE_KILL, 0 },
	{ "Deno.remove*", RULE_DELETE, SEVERITY_MEDIUM, USE_TREE, 0 },
	{ "Deno.truncate*", RULE_DELETE, SEVERITY_LOW, USE_FILE, 0 },
	{ "Deno.readDir*", RULE_SECRET_READ, SEVERITY_NONE, USE_READ, TRAIT_WALKS },
	{ "Deno.read*", RULE_SECRET_READ, SEVERITY_NONE, USE_READ, 0 },
	{ "Deno.open*", RULE_SECRET_READ, SEVERITY_NONE, USE_READ, 0 },
	{ "Deno.copyFile*", RULE_SECRET_READ, SEVERITY_NONE, USE_READ, 0 },
	{ "Deno.rename*", RULE_DELETE, SEVERITY_NONE, USE_MOVE, 0 },
	{ "Deno.symlink*", RULE_SECRET_READ, SEVERITY_NONE, USE_READ, 0 },
	{ "Deno.link*", RULE_SECRET_READ, SEVERITY_NONE, USE_READ, 0 },
	{ "Deno.write*", RULE_PERSISTENCE, SEVERITY_NONE, USE_WRITE, TRAIT_WRITES },
	{ "Deno.create*", RULE_PERSISTENCE, SEVERITY_NONE, USE_WRITE, TRAIT_WRITES },
	{ "Deno.chmod*", RULE_PRIVILEGE, SEVERITY_NONE, USE_MODE, 0 },
	{ "Deno.connect*", RULE_NETWORK, SEVERITY_MEDIUM, USE_PLAIN, TRAIT_NETWORK },
	{ "Bun.write", RULE_PERSISTENCE, SEVERITY_NONE, USE_WRITE, TRAIT_WRITES },
	{ "Bun.file", RULE_SECRET_READ, SEVERITY_NONE, USE_READ, 0 },
	{ "Bun.connect", RULE_NETWORK, SEVERITY_MEDIUM, USE_PLAIN, TRAIT_NETWORK },
	/* QuickJS, which has modules of these names. */
	{ "os.exec", RULE_SUBPROCESS, SEVERITY_MEDIUM, USE_WORDS, TRAIT_SHELL },
	{ "os.remove", RULE_DELETE, SEVERITY_LOW, USE_TREE, 0 },
	{ "os.readdir", RULE_SECRET_READ, SEVERITY_NONE, USE_READ, TRAIT_WALKS },
	{ "os.kill", RULE_EXHAUSTION, SEVERITY_LOW, USE_KILL, 0 },
	{ "os.open", RULE_SECRET_READ, SEVERITY_NONE, USE_OPEN, 0 },
	{ "std.popen", RULE_SUBPROCESS, SEVERITY_HIGH, USE_SHELL, TRAIT_SHELL },
	{ "std.open", RULE_SECRET_READ, SEVERITY_NONE, USE_OPEN, 0 },
	{ "std.loadFile", RULE_SECRET_READ, SEVERITY_NONE, USE_READ, 0 },
	{ "std.writeFile", RULE_PERSISTENCE, SEVERITY_NONE, USE_WRITE, TRAIT_WRITES },
	{ "std.evalScript", RULE_EXEC, SEVERITY_HIGH, USE_CODE, 0 },
	{ "std.loadScript", RULE_DYNAMIC_IMPORT, SEVERITY_MEDIUM, USE_PLAIN, 0 },
	{ "std.urlGet", RULE_NETWORK, SEVERITY_LOW, USE_URL, TRAIT_NETWORK },
	{ "cluster.setup*", RULE_SUBPROCESS, SEVERITY_MEDIUM, USE_PLAIN, 0 },
	{ "cluster.fork", RULE_EXHAUSTION, SEVERITY_LOW, USE_LOOPED, 0 },
	{ "process.kill", RULE_EXHAUSTION, SEVERITY_LOW, USE_KILL, 0 },
	{ "net.connect*", RULE_NETWORK, SEVERITY_MEDIUM, USE_PLAIN, TRAIT_NETWORK },
	{ "net.createConnection", RULE_NETWORK, SEVERITY_MEDIUM, USE_PLAIN, TRAIT_NETWORK },
	{ "net.Socket", RULE_NETWORK, SEVERITY_MEDIUM, USE_PLAIN, TRAIT_NETWORK },
	{ "net.Socket().*", RULE_NETWORK, SEVERITY_MEDIUM, USE_SEND, TRAIT_NETWORK },
	{ "tls.connect", RULE_NETWORK, SEVERITY_MEDIUM, USE_PLAIN, TRAIT_NETWORK },
	{ "dgram.createSocket", RULE_NETWORK, SEVERITY_MEDIUM, USE_PLAIN, TRAIT_NETWORK },
	{ "dns.*", RULE_NETWORK, SEVERITY_LOW, USE_LOOKUP, TRAIT_NETWORK },
	{ "http.get", RULE_NETWORK, SEVERITY_LOW, USE_URL, TRAIT_NETWORK },
	{ "https.get", RULE_NETWORK, SEVERITY_LOW, USE_URL, TRAIT_NETWORK },
	{ "http.request", RULE_SEND, SEVERITY_MEDIUM, USE_SEND, TRAIT_NETWORK | TRAIT_SENDS },
	{ "https.request", RULE_SEND, SEVERITY_MEDIUM, USE_SEND, TRAIT_NETWORK | TRAIT_SENDS },
	{ "fetch", RULE_NETWORK, SEVERITY_LOW, USE_URL, TRAIT_NETWORK },
	{ "node-fetch", RULE_NETWORK, SEVERITY_LOW, USE_URL, TRAIT_NETWORK },
	{ "axios.get", RULE_NETWORK, SEVERITY_LOW, USE_URL, TRAIT_NETWORK },
	{ "axios.*", RULE_SEND, SEVERITY_MEDIUM, USE_SEND, TRAIT_NETWORK | TRAIT_SENDS },
	{ "axios", RULE_NETWORK, SEVERITY_LOW, USE_URL, TRAIT_NETWORK },
	{ "got.get", RULE_NETWORK, SEVERITY_LOW, USE_URL, TRAIT_NETWORK },
	{ "got.post", RULE_SEND, SEVERITY_MEDIUM, USE_SEND, TRAIT_NETWORK | TRAIT_SENDS },
	{ "XMLHttpRequest", RULE_NETWORK, SEVERITY_LOW, USE_PLAIN, TRAIT_NETWORK },
	{ "XMLHttpRequest().send", RULE_SEND, SEVERITY_LOW, USE_SEND, TRAIT_NETWORK | TRAIT_SENDS },
	{ "WebSocket", RULE_NETWORK, SEVERITY_MEDIUM, USE_URL, TRAIT_NETWORK },
	{ "navigator.sendBeacon", RULE_SEND, SEVERITY_HIGH, USE_SEND, TRAIT_NETWORK | TRAIT_SENDS },
	{ "fs.rm*", RULE_DELETE, SEVERITY_MEDIUM, USE_TREE, 0 },
	{ "rimraf*", RULE_DELETE, SEVERITY_MEDIUM, USE_TREE, 0 },
	{ "fs-extra.remove*", RULE_DELETE, SEVERITY_MEDIUM, USE_TREE, 0 },
	{ "fs-extra.emptyDir*", RULE_DELETE, SEVERITY_MEDIUM, USE_TREE, 0 },
	{ "fs.unlink*", RULE_DELETE, SEVERITY_LOW, USE_FILE, 0 },
	{ "fs.truncate*", RULE_DELETE, SEVERITY_LOW, USE_FILE, 0 },
	{ "fs.readdir*", RULE_SECRET_READ, SEVERITY_NONE, USE_READ, TRAIT_WALKS },
	{ "fs.read*", RULE_SECRET_READ, SEVERITY_NONE, USE_READ, 0 },
	{ "fs.createReadStream", RULE_SECRET_READ, SEVERITY_NONE, USE_READ, 0 },
	{ "fs.opendir*", RULE_SECRET_READ, SEVERITY_NONE, USE_READ, TRAIT_WALKS },
	{ "fs.glob*", RULE_SECRET_READ, SEVERITY_NONE, USE_READ, TRAIT_WALKS },
	{ "fs.cp*", RULE_SECRET_READ, SEVERITY_NONE, USE_READ, 0 },
	{ "fs.link*", RULE_SECRET_READ, SEVERITY_NONE, USE_READ, 0 },
	{ "fs.rename*", RULE_DELETE, SEVERITY_NONE, USE_MOVE, 0 },
	{ "fs.copyFile*", RULE_SECRET_READ, SEVERITY_NONE, USE_READ, 0 },
	{ "fs.open*", RULE_SECRET_READ, SEVERITY_NONE, USE_OPEN, 0 },
	{ "path.join", RULE_SECRET_READ, SEVERITY_NONE, USE_READ, 0 },
	{ "path.resolve", RULE_SECRET_READ, SEVERITY_NONE, USE_READ, 0 },
	{ "fs.write*", RULE_PERSISTENCE, SEVERITY_NONE, USE_WRITE, TRAIT_WRITES },
	{ "fs.appendFile*", RULE_PERSISTENCE, SEVERITY_NONE, USE_WRITE, TRAIT_WRITES },
	{ "fs.createWriteStream", RULE_PERSISTENCE, SEVERITY_NONE, USE_WRITE, TRAIT_WRITES },
	{ "fs.symlink*", RULE_PERSISTENCE, SEVERITY_NONE, USE_READ, 0 },
	{ "fs.chmod*", RULE_PRIVILEGE, SEVERITY_NONE, USE_MODE, 0 },
	{ "fs.chown*", RULE_PRIVILEGE, SEVERITY_MEDIUM, USE_PLAIN, 0 },
	{ "process.setuid", RULE_PRIVILEGE, SEVERITY_HIGH, USE_PLAIN, 0 },
	{ "process.setgid", RULE_PRIVILEGE, SEVERITY_HIGH, USE_PLAIN, 0 },
	{ "ffi-napi.*", RULE_NATIVE, SEVERITY_MEDIUM, USE_PLAIN, 0 },
	{ "koffi.*", RULE_NATIVE, SEVERITY_MEDIUM, USE_PLAIN, 0 },
	{ "v8.deserialize", RULE_DESERIALISE, SEVERITY_LOW, USE_PLAIN, 0 },
	{ "node-serialize.unserialize", RULE_DESERIALISE, SEVERITY_HIGH, USE_PLAIN, 0 },
	{ "serialize-javascript*", RULE_DESERIALISE, SEVERITY_LOW, USE_PLAIN, 0 },
	{ "iohook.*", RULE_SPY, SEVERITY_HIGH, USE_PLAIN, 0 },
	{ "screenshot-desktop", RULE_SPY, SEVERITY_HIGH, USE_PLAIN, 0 },
	{ "robotjs.*", RULE_SPY, SEVERITY_MEDIUM, USE_PLAIN, 0 },
	{ "clipboardy.read*", RULE_SPY, SEVERITY_MEDIUM, USE_PLAIN, 0 },
	{ "navigator.clipboard.read*", RULE_SPY, SEVERITY_MEDIUM, USE_PLAIN, 0 },
	{ "navigator.mediaDevices.*", RULE_SPY, SEVERITY_MEDIUM, USE_PLAIN, 0 },
	{ "crypto.createCipher*", RULE_DELETE, SEVERITY_NONE, USE_PLAIN, TRAIT_CIPHER },
	{ "atob", RULE_OBFUSCATION, SEVERITY_NONE, USE_PLAIN, TRAIT_DECODES },
	{ .path = NULL },
};

/* A function's result is not the function itself, unless its row is marked so. */
static bool covers(const char *pattern, const char *path)
{
	size_t len = strlen(pattern);

	if (pattern[len - 1] == '*')
		return strncmp(pattern, path, len - 1) == 0 &&
		       (strchr(pattern, '(') || !strchr(path, '('));
	return strcmp(pattern, path) == 0;
}

static const struct function_row *find_in(const struct function_row *row, const char *path)
{
	while (row->path && (row->path[0] != path[0] || !covers(row->path, path)))
		row++;
	return row->path ? row : NULL;
}

/* What a module has that does the same as fs, with promises or with more beside; NULL. */
static const char *as_fs(const char *path)
{
	static const char *const modules[] = {
		"fs/promises.", "fs.promises.", "fs-extra.",
		"graceful-fs.", "mz/fs.",	"fs-extra.promises."
	};

	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
		if (str_starts(path, modules[i]))
			return path + strlen(modules[i]);
	}
	return NULL;
}

const struct function_row *function_find(enum scan_language language, const char *path)
{
	const struct function_row *row;
	const char *member;
	char other[FUNCTION_MAX + sizeof("fs.")];

	if (language == SCAN_PYTHON)
		return find_in(python_functions, path);
	row = find_in(javascript_functions, path);
	member = row ? NULL : as_fs(path);
	if (!member || strlen(member) > FUNCTION_MAX)
		return row;
	(void)snprintf(other, sizeof(other), "fs.%s", member);
	return find_in(javascript_functions, other);
}
