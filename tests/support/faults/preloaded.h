/* preloaded.h: builds a library of preload/, which stands in front of the C library of a program.
 */
#ifndef BATON_TESTS_SUPPORT_FAULTS_PRELOADED_H
#define BATON_TESTS_SUPPORT_FAULTS_PRELOADED_H

/* Compiles preload/SOURCE by $CC, which may be two words, into `library`, with a log in `dir`.
 * Fails the test if it cannot. */
void preloaded_build(const char *source, const char *library, const char *dir);

#endif
