/* fuzz_tokens.c: a request (question.h) in the first line, and below it the tokens-file that says
 * whether it may be made. */
#include "api/access/tokens_file.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/play.h"

#include <stdlib.h>

static const struct tokens_file_options FIRST = {.path = "FILE"};

/* Read again after itself, it says the same. */
static struct principals *read_again(struct principals *before, struct slice text)
{
    const struct tokens_file_options options = {.path = "FILE", .before = before};
    struct principals *again;
    struct failure failure;
    CLAIM(tokens_file_parse(&options, text, &again, &failure) == 0);
    CLAIM(principals_count(again) == principals_count(before));
    CLAIM(!principals_everybody(again) && !principals_by_name(again, slice_of("")));
    principals_drop(before);
    return again;
}

static void ask(struct slice text, struct principals *principals)
{
    struct play play;
    struct question question;
    play_open(&play);
    api_set_principals(&play.api, principals);
    question_read(text, &question);
    play_ask(&play, &question);
    play_answer_all(&play, &(struct store_result){.outcome = STORE_IN_DOUBT});
    play_close(&play);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct slice file = {(const char *)bytes, size}, line = fuzz_cut(&file, '\n');
    struct principals *principals = NULL;
    struct failure failure = {""};
    char *copy = malloc(file.length + 1);
    if (!copy)
        abort();
    if (file.length > 0)
        memcpy(copy, file.bytes, file.length);
    file.bytes = copy;
    if (tokens_file_parse(&FIRST, file, &principals, &failure) == 0) {
        CLAIM(principals_count(principals) <= TOKENS_FILE_PRINCIPALS);
        ask(line, read_again(principals, file));
    } else {
        CLAIM(!principals && strncmp(failure.text, "--tokens-file: FILE: ", 21) == 0);
        CLAIM(!strpbrk(failure.text, "\n\r"));
    }
    free(copy);
    return 0;
}
