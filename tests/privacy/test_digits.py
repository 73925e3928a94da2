from hypothesis import given
from hypothesis import strategies as st

from neologue.privacy.digits import shown


def test_an_epsilon_is_shown_in_three_digits_rounded_up() -> None:
    given = (0.0, 0.1, 0.114432, 0.95349, 1.0, 3.61, 3.61314, 15.3, 136.0, 136.01, float("inf"))
    told = ["0", "0.1", "0.115", "0.954", "1", "3.61", "3.62", "15.3", "136", "137", "inf"]
    assert [shown(epsilon) for epsilon in given] == told


@given(st.floats(1e-6, 1e6))
def test_what_is_shown_is_never_less_than_what_is_proved_and_never_a_hundredth_more(epsilon: float) -> None:
    assert epsilon <= float(shown(epsilon)) <= epsilon * 1.0101
