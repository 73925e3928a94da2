package neologue.randomizers;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;

/**
 * The chances of a vote for a candidate that is held, p, and for one that is not, q, as integers over a common number.
 */
public final class Channel {
    /** Numerator of p. */
    public final BigInteger held;
    /** Numerator of q. */
    public final BigInteger other;
    /** Denominator of both. */
    public final BigInteger of;
    /** The contributions to one report. */
    public final int contributions;

    Channel(BigInteger held, BigInteger other, BigInteger of, int contributions) {
        this.held = held;
        this.other = other;
        this.of = of;
        this.contributions = contributions;
    }

    /** Whether one vote multiplies the odds that a word is held by more than a limit: p/q. */
    public boolean voteRatioExceeds(double limit) {
        return exceeds(held, other, limit);
    }

    /** Whether a missing vote divides these odds by more than a limit: (1-q)/(1-p). */
    public boolean silenceRatioExceeds(double limit) {
        return exceeds(of.subtract(other), of.subtract(held), limit);
    }

    /** Whether chance gives fewer votes for so many candidates than a limit, on average. */
    public boolean noiseIsBelow(long candidates, double limit) {
        return new BigDecimal(noiseNumerator(candidates)).compareTo(new BigDecimal(of).multiply(new BigDecimal(limit))) < 0;
    }

    /** p/q, rounded. */
    public double voteRatio() {
        return quotient(held, other);
    }

    /** (1-q)/(1-p), rounded. */
    public double silenceRatio() {
        return quotient(of.subtract(other), of.subtract(held));
    }

    /** The votes that chance gives for so many candidates, on average. */
    public double noise(long candidates) {
        return quotient(noiseNumerator(candidates), of);
    }

    private BigInteger noiseNumerator(long candidates) {
        return other.multiply(BigInteger.valueOf(candidates)).multiply(BigInteger.valueOf(contributions));
    }

    private static boolean exceeds(BigInteger numerator, BigInteger denominator, double limit) {
        return new BigDecimal(numerator).compareTo(new BigDecimal(denominator).multiply(new BigDecimal(limit))) > 0;
    }

    private static double quotient(BigInteger numerator, BigInteger denominator) {
        return new BigDecimal(numerator).divide(new BigDecimal(denominator), MathContext.DECIMAL128).doubleValue();
    }
}
