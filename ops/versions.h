// The versions of operators that rows of several families share: kSince1_6_22 is {1, 6, 22}.
#ifndef ONNXFLOPS_OPS_VERSIONS_H_
#define ONNXFLOPS_OPS_VERSIONS_H_

namespace onnxflops {

inline constexpr int kSince1[] = {1};
inline constexpr int kSince1_6_7_13_14[] = {1, 6, 7, 13, 14};
inline constexpr int kSince1_6_8_12_13[] = {1, 6, 8, 12, 13};
inline constexpr int kSince1_6_8_13[] = {1, 6, 8, 13};
inline constexpr int kSince1_6_13[] = {1, 6, 13};
inline constexpr int kSince1_6_22[] = {1, 6, 22};
inline constexpr int kSince1_7[] = {1, 7};
inline constexpr int kSince1_7_9_13[] = {1, 7, 9, 13};
inline constexpr int kSince1_11_12_13[] = {1, 11, 12, 13};
inline constexpr int kSince1_11_12_13_18_20[] = {1, 11, 12, 13, 18, 20};
inline constexpr int kSince1_11_13[] = {1, 11, 13};
inline constexpr int kSince1_11_13_18[] = {1, 11, 13, 18};
inline constexpr int kSince1_11_13_18_28[] = {1, 11, 13, 18, 28};
inline constexpr int kSince1_13[] = {1, 13};
inline constexpr int kSince1_22[] = {1, 22};
inline constexpr int kSince7_22[] = {7, 22};
inline constexpr int kSince9_13[] = {9, 13};
inline constexpr int kSince9_22[] = {9, 22};
inline constexpr int kSince11_22[] = {11, 22};
inline constexpr int kSince12_13[] = {12, 13};
inline constexpr int kSince12_13_22[] = {12, 13, 22};
inline constexpr int kSince12_16[] = {12, 16};
inline constexpr int kSince15_22[] = {15, 22};
inline constexpr int kSince17[] = {17};
inline constexpr int kSince17_20[] = {17, 20};
inline constexpr int kSince18[] = {18};
inline constexpr int kSince18_21[] = {18, 21};
inline constexpr int kSince23[] = {23};

}  // namespace onnxflops

#endif  // ONNXFLOPS_OPS_VERSIONS_H_
