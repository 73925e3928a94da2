package neologue.harness;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import neologue.LaterException;
import neologue.RefusalException;
import neologue.candidates.ExtendedPrefixes;
import neologue.device.PolicyProbe;
import neologue.masking.Member;
import neologue.masking.NeighbourhoodProbe;
import neologue.protocol.Bytes;
import neologue.protocol.Checkpoint;
import neologue.protocol.Credential;
import neologue.protocol.Invitation;
import neologue.protocol.Json;
import neologue.protocol.KeyHistory;
import neologue.protocol.Layer;
import neologue.protocol.LayerDocument;
import neologue.protocol.LayerProbe;
import neologue.protocol.LogProof;
import neologue.protocol.PlatformSignatures;
import neologue.protocol.Signatures;
import neologue.randomizers.SubsetSelection;
import neologue.randomizers.Unary;
import neologue.text.Alphabet;
import neologue.text.Vocabulary;
import neologue.text.WordForm;
import neologue.transport.HandoverTransport;
import neologue.transport.Response;

/** Holds the device to the files in vectors/. */
final class Vectors {
    /** The messages of a service to a group, and what a device answers. */
    private static final String[][] GROUP_STEPS = {
        {"roster", "sharing"}, {"delivery", "masked"}, {"survivors", "confirmation"}, {"request", "unmasking"}
    };

    private final Path folder;
    private final Signatures signatures = new PlatformSignatures();
    private final Map<String, Integer> passed = new LinkedHashMap<>();
    private final List<String> failures = new ArrayList<>();
    private String file;

    private Vectors(Path folder) {
        this.folder = folder;
    }

    /** How many checks of each file passed, and what the others found. */
    static Object check(Values given) throws Exception {
        Vectors vectors = new Vectors(Paths.get(given.text("folder")));
        vectors.forms();
        vectors.candidates();
        vectors.unary();
        vectors.subsetSelection();
        vectors.reports("reports", vectors.read("reports"));
        vectors.reports("closed", vectors.read("closed"));
        vectors.likely();
        vectors.documents();
        vectors.identities();
        vectors.succession();
        vectors.log();
        vectors.masking();
        vectors.counting();
        vectors.refusals();
        vectors.policy();
        vectors.handover();
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("passed", vectors.passed);
        result.put("failures", vectors.failures);
        return result;
    }

    private void handover() throws Exception {
        Path step = Files.createTempDirectory("handover");
        for (Values vector : Values.objects(read("handover"))) {
            Files.write(step.resolve("answers"), Json.write(vector.get("answers")).getBytes(StandardCharsets.UTF_8));
            HandoverTransport transport = new HandoverTransport(step.resolve("request"), step.resolve("answers"));
            for (Values asked : vector.objects("asked")) {
                Response answer = ask(transport, asked);
                same(vector, "status", asked.number("status"), answer.status);
                same(vector, "retry_after", asked.get("retry_after"), answer.retryAfter);
                same(vector, "answer", asked.get("answer"), Bytes.hex(answer.body));
            }
            try {
                ask(transport, vector.object("next"));
                failures.add("handover, " + vector.get("name") + ": the last request has an answer");
            } catch (LaterException error) {
                String left = new String(Files.readAllBytes(step.resolve("request")), StandardCharsets.UTF_8);
                same(vector, "request", vector.get("request"), Json.read(left));
            }
        }
    }

    private static Response ask(HandoverTransport transport, Values asked) {
        byte[] body = asked.text("method").equals("GET") ? null : asked.bytes("body");
        String type = body == null ? null : asked.text("type");
        return transport.request(asked.text("method"), asked.text("path"), body, type, LayerDocument.LARGEST);
    }

    private Object read(String name) throws Exception {
        file = name;
        passed.put(name, 0);
        return Json.read(new String(Files.readAllBytes(folder.resolve(name + ".json")), StandardCharsets.UTF_8));
    }

    private void same(Values vector, String what, Object expected, Object got) {
        if (Objects.equals(expected, got)) {
            passed.merge(file, 1, Integer::sum);
        } else {
            failures.add(file + ", " + vector.get("name") + ", " + what + ": " + got + " instead of " + expected);
        }
    }

    private void refuses(Values vector, String what, Runnable reading) {
        boolean refused = false;
        try {
            reading.run();
        } catch (RefusalException error) {
            refused = true;
        }
        same(vector, what, true, refused);
    }

