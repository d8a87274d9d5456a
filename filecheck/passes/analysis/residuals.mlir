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
// CHECK: %c = memref.load %t{{.*}}"recompute: loaded from memory that nothing writes"
// CHECK: %w = arith.mulf {{.*}}"cache: computed by the primal"
// CHECK: %s = math.sin %w : f64
