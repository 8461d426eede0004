#include "server/http/request_head.h"

#include "server/http/head_check.h"

enum { BREAK = 2 }; /* length of CR LF */

/* libmicrohttpd 0.9 ends a name or a line at a bare LF, a NUL or a fold. The texts that it hands
 * over do not show that. But they all lie in the buffer in which the request came, with delimiters
 * overwritten: so each must begin where the one before ends, and a gap is a fault. Version 1.0
 * refuses such requests itself, and uses its buffer in another way. */
struct head_layout {
    bool is_known;
    bool has_gap;
    const char *next; /* where the next text must begin */
};

struct walk {
    struct head_check check;
    struct head_layout layout;
};

bool request_head_is_0_9(void)
{
    return MHD_get_version()[0] == '0';
}

/* Version 1.0 can be as strict as we are. Version 0.9 cannot; if it refuses a request, the client
 * may get no reply, so head_check does it instead. */
int request_head_strictness(void)
{
    return request_head_is_0_9() ? 0 : 1;
}

static void head_layout_add(struct head_layout *layout, const char *begin, const char *end,
                            size_t delimiter)
{
    layout->has_gap |= begin != layout->next;
    layout->next = end + delimiter;
}

static enum MHD_Result request_head_on_field(void *context, enum MHD_ValueKind kind,
                                             const char *name, size_t name_length,
                                             const char *value, size_t value_length)
{
    struct walk *walk = context;
    (void)kind;
    head_check_field(&walk->check, (struct slice){name, name_length},
                     (struct slice){value, value_length});
    head_layout_add(&walk->layout, name, value + value_length, BREAK);
    return MHD_YES;
}

size_t request_head_length(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)
        ->header_size;
}

const char *request_head_refusal(struct MHD_Connection *connection, const char *target,
                                 const char *url, const char *method, const char *version)
{
    struct walk walk = {.layout = {.is_known = request_head_is_0_9(), .next = method}};
    head_check_begin(&walk.check, slice_of(method), slice_of(target), slice_of(version));
    head_layout_add(&walk.layout, method, method + strlen(method), 1);
    head_layout_add(&walk.layout, url, url + strlen(target), 1);
    head_layout_add(&walk.layout, version, version + strlen(version), BREAK);
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, request_head_on_field, &walk);
    head_layout_add(&walk.layout, walk.layout.next, walk.layout.next, BREAK);
    bool is_broken =
        walk.layout.has_gap || walk.layout.next != method + request_head_length(connection);
    if (!head_check_passes(&walk.check))
        return walk.check.refusal;
    if (walk.layout.is_known && is_broken)
        return "The request line or a header field has a NUL, is folded, or ends with LF alone. "
               "End "
               "every line with CR LF, and fold none.";
    return NULL;
}

const char *request_head_field_refusal(struct MHD_Connection *connection)
{
    struct walk walk = {.layout = {.next = NULL}};
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, request_head_on_field, &walk);
    return walk.check.refusal;
}
