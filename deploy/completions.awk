# Completions of baton for a shell, from what baton says of its commands and options:
#   awk -v baton=build/baton -v form=bash|zsh|fish -f deploy/completions.awk

function quoted(text) { # for a shell
    gsub(/'/, "'\\''", text)
    return "'" text "'"
}

# Commands, their texts, and their options: the rows of one command are from first[c] to last[c], those of
# no command from first[0] on.
function read_help(c,    line, program, in_options) {
    program = baton " " names[c] " --help"
    first[c] = options + 1
    while ((program | getline line) > 0) {
        if (line ~ /^Options/) {
            in_options = 1
        } else if (line ~ /^        /) {
            sub(/^ */, "", line)
            if (in_options) explained[options] = line
            else texts[commands] = line
        } else if (line ~ /^  [a-z]/ && !in_options) {
            split(line, words, " ")
            names[++commands] = words[1]
        } else if (match(line, /^  .*--[a-z-]+/)) {
            match(line, /--[a-z-]+/)
            long[++options] = substr(line, RSTART + 2, RLENGTH - 2)
            letter[options] = line ~ /^  -.,/ ? substr(line, 4, 1) : ""
            value[options] = line ~ /=/ ? substr(line, index(line, "=") + 1) : ""
        }
    }
    close(program)
    last[c] = options
}

function words_of(value) { # of a choice
    gsub(/\|/, " ", value)
    return value
}

function bash_value(pattern, list) {
    print "        " pattern ")"
    if (list != "") print "            mapfile -t COMPREPLY < <(compgen " list ")"
    print "            return"
    print "            ;;"
}

function bash_values(    i, pattern, files, others) {
    for (i = 1; i <= options; i++) {
        if (seen[long[i]]++ || value[i] == "") continue
        pattern = "--" long[i] (letter[i] == "" ? "" : " | -" letter[i])
        if (value[i] == "FILE") files = files (files == "" ? "" : " | ") pattern
        else if (value[i] ~ /\|/) bash_value(pattern, "-W '" words_of(value[i]) "' -- \"$word\"")
        else if (long[i] == "signal") bash_value(pattern, "-A signal -- \"SIG${word#SIG}\"")
        else others = others (others == "" ? "" : " | ") pattern
    }
    bash_value(files, "-f -- \"$word\"")
    bash_value(others, "")
}

function bash(    c, i) {
    print "# bash completion of baton"
    print "_baton() {"
    print "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} i options=''"
    print "    COMPREPLY=()"
    printf "    local commands='"
    for (c = 1; c <= commands; c++) printf "%s%s", (c == 1 ? "" : " "), names[c]
    print "' command=''"
    print "    for ((i = 1; i < COMP_CWORD; i++)); do"
    print "        [[ \" $commands \" != *\" ${COMP_WORDS[i]} \"* ]] || { command=${COMP_WORDS[i]} && break; }"
    print "    done"
    print "    for ((; i < COMP_CWORD; i++)); do"
    print "        [[ ${COMP_WORDS[i]} == -- ]] || continue"
    print "        if declare -F _comp_command_offset >/dev/null; then"
    print "            _comp_command_offset $((i + 1))"
    print "        elif declare -F _command_offset >/dev/null; then"
    print "            _command_offset $((i + 1))"
    print "        elif ((COMP_CWORD == i + 1)); then"
    print "            mapfile -t COMPREPLY < <(compgen -c -- \"$word\")"
    print "        else"
    print "            mapfile -t COMPREPLY < <(compgen -f -- \"$word\")"
    print "        fi"
    print "        return"
    print "    done"
    print "    [[ $word != = ]] || word=''"
    print "    [[ $before != = ]] || before=${COMP_WORDS[COMP_CWORD - 2]}"
    print "    case $before in"
    bash_values()
    print "    esac"
    print "    case $command in"
    for (c = 0; c <= commands; c++) {
        printf "        %s) options='", c == 0 ? "''" : names[c]
        for (i = first[c]; i <= last[c]; i++)
            printf "%s--%s%s", (i == first[c] ? "" : " "), long[i], value[i] == "" ? "" : "="
        print "' ;;"
    }
    print "    esac"
    print "    [[ -n $command || $word == -* ]] || mapfile -t COMPREPLY < <(compgen -W \"help $commands\" -- \"$word\")"
    print "    [[ $word != -* ]] || mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")"
    print "    [[ ${COMPREPLY-} != *= ]] || compopt -o nospace"
    print "}"
    print "complete -o filenames -F _baton baton"
}

