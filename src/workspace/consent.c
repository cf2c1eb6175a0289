/* What needs a person's word before it reaches reality. */
#include "workspace/promote_parts.h"

#include "base/own.h"
#include "workspace/target.h"
#include "workspace/trigger.h"

#include <string.h>
#include <sys/stat.h>

static bool is_allowed_path(const struct promote *promote, const char *path)
{
	const struct promote_request *request = promote->request;

	for (size_t i = 0; i < request->allow_paths.count; i++)
		if (promote_matches(request->allow_paths.items[i], promote->sandbox->workspace,
				    path))
			return true;
	return false;
}

static void ask(struct promote *promote, const struct item *item, const char *why, const char *flag)
{
	struct promotion *promotion = promote->promotion;

	promotion->consents =
		xrealloc(promotion->consents, promotion->consent_count + 1, sizeof(struct consent));
	promotion->consents[promotion->consent_count++] = (struct consent){
		.path = xstrdup(item->path),
		.why = why,
		.flag = flag,
	};
}

/* Whether TARGET, read at PATH below the workspace, leads out of it; absolute ones may lead anywhere. */
static bool leads_out(const char *path, const char *target)
{
	long depth = 0;

	if (target[0] == '/')
		return true;
	for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/'))
		depth++;
	while (*target) {
		size_t len = strcspn(target, "/");

		if (len == 2 && strncmp(target, "..", 2) == 0)
			depth--;
		else if (len > 0 && !(len == 1 && *target == '.'))
			depth++;
		if (depth < 0)
			return true;
		target += len + strspn(target + len, "/");
	}
	return false;
}

/* A new directory below one with the bit has it from there: that is how groups share a tree. */
static bool is_inherited_group(const struct promote *promote, const struct item *item)
{
	const char *slash = strrchr(item->path, '/');
	owned(free_ptr) char *above =
		slash ? xstrndup(item->path, (size_t)(slash - item->path)) : xstrdup("");
	struct txn_identity parent;

	if (item->type != 'd' || (item->meta.mode & S_ISUID))
		return false;
	target_look(promote->target_fd, above, &parent);
	return parent.exists && (parent.mode & S_ISGID) && parent.gid == item->meta.gid;
}

static const char *why_privileged(const struct promote *promote, const struct item *item)
{
	/* A stranger's content under an old privilege is as bad as a new privilege. */
	bool keeps = item->now.exists && target_type(&item->now) == item->type &&
		     (item->type == 'd' || item->content == CONTENT_OURS);
	mode_t gained = item->meta.mode & ~(keeps ? (mode_t)item->now.mode : 0);

	if (item->type == 0 || item->type == 'l')
		return NULL;
	if (gained & S_ISUID)
		return "setuid";
	if ((gained & S_ISGID) && !is_inherited_group(promote, item))
		return "setgid";
	for (size_t i = 0; i < item->xattrs.count; i++) {
		if (strcmp(item->xattrs.items[i].name, "security.capability") == 0)
			return "file capability";
		if (strncmp(item->xattrs.items[i].name, "security.", 9) == 0 ||
		    strncmp(item->xattrs.items[i].name, "trusted.", 8) == 0)
			return "security attribute";
	}
	return NULL;
}

/* Directories only hold what is asked about by itself; what goes can still switch something off. */
static const char *why_trigger(const struct item *item)
{
	bool is_directory =
		item->type == 'd' || (item->type == 0 && target_type(&item->now) == 'd');

	return is_directory ? NULL : trigger_why(item->path);
}

static void ask_for(struct promote *promote, const struct item *item)
{
	const struct promote_request *request = promote->request;
	bool is_path_allowed = request->allow_all || is_allowed_path(promote, item->path);
	const char *why = why_trigger(item);

	if (why && !is_path_allowed)
		ask(promote, item, why, "--allow-path");
	if (item->type == 'l' && item->content == CONTENT_THEIRS && !is_path_allowed &&
	    leads_out(item->path, item->entry.new.link ? item->entry.new.link : "/"))
		ask(promote, item, "link leads out of the workspace", "--allow-path");
	why = why_privileged(promote, item);
	if (why && !request->allow_all && !request->allow_privilege)
		ask(promote, item, why, "--allow-privilege");
	if ((item->type == 'c' || item->type == 'b') && !request->allow_all &&
	    !request->allow_special)
		ask(promote, item, "device node", "--allow-special");
}

/* Sockets belong to a process that is gone. */
static void skip_sockets(struct promote *promote)
{
	for (size_t i = 0; i < promote->count; i++) {
		struct item *item = &promote->items[i];

		if (item->type != 's' || item->fate != FATE_APPLIED)
			continue;
		item->fate = FATE_LEFT;
		strv_add(&promote->promotion->skipped, item->path);
	}
}

int promote_ask(struct promote *promote, struct error *err)
{
	const struct promotion *promotion = promote->promotion;
	char shown[STR_SHOWN_SIZE];

	skip_sockets(promote);
	for (size_t i = 0; i < promote->count; i++)
		if (promote->items[i].is_selected && promote->items[i].fate != FATE_LEFT)
			ask_for(promote, &promote->items[i]);
	if (promotion->consent_count == 0)
		return 0;
	return error_set(err, ERROR_CONSENT, "%zu of the changes need your consent: '%s' (%s)%s",
			 promotion->consent_count, str_shown(promotion->consents[0].path, shown),
			 promotion->consents[0].why,
			 promotion->consent_count > 1 ? " and others" : "");
}
