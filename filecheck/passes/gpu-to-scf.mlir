// RUN: mlirad-opt %s -p gpu-to-scf --split-input-file --verify-diagnostics | filecheck %s

// The kernel becomes loops over a range of blocks; the launch hands over all of them.

builtin.module attributes {gpu.container_module} {
  "gpu.module"() <{sym_name = "kernels"}> ({
    "gpu.func"() <{function_type = (memref<?xf64>) -> (), kernel}> ({
    ^bb0(%x: memref<?xf64>):
      %b = "gpu.block_id"() <{dimension = #gpu<dim x>}> : () -> index
      %n = "gpu.block_dim"() <{dimension = #gpu<dim x>}> : () -> index
      %t = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
      %start = arith.muli %b, %n : index
      %i = arith.addi %start, %t : index
      %v = memref.load %x[%i] : memref<?xf64>
      memref.store %v, %x[%i] : memref<?xf64>
      "gpu.return"() : () -> ()
    }) {sym_name = "k", mlirad.alias = array<i64: 0>} : () -> ()
  }) : () -> ()
  func.func @k(%gx: index, %gy: index, %gz: index, %bx: index, %by: index, %bz: index, %x: memref<?xf64>) attributes {mlirad.entry} {
    "gpu.launch_func"(%gx, %gy, %gz, %bx, %by, %bz, %x) <{kernel = @kernels::@k, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 0>}> : (index, index, index, index, index, index, memref<?xf64>) -> ()
    func.return
  }
}

// CHECK:       builtin.module {
// CHECK-NEXT:    func.func @k(
// CHECK:           %[[ROW:.*]] = arith.muli %gx, %gy : index
// CHECK-NEXT:      %[[ALL:.*]] = arith.muli %[[ROW]], %gz : index
// CHECK-NEXT:      func.call @k_blocks(%{{.*}}, %[[ALL]], %gx, %gy, %gz, %bx, %by, %bz, %x) {mlirad.launch}
// CHECK:         func.func private @k_blocks(%first: index, %end: index, %gx: index, %gy: index, %gz: index, %bx: index, %by: index, %bz: index, %x: memref<?xf64>)
// CHECK-SAME:      mlirad.alias = array<i64: -1, -1, -1, -1, -1, -1, -1, -1, 0>
// CHECK:           scf.for %block = %first to %end
// CHECK:             %b = arith.remui %block, %gx : index
// CHECK:             scf.for %tz = %{{.*}} to %bz
// CHECK-NEXT:          scf.for %ty = %{{.*}} to %by
// CHECK-NEXT:            scf.for %tx = %{{.*}} to %bx
// CHECK-NEXT:              %start = arith.muli %b, %bx : index
// CHECK-NEXT:              %i = arith.addi %start, %tx : index

// -----

// A value that the second part needs goes through a slot; ids are computed again.

builtin.module attributes {gpu.container_module} {
  "gpu.module"() <{sym_name = "kernels"}> ({
    "gpu.func"() <{function_type = (memref<?xf64>) -> (), kernel}> ({
    ^bb0(%x: memref<?xf64>):
      %t = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
      %v = memref.load %x[%t] : memref<?xf64>
      "gpu.barrier"() : () -> ()
      memref.store %v, %x[%t] : memref<?xf64>
      "gpu.return"() : () -> ()
    }) {sym_name = "k"} : () -> ()
  }) : () -> ()
}

// CHECK:       builtin.module {
// CHECK:           %[[SLOT:.*]] = memref.alloc(%{{.*}}) : memref<?xf64>
// CHECK:           scf.for %block
// CHECK:                 scf.for %tx =
// CHECK:                   %v = memref.load %x[%tx]
// CHECK:                   memref.store %v, %[[SLOT]]
// CHECK:                 scf.for %tx_1 =
// CHECK:                   %[[V:.*]] = memref.load %[[SLOT]]
// CHECK:                   memref.store %[[V]], %x[%tx_1]

// -----

builtin.module attributes {gpu.container_module} {
  "gpu.module"() <{sym_name = "kernels"}> ({
    "gpu.func"() <{function_type = () -> (), kernel}> ({
      %t = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
      %one = arith.constant 1 : index
      %some = arith.cmpi slt, %t, %one : index
      scf.if %some {
        "gpu.barrier"() : () -> ()
      }
      "gpu.return"() : () -> ()
    }) {sym_name = "k"} : () -> ()
  }) : () -> ()
}

// CHECK: a barrier stands where not all threads of a block come: it depends on the id
// CHECK: move the barrier out, and guard the work of single threads with 'if' instead
