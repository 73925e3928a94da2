package neologue.protocol;

/** Gives the files of a log. */
public interface TileSource {
    /** The most bytes of one. */
    int MOST_BYTES = MerkleTree.MOST_TILE_BYTES;

    /** The file at a path below the log. */
    byte[] get(String path);
}
