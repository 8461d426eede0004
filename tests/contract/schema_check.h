/* schema_check.h: what the three questions of schema.h have in common. */
#ifndef BATON_TESTS_CONTRACT_SCHEMA_CHECK_H
#define BATON_TESTS_CONTRACT_SCHEMA_CHECK_H

#include "tests/contract/schema.h"

enum { SCHEMA_MAX_DEPTH = 64 }; /* of schemas inside one another */

/* What a keyword's own value has to be. */
enum shape {
    SHAPE_ANY,
    SHAPE_TEXT,
    SHAPE_NUMBER,
    SHAPE_COUNT,
    SHAPE_FLAG,
    SHAPE_LIST,
    SHAPE_NAMES,
    SHAPE_TYPES,
    SHAPE_PATTERN,
    SHAPE_REFERENCE,
    SHAPE_SCHEMA,
    SHAPE_SCHEMA_LIST,
    SHAPE_SCHEMA_OBJECT,
};

struct check;

struct keyword {
    const char *name;
    enum shape shape;
    /* Whether the value passes; NULL: an annotation, which decides nothing. */
    bool (*check)(struct check *check, const json_t *argument, const json_t *value);
    /* What a bound is held against; false where the bound means nothing to such a value. */
    bool (*measure)(const json_t *value, double *ret);
};

/* One look at one value. */
struct check {
    const json_t *root;
    struct failure *failure;
    const json_t *schema;          /* the one whose keyword is asked */
    const struct keyword *keyword; /* that keyword */
    int depth;
    char at[160]; /* the path to where we are, in the value or in the schema */
};

/* NULL where there is none of that name. */
const struct keyword *schema_keyword(const char *name);

bool schema_check_accepts(struct check *check, const json_t *schema, const json_t *value);

/* Sets the failure, with where we are, the reason and `what` (may be NULL). Returns false. */
bool schema_check_refuse(struct check *check, const char *reason, const json_t *what);

typedef bool schema_visit(struct check *check, const json_t *schema, const json_t *value);

/* Visits one step down, at a member or at an index. */
bool schema_check_below(struct check *check, const char *step, schema_visit *visit,
                        const json_t *schema, const json_t *value);
bool schema_check_below_index(struct check *check, size_t i, schema_visit *visit,
                              const json_t *schema, const json_t *value);

#endif
