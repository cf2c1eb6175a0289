/* SPDX-License-Identifier: Apache-2.0 */
/* PostgreSQL behind a small door. */
#include "history/pg.h"

#include "base/core/own.h"
#include "base/file/library.h"

#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#define LIBRARY "libpq.so.5"
#define CONNECT_S "10"
/* What an answer may have: bytes, and milliseconds without any. Statements end themselves a little earlier. */
#define ANSWER_BYTES ((size_t)64 << 20)
#define SILENCE_MS 60000
#define COPY_PIECE ((size_t)64 << 10)

#define FUNCTIONS(ROW)            \
	ROW(PQclear)              \
	ROW(PQconnectdbParams)    \
	ROW(PQconninfo)           \
	ROW(PQconninfoFree)       \
	ROW(PQconninfoParse)      \
	ROW(PQconsumeInput)       \
	ROW(PQerrorMessage)       \
	ROW(PQfinish)             \
	ROW(PQflush)              \
	ROW(PQfreemem)            \
	ROW(PQgetResult)          \
	ROW(PQgetisnull)          \
	ROW(PQgetvalue)           \
	ROW(PQhost)               \
	ROW(PQhostaddr)           \
	ROW(PQisBusy)             \
	ROW(PQnfields)            \
	ROW(PQntuples)            \
	ROW(PQputCopyData)        \
	ROW(PQputCopyEnd)         \
	ROW(PQresultErrorField)   \
	ROW(PQresultStatus)       \
	ROW(PQsendQuery)          \
	ROW(PQsendQueryParams)    \
	ROW(PQsetNoticeProcessor) \
	ROW(PQsetnonblocking)     \
	ROW(PQsocket)             \
	ROW(PQsslInUse)           \
	ROW(PQstatus)

struct libpq {
#define FIELD(name) __typeof__(name) *name;
	FUNCTIONS(FIELD)
#undef FIELD
};

struct pg {
	struct libpq lib;
	PGconn *link;
	char state[6];
};

struct pg_rows {
	const struct libpq *lib;
	PGresult *result;
};

static int load(struct libpq *ret_lib, struct error *err)
{
	static const struct library_row rows[] = {
#define ROW(name) { #name, offsetof(struct libpq, name) },
		FUNCTIONS(ROW)
#undef ROW
	};

	return library_load(
		&(const struct library){ LIBRARY, "libpq5", rows, sizeof(rows) / sizeof(rows[0]) },
		ret_lib, err);
}

/* The first line of the server's or the library's words, without control characters. */
static int fail(struct pg *pg, const char *what, const PGresult *result, struct error *err)
{
	const char *state = result ? pg->lib.PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
	const char *message =
		result ? pg->lib.PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
	char text[300];
	size_t len;

	(void)snprintf(pg->state, sizeof(pg->state), "%s", state ? state : "");
	(void)snprintf(text, sizeof(text), "%s",
		       message ? message : pg->lib.PQerrorMessage(pg->link));
	len = strcspn(text, "\n");
	text[len] = '\0';
	for (char *at = text; *at; at++) {
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			*at = '?';
	}
	return error_set(err, ERROR_HOST, "PostgreSQL: %s: %s", what,
			 *text ? text : "the connection was lost");
}

static int refuse_url(struct error *err)
{
	/* Not shown: it may hold the password that it is refused for. */
	return error_advise(err, ERROR_USAGE,
			    "write postgres://[USER@]HOST[:PORT]/DATABASE, and keep the password "
			    "in ~/.pgpass or PGPASSFILE",
			    "this is not the address of a PostgreSQL database, or it holds a "
			    "password, which every user of this machine could read");
}

static int check_url(const struct libpq *lib, const char *url, struct error *err)
{
	PQconninfoOption *options;
	bool is_bad = false;

	if (!str_starts(url, "postgres://") && !str_starts(url, "postgresql://"))
		return refuse_url(err);
	options = lib->PQconninfoParse(url, NULL);
	if (!options)
		return refuse_url(err);
	for (const PQconninfoOption *at = options; at->keyword; at++)
		is_bad |= at->val && (strcmp(at->keyword, "password") == 0 ||
				      strcmp(at->keyword, "sslpassword") == 0);
	lib->PQconninfoFree(options);
	return is_bad ? refuse_url(err) : 0;
}

int pg_check_url(const char *url, struct error *err)
{
	struct libpq lib;

	return load(&lib, err) < 0 ? -1 : check_url(&lib, url, err);
}

static void drop_notice(void *cookie, const char *message)
{
	(void)cookie;
	(void)message;
}

static bool is_local(const char *host)
{
	return !*host || *host == '/' || *host == '@' || strcmp(host, "localhost") == 0 ||
	       strcmp(host, "::1") == 0 || (str_starts(host, "127.") && !strchr(host, ','));
}

/*
 * The sslmode for URL where neither it nor the environment has one: the library's own would send a password in clear text to
 * a server that claims to have no TLS. NULL where it is chosen already, and for this machine.
 */
