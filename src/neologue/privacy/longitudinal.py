"""What the reports of one device in several campaigns tell together a server that reads each of them.

The noise of each campaign is new. With unary, the bit of a word is 1 with probability ½ if the device holds the word
and with probability q = 1/(e^ε+1) if not, so a bit of 1 multiplies the odds that it is held by (e^ε+1)/2, and one of 0
by ½/(1−q) = (e^ε+1)/(2·e^ε). docs/privacy/longitudinal.md has a table.
"""

import math


def posterior(epsilon: float, campaigns: int, votes: int, prior: float) -> float:
    """The probability that a device holds a word for which it voted in so many of some campaigns that asked."""
    odds = math.log(prior) - math.log1p(-prior) + campaigns * (math.log1p(math.exp(epsilon)) - math.log(2))
    return 1 / (1 + math.exp((campaigns - votes) * epsilon - odds))


def exposed_share(epsilon: float, campaigns: int, prior: float = 1e-6, certainty: float = 0.95) -> float:
    """The share of a word's holders of whom a server that reads all their reports becomes so certain."""
    outcomes = sum(
        math.comb(campaigns, votes)
        for votes in range(campaigns + 1)
        if posterior(epsilon, campaigns, votes, prior) >= certainty
    )
    return math.ldexp(outcomes, -campaigns)
