/* SPDX-License-Identifier: Apache-2.0 */
/* What configuration files of package clients say, form by form. */
#include "app/preset/preset_text.h"
#include "base/core/own.h"
#include "tests/tap.h"

#include <string.h>

/* The values of KEYS in TEXT, joined by blanks, are WANT. */
static void says(enum preset_form form, const char *text, const char *keys, const char *want)
{
	owned(strv_done) struct strv values = STRV_INIT;
	owned(str_done) struct str joined = STR_INIT;

	preset_text_read(form, text, strlen(text), keys, &values);
	for (size_t i = 0; i < values.count; i++)
		str_addf(&joined, "%s%s", i ? " " : "", values.items[i]);
	tap_is_str(str_cstr(&joined), want, "form %d: '%s' of %s", form, want, keys);
}

static void test_ini(void)
{
	says(PRESET_INI, "[global]\nindex-url = https://a.example\n", "index-url",
	     "https://a.example");
	says(PRESET_INI, "index_url=x\nINDEX-URL = y\n", "index-url", "x y");
	says(PRESET_INI, "extra-index-url =\n  a\n  b\nother = c\n", "extra-index-url", "a b");
	says(PRESET_INI, "# registry=a\n; registry=b\nregistry=c", "registry", "c");
	says(PRESET_INI, "@corp:registry=c\n//h/:_authToken=t\nregistry=r\n", "@*:registry", "c");
	says(PRESET_INI, "registry \"a\"\nnpmRegistryServer: \"b\"\n", "registry|npmregistryserver",
	     "a b");
	says(PRESET_INI, "GOPROXY='a,b'\n", "goproxy", "a,b");
}

static void test_toml(void)
{
	says(PRESET_TOML, "[source.mirror]\nregistry = \"a\" # \"b\"\n", "source.*.registry", "a");
	says(PRESET_TOML, "[source.\"m\"]\nregistry = 'a'\n[other]\nregistry = 'b'\n",
	     "source.*.registry", "a");
	says(PRESET_TOML, "[registries]\nmine = { token = \"t\", index = \"a\" }\n",
	     "registries.*.index", "a");
	says(PRESET_TOML, "registries.mine.index = \"a\"\n", "registries.*.index", "a");
	says(PRESET_TOML, "[[index]]\nurl = \"a\"\n", "index.url", "a");
	says(PRESET_TOML, "extra-index-url = [\"a\", 'b']\n", "extra-index-url", "a b");
	says(PRESET_TOML, "x = \"a", "x", "");
	says(PRESET_TOML, "[\n[]\n=\nx =\nx = {\n", "x", "");
}

static void test_xml(void)
{
	const char *key = "mirrors/mirror/url";

	says(PRESET_XML, "<s><mirrors><mirror><id>i</id><url> a </url></mirror></mirrors></s>", key,
	     "a");
	says(PRESET_XML, "<mirrors><!-- <mirror><url>a</url></mirror> --></mirrors>", key, "");
	says(PRESET_XML, "<mirrors><mirror x='1'><url/><url>b</url></mirror></mirrors>", key, "b");
	says(PRESET_XML, "<!DOCTYPE a [<!ENTITY e 'x'>]><other><url>a</url></other>", key, "");
	says(PRESET_XML, "<mirrors><mirror><url>a", key, "");
	says(PRESET_XML, "</a></b><url>a</url>", "url", "a");
}

static void test_apt(void)
{
	says(PRESET_DEB,
	     "# deb x y\ndeb [arch=amd64 a=b] a stable main\ndeb-src b s\ndebx c d\ndeb\n", "",
	     "a b");
	says(PRESET_DEB822,
	     "Types: deb\n# URIs: x\nURIs: a b\n c\nSuites: s\n\nURIs: d\nEnabled: no\n", "",
	     "a b c");
	says(PRESET_LINES, "a\n#b\n\n c \n", "", "a c");
}

static void test_quoted(void)
{
	says(PRESET_QUOTED, "I(\"a\", domain=\"b\")\nI(\"c\", domain=\"d\")", "I(|domain=", "a b");
	says(PRESET_LOOK, "<a href=\"a\"><a href='b'><a href=c>", "href=", "a b");
	says(PRESET_LOOK, "{\"dl\":\"a\"", "\"dl\":", "a");
}

/* As many as are bearable, however long the text; and in no time. */
static void test_limits(void)
{
	owned(strv_done) struct strv values = STRV_INIT;
	owned(str_done) struct str text = STR_INIT;

	for (size_t i = 0; i < 100000; i++)
		str_add(&text, "x = {a'b' \n");
	for (size_t i = 0; i < 100000; i++)
		str_add(&text, "href='");
	for (int form = PRESET_INI; form <= PRESET_LOOK; form++)
		preset_text_read((enum preset_form)form, str_cstr(&text), text.len, "x|href=|x.a",
				 &values);
	tap_ok(values.count <= PRESET_VALUES_MAX, "%zu values", values.count);
}

int main(void)
{
	test_ini();
	test_toml();
	test_xml();
	test_apt();
	test_quoted();
	test_limits();
	return tap_done();
}
