/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masks: from the tables to the sorted list launch builds the mask layer from.
 *
 * The deepest rule on the way to a path decides what is seen there. Two rules for one path: the stronger stands
 * (enum rank). A rule that changes nothing, since one above it has the same effect, is left out, so that a
 * launch does not look at a hundred credential files of a home that is empty anyway.
 */
#include "base/text/clean_path.h"
#include "base/core/own.h"
#include "base/text/wildcard.h"
#include "plan/git_config.h"
#include "plan/mask_list.h"
#include "plan/parts.h"
#include "spec/mask.h"

#include <stdlib.h>
#include <string.h>

enum rank {
	RANK_PLACE,	 /* directories hidden for what they are */
	RANK_TOOL,	 /* tool chains of HOME */
	RANK_CREDENTIAL, /* files hidden for what they hold */
	RANK_WORKSPACE,	 /* what the user works in: seen wherever it lies */
	RANK_OWN,	 /* our own directories: shown in no mode */
};

struct entry {
	enum mask_kind kind;
	enum rank rank;
	char *path;
	char *content;
	bool is_put; /* the spec owns path and content now */
};

struct entries {
	struct entry *items;
	size_t count, room;
};

static void entries_done(struct entries *entries)
{
	for (size_t i = 0; i < entries->count; i++) {
		if (entries->items[i].is_put)
			continue;
		free(entries->items[i].path);
		free(entries->items[i].content);
	}
	free(entries->items);
}

/* Takes PATH over. */
static struct entry *add(struct entries *entries, enum mask_kind kind, enum rank rank, char *path)
{
	if (entries->count == entries->room) {
		entries->room = entries->room ? entries->room * 2 : 128;
		entries->items = xrealloc(entries->items, entries->room, sizeof(*entries->items));
	}
	entries->items[entries->count] = (struct entry){ .kind = kind, .rank = rank, .path = path };
	return &entries->items[entries->count++];
}

/* NULL-ended NAMES below DIR; those with a pattern become MASK_GLOB. */
static void add_list(struct entries *entries, const char *dir, const char *const *names,
		     enum mask_kind kind, enum rank rank)
{
	for (; *names; names++)
		add(entries, strchr(*names, '*') ? MASK_GLOB : kind, rank, plan_join(dir, *names));
}

/* While rules are weighed, a path is followed at once by all that lies below it: '/' is the least letter. */
static int compare_paths(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	if (*a == *b)
		return 0;
	if (!*a || !*b)
		return *a ? 1 : -1;
	if (*a == '/' || *b == '/')
		return *a == '/' ? -1 : 1;
	return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;
	int order = compare_paths(left->path, right->path);

	return order ? order : (int)right->rank - (int)left->rank;
}

static bool hides(const struct entry *entry)
{
	return entry->kind == MASK_HIDE || entry->kind == MASK_EMPTY;
}

/* Whether a pattern hides PATH, or a directory that it lies in. */
static bool is_matched(const struct entries *entries, const char *path)
{
	for (size_t i = 0; i < entries->count; i++) {
		if (entries->items[i].kind == MASK_GLOB &&
		    mask_pattern_match(entries->items[i].path, path))
			return true;
	}
	return false;
}

/* Whether ENTRY changes anything below a place that is hidden or not. */
static bool matters(const struct entries *entries, const struct entry *entry, bool is_hidden)
{
	switch (entry->kind) {
	case MASK_HIDE:
	case MASK_GLOB:
		return !is_hidden;
	case MASK_KEEP:
		return is_hidden || is_matched(entries, entry->path);
	case MASK_EMPTY: /* has to exist, also below an empty one */
	case MASK_FILE:
	case MASK_LIST: /* added to the finished plan, as is MASK_GONE */
	case MASK_GONE:
		break;
	}
	return true;
}