static const char *needed_sslmode(const struct libpq *lib, const char *url)
{
	const char *host = getenv("PGHOST"), *address = getenv("PGHOSTADDR");
	PQconninfoOption *options = lib->PQconninfoParse(url, NULL);
	bool is_chosen = getenv("PGSSLMODE") != NULL, has_service = getenv("PGSERVICE") != NULL;

	for (const PQconninfoOption *at = options; at && at->keyword; at++) {
		if (!at->val)
			continue;
		is_chosen |= strcmp(at->keyword, "sslmode") == 0;
		has_service |= strcmp(at->keyword, "service") == 0;
		if (strcmp(at->keyword, "host") == 0)
			host = at->val;
		if (strcmp(at->keyword, "hostaddr") == 0)
			address = at->val;
	}
	/* Where a service leads, the library alone knows. */
	bool is_here = !has_service && is_local(address ? address : host ? host : "");

	lib->PQconninfoFree(options);
	return is_chosen || is_here ? NULL : "require";
}

/* A service, or what a name leads to, may have got past needed_sslmode(): clear text is for this machine alone. */
static int check_secrecy(struct pg *pg, struct error *err)
{
	const char *host = pg->lib.PQhost(pg->link), *address = pg->lib.PQhostaddr(pg->link);
	PQconninfoOption *options;
	bool is_chosen = false;

	if (pg->lib.PQsslInUse(pg->link) || !host || *host == '/' || *host == '@' || !address ||
	    str_starts(address, "127.") || strcmp(address, "::1") == 0)
		return 0;
	options = pg->lib.PQconninfo(pg->link);
	for (const PQconninfoOption *at = options; at && at->keyword; at++)
		is_chosen |= strcmp(at->keyword, "sslmode") == 0 && at->val &&
			     (strcmp(at->val, "disable") == 0 || strcmp(at->val, "allow") == 0);
	pg->lib.PQconninfoFree(options);
	return is_chosen ? 0
			 : error_advise(err, ERROR_DENIED,
					"switch TLS on there, or write ?sslmode=disable where the "
					"network between is yours",
					"the server offers no TLS: the record would be readable "
					"on its way");
}

int pg_open(const char *url, struct pg **ret_pg, struct error *err)
{
	/* What comes later wins: an option of the URL over ours, but for the encoding. */
	static const char *const keys[] = { "connect_timeout", "fallback_application_name",
					    "sslmode",	       "dbname",
					    "client_encoding", NULL };
	const char *values[] = { CONNECT_S, "aisbx", NULL, url, "UTF8", NULL };
	owned(pg_release) struct pg *pg = xcalloc(1, sizeof(*pg));

	if (load(&pg->lib, err) < 0 || check_url(&pg->lib, url, err) < 0)
		return -1;
	values[2] = needed_sslmode(&pg->lib, url);
	pg->link = pg->lib.PQconnectdbParams(keys, values, 1);
	if (!pg->link || pg->lib.PQstatus(pg->link) != CONNECTION_OK)
		return fail(pg, "cannot connect", NULL, err);
	(void)pg->lib.PQsetNoticeProcessor(pg->link, drop_notice, NULL);
	if (check_secrecy(pg, err) < 0)
		return -1;
	if (pg->lib.PQsetnonblocking(pg->link, 1) < 0)
		return fail(pg, "cannot connect", NULL, err);
	/* An edge that is cut off must not hold a lock there; names are found where we say and nowhere else. */
	if (pg_execute(pg,
		       "SET statement_timeout='50s'; SET lock_timeout='20s';"
		       "SET idle_in_transaction_session_timeout='50s';"
		       "SET search_path=pg_catalog; SET standard_conforming_strings=on",
		       err) < 0)
		return -1;
	*ret_pg = ptr_take(&pg);
	return 0;
}

void pg_release(struct pg **slot)
{
	struct pg *pg = *slot;

	if (!pg)
		return;
	if (pg->link)
		pg->lib.PQfinish(pg->link);
	free(pg);
	*slot = NULL;
}

/* Waits for the server and takes what it sent, which is added to *BYTES. */
static int wait_server(struct pg *pg, short events, size_t *bytes, struct error *err)
{
	struct pollfd fd = { .fd = pg->lib.PQsocket(pg->link), .events = events };
	int got, count = 0;

	do
		got = poll(&fd, 1, SILENCE_MS);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return error_errno(err, ERROR_HOST, "poll");
	if (got == 0)
		return error_set(err, ERROR_HOST, "PostgreSQL: no answer within %d s",
				 SILENCE_MS / 1000);
	if (!(fd.revents & ~POLLOUT))
		return 0;
	(void)ioctl(fd.fd, FIONREAD, &count);
	*bytes += count > 0 ? (size_t)count : 0;
	if (*bytes > ANSWER_BYTES)
		return error_set(err, ERROR_INPUT, "PostgreSQL: the answer has more than %zu MiB",
				 ANSWER_BYTES >> 20);
	return pg->lib.PQconsumeInput(pg->link) ? 0 : fail(pg, "no answer", NULL, err);
}

