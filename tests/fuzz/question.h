/* question.h: a request as the API gets it, and how a fuzz input writes it down in one line. */
#ifndef BATON_TESTS_FUZZ_QUESTION_H
#define BATON_TESTS_FUZZ_QUESTION_H

#include "base/slice.h"

/* The texts are its own. */
struct question {
    char *method;
    char *target;
    char *accept; /* header fields; NULL where absent */
    char *authorization;
    char *lock_token;
    char *if_none_match;
    char *last_event_id;
    char *body;
    size_t body_length; /* 0: none */
};

/* Reads METHOD TARGET [@ACCEPT] [#LOCK-TOKEN] [=IF-NONE-MATCH] [+LAST-EVENT-ID] [!AUTHORIZATION]
 * [BODY], of which only the body may hold spaces; a / in the authorization stands for one. */
void question_read(struct slice text, struct question *ret);

/* Frees the texts. */
void question_clear(struct question *question);

#endif
