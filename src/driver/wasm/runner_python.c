/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python as a zygote: the script it is started with, and the read in which it stops.
 *
 * Its first read from standard input is where the zygote waits and forks. In a fork that read, and those behind it, give
 * what is to be run; then comes the run's own input.
 */
#include "driver/wasm/wasi.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * What `python -c CODE` and `python FILE` do, in a __main__ that looks as theirs. At the end it does what is visible of
 * the interpreter's own shutdown: exit functions, globals let go (which closes files), streams flushed; taking apart the
 * rest is left to the kernel. What was there before the fork is frozen, so that collecting is quick; and the compiler has
 * been at work once, since the first time takes it longer than most snippets.
 */
#define SCRIPT(imports)                                                                        \
	"def boot():\n"                                                                        \
	"    import sys, posix, os, gc, atexit\n" imports                                      \
	"    main = sys.modules['__main__'].__dict__\n"                                        \
	"    del main['boot']\n"                                                               \
	"    known = set(sys.modules)\n"                                                       \
	"    known.discard('__main__')\n"                                                      \
	"    def let_go():\n"                                                                  \
	"        for name, module in list(sys.modules.items()):\n"                             \
	"            if name not in known and hasattr(module, '__dict__'):\n"                  \
	"                names = module.__dict__\n"                                            \
	"                for key in list(names):\n"                                            \
	"                    if key != '__builtins__':\n"                                      \
	"                        names[key] = None\n"                                          \
	"        gc.collect()\n"                                                               \
	"    def finish(status):\n"                                                            \
	"        atexit._run_exitfuncs()\n"                                                    \
	"        try:\n"                                                                       \
	"            if sys.stdout is not None:\n"                                             \
	"                sys.stdout.flush()\n"                                                 \
	"        except Exception as error:\n"                                                 \
	"            sys.unraisablehook(Unraisable(error))\n"                                  \
	"            status = 120\n"                                                           \
	"        out, err = sys.stdout, sys.stderr\n"                                          \
	"        let_go()\n"                                                                   \
	"        for stream in (out, err):\n"                                                  \
	"            try:\n"                                                                   \
	"                stream.flush()\n"                                                     \
	"            except Exception:\n"                                                      \
	"                pass\n"                                                               \
	"        posix._exit(status & 0xff)\n"                                                 \
	"    class Unraisable:\n"                                                              \
	"        def __init__(self, error):\n"                                                 \
	"            self.exc_type, self.exc_value = type(error), error\n"                     \
	"            self.exc_traceback, self.err_msg, self.object = None, None, sys.stdout\n" \
	"    def status_of(code):\n"                                                           \
	"        if code is None:\n"                                                           \
	"            return 0\n"                                                               \
	"        if isinstance(code, int):\n"                                                  \
	"            return code\n"                                                            \
	"        sys.stdout.flush()\n"                                                         \
	"        print(code, file=sys.stderr)\n"                                               \
	"        return 1\n"                                                                   \
	"    def load(argv):\n"                                                                \
	"        sys.orig_argv = argv\n"                                                       \
	"        if argv[1] == '-c':\n"                                                        \
	"            sys.argv = ['-c'] + argv[3:]\n"                                           \
	"            return compile(argv[2], '<string>', 'exec', dont_inherit=True)\n"         \
	"        sys.argv = argv[1:]\n"                                                        \
	"        path = argv[1]\n"                                                             \
	"        if path[0] != '/':\n"                                                         \
	"            path = os.getcwd() + '/' + path\n"                                        \
	"        try:\n"                                                                       \
	"            file = open(path, 'rb')\n"                                                \
	"        except OSError as error:\n"                                                   \
	"            print(f\"{sys.executable or argv[0]}: can't open file {path!r}: \"\n"     \
	"                  f\"[Errno {error.errno}] {error.strerror}\", file=sys.stderr)\n"    \
	"            raise SystemExit(2) from None\n"                                          \
	"        with file:\n"                                                                 \
	"            source = file.read()\n"                                                   \
	"        sys.path[0] = os.path.dirname(argv[1])\n"                                     \
	"        main['__file__'] = path\n"                                                    \
	"        main['__cached__'] = None\n"                                                  \
	"        return compile(source, path, 'exec', dont_inherit=True)\n"                    \
	"    def run(argv):\n"                                                                 \
	"        try:\n"                                                                       \
	"            exec(load(argv), main)\n"                                                 \
	"        except SystemExit as error:\n"                                                \
	"            return status_of(error.code)\n"                                           \
	"        except BaseException as error:\n"                                             \
	"            trace = error.__traceback__.tb_next\n"                                    \
	"            if trace and trace.tb_frame.f_code is load.__code__:\n"                   \
	"                trace = None\n"                                                       \
	"            error.__traceback__ = trace\n"                                            \
	"            sys.last_exc = error\n"                                                   \
	"            sys.excepthook(type(error), error, trace)\n"                              \
	"            return 1\n"                                                               \
	"        return 0\n"                                                                   \
	"    compile('', '<string>', 'exec')\n"                                                \
	"    gc.collect()\n"                                                                   \
	"    gc.freeze()\n"                                                                    \
	"    told = b''\n"                                                                     \
	"    while more := posix.read(0, 65536):\n"                                            \
	"        told += more\n"                                                               \
	"    sandbox, *argv = told.decode('utf-8', 'surrogateescape').split('\\0')\n"          \
	"    if sandbox:\n"                                                                    \
	"        os.environ['AISBX_SANDBOX'] = sandbox\n"                                      \
	"    sys.path_importer_cache.clear()\n"                                                \
	"    if 'random' in sys.modules:\n"                                                    \
	"        sys.modules['random'].seed()\n"                                               \
	"    if 'numpy.random' in sys.modules:\n"                                              \
	"        sys.modules['numpy.random'].seed()\n"                                         \
	"    finish(run(argv))\n"                                                              \
	"boot()\n"

