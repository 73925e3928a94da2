package neologue.masking;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import neologue.RefusalException;
import neologue.protocol.Bytes;

/** All devices of a group, as one of them is told, and what follows from how many they are. */
final class Roster {
    static final int NUMBER = 2;
    private static final byte[] DIGEST = Message.label("roster");
    private static final byte[] CIRCLE = Message.label("circle");

    final int size;
    /** The index of the device that is told. */
    final int index;
    final Advertisement[] devices;
    /** What all devices of the group must agree on. */
    final byte[] digest;
    /** How many shares give a secret back. */
    final int threshold;
    /** The neighbours of the device that is told, ascending. */
    final int[] neighbours;
    /** How many devices must have signed the same set before any gives shares away, and be in a sum. */
    final int quorum;
    /** The bits of an entry: just enough for all votes that it can get. */
    final int bits;

    Roster(byte[] content, Terms terms) {
        Message message = new Message(NUMBER, content, terms);
        size = message.number();
        index = message.number();
        if (size < terms.smallest || size > Neighbourhood.LARGEST_GROUP || index >= size) {
            throw new RefusalException("a group of " + size + " devices is smaller than promised, or larger than any");
        }
        devices = new Advertisement[size];
        byte[][] digested = new byte[size + 2][];
        digested[0] = DIGEST;
        digested[1] = Bytes.sha256(Bytes.join(terms.content, Message.number(size)));
        Set<String> signers = new HashSet<>();
        for (int i = 0; i < size; i++) {
            devices[i] = new Advertisement(message.take(Advertisement.BYTES));
            digested[i + 2] = devices[i].content;
            signers.add(Bytes.hex(devices[i].signer));
        }
        message.end();
        if (signers.size() < size) {
            throw new RefusalException("a signing key is in the roster twice, and each device has its own");
        }
        digest = Bytes.sha256(Bytes.join(digested));
        Neighbourhood around = Neighbourhood.of(size, terms.dropout, terms.corrupt);
        threshold = around.threshold;
        neighbours = neighbours(around.degree);
        quorum = Math.max(terms.smallest, (size + terms.corrupt) / 2 + 1);
        bits = Integer.SIZE - Integer.numberOfLeadingZeros(terms.votes * size);
    }

    /** Refuse one without this device, with strangers, or with false keys of a neighbour. */
    void check(Advertisement own, Terms terms, Promise promise, Identity identity) {
        if (!Arrays.equals(devices[index].content, own.content)) {
            throw new RefusalException("device " + index + " of the roster has other keys than this device");
        }
        for (int other = 0; other < size; other++) {
            if (!devices[other].isVouched(promise, identity)) {
                throw new RefusalException("nobody whom this device trusts vouches for device " + other);
            }
        }
        for (int other : neighbours) {
            if (!devices[other].isGenuine(terms, identity.signatures)) {
                throw new RefusalException("the keys of device " + other + " are not signed by it");
            }
        }
    }

    /** Those next to this device in a circle whose order nobody chooses, or all others. */
    private int[] neighbours(int degree) {
        String[] places = new String[size];
        Integer[] circle = new Integer[size];
        for (int i = 0; i < size; i++) {
            places[i] = Bytes.hex(Bytes.sha256(Bytes.join(CIRCLE, digest, Message.number(i))));
            circle[i] = i;
        }
        Arrays.sort(circle, (one, other) -> places[one].compareTo(places[other]));
        int place = Arrays.asList(circle).indexOf(index);
        int[] around = new int[degree];
        // Where all others are neighbours, they are the next ones on one side.
        int first = degree == size - 1 ? 1 : -degree / 2;
        for (int step = first, found = 0; found < degree; step++) {
            if (step != 0) {
                around[found++] = circle[Math.floorMod(place + step, size)];
            }
        }
        Arrays.sort(around);
        return around;
    }
}
