"""New types for a trained pipeline: trained beside it, thresholds chosen, and compared with before."""

import shutil
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from spacy.language import Language
from thinc.api import Config

from ...corpus.descriptions import CorpusTypes, read_types
from ...corpus.folder import load_docs, stream_docs
from ...corpus.parts import part_path
from ...errors import Errors, Warnings
from ...evaluation.analysis.records import PRF
from ...evaluation.chosen import Goal
from ...evaluation.evaluate import evaluate_model
from ...evaluation.thresholds import fit_thresholds
from ...output.writing import check_folder, coded_io, whole_folder, write_file
from ...records import Record
from ...training.loading import load_pipeline
from ...training.train import train_model
from ...types import Overrides
from ..trials.compose import apply
from .config import Added, extended_config
from .proof import TypeChange, compare_entities

CONFIG, RECORD, MODEL, TRAINING = "extended.cfg", "extended.json", "model", "training"


@dataclass(frozen=True)
class Request:
    """What is added to which pipeline.

    base (str): What `spacy.load` takes. corpus (Path): A converted corpus with the new types.
    types (Sequence[str]): Those to add; empty takes those with a mention in the training part that the
        pipeline does not know.
    gated (bool): Whether a gate is trained. pretrained (Optional[Path]): As `extended_config` has it.
    thresholds (bool): Whether thresholds are chosen on dev.
    overrides (Overrides): Config values by dotted name.
    """

    base: str
    corpus: Path
    types: tuple[str, ...] = ()
    gated: bool = False  # on Field Notes a gate costs the new types recall
    pretrained: Path | None = None
    thresholds: bool = True
    overrides: Overrides = field(default_factory=dict)
    gpu_id: int = -1


class TypeScore(PRF):
    """A type on the part that was scored."""

    mentions: int  # in the gold annotation
    before: float  # F1 of the pipeline as it was


class Extended(Record):
    """What extending did, as extended.json has it."""

    base: str
    corpus: str
    part: str  # that was scored, and read by both
    added: list[str]  # types
    components: list[str]  # names of the new ones
    types: dict[str, TypeScore]  # annotated in the corpus
    entities: dict[str, TypeChange]  # by type, of all documents of the part
    words_per_second: tuple[float, float]  # before, after

    @property
    def lost(self) -> int:
        """Entities of types that are not new and that are not where they were."""
        return sum(own.lost for label, own in self.entities.items() if label not in self.added)


def extend(request: Request, output: Path, say: Callable[[str], None] = lambda _: None) -> Extended:
    """Train a gate and a secondary NER for new types beside a frozen pipeline, and measure both.

    request (Request): What is added to which pipeline. output (Path): A folder: `model`, the pipeline;
        `extended.cfg`, that trains it; `extended.json`, what is returned.
    say (Callable[[str], None]): Gets what is being done.
    RETURNS (Extended): New types and old entities, before and after, on test, or on dev without one.
    RAISES (ValueError): L402, L404, L408, L430; L432, L434, L436, L437; L520 to L524, and what training
        and choosing thresholds raise.
    """
    folders = [request.corpus, *filter(None, (_folder(request.base), request.pretrained))]
    check_folder(output, folders, _foreign)
    types = read_types(request.corpus)
    nlp = load_pipeline(request.base)
    added = _types_to_add(request, types, nlp)
    _check_texts(types, nlp, request)
    config, new = extended_config(request.base, nlp, gated=request.gated, pretrained=request.pretrained)
    settings = _settings(request, added)
    apply(config, settings)
    say(f"Training {', '.join(new.names)} beside {', '.join(nlp.component_names)}")
    best = _train(request, config, settings, output)
    model = output / MODEL
    say("Choosing thresholds on dev" if request.thresholds else "Measuring")
    _finish(best, model, request, new)
    found = _measure(request, model, added, new, types)
    write_file(output / RECORD, found.model_dump_json(indent=2))
    return found


def _folder(base: str) -> Path | None:
    return Path(base) if Path(base).is_dir() else None


def _foreign(folder: Path) -> str:
    return "" if (folder / CONFIG).is_file() else f"it holds no {CONFIG} of an earlier `extend`"


