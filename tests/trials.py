"""Stand-ins for trials: records, evaluations, and a runner that trains nothing."""

import json
import random

import spacy

from spacy_longtail.corpus.descriptions import CorpusTypes
from spacy_longtail.scorers import make_ner_scorer
from spacy_longtail.studies.trials.process import ProcessEnd
from spacy_longtail.studies.trials.record import TrialRecord
from tests.util import evaluation_data, examples

LABELS = ["PER", "GEO"]
TYPES = CorpusTypes(["PER", "GEO", "ART", "NAT"], ["NAT"], "en", "words")
RISING = [{"step": 10 * i, "ents_macro_f": 0.1 * i} for i in range(4)]
ENDED = [{"step": 10 * i, "ents_macro_f": 0.3 - 0.1 * i} for i in range(4)]


def record_of(key, status="done", **more):
    """Return the record of a trial, with other fields if they are given."""
    plain = {"corpus": "tiny", "method": "crf", "choices": {}, "seed": 0, "draw": None, "steps": 4}
    ended = {"training": {"patience": 0}, "curve": [], "code": "c", "seconds": 0.1, "error": ""}
    return TrialRecord.model_validate({"key": key, "status": status, **plain, **ended, **more})


def evaluation(skill, seed=0, n_documents=60):
    """Return an evaluation that finds each mention with probability `skill`."""
    gold, luck = random.Random(1), random.Random(f"{skill}/{seed}")
    documents = []
    for _ in range(n_documents):
        spans = [[i, i + 1, gold.choice(LABELS)] for i in range(3)]
        found = [[*span, None] for span in spans if luck.random() < skill]
        documents.append({"text": "abc", "sentences": [[0, 3]], "gold": spans, "predicted": found})
    return evaluation_data(documents)


class Scored:
    """Runner that trains nothing and writes evaluations.

    skills (Dict[str, float]): Fraction of the mentions that a method finds; 0.5 for others.
    seconds (float): Duration of each trial.
    failing (Sequence[str]): Methods whose trials fail.
    needs (Optional[Dict[str, int]]): Step of the best checkpoint, by method.
    """

    def __init__(self, skills, seconds=0.01, failing=(), needs=None):
        self.skills, self.seconds, self.failing, self.begun = skills, seconds, failing, []
        self.needs, self.trained = needs or {}, []

    def __call__(self, trial, work, stop):
        name = trial.method.name
        self.begun.append((name, trial.seed))
        if name in self.failing:
            return ProcessEnd("failed", 0.1, "Kaboom")
        luck = random.Random(f"{name}/{trial.seed}")
        skill = self.skills.get(name, 0.5)
        found = {part: judged(skill, luck, times) for part, times in (("dev", 3), ("test", 4))}
        found["test"]["performance"] = {"ents_macro_f": found["dev"]["scores"]["ents_macro_f"]}
        settings = trial.make_config()["training"]
        own = {key: settings[key] for key in ("max_steps", "patience")}
        steps = min(own["max_steps"], self.needs.get(name, 2) + (own["patience"] or own["max_steps"]))
        curve = [
            {"step": step, "ents_macro_f": step / 1000 if step < self.needs.get(name, 2) else 0.5}
            for step in range(2, steps + 1, 2)
        ]
        self.trained.append((name, trial.seed, steps))
        lines = ({"step": p["step"], "scores": {"ents_macro_f": 100 * p["ents_macro_f"]}} for p in curve)
        (work / "model").mkdir()
        (work / "model" / "curve.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        for part, result in found.items():
            result |= {"name": name, "part": part, "curve": curve}
            result["training"] = {"seed": trial.seed, **own}
            (work / f"{part}.json").write_text(json.dumps(result), encoding="utf8")
        return ProcessEnd("done", self.seconds, "")


def judged(skill, luck, times):
    """Return an evaluation on the toy sentences that finds a mention with probability `skill`."""
    found = examples(spacy.blank("en"), times)
    documents = []
    for eg in found:
        spans = [[ent.start_char, ent.end_char, ent.label_] for ent in eg.reference.ents]
        kept = [span for span in spans if luck.random() < skill]
        eg.predicted.set_ents([eg.predicted.char_span(*span) for span in kept])
        text = eg.reference.text
        predicted = [[*span, None] for span in kept]
        documents.append(
            {"text": text, "sentences": [[0, len(text)]], "gold": spans, "predicted": predicted}
        )
    scores = make_ner_scorer(TYPES.labels, TYPES.tail)(found)
    own = {"labels": TYPES.labels, "tail": TYPES.tail, "scores": scores, "documents": documents}
    return {"model": "m", "data": "d", "performance": {}, "words_per_second": 1.0, **own}
