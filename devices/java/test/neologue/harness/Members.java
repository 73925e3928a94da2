package neologue.harness;

import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import neologue.RefusalException;
import neologue.masking.Ballot;
import neologue.masking.Identity;
import neologue.masking.Member;
import neologue.masking.PlatformCryptography;
import neologue.masking.Promise;
import neologue.masking.Terms;
import neologue.protocol.Bytes;
import neologue.protocol.Credential;
import neologue.protocol.PlatformSignatures;

/** Devices in groups, by the names that a test gives them, with secrets that it dictates. */
final class Members {
    private final Map<String, Member> members = new HashMap<>();

    /** A member of a group; its first message, or that it refuses to be one. */
    Object join(Values given) {
        try {
            Member member = member(given, new Dictated(given.bytes("secrets")));
            members.put(given.text("name"), member);
            return Bytes.hex(member.advertise());
        } catch (RefusalException error) {
            return "refused";
        }
    }

    /** The answer of a member to a message, or that it refuses it. */
    Object answer(Values given) {
        try {
            return Bytes.hex(members.get(given.text("name")).answer(given.bytes("message")));
        } catch (RefusalException error) {
            return "refused";
        }
    }

    /** A member with terms, votes, a promise and a credential. */
    static Member member(Values given, Dictated entropy) {
        byte[] terms = given.bytes("terms");
        int[] votes = given.numbers("votes");
        Ballot ballot = new Ballot(given.bytes("layer"), votes.length, given.number("most"), () -> votes);
        Identity identity = new Identity(
                new Credential(credential(given)), new PlatformSignatures(), new PlatformCryptography());
        return new Member(new Terms(terms), ballot, new Promise(given.bytes("promise")), identity, entropy);
    }

    private static String credential(Values given) {
        Base64.Encoder encoder = Base64.getUrlEncoder();
        byte[] admitted = Bytes.join(given.bytes("campaign"), new byte[80]);
        byte[] own = Bytes.join(given.bytes("signing_key"), given.bytes("voucher"));
        return encoder.encodeToString(admitted) + "." + encoder.encodeToString(own);
    }
}
