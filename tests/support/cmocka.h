/* cmocka.h: cmocka with the headers that it wants included before it, and tests that add themselves
 * to their program. */
#ifndef BATON_TESTS_SUPPORT_CMOCKA_H
#define BATON_TESTS_SUPPORT_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* How many elements an array has, and texts with NULL behind the last. */
#define LENGTH(table) (sizeof(table) / sizeof((table)[0]))
#define LIST(...)     ((const char *const[]){__VA_ARGS__, NULL})

/* What fail_msg calls: it does not return, which older headers do not say. */
void _fail(const char *const file, const int line) __attribute__((noreturn)); /* NOLINT */

/* A test: TEST(name) { ... }, where `state` is what the setup has put there. TEST_WITH has a setup
 * and a teardown of its own, or NULL. */
#define TEST(name) TEST_WITH(name, NULL, NULL)
#define TEST_WITH(name, setup, teardown)                                                           \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void add_##name(void)                                      \
    {                                                                                              \
        tests_add((struct CMUnitTest){#name, name, setup, teardown, NULL}, __LINE__);              \
    }                                                                                              \
    static void name(void **state __attribute__((unused)))

/* The same with what `state` has as a parameter: TEST_ON(struct world *world, name, setup,
 * teardown). For macros of a fixture, such as TEST_ON_STAGE. */
#define TEST_ON(fixture, name, setup, teardown)                                                    \
    static void name##_on(fixture) __attribute__((nonnull));                                       \
    TEST_WITH(name, setup, teardown)                                                               \
    {                                                                                              \
        name##_on(*state);                                                                         \
    }                                                                                              \
    static void name##_on(fixture __attribute__((unused)))

/* Adds a test. They run in the order of their lines. */
void tests_add(struct CMUnitTest test, int line);

/* The main of a program whose tests share a setup and a teardown, which may be NULL. A program
 * without either has it from tests/support/main.c. */
#define RUN_TESTS(setup, teardown)                                                                 \
    int main(void)                                                                                 \
    {                                                                                              \
        return tests_run(setup, teardown);                                                         \
    }

/* Runs the tests; if BATON_TEST is set, those alone whose name fits its pattern. Returns what main
 * returns. */
int tests_run(CMFixtureFunction setup, CMFixtureFunction teardown);

/* A text that is missing fails the test. cmocka's own would crash it. */
static inline void texts_are_equal(const char *a, const char *b, const char *what, const char *file,
                                   int line)
{
    if (!a || !b) {
        print_error("%s: %s is NULL\n", what, a ? "the second" : "the first");
        _fail(file, line);
    }
    _assert_string_equal(a, b, file, line);
}
#undef assert_string_equal
#define assert_string_equal(a, b) texts_are_equal(a, b, #a ", " #b, __FILE__, __LINE__)

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
