/* SPDX-License-Identifier: Apache-2.0 */
/* What the linux driver does in the same way for a sandbox of its own and for one that runs already. */
#include "driver/linux/linux.h"

#include <sys/ioctl.h>
#include <unistd.h>

/* What can be checked without trying; the rest is refused by the start itself, before the command runs. */
int linux_check(const struct spec *spec, struct error *err)
{
	(void)spec;
	if (geteuid() != getuid())
		return error_set(err, ERROR_DENIED, "aisbx must not be run set-id");
	return 0;
}

/* Layers that a started sandbox has; the ones missing were named by the start. */
void linux_name_layers(struct task *task, uint32_t missing)
{
	strv_done(&task->layers);
	for (enum layer layer = LAYER_USER; layer <= LAYER_OVERLAY; layer++) {
		if (!(missing & (1u << layer)))
			strv_add(&task->layers, layer_name(layer));
	}
	task->degraded = missing;
}

void linux_resize(struct task *base, unsigned rows, unsigned columns)
{
	struct winsize size = { .ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns };

	if (base->pty_master >= 0)
		(void)ioctl(base->pty_master, TIOCSWINSZ, &size);
}
