#!/bin/bash
# Checks handover.pml and quarantine.pml with spin: that the protocol keeps its promises under each set of
# faults, that no run is endless, and that every seeded mistake breaks the promise it has to break.
#   tests/model/run.sh   [QUICK=1: the small sets of faults only]
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")"
limit=${MODEL_LIMIT:-150} # seconds for one run

# what must come out | name | what is defined | which model, if it is not handover
#   holds: all promises kept; ends: no endless run; else the promises of which one must be broken
quick='
holds|nothing goes wrong|
holds|a server is killed|CRASHES=1
holds|a client hangs up|HANGUPS=1 IN_ORDER
holds|a client cancels|CANCELS=1 IN_ORDER
holds|a message is lost|LOSSES=1 IN_ORDER
holds|a message is lost, who sent it is killed|LOSSES=1 MINDERS=0 IN_ORDER
holds|Redis forgets a leave|HANGUPS=1 FORGOTTEN=1 IN_ORDER
ends|no endless run: a server is killed|CRASHES=1 IN_ORDER
ends|no endless run: Redis forgets a leave|HANGUPS=1 FORGOTTEN=1 IN_ORDER COME=2
holds|Redis loses a hold twice|FORGETS=2|quarantine
holds|Redis loses all twice|EMPTIES=2|quarantine
holds|Redis loses all, and a hold|EMPTIES=1 FORGETS=1|quarantine
holds|Redis loses a hold, all workers are killed|FORGETS=1 CRASHES=2|quarantine
holds|one worker alone sees a jump, then a loss|JUMPS=1 FORGETS=1|quarantine
holds|the same, and a worker is killed|JUMPS=1 FORGETS=1 CRASHES=1|quarantine
'
full='
holds|a subscription is cut|CUTS=1
holds|a wait ends, the client comes again|TIMEOUTS=1 RETRIES=1 IN_ORDER
holds|a server is killed, its client asks the other|CRASHES=1 RETRIES=1 IN_ORDER
holds|one server is killed, one cut off|CUTS=1 CRASHES=1 IN_ORDER
holds|a server sleeps, two waiters on it|PAUSES=1 COME=2 HOMES=0
holds|a server sleeps, one waiter on each|PAUSES=1 COME=2
holds|the client comes again elsewhere|HANGUPS=1 RETRIES=1 IN_ORDER
holds|two messages are lost|LOSSES=2 COME=2
holds|a message is lost, a client cancels|LOSSES=1 CANCELS=1 COME=2
holds|a message is lost, a server is killed|LOSSES=1 CRASHES=1 COME=2
holds|the same, a server sleeps, one waiter|PAUSES=1 HANGUPS=1 RETRIES=1 COME=1
holds|the same, a subscription is cut, one waiter|CUTS=1 HANGUPS=1 RETRIES=1 COME=1
'
mistakes='
prompt served|no re-check after subscribing|NO_RECHECK CUTS=1
phantom|no claim: a grant has its whole TTL|NO_CLAIM CRASHES=1
prompt served|no tick|NO_TICK
place_kept order|suspect waiters are removed|REMOVE_SUSPECT PAUSES=1
place_kept order|an unclaimed expiry drops the place|DROP_PLACE PAUSES=1
order|a newcomer does not look at the queue|NEWCOMER_BLIND
latest|a superseded request claims|CLAIM_ANY CUTS=1 HANGUPS=1 RETRIES=1 COME=2 IN_ORDER
latest|a late request is read without a look|READ_WITHOUT_LOOKING PAUSES=1 HANGUPS=1 RETRIES=1 COME=1
phantom|a hang-up is ignored, no claim window|HANG_UP_IGNORED NO_CLAIM HANGUPS=1
prompt|the tick is told to the head only|TICK_HEAD_ONLY CRASHES=1
served|a server sleeps beyond its lease unnoticed|SLEPT_UNNOTICED PAUSES=1 COME=2 HOMES=0
one_hold|a stale grant takes back a claimed hold|STALE_TAKES_CLAIMED CUTS=1
place_kept|a stale grant finds the ended attempt|ATTEMPT_STAYS HANGUPS=1 RETRIES=1 COME=2
endless|a stale grant is ignored|GHOST_IGNORED HANGUPS=1 FORGOTTEN=1 IN_ORDER
prompt|a reply replaces the plan of a tick|REPLY_REPLACES_PLAN CRASHES=1
served|a heartbeat does not look|HEARTBEAT_BLIND LOSSES=1 MINDERS=0 COME=1 ENDLESS
served|a heartbeat does not see a cancellation|HEARTBEAT_BLIND LOSSES=1 CANCELS=1 COME=2
prompt|nobody looks after what was told|NOBODY_MINDS LOSSES=1 COME=2
one_hold|a leave takes back any hold of the token|TAKE_BACK_ANY HANGUPS=1 RETRIES=1 COME=2
departed|a cancellation is not remembered|FORGET_CANCEL CANCELS=1 CUTS=1
single|the span is lowered after one window|LOWERED_AFTER_ONE_WINDOW FORGETS=1|quarantine
single|a hold is told before the span is raised|TOLD_BEFORE_RAISED FORGETS=1 CRASHES=1|quarantine
single|the span is raised here and not there|RAISED_HERE_AND_NOT_THERE FORGETS=1 CRASHES=1|quarantine
single|a worker that remembers more says nothing|NOT_FOLLOWED EMPTIES=1|quarantine
single|another run of Redis is not noticed|RESTART_UNNOTICED FORGETS=1|quarantine
single|a late begin forgets what was raised|LATE_BEGIN_FORGETS JUMPS=1 FORGETS=1 CRASHES=1|quarantine
single|a hold is told without its epoch|REPORTED_WITHOUT_THE_EPOCH JUMPS=1 FORGETS=1 CRASHES=1|quarantine
'