/*
 * Hands the entry over to the spec. Its order is that of plain text, in which parents come first as well; it differs
 * from ours for odd names only ("a-b" beside "a/b"), so an entry moves a place or two, if at all.
 */
static void put_mask(struct spec *spec, struct entry *entry)
{
	size_t at = spec->mask_count++;

	for (; at > 0 && strcmp(spec->masks[at - 1].path, entry->path) > 0; at--)
		spec->masks[at] = spec->masks[at - 1];
	spec->masks[at] = (struct spec_mask){ entry->kind, entry->path, entry->content };
	entry->is_put = true;
}

/* Writes the sorted entries into the spec, weaker and idle ones left out. */
static void write_entries(struct spec *spec, struct entries *entries)
{
	const struct entry *open[64]; /* rules on the way to the entry looked at */
	size_t depth = 0;

	spec->masks = xrealloc(spec->masks, entries->count, sizeof(*spec->masks));
	for (size_t i = 0; i < entries->count; i++) {
		struct entry *entry = &entries->items[i];

		if (i > 0 && strcmp(entry->path, entries->items[i - 1].path) == 0)
			continue;
		while (depth > 0 && !path_is_within(entry->path, open[depth - 1]->path))
			depth--;
		if (!matters(entries, entry, depth > 0 && hides(open[depth - 1])))
			continue;
		put_mask(spec, entry);
		if (mask_is_of_directory(entry->kind) && depth < sizeof(open) / sizeof(open[0]))
			open[depth++] = entry;
	}
}

/* The caller's own may hold tokens and commands: inside stands one with name, e-mail and trusted authorities only. */
static void add_git_config(const struct planning *planning, struct entries *entries)
{
	const struct plan_paths *paths = planning->paths;
	char *content = git_config_make(paths->git_name, paths->git_email, &paths->git_authorities);

	if (content)
		add(entries, MASK_FILE, RANK_WORKSPACE,
		    plan_join(planning->spec->home, ".gitconfig"))
			->content = content;
}

/* Those at and below HOME's BELOW. */
static void add_credentials_of(struct entries *entries, const char *home, const char *below)
{
	for (const char *const *name = mask_home_hidden; *name; name++) {
		const char *const one[] = { *name, NULL };

		if (path_is_within(*name, below))
			add_list(entries, home, one, MASK_HIDE, RANK_CREDENTIAL);
	}
}

/*
 * Credential files of HOME that something makes visible. HOME itself is empty unless it is the workspace or
 * `home: full`, so most of the time there are none, and the hot path does not pay for the list.
 */
static void add_credentials(const struct planning *planning, struct entries *entries, bool all)
{
	const char *home = planning->spec->home, *workspace = planning->spec->workspace;

	if (all || strcmp(home, workspace) == 0)
		add_list(entries, home, mask_home_hidden, MASK_HIDE, RANK_CREDENTIAL);
	else if (path_is_within(workspace, home))
		add_credentials_of(entries, home, workspace + strlen(home) + 1);
}

/* Hides what lies at REST behind a link that leads to TARGET. */
static void add_link_target(const struct planning *planning, struct entries *entries,
			    const char *target, const char *rest)
{
	owned(free_ptr) char *path = *rest ? plan_join(target, rest) : xstrdup(target);

	if (!plan_is_needed(planning->spec, path))
		add(entries, strchr(rest, '*') ? MASK_GLOB : MASK_HIDE, RANK_CREDENTIAL,
		    ptr_take(&path));
}

/* A credential kept elsewhere and linked to from HOME has its real name too. */
static void add_link_targets(const struct planning *planning, struct entries *entries)
{
	const struct plan_paths *paths = planning->paths;

	for (size_t i = 0; i < paths->link_count; i++) {
		const struct plan_link *link = &paths->links[i];

		for (const char *const *name = mask_home_hidden; *name; name++) {
			const char *rest = mask_rest_behind(*name, link->name);

			if (rest)
				add_link_target(planning, entries, link->target, rest);
		}
	}
}

