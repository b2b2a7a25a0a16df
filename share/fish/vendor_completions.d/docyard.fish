# Once: docyard completion fish > ~/.config/fish/completions/docyard.fish
function _docyard_completion
    set --local tokens (commandline --tokenize --cut-at-cursor --current-process)
    set --local current_word (commandline --current-token --cut-at-cursor)
    for line in (_DOCYARD_COMPLETE=fish_complete _DOCYARD_LINE=(string join \n -- $tokens | string collect) \
            _DOCYARD_WORD="$current_word" $tokens[1] 2>/dev/null)
        set --local fields (string split --max 1 \t -- $line)
        switch $fields[1]
            case dir
                __fish_complete_directories "$current_word"
            case file
                __fish_complete_path "$current_word"
            case '*'
                echo $fields[2]
        end
    end
end
complete --command docyard --no-files --arguments '(_docyard_completion)'
