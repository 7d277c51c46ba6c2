"""Precision, recall, F1 and the confusion matrix, by hand."""

from __future__ import annotations

import pytest

from howsure.stats.classification import classification, confusion, confusion_table

TRUTH = ["cat", "cat", "cat", "dog", "dog", "cow"]
SAID = ["cat", "cat", "dog", "dog", "cat", "dog"]


def test_each_class_by_hand() -> None:
    report = classification(TRUTH, SAID)
    by_label = {each.label: (each.precision, each.recall, each.f1) for each in report.classes}
    assert by_label == {"cat": (2 / 3, 2 / 3, 2 / 3), "dog": (1 / 3, 1 / 2, 0.4), "cow": (None, 0.0, 0.0)}


def test_the_means_are_over_the_classes_that_have_a_value() -> None:
    report = classification(TRUTH, SAID)
    assert report.accuracy == 0.5
    assert report.macro_precision == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert report.macro_recall == pytest.approx((2 / 3 + 1 / 2 + 0) / 3)
    assert report.macro_f1 == pytest.approx((2 / 3 + 0.4 + 0) / 3)


def test_nothing_gives_no_value() -> None:
    report = classification([], [], labels=["a"])
    assert (report.accuracy, report.macro_f1, report.classes[0].f1) == (None, None, None)


def test_the_confusion_matrix_says_which_truth_met_which_verdict() -> None:
    assert confusion(TRUTH, SAID) == {
        ("cat", "cat"): 2,
        ("cat", "dog"): 1,
        ("dog", "dog"): 1,
        ("dog", "cat"): 1,
        ("cow", "dog"): 1,
    }
    assert confusion_table(TRUTH, SAID, ["cat", "dog", "cow"]) == [[2, 1, 0], [1, 1, 0], [0, 1, 0]]


def test_a_table_names_the_label_it_does_not_know() -> None:
    with pytest.raises(ValueError, match="'cow' is none of the labels"):
        confusion_table(TRUTH, SAID, ["cat", "dog"])
