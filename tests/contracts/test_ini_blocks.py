"""Every ini block of README.md and docs/ trains, in a fresh config by docs/README.md's rules.

Comments on the lines before its fence say what a block is and what it needs:

    <!-- block: plain -->         its name, for other blocks
    <!-- on: plain thesaurus -->  what is put in first, in order: named blocks, keys of PREPARED
"""

import io
import re
import warnings
from collections.abc import Callable
from configparser import ConfigParser
from functools import cache, reduce
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import srsly
from spacy import util
from spacy.cli.init_config import init_config
from spacy.language import Language
from spacy.tokens import DocBin
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import registry
from thinc.api import Config

from spacy_longtail import convert_ner
from spacy_longtail.corpus.cutting import write_soft
from spacy_longtail.corpus.names import write_names
from spacy_longtail.corpus.parts import write_docs
from spacy_longtail.training.averaging import average
from tests.util import ROOT, SENTENCES, blank, new_file, parse, tiny_bert, toy_vectors

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = {page.stem if page.parent != ROOT else "": page.read_text(encoding="utf8") for page in PAGES}
FENCE = re.compile(r"((?:^<!-- [^\n]* -->\n)*)^```ini\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!-- (block|on): (.*) -->")
NEEDS = {
    "torch": ("longtail.BiLSTM.v1", "longtail.RNNCNNGate.v1"),
    "spacy_transformers": ("spacy-transformers.",),
    "spacy_llm": ("llm_ner",),
}
EXPECTED = {
    "LW012",  # the toy corpus is small: not every type is among 100 sentences
    "LW080",  # docs/gate.md says that it comes where the primary learns the rare types, too
}

MORE_SENTENCES = [  # with the other types of Field Notes, which the docs write about
    "The [Red Cross|ORG] opened an office in [Norway|GPE] in [March|TIM] .",
    "[Jon Berg|PER] rowed in the [Harbour Race|EVE] on [Sunday|TIM] .",
    "It was dark by four , and the road home was long and wet .",
    "They ate what was left of the bread , then slept .",
]

Sections = dict[str, dict[str, str]]  # name of a section to its lines, values as they are written


class Block(NamedTuple):
    where: str  # page and line
    text: str
    name: str | None = None
    on: tuple[str, ...] = ()


def read_blocks() -> list[Block]:
    found = []
    for page, text in TEXTS.items():
        for match in FENCE.finditer(text):
            said = dict(COMMENT.findall(match[1]))
            where = f"{page or 'README'}:{text[: match.start(2)].count(chr(10))}"
            on = tuple(said.get("on", "").split())
            found.append(Block(where, match[2], said.get("block"), on))
    return found


BLOCKS = read_blocks()
NAMED = {block.name: block for block in BLOCKS if block.name}
each_block = pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.where)


# What a reader does by hand


def sections(text: str) -> Sections:
    parser = ConfigParser(interpolation=None)
    parser.optionxform = str  # keeps capitals
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser.sections()}


def written(config: Sections) -> str:
    parts = [[f"[{name}]", *(f"{k} = {v}" for k, v in lines.items())] for name, lines in config.items()]
    return "\n\n".join("\n".join(part) for part in parts)


def function_of(lines: dict[str, str]) -> set[tuple[str, str]]:
    return {(key, value) for key, value in lines.items() if key.startswith("@") or key == "source"}


def put(block: Sections, config: Sections) -> Sections:
    """The rules of docs/README.md, but [nlp] and [training] are replaced like any other section."""
    merged = {name: dict(lines) for name, lines in config.items()}
    for name, lines in block.items():
        if function_of(lines) - function_of(config.get(name, {})):  # rule 3
            merged = {n: v for n, v in merged.items() if not n.startswith(f"{name}.")}
    for name in block:
        above, _, setting = name.rpartition(".")
        merged.get(above, {}).pop(setting, None)  # rule 2
    return {**merged, **block}  # rule 1


def put_on(names: tuple[str, ...], config: Sections) -> Sections:
    for name in names:
        if name in NAMED:
            config = put(sections(NAMED[name].text), put_on(NAMED[name].on, config))
    return config


def merge(block: Block, config: Sections) -> Sections:
    return put(sections(block.text), put_on(block.on, config))


@cache
def stock_text() -> str:
    config = init_config(lang="en", pipeline=["ner"], optimize="efficiency", gpu=False)
    return config.to_str(interpolate=False)


def stock() -> Sections:
    return sections(stock_text())


def small_stock() -> Sections:
    config = stock()
    config["components.tok2vec.model.encode"].update(width="16", depth="1")
    config["components.tok2vec.model.embed"].update(rows="[100, 100, 100, 100]")
    return config


def load(config: Sections, settings: dict[str, Any]) -> Config:
    """As `spacy train` loads a config, with settings on the command line."""
    Path("config.cfg").write_text(written(config), encoding="utf8")
    own = {
        "paths.train": "train.spacy",
        "paths.dev": "dev.spacy",
        "training.max_steps": 4,
        "training.eval_frequency": 4,
        "training.logger": {"@loggers": "test_ini_blocks.Evaluations.v1"},
    }
    return util.load_config("config.cfg", overrides={**own, **settings}, interpolate=False)


# What blocks need beside other blocks. Each function returns what the command line says of it.


def initialized(*on: str, **settings: Any) -> Language:
    return init_nlp(load(put_on(on, small_stock()), settings))


PREPARED: dict[str, Callable[[], dict[str, str]]] = {}


def prepared(function: Callable[[], dict[str, str]]) -> Callable[[], dict[str, str]]:
    PREPARED[function.__name__] = function
    return function


