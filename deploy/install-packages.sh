#!/bin/bash
# Installs the Debian packages of the named groups, those that are missing only, without asking.
#   deploy/install-packages.sh build run test deploy ui fuzz valgrind model bench budget lint deb deb-test release cases
set -euo pipefail

# group, package, what makes it needless: a command, /a/file or lib:NAME of pkg-config; what it is for
table='
build  gcc                   gcc                   compiles batond
build  libc6-dev             /usr/include/stdio.h  headers of the C library
build  pkgconf               pkg-config            finds the libraries
build  libmicrohttpd-dev     lib:libmicrohttpd     HTTP
build  libjansson-dev        lib:jansson           JSON
build  libhiredis-dev        lib:hiredis           the Redis client
build  libuv1-dev            lib:libuv             the event loop
build  libgnutls28-dev       lib:gnutls            TLS, SHA-256
build  libcurl4-openssl-dev  lib:libcurl           HTTP of the client
build  libseccomp-dev        lib:libseccomp        the filter of system calls
image  make                  make                  builds batond where the image is made
image  redis-server          redis-server          goes into the image
image  ca-certificates       /etc/ssl/certs/ca-certificates.crt  go into the image
run    redis-server          redis-server          keeps the locks
run    curl                  curl                  to try it
test   libcmocka-dev         lib:cmocka            the test framework
test   libssl-dev            lib:openssl           the other side of TLS, and certificates
test   openssl               openssl               makes the certificates of docs/security.md
test   haproxy               /usr/sbin/haproxy     a proxy in front of the replicas under test
test   nginx-light           /usr/sbin/nginx       another one
test   sqlite3               sqlite3               a database that docs/recipes.md writes to
test   nftables              /usr/sbin/nft         cuts a connection without either side noticing
test   iproute2              /usr/sbin/ip          joins hosts of their own, which can be cut off
test   prometheus            promtool              checks the format of the figures
test   python3-yaml          /usr/lib/python3/dist-packages/yaml/__init__.py        reads openapi.yaml in the tests
test   python3-jsonschema    /usr/lib/python3/dist-packages/jsonschema/__init__.py  holds replies against it
deploy prometheus            promtool              checks the rules and alerts, and runs them
deploy jq                    jq                    reads JSON in shell scripts
deploy haproxy               /usr/sbin/haproxy     checks its configuration
deploy nginx-light           /usr/sbin/nginx       checks its configuration
deploy nodejs                node                  runs what checks the files for Kubernetes
deploy npm                   npm                   installs that
deploy unzip                 unzip                 unpacks kubectl
test   mandoc                mandoc                checks the manual page
test   groff-base            groff                 shows it
test   systemd               systemd-analyze       checks the units
deb    build-essential       /usr/share/build-essential  what dpkg-buildpackage asks for
deb    debhelper             dh                    builds the Debian package
deb    dpkg-dev              dpkg-buildpackage     runs it
release git                  git                   takes the last commit
release mandoc               mandoc                makes HTML of the manual pages
release python3-setuptools   /usr/lib/python3/dist-packages/setuptools/__init__.py  makes the wheel
release python3-wheel        /usr/lib/python3/dist-packages/wheel/__init__.py       makes it in Debian 12
release nodejs               node                  runs npm
release npm                  npm                   packs the client for Node
release default-jdk-headless javadoc               compiles and documents the client for Java
release zip                  zip                   packs jars, and the module of Go
release-image buildah        buildah               builds the image
bare-test debootstrap         debootstrap           makes bare roots of Debian
bare-test curl                curl                  asks whether a port is free
deb-test debootstrap          debootstrap           makes clean roots of Debian
deb-test podman               podman                runs systemd in them
deb-test runc                 runc                  starts its processes
deb-test lintian              lintian               checks the package
valkey valkey-server         valkey-server         stands in for Redis in some tests
valgrind valgrind            valgrind              finds what is read before it is written, and leaks
fuzz   clang                 clang                 compiles the fuzz targets
fuzz   libclang-rt-dev       -                     libFuzzer and the sanitizers of clang
model  gcc                   gcc                   compiles the checker
model  libc6-dev             /usr/include/stdio.h  headers of the C library
model  spin                  spin                  checks the protocol of waiting
budget valgrind              valgrind              counts instructions
bench  wrk                   wrk                   makes load
bench  webdis                webdis                what to compare with
bench  valgrind              valgrind              counts instructions
bench  python3               python3               reports what was measured
bench  redis-tools           redis-cli             asks Redis
bench  nginx-light           /usr/sbin/nginx       the limit of HTTP
bench  etcd-server           etcd                  another to compare with
bench  python3-redis         -                     Redis locks of Python, to compare with
bench  nodejs                node                  runs redlock, to compare with
bench  npm                   npm                   installs that
bench  zookeeper             /usr/share/java/zookeeper.jar          another to compare with
bench  libcurator-recipes-java  /usr/share/java/curator-recipes.jar  locks in ZooKeeper
bench  default-jdk-headless  javac                 compiles their client
bench  postgresql            /usr/lib/postgresql   another to compare with
bench  libpq-dev             /usr/include/postgresql/libpq-fe.h     its client library
container buildah             buildah               builds the image
container podman              podman                runs it
container runc                runc                  starts its processes
container debootstrap         debootstrap           makes the base image, where there is no registry
container netavark            /usr/lib/podman/netavark      the network between containers
container aardvark-dns        /usr/lib/podman/aardvark-dns  their names
container iptables            iptables              what netavark sets up its network by
container docker-compose      docker-compose        checks compose.yaml
container podman-compose      podman-compose        runs it
container jq                  jq                    reads what podman tells
container curl                curl                  asks the container
cases  python3               python3               runs the cases of clients/, and the client for Python
cases  python3-yaml          /usr/lib/python3/dist-packages/yaml/__init__.py  reads them
cases  nodejs                node                  runs the client for Node
cases  openssl               openssl               makes the certificates of their tests
recipes python3-celery      /usr/lib/python3/dist-packages/celery/__init__.py       runs its recipe of docs/recipes.md
recipes python3-apscheduler /usr/lib/python3/dist-packages/apscheduler/__init__.py  runs its recipe
recipes python3-django      /usr/lib/python3/dist-packages/django/__init__.py       runs its recipe
client-go golang-go           go                    compiles the client for Go
client-php php-cli           php                   runs docs/recipes.md
client-ruby ruby             ruby                  runs docs/recipes.md
client-java default-jdk-headless  javac                 compiles the client for Java
ui     chromium              chromium              shows the page to the tests
ui     chromium-driver       chromedriver          drives it
ui     nodejs                node                  runs the tests of the page
ui     npm                   npm                   installs axe-core, which judges its accessibility
lint   clang                 clang                 a second compiler
lint   clang-format          clang-format          checks the layout of the code
lint   clang-tidy            clang-tidy            checks C
lint   cppcheck              cppcheck              checks C
lint   lua-check             luacheck              checks Lua
lint   shellcheck            shellcheck            checks shell scripts
lint   pyflakes3             pyflakes3             checks Python
lint   libpq-dev             /usr/include/postgresql/libpq-fe.h  what a client in the comparison needs
lint   nodejs                node                  runs the linters of openapi.yaml
lint   npm                   npm                   installs the linters of openapi.yaml
'

