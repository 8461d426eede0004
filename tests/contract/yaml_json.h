/* yaml_json.h: YAML as JSON values, plain scalars read by YAML's core schema. */
#ifndef BATON_TESTS_CONTRACT_YAML_JSON_H
#define BATON_TESTS_CONTRACT_YAML_JSON_H

#include "base/failure.h"

#include <jansson.h>
#include <stddef.h>

/* One document. Returns a new reference, or NULL with a failure that names the line: bad YAML, a
 * key twice or not a scalar, an alias (nothing here needs one), a float that JSON does not have. */
json_t *yaml_json_parse(const char *text, size_t length, struct failure *failure);

#endif
