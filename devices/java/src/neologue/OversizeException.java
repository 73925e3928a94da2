package neologue;

/** An answer of the service has more bytes than were asked for. */
public final class OversizeException extends LaterException {
    private static final long serialVersionUID = 1L;

    /** For an answer of more than so many bytes. */
    public OversizeException(int most) {
        super("an answer of the service has more than " + most + " bytes: try again later", null);
    }
}
