package neologue.device;

import java.io.Closeable;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import neologue.LaterException;
import neologue.RefusalException;
import neologue.masking.Ballot;
import neologue.masking.Cryptography;
import neologue.masking.Identity;
import neologue.masking.Promise;
import neologue.protocol.Bytes;
import neologue.protocol.Checkpoint;
import neologue.protocol.Credential;
import neologue.protocol.Evidence;
import neologue.protocol.Invitation;
import neologue.protocol.KeyHistory;
import neologue.protocol.Layer;
import neologue.protocol.LogProof;
import neologue.protocol.Signatures;
import neologue.random.Entropy;
import neologue.storage.Answer;
import neologue.storage.Clock;
import neologue.storage.DeviceState;
import neologue.storage.Diary;
import neologue.storage.FolderLock;
import neologue.storage.Record;
import neologue.storage.StorageException;
import neologue.transport.Response;
import neologue.transport.Transport;

/**
 * One device of a service's campaigns, with all its files in a folder.
 *
 * <p>It makes at most one report for a campaign. The report and its cost are on the disk before a byte is sent, and the same
 * bytes are sent again until the service says that they are final or of no more use. Its randomness is the platform's, and
 * there is no way to give it any other. Whether and when it talks, and what it asks for, does not depend on a typed word.
 *
 * <p>Nothing is stored or sent until its owner has opted in. `typed` may be called from any thread, also during a `tick`.
 */
public final class Device implements Closeable {
    private static final long SECONDS_PER_DAY = 86_400;
    private static final int MOST_EVIDENCE_BYTES = 1 << 16;
    private static final String OCTETS = "application/octet-stream";
    private static final String DONE = "this device has done its part in the campaign";
    private static final Tick OUT = new Tick(
            Tick.State.OUT, null, "the owner of this device has not opted in; nothing is sent and nothing is stored");

    private final Transport transport;
    private final Policy policy;
    private final Signatures signatures;
    private final Evidence evidence;
    private final Cryptography cryptography;
    private final SendingTime sendingTime;
    private final Clock clock;
    private final Entropy entropy;
    private final Library library;
    private final FolderLock lock;
    private final Record record;
    private final Diary diary;
    private final Backoff backoff = new Backoff();
    private final Object ticking = new Object();
    /** The device's part in a group, if votes are masked; in memory only, so that a device that is stopped drops out. */
    private volatile Participation participation;

    Device(DeviceBuilder parts) {
        transport = parts.transport;
        policy = parts.policy;
        signatures = parts.signatures;
        evidence = parts.evidence;
        cryptography = parts.cryptography;
        sendingTime = parts.sendingTime;
        clock = parts.clock;
        entropy = parts.entropy;
        Path folder = parts.folder;
        library = parts.library == null ? new Library(folder.resolve("library"), parts.known) : parts.library;
        lock = new FolderLock(folder);
        try {
            record = new Record(folder.resolve("record"));
            diary = new Diary(folder.resolve("diary"), parts.seal, clock);
        } catch (RuntimeException error) {
            lock.close();
            throw error;
        }
    }

    /** A device with its files in a folder, which talks to a service by a transport and answers within a policy. */
    public static DeviceBuilder in(Path folder, Transport transport, Policy policy) {
        return new DeviceBuilder(folder, transport, policy);
    }

    // What the app tells it

    /** Note that a word was typed; nothing is kept of a private field, nor unless the owner has opted in. */
    public void typed(String word, int times, boolean isPrivate) {
        if (times < 1) {
            throw new IllegalArgumentException("times is " + times + "; a typed word counts at least 1");
        }
        if (!isPrivate && record.state().optedIn) {
            diary.typed(word, times);
        }
    }

    /** Take part in the campaign of a credential; an earlier one is left, unless a report still waits there. */
    public void join(String credential) {
        String campaign = Bytes.hex(new Credential(credential).campaign);
        DeviceState state = record.state();
        if (!state.optedIn) {
            throw new IllegalStateException("the owner of this device has not opted in: ask them, call optIn(), and "
                    + "join then");
        }
        if (credential.equals(state.credential)) {
            return;
        }
        if (state.credential != null && state.ended == null) {
            String earlier = Bytes.hex(new Credential(state.credential).campaign);
            if (state.answerTo(earlier) != null) {
                throw new IllegalStateException("the report for the campaign " + earlier
                        + " is not confirmed yet: join the campaign "
                        + campaign + " when it is, or leave the earlier one first, which discards its report");
            }
        }
        participation = null;
        record.update(next -> {
            next.credential = credential;
            next.answered = null;
            next.ended = null;
        });
    }

