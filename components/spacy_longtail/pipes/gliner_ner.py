"""`longtail_gliner`: zero-shot NER by GLiNER, which is told the types in words."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
import srsly
from spacy import util
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import logger
from spacy.vocab import Vocab

from ..corpus.counts import count_docs
from ..corpus.labels import check_label
from ..corpus.type_words import in_words, problem_of_texts
from ..errors import Errors, Warnings
from ..scorers import NER_SCORE_WEIGHTS
from ..settings import finite, whole
from ..types import Block
from .base import EntityScorer, UntrainedPipe
from .gliner_model import GLiNERModel
from .label_checks import check_known, check_labels, check_types
from .merging import Merging
from .pipeline_checks import check_secondary
from .scores import ScoredSpan
from .thresholding import CALIBRATION, JUDGING, check_judging
from .weak_sentences import flagged_parts
from .windows import Found, Limits, on_doc, own_entities, windows_of

WHO = "longtail_gliner"
OPEN = np.nextafter(0, 1), np.nextafter(1, 0)  # what is above 0 and below 1

DEFAULTS: Block = {
    "labels": [],
    "descriptions": {},
    "threshold": 0.5,
    "max_words": None,
    "batch_size": 8,
    "spans_key": None,
    "scores_key": None,
    **JUDGING,
    "save_weights": True,
    "scorer": {"@scorers": "longtail.ner_scorer.v1"},
}


@Language.factory(
    WHO,
    assigns=["doc.ents", "token.ent_iob", "token.ent_type"],
    default_config=DEFAULTS,
    default_score_weights=NER_SCORE_WEIGHTS,
)
def make_gliner_ner(
    nlp: Language,
    name: str,
    model_name: str,
    labels: list[str],
    descriptions: dict[str, str],
    threshold: float,
    max_words: int | None,
    batch_size: int,
    spans_key: str | None,
    scores_key: str | None,
    thresholds: dict[str, float] | None,
    abstain_key: str | None,
    save_weights: bool,
    scorer: Callable | None,
) -> "GLiNERNER":
    """NER by a GLiNER model, which was trained to find types that it is told in words, without training.

    The model is loaded when it is first needed (extra `gliner`). Entities that a document comes with
    stay, and those found beside them are added.

    model_name (str): A GLiNER model: its name on the Hugging Face hub, or its folder.
    labels (List[str]): Entity types; none takes those of `descriptions`, else those of the data that the
        pipeline is initialized on.
    descriptions (Dict[str, str]): What the model is told, by type; a type without words, or with "", is
        told by its name: "GPE" as "country, state or nationality".
    threshold (float): Least score of an entity, above 0 and below 1, as the model gives it: what is
        below is not found, whatever `thresholds` say.
    max_words (Optional[int]): Words that the model reads at once; null is as many as it can.
    batch_size (int): Windows that the encoder reads at once.
    spans_key (Optional[str]): Key in doc.spans with the only sentences to look at, as a gate flags them;
        null is all.
    scores_key (Optional[str]): Key in doc.spans for the entities with their scores; null for none.
    thresholds (Optional[Dict[str, float]]): Least score by type of what is found, after calibration;
        others keep all; null is none. The command `thresholds` finds them.
    abstain_key (Optional[str]): Key in doc.spans for entities below that of their type; null drops them.
    save_weights (bool): Whether the model is saved with the pipeline, which then loads without a network
        and without `model_name`; else the name alone is.
    scorer (Optional[Callable]): The scoring function.
    RAISES (ValueError): L001, L203, L204, L213, L251, L257, L297.
    SOURCE: Zaratiana et al. 2024, arXiv:2311.08526.
    """
    if not model_name.strip():
        rule, fix = "a name or a folder", "Use urchade/gliner_medium-v2.1."
        raise ValueError(Errors.L001.format(name="model_name", rule=rule, value=model_name, fix=fix))
    types = check_types("labels", labels, WHO) if labels else list(descriptions)
    check_known("descriptions", descriptions, types, WHO)
    check_known("thresholds", thresholds or (), types or thresholds or (), WHO)
    least = finite("threshold", threshold, "above 0 and below 1", "Use 0.5.", *OPEN)
    return GLiNERNER(
        nlp.vocab,
        name,
        scorer=scorer,
        model_name=model_name,
        types=type_words(types, descriptions, WHO),
        threshold=least,
        max_words=None if max_words is None else whole("max_words", max_words, "Use null.", 1),
        batch_size=whole("batch_size", batch_size, "Use 8.", 1),
        spans_key=spans_key,
        scores_key=scores_key,
        **check_judging(thresholds, abstain_key, scores_key, WHO, spans_key=spans_key),
        save_weights=save_weights,
    )


def type_words(types: Iterable[str], given: Mapping[str, str], who: str) -> dict[str, str]:
    """What a model is told of each type: what is given, else the words of its name.

    RAISES (ValueError): L297 for blank words, and for the same words of two types.
    """
    words = in_words(dict.fromkeys(types), {label: text for label, text in given.items() if text})
    found = {label: " ".join(text.split()) for label, text in words.items()}
    if problem := problem_of_texts(found):
        raise ValueError(Errors.L297.format(who=who, problem=problem))
    return found


class GLiNERNER(EntityScorer, UntrainedPipe):
    """Tells a GLiNER model the types in words; keeps the entities that a document comes with.

    Entity score: the model's own, the sigmoid of how well a span and a type go together. There is
    nothing to train: like a ruler it has no `update`, so that training passes over it. It can stand in a
    pipeline that is trained, and adds entities at each evaluation.
    """

    def __init__(
        self, vocab: Vocab, name: str = WHO, *, scorer: Callable | None, **settings: object
    ) -> None:
        self.vocab = vocab
        self.name = name
        self.scorer = scorer
        self.cfg = {CALIBRATION: None, **settings}
        self._model: GLiNERModel | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.cfg["types"])

    @property
    def gliner(self) -> GLiNERModel:
        """The model, loaded by its name where it is not there. RAISES (ValueError): L295, L296, L406."""
        if self._model is None:
            self._model = GLiNERModel.of(self.cfg["model_name"], self.name)
        return self._model

    def add_label(self, label: str, description: str = "") -> int:
        """Add a type, or give a type other words.

        label (str): The entity type. description (str): It in words; "" is the words of its name, or of
            a type that is there already what it has.
        RETURNS (int): 0 if the type was there already, else 1.
        RAISES (ValueError): L297; L550 for what cannot be a type.
        """
        check_label(label)
        known = self.cfg["types"]
        words = description or known.get(label, "")
        self.cfg["types"] = type_words([*known, label], {**known, label: words}, self.name)
        return int(label not in known)

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: list[str] | None = None,
    ) -> None:
        """Load the model, and take the types of the data where none are named.

        get_examples (Callable): The training examples.
        nlp (Optional[Language]): The current pipeline.
        labels (Optional[List[str]]): What `init labels` wrote; must be the pipe's own types where it
            has any.
        RAISES (ValueError): L203, L210, L212, L250, L295 to L299, L406.
        """
        seen = count_docs(eg.reference for eg in get_examples()).labels
        if self.labels:
            check_labels(labels, self.labels, WHO)
            unseen = [label for label in self.labels if label not in seen]
            if seen and unseen:  # `spacy assemble` shows no data
                text = Warnings.W065.format(who=self.name, unseen=", ".join(unseen))
                warnings.warn(text, stacklevel=2)
        else:
            found = labels or seen
            if not found:
                raise ValueError(Errors.L298.format(who=self.name))
            check_known("thresholds", self.cfg["thresholds"] or (), found, self.name)
            self.cfg["types"] = type_words(found, {}, self.name)
        if nlp is not None and self.cfg["spans_key"] is not None:
            merging = Merging("fill", "keep", self.cfg["scores_key"])
            check_secondary(nlp, self, self.labels, self.cfg["spans_key"], merging, self.name)
        self.cfg[CALIBRATION] = None
        shown = "; ".join(f"{label}: {words}" for label, words in self.cfg["types"].items())
        logger.info("%s looks for %s", self.name, shown)
        self._limits()

    def _limits(self) -> Limits:
        return self.gliner.limits(self.cfg["types"].values(), self.cfg["max_words"])

    def predict(self, docs: Iterable[Doc]) -> list[list[ScoredSpan]]:
        """The entities of each document, with their scores.

        RAISES (ValueError): L254, L295, L296, L298, L299, L406.
        """
        docs = list(docs)
        if not self.labels:
            raise ValueError(Errors.L298.format(who=self.name))
        parts = [flagged_parts(doc, self.cfg["spans_key"], self.name) for doc in docs]
        found: list[list[Found]] = [[] for _ in docs]
        at = [i for i, own in enumerate(parts) if own]
        if not at:
            return [[] for _ in docs]
        limits, model = self._limits(), self.gliner
        words = model.words([docs[i].text for i in at])
        read = [
            (i, own, window)
            for i, own in zip(at, words, strict=True)
            for window in windows_of(docs[i], own, parts[i], limits)
        ]
        texts = [own.text[own.starts[w.start] : own.ends[w.end - 1]] for _, own, w in read]
        rows = model.read(texts, self.cfg["types"], self.cfg["threshold"], self.cfg["batch_size"])
        for (i, own, window), row in zip(read, rows, strict=True):
            found[i].extend(own_entities(row, own, window))
        return [on_doc(doc, own) for doc, own in zip(docs, found, strict=True)]

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """path (Union[str, Path]): The folder. exclude (Iterable[str]): Of "cfg" and "model".

        RAISES (ValueError): L295, L296, L406 where the model was never needed so far.
        """
        writers: dict[str, Callable] = {"cfg": lambda p: srsly.write_json(p, self.cfg)}
        if self.cfg["save_weights"]:
            writers["model"] = lambda p: self.gliner.to_disk(p)
        util.to_disk(util.ensure_path(path), writers, exclude)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "GLiNERNER":
        """path (Union[str, Path]): The folder. exclude (Iterable[str]): Of "cfg" and "model".

        RAISES (ValueError): L296, L406.
        """
        readers: dict[str, Callable] = {
            "cfg": lambda p: self.cfg.update(srsly.read_json(p)),
            "model": self._read_model,
        }
        util.from_disk(util.ensure_path(path), readers, exclude)
        return self

    def _read_model(self, path: Path) -> None:
        self._model = None
        if self.cfg["save_weights"]:
            self._model = GLiNERModel.from_disk(path, self.name, is_complete=True)

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """exclude (Iterable[str]): Of "cfg" and "model". RAISES (ValueError): As `to_disk`."""
        writers: dict[str, Callable] = {"cfg": lambda: srsly.json_dumps(self.cfg)}
        if self.cfg["save_weights"]:
            writers["model"] = lambda: self.gliner.to_bytes()
        return util.to_bytes(writers, exclude)

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "GLiNERNER":
        """data (bytes): What `to_bytes` gave. exclude (Iterable[str]): Of "cfg" and "model".

        RAISES (ValueError): L296, L406.
        """

        def read_model(model: bytes) -> None:
            self._model = GLiNERModel.from_bytes(model, self.name)

        self._model = None
        readers: dict[str, Callable] = {
            "cfg": lambda cfg: self.cfg.update(srsly.json_loads(cfg)),
            "model": read_model,
        }
        util.from_bytes(data, readers, exclude)
        return self
