/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signed components: FILE.sig beside FILE proves that its content is what the owner of a trusted key signed.
 *
 *   aisbx-signature 2
 *   key BASE64        the signer's public key
 *   signature BASE64  over "aisbx component 2\n", the language's name, "\n" and the content
 *
 * Trusted is the user's own key (signing.key, 0600, made at the first signature), and those in trusted-keys, one base64
 * word a line, both in the user's configuration.
 */
#ifndef APP_SIGN_H
#define APP_SIGN_H

#include "base/core/error.h"
#include "base/core/value.h"
#include "app/vet/vet_source.h"
#include "scan/judge/code.h"

#define SIGNATURE_ENDING ".sig"

/*
 * Signs the file at PATH: {file, signature, key, sha256, language}. LANGUAGE_NAME may be NULL: the file's name and first
 * line say. The caller owns the answer.
 */
int app_sign(const char *path, const char *language_name, struct value **ret_answer,
	     struct error *err);

/* Signs TEXT (lines) as a KIND of its own: appends the lines "key ..." and "signature ...". */
int sign_text(const char *kind, struct str *text, struct error *err);

/* Whether TEXT is signed so by a trusted key; *ret_len: of the lines in front of the signature's. */
int sign_text_check(const char *kind, const char *text, size_t *ret_len, struct error *err);

/* {key}: the user's own, made where there is none. */
int app_key_show(struct value **ret_answer, struct error *err);

/* Begins or ceases to trust a key: {key, trusted}. */
int app_key_change(const char *word, bool trusts, struct value **ret_answer, struct error *err);

/* What a command would run, for its signature. */
struct vet_signed {
	const struct vet_view *view;
	const struct scan_code *code;
	const struct vet_source *source; /* NULL: there is no such file */
	/*
	 * In a sandbox that lives: variables set for this command. The spec's are the caller's whole environment then,
	 * of which the sandbox takes what it takes. NULL in a fresh one: the spec's are those of the command.
	 */
	const struct strv *set;
};

/* ERROR_DENIED unless what runs is one file with a signature that holds, started by nothing but the system's own. */
int vet_signature(const struct vet_signed *what, struct error *err);

/* Places of tool chains that come along from the caller by themselves: a signed script does without. */
#define VET_DROPPED "VIRTUAL_ENV GOPATH GOROOT CARGO_HOME RUSTUP_HOME JAVA_HOME NVM_DIR PYENV_ROOT"

/* Whether a variable of that name (LEN bytes) is harmless: it brings in no code. */
bool vet_variable_is_allowed(const char *name, size_t len);

/* Behind that: the command finds no programs or modules but the machine's own (its PATH, python -I). */
void vet_confine(const struct vet_signed *what, struct spec *spec, struct strv *notes);

#endif
