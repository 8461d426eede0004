/* spec.h: openapi.yaml, as the contract test asks it. */
#ifndef BATON_TESTS_CONTRACT_SPEC_H
#define BATON_TESTS_CONTRACT_SPEC_H

#include <jansson.h>
#include <stddef.h>

enum { SPEC_OPERATIONS_MAX = 32 };

struct spec_operation {
    const char *id;       /* its operationId */
    const char *path;     /* "/locks/{name}" */
    char method[8];       /* "POST" */
    const json_t *node;   /* what the document says of it */
    const json_t *shared; /* the parameters of its path; NULL where there are none */
};

/* All that is pointed to lives as long as the spec. */
struct spec {
    json_t *root;
    char *text;
    size_t length;
    struct spec_operation operations[SPEC_OPERATIONS_MAX];
    size_t operation_count;
};

/* Reads openapi.yaml of the working directory, the repository's root. Fails the test if it cannot.
 */
void spec_load(struct spec *spec);

void spec_free(struct spec *spec);

/* NULL where there is none of that id. */
const struct spec_operation *spec_operation(const struct spec *spec, const char *id);

/* What the operation says of a status, $ref resolved; NULL where it says nothing. */
const json_t *spec_response(const struct spec *spec, const struct spec_operation *operation,
                            long status);

/* What the operation says of a reply of this status and media type: under `content` of the
 * response, or, for what a request has to ask for, under `x-content-on-request` of the operation.
 * NULL where it says nothing. */
const json_t *spec_content(const struct spec *spec, const struct spec_operation *operation,
                           long status, const char *type);

/* A new array: the operation's parameters, its path's included, $ref resolved. */
json_t *spec_parameters(const struct spec *spec, const struct spec_operation *operation);

/* A new object: every `code` that a problem of this schema may have, each with its `status`. */
json_t *spec_codes(const struct spec *spec, const json_t *schema);

/* Whatever has a schema: a parameter, a header, a body. `where` is the path to it. */
typedef void spec_visit(const struct spec *spec, const char *where, const json_t *carrier);

void spec_each_schema_carrier(const struct spec *spec, spec_visit *visit);

/* A new object: the example or the examples of a schema's carrier, by name. */
json_t *spec_examples(const json_t *carrier);

/* The document as a fixture of cmocka: *state is it. */
int spec_start(void **state);
int spec_stop(void **state);

#endif
