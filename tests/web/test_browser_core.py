"""What the browser computes is what Python computes: vectors, what is read and refused, the laws of its chance."""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import asdict
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from device_cases import (
    CASED_VOCABULARIES,
    CASED_WORDS,
    KNOWN_LISTS,
    SPACES,
    hostile_documents,
    layers_to_judge,
)
from invitations import OPERATOR, campaign_id, default_policy
from laws import fit, unary_law, word_law
from layers import small_layer
from neologue.device.policy import Policy
from neologue.entropy import ONE
from neologue.errors import DocumentError, PolicyError
from neologue.language.alphabet import normalise
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.canonical import canonical
from neologue.protocol.credential import issue
from neologue.protocol.documents import known_document, read_known, read_layer
from neologue.protocol.invitation import invite
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Unary

from .chromium import Browser
from .pages import ROOT, pages

VECTORS = ROOT / "vectors"
DRAWS = 20_000
LEAST = 1e-6
"""A test of chance fails an honest sampler once in a million runs: its randomness is the browser's, and has no seed."""

# The names of the bundle that the tests look into, and how bytes are written.
PRELUDE = """
const device = await import("/tests/device_internals.js");
const unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const hex = (octets) => Array.from(octets, (octet) => octet.toString(16).padStart(2, "0")).join("");
const vectors = async (name) => (await fetch(`/vectors/${name}.json`)).json();
const encode = (text) => new TextEncoder().encode(text);
const sorted = (told) => Object.fromEntries(Object.keys(told).sort().map((key) => [key, told[key]]));
const canonical = (told) => encode(JSON.stringify(sorted(told)));
"""


@pytest.fixture(scope="module")
def core(browser: Browser) -> Iterator[Browser]:
    with pages() as address:
        browser.visit(address)
        yield browser


def run(core: Browser, script: str, *given: object) -> Any:  # noqa: ANN401
    return core.run(PRELUDE + script, *given)


def committed(name: str) -> Any:  # noqa: ANN401
    return json.loads((VECTORS / f"{name}.json").read_text("ascii"))


# Vectors: the page fetches the file, and what it computes is compared here with the file on the disk


def test_unary_vectors(core: Browser) -> None:
    told = run(
        core,
        """
        return (await vectors("unary")).map((one) => {
          const unary = new device.Unary(one.candidates, one.epsilon, one.bound);
          const entropy = new device.Dictated(unhex(one.entropy));
          const positions = unary.positions(one.held, entropy);
          return {
            noise: String(unary.noise), remainder_bits: unary.code.remainderBits, usual_bytes: unary.payloadBytes,
            positions, payload: hex(unary.code.encode(positions)), left: entropy.left,
            read: unary.code.decode(unhex(one.payload)),
          };
        });
        """,
    )
    for case, got in zip(committed("unary"), told, strict=True):
        expected = {name: case[name] for name in ("noise", "remainder_bits", "usual_bytes", "positions", "payload")}
        assert got == {**expected, "left": 0, "read": case["positions"]}, case["name"]


def test_subset_selection_vectors(core: Browser) -> None:
    told = run(
        core,
        """
        const { expansions, reports } = await vectors("subset_selection");
        return [
          await Promise.all(expansions.map((one) =>
            device.baseSubsets(unhex(one.seed), one.domain, one.rows, one.size))),
          await Promise.all(reports.map(async (one) => {
            const selection = new device.SubsetSelection(one.candidates, one.epsilon, one.bound);
            const first = new device.Dictated(unhex(one.entropy));
            const entropy = new device.Dictated(unhex(one.entropy));
            const { seed, offsets } = await selection.translates(one.held, first);
            return {
              domain: selection.domain, subset_size: selection.subsetSize, truth: String(selection.truth),
              seed: hex(seed), offsets, payload: hex(await selection.randomize(one.held, entropy)),
              votes: await selection.votesOf(unhex(one.payload)), left: entropy.left,
            };
          })),
        ];
        """,
    )
    vectors = committed("subset_selection")
    assert told[0] == [case["subsets"] for case in vectors["expansions"]]
    names = ("domain", "subset_size", "truth", "seed", "offsets", "payload", "votes")
    for case, got in zip(vectors["reports"], told[1], strict=True):
        assert got == {**{name: case[name] for name in names}, "left": 0}, case["name"]


