#!/bin/bash
# README.md and docs/*.md, tried: the commands of a page are run in order, on a batond of its own, and
# what it shows is what they answer.
#
# A block marked ```sh is run, and a ```text block behind it is its output. There, … stands for
# anything and a number of four or more digits for any number; line breaks and the indentation behind
# them do not count. A comment above a block, <!-- not run: WHY -->, is for what a test cannot do as
# it stands; what such a block says is checked by the tests below. The addresses of batond
# and Redis are replaced by those of servers that this test starts. Blocks of PHP and Ruby, and their output, are for
# clients/conformance/readme.py.
set -euo pipefail
shopt -s inherit_errexit
export LC_ALL=C

root=$PWD
pages=(README.md docs/*.md)
batond=${BATON_TEST_BATOND:-$root/build/batond}
baton=${BATON_TEST_BATON:-$root/build/baton}
dir=$(mktemp -d "${TMPDIR:-/tmp}/readme.XXXXXX")
mkdir "$dir/bin"
ln -s "$baton" "$dir/bin/baton"
touch "$dir/redis.log"
started=()

# No setting of whoever runs this has a say, and no proxy stands between.
unset "${!BATON_@}"
export no_proxy=127.0.0.1

stop_all() {
    for pid in "${started[@]}"; do
        { kill "$pid" && wait "$pid"; } 2>/dev/null || true
    done
    rm -rf "$dir"
}
trap stop_all EXIT

# Ends the last that was started; a sanitizer may have something to say then.
end_last() { # LOG
    local last=${started[-1]}
    unset 'started[-1]'
    kill "$last"
    wait "$last" || fail "exit code $?" "$(<"$1")"
}

fail() {
    printf '%s\n' "$@" >&2
    exit 1
}

# Waits for the line in which a batond says where it listens; prints HOST:PORT.
address_in() { # LOG
    local address
    touch "$1" # the batond may not have opened it yet
    for _ in {1..600}; do
        address=$(sed -n 's|.*"msg":"listening","url":"https\{0,1\}://\([^"]*\)".*|\1|p' "$1")
        [[ -z $address ]] || { echo "$address" && return; }
        sleep 0.05
    done
    fail "batond does not listen:" "$(<"$1")"
}

start_redis() { # sets redis_address
    local port
    for _ in {1..20}; do
        port=$((31400 + RANDOM % 1300)) # no other test uses these
        redis-server --bind 127.0.0.1 --port "$port" --save '' --dir "$dir" >"$dir/redis.log" &
        started+=($!)
        for _ in {1..600}; do
            kill -0 $! 2>/dev/null || break # the port is in use
            redis_address=127.0.0.1:$port
            ! grep -q 'Ready to accept' "$dir/redis.log" || return 0
            sleep 0.05
        done
    done
    fail "redis-server does not start:" "$(<"$dir/redis.log")"
}

# ---- The blocks, each in a file of its page's folder: N.sh, N.text for its output, N.mark for the
# comment above it.

folder_of() { # PAGE
    echo "$dir/pages/${1##*/}"
}

split_into_blocks() { # PAGE
    mkdir -p "$(folder_of "$1")"
    awk -v dir="$(folder_of "$1")" -v page="$1" '
        /^```/ && open { open = 0; close(file); next }
        /^```sh$/   { file = dir "/" sprintf("%03d", ++n) ".sh"; printf "%s", mark > (dir "/" sprintf("%03d", n) ".mark") }
        /^```text$/ {
            if (!follows) { print page ":" NR ": output of no command"; exit 1 }
            file = follows == "sh" ? dir "/" sprintf("%03d", n) ".text" : "/dev/null"
        }
        /^```/ {
            open = NR; language = /^```(sh|php|ruby)$/ ? substr($0, 4) : ""
            if (!/^```(sh|text)$/) file = "/dev/null"
            next
        }
        open { print > file; follows = language; next }
        { follows = ""; mark = /^<!-- / ? $0 : "" }
        END { if (open) { print page ":" open ": a block without end"; exit 1 } }' "$1"
}

