"""Small pipelines and corpora that tests train on."""

import pickle
import random
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path
from string import ascii_lowercase
from typing import Any

import numpy as np
import pytest
import spacy
from click.testing import Result
from spacy.cli import app as spacy_app
from spacy.lang.en import English
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import fix_random_seed
from typer import Typer
from typer.testing import CliRunner

from spacy_longtail.cli import app
from spacy_longtail.corpus.descriptions import CorpusTypes
from spacy_longtail.corpus.folder import write_corpus
from spacy_longtail.corpus.statistics import PartStatistics
from spacy_longtail.evaluation.records import Document
from spacy_longtail.layers.quantized import eight_bit
from spacy_longtail.layers.subwords import NAME, NO_SUBWORDS, SubwordTable
from spacy_longtail.studies.trials.recipes import FILES, make_config, read_recipes

SENTENCES = [
    "[Maria|PER] sailed to [Oslo|GEO] on the [Fram|ART] .",
    "Nobody saw [Storm Ida|NAT] coming , said [Jon Berg|PER] .",
    "[Oslo|GEO] was quiet that night .",
    "The rain fell for hours .",
    "[Jon Berg|PER] and [Maria|PER] met in [Rome|GEO] .",
    "A cup of tea helped .",
    "[Rome|GEO] sent help when [Storm Ida|NAT] passed .",
    "[Old Maria|PER] sold the [Fram|ART] in [Oslo|GEO] .",
]


def numbered(n: int = 24) -> list[Doc]:
    """Annotated documents, no two of them alike."""
    nlp = blank()
    docs = [parse(nlp, f"{SENTENCES[i % len(SENTENCES)]} {i}") for i in range(n)]
    for doc in docs:
        doc.set_ents(doc.ents, default="outside")
    return docs


def documents_of(rows: Iterable[dict]) -> list[Document]:
    """Documents of an evaluation, from JSON data."""
    return [Document.model_validate({"text": "", **row}, strict=False) for row in rows]


def evaluation_data(documents: list[dict], **given) -> dict:
    """An evaluation as JSON data: what is given, and what nothing looks at."""
    averages = dict.fromkeys(("ents_f", "ents_macro_f", "ents_weighted_f"), 0.0)
    about = {"name": "toy", "model": "toy/model-best", "data": "toy/test.spacy", "documents": documents}
    rest = {"labels": [], "tail": [], "training": {}, "performance": {}, "words_per_second": 1.0}
    scores = {**averages, "ents_per_type": {}, **given.get("scores", {})}
    return {**about, **rest, **given, "scores": scores}


def type_statistics(**given) -> dict:
    """A type in a part, as stats.json has it: what is given, and numbers that nothing looks at."""
    return {"mentions": 20, "tokens": 20, "sentences": 20, "rareness": 4.5, **given}


def part_statistics(types: dict[str, dict], **given) -> dict:
    """A part, as stats.json has it."""
    found = {name: 20 for name, f in PartStatistics.model_fields.items() if f.annotation is int}
    return {**found, "types": types, **given}


def corpus_statistics_of(parts: dict[str, dict], labels: list[str], **given) -> dict:
    """stats.json of a corpus in which nothing occurs twice."""
    nothing = {"sentences": 0, "entity_sentences": 0, "share": 0.0, "examples": []}
    found = {"corpus": "toy", "lang": "en", "labels": labels, "parts": parts, "diagnosis": []}
    found |= {"undeclared": [], "tail": [], "buckets": {"head": labels, "mid": [], "tail": []}}
    found |= {"duplicates": dict.fromkeys(parts, 0), "conflicts": {"texts": 0, "examples": []}}
    found["leakage"] = {part: nothing for part in parts if part != "train"}
    return {**found, **given}


ROOT = Path(__file__).parents[1]


