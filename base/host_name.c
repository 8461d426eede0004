#include "base/host_name.h"

struct slice host_name_without_dot(struct slice name)
{
    bool has_dot = name.length > 1 && name.bytes[name.length - 1] == '.';
    return (struct slice){name.bytes, name.length - has_dot};
}

/* A name of one label is another name with a dot: resolvers append domains to `baton`, and `baton.`
 * may be a domain of the public DNS. Only localhost is the same everywhere. */
struct slice host_name_compared(struct slice name)
{
    struct slice bare = host_name_without_dot(name);
    bool has_labels = bare.length > 0 && bare.bytes[bare.length - 1] != '.' &&
                      memchr(bare.bytes, '.', bare.length);
    return has_labels || slice_alike(bare, slice_of("localhost")) ? bare : name;
}

bool host_names_equal(struct slice one, struct slice other)
{
    return slice_alike(host_name_compared(one), host_name_compared(other));
}

/* Cuts off the colon and what is behind it. The colons of an address are between brackets. */
static struct slice host_name_take_port(struct slice *authority)
{
    for (size_t i = authority->length; i-- > 0 && authority->bytes[i] != ']';)
        if (authority->bytes[i] == ':') {
            struct slice port = {authority->bytes + i, authority->length - i};
            authority->length = i;
            return port;
        }
    return (struct slice){NULL, 0};
}

bool host_authorities_equal(struct slice one, struct slice other)
{
    struct slice port = host_name_take_port(&one), other_port = host_name_take_port(&other);
    return host_names_equal(one, other) && slice_alike(port, other_port);
}
