#!/bin/bash
# A runner that overlooks a failure would make every other test worthless.
set -euo pipefail
runner=$PWD/tests/run.sh steps=$PWD/tests/steps.sh
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

ok() { # NAME...: what cmocka says of tests that pass
    printf '[       OK ] %s\n' "$@"
}

program good 0 '[==========] Running 3 test(s).' "$(ok a b c)" '[  PASSED  ] 3 test(s).'
program two_groups 0 "$(ok a b c)" '[  PASSED  ] first: 3 test(s).' "$(ok d e f g)" '[  PASSED  ] 4 test(s).'
program bad 134 "$(ok a b)" '[ RUN      ] c'
program bad_in_the_end 1 "$(ok a b)" '[  FAILED  ] c' '[  FAILED  ] 1 test(s), listed below:' '[  FAILED  ] c'
program skipped 0 "$(ok a b)" '[  SKIPPED ] c' '[  SKIPPED ] 1 test(s), listed below:' '[  SKIPPED ] c'
program leaks 23 "$(ok a b)"
program leaks_at_last 0 "$(ok a b)" '==1==ERROR: LeakSanitizer: detected memory leaks'
program ends_badly 0 "$(ok a b)" '[  FAILED  ] GROUP TEARDOWN'
program crashes 139 '[ RUN      ] one'
program silent 0 'nothing'
printf '#!/bin/sh\nexit 0\n' >good.sh
printf '#!/bin/sh\nexit 3\n' >bad.sh
printf '#!/bin/sh\nexec sleep 100\n' >hangs
chmod +x good.sh bad.sh hangs

expect 0 '3 passed, 0 failed' ./good
expect 0 '11 passed, 0 failed' ./good ./two_groups ./good.sh
expect 1 '5 passed, 1 failed' ./bad ./good
expect 1 '2 passed, 1 failed' ./bad_in_the_end
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
mkdir -p redis unit cli
for name in unit/test_date cli/test_run unit/test_fields redis/test_inbox; do
    program $name 0 "$(ok a)"
done
order=$(BATON_TEST_JOBS=1 "$runner" unit/test_date cli/test_run unit/test_fields redis/test_inbox |
    awk '/passed +0 failed/ { print $1 }' | xargs)
[[ $order == "redis/test_inbox cli/test_run unit/test_date unit/test_fields" ]] ||
    { echo "order: $order" && exit 1; }

# Where the processors have no room, half of the programs run at a time.
for number in {1..6}; do
    printf '#!/bin/sh\necho 1 >>begun\nsleep 0.3\necho -1 >>begun\n' >"at_once$number.sh"
done
chmod +x at_once*.sh
busy=()
for ((i = 0; i < 2 * $(nproc); i++)); do
    timeout 60 yes >/dev/null &
    busy+=("$!")
done
BATON_TEST_JOBS=4 expect 0 '6 passed, 0 failed' ./at_once*.sh
kill "${busy[@]}"
[[ $(awk '{ running += $1; if (running > most) most = running } END { print most }' begun) == 2 ]] ||
    { echo "begun: $(xargs <begun)" && exit 1; }

# The first failed assertion ends its program, and what it says is read.
cat >fails.c <<'END'
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
static void passes(void **state) { (void)state; }
static void fails(void **state) { (void)state; assert_int_equal(1, 2); }
int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(passes), cmocka_unit_test(fails), cmocka_unit_test(passes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
END
cc -o fails fails.c -lcmocka
expect 1 '1 passed, 1 failed' ./fails
said=$("$runner" ./fails) || true
grep -q 'fails.c:7: error' <<<"$said" || { echo "it does not say what failed: $said" && exit 1; }

# What failed is told once more behind all steps: by the test, or by the end of a step that ran none.
said=$(bash -c '. "$1"; step tests "$2" ./good ./fails; step other seq --no-such; step good true;
    steps_close' - "$steps" "$runner" | sed -n '/^\*\*\*\* failed/,$p') || true
for line in '**** failed: tests' '---- fails: exit' 'fails.c:7: error' '**** failed: other' 'seq: ' '4 passed, 2 failed'; do
    grep -qF -- "$line" <<<"$said" || { echo "no '$line' in: $said" && exit 1; }
done
! grep -q '^---- good' <<<"$said" || { echo "it calls good failed: $said" && exit 1; }

# A leak is really found, in a program that says that all is well.
cat >leaking.c <<'END'
#include <stdio.h>
#include <stdlib.h>
static void *volatile kept;
int main(void)
{
    for (int i = 0; i < 100; i++) /* of one a pointer may be left by chance, on the stack or in a register */
        kept = malloc(10);
    kept = NULL;
    puts("[       OK ] one");
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
