"""A comparison as tables: one line for every method, ε and number of users, and the users needed for a coverage."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from neologue.studies.compare import Comparison, ComparisonResult
from neologue.studies.interval import CONFIDENCE, METHOD, Interval
from neologue.studies.outcome import Outcome

LEVELS = (0.25, 0.5)
"""The coverages for which the users needed are looked up."""


def side_by_side(comparison: Comparison) -> dict[str, Any]:
    """Summarise a comparison over its seeds."""
    asked = comparison.study
    return {
        "interval": {"confidence": CONFIDENCE, "method": METHOD},
        "table": [
            _row(comparison, method, epsilon, users)
            for users, epsilon, method in product(asked.users, asked.epsilons, asked.methods)
        ],
        "users_needed": [
            {
                "method": method,
                "epsilon": epsilon,
                "coverage": level,
                "users": comparison.users_needed(method, epsilon, level),
            }
            for level, epsilon, method in product(LEVELS, asked.epsilons, asked.methods)
        ],
    }


def _row(comparison: Comparison, method: str, epsilon: float, users: int) -> dict[str, Any]:
    results = [
        result
        for result in comparison.results
        if (result.run.method, result.run.epsilon, result.run.users) == (method, epsilon, users)
    ]
    first = results[0]
    row = {"method": method, "epsilon": epsilon, "users": users, "trust": first.trust}
    outcomes = [result.outcome for result in results if result.outcome]
    if len(outcomes) < len(results) or first.cost is None:
        return {**row, "refusal": next(result.refusal for result in results if result.refusal)}
    interval = _over(outcomes, lambda outcome: outcome.coverage)
    return {
        **row,
        "keeps_budget": all(result.keeps_budget for result in results),
        "coverage": interval.mean,
        "low": interval.low,
        "high": interval.high,
        "precision": _over(outcomes, lambda outcome: outcome.precision).mean,
        "missing_mass": _over(outcomes, lambda outcome: outcome.missing_mass).mean,
        "f1": _over(outcomes, lambda outcome: outcome.f1).mean,
        "words": _over(outcomes, lambda outcome: outcome.words).mean,
        "rounds": _most(results, lambda cost: cost.rounds),
        "bytes_per_device": _most(results, lambda cost: cost.bytes_per_device),
        "users_asked": _most(results, lambda cost: cost.users_asked),
        **{
            name: _most(results, lambda cost, name=name: getattr(cost.privacy, name))
            for name in ("local_item", "local_user", "central_item", "central_user")
        },
        "basis": first.cost.privacy.basis,
    }


def _over(outcomes: Sequence[Outcome], figure: Callable[[Outcome], float]) -> Interval:
    return Interval.of([figure(outcome) for outcome in outcomes]).within(0, 1)


def _most(results: Sequence[ComparisonResult], figure: Callable[..., Any]) -> Any:  # noqa: ANN401 - whatever the figure is
    """The largest figure over seeds; None if any is missing."""
    values = [figure(result.cost) for result in results]
    return None if any(value is None for value in values) else max(values)
