#!/bin/bash
# The manual pages: mandoc and groff find nothing wrong with them, and they have each flag.
. tests/package/common.sh
page=$folder/batond.8

"$batond" --help | awk -v form=manual -f deploy/settings.awk deploy/man/batond.8.in - >"$page"

# On stdout is what is wrong; on stderr, that no index of the manual has been made here.
is_clean() { # PAGE
    local complaints
    complaints=$(mandoc -T lint -W style "$1" 2>/dev/null | grep -v 'referenced manual not found: Xr baton') || true
    [[ -z $complaints ]] || fail "$complaints"
    complaints=$(groff -mdoc -Tutf8 -ww -z "$1" 2>&1)
    [[ -z $complaints ]] || fail "$complaints"
}

is_clean "$page"
is_clean deploy/man/baton.1

mandoc -T ascii -O width=1000 "$page" | sed 's/.\x08//g' | sed -n '1,/^ *As a service$/p' >"$page.text"
"$batond" --help | awk '
    /^  --/ { sub(/^  /, ""); sub(/ \(default: .*/, ""); printf "%s%s\t", end, $0; end = "\n"; between = "" }
    /^      / { sub(/^ */, ""); printf "%s%s", between, $0; between = " " }
    END { print "" }' >"$page.flags"
(($(wc -l <"$page.flags") > 30)) || fail "batond --help has hardly any flags"
while IFS=$'\t' read -r flag text; do
    (($(grep -cE "^ +${flag//|/\\|}(  |\$)" "$page.text") == 1)) || fail "the page does not have $flag once"
    grep -qF -- "${text:1}" "$page.text" || fail "the page does not say of $flag: $text"
done <"$page.flags"
! grep -n '@[A-Z]' "$page.text" >&2 || fail "^ was not replaced"

# The page of the client has each of its commands, and each option with its value; and no other.
options() {
    grep -E '^ +-' | grep -oE -e '--[a-z-]+(=[A-Za-z=]+)?' | tr '[:upper:]' '[:lower:]' | sort -u
}

"$baton" --help >"$page.client"
mapfile -t commands < <(sed -nE '/^Options/q; s/^  ([a-z]+) .*/\1/p' "$page.client")
((${#commands[@]} > 6)) || fail "baton --help has hardly any commands"
for command in "${commands[@]}"; do
    "$baton" "$command" --help >>"$page.client"
    grep -qE "^[.](It )?Cm ($command|.*\| $command)$" deploy/man/baton.1 || fail "the page does not have $command"
done
options <"$page.client" >"$page.known"
mandoc -T ascii -O width=1000 deploy/man/baton.1 | sed 's/.\x08//g' | sed -n '/^ *Options of/,/^ENV/p' |
    options | diff "$page.known" - >&2 || fail "^ baton --help and its page differ"
