#!/bin/bash
# deploy/kubernetes: kustomize makes something of it, Kubernetes' own types fit it, and it agrees with
# itself, with batond and with the image.
# shellcheck source=tests/deploy/common.sh disable=SC2016 # jq expands it
source "${0%/*}/common.sh"
cd "$root/deploy/kubernetes"
all=$dir/all.json # the example's objects, as one list

"$tools/kubectl" kustomize example >"$dir/all.yaml" 2>"$dir/said" || fail "$(<"$dir/said")"
complained=$(<"$dir/said")
[[ -z $complained ]] || complain "kustomize warns:" "$complained"
to_json <"$dir/all.yaml" >"$all"
echo --- | cat "$dir/all.yaml" - <(prometheus-operator/rules.sh) | to_json >"$dir/typed.json"

# ---- Every field has a name and a type that Kubernetes knows: the compiler refuses others

mkdir "$dir/types"
ln -s "$tools/node_modules" "$dir/types/node_modules"
cat >"$dir/types/tsconfig.json" <<'END'
{"compilerOptions": {"strict": true, "noEmit": true, "skipLibCheck": true, "target": "es2022", "types": [],
                     "module": "esnext", "moduleResolution": "bundler"}, "files": ["all.ts"]}
END
jq -r 'to_entries[] | "T\(.key)" as $type | .value
    | (if .apiVersion | startswith("monitoring.coreos.com/") then "@kubernetes-models/prometheus-operator"
       else "kubernetes-models" end) as $package
    | "import type { I\(.kind) as \($type) } from \"\($package)/\(.apiVersion)/\(.kind)\";\n"
      + "export const value_of_\($type): \($type) = \(.);"' "$dir/typed.json" >"$dir/types/all.ts"
expect "This is not what Kubernetes expects" "$tools/node_modules/.bin/tsc" --project "$dir/types"

# ---- It agrees with itself

# A condition on the whole list, where one KIND is what all but tests of absence begin with.
holds() { # WHAT CONDITION
    expect "$1" jq -e '
        def redis($kind): map(select(.kind == $kind and .metadata.labels["app.kubernetes.io/name"] == "redis"))
            | if length == 1 then .[0] else error("not one \($kind) of Redis") end;
        def one($kind): map(select(.kind == $kind and .metadata.labels["app.kubernetes.io/name"] != "redis")) | if length == 1 then .[0] else error("not one \($kind)") end;
        def pod: one("Deployment").spec.template;
        def batond: pod.spec.containers[0];
        def setting($name): one("ConfigMap").data["BATON_" + $name];
        def seconds: capture("^(?<n>[0-9]+)(?<u>[sm])$") | (.n | tonumber) * (if .u == "m" then 60 else 1 end);
        def within($labels): . as $selector | $labels | contains($selector);
        '"$2" "$all"
}

holds "There is not one of each" '
    map(.kind) | sort == (["ConfigMap", "Deployment", "HorizontalPodAutoscaler", "Ingress", "Namespace", "NetworkPolicy",
        "NetworkPolicy", "PodDisruptionBudget", "PodMonitor", "Secret", "Secret", "Secret", "Service", "Service",
        "ServiceAccount", "StatefulSet"])'
holds "A selector does not fit the pods" '
    pod.metadata.labels as $labels
    | [one("Deployment").spec.selector.matchLabels, one("Service").spec.selector,
       one("PodDisruptionBudget").spec.selector.matchLabels, one("PodMonitor").spec.selector.matchLabels,
       one("NetworkPolicy").spec.podSelector.matchLabels,
       pod.spec.topologySpreadConstraints[].labelSelector.matchLabels]
    | all(.[]; length > 0 and within($labels))'
