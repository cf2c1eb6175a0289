/* SPDX-License-Identifier: Apache-2.0 */
/* Finding profiles: search order, `extends`, and a workspace's profile that may be hostile. */
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/hash/sha256.h"
#include "app/config/profile_load.h"
#include "app/config/profile_verbs.h"
#include "app/config/trust.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

/* A home, a configuration and a workspace of our own, for one test. */
struct place {
	char *top, *home, *config, *workspace;
	char *home_variable;
	const char *env[2];
	struct strv notes;
	struct error err;
};

static void place_init(struct place *place)
{
	char template[] = "/tmp/aisbx-test-XXXXXX";

	memset(place, 0, sizeof(*place));
	if (!mkdtemp(template))
		tap_bail("cannot make a directory");
	place->top = xstrdup(template);
	place->home = xasprintf("%s/home", template);
	place->config = xasprintf("%s/.config/aisbx", place->home);
	place->workspace = xasprintf("%s/work", template);
	place->home_variable = xasprintf("HOME=%s", place->home);
	place->env[0] = place->home_variable;
	(void)mkdir(place->home, 0700);
	(void)mkdir(place->workspace, 0700);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void place_done(struct place *place)
{
	(void)nftw(place->top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(place->top);
	free(place->home);
	free(place->config);
	free(place->workspace);
	free(place->home_variable);
	strv_done(&place->notes);
}

/* Writes a file below the place, directories included. */
static void write_at(const struct place *place, const char *name, const char *text)
{
	owned(free_ptr) char *path = xasprintf("%s/%s", place->top, name);
	owned(fd_close) int fd = -1;

	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0700);
		*slash = '/';
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || fd_write_all(fd, text, strlen(text)) < 0)
		tap_bail("cannot write a file");
}

static bool load(struct place *place, const char *word, struct settings *ret_settings)
{
	struct request request;
	bool good;

	memset(&place->err, 0, sizeof(place->err));
	strv_done(&place->notes);
	request_init(&request);
	request.profile = word ? xstrdup(word) : NULL;
	request.environ = place->env;
	good = app_load_profile(&request, place->workspace, ret_settings, &place->notes,
				&place->err) == 0;
	request_done(&request);
	if (!good)
		settings_init(ret_settings);
	return good;
}

static bool needs_yaml(struct place *place, const char *word, bool with_workspace)
{
	struct request request;
	bool needs;

	request_init(&request);
	request.profile = word ? xstrdup(word) : NULL;
	request.environ = place->env;
	needs = app_profile_needs_yaml(&request, with_workspace ? place->workspace : NULL);
	request_done(&request);
	return needs;
}

static bool noted(const struct place *place, const char *what)
{
	for (size_t i = 0; i < place->notes.count; i++)
		if (strstr(place->notes.items[i], what))
			return true;
	return false;
}

static void refuses(struct place *place, const char *word, enum error_code code, const char *what)
{
	struct settings settings;
	bool good = load(place, word, &settings);

	settings_done(&settings);
	tap_ok(!good && place->err.code == code && strstr(place->err.text, what), "%s: %s", word,
	       what);
	if (good || !strstr(place->err.text, what))
		printf("#  got: %s\n", good ? "a profile" : place->err.text);
}

