# Completion for fish. `aisbx help --complete` says what may follow; this only hands it over.
function __aisbx_complete
    set -l current (commandline -ct)
    set -l words (commandline -opc) "$current"
    for line in ($words[1] help --complete -- $words[2..-1] 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path $current
            case :directories
                __fish_complete_directories $current
            case ':command *'
                set -l first (math (string split ' ' -- $line)[2] + 1)
                complete -C (string join ' ' -- (string escape -- $words[$first..-1]))
            case '*'
                echo $line
        end
    end
end
complete -c aisbx -f -a '(__aisbx_complete)'
