// RUN: mlirad-opt %s -p autodiff-expand-requests --split-input-file --verify-diagnostics | filecheck %s

// Nested requests are expanded from the inside out: forward over reverse.
func.func private @f(%x : f64) -> f64 {
  %y = math.exp %x : f64
  func.return %y : f64
}
func.func private @gradient(%x : f64, %s : f64) -> f64 {
  %y, %ct = autodiff.revdiff @f(%x, %s) [#autodiff<activity active>] -> [#autodiff<activity active>] : (f64, f64) -> (f64, f64)
  func.return %ct : f64
}
func.func @second(%x : f64, %dx : f64, %s : f64) -> (f64, f64) attributes {mlirad.entry} {
  %ct, %dct = autodiff.fwddiff @gradient(%x, %dx, %s) [#autodiff<activity dup>, #autodiff<activity const>] -> [#autodiff<activity dup>] : (f64, f64, f64) -> (f64, f64)
  func.return %ct, %dct : f64, f64
}

// CHECK-NOT:   autodiff.revdiff
// CHECK-LABEL: func.func private @fwddiff_gradient_dc
// CHECK:       %[[Y:.*]] = math.exp %x
// CHECK:       arith.mulf %[[Y]], %dx
// CHECK-NOT:   autodiff.fwddiff

// -----

// Requests that name each other have no innermost one.
func.func private @a(%x : f64, %dx : f64) -> f64 {
  %y = autodiff.fwddiff @b(%x, %dx) [#autodiff<activity dup>] -> [#autodiff<activity const>] : (f64, f64) -> f64
  func.return %y : f64
}
func.func @b(%x : f64) -> f64 {
  %y = autodiff.fwddiff @a(%x, %x) [#autodiff<activity const>, #autodiff<activity const>] -> [#autodiff<activity const>] : (f64, f64) -> f64
  func.return %y : f64
}

// CHECK: these requests for derivatives name each other
