/* How baton run kills a tree: it counts each process that it kills, and none that was dead before.
 */
#include "cli/run/tree.h"
#include "tests/support/cmocka.h"

#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 100, PROCESSES = 3 };

static void start(bool ends)
{
    pid_t child = fork();
    siginfo_t info;
    assert_true(child >= 0);
    if (child == 0 && !ends)
        pause(); /* until SIGKILL */
    if (child == 0)
        _exit(0);
    if (ends)
        assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
}

static int count_killed(bool ends)
{
    struct tree tree;
    pid_t command = 0;
    int status;
    assert_int_equal(tree_open(&tree), 0);
    for (int i = 0; i < PROCESSES; i++)
        start(ends);
    while (tree_kill(&tree, &command, &status))
        ;
    tree_close(&tree);
    return tree.killed;
}

TEST(killed_processes_count_however_soon_they_are_dead)
{
    for (int i = 0; i < ROUNDS; i++)
        assert_int_equal(count_killed(false), PROCESSES);
}

TEST(processes_that_were_dead_do_not_count)
{
    assert_int_equal(count_killed(true), 0);
}
