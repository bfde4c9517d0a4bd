# Finds LibTorch: where CMAKE_PREFIX_PATH or Torch_DIR points, else PyTorch's wheel in .venv.
#
# The libraries are linked by name instead of by Torch's own CMake package: that one asks for nvcc
# when the wheel was built with CUDA, although nothing here is compiled for it.

find_path(PACELINE_TORCH_INCLUDE torch/csrc/api/include/torch/torch.h
  HINTS ${CMAKE_PREFIX_PATH} ${Torch_DIR}/../../.. PATH_SUFFIXES include NO_CMAKE_SYSTEM_PATH)
if(NOT PACELINE_TORCH_INCLUDE)
  file(GLOB wheel ${PROJECT_SOURCE_DIR}/.venv/lib/python3.*/site-packages/torch)
  find_path(PACELINE_TORCH_INCLUDE torch/csrc/api/include/torch/torch.h
    PATHS ${PACELINE_TORCH_BUILT_WITH}/include ${wheel}/include NO_DEFAULT_PATH)
endif()
if(NOT PACELINE_TORCH_INCLUDE)
  message(FATAL_ERROR "LibTorch not found: run tools/setup, or point CMAKE_PREFIX_PATH at it, or "
                      "build without it (-DPACELINE_TORCH=OFF: no paceline-worker)")
endif()
get_filename_component(PACELINE_TORCH_ROOT ${PACELINE_TORCH_INCLUDE} DIRECTORY)

# Imported: an installed Paceline looks for LibTorch again instead of carrying paths.
add_library(paceline_torch INTERFACE IMPORTED GLOBAL)
target_include_directories(paceline_torch INTERFACE
  ${PACELINE_TORCH_INCLUDE} ${PACELINE_TORCH_INCLUDE}/torch/csrc/api/include)
foreach(lib torch torch_cpu c10)
  find_library(PACELINE_LIB_${lib} ${lib} PATHS ${PACELINE_TORCH_ROOT}/lib NO_DEFAULT_PATH REQUIRED)
  target_link_libraries(paceline_torch INTERFACE ${PACELINE_LIB_${lib}})
endforeach()
target_link_options(paceline_torch INTERFACE -Wl,--no-as-needed)
set(CMAKE_BUILD_RPATH ${PACELINE_TORCH_ROOT}/lib)
set(CMAKE_INSTALL_RPATH ${PACELINE_TORCH_ROOT}/lib)
