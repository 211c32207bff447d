"""Numbers as people write them: percentages, odds, and counts of people or records."""

import math


def percent(share: float) -> str:
    """Return a share as a percentage with two significant digits; only 0 is 0% and only 1 is 100%.

    >>> [percent(share) for share in (0, 0.00000679, 0.08155, 0.31249, 0.9996, 1)]
    ['0%', 'less than 0.01%', '8.2%', '31%', 'more than 99.9%', '100%']
    """
    if share in (0, 1):
        return f"{share:.0%}"
    if share < 0.0001:
        return "less than 0.01%"
    if share > 0.999:
        return "more than 99.9%"
    digits = max(0, 1 - math.floor(math.log10(share * 100)))
    return f"{share * 100:.{digits}f}%"


def odds(probability: float) -> str:
    """Return a probability as odds that are at least as high; `certain` for 1.

    >>> [odds(probability) for probability in (0.1, 0.3, 1 / 7, 0.9, 1)]
    ['1 in 10', '1 in 3', '1 in 7', '9 in 10', 'certain']
    """
    if probability >= 1:
        return "certain"
    if probability > 0.5:
        return f"{math.ceil(probability * 10 - 1e-9)} in 10" if probability <= 0.9 else f"more than {percent(0.9)}"
    return f"1 in {math.floor(1 / probability + 1e-9):,}"


def count(number: float, singular: str, plural: str) -> str:
    """Return a count with its noun.

    >>> [count(1, "person", "people"), count(20000, "person", "people")]
    ['1 person', '20,000 people']
    """
    return f"{int(number):,} {singular if number == 1 else plural}"


def listing(names: list[str], last: str = "and") -> str:
    """Return names as they are listed in a sentence.

    >>> [listing(["a"]), listing(["a", "b"]), listing(["a", "b", "c"])]
    ['a', 'a and b', 'a, b and c']
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"
