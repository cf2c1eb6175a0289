/* SPDX-License-Identifier: Apache-2.0 */
/* Network rules: what is a rule, what is a name, which addresses are special, who wins. */
#include "base/core/own.h"
#include "net/rule/policy.h"
#include "net/gateway/report.h"
#include "tests/tap.h"

#include <string.h>

static bool parses(const char *text)
{
	struct net_rule rule;
	struct error err = { 0 };

	return net_rule_parse(text, &rule, &err) == 0;
}

static const char *const good[] = {
	"example.org:443",
	"EXAMPLE.org.:1",
	"*.example.net:8000-8080",
	"udp:10.0.0.1:123",
	"10.0.0.0/8:80",
	"[2001:db8::1]:443",
	"[2001:db8::/32]:80",
	"0.0.0.0/0:443",
	"xn--bcher-kva.example:80",
	"host.local:5432",
	"a_b-c.example:80",
	"printer:631",
	"[::]:80",
	"[::/0]:1-65535",
	"1.2.3.4/32:1",
	"http:a.example:80",
	"http:GET:a.example:80",
	"http:GET,HEAD:a.example:80/api/",
	"http:GET:10.0.0.0/8:80/x",
	"http:[2001:db8::/32]:80/x:1/y",
	"http:*.a.example:8000-8010/x",
	"http:GET:80",
	"http:GET:a.example:80/a,,b",
	"http:a.example:443",
	"http:GET:a.example:1-500/x",
};
static const char *const bad[] = {
	"",
	"http:*.a.example:443",
	"http:10.0.0.1:443/x",
	"http:[2001:db8::/32]:1-500/x",
	"http:GET,:a.example:80",
	"http:GET,,HEAD:a.example:80",
	"http:a.example:80/../x",
	"http:a.example:80/a//b",
	"http:a.example:80/%2e%2e/",
	"http:a.example:80/x?y",
	"http:a.example:80/x y",
	"http:udp:a.example:80",
	"udp:http:a.example:80",
	"http:get:a.example:80",
	":80",
	"good.example",
	"good.example:0",
	"good.example:99999",
	"good.example:",
	"good.example:80-",
	"good.example:90-80",
	"good.example:8 0",
	"good.example:+80",
	"ex ample:80",
	"good.example\n:80",
	"good.example\t:80",
	"udp:*:443",
	"http:*:80",
	"*.:443",
	"a.*.b:443",
	"**.b:443",
	".example:80",
	"a..b:80",
	"-a.example:80",
	"a-.example:80",
	"\303\274ber.example:80",
	"2130706433:80",
	"0177.0.0.1:80",
	"0x7f.1:80",
	"a.0x7f:80",
	"1.2.3:80",
	"1.2.3.4.5:80",
	"256.1.1.1:80",
	"10.0.0.1/8:80",
	"10.0.0.0/33:80",
	"10.0.0.0/:80",
	"10.0.0.0/-1:80",
	"2001:db8::1:443",
	"[2001:db8::1:443",
	"[::ffff:127.0.0.1]:80",
	"[::ffff:0:0/96]:80",
	"[example.org]:80",
	"user@example.org:80",
	"example.org%2e:80",
	"udp:",
	"udp::80",
	"tcp:example.org:80",
};

