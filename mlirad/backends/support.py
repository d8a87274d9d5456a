"""
Functions that emitted code calls, as LLVM text: allocation and growable stacks.

All of them get memory from the table of the runtime. They are internal to each module, so
that LLVM inlines them.
"""

from __future__ import annotations

from mlirad.backends.native import SIZES

BYTES = """
define internal i64 @mlirad_bytes(i64 %count, i64 %each) alwaysinline #1 {
  %pair = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %count, i64 %each)
  %product = extractvalue { i64, i1 } %pair, 0
  %overflow = extractvalue { i64, i1 } %pair, 1
  %bytes = select i1 %overflow, i64 -1, i64 %product
  ret i64 %bytes
}
declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)"""

# No byte is asked for as one, because null means that memory ran out.
ALLOC = """
define internal noalias ptr @mlirad_alloc(ptr %table, ptr %status, i64 %bytes) alwaysinline #1 {
  %none = icmp eq i64 %bytes, 0
  %some = select i1 %none, i64 1, i64 %bytes
  %impossible = icmp slt i64 %bytes, 0
  br i1 %impossible, label %failed, label %try
try:
  %alloc = load ptr, ptr %table, align 8
  %memory = call noalias ptr %alloc(i64 %some)
  %null = icmp eq ptr %memory, null
  br i1 %null, label %failed, label %done
failed:
  store atomic i32 1, ptr %status monotonic, align 4
  ret ptr null
done:
  ret ptr %memory
}"""

FREE = """
define internal void @mlirad_free(ptr %table, ptr %memory) alwaysinline #1 {
  %slot = getelementptr inbounds ptr, ptr %table, i64 1
  %free = load ptr, ptr %slot, align 8
  call void %free(ptr %memory)
  ret void
}"""

# A stack is { ptr data, i64 size, i64 capacity }; its handle is the address of that.
STACK = """
define internal i64 @mlirad_stack_new(ptr %table, ptr %status) #1 {
  %head = call ptr @mlirad_alloc(ptr %table, ptr %status, i64 24)
  %handle = ptrtoint ptr %head to i64
  ret i64 %handle
}
define internal void @mlirad_stack_free(ptr %table, i64 %handle) #1 {
  %head = inttoptr i64 %handle to ptr
  %none = icmp eq i64 %handle, 0
  br i1 %none, label %done, label %some
some:
  %data = load ptr, ptr %head, align 8
  %empty = icmp eq ptr %data, null
  br i1 %empty, label %header, label %full
full:
  call void @mlirad_free(ptr %table, ptr %data)
  br label %header
header:
  call void @mlirad_free(ptr %table, ptr %head)
  br label %done
done:
  ret void
}
define internal i1 @mlirad_stack_grow(ptr %table, ptr %status, ptr %head, i64 %width) noinline #1 {
  %size_slot = getelementptr inbounds i8, ptr %head, i64 8
  %capacity_slot = getelementptr inbounds i8, ptr %head, i64 16
  %size = load i64, ptr %size_slot, align 8
  %capacity = load i64, ptr %capacity_slot, align 8
  %twice = shl i64 %capacity, 1
  %first = icmp eq i64 %capacity, 0
  %more = select i1 %first, i64 64, i64 %twice
  %bytes = mul i64 %more, %width
  %new = call ptr @mlirad_alloc(ptr %table, ptr %status, i64 %bytes)
  %null = icmp eq ptr %new, null
  br i1 %null, label %failed, label %grown
grown:
  store i64 %more, ptr %capacity_slot, align 8
  %old = load ptr, ptr %head, align 8
  store ptr %new, ptr %head, align 8
  %nothing = icmp eq ptr %old, null
  br i1 %nothing, label %done, label %move
move:
  %used = mul i64 %size, %width
  call void @llvm.memcpy.p0.p0.i64(ptr %new, ptr %old, i64 %used, i1 false)
  call void @mlirad_free(ptr %table, ptr %old)
  br label %done
done:
  ret i1 true
failed:
  ret i1 false
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"""

