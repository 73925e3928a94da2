package neologue.masking;

/** What groups need besides signatures that are checked; an app brings its own where its platform has not got it. */
public interface Cryptography {
    /** The Ed25519 signature of a message under a private key of 32 bytes. */
    byte[] sign(byte[] privateKey, byte[] message);

    /** The X25519 secret of a private and a public key, of 32 bytes each; null if the point has a small order. */
    byte[] agree(byte[] privateKey, byte[] publicKey);

    /** Seal by ChaCha20-Poly1305 with a nonce of zeros: every key seals once. */
    byte[] seal(byte[] key, byte[] plain);

    /** What was sealed; null if it was not, under this key. */
    byte[] open(byte[] key, byte[] sealed);
}