/* What stands in NAMES below HOME, by kinds for those without a pattern. */
static void add_names(struct entries *entries, const char *home, const struct strv *names,
		      enum mask_kind kind, enum rank rank)
{
	for (size_t i = 0; i < names->count; i++) {
		const char *const one[] = { names->items[i], NULL };

		add_list(entries, home, one, kind, rank);
	}
}

/* Credentials in tools' directories are hidden also where all of HOME is shown. */
static void add_tools(const struct planning *planning, struct entries *entries, bool are_shown)
{
	const struct plan_tools *tools = planning->paths->tools;
	const char *home = planning->spec->home;

	if (!tools)
		return;
	if (are_shown)
		add_names(entries, home, &tools->shown, MASK_KEEP, RANK_TOOL);
	add_names(entries, home, &tools->hidden, MASK_HIDE, RANK_CREDENTIAL);
	for (size_t i = 0; i < tools->targets.count; i++)
		add_link_target(planning, entries, tools->targets.items[i], "");
}

static void add_home(const struct planning *planning, struct entries *entries)
{
	const char *home = planning->spec->home, *mode = planning->settings->home;
	bool is_full = mode && strcmp(mode, "full") == 0;
	/* Daemons have "/" or a system directory for a home: nothing to empty there, but files to hide. */
	bool is_system = plan_is_system_dir(home);

	add_credentials(planning, entries, is_full || is_system);
	add_link_targets(planning, entries);
	add_tools(planning, entries, !is_full && !is_system);
	if (is_system)
		return;
	if (is_full) {
		strv_addf(&planning->spec->notes,
			  "home: full shows all of %s but the credential files aisbx knows of",
			  home);
		add(entries, MASK_KEEP, RANK_TOOL, xstrdup(home));
		return;
	}
	add(entries, MASK_EMPTY, RANK_PLACE, xstrdup(home));
	add_git_config(planning, entries);
}

/*
 * The same secrets by another name: where a second mount shows a filesystem again, what is hidden here is hidden
 * there. A mount made of a part of some hidden place (/srv/data at /data) was put there to be seen; one made of a
 * home or of a credential was not.
 */
static void add_aliases(const struct planning *planning, struct entries *entries, size_t count,
			const char *from, const char *to)
{
	const char *home = planning->spec->home;

	for (size_t i = 0; i < count; i++) {
		const struct entry entry = entries->items[i];

		if (!hides(&entry) && entry.kind != MASK_GLOB)
			continue;
		owned(free_ptr) char *alias = plan_alias(entry.path, from, to);

		/* The mount may be made of something the pattern stands for. */
		if (!alias && entry.kind == MASK_GLOB && mask_pattern_match(entry.path, from))
			add(entries, MASK_HIDE, entry.rank, xstrdup(to));
		if (!alias || (entry.rank == RANK_PLACE && strcmp(alias, to) == 0 &&
			       !plan_is_home_twin(entry.path, home, from, to)))
			continue;
		add(entries, entry.kind, entry.rank, ptr_take(&alias));
	}
}

/*
 * Credentials of HOME below the second name. The list stands nowhere else while HOME is empty, and a mount made of a
 * part of HOME, or one that is the workspace, is not.
 */
static void add_credential_aliases(const struct planning *planning, struct entries *entries,
				   const char *from, const char *to)
{
	const char *home = planning->spec->home;

	if (!path_is_within(home, from) && !path_is_within(from, home))
		return;
	for (const char *const *name = mask_home_hidden; *name; name++) {
		bool is_pattern = strchr(*name, '*') != NULL;
		owned(free_ptr) char *path = plan_join(home, *name);
		owned(free_ptr) char *alias = plan_alias(path, from, to);

		/* The mount may be made of something the pattern stands for. */
		if (!alias && is_pattern && mask_pattern_match(path, from))
			add(entries, MASK_HIDE, RANK_CREDENTIAL, xstrdup(to));
		if (alias)
			add(entries, is_pattern ? MASK_GLOB : MASK_HIDE, RANK_CREDENTIAL,
			    ptr_take(&alias));
	}
}

