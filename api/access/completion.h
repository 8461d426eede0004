/* completion.h: hands an answered exchange back to the server, and ends it. */
#ifndef BATON_API_ACCESS_COMPLETION_H
#define BATON_API_ACCESS_COMPLETION_H

struct exchange;

/* Hands a parked exchange, which now has its reply, back to the server. */
void exchange_resume(struct exchange *exchange);

/* Ends everything that the exchange waits for, frees what it owns and overwrites its token. */
void exchange_clear(struct exchange *exchange);

#endif