@cache
def config_file(name: str) -> Path:
    """Return the file of a recipe in configs/, or one that `init-config` would write."""
    if name in FILES:
        return ROOT / "configs" / f"{name}.cfg"
    path = Path(tempfile.mkdtemp(prefix="longtail-config-")) / f"{name}.cfg"
    make_config(read_recipes()[name]).to_disk(path, interpolate=False)
    return path


def parse(nlp: Language, text: str) -> Doc:
    """A sentence whose entities are in brackets with their types, as in `[Maria|PER] sailed .`."""
    words, spans = [], []
    for chunk in text.replace("[", "\t[").replace("]", "]\t").split("\t"):
        if chunk.startswith("["):
            surface, label = chunk[1:-1].split("|")
            start = len(words)
            words += surface.split()
            spans.append((start, len(words), label))
        else:
            words += chunk.split()
    doc = Doc(nlp.vocab, words=words)
    doc.set_ents([Span(doc, start, end, label=label) for start, end, label in spans])
    for token in doc:
        token.is_sent_start = token.i == 0
    return doc


def document(nlp: Language, *texts: str) -> Doc:
    """A document of sentences in the notation of `parse`."""
    return Doc.from_docs([parse(nlp, text) for text in texts])


def spans_example(nlp: Language, gold, predicted, n: int = 10, sentences: Iterable[int] = ()) -> Example:
    """An example of n tokens w0, w1, ... with entities as (start, end, type).

    sentences (Iterable[int]): Where sentences start, besides at the first token.
    """
    starts = [i == 0 or i in sentences for i in range(n)]
    docs = [Doc(nlp.vocab, words=[f"w{i}" for i in range(n)], sent_starts=starts) for _ in range(2)]
    for doc, spans in zip(docs, (predicted, gold), strict=True):
        doc.set_ents([Span(doc, start, end, label=label) for start, end, label in spans])
    return Example(*docs)


def examples(nlp: Language, times: int = 1) -> list[Example]:
    references = [parse(nlp, text) for text in SENTENCES * times]
    return [Example(Doc(nlp.vocab, words=[t.text for t in doc]), doc) for doc in references]


def words(nlp: Language, text: str) -> Doc:
    """The words of a sentence of the toy corpus, without its entities."""
    return Doc(nlp.vocab, words=[t.text for t in parse(nlp, text)])


def entity_offsets(doc: Doc) -> list[tuple[int, int, str]]:
    return [(e.start, e.end, e.label_) for e in doc.ents]


def entities(doc: Doc) -> list[tuple[str, str]]:
    return [(e.text, e.label_) for e in doc.ents]


def toy_words() -> set[str]:
    """The words of the toy corpus, in lower case."""
    return {token.text.lower() for doc in toy_docs() for token in doc}


def toy_docs(times: int = 1) -> list[Doc]:
    nlp = blank()
    return [parse(nlp, text) for text in SENTENCES * times]


def toy_corpus(folder: Path, **parts: list[Doc]) -> Path:
    """The toy corpus as a corpus folder. Unless given, dev is its first half, test its second."""
    docs = toy_docs()
    types = CorpusTypes(["PER", "GEO", "ART", "NAT"], ["NAT"], "en", "words")
    write_corpus(folder, {"train": docs, "dev": docs[:4], "test": docs[4:], **parts}, types)
    return folder


