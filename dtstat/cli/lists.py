"""``dtstat measures`` and ``dtstat datasets``: what there is to choose from."""

from __future__ import annotations

import typer

import dtstat
from dtstat.report import Table


def measures() -> None:
    """List the measures of dependence: what each detects, costs, and when to use it.

    Answers on rating scales: spearman, kendall or polychoric. Items that need not rise with the
    factor: maximal, distance, hsic or xi.
    """
    table = dtstat.measures().reset_index()[
        ["measure", "title", "detects", "handles_ordinal", "cost", "bound"]
    ]
    shown = table.replace({True: "yes", False: "no"}).rename(columns={"handles_ordinal": "ordinal"})
    typer.echo(
        Table.from_frame(
            shown,
            "Measures of dependence",
            [
                "cost: work for one pair of items, n rows.",
                "bound: for which items an error bound is known (see: dtstat plan).",
            ],
        ).to_text()
    )


def datasets() -> None:
    """List the data sets that come with dtstat; each name can be given as FILE."""
    listed = dtstat.datasets().drop(columns="source")
    typer.echo(Table.from_frame(listed, "Data sets").to_text())
