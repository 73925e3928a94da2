package neologue.storage;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Keeps a folder to one device: two at once could answer a campaign twice. */
public final class FolderLock {
    private final FileChannel channel;

    public FolderLock(Path folder) {
        FileLock lock;
        try {
            Files.createDirectories(folder);
            channel = FileChannel.open(folder.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            lock = channel.tryLock();
        } catch (IOException | OverlappingFileLockException error) {
            throw new StorageException("can't use the folder " + folder
                    + " alone: close the other device, or give another folder", error);
        }
        if (lock == null) {
            close();
            throw new StorageException("another process has a device in the folder " + folder + ": close it first",
                    null);
        }
    }

    public void close() {
        try {
            channel.close();
        } catch (IOException error) {
            throw new StorageException("can't close the lock of the folder", error);
        }
    }
}
