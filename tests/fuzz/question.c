#include "tests/fuzz/question.h"

#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

/* Where the text of this sigil goes; NULL for none. */
static char **place_of(struct question *question, char sigil)
{
    switch (sigil) {
    case '@':
        return &question->accept;
    case '#':
        return &question->lock_token;
    case '=':
        return &question->if_none_match;
    case '+':
        return &question->last_event_id;
    case '!':
        return &question->authorization;
    default:
        return NULL;
    }
}

static void set(char **place, struct slice text)
{
    free(*place);
    *place = fuzz_text(text);
}

void question_read(struct slice text, struct question *ret)
{
    *ret = (struct question){0};
    set(&ret->method, fuzz_cut(&text, ' '));
    set(&ret->target, fuzz_cut(&text, ' '));
    char **place;
    while (text.length > 0 && (place = place_of(ret, text.bytes[0]))) {
        struct slice word = fuzz_cut(&text, ' ');
        set(place, (struct slice){word.bytes + 1, word.length - 1});
    }
    ret->body_length = text.length;
    char *slash = ret->authorization ? strchr(ret->authorization, '/') : NULL;
    if (slash)
        *slash = ' ';
    if (text.length == 0)
        return;
    ret->body = malloc(text.length); /* to the byte: a read behind its end is found */
    if (!ret->body)
        abort();
    memcpy(ret->body, text.bytes, text.length);
}

void question_clear(struct question *question)
{
    free(question->method);
    free(question->target);
    free(question->accept);
    free(question->authorization);
    free(question->lock_token);
    free(question->if_none_match);
    free(question->last_event_id);
    free(question->body);
    *question = (struct question){0};
}
