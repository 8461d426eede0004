package baton.client;

import com.sun.net.httpserver.HttpServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/** Does what clients/conformance/run.py says on standard input, and reports what it saw. */
public final class Conformance {
    private static final long ACT_MS = 10; // between two steps of the work in a block

    private final ExecutorService executor = Executors.newCachedThreadPool(Conformance::daemon);
    private Client client;
    private CountDownLatch over;
    private Thread holder;
    private volatile Lock lock; // of the block
    private double lastAct;
    private double end; // of the block, in milliseconds

    private static double now() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1e3 + now.getNano() / 1e6;
    }

    private static synchronized void report(String saw, Map<String, Object> fields) {
        Map<String, Object> line = new HashMap<>(Map.of("saw", saw, "at", now()));
        line.putAll(fields);
        System.out.println(Json.write(line));
        System.out.flush();
    }

    private static Duration milliseconds(Map<String, Object> command, String name) {
        return Duration.ofMillis((Long) command.get(name));
    }

    /** As a program may have them: lists become arrays. */
    private static Map<String, Object> withArrays(Map<String, Object> meta) {
        meta.replaceAll((name, value) -> value instanceof List<?> list ? list.toArray() : value);
        return meta;
    }

    @SuppressWarnings("unchecked")
    private static void set(LockOptions options, String name, Object value) {
        switch (name) {
            case "owner" -> options.owner((String) value);
            case "reentrant" -> options.reentrant();
            case "limit" -> options.semaphore(((Long) value).intValue());
            case "permits" -> options.permits(((Long) value).intValue());
            case "meta" -> options.field(name, withArrays((Map<String, Object>) value));
            default -> options.field(name, value);
        }
    }

    /** In one of the ways that the client has. */
    @SuppressWarnings("unchecked")
    private void hold(Map<String, Object> command, CountDownLatch isOver) {
        lastAct = 0;
        boolean checks = (Boolean) command.get("checks");
        Runnable onLost = checks ? () -> { } : isOver::countDown;
        LockOptions options = new LockOptions().waitFor(milliseconds(command, "wait_ms")).onLost(onLost);
        ((Map<String, Object>) command.get("fields")).forEach((name, value) -> set(options, name, value));
        String[] names = ((List<String>) command.get("names")).toArray(String[]::new);
        try {
            if (command.containsKey("lead")) {
                client.lead(options, held -> term(held, checks, isOver), names[0]);
                return;
            }
            if (command.containsKey("skip")) {
                if (!client.run(options.skip(), held -> act(held, checks, isOver), names)) {
                    report("skipped", Map.of());
                    return;
                }
            } else {
                String token = (String) command.get("token");
                try (Lock held = token == null ? client.lock(options, names) : client.held(onLost, token, names)) {
                    act(held, checks, isOver);
                }
            }
            report("ended", Map.of("why", "released", "last_act", lastAct));
        } catch (BatonException.LockLost lost) {
            reportLoss(lost);
        } catch (Problem problem) {
            report("refused", refusal(problem));
        } catch (InterruptedException error) {
            report("cancelled", Map.of());
        }
    }

    private void term(Lock held, boolean checks, CountDownLatch isOver) throws InterruptedException {
        try {
            act(held, checks, isOver);
            report("ended", Map.of("why", "released", "last_act", lastAct));
        } catch (BatonException.LockLost lost) { // then it stands for election again
            reportLoss(lost);
            throw lost;
        }
    }

    private void act(Lock held, boolean checks, CountDownLatch isOver) throws InterruptedException {
        lock = held;
        report("granted", Map.of("token", held.token(), "fence", held.fence(), "fences", held.fences(), "mode", held.mode()));
        try {
            while (!isOver.await(ACT_MS, TimeUnit.MILLISECONDS)) {
                if (checks) {
                    held.check();
                }
                lastAct = now();
            }
        } finally {
            end = now();
        }
    }

    private void reportLoss(BatonException.LockLost lost) {
        Map<String, Object> fields = new HashMap<>(Map.of("why", "lost", "last_act", lastAct, "at", end));
        fields.putAll(Map.of("code", lost.code(), "detail", lost.getMessage()));
        fields.put("ended", lost.ended());
        report("ended", fields);
    }

    private static Map<String, Object> refusal(Problem problem) {
        Map<String, Object> fields = new HashMap<>();
        fields.put("error", problem.getClass().getSimpleName());
        fields.put("code", problem.code());
        fields.put("detail", problem.getMessage());
        if (problem instanceof Problem.Locked locked && !locked.holders().isEmpty()) {
            fields.put("holder", locked.holders().get(0).get("owner"));
        }
        return fields;
    }

    private void watch(Map<String, Object> command) {
        Iterator<Map<String, Object>> events = client.events((String) command.get("name"));
        for (long i = 0; i < (Long) command.get("count"); i++) {
            Map<String, Object> change = events.next();
            report("change", Map.of("state", change.get("state"), "version", change.get("version")));
        }
    }

    private interface Attempt {
        void make() throws InterruptedException;
    }

    private static void attempt(Attempt attempt) {
        try {
            attempt.make();
        } catch (Problem problem) {
            report("refused", refusal(problem));
        } catch (InterruptedException error) {
            report("cancelled", Map.of());
        }
    }

    @SuppressWarnings("unchecked")
    private void breakLock(String name, Map<String, Object> which) throws InterruptedException {
        Map<String, Object> broken = client.breakLock(name, (Long) which.get("fence"), (String) which.get("reason"));
        Map<String, Object> fields = new HashMap<>(Map.of("broken", broken.get("broken")));
        ((List<Map<String, Object>>) broken.get("holders")).stream().limit(1)
                .forEach(hold -> fields.put("owner", hold.get("owner")));
        report("broken", fields);
    }

    private static Thread daemon(Runnable task) {
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        return thread;
    }

    private static Thread start(Runnable task) {
        Thread thread = daemon(task);
        thread.start();
        return thread;
    }

    @SuppressWarnings("unchecked")
    private void open(Map<String, Object> command) {
        try {
            HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).executor(executor).build();
            client = Client.builder(((List<String>) command.get("urls")).toArray(String[]::new))
                    .bearer((String) command.get("bearer")).timeout(milliseconds(command, "timeout_ms"))
                    .portion(milliseconds(command, "portion_ms")).patience(milliseconds(command, "patience_ms"))
                    .http(http).build();
        } catch (IllegalArgumentException error) {
            report("refused", Map.of("detail", error.getMessage()));
        }
    }

    @SuppressWarnings("unchecked")
    private void obey(Map<String, Object> command) {
        switch ((String) command.get("do")) {
            case "open" -> open(command);
            case "hold" -> {
                CountDownLatch latch = new CountDownLatch(1);
                over = latch;
                holder = start(() -> hold(command, latch));
            }
            case "release" -> over.countDown();
            case "cancel" -> holder.interrupt();
            case "disturb" -> executor.shutdownNow();
            case "extend" -> attempt(() -> {
                lock.extend(milliseconds(command, "ttl_ms"));
                report("extended", Map.of());
            });
            case "list" -> attempt(() -> report("list", Map.of("names",
                    client.list((String) command.get("prefix")).stream().map(lock -> lock.get("name")).toList())));
            case "break" -> attempt(() -> breakLock((String) command.get("name"), (Map<String, Object>) command.get("which")));
            default -> start(() -> watch(command));
        }
    }

    /** On a busy machine, to load the classes of the first request may take as long as the TTL of a case. */
    private static void loadClasses() throws IOException, InterruptedException {
        byte[] held = "{\"token\": \"t\", \"fence\": 1, \"ttl_ms\": 60000, \"released\": true}".getBytes(StandardCharsets.UTF_8);
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            exchange.sendResponseHeaders(200, held.length);
            try (OutputStream body = exchange.getResponseBody()) {
                body.write(held);
            }
        });
        server.start();
        new Client("http://127.0.0.1:" + server.getAddress().getPort()).lock("job").close();
        server.stop(0);
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] arguments) throws IOException, InterruptedException {
        loadClasses();
        Conformance conformance = new Conformance();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            conformance.obey((Map<String, Object>) Json.read(line));
        }
    }
}
