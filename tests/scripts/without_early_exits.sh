#!/bin/sh
# without_early_exits.sh LIBRARY.lua: prints that library without the early exits of its functions: what they
# do for a common case is left to the functions that do it for all cases. It fails where an early exit is
# not found any more.
set -eu

changed=$(cat "$1")
for exit in 'local function grant_at_once' 'local function refuse_at_once' 'local function wait_at_once' \
    'local function claim_at_once' 'local function claim_plainly' 'local function can_wait_among' \
    'local function release_at_once' 'local function hand_over_at_once' 'local function renew_at_once' \
    'local function expire_at_once' 'function inline\.wait' 'function inline\.hand_over'; do
    before=$changed
    changed=$(printf '%s\n' "$before" | sed "s/^$exit(.*)\$/& do return false end/")
    [ "$changed" != "$before" ] || {
        echo "$0: no line of $1 begins with '$exit('" >&2
        exit 1
    }
done
printf '%s\n' "$changed"
