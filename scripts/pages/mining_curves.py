"""What labels are worth by how sentences are chosen: a picture of the records of `mine --simulate`."""

from statistics import mean

from curves import Panel, Point, draw

from .records import read

STRATEGIES = ("mine", "entropy", "least_confidence", "random")
GATED = "configs/gated_token.cfg"
CORPORA = {"gmb_full": "GMB", "bionlp13cg": "BioNLP", "wnut17": "WNUT-17"}


def read_rounds() -> list[dict]:
    """The records of these strategies; a gate was played with a pipeline that has one."""
    return [r for r in read("mining_rounds") if r["config"] != GATED]


def render() -> str:
    """The picture, as SVG."""
    records = read_rounds()
    panels = []
    for corpus, name in CORPORA.items():
        own = [r for r in records if r["corpus"] == corpus]
        seeds = len({r["seed"] for r in own})
        curves = [_curve([r for r in own if r["strategy"] == s]) for s in STRATEGIES]
        panels.append(Panel(f"{name}, {seeds} seed{'s' * (seeds > 1)}", curves))
    first, last = ([curve[i].y for curve in panels[0].curves] for i in (0, -1))
    said = (
        f"Tail F1 by labels spent, mean over seeds. On GMB it goes from {first[0]:.1f} to {last[0]:.1f} "
        f"with mine, {last[1]:.1f} with entropy, {last[2]:.1f} with least confidence and {last[3]:.1f} "
        "at random."
    )
    names = [s.replace("_", " ") for s in STRATEGIES]
    return draw(panels, names, "What labels are worth", said, ("labels spent", "tail F1 on test"))


def _curve(rows: list[dict]) -> list[Point]:
    spent = sorted({r["round"] * r["labels"] for r in rows})
    tails = ([r["tail"] for r in rows if r["round"] * r["labels"] == n] for n in spent)
    return [Point(n, 100 * mean(own)) for n, own in zip(spent, tails, strict=True)]
