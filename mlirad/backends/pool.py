"""
A pool of threads that run ranges of blocks, as LLVM text.

It stays outside of Python: a launch takes no lock of the interpreter, is spread within
microseconds, and no exception can come between its beginning and its end. One launch is spread at
a time; another that comes meanwhile, from another thread, runs in the thread it comes from.
"""

from __future__ import annotations

MOST_WORKERS = 256
CHUNKS = 8
"""Pieces per worker that the blocks of a launch are cut into: not all take the same time."""

FUNCTIONS = tuple(f"mlirad_pool_{name}" for name in ("prepare", "start", "stop", "launch"))

# A mutex or condition takes up to 64 bytes, a `pthread_t` 8. What follows `lock` is read and
# written by its holder, except that `next` is counted up without it.
POOL = f"""
@lock = internal global [128 x i8] zeroinitializer, align 64
@wake = internal global [128 x i8] zeroinitializer, align 64
@idle = internal global [128 x i8] zeroinitializer, align 64
@threads = internal global [{MOST_WORKERS} x i64] zeroinitializer
@started = internal global i64 0
@helpers = internal global i64 0
@least = internal global i64 0
@stop = internal global i1 false
@open = internal global i1 false
@joined = internal global i64 0
@running = internal global i64 0
@kernel = internal global ptr null
@table = internal global ptr null
@args = internal global ptr null
@blocks = internal global i64 0
@chunk = internal global i64 0
@next = internal global i64 0
@busy = internal global i32 0, align 64

declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)

; Also makes a new pool of one whose threads are gone, in the child of a fork.
define void @mlirad_pool_prepare() nounwind {{
  call i32 @pthread_mutex_init(ptr @lock, ptr null)
  call i32 @pthread_cond_init(ptr @wake, ptr null)
  call i32 @pthread_cond_init(ptr @idle, ptr null)
  store i64 0, ptr @started
  store i64 0, ptr @helpers
  store i64 0, ptr @running
  store i1 false, ptr @stop
  store i1 false, ptr @open
  store atomic i32 0, ptr @busy release, align 4
  ret void
}}

; Makes `helpers` threads take part in launches of at least `least` threads. Not for two callers
; at a time. Returns what pthread_create did: 0 if all went well.
define i32 @mlirad_pool_start(i64 %helpers, i64 %least) nounwind {{
  call i32 @pthread_mutex_lock(ptr @lock)
  store i64 %helpers, ptr @helpers
  store i64 %least, ptr @least
  call i32 @pthread_mutex_unlock(ptr @lock)
  br label %more
more:
  %started = load i64, ptr @started
  %enough = icmp sge i64 %started, %helpers
  br i1 %enough, label %done, label %one
one:
  %slot = getelementptr inbounds i64, ptr @threads, i64 %started
  %error = call i32 @pthread_create(ptr %slot, ptr null, ptr @worker, ptr null)
  %failed = icmp ne i32 %error, 0
  br i1 %failed, label %fewer, label %created
created:
  %now = add i64 %started, 1
  store i64 %now, ptr @started
  br label %more
fewer:
  ret i32 %error
done:
  ret i32 0
}}

define void @mlirad_pool_stop() nounwind {{
  call i32 @pthread_mutex_lock(ptr @lock)
  store i1 true, ptr @stop
  call i32 @pthread_cond_broadcast(ptr @wake)
  call i32 @pthread_mutex_unlock(ptr @lock)
  br label %head
head:
  %k = phi i64 [ 0, %0 ], [ %following, %join ]
  %started = load i64, ptr @started
  %more = icmp slt i64 %k, %started
  br i1 %more, label %join, label %done
join:
  %slot = getelementptr inbounds i64, ptr @threads, i64 %k
  %thread = load i64, ptr %slot
  call i32 @pthread_join(i64 %thread, ptr null)
  %following = add i64 %k, 1
  br label %head
done:
  store i64 0, ptr @started
  store i64 0, ptr @helpers
  ret void
}}

; Runs chunks until none is left.
define internal void @work(ptr %kernel, ptr %table, ptr %args, i64 %blocks, i64 %chunk) nounwind {{
  br label %head
head:
  %first = atomicrmw add ptr @next, i64 %chunk monotonic
  %some = icmp slt i64 %first, %blocks
  br i1 %some, label %run, label %done
run:
  %full = add i64 %first, %chunk
  %end = call i64 @llvm.smin.i64(i64 %full, i64 %blocks)
  call void %kernel(ptr %table, ptr %args, i64 %first, i64 %end)
  br label %head
done:
  ret void
}}

define internal ptr @worker(ptr %unused) nounwind {{
  call i32 @pthread_mutex_lock(ptr @lock)
  br label %look
look:
  %stop = load i1, ptr @stop
  br i1 %stop, label %leave, label %stay
stay:
  %open = load i1, ptr @open
  %joined = load i64, ptr @joined
  %helpers = load i64, ptr @helpers
  %room = icmp slt i64 %joined, %helpers
  %wanted = and i1 %open, %room
  br i1 %wanted, label %join, label %wait
wait:
  call i32 @pthread_cond_wait(ptr @wake, ptr @lock)
  br label %look
join:
  %with = add i64 %joined, 1
  store i64 %with, ptr @joined
  %others = load i64, ptr @running
  %with_us = add i64 %others, 1
  store i64 %with_us, ptr @running
  %kernel = load ptr, ptr @kernel
  %table = load ptr, ptr @table
  %args = load ptr, ptr @args
  %blocks = load i64, ptr @blocks
  %chunk = load i64, ptr @chunk
  call i32 @pthread_mutex_unlock(ptr @lock)
  call void @work(ptr %kernel, ptr %table, ptr %args, i64 %blocks, i64 %chunk)
  call i32 @pthread_mutex_lock(ptr @lock)
  store i1 false, ptr @open
  %before = load i64, ptr @running
  %after = sub i64 %before, 1
  store i64 %after, ptr @running
  %last = icmp eq i64 %after, 0
  br i1 %last, label %tell, label %look
tell:
  call i32 @pthread_cond_broadcast(ptr @idle)
  br label %look
leave:
  call i32 @pthread_mutex_unlock(ptr @lock)
  ret ptr null
}}

; The slot `launch` of the table. The words of a launch begin with its status, grid and block.
define void @mlirad_pool_launch(ptr %kernel, ptr %table, ptr %args, i64 %blocks) nounwind {{
  %single = icmp slt i64 %blocks, 2
  br i1 %single, label %alone, label %several
several:
  %x_slot = getelementptr inbounds i64, ptr %args, i64 4
  %y_slot = getelementptr inbounds i64, ptr %args, i64 5
  %z_slot = getelementptr inbounds i64, ptr %args, i64 6
  %x = load i64, ptr %x_slot
  %y = load i64, ptr %y_slot
  %z = load i64, ptr %z_slot
  %xy = mul i64 %x, %y
  %block = mul i64 %xy, %z
  %total = mul i64 %block, %blocks
  %turn = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic
  %ours = extractvalue {{ i32, i1 }} %turn, 1
  br i1 %ours, label %enter, label %alone
enter:
  call i32 @pthread_mutex_lock(ptr @lock)
  %least = load i64, ptr @least
  %helpers = load i64, ptr @helpers
  %large = icmp sge i64 %total, %least
  %any = icmp sgt i64 %helpers, 0
  %spread = and i1 %large, %any
  br i1 %spread, label %begin, label %decline
decline:
  call i32 @pthread_mutex_unlock(ptr @lock)
  store atomic i32 0, ptr @busy release, align 4
  br label %alone
alone:
  call void %kernel(ptr %table, ptr %args, i64 0, i64 %blocks)
  ret void
begin:
  %workers = add i64 %helpers, 1
  %pieces = mul i64 %workers, {CHUNKS}
  %even = sdiv i64 %blocks, %pieces
  %chunk = call i64 @llvm.smax.i64(i64 %even, i64 1)
  store ptr %kernel, ptr @kernel
  store ptr %table, ptr @table
  store ptr %args, ptr @args
  store i64 %blocks, ptr @blocks
  store i64 %chunk, ptr @chunk
  store atomic i64 0, ptr @next monotonic, align 8
  store i64 0, ptr @joined
  store i1 true, ptr @open
  call i32 @pthread_cond_broadcast(ptr @wake)
  call i32 @pthread_mutex_unlock(ptr @lock)
  call void @work(ptr %kernel, ptr %table, ptr %args, i64 %blocks, i64 %chunk)
  call i32 @pthread_mutex_lock(ptr @lock)
  store i1 false, ptr @open
  br label %check
check:
  %running = load i64, ptr @running
  %finished = icmp eq i64 %running, 0
  br i1 %finished, label %end, label %wait
wait:
  call i32 @pthread_cond_wait(ptr @idle, ptr @lock)
  br label %check
end:
  call i32 @pthread_mutex_unlock(ptr @lock)
  store atomic i32 0, ptr @busy release, align 4
  ret void
}}
"""
