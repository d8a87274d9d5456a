// RUN: DIAGNOSTICS

// A tangent is missing.
func.func @f(%x : f64) -> f64 {
  func.return %x : f64
}
func.func @df(%x : f64) -> (f64, f64) {
  %y, %dy = autodiff.fwddiff @f(%x) [#autodiff<activity dup>] -> [#autodiff<activity dup>] : (f64) -> (f64, f64)
  func.return %y, %dy : f64, f64
}
// CHECK: expected 2 inputs (1 primals and 1 tangents), but got 1

// -----

func.func @f(%x : f64) -> f64 {
  func.return %x : f64
}
func.func @df(%x : f64, %dx : f64) -> f64 {
  %y = autodiff.fwddiff @f(%x, %dx) [#autodiff<activity dup>] -> [#autodiff<activity dup>] : (f64, f64) -> f64
  func.return %y : f64
}
// CHECK: expected 2 results (1 primals and 1 tangents), but got 1

// -----

func.func @f(%x : f64) -> f64 {
  func.return %x : f64
}
func.func @df(%x : f64) -> f64 {
  %y = autodiff.fwddiff @f(%x) [#autodiff<activity active>] -> [#autodiff<activity const>] : (f64) -> f64
  func.return %y : f64
}
// CHECK: 'active' is for reverse mode; forward mode has 'dup'

// -----

// The seed of the result is missing.
func.func @f(%x : f64) -> f64 {
  func.return %x : f64
}
func.func @df(%x : f64) -> (f64, f64) {
  %y, %x_ct = autodiff.revdiff @f(%x) [#autodiff<activity active>] -> [#autodiff<activity active>] : (f64) -> (f64, f64)
  func.return %y, %x_ct : f64, f64
}
// CHECK: expected 2 inputs (1 primals, 0 shadows and 1 seeds), but got 1

// -----

func.func @f(%x : f64) -> f64 {
  func.return %x : f64
}
func.func @df(%x : f64) -> f64 {
  %y = autodiff.revdiff @f(%x) [#autodiff<activity const>] -> [#autodiff<activity dup>] : (f64) -> f64
  func.return %y : f64
}
// CHECK: a result is 'active' or 'const' in reverse mode

// -----

func.func @push(%cache : !autodiff.cache<f64, "sized">, %x : f64, %i : index) {
  autodiff.push %x, %cache [%i] of [] : !autodiff.cache<f64, "sized">
  func.return
}
// CHECK: expected 1 counts, one per index, but got 0

// -----

func.func @df(%x : f64, %dx : f64) -> (f64, f64) {
  %y, %dy = autodiff.fwddiff @absent(%x, %dx) [#autodiff<activity dup>] -> [#autodiff<activity dup>] : (f64, f64) -> (f64, f64)
  func.return %y, %dy : f64, f64
}
// CHECK: there is no function @absent

// -----

func.func @f(%x : f64, %n : i64) -> f64 {
  func.return %x : f64
}
autodiff.split @f into @first, @second [#autodiff<activity active>] -> [#autodiff<activity active>]
// CHECK: expected 2 activities of arguments of 'f', but got 1

// -----

// The seed has the type of the result.
func.func @f(%x : f64) -> f64 {
  func.return %x : f64
}
func.func @df(%x : f64, %s : f32) -> (f64, f64) {
  %y, %ct = autodiff.revdiff @f(%x, %s) [#autodiff<activity active>] -> [#autodiff<activity active>] : (f64, f32) -> (f64, f64)
  func.return %y, %ct : f64, f64
}
// CHECK: expected input 1 to be f64, but got f32
