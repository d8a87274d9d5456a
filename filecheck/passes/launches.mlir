// RUN: mlirad-opt %s -p propagate-launch-sizes,merge-common,fuse-launches,merge-common,merge-branches,autodiff-elide-atomics | filecheck %s

// A launch of one axis has ids along that axis only; a reverse sweep whose threads own what they
// touch moves into the kernel before it, under the same guard.

builtin.module attributes {gpu.container_module} {
  "gpu.module"() <{sym_name = "kernels"}> ({
    "gpu.func"() <{function_type = (memref<?xf64>, index) -> (), kernel}> ({
    ^bb0(%x: memref<?xf64>, %n: index):
      %b = "gpu.block_id"() <{dimension = #gpu<dim x>}> : () -> index
      %d = "gpu.block_dim"() <{dimension = #gpu<dim x>}> : () -> index
      %t = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
      %start = arith.muli %b, %d : index
      %i = arith.addi %start, %t : index
      %inside = arith.cmpi slt, %i, %n : index
      scf.if %inside {
        %v = memref.load %x[%i] : memref<?xf64>
        memref.store %v, %x[%i] : memref<?xf64>
      }
      "gpu.return"() : () -> ()
    }) {sym_name = "forwards", mlirad.alias = array<i64: 0, -1>} : () -> ()
    "gpu.func"() <{function_type = (memref<?xf64>, index) -> (), kernel}> ({
    ^bb0(%dx: memref<?xf64>, %n: index):
      %b = "gpu.block_id"() <{dimension = #gpu<dim x>}> : () -> index
      %d = "gpu.block_dim"() <{dimension = #gpu<dim x>}> : () -> index
      %t = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
      %y = "gpu.thread_id"() <{dimension = #gpu<dim y>}> : () -> index
      %start = arith.muli %b, %d : index
      %i = arith.addi %start, %t : index
      %inside = arith.cmpi slt, %i, %n : index
      scf.if %inside {
        %v = autodiff.take %dx[%i] : memref<?xf64>
        autodiff.accumulate %v, %dx[%i] : memref<?xf64>
      }
      "gpu.return"() : () -> ()
    }) {sym_name = "backwards", mlirad.reversed, mlirad.alias = array<i64: 0, -1>} : () -> ()
  }) : () -> ()
  func.func @f(%g: index, %b: index, %n: index, %x: memref<?xf64>, %dx: memref<?xf64>) attributes {mlirad.alias = array<i64: -1, -1, -1, 0, 1>} {
    %one = arith.constant 1 : index
    "gpu.launch_func"(%g, %one, %one, %b, %one, %one, %x, %n) <{kernel = @kernels::@forwards, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 2, 0>}> : (index, index, index, index, index, index, memref<?xf64>, index) -> ()
    "gpu.launch_func"(%g, %one, %one, %b, %one, %one, %dx, %n) <{kernel = @kernels::@backwards, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 2, 0>}> : (index, index, index, index, index, index, memref<?xf64>, index) -> ()
    func.return
  }
}

// CHECK-NOT:   gpu<dim y>
// CHECK:       scf.if %inside {
// CHECK-NEXT:    %v = memref.load %x[%i]
// CHECK-NEXT:    memref.store %v, %x[%i]
// CHECK-NEXT:    %{{.*}} = autodiff.take %dx[%i]
// CHECK-NEXT:    autodiff.accumulate %{{.*}}, %dx[%i] exclusive
// CHECK:       mlirad.launch_sizes = array<i64: -1, 1, 1, -1, 1, 1>
// CHECK-COUNT-1: "gpu.launch_func"
// CHECK-NOT:   "gpu.launch_func"
