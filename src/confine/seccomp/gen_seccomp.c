/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build-time generator: syscalls.tsv and an architecture in, a C file with the filters and the
 * names out.
 *
 * Runs on the build machine, so nothing here may depend on the machine the result is for.
 */
#include "confine/seccomp/seccomp.h"
#include "confine/seccomp/seccomp_rules.h"

#include <errno.h>
#include <linux/audit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 1000
#define NAME_SIZE 29

struct row {
	long nr; /* -1: not on this architecture */
	char name[NAME_SIZE];
	char class_text[32];
	struct seccomp_entry entry;
};

struct table {
	struct row rows[ROWS_MAX];
	size_t count;
};

static const struct arch {
	const char *name;
	unsigned column;
	uint32_t audit;
} archs[] = {
	{ "x86_64", 0, AUDIT_ARCH_X86_64 },
	{ "aarch64", 1, AUDIT_ARCH_AARCH64 },
};

static int parse_number(const char *text, long *ret_number)
{
	char *end = NULL;

	if (strcmp(text, "-") == 0) {
		*ret_number = -1;
		return 0;
	}
	*ret_number = strtol(text, &end, 10);
	return end == text || *end || *ret_number < 0 || *ret_number > INT16_MAX ? -1 : 0;
}

static int parse_row(char *line, const struct arch *arch, struct row *row)
{
	char *save = NULL;
	char *cells[4];

	for (size_t i = 0; i < 4; i++) {
		cells[i] = strtok_r(i ? NULL : line, "\t\n", &save);
		if (!cells[i])
			return -1;
	}
	if (strtok_r(NULL, "\t\n", &save))
		return -1;
	if (strlen(cells[2]) >= sizeof(row->name) || strlen(cells[3]) >= sizeof(row->class_text))
		return -1;
	memcpy(row->name, cells[2], strlen(cells[2]) + 1);
	memcpy(row->class_text, cells[3], strlen(cells[3]) + 1);
	if (!seccomp_rule_apply(row->class_text, &row->entry))
		return -1;
	if (parse_number(cells[arch->column], &row->nr) < 0)
		return -1;
	row->entry.nr = (uint32_t)row->nr;
	return 0;
}

static int read_table(const char *path, const struct arch *arch, struct table *table)
{
	FILE *file = fopen(path, "re");
	char line[256];
	unsigned number = 0;

	if (!file) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	table->count = 0;
	while (fgets(line, sizeof(line), file)) {
		number++;
		if (line[0] == '#')
			continue;
		if (table->count == ROWS_MAX ||
		    parse_row(line, arch, &table->rows[table->count]) < 0) {
			fprintf(stderr, "%s:%u: malformed row\n", path, number);
			fclose(file);
			return -1;
		}
		table->count++;
	}
	fclose(file);
	return 0;
}

static int by_number(const void *left, const void *right)
{
	const struct row *a = left;
	const struct row *b = right;

	return a->nr != b->nr ? (a->nr > b->nr) - (a->nr < b->nr) : strcmp(a->name, b->name);
}

static const char *class_name(const char *text)
{
	if (strcmp(text, "allow") == 0)
		return "SECCOMP_CLASS_ALLOW";
	if (strcmp(text, "eperm") == 0)
		return "SECCOMP_CLASS_EPERM";
	if (strcmp(text, "enosys") == 0)
		return "SECCOMP_CLASS_ENOSYS";
	return "SECCOMP_CLASS_ARGS";
}

static void print_names(const struct table *table, bool is_here, const char *array)
{
	printf("static const struct seccomp_name %s[] = {\n", array);
	for (size_t i = 0; i < table->count; i++) {
		const struct row *row = &table->rows[i];

		if ((row->nr >= 0) == is_here)
			printf("\t{ %ld, %s, \"%s\" },\n", row->nr, class_name(row->class_text),
			       row->name);
	}
	printf("};\n\n");
}

static int print_program(const struct seccomp_policy *policy, const char *array)
{
	static struct sock_filter program[BPF_MAXINSNS];
	size_t count = 0;

	if (seccomp_emit(policy, program, BPF_MAXINSNS, &count) < 0) {
		perror("cannot make the filter");
		return -1;
	}
	printf("/* %zu instructions */\nstatic const struct sock_filter %s[] = {\n", count, array);
	for (size_t i = 0; i < count; i++)
		printf("\t{ 0x%02x, %u, %u, 0x%08x },\n", program[i].code, program[i].jt,
		       program[i].jf, program[i].k);
	printf("};\n\n");
	return 0;
}

/* What only a listener can do makes no difference without one. */
static unsigned program_of(unsigned variant)
{
	return variant & SECCOMP_VARIANT_NOTIFY ? variant : variant & SECCOMP_VARIANT_SPLICE;
}

static int print_programs(const struct table *table, const struct arch *arch)
{
	static struct seccomp_entry entries[ROWS_MAX];
	struct seccomp_policy policy = { .arch = arch->audit, .entries = entries };

	for (size_t i = 0; i < table->count; i++) {
		if (table->rows[i].nr >= 0)
			entries[policy.entry_count++] = table->rows[i].entry;
	}
	for (unsigned variant = 0; variant < SECCOMP_VARIANTS; variant++) {
		char array[32];

		if (variant != program_of(variant))
			continue;
		snprintf(array, sizeof(array), "program_%u", variant);
		seccomp_policy_variant(&policy, variant);
		if (print_program(&policy, array) < 0)
			return -1;
	}
	return 0;
}

/*
 * sock_fprog's pointer is not const though the kernel only reads; the detour keeps -Wcast-qual
 * quiet.
 */
static void print_build(const struct arch *arch)
{
	printf("#define PROGRAM(name) { sizeof(name) / sizeof(name[0]), "
	       "(struct sock_filter *)(uintptr_t)name }\n\n"
	       "const struct seccomp_build seccomp_build_%s = {\n"
	       "\t.arch = 0x%08xU,\n"
	       "\t.programs = {\n",
	       arch->name, arch->audit);
	for (unsigned variant = 0; variant < SECCOMP_VARIANTS; variant++)
		printf("\t\tPROGRAM(program_%u),\n", program_of(variant));
	printf("\t},\n"
	       "\t.names = names,\n"
	       "\t.name_count = sizeof(names) / sizeof(names[0]),\n"
	       "\t.elsewhere = elsewhere,\n"
	       "\t.elsewhere_count = sizeof(elsewhere) / sizeof(elsewhere[0]),\n"
	       "};\n");
}

int main(int argc, char **argv)
{
	static struct table table;
	const struct arch *arch = NULL;

	for (size_t i = 0; argc == 3 && i < sizeof(archs) / sizeof(archs[0]); i++) {
		if (strcmp(argv[1], archs[i].name) == 0)
			arch = &archs[i];
	}
	if (!arch) {
		fprintf(stderr, "usage: gen_seccomp x86_64|aarch64 syscalls.tsv\n");
		return 2;
	}
	if (read_table(argv[2], arch, &table) < 0)
		return 1;
	qsort(table.rows, table.count, sizeof(table.rows[0]), by_number);
	printf("/* Made from syscalls.tsv by gen_seccomp. */\n"
	       "#include \"confine/seccomp/seccomp.h\"\n#include "
	       "\"confine/seccomp/seccomp_build.h\"\n\n");
	print_names(&table, true, "names");
	print_names(&table, false, "elsewhere");
	if (print_programs(&table, arch) < 0)
		return 1;
	print_build(arch);
	return fflush(stdout) == 0 ? 0 : 1;
}
