#!/bin/sh
# next_format.sh LIBRARY.lua: prints that library as a release would have it that changes the formats of
# two kinds of records: a state and a waiter get one more value each, and what the release before has written
# is read. It is made by the steps of locks/scripts/shared/1-formats.lua, and fails where these lines are
# not found any more.
set -eu

changed=$(sed -e "
/^local STATE = format_of('state', 1)/{
    s/1/2/
    s/\$/ -- A/
}
/^local LAST_TOKEN = field(STATE/{
    a local BEFORE_STATE = STATE.types\\
local MORE_STATE = field(STATE, 'd') -- B\\
earlier(STATE, 1, BEFORE_STATE, function(old) old[MORE_STATE] = 7 return old end)
}
/^ *'', '', '', false)/s/false)/7, false) -- C/
/^local WAITER = format_of('waiter', 1)/{
    s/1/2/
    s/\$/ -- D/
}
/^local SERVER = field(WAITER/{
    a local BEFORE_WAITER = WAITER.types\\
local MORE_WAITER = field(WAITER, 'd') -- E\\
earlier(WAITER, 1, BEFORE_WAITER, function(old) old[MORE_WAITER] = 7 return old end)
}
s/^            server}\$/            server, 7} -- F/
" "$1")
for mark in A B C D E F; do
    printf '%s\n' "$changed" | grep -q -- "-- $mark\$" || {
        echo "$0: step $mark found no place in $1" >&2
        exit 1
    }
done
before=$(sed -n '1s/.*name=//p' "$1")
after=baton_$(printf '%s\n' "$changed" | sha1sum | cut -c 1-16)
printf '%s\n' "$changed" | sed "s/$before/$after/"
