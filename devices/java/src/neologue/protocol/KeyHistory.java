package neologue.protocol;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import neologue.RefusalException;

/**
 * What is known of how operators' keys have replaced each other; all in hexadecimal.
 *
 * <p>A key has one successor: the first succession that was seen counts. A revocation goes before all successions of the
 * revoked key, also those that were seen before it.
 */
public final class KeyHistory {
    private static final int MOST_BYTES = 1 << 14;
    private static final int KEY_BYTES = 32;
    private static final int SIGNATURE_BYTES = 64;

    /** The new key by the old one. */
    public final Map<String, String> successions;
    /** The successor by the digest of the recovery key, a colon and the revoked key. */
    public final Map<String, String> revocations;

    /** With what is known. */
    public KeyHistory(Map<String, String> successions, Map<String, String> revocations) {
        this.successions = Collections.unmodifiableMap(successions);
        this.revocations = Collections.unmodifiableMap(revocations);
    }

    /**
     * What is known with a succession document; a RefusalException if it is none, or has a wrong signature.
     *
     * @param pins keys that are trusted from the start, each with the digest of its recovery key or null
     */
    public KeyHistory learn(byte[] document, Map<String, String> pins, Signatures signatures) {
        List<Link> links = Link.read(document);
        for (Link link : links) {
            if (!knows(link, pins) && !link.isGenuine(signatures)) {
                throw unusable("has a signature that is wrong");
            }
        }
        KeyHistory history = this;
        for (Link link : links) {
            history = history.with(link, pins);
        }
        return history;
    }

    /** The keys from a pinned one to the one that is trusted now; none if they go round in a circle. */
    public List<String> path(String pinned, String recovery) {
        List<String> path = new ArrayList<>();
        for (String key = pinned; key != null; key = successor(key, recovery)) {
            if (path.contains(key)) {
                return Collections.emptyList();
            }
            path.add(key);
        }
        return path;
    }

    /** Whether a key is trusted now in the place of one of some pinned ones. */
    public boolean trusts(String key, Map<String, String> pins) {
        for (Map.Entry<String, String> pin : pins.entrySet()) {
            if (trusts(key, pin.getKey(), pin.getValue())) {
                return true;
            }
        }
        return false;
    }

    private boolean trusts(String key, String pinned, String recovery) {
        List<String> path = path(pinned, recovery);
        return !path.isEmpty() && path.get(path.size() - 1).equals(key);
    }

    /** The keys that have ever taken the place of one, itself among them, but for revoked ones: what they signed still counts. */
    public Set<String> signers(String key) {
        Set<String> signers = new TreeSet<>(path(key, null));
        Set<String> revoked = new TreeSet<>();
        for (String revocation : revocations.keySet()) {
            signers.addAll(path(key, revocation.substring(0, revocation.indexOf(':'))));
            revoked.add(revocation.substring(revocation.indexOf(':') + 1));
        }
        signers.removeAll(revoked);
        return signers;
    }

    /** Whether a key was revoked by the recovery key with a digest. */
    public boolean isRevoked(String key, String recovery) {
        return recovery != null && revocations.containsKey(recovery + ":" + key);
    }

    private String successor(String key, String recovery) {
        return isRevoked(key, recovery) ? revocations.get(recovery + ":" + key) : successions.get(key);
    }

    /** Whether a link need not be checked, because it changes nothing. */
    private boolean knows(Link link, Map<String, String> pins) {
        if (link.recovery == null) {
            return successions.containsKey(link.older);
        }
        return !pins.containsValue(link.recovery) || isRevoked(link.older, link.recovery);
    }

    private KeyHistory with(Link link, Map<String, String> pins) {
        if (knows(link, pins)) {
            return this;
        }
        if (link.recovery != null) {
            return new KeyHistory(successions, adding(revocations, link.recovery + ":" + link.older, link.newer));
        }
        for (Map.Entry<String, String> pin : pins.entrySet()) {
            // Only from a key that is trusted now, and never back to one that was.
            if (trusts(link.older, pin.getKey(), pin.getValue()) && !path(pin.getKey(), pin.getValue()).contains(link.newer)) {
                return new KeyHistory(adding(successions, link.older, link.newer), revocations);
            }
        }
        return this;
    }

    private static Map<String, String> adding(Map<String, String> map, String key, String value) {
        Map<String, String> more = new TreeMap<>(map);
        more.put(key, value);
        return more;
    }

    private static RefusalException unusable(String what) {
        return new RefusalException(
                "the keys of the operator can't be followed: their succession " + what + "; get it anew from them");
    }

    /** One key replaced by another. */
    private static final class Link {
        final String older;
        final String newer;
        /** The digest of the recovery key, if it is a revocation. */
        final String recovery;

        private final byte[] signer;
        private final byte[] signature;
        private final byte[] message;

        private Link(byte[] content, boolean revokes) {
            byte[] keys = Arrays.copyOfRange(content, 1, 1 + 2 * KEY_BYTES);
            older = Bytes.hex(Arrays.copyOf(keys, KEY_BYTES));
            newer = Bytes.hex(Arrays.copyOfRange(keys, KEY_BYTES, keys.length));
            int start = revokes ? 1 + 2 * KEY_BYTES : 1;
            signer = Arrays.copyOfRange(content, start, start + KEY_BYTES);
            recovery = revokes ? Bytes.hex(Bytes.sha256(signer)) : null;
            signature = Arrays.copyOfRange(content, content.length - SIGNATURE_BYTES, content.length);
            String domain = revokes ? "neologue revocation v1\0" : "neologue succession v1\0";
            message = Bytes.join(domain.getBytes(StandardCharsets.US_ASCII), keys);
        }

        static List<Link> read(byte[] document) {
            if (document.length > MOST_BYTES) {
                throw unusable("is too long");
            }
            List<Link> links = new ArrayList<>();
            for (int at = 0; at < document.length; ) {
                boolean revokes = document[at] == 2;
                int end = at + 1 + (revokes ? 3 : 2) * KEY_BYTES + SIGNATURE_BYTES;
                if (!revokes && document[at] != 1 || end > document.length) {
                    throw unusable("is cut, or of a kind that this device does not know");
                }
                links.add(new Link(Arrays.copyOfRange(document, at, end), revokes));
                at = end;
            }
            return links;
        }

        boolean isGenuine(Signatures signatures) {
            return signatures.isSigned(signer, signature, message);
        }
    }
}
