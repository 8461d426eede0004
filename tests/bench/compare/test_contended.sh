#!/bin/bash
# What makes figures of the turns that contenders had (tests/bench/compare/contended.py): four small
# histories, in ms, of which one can say by hand what must come out. The window is 1,000 ms; its
# first 200 do not count.
set -euo pipefail
dir=$(mktemp -d "${TMPDIR:-/tmp}/contended.XXXXXX")
trap 'rm -rf "$dir"' EXIT
failed=0

told() { # ARGUMENT...: what is made of the turns on standard input, lines of CLIENT ARRIVED GRANTED RELEASED
    { echo '# window 1000000 1001000000' && awk '{ for (i = 2; i <= 4; i++) $i *= 1000000; print }'; } >"$dir/turns"
    tests/bench/compare/contended.py "$dir/turns" "$@" >"$dir/figures"
}

expect() { # FIGURE VALUE
    local value
    value=$(awk -F'\t' -v figure="$1" '$1 == figure { print $3 }' "$dir/figures")
    [[ $value == "$2" ]] && return
    echo "FAIL $what: $1 is \"$value\" instead of $2" >&2
    failed=1
}

what='in turn'
for ((i = 1; i < 100; i++)); do # three clients, a hand-over each 10 ms
    echo $((i % 3)) $((i < 3 ? 1 : 10 * i - 29)) $((10 * i)) $((10 * i + 1))
done | told 800 1600
expect hand-overs 98.75 # 20 to 98 within 800 ms
expect grants 98.75
expect 'order violations' 0
expect 'exclusion violations' 0
expect 'wait beyond fair share, median' 8.74684 # it waited 29 ms; two were before it, 10.1266 ms each
expect 'Redis commands' 8.16327                 # 98 hand-overs in all
expect 'calls of Redis scripts' 16.3265

what='one serves itself'
{
    for ((i = 21; i < 100; i++)); do echo a $((10 * i - 5)) $((10 * i)) $((10 * i + 1)); done
    echo b 205 995 0
    echo c 900 0 0 # whom a passes, too
    echo d 100 0 0 # does not count, being of the first crowd
} | told
expect grants 98.75 # but the first of all, which nobody had before
expect hand-overs 1.25
expect 'order violations' 73 # those that a has sent more than 50 ms after b's request
expect 'longest wait' 901

what='two at once'
{
    echo a 300 400 500
    echo b 310 499 600
    echo c 320 600 700
} | told
expect 'exclusion violations' 1
expect 'order violations' 0

what='nobody'
printf '%s 0 0\n' 'b 400' 'a 300' | told 5 7
expect hand-overs 0
expect 'order violations' 0
expect 'longest wait' 701
exit $failed
