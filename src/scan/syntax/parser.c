/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing in a process of its own: both ends of the conversation. */
#include "scan/syntax/parser.h"

#include "base/process/child.h"
#include "base/file/fd.h"
#include "base/core/own.h"
#include "base/core/str.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/*
 * The parser stops by itself after SYNTAX_MAX_MICROSECONDS where it counts; a loop in a grammar does not count and is
 * ended by the processor time it took. The wall clock is for a process that does nothing at all.
 */
#define LOOP_SECONDS 3
/*
 * Limits of the whole process, which code in the parser cannot lift. After SPENT_SECONDS it is replaced between two
 * texts, so that no text pays for those before it.
 */
#define SPENT_SECONDS 2
#define LIFE_SECONDS (SPENT_SECONDS + LOOP_SECONDS + 1)
#define DATA_BYTES ((rlim_t)128 << 20)
#define SILENCE_MS 60000
#define WHY_SIZE 160
#define TRIM_BYTES 65536u

struct question {
	uint32_t language;
	uint32_t len;
};

enum answer_kind { ANSWER_TREE, ANSWER_REFUSED, ANSWER_ABSENT };

struct answer {
	uint32_t kind;
	uint32_t count;
	uint32_t is_broken;
	uint32_t broken_at;
	uint32_t is_spent; /* the scanner replaces this process after this answer */
	char why[WHY_SIZE];
};

static int read_whole(int fd, void *bytes, size_t len)
{
	char *at = bytes;

	while (len > 0) {
		ssize_t got = read(fd, at, len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		at += got;
		len -= (size_t)got;
	}
	return 0;
}

static void limit_time(time_t seconds)
{
	const struct itimerval timer = { .it_value = { seconds, 0 } };

	(void)setitimer(ITIMER_VIRTUAL, &timer, NULL);
}

static bool is_spent(void)
{
	struct timespec used;

	return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) < 0 || used.tv_sec >= SPENT_SECONDS;
}

/* Lower limits of the caller's stay. */
static int lower_limit(__rlimit_resource_t resource, rlim_t most)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) < 0)
		return -1;
	limit.rlim_max = limit.rlim_max < most ? limit.rlim_max : most;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(resource, &limit);
}

/* Memory beyond what the process has from its parent, and time on the processor. */
static int limit_process(void)
{
	unsigned long long pages = 0;
	char text[256];

	/* size resident shared text lib data: the sixth is what RLIMIT_DATA counts, and the stack. */
	if (file_read_small(AT_FDCWD, "/proc/self/statm", text, sizeof(text)) < 0 ||
	    sscanf(text, "%*u %*u %*u %*u %*u %llu", &pages) != 1)
		return -1;
	if (lower_limit(RLIMIT_CORE, 0) < 0 || lower_limit(RLIMIT_CPU, LIFE_SECONDS) < 0)
		return -1;
	return lower_limit(RLIMIT_DATA, pages * (rlim_t)sysconf(_SC_PAGESIZE) + DATA_BYTES);
}

static int answer_one(int fd, const struct question *question, const char *text)
{
	owned(syntax_done) struct syntax syntax = { 0 };
	struct answer answer = { .kind = ANSWER_TREE };
	struct error err = { .code = ERROR_NONE };

	limit_time(LOOP_SECONDS);
	if (syntax_parse((enum scan_language)question->language, text, question->len, &syntax,
			 &err) < 0) {
		answer.kind = err.code == ERROR_INPUT ? ANSWER_REFUSED : ANSWER_ABSENT;
		(void)snprintf(answer.why, sizeof(answer.why), "%.*s", WHY_SIZE - 1, err.text);
	}
	limit_time(0);
	answer.count = syntax.count;
	answer.is_broken = syntax.is_broken;
	answer.broken_at = syntax.broken_at;
	answer.is_spent = is_spent();
	if (fd_write_all(fd, &answer, sizeof(answer)) < 0)
		return -1;
	return fd_write_all(fd, syntax.nodes, syntax.count * sizeof(*syntax.nodes));
}

/* The child's life. */
static _Noreturn void serve(int fd)
{
	struct question question;

	(void)prctl(PR_SET_NAME, "aisbx-parser", 0, 0, 0);
	(void)signal(SIGVTALRM, SIG_DFL);
	(void)signal(SIGPIPE, SIG_DFL);
	fd_close_others(&fd, 1);
	if (limit_process() < 0 || parser_lockdown() < 0)
		_exit(1);
	while (read_whole(fd, &question, sizeof(question)) == 0) {
		owned(free_ptr) char *text = NULL;

		if (question.len > SYNTAX_MAX_BYTES)
			_exit(1);
		text = xcalloc(1, question.len + 1);
		if (read_whole(fd, text, question.len) < 0 || answer_one(fd, &question, text) < 0)
			_exit(1);
		/* The next text may be long in coming, and the scanner's memory is counted with ours. */
		if (question.len > TRIM_BYTES)
			(void)malloc_trim(0);
	}
	_exit(0);
}

