/* SPDX-License-Identifier: Apache-2.0 */
/* Three versions of one path judged aspect by aspect. */
#include "workspace/promote/conflict.h"

#include "base/text/suggest.h"

#include <string.h>

static const struct {
	const char *name;
	enum promote_strategy strategy;
} strategies[] = {
	{ "fail", STRATEGY_FAIL },
	{ "merge", STRATEGY_MERGE },
	{ "ours", STRATEGY_OURS },
	{ "host", STRATEGY_OURS },
	{ "theirs", STRATEGY_THEIRS },
	{ "sandbox", STRATEGY_THEIRS },
	{ "lww", STRATEGY_LWW },
	{ "merge+ours", STRATEGY_MERGE_OURS },
	{ "merge+theirs", STRATEGY_MERGE_THEIRS },
};

static bool is_same_content(const struct aspects *a, const struct aspects *b)
{
	return a->type == b->type && a->device == b->device && strcmp(a->content, b->content) == 0;
}

static bool is_same(const struct aspects *a, const struct aspects *b)
{
	if (a->type == 0 || b->type == 0)
		return a->type == b->type;
	return is_same_content(a, b) && a->mode == b->mode && a->uid == b->uid &&
	       a->gid == b->gid && strcmp(a->xattrs, b->xattrs) == 0;
}

static void judge_whole(struct verdict *verdict, enum take take, const char *kind)
{
	*verdict = (struct verdict){ .kind = kind, .object = take };
}

/* One aspect, by whether each two of its three values are equal. */
static enum take judge_aspect(bool ours_is_base, bool theirs_is_base, bool is_equal)
{
	if (is_equal || theirs_is_base)
		return TAKE_OURS;
	return ours_is_base ? TAKE_THEIRS : TAKE_UNDECIDED;
}

/* All three are there and of one type. */
static void judge_aspects(const struct aspects *base, const struct aspects *ours,
			  const struct aspects *theirs, struct verdict *verdict)
{
	*verdict = (struct verdict){ .object = TAKE_MERGE };
	verdict->content = judge_aspect(is_same_content(ours, base), is_same_content(theirs, base),
					is_same_content(ours, theirs));
	verdict->mode = judge_aspect(ours->mode == base->mode, theirs->mode == base->mode,
				     ours->mode == theirs->mode);
	verdict->owner = judge_aspect(ours->uid == base->uid && ours->gid == base->gid,
				      theirs->uid == base->uid && theirs->gid == base->gid,
				      ours->uid == theirs->uid && ours->gid == theirs->gid);
	verdict->xattrs = judge_aspect(strcmp(ours->xattrs, base->xattrs) == 0,
				       strcmp(theirs->xattrs, base->xattrs) == 0,
				       strcmp(ours->xattrs, theirs->xattrs) == 0);
	if (verdict->xattrs == TAKE_UNDECIDED)
		verdict->kind = "xattr";
	if (verdict->owner == TAKE_UNDECIDED)
		verdict->kind = "owner";
	if (verdict->mode == TAKE_UNDECIDED)
		verdict->kind = "mode";
	if (verdict->content == TAKE_UNDECIDED) {
		verdict->kind = "content";
		/* Files may combine line by line; nothing else does. */
		if (ours->type == 'f')
			verdict->content = TAKE_MERGE;
	}
}

/* Both made it, differently. */
static void judge_added(const struct aspects *ours, const struct aspects *theirs,
			struct verdict *verdict)
{
	if (ours->type != theirs->type) {
		judge_whole(verdict, TAKE_UNDECIDED, "type");
		return;
	}
	/* Two directories of one name are one directory; what is in them is judged by itself. */
	if (ours->type == 'd') {
		judge_whole(verdict, TAKE_OURS, NULL);
		return;
	}
	/* What did not exist had no mode: a difference has no base to be judged by. */
	*verdict = (struct verdict){
		.kind = "add/add",
		.object = TAKE_MERGE,
		.content = is_same_content(ours, theirs) ? TAKE_OURS
			   : ours->type == 'f'		 ? TAKE_MERGE
							 : TAKE_UNDECIDED,
		.mode = ours->mode == theirs->mode ? TAKE_OURS : TAKE_UNDECIDED,
		.owner = ours->uid == theirs->uid && ours->gid == theirs->gid ? TAKE_OURS
									      : TAKE_UNDECIDED,
		.xattrs = strcmp(ours->xattrs, theirs->xattrs) == 0 ? TAKE_OURS : TAKE_UNDECIDED,
	};
}

