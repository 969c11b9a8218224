"""The wheel carries everything: code, data, the typing mark, and nothing else."""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_wheel_contents(tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    files = [file.relative_to(ROOT / "data") for file in (ROOT / "data").rglob("*.*")]
    shipped = {f"dtstat/data/files/{file.as_posix()}" for file in files}
    assert len(shipped) >= 15
    assert shipped <= set(names)
    assert "dtstat/py.typed" in names
    assert all(name.startswith(("dtstat/", "dtstat-")) for name in names)
