package neologue.device;

import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;

/** The limits that the owner of a device sets, whatever a server says; docs/device-policy.md has the reasons. */
public final class Limits {
    private static final double MOST_EPSILON = 1_000_000;
    private static final double MOST_RATIO = 1e9;
    private static final int LARGEST_LAYER = 1 << 27;
    private static final int LARGEST_NUMBER = 1 << 30;
    /** The most devices of a group. */
    static final int LARGEST_GROUP = 2000;

    /** Whether anything is answered at all. */
    public boolean enabled = true;
    /** The largest local ε of one word in one report. */
    public double largestEpsilon = 10;
    /** The largest B·ε: that of all words of one report together. */
    public double largestUserEpsilon = 600;
    /** The largest sum of the local ε of all campaigns ever answered. */
    public double lifetimeEpsilon = 20;
    /** The fewest users that a layer may say it asks. */
    public int smallestLayerSize = 100;
    /** The most characters of a word that may count. */
    public int longestWord = 32;
    /** The most candidates of a layer. */
    public int largestLayer = 1 << 24;
    /** The most bytes of a report. */
    public int largestReport = 10_000;
    /** The most votes of a report, and words it has room for. */
    public int mostVotes = 1 << 20;
    /** The most that one vote may multiply the odds by that a word is held. */
    public double largestVoteRatio = 22_100;
    /** The same where the operator lists whole words. */
    public double largestClosedVoteRatio = 50;
    /** The most that a missing vote may divide these odds by. */
    public double largestSilenceRatio = 4;
    /** The fewest votes that chance alone must give, on average. */
    public double fewestNoiseVotes = 3;
    /** Whether an operator may list the only words that count. */
    public boolean allowTargets = false;
    /** Whether an operator may ask about a list of whole words that is in no log which a quorum co-signed. */
    public boolean allowUnloggedLists = false;
    /** The public keys, in hexadecimal, of those who may vouch for devices of groups; if empty, whom the operator names. */
    public List<String> issuers = Collections.emptyList();
    /** The fewest devices whose votes may be summed under masks; 0 answers layers without masks too. */
    public int smallestGroup = 0;
    /** The most bytes of votes under masks. */
    public int largestMasked = 1 << 22;
    /** The most known words of a layer. */
    public int mostKnownWords = 1 << 20;
    /** The most bytes of the list of them. */
    public int largestKnown = 1 << 24;
    /** The public keys, in hexadecimal, of the logs in which a layer must be that is answered. */
    public List<String> logs = Collections.emptyList();
    /** The public keys of witnesses of these logs. */
    public List<String> witnesses = Collections.emptyList();
    /** How many of the witnesses must have co-signed that the layer is in a log; with 0, it need be in none. */
    public int quorum = 0;

    /** The same limits, checked. */
    Limits checked() {
        check("largestEpsilon", largestEpsilon, Double.MIN_VALUE, MOST_EPSILON);
        check("largestUserEpsilon", largestUserEpsilon, Double.MIN_VALUE, MOST_EPSILON);
        check("lifetimeEpsilon", lifetimeEpsilon, Double.MIN_VALUE, MOST_EPSILON);
        check("smallestLayerSize", smallestLayerSize, 1, LARGEST_NUMBER);
        check("longestWord", longestWord, 1, 64);
        check("largestLayer", largestLayer, 1, LARGEST_LAYER);
        check("largestReport", largestReport, 100, LARGEST_NUMBER);
        check("mostVotes", mostVotes, 1, LARGEST_LAYER);
        check("largestVoteRatio", largestVoteRatio, 1, MOST_RATIO);
        check("largestClosedVoteRatio", largestClosedVoteRatio, 1, MOST_RATIO);
        check("largestSilenceRatio", largestSilenceRatio, 1, MOST_RATIO);
        check("fewestNoiseVotes", fewestNoiseVotes, 0, LARGEST_LAYER);
        check("mostKnownWords", mostKnownWords, 0, LARGEST_NUMBER);
        check("largestKnown", largestKnown, 0, LARGEST_NUMBER);
        check("smallestGroup", smallestGroup, 0, LARGEST_GROUP);
        check("largestMasked", largestMasked, 100, LARGEST_NUMBER);
        check("quorum", quorum, 0, witnesses.size());
        for (List<String> keys : Arrays.asList(logs, witnesses, issuers)) {
            boolean right = new HashSet<>(keys).size() == keys.size();
            for (String key : keys) {
                right &= key.matches("[0-9a-f]{64}");
            }
            if (!right || quorum > 0 && logs.isEmpty()) {
                throw new IllegalArgumentException("logs, witnesses and issuers are public keys of 64 lower-case hexadecimal "
                        + "digits, each once, and a quorum needs logs and witnesses: add them to the limits");
            }
        }
        return this;
    }

    private static void check(String name, double value, double least, double most) {
        boolean within = value >= least && value <= most;
        if (!within) {
            throw new IllegalArgumentException(
                    "the limit " + name + " can't be " + value + "; docs/device-policy.md has the limits");
        }
    }
}
