"""
Where each cache goes: the values that name it, in its function, in the kernels it is handed to,
and, if it outlives its function, in the reverse function that receives it.
"""

from dataclasses import dataclass, field

from xdsl.dialects import func, gpu
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import SSAValue

from mlirad.dialects.autodiff import InitOp, PushOp
from mlirad.errors import UnsupportedError, describe
from mlirad.passes.analysis.flow import body, kernel_of, location

REVERSE_OF = "autodiff.reverse_of"
"""On the reverse function of a split: its augmented primal, whose last results are the caches."""


@dataclass
class CacheUses:
    """One cache."""

    init: InitOp
    values: list[SSAValue] = field(default_factory=list[SSAValue])
    pushes: list[tuple[PushOp, gpu.LaunchFuncOp | None]] = field(
        default_factory=list[tuple[PushOp, gpu.LaunchFuncOp | None]]
    )
    """Each with the launch of the kernel it stands in."""


def find_caches(module: ModuleOp) -> list[CacheUses]:
    receivers = {
        reverse.attributes[REVERSE_OF]: reverse
        for reverse in module.walk()
        if isinstance(reverse, func.FuncOp) and REVERSE_OF in reverse.attributes
    }
    found: list[CacheUses] = []
    for op in module.walk():
        if isinstance(op, InitOp):
            uses = CacheUses(op)
            follow(op.cache, None, uses, receivers)
            found.append(uses)
    return found


def follow(
    value: SSAValue,
    launch: gpu.LaunchFuncOp | None,
    uses: CacheUses,
    receivers: dict[object, func.FuncOp],
) -> None:
    uses.values.append(value)
    for use in value.uses:
        op = use.operation
        match op:
            case PushOp():
                uses.pushes.append((op, launch))
            case gpu.LaunchFuncOp():
                position = list(op.operands).index(value) - (
                    len(op.operands) - len(op.kernelOperands)
                )
                follow(body(kernel_of(op)).args[position], op, uses, receivers)
            case func.ReturnOp():
                function = op.parent_op()
                assert isinstance(function, func.FuncOp)
                receiver = receivers.get(SymbolRefAttr(function.sym_name))
                if receiver is not None:
                    from_end = use.index - len(op.operands)
                    follow(body(receiver).args[from_end], None, uses, receivers)
            case func.CallOp():
                raise UnsupportedError(
                    describe(location(op), "caches are handed to a call", "run inline-calls first")
                )
            case _:
                continue


def inits_by_value(caches: list[CacheUses]) -> dict[SSAValue, list[CacheUses]]:
    """Which caches a value can name: a kernel that is launched twice serves several."""
    found: dict[SSAValue, list[CacheUses]] = {}
    for uses in caches:
        for value in uses.values:
            found.setdefault(value, []).append(uses)
    return found
