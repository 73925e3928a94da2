package neologue.random;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.BitSet;

/** A source of random words, and the draws that the protocol makes from them. */
public abstract class Entropy {
    /** 2^64, over which all probabilities are integers. */
    public static final BigInteger ONE = BigInteger.ONE.shiftLeft(64);

    private static final long LOW_HALF = 0xffffffffL;

    /** The next 64 random bits. */
    public abstract long word();

    /** So many bytes, a multiple of 8; the first of a word is the least significant. */
    public final byte[] bytes(int count) {
        ByteBuffer bytes = ByteBuffer.allocate(count).order(ByteOrder.LITTLE_ENDIAN);
        while (bytes.hasRemaining()) {
            bytes.putLong(word());
        }
        return bytes.array();
    }

    /** An integer of so many bits, a multiple of 64; the first word is the least significant. */
    public final BigInteger integer(int bits) {
        BigInteger drawn = BigInteger.ZERO;
        for (int shift = 0; shift < bits; shift += 64) {
            drawn = drawn.or(unsigned(word()).shiftLeft(shift));
        }
        return drawn;
    }

    /** Whether an event with probability numerator / 2^64 happens. */
    public final boolean happens(BigInteger numerator) {
        return unsigned(word()).compareTo(numerator) < 0;
    }

    /** So many uniform integers below a bound of at most 2^32. */
    public final long[] below(long bound, int count) {
        long[] drawn = new long[count];
        long rejected = (1L << 32) % bound;
        for (int have = 0; have < count; ) {
            for (int words = (count - have + 1) / 2; words > 0; words--) {
                long word = word();
                for (long half : new long[] {word & LOW_HALF, word >>> 32}) {
                    long product = half * bound;
                    if ((product & LOW_HALF) >= rejected && have < count) {
                        drawn[have++] = product >>> 32;
                    }
                }
            }
        }
        return drawn;
    }

    /** So many distinct integers below a bound. */
    public final BitSet subset(int bound, int count) {
        if (2L * count > bound) {
            BitSet others = subset(bound, bound - count);
            others.flip(0, bound);
            return others;
        }
        BitSet drawn = new BitSet(bound);
        for (int missing = count; missing > 0; ) {
            for (long value : below(bound, missing)) {
                if (!drawn.get((int) value)) {
                    drawn.set((int) value);
                    missing--;
                }
            }
        }
        return drawn;
    }

    /** A uniform order of the indices below a count. */
    public final int[] order(int count) {
        while (true) {
            long[] words = new long[count];
            Integer[] order = new Integer[count];
            for (int i = 0; i < count; i++) {
                words[i] = word();
                order[i] = i;
            }
            Arrays.sort(order, (a, b) -> Long.compareUnsigned(words[a], words[b]));
            boolean distinct = true;
            for (int i = 1; i < count; i++) {
                distinct &= words[order[i - 1]] != words[order[i]];
            }
            if (distinct) {
                return Arrays.stream(order).mapToInt(Integer::intValue).toArray();
            }
        }
    }

    private static BigInteger unsigned(long word) {
        BigInteger value = BigInteger.valueOf(word);
        return word < 0 ? value.add(ONE) : value;
    }
}
