// Where a browser goes on after it signed in or out: pages of this server alone, so that no link can lead elsewhere.

const CONNECT = /^\/connect\/[\w-]{43}$/

/** The path to go on to, or undefined when it is none of ours. */
export function parseNext(text: string | null, issuer: string): string | undefined {
  if (text === null || !text.startsWith('/') || !URL.canParse(text, issuer)) return undefined
  const { origin, pathname, search } = new URL(text, issuer)
  if (origin !== issuer) return undefined
  return pathname === '/authorize' || CONNECT.test(pathname) ? pathname + search : undefined
}

/** The page a request asks for, to come back to it. */
export function nextOf(request: Request): string {
  const { pathname, search } = new URL(request.url)
  return pathname + search
}