check() { # DIR WANTED NAME DEFINES MODEL: prints a row, and whether it passed into DIR
    local dir wanted=$2 name=$3 kind=-DSAFETY speed=-O1 search=() defines=() word start=$EPOCHREALTIME code=0 verdict passed=0
    dir=$(mktemp -d "$1/XXXXXX")
    for word in $4; do defines+=("-D$word"); done
    [[ $wanted == holds || $wanted == ends ]] || speed=-O0 # a mistake is found sooner than compiled
    case $wanted in ends | endless) kind=-DNP search=(-l) ;; esac
    if (
        cd "$dir"
        spin "${defines[@]}" -a "$OLDPWD/$5.pml" && ${CC:-gcc} $speed -w $kind -DCOLLAPSE -DMEMLIM=2500 -o pan pan.c
    ) >"$dir/log" 2>&1; then
        (cd "$dir" && timeout "$limit" ./pan -m100000 "${search[@]}") >"$dir/out" 2>&1 || code=$?
    else
        code=1
    fi
    verdict=$(sed -nE 's/^pan:[0-9]+: assertion violated ([a-z_]+).*/\1/p; s/^pan:[0-9]+: non-progress cycle.*/endless/p' "$dir/out" 2>/dev/null | head -1)
    if [[ -z $verdict ]]; then
        if ((code)) || ! grep -q 'errors: 0' "$dir/out" || grep -q 'not completed\|too small\|exceeded' "$dir/out"; then
            verdict="not finished ($code)"
        else
            verdict=$([[ $wanted == ends ]] && echo ends || echo holds)
        fi
    fi
    [[ " $wanted " != *" $verdict "* ]] || passed=1
    echo "$passed $((1 - passed))" >"$dir.count"
    ((passed)) || [[ ! -s $dir/log ]] || cat "$dir/log"
    awk -v name="$name" -v verdict="$verdict" -v passed="$passed" -v wanted="$wanted" -v t="$start" -v now="$EPOCHREALTIME" '
        /states, stored/ { states = $1 }
        /depth reached/ { split($0, half, "depth reached "); depth = half[2] + 0 }
        END { printf "%-46s %9d %6d %7.1f s  %s%s\n", name, states, depth, now - t, verdict, passed ? "" : "   FAILED, wanted: " wanted }
    ' "$dir/out" /dev/null 2>/dev/null || echo "$name: no result   FAILED"
    rm -rf "$dir"
}

if [[ ${1-} == --one ]]; then
    IFS='|' read -r wanted name defines model <<<"$3"
    check "$2" "$wanted" "$name" "$defines" "${model:-handover}"
    exit
fi

dir=$(mktemp -d "${TMPDIR:-/tmp}/baton.XXXXXX")
trap 'rm -rf "$dir"' EXIT
side_by_side() { # ROWS
    sed '/^$/d' <<<"$1" | tr '\n' '\0' | xargs -0 -n 1 -P "${MODEL_JOBS:-2}" ./run.sh --one "$dir"
}

printf '%-46s %9s %6s %9s  %s\n' "what goes wrong" states depth time verdict
side_by_side "$quick"
[[ -n ${QUICK-} ]] || side_by_side "$full"
printf '\n%-46s\n' "mistakes, and the promise that each breaks"
side_by_side "$mistakes"

cat "$dir"/*.count | awk '
    { p += $1; f += $2 }
    END { printf "\n%d passed, %d failed\n", p, f; exit f > 0 }'
