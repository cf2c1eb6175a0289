/* SPDX-License-Identifier: Apache-2.0 */
/* What the WebAssembly Python can import and use. */
#include "wasm/python_modules.h"

#include <stdlib.h>
#include <string.h>

/*
 * Sorted. Of the standard library that comes with it, what needs neither sockets nor processes nor threads; each was
 * imported once under the driver.
 */
static const char *const modules[] = {
	"__future__",	"abc",	       "aifc",	       "argparse",
	"array",	"ast",	       "atexit",       "audioop",
	"base64",	"binascii",    "bisect",       "builtins",
	"bz2",		"cProfile",    "calendar",     "chunk",
	"cmath",	"cmd",	       "code",	       "codecs",
	"codeop",	"collections", "colorsys",     "configparser",
	"contextlib",	"contextvars", "copy",	       "copyreg",
	"csv",		"dataclasses", "datetime",     "decimal",
	"difflib",	"dis",	       "doctest",      "email",
	"encodings",	"enum",	       "errno",	       "filecmp",
	"fileinput",	"fnmatch",     "fractions",    "functools",
	"gc",		"genericpath", "getopt",       "gettext",
	"glob",		"graphlib",    "gzip",	       "hashlib",
	"heapq",	"hmac",	       "html",	       "imghdr",
	"importlib",	"inspect",     "io",	       "ipaddress",
	"itertools",	"json",	       "keyword",      "linecache",
	"locale",	"logging",     "mailcap",      "marshal",
	"math",		"mimetypes",   "modulefinder", "netrc",
	"ntpath",	"nturl2path",  "numbers",      "opcode",
	"operator",	"optparse",    "os",	       "pathlib",
	"pickle",	"pickletools", "pkgutil",      "platform",
	"plistlib",	"posixpath",   "pprint",       "profile",
	"pstats",	"py_compile",  "pyclbr",       "pyexpat",
	"queue",	"quopri",      "random",       "re",
	"reprlib",	"secrets",     "shelve",       "shlex",
	"shutil",	"sndhdr",      "sre_compile",  "sre_constants",
	"sre_parse",	"stat",	       "statistics",   "string",
	"stringprep",	"struct",      "sunau",	       "symtable",
	"sys",		"tabnanny",    "tarfile",      "textwrap",
	"time",		"timeit",      "token",	       "tokenize",
	"tomllib",	"trace",       "traceback",    "tracemalloc",
	"types",	"typing",      "unicodedata",  "unittest",
	"urllib.parse", "uuid",	       "warnings",     "wave",
	"weakref",	"xml",	       "zipfile",      "zipimport",
	"zlib",		"zoneinfo"
};

/* Sorted: members of os that WASI has nothing for, but for those that the scanner reports anyway. */
static const char *const absent[] = { "copy_file_range",
				      "ctermid",
				      "eventfd",
				      "fchdir",
				      "fchmod",
				      "fchown",
				      "fstatvfs",
				      "fwalk",
				      "get_terminal_size",
				      "getegid",
				      "geteuid",
				      "getgid",
				      "getgrouplist",
				      "getgroups",
				      "getloadavg",
				      "getlogin",
				      "getpgid",
				      "getpgrp",
				      "getppid",
				      "getpriority",
				      "getrandom",
				      "getresgid",
				      "getresuid",
				      "getsid",
				      "getuid",
				      "getxattr",
				      "initgroups",
				      "lchown",
				      "listxattr",
				      "lockf",
				      "login_tty",
				      "major",
				      "makedev",
				      "memfd_create",
				      "minor",
				      "mkfifo",
				      "mknod",
				      "nice",
				      "openpty",
				      "pidfd_open",
				      "pipe",
				      "pipe2",
				      "register_at_fork",
				      "removexattr",
				      "sched_getaffinity",
				      "sched_setaffinity",
				      "sendfile",
				      "setegid",
				      "setgroups",
				      "setpgid",
				      "setpriority",
				      "setregid",
				      "setresgid",
				      "setsid",
				      "setxattr",
				      "splice",
				      "statvfs",
				      "sync",
				      "tcgetpgrp",
				      "ttyname",
				      "umask",
				      "wait",
				      "wait3",
				      "wait4",
				      "waitid",
				      "waitpid" };

static int compare(const void *key, const void *item)
{
	const char *const *name = item;

	return strcmp(key, *name);
}

static bool is_listed(const char *name)
{
	return bsearch(name, modules, sizeof(modules) / sizeof(modules[0]), sizeof(modules[0]),
		       compare) != NULL;
}

bool wasm_python_has(const char *module)
{
	size_t len = strcspn(module, ".");
	char top[64];

	if (is_listed(module))
		return true;
	if (len >= sizeof(top))
		return false;
	memcpy(top, module, len);
	top[len] = '\0';
	return is_listed(top);
}

bool wasm_python_lacks(const char *name, size_t len)
{
	char word[32];

	if (len >= sizeof(word))
		return false;
	memcpy(word, name, len);
	word[len] = '\0';
	return bsearch(word, absent, sizeof(absent) / sizeof(absent[0]), sizeof(absent[0]),
		       compare) != NULL;
}
