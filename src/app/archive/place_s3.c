/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An archive that is a bucket of S3. curl signs and carries (AWS Signature Version 4), as it does for spans; three things are ours: it sends no
 * x-amz-content-sha256, wants the parameters of a query in their order, and signs a path as it is given.
 */
#include "app/archive/place.h"

#include "app/archive/s3_account.h"
#include "base/core/own.h"
#include "base/file/fd.h"
#include "base/process/child.h"
#include "base/text/url.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define EMPTY_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define ANSWER_MAX ((uint64_t)4 << 20)
/* A server that always has more is not believed for ever. */
#define PAGES_MAX 10000u
#define STATUS_SIZE 1024

struct s3_place {
	struct archive_place base;
	struct s3_account account;
	char *url;    /* of the bucket, with the prefix and without a slash at the end */
	char *bucket; /* the same without the prefix */
	char *prefix; /* "" or "PREFIX/" */
	char *drafts;
	char *const *environ;
};

struct request {
	const char *url;
	const char *line;   /* of curl's configuration, for what is no GET; NULL: a GET */
	const char *sha256; /* of the body */
	int to_fd;	    /* where the answer's body goes */
	uint64_t max;	    /* of it */
};

struct reply {
	long status;
	char etag[200];
	int64_t length; /* -1: not known */
};

/* A value of curl's configuration, in quotes. */
static void add_line(struct str *out, const char *name, const char *value)
{
	str_addf(out, "%s = \"", name);
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			str_add_char(out, '\\');
		str_add_char(out, *value);
	}
	str_add(out, "\"\n");
}

static void write_config(const struct s3_place *place, const struct request *request,
			 struct str *out)
{
	const struct s3_account *account = &place->account;
	owned(free_ptr) char *user = xasprintf("%s:%s", account->key, account->secret);
	owned(free_ptr) char *how = xasprintf("aws:amz:%s:s3", account->region);
	owned(free_ptr) char *hash = xasprintf("x-amz-content-sha256: %s", request->sha256);

	add_line(out, "url", request->url);
	add_line(out, "user", user);
	add_line(out, "aws-sigv4", how);
	add_line(out, "header", hash);
	add_line(out, "header", "Expect:");
	if (account->token) {
		owned(free_ptr) char *token = xasprintf("x-amz-security-token: %s", account->token);

		add_line(out, "header", token);
	}
	if (account->authorities)
		add_line(out, "cacert", account->authorities);
	add_line(out, "proto", str_starts(request->url, "https:") ? "=https" : "=http");
	add_line(out, "write-out",
		 "%{stderr}\\naisbx %{http_code} %header{content-length} %header{etag}\\n");
	str_add(out, "connect-timeout = 30\nspeed-limit = 1\nspeed-time = 60\nretry = 3\n"
		     "retry-max-time = 60\n");
	str_add(out, request->line ? request->line : "");
}

