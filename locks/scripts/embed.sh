#!/bin/sh
# Turns files into C on standard output, as arrays of bytes (long string literals are not portable).
#   embed.sh library FILE.lua...        one library of Redis Functions, as Lua: its name carries a hash of
#                                       the files, which stand in it in this order. What is declared in
#                                       shared/ is known to all behind it; what is declared in any other
#                                       file, to that alone (Lua knows 200 names at once).
#   embed.sh scripts LIBRARY.lua        the library, and const struct script script_<name> for each of its
#                                       functions, declared in locks/scripts/scripts.h
#   embed.sh text SYMBOL HEADER FILE    const char SYMBOL[] (NUL-terminated) and size_t SYMBOL_length
set -eu

bytes() {
    od -An -v -tx1 -w20 "$1" | sed "s/ \(..\)/'\\\\x\1',/g"
    printf '%s\n' "'\\0'};"
}

length() {
    wc -c < "$1" | tr -d ' '
}

case $1 in
library)
    shift
    name=baton_$(cat "$@" | sha1sum | cut -c 1-16)
    printf '#!lua name=%s\n' "$name"
    printf "local LIBRARY = '%s'\n" "$name"
    for file; do
        case $file in
        */shared/*) cat "$file" ;;
        *) echo 'do' && cat "$file" && echo end ;;
        esac
    done
    ;;
scripts)
    name=$(sed -n '1s/.*name=//p' "$2")
    echo '#include "locks/scripts/scripts.h"'
    echo
    echo "static const char text[] = {"
    bytes "$2"
    echo "const struct library script_library = {\"$name\", text, $(length "$2")};"
    sed -n "s/^register('\([a-z_]*\)', [a-z_]*\(, \([A-Z_]*\)\)\{0,1\})$/\1 \3/p" "$2" |
        while read -r function kind; do
            full=NULL
            [ "$kind" != NEEDS_MEMORY ] || full="\"${name}_${function}_full\""
            echo "const struct script script_$function = {\"$function\", \"${name}_$function\", $full, &script_library};"
        done
    ;;
text)
    symbol=$2 header=$3 file=$4
    echo "#include \"$header\""
    echo
    echo "const size_t ${symbol}_length = $(length "$file");"
    echo "const char ${symbol}[] = {"
    bytes "$file"
    ;;
esac
