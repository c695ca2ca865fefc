"""`longtail_gliner`: zero-shot NER by a model of the package `gliner`, with label descriptions."""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import get_torch_default_device

from ..corpus.labels import check_label
from ..errors import Errors
from ..extras import extra, require
from ..hub import no_model_code
from ..sentences import sentence_bounds
from ..settings import finite
from .base import UntrainedPipe, factory
from .label_checks import check_known, check_types
from .saved import SavedCurves
from .scores.merging import merge_spans
from .scores.spans import ScoredSpan
from .scores.thresholding import CALIBRATION, check_judging, write_judged
from .token.describing import describe_types

WHO = "longtail_gliner"
_reading = Lock()  # a tokenizer cannot be used by two threads at once, nor torch's generator


class GLiNERNER(UntrainedPipe):
    """NER by a GLiNER model, which finds types by their descriptions, untrained (extra `gliner`).

    Like a ruler it has no `update`: training passes over it. Its scores are the model's own.

    Entities that a document comes with stay, and those found beside them are added.

    model_name (str): A GLiNER model: its name on the Hugging Face hub, or its folder.
    labels (List[str]): Entity types.
    descriptions (Dict[str, str]): Descriptions that the model reads, by type; by default its name.
    threshold (float): Minimum score of the model for an entity, above 0 and below 1.
    scores_key, thresholds, abstain_key: As for longtail_ner.
    scorer (Optional[Callable]): The scoring function.
    SOURCE: Zaratiana et al. 2024, arXiv:2311.08526.
    """

    learnt: ClassVar = {"types": dict[str, str], CALIBRATION: SavedCurves}
    required = ("model_name", "types")

    def __init__(
        self,
        nlp: Language,
        name: str,
        model_name: str,
        labels: list[str],
        descriptions: dict[str, str] = {},  # noqa: B006
        threshold: float = 0.5,
        scores_key: str | None = None,
        thresholds: dict[str, float] | None = None,
        abstain_key: str | None = None,
        scorer: Callable | None = None,
    ) -> None:
        require("gliner", "gliner")
        types = check_types("labels", labels, WHO)
        given = {label: text for label, text in descriptions.items() if text}
        check_known("descriptions", given, types, WHO)
        check_known("thresholds", thresholds or (), types, WHO)
        super().__init__(
            nlp.vocab,
            name,
            scorer,
            calibration=None,
            model_name=model_name,
            types=describe_types(types, given, WHO),
            threshold=finite("threshold", threshold, "above 0 and below 1", "", 1e-9, 1 - 1e-9),
            **check_judging(thresholds, abstain_key, scores_key, WHO),
        )

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.cfg["types"])

    @cached_property
    def gliner(self) -> Any:
        """Return the model of the package `gliner`, which is loaded at the first call."""
        return load_gliner(self.cfg["model_name"])

    def restart(self) -> None:
        """Forget the loaded model, because the settings may name another one."""
        self.__dict__.pop("gliner", None)

    def add_label(self, label: str, description: str = "") -> int:
        """Add a type.

        label (str): The type.
        description (str): Description that the model reads; "" is the words of the type's name.

        RETURNS (int): 0 if the type was there already, else 1.
        """
        known, types = self.cfg["types"], dict.fromkeys([*self.cfg["types"], check_label(label)])
        given = {**known, label: description} if description else known
        self.cfg["types"] = describe_types(types, given, self.name)
        return int(label not in known)

    def predict(self, docs: Iterable[Doc]) -> list[list[ScoredSpan]]:
        with extra("", "gliner"):
            import torch
        docs = list(docs)
        label_of = {words: label for label, words in self.cfg["types"].items()}
        # half of what it reads: its words are smaller than spaCy's tokens
        max_tokens = max(self.gliner.config.max_len // 2, 1)
        parts = [
            (i, doc[start:end])
            for i, doc in enumerate(docs)
            for start, end in sentence_parts(doc, max_tokens)
        ]
        texts = {k: part.text for k, (_, part) in enumerate(parts) if part.text.strip()}
        threshold = self.cfg["threshold"]
        with _reading, torch.random.fork_rng(devices=[]):  # the package draws a seed
            rows = self.gliner.inference([*texts.values()], list(label_of), threshold=threshold)
        spans: list[list[ScoredSpan]] = [[] for _ in docs]
        for k, row in zip(texts, rows, strict=True):
            i, part = parts[k]
            for ent in row:
                span = part.char_span(ent["start"], ent["end"], alignment_mode="expand")
                crosses = any(token.is_sent_start for token in span[1:])
                if not crosses and all(token.ent_iob in (0, 2) for token in span):
                    label = label_of[ent["label"]]
                    spans[i].append(ScoredSpan(span.start, span.end, label, ent["score"], ()))
        return [*map(merge_spans, spans)]

    def candidates(self, docs: list[Doc]) -> list[list[ScoredSpan]]:
        """Return the entities of each document before calibration and thresholds."""
        return self.predict(docs)

    def set_annotations(self, docs: Iterable[Doc], scores: list[list[ScoredSpan]]) -> None:
        """Add the entities that pass their thresholds, and their scores if scores_key is set."""
        write_judged(docs, scores, self.cfg, self.name)


def load_gliner(name: str) -> Any:
    """Load a GLiNER model for prediction, without running code of its own.

    name (str): Its folder, or its name on the Hugging Face hub.
    RETURNS (GLiNER): The model of the package `gliner`, in evaluation mode.
    RAISES (ValueError): If the extra is missing, or the model cannot be loaded.
    """
    with extra("gliner", "gliner"):
        from gliner import GLiNER
        from huggingface_hub import snapshot_download

    device = str(get_torch_default_device())
    try:
        folder = Path(name) if Path(name).exists() else Path(snapshot_download(name))
        if "auto_map" in (folder / "gliner_config.json").read_text(encoding="utf8"):
            raise ValueError("its gliner_config.json has an auto_map, which would run code of its own")
        with no_model_code():  # the package trusts every encoder, decoder and tokenizer
            return GLiNER.from_pretrained(str(folder), map_location=device).eval()
    except Exception as error:  # of the hub, json, transformers, torch: each its own kind
        problem = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(Errors.L296.format(path=name, problem=problem[:300].rstrip(" ."))) from error


def sentence_parts(doc: Doc, max_tokens: int) -> Iterator[tuple[int, int]]:
    """Yield the first token, and the one after the last, of each sentence or part of one.

    doc (Doc): The document.
    max_tokens (int): Maximum number of tokens of a part.
    """
    for start, end in sentence_bounds(doc):
        for part in range(start, end, max_tokens):
            yield part, min(part + max_tokens, end)


make_gliner_ner = factory(WHO, "ner")(GLiNERNER)