static void test_search(void)
{
	owned(place_done) struct place place;
	owned(free_ptr) char *file = NULL;
	struct settings settings;

	place_init(&place);
	tap_ok(!needs_yaml(&place, NULL, true) && !needs_yaml(&place, "strict", true) &&
		       !needs_yaml(&place, "strict", false),
	       "built-in profiles need no parser");
	tap_ok(needs_yaml(&place, "other", true) && needs_yaml(&place, "./x", true) &&
		       needs_yaml(&place, "x.yaml", false),
	       "others do");
	tap_ok(load(&place, NULL, &settings) && settings.pids == 512, "default when none is named");
	settings_done(&settings);
	tap_ok(load(&place, "strict", &settings) && settings.pids == 64, "built in");
	settings_done(&settings);

	write_at(&place, "home/.config/aisbx/profiles/mine.yaml", "pids: 7\n");
	write_at(&place, "home/.config/aisbx/profiles/strict.yaml", "extends: strict\npids: 8\n");
	tap_ok(needs_yaml(&place, "strict", true), "the user's strict needs the parser");
	tap_ok(load(&place, "mine", &settings) && settings.pids == 7, "the user's");
	settings_done(&settings);
	tap_ok(load(&place, "strict", &settings) && settings.pids == 8 &&
		       settings.mem_bytes == 512 << 20,
	       "the user's strict stands before the built-in one it extends");
	settings_done(&settings);

	write_at(&place, "elsewhere/p.yaml", "pids: 9\nmounts: [{host: data, guest: /d}]\n");
	file = xasprintf("%s/elsewhere/p.yaml", place.top);
	tap_ok(load(&place, file, &settings) && settings.pids == 9, "a file");
	tap_ok(settings.mount_count == 1 && str_ends(settings.mounts[0].host, "/elsewhere/data"),
	       "paths are beside the file");
	settings_done(&settings);
	refuses(&place, "no-such", ERROR_NOT_FOUND, "no profile 'no-such'");
	refuses(&place, "stirct", ERROR_NOT_FOUND, "did you mean 'strict'?");
	refuses(&place, "/no/such.yaml", ERROR_NOT_FOUND, "/no/such.yaml");
	refuses(&place, "/dev/null", ERROR_INPUT, "not a regular file");
	refuses(&place, "a b", ERROR_NOT_FOUND, "no profile 'a b'");
	place.env[0] = "HOME=relative";
	refuses(&place, "mine", ERROR_NOT_FOUND, "no profile 'mine'");
}

static void test_extends(void)
{
	owned(place_done) struct place place;
	owned(free_ptr) char *child = NULL, *loop = NULL, *deep = NULL, *lost = NULL, *bad = NULL;
	struct settings settings;

	place_init(&place);
	write_at(&place, "p/base.yaml",
		 "extends: strict\nmem: 100m\nenv: {A: base, B: base}\nentrypoint: [a, b]\n");
	write_at(&place, "p/child.yaml",
		 "extends: base.yaml\nenv: {A: child}\nentrypoint: [c]\ntests: [t]\n");
	child = xasprintf("%s/p/child.yaml", place.top);
	if (tap_ok(load(&place, child, &settings), "a chain of three (%s)", place.err.text)) {
		tap_is_int(settings.mem_bytes, 100 << 20, "from the middle");
		tap_is_int(settings.pids, 64, "from the far end");
		tap_is_int((long long)settings.env.count, 2, "variables are merged by name");
		tap_is_str(settings.env.items[0], "A=child", "the nearer word counts");
		tap_is_int((long long)settings.entrypoint.count, 1,
			   "an entrypoint is replaced whole");
	}
	settings_done(&settings);

	write_at(&place, "p/a.yaml", "extends: b.yaml\n");
	write_at(&place, "p/b.yaml", "extends: ./a.yaml\n");
	loop = xasprintf("%s/p/a.yaml", place.top);
	refuses(&place, loop, ERROR_INPUT, "extends itself");
	write_at(&place, "home/.config/aisbx/profiles/x.yaml", "extends: y\n");
	write_at(&place, "home/.config/aisbx/profiles/y.yaml", "extends: x\n");
	refuses(&place, "x", ERROR_INPUT, "extends itself");
	for (int i = 0; i < 9; i++) {
		owned(free_ptr) char *name = xasprintf("p/deep%d.yaml", i);
		owned(free_ptr) char *text = xasprintf("extends: deep%d.yaml\n", i + 1);

		write_at(&place, name, text);
	}
	deep = xasprintf("%s/p/deep0.yaml", place.top);
	refuses(&place, deep, ERROR_INPUT, "more than 8");
	write_at(&place, "p/lost.yaml", "extends: nobody\n");
	lost = xasprintf("%s/p/lost.yaml", place.top);
	refuses(&place, lost, ERROR_NOT_FOUND, "no profile 'nobody'");
	write_at(&place, "p/bad.yaml", "extends: default\nmemm: 1\n");
	bad = xasprintf("%s/p/bad.yaml", place.top);
	refuses(&place, bad, ERROR_INPUT, "bad.yaml:2: unknown key 'memm'; did you mean 'mem'?");
}

