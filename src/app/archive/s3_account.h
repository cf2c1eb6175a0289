/* SPDX-License-Identifier: Apache-2.0 */
/* Who asks S3, and which one: AWS's usual variables and files, never words of a command. */
#ifndef APP_ARCHIVE_S3_ACCOUNT_H
#define APP_ARCHIVE_S3_ACCOUNT_H

#include "base/core/error.h"

struct s3_account {
	char *key, *secret;
	char *token;	   /* of a session; NULL: none */
	char *region;	   /* us-east-1 where none is named */
	char *endpoint;	   /* AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL; NULL: Amazon's */
	char *authorities; /* AWS_CA_BUNDLE; NULL: the machine's */
};

/* Variables first, then the profile AWS_PROFILE (default) of ~/.aws/credentials and ~/.aws/config. */
int s3_account_read(char *const *environ, struct s3_account *ret_account, struct error *err);
/* Wipes and frees. */
void s3_account_done(struct s3_account *account);

#endif
