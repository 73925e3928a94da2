package neologue.device;

import java.util.Arrays;
import java.util.function.Function;
import java.util.function.Supplier;
import neologue.LaterException;
import neologue.RefusalException;
import neologue.masking.Ballot;
import neologue.masking.Identity;
import neologue.masking.Member;
import neologue.masking.Promise;
import neologue.masking.Terms;
import neologue.protocol.Bytes;
import neologue.protocol.Credential;
import neologue.protocol.Invitation;
import neologue.random.SystemEntropy;
import neologue.storage.Clock;
import neologue.storage.Record;
import neologue.transport.Response;
import neologue.transport.Transport;

/**
 * A device's part in the groups of a layer: it joins one after the other, until its votes are masked for one.
 *
 * <p>Votes are made when they are masked: while it waits for a group, or if its group is never formed, the device has spent
 * nothing. Before masked votes leave, they and their group are on the disk. All else is in memory only: a device that is stopped
 * has dropped out of its group, and asks for the result when it is back.
 */
final class Participation {
    private static final String PATH = "/v1/cohorts";
    private static final String OCTETS = "application/octet-stream";
    /** The most bytes of a message of the service: the roster of the largest group, and some to spare. */
    private static final int LARGEST_MESSAGE = Transport.SMALL_ANSWER + Limits.LARGEST_GROUP * 225;

    final Invitation asked;
    private final Credential credential;
    private final String campaign;
    private final Ballot ballot;
    private final Promise promise;
    private final Identity identity;
    /** The part in one group; null if the device is in none. */
    private Member member;
    /** What is sent until it is answered. */
    private byte[] message;

    Participation(Invitation asked, Credential credential, Ballot ballot, Promise promise, Identity identity) {
        this.asked = asked;
        this.credential = credential;
        this.ballot = ballot;
        this.promise = promise;
        this.identity = identity;
        campaign = Bytes.hex(credential.campaign);
    }

    boolean inGroup() {
        return member != null;
    }

    boolean isFor(Credential other) {
        return Arrays.equals(credential.campaign, other.campaign);
    }

    /** Take all steps that are possible now; votes are masked within `hide`, which hides how long it takes. */
    Tick advance(Transport transport, Record record, Clock clock, Function<Supplier<byte[]>, byte[]> hide) {
        if (member == null) {
            String group = record.state().maskings.get(campaign);
            if (group != null) {
                return read(send(transport, group, new byte[0]), record);
            }
            Response response = transport.request("POST", PATH, head(), OCTETS, Transport.SMALL_ANSWER);
            if (response.status != 200) {
                return response.status == 410 ? closed(record) : refused(response, "group's new member", record);
            }
            Reply reply = Reply.of(response);
            if (reply.state().equals("final")) {
                return counted(record);
            }
            join(reply);
        }
        while (true) {
            Response response = send(transport, Bytes.hex(member.terms.group), message);
            if (response.status != 200 || response.body.length > 0 && response.body[0] == '{') {
                return read(response, record);
            }
            try {
                message = Member.asksForVotes(response.body)
                        ? hide.apply(() -> mask(response.body, record, clock))
                        : member.answer(response.body);
            } catch (RefusalException error) {
                // It asks about votes that it masked before when it is back.
                member = null;
                throw new LaterException("this device has left its group: " + error.getMessage(), null);
            }
        }
    }

    private void join(Reply reply) {
        if (!reply.state().equals("cohort")) {
            throw Reply.unusable();
        }
        byte[] terms = reply.bytes("terms", Terms.BYTES);
        try {
            member = new Member(new Terms(terms), ballot, promise, identity, new SystemEntropy());
        } catch (RefusalException error) {
            throw new RefusalException("this device does not join the group: " + error.getMessage());
        }
        message = member.advertise();
    }

    /** The votes under masks; that they are masked for this group, and for no other, is on the disk when this returns. */
    private byte[] mask(byte[] delivery, Record record, Clock clock) {
        byte[] masked = member.answer(delivery);
        Terms terms = member.terms;
        record.update(next -> {
            next.maskings.put(campaign, Bytes.hex(terms.group));
            next.receipts.add(Receipts.masked(clock.day(), terms, masked.length));
        });
        return masked;
    }

    /** The result of a group, or that there is none yet. */
    private Tick read(Response response, Record record) {
        if (response.status == 202) {
            return waiting(Reply.of(response).delay(), record);
        }
        if (response.status == 409 || response.status == 410) {
            member = null;
            // Votes that were masked are masked for no other group, whatever the service says of the first one.
            boolean over = response.status == 410 || record.state().maskings.containsKey(campaign);
            return over ? closed(record) : waiting(Reply.SOONEST, record);
        }
        if (response.status != 200) {
            return refused(response, "message to a group", record);
        }
        if (!Reply.of(response).state().equals("final")) {
            throw Reply.unusable();
        }
        return counted(record);
    }

    private Tick waiting(double again, Record record) {
        return new Tick(Tick.State.RECEIVED, again, hasVotes(record)
                ? "the votes wait for others to be summed with; they are kept"
                : "this device waits for others to be summed with; nothing was sent yet");
    }

    private Tick counted(Record record) {
        return hasVotes(record)
                ? new Tick(Tick.State.FINAL, null, "the votes were counted in a sum and erased from this device")
                : new Tick(Tick.State.OVER, null, "the service has votes of this device already");
    }

    /** Without votes nothing was spent, and the next check-in may ask about another layer. */
    private Tick closed(Record record) {
        return hasVotes(record)
                ? new Tick(Tick.State.CLOSED, null, "the votes are not in a sum that is counted; they were erased")
                : new Tick(Tick.State.WAIT, Reply.SOONEST, "the layer was closed before this device made its votes");
    }

    private Tick refused(Response response, String what, Record record) {
        Tick refused = Reply.refusal(response, what);
        member = null;
        if (response.status == 401 && record.state().answered != null) {
            record.update(next -> next.answered = next.answered.with(null));
        }
        return refused;
    }

    private boolean hasVotes(Record record) {
        return record.state().answerTo(campaign) != null;
    }

    private Response send(Transport transport, String group, byte[] sent) {
        return transport.request("POST", PATH + "/" + group, Bytes.join(head(), sent), OCTETS, LARGEST_MESSAGE);
    }

    private byte[] head() {
        return credential.submission(asked.ticket, asked.layer);
    }
}
