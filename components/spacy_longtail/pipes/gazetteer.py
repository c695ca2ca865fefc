"""`longtail_gazetteer`: does not forget a name that training has read."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import srsly
from spacy import util
from spacy.language import Language
from spacy.pipeline.pipe import deserialize_config
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import filter_spans, logger
from spacy.vocab import Vocab

from ..corpus.gazetteer import Gazetteer, Reliability, phrase_matcher, read_gazetteer
from ..errors import Errors
from ..scorers import NER_SCORE_WEIGHTS
from ..settings import finite
from ..types import ENTITY_SCORES, Block
from .base import UntrainedPipe
from .label_checks import check_labels, check_mentioned, check_types
from .scores.merging import remove_from
from .scores.spans import ScoredSpan, blocked_tokens, write_entities, write_scores

WHO = "longtail_gazetteer"

DEFAULTS: Block = {
    "labels": None,
    "min_precision": 0.0,
    "overwrite_ents": True,
    "scores_key": ENTITY_SCORES,
    "scorer": {"@scorers": "longtail.ner_scorer.v1"},
}


@Language.factory(
    WHO,
    assigns=["doc.ents", "token.ent_iob", "token.ent_type"],
    default_config=DEFAULTS,
    default_score_weights=NER_SCORE_WEIGHTS,
)
def make_gazetteer(
    nlp: Language,
    name: str,
    labels: list[str] | None,
    min_precision: float,
    overwrite_ents: bool,
    scores_key: str | None,
    scorer: Callable | None,
) -> "TrainingGazetteer":
    """A gazetteer of the training data, after an NER: names that were of one type wherever they stood.

    labels (Optional[List[str]]): Types whose names are kept: `${longtail.tail}` for the rare ones, of
        which there may be none; null is all.
    min_precision (float): Types whose names are less often right than this in documents that they were
        not taken from are left out; 0 keeps all, 1 none.
    overwrite_ents (bool): Whether a name takes the place of entities that it overlaps; one that holds it
        and is longer stays. false adds names where no entity is.
    scores_key (Optional[str]): Key in doc.spans for the entities with their scores; null for none, and
        then what the components before it have written there stays as it is.
    scorer (Optional[Callable]): The scoring function.
    """
    share = "a share of names, 0 to 1"
    return TrainingGazetteer(
        nlp.vocab,
        name,
        scorer=scorer,
        labels=check_types("labels", labels, WHO) if labels else labels,
        min_precision=finite("min_precision", min_precision, share, "0 keeps all.", 0.0, 1.0),
        overwrite_ents=overwrite_ents,
        scores_key=scores_key,
    )


class TrainingGazetteer(UntrainedPipe):
    """Finds the names that training has read, beside and over what the NER before it has found.

    Entity score: how often names of the type are right in documents that they were not taken from, by
    the rule of succession. There is nothing to train: like a ruler it has no `update`.
    """

    def __init__(
        self, vocab: Vocab, name: str = WHO, *, scorer: Callable | None = None, **settings: object
    ) -> None:
        self.vocab = vocab
        self.name = name
        self.scorer = scorer
        own = {setting: value for setting, value in DEFAULTS.items() if setting != "scorer"}
        self.cfg: Block = {**own, **settings}
        self._keep(Gazetteer({}, {}))

    def _keep(self, gazetteer: Gazetteer) -> None:
        self.gazetteer = gazetteer
        self._matcher = phrase_matcher(self.vocab, gazetteer.names)

    @property
    def labels(self) -> tuple[str, ...]:
        """The types that have names."""
        return tuple(self.gazetteer.names)

    def add_label(self, label: str) -> int:
        """A type comes with its names. RETURNS (int): 0 for one with some."""
        if label not in self.labels:
            raise ValueError(
                Errors.L206.format(who=self.name, label=label, source="the names in the training data")
            )
        return 0

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: list[str] | None = None,
        counts_corpus: Callable | None = None,
    ) -> None:
        """Read the names of the training data, and how far they can be relied on.

        get_examples (Callable): The training examples.
        nlp (Optional[Language]): The current pipeline.
        labels (Optional[List[str]]): What `init labels` wrote, which must be the types found here.
        counts_corpus (Optional[Callable]): A reader of the untouched training data; null reads the
            training examples.
        """
        seen = get_examples if counts_corpus is None else partial(counts_corpus, nlp)
        found = read_gazetteer(lambda: (eg.reference for eg in seen()), self.vocab)
        asked, least = self.cfg["labels"], self.cfg["min_precision"]
        check_mentioned("labels", asked or (), found.names, self.name)
        names = {t: own for t, own in found.names.items() if own and (asked is None or t in asked)}
        good = {label: found.reliability[label] for label in names}
        kept = {label: own for label, own in names.items() if good[label].precision >= least}
        check_labels(labels, kept, WHO)
        self._keep(Gazetteer(kept, {label: good[label] for label in kept}))
        shown = "; ".join(
            _shown(label, len(own), good[label], label in kept) for label, own in names.items()
        )
        logger.info("%s: %s", self.name, shown or "no names")

    def predict(self, docs: Iterable[Doc]) -> list[list[ScoredSpan]]:
        """The names in each document: of those that share words the longest, the first of equals."""
        found = []
        for doc in docs:
            spans = filter_spans(self._matcher(doc, as_spans=True)) if self.labels else []
            found.append([self._scored(span) for span in spans])
        return found

    def _scored(self, span: Span) -> ScoredSpan:
        score = self.gazetteer.reliability[span.label_].precision
        return ScoredSpan(span.start, span.end, span.label_, score, (score,) * len(span))

    def set_annotations(self, docs: Iterable[Doc], scores: list[list[ScoredSpan]]) -> None:
        """Write the names into doc.ents, and their scores where scores_key is set."""
        key = self.cfg["scores_key"]
        for doc, found in zip(docs, scores, strict=True):
            blocked = set(blocked_tokens(doc)) if found else set()
            ents = doc.ents if found else ()
            starts, ends = [ent.start for ent in ents], [ent.end for ent in ents]
            new: list[ScoredSpan] = []
            going: list[Span] = []
            for name in found:
                others = ents[bisect_right(ends, name.start) : bisect_left(starts, name.end)]
                if blocked.isdisjoint(range(name.start, name.end)) and self._wins(name, others):
                    new.append(name)
                    going.extend(others)
            if new:
                remove_from(doc, going, key)
                write_entities(doc, new, key)
            elif key is not None and key not in doc.spans:
                write_scores(doc, key, [])

    def _wins(self, name: ScoredSpan, others: Sequence[Span]) -> bool:
        """Whether a name stands in place of the entities that it overlaps."""
        if not others:
            return True
        first = others[0]  # if it holds the name, there is no other
        holds_it = first.start <= name.start and first.end >= name.end
        is_more = holds_it and (len(first) > name.end - name.start or first.label_ == name.label)
        return self.cfg["overwrite_ents"] and not is_more

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """exclude (Iterable[str]): Of "cfg" and "names". RETURNS (bytes): Settings and names."""
        parts = {
            "cfg": lambda: srsly.json_dumps(self.cfg),
            "names": lambda: srsly.json_dumps(self._table()),
        }
        return util.to_bytes(parts, exclude)

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> "TrainingGazetteer":
        """bytes_data (bytes): What `to_bytes` gave."""
        readers = {
            "cfg": lambda data: self.cfg.update(srsly.json_loads(data)),
            "names": lambda data: self._read(srsly.json_loads(data)),
        }
        util.from_bytes(bytes_data, readers, exclude)
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """path (Union[str, Path]): The folder. exclude (Iterable[str]): Of "cfg" and "names"."""
        writers = {
            "cfg": lambda p: srsly.write_json(p, self.cfg),
            "names": lambda p: srsly.write_json(p, self._table()),
        }
        util.to_disk(path, writers, exclude)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "TrainingGazetteer":
        """path (Union[str, Path]): What `to_disk` wrote."""
        readers = {
            "cfg": lambda p: self.cfg.update(deserialize_config(p)),
            "names": lambda p: self._read(srsly.read_json(p)),
        }
        util.from_disk(path, readers, exclude)
        return self

    def _table(self) -> Block:
        names, reliability = self.gazetteer
        return {label: {"names": own, **reliability[label]._asdict()} for label, own in names.items()}

    def _read(self, table: Block) -> None:
        try:
            names = {label: [tuple(words) for words in own["names"]] for label, own in table.items()}
            known = {label: Reliability(own["right"], own["n"]) for label, own in table.items()}
            self._keep(Gazetteer(names, known))
        except (AttributeError, KeyError, TypeError) as error:
            problem = f"{type(error).__name__}: {error}"
            raise ValueError(Errors.L552.format(who=self.name, problem=problem)) from error


def _shown(label: str, n: int, found: Reliability, is_kept: bool) -> str:
    end = "" if is_kept else ", left out"
    return f"{label} {n:,} names, {found.right:,} of {found.n:,} right in other documents{end}"
