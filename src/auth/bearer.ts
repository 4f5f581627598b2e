// The access token of a request: in its Authorization header, and nowhere else. @see OAuth 2.1, 5.1.1

/** A token, or why there is none: nobody sent one, or what was sent is malformed. */
export type Bearer =
  | { token: string }
  | {
      /** What is malformed. */
      problem?: string
      /** What was sent in place of a token, for the log. */
      instead?: string
    }

/** Finds the token of a request. */
export function bearerOf(request: Request): Bearer {
  // In a URL it would end up in logs and histories.
  if (request.url.includes('?') && new URL(request.url).searchParams.has('access_token')) {
    return { problem: 'access tokens are not taken from the URL, send the Authorization header' }
  }
  const header = request.headers.get('authorization')
  if (header === null) return {}
  // Another scheme is no attempt with this one.
  if (!/(?:^|,)\s*bearer(?:[\s,]|$)/i.test(header)) return header === '' ? {} : { instead: otherScheme(header) }
  // Several headers come joined by commas, which no token has. Anything else visible may be in one: RFC 6749, A.12.
  const token = /^bearer +([\x21\x23-\x2b\x2d-\x7e]+)$/i.exec(header)?.[1]
  return token === undefined ? { problem: 'the Authorization header is not one "Bearer" with one token' } : { token }
}

/** Says which scheme a header is of. Without a value behind it, or longer than any scheme is, it may be a token. */
function otherScheme(header: string): string {
  const name = /^([A-Za-z][A-Za-z0-9-]{0,19}) +\S/.exec(header)?.[1]
  return name === undefined
    ? 'the Authorization header is not of the scheme Bearer'
    : `the Authorization header is of the scheme ${name}, not Bearer`
}
