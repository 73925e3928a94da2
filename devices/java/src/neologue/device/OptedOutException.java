package neologue.device;

/** The owner has opted out during a step. */
final class OptedOutException extends RuntimeException {
    private static final long serialVersionUID = 1L;
}