static void test_rules(void)
{
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		tap_ok(parses(good[i]), "a rule: %s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_ok(!parses(bad[i]), "no rule: number %zu", i);
}

static void test_names(void)
{
	char out[NET_NAME_SIZE], longest[260];

	tap_ok(net_name_canonical("GOOD.Example.", 13, out), "a dot at the end");
	tap_is_str(out, "good.example", "is dropped, letters are lowered");
	tap_ok(!net_name_canonical("good.example..", 14, out), "one dot only");
	tap_ok(!net_name_canonical("a\0b", 3, out), "no NUL");
	memset(longest, 'a', sizeof(longest));
	tap_ok(!net_name_canonical(longest, 64, out), "a label of 64");
	tap_ok(net_name_canonical(longest, 63, out), "a label of 63");
	for (size_t i = 63; i < sizeof(longest); i += 64)
		longest[i] = '.';
	tap_ok(net_name_canonical(longest, 253, out), "253 bytes");
	tap_ok(!net_name_canonical(longest, 254, out), "254 bytes");
}

static const char *special(const char *text)
{
	struct net_address address;
	const struct net_special *found;

	if (!net_address_parse(text, &address))
		return "no address";
	found = net_address_special(&address);
	return found ? found->what : NULL;
}

static void test_special(void)
{
	static const char *const refused[] = {
		"0.0.0.0",
		"10.1.2.3",
		"100.64.0.1",
		"100.127.255.255",
		"127.0.0.1",
		"127.255.255.255",
		"169.254.169.254",
		"169.254.0.1",
		"168.63.129.16",
		"172.16.0.1",
		"172.31.255.255",
		"192.168.1.1",
		"192.0.0.192",
		"198.18.0.1",
		"224.0.0.1",
		"255.255.255.255",
		"::",
		"::1",
		"::7f00:1",
		"64:ff9b::7f00:1",
		"64:ff9b:1::1",
		"2002:7f00:1::",
		"2001::1",
		"fd00:ec2::254",
		"fe80::1",
		"fec0::1",
		"ff02::1",
		"100::1",
	};
	static const char *const open[] = { "1.1.1.1",	     "100.63.255.255", "100.128.0.0",
					    "172.32.0.1",    "198.51.100.10",  "192.0.1.1",
					    "2606:4700::11", "2001:db8::1",    "64:ff9c::1" };

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		tap_ok(special(refused[i]), "%s is %s", refused[i],
		       special(refused[i]) ? special(refused[i]) : "open");
	for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++)
		tap_ok(!special(open[i]), "%s is the internet's", open[i]);
}

struct world {
	struct strv allow, deny;
	struct net_policy policy;
};

static void world_open(struct world *world, const char *const *allow, const char *const *deny)
{
	struct error err;

	*world = (struct world){ 0 };
	for (; *allow; allow++)
		strv_add(&world->allow, *allow);
	for (; *deny; deny++)
		strv_add(&world->deny, *deny);
	if (net_policy_parse(&world->allow, &world->deny, &world->policy, &err) < 0)
		tap_bail(err.text);
}

static void world_close(struct world *world)
{
	net_policy_done(&world->policy);
	strv_done(&world->allow);
	strv_done(&world->deny);
}

#define LIST(...) ((const char *const[]){ __VA_ARGS__ __VA_OPT__(, ) NULL })

static enum net_answer name_at(const struct world *world, const char *name, uint16_t port)
{
	const char *rule;

	return net_policy_name(&world->policy, name, (struct net_port){ false, port }, &rule);
}

static enum net_answer address_at(const struct world *world, const char *text, uint16_t port)
{
	struct net_address address;
	const char *rule;

	if (!net_address_parse(text, &address))
		tap_bail(text);
	return net_policy_address(&world->policy, &address, (struct net_port){ false, port },
				  &rule);
}

static void test_by_name(void)
{
	struct world w;

	world_open(&w, LIST("good.example:80", "*.wild.example:443", "udp:good.example:123"),
		   LIST("bad.wild.example:443", "*.worse.wild.example:1-65535"));
	tap_is_int(name_at(&w, "good.example", 80), NET_ALLOWED, "listed");
	tap_is_int(name_at(&w, "good.example", 81), NET_SILENT, "on another port");
	tap_is_int(name_at(&w, "good.example", 123), NET_SILENT, "by UDP only");
	tap_is_int(name_at(&w, "api.good.example", 80), NET_SILENT, "below a name");
	tap_is_int(name_at(&w, "notgood.example", 80), NET_SILENT, "ends alike");
	tap_is_int(name_at(&w, "good.example.evil", 80), NET_SILENT, "starts alike");
	tap_is_int(name_at(&w, "a.wild.example", 443), NET_ALLOWED, "a label below");
	tap_is_int(name_at(&w, "a.b.wild.example", 443), NET_ALLOWED, "two labels below");
	tap_is_int(name_at(&w, "wild.example", 443), NET_SILENT, "not the name itself");
	tap_is_int(name_at(&w, "xwild.example", 443), NET_SILENT, "not without the dot");
	tap_is_int(name_at(&w, "bad.wild.example", 443), NET_DENIED, "deny wins");
	tap_ok(net_policy_lists(&w.policy, "a.wild.example"), "a name to be resolved");
	tap_ok(!net_policy_lists(&w.policy, "bad.wild.example"), "one that is denied is not");
	tap_ok(!net_policy_lists(&w.policy, "x.worse.wild.example"), "nor by a range");
	tap_ok(!net_policy_lists(&w.policy, "evil.example"), "nor any other");
	world_close(&w);
	world_open(&w, LIST("*.local:5432"), LIST());
	tap_is_int(name_at(&w, "host.local", 5432), NET_SILENT,
		   "the host is named, or not reached");
	world_close(&w);
}

