/* fuzz_body.c: a JSON body. The first line says for which operation: METHOD TARGET. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/play.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct play play;
    struct question question;
    struct slice body = {(const char *)bytes, size};
    question_read(fuzz_cut(&body, '\n'), &question);
    free(question.body);
    question.body = body.length > 0 ? malloc(body.length) : NULL;
    question.body_length = body.length;
    if (body.length > 0)
        memcpy(question.body, body.bytes, body.length);
    play_open(&play);
    play_ask(&play, &question);
    play_close(&play);
    return 0;
}
