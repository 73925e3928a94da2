package neologue.randomizers;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.function.UnaryOperator;

/**
 * The integers that follow from e^ε, rounded so that the real ε never exceeds the stated one; ε is the double as it is.
 */
final class Thresholds {
    private static final int BITS = 320;
    private static final BigInteger UNIT = BigInteger.ONE.shiftLeft(BITS);
    /** Above what the terms of the series lose by rounding. */
    private static final BigInteger ERROR = BigInteger.ONE.shiftLeft(60);

    private Thresholds() {}

    /** ⌈2^64/(e^ε+1)⌉: the numerator of q in unary encoding. */
    static BigInteger noise(double epsilon) {
        return decide(epsilon, power -> divideUp(UNIT.shiftLeft(64), power.add(UNIT)));
    }

    /** ⌈s/(e^ε+1)⌉: the size of a subset of a domain of s. */
    static int subsetSize(double epsilon, long domain) {
        return decide(epsilon, power -> divideUp(UNIT.multiply(BigInteger.valueOf(domain)),
                power.add(UNIT))).intValueExact();
    }

    /** ⌊2^64·d·e^ε/(d·e^ε+s-d)⌋: the numerator of p in Subset Selection. */
    static BigInteger truth(double epsilon, long domain, int size) {
        return decide(epsilon, power -> {
            BigInteger weight = power.multiply(BigInteger.valueOf(size));
            return weight.shiftLeft(64).divide(weight.add(UNIT.multiply(BigInteger.valueOf(domain - size))));
        });
    }

    static BigInteger divideUp(BigInteger dividend, BigInteger divisor) {
        return dividend.add(divisor).subtract(BigInteger.ONE).divide(divisor);
    }

    /** What a function gives for e^ε·2^BITS, which must be the same for both bounds on it. */
    private static BigInteger decide(double epsilon, UnaryOperator<BigInteger> function) {
        BigInteger below = powerBelow(epsilon);
        BigInteger decided = function.apply(below);
        if (!decided.equals(function.apply(below.add(ERROR)))) {
            throw new ArithmeticException("320 bits of e^ε do not decide a threshold");
        }
        return decided;
    }

    /** A bound below e^ε·2^BITS, by its series; all terms are rounded down. */
    private static BigInteger powerBelow(double epsilon) {
        BigInteger exponent = new BigDecimal(epsilon).multiply(new BigDecimal(UNIT)).toBigInteger();
        BigInteger sum = BigInteger.ZERO;
        BigInteger term = UNIT;
        for (int i = 1; term.signum() > 0; i++) {
            sum = sum.add(term);
            term = term.multiply(exponent).shiftRight(BITS).divide(BigInteger.valueOf(i));
        }
        return sum;
    }
}
