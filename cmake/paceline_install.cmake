# cmake --install: programs, libraries, the public headers and a package for find_package(Paceline).
#
#   Paceline::paceline   everything without LibTorch: policies, optimizers, roles, simulator
#   Paceline::train      the worker library, with LibTorch; there if it was built with it
include(CMakePackageConfigHelpers)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Paceline)
install(EXPORT PacelineTargets NAMESPACE Paceline:: DESTINATION ${package})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/PacelineConfig.cmake.in
  ${PROJECT_BINARY_DIR}/PacelineConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/PacelineConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/PacelineConfig.cmake
  ${PROJECT_BINARY_DIR}/PacelineConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/paceline_torch.cmake DESTINATION ${package})
