#pragma once

// Logarithm and exponential of additions and multiplications alone, which IEEE 754 rounds the same
// everywhere; those of the C library differ between libraries, and a seed would mean another run.
namespace paceline::sim {

// Natural, of a normal number above 0; within 4 units in the last place (tested).
double portable_log(double x);

// 0 below -708, infinity above 709; within 4 units in the last place (tested).
double portable_exp(double x);

}  // namespace paceline::sim
