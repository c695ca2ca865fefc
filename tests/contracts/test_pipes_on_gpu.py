"""Every pipe trains on a GPU, and finds there what it finds on the CPU. Needs CuPy's device."""

import pytest
import spacy
from spacy.lang.en import English

from tests.contracts.check_pipe import N_STEPS, assert_same, build, predictions
from tests.contracts.pipe_cases import ABSENT, CASES
from tests.util import train

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
if not cupy.cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)


@pytest.fixture
def gpu():
    spacy.require_gpu()
    yield
    spacy.require_cpu()


@pytest.mark.filterwarnings("ignore:.*LW0.*")
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=name)
        for name, case in CASES.items()
        if case.learns and case.factory not in ABSENT
    ],
)
def test_it_trains_on_a_gpu_and_is_read_on_the_cpu(gpu, case):
    nlp = build(case)
    train(nlp, N_STEPS, drop=0.0)
    found, data = predictions(nlp), nlp.to_bytes()
    assert_same(predictions(English.from_config(nlp.config).from_bytes(data)), found)
    spacy.require_cpu()
    assert_same(predictions(English.from_config(nlp.config).from_bytes(data)), found, 1e-3)
