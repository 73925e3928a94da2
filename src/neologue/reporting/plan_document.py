"""A plan as one document and as a picture; `docs/plan.md` describes each field."""

import tempfile
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

from neologue.errors import ParameterError
from neologue.planning.duration import Duration
from neologue.planning.masking_cost import MaskingCost
from neologue.planning.plan import Plan, Point
from neologue.planning.service_cost import Hosting, ServiceCost, service_cost
from neologue.planning.typing_shape import TypingShape
from neologue.planning.unit_costs import UNIT_COSTS
from neologue.privacy.cost import central_epsilon
from neologue.release.codec import parameters_document
from neologue.release.planting import Planting
from neologue.release.released_group import LayerSize, ReleasedGroup, together

FORMAT = 1
_FIELDS = {"pass_number": "pass", "layer_size": "cohort"}
"""Fields of a layer that a document calls otherwise than the code."""
NOTHING_SURE = "not even a word that every user reports is found with a chance of 95 %"
NO_DATA = "the plan is not for the users of a file"
NO_CHECK_INS = "nobody said how many devices check in on a day"
NOTHING_PROMISED = "no central ε is promised"
NO_LEVEL = "no level of privacy was asked for"
ENOUGH_USERS = "it is about users who are too few to find anything at a level of privacy"
NOT_FULL = "it is about Subset Selection with the rule top, whose cost depends on the candidates"


def plan_document(
    plan: Plan,
    language: str,
    masked: MaskingCost | None = None,
    hosting: Hosting | None = None,
    shape: TypingShape | None = None,
    lasting: Duration | None = None,
) -> dict[str, object]:
    """The plan as plain values; with what masks cost a device, where votes are masked, and with the service's cost."""
    campaign, expected = plan.campaign, plan.expected
    rarest, full = expected.rarest_share, plan.full_layer
    reasons = {
        **({"rarest_users": NOTHING_SURE} if rarest is None else {}),
        **(
            {"rarest_share": NOTHING_SURE} if None in (rarest, *(point.rarest_share for point in plan.tradeoff)) else {}
        ),
        **({"full_layer_item_epsilon": NOT_FULL} if full is None else {}),
        **({"level": NO_LEVEL} if plan.level is None else {}),
        **({"fewest_users": ENOUGH_USERS} if plan.fewest_users is None else {}),
        **({"shape": NO_DATA} if shape is None else {}),
        **({"duration": NO_CHECK_INS} if lasting is None else {}),
        **({"fewest_reports": NOTHING_PROMISED} if fewest_reports_of(plan) is None else {}),
    }
    return {
        "format": FORMAT,
        "language": language,
        "users": campaign.users,
        "profile": campaign.profile,
        "limits": asdict(plan.limits),
        "parameters": parameters_document(campaign),
        "layers": [
            {_FIELDS.get(name, name): value for name, value in asdict(layer).items()} for layer in expected.layers
        ],
        "expected": {
            "coverage": expected.coverage,
            "words": expected.words,
            "false_words": expected.false_words,
            "rarest_share": rarest,
            "rarest_users": None if rarest is None else rarest * campaign.users,
            "bytes_per_device": expected.report_bytes,
        },
        "fewest_reports": fewest_reports_of(plan),
        "privacy": plan.statement,
        "planting": _planting(plan).document(),
        "full_layer_item_epsilon": full,
        "tradeoff": [asdict(point) for point in plan.tradeoff],
        "level": plan.level and plan.level.name,
        "levels": [
            {"level": outlook.level.name, "expected": outlook.point and asdict(outlook.point)}
            for outlook in plan.levels
        ],
        "fewest_users": plan.fewest_users,
        "shape": shape and _shape(shape, campaign.parameters.delta),
        "duration": lasting and asdict(lasting),
        "reasons": reasons,
        **({"masked": {**asdict(plan.masked), **asdict(masked)}} if plan.masked and masked else {}),
        **({"cost": _cost(service_cost(plan, hosting, masked), hosting)} if hosting else {}),
    }