static const char script[] = SCRIPT("");
static const char script_with_numpy[] = SCRIPT("    import numpy\n");

#define SANDBOX_VARIABLE "AISBX_SANDBOX="

/* The parameters of the fork: the sandbox's name, then the arguments, separated by NUL. */
static void write_boot(struct runner *runner)
{
	const struct runner_job *job = &runner->job;
	const char *name = "";

	for (const char *const *at = job->environ; *at; at++) {
		if (str_starts(*at + 1, SANDBOX_VARIABLE))
			name = *at + 1 + strlen(SANDBOX_VARIABLE);
	}
	str_add(&runner->boot, name);
	for (int i = 0; i < job->argc; i++) {
		str_add_char(&runner->boot, '\0');
		str_add(&runner->boot, job->argv[i]);
	}
}

int runner_replace(struct runner *runner)
{
	const struct wasmtime *api = &runner->api;
	uint64_t fuel = runner->job.fuel;

	if (!runner->is_started)
		return 0;
	if (wasi_replace(runner) < 0)
		return -1;
	/* Its start counts, as it does in a run that begins with it. */
	fuel = fuel > runner->fuel_of_start ? fuel - runner->fuel_of_start : 0;
	if (api->wasmtime_context_set_fuel(runner->context, fuel))
		return -1;
	write_boot(runner);
	runner_start_clock(runner);
	return 0;
}

static void become_zygote(struct runner *runner)
{
	uint64_t left = 0;

	(void)runner->api.wasmtime_context_get_fuel(runner->context, &left);
	runner->fuel_of_start = RUNNER_FUEL_OF_START - left;
	runner->is_started = true;
	if (runner_serve(runner) < 0)
		_exit(125);
}

ssize_t runner_boot(struct runner *runner, void *to, size_t len)
{
	size_t left;

	if (!runner->is_started)
		become_zygote(runner);
	left = runner->boot.len - runner->boot_at;
	len = len < left ? len : left;
	memcpy(to, runner->boot.data + runner->boot_at, len);
	runner->boot_at += len;
	/* The input was cut short: it has no end mark. */
	runner->is_booted = len == 0;
	return (ssize_t)len;
}

int runner_pick_variables(struct runner *runner, struct error *err)
{
	const char *const *given = runner->job.environ;
	size_t count = 0, used = 0;

	while (given[count])
		count++;
	runner->variables = calloc(count + 1, sizeof(*runner->variables));
	for (size_t i = 0; runner->variables && i < count; i++) {
		if (given[i][0] == WASM_ENV_MARK)
			runner->variables[used++] = given[i];
	}
	return runner->variables ? 0 : error_errno(err, ERROR_HOST, "variables");
}

int runner_python(struct runner *runner, struct error *err)
{
	static const char *words[] = { "python", "-c", NULL, NULL };

	words[2] = runner->job.library[0] ? script_with_numpy : script;
	runner->job.argv = words;
	runner->job.argc = 3;
	if (runner_pick_variables(runner, err) < 0 || runner_make_store(runner, err) < 0 ||
	    wasi_open(runner, err) < 0)
		return -1;
	/* The start of the interpreter is ours: whatever budget the runs have, it comes to its end. */
	if (runner->api.wasmtime_context_set_fuel(runner->context, RUNNER_FUEL_OF_START))
		return error_set(err, ERROR_HOST, "the engine does not count fuel");
	return 0;
}