needless() { # COMMAND, /FILE or lib:NAME
    case $1 in
    lib:*) command -v pkg-config >/dev/null && pkg-config --exists "${1#lib:}" ;;
    /*) [[ -e $1 ]] ;;
    *) command -v "$1" >/dev/null ;;
    esac
}

wanted() {
    local group package proof reason
    while read -r group package proof reason; do
        [[ -n $group && " $* " == *" $group "* ]] || continue
        needless "$proof" || printf '%s\t%s\n' "$package" "$reason"
    done <<<"$table"
}

installed() {
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

# Debian starts a service as soon as its package is installed, and at each boot from then on. Baton starts a Redis of
# its own, so nothing needs another. This policy tells invoke-rc.d and deb-systemd-invoke to leave services alone. A
# policy that the system has already is respected. DPKG_ROOT is what it is for dpkg.
policy=${DPKG_ROOT-}/usr/sbin/policy-rc.d
policy_text='#!/bin/sh
# While deploy/install-packages.sh of Baton runs.
exit 101'

# The links by which systemd and init start something at boot, but for what systemd itself consists of.
starting_links() {
    { find "${DPKG_ROOT-}"/etc/systemd/system "${DPKG_ROOT-}"/etc/rc[2-5].d -type l \
        \( -lname '*/lib/systemd/*' -o -name 'S*' \) ! -lname '*/systemd-*' ! -lname '*@*' ! -lname '*.target' \
        2>/dev/null || true; } | sort
}

