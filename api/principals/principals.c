#include "api/principals/principals.h"

#include "base/memory.h"
#include "base/utf8.h"

#include <pthread.h>
#include <stdlib.h>

struct known_token {
    struct digest digest;
    struct principal *principal;
};

struct principals {
    atomic_uint references;
    struct principal *everybody;
    bool open;               /* every valid name has all rights, and is added when first seen */
    pthread_mutex_t mutex;   /* protects `each` and `count` if `open` */
    struct principal **each; /* sorted by name */
    size_t count;
    struct known_token *tokens;
    size_t token_count;
};

struct principals *principals_new(void)
{
    struct principals *principals = memory_checked(calloc(1, sizeof *principals));
    atomic_store(&principals->references, 1);
    pthread_mutex_init(&principals->mutex, NULL);
    return principals;
}

static struct principal *new_almighty(struct slice name)
{
    struct principal *principal = principal_new(name, 1, NULL);
    principal_set_rule(principal, 0, &(struct rule){.verbs = VERB_BIT(VERB_COUNT) - 1});
    return principal;
}

struct principals *principals_anonymous(void)
{
    struct principals *principals = principals_new();
    principals->everybody = new_almighty(slice_of(""));
    return principals;
}

struct principals *principals_certified(void)
{
    struct principals *principals = principals_new();
    principals->open = true;
    return principals;
}

/* Orders by bytes: negative, 0 or positive. */
static int principals_compare(struct slice one, struct slice other)
{
    size_t length = one.length < other.length ? one.length : other.length;
    int order = length > 0 ? memcmp(one.bytes, other.bytes, length) : 0;
    return order ? order : (one.length > other.length) - (one.length < other.length);
}

/* Returns the index of the first principal whose name is not before this one. */
static size_t principals_find_place(const struct principals *principals, struct slice name)
{
    size_t low = 0, high = principals->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (principals_compare(principals->each[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct principal *principals_find_named(const struct principals *principals,
                                               struct slice name)
{
    size_t place = principals_find_place(principals, name);
    bool found =
        place < principals->count && principals_compare(principals->each[place]->name, name) == 0;
    return found ? principals->each[place] : NULL;
}

/* Makes room for one more element; capacities are powers of two. */
static void *principals_with_room(void *array, size_t count, size_t size)
{
    if ((count & (count - 1)) == 0)
        array = reallocarray(array, count ? 2 * count : 1, size);
    if (!array)
        abort();
    return array;
}

bool principals_add(struct principals *principals, struct principal *principal)
{
    size_t place = principals_find_place(principals, principal->name);
    if (principals_find_named(principals, principal->name)) {
        principal_drop(principal);
        return false;
    }
    principals->each =
        principals_with_room(principals->each, principals->count, sizeof(struct principal *));
    memmove(principals->each + place + 1, principals->each + place,
            (principals->count - place) * sizeof(struct principal *));
    principals->each[place] = principal;
    principals->count++;
    return true;
}

static bool principals_is_name(struct slice text)
{
    return text.length > 0 && text.length <= PRINCIPAL_NAME_LENGTH && utf8_is_clean(text);
}

static struct principal *principals_find_or_add(struct principals *principals, struct slice name)
{
    pthread_mutex_lock(&principals->mutex);
    struct principal *found = principals_find_named(principals, name);
    if (!found && principals_is_name(name)) {
        found = new_almighty(name);
        principals_add(principals, found);
    }
    pthread_mutex_unlock(&principals->mutex);
    return found;
}

struct principal *principals_by_name(struct principals *principals, struct slice name)
{
    return principals->open ? principals_find_or_add(principals, name)
                            : principals_find_named(principals, name);
}

/* Compares all digests, each as a whole, so that the time taken reveals nothing. */
static struct principal *principals_find(const struct principals *principals,
                                         const struct digest *digest)
{
    struct principal *found = NULL;
    for (size_t i = 0; i < principals->token_count; i++)
        if (digest_equals(&principals->tokens[i].digest, digest))
            found = principals->tokens[i].principal;
    return found;
}

struct principal *principals_by_token(const struct principals *principals, struct slice token)
{
    struct digest digest = digest_of(token);
    return principals_find(principals, &digest);
}

bool principals_add_token(struct principals *principals, const struct digest *digest,
                          struct principal *principal)
{
    if (principals_find(principals, digest))
        return false;
    principals->tokens = principals_with_room(principals->tokens, principals->token_count,
                                              sizeof *principals->tokens);
    principals->tokens[principals->token_count++] = (struct known_token){*digest, principal};
    return true;
}

struct principals *principals_keep(struct principals *principals)
{
    atomic_fetch_add(&principals->references, 1);
    return principals;
}

void principals_drop(struct principals *principals)
{
    if (!principals || atomic_fetch_sub(&principals->references, 1) > 1)
        return;
    for (size_t i = 0; i < principals->count; i++)
        principal_drop(principals->each[i]);
    principal_drop(principals->everybody);
    pthread_mutex_destroy(&principals->mutex);
    free(principals->each);
    free(principals->tokens);
    free(principals);
}

size_t principals_count(const struct principals *principals)
{
    return principals->count;
}

struct principal *principals_everybody(const struct principals *principals)
{
    return principals->everybody;
}
