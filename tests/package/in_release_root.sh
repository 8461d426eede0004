#!/bin/bash
# In a clean root that has languages, but no clone: installs each part of a release as users do, and takes a lock with it.
# release_roots.sh starts it there, with the release in /release and the first lines of the clients' pages in /examples.
set -euo pipefail
export LC_ALL=C

ok() { # WHAT COMMAND...: the lines of the page say that they have a lock, or the command shows a lock
    local said
    said=$("${@:2}" 2>&1) || { printf 'FAILED: %s\n%s\n' "$1" "$said" && exit 1; }
    [[ $said == *"deploying with fence "[1-9]* ]] || { printf 'FAILED: %s has no lock\n%s\n' "$1" "$said" && exit 1; }
    echo "ok: $1 has a lock"
}

(cd /release && sha256sum --check --quiet SHA256SUMS)
echo "ok: SHA256SUMS is right"

batond --listen=127.0.0.1:7420 --state-dir=/var/tmp/locks 2>/var/tmp/batond.log &
server=$!
trap 'kill "$server" && wait "$server"' EXIT
until batond --check >/dev/null 2>&1; do
    kill -0 "$server" || { cat /var/tmp/batond.log && exit 1; }
    sleep 0.1
done

# shellcheck disable=SC2016 # the command expands it
ok "apt-get install ./baton*.deb" baton run deploy -- sh -c 'echo "deploying with fence $BATON_FENCE"'

from_wheel() {
    python3 -m venv /python && /python/bin/pip install --quiet --no-index /release/*.whl && /python/bin/python /examples/example.py
}
ok "pip install ./*.whl" from_wheel

from_npm() {
    mkdir /node && cd /node && cp /examples/example.mjs . && npm install --offline --no-audit --no-fund /release/*.tgz && node example.mjs
}
ok "npm install ./*.tgz" from_npm

from_proxy() {
    local module
    module=$(find /release/go -name '*.mod' -exec awk '/^module / { print $2 }' {} +)
    mkdir /module && cd /module && cp /examples/example.go .
    export GOPROXY=file:///release/go GOSUMDB=off GOFLAGS=-mod=mod GOTOOLCHAIN=local
    go mod init example && go get "$module@latest" && go run example.go
}
ok "go get, with the release as GOPROXY" from_proxy

from_jar() {
    local jar
    jar=$(ls /release/baton-client-*[0-9].jar)
    javac -Xlint:all -Werror -cp "$jar" -d /classes /examples/Example.java && java -cp "$jar:/classes" Example
}
ok "javac -cp baton-client.jar" from_jar