@pytest.mark.parametrize("name", ["reports", "closed", "likely"])
def test_whole_reports(core: Browser, name: str) -> None:
    told = run(
        core,
        """
        const cases = await vectors(given[0]);
        return Promise.all((cases.reports ?? cases).map(async (one) => {
          const layer = await device.readLayer(canonical(one.layer), encode(one.known_words.join("\\n")));
          const entropy = new device.Dictated(unhex(one.entropy));
          const report = await device.seededReport(new Map(Object.entries(one.words)), layer, entropy);
          return {
            digest: hex(layer.digest), report: hex(report), left: entropy.left,
            votes: await device.votesOf(report, layer),
          };
        }));
        """,
        name,
    )
    cases = committed(name)
    for case, got in zip(cases if isinstance(cases, list) else cases["reports"], told, strict=True):
        assert got == {**{key: case[key] for key in ("digest", "report", "votes")}, "left": 0}, case["name"]


def test_forms(core: Browser) -> None:
    told = run(
        core,
        """
        return (await vectors("forms")).map(({ replaced, stripped, words }) => {
          const form = new device.WordForm(replaced, stripped);
          return words.map(({ typed }) => form.of(typed));
        });
        """,
    )
    for case, forms in zip(committed("forms"), told, strict=True):
        assert forms == [word["form"] for word in case["words"]], case["name"]


def test_candidates(core: Browser) -> None:
    told = run(
        core,
        """
        return (await vectors("candidates")).map((one) => {
          const { alphabet, frontier, extension, words, candidates } = one;
          const made = new device.Candidates(new device.Alphabet(alphabet), frontier, extension);
          const prefixes = candidates.map(({ candidate }) => made.prefix(candidate));
          return [made.size, words.map(({ word }) => made.index(word)), prefixes];
        });
        """,
    )
    for case, (size, places, prefixes) in zip(committed("candidates"), told, strict=True):
        assert size == case["size"]
        assert places == [-1 if entry["candidate"] is None else entry["candidate"] for entry in case["words"]]
        assert prefixes == [{"prefix": entry["prefix"], "ends": entry["ends"]} for entry in case["candidates"]]


def test_likely_candidates(core: Browser) -> None:
    told = run(
        core,
        """
        const { layers, refused } = await vectors("likely");
        return [
          await Promise.all(layers.map(async (one) => {
            const layer = await device.describeLayer(canonical(one.layer));
            const prefixes = one.candidates.map(({ candidate }) => layer.describe(candidate));
            return [hex(layer.digest), layer.size, one.words.map(({ word }) => layer.candidates.index(word)), prefixes];
          })),
          await Promise.all(refused.cases.map(({ change }) =>
            device.describeLayer(canonical({ ...refused.layer, ...change })).then(() => "", (error) => error.name))),
          hex((await device.describeLayer(canonical(refused.layer))).digest),
        ];
        """,
    )
    vectors = committed("likely")
    for case, (digest, size, places, prefixes) in zip(vectors["layers"], told[0], strict=True):
        assert (digest, size) == (case["digest"], sum(case["sizes"])), case["name"]
        assert places == [-1 if entry["candidate"] is None else entry["candidate"] for entry in case["words"]]
        assert prefixes == [{"prefix": entry["prefix"], "ends": entry["ends"]} for entry in case["candidates"]]
    for case, name in zip(vectors["refused"]["cases"], told[1], strict=True):
        assert name == "RefusalError", case["name"]


def test_what_counts(core: Browser) -> None:
    told = run(
        core,
        """
        return Promise.all((await vectors("counting")).map(async (one) => {
          const layer = await device.readLayer(canonical(one.layer), encode(one.known_words.join("\\n")));
          return Object.keys(one.words).map((word) => layer.form.of(word)).filter((form) => !layer.complaint(form));
        }));
        """,
    )
    for case, counting in zip(committed("counting"), told, strict=True):
        assert set(counting) == set(case["counting"]), case["name"]


