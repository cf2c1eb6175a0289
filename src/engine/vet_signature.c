/* Whether what a command would run is signed by somebody the user trusts, and nothing else comes before it. */
#include "base/fd.h"
#include "base/json_write.h"
#include "base/own.h"
#include "engine/sign.h"
#include "engine/sign_parts.h"
#include "scan/command.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define TRUSTED_KEYS "trusted-keys"
#define TRUSTED_MAX 65536u
#define REFUSED "--require-signature: "

struct signature {
	unsigned char key[ED25519_PUBLIC];
	unsigned char bytes[ED25519_SIGNATURE];
};

static bool read_word(const char *word, size_t len, unsigned char *ret, size_t size)
{
	owned(str_done) struct str bytes = STR_INIT;

	if (!base64_read(&bytes, word, len) || bytes.len != size)
		return false;
	memcpy(ret, bytes.data, size);
	return true;
}

/* Exactly the three lines that sign writes. */
static bool parse(const struct str *text, struct signature *ret)
{
	const char *at = str_cstr(text), *line_end;

	if (!str_starts(at, SIGNATURE_FIRST_LINE "\nkey "))
		return false;
	at += strlen(SIGNATURE_FIRST_LINE "\nkey ");
	line_end = strchr(at, '\n');
	if (!line_end || !read_word(at, (size_t)(line_end - at), ret->key, sizeof(ret->key)) ||
	    !str_starts(line_end, "\nsignature "))
		return false;
	at = line_end + strlen("\nsignature ");
	line_end = strchr(at, '\n');
	return line_end && !line_end[1] &&
	       read_word(at, (size_t)(line_end - at), ret->bytes, sizeof(ret->bytes));
}

/* Among the keys in the user's file, one base64 word a line. */
static bool is_listed(const char *config_dir, const unsigned char *key)
{
	owned(free_ptr) char *path = xasprintf("%s/" TRUSTED_KEYS, config_dir);
	owned(str_done) struct str text = STR_INIT;
	unsigned char one[ED25519_PUBLIC];
	struct error ignored;
	const char *at;

	if (file_read(AT_FDCWD, path, TRUSTED_MAX, &text, &ignored) < 0)
		return false;
	for (at = str_cstr(&text); *at; at += strcspn(at, "\n"), at += *at == '\n') {
		if (read_word(at, strcspn(at, " \t\n"), one, sizeof(one)) &&
		    memcmp(one, key, sizeof(one)) == 0)
			return true;
	}
	return false;
}

static int is_trusted(const char *config_dir, const unsigned char *key, bool *ret_trusted,
		      struct error *err)
{
	unsigned char secret[ED25519_SECRET];
	int found = sign_read_key(config_dir, secret, err);

	if (found < 0)
		return -1;
	*ret_trusted = found > 0 &&
		       memcmp(secret + ED25519_SECRET - ED25519_PUBLIC, key, ED25519_PUBLIC) == 0;
	ed25519_forget(secret);
	*ret_trusted = *ret_trusted || is_listed(config_dir, key);
	return 0;
}

static int check_content(const struct vet_signed *what, const struct signature *signature,
			 struct error *err)
{
	owned(str_done) struct str message = STR_INIT;
	bool is_ours;

	if (is_trusted(what->view->spec->config_dir, signature->key, &is_ours, err) < 0)
		return -1;
	if (!is_ours)
		return error_set(err, ERROR_DENIED,
				 REFUSED
				 "%s is signed with a key you do not trust; sign it yourself "
				 "(aisbx sign), or add the key to trusted-keys",
				 what->source->path);
	sign_message(&what->source->bytes, &message);
	if (!ed25519_holds(signature->key, message.data, message.len, signature->bytes))
		return error_set(err, ERROR_DENIED,
				 REFUSED
				 "%s was changed after it was signed; look at it, then sign it "
				 "again: aisbx sign %s",
				 what->source->path, what->source->path);
	return 0;
}

static int check_file(const struct vet_signed *what, struct error *err)
{
	owned(free_ptr) char *name = xasprintf("%s" SIGNATURE_ENDING, what->source->path);
	owned(vet_source_done) struct vet_source beside = { .path = NULL };
	struct signature signature;
	int found = vet_source_read(what->view, name, false, &beside, err);

	if (found < 0)
		return -1;
	if (found == 0)
		return error_set(err, ERROR_DENIED, REFUSED "%s is not signed; aisbx sign %s",
				 what->source->path, what->source->path);
	if (!parse(&beside.bytes, &signature))
		return error_set(err, ERROR_DENIED,
				 REFUSED "%s is no signature; sign again: aisbx sign %s", name,
				 what->source->path);
	return check_content(what, &signature, err);
}

