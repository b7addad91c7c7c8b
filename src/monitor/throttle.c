#include "monitor/throttle.h"

#define SECOND UINT64_C(1000000)

enum { PERIODS_A_SECOND = 10 };

uint64_t throttle_rate(double percent) {
        uint64_t rate = (uint64_t)(percent * 10000);

        return rate ? rate : 1;
}

/* a * b / c, of numbers whose product may be longer than 64 bits. */
static uint64_t scale(uint64_t a, uint64_t b, uint64_t c) {
        unsigned __int128 product = (unsigned __int128)a * b / c;

        return product > INT64_MAX ? INT64_MAX : (uint64_t)product;
}

uint64_t throttle_account(struct throttle *t, uint64_t elapsed, uint64_t used) {
        int64_t most = (int64_t)(t->rate / PERIODS_A_SECOND), earned = (int64_t)scale(elapsed, t->rate, SECOND);

        t->credit = earned > most - t->credit ? most : t->credit + earned;
        t->credit -= used > INT32_MAX ? INT32_MAX : (int64_t)used;
        /* Rounded up: what is earned is rounded down, and a pause that earns nothing would come again for ever. */
        return t->credit >= 0 ? 0 : scale((uint64_t)-t->credit, SECOND, t->rate) + 1;
}
