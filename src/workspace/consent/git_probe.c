/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to git about objects that a sandbox wrote. */
#include "workspace/consent/git_probe.h"

#include "base/file/fd.h"
#include "base/core/id.h"
#include "base/core/own.h"
#include "base/file/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES_MAX ((uint64_t)256 << 20)
#define FILES_MAX 20000
#define QUESTIONS_MAX 400

/* Trees of no objects. */
#define EMPTY_SHA1 "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
#define EMPTY_SHA256 "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"

/* Words end in NUL: ":MODE MODE ID ID LETTER" and a path; behind those of one question the token and git's exit status. */
static const char script[] =
	"export GIT_DIR=\"$PWD\" GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null "
	"GIT_NO_REPLACE_OBJECTS=1 GIT_NO_LAZY_FETCH=1 LC_ALL=C\n"
	"while read -r kind old new; do\n"
	"  case $kind in\n"
	"  trees) git diff-tree -r -z --no-renames --no-ext-diff --raw \"$old\" \"$new\" ;;\n"
	"  index) tree=$(GIT_INDEX_FILE=\"$PWD/$old\" git write-tree --missing-ok) &&\n"
	"    GIT_INDEX_FILE=\"$PWD/$new\" git diff-index --cached -z --no-renames --no-ext-diff "
	"--raw \"$tree\" ;;\n"
	"  pack) git verify-pack \"$new\" ;;\n"
	/* A tag's object is no commit's ancestor, though the commit that it names may be. */
	"  forward) test \"$(git cat-file -t \"$old\")\" = commit &&\n"
	"    git merge-base --is-ancestor \"$old\" \"$new\" ;;\n"
	/* Two of its exit status: something is missing, which may lie where the host's store borrows from. */
	"  objects) git fsck --no-full --no-dangling --no-progress >fsck 2>&1; "
	"test $(($? & ~2)) -eq 0 ;;\n"
	"  esac </dev/null\n"
	"  printf '%s\\0%s\\0' \"$token\" $?\n"
	"done <questions\n";

static int put_file(int dir_fd, const char *name, const char *text, struct error *err)
{
	owned(fd_close) int fd =
		openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 || fd_write_all(fd, text, strlen(text)) < 0)
		return error_errno(err, ERROR_HOST, "cannot write '%s' for git", name);
	return 0;
}

int git_probe_open(struct git_probe *probe, bool is_sha256, struct error *err)
{
	*probe = (struct git_probe){ 0 };
	if (tmp_dir_open("/tmp", &probe->dir, err) < 0)
		return -1;
	if (mkdirat(probe->dir.fd, "refs", 0700) < 0 ||
	    mkdirat(probe->dir.fd, "objects", 0700) < 0 ||
	    mkdirat(probe->dir.fd, "objects/info", 0700) < 0)
		return error_errno(err, ERROR_HOST, "%s", probe->dir.path);
	if (put_file(probe->dir.fd, "HEAD", "ref: refs/heads/none\n", err) < 0 ||
	    put_file(probe->dir.fd, "objects/info/alternates", GIT_PROBE_OBJECTS "\n", err) < 0)
		return -1;
	return put_file(probe->dir.fd, "config",
			is_sha256 ? "[core]\n\trepositoryFormatVersion = 1\n\tbare = true\n"
				    "[extensions]\n\tobjectFormat = sha256\n"
				  : "[core]\n\trepositoryFormatVersion = 0\n\tbare = true\n",
			err);
}

void git_probe_close(struct git_probe *probe)
{
	for (size_t i = 0; probe->answers && i < probe->count; i++)
		strv_done(&probe->answers[i].paths);
	free(probe->answers);
	str_done(&probe->questions);
	tmp_dir_close(&probe->dir);
}

static int make_parents(int dir_fd, const char *name)
{
	owned(free_ptr) char *part = xstrdup(name);

	for (char *slash = strchr(part, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdirat(dir_fd, part, 0700) < 0 && errno != EEXIST)
			return -1;
		*slash = '/';
	}
	return 0;
}

