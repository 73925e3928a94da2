package neologue.storage;

import java.nio.file.Path;
import java.util.function.Consumer;

/** The state of a device in its file: a change is on the disk before anyone sees it, or has not happened. */
public final class Record {
    private final DurableFile file;
    private DeviceState state;

    public Record(Path path) {
        file = new DurableFile(path);
        byte[] stored = file.read();
        state = stored == null ? new DeviceState() : DeviceState.read(stored);
    }

    /** The state as it is on the disk; not to be changed. */
    public synchronized DeviceState state() {
        return state;
    }

    /** Change the state, on the disk first. */
    public synchronized void update(Consumer<DeviceState> change) {
        DeviceState next = DeviceState.read(state.write());
        change.accept(next);
        file.write(next.write());
        state = next;
    }
}
