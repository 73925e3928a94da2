package neologue.masking;

import java.math.BigDecimal;
import java.math.BigInteger;
import neologue.RefusalException;

/**
 * How many neighbours a device of a group has, and how many of them it takes to give one of its secrets back.
 *
 * <p>The smallest number of neighbours, and then the largest threshold, such that corrupt devices know no secret and no part of
 * the sum but for one circle in 2^104, and dropouts cost one group in 2^30. All sums are of integers, without rounding.
 */
final class Neighbourhood {
    static final int SMALLEST_GROUP = 3;
    static final int LARGEST_GROUP = 2000;
    private static final int LARGEST_RATE = 30;
    private static final int SECURITY_BITS = 104;
    private static final int CORRECTNESS_BITS = 30;

    /** The neighbours of a device, k. */
    final int degree;
    /** The shares that give a secret back, t. */
    final int threshold;

    private Neighbourhood(int degree, int threshold) {
        this.degree = degree;
        this.threshold = threshold;
    }

    /** In a group of this size, where so many per cent drop out and so many devices are corrupt. */
    static Neighbourhood of(int size, int dropout, int corrupt) {
        check(size, dropout, corrupt);
        int dropped = (size * dropout + 99) / 100;
        if (size - dropped - corrupt >= 2) {
            for (int degree = 2; degree < size; degree = Math.max(degree + 1, Math.min(degree + 2, size - 1))) {
                int threshold = largestThreshold(size, degree, dropped);
                if (threshold > 0 && isSecure(size, degree, threshold, corrupt)) {
                    return new Neighbourhood(degree, threshold);
                }
            }
        }
        throw new RefusalException("a group of " + size + " with " + dropped + " dropouts and " + corrupt
                + " corrupt devices can't be protected");
    }

    /** Refuse numbers that no group can have. */
    static void check(int size, int dropout, int corrupt) {
        boolean possible = size >= SMALLEST_GROUP && size <= LARGEST_GROUP && dropout <= LARGEST_RATE
                && corrupt <= LARGEST_GROUP;
        if (!possible) {
            throw new RefusalException("a group has 3 to 2,000 devices, at most 30 per cent of dropouts, and at most 2,000 "
                    + "corrupt devices");
        }
    }

    /** The most shares that are at hand for every secret, but for one group in 2^30; 0 if there are none. */
    private static int largestThreshold(int size, int degree, int dropped) {
        BigInteger allowed = choose(size - 1, degree).shiftRight(CORRECTNESS_BITS);
        BigInteger lost = BigInteger.ZERO;
        BigInteger[] ways = ways(size - 1, degree, dropped);
        for (int missing = ways.length - 1; missing >= 0; missing--) {
            lost = lost.add(ways[missing].multiply(BigInteger.valueOf(size)));
            if (lost.compareTo(allowed) > 0) {
                return degree - missing;
            }
        }
        return degree;
    }

    private static boolean isSecure(int size, int degree, int threshold, int corrupt) {
        if (degree == size - 1) {
            return corrupt < threshold;
        }
        int half = degree / 2;
        if (threshold <= half) {
            return false;
        }
        BigInteger circles = choose(size - 1, degree);
        BigInteger stretches = choose(size, half).pow(2);
        BigInteger known = BigInteger.valueOf(size - corrupt).multiply(tail(size - 1, degree, corrupt, threshold));
        BigInteger cut = choose(size, 2).multiply(tail(size, half, corrupt, threshold - half).pow(2));
        BigInteger bad = known.multiply(stretches).add(cut.multiply(circles)).shiftLeft(SECURITY_BITS);
        return bad.compareTo(circles.multiply(stretches)) <= 0;
    }

    /** In how many draws from some devices at least so many are marked. */
    private static BigInteger tail(int devices, int drawn, int marked, int least) {
        BigInteger[] ways = ways(devices, drawn, marked);
        BigInteger sum = BigInteger.ZERO;
        for (int number = least; number < ways.length; number++) {
            sum = sum.add(ways[number]);
        }
        return sum;
    }

    /** In how many draws from some devices so many are marked, by this number. */
    private static BigInteger[] ways(int devices, int drawn, int marked) {
        int others = devices - marked;
        int most = Math.min(marked, drawn);
        BigInteger[] ways = new BigInteger[most + 1];
        BigInteger next = choose(marked, most).multiply(choose(others, drawn - most));
        for (int number = most; number >= 0; number--) {
            ways[number] = next;
            next = next.multiply(BigInteger.valueOf((long) number * (others - drawn + number)))
                    .divide(BigInteger.valueOf((marked - number + 1L) * (drawn - number + 1L)));
        }
        return ways;
    }

    private static BigInteger choose(int from, int count) {
        BigInteger ways = count > from ? BigInteger.ZERO : BigInteger.ONE;
        for (int i = 0; i < count && i < from; i++) {
            ways = ways.multiply(BigInteger.valueOf(from - i)).divide(BigInteger.valueOf(i + 1));
        }
        return ways;
    }

    /**
     * The number that the corrupt devices of none of some groups exceed, but for a risk: each device of a group is corrupt with
     * a chance of `share` per cent. In whole numbers, so that nothing is rounded.
     */
    static int mostCorrupt(int size, int share, double risk, int groups) {
        if (share == 0) {
            return 0;
        }
        // Ways over 100^size, against risk / groups.
        BigDecimal allowed = new BigDecimal(risk).multiply(BigDecimal.valueOf(100).pow(size));
        BigInteger ways = BigInteger.valueOf(share).pow(size);
        BigInteger above = BigInteger.ZERO;
        for (int number = size; number > 0; number--) {
            above = above.add(ways);
            if (new BigDecimal(above).multiply(BigDecimal.valueOf(groups)).compareTo(allowed) > 0) {
                return number;
            }
            ways = ways.multiply(BigInteger.valueOf((long) number * (100 - share)))
                    .divide(BigInteger.valueOf((long) (size - number + 1) * share));
        }
        return 0;
    }
}
