package neologue.device;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.text.DecimalFormat;
import java.text.DecimalFormatSymbols;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import neologue.RefusalException;
import neologue.masking.Promise;
import neologue.protocol.Bytes;
import neologue.protocol.Decimal;
import neologue.protocol.KeyHistory;
import neologue.protocol.Layer;
import neologue.randomizers.Channel;
import neologue.randomizers.Randomizer;

/**
 * Whom a device answers, and within which limits.
 *
 * <p>A layer may be hostile: all checks are a few steps of arithmetic, and come before anything that grows with its
 * candidates. None of them looks at a word, so that whether a device answers reveals nothing.
 */
public final class Policy {
    static final String SWITCHED_OFF =
            "this device answers no campaign: its owner has switched that off, and can switch it on (enabled)";

    private static final double SMALLEST_EPSILON = 0.001;
    private static final double LARGEST_EPSILON = 20;

    final Limits limits;
    /** The operators' keys, each with the digest of its recovery key or null. */
    final Map<String, String> pins;

    /** For operators, each as 64 hexadecimal digits, perhaps with a colon and the digest of the recovery key. */
    public Policy(Collection<String> operators, Limits limits) {
        Map<String, String> read = new TreeMap<>();
        for (String operator : operators) {
            if (!operator.matches("[0-9a-f]{64}(:[0-9a-f]{64})?")) {
                throw new IllegalArgumentException("an operator is a public key of 64 lower-case hexadecimal "
                        + "digits, perhaps with a"
                        + " colon and the digest of the recovery key, not " + operator);
            }
            read.put(operator.substring(0, 64), operator.length() > 64 ? operator.substring(65) : null);
        }
        pins = Collections.unmodifiableMap(read);
        this.limits = limits.checked();
    }

    /** For operators, with the usual limits. */
    public Policy(Collection<String> operators) {
        this(operators, new Limits());
    }

    /** Refuse unless this operator may ask at all: what a device wants to know before it fetches. */
    void checkOperator(byte[] operator, KeyHistory history) {
        refuse(!limits.enabled, SWITCHED_OFF);
        String key = Bytes.hex(operator);
        String replaced = replacement(key, history);
        refuse(replaced != null, replaced);
        refuse(!history.trusts(key, pins), "the operator with the public key " + key + " is not one of the " + pins.size()
                + " that this device answers; its owner can add the key to operators");
    }

    /** What is wrong with an operator's key that another one has replaced; null if none has. */
    String replacement(String key, KeyHistory history) {
        if (history.trusts(key, pins)) {
            return null;
        }
        for (Map.Entry<String, String> pin : pins.entrySet()) {
            if (history.isRevoked(key, pin.getValue())) {
                return "the operator's key " + key + " was revoked, and this device never trusts it again: the "
                        + "service must use its"
                        + " successor";
            }
            List<String> path = history.path(pin.getKey(), pin.getValue());
            if (path.contains(key)) {
                return "the operator's key " + key + " was replaced by " + path.get(path.size() - 1)
                        + ", and this device does not go back: the service must use that one";
            }
        }
        return null;
    }

    /** Refuse a layer that asks for too much, whoever asks. */
    public void checkLayer(Layer layer) {
        checkForm(layer);
        checkPrivacy(layer);
        checkSize(layer);
        checkAnswer(layer);
    }