def forbid_pickle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let whatever reads or writes a pickle fail, in which there may be any code."""

    def forbidden(*args: object, **settings: object) -> None:
        raise AssertionError("pickle was used")

    for name in ("load", "loads", "Unpickler", "dump", "dumps", "Pickler"):
        monkeypatch.setattr(pickle, name, forbidden)
    for name in ("load", "save") if find_spec("torch") else ():
        monkeypatch.setattr(f"torch.{name}", forbidden)


def corpus_of(
    folder: Path,
    labels: Iterable[str] | None = None,
    tail: Iterable[str] = (),
    descriptions: dict[str, str] | None = None,
    **parts: list[str | list[str]],
) -> Path:
    """Write a corpus. Each document is a sentence in the notation of `parse`, or a list of them.

    labels (Optional[Iterable[str]]): Its types; those of its mentions by default.
    """
    nlp = blank()
    docs = {
        part: [document(nlp, *([text] if isinstance(text, str) else text)) for text in texts]
        for part, texts in parts.items()
    }
    own = sorted({ent.label_ for part in docs.values() for doc in part for ent in doc.ents})
    types = CorpusTypes(list(labels or own), list(tail), "en", descriptions=descriptions or {})
    write_corpus(folder, docs, types)
    return folder


class Fixed:
    """A reader that yields the same objects at each call, and counts its calls and what it gave."""

    def __init__(self, data: list[Example]) -> None:
        self.data = data
        self.calls = self.given = 0

    def __call__(self, nlp: Language) -> Iterator[Example]:
        self.calls += 1
        for eg in self.data:
            self.given += 1
            yield eg


def invoke(*arguments: object) -> Result:
    """What one of our commands says, and how it ends."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def run_app(*arguments: object) -> Result:
    """What one of our commands says that comes to its end."""
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return result


def refused(arguments: Iterable[object], code: str, unwritten: Path | None = None) -> Result:
    """What a command says that ends with a coded error, and writes nothing."""
    result = invoke(*arguments)
    assert result.exit_code == 2, result.output
    assert code in result.stderr and "Traceback" not in result.output
    assert unwritten is None or not unwritten.exists()
    return result


def new_file(path: Path, content: str | bytes) -> Path:
    """Write a file, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def write_files(folder: Path, files: dict[str, str | bytes]) -> Path:
    """Write files, given by their paths in a folder, and return the folder."""
    for name, content in files.items():
        new_file(folder / name, content)
    return folder


def tree(folder: Path) -> dict[Path, bytes | bool]:
    """The files of a folder with what they hold, and its folders."""
    return {p.relative_to(folder): p.is_file() and p.read_bytes() for p in folder.rglob("*")}


def run_spacy(*arguments: object) -> str:
    """What one of spaCy's commands says. It runs here: to start a process takes seconds."""
    result = CliRunner().invoke(spacy_app, [str(a) for a in arguments])
    assert result.exit_code == 0, result.output
    return result.output


def run_script(path: Path, *arguments: object) -> Result:
    """What the command of a script says, run in this process."""
    script = Typer()
    script.command()(run_path(str(path))["main"])
    return CliRunner().invoke(script, [str(a) for a in arguments])


def two_sentences(nlp: Language, bounded: bool = False) -> Example:
    """Return a document of two sentences; the second begins at token 6 and holds a NAT.

    bounded (bool): Whether the predicted document has the boundaries, too.
    """
    reference = document(nlp, SENTENCES[3], SENTENCES[6])
    predicted = Doc(nlp.vocab, words=[t.text for t in reference])
    if bounded:
        start_sentences(predicted, 0, 6)
    return Example(predicted, reference)


def start_sentences(doc: Doc, *starts: int) -> Doc:
    """Let sentences begin at these tokens and at no other."""
    for token in doc:
        token.is_sent_start = token.i in starts
    return doc


