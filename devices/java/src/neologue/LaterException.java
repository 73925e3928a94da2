package neologue;

/** There was no usable answer from the service; the same request is made again later. */
public class LaterException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final Double retryAfter;

    /** With the seconds to wait that the service asks for, or null. */
    public LaterException(String message, Double retryAfter) {
        super(message);
        this.retryAfter = retryAfter;
    }

    /** The seconds to wait that the service asks for, or null. */
    public Double retryAfter() {
        return retryAfter;
    }
}
