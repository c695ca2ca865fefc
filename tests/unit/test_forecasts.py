"""How many mentions are needed: what is refused before training, what trials let expect, and how it is shown."""

import json
import random
import re
import warnings

import pytest
from spacy.training import Corpus
from typer.testing import CliRunner

from spacy_longtail.cli import app
from spacy_longtail.corpus.descriptions import CorpusTypes
from spacy_longtail.corpus.folder import write_corpus
from spacy_longtail.evaluation.labelling import Lift
from spacy_longtail.evaluation.learning_curve import Law
from spacy_longtail.readers import FewMentionsCorpus
from spacy_longtail.studies.matrix import Question
from spacy_longtail.studies.matrix.curves import read_curves
from spacy_longtail.studies.matrix.forecasts import forecast
from spacy_longtail.studies.trials.draws import MentionDraw
from spacy_longtail.studies.trials.mentions import count_train, default_sizes
from spacy_longtail.studies.trials.process import Outcome
from spacy_longtail.studies.trials.records import parse_record
from spacy_longtail.studies.trials.run import Matrix
from spacy_longtail.unlabelled.outcome import read_lift
from tests.unit.test_ledger import record_of
from tests.util import blank, parse, toy_corpus, toy_docs

pytest.importorskip("scipy", reason="needs the extra 'report'")

LAW = Law(0.9, 1.5, 0.5)  # 0.6 takes 25 mentions, 0.75 takes 100


@pytest.fixture
def corpus(tmp_path):
    """40 mentions of NAT in 160 sentences."""
    return toy_corpus(tmp_path / "tiny", train=toy_docs(20))


def records(law=LAW, sizes=(5, 10, 20, 40), runs=4, noise=0.02, method="crf", used=None, **given):
    luck = random.Random(0)
    found = []
    for n in sizes:
        for seed in range(runs):
            f = min(max(law.at(n) + luck.gauss(0, noise), 0.0), 1.0)
            draw = {"label": "NAT", "n_mentions": n}
            scores = {"ents_macro_f": f, "ents_per_type": {"NAT": {"p": f, "r": f, "f": f}}}
            own = {"n_mentions": n if used is None else used(n), "method": method, "draw": draw}
            found.append(record_of("k", seed=seed, dev=scores, test=scores, **own, **given))
    return found


def of(corpus, found, target=0.6, lift=None):
    (only,) = forecast(found, corpus, "NAT", Question(target, lift))
    return only


# --- the forecast


def test_what_more_mentions_bring(corpus):
    found = of(corpus, records(noise=0), target=0.75)
    assert (found.present, found.sentences, found.method) == (40, 160, "crf")
    assert [row.mentions for row in found.expected] == [40, 80, 160]
    for row in found.expected:
        assert row.low <= row.f1 <= row.high and row.f1 == pytest.approx(LAW.at(row.mentions), abs=1e-4)
    assert [row.sentences["random"] for row in found.expected] == [0, 160, 480]
    assert found.answer.reach == "needed" and found.answer.mentions == pytest.approx(100, rel=0.01)
    value, low, high = found.answer.sentences["random"]
    assert value == pytest.approx((100 - 40) * 4, rel=0.02) and low <= value <= high
    assert "F1 75.0 takes about 100 mentions (90 % interval " in found.findings[0]
    assert "40 are there" in found.findings[0] and "4.0 labelled sentences" in found.findings[1]
    assert found.law.a == pytest.approx(0.9, abs=1e-3)
    first, last = found.line[0], found.line[-1]
    assert (
        first[0] == 5
        and last[0] == pytest.approx(160)
        and last[1] == pytest.approx(LAW.at(160), abs=1e-3)
    )


def test_a_score_that_there_is_already(corpus):
    found = of(corpus, records(noise=0))
    assert found.answer.reach == "reached" and found.answer.sentences == {}
    assert "is reached with about 25 mentions" in found.findings[0]
    low = of(corpus, records(noise=0), target=0.1)
    assert "F1 10.0 is reached with 5 mentions or fewer" in low.findings[0]