SMALL = {"@architectures": "spacy.HashEmbedCNN.v2", "pretrained_vectors": None, "embed_size": 200}
SMALL |= {"width": 16, "depth": 1, "window_size": 1, "maxout_pieces": 2, "subword_features": True}
TOKEN_MODEL = {"@architectures": "longtail.TokenClassifier.v1", "tok2vec": SMALL}
GATE_MODEL = {"@architectures": "longtail.SentenceGate.v1", "tok2vec": SMALL, "hidden_width": 16}
MRC_MODEL = {
    "@architectures": "longtail.MRC.v1",
    "tok2vec": {**SMALL, "width": 32, "depth": 2, "window_size": 10},  # each token sees the query
    "hidden_width": 32,
}
DESCRIBED_MODEL = {"@architectures": "longtail.DescribedTypes.v1", "width": 16, "tok2vec": SMALL}
LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": 16, "upstream": "*"}
QUERIES = {"PER": "persons", "GEO": "towns and cities", "ART": "ships", "NAT": "storms"}
WEAK = ["NAT", "ART"]
MOM = {"@losses": "longtail.MoM.v1", "lam": 0.3, "base": {"@losses": "longtail.Focal.v1", "gamma": 2.0}}
HEADS: dict[str, dict] = {
    "softmax": {},
    "softmax-biluo": {"scheme": "BILUO"},
    "sigmoid": {"head": "sigmoid"},
    "crf": {"head": "crf"},
    "crf-biluo": {"head": "crf", "scheme": "BILUO"},
    "crf-mom": {"head": "crf", "loss": {"@losses": "longtail.MoM.v1", "lam": 0.5}},
    "two_task": {"head": "two_task"},
    "two_task-alternating": {"head": "two_task", "loss": {"@losses": "longtail.CompositionalAUC.v1"}},
}


# overrides of a config that trains in a second
TINY = {
    "training.max_steps": 12,
    "training.eval_frequency": 6,
    "training.optimizer.learn_rate": 0.02,
    "components.tok2vec.model.width": 32,
    "components.tok2vec.model.depth": 1,
    "components.tok2vec.model.embed_size": 200,
}


def small_ner(**settings):
    parser = {"@architectures": "spacy.TransitionBasedParser.v2", "state_type": "ner", "tok2vec": SMALL}
    sizes = {"hidden_width": 16, "maxout_pieces": 2, "use_upper": True, "extra_state_tokens": False}
    return {"model": {**parser, **sizes}, **settings}


def one_pipe(factory: str = "longtail_token_ner", name: str = "ner", **config) -> Language:
    """A pipeline of one component, untrained. config: Settings of the component."""
    nlp = blank()
    nlp.add_pipe(factory, name=name, config=config)
    return nlp


def train(nlp: Language, steps: int = 12, seed: int = 0, drop: float = 0.1, **initialize):
    """Seeded training; returns the loss of each step."""
    fix_random_seed(seed)
    data = examples(nlp)
    for name, settings in initialize.items():
        nlp.config["initialize"]["components"][name] = settings
    optimizer = nlp.initialize(lambda: examples(nlp))
    optimizer.learn_rate = 0.01
    random.seed(seed)
    np.random.seed(seed)
    history = []
    for _ in range(steps):
        losses: dict[str, float] = {}
        nlp.update(
            [Example(eg.predicted.copy(), eg.reference) for eg in data],
            sgd=optimizer,
            drop=drop,
            losses=losses,
        )
        history.append(losses)
    return history


def train_further(
    nlp: Language, data: list[Example] | None = None, steps: int = 40, learn_rate: float = 0.01
) -> dict[str, float]:
    """Continue the training of a pipeline, by default on the toy corpus; return the last losses."""
    optimizer = nlp.resume_training()
    optimizer.learn_rate = learn_rate
    for _ in range(steps):
        losses = nlp.update(data or examples(nlp), sgd=optimizer, losses={})
    return losses


def from_bytes(nlp: Language) -> Language:
    """Return a copy of a pipeline, made from its config and its bytes."""
    return blank().from_config(nlp.config).from_bytes(nlp.to_bytes())


def reloaded(nlp: Language, folder: Path) -> Language:
    """Save a pipeline to a folder, and load it from there."""
    nlp.to_disk(folder)
    return spacy.load(folder)


_TRAINED: dict[str, tuple] = {}


