/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of a proxy's answer to CONNECT. */
#include "net/gateway/proxy.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tunnel tunnel = { .has_asked = true };
	enum tunnel_state state = TUNNEL_MORE;
	size_t at = 0;

	while (state == TUNNEL_MORE && at < size)
		state = tunnel_handle(&tunnel, (char)data[at++]);
	/* The way is open behind a whole head that begins so, and not a byte further; words for people have digits only. */
	if (at > TUNNEL_HEAD_MAX || (state == TUNNEL_MORE && at == TUNNEL_HEAD_MAX))
		abort();
	if (state == TUNNEL_OPEN &&
	    (data[at - 1] != '\n' || memcmp(data, "HTTP/1.", 7) != 0 || data[9] != '2'))
		abort();
	if (state == TUNNEL_REFUSED && strspn(tunnel.status + 9, "0123456789") != 3)
		abort();
	return 0;
}