static void add_all_aliases(const struct planning *planning, struct entries *entries)
{
	const struct host *host = planning->host;
	const size_t count = entries->count, mounts = host->mount_count;

	/* Every ordered pair; all but binds fail at the first comparison. */
	for (size_t i = 0; i < mounts * mounts; i++) {
		const struct host_mount *a = &host->mounts[i / mounts],
					*b = &host->mounts[i % mounts];
		owned(free_ptr) char *from = NULL;
		owned(free_ptr) char *to = NULL;

		if (a->minor == b->minor && a->class != MOUNT_KERNEL &&
		    plan_twins(a, b, &from, &to)) {
			add_aliases(planning, entries, count, from, to);
			add_credential_aliases(planning, entries, from, to);
		}
	}
}

/*
 * Where promotions are prepared and kept for an undo, other than in the store: noted when it was used, or where the next
 * one to this workspace would be while its sandboxes run. What stands there is the past of other sandboxes.
 */
static void add_staging(const struct planning *planning, struct entries *entries)
{
	const struct host *host = planning->host;
	const struct strv *used = &planning->paths->staging;
	const char *workspace = planning->spec->workspace, *slash = strrchr(workspace, '/');
	owned(free_ptr) char *above = xstrndup(workspace, (size_t)(slash - workspace));

	for (size_t i = 0; i < used->count; i++)
		add(entries, MASK_HIDE, RANK_OWN, xstrdup(used->items[i]));
	for (size_t i = 0; i < host->mount_count; i++) {
		const char *point = host->mounts[i].point;
		bool is_root = host->uid == 0;

		/* Of the kernel's places nothing is shown anyway, and they change all the time. */
		if (host->mounts[i].class == MOUNT_REAL && host->mounts[i].is_directory &&
		    (is_root || path_is_within(point, workspace)) &&
		    !path_is_within(point, "/dev") && !path_is_within(point, "/sys"))
			add(entries, MASK_HIDE, RANK_OWN,
			    plan_join(point, is_root ? ".aisbx" : ".aisbx-txn"));
	}
	if (planning->spec->workspace_made)
		return;
	add(entries, MASK_HIDE, RANK_OWN, plan_join(workspace, ".aisbx-txn"));
	add(entries, MASK_HIDE, RANK_OWN, plan_join(*above ? above : "/", ".aisbx-txn"));
}

/*
 * Our own directories. Servers over HTTP leave their tokens in a directory of HOME or beside that of the sockets
 * (front/mcp/http_token.c).
 */
static void add_own(const struct planning *planning, struct entries *entries)
{
	const struct host *host = planning->host;
	const char *dirs[HOST_OWN_DIRS];
	const char *slash = strrchr(host->runtime_dir, '/');
	owned(free_ptr) char *beside =
		xstrndup(host->runtime_dir, (size_t)(slash - host->runtime_dir));

	host_own_dirs(host, dirs);
	for (size_t i = 0; i < HOST_OWN_DIRS; i++)
		add(entries, MASK_HIDE, RANK_OWN, xstrdup(dirs[i]));
	add(entries, MASK_HIDE, RANK_OWN, plan_join(planning->spec->home, MASK_TOKENS));
	add(entries, MASK_HIDE, RANK_OWN, plan_join(*beside ? beside : "/", MASK_TOKENS));
}

/* What is added to requests outside is not seen inside, wherever it lies. */
static void add_headers(const struct spec *spec, struct entries *entries)
{
	for (size_t i = 0; i < spec->secret_header.count; i++)
		add(entries, MASK_HIDE, RANK_OWN,
		    xstrdup(strchr(spec->secret_header.items[i], '=') + 1));
}