static void test_by_address(void)
{
	struct world w;

	world_open(&w, LIST("0.0.0.0/0:443", "10.1.0.0/16:80", "127.0.0.1:80", "[fd00::1]:80"),
		   LIST("203.0.113.0/24:443"));
	tap_is_int(address_at(&w, "1.1.1.1", 443), NET_ALLOWED, "everybody");
	tap_is_int(address_at(&w, "10.1.2.3", 443), NET_SILENT, "but nobody special");
	tap_is_int(address_at(&w, "169.254.169.254", 443), NET_SILENT, "nor metadata");
	tap_is_int(address_at(&w, "10.1.2.3", 80), NET_ALLOWED, "a private network by its name");
	tap_is_int(address_at(&w, "10.2.2.3", 80), NET_SILENT, "and not its neighbour");
	tap_is_int(address_at(&w, "127.0.0.1", 80), NET_ALLOWED, "an address by its name");
	tap_is_int(address_at(&w, "127.0.0.2", 80), NET_SILENT, "and no other");
	tap_is_int(address_at(&w, "fd00::1", 80), NET_ALLOWED, "IPv6, too");
	tap_is_int(address_at(&w, "fd00::2", 80), NET_SILENT, "and no other");
	tap_is_int(address_at(&w, "203.0.113.9", 443), NET_DENIED, "deny wins");
	world_close(&w);
	world_open(&w, LIST("169.254.0.0/16:80"), LIST());
	tap_is_int(address_at(&w, "169.254.1.1", 80), NET_ALLOWED, "link-local by its network");
	tap_is_int(address_at(&w, "169.254.169.254", 80), NET_SILENT,
		   "metadata by its own address only");
	world_close(&w);
	world_open(&w, LIST(), LIST());
	tap_is_int(address_at(&w, "1.1.1.1", 443), NET_SILENT, "no rule, nobody");
	world_close(&w);
}

static bool fits(const char *first, const char *second)
{
	owned(strv_done) struct strv allow = STRV_INIT;
	struct strv deny = STRV_INIT;
	struct net_policy policy = { 0 };
	struct error err;

	strv_add(&allow, first);
	if (second)
		strv_add(&allow, second);
	if (net_policy_parse(&allow, &deny, &policy, &err) < 0)
		return false;
	net_policy_done(&policy);
	return true;
}