    private void forms() throws Exception {
        for (Values vector : Values.objects(read("forms"))) {
            WordForm form = new WordForm(vector.text("replaced"), vector.text("stripped"));
            for (Values word : vector.objects("words")) {
                same(vector, word.text("typed"), word.text("form"), form.of(word.text("typed")));
            }
        }
    }

    private void candidates() throws Exception {
        for (Values vector : Values.objects(read("candidates"))) {
            ExtendedPrefixes candidates = new ExtendedPrefixes(
                    new Alphabet(vector.text("alphabet")), vector.strings("frontier"), vector.number("extension"));
            same(vector, "size", (long) vector.number("size"), candidates.size());
            for (Values word : vector.objects("words")) {
                same(vector, word.text("word"), orNone(word), candidates.index(word.text("word")));
            }
        }
    }

    private static int orNone(Values word) {
        return word.get("candidate") == null ? -1 : word.number("candidate");
    }

    private void unary() throws Exception {
        for (Values vector : Values.objects(read("unary"))) {
            Unary unary = new Unary(vector.number("candidates"), vector.real("epsilon"), vector.number("bound"));
            same(vector, "noise", new BigInteger(vector.text("noise")), unary.noise);
            same(vector, "remainder_bits", vector.number("remainder_bits"), unary.remainderBits);
            same(vector, "usual_bytes", (long) vector.number("usual_bytes"), unary.payloadBytes());
            int[] ones = unary.ones(vector.numbers("held"), new Dictated(vector.bytes("entropy"))).stream().toArray();
            same(vector, "positions", Arrays.toString(vector.numbers("positions")), Arrays.toString(ones));
            Dictated entropy = new Dictated(vector.bytes("entropy"));
            byte[] payload = unary.randomize(vector.numbers("held"), entropy);
            same(vector, "payload", vector.text("payload"), Bytes.hex(payload));
            same(vector, "entropy left", 0, entropy.left());
            int[] counts = unary.count(payload);
            int[] voted = IntStream.range(0, counts.length).filter(each -> counts[each] == 1).toArray();
            same(vector, "count", Arrays.toString(ones), Arrays.toString(voted));
        }
    }

    private void subsetSelection() throws Exception {
        Values all = new Values(read("subset_selection"));
        for (Values vector : all.objects("expansions")) {
            long[][] subsets = SubsetSelection.expand(
                    vector.bytes("seed"), ((Double) vector.get("domain")).longValue(), vector.number("rows"),
                            vector.number("size"));
            List<List<Double>> lists = Arrays.stream(subsets)
                    .map(subset -> Arrays.stream(subset).mapToObj(value -> (double) value).collect(Collectors.toList()))
                    .collect(Collectors.toList());
            same(vector, "subsets", vector.get("subsets"), lists);
        }
        for (Values vector : all.objects("reports")) {
            SubsetSelection selection =
                    new SubsetSelection(vector.number("candidates"), vector.real("epsilon"), vector.number("bound"));
            same(vector, "domain", (long) vector.number("domain"), selection.domain);
            same(vector, "subset_size", vector.number("subset_size"), selection.subsetSize);
            same(vector, "truth", new BigInteger(vector.text("truth")), selection.truth);
            Dictated entropy = new Dictated(vector.bytes("entropy"));
            byte[] payload = selection.randomize(vector.numbers("held"), entropy);
            same(vector, "payload", vector.text("payload"), Bytes.hex(payload));
            same(vector, "entropy left", 0, entropy.left());
        }
    }

    private void reports(String name, Object vectors) {
        for (Values vector : Values.objects(vectors)) {
            Values told = vector.object("layer");
            Layer layer = LayerDocument.read(told.canonical());
            same(vector, "digest", vector.text("digest"), Bytes.hex(layer.digest));
            Vocabulary known = known(vector);
            TreeMap<String, Long> counting = LayerProbe.counting(layer, vector.counts("words"), known);
            if (name.equals("closed")) {
                same(vector, "counting", vector.get("counting"), new ArrayList<>(counting.keySet()));
            } else {
                TreeMap<Integer, Long> prefixes = LayerProbe.prefixes(layer, counting);
                same(vector, "prefixes", vector.get("prefixes"), reals(prefixes.keySet()));
                same(vector, "times", vector.get("times"), reals(prefixes.values()));
            }
            Dictated entropy = new Dictated(vector.bytes("entropy"));
            same(vector, "report", vector.text("report"), Bytes.hex(layer.report(vector.counts("words"), known,
                    entropy)));
            same(vector, "entropy left", 0, entropy.left());
        }
    }