/* What the user hides goes, also where a tool chain below it would be kept. */
static void add_hidden(struct entries *entries, const struct strv *paths)
{
	for (size_t p = 0; p < paths->count; p++) {
		const char *path = paths->items[p];

		for (size_t i = 0; i < entries->count; i++) {
			struct entry *entry = &entries->items[i];

			if (entry->kind == MASK_KEEP && entry->rank == RANK_TOOL &&
			    (path_is_within(entry->path, path) ||
			     (strchr(path, '*') && mask_pattern_match(path, entry->path))))
				entry->kind = MASK_HIDE;
		}
		add(entries, strchr(path, '*') ? MASK_GLOB : MASK_HIDE, RANK_CREDENTIAL,
		    xstrdup(path));
	}
}

/* Whether PATH is hidden for what it holds, wherever it lies. What is only emptied, as HOME is, may show a part. */
static bool is_covered(const struct planning *planning, const struct entries *entries,
		       const char *path)
{
	for (size_t i = 0; i < entries->count; i++) {
		const struct entry *entry = &entries->items[i];

		if (entry->rank != RANK_PLACE && hides(entry) && path_is_within(path, entry->path))
			return true;
	}
	/* Where HOME is empty, the rules about its files are left out. */
	return mask_home_hides(planning->spec->home, path) || is_matched(entries, path);
}

/* Git directories outside the workspace; weighed when all that hides something is known. */
static void add_git(const struct planning *planning, struct entries *entries)
{
	const struct plan_paths *paths = planning->paths;

	strv_copy(&planning->spec->notes, &paths->git_notes);
	for (size_t i = 0; i < paths->git_count; i++) {
		const struct plan_git *git = &paths->git[i];
		bool is_hidden = is_covered(planning, entries, git->path);

		if (is_hidden || git->is_borrowed)
			strv_addf(&planning->spec->notes,
				  is_hidden ? "%s is not shown: it lies where files are hidden"
					    : "%s is readable inside: git borrows objects there",
				  git->path);
		for (size_t m = 0; m < git->count && !is_hidden; m++)
			add(entries, git->masks[m].kind, RANK_TOOL, xstrdup(git->masks[m].path))
				->content =
				git->masks[m].content ? xstrdup(git->masks[m].content) : NULL;
	}
}

int plan_masks(const struct planning *planning, struct error *err)
{
	const struct settings *settings = planning->settings;
	struct spec *spec = planning->spec;
	owned(entries_done) struct entries entries = { NULL, 0, 0 };
	owned(strv_done) struct strv hidden = STRV_INIT;

	if (plan_hidden(planning, &hidden, err) < 0)
		return -1;
	add_list(&entries, "/", mask_system_hidden, MASK_HIDE, RANK_CREDENTIAL);
	add_list(&entries, "/", mask_system_empty, MASK_EMPTY, RANK_PLACE);
	add_home(planning, &entries);
	if (!spec->workspace_made)
		add(&entries, MASK_KEEP, RANK_WORKSPACE, xstrdup(spec->workspace));
	if (settings->workspace_secrets && strcmp(settings->workspace_secrets, "mask") == 0)
		add_list(&entries, spec->workspace, mask_workspace_hidden, MASK_HIDE,
			 RANK_CREDENTIAL);
	add_hidden(&entries, &hidden);
	add_own(planning, &entries);
	add_staging(planning, &entries);
	add_headers(spec, &entries);
	add_all_aliases(planning, &entries);
	add_git(planning, &entries);
	qsort(entries.items, entries.count, sizeof(*entries.items), compare_entries);
	write_entries(spec, &entries);
	return 0;
}

bool plan_keeps_within(const struct spec *spec, const char *path)
{
	for (size_t i = 0; i < spec->mask_count; i++) {
		if (spec->masks[i].kind == MASK_KEEP && path_is_within(spec->masks[i].path, path))
			return true;
	}
	return false;
}
