#!/bin/bash
# deploy/grafana, and deploy/prometheus as it runs: two replicas are used in every way and scraped by
# a real Prometheus, and then each panel of the dashboard and each recording rule has something to
# show. A metric, label or rule by another name shows nothing.
# shellcheck source=tests/deploy/common.sh disable=SC2016 # jq expands it
source "${0%/*}/common.sh"
cd "$root/deploy"
dashboard=grafana/dashboard.json

# ---- The files

expect "The dashboard has an id twice" jq -e '[.panels[].id] | length == (unique | length)' "$dashboard"
expect "A panel has neither queries nor is a row, or no title" jq -e '
    all(.panels[]; .title != "" and (.type == "row" or (.targets | length > 0)))' "$dashboard"
expect "A query has the same letter as another of its panel" jq -e '
    all(.panels[] | [.targets[]?.refId]; length == (unique | length))' "$dashboard"
expect "Panels lie over one another, or beside the page" jq -e '
    [.panels[] | .gridPos | range(.y; .y + .h) as $y | range(.x; .x + .w) as $x | [$x, $y]]
    | length == (unique | length) and all(.[]; .[0] < 24)' "$dashboard"
expect "Not every query asks the datasource that was chosen, or for the job that was" jq -e '
    all(.panels[].targets[]?; .datasource.uid == "${datasource}" and (.expr | contains("job=\"$job\"")))
    ' "$dashboard"

one() { # FILE
    to_json <"$1" | jq 'if type == "array" then .[0] else . end'
}
expect "Grafana's datasource is asked for other steps than Prometheus scrapes in" jq -es '
    .[0].datasources[0].jsonData.timeInterval == .[1].global.scrape_interval' \
    <(one grafana/provisioning/datasources/prometheus.yml) <(one prometheus/prometheus.yml)
expect "Grafana looks for dashboards nowhere" jq -e '.providers[0].options.path | startswith("/")' \
    <(one grafana/provisioning/dashboards/baton.yml)

# The queries as Grafana would send them, and the labels that their legends name.
queries() {
    jq -r '(.panels[].targets[]? | {expr, text: .legendFormat}), (.annotations.list[] | {expr, text: .titleFormat})
        | [(.expr | gsub("\\$__rate_interval"; "10s") | gsub("\\$__range"; "1m")
                  | gsub("\\$job"; "baton") | gsub("\\$instance"; ".*")),
           ([.text | scan("{{([a-z]+)}}")[]] | join(" "))] | join("\t")' "$dashboard"
}
queries | jq -R 'split("\t") | {record: "a", expr: .[0]}' | jq -s '{groups: [{name: "dashboard", rules: .}]}' >"$dir/queries.yml"
expect "Prometheus does not understand a query" promtool check rules "$dir/queries.yml"

# ---- Two replicas, and a Prometheus with this project's configuration, in a hurry

start_redis
start_batond one --redis-url="$redis_url" --workers=2
one=$address
start_batond two --redis-url="$redis_url" --workers=2
two=$address
expect "/metrics" promtool check metrics < <(curl -sS "http://$one/metrics")

cp prometheus/rules.yml prometheus/alerts.yml "$dir"
sed -e "s/\[baton-1:7430, baton-2:7430\]/['$one', '$two']/" -e 's/_interval: 15s/_interval: 1s/' \
    prometheus/prometheus.yml >"$dir/prometheus.yml"
grep -q "$one" "$dir/prometheus.yml" || fail "prometheus.yml has not the two targets any more"

start_prometheus() {
    for _ in {1..20}; do
        prometheus=http://127.0.0.1:$((20000 + RANDOM % 12000))
        prometheus --config.file="$dir/prometheus.yml" --storage.tsdb.path="$dir/tsdb" \
            --web.listen-address="${prometheus#http://}" 2>"$dir/prometheus.log" &
        local pid=$!
        started+=("$pid")
        for _ in {1..200}; do
            ! curl -sf -o /dev/null "$prometheus/-/ready" || return 0
            kill -0 "$pid" 2>/dev/null || break # the port is in use
            sleep 0.1
        done
    done
    fail "prometheus does not start:" "$(<"$dir/prometheus.log")"
}
start_prometheus

