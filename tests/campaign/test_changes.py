"""What a campaign may change is what its parameters are."""

from dataclasses import fields
from typing import get_type_hints

import pytest

from neologue import Campaign
from neologue.campaign.changes import Changes
from neologue.campaign.parameters import Parameters


def test_the_changes_are_the_parameters_with_their_types_in_their_order() -> None:
    assert list(get_type_hints(Changes).items()) == list(get_type_hints(Parameters).items())
    assert [field.name for field in fields(Parameters)] == list(get_type_hints(Changes))


def test_a_name_that_is_no_parameter_is_refused() -> None:
    with pytest.raises(TypeError, match="epsilno"):
        Campaign.from_profile(users=200_000, epsilno=6.0, epsilon=10.0)  # type: ignore[call-arg]
