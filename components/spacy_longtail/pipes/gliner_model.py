"""A model of the package `gliner`: where it comes from, what it reads at once, and its files."""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import srsly
from thinc.api import get_torch_default_device
from thinc.types import Ints1d

from ..errors import Errors
from ..hub import problem_of
from ..settings import extra
from .locks import Lock
from .windows import Found, Limits, Words

if TYPE_CHECKING:  # an extra
    from gliner.model import BaseEncoderGLiNER

CONFIG = "gliner_config.json"
OTHER_FORMATS = ["*.onnx", "onnx/*", "*.msgpack", "*.h5", "*.ot"]  # of weights
UNLIMITED = 1_000_000  # pieces: tokenizers without a limit say a number beyond this
LEAST_ROOM = 16  # pieces for text beside the words for the types
# names of encoders, and their configs, which are looked up by the name where they are not there
ENCODERS = {"model_name": "encoder_config", "labels_encoder": "labels_encoder_config"}
# what a config says of a model that does something else than find entities of given types
OTHER_KINDS = {
    "labels_decoder": "it writes the types itself",
    "relations_layer": "it reads relations",
    "precomputed_prompts_mode": "its types are fixed",
}


class GLiNERModel:
    """A loaded model, for prediction alone.

    model (BaseEncoderGLiNER): The package's own. who (str): The pipe's name, for errors.
    """

    def __init__(self, model: "BaseEncoderGLiNER", who: str) -> None:
        self.model = model
        self.who = who
        self._lock = Lock()  # a tokenizer cannot be used by two threads at once

    @classmethod
    def of(cls, name: str, who: str) -> "GLiNERModel":
        """A model by its name. name (str): Its folder, or its name on the Hugging Face hub.

        RAISES (ValueError): L295, L296, L406.
        """
        path = Path(name)
        return cls.from_disk(path if path.exists() else _download(name, who), who)

    @classmethod
    def from_disk(cls, path: Path, who: str, *, is_complete: bool = False) -> "GLiNERModel":
        """path (Path): The folder. is_complete (bool): Whether nothing may be asked of the hub.

        RAISES (ValueError): L296, L406.
        """
        with extra("gliner", "gliner"):
            from gliner import GLiNER
        _check_files(path)
        device = str(get_torch_default_device())
        with _as_coded(path):
            model = GLiNER.from_pretrained(
                str(path), map_location=device, local_files_only=is_complete, strict=is_complete
            ).eval()
        for name, problem in OTHER_KINDS.items():
            if getattr(model.config, name, None):
                raise ValueError(Errors.L296.format(path=path, problem=f"{problem}."))
        return cls(model, who)

    @classmethod
    def from_bytes(cls, data: bytes, who: str) -> "GLiNERModel":
        """data (bytes): What `to_bytes` gave. RAISES (ValueError): L296, L406."""
        with tempfile.TemporaryDirectory() as folder:
            for name, content in srsly.msgpack_loads(data).items():
                path = Path(folder, *name.split("/"))
                if not path.resolve().is_relative_to(Path(folder).resolve()):
                    problem = f"it has a file outside of it, {name!r}."
                    raise ValueError(Errors.L296.format(path="what was saved", problem=problem))
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            return cls.from_disk(Path(folder), who, is_complete=True)

    def to_disk(self, path: Path) -> None:
        """Write weights (safetensors), config and tokenizer: no pickle, and all that loading needs."""
        with self._lock:
            # they would keep what the last batch was cut and padded to
            for tokenizer in self._tokenizers:
                tokenizer.backend_tokenizer.no_truncation()
                tokenizer.backend_tokenizer.no_padding()
            self.model.save_pretrained(path, safe_serialization=True)

    def to_bytes(self) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            self.to_disk(Path(folder))
            files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
            return srsly.msgpack_dumps(
                {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
            )

    @property
    def _tokenizer(self) -> Any:
        return self.model.data_processor.transformer_tokenizer

    @property
    def _tokenizers(self) -> list[Any]:
        other = getattr(self.model.data_processor, "labels_tokenizer", None)
        return [self._tokenizer] if other is None else [self._tokenizer, other]

    def words(self, texts: Sequence[str]) -> list[Words]:
        """The words of each text, without those that the tokenizer makes nothing of, such as a
        zero-width space: the package counts words by pieces, and all words after it would move by one.
        """
        split = [list(self.model.data_processor.words_splitter(text)) for text in texts]
        sizes = self._sizes([[word for word, *_ in rows] for rows in split])
        found = []
        for text, rows, size in zip(texts, split, sizes, strict=True):
            bounds = np.asarray([place for _, *place in rows], dtype="int64").reshape(-1, 2)
            for start, end in bounds[size == 0].tolist():
                text = text[:start] + " " * (end - start) + text[end:]
            starts, ends = bounds[size > 0].T
            found.append(Words(text, starts, ends, size[size > 0]))
        return found

    def _sizes(self, texts: Iterable[list[str]]) -> list[Ints1d]:
        """Pieces of each word of each text."""
        texts = list(texts)
        if not any(texts):
            return [np.zeros(0, dtype="int64") for _ in texts]
        with self._lock:
            rows = self._tokenizer(
                texts,
                is_split_into_words=True,
                add_special_tokens=False,
                truncation=False,
                verbose=False,
            )
        own = [[at for at in rows.word_ids(i) if at is not None] for i in range(len(texts))]
        return [
            np.bincount(np.asarray(at, dtype="int64"), minlength=len(words))
            for at, words in zip(own, texts, strict=True)
        ]

    def limits(self, types: Iterable[str], max_words: int | None) -> Limits:
        """What a window may hold beside the words for the types, which stand before it.

        types (Iterable[str]): In words. max_words (Optional[int]): Null is what the model can read.
        RAISES (ValueError): L299.
        """
        config = self.model.config
        if max_words is not None and max_words > config.max_len:
            problem = f"max_words = {max_words} is more than the {config.max_len} words that it reads"
            raise ValueError(Errors.L299.format(who=self.who, problem=problem, fix="Use null."))
        most = self._max_pieces()
        if getattr(config, "labels_encoder", None) is None:
            prompt = [word for words in types for word in (config.ent_token, words)]
            taken = int(self._sizes([[*prompt, config.sep_token]])[0].sum())
            most -= taken + self._tokenizer.num_special_tokens_to_add()
            if most < LEAST_ROOM:
                problem = f"the words for its types are {taken} pieces of {self._max_pieces():.0f}"
                fix = "Use shorter descriptions, or two components with some of the types each."
                raise ValueError(Errors.L299.format(who=self.who, problem=problem, fix=fix))
        return Limits(max_words or config.max_len, most, 2 * config.max_width)

    def _max_pieces(self) -> float:
        """With the words for the types and special tokens: beyond it the package cuts without a word."""
        encoder = getattr(self.model.config, "encoder_config", None)
        found = [float(self._tokenizer.model_max_length)]
        if getattr(encoder, "position_biased_input", True):  # DeBERTa's are relative
            positions = getattr(encoder, "max_position_embeddings", None) or UNLIMITED
            found.append(positions - 2)  # RoBERTa's begin at the third
        return min([n for n in found if n < UNLIMITED - 2], default=float("inf"))

    def read(
        self, texts: Sequence[str], types: Mapping[str, str], threshold: float, batch_size: int
    ) -> list[list[Found]]:
        """The entities of each text, which do not overlap.

        texts (Sequence[str]): Each within the limits, and not blank.
        types (Mapping[str, str]): In words. threshold (float): Least score.
        batch_size (int): Texts that the encoder reads at once; those of a length together.
        """
        if not texts:
            return []
        import torch

        label_of = {words: label for label, words in types.items()}
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        with (
            self._lock,
            torch.random.fork_rng(devices=[]),
        ):  # the package draws a seed that it does not use
            rows = self.model.inference(
                [texts[i] for i in order], list(label_of), threshold=threshold, batch_size=batch_size
            )
        found: list[list[Found]] = [[] for _ in texts]
        for i, row in zip(order, rows, strict=True):
            found[i] = [Found(e["start"], e["end"], label_of[e["label"]], e["score"]) for e in row]
        return found


def _download(name: str, who: str) -> Path:
    """RAISES (ValueError): L295, L406."""
    with extra("gliner", "gliner"):
        from huggingface_hub import snapshot_download
    if problem := problem_of(name):
        raise ValueError(Errors.L295.format(who=who, name=name, problem=f"{problem}."))
    try:
        return Path(snapshot_download(name, ignore_patterns=OTHER_FORMATS))
    except Exception as error:  # of the hub, of the network, of the name: each its own kind
        raise ValueError(Errors.L295.format(who=who, name=name, problem=_said(error))) from error


def _check_files(path: Path) -> None:
    """RAISES (ValueError): L296 for a folder that is no model, or that would run code of its own: the
    package trusts the config of an encoder, which it may look up by name.
    """
    file = path / CONFIG
    if not file.is_file():
        raise ValueError(Errors.L296.format(path=path, problem=f"it has no {CONFIG}."))
    with _as_coded(path):
        config = srsly.read_json(file)
        has_code = '"auto_map"' in file.read_text(encoding="utf8")
        has_code |= any(
            config.get(name) and config.get(own) is None and _has_code(config[name])
            for name, own in ENCODERS.items()
        )
    if has_code:
        problem = "its config has an auto_map, which would run code that comes with the model."
        raise ValueError(Errors.L296.format(path=path, problem=problem))


def _has_code(name: str) -> bool:
    """Whether an encoder's config asks for code of its own."""
    from transformers import AutoConfig

    return bool(getattr(AutoConfig.from_pretrained(name, trust_remote_code=False), "auto_map", None))


@contextmanager
def _as_coded(path: Path) -> Iterator[None]:
    """RAISES (ValueError): L296."""
    try:
        yield
    except Exception as error:  # of json, transformers, torch, safetensors, the hub: each its own kind
        raise ValueError(Errors.L296.format(path=path, problem=_said(error))) from error


def _said(error: Exception) -> str:
    """An error in a line that ends with a full stop."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text[:300].rstrip(" .") + "."
