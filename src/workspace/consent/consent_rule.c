/* SPDX-License-Identifier: Apache-2.0 */
/* Which changes need a person's word: one judgement for showing and for applying. */
#include "workspace/consent/consent_rule.h"

#include "base/core/own.h"
#include "base/core/str.h"
#include "workspace/disk/sys.h"
#include "workspace/disk/target.h"
#include "workspace/consent/name_fold.h"
#include "workspace/consent/trigger.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ACL_ACCESS "system.posix_acl_access"
#define ACL_DEFAULT "system.posix_acl_default"
#define ACL_HEAD 4  /* version */
#define ACL_ENTRY 8 /* tag, rights, id */
#define ACL_TAG_USER 0x02
#define ACL_TAG_GROUP 0x08
#define ACL_SIZE_MAX 65536

static const struct {
	const char *words, *flag;
} reasons[CONSENT_REASONS] = {
	{ "makes something run", "--allow-path" },
	{ "link leads out of the workspace", "--allow-path" },
	{ "setuid", "--allow-privilege" },
	{ "setgid", "--allow-privilege" },
	{ "file capability", "--allow-privilege" },
	{ "security attribute", "--allow-privilege" },
	{ "access list", "--allow-privilege" },
	{ "others may write to it", "--allow-privilege" },
	{ "given to another account", "--allow-privilege" },
	{ "fifo or device node", "--allow-special" },
	{ "taken from outside the workspace", "--allow-privilege" },
	{ "not to be written, by the sandbox's settings file", "--allow-path" },
	{ "link or special file in a git directory", "--allow-path" },
	{ "makes its directory a git directory", "--allow-path" },
};

static size_t index_of(unsigned reason)
{
	size_t index = (size_t)__builtin_ctz(reason);

	return index < CONSENT_REASONS ? index : 0;
}

const char *consent_words(unsigned reason, const char *path)
{
	const char *why = reason == CONSENT_TRIGGER ? trigger_why(path) : NULL;

	return why ? why : reasons[index_of(reason)].words;
}

const char *consent_flag(unsigned reason)
{
	return reasons[index_of(reason)].flag;
}

bool consent_leads_out(const char *root, const char *path, const char *target)
{
	const char *below = target[0] == '/' ? target_relative(root, target) : target;
	bool is_down = target[0] == '/';
	size_t depth = 0;

	if (root[1] == '\0')
		return false;
	if (!below)
		return true;
	/* Directories between the root and the link, which a relative target may climb. */
	for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/'))
		depth++;
	for (const char *at = below; *at; at += strspn(at, "/")) {
		size_t len = strcspn(at, "/");

		if (len == 2 && at[0] == '.' && at[1] == '.') {
			if (is_down || depth == 0)
				return true;
			depth--;
		} else if (len > 1 || (len == 1 && at[0] != '.')) {
			is_down = true;
		}
		at += len;
	}
	return false;
}

static bool is_same_type(const struct consent_case *what)
{
	return what->old.type != 0 && what->old.type == what->new.type;
}

/* Set and put back at once: there is no other way to ask that works everywhere, and meanwhile it is the narrowest. */
struct consent_caller consent_caller(void)
{
	mode_t mask = umask(077);

	(void)umask(mask);
	return (struct consent_caller){ .umask = mask, .is_root = geteuid() == 0 };
}

mode_t consent_mode(const struct consent_caller *caller, const struct consent_side *old,
		    const struct consent_side *new)
{
	mode_t mode = new->mode & 07777;

	/* Sticky means something for directories only. */
	if (new->type != 'd')
		mode &= ~(mode_t)S_ISVTX;
	if (new->type == 'l' || (old->type != 0 && old->type == new->type))
		return mode;
	return mode & ~(caller->umask & 0777);
}

static const struct xattr_item *find_attribute(const struct xattr_list *list, const char *name)
{
	for (size_t i = 0; list && i < list->count; i++)
		if (strcmp(list->items[i].name, name) == 0)
			return &list->items[i];
	return NULL;
}

static bool has_attribute(const struct xattr_list *list, const struct xattr_item *item)
{
	const struct xattr_item *other = find_attribute(list, item->name);

	return other && other->len == item->len &&
	       memcmp(other->value, item->value, item->len) == 0;
}

/* The nearest directory above a path that the host has: what is new below it inherits from there. */
struct above {
	bool exists;
	mode_t mode;
	uid_t uid;
	gid_t gid;
	struct xattr_item acl; /* its defaults, when it has a value */
};

static void above_done(struct above *above)
{
	free(above->acl.value);
}