/* A142: what a checked-in profile would widen is ignored and told. */
static void test_workspace_widens(void)
{
	owned(place_done) struct place place;
	struct settings settings;

	place_init(&place);
	write_at(
		&place, "work/.aisbx.yaml",
		"net: allow\nallow: [\"*.example.org:443\"]\nseccomp: off\nmem: 64m\npids: 100000\n"
		"home: full\nsplice: on\nenv: {LD_PRELOAD: /evil.so}\nentrypoint: [evil]\n"
		"secret: {A: /etc/shadow}\nallow-degraded: [seccomp]\ndriver: none\nroot: project\n"
		"workspace_secrets: mask\n"
		"mounts: [{host: /, guest: /host, mode: rw}]\n");
	tap_ok(needs_yaml(&place, NULL, true), "a workspace's profile needs the parser");
	if (!tap_ok(load(&place, NULL, &settings), "it loads (%s)", place.err.text))
		return;
	tap_is_int(settings.mem_bytes, 64 << 20, "what narrows is taken");
	tap_is_str(settings.workspace_secrets, "mask", "words that narrow as well");
	tap_is_int(settings.pids, 512, "more processes are not");
	tap_ok(!settings.net || strcmp(settings.net, "none") == 0, "no network");
	tap_ok(settings.allow.count == 0 && settings.env.count == 0 &&
		       settings.entrypoint.count == 0 && settings.secret.count == 0 &&
		       settings.allow_degraded.count == 0 && settings.mount_count == 0 &&
		       !settings.seccomp,
	       "no rule, variable, command, secret, layer, mount or filter");
	tap_is_str(settings.home, "tools", "home as it was");
	tap_is_str(settings.splice, "off", "splice as it was");
	tap_is_str(settings.driver, "linux", "driver as it was");
	tap_is_str(settings.root, "host", "root as it was");
	static const char *const told[] = { "net",	     "allow",  "seccomp", "pids",
					    "home",	     "splice", "env",	  "mounts",
					    "entrypoint",    "secret", "root",	  "driver",
					    "allow-degraded" };

	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
		tap_ok(noted(&place, told[i]), "told: %s", told[i]);
	tap_ok(!noted(&place, "evil.so"), "a variable's value is not told");
	settings_done(&settings);
}

static void test_workspace_files(void)
{
	owned(place_done) struct place place;
	owned(free_ptr) char *found = NULL, *target = NULL, *large = NULL;
	struct settings settings;

	place_init(&place);
	found = xasprintf("%s/.aisbx.yaml", place.workspace);
	write_at(&place, "work/.aisbx.yaml", "newtork: none\n");
	refuses(&place, NULL, ERROR_INPUT,
		".aisbx.yaml:1: unknown key 'newtork'; did you mean 'net'?");

	write_at(&place, "work/.aisbx.yaml", "extends: /etc/passwd\nmem: 1m\n");
	tap_ok(load(&place, NULL, &settings) && settings.mem_bytes == 1 << 20 &&
		       noted(&place, "'extends' ignored"),
	       "it cannot make us read files");
	settings_done(&settings);
	write_at(&place, "work/.aisbx.yaml", "extends: strict\n");
	tap_ok(load(&place, "dev", &settings) && settings.mem_bytes == 512 << 20,
	       "it may name a profile, which then narrows");
	settings_done(&settings);

	(void)unlink(found);
	target = xasprintf("%s/secret.yaml", place.top);
	write_at(&place, "secret.yaml", "mem: 1m\n");
	if (symlink(target, found) < 0)
		tap_bail("symlink");
	refuses(&place, NULL, ERROR_INPUT, "is a symbolic link");
	(void)unlink(found);
	if (mkfifo(found, 0600) < 0)
		tap_bail("mkfifo");
	refuses(&place, NULL, ERROR_INPUT, "not a regular file");
	(void)unlink(found);
	large = malloc((2 << 20) + 1);
	if (!large)
		tap_bail("out of memory");
	memset(large, '#', 2 << 20);
	large[2 << 20] = '\0';
	write_at(&place, "work/.aisbx.yaml", large);
	refuses(&place, NULL, ERROR_INPUT, "larger than");
	write_at(&place, "work/.aisbx.yaml", "mem: 1m\n");
	if (geteuid() == 0 && chown(found, 12345, 12345) == 0) {
		tap_ok(load(&place, NULL, &settings) && settings.mem_bytes == SETTING_UNSET &&
			       noted(&place, "another user"),
		       "another user's is ignored");
		settings_done(&settings);
	} else {
		tap_skip(1, "only root can give a file away");
	}
	(void)unlink(found);
	tap_ok(load(&place, NULL, &settings) && place.notes.count == 0, "none is fine");
	settings_done(&settings);
}

