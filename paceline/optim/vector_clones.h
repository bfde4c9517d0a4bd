#pragma once

// PACELINE_VECTOR_CLONES before a function: it is compiled for wider vectors too, and the widest
// that the processor has is taken when the program loads. All clones give the same bits: the build
// allows neither contraction nor reassociation, and +, *, / and sqrt are rounded the same in each.
//
// Not under sanitizers: the loader would call the choosing function before their runtime is up.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PACELINE_OPTIM_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PACELINE_OPTIM_SANITIZED
#endif

#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(PACELINE_OPTIM_SANITIZED)
#define PACELINE_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define PACELINE_VECTOR_CLONES
#endif
