/* SPDX-License-Identifier: Apache-2.0 */
/* Literals: credentials, and long texts that are there to be unpacked. */
#include "base/core/own.h"
#include "scan/judge/job.h"

#include <ctype.h>
#include <string.h>

/* Longer encoded texts than any digest. */
#define ENCODED_LENGTH 200u
/* So many letters written as numbers are no accident. */
#define ESCAPES 12u

struct token_row {
	const char *prefix;
	size_t least; /* characters behind it that belong to it */
};

static const struct token_row tokens[] = {
	{ "AKIA", 16 },	 { "ASIA", 16 },	{ "ghp_", 30 },	    { "gho_", 30 },
	{ "ghs_", 30 },	 { "github_pat_", 30 }, { "sk-ant-", 20 },  { "sk-proj-", 20 },
	{ "sk-", 32 },	 { "sk_live_", 16 },	{ "rk_live_", 16 }, { "xoxb-", 20 },
	{ "xoxp-", 20 }, { "AIza", 33 },	{ "glpat-", 16 },   { "npm_", 30 },
	{ "SG.", 40 },	 { "dop_v1_", 40 },	{ "hf_", 30 },	    { "pypi-", 40 },
	{ "ya29.", 20 },
};

static bool is_token_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* At most MOST bytes of TEXT, in small letters. */
static char *lowered(const char *text, size_t len, size_t most)
{
	char *lower = xstrndup(text, len < most ? len : most);

	for (char *at = lower; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	return lower;
}

/* What documentation puts where a credential would stand. */
static bool is_placeholder(const char *text, size_t len)
{
	static const char *const words[] = { "example",	    "xxxx",   "your",	   "changeme",
					     "placeholder", "dummy",  "sample",	   "redacted",
					     "test",	    "****",   "insert",	   "fake",
					     "password",    "secret", "<",	   "${",
					     "{{",	    "todo",   "123456789", "abcdef" };
	owned(free_ptr) char *lower = lowered(text, len, 200);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strstr(lower, words[i]))
			return true;
	}
	return false;
}

static bool has_digit(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (isdigit((unsigned char)text[i]))
			return true;
	}
	return false;
}

static bool has_letter(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (isalpha((unsigned char)text[i]))
			return true;
	}
	return false;
}

/* Whether a token of a known make begins at AT. */
static bool is_token(const char *at, const char *end)
{
	for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
		size_t prefix = strlen(tokens[i].prefix), len = 0;

		if ((size_t)(end - at) < prefix + tokens[i].least ||
		    strncmp(at, tokens[i].prefix, prefix) != 0)
			continue;
		while (at + prefix + len < end && is_token_char(at[prefix + len]))
			len++;
		if (len >= tokens[i].least && has_digit(at + prefix, len) &&
		    !is_placeholder(at, prefix + len))
			return true;
	}
	return false;
}

/* scheme://name:word@place */
static bool has_login(const char *text, const char *end)
{
	const char *at = memmem(text, (size_t)(end - text), "://", 3);
	const char *stop, *sign, *colon;

	if (!at)
		return false;
	at += 3;
	for (stop = at; stop < end && !strchr("/ \"'\n", *stop); stop++)
		;
	sign = memchr(at, '@', (size_t)(stop - at));
	colon = memchr(at, ':', (size_t)(stop - at));
	return sign && colon && colon < sign && sign - colon > 4 &&
	       !memchr(at, '{', (size_t)(sign - at)) && !memchr(at, '$', (size_t)(sign - at)) &&
	       !is_placeholder(at, (size_t)(stop - at)) &&
	       !memmem(at, (size_t)(sign - at), "user", 4);
}

static bool holds_credential(const char *text, size_t len)
{
	if (!text)
		return false;
	const char *end = text + len;

	if (memmem(text, len, "PRIVATE KEY-----", 16) && memmem(text, len, "-----BEGIN", 10) &&
	    len > 120)
		return true;
	for (const char *at = text; at + 8 < end; at++) {
		if ((at == text || !is_token_char(at[-1])) && is_token(at, end))
			return true;
	}
	return has_login(text, end);
}

struct alphabet {
	bool is_base64, is_hex;
	unsigned distinct;
	bool has_upper, has_lower, has_digit;
};

static void classify(const char *text, size_t len, struct alphabet *ret)
{
	bool seen[256] = { false };

	*ret = (struct alphabet){ .is_base64 = true, .is_hex = true };
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (!seen[c])
			ret->distinct++;
		seen[c] = true;
		ret->has_upper = ret->has_upper || isupper(c);
		ret->has_lower = ret->has_lower || islower(c);
		ret->has_digit = ret->has_digit || isdigit(c);
		if (c == '\n' || c == '\\' || c == '\r')
			continue;
		ret->is_hex = ret->is_hex && isxdigit(c);
		ret->is_base64 = ret->is_base64 && (isalnum(c) || strchr("+/=_-", c));
	}
}

/* Pictures and fonts that programs carry with them. */
static bool is_picture(const char *text)
{
	static const char *const begins[] = { "iVBOR", "/9j/",	"R0lGOD", "AAABAA", "d09G",
					      "PHN2Z", "UklGR", "T2dnUw", "SUkq",   "Qk0" };

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		if (str_starts(text, begins[i]))
			return true;
	}
	return false;
}