def test_what_is_refused(core: Browser) -> None:
    told = run(
        core,
        """
        const { layers, documents, bytes, known } = await vectors("refusals");
        const read = (document) => device.describeLayer(document).then(() => "read", (error) => error.name);
        const hash = async (octets) => hex(new Uint8Array(await crypto.subtle.digest("SHA-256", octets)));
        return [
          await Promise.all(Object.values(layers).map((layer) => read(canonical(layer)))),
          await Promise.all(documents.map(({ base, change }) => read(canonical({ ...layers[base], ...change })))),
          await Promise.all(bytes.map(({ document }) => read(unhex(document)))),
          await Promise.all(known.map(async ({ known_document }) => {
            const content = unhex(known_document);
            const layer = canonical({ ...layers.extending, known: await hash(content) });
            return device.readLayer(layer, content).then(() => "read", (error) => error.name);
          })),
        ];
        """,
    )
    vectors = committed("refusals")
    assert set(told[0]) == {"read"}
    for name, got in zip(("documents", "bytes", "known"), told[1:], strict=True):
        assert {case["name"]: verdict for case, verdict in zip(vectors[name], got, strict=True)} == {
            case["name"]: "RefusalError" for case in vectors[name]
        }


def test_what_the_usual_policy_refuses(core: Browser) -> None:
    told = run(
        core,
        """
        return Promise.all((await vectors("policy")).map(async ({ layer, spent, unlogged_lists }) => {
          const policy = new device.Policy([], { allowUnloggedLists: unlogged_lists });
          const read = await device.describeLayer(canonical(layer));
          try {
            policy.checkLayer(read);
            policy.checkLifetime(read.epsilon, spent);
          } catch (error) {
            return error.name === "RefusalError";
          }
          return false;
        }));
        """,
    )
    for case, refused in zip(committed("policy"), told, strict=True):
        assert refused == case["refused"], case["name"]


def test_a_list_is_answered_only_if_a_log_shows_it_or_the_owner_allows_it(core: Browser) -> None:
    """The layer of the vectors is within all other limits."""
    (listed,) = (case["layer"] for case in committed("policy") if case["name"] == "a closed list that no log shows")
    keys = {"logs": [bytes(32).hex()], "witnesses": [bytes(range(32)).hex()]}
    told = run(
        core,
        """
        const layer = await device.describeLayer(canonical(given[0]));
        return given[1].map((limits) => {
          try { new device.Policy([], limits).checkLayer(layer); } catch (error) { return error.message; }
          return "";
        });
        """,
        listed,
        [{}, keys, keys | {"quorum": 1}, {"allowUnloggedLists": True}],
    )
    for message in told[:2]:
        assert re.search(r"the list of [\d,]+ words .*\(quorum\), or allow .*\(allowUnloggedLists\)", message)
    assert told[2:] == ["", ""]


def test_documents_and_identities(core: Browser) -> None:
    told = run(
        core,
        """
        return [
          await Promise.all((await vectors("documents")).map(async (one) =>
            hex((await device.readLayer(unhex(one.document), unhex(one.known_document))).digest))),
          (await vectors("identities")).map((one) => {
            const { campaign, serial } = device.credentialOf(one.credential);
            return hex(campaign) + hex(serial) + one.ticket + one.report;
          }),
        ];
        """,
    )
    assert told[0] == [case["digest"] for case in committed("documents")]
    assert told[1] == [case["body"] for case in committed("identities")]


def test_what_is_handed_over_is_what_the_vectors_say(core: Browser) -> None:
    told = run(
        core,
        """
        const told = [];
        for (const one of await vectors("handover")) {
          const transport = new device.HandoverTransport();
          transport.begin(JSON.stringify(one.answers));
          const ask = ({ method, path, type, body }) =>
            transport.request(method, path, 1 << 24, ...(method === "POST" ? [unhex(body), type] : []));
          const asked = [];
          for (const each of one.asked) {
            const { status, body, retryAfter } = await ask(each);
            asked.push([status, retryAfter, hex(body)]);
          }
          await ask(one.next).then(() => told.push("answered"), () => {});
          told.push([asked, JSON.parse(transport.pending)]);
        }
        return told;
        """,
    )
    for case, (asked, request) in zip(committed("handover"), told, strict=True):
        assert asked == [[each["status"], each["retry_after"], each["answer"]] for each in case["asked"]], case["name"]
        assert request == case["request"], case["name"]


