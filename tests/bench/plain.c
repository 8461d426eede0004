#include "tests/bench/plain.h"

#include <err.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

redisContext *plain_connect(const char *where)
{
    char host[64];
    const char *colon = strrchr(where, ':');
    if (where[0] != '/' && (!colon || (size_t)(colon - where) >= sizeof host))
        errx(2, "\"%s\" will not do; expected ADDRESS:PORT or the path of a socket", where);
    redisContext *link;
    if (where[0] == '/') {
        link = redisConnectUnix(where);
    } else {
        memcpy(host, where, (size_t)(colon - where));
        host[colon - where] = '\0';
        link = redisConnect(host, atoi(colon + 1));
    }
    if (!link || link->err)
        errx(2, "Redis at %s: %s", where, link ? link->errstr : "out of memory");
    return link;
}

static redisReply *checked(const redisContext *link, redisReply *reply)
{
    if (!reply)
        errx(2, "Redis: %s", link->errstr);
    if (reply->type == REDIS_REPLY_ERROR)
        errx(2, "Redis: %s", reply->str);
    return reply;
}

redisReply *plain_command(redisContext *link, const char *format, ...)
{
    va_list rest;
    va_start(rest, format);
    redisReply *reply = redisvCommand(link, format, rest);
    va_end(rest);
    return checked(link, reply);
}

void plain_send(redisContext *link, const char *format, ...)
{
    va_list rest;
    va_start(rest, format);
    int done = 0, result = redisvAppendCommand(link, format, rest);
    va_end(rest);
    while (result == REDIS_OK && !done)
        result = redisBufferWrite(link, &done);
    if (result != REDIS_OK)
        errx(2, "Redis: %s", link->errstr);
}

redisReply *plain_take(redisContext *link)
{
    void *reply = NULL;
    if (redisReaderGetReply(link->reader, &reply) != REDIS_OK)
        errx(2, "Redis: %s", link->reader->errstr);
    return reply ? checked(link, reply) : NULL;
}

redisReply *plain_read(redisContext *link)
{
    if (redisBufferRead(link) != REDIS_OK)
        errx(2, "Redis: %s", link->errstr);
    return plain_take(link);
}

pid_t plain_process(redisContext *link)
{
    static const char key[] = "\nprocess_id:";
    redisReply *info = plain_command(link, "INFO server");
    const char *found = strstr(info->str, key);
    pid_t pid = found ? atoi(found + strlen(key)) : 0;
    freeReplyObject(info);
    return pid;
}
