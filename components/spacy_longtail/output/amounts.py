"""Amounts in words: a noun and its verb agree with how many there are."""


def number(n: float, noun: str, plural: str = "") -> str:
    """1 sentence, 2,000 sentences, 0.5 minutes. plural (str): Where it takes more than an s."""
    shown = f"{n:,}" if isinstance(n, int) else f"{n:g}"
    return f"{shown} {noun if n == 1 else plural or f'{noun}s'}"


def verb(n: int, word: str) -> str:
    """1 stands, 2 stand."""
    return word if n != 1 else {"have": "has", "are": "is"}.get(word, f"{word}s")
