import pytest
import torch

from cotrain.assembly.resolving import threads_resolved
from cotrain.config import load_config
from cotrain.runs.manifest import available_cpus


@pytest.fixture(autouse=True)
def _same_threads_afterwards():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("variable", "expected"),
    [("1", 1), ("3", 3), ("0", None), ("", None), ("4,2", None), ("-1", None)],
)
def test_the_threads_of_auto_are_those_of_the_variable_or_all_processors(
    monkeypatch, variable, expected
):
    monkeypatch.setenv("OMP_NUM_THREADS", variable)
    config = threads_resolved(load_config())
    assert config.model.threads == (expected or available_cpus()) == torch.get_num_threads()


def test_threads_that_are_set_stand(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert threads_resolved(load_config(overrides=["model.threads=2"])).model.threads == 2
