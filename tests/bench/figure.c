#include "tests/bench/figure.h"

#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 3, 0))) static void print(double value, const char *unit,
                                                        const char *what, va_list rest)
{
    printf("  ");
    vprintf(what, rest);
    printf(": %.*f%s%s", value < 100 && value != (double)(long)value ? 2 : 0, value,
           *unit ? " " : "", unit);
}

void figure_plain(double value, const char *unit, const char *what, ...)
{
    va_list rest;
    va_start(rest, what);
    print(value, unit, what, rest);
    va_end(rest);
    puts("");
    fflush(stdout);
}

void figure_record(const char *name, const char *unit, double value)
{
    printf("%s\t%s\t%.10g\n", name, unit, value);
}

void figure_at_most(struct figures *figures, double value, const char *unit, double bound,
                    const char *what, ...)
{
    va_list rest;
    va_start(rest, what);
    print(value, unit, what, rest);
    va_end(rest);
    bool missed = !(value <= bound);
    printf(" (asked: at most %g)%s\n", bound, missed ? " MISSED" : "");
    fflush(stdout);
    figures->missed += missed;
}
