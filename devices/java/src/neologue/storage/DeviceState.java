package neologue.storage;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import neologue.protocol.Bytes;
import neologue.protocol.Checkpoint;
import neologue.protocol.Decimal;
import neologue.protocol.Invitation;
import neologue.protocol.Json;
import neologue.protocol.KeyHistory;

/** All that a device must not forget, and that holds no words. */
public final class DeviceState {
    /** Of a record that may have votes for masks: no version that does not know them may read it. */
    private static final double FORMAT = 2;
    private static final double FORMAT_WITHOUT_MASKS = 1;

    /** Whether the owner has agreed. */
    public boolean optedIn;
    /** Of the campaign that was joined; null if none was. */
    public String credential;
    /** What it has answered, or tried to. */
    public Invitation answered;
    /** How the campaign came to its end: final, closed or over. */
    public String ended;
    /** The campaigns that were ever answered, and what they cost; nothing erases these. */
    public List<Answer> answers = new ArrayList<>();
    /** By campaign, the report until it is final or of no more use. */
    public Map<String, String> reports = new TreeMap<>();
    /** By campaign whose votes were masked, the identity of the one group that may have them; nothing erases these. */
    public Map<String, String> maskings = new TreeMap<>();
    /** Sentences for the owner, the oldest first. */
    public List<String> receipts = new ArrayList<>();
    /** How operators' keys have replaced each other; nothing erases this. */
    public KeyHistory keys = new KeyHistory(new TreeMap<>(), new TreeMap<>());

    /** By origin, the newest checkpoint of each log that was seen; nothing erases this. */
    public Map<String, Checkpoint> checkpoints = new TreeMap<>();

    /** What was answered in a campaign; null if nothing was. */
    public Answer answerTo(String campaign) {
        for (Answer answer : answers) {
            if (answer.campaign.equals(campaign)) {
                return answer;
            }
        }
        return null;
    }

    /** The ε of all campaigns but one. */
    public List<Double> spentBesides(String campaign) {
        List<Double> spent = new ArrayList<>();
        for (Answer answer : answers) {
            if (!answer.campaign.equals(campaign)) {
                spent.add(answer.epsilon);
            }
        }
        return spent;
    }

    public byte[] write() {
        Map<String, Object> values = new LinkedHashMap<>();
        values.put("format", FORMAT);
        values.put("opted_in", optedIn);
        values.put("credential", credential);
        values.put("ended", ended);
        values.put("answered", answered == null ? null : write(answered));
        List<Object> written = new ArrayList<>();
        for (Answer answer : answers) {
            written.add(write(answer));
        }
        values.put("answers", written);
        values.put("reports", reports);
        values.put("maskings", maskings);
        values.put("receipts", receipts);
        values.put("successions", keys.successions);
        values.put("revocations", keys.revocations);
        List<Object> seen = new ArrayList<>();
        for (Checkpoint checkpoint : checkpoints.values()) {
            seen.add(write(checkpoint));
        }
        values.put("checkpoints", seen);
        return Json.write(values).getBytes(StandardCharsets.UTF_8);
    }

    @SuppressWarnings("unchecked")
    public static DeviceState read(byte[] content) {
        DeviceState state = new DeviceState();
        try {
            Map<String, Object> values = (Map<String, Object>) Json.read(new String(content, StandardCharsets.UTF_8));
            Object format = values.get("format");
            if (!format.equals(FORMAT) && !format.equals(FORMAT_WITHOUT_MASKS)) {
                throw new StorageException("the record of this device was written by a later version: update the app",
                        null);
            }
            state.optedIn = (Boolean) values.get("opted_in");
            state.credential = (String) values.get("credential");
            state.ended = (String) values.get("ended");
            state.answered = invitation((Map<String, String>) values.get("answered"));
            for (Map<String, String> answer : (List<Map<String, String>>) values.get("answers")) {
                state.answers.add(answer(answer));
            }
            state.reports.putAll((Map<String, String>) values.get("reports"));
            state.receipts.addAll((List<String>) values.get("receipts"));
            state.keys = new KeyHistory(
                    (Map<String, String>) values.get("successions"), (Map<String, String>) values.get("revocations"));
            // Versions before had none of these.
            state.maskings.putAll(
                    (Map<String, String>) values.getOrDefault("maskings", Collections.emptyMap()));
            for (Map<String, String> seen
                    : (List<Map<String, String>>) values.getOrDefault("checkpoints", Collections.emptyList())) {
                Checkpoint checkpoint =
                        new Checkpoint(seen.get("origin"), Long.parseLong(seen.get("size")), seen.get("root"));
                state.checkpoints.put(checkpoint.origin, checkpoint);
            }
            return state;
        } catch (IllegalArgumentException | ClassCastException | NullPointerException error) {
            throw new StorageException("the record of this device can't be read, so that it is unknown what it has "
                    + "spent: answer no"
                    + " more campaigns", error);
        }
    }

    private static Map<String, String> write(Invitation invitation) {
        Map<String, String> values = new LinkedHashMap<>();
        values.put("layer", Bytes.hex(invitation.layer));
        values.put("operator", Bytes.hex(invitation.operator));
        values.put("signature", Bytes.hex(invitation.signature));
        values.put("ticket", invitation.ticket == null ? null : Bytes.hex(invitation.ticket));
        values.put("masked", invitation.masked == null ? null : Bytes.hex(invitation.masked));
        return values;
    }

    private static Invitation invitation(Map<String, String> values) {
        if (values == null) {
            return null;
        }
        return new Invitation(
                Bytes.unhex(values.get("layer"), -1),
                Bytes.unhex(values.get("operator"), -1),
                Bytes.unhex(values.get("signature"), -1),
                Bytes.unhex(values.get("ticket"), -1),
                Bytes.unhex(values.get("masked"), -1));
    }

    private static Map<String, String> write(Checkpoint checkpoint) {
        Map<String, String> values = new LinkedHashMap<>();
        values.put("origin", checkpoint.origin);
        values.put("size", Long.toString(checkpoint.size));
        values.put("root", checkpoint.root);
        return values;
    }

    private static Map<String, String> write(Answer answer) {
        Map<String, String> values = new LinkedHashMap<>();
        values.put("campaign", answer.campaign);
        values.put("layer", answer.layer);
        values.put("epsilon", Decimal.shortest(answer.epsilon));
        values.put("day", Long.toString(answer.day));
        values.put("operator", answer.operator);
        values.put("bound", Integer.toString(answer.bound));
        values.put("masked", answer.masked);
        return values;
    }

    private static Answer answer(Map<String, String> values) {
        return new Answer(
                values.get("campaign"),
                values.get("layer"),
                Double.parseDouble(values.get("epsilon")),
                Long.parseLong(values.get("day")),
                values.get("operator"),
                Integer.parseInt(values.get("bound")),
                values.get("masked"));
    }
}