    /** Leave the campaign; a report that waits is erased unsent. What it cost stays, and it makes no other. */
    public void leave() {
        participation = null;
        record.update(next -> {
            if (next.credential != null) {
                String campaign = Bytes.hex(new Credential(next.credential).campaign);
                if (next.reports.remove(campaign) != null) {
                    next.receipts.add(Receipts.abandoned(clock.day(), campaign));
                }
            }
            next.credential = null;
            next.answered = null;
            next.ended = null;
        });
    }

    // What its owner tells it

    /** Take part, from what is typed from now on. */
    public void optIn() {
        record.update(next -> next.optedIn = true);
    }

    /** Send nothing and store nothing from now on, and forget all words; a report that waits is held back. */
    public void optOut() {
        participation = null;
        record.update(next -> next.optedIn = false);
        diary.forgetAll();
    }

    /** Whether the owner has opted in. */
    public boolean optedIn() {
        return record.state().optedIn;
    }

    /** Forget one word; what was sent before can't be taken back. */
    public void forget(String word) {
        diary.forget(word);
    }

    /**
     * Erase all words, reports that wait, receipts, the credential and what was fetched.
     *
     * <p>Which campaigns were answered and what they cost stays, without which this device could answer a campaign twice; and
     * so does which operators' keys were replaced, without which it would trust them again.
     */
    public void forgetMe() {
        participation = null;
        diary.forgetAll();
        record.update(next -> {
            next.reports.clear();
            next.receipts.clear();
            next.credential = null;
            next.answered = null;
            next.ended = null;
        });
        library.clear();
    }

    /** The words that are remembered, each with how often it was typed. */
    public Map<String, Long> words() {
        return diary.words();
    }

    /** Whether others of a group wait for this device: it drops out if it is stopped now. */
    public boolean inGroup() {
        Participation part = participation;
        return part != null && part.inGroup();
    }

    /** What left this device and what it could reveal, in a few sentences each, the oldest first. */
    public List<String> receipts() {
        return new ArrayList<>(record.state().receipts);
    }

    /** The sum of the local ε of all campaigns ever answered, rounded up. */
    public double spent() {
        return Policy.roundUp(Policy.sum(record.state().spentBesides("")));
    }

    /**
     * What is wrong with a release, the bytes of a release.json, in sentences: none if the operator who asked has signed it, and
     * it has the layer that this device answered, with the ε, the words per user and the masks that it was told. Nothing is sent.
     */
    public List<String> checkRelease(byte[] release) {
        DeviceState state = record.state();
        return ReleaseCheck.read(release).objections(state.answers, state.keys, signatures);
    }

    /**
     * Follow an operator whose key was replaced, by the succession that the service publishes; a check-in does the
     * same.
     */
    public void follow(byte[] succession) {
        KeyHistory known = record.state().keys.learn(succession, policy.pins, signatures);
        if (known != record.state().keys) {
            record.update(next -> next.keys = known);
        }
    }

    // What it does

    /**
     * Take the next step, and say when to call again. A step that sends a report waits for its moment, some seconds.
     */
    public Tick tick() {
        synchronized (ticking) {
            diary.save();
            DeviceState state = record.state();
            if (!state.optedIn) {
                return OUT;
            }
            if (state.credential == null) {
                return new Tick(Tick.State.ALONE, null, "no campaign is joined; join one with a credential");
            }
            if (state.ended != null) {
                return new Tick(Tick.State.OVER, null, DONE);
            }
            if (!policy.limits.enabled) {
                return new Tick(Tick.State.REFUSED, null, Policy.SWITCHED_OFF);
            }
            try {
                Tick done = advance(state, new Credential(state.credential));
                backoff.reset();
                return done;
            } catch (OptedOutException error) {
                participation = null;
                backoff.reset();
                return OUT;
            } catch (LaterException error) {
                return new Tick(Tick.State.LATER, backoff.delay(error), error.getMessage());
            } catch (RefusalException error) {
                backoff.reset();
                return new Tick(Tick.State.REFUSED, Reply.LATEST, error.getMessage());
            }
        }
    }

    @Override
    public void close() {
        diary.save();
        lock.close();
    }

