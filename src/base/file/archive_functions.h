/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of libarchive that are called; loaded by name, or linked into a static program. */
#ifndef BASE_FILE_ARCHIVE_FUNCTIONS_H
#define BASE_FILE_ARCHIVE_FUNCTIONS_H

#define ARCHIVE_FUNCTIONS(F)                \
	F(archive_read_new)                 \
	F(archive_read_free)                \
	F(archive_read_support_format_zip)  \
	F(archive_read_support_format_tar)  \
	F(archive_read_support_filter_gzip) \
	F(archive_read_support_filter_xz)   \
	F(archive_read_support_filter_zstd) \
	F(archive_read_open_fd)             \
	F(archive_read_next_header)         \
	F(archive_read_data_block)          \
	F(archive_read_data)                \
	F(archive_filter_bytes)             \
	F(archive_error_string)             \
	F(archive_entry_filetype)           \
	F(archive_entry_pathname)           \
	F(archive_entry_hardlink)           \
	F(archive_entry_symlink)            \
	F(archive_entry_perm)               \
	F(archive_entry_uid)                \
	F(archive_entry_gid)                \
	F(archive_entry_mtime)              \
	F(archive_entry_mtime_nsec)         \
	F(archive_entry_xattr_count)        \
	F(archive_entry_size)

#endif
