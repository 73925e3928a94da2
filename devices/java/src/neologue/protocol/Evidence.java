package neologue.protocol;

/** What decides whether evidence shows where a service runs: an app's own, as there is none here. */
public interface Evidence {
    /**
     * Whether a document of evidence shows what the owner accepts, over these 64 bytes, which follow from the key of the log.
     * docs/transparency.md has the form of such documents.
     */
    boolean verify(byte[] document, byte[] binding);
}
