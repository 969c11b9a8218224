"""The long run: ``python tests/fuzz --cases 20000 --seed 1``.

The same seed gives the same cases. ``--only`` runs the entries whose names contain a text, so that
the run can be done in pieces. With ``--every`` no cases are drawn: each argument of each function
gets each bad value once (:mod:`fuzz_every`). Every kind of finding is printed once, and the run
goes on.
"""

from __future__ import annotations

import argparse
import sys
import time

import fuzz_entries  # noqa: F401  registers the entries
from fuzz_every import run_every
from fuzz_harness import LOG, REGISTRY, cases_for, run_entry


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzz the public functions of dtstat.")
    parser.add_argument("--cases", type=int, default=20_000, help="number of cases in all")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same cases")
    parser.add_argument("--only", default="", help="entries whose names contain this text")
    parser.add_argument(
        "--every", action="store_true", help="every argument with every bad value instead"
    )
    wanted = parser.parse_args()
    LOG.keep_going = True
    begun = time.monotonic()
    if wanted.every:
        run_every(wanted.only, wanted.seed)
    for name, cases in cases_for(wanted.cases).items():
        if wanted.every or wanted.only not in name:
            continue
        start = time.monotonic()
        run_entry(REGISTRY[name], cases, wanted.seed)
        line = f"{LOG.cases[name]:7d} cases {time.monotonic() - start:7.1f} s  {name}"
        print(f"{line} ({LOG.answered[name]} calls answered)", flush=True)
    total = sum(LOG.cases.values())
    seconds = time.monotonic() - begun
    print(f"{total:7d} cases in all, {seconds:.0f} s, seed {wanted.seed}; {dict(LOG.endings)}")
    print(f"\n{len(LOG.findings)} kinds of findings")
    return 1 if LOG.findings else 0


if __name__ == "__main__":
    sys.exit(main())
