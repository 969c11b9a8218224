"""Draws that are the same on every machine.

NumPy draws correlated normal numbers by the singular vectors of their covariance. Where two of its
eigenvalues are equal, these are any basis of a plane, and which one depends on the processor. The
Cholesky factor has no such choice.
"""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("dtstat", "tests", "benchmarks", "tools", "vignettes", "docs")
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def programs():
    """Name and text of everything in Python, the code in texts included."""
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.py")):
            yield file.relative_to(ROOT).as_posix(), file.read_text("utf-8")
        for file in sorted((ROOT / folder).rglob("*.md")):
            for block in BLOCK.findall(file.read_text("utf-8")):
                yield file.relative_to(ROOT).as_posix(), block


def undecided_draws(text):
    """Lines of calls of a generator's ``multivariate_normal`` without ``method="cholesky"``."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            given = {word.arg: word.value for word in node.keywords}
            method = getattr(given.get("method"), "value", None)
            if node.func.attr == "multivariate_normal" and method != "cholesky":
                yield node.lineno


def test_no_draw_depends_on_the_processor():
    found = [(name, line) for name, text in programs() for line in undecided_draws(text)]
    assert found == []


def test_a_draw_by_singular_vectors_is_found():
    draw = "rng.multivariate_normal(m, S, 9{})"
    assert list(undecided_draws(draw.format(""))) == [1]
    assert list(undecided_draws(draw.format(', method="eigh"'))) == [1]
    assert list(undecided_draws(draw.format(', method="cholesky"'))) == []
