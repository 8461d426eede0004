/* rules.h: the rules of checker.h, each a function over the story of one name. */
#ifndef BATON_TESTS_HISTORY_RULES_H
#define BATON_TESTS_HISTORY_RULES_H

#include "tests/history/checker.h"
#include "tests/history/story.h"

/* Notes that a rule is broken; `format` says by what. */
__attribute__((format(printf, 3, 4))) void finding(struct findings *findings, enum rule rule,
                                                   const char *format, ...);

/* What findings say of a hold or an event; valid until the same thread has asked four more times.
 */
const char *hold_text(const struct hold *hold);
const char *event_text(const struct event *event);

typedef void rule_check(const struct story *story, struct findings *findings);

/* rules_holds.c: what holds did, by their dates */
rule_check check_compatible, check_taken, check_revival, check_origin, check_releases_in_time;

/* rules_numbers.c: fences and versions */
rule_check check_fences, check_versions, check_changes;

/* rules_replies.c: what replies said of holds */
rule_check check_own_replies, check_counts, check_ttls, check_shown, check_released;

/* rules_waiting.c: who waited, and what became of it */
rule_check check_order, check_wake_ups, check_phantoms, check_waits;

#endif
