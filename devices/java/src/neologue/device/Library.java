package neologue.device;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import neologue.OversizeException;
import neologue.RefusalException;
import neologue.protocol.Bytes;
import neologue.protocol.Layer;
import neologue.protocol.LayerDocument;
import neologue.storage.StorageException;
import neologue.text.Vocabulary;

/**
 * Layers and lists of known words by their digest, each fetched and checked once. Devices of one process may share it.
 */
public final class Library {
    private static final int MOST_FILES = 4;

    private final Path folder;
    private final byte[] shipped;
    private Layer layer;
    private Vocabulary known;
    private String knownDigest;

    /** In a folder, or in memory alone if it is null; `shipped` are known words that the app comes with, or null. */
    public Library(Path folder, byte[] shipped) {
        this.folder = folder;
        this.shipped = shipped;
    }

    /**
     * The layer with a digest and its known words; these are fetched only if the layer is admitted. `fetch` gives the bytes
     * at a path of the service, at most so many.
     */
    synchronized KnownLayer layer(byte[] digest, BiFunction<String, Integer, byte[]> fetch, Policy policy,
            Consumer<Layer> admit) {
        if (layer == null || !Bytes.hex(layer.digest).equals(Bytes.hex(digest))) {
            layer = LayerDocument.read(content("layers", Bytes.hex(digest), LayerDocument.LARGEST, fetch));
        }
        admit.accept(layer);
        if (!layer.known.equals(knownDigest)) {
            known = knownWords(layer.known, fetch, policy);
            knownDigest = layer.known;
        }
        return new KnownLayer(layer, known);
    }

    /** Forget all, also what is in the folder. */
    synchronized void clear() {
        layer = null;
        knownDigest = null;
        files().forEach(Library::delete);
    }

    private Vocabulary knownWords(String digest, BiFunction<String, Integer, byte[]> fetch, Policy policy) {
        byte[] content;
        try {
            boolean isShipped = shipped != null && Bytes.hex(Bytes.sha256(shipped)).equals(digest);
            content = isShipped ? shipped : content("known", digest, policy.limits.largestKnown, fetch);
        } catch (OversizeException error) {
            throw new RefusalException(policy.knownComplaint());
        }
        policy.checkKnown(content);
        return Vocabulary.read(content);
    }

    private byte[] content(String kind, String digest, int most, BiFunction<String, Integer, byte[]> fetch) {
        Path file = folder == null ? null : folder.resolve(kind + "-" + digest);
        try {
            if (file != null && Files.exists(file)) {
                byte[] content = Files.readAllBytes(file);
                if (Bytes.hex(Bytes.sha256(content)).equals(digest)) {
                    return content;
                }
            }
        } catch (IOException error) {
            // It is fetched again.
        }
        byte[] content = fetch.apply("/v1/" + kind + "/" + digest, most);
        if (!Bytes.hex(Bytes.sha256(content)).equals(digest)) {
            throw new RefusalException("what the service gave for " + kind + "/" + digest
                    + " has another digest and is not used");
        }
        if (file != null) {
            store(file, content);
        }
        return content;
    }

    private void store(Path file, byte[] content) {
        try {
            Files.createDirectories(folder);
            Files.write(file, content);
        } catch (IOException error) {
            return; // it only costs another fetch
        }
        List<Path> files = files();
        files.sort(Comparator.comparingLong(each -> each.toFile().lastModified()));
        files.subList(0, Math.max(0, files.size() - MOST_FILES)).forEach(Library::delete);
    }

    private List<Path> files() {
        if (folder == null || !Files.isDirectory(folder)) {
            return new ArrayList<>();
        }
        List<Path> files = new ArrayList<>();
        try (DirectoryStream<Path> all = Files.newDirectoryStream(folder)) {
            all.forEach(files::add);
        } catch (IOException error) {
            // What can't be listed stays.
        }
        return files;
    }

    private static void delete(Path file) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException error) {
            throw new StorageException("can't delete " + file, error);
        }
    }

    /** A layer with its known words. */
    static final class KnownLayer {
        final Layer layer;
        final Vocabulary known;

        KnownLayer(Layer layer, Vocabulary known) {
            this.layer = layer;
            this.known = known;
        }
    }
}
