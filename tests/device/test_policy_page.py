"""docs/device-policy.md says what the code does: the limits, their defaults, and what a vote says of a word."""

import re
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

import pytest

from neologue.device.policy import Policy
from neologue.randomizers.closed import closed_domain
from neologue.randomizers.registry import randomizer

PAGE = (Path(__file__).parents[2] / "docs" / "device-policy.md").read_text("utf-8")
WORDS = {"nobody": frozenset(), "none": {}, "yes": True, "no": False}


def rows(heading: str) -> list[list[str]]:
    """The cells of the table whose first column has this heading."""
    table = PAGE.partition(f"| {heading} |")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in table.splitlines()[2:]]


def written(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def share(value: Fraction, digits: int) -> str:
    return f"{float(value):.{digits}%}".replace("%", " %")


def test_every_limit_is_on_the_page_with_its_default() -> None:
    limits = asdict(Policy())
    told = {row[0].strip("`"): row[1] for row in rows("limit")}
    assert set(told) == set(limits)
    for name, default in limits.items():
        text = told[name]
        power = re.fullmatch(r"2\^(\d+)", text)
        stated = WORDS[text] if text in WORDS else 2 ** int(power[1]) if power else float(text.replace(",", ""))
        assert stated == default, name


@pytest.mark.parametrize("row", rows("what is asked"), ids=lambda row: " ".join(row[:3]))
def test_the_table_says_what_a_vote_says_and_what_the_default_policy_does(row: list[str]) -> None:
    name, mechanism, epsilon, asked_text, bound = row[:5]
    asked, closed = int(asked_text.replace(",", "")), name.startswith("a list")
    shape = (asked, float(epsilon), int(bound))
    channel = (closed_domain(mechanism, *shape).randomizer if closed else randomizer(mechanism, *shape)).channel
    n = channel.contributions
    vote = channel.vote_ratio / n + Fraction(n - 1, n) / channel.silence_ratio
    noise = n * asked * channel.q
    posteriors = [vote * prior / (vote * prior + 1 - prior) for prior in (Fraction(1, 100), Fraction(1, 10**6))]
    ratio_limit = "largest_closed_vote_ratio" if closed else "largest_vote_ratio"
    broken = {
        ratio_limit: channel.vote_ratio > getattr(Policy, ratio_limit),
        "largest_silence_ratio": channel.silence_ratio > Policy.largest_silence_ratio,
        "fewest_noise_votes": noise < Policy.fewest_noise_votes,
    }
    refused = ", ".join(f"`{limit}`" for limit, is_broken in broken.items() if is_broken)
    assert row[5:] == [
        *map(written, (float(channel.vote_ratio), float(vote), float(channel.silence_ratio), float(noise))),
        share(posteriors[0], 1),
        share(posteriors[1], 3),
        f"refused: {refused}" if refused else "answered, if logged" if closed else "answered",
    ]


def test_the_smallest_domain_is_as_the_page_says() -> None:
    for candidates, epsilon in ((66_083, 10.0), (3_293, 7.0), (167, 4.0)):
        assert f"{candidates:,}" in PAGE
        channel = randomizer("unary", candidates, epsilon, 60).channel
        assert (candidates - 1) * channel.q < Policy.fewest_noise_votes <= candidates * channel.q


def test_a_guess_in_the_layers_of_the_paper_is_as_rare_as_the_page_says() -> None:
    for candidates, stated in ((9_900, "3.8 %"), (1_000_000, "0.2 %")):
        selection = randomizer("subset-selection", candidates, 10.0, 60)
        pairs = 60 * 59 / 2 * candidates * selection.channel.q**2
        bound = (selection.worst_ratio / 60 * (1 + pairs) + 1) / candidates
        assert share(Fraction(bound), 1) == stated
        assert stated in PAGE
