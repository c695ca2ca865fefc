"""Formatting of amounts: numbers with nouns, scores in points of 100, p values."""


def number(n: float, noun: str, plural: str = "") -> str:
    """Return a number with its noun, such as "1 sentence" or "2,000 sentences".

    n (float): The number.
    noun (str): The noun in the singular.
    plural (str): The noun in the plural. By default with an s.
    """
    shown = f"{n:,}" if isinstance(n, int) else f"{n:g}"
    return f"{shown} {noun if n == 1 else plural or f'{noun}s'}"


def verb(n: int, word: str) -> str:
    """Return a verb in the third person that agrees with a number: 1 "stands", 2 "stand"."""
    return word if n != 1 else {"have": "has", "are": "is"}.get(word, f"{word}s")


def percent(score: float | None) -> str:
    """Format a score in [0, 1] in points of 100 with one decimal."""
    return "–" if score is None else f"{100 * score:.1f}"


def signed(points: float | None) -> str:
    """Format points with a sign, which is a typographic minus. 0.0 has no sign."""
    if points is None:
        return "–"
    rounded = round(points, 1)
    return f"{rounded:+.1f}".replace("-", "−") if rounded else "0.0"


def p_value(p: float, sign: str = "") -> str:
    """Return a p value in words: three decimals below 0.1, else two, and "< 0.001".

    p (float): The p value.
    sign (str): Sign before the number, such as "= ", unless it is below 0.001.
    """
    return "< 0.001" if p < 0.001 else f"{sign}{p:.{3 if p < 0.1 else 2}f}"
