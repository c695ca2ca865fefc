"""`distil` as a command: what it writes, that it resumes, what it refuses."""

import json
import random
import re
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import DocBin
from typer.testing import CliRunner

from spacy_longtail.cli import app
from spacy_longtail.corpus.descriptions import CorpusTypes, read_types, write_types
from spacy_longtail.corpus.folder import write_corpus
from spacy_longtail.corpus.soft import read_soft
from spacy_longtail.training.train import train_model
from spacy_longtail.types import ANNOTATED_TYPES
from spacy_longtail.unlabelled import comparison, passes
from spacy_longtail.unlabelled import distil as module
from spacy_longtail.unlabelled.comparison import (
    Distilled,
    headline,
    words_per_second,
    write_comparison,
)
from spacy_longtail.unlabelled.distil import Request, distil
from spacy_longtail.unlabelled.silver import Policy, Selection
from spacy_longtail.unlabelled.teacher import Pass, Teacher
from tests.pipes import gated  # noqa: F401  # registers components
from tests.util import blank, refused, tiny_bert, tiny_encoder, toy_corpus, toy_docs

CONFIGS = Path(__file__).parents[2] / "configs"
CONFIG = CONFIGS / "token_softmax.cfg"
TINY = {
    "training.max_steps": 12,
    "training.eval_frequency": 6,
    "training.optimizer.learn_rate": 0.02,
    "components.tok2vec.model.width": 32,
    "components.tok2vec.model.depth": 1,
    "components.tok2vec.model.embed_size": 200,
}
SET = [part for name, value in TINY.items() for part in ("--set", f"{name}={value}")]
DISTILLATION = '[components.ner.loss]\n@losses = "longtail.Distillation.v1"\nbase = null\n\n'


def soft_config(folder, name):
    """A config of the project with soft targets."""
    text = (CONFIGS / f"{name}.cfg").read_text(encoding="utf8").replace("loss = null\n", "", 1)
    path = folder / f"{name}.cfg"
    path.write_text(text.replace("[components.ner.scorer]", f"{DISTILLATION}[components.ner.scorer]", 1))
    return path