static bool is_trusted(struct place *place)
{
	struct settings settings;
	bool trusted = load(place, NULL, &settings) && settings.mount_count == 1;

	settings_done(&settings);
	return trusted;
}

static int change_trust(struct place *place, const char *file, bool trust)
{
	owned(value_release) struct value *answer = NULL;

	memset(&place->err, 0, sizeof(place->err));
	return (trust ? app_profile_trust : app_profile_untrust)(file, place->env, &answer,
								 &place->err);
}

static void test_trust(void)
{
	static const char text[] = "net: allow\nmounts: [{host: ., guest: /m, mode: rw-through}]\n";
	owned(place_done) struct place place;
	owned(free_ptr) char *found = NULL, *list = NULL, *copy = NULL;

	place_init(&place);
	found = xasprintf("%s/.aisbx.yaml", place.workspace);
	list = xasprintf("%s/trust", place.config);
	write_at(&place, "work/.aisbx.yaml", text);
	tap_ok(!is_trusted(&place), "not trusted at first");
	tap_ok(change_trust(&place, found, true) == 0, "trust it (%s)", place.err.text);
	tap_ok(is_trusted(&place), "then all of it counts");
	tap_ok(place.notes.count == 0, "and nothing is noted");
	write_at(&place, "work/.aisbx.yaml",
		 "net: allow \nmounts: [{host: ., guest: /m, mode: rw}]\n");
	tap_ok(!is_trusted(&place), "one changed byte ends it");
	write_at(&place, "work/.aisbx.yaml", text);
	tap_ok(is_trusted(&place), "the old content is trusted again");
	(void)chmod(list, 0622);
	tap_ok(!is_trusted(&place), "a list that others may write trusts nothing");
	(void)chmod(list, 0600);
	copy = ptr_take(&place.workspace);
	place.workspace = xasprintf("%s/other", place.top);
	write_at(&place, "other/.aisbx.yaml", text);
	tap_ok(!is_trusted(&place), "the same content elsewhere is not trusted");
	tap_ok(trust_add(place.config, "/a\nb", "x", 1, &place.err) < 0,
	       "a path with a line break");
	free(place.workspace);
	place.workspace = ptr_take(&copy);

	tap_ok(change_trust(&place, found, false) == 0, "untrust it");
	tap_ok(!is_trusted(&place), "then it only narrows");
	tap_ok(change_trust(&place, found, false) < 0 && place.err.code == ERROR_NOT_FOUND,
	       "untrust what is not trusted");
	tap_ok(change_trust(&place, found, true) == 0 && unlink(found) == 0 &&
		       change_trust(&place, found, false) == 0,
	       "untrust a file that is gone");
	write_at(&place, "work/.aisbx.yaml", "memm: 1\n");
	tap_ok(change_trust(&place, found, true) < 0 && place.err.code == ERROR_INPUT,
	       "a malformed file cannot be trusted");
	place.env[0] = "HOME=";
	tap_ok(change_trust(&place, found, true) < 0 && change_trust(&place, found, false) < 0,
	       "without a home there is no trust");
}

