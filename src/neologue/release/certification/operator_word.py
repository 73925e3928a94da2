"""What a release says that nothing published bears out: it rests on the word of whoever signed it.

docs/privacy/operator.md says of each item what a lie about it would gain, and who could notice.
"""

from dataclasses import dataclass, replace

from neologue.privacy.statement import Source
from neologue.release.codec import ReleaseDocument


@dataclass(frozen=True)
class OperatorWord:
    """One thing that has to be believed."""

    name: str
    """By which docs/privacy/operator.md has it."""
    claim: str
    """What is believed."""
    noticed_by: str
    """Who could notice a lie, and how."""


NOBODY = "nobody from outside"
CHECKED = "a device whose layer is not in the release: neologue device check"

PEOPLE = OperatorWord(
    "people", "the reports are of as many different people's devices; none is made up, and this is no rehearsal", NOBODY
)
IDENTITY = OperatorWord("identity", "devices were invited to these layers under this campaign's identity", CHECKED)
DEVICE_CODE = OperatorWord(
    "device code",
    "devices run the published code: the stated randomizer with secure randomness, once each",
    "whoever examines the app that is shipped",
)
RECORDS = OperatorWord(
    "records", "so many people typed these words, and each of them was asked once, in one layer", NOBODY
)
RANDOMNESS = OperatorWord(
    "randomness", "the votes were drawn by the stated law, with randomness that no reader knows", NOBODY
)
SEED = OperatorWord(
    "seed", "this seed and this population gave these votes", "whoever repeats the run with the same version"
)
REPORTS = OperatorWord(
    "reports",
    "how many reports each layer and the measurement counted: with more reports, every central ε is smaller",
    NOBODY,
)
VOTES = OperatorWord(
    "votes", "the votes, and so which prefixes and words were found, and how many users hold or measured them", NOBODY
)
THRESHOLDS = OperatorWord(
    "thresholds",
    "k, α, unique_chance, hostile_devices and the rule are those applied: whatever had fewer votes than they "
    "require would have been dropped, and no stricter ones were applied than are stated",
    NOBODY,
)
COMPLETENESS = OperatorWord(
    "completeness",
    "no layer and no measurement was asked and left out, where one that kept nothing is stated as the last of its pass",
    CHECKED,
)
WARNINGS = OperatorWord(
    "warnings", "every warning about the votes of a whole layer is stated, and none is made up", NOBODY
)
COLLUDERS = OperatorWord(
    "colluders", "no more than the stated share of the reports are known to the observer, or made by them", NOBODY
)
EXPOSURE = OperatorWord(
    "exposure",
    "nobody saw or stored sums of fewer reports than stated",
    "of masks, a device that was promised others: neologue device check; otherwise nobody from outside",
)
USERS = OperatorWord(
    "users",
    "how many users the campaign was for: the layers are laid out for this number, and counts refer to it",
    "whoever has the known words and lays the layers out again",
)
NOTHING_ELSE = OperatorWord(
    "nothing else", "nothing else about the same reports was published or shown to anybody", NOBODY
)
ASSIGNMENT = OperatorWord(
    "assignment",
    "who was asked, when and about which layer does not depend on anybody's words or, where slots are drawn, on who "
    "else was asked; and nothing else that is published tells who was in which layer",
    NOBODY,
)
DAYS = OperatorWord(
    "days", "for how many days words were remembered (the parameter days)", "the owner of a device, in its settings"
)
LIMITS = OperatorWord(
    "limits",
    "the limits by which layers were laid out and prefixes kept, as far as the layers do not show them: profile, "
    "candidates, report_bytes, frontier, smallest_layer, false_prefixes, false_words, promised_epsilon, promised_unit",
    NOBODY,
)
DESCRIPTION = OperatorWord(
    "description",
    "the names of the population, the alphabet and the source of the known words, and their number",
    NOBODY,
)
LEDGER = OperatorWord(
    "ledger",
    "what other campaigns asked the same people: each release states only its own cost",
    "the people asked",
)

WHOSE = {
    Source.DEVICES: (PEOPLE, IDENTITY, DEVICE_CODE, COMPLETENESS, WARNINGS, COLLUDERS, EXPOSURE),
    Source.REHEARSAL: (PEOPLE, IDENTITY, DEVICE_CODE, COMPLETENESS, WARNINGS, COLLUDERS, EXPOSURE),
    Source.RECORDS: (RECORDS, RANDOMNESS, replace(COMPLETENESS, noticed_by=NOBODY), COLLUDERS),
    Source.SIMULATION: (SEED, replace(COMPLETENESS, noticed_by=SEED.noticed_by), COLLUDERS),
}
"""What is believed, by where votes come from."""
OF_ALL = (REPORTS, VOTES, THRESHOLDS, USERS, NOTHING_ELSE, ASSIGNMENT, DAYS, LIMITS, DESCRIPTION, LEDGER)
"""What is believed of every release."""


def operator_word(document: ReleaseDocument) -> tuple[OperatorWord, ...]:
    """All that has to be believed of a release."""
    return (*WHOSE[document.provenance.source], *OF_ALL)
