/* cppcheck.h: macros of libraries whose headers cppcheck does not read. Never compiled. */
#define json_object_foreach(object, key, value)                                                    \
    for ((key) = "", (value) = (object); (value); (value) = NULL)
#define json_array_foreach(array, index, value)                                                    \
    for ((index) = 0, (value) = (array); (value); (value) = NULL)
#define TAILQ_FOREACH(item, head, field)                                                           \
    for ((item) = (head)->tqh_first; (item); (item) = (item)->field.tqe_next)
#define LIST_FOREACH(item, head, field)                                                            \
    for ((item) = (head)->lh_first; (item); (item) = (item)->field.le_next)
#define STAILQ_HEAD(name, type)                                                                    \
    struct name {                                                                                  \
        struct type *stqh_first, **stqh_last;                                                      \
    }
