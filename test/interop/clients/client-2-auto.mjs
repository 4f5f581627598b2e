// The official client with automatic negotiation: it probes, and would fall back to the legacy handshake.
import { playClient2 } from '../lib/client-2.mjs'
import { nameAndVersion } from '../lib/command.mjs'

export const title = `${nameAndVersion('@modelcontextprotocol/client')}, automatic negotiation`

export function play(setting) {
  const expected = { slug: 'auto', handshake: 'server/discover', revision: '2026-07-28', asks: true }
  return playClient2(setting, 'auto', expected)
}
