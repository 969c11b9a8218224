"""The wheel as a user gets it: what it holds, and whether it works with what it declares.

    python tools/smoke.py DIST    DIST holds the wheel and the source distribution

A clean environment gets the wheel and, by constraints.txt, its core dependencies; no extra. What a
user does first is then done there, far from the checkout, and each extra that is missing must be
asked for in words.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def wheel_files(wheel: Path) -> dict[str, int]:
    """Return the check sum of every file in a wheel."""
    return {info.filename: info.CRC for info in zipfile.ZipFile(wheel).infolist()}


def check_contents(wheel: Path) -> None:
    """Check that the wheel has all files of the package, its metadata, and nothing else."""
    files = (path for name in ("dtstat", "data") for path in (ROOT / name).rglob("*"))
    places = {path.relative_to(ROOT).as_posix() for path in files if path.is_file()}
    own = {
        re.sub("^data/", "dtstat/data/files/", place)
        for place in places
        if "/__pycache__/" not in place
    }
    held = {name for name in wheel_files(wheel) if ".dist-info/" not in name}
    if held != own:
        sys.exit(f"missing in the wheel: {sorted(own - held)}; too much: {sorted(held - own)}")


def check_source(source: Path, wheel: Path, work: Path) -> None:
    """Check that the source distribution has nothing foreign and builds the very same wheel."""
    with tarfile.open(source) as archive:
        archive.extractall(work, filter="data")
    (unpacked,) = work.iterdir()
    allowed = {"dtstat", "data", "tests", "vignettes", "README.md", "CHANGELOG.md"}
    allowed |= {"LICENSE", "CITATION.cff", "pyproject.toml", "PKG-INFO", ".gitignore"}
    foreign = {path.name for path in unpacked.iterdir()} - allowed
    if foreign:
        sys.exit(f"{source.name} should not hold {sorted(foreign)}")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(work / "again")]
    subprocess.run(build, cwd=unpacked, check=True, capture_output=True)
    again = wheel_files(work / "again" / wheel.name)
    if again != wheel_files(wheel):
        sys.exit(f"the wheel built from {source.name} differs from {wheel.name}")


def install(wheel: Path, place: Path) -> Path:
    """Make an environment with the wheel and its core dependencies; return its programs' folder."""
    venv.create(place, with_pip=True)
    programs = place / ("Scripts" if os.name == "nt" else "bin")
    pins = ["-c", str(ROOT / "constraints.txt"), "--disable-pip-version-check"]
    ask(programs, "python", "-m", "pip", "install", *pins, str(wheel.resolve()), where=place)
    ask(programs, "python", "-m", "pip", "check", where=place)
    return programs


def ask(programs: Path, *command: str, where: Path) -> str:
    """Run a program of the environment, away from the checkout, and return what it prints."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [programs / command[0], *command[1:]],
        cwd=where,
        env=clean,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def use(programs: Path, work: Path) -> None:
    """Do what a user does first."""
    version = ask(programs, "dtstat", "--version", where=work).split()
    first = ask(programs, "dtstat", "fit", "holzinger_swineford_9", where=work).splitlines()[0]
    if first != "Dependence thresholding: 3 factors behind 9 items":
        sys.exit(f"dtstat fit holzinger_swineford_9 says: {first}")
    shutil.copy(ROOT / "tools" / "smoke_inside.py", work)
    print(*version, "|", first)
    command = ["python", "-W", "error", "smoke_inside.py", str(ROOT)]
    print(ask(programs, *command, where=work), end="")


def main(dist: Path) -> None:
    """Check the wheel and the source distribution in a folder."""
    (wheel,), (source,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        check_contents(wheel)
        (work / "source").mkdir()
        check_source(source, wheel, work / "source")
        (work / "user").mkdir()
        use(install(wheel, work / "environment"), work / "user")
    seconds = round(time.perf_counter() - start)
    print(f"{wheel.name} and {source.name}: as they should be ({seconds} s)")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
