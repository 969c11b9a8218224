"""The way to R where R is not needed: what is said when it is not there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dtstat as dt
from dtstat.interop import r
from dtstat.interop.r import models as lavaan
from dtstat.interop.r import models as psych
from dtstat.interop.r import session


class Finder:
    """Importer that has only what it is given to say about rpy2."""

    def __init__(self, error):
        self.error = error

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "rpy2":
            raise self.error


@pytest.fixture
def importing(monkeypatch):
    """Make every import of rpy2 raise the error given."""

    def prepare(error):
        for name in [name for name in sys.modules if name.partition(".")[0] == "rpy2"]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setattr(sys, "meta_path", [Finder(error), *sys.meta_path])
        # Not cleared: R can be started only once, and another test may have started it.
        monkeypatch.setattr(session, "interface", session.interface.__wrapped__)

    return prepare


def absent(name):
    return ModuleNotFoundError(f"No module named '{name}'", name=name)


def test_without_rpy2(importing):
    importing(absent("rpy2"))
    with pytest.raises(dt.MissingExtraError) as caught:
        r.from_r([1])
    assert str(caught.value) == (
        "The way to R needs the package 'rpy2', which is not installed. "
        'Install it with: pip install "dtstat[r]", or in a checkout of dtstat: pip install ".[r]".'
    )
    assert not r.r_available()
    assert not r.r_available("psych")


def test_a_broken_rpy2_shows_as_itself(importing):
    importing(absent("cffi"))
    with pytest.raises(ModuleNotFoundError, match="cffi"):
        r.r_dataset("psych", "bfi")


@pytest.mark.parametrize(
    "error",
    [
        ImportError("_rinterface_cffi_api.abi3.so: undefined symbol: R_ParentEnv"),
        RuntimeError("symbol 'R_getVar' not found in library '/usr/lib/R/lib/libR.so'"),
    ],
)
def test_an_r_too_old_for_rpy2(importing, error):
    importing(error)
    with pytest.raises(r.RUnavailableError, match=r'pip install "rpy2>=3\.5\.17,<3\.6"') as caught:
        r.to_r([1])
    assert isinstance(caught.value, ImportError)
    assert str(error) in str(caught.value)
    assert not r.r_available()


def test_without_r(importing):
    importing(RuntimeError("Unable to determine R_HOME."))
    with pytest.raises(r.RUnavailableError) as caught:
        r.psych_fa([[1, 2], [2, 1]], 1)
    assert str(caught.value) == (
        "The way to R needs R, which could not be started: Unable to determine R_HOME. Install R, "
        "or set R_HOME. On Debian: apt-get install r-base-dev."
    )


@pytest.mark.parametrize("path", [None, "/opt/lib"])
def test_the_library_path_is_put_back(importing, monkeypatch, path):
    """rpy2 sets it to R's, with which Pythons started later load a wrong library."""
    if path is None:
        monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    else:
        monkeypatch.setenv("LD_LIBRARY_PATH", path)

    class Late(RuntimeError):
        def __str__(self):
            os.environ["LD_LIBRARY_PATH"] = "/usr/lib/R/lib"
            return "no R"

    importing(Late())
    with pytest.raises(r.RUnavailableError):
        r.to_r(1)
    assert os.environ.get("LD_LIBRARY_PATH") == path


@pytest.fixture
def without_packages(monkeypatch):
    monkeypatch.setattr(session, "has_package", lambda name: False)


@pytest.mark.parametrize(
    ("call", "package"),
    [
        (lambda: r.r_dataset("psychTools", "spi"), "psychTools"),
        (lambda: r.psych_fa([[1, 2], [2, 1]], 1), "psych"),
        (lambda: r.lavaan_cfa("f =~ a + b + c", [[1, 2, 3]]), "lavaan"),
    ],
)
def test_a_missing_r_package(without_packages, call, package):
    with pytest.raises(dt.InputError) as caught:
        call()
    assert str(caught.value) == (
        f"The R package '{package}' is not installed. Install it in R with "
        f"install.packages('{package}'), or on Debian with apt-get install "
        f"r-cran-{package.lower()}."
    )


def test_options_are_spelt_as_in_r():
    assert session.r_options({"std_lv": True, "n_obs": 3}) == {"std.lv": True, "n.obs": 3}


def test_the_number_of_factors_is_checked_first():
    with pytest.raises(dt.InputError, match="`n_factors` must be a whole number"):
        psych.psych_fa([[1, 2], [2, 1]], 0)


def test_several_groups_are_refused(monkeypatch):
    monkeypatch.setattr(session, "has_package", lambda name: True)
    with pytest.raises(dt.InputError, match="one group at a time"):
        lavaan.lavaan_cfa("f =~ a + b + c", [[1, 2, 3]], group="school")


def test_a_model_of_no_known_kind(monkeypatch):
    monkeypatch.setattr(session, "has_package", lambda name: True)
    with pytest.raises(dt.InputError, match="got dict"):
        r.lavaan_cfa({}, dt.load_dataset("holzinger_swineford_9"))


def test_an_item_that_the_data_lack(monkeypatch):
    monkeypatch.setattr(session, "has_package", lambda name: True)
    model = dt.Structure.from_keys({"F": ["x1", "x2", "x10"]})
    with pytest.raises(
        dt.InputError, match=r"'x10' of the model is not in the data\. Did you mean"
    ):
        r.lavaan_cfa(model, dt.load_dataset("holzinger_swineford_9"))


def test_rpy2_is_imported_on_use_only():
    code = "import sys, dtstat.interop.r; print('rpy2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_only_two_modules_import_rpy2():
    root = Path(dt.__file__).parent
    sources = {p.relative_to(root).as_posix(): p.read_text() for p in root.rglob("*.py")}
    said = {name for name, text in sources.items() if re.search("(import|from) rpy2", text)}
    assert said == {"interop/r/__init__.py", "interop/r/session.py"}
