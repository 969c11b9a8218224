"""Run by smoke.py inside the clean environment; its argument is the checkout, not to be imported.

Every extra that the wheel declares must be named here: adding one without saying how its absence
shows is an error.
"""

import importlib
import sys
from importlib.metadata import metadata
from pathlib import Path

import numpy as np

import dtstat as dt
from dtstat.core.errors import MissingExtraError

NOT_FOR_USERS = {"all", "dev", "docs", "bench"}


def unread(name: str) -> None:
    """Try to read a file of a kind that an extra is needed for."""
    Path(name).write_bytes(b"PK\x03\x04")
    dt.read_survey(name)


def sample() -> np.ndarray:
    """Thirty answers to six items of two factors."""
    rng = np.random.default_rng(1)
    return np.repeat(rng.normal(size=(30, 2)), 3, axis=1) + rng.normal(size=(30, 6))


def r() -> None:
    """Ask for R."""
    importlib.import_module("dtstat.interop.r").to_r(np.eye(2))


USES = {
    "plot": [lambda: dt.solution_path(sample()).plot()],
    "survey": [lambda e=e: unread(f"a.{e}") for e in ("sav", "dta", "xlsx", "parquet")],
    "office": [
        lambda e=e: dt.solution_path(sample()).summary().save(f"path.{e}") for e in ("docx", "xlsx")
    ],
    "neural": [lambda: dt.fit(sample(), estimator="neural", criterion="validation", seed=1)],
    "sklearn": [lambda: importlib.import_module("dtstat.interop.sklearn")],
    "regression": [
        lambda: dt.regress(
            "F1 ~ F2", {"F1": ["x1", "x2", "x3"], "F2": ["x4", "x5", "x6"]}, sample()
        )
    ],
    "r": [r],
}
# joblib asks for dask by itself, before dtstat is called.
UNUSED = {"distributed"}


def check_extras() -> None:
    """Each missing extra is asked for by its name."""
    declared = set(metadata("dtstat").get_all("Provides-Extra")) - NOT_FOR_USERS
    assert declared == USES.keys() | UNUSED, declared
    for extra, uses in USES.items():
        for use in uses:
            try:
                use()
            except MissingExtraError as error:
                told = str(error)
            else:
                told = "nothing"
            assert f'pip install "dtstat[{extra}]"' in told, (extra, told)


def check_use() -> None:
    """Check that data, a fit, the page, a saved result and typing marks are there."""
    for name in dt.datasets()["name"]:
        assert len(dt.load_dataset(name)), name
    fit = dt.fit(dt.load_dataset("holzinger_swineford_9"))
    assert fit.structure.n_factors == 3
    fit.save("fit.dtstat")
    assert dt.load("fit.dtstat").summary() == fit.summary()
    fit.report("page.html")
    assert "<script" in Path("page.html").read_text(encoding="utf-8")
    assert (Path(dt.__file__).parent / "py.typed").exists()


if __name__ == "__main__":
    checkout = Path(sys.argv[1])
    assert checkout not in Path(dt.__file__).parents, f"{dt.__file__} is the checkout"
    check_use()
    check_extras()
    print(f"extras that are missing are asked for: {', '.join(sorted(USES))}")
