/* checker.h: holds a recorded history against what Baton promises: holds that go together, numbers
 * that only grow, and tokens that work once and for their own hold alone. */
#ifndef BATON_TESTS_HISTORY_CHECKER_H
#define BATON_TESTS_HISTORY_CHECKER_H

#include "tests/history/history.h"

/* X(rule, what is wrong where it is broken) */
#define RULES(X)                                                                                   \
    X(COMPATIBLE, "two holds lived at once that do not go together")                               \
    X(WITHIN_LIMIT, "more shared holds lived at once than the limit allows")                       \
    X(FENCES_GROW, "a later grant has no greater fence")                                           \
    X(FENCES_DIFFER, "two holds have the same fence")                                              \
    X(VERSIONS_GROW, "the version went back")                                                      \
    X(CHANGES_SHOW, "something changed and the version did not")                                   \
    X(UNCHANGED_IS_TRUE, "a 304 although something changed")                                       \
    X(STAYS_TAKEN, "a name was granted though at_least of a released hold was not over")           \
    X(NO_REVIVAL, "a hold lived on after its certain end")                                         \
    X(NO_LOSS, "a hold was gone before it can have ended")                                         \
    X(NO_SECOND_HOLD, "a repeated acquire got another hold while the first one lived")             \
    X(ONE_USE, "a token was taken for another use than its own, or refused for its own")           \
    X(OWN_RELEASE, "a release ended the hold of another token")                                    \
    X(SAME_RELEASE, "a repeated release answered otherwise")                                       \
    X(STAYS_RELEASED, "a token that was released locked again, or was forgotten")                  \
    X(HOLDS_COUNTED, "an owner was told a number of holds that it cannot have")                    \
    X(TTL_AS_ASKED, "a TTL is not what was asked for")                                             \
    X(ASKED_FOR, "a hold that nobody asked for")                                                   \
    X(SHOWN_LIVES, "the holds shown to others cannot all be there, or one is missing")             \
    X(REFUSED_WITH_CAUSE, "a refusal without a cause")                                             \
    X(IN_ORDER, "a later arrival was granted the lock before one that waited")                     \
    X(NO_LOST_WAKE_UP, "the lock was free, and who waited for it did not get it")                  \
    X(NO_PHANTOM, "a hold of which no client can know")                                            \
    X(WAITS_AS_ASKED, "a wait ended before its time, or a grant came after it")                    \
    X(EXPECTED_REPLY, "a reply of a kind that cannot be")

enum rule {
#define X(rule, text) rule,
    RULES(X)
#undef X
        RULE_COUNT
};

enum { FINDING_TEXT = 400 };

struct findings {
    size_t total;
    size_t count[RULE_COUNT];
    char first[RULE_COUNT][FINDING_TEXT]; /* the first case of each, "" where there is none */
};

/* Checks a whole history: `events` of any number of names, in any order. Keeps nothing of it. */
void history_check_on(const struct terms *terms, const struct event *events, size_t count,
                      struct findings *ret);

/* The same for servers with the usual settings, undisturbed. */
void history_check(const struct event *events, size_t count, struct findings *ret);

/* "" where nothing was found; else a line for each broken rule. To be freed. */
char *findings_text(const struct findings *findings);

/* How a rule is called. */
const char *rule_name(enum rule rule);

#endif
