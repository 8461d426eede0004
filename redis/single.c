/* One Redis: every answer is the plain one. */
#include "redis/kind.h"
#include "redis/node/preflight.h"

const struct kind single_kind = {.preflight = preflight_server};
