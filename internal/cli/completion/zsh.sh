#compdef gamma
# zsh completion for gamma; put it into a folder of $fpath as _gamma, or load
# it with: source <(gamma completion zsh)
_gamma() {
    local line about
    local -a values
    local files=0
    while IFS= read -r line; do
        if [[ $line == :files ]]; then
            files=1
        else
            about=
            [[ $line == *$'\t'* ]] && about=":${${line#*$'\t'}//:/\\:}"
            values+=("${${line%%$'\t'*}//:/\\:}$about")
        fi
    done < <("${words[1]/#\~/$HOME}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
    (( $#values )) && _describe -V gamma values
    (( files )) && _files
    return 0
}
if [[ $funcstack[1] == _gamma ]]; then
    _gamma "$@"
else
    compdef _gamma gamma
fi
