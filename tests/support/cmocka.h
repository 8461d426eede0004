/* cmocka.h: cmocka with the headers that it wants included before it. */
#ifndef BATON_TESTS_SUPPORT_CMOCKA_H
#define BATON_TESTS_SUPPORT_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* What fail_msg calls: it does not return, which older headers do not say. */
void _fail(const char *const file, const int line) __attribute__((noreturn)); /* NOLINT */

/* Skips the test where it runs under valgrind, and says why that has to be. */
#define SKIP_UNDER_VALGRIND(why)                                                                   \
    do {                                                                                           \
        if (getenv("BATON_TEST_VALGRIND")) {                                                       \
            print_message("%s: skipped: %s\n", __func__, why);                                     \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

#ifdef __clang_analyzer__ /* tells clang-tidy that they return only where they hold */
#undef assert_true
#undef assert_non_null
#define assert_true(condition)   ((condition) ? (void)0 : _fail(__FILE__, __LINE__))
#define assert_non_null(pointer) ((pointer) ? (void)0 : _fail(__FILE__, __LINE__))
#endif

#endif
