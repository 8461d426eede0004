/* service_links.h: recognizes variables with the addresses of a container's neighbours, which look
 * like settings if a neighbour is called baton-something. */
#ifndef BATON_SERVER_SETTINGS_SERVICE_LINKS_H
#define BATON_SERVER_SETTINGS_SERVICE_LINKS_H

#include <stdbool.h>

/* Whether the variable is one that Kubernetes sets for each Service (BATON_REDIS_PORT is
 * tcp://10.0.0.7:6379 for one called baton-redis), or docker for each --link. Judges by the end of
 * its name and the form of its value, since a setting may have such a name. */
bool service_links_have(const char *variable, const char *value);

#endif
