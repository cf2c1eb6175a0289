/* SPDX-License-Identifier: Apache-2.0 */
/* A report as SARIF 2.1.0, which code hosts show beside the lines. */
#include "base/core/own.h"
#include "scan/scan.h"

#include <string.h>

static const char *level(enum scan_severity severity)
{
	if (severity >= SEVERITY_HIGH)
		return "error";
	return severity == SEVERITY_MEDIUM ? "warning" : "note";
}

static struct value *message(const char *text)
{
	struct value *map = value_new_map();

	value_add(map, "text", value_new_text(text));
	return map;
}

/* An address relative to where the scan was started; bytes that may not stand there are written as %HH. */
static struct value *address(const char *file)
{
	static const char plain[] = "-._~/";
	owned(str_done) struct str uri = STR_INIT;

	for (; *file; file++) {
		unsigned char c = (unsigned char)*file;

		if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
		    strchr(plain, c))
			str_add_char(&uri, (char)c);
		else
			str_addf(&uri, "%%%02X", c);
	}
	return value_new_text(str_cstr(&uri));
}

static struct value *location(const struct scan_finding *finding)
{
	struct value *list = value_new_list(), *one = value_append(list, value_new_map());
	struct value *physical = value_add(one, "physicalLocation", value_new_map());
	struct value *artifact = value_add(physical, "artifactLocation", value_new_map());
	struct value *region = value_add(physical, "region", value_new_map());

	value_add(artifact, "uri", address(finding->file));
	value_add(region, "startLine", value_new_int(finding->line));
	value_add(region, "startColumn", value_new_int(finding->units_column));
	return list;
}

static void add_rule(struct value *rules, const struct scan_finding *finding)
{
	const struct scan_rule_row *row = &scan_rules[finding->rule];
	owned(free_ptr) char *id = scan_finding_rule(finding);
	struct value *rule = value_append(rules, value_new_map());

	value_add(rule, "id", value_new_text(id));
	value_add(rule, "shortDescription", message(row->message));
	value_add(rule, "fullDescription", message(row->why));
	value_add(rule, "help", message(row->hint));
	value_add(value_add(rule, "defaultConfiguration", value_new_map()), "level",
		  value_new_text(level(row->severity)));
}

/* The number of the finding's rule in the list, which gets it when it is new. */
static int64_t index_of(struct value *rules, const struct scan_finding *finding)
{
	owned(free_ptr) char *id = scan_finding_rule(finding);

	for (size_t i = 0; i < rules->many.count; i++) {
		if (strcmp(value_get_text(rules->many.items[i], "id"), id) == 0)
			return (int64_t)i;
	}
	add_rule(rules, finding);
	return (int64_t)rules->many.count - 1;
}

static struct value *result(struct value *rules, const struct scan_finding *finding)
{
	owned(free_ptr) char *id = scan_finding_rule(finding);
	owned(free_ptr) char *words = xasprintf("%s. %s", finding->message, finding->hint);
	struct value *map = value_new_map();

	value_add(map, "ruleId", value_new_text(id));
	value_add(map, "ruleIndex", value_new_int(index_of(rules, finding)));
	value_add(map, "level", value_new_text(level(finding->severity)));
	value_add(map, "message", message(words));
	value_add(map, "locations", location(finding));
	value_add(value_add(map, "properties", value_new_map()), "severity",
		  value_new_text(scan_severity_name(finding->severity)));
	return map;
}

struct value *scan_report_sarif(const struct scan_report *report, const char *version)
{
	struct value *log = value_new_map(), *run, *driver, *rules, *results;

	value_add(log, "$schema", value_new_text("https://json.schemastore.org/sarif-2.1.0.json"));
	value_add(log, "version", value_new_text("2.1.0"));
	run = value_append(value_add(log, "runs", value_new_list()), value_new_map());
	driver = value_add(value_add(run, "tool", value_new_map()), "driver", value_new_map());
	value_add(driver, "name", value_new_text("aisbx scan"));
	value_add(driver, "version", value_new_text(version));
	rules = value_add(driver, "rules", value_new_list());
	value_add(run, "columnKind", value_new_text("utf16CodeUnits"));
	results = value_add(run, "results", value_new_list());
	for (size_t i = 0; i < report->count; i++)
		value_append(results, result(rules, &report->findings[i]));
	return log;
}
