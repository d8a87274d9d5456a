// RUN: ROUNDTRIP

func.func @f(%m: memref<?xi64>, %i: index, %old: i64, %new: i64) -> (i64, memref<3xf64>) {
  %found = autodiff.compare_exchange %old, %new, %m[%i] : i64, memref<?xi64>
  autodiff.fence "device"
  %w = autodiff.constant_array dense<[2.500000e-01, 5.000000e-01, -1.500000e+00]> : tensor<3xf64> : memref<3xf64>
  func.return %found, %w : i64, memref<3xf64>
}

// CHECK:      %found = autodiff.compare_exchange %old, %new, %m[%i] : i64, memref<?xi64>
// CHECK-NEXT: autodiff.fence "device"
// CHECK-NEXT: %w = autodiff.constant_array dense<[2.500000e-01, 5.000000e-01, -1.500000e+00]> : tensor<3xf64> : memref<3xf64>