def test_what_is_not_within_reach_gets_no_number(corpus):
    flat = of(corpus, records(Law(0.4, 0, 1), noise=0.03))
    assert flat.answer.reach == "out of reach" and flat.answer.mentions is None
    assert re.search(
        r"not within reach by more mentions of this kind alone: .*not shown to rise", flat.findings[0]
    )
    low = of(corpus, records(Law(0.5, 2, 1), runs=8))
    assert re.search(r"not within reach .*alone: the fitted curve ends at \d\d", low.findings[0])
    assert not low.answer.sentences and not re.search(r"\d mentions \(", low.findings[0])


def test_mining_is_cheaper_by_its_lift(corpus):
    lift = Lift("mine", 5.0, 200, 10_000, 2)
    found = of(corpus, records(noise=0), 0.75, lift)
    assert list(found.expected[1].sentences) == ["random", "mine"]
    assert found.expected[1].sentences["mine"] == 32
    assert found.answer.sentences["mine"][0] == pytest.approx(found.answer.sentences["random"][0] / 5)
    assert any("By mine it costs 0.8" in text and "200 labels" in text for text in found.findings)


@pytest.mark.parametrize("few", [{"sizes": (5, 10, 20)}, {"runs": 1}])
def test_too_few_runs_are_no_fit(few, corpus):
    found = of(corpus, records(**few))
    assert found.law is None and found.answer is None and found.expected == [] and found.line == []
    assert found.findings[0].startswith("No fit: it takes 4 sizes with 2 runs each")
    assert len(found.measured) == len(few.get("sizes", (5, 10, 20, 40)))


def test_the_mentions_that_a_draw_has_count_not_those_it_may_have(corpus):
    whole = records(sizes=(5, 10, 20, 40), noise=0, used=lambda n: n - 1)
    found = of(corpus, whole)
    assert [size.mentions for size in found.measured] == [4, 9, 19, 39]
    assert [size.size for size in found.measured] == [5, 10, 20, 40]
    empty = [*whole, *records(sizes=(3,), used=lambda n: 0)]
    assert of(corpus, empty).measured == found.measured  # no mention was drawn


def test_annotation_is_planned_on_dev_and_a_missing_score_is_no_zero(corpus):
    whole = records(noise=0)
    blind = [own.model_copy(update={"test": {}}) for own in whole]
    assert of(corpus, blind) == of(corpus, whole)
    lost = [own.model_copy(update={"dev": {}}) if own.seed == 0 else own for own in whole]
    found = of(corpus, lost)
    assert [len(size.scores) for size in found.measured] == [3] * 4
    assert found.law.a == pytest.approx(0.9, abs=1e-3)
    (line,) = read_curves(lost, "crf", "NAT").lines.values()
    assert [sorted(point.scores) for point in line] == [[1, 2, 3]] * 4


def test_each_method_has_its_own_curve_and_other_types_none(corpus):
    both = [*records(), *records(method="softmax", noise=0.01)]
    other = record_of("k", method="crf", draw={"label": "ART", "n_mentions": 5})
    found = forecast([*both, other], corpus, "NAT", Question())
    assert [f.method for f in found] == ["crf", "softmax"]
    assert all(len(f.measured) == 4 for f in found)


def test_sizes_that_were_not_trained_long_enough_are_named(corpus):
    rising = [{"step": 10 * i, "ents_macro_f": 0.1 * i} for i in range(4)]
    ended = [{"step": 10 * i, "ents_macro_f": 0.3 - 0.1 * i} for i in range(4)]
    found = of(corpus, [*records(sizes=(5, 10), curve=rising), *records(sizes=(20, 40), curve=ended)])
    assert "Not trained long enough at 5, 10 mentions" in found.findings[-1]
    assert "long enough" not in " ".join(of(corpus, records(curve=ended)).findings)


def test_a_record_keeps_its_draw():
    (one, *_) = records()
    read = parse_record(json.dumps(one.data()))
    assert read.draw == MentionDraw("NAT", 5) and read.n_mentions == 5
    assert read.of_type("dev", "NAT") == one.dev["ents_per_type"]["NAT"]["f"]
    assert read.of_type("dev", "EVE") is None  # a missing F1 is not an F1 of 0
    old = parse_record({**one.data(), "draw": {"n_sentences": 20, "entity_share": None}})
    assert old.draw.x_name == "sentences" and old.draw.x == 20


# --- draws


