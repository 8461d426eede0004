#!/bin/bash
# Runs a program under valgrind's memcheck, which writes to $BATON_VALGRIND_LOGS; `make test
# VALGRIND=1` runs the tests and batond so.
#   tests/valgrind.sh PROGRAM [ARGUMENT]...
# batond has a free of its own (base/heap.c), which is to be valgrind's like the C library's.
exec valgrind --leak-check=full --errors-for-leak-kinds=definite --show-leak-kinds=definite \
    --error-exitcode=99 --child-silent-after-fork=yes --num-callers=30 \
    --soname-synonyms=somalloc=NONE \
    --log-file="${BATON_VALGRIND_LOGS:-/tmp}/memcheck.%p" "$@"
