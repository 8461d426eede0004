#!/bin/bash
# The manual page: mandoc and groff find nothing wrong with it, and it has each flag.
set -euo pipefail
export LC_ALL=C

batond=${BATON_TEST_BATOND:-$PWD/build/batond}
page=$(mktemp "${TMPDIR:-/tmp}/batond.XXXXXX.8")
trap 'rm -f "$page"*' EXIT

fail() {
    printf '%s\n' "$@" >&2
    exit 1
}

"$batond" --help | awk -v form=manual -f deploy/settings.awk deploy/man/batond.8.in - >"$page"

# On stdout is what is wrong; on stderr, that no index of the manual has been made here.
complaints=$(mandoc -T lint -W style "$page" 2>/dev/null) || true
[[ -z $complaints ]] || fail "$complaints"
complaints=$(groff -mdoc -Tutf8 -ww -z "$page" 2>&1)
[[ -z $complaints ]] || fail "$complaints"

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