def written(folder, *texts, per_document=None):
    nlp = blank()
    docs = [parse(nlp, text) for text in texts]
    if per_document is not None:
        docs = [type(docs[0]).from_docs(docs)]
    types = CorpusTypes(["PER", "EVE"], ["EVE"], "en", "words")
    write_corpus(folder, {"train": docs, "dev": toy_docs(), "test": toy_docs()}, types)
    return folder


def test_default_sizes_double_until_all(corpus, tmp_path):
    assert default_sizes(corpus, "NAT") == [5, 10, 20, 40]
    assert default_sizes(toy_corpus(tmp_path / "b", train=toy_docs(6)), "NAT") == [5, 10, 12]
    assert default_sizes(toy_corpus(tmp_path / "c", train=toy_docs(3)), "NAT") == [5, 6]
    with pytest.raises(ValueError, match=r"L532.*4 mentions of 'NAT'.*5, the smallest size"):
        default_sizes(toy_corpus(tmp_path / "d", train=toy_docs(2)), "NAT")


def test_counts_are_those_of_the_reader(corpus, tmp_path):
    found = count_train(corpus)
    assert found.total("NAT") == 40 and len(found.counts) == 160 and found.total("EVE") == 0
    assert found.drawn(MentionDraw("NAT", 7), 0) == 7
    many = written(tmp_path / "many", *["[Fair|EVE] , [Race|EVE] and [Ball|EVE] ."] * 4)
    assert [count_train(many).drawn(MentionDraw("EVE", n), 0) for n in (2, 3, 5, 12)] == [0, 3, 3, 12]


def test_a_partition_has_the_mentions_that_its_training_reads(tmp_path):
    texts = [
        "[Fair|EVE] , [Race|EVE] and [Ball|EVE] .",
        "[Fair|EVE] and [Race|EVE] .",
        "[Fair|EVE] .",
    ] * 4
    folder, nlp = written(tmp_path / "mixed", *texts), blank()
    found = count_train(folder)
    read = {
        p: sum(
            ent.label_ == "EVE"
            for eg in FewMentionsCorpus(Corpus(folder / "train.spacy"), "EVE", 7, partition=p)(nlp)
            for ent in eg.reference.ents
        )
        for p in range(6)
    }
    assert read == {p: found.drawn(MentionDraw("EVE", 7), p) for p in range(6)}
    assert len(set(read.values())) > 1


RUN = CliRunner()


def curve(*arguments):
    return RUN.invoke(app, ["curve", *map(str, arguments)])


def refused(code, *arguments):
    ran = curve(*arguments)
    text = " ".join(ran.output.split())
    assert ran.exit_code != 0 and "Traceback" not in text and code in text, ran.output
    return text


def test_what_is_refused_before_training(corpus, tmp_path):
    out = tmp_path / "out"
    call = (corpus, "-o", out, "--by-mentions")
    assert "Did you mean NAT?" in refused("L531", *call, "nta")
    assert "Did you mean" not in refused("L531", *call, "XYZW")
    assert "40 mentions" in refused("L532", *call, "NAT", "--sizes", "5,41")
    for target, code in (("0", "L534"), ("-1", "L534"), ("101", "L534"), ("nan", "L547")):
        refused(code, *call, "NAT", "--target", target)
    refused("L535", corpus, "-o", out, "--target", "60")
    refused("L535", corpus, "-o", out, "--mine", tmp_path)
    refused("L536", *call, "NAT", "--mine", tmp_path)
    refused("L470", *call, "NAT", "--sizes", "5,5")
    refused("L402", tmp_path / "none", "--by-mentions", "NAT")
    refused("found none", *call, ",")
    refused("--sizes takes numbers", *call, "NAT", "--sizes", "a")
    one = written(tmp_path / "one", "[Fair|EVE] and [Race|EVE] .", "[Ann|PER] slept .")
    assert "one sentence" in refused("L533", one, "-o", out, "--by-mentions", "EVE", "--sizes", "1,2")
    ran = RUN.invoke(app, ["imbalance", str(corpus), "--by-mentions", "NAT"])
    assert ran.exit_code == 2 and "No such option" in ran.output
    assert not out.exists()


