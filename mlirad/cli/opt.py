"""`mlirad-opt`: xDSL's optimizer driver with the dialect, the passes and the targets of mlirad."""

from __future__ import annotations

from typing import ClassVar

from xdsl.universe import Universe
from xdsl.xdsl_opt_main import xDSLOptMain

from mlirad.universe import MLIRAD_UNIVERSE, target_factory


class MliradOpt(xDSLOptMain):
    """Knows mlirad even where its entry point is not installed, as when run from a checkout."""

    version_format: ClassVar[str] = "mlirad-opt built from xdsl version {xdsl_version}"

    def register_all_dialects(self) -> None:
        super().register_all_dialects()
        known = Universe.get_multiverse().all_dialects
        for name, factory in MLIRAD_UNIVERSE.all_dialects.items():
            if name not in known:
                self.ctx.register_dialect(name, factory)

    def register_all_passes(self) -> None:
        super().register_all_passes()
        for name, factory in MLIRAD_UNIVERSE.all_passes.items():
            self.register_pass(name, factory)

    def register_all_targets(self) -> None:
        super().register_all_targets()
        self.available_targets |= MLIRAD_UNIVERSE.all_targets
        self.available_targets["llvm"] = target_factory("PlainLLVMTarget")


def main(arguments: list[str] | None = None) -> None:
    """Runs `mlirad-opt` with `arguments`, by default those of the process."""
    MliradOpt("mlirad modular optimizer driver", arguments).run()


if __name__ == "__main__":
    main()
