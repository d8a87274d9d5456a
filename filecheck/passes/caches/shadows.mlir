// RUN: mlirad-opt %s -p autodiff-lower-shadows | filecheck %s

func.func @host(%v : f64, %m : memref<?xf64>, %i : index) -> f64 {
  autodiff.accumulate %v, %m[%i] : memref<?xf64>
  %t = autodiff.take %m[%i] : memref<?xf64>
  func.return %t : f64
}

// Outside of kernels an accumulation is a load, an addition and a store; a take leaves zero.
// CHECK-LABEL: func.func @host
// CHECK-NEXT:  %[[OLD:.*]] = memref.load %m[%i]
// CHECK-NEXT:  %[[NEW:.*]] = arith.addf %[[OLD]], %v
// CHECK-NEXT:  memref.store %[[NEW]], %m[%i]
// CHECK-NEXT:  %[[T:.*]] = memref.load %m[%i]
// CHECK-NEXT:  %[[ZERO:.*]] = arith.constant 0.0
// CHECK-NEXT:  memref.store %[[ZERO]], %m[%i]
// CHECK-NEXT:  func.return %[[T]]

"gpu.module"() <{sym_name = "kernels"}> ({
  "gpu.func"() <{function_type = (f64, memref<?xf64>, index) -> (), kernel}> ({
  ^bb0(%v : f64, %m : memref<?xf64>, %i : index):
    autodiff.accumulate %v, %m[%i] : memref<?xf64>
    autodiff.accumulate %v, %m[%i] exclusive : memref<?xf64>
    "gpu.return"() : () -> ()
  }) {sym_name = "kernel"} : () -> ()
}) : () -> ()

// In kernels it is atomic, unless no other thread adds to the element.
// CHECK:       "memref.atomic_rmw"(%v, %m, %i)
// CHECK-NEXT:  memref.load %m[%i]
// CHECK-NEXT:  arith.addf
// CHECK-NEXT:  memref.store
// CHECK-NEXT:  "gpu.return"
