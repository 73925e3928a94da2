package example;

import java.util.HashSet;
import java.util.Set;
import java.util.function.BooleanSupplier;
import neologue.LaterException;
import neologue.OversizeException;
import neologue.transport.Response;
import neologue.transport.Transport;

/** Leaves large documents for a network that is not metered. */
public final class UnmeteredTransport implements Transport {
    private static final double SIX_HOURS = 21_600;

    private final Transport transport;
    private final BooleanSupplier metered;
    private final int largest;
    private final Set<String> tooLarge = new HashSet<>();

    public UnmeteredTransport(Transport transport, BooleanSupplier metered, int largest) {
        this.transport = transport;
        this.metered = metered;
        this.largest = largest;
    }

    @Override
    public Response request(String method, String path, byte[] body, String type, int most) {
        if (method.equals("POST") || most <= largest || !metered.getAsBoolean()) {
            return transport.request(method, path, body, type, most);
        }
        if (!tooLarge.contains(path)) {
            try {
                return transport.request(method, path, body, type, largest);
            } catch (OversizeException error) {
                tooLarge.add(path);
            }
        }
        throw new LaterException("a document waits for a network that is not metered", SIX_HOURS);
    }
}
