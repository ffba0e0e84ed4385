"""Comparing outputs and returned values: what counts, what does not, and what equals nothing."""

import json

import pytest

from cotrain.environments.graders.outputs import (
    arguments_of,
    expected_values,
    same_output,
    same_token,
    value_matches,
)


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("0.333333\n", "0.333333333333"),
        ("1 2 3 \n4 5\n\n\n", "1 2 3\n4 5"),
        ("1 2 3\r\n4 5\r\n", "1 2 3\n4 5\n"),
        ("123456789.0000004\n", "123456789.0"),
        ("2.0\n", "2"),
        ("1e3\n", "1000.0"),
        ("", "\n\n"),
        ("YES\n", "YES"),
        ("9" * 5_000, "9" * 5_000 + "\n"),
        ("1e-99999999999999999999999\n", "0"),
        ("0", "0e99999999999999999999999"),
    ],
)
def test_these_outputs_are_what_was_expected(printed: str, expected: str) -> None:
    assert same_output(printed, expected)


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("0.3334\n", "0.333333333333"),
        ("5.5\n", "-5.5"),
        ("10000000000000001\n", "10000000000000002"),
        ("10000000000000001.0\n", "10000000000000002"),
        ("9007199254740993.0\n", "9007199254740992"),
        ("0.1\n", "0.1 0.2"),
        ("0.1 0.2\n", "0.1"),
        ("nan\n", "1.0"),
        ("nan\n", "nan"),
        ("-NaN\n", "-NaN"),
        ("None\n", ""),
        ("3\n1 2 3\n", "1 2 3"),
        ("1 2 3\n4", "1 2 3"),
        ("1\n2\n", "1 2"),
        ("\n1\n", "1"),
        ("yes\n", "YES"),
        ("0011\n", "11"),
        ("1_0\n", "10"),
        ("\u0663\n", "3"),
        ("inf\n", "1e999"),
        ("1e999\n", "1e998"),
        ("1e-99999999\n", "1"),
        ("1e-99999999999999999999999\n", "1"),
        ("1e99999999999999999999999\n", "1"),
        ("", "0"),
    ],
)
def test_these_outputs_are_not(printed: str, expected: str) -> None:
    assert not same_output(printed, expected)


def test_equality_of_tokens_does_not_depend_on_which_side_is_right() -> None:
    tokens = ["1", "1.0", "1.0000001", "-1", "nan", "inf", "1e999", "0001", "a", "1e-7", "0"]
    for one in tokens:
        for other in tokens:
            assert same_token(one, other) == same_token(other, one)


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ("[8, 9]", "[8, 9]"),
        ("[1.6666666666666667]", "[1.6666666667]"),
        ('{"a": {"b": [1.0]}}', '{"a": {"b": [1]}}'),
        ('{"b": 1, "a": 2}', '{"a": 2, "b": 1}'),
        ("null", "null"),
        ("true", "1"),
        ("1", "true"),
        ("9" * 5_000, "9" * 5_000),
    ],
)
def test_these_values_are_what_was_expected(returned: str, expected: str) -> None:
    assert value_matches(returned, [expected])


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        (None, "null"),
        ("null", '""'),
        ("NaN", "NaN"),
        ("[NaN]", "[NaN]"),
        ("Infinity", "1e300"),
        ("[1, 2]", "[2, 1]"),
        ("[1]", "[1, 2]"),
        ("10000000000000001", "10000000000000002"),
        ('"1"', "1"),
        ("0", "null"),
        ("false", "null"),
        ('{"a": 1}', '{"a": 1, "b": 2}'),
        ("[1", "[1"),
        ("9" * 5_000, "9" * 4_999 + "8"),
        ("9" * 400, "1.5"),
        ("[" * 100_000, "[]"),
    ],
)
def test_these_values_are_not(returned: str | None, expected: str) -> None:
    assert not value_matches(returned, [expected])


def test_one_item_lists_may_be_wrapped_values_only_where_all_outputs_are() -> None:
    assert value_matches("1", expected_values([[1], [0]])[0])
    assert value_matches("[1]", expected_values([[1], [0]])[0])
    assert not value_matches("1", expected_values([[1], [0, 2]])[0])
    assert not value_matches("1", expected_values([[1], 0])[0])


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("[1, 2, 3]\n1", [[1, 2, 3], 1]),
        ("[1, 2, 3]", [[1, 2, 3]]),
        ('\n[\n1,\n2\n]\r\n"a"\n', [[1, 2], "a"]),
        ("", []),
    ],
)
def test_arguments_are_json_values_one_after_another(text: str, arguments: list[object]) -> None:
    assert arguments_of(text) == arguments


@pytest.mark.parametrize("text", ["[1,", "1,2", "[1][2]", "a", "[" * 100_000, "1 2 x"])
def test_arguments_of_another_form_are_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the parser of JSON words most of them
        arguments_of(text)


def test_many_arguments_are_read_in_linear_time() -> None:
    assert len(arguments_of("1 " * 200_000)) == 200_000
    assert json.dumps(arguments_of("1 2")) == "[1, 2]"