    /** One step in a campaign that is not over. */
    private Tick advance(DeviceState state, Credential credential) {
        String campaign = Bytes.hex(credential.campaign);
        boolean answered = state.answerTo(campaign) != null;
        if (answered && !state.reports.containsKey(campaign)) {
            return end(Tick.State.OVER, campaign, DONE);
        }
        if (!answered && state.answered != null) {
            throw new StorageException("the record of this device has lost its answer to the campaign " + campaign
                    + ": answer no more campaigns; it is unknown what this device has spent", null);
        }
        Invitation asked = state.answered == null ? groupInvitation(credential) : state.answered;
        byte[] proof = null;
        if (asked == null || asked.ticket == null || policy.replacement(Bytes.hex(asked.operator),
                state.keys) != null) {
            Response response = CheckIn.send(credential, transport);
            if (response.status != 200) {
                return Reply.refusal(response, "check-in");
            }
            Reply reply = Reply.of(response);
            if (reply.has("succession")) {
                // Before anything else: a key that was revoked is not trusted even for this answer.
                follow(reply.bytes("succession", -1));
            }
            if (reply.state().equals("wait")) {
                return new Tick(Tick.State.WAIT, reply.delay(), "the service asks nothing of this device yet");
            }
            if (reply.state().equals("over")) {
                return end(Tick.State.OVER, campaign, "nothing is asked of this device in the campaign");
            }
            proof = reply.has("proof") ? reply.bytes("proof", -1) : null;
            asked = renewed(CheckIn.invitation(reply));
        }
        return answer(asked, proof, credential);
    }

    /** The invitation of a device that is in a group and has no votes yet; null if it is in none. */
    private Invitation groupInvitation(Credential credential) {
        Participation part = participation;
        return part != null && part.inGroup() && part.isFor(credential) ? part.asked : null;
    }

    /** Another invitation, which is remembered if it is to what is answered already. */
    private Invitation renewed(Invitation told) {
        Invitation before = record.state().answered;
        if (before == null || !Arrays.equals(before.layer, told.layer)) {
            return told;
        }
        // What was answered stays as it was asked: votes that were to be masked are never sent without.
        Invitation next = Arrays.equals(before.masked, told.masked) ? told : before.with(told.ticket);
        record.update(state -> state.answered = next);
        return next;
    }

    /** Check an invitation, make the report or take the one that was made, and send it at its moment. */
    private Tick answer(Invitation asked, byte[] proof, Credential credential) {
        String campaign = Bytes.hex(credential.campaign);
        Promise promise = asked.masked == null ? null : new Promise(asked.masked);
        policy.checkOperator(asked.operator, record.state().keys);
        // Before anything is fetched: whoever is not the operator costs this device nothing.
        if (!asked.isGenuine(credential.campaign, signatures)) {
            throw new RefusalException(
                    "the signature is not the operator's for this campaign and layer; get the invitation anew from "
                            + "them");
        }
        if (record.state().answerTo(campaign) == null) {
            checkLog(asked, proof, credential.campaign);
        }
        Library.KnownLayer told = library.layer(asked.layer, this::fetch, policy, layer -> {
            policy.checkLayer(layer);
            policy.checkMasks(layer, promise);
            policy.checkLifetime(layer.epsilon, record.state().spentBesides(campaign));
        });
        checkConsent(); // the owner may have opted out while it was fetched
        if (promise != null) {
            return takePart(told, asked, promise, credential);
        }
        byte[] report = sendingTime.hide(() -> report(told, asked, null, campaign));
        checkConsent(); // only here: the bytes and their cost are on the disk
        Response response = transport.request(
                "POST", "/v1/reports", credential.submission(asked.ticket, report), OCTETS, Transport.SMALL_ANSWER);
        return read(response, campaign);
    }

    /** Take one step in a group, or towards one. */
    private Tick takePart(Library.KnownLayer told, Invitation asked, Promise promise, Credential credential) {
        String campaign = Bytes.hex(credential.campaign);
        Answer made = record.state().answerTo(campaign);
        if (made != null && (made.masked == null || !made.layer.equals(Bytes.hex(asked.layer)))) {
            // Its votes are for an earlier layer, which nobody waits for any more.
            return end(Tick.State.CLOSED, campaign, "the votes came too late and were not counted; they were erased");
        }
        Participation part = participation;
        if (part == null || !part.inGroup() || !part.isFor(credential)) {
            Layer layer = told.layer;
            Ballot ballot = new Ballot(layer.digest, (int) layer.size(), layer.randomizer().channel().contributions,
                    () -> layer.count(report(told, asked, promise, campaign)));
            Identity identity = new Identity(credential, signatures, cryptography);
            part = new Participation(asked, credential, ballot, promise, identity);
            participation = part;
        }
        Tick tick = part.advance(transport, record, clock, answering -> {
            byte[] answer = sendingTime.hide(answering);
            checkConsent();
            return answer;
        });
        return tick.again == null ? end(tick.state, campaign, tick.message) : tick;
    }

    private void checkConsent() {
        if (!record.state().optedIn) {
            throw new OptedOutException();
        }
    }

