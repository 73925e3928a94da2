package neologue.transport;

/** What a service answered. */
public final class Response {
    /** The status of HTTP. */
    public final int status;
    /** The body, unpacked. */
    public final byte[] body;
    /** The header Retry-After as it came, or null. */
    public final String retryAfter;

    /** As it came. */
    public Response(int status, byte[] body, String retryAfter) {
        this.status = status;
        this.body = body;
        this.retryAfter = retryAfter;
    }
}