static void test_ports(void)
{
	uint16_t ports[NET_PORTS_MAX];
	struct world w;

	tap_ok(fits("a.example:1000-1255", NULL), "256 ports");
	tap_ok(fits("a.example:1000-1255", "b.example:1100-1200"), "counted once");
	tap_ok(!fits("a.example:1000-1256", NULL), "257 are too many");
	tap_ok(!fits("a.example:1000-1255", "udp:a.example:1000"), "UDP counts by itself");
	tap_ok(!fits("a.example:53", NULL), "the stub's port");
	world_open(&w, LIST("b.example:90", "a.example:80-82", "c.example:81"), LIST());
	tap_is_int((int)net_policy_ports(&w.policy, false, ports), 4, "distinct ports");
	tap_ok(ports[0] == 80 && ports[2] == 82 && ports[3] == 90, "in order");
	tap_is_int((int)net_policy_ports(&w.policy, true, ports), 0, "none of UDP");
	tap_ok(!net_policy_has_all(&w.policy), "not every port");
	world_close(&w);
	world_open(&w, LIST(NET_RULE_ALL, "a.example:80"),
		   LIST("b.example:1-65535", "c.example:1-9"));
	tap_ok(net_policy_has_all(&w.policy), "every port");
	tap_is_int((int)net_policy_ports(&w.policy, false, ports), 1,
		   "one listener for all of them");
	tap_is_int(name_at(&w, "d.example", 65535), NET_ALLOWED, "up to the last");
	tap_ok(net_policy_lists(&w.policy, "c.example"), "a name of which some ports are denied");
	tap_ok(!net_policy_lists(&w.policy, "b.example"), "and one of which all are");
	world_close(&w);
}

static enum net_answer ask(const struct net_policy *policy, const char *method, const char *path)
{
	struct net_address address;
	struct net_request request = { .name = "a.example",
				       .address = &address,
				       .port = { false, 80 },
				       .method = method,
				       .method_len = strlen(method),
				       .path = path,
				       .path_len = strlen(path) };
	const char *rule;

	(void)net_address_parse("192.0.2.1", &address);
	return net_policy_request(policy, &request, &rule);
}

static void test_requests(void)
{
	owned(strv_done) struct strv allow = STRV_INIT, deny = STRV_INIT;
	struct net_policy policy;
	struct error err;
	const char *rule;

	strv_add(&allow, "http:GET,HEAD:a.example:80/api");
	strv_add(&allow, "http:POST:a.example:80/api/in/");
	strv_add(&deny, "http:a.example:80/api/admin");
	tap_ok(net_policy_parse(&allow, &deny, &policy, &err) == 0, "rules about requests");
	tap_ok(ask(&policy, "GET", "/api") == NET_ALLOWED &&
		       ask(&policy, "HEAD", "/api/x") == NET_ALLOWED &&
		       ask(&policy, "GET", "/api?q=/x") == NET_ALLOWED &&
		       ask(&policy, "GET", "/%61pi/x") == NET_ALLOWED,
	       "methods and whole segments of the path");
	tap_ok(ask(&policy, "GET", "/apix") == NET_SILENT &&
		       ask(&policy, "GET", "/") == NET_SILENT &&
		       ask(&policy, "POST", "/api/x") == NET_SILENT &&
		       ask(&policy, "GETX", "/api") == NET_SILENT &&
		       ask(&policy, "GE", "/api") == NET_SILENT &&
		       ask(&policy, "POST", "/api/in") == NET_SILENT,
	       "and no others");
	tap_ok(ask(&policy, "GET", "/api/admin") == NET_DENIED &&
		       ask(&policy, "GET", "/api/%61dmin/x") == NET_DENIED &&
		       ask(&policy, "GET", "/api/x/../admin") == NET_DENIED &&
		       ask(&policy, "GET", "/api//admin") == NET_DENIED,
	       "a path that could mean what is denied is denied");
	tap_ok(ask(&policy, "GET", "/api/administrator") == NET_ALLOWED,
	       "what only looks alike is not");
	tap_ok(net_policy_name(&policy, "a.example", (struct net_port){ false, 80 }, &rule) ==
		       NET_ALLOWED,
	       "the connection itself may be made");
	net_policy_done(&policy);
}

