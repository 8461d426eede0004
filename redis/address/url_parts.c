/* Copies a URL, derives the URL of one server from it, describes it for logs, and frees it. */
#include "redis/address/url.h"

#include "base/memory.h"
#include "base/table.h"
#include "redis/tls/trust.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every text that a URL owns, except those of its nodes. */
static const size_t TEXTS[] = {
#define AT(member) offsetof(struct redis_url, member)
    AT(path),
    AT(host),
    AT(master),
    AT(user),
    AT(password),
    AT(sentinel_user),
    AT(sentinel_password),
    AT(ca),
    AT(certificate),
    AT(key),
    AT(server_name),
#undef AT
};

static char **url_parts_text(struct redis_url *url, size_t index)
{
    return (char **)((char *)url + TEXTS[index]);
}

static char *url_parts_copy_text(const char *text)
{
    return text ? memory_checked(strdup(text)) : NULL;
}

static void url_parts_copy_nodes(const struct redis_url *url, struct redis_url *ret)
{
    if (!url->nodes)
        return;
    ret->nodes = memory_checked(calloc(url->node_count, sizeof url->nodes[0]));
    ret->node_count = url->node_count;
    for (size_t i = 0; i < url->node_count; i++)
        ret->nodes[i] =
            (struct redis_node){url_parts_copy_text(url->nodes[i].host), url->nodes[i].port};
}

void redis_url_copy(const struct redis_url *url, struct redis_url *ret)
{
    *ret = (struct redis_url){.kind = url->kind,
                              .port = url->port,
                              .database = url->database,
                              .tls = url->tls,
                              .timeout_ms = url->timeout_ms,
                              .keeps_all = url->keeps_all,
                              .trust = tls_trust_keep(url->trust)};
    url_parts_copy_nodes(url, ret);
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++)
        *url_parts_text(ret, i) =
            url_parts_copy_text(*url_parts_text((struct redis_url *)(uintptr_t)url, i));
}

void redis_url_of(const struct redis_url *url, enum redis_kind kind, const char *host, int port,
                  struct redis_url *ret)
{
    struct redis_url part = *url; /* it borrows its texts */
    part.kind = kind;
    part.nodes = NULL;
    part.node_count = 0;
    part.path = part.master = part.sentinel_user = part.sentinel_password = NULL;
    part.host = (char *)(uintptr_t)host;
    part.port = port;
    if (kind == REDIS_SENTINEL) {
        part.user = url->sentinel_user;
        part.password = url->sentinel_password;
        part.database = 0;
    }
    redis_url_copy(&part, ret);
}

static void url_parts_wipe(char *secret)
{
    if (secret)
        explicit_bzero(secret, strlen(secret));
}

void redis_url_free(struct redis_url *url)
{
    url_parts_wipe(url->password);
    url_parts_wipe(url->sentinel_password);
    for (size_t i = 0; i < url->node_count; i++)
        free(url->nodes[i].host);
    free(url->nodes);
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++)
        free(*url_parts_text(url, i));
    tls_trust_drop(url->trust);
    *url = (struct redis_url){0};
}

static void url_parts_describe_path(const struct redis_url *url, FILE *out)
{
    fprintf(out, "unix://%s", url->path);
    if (url->database)
        fprintf(out, "?db=%d", url->database);
}

static void url_parts_describe_place(const char *host, int port, FILE *out)
{
    bool bracketed = strchr(host, ':') != NULL;
    fprintf(out, "%s%s%s:%d", bracketed ? "[" : "", host, bracketed ? "]" : "", port);
}

/* Only kinds with nodes have a word. */
#define ENGINES(X)                                                                                 \
    X(REDIS_SERVER, "")                                                                            \
    X(REDIS_SENTINEL, "")                                                                          \
    X(REDIS_WATCHED, "sentinel")                                                                   \
    X(REDIS_QUORUM, "quorum")                                                                      \
    X(REDIS_NODE, "")                                                                              \
    X(REDIS_CLUSTER, "cluster")

static void url_parts_describe_nodes(const struct redis_url *url, FILE *out)
{
    static const char *const WORDS[] = {ENGINES(TABLE_ROW)};
    TABLE_IS_COMPLETE(ENGINES, REDIS_KINDS);
    fprintf(out, "%s+%s://", url->tls ? "rediss" : "redis", WORDS[url->kind]);
    for (size_t i = 0; i < url->node_count; i++) {
        fputs(i ? "," : "", out);
        url_parts_describe_place(url->nodes[i].host, url->nodes[i].port, out);
    }
    if (url->kind == REDIS_WATCHED)
        fprintf(out, "/%s", url->master);
    if (url->kind != REDIS_CLUSTER)
        fprintf(out, "/%d", url->database);
}

static void url_parts_describe_host(const struct redis_url *url, FILE *out)
{
    fputs(url->kind == REDIS_SENTINEL ? "" : url->tls ? "rediss://" : "redis://", out);
    url_parts_describe_place(url->host, url->port, out);
    if (url->kind != REDIS_SENTINEL)
        fprintf(out, "/%d", url->database);
}

void redis_url_describe(const struct redis_url *url, char *text, size_t size)
{
    FILE *out = fmemopen(text, size, "w");
    text[0] = '\0';
    if (!out)
        return;
    if (url->path)
        url_parts_describe_path(url, out);
    else if (url->host)
        url_parts_describe_host(url, out);
    else
        url_parts_describe_nodes(url, out);
    fclose(out);
    text[size - 1] = '\0';
}
