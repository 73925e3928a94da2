package neologue.protocol;

/** Checks Ed25519 signatures; an app brings its own where its platform has none. */
public interface Signatures {
    /** Whether a message has the signature of a public key of 32 bytes. */
    boolean isSigned(byte[] key, byte[] signature, byte[] message);
}
