"""The results of the paper's case study: measured beside published figures, with a sentence on each difference."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from neologue.campaign.profiles import GBOARD_2024
from neologue.privacy.digits import shown
from neologue.studies.interval import CONFIDENCE, METHOD, Interval
from neologue.studies.paper import (
    EPSILON,
    NO_PRIVACY,
    PRODUCTION,
    TABLE,
    PaperResult,
    PaperStudy,
    TrialSetting,
    figure_setting,
    target_words,
)
from neologue.studies.published import COVERAGE, PAPER, TABLE_SECTION
from neologue.studies.published import PRODUCTION as PUBLISHED

WHY = {
    "greedy-1": "without privacy {free:.1%} are covered, the cap of 10,000 prefixes cuts off the rest, and how much "
    "that is depends on the target words: wordfreq's rare ones here, an unpublished list there",
    "random-1": "how often a simulated user types a word says little about how many others hold it, so that both "
    "samplers speak of much the same words; Gboard's users may type common words more often",
    "random-2": "a second trie finds what the cap cut off the first, and how much that is depends on the target words",
}
ORDERINGS_SECTION = "section 4, the text on the privacy parameter"


@dataclass(frozen=True)
class Reproduction:
    """A study and its results."""

    study: PaperStudy
    results: tuple[PaperResult, ...]

    def as_dict(self) -> dict[str, Any]:
        """The reproduction as JSON values."""
        targets = target_words()
        return {
            "paper": PAPER,
            "users": self.study.users,
            "depth": self.study.depth,
            "seeds": list(self.study.seeds),
            "interval": {"confidence": CONFIDENCE, "method": METHOD},
            "targets": len(targets),
            "table": [self._row(name) for name in TABLE],
            "figure": [
                {"epsilon": epsilon, **self._measured(figure_setting(epsilon))} for epsilon in self.study.epsilons
            ],
            "without_privacy": {"epsilon": NO_PRIVACY, **self._measured(figure_setting(NO_PRIVACY))},
            "production": self._production(),
            "orderings": self._orderings(),
            "runs": [result.as_dict() for result in self.results],
        }

    def _of(self, setting: TrialSetting) -> list[PaperResult]:
        return [result for result in self.results if result.run.setting == setting]

    def _measured(self, setting: TrialSetting) -> dict[str, Any]:
        results = self._of(setting)
        spent = [result.central_epsilon for result in results if result.central_epsilon is not None]
        return {
            **_figures("coverage", [result.coverage for result in results]),
            "precision": _mean([result.precision for result in results]),
            "words": _mean([result.words for result in results]),
            "words_held": _mean([result.words_held for result in results]),
            "central_epsilon": max(spent) if spent else None,
            "seeds": len(results),
        }

    def _row(self, name: str) -> dict[str, Any]:
        setting, published = TABLE[name], COVERAGE[name]
        measured = self._measured(setting)
        return {
            "setting": name,
            **measured,
            "published": published.value,
            "place": published.section,
            "sampler": setting.sampler,
            "passes": setting.passes,
            "epsilon": setting.epsilon,
            "users_per_layer": self.study.users // (setting.passes * self.study.depth),
            "difference": self._difference(
                measured["coverage"],
                published.value,
                WHY[name].format(free=self._measured(figure_setting(NO_PRIVACY))["coverage"]),
            ),
        }

    def _difference(self, measured: float, published: float, why: str) -> str:
        points = 100 * (measured - published)
        fewer = f"{self.study.users:,} users are far fewer than its {GBOARD_2024.users:,}; besides, "
        return (
            f"{abs(points):.1f} points {'above' if points > 0 else 'below'} the paper: "
            f"{fewer if self.study.users < GBOARD_2024.users else ''}{why}."
        )

    def _production(self) -> dict[str, Any]:
        results = self._of(PRODUCTION)
        tested = [result.held_out for result in results if result.held_out]
        privacy = next(result.privacy for result in results if result.privacy)
        item, anonymity = privacy["item_central"], privacy["k_anonymity"]
        return {
            **self._measured(PRODUCTION),
            "sampler": PRODUCTION.sampler,
            "passes": PRODUCTION.passes,
            "epsilon": PRODUCTION.epsilon,
            "users_per_layer": self.study.users // (PRODUCTION.passes * self.study.depth),
            "held_out": {
                "users": tested[0].users,
                **{
                    name: asdict(Interval.of([getattr(test, name) for test in tested]).within(0, 1))
                    for name in ("of_pairs", "of_typings", "of_words")
                },
            },
            "privacy": privacy,
            "published": {name: figure.value for name, figure in PUBLISHED.items()},
            "place": PUBLISHED["k"].section,
            "differences": [
                f"Test users find {tested[0].of_pairs:.1%} of the unknown words they hold among the words released, "
                f"{tested[0].of_typings:.1%} of the times they type one and {tested[0].of_words:.1%} of the different "
                f"ones; the paper has {PUBLISHED['held_out_coverage'].value:.1%} and does not say of which: wordfreq's "
                "lists end where words become rare, and what real people type goes on with names and slips that "
                "nobody shares.",
                f"The central ε of a word is {shown(item['best'])} here and "
                f"{PUBLISHED['item_central_epsilon'].value:g} "
                f"in the paper, which took a full layer and the bound of 2021; that bound gives "
                f"{_epsilon_text(item['fmt2021'])} for the costliest layer here, {item['theorems']['best']} the other.",
                f"The paper states k = {PUBLISHED['k'].value:g} at α = {PUBLISHED['alpha'].value:g}; certified here is "
                + (
                    f"k = {anonymity['k']}." if anonymity["k"] else f"none for the run, as {anonymity['reasons']['k']}."
                ),
            ],
        }

    def _orderings(self) -> list[dict[str, Any]]:
        """What the paper finds larger than what, and whether it is so here, seed by seed."""
        greedy, random, twice = TABLE.values()
        lowest, private = figure_setting(min(self.study.epsilons)), figure_setting(EPSILON)
        free = figure_setting(NO_PRIVACY)
        points = sorted(self.study.epsilons)
        return [
            _ordering(
                "random sampling covers more than greedy sampling",
                COVERAGE["random-1"].value - COVERAGE["greedy-1"].value,
                TABLE_SECTION,
                self._gains(lambda at: at(random) - at(greedy), greedy, random),
            ),
            _ordering(
                "two passes cover more than one",
                COVERAGE["random-2"].value - COVERAGE["random-1"].value,
                TABLE_SECTION,
                self._gains(lambda at: at(twice) - at(random), random, twice),
            ),
            _ordering(
                "every larger ε covers more, and no privacy the most",
                None,
                ORDERINGS_SECTION,
                self._gains(
                    lambda at: min(
                        at(figure_setting(high)) - at(figure_setting(low))
                        for low, high in zip(points, [*points[1:], NO_PRIVACY], strict=True)
                    ),
                    *map(figure_setting, (*points, NO_PRIVACY)),
                ),
            ),
            _ordering(
                f"from ε = {EPSILON:g} on little is lost: less above it than below",
                None,
                ORDERINGS_SECTION,
                self._gains(lambda at: (at(private) - at(lowest)) - (at(free) - at(private)), lowest, private, free),
            ),
        ]

    def _gains(self, gain: Callable[[Callable[[TrialSetting], float]], float], *needed: TrialSetting) -> list[float]:
        """A difference of coverages, for every seed that all the settings were run with."""
        coverage = {(result.run.setting, result.run.seed): result.coverage for result in self.results}
        return [
            gain(lambda setting, seed=seed: coverage[setting, seed])  # type: ignore[misc]
            for seed in self.study.seeds
            if all((setting, seed) in coverage for setting in needed)
        ]


def _ordering(statement: str, published: float | None, section: str, gains: Sequence[float]) -> dict[str, Any]:
    """Whether an ordering of the paper holds: it does if the mean gain is above 0.

    It is decided if the whole interval is on one side of 0; one seed decides nothing.
    """
    interval = Interval.of(gains)
    return {
        "statement": statement,
        "published_gain": published,
        "place": section,
        "gain": interval.mean,
        "low": interval.low,
        "high": interval.high,
        "as_published": interval.mean > 0,
        "decided": interval.low is not None and interval.high is not None and not interval.low <= 0 <= interval.high,
    }


def _figures(name: str, values: Sequence[float]) -> dict[str, Any]:
    interval = Interval.of(values).within(0, 1)
    return {name: interval.mean, "low": interval.low, "high": interval.high}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _epsilon_text(epsilon: float | None) -> str:
    return "no figure" if epsilon is None else shown(epsilon)
