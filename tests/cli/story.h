/* story.h: a batond, and a terminal whose baton asks it. */
#ifndef BATON_TESTS_CLI_STORY_H
#define BATON_TESTS_CLI_STORY_H

#include "tests/cli/terminal.h"
#include "tests/support/fixtures/service.h"

struct story {
    struct service service;
    struct terminal terminal;
    pid_t guard, near, far; /* of start_tree: a command, and a child of it in another session */
};

int story_open(void **state);
int story_close(void **state);

/* A test in the story of its program: `terminal` and `client` are those of `story`. */
#define TEST_IN_STORY(name)                                                                        \
    static void name##_in(struct story *story, struct terminal *terminal,                          \
                          struct http_client *client);                                             \
    TEST(name)                                                                                     \
    {                                                                                              \
        struct story *story = *state;                                                              \
        name##_in(story, &story->terminal, story->service.client);                                 \
    }                                                                                              \
    static void name##_in(struct story *story __attribute__((unused)),                             \
                          struct terminal *terminal __attribute__((unused)),                       \
                          struct http_client *client __attribute__((unused)))

bool is_free(struct http_client *client, const char *name);

/* Waits until it is. */
void comes_to_be_free(struct http_client *client, const char *name);

/* Waits until the lock has been held for more than 6 s, which is the TTL of these tests. */
void comes_to_be_renewed(struct http_client *client, const char *name);

/* Takes a lock for an hour, as ann. */
void hold_as_ann(struct http_client *client, const char *name, char token[TOKEN_TEXT]);
void release(struct http_client *client, const char *name, const char *token);

/* Waits for the output to have the text, which need not end a line. */
void comes_to_say(struct terminal *terminal, const char *text);

/* How often the word is in the text. */
size_t count_of(const char *text, const char *word);

/* Runs a command in the home directory while that of the terminal runs. */
void run_beside(const struct terminal *terminal, const char *command);

/* Waits for a line with the word. Returns the number behind it. */
pid_t pid_said(struct story *story, const char *word);

/* Starts `baton run`. `trap` is what the tree does at SIGTERM. */
void start_tree(struct story *story, const char *name, const char *ttl, const char *trap);

/* Whether `near` and `far` are dead. Takes a struct story. */
bool tree_is_gone(void *context);

#endif
