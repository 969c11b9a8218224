"""Which parameters are equal in all groups (lavaan's ``group.equal`` and ``group.partial``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dtstat.core import checks
from dtstat.core.errors import InputError, nearest
from dtstat.sem.parameters import Parameter
from dtstat.sem.roles import Roles

_KINDS: dict[str, Callable[[Parameter, frozenset[str]], bool]] = {
    "loadings": lambda row, _: row.op == "=~",
    "intercepts": lambda row, latent: row.op == "~1" and row.lhs not in latent,
    "means": lambda row, latent: row.op == "~1" and row.lhs in latent,
    "thresholds": lambda row, _: row.op == "|",
    "regressions": lambda row, _: row.op == "~",
    "residuals": lambda row, latent: row.is_variance and row.lhs not in latent,
    "residual_covariances": lambda row, latent: (
        row.op == "~~" and row.lhs != row.rhs and not {row.lhs, row.rhs} <= latent
    ),
    "lv_variances": lambda row, latent: row.is_variance and row.lhs in latent,
    "lv_covariances": lambda row, latent: (
        row.op == "~~" and row.lhs != row.rhs and {row.lhs, row.rhs} <= latent
    ),
}


def check_kinds(group_equal: object) -> tuple[str, ...]:
    """Names of kinds of parameters; lavaan's spelling with dots is understood."""
    if group_equal is None:
        return ()
    given = [group_equal] if isinstance(group_equal, str) else group_equal
    names = checks.texts("group_equal", given, f"Give some of {', '.join(_KINDS)}.")
    kinds = tuple(name.replace(".", "_").lower() for name in names)
    for kind in kinds:
        if kind not in _KINDS:
            raise checks.unknown("group_equal", "kinds of parameters", kind, tuple(_KINDS))
    return tuple(dict.fromkeys(kinds))


def equate_groups(
    table: Sequence[Parameter],
    roles: Roles,
    equal: Sequence[str],
    partial: Sequence[str],
    groups: Sequence[str],
) -> list[Parameter]:
    """Label free parameters of the given kinds like those of the first group.

    Labels that were written stay; parameters named in ``partial``, as in "f=~x1", are left alone.
    The labels are lavaan's: ".p5." is the fifth row of the table.
    """
    rows = list(table)
    if len(groups) < 2:
        return rows
    apart = _partial_keys(rows, partial)
    latent = frozenset(roles.latent)
    first = {row.key: k for k, row in enumerate(rows) if row.group == 1}
    for k, row in enumerate(rows):
        if row.group == 1 or not row.free or row.label or row.key in apart:
            continue
        at = first[row.key]
        if any(_KINDS[kind](row, latent) for kind in equal) and rows[at].free:
            label = rows[at].label or f".p{at + 1}."
            rows[at], rows[k] = rows[at].change(label=label), row.change(label=label)
    return rows


def _partial_keys(rows: Sequence[Parameter], partial: Sequence[str]) -> set[tuple[str, str, str]]:
    """Return what parameters such as "f =~ x1" or "x1 ~ 1" are."""
    known = {}
    for row in rows:
        known[row.lhs + row.op + row.rhs] = row.key
        if row.op == "~~":
            known[row.rhs + row.op + row.lhs] = row.key
    keys = set()
    for text in partial:
        plain = "".join(text.split())
        if plain not in known:
            raise InputError(
                f"`group_partial` names '{text}', which is no parameter of the model. "
                + nearest(plain, known),
                "group_partial",
            )
        keys.add(known[plain])
    return keys