is_run() { # BLOCK
    [[ -e $1 && $(<"${1%.sh}.mark") != *'not run:'* ]]
}

# What a page shows, as a regular expression for what came.
pattern_of() { # FILE
    one_line "$1" | sed -E 's/[][\.*^$+?(){}|]/\\&/g; s/…/.*/g; s/[0-9]{4,}/[0-9]+/g'
}

# A busy machine may have one keep-alive more.
one_line() { # FILE
    sed 's/^ *//' "$1" | sed -Ez 's/(: keep-alive\n\n?)+/: keep-alive\n/g' | tr -d '\n'
}

# ---- The tests

# In one shell, since a block uses what one before it has set. A batond that a block starts finds
# the usual state directory taken, as it is for whoever has `make run` going.
session_of() { # FOLDER
    local block
    echo "set -e; export PATH=$dir/bin:\$PATH BATON_STATE_DIR=$1/state BATON_URL=http://$address; cd $1/sandbox"
    echo "trap 'kill \$(jobs -p) 2>/dev/null || true; wait' EXIT"
    for block in "$1"/*.sh; do
        is_run "$block" || continue
        sed -i "s/127\.0\.0\.1:7420/$address/g; s/127\.0\.0\.1:6379/$redis_address/g" "$block"
        sed -i "s/127\.0\.0\.1:7421/$second_address/g; s/127\.0\.0\.1:7430/$admin_address/g" "$block"
        echo "exec >${block%.sh}.out; echo $block >$dir/at; . $block"
        ! grep -q '^build/batond.*&$' "$block" || echo "until curl -so /dev/null http://$second_address/livez; do sleep 0.05; done"
    done
}

run_page() { # FOLDER
    local address
    mkdir -p "$1/sandbox/build" "$1/state"
    ln -s "$batond" "$1/sandbox/build/batond"
    "$batond" --listen 127.0.0.1:0 --state-dir "$1/state" 2>"$1/log" </dev/null &
    started+=($!)
    address=$(address_in "$1/log")
    until curl -sf -o "$dir/reply" "http://$address/readyz"; do sleep 0.05; done
    session_of "$1" >"$1/session"
    timeout 200 bash "$1/session" 2>"$dir/errors" </dev/null ||
        fail "exit code $? of block $(<"$dir/at"):" "$(<"$(<"$dir/at")")" "$(tail "$dir/errors")" \
            "$(tail "$1/log")"
    end_last "$1/log"
}

commands_answer_what_is_shown() {
    local folder block came
    for folder in "$dir"/pages/*; do
        for block in "$folder"/*.sh; do
            if is_run "$block"; then
                run_page "$folder"
                break
            fi
        done
    done
    for block in "$dir"/pages/*/*.text; do
        came=$(one_line "${block%.text}.out")
        [[ $came =~ ^$(pattern_of "$block")$ ]] ||
            fail "${block#"$dir/"}" "shown:" "$(<"$block")" "but this came:" "$came" "of:" "$(<"${block%.text}.sh")"
    done
}

# Stands in front of curl and notes "METHOD /path" of each request.
note_requests() {
    cat >"$dir/bin/curl" <<END
#!/bin/bash
method=GET url=
for ((i = 1; i <= \$#; i++)); do
    case \${!i} in
    -X) next=\$((i + 1)) && method=\${!next} ;;
    --json) method=POST ;;
    http://*) url=\${!i#http://*/} ;;
    esac
done
echo "\$method /\${url%%\?*}" >>$dir/requests
exec $(command -v curl) "\$@"
END
    chmod +x "$dir/bin/curl"
}

