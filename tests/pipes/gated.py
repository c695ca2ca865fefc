"""A pipeline with a gate and a secondary that obey words in capitals, so that tests can predict.

ANN is a person to the primary. A sentence with FLAG is flagged. To the secondary, SHIP and what
stands behind it is a ship, STORM a storm; it raises at BAD.
"""

from pathlib import Path

import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span

import spacy_longtail.pipes.secondary.gated_pipe  # noqa: F401  # registers the factory
from spacy_longtail.pipes.scores.spans import ScoredSpan, write_scores

TEXT = "ANN saw a SHIP Fram . FLAG ANN on SHIP Vega . FLAG the STORM came . It rained ."


@Language.factory("test_primary", assigns=["doc.ents"], default_config={"scores_key": None})
class Primary:
    def __init__(self, nlp: Language, name: str, scores_key: str | None) -> None:
        self.cfg = {"scores_key": scores_key}

    def __call__(self, doc: Doc) -> Doc:
        doc.ents = [Span(doc, t.i, t.i + 1, label="PER") for t in doc if t.text == "ANN"]
        if self.cfg["scores_key"]:
            found = [ScoredSpan(e.start, e.end, e.label_, 0.5, (0.5,)) for e in doc.ents]
            write_scores(doc, self.cfg["scores_key"], found)
        return doc


@Language.factory("test_gate", assigns=["doc.spans"])
class Gate:
    def __init__(self, nlp: Language, name: str) -> None:
        self.cfg = {"spans_key": "weak_sentences"}

    def __call__(self, doc: Doc) -> Doc:
        doc.spans["weak_sentences"] = [s for s in doc.sents if any(t.text == "FLAG" for t in s)]
        return doc


@Language.factory(
    "test_secondary",
    assigns=["doc.ents"],
    default_config={"log": None, "scores_key": None, "score": 0.9, "covers": []},
)
class Reader:
    """log (Optional[str]): File that gets a line a sentence. covers (List[str]): Further words."""

    def __init__(self, nlp, name, log: str | None, scores_key: str | None, score: float, covers: list):
        self.log, self.key, self.score, self.covers = log, scores_key, score, covers

    def __call__(self, doc: Doc) -> Doc:
        if self.log:
            with Path(self.log).open("a", encoding="utf8") as file:
                file.write(doc.text.replace("\n", "~") + "\n")
        assert not doc.ents  # what the primary found is not shown
        ents = []
        for token in doc:
            if token.text == "BAD":
                raise ConnectionError(f"cannot read {doc.text!r}")
            if token.text == "SHIP":
                ents.append(Span(doc, token.i, min(token.i + 2, len(doc)), label="VESSEL"))
            elif token.text == "STORM" or (token.text in self.covers and token.i):
                ents.append(Span(doc, token.i, token.i + 1, label="NAT"))
        doc.ents = spacy.util.filter_spans(ents)
        if self.key:
            found = [ScoredSpan(e.start, e.end, e.label_, self.score, ()) for e in doc.ents]
            write_scores(doc, self.key, found)
        return doc


def pipeline(primary: dict | None = None, **settings: object) -> Language:
    """settings (object): Of the gated pipe; `pipe` is put over the test's secondary."""
    nlp = spacy.blank("en")
    nlp.tokenizer = spacy.tokenizer.Tokenizer(nlp.vocab)  # at spaces
    nlp.add_pipe("test_primary", name="ner", config=primary or {})
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("test_gate", name="gate")
    if "source" not in settings:
        settings["pipe"] = {"factory": "test_secondary", **settings.get("pipe", {})}
    nlp.add_pipe("longtail_gated_pipe", name="rescue", config=settings)
    return nlp


def lines(log: Path) -> list[str]:
    return sorted(log.read_text(encoding="utf8").splitlines()) if log.exists() else []


@Language.component("test_open_gate", assigns=["doc.spans"])
def open_gate(doc):
    """Opens for the whole document."""
    doc.spans["weak_sentences"] = [doc[:]]
    return doc


@Language.factory("test_ruler", assigns=["doc.ents"], default_config={"word": "rained"})
def make_ruler(nlp, name, word: str):
    """A component of somebody's own, which may leave scores, as far as one can tell."""

    def rule(doc):
        doc.ents = [Span(doc, t.i, t.i + 1, label="NAT") for t in doc if t.text == word]
        return doc

    return rule