def test_draws_that_say_little_are_warned_of(tmp_path):
    texts = ["[Fair|EVE] , [Race|EVE] and [Ball|EVE] ."] * 4
    call = ("--by-mentions", "EVE", "--dry-run", "--partitions", "2", "--sizes")
    alone = written(tmp_path / "a", *texts, per_document=True)
    said = curve(alone, *call, "3,6,9,12").output
    assert "LW099" in said and "LW100" not in said and "LW101" not in said
    several = written(tmp_path / "b", *texts)
    said = " ".join(curve(several, *call, "2,6,9,12").output.split())
    assert "LW099" not in said and "LW100" in said and "2 in partition 0, 2 in partition 1" in said
    assert "LW101" in curve(several, *call, "3,6,9").output
    few = ("--by-mentions", "EVE", "--dry-run", "--partitions", "1", "--sizes", "3,6,9,12")
    assert "LW101" in curve(several, *few).output


# --- the command


class Lawful:
    """Runs a trial by writing the scores that a law gives its mentions."""

    def __init__(self):
        self.begun = []

    def __call__(self, trial, work, stop):
        self.begun.append(trial.title)
        luck = random.Random(trial.title).gauss(0, 0.02)
        label = trial.draw.label
        f = LAW.at(count_train(trial.corpus).drawn(trial.draw, trial.seed)) + luck
        f = 0.123 if label == "ART" else f
        scores = {"ents_macro_f": f, "ents_per_type": {label: {"p": f, "r": f, "f": f}}}
        for part in ("dev", "test"):
            (work / f"{part}.json").write_text(json.dumps({"scores": scores}), encoding="utf8")
        return Outcome("done", 0.1, "")


@pytest.fixture
def lawful(monkeypatch):
    pytest.importorskip("optuna", reason="needs the extra 'tune'")
    pytest.importorskip("matplotlib", reason="needs the extra 'report'")
    runner, own = Lawful(), Matrix.run
    monkeypatch.setattr(Matrix, "run", lambda self, options, keys=None: own(self, options, keys, runner))
    return runner


def test_the_command_answers_and_resumes(corpus, tmp_path, lawful):
    out = tmp_path / "out"
    call = (corpus, "-o", out, "--by-mentions", "NAT", "--partitions", "3", "--target", "75")
    first = curve(*call)
    assert first.exit_code == 0, first.output
    assert len(lawful.begun) == 4 * 3 and lawful.begun[0] == "tiny, crf, 5 mentions of NAT, seed 0"
    shown = " ".join(first.output.split())
    assert "NAT F1, mentions of NAT 5 10 20 40" in shown
    assert "F1 75.0" in shown and "mentions F1 expected 90 % interval sentences by random" in shown
    kept = json.loads((out / "mentions.json").read_text())
    assert [len(size["scores"]) for size in kept[0]["measured"]] == [3] * 4
    assert kept[0]["answer"]["target"] == 0.75
    html = (out / "report" / "index.html").read_text(encoding="utf8")
    text = (out / "report" / "index.md").read_text(encoding="utf8")
    assert html.count("<svg") == 2 and "NAT, crf: what more mentions would bring" in html
    assert "NAT F1 on dev by mentions of NAT" in html
    assert "what more mentions would bring" in text and "| 160 |" in text
    lines = [json.loads(line) for line in (out / "trials.jsonl").read_text().splitlines()]
    assert sorted(r["n_mentions"] for r in lines) == sorted([5, 10, 20, 40] * 3)
    again = curve(*call, "--json")
    assert len(lawful.begun) == 12 and again.exit_code == 0  # nothing is trained twice
    found = json.loads(again.stdout.splitlines()[-1])
    assert found["forecasts"] == kept and len(found["trials"]) == 12
    other = curve(*call[:-1], "40")  # another question needs no training
    assert len(lawful.begun) == 12 and "F1 40.0 is reached" in " ".join(other.output.split())