/* Every way to write /admin that some server takes for it, in front of and behind other segments. */
static void test_disguises(void)
{
	static const char *const names[] = {
		"admin",    "Admin",	  "ADMIN",	 "%61dmin",    "adm%69n",
		"%41DMIN",  "admin;a",	  "admin;a=b;c", "admin%3ba",  "admin%3Ba=b",
		"admin.",   "admin...",	  "admin%20",	 "admin.%20.", "admin;",
		"admin.;x", "ADMIN%20;x", "adm%c4%b1n",	 "adm%C4%B0n", "%ef%bd%81dmin",
	};
	static const char *const fronts[] = { "/",     "//",	     "/./",	"/x/../", "/;/",
					      "/;x/",  "/%3b/",	     "/.;/",	"/...;/", "/%20/",
					      "/%2e/", "/x/%2e%2e/", "/x/..;/", "/%2f",	  "/.../" };
	static const char *const ends[] = { "", "/", "/x", "?q", "/?q", "/x;y" };
	static const char *const methods[] = { "DELETE", "delete", "Delete", "dELETE" };
	owned(strv_done) struct strv allow = STRV_INIT, deny = STRV_INIT;
	size_t tried = 0, passed = 0;
	struct net_policy policy;
	struct error err;

	strv_add(&allow, "a.example:80");
	strv_add(&deny, "http:a.example:80/admin/");
	strv_add(&deny, "http:DELETE:a.example:80");
	if (net_policy_parse(&allow, &deny, &policy, &err) < 0)
		tap_bail("rules that should parse");
	for (size_t i = 0; i < sizeof(fronts) / sizeof(fronts[0]); i++) {
		for (size_t j = 0; j < sizeof(names) / sizeof(names[0]); j++) {
			for (size_t k = 0; k < sizeof(ends) / sizeof(ends[0]); k++) {
				char path[128];

				(void)snprintf(path, sizeof(path), "%s%s%s", fronts[i], names[j],
					       ends[k]);
				tried++;
				if (ask(&policy, "GET", path) != NET_DENIED && passed++ < 5)
					tap_ok(false, "a disguise passes: %s", path);
			}
		}
	}
	tap_ok(passed == 0, "none of %zu disguises of a path passes", tried);
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		tap_is_int(ask(&policy, methods[i], "/"), NET_DENIED, "%s", methods[i]);
	tap_ok(ask(&policy, "GET", "/x;admin") == NET_ALLOWED &&
		       ask(&policy, "GET", "/administrator") == NET_ALLOWED &&
		       ask(&policy, "GET", "/x/admin") == NET_ALLOWED &&
		       ask(&policy, "GET", "/.well-known/x.y") == NET_ALLOWED &&
		       ask(&policy, "GET", "/x?admin") == NET_ALLOWED &&
		       ask(&policy, "DELETED", "/x") == NET_ALLOWED,
	       "what is something else to every server passes");
	net_policy_done(&policy);
}

static void test_exact_address(void)
{
	const char *const allow[] = { "0.0.0.0/0:443", "8.8.8.8:443", "[2600::1]:443", NULL };
	const char *const deny[] = { NULL };
	struct net_port port = { false, 443 }, other = { false, 80 };
	struct net_address address;
	struct world w;

	world_open(&w, allow, deny);
	(void)net_address_parse("8.8.8.8", &address);
	tap_ok(net_policy_names_address(&w.policy, &address, port), "an address of its own rule");
	tap_ok(!net_policy_names_address(&w.policy, &address, other), "not on another port");
	(void)net_address_parse("8.8.4.4", &address);
	tap_ok(!net_policy_names_address(&w.policy, &address, port), "a network is not enough");
	(void)net_address_parse("2600::1", &address);
	tap_ok(net_policy_names_address(&w.policy, &address, port), "IPv6 as well");
	world_close(&w);
}

/* A denial of 10.0.0.1 says nothing of a call to 10.0.0.11. */
static void test_settled(void)
{
	struct net_denial denial = { .port = 53, .address = "10.0.0.1" };

	tap_ok(net_denial_settles(&denial, "10.0.0.1"), "a denial settles a call to its address");
	tap_ok(!net_denial_settles(&denial, "10.0.0.11") &&
		       !net_denial_settles(&denial, "110.0.0.1") &&
		       !net_denial_settles(&denial, ""),
	       "and to no other that contains it");
	denial.port = 0;
	tap_ok(net_denial_settles(&denial, "10.0.0.11"), "the denial of a name settles any");
}

int main(void)
{
	test_settled();
	test_disguises();
	test_exact_address();
	test_rules();
	test_names();
	test_special();
	test_by_name();
	test_by_address();
	test_ports();
	test_requests();
	return tap_done();
}
