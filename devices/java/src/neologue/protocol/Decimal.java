package neologue.protocol;

import java.math.BigDecimal;
import java.math.MathContext;

/** Doubles as documents write them, and releases: the shortest decimal that reads back as the same number. */
public final class Decimal {
    private static final int SMALLEST_PLAIN_EXPONENT = -4;
    private static final int LARGEST_PLAIN_EXPONENT = 15;
    private static final int SMALLEST_ECMA_EXPONENT = -6;
    private static final int LARGEST_ECMA_EXPONENT = 20;
    private static final double LARGEST_EXACT = 1L << 53;

    private Decimal() {}

    /** The fewest digits that read back as the same number, which is not 0. */
    static BigDecimal digits(double value) {
        BigDecimal exact = new BigDecimal(value);
        BigDecimal shortest = exact;
        for (int digits = 17; digits >= 1; digits--) {
            BigDecimal rounded = exact.round(new MathContext(digits));
            if (rounded.doubleValue() != value) {
                break;
            }
            shortest = rounded;
        }
        return shortest.stripTrailingZeros();
    }

    /** The shortest decimal; with an exponent of at least two digits if it is below 10^-4 or at least 10^16. */
    public static String shortest(double value) {
        if (value == 0) {
            return "0.0";
        }
        BigDecimal shortest = digits(value);
        int exponent = shortest.precision() - shortest.scale() - 1;
        if (exponent >= SMALLEST_PLAIN_EXPONENT && exponent <= LARGEST_PLAIN_EXPONENT) {
            String plain = shortest.toPlainString();
            return plain.contains(".") ? plain : plain + ".0";
        }
        return scientific(shortest, exponent, Math.abs(exponent) < 10 ? "0" : "");
    }

    private static String scientific(BigDecimal digits, int exponent, String zero) {
        String text = digits.unscaledValue().abs().toString();
        String sign = digits.signum() < 0 ? "-" : "";
        return sign + text.charAt(0) + (text.length() > 1 ? "." + text.substring(1) : "") + (exponent < 0 ? "e-" : "e+")
                + zero + Math.abs(exponent);
    }

    /** As ECMAScript and RFC 8785 write a number: without a point if it is whole, up to 10^21. */
    static String ecmaScript(double value) {
        if (value == Math.rint(value) && Math.abs(value) < LARGEST_EXACT) {
            return Long.toString((long) value);
        }
        BigDecimal digits = digits(value);
        int exponent = digits.precision() - digits.scale() - 1;
        if (exponent > LARGEST_ECMA_EXPONENT || exponent < SMALLEST_ECMA_EXPONENT) {
            return scientific(digits, exponent, "");
        }
        return digits.toPlainString();
    }

    /** The number of a shortest decimal; NaN if it is written in another way. */
    public static double parse(String text) {
        if (!text.matches("[0-9.e+-]{1,32}")) {
            return Double.NaN;
        }
        try {
            double value = Double.parseDouble(text);
            return !Double.isInfinite(value) && shortest(value).equals(text) ? value : Double.NaN;
        } catch (NumberFormatException error) {
            return Double.NaN;
        }
    }
}
