/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What musl's start of a static program leaves out: the part of it that holds addresses, and is written to but once, stays
 * writable. Before main, where glibc's has done the same.
 */
#include "base/core/die.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>

/* Where the linker put the head of the program: everything is counted from there. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

static void seal_part(const ElfW(Phdr) * part)
{
	uintptr_t page = getauxval(AT_PAGESZ), from = (uintptr_t)__ehdr_start + part->p_vaddr;
	uintptr_t end = (from + part->p_memsz) & -page;

	from &= -page;
	if (end > from && mprotect((void *)from, end - from, PROT_READ) < 0)
		die("what is written to but once cannot be sealed");
}

__attribute__((constructor)) static void seal(void)
{
	const ElfW(Phdr) *part = (const ElfW(Phdr) *)getauxval(AT_PHDR);

	for (size_t left = getauxval(AT_PHNUM); part && left > 0; left--, part++) {
		if (part->p_type == PT_GNU_RELRO)
			seal_part(part);
	}
}
