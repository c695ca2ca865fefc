"""Commands as typed: results where they were asked for, coded errors, nothing half-written.

Options that would be ignored are refused.
"""

import json

import pytest
import spacy
import typer
from thinc.api import Config

from spacy_longtail.cli import app
from spacy_longtail.studies.trials.key import code_version
from spacy_longtail.studies.trials.process import ChildTask, launch
from tests.util import (
    GATE_MODEL,
    config_file,
    invoke,
    new_file,
    one_pipe,
    refused,
    run_app,
    small_ner,
    trained_once,
    write_files,
)

CONFIG = config_file("baseline")
LINES = {
    "train.iob": "Ann\tB-PER\nleft\tO\n\nOslo\tB-GEO\nslept\tO\n\nThe\tO\nFram\tB-ART\nsank\tO\n\n",
    "dev.iob": "Ann\tB-PER\nslept\tO\n\nThe\tO\nFram\tB-ART\nleft\tO\n\n",
    "test.iob": "Oslo\tB-GEO\nleft\tO\n\nThe\tO\nFram\tB-ART\nslept\tO\n\n",
}


@pytest.fixture
def source(tmp_path):
    return write_files(tmp_path / "assets" / "tiny", LINES)


@pytest.fixture
def corpus(source, tmp_path):
    target = tmp_path / "corpus" / "tiny"
    run_app("convert", source, target)
    return target


@pytest.fixture
def model(tmp_path):
    settings = small_ner(scores_key="entity_scores")
    nlp, _ = trained_once(one_pipe, 40, factory="longtail_ner", **settings)
    nlp.to_disk(tmp_path / "model")
    return tmp_path / "model"


def test_evaluate(corpus, model, tmp_path):
    target = tmp_path / "m" / "x.json"
    run_app("evaluate", model, corpus, "-o", target, "--name", "x")
    found = json.loads(target.read_text(encoding="utf8"))
    assert found["name"] == "x"
    assert [d["text"].strip() for d in found["documents"]] == ["Oslo left", "The Fram slept"]
    assert found["documents"][1]["gold"] == [[4, 8, "ART"]]
    ents = [[e.start_char, e.end_char, e.label_] for e in spacy.load(model)("Oslo left ").ents]
    assert [p[:3] for p in found["documents"][0]["predicted"]] == ents
    assert all(0 < p[3] <= 1 for d in found["documents"] for p in d["predicted"])


def test_a_part_of_many_files(source, corpus, model, tmp_path):
    many = tmp_path / "corpus" / "many"
    run_app("convert", source, many, "--docs-per-file", "1")
    assert len(list((many / "train").iterdir())) == 3
    shown = [run_app("evaluate", model, own, "--json") for own in (corpus, many)]
    scores = [json.loads(run.stdout)["scores"] for run in shown]
    assert scores[0] == scores[1] and scores[0]["ents_per_type"]["ART"]["support"] == 1
    (many / "train" / "00001.spacy").write_bytes(b"no docbin")
    refused(["train", CONFIG, many, tmp_path / "out"], "L404", tmp_path / "out")


def test_invalid_inputs_of_evaluate_and_report_are_refused(corpus, model, tmp_path):
    output = tmp_path / "x.json"
    refused(["evaluate", tmp_path / "none", corpus, "-o", output], "L402", output)
    weights = next(model.glob("*/model"))
    weights.write_bytes(weights.read_bytes()[:100])
    refused(["evaluate", model, corpus, "-o", output], "L408", output)
    refused(["evaluate", tmp_path / "none", "--report", tmp_path / "r.html"], "L402")
    (tmp_path / "m").mkdir()
    page = tmp_path / "r.html"
    refused(["evaluate", tmp_path / "m", "--report", page], "L405", page)


OWN_CODE = """
import spacy

@spacy.registry.callbacks("split_hyphens.v1")
def make():
    def split(nlp):
        infixes = [*nlp.Defaults.infixes, "-"]
        nlp.tokenizer.infix_finditer = spacy.util.compile_infix_regex(infixes).finditer
        return nlp
    return split
"""


@pytest.fixture
def own_config(tmp_path):
    """A config of one step that needs OWN_CODE."""
    config = Config().from_disk(CONFIG, interpolate=False)
    config["nlp"]["after_creation"] = {"@callbacks": "split_hyphens.v1"}
    config["training"]["max_steps"] = config["training"]["eval_frequency"] = 1
    config.to_disk(tmp_path / "own.cfg")
    return tmp_path / "own.cfg"


