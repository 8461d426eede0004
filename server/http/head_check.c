#include "server/http/head_check.h"

#include "base/host_name.h"

enum { PORT_DIGITS = 5, LENGTH_DIGITS = 18 };

/* The client gets the first fault. */
static void head_check_refuse(struct head_check *check, const char *why)
{
    if (!check->refusal)
        check->refusal = why;
}

static bool is_digit(unsigned char c)
{
    return c >= '0' && c <= '9';
}

static bool is_alphanumeric(unsigned char c)
{
    return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static bool is_one_of(unsigned char c, const char *set)
{
    return c != '\0' && strchr(set, c);
}

/* RFC 9110, 5.6.2 */
static bool is_token_character(unsigned char c)
{
    return is_alphanumeric(c) || is_one_of(c, "-_!#$%&'*+.^`|~");
}

/* RFC 9110, 5.5: bytes beyond ASCII are opaque, and Baton reads no field that has them. */
static bool is_value_character(unsigned char c)
{
    return c == '\t' || (c >= ' ' && c != 0x7F);
}

/* RFC 3986 allows fewer, but every server reads the others in the same way, and curl sends them. */
static bool is_target_character(unsigned char c)
{
    return c > ' ' && c < 0x7F && c != '#';
}

/* RFC 3986 also allows !$&'()*+,;= which no host name has. */
static bool is_host_character(unsigned char c)
{
    return is_alphanumeric(c) || is_one_of(c, "-._~%");
}

static bool is_address_character(unsigned char c)
{
    return is_alphanumeric(c) || is_one_of(c, ":.");
}

static bool consists_of(struct slice text, bool (*is_right)(unsigned char c))
{
    for (size_t i = 0; i < text.length; i++)
        if (!is_right((unsigned char)text.bytes[i]))
            return false;
    return true;
}

static bool is_token(struct slice text)
{
    return text.length > 0 && consists_of(text, is_token_character);
}

static bool begins_alike(struct slice text, struct slice start)
{
    return text.length >= start.length &&
           slice_alike((struct slice){text.bytes, start.length}, start);
}

static struct slice skip(struct slice text, size_t length)
{
    return length == 0 ? text : (struct slice){text.bytes + length, text.length - length};
}

static struct slice until_one_of(struct slice text, const char *set)
{
    size_t length = 0;
    while (length < text.length && !is_one_of((unsigned char)text.bytes[length], set))
        length++;
    return (struct slice){text.bytes, length};
}

/* After a host: nothing, or a colon and the digits of a port. */
static bool is_port(struct slice text)
{
    return text.length == 0 || (text.bytes[0] == ':' && text.length <= 1 + PORT_DIGITS &&
                                consists_of(skip(text, 1), is_digit));
}

static bool is_authority(struct slice text)
{
    bool is_literal = text.length > 0 && text.bytes[0] == '[';
    struct slice host = until_one_of(text, is_literal ? "]" : ":");
    struct slice rest = skip(text, host.length);
    if (!is_literal)
        return host.length > 0 && consists_of(host, is_host_character) && is_port(rest);
    return host.length > 1 && consists_of(skip(host, 1), is_address_character) && rest.length > 0 &&
           is_port(skip(rest, 1));
}

static struct slice without_trailing_space(struct slice value)
{
    while (value.length > 0 && is_one_of((unsigned char)value.bytes[value.length - 1], " \t"))
        value.length--;
    return value;
}

static void head_check_host(struct head_check *check, struct slice value)
{
    struct slice host = without_trailing_space(value);
    if (check->hosts++ > 0)
        head_check_refuse(check, "There are several Host fields. Send one.");
    if (!is_authority(host))
        head_check_refuse(check,
                          "Host: expected a host and an optional port, as in localhost:7420.");
    if (check->hosts == 1)
        check->host = host;
}

/* HTTP allows leading zeros. */
static bool is_length(struct slice value)
{
    struct slice digits = value;
    while (digits.length > 0 && digits.bytes[0] == '0')
        digits = skip(digits, 1);
    return value.length > 0 && digits.length <= LENGTH_DIGITS && consists_of(digits, is_digit);
}

static void head_check_length(struct head_check *check, struct slice value)
{
    if (check->lengths++ > 0)
        head_check_refuse(check, "There are several Content-Length fields. Send one.");
    if (!is_length(value))
        head_check_refuse(check,
                          "Content-Length: expected up to 18 decimal digits and nothing else.");
}

static void head_check_coding(struct head_check *check, struct slice value)
{
    if (check->codings++ > 0)
        head_check_refuse(check, "There are several Transfer-Encoding fields. Send one, or none.");
    if (check->is_1_0)
        head_check_refuse(check,
                          "HTTP/1.0 has no Transfer-Encoding. Use HTTP/1.1 or a Content-Length.");
    if (!slice_alike(value, slice_of("chunked")))
        head_check_refuse(check, "Transfer-Encoding: expected \"chunked\" and nothing else.");
}

/* The fields that say where a request ends and which host it is for. */
static const struct {
    const char *name;
    void (*judge)(struct head_check *check, struct slice value);
} FIELDS[] = {
    {"Host", head_check_host},
    {"Content-Length", head_check_length},
    {"Transfer-Encoding", head_check_coding},
};

void head_check_field(struct head_check *check, struct slice name, struct slice value)
{
    if (!is_token(name))
        head_check_refuse(
            check,
            "The name of a header field is empty, or has a space, a control character or another "
            "character that is not allowed. Use letters, digits and hyphens, with the colon "
            "right after the name.");
    if (!consists_of(value, is_value_character))
        head_check_refuse(
            check, "The value of a header field has a control character. Send text on one line.");
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++)
        if (slice_alike(name, slice_of(FIELDS[i].name)))
            FIELDS[i].judge(check, value);
}

