package neologue.randomizers;

import java.util.Arrays;

/** Writes bits, the most significant of a byte first. */
final class BitWriter {
    private byte[] bytes = new byte[256];
    private long length;

    void write(long value, int width) {
        while ((length + width + 7) / 8 > bytes.length) {
            bytes = Arrays.copyOf(bytes, 2 * bytes.length);
        }
        for (int bit = width - 1; bit >= 0; bit--, length++) {
            if ((value >>> bit & 1) == 1) {
                bytes[(int) (length >> 3)] |= (byte) (0x80 >> (length & 7));
            }
        }
    }

    /** The number of bits written. */
    long length() {
        return length;
    }

    /** The bits, with zeros up to so many bytes. */
    byte[] padded(int size) {
        return Arrays.copyOf(bytes, size);
    }
}