static void test_trust_list(void)
{
	owned(place_done) struct place place;
	owned(free_ptr) char *list = NULL;
	struct str text = STR_INIT;

	place_init(&place);
	list = xasprintf("%s/trust", place.config);
	tap_ok(trust_remove(place.config, "/a", &place.err) < 0 &&
		       place.err.code == ERROR_NOT_FOUND,
	       "no list yet");
	tap_ok(trust_add(place.config, "/a", "one", 3, &place.err) == 0 &&
		       trust_add(place.config, "/b", "two", 3, &place.err) == 0 &&
		       trust_add(place.config, "/a", "three", 5, &place.err) == 0,
	       "three times");
	tap_ok(!trust_has(place.config, "/a", "one", 3) &&
		       trust_has(place.config, "/a", "three", 5) &&
		       trust_has(place.config, "/b", "two", 3) &&
		       !trust_has(place.config, "/b", "x", 1),
	       "one content at a place");
	write_at(&place, "home/.config/aisbx/trust", "# words\nshort /x\n");
	tap_ok(trust_add(place.config, "/c", "c", 1, &place.err) == 0 &&
		       file_read(AT_FDCWD, list, 4096, &text, &place.err) == 0 &&
		       str_starts(str_cstr(&text), "# words\nshort /x\n"),
	       "lines of others are kept");
	str_done(&text);
	(void)unlink(list);
	(void)mkdir(list, 0700);
	tap_ok(trust_add(place.config, "/c", "c", 1, &place.err) < 0 &&
		       place.err.code == ERROR_HOST,
	       "a list that is none");
}

static void test_verbs(void)
{
	owned(place_done) struct place place;
	owned(value_release) struct value *list = NULL, *shown = NULL;
	struct str text = STR_INIT;

	place_init(&place);
	write_at(&place, "home/.config/aisbx/profiles/mine.yaml",
		 "# What I like\nextends: dev\npids: 7\n");
	write_at(&place, "home/.config/aisbx/profiles/dev.yaml", "pids: 1\n");
	write_at(&place, "home/.config/aisbx/profiles/bad.yaml", "memm: 1\n");
	write_at(&place, "home/.config/aisbx/profiles/.hidden.yaml", "mem: 1m\n");
	write_at(&place, "home/.config/aisbx/profiles/notes.txt", "x");
	list = app_profile_list(place.env);
	tap_is_int((long long)list->many.count, 16, "three of the user's, thirteen built in");
	tap_is_str(value_get_text(list->many.items[0], "name"), "bad", "by name");
	tap_ok(str_starts(value_get_text(list->many.items[0], "summary"), "broken: "),
	       "a broken one");
	tap_is_str(value_get_text(list->many.items[1], "origin"), "user", "dev is the user's");
	tap_is_str(value_get_text(list->many.items[2], "summary"), "What I like",
		   "its first comment");
	tap_is_str(value_get_text(list->many.items[3], "name"), "default", "then those built in");

	tap_ok(app_profile_show("mine", place.env, &shown, &text, &place.err) == 0, "show");
	tap_ok(strstr(str_cstr(&text), "# What I like\n") &&
		       strstr(str_cstr(&text), "\n#   pids: 7\n"),
	       "its source, and what is in force");
	tap_is_str(value_get_text(value_get(shown, "effective"), "pids"), "7", "as data too");
	value_release(&shown);
	str_done(&text);
	tap_ok(app_profile_show("strict", place.env, &shown, &text, &place.err) == 0,
	       "show strict");
	tap_is_str(value_get_text(shown, "origin"), "built-in", "is built in");
	str_done(&text);
	tap_ok(app_profile_show("bad", place.env, &shown, &text, &place.err) < 0, "show bad");
	tap_ok(app_profile_check("bad", place.env, &place.err) < 0 && place.err.code == ERROR_INPUT,
	       "check bad");
	tap_ok(app_profile_check("mine", place.env, &place.err) == 0, "check mine");
}

int main(void)
{
	test_search();
	test_extends();
	test_workspace_widens();
	test_workspace_files();
	test_trust();
	test_trust_list();
	test_verbs();
	return tap_done();
}
