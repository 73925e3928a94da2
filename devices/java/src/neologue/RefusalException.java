package neologue;

/** What a device does not do, and what could be changed about it; never because of a word. */
public final class RefusalException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** With a sentence that an app can show to the owner of the device. */
    public RefusalException(String message) {
        super(message);
    }
}
