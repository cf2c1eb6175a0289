/* SPDX-License-Identifier: Apache-2.0 */
/* The row of the verb that looks after roots other than this machine's. */
#include "ops/rows/rows.h"

/* In aisbx-full only: see table.c. */
#pragma weak op_image_run
#pragma weak op_init_run

static const struct op_param image_params[] = {
	{ .name = "name",
	  .metavar = "NAME",
	  .help = "import, pack: what to call it (default: the file's name up to its first dot)" },
	{ .name = "oci", .metavar = "DIR", .help = "export: an OCI layout, in a new directory" },
	{ .name = "dir", .metavar = "DIR", .help = "export: a pseudo-image, in a new directory" },
	{ .name = "tar",
	  .metavar = "FILE",
	  .help = "export: all of its layers as one archive, in a new file" },
	{ .name = NULL },
};

const struct op image_row = {
	.name = "image",
	.usage = "import FILE|DIR [--name NAME] | ls | show NAME | rm NAME... | export NAME --oci "
		 "DIR|--dir DIR|--tar FILE | verify [NAME...] | gc",
	.summary = "other roots to run on than this machine's",
	.group = "Look after this machine",
	.words = "import|ls|show|rm|export|pack|verify|gc",
	.flags = OP_LIBRARIES | OP_CLI_ONLY,
	.params = image_params,
	.help = "import takes an archive of a root (tar, plain or by gzip, xz, zstd), an OCI\n"
		"layout, a Docker archive or a pseudo-image (image.yaml, policy.json, layers:\n"
		"docs/images.md), whose policy can only narrow what a run gets. Digests are\n"
		"checked first; then a process that can reach nothing else unpacks each layer\n"
		"once for all images that have it. Devices, fifos and sockets are left out,\n"
		"set-id bits and extended attributes dropped; as a plain user all files become\n"
		"yours. show says what of it was.\n"
		"\n"
		"run, try, create and race take the name as --root: the sandbox has the\n"
		"image's files in place of this machine's, and the workspace at its own path.\n"
		"A name stands for the same content until rm, which is refused while a\n"
		"sandbox was made with it. verify compares the layers with what was\n"
		"unpacked, and exits 1 where they differ; gc removes layers without an image.\n"
		"export writes the same bytes for the same content. pack makes an image of a\n"
		"sandbox that was made with --root: what it changed outside of its workspace\n"
		"is one more layer.\n"
		"\n"
		"Examples:\n"
		"  aisbx image import debian.tar.gz --name debian\n"
		"  aisbx run --root debian -- cat /etc/os-release\n"
		"  aisbx image export debian --oci layout\n",
	.run = op_image_run,
};

static const struct op_param init_params[] = {
	{ .name = "rootfs", .metavar = "FILE", .help = "as image import FILE" },
	{ .name = "name",
	  .metavar = "NAME",
	  .help = "what to call it (default: the file's name up to its first dot)" },
	{ .name = NULL },
};

const struct op init_row = {
	.name = "init",
	.usage = "[--rootfs FILE [--name NAME]]",
	.summary = "write a profile for this workspace, or import a root",
	.group = "Look after this machine",
	.flags = OP_LIBRARIES | OP_CLI_ONLY,
	.params = init_params,
	.help = "Alone, writes .aisbx.yaml to the current directory, over nothing that is\n"
		"there. With --rootfs, imports that archive as `aisbx image import` does.\n",
	.run = op_init_run,
};
