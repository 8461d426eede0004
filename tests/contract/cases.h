/* cases.h: requests that provoke every reply that openapi.yaml promises. */
#ifndef BATON_TESTS_CONTRACT_CASES_H
#define BATON_TESTS_CONTRACT_CASES_H

#include <stdbool.h>
#include <stddef.h>

enum { CASE_BEFORE = 3 };

#define CASE_TOKEN "contract-test-token-one"

/* What the batond that is asked is in the midst of. */
enum condition {
    USUALLY,
    WITHOUT_REDIS,
    DRAINING,
    STUCK,       /* another worker is */
    ALONE,       /* Redis has no replica, and one is to confirm */
    IN_QUORUM,   /* whose members are away */
    QUARANTINED, /* Redis may have lost locks */
};

/* Requests read as HTTP does: method and path, headers, an empty line, the body. */
struct contract_case {
    const char *reply; /* operationId, status and, of a problem, the code */
    const char *request;
    const char *before[CASE_BEFORE]; /* what has to succeed first, or to wait in vain */
    const char *meanwhile;           /* sent with CASE_TOKEN once the request is queued */
    bool too_large;                  /* 64 KiB of spaces follow the body */
    enum condition condition;
};

extern const struct contract_case CASES[];
extern const size_t CASE_COUNT;

#endif
