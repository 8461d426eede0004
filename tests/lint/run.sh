#!/bin/bash
# Checks all that can be checked without running it.
#   tests/lint/run.sh BUILD_FOLDER FLAG...   `make lint` calls it, with the compiler's flags
# Environment: LINT='format layers' runs only those. CHANGED=1, for the gate: clang and clang-tidy, the slow
# ones, look only at the files that differ from the tree that passed the gate last, or from where this branch
# left origin's main, or from the commit before; clang-tidy without its static analyzer, which takes nine tenths
# of its time. gcc is left out, since the gate has built everything with its warnings as errors.
set -uo pipefail
export LC_ALL=C

build=$1
flags=("${@:2}")
read -ra compiler <<<"$CC" # as make has it: "ccache cc", too
mapfile -t sources < <(find base redis locks api server cli tests -name '*.c' | sort)
mapfile -t headers < <(find base redis locks api server cli tests -name '*.h' ! -path 'tests/lint/*' | sort)
mapfile -t shell < <(grep -rlE --exclude-dir={build,.git,node_modules} --exclude='*.md' '^#!.*\b(ba)?sh$' . | sort)
mapfile -t python < <(find tests clients -name '*.py' | sort)

last_passed() { # prints the tree that passed the gate last, here or where this clone comes from
    local folder tree origin
    origin=$(git remote get-url origin 2>/dev/null)
    for folder in . "${origin#file://}"; do
        folder=$(git -C "$folder" rev-parse --absolute-git-dir 2>/dev/null)
        tree=$(cat "$folder/gate-passed" 2>/dev/null)
        if [[ -n $tree ]] && git cat-file -e "$tree^{tree}" 2>/dev/null; then
            echo "$tree"
            return
        fi
    done
    return 1
}

branched_off() { # prints the commit where this branch left origin's main, unless it is that
    local base
    base=$(git merge-base HEAD origin/main 2>/dev/null) && [[ $base != "$(git rev-parse HEAD)" ]] && echo "$base"
}

# The tree to compare with.
base() {
    last_passed || branched_off || git rev-parse --verify --quiet HEAD^
}

# What differs, and what includes a header that differs.
differing() { # TREE
    local file
    git diff --name-only --diff-filter=d "$1" -- '*.c' '*.h' | while read -r file; do
        echo "$file"
        [[ $file != *.h ]] || grep -rlF --include='*.c' "#include \"$file\"" base redis locks api server cli tests
    done | grep '\.c$' | sort -u
    git ls-files --others --exclude-standard -- '*.c'
}

slow_sources() {
    local base
    if [[ -n ${CHANGED-} ]] && base=$(base); then
        differing "$base"
    else
        printf '%s\n' "${sources[@]}"
    fi
}

each_source() { # COMMAND...: runs it for every source, two at a time
    printf '%s\0' "${sources[@]}" | xargs -0 -n 1 -P 2 "$@"
}

check_format() {
    clang-format --dry-run -Werror "${sources[@]}" "${headers[@]}"
}

check_gcc() {
    each_source "${compiler[@]}" "${flags[@]}" -Werror -o /dev/null -c
}

check_clang() {
    printf %s "$slow" | xargs -r -d '\n' -n 1 -P 2 clang "${flags[@]}" -Werror -fsyntax-only
}

# Every header says all that it needs.
check_headers() {
    local header
    for header in "${headers[@]}"; do
        echo "#include \"$header\"" | "${compiler[@]}" "${flags[@]}" -Werror -fsyntax-only -x c - || return
    done
}

check_tidy() {
    local without=${CHANGED:+--checks=-clang-analyzer-*}
    # shellcheck disable=SC2016 # the inner shell expands it
    printf %s "$slow" | xargs -r -d '\n' -n 4 -P 2 bash -c '
        n=$2; clang-tidy --quiet $1 "${@:n+3}" -- "${@:3:n}" 2>&1' - "$without" "${#flags[@]}" "${flags[@]}" |
        grep -vE '^[0-9]+ warnings? generated|^Suppressed |^Use -header-filter'
    return "${PIPESTATUS[1]}"
}

check_cppcheck() {
    cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 --library=posix,gnu -j 2 \
        --enable=warning,performance,portability --suppress=missingIncludeSystem \
        --suppress=normalCheckLevelMaxBranches --suppress=readdirCalled --suppress=varFuncNullUB \
        '--suppress=nullPointerOutOfMemory:tests/*' \
        --include=tests/lint/cppcheck.h -I. -D_GNU_SOURCE "${sources[@]}"
}

