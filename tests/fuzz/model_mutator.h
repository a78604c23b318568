// Mutations that know what a model is: operators, attributes, shapes, contents, names, metadata,
// subgraphs and functions changed, inputs and outputs taken away, and parts exchanged between
// models. What they make is often wrong, but loads: MendModel sees to that.
//
// libFuzzer finds the two functions by their names; linking this file is enough. Inputs are one
// byte of choices and a ModelProto; what does not parse is mutated as bytes.
#ifndef ONNXFLOPS_TESTS_FUZZ_MODEL_MUTATOR_H_
#define ONNXFLOPS_TESTS_FUZZ_MODEL_MUTATOR_H_

#include <cstddef>
#include <cstdint>

extern "C" {
// libFuzzer's own mutation of bytes.
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t* data1, size_t size1, const uint8_t* data2,
                                 size_t size2, uint8_t* out, size_t max_out_size,
                                 unsigned int seed);
}

#endif  // ONNXFLOPS_TESTS_FUZZ_MODEL_MUTATOR_H_
