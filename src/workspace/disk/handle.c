/* SPDX-License-Identifier: Apache-2.0 */
/* What a filesystem calls a file by, asked of the file itself and read from the kernel's note. */
#include "workspace/disk/handle.h"

#include "workspace/disk/overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>

/* Of the note: version, magic, length, flags, type, 16 bytes of the filesystem. */
#define NOTE_MAGIC 1
#define NOTE_TYPE 4
#define NOTE_UUID 5
#define NOTE_HANDLE (NOTE_UUID + HANDLE_UUID)
#define MAGIC 0xfb

/* Of Linux 6.9, which headers of before that do not have. */
struct uuid_answer {
	unsigned char len;
	unsigned char uuid[HANDLE_UUID];
};
#define GET_UUID _IOR(0x15, 0, struct uuid_answer)

/* As the kernel takes it and gives it. */
union room {
	struct file_handle header;
	char bytes[sizeof(struct file_handle) + HANDLE_MAX];
};

/* Zeros where neither the kernel nor the filesystem supports handles. */
static void read_uuid(int fd, unsigned char ret_uuid[static HANDLE_UUID])
{
	struct uuid_answer told = { 0 };

	memset(ret_uuid, 0, HANDLE_UUID);
	if (ioctl(fd, GET_UUID, &told) == 0 && told.len == HANDLE_UUID)
		memcpy(ret_uuid, told.uuid, HANDLE_UUID);
}

bool handle_read(int dir_fd, const char *name, struct handle *ret_handle)
{
	union room handle = { .header = { .handle_bytes = HANDLE_MAX } };
	int mount_id;

	if (dir_fd < 0 || name_to_handle_at(dir_fd, name, &handle.header, &mount_id, 0) < 0)
		return false;
	*ret_handle = (struct handle){ .type = (unsigned)handle.header.handle_type,
				       .len = handle.header.handle_bytes };
	memcpy(ret_handle->bytes, handle.header.f_handle, ret_handle->len);
	read_uuid(dir_fd, ret_handle->uuid);
	return true;
}

int handle_open(int near_fd, const struct handle *handle)
{
	union room asked = { .header = { .handle_bytes = (unsigned)handle->len,
					 .handle_type = (int)handle->type } };

	struct handle near = { 0 };

	read_uuid(near_fd, near.uuid);
	if (!handle_is_near(handle, &near)) {
		errno = ESTALE;
		return -1;
	}
	memcpy(asked.header.f_handle, handle->bytes, handle->len);
	return open_by_handle_at(near_fd, &asked.header, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

bool handle_read_note(int fd, bool is_user, struct handle *ret_handle)
{
	unsigned char note[HANDLE_MAX];
	ssize_t len = fd < 0 ? -1 : overlay_mark(fd, is_user, "origin", note, sizeof(note));

	if (len <= NOTE_HANDLE || note[NOTE_MAGIC] != MAGIC)
		return false;
	*ret_handle = (struct handle){ .type = note[NOTE_TYPE], .len = (size_t)len - NOTE_HANDLE };
	memcpy(ret_handle->bytes, note + NOTE_HANDLE, ret_handle->len);
	memcpy(ret_handle->uuid, note + NOTE_UUID, HANDLE_UUID);
	return true;
}

uint64_t handle_inode(const struct handle *handle)
{
	uint64_t wide;
	uint32_t narrow;

	if (handle->len < sizeof(wide))
		return 0;
	switch (handle->type) {
	case 0x01: /* 32 bits and a generation: ext4 */
	case 0x02:
		memcpy(&narrow, handle->bytes, sizeof(narrow));
		return narrow;
	case 0x81: /* 64 bits: XFS */
	case 0x82:
	case 0x4d: /* btrfs */
	case 0x4e:
	case 0x4f:
		memcpy(&wide, handle->bytes, sizeof(wide));
		return wide;
	default:
		return 0;
	}
}

int handle_compare(const struct handle *one, const struct handle *other)
{
	if (one->type != other->type)
		return one->type < other->type ? -1 : 1;
	if (one->len != other->len)
		return one->len < other->len ? -1 : 1;
	return memcmp(one->bytes, other->bytes, one->len);
}

bool handle_is_near(const struct handle *one, const struct handle *other)
{
	static const unsigned char unknown[HANDLE_UUID];

	return memcmp(one->uuid, other->uuid, HANDLE_UUID) == 0 ||
	       memcmp(one->uuid, unknown, HANDLE_UUID) == 0 ||
	       memcmp(other->uuid, unknown, HANDLE_UUID) == 0;
}
