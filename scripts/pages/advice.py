"""What `recommend` advised, beside stock spaCy: a sentence and a picture of its records."""

from statistics import mean

from dumbbells import Row, draw

from .records import read

STOCK = "ner"


def _score(record: dict, method: str) -> float:
    return mean(record["scores"][method])


def _name(record: dict) -> str:
    """Return the corpus as people write it, and which encoder was advised."""
    corpus = record["corpus"].removeprefix("crossner_").replace("ai", "AI")
    corpus = corpus.replace("gmb_subset", "GMB").replace("bionlp13cg", "BioNLP")
    mark = "*" if record["threads"] == 2 else ""
    return f"{corpus}, {'transformer' if 'trf' in record['advice'] else 'CNN'}{mark}"


CANDIDATES = {
    STOCK: "stock spaCy",
    "softmax-en_longtail_trf-described": "six layers",
    "softmax-en_longtail_trf_small-described": "three layers",
    "crf-pretrained-described-gazetteer": "our CNN",
    "crf": "CRF from scratch",
}
CORPORA = {
    "gmb_600": "GMB, 600 sentences",
    "crossner_music": "CrossNER music, 100",
    "nl_globalise": "Dutch archives (GLOBALISE), 400",
    "dimb_re": "diet and microbiome, 300",
    "legal_indian": "Indian court judgments, 300",
}


def within_30_minutes() -> list[tuple[str, ...]]:
    """Return a row for each corpus on which `recommend` had 30 minutes."""
    rows = []
    for r in read("advice_30"):
        held = (f"{100 * r['held_out'][name]:.1f}" for name in (r["advice"], STOCK))
        folds, regret = str(r["tried"][r["advice"]]), r.get("regret")
        rows.append(
            (
                CORPORA[r["corpus"]],
                str(len(r["tried"]) - 1),
                folds,
                CANDIDATES[r["advice"]],
                *held,
                "-" if regret is None else f"{100 * regret:.1f}",
            )
        )
    return rows


def in_short() -> str:
    """How often, and by how much, the advice was better."""
    own = read("advice")
    better = sum(r["gain"] > 0 for r in own)
    worse = sum(r["gain"] < 0 for r in own) or "none"
    gain, regret = (100 * mean(r[name] for r in own) for name in ("gain", "regret"))
    most = 100 * max(r["regret"] for r in own)
    return (
        f"better than stock in {better} of {len(own)} runs, worse in {worse}, by {gain:.1f} points on "
        f"average. Its regret is {regret:.1f} points on average, and {most:.1f} at most"
    )


def render() -> str:
    """The picture, as SVG."""
    own = [
        Row(_name(r), f"{100 * r['gain']:+.0f}", 100 * _score(r, STOCK), 100 * _score(r, r["advice"]))
        for r in read("advice")
    ]
    gain = mean(row.ours - row.stock for row in own)
    better = sum(row.ours > row.stock for row in own)
    said = (
        f"Macro F1 of what recommend advised within 20 minutes in {len(own)} runs, beside stock "
        f"spaCy: {gain:.1f} points more on average, more in {better}."
    )
    title = "Advised encoder and gain in points (* run with two threads)"
    return draw(own, title, "the advised config, trained to the end", said, "macro F1 on test")
