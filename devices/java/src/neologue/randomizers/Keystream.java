package neologue.randomizers;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.GeneralSecurityException;
import javax.crypto.Cipher;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/** AES-128 in counter mode from counter 0, read as 32-bit little-endian words. */
final class Keystream {
    private static final byte[] ZEROS = new byte[4096];

    private final Cipher cipher;
    private ByteBuffer block = ByteBuffer.allocate(0);

    Keystream(byte[] key) {
        try {
            cipher = Cipher.getInstance("AES/CTR/NoPadding");
            cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, "AES"), new IvParameterSpec(new byte[16]));
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException("this platform has no AES in counter mode", error);
        }
    }

    /** The next word, as an unsigned number. */
    long word() {
        if (!block.hasRemaining()) {
            block = ByteBuffer.wrap(cipher.update(ZEROS)).order(ByteOrder.LITTLE_ENDIAN);
        }
        return block.getInt() & 0xffffffffL;
    }
}