def test_keys_are_followed_as_the_vectors_say(core: Browser) -> None:
    told = run(
        core,
        """
        return Promise.all((await vectors("succession")).cases.map(async ({ pinned, recovery, shown }) => {
          const { NO_HISTORY, learn, path } = device.succession;
          let history = NO_HISTORY;
          const paths = [];
          for (const { document } of shown) {
            let refused = false;
            try {
              history = await learn(history, unhex(document), new Map([[pinned, recovery]]));
            } catch (error) {
              if (error.name !== "RefusalError") throw error;
              refused = true;
            }
            paths.push({ document, refused, path: path(history, pinned, recovery) });
          }
          return paths;
        }));
        """,
    )
    assert told == [case["shown"] for case in committed("succession")["cases"]]


def test_layers_are_proved_to_be_in_the_log_as_the_vectors_say(core: Browser) -> None:
    told = run(
        core,
        """
        const { log, witnesses, campaign, binding, cases, growth } = await vectors("log");
        const unlessRefused = (work) => work.catch((error) => {
          if (!["RefusalError", "LaterError"].includes(error.name)) throw error;
          return null;
        });
        const proved = await Promise.all(cases.map(({ proof, layer, masked, quorum, now }) => {
          const question = { campaign: unhex(campaign), layer: unhex(layer), masked: masked && unhex(masked) };
          const trust = { logs: [log], witnesses, quorum };
          return unlessRefused(device.log.checkProof(unhex(proof), question, trust, now));
        }));
        const grown = await Promise.all(growth.map(({ known, next, tiles }) => unlessRefused(
          device.log.checkGoesOn(known, next, async (path) => unhex(tiles[path])).then(() => true),
        )));
        const bound = hex(await device.log.evidenceBinding({ origin: `neologue.log/${log}` })) === binding;
        return [proved, grown, bound];
        """,
    )
    vectors = committed("log")
    assert told[0] == [case["checkpoints"] for case in vectors["cases"]]
    assert [bool(taken) for taken in told[1]] == [case["goes_on"] for case in vectors["growth"]]
    assert told[2]


def test_what_is_no_succession_is_refused(core: Browser) -> None:
    link = committed("succession")["succession"]
    told = run(
        core,
        """
        return Promise.all(given[0].map((document) =>
          device.succession.learn(device.succession.NO_HISTORY, unhex(document), new Map())
            .then(() => "learnt", (error) => `${error.name}: ${error.message}`)));
        """,
        [link, link[:-2], link + "01", "03" + link[2:], link * 200],
    )
    assert told[0] == "learnt"
    assert all(each.startswith("RefusalError: the keys of the operator can't be followed") for each in told[1:])


def test_thresholds_are_those_of_python_for_every_epsilon(core: Browser) -> None:
    epsilons = [0.001, 0.1, 0.5, 1.0, 2.0**-9, 3.3, 7.0, 9.99, 10.0, 12.345678901234567, 19.999999999999996, 20.0]
    sizes = [1, 2, 17, 5000, 1 << 24]
    asked = [(size, epsilon, 60) for size in sizes for epsilon in epsilons]
    told = run(
        core,
        """
        return given[0].map((asked) => {
          const [unary, selection] = [new device.Unary(...asked), new device.SubsetSelection(...asked)];
          return [
            [unary.noise, selection.truth].map(String), [unary, selection].map((one) => one.payloadBytes),
            selection.subsetSize, unary.keepsEpsilon && selection.keepsEpsilon,
            ...[unary, selection].map((one) => device.noiseVotes(one, one.candidates)),
          ];
        });
        """,
        asked,
    )
    for parameters, got in zip(asked, told, strict=True):
        unary, selection = Unary(*parameters), SubsetSelection(*parameters)
        votes = [float(one.channel.contributions * one.candidates * one.channel.q) for one in (unary, selection)]
        assert got == [
            [str(unary.noise), str(selection.truth)],
            [unary.payload_bytes, selection.payload_bytes],
            selection.subset_size,
            True,
            *(pytest.approx(noise, rel=1e-12) for noise in votes),
        ], parameters


