# fish completion for gamma; put it into ~/.config/fish/completions/gamma.fish
function __gamma_complete
    set -l words (commandline -opc)
    set -e words[1]
    for line in (gamma __complete $words (commandline -ct) 2>/dev/null)
        if test "$line" = :files
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end
complete -c gamma -f -k -a '(__gamma_complete)'
