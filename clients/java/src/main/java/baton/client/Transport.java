package baton.client;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;

/** Sends requests to one URL after another until a batond can serve. */
final class Transport {
    private final List<String> urls;
    private final String bearer;
    private final HttpClient http;
    private final AtomicInteger current = new AtomicInteger(); // the URL that answered last

    Transport(List<String> urls, String bearer, HttpClient http) {
        this.urls = urls.stream().map(Transport::baseOf).toList();
        this.bearer = bearer == null ? null : bearer.strip(); // a file ends in a line break
        this.http = http;
    }

    /** What stands before each path. A URL with /locks, as for curl, would make another lock of each name. */
    private static String baseOf(String url) {
        String base = url.replaceAll("/+$", "");
        if (base.matches(".*//.+/locks")) {
            String instead = base.replaceAll("/locks$", "");
            throw new IllegalArgumentException(
                    "\"" + url + "\" ends in /locks, which the client adds. Write \"" + instead + "\".");
        }
        return base;
    }

    /** The proof is a field that the answer of a batond has. `token` and `body` may be null. */
    Reply ask(String method, String path, String proof, String token, Map<String, Object> body, long timeout)
            throws InterruptedException {
        return ask(method, path, proof, token, body, timeout, Long.MAX_VALUE);
    }

    /** The timeout is for each URL, the limit for all together. */
    Reply ask(String method, String path, String proof, String token, Map<String, Object> body, long timeout, long limit)
            throws InterruptedException {
        long begun = System.nanoTime();
        Reply reply = null;
        for (int i = 0; i < urls.size(); i++) {
            int at = current.get();
            long left = limit - (System.nanoTime() - begun);
            reply = send(urls.get(at % urls.size()), method, path, proof, token, body, Math.min(timeout, left));
            reply = i > 0 ? reply.repeated() : reply;
            if (reply.isDone() || !(reply.problem() instanceof Problem.Unavailable)) {
                break;
            }
            current.compareAndSet(at, (at + 1) % urls.size());
            if (token == null && !method.equals("GET")) {
                break; // a break that is repeated could end another's hold
            }
        }
        return reply;
    }

    private Reply send(String url, String method, String path, String proof, String token, Map<String, Object> body,
            long timeout) throws InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + path)).header("Accept", "application/json")
                .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(Json.write(body)));
        if (body != null) {
            request.header("Content-Type", "application/json");
        }
        if (token != null) {
            request.header("Lock-Token", token);
        }
        if (bearer != null) {
            request.header("Authorization", "Bearer " + bearer);
        }
        long sent = System.nanoTime();
        CompletableFuture<HttpResponse<String>> answer = new CompletableFuture<>();
        try {
            answer = http.sendAsync(request.build(), BodyHandlers.ofString());
            HttpResponse<String> response = answer.get(timeout, TimeUnit.NANOSECONDS);
            return Reply.of(response.statusCode(), response.body(), proof, sent);
        } catch (TimeoutException error) {
            return Reply.none(url + ": no answer in time", sent);
        } catch (ExecutionException error) {
            return Reply.none(url + ": " + error.getCause(), sent);
        } catch (RejectedExecutionException error) {
            return Reply.none(url + ": the executor of the HttpClient takes no more work", sent);
        } finally {
            answer.cancel(true);
        }
    }
}