static bool is_encoded(const char *text, size_t len)
{
	struct alphabet alphabet;

	if (len < ENCODED_LENGTH)
		return false;
	classify(text, len, &alphabet);
	if (alphabet.is_hex)
		return alphabet.distinct >= 8;
	return alphabet.is_base64 && alphabet.distinct >= 20 && alphabet.has_upper &&
	       alphabet.has_lower && alphabet.has_digit;
}

static size_t count_escapes(const char *text, size_t len)
{
	size_t count = 0;

	for (size_t i = 0; i + 1 < len; i++) {
		if (text[i] == '\\' && (text[i + 1] == 'x' || text[i + 1] == 'u'))
			count++;
		if (text[i] == '\\')
			i++;
	}
	return count;
}

/* Whether a letter in front of a text's quotes stands here: b"", rb"". */
static bool is_prefix(const char *text, size_t len)
{
	if (len < 2 || !isalpha((unsigned char)text[0]) || !memchr(text, '"', len < 4 ? len : 4))
		return false;
	return text[1] == '"' || text[1] == '\'' || isalpha((unsigned char)text[1]);
}

/* Without the quotes and what stands in front of them. */
static void strip_quotes(const char **text, size_t *len)
{
	while (is_prefix(*text, *len)) {
		(*text)++;
		(*len)--;
	}
	while (*len > 0 && strchr("\"'`", **text)) {
		(*text)++;
		(*len)--;
	}
	while (*len > 0 && strchr("\"'`", (*text)[*len - 1]))
		(*len)--;
}

static bool has_any(const char *text, size_t len, const char *const *words)
{
	for (; *words; words++) {
		if (memmem(text, len, *words, strlen(*words)))
			return true;
	}
	return false;
}

/* A ransom note: what is to be paid, and what for. It has several words. */
static bool is_ransom_note(const char *text, size_t len)
{
	static const char *const coins[] = { "itcoin", "ITCOIN", "BTC", "btc",	"onero",
					     "ONERO",  "XMR",	 "xmr", "bc1q", NULL };
	static const char *const deeds[] = { "decrypt", "files back", "encrypted",
					     "ransom",	"locked",     NULL };
	owned(free_ptr) char *lower = NULL;

	if (len < 24 || !memchr(text, ' ', len) || !has_any(text, len, coins))
		return false;
	lower = lowered(text, len, 2000);
	return has_any(lower, strlen(lower), deeds);
}

void judge_literal(struct scan_job *job, uint32_t at, const char *text, size_t len, bool hides)
{
	strip_quotes(&text, &len);
	if (len >= 12 && holds_credential(text, len))
		job_find(job, at, RULE_CREDENTIAL, SEVERITY_MEDIUM, NULL);
	if (is_encoded(text, len))
		job_find(job, at, RULE_OBFUSCATION,
			 is_picture(text) ? SEVERITY_LOW : SEVERITY_MEDIUM, "a long encoded text");
	if (is_ransom_note(text, len))
		job_find(job, at, RULE_DELETE, SEVERITY_HIGH, "a letter that asks for a ransom");
	if (hides && count_escapes(text, len) >= ESCAPES)
		job_find(job, at, RULE_OBFUSCATION, SEVERITY_MEDIUM, "a text made of escapes");
}

/* A name for a value that is a secret; not for the place of one. */
static bool is_secret_name(const char *name)
{
	static const char *const words[] = { "password",   "passwd",	    "secret",
					     "api_key",	   "apikey",	    "access_key",
					     "auth_token", "private_key",   "access_token",
					     "passphrase", "client_secret", "authtoken",
					     "token" };
	static const char *const ends[] = { "url",    "name",	"file",	  "path",    "field",
					    "header", "prefix", "regex",  "pattern", "label",
					    "type",   "hint",	"param",  "error",   "env",
					    "var",    "key_id", "length", "expired", "input",
					    "hash" };
	bool is_secret = false;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		is_secret = is_secret || strstr(name, words[i]);
	for (size_t i = 0; is_secret && i < sizeof(ends) / sizeof(ends[0]); i++)
		is_secret = !str_ends(name, ends[i]);
	return is_secret;
}

/* Long enough, of letters and digits, and no address, path or text. */
static bool is_secret_value(const char *text, size_t len)
{
	if (len < 8 || len > 500 || !has_letter(text, len) || !has_digit(text, len))
		return false;
	return !strpbrk(text, " \n\x01<>") && !str_starts(text, "http") && !str_starts(text, "/") &&
	       !is_placeholder(text, len);
}

void judge_assigned(struct scan_job *job, uint32_t at, const char *name, size_t name_len,
		    const char *text, size_t len)
{
	owned(free_ptr) char *lower = lowered(name, name_len, 100);

	for (char *dash = strchr(lower, '-'); dash; dash = strchr(dash, '-'))
		*dash = '_';
	if (len > 0 && strchr("\"'", lower[0]) && lower[strlen(lower) - 1] == lower[0])
		lower[strlen(lower) - 1] = '\0';
	if (is_secret_value(text, len) && is_secret_name(lower))
		job_find(job, at, RULE_CREDENTIAL, SEVERITY_MEDIUM, lower);
}