int git_probe_add(struct git_probe *probe, const char *name, int fd, struct error *err)
{
	owned(fd_close) int to = -1;
	char bytes[65536];
	ssize_t len = 0;

	if (++probe->files > FILES_MAX)
		probe->is_full = true;
	if (probe->is_full)
		return 0;
	if (make_parents(probe->dir.fd, name) < 0)
		return error_errno(err, ERROR_HOST, "cannot make '%s' for git", name);
	to = openat(probe->dir.fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	while (to >= 0 && (len = read(fd, bytes, sizeof(bytes))) > 0) {
		probe->bytes += (uint64_t)len;
		if (probe->bytes > BYTES_MAX) {
			probe->is_full = true;
			return 0;
		}
		if (fd_write_all(to, bytes, (size_t)len) < 0)
			len = -1;
		if (len < 0)
			break;
	}
	return to < 0 || len < 0 ? error_errno(err, ERROR_HOST, "cannot copy '%s' for git", name)
				 : 0;
}

static size_t put_question(struct git_probe *probe, const char *kind, const char *old,
			   const char *new)
{
	str_addf(&probe->questions, "%s %s %s\n", kind, old, new);
	return probe->count++;
}

size_t git_probe_ask_trees(struct git_probe *probe, const char *old, const char *new)
{
	const char *empty = strlen(new) == strlen(EMPTY_SHA256) ? EMPTY_SHA256 : EMPTY_SHA1;

	return put_question(probe, "trees", *old ? old : empty, new);
}

size_t git_probe_ask_index(struct git_probe *probe, const char *old, const char *new)
{
	return put_question(probe, "index", old, new);
}

size_t git_probe_ask_pack(struct git_probe *probe, const char *name)
{
	return put_question(probe, "pack", "-", name);
}

size_t git_probe_ask_forward(struct git_probe *probe, const char *old, const char *new)
{
	return put_question(probe, "forward", old, new);
}

size_t git_probe_ask_objects(struct git_probe *probe)
{
	return put_question(probe, "objects", "-", "-");
}

/* What stands before the next NUL from *AT on; NULL at the end. */
static const char *next_word(const struct str *output, size_t *at)
{
	const char *word = output->data + *at;
	const char *end = *at < output->len ? memchr(word, '\0', output->len - *at) : NULL;

	if (!end)
		return NULL;
	*at += (size_t)(end - word) + 1;
	return word;
}

/* ":100644 120000 ...": the second mode is the new one. */
static bool is_link_row(const char *row)
{
	const char *mode = strchr(row, ' ');

	return row[0] == ':' && mode && strncmp(mode + 1, "120000 ", 7) == 0;
}

static void read_answers(struct git_probe *probe, const struct str *output)
{
	size_t at = 0;

	for (size_t i = 0; i < probe->count; i++) {
		struct git_answer *answer = &probe->answers[i];
		const char *word, *status;

		while ((word = next_word(output, &at)) && strcmp(word, probe->token) != 0) {
			const char *path = next_word(output, &at);

			if (path)
				strv_addf(&answer->paths, "%c%s", is_link_row(word) ? 'l' : 'f',
					  path);
		}
		status = word ? next_word(output, &at) : NULL;
		if (!status)
			return;
		answer->is_known = strcmp(status, "0") == 0;
		answer->is_denied = !answer->is_known;
	}
}

void git_probe_run(struct git_probe *probe, git_probe_runner *run, const char *objects)
{
	owned(str_done) struct str output = STR_INIT, text = STR_INIT;
	char parts[2][ID_RUN_SIZE];
	struct error ignored = { 0 };

	probe->answers = xcalloc(probe->count + 1, sizeof(struct git_answer));
	if (!run || probe->is_full || probe->count > QUESTIONS_MAX ||
	    id_run(parts[0], &ignored) < 0 || id_run(parts[1], &ignored) < 0 ||
	    put_file(probe->dir.fd, "questions", str_cstr(&probe->questions), &ignored) < 0)
		return;
	(void)snprintf(probe->token, sizeof(probe->token), "%s-%s", parts[0], parts[1]);
	str_addf(&text, "token=%s\n%s", probe->token, script);
	if (run(probe->dir.path, objects, str_cstr(&text), &output, &ignored) == 0)
		read_answers(probe, &output);
}
