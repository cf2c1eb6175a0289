/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a .tsv table, for the generators that make C of one. */
#include "base/gen/gen_rows.h"

#include <stdio.h>
#include <string.h>

#define LINE_SIZE 8192

static bool split_row(char *line, size_t count, char **fields)
{
	size_t len = strcspn(line, "\n");

	if (line[len] != '\n' || count > GEN_FIELDS_MAX)
		return false;
	line[len] = '\0';
	fields[0] = line;
	for (size_t i = 1; i < count; i++) {
		char *tab = strchr(fields[i - 1], '\t');

		if (!tab || tab == fields[i - 1])
			return false;
		*tab = '\0';
		fields[i] = tab + 1;
	}
	return *fields[count - 1] && !strchr(fields[count - 1], '\t');
}

int gen_rows_read(const char *path, size_t count, bool (*take)(char **fields, void *cookie),
		  void *cookie)
{
	char line[LINE_SIZE], *fields[GEN_FIELDS_MAX];
	FILE *in = fopen(path, "r");
	unsigned number = 0;
	int status = 0;

	if (!in) {
		perror(path);
		return -1;
	}
	while (status == 0 && fgets(line, sizeof(line), in)) {
		number++;
		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (!split_row(line, count, fields) || !take(fields, cookie)) {
			fprintf(stderr, "%s:%u: not a row of this table\n", path, number);
			status = -1;
		}
	}
	(void)fclose(in);
	return status;
}