# What is read, and what is refused


def test_the_same_documents_are_read_and_refused(core: Browser) -> None:
    known = known_document(small_layer(["ab"]).known)
    vocabulary = read_known(known)
    documents = dict(hostile_documents())
    told = run(
        core,
        """
        return Promise.all(given[0].map((document) =>
          device.readLayer(unhex(document), unhex(given[1])).then(
            (layer) => hex(layer.digest), (error) => error.name)));
        """,
        [document.hex() for document in documents.values()],
        known.hex(),
    )
    read = 0
    for (name, document), got in zip(documents.items(), told, strict=True):
        try:
            expected = read_layer(document, vocabulary).digest.hex()
            read += 1
        except DocumentError:
            expected = "RefusalError"
        assert got == expected, name
    assert 10 < read < len(documents) / 4


def test_the_default_limits_are_those_of_python(core: Browser) -> None:
    told = run(core, "return new device.Policy([], {}).limits")
    # A browser is told of operators and their recovery keys apart from limits, and makes no votes under masks.
    others = {"operators", "recovery", "issuers", "smallestGroup", "largestMasked"}
    # It does not look at evidence of where a service runs (V6); docs/transparency.md says so.
    others |= {"measurements", "vendors"}
    python = set(map(camel_case, asdict(Policy()))) - others
    assert told == {name: value for name, value in limits_of(Policy()).items() if name in python}


def test_the_same_layers_are_refused_for_the_same_limit_by_default(core: Browser) -> None:
    layers = list(layers_to_judge())
    told = run(
        core,
        """
        const policy = new device.Policy([], {});
        return Promise.all(given[0].map(async (document) => {
          const layer = await device.describeLayer(encode(document));
          try { policy.checkLayer(layer); } catch (error) { return error.message; }
          return "";
        }));
        """,
        [layer.document.decode() for layer in layers],
    )
    verdicts: set[str] = set()
    for layer, message in zip(layers, told, strict=True):
        expected = ""
        try:
            default_policy().check(invite(campaign_id(1), layer, OPERATOR))
        except PolicyError as error:
            expected = str(error)
        limits = [limit for limit in asdict(Policy()) if limit in expected]
        assert message == re.sub("|".join(limits) or "$", lambda found: camel_case(found[0]), expected)
        verdicts |= set(limits or ["answered"])
    assert verdicts >= {
        "answered",
        "largest_closed_vote_ratio",
        "largest_silence_ratio",
        "fewest_noise_votes",
        "allow_targets",
        "allow_unlogged_lists",
    }


def camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def limits_of(policy: Policy) -> dict[str, object]:
    return {
        camel_case(name): sorted(key.hex() for key in value) if isinstance(value, frozenset) else value
        for name, value in asdict(policy).items()
    }


def test_the_same_lists_of_known_words_are_read_and_refused(core: Browser) -> None:
    documents = {}
    for content in KNOWN_LISTS:
        document = json.loads(small_layer(["ab"]).document) | {"known": hashlib.sha256(content.encode()).hexdigest()}
        documents[content] = canonical(document).hex()
    told = run(
        core,
        """
        return Promise.all(given[0].map(([known, document]) =>
          device.readLayer(unhex(document), encode(known)).then(() => true, () => false)));
        """,
        list(documents.items()),
    )
    expected = [_is_read(content.encode()) for content in KNOWN_LISTS]
    assert dict(zip(KNOWN_LISTS, told, strict=True)) == dict(zip(KNOWN_LISTS, expected, strict=True))
    assert True in expected
    assert False in expected


def _is_read(content: bytes) -> bool:
    try:
        read_known(content)
    except DocumentError:
        return False
    return True


