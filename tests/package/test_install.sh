#!/bin/bash
# `make install` and `make uninstall`: what is where, that a changed baton.conf and secrets outlast
# both, and that baton.conf names each setting with a value that batond takes.
. tests/package/common.sh
unset "${!BATON_@}" # no setting of whoever runs this has a say

# The build under test may be one with sanitizers, which has a folder of its own.
flavour=$(basename "$(dirname "$batond")")
[[ $flavour != build && $flavour != valgrind ]] || flavour=

make_it() { # TARGET
    make --no-print-directory -s "$1" SANITIZE="$flavour" DESTDIR="$folder/root" PREFIX=/opt/baton \
        >"$folder/log" 2>&1 || fail "make $1:" "$(<"$folder/log")"
}

list() { # what is in the root, with its rights
    (cd "$folder/root" && find . -mindepth 1 ! -type d -printf '%m %P\n' -o -empty -printf '%m %P/\n' | sort -k 2)
}

expect() { # WHAT FILE: the file is what list shows
    list | diff "$2" - >&2 || fail "^ $1"
}

make_it install
{
    cat
    for page in docs/*.md docs/images/* clients/README.md clients/{go,java,node,python}/README.md; do echo "644 opt/baton/share/doc/baton/$page"; done
} <<'END' | sort -k 2 >"$folder/installed"
644 etc/baton/baton.conf
700 etc/baton/credentials/
755 opt/baton/bin/baton
755 opt/baton/bin/batond
644 opt/baton/lib/systemd/system/baton.service
644 opt/baton/lib/systemd/system/baton.socket
644 opt/baton/lib/sysusers.d/baton.conf
644 opt/baton/share/bash-completion/completions/baton
644 opt/baton/share/doc/baton/CHANGELOG.md
644 opt/baton/share/doc/baton/CONTRIBUTING.md
644 opt/baton/share/doc/baton/LICENSE
644 opt/baton/share/doc/baton/README.md
644 opt/baton/share/doc/baton/SECURITY.md
644 opt/baton/share/doc/baton/openapi.yaml
644 opt/baton/share/fish/vendor_completions.d/baton.fish
644 opt/baton/share/man/man1/baton.1
644 opt/baton/share/man/man8/batond.8
644 opt/baton/share/zsh/site-functions/_baton
END
expect "is not what install should put there" "$folder/installed"
find "$folder/root/opt/baton/share/doc" -name '*.md' -exec tests/package/dead_links.sh {} + >&2 ||
    fail "^ installed documents have links that lead nowhere"
grep -qx 'ExecStart=/opt/baton/bin/batond' "$folder/root/opt/baton/lib/systemd/system/baton.service" ||
    fail "the unit starts another batond than the installed one"

# Each setting of --help stands in baton.conf once, and the other way round.
conf=$folder/root/etc/baton/baton.conf
"$folder/root/opt/baton/bin/batond" --help | sed -n '1,/^Instead/ s/^  --\([a-z-]*\).*/\1/p' | tr a-z- A-Z_ |
    sort >"$folder/settings"
sed -n '/^$/,$ s/^#BATON_\([A-Z_]*\)=.*/\1/p' "$conf" | sort | diff "$folder/settings" - >&2 ||
    fail "^ baton.conf and batond --help differ"
(($(wc -l <"$folder/settings") > 30)) || fail "batond --help has hardly any settings"

# What stands there is what holds anyway: batond takes all of it, but cannot use that directory.
grep -qx '#BATON_STATE_DIR=/var/lib/baton' "$conf" || fail "baton.conf has another state-dir than the unit"
sed -n 's/^#\(BATON_[A-Z_]*=..*\)/\1/p' "$conf" | grep -v _FILE= >"$folder/all"
mapfile -t all <"$folder/all"
env "${all[@]}" BATON_SANDBOX=false BATON_LISTEN=127.0.0.1:1 "$batond" --check >"$folder/log" 2>&1 &&
    fail "somebody is ready at port 1"
grep -q 'not ready' "$folder/log" || fail "batond does not take its defaults:" "$(<"$folder/log")"

# Installed once more: what was changed stays.
echo BATON_MAX_TTL=1h >>"$conf"
echo secret >"$folder/root/etc/baton/credentials/redis-url"
make_it install
[[ $(tail -n 1 "$conf") == BATON_MAX_TTL=1h ]] || fail "install has overwritten a changed baton.conf"
make_it uninstall
printf '%s\n' '644 etc/baton/baton.conf' '644 etc/baton/credentials/redis-url' >"$folder/left"
list | grep -v '/$' | diff "$folder/left" - >&2 || fail "^ is not what uninstall should leave"

# Nothing was changed: nothing is left.
rm -r "$folder/root"
make_it install
make_it uninstall
[[ ! -e $folder/root/etc/baton ]] || fail "uninstall leaves a baton.conf that nobody changed"

version=$("$batond" --version)
[[ $(head -n 1 deploy/debian/changelog) == "baton (${version#batond })"* ]] ||
    fail "deploy/debian/changelog is not about $version"
