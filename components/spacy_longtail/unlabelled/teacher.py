"""Teacher: a pipeline that annotates a pool of text with its confidence."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, Span
from thinc.types import Floats1d, Floats2d

from ..corpus.cutting import words_and_spaces
from ..errors import Errors
from ..pipes.gliner_ner import GLiNERNER
from ..pipes.scores.probabilities import SETTING, read_probabilities
from ..pipes.scores.spans import read_scores, scored_spans
from ..pipes.token.ensemble_ner import EnsembleNER
from ..pipes.token.ner import TokenNER
from ..pipes.token.tagging import TokenTagger
from ..training.loading import entity_pipes, only_tagger, taggers_of, types_read_by
from ..types import ENTITY_SCORES
from .known import KnownSentences, new_sentences
from .pseudo_labels import PredictedMention, PredictedSentence, Selection
from .units import PassCounts, entities_in

DOUBTS = "teacher_doubts"  # doc.spans key of entities below the teacher's own thresholds


@dataclass
class TeachingPass(PassCounts):
    """Counts of a pass over a pool. Known sentences are those in the gold corpus."""

    scored: int = 0  # mentions with a score
    unscored: Counter[str] = field(default_factory=Counter)  # mentions without one, by type


class PoolTeacher:
    """Pipeline that annotates a pool. It is set up to write its scores and probabilities.

    nlp (Language): The pipeline; settings of its components are changed in place.
    path (Path | str): Its name or folder, for errors.
    labels (Sequence[str]): Types of the corpus.
    RAISES (ValueError): If it gives no scores, or predicts none of the types.
    """

    def __init__(self, nlp: Language, path: Path | str, labels: Sequence[str]) -> None:
        self.nlp, self.labels = nlp, tuple(labels)
        self.doubts: list[str] = []  # keys of doc.spans with entities below its thresholds
        for _, pipe in nlp.pipeline:
            cfg = getattr(pipe, "cfg", {})
            if isinstance(pipe, TokenNER | EnsembleNER | GLiNERNER):
                cfg["scores_key"] = cfg["scores_key"] or ENTITY_SCORES
            if cfg.get("thresholds"):
                cfg["abstain_key"] = cfg.get("abstain_key") or DOUBTS
                self.doubts.append(cfg["abstain_key"])
        keys = [getattr(pipe, "cfg", {}).get("scores_key") for pipe in entity_pipes(nlp)]
        self.keys = list(dict.fromkeys(key for key in keys if key))  # keys of doc.spans with its scores
        self.taggers = taggers_of(nlp)
        for tagger in self.taggers:
            tagger.cfg[SETTING] = True
        known = types_read_by(nlp)
        self.lacking = [label for label in labels if label not in known]  # it cannot predict them
        if not self.keys:
            raise ValueError(
                Errors.L509.format(
                    path=path,
                    problem=f"none of its components ({', '.join(nlp.pipe_names)}) gives scores",
                    fix="Set scores_key = 'entity_scores' in one of this package that predicts "
                    "entities.",
                )
            )
        if len(self.lacking) == len(labels):
            predicted, wanted = ", ".join(known) or "none", ", ".join(labels)
            raise ValueError(
                Errors.L509.format(
                    path=path,
                    problem=f"it predicts {predicted}, but the corpus has {wanted}",
                    fix="Name a teacher that predicts some of these types.",
                )
            )

    @property
    def soft_tags(self) -> list[str]:
        """Columns of the soft targets: the teacher's tags of types of the corpus."""
        codec = soft_tagger(self.nlp).tokens.codec
        return [codec.tags[i] for i in np.flatnonzero(codec.columns(self.labels))]

    def read(
        self, doc: Doc, sentences: Iterable[Span], threshold: float, soft: bool
    ) -> Iterator[PredictedSentence]:
        """Yield sentences with their predictions. Entities across boundaries are not annotated.

        doc (Doc): Document that the pipeline has processed.
        sentences (Iterable[Span]): Sentences of the document.
        threshold (float): Minimum probability of O for tokens that are annotated as O.
        soft (bool): Whether to add the probabilities of all tags.
        """
        outside, log_p = self._marginals(doc, soft)
        scores = {place: s.score for key in self.keys for place, s in read_scores(doc, key).items()}
        entities = [(ent.start, ent.end) for ent in doc.ents if ent.label_ in self.labels]
        doubtful = [s.place[:2] for key in self.doubts for s in scored_spans(doc, key)]
        sure = outside >= threshold
        for start, end in entities + doubtful:
            sure[start:end] = False
        for sentence in sentences:
            a, b = sentence.start, sentence.end
            mentions = [
                PredictedMention(start, end, label, scores.get((a + start, a + end, label)))
                for start, end, label in entities_in(sentence)
                if label in self.labels
            ]
            own = None if log_p is None else log_p[a:b].copy()
            yield PredictedSentence(*words_and_spaces(sentence), mentions, sure[a:b].copy(), own)

    def _marginals(self, doc: Doc, soft: bool) -> tuple[Floats1d, Floats2d | None]:
        """Return the probability of O, and log probabilities of all tags if they are wanted.

        O means no entity of a type of the corpus. Where several components tag a token, the minimum
        of their probabilities counts.

        RETURNS (Tuple[Floats1d, Optional[Floats2d]]): Shapes (n_tokens,) and (n_tokens, n_tags).
        """
        outside, log_p = np.ones(len(doc)), None
        for tagger in self.taggers if len(doc) else ():
            _, p = read_probabilities(doc, tagger.name, tagger.name)
            declared = tagger.tokens.codec.columns(self.labels) > 0
            no_entity = p[:, 0] + p[:, ~declared].sum(axis=1)
            outside = np.minimum(outside, no_entity)
            if soft:
                with np.errstate(divide="ignore"):  # some tags are impossible
                    log_p = np.log(np.column_stack([no_entity, p[:, declared][:, 1:]])).astype("float16")
        return outside, log_p


def soft_tagger(nlp: Language) -> TokenTagger:
    """Return the component whose tag probabilities are soft targets.

    RAISES (ValueError): If the pipeline's entities do not come from a single such component.
    """
    tagger = only_tagger(nlp)
    if tagger is None:
        problem = f"{', '.join(nlp.pipe_names)} is not one longtail_token_ner with a softmax or CRF head"
        raise ValueError(Errors.L513.format(problem=problem, fix="Omit --soft."))
    return tagger


def annotate(
    teacher: PoolTeacher,
    docs: Iterable[Doc],
    known: KnownSentences,
    selection: Selection,
    soft: bool,
) -> TeachingPass:
    """Annotate the sentences of a pool with a teacher, and add them to a selection.

    teacher (PoolTeacher): The teacher.
    docs (Iterable[Doc]): Documents that its pipeline has processed.
    known (KnownSentences): Sentences of the gold corpus, which are skipped.
    selection (Selection): Selects the sentences to keep.
    soft (bool): Whether sentences keep the probabilities of all tags.
    RETURNS (TeachingPass): The counts.
    """
    seen = TeachingPass()
    for doc in docs:
        sentences = (sentence for _, sentence in new_sentences(doc, known, seen))
        for sentence in teacher.read(doc, sentences, selection.policy.threshold, soft):
            selection.add(sentence)
            without = [m.label for m in sentence.mentions if m.score is None]
            seen.unscored.update(without)
            seen.scored += len(sentence.mentions) - len(without)
    return seen
