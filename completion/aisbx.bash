# Completion for bash. `aisbx help --complete` says what may follow; this only hands it over.
_aisbx()
{
	local cur=${COMP_WORDS[COMP_CWORD]} line words
	# The words as they were typed: bash itself takes NAME@SNAP apart.
	read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
	[[ ${COMP_LINE:0:COMP_POINT} == *[[:space:]] ]] && words+=("")
	local typed=${words[-1]}

	COMPREPLY=()
	while IFS= read -r line; do
		case $line in
		:files) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$cur") ;;
		:directories) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "$cur") ;;
		:command*)
			if declare -F _command_offset >/dev/null; then
				_command_offset "${line#* }"
			else
				mapfile -t COMPREPLY < <(compgen -c -f -- "$cur")
			fi
			;;
		*)
			line=${line%%$'\t'*}
			COMPREPLY+=("${line#"${typed%"$cur"}"}")
			;;
		esac
	done < <("${words[0]}" help --complete -- "${words[@]:1}" 2>/dev/null)
}
complete -o filenames -F _aisbx aisbx
