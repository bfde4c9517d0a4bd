# What every target of Paceline has in common, and paceline_module(): one line a folder.

find_program(CCACHE ccache)
if(CCACHE)
  # Relative paths, so that two clones of the project share their objects.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(OpenSSL REQUIRED)
# LibTorch's folder carries another Protobuf: a CMAKE_PREFIX_PATH that points at it must not find that.
set(prefixes ${CMAKE_PREFIX_PATH})
foreach(prefix ${prefixes})
  if(EXISTS ${prefix}/include/torch)
    list(REMOVE_ITEM CMAKE_PREFIX_PATH ${prefix})
  endif()
endforeach()
find_package(Protobuf REQUIRED)
set(CMAKE_PREFIX_PATH ${prefixes})
find_package(nlohmann_json REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Eigen3 3.3 REQUIRED)
if(BUILD_TESTING)
  find_package(GTest REQUIRED)
  find_package(benchmark REQUIRED)
endif()

# In an interface target, so that tests get the warnings too.
add_library(paceline_options INTERFACE)
target_include_directories(paceline_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_options(paceline_options INTERFACE
  $<BUILD_INTERFACE:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
    $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-missing-field-initializers>
    $<$<CXX_COMPILER_ID:Clang>:-Wno-missing-field-initializers>>)
if(PACELINE_SANITIZE)
  target_compile_options(paceline_options INTERFACE
    -fsanitize=${PACELINE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(paceline_options INTERFACE -fsanitize=${PACELINE_SANITIZE})
endif()
install(TARGETS paceline_options EXPORT PacelineTargets)

# paceline_module(sync DEPS base HEADERS ssp.h SOURCES ssp.cc TESTS ssp_test.cc)
#
# Makes the library paceline_sync (alias paceline::sync) of this folder, one test program sync_test
# of all TESTS, one benchmark program of all BENCHES and a fuzzer of each FUZZERS. HEADERS are those
# that users may include: they are installed. LINK names foreign libraries that the sources need;
# LINK_PUBLIC those that the headers need too.
function(paceline_module name)
  cmake_parse_arguments(ARG "" "PCH" "DEPS;HEADERS;SOURCES;TESTS;BENCHES;FUZZERS;LINK;LINK_PUBLIC;TEST_LINK" ${ARGN})
  add_library(paceline_${name} STATIC ${ARG_SOURCES})
  add_library(paceline::${name} ALIAS paceline_${name})
  set_target_properties(paceline_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_sources(paceline_${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}
                 FILES ${ARG_HEADERS})
  target_link_libraries(paceline_${name} PUBLIC paceline_options ${ARG_LINK_PUBLIC}
                        PRIVATE ${ARG_LINK})
  foreach(dep ${ARG_DEPS})
    target_link_libraries(paceline_${name} PUBLIC paceline_${dep})
  endforeach()
  install(TARGETS paceline_${name} EXPORT PacelineTargets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} FILE_SET HEADERS)
  if(BUILD_TESTING AND ARG_TESTS)
    add_executable(${name}_test ${ARG_TESTS})
    target_link_libraries(${name}_test PRIVATE paceline_${name} ${ARG_TEST_LINK} ${ARG_LINK}
                          GTest::gmock_main)
    include(GoogleTest)
    gtest_discover_tests(${name}_test DISCOVERY_TIMEOUT 120 PROPERTIES LABELS "unit;${name}" TIMEOUT 600)
  endif()
  if(BUILD_TESTING AND ARG_BENCHES)
    add_executable(${name}_bench EXCLUDE_FROM_ALL ${ARG_BENCHES})
    target_link_libraries(${name}_bench PRIVATE paceline_${name} ${ARG_LINK} benchmark::benchmark_main)
  endif()
  if(PACELINE_FUZZ)
    foreach(fuzzer ${ARG_FUZZERS})
      cmake_path(GET fuzzer STEM stem)
      add_executable(${stem} ${fuzzer})
      target_link_libraries(${stem} PRIVATE paceline_${name} ${ARG_LINK} -fsanitize=fuzzer)
    endforeach()
  endif()
endfunction()