    private static Vocabulary known(Values vector) {
        return Vocabulary.read(String.join("\n", vector.strings("known_words")).getBytes(StandardCharsets.UTF_8));
    }

    private static List<Double> reals(Collection<? extends Number> numbers) {
        return numbers.stream().map(Number::doubleValue).collect(Collectors.toList());
    }

    private void likely() throws Exception {
        Values all = new Values(read("likely"));
        for (Values vector : all.objects("layers")) {
            Layer layer = LayerDocument.read(vector.object("layer").canonical());
            same(vector, "digest", vector.text("digest"), Bytes.hex(layer.digest));
            same(vector, "size", Arrays.stream(vector.numbers("sizes")).asLongStream().sum(), layer.size());
            for (Values word : vector.objects("words")) {
                same(vector, word.text("word"), orNone(word), LayerProbe.index(layer, word.text("word")));
            }
        }
        reports("likely", all.get("reports"));
        Values refused = all.object("refused");
        LayerDocument.read(refused.object("layer").canonical());
        for (Values vector : refused.objects("cases")) {
            Values changed = refused.object("layer").with(vector.object("change"));
            refuses(vector, "refused", () -> LayerDocument.read(changed.canonical()));
        }
    }

    private void documents() throws Exception {
        for (Values vector : Values.objects(read("documents"))) {
            byte[] document = vector.bytes("document");
            Values told = new Values(Json.read(new String(document, StandardCharsets.UTF_8)));
            Invitation invitation = new Invitation(
                    Bytes.sha256(document), vector.bytes("operator"), vector.bytes("signature"), null, null);
            same(vector, "digest", vector.text("digest"), Bytes.hex(invitation.layer));
            same(vector, "signed", true, invitation.isGenuine(vector.bytes("campaign"), signatures));
            for (byte[] promise : new byte[][] {null, vector.bytes("masked")}) {
                Invitation masked = new Invitation(
                        invitation.layer, invitation.operator, vector.bytes("masked_signature"), null, promise);
                same(vector, "signed for masks", promise != null, masked.isGenuine(vector.bytes("campaign"), signatures));
            }
            Vocabulary.read(vector.bytes("known_document"));
            Layer layer = LayerDocument.read(document);
            same(vector, "known", vector.text("known_digest"), layer.known);
            same(vector, "known words", layer.known, Bytes.hex(Bytes.sha256(vector.bytes("known_document"))));
        }
    }

    private void identities() throws Exception {
        for (Values vector : Values.objects(read("identities"))) {
            Credential credential = new Credential(vector.text("credential"));
            same(vector, "campaign", vector.text("campaign"), Bytes.hex(credential.campaign));
            same(vector, "serial", vector.text("serial"), Bytes.hex(credential.serial));
            byte[] body = credential.submission(vector.bytes("ticket"), vector.bytes("report"));
            same(vector, "body", vector.text("body"), Bytes.hex(body));
        }
    }

    private void succession() throws Exception {
        for (Values vector : new Values(read("succession")).objects("cases")) {
            Map<String, String> pins = Collections.singletonMap(vector.text("pinned"), vector.text("recovery"));
            KeyHistory history = new KeyHistory(new TreeMap<>(), new TreeMap<>());
            for (Values shown : vector.objects("shown")) {
                boolean refused = false;
                try {
                    history = history.learn(shown.bytes("document"), pins, signatures);
                } catch (RefusalException error) {
                    refused = true;
                }
                same(vector, "refused", shown.get("refused"), refused);
                same(vector, "path", shown.get("path"), history.path(vector.text("pinned"), vector.text("recovery")));
            }
        }
    }

    private void log() throws Exception {
        Values all = new Values(read("log"));
        List<String> logs = Collections.singletonList(all.text("log"));
        List<String> witnesses = Arrays.asList(all.strings("witnesses"));
        for (Values vector : all.objects("cases")) {
            byte[] masked = vector.get("masked") == null ? null : vector.bytes("masked");
            List<String> found = null;
            try {
                found = LogProof.read(vector.bytes("proof"))
                        .check(all.bytes("campaign"), vector.bytes("layer"), masked, logs, witnesses,
                                vector.number("quorum"), vector.number("now"), signatures)
                        .stream().map(Vectors::said).collect(Collectors.toList());
            } catch (RefusalException error) {
                // as a vector may say
            }
            List<String> expected = vector.get("checkpoints") == null ? null : vector.objects("checkpoints").stream()
                    .map(Vectors::checkpoint).map(Vectors::said).collect(Collectors.toList());
            same(vector, "checkpoints", expected, found);
        }
        same(all, "binding", all.text("binding"),
                Bytes.hex(new Checkpoint("neologue.log/" + all.text("log"), 0, "").evidenceBinding()));
        for (Values vector : all.objects("growth")) {
            boolean goesOn = true;
            try {
                LogProof.checkGoesOn(checkpoint(vector.object("known")), checkpoint(vector.object("next")),
                        path -> vector.object("tiles").bytes(path));
            } catch (RefusalException | LaterException error) {
                goesOn = false;
            }
            same(vector, "goes_on", vector.get("goes_on"), goesOn);
        }
    }

