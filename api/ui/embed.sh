#!/bin/sh
# Puts page.html and the files that it names together, as C on standard output: the page as one
# document, the policy by which a browser runs nothing else, and its ETag.
#   embed.sh FOLDER   the folder is for what stands between
set -eu

here=$(dirname "$0")
made=$1
mkdir -p "$made"

sha256() { # FILE: in base64, as a policy names it
    sha256sum "$1" | cut -c 1-64 | tr a-f A-F | basenc --base16 -d | base64
}

files() { # PATTERN: what the page names so, in its order
    sed -nE "s|$1|$here/\1|p" "$here/page.html"
}

style='^<link rel="stylesheet" href="([a-z.]+)">$'
script='^<script src="([a-z.]+)"></script>$'

# What stands between the tags, to the byte: that is what a browser takes the hash of.
files "$style" | xargs cat > "$made/style.css"
{
    echo '"use strict";'
    files "$script" | xargs cat
} > "$made/script.js"

awk -v made="$made" '
    function put(file, line) { while ((getline line < file) > 0) print line }
    /^<link rel="stylesheet"/ { printf "<style>"; put(made "/style.css"); print "</style>"; next }
    /^<script src=/ { if (!seen++) { printf "<script>"; put(made "/script.js"); print "</script>" } next }
    { print }' "$here/page.html" > "$made/page.html"

policy="default-src 'none'; script-src 'sha256-$(sha256 "$made/script.js")'"
policy="$policy; style-src 'sha256-$(sha256 "$made/style.css")'; img-src data:; connect-src 'self'"
policy="$policy; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
policy="$policy; require-trusted-types-for 'script'; trusted-types 'none'"

"$here/../../locks/scripts/embed.sh" text ui_page api/ui/ui.h "$made/page.html"
echo
echo "const char ui_policy[] = \"$policy\";"
echo "const char ui_etag[] = \"\\\"$(sha256sum "$made/page.html" | cut -c 1-32)\\\"\";"
