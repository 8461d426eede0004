#!/bin/sh
# next_format.sh FILE.lua...: prints the library of these files as a release would have it that changes the
# formats of two kinds of records: a state and a waiter get one more value each, and what the release before
# has written is read. It is made by the steps of locks/scripts/shared/01-formats.lua, and fails where these
# lines are not found any more.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# The files again, changed, in the same order.
for file; do
    mkdir -p "$dir/$(dirname "$file")"
    sed -e "
/^local STATE = format_of('state', 4)/{
    s/4/5/
    s/\$/ -- A/
}
/^local LAST_OWNER = field(STATE/{
    i local BEFORE_STATE = STATE.types .. 's'
    a local MORE = field(STATE, 'd') -- B
}
/^earlier(STATE, 3/{
    i earlier(STATE, 4, BEFORE_STATE, function(old) old[MORE] = 7 return old end) -- C
}
s/^    state\[SINGLE\] = hold -- in place/    state[MORE] = 7 -- D\n&/
/^ .*'', '', false)\$/s/false)/7, false) -- E/
/^local WAITER = format_of('waiter', 2, HOLD)/{
    s/2/3/
    s/\$/ -- F/
}
/^local SERVER = field(WAITER/{
    i local BEFORE_WAITER = WAITER.types .. 'sB'
    a local EXTRA = field(WAITER, 'd', 7) -- G
}
/^local LEASE_UNTIL/i earlier(WAITER, 2, BEFORE_WAITER, function(old) old[REENTERS], old[EXTRA] = old[EXTRA], 7 return old end)
" "$file" >"$dir/$file"
    shift
    set -- "$@" "$dir/$file"
done
locks/scripts/embed.sh library "$@" >"$dir/library.lua"
for mark in A B C D E F G; do
    grep -q -- "-- $mark\$" "$dir/library.lua" || {
        echo "$0: step $mark found no place in $*" >&2
        exit 1
    }
done
cat "$dir/library.lua"
