# bash completion for aisbx; made by `aisbx help --completion`.
_aisbx()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local verbs="run try plan create exec shell poll ls inspect stop rm cp todo snap snaps rollback fork refresh diff status promote undo promotions race gate task stage artifact repo history show logs top stats guard scan sign allow deny net profile files mcp wasm doctor bench gc version help" topics="root workspace conflicts limits exit-codes profiles layers" flags="" words="" i

	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W "$verbs --help --version" -- "$cur")
		return
	fi
	# Behind --, the command line is the command's own.
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} == -- ]]; then
			if declare -F _command_offset >/dev/null; then
				_command_offset $((i + 1))
			else
				mapfile -t COMPREPLY < <(compgen -c -f -- "$cur")
			fi
			return
		fi
	done
	case $prev in
	--profile)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--workspace | -C)
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return
		;;
	--env-fd)
		COMPREPLY=()
		return
		;;
	--trace)
		COMPREPLY=()
		return
		;;
	--keep)
		COMPREPLY=()
		return
		;;
	--batch)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--jobs)
		COMPREPLY=()
		return
		;;
	--batch-time)
		COMPREPLY=()
		return
		;;
	--settings)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--ttl)
		COMPREPLY=()
		return
		;;
	--offset)
		COMPREPLY=()
		return
		;;
	--stderr-offset)
		COMPREPLY=()
		return
		;;
	--wait)
		COMPREPLY=()
		return
		;;
	--input)
		COMPREPLY=()
		return
		;;
	--input-fd)
		COMPREPLY=()
		return
		;;
	--signal)
		mapfile -t COMPREPLY < <(compgen -W "TERM INT KILL HUP QUIT USR1 USR2 STOP CONT" -- "$cur")
		return
		;;
	--add)
		COMPREPLY=()
		return
		;;
	--done)
		COMPREPLY=()
		return
		;;
	--undone)
		COMPREPLY=()
		return
		;;
	--message | -m)
		COMPREPLY=()
		return
		;;
	--name)
		COMPREPLY=()
		return
		;;
	--strategy | -s)
		mapfile -t COMPREPLY < <(compgen -W "fail merge ours theirs lww merge+ours merge+theirs" -- "$cur")
		return
		;;
	--allow-path)
		COMPREPLY=()
		return
		;;
	--snap)
		COMPREPLY=()
		return
		;;
	--artifact)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--to)
		COMPREPLY=()
		return
		;;
	--target)
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return
		;;
	--gate)
		COMPREPLY=()
		return
		;;
	--reason)
		COMPREPLY=()
		return
		;;
	--commit)
		COMPREPLY=()
		return
		;;
	--owner)
		COMPREPLY=()
		return
		;;
	--attempt | -c)
		COMPREPLY=()
		return
		;;
	--file | -f)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--check)
		COMPREPLY=()
		return
		;;
	--prefer)
		COMPREPLY=()
		return
		;;
	--base)
		COMPREPLY=()
		return
		;;
	--status)
		mapfile -t COMPREPLY < <(compgen -W "success error timeout oom killed limit denied internal running" -- "$cur")
		return
		;;
	--sandbox)
		COMPREPLY=()
		return
		;;
	--text)
		COMPREPLY=()
		return
		;;
	--since)
		COMPREPLY=()
		return
		;;
	--count | -n)
		COMPREPLY=()
		return
		;;
	--lang)
		mapfile -t COMPREPLY < <(compgen -W "python javascript shell" -- "$cur")
		return
		;;
	--policy)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--format)
		mapfile -t COMPREPLY < <(compgen -W "text json sarif" -- "$cur")
		return
		;;
	--fail-on)
		mapfile -t COMPREPLY < <(compgen -W "low medium high critical" -- "$cur")
		return
		;;
	--content)
		COMPREPLY=()
		return
		;;
	--explain)
		COMPREPLY=()
		return
		;;
	--limit)
		COMPREPLY=()
		return
		;;
	--encoding)
		mapfile -t COMPREPLY < <(compgen -W "utf-8 base64" -- "$cur")
		return
		;;
	--old)
		COMPREPLY=()
		return
		;;
	--new)
		COMPREPLY=()
		return
		;;
	--http)
		COMPREPLY=()
		return
		;;
	--promote-policy)
		mapfile -t COMPREPLY < <(compgen -W "never ask gates" -- "$cur")
		return
		;;
	--from)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--runs)
		COMPREPLY=()
		return
		;;
	--age)
		COMPREPLY=()
		return
		;;
	--logs)
		COMPREPLY=()
		return
		;;
	--cpu)
		COMPREPLY=()
		return
		;;
	--mem)
		COMPREPLY=()
		return
		;;
	--pids)
		COMPREPLY=()
		return
		;;
	--disk)
		COMPREPLY=()
		return
		;;
	--inodes)
		COMPREPLY=()
		return
		;;
	--time)
		COMPREPLY=()
		return
		;;
	--cpu-time)
		COMPREPLY=()
		return
		;;
	--fsize)
		COMPREPLY=()
		return
		;;
	--nofile)
		COMPREPLY=()
		return
		;;
	--output)
		COMPREPLY=()
		return
		;;
	--fuel)
		COMPREPLY=()
		return
		;;
	--driver)
		COMPREPLY=()
		return
		;;
	--root)
		COMPREPLY=()
		return
		;;
	--net)
		mapfile -t COMPREPLY < <(compgen -W "none loopback allow" -- "$cur")
		return
		;;
	--allow)
		COMPREPLY=()
		return
		;;
	--deny)
		COMPREPLY=()
		return
		;;
	--publish)
		COMPREPLY=()
		return
		;;
	--secret-header)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--ro)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--rw)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--rw-through)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--env)
		COMPREPLY=()
		return
		;;
	--pass-env)
		COMPREPLY=()
		return
		;;
	--secret)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--scan)
		mapfile -t COMPREPLY < <(compgen -W "off warn enforce" -- "$cur")
		return
		;;
	--home)
		mapfile -t COMPREPLY < <(compgen -W "tools full" -- "$cur")
		return
		;;
	--hide)
		COMPREPLY=()
		return
		;;
	--workspace-secrets)
		mapfile -t COMPREPLY < <(compgen -W "show mask" -- "$cur")
		return
		;;
	--splice)
		mapfile -t COMPREPLY < <(compgen -W "off on" -- "$cur")
		return
		;;
	--seccomp)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--require)
		COMPREPLY=()
		return
		;;
	--allow-degraded)
		COMPREPLY=()
		return
		;;
	esac
	case ${COMP_WORDS[1]} in
	run)
		flags=" --json -h --help --profile -C --workspace --no-net --name-status --env-fd --trace --keep --batch --jobs --batch-time --settings --require-signature --protect-base --cpu --mem --pids --disk --inodes --time --cpu-time --fsize --nofile --output --fuel --driver --root --net --allow --deny --publish --secret-header --ro --rw --rw-through --env --pass-env --secret --scan --home --hide --workspace-secrets --splice --seccomp --require --allow-degraded"
		;;
	try)
		flags=" --json -h --help --profile -C --workspace --no-net --env-fd --trace --settings --require-signature --protect-base -y --yes -n --no --cpu --mem --pids --disk --inodes --time --cpu-time --fsize --nofile --output --fuel --driver --root --net --allow --deny --publish --secret-header --ro --rw --rw-through --env --pass-env --secret --scan --home --hide --workspace-secrets --splice --seccomp --require --allow-degraded"
		;;
	plan)
		flags=" --json -h --help --profile -C --workspace --no-net --env-fd --trace --settings --cpu --mem --pids --disk --inodes --time --cpu-time --fsize --nofile --output --fuel --driver --root --net --allow --deny --publish --secret-header --ro --rw --rw-through --env --pass-env --secret --scan --home --hide --workspace-secrets --splice --seccomp --require --allow-degraded"
		;;
	create)
		flags=" --json -h --help --profile -C --workspace --no-net --env-fd --ttl --settings --require-signature --protect-base --cpu --mem --pids --disk --inodes --time --cpu-time --fsize --nofile --output --fuel --driver --root --net --allow --deny --publish --secret-header --ro --rw --rw-through --env --pass-env --secret --scan --home --hide --workspace-secrets --splice --seccomp --require --allow-degraded"
		;;
	exec)
		flags=" --json -h --help -d --detach --time --cpu-time --output --scan --require-signature --env --env-fd --secret --trace"
		words=$(command ls "${XDG_DATA_HOME:-$HOME/.local/share}/aisbx/sbx" 2>/dev/null)
		;;
	shell)
		flags=" --json -h --help"
		words=$(command ls "${XDG_DATA_HOME:-$HOME/.local/share}/aisbx/sbx" 2>/dev/null)
		;;
	poll)
		flags=" --json -h --help --offset --stderr-offset --wait --input --input-fd --input-end --signal"
		;;
	ls)
		flags=" --json -h --help"
		;;
	inspect)
		flags=" --json -h --help"
		words=$(command ls "${XDG_DATA_HOME:-$HOME/.local/share}/aisbx/sbx" 2>/dev/null)
		;;
	stop)
		flags=" --json -h --help"
		words=$(command ls "${XDG_DATA_HOME:-$HOME/.local/share}/aisbx/sbx" 2>/dev/null)
		;;
	rm)
		flags=" --json -h --help"
		words=$(command ls "${XDG_DATA_HOME:-$HOME/.local/share}/aisbx/sbx" 2>/dev/null)
		;;
	cp)
		flags=" --json -h --help --kill"
		;;
	todo)
		flags=" --json -h --help --add --done --undone --set --clear"
		words=$(command ls "${XDG_DATA_HOME:-$HOME/.local/share}/aisbx/sbx" 2>/dev/null)
		;;
	snap)
		flags=" --json -h --help -m --message --name --durable --freeze --kill"
		words=$(command ls "${XDG_DATA_HOME:-$HOME/.local/share}/aisbx/sbx" 2>/dev/null)
		;;
	snaps)
		flags=" --json -h --help"
		words=$(command ls "${XDG_DATA_HOME:-$HOME/.local/share}/aisbx/sbx" 2>/dev/null)
		;;
	rollback)
		flags=" --json -h --help --kill"
		words=$(command ls "${XDG_DATA_HOME:-$HOME/.local/share}/aisbx/sbx" 2>/dev/null)
		;;
	fork)
		flags=" --json -h --help --ttl --freeze --kill"
		words=$(command ls "${XDG_DATA_HOME:-$HOME/.local/share}/aisbx/sbx" 2>/dev/null)
		;;
	refresh)
		flags=" --json -h --help --kill"
		words=$(command ls "${XDG_DATA_HOME:-$HOME/.local/share}/aisbx/sbx" 2>/dev/null)
		;;
	diff)
		flags=" --json -h --help --stat --name-status -z --nul -p --patch --exit-code --raw"
		words=$(command ls "${XDG_DATA_HOME:-$HOME/.local/share}/aisbx/sbx" 2>/dev/null)
		;;
	status)
		flags=" --json -h --help"
		words=$(command ls "${XDG_DATA_HOME:-$HOME/.local/share}/aisbx/sbx" 2>/dev/null)
		;;
	promote)
		flags=" --json -h --help -s --strategy -n --dry-run --allow-path --allow-privilege --allow-special --snap --artifact --to --target --swap --into-sandbox --approx-base --kill --gate"
		words=$(command ls "${XDG_DATA_HOME:-$HOME/.local/share}/aisbx/sbx" 2>/dev/null)
		;;
	undo)
		flags=" --json -h --help"
		;;
	promotions)
		flags=" --json -h --help -y --yes -s --strategy --reason --stages --to --commit --all --owner"
		words="request approve reject"
		;;
	race)
		flags=" --json -h --help -c --attempt -f --file --check --prefer --jobs --first --promote --strategy --base --profile -C --workspace --no-net --trace --settings --require-signature --cpu --mem --pids --disk --inodes --time --cpu-time --fsize --nofile --output --fuel --driver --root --net --allow --deny --publish --secret-header --ro --rw --rw-through --env --pass-env --secret --scan --home --hide --workspace-secrets --splice --seccomp --require --allow-degraded"
		words="diff"
		;;
	gate)
		flags=" --json -h --help"
		words="check"
		;;
	task)
		flags=" --json -h --help"
		;;
	stage)
		flags=" --json -h --help -f --file --to --allow-path"
		words="run status approve"
		;;
	artifact)
		flags=" --json -h --help --force --allow-path --allow-privilege --allow-special"
		words="save ls show get rm"
		;;
	repo)
		flags=" --json -h --help -m --message"
		words="commit"
		;;
	history)
		flags=" --json -h --help --status --sandbox --trace --text --since -n --count"
		;;
	show)
		flags=" --json -h --help"
		;;
	logs)
		flags=" --json -h --help -f --follow"
		;;
	top)
		flags=" --json -h --help -n --count"
		;;
	stats)
		flags=" --json -h --help --since"
		;;
	guard)
		flags=" --json -h --help --run --profile -C --workspace --no-net --trace --cpu --mem --pids --disk --inodes --time --cpu-time --fsize --nofile --output --fuel --driver --root --net --allow --deny --publish --secret-header --ro --rw --rw-through --env --pass-env --secret --scan --home --hide --workspace-secrets --splice --seccomp --require --allow-degraded"
		;;
	scan)
		flags=" --json -h --help --lang --policy --format --fail-on --content --explain"
		;;
	sign)
		flags=" --json -h --help --lang"
		;;
	allow)
		flags=" --json -h --help --remove -C --workspace"
		words=$(command ls "${XDG_DATA_HOME:-$HOME/.local/share}/aisbx/sbx" 2>/dev/null)
		;;
	deny)
		flags=" --json -h --help --remove -C --workspace"
		words=$(command ls "${XDG_DATA_HOME:-$HOME/.local/share}/aisbx/sbx" 2>/dev/null)
		;;
	net)
		flags=" --json -h --help -C --workspace"
		words=$(command ls "${XDG_DATA_HOME:-$HOME/.local/share}/aisbx/sbx" 2>/dev/null)
		;;
	profile)
		flags=" --json -h --help"
		words="ls show check trust untrust"
		;;
	files)
		flags=" --json -h --help --offset --limit --encoding --old --new --all"
		words="read write edit ls"
		;;
	mcp)
		flags=" --json -h --help --profile -C --workspace --http --promote-policy --owner --all"
		;;
	wasm)
		flags=" --json -h --help --from"
		words="ls install"
		;;
	doctor)
		flags=" --json -h --help"
		;;
	bench)
		flags=" --json -h --help -n --runs --quick"
		;;
	gc)
		flags=" --json -h --help --age --logs"
		;;
	version)
		flags=" --json -h --help"
		;;
	help)
		flags=" --json -h --help --completion"
		;;
	esac
	case ${COMP_WORDS[1]}:$cur in
	help:[a-z]* | help:)
		mapfile -t COMPREPLY < <(compgen -W "$verbs $topics" -- "$cur")
		;;
	*:-*)
		mapfile -t COMPREPLY < <(compgen -W "$flags --" -- "$cur")
		;;
	*)
		mapfile -t COMPREPLY < <(compgen -W "$words" -f -- "$cur")
		;;
	esac
}
complete -F _aisbx aisbx
