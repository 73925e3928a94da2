package neologue.randomizers;

/** Reads bits, the most significant of a byte first. */
final class BitReader {
    private final byte[] bytes;
    private long next;

    BitReader(byte[] bytes, int start) {
        this.bytes = bytes;
        next = 8L * start;
    }

    long read(int width) {
        long value = 0;
        for (long end = next + width; next < end; next++) {
            value = value << 1 | bytes[(int) (next >> 3)] >> (7 - (next & 7)) & 1;
        }
        return value;
    }
}
