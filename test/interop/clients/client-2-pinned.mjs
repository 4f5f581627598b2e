// The official client, pinned to the modern revision: no fallback, anything else fails.
import { playClient2 } from '../lib/client-2.mjs'
import { nameAndVersion } from '../lib/command.mjs'

export const title = `${nameAndVersion('@modelcontextprotocol/client')}, pinned to 2026-07-28`

export function play(setting) {
  const expected = { slug: 'pinned', handshake: 'server/discover', revision: '2026-07-28', asks: true }
  return playClient2(setting, { pin: '2026-07-28' }, expected)
}