/* What comes out of the pipe, up to MAX; false beyond that. */
static bool take_body(int from_fd, const struct request *request, struct error *err)
{
	owned(free_ptr) char *buffer = xmalloc(65536);
	uint64_t taken = 0;
	ssize_t got;

	while ((got = read(from_fd, buffer, 65536)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		taken += got > 0 ? (uint64_t)got : 0;
		if (got < 0 || taken > request->max) {
			(void)error_set(err, ERROR_INPUT, "the server sent more than it may");
			return false;
		}
		if (fd_write_all(request->to_fd, buffer, (size_t)got) < 0) {
			(void)error_errno(err, ERROR_HOST, "cannot keep what the server sent");
			return false;
		}
	}
	return true;
}

static void wipe(struct str *text)
{
	if (text->data)
		explicit_bzero(text->data, text->cap);
	str_done(text);
}

/* The last line is ours; what is before it, if anything, is curl's complaint. */
static int read_reply(int fd, struct reply *ret_reply, struct error *err)
{
	char text[STATUS_SIZE + 1], shown[STR_SHOWN_SIZE], length[32] = "";
	ssize_t len = fd_read_at(fd, text, STATUS_SIZE, 0);
	char *line;

	*ret_reply = (struct reply){ .length = -1 };
	text[len < 0 ? 0 : len] = '\0';
	line = strstr(text, "\naisbx ");
	if (line)
		ret_reply->status = strtol(line + strlen("\naisbx "), NULL, 10);
	if (!line || ret_reply->status == 0) {
		text[strcspn(text, "\n")] = '\0';
		return error_set(err, ERROR_HOST, "S3: %s",
				 *text ? str_shown(text, shown) : "curl failed");
	}
	/* A missing header leaves two blanks. */
	if (sscanf(line, "\naisbx %*d %31[0-9] %199[^\n]", length, ret_reply->etag) >= 1)
		ret_reply->length = strtoll(length, NULL, 10);
	else
		(void)sscanf(line, "\naisbx %*d %199[^\n]", ret_reply->etag);
	return 0;
}

static int ask(const struct s3_place *place, const struct request *request, struct reply *ret_reply,
	       struct error *err)
{
	static const char *const words[] = { "curl", "-q", "-s", "-S", "-K", "-", NULL };
	owned(wipe) struct str config = STR_INIT;
	owned(fd_close) int config_fd = memfd_create("s3", MFD_CLOEXEC);
	owned(fd_close) int status_fd = memfd_create("s3-status", MFD_CLOEXEC);
	owned(fd_close) int in_fd = -1, out_fd = -1;
	int ends[2], status;
	bool is_whole;
	pid_t pid;

	write_config(place, request, &config);
	if (config_fd < 0 || status_fd < 0 ||
	    fd_write_all(config_fd, config.data, config.len) < 0 ||
	    lseek(config_fd, 0, SEEK_SET) < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return error_errno(err, ERROR_HOST, "S3");
	in_fd = ends[0];
	out_fd = ends[1];
	pid = child_exec(&(const struct child_exec){ .words = (char *const *)(uintptr_t)words,
						     .environ = place->environ,
						     .streams = { config_fd, out_fd, status_fd } },
			 err);
	if (pid < 0)
		return error_context(err, "an archive in S3 needs curl");
	fd_close(&out_fd);
	is_whole = take_body(in_fd, request, err);
	fd_close(&in_fd);
	if (!is_whole) {
		child_end(pid);
		return -1;
	}
	status = child_wait(pid);
	if (read_reply(status_fd, ret_reply, err) < 0)
		return -1;
	/* A body that was cut off has a good status all the same. */
	return child_exit_code(status) == 0
		       ? 0
		       : error_set(err, ERROR_HOST,
				   "S3: the answer was cut off (curl ended with %d)",
				   child_exit_code(status));
}

/* The error a server sent, by its code: <Code>AccessDenied</Code>. */
static int refuse(int fd, long status, const char *name, struct error *err)
{
	char text[STATUS_SIZE + 1], code[64] = "";
	ssize_t len = fd_read_at(fd, text, STATUS_SIZE, 0);
	const char *at;

	text[len < 0 ? 0 : len] = '\0';
	at = strstr(text, "<Code>");
	if (at)
		(void)sscanf(at, "<Code>%63[A-Za-z0-9]", code);
	if (status == 404 && strcmp(code, "NoSuchBucket") != 0)
		return error_set(err, ERROR_NOT_FOUND, "'%s' is not in the archive", name);
	return error_set(err, status == 403 ? ERROR_DENIED : ERROR_HOST,
			 "S3 answered %ld %s for '%s'", status, code, name);
}

static int s3_draft(struct archive_place *base, struct archive_draft *ret_draft, struct error *err)
{
	return archive_draft_make(((struct s3_place *)base)->drafts, ret_draft, err);
}

/* There, of the right size, and under the tag that the server gave what it checked against its digest. */
static int confirm(struct s3_place *place, const char *url, const char *name,
		   const struct reply *put, int64_t size, struct error *err)
{
	owned(fd_close) int body = memfd_create("s3-answer", MFD_CLOEXEC);
	const struct request head = { url, "head\n", EMPTY_SHA256, body, ANSWER_MAX };
	struct reply reply;

	if (ask(place, &head, &reply, err) < 0)
		return -1;
	if (reply.status != 200)
		return refuse(body, reply.status, name, err);
	if (reply.length != size || !*put->etag || strcmp(reply.etag, put->etag) != 0)
		return error_set(err, ERROR_HOST,
				 "S3 has another '%s' than it was sent: %" PRId64
				 " bytes, not %" PRId64,
				 name, reply.length, size);
	return 0;
}

static int s3_put(struct archive_place *base, const struct archive_draft *draft, const char *name,
		  const char *sha256, struct error *err)
{
	struct s3_place *place = (struct s3_place *)base;
	owned(free_ptr) char *url = xasprintf("%s/%s", place->url, name);
	owned(fd_close) int body = memfd_create("s3-answer", MFD_CLOEXEC);
	owned(str_done) struct str line = STR_INIT;
	struct request put = { url, NULL, sha256, body, ANSWER_MAX };
	struct reply reply;
	struct stat st;

	add_line(&line, "upload-file", draft->path);
	put.line = line.data;
	if (body < 0 || fstat(draft->fd, &st) < 0)
		return error_errno(err, ERROR_HOST, "S3");
	if (ask(place, &put, &reply, err) < 0)
		return -1;
	if (reply.status != 200)
		return refuse(body, reply.status, name, err);
	return confirm(place, url, name, &reply, st.st_size, err);
}

static int fetch(struct s3_place *place, const char *url, const char *name, uint64_t max,
		 struct archive_draft *ret_draft, struct error *err)
{
	struct reply reply;

	if (archive_draft_make(place->drafts, ret_draft, err) < 0 ||
	    ask(place, &(const struct request){ url, NULL, EMPTY_SHA256, ret_draft->fd, max },
		&reply, err) < 0)
		return -1;
	return reply.status == 200 ? 0 : refuse(ret_draft->fd, reply.status, name, err);
}

static int s3_get(struct archive_place *base, const char *name, uint64_t max, int *ret_fd,
		  struct error *err)
{
	struct s3_place *place = (struct s3_place *)base;
	owned(free_ptr) char *url = xasprintf("%s/%s", place->url, name);
	owned(archive_draft_done) struct archive_draft draft = { .fd = -1 };

	/* An answer of a few bytes must be able to say why there is nothing else. */
	if (fetch(place, url, name, max < ANSWER_MAX ? ANSWER_MAX : max, &draft, err) < 0)
		return -1;
	if (lseek(draft.fd, 0, SEEK_END) > (off_t)max)
		return error_set(err, ERROR_INPUT, "'%s' of the archive is too large", name);
	(void)lseek(draft.fd, 0, SEEK_SET);
	*ret_fd = fd_take(&draft.fd);
	return 0;
}

/* Keys of a page that are manifests' names behind the prefix. */
static void take_keys(const struct s3_place *place, char *xml, struct strv *ret_names)
{
	owned(free_ptr) char *before = xasprintf("%s" ARCHIVE_MANIFESTS "/", place->prefix);

	for (char *at = xml; (at = strstr(at, "<Key>")); at++) {
		char *key = at + strlen("<Key>");
		char *end = strstr(key, "</Key>");

		if (!end || !str_starts(key, before))
			continue;
		*end = '\0';
		if (archive_is_manifest_name(key + strlen(before)))
			strv_add(ret_names, key + strlen(before));
		*end = '<';
	}
}

/* Everything but letters, digits and -._~ as %XX: a path or query is signed as it is given. */
static void add_escaped(struct str *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		bool is_letter = ((text[i] | 0x20) >= 'a' && (text[i] | 0x20) <= 'z') ||
				 (text[i] >= '0' && text[i] <= '9');

		if (is_letter || strchr("-._~", text[i]))
			str_add_char(out, text[i]);
		else
			str_addf(out, "%%%02X", (unsigned char)text[i]);
	}
}

static int s3_list(struct archive_place *base, struct strv *ret_names, struct error *err)
{
	struct s3_place *place = (struct s3_place *)base;
	owned(str_done) struct str token = STR_INIT;

	for (unsigned page = 0; page < PAGES_MAX; page++) {
		owned(archive_draft_done) struct archive_draft draft = { .fd = -1 };
		owned(str_done) struct str url = STR_INIT, text = STR_INIT;
		char *next, *end;

		str_addf(&url, "%s/?", place->bucket);
		if (token.len)
			str_addf(&url, "continuation-token=%s&", token.data);
		str_add(&url, "list-type=2&prefix=");
		add_escaped(&url, place->prefix, strlen(place->prefix));
		str_add(&url, ARCHIVE_MANIFESTS "%2F");
		if (fetch(place, url.data, "the list", ANSWER_MAX, &draft, err) < 0)
			return -1;
		if (lseek(draft.fd, 0, SEEK_SET) < 0 ||
		    fd_read_all(draft.fd, ANSWER_MAX, &text) < 0)
			return error_errno(err, ERROR_HOST, "S3");
		if (text.len == 0)
			return error_set(err, ERROR_INPUT, "S3 sent an empty list");
		take_keys(place, text.data, ret_names);
		next = strstr(text.data, "<NextContinuationToken>");
		end = next ? strstr(next, "</") : NULL;
		if (!strstr(text.data, "<IsTruncated>true") || !end)
			return 0;
		next += strlen("<NextContinuationToken>");
		str_clear(&token);
		add_escaped(&token, next, (size_t)(end - next));
	}
	return error_set(err, ERROR_INPUT, "S3 has a list without an end");
}

static void s3_close(struct archive_place *base)
{
	struct s3_place *place = (struct s3_place *)base;

	s3_account_done(&place->account);
	free(place->url);
	free(place->bucket);
	free(place->prefix);
	free(place->drafts);
}

/* BUCKET[/PREFIX] of letters that mean themselves in a URL. */
static int read_words(const char *rest, char **ret_bucket, char **ret_prefix, struct error *err)
{
	static const char low[] = "abcdefghijklmnopqrstuvwxyz0123456789.-";
	static const char all[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
	size_t bucket = strspn(rest, low), len = strlen(rest);
	const char *prefix = rest[bucket] == '/' ? rest + bucket + 1 : rest + bucket;
	char shown[STR_SHOWN_SIZE];

	while (len > bucket && rest[len - 1] == '/')
		len--;
	if (bucket < 3 || bucket > 63 || (rest[bucket] && rest[bucket] != '/') ||
	    strlen(prefix) > 512 || strspn(prefix, all) != strlen(prefix) || strstr(prefix, "//") ||
	    strstr(prefix, "..") || strstr(prefix, "./"))
		return error_advise(
			err, ERROR_INPUT,
			"a bucket has small letters, digits, . and -; a prefix letters, "
			"digits and -._~/",
			"archive: s3://%s cannot be used", str_shown(rest, shown));
	*ret_bucket = xstrndup(rest, bucket);
	*ret_prefix = len > bucket + 1 ? xasprintf("%.*s/", (int)(len - bucket - 1), prefix)
				       : xstrdup("");
	return 0;
}

/* Amazon's own, or the server that the user names; in clear text to this machine alone. */
static int find_bucket(struct s3_place *place, const char *bucket, struct error *err)
{
	const char *endpoint = place->account.endpoint;
	size_t len = endpoint ? strlen(endpoint) : 0;
	char shown[STR_SHOWN_SIZE];
	struct url url;

	if (!endpoint) {
		place->bucket = strchr(bucket, '.') ? xasprintf("https://s3.%s.amazonaws.com/%s",
								place->account.region, bucket)
						    : xasprintf("https://%s.s3.%s.amazonaws.com",
								bucket, place->account.region);
		return 0;
	}
	while (len > 0 && endpoint[len - 1] == '/')
		len--;
	if (!url_parse(endpoint, len, &url) || !str_starts(endpoint, "http") || url.user_len > 0)
		return error_set(err, ERROR_INPUT, "AWS_ENDPOINT_URL: write https://HOST[:PORT]");
	if (!url.is_tls && strcmp(url.host, "127.0.0.1") != 0 && strcmp(url.host, "[::1]") != 0 &&
	    strcmp(url.host, "localhost") != 0)
		return error_advise(err, ERROR_DENIED, "write https://",
				    "AWS_ENDPOINT_URL: nothing is sent to %s in clear text",
				    str_shown(url.host, shown));
	place->bucket = xasprintf("%.*s/%s", (int)len, endpoint, bucket);
	return 0;
}

int archive_s3_open(const struct archive_address *address, struct archive_place **ret_place,
		    struct error *err)
{
	static const struct archive_place_calls calls = { s3_draft, s3_put, s3_get, s3_list,
							  s3_close };
	struct s3_place *place = xcalloc(1, sizeof(*place));
	owned(archive_place_release) struct archive_place *base = &place->base;
	owned(free_ptr) char *bucket = NULL;

	base->calls = &calls;
	place->environ = address->environ;
	place->drafts = xstrdup(address->drafts);
	if (read_words(address->url + strlen("s3://"), &bucket, &place->prefix, err) < 0 ||
	    s3_account_read(address->environ, &place->account, err) < 0 ||
	    find_bucket(place, bucket, err) < 0)
		return -1;
	place->url = xasprintf("%s/%s", place->bucket, place->prefix);
	place->url[strlen(place->url) - 1] = '\0';
	*ret_place = ptr_take(&base);
	return 0;
}
