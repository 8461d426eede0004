# 2, 64 and 1,000 clients want one lock, all the time: each asks for it, releases it as soon as it is
# told that it has it, and asks again as soon as the release is answered. Nothing is done while it is
# held. Whatever the contender, its clients print when each of them
#   arrived   sent its request (or called its library),
#   had it    was told that the lock is its own,
#   released  sent the release,
# and contended.py alone makes figures of that. The first fifth of the time is left out: connections are
# new then, Java compiles, and all ask at once.
#   hand-overs       grants to another client than had the lock before. What a client that polls takes
#                    again and again, since the others sleep, is in "grants" only.
#   fair share       the time that all clients who were waiting already when this one arrived need, at
#                    the rate of hand-overs measured. The wait beyond it, which is negative where
#                    somebody passed others, is that of the clients to whom the lock was handed over,
#                    and of those who still wait at the end, if it is beyond their share by then.
#   order violations grants to who has sent its request more than 50 ms later than one that is granted
#                    later still, or not at all. What is sent closer together may be queued in any
#                    order on a busy machine. Requests of the first fifth do not count. For Baton
#                    a run of its own counts exactly, by the order in which MONITOR shows that Redis
#                    got the requests; that fails the run.
#   exclusion violations  grants before the one who had the lock has sent its release.
#   Redis commands   sent per hand-over, and those that scripts called in Redis
# Baton, etcd and BLPOP are asked by the same program. PostgreSQL's clients are one process like it, so
# that they do not hold it up; the others are the libraries that people use, in as many processes and
# threads as keep them from being what limits it. BLPOP is the limit: a list whose element is the lock,
# without owner, TTL or waiting time.
# shellcheck shell=bash
. tests/bench/compare/common.sh

contenders=(Baton etcd 'redis-py Lock' redlock Curator PostgreSQL BLPOP)
declare -A unable # contenders that cannot run here, and why
declare -A sends=([Baton]='fcall' ['redis-py Lock']='set evalsha' [redlock]='evalsha eval'
    [BLPOP]='blpop lpush') # Redis commands; what else is called is called by scripts
java=/usr/share/java
zookeeper_jars=$java/zookeeper.jar:$java/slf4j-nop.jar
curator_jars=$java/curator-recipes.jar:$java/curator-framework.jar:$java/curator-client.jar

contended_start() {
    # shellcheck disable=SC2034 # measure.sh reads it
    rounds=$(pick 1 3)
    clients=$(pick 64 '2 64 1000')
    start_redis
    version BLPOP "Redis $(redis-server --version | sed 's/.* v=\([^ ]*\).*/\1/')"
    launch baton
    baton=$launched
    version Baton "$(build/batond --version | sed 's/.* //')"
    prepare Curator build/bench/Curator.class start_zookeeper
    prepare PostgreSQL build/bench/advisory make_postgresql
    prepare redlock build/bench/npm/redlock.mjs true
    version redlock "$(sed -n 's/.*"\(redlock\|ioredis\)": \("[^"]*"\).*/\1 \2/p' \
        tests/bench/compare/peers/package.json | tr -d '"' | paste -sd ' ')"
    version 'redis-py Lock' "$(/usr/bin/python3 -c 'import redis; print(redis.__version__)')"
}

contended_round() {
    local count contender
    for count in $clients; do
        ((count < 1000 || round < rounds)) || continue # they take long
        for contender in "${contenders[@]}"; do
            measure "$count" "$contender"
        done
        check_order "$count"
    done
}

prepare() { # CONTENDER TARGET FUNCTION: makes its client, and starts its server
    if ! make -s --no-print-directory "$2" >"$dir/make.log" 2>&1; then
        unable[$1]="its client cannot be made: $(tail -n 1 "$dir/make.log")"
    elif ! "$3"; then
        unable[$1]='its server does not come up'
    fi
}

start_zookeeper() {
    local port
    port=$(free_port)
    fast_folder
    cat >"$dir/zookeeper.cfg" <<END
dataDir=$folder
clientPort=$port
clientPortAddress=127.0.0.1
maxClientCnxns=0
admin.enableServer=false
END
    zookeeper=127.0.0.1:$port
    version Curator "$(dpkg-query -W -f '${Version}' libcurator-recipes-java), ZooKeeper $(dpkg-query -W -f '${Version}' zookeeper)"
    start zookeeper java -cp "$zookeeper_jars" org.apache.zookeeper.server.quorum.QuorumPeerMain \
        "$dir/zookeeper.cfg"
    until_ok bash -c ": </dev/tcp/127.0.0.1/$port"
}

# PostgreSQL refuses to run as root.
make_postgresql() {
    local as=()
    postgresql_bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
    fast_folder
    if [[ $(id -u) == 0 ]]; then
        chown postgres "$folder"
        as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
    fi
    postgresql=(env -C "$folder" "${as[@]}")
    version PostgreSQL "$("$postgresql_bin/postgres" --version | sed 's/^[^0-9]*//')"
    "${postgresql[@]}" "$postgresql_bin/initdb" -D data -A trust -U bench --no-sync >"$dir/initdb.log" 2>&1
}

