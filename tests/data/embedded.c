/* A program's part that knows nothing of Python: it gets functions, six words and a place, and makes noise. */
#include "lapnoise.h"

#include <math.h>

/* Fills a buffer in pieces of unequal length, checks what comes back, and returns the mean magnitude, or -1. */
double fill_in_pieces(lapnoise_fill_laplace_t fill, lapnoise_fill_words_t words, lapnoise_laplace_from_word_t draw,
                      double *out, int64_t n, const uint64_t *source, int64_t position)
{
    uint64_t word;
    double sum = 0.0;
    int64_t piece = 1;
    for (int64_t done = 0; done < n; done += piece, piece = 3 * piece + 1) {
        int64_t count = piece < n - done ? piece : n - done;
        if (fill(out + done, count, 1.0, 2.0, source, position + done) != LAPNOISE_OK)
            return -1.0;
        if (words(&word, 1, source, position + done) != LAPNOISE_OK || 1.0 + 2.0 * draw(word) != out[done])
            return -1.0;
    }
    for (int64_t i = 0; i < n; i++)
        sum += fabs(out[i] - 1.0);
    return sum / (double)n;
}

/* A random walk that stops when it has left (-10, 10): it takes one draw at a time, nobody knows how many. */
int64_t steps_to_leave(lapnoise_next_word_t next, lapnoise_laplace_from_word_t draw, uint64_t *cursor)
{
    double place = 0.0;
    uint64_t word;
    int64_t steps = 0;
    while (fabs(place) < 10.0) {
        int64_t code = next(cursor, &word);
        if (code != LAPNOISE_OK)
            return code;
        place += draw(word);
        steps++;
    }
    return steps;
}