    private void masking() throws Exception {
        Values all = new Values(read("masking"));
        for (Values vector : all.objects("neighbourhoods")) {
            same(vector, "neighbourhood", vector.number("degree") + " " + vector.number("threshold"),
                    NeighbourhoodProbe.of(vector.number("size"), vector.number("dropout"), vector.number("corrupt")));
        }
        for (Values vector : all.objects("corrupt")) {
            same(vector, "most", vector.number("most"), NeighbourhoodProbe.mostCorrupt(vector.number("size"),
                    vector.number("share"), (Double) vector.get("risk"), vector.number("groups")));
        }
        for (Values cohort : all.objects("cohorts")) {
            for (Values told : cohort.objects("devices")) {
                Dictated entropy = new Dictated(told.bytes("secrets"));
                byte[] advertised = told.bytes("advertisement");
                Map<String, Object> own = new LinkedHashMap<>();
                for (String shared : new String[] {"terms", "promise", "campaign"}) {
                    own.put(shared, cohort.get(shared));
                }
                byte[] terms = cohort.bytes("terms");
                own.put("layer", Bytes.hex(Arrays.copyOfRange(terms, 17, 49)));
                own.put("most", (double) (terms[54] & 0xff));
                own.put("votes", told.get("votes"));
                own.put("signing_key", told.get("signing_key"));
                own.put("voucher", Bytes.hex(Arrays.copyOfRange(advertised, 51, 115)));
                Member member = Members.member(new Values(own), entropy);
                same(told, "advertisement", Bytes.hex(advertised), Bytes.hex(member.advertise()));
                for (String[] step : GROUP_STEPS) {
                    if (told.get(step[0]) != null) {
                        same(told, step[1], told.get(step[1]), Bytes.hex(member.answer(told.bytes(step[0]))));
                    }
                }
                same(told, "entropy left", 0, entropy.left());
            }
        }
    }

    private static Checkpoint checkpoint(Values said) {
        return new Checkpoint(said.text("origin"), said.number("size"), said.text("root"));
    }

    private static String said(Checkpoint checkpoint) {
        return checkpoint.origin + " " + checkpoint.size + " " + checkpoint.root;
    }

    private void counting() throws Exception {
        for (Values vector : Values.objects(read("counting"))) {
            Layer layer = LayerDocument.read(vector.object("layer").canonical());
            Vocabulary known = known(vector);
            Map<String, Long> counting = LayerProbe.counting(layer, vector.counts("words"), known);
            same(vector, "counting", new TreeMap<>(vector.counts("counting")), new TreeMap<>(counting));
        }
    }

    private void refusals() throws Exception {
        Values all = new Values(read("refusals"));
        for (Values vector : all.objects("documents")) {
            Values base = all.object("layers").object(vector.text("base"));
            LayerDocument.read(base.canonical());
            byte[] document = base.with(vector.object("change")).canonical();
            refuses(vector, "document", () -> LayerDocument.read(document));
        }
        for (Values vector : all.objects("bytes")) {
            refuses(vector, "document", () -> LayerDocument.read(vector.bytes("document")));
        }
        for (Values vector : all.objects("known")) {
            refuses(vector, "known words", () -> Vocabulary.read(vector.bytes("known_document")));
        }
    }

    private void policy() throws Exception {
        for (Values vector : Values.objects(read("policy"))) {
            Layer layer = LayerDocument.read(vector.object("layer").canonical());
            boolean refused = false;
            try {
                PolicyProbe.check(
                        layer, (List<?>) vector.get("spent"), (Boolean) vector.get("unlogged_lists"));
            } catch (RefusalException error) {
                refused = true;
            }
            same(vector, "refused", vector.get("refused"), refused);
        }
    }
}
