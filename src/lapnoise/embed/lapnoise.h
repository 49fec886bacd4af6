/* Functions of lapnoise.embed.capi as C sees them.
 *
 * There is no library to link: Python compiles each function when its address is first asked for, and hands the address
 * over as an integer or as a ctypes function. In C it is cast to the type below.
 *
 *     lapnoise_fill_laplace_t fill = (lapnoise_fill_laplace_t)(intptr_t)address;
 *     int64_t code = fill(out, n, 0.0, 2.0, source, position);
 *
 * `source` points to the six words, and `position` is the place, that lapnoise.embed.capi.reserve returns. Draws are
 * those of lapnoise.Generator at that place, bit for bit. All functions may be called from any number of threads, with or
 * without Python's lock, as long as Python is running; a cursor belongs to one thread at a time. After a fork a source
 * that was reserved before draws the same noise in both processes, so each process reserves its own.
 *
 * Functions that write arrays return one of the codes below, and write nothing unless it is LAPNOISE_OK.
 */
#ifndef LAPNOISE_H
#define LAPNOISE_H

#include <stdint.h>

enum lapnoise_code {
    LAPNOISE_OK = 0,
    LAPNOISE_NULL = -1,       /* a pointer is null */
    LAPNOISE_MISALIGNED = -2, /* a pointer is no multiple of the size of what it points to */
    LAPNOISE_LENGTH = -3,     /* a length is negative, or above 2^60 */
    LAPNOISE_SOURCE = -4,     /* the source's last word is not half of 8, 12 or 20 rounds */
    LAPNOISE_POSITION = -5,   /* a word would lie outside 0 to 2^62 - 1, or beyond a cursor's end */
    LAPNOISE_SCALE = -6,      /* a scale is negative, -0.0, NaN, or so large that a draw could overflow */
    LAPNOISE_LAW = -7         /* the first number of a law is no scale from 0 to 2^57 */
};

/* The words from a position on, one for each entry. */
typedef int64_t (*lapnoise_fill_words_t)(uint64_t *out, int64_t n, const uint64_t *source, int64_t position);

/* Laplace(loc, scale). A double takes a word, a float half a word; both positions count words. */
typedef int64_t (*lapnoise_fill_laplace_t)(double *out, int64_t n, double loc, double scale, const uint64_t *source,
                                           int64_t position);
typedef int64_t (*lapnoise_fill_laplace32_t)(float *out, int64_t n, float loc, float scale, const uint64_t *source,
                                             int64_t position);

/* Laplace(0, scale) added to what stands in the array. */
typedef int64_t (*lapnoise_add_laplace_t)(double *values, int64_t n, double scale, const uint64_t *source,
                                          int64_t position);
typedef int64_t (*lapnoise_add_laplace32_t)(float *values, int64_t n, float scale, const uint64_t *source,
                                            int64_t position);

/* Exponential(scale): the magnitudes of Laplace(0, scale). */
typedef int64_t (*lapnoise_fill_exponential_t)(double *out, int64_t n, double scale, const uint64_t *source,
                                               int64_t position);
typedef int64_t (*lapnoise_fill_exponential32_t)(float *out, int64_t n, float scale, const uint64_t *source,
                                                 int64_t position);

/* Exact discrete Laplace noise; `law` are the five numbers that lapnoise.embed.capi.discrete_law returns. Returns how
 * many draws their word leaves undecided; as many of their indices as there is room for are written to `undecided`, and
 * lapnoise.embed.capi.finish makes them. They hold 0. */
typedef int64_t (*lapnoise_fill_discrete_laplace_t)(int64_t *out, int64_t n, const double *law, const uint64_t *source,
                                                    int64_t position, int64_t *undecided, int64_t room);

/* The next word of a cursor, which lapnoise.embed.capi.cursor returns: 136 words of memory. */
typedef int64_t (*lapnoise_next_word_t)(uint64_t *cursor, uint64_t *word);

/* The standard draw that a word makes, and its magnitude; in single precision from half a word, the lower half first. */
typedef double (*lapnoise_laplace_from_word_t)(uint64_t word);
typedef double (*lapnoise_exponential_from_word_t)(uint64_t word);
typedef float (*lapnoise_laplace_from_half_word_t)(uint32_t half_word);

/* Noise on a line of values, as scipy.ndimage.generic_filter1d calls it; `state` is what line_noise of
 * lapnoise.embed.capi makes. Returns 1, or 0 if something is wrong. */
typedef int (*lapnoise_filter_line_t)(double *line, intptr_t n, double *out, intptr_t out_n, void *state);

#endif
