package neologue.storage;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import neologue.text.CodePoints;
import neologue.text.WordForm;

/**
 * Which words were typed on this device lately, and on which days; no longer than some days, and in one sealed file.
 *
 * <p>A word typed on day d is remembered through day d + days - 1. Words that were typed are written in batches, so that
 * typing does not wait for the disk; what is forgotten is off the disk when the method returns.
 */
public final class Diary {
    public static final int DAYS = 60;
    public static final int CAPACITY = 10_000;
    public static final int LONGEST = 64;

    private static final int BATCH = 64;

    private final DurableFile file;
    private final Seal seal;
    private final Clock clock;
    /** By word, in the order of first being noted: how often it was typed, by day. */
    private final Map<String, TreeMap<Long, Integer>> uses = new LinkedHashMap<>();

    private int unsaved;

    /** In a file, sealed unless there is no seal. */
    public Diary(Path path, Seal seal, Clock clock) {
        file = new DurableFile(path);
        this.seal = seal;
        this.clock = clock;
        byte[] stored = file.read();
        if (stored != null) {
            read(stored);
        }
    }

    /** Note that a word was typed today; an empty or overlong one is silently not kept. */
    public synchronized void typed(String word, int times) {
        String noted = WordForm.AS_TYPED.of(word);
        // A long string is more likely a secret than a word.
        if (noted.isEmpty() || CodePoints.length(noted) > LONGEST || !CodePoints.isText(noted)) {
            return;
        }
        expire();
        if (!uses.containsKey(noted) && uses.size() >= CAPACITY) {
            evict();
        }
        uses.computeIfAbsent(noted, unused -> new TreeMap<>()).merge(clock.day(), times, Diary::saturate);
        if (++unsaved >= BATCH) {
            save();
        }
    }

    /** The words still remembered, each with how often it was typed. */
    public synchronized Map<String, Long> words() {
        expire();
        Map<String, Long> words = new HashMap<>();
        for (Map.Entry<String, TreeMap<Long, Integer>> entry : uses.entrySet()) {
            words.put(entry.getKey(), times(entry.getValue()));
        }
        return words;
    }

    /** Forget this very word. */
    public synchronized void forget(String word) {
        if (uses.remove(WordForm.AS_TYPED.of(word)) != null) {
            write();
        }
    }

    /** Forget every word. */
    public synchronized void forgetAll() {
        uses.clear();
        unsaved = 0;
        file.delete();
    }

    /** Write what was typed since the last time. */
    public synchronized void save() {
        if (unsaved > 0) {
            write();
        }
    }

    private void expire() {
        long lastExpired = clock.day() - DAYS;
        boolean expired = false;
        for (TreeMap<Long, Integer> days : uses.values()) {
            Map<Long, Integer> old = days.headMap(lastExpired, true);
            expired |= !old.isEmpty();
            old.clear();
        }
        if (expired) {
            uses.values().removeIf(Map::isEmpty);
            write();
        }
    }

    /** Drop the word with the oldest last use, of these the least typed, of these the first noted. */
    private void evict() {
        Map.Entry<String, TreeMap<Long, Integer>> first = null;
        for (Map.Entry<String, TreeMap<Long, Integer>> entry : uses.entrySet()) {
            long earlier = first == null ? -1 : Long.compare(entry.getValue().lastKey(), first.getValue().lastKey());
            if (earlier < 0 || earlier == 0 && times(entry.getValue()) < times(first.getValue())) {
                first = entry;
            }
        }
        uses.remove(first.getKey());
    }

    private static long times(Map<Long, Integer> days) {
        long times = 0;
        for (int each : days.values()) {
            times += each;
        }
        return times;
    }

    private void write() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeInt(uses.size());
            for (Map.Entry<String, TreeMap<Long, Integer>> entry : uses.entrySet()) {
                out.writeUTF(entry.getKey());
                out.writeInt(entry.getValue().size());
                for (Map.Entry<Long, Integer> use : entry.getValue().entrySet()) {
                    out.writeLong(use.getKey());
                    out.writeInt(use.getValue());
                }
            }
            file.write(seal == null ? bytes.toByteArray() : seal.close(bytes.toByteArray()));
            unsaved = 0;
        } catch (IOException | GeneralSecurityException error) {
            throw new StorageException("the diary can't be written", error);
        }
    }

    private void read(byte[] stored) {
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(seal == null ? stored
                : seal.open(stored)))) {
            for (int words = in.readInt(); words > 0; words--) {
                TreeMap<Long, Integer> days = new TreeMap<>();
                uses.put(in.readUTF(), days);
                for (int left = in.readInt(); left > 0; left--) {
                    days.put(in.readLong(), in.readInt());
                }
            }
        } catch (IOException | GeneralSecurityException error) {
            throw new StorageException("the diary is damaged or sealed by another key: delete it to start a new one",
                    error);
        }
    }

    private static int saturate(int before, int more) {
        return (int) Math.min((long) before + more, Integer.MAX_VALUE);
    }
}
