// RUN: mlirad-opt %s -p autodiff-reverse --split-input-file --verify-diagnostics | filecheck %s

// A load becomes an addition, a store a read that leaves zero; the loaded value is kept because
// the array is overwritten.
func.func @square(%m : memref<?xf64>, %i : index) {
  %v = memref.load %m[%i] : memref<?xf64>
  %w = arith.mulf %v, %v : f64
  memref.store %w, %m[%i] : memref<?xf64>
  func.return
}
func.func @dsquare(%m : memref<?xf64>, %dm : memref<?xf64>, %i : index) {
  autodiff.revdiff @square(%m, %dm, %i) [#autodiff<activity dup>, #autodiff<activity const>] -> [] : (memref<?xf64>, memref<?xf64>, index) -> ()
  func.return
}

// CHECK-LABEL: func.func private @augmented_square_dc
// CHECK:       %[[C:.*]] = autodiff.init
// CHECK-NEXT:  %[[V:.*]] = memref.load %m[%i]
// CHECK-NEXT:  autodiff.push %[[V]], %[[C]]
// CHECK-NEXT:  %[[W:.*]] = arith.mulf %[[V]], %[[V]]
// CHECK-NEXT:  memref.store %[[W]], %m[%i]
// CHECK-NEXT:  func.return %[[C]]

// CHECK-LABEL: func.func private @reverse_square_dc
// CHECK-SAME:    (%m: memref<?xf64>, %dm: memref<?xf64>, %i: index, %[[C:.*]]: !autodiff.cache<f64, "growable">)
// CHECK-NEXT:  %[[V:.*]] = autodiff.pop %[[C]]
// CHECK-NEXT:  %[[CT:.*]] = autodiff.take %dm[%i]
// CHECK:       autodiff.accumulate %{{.*}}, %dm[%i]
// CHECK-NEXT:  autodiff.free %[[C]]

// CHECK-LABEL: func.func @dsquare
// CHECK:       func.call @augmented_square_dc
// CHECK-NEXT:  func.call @reverse_square_dc

// -----

// An array that nothing writes is read again instead of kept.
func.func @dot(%a : memref<?xf64>, %b : memref<?xf64>, %i : index) -> f64 attributes {mlirad.alias = array<i64: 0, 1, -1>} {
  %u = memref.load %a[%i] : memref<?xf64>
  %v = memref.load %b[%i] : memref<?xf64>
  %w = arith.mulf %u, %v : f64
  func.return %w : f64
}
func.func @ddot(%a : memref<?xf64>, %da : memref<?xf64>, %b : memref<?xf64>, %i : index, %s : f64) -> f64 {
  %y = autodiff.revdiff @dot(%a, %da, %b, %i, %s) [#autodiff<activity dup>, #autodiff<activity const>, #autodiff<activity const>] -> [#autodiff<activity active>] : (memref<?xf64>, memref<?xf64>, memref<?xf64>, index, f64) -> f64
  func.return %y : f64
}

// CHECK-LABEL: func.func private @reverse_dot_dcc
// CHECK-NOT:   autodiff.pop
// CHECK:       %[[V:.*]] = memref.load %b[%i]
// CHECK-NEXT:  %[[CT:.*]] = arith.mulf %[[V]], %dw
// CHECK-NEXT:  autodiff.accumulate %[[CT]], %da[%i]

// -----

// Of a split, the reverse half may not read the arguments again: they may have changed.
func.func @dot(%a : memref<?xf64>, %b : memref<?xf64>, %i : index) -> f64 attributes {mlirad.alias = array<i64: 0, 1, -1>} {
  %u = memref.load %a[%i] : memref<?xf64>
  %v = memref.load %b[%i] : memref<?xf64>
  %w = arith.mulf %u, %v : f64
  func.return %w : f64
}
autodiff.split @dot into @first, @second [#autodiff<activity dup>, #autodiff<activity const>, #autodiff<activity const>] -> [#autodiff<activity active>]

// CHECK-LABEL: func.func @first
// CHECK:       autodiff.push
// CHECK-LABEL: func.func @second
// CHECK-NOT:   memref.load
// CHECK:       autodiff.pop

// -----

// Arrays that may overlap share their derivative; one of them cannot do without.
func.func @overlap(%a : memref<?xf64>, %b : memref<?xf64>, %i : index) -> f64 {
  %u = memref.load %b[%i] : memref<?xf64>
  func.return %u : f64
}
func.func @doverlap(%a : memref<?xf64>, %da : memref<?xf64>, %b : memref<?xf64>, %i : index, %s : f64) -> f64 {
  %y = autodiff.revdiff @overlap(%a, %da, %b, %i, %s) [#autodiff<activity dup>, #autodiff<activity const>, #autodiff<activity const>] -> [#autodiff<activity active>] : (memref<?xf64>, memref<?xf64>, memref<?xf64>, index, f64) -> f64
  func.return %y : f64
}

// CHECK: 'b' was given as Const, but may overlap an array that has a shadow
