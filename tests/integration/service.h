/* service.h: a batond on a Redis of its own, a client of it, and the words that the stories use. */
#ifndef BATON_TESTS_INTEGRATION_SERVICE_H
#define BATON_TESTS_INTEGRATION_SERVICE_H

#include "tests/support/batond_process.h"
#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/http.h"
#include "tests/support/redis_process.h"

enum { TOKEN_TEXT = 129 };

struct service {
    struct redis_process redis;
    struct batond_process batond;
    struct http_client *client;
};

/* Fixtures of cmocka, for a test or a group: *state is the service. */
int service_start(void **state);
int service_stop(void **state);

/* The same for a story that needs settings of its own. NULL for the usual. service_close fails the
 * test where batond did not end as it should. */
void service_open(struct service *service, const struct redis_options *redis,
                  const char *const *arguments);
void service_close(struct service *service);

/* Sends `request` ("METHOD TARGET") with a body (NULL: none) and one more header (NULL: none), and
 * fails the test where the status is another or, with a `code`, where the reply is not the complete
 * problem document of that code. */
#define answers(client, request, body, status, code)                                               \
    answers_at(client, NULL, request, body, status, code, __FILE__, __LINE__)
#define answers_with(client, header, request, body, status, code)                                  \
    answers_at(client, header, request, body, status, code, __FILE__, __LINE__)
void answers_at(struct http_client *client, const char *header, const char *request,
                const char *body, long status, const char *code, const char *file, int line);

/* The same for a request with the token as its Lock-Token header. */
#define answers_token(client, token, request, body, status, code)                                  \
    answers_token_at(client, token, request, body, status, code, __FILE__, __LINE__)
void answers_token_at(struct http_client *client, const char *token, const char *request,
                      const char *body, long status, const char *code, const char *file, int line);

/* The token of the latest reply, kept. */
void keep_token(const struct http_client *client, char token[TOKEN_TEXT]);

/* A member of the latest reply, looked up by a path such as "holders.0.owner"; NULL where there is
 * none. */
json_t *member(const struct http_client *client, const char *path);
const char *member_text(const struct http_client *client, const char *path);
int64_t member_integer(const struct http_client *client, const char *path);

/* Asks GET `target` again and again until it answers `status`; false after `timeout_ms`. */
bool comes_to_answer(struct http_client *client, const char *target, long status, int timeout_ms);

#endif
