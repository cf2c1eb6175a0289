/* Rows of the verbs that carry a change on: stages, kept outputs, commits. */
#include "ops/rows.h"

#define GROUP "Carry it on"

/* In aisbx-more only: see table.c. */
#pragma weak op_stage_run

static const struct op_param stage_params[] = {
	{ .name = "file",
	  .letter = 'f',
	  .metavar = "FILE",
	  .help = "run: the pipeline; default: pipeline.yaml of the workspace, else yours" },
	{ .name = "to", .metavar = "STAGE", .help = "run: go no further than this stage" },
	{ .name = "allow-path",
	  .kind = PARAM_LIST,
	  .metavar = "PATH",
	  .help = "run: agree to a change that needs a word, as for promote; repeat it" },
	{ .name = NULL },
};

static const struct op_column stage_columns[] = {
	{ "bundle", "BUNDLE" },
	{ "sandbox", "SANDBOX" },
	{ "made", "MADE" },
	{ NULL, NULL },
};

const struct op stage_row = {
	.name = "stage",
	.usage = "run NAME [flags]   |   status [BUNDLE]   |   approve BUNDLE STAGE",
	.summary = "apply a change to one directory after another, checked at each",
	.group = GROUP,
	.words = "run|status|approve",
	.flags = OP_LIBRARIES,
	.params = stage_params,
	.columns = stage_columns,
	.help = "A pipeline names stages: a target directory each, conditions before and\n"
		"after, and what comes first. run seals what a sandbox changed as a bundle,\n"
		"then for each stage: checks a clone of the target with the bundle on it,\n"
		"applies, checks the target as it is then. What fails after that is taken\n"
		"back, and later stages are not touched. A killed run goes on where it was.\n"
		"A stage takes only the bundle that is live in the one before it.\n"
		"\n"
		"A pipeline that lies in the workspace must be trusted (aisbx profile trust).\n"
		"Exit: 0 live, 1 rolled back, 3 conflict, 4 refused or waiting for approval.\n"
		"\n"
		"Examples:\n"
		"  aisbx stage run fix-1 -f pipeline.yaml --to staging\n"
		"  aisbx stage status\n"
		"  aisbx stage approve 3f2a91c0 production\n",
	.run = op_stage_run,
};
