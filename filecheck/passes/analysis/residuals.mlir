// RUN: mlirad-opt %s -p autodiff-annotate-residuals{arguments=0,1} | filecheck %s

func.func @residuals(%x : f64, %m : memref<?xf64>, %t : memref<?xf64>, %k : i64) -> f64 attributes {mlirad.alias = array<i64: -1, 0, 1, -1>} {
  %three = arith.constant 3 : i64
  %j = arith.addi %k, %three : i64
  %i = arith.index_cast %j : i64 to index
  %v = memref.load %m[%i] : memref<?xf64>
  %c = memref.load %t[%i] : memref<?xf64>
  %w = arith.mulf %v, %x : f64
  %s = math.sin %w : f64
  memref.store %s, %m[%i] : memref<?xf64>
  %y = arith.mulf %s, %c : f64
  func.return %y : f64
}

// CHECK: arith.constant {{.*}}"recompute: constant"
// CHECK: %j = arith.addi {{.*}}"recompute: integer arithmetic"
// CHECK: %v = memref.load %m{{.*}}"cache: loaded from memory that may have been written since"
// CHECK: %c = memref.load %t{{.*}}"recompute: loaded from memory that nothing writes later"
// CHECK: %w = arith.mulf {{.*}}"cache: still at hand when the reverse sweep begins"
// CHECK: %s = math.sin %w : f64

// A minimum cut in a loop: %v alone is kept, %s, %e and %q are computed from it again. What a
// `max` compares is kept, for a recomputed `exp` may differ in its last bit.

func.func @cut(%m : memref<?xf64>, %t : memref<?xf64>, %n : index) attributes {mlirad.alias = array<i64: 0, 1, -1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %m[%i] : memref<?xf64>
    %s = math.sin %v : f64
    %e = math.exp %s : f64
    %q = arith.mulf %e, %v : f64
    %p = arith.mulf %q, %e : f64
    %u = memref.load %t[%i] : memref<?xf64>
    %f = math.exp %u : f64
    %g = arith.maximumf %f, %u : f64
    %h = arith.mulf %u, %p : f64
    %k = arith.addf %g, %h : f64
    memref.store %k, %m[%i] : memref<?xf64>
  }
  func.return
}

// CHECK-LABEL: @cut
// CHECK: %v = memref.load {{.*}}"cache: loaded from memory that may have been written since"
// CHECK: %s = math.sin {{.*}}"recompute: arithmetic on what is at hand"
// CHECK: %e = math.exp {{.*}}"recompute: arithmetic on what is at hand"
// CHECK: %q = arith.mulf {{.*}}"recompute: arithmetic on what is at hand"
// CHECK: %p = arith.mulf {{.*}}"recompute: arithmetic on what is at hand"
// CHECK: %u = memref.load {{.*}}"recompute: loaded from memory that nothing writes later"
// CHECK: %f = math.exp {{.*}}"cache: compared, so its last bit matters"
// CHECK: %g = arith.maximumf %f, %u : f64