holds "The NetworkPolicy takes batond for the other side" '
    pod.metadata.labels as $labels
    | [one("NetworkPolicy").spec | (.ingress[].from, .egress[].to)[].podSelector.matchLabels? // empty]
    | all(.[]; within($labels) | not)'
holds "The NetworkPolicy leaves a direction open, or says no port" '
    one("NetworkPolicy").spec | .policyTypes == ["Ingress", "Egress"]
    and all(.ingress[], .egress[]; .ports | length > 0)
    and all(.ingress[].from, .egress[].to; length > 0)'
holds "The port of Redis is not let through" '
    (setting("REDIS_URL") | capture(":(?<port>[0-9]+)$").port | tonumber) as $port
    | one("NetworkPolicy").spec.egress[0].ports[0].port == $port'
holds "A port is named that the container has not, or it is not the one that batond listens on" '
    def port_of($name): setting($name) | capture(":(?<port>[0-9]+)$").port | tonumber;
    batond.ports == [{name: "http", containerPort: port_of("LISTEN")},
                     {name: "admin", containerPort: port_of("ADMIN_LISTEN")}]
    and one("Service").spec.ports[].targetPort == "http"
    and [one("NetworkPolicy").spec.ingress[].ports[].port] == ["http", "admin"]
    and all(one("PodMonitor").spec.podMetricsEndpoints[].port,
            (batond | .startupProbe, .livenessProbe, .readinessProbe).httpGet.port; . == "admin")'
holds "The autoscaler is for something else, or the Deployment says a number as well" '
    one("HorizontalPodAutoscaler").spec.scaleTargetRef == (one("Deployment")
        | {apiVersion, kind, name: .metadata.name})
    and (one("Deployment").spec | has("replicas") | not)'
holds "The autoscaler waits for more than a pod may have" '
    (one("HorizontalPodAutoscaler").spec.metrics[0].pods.target.averageValue | tonumber)
    < (setting("MAX_CONNECTIONS") | tonumber) * 0.9 / 1.5'
holds "One replica alone, or no way to take one away" '
    one("HorizontalPodAutoscaler").spec.minReplicas >= 2
    and one("PodDisruptionBudget").spec.maxUnavailable == 1
    and one("Deployment").spec.strategy.rollingUpdate == {maxUnavailable: 0, maxSurge: 1}'
holds "The memory is not enough for all connections over TLS, and for streams that nobody reads" '
    (batond.resources.limits.memory | capture("^(?<n>[0-9]+)Mi$").n | tonumber)
    >= 20 + (setting("MAX_CONNECTIONS") | tonumber) * (0.9 * 60 + 10) / 1024'
# What batond takes after `drain`: server/http/delivery_check.c and server/http/http.c bound it.
holds "A pod is killed before it has said goodbye to all" '
    pod.spec.terminationGracePeriodSeconds
    >= batond.lifecycle.preStop.sleep.seconds + (setting("DRAIN") | seconds) + 12'
holds "A pod is still sent requests when it has stopped" '
    (batond.lifecycle.preStop.sleep.seconds + (setting("DRAIN") | seconds))
    > (batond.readinessProbe | .periodSeconds * .failureThreshold + .timeoutSeconds)'
holds "A file that a setting names is not mounted, or not in the Secret" '
    (batond.volumeMounts[0] | select(.readOnly).mountPath) as $path
    | pod.spec.volumes[0].secret.secretName as $name
    | (map(select(.kind == "Secret" and .metadata.name == $name))[0].data | keys) as $files
    | [one("ConfigMap").data[] | select(startswith("/"))]
    | length == 2 and all(.[]; startswith($path + "/") and (ltrimstr($path + "/") | IN($files[])))'
holds "The token for /metrics is nowhere, or the alerts would not know the job" '
    one("PodMonitor").spec as $monitor
    | $monitor.podMetricsEndpoints[0].authorization.credentials as $token
    | (map(select(.kind == "Secret" and .metadata.name == $token.name))[0].data | has($token.key))
    and pod.metadata.labels[$monitor.jobLabel] == "baton"'
holds "Not the restricted profile of Kubernetes, or more than that allows" '
    pod.spec.securityContext.runAsNonRoot and pod.spec.securityContext.seccompProfile.type == "RuntimeDefault"
    and batond.securityContext == {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true,
                                   capabilities: {drop: ["ALL"]}}
    and (pod.spec | has("hostNetwork") or has("hostPID") or has("hostIPC") | not)
    and all(pod.spec.volumes[]; has("secret"))
    and one("Namespace").metadata.labels["pod-security.kubernetes.io/enforce"] == "restricted"'
holds "The pod gets a token of Kubernetes" '
    pod.spec.automountServiceAccountToken == false and one("ServiceAccount").automountServiceAccountToken == false
    and pod.spec.serviceAccountName == one("ServiceAccount").metadata.name'
holds "Kubernetes sets variables that look like settings" 'pod.spec.enableServiceLinks == false'

holds "The Redis is not the one that batond asks, or somebody else may ask it" '
    redis("StatefulSet").spec as $set | $set.template.spec.containers[0] as $container
    | (setting("REDIS_URL") == "redis://\(redis("Service").metadata.name):\($container.ports[0].containerPort)")
    and ($set | .serviceName == "redis" and .replicas == 1 and .selector.matchLabels == .template.metadata.labels)
    and (redis("Service").spec.selector, redis("NetworkPolicy").spec.podSelector.matchLabels) == $set.template.metadata.labels
    and (redis("NetworkPolicy").spec | .policyTypes == ["Ingress", "Egress"] and (has("egress") | not)
        and .ingress[0].from[0].podSelector.matchLabels == {"app.kubernetes.io/name": "baton"})
    and (one("NetworkPolicy").spec.egress[0].to[0].podSelector.matchLabels == $set.template.metadata.labels)'
holds "Redis is not confined, or its data is on no volume" '
    redis("StatefulSet").spec as $set | $set.template.spec as $pod | $pod.containers[0] as $container
    | $pod.securityContext.runAsNonRoot and $pod.automountServiceAccountToken == false
    and $pod.securityContext.seccompProfile.type == "RuntimeDefault"
    and $container.securityContext == batond.securityContext
    and any($container.volumeMounts[]; .mountPath == "/data" and .name == $set.volumeClaimTemplates[0].metadata.name)'
holds "An image is asked for again at each start" '
    all(batond, redis("StatefulSet").spec.template.spec.containers[0]; .imagePullPolicy == "IfNotPresent")'
# What nginx.conf has, which the tests run.
nginx_says() { # DIRECTIVE
    sed -n "s/^ *$1 \(.*\);/\1/p" ../nginx.conf
}
holds "The ingress is not what nginx.conf is, or leads elsewhere" '
    one("Ingress") | .metadata.annotations as $all
    | def annotation($name): $all["nginx.ingress.kubernetes.io/proxy-" + $name];
    annotation("read-timeout") + "s" == "'"$(nginx_says proxy_read_timeout)"'"
    and annotation("send-timeout") + "s" == "'"$(nginx_says proxy_send_timeout)"'"
    and annotation("connect-timeout") + "s" == "'"$(nginx_says proxy_connect_timeout)"'"
    and annotation("buffering") == "'"$(nginx_says proxy_buffering)"'"
    and annotation("next-upstream") == "'"$(nginx_says proxy_next_upstream)"'"
    and (.spec.rules[0] | .http.paths[0] == {path: "/", pathType: "Prefix",
            backend: {service: {name: "baton", port: {name: "http"}}}})
    and [.spec.rules[].host] == .spec.tls[0].hosts'
max_wait=$("$batond" --help | sed -n 's/^  --max-wait=.*(default: \([0-9]*\)s).*/\1/p')
holds "The ingress gives up before max-wait, ${max_wait}s" '
    one("Ingress").metadata.annotations["nginx.ingress.kubernetes.io/proxy-read-timeout"] | tonumber > '"$max_wait"

# The end of the kustomization file, for a Redis outside the cluster.
cp -R . "$dir/outside"
sed -i -e '/^  - redis.yaml/d; s/BATON_REDIS_KEEPS=all/BATON_REDIS_URL=rediss:\/\/redis.example.com:6380/' \
    -e '/^#patches:/,$ s/^#//' "$dir/outside/example/kustomization.yaml"
"$tools/kubectl" kustomize "$dir/outside/example" | to_json >"$dir/outside.json"
expect "With a Redis outside, the port of Redis is not let through, or the small one is left" jq -e '
    (map(select(.kind == "NetworkPolicy")) | length == 1 and .[0].spec.egress[0].ports[0].port == 6380)
    and all(.[]; .kind != "StatefulSet")' "$dir/outside.json"

# ---- It agrees with the image

version=$(sed -n 's/^VERSION *:= *//p' "$root/Makefile")
user=$(sed -n 's/^USER *//p' "$root/Dockerfile" | tail -n 1)
holds "The image is not that of this version" "batond.image | endswith(\":$version\")"
holds "The user is not that of the image, $user" \
    'pod.spec.securityContext | "\(.runAsUser):\(.runAsGroup)" == "'"$user"'" and .fsGroup == .runAsGroup and .fsGroupChangePolicy == "OnRootMismatch"'

# ---- It agrees with batond, which is started with these settings and files

mkdir "$dir/secrets"
jq -r 'map(select(.kind == "Secret" and (.metadata.name | startswith("baton-metrics") | not)))[0].data
    | to_entries[] | "\(.key) \(.value | gsub("\n"; ""))"' "$all" |
    while read -r file content; do base64 -d <<<"$content" >"$dir/secrets/$file"; done
chmod 440 "$dir/secrets/"*
# The small Redis as it is there, but on a socket and in folders of this test: it starts, and its user may do what batond needs.
jq -r '.[] | select(.kind == "StatefulSet").spec.template.spec.containers[0].command[2]' "$all" |
    sed "s|/etc/baton|$dir/secrets|; s|^port .*|port 0\nunixsocket $dir/redis|; s|^dir .*|dir $dir|" >"$dir/redis.sh"
settings_of() { # FILE: the lines that both have, without what differs between a file of its own and a script
    sed 's/^ *//; s/\$\$/$/; s|/run/secrets|/etc/baton|' "$@" | sed -nE '/^user default/,/zunionstore$/p; /^(bind|appendonly|appendfsync|save|maxmemory|maxmemory-policy|tcp-keepalive|timeout) /p' | sort
}
expect "The Redis is another one than that of deploy/compose" diff <(settings_of example/redis.yaml) \
    <(settings_of ../compose/compose.yaml ../compose/redis.conf)
sh "$dir/redis.sh" >"$dir/redis.log" &
started+=($!)
redis_url=unix://$dir/redis
wait_for 20 test -S "$dir/redis" || fail "The Redis of redis.yaml does not start:" "$(<"$dir/redis.log")"
mapfile -t settings < <(jq -r '.[] | select(.kind == "ConfigMap").data | to_entries[] | "\(.key)=\(.value)"' "$all")
known=$("$batond" --help)
for setting in "${settings[@]}"; do
    name=${setting%%=*}
    flag=${name#BATON_} flag=${flag%_FILE}
    flag=${flag//_/-} flag=--${flag,,}
    # redis-password has a form with _FILE, tokens-file is called so.
    grep -qE -- "^ *$flag(-file)?\b" <<<"$known" || complain "batond knows no $name"
done
# Elsewhere than in the pod: where the files are, and Redis, and it listens.
for i in "${!settings[@]}"; do
    settings[i]=${settings[i]//=\/etc\/baton\//=$dir/secrets/}
    [[ ${settings[i]} != BATON_REDIS_URL=* ]] || settings[i]=BATON_REDIS_URL=$redis_url
    [[ ${settings[i]} != BATON_ADMIN_LISTEN=* ]] || settings[i]=BATON_ADMIN_LISTEN=127.0.0.1:0
done
env "${settings[@]}" true
export "${settings[@]}"
admin_of() { # NAME: the URL of its admin-listen
    wait_for 20 grep -qs 'probes and metrics' "$dir/$1.log" || fail "$1 has no admin-listen"
    sed -n 's|.*probes and metrics.*"url":"\([^"]*\)".*|\1|p' "$dir/$1.log"
}
start_batond pod
base=$(admin_of pod)

paths=$(jq -r '.[] | select(.kind == "Deployment").spec.template.spec.containers[0]
    | (.startupProbe, .livenessProbe, .readinessProbe).httpGet.path' "$all" | sort -u)
[[ $paths == $'/livez\n/readyz' ]] || complain "The probes ask" "$paths"
for path in $paths; do
    expect "batond does not answer $path" curl -sSf -o /dev/null "$base$path"
    grep -q "^  $path:" "$root/openapi.yaml" || complain "openapi.yaml has no $path"
done
status=$(curl -s -o /dev/null -w '%{http_code}' "$base/metrics")
[[ $status == 401 ]] || complain "/metrics without a token is answered $status"

# The example's own tokens open nothing, so others stand in.
cp "$dir/secrets/tokens.json" "$dir/tokens.json"
chmod 640 "$dir/tokens.json"
stand_in() { # PRINCIPAL; prints its token
    local new
    new=$("$batond" --new-token="$1")
    jq --arg name "$1" --arg digest "$(tail -n 1 <<<"$new" | jq -r .sha256)" \
        '(.principals[] | select(.name == $name)).sha256 = $digest' "$dir/tokens.json" >"$dir/changed"
    cat "$dir/changed" >"$dir/tokens.json"
    head -n 1 <<<"$new"
}
token=$(stand_in prometheus)
ci=$(stand_in ci)
start_batond metered --tokens-file="$dir/tokens.json"
metric=$(jq -r '.[] | select(.kind == "HorizontalPodAutoscaler").spec.metrics[0].pods.metric.name' "$all")
expect "/metrics for the principal prometheus" curl -sSf -o "$dir/metrics" \
    -H "Authorization: Bearer $token" "$(admin_of metered)/metrics"
grep -q "^$metric " "$dir/metrics" || complain "batond serves no $metric, which the autoscaler asks for"
to_json <prometheus-adapter-values.yaml >"$dir/adapter.json"
expect "The adapter does not provide $metric, or not by pod" jq -e --arg metric "$metric" '
    .[0] // . | .rules.custom[0] | .seriesQuery == "\($metric){namespace!=\"\",pod!=\"\"}"
    and (.resources.overrides | keys) == ["namespace", "pod"]' "$dir/adapter.json"
jq '.[0] // . | {groups: [{name: "adapter", rules: [{record: "a", expr: .rules.custom[0].metricsQuery
    | gsub("<<.Series>>"; "'"$metric"'") | gsub("<<.LabelMatchers>>"; "pod=\"a\"") | gsub("<<.GroupBy>>"; "pod")}]}]}
    ' "$dir/adapter.json" >"$dir/adapter-rules.json"
