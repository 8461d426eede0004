# shellcheck shell=bash disable=SC2154 # run.sh sets what is not set here
# Containers as the tests need them; to be sourced. All is in a store of our own, so the images and
# containers of whoever runs this stay as they are. The store is a cache: without it, it takes longer.

store=${BATON_CONTAINER_STORE:-${XDG_CACHE_HOME:-$HOME/.cache}/baton/containers}
debian=docker.io/library/debian:trixie-slim
network=baton-test
of_both=(--root "$store/images" --runroot "$store/run" --storage-driver overlay)
# crun wants more rights than runc.
options=("${of_both[@]}" --runtime runc --network-config-dir "$store/networks" --log-level error)
export BUILDAH_ISOLATION=chroot # it needs fewer rights

engine() { # ARGUMENT...
    podman "${options[@]}" "$@" 9>&-
}

# One run at a time has the store; what an earlier one has left is removed.
open_store() {
    mkdir -p "$store"
    exec 9>"$store/lock"
    flock -w 900 9 || fail "another run has $store"
    remove_containers
}

# Without what podman says about the timers of health checks, which need systemd.
remove_containers() {
    {
        engine rm --all --force --volumes --time 0
        engine volume prune --force
        engine network prune --force
    } 2>&1 >/dev/null | { grep -v 'Removing timer' || true; }
}

build() { # TAG CONTEXT ARGUMENT...: an image, of which only what has changed is made again
    # OCI's own format has no place for HEALTHCHECK.
    nice timeout 900 buildah "${of_both[@]}" bud --quiet --layers --format docker --pull-never \
        "${@:3}" --tag "$1" "$2" 9>&-
}

# What a registry would have, made from the mirror that this machine installs from.
make_debian() {
    ! engine image exists "$debian" || return 0
    local folder=$store/debian mirror
    rm -rf "$folder"
    mkdir "$folder"
    mirror=$({ grep -rhsoE 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list* || true; } |
        awk '{ first = first ? first : $1 } END { print first ? first : "http://deb.debian.org/debian" }')
    echo "making $debian from $mirror, once"
    nice timeout 600 debootstrap --variant=minbase trixie "$folder/root" "$mirror" >"$folder/log" 2>&1 ||
        fail "$(tail -n 20 "$folder/log")"
    rm -f "$folder"/root/var/cache/apt/archives/*.deb
    tar -C "$folder/root" -cf "$folder/root.tar" .
    printf 'FROM scratch\nADD root.tar /\nCMD ["bash"]\n' >"$folder/Dockerfile"
    build "$debian" "$folder"
    rm -rf "$folder"
}

# The same for what stands beside Baton.
make_neighbours() {
    local name
    for name in redis haproxy; do
        engine image exists "localhost/baton-test-$name" ||
            build "localhost/baton-test-$name" tests/container --target "$name" \
                --file tests/container/neighbours.Dockerfile
    done
}

# What this machine asks for: the timer of a health check needs systemd, so that is left to `engine
# healthcheck run`; limits that are not given podman would raise, which not every machine allows.
machine=(--pull=never --health-interval disable --ulimit nofile=16384:16384 --ulimit nproc=1000:1000)
confined=("${machine[@]}" --read-only --cap-drop all --security-opt no-new-privileges)

# Starts a batond as NAME with a port of its own, ready or not.
launch() { # NAME ARGUMENT...: of podman run
    engine network exists "$network" || engine network create "$network" >/dev/null
    engine run --detach --name "$1" --network "$network" --publish 127.0.0.1::7420 \
        "${confined[@]}" "${@:2}" "$image" >/dev/null
}

address_of() { # NAME
    echo "http://$(engine port "$1" 7420)"
}

# Sets `url` to where the batond NAME is, once it is ready.
await_ready() { # NAME
    url=$(address_of "$1")
    for _ in {1..600}; do
        ! curl -sf -o /dev/null "$url/readyz" || return 0
        sleep 0.02
    done
    echo "$1 is not ready"
    return 1
}

start() { # NAME ARGUMENT...
    launch "$@"
    await_ready "$1"
}

process_of() { # NAME
    engine inspect --format '{{.State.Pid}}' "$1"
}

# Prints the body, and on a second line the status.
ask() { # METHOD PATH ARGUMENT...: of curl
    curl -sS --max-time 70 -X "$1" -w '\n%{http_code}\n' "${@:3}" "$url$2"
}

# Fails unless the text has all of these.
expect() { # TEXT PART...
    local part
    for part in "${@:2}"; do
        [[ $1 == *"$part"* ]] || { printf 'expected: %s\nbut this came: %s\n' "$part" "$1" && return 1; }
    done
}

# The Nth of the blocks of commands that are for us to run, in docs/deploy.md.
page_says() { # N
    awk -v n="$1" '
        /^<!-- not run:.*make container/ { marked = 1 }
        /^```/ { open = marked && /sh$/; block += open; marked = marked && open; next }
        open && block == n' docs/deploy.md
}

# Runs such commands by our engine, with the image that is there.
# shellcheck disable=SC1090,SC2317 # the commands call what is defined here
follow() { # FILE
    make() { [[ $* == image ]]; }
    docker() {
        case $1 in
        compose) compose "${@:2}" ;;
        run) engine run "${machine[@]}" "${@:2:$#-2}" "$image" ;;
        *) engine "$@" ;;
        esac
    }
    curl() {
        if [[ $* != *readyz* ]]; then await_ready baton; fi
        command curl -sS "$@"
    }
    . "$1"
}