def test_words_are_compared_and_known_as_in_python(core: Browser) -> None:
    told = run(
        core,
        """
        const [words, vocabularies, spaces] = given;
        return [
          vocabularies.map((list) => {
            const vocabulary = new device.Vocabulary(list.map(device.normalised));
            return words.map((word) => vocabulary.has(word));
          }),
          spaces.map((space) => device.normalised(`${space}a${space}b${space}`)),
          words.toSorted(device.compare),
        ];
        """,
        CASED_WORDS,
        CASED_VOCABULARIES,
        SPACES,
    )
    for listed, got in zip(CASED_VOCABULARIES, told[0], strict=True):
        vocabulary = Vocabulary(listed)
        expected = {word: word in vocabulary for word in CASED_WORDS}
        assert dict(zip(CASED_WORDS, got, strict=True)) == expected
    assert told[1] == [normalise(f"{space}a{space}b{space}") for space in SPACES]
    assert told[2] == sorted(CASED_WORDS)


# Chance: the laws of the module's own randomness, against those that Python writes down


def test_the_law_of_a_unary_report_and_that_the_test_would_tell_another(core: Browser) -> None:
    held = frozenset({1})
    law = unary_law(Unary(4, 1.0, 2), held)

    def drawn(epsilon: float) -> list[frozenset[int]]:
        reports = run(
            core,
            """
            const unary = new device.Unary(4, given[0], 2);
            const entropy = new device.SecureEntropy();
            return Array.from({ length: given[1] }, () => unary.positions([1], entropy));
            """,
            epsilon,
            DRAWS,
        )
        return [frozenset(positions) for positions in reports]

    assert fit(drawn(1.0), law) > LEAST
    assert fit(drawn(1.15), law) < LEAST


def test_the_number_of_noisy_votes_is_binomial(core: Browser) -> None:
    trials, unary = 60, Unary(60, 1.0, 1)
    counts = run(
        core,
        """
        const entropy = new device.SecureEntropy();
        return Array.from({ length: given[2] }, () => device.drawBinomial(given[0], BigInt(given[1]), entropy));
        """,
        trials,
        str(unary.noise),
        DRAWS,
    )
    q = float(Fraction(unary.noise, ONE))
    cells, chances = _cells(trials, q)
    observed = np.histogram(counts, cells)[0]
    assert observed.sum() == DRAWS
    assert stats.chisquare(observed, chances * DRAWS).pvalue > LEAST
    # And its power: a q that is off by 3 in 100 is told apart in all but one of a thousand runs.
    others = _chances(cells, trials, 1.03 * q)
    distance = DRAWS * float(((others - chances) ** 2 / chances).sum())
    degrees = len(chances) - 1
    assert stats.ncx2.sf(stats.chi2.isf(LEAST, degrees), degrees, distance) > 0.999


def _cells(trials: int, q: float) -> tuple[list[float], "np.ndarray[Any, np.dtype[np.float64]]"]:
    """The borders of cells with at least five draws expected in each, and their chances."""
    likely = [count for count in range(trials + 1) if stats.binom.pmf(count, trials, q) * DRAWS >= 5]
    cells = [-0.5, *(count + 0.5 for count in likely), trials + 0.5]
    chances = _chances(cells, trials, q)
    return cells, chances


def _chances(cells: list[float], trials: int, q: float) -> "np.ndarray[Any, np.dtype[np.float64]]":
    return np.diff([0.0, *(float(stats.binom.cdf(border, trials, q)) for border in cells[1:])])


def test_the_law_of_a_subset_selection_report_and_that_the_test_would_tell_another(core: Browser) -> None:
    selection = SubsetSelection(4, 0.8, 1)
    law = word_law(selection, 2)

    def drawn(epsilon: float) -> list[frozenset[int]]:
        reports = run(
            core,
            """
            const selection = new device.SubsetSelection(4, given[0], 1);
            const entropy = new device.SecureEntropy();
            const reports = [];
            for (let draw = 0; draw < given[1]; draw++) {
              const { seed, offsets } = await selection.translates([2], entropy);
              reports.push((await selection.expand(seed))[0].map((value) => (value + offsets[0]) % 5));
            }
            return reports;
            """,
            epsilon,
            DRAWS // 2,
        )
        return [frozenset(subset) for subset in reports]

    assert fit(drawn(0.8), law) > LEAST
    assert fit(drawn(1.1), law) < LEAST


