package neologue.masking;

import java.math.BigInteger;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import neologue.RefusalException;
import neologue.protocol.Bytes;
import neologue.random.Entropy;

/**
 * A device's part in one group, with secrets that are drawn for it and never leave the memory.
 *
 * <p>Messages in, messages out. One that is refused changes nothing; one that comes too early, or for the second time, is
 * refused.
 */
public final class Member {
    private static final int SHARING = 3;
    private static final int DELIVERY = 4;
    private static final int VECTOR = 5;
    private static final int SURVIVORS = 6;
    private static final int CONFIRMATION = 7;
    private static final int REQUEST = 8;
    private static final int UNMASKING = 9;
    private static final int SEALED_BYTES = 80;
    private static final int SIGNATURE_BYTES = 64;
    /** Of the mask that a device put on alone: its vector has arrived. */
    private static final int SEED = 1;
    /** For the masks that it shares with others: its vector has not arrived. */
    private static final int KEY = 2;
    private static final byte[] SIGNED_SHARED = Message.label("shared");
    private static final byte[] SIGNED_SURVIVORS = Message.label("survivors");

    /** Of the group. */
    public final Terms terms;
    private final Ballot ballot;
    private final Promise promise;
    private final Identity identity;
    private final Entropy entropy;
    private final byte[] sealing;
    private final BigInteger seed;
    private final BigInteger key;
    private final byte[] masking;
    private final Advertisement own;
    private Roster roster;
    private GroupKeys keys;
    /** Who has shared, once the votes are masked for them. */
    private BitSet shared;
    /** By neighbour whose deal could be read, its two shares. */
    private Map<Integer, BigInteger[]> held;
    /** The one set of survivors that this device has signed. */
    private BitSet survivors;

    /** Refuses terms that are not as promised, or for other votes. */
    public Member(Terms terms, Ballot ballot, Promise promise, Identity identity, Entropy entropy) {
        promise.check(terms);
        ballot.check(terms);
        this.terms = terms;
        this.ballot = ballot;
        this.promise = promise;
        this.identity = identity;
        this.entropy = entropy;
        sealing = entropy.bytes(SecretSharing.ELEMENT_BYTES);
        seed = SecretSharing.draw(entropy);
        key = SecretSharing.draw(entropy);
        masking = GroupKeys.maskPair(key, terms);
        own = Advertisement.sign(GroupKeys.publicKey(sealing, identity.cryptography),
                GroupKeys.publicKey(masking, identity.cryptography), terms, promise, identity);
    }

    /** The first message: this device's public keys. */
    public byte[] advertise() {
        return Bytes.join(Message.head(Advertisement.NUMBER, terms), own.content);
    }

    /** Whether the answer to a message has votes in it. */
    public static boolean asksForVotes(byte[] message) {
        return message.length > 1 && message[1] == DELIVERY;
    }

    /** The answer to any message of the service. */
    public byte[] answer(byte[] message) {
        switch (message.length > 1 ? message[1] : 0) {
            case Roster.NUMBER:
                return share(message);
            case DELIVERY:
                return mask(message);
            case SURVIVORS:
                return confirm(message);
            case REQUEST:
                return unmask(message);
            default:
                throw new RefusalException("the service sent no message of a group");
        }
    }

    /** The answer to a roster: shares of both secrets, sealed for the neighbours. */
    private byte[] share(byte[] message) {
        refuse(roster != null, "this device has shared its secrets already, and does so once");
        Roster told = new Roster(message, terms);
        told.check(own, terms, promise, identity);
        GroupKeys derived = new GroupKeys(told.digest, identity.cryptography);
        BigInteger[] ofSeed = SecretSharing.shares(seed, told.neighbours, told.threshold, entropy);
        BigInteger[] ofKey = SecretSharing.shares(key, told.neighbours, told.threshold, entropy);
        byte[][] deals = new byte[told.neighbours.length][];
        for (int i = 0; i < deals.length; i++) {
            int other = told.neighbours[i];
            byte[] plain = Bytes.join(SecretSharing.bytes(ofSeed[i]), SecretSharing.bytes(ofKey[i]));
            deals[i] = Bytes.join(
                    derived.seal(plain, sealing, told.devices[other].sealing, told.index, other),
                    derived.tag(ofSeed[i], SEED, told.index, other),
                    derived.tag(ofKey[i], KEY, told.index, other));
        }
        roster = told;
        keys = derived;
        return written(SHARING, keys.tag(seed, SEED, told.index, told.index), Bytes.join(deals));
    }

