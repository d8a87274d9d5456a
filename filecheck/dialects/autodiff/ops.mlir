// RUN: ROUNDTRIP

func.func @square(%x : f64) -> f64 {
  %y = arith.mulf %x, %x : f64
  func.return %y : f64
}

// A `dup` argument is followed by its tangent, a `dup` result too.
func.func @forward(%x : f64, %dx : f64) -> (f64, f64) {
  %y, %dy = autodiff.fwddiff @square(%x, %dx) [#autodiff<activity dup>] -> [#autodiff<activity dup>] : (f64, f64) -> (f64, f64)
  func.return %y, %dy : f64, f64
}
// CHECK:      %y, %dy = autodiff.fwddiff @square(%x, %dx) [#autodiff<activity dup>] -> [#autodiff<activity dup>] : (f64, f64) -> (f64, f64)

// The seed of an `active` result comes last, the cotangents of `active` arguments are results.
func.func @reverse(%x : f64, %y_ct : f64) -> (f64, f64) {
  %y, %x_ct = autodiff.revdiff @square(%x, %y_ct) [#autodiff<activity active>] -> [#autodiff<activity active>] : (f64, f64) -> (f64, f64)
  func.return %y, %x_ct : f64, f64
}
// CHECK:      %y, %x_ct = autodiff.revdiff @square(%x, %y_ct) [#autodiff<activity active>] -> [#autodiff<activity active>] : (f64, f64) -> (f64, f64)

autodiff.split @square into @square_augmented, @square_reverse [#autodiff<activity active>] -> [#autodiff<activity active>]
// CHECK:      autodiff.split @square into @square_augmented, @square_reverse [#autodiff<activity active>] -> [#autodiff<activity active>]

func.func @stopped(%x : f64) -> f64 {
  %y = autodiff.stop_gradient %x : f64
  func.return %y : f64
}
// CHECK:      %y = autodiff.stop_gradient %x : f64

// A growable cache mirrors pushes; a sized one is addressed by thread and iteration.
func.func @caches(%x : f64, %i : index, %n : index, %t : index, %threads : index) {
  %grow = autodiff.init [] : !autodiff.cache<f64, "growable">
  autodiff.push %x, %grow [] of [] : !autodiff.cache<f64, "growable">
  %a = autodiff.pop %grow [] of [] : !autodiff.cache<f64, "growable">
  autodiff.free %grow : !autodiff.cache<f64, "growable">
  %sized = autodiff.init threads(%threads) [%n] : !autodiff.cache<f64, "sized">
  autodiff.push %x, %sized thread(%t) [%i] of [%n] : !autodiff.cache<f64, "sized">
  %b = autodiff.pop %sized thread(%t) [%i] of [%n] : !autodiff.cache<f64, "sized">
  autodiff.free %sized threads(%threads) : !autodiff.cache<f64, "sized">
  func.return
}
// CHECK:      %grow = autodiff.init[] : !autodiff.cache<f64, "growable">
// CHECK-NEXT: autodiff.push %x, %grow[] of[] : !autodiff.cache<f64, "growable">
// CHECK-NEXT: %a = autodiff.pop %grow[] of[] : !autodiff.cache<f64, "growable">
// CHECK-NEXT: autodiff.free %grow : !autodiff.cache<f64, "growable">
// CHECK-NEXT: %sized = autodiff.init threads(%threads) [%n] : !autodiff.cache<f64, "sized">
// CHECK-NEXT: autodiff.push %x, %sized thread(%t) [%i] of[%n] : !autodiff.cache<f64, "sized">
// CHECK-NEXT: %b = autodiff.pop %sized thread(%t) [%i] of[%n] : !autodiff.cache<f64, "sized">
// CHECK-NEXT: autodiff.free %sized threads(%threads) : !autodiff.cache<f64, "sized">

// What a load and a store become in the reverse sweep.
func.func @shadows(%shadow : memref<?xf64>, %x : f64, %i : index) -> f64 {
  autodiff.accumulate %x, %shadow[%i] : memref<?xf64>
  autodiff.accumulate %x, %shadow[%i] exclusive : memref<?xf64>
  %taken = autodiff.take %shadow[%i] : memref<?xf64>
  func.return %taken : f64
}
// CHECK:      autodiff.accumulate %x, %shadow[%i] : memref<?xf64>
// CHECK-NEXT: autodiff.accumulate %x, %shadow[%i] exclusive : memref<?xf64>
// CHECK-NEXT: %taken = autodiff.take %shadow[%i] : memref<?xf64>
