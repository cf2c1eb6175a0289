/* The card of a living sandbox: what a client must know before it speaks to the keeper. Written once a start. */
#ifndef ENGINE_SANDBOX_CARD_H
#define ENGINE_SANDBOX_CARD_H

#include "base/error.h"
#include "spec/spec.h"

struct sandbox_card {
	struct spec_limits limits;
	struct spec_ids ids;
	enum root_mode root;
	bool time_said; /* the wall limit was asked for and is no default */
	char *workspace;
	struct strv secrets; /* NAME=FILE */
};

int sandbox_card_write(int dir_fd, const struct sandbox_card *card, struct error *err);
int sandbox_card_read(int dir_fd, struct sandbox_card *ret_card, struct error *err);
void sandbox_card_done(struct sandbox_card *card);

#endif