static const struct scheme {
    const char *start;
    const char *port; /* the default port */
} SCHEMES[] = {{"http://", ":80"}, {"https://", ":443"}};

static bool is_path(struct slice target)
{
    return target.length > 0 && target.bytes[0] == '/';
}

/* The scheme of a target in absolute form, else NULL. */
static const struct scheme *scheme_of(struct slice target)
{
    if (is_path(target)) /* as almost all are */
        return NULL;
    for (size_t i = 0; i < sizeof SCHEMES / sizeof *SCHEMES; i++)
        if (begins_alike(target, slice_of(SCHEMES[i].start)))
            return &SCHEMES[i];
    return NULL;
}

static struct slice authority_of(struct slice target, const struct scheme *scheme)
{
    return until_one_of(skip(target, strlen(scheme->start)), "/?");
}

/* Without the default port. */
static struct slice without_port(struct slice authority, const struct scheme *scheme)
{
    struct slice host = authority;
    while (host.length > 0 && is_digit((unsigned char)host.bytes[host.length - 1]))
        host.length--;
    if (host.length == 0 || host.bytes[host.length - 1] != ':')
        return authority;
    struct slice port = skip(authority, --host.length);
    return port.length == 1 || slice_equals(port, scheme->port) ? host : authority;
}

static void head_check_target(struct head_check *check, struct slice method)
{
    struct slice target = check->target;
    const struct scheme *scheme = scheme_of(target);
    if (!consists_of(target, is_target_character))
        head_check_refuse(check,
                          "The target has a space, a control character, a # or a character beyond "
                          "ASCII. Percent-encode it, as in /locks/caf%C3%A9.");
    if (scheme && !is_authority(authority_of(target, scheme)))
        head_check_refuse(check,
                          "The target: expected a host and an optional port after the scheme.");
    bool is_all = slice_equals(target, "*") && slice_equals(method, "OPTIONS");
    if (!scheme && !is_path(target) && !is_all)
        head_check_refuse(
            check,
            "The target: expected a path, as in /locks/deploy, or http:// and the host of Host "
            "before the path.");
}

void head_check_begin(struct head_check *check, struct slice method, struct slice target,
                      struct slice version)
{
    *check = (struct head_check){.target = target, .is_1_0 = slice_equals(version, "HTTP/1.0")};
    if (!is_token(method))
        head_check_refuse(check, "The method: expected a word such as GET or POST, and one space.");
    head_check_target(check, method);
    if (!check->is_1_0 && !slice_equals(version, "HTTP/1.1"))
        head_check_refuse(check, "The version: expected HTTP/1.1 or HTTP/1.0.");
}

static bool is_for_another(const struct head_check *check)
{
    const struct scheme *scheme = scheme_of(check->target);
    return scheme && check->hosts > 0 &&
           !host_authorities_equal(without_port(authority_of(check->target, scheme), scheme),
                                   without_port(check->host, scheme));
}

bool head_check_passes(struct head_check *check)
{
    if (check->hosts == 0 && !check->is_1_0)
        head_check_refuse(check, "There is no Host field. Send one.");
    if (check->lengths > 0 && check->codings > 0)
        head_check_refuse(check,
                          "There are both Content-Length and Transfer-Encoding. Send one of them.");
    if (is_for_another(check))
        head_check_refuse(check, "The target and Host name different hosts. Use the same in both.");
    return !check->refusal;
}
