"""sklearn-crfsuite with the features of its tutorial except parts of speech, 100 iterations."""

import pickle

import sklearn_crfsuite
from protocol import entities_of, run


def features(words, i):
    word = words[i]
    found = {
        "bias": 1.0,
        "word.lower()": word.lower(),
        "word[-3:]": word[-3:],
        "word[-2:]": word[-2:],
        "word.isupper()": word.isupper(),
        "word.istitle()": word.istitle(),
        "word.isdigit()": word.isdigit(),
    }
    for name, at, edge in (("-1", i - 1, "BOS"), ("+1", i + 1, "EOS")):
        if 0 <= at < len(words):
            near = words[at]
            found[f"{name}:word.lower()"] = near.lower()
            found[f"{name}:word.istitle()"] = near.istitle()
            found[f"{name}:word.isupper()"] = near.isupper()
        else:
            found[edge] = True
    return found


def rows(sentences):
    return [[features(words, i) for i in range(len(words))] for words in sentences]


def train(task):
    model = sklearn_crfsuite.CRF(
        algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=100, all_possible_transitions=True
    )
    model.fit(rows(s.words for s in task.train), [s.tags for s in task.train])
    folder = task.folder / "model"
    folder.mkdir(exist_ok=True)
    (folder / "model.pickle").write_bytes(pickle.dumps(model))
    return model, folder


def predict(model, sentences):
    x = rows(sentences)
    entities = []
    for tags, marginals in zip(model.predict(x), model.predict_marginals(x), strict=True):
        scores = [p[tag] for tag, p in zip(tags, marginals, strict=True)]
        entities.append(entities_of(tags, scores))
    return entities


run(train, predict)
