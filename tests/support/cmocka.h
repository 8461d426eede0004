/* cmocka.h: cmocka with the headers that it wants included before it. */
#ifndef BATON_TESTS_SUPPORT_CMOCKA_H
#define BATON_TESTS_SUPPORT_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* What fail_msg calls: it does not return, which older headers do not say. */
void _fail(const char *const file, const int line) __attribute__((noreturn)); /* NOLINT */

#endif
