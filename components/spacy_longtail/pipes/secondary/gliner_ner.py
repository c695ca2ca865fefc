"""`longtail_gliner`: zero-shot NER by a model of the package `gliner`, which is told types in words."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import srsly
from spacy.language import Language
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.api import get_torch_default_device

from ...corpus.labels import check_label
from ...corpus.sentences import sentence_lengths
from ...errors import Errors
from ...scorers import NER_SCORE_WEIGHTS
from ...settings import extra, finite, whole
from ...types import Block
from ..base import EntityScorer, UntrainedPipe
from ..label_checks import check_known, check_types
from ..locks import Lock
from ..scores.merging import merge_spans
from ..scores.spans import ScoredSpan
from ..scores.thresholding import CALIBRATION, JUDGING, check_judging
from ..token.describing import describe_types

if TYPE_CHECKING:  # an extra
    from gliner.model import BaseEncoderGLiNER

WHO = "longtail_gliner"
OPEN = 1e-9, 1 - 1e-9  # what is above 0 and below 1
ENCODERS = {"model_name": "encoder_config", "labels_encoder": "labels_encoder_config"}

DEFAULTS: Block = {
    "labels": [],
    "descriptions": {},
    "threshold": 0.5,
    "batch_size": 8,
    "scores_key": None,
    **JUDGING,
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
    batch_size: int,
    scores_key: str | None,
    thresholds: dict[str, float] | None,
    abstain_key: str | None,
    scorer: Callable | None,
) -> "GLiNERNER":
    """NER by a GLiNER model, which was trained to find types that it is told in words, without training.

    The model is loaded when it is first needed (extra `gliner`). Entities that a document comes with
    stay, and those found beside them are added.

    model_name (str): A GLiNER model: its name on the Hugging Face hub, or its folder.
    labels (List[str]): Entity types; none takes those of `descriptions`.
    descriptions (Dict[str, str]): What the model is told, by type; a type without words, or with "", is
        told by its name: "GPE" as "country, state or nationality".
    threshold (float): Least score of an entity, above 0 and below 1, as the model gives it.
    batch_size (int): Texts that the encoder reads at once.
    scores_key (Optional[str]): Key in doc.spans for the entities with their scores; null for none.
    thresholds (Optional[Dict[str, float]]): Least score by type of what is found, after calibration;
        others keep all; null is none. The command `thresholds` finds them.
    abstain_key (Optional[str]): Key in doc.spans for entities below that of their type; null drops them.
    scorer (Optional[Callable]): The scoring function.
    SOURCE: Zaratiana et al. 2024, arXiv:2311.08526.
    """
    types = check_types("labels", labels, WHO) if labels else list(descriptions)
    check_known("thresholds", thresholds or (), types or thresholds or (), WHO)
    return GLiNERNER(
        nlp.vocab,
        name,
        scorer=scorer,
        model_name=model_name,
        types=describe_types(types, described(descriptions), types, WHO),
        threshold=finite("threshold", threshold, "above 0 and below 1", "Use 0.5.", *OPEN),
        batch_size=whole("batch_size", batch_size, "Use 8.", 1),
        scores_key=scores_key,
        **check_judging(thresholds, abstain_key, scores_key, WHO),
    )


class GLiNERNER(EntityScorer, UntrainedPipe):
    """Tells a GLiNER model the types in words; keeps the entities that a document comes with.

    Entity score: the model's own. Like a ruler it has no `update`, so that training passes over it.
    """

    def __init__(
        self, vocab: Vocab, name: str = WHO, *, scorer: Callable | None, **settings: object
    ) -> None:
        self.vocab = vocab
        self.name = name
        self.scorer = scorer
        self.cfg = {CALIBRATION: None, **settings}
        self._model: BaseEncoderGLiNER | None = None
        self._lock = Lock()  # a tokenizer cannot be used by two threads at once

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.cfg["types"])

    @property
    def gliner(self) -> "BaseEncoderGLiNER":
        """The model, loaded by its name where it is not there."""
        if self._model is None:
            self._model = load_gliner(self.cfg["model_name"])
        return self._model

    def add_label(self, label: str, description: str = "") -> int:
        """Add a type, or give a type other words.

        label (str): The entity type. description (str): It in words; "" is the words of its name, or of
            a type that is there already what it has.
        RETURNS (int): 0 if the type was there already, else 1.
        """
        check_label(label)
        known = self.cfg["types"]
        types = [*known, *({label} - known.keys())]
        given = {**known, **described({label: description})}
        self.cfg["types"] = describe_types(types, given, types, self.name)
        return int(label not in known)

    def predict(self, docs: Iterable[Doc]) -> list[list[ScoredSpan]]:
        """The entities of each document, with their scores."""
        docs = list(docs)
        if not self.labels:
            raise ValueError(Errors.L298.format(who=self.name))
        if not any(map(len, docs)):
            return [[] for _ in docs]
        import torch

        label_of = {words: label for label, words in self.cfg["types"].items()}
        # half of what it reads: its words are smaller than spaCy's tokens
        most = max(self.gliner.config.max_len // 2, 1)
        parts = [(i, doc[a:b]) for i, doc in enumerate(docs) for a, b in whole_sentences(doc, most)]
        with self._lock, torch.random.fork_rng(devices=[]):  # the package draws a seed
            texts = [readable(part.text, self.gliner) for _, part in parts]
            read = [k for k, text in enumerate(texts) if text.strip()]
            rows = self.gliner.inference(
                [texts[k] for k in read],
                list(label_of),
                threshold=self.cfg["threshold"],
                batch_size=self.cfg["batch_size"],
            )
        found: list[list[ScoredSpan]] = [[] for _ in docs]
        for k, row in zip(read, rows, strict=True):
            i, part = parts[k]
            for entity in row:
                span = part.char_span(entity["start"], entity["end"], alignment_mode="expand")
                crosses = any(token.is_sent_start for token in span[1:])
                if not crosses and all(token.ent_iob in (0, 2) for token in span):
                    own = label_of[entity["label"]], entity["score"], ()
                    found[i].append(ScoredSpan(span.start, span.end, *own))
        return [merge_spans(own) for own in found]


def described(given: dict[str, str]) -> dict[str, str]:
    return {label: text for label, text in given.items() if text}


def load_gliner(name: str) -> "BaseEncoderGLiNER":
    """A model for prediction. name (str): Its folder, or its name on the Hugging Face hub."""
    with extra("gliner", "gliner"):
        from gliner import GLiNER
        from huggingface_hub import snapshot_download
    try:
        folder = Path(name) if Path(name).exists() else Path(snapshot_download(name))
        if has_code(folder / "gliner_config.json"):
            raise ValueError("its config has an auto_map, which would run code of its own")
        device = str(get_torch_default_device())
        return GLiNER.from_pretrained(str(folder), map_location=device).eval()
    except Exception as error:  # of the hub, json, transformers, torch: each its own kind
        problem = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(Errors.L296.format(path=name, problem=problem[:300].rstrip(" ."))) from error


def has_code(path: Path) -> bool:
    """Whether a config, or that of an encoder that is looked up, would run code of its own."""
    from transformers import AutoConfig

    config, text = srsly.read_json(path), path.read_text(encoding="utf8")
    names = [config.get(name) for name, own in ENCODERS.items() if not config.get(own)]
    looked_up = [AutoConfig.from_pretrained(name, trust_remote_code=False) for name in names if name]
    return '"auto_map"' in text or any(getattr(own, "auto_map", None) for own in looked_up)


def whole_sentences(doc: Doc, most: int) -> Iterator[tuple[int, int]]:
    """Bounds of parts of as many whole sentences as `most` tokens hold. A longer sentence is cut."""
    start = end = 0
    for length in sentence_lengths(doc).tolist():
        if start < end and end + length - start > most:
            yield start, end
            start = end
        end += length
        while end - start > most:
            yield start, start + most
            start += most
    if start < end:
        yield start, end


def readable(text: str, gliner: "BaseEncoderGLiNER") -> str:
    """The text with spaces for words that the tokenizer makes nothing of, such as a zero-width space.

    The package counts words by their subwords, and would move all entities behind such a word by one.
    """
    tokenizer = gliner.data_processor.transformer_tokenizer
    for word, start, end in list(gliner.data_processor.words_splitter(text)):
        if not word.isascii():
            subwords = tokenizer([[word]], is_split_into_words=True, add_special_tokens=False)
            if not subwords["input_ids"][0]:
                text = text[:start] + " " * (end - start) + text[end:]
    return text
