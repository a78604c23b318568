# The program for Homebrew, compiled from the source distribution. tools/ci/pin writes the version and the hash.
class Onnxflops < Formula
  desc "Counts the FLOPs of ONNX models from their graphs alone"
  homepage "https://onnxflops.invalid"
  url "https://onnxflops.invalid/releases/download/v1.0.0/onnxflops-1.0.0.tar.gz"
  sha256 "9cf60a16bac5367a06f51667893238bd606a16d1bcb19e07c6cfd32c24f0a285"
  license "Apache-2.0"

  depends_on "cmake" => :build
  depends_on "ninja" => :build

  def install
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DONNXFLOPS_STATIC_PROGRAM=OFF", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/onnxflops --version")
    assert_match "mac", shell_output("#{bin}/onnxflops explain Gemm")
  end
end