static bool begins_with_any(const char *text, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (str_starts(text, list[i]))
			return true;
	}
	return false;
}

/* Variables that make an interpreter or the loader run something else first, but for those that only set how they behave. */
static int check_environment(const struct spec *spec, struct error *err)
{
	static const char *const names[] = { "LD_",
					     "PYTHON",
					     "NODE_OPTIONS=",
					     "NODE_PATH=",
					     "BASH_ENV=",
					     "BASH_FUNC_",
					     "ENV=",
					     "PERL5",
					     "PERLLIB=",
					     "RUBYOPT=",
					     "RUBYLIB=",
					     "SHELLOPTS=",
					     "BASHOPTS=",
					     "PS4=",
					     "GCONV_PATH=",
					     "OPENSSL_CONF=",
					     "OPENSSL_ENGINES=",
					     "OPENSSL_MODULES=",
					     "LUA_",
					     "ZDOTDIR=",
					     "GIT_SSH",
					     "GIT_EXEC_PATH=",
					     "GIT_CONFIG",
					     "GIT_EXTERNAL_DIFF=",
					     "_JAVA_OPTIONS=",
					     "JDK_JAVA_OPTIONS=",
					     "JAVA_TOOL_OPTIONS=" };
	static const char *const harmless[] = { "PYTHONUNBUFFERED=", "PYTHONDONTWRITEBYTECODE=",
						"PYTHONHASHSEED=", "PYTHONIOENCODING=",
						"PYTHONUTF8=" };

	for (size_t i = 0; i < spec->env.count; i++) {
		const char *one = spec->env.items[i];

		if (begins_with_any(one, names, sizeof(names) / sizeof(names[0])) &&
		    !begins_with_any(one, harmless, sizeof(harmless) / sizeof(harmless[0])))
			return error_set(err, ERROR_DENIED,
					 REFUSED "the variable %.*s could bring unsigned code in; "
						 "leave it out",
					 (int)strcspn(one, "="), one);
	}
	return 0;
}

/* The interpreter's own words: only switches that bring no code. */
static int check_interpreter(const struct vet_signed *what, struct error *err)
{
	const struct strv *words = &what->view->spec->command;

	if (!vet_program_is_system(what->view, words->items[0]))
		return error_set(err, ERROR_DENIED,
				 REFUSED "%s is not the machine's own; use the one in /usr/bin",
				 words->items[0]);
	for (size_t i = 1; i < words->count && strcmp(words->items[i], what->code->text) != 0;
	     i++) {
		const char *word = words->items[i];

		if (word[0] != '-' || strspn(word + 1, "uBIEsSOqbvex") != strlen(word + 1))
			return error_set(err, ERROR_DENIED,
					 REFUSED
					 "the option %s could bring unsigned code in; leave it out",
					 word);
	}
	return 0;
}

/* "#!/usr/bin/env python3": what would read the script is the machine's own, too. */
static int check_first_line(const struct vet_signed *what, struct error *err)
{
	const struct str *bytes = &what->source->bytes;
	owned(strv_done) struct strv words = STRV_INIT;
	const char *word;

	if (!scan_first_line(str_cstr(bytes), bytes->len, &words))
		return 0;
	word = words.count > 0 ? words.items[0] : NULL;
	if (word && strcmp(command_name(word), "env") == 0 &&
	    vet_program_is_system(what->view, word))
		word = words.items[1];
	if (!word || !vet_program_is_system(what->view, word))
		return error_set(err, ERROR_DENIED,
				 REFUSED "%s is read by %s, which is not the machine's own",
				 what->source->path, word ? word : "nothing");
	return 0;
}

int vet_signature(const struct vet_signed *what, struct error *err)
{
	const struct spec *spec = what->view->spec;

	if (what->code->kind != CODE_FILE)
		return error_set(err, ERROR_DENIED,
				 REFUSED
				 "only a file can be signed; put the code into one, sign it "
				 "(aisbx sign FILE), and run that");
	if (command_start(&spec->command) != 0)
		return error_set(err, ERROR_DENIED, REFUSED "start it directly, without %s",
				 spec->command.items[0]);
	if (!what->source)
		return error_set(err, ERROR_DENIED, REFUSED "%s cannot be read to be checked",
				 what->code->text);
	if (!what->source->is_plain)
		return error_set(
			err, ERROR_DENIED,
			REFUSED "a link leads to %s, and links can be turned; name %s itself",
			what->source->path, what->source->real ? what->source->real : "the file");
	if (check_environment(spec, err) < 0 ||
	    (what->code->is_program ? check_first_line(what, err) : check_interpreter(what, err)) <
		    0)
		return -1;
	return check_file(what, err);
}