# Longer where few hand-overs happen, or it takes long until all have asked.
choose_time() { # CLIENTS CONTENDER: sets $seconds
    case $1,$2 in
    2,redlock) seconds=6 ;;
    1000,etcd | 1000,Curator | 1000,PostgreSQL) seconds=8 ;;
    *) seconds=$(pick 2 3) ;;
    esac
}

measure() { # CLIENTS CONTENDER
    local case="$1 clients" sent=() figures
    if [[ -n ${unable[$2]-} ]]; then
        missing "$case" "$2" "${unable[$2]}"
        return
    fi
    choose_time "$@"
    redis config resetstat >/dev/null
    if ! run_clients "$2" "$1" >"$dir/turns" 2>"$dir/clients.err"; then
        missing "$case" "$2" "failed: $(grep . "$dir/clients.err" | tail -n 1)"
        return
    fi
    [[ -z ${sends[$2]-} ]] || mapfile -t sent < <(count_commands "${sends[$2]}")
    if figures=$(tests/bench/compare/contended.py "$dir/turns" "${sent[@]}" 2>"$dir/clients.err"); then
        record_lines "$case" "$2" <<<"$figures"
    else
        missing "$case" "$2" "$(tail -n 1 "$dir/clients.err")"
    fi
}

count_commands() { # COMMANDS: prints how often they, and how often others were called since the reset
    redis info commandstats | tr -d '\r' | awk -F'[_:=,]' -v names=" $1 " '
        /^cmdstat_/ { if (index(names, " " $2 " ")) sent += $4; else called += $4 }
        END { print sent + 0; print called + 0 }'
}

run_clients() { # CONTENDER CLIENTS: prints their turns
    local peers=tests/bench/compare/peers limit=(timeout $((seconds + 60))) lock=contended-$round-$2
    case $1 in
    Baton) contest "$baton" "$2" < <(ask_baton_for "$lock") ;;
    etcd) contest_etcd "$2" "$lock" ;;
    BLPOP)
        redis lpush "$lock" 1 >/dev/null
        contest "redis://127.0.0.1:$redis_port" "$2" < <(ask_blpop "$lock")
        ;;
    redis-py*) "${limit[@]}" $peers/redis_lock.py "$redis_port" "$2" "$seconds" ;;
    redlock) "${limit[@]}" node build/bench/npm/redlock.mjs "$redis_port" "$2" "$seconds" ;;
    Curator)
        "${limit[@]}" java -cp "build/bench:$curator_jars:$zookeeper_jars" Curator "$zookeeper" "$2" "$seconds"
        ;;
    PostgreSQL) contest_postgresql "$2" ;;
    esac
}

contest() { # URL CLIENTS: that ask what stands on standard input
    cat >"$dir/asked"
    "${limit[@]}" build/bench/load contest --url "$1" --exchange "$dir/asked" --clients "$2" --seconds "$seconds"
}

# A new one each time: one that 1,000 clients have left hands nothing over for a long while, and does
# not end when it is told to either.
contest_etcd() { # CLIENTS LOCK
    local status=0
    launch_etcd || return
    contest "$launched" "$1" < <(ask_etcd "$(base64 <<<"$2")") || status=$?
    kill -KILL "$launched_pid"
    wait "$launched_pid" 2>/dev/null || true
    rm -rf "$folder"
    return $status
}

# A new one each time: there, who waits stays until he has his turn, even when his client has gone.
contest_postgresql() { # CLIENTS
    local port status=0
    port=$(free_port)
    start postgresql "${postgresql[@]}" "$postgresql_bin/postgres" -D data -p "$port" \
        -c unix_socket_directories= -c listen_addresses=127.0.0.1 -c max_connections=1100
    until_ok "$postgresql_bin/pg_isready" -q -h 127.0.0.1 -p "$port" || return
    "${limit[@]}" build/bench/advisory "host=127.0.0.1 port=$port user=bench dbname=postgres" "$1" \
        "$seconds" || status=$?
    kill -QUIT "$started" # at once
    wait "$started" || true
    return $status
}

ask_baton_for() { # LOCK
    cat <<END
each POST /locks/$1?ttl=10s&wait=50s
header Lock-Token: <token>
expect 201
each DELETE /locks/$1
header Lock-Token: <token>
expect 200
contains "released":true
END
}

ask_blpop() { # LIST
    cat <<END
each BLPOP $1 0
expect *2
each LPUSH $1 1
expect :
END
}

check_order() { # CLIENTS
    local passed
    if passed=$(timeout 60 build/bench/load contend --url "$baton" --redis "127.0.0.1:$redis_port" \
        --clients "$1" --seconds 1 2>"$dir/clients.err" |
        sed -n 's/.*passed an earlier one, of [0-9]*: \([0-9]*\).*/\1/p') && [[ -n $passed ]]; then
        record "$1 clients" Baton 'order violations by MONITOR' grants "$passed"
    else
        missing "$1 clients" Baton "MONITOR: $(tail -n 1 "$dir/clients.err")"
    fi
}
