/*
 * Signed components: FILE.sig beside FILE says that its content is what somebody trusted signed.
 *
 *   aisbx-signature 1
 *   key BASE64        who signed
 *   signature BASE64  over "aisbx component 1\n" and the content
 *
 * Trusted is the user's own key (signing.key, 0600, made at the first signature), and those in trusted-keys, one base64
 * word a line, both in the user's configuration.
 */
#ifndef ENGINE_SIGN_H
#define ENGINE_SIGN_H

#include "base/error.h"
#include "base/value.h"
#include "engine/vet_source.h"
#include "scan/code.h"

#define SIGNATURE_ENDING ".sig"

/* Signs the file at PATH: {file, signature, key, sha256}. The caller owns the answer. */
int engine_sign(const char *path, struct value **ret_answer, struct error *err);

/* What a command would run, for its signature. */
struct vet_signed {
	const struct vet_view *view;
	const struct scan_code *code;
	const struct vet_source *source; /* NULL: there is no such file */
};

/* ERROR_DENIED unless what runs is one file with a signature that holds, started by nothing but the system's own. */
int vet_signature(const struct vet_signed *what, struct error *err);

/* Behind that: the command finds no programs or modules but the machine's own (its PATH, python -I). */
void vet_confine(const struct vet_signed *what, struct spec *spec);

#endif