def pool_texts():
    rng = random.Random(0)
    people, places = ["Maria", "Jon Berg", "Old Maria"], ["Oslo", "Rome"]
    texts = [f"{rng.choice(people)} sailed to {rng.choice(places)} on day {i} ." for i in range(30)] + [
        f"The rain fell for {i} hours ." for i in range(20)
    ]
    return [*texts, "Oslo was quiet that night .", texts[0]]  # one of the gold corpus, one twice


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A gold corpus, a pool, and a trained teacher."""
    folder = tmp_path_factory.mktemp("distil")
    corpus = toy_corpus(folder / "gold", train=toy_docs(2))
    (folder / "pool.txt").write_text("\n".join(pool_texts()), encoding="utf8")
    train_model(CONFIG, corpus, folder / "teacher", overrides={**TINY, "training.max_steps": 40})
    return folder


def arguments(place, output, *others, config=CONFIG, pool="pool.txt"):
    paths = ["distil", place / "teacher/model-best", place / pool, "--student", config]
    return [str(a) for a in [*paths, "--gold", place / "gold", "-o", output, *SET, *others]]


def run(*given, **named):
    result = CliRunner().invoke(app, arguments(*given, **named))
    assert result.exit_code == 0, result.output
    return result


def request_for(place, **given):
    settings = {"overrides": TINY, "policy": Policy(threshold=0.5), "compare": False, **given}
    return Request(
        teacher=place / "teacher/model-best",
        pool=place / "pool.txt",
        config=CONFIG,
        gold=place / "gold",
        **settings,
    )


def docs_in(path):
    return list(DocBin().from_disk(path).get_docs(blank().vocab))


@pytest.fixture(scope="module")
def done(place):
    output = place / "out"
    result = run(place, output, "--threshold", "0.6", "--gold-copies", "3")
    return output, result


def test_what_is_written(place, done):
    output, result = done
    found = Distilled.model_validate_json((output / "distil.json").read_bytes())
    assert [s.name for s in found.systems] == ["teacher", "student", "student without silver"]
    silver = found.rounds[0].silver
    assert silver.texts == 52 and silver.known == 1 and silver.sentences == 52
    assert silver.mentions["GEO"] > 0 and 0 <= silver.missing < silver.tokens
    assert all(s.megabytes > 0.01 and s.words_per_second > 0 for s in found.systems)
    teacher, student, _ = found.systems
    assert teacher.speed_ratio == 1.0
    assert student.speed_ratio == pytest.approx(
        student.words_per_second / teacher.words_per_second, 0.01
    )
    assert f"{student.speed_ratio:.1f} times its speed" in headline(found)
    assert "of its size on disk" in headline(found)
    assert found.systems[1].model == str(output / "student/model-best")
    for name in ("distil.md", "distil.html"):
        text = (output / name).read_text(encoding="utf8")
        assert "student without silver" in text and headline(found).split(",")[0] in text
    assert "student without silver" in result.output and "1 known" in result.output


def test_the_corpus_is_gold_and_silver(place, done):
    output, _ = done
    gold, dev = (docs_in(place / "gold" / f"{part}.spacy") for part in ("train", "dev"))
    train = docs_in(output / "corpus/train.spacy")
    n = 3 * len(gold)
    assert [doc.to_json() for doc in train[:n]] == [doc.to_json() for doc in gold * 3]
    assert [doc.to_json() for doc in docs_in(output / "corpus/dev.spacy")] == [d.to_json() for d in dev]
    silver = train[n:]
    found = json.loads((output / "distil.json").read_text())["rounds"][0]["silver"]
    assert found["gold_copies"] == 3
    assert len(silver) == found["silver"] == len({doc.text for doc in silver})
    assert sum(len(doc) for doc in silver) == found["tokens"]
    missing = sum(int((doc.to_array("ENT_IOB") == 0).sum()) for doc in silver)
    assert missing == found["missing"]
    assert "Oslo was quiet that night ." not in {doc.text for doc in silver}
    assert not any(read_soft(doc) for doc in silver)


@given(st.integers(1, 10**6), st.integers(0, 10**7))
def test_gold_has_half_as_many_words_as_silver_unless_that_takes_too_many_copies(gold, silver):
    copies = module.copies_for(gold, silver)
    assert 2 <= copies <= 20
    assert copies == 20 or 2 * copies * gold >= silver
    assert copies == 2 or 2 * (copies - 1) * gold < silver


def test_a_few_gold_documents_are_copied_as_often_as_silver_asks_for(place, tmp_path):
    gold = tmp_path / "gold"
    shutil.copytree(place / "gold", gold)
    first = docs_in(gold / "train.spacy")[:1]
    DocBin(docs=first, store_user_data=True).to_disk(gold / "train.spacy")
    options = ["--threshold", "0.6", "--no-compare", "--set", "training.max_steps=4"]
    said = run(place, tmp_path / "out", *options, "--gold", gold).output
    found = json.loads((tmp_path / "out/silver.json").read_text())
    copies = found["gold_copies"]
    assert copies == module.copies_for(len(first[0]), found["tokens"]) > 2
    train = docs_in(tmp_path / "out/corpus/train.spacy")
    assert [doc.text for doc in train[: copies + 1]].count(first[0].text) == copies
    assert len(train) == copies + found["silver"]
    assert f"each gold document {copies} times" in " ".join(said.split())


def test_what_is_finished_is_not_done_again(place, done, monkeypatch):
    output, _ = done
    before = (output / "distil.json").read_bytes()
    for name in ("train_model", "annotate"):
        monkeypatch.setattr(module, name, lambda *a, **k: pytest.fail("was run again"))
    result = run(place, output, "--threshold", "0.6", "--gold-copies", "3", "--json")
    first, again = json.loads(before), json.loads(result.stdout)
    for found in (first, again):
        for system in found["systems"]:
            del system["words_per_second"], system["speed_ratio"]
    assert {**first, "left_out": ""} == again


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_what_is_left_out_of_the_pool_is_said(place, tmp_path, options):
    rows = [{"text": text} for text in pool_texts()]
    (tmp_path / "pool.jsonl").write_text("\n".join(json.dumps(row) for row in [*rows, {"text": ""}]))
    given = ["--threshold", "0.6", "--no-compare", "--set", "training.max_steps=4", *options]
    said = run(place, tmp_path / "out", *given, pool=tmp_path / "pool.jsonl").stdout
    assert "empty 1 (texts 1)" in (json.loads(said)["left_out"] if options else said)


def test_an_interrupted_run_goes_on(place, tmp_path, monkeypatch):
    calls = []

    def killed(*given, **named):
        calls.append(1)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "train_model", killed)
    with pytest.raises(KeyboardInterrupt):
        distil(request_for(place), tmp_path / "out")
    monkeypatch.undo()
    monkeypatch.setattr(module, "annotate", lambda *a: pytest.fail("the pool was read again"))
    found, _ = distil(request_for(place), tmp_path / "out")
    assert calls and found.best == 1 and [s.name for s in found.systems] == ["teacher", "student"]


class Reads:
    """Counts the texts that teachers read, and interrupts the pool at one of them."""

    def __init__(self, monkeypatch, at=None):
        self.n, self.at, self.pool, self.read = 0, at, module.read_pool, Teacher.read
        monkeypatch.setattr(module, "read_pool", self.texts)
        monkeypatch.setattr(Teacher, "read", lambda *given: self.counted(*given))

    def texts(self, *given):
        for i, doc in enumerate(self.pool(*given)):
            if i == self.at:
                raise KeyboardInterrupt
            yield doc

    def counted(self, teacher, docs, *given):
        self.n += len(docs)
        return self.read(teacher, docs, *given)


def test_an_interrupted_pool_is_taken_up(place, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_train", lambda *a: shutil.copytree(place / "teacher", a[2]))
    monkeypatch.setattr(passes, "BATCH", 8)
    request = request_for(place, batch_size=1)
    distil(request, tmp_path / "whole")
    output, state = tmp_path / "out", tmp_path / "out.state"
    with monkeypatch.context() as patched:
        first = Reads(patched, at=30)
        with pytest.raises(KeyboardInterrupt):
            distil(request, output)
    assert state.is_file() and not output.exists() and first.n == 24
    changed = {**vars(request), "policy": Policy(threshold=0.6)}
    with pytest.raises(ValueError, match=r"L507.*out\.state.*other settings"):
        distil(Request(**changed), output)
    with monkeypatch.context() as patched:
        second, said = Reads(patched), []
        distil(request, output, said.append)
    assert first.n + second.n == 52 and not state.exists()
    assert any("interrupted" in text for text in said)
    for name in ("silver.json", "settings.json"):
        assert (output / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    one, two = (docs_in(tmp_path / name / "corpus/train.spacy") for name in ("whole", "out"))
    assert [doc.to_json() for doc in one] == [doc.to_json() for doc in two]


def test_a_pool_that_changed_is_not_gone_on_with(place, tmp_path, monkeypatch):
    pool = tmp_path / "pool.txt"
    shutil.copy(place / "pool.txt", pool)
    request = Request(**{**vars(request_for(place)), "pool": pool})
    with monkeypatch.context() as patched:
        Reads(patched, at=5)
        with pytest.raises(KeyboardInterrupt):
            distil(request, tmp_path / "out")
    pool.write_text("Another text .\n", encoding="utf8")
    with pytest.raises(ValueError, match=r"L507.*has changed"):
        distil(request, tmp_path / "out")


def test_a_pass_forgets_the_words_of_the_pool(place, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_train", lambda *a: shutil.copytree(place / "teacher", a[2]))
    monkeypatch.setattr(passes, "BATCH", 8)
    monkeypatch.setattr(passes, "ZONE", 1)
    pool = tmp_path / "pool.txt"
    pool.write_text("".join(f"{text} Zq{i}\n" for i, text in enumerate(pool_texts())), encoding="utf8")
    request, seen = Request(**{**vars(request_for(place)), "pool": pool}), []
    load = module.teacher_of

    def loaded(*given):
        seen.append(load(*given))
        return seen[-1]

    monkeypatch.setattr(module, "teacher_of", loaded)
    distil(request, tmp_path / "out")
    assert not any(f"Zq{i}" in seen[-1].nlp.vocab.strings for i in range(52))


def test_teachers_are_averaged(place, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_train", lambda *a: shutil.copytree(place / "teacher", a[2]))
    for name in ("same", "other"):
        shutil.copytree(place / "teacher/model-best", tmp_path / name)
    nlp = spacy.load(tmp_path / "other")
    nlp.get_pipe("ner").model.get_ref("output_layer").set_param("W", np.zeros((9, 32), "f"))
    nlp.get_pipe("ner").model.get_ref("output_layer").set_param("b", np.zeros(9, "f"))
    nlp.to_disk(tmp_path / "other")
    texts, lead, average = {}, [], module.average
    monkeypatch.setattr(module, "average", lambda *a: (lead.append(a[1]), average(*a)))
    for name, also in (("alone", ()), ("twice", ("same",))):
        request = request_for(
            place, also=tuple(tmp_path / a for a in also), rounds=2, policy=Policy(0.7)
        )
        found, _ = distil(request, tmp_path / name)
        docs = docs_in(tmp_path / name / "corpus/train.spacy")[16 * 2 :]
        texts[name] = {(doc.text, str([(e.text, e.label_) for e in doc.ents])) for doc in docs}
        teacher, student = found.systems
        assert teacher.megabytes == pytest.approx(student.megabytes * (1 + len(also)), rel=0.1)
        assert found.rounds[0].teacher.count(" + ") == len(also) == teacher.model.count(" + ")
        assert " + " not in found.rounds[1].teacher  # the student alone
    assert texts["alone"] == texts["twice"]
    assert set(lead) == {place / "teacher/model-best"}
    again = request_for(place, also=(tmp_path / "other",), rounds=2, policy=Policy(0.7))
    with pytest.raises(ValueError, match=r"L512.*also"):
        distil(again, tmp_path / "alone")
    with pytest.raises(ValueError, match="L510"):  # the mean with a teacher that knows nothing
        distil(again, tmp_path / "unsure")


def test_an_encoder_teaches_types_by_their_descriptions(place, tmp_path):
    """Nobody has trained it for the types of the corpus. Their scores stay beside pseudo-labels."""
    pytest.importorskip("transformers", reason="needs the extra 'transformers'")
    encoder = tiny_encoder(tmp_path / "encoder", tiny_bert(tmp_path / "bert"))
    request = replace(request_for(place, policy=Policy(threshold=0.01)), teacher=encoder)
    found, _ = distil(request, tmp_path / "out")
    types = read_types(place / "gold")
    assert found.rounds[0].silver.mentions.keys() == set(types.labels) and found.rounds[0].silver.silver
    assert not found.rounds[0].silver.lacking
    assert [system.name for system in found.systems] == ["teacher", "student"]
    docs = docs_in(tmp_path / "out/corpus/train.spacy")
    read = [doc for doc in docs if doc.ents and "entity_scores" in doc.spans]
    for doc in read:
        group = doc.spans["entity_scores"]
        assert [(s.start, s.end, s.label) for s in group] == [
            (e.start, e.end, e.label) for e in doc.ents
        ]
        assert len(group.attrs["scores"]) == len(group) and min(group.attrs["scores"]) >= 0.01
    assert read


def test_averages_that_are_refused(place, tmp_path):
    output = tmp_path / "out"
    refused(arguments(place, output, "--also", place / "teacher/model-best"), "L514", output)
    refused(arguments(place, output, "--also", tmp_path / "none"), "L720", output)
    nlp = blank()
    nlp.add_pipe("ner").add_label("GEO")
    nlp.initialize()
    nlp.to_disk(tmp_path / "stock")
    refused(arguments(place, output, "--also", tmp_path / "stock"), "L514", output)


class Clocked:
    """A pipeline that takes so many seconds for a text, by a clock that stands still otherwise."""

    def __init__(self, name, seconds, log):
        self.name, self.seconds, self.log = name, iter(seconds), log

    def pipe(self, texts):
        self.log.append((self.name, len(texts)))
        self.log.now += next(self.seconds)
        yield from texts


class Log(list):
    now = 0.0


def test_speeds_are_measured_side_by_side():
    log = Log()
    texts = ["one two"] * (comparison.WARM + 8)
    slow = Clocked("slow", [99.0, 9.0, 8.0, 10.0], log)  # what comes first is not timed
    fast = Clocked("fast", [50.0, 3.0, 2.0, 2.0], log)
    speeds = words_per_second([slow, fast], texts, 80, clock=lambda: log.now)
    assert speeds == [80 / 8.0, 80 / 2.0]
    warm = [("slow", comparison.WARM), ("fast", comparison.WARM)]
    assert log == [*warm, *[("slow", len(texts)), ("fast", len(texts))] * comparison.PASSES]


def test_a_slow_teacher_has_as_many_passes_as_its_student():
    log = Log()
    slow = Clocked("slow", [1.0, comparison.ENOUGH + 1.0], log)
    fast = Clocked("fast", [1.0, 1.0], log)
    assert words_per_second([slow, fast], ["a"], 1, clock=lambda: log.now)[1] == 1.0
    assert [name for name, _ in log] == ["slow", "fast"] * 2


def test_speed_is_of_a_sample_from_all_over_the_part(monkeypatch):
    docs = [blank().make_doc(f"Text {i} .") for i in range(10)]
    monkeypatch.setattr(comparison, "MOST", 12)
    assert comparison._texts(docs) == (["Text 0 .", "Text 3 .", "Text 6 .", "Text 9 ."], 12)
    monkeypatch.setattr(comparison, "MOST", 30)
    assert len(comparison._texts(docs)[0]) == 10


def test_other_settings_need_another_folder(place, done):
    output, _ = done
    before = (output / "settings.json").read_bytes()
    for options in (["--threshold", "0.7"], ["--threshold", "0.6", "--encoding", "cp1252"]):
        refused(arguments(place, output, "--gold-copies", "3", *options), "L512")
    assert (output / "settings.json").read_bytes() == before


@pytest.mark.parametrize("change", ["config", "pool", "pool as long", "teacher", "dev", "types"])
def test_another_content_needs_another_folder(place, tmp_path, change):
    """The same paths with something else in them: what was trained before is not of it."""
    for name in ("gold", "teacher"):
        shutil.copytree(place / name, tmp_path / name)
    shutil.copy(place / "pool.txt", tmp_path / "pool.txt")
    config = shutil.copy(CONFIG, tmp_path / "own.cfg")
    request = replace(request_for(tmp_path), config=Path(config))
    module.checked(request, tmp_path / "out")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/settings.json").write_text(json.dumps(request.about()), encoding="utf8")
    module.checked(request, tmp_path / "out")
    if change == "dev":
        toy_corpus(tmp_path / "gold", train=toy_docs(2), dev=toy_docs(3))
    elif change == "types":
        write_types(tmp_path / "gold", read_types(tmp_path / "gold")._replace(tail=[]))
    elif change == "pool as long":
        path = tmp_path / "pool.txt"
        path.write_text(path.read_text("utf8").replace("Oslo", "Rome"), encoding="utf8")
    else:
        path = {
            "config": tmp_path / "own.cfg",
            "pool": tmp_path / "pool.txt",
            "teacher": tmp_path / "teacher/model-best/meta.json",
        }[change]
        path.write_text(path.read_text("utf8") + "\n", encoding="utf8")
    with pytest.raises(ValueError, match=f"L512.*{change.split()[0]}"):
        module.checked(request, tmp_path / "out")


def test_a_pool_is_known_by_names_and_contents(place, tmp_path):
    def content(files):
        shutil.rmtree(tmp_path / "pool", ignore_errors=True)
        (tmp_path / "pool").mkdir()
        for name, text in files.items():
            (tmp_path / "pool" / name).write_text(text, encoding="utf8")
        return replace(request_for(place), pool=tmp_path / "pool").about()["pool_content"]

    first = content({"a.txt": "Oslo .\n", "b.txt": "Rome .\n"})
    assert content({"b.txt": "Rome .\n", "a.txt": "Oslo .\n"}) == first
    others = [
        {"a.txt": "Rome .\n", "b.txt": "Oslo .\n"},
        {"a.txt": "Oslo .\n", "c.txt": "Rome .\n"},
        {"a.txt": "Oslo .\nR", "b.txt": "ome .\n"},
        {"a.txt": "Oslo .\n"},
    ]
    assert first not in [content(files) for files in others]
    pool = tmp_path / "one.txt"
    pool.write_text("Oslo .\n", encoding="utf8")
    before = replace(request_for(place), pool=pool).about()["pool_content"]
    pool.touch()
    assert replace(request_for(place), pool=pool).about()["pool_content"] == before


def test_rounds_count_what_they_leave_out_once(place, tmp_path, monkeypatch):
    pool = "\n".join([*pool_texts(), "x" * 1_000_001])
    (tmp_path / "pool.txt").write_text(pool, encoding="utf8")
    monkeypatch.setattr(module, "_train", lambda *a: shutil.copytree(place / "teacher", a[2]))
    request = replace(request_for(place, rounds=2), pool=tmp_path / "pool.txt")
    found, events = distil(request, tmp_path / "out")
    assert len(found.rounds) == 2 and events.counts["too long"]["texts"] == 1


@pytest.mark.parametrize("name", ["token_softmax", "token_crf"])
def test_soft_targets_reach_the_student(place, tmp_path, name):
    config = soft_config(tmp_path, name)
    output = tmp_path / "out"
    run(place, output, "--soft", "--threshold", "0.6", config=config)
    train = docs_in(output / "corpus/train.spacy")
    soft = [doc for doc in train if read_soft(doc) is not None]
    found = json.loads((output / "distil.json").read_text())
    assert len(soft) == found["rounds"][0]["silver"]["silver"]
    names = [s["name"] for s in found["systems"]]
    assert names == ["teacher", "student", "student without silver"]  # which has no soft targets
    for doc in soft:
        p = np.exp(read_soft(doc).log_p)
        assert p.shape == (len(doc), 9) and p.sum(axis=1) == pytest.approx(1.0, abs=5e-3)


def test_a_type_the_teacher_cannot_read_is_left_open(place, tmp_path):
    folder = tmp_path / "gold"
    types = CorpusTypes(["GEO", "PER", "EVE"], ["EVE"], "en", "words")
    docs = toy_docs()
    for doc in docs:
        doc.set_ents([e for e in doc.ents if e.label_ in types.labels])
    write_corpus(folder, {"train": docs, "dev": docs[:4], "test": docs[4:]}, types)
    (tmp_path / "pool.txt").write_text("\n".join([*pool_texts(), "Maria found the Fram ."]))
    shutil.copytree(place / "teacher", tmp_path / "teacher")
    result = run(tmp_path, tmp_path / "out", "--threshold", "0.3", "--no-compare")
    record = json.loads((tmp_path / "out/silver.json").read_text())
    silver = docs_in(tmp_path / "out/corpus/train.spacy")[record["gold_copies"] * len(docs) :]
    assert {tuple(doc.user_data[ANNOTATED_TYPES]) for doc in silver} == {("GEO", "PER")}
    assert {e.label_ for doc in silver for e in doc.ents} <= {"GEO", "PER"}
    assert "The teacher cannot read EVE" in result.output
    assert record["lacking"] == ["EVE"] and set(record["unknown"]) <= {"ART", "NAT"}


def test_processes_and_batches_change_nothing(place, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_train", lambda *a: shutil.copytree(place / "teacher", a[2]))
    for name, settings in (("one", {}), ("two", {"n_process": 2, "batch_size": 7})):
        distil(request_for(place, **settings), tmp_path / name)
    one, two = (docs_in(tmp_path / name / "corpus/train.spacy") for name in ("one", "two"))
    assert [doc.to_json() for doc in one] == [doc.to_json() for doc in two]


def test_texts_are_cut_into_sentences(place, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_train", lambda *a: shutil.copytree(place / "teacher", a[2]))
    pool = tmp_path / "pool.txt"
    pool.write_text("Maria sailed to Rome . It was late . Jon Berg sailed to Oslo .", encoding="utf8")
    request = request_for(place, split=True, policy=Policy(threshold=0.01))
    distil(Request(**{**vars(request), "pool": pool}), tmp_path / "out")
    record = json.loads((tmp_path / "out/silver.json").read_text())
    assert record["texts"] == 1 and record["sentences"] == 3


@pytest.mark.parametrize(
    ("dev", "n_rounds", "best"),
    [
        ([0.5, 0.6, 0.7], 3, 3),
        ([0.5, 0.4, 0.9], 2, 1),
        ([0.5, 0.6, 0.55], 3, 2),
        ([0.5, 0.5, 0.5], 3, 1),
    ],
)
def test_self_training_stops_when_dev_falls(place, tmp_path, monkeypatch, dev, n_rounds, best):
    """Scores of the rounds are given; students are copies of the teacher."""
    given = iter(dev)
    evaluate = module.evaluate_model

    def scored(model, data, *rest):
        if Path(data).stem == "dev":
            return SimpleNamespace(scores=SimpleNamespace(ents_macro_f=next(given)))
        return evaluate(model, data, *rest)

    monkeypatch.setattr(module, "evaluate_model", scored)
    monkeypatch.setattr(module, "_train", lambda *a: shutil.copytree(place / "teacher", a[2]))
    output = tmp_path / "out"
    found, _ = distil(request_for(place, rounds=3), output)
    assert len(found.rounds) == n_rounds and found.best == best
    folders = [output, output / "round-2", output / "round-3"][:n_rounds]
    assert [r.student for r in found.rounds] == [str(f / "student/model-best") for f in folders]
    assert [r.teacher for r in found.rounds[1:]] == [r.student for r in found.rounds[:-1]]
    assert found.systems[1].model == found.rounds[best - 1].student
    write_comparison(found, output)
    assert re.search(rf"\| {best} \(best\) \|", (output / "distil.md").read_text())


def test_a_round_without_silver_is_the_last(place, tmp_path, monkeypatch):
    annotate = module.annotate

    def once(*given):
        monkeypatch.setattr(module, "annotate", lambda *a: Pass(Selection(Policy(), ())))
        return annotate(*given)

    monkeypatch.setattr(module, "annotate", once)
    monkeypatch.setattr(module, "_train", lambda *a: shutil.copytree(place / "teacher", a[2]))
    said = []
    found, _ = distil(request_for(place, rounds=3), tmp_path / "out", said.append)
    assert len(found.rounds) == 1 and any("no silver" in text for text in said)


def test_bad_input_is_refused_before_any_work(place, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "train_model", lambda *a, **k: pytest.fail("trained"))
    output = tmp_path / "out"
    (tmp_path / "empty.txt").write_text("\n\n", encoding="utf8")
    (tmp_path / "no.cfg").write_text("nothing", encoding="utf8")
    (tmp_path / "other.txt").write_text("It was late .", encoding="utf8")
    refused(arguments(place, output, pool=tmp_path / "empty.txt"), "L403", output)
    refused(arguments(place, output, pool=tmp_path / "missing.txt"), "L402", output)
    refused(arguments(place, output, pool="gold/train.spacy"), "L510", output)
    refused(arguments(place, output, "--threshold", "1.0", pool=tmp_path / "other.txt"), "L510", output)
    refused(arguments(place, output, config=tmp_path / "no.cfg"), "L438", output)
    refused(arguments(place, output, config=tmp_path / "missing.cfg"), "L402", output)
    refused(arguments(place, output, "--soft"), "L513", output)
    taught = soft_config(tmp_path, "token_softmax")
    refused(arguments(place, output, config=taught), "L513", output)
    refused(arguments(place, output, "--rounds", "2", config=CONFIGS / "baseline.cfg"), "L509", output)
    refused(arguments(place, output, "--threshold", "0"), "L001", output)
    refused(arguments(place, output, "--floor", "9", "--cap", "3"), "L001", output)


def test_teachers_and_folders_are_checked(place, tmp_path):
    output = tmp_path / "out"
    given = arguments(place, output)
    refused(["distil", str(tmp_path), *given[2:]], "L720", output)
    nlp = blank()
    nlp.add_pipe("ner").add_label("GEO")
    nlp.initialize()
    nlp.to_disk(tmp_path / "stock")
    refused(["distil", str(tmp_path / "stock"), *given[2:]], "L509", output)
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs/notes.txt").write_text("mine")
    refused(arguments(place, tmp_path / "theirs"), "L437")
    assert [p.name for p in (tmp_path / "theirs").iterdir()] == ["notes.txt"]
    refused(arguments(place, place), "L436")
    refused(arguments(place, place / "gold/out"), "L436")
    (tmp_path / "out.state").mkdir()
    refused(arguments(place, output), "L436", output)
    (tmp_path / "out.state").rmdir()
    refused(arguments(place, output, "--set", "paths.train=x.spacy"), "L516", output)
    refused(arguments(place, output, "--set", "training.max_step=1"), "L438", output)
    bare = tmp_path / "gold"
    shutil.copytree(place / "gold", bare)
    (bare / "test.spacy").unlink()
    refused([*given, "--gold", str(bare)], "L402", output)
    others = CorpusTypes(["EVE"], ["EVE"], "en", "words")
    docs = toy_docs()[3:4]
    write_corpus(tmp_path / "eve", {"train": docs, "dev": docs, "test": docs}, others)
    refused([*given, "--gold", str(tmp_path / "eve")], "L511", output)


def rescued(place, folder, key="entity_scores"):
    """The teacher, and a rule behind a gate that gives no score; or that rule alone gives entities."""
    nlp = spacy.load(place / "teacher/model-best")
    if key is None:
        nlp.get_pipe("ner").cfg["scores_key"] = None
        nlp.replace_pipe("ner", "test_no_scores")
    nlp.add_pipe("test_open_gate")
    rule = {"factory": "test_ruler", "word": "rain"}
    nlp.add_pipe("longtail_gated_pipe", name="rescue", config={"pipe": rule, "labels": ["NAT", "ART"]})
    nlp.to_disk(folder)
    return folder


@Language.component("test_no_scores", assigns=["doc.ents"])
def without_entities(doc):
    return doc


def test_entities_without_a_score_are_told(place, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_train", lambda *a: shutil.copytree(place / "teacher", a[2]))
    request = replace(request_for(place), teacher=rescued(place, tmp_path / "teacher"))
    with pytest.warns(UserWarning, match=r"LW113.*20 of \d+.*NAT.*rescue.*secondary_scores_key"):
        found, _ = distil(request, tmp_path / "out")
    assert found.rounds[0].silver.unscored == {"NAT": 20}
    train = docs_in(tmp_path / "out/corpus/train.spacy")[2 * len(docs_in(place / "gold/train.spacy")) :]
    assert not any(t.ent_iob_ == "O" for doc in train for t in doc if t.text == "rain")


def test_a_pool_in_which_no_entity_has_a_score(place, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "train_model", lambda *a, **k: pytest.fail("trained"))
    teacher = rescued(place, tmp_path / "teacher", key=None)
    request = replace(request_for(place), teacher=teacher)
    with pytest.raises(ValueError, match=r"L576.*20 entities.*rescue.*secondary_scores_key"):
        distil(request, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_secondary_that_is_known_to_give_no_scores_is_told_before(place, tmp_path):
    nlp = spacy.load(place / "teacher/model-best")
    nlp.add_pipe("test_open_gate")
    nlp.add_pipe("longtail_gated_pipe", name="rescue", config={"pipe": {"factory": "entity_ruler"}})
    nlp.to_disk(tmp_path / "teacher")
    request = replace(request_for(place), teacher=tmp_path / "teacher")
    with pytest.warns(UserWarning, match=r"LW115.*rescue"):
        module.checked(request, tmp_path / "out")


@pytest.mark.parametrize("name", ["settings.json", "silver.json"])
def test_damaged_records_are_refused(place, done, tmp_path, name):
    output = tmp_path / "out"
    shutil.copytree(done[0], output)
    (output / name).write_text("{", encoding="utf8")
    refused(arguments(place, output, "--threshold", "0.6", "--gold-copies", "3"), "L512")
