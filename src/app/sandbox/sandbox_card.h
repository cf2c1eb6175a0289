/* SPDX-License-Identifier: Apache-2.0 */
/* The card of a living sandbox: what a client must know before it speaks to the keeper. Written once a start. */
#ifndef ENGINE_SANDBOX_CARD_H
#define ENGINE_SANDBOX_CARD_H

#include "base/error.h"
#include "spec/spec.h"

/* How the sandbox wants code to be vetted; grows with what it refuses. */
enum card_scan { CARD_SCAN_OFF, CARD_SCAN_WARN, CARD_SCAN_ENFORCE };

struct sandbox_card {
	struct spec_limits limits;
	struct spec_ids ids;
	enum root_mode root;
	bool time_said; /* the wall limit was asked for and is no default */
	enum card_scan scan;
	bool signed_only;
	bool aliases_cut; /* as in a spec */
	char *workspace;
	struct strv secrets; /* NAME=FILE */
	struct strv env;     /* what the sandbox sets for each command: NAME=VALUE */
};

int sandbox_card_write(int dir_fd, const struct sandbox_card *card, struct error *err);
int sandbox_card_read(int dir_fd, struct sandbox_card *ret_card, struct error *err);
/* By its word (NULL: off), and the word again (NULL for off). */
enum card_scan card_scan_named(const char *word);
const char *card_scan_name(enum card_scan scan);

void sandbox_card_done(struct sandbox_card *card);

#endif