# Takes away the links that are not in $before, as `systemctl disable` and `update-rc.d disable` do.
disable_new() {
    local link name names=''
    while read -r link; do
        name=${link##*/}
        case $link in
        */rc?.d/*)
            name=${name#S??}
            mv "$link" "${link%/*}/K01$name"
            ;;
        ?*) rm "$link" ;;
        esac
        names+="${name%.service}"$'\n'
    done <<<"$(starting_links | grep -vxFf <(echo "$before"))"
    [[ $names != $'\n' ]] || return 0
    [[ -n ${DPKG_ROOT-} || ! -d /run/systemd/system ]] || systemctl daemon-reload
    echo "not started at boot: $(sort -u <<<"${names%$'\n'}" | paste -sd ' ')" >&2
}

# What apt-get says fills screens, so it goes to a log. A new machine may be busy with updates of its
# own at first.
apt_get() { # ARGUMENT...
    DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120 "$@" </dev/null >>"$log" 2>&1
}

# The janitor takes away policy and links when nobody has the lock on the log any more: this script, which may be
# killed, and apt-get. It is in a group of processes of its own.
install() { # PACKAGE...: as root
    local before log janitor made_policy='' status=0
    before=$(starting_links)
    [[ -e $policy && $(<"$policy") != "$policy_text" ]] || made_policy=yes
    log=$(mktemp)
    exec 3<"$log"
    flock 3
    set -m
    {
        trap '' HUP INT TERM
        exec 3<&-
        flock "$log" true
        [[ -z $made_policy ]] || rm -f "$policy"
        disable_new
        rm "$log"
    } &
    set +m
    janitor=$!
    if [[ -n $made_policy ]]; then
        echo "$policy_text" >"$policy"
        chmod 755 "$policy"
    fi
    apt_get update || true # the lists that are there may do
    apt_get install -y --no-install-recommends "$@" || { status=1 && cat "$log" >&2; }
    flock -u 3
    wait "$janitor"
    return "$status"
}

main() {
    local missing=() package reason list
    list=$(wanted "$@")
    [[ -n $list ]] || return 0
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        echo "There is no apt here; please install what corresponds to these packages of Debian:" >&2
        echo "  ${list//$'\n'/$'\n'  }" | expand -t 26 >&2
        exit 1
    fi
    while IFS=$'\t' read -r package reason; do
        installed "$package" && continue
        missing+=("$package")
        echo "missing: $package ($reason)"
    done <<<"$list"
    ((${#missing[@]})) || return 0
    if ! [[ $(id -u) == 0 ]] && ! command -v sudo >/dev/null; then
        echo "Installing needs root or sudo: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    echo "installing by apt-get: ${missing[*]}"
    if [[ $(id -u) == 0 ]]; then install "${missing[@]}"; else sudo "$0" --install "${missing[@]}"; fi
}

if [[ ${1-} == --install ]]; then
    install "${@:2}"
else
    main "$@"
fi