requests_are_in_openapi() {
    awk '/^  \// { sub(/:$/, ""); path = $1 }
         /^    (get|post|put|delete):$/ { sub(/:$/, ""); print toupper($1), path }
         /^components:/ { exit }' openapi.yaml >"$dir/operations"
    sed -E 's#^([^ ]+) /locks/.+/events$#\1 /locks/{name}/events#; t
        s#^([^ ]+) /locks/.+#\1 /locks/{name}#' "$dir/requests" | sort -u >"$dir/used"
    local unknown missing
    unknown=$(grep -vxFf "$dir/operations" "$dir/used" || true)
    [[ -z $unknown ]] || fail "not in openapi.yaml:" "$unknown"
    missing=$(grep -vxFf "$dir/used" "$dir/operations" || true)
    [[ -z $missing ]] || fail "no page shows:" "$missing"
}

other_batond='BATON_REDIS_URL_FILE=redis-url build/batond'

# That its rules are enough, and each of them needed, tests/integration/test_redis_user.c shows by what
# batond does. This is for a script that no test comes to run.
the_user_may_run_all_scripts() {
    local command
    while read -r command; do
        grep -qE "\+${command/|/[|]}( |\`|$)" docs/redis.md || fail "scripts run $command, which the user of docs/redis.md may not"
    done < <(grep -rhoE "(call|write|even_if_full)\('(cluster', ')?[a-z]+'" locks/scripts |
        sed -E "s/^[a-z_]+\('//; s/', '/|/; s/'\$//" | sort -u)
}

