/* fuzz.h: what all fuzz targets share: the entry point of libFuzzer, claims that must hold whatever
 * comes in, and a clock and randomness that only move when they are told to. */
#ifndef BATON_TESTS_FUZZ_FUZZ_H
#define BATON_TESTS_FUZZ_FUZZ_H

#include "base/slice.h"

#include <stdint.h>
#include <stdnoreturn.h>

/* A target is one function: it gives the input to what is fuzzed, and claims what must be true of
 * the outcome. Always returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Ends the process, as a finding, where it is not true. */
#define CLAIM(truth) ((truth) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #truth))
noreturn void fuzz_fail(const char *file, int line, const char *claim);

/* The monotonic clock stands still in a fuzz target; this moves it. */
void fuzz_pass(uint64_t ms);

/* From here on the kernel's randomness is the same as after every other call. */
void fuzz_begin(void);

/* The bytes up to the next `mark`, cut off the front of `rest` together with it; all of them where
 * there is none. */
struct slice fuzz_cut(struct slice *rest, char mark);

/* A copy as a C string, cut at a NUL as C strings are, of the caller's to free: so that a read
 * behind its end is found. */
char *fuzz_text(struct slice text);

#endif
