package neologue.masking;

import java.security.GeneralSecurityException;
import javax.crypto.Cipher;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/** Votes, each in so many bits, to which masks are added. */
final class MaskedVector {
    /** Bytes of a mask that are worked on at a time. */
    private static final byte[] ZEROS = new byte[1 << 14];

    private final int[] entries;
    private final int bits;
    /** The bytes of a mask for each entry: the smallest word that holds its bits. */
    private final int word;

    MaskedVector(int[] votes, int bits) {
        entries = votes.clone();
        this.bits = bits;
        word = bits <= 8 ? 1 : bits <= 16 ? 2 : 4;
    }

    /** Add the mask of a key, or take it off if the sign is -1: AES-256 in counter mode from 0, little-endian. */
    void add(byte[] key, int sign) {
        try {
            Cipher stream = Cipher.getInstance("AES/CTR/NoPadding");
            stream.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, "AES"), new IvParameterSpec(new byte[16]));
            byte[] drawn = new byte[0];
            for (int i = 0, next = 0; i < entries.length; i++, next += word) {
                if (next == drawn.length) {
                    drawn = stream.update(ZEROS);
                    next = 0;
                }
                int mask = 0;
                for (int place = word - 1; place >= 0; place--) {
                    mask = mask << 8 | drawn[next + place] & 0xff;
                }
                entries[i] += sign * mask;
            }
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException("this platform has no AES in counter mode", error);
        }
    }

    /** The low bits of every entry, the most significant first, and zeros to a whole byte. */
    byte[] packed() {
        byte[] packed = new byte[(int) (((long) entries.length * bits + 7) / 8)];
        long place = 0;
        for (int entry : entries) {
            for (int bit = bits - 1; bit >= 0; bit--, place++) {
                if ((entry >>> bit & 1) == 1) {
                    packed[(int) (place >> 3)] |= (byte) (0x80 >> (place & 7));
                }
            }
        }
        return packed;
    }
}