static int start(struct parser *parser, struct error *err)
{
	pid_t pid = parser->pid;

	if (pid > 0)
		return 0;
	pid = child_fork(CHILD_STREAMS, SIGKILL, &parser->fd, err);
	if (pid == 0)
		serve(parser->fd);
	if (pid < 0)
		return -1;
	parser->pid = pid;
	(void)fcntl(parser->fd, F_SETFL, O_NONBLOCK);
	return 0;
}

void parser_done(struct parser *parser)
{
	if (parser->pid <= 0)
		return;
	fd_close(&parser->fd);
	child_end(parser->pid);
	*parser = (struct parser)PARSER_INIT;
}

/* Until the other end can go on; -1 when it is gone, or silent for too long. DONE: what the last call gave. */
static int await(const struct parser *parser, ssize_t done, short events)
{
	if (done == 0 || (errno != EAGAIN && errno != EINTR))
		return -1;
	return fd_wait(parser->fd, events, SILENCE_MS) == 0 ? -1 : 0;
}

static int send_all(const struct parser *parser, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len > 0) {
		ssize_t done = send(parser->fd, at, len, MSG_NOSIGNAL);

		if (done <= 0 && await(parser, done, POLLOUT) < 0)
			return -1;
		at += done > 0 ? done : 0;
		len -= done > 0 ? (size_t)done : 0;
	}
	return 0;
}

static int take_all(const struct parser *parser, void *bytes, size_t len)
{
	char *at = bytes;

	while (len > 0) {
		ssize_t done = recv(parser->fd, at, len, 0);

		if (done <= 0 && await(parser, done, POLLIN) < 0)
			return -1;
		at += done > 0 ? done : 0;
		len -= done > 0 ? (size_t)done : 0;
	}
	return 0;
}

/* A tree whose links lead forward and up, within the text: a walk ends, and stays inside. */
static bool is_tree(const struct syntax *syntax)
{
	for (uint32_t i = 0; i < syntax->count; i++) {
		const struct syntax_node *node = &syntax->nodes[i];
		unsigned char is_code;

		memcpy(&is_code, &node->is_code, 1);
		if (node->kind > NODE_WORD || node->field > FIELD_VARIABLE || is_code > 1 ||
		    node->start > node->end || node->end > syntax->len ||
		    (i == 0 ? node->parent != SYNTAX_NONE : node->parent >= i) ||
		    node->after <= i || node->after > syntax->count ||
		    (i > 0 && node->after > syntax->nodes[node->parent].after))
			return false;
	}
	return syntax->broken_at <= syntax->len;
}

static int take_answer(const struct parser *parser, struct answer *answer, struct syntax *syntax)
{
	if (take_all(parser, answer, sizeof(*answer)) < 0 || answer->count > SYNTAX_MAX_NODES)
		return -1;
	answer->why[WHY_SIZE - 1] = '\0';
	if (answer->kind != ANSWER_TREE)
		return 0;
	syntax->nodes = xcalloc(answer->count ? answer->count : 1, sizeof(*syntax->nodes));
	syntax->count = answer->count;
	syntax->is_broken = answer->is_broken != 0;
	syntax->broken_at = answer->broken_at;
	if (take_all(parser, syntax->nodes, syntax->count * sizeof(*syntax->nodes)) < 0)
		return -1;
	return is_tree(syntax) ? 0 : -1;
}

int parser_parse(struct parser *parser, enum scan_language language, const char *text, size_t len,
		 struct syntax *ret_syntax, struct error *err)
{
	struct question question = { (uint32_t)language, (uint32_t)len };
	struct answer answer;

	*ret_syntax = (struct syntax){ .text = text, .len = len };
	if (len > SYNTAX_MAX_BYTES)
		return error_set(err, ERROR_INPUT, "longer than %zu bytes", SYNTAX_MAX_BYTES);
	if (start(parser, err) < 0)
		return -1;
	if (send_all(parser, &question, sizeof(question)) < 0 || send_all(parser, text, len) < 0 ||
	    take_answer(parser, &answer, ret_syntax) < 0) {
		parser_done(parser);
		syntax_done(ret_syntax);
		return error_set(err, ERROR_INPUT, "the parser breaks down over it");
	}
	if (answer.is_spent)
		parser_done(parser);
	if (answer.kind == ANSWER_TREE)
		return 0;
	return error_set(err, answer.kind == ANSWER_REFUSED ? ERROR_INPUT : ERROR_DENIED, "%s",
			 answer.why);
}
