"""dtstat beside live lavaan: ``python -m benchmarks.lavaan [questions|catalog|hard|mixed|speed]``.

    catalog [--only FEATURE] [--name NAME] [--fresh]

``--only`` and ``--name`` take a part of the catalog, whose features or names contain the text, and
print its differences; the whole catalog is written to ``benchmarks/results``. Answers of lavaan are
kept in ``.build/lavaan`` until the model, the data or the question changes, or ``--fresh``.
"""

from __future__ import annotations

import argparse

from benchmarks.lavaan import catalog, hard, mixed, questions, speed


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = {
        "questions": lambda _: questions.run(),
        "catalog": catalog.run,
        "hard": hard.run,
        "mixed": mixed.run,
        "speed": speed.run,
    }
    parser.add_argument("part", nargs="?", choices=parts, help="all of them if left out")
    parser.add_argument("--only", default="", help="features that contain this text")
    parser.add_argument("--name", default="", help="models whose names contain this text")
    parser.add_argument("--fresh", action="store_true", help="ask lavaan anew")
    arguments = parser.parse_args()
    for part in [arguments.part] if arguments.part else parts:
        parts[part](arguments)


if __name__ == "__main__":
    main()