    /** Refuse an invitation unless enough witnesses vouch that everybody is asked this. */
    private void checkLog(Invitation asked, byte[] proof, byte[] campaign) {
        Limits limits = policy.limits;
        if (limits.quorum == 0) {
            return;
        }
        if (proof == null) {
            throw new RefusalException("the invitation comes without a proof that its layer is in a log, and this device "
                    + "answers no other; its owner can change quorum");
        }
        long tomorrow = (clock.day() + 1) * SECONDS_PER_DAY;
        List<Checkpoint> proved = LogProof.read(proof)
                .check(campaign, asked.layer, asked.masked, limits.logs, limits.witnesses, limits.quorum, tomorrow, signatures);
        for (Checkpoint next : proved) {
            Checkpoint known = record.state().checkpoints.get(next.origin);
            if (known != null) {
                LogProof.checkGoesOn(known, next, path -> fetch(next.folder() + path, LogProof.MOST_TILE_BYTES));
            }
            record.update(state -> state.checkpoints.put(next.origin, next));
        }
        if (evidence != null
                && !evidence.verify(fetch("/log/evidence", MOST_EVIDENCE_BYTES), proved.get(0).evidenceBinding())) {
            throw new RefusalException("this device does not answer: the service shows no evidence of where it runs that the "
                    + "owner of this device accepts");
        }
    }

    /** The report of this device, on the disk with its cost when this returns. */
    private byte[] report(Library.KnownLayer told, Invitation asked, Promise promise, String campaign) {
        checkConsent();
        DeviceState state = record.state();
        Answer made = state.answerTo(campaign);
        if (made != null) {
            String kept = state.reports.get(campaign);
            if (kept == null || !made.layer.equals(Bytes.hex(asked.layer))) {
                throw new RefusalException("this device has answered "
                        + (kept == null ? "the campaign " : "another layer of the campaign ") + campaign
                        + ", and takes part once: invite it to the next campaign");
            }
            if ((made.masked == null) != (promise == null)) {
                throw new RefusalException("this device's votes for the campaign " + campaign + " were made to leave "
                        + (made.masked == null ? "without masks" : "under masks") + ", and don't leave otherwise");
            }
            return Bytes.unhex(kept, -1);
        }
        byte[] report = told.layer.report(diary.words(), told.known, entropy);
        String operator = Bytes.hex(asked.operator);
        record.update(next -> {
            Answer answer = new Answer(
                    campaign, Bytes.hex(asked.layer), told.layer.epsilon, clock.day(), operator, told.layer.bound,
                    asked.masked == null ? null : Bytes.hex(asked.masked));
            next.answers.add(answer);
            next.reports.put(campaign, Bytes.hex(report));
            next.answered = asked;
            double spent = Policy.roundUp(Policy.sum(next.spentBesides("")));
            double lifetime = policy.limits.lifetimeEpsilon;
            next.receipts.add(Receipts.made(
                    clock.day(), campaign, operator, told.layer, report.length, promise, spent, lifetime));
        });
        return report;
    }

    /** What the service says of a report that was sent. */
    private Tick read(Response response, String campaign) {
        if (response.status == 410) {
            return end(Tick.State.CLOSED, campaign, "the report came too late and was not counted; it was erased");
        }
        if (response.status == 401) {
            // The service may have lost the secret of its tickets; the credential earns another one.
            record.update(next -> next.answered = next.answered.with(null));
        }
        if (response.status != 200 && response.status != 202) {
            return Reply.refusal(response, "report");
        }
        Reply reply = Reply.of(response);
        if (response.status == 200 && reply.state().equals("final")) {
            return end(Tick.State.FINAL, campaign, "the report was counted and erased from this device");
        }
        if (response.status == 202 && reply.state().equals("received")) {
            return new Tick(Tick.State.RECEIVED, reply.delay(), "the report has arrived and is not final yet; it is "
                    + "kept");
        }
        throw Reply.unusable();
    }

    /** End a campaign: erase the report, if one waits, and record the end. */
    private Tick end(Tick.State how, String campaign, String message) {
        record.update(next -> {
            if (next.reports.remove(campaign) != null) {
                boolean counted = how == Tick.State.FINAL;
                next.receipts.add(counted ? Receipts.counted(clock.day(), campaign) : Receipts.abandoned(clock.day(),
                        campaign));
            }
            next.ended = how.name().toLowerCase(Locale.ROOT);
        });
        participation = null;
        return new Tick(how, null, message);
    }

    private byte[] fetch(String path, int most) {
        Response response = transport.request("GET", path, null, null, most);
        if (response.status != 200) {
            // Gone, or not there yet; the next check-in will say.
            throw new LaterException("the service answers " + response.status + " for " + path,
                    Reply.retryAfter(response));
        }
        return response.body;
    }
}
