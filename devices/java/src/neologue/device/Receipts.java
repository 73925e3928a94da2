package neologue.device;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.time.LocalDate;
import java.util.Locale;
import neologue.protocol.Decimal;
import neologue.protocol.Layer;

/**
 * What leaves a device and what it can reveal, in plain words for its owner; limits round up, what is left rounds down.
 */
final class Receipts {
    private static final int DIGITS = 6;

    private Receipts() {}

    /** For a report of so many bytes; `spent` is the device's ε with it, of its lifetime's. */
    static String made(long day, String campaign, String operator, Layer layer, int size, double spent,
            double lifetime) {
        String asked = layer.isClosed()
                ? "words that the operator chose, and some that stand for all other words"
                : "beginnings of words and whole words that the operator chose";
        String targets = layer.targets == null
                ? ""
                : "Only words of a list of " + Policy.many(layer.targets.length)
                        + " that the operator made can be among yours. ";
        return "On " + date(day) + " this device made a report of " + Policy.many(size) + " bytes for the operator "
                + operator.substring(0, 16) + "… and the campaign " + campaign.substring(0, 16)
                        + "…: randomized votes on "
                + Policy.many(layer.size()) + " candidates, " + asked + ". " + targets
                + noise(layer.randomizer().channel().noise(layer.size())) + " "
                + "Any single word you typed changes the probability of what it says by at most a factor of e^"
                + atMost(layer.epsilon) + "; all your words together, of which it is about at most "
                        + Policy.many(layer.bound)
                + ", by e^" + atMost(layer.bound * layer.epsilon) + ". According to the operator, "
                + Policy.many(layer.layerSize - 1L) + " other devices were asked the same. With this report the "
                        + "device has spent an ε of "
                + atMost(spent) + " of the " + atLeast(lifetime) + " in its lifetime: "
                        + atLeast(Math.max(lifetime - spent, 0))
                + " is left.";
    }

    /** For a report that was counted. */
    static String counted(long day, String campaign) {
        return "On " + date(day) + " the service confirmed that the report for the campaign " + campaign.substring(0,
                16)
                + "… was counted; its bytes were erased from this device.";
    }

    /** For a report that will not be sent again, and of which it is unknown whether it was counted. */
    static String abandoned(long day, String campaign) {
        return "On " + date(day) + " the report for the campaign " + campaign.substring(0, 16)
                + "… was given up without a confirmation that it was counted; its bytes were erased from this "
                        + "device, and no other is"
                + " made for this campaign.";
    }

    private static String noise(double votes) {
        String about = "less than 0.01";
        if (votes >= 10) {
            about = "about " + Policy.many(Math.round(votes));
        } else if (votes >= 0.01) {
            about = "about " + new BigDecimal(votes).round(new MathContext(2)).toPlainString();
        }
        String hides = votes < 1 ? " So little hides hardly anything: whoever reads a vote may take it for yours." : "";
        return String.format(Locale.ROOT, "Chance alone gives %s of such votes, whatever you typed.%s", about, hides);
    }

    private static String atMost(double value) {
        return rounded(value, RoundingMode.CEILING);
    }

    private static String atLeast(double value) {
        return rounded(value, RoundingMode.FLOOR);
    }

    private static String rounded(double value, RoundingMode mode) {
        BigDecimal digits = new BigDecimal(Decimal.shortest(value)).round(new MathContext(DIGITS, mode));
        return digits.signum() == 0 ? "0" : digits.stripTrailingZeros().toPlainString();
    }

    private static String date(long day) {
        return LocalDate.ofEpochDay(day).toString();
    }
}