@prepared
def large_corpus() -> dict[str, str]:
    return {"paths.train": "large.spacy"}


@prepared
def soft_targets() -> dict[str, str]:
    docs = list(DocBin().from_disk("train.spacy").get_docs(blank().vocab))
    for doc in docs:
        write_soft(doc, ["O"], np.zeros((len(doc), 1)))
    write_docs(Path("soft.spacy"), docs)
    return {"paths.train": "soft.spacy"}


@prepared
def thesaurus() -> dict[str, str]:
    new_file(Path("assets/synonyms.tsv"), "rain\tdrizzle\nhelped\tdid good\n")
    return {}


@prepared
def names() -> dict[str, str]:
    write_names(Path("names.jsonl"), {"GEO": [["Oslo"], ["Key", "West"]]})
    return {}


@prepared
def labels() -> dict[str, str]:
    Path("labels").mkdir()
    srsly.write_json("labels/ner.json", initialized().get_pipe("ner").label_data)
    return {}


@prepared
def vectors() -> dict[str, str]:
    toy_vectors(blank()).to_disk("vectors")
    return {"paths.vectors": "vectors"}


@prepared
def transformer_model() -> dict[str, str]:
    return {"paths.transformer": str(tiny_bert(Path("bert")))}


@prepared
def base() -> dict[str, str]:
    initialized("token_ner").to_disk("base")
    return {"paths.base": "base"}


@prepared
def ensemble() -> dict[str, str]:
    nlp, other = (initialized("token_ner", **{"system.seed": seed}) for seed in (0, 1))
    average([nlp, other], ["first", "other"])
    nlp.to_disk("ensemble")
    return {"paths.ensemble": "ensemble"}


@prepared
def converted() -> dict[str, str]:
    nlp = initialized()
    convert_ner(nlp, "ner", {"loss": {"@losses": "longtail.Focal.v1"}})
    nlp.to_disk("converted")
    return {}


@prepared
def pretrained() -> dict[str, str]:
    config = put_on(("described",), stock())  # as wide as the block says
    config["components.tok2vec.model.embed"].update(rows="[100, 100, 100, 100]")
    init_nlp(load(config, {})).to_disk("pretrained")
    return {"paths.pretrained": "pretrained"}


@cache
def prepare(name: str) -> dict[str, str]:
    if name not in NAMED:
        return PREPARED[name]()
    return {key: value for other in NAMED[name].on for key, value in prepare(other).items()}


# Training


evaluations: list[dict[str, Any]] = []  # of the last training


def create_logger():
    def set_up(nlp, stdout, stderr):
        evaluations.clear()
        return lambda info: info and evaluations.append(info), lambda: None

    return set_up


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("blocks")
    nlp = blank()
    docs = [parse(nlp, text) for text in SENTENCES + MORE_SENTENCES]
    for name, copies in (("dev", 1), ("train", 4), ("large", 50)):
        DocBin(docs=docs * copies).to_disk(path / f"{name}.spacy")
    registry.loggers.register("test_ini_blocks.Evaluations.v1", func=create_logger)
    return path


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)


def run(block: Block) -> None:
    given = sections(block.text)
    settings = {key: value for name in block.on for key, value in prepare(name).items()}
    config = load(merge(block, small_stock()), settings)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        nlp = init_nlp(config)
        train(nlp, stdout=io.StringIO(), stderr=io.StringIO())
    check_trained(nlp)
    check_used(given, config, nlp)
    # a page may declare fewer types than these sentences have
    found = [str(w.message) for w in seen if "are not declared" not in str(w.message)]
    assert not [text for text in found if set(re.findall(r"\[(LW\d+)\]", text)) - EXPECTED]


def at(config: dict[str, Any], name: str) -> Any:
    return reduce(lambda node, part: node[part], name.split("."), config)


def check_trained(nlp: Language) -> None:
    last = evaluations[-1]
    assert last["step"] == 4
    assert all(isfinite(loss) for loss in last["losses"].values())
    frozen = nlp.config["training"]["frozen_components"]
    trained = {name for name, pipe in nlp.pipeline if getattr(pipe, "is_trainable", False)} - {*frozen}
    assert all(last["losses"][name] > 0 for name in trained & {"ner", "gate", "weak_ner"})


def check_used(given: Sections, config: Config, nlp: Language) -> None:
    """Each value of the block is one of the trained pipeline's, each component and score exists."""
    for name, lines in given.items():
        *above, last = name.split(".")
        if "source" not in lines and "@misc" not in lines:  # the config keeps what these have read
            assert {k: at(nlp.config, name)[k] for k in lines} == {k: at(config, name)[k] for k in lines}
        if above[-1:] == ["components"]:
            assert last in nlp.component_names
        if "@losses" in lines and last == "loss":
            loss = registry.losses.get(at(config, name)["@losses"])
            assert not isinstance(loss, type) or isinstance(nlp.get_pipe(above[-1]).loss, loss)
    assert set(given.get("training.score_weights", ())) <= set(evaluations[-1]["other_scores"])


@each_block
def test_a_block_works(block, here):
    text = written(merge(block, {}))
    for package, names in NEEDS.items():
        if any(name in text for name in names) and not find_spec(package):
            pytest.skip(f"needs {package}")
    run(block)


def test_no_block_is_passed_over():
    whole = "\n".join(TEXTS.values())
    assert len(BLOCKS) == len(re.findall(r"^\s*(?:```|~~~).*\bini\b", whole, flags=re.MULTILINE)) > 40
    assert {name for block in BLOCKS for name in block.on} <= {*NAMED, *PREPARED}
