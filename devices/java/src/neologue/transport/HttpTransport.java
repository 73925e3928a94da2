package neologue.transport;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.URL;
import java.util.zip.GZIPInputStream;
import neologue.LaterException;
import neologue.OversizeException;

/**
 * HTTP of the platform, with limits on every answer.
 *
 * <p>A server may be hostile, and so may a captive portal that answers in its place: an answer has a deadline and a largest
 * size, redirections are not followed, and the platform checks the certificate.
 */
public final class HttpTransport implements Transport {
    private static final int TIMEOUT_MILLIS = 30_000;
    private static final long DEADLINE_NANOS = 60_000_000_000L;

    private final String server;

    /** To the address of a service, such as https://words.example.org; without TLS, only to this machine. */
    public HttpTransport(String server) {
        try {
            URL url = new URL(server);
            boolean secure = url.getProtocol().equals("https");
            boolean local = url.getProtocol().equals("http")
                    && InetAddress.getByName(url.getHost()).isLoopbackAddress();
            if (!secure && !local) {
                throw new IllegalArgumentException(server + " is an address without TLS, which is for this machine "
                        + "only; give https://");
            }
        } catch (IOException error) {
            throw new IllegalArgumentException(server + " is not the address of a service; give one such as "
                    + "https://words.example.org");
        }
        this.server = server.replaceAll("/+$", "");
    }

    @Override
    public Response request(String method, String path, byte[] body, String type, int most) {
        try {
            return exchange(method, path, body, type, most);
        } catch (IOException error) {
            // Its message may quote what the server sent.
            throw new LaterException(
                    "no usable answer from " + server + " (" + error.getClass().getSimpleName() + "): try again later",
                            null);
        }
    }

    private Response exchange(String method, String path, byte[] body, String type, int most) throws IOException {
        long deadline = System.nanoTime() + DEADLINE_NANOS;
        HttpURLConnection connection = (HttpURLConnection) new URL(server + path).openConnection();
        connection.setInstanceFollowRedirects(false);
        connection.setUseCaches(false);
        connection.setConnectTimeout(TIMEOUT_MILLIS);
        connection.setReadTimeout(TIMEOUT_MILLIS);
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
        byte[] content = stream == null ? new byte[0] : read(stream, most, deadline);
        if ("gzip".equals(connection.getContentEncoding())) {
            content = read(new GZIPInputStream(new ByteArrayInputStream(content)), most, deadline);
        }
        return new Response(status, content, connection.getHeaderField("Retry-After"));
    }

    private static byte[] read(InputStream stream, int most, long deadline) throws IOException {
        try (InputStream in = stream) {
            ByteArrayOutputStream content = new ByteArrayOutputStream();
            byte[] block = new byte[8192];
            for (int count = in.read(block); count >= 0; count = in.read(block)) {
                content.write(block, 0, count);
                if (content.size() > most) {
                    throw new OversizeException(most);
                }
                if (System.nanoTime() - deadline > 0) {
                    throw new IOException("too slow");
                }
            }
            return content.toByteArray();
        }
    }
}
