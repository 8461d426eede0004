/* breaker.h: who breaks locks, for the trace that a break leaves: see struct breaker. */
#ifndef BATON_API_OPERATIONS_BREAKER_H
#define BATON_API_OPERATIONS_BREAKER_H

#include "api/http/exchange.h"

/* The texts are those of the exchange. */
static inline struct breaker breaker_of(const struct exchange *exchange)
{
    const struct principal *principal = exchange->principal;
    return (struct breaker){
        .principal = principal ? principal->name : slice_of(NULL),
        .client = slice_of(exchange->head.client),
        .reason = exchange->parameters.texts[FIELD_REASON],
    };
}

#endif
