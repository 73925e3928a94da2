package neologue.storage;

import java.security.GeneralSecurityException;
import java.util.Arrays;
import javax.crypto.Cipher;
import javax.crypto.SecretKey;
import javax.crypto.spec.GCMParameterSpec;
import neologue.protocol.Bytes;

/** AES-GCM of the platform, with a nonce of its choice before each content. */
public final class AesSeal implements Seal {
    private static final String CIPHER = "AES/GCM/NoPadding";
    private static final int NONCE_BYTES = 12;
    private static final int TAG_BITS = 128;

    private final SecretKey key;

    /** With an AES key. */
    public AesSeal(SecretKey key) {
        this.key = key;
    }

    @Override
    public byte[] close(byte[] content) throws GeneralSecurityException {
        Cipher cipher = Cipher.getInstance(CIPHER);
        // Android's Keystore draws nonces itself, and takes none.
        cipher.init(Cipher.ENCRYPT_MODE, key);
        return Bytes.join(cipher.getIV(), cipher.doFinal(content));
    }

    @Override
    public byte[] open(byte[] sealed) throws GeneralSecurityException {
        if (sealed.length < NONCE_BYTES) {
            throw new GeneralSecurityException("too short to be sealed");
        }
        Cipher cipher = Cipher.getInstance(CIPHER);
        cipher.init(Cipher.DECRYPT_MODE, key, new GCMParameterSpec(TAG_BITS, Arrays.copyOf(sealed, NONCE_BYTES)));
        return cipher.doFinal(sealed, NONCE_BYTES, sealed.length - NONCE_BYTES);
    }
}
