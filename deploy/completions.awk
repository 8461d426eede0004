# Completions of baton for a shell, from what baton says of its commands and options:
#   awk -v baton=build/baton -v form=bash|zsh|fish -f deploy/completions.awk

function quoted(text) { # for a shell
    gsub(/'/, "'\\''", text)
    return "'" text "'"
}

# Commands, their texts, and their options: the rows of one command are from first[c] to last[c].
function read_help(command,    line, program, c) {
    program = baton " " command " --help"
    while ((program | getline line) > 0) {
        if (command == "" && line ~ /^Options/) break
        if (line ~ /^        /) {
            sub(/^ */, "", line)
            if (command == "") texts[commands] = line
            else explained[options] = line
        } else if (line ~ /^  [a-z]/ && command == "") {
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
    print "    if ((COMP_CWORD == 1)); then"
    printf "        mapfile -t COMPREPLY < <(compgen -W '--help --version"
    for (c = 1; c <= commands; c++) printf " %s", names[c]
    print "' -- \"$word\")"
    print "        return"
    print "    fi"
    print "    for ((i = 2; i < COMP_CWORD; i++)); do"
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
    print "    case ${COMP_WORDS[1]} in"
    for (c = 1; c <= commands; c++) {
        printf "        %s) options='", names[c]
        for (i = first[c]; i <= last[c]; i++)
            printf "%s--%s%s", (i == first[c] ? "" : " "), long[i], value[i] == "" ? "" : "="
        print "' ;;"
    }
    print "    esac"
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
    print "if (( CURRENT == 2 )); then"
    print "    commands=("
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

function fish(    c, i, line) {
    print "# fish completion of baton"
    print "complete -c baton -f"
    for (c = 1; c <= commands; c++)
        print "complete -c baton -n __fish_use_subcommand -a " names[c] " -d " quoted(texts[c])
    print "complete -c baton -n '__fish_seen_subcommand_from run; and contains -- -- (commandline -opc)' -F"
    for (c = 1; c <= commands; c++)
        for (i = first[c]; i <= last[c]; i++) {
            line = "complete -c baton -n '__fish_seen_subcommand_from " names[c] "'"
            if (letter[i] != "") line = line " -s " letter[i]
            line = line " -l " long[i]
            if (value[i] == "FILE") line = line " -r -F"
            else if (value[i] ~ /\|/) line = line " -x -a '" words_of(value[i]) "'"
            else if (value[i] != "") line = line " -x"
            print line " -d " quoted(explained[i])
        }
}

BEGIN {
    read_help("")
    for (c = 1; c <= commands; c++) {
        first[c] = options + 1
        read_help(names[c])
        last[c] = options
    }
    if (commands == 0 || options == 0) exit 1
    if (form == "bash") bash()
    else if (form == "zsh") zsh()
    else fish()
}
