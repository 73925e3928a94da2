package neologue.harness;

import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import neologue.protocol.Layer;
import neologue.protocol.LayerDocument;
import neologue.random.SystemEntropy;
import neologue.text.Vocabulary;

/** What it costs to read a layer and to make a report: the first time, and the fifth. */
public final class Costs {
    private static final int TIMES = 5;

    private Costs() {}

    /** For the files of a layer document, of its known words and of what was typed, a word a line. */
    public static void main(String[] files) throws Exception {
        Map<String, Long> typed = new TreeMap<>();
        for (String word : Files.readAllLines(Paths.get(files[2]))) {
            typed.put(word, 1L);
        }
        for (int time = 1; time <= TIMES; time++) {
            long before = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
            Layer layer = LayerDocument.read(Files.readAllBytes(Paths.get(files[0])));
            Vocabulary known = Vocabulary.read(Files.readAllBytes(Paths.get(files[1])));
            byte[] report = layer.report(typed, known, new SystemEntropy());
            long taken = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - before;
            if (time == 1 || time == TIMES) {
                System.out.printf(Locale.ROOT, "%d %d %d%n", time, taken / 1_000_000, report.length);
            }
        }
    }
}