# A layer includes itself and what is below it, and each library is known to one layer only.
check_layers() {
    local bad=0
    forbid() { # LAYERS PATTERN WHY
        # shellcheck disable=SC2086 # the layers are words
        if grep -rnE --include='*.[ch]' "^ *# *include *[<\"]$2" $1; then
            echo "^ $3"
            bad=1
        fi
    }
    forbid base '(redis|locks|api|server|cli|tests)/' 'base/ includes a layer above it'
    forbid redis '(locks|api|server|cli|tests)/' 'redis/ includes a layer above it'
    forbid locks '(api|server|cli|tests)/' 'locks/ includes a layer above it'
    forbid api '(server|cli|tests)/' 'api/ includes a layer above it'
    forbid server '(cli|tests)/' 'server/ includes cli/ or tests/'
    forbid cli '(redis|locks|api|server|tests)/' 'cli/ knows only base/ and the HTTP API'
    forbid 'base redis locks api server' 'curl' 'only cli/ knows libcurl'
    forbid 'base redis locks server' 'jansson' 'only api/ and cli/ know jansson'
    forbid 'base redis locks api cli' 'microhttpd' 'only server/ knows libmicrohttpd'
    forbid 'base locks api server cli' 'hiredis' 'only redis/ knows hiredis'
    return $bad
}

# The rooms of each layer keep their order, and no circle of files is large. Needs what is built.
check_rooms() {
    tests/lint/rooms.py "$build"
}

check_shell() {
    shellcheck --external-sources "${shell[@]}"
}

check_python() {
    pyflakes3 "${python[@]}"
}

# The mutants can still be made.
check_mutants() {
    tests/mutants/run.py --check
}

# The library as Redis gets it. No format has an earlier version yet.
check_lua() {
    luacheck --quiet --no-color --std lua51 --read-globals redis struct --no-max-line-length \
        --ignore 211/earlier -- "$build/generated/library.lua"
}

# Documents, messages and names are plain English. Needs what is built, for --help.
check_prose() {
    tests/lint/test_prose.sh && tests/lint/words.py && tests/lint/prose.py "$build"
}

# The examples of openapi.yaml quote the program. The linters come from npm, at the versions that
# tests/contract/package.json pins.
check_openapi() {
    tests/lint/examples.py || return
    local npm=$build/npm
    if ! cmp -s tests/contract/package.json "$npm/installed.json"; then
        mkdir -p "$npm"
        cp tests/contract/package.json "$npm/package.json"
        npm install --silent --ignore-scripts --no-audit --no-fund --no-package-lock --prefix "$npm" || return
        cp tests/contract/package.json "$npm/installed.json"
    fi
    local failed=0
    "$npm/node_modules/.bin/redocly" lint --config tests/contract/redocly.yaml openapi.yaml || failed=1
    "$npm/node_modules/.bin/spectral" lint --fail-severity=warn --quiet \
        --ruleset tests/contract/.spectral.yaml openapi.yaml || failed=1
    return $failed
}

# Newer tools know more complaints: the code is kept clean for those of Debian 12.
clang --version | grep -q 'version 14\.' || echo "lint: clang here is not version 14, so expect to hear more"

slow=$(slow_sources)
passed=0 failed=()
checks="format gcc clang headers tidy cppcheck layers rooms shell python mutants lua prose openapi"
[[ -z ${CHANGED-} ]] || checks=${checks/gcc /}
for check in ${LINT:-$checks}; do
    start=$EPOCHREALTIME
    if output=$("check_$check" 2>&1); then
        result=ok
        passed=$((passed + 1))
    else
        result=FAILED
        failed+=("$check")
        echo "$output"
    fi
    awk -v c="$check" -v r="$result" -v t="$start" -v now="$EPOCHREALTIME" \
        'BEGIN { printf "lint %-10s %-8s %5.1f s\n", c, r, now - t }'
done
echo "lint: clang and clang-tidy looked at $(grep -c . <<<"$slow") of ${#sources[@]} files"
echo "lint: $passed checks passed, ${#failed[@]} failed ${failed[*]-}"
((${#failed[@]} == 0))
