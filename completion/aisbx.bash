# Completion for bash. `aisbx help --complete` says what may follow; this only hands it over.
_aisbx()
{
	local cur=${COMP_WORDS[COMP_CWORD]} line words i
	# The words as they were typed: bash itself takes NAME@SNAP apart.
	read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
	[[ ${COMP_LINE:0:COMP_POINT} == *[[:space:]] ]] && words+=("")
	local typed=${words[-1]}

	COMPREPLY=()
	while IFS= read -r line; do
		case $line in
		:files | :directories)
			compopt -o filenames 2>/dev/null
			mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen "-${line:1:1}" -- "$cur")
			;;
		:command*)
			# Where bash has its own -- among the words, which it counts differently.
			for ((i = 1; i < COMP_CWORD; i++)); do
				[[ ${COMP_WORDS[i]} == -- ]] && break
			done
			if declare -F _command_offset >/dev/null; then
				_command_offset $((i + 1))
			else
				mapfile -t COMPREPLY < <(compgen -c -f -- "$cur")
			fi
			;;
		*)
			line=${line%%$'\t'*}
			printf -v line %q "${line#"${typed%"$cur"}"}"
			COMPREPLY+=("$line")
			;;
		esac
	done < <("${words[0]}" help --complete -- "${words[@]:1}" 2>/dev/null)
}
complete -F _aisbx aisbx
