/* cmocka.h: cmocka with the headers that it wants included before it. */
#ifndef BATON_TESTS_SUPPORT_CMOCKA_H
#define BATON_TESTS_SUPPORT_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
