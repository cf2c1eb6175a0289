/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of system calls that the headers of older distributions lack; the same on every 64-bit machine. */
#ifndef ESCAPE_NUMBERS_H
#define ESCAPE_NUMBERS_H

#include <sys/syscall.h>

#define NR_memfd_secret 447
#define NR_set_mempolicy_home_node 450
#define NR_cachestat 451
#define NR_statmount 457
#define NR_listmount 458
#define NR_lsm_get_self_attr 459
#define NR_lsm_set_self_attr 460
#define NR_lsm_list_modules 461
#define NR_open_tree_attr 467
#define NR_file_getattr 468
#define NR_file_setattr 469
#define NR_listns 470

#ifdef __x86_64__
#define NR_kexec_file_load 320
#else
#define NR_kexec_file_load 294
#endif

#endif