    /** Refuse what is promised of masks, or that nothing is if the owner wants some. */
    void checkMasks(Layer layer, Promise promise) {
        if (promise == null) {
            refuse(limits.smallestGroup > 0, "the layer asks for reports without masks, and this device sends votes only under "
                    + "masks; its owner can change smallestGroup");
            return;
        }
        refuse(promise.smallest < limits.smallestGroup, beyond(
                "sums of " + many(promise.smallest) + " devices are possible, below the " + many(limits.smallestGroup),
                "smallestGroup"));
        for (String issuer : promise.issuers) {
            refuse(!limits.issuers.isEmpty() && !limits.issuers.contains(issuer), "the issuer with the public key " + issuer
                    + " vouches for devices of groups, and is not one of the " + limits.issuers.size()
                    + " that this device trusts; its owner can add the key to issuers");
        }
        long most = (long) layer.randomizer().channel().contributions * Limits.LARGEST_GROUP;
        long bytes = (layer.size() * (Long.SIZE - Long.numberOfLeadingZeros(most)) + 7) / 8;
        refuse(bytes > limits.largestMasked, beyond(
                "votes under masks have up to " + many(bytes) + " bytes, above the " + many(limits.largestMasked),
                "largestMasked"));
    }

    /** Refuse what would take the sum of all ε above the lifetime's, exactly. */
    void checkLifetime(double cost, Collection<Double> spent) {
        BigDecimal before = sum(spent);
        BigDecimal total = before.add(new BigDecimal(cost));
        refuse(total.compareTo(new BigDecimal(limits.lifetimeEpsilon)) > 0, beyond(
                Decimal.shortest(roundUp(before)) + " of ε spent before and " + Decimal.shortest(cost) + " now make "
                        + Decimal.shortest(roundUp(total)) + ", above the " + Decimal.shortest(limits.lifetimeEpsilon)
                                + " in a lifetime",
                "lifetimeEpsilon"));
    }

    /** Refuse a list of known words that is too long, before it is parsed. */
    void checkKnown(byte[] document) {
        int words = document.length > 0 ? 1 : 0;
        for (byte each : document) {
            words += each == '\n' ? 1 : 0;
        }
        refuse(document.length > limits.largestKnown || words > limits.mostKnownWords, knownComplaint());
    }

    String knownComplaint() {
        return beyond(
                "the known words of the layer are more than the " + many(limits.mostKnownWords) + " words or the "
                        + many(limits.largestKnown) + " bytes",
                "mostKnownWords and largestKnown");
    }

    /** The exact sum of some ε. */
    static BigDecimal sum(Collection<Double> epsilons) {
        BigDecimal sum = BigDecimal.ZERO;
        for (double epsilon : epsilons) {
            sum = sum.add(new BigDecimal(epsilon));
        }
        return sum;
    }

    /** The smallest double at or above a number. */
    static double roundUp(BigDecimal value) {
        double nearest = value.doubleValue();
        return new BigDecimal(nearest).compareTo(value) >= 0 ? nearest : Math.nextUp(nearest);
    }

    /** What no policy permits. */
    private static void checkForm(Layer layer) {
        boolean usual = layer.epsilon >= SMALLEST_EPSILON && layer.epsilon <= LARGEST_EPSILON;
        refuse(!usual, "the layer's ε is no number from 0.001 to 20; no policy permits that");
        refuse(!Randomizer.NAMED.containsKey(layer.mechanism), "the layer's randomizer is not one of unary, "
                + "subset-selection, the ones"
                + " that this device can answer for; a newer neologue may know it");
        refuse(layer.size() < 1, "the layer asks about no string at all; no policy permits that");
    }

    private void checkPrivacy(Layer layer) {
        refuse(layer.epsilon > limits.largestEpsilon, beyond(
                "the layer's ε is " + Decimal.shortest(layer.epsilon) + ", above the "
                        + Decimal.shortest(limits.largestEpsilon),
                "largestEpsilon"));
        BigDecimal all = new BigDecimal(layer.epsilon).multiply(new BigDecimal(layer.bound));
        refuse(all.compareTo(new BigDecimal(limits.largestUserEpsilon)) > 0, beyond(
                many(layer.bound) + " words with an ε of " + Decimal.shortest(layer.epsilon) + " each are above the "
                        + Decimal.shortest(limits.largestUserEpsilon) + " for one report",
                "largestUserEpsilon"));
        refuse(layer.layerSize < limits.smallestLayerSize, beyond(
                "the layer asks " + many(layer.layerSize) + " users, below the " + many(limits.smallestLayerSize),
                        "smallestLayerSize"));
        int longest = Math.max(layer.depth, layer.longestPrefix());
        refuse(longest > limits.longestWord, beyond(
                "the layer asks for words of " + many(longest) + " characters, above the " + limits.longestWord,
                        "longestWord"));
        refuse(layer.targets != null && !limits.allowTargets, "only words of a list of "
                + many(layer.targets == null ? 0 : layer.targets.length)
                + " that the operator made would count, and this device answers no such question; its owner can "
                        + "allow it (allowTargets)");
    }

