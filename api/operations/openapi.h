/* openapi.h: openapi.yaml, embedded when building. */
#ifndef BATON_API_OPERATIONS_OPENAPI_H
#define BATON_API_OPERATIONS_OPENAPI_H

#include <stddef.h>

extern const char openapi_yaml[]; /* NUL-terminated */
extern const size_t openapi_yaml_length;

#endif
