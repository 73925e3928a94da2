package neologue.harness;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import neologue.RefusalException;
import neologue.device.Policy;
import neologue.protocol.Bytes;
import neologue.protocol.Json;
import neologue.protocol.Layer;
import neologue.protocol.LayerDocument;
import neologue.text.CodePoints;
import neologue.text.Vocabulary;
import neologue.text.WordForm;

/** Does what tests ask for, one JSON object a line, so that one Java machine is enough for all of them. */
public final class Harness {
    /** Does one thing that a test asks for. */
    private interface Command {
        Object run(Values given) throws Exception;
    }

    private Harness() {}

    /** Reads lines until there are none. */
    public static void main(String[] arguments) throws Exception {
        Devices devices = new Devices();
        Members members = new Members();
        Map<String, Command> commands = new HashMap<>();
        commands.put("vectors", Vectors::check);
        commands.put("read", Harness::read);
        commands.put("known", Harness::known);
        commands.put("judge", Harness::judge);
        commands.put("words", Harness::words);
        commands.put("open", devices::open);
        commands.put("close", devices::close);
        commands.put("tick", devices::tick);
        commands.put("wait", devices::wait);
        commands.put("owner", devices::owner);
        commands.put("member", members::join);
        commands.put("answer", members::answer);
        commands.put("fleet", devices::fleet);
        commands.put("steps", devices::steps);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, "UTF-8");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Map<String, Object> answer = new LinkedHashMap<>();
            try {
                Values given = new Values(Json.read(line));
                answer.put("result", commands.get(given.text("do")).run(given));
            } catch (Exception error) {
                answer.put("error", error.toString());
            }
            out.println(Json.write(answer));
        }
    }

    /** The digests of documents that are read with some known words, or "refused". */
    private static Object read(Values given) {
        List<String> read = new ArrayList<>();
        for (String document : given.strings("documents")) {
            try {
                Layer layer = LayerDocument.read(Bytes.unhex(document, -1));
                boolean known = layer.known.equals(given.text("known"));
                read.add(known ? Bytes.hex(layer.digest) : "refused");
            } catch (RefusalException error) {
                read.add("refused");
            }
        }
        return read;
    }

    /** Whether each list of known words is read. */
    private static Object known(Values given) {
        List<Boolean> read = new ArrayList<>();
        for (String list : given.strings("lists")) {
            try {
                Vocabulary.read(list.getBytes(StandardCharsets.UTF_8));
                read.add(true);
            } catch (RefusalException error) {
                read.add(false);
            }
        }
        return read;
    }

    /** Why each layer is refused by the usual policy; empty if it is not. */
    private static Object judge(Values given) {
        List<String> complaints = new ArrayList<>();
        Policy policy = new Policy(Collections.emptyList());
        for (String document : given.strings("documents")) {
            try {
                policy.checkLayer(LayerDocument.read(Bytes.unhex(document, -1)));
                complaints.add("");
            } catch (RefusalException error) {
                complaints.add(error.getMessage());
            }
        }
        return complaints;
    }

    /** Which words each vocabulary knows, what is left of spaced texts, and words in order. */
    private static Object words(Values given) {
        List<List<Boolean>> known = new ArrayList<>();
        for (Object list : (List<?>) given.get("vocabularies")) {
            String[] listed = ((List<?>) list).stream().map(word -> WordForm.AS_TYPED.of((String) word)).toArray(String[]::new);
            Arrays.sort(listed, CodePoints.ORDER);
            Vocabulary vocabulary = Vocabulary.of(listed);
            List<Boolean> row = new ArrayList<>();
            for (String word : given.strings("words")) {
                row.add(vocabulary.knows(CodePoints.normalise(word)));
            }
            known.add(row);
        }
        List<String> formed = new ArrayList<>();
        for (String text : given.strings("texts")) {
            formed.add(WordForm.AS_TYPED.of(text));
        }
        List<Object> result = new ArrayList<>();
        result.add(known);
        result.add(formed);
        return result;
    }
}