def _types_to_add(request: Request, types: CorpusTypes, nlp: Language) -> list[str]:
    """RAISES (ValueError): L520, L521."""
    if unknown := [t for t in request.types if t not in types.labels]:
        shown = {"unknown": ", ".join(unknown), "known": ", ".join(types.labels)}
        raise ValueError(Errors.L521.format(path=request.corpus, **shown))
    found = list(dict.fromkeys(request.types))
    if not found:
        known = entity_types(nlp)
        new = [t for t in types.labels if t not in known]
        docs = stream_docs(part_path(request.corpus, "train"), nlp)
        taught = {ent.label_ for doc in docs for ent in doc.ents}
        found = [t for t in new if t in taught]
        if lacking := [t for t in new if t not in taught]:
            message = Warnings.W120.format(path=request.corpus, types=", ".join(lacking))
            warnings.warn(message, stacklevel=3)
    if not found:
        shown = {"base": request.base, "types": ", ".join(types.labels)}
        raise ValueError(Errors.L520.format(path=request.corpus, **shown))
    return found


def entity_types(nlp: Language) -> set[str]:
    """The types that the components of a pipeline set as entities."""
    pipes = [pipe for name, pipe in nlp.pipeline if "doc.ents" in nlp.get_pipe_meta(name).assigns]
    return {label for pipe in pipes for label in getattr(pipe, "labels", ())}


def _check_texts(types: CorpusTypes, nlp: Language, request: Request) -> None:
    """Whether the pipeline reads what the corpus holds. RAISES (ValueError): L522, L523."""
    if types.lang != nlp.lang:
        message = Errors.L522.format(
            base=request.base, lang=nlp.lang, path=request.corpus, own=types.lang
        )
        raise ValueError(message)
    tokenizer = str(nlp.config["nlp"]["tokenizer"].get("@tokenizers", ""))
    if (types.tokens == "characters") != ("CharacterTokenizer" in tokenizer):
        message = Errors.L523.format(path=request.corpus, tokens=types.tokens, base=request.base)
        raise ValueError(message)


def _settings(request: Request, added: list[str]) -> Overrides:
    """What the config needs to know of the corpus, and what was asked for."""
    parts = {f"paths.{part}": str(part_path(request.corpus, part)) for part in ("train", "dev")}
    return {**parts, "longtail.labels": added, "longtail.tail": added, **request.overrides}


def _train(request: Request, config: Config, settings: Overrides, output: Path) -> Path:
    """Write the config, and train it. RETURNS (Path): The best checkpoint."""
    write_file(output / CONFIG, config.to_str(interpolate=False))
    own = {**settings, "nlp.lang": config["nlp"]["lang"], "nlp.tokenizer": config["nlp"]["tokenizer"]}
    with warnings.catch_warnings():  # each scorer leaves out the types of the other on purpose
        warnings.filterwarnings("ignore", r"\[LW135\]")
        try:
            return train_model(
                output / CONFIG, request.corpus, output / TRAINING, gpu_id=request.gpu_id, overrides=own
            )
        except ValueError:
            if not (output / TRAINING).exists():  # nothing was trained: leave nothing
                (output / CONFIG).unlink()
                with suppress(OSError):  # it holds something else
                    output.rmdir()
            raise


def _finish(best: Path, model: Path, request: Request, new: Added) -> None:
    """The best checkpoint as `model`, with the new components' thresholds if they are asked for."""
    if request.thresholds:
        dev = part_path(request.corpus, "dev")
        fit_thresholds(best, dev, goal=Goal(), components=new.names, output=model)
        return
    with coded_io(model), whole_folder(model) as folder:
        shutil.copytree(best, folder, dirs_exist_ok=True)


def _measure(
    request: Request, model: Path, added: list[str], new: Added, types: CorpusTypes
) -> Extended:
    """Both pipelines on the test part, or on dev without one."""
    part = "test" if part_path(request.corpus, "test").exists() else "dev"
    data = part_path(request.corpus, part)
    before, after = load_pipeline(request.base), load_pipeline(model)
    was, now = (evaluate_model(nlp.path, data, types.labels, added) for nlp in (before, after))
    gold = Counter(ent.label_ for doc in load_docs(data, after) for ent in doc.ents)
    found = {
        label: TypeScore(
            mentions=gold[label],
            before=was.scores.of_type(label).f,
            f=now.scores.of_type(label).f,
            p=now.scores.of_type(label).p,
            r=now.scores.of_type(label).r,
        )
        for label in types.labels
        if gold[label]
    }
    old = sorted(entity_types(before) - set(added))
    return Extended(
        base=request.base,
        corpus=str(request.corpus),
        part=part,
        added=added,
        components=new.names,
        types=found,
        entities=compare_entities(before, after, load_docs(data, after), old),
        words_per_second=(round(was.words_per_second, 1), round(now.words_per_second, 1)),
    )
