/* SPDX-License-Identifier: Apache-2.0 */
/* `tour`: the main job on a directory made for that or in the caller's own, with real commands and their real output. */
#include "base/process/child.h"
#include "base/core/own.h"
#include "base/file/real_path.h"
#include "ops/rows/rows.h"

#include <string.h>
#include <unistd.h>

/* What both tours begin with: how a command is shown as a person would type it, and run by the program of this call. */
#define PRELUDE                                                      \
	"set -u\n"                                                   \
	"failed=0\n"                                                 \
	"say() { printf '\\n== %s\\n' \"$*\"; }\n"                   \
	"show() {\n"                                                 \
	"  line='$'\n"                                               \
	"  for word in \"$@\"; do\n"                                 \
	"    case $word in\n"                                        \
	"    *[!A-Za-z0-9_./=-]*) line=\"$line '$word'\" ;;\n"       \
	"    *) line=\"$line $word\" ;;\n"                           \
	"    esac\n"                                                 \
	"  done\n"                                                   \
	"  echo \"$line\"\n"                                         \
	"  if [ \"$1\" != aisbx ]; then \"$@\" 2>&1; return; fi\n"   \
	"  shift; \"$AISBX\" \"$@\" 2>&1 </dev/null\n"               \
	"}\n"                                                        \
	"expect() {\n"                                               \
	"  [ \"$1\" = \"$2\" ] && return\n"                          \
	"  echo \"tour: expected '$2', found '$1'\" >&2; failed=1\n" \
	"}\n"

/*
 * A home of its own, so that neither the user's store nor history learns of it. The file that `rm` needs to see first
 * exists only inside a sandbox.
 */
static const char script[] = PRELUDE
	"top=$(mktemp -d /var/tmp/aisbx-tour.XXXXXX) || exit 1\n"
	"unset XDG_DATA_HOME XDG_STATE_HOME XDG_CONFIG_HOME XDG_CACHE_HOME\n"
	"export HOME=$top\n"
	/* Space is freed in the background: what does that may still be at it. Overlays leave directories of mode 0. */
	"leave() {\n"
	"  \"$AISBX\" rm --all --yes >/dev/null 2>&1; cd /; n=0\n"
	"  while rm -rf \"$top\" 2>/dev/null; [ -e \"$top\" ] && [ $n -lt 100 ]; do n=$((n + 1)); "
	"chmod -R u+rwx \"$top\" 2>/dev/null; sleep 0.05; done\n"
	"}\n"
	"trap leave EXIT\n"
	"trap 'exit 130' INT TERM HUP\n"
	"mkdir \"$top/project\" && cd \"$top/project\" || exit 1\n"
	"echo 'three years of work' >thesis.txt\n"
	"say 'A directory with something to lose'\n"
	"show cat thesis.txt\n"
	"say 'A command that would destroy it, in a sandbox: nothing of it is real'\n"
	"show aisbx run sh -c 'test -e /run/aisbx/policy.json && rm -rf ./* && ls -A | wc -l'\n"
	"show cat thesis.txt\n"
	"expect \"$(cat thesis.txt)\" 'three years of work'\n"
	"say 'A change tried first, then applied'\n"
	"show aisbx try -y sh -c 'echo one more chapter >>thesis.txt'\n"
	"expect \"$(tail -n 1 thesis.txt)\" 'one more chapter'\n"
	"say 'And taken back'\n"
	"show aisbx undo\n"
	"expect \"$(cat thesis.txt)\" 'three years of work'\n"
	"say 'Two attempts side by side; the one that passes the check is applied'\n"
	"show aisbx race --check 'grep -q 42 answer' --promote -c 'guess=echo 41 >answer' -c "
	"'think=echo 42 >answer'\n"
	"expect \"$(cat answer 2>&1)\" 42\n"
	"say 'That was a throw-away directory; it is gone now'\n"
	"echo 'Next, in a directory of yours: aisbx tour --here, aisbx run CMD, aisbx try CMD'\n"
	"exit $failed\n";

/*
 * In the caller's directory, with the caller's home and settings. These may let a command write for real, so nothing here
 * removes or changes a file that exists: a new one is made, under a name that is free.
 */
static const char here_script[] = PRELUDE
	"note=aisbx-tour-note\n"
	"if [ -e $note ] || [ -L $note ]; then echo \"tour: $note is there already\" >&2; exit 1; "
	"fi\n"
	"say 'The same directory and the same files, in a sandbox'\n"
	"show aisbx run sh -c 'pwd; ls | head -n 5' || failed=1\n"
	"say 'What a command changes is listed, and gone when it ends'\n"
	"show aisbx run --name-status sh -c 'echo hello >aisbx-tour-note; cat aisbx-tour-note'\n"
	"show ls aisbx-tour-note\n"
	"if [ -e $note ]; then\n"
	"  rm -f $note; failed=1\n"
	"  echo 'tour: the file was made here, too: see what aisbx mount and your profile open' "
	">&2\n"
	"fi\n"
	"say 'How much of your home is there: on this machine, and in a sandbox'\n"
	"show sh -c 'ls -A ~ | wc -l'\n"
	"show aisbx run sh -c 'ls -A ~ | wc -l'\n"
	"[ $failed = 0 ] || exit 1\n"
	"say 'Nothing here has changed'\n"
	"next='aisbx try CMD'\n"
	"while read -r file command; do\n"
	"  if [ -e \"$file\" ] && command -v \"${command%% *}\" >/dev/null 2>&1; then\n"
	"    next=\"aisbx try $command\"; break\n"
	"  fi\n"
	"done <<END\n"
	"Cargo.toml cargo test --offline\n"
	"go.mod go test ./...\n"
	"package.json npm test\n"
	"pyproject.toml python3 -m pytest\n"
	"setup.py python3 -m pytest\n"
	"Makefile make\n"
	"END\n"
	"echo \"Next: $next\"\n"
	"echo 'It shows what the command changed and asks before anything is applied. There is "
	"no'\n"
	"echo 'network unless you allow it (--allow HOST:PORT). What ran so far: aisbx history'\n";

static pid_t start(const struct op_call *call, struct error *err)
{
	owned(free_ptr) char *program = path_real("/proc/self/exe");
	owned(strv_done) struct strv env = STRV_INIT;
	owned(free_ptr) char *text = xstrdup(op_arg_switch(call, "here") ? here_script : script);
	char *const words[] = { (char[]){ "/bin/sh" }, (char[]){ "-c" }, text, NULL };

	if (!program)
		return error_errno(err, ERROR_HOST, "/proc/self/exe");
	for (const char *const *at = call->environ; *at; at++)
		strv_add(&env, *at);
	strv_addf(&env, "AISBX=%s", program);
	/* With --json stdout has the answer alone. */
	const int output = call->json ? STDERR_FILENO : STDOUT_FILENO;
	const struct child_exec exec = {
		words, env.items, NULL, { STDIN_FILENO, output, STDERR_FILENO }
	};

	return child_exec(&exec, err);
}

int op_tour_run(struct op_call *call, struct error *err)
{
	pid_t pid = op_want_words(call, 0, 0, err) < 0 ? -1 : start(call, err);

	if (pid < 0)
		return -1;
	bool is_good = child_wait(pid) == 0;

	/* For people its words are out already. */
	if (call->json) {
		call->answer = value_new_map();
		value_add(call->answer, "ok", value_new_bool(is_good));
	}
	call->exit_status = is_good ? 0 : 1;
	return 0;
}
