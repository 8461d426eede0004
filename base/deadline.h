/* deadline.h: how long batond waits for a partner that does not answer. */
#ifndef BATON_BASE_DEADLINE_H
#define BATON_BASE_DEADLINE_H

#ifdef __has_feature /* clang's word for what gcc tells by a macro */
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DEADLINE_IS_LONGER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DEADLINE_IS_LONGER 1
#endif

/* Under a sanitizer everything takes several times as long, so deadlines are four times as long
 * there: only a partner that does not answer may miss them. */
#ifdef DEADLINE_IS_LONGER
enum { DEADLINE_FACTOR = 4 };
#else
enum { DEADLINE_FACTOR = 1 };
#endif

/* Milliseconds in this build. A constant expression. */
#define DEADLINE_MS(ms) (DEADLINE_FACTOR * (ms))

#endif
