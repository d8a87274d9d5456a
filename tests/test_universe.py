"""xDSL's tools see the dialect, every pass and the targets."""

import inspect
import pkgutil
from importlib import import_module

import pytest
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.xdsl_opt_main import xDSLOptMain

import mlirad.passes
from mlirad.universe import MLIRAD_UNIVERSE


def written():
    """Every pass in `mlirad.passes`, by name."""
    for info in pkgutil.walk_packages(mlirad.passes.__path__, "mlirad.passes."):
        for value in vars(import_module(info.name)).values():
            if (
                inspect.isclass(value)
                and issubclass(value, ModulePass)
                and not inspect.isabstract(value)
                and value.__module__ == info.name
            ):
                yield value.name, value


def test_every_pass_is_registered_under_its_name():
    registered = {name: load() for name, load in MLIRAD_UNIVERSE.all_passes.items()}
    assert registered == dict(written())


def test_the_dialect_and_the_targets_load_under_their_names():
    for name, load in MLIRAD_UNIVERSE.all_dialects.items():
        assert load().name == name
    for name, load in MLIRAD_UNIVERSE.all_targets.items():
        assert load().name == name


@pytest.mark.parametrize("kind", ["all_dialects", "all_passes", "all_targets"])
def test_xdsl_finds_it_through_the_entry_point(kind):
    assert getattr(MLIRAD_UNIVERSE, kind).keys() <= getattr(Universe.get_multiverse(), kind).keys()


def test_no_name_is_one_of_xdsl():
    # Raises for a name that is defined twice; each of ours must be the one that is found.
    found = Universe.get_multiverse()
    for name, load in MLIRAD_UNIVERSE.all_passes.items():
        assert found.all_passes[name]() is load()


def test_xdsl_opt_differentiates(tmp_path, capsys):
    path = tmp_path / "request.mlir"
    path.write_text(
        """
        func.func @square(%x : f64) -> f64 {
          %y = arith.mulf %x, %x : f64
          func.return %y : f64
        }
        func.func @d(%x : f64, %dx : f64) -> (f64, f64) {
          %y, %dy = autodiff.fwddiff @square(%x, %dx) [#autodiff<activity dup>]
              -> [#autodiff<activity dup>] : (f64, f64) -> (f64, f64)
          func.return %y, %dy : f64, f64
        }
        """
    )
    xDSLOptMain(args=[str(path), "-p", "autodiff-forward"]).run()
    printed = capsys.readouterr().out
    assert "func.call @fwddiff_square" in printed
    assert "autodiff." not in printed