def trained_once(build: Callable[..., Language], steps: int, drop: float = 0.1, **settings):
    """A pipeline that is trained once for all tests with the same settings, and loaded for each.

    RETURNS (tuple[Language, list]): A pipeline of the test's own, and the loss of each step.
    """
    key = repr((build.__module__, build.__name__, steps, drop, settings))
    if key not in _TRAINED:
        nlp = build(**settings)
        history = train(nlp, steps, drop=drop)
        _TRAINED[key] = nlp.config, nlp.to_bytes(), history
    config, data, history = _TRAINED[key]
    return English.from_config(config).from_bytes(data), history


def params(pipe) -> list[np.ndarray]:
    """The weights of a pipe; none of one without a model."""
    if hasattr(pipe, "gliner"):
        return [weights.numpy().copy() for weights in pipe.gliner.model.state_dict().values()]
    if not hasattr(pipe, "model"):
        return []
    return [
        np.asarray(layer.get_param(name)).copy()
        for layer in pipe.model.walk()
        for name in layer.param_names
        if layer.has_param(name)
    ]


def same_weights(first: list[np.ndarray], second: list[np.ndarray]) -> bool:
    """Return whether two lists, as `params` returns them, are equal to the last bit."""
    return len(first) == len(second) and all(map(np.array_equal, first, second))


def tiny_bert(
    folder: Path,
    n_positions: int = 512,
    others: Iterable[str] = (),
    width: int = 16,
    depth: int = 1,
    spells: bool = False,
) -> Path:
    """Write a BERT with random weights, as transformers has them.

    It knows the words of the toy corpus and `others`, and cuts texts after n_positions subwords.

    spells (bool): Whether it spells words that it does not know, so that it tells all words apart.
    """
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder.mkdir(parents=True, exist_ok=True)
    words = toy_words()
    subwords = {f"##{letter}" for letter in ascii_lowercase} if spells else set()
    known = words.union(ascii_lowercase, subwords, others)
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted(known)]
    (folder / "vocab.txt").write_text("\n".join(vocab), encoding="utf8")
    BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=n_positions).save_pretrained(folder)
    sizes = {"vocab_size": len(vocab), "hidden_size": width, "intermediate_size": 2 * width}
    sizes |= {"num_hidden_layers": depth, "num_attention_heads": 2}
    config = BertConfig(max_position_embeddings=n_positions, **sizes)
    torch.manual_seed(0)
    BertModel(config).save_pretrained(folder)
    return folder


def tiny_cnn(folder: Path) -> Path:
    """A random CNN as `pretrain` writes its pipeline. It knows the toy corpus's words."""
    import torch

    from spacy_longtail.pretraining.cnn import CNN, CNNBiEncoder, build_cnn

    subwords = [*sorted(toy_words() | set(ascii_lowercase)), *(f"##{x}" for x in ascii_lowercase)]
    torch.manual_seed(0)
    cnn = CNN(torch.randn(len(subwords), 16), (100, 50, 50, 50), width=96, depth=1)
    model = CNNBiEncoder(cnn, width=256)
    table = SubwordTable(NO_SUBWORDS.vectors, subwords, True)
    nlp = spacy.blank("en")
    build_cnn(model, table, str(folder), nlp)
    nlp.to_disk(folder)
    return folder


def tiny_encoder(folder: Path, bert: Path) -> Path:
    """A pipeline as the transformer encoders are: its label encoder is a file of the folder."""
    from spacy_longtail.describers.label_encoder import FILE, label_weights
    from spacy_longtail.models.transformer import encoder_of

    nlp = spacy.blank("en")
    model = {"@architectures": "longtail.Transformer.v1", "name": str(bert)}
    nlp.add_pipe("tok2vec", config={"model": model})
    (folder / "tok2vec").mkdir(parents=True)
    tok2vec = nlp.get_pipe("tok2vec").model
    tok2vec.initialize()
    (folder / "tok2vec" / "model").write_bytes(tok2vec.to_bytes())
    (folder / "meta.json").write_text("{}")
    (folder / FILE).write_bytes(label_weights(encoder_of(tok2vec), encoder_of(tok2vec), 8))
    describe = {"@misc": "longtail.LabelEncoder.v1", "name": str(folder)}
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": encoder_of(tok2vec).width}
    described = {"@architectures": "longtail.DescribedTypes.v1", "residual": True, "tok2vec": listener}
    nlp.add_pipe("longtail_token_ner", name="ner", config={"model": described, "describe": describe})
    nlp.config["initialize"]["components"]["ner"] = {"labels": ["person", "ship"]}
    doc = nlp.make_doc("Jon saw the Fram")
    nlp.initialize(lambda: [Example.from_dict(doc, {"entities": []})])
    nlp.to_disk(folder)
    return folder


