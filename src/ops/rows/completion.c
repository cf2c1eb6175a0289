/* The bash completion script, made from the table of verbs so that it cannot drift. */
#include "ops/rows/rows.h"

#include <string.h>

static void add_words(struct str *out, const char *choices)
{
	for (; *choices; choices++)
		str_add_char(out, *choices == '|' ? ' ' : *choices);
}

static void add_flag_names(struct str *out, const struct op_param *param)
{
	for (; param && param->name; param++) {
		if (param->letter)
			str_addf(out, " -%c", param->letter);
		str_addf(out, " --%s", param->name);
	}
}

static void add_verb_case(struct str *out, const struct op *op)
{
	str_addf(out, "\t%s)\n\t\tflags=\"", op->name);
	add_flag_names(out, op_common_params);
	add_flag_names(out, op->params);
	if (op->flags & OP_SETTINGS) {
		for (const struct setting_row *row = setting_rows; row->name; row++) {
			if (row->flag)
				str_addf(out, " --%s", row->name);
		}
	}
	str_add(out, "\"\n");
	if (op->words && strcmp(op->words, OP_SANDBOXES) == 0) {
		str_add(out,
			"\t\twords=$(command ls \"${XDG_DATA_HOME:-$HOME/.local/share}/aisbx/sbx\" "
			"2>/dev/null)\n");
	} else if (op->words) {
		str_add(out, "\t\twords=\"");
		add_words(out, op->words);
		str_add(out, "\"\n");
	}
	str_add(out, "\t\t;;\n");
}

/* What may follow a flag: words of a fixed choice, directories, files, or nothing we know. */
static void add_value_case(struct str *out, const char *name, char letter, const char *metavar,
			   const char *choices)
{
	str_addf(out, "\t--%s", name);
	if (letter)
		str_addf(out, " | -%c", letter);
	str_add(out, ")\n\t\t");
	if (choices) {
		str_add(out, "mapfile -t COMPREPLY < <(compgen -W \"");
		add_words(out, choices);
		str_add(out, "\" -- \"$cur\")\n");
	} else if (metavar && strcmp(metavar, "DIR") == 0) {
		str_add(out, "mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")\n");
	} else if (metavar && (strstr(metavar, "FILE") || strstr(metavar, "SRC"))) {
		str_add(out, "mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n");
	} else {
		str_add(out, "COMPREPLY=()\n");
	}
	str_add(out, "\t\treturn\n\t\t;;\n");
}

static bool named_before(const struct op *const *last, const char *name)
{
	for (const struct op *const *at = ops; at != last; at++) {
		for (const struct op_param *param = (*at)->params; param && param->name; param++) {
			if (strcmp(param->name, name) == 0)
				return true;
		}
	}
	return false;
}

/* A letter may stand for one flag here and for another there; the first verb has it. */
static char free_letter(const struct op *const *last, char letter)
{
	for (const struct op *const *at = ops; at != last; at++) {
		for (const struct op_param *param = (*at)->params; param && param->name; param++) {
			if (param->metavar && param->letter == letter)
				return 0;
		}
	}
	return letter;
}

static bool is_setting(const char *name)
{
	const struct setting_row *row = setting_find(name);

	return row && row->flag;
}

static void add_values(struct str *out)
{
	for (const struct op *const *at = ops; *at; at++) {
		for (const struct op_param *param = (*at)->params; param && param->name; param++) {
			if (param->metavar && !named_before(at, param->name) &&
			    !is_setting(param->name))
				add_value_case(out, param->name, free_letter(at, param->letter),
					       param->metavar, param->choices);
		}
	}
	for (const struct setting_row *row = setting_rows; row->name; row++) {
		if (row->flag)
			add_value_case(out, row->name, 0, row->metavar, row->choices);
	}
}

void help_completion(struct str *out)
{
	str_add(out, "# bash completion for aisbx; made by `aisbx help --completion`.\n"
		     "_aisbx()\n{\n"
		     "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
		     "\tlocal verbs=\"");
	for (const struct op *const *at = ops; *at; at++)
		str_addf(out, "%s%s", at == ops ? "" : " ", (*at)->name);
	str_add(out, "\" topics=\"");
	for (const struct help_topic *topic = help_topics; topic->name; topic++)
		str_addf(out, "%s%s", topic == help_topics ? "" : " ", topic->name);
	str_add(out,
		"\" flags=\"\" words=\"\" i\n\n"
		"\tif ((COMP_CWORD == 1)); then\n"
		"\t\tmapfile -t COMPREPLY < <(compgen -W \"$verbs --help --version\" -- \"$cur\")\n"
		"\t\treturn\n\tfi\n"
		"\t# Behind --, the command line is the command's own.\n"
		"\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
		"\t\tif [[ ${COMP_WORDS[i]} == -- ]]; then\n"
		"\t\t\tif declare -F _command_offset >/dev/null; then\n"
		"\t\t\t\t_command_offset $((i + 1))\n"
		"\t\t\telse\n"
		"\t\t\t\tmapfile -t COMPREPLY < <(compgen -c -f -- \"$cur\")\n"
		"\t\t\tfi\n\t\t\treturn\n\t\tfi\n\tdone\n"
		"\tcase $prev in\n");
	add_values(out);
	str_add(out, "\tesac\n\tcase ${COMP_WORDS[1]} in\n");
	for (const struct op *const *at = ops; *at; at++)
		add_verb_case(out, *at);
	str_add(out, "\tesac\n"
		     "\tcase ${COMP_WORDS[1]}:$cur in\n"
		     "\thelp:[a-z]* | help:)\n"
		     "\t\tmapfile -t COMPREPLY < <(compgen -W \"$verbs $topics\" -- \"$cur\")\n"
		     "\t\t;;\n"
		     "\t*:-*)\n"
		     "\t\tmapfile -t COMPREPLY < <(compgen -W \"$flags --\" -- \"$cur\")\n"
		     "\t\t;;\n"
		     "\t*)\n"
		     "\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -f -- \"$cur\")\n"
		     "\t\t;;\n"
		     "\tesac\n}\n"
		     "complete -F _aisbx aisbx\n");
}
