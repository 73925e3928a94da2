package neologue.device;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import neologue.masking.Promise;
import neologue.protocol.Bytes;
import neologue.protocol.Json;
import neologue.protocol.KeyHistory;
import neologue.protocol.Signatures;
import neologue.storage.Answer;

/**
 * Whether a published release has the layer that this device answered, and says of it what the device was told.
 *
 * <p>Everything is checked on the device, for its owner alone; nothing is sent anywhere. What came of the votes it can't show.
 */
final class ReleaseCheck {
    private static final double FORMAT = 3;
    private static final int SIGNATURE_BYTES = 64;

    private final Map<?, ?> release;

    private ReleaseCheck(Map<?, ?> release) {
        this.release = release;
    }

    /** The release in the bytes of a release.json; or an IllegalArgumentException. */
    static ReleaseCheck read(byte[] content) {
        try {
            String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(content)).toString();
            Map<?, ?> release = (Map<?, ?>) Json.read(text);
            if (Double.valueOf(FORMAT).equals(release.get("format"))) {
                return new ReleaseCheck(release);
            }
        } catch (CharacterCodingException | IllegalArgumentException | ClassCastException error) {
            // It is none.
        }
        throw unusable();
    }

    /** What is wrong with it, in sentences; none if it has the layer that was answered, as the device was told. */
    List<String> objections(List<Answer> answers, KeyHistory keys, Signatures signatures) {
        List<String> objections = new ArrayList<>();
        try {
            for (Answer answer : answers) {
                if (answer.campaign.equals(release.get("campaign"))) {
                    compare(answer, keys.signers(answer.operator), signatures, objections);
                    return objections;
                }
            }
        } catch (IllegalArgumentException | ClassCastException | NullPointerException error) {
            throw unusable();
        }
        objections.add("this device has answered nothing in the campaign that the release is of");
        return objections;
    }

    private void compare(Answer answer, Set<String> signers, Signatures signatures, List<String> objections) {
        if (!isSigned(signers, signatures)) {
            objections.add("the release is not signed by the operator who asked this device, nor by a key that is known to have "
                    + "taken the place of theirs");
        }
        List<Object> layers = new ArrayList<>((List<?>) release.get("layers"));
        layers.add(release.get("measurement"));
        boolean found = false;
        for (Object layer : layers) {
            found |= layer != null && answer.layer.equals(((Map<?, ?>) layer).get("digest"));
        }
        if (!found) {
            objections.add("the layer that this device answered, " + answer.layer.substring(0, 16)
                    + "…, is not among those of the release");
        }
        Map<?, ?> parameters = (Map<?, ?>) release.get("parameters");
        // Reports to later layers may speak of fewer words than the most of the campaign, which the release states.
        if ((Double) parameters.get("epsilon") != answer.epsilon || (Double) parameters.get("words_per_user") < answer.bound) {
            objections.add("the release states another ε, or fewer words per user, than this device was told");
        }
        Map<?, ?> masked = (Map<?, ?>) ((Map<?, ?>) release.get("exposure")).get("masked");
        boolean both = masked != null && answer.masked != null;
        boolean kept = both && new Promise(Bytes.unhex(answer.masked, -1)).isKeptBy(masked);
        if (!kept && (masked != null || answer.masked != null)) {
            objections.add("the release states other masks than this device was promised, or none where it was promised some");
        }
    }

    /** Whether one of some keys has signed the digest of the release: SHA-256 of its form by RFC 8785 without these two. */
    private boolean isSigned(Set<String> signers, Signatures signatures) {
        Map<Object, Object> said = new HashMap<>(release);
        said.remove("digest");
        Object signature = said.remove("signature");
        if (!(signature instanceof Map)) {
            return false;
        }
        Object key = ((Map<?, ?>) signature).get("key");
        byte[] value = Bytes.unhex(((Map<?, ?>) signature).get("value"), SIGNATURE_BYTES);
        byte[] digest = Bytes.sha256(Json.write(said).getBytes(StandardCharsets.UTF_8));
        byte[] message = Bytes.join("neologue release v1\0".getBytes(StandardCharsets.UTF_8), digest);
        return value != null && signers.contains(key) && signatures.isSigned(Bytes.unhex(key, -1), value, message);
    }

    private static IllegalArgumentException unusable() {
        return new IllegalArgumentException("the bytes are no release of format 3, which has the digests of layers, and no name "
                + "twice in one object: give a release.json");
    }
}
