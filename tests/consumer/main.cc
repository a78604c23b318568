#if __has_include(<onnxflops.h>)
#include <onnxflops.h>
#endif

int main() {}
