"""Gold answers that are no answers are refused when they are loaded."""

from pathlib import Path

import pytest

from cotrain.config.faults import ConfigurationError
from cotrain.environments.data.maths import read_maths


@pytest.mark.parametrize("answer", ["NaN", "Infinity", "-Infinity", "true", "null", '" "', "[5]"])
def test_a_gold_answer_that_is_no_answer_is_named_with_its_line(
    tmp_path: Path, answer: str
) -> None:
    file = tmp_path / "problems.jsonl"
    rows = ['{"problem": "a", "answer": 5}', f'{{"problem": "b", "answer": {answer}}}']
    file.write_text("\n".join(rows))
    with pytest.raises(ConfigurationError, match="line 2, field answer"):
        read_maths(str(file))