# Whatever can happen to a lock: given on, waited for in vain, expired, broken, left by its client.
ask() { # METHOD REPLICA PATH ARGUMENT...
    curl -sS -m 5 -o /dev/null -X "$1" "http://$2$3" "${@:4}" || true
}
use() {
    local token=deploy-test-$RANDOM-$RANDOM-$RANDOM-$RANDOM
    ask POST "$one" '/locks/a?ttl=10s' -H "Lock-Token: $token"
    ask POST "$two" '/locks/a' # refused
    ask POST "$two" '/locks/a?wait=100ms'
    ask POST "$two" '/locks/a?wait=5s&ttl=100ms' &
    ask GET "$one" '/locks/a/events?wait=500ms' &
    ask GET "$one" '/events?prefix=b&wait=500ms' -H 'Accept: text/event-stream' &
    sleep 0.2
    ask DELETE "$one" '/locks/a' -H "Lock-Token: $token" # the one who waits holds it until it expires
    ask POST "$one" '/locks/b?ttl=10s'
    ask DELETE "$one" '/locks/b?force=true'
    ask GET "$two" '/locks?prefix='
    wait %% %- 2>/dev/null || true
}

ask_prometheus() { # QUERY LABELS: succeeds if its answer is a number that has all of them
    curl -sS "$prometheus/api/v1/query" --data-urlencode "query=$1" |
        jq -e --arg labels "$2" '.status == "success" and any(.data.result[];
            (.value[1] | test("NaN|Inf") | not) and (.metric as $metric | all($labels / " " | .[]; $metric[.] != null)))' >/dev/null
}

# Recording rules are named after their labels. Nothing here starts while Prometheus looks.
{
    queries | grep -v '^changes('
    sed -nE 's/^ *- record: (([a-z_]+):.*)/\1\t\2/p' prometheus/rules.yml | awk -F '\t' '{ gsub("_", " ", $2); print $1 "\t" $2 }'
} | sort -u >"$dir/missing"
end=$((SECONDS + 90)) # seconds are few, but not on a busy machine
for _ in {1..5}; do
    use # so that a share of the holds expires
done
while ((SECONDS < end)); do
    use
    use
    while IFS=$'\t' read -r query labels; do
        ask_prometheus "$query" "$labels" || printf '%s\t%s\n' "$query" "$labels"
    done <"$dir/missing" >"$dir/still-missing"
    mv "$dir/still-missing" "$dir/missing"
    [[ -s $dir/missing ]] || break
done
[[ ! -s $dir/missing ]] || complain "These show nothing (a name or label that batond does not serve?):" "$(<"$dir/missing")"

expect "Prometheus cannot work out a rule" jq -e '
    all(.data.groups[].rules[]; .health == "ok")' <(curl -sS "$prometheus/api/v1/rules")
alert_of_expired_holds_fires() {
    jq -e '[.data.alerts[] | select(.state == "firing") | .labels.alertname] | unique == ["BatonHoldsExpire"]' \
        <(curl -sS "$prometheus/api/v1/alerts")
}
until alert_of_expired_holds_fires >/dev/null || ((SECONDS >= end)); do sleep 0.5; done
expect "Not exactly the alert of expired holds fires" alert_of_expired_holds_fires

# What the runbooks send an operator to.
grep -q '"msg":"lock expired","lock":"a"' "$dir/one.log" "$dir/two.log" || complain "No log names the lock that expired"
while read -r path; do
    status=$(curl -sS -o "$dir/reply" -w '%{http_code}' "http://$one$path")
    [[ $status == 200 ]] || complain "$path, which a runbook names, is answered $status"
done < <(sed -n '/runbook:/,/^$/p' prometheus/alerts.yml | grep -oE '(^| )/[a-zA-Z]+[a-zA-Z/?]*' | tr -d ' ' | sort -u)

exit "$failed"
