/* completion.h: gives an exchange back to the server: once it is answered, and at its end. */
#ifndef BATON_API_ACCESS_COMPLETION_H
#define BATON_API_ACCESS_COMPLETION_H

struct exchange;

/* A parked exchange has been answered: hands it back to the server. */
void exchange_resume(struct exchange *exchange);

/* Lets go of what it still waits for, and frees what the exchange owns, its token overwritten. */
void exchange_clear(struct exchange *exchange);

#endif
