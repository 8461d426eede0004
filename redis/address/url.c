#include "redis/address/url.h"

#include "base/host_name.h"
#include "base/memory.h"
#include "base/slice.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

enum {
    DEFAULT_PORT = 6379,
    SENTINEL_PORT = 26379,
    LARGEST_PORT = 65535,
    LARGEST_DATABASE = 999999,
    LONGEST_MASTER = 100,
};

static const char SENTINEL_FORM[] = "redis+sentinel://host:26379,host:26379/MASTER/0";

static const char ENCODE_HINT[] =
    "Percent-encode special characters in user, password and path (@ as %40, / as %2F).";

static int url_hex_digit(char digit)
{
    static const char DIGITS[] = "0123456789abcdef";
    const char *found = digit ? strchr(DIGITS, digit | 0x20) : NULL;
    return found ? (int)(found - DIGITS) : -1;
}

/* Returns a copy without percent-encoding, for free(3); NULL if the encoding is broken or gives a
 * NUL. */
static char *url_decode(struct slice text)
{
    char *decoded = memory_checked(malloc(text.length + 1));
    size_t length = 0;
    for (size_t i = 0; i < text.length; i++) {
        char byte = text.bytes[i];
        if (byte == '%') {
            int high = i + 1 < text.length ? url_hex_digit(text.bytes[i + 1]) : -1;
            int low = i + 2 < text.length ? url_hex_digit(text.bytes[i + 2]) : -1;
            byte = high < 0 || low < 0 ? '\0' : (char)(high * 16 + low);
            i += 2;
        }
        if (byte == '\0') {
            explicit_bzero(decoded, length);
            free(decoded);
            return NULL;
        }
        decoded[length++] = byte;
    }
    decoded[length] = '\0';
    return decoded;
}

/* Cuts the part before the first (or last) `mark`, and the mark, off `text`. Returns false and
 * leaves `text` alone if it has no mark. */
static bool url_cut_before(struct slice *text, char mark, bool last, struct slice *ret)
{
    const char *found = NULL;
    if (text->length > 0)
        found = last ? memrchr(text->bytes, mark, text->length)
                     : memchr(text->bytes, mark, text->length);
    if (!found)
        return false;
    size_t length = (size_t)(found - text->bytes);
    *ret = (struct slice){text->bytes, length};
    *text = (struct slice){found + 1, text->length - length - 1};
    return true;
}

static bool url_read_number(struct slice text, int largest, int *ret)
{
    int number = 0;
    if (text.length == 0)
        return false;
    for (size_t i = 0; i < text.length; i++) {
        if (text.bytes[i] < '0' || text.bytes[i] > '9')
            return false;
        number = number * 10 + (text.bytes[i] - '0');
        if (number > largest)
            return false;
    }
    *ret = number;
    return true;
}

static int url_read_login(struct slice login, struct redis_url *url, struct failure *failure)
{
    struct slice user;
    if (!url_cut_before(&login, ':', false, &user))
        return failure_set(
            failure, -EINVAL,
            "redis-url has a user without a password. Write user:password@ (or :password@ for the "
            "default user), or give --redis-user and --redis-password instead.");
    url->password = url_decode(login);
    if (user.length > 0)
        url->user = url_decode(user);
    if (!url->password || (user.length > 0 && !url->user))
        return failure_set(failure, -EINVAL,
                           "redis-url has a broken percent-encoding in user or password. %s",
                           ENCODE_HINT);
    if (!url->user && url->password[0] == '\0') {
        free(url->password);
        url->password = NULL;
    }
    return 0;
}

