package neologue.protocol;

import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.NoSuchAlgorithmException;
import java.security.Signature;
import java.security.spec.X509EncodedKeySpec;

/** Ed25519 of the platform: Java 15 or later, and recent Android. */
public final class PlatformSignatures implements Signatures {
    /** What a key of 32 bytes has before it in X.509: SubjectPublicKeyInfo of RFC 8410. */
    private static final byte[] HEADER = Bytes.unhex("302a300506032b6570032100", 12);

    /** Refuses to begin where the platform has no Ed25519. */
    public PlatformSignatures() {
        try {
            Signature.getInstance("Ed25519");
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException(
                    "this platform can't check Ed25519 signatures, and without them nobody is answered: give a "
                            + "Signatures of your own",
                    error);
        }
    }

    @Override
    public boolean isSigned(byte[] key, byte[] signature, byte[] message) {
        try {
            Signature verifier = Signature.getInstance("Ed25519");
            verifier.initVerify(
                    KeyFactory.getInstance("Ed25519").generatePublic(new X509EncodedKeySpec(Bytes.join(HEADER, key))));
            verifier.update(message);
            return verifier.verify(signature);
        } catch (GeneralSecurityException error) {
            return false; // a key that is no point of the curve, or a signature of another length
        }
    }
}
