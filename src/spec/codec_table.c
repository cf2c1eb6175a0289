/* SPDX-License-Identifier: Apache-2.0 */
/* What a spec's fields are called in its JSON. */
#include "spec/codec_field.h"

#include "spec/spec.h"

static const char *const tree_kinds[] = { "overlay", "readonly", "hidden", NULL };
static const char *const mask_kinds[] = { "hide", "empty", "keep", "glob",
					  "file", "list",  "gone", NULL };
static const char *const root_modes[] = { "idmapped", "forest", "project", "project-idmapped",
					  NULL };
static const char *const net_modes[] = { "none", "allow", NULL };

#define FIELD(type, member, kind)                                           \
	{                                                                   \
#member, kind, offsetof(struct type, member), NULL, NULL, 0 \
	}
#define CHOICE(type, member, names)                                                \
	{                                                                          \
#member, FIELD_ENUM, offsetof(struct type, member), names, NULL, 0 \
	}
#define END                  \
	{                    \
		.name = NULL \
	}

static const struct field tree_fields[] = {
	CHOICE(spec_tree, kind, tree_kinds), FIELD(spec_tree, path, FIELD_TEXT),
	FIELD(spec_tree, dev, FIELD_U64),    FIELD(spec_tree, ino, FIELD_U64),
	FIELD(spec_tree, why, FIELD_TEXT),   END,
};

static const struct field mask_fields[] = {
	CHOICE(spec_mask, kind, mask_kinds),
	FIELD(spec_mask, path, FIELD_TEXT),
	FIELD(spec_mask, content, FIELD_TEXT),
	END,
};

static const struct field bind_fields[] = {
	FIELD(spec_bind, source, FIELD_TEXT),	FIELD(spec_bind, target, FIELD_TEXT),
	FIELD(spec_bind, writable, FIELD_BOOL), FIELD(spec_bind, through, FIELD_BOOL),
	FIELD(spec_bind, stored, FIELD_BOOL),	FIELD(spec_bind, dev, FIELD_U64),
	FIELD(spec_bind, ino, FIELD_U64),	END,
};

_Static_assert(sizeof(uid_t) == sizeof(uint32_t) && sizeof(gid_t) == sizeof(uint32_t),
	       "ids are read and written as uint32_t");
_Static_assert(sizeof(enum root_mode) == sizeof(unsigned), "enumerations are read as unsigned");

static const struct field id_fields[] = {
	FIELD(spec_ids, uid, FIELD_U32),
	FIELD(spec_ids, gid, FIELD_U32),
	FIELD(spec_ids, host_uid, FIELD_U32),
	FIELD(spec_ids, host_gid, FIELD_U32),
	FIELD(spec_ids, count, FIELD_U32),
	FIELD(spec_ids, nested, FIELD_BOOL),
	END,
};

static const struct field limit_fields[] = {
	FIELD(spec_limits, cpu_milli, FIELD_U64),
	FIELD(spec_limits, mem_bytes, FIELD_U64),
	FIELD(spec_limits, pids, FIELD_U64),
	FIELD(spec_limits, disk_bytes, FIELD_U64),
	FIELD(spec_limits, inodes, FIELD_U64),
	FIELD(spec_limits, tmp_bytes, FIELD_U64),
	FIELD(spec_limits, shm_bytes, FIELD_U64),
	FIELD(spec_limits, time_ms, FIELD_U64),
	FIELD(spec_limits, cpu_time_ms, FIELD_U64),
	FIELD(spec_limits, grace_ms, FIELD_U64),
	FIELD(spec_limits, time_grace_ms, FIELD_U64),
	FIELD(spec_limits, fsize_bytes, FIELD_U64),
	FIELD(spec_limits, nofile, FIELD_U64),
	FIELD(spec_limits, nofile_soft, FIELD_U64),
	FIELD(spec_limits, memlock_bytes, FIELD_U64),
	FIELD(spec_limits, output_bytes, FIELD_U64),
	FIELD(spec_limits, log_bytes, FIELD_U64),
	FIELD(spec_limits, fuel, FIELD_U64),
	END,
};

