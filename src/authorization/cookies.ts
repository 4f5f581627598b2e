// Cookies of this server's own pages. `__Host-` keeps them to this host, to https and to the whole path; browsers take
// them over http for localhost.

const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Lax'

/** The value of a cookie that was sent. */
export function readCookie(request: Request, name: string): string | undefined {
  for (const pair of (request.headers.get('cookie') ?? '').split(';')) {
    const at = pair.indexOf('=')
    if (at !== -1 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim()
  }
  return undefined
}

/** A `Set-Cookie` value; without `seconds` the cookie ends with the browser. */
export function setCookie(name: string, value: string, seconds?: number): string {
  return `${name}=${value}; ${ATTRIBUTES}${seconds === undefined ? '' : `; Max-Age=${seconds}`}`
}

export function clearCookie(name: string): string {
  return setCookie(name, '', 0)
}
