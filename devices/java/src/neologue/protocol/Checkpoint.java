package neologue.protocol;

import java.nio.charset.StandardCharsets;
import java.util.Base64;

/** The state of a log: its origin, how many entries it has, and the root of their tree. */
public final class Checkpoint {
    /** What identifies the log. */
    public final String origin;
    /** How many entries it has. */
    public final long size;
    /** In hexadecimal. */
    public final String root;

    /** As it was proved. */
    public Checkpoint(String origin, long size, String root) {
        this.origin = origin;
        this.size = size;
        this.root = root;
    }

    /** What the log signs. */
    byte[] signed() {
        return text().getBytes(StandardCharsets.US_ASCII);
    }

    /** What a witness signs at a time, in seconds since 1970. */
    byte[] cosigned(long time) {
        return ("cosignature/v1\ntime " + time + "\n" + text()).getBytes(StandardCharsets.US_ASCII);
    }

    /** Where the files of this log are. */
    public String folder() {
        String[] parts = origin.split("/");
        return parts.length == 2 ? "/log/" : "/log/campaigns/" + parts[2] + "/";
    }

    /** What evidence must be over that speaks for the key of this log. */
    public byte[] evidenceBinding() {
        byte[] domain = "neologue evidence v1\0".getBytes(StandardCharsets.US_ASCII);
        return Bytes.digest("SHA-512", Bytes.join(domain, Bytes.unhex(origin.split("/")[1], -1)));
    }

    private String text() {
        return origin + "\n" + size + "\n" + Base64.getEncoder().encodeToString(Bytes.unhex(root, -1)) + "\n";
    }
}
