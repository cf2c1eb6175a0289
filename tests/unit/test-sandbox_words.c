/* SPDX-License-Identifier: Apache-2.0 */
/* Settings kept as words: what is read again is what was meant. */
#include "app/sandbox/sandbox_parts.h"

#include "base/core/own.h"
#include "tests/tap.h"

static void set(struct request *request, const char *name, const char *value)
{
	struct error err = { 0 };

	tap_ok(settings_set(&request->flags, setting_find(name), name, value, &err) == 0, "%s %s",
	       name, value);
}

static void test_there_and_back(void)
{
	owned(strv_done) struct strv words = STRV_INIT, again = STRV_INIT;
	struct request request, read;
	struct error err = { 0 };
	bool is_same;

	request_init(&request);
	request_init(&read);
	request.profile = xstrdup("strict.yaml");
	set(&request, "mem", "512m");
	set(&request, "cpu", "1.5");
	set(&request, "time", "90s");
	set(&request, "env", "A=b c");
	set(&request, "env", "D=");
	set(&request, "require", "landlock");
	set(&request, "ro", "data:/mnt/data");
	set(&request, "rw", "/srv/x:/mnt/x");
	set(&request, "root", "project");
	sandbox_words_write(&request, "/home/u", true, &words);
	tap_ok(strv_has(&words, "/home/u/data:/mnt/data"), "a relative path is made absolute");
	tap_is_int(sandbox_words_read(&words, &read, &err), 0, "read again: %s", err.text);
	sandbox_words_write(&read, "/elsewhere", true, &again);
	is_same = words.count == again.count;
	for (size_t i = 0; is_same && i < words.count; i++)
		is_same = strcmp(words.items[i], again.items[i]) == 0;
	tap_ok(is_same, "and the same again, from elsewhere");
	request_done(&request);
	request_done(&read);
}

static void test_refused(void)
{
	owned(strv_done) struct strv words = STRV_INIT;
	struct request request;
	struct error err = { 0 };

	request_init(&request);
	strv_add(&words, "--no-such-thing");
	strv_add(&words, "1");
	tap_is_int(sandbox_words_read(&words, &request, &err), -1, "%s", err.text);
	strv_done(&words);
	strv_add(&words, "--mem");
	tap_is_int(sandbox_words_read(&words, &request, &err), -1, "a flag without a value");
	request_done(&request);
}

int main(void)
{
	test_there_and_back();
	test_refused();
	return tap_done();
}
