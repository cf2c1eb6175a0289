/* SPDX-License-Identifier: Apache-2.0 */
/* Calls this code base never makes; the compiler refuses them. Included before every file. */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

/* The poisoned names may stand in the libc's own headers, so those are read first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A fortified build makes macros of some; a poisoned macro would be a warning. */
#undef strcpy
#undef strcat
#undef stpcpy
#undef sprintf
#undef vsprintf
#undef strtok

/* No bound on what is written. */
#pragma GCC poison strcpy strcat sprintf vsprintf stpcpy
/* A shell between us and the command; system() is left to tools/check-words, for it is also a good name. */
#pragma GCC poison popen
/* Names that can be raced or guessed. */
#pragma GCC poison mktemp tmpnam tempnam
/* State shared behind the caller's back. */
#pragma GCC poison strtok

#endif
