package neologue.protocol;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import neologue.RefusalException;
import neologue.candidates.Candidates;
import neologue.candidates.ExtendedPrefixes;
import neologue.candidates.LikelyCandidates;
import neologue.candidates.SpellingCosts;
import neologue.text.Alphabet;
import neologue.text.CodePoints;

/**
 * The document of a layer, read with suspicion: all is bounded before it is parsed, and nothing is quoted in an error.
 */
public final class LayerDocument {
    /** The version of the protocol. */
    public static final int VERSION = 2;
    /** The most bytes of a document. */
    public static final int LARGEST = 1 << 24;

    private static final int MOST_ITEMS = 1 << 21;
    private static final int MOST_CHARACTERS = 1 << 24;
    private static final int DEEPEST = 64;
    private static final String COMMON = "alphabet bound cohort depth epsilon known randomizer replaced stripped "
            + "targets version ";
    private static final String FINDING = COMMON + "found layer pass sampler ";
    private static final String EXTENDING = FINDING + "extension frontier";
    private static final String LIKELY =
            FINDING + "again backoffs contexts costs even_costs limits prefix_limits root_costs roots symbols";
    private static final String CLOSED = COMMON + "rate words";

    final byte[] digest;
    private final Map<String, Object> values;

    private LayerDocument(byte[] content) {
        digest = Bytes.sha256(content);
        values = CanonicalJson.read(content);
    }

    /** The layer of a document; or a RefusalException. */
    public static Layer read(byte[] content) {
        int commas = 0;
        for (byte each : content) {
            commas += each == ',' ? 1 : 0;
        }
        if (content.length > LARGEST || commas > MOST_ITEMS) {
            throw new RefusalException("the document has more than " + LARGEST + " bytes or " + MOST_ITEMS + " commas");
        }
        return new LayerDocument(content).layer();
    }

    private Layer layer() {
        Set<String> names = values.keySet();
        if (names.equals(fields(CLOSED)) && hasVersion()) {
            return new ClosedLayer(this);
        }
        if (names.equals(fields(LIKELY)) && hasVersion()) {
            return new FindingLayer(this, likely());
        }
        if (names.equals(fields(EXTENDING)) && hasVersion()) {
            return new FindingLayer(this, new ExtendedPrefixes(alphabet(), prefixes("frontier"), whole("extension")));
        }
        Object version = values.get("version");
        if (version instanceof Integer && !version.equals(VERSION)) {
            throw new RefusalException("the document is of version " + version
                    + " of the protocol, and this device speaks version "
                    + VERSION + "; update whichever is older");
        }
        throw new RefusalException("the bytes are not the document of a layer in version " + VERSION
                + " of the protocol");
    }

    private static Set<String> fields(String names) {
        return new HashSet<>(Arrays.asList(names.split(" ")));
    }

    private boolean hasVersion() {
        return Integer.valueOf(VERSION).equals(values.get("version"));
    }

    private Candidates likely() {
        SpellingCosts spelling =
                new SpellingCosts(alphabet(), strings("contexts"), costs("backoffs"), strings("symbols"),
                        costs("costs"));
        Object[] roots = typed("roots", Object[].class);
        Object[] rootCosts = typed("root_costs", Object[].class);
        Object[] evenCosts = typed("even_costs", Object[].class);
        LikelyCandidates candidates = new LikelyCandidates(
                spelling,
                Arrays.stream(roots).map(each -> inRoom("roots", strings("roots", each))).toArray(String[][]::new),
                Arrays.stream(rootCosts).map(each -> costs("root_costs", each)).toArray(int[][]::new),
                Arrays.stream(evenCosts).map(each -> costs("even_costs", each)).toArray(int[][]::new),
                costs("limits"),
                costs("prefix_limits"),
                costs("again"));
        require(candidates.longestPrefix() <= whole("depth"), "roots");
        return candidates;
    }

    Alphabet alphabet() {
        return new Alphabet(text("alphabet"));
    }

    /** A whole number from 1. */
    int whole(String name) {
        int number = typed(name, Integer.class);
        require(number >= 1, name);
        return number;
    }

    String text(String name) {
        return typed(name, String.class);
    }

    /** A name of small letters and hyphens. */
    String name(String name) {
        String text = text(name);
        require(text.matches("[a-z-]{1,32}"), name);
        return text;
    }

    double decimal(String name) {
        double value = Decimal.parse(text(name));
        require(!Double.isNaN(value), name);
        return value;
    }

    String digest(String name) {
        String text = text(name);
        require(Bytes.unhex(text, 32) != null, name);
        return text;
    }

    String[] strings(String name) {
        return strings(name, values.get(name));
    }

    boolean isNull(String name) {
        return values.get(name) == null;
    }

    /** Strings in order, none of them twice. */
    String[] set(String name) {
        String[] strings = strings(name);
        require(CodePoints.ascend(strings), name);
        return strings;
    }

    /** Prefixes or words, which take no more room than a device has. */
    String[] prefixes(String name) {
        return inRoom(name, strings(name));
    }

    private static String[] inRoom(String name, String[] strings) {
        int longest = Arrays.stream(strings).mapToInt(CodePoints::length).max().orElse(0);
        require(longest <= DEEPEST && (long) longest * strings.length <= MOST_CHARACTERS, name);
        return strings;
    }

    private int[] costs(String name) {
        return costs(name, values.get(name));
    }

    private static int[] costs(String name, Object value) {
        if (isEmpty(value)) {
            return new int[0];
        }
        require(value instanceof int[], name);
        require(Arrays.stream((int[]) value).allMatch(each -> each <= SpellingCosts.NEVER), name);
        return (int[]) value;
    }

    private static String[] strings(String name, Object value) {
        if (isEmpty(value)) {
            return new String[0];
        }
        require(value instanceof String[], name);
        return (String[]) value;
    }

    private static boolean isEmpty(Object value) {
        return value instanceof Object[] && ((Object[]) value).length == 0;
    }

    private <T> T typed(String name, Class<T> type) {
        require(type.isInstance(values.get(name)), name);
        return type.cast(values.get(name));
    }

    static void require(boolean usable, String name) {
        if (!usable) {
            throw new RefusalException("the document describes no layer: its " + name + " can't be used");
        }
    }
}
