"""Everyday tasks in Python, at least fifty, each in at most three calls."""

import ast
import warnings
from pathlib import Path

import everyday_tasks
import pandas as pd
import pytest
from everyday_tasks import TASKS

import dtstat as dt

MOST_CALLS = 3


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """The folder and the names of a working day, filled task by task."""
    folder = tmp_path_factory.mktemp("desk")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        everyday_tasks.write_files(folder)
    return folder, {"dt": dt, "pd": pd, "Path": Path, "shell": everyday_tasks.shell}


def test_there_are_fifty():
    assert len({task.words for task in TASKS}) == len(TASKS) >= 50


@pytest.mark.parametrize("task", TASKS, ids=[task.words for task in TASKS])
def test_each_takes_at_most_three_calls(task):
    calls = [node for node in ast.walk(ast.parse(task.code)) if isinstance(node, ast.Call)]
    assert len(calls) <= MOST_CALLS


@pytest.mark.filterwarnings("ignore::dtstat.DTWarning")
def test_the_day(desk, monkeypatch, drawing):
    folder, names = desk
    monkeypatch.chdir(folder)
    for number, task in enumerate(TASKS, 1):
        assert everyday_tasks.run(task, names), f"{number}. {task.words}: {task.true}"
