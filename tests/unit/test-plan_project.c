/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of --root project: system directories to read, the workspace, and nothing else. */
#include "tests/tap.h"
#include "tests/unit/plan_fixture.h"

static void test_project(void)
{
	struct fixture f;

	fixture_open(&f);
	fixture_flag(&f, "root", "project");
	fixture_must_plan(&f);
	tap_is_int(f.spec.root, ROOT_PROJECT, "project root");
	tap_is_int(fixture_tree(&f, "/usr")->kind, TREE_READONLY, "system directories read-only");
	tap_is_int(fixture_tree(&f, "/home/u/work")->kind, TREE_OVERLAY, "the workspace on top");
	tap_ok(!fixture_tree(&f, "/"), "nothing else");
	fixture_text(&f.paths.workspace, "/opt");
	fixture_must_plan(&f);
	tap_is_int(fixture_tree(&f, "/opt")->kind, TREE_OVERLAY, "a system directory as workspace");
	fixture_text(&f.paths.workspace, NULL);
	fixture_must_plan(&f);
	tap_ok(f.spec.workspace_made && !fixture_tree(&f, f.spec.workspace), "or none");
	fixture_close(&f);
}

static void test_project_of_root(void)
{
	struct fixture f;

	fixture_open(&f);
	f.host.uid = f.host.gid = 0;
	f.host.privileged = f.host.in_initial_userns = true;
	f.host.id_base = 0x70000000;
	f.host.id_count = 65536;
	fixture_flag(&f, "root", "project");
	fixture_must_plan(&f);
	tap_is_int(f.spec.root, ROOT_PROJECT_IDMAPPED, "a root caller's has its ids mapped");
	tap_ok(!fixture_tree(&f, "/"), "and nothing else, too");
	f.host.root_idmappable = false;
	fixture_must_plan(&f);
	tap_is_int(f.spec.root, ROOT_PROJECT, "where the filesystem allows that");
	fixture_close(&f);
}

int main(void)
{
	test_project();
	test_project_of_root();
	return tap_done();
}
