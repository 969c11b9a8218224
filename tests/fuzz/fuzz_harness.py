"""One rule for every call: a correct result or a DTError.

Never another exception, a warning that is not dtstat's own, a number that is not finite where none
is documented, or more time than a case may take. ``attempt`` makes one call and holds it to the
rule; what breaks it is a :class:`Finding`.
"""

from __future__ import annotations

import contextlib
import faulthandler
import signal
import sys
import tempfile
import threading
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from dtstat.core.errors import DTError, DTWarning

# Most cases take milliseconds; the first of a kind may have to compile kernels.
SECONDS_A_CASE = 90
LONGEST_MESSAGE = 2_000  # characters: a message is to be read
LONGEST_SHOWN = 400


# Errors of a strategy or an oracle, not of a call: a long run notes them and goes on.
_OUTSIDE = (ArithmeticError, AttributeError, ImportError, LookupError, TypeError, ValueError)


class Finding(AssertionError):
    """A call that broke the rule."""


class _TooLong(BaseException):
    """Raised by the alarm; not an Exception, lest the code under test catches it."""


@dataclass
class Entry:
    """One thing to be fuzzed: a function that draws arguments and calls what they are for."""

    name: str
    run: Callable[[Any], None]
    share: float = 1.0  # of the cases, beside other entries; dear ones get less
    covers: tuple[str, ...] = ()


REGISTRY: dict[str, Entry] = {}


def entry(name: str, share: float = 1.0, covers: tuple[str, ...] = ()) -> Callable[..., Any]:
    """Put a function of ``draw`` into the registry."""

    def register(run: Callable[[Any], None]) -> Callable[[Any], None]:
        assert name not in REGISTRY, name
        REGISTRY[name] = Entry(name, run, share, (name, *covers))
        return run

    return register


@dataclass
class Log:
    """What happened: cases by entry, how calls ended, and what broke the rule."""

    cases: Counter[str] = field(default_factory=Counter)
    endings: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    refusals: list[str] = field(default_factory=list)  # the latest
    call: tuple[Any, Any] = ((), {})  # the latest
    findings: dict[str, str] = field(default_factory=dict)
    keep_going: bool = False


LOG = Log()


def attempt(label: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a function; return its result, or None when it refused with a DTError."""
    LOG.call = args, kwargs
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*args, **kwargs)
        except DTError as error:
            LOG.endings["refused"] += 1
            LOG.refusals[:] = [str(error)]
            _check_message(label, error, args, kwargs)
            result = None
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            ours = [f for f in traceback.extract_tb(error.__traceback__) if "dtstat/" in f.filename]
            raise Finding(
                f"{label}: {type(error).__name__}: {_short(error)}\n"
                f"  at {_place(ours[-1] if ours else where)} (deepest: {_place(where)})\n"
                f"  called with {_shown(args, kwargs)}"
            ) from error
        else:
            LOG.endings["answered"] += 1
            LOG.answered[label] += 1
    for warning in caught:
        if not issubclass(warning.category, DTWarning):
            raise Finding(
                f"{label}: warned {warning.category.__name__}: {_short(warning.message)}\n"
                f"  at {warning.filename}:{warning.lineno}\n  called with {_shown(args, kwargs)}"
            )
    return result


def expect(holds: bool, label: str, *about: Any) -> None:
    """Report a result that is not correct."""
    if not holds:
        raise Finding(f"{label}: " + ", ".join(_short(one) for one in about))


def _check_message(label: str, error: DTError, args: Any, kwargs: Any) -> None:
    text = str(error)
    if not text.strip() or len(text) > LONGEST_MESSAGE:
        raise Finding(
            f"{label}: a message of {len(text)} characters: {_short(text)}\n"
            f"  called with {_shown(args, kwargs)}"
        )


def _place(frame: traceback.FrameSummary) -> str:
    return f"{frame.filename}:{frame.lineno} {frame.name}"


def _short(value: Any) -> str:
    try:
        text = value if isinstance(value, str) else repr(value)
    except Exception as error:
        text = f"<{type(value).__name__} whose repr fails: {type(error).__name__}>"
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}... ({len(text)})"


def _shown(args: Any, kwargs: Any) -> str:
    return ", ".join([*map(_short, args), *(f"{k}={_short(v)}" for k, v in kwargs.items())])


@contextlib.contextmanager
def time_limit(label: str, seconds: float = SECONDS_A_CASE) -> Iterator[None]:
    """Fail what computes longer, on a busy machine as on an idle one.

    What never returns, or waits for ever, ends the process, with a trace.
    """

    def ring(*_: Any) -> None:
        raise _TooLong

    if threading.current_thread() is not threading.main_thread():
        yield  # signals come to the main thread alone
        return
    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)  # again: a callback may swallow it
    faulthandler.dump_traceback_later(10 * seconds, exit=True, file=sys.__stderr__)
    try:
        yield
    except _TooLong:
        signal.setitimer(signal.ITIMER_PROF, 0)  # the next alarm would end the whole run
        stack = traceback.format_exc(limit=-6)
        called = _shown(*LOG.call)
        raise Finding(
            f"{label}: took more than {seconds} s\n{stack}\n  latest call with {called}"
        ) from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        faulthandler.cancel_dump_traceback_later()


def run_entry(one: Entry, cases: int, number: int | None) -> None:
    """Run so many cases of an entry: the same for the same seed; None for those of `make test`."""

    @settings(
        max_examples=cases,
        deadline=None,
        database=None,
        derandomize=number is None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
        print_blob=False,
    )
    @given(st.data())
    def cases_of(data: Any) -> None:
        LOG.cases[one.name] += 1
        try:
            with time_limit(one.name):
                one.run(data.draw)
        except (Finding, *_OUTSIDE) as error:
            if not LOG.keep_going:
                raise
            _note(str(error) if isinstance(error, Finding) else traceback.format_exc(limit=-3))

    # Entries of one seed must differ, or all functions would see the same few tables.
    own = None if number is None else [number, *one.name.encode()]
    # Hostile names of files are written to as well as read; here they do no harm.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        (cases_of if own is None else seed(str(own))(cases_of))()


def _note(text: str) -> None:
    lines = text.splitlines()
    key = lines[0][:120] + (lines[1] if len(lines) > 1 else "")
    if key not in LOG.findings:
        LOG.findings[key] = text
        print(f"--- {text}\n", flush=True)


def cases_for(total: int) -> dict[str, int]:
    """Share a number of cases among the entries."""
    whole = sum(one.share for one in REGISTRY.values())
    return {name: max(2, round(total * one.share / whole)) for name, one in REGISTRY.items()}