def _cost(cost: ServiceCost, hosting: Hosting) -> dict[str, object]:
    """The cost of the service, how it is run, and the constants of the law."""
    first = cost.breaks_first
    return {
        "hosting": asdict(hosting),
        **asdict(cost),
        "money": {**asdict(cost.money), "total": cost.money.total},
        "breaks_first": None if first is None else first.name,
        "constants": {name: asdict(constant) for name, constant in UNIT_COSTS.items()},
    }


def _shape(shape: TypingShape, delta: float) -> dict[str, object]:
    """How many words users hold, and what it cost them to tell."""
    return {
        "users": shape.collection.batches[0].reports,
        "local_epsilon": shape.collection.epsilon,
        "user_epsilon": central_epsilon(shape.collection, delta, "user"),
        "mean": shape.mean,
        "classes": [{"from": first, "to": last, "share": share} for first, last, share in shape.classes],
    }


def _planting(plan: Plan) -> Planting:
    """What hostile devices could plant, as far as thresholds are foreseen."""
    sizes = tuple(
        LayerSize(layer.candidates, layer.layer_size, plan.campaign.parameters.counted_reports(layer.layer_size))
        for layer in plan.expected.layers
    )
    groups = tuple(
        ReleasedGroup(
            group.first, group.last, together(sizes[group.first : group.last + 1]), group.words, group.fewest_votes
        )
        for group in plan.expected.groups
        if group.words
    )
    return Planting(plan.campaign.parameters, plan.campaign.users, sizes, groups, plan.facts.exposure, foreseen=True)


def fewest_reports_of(plan: Plan) -> int | None:
    """The reports without which a layer is not decided, of the layer that needs the most; None without a promise."""
    campaign = plan.campaign
    if campaign.parameters.promised_epsilon is None:
        return None
    # Fewer candidates hide less, if their number matters at all.
    return campaign.fewest_reports(min(layer.candidates for layer in plan.expected.layers))


def check_plot(path: Path) -> None:
    """Refuse, before any work, a plot that can't be drawn or written; leaves nothing behind."""
    if find_spec("matplotlib") is None:
        raise ParameterError("a plot needs matplotlib; install it with: pip install 'neologue[report]'")
    if path.suffix.lower() != ".svg" and not path.is_dir():
        raise ParameterError(f"the plot is an SVG, and {path} is no name for one: give --plot a name with .svg")
    if path.is_dir():
        raise ParameterError(f"{path} is a folder; give --plot a file")
    try:
        with path.open("ab") if path.exists() else tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise ParameterError(f"{path} can't be written ({error.strerror}); give --plot another file") from error


def _local_epsilon(point: Point) -> float:
    return point.local_epsilon


def plot_tradeoff(plan: Plan, path: Path) -> None:
    """Draw what a larger or smaller local ε would find and cost."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    FigureCanvasSVG(figure)
    found = figure.add_subplot()
    spent = found.twinx()
    points = plan.tradeoff or sorted((outlook.point for outlook in plan.levels if outlook.point), key=_local_epsilon)
    local = [point.local_epsilon for point in points]
    (coverage,) = found.plot(local, [100 * point.coverage for point in points], "o-", color="#1b6ca8")
    (item,) = spent.plot(local, [point.item_epsilon for point in points], "s--", color="#c4501b")
    (user,) = spent.plot(local, [point.user_epsilon for point in points], "^:", color="#7a2e8e")
    chosen = found.axvline(plan.campaign.epsilon, color="#888888", linewidth=1)
    found.set(xlabel="local ε of one word", ylabel="coverage, %", ylim=(0, 100))
    spent.set(ylabel=f"central ε at δ = {plan.campaign.parameters.delta:g}", yscale="log")
    found.set_title(f"{plan.campaign.users:,} users, profile {plan.campaign.profile}")
    found.legend(
        [coverage, item, user, chosen],
        ["coverage", "central ε of a word", "central ε of a user", "this plan"],
        loc="lower right",
        frameon=False,
    )
    figure.savefig(path, format="svg", metadata={"Date": None})
