"""Compiling: it is said where somebody waits, needs no folder to write to, is interrupted."""

import io
import subprocess
import sys
from contextlib import redirect_stderr

import numpy as np
import pytest

from dtstat.core import kernels


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def screen(monkeypatch):
    """A terminal before which any compiling is long."""
    monkeypatch.setattr(kernels, "_LONG", 0.0)
    monkeypatch.setattr(kernels._WAITING, "_said", False)
    monkeypatch.delitem(sys.modules, "dtstat.interop.r_bridge", raising=False)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    return Terminal()


def compile_two(stream, module="dtstat.of_a_test"):
    """Compile two functions before a stream."""

    def double(x):
        return 2 * x

    def half(x):
        return x / 2

    for function in (double, half):
        function.__module__ = module
        with redirect_stderr(stream):
            assert kernels.part(function)(4.0) == function(4.0)  # a kernel would be kept


def test_a_terminal_is_told_once(screen):
    compile_two(screen)
    assert screen.getvalue() == f"{kernels.COMPILING}\n"


def test_a_notebook_is_told(screen, monkeypatch):
    monkeypatch.setattr(screen, "isatty", lambda: False)
    monkeypatch.setitem(sys.modules, "ipykernel", object())
    compile_two(screen)
    assert screen.getvalue() == f"{kernels.COMPILING}\n"


def test_nothing_is_said_of_what_is_short(screen, monkeypatch):
    monkeypatch.setattr(kernels, "_LONG", 1e6)
    compile_two(screen)
    assert not screen.getvalue()


def test_nothing_is_said_of_what_others_compile(screen):
    compile_two(screen, "somewhere.else")
    assert not screen.getvalue()


@pytest.mark.parametrize("where", ["file", "R", "worker"])
def test_nothing_is_said_where_nobody_looks(screen, monkeypatch, where):
    if where == "file":
        monkeypatch.setattr(screen, "isatty", lambda: False)
    if where == "R":
        monkeypatch.setitem(sys.modules, "dtstat.interop.r_bridge", object())
    if where == "worker":
        monkeypatch.setattr(kernels, "current_process", lambda: type("One", (), {"name": "Two"}))
    compile_two(screen)
    assert not screen.getvalue()


def test_no_stream_is_no_reason_to_fail(screen):
    compile_two(None)


def test_kernels_work_where_nothing_can_be_kept(monkeypatch):
    def refuse(function):
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr("numba.core.dispatcher.FunctionCache", refuse)
    total = kernels.kernel(lambda x: x.sum())
    assert total(np.arange(4.0)) == 6


INTERRUPTED = """
import signal
from contextlib import suppress
from dtstat.core import kernels

def double(x):
    return 2 * x

double.__module__ = "dtstat.of_a_test"
compiled = kernels.part(double)
real = compiled._compiler.compile

def interrupted(args, return_type):
    with suppress(KeyboardInterrupt):  # callbacks from C and weak references drop it
        signal.raise_signal(signal.SIGINT)
    if {fails}:
        raise RuntimeError("no compiled object yet")
    return real(args, return_type)

before = signal.default_int_handler
signal.signal(signal.SIGINT, before)  # a shell has what it starts with & ignore Ctrl-C
compiled._compiler.compile = interrupted
try:
    compiled(4.0)
except KeyboardInterrupt:
    print("interrupted")
assert signal.getsignal(signal.SIGINT) is before
compiled._compiler.compile = real
assert compiled(4.0) == 8.0
"""


@pytest.mark.parametrize("fails", [False, True])
def test_an_interrupt_that_is_lost_while_compiling_ends_the_work(fails):
    """In an interpreter of its own: how signals are handled belongs to the whole process."""
    code = INTERRUPTED.format(fails=fails)
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "interrupted\n"