void conflict_judge(const struct aspects *base, const struct aspects *ours,
		    const struct aspects *theirs, struct verdict *ret_verdict)
{
	if (is_same(ours, theirs))
		judge_whole(ret_verdict, TAKE_OURS, NULL);
	else if (!base)
		judge_whole(ret_verdict, TAKE_UNDECIDED, "base-lost");
	else if (is_same(base, ours))
		judge_whole(ret_verdict, TAKE_THEIRS, NULL);
	else if (is_same(base, theirs))
		judge_whole(ret_verdict, TAKE_OURS, NULL);
	else if (theirs->type == 0)
		judge_whole(ret_verdict, TAKE_UNDECIDED, "delete/modify");
	else if (ours->type == 0)
		judge_whole(ret_verdict, TAKE_UNDECIDED,
			    theirs->type == 'd' ? "parent-gone" : "modify/delete");
	else if (base->type == 0)
		judge_added(ours, theirs, ret_verdict);
	else if (base->type != ours->type || base->type != theirs->type)
		judge_whole(ret_verdict, TAKE_UNDECIDED, "type");
	else
		judge_aspects(base, ours, theirs, ret_verdict);
}

static enum outcome later_of(const struct conflict_times *times)
{
	if (!times->comparable || times->ours_ns == 0 || times->theirs_ns == 0 ||
	    times->ours_ns == times->theirs_ns)
		return OUTCOME_OPEN;
	return times->theirs_ns > times->ours_ns ? OUTCOME_THEIRS : OUTCOME_OURS;
}

enum outcome conflict_outcome(enum promote_strategy strategy, const struct verdict *verdict,
			      const struct conflict_times *times)
{
	bool is_text = verdict->object == TAKE_MERGE && verdict->content == TAKE_MERGE;

	/* Markers never reach the host, not even with consent. */
	if (strcmp(verdict->kind, CONFLICT_UNRESOLVED) == 0)
		return strategy == STRATEGY_OURS ? OUTCOME_OURS : OUTCOME_OPEN;
	switch (strategy) {
	case STRATEGY_FAIL:
		return OUTCOME_OPEN;
	case STRATEGY_OURS:
		return OUTCOME_OURS;
	case STRATEGY_THEIRS:
		return OUTCOME_THEIRS;
	case STRATEGY_LWW:
		return later_of(times);
	case STRATEGY_MERGE:
	case STRATEGY_MERGE_OURS:
	case STRATEGY_MERGE_THEIRS:
		break;
	}
	return is_text ? OUTCOME_MERGE : conflict_outcome_unmerged(strategy);
}

enum outcome conflict_outcome_unmerged(enum promote_strategy strategy)
{
	if (strategy == STRATEGY_MERGE_OURS)
		return OUTCOME_OURS;
	return strategy == STRATEGY_MERGE_THEIRS ? OUTCOME_THEIRS : OUTCOME_OPEN;
}

static void settle(enum take *take, enum take side)
{
	if (*take == TAKE_UNDECIDED || *take == TAKE_MERGE)
		*take = side;
}

void conflict_settle(struct verdict *verdict, enum take side)
{
	if (verdict->object == TAKE_UNDECIDED) {
		verdict->object = side;
		return;
	}
	settle(&verdict->content, side);
	settle(&verdict->mode, side);
	settle(&verdict->owner, side);
	settle(&verdict->xattrs, side);
}

bool verdict_is_nothing(const struct verdict *verdict)
{
	if (verdict->object != TAKE_MERGE)
		return verdict->object == TAKE_OURS;
	return verdict->content == TAKE_OURS && verdict->mode == TAKE_OURS &&
	       verdict->owner == TAKE_OURS && verdict->xattrs == TAKE_OURS;
}

int promote_strategy_find(const char *name, enum promote_strategy *ret_strategy, struct error *err)
{
	struct suggest suggest;
	char shown[STR_SHOWN_SIZE];

	suggest_init(&suggest, name);
	for (size_t i = 0; i < sizeof(strategies) / sizeof(strategies[0]); i++) {
		if (strcmp(strategies[i].name, name) == 0) {
			*ret_strategy = strategies[i].strategy;
			return 0;
		}
		suggest_try(&suggest, strategies[i].name);
	}
	if (suggest.best) {
		error_set(err, ERROR_USAGE, "no strategy '%s'", str_shown(name, shown));
		return error_add_hint(err, "did you mean '%s'?", suggest.best);
	}
	return error_advise(err, ERROR_USAGE,
			    "there are fail, merge, ours, theirs, lww, merge+ours, merge+theirs",
			    "no strategy '%s'", str_shown(name, shown));
}

const char *promote_strategy_name(enum promote_strategy strategy)
{
	for (size_t i = 0; i < sizeof(strategies) / sizeof(strategies[0]); i++)
		if (strategies[i].strategy == strategy)
			return strategies[i].name;
	return "fail";
}