# False says that the value was dropped because memory ran out.
PUSH = """
define internal i1 @mlirad_stack_push_{name}(
    ptr %table, ptr %status, i64 %handle, {type} %value) alwaysinline #1 {{
  %head = inttoptr i64 %handle to ptr
  %none = icmp eq i64 %handle, 0
  br i1 %none, label %missing, label %some
missing:
  store atomic i32 1, ptr %status monotonic, align 4
  ret i1 false
some:
  %size_slot = getelementptr inbounds i8, ptr %head, i64 8
  %capacity_slot = getelementptr inbounds i8, ptr %head, i64 16
  %size = load i64, ptr %size_slot, align 8
  %capacity = load i64, ptr %capacity_slot, align 8
  %full = icmp eq i64 %size, %capacity
  br i1 %full, label %grow, label %keep
grow:
  %grown = call i1 @mlirad_stack_grow(ptr %table, ptr %status, ptr %head, i64 {width})
  br i1 %grown, label %keep, label %failed
failed:
  ret i1 false
keep:
  %data = load ptr, ptr %head, align 8
  %slot = getelementptr inbounds {type}, ptr %data, i64 %size
  store {type} %value, ptr %slot, align {width}
  %next = add nuw nsw i64 %size, 1
  store i64 %next, ptr %size_slot, align 8
  ret i1 true
}}"""

POP = """
define internal {type} @mlirad_stack_pop_{name}(i64 %handle) alwaysinline #1 {{
  %head = inttoptr i64 %handle to ptr
  %none = icmp eq i64 %handle, 0
  br i1 %none, label %empty, label %some
some:
  %size_slot = getelementptr inbounds i8, ptr %head, i64 8
  %size = load i64, ptr %size_slot, align 8
  %nothing = icmp eq i64 %size, 0
  br i1 %nothing, label %empty, label %full
full:
  %last = sub nuw nsw i64 %size, 1
  store i64 %last, ptr %size_slot, align 8
  %data = load ptr, ptr %head, align 8
  %slot = getelementptr inbounds {type}, ptr %data, i64 %last
  %value = load {type}, ptr %slot, align {width}
  ret {type} %value
empty:
  ret {type} {zero}
}}"""

STACK_TYPES = {
    "i1": "i8",
    "i8": "i8",
    "i16": "i16",
    "i32": "i32",
    "i64": "i64",
    "index": "i64",
    "f32": "float",
    "f64": "double",
}
"""What a stack of each element type holds; a bool takes a byte."""


def push(name: str) -> str:
    kind = STACK_TYPES[name]
    return PUSH.format(name=name, type=kind, width=SIZES[kind])


def pop(name: str) -> str:
    kind = STACK_TYPES[name]
    zero = "0" if kind[0] == "i" else "0.0"
    return POP.format(name=name, type=kind, width=SIZES[kind], zero=zero)


# Table of a program without threads. Memory starts at a multiple of 64 with the address
# that the C library gave just before it.
DEFAULT_TABLE = """
define ptr @mlirad_table_alloc(i64 %bytes) nounwind {
  %all = add i64 %bytes, 72
  %wraps = icmp slt i64 %all, %bytes
  br i1 %wraps, label %failed, label %try
try:
  %raw = call ptr @calloc(i64 1, i64 %all)
  %null = icmp eq ptr %raw, null
  br i1 %null, label %failed, label %done
done:
  %address = ptrtoint ptr %raw to i64
  %past = add i64 %address, 71
  %aligned = and i64 %past, -64
  %shift = sub i64 %aligned, %address
  %memory = getelementptr i8, ptr %raw, i64 %shift
  %before = getelementptr i8, ptr %memory, i64 -8
  store ptr %raw, ptr %before, align 8
  ret ptr %memory
failed:
  ret ptr null
}
define void @mlirad_table_free(ptr %memory) nounwind {
  %null = icmp eq ptr %memory, null
  br i1 %null, label %done, label %some
some:
  %before = getelementptr i8, ptr %memory, i64 -8
  %raw = load ptr, ptr %before, align 8
  call void @free(ptr %raw)
  br label %done
done:
  ret void
}
define void @mlirad_table_launch(ptr %kernel, ptr %table, ptr %args, i64 %blocks) nounwind {
  call void %kernel(ptr %table, ptr %args, i64 0, i64 %blocks)
  ret void
}
declare ptr @calloc(i64, i64)
declare void @free(ptr)
"""
