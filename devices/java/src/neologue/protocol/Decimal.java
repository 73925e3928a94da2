package neologue.protocol;

import java.math.BigDecimal;
import java.math.MathContext;

/** Doubles as documents write them: the shortest decimal that reads back as the same number. */
public final class Decimal {
    private static final int SMALLEST_PLAIN_EXPONENT = -4;
    private static final int LARGEST_PLAIN_EXPONENT = 15;

    private Decimal() {}

    /** The shortest decimal; with an exponent of at least two digits if it is below 10^-4 or at least 10^16. */
    public static String shortest(double value) {
        BigDecimal shortest = new BigDecimal(value);
        for (int digits = 17; digits >= 1; digits--) {
            BigDecimal rounded = new BigDecimal(value).round(new MathContext(digits));
            if (rounded.doubleValue() != value) {
                break;
            }
            shortest = rounded;
        }
        if (value == 0) {
            return "0.0";
        }
        shortest = shortest.stripTrailingZeros();
        int exponent = shortest.precision() - shortest.scale() - 1;
        if (exponent >= SMALLEST_PLAIN_EXPONENT && exponent <= LARGEST_PLAIN_EXPONENT) {
            String plain = shortest.toPlainString();
            return plain.contains(".") ? plain : plain + ".0";
        }
        String digits = shortest.unscaledValue().abs().toString();
        String mantissa = digits.length() == 1 ? digits : digits.charAt(0) + "." + digits.substring(1);
        String sign = value < 0 ? "-" : "";
        return String.format("%s%se%s%02d", sign, mantissa, exponent < 0 ? "-" : "+", Math.abs(exponent));
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