static int flush(struct pg *pg, size_t *bytes, struct error *err)
{
	int left;

	while ((left = pg->lib.PQflush(pg->link)) > 0) {
		if (wait_server(pg, POLLIN | POLLOUT, bytes, err) < 0)
			return -1;
	}
	return left < 0 ? fail(pg, "cannot send", NULL, err) : 0;
}

/* NULL at the end of the answers. */
static int next_result(struct pg *pg, size_t *bytes, PGresult **ret_result, struct error *err)
{
	if (flush(pg, bytes, err) < 0)
		return -1;
	while (pg->lib.PQisBusy(pg->link)) {
		if (wait_server(pg, POLLIN, bytes, err) < 0)
			return -1;
	}
	*ret_result = pg->lib.PQgetResult(pg->link);
	return 0;
}

/* Reads all answers; keeps the last one when it is wanted. The first failure is the one that counts. */
static int read_results(struct pg *pg, ExecStatusType wanted, PGresult **ret_last,
			struct error *err)
{
	PGresult *last = NULL, *result;
	size_t bytes = 0;
	int status = 0;

	for (;;) {
		if (next_result(pg, &bytes, &result, status < 0 ? &(struct error){ 0 } : err) < 0) {
			pg->lib.PQclear(last);
			return -1;
		}
		if (!result)
			break;
		ExecStatusType got = pg->lib.PQresultStatus(result);

		if (got != wanted && got != PGRES_COMMAND_OK && got != PGRES_TUPLES_OK &&
		    status == 0)
			status = fail(pg, "refused", result, err);
		pg->lib.PQclear(last);
		last = result;
		/* These go on until the data are sent; a server that asks for data which were not announced gets none. */
		if (got == PGRES_COPY_IN || got == PGRES_COPY_OUT || got == PGRES_COPY_BOTH)
			break;
	}
	if (status == 0 && (!last || pg->lib.PQresultStatus(last) != wanted))
		status = error_set(err, ERROR_HOST, "PostgreSQL: an answer of another kind");
	if (status < 0 || !ret_last)
		pg->lib.PQclear(last);
	else
		*ret_last = last;
	return status;
}

int pg_execute(struct pg *pg, const char *sql, struct error *err)
{
	if (!pg->lib.PQsendQuery(pg->link, sql))
		return fail(pg, "cannot send", NULL, err);
	return read_results(pg, PGRES_COMMAND_OK, NULL, err);
}

int pg_query(struct pg *pg, const char *sql, const char *const *params, size_t count,
	     struct pg_rows **ret_rows, struct error *err)
{
	PGresult *result = NULL;

	if (!pg->lib.PQsendQueryParams(pg->link, sql, (int)count, NULL, params, NULL, NULL, 0))
		return fail(pg, "cannot send", NULL, err);
	if (read_results(pg, PGRES_TUPLES_OK, &result, err) < 0)
		return -1;
	*ret_rows = xcalloc(1, sizeof(**ret_rows));
	**ret_rows = (struct pg_rows){ &pg->lib, result };
	return 0;
}

void pg_rows_release(struct pg_rows **slot)
{
	if (*slot)
		(*slot)->lib->PQclear((*slot)->result);
	free_ptr(slot);
}

size_t pg_rows_count(const struct pg_rows *rows)
{
	return (size_t)rows->lib->PQntuples(rows->result);
}

const char *pg_text(const struct pg_rows *rows, size_t row, int column)
{
	if (row >= pg_rows_count(rows) || column >= rows->lib->PQnfields(rows->result) ||
	    rows->lib->PQgetisnull(rows->result, (int)row, column))
		return NULL;
	return rows->lib->PQgetvalue(rows->result, (int)row, column);
}

int pg_copy(struct pg *pg, const char *sql, const struct str *data, struct error *err)
{
	size_t bytes = 0;

	if (!pg->lib.PQsendQuery(pg->link, sql))
		return fail(pg, "cannot send", NULL, err);
	if (read_results(pg, PGRES_COPY_IN, NULL, err) < 0)
		return -1;
	for (size_t at = 0; at < data->len; at += COPY_PIECE) {
		size_t len = data->len - at < COPY_PIECE ? data->len - at : COPY_PIECE;

		if (pg->lib.PQputCopyData(pg->link, data->data + at, (int)len) < 0)
			return fail(pg, "cannot send", NULL, err);
		if (flush(pg, &bytes, err) < 0)
			return -1;
	}
	if (pg->lib.PQputCopyEnd(pg->link, NULL) < 0)
		return fail(pg, "cannot send", NULL, err);
	return read_results(pg, PGRES_COMMAND_OK, NULL, err);
}

void pg_add_value(struct str *data, const char *text)
{
	static const char special[] = "\b\f\n\r\t\v\\", letters[] = "bfnrtv\\";

	if (!text) {
		str_add(data, "\\N");
		return;
	}
	while (*text) {
		size_t plain = strcspn(text, special);

		str_add_bytes(data, text, plain);
		text += plain;
		if (*text) {
			str_add_char(data, '\\');
			str_add_char(data, letters[strchr(special, *text++) - special]);
		}
	}
}

const char *pg_state(const struct pg *pg)
{
	return pg->state;
}