function zsh_option(i,    text, action) {
    text = explained[i]
    gsub(/[\[\]:]/, "\\\\&", text)
    action = value[i] == "FILE" ? "_files" : value[i] ~ /\|/ ? "(" words_of(value[i]) ")" : \
        long[i] == "signal" ? "_signals -s" : " "
    text = (value[i] == "" ? "" : "=") "[" text "]" (value[i] == "" ? "" : ":" long[i] ":" action)
    if (letter[i] == "") return quoted("*--" long[i] text)
    return quoted("*-" letter[i] (value[i] == "" ? "" : "+") substr(text, value[i] == "" ? 1 : 2)) " " \
        quoted("*--" long[i] text)
}

function zsh(    c, i) {
    print "#compdef baton"
    print "local -a commands options"
    print "local behind=${words[(i)--]}"
    print "if (( behind < CURRENT )); then"
    print "    words=(\"${(@)words[behind + 1, -1]}\")"
    print "    (( CURRENT -= behind ))"
    print "    _normal"
    print "    return"
    print "fi"
    print "while (( CURRENT > 2 )) && [[ $words[2] == (-*|help) ]]; do"
    print "    words[2]=()"
    print "    (( CURRENT-- ))"
    print "done"
    print "if (( CURRENT == 2 )); then"
    print "    commands=("
    print "        'help:list the options of a command'"
    for (c = 1; c <= commands; c++) print "        " quoted(names[c] ":" texts[c])
    print "    )"
    print "    _describe command commands"
    print "    return"
    print "fi"
    print "case $words[2] in"
    for (c = 1; c <= commands; c++) {
        print "    " names[c] ") options=("
        for (i = first[c]; i <= last[c]; i++) print "        " zsh_option(i)
        print "    ) ;;"
    }
    print "esac"
    print "shift words"
    print "(( CURRENT-- ))"
    print "_arguments -s $options '*:name: '"
}

function fish(    c, i, line, all) {
    for (c = 1; c <= commands; c++) all = all (c == 1 ? "" : " ") names[c]
    print "# fish completion of baton"
    print "function __fish_baton_needs_command"
    print "    not __fish_seen_subcommand_from " all
    print "end"
    print "complete -c baton -f"
    for (c = 1; c <= commands; c++)
        print "complete -c baton -n __fish_baton_needs_command -a " names[c] " -d " quoted(texts[c])
    print "complete -c baton -n '__fish_seen_subcommand_from run; and contains -- -- (commandline -opc)' -F"
    print "complete -c baton -n __fish_baton_needs_command -a help -d 'list the options of a command'"
    for (c = 0; c <= commands; c++)
        for (i = first[c]; i <= last[c]; i++) {
            line = "complete -c baton -n " (c == 0 ? "__fish_baton_needs_command" : "'__fish_seen_subcommand_from " names[c] "'")
            if (letter[i] != "") line = line " -s " letter[i]
            line = line " -l " long[i]
            if (value[i] == "FILE") line = line " -r -F"
            else if (value[i] ~ /\|/) line = line " -x -a '" words_of(value[i]) "'"
            else if (value[i] != "") line = line " -x"
            print line " -d " quoted(explained[i])
        }
}

BEGIN {
    read_help(0)
    for (c = 1; c <= commands; c++) read_help(c)
    if (commands == 0 || options == 0) exit 1
    if (form == "bash") bash()
    else if (form == "zsh") zsh()
    else fish()
}
