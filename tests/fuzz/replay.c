/* SPDX-License-Identifier: Apache-2.0 */
/* Replays a corpus through a fuzz target in the ordinary suite: one TAP case per file. */
#include "tests/tap.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A heap copy of exactly the file's size, so that a read beyond the end is seen by the sanitizer. */
static uint8_t *read_whole(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "rbe");
	uint8_t *data = NULL;
	size_t size = 0, got;
	uint8_t block[4096];

	if (!file)
		return NULL;
	while ((got = fread(block, 1, sizeof(block), file)) > 0) {
		uint8_t *more = realloc(data, size + got);

		if (!more)
			tap_bail("out of memory");
		data = more;
		memcpy(data + size, block, got);
		size += got;
	}
	(void)fclose(file);
	*ret_size = size;
	return data ? data : malloc(1);
}

static void replay_file(const char *dir, const char *name)
{
	char path[4096];
	uint8_t *data;
	size_t size = 0;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	data = read_whole(path, &size);
	tap_ok(data && LLVMFuzzerTestOneInput(data, size) == 0, "%s", name);
	free(data);
}

/* Every directory named on the command line; the empty input is always tried too. */
int main(int argc, char **argv)
{
	uint8_t nothing = 0;

	tap_ok(LLVMFuzzerTestOneInput(&nothing, 0) == 0, "empty input");
	for (int i = 1; i < argc; i++) {
		struct dirent **entries = NULL;
		int count = scandir(argv[i], &entries, NULL, alphasort);

		if (count < 0)
			tap_bail("cannot read the corpus");
		for (int j = 0; j < count; j++) {
			if (entries[j]->d_name[0] != '.')
				replay_file(argv[i], entries[j]->d_name);
			free(entries[j]);
		}
		free(entries);
	}
	return tap_done();
}
