"""The profiles of this project as methods of the comparison."""

from dataclasses import dataclass
from typing import ClassVar

from neologue.campaign.campaign import Campaign
from neologue.campaign.keeping_level import fewer_later_words
from neologue.campaign.privacy_level import STRICT
from neologue.campaign.profiles import profile
from neologue.errors import ParameterError
from neologue.privacy.cost import central_epsilon, cost
from neologue.protocol.report import HEADER_BYTES
from neologue.release.facts import release_facts
from neologue.release.foreseen import foreseen_charge
from neologue.simulation.discovery_run import discover
from neologue.studies.method import Advance, Found, FoundWord, Task, ignore_progress
from neologue.studies.privacy_grant import Privacy, PrivacyGrant
from neologue.studies.study_progress import StudyProgress


@dataclass(frozen=True)
class Ours:
    """A profile, with the ε, the depth and the alphabet of the comparison."""

    name: str
    trust: ClassVar[str] = "local"

    @property
    def citation(self) -> str:
        """The source of the profile."""
        return profile(self.name).source

    def fewest_users(self, task: Task) -> int:
        """Enough for all layers of all passes."""
        parameters = profile(self.name).parameters
        return parameters.smallest_layer * parameters.passes * task.depth

    def discover(self, task: Task, budget: PrivacyGrant, seed: int, advance: Advance = ignore_progress) -> Found:
        """Run a campaign with the largest ε that the budget allows."""
        # As the level does that is a central ε of a whole user, too, and as small.
        by_level = (budget.model, budget.unit) == ("central", "user") and budget.epsilon <= (STRICT.user_epsilon or 0)
        later_words = fewer_later_words(profile(self.name).parameters, STRICT) if by_level else ()

        def campaign(epsilon: float) -> Campaign:
            return Campaign.from_profile(
                self.name,
                users=task.users,
                alphabet=task.alphabet,
                known=task.known,
                depth=task.depth,
                delta=budget.delta,
                epsilon=epsilon,
                later_words=later_words,
            )

        def central(epsilon: float) -> float:
            try:
                return central_epsilon(foreseen_charge(campaign(epsilon), None), budget.delta, budget.unit)
            except ParameterError:
                # Reports with a small ε can be too long. If ε has to be that small, the campaign itself refuses.
                return 0.0

        words_per_user = profile(self.name).parameters.words_per_user
        asked = campaign(budget.local_epsilon(central, words_per_user))
        release = discover(task.population, asked, seed=seed, progress=StudyProgress(advance)).release
        collection = release_facts(release).charged
        spent = cost(collection, budget.delta)
        payloads = [collection.randomizer(batch).payload_bytes for batch in collection.batches]
        return Found(
            words=tuple(FoundWord(word.word, word.estimate) for word in release.words),
            rounds=len(release.layers),
            bytes_per_device=HEADER_BYTES + max(payloads, default=0),
            users_asked=sum(layer.asked for layer in release.layers),
            privacy=Privacy(
                local_item=asked.epsilon,
                local_user=words_per_user * asked.epsilon,
                central_item=spent.item_best.epsilon,
                central_user=spent.user_best.epsilon,
                delta=budget.delta,
                basis=f"up to {words_per_user} words a user, reported once; centrally, if only the sums of whole "
                f"cohorts are seen: {spent.item_best.theorem}; {spent.user_best.theorem}",
            ),
        )
