package neologue.storage;

import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import neologue.protocol.Bytes;

/** A file that is replaced as a whole: after a crash it has its old content or its new one, and never another. */
public final class DurableFile {
    private static final int DIGEST_BYTES = 32;

    private final Path path;

    public DurableFile(Path path) {
        this.path = path;
    }

    /** The content; null if there is no file. It begins with its digest, so that damage is noticed. */
    public byte[] read() {
        try {
            if (!Files.exists(path)) {
                return null;
            }
            byte[] stored = Files.readAllBytes(path);
            byte[] content = Arrays.copyOfRange(stored, Math.min(DIGEST_BYTES, stored.length), stored.length);
            if (!Arrays.equals(Bytes.sha256(content), Arrays.copyOf(stored, DIGEST_BYTES))) {
                throw new StorageException("the file " + path + " is damaged", null);
            }
            return content;
        } catch (IOException error) {
            throw new StorageException("can't read " + path, error);
        }
    }

    /** Replace the content; it is on the disk when this returns. */
    public void write(byte[] content) {
        Path draft = path.resolveSibling(path.getFileName() + ".new");
        try {
            Files.createDirectories(path.getParent());
            try (FileOutputStream out = new FileOutputStream(draft.toFile())) {
                out.write(Bytes.sha256(content));
                out.write(content);
                out.getFD().sync();
            }
            Files.move(draft, path, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            // The name is on the disk only when the folder is.
            try (FileChannel folder = FileChannel.open(path.getParent(), StandardOpenOption.READ)) {
                folder.force(true);
            }
        } catch (IOException error) {
            throw new StorageException("can't write " + path, error);
        }
    }

    public void delete() {
        try {
            Files.deleteIfExists(path);
        } catch (IOException error) {
            throw new StorageException("can't delete " + path, error);
        }
    }
}