expect "Prometheus does not understand the adapter's query" promtool check rules "$dir/adapter-rules.json"

# ---- A pod that is to end sends away who waits, and is gone before it is killed

lock=http://$address/locks/ci%2Fdeploy
expect "The principal ci gets no lock" curl -sSf -o /dev/null -u "ci:$ci" -X POST "$lock?ttl=10m"
curl -sS -o "$dir/reply" -u "ci:$ci" -X POST -H 'Accept: text/plain' "$lock?wait=50s&keep=30s" &
waiter=$!
# shellcheck disable=SC2317 # wait_for calls it
waits() {
    curl -sS -u "ci:$ci" "$lock" | jq -e '.queue_length == 1' >/dev/null
}
wait_for 10 waits || complain "Nobody waits"
grace=$(jq '.[] | select(.kind == "Deployment").spec.template.spec
    | .terminationGracePeriodSeconds - .containers[0].lifecycle.preStop.sleep.seconds' "$all")
kill "$pid"
# shellcheck disable=SC2317 # wait_for calls it
is_gone() {
    ! kill -0 "$pid" 2>/dev/null
}
wait_for "$grace" is_gone || complain "batond is still there $grace s after SIGTERM"
wait "$waiter" || complain "Who waited got no answer"
grep -q '^draining: ' "$dir/reply" || complain "Who waited was answered" "$(<"$dir/reply")"

exit "$failed"
