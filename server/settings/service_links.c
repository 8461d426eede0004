#include "server/settings/service_links.h"

#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

static bool is_anything(const char *value)
{
    (void)value;
    return true;
}

static bool is_number(const char *value)
{
    return value[0] && value[strspn(value, "0123456789")] == '\0';
}

/* An IPv4 or an IPv6 address. */
static bool is_address(const char *value)
{
    return strpbrk(value, ".:") && value[strspn(value, "0123456789abcdefABCDEF.:")] == '\0';
}

static bool is_protocol(const char *value)
{
    return strcmp(value, "tcp") == 0 || strcmp(value, "udp") == 0 || strcmp(value, "sctp") == 0;
}

/* tcp://10.0.0.7:6379 */
static bool is_endpoint(const char *value)
{
    return strncmp(value, "tcp://", 6) == 0 || strncmp(value, "udp://", 6) == 0 ||
           strncmp(value, "sctp://", 7) == 0;
}

/* /batond/redis: both containers of docker's --link */
static bool is_pair(const char *value)
{
    return value[0] == '/' && strchr(value + 1, '/');
}

static const struct {
    const char *name;
    bool (*fits)(const char *value);
} LINKS[] = {
    {"*_SERVICE_HOST", is_address},
    {"*_SERVICE_PORT", is_number},
    {"*_SERVICE_PORT_*", is_number},
    {"*_PORT", is_endpoint},
    {"*_PORT_[0-9]*_*P", is_endpoint},
    {"*_PORT_[0-9]*_*P_START", is_endpoint}, /* of a range of ports, in docker */
    {"*_PORT_[0-9]*_*P_END", is_endpoint},
    {"*_PORT_[0-9]*_*P_PROTO", is_protocol},
    {"*_PORT_[0-9]*_*P_ADDR", is_address},
    {"*_PORT_[0-9]*_*P_PORT*", is_number}, /* also _START and _END */
    {"*_NAME", is_pair},
    {"*_ENV_*", is_anything},
};

bool service_links_have(const char *variable, const char *value)
{
    for (size_t i = 0; i < sizeof LINKS / sizeof *LINKS; i++)
        if (fnmatch(LINKS[i].name, variable, 0) == 0 && LINKS[i].fits(value))
            return true;
    return false;
}
