#include "plan/cpu_weight.h"

/* Two short series in place of libm, which would be linked into the static program for this one number. Their error is below 1e-12 of
 * the result; a unit test compares every number of shares with what the formula gives. */

/* log2 of a number from 1 up: the exponent, and 2·atanh((m-1)/(m+1))/ln 2 of the mantissa. */
static double log2_of(uint64_t n) {
        int exponent = 63 - __builtin_clzll(n);
        double m = (double)n / (double)(UINT64_C(1) << exponent), t = (m - 1) / (m + 1), power = t, sum = 0;

        for (int k = 1; k < 60; k += 2) {
                sum += power / k;
                power *= t * t;
        }
        return exponent + 2 * sum / 0.693147180559945309417;
}

/* 10^y for 0 ≤ y ≤ 4: e^(y·ln 10) by its series, of a quarter of the exponent four times. */
static double ten_to(double y) {
        double x = y * 2.302585092994045684018 / 4, term = 1, sum = 1;

        for (int k = 1; k < 30; k++) {
                term *= x / k;
                sum += term;
        }
        return sum * sum * sum * sum;
}

uint64_t cpu_weight(uint64_t shares) {
        double l, weight;
        uint64_t whole;

        if (shares == 0)
                return 0;
        if (shares <= 2)
                return 1;
        if (shares >= 262144)
                return 10000;
        l = log2_of(shares);
        weight = ten_to((l * l + 125 * l) / 612.0 - 7.0 / 34.0);
        whole = (uint64_t)weight;
        return weight - (double)whole > 1e-9 ? whole + 1 : whole; /* rounded up */
}
