package neologue.randomizers;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import neologue.random.Entropy;

/**
 * Subset Selection: each of B words, filled up with the null element γ, becomes a random d-subset of s values that contains
 * it with probability p.
 *
 * <p>p = k/2^64 is rounded down from d·e^ε/(d·e^ε+s-d), so that the ratio p(s-d)/((1-p)d) is at most e^ε. A subset travels
 * as an offset by which a base subset, expanded from a seed, is moved.
 */
public final class SubsetSelection extends Randomizer {
    private static final int SEED_BYTES = 16;

    /** The candidates and γ, which is the last; s. */
    public final long domain;
    /** The values in a subset, d. */
    public final int subsetSize;
    /** The numerator of p over 2^64. */
    public final BigInteger truth;

    /** For so many candidates, an ε and a bound. */
    public SubsetSelection(int candidates, double epsilon, int bound) {
        super(candidates, bound);
        domain = candidates + 1L;
        subsetSize = Thresholds.subsetSize(epsilon, domain);
        truth = Thresholds.truth(epsilon, domain, subsetSize);
    }

    @Override
    public Channel channel() {
        BigInteger others = BigInteger.valueOf(candidates);
        BigInteger other = Entropy.ONE.multiply(BigInteger.valueOf(subsetSize)).subtract(truth);
        return new Channel(truth.multiply(others), other, Entropy.ONE.multiply(others), bound);
    }

    @Override
    public long payloadBytes() {
        return SEED_BYTES + ((long) bound * offsetBits() + 7) / 8;
    }

    @Override
    public long votes() {
        return (long) bound * subsetSize;
    }

    @Override
    public byte[] randomize(int[] held, Entropy entropy) {
        long[] words = new long[bound];
        int[] order = entropy.order(bound);
        for (int j = 0; j < bound; j++) {
            words[j] = order[j] < held.length ? held[order[j]] : domain - 1;
        }
        byte[] seed = entropy.bytes(SEED_BYTES);
        long[][] bases = expand(seed, domain, bound, subsetSize);
        long[] places = entropy.below(subsetSize, bound);
        boolean[] truthful = new boolean[bound];
        for (int j = 0; j < bound; j++) {
            truthful[j] = entropy.happens(truth);
        }
        long[] offsets = misses(words, bases, entropy);
        BitWriter bits = new BitWriter();
        for (byte each : seed) {
            bits.write(each & 0xff, 8);
        }
        for (int j = 0; j < bound; j++) {
            long hit = Math.floorMod(words[j] - bases[j][(int) places[j]], domain);
            bits.write(truthful[j] ? hit : offsets[j], offsetBits());
        }
        return bits.padded((int) payloadBytes());
    }

    @Override
    public int[] count(byte[] payload) {
        long[][] bases = expand(Arrays.copyOf(payload, SEED_BYTES), domain, bound, subsetSize);
        BitReader bits = new BitReader(payload, SEED_BYTES);
        int[] counts = new int[candidates];
        for (long[] base : bases) {
            long offset = bits.read(offsetBits());
            for (long value : base) {
                int moved = (int) ((value + offset) % domain);
                if (moved < candidates) {
                    counts[moved]++;
                }
            }
        }
        return counts;
    }

    /** Base subsets: values of the keystream under a seed, each subset in the order in which it takes them. */
    public static long[][] expand(byte[] seed, long domain, int rows, int size) {
        Keystream stream = new Keystream(seed);
        long rejected = (1L << 32) % domain;
        long[][] subsets = new long[rows][size];
        for (long[] subset : subsets) {
            Set<Long> taken = new HashSet<>();
            for (int have = 0; have < size; ) {
                long product = stream.word() * domain;
                if ((product & 0xffffffffL) >= rejected && taken.add(product >>> 32)) {
                    subset[have++] = product >>> 32;
                }
            }
        }
        return subsets;
    }

    /** For each word a uniform offset by which its base subset does not contain it. */
    private long[] misses(long[] words, long[][] bases, Entropy entropy) {
        long[] offsets = entropy.below(domain, bound);
        while (true) {
            List<Integer> hit = new ArrayList<>();
            for (int j = 0; j < bound; j++) {
                long wanted = Math.floorMod(words[j] - offsets[j], domain);
                boolean isHit = false;
                for (long value : bases[j]) {
                    isHit |= value == wanted;
                }
                if (isHit) {
                    hit.add(j);
                }
            }
            if (hit.isEmpty()) {
                return offsets;
            }
            long[] others = entropy.below(domain, hit.size());
            for (int i = 0; i < others.length; i++) {
                offsets[hit.get(i)] = others[i];
            }
        }
    }

    private int offsetBits() {
        return Long.SIZE - Long.numberOfLeadingZeros(domain - 1);
    }
}
