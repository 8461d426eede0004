/* breaker.h: the caller that breaks locks, which Redis notes: see struct breaker. */
#ifndef BATON_API_OPERATIONS_BREAKER_H
#define BATON_API_OPERATIONS_BREAKER_H

#include "api/http/exchange.h"

/* Points to texts of the exchange. */
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
