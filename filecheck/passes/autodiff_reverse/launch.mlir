// RUN: mlirad-opt %s -p autodiff-expand-requests | filecheck %s

// A launch in reverse is two launches: an augmented kernel that fills a cache with one place per
// thread, and a reverse kernel on the same grid. The number %c is read by all threads, so the
// reverse kernel adds its cotangent to a cell in memory.
"gpu.module"() <{sym_name = "kernels"}> ({
  "gpu.func"() <{function_type = (memref<?xf64>, f64) -> (), kernel}> ({
  ^bb0(%x : memref<?xf64>, %c : f64):
    %i = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
    %v = memref.load %x[%i] : memref<?xf64>
    %w = arith.mulf %v, %c : f64
    memref.store %w, %x[%i] : memref<?xf64>
    "gpu.return"() : () -> ()
  }) {sym_name = "scale"} : () -> ()
}) : () -> ()
func.func @scale(%n : index, %x : memref<?xf64>, %c : f64) {
  %one = arith.constant 1 : index
  "gpu.launch_func"(%one, %one, %one, %n, %one, %one, %x, %c) <{kernel = @kernels::@scale, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 2, 0>}> : (index, index, index, index, index, index, memref<?xf64>, f64) -> ()
  func.return
}
func.func @dscale(%n : index, %x : memref<?xf64>, %dx : memref<?xf64>, %c : f64) -> f64 {
  %ct = autodiff.revdiff @scale(%n, %x, %dx, %c) [#autodiff<activity const>, #autodiff<activity dup>, #autodiff<activity active>] -> [] : (index, memref<?xf64>, memref<?xf64>, f64) -> f64
  func.return %ct : f64
}

// CHECK:       sym_name = "scale"
// CHECK:       autodiff.push %v, %{{.*}} thread(%{{.*}})
// CHECK:       sym_name = "augmented_scale_dd"
// CHECK:       autodiff.pop %{{.*}} thread(%{{.*}})
// CHECK:       autodiff.take %dx
// CHECK:       autodiff.accumulate %{{.*}}, %dx
// CHECK:       autodiff.accumulate %{{.*}}, %{{.*}}[] : memref<f64>
// CHECK:       sym_name = "reverse_scale_dd", mlirad.reversed
// CHECK-LABEL: func.func private @augmented_scale_cda
// CHECK:       autodiff.init threads(%{{.*}})
// CHECK:       kernel = @kernels::@augmented_scale_dd
// CHECK-LABEL: func.func private @reverse_scale_cda
// CHECK:       %[[CELL:.*]] = memref.alloc() : memref<f64>
// CHECK:       kernel = @kernels::@reverse_scale_dd
// CHECK:       memref.load %[[CELL]][]
