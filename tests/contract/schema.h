/* schema.h: holds a JSON value against a JSON Schema, for the keywords that openapi.yaml uses. */
#ifndef BATON_TESTS_CONTRACT_SCHEMA_H
#define BATON_TESTS_CONTRACT_SCHEMA_H

#include "base/failure.h"

#include <jansson.h>
#include <stdbool.h>

/* `root` is the document in which a $ref ("#/components/...") is looked up. All return true, or
 * else false and a failure that says where and why. Annotations (description, default, format...)
 * decide nothing; a pattern may use only what POSIX and JavaScript read alike. */

/* Whether every keyword in the schema, and in all it refers to, is known here and well formed. A
 * schema that passes is never skipped over in part. */
bool schema_is_supported(const json_t *root, const json_t *schema, struct failure *failure);

/* Whether the schema, which has to be supported, allows the value. */
bool schema_accepts(const json_t *root, const json_t *schema, const json_t *value,
                    struct failure *failure);

/* Whether the schema names every member of every object in the value, which it has to accept: what
 * JSON Schema calls unevaluatedProperties: false. For replies, which may grow, but not in secret.
 */
bool schema_names_all(const json_t *root, const json_t *schema, const json_t *value,
                      struct failure *failure);

/* What a $ref leads to; `node` itself where it has none; NULL where there is nothing. */
const json_t *schema_resolve(const json_t *root, const json_t *node);

#endif
