// RUN: mlirad-opt %s -p autodiff-forward --split-input-file --verify-diagnostics | filecheck %s

// A loop carries tangents beside values; a store into an active array stores its tangent too.
func.func @f(%x : f64, %m : memref<?xf64>, %n : index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (f64) {
    %b = math.sin %a : f64
    memref.store %b, %m[%i] : memref<?xf64>
    scf.yield %b : f64
  }
  func.return %r : f64
}
func.func @df(%x : f64, %dx : f64, %m : memref<?xf64>, %dm : memref<?xf64>, %n : index) -> (f64, f64) {
  %y, %dy = autodiff.fwddiff @f(%x, %dx, %m, %dm, %n) [#autodiff<activity dup>, #autodiff<activity dup>, #autodiff<activity const>] -> [#autodiff<activity dup>] : (f64, f64, memref<?xf64>, memref<?xf64>, index) -> (f64, f64)
  func.return %y, %dy : f64, f64
}

// CHECK-LABEL: func.func private @fwddiff_f_ddc
// CHECK:       scf.for %[[I:.*]] = {{.*}} iter_args(%[[A:.*]] = %x, %[[DA:.*]] = %dx) -> (f64, f64)
// CHECK-NEXT:    %[[B:.*]] = math.sin %[[A]]
// CHECK-NEXT:    %[[COS:.*]] = math.cos %[[A]]
// CHECK-NEXT:    %[[DB:.*]] = arith.mulf %[[COS]], %[[DA]]
// CHECK-NEXT:    memref.store %[[B]], %m[%[[I]]]
// CHECK-NEXT:    memref.store %[[DB]], %dm[%[[I]]]
// CHECK-NEXT:    scf.yield %[[B]], %[[DB]]

// -----

// An inactive value stored into an active array clears the tangent there.
func.func @clear(%m : memref<?xf64>, %i : index) {
  %one = arith.constant 1.0 : f64
  memref.store %one, %m[%i] : memref<?xf64>
  func.return
}
func.func @dclear(%m : memref<?xf64>, %dm : memref<?xf64>, %i : index) {
  autodiff.fwddiff @clear(%m, %dm, %i) [#autodiff<activity dup>, #autodiff<activity const>] -> [] : (memref<?xf64>, memref<?xf64>, index) -> ()
  func.return
}

// CHECK-LABEL: func.func private @fwddiff_clear_dc
// CHECK:       %[[ZERO:.*]] = arith.constant 0.0
// CHECK:       memref.store %[[ZERO]], %dm

// -----

// Active values must not go into an array that was given as `const`.
func.func @out(%x : f64, %work : memref<?xf64>, %i : index) {
  memref.store %x, %work[%i] : memref<?xf64>
  func.return
}
func.func @dout(%x : f64, %dx : f64, %work : memref<?xf64>, %i : index) {
  autodiff.fwddiff @out(%x, %dx, %work, %i) [#autodiff<activity dup>, #autodiff<activity const>, #autodiff<activity const>] -> [] : (f64, f64, memref<?xf64>, index) -> ()
  func.return
}

// CHECK: active values are stored into 'work', which 'out' is given as Const
