#include "server/http/headers.h"

#include "api/http/exchange.h"

#include <strings.h>

static const struct {
    const char *name;
    size_t length;
} NAMES[HEADER_KINDS] = {
#define HEADER_NAME(kind, name) [kind] = {name, sizeof(name) - 1},
    HEADERS(HEADER_NAME)
#undef HEADER_NAME
};

static enum MHD_Result headers_on_field(void *context, enum MHD_ValueKind kind, const char *name,
                                        size_t name_length, const char *value, size_t value_length)
{
    struct headers *headers = context;
    headers->memory += EXCHANGE_FIELD_COST;
    if (kind == MHD_COOKIE_KIND) { /* a copy of its field holds it */
        headers->memory += name_length + value_length;
        return MHD_YES;
    }
    for (size_t i = 0; i < HEADER_KINDS; i++) {
        if (NAMES[i].length != name_length || strncasecmp(NAMES[i].name, name, name_length) != 0)
            continue;
        headers->last[i] = value;
        if (!headers->first[i])
            headers->first[i] = value;
        break;
    }
    return MHD_YES;
}

void headers_read(struct MHD_Connection *connection, struct headers *ret)
{
    *ret = (struct headers){.first = {NULL}};
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND | MHD_COOKIE_KIND, headers_on_field,
                                ret);
}

bool headers_repeat(const struct headers *headers, enum header_kind kind)
{
    return headers->first[kind] != headers->last[kind];
}
