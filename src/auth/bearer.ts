// The access token of a request: in its Authorization header, and nowhere else. @see OAuth 2.1, 5.1.1

/** A token, or why there is none: nobody sent one, or what was sent is malformed. */
export type Bearer = { token: string } | { problem?: string }

/** Finds the token of a request. */
export function bearerOf(request: Request): Bearer {
  // In a URL it would end up in logs and histories.
  if (request.url.includes('?') && new URL(request.url).searchParams.has('access_token')) {
    return { problem: 'access tokens are not taken from the URL, send the Authorization header' }
  }
  const header = request.headers.get('authorization')
  if (header === null) return {}
  // Another scheme is no attempt with this one.
  if (!/(?:^|,)\s*bearer(?:[\s,]|$)/i.test(header)) return {}
  // Several headers come joined by commas, which no token has. Anything else visible may be in one: RFC 6749, A.12.
  const token = /^bearer +([\x21\x23-\x2b\x2d-\x7e]+)$/i.exec(header)?.[1]
  return token === undefined ? { problem: 'the Authorization header is not one "Bearer" with one token' } : { token }
}
