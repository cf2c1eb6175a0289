/* SPDX-License-Identifier: Apache-2.0 */
/* URLs of configurations: where they lead, and that no user info is left in any of them. */
#include "base/core/own.h"
#include "base/core/str.h"
#include "base/text/url.h"
#include "tests/tap.h"

#include <string.h>

static void leads(const char *text, const char *host, unsigned port)
{
	struct url url;

	if (tap_ok(url_parse(text, strlen(text), &url), "%s is a URL", text)) {
		tap_is_str(url.host, host, "its host");
		tap_is_int(url.port, port, "its port");
	}
}

static void leads_nowhere(const char *text)
{
	struct url url;

	tap_ok(!url_parse(text, strlen(text), &url), "no URL: %s", text);
}

static void becomes(const char *text, const char *want)
{
	owned(free_ptr) char *got = url_list_without_users(text);

	tap_is_str(got, want, "without users: %s", text);
}

int main(void)
{
	leads("https://example.org/simple", "example.org", 443);
	leads("HTTP://Example.ORG", "example.org", 80);
	leads("sparse+https://index.example.org/", "index.example.org", 443);
	leads("https://user:pa:ss@example.org:8443/a", "example.org", 8443);
	leads("https://a@b@example.org/", "example.org", 443);
	leads("http://[2001:db8::1]:81/", "[2001:db8::1]", 81);
	leads_nowhere("ftp://example.org/");
	leads_nowhere("https://");
	leads_nowhere("https:///etc");
	leads_nowhere("https://example.org:0/");
	leads_nowhere("https://example.org:65536/");
	leads_nowhere("https://example.org:/");
	leads_nowhere("https://user:pa/ss@example.org/");
	leads_nowhere("https://user:pa?ss@example.org/");
	leads_nowhere("https://good.example\\@evil.example/");
	leads_nowhere("https://example.org/?token=1");
	leads_nowhere("https://example.org/#t");
	leads_nowhere("https://exam ple.org/");
	leads_nowhere("https://${HOST}/");
	leads_nowhere("https://[::1/");
	leads_nowhere("https://*.example.org/");
	becomes("https://u:p@example.org/simple", "https://example.org/simple");
	becomes("https://u@a.example/,https://b.example|direct",
		"https://a.example/,https://b.example|direct");
	becomes("  https://t@a.example/x  b", "  https://a.example/x  b");
	becomes("-mod=mod -v", "-mod=mod -v");
	becomes("u:p@a.example/x", NULL);
	becomes("https://a.example/?token=x", NULL);
	becomes("ssh://t@a.example/", NULL);
	becomes("", "");
	becomes("https://example.org/dl/aB3dE6gH9jK2mN5pQ8sT/pypi/simple/", NULL);
	becomes("a https://example.org/0123456789abcdef0123456789abcdef", NULL);
	becomes("https://a1b2c3d4e5f6a7b8c9d0e1f2.example.org/simple",
		"https://a1b2c3d4e5f6a7b8c9d0e1f2.example.org/simple");
	becomes("https://example.org/a-long-path-of-plain-words/simple",
		"https://example.org/a-long-path-of-plain-words/simple");
	return tap_done();
}
