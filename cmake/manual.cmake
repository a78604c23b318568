# Completion of shells and the man page, which the program writes itself, so that who has only the program has them as well.
set(manual ${PROJECT_BINARY_DIR}/manual)
if(CMAKE_CROSSCOMPILING)  # the program does not run here
  return()
endif()
file(MAKE_DIRECTORY ${manual})
add_custom_command(OUTPUT ${manual}/onnxflops ${manual}/_onnxflops ${manual}/onnxflops.fish ${manual}/onnxflops.1
  DEPENDS onnxflops
  COMMAND onnxflops completion bash -o ${manual}/onnxflops
  COMMAND onnxflops completion zsh -o ${manual}/_onnxflops
  COMMAND onnxflops completion fish -o ${manual}/onnxflops.fish
  COMMAND onnxflops completion man -o ${manual}/onnxflops.1
  COMMENT "Writing completion and man page")
add_custom_target(onnxflops_manual ALL DEPENDS ${manual}/onnxflops.1)
