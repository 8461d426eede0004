import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * Clients of one InterProcessMutex: Curator ZOOKEEPER CLIENTS SECONDS; prints turns for contended.py.
 * Each client is a thread with a mutex of its own. Up to SESSIONS of them have a session of their own
 * with ZooKeeper, too; more share those.
 */
public class Curator {
    private static final int SESSIONS = 64;

    private final StringBuilder turns = new StringBuilder();
    private long start;
    private long end;

    private void contend(CuratorFramework session, int client) {
        InterProcessMutex mutex = new InterProcessMutex(session, "/bench-" + start);
        long arrived;
        try {
            TimeUnit.NANOSECONDS.sleep(start - System.nanoTime());
            while ((arrived = System.nanoTime()) < end) {
                long granted = 0, released = 0;
                if (mutex.acquire(Math.max(1, end - arrived), TimeUnit.NANOSECONDS)) {
                    granted = System.nanoTime();
                    released = System.nanoTime();
                    mutex.release();
                }
                synchronized (turns) {
                    turns.append(client + " " + arrived + " " + granted + " " + released + "\n");
                }
            }
        } catch (Exception failure) {
            failure.printStackTrace();
            System.exit(1);
        }
    }

    private void run(String server, int clients, double seconds) throws Exception {
        CuratorFramework[] sessions = new CuratorFramework[Math.min(clients, SESSIONS)];
        for (int i = 0; i < sessions.length; i++) {
            sessions[i] = CuratorFrameworkFactory.newClient(server, new ExponentialBackoffRetry(100, 3));
            sessions[i].start();
        }
        for (CuratorFramework session : sessions)
            session.blockUntilConnected();
        start = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(200);
        end = start + (long) (seconds * 1e9);
        Thread[] threads = new Thread[clients];
        for (int i = 0; i < clients; i++) {
            int client = i;
            threads[i] = new Thread(() -> contend(sessions[client % sessions.length], client));
            threads[i].setDaemon(true);
            threads[i].start();
        }
        for (Thread thread : threads)
            thread.join();
        System.out.print("# window " + start + " " + end + "\n" + turns);
    }

    public static void main(String[] arguments) throws Exception {
        new Curator().run(arguments[0], Integer.parseInt(arguments[1]), Double.parseDouble(arguments[2]));
        System.exit(0); // and leave the sessions to their end
    }
}
