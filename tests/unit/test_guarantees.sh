#!/bin/bash
# The tests that docs/guarantees.md names are there: in `tests/…/test_x.c: a story` the file has a
# story that is called so.
set -euo pipefail

bad=0
complain() {
    echo "$*"
    bad=1
}

# shellcheck disable=SC2016 # what is quoted is a backquote
named=$(grep -oE '`tests/[^`]+`' docs/guarantees.md | tr -d '`' | sort -u)
[[ $(grep -c ': ' <<<"$named") -ge 20 ]] || complain "it names too few stories"
while IFS= read -r name; do
    file=${name%%: *}
    [[ -e $file ]] || complain "there is no $file"
    [[ $name != *": "* || ! -f $file ]] || grep -qF -e "${name#*: }" "$file" ||
        complain "$file has no story \"${name#*: }\""
done <<<"$named"
exit $bad
