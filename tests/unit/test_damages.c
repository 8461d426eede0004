/* Each damaged key is named once, whatever worker meets it. */
#include "server/log/damages.h"
#include "tests/support/cmocka.h"

#include <pthread.h>
#include <stdio.h>

enum {
    THREADS = 4,
    ROUNDS = 200,
    KEYS = DAMAGES_LOGGED / THREADS
}; /* a key named twice has room */

struct crew {
    int keys;
    struct damages damages;
    pthread_barrier_t begin;
    atomic_size_t named;
};

static void *note_all(void *context)
{
    struct crew *crew = context;
    char key[16];
    pthread_barrier_wait(&crew->begin);
    for (int i = 0; i < crew->keys; i++) {
        snprintf(key, sizeof key, "{%d}", i);
        if (damages_note(&crew->damages, slice_of(key)))
            crew->named++;
    }
    return NULL;
}

TEST(key_noted_by_all_threads_is_named_once)
{
    for (int round = 0; round < ROUNDS; round++) {
        static struct crew crew;
        pthread_t threads[THREADS];
        crew = (struct crew){.keys = KEYS};
        pthread_barrier_init(&crew.begin, NULL, THREADS);
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, note_all, &crew), 0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        pthread_barrier_destroy(&crew.begin);
        assert_int_equal(crew.named, KEYS);
    }
}

TEST(full_table_names_no_more)
{
    static struct crew crew = {.keys = DAMAGES_LOGGED};
    pthread_barrier_init(&crew.begin, NULL, 1);
    note_all(&crew);
    pthread_barrier_destroy(&crew.begin);
    assert_int_equal(crew.named, DAMAGES_LOGGED);
    assert_false(damages_note(&crew.damages, slice_of("another")));
    assert_false(damages_note(&crew.damages, slice_of("{0}")));
}
