#!/bin/sh
# Turns files into C on standard output, as arrays of bytes (long string literals are not portable).
#   embed.sh library FILE.lua...        one library of Redis Functions, as Lua: its name carries a hash of
#                                       the files, which stand in it in this order. What is declared in
#                                       shared/ is known to all behind it; what is declared in any other
#                                       file, to that alone (Lua knows 200 names at once). Where it names
#                                       a value of a record, the library has the index, which takes less time.
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

# Replaces the names that stand for a number: what field() declares, what is made of that, layouts, and what is
# "a value".
number() {
    awk '
        function indexed(text,    out, word) {
            while (match(text, /[A-Za-z_][A-Za-z_0-9]*/)) {
                word = substr(text, RSTART, RLENGTH)
                out = out substr(text, 1, RSTART - 1) (word in value ? value[word] : word)
                text = substr(text, RSTART + RLENGTH)
            }
            return out text
        }
        function is(pattern) { return match($0, "^local [A-Z_]+ = " pattern) }
        is("format_of\\(") {
            last[$2] = match($0, /[A-Z]+\)/) ? last[substr($0, RSTART, RLENGTH - 1)] : 1
        }
        is("field\\([A-Z]+, ") { name = $2; sub(/local [A-Z_]+ = /, "") }
        /^field\([A-Z]+, / { format = $1; gsub(/field\(|,/, "", format); value[name] = ++last[format]; name = "" }
        is("[A-Z]+\\.last \\+ 1") { format = $4; sub(/\..*/, "", format); value[$2] = last[format] + 1; next }
        is("[A-Z]+( |$)") && $4 in value { value[$2] = value[$4]; next }
        is("[0-9]+ -- a (layout|value)") { value[$2] = $4; next }
        {
            at = index($0, "--")
            print at ? indexed(substr($0, 1, at - 1)) substr($0, at) : indexed($0)
        }'
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
    done | number
    ;;
scripts)
    name=$(sed -n '1s/.*name=//p' "$2")
    echo '#include "locks/scripts/scripts.h"'
    echo
    echo "static const char text[] = {"
    bytes "$2"
    echo "const struct library script_library = {\"$name\", text, $(length "$2"), \"${name}_many\"};"
    sed -n "s/^register('\([a-z_]*\)', [a-z_]*\(, KIND\.\([A-Z_]*\)\)\{0,1\})$/\1 \3/p" "$2" |
        while read -r function kind; do
            full=NULL is_gathered=false
            [ "$kind" != NEEDS_MEMORY ] || full="\"${name}_${function}_full\""
            [ -n "${kind#NEEDS_MEMORY}" ] || is_gathered=true
            echo "const struct script script_$function = {\"$function\", \"${name}_$function\", $full, $is_gathered,"
            echo "    &script_library};"
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