/* For hosts, and for the names of primaries: Sentinel's own documentation allows these. */
static bool url_is_name_byte(char byte)
{
    static const char PLAIN[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    return byte != '\0' && strchr(PLAIN, byte);
}

static bool url_is_host_byte(char byte, bool bracketed)
{
    return url_is_name_byte(byte) || (bracketed && (byte == ':' || byte == '%'));
}

static int url_read_host(struct slice host, bool bracketed, struct redis_node *node,
                         struct failure *failure)
{
    if (host.length == 0)
        return failure_set(failure, -EINVAL,
                           "redis-url names no host. Write redis://host:6379/0 or %s",
                           SENTINEL_FORM);
    bool is_good =
        host.length <= REDIS_HOST_LONGEST && (!bracketed || memchr(host.bytes, ':', host.length));
    for (size_t i = 0; is_good && i < host.length; i++)
        is_good = url_is_host_byte(host.bytes[i], bracketed);
    if (!is_good)
        return failure_set(failure, -EINVAL,
                           "redis-url has a host that is neither a name nor an address (write an "
                           "IPv6 address in brackets). %s",
                           ENCODE_HINT);
    node->host = memory_checked(strndup(host.bytes, host.length));
    return 0;
}

static int url_read_port(struct slice port, struct redis_node *node, struct failure *failure)
{
    if (!url_read_number(port, LARGEST_PORT, &node->port) || node->port == 0)
        return failure_set(failure, -EINVAL,
                           "redis-url has a port that is not a number from 1 to %d. %s",
                           LARGEST_PORT, ENCODE_HINT);
    return 0;
}

/* host[:port] */
static int url_read_place(struct slice place, struct redis_node *node, struct failure *failure)
{
    struct slice host = place;
    struct slice port = {NULL, 0};
    bool bracketed = place.length > 0 && place.bytes[0] == '[';
    if (bracketed) {
        struct slice rest = {place.bytes + 1, place.length - 1};
        if (!url_cut_before(&rest, ']', false, &host) || (rest.length > 0 && rest.bytes[0] != ':'))
            return failure_set(failure, -EINVAL,
                               "redis-url has an IPv6 address without brackets around it. Write "
                               "[address] or [address]:port.");
        if (rest.length > 0)
            port = (struct slice){rest.bytes + 1, rest.length - 1};
    } else if (url_cut_before(&place, ':', true, &host)) {
        port = place;
    }
    int result = url_read_host(host, bracketed, node, failure);
    if (result == 0 && port.bytes)
        result = url_read_port(port, node, failure);
    return result;
}

static int url_read_database(struct slice database, struct redis_url *url, struct failure *failure)
{
    if (database.length > 0 && !url_read_number(database, LARGEST_DATABASE, &url->database))
        return failure_set(failure, -EINVAL, "redis-url has a database that is not a number. %s",
                           ENCODE_HINT);
    return 0;
}

/* Cuts the part before the first slash off `rest`, and reads [user:password@] from it. */
static int url_read_authority(struct slice *rest, struct slice *ret_place, struct redis_url *url,
                              struct failure *failure)
{
    struct slice login;
    if (!url_cut_before(rest, '/', false, ret_place)) {
        *ret_place = *rest;
        *rest = (struct slice){NULL, 0};
    }
    return url_cut_before(ret_place, '@', true, &login) ? url_read_login(login, url, failure) : 0;
}

/* [user:password@]host[:port][/db] */
static int url_read_network(struct slice rest, struct redis_url *url, struct failure *failure)
{
    struct slice place;
    struct redis_node node = {NULL, DEFAULT_PORT};
    int result = url_read_authority(&rest, &place, url, failure);
    if (result == 0)
        result = url_read_place(place, &node, failure);
    url->host = node.host;
    url->port = node.port;
    if (result == 0)
        result = url_read_database(rest, url, failure);
    return result;
}

/* [user:password@]host[:port][,host[:port]]…, cut off `rest` up to the first slash. */
static int url_read_nodes(struct slice *rest, int port, struct redis_url *url,
                          struct failure *failure)
{
    struct slice places;
    int result = url_read_authority(rest, &places, url, failure);
    if (result < 0)
        return result;
    url->nodes = memory_checked(calloc(REDIS_NODES_MOST, sizeof url->nodes[0]));
    bool more = true;
    while (more && result == 0) {
        struct slice place = places;
        more = url_cut_before(&places, ',', false, &place);
        if (url->node_count == REDIS_NODES_MOST)
            return failure_set(failure, -EINVAL,
                               "redis-url names more than %d hosts. Name a few: batond learns the "
                               "others from them.",
                               REDIS_NODES_MOST);
        struct redis_node *node = &url->nodes[url->node_count++];
        node->port = port;
        result = url_read_place(place, node, failure);
    }
    return result;
}

static bool url_is_master_name(struct slice name)
{
    for (size_t i = 0; i < name.length; i++)
        if (!url_is_name_byte(name.bytes[i]))
            return false;
    return name.length > 0 && name.length <= LONGEST_MASTER;
}

static int url_read_master(struct slice name, struct redis_url *url, struct failure *failure)
{
    if (!name.bytes || !url_is_master_name(name))
        return failure_set(
            failure, -EINVAL,
            "redis-url does not have the name that the sentinels give the primary (the NAME of "
            "their `sentinel monitor NAME …`, of letters, digits and ._-). Write %s",
            SENTINEL_FORM);
    url->master = memory_checked(strndup(name.bytes, name.length));
    return 0;
}

/* [user:password@]host[:port][,host[:port]]…/MASTER[/db] */
static int url_read_sentinels(struct slice rest, struct redis_url *url, struct failure *failure)
{
    struct slice master;
    url->kind = REDIS_WATCHED;
    int result = url_read_nodes(&rest, SENTINEL_PORT, url, failure);
    if (!url_cut_before(&rest, '/', false, &master)) {
        master = rest;
        rest = (struct slice){NULL, 0};
    }
    if (result == 0)
        result = url_read_master(master, url, failure);
    return result < 0 ? result : url_read_database(rest, url, failure);
}

/* [user:password@]host[:port][,host[:port]]…[/0] */
static int url_read_cluster(struct slice rest, struct redis_url *url, struct failure *failure)
{
    url->kind = REDIS_CLUSTER;
    int result = url_read_nodes(&rest, DEFAULT_PORT, url, failure);
    if (result == 0)
        result = url_read_database(rest, url, failure);
    if (result == 0 && url->database != 0)
        return failure_set(failure, -EINVAL,
                           "redis-url asks for database %d, but a Redis Cluster has only database "
                           "0. Leave the number out.",
                           url->database);
    return result;
}

static bool url_is_same_node(const struct redis_node *one, const struct redis_node *other)
{
    return one->port == other->port && host_names_equal(slice_of(one->host), slice_of(other->host));
}

/* An even number of members tolerates no more losses than one member fewer. */
static int url_check_members(const struct redis_url *url, struct failure *failure)
{
    if (url->node_count < REDIS_QUORUM_LEAST || url->node_count > REDIS_QUORUM_MOST ||
        url->node_count % 2 == 0)
        return failure_set(
            failure, -EINVAL,
            "redis-url names %zu servers for a quorum. Name an odd number from %d to %d.",
            url->node_count, REDIS_QUORUM_LEAST, REDIS_QUORUM_MOST);
    for (size_t i = 0; i < url->node_count; i++)
        for (size_t j = 0; j < i; j++)
            if (url_is_same_node(&url->nodes[i], &url->nodes[j]))
                return failure_set(failure, -EINVAL,
                                   "redis-url names one server of the quorum twice: members %zu "
                                   "and %zu have the same address. Name each server once.",
                                   j + 1, i + 1);
    return 0;
}

/* [user:password@]host[:port],host[:port]…[/db] */
static int url_read_quorum(struct slice rest, struct redis_url *url, struct failure *failure)
{
    url->kind = REDIS_QUORUM;
    int result = url_read_nodes(&rest, DEFAULT_PORT, url, failure);
    if (result == 0)
        result = url_check_members(url, failure);
    return result < 0 ? result : url_read_database(rest, url, failure);
}

static int url_read_path(struct slice path, struct redis_url *url, struct failure *failure)
{
    struct sockaddr_un address;
    url->path = url_decode(path);
    if (!url->path)
        return failure_set(failure, -EINVAL,
                           "redis-url has a broken percent-encoding in its path. %s", ENCODE_HINT);
    if (url->path[0] != '/' || strlen(url->path) < 2)
        return failure_set(failure, -EINVAL,
                           "redis-url names no socket. Write unix:///path/to/redis.sock");
    if (strlen(url->path) >= sizeof address.sun_path)
        return failure_set(failure, -EINVAL,
                           "redis-url has a path of more than %zu bytes, too long for a Unix "
                           "socket. Use a shorter path.",
                           sizeof address.sun_path - 1);
    return 0;
}

/* [user:password@]/path[?db=N] */
static int url_read_unix(struct slice rest, struct redis_url *url, struct failure *failure)
{
    struct slice path, login;
    struct slice front = rest;
    int result = 0;
    if (rest.length > 0 && rest.bytes[0] != '/' && url_cut_before(&front, '/', false, &login)) {
        if (login.length == 0 || login.bytes[login.length - 1] != '@')
            return failure_set(
                failure, -EINVAL,
                "redis-url names a host for a Unix socket. Write unix:///path/to/redis.sock. %s",
                ENCODE_HINT);
        login.length--;
        result = url_read_login(login, url, failure);
        rest = (struct slice){front.bytes - 1, front.length + 1};
    }
    if (result < 0)
        return result;
    if (url_cut_before(&rest, '?', false, &path)) {
        if (rest.length < 4 || memcmp(rest.bytes, "db=", 3) != 0)
            return failure_set(failure, -EINVAL, "redis-url may have only ?db=N after the path. %s",
                               ENCODE_HINT);
        result = url_read_database((struct slice){rest.bytes + 3, rest.length - 3}, url, failure);
    } else {
        path = rest;
    }
    return result < 0 ? result : url_read_path(path, url, failure);
}

/* One row for each scheme. */
static const struct scheme {
    const char *name;
    bool tls;
    int (*read)(struct slice rest, struct redis_url *url, struct failure *failure);
} SCHEMES[] = {
    {"redis://", false, url_read_network},
    {"rediss://", true, url_read_network},
    {"unix://", false, url_read_unix},
    {"redis+sentinel://", false, url_read_sentinels},
    {"rediss+sentinel://", true, url_read_sentinels},
    {"redis+cluster://", false, url_read_cluster},
    {"rediss+cluster://", true, url_read_cluster},
    {"redis+quorum://", false, url_read_quorum},
    {"rediss+quorum://", true, url_read_quorum},
};

static int url_read_scheme(const struct scheme *scheme, struct slice rest, struct redis_url *url,
                           struct failure *failure)
{
    url->tls = scheme->tls;
    return scheme->read(rest, url, failure);
}

int redis_url_parse(const char *text, struct redis_url *ret, struct failure *failure)
{
    for (size_t i = 0; i < sizeof SCHEMES / sizeof SCHEMES[0]; i++) {
        size_t length = strlen(SCHEMES[i].name);
        if (strncasecmp(text, SCHEMES[i].name, length) != 0)
            continue;
        struct redis_url url = {.port = DEFAULT_PORT, .timeout_ms = REDIS_TIMEOUT_MS};
        int result = url_read_scheme(&SCHEMES[i], slice_of(text + length), &url, failure);
        if (result < 0)
            redis_url_free(&url);
        else
            *ret = url;
        return result;
    }
    return failure_set(failure, -EINVAL,
                       "redis-url has an unknown scheme. Begin it with redis://, rediss://, "
                       "unix://, redis+sentinel://, redis+cluster:// or redis+quorum:// (the last "
                       "three also as rediss+…).");
}
