// RUN: mlirad-opt %s -p hoist-invariants | filecheck %s

// What no iteration changes leaves both loops. The load stays: with n = 0 its index may be
// out of range. So does what depends on %i.

func.func @nest(%x : memref<?xf64>, %s : f64, %n : index) {
  %zero = arith.constant 0 : index
  scf.for %i = %zero to %n step %n {
    scf.for %j = %zero to %n step %n {
      %a = arith.mulf %s, %s : f64
      %b = math.sin %a : f64
      %k = arith.muli %i, %n : index
      %v = memref.load %x[%zero] : memref<?xf64>
      %w = arith.addf %v, %b : f64
      memref.store %w, %x[%k] : memref<?xf64>
    }
  }
  func.return
}

// CHECK:      %a = arith.mulf %s, %s : f64
// CHECK-NEXT: %b = math.sin %a : f64
// CHECK-NEXT: scf.for %i
// CHECK-NEXT:   %k = arith.muli %i, %n : index
// CHECK-NEXT:   scf.for %j
// CHECK-NEXT:     %v = memref.load
