package neologue.random;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Exact draws from Bin(n, k/2^64), in work of the order of its spread.
 *
 * <p>Random bits are compared with integers that enclose the distribution function; more bits are taken, with tighter
 * bounds, whenever those at hand do not decide. A rounded table would have zeros in its tail, and an output that one input
 * can give and another can't has an unbounded likelihood ratio.
 */
public final class Binomial {
    private static final int FIRST_BITS = 128;
    private static final int GUARD_BITS = 40;
    /** A weight of less than a millionth of a unit ends an arm; its rounding up is still far from showing. */
    private static final BigInteger NEGLIGIBLE = BigInteger.ONE.shiftLeft(GUARD_BITS / 2);

    private Binomial() {}

    /** One draw, with 0 < numerator < 2^64. */
    public static int draw(int trials, BigInteger numerator, Entropy entropy) {
        if (trials == 0) {
            return 0;
        }
        BigInteger drawn = entropy.integer(FIRST_BITS);
        for (int bits = FIRST_BITS; ; bits *= 2) {
            int outcome = new Enclosure(trials, numerator, bits).outcome(drawn);
            if (outcome >= 0) {
                return outcome;
            }
            drawn = drawn.shiftLeft(bits).or(entropy.integer(bits));
        }
    }

    private static BigInteger divideUp(BigInteger dividend, BigInteger divisor) {
        return dividend.add(divisor).subtract(BigInteger.ONE).divide(divisor);
    }

    /** Integers around 2^bits · P(X ≤ j), for j = first - 1, first, first + 1, … */
    private static final class Enclosure {
        private final int first;
        private final List<BigInteger> lower = new ArrayList<>();
        private final List<BigInteger> upper = new ArrayList<>();

        Enclosure(int trials, BigInteger success, int bits) {
            BigInteger failure = Entropy.ONE.subtract(success);
            int mode = BigInteger.valueOf(trials
                    + 1L).multiply(success).shiftRight(64).min(BigInteger.valueOf(trials)).intValue();
            BigInteger peak = BigInteger.ONE.shiftLeft(bits + GUARD_BITS);
            Arm left = new Arm(peak);
            for (int j = mode; j > 0 && !left.ended; j--) {
                left.step(BigInteger.valueOf(j).multiply(failure), BigInteger.valueOf(trials - j
                        + 1L).multiply(success));
            }
            Arm right = new Arm(peak);
            for (int j = mode; j < trials && !right.ended; j++) {
                right.step(BigInteger.valueOf(trials - j).multiply(success), BigInteger.valueOf(j
                        + 1L).multiply(failure));
            }
            first = mode - left.lower.size();
            scale(left, peak, right, bits);
        }

        private void scale(Arm left, BigInteger peak, Arm right, int bits) {
            List<BigInteger> least = weights(BigInteger.ZERO, left.lower, peak, right.lower);
            List<BigInteger> most = weights(left.beyond, left.upper, peak, right.upper);
            BigInteger lowest = BigInteger.ZERO;
            BigInteger highest = right.beyond;
            for (int i = 0; i < least.size(); i++) {
                lowest = lowest.add(least.get(i));
                highest = highest.add(most.get(i));
            }
            BigInteger low = BigInteger.ZERO;
            BigInteger high = BigInteger.ZERO;
            for (int i = 0; i < least.size(); i++) {
                low = low.add(least.get(i));
                high = high.add(most.get(i));
                lower.add(low.shiftLeft(bits).divide(low.add(highest).subtract(high)));
                upper.add(divideUp(high.shiftLeft(bits), high.add(lowest).subtract(low)));
            }
        }

        private static List<BigInteger> weights(
                BigInteger beyond, List<BigInteger> left, BigInteger peak, List<BigInteger> right) {
            List<BigInteger> weights = new ArrayList<>(left);
            weights.add(beyond);
            Collections.reverse(weights);
            weights.add(peak);
            weights.addAll(right);
            return weights;
        }

        /** The outcome that every extension of these random bits leads to, or -1. */
        int outcome(BigInteger drawn) {
            for (int i = 0; i < upper.size(); i++) {
                if (drawn.compareTo(upper.get(i)) < 0) {
                    return i > 0 && drawn.compareTo(lower.get(i)) < 0 ? first - 1 + i : -1;
                }
            }
            return -1;
        }
    }

    /** Weights on one side of the mode, rounded down and up, and a bound on the sum of all beyond them. */
    private static final class Arm {
        final List<BigInteger> lower = new ArrayList<>();
        final List<BigInteger> upper = new ArrayList<>();
        BigInteger beyond = BigInteger.ZERO;
        boolean ended;
        private BigInteger low;
        private BigInteger high;

        Arm(BigInteger peak) {
            low = peak;
            high = peak;
        }

        /** Go on by the ratio of two neighbouring probabilities, which only falls on the way. */
        void step(BigInteger numerator, BigInteger denominator) {
            if (high.compareTo(NEGLIGIBLE) <= 0) {
                // All further ratios are below this one, so a geometric series bounds what is left.
                beyond = divideUp(high.multiply(numerator), denominator.subtract(numerator));
                ended = true;
                return;
            }
            low = low.multiply(numerator).divide(denominator);
            high = divideUp(high.multiply(numerator), denominator);
            lower.add(low);
            upper.add(high);
        }
    }
}
