#!/bin/bash
# Prints the links of Markdown files that lead nowhere: to a file that is not there, or to a heading that its file does not
# have. Fails if there are any. Links to other hosts are not followed.
#   tests/package/dead_links.sh PAGE...
set -euo pipefail
export LC_ALL=C

# What a link to a heading says behind the #, for each of a page.
headings_of() { # PAGE, perhaps compressed
    zcat -f "$1" | awk '/^```/ { code = !code } !code && /^#/' |
        sed -E 's/^#+ +//; s/[^A-Za-z0-9 _-]//g; s/ /-/g' | tr '[:upper:]' '[:lower:]'
}

dead=0
# shellcheck disable=SC2016 # they are backticks of Markdown
for page in "$@"; do
    while read -r link; do
        file=${link%%#*}
        file=${file:+${page%"${page##*/}"}$file}
        file=${file:-$page}
        if [[ ! -e $file ]] || { [[ $link == *'#'* ]] && ! headings_of "$file" | grep -xF -- "${link#*#}" >/dev/null; }; then
            echo "$page: $link"
            dead=1
        fi
    done < <(awk '/^```/ { code = !code } !code' "$page" | sed -E 's/`[^`]*`//g' | grep -oE '\]\([^):]+\)' | sed -E 's/^..//; s/.$//' || true)
done
exit $dead
