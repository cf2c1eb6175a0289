/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of policies share. Private to them. */
#ifndef APP_VET_REGO_PARTS_H
#define APP_VET_REGO_PARTS_H

#include "app/vet/rego.h"
#include "app/vet/rego_evaluator.h"

#define POLICY_MACHINE_DIR "/etc/aisbx/policy.d"

/* Whether nothing is there: a link that leads nowhere, or what may not be looked at, is something. */
bool policy_dir_is_absent(const char *path);
/* Where the user's lie, owned by the caller; NULL when the environment has no usable HOME. */
char *policy_user_dir(void);

/* The policies of both directories, or of a place that was named. */
struct policy_files {
	struct value *sets; /* [{name, modules: [{path, text}]}] as the evaluator takes them */
	size_t count;	    /* of files */
	char digest[SHA256_HEX_SIZE];
};

/*
 * Reads what is in force. WITH_TESTS: also files that end in _test.rego. No file at all is no error. ERROR_DENIED names the
 * file that cannot be trusted or read.
 */
int policy_files_read(bool with_tests, struct policy_files *ret_files, struct error *err);
/* The same of one directory, as if it were the user's. */
int policy_files_read_at(const char *path, bool with_tests, struct policy_files *ret_files,
			 struct error *err);
void policy_files_done(struct policy_files *files);

/* Refuses a policy that names a field no input has: such a rule would never hold, and deny nothing. */
int policy_files_check_fields(const struct policy_files *files, struct error *err);

/* An input with every field that one can have, for what names them and for trying a policy out. */
struct value *policy_sample(void);

/* A plan as a section of an input; REQUEST may be NULL. */
struct value *policy_spec(const struct request *request, const struct spec *spec);

/* What all questions have in common: action, kind, who and when. */
void policy_input_add_common(struct value *input, const char *action);

struct policy_question {
	const char *mode; /* decide, explain or test */
	const struct policy_files *files;
	const struct value *input;
	int kept_fd; /* of a policy_keeper; 0: none */
};

/* The evaluator's answer as data; every failure is ERROR_DENIED. */
int policy_evaluate(const struct policy_question *question, struct value **ret_answer,
		    struct error *err);

/* Reads the line that the evaluator wrote: an answer about exactly these sets, or an error. */
int policy_read_line(const char *bytes, size_t len, const struct value *sets,
		     struct value **ret_answer, struct error *err);

/* Takes an answer to `decide` apart: denials, joined, as ERROR_DENIED; else what is demanded. */
int policy_read_answer(const struct value *answer, struct policy_answer *ret_answer,
		       struct error *err);

#endif
