"""Mining a pool: which sentences to label next."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch

from ..corpus.cutting import bare
from ..corpus.descriptions import TYPES, read_types
from ..corpus.formats.context import Events, Settings
from ..corpus.formats.docbin import stream_docs
from ..corpus.parts import part_path
from ..corpus.sentences import by_punctuation
from ..corpus.type_words import in_words
from ..errors import Errors
from ..output.writing import check_file, check_outside
from ..pipes.gate.expected import has_expectations
from ..pipes.gate.sentence_gate import SentenceGate
from ..pipes.pipeline_checks import BOUNDARIES
from ..training.loading import load_for_types
from .passes import BATCH, processed, resumed, stamps, state_path
from .pool import pool_files, read_pool
from .proposals import MARK, PAGE_MARK, Format, is_labelled, write_proposals
from .scan import RANDOM, Scan, Signs, scan_pool
from .selection import (
    Diversity,
    Proposal,
    choose,
    n_random_of,
    ranking_sizes,
    share_out,
    warn_of_none,
)
from .terms import Likeness, Terms, read_terms
from .units import sentences_of, text_key

CORPUS_PARTS = ("train", "dev", "test", "all")
DIVERSE = Diversity()
NEVER = "\0 in no file"  # a .spacy file is compressed: an existing one is not replaced


class Mined(NamedTuple):
    proposals: list[Proposal]
    types: list[str]
    scan: Scan
    events: Events  # what was left out


@dataclass(frozen=True)
class Request:
    """What to look for, and how many.

    labels (int): Sentences to propose. types (Sequence[str]): The rare types; empty takes the corpus's
        tail, or what a gate of the pipeline opens for.
    corpus (Optional[Path]): A folder with types.json. Sentences of its parts, where it has some, need no
        label.
    terms (Optional[Path]): Phrases that stand for a type. quotas (Mapping[str, int]): Labels by type.
    random (float): Share of the labels that is drawn by lot, for an evaluation without bias.
    """

    labels: int
    types: tuple[str, ...] = ()
    corpus: Path | None = None
    terms: Path | None = None
    quotas: Mapping[str, int] = field(default_factory=dict)
    random: float = 0.1
    diversity: Diversity = DIVERSE
    seed: int = 0
    batch_size: int = 64
    n_process: int = 1
    split: bool = False  # texts into sentences by punctuation, where the pipeline does not
    exclude: tuple[Path, ...] = ()  # sentences that are not wanted, in any format of a pool


def mine(
    pipeline: Path | str,
    pool: Path,
    output: Path,
    request: Request,
    settings: Settings,
    format: Format,
    page: Path | None = None,
) -> Mined:
    """Propose sentences of a pool for labelling, and write them with what the pipeline reads in them.

    An interrupted run leaves its state beside the output, and the same command takes it up.

    pipeline (Path | str): A trained pipeline; or an encoder, which finds types by their descriptions.
    pool (Path): As `read_pool` takes it.
    output (Path): The file. request (Request): What to look for. settings (Settings): Of the pool.
    format (str): "prodigy", "doccano", "label-studio" or "spacy".
    page (Optional[Path]): Where the caller will write a page: checked with the output.
    RAISES (ValueError): L402, L403, L408, L420 to L437, L500 to L507.
    """
    own = ready(pipeline, pool, output, request, settings, format, page)
    nlp, types, scan = own.nlp, own.types, own.scan
    events = Events()
    with resumed(scan, own.state, own.about) as save:
        texts = read_pool(pool, nlp, settings, events)
        batches = processed(nlp, iter(texts), request.batch_size, request.n_process, scan.n_texts)
        scan_pool(scan, batches, nlp, own.signs, save)
    proposals = choose(scan, own.quotas, own.n_random, request.diversity, request.quotas)
    if not proposals:
        named = " or ".join(str(path) for path in (request.corpus, *request.exclude) if path)
        seen = {"n": scan.n_sentences, "known": scan.n_known, "corpus": named or "the pool"}
        message = Errors.L503.format(path=pool, **seen)
        raise ValueError(message)
    write_proposals(proposals, types, output, format, nlp.vocab)
    own.state.unlink(missing_ok=True)
    return Mined(proposals, types, scan, events)


class Ready(NamedTuple):
    """Mining before it reads the pool."""

    nlp: Language
    types: list[str]
    signs: Signs
    scan: Scan  # with nothing in it
    quotas: dict[str, int]
    n_random: int
    state: Path  # where an interrupted pass leaves what it has found
    about: dict[str, object]  # what such a pass must be of


def ready(
    pipeline: Path | str,
    pool: Path,
    output: Path,
    request: Request,
    settings: Settings,
    format: Format,
    page: Path | None = None,
) -> Ready:
    """Check all that is given, and load the pipeline: arguments as `mine` has them.

    RAISES (ValueError): Those of `mine` that come before the pool is read.
    """
    inputs = [pool, Path(pipeline), *filter(None, (request.corpus, request.terms)), *request.exclude]
    inputs = [path for path in inputs if path.exists()]
    check_file(output, inputs, mark=MARK if format != "spacy" else NEVER)
    if output.is_file() and output.stat().st_size and is_labelled(output):
        problem = "it holds labels that the pipeline did not give"
        raise ValueError(Errors.L437.format(path=output, problem=problem))
    check_outside(output, [pool], "file")
    state = state_path(output)
    if page is not None:
        check_file(page, [*inputs, output], mark=PAGE_MARK)
        check_outside(page, [pool], "file")
    nlp = load_counting(pipeline, request)
    types = rare_types(nlp, request)
    likeness = Likeness(nlp, descriptions(request.corpus, types))
    terms = None if request.terms is None else read_terms(request.terms, nlp, types)
    _check_evidence(nlp, pipeline, types, terms, likeness)
    n_random = n_random_of(request.labels, request.random)
    quotas = share_out(request.labels - n_random, types, request.quotas)
    warn_of_none(request.labels, request.random, types, request.quotas)
    if request.split:
        add_sentences(nlp)
    known = set() if request.corpus is None else corpus_keys(request.corpus, nlp)
    for path in request.exclude:
        known |= keys_of(read_pool(path, nlp, Settings(encoding=settings.encoding), Events()), nlp)
    scan = Scan.of(types, {**ranking_sizes(quotas), RANDOM: n_random})
    about = _settled(pipeline, pool, request, types, settings)
    signs = Signs(known, terms, likeness, request.seed)
    return Ready(nlp, types, signs, scan, quotas, n_random, state, about)


def load_counting(pipeline: Path | str, request: Request) -> Language:
    """A pipeline whose probabilities count mentions. An encoder finds all types of the corpus, which
    compete for each token, and those to look for.

    RAISES (ValueError): L271, L402, L408, L430, L502, L720.
    """
    labels = [] if request.corpus is None else read_types(request.corpus).labels
    nlp = load_for_types(pipeline, descriptions(request.corpus, [*labels, *request.types]))
    if not any(has_expectations(pipe) for _, pipe in nlp.pipeline):
        raise ValueError(Errors.L502.format(path=pipeline, found=", ".join(nlp.pipe_names) or "none"))
    return nlp


def rare_types(nlp: Language, request: Request) -> list[str]:
    """The types to look for: as given, else the corpus's tail, else what a gate opens for.

    RAISES (ValueError): L402, L430, L500.
    """
    if RANDOM in request.types:
        raise ValueError(Errors.L500.format(problem="'random' is the share that is drawn by lot"))
    if request.types:
        return list(dict.fromkeys(request.types))
    if request.corpus is not None:
        if tail := read_types(request.corpus).tail:
            return tail
        raise ValueError(Errors.L500.format(problem=f"{request.corpus} declares none"))
    gates = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, SentenceGate)]
    found = list(dict.fromkeys(label for gate in gates for label in gate.labels))
    if not found:
        raise ValueError(Errors.L500.format(problem="no gate of the pipeline names one"))
    return found


def corpus_keys(corpus: Path, nlp: Language) -> set[int]:
    """The sentences and documents of a corpus, as `text_key` knows them: none where it has only types.

    RAISES (ValueError): L404.
    """
    paths = [path for part in CORPUS_PARTS if (path := part_path(corpus, part)).exists()]
    return keys_of((doc for path in paths for doc in stream_docs(path, nlp)), nlp)


def keys_of(docs: Iterable[Doc], nlp: Language) -> set[int]:
    """Documents and their sentences, as `text_key` knows them.

    nlp (Language): The pipeline that reads the pool. A document without sentence boundaries is cut as
        the pipeline cuts a text, and by punctuation, too.
    """
    found: set[int] = set()
    setters = {name for name in nlp.pipe_names if BOUNDARIES & {*nlp.get_pipe_meta(name).assigns}}
    heard = {n for n, pipe in nlp.pipeline if setters & {*getattr(pipe, "listening_components", ())}}
    wanted = [name for name in nlp.pipe_names if name in setters | heard]
    for batch in minibatch(docs, BATCH):
        found.update(text_key(doc.text) for doc in batch)
        whole = [bare(doc, nlp.vocab) for doc in batch if not doc.has_annotation("SENT_START")]
        cut = [own for own in batch if own.has_annotation("SENT_START")] + by_punctuation(whole)
        if wanted and whole:
            with nlp.select_pipes(enable=wanted):
                cut += nlp.pipe(bare(doc, nlp.vocab) for doc in whole)
        found.update(text_key(doc[a:b].text) for doc in cut for a, b in sentences_of(doc) if a < b)
    return found


def descriptions(corpus: Path | None, types: list[str]) -> dict[str, str]:
    """Types in words: as a corpus has them, else by their names."""
    own = {} if corpus is None else read_types(corpus).descriptions
    return in_words(types, own)


def _check_evidence(
    nlp: Language, pipeline: Path | str, types: list[str], terms: Terms | None, likeness: Likeness
) -> None:
    """Refuse types that nothing can find. RAISES (ValueError): L501."""
    counting = [pipe for _, pipe in nlp.pipeline if has_expectations(pipe)]
    labels = [label for pipe in counting for label in getattr(pipe, "labels", ())]
    named = terms.labels if terms is not None else ()
    unknown = [t for t in types if t not in labels and t not in named and not likeness.knows(t)]
    if unknown:
        known = ", ".join(dict.fromkeys(labels)) or "none"
        raise ValueError(Errors.L501.format(unknown=", ".join(unknown), path=pipeline, known=known))


def add_sentences(nlp: Language) -> None:
    """Let a pipeline cut texts into sentences by punctuation, if no component of it does."""
    if not any("token.is_sent_start" in nlp.get_pipe_meta(name).assigns for name in nlp.pipe_names):
        nlp.add_pipe("sentencizer", first=True)


def _settled(
    pipeline: Path | str, pool: Path, request: Request, types: list[str], settings: Settings
) -> dict[str, object]:
    """What a state must be of to be taken up."""
    files = [path for path, _ in pool_files(pool, settings)]
    if request.corpus is not None:
        files += [request.corpus / TYPES, *(part_path(request.corpus, part) for part in CORPUS_PARTS)]
    files += [path for excluded in request.exclude for path, _ in pool_files(excluded, Settings())]
    files += [path for path in (request.terms, Path(pipeline) / "meta.json") if path]
    return {
        "pipeline": str(pipeline),
        "pool": str(pool),
        "types": types,
        "labels": request.labels,
        "random": request.random,
        "quotas": dict(request.quotas),
        "corpus": str(request.corpus),
        "terms": str(request.terms),
        "seed": request.seed,
        "split": request.split,
        "format": str(settings.format),
        "encoding": settings.encoding,
        "files": stamps(files),
    }