def test_types_and_sizes_and_methods_of_choice(corpus, tmp_path, lawful):
    plan = tmp_path / "plan.yml"
    plan.write_text(
        "steps: 4\nsettings: {training.eval_frequency: 2}\ngrids: [{head: [softmax, crf]}]\n"
    )
    call = (corpus, "-o", tmp_path / "out", "--partitions", "2", "--plan", plan, "--json")
    ran = curve(*call, "--by-mentions", "NAT,ART,NAT", "--sizes", "4,8,16,32")
    assert ran.exit_code == 0, ran.output
    found = json.loads(ran.stdout.splitlines()[-1])["forecasts"]
    assert [(f["label"], f["method"]) for f in found] == [
        (label, method) for label in ("NAT", "ART") for method in ("softmax", "crf")
    ]
    assert len(lawful.begun) == 2 * 2 * 4 * 2
    text = (tmp_path / "out" / "report" / "index.md").read_text(encoding="utf8")
    assert "| crf | 12.3 ± 0.0 | 12.3 ± 0.0 | 12.3 ± 0.0 | 12.3 ± 0.0 |" in text
    assert "| 0.0" not in text  # where runs of another type count


def test_records_have_the_mentions_that_there_were(tmp_path, lawful):
    folder = written(tmp_path / "many", *["[Fair|EVE] , [Race|EVE] and [Ball|EVE] ."] * 8)
    call = ("--by-mentions", "EVE", "--sizes", "4,8,16,24", "--partitions", "2", "-o", tmp_path / "out")
    assert curve(folder, *call).exit_code == 0
    (found,) = json.loads((tmp_path / "out" / "mentions.json").read_text())
    assert [(m["size"], m["mentions"]) for m in found["measured"]] == [
        (4, 3),
        (8, 6),
        (16, 15),
        (24, 24),
    ]


def test_curves_by_sentences_are_as_they_were(corpus, tmp_path, lawful):
    pytest.importorskip("optuna", reason="needs the extra 'tune'")
    ran = curve(corpus, "--dry-run", "--partitions", "1", "-o", tmp_path / "out")
    assert "20 sentences" in ran.output and "softmax" in ran.output and "1000 sentences" in ran.output


# --- what mining costs


def rounds(folder, corpus="tiny", strategy="mine", start=100, seeds=(0,), rare=30, **given):
    folder.mkdir(exist_ok=True)
    for seed in seeds:
        for i in range(3):
            one = {
                "corpus": corpus, "strategy": strategy, "seed": seed, "round": i, "start": start, "labels": 50,
                "pool": 1000, "config": "c.cfg", "settings": {}, "labelled": start + 50 * i,
                "rare_sentences": rare * i, "rare_mentions": 2 * rare * i, "rare_in_pool": 100,
                "macro": 0.5, "tail": 0.2, "micro": 0.7, **given,
            }  # fmt: skip
            with (folder / "rounds.jsonl").open("a") as file:
                file.write(json.dumps(one) + "\n")
    return folder


def test_the_lift_of_mining_is_read_of_its_records(corpus, tmp_path):
    folder = rounds(tmp_path / "m", seeds=(0, 1))
    rounds(folder, strategy="random", rare=5)
    rounds(folder, corpus="other", rare=50)
    found = read_lift(folder, corpus, ["NAT"])
    # 60 of 100 labels, where 1 of 10 in the pool is rare
    assert found == Lift("mine", pytest.approx(6.0), 100, 1000, 2)
    rounds(folder, start=50, rare=20)
    assert read_lift(folder, corpus, ["NAT"]).factor == pytest.approx(4.0)  # the last settings


@pytest.mark.parametrize(
    ("given", "labels", "problem"),
    [
        ({"corpus": "other"}, ["NAT"], "no labels were bought by mine on tiny, found mine on other"),
        ({"strategy": "random"}, ["NAT"], "found random on tiny"),
        ({}, ["NAT", "PER"], "looks for the rare types NAT, not for PER"),
        ({"rare": 0}, ["NAT"], "found no sentence with a rare type"),
        ({"rare_in_pool": 0}, ["NAT"], "found no sentence with a rare type"),
    ],
)
def test_records_that_do_not_say_it(given, labels, problem, corpus, tmp_path):
    with pytest.raises(ValueError, match=f"L536.*{problem}"):
        read_lift(rounds(tmp_path / "m", **given), corpus, labels)


def test_no_warning_where_nothing_is_wrong(corpus, tmp_path):
    pytest.importorskip("optuna", reason="needs the extra 'tune'")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert curve(corpus, "--by-mentions", "NAT", "--dry-run", "-o", tmp_path / "o").exit_code == 0