def test_code_of_ones_own_is_imported(corpus, own_config, tmp_path):
    code, command = tmp_path / "functions.py", ["train", own_config, corpus, tmp_path / "model"]
    refused(command, "L438")
    refused([*command, "--code", code], "L402")
    code.write_text(OWN_CODE, encoding="utf8")
    for own in (command, ["evaluate", tmp_path / "model" / "model-best", corpus]):
        run_app(*own, "-c", code)


@pytest.mark.slow
@pytest.mark.usefixtures("light_processes")
def test_the_process_of_a_trial_imports_code(corpus, own_config, tmp_path):
    code = new_file(tmp_path / "functions.py", OWN_CODE)
    run_app("train", own_config, corpus, tmp_path / "model", "-c", code)
    best = tmp_path / "model" / "model-best"
    version = code_version.__wrapped__()
    (tmp_path / "work").mkdir()
    task = ChildTask(
        corpus=str(corpus),
        name="own",
        gpu_id=-1,
        is_sample=False,
        parts=["dev", "test"],
        moved_to=str(tmp_path / "out"),
    )
    config = Config().from_disk(best / "config.cfg", interpolate=False)
    done = launch(tmp_path / "work", config, task, None, lambda: None)
    assert done.status == "done", done.error
    code.write_text(f"{OWN_CODE}#", encoding="utf8")
    assert code_version.__wrapped__() != version


def test_what_loads_a_config_or_a_pipeline_takes_code():
    commands = typer.main.get_command(app).commands
    without = {n for n, c in commands.items() if not any("--code" in p.opts for p in c.params)}
    assert without <= {"init-config", "stats", "split", "merge"}


@pytest.mark.parametrize(
    ("command", "earlier", "name"),
    [
        ("train", "--products", "--matmul"),
        ("distil", "--cap=x", "--max-mentions"),
        ("pretrain", "--words", "--batch-size"),
    ],
)
def test_an_option_answers_to_its_earlier_name(command, earlier, name, tmp_path):
    given = [earlier, "x"] if "=" not in earlier else [earlier]
    result = invoke(command, *given, tmp_path, tmp_path, tmp_path)
    assert f"{earlier.partition('=')[0]} is now {name}." in result.stderr
    assert result.exit_code == 2 and f"'{name}'" in result.stderr.replace("\n", " ")


def test_a_command_does_not_answer_to_the_earlier_names_of_others(tmp_path):
    result = invoke("distil", "--words", "5", tmp_path, tmp_path, tmp_path)
    assert "is now" not in result.stderr and result.exit_code == 2


# An option that would have no effect is refused, with the reason


def said(arguments):
    return " ".join(refused(arguments, "L420").stderr.split())


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        *(
            (f"audit CORPUS {option} 2", f"{option} would be ignored: it needs -o")
            for option in ("--gpu-id", "--steps", "--folds", "--seed")
        ),
        ("audit CORPUS --config CODE", "--config would be ignored: it needs -o"),
        ("audit CORPUS -o OUT --verbose", "--verbose would be ignored"),
        ("audit CORPUS --verbose --json", "--verbose would be ignored"),  # JSON has whole texts
        *(
            (f"evaluate FOLDER --report OUT {option}", "would be ignored: --report reads evaluations")
            for option in ("--gpu-id 0", "--map A=B", "--code CODE", "--name x", "--part dev")
        ),
        ("evaluate FOLDER CORPUS --card FOLDER", "--card would be ignored"),
        ("ensemble a b -o OUT --part test", "--part would be ignored: it needs --gold"),
        ("split CORPUS OUT --strict --min-mentions 0", "--strict would be ignored"),
    ],
)
def test_an_option_without_effect_is_refused(command, problem, corpus, tmp_path):
    code = new_file(tmp_path / "own.py", "")
    paths = {"CORPUS": corpus, "FOLDER": tmp_path, "OUT": tmp_path / "out", "CODE": code}
    assert problem in said([paths.get(word, word) for word in command.split()])


@pytest.mark.parametrize(
    ("option", "factory", "settings"),
    [
        ("--gate-recall", "longtail_ner", small_ner(scores_key="entity_scores")),
        ("--precision", "longtail_sentence_gate", {"model": GATE_MODEL, "rare_labels": ["NAT"]}),
    ],
)
def test_thresholds_need_the_component_that_they_are_for(option, factory, settings, corpus, tmp_path):
    trained_once(one_pipe, 1, factory=factory, **settings)[0].to_disk(tmp_path / "model")
    command = ["thresholds", tmp_path / "model", corpus, "-o", tmp_path / "out", option, 0.9]
    assert f"{option} would be ignored" in said(command)
