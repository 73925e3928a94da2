"""The committed vectors are what the code gives, and what a plain reading of vectors/README.md gives."""

import base64
import hashlib
import json
import runpy
import unicodedata
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from math import ceil, comb, floor, isqrt
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy import stats

import plain_log
from neologue.errors import DocumentError
from neologue.protocol.documents import read_layer
from plain_likely import PlainLikely

VECTORS = Path(__file__).parents[2] / "vectors"
GENERATOR = runpy.run_path(str(VECTORS / "generate.py"))
Case = dict[str, Any]


def committed(name: str) -> Any:  # noqa: ANN401
    return json.loads((VECTORS / name).read_text(encoding="ascii"))


def named(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=[case["name"] for case in cases])


@pytest.mark.parametrize("name", list(GENERATOR["FILES"]))
def test_the_code_gives_the_committed_vectors_byte_for_byte(name: str) -> None:
    assert GENERATOR["rendered"](GENERATOR["FILES"][name]()) == (VECTORS / name).read_bytes().decode("ascii")


def test_every_committed_file_is_written_by_the_generator() -> None:
    assert {path.name for path in VECTORS.glob("*.json")} == set(GENERATOR["FILES"])


# A plain reading of the README, with nothing of neologue


class Stream:
    """The draws that the README describes."""

    def __init__(self, entropy: str) -> None:
        octets = bytes.fromhex(entropy)
        self.words = [int.from_bytes(octets[place : place + 8], "little") for place in range(0, len(octets), 8)]

    def word(self) -> int:
        return self.words.pop(0)

    def integer(self, bits: int) -> int:
        return sum(self.word() << 64 * place for place in range(bits // 64))

    def below(self, bound: int, count: int) -> list[int]:
        taken: list[int] = []
        while len(taken) < count:
            words = [self.word() for _ in range(ceil((count - len(taken)) / 2))]
            halves = [half for word in words for half in (word % 2**32, word >> 32)]
            taken = (taken + uniform(halves, bound))[:count]
        return taken

    def subset(self, size: int, count: int) -> set[int]:
        if 2 * count > size:
            return set(range(size)) - self.subset(size, size - count)
        taken: set[int] = set()
        while len(taken) < count:
            taken |= set(self.below(size, count - len(taken)))
        return taken

    def order(self, count: int) -> list[int]:
        while len(set(keys := [self.word() for _ in range(count)])) < count:
            pass
        return sorted(range(count), key=lambda place: keys[place])

    def binomial(self, trials: int, numerator: int) -> int:
        bits, drawn = 128, self.integer(128)
        if trials > 10_000:  # exact fractions would take minutes; such a draw is never near a boundary
            return int(stats.binom.ppf(drawn / 2**128, trials, numerator / 2**64))
        while True:
            # All as integers over 2^(64·trials).
            unit = 64 * trials - bits
            least, most = (at << unit if unit >= 0 else Fraction(at, 1 << -unit) for at in (drawn, drawn + 1))
            below, j = 0, 0
            failure = 2**64 - numerator
            while (upto := below + comb(trials, j) * numerator**j * failure ** (trials - j)) <= least:
                below, j = upto, j + 1
            if most <= upto:
                return j
            drawn = drawn << bits | self.integer(bits)
            bits *= 2


def uniform(halves: Sequence[int], bound: int) -> list[int]:
    return [half * bound >> 32 for half in halves if half * bound % 2**32 >= 2**32 % bound]


def exponential(epsilon: float) -> Fraction:
    with localcontext() as context:
        context.prec = 100
        return Fraction(Decimal(epsilon).exp())


def unary_report(candidates: int, epsilon: float, bound: int, held: list[int], stream: Stream) -> list[int]:
    noise = ceil(2**64 / (exponential(epsilon) + 1))
    chosen = stream.subset(candidates, stream.binomial(candidates, noise))
    coins = [stream.word() < 2**63 for _ in range(bound)]
    return sorted(chosen - set(held) | {word for word, coin in zip(held, coins, strict=False) if coin})


def unary_payload(candidates: int, epsilon: float, bound: int, positions: list[int]) -> bytes:
    noise = ceil(2**64 / (exponential(epsilon) + 1))
    r = max(0, (2**64 * 45426 // (65536 * noise)).bit_length() - 1)
    mean = ceil(Fraction(candidates * noise, 2**64))
    most = min(candidates, mean + bound + 11 + isqrt(87 + 56 * mean))
    usual = ceil((32 + most * (r + 1) + candidates // 2**r) / 8)
    gaps = [here - before - 1 for before, here in zip([-1, *positions], positions, strict=False)]
    bits = f"{len(positions):032b}"
    bits += "".join(f"{gap % 2**r:0{r}b}" for gap in gaps if r)
    bits += "".join("1" * (gap // 2**r) + "0" for gap in gaps)
    length = usual
    while 8 * length < len(bits):
        length *= 2
    return int(bits.ljust(8 * length, "0"), 2).to_bytes(length, "big")


def values_of(seed: bytes, domain: int) -> list[int]:
    keystream = Cipher(algorithms.AES128(seed), modes.CTR(bytes(16))).encryptor().update(bytes(40_000))
    return uniform([int.from_bytes(keystream[i : i + 4], "little") for i in range(0, 40_000, 4)], domain)


def expand(seed: bytes, domain: int, rows: int, size: int) -> list[list[int]]:
    values = iter(values_of(seed, domain))
    subsets: list[list[int]] = []
    for _ in range(rows):
        row: list[int] = []
        while len(row) < size:
            if (value := next(values)) not in row:
                row.append(value)
        subsets.append(row)
    return subsets


def selection_report(
    candidates: int, epsilon: float, bound: int, held: list[int], stream: Stream
) -> tuple[bytes, list[int], list[int]]:
    """The payload, the offsets and the votes."""
    s, e = candidates + 1, exponential(epsilon)
    d = ceil(s / (e + 1))
    truth = floor(2**64 * d * e / (d * e + s - d))
    padded = held + [candidates] * (bound - len(held))
    words = [padded[place] for place in stream.order(bound)]
    seed = stream.integer(128).to_bytes(16, "little")
    bases = expand(seed, s, bound, d)
    hits = [(word - base[i]) % s for word, base, i in zip(words, bases, stream.below(d, bound), strict=True)]
    events = [stream.word() < truth for _ in range(bound)]
    misses = stream.below(s, bound)
    while again := [j for j in range(bound) if words[j] in {(x + misses[j]) % s for x in bases[j]}]:
        for j, offset in zip(again, stream.below(s, len(again)), strict=True):
            misses[j] = offset
    offsets = [hit if event else miss for hit, event, miss in zip(hits, events, misses, strict=True)]
    width = (s - 1).bit_length()
    bits = "".join(f"{offset:0{width}b}" for offset in offsets)
    length = ceil(len(bits) / 8)
    payload = seed + int(bits.ljust(8 * length, "0"), 2).to_bytes(length, "big")
    votes = [(x + offset) % s for base, offset in zip(bases, offsets, strict=True) for x in base]
    return payload, offsets, [vote for vote in votes if vote != candidates]


def ways(characters: int, symbols: int) -> int:
    return 1 + characters * ways(characters, symbols - 1) if symbols else 1


def candidate(word: str, told: Case) -> int | None:
    if "roots" in told:
        return PlainLikely(told).index(word)
    alphabet, frontier, extension = (told[key] for key in ("alphabet", "frontier", "extension"))
    depth = len(frontier[0])
    if word[:depth] not in frontier:
        return None
    tail, way = word[depth : depth + extension], 0
    for place, character in enumerate(tail):
        if character not in alphabet:
            return None
        way += 1 + alphabet.index(character) * ways(len(alphabet), extension - place - 1)
    rank: int = frontier.index(word[:depth])
    return rank * ways(len(alphabet), extension) + way


def number_of_candidates(told: Case) -> int:
    if "roots" in told:
        return len(PlainLikely(told).candidates)
    return len(told["frontier"]) * ways(len(told["alphabet"]), told["extension"])


@named(committed("candidates.json"))
def test_candidates_are_as_described(case: Case) -> None:
    alphabet, frontier = case["alphabet"], case["frontier"]
    assert list(alphabet) == sorted(alphabet)
    assert frontier == sorted(frontier)
    assert case["size"] == number_of_candidates(case)
    for entry in case["words"]:
        assert candidate(entry["word"], case) == entry["candidate"]
    for entry in case["candidates"]:
        prefix = entry["prefix"]
        assert candidate(prefix, case) == entry["candidate"]
        assert entry["ends"] or len(prefix) == len(frontier[0]) + case["extension"]


@named(committed("unary.json"))
def test_unary_reports_are_as_described(case: Case) -> None:
    parameters = case["candidates"], case["epsilon"], case["bound"]
    stream = Stream(case["entropy"])
    assert unary_report(*parameters, case["held"], stream) == case["positions"]
    assert stream.words == []
    assert unary_payload(*parameters, case["positions"]).hex() == case["payload"]


@named(committed("subset_selection.json")["expansions"])
def test_seeds_expand_as_described(case: Case) -> None:
    assert expand(bytes.fromhex(case["seed"]), case["domain"], case["rows"], case["size"]) == case["subsets"]


@named(committed("subset_selection.json")["reports"])
def test_subset_selection_reports_are_as_described(case: Case) -> None:
    stream = Stream(case["entropy"])
    payload, offsets, votes = selection_report(case["candidates"], case["epsilon"], case["bound"], case["held"], stream)
    assert stream.words == []
    assert (payload.hex(), offsets, votes) == (case["payload"], case["offsets"], case["votes"])


def form_of(typed: str, layer: Case) -> str:
    replaced, stripped = layer["replaced"], layer["stripped"]
    into = dict(zip(replaced[::2], replaced[1::2], strict=True))
    off = {chr(p) for a, b in zip(stripped[::2], stripped[1::2], strict=True) for p in range(ord(a), ord(b) + 1)}
    whole = "".join(into.get(character, character) for character in unicodedata.normalize("NFC", typed))
    letters = list(unicodedata.normalize("NFC", whole))
    while letters and (letters[0].isspace() or letters[0] in off):
        del letters[0]
    while letters and (letters[-1].isspace() or letters[-1] in off):
        del letters[-1]
    return "".join(letters)


@named(committed("forms.json"))
def test_forms_are_as_described(case: Case) -> None:
    assert {word["typed"]: form_of(word["typed"], case) for word in case["words"]} == {
        word["typed"]: word["form"] for word in case["words"]
    }


@named([*committed("reports.json"), *committed("likely.json")["reports"]])
def test_whole_reports_are_as_described(case: Case) -> None:
    layer, stream = case["layer"], Stream(case["entropy"])
    digest = hashlib.sha256(written(layer).encode()).digest()
    assert digest.hex() == case["digest"]
    assert hashlib.sha256("\n".join(case["known_words"]).encode()).hexdigest() == layer["known"]

    typed: dict[int, int] = {}
    for word, times in case["words"].items():
        form = form_of(word, layer)
        wanted = form not in case["known_words"] if layer["targets"] is None else form in layer["targets"]
        expressible = 0 < len(form) <= layer["depth"] and set(form) <= set(layer["alphabet"])
        place = candidate(form, layer)
        if expressible and wanted and form not in layer["found"] and place is not None:
            typed[place] = typed.get(place, 0) + times
    prefixes = sorted(typed)
    assert (prefixes, [typed[prefix] for prefix in prefixes]) == (case["prefixes"], case["times"])

    order = stream.order(len(prefixes))
    if layer["sampler"] == "greedy":
        order.sort(key=lambda place: -typed[prefixes[place]])
    held = [prefixes[place] for place in order[: layer["bound"]]]
    parameters = number_of_candidates(layer), float(layer["epsilon"]), layer["bound"]
    if layer["randomizer"] == "unary":
        votes = unary_report(*parameters, held, stream)
        payload = unary_payload(*parameters, votes)
    else:
        payload, _, votes = selection_report(*parameters, held, stream)
    assert stream.words == []
    assert (bytes([2]) + digest[:8] + payload).hex() == case["report"]
    assert votes == case["votes"]


@named(committed("likely.json")["layers"])
def test_likely_candidates_are_as_described(case: Case) -> None:
    told = case["layer"]
    assert hashlib.sha256(written(told).encode()).hexdigest() == case["digest"]
    plain = PlainLikely(told)
    assert case["sizes"] == [len(part) for part in plain.parts]
    assert len(set(plain.candidates)) == len(plain.candidates), "nothing is asked about in two ways"
    for entry in case["words"]:
        assert plain.index(entry["word"]) == entry["candidate"], entry
    for entry in case["candidates"]:
        assert plain.candidates[entry["candidate"]] == (entry["prefix"], entry["ends"])


REFUSED = committed("likely.json")["refused"]


@named(REFUSED["cases"])
def test_wrong_rounds_are_refused(case: Case) -> None:
    told = REFUSED["layer"]
    read_layer(written(told).encode())
    with pytest.raises(DocumentError) as refusal:
        read_layer(written(told | case["change"]).encode())
    assert str(refusal.value) == case["error"]


@named(committed("closed.json"))
def test_reports_on_a_closed_list_are_as_described(case: Case) -> None:
    layer, stream = case["layer"], Stream(case["entropy"])
    canonical = json.dumps(layer, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    digest = hashlib.sha256(canonical).digest()
    assert digest.hex() == case["digest"]

    forms = {form_of(word, layer) for word in case["words"]}
    counting = sorted(
        form
        for form in forms
        if 0 < len(form) <= layer["depth"]
        and set(form) <= set(layer["alphabet"])
        and (form not in case["known_words"] if layer["targets"] is None else form in layer["targets"])
    )
    assert counting == case["counting"]

    rate = floor(Fraction(layer["rate"]) * 2**64)
    drawn = [word for word in counting if stream.word() < rate]
    sampled = [drawn[place] for place in stream.order(len(drawn))][: layer["bound"]]
    listed = [layer["words"].index(word) for word in sampled if word in layer["words"]]
    size, others = len(layer["words"]), len(sampled) - len(listed)
    if layer["randomizer"] == "unary":
        parameters = size + layer["bound"], float(layer["epsilon"]), layer["bound"]
        votes = unary_report(*parameters, listed + [size + place for place in range(others)], stream)
        payload = unary_payload(*parameters, votes)
    else:
        parameters = size + 1, float(layer["epsilon"]), layer["bound"]
        payload, _, votes = selection_report(*parameters, listed + [size] * others, stream)
    assert stream.words == []
    assert (bytes([2]) + digest[:8] + payload).hex() == case["report"]
    assert votes == case["votes"]


ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def written(value: Any) -> str:  # noqa: ANN401
    """JSON as the README has it."""
    if isinstance(value, str):
        small = {chr(point): f"\\u{point:04x}" for point in range(32)} | ESCAPES
        return '"' + "".join(small.get(character, character) for character in value) + '"'
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{written(name)}:{written(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)


@named(committed("documents.json"))
def test_documents_are_as_described(case: Case) -> None:
    document, known = bytes.fromhex(case["document"]), bytes.fromhex(case["known_document"])
    told = json.loads(document)
    assert written(told).encode() == document
    assert hashlib.sha256(document).hexdigest() == case["digest"]
    assert hashlib.sha256(known).hexdigest() == case["known_digest"] == told["known"]
    words = known.decode().split("\n") if known else []
    assert words == sorted(set(words))
    asked = bytes.fromhex(case["campaign"] + case["digest"])
    operator = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(case["operator_private_key"]))
    assert operator.public_key().public_bytes_raw().hex() == case["operator"]
    assert operator.sign(b"neologue invitation v1\0" + asked).hex() == case["signature"]
    promise = (70).to_bytes(2, "big") + bytes([20]) + (23).to_bytes(2, "big") + bytes([2]) + bytes(range(64))
    assert promise.hex() == case["masked"]
    assert operator.sign(b"neologue masked invitation v2\0" + asked + promise).hex() == case["masked_signature"]


@named(committed("identities.json"))
def test_identities_are_as_described(case: Case) -> None:
    parts = ("campaign", "serial", "layer", "ticket_secret", "ticket", "slot_secret", "report")
    campaign, serial, layer, ticket_secret, ticket, slot_secret, report = (bytes.fromhex(case[part]) for part in parts)
    issuer = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(case["issuer_private_key"]))
    assert issuer.public_key().public_bytes_raw().hex() == case["issuer"]
    signature = issuer.sign(b"neologue credential v1\0" + campaign + serial)
    assert base64.b64encode(campaign + serial + signature, b"-_").decode() == case["credential"]
    block, person = bytes(4), b"neologue ticket".ljust(16, b"\0")
    keyed = hashlib.blake2b(campaign + layer + serial + block, digest_size=12, key=ticket_secret, person=person)
    assert block + keyed.digest() == ticket
    placed = hashlib.blake2b(serial, digest_size=64, key=slot_secret, person=b"neologue slot".ljust(16, b"\0"))
    assert str(int(placed.hexdigest()[:16], 16) >> 2) == case["slot"]
    assert (campaign + serial + ticket + report).hex() == case["body"]


def public(keys: dict[str, str], number: int) -> bytes:
    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(keys[str(number)])).public_key().public_bytes_raw()


def test_links_are_as_described() -> None:
    vectors = committed("succession.json")
    keys = vectors["private_keys"]
    both = public(keys, 1) + public(keys, 2)
    old, recovery = (Ed25519PrivateKey.from_private_bytes(bytes.fromhex(keys[number])) for number in ("1", "9"))
    assert vectors["succession"] == (b"\1" + both + old.sign(b"neologue succession v1\0" + both)).hex()
    signed = public(keys, 9) + recovery.sign(b"neologue revocation v1\0" + both)
    assert vectors["revocation"] == (b"\2" + both + signed).hex()


LINKS = {1: (2, 0, b"neologue succession v1\0"), 2: (3, 2, b"neologue revocation v1\0")}
"""By the kind: how many keys there are, which of them signs, and what its message begins with."""


def links_of(document: bytes, matters: Callable[[bytes, bytes, bytes], bool]) -> list[tuple[bytes, ...]]:
    """The kind, the old key, the new one and the signer of each link; or a ValueError if one that matters is forged."""
    links: list[tuple[bytes, ...]] = []
    while document:
        count, signer, domain = LINKS[document[0]]
        keys = [document[1 + 32 * place : 33 + 32 * place] for place in range(count)]
        signature = document[1 + 32 * count : 65 + 32 * count]
        try:
            key = Ed25519PublicKey.from_public_bytes(keys[signer])
            key.verify(signature, domain + keys[0] + keys[1])
        except InvalidSignature:
            if matters(document[:1], keys[0], keys[signer]):
                raise ValueError from None
        links.append((document[:1], keys[0], keys[1], keys[signer]))
        document = document[65 + 32 * count :]
    return links


@named(committed("succession.json")["cases"])
def test_keys_are_followed_as_described(case: Case) -> None:
    """The rules as the page has them, and not as the code has them."""
    pinned = bytes.fromhex(case["pinned"])
    named_successor: dict[bytes, bytes] = {}
    revoked_to: dict[bytes, bytes] = {}

    def walk() -> list[bytes]:
        path = [pinned]
        while (following := revoked_to.get(path[-1]) or named_successor.get(path[-1])) is not None:
            if following in path:
                return []
            path.append(following)
        return path

    def matters(kind: bytes, old: bytes, signer: bytes) -> bool:
        if kind == b"\1":
            return old not in named_successor
        return hashlib.sha256(signer).hexdigest() == case["recovery"] and old not in revoked_to

    for shown in case["shown"]:
        try:
            links = links_of(bytes.fromhex(shown["document"]), matters)
        except ValueError:
            links = []
            assert shown["refused"]
        for kind, old, new, signer in links:
            path = walk()
            if kind == b"\2" and hashlib.sha256(signer).hexdigest() == case["recovery"]:
                revoked_to.setdefault(old, new)
            elif kind == b"\1" and path and path[-1] == old and new not in path:
                named_successor[old] = new
        assert [key.hex() for key in walk()] == shown["path"]


@named(committed("handover.json"))
def test_files_are_handed_over_as_described(case: Case) -> None:
    answers = {each["request"]: each for each in case["answers"]["answers"]}
    used = []
    for asked in case["asked"]:
        answer = answers.pop(request_digest(asked))
        told = (answer["status"], answer["retry_after"], base64.b64decode(answer["body"]).hex())
        assert told == (asked["status"], asked["retry_after"], asked["answer"])
        if not asked["path"].startswith(("/v1/layers/", "/v1/known/")):
            used.append(answer)
    following = case["next"]
    assert request_digest(following) not in answers
    body = base64.b64encode(bytes.fromhex(following["body"])).decode()
    left = {"handover": 1, **following, "body": body, "answers": used if following["method"] == "GET" else []}
    assert case["request"] == left


def request_digest(asked: Case) -> str:
    line = f"{asked['method']} {asked['path']}\n".encode()
    return hashlib.sha256(line + bytes.fromhex(asked["body"])).hexdigest()


# The vectors show what they are there to show


def test_the_vectors_reach_the_rare_paths() -> None:
    unary = {case["name"]: case for case in committed("unary.json")}
    assert len(unary["longer than usual"]["payload"]) // 2 > unary["longer than usual"]["usual_bytes"]
    assert len(unary["more than half of the bits set"]["positions"]) > 10
    undecided = unary["128 bits do not decide"]
    with pytest.raises(IndexError, match="empty"):
        Stream(undecided["entropy"][:32]).binomial(undecided["candidates"], int(undecided["noise"]))
    likely = committed("likely.json")["layers"]
    assert {len(case["layer"]["roots"]) for case in likely} == {1, 2, 3}
    assert {case["layer"]["prefix_limits"][-1] > 0 for case in likely} == {True, False}
    assert any(case["layer"]["prefix_limits"] < case["layer"]["limits"] for case in likely)
    assert any([] in case["layer"]["roots"] for case in likely), "an empty round"
    assert sum(entry["candidate"] is not None for case in likely for entry in case["words"]) > 80
    repeats = {case["name"]: case for case in committed("subset_selection.json")["expansions"]}["with repeats"]
    assert [value for row in repeats["subsets"] for value in row] != values_of(
        bytes.fromhex(repeats["seed"]), repeats["domain"]
    )[:12]


@named(committed("log.json")["cases"])
def test_a_plain_reading_takes_the_same_proofs(case: Case) -> None:
    try:
        shown = plain_log.checkpoints(committed("log.json"), case)
    except plain_log.WrongError:
        shown = None
    assert shown == case["checkpoints"]


@named(committed("log.json")["growth"])
def test_a_plain_reading_follows_the_same_logs(case: Case) -> None:
    assert plain_log.goes_on(case["known"], case["next"], case["tiles"]) == case["goes_on"]


def test_a_plain_reading_demands_evidence_over_the_same_bytes() -> None:
    assert plain_log.binding(committed("log.json")["log"]) == committed("log.json")["binding"]
