// What an address tells: whose network it is of, and whether what answers there can be trusted. Pure; every layer may ask.

/** An address, or the network of an IPv6 one, /48: who has that has 2^80 of them. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('::')
  const groups = head.split(':').filter(Boolean)
  const missing = 8 - groups.length - (tail ?? '').split(':').filter(Boolean).length
  if (tail !== undefined) groups.push(...Array.from({ length: Math.max(0, missing) }, () => '0'))
  return groups.slice(0, 3).join(':')
}

/** True for a URL whose answer can be trusted: https, or http on this machine. */
export function isSafe({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname))
}
