/* Fuzzes network rules: what is accepted must not open what it does not name. */
#include "base/own.h"
#include "net/policy.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(free_ptr) char *text = xstrndup((const char *)data, size);
	owned(strv_done) struct strv allow = STRV_INIT;
	struct strv deny = STRV_INIT;
	struct net_policy policy = { 0 };
	struct net_rule rule;
	struct net_address metadata;
	struct error err = { 0 };
	const char *by;

	if (net_rule_parse(text, &rule, &err) < 0) {
		if (err.code != ERROR_USAGE || strpbrk(err.text, "\n\033"))
			abort();
		return 0;
	}
	if (rule.first_port == 0 || rule.last_port < rule.first_port)
		abort();
	strv_add(&allow, text);
	if (net_policy_parse(&allow, &deny, &policy, &err) < 0)
		return 0;
	if (!net_address_parse("169.254.169.254", &metadata))
		abort();
	if (net_policy_address(&policy, &metadata,
			       (struct net_port){ rule.is_udp, rule.first_port },
			       &by) == NET_ALLOWED &&
	    !strstr(text, "169.254.169.254"))
		abort();
	net_policy_done(&policy);
	return 0;
}
