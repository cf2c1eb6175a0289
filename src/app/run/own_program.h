/* SPDX-License-Identifier: Apache-2.0 */
/* Where the program that people start lies, seen from the one with libraries. */
#ifndef APP_RUN_OWN_PROGRAM_H
#define APP_RUN_OWN_PROGRAM_H

/* The absolute path of `aisbx`; NULL when it is not beside this program. Owned by the caller. */
char *own_program(void);

#endif
