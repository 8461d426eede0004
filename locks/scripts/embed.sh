#!/bin/sh
# Turns files into C on standard output, as arrays of bytes (long string literals are not portable).
#   embed.sh scripts FILE.lua...        const struct script script_<name>, declared in locks/scripts/scripts.h
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
scripts)
    shift
    echo '#include "locks/scripts/scripts.h"'
    for file; do
        name=$(basename "$file" .lua)
        sha1=$(sha1sum < "$file" | cut -c 1-40)
        echo
        echo "static const char text_${name}[] = {"
        bytes "$file"
        echo "const struct script script_$name = {\"$name\", text_$name, $(length "$file"), \"$sha1\"};"
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
