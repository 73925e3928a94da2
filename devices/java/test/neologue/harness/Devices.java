package neologue.harness;

import example.UnmeteredTransport;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import javax.crypto.spec.SecretKeySpec;
import neologue.device.Device;
import neologue.device.DeviceBuilder;
import neologue.device.DictatedDevices;
import neologue.device.Library;
import neologue.device.Limits;
import neologue.device.Policy;
import neologue.device.SendingTime;
import neologue.device.Tick;
import neologue.protocol.Bytes;
import neologue.storage.AesSeal;
import neologue.storage.Clock;
import neologue.transport.HandoverTransport;
import neologue.transport.HttpTransport;
import neologue.transport.Transport;

/** Real devices, by the names that a test gives them. */
final class Devices {
    private static final int THREADS = 8;

    private final Map<String, Device> open = new HashMap<>();
    private long day = Clock.SYSTEM.day();

    /** Open a device; its words are noted and its campaign is joined if the test says so. */
    Object open(Values given) {
        Device device = device(given, null);
        open.put(name(given), device);
        return null;
    }

    Object close(Values given) {
        open.remove(name(given)).close();
        return null;
    }

    Object tick(Values given) {
        return written(open.get(name(given)).tick());
    }

    /** The conformance kit has one device at a time, without a name. */
    private static String name(Values given) {
        return given.get("name") == null ? "" : given.text("name");
    }

    /** Let days pass for devices that are opened from now on. */
    Object wait(Values given) {
        day += given.number("days");
        return null;
    }

    /** What an owner says or asks. */
    Object owner(Values given) {
        Device device = open.get(name(given));
        switch (given.text("says")) {
            case "opt in":
                device.optIn();
                return null;
            case "opt out":
                device.optOut();
                return null;
            case "forget":
                device.forget(given.text("word"));
                return null;
            case "forget me":
                device.forgetMe();
                return null;
            case "leave":
                device.leave();
                return null;
            case "follow":
                device.follow(given.bytes("succession"));
                return null;
            case "check release":
                return device.checkRelease(given.text("release").getBytes(StandardCharsets.UTF_8));
            case "words":
                return new LinkedHashMap<>(device.words());
            case "receipts":
                return device.receipts();
            case "spent":
                return device.spent();
            default:
                throw new IllegalArgumentException("an owner does not say that");
        }
    }

    /** Tick many devices over HTTP until each has done its part; how many ended in each state. */
    Object fleet(Values given) throws Exception {
        Library library = new Library(null, null);
        // Devices of a group wait for each other.
        ExecutorService threads = given.get("threads") == null
                ? Executors.newFixedThreadPool(THREADS) : Executors.newFixedThreadPool(given.number("threads"));
        try {
            List<Future<String>> ends = new ArrayList<>();
            for (Values each : given.objects("devices")) {
                Callable<String> life = () -> live(device(each, library));
                ends.add(threads.submit(life));
            }
            Map<String, Integer> counts = new LinkedHashMap<>();
            for (Future<String> end : ends) {
                counts.merge(end.get(), 1, Integer::sum);
            }
            return counts;
        } finally {
            threads.shutdownNow();
        }
    }

    /** Let each of some devices take one step with its files; their states. */
    Object steps(Values given) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try {
            List<Future<String>> steps = new ArrayList<>();
            for (Values each : given.objects("devices")) {
                Callable<String> step = () -> {
                    try (Device device = device(each, null)) {
                        return device.tick().state.name().toLowerCase(Locale.ROOT);
                    }
                };
                steps.add(threads.submit(step));
            }
            List<String> states = new ArrayList<>();
            for (Future<String> step : steps) {
                states.add(step.get());
            }
            return states;
        } finally {
            threads.shutdownNow();
        }
    }

    private static String live(Device device) throws InterruptedException {
        try (Device living = device) {
            while (true) {
                Tick tick = living.tick();
                if (tick.again == null || tick.state == Tick.State.REFUSED) {
                    return tick.state + (tick.state == Tick.State.REFUSED ? ": " + tick.message : "");
                }
                Thread.sleep((long) (1000 * Math.min(tick.again, 0.2)));
            }
        }
    }

    private Device device(Values given, Library library) {
        Limits limits = new Limits();
        if (given.get("limits") != null) {
            given.object("limits").copyTo(limits);
        }
        if (given.get("trust") != null) {
            given.object("trust").copyTo(limits);
        }
        Policy policy = new Policy(Collections.singleton(given.text("operator")), limits);
        Path folder = Paths.get(given.text("folder"));
        Transport transport = given.get("server") == null
                ? new HandoverTransport(Paths.get(given.text("request")), Paths.get(given.text("answer")))
                : new Watched(http(given), folder);
        if (given.get("metered_above") != null) {
            transport = new UnmeteredTransport(transport, () -> true, given.number("metered_above"));
        }
        long today = day;
        DeviceBuilder builder = Device.in(folder, transport, policy)
                .sealedBy(new AesSeal(new SecretKeySpec(new byte[16], "AES")))
                .sendingAt(new SendingTime(0, 0.01))
                .clockedBy(() -> today);
        if (given.get("entropy") != null) {
            builder = DictatedDevices.drawing(builder, new Dictated(given.bytes("entropy")));
        }
        if (given.get("evidence") != null) {
            // Accepts one document alone, with what it must be over behind it.
            byte[] accepted = given.bytes("evidence");
            builder = builder.demanding((document, binding) -> Arrays.equals(accepted, Bytes.join(document, binding)));
        }
        Device device = (library == null ? builder : builder.sharing(library)).open();
        if (given.get("credential") != null) {
            device.optIn();
            device.join(given.text("credential"));
        }
        if (given.get("words") != null) {
            given.counts("words").forEach((word, times) -> device.typed(word, times.intValue(), false));
        }
        return device;
    }

    private static Transport http(Values given) {
        return given.get("patience") == null ? new HttpTransport(given.text("server"))
                : new HttpTransport(given.text("server"), (int) (1000 * given.real("patience")));
    }

    private static Object written(Tick tick) {
        Map<String, Object> values = new LinkedHashMap<>();
        values.put("state", tick.state.name().toLowerCase(Locale.ROOT));
        values.put("again", tick.again);
        values.put("message", tick.message);
        return values;
    }
}
