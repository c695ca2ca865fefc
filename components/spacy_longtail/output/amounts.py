"""Amounts in words and in points of 100."""


def number(n: float, noun: str, plural: str = "") -> str:
    """1 sentence, 2,000 sentences, 0.5 minutes. plural (str): Where it takes more than an s."""
    shown = f"{n:,}" if isinstance(n, int) else f"{n:g}"
    return f"{shown} {noun if n == 1 else plural or f'{noun}s'}"


def verb(n: int, word: str) -> str:
    """1 stands, 2 stand."""
    return word if n != 1 else {"have": "has", "are": "is"}.get(word, f"{word}s")


def percent(score: float | None) -> str:
    """A score in [0, 1] as points of 100 with one decimal."""
    return "–" if score is None else f"{100 * score:.1f}"


def signed(points: float | None) -> str:
    """Points with a sign, a real minus; what rounds to nothing has none."""
    if points is None:
        return "–"
    rounded = round(points, 1)
    return f"{rounded:+.1f}".replace("-", "−") if rounded else "0.0"


def p_value(p: float, sign: str = "") -> str:
    """Return a p value in words: three decimals below 0.1, else two, and "< 0.001".

    sign (str): What precedes the number, unless it is below 0.001.
    """
    return "< 0.001" if p < 0.001 else f"{sign}{p:.{3 if p < 0.1 else 2}f}"
