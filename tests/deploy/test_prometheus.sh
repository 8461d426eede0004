#!/bin/bash
# deploy/prometheus: its files are what Prometheus reads, and each alert fires when it should, not
# before, and no longer.
# shellcheck source=tests/deploy/common.sh
source "${0%/*}/common.sh"
cd "$root/deploy/prometheus"

expect "prometheus.yml" promtool check config prometheus.yml
expect "The alerts do not fire as alerts.yml of the tests says" promtool test rules "$root/tests/deploy/alerts.yml"

# ---- What an operator needs to be told

mapfile -t alerts < <(sed -n 's/^ *- alert: //p' alerts.yml)
((${#alerts[@]})) || fail "no alerts"
awk '
    function check() {
        for (i in wanted) if (name && !(i in has)) { print name " has no " i; bad = 1 }
        split("", has)
    }
    BEGIN { split("severity summary description runbook", words); for (i in words) wanted[words[i]] }
    / - alert:/ { check(); name = $3 }
    { sub(/:.*/, "", $1); has[$1] }
    END { check(); exit bad }' alerts.yml || complain "alerts.yml: see above"

# ---- The tests of the alerts, tried: with all of them broken in one way, each has to be missed

# The names of alerts that a run of promtool complains of: those that fired WRONGLY, or were MISSED.
complained_of() { # WRONGLY|MISSED, what promtool said on stdin
    awk -v want="$1" '
        function names(line, set) {
            split("", set)
            while (match(line, /alertname="[A-Za-z]+"/)) {
                set[substr(line, RSTART + 11, RLENGTH - 12)]
                line = substr(line, RSTART + RLENGTH)
            }
        }
        $1 == "exp:" { names($0, expected) }
        $1 == "got:" {
            names($0, got)
            if (want == "WRONGLY") { for (n in got) if (!(n in expected)) print n }
            else for (n in expected) if (!(n in got)) print n
        }' | sort -u
}

# Changes every alert by the awk program and wants each of them (or those with the word in their rule) to be
# complained of.
mutate() { # WHAT WRONGLY|MISSED WORD AWK
    local mutant=$dir/mutant said alert
    mkdir -p "$mutant/deploy/prometheus" "$mutant/tests/deploy"
    cp rules.yml "$mutant/deploy/prometheus"
    cp "$root/tests/deploy/alerts.yml" "$mutant/tests/deploy"
    awk "$4" alerts.yml >"$mutant/deploy/prometheus/alerts.yml"
    promtool check rules "$mutant/deploy/prometheus/alerts.yml" >"$dir/said" || fail "$(<"$dir/said")"
    said=$({ promtool test rules "$mutant/tests/deploy/alerts.yml" || true; } 2>&1 | complained_of "$2")
    awk -v word="$3" '/ - alert:/ { name = $3 } index($0, word) && name { print name; name = "" }' alerts.yml >"$dir/names"
    [[ -s $dir/names ]] || fail "no alert has $3"
    while read -r alert; do
        grep -qx "$alert" <<<"$said" || complain "The test does not notice that $alert $1"
    done <"$dir/names"
}

# An expression may go on over lines that are indented further.
replace='/^ *expr:/ { sub(/expr:.*/, "expr: " new); print; skip = 1; next } skip && /^          / { next } { skip = 0 }'
mutate "never fires" MISSED alert: 'BEGIN { new = "vector(1) < 0" }'"$replace"' { print }'
mutate "always fires" WRONGLY alert: 'BEGIN { new = "vector(1)" }'"$replace"' /^ *for:/ { next } { print }'
mutate "fires at once" WRONGLY 'for: ' '!/^ *for:/'

exit "$failed"