# That command of docs/redis.md, with the file and the user that the block before it made.
another_redis_serves() {
    local log=$dir/other.log base token
    (cd "$dir/pages/redis.md/sandbox" && exec bash -c "${other_batond/build/"exec $(dirname "$batond")"} --listen 127.0.0.1:0") \
        2>"$log" </dev/null &
    started+=($!)
    base=http://$(address_in "$log")
    [[ $(redis-cli -p "${redis_address#*:}" CLIENT LIST) == *user=baton* ]]
    curl -sSf -o "$dir/reply" "$base/readyz"
    token=$(curl -sSf -X POST -H 'Accept: text/plain' "$base/locks/one")
    curl -sSf -o "$dir/reply" -X DELETE -H "Lock-Token: $token" "$base/locks/one"
    ! grep -E '"level":"(warn|error)"' "$log" || fail "batond complains"
    the_user_may_run_all_scripts
    end_last "$log" # else it would write to this Redis again, when all locks are deleted
    [[ -z $(redis-cli -p "${redis_address#*:}" ACL LOG) ]] || fail "the user lacks a permission:" \
        "$(redis-cli -p "${redis_address#*:}" ACL LOG)"
}

https_batond='build/batond --tls-cert=cert.pem --tls-key=key.pem --tls-client-ca=ca.pem'
https_curl='curl --cacert cert.pem --cert robot.pem --key robot.key -X POST https://127.0.0.1:7420/locks/demo'

# Those commands of docs/security.md, with the files that the block before them has made.
https_serves() {
    local log=$dir/https.log at
    (cd "$dir/pages/security.md/sandbox" && exec bash -c \
        "${https_batond/build/"exec $(dirname "$batond")"} --listen 127.0.0.1:0 --state-dir $dir/https") \
        2>"$log" </dev/null &
    started+=($!)
    at=$(address_in "$log")
    (cd "$dir/pages/security.md/sandbox" && bash -c "${https_curl/127.0.0.1:7420/"$at"} -sSf") >"$dir/reply" ||
        fail "https: $(<"$log")"
    [[ $(<"$dir/reply") == '{"name":"demo",'* ]]
    [[ $(curl -s --cacert "$dir/pages/security.md/sandbox/cert.pem" -o /dev/null -w '%{http_code}' -X POST "https://$at/locks/x") == 401 ]]
    ! grep -E '"level":"(warn|error)"' "$log" || fail "batond complains"
}

# The same groups, in the same order, with the same settings and defaults.
settings_are_those_of_help() {
    # shellcheck disable=SC2016 # they are backticks of Markdown
    sed -nE '/^## Beyond a limit/q; s/^## (.*)/\1:/p; s/^\| `([a-z-]+)` \| ([^|]*) \|.*/\1 \2/p' docs/settings.md | tr -d '`' \
        >"$dir/documented"
    "$batond" --help | awk '
        function add() {
            if (match(text, /unset: \$XDG.*$/)) standard = substr(text, RSTART + 7)
            if (name != "") print name, standard
            name = text = ""
        }
        /^Instead of serving:$/ { exit }
        /^[A-Z][a-z]+:$/ { add(); print }
        /^  --/ {
            add()
            standard = /=/ ? "unset" : "false"
            if (match($0, /\(default: .*\)$/)) standard = substr($0, RSTART + 10, RLENGTH - 11)
            name = $1
            gsub(/^--|=.*/, "", name)
        }
        /^      / { sub(/^ +/, ""); text = text (text == "" ? "" : " ") $0 }
        END { add() }' >"$dir/helped"
    diff "$dir/documented" "$dir/helped" || fail "< docs/settings.md, > batond --help"
    (($(grep -c : "$dir/helped") >= 6 && $(wc -l <"$dir/helped") > 40)) || fail "batond --help has hardly any settings"
}

# All in `code` that looks like a path of this repository.
files_exist() {
    local page file
    for page in "${pages[@]}"; do
        # shellcheck disable=SC2016 # they are backticks of Markdown
        grep -oE '`[A-Za-z0-9_.][A-Za-z0-9_./-]*`' "$page" | tr -d '`' |
            grep -E '/|\.(c|h|sh|lua|yaml)$' | grep -vE '^(text|application|build)/|\.\.\.$' |
            sed "s|^|$page |" || true # it names none
    done >"$dir/files"
    [[ -s $dir/files ]]
    while read -r page file; do
        [[ -e $file ]] || fail "$page names $file, which does not exist"
    done <"$dir/files"
}

links_lead_somewhere() {
    tests/package/dead_links.sh "${pages[@]}" CHANGELOG.md CONTRIBUTING.md SECURITY.md clients/README.md clients/*/README.md >&2 ||
        fail "^ links that lead nowhere"
}

# The lines of the clients are those of their pages, which clients/conformance/readme.py runs.
clients_are_those_of_their_pages() {
    local language line
    for language in python js:node go java; do
        while IFS= read -r line; do
            grep -qxF -- "$line" "clients/${language#*:}/README.md" || fail "README.md shows a line that no test runs:" "$line"
        done < <(sed -n "/^\`\`\`${language%:*}\$/,/^\`\`\`/ { /^\`\`\`/!p }" README.md | grep .)
    done
}

# Whoever begins with the README comes to all of them.
pages_are_linked() {
    local page
    for page in docs/*.md; do
        grep -qF "]($page)" README.md || fail "README.md has no link to $page"
    done
}

# `make deb-test` does that.
package='make deb
sudo apt-get install ./build/deb/baton_*.deb
systemctl status baton
man batond'

# tests/redis/test_sentinel.c does much the same.
sentinel='export BATON_REDIS_URL=redis+sentinel://baton:change-me@10.0.0.1,10.0.0.2:26380,[fd00::3]/mymaster/0
build/batond'
sentinel_user=$(sed -n '/^redis-cli -h 10/,/^```/p' docs/redis.md | sed '$d')

# tests/integration/test_confirm.c does, and tests/contract.
confirmed=$(sed -n '/^build\/batond --redis-url/,/^```/p' docs/lost-data.md | sed '$d')

# Their URLs are read below; tests/integration/test_cluster.c and test_quorum.c do the rest.
cluster=$(grep '^build/batond.*redis+cluster:' docs/redis.md)
quorum=$(grep '^build/batond.*redis+quorum:' docs/redis.md)

# Nobody answers at these addresses, but batond starts.
flags_are_understood() {
    local command log
    for command in "$cluster" "$quorum"; do
        log=$(mktemp "$dir/flags.XXXXXX") # the one before still writes to its own
        command="$batond ${command#build/batond} --listen=127.0.0.1:0 --drain=0"
        bash -c "exec ${command//10.0.0./127.1.1.}" 2>"$log" &
        started+=($!)
        address_in "$log" >/dev/null
    done
}

# What is run neither here nor by `make container` is no more than this, and exists.
all_locks_can_be_deleted() {
    local redis="redis-cli -p ${redis_address##*:}"
    delete_all=$(grep '^redis-cli --scan' docs/deploy.md)
    $redis set 'baton:{one}' 1 >/dev/null
    $redis set other 1 >/dev/null
    bash -c "${delete_all//redis-cli/$redis}" >/dev/null
    [[ $($redis keys 'baton:*') == '' && $($redis get other) == 1 ]] || fail 'not all keys of locks were deleted'
    $redis unlink other >/dev/null
}

# Of the holds of several logs, those without an end, in the order of time. The end of one may be in the
# log that is read first.
holds_without_an_end_are_found() {
    local found line='{"time":"2026-11-26T20:00:0%s.000Z","msg":"lock %s","lock":"%s","owner":"me","fence":%s}\n'
    find_holds=$(sed -n '/^cat \*\.log/,/^```/p' docs/lost-data.md | sed '$d')
    mkdir "$dir/audit"
    # shellcheck disable=SC2059 # it is a format
    printf "$line" 3 released a 1 4 granted a 3 6 expired b 1 7 'taken back' a 2 >"$dir/audit/1.log"
    # shellcheck disable=SC2059
    printf "$line" 1 granted a 1 2 granted b 2 5 granted b 1 6 granted a 2 >"$dir/audit/2.log"
    found=$(cd "$dir/audit" && bash -c "$find_holds")
    [[ $found == *'"lock":"b"'*'"fence":2'*$'\n'*'"lock":"a"'*'"fence":3'* && $(wc -l <<<"$found") == 2 ]] ||
        fail "holds without an end:" "$found"
}

rest_is_known() {
    local block target
    for block in "$dir"/pages/*/*.sh; do
        is_run "$block" || [[ $(<"${block%.sh}.mark") == *'make container'* ]] || cat "$block"
    done | sort | diff - <(printf '%s\n' 'make run' "$https_batond" "$https_curl" "$cluster" "$confirmed" \
        "$package" "$quorum" "$other_batond" "$sentinel" "$sentinel_user" "$delete_all" "$find_holds" | sort) || fail "< not run, > known"

    make --no-print-directory help | awk '{ print $1 }' >"$dir/targets"
    grep -ohE '^make [a-z-]+|`make [a-z-]+' "${pages[@]}" | sed 's/.* //' | sort -u >"$dir/made"
    while read -r target; do
        grep -qx "$target" "$dir/targets" || fail "a page says make $target; no such target"
    done <"$dir/made"
    local run
    run=$(make -n run)
    [[ $run == *"deploy/install-packages.sh build run"* && $run == *"exec build"*/batond* ]] ||
        fail "make run does:" "$run"
}

start_redis
second_port=$((30000 + 2 * (RANDOM % 600))) # of the batond that a block starts
second_address=127.0.0.1:$second_port admin_address=127.0.0.1:$((second_port + 1))
note_requests
for page in "${pages[@]}"; do
    split_into_blocks "$page"
done

for check in commands_answer_what_is_shown requests_are_in_openapi another_redis_serves https_serves \
    settings_are_those_of_help files_exist links_lead_somewhere clients_are_those_of_their_pages pages_are_linked flags_are_understood all_locks_can_be_deleted \
    holds_without_an_end_are_found rest_is_known; do
    echo "$check"
    "$check"
done

while ((${#started[@]})); do
    end_last "$dir/https.log"
done
