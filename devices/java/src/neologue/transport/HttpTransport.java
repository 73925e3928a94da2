package neologue.transport;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.zip.GZIPInputStream;
import neologue.LaterException;
import neologue.OversizeException;

/**
 * HTTP of the platform, with limits on every answer.
 *
 * <p>A server may be hostile, and so may a captive portal that answers in its place: an answer has one deadline, headers
 * included, and a largest size, redirections are not followed, and the platform checks the certificate.
 */
public final class HttpTransport implements Transport {
    private static final int PATIENCE_MILLIS = 60_000;
    private static final int LONGEST_PAUSE_MILLIS = 30_000;
    /** Names that are this machine's whatever a name server says. */
    private static final String LOOPBACK = "localhost|127(\\.[0-9]{1,3}){3}|\\[::1\\]";

    private final String server;
    private final int patienceMillis;

    /** To the address of a service, such as https://words.example.org; without TLS, only to this machine. */
    public HttpTransport(String server) {
        this(server, PATIENCE_MILLIS);
    }

    /** The same, with the milliseconds that a whole answer may take. */
    public HttpTransport(String server, int patienceMillis) {
        if (!server.matches("https?://[^/?#@]+(/[^?#]*)?")) {
            throw new IllegalArgumentException(
                    server + " is not the address of a service; give one such as https://words.example.org");
        }
        if (!server.matches("https://.*|http://(" + LOOPBACK + ")(:[0-9]+)?(/.*)?")) {
            throw new IllegalArgumentException(server + " is an address without TLS, which is for this machine "
                    + "only; give https://");
        }
        this.server = server.replaceAll("/+$", "");
        this.patienceMillis = patienceMillis;
    }

    @Override
    public Response request(String method, String path, byte[] body, String type, int most) {
        HttpURLConnection connection;
        Throwable failure;
        try {
            connection = (HttpURLConnection) new URL(server + path).openConnection();
        } catch (IOException error) {
            throw later(error);
        }
        // The platform limits the time between two bytes, and not that of an answer, so a thread that can be left waits.
        FutureTask<Response> answer = new FutureTask<>(() -> exchange(connection, method, body, type, most));
        start(answer);
        try {
            return answer.get(patienceMillis, TimeUnit.MILLISECONDS);
        } catch (ExecutionException error) {
            failure = error.getCause();
        } catch (TimeoutException | InterruptedException error) {
            start(connection::disconnect); // which may wait for a lock that the other thread has
            failure = error;
        }
        if (failure instanceof OversizeException) {
            throw (OversizeException) failure;
        }
        if (failure instanceof InterruptedException) {
            Thread.currentThread().interrupt();
        }
        throw later(failure);
    }

    private static void start(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
    }

    /** Without the message of the error, which may quote what the server sent. */
    private LaterException later(Throwable error) {
        return new LaterException(
                "no usable answer from " + server + " (" + error.getClass().getSimpleName() + "): try again later",
                null);
    }

    private Response exchange(HttpURLConnection connection, String method, byte[] body, String type, int most)
            throws IOException {
        connection.setInstanceFollowRedirects(false);
        connection.setUseCaches(false);
        int pause = Math.min(patienceMillis, LONGEST_PAUSE_MILLIS);
        connection.setConnectTimeout(pause);
        connection.setReadTimeout(pause);
        connection.setRequestMethod(method);
        connection.setRequestProperty("Accept-Encoding", "gzip");
        if (body != null) {
            connection.setDoOutput(true);
            connection.setRequestProperty("Content-Type", type);
            try (OutputStream out = connection.getOutputStream()) {
                out.write(body);
            }
        }
        int status = connection.getResponseCode();
        InputStream stream = status >= 400 ? connection.getErrorStream() : connection.getInputStream();
        byte[] content = stream == null ? new byte[0] : read(stream, most);
        if ("gzip".equals(connection.getContentEncoding())) {
            content = read(new GZIPInputStream(new ByteArrayInputStream(content)), most);
        }
        return new Response(status, content, connection.getHeaderField("Retry-After"));
    }

    private static byte[] read(InputStream stream, int most) throws IOException {
        try (InputStream in = stream) {
            ByteArrayOutputStream content = new ByteArrayOutputStream();
            byte[] block = new byte[8192];
            for (int count = in.read(block); count >= 0; count = in.read(block)) {
                content.write(block, 0, count);
                if (content.size() > most) {
                    throw new OversizeException(most);
                }
            }
            return content.toByteArray();
        }
    }
}
