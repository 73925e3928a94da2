package neologue.device;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.time.LocalDate;
import java.util.Locale;
import neologue.masking.Promise;
import neologue.masking.Terms;
import neologue.protocol.Bytes;
import neologue.protocol.Decimal;
import neologue.protocol.Layer;

/**
 * What leaves a device and what it can reveal, in plain words for its owner; limits round up, what is left rounds down.
 */
final class Receipts {
    private static final int DIGITS = 6;

    private Receipts() {}

    /**
     * For a report of so many bytes, or for votes that leave under masks if something is promised of these; `spent` is the
     * device's ε with it, of its lifetime's.
     */
    static String made(long day, String campaign, String operator, Layer layer, int size, Promise promise, double spent,
            double lifetime) {
        String whom = "for the operator " + operator.substring(0, 16) + "… and the campaign " + campaign.substring(0, 16);
        String how = promise == null
                ? "this device made a report of " + Policy.many(size) + " bytes " + whom + "…:"
                : "this device made its votes " + whom + "…, which leave it only under masks: an operator that keeps to the "
                        + "protocol reads sums of at least " + Policy.many(promise.smallest)
                        + " devices and no single votes. They are";
        String asked = layer.isClosed()
                ? "words that the operator chose, and some that stand for all other words"
                : "beginnings of words and whole words that the operator chose";
        String targets = layer.targets == null
                ? ""
                : "Only words of a list of " + Policy.many(layer.targets.length)
                        + " that the operator made can be among yours. ";
        return "On " + date(day) + " " + how + " randomized votes on " + Policy.many(layer.size()) + " candidates, " + asked + ". " + targets
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

    /** For votes that leave under masks, and what can be read of them. */
    static String masked(long day, Terms terms, int size) {
        return "On " + date(day) + " this device masked its votes, " + Policy.many(size) + " bytes, for the group "
                + Bytes.hex(terms.group).substring(0, 16) + "…: only their sum with those of others can be read, of at least "
                + Policy.many(terms.smallest) + " devices together, if not more than " + Policy.many(terms.corrupt)
                + " of these work with the operator and those who admit devices do not.";
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
