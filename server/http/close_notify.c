#include "server/http/close_notify.h"

#include <gnutls/crypto.h>
#include <string.h>
#include <sys/socket.h>

enum {
    HEADER = 5,            /* of a record: its type, a version, its length */
    RECORD_LONGEST = 1024, /* an alert has 2 bytes, but there may be padding */
    SEQUENCE = 8,
    NONCE = 12,
    TYPE_ALERT = 21,
    TYPE_DATA = 23,
};

/* Decrypts a TLS 1.3 record (RFC 8446, 5.2) with the key for the next one to read, and returns the
 * type that stands between content and padding. */
static int close_notify_inner_type(gnutls_session_t session, const unsigned char *record,
                                   size_t length)
{
    gnutls_cipher_algorithm_t algorithm = gnutls_cipher_get(session);
    gnutls_datum_t iv, key;
    gnutls_aead_cipher_hd_t cipher;
    unsigned char sequence[SEQUENCE], nonce[NONCE], text[RECORD_LONGEST];
    size_t size = sizeof text;
    if (gnutls_record_get_state(session, 1, NULL, &iv, &key, sequence) < 0 || iv.size != NONCE ||
        gnutls_aead_cipher_init(&cipher, algorithm, &key) < 0)
        return -1;
    memcpy(nonce, iv.data, NONCE);
    for (size_t i = 0; i < SEQUENCE; i++)
        nonce[NONCE - SEQUENCE + i] ^= sequence[i];
    int result = gnutls_aead_cipher_decrypt(cipher, nonce, NONCE, record, HEADER,
                                            gnutls_cipher_get_tag_size(algorithm), record + HEADER,
                                            length - HEADER, text, &size);
    gnutls_aead_cipher_deinit(cipher);
    if (result < 0)
        return -1;
    while (size > 0 && text[size - 1] == 0)
        size--;
    int type = size > 0 ? text[size - 1] : -1;
    explicit_bzero(text, sizeof text);
    return type;
}

bool close_notify_has_come(gnutls_session_t session, int fd)
{
    unsigned char record[RECORD_LONGEST];
    ssize_t got = recv(fd, record, sizeof record, MSG_PEEK | MSG_DONTWAIT);
    if (got < HEADER || gnutls_record_check_pending(session) > 0)
        return false;
    size_t length = HEADER + ((size_t)record[3] << 8) + record[4];
    if (length > (size_t)got)
        return false;
    if (record[0] == TYPE_DATA && gnutls_protocol_get_version(session) == GNUTLS_TLS1_3)
        return close_notify_inner_type(session, record, length) == TYPE_ALERT;
    return record[0] == TYPE_ALERT;
}