    private void checkSize(Layer layer) {
        refuse(layer.size() > limits.largestLayer, beyond(
                "the layer has more than the " + many(limits.largestLayer) + " candidates", "largestLayer"));
        refuse(layer.bound > limits.mostVotes, beyond(
                "a report has room for " + many(layer.bound) + " words, above the " + many(limits.mostVotes),
                        "mostVotes"));
        // Only now is it safe to work out what the randomizer does.
        long bytes = Layer.HEADER_BYTES + layer.randomizer().payloadBytes();
        refuse(bytes > limits.largestReport, beyond(
                "a report has " + many(bytes) + " bytes, above the " + many(limits.largestReport), "largestReport"));
        long votes = layer.randomizer().votes();
        refuse(votes > limits.mostVotes, beyond(
                "a report has " + many(votes) + " votes, above the " + many(limits.mostVotes), "mostVotes"));
    }

    /** What is wrong with how much a report says of one word. */
    private void checkAnswer(Layer layer) {
        Channel channel = layer.randomizer().channel();
        double mostRatio = layer.isClosed() ? limits.largestClosedVoteRatio : limits.largestVoteRatio;
        refuse(channel.voteRatioExceeds(mostRatio), beyond(
                "a vote would multiply the odds that a word is held by " + digits(channel.voteRatio(), 6)
                        + ", above the "
                        + digits(mostRatio, 6) + " for a " + (layer.isClosed() ? "list of words" : "layer"),
                layer.isClosed() ? "largestClosedVoteRatio" : "largestVoteRatio"));
        refuse(channel.silenceRatioExceeds(limits.largestSilenceRatio), beyond(
                "a missing vote would divide the odds that a word is held by " + digits(channel.silenceRatio(), 6)
                        + ", above the "
                        + digits(limits.largestSilenceRatio, 6),
                "largestSilenceRatio"));
        refuse(channel.noiseIsBelow(layer.asked(), limits.fewestNoiseVotes), beyond(
                many(layer.asked()) + " candidates are so few that chance gives "
                        + digits(channel.noise(layer.asked()), 3)
                        + " votes, below the " + digits(limits.fewestNoiseVotes, 6),
                "fewestNoiseVotes"));
        refuse(layer.isClosed() && limits.quorum == 0 && !limits.allowUnloggedLists,
                "nothing shows that others can see the list of " + many(layer.asked()) + " words that the operator asks "
                        + "about: its owner can demand a log that witnesses co-sign (quorum), or allow such lists "
                        + "(allowUnloggedLists)");
    }

    private static void refuse(boolean bad, String complaint) {
        if (bad) {
            throw new RefusalException(complaint);
        }
    }

    private static String beyond(String what, String limit) {
        return what + " that this device accepts; its owner can change " + limit;
    }

    /** A number in a few digits. */
    private static String digits(double value, int precision) {
        BigDecimal rounded = new BigDecimal(value).round(new MathContext(precision, RoundingMode.HALF_EVEN));
        return new DecimalFormat("#,##0.##########", DecimalFormatSymbols.getInstance(Locale.ROOT)).format(rounded);
    }

    /** A whole number as people read it. */
    static String many(long value) {
        return String.format(Locale.ROOT, "%,d", value);
    }
}
