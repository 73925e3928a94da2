package neologue.protocol;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import neologue.RefusalException;

/** Trees over an append-only list, hashed as RFC 6962 says, and read from the tiles of a log. */
final class MerkleTree {
    static final int HASH_BYTES = 32;
    static final int MOST_TILE_BYTES = 256 * HASH_BYTES;
    private static final int TILE_LEVELS = 8;
    private static final int TILE_WIDTH = 1 << TILE_LEVELS;

    private final long size;
    private final Function<String, byte[]> source;
    private final Map<String, byte[]> tiles = new HashMap<>();

    /** Of so many entries, whose tiles a source gives, each once. */
    MerkleTree(long size, Function<String, byte[]> source) {
        this.size = size;
        this.source = source;
    }

    /** The root of the first entries. */
    byte[] root(long entries) {
        return range(0, entries);
    }

    static byte[] leaf(byte[] entry) {
        return Bytes.sha256(Bytes.join(new byte[] {0}, entry));
    }

    /** The root of a tree in which a leaf is at an index, if its path is right. */
    static byte[] rootOf(byte[] leaf, long index, long size, List<byte[]> path) {
        if (index < 0 || index >= size || path.size() != pathLength(index, size)) {
            throw new RefusalException("the proof of the layer has another length than the log has levels");
        }
        byte[] found = leaf;
        long at = index;
        long last = size - 1;
        for (byte[] sibling : path) {
            // At the right edge, levels without a sibling are skipped.
            while (at % 2 == 0 && at == last) {
                at /= 2;
                last /= 2;
            }
            found = at % 2 == 1 ? node(sibling, found) : node(found, sibling);
            at /= 2;
            last /= 2;
        }
        return found;
    }

    /** How many hashes prove a leaf: one for each level at which it has a sibling. */
    private static int pathLength(long index, long size) {
        int length = 0;
        for (long at = index, last = size - 1; last > 0; at /= 2, last /= 2) {
            length += at % 2 == 1 || at < last ? 1 : 0;
        }
        return length;
    }

    private static byte[] node(byte[] left, byte[] right) {
        return Bytes.sha256(Bytes.join(new byte[] {1}, left, right));
    }

    /** The hash over entries from one to below another, a range that some tree has as a node. */
    private byte[] range(long low, long high) {
        int level = 63 - Long.numberOfLeadingZeros(high - low);
        long complete = 1L << level;
        if (complete == high - low) {
            return subtree(level, low >> level);
        }
        return node(range(low, low + complete), range(low + complete, high));
    }

    private byte[] subtree(int level, long index) {
        int above = level % TILE_LEVELS;
        long first = index << above;
        byte[] tile = tile(level / TILE_LEVELS, first / TILE_WIDTH);
        return within(tile, (int) (first % TILE_WIDTH), above);
    }

    /** The hash above so many hashes of a tile. */
    private static byte[] within(byte[] tile, int first, int above) {
        if (above == 0) {
            return Arrays.copyOfRange(tile, first * HASH_BYTES, (first + 1) * HASH_BYTES);
        }
        return node(within(tile, first, above - 1), within(tile, first + (1 << above - 1), above - 1));
    }

    private byte[] tile(int level, long index) {
        long width = Math.min(TILE_WIDTH, (size >> TILE_LEVELS * level) - index * TILE_WIDTH);
        String path = path(level, index, width);
        byte[] tile = tiles.computeIfAbsent(path, source);
        if (tile.length != width * HASH_BYTES) {
            throw new RefusalException("the log's file " + path + " has " + tile.length + " bytes");
        }
        return tile;
    }

    private static String path(int level, long index, long width) {
        StringBuilder number = new StringBuilder(String.format(Locale.ROOT, "%03d", index % 1000));
        for (long rest = index / 1000; rest > 0; rest /= 1000) {
            number.insert(0, String.format(Locale.ROOT, "x%03d/", rest % 1000));
        }
        return "tile/" + level + "/" + number + (width == TILE_WIDTH ? "" : ".p/" + width);
    }
}
