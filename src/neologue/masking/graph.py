"""Who is whose neighbour: devices in a random circle, each beside the k/2 next ones on either side."""

from neologue.entropy import Entropy


def circle(size: int, degree: int, entropy: Entropy) -> list[tuple[int, ...]]:
    """The neighbours of every device, in ascending order; all others if the degree is that large."""
    if degree == size - 1:
        return [tuple(other for other in range(size) if other != device) for device in range(size)]
    order: list[int] = entropy.permutation(size).tolist()
    steps = [step for step in range(-degree // 2, degree // 2 + 1) if step]
    neighbours = {
        device: tuple(sorted(order[(position + step) % size] for step in steps))
        for position, device in enumerate(order)
    }
    return [neighbours[device] for device in range(size)]
