package neologue.device;

import java.nio.charset.StandardCharsets;
import neologue.RefusalException;
import neologue.protocol.Credential;
import neologue.protocol.Invitation;
import neologue.transport.Response;
import neologue.transport.Transport;

/** How a device asks for an invitation, and reads one. */
final class CheckIn {
    private static final int DIGEST_BYTES = 32;
    private static final int SIGNATURE_BYTES = 64;
    private static final int TICKET_BYTES = 16;
    private static final int MOST_PROOF_BYTES = 1 << 13;

    private CheckIn() {}

    /** Show the credential, and nothing else. */
    static Response send(Credential credential, Transport transport) {
        byte[] body = ("{\"credential\":\"" + credential.text + "\"}").getBytes(StandardCharsets.US_ASCII);
        return transport.request("POST", "/v1/check-in", body, "application/json", Transport.SMALL_ANSWER);
    }

    /** The invitation in an answer that has one. */
    static Invitation invitation(Reply reply) {
        if (!reply.state().equals("invited")) {
            throw Reply.unusable();
        }
        if (reply.has("proof") && reply.bytes("proof", -1).length > MOST_PROOF_BYTES) {
            throw new RefusalException(
                    "the proof beside the invitation has more than 8,192 bytes; no policy permits that");
        }
        return new Invitation(
                reply.bytes("layer", DIGEST_BYTES),
                reply.bytes("operator", DIGEST_BYTES),
                reply.bytes("signature", SIGNATURE_BYTES),
                reply.bytes("ticket", TICKET_BYTES),
                reply.has("masked") ? reply.bytes("masked", -1) : null);
    }
}
