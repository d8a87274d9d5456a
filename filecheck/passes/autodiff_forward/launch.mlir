// RUN: mlirad-opt %s -p autodiff-expand-requests | filecheck %s

// A launch in forward mode is one launch of a kernel that has the tangents beside the arguments.
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
func.func @dscale(%n : index, %x : memref<?xf64>, %dx : memref<?xf64>, %c : f64) {
  autodiff.fwddiff @scale(%n, %x, %dx, %c) [#autodiff<activity const>, #autodiff<activity dup>, #autodiff<activity const>] -> [] : (index, memref<?xf64>, memref<?xf64>, f64) -> ()
  func.return
}

// CHECK:       sym_name = "scale"
// CHECK:       memref.store %w, %x[%i]
// CHECK-NEXT:  memref.store %[[DW:.*]], %dx[%i]
// CHECK:       sym_name = "fwddiff_scale_dc"
// CHECK-LABEL: func.func private @fwddiff_scale_cdc
// CHECK:       %x, %dx, %c) <{kernel = @kernels::@fwddiff_scale_dc
// CHECK-NOT:   gpu.launch_func
// CHECK-LABEL: func.func @dscale