static const struct field group_fields[] = {
	FIELD(spec_groups, unified, FIELD_BOOL),
	FIELD(spec_groups, v2_path, FIELD_TEXT),
	FIELD(spec_groups, memory_path, FIELD_TEXT),
	FIELD(spec_groups, pids_path, FIELD_TEXT),
	FIELD(spec_groups, cpu_path, FIELD_TEXT),
	FIELD(spec_groups, cpuacct_path, FIELD_TEXT),
	FIELD(spec_groups, owner, FIELD_TEXT),
	FIELD(spec_groups, owner_bytes, FIELD_U64),
	END,
};

static const struct record tree_record = { tree_fields, sizeof(struct spec_tree) };
static const struct record mask_record = { mask_fields, sizeof(struct spec_mask) };
static const struct record bind_record = { bind_fields, sizeof(struct spec_bind) };
static const struct record id_record = { id_fields, sizeof(struct spec_ids) };
static const struct record limit_record = { limit_fields, sizeof(struct spec_limits) };
static const struct record group_record = { group_fields, sizeof(struct spec_groups) };

#define INSIDE(member, record)                                                        \
	{                                                                             \
#member, FIELD_RECORD, offsetof(struct spec, member), NULL, record, 0 \
	}
#define MANY(member, record, count)                                                  \
	{                                                                            \
#member, FIELD_RECORDS, offsetof(struct spec, member), NULL, record, \
			offsetof(struct spec, count)                                 \
	}

static const struct field spec_fields[] = {
	FIELD(spec, run_id, FIELD_TEXT),
	FIELD(spec, sandbox, FIELD_TEXT),
	FIELD(spec, trace_id, FIELD_TEXT),
	FIELD(spec, driver, FIELD_TEXT),
	FIELD(spec, command, FIELD_TEXTS),
	FIELD(spec, env, FIELD_TEXTS),
	FIELD(spec, workspace, FIELD_TEXT),
	FIELD(spec, workspace_made, FIELD_BOOL),
	FIELD(spec, cwd, FIELD_TEXT),
	FIELD(spec, home, FIELD_TEXT),
	FIELD(spec, hostname, FIELD_TEXT),
	CHOICE(spec, root, root_modes),
	FIELD(spec, image, FIELD_TEXT),
	FIELD(spec, image_layers, FIELD_TEXTS),
	FIELD(spec, image_env, FIELD_TEXTS),
	MANY(trees, &tree_record, tree_count),
	MANY(masks, &mask_record, mask_count),
	FIELD(spec, aliases_cut, FIELD_BOOL),
	MANY(binds, &bind_record, bind_count),
	FIELD(spec, layers, FIELD_TEXTS),
	FIELD(spec, cache, FIELD_TEXT),
	FIELD(spec, upper_dir, FIELD_TEXT),
	FIELD(spec, copy_dir, FIELD_TEXT),
	FIELD(spec, resident, FIELD_BOOL),
	INSIDE(ids, &id_record),
	INSIDE(groups, &group_record),
	INSIDE(limits, &limit_record),
	CHOICE(spec, net, net_modes),
	FIELD(spec, allow, FIELD_TEXTS),
	FIELD(spec, deny, FIELD_TEXTS),
	FIELD(spec, publish, FIELD_TEXTS),
	FIELD(spec, secret_header, FIELD_TEXTS),
	FIELD(spec, secrets, FIELD_TEXTS),
	FIELD(spec, gpu, FIELD_TEXTS),
	FIELD(spec, run_dirs, FIELD_TEXTS),
	FIELD(spec, splice, FIELD_BOOL),
	FIELD(spec, seccomp, FIELD_TEXT),
	FIELD(spec, syscalls, FIELD_TEXTS),
	FIELD(spec, scan, FIELD_TEXT),
	FIELD(spec, signed_only, FIELD_BOOL),
	FIELD(spec, state_dir, FIELD_TEXT),
	FIELD(spec, store_dir, FIELD_TEXT),
	FIELD(spec, cache_dir, FIELD_TEXT),
	FIELD(spec, config_dir, FIELD_TEXT),
	FIELD(spec, require, FIELD_LAYERS),
	FIELD(spec, allow_degraded, FIELD_LAYERS),
	FIELD(spec, notes, FIELD_TEXTS),
	END,
};

const struct record spec_record = { spec_fields, sizeof(struct spec) };
