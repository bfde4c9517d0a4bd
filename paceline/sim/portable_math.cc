// Argument reduction by powers of two, with the natural logarithm of 2 in two parts so that the
// reduction loses no digits, then the series. The module is compiled without contraction (FMA).
#include "paceline/sim/portable_math.h"

#include <cmath>
#include <cstdint>
#include <limits>

namespace paceline::sim {
namespace {

// ln 2 = kLn2High + kLn2Low; times any exponent of a double the high part is exact (fdlibm).
constexpr double kLn2High = 6.93147180369123816490e-01;
constexpr double kLn2Low = 1.90821492927058770002e-10;
constexpr double kSqrt2 = 1.41421356237309504880;

}  // namespace

// ln(2^e m) = e ln 2 + 2 atanh(s), s = (m - 1) / (m + 1), sqrt(1/2) <= m < sqrt(2), |s| < 0.172.
double portable_log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent) * 2;
  --exponent;
  if (m >= kSqrt2) {
    m /= 2;
    ++exponent;
  }
  const double f = m - 1;
  const double s = f / (f + 2);
  const double z = s * s;
  double sum = 0;
  for (int k = 21; k >= 3; k -= 2) sum = (sum + 2.0 / k) * z;
  // 2s = f - s f: what is added to f is small, and f is exact.
  const double e = exponent;
  return e * kLn2High + (f - (s * (f - sum) - e * kLn2Low));
}

// e^x = 2^n e^r, |r| <= ln(2) / 2; the series to r^14.
double portable_exp(double x) {
  if (x > 709) return std::numeric_limits<double>::infinity();
  if (!(x >= -708)) return 0;
  const double n = std::floor(x / (kLn2High + kLn2Low) + 0.5);
  const double r = (x - n * kLn2High) - n * kLn2Low;
  double sum = 1;
  for (int k = 14; k >= 1; --k) sum = 1 + sum * r / k;
  return std::ldexp(sum, static_cast<int>(n));
}

}  // namespace paceline::sim
