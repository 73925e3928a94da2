package neologue.randomizers;

import java.math.BigInteger;
import java.util.BitSet;
import neologue.random.Binomial;
import neologue.random.Entropy;

/**
 * One-report unary encoding: bit z of a report is 1 with probability 1/2 if z is held and with probability q if not.
 *
 * <p>q = k/2^64 with k = ⌈2^64/(e^ε+1)⌉, so that replacing one candidate changes the chance of any report by at most
 * (1-q)/q ≤ e^ε. First is drawn how many bits the noise sets, exactly binomial, then which; held ones become fair coins.
 */
public final class Unary extends Randomizer {
    private static final BigInteger HALF = BigInteger.ONE.shiftLeft(63);
    private static final int COUNT_BITS = 32;

    /** The numerator of q over 2^64. */
    public final BigInteger noise;
    /** The low bits of a gap that are written as they are. */
    public final int remainderBits;
    /** Bits set in a report, but for one in 2^40. */
    private final long mostOnes;

    /** For so many candidates, an ε and a bound. */
    public Unary(int candidates, double epsilon, int bound) {
        super(candidates, bound);
        noise = Thresholds.noise(epsilon);
        BigInteger medianGap = Entropy.ONE.multiply(BigInteger.valueOf(45426)).divide(noise.shiftLeft(16));
        remainderBits = Math.max(0, medianGap.bitLength() - 1);
        long mean = mean(BigInteger.ZERO);
        mostOnes = Math.min(candidates, mean + bound + 11 + squareRoot(87 + 56 * mean));
    }

    @Override
    public Channel channel() {
        return new Channel(HALF, noise, Entropy.ONE, 1);
    }

    @Override
    public long payloadBytes() {
        return (COUNT_BITS + mostOnes * (remainderBits + 1) + (candidates >> remainderBits) + 7) / 8;
    }

    @Override
    public long votes() {
        return mean(HALF);
    }

    @Override
    public byte[] randomize(int[] held, Entropy entropy) {
        return encode(ones(held, entropy));
    }

    @Override
    public int[] count(byte[] payload) {
        BitReader bits = new BitReader(payload, 0);
        int[] gaps = new int[(int) bits.read(COUNT_BITS)];
        for (int i = 0; i < gaps.length; i++) {
            gaps[i] = (int) bits.read(remainderBits);
        }
        int[] counts = new int[candidates];
        int one = -1;
        for (int gap : gaps) {
            int rest = 0;
            while (bits.read(1) == 1) {
                rest++;
            }
            one += 1 + gap + (rest << remainderBits);
            counts[one] = 1;
        }
        return counts;
    }

    /** The bits of a report that are set. The randomness used does not depend on what is held. */
    public BitSet ones(int[] held, Entropy entropy) {
        BitSet ones = entropy.subset(candidates, Binomial.draw(candidates, noise, entropy));
        for (int i = 0; i < bound; i++) {
            boolean set = entropy.happens(HALF);
            if (i < held.length) {
                ones.set(held[i], set);
            }
        }
        return ones;
    }

    /** The gaps between the ones: their number, the low bits of every gap, the rest of every gap in unary. */
    private byte[] encode(BitSet ones) {
        BitWriter bits = new BitWriter();
        bits.write(ones.cardinality(), COUNT_BITS);
        int before = -1;
        for (int one = ones.nextSetBit(0); one >= 0; before = one, one = ones.nextSetBit(one + 1)) {
            bits.write(one - before - 1, remainderBits);
        }
        before = -1;
        for (int one = ones.nextSetBit(0); one >= 0; before = one, one = ones.nextSetBit(one + 1)) {
            for (int rest = (one - before - 1) >> remainderBits; rest > 0; rest--) {
                bits.write(1, 1);
            }
            bits.write(0, 1);
        }
        long length = payloadBytes();
        while (8 * length < bits.length()) {
            length *= 2;
        }
        return bits.padded((int) length);
    }

    /** ⌈s·q + some part of 2^64⌉. */
    private long mean(BigInteger more) {
        return Thresholds.divideUp(BigInteger.valueOf(candidates).multiply(noise).add(more),
                Entropy.ONE).longValueExact();
    }

    private static long squareRoot(long square) {
        long root = (long) Math.sqrt(square);
        while (root * root > square) {
            root--;
        }
        while ((root + 1) * (root + 1) <= square) {
            root++;
        }
        return root;
    }
}