    /**
     * The answer to a delivery: the votes under all masks, and a signature of whom they are masked with. That they were
     * masked for this group must be on the disk before it is sent.
     */
    private byte[] mask(byte[] message) {
        refuse(roster == null || shared != null, "this device masks its votes once, after sharing its secrets");
        Message delivery = new Message(DELIVERY, message, terms);
        delivery.checkIndex(roster.index);
        BitSet told = delivery.set(roster.size);
        Map<Integer, BigInteger[]> opened = new HashMap<>();
        Map<Integer, byte[]> deals = new HashMap<>();
        for (int other : roster.neighbours) {
            if (told.get(other)) {
                deals.put(other, delivery.take(SEALED_BYTES + 2 * GroupKeys.TAG_BYTES));
            }
        }
        delivery.end();
        checkSet(told, "have shared their secrets");
        deals.forEach((other, deal) -> {
            BigInteger[] shares = open(deal, other);
            if (shares != null) {
                opened.put(other, shares);
            }
        });
        refuse(opened.size() < roster.threshold, "too few neighbours have shared their secrets with this device");
        Map<Integer, byte[]> pairwise = new HashMap<>();
        for (int other : deals.keySet()) {
            pairwise.put(other,
                    keys.pairwiseMask(masking, roster.devices[other].masking, roster.index, other));
        }
        MaskedVector vector = new MaskedVector(ballot.votes(), roster.bits);
        shared = told;
        held = opened;
        vector.add(keys.selfMask(seed, roster.index), 1);
        pairwise.forEach((other, mask) -> vector.add(mask, roster.index < other ? 1 : -1));
        return written(VECTOR, identity.sign(signedShared()), vector.packed());
    }

    /** The answer to the survivors: this device's signature of them, and of no others ever. */
    private byte[] confirm(byte[] message) {
        refuse(shared == null, "this device signs no survivors before its votes are masked");
        Message said = new Message(SURVIVORS, message, terms);
        said.checkIndex(roster.index);
        BitSet told = said.set(roster.size);
        refuse(survivors != null && !survivors.equals(told), "this device has signed other survivors in this group");
        checkSet(told, "are in the sum");
        BitSet strangers = (BitSet) told.clone();
        strangers.andNot(shared);
        refuse(!strangers.isEmpty(), "the survivors contradict the delivery about who has shared");
        long around = Arrays.stream(roster.neighbours).filter(told::get).count();
        refuse(around < roster.threshold, "the votes of too few neighbours have arrived");
        // Whoever masked for others than this device would not be hidden among those it can see.
        checkSignatures(said, told, signedShared());
        survivors = told;
        return written(CONFIRMATION, identity.sign(signedSurvivors()));
    }

    /** The answer to a request: of each neighbour a share of one of its secrets, as the survivors determine. */
    private byte[] unmask(byte[] message) {
        refuse(survivors == null, "this device gives no shares away before it has signed the survivors");
        Message request = new Message(REQUEST, message, terms);
        request.checkIndex(roster.index);
        BitSet told = request.set(roster.size);
        refuse(told.cardinality() < roster.quorum, "too few devices have signed the survivors");
        checkSignatures(request, told, signedSurvivors());
        byte[][] shares = new byte[roster.neighbours.length][];
        for (int i = 0; i < shares.length; i++) {
            BigInteger[] pair = held.get(roster.neighbours[i]);
            int kind = survivors.get(roster.neighbours[i]) ? SEED : KEY;
            shares[i] = pair == null ? new byte[1]
                    : Bytes.join(new byte[] {(byte) kind}, SecretSharing.bytes(pair[kind - 1]));
        }
        return written(UNMASKING, Bytes.join(shares));
    }

    /** The shares in a deal; null if the neighbour has sealed nonsense, which must not stop the others. */
    private BigInteger[] open(byte[] deal, int other) {
        byte[] sealed = Arrays.copyOf(deal, SEALED_BYTES);
        byte[] plain = keys.open(sealed, sealing, roster.devices[other].sealing, other, roster.index);
        if (plain == null) {
            return null;
        }
        BigInteger ofSeed = SecretSharing.element(plain, 0);
        BigInteger ofKey = SecretSharing.element(plain, SecretSharing.ELEMENT_BYTES);
        if (ofSeed == null || ofKey == null) {
            return null;
        }
        byte[] tags = Bytes.join(
                keys.tag(ofSeed, SEED, other, roster.index), keys.tag(ofKey, KEY, other, roster.index));
        boolean right = Arrays.equals(tags, Arrays.copyOfRange(deal, SEALED_BYTES, deal.length));
        return right ? new BigInteger[] {ofSeed, ofKey} : null;
    }

    /** Refuse unless each of some devices has signed what this one was told. */
    private void checkSignatures(Message message, BitSet devices, byte[] signed) {
        byte[][] signatures = new byte[roster.size][];
        for (int other = devices.nextSetBit(0); other >= 0; other = devices.nextSetBit(other + 1)) {
            signatures[other] = message.take(SIGNATURE_BYTES);
        }
        message.end();
        for (int other = devices.nextSetBit(0); other >= 0; other = devices.nextSetBit(other + 1)) {
            refuse(!identity.signatures.isSigned(roster.devices[other].signer, signatures[other], signed),
                    "device " + other + " has not signed what this device was told");
        }
    }

    private void checkSet(BitSet devices, String what) {
        refuse(!devices.get(roster.index), "this device is not among those that " + what);
        refuse(devices.cardinality() < roster.quorum, "too few devices " + what);
    }

    private byte[] signedShared() {
        return Bytes.join(SIGNED_SHARED, roster.digest, Message.set(shared, roster.size));
    }

    private byte[] signedSurvivors() {
        return Bytes.join(SIGNED_SURVIVORS, roster.digest, Message.set(shared, roster.size),
                Message.set(survivors, roster.size));
    }

    private byte[] written(int number, byte[]... parts) {
        return Bytes.join(Message.head(number, terms), Message.number(roster.index), Bytes.join(parts));
    }

    private static void refuse(boolean bad, String complaint) {
        if (bad) {
            throw new RefusalException(complaint);
        }
    }
}
