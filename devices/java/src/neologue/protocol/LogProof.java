package neologue.protocol;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.function.Function;
import neologue.LaterException;
import neologue.RefusalException;

/**
 * The proof beside an invitation: that its layer is in the operator's log, which witnesses have co-signed for everybody.
 * docs/protocol.md has its bytes and the rules.
 */
public final class LogProof {
    /** The most bytes of a file of hashes. */
    public static final int MOST_TILE_BYTES = MerkleTree.MOST_TILE_BYTES;

    private static final int VERSION = 1;
    private static final int SIGNATURE_BYTES = 64;
    private static final int HINT_BYTES = 4;
    private static final int COSIGNATURE_BYTES = HINT_BYTES + 8 + SIGNATURE_BYTES;
    private static final int MOST_HASHES = 63;
    private static final int MOST_COSIGNATURES = 16;
    private static final long AHEAD = 86_400;

    private final int layer;
    private final long index;
    private final List<Tree> trees = new ArrayList<>();

    private LogProof(byte[] content) {
        ByteBuffer left = ByteBuffer.wrap(content);
        if (left.get() != VERSION) {
            throw cut();
        }
        layer = Short.toUnsignedInt(left.getShort());
        index = left.getLong();
        trees.add(new Tree(left));
        trees.add(new Tree(left));
        if (left.hasRemaining()) {
            throw cut();
        }
    }

    /** The proof in some bytes; refuses what is none. */
    public static LogProof read(byte[] content) {
        try {
            return new LogProof(content);
        } catch (BufferUnderflowException error) {
            throw cut();
        }
    }

    /**
     * The checkpoints of the operator's tree and of the campaign's, if they prove the layer of an invitation: one of the
     * logs has signed both, and so many witnesses have co-signed each by `now`, in seconds. `masked` is null without masks.
     */
    public List<Checkpoint> check(byte[] campaign, byte[] digest, byte[] masked, Collection<String> logs,
            Collection<String> witnesses, int quorum, long now, Signatures signatures) {
        byte[] leaf = MerkleTree.leaf(entry(campaign, digest, masked));
        List<byte[]> roots = Arrays.asList(trees.get(0).root(leaf, index), trees.get(1).root(leaf, layer));
        for (String log : logs) {
            List<Checkpoint> checkpoints = new ArrayList<>();
            boolean signed = true;
            for (int tree = 0; tree < trees.size(); tree++) {
                String origin = "neologue.log/" + log + (tree == 0 ? "" : "/" + Bytes.hex(campaign));
                Checkpoint checkpoint = new Checkpoint(origin, trees.get(tree).size, Bytes.hex(roots.get(tree)));
                checkpoints.add(checkpoint);
                signed = signed
                        && signatures.isSigned(Bytes.unhex(log, -1), trees.get(tree).signature, checkpoint.signed());
            }
            if (signed) {
                for (int tree = 0; tree < trees.size(); tree++) {
                    trees.get(tree).checkWitnesses(checkpoints.get(tree), witnesses, quorum, now, signatures);
                }
                return checkpoints;
            }
        }
        throw refused("the layer is not in a log that this device knows, or not as it was asked about here");
    }

    /** Refuse a checkpoint unless it goes on from the one that was seen last, as the files of the log show. */
    public static void checkGoesOn(Checkpoint known, Checkpoint next, Function<String, byte[]> tiles) {
        if (next.size < known.size) {
            throw new LaterException("the log " + next.origin + " is shown with " + next.size
                    + " entries, and this device has seen " + known.size + ": it waits for the newer one", null);
        }
        String seen = next.root;
        if (next.size > known.size) {
            MerkleTree tree = new MerkleTree(next.size, tiles);
            if (!Bytes.hex(tree.root(next.size)).equals(next.root)) {
                throw refused("the files of the log " + next.origin + " do not belong to its checkpoint");
            }
            seen = Bytes.hex(tree.root(known.size));
        }
        if (!seen.equals(known.root)) {
            throw refused("the log " + next.origin + " was forked: its first " + known.size
                    + " entries are not those that this device has seen");
        }
    }

    private byte[] entry(byte[] campaign, byte[] digest, byte[] masked) {
        String promise = masked == null ? "" : ",\"promise\":\"" + Bytes.hex(Bytes.sha256(masked)) + "\"";
        String entry = "{\"campaign\":\"" + Bytes.hex(campaign) + "\",\"deed\":\"layer opened\",\"digest\":\""
                + Bytes.hex(digest) + "\",\"layer\":" + layer + promise + "}";
        return entry.getBytes(StandardCharsets.US_ASCII);
    }

    private static byte[] take(ByteBuffer left, int length) {
        byte[] part = new byte[length];
        left.get(part);
        return part;
    }

    private static int count(ByteBuffer left, int most) {
        int count = Byte.toUnsignedInt(left.get());
        if (count > most) {
            throw cut();
        }
        return count;
    }

    private static RefusalException cut() {
        return refused("the proof beside the invitation is cut, or of a kind that this device does not know");
    }

    private static RefusalException refused(String why) {
        return new RefusalException("this device does not answer: " + why);
    }

    /** That an entry is in a tree, and who has signed its checkpoint. */
    private static final class Tree {
        final long size;
        final List<byte[]> path = new ArrayList<>();
        final byte[] signature;
        final List<byte[]> cosignatures = new ArrayList<>();

        Tree(ByteBuffer left) {
            size = left.getLong();
            for (int rest = count(left, MOST_HASHES); rest > 0; rest--) {
                path.add(take(left, MerkleTree.HASH_BYTES));
            }
            signature = take(left, SIGNATURE_BYTES);
            for (int rest = count(left, MOST_COSIGNATURES); rest > 0; rest--) {
                cosignatures.add(take(left, COSIGNATURE_BYTES));
            }
        }

        byte[] root(byte[] leaf, long index) {
            return MerkleTree.rootOf(leaf, index, size, path);
        }

        void checkWitnesses(Checkpoint checkpoint, Collection<String> witnesses, int quorum, long now,
                Signatures signatures) {
            int counted = 0;
            for (String witness : witnesses) {
                boolean signed = false;
                for (int i = 0; i < cosignatures.size() && !signed && counted < quorum; i++) {
                    signed = isBy(witness, cosignatures.get(i), checkpoint, now, signatures);
                }
                counted += signed ? 1 : 0;
            }
            if (counted < quorum) {
                throw refused(counted + " of the " + witnesses.size() + " witnesses that this device knows have co-signed the "
                        + "log " + checkpoint.origin + " with " + checkpoint.size + " entries, and " + quorum + " must have");
            }
        }

        /** Whether a witness has signed a checkpoint, at a time that is not far ahead. */
        static boolean isBy(String witness, byte[] cosignature, Checkpoint checkpoint, long now, Signatures signatures) {
            ByteBuffer left = ByteBuffer.wrap(cosignature);
            String hint = Bytes.hex(take(left, HINT_BYTES));
            long time = left.getLong();
            return time >= 0 && time <= now + AHEAD && witness.startsWith(hint)
                    && signatures.isSigned(
                            Bytes.unhex(witness, -1), take(left, SIGNATURE_BYTES), checkpoint.cosigned(time));
        }
    }
}
