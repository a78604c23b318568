// Fewer page faults for a program that fills memory once and ends.
//
// Fresh memory comes from the kernel page by page, at about two microseconds each: a third of the
// time of a program that counts a large model. Huge pages cost a sixth of that.
#ifndef ONNXFLOPS_SRC_BASE_HUGE_HEAP_H_
#define ONNXFLOPS_SRC_BASE_HUGE_HEAP_H_

namespace onnxflops {

// Lets malloc take its memory, large arrays included, from one range that the kernel is asked to
// fill with huge pages. It changes the whole process, so it is for main() of a program, first
// thing, and not for a library. Where there are no huge pages, or another allocator, nothing
// changes.
void UseHugePagesForHeap();

}  // namespace onnxflops

#endif  // ONNXFLOPS_SRC_BASE_HUGE_HEAP_H_
