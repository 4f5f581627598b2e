// Which host names are this machine.

/** True for `localhost`, `127.0.0.0/8` and `[::1]`, as `URL.hostname` spells them. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname)
}
