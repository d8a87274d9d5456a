"""
`autodiff-lower-caches`: gives every cache its storage.

| cache | becomes |
| --- | --- |
| sized | a memref of (product of counts) x (threads) elements, threads side by side |
| growable, of a function | the handle (`i64`) of a stack, see docs/design/ir.md |
| growable, of a kernel | a memref with one handle per thread |
"""

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    IntegerType,
    MemRefType,
    ModuleOp,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import SymbolTable

from mlirad.dialects.autodiff import SIZED, CacheType, FreeOp, InitOp, PopOp, PushOp
from mlirad.passes.analysis.caches import find_caches, inits_by_value
from mlirad.passes.analysis.flow import Function
from mlirad.passes.base import Pass
from mlirad.passes.derivatives.sweep import BuilderBefore, OpT
from mlirad.passes.derivatives.threads import thread_total
from mlirad.passes.derivatives.watch import keep_mark
from mlirad.passes.plan_caches import update_type

STACKS = "mlirad.stacks"
"""On an allocation that holds the handles of growable caches."""
INDEX, HANDLE = IndexType(), IntegerType(64)


class LowerCachesPass(Pass):
    """Leaves no cache op and no cache type."""

    name = "autodiff-lower-caches"

    def rewrite(self, module: ModuleOp) -> None:
        per_thread = {
            value: any(uses.init.threads is not None for uses in group)
            for value, group in inits_by_value(find_caches(module)).items()
        }
        work = [(op, op.cache.type) for op in module.walk() if isinstance(op, CacheOp)]
        for value, is_per_thread in per_thread.items():
            assert isinstance(value.type, CacheType)
            if isinstance(value.owner, Block):
                Rewriter.replace_value_with_new_type(value, storage(value.type, is_per_thread))
        for op, cache in work:
            assert isinstance(cache, CacheType)
            Lowering(op, cache, module).run()
        for function in module.walk():
            if isinstance(function, Function) and function.body.blocks:
                update_type(function)


CacheOp = InitOp | PushOp | PopOp | FreeOp


def storage(cache: CacheType, per_thread: bool) -> Attribute:
    if cache.storage == SIZED:
        return MemRefType(cache.element_type, [DYNAMIC_INDEX])
    return MemRefType(HANDLE, [DYNAMIC_INDEX]) if per_thread else HANDLE


class Lowering:
    """The replacement of one cache op; `cache` is the type its cache had before this pass."""

    def __init__(self, op: CacheOp, cache: CacheType, module: ModuleOp):
        self.op, self.cache, self.module = op, cache, module
        self.build = BuilderBefore(op)

    def run(self) -> None:
        op, build = self.op, self.build
        sized = self.cache.storage == SIZED
        match op:
            case InitOp():
                build.replace(op.cache, self.sized(op) if sized else self.growable(op))
                return
            case PushOp() if sized:
                build(memref.StoreOp.get(op.value, op.cache, [self.position(op)]))
            case PushOp():
                self.call("push", [self.handle(op), op.value], [])
            case PopOp() if sized:
                value = build(memref.LoadOp.get(op.cache, [self.position(op)])).res
                op.value.replace_all_uses_with(value)
            case PopOp():
                (value,) = self.call("pop", [self.handle(op)], [self.cache.element_type])
                op.value.replace_all_uses_with(value)
            case FreeOp():
                self.free(op, sized)
        build.replace()

    def sized(self, op: InitOp) -> SSAValue:
        total = self.constant(1)
        for factor in (*op.counts, *([op.threads] if op.threads is not None else [])):
            total = self.build(arith.MuliOp(total, factor)).result
        type = MemRefType(self.cache.element_type, [DYNAMIC_INDEX])
        alloc = self.build(memref.AllocOp([total], [], type))
        keep_mark(op, alloc)
        return alloc.memref

    def growable(self, op: InitOp) -> SSAValue:
        if op.threads is None:
            (stack,) = self.call("new", [], [HANDLE])
            keep_mark(op, stack.owner)
            return stack
        type = MemRefType(HANDLE, [DYNAMIC_INDEX])
        handles = self.build(memref.AllocOp([op.threads], [], type))
        handles.attributes[STACKS] = UnitAttr()
        keep_mark(op, handles)
        stacks = handles.memref

        def make(thread: SSAValue, block: Block) -> None:
            (stack,) = self.call("new", [], [HANDLE], block)
            self.add(memref.StoreOp.get(stack, stacks, [thread]), block)

        self.for_each(op.threads, make)
        return stacks

    def free(self, op: FreeOp, sized: bool) -> None:
        if sized:
            self.build(memref.DeallocOp.get(op.cache))
        elif op.threads is None:
            self.call("free", [op.cache], [])
        else:

            def end(thread: SSAValue, block: Block) -> None:
                stack = self.add(memref.LoadOp.get(op.cache, [thread]), block).res
                self.call("free", [stack], [], block)

            self.for_each(op.threads, end)
            self.build(memref.DeallocOp.get(op.cache))

    def position(self, op: PushOp | PopOp) -> SSAValue:
        """Row-major over the loops; the threads of a launch side by side."""
        number = self.constant(0)
        for index, count in zip(op.indices, op.counts, strict=True):
            number = self.build(arith.MuliOp(number, count)).result
            number = self.build(arith.AddiOp(number, index)).result
        if op.thread is not None:
            threads = thread_total(self.build.builder, op.location)
            number = self.build(arith.MuliOp(number, threads)).result
            number = self.build(arith.AddiOp(number, op.thread)).result
        return number

    def handle(self, op: PushOp | PopOp) -> SSAValue:
        if op.thread is None:
            return op.cache
        return self.build(memref.LoadOp.get(op.cache, [op.thread])).res

    def call(
        self,
        what: str,
        operands: Sequence[SSAValue],
        results: Sequence[Attribute],
        block: Block | None = None,
    ) -> Sequence[SSAValue]:
        """A call of one of the stack functions of the back end, declared on first use."""
        name = f"mlirad_stack_{what}"
        if what in ("push", "pop"):
            name += f"_{self.cache.element_type}"
        table = self.op.parent_op()
        while table is not None and not table.has_trait(SymbolTable):
            table = table.parent_op()
        assert table is not None
        if SymbolTable.lookup_symbol(table, name) is None:
            types = [value.type for value in operands]
            declaration = func.FuncOp.external(name, types, list(results))
            declaration.location = self.op.location
            first = table.regions[0].block.first_op
            assert first is not None
            table.regions[0].block.insert_op_before(declaration, first)
        return self.add(func.CallOp(name, operands, results), block).res

    def add(self, op: OpT, block: Block | None) -> OpT:
        if block is None:
            return self.build(op)
        op.location = self.op.location
        block.add_op(op)
        return op

    def constant(self, value: int) -> SSAValue:
        return self.build(arith.ConstantOp.from_int_and_width(value, INDEX)).result

    def for_each(self, count: SSAValue, make: Callable[[SSAValue, Block], None]) -> None:
        block = Block(arg_types=[INDEX])
        make(block.args[0], block)
        self.add(scf.YieldOp(), block)
        bounds = self.constant(0), count, self.constant(1)
        self.build(scf.ForOp(*bounds, [], Region(block)))
