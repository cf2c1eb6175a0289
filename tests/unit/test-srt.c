/* SPDX-License-Identifier: Apache-2.0 */
/* Settings files of srt: what becomes rules, what is refused by name, what is noted; nothing is passed over. */
#include "profile/srt.h"

#include "base/core/own.h"
#include "tests/tap.h"

#define NETWORK "\"network\":{\"allowedDomains\":[],\"deniedDomains\":[]%s}"
#define FILES "\"filesystem\":{\"denyRead\":[%s],\"allowWrite\":[],\"denyWrite\":[]%s}"

struct read {
	struct settings settings;
	struct strv notes;
	struct error err;
	int status;
};

static void read_done(struct read *read)
{
	settings_done(&read->settings);
	strv_done(&read->notes);
}

static struct read read_text(const char *text)
{
	static const struct srt_place place = { .origin = "s.json",
						.home = "/home/u",
						.cwd = "/home/u/work/sub",
						.workspace = "/home/u/work" };
	struct read read = { .notes = STRV_INIT };

	settings_init(&read.settings);
	read.status = srt_parse(text, strlen(text), &place, &read.settings, &read.notes, &read.err);
	return read;
}

/* A file with MORE behind the domains, DENIED as denyRead, and REST behind the paths. */
static struct read read_parts(const char *more, const char *denied, const char *rest)
{
	owned(free_ptr) char *text = xasprintf("{" NETWORK "," FILES "}", more, denied, rest);

	return read_text(text);
}

static void test_network(void)
{
	owned(read_done) struct read read =
		read_text("{\"network\":{\"allowedDomains\":[\"example.org\",\"*.example.net:"
			  "8443\",\"[2001:db8::1]\"],"
			  "\"deniedDomains\":[\"bad.example.org\",\"*\",\"x.example.org:22\"],"
			  "\"deniedResolvedAddresses\":[\"192.0.2.0/24\",\"2001:db8::/32\"]},"
			  "\"filesystem\":{\"denyRead\":[],\"allowWrite\":[],\"denyWrite\":[]}}");
	const char *const allow[] = { "example.org:443", "example.org:80", "*.example.net:8443",
				      "[2001:db8::1]:443", "[2001:db8::1]:80" };
	const char *const deny[] = { "bad.example.org:1-65535",
				     "udp:bad.example.org:1-65535",
				     "0.0.0.0/0:1-65535",
				     "udp:0.0.0.0/0:1-65535",
				     "[::/0]:1-65535",
				     "udp:[::/0]:1-65535",
				     "x.example.org:22",
				     "192.0.2.0/24:1-65535",
				     "udp:192.0.2.0/24:1-65535",
				     "[2001:db8::/32]:1-65535",
				     "udp:[2001:db8::/32]:1-65535" };

	tap_is_int(read.status, 0, "domains are read");
	tap_is_str(read.settings.net, "allow", "there is a network");
	tap_is_int((int)read.settings.allow.count, 5, "as many rules to allow");
	for (size_t i = 0; i < read.settings.allow.count; i++)
		tap_is_str(read.settings.allow.items[i], allow[i], "allow %zu", i);
	tap_is_int((int)read.settings.deny.count, 11, "as many rules to deny");
	for (size_t i = 0; i < read.settings.deny.count; i++)
		tap_is_str(read.settings.deny.items[i], deny[i], "deny %zu", i);
	owned(read_done) struct read none = read_parts("", "", "");

	tap_is_str(none.settings.net, "none", "no domain is no network, whatever a profile says");
}

static void test_paths(void)
{
	owned(read_done) struct read read = read_parts("", "\"~/.ssh\",\"../sub/x\"", "");
	tap_ok(read.status < 0 && strstr(read.err.text, "s.json: filesystem.denyRead"),
	       "a path that goes up: %s", read.err.text);
	owned(read_done) struct read good =
		read_parts("",
			   "\"~/.ssh\",\"./x\",\"/srv/*.key\",\"/data/**\",\"/d2/*\",{\"path\":\"/"
			   "l\",\"literal\":true}",
			   "");
	const char *const hide[] = { "/home/u/.ssh", "/home/u/work/sub/x",
				     "/srv/*.key",   "/data",
				     "/d2",	     "/l" };

	tap_is_int((int)good.settings.hide.count, 6, "denyRead hides: %s", good.err.text);
	for (size_t i = 0; i < good.settings.hide.count; i++)
		tap_is_str(good.settings.hide.items[i], hide[i], "hide %zu", i);
	owned(read_done) struct read credentials =
		read_parts("", "",
			   "},\"credentials\":{\"files\":[{\"path\":\"~/"
			   ".netrc\",\"mode\":\"deny\"}],\"envVars\":"
			   "[{\"name\":\"T\",\"mode\":\"deny\"}]");

	tap_is_str(credentials.settings.hide.count ? credentials.settings.hide.items[0] : "",
		   "/home/u/.netrc", "denied credentials are hidden: %s", credentials.err.text);
}

static void test_workspace(void)
{
	owned(read_done) struct read hidden = read_parts("", "\"~\"", "");
	owned(read_done) struct read known =
		read_parts("", "\"~\"", ",\"allowRead\":[\"~/work\",\"~/other\"]");
	owned(read_done) struct read itself =
		read_parts("", "\"~/work\"", ",\"allowRead\":[\"~/work\"]");

	tap_ok(hidden.status < 0 && strstr(hidden.err.text, "allowRead"),
	       "hiding the workspace is refused, with the way out");
	tap_ok(known.status == 0 && known.settings.hide.count == 1, "unless it is allowed again");
	tap_ok(known.notes.count == 1 && strstr(known.notes.items[0], "/home/u/other stays hidden"),
	       "what is not opened again is noted");
	tap_ok(itself.status == 0 && itself.settings.hide.count == 0, "also itself");
}