def tiny_gliner(
    folder: Path, max_len: int = 40, n_positions: int = 128, seed: int = 2, **settings: Any
) -> Path:
    """A random GLiNER, written as its package has them. It finds something in most sentences.

    It reads max_len words at once, of at most n_positions pieces with the words for the types, and
    knows entities of up to three words. settings (Any): Of gliner's config; and bi_encoder, which
    reads the types by themselves.
    """
    import torch
    from gliner import GLiNERConfig
    from gliner.model import GLiNER

    encoder = str(tiny_bert(folder / "encoder", n_positions))
    if settings.pop("bi_encoder", False):
        settings["labels_encoder"] = encoder
    sizes = {"hidden_size": 16, "max_width": 3, "max_len": max_len, "dropout": 0.0, **settings}
    kind = GLiNER._get_gliner_class(GLiNERConfig(model_name=encoder, **sizes))
    model = kind.load_from_config(kind.config_class(model_name=encoder, **sizes))
    rng = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weights in model.model.parameters():
            if weights.ndim > 1:  # larger than they are drawn: scores differ
                weights.copy_(torch.randn(weights.shape, generator=rng) * 1.3 / weights.shape[-1] ** 0.5)
    model.save_pretrained(folder, safe_serialization=True)
    shutil.rmtree(encoder)  # what is saved needs nothing else
    return folder


@cache
def shared_gliner() -> str:
    """The folder of a tiny GLiNER that all tests of a process read."""
    folder = tempfile.TemporaryDirectory(prefix="gliner")
    _KEPT.append(folder)
    return str(tiny_gliner(Path(folder.name)))


_KEPT: list[tempfile.TemporaryDirectory] = []  # until the process ends


def toy_vectors(nlp: Language, width: int = 8) -> Language:
    """Give a pipeline a vector for each word of the toy corpus but those with a capital M."""
    rng = np.random.default_rng(0)
    for word in sorted({t.text for s in SENTENCES for t in parse(nlp, s)}):
        if not word.startswith("M"):
            nlp.vocab.set_vector(word, rng.standard_normal(width).astype("f"))
    return nlp


def toy_table(width: int = 8) -> SubwordTable:
    """Random vectors of the toy corpus's words."""
    known = sorted(toy_words())
    vectors = np.random.default_rng(0).standard_normal((len(known), width)).astype("f")
    return SubwordTable(eight_bit(vectors), known, True)


def toy_encoder(folder: Path) -> Path:
    """An encoder over the subword vectors of `toy_table`."""
    nlp = blank()
    embed = {"@architectures": "longtail.RichEmbed.v1", "width": 8, "subwords": str(folder)}
    encode = {"@architectures": "spacy.MaxoutWindowEncoder.v2", "width": 8, "depth": 1}
    encode |= {"window_size": 1, "maxout_pieces": 2}
    model = {"@architectures": "spacy.Tok2Vec.v2", "embed": embed, "encode": encode}
    pipe = nlp.add_pipe("tok2vec", config={"model": model})
    for node in pipe.model.walk():
        if node.name == NAME:
            node.attrs["subwords"] = toy_table()
    nlp.initialize()
    nlp.to_disk(folder)
    return folder


def blank() -> Language:
    return spacy.blank("en")
