#!/bin/bash
# A runner that overlooks a failure would make every other test worthless.
set -euo pipefail
unset BATON_TEST_AGAIN # which a gate sets
runner=$PWD/tests/run.sh
sed -n "/^longest='/,/^'/p" "$runner" | grep / | while read -r name; do
    [[ -e tests/$name.c ]] || { echo "$name begins first and is no test" && exit 1; }
done
cd "$(mktemp -d)"

program() { # NAME EXIT_CODE OUTPUT...: stands for a test program
    { echo '#!/bin/sh' && printf "echo '%s'\n" "${@:3}" && echo "exit $2"; } >"$1"
    chmod +x "$1"
}

expect() { # EXIT_CODE LAST_LINE PROGRAM...
    local code=0 output
    output=$("$runner" "${@:3}") || code=$?
    if [[ $code != "$1" || ${output##*$'\n'} != "$2" ]]; then
        printf 'expected %s, "%s" of %s, got %s:\n%s\n' "$1" "$2" "${*:3}" "$code" "$output"
        exit 1
    fi
}

program good 0 '[==========] Running 3 test(s).' '[  PASSED  ] 3 test(s).'
program two_groups 0 '[  PASSED  ] 3 test(s).' '[  PASSED  ] 4 test(s).'
program bad 1 '[  PASSED  ] 2 test(s).' '[  FAILED  ] 1 test(s), listed below:' '[  FAILED  ] one'
program bad_new 1 '[  PASSED  ] 2 test(s).' '[  FAILED  ] group: 2 test(s), listed below:'
program skipped 0 '[  PASSED  ] 2 test(s).' '[  SKIPPED ] 1 test(s), listed below:'
program leaks 23 '[  PASSED  ] 2 test(s).'
program leaks_at_last 0 '[  PASSED  ] 2 test(s).' '==1==ERROR: LeakSanitizer: detected memory leaks'
program ends_badly 0 '[  PASSED  ] 2 test(s).' '[  FAILED  ] GROUP TEARDOWN'
program crashes 139 '[ RUN      ] one'
program silent 0 'nothing'
printf '#!/bin/sh\nexit 0\n' >good.sh
printf '#!/bin/sh\nexit 3\n' >bad.sh
printf '#!/bin/sh\nexec sleep 100\n' >hangs
chmod +x good.sh bad.sh hangs

expect 0 '3 passed, 0 failed' ./good
expect 0 '11 passed, 0 failed' ./good ./two_groups ./good.sh
expect 1 '5 passed, 1 failed' ./bad ./good
expect 1 '2 passed, 2 failed' ./bad_new
expect 0 '2 passed, 0 failed, 1 skipped' ./skipped
expect 1 '2 passed, 1 failed' ./leaks
expect 1 '2 passed, 1 failed' ./leaks_at_last
expect 1 '2 passed, 1 failed' ./ends_badly
expect 1 '3 passed, 1 failed' ./crashes ./good
expect 1 '0 passed, 1 failed' ./silent
expect 1 '0 passed, 1 failed' ./bad.sh
expect 1 '0 passed, 1 failed'
BATON_TEST_LIMIT=1 expect 1 '0 passed, 1 failed' ./hangs

# The longest begin first, the others as they come.
mkdir -p redis unit scripts
for name in unit/test_date redis/test_inbox unit/test_fields scripts/test_costs; do
    program $name 0 '[  PASSED  ] 1 test(s).'
done
order=$(BATON_TEST_JOBS=1 "$runner" unit/test_date redis/test_inbox unit/test_fields scripts/test_costs |
    awk '/passed +0 failed/ { print $1 }' | xargs)
[[ $order == "scripts/test_costs redis/test_inbox unit/test_date unit/test_fields" ]] ||
    { echo "order: $order" && exit 1; }

# What failed may pass alone, if asked for; what is found by luck may not.
once() { # NAME EXIT_CODE OUTPUT...: a program that goes wrong at first
    program "$1_again" 0 '[  PASSED  ] 3 test(s).'
    program "$1_first" "${@:2}"
    printf '#!/bin/sh\nmkdir %s.ran 2>/dev/null && exec ./%s_first\nexec ./%s_again\n' "$1" "$1" "$1" >"$1"
    chmod +x "$1"
}
once late 1 '[  PASSED  ] 2 test(s).' '[  FAILED  ] 1 test(s), listed below:'
once races 66 '[  FAILED  ] 1 test(s), listed below:' 'WARNING: ThreadSanitizer: data race'
once crashes_once 139 '[ RUN      ] one'
once leaves 1 '[  PASSED  ] 2 test(s).' '[  FAILED  ] 1 test(s), listed below:'
# shellcheck disable=SC2016 # the test that is made expands it
sed -i '2i echo "SUMMARY: AddressSanitizer: heap-use-after-free" >"$TMPDIR/log"' leaves_first
BATON_TEST_AGAIN=1 expect 1 '2 passed, 1 failed' ./leaves
BATON_TEST_AGAIN=1 expect 0 '6 passed, 0 failed' ./late ./good
BATON_TEST_AGAIN=1 expect 1 '2 passed, 1 failed' ./bad
BATON_TEST_AGAIN=1 expect 1 '0 passed, 1 failed' ./races
BATON_TEST_AGAIN=1 expect 1 '0 passed, 1 failed' ./crashes_once
rm -r late.ran
expect 1 '2 passed, 1 failed' ./late

# A leak is really found, in a program that says that all is well.
cat >leaking.c <<'END'
#include <stdio.h>
#include <stdlib.h>
static void *volatile kept;
int main(void)
{
    kept = malloc(10);
    kept = NULL;
    puts("[  PASSED  ] 1 test(s).");
    fflush(stdout);
}
END
cc -g -fsanitize=address -o leaking_address leaking.c
expect 1 '1 passed, 1 failed' ./leaking_address
if command -v valgrind >/dev/null; then
    cc -g -o leaking leaking.c
    expect 0 '1 passed, 0 failed' ./leaking
    BATON_TEST_VALGRIND=1 expect 1 '1 passed, 1 failed' ./leaking
fi
