/* SPDX-License-Identifier: Apache-2.0 */
/* Network words: which rules each stands for. */
#include "base/core/own.h"
#include "spec/net_words.h"
#include "tests/tap.h"

#include <string.h>

/* The rules by comma, or "refused". */
static void check_word(const char *word, bool is_deny, const char *expected)
{
	owned(strv_done) struct strv rules = STRV_INIT;
	owned(str_done) struct str text = STR_INIT;
	struct error err = { 0 };

	if (net_words_expand(word, is_deny, "--allow", &rules, &err) < 0) {
		tap_ok(rules.count == 0 && err.code == ERROR_USAGE &&
			       str_starts(err.text, "--allow: '"),
		       "a refusal changes nothing and names the place: %s", err.text);
		str_add(&text, "refused");
	}
	for (size_t i = 0; i < rules.count; i++)
		str_addf(&text, "%s%s", i > 0 ? " " : "", rules.items[i]);
	tap_is_str(str_cstr(&text), expected, "%s", word);
}

static const char *const allowed[][2] = {
	{ "example.org", "example.org:443 example.org:80" },
	{ "example.org:8443", "example.org:8443" },
	{ "example.org:8000-8080", "example.org:8000-8080" },
	{ "*.example.org", "*.example.org:443 *.example.org:80" },
	{ "a.example,b.example:22", "a.example:443 a.example:80 b.example:22" },
	{ "a.example,a.example:443", "a.example:443 a.example:80" },
	{ "https://a.example/", "a.example:443" },
	{ "https://a.example", "a.example:443" },
	{ "https://a.example:8443/", "a.example:8443" },
	{ "http://a.example/", "a.example:80" },
	{ "https://a.example/simple", "refused" },
	{ "http://a.example/simple", "refused" },
	{ "https://*", "refused" },
	{ "https://*/", "refused" },
	{ "https://*:8443", "refused" },
	{ "http://*", "refused" },
	{ "net:egress:https://*", "refused" },
	{ "a.example,https://*", "refused" },
	{ "http:*:80/", "refused" },
	{ "http:GET:*:80/", "refused" },
	{ "http:GET,HEAD:*:80", "refused" },
	{ "https://*.a.example", "*.a.example:443" },
	{ "https://user@a.example/", "refused" },
	{ "https:///", "refused" },
	{ "https://:80/", "refused" },
	{ "10.0.0.0/8", "10.0.0.0/8:443 10.0.0.0/8:80" },
	{ "[2001:db8::1]", "[2001:db8::1]:443 [2001:db8::1]:80" },
	{ "[2001:db8::1]:22", "[2001:db8::1]:22" },
	{ "localhost:5432", "localhost:5432" },
	{ "localhost", "refused" },
	{ "LOCALHOST.", "refused" },
	{ "udp:a.example:443", "udp:a.example:443" },
	{ "udp:a.example", "refused" },
	{ "net:egress:a.example:443", "a.example:443" },
	{ "net:egress:a.example,b.example:1", "a.example:443 a.example:80 b.example:1" },
	{ "http:GET,HEAD:a.example:80/x,y", "http:GET,HEAD:a.example:80/x,y" },
	{ "b.example:1,http:GET,HEAD:a.example:80/", "b.example:1 http:GET,HEAD:a.example:80/" },
	{ "", "refused" },
	{ ",", "refused" },
	{ "a.example,", "refused" },
	{ "a.example b.example", "refused" },
	{ "a.example:", "refused" },
	{ "a.example:x", "refused" },
	{ "a.example\033[2J", "refused" },
	{ "443", "refused" },
	{ "udp:", "refused" },
};

static const char *const denied[][2] = {
	{ "a.example", "a.example:1-65535 udp:a.example:1-65535" },
	{ "udp:a.example", "udp:a.example:1-65535" },
	{ "https://a.example/", "a.example:1-65535 udp:a.example:1-65535" },
	{ "localhost", "localhost:1-65535 udp:localhost:1-65535" },
	{ "a.example:443", "a.example:443" },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
		check_word(allowed[i][0], false, allowed[i][1]);
	for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]); i++)
		check_word(denied[i][0], true, denied[i][1]);
	return tap_done();
}