def test_integers_below_a_bound_are_uniform_where_a_short_cut_would_be_biased(core: Browser) -> None:
    # Of 2^32 words, those that would be passed over are a quarter for this bound: a modulo would show at once.
    bound = 3 << 30
    low = run(
        core,
        """
        const values = new device.SecureEntropy().below(given[0], given[1]);
        return [values.filter((value) => value < 2 ** 30).length, values.filter((value) => value % 3 === 0).length];
        """,
        bound,
        DRAWS,
    )
    for hits in low:
        assert stats.binomtest(hits, DRAWS, 1 / 3).pvalue > LEAST
    assert stats.binomtest(DRAWS // 2, DRAWS, 1 / 3).pvalue < LEAST, "what a modulo gives"


# When it talks

# A service within the page, and a clock that moves only while the device waits or looks at a word.
SCHEDULE = """
const { Device } = await import("/static/neologue-device.js");
const [operator, credential, told, known, words] = given;
let clock = 1000;
let looked = 0;
const schedule = [];
const real = { now: performance.now, setTimeout: window.setTimeout, normalize: String.prototype.normalize,
  fetch: window.fetch, random: crypto.getRandomValues };
performance.now = () => clock;
String.prototype.normalize = function (form) { clock += 10; looked += 10; return real.normalize.call(this, form); };
crypto.getRandomValues = (into) => {
  if (into instanceof Uint32Array && into.length === 1) into[0] = 2 ** 30;
  else real.random.call(crypto, into);
  return into;
};
window.setTimeout = (done, wait) => {
  if (wait > 20_000) return real.setTimeout.call(window, done, wait); // the deadline of an answer
  clock += wait;
  return real.setTimeout.call(window, done, 0);
};
window.fetch = async (url, { body }) => {
  const path = new URL(url).pathname;
  schedule.push([clock, path, body?.length ?? 0]);
  if (path === "/v1/check-in") return new Response(JSON.stringify(told.invited));
  if (path.startsWith("/v1/layers")) return new Response(told.document);
  if (path.startsWith("/v1/known")) return new Response(known);
  return new Response(JSON.stringify({ state: "final" }));
};
try {
  const device = await Device.open({ server: location.origin, operators: [operator], name: `timed ${words.length}` });
  await device.optIn();
  await device.join(credential);
  for (const word of words) await device.typed(word);
  clock = 1000;
  looked = 0;
  const { state } = await device.tick();
  return { state, schedule, looked };
} finally {
  Object.assign(window, { setTimeout: real.setTimeout, fetch: real.fetch });
  performance.now = real.now;
  String.prototype.normalize = real.normalize;
  crypto.getRandomValues = real.random;
}
"""


def test_no_word_changes_when_a_device_talks(core: Browser) -> None:
    layer = small_layer(["ab", "ca"], 5)
    invitation = invite(campaign_id(1), layer, OPERATOR)
    invited = {
        "state": "invited",
        "layer": layer.digest.hex(),
        "operator": invitation.operator.hex(),
        "signature": invitation.signature.hex(),
        "ticket": bytes(16).hex(),
    }
    told = {"invited": invited, "document": layer.document.decode()}
    known = known_document(layer.known).decode()
    runs = [
        run(core, SCHEDULE, invited["operator"], issue(campaign_id(1), OPERATOR, bytes(16)).text, told, known, words)
        for words in ([], [f"abc{number}" for number in range(200)])
    ]
    assert [each["state"] for each in runs] == ["final", "final"]
    first, second = ([(at, path) for at, path, _ in each["schedule"]] for each in runs)
    assert [path for _, path in first][-1] == "/v1/reports"
    assert runs[1]["looked"] - runs[0]["looked"] >= 2000, "else nothing is shown"
    assert first == second
    # A quarter of the way from 5 to 15 seconds behind the last fetch and what it takes to read that.
    assert 7500 <= first[-1][0] - first[-2][0] < 7600
