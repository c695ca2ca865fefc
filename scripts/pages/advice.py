"""What `recommend` advised, beside stock spaCy: a table and a picture of its records."""

from statistics import mean

from dumbbells import Row, draw

from .records import points, read, table

STOCK = "ner"


def _score(record: dict, method: str, score: str = "macro") -> float:
    return mean(record["scores"][method][score])


def rows() -> str:
    """The table: one corpus a row."""
    found = []
    for r in read("advice"):
        macro = r.get("tests", {}).get("macro", {"low": 0.0, "high": 0.0})
        interval = f"{100 * r['gain']:+.1f} ({100 * macro['low']:.1f} to {100 * macro['high']:.1f})"
        methods = (STOCK, r["advice"])
        tail = "/".join(f"{100 * _score(r, m, 'tail'):.1f}" for m in methods)
        macros = [points(r["scores"][m]["macro"]).replace(" ", "") for m in methods]
        regret = f"{100 * r['regret']:.1f}" + (f" (`{r['best']}`)" if r["regret"] else "")
        found.append((r["corpus"], f"`{r['advice']}` ({r['folds']})", *macros, interval, tail, regret))
    head = ("corpus", "advice", "stock, macro", "advice, macro", "gain")
    return table((*head, "tail of both", "regret (best)"), found)


def in_short() -> str:
    """How often, and by how much, the advice was better."""
    own = read("advice")
    better = sum(r["gain"] > 0 for r in own)
    shown = sum(r.get("tests", {}).get("macro", {"low": 0.0})["low"] > 0 for r in own)
    worse = sum(r["gain"] < 0 for r in own) or "none"
    gain, regret = (100 * mean(r[name] for r in own) for name in ("gain", "regret"))
    return (
        f"better than stock on {better} of {len(own)} (shown on {shown}), worse on {worse}, "
        f"by {gain:.1f} points on average, with a mean regret of {regret:.1f}"
    )


def render() -> str:
    """The picture, as SVG."""
    own = [
        Row(r["corpus"], r["folds"], 100 * _score(r, STOCK), 100 * _score(r, r["advice"]))
        for r in read("advice")
    ]
    gain = mean(row.ours - row.stock for row in own)
    better = sum(row.ours > row.stock for row in own)
    said = (
        f"Macro F1 of what recommend advised within 20 minutes on {len(own)} corpora, beside stock "
        f"spaCy: {gain:.1f} points more on average, more on {better}."
    )
    title = "What recommend advised, and the folds it had"
    return draw(own, title, "what recommend advised, trained to the end", said, "macro F1 on test")