static void look_above(const struct consent_case *what, struct above *ret_above)
{
	owned(free_ptr) char *dir = xstrdup(what->path);
	owned(fd_close) int fd = -1;
	char value[ACL_SIZE_MAX];
	struct stat st;

	*ret_above = (struct above){ 0 };
	for (char *slash; fd < 0 && (slash = strrchr(dir, '/'));) {
		*slash = '\0';
		fd = sys_open_beneath(what->root_fd, dir, O_RDONLY | O_DIRECTORY);
	}
	if (fd < 0)
		fd = openat(what->root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return;
	*ret_above = (struct above){
		.exists = true, .mode = st.st_mode, .uid = st.st_uid, .gid = st.st_gid
	};
	ssize_t len = fgetxattr(fd, ACL_DEFAULT, value, sizeof(value));

	if (len <= 0)
		return;
	ret_above->acl.len = (size_t)len;
	ret_above->acl.value = xmalloc((size_t)len);
	memcpy(ret_above->acl.value, value, (size_t)len);
}

/* Whether the access list names the same account or group with the same rights. */
static bool acl_has(const struct xattr_item *acl, const unsigned char *entry)
{
	const unsigned char *bytes = acl->value;

	for (size_t at = ACL_HEAD; at + ACL_ENTRY <= acl->len; at += ACL_ENTRY)
		if (memcmp(bytes + at, entry, ACL_ENTRY) == 0)
			return true;
	return false;
}

/* A list whose every name comes from the defaults of the directory above. */
static bool is_inherited_acl(const struct consent_case *what, const struct xattr_item *acl)
{
	owned(above_done) struct above above = { 0 };
	const unsigned char *bytes = acl->value;

	look_above(what, &above);
	if (!above.acl.value || acl->len < ACL_HEAD || (acl->len - ACL_HEAD) % ACL_ENTRY != 0)
		return false;
	for (size_t at = ACL_HEAD; at + ACL_ENTRY <= acl->len; at += ACL_ENTRY) {
		unsigned tag = bytes[at] | (unsigned)bytes[at + 1] << 8;
		bool is_named = tag == ACL_TAG_USER || tag == ACL_TAG_GROUP;

		if ((is_named || strcmp(acl->name, ACL_DEFAULT) == 0) &&
		    !acl_has(&above.acl, bytes + at))
			return false;
	}
	return true;
}

static unsigned reasons_of_attributes(const struct consent_case *what)
{
	const struct xattr_list *old = is_same_type(what) ? what->old.xattrs : NULL;
	unsigned found = 0;

	for (size_t i = 0; what->new.xattrs &&i < what->new.xattrs->count; i++) {
		const struct xattr_item *item = &what->new.xattrs->items[i];
		bool had = has_attribute(old, item);

		if (strcmp(item->name, ACL_ACCESS) == 0 || strcmp(item->name, ACL_DEFAULT) == 0) {
			if (!had && !is_inherited_acl(what, item))
				found |= CONSENT_ACL;
		} else if (had && !what->is_content_new) {
			continue;
		} else if (strcmp(item->name, "security.capability") == 0) {
			found |= CONSENT_CAPABILITY;
		} else if (str_starts(item->name, "security.") ||
			   str_starts(item->name, "trusted.")) {
			found |= CONSENT_ATTRIBUTE;
		}
	}
	return found;
}

/* A new directory below one with the bit has it from there: that is how groups share a tree. */
static bool is_inherited_group(const struct consent_case *what)
{
	owned(above_done) struct above above = { 0 };

	if (what->new.type != 'd')
		return false;
	look_above(what, &above);
	return above.exists && (above.mode & S_ISGID) && above.gid == what->new.gid;
}

static unsigned reasons_of_mode(const struct consent_case *what)
{
	/* A stranger's content under an old privilege is as bad as a new privilege. */
	mode_t had = is_same_type(what) ? what->old.mode : 0;
	mode_t kept = what->is_content_new ? 0 : had;
	unsigned found = 0;

	if (what->new.mode & ~kept & S_ISUID)
		found |= CONSENT_SETUID;
	if ((what->new.mode & ~kept &S_ISGID) && !is_inherited_group(what))
		found |= CONSENT_SETGID;
	if (is_same_type(what) &&
	    (what->new.mode & ~had &((what->caller->umask & S_IWGRP) | S_IWOTH)))
		found |= CONSENT_WRITABLE;
	return found;
}

/* What a root caller would hand to an account that had it neither before nor by the directory it lies in. */
static bool is_given_away(const struct consent_case *what)
{
	owned(above_done) struct above above = { 0 };
	uid_t uid = what->new.uid;

	if (!what->caller->is_root || uid == 0 || (is_same_type(what) && what->old.uid == uid))
		return false;
	look_above(what, &above);
	return !above.exists || above.uid != uid;
}

bool consent_is_named(const struct strv *named, const char *path)
{
	for (size_t i = 0; named && i < named->count; i++)
		if (!named->items[i][0] || target_relative(named->items[i], path))
			return true;
	return false;
}

/* Goes from PLACE to the next name of a path: NAME, of LEN bytes. */
static void enter_name(struct str *place, const char *name, size_t len)
{
	const char *slash = place->len > 0 ? memrchr(place->data, '/', place->len) : NULL;

	if (len == 2 && strncmp(name, "..", 2) == 0)
		str_truncate(place, slash ? (size_t)(slash - place->data) : 0);
	else if (len != 1 || *name != '.')
		str_addf(place, "%s%.*s", place->len > 0 ? "/" : "", (int)len, name);
}

/* Where a link at PATH below ROOT leads, relative to ROOT, by its words alone; NULL: out of it. The caller's to free. */
static char *link_place(const char *root, const char *path, const char *target)
{
	const char *below = target[0] == '/' ? target_relative(root, target) : target;
	const char *slash = strrchr(path, '/');
	struct str place = STR_INIT;

	if (!below)
		return NULL;
	if (target[0] != '/' && slash)
		str_add_bytes(&place, path, (size_t)(slash - path));
	for (const char *at = below; *(at += strspn(at, "/")); at += strcspn(at, "/"))
		enter_name(&place, at, strcspn(at, "/"));
	return str_detach(&place);
}

/* A link by which the next program that writes to it writes into a git directory. */
static bool leads_into_git(const struct consent_case *what)
{
	owned(free_ptr) char *place =
		what->link ? link_place(what->root, what->path, what->link) : NULL;
	owned(free_ptr) char *inside = place && *place ? xasprintf("%s/x", place) : NULL;

	return inside && git_tree_holds(what->tree, inside);
}

/* What the change means for the git directories of the tree. Git's own data are regular files and directories. */
static unsigned reasons_of_git(const struct consent_case *what)
{
	char type = what->new.type;
	bool is_data = type == 0 || type == 'd' || (type == 'f' && !what->is_linked);
	unsigned found = 0;

	if ((!is_data && git_tree_holds(what->tree, what->path)) ||
	    (type == 'l' && leads_into_git(what)))
		found |= CONSENT_GIT;
	if (type != 0 && git_tree_completes(what->tree, what->path))
		found |= CONSENT_REPOSITORY;
	return found;
}

/* Places of the system's own, where whatever is put is sooner or later read or run by others. */
static bool is_system_place(const char *path)
{
	static const char *const places[] = { "/bin",	"/boot",    "/etc",	 "/lib",
					      "/lib32", "/lib64",   "/opt",	 "/sbin",
					      "/usr",	"/var/lib", "/var/spool" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (target_relative(places[i], path))
			return true;
	return false;
}

static bool makes_run(const struct consent_case *what)
{
	owned(free_ptr) char *whole = NULL;

	if (what->is_git)
		return git_tree_why(what->tree, what->path) != NULL;
	if (consent_is_named(what->named, what->path) || git_tree_why(what->tree, what->path) ||
	    trigger_why_of_names(what->path))
		return true;
	if (!what->is_elsewhere)
		return false;
	whole = xasprintf("%s/%s", what->root[1] ? what->root : "", what->path);
	return trigger_why(whole) || is_system_place(whole);
}

/* Whether a directory goes without which its repository is none to git: then it ignores nothing either. */
static bool breaks_repository(const struct consent_case *what)
{
	char name[NAME_FOLD_SIZE];
	const char *rest;
	size_t len;

	return what->new.type == 0 && what->old.type == 'd' &&
	       git_tree_repository(what->tree, what->path, &len, &rest) &&
	       *name_fold(rest, name) == '\0' &&
	       (strcmp(name, "refs") == 0 || strcmp(name, "objects") == 0);
}

unsigned consent_reasons(const struct consent_case *what)
{
	char type = what->new.type;
	/* Directories only hold what is asked about by itself; what goes can still switch something off. */
	bool is_directory = type == 'd' || (type == 0 && what->old.type == 'd');
	unsigned found;

	/* Sockets belong to a process that is gone, and are left out. */
	if (type == 's')
		return 0;
	found = reasons_of_git(what);
	if (is_directory ? breaks_repository(what) : makes_run(what))
		found |= CONSENT_TRIGGER;
	if (type == 'l' && what->link && consent_leads_out(what->root, what->path, what->link))
		found |= CONSENT_LINK;
	if (type == 0 || type == 'l')
		return found;
	/* A program of the host that takes a fifo for a file waits for ever. */
	if (type == 'c' || type == 'b' || type == 'p')
		found |= CONSENT_DEVICE;
	if (what->is_from_outside && type != 'd')
		found |= CONSENT_OUTSIDE;
	if (is_given_away(what))
		found |= CONSENT_OWNER;
	return found | reasons_of_mode(what) | reasons_of_attributes(what);
}