/* Each is refused and named; the same key saying nothing passes. */
static void test_refused(void)
{
	static const struct {
		const char *more, *denied, *rest, *want;
	} rows[] = {
		{ ",\"mitmProxy\":{\"socketPath\":\"/x\"}", "", "", "network.mitmProxy cannot" },
		{ ",\"tlsTerminate\":{\"maxTunnels\":1}", "", "", "network.tlsTerminate" },
		{ ",\"httpProxyPort\":8080", "", "", "network.httpProxyPort" },
		{ ",\"socksProxyPort\":0", "", "", "network.socksProxyPort" },
		{ ",\"parentProxy\":{\"http\":\"x\"}", "", "", "network.parentProxy" },
		{ ",\"stripResponseHeaders\":[\"x\"]", "", "", "network.stripResponseHeaders" },
		{ ",\"refuseOpaqueTunnels\":true", "", "", "network.refuseOpaqueTunnels" },
		{ ",\"requireHostMatch\":true", "", "", "network.requireHostMatch" },
		{ ",\"filterRequest\":\"f\"", "", "", "network.filterRequest" },
		{ ",\"deniedResolvedAddresses\":[\"example.org\"]", "", "", "no address" },
		{ ",\"allowedDomain\":[]", "", "", "did you mean 'allowedDomains'" },
		{ "", "\"**/.env\"", "", "pattern that cannot be enforced" },
		{ "", "\"/a/?\"", "", "pattern" },
		{ "", "\"/a*/b\"", "", "pattern" },
		{ "", "{\"path\":\"/a*\",\"literal\":true}", "", "literal" },
		{ "", "1", "", "neither a path" },
		{ "", "\"\"", "", "neither a path" },
		{ "", "", ",\"denyReed\":[]", "did you mean 'denyRead'" },
		{ "", "", "},\"credentials\":{\"files\":[{\"path\":\"/x\",\"mode\":\"mask\"}]",
		  "credentials.files" },
		{ "", "", "},\"credentials\":{\"envVars\":[{\"name\":\"T\",\"mode\":\"mask\"}]",
		  "credentials.envVars" },
		{ "", "", "},\"credentials\":{\"sigv4\":{\"streaming\":true}",
		  "credentials.sigv4" },
		{ "", "", "},\"netwerk\":{\"x\":1", "did you mean 'network'" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		owned(read_done) struct read read =
			read_parts(rows[i].more, rows[i].denied, rows[i].rest);

		tap_ok(read.status < 0 && strstr(read.err.text, rows[i].want) &&
			       strncmp(read.err.text, "s.json: ", 8) == 0,
		       "refused: %s%s%s: %s", rows[i].more, rows[i].denied, rows[i].rest,
		       read.err.text);
	}
	owned(read_done) struct read silent = read_parts(
		",\"tlsTerminate\":null,\"requireHostMatch\":false,\"stripResponseHeaders\":[]", "",
		"");

	tap_is_int(silent.status, 0, "keys that say nothing pass: %s", silent.err.text);
}

static void test_domains(void)
{
	static const char *const bad[] = { "\"*\"",
					   "\"localhost\"",
					   "\"localhost:3000\"",
					   "\"127.0.0.1\"",
					   "\"a b\"",
					   "\"http://x\"",
					   "1",
					   "\"\"" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		owned(free_ptr) char *text = xasprintf(
			"{\"network\":{\"allowedDomains\":[%s],\"deniedDomains\":[]}," FILES "}",
			bad[i], "", "");
		owned(read_done) struct read read = read_text(text);

		tap_ok(read.status < 0 && strstr(read.err.text, "network.allowedDomains"),
		       "no domain: %s: %s", bad[i], read.err.text);
	}
}

static void test_notes(void)
{
	owned(read_done) struct read read = read_parts(
		",\"allowAllDomains\":true,\"allowUnixSockets\":[\"/x\"]", "",
		",\"disabled\":true},\"enableWeakerNestedSandbox\":true,\"git\":{\"x\":1");

	tap_is_int(read.status, 0, "permissions are no reason to refuse: %s", read.err.text);
	tap_is_int((int)read.notes.count, 4, "each is noted");
	tap_is_int((int)read.settings.allow.count, 0, "and not given");
	owned(read_done) struct read writes =
		read_text("{\"network\":{\"allowedDomains\":[],\"deniedDomains\":[]},"
			  "\"filesystem\":{\"denyRead\":[],"
			  "\"allowWrite\":[\".\",\"/tmp\"],\"denyWrite\":[{\"path\":\"x\"}]}}");

	tap_ok(writes.status == 0 && writes.notes.count == 1, "allowWrite is noted once: %s",
	       writes.err.text);
}

static void test_shapes(void)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{\"network\":[]}",
		"{\"network\":{},\"filesystem\":{}}",
		"{\"network\":{\"allowedDomains\":{},\"deniedDomains\":[]},\"filesystem\":{}}",
		"{\"network\":{\"allowedDomains\":[],\"deniedDomains\":[]},\"filesystem\":{}}",
		"{\"network\":{\"allowedDomains\":[],\"allowedDomains\":[]},\"filesystem\":{}}",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		owned(read_done) struct read read = read_text(bad[i]);

		tap_ok(read.status < 0 && strncmp(read.err.text, "s.json", 6) == 0,
		       "not such a file: %s: %s", bad[i], read.err.text);
	}
}

int main(void)
{
	test_network();
	test_paths();
	test_workspace();
	test_refused();
	test_domains();
	test_notes();
	test_shapes();
	return tap_done();
}
