/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to change on this machine so that a layer works, or a warning ends, as data: {name, steps}. Changes nothing.
 *
 * A step is {file, text}: the whole of a file as it is to be; or {do, undo}: commands, either of which may be null, of which
 * the second needs the directory `dir`, where there is such a key. Steps are taken in order and taken back in reverse, so that one with nothing but `undo` comes last then.
 */
#ifndef APP_DOCTOR_FIX_STEPS_H
#define APP_DOCTOR_FIX_STEPS_H

#include "app/doctor/doctor_advice.h"

/* The kernel setting NAME, with dots, now and at every start of the machine. */
struct value *fix_sysctl(const struct doctor_machine *machine, const char *name, const char *value);

/* User namespaces for this program where AppArmor restricts them; for all programs where its tools are missing. */
struct value *fix_apparmor(const struct doctor_machine *machine);

/* A module of the kernel. */
struct value *fix_module(const struct doctor_machine *machine, const char *name);

/* Control groups for the caller's service manager. NULL where it has them already. */
struct value *fix_delegation(const struct doctor_machine *machine);

#endif
