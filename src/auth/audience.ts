// Whether a token is for this server. @see RFC 8707, 2; basic/authorization, Canonical Server URI

/**
 * True if the audience of a token is the one that is configured. Of URLs, case counts in neither scheme nor host, and no
 * slash at the end; a URL that merely begins the same is another server. Anything else is compared as it is.
 */
export function isFor(audience: string, configured: string): boolean {
  return (
    audience === configured ||
    (URL.canParse(audience) && URL.canParse(configured) && isSame(new URL(audience), new URL(configured)))
  )
}

function isSame(a: URL, b: URL): boolean {
  // Names such as `api://notes` are no addresses: nothing is known of how they compare.
  const isAddress = /^https?:$/.test(a.protocol)
  return isAddress && comparable(a) === comparable(b)
}

function comparable({ origin, username, password, pathname, search, hash }: URL): string {
  return JSON.stringify([origin, username, password, pathname.replace(/\/$/, ''), search, hash])
}
